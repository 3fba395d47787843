"""Questions and answers: where lines come from, what is kept of them, and the way back.

A dialogue is a function of its answers. `Talk` keeps them since the last place that cannot be taken
back; to go back, it drops the last one and plays the dialogue again with the others, in silence.
The same serves a draft that is resumed, and a transcript that is replayed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

from linkwright.base.errors import Error, InputError
from linkwright.base.files import write_text
from linkwright.heritage.dialogue.answers import Question

HEAD = "# Answers of `linkwright tools guide`; `--replay` gives them again."


Command = Callable[[list[str]], int]
"""Runs a command of Linkwright, and returns its exit code."""


class BackError(Exception):
    """The last answer is taken back."""


class AnswerLines(Protocol):
    """Where answers come from."""

    strict: bool
    """Whether a wrong answer ends the dialogue, since nobody is there to correct it."""

    def line(self, prompt: str, choices: Sequence[str]) -> str:
        """Return the next line; an `EOFError` where there is none."""


class ScriptLines:
    """Lines of a transcript; lines that begin with `# ` are comments.

    >>> script = ScriptLines(["# comment", "quit"])
    >>> script.line("", ())
    'quit'
    """

    strict = True

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = deque(enumerate((line.rstrip("\r\n") for line in lines), 1))
        self.number = 0

    def line(self, prompt: str, choices: Sequence[str]) -> str:
        """Return the next line."""
        del prompt, choices
        while self.lines:
            self.number, found = self.lines.popleft()
            if not is_comment(found):
                return found
        raise EOFError


def is_comment(line: str) -> bool:
    """Whether a line of a transcript is not an answer."""
    return line == "#" or line.startswith("# ")


class Talk:
    """A dialogue in progress."""

    def __init__(
        self,
        lines: AnswerLines,
        *,
        draft: Path | None = None,
        transcript: Path | None = None,
        say: Callable[[str], None] = print,
        command: Command | None = None,
    ) -> None:
        self.lines = lines
        self.command = command
        self.draft = draft
        self.transcript = transcript
        self.answers: list[str] = []
        self.kept: list[str] = []
        self.pending: deque[str] = deque()
        self._print = say

    # -- flow --------------------------------------------------------------------------------------
    def run(self, play: Callable[[], None]) -> None:
        """Run a dialogue to its end; what it asks since the last commit can be taken back."""
        while True:
            try:
                play()
            except BackError:
                self.pending = deque(self.answers[:-1])
                self.answers = []
                self._rewrite()
            else:
                return

    def resume(self, answers: Iterable[str]) -> None:
        """Let the dialogue begin with answers that were given before."""
        self.pending = deque(line for line in answers if not is_comment(line))
        self._rewrite()

    def commit(self) -> None:
        """Forget the answers: from here there is no way back, and nothing is left to resume."""
        self.kept += self.answers
        self.answers = []
        if self.draft is not None:
            self.draft.unlink(missing_ok=True)

    # -- questions ---------------------------------------------------------------------------------
    def ask(self, question: Question) -> Any:
        """Return the value of an answer; a wrong one is reported, and asked again."""
        while True:
            replayed = bool(self.pending)
            line = self.pending.popleft() if replayed else self._next(question)
            given = line.strip()
            if given == "?":
                self.say(question.help or question.words)
                continue
            if given == "<":
                if self.answers:
                    raise BackError
                self.refuse(_nothing_before())
                continue
            if not given and question.default is not None:
                given = question.default
            try:
                value = question.read(given)
            except Error as error:
                if replayed:
                    self.pending.clear()
                    self._rewrite()
                self.refuse(error)
                continue
            self.answers.append(given)
            if not replayed:
                self._keep(given)
            return value

    def say(self, words: str = "") -> None:
        """Print a line, unless answers are only given again."""
        if not self.pending:
            self._print(words)

    def tell(self, error: Error) -> None:
        """Print what is wrong, with its number."""
        self.say(f"error: {error}")

    def _next(self, question: Question) -> str:
        line = self.lines.line(question.prompt, question.choices)
        if self.lines.strict:
            self.say(f"{question.prompt}{line}")
        return line

    def refuse(self, error: Error) -> None:
        """Print what is wrong with an answer; where nobody can correct it, end the dialogue."""
        if self.lines.strict:
            self._stop(error)
        self.tell(error)

    def _stop(self, error: Error) -> NoReturn:
        number = getattr(self.lines, "number", 0)
        raise InputError(
            f"the answer in line {number} of the transcript is rejected: {error}",
            remedy="correct that line; nothing was written since the last save",
            code="R113",
        )

    # -- files -------------------------------------------------------------------------------------
    def _files(self) -> list[tuple[Path, list[str]]]:
        """Return the files of answers, with what each holds before those since the last commit."""
        found: list[tuple[Path, list[str]]] = []
        if self.draft is not None:
            found.append((self.draft, []))
        if self.transcript is not None:
            found.append((self.transcript, self.kept))
        return found

    def _keep(self, line: str) -> None:
        """Add an answer to draft and transcript, so that a crash loses none."""
        for path, before in self._files():
            head = [] if path.exists() else [HEAD, *before]
            with path.open("a", encoding="utf-8") as file:
                file.writelines(f"{x}\n" for x in (*head, line))

    def _rewrite(self) -> None:
        """Write draft and transcript again, after answers were dropped."""
        for path, before in self._files():
            lines = (HEAD, *before, *self.answers, *self.pending)
            write_text(path, "".join(f"{x}\n" for x in lines), replace=True)


def _nothing_before() -> InputError:
    return InputError(
        "there is no answer to go back to", remedy="answer, or type ? for help", code="R114"
    )
