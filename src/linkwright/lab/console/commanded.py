"""What takes commands: the table of a laboratory, its questions, and what it reports."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from linkwright.lab.console import dialogue
from linkwright.lab.console.commands import standard_commands
from linkwright.lab.console.table import Answer, CommandTable

Value = TypeVar("Value")
Function = TypeVar("Function", bound=Callable[..., Answer | str | None])


class Commanded:
    """A laboratory as consoles see it."""

    @cached_property
    def commands(self) -> CommandTable:
        """The commands of the console, by name."""
        return standard_commands()

    @cached_property
    def _listeners(self) -> list[Callable[[str], None]]:
        return []

    def command(self, name: str, about: str) -> Callable[[Function], Function]:
        """Add a command of one's own: `@lab.command("wag", "wag the tail")` (SL: `addToMan`).

        Args:
            name: as it is typed.
            about: one line for `man`.

        Returns:
            what takes the function up, and returns it. Arguments after the laboratory are those of
            the command, numbers, texts or switches by their annotations or defaults.
        """

        def taken(function: Function) -> Function:
            self.commands.add(name, about, function)
            return function

        return taken

    def ask(self, question: str, default: Value, *, unit: str = "") -> Value:
        """Ask whoever gave the command; without anybody to ask, the default.

        Args:
            question: in words.
            default: value that an empty answer means, and whose type the answer has.
            unit: of a number.
        """
        return dialogue.ask(question, default, unit=unit)

    def listen(self, function: Callable[[str], None]) -> None:
        """Call a function with each message: a task that ended, a file that was taken up.

        Args:
            function: called with a line of text, from any thread.
        """
        self._listeners.append(function)

    def tell(self, text: str) -> None:
        """Notify whoever listens.

        Args:
            text: one line.
        """
        for function in tuple(self._listeners):
            function(text)

    def note_command(self, line: str) -> None:
        """Take notice of a command before it is carried out.

        Args:
            line: the command.
        """

    def do(self, line: str) -> Answer:
        """Carry out a command as at the console.

        Args:
            line: as it is typed.
        """
        lab: Any = self
        return self.commands.run(lab, line)
