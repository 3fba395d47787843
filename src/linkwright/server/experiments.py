"""Experiments on an axis of a cell: steps, sweeps and relays, and the gains that follow from them.

The control law of an axis is C = kp + kd s on what it should do; P is everything else, from what
the law asks for to the measured position. A sine goes in as a set-point with its speed, so that its
answer is T = PC/(1 + PC), and P = T/((1 - T) C). A step and a relay go in as positions alone, whose
answer is kp P/(1 + PC). The functions are the same for a cell in virtual time and for one on the
network: they see a bench.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import Error, InputError, unknown
from linkwright.blocks import checked
from linkwright.linear.frequency import Margins
from linkwright.linear.gains import ProposedGains, best_gains, gains_at
from linkwright.linear.responses import FrequencyResponse
from linkwright.linear.tuning import (
    StepMeasures,
    measure_margins,
    measure_response,
    open_loop,
    step_measures,
    time_text,
    ultimate_point,
)
from linkwright.server.cell_system import state_fields
from linkwright.server.face import EXCITATIONS, LIVES, ArmFace, Command
from linkwright.server.hand import ArmHand
from linkwright.server.virtual import VirtualCell
from linkwright.windows.records import Frame

Array = NDArray[np.float64]
_SETTLE, _MEASURE = 3, 5  # periods of a sine before it counts, and that count
_ENABLING = 2.0  # s
_SETTLING = 0.5  # s, until an arm holds still after its brakes have opened


@dataclass(frozen=True, slots=True, eq=False)
class AxisTrace:
    """What an axis did in an experiment."""

    times: Array  # s from its beginning
    probe: Array  # what was added to the set-point, rad or m
    q: Array  # measured position, less where it was before
    current: Array  # A


class AxisBench(Protocol):
    """An axis that experiments can be made on."""

    axis: str
    """Its name, such as "puma.3"."""
    unit: str
    """Of its position."""
    kp: float
    kd: float

    def run(
        self,
        kind: str,
        amplitude: float,
        seconds: float,
        *,
        frequency: float = 0.0,
        hysteresis: float = 0.0,
    ) -> AxisTrace:
        """Make an experiment and return what the axis did."""

    def set_gains(self, kp: float, kd: float) -> None:
        """Change its gains."""


def axis_of(arms: Sequence[ArmFace], axis: str) -> tuple[ArmFace, int]:
    """Return the arm and the place of an axis, such as "puma.3" or "puma.q3".

    >>> arm = ArmFace("slide", ("x",), ("m",), ((0.0, 1.0),), ("slide.1",))
    >>> axis_of([arm], "slide.1")[1]
    0
    """
    for arm in arms:
        joints = [f"{arm.name}.{joint}" for joint in arm.joints]
        for names in (arm.axes, joints):
            if axis in names:
                return arm, names.index(axis)
    names = [name for arm in arms for name in arm.axes]
    raise unknown("axis", axis, names, owner="the cell")


def _gains(arm: ArmFace, place: int) -> tuple[float, float]:
    try:
        return arm.parameters[f"kp.{place + 1}"], arm.parameters[f"kd.{place + 1}"]
    except KeyError:
        raise InputError(
            f"{arm.axes[place]} has no gains kp and kd", remedy="tune it where its law is made"
        ) from None


class VirtualBench:
    """An axis of a cell in virtual time: the same numbers again and again.

    >>> from linkwright.server.cell_file import read_cell
    >>> bench = VirtualBench(VirtualCell(read_cell("axes2")), "plane.2")
    >>> found = step_experiment(bench, 0.01, seconds=0.5)
    >>> 0.05 < found.rise < 0.3
    True
    """

    def __init__(self, cell: VirtualCell, axis: str) -> None:
        self._cell = cell
        self._arm, self._place = axis_of(list(cell.arms.values()), axis)
        self.axis = self._arm.axes[self._place]
        self.unit = self._arm.units[self._place]
        self.kp, self.kd = _gains(self._arm, self._place)
        names = {one.field.name: one.sources for one in state_fields(cell.cell)}
        places = {one.name: i for i, one in enumerate(cell.loop.session.phases.d)}
        wanted = [names[f"{self._arm.name}.{part}"] for part in ("probe", "q", "current", "life")]
        self._places = [places[one[self._place if len(one) > 1 else 0]] for one in wanted]
        self._sequence = 0
        cell.advance(10)
        self._command("enable")
        for _ in range(round(_ENABLING * cell.rate)):
            cell.advance(1)
            if LIVES[int(self._row()[3])] == "active":
                break
        else:
            raise Error(f"{self._arm.name} is not enabled")
        cell.advance(round(_SETTLING * cell.rate))

    def run(
        self,
        kind: str,
        amplitude: float,
        seconds: float,
        *,
        frequency: float = 0.0,
        hysteresis: float = 0.0,
    ) -> AxisTrace:
        """Make an experiment and return what the axis did."""
        self._cell.advance(round(0.1 * self._cell.rate))
        before = float(self._row()[1])
        place = float(EXCITATIONS.index(kind))
        values = (place, amplitude, frequency, seconds, hysteresis)
        self._command("excite", values, self.axis)
        rows = []
        for _ in range(round(seconds * self._cell.rate)):
            self._cell.advance(1)
            rows.append(self._row())
        self._cell.advance(round(0.3 * self._cell.rate))  # back to where it was
        times = np.arange(len(rows)) / self._cell.rate
        return _trace(times, np.array(rows), before, self._arm.name)

    def set_gains(self, kp: float, kd: float) -> None:
        """Change its gains."""
        for name, value in (("kp", kp), ("kd", kd)):
            self._command("set", (value,), f"{name}.{self._place + 1}")
            self._cell.advance(5)
        self.kp, self.kd = kp, kd

    def _command(self, kind: str, values: tuple[float, ...] = (), name: str = "") -> None:
        self._sequence += 1
        self._cell.command(self._arm.name, Command(kind, self._sequence, values, name=name))

    def _row(self) -> Array:
        """Return probe, position, current and life; whole states would take longer."""
        found: Array = self._cell.loop.latest().d[self._places]
        return found


class RemoteBench:
    """An axis of a cell on the network, whose arm is in hand."""

    def __init__(self, hand: ArmHand, axis: str) -> None:
        self._hand = hand
        self._arm, self._place = axis_of([hand.arm.face], axis)
        self.axis = self._arm.axes[self._place]
        self._cell = hand.arm.cell
        self.unit = self._arm.units[self._place]
        self.kp, self.kd = _gains(self._arm, self._place)
        self._cell.follow(self._cell.rate)
        self._pass(_SETTLING)

    def run(
        self,
        kind: str,
        amplitude: float,
        seconds: float,
        *,
        frequency: float = 0.0,
        hysteresis: float = 0.0,
    ) -> AxisTrace:
        """Make an experiment and return what the axis did; states that were lost are missing."""
        states, arm = self._cell.states, self._arm.name
        self._pass(0.2)
        before = float(np.atleast_1d(self._cell.frame.values[f"{arm}.q"])[self._place])
        given = self._hand.excite(
            self.axis,
            kind,
            amplitude,
            frequency=frequency,
            seconds=seconds,
            hysteresis=hysteresis,
        )
        rows: list[tuple[float, ...]] = []
        ticks: list[int] = []
        last = -1
        while not ticks or ticks[-1] - ticks[0] < seconds * self._cell.rate - 1:
            if not states.wait(partial(_newer, last), 2.0):
                raise Error(f"no state comes from {self._cell.name!r}", remedy="is it served?")
            frame = self._cell.frame
            values, last = frame.values, frame.tick
            if values[f"{arm}.taken"] < given.sequence:
                continue
            ticks.append(last)
            q, current = (np.atleast_1d(values[f"{arm}.{part}"]) for part in ("q", "current"))
            measured = (values[f"{arm}.probe"], q[self._place], current[self._place])
            rows.append((*map(float, measured), float(values[f"{arm}.life"])))
        self._pass(0.3)  # back to where it was
        times = (np.array(ticks, dtype=float) - ticks[0]) / self._cell.rate
        return _trace(times, np.array(rows), before, arm)

    def _pass(self, seconds: float) -> None:
        """Let some ticks of the cell pass."""
        tick = self._cell.frame.tick + round(seconds * self._cell.rate)
        if not self._cell.states.wait(partial(_newer, tick), 10.0):
            raise Error(f"no state comes from {self._cell.name!r}", remedy="is it served?")

    def set_gains(self, kp: float, kd: float) -> None:
        """Change its gains."""
        self._hand.set(f"kp.{self._place + 1}", kp)
        self._hand.set(f"kd.{self._place + 1}", kd)
        self.kp, self.kd = kp, kd


def _newer(tick: int, frame: Frame) -> bool:
    return frame.tick > tick


def _trace(times: Array, rows: Array, before: float, arm: str) -> AxisTrace:
    if (rows[:, 3] != LIVES.index("active")).any():
        raise Error(
            f"{arm} stopped in the experiment", remedy="look at the cause; take a smaller amplitude"
        )
    return AxisTrace(times, rows[:, 0], rows[:, 1] - before, rows[:, 2])


# -- experiments -----------------------------------------------------------------------------------
def step_experiment(bench: AxisBench, amplitude: float, *, seconds: float = 1.0) -> StepMeasures:
    """Return the measures of a step of the set-point."""
    trace = bench.run("step", amplitude, seconds)
    return step_measures(trace.times, trace.q, start=0.0, goal=amplitude)


@dataclass(frozen=True, slots=True, eq=False)
class SweepResult:
    """What a sweep has shown."""

    closed: FrequencyResponse  # T, from the set-point to the position
    loop: FrequencyResponse  # L = T/(1 - T)
    plant: FrequencyResponse  # P = L/C
    margins: Margins  # of the loop
    gains: ProposedGains | None  # that are proposed

    def as_dict(self) -> dict[str, object]:
        """Return the loop, its margins and the gains as plain data."""
        return {
            "frequencies_rad_s": self.loop.frequencies.tolist(),
            "loop": [[v.real, v.imag] for v in self.loop.values],
            "margins": self.margins.as_dict(),
        }

    def rows(self) -> list[tuple[str, str]]:
        """Return label and value of each line of a table."""
        m = self.margins
        gain = f"{m.decibels:.3g} dB" if math.isfinite(m.gain) else "beyond the sweep"
        return [
            ("crossover", f"{m.phase_frequency:.4g} rad/s"),
            ("phase margin", f"{m.degrees:.3g} deg"),
            ("gain margin", gain),
            ("delay margin", time_text(m.delay)),
            ("modulus margin", f"{m.modulus:.3g}"),
        ]


def sweep_experiment(
    bench: AxisBench,
    amplitude: float,
    frequencies: ArrayLike,  # rad/s
    *,
    acceleration: float = 5.0,
    margin: float = 60.0,  # phase margin that proposed gains have, degrees
) -> SweepResult:
    """Return the frequency response of the loop of an axis, its margins, and gains from them."""
    most = checked(acceleration, "acceleration", above=0.0)
    values, w = [], np.unique(np.asarray(frequencies, dtype=float))
    for one in w:
        period = 2 * math.pi / float(one)
        size = min(amplitude, most / float(one) ** 2)
        settle = max(_SETTLE * period, 0.3)
        trace = bench.run("sine", size, settle + _MEASURE * period, frequency=float(one))
        values.append(
            measure_response(trace.times, trace.probe, trace.q, float(one), settle=settle)
        )
    closed = FrequencyResponse(w, np.array(values), f"{bench.axis}.target", f"{bench.axis}.q")
    loop = open_loop(closed)
    law = ProposedGains(bench.kp, td=bench.kd / bench.kp).response(w)
    plant = FrequencyResponse(w, loop.values / law, f"{bench.axis} law", f"{bench.axis}.q")
    try:
        gains = best_gains(plant, margin=math.radians(margin))
    except Error:
        gains = None
    return SweepResult(closed, loop, plant, measure_margins(loop), gains)


@dataclass(frozen=True, slots=True)
class RelayResult:
    """What a relay has shown."""

    frequency: float  # of the oscillation, rad/s
    spread: float  # of its last periods, as a share of their mean
    plant: complex  # P at that frequency
    gains: ProposedGains | None  # that are proposed, where any have the margin there

    def as_dict(self) -> dict[str, object]:
        """Return the oscillation as plain data."""
        return {"frequency_rad_s": self.frequency, "spread": self.spread}

    def rows(self) -> list[tuple[str, str]]:
        """Return label and value of each line of a table."""
        return [
            ("oscillates at", f"{self.frequency:.4g} rad/s"),
            ("period", time_text(2 * math.pi / self.frequency)),
            ("spread of periods", f"{100 * self.spread:.2g} %"),
        ]


def relay_trial(
    bench: AxisBench,
    amplitude: float,
    *,
    seconds: float = 2.0,
    hysteresis: float = 0.0,
    margin: float = 45.0,  # phase margin of the proposed gains, degrees, with the crossover there
) -> RelayResult:
    """Return where an axis oscillates with a relay before its set-point, and gains from that."""
    trace = bench.run("relay", amplitude, seconds, hysteresis=hysteresis)
    point = ultimate_point(trace.times, trace.probe, trace.q)
    w = point.frequency
    last = trace.times >= trace.times[-1] - 4 * point.period
    answer = measure_response(trace.times[last], trace.probe[last], trace.q[last], w)
    law = bench.kp + 1j * w * bench.kd
    plant = answer / (bench.kp - answer * law)
    known = FrequencyResponse(np.array([w]), np.array([plant]), bench.axis, bench.axis)
    try:
        gains = gains_at(known, w, margin=math.radians(margin))
    except Error:
        gains = None
    return RelayResult(w, point.spread, plant, gains)
