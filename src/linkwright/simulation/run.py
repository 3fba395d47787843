"""What a run leaves behind, whatever ran and however it was started: a recording and its story."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.base.energies import ENERGIES
from linkwright.base.errors import Error
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.recording.holder import Recorded
from linkwright.recording.recording import Array, Recording
from linkwright.recording.transfer import StayedBehind
from linkwright.simulation.native.session import Happened, StopReason
from linkwright.simulation.settings import RunSettings

if TYPE_CHECKING:
    from linkwright.mechanism import Mechanism
    from linkwright.system import System


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class Energies(Result):
    """Energies of a run over time: kinetic and in the field of gravity, J; power of loads, W."""

    kinetic: Array
    potential: Array
    power: Array
    times: Array = field(repr=False)

    @property
    def total(self) -> Array:
        """Kinetic energy and that in the field of gravity."""
        return self.kinetic + self.potential

    @property
    def imbalance(self) -> Array:
        """Gain of energy less the work of loads, which a cubic spline through their power gives.

        Constraints that move with time do work too, which is not counted.
        """
        from scipy.interpolate import CubicSpline

        gain: Array = self.total - self.total[0]
        if not np.any(self.power) or len(self.times) < 2:
            return gain
        work: Array = CubicSpline(self.times, self.power).antiderivative()(self.times)
        return gain - work


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Run(Recorded):
    """A run that was carried out.

    Args:
        recording: its channels over time.
        settings: how it was run, with nothing left open.
        time: when it ended, s.
        x: continuous states at the end, by name.
        d: discrete states and held outputs at the end, by name.
        steps: accepted steps of the integration.
        rejected: steps that were tried again.
        events: what happened when.
        stop: why it ended before its time, or None.
        seconds: what it took, s.
        preparing: what came before it, s: deriving and compiling, or finding what is stored.
        report: what there is to say of it, in sentences.
        interrupted: whether it was interrupted.
        path: the file of the recording, where it was written.
        system: what was run, while it is at hand.

    >>> from linkwright.mechanism import Mechanism
    >>> from linkwright.simulation import simulate
    >>> m = Mechanism("cart")
    >>> b = m.body("b", translate="x", mass=2)
    >>> f = m.force("push", 4, at=b.origin, along="x")
    >>> run = simulate(m, 1.0, method="rk4", step=0.1)
    >>> run.steps, round(float(run["b"][-1]), 6)
    (10, 1.0)
    """

    recording: Recording
    settings: RunSettings
    time: float
    x: Mapping[str, float] = field(repr=False)
    d: Mapping[str, float] = field(repr=False)
    steps: int
    rejected: int = 0
    events: tuple[Happened, ...] = ()
    stop: StopReason | None = None
    seconds: float = 0.0
    preparing: float = 0.0
    report: tuple[str, ...] = ()
    interrupted: bool = False
    path: Path | None = None
    system: System | None = None

    def __repr__(self) -> str:
        times, channels = self.recording.times, len(self.recording.channels)
        span = f"{times[-1]:g} s, {len(times)} samples" if len(times) else "no samples"
        ended = "" if self.stop is None else ", stopped early"
        name = self.recording.metadata.get("system", "")
        return (
            f"Run({name!r}: {span} of {channels} channels, {self.steps} steps of "
            f"{self.settings.method}{ended})"
        )

    def _packed(self, held: dict[str, Any]) -> dict[str, Any]:
        """Return the fields, with the model as text where it can be written as such."""
        from linkwright.base.hooks import write_model

        try:
            text = None if self.system is None else write_model(self.system)
        except Error:
            text = StayedBehind(f"the System of {self!r}")
        return {**held, "system": text, "x": dict(self.x), "d": dict(self.d)}

    @classmethod
    def _unpacked(cls, held: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(held["system"], str):
            return held
        from linkwright.base.hooks import read_any
        from linkwright.system import system_of

        return {**held, "system": system_of(read_any(held["system"]))}

    @property
    def failed(self) -> bool:
        """Whether it ended because it could not go on."""
        return self.stop is not None and self.stop.failed

    @property
    def remedy(self) -> str:
        """What to try where it could not go on."""
        if self.stop is not None and self.stop.remedy:
            return self.stop.remedy
        where = "look there for a singularity, a force that jumps or an unstable loop"
        return f"{where}, or {self.settings.chosen.remedy}"

    @property
    def times(self) -> Array:
        """The times of the samples, s."""
        return self.recording.times

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What is known of the run, as plain data; enough to run it again."""
        return self.recording.metadata

    @property
    def mechanism(self) -> Mechanism:
        """What moved."""
        if self.system is None or isinstance(self.system, StayedBehind):
            raise Error("the model of this run is not at hand", remedy="load it again")
        return self.system.mechanism

    @property
    def values(self) -> dict[str, float]:
        """Values of parameters and inputs."""
        return dict(self.metadata.get("parameters", {}))

    @property
    def units(self) -> dict[str, str]:
        """The unit of each channel."""
        return {c.name: c.unit for c in self.recording.channels}

    @property
    def states(self) -> dict[str, Array]:
        """Coordinates, extra states and all speeds of the mechanism, over time."""
        m = self.mechanism
        names = [*m.coordinates, *(s.symbol.name for s in m.kinematics().speeds)]
        return {n: self.recording[n] for n in dict.fromkeys(names) if n in self.recording}

    @property
    def outputs(self) -> dict[str, Array]:
        """The outputs of the mechanism, over time."""
        names = (o.name for o in self.mechanism.outputs)
        return {n: self.recording[n] for n in names if n in self.recording}

    @property
    def inputs(self) -> dict[str, Array]:
        """The values that inputs of the mechanism had, over time."""
        return {n: self.recording[n] for n in self.mechanism.inputs if n in self.recording}

    @property
    def final(self) -> dict[str, float]:
        """The last sample, with the states and held outputs at the end."""
        return {**self.d, **self.recording.final, **self.x}

    def __getitem__(self, name: str) -> Array:
        """Return a channel over time."""
        return self.recording[name]

    def at(self, time: float) -> dict[str, float]:
        """Return all channels at a recorded time.

        Args:
            time: s; the nearest recorded time must be within 1e-9 of it, relative to the end.
        """
        k = int(np.abs(self.times - time).argmin())
        if abs(self.times[k] - time) > 1e-9 * max(abs(float(self.times[-1])), 1e-300):
            raise Error(
                f"t = {time} s was not recorded; the nearest time is {self.times[k]}",
                remedy="choose a step that divides it",
            )
        row = self.recording.data[k]
        return {c.name: float(v) for c, v in zip(self.recording.channels, row, strict=True)}

    def energies(self) -> Energies:
        """Return the energies at the recorded times, and how well they balance."""
        missing = [n for n in ENERGIES if n not in self.recording]
        if missing:
            raise Error(
                f"the run has not recorded {', '.join(missing)}",
                remedy="leave out record=, or put these names in it",
            )
        kinetic, potential, power = (self.recording[n] for n in ENERGIES)
        return Energies(kinetic, potential, power, self.times)

    @property
    def residual(self) -> float:
        """The largest violation of a relation of position at a recorded time.

        Relative to the size of its Jacobian.
        """
        from linkwright.equations.closure import Relations

        m = self.mechanism
        known = {**m.values, **self.values}
        found: dict[str, float] = {}
        relations = Relations(m, known, signals=(lambda _: found) if m.inputs else None)
        names = [*(q.name for q in relations.coordinates), *(s.symbol.name for s in m.states)]
        largest = 0.0
        for k, t in enumerate(self.times):
            found.update({n: float(v[k]) for n, v in self.inputs.items()})
            g, jacobian = relations.position(
                np.array([self.recording[n][k] for n in names]), float(t)
            )
            if len(g):
                size = float(np.abs(jacobian).max()) or 1.0
                largest = max(largest, float(np.abs(g).max()) / size)
        return largest
