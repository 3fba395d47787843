"""The prompt of a laboratory: lines with completion and history, messages above them.

Ctrl-C freezes the robot; a second one asks whether to quit. Without a terminal that can be steered
lines are read as they come.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from linkwright.cli.terminal import can_edit, echo

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

    from linkwright.lab.console.completion import Completed
    from linkwright.lab.console.consoles import ConsoleEvent

_LOOK = 0.2  # s between looks at whether the laboratory has ended
_REFRESH = 0.5  # s between two drawings of the prompt


class ConsoleLink(Protocol):
    """A console of a laboratory, in this process or another."""

    name: str
    events: SimpleQueue[ConsoleEvent]

    def give(self, line: str) -> int:
        """Give a command and return its number."""

    def reply(self, text: str | None) -> None:
        """Answer what was asked."""

    def completions(self, line: str) -> tuple[str, list[Completed]]:
        """Return what a line can go on with."""

    def state(self) -> tuple[str | None, float]:
        """Return task and time."""

    def close(self) -> None:
        """Go."""


class PromptLines(Protocol):
    """Where lines come from."""

    def line(self, prompt: Callable[[], str], *, command: bool) -> str:
        """Return the next line; an `EOFError` where there is none."""

    def leave(self) -> None:
        """End the line that is waited for, from another thread."""

    def above(self) -> Any:
        """Return a context in which what is printed stands above the prompt."""


class UneditedLines:
    """Lines as they come, without editing."""

    def line(self, prompt: Callable[[], str], *, command: bool) -> str:
        """Return the next line."""
        del command
        echo(prompt(), nl=False)
        sys.stdout.flush()
        found = sys.stdin.readline()
        if not found:
            raise EOFError
        return found.rstrip("\r\n")

    def leave(self) -> None:
        """Do nothing: the line that is waited for is read to its end."""

    def above(self) -> Any:
        """Return a context that changes nothing."""
        return nullcontext()


class EditedLines:
    """Lines of a terminal, with completion and history (prompt_toolkit)."""

    def __init__(self, link: ConsoleLink) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import InMemoryHistory

        self._completer = _completer(link)
        self._commands: PromptSession[str] = PromptSession(history=_history())
        self._answers: PromptSession[str] = PromptSession(history=InMemoryHistory())
        self._left = False

    def line(self, prompt: Callable[[], str], *, command: bool) -> str:
        """Return the next line."""
        if self._left:
            raise EOFError
        if command:
            return self._commands.prompt(
                prompt,
                completer=self._completer,
                complete_while_typing=False,
                refresh_interval=_REFRESH,
            )
        return self._answers.prompt(prompt)

    def leave(self) -> None:
        """End the line that is waited for."""
        self._left = True
        for session in (self._commands, self._answers):
            app = session.app
            loop = app.loop
            if app.is_running and loop is not None:
                with suppress(Exception):  # it has just ended by itself
                    loop.call_soon_threadsafe(partial(app.exit, exception=EOFError()))

    def above(self) -> Any:
        """Return a context in which what is printed stands above the prompt."""
        from prompt_toolkit.patch_stdout import patch_stdout

        return patch_stdout()


class Prompt:
    """A person's talk with a laboratory."""

    def __init__(self, link: ConsoleLink, lines: PromptLines) -> None:
        self.link = link
        self.lines = lines
        self._pending: SimpleQueue[ConsoleEvent] = SimpleQueue()
        self._left = threading.Event()
        self._frozen = False  # by the Ctrl-C before

    def talk(self) -> None:
        """Take lines until one quits, or the laboratory ends."""
        with self.lines.above():
            threading.Thread(target=self._pump, daemon=True).start()
            while not self._left.is_set():
                try:
                    line = self.lines.line(self._prompt, command=True).strip()
                except EOFError:
                    break
                except KeyboardInterrupt:
                    if self._interrupted():
                        break
                    continue
                self._frozen = False
                if line:
                    self._wait(self.link.give(line))

    def script(self, text: str) -> Iterator[tuple[str, ConsoleEvent]]:
        """Give the commands of a script, and yield each with what came of it."""
        from linkwright.base.errors import InputError
        from linkwright.lab.console.script import Script

        script = Script(text.splitlines())
        for number, statement in enumerate(script.commands(), 1):
            given = self.link.give(statement.text)
            while True:
                event = self.link.events.get()
                if event.kind == "asked":
                    self.link.reply(script.answer(event.text))
                elif event.kind == "left":
                    raise InputError(f"the laboratory {self.link.name!r} has ended")
                elif event.number == given:
                    break
            if event.kind == "failed":
                raise InputError(f"command {number}, {statement.text!r}: {event.text}")
            yield statement.text, event

    def _prompt(self) -> str:
        task, time = self.link.state()
        return f"{self.link.name} {task or '-'} {time:.1f}> "

    def _pump(self) -> None:
        """Print messages as they come, and pass on what is waited for."""
        while True:
            event = self.link.events.get()
            if event.kind == "said":
                echo(event.text)
            elif event.kind == "left":
                self._left.set()
                self.lines.leave()
                return
            else:
                self._pending.put(event)

    def _wait(self, number: int) -> None:
        """Wait until a command has ended; answer what it asks."""
        while True:
            try:
                event = self._pending.get(timeout=_LOOK)
            except Empty:
                if self._left.is_set():
                    return
                continue
            except KeyboardInterrupt:
                if self._interrupted():
                    self._left.set()
                    return
                continue
            if event.kind == "asked":
                self.link.reply(self._answer(event.text))
                continue
            if event.text:
                echo(event.text if event.kind == "answered" else f"error: {event.text}")
            if event.number == number:
                return

    def _answer(self, question: str) -> str | None:
        """Return the answer to a question; None where the person does not want to give one."""
        *before, last = question.split("\n")
        for words in before:
            echo(words)
        try:
            return self.lines.line(lambda: last, command=False)
        except (EOFError, KeyboardInterrupt):
            return None

    def _interrupted(self) -> bool:
        """Freeze at a Ctrl-C, or ask at the second one in a row; return whether to quit."""
        if not self._frozen:
            self._frozen = True
            self._wait(self.link.give("freeze"))
            echo("Ctrl-C again to quit")
            return False
        answer = self._answer("quit? [no]: ")
        if answer is None or answer.strip().lower() in ("y", "yes"):
            return True
        self._frozen = False
        return False


def usual_lines(link: ConsoleLink) -> PromptLines:
    """Return the lines of the terminal where there is one that can be steered, else plain ones."""
    return EditedLines(link) if can_edit() else UneditedLines()


@contextmanager
def prompt_of(link: ConsoleLink) -> Iterator[Prompt]:
    """Yield the talk of a console, and let it go afterwards."""
    try:
        yield Prompt(link, usual_lines(link))
    finally:
        link.close()


def history_file() -> Path:
    """Return where lines are kept from one session to the next."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "linkwright" / "lab_history"


def _history() -> Any:
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    path = history_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


def _completer(link: ConsoleLink) -> Any:
    from prompt_toolkit.completion import Completer, Completion

    class LinkCompleter(Completer):
        """Completes by what the laboratory knows."""

        def get_completions(self, document: Any, complete_event: Any) -> Iterator[Completion]:
            """Yield what the line can go on with."""
            del complete_event
            last, found = link.completions(document.text_before_cursor)
            for each in found:
                yield Completion(each.word, -len(last), display_meta=each.about)

    return LinkCompleter()
