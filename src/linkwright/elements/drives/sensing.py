"""Sensors of drives: encoders, resolvers and current sensors, between a drive and its servo."""

from __future__ import annotations

import math
from fractions import Fraction

from linkwright.algebra import Expr, floor, maximum, minimum, sin
from linkwright.blocks import Block, Rate
from linkwright.elements.drives.parts import number


class RotaryEncoder(Block):
    """An encoder on a shaft: whole counts, with an error that repeats with each line.

    Args:
        lines: in a turn.
        subdivision: counts for each line; 4 for both edges of two tracks.
        error: amplitude of the interpolation's error, as a part of a line.
        orders: periods of that error in a line.
        latency: instants until the value is there.
        rate: hertz or a `Rate`.
        name: of the block.

    Ports: `angle` goes in, rad; `measured` and `speed`, by differences, come out.

    >>> RotaryEncoder(4096, rate=1000)
    RotaryEncoder(encoder: angle -> measured, speed)
    """

    def __init__(
        self,
        lines: float,
        *,
        subdivision: float = 4,
        error: float = 0.0,
        orders: float = 2.0,
        latency: int = 0,
        rate: Rate | float | Fraction | None = None,
        name: str = "encoder",
    ) -> None:
        super().__init__(name, rate=rate, doc="encoder of a shaft")
        number(lines, f"lines of {name!r}", above=0.0)
        number(subdivision, f"subdivision of {name!r}", above=0.0)
        number(error, f"error of {name!r}", least=0.0)
        number(orders, f"orders of {name!r}", above=0.0)
        angle = self.input("angle", unit="rad", doc="angle of the shaft")
        pitch = 2 * math.pi / lines
        bent = angle + error * pitch * sin(orders * lines * angle) if error else angle
        step = pitch / subdivision
        _measured(self, step * floor(bent / step + 0.5), latency, "rad")


class Resolver(Block):
    """A resolver with its converter: a smooth error twice a turn, and a number of bits.

    Args:
        bits: of a turn.
        error: amplitude of the error, rad.
        pairs: pairs of poles.
        latency: instants until the value is there.
        rate: hertz or a `Rate`.
        name: of the block.

    Ports: `angle` goes in, rad; `measured` and `speed`, by differences, come out.

    >>> Resolver(14, error=1e-3, rate=1000)
    Resolver(resolver: angle -> measured, speed)
    """

    def __init__(
        self,
        bits: int = 14,
        *,
        error: float = 0.0,
        pairs: float = 1.0,
        latency: int = 0,
        rate: Rate | float | Fraction | None = None,
        name: str = "resolver",
    ) -> None:
        super().__init__(name, rate=rate, doc="resolver of a shaft")
        number(bits, f"bits of {name!r}", least=1)
        number(error, f"error of {name!r}", least=0.0)
        number(pairs, f"pairs of {name!r}", above=0.0)
        angle = self.input("angle", unit="rad", doc="angle of the shaft")
        step = 2 * math.pi / (pairs * 2**bits)
        bent = angle + error * sin(2 * pairs * angle) if error else angle
        _measured(self, step * floor(bent / step + 0.5), latency, "rad")


class CurrentSensor(Block):
    """A current sensor with its converter: gain, offset, noise, range and bits.

    Args:
        span: the greatest current either way, A.
        bits: of the whole range.
        gain_error: part of the current that is read too much.
        offset: A.
        noise: standard deviation, A.
        latency: instants until the value is there.
        rate: hertz or a `Rate`.
        name: of the block.

    Ports: `current` goes in, A; `measured` comes out.

    >>> CurrentSensor(20, 12, rate=10_000)
    CurrentSensor(current_sensor: current -> measured)
    """

    def __init__(
        self,
        span: float,
        bits: int = 12,
        *,
        gain_error: float = 0.0,
        offset: float = 0.0,
        noise: float = 0.0,
        latency: int = 0,
        rate: Rate | float | Fraction | None = None,
        name: str = "current_sensor",
    ) -> None:
        super().__init__(name, rate=rate, doc="sensor of a current")
        number(span, f"span of {name!r}", above=0.0)
        number(bits, f"bits of {name!r}", least=1)
        number(noise, f"noise of {name!r}", least=0.0)
        number(gain_error, f"gain_error of {name!r}")
        number(offset, f"offset of {name!r}")
        current = self.input("current", unit="A", doc="current")
        step = 2 * span / 2**bits
        value = (1 + gain_error) * current + offset
        if noise:
            value = value + noise * self.noise()
        held = maximum(minimum(value, span - step), -span)
        _measured(self, step * floor(held / step + 0.5), latency, "A", speed=False)


def _measured(block: Block, value: Expr, latency: int, unit: str, *, speed: bool = True) -> None:
    """Give a block its outputs: a value, some instants late, and its rate by differences.

    Before the start the value was what it is then.
    """
    found = block.intermediate(value)
    if latency:
        found = block.intermediate(block.delay(found, latency, None))
    out = block.output("measured", found, unit=unit, doc="what is measured")
    if speed:
        old = block.discrete_state("old", out)
        seen = block.discrete_state("seen", 1)
        rate = seen * (out - old) / block.period
        block.output("speed", rate, unit=f"{unit}/s", doc="rate by differences")
