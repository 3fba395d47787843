"""A session that goes to its end, or to an interrupt, and leaves a run: one way for all who ask.

What is recorded goes to a journal beside the target, where there is one, while the run goes on, and
becomes the recording when it ends, be it at its time, at a value that is not finite, or at an
interrupt. A run that is killed leaves the journal (`linkwright tools recover`).

Nothing that derives equations is imported here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.base.errors import Error
from linkwright.recording.transfer import with_origin
from linkwright.simulation.described import method_notes, phase_channels
from linkwright.simulation.native.session import Session
from linkwright.simulation.recorder import VISIT, Progress, Recorder, Target
from linkwright.simulation.run import Run
from linkwright.simulation.settings import RunSettings
from linkwright.simulation.stopwatch import Stopwatch

if TYPE_CHECKING:
    from linkwright.system import System

_FIRST = 2_000  # steps before the first visit


class RecordedSession:
    """A session on its way, with what is recorded of it."""

    def __init__(
        self,
        session: Session,
        settings: RunSettings,
        about: Mapping[str, Any],
        *,
        target: Target | None = None,
        watch: Stopwatch | None = None,  # of what is prepared on the way
        asked: float | None = None,  # when, by the clock of performance
        system: System | None = None,
    ) -> None:
        self.session, self.settings, self.system = session, settings, system
        self.phases, self.meta = session.phases, session.phases.meta or {}
        self.watch = watch or Stopwatch()
        told = about if target is None else with_origin(about, system)
        self.recorder = Recorder(phase_channels(session.phases), told, target, system)
        self.preparing = 0.0 if asked is None else time.perf_counter() - asked
        self.seconds = 0.0

    def finished(
        self, refuse: Callable[[], None] = lambda: None, progress: Progress | None = None
    ) -> Run:
        """Go to the end, and return the run; one that was interrupted can go on.

        Where it could not begin, `refuse` may raise the reason.
        """
        session, recorder = self.session, self.recorder
        recorder.begin()
        begun, before = time.perf_counter(), self.watch.seconds
        try:
            interrupted = self._go(progress)
        except BaseException:
            recorder.leave()
            raise
        more = self.watch.seconds - before
        self.preparing += more
        self.seconds += time.perf_counter() - begun - more
        stop = session.stop
        failed = stop is not None and stop.failed
        if failed and not session.steps:
            try:
                refuse()
            except Error:
                recorder.drop()
                raise
        kept, last = list(recorder.samples), session.ending()
        recorder.put(last.times, last.values)
        told: dict[str, Any] = {}
        if stop is not None:
            told["stopped"] = stop.told()
        if interrupted:
            told["interrupted"] = session.time
        if words := self._pole_words():
            told["notes"] = [*recorder.about.get("notes", ()), *words]
        recording, path = recorder.finish(told, least=2 if failed else 1)
        if interrupted:
            recorder.samples = kept  # without where it was interrupted, which is no sample
        outcome = session.outcome(last)
        report = [str(line) for key in ("report", "notes") for line in self.meta.get(key, ())]
        chosen = [f"the method was chosen: {self.settings.why}"] if self.settings.why else []
        report += [*chosen, *method_notes(self.phases, self.settings.chosen), *words]
        return Run(
            recording,
            self.settings,
            outcome.time,
            outcome.x,
            outcome.d,
            outcome.steps,
            outcome.rejected,
            outcome.events,
            stop,
            self.seconds,
            self.preparing,
            (*report, *(() if session.fallback is None else session.fallback.report)),
            interrupted,
            path,
            self.system,
        )

    def _go(self, progress: Progress | None) -> bool:
        """Go to the end in stretches of about `VISIT`; return whether it was interrupted."""
        session, recorder, steps = self.session, self.recorder, _FIRST
        try:
            while not session.done:
                begun, before = time.perf_counter(), session.steps
                samples = session.advance(steps)
                recorder.put(samples.times, samples.values)
                if progress is not None:
                    progress(session.time, float(self.settings.until or 0.0))
                took = max(time.perf_counter() - begun, 1e-6)
                pace = max(session.steps - before, 1) / took
                steps = int(min(max(pace * VISIT, 100), 50_000_000))
        except KeyboardInterrupt:
            rest = session.standing()
            recorder.put(rest.times, rest.values)
            return True
        return False

    def _pole_words(self) -> list[str]:
        """Return what there is to say of angles that came near their pole."""
        known = self.meta.get("poles")
        if not known or not self.recorder.samples:
            return []
        from linkwright.equations.poles import AT, NEAR, Pole, pole_words

        names = [c.name for c in self.recorder.channels]
        times = np.concatenate([t for t, _ in self.recorder.samples])
        rows = np.concatenate([x for _, x in self.recorder.samples])
        near = AT if self.settings.chosen.adaptive else NEAR
        joints = (Pole(str(body), str(q), bool(repeats)) for body, q, repeats in known)
        return pole_words(joints, dict(zip(names, rows.T, strict=True)), times, near)
