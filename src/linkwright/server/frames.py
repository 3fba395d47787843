"""Frames of a cell as native blocks: where they are at each tick, and how old that is."""

from __future__ import annotations

from linkwright.algebra import Expr, cos, equal, not_equal, sin, sqrt, where
from linkwright.blocks import Block
from linkwright.server.cell import CellFrame


class FrameBlock(Block):
    """A frame: constant, moving with its twist, or where a sensor last saw it.

    Of a sensed frame pose and twist are those of its last sight, `age` seconds ago; before the
    first sight its age is 1e9 s.

    Args:
        frame: that it is.
        rate: of the cell, Hz.
        name: of the block.

    >>> block = FrameBlock(
    ...     CellFrame("table", "constant", (0, 0, 1, 1, 0, 0, 0), (0,) * 6, 0.2), 1000
    ... )
    >>> sorted(block.outputs)
    ['age', 'pose', 'twist']
    """

    def __init__(self, frame: CellFrame, rate: float, name: str = "frame") -> None:
        super().__init__(name)
        if frame.kind == "constant":
            pose, twist = [self.expr(x) for x in frame.pose], [self.expr(0)] * 6
            age = self.expr(0)
        elif frame.kind == "moving":
            tick = self.discrete_state("tick")
            self.update(tick, tick + 1)
            twist = [self.expr(x) for x in frame.twist]
            start = [self.expr(x) for x in frame.pose]
            pose, age = moved(self, start, twist, tick / rate), self.expr(0)
        else:
            seen = self.input_vector("seen", 7, list(frame.pose), doc="pose that a sensor saw")
            speed = self.input_vector("speed", 6, doc="twist that a sensor saw")
            count = self.input("count", doc="how often it was seen")
            delay = self.input("delay", doc="s, how old that is at its first tick")
            before, ticks = self.discrete_state("before"), self.discrete_state("ticks")
            since = self.intermediate(where(not_equal(count, before), 0, ticks + 1))
            self.update(before, count)
            self.update(ticks, since)
            age = self.intermediate(where(equal(count, 0), 1e9, delay + since / rate))
            pose, twist = list(seen), list(speed)
        self.output_vector("pose", pose, doc="x, y, z and a unit quaternion w, x, y, z")
        self.output_vector("twist", twist, doc="m/s and rad/s")
        self.output("age", age, unit="s", doc="of what is known of it")


def moved(block: Block, pose: list[Expr], twist: list[Expr], time: Expr) -> list[Expr]:
    """Return a pose after it has moved with a constant twist, of its origin and in base axes."""
    hold = block.intermediate
    origin = [x + time * v for x, v in zip(pose[:3], twist[:3], strict=True)]
    speed = hold(sqrt(twist[3] ** 2 + twist[4] ** 2 + twist[5] ** 2 + 1e-300))
    half = hold(speed * time / 2)
    s, c = hold(sin(half) / speed), hold(cos(half))
    a, (b, d, e) = c, tuple(hold(s * x) for x in twist[3:])
    w, x, y, z = pose[3:]
    turned = [
        a * w - b * x - d * y - e * z,
        a * x + b * w + d * z - e * y,
        a * y - b * z + d * w + e * x,
        a * z + b * y - d * x + e * w,
    ]
    return [*origin, *turned]
