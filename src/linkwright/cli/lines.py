"""Lines of a dialogue: of a terminal that can be steered, or as they come."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING

from linkwright.cli.signals import leave_terminal
from linkwright.cli.terminal import can_edit, echo

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

    from linkwright.heritage.dialogue.talk import AnswerLines


class PlainLines:
    """Lines of the standard input, without editing: a pipe, or a terminal that can do nothing."""

    strict = False

    def line(self, prompt: str, choices: Sequence[str]) -> str:
        """Return the next line."""
        del choices
        echo(prompt, nl=False)
        sys.stdout.flush()
        found = sys.stdin.readline()
        if not sys.stdin.isatty():
            echo(found.rstrip("\r\n"))
        if not found:
            raise EOFError
        return found.rstrip("\r\n")


class TerminalLines:
    """Lines of a terminal, with history, editing and completion (prompt_toolkit).

    The first line is plain, so that it is asked at once; prompt_toolkit is loaded meanwhile.
    """

    strict = False

    def __init__(self) -> None:
        self.session: PromptSession[str] | None = None

    def line(self, prompt: str, choices: Sequence[str]) -> str:
        """Return the next line."""
        if self.session is None:
            loading = Thread(target=import_module, args=("prompt_toolkit",), daemon=True)
            loading.start()
            first = PlainLines().line(prompt, choices)
            loading.join()
            from prompt_toolkit import PromptSession

            self.session = PromptSession()
            return first
        from prompt_toolkit.completion import WordCompleter

        completer = WordCompleter(list(choices)) if choices else None
        try:
            return self.session.prompt(prompt, completer=completer, complete_while_typing=False)
        except OSError:  # the terminal is gone
            leave_terminal()
            raise KeyboardInterrupt from None


def usual_lines() -> AnswerLines:
    """Return the lines of the terminal where there is one that can be steered, else plain ones."""
    return TerminalLines() if can_edit() else PlainLines()
