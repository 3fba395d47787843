"""Consoles of other processes: a Unix socket that only its user may open.

A message is a line of JSON. A console sends `{"give": line}`, `{"reply": text}`, `{"complete":
line}`, `{"state": true}` or, for the commands of one servo alone, `{"servo": name}`; it is sent
events, and `completed`, `state` or `servo` (what is wrong with it, or "") in turn.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from queue import Empty, Full, Queue, SimpleQueue
from typing import Any

from linkwright.base.closable import Closable
from linkwright.base.errors import Error, InputError
from linkwright.base.files import parse_json
from linkwright.lab.console.completion import Completed, completions
from linkwright.lab.console.consoles import ConsoleEvent, Consoles
from linkwright.lab.console.servos import require_servo
from linkwright.server.registry import CellEntry, Running, running_cells, runtime_folder

KIND = "lab"
_LONGEST = 1 << 20  # bytes of a message
_WAITING = 1000  # messages that a console may be behind
_PATIENCE = 2.0  # s


class ConsoleServer(Closable):
    """Lets other processes give commands to a laboratory."""

    def __init__(self, consoles: Consoles, name: str) -> None:
        _require_sockets()
        self.consoles = consoles
        self._entry, self.name = _entry(name)
        self._path = socket_path(self.name)
        self._clients: set[socket.socket] = set()
        self._guard = threading.Lock()
        try:
            with suppress(FileNotFoundError):
                self._path.unlink()  # of one that was killed: its entry was free
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            with _Short(self._path) as path:
                self._socket.bind(path)
            self._path.chmod(0o600)
            self._socket.listen()
        except OSError as error:
            self._entry.close()
            raise Error(f"the socket {self._path} cannot be made: {error.strerror}") from None
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Let all go, and leave nothing behind."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with self._guard:
            clients = tuple(self._clients)
        for client in clients:
            _shut(client)
        with suppress(FileNotFoundError):
            self._path.unlink()
        self._entry.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with self._guard:
                self._clients.add(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        outgoing: Queue[dict[str, Any] | None] = Queue(_WAITING)

        def send(message: dict[str, Any]) -> None:
            try:
                outgoing.put_nowait(message)
            except Full:  # it does not read: let it go rather than wait for it
                _shut(client)

        threading.Thread(target=_write, args=(client, outgoing), daemon=True).start()
        console = self.consoles.console(lambda event: send(asdict(event)), owner=False)
        try:
            for message in _messages(client):
                self._take(console, message, send)
        except (OSError, ValueError, KeyError, TypeError):
            pass  # what is no message of ours ends the talk
        finally:
            console.close()
            with suppress(Full):
                outgoing.put_nowait(None)
            _shut(client)
            with self._guard:
                self._clients.discard(client)

    def _take(self, console: Any, message: dict[str, Any], send: Any) -> None:
        if "give" in message:
            console.give(str(message["give"]))
        elif "reply" in message:
            console.reply(None if message["reply"] is None else str(message["reply"]))
        elif "complete" in message:
            last, found = completions(self.consoles.lab, str(message["complete"]))
            send({"completed": [last, [[f.word, f.about] for f in found]]})
        elif "state" in message:
            send({"state": list(self.consoles.state())})
        elif "servo" in message:
            try:
                console.servo = require_servo(self.consoles.lab, str(message["servo"]))
                send({"servo": ""})
            except InputError as error:
                send({"servo": str(error)})


class RemoteLink:
    """A console of a laboratory that runs in another process, of all its servos or of one."""

    def __init__(self, name: str | None = None, servo: str | None = None) -> None:
        _require_sockets()
        self.name = _running(name)
        self.events: SimpleQueue[ConsoleEvent] = SimpleQueue()
        self._answers: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._asking = threading.Lock()
        self._state: tuple[str | None, float] = (None, 0.0)
        try:
            with _Short(socket_path(self.name)) as path:
                self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise Error(
                f"the laboratory {self.name!r} takes no console: {error.strerror}",
                remedy="linkwright lab attach lists those that run",
            ) from None
        self._count = 0
        threading.Thread(target=self._listen, daemon=True).start()
        if servo is not None:
            answer = self._asked({"servo": servo})
            if answer is None or answer["servo"]:
                self.close()
                raise InputError(answer["servo"] if answer else f"{self.name!r} does not answer")
            self.name = f"{self.name}.{servo}"

    def give(self, line: str) -> int:
        """Give a command; its end is reported by an event with the number that is returned."""
        self._count += 1
        self._send({"give": line})
        return self._count

    def reply(self, text: str | None) -> None:
        """Answer what was asked."""
        self._send({"reply": text})

    def completions(self, line: str) -> tuple[str, list[Completed]]:
        """Return what a line can go on with."""
        answer = self._asked({"complete": line})
        if answer is None:
            return "", []
        last, found = answer["completed"]
        return last, [Completed(word, about) for word, about in found]

    def state(self) -> tuple[str | None, float]:
        """Return task and time."""
        answer = self._asked({"state": True})
        if answer is not None:
            task, time = answer["state"]
            self._state = task, float(time)
        return self._state

    def close(self) -> None:
        """Go."""
        _shut(self._socket)

    def _asked(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer to a message; None where none comes in time."""
        with self._asking:
            with suppress(Empty):  # what came too late
                while True:
                    self._answers.get_nowait()
            self._send(message)
            try:
                answer = self._answers.get(timeout=_PATIENCE)
            except Empty:
                return None
        return answer if next(iter(answer), "")[:5] == next(iter(message))[:5] else None

    def _send(self, message: dict[str, Any]) -> None:
        with suppress(OSError):  # it ends: the listener tells
            self._socket.sendall(json.dumps(message).encode() + b"\n")

    def _listen(self) -> None:
        try:
            for message in _messages(self._socket):
                if "kind" in message:
                    self.events.put(ConsoleEvent(**message))
                else:
                    self._answers.put(message)
        except (OSError, ValueError, TypeError):
            pass
        _shut(self._socket)
        self.events.put(ConsoleEvent("left"))


