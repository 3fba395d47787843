"""Frames of a cell as native blocks: where they are at each tick, and how old that is."""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra import Expr, cos, equal, not_equal, sin, sqrt, where
from linkwright.algebra.triples import quaternion_product
from linkwright.blocks import Block
from linkwright.server.cell import CellFrame


class FrameBlock(Block):
    """A frame: constant, moving with its twist, or where a sensor last saw it.

    Of a sensed frame pose and twist are those of its last sight, `age` seconds ago; before the
    first sight its age is 1e9 s.

    Units: `rate` in Hz.

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


class MountedFrame(Block):
    """A frame of the world as an arm has it, from where its base stands.

    >>> sorted(MountedFrame((1, 0, 0, 1, 0, 0, 0)).outputs)
    ['base_pose', 'base_twist']
    """

    def __init__(self, mount: tuple[float, ...], name: str = "mounted") -> None:
        super().__init__(name)
        pose = self.input_vector("pose", 7, [0, 0, 0, 1, 0, 0, 0], doc="in the world")
        twist = self.input_vector("twist", 6, doc="in the world, m/s and rad/s")
        back = [mount[3], *(-x for x in mount[4:])]
        away = [self.intermediate(x - y) for x, y in zip(pose[:3], mount, strict=False)]
        placed = [*_turned(self, back, away), *quaternion_product(back, pose[3:])]
        rates = [*_turned(self, back, twist[:3]), *_turned(self, back, twist[3:])]
        self.output_vector("base_pose", placed, doc="in the base of the arm")
        self.output_vector("base_twist", rates, doc="in the base of the arm, m/s and rad/s")


def _turned(block: Block, turn: Sequence[float], vector: Sequence[Expr]) -> list[Expr]:
    """Return a vector turned by a unit quaternion."""
    back = [block.expr(turn[0]), *(block.expr(-x) for x in turn[1:])]
    half = [block.intermediate(x) for x in quaternion_product(turn, [block.expr(0), *vector])]
    return list(quaternion_product(half, back)[1:])


def moved(block: Block, pose: list[Expr], twist: list[Expr], time: Expr) -> list[Expr]:
    """Return a pose after it has moved with a constant twist, of its origin and in base axes."""
    hold = block.intermediate
    origin = [x + time * v for x, v in zip(pose[:3], twist[:3], strict=True)]
    speed = hold(sqrt(twist[3] ** 2 + twist[4] ** 2 + twist[5] ** 2 + 1e-300))
    half = hold(speed * time / 2)
    s, c = hold(sin(half) / speed), hold(cos(half))
    a, (b, d, e) = c, tuple(hold(s * x) for x in twist[3:])
    return [*origin, *quaternion_product([a, b, d, e], pose[3:])]
