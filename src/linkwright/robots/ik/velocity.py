"""Inverse kinematics at the velocity level as a sampled block, with priorities and a rest posture.

At a tick of h seconds joints that are at q go on to q + h u + h^2 a / 2, where u are the rates of
`priorities` and a their derivative. So frames stay on their way to third order in h, what
drifts is fed back, and q, u and a belong together: they can go to a servo and to inverse dynamics.
(SL's inverseKinematics, of which its digest reports in section 3.7, uses Euler's rule. Its rest
posture, weights and mask are these.)
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from linkwright.algebra import ZERO, Expr, maximum, minimum, sqrt, total, where
from linkwright.blocks import Block, BlockError, Rate, Value, checked, checked_all
from linkwright.blocks.rates import Sampled
from linkwright.program import gated
from linkwright.robots.ik.priorities import STEP, priority_tick

if TYPE_CHECKING:
    from linkwright.robots.robot import Robot


_FAR = 1e9
"""Position of a joint that counts as no limit."""


def checked_weights(
    weights: Sequence[float], joints: Sequence[str], period: float, *, where: str = ""
) -> tuple[float, ...]:
    """Return weights of a rest posture; reject those that are not positive, warn of large ones.

    A posture is approached by Euler's rule, q + h w (rest - q): with w h of 1 or more it is
    overshot, with 2 or more the joints swing ever farther.

    Units: `weights` in 1/s.

    >>> checked_weights([1.0, 0.2], ["R_SFE", "R_SAA"], 1 / 480)
    (1.0, 0.2)
    """
    found = checked_all(weights, "weights of the rest posture", count=len(joints))
    of = f" of {where}" if where else ""
    wrong = [f"{name}: {w:g}" for name, w in zip(joints, found, strict=True) if not w > 0]
    if wrong:
        raise BlockError(
            f"weights of the rest posture{of} must be greater than 0; got {', '.join(wrong)}",
            remedy="give a joint that matters little a small weight, such as 0.01",
        )
    large = [f"{n}: {w:g}/s" for n, w in zip(joints, found, strict=True) if w * period >= 1]
    if large:
        warnings.warn(
            f"weights of the rest posture{of} times the period of {period:g} s are 1 or more, so "
            f"the posture is overshot at each tick ({', '.join(large)}); keep weights below "
            f"{1 / period:g}/s",
            RuntimeWarning,
            stacklevel=2,
        )
    return tuple(found)


class VelocityIK(Block):
    """Joints that move frames as is wanted: rates by priorities, a posture in the null space.

    Each frame has a wanted pose (x, y, z and a unit quaternion w, x, y, z), a twist and an
    acceleration, and a mask of the six components that count: three of the position, three of the
    orientation, along the axes of the base. Poses are those of tools: `tool` has for each frame
    x, y, z and angles about x, y, z in it. While `on` is 0 the joints are those of `start`, and
    nothing is computed.

    Args:
        robot: whose joints move; each has one degree of freedom.
        frames: names of frames of the robot, one for each end-effector.
        start: joints at the beginning.
        priorities: a number for each frame; frames with a larger one move in the null space of
            those with a smaller one. In the order of the frames by default.
        rest: posture that is approached where the frames leave freedom; `start` by default.
        weights: how fast it is approached, 1/s; greater than 0.
        limits: least and greatest position of each joint; positions are kept within.
        tools: x, y, z and angles about x, y, z of each end-effector in its frame.
        gain: part of the way to the wanted pose that is gone in a second.
        speed: greatest speed on that way, m/s.
        turn_speed: likewise, rad/s.
        damping: of the inverse Jacobian in singular poses, in its units.
        width: how near to a singular pose damping begins, as a part of the largest row.
        name: of the block.
        rate: hertz or a `Rate`.

    >>> from linkwright.robots import Robot
    >>> puma = Robot("puma560")
    >>> VelocityIK(puma, ["tool"], [0, 0.8, 3.1, 0, 0.8, 0], rate=480)
    VelocityIK(velocity_ik: on, start, pose, twist, acceleration, mask, tool, rest, weights, \
moves -> q, u, a, error, turn_error, rank)
    """

    def __init__(
        self,
        robot: Robot,
        frames: Sequence[str],
        start: Sequence[float],
        *,
        priorities: Sequence[int] | None = None,
        rest: Sequence[float] | None = None,
        weights: float | Sequence[float] = 1.0,
        limits: Sequence[tuple[float, float]] | None = None,
        tools: Sequence[Sequence[float]] | None = None,
        gain: float = 20.0,
        speed: float = 0.5,
        turn_speed: float = 2.0,
        damping: float = 0.05,
        width: float = 0.02,
        name: str = "velocity_ik",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="inverse kinematics at the velocity level")
        names, count = robot.coordinates, len(frames)
        n = len(names)
        levels = tuple(range(count)) if priorities is None else tuple(priorities)
        self.names_of_joints = names
        self.start_weights = tuple(
            [float(weights)] * n if isinstance(weights, int | float) else map(float, weights)
        )
        of_joints = {"start": start, "rest": rest, "limits": limits, "weights": self.start_weights}
        for size, of, lists in (
            (count, "frames", {"priorities": levels, "tools": tools}),
            (n, "joints", of_joints),
        ):
            for what, values in lists.items():
                if values is not None and len(values) != size:
                    raise BlockError(f"{name!r} has {len(values)} {what} for {size} {of}")
        if count == 0:
            raise BlockError(f"{name!r} has no frame to move", remedy="name one or more")
        wide = [(-_FAR, _FAR)] * n if limits is None else limits
        bounds = [(max(float(a), -_FAR), min(float(b), _FAR)) for a, b in wide]
        posture = tuple(map(float, start if rest is None else rest))
        checked_weights(self.start_weights, names, 0.0, where=repr(name))
        tick = gated(priority_tick(robot.tree, [robot.spot(f) for f in frames], levels), "on")

        # what comes in, and what the block is set to
        still = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
        held = [[0.0] * 6] * count if tools is None else tools
        on = self.input("on", 1.0, doc="whether it moves the joints")
        begin = self.input_vector("start", n, tuple(map(float, start)), doc="joints while off")
        given: dict[str, Sequence[Value]] = {
            "pose": self.input_vector("pose", 7 * count, still * count, doc="wanted, of frames"),
            "twist": self.input_vector("twist", 6 * count, doc="m/s and rad/s"),
            "acceleration": self.input_vector("acceleration", 6 * count, doc="of the twist"),
            "mask": self.input_vector("mask", 6 * count, (1.0,) * 6 * count, doc="1 counts"),
            "tool": self.input_vector(
                "tool", 6 * count, tuple(float(x) for row in held for x in row), doc="in its frame"
            ),
            "posture": self.input_vector("rest", n, posture, doc="posture of the null space"),
            "weights": self.input_vector("weights", n, self.start_weights, unit="1/s"),
        }
        moves = self.input_vector("moves", n, (1.0,) * n, doc="1 for joints that may move")
        given["moves"] = moves
        given["settings"] = [
            self.parameter("damping", checked(damping, "damping", least=0)),
            self.parameter("width", checked(width, "width", above=0), sign="positive"),
            1e-6,
        ]
        given["feedback"] = [
            self.parameter("gain", checked(gain, "gain", least=0), unit="1/s"),
            self.parameter("speed", checked(speed, "speed", above=0), unit="m/s"),
            self.parameter("turn_speed", checked(turn_speed, "turn_speed", above=0), unit="rad/s"),
        ]
        lower = [self.parameter(f"lower{k}", float(low)) for k, (low, _) in enumerate(bounds)]
        upper = [self.parameter(f"upper{k}", float(top)) for k, (_, top) in enumerate(bounds)]

        # a tick: rates now and soon after; a joint that pushes against a limit stands
        let, h = self.intermediate, self.period
        memory = [self.discrete_state(f"q{k}", initial=float(x)) for k, x in enumerate(start)]
        live = [let(where(on, m, 0)) for m in moves]
        q = [
            let(where(go, minimum(maximum(x, low), high), other))
            for go, x, low, high, other in zip(live, memory, lower, upper, begin, strict=True)
        ]
        found = self.embed(tick, {"q": q, **given, "along": [0] * n, "side": [0], "on": [on]})
        rates, later = found["rates"][:n], found["rates"][n : 2 * n]
        u: list[Expr] = []
        a: list[Expr] = []
        for x, v, w, low, high in zip(q, rates, later, lower, upper, strict=True):
            stuck = let(((x >= high) & (v > 0)) | ((x <= low) & (v < 0)))
            u.append(let(where(stuck, ZERO, v)))
            a.append(let(where(stuck, ZERO, (w - v) / STEP)))
        self.output_vector("q", q, doc="joints")
        self.output_vector("u", u, doc="their speeds")
        self.output_vector("a", a, doc="their accelerations")
        error = found["error"]
        ways = [error[6 * k + i : 6 * k + i + 3] for i in (0, 3) for k in range(count)]
        sizes = [sqrt(total(x**2 for x in way)) for way in ways]
        self.output_vector("error", sizes[:count], unit="m", doc="of each frame to its pose")
        self.output_vector("turn_error", sizes[count:], unit="rad", doc="likewise")
        self.output("rank", found["rank"][0], doc="components that the joints can move")
        for x, now, v, b in zip(memory, q, u, a, strict=True):
            self.update(x, now + h * (v + h * b / 2))

    def check_rate(self, rate: Rate) -> None:
        """Reject continuous time, and warn of weights that are large for the period."""
        super().check_rate(rate)
        if isinstance(rate, Sampled):
            period = float(rate.period)
            checked_weights(self.start_weights, self.names_of_joints, period, where=repr(self.name))