def socket_path(name: str) -> Path:
    """Return where the socket of a laboratory is."""
    return runtime_folder() / f"{name}.{KIND}.socket"


def running_labs() -> dict[str, Running]:
    """Return the laboratories that run on this machine, by name."""
    return running_cells(KIND)


def _running(name: str | None) -> str:
    from linkwright.server.registry import running_cell

    if name is not None:
        return running_cell(name, KIND).name
    labs = running_labs()
    if len(labs) == 1:
        return next(iter(labs))
    if not labs:
        raise InputError("no laboratory runs on this machine", remedy="linkwright lab open sl-arm")
    raise InputError(
        f"{len(labs)} laboratories run: {', '.join(sorted(labs))}",
        remedy="linkwright lab attach NAME",
    )


def _entry(name: str) -> tuple[CellEntry, str]:
    """Enter a laboratory in the user's list, under the first name that is free."""
    for number in range(1, 100):
        own = name if number == 1 else f"{name}-{number}"
        with suppress(InputError):
            return CellEntry(Running(own, str(socket_path(own)), os.getpid()), KIND), own
    raise InputError(f"too many laboratories called {name!r} run", remedy="end some")


def _messages(stream: socket.socket) -> Any:
    """Yield the messages of a socket until it ends."""
    left = b""
    while True:
        got = stream.recv(65536)
        if not got:
            return
        *lines, left = (left + got).split(b"\n")
        if len(left) > _LONGEST:
            raise ValueError("a message is too long")
        for line in lines:
            message = parse_json(line)
            if not isinstance(message, dict):
                raise TypeError("no message")
            yield message


def _write(stream: socket.socket, outgoing: Queue[dict[str, Any] | None]) -> None:
    while (message := outgoing.get()) is not None:
        try:
            stream.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            return


def _shut(stream: socket.socket) -> None:
    with suppress(OSError):
        stream.shutdown(socket.SHUT_RDWR)
    stream.close()


def _require_sockets() -> None:
    if not hasattr(socket, "AF_UNIX"):
        raise Error(
            "this system has no Unix sockets", remedy="give commands at the lab's own prompt"
        )


class _Short:
    """A path that a socket's address has room for: about a hundred bytes are all it has."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder: int | None = None

    def __enter__(self) -> str:
        if len(os.fsencode(self._path)) < 100 or not Path("/proc/self/fd").is_dir():
            return str(self._path)
        self._folder = os.open(self._path.parent, os.O_RDONLY)
        return f"/proc/self/fd/{self._folder}/{self._path.name}"

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            os.close(self._folder)
