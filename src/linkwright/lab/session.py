"""Sessions: what a laboratory does, in a journal from which it is repeated bit by bit.

A session holds the configuration and the seed, all states at a low rate, and the tape: by tick,
every change of an input, whoever made it, what Python tasks gave and what drivers read. Lines of
text among them say which function has which number, the text of task files, and commands.
"""

from __future__ import annotations

import json
import linecache
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linkwright.backends.built import whole
from linkwright.base.errors import InputError
from linkwright.base.files import digest_of
from linkwright.lab.agreement import source_file
from linkwright.lab.config import LabConfig
from linkwright.lab.config_data import config_of, config_text
from linkwright.lab.stored_tasks import for_session, from_session, program_digest
from linkwright.lab.task_files import TaskText, text_of
from linkwright.lab.tasks import Task
from linkwright.recording import Recording, read_recording
from linkwright.recording.recording import plain
from linkwright.simulation.described import fingerprint
from linkwright.simulation.native.called import FUNCTIONS, SlotFunction
from linkwright.simulation.native.session import Samples, Session
from linkwright.simulation.pacing import LoopJournal, PacedLoop, Show, Tape, follow, tape_of
from linkwright.version import __version__

RATE = 10.0
"""Samples of all states in a second that a session holds."""

_FORMAT = 1
_NAME = re.compile(r"session(\d{5,})\.journal\Z")
_PACKAGE = Path(__file__).parents[1]


class NoJournal:
    """Takes what a loop leaves and keeps nothing of it."""

    def take(self, changes: object, samples: object) -> None:
        """Take a part of the tape and samples."""


class SessionJournal(LoopJournal):
    """The session of a laboratory while it goes on."""

    def __init__(
        self,
        config: LabConfig,
        session: Session,
        folder: Path,
        *,
        seed: int = 0,
        real: bool = False,
        rate: float = RATE,
    ) -> None:
        self.every = max(1, round(1 / (rate * session.phases.tick_seconds)))
        about = {
            "model": config.name,
            "version": __version__,
            "hash": fingerprint(session.phases),
            "lab": {
                "format": _FORMAT,
                "config": config_text(config),
                "seed": seed,
                "real": real,
            },
        }
        self._closed = False
        self.failed = ""
        """Why the journal was given up, as where the disk is full; the laboratory goes on."""
        self.tell: Callable[[str], None] | None = None
        """Reported once."""
        self._told: set[str] = set()
        self._turn = threading.Lock()
        self._seconds = session.phases.tick_seconds
        self._row = 8 * (1 + len(session.state_signals))
        self._changes = 0
        self._last = 0.0
        taken = [int(m[1]) for p in folder.iterdir() if (m := _NAME.fullmatch(p.name))]
        number = max(taken, default=0)
        while True:
            number += 1
            path = folder / f"session{number:05d}.journal"
            try:
                super().__init__(session, path, about, waits=True, states=self.every)
                return
            except InputError:
                if not path.exists():  # else another laboratory has taken the number meanwhile
                    raise

    def take(self, changes: Any, samples: Samples) -> None:
        """Take a part of the tape and the samples that follow from it."""
        self._kept(lambda: LoopJournal.take(self, changes, samples))
        self._changes += len(changes)
        if len(samples.times):
            self._last = float(samples.times[-1])

    def _kept(self, write: Callable[[], None]) -> None:
        """Write to the journal, which ends where that fails; a thread may come after its end."""
        if self.failed or self._closed:
            return
        try:
            write()
        except InputError as error:
            self.failed = str(error)
            if self.tell is not None:
                self.tell(f"the session is not kept any more: {error}")

    def say(self, tick: int, **what: Any) -> None:
        """Note something at a tick."""
        line = json.dumps({"tick": tick, **what}, separators=(",", ":"))
        self._kept(lambda: self.note(line))

    def installed(
        self,
        tick: int,
        servo: str,
        number: int,
        task: Task,
        function: SlotFunction,
        answers: Sequence[Any] | None = (),
    ) -> SlotFunction:
        """Note a function before it is used; return it as it is to be called."""
        called, data = for_session(function)
        values = {name: plain(getattr(task, name)) for name in (*task.values, *task.settings())}
        text, source = _text(task)
        kind = type(task).__qualname__ if text else ""
        told = None if answers is None else tuple(plain(answer) for answer in answers)
        stored = StoredFunction(tick, servo, number, function.name, data, text, kind, values, told)
        self.repeat(stored, source)
        return called

    def repeat(self, stored: StoredFunction, text: TaskText | None) -> None:
        """Note a function as another session has it."""
        with self._turn:
            about: dict[str, Any] = {"servo": stored.servo, "number": stored.number}
            about |= {"name": stored.name, "values": dict(stored.values)}
            if stored.text:
                about |= {"text": stored.text, "class": stored.kind}
            if text is not None and stored.text not in self._told:
                about_text: dict[str, Any] = {"file": text.name, "content": text.content}
                if text.beside:
                    about_text["beside"] = dict(text.beside)
                self.say(stored.tick, text=stored.text, **about_text)
                self._told.add(stored.text)
            if stored.data is not None:
                digest = program_digest(stored.data)
                if digest not in self._told:
                    self.say(stored.tick, program=digest, data=stored.data)
                    self._told.add(digest)
                about["program"] = digest
            if stored.answers is None:
                about["exchanged"] = True
            elif stored.answers:
                about["answers"] = list(stored.answers)
            self.say(stored.tick, install=about)

    def close(self, loop: PacedLoop) -> None:
        """End the session, once."""
        with self._turn:
            if not self._closed:
                self._kept(lambda: LoopJournal.close(self, loop))
                self._closed = True
                if self.failed:
                    self._journal.close()

    @property
    def size(self) -> int:
        """Bytes so far."""
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def hourly_bytes(self) -> float:
        """Bytes that an hour of the laboratory takes, as it has been so far."""
        states = self._row * 3600 / (self.every * self._seconds)
        changed = 24 * self._changes / self._last if self._last else 0.0
        return states + 3600 * changed


