"""Rates of joints for the rate of a frame, as a sampled block: `joint_rates` within a System."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from linkwright.algebra import Expr
from linkwright.blocks import Block, BlockError, Rate, Value, checked, checked_all
from linkwright.blocks.rates import Sampled
from linkwright.robots.ik.freedom import gradient_of
from linkwright.robots.ik.resolution import (
    Method,
    RateLimits,
    checked_damping,
    quantity_of,
    rate_weights,
)

if TYPE_CHECKING:
    from linkwright.robots.robot import Robot


class ResolvedRates(Block):
    """Joints that give a frame a rate, within limits: `Robot.joint_rates` at each tick.

    Its input `twist` is the velocity and angular velocity of the frame, along the world's axes, and
    `aim` rates that freedom approaches. The joints begin at `start` and go on with the rates found:
    the outputs `command` and `command_rate` belong together and go to a servo. `scale` is the part
    of the twist that limits allow, `residual` what is left of it, `rank` that of the Jacobian.

    Args:
        robot: whose joints move; each has one degree of freedom.
        frame: the name of the frame.
        start: joints at the beginning.
        method: "pseudo", "damped" or "partition"; see `Robot.joint_rates`.
        threshold: pivots below this part of the largest count as zero.
        damping: of damped least squares; 0.05 by default.
        weights: of the six components of the twist; 0 leaves one free.
        climb: what freedom makes larger: "manipulability", or an expression of coordinates.
        gain: rates of joints for a unit of its gradient.
        limits: of position, speed and acceleration to keep; their period is that of the block.
        name: of the block.
        rate: hertz or a `Rate`.

    >>> from linkwright.robots import Robot
    >>> arm = Robot("puma560:wrist=4r,drives=off")
    >>> block = ResolvedRates(
    ...     arm, "tool", [0, 0.8, -2.6, 0, -0.4, 0, 0], method="partition", rate=500
    ... )
    >>> sorted(block.outputs)
    ['command', 'command_rate', 'rank', 'residual', 'scale']
    """

    def __init__(
        self,
        robot: Robot,
        frame: str,
        start: Sequence[float],
        *,
        method: Method = "partition",
        threshold: float = 1e-6,
        damping: float | None = None,
        weights: ArrayLike = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
        climb: str | Expr | None = None,
        gain: float = 1.0,
        limits: RateLimits | None = None,
        name: str = "rates",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="joint rates for the rate of a frame")
        n = len(robot.coordinates)
        begin = checked_all(start, "start", count=n)
        level = checked_damping(method, damping)
        shares, rows = rate_weights(weights)
        self.limits = limits
        limited = limits is not None
        made = quantity_of(robot, frame, method, rows, aimed=True, limited=limited).derived()
        twist = self.input_vector("twist", 6, doc="of the frame, m/s and rad/s")
        aim: list[Expr] = list(self.input_vector("aim", n, doc="rates that freedom approaches"))
        least = self.parameter("threshold", checked(threshold, "threshold", least=0))
        let, h = self.intermediate, self.period
        q = [self.discrete_state(f"q{k}", initial=x) for k, x in enumerate(begin)]
        if climb is not None:
            slope = gradient_of(robot, frame, rows, climb).derived()
            (found,) = self.embed(slope, {"q": q}).values()
            factor = self.parameter("gain", checked(gain, "gain"))
            aim = [let(x + factor * y) for x, y in zip(aim, found, strict=True)]
        given: dict[str, Sequence[Value]] = {"q": q, "rate": twist, "aim": aim}
        if method == "partition":
            given["settings"] = [least]
        else:
            given["weights"] = [float(w) for w in shares]
            given["settings"] = [level, least]
        last: list[Expr] = []
        if limits is not None:
            last = [self.discrete_state(f"u{k}") for k in range(n)]
            given |= {"last": last, "period": [h]}
            given |= {key: [float(x) for x in row] for key, row in limits.of(robot).items()}
        solved = self.embed(made, given)
        u = [let(x) for x in solved["rates"]]
        self.output_vector("command", q, doc="joints")
        self.output_vector("command_rate", u, doc="their rates")
        self.output("scale", solved["scale"][0] if limited else 1.0, unit="1", doc="of the twist")
        self.output_vector("residual", solved["residual"], doc="what is left of the twist")
        self.output("rank", solved["rank"][0], unit="1", doc="of the Jacobian")
        for x, v in zip(q, u, strict=True):
            self.update(x, x + h * v)
        for before, v in zip(last, u if last else (), strict=True):
            self.update(before, v)

    def check_rate(self, rate: Rate) -> None:
        """Reject continuous time, and limits for another period."""
        super().check_rate(rate)
        if self.limits is not None and isinstance(rate, Sampled):
            period = float(rate.period)
            if not np.isclose(period, self.limits.period, rtol=1e-9):
                raise BlockError(
                    f"the limits of {self.name!r} are for a period of {self.limits.period:g} s, "
                    f"and it runs with {period:g} s",
                    remedy=f"give RateLimits({period:g}, ...)",
                )
