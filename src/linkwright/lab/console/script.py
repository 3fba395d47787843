"""Scripts of commands: a line, a file or a pipe, with the answers to what commands ask.

Commands stand in lines of their own or between semicolons. `#` begins a comment. What begins with
`>` is the answer to a question of the command before it; a question without one takes its default:

    st reach; > 0.4; run 5; saveData
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linkwright.base.errors import Error, InputError
from linkwright.lab.console.dialogue import answered_by
from linkwright.lab.console.table import Answer, split

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab


@dataclass(frozen=True, slots=True)
class Statement:
    """A command or an answer of a script."""

    text: str  # of it
    line: int  # in the script, from 1

    @property
    def answers(self) -> bool:
        """Whether it answers a question."""
        return self.text.startswith(">")


@dataclass(frozen=True, slots=True)
class Done:
    """A command of a script that was carried out, and what it gave."""

    statement: Statement
    answer: Answer


class Script:
    """Commands and answers in order, read no further than they are needed.

    >>> script = Script(["st reach; > 0.4", "run 5  # a comment"])
    >>> [(each.text, script.answer("how far")) for each in script.commands()]
    [('st reach', '0.4'), ('run 5', '')]
    """

    def __init__(self, lines: Iterable[str], name: str = "") -> None:
        self.name = name
        self._rest = _statements(lines)
        self._next: Statement | None = None
        self._count = 0

    def commands(self) -> Iterator[Statement]:
        """Yield the commands; answers are taken by `answer` while a command runs."""
        while (found := self._take()) is not None:
            self._count += 1
            if found.answers:
                raise InputError(
                    f"{self._place(found)}: nothing asked for this answer", remedy="leave it out"
                )
            yield found

    def run(self, lab: Lab, tell: Callable[[Done], None] = lambda done: None) -> list[Done]:
        """Carry out the commands; the first that cannot be ends it."""
        done: list[Done] = []
        for found in self.commands():
            try:
                with answered_by(self.answer):
                    answer = lab.commands.run(lab, found.text)
            except Error as error:
                raise InputError(f"{self._place(found)}: {error}") from error
            done.append(Done(found, answer))
            tell(done[-1])
            if lab.commands[split(found.text)[0]].name == "quit":
                break
        return done

    def answer(self, question: str) -> str:
        """Return the answer to a question; nothing where the script has none."""
        del question
        found = self._take()
        if found is None or not found.answers:
            self._next = found
            return ""
        return found.text[1:].strip()

    def _place(self, found: Statement) -> str:
        where = f"{self.name}:{found.line}" if self.name else f"command {self._count}"
        return f"{where}, {found.text!r}"

    def _take(self) -> Statement | None:
        found, self._next = self._next, None
        return found if found is not None else next(self._rest, None)


def _statements(lines: Iterable[str]) -> Iterator[Statement]:
    for number, line in enumerate(lines, 1):
        for part in _parts(line):
            yield Statement(part, number)


def _parts(line: str) -> list[str]:
    """Return what stands between semicolons that are not quoted, up to a comment."""
    parts, quote, part = [], "", ""
    for k, sign in enumerate(line):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == "#" and (k == 0 or line[k - 1] in " \t;"):
            break
        elif sign == ";":
            parts.append(part)
            part = ""
            continue
        part += sign
    return [found for found in (p.strip() for p in (*parts, part)) if found]
