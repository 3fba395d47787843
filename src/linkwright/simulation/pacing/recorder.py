"""A paced run on its way to a file: samples and tape in a journal, then in one recording.

Nothing is kept in memory: the journal grows while the run goes on, and is what a killed process
leaves. A change is in it before the first sample that it acts on, so that what is recovered can be
replayed to its last sample.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.recording import Recording
from linkwright.recording.journal import Journal, recovered
from linkwright.recording.origins import with_relative_paths
from linkwright.simulation.described import phase_channels
from linkwright.simulation.native.session import Samples, Session
from linkwright.simulation.pacing.loop import PacedLoop
from linkwright.simulation.pacing.tape import end_row, tape_label
from linkwright.simulation.recorder import Target


class LoopRecorder:
    """Takes what a loop leaves to a file.

    Args:
        session: that the loop drives.
        target: where the recording goes.
        about: metadata.
        stride: of the loop.
        waits: whether the loop waits for Python blocks.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from linkwright.blocks import Integrator
    >>> from linkwright.simulation.pacing import PacedLoop, tape_of
    >>> from linkwright.simulation.runs import session_of
    >>> from linkwright.simulation.settings import RunSettings
    >>> from linkwright.system import System
    >>> s = System(name="s", base=100)
    >>> _ = s.add(Integrator(), name="i")
    >>> session = session_of(s, RunSettings(60.0, every=1))[0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     recorder = LoopRecorder(session, Target(Path(folder) / "run.parquet"))
    ...     loop = PacedLoop(session, clock="virtual", sink=recorder)
    ...     _ = loop.set({"i.u": 2.0})
    ...     loop.go_to(50)
    ...     made = recorder.finish(loop)
    >>> len(made), list(tape_of(made))
    (51, [Change(tick=0, name='i.u', value=2.0)])
    """

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
        label = tape_label(session.tape_names, stride, session.phases.tick_seconds, waits)
        told = with_relative_paths({**(about or {}), "tape": label}, target.path.parent)
        channels = phase_channels(session.phases)
        self._lock = threading.Lock()
        self._journal = Journal(target.journal, channels, told, replace=target.replace_journal)

    def take(self, changes: NDArray[np.int64], samples: Samples) -> None:
        """Take a part of the tape and the samples that follow from it.

        Args:
            changes: rows of tick, place and value.
            samples: up to now.
        """
        with self._lock:
            self._journal.attach(changes.astype("<i8").tobytes())
            self._journal.append(samples.times, samples.values)

    def finish(self, loop: PacedLoop) -> Recording:
        """Return the recording, which is in its place; the journal goes.

        Args:
            loop: has been stopped.
        """
        end = loop.tape_end()
        with self._lock:
            self._journal.attach(end_row(end))
            self._journal.flush()
        made = recovered(self._journal.path)
        about = {k: v for k, v in made.metadata.items() if k != "recovered"}
        made = made.with_metadata(about)
        made.save(self.target.path, replace=self.target.replace)
        self._journal.remove()
        return made
