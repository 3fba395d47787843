"""The recorder of a laboratory: which variables, how often, how long; then a file with a number.

Native code puts samples into memory while the laboratory runs, and stops when the time is over.
States have the same bits whether it records or not. Files are written when a recording is complete.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from linkwright.base.errors import Error, InputError
from linkwright.base.files import write_text
from linkwright.lab.config import LabConfig
from linkwright.lab.files.scripts import read_script, script_text, unknown_variables
from linkwright.lab.tasks import Task
from linkwright.lab.variables import LabVariable, default_names, lab_variables, task_variables
from linkwright.recording import Channel, Recording
from linkwright.recording.generic import generic_name
from linkwright.recording.numbering import save_next
from linkwright.simulation.pacing import PacedLoop, Sampling

MOST_BYTES = 2 << 30
"""Of the samples of one recording, which are in memory."""

LISTED = 1000
"""Recordings that `recordings` knows, the newest."""


class RecorderHost(Protocol):
    """A laboratory, as its recorder sees it."""

    config: LabConfig
    loop: PacedLoop
    folder: Path
    tasks: dict[str, Task]

    def require_open(self) -> None:
        """Reject what a laboratory that was closed cannot do."""

    def tell(self, text: str) -> None:
        """Notify whoever listens."""


@dataclass(frozen=True, slots=True)
class RecorderSettings:
    """How a recorder records."""

    rate: float  # samples in a second, a whole part of the motor servo's
    duration: float  # s
    names: tuple[str, ...]  # of variables
    ending: str = ""  # of files, which says their format; "" for SL's dNNNNN


@dataclass(frozen=True, slots=True)
class RecordingEntry:
    """A recording that was made."""

    tick: int  # base tick of its first sample
    samples: int  # of each channel
    channels: int  # how many
    seconds: float  # from the first sample to the last
    path: Path | None = None  # of its file, or None where it was not saved


class LabRecorder:
    """Records variables of a laboratory.

    >>> from linkwright.lab.lab import Lab
    >>> lab = Lab("pendulum")
    >>> lab.recorder.configure(rate=240, duration=0.05, names=["phi_th", "phi_u"])
    >>> lab.recorder.start()
    >>> lab.run(0.1)
    >>> lab.recorder.last
    Recording(12 samples of 2 channels, 0 s to 0.0458333 s: 'phi_th', 'phi_u')
    """

    def __init__(self, lab: RecorderHost) -> None:
        self._lab = lab
        self._lock = threading.RLock()
        self._own: dict[str, tuple[str, Callable[[], float]]] = {}
        phases = lab.loop.session.phases
        self._base = 1 / Fraction(phases.tick_seconds).limit_denominator(10**9)
        self._known = lab_variables(lab.config, (*phases.x, *phases.d, *phases.outputs))
        task = Fraction(lab.config.rate).limit_denominator(10**6) / lab.config.ratios.get("task", 1)
        names = default_names(lab.config, self._known)
        self.settings = RecorderSettings(float(task), 10.0, names)
        """How it records; `configure` changes it."""
        self.recordings: deque[RecordingEntry] = deque(maxlen=LISTED)
        """The recordings that were made, the newest last."""
        self.complaints: deque[str] = deque(maxlen=LISTED)
        """What went wrong beside the loop, such as a full disk."""
        self._sampling: Sampling | None = None
        self._using = self.settings
        self._loop = lab.loop
        self._part = self._parts = self._rows = 0
        self._saves = False
        self._labels: tuple[LabVariable, ...] = ()
        self._last: Recording | None = None

    # -- what can be recorded ----------------------------------------------------------------------
    @property
    def variables(self) -> dict[str, LabVariable]:
        """All that can be recorded, by name; those of Python's own have no channel."""
        own = {n: LabVariable(n, u, "") for n, (u, _) in self._own.items()}
        return {**task_variables(self._lab.tasks), **self._known, **own}

    def add(self, name: str, unit: str, getter: Callable[[], float]) -> None:
        """Make a number of Python's own known by a name (SL: addVarToCollect).

        In lockstep it is asked for at each sample, by the clock a few times a second.
        """
        if not re.fullmatch(r"[^\s\"']+", name) or re.search(r"\s", unit):
            raise InputError(f"{name!r} in {unit!r} cannot be recorded", remedy="use no blanks")
        if name in self._known:
            raise InputError(f"{name!r} is a variable of the laboratory", remedy="choose another")
        if not callable(getter):
            raise InputError(f"{name!r} is given by a function, not by {getter!r}")
        self._own[name] = unit or "1", getter

    def sample_script(self) -> str:
        """Return a script with every variable; such a text is given to `configure`."""
        return script_text(self.variables)

    def write_sample_script(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Write a script with every variable, and return its path."""
        target = self._lab.folder / "sample_script" if path is None else Path(path)
        write_text(target, self.sample_script(), replace=True)
        return target

    def _checked(
        self, names: Iterable[str], known: Mapping[str, LabVariable] | None = None
    ) -> tuple[str, ...]:
        wanted, known = tuple(dict.fromkeys(names)), known or self.variables
        unknown = [name for name in wanted if name not in known]
        if unknown:
            raise unknown_variables(unknown, known)
        if not wanted:
            raise InputError("a recording has at least one variable", remedy="name some")
        return wanted

    # -- how it records ----------------------------------------------------------------------------
    def configure(
        self,
        *,
        rate: float | None = None,  # Hz, a whole part of the motor servo's
        duration: float | None = None,
        names: Iterable[str] | None = None,
        script: str | os.PathLike[str] | None = None,
        ending: str | None = None,
    ) -> None:
        """Change how it records, from the next start on (SL: outMenu)."""
        new = self.settings
        if rate is not None:
            self._every(rate)
            new = replace(new, rate=float(rate))
        if duration is not None:
            if not 0 < duration < math.inf:
                raise InputError(f"a recording of {duration!r} s has no end, or none before it")
            new = replace(new, duration=float(duration))
        if script is not None:
            names = read_script(self._script(script), self.variables)
        if names is not None:
            new = replace(new, names=self._checked(names))
        if ending is not None:
            from linkwright.recording.files import FORMATS

            writable = [name for name, kind in FORMATS.items() if kind.write is not None]
            if ending and ending not in writable:
                raise InputError(
                    f"the ending {ending!r} names no format of recordings",
                    remedy=f"use {', '.join(writable)}, or nothing for SL's",
                )
            new = replace(new, ending=ending)
        self._size(new, 1)
        self.settings = new

    def _script(self, script: str | os.PathLike[str]) -> Path:
        named = Path(script)
        for folder in (self._lab.folder, self._lab.config.preferences):
            if folder is not None and (folder / named).is_file():
                return folder / named
        return named

    def _every(self, rate: float) -> int:
        """Return the base ticks from one sample to the next."""
        most = self._lab.config.rate
        exact = self._base / Fraction(rate).limit_denominator(10**6) if rate > 0 else Fraction(0)
        if exact.denominator != 1 or not exact or rate > most:
            near = max(1, round(float(most) / rate)) if rate > 0 else 1
            raise InputError(
                f"{rate:g} Hz is not a whole part of the {most:g} Hz of the motor servo",
                remedy=f"take {most / near:g} Hz" if rate > 0 else "take more than 0",
            )
        return int(exact)

    def _size(self, settings: RecorderSettings, repeat: int) -> tuple[int, int]:
        """Return the base ticks from one sample to the next, and the samples of a recording."""
        every = self._every(settings.rate)
        rows = max(1, round(settings.duration * settings.rate))
        if 8 * repeat * rows * (1 + len(settings.names)) > MOST_BYTES:
            raise InputError(
                f"{repeat * rows} samples of {len(settings.names)} variables are more than "
                f"{MOST_BYTES >> 30} GiB",
                remedy="take a lower rate, fewer variables or a shorter time; a session has no end",
            )
        return every, rows

    # -- recording ---------------------------------------------------------------------------------
    @property
    def active(self) -> bool:
        """Whether it records, or waits for its delay."""
        self._look()
        return self._sampling is not None

    def start(self, *, save: bool = False, repeat: int = 1, delay: float = 0.0) -> None:
        """Record from the next tick on (SL: scd, scds, mscds, dscd).

        What is being recorded ends there.

        Units: `delay` in s.
        """
        self._lab.require_open()
        if isinstance(repeat, bool) or repeat != int(repeat) or repeat < 1:
            raise InputError(f"{repeat!r} recordings cannot be made", remedy="give 1 or more")
        if not 0 <= delay < math.inf:
            raise InputError(f"a delay of {delay!r} s cannot be", remedy="give 0 or more")
        every, rows = self._size(self.settings, repeat)
        usual = all(name in self._known for name in self.settings.names)
        known = self._known if usual else self.variables
        names = self._checked(self.settings.names, known)
        self.stop()
        with self._lock:
            loop = self._lab.loop
            now = loop.latest().tick + 1 + round(delay * self._base)
            own = {n: self._own[n][1] for n in names if n in self._own}
            given = [n for n in names if n not in own]
            self._labels = tuple(known[n] for n in (*given, *own))
            self._using = replace(self.settings, names=(*given, *own))
            self._rows, self._part, self._parts, self._saves = rows, 0, repeat, save
            self._loop = loop
            self._sampling = loop.sample(
                [known[n].channel for n in given],
                rows * repeat,
                every=every,
                first=-(-now // every) * every,
                own=own,
                told=self._look,
            )

    def stop(self) -> None:
        """Stop recording; what there is becomes `last` (SL: stopcd)."""
        with self._lock:
            self._look()
            if self._sampling is not None:
                self._end(len(self._sampling))

    def finish(self) -> None:
        """Stop recording where the recording is to be saved, and save it."""
        with self._lock:
            if self.active and self._saves:
                self.stop()

    def _look(self) -> None:
        """Take what is complete."""
        with self._lock:
            sampling = self._sampling
            if sampling is None:
                return
            while self._part < self._parts and len(sampling) >= (self._part + 1) * self._rows:
                self._take((self._part + 1) * self._rows)
            if self._part == self._parts:
                self._end(len(sampling))

    def _end(self, rows: int) -> None:
        assert self._sampling is not None
        if rows > self._part * self._rows:
            self._take(rows)
        self._loop.drop(self._sampling)
        self.complaints.extend(self._sampling.complaints.values())
        self._sampling = None

    def _take(self, end: int) -> None:
        """Make a recording of the rows of one part, up to an end."""
        made = self._made(self._part * self._rows, end)
        self._part += 1
        self._last = made
        self.recordings.append(_entry(made))
        if self._saves:
            try:
                self._lab.tell(f"saved {self._save(made, None)}")
            except Error as error:
                self.complaints.append(str(error))

    def _made(self, start: int, end: int) -> Recording:
        sampling = self._sampling
        assert sampling is not None
        ticks = sampling.ticks[start:end]
        channels = [Channel(v.name, v.unit, generic=generic_name(v.unit)) for v in self._labels]
        first = int(ticks[0]) if len(ticks) else 0
        about = {"model": self._lab.config.name, "tick": first, "start": float(first / self._base)}
        return Recording(
            (ticks - first) / float(self._base), channels, sampling.values[start:end], about
        )

    # -- recordings --------------------------------------------------------------------------------
    @property
    def last(self) -> Recording:
        """The last recording; while one is made, what there is of it."""
        with self._lock:
            self._look()
            if self._sampling is not None and len(self._sampling) > self._part * self._rows:
                return self._made(self._part * self._rows, len(self._sampling))
            if self._last is None:
                raise Error("nothing was recorded yet", remedy="recorder.start(), then run")
            return self._last

    def save(self, path: str | os.PathLike[str] | None = None, *, replace: bool = False) -> Path:
        """Save the last recording, and return its path (SL: saveData)."""
        with self._lock:
            return self._save(self.last, path, replace)

    def _save(
        self, made: Recording, path: str | os.PathLike[str] | None, instead: bool = False
    ) -> Path:
        if path is None:
            target = save_next(self._lab.folder, made, self._using.ending)
        else:
            target = Path(path)
            made.save(target, replace=instead)
        if self.recordings and self.recordings[-1] == _entry(made):
            self.recordings.pop()
        self.recordings.append(replace(_entry(made), path=target))
        return target


def _entry(made: Recording) -> RecordingEntry:
    return RecordingEntry(
        int(made.metadata["tick"]), len(made), len(made.channels), float(made.times[-1])
    )