def _text(task: Task) -> tuple[str, TaskText | None]:
    """Return what stands for the text of a task's file, and the text."""
    found = text_of(type(task))
    if found is None:
        file = source_file(type(task))
        if file is None or not file.is_file():
            return "", None
        if file.is_relative_to(_PACKAGE):
            return f"linkwright {__version__} {file.relative_to(_PACKAGE)}", None
        found = TaskText(file.name, "".join(linecache.getlines(str(file))))  # as it was imported
    return digest_of(repr((found.content, sorted(found.beside.items()))).encode()), found


@dataclass(frozen=True, slots=True, eq=False)
class StoredFunction:
    """A function that a session has put into a slot."""

    tick: int  # that was reached then
    servo: str  # whose slot it is
    number: int  # by which it was called
    name: str  # of the task
    data: Mapping[str, Any] | None = None  # of its Program; None where its results are on the tape
    text: str = ""  # digest of the text of its file, if any
    kind: str = ""  # name of the task's class in it
    # of the parameters and settings of the task
    values: Mapping[str, Any] = field(default_factory=dict)
    # that its `init` was given; None where it was exchanged for one that ran
    answers: tuple[Any, ...] | None = ()


@dataclass(frozen=True, slots=True, eq=False)
class StoredSession:
    """A session that was read."""

    recording: Recording  # its states
    config: LabConfig  # of the laboratory
    seed: int  # of noise
    real: bool  # whether the robot was a real one
    tape: Tape  # what changed when
    every: int  # base ticks from one sample to the next
    functions: tuple[StoredFunction, ...]  # that were put into slots, in order
    texts: Mapping[str, TaskText]  # of task files, by digest
    commands: tuple[tuple[int, str], ...]  # with their ticks
    # ticks from which time was counted anew, with those at which that was told
    origins: tuple[tuple[int, int], ...]

    @property
    def rate(self) -> float:
        """Samples of all states in a second."""
        return 1 / (self.every * float(self.recording.metadata["tape"]["tick"]))

    def at_start(self) -> Session:
        """Return a run of the laboratory's System that stands at its start."""
        from linkwright.lab.ready import ready_session
        from linkwright.lab.system import lab_system

        real = self.real
        return ready_session(
            self.config,
            lambda: lab_system(self.config, real=real),
            kind=" real" if real else "",
            seed=self.seed,
        )

    def follow(
        self,
        loop: PacedLoop,
        until: int | None = None,
        *,
        show: Show | None = None,
        make: Callable[[StoredFunction], SlotFunction] | None = None,
        journal: SessionJournal | None = None,
    ) -> list[StoredFunction]:
        """Let a loop go along the tape; return the functions that were put into its slots."""
        waiting, done = list(self.functions), []

        def stored(function: StoredFunction) -> SlotFunction:
            sizes = loop.session.slot_sizes(function.servo)
            return from_session(function.name, function.data, sizes)

        chosen = stored if make is None else make

        def install(tick: int) -> None:
            while waiting and waiting[0].tick < tick:
                function = waiting.pop(0)
                if journal is not None:
                    journal.repeat(function, self.texts.get(function.text))
                loop.session.install(function.servo, function.number, chosen(function))
                done.append(function)

        follow(loop, self.tape, until, show=show, before=install, calls=make is not None)
        return done


