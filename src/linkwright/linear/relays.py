"""A relay in the loop of a System: it oscillates where its phase is half a turn.

The loop is cut at a port, as for `cut_loop`, and closed through a relay with hysteresis, which is
sampled. The run is the nonlinear System itself, so friction, backlash and limits count. The gain is
exact at the frequency of the limit cycle; harmonics move that by some percent from where the phase
is half a turn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from linkwright.algebra import where
from linkwright.algebra.units import Amount
from linkwright.base.arguments import worded
from linkwright.base.errors import Error
from linkwright.base.results import Result
from linkwright.blocks import Block, checked
from linkwright.linear.cuts import INJECTED, RETURNED, cut
from linkwright.linear.frequency import cut_loop, with_numbers
from linkwright.linear.tuning import UltimatePoint, measure_margins, ultimate_point
from linkwright.mechanism import ModelLike
from linkwright.recording import Channel, Recording
from linkwright.simulation import simulate

_SAMPLES = 400  # of the relay in an expected period


@dataclass(frozen=True, slots=True, eq=False)
class RelayRun(Result):
    """What a relay in the loop has shown.

    Args:
        recording: channels `relay` (what it put in) and `answer` (what came back).
        point: where the phase of the loop is half a turn.

    >>> RelayRun(Recording([], [], []), UltimatePoint(2.0, 0.1)).point.gain
    2.0
    """

    recording: Recording
    point: UltimatePoint


@worded
def relay_experiment(
    model: ModelLike,
    port: str,
    amplitude: float,
    *,
    hysteresis: float = 0.0,
    rate: float | None = None,
    periods: int = 8,
    at: Mapping[str, Amount] | None = None,
    parameters: Mapping[str, Amount] | None = None,
) -> RelayRun:
    """Put a relay into the loop of a System and return where it oscillates.

    Args:
        model: a System, or what has one.
        port: where the loop is cut, as for `cut_loop`; the relay takes the place of what went in.
        amplitude: of the relay, in the unit of the port.
        hysteresis: of what comes back, against noise.
        rate: Hz, of the relay; 400 times the expected frequency by default.
        periods: of the oscillation.
        at: where the run starts: coordinates (m, rad), speeds and other states by name.
        parameters: of parameters and inputs by name.

    >>> from linkwright import Block, System
    >>> plant = Block("plant")
    >>> u = plant.input("u")
    >>> a = plant.state("a", "u - a")
    >>> b = plant.state("b", "a - b")
    >>> y = plant.output("y", plant.state("c", "b - c"))
    >>> s = System(name="three lags")
    >>> member = s.add(plant)
    >>> s.connect(-1 * member.y, member.u)
    >>> point = relay_experiment(s, "plant.u", 1.0).point
    >>> round(point.gain, 1), round(point.period, 2)
    (7.7, 3.7)
    """
    size = checked(amplitude, "amplitude", above=0.0)
    width = checked(hysteresis, "hysteresis", least=0.0)
    count = int(checked(periods, "periods", least=3))
    loop = cut_loop(model, port, at=at, parameters=parameters)
    expected = measure_margins(loop.response()).gain_frequency
    if not math.isfinite(expected):
        raise Error(
            f"the loop through {port!r} never lags by half a turn, so a relay does not oscillate",
            remedy="tune it from a sweep: gains_at, best_gains",
        )
    pace = _SAMPLES * expected / (2 * math.pi) if rate is None else checked(rate, "rate", above=0.0)
    opened = cut(with_numbers(model, at, parameters), port).system
    (into,) = opened.exposed_inputs[INJECTED].symbols
    (back,) = opened.exposed_outputs[RETURNED].values
    made = opened.copy()
    made.exposed_inputs, made.exposed_outputs = {}, {}
    made.values.pop(into.name, None)
    relay = made.add(_relay(float(loop.model.level[0]), size, width), rate=pace, name="relay")
    made.connect(relay.y, [into])
    made.connect([back], [relay.e])
    until = (count + 6) * 2 * math.pi / expected
    run = simulate(made, until, every=1, record=["relay.y", "relay.answer"])
    data = np.column_stack([run["relay.y"], run["relay.answer"]])
    recording = Recording(run.times, [Channel("relay"), Channel("answer")], data)
    return RelayRun(recording, ultimate_point(run.times, data[:, 0], data[:, 1], periods=count))


def _relay(bias: float, size: float, width: float) -> Block:
    """Return a relay with memory."""
    b = Block("relay", doc="a relay with hysteresis")
    e = b.input("e")
    side = b.discrete_state("side", None, 1.0)
    now = b.intermediate(where(e > width, 1.0, where(e < -width, -1.0, side)))
    b.update(side, now)
    b.output("y", bias + size * now)
    b.output("answer", -e)
    return b
