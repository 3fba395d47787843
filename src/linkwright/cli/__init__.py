"""The command ``linkwright``.

Each subcommand is a file in `linkwright.cli.commands`. This module turns what they raise into what
a shell expects: an exit code and, for an `Error`, one line on stderr instead of a traceback.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from linkwright.base.errors import Error
from linkwright.base.reprs import brief
from linkwright.cli.commands import renamed
from linkwright.cli.signals import INTERRUPTED, ending
from linkwright.cli.terminal import harmless

__all__ = ["main"]

FAILED = 2
_SPELLINGS = {"--d/dt": "--derivative"}  # what Click cannot have as the name of an option


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Returns:
        0 on success, 1 when the reader of a pipe went away, 2 for wrong usage or an `Error`,
        130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.

    Example:
        >>> main(["--version"])  # doctest: +ELLIPSIS
        linkwright ...
        0
    """
    words = sys.argv[1:] if arguments is None else arguments
    with ending() as signals, _warning_lines():
        code = signals.code(_run([_SPELLINGS.get(word, word) for word in words]))
    if signals.signal is not None:
        _print_error(f"ended by {signals.signal.name}")
    return code


@contextmanager
def _warning_lines() -> Iterator[None]:
    """Print each warning of Python in one line, without the place in the source."""

    def line(message: object, *_: object, **__: object) -> str:
        return f"warning: {' '.join(harmless(str(message)).split())}\n"

    usual, warnings.formatwarning = warnings.formatwarning, line
    try:
        yield
    finally:
        warnings.formatwarning = usual


def _run(given: list[str]) -> int:
    """Run a command and return its exit code."""
    words, notes = renamed(given)
    try:
        if len(words) == 3 and words[:2] == ["cell", "halt"] and not words[2].startswith("-"):
            from linkwright.server.joining import halt_cell  # at once, before the options are known

            print(halt_cell(words[2]))
            _warn(notes)
            return _finish(0)
        _warn(notes)
        from linkwright.cli.app import build

        build()(args=words, prog_name="linkwright")
    except SystemExit as leave:
        return _finish(leave.code)
    except Error as error:
        _print_error("error: ", str(error))
        return FAILED
    except OSError as error:  # a name that is too long, a folder that may not be entered
        where = "" if error.filename is None else f"{brief(os.fsdecode(error.filename))}: "
        _print_error("error: ", f"{where}{error.strerror or error}")
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return _finish(0)


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings:
        typer.echo(f"warning: {warning}", err=True)


def _finish(code: str | int | None) -> int:
    """Flush what was printed, while a broken pipe can still be answered, and return the code."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes again when it ends; let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code if isinstance(code, int) else int(code is not None)


def _print_error(label: str, message: str = "") -> None:
    """Print one line on stderr, in red where that is a terminal."""
    from rich.console import Console
    from rich.text import Text

    words = " ".join(harmless(message).split())
    Console(stderr=True, soft_wrap=True).print(Text.assemble((label, "bold red"), (words, "red")))
