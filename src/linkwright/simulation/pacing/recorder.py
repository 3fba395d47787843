"""A paced run on its way to a file: samples and tape in a journal, or then in one recording.

Nothing is kept in memory: the journal grows while the run goes on, and is what a killed process
leaves. A change is in it before the first sample that it acts on, so that what is recovered can be
replayed to its last sample.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.recording.journal import Journal, journal_stream
from linkwright.recording.origins import with_relative_paths
from linkwright.simulation.described import signal_channels
from linkwright.simulation.native.session import Samples, Session
from linkwright.simulation.pacing.loop import PacedLoop
from linkwright.simulation.pacing.tape import end_row, tape_label
from linkwright.simulation.recorder import Target, keep_recording


class LoopJournal:
    """Takes what a loop leaves to a journal, which stays.

    >>> import tempfile
    >>> from linkwright.recording import recovered
    >>> from linkwright.blocks import Integrator
    >>> from linkwright.simulation.pacing import PacedLoop, tape_of
    >>> from linkwright.simulation.runs import session_of
    >>> from linkwright.simulation.settings import RunSettings
    >>> from linkwright.system import System
    >>> s = System(name="s", base=100)
    >>> _ = s.add(Integrator(), name="i")
    >>> session = session_of(s, RunSettings(60.0, every=0))[0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal = LoopJournal(session, Path(folder) / "run.journal", states=10)
    ...     loop = PacedLoop(session, clock="virtual", sink=journal, states=10)
    ...     loop.go_to(25)
    ...     journal.note("enough")
    ...     journal.close(loop)
    ...     made = recovered(journal.path)
    >>> made.times.tolist(), made.names, made.metadata["noted"], tape_of(made).end
    ([0.0, 0.1, 0.2], ('i.x',), ['enough'], 25)
    """

    def __init__(
        self,
        session: Session,
        path: Path,
        about: Mapping[str, Any] | None = None,
        *,
        stride: int = 1,
        waits: bool = False,
        states: int = 0,
        replace: bool = False,
    ) -> None:
        label = tape_label(session.tape_names, stride, session.phases.tick_seconds, waits)
        if states:
            label["states"] = states
        told = with_relative_paths({**(about or {}), "tape": label}, path.parent)
        signals = session.state_signals if states else session.phases.outputs
        self.path = path
        self._lock = threading.Lock()
        self._journal = Journal(path, signal_channels(signals), told, replace=replace)

    def take(self, changes: NDArray[np.int64], samples: Samples) -> None:
        """Take a part of the tape and the samples that follow from it."""
        with self._lock:
            self._journal.attach(changes.astype("<i8").tobytes())
            self._journal.append(samples.times, samples.values)

    def note(self, text: str) -> None:
        """Add a line of text."""
        with self._lock:
            self._journal.note(text)

    def close(self, loop: PacedLoop) -> None:
        """End the journal, which stays."""
        with self._lock:
            self._journal.attach(end_row(loop.tape_end()))
            self._journal.flush()
            self._journal.close()


class LoopRecorder(LoopJournal):
    """Takes what a loop leaves to a file; the journal goes when that is there."""

    def __init__(
        self,
        session: Session,
        target: Target,
        about: Mapping[str, Any] | None = None,
        *,
        stride: int = 1,
        waits: bool = False,
    ) -> None:
        target.check()
        self.target = target
        instead = target.replace_journal
        super().__init__(
            session, target.journal, about, stride=stride, waits=waits, replace=instead
        )

    def finish(self, loop: PacedLoop) -> Path:
        """Return where the recording of a loop that was stopped is.

        It was read back and compared before the journal goes.
        """
        if loop.unkept is not None:
            self._journal.close()
            raise InputError(
                f"the recording lacks the last {loop.counters.unkept} samples ({loop.unkept}), but "
                f"those before are in {self.path}",
                remedy=f"make room, then linkwright tools recover {self.path}",
            )
        with self._lock:
            self._journal.attach(end_row(loop.tape_end()))
        found = journal_stream(self.path)
        about = {k: v for k, v in found.metadata.items() if k != "recovered"}
        keep_recording(self._journal, self.target, replace(found, metadata=about))
        return self.target.path
