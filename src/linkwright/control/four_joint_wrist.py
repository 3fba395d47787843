"""A spherical wrist of four joints: orientation without a singular pose on the way.

The axes meet in a point; R = Rz(q1) Ry(q2) Rx(q3) Rz(q4) turns the hand, n and a are the first and
third columns of R (the force and motion server's digest, section 3.8; Long and Paul 1988).

- The primary solution has q3 = 0 and q1 = atan2(ay, ax). Near both poles, where a is along the
  first axis, q1 runs away.
- The secondary solution takes any q1: q2 = atan2(ax c1 + ay s1, az),
  q3 = atan2(ax s1 - ay c1, sqrt((ax c1 + ay s1)^2 + az^2)), q4 from what is left of the turn. (The
  report's form of q4, atan2(ny c1 - nx s1, oy c1 - ox s1), is the same, but loses its digits where
  q3 is near a right angle.)
- The blended one lets q1 follow the primary one no faster than `fastest` |S1 x S4|, where the sine
  of the angle between the first and the last axis, sqrt(ax^2 + ay^2), brings it to rest before the
  pole. The orientation is exact all the time. It depends on the path (it is not conservative: no
  conservative one is without singular regions, Baker and Wampler 1988).

The wrist itself is singular only where q2 and q3 are both right angles: with these minors of its
Jacobian [S1 S2 S3 S4], without column 1: -c3, 2: -s3 c2, 3: -s2 c3, 4: -c2.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from linkwright.algebra import PI, Expr, Scalar, atan2, cos, sin, sqrt
from linkwright.algebra.functions import floor, maximum, minimum, where
from linkwright.blocks import Block, Rate, checked

_TINY = 1e-200


def primary_first(hand: Sequence[Expr]) -> Expr:
    """Return the first angle of the primary solution."""
    return atan2(hand[1], hand[0])


def other_angles(side: Sequence[Expr], hand: Sequence[Expr], first: Expr) -> list[Expr]:
    """Return the other three angles for a first one."""
    c, s = cos(first), sin(first)
    ahead = hand[0] * c + hand[1] * s
    second = atan2(ahead, hand[2])
    third = atan2(hand[0] * s - hand[1] * c, sqrt(ahead**2 + hand[2] ** 2))
    c2, s2, c3, s3 = cos(second), sin(second), cos(third), sin(third)
    nearer, across = side[0] * c + side[1] * s, side[1] * c - side[0] * s
    fourth = atan2(
        s3 * (s2 * nearer + c2 * side[2]) + c3 * across,
        c2 * nearer - s2 * side[2],
    )
    return [second, third, fourth]


def next_first(
    hand: Sequence[Expr], before: Scalar, reach: Scalar, *, either: bool, size: Scalar = 1
) -> Expr:
    """Return the first angle of the blended solution, from that before (`reach` in rad)."""
    way = primary_first(hand) - before
    turn = PI if either else 2 * PI
    way = way - turn * floor(way / turn + 0.5)
    most = reach * sqrt(hand[0] ** 2 + hand[1] ** 2) / size
    return before + maximum(minimum(way, most), -most)


class FourJointWrist(Block):
    """Angles of a four-joint wrist for an orientation, with bounded rates through the poles.

    The input `turn` is the wanted orientation of the hand in the frame of the wrist's base, a
    quaternion w, x, y, z of any length. The outputs `command` and `command_rate` are the angles,
    without jumps of a whole turn, and their change over the last period; at the first instant the
    angles are where they begin, with rates of zero.

    Args:
        fastest: greatest rate of the first joint, rad/s.
        initial: where the first joint begins, rad; by default as the primary solution has it.
        either: whether the first joint may stay half a turn away from where the report has it, with
            a negative second angle: it then hardly moves when the hand passes a pole.
        name: of the block.
        rate: hertz or a `Rate`.

    >>> wrist = FourJointWrist(3.0, rate=500)
    >>> sorted(wrist.outputs)
    ['command', 'command_rate']
    """

    def __init__(
        self,
        fastest: float,
        *,
        initial: float | None = None,
        either: bool = False,
        name: str = "wrist",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="inverse kinematics of a four-joint wrist")
        w, x, y, z = self.input_vector(
            "turn", 4, (1.0, 0.0, 0.0, 0.0), unit="1", doc="orientation of the hand, w, x, y, z"
        )
        most = self.parameter(
            "fastest", checked(fastest, "fastest", above=0), unit="rad/s", sign="positive"
        )
        begin = None if initial is None else checked(initial, "initial")
        let = self.intermediate
        side = [let(w**2 + x**2 - y**2 - z**2), let(2 * (x * y + w * z)), let(2 * (x * z - w * y))]
        hand = [let(2 * (x * z + w * y)), let(2 * (y * z - w * x)), let(w**2 - x**2 - y**2 + z**2)]
        size = let(maximum(w**2 + x**2 + y**2 + z**2, _TINY))
        runs = self.discrete_state("runs", initial=0.0, unit="1", doc="1 after the first instant")
        before = [self.discrete_state(f"q{k}", initial=0.0, unit="rad") for k in range(1, 5)]
        h = self.period
        moved = next_first(hand, before[0], most * h, either=either, size=size)
        first = let(where(runs, moved, primary_first(hand) if begin is None else begin))
        raw = [first, *(let(angle) for angle in other_angles(side, hand, first))]
        q = [
            let(angle - where(runs, 2 * PI * floor((angle - old) / (2 * PI) + 0.5), 0))
            for angle, old in zip(raw, before, strict=True)
        ]
        q[0] = first
        rates = [where(runs, (now - old) / h, 0) for now, old in zip(q, before, strict=True)]
        self.output_vector("command", q, unit="rad", doc="angles of the four joints")
        self.output_vector("command_rate", rates, unit="rad/s", doc="their rates")
        self.update(runs, 1)
        for old, now in zip(before, q, strict=True):
            self.update(old, now)