def read_session(source: Recording | str | os.PathLike[str]) -> StoredSession:
    """Return a session."""
    recording = source if isinstance(source, Recording) else read_recording(source)
    about = recording.metadata.get("lab")
    if not isinstance(about, Mapping):
        raise InputError(
            "this is not the session of a laboratory",
            file=None if isinstance(source, Recording) else source,
            remedy="a laboratory with a folder makes one",
        )
    if about.get("format") != _FORMAT:
        raise InputError(
            f"the session has the format {about.get('format')}, and this version reads {_FORMAT}"
        )
    functions, texts, commands, origins = _noted(recording.metadata.get("noted", ()))
    tape = tape_of(recording)
    states = whole("the interval of samples", recording.metadata["tape"].get("states"), 1)
    return StoredSession(
        recording,
        config_of(str(about.get("config"))),
        whole("the seed of the session", about.get("seed"), -(2**63), 2**64 - 1),
        bool(about.get("real")),
        tape,
        states,
        tuple(functions),
        texts,
        tuple(commands),
        tuple(origins),
    )


def _noted(
    lines: Any,
) -> tuple[
    list[StoredFunction],
    dict[str, TaskText],
    list[tuple[int, str]],
    list[tuple[int, int]],
]:
    programs: dict[str, Mapping[str, Any]] = {}
    texts: dict[str, TaskText] = {}
    functions: list[StoredFunction] = []
    commands: list[tuple[int, str]] = []
    origins: list[tuple[int, int]] = []
    try:
        for line in lines:
            told = json.loads(line)
            tick = whole("a tick of the session", told["tick"])
            if "program" in told:
                programs[told["program"]] = told["data"]
            elif "text" in told:
                beside = {str(n): str(c) for n, c in dict(told.get("beside", {})).items()}
                texts[told["text"]] = TaskText(str(told["file"]), str(told["content"]), beside)
            elif "command" in told:
                commands.append((tick, str(told["command"])))
            elif "origin" in told:
                origins.append((tick, whole("an origin", told["origin"])))
            elif "install" in told:
                a = told["install"]
                data = programs[a["program"]] if "program" in a else None
                number = whole("the number of a task", a["number"], 1, FUNCTIONS - 1)
                where = str(a["servo"]), number, str(a["name"])
                text, kind = str(a.get("text", "")), str(a.get("class", ""))
                values = dict(a.get("values", {}))
                answers = None if a.get("exchanged") else tuple(a.get("answers", ()))
                functions.append(StoredFunction(tick, *where, data, text, kind, values, answers))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise InputError("what the session reports its tasks is damaged") from None
    return functions, texts, commands, origins
