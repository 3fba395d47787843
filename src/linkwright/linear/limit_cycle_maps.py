"""Maps of limit cycles over parameters, such as gain and gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import Error, InputError
from linkwright.base.results import Result
from linkwright.linear.frequency import with_numbers
from linkwright.linear.limit_cycles import Gain, LimitCycle, limit_cycles
from linkwright.mechanism import ModelLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LimitCycleMap(Result):
    """The limit cycle at each point of a grid of parameters; NaN where there is none.

    Args:
        names: of the parameters, one or two.
        axes: their values.
        frequency: rad/s, an axis for each parameter.
        amplitude: half of what the nonlinearity's input covers.
        multiplier: the largest Floquet multiplier; below 1 the cycle is stable.

    >>> at = np.array([0.2, np.nan])
    >>> LimitCycleMap(("kp",), (np.array([1.0, 2.0]),), at, at, at)
    LimitCycleMap(kp: 2 points, 1 with a limit cycle)
    """

    names: tuple[str, ...]
    axes: tuple[Array, ...]
    frequency: Array
    amplitude: Array
    multiplier: Array
    _units = (("frequency", "rad/s"),)

    def __repr__(self) -> str:
        known = int(np.isfinite(self.frequency).sum())
        over = ", ".join(self.names)
        return f"LimitCycleMap({over}: {self.frequency.size} points, {known} with a limit cycle)"

    def plot(self) -> Figure:
        """Return frequency and amplitude over the parameters as a figure."""
        from linkwright.linear.response_plots import map_figure

        return map_figure(self)


@worded
def limit_cycle_map(
    model: ModelLike,
    output: str,
    input: str,  # noqa: A002 - the word of the field
    over: Mapping[str, Sequence[float]],
    gain: Gain | None = None,
) -> LimitCycleMap:
    """Return limit cycles over one or two parameters, of several cycles the smallest stable one.

    Args:
        model: a continuous System.
        output: the port that the nonlinearity drives.
        input: what it is a function of: a port, a state or a formula.
        over: values of one or two parameters by name.
        gain: its describing function; by default that of what the System itself computes there.

    >>> from linkwright import Block, System
    >>> plant = Block("plant")
    >>> u, k = plant.input("u"), plant.parameter("k", 1.0)
    >>> a = plant.state("a", "k*u - 3*a")
    >>> v = plant.state("v", "a - v")
    >>> y = plant.output("y", plant.state("x", v))
    >>> relay = Block("relay")
    >>> e = relay.input("e")
    >>> u = relay.output("u", "max(min(100*e, 2), -2)")
    >>> s = System(name="s")
    >>> p, r = s.add(plant), s.add(relay)
    >>> s.connect(r.u, p.u)
    >>> s.connect(-p.y, r.e)
    >>> limit_cycle_map(s, "relay.u", "relay.e", {"plant.k": [0.01, 1.0]}).frequency.round(1)
    array([nan, 1.7])
    """
    if not 1 <= len(over) <= 2 or any(not len(v) for v in over.values()):
        raise InputError(
            "a map of limit cycles is over one or two parameters, with values for each",
            remedy='give over={"pd.kp": [4, 8], "gear.gap": [1e-3, 5e-3]}',
            code="R614",
        )
    system = with_numbers(model, None, None)
    axes = tuple(np.asarray(v, dtype=float) for v in over.values())
    shape = tuple(len(a) for a in axes)
    frequency, amplitude, multiplier = (np.full(shape, np.nan) for _ in range(3))
    for place in product(*(range(n) for n in shape)):
        values = {n: float(a[k]) for n, a, k in zip(over, axes, place, strict=True)}
        try:
            cycles = limit_cycles(system, output, input, gain, parameters=values)
        except Error as error:
            if error.code != "R611":
                raise
            continue
        cycle = next((c for c in cycles if c.stable), cycles[0])
        frequency[place], amplitude[place] = cycle.frequency, cycle.amplitude
        multiplier[place] = _largest(cycle)
    return LimitCycleMap(tuple(over), axes, frequency, amplitude, multiplier)


def _largest(cycle: LimitCycle) -> float:
    return float(np.abs(cycle.multipliers).max(initial=0.0))
