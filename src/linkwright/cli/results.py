"""What a command has found, and how it is shown: text and tables for people, JSON for programs.

A command returns a `CommandResult`. `shown` gives it the options ``--json`` and ``--quiet``, prints
what came of it, where it is and what one would type next, and ends with its exit code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from linkwright.base.errors import Error
from linkwright.base.files import file_exists
from linkwright.base.results import plain
from linkwright.cli.options import Force, option
from linkwright.cli.terminal import echo

__all__ = ["CommandResult", "TextTable", "labeled", "shown"]


class TextTable(NamedTuple):
    """A table: its columns, its rows, a title, and which columns hold numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    numbers: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command has found.

    >>> CommandResult({"mass_kg": 2.0}, ["2 kg"]).code
    0
    """

    data: Any  # for `--json`: plain data, a result that has `as_dict`, or what returns one
    text: Iterable[str | TextTable] = ()  # for people, made only where it is shown
    notes: Sequence[str] = ()  # on stderr, also beside JSON
    files: Mapping[str, str | Path | None] = field(default_factory=dict)  # by what they are
    next: str = ""  # what one would type next, after `linkwright`
    code: int = 0
    error: Error | None = None  # which ends the command after all this was shown


def shown(command: Callable[..., CommandResult]) -> Callable[..., None]:
    """Return a command that prints its result, with the options ``--json`` and ``--quiet``.

    One with an argument `quiet` gets whether its result is all that is to be printed. The target of
    ``--out`` is replaced with ``--force`` only: a command that does not check it is not begun.
    """
    given = signature(command, eval_str=True)
    guarded = "out" in given.parameters and "force" not in given.parameters

    @wraps(command)
    def run(*, as_json: bool = False, quiet: bool = False, **arguments: Any) -> None:
        if guarded and not arguments.pop("force", False) and _holds_something(arguments["out"]):
            raise file_exists(arguments["out"])
        if "quiet" in given.parameters:
            arguments["quiet"] = quiet or as_json
        result = command(**arguments)
        _print(result, as_json=as_json, quiet=quiet)
        if result.error is not None:
            raise result.error
        if result.code:
            raise typer.Exit(result.code)

    own = [p for p in given.parameters.values() if p.name != "quiet"]
    more = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in (
            ("as_json", Annotated[bool, option("--json")]),
            ("quiet", Annotated[bool, option("--quiet")]),
            ("force", Force),
        )
        if name != "force" or guarded
    ]
    vars(run)["__signature__"] = given.replace(
        parameters=[*own, *more], return_annotation=Parameter.empty
    )
    run.__annotations__ = {}
    return run


def _holds_something(target: Path | None) -> bool:
    """Whether writing there would replace a file, or put more into a folder that is in use."""
    try:
        return target is not None and (
            target.is_file() or (target.is_dir() and any(target.iterdir()))
        )
    except (OSError, ValueError):
        return False  # the command says what is wrong with it


def _print(result: CommandResult, *, as_json: bool, quiet: bool) -> None:
    quiet = quiet and result.code != 1  # what is wrong is always said
    if not quiet:
        for note in result.notes:
            echo(note, err=True)
    written = {what: str(path) for what, path in result.files.items() if path is not None}
    if as_json:
        data = plain(result.data() if callable(result.data) else result.data)
        echo(json.dumps(data | written if isinstance(data, dict) else data, indent=2))
        return
    if quiet:
        return
    from linkwright.cli import tables

    for part in result.text:
        if isinstance(part, TextTable):
            tables.print_table(part.columns, part.rows, title=part.title, numbers=part.numbers)
        else:
            echo(part)
    for what, path in written.items():
        echo(f"{what}: {path}")
    following = f"linkwright {result.next}" if result.next else _following(written)
    if following and sys.stdout.isatty():  # a pipe gets the result alone
        echo(f"next: {following}")


_FOLLOWING = (
    ((".html", ".htm"), "open {} in a browser"),
    ((".png", ".svg", ".pdf"), "open {}"),
    ((".tex",), "pdflatex {}"),
    ((".toml", ".urdf", ".xml"), "linkwright model check {}"),
)


def _following(files: Mapping[str, str]) -> str:
    """Return what one does with the last file that was written, by its ending.

    >>> _following({"recording": "run.csv"}), _following({"table": "rows.csv"}), _following({})
    ('linkwright plot run.csv', 'less rows.csv', '')
    """
    what, last = ([("", ""), *files.items()])[-1]
    if what == "recording":
        return f"linkwright plot {last}"
    for endings, words in _FOLLOWING:
        if last.endswith(endings):
            return words.format(last)
    return f"{'ls' if Path(last).is_dir() else 'less'} {last}" if last else ""


def labeled(rows: Iterable[tuple[str, object]], width: int = 12) -> list[str]:
    """Return lines of a label and what it stands for.

    >>> labeled([("bodies", "rod")], 8)
    ['bodies   rod']
    """
    return [f"{label:<{width}} {text}" for label, text in rows]
