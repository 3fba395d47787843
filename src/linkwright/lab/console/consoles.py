"""Those who give commands to a laboratory, at one time: prompts, sockets, the page.

A command runs in a thread of its own, so that `freeze` and `stop` come through while it runs. One
command at a time may run the laboratory; others change it at its next tick, or only look.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from linkwright.base.errors import Error, InputError
from linkwright.lab.console.completion import Completed, completions
from linkwright.lab.console.dialogue import AbortedError, answered_by, ended_by
from linkwright.lab.console.servos import call_of

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab


@dataclass(frozen=True, slots=True)
class ConsoleEvent:
    """What a console receives."""

    # "said" (a message of the laboratory), "asked" (a question; `reply` answers it), "answered" or
    # "failed" (a command ended), "left" (the laboratory ends)
    kind: str
    text: str = ""  # for people
    data: Any = None  # of an answer, for programs
    number: int = 0  # of the command


class Consoles:
    """All consoles of one laboratory."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.left = threading.Event()
        self._listeners: list[Callable[[ConsoleEvent], None]] = []
        self._guard = threading.Lock()
        self._running = threading.Lock()
        self._line = ""
        self._ending = threading.Event()
        lab.listen(self.tell)

    def console(self, send: Callable[[ConsoleEvent], None], *, owner: bool = True) -> Console:
        """Return one more console."""
        with self._guard:
            self._listeners.append(send)
        return Console(self, send, owner=owner)

    def state(self) -> tuple[str | None, float]:
        """Return the task that runs, and the time, s."""
        return self.lab.task, self.lab.time

    def remove(self, send: Callable[[ConsoleEvent], None]) -> None:
        """Let a console go."""
        with self._guard:
            if send in self._listeners:
                self._listeners.remove(send)

    def tell(self, text: str) -> None:
        """Notify all consoles of a message of the laboratory."""
        self._send(ConsoleEvent("said", text))

    def leave(self) -> None:
        """Notify all consoles that the laboratory ends."""
        if not self.left.is_set():
            self.left.set()
            self._send(ConsoleEvent("left"))

    def _send(self, event: ConsoleEvent) -> None:
        with self._guard:
            listeners = tuple(self._listeners)
        for send in listeners:
            send(event)

    @contextmanager
    def alone(self, line: str) -> Iterator[None]:
        """Hold what one command at a time may do."""
        if not self._running.acquire(blocking=False):
            raise InputError(
                f"{self._line!r} runs", remedy="wait until it has ended, or end it: freeze"
            )
        self._line, self._ending = line, threading.Event()
        try:
            with ended_by(self._ending):
                yield
        finally:
            self._running.release()

    def interrupt(self) -> None:
        """Let the command end that runs the laboratory."""
        self._ending.set()


class Console:
    """One that gives commands."""

    def __init__(
        self, consoles: Consoles, send: Callable[[ConsoleEvent], None], *, owner: bool = True
    ) -> None:
        self.consoles = consoles
        self._owner = owner
        self._send = send
        self._number = 0
        self._replies: SimpleQueue[str | None] = SimpleQueue()
        self._asking = False
        self.servo = ""
        """The one servo whose commands it takes; "" for those of all."""

    def give(self, line: str) -> int:
        """Give a command; its end is reported by an event with the number that is returned."""
        self._number += 1
        number = self._number
        threading.Thread(target=self._carry_out, args=(line, number), daemon=True).start()
        return number

    def reply(self, text: str | None) -> None:
        """Answer what was asked."""
        if self._asking:
            self._replies.put(text)

    def close(self) -> None:
        """Go; what it was asked stays unanswered."""
        self.consoles.remove(self._send)
        self.reply(None)

    def _carry_out(self, line: str, number: int) -> None:
        try:
            with answered_by(self._ask):
                done, quits = self._answered(line, number)
            self._send(done)
            if quits and self._owner:
                self.consoles.leave()
            elif quits:
                self._send(ConsoleEvent("left"))
        except Error as error:
            self._send(ConsoleEvent("failed", str(error), number=number))
        except Exception as error:  # of a command of one's own: told, and the console goes on
            words = f"{line.split()[0]}: {type(error).__name__}: {error}"
            self._send(ConsoleEvent("failed", words, number=number))

    def _answered(self, line: str, number: int) -> tuple[ConsoleEvent, bool]:
        lab = self.consoles.lab
        call = lab.commands.read(lab, line)
        if self.servo:
            call = call_of(lab, self.servo, call)
        lab.note_command(line)
        if call.command.name in ("freeze", "stop"):
            self.consoles.interrupt()
        if call.command.beside:
            answer = lab.commands.carry_out(lab, call)
        else:
            with self.consoles.alone(line):
                answer = lab.commands.carry_out(lab, call)
        quits = call.command.name == "quit"
        return ConsoleEvent("answered", answer.text, answer.data, number), quits

    def _ask(self, question: str) -> str:
        self._asking = True
        try:
            self._send(ConsoleEvent("asked", question))
            text = self._replies.get()
        finally:
            self._asking = False
        if text is None:
            raise AbortedError("aborted")
        return text


class LocalLink:
    """A console in the laboratory's own process."""

    def __init__(self, consoles: Consoles, name: str) -> None:
        self.name = name
        self.events: SimpleQueue[ConsoleEvent] = SimpleQueue()
        self._consoles = consoles
        self._console = consoles.console(self.events.put)

    def give(self, line: str) -> int:
        """Give a command; its end is reported by an event with the number that is returned."""
        return self._console.give(line)

    def reply(self, text: str | None) -> None:
        """Answer what was asked."""
        self._console.reply(text)

    def completions(self, line: str) -> tuple[str, list[Completed]]:
        """Return what a line can go on with."""
        return completions(self._consoles.lab, line)

    def state(self) -> tuple[str | None, float]:
        """Return task and time."""
        return self._consoles.state()

    def close(self) -> None:
        """Go."""
        self._console.close()
