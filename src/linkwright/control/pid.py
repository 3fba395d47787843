"""PID control with saturation and anti-windup (Åström and Murray 2008, chapter 10).

    v  = kp (b r - y) + i + D          what the controller wants
    u  = v kept between low and high   what it gives
    i' = ki (r - y) + (u - v) / Tt     back-calculation unwinds the integral while u is limited
    D  = kd N (e - x), x' = N (e - x)  the derivative of e, filtered; e is -y, or r - y

Without limits u = v, and the integral is the plain one. At a rate D is exact for
a measurement that changes evenly between instants, i for one that holds, whatever N and the period;
of u - v the integral takes up the part 1 - exp(-period / Tt) at each instant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from linkwright.algebra import ONE, ZERO, Expr, exp, sqrt, where
from linkwright.blocks import Block, BlockError, Rate, checked
from linkwright.control.joints import JointController, PerJoint, numbers
from linkwright.control.servo import saturate

_NEVER = 1e300
"""The time in which an integral without a gain is unwound, s."""


@dataclass(frozen=True, slots=True)
class PidGains:
    """Numbers of one PID law.

    Args:
        kp: proportional gain.
        ki: integral gain, 1/s.
        kd: derivative gain, s.
        low: the least output.
        high: the greatest output.
        filter: N, the rate of the filter on the derivative, 1/s.
        unwind: Tt, the time in which the integral is unwound, s; None for sqrt(kd/ki), or kp/ki
            without a derivative.
        weight: b, the weight of the reference in the proportional part.

    >>> PidGains(kp=2.0, ki=1.0).high
    inf
    """

    kp: float
    ki: float = 0.0
    kd: float = 0.0
    low: float = -math.inf
    high: float = math.inf
    filter: float = 100.0
    unwind: float | None = None
    weight: float = 1.0

    @property
    def limited(self) -> bool:
        """Whether the output has a bound."""
        return math.isfinite(self.low) or math.isfinite(self.high)

    def __post_init__(self) -> None:
        for name in ("kp", "ki", "kd", "weight"):
            checked(getattr(self, name), f"{name} of a PID law")
        for name in ("low", "high"):
            checked(getattr(self, name), f"{name} of a PID law", finite=False)
        checked(self.filter, "filter of a PID law", above=0)
        if self.unwind is not None:
            checked(self.unwind, "unwind of a PID law", above=0)
        if not self.low < self.high:
            raise BlockError(f"a PID law has no room between {self.low} and {self.high}")


@dataclass(frozen=True, slots=True)
class PidTerms:
    """The gains and bounds of one PID law as expressions of a block.

    Args:
        kp: proportional gain.
        ki: integral gain; None for no integral.
        kd: gain of the rate of the error; None for none.
        low: the least output; None for no bound.
        high: the greatest output.
        weight: of the reference in the proportional part.
        unwind: the time in which the integral is unwound while the output is limited; None for an
            integral that stands still instead while the error would drive the output on.

    >>> from linkwright.algebra import symbol
    >>> PidTerms(symbol("kp")).ki is None
    True
    """

    kp: Expr
    ki: Expr | None = None
    kd: Expr | None = None
    low: Expr | None = None
    high: Expr | None = None
    weight: Expr = ONE
    unwind: Expr | None = None


@dataclass(frozen=True, slots=True)
class PidParts:
    """The parts of what a PID law gives.

    Args:
        feedback: the sum of its three parts.
        given: feedback and feedforward together, between the bounds.

    >>> from linkwright.algebra import symbols
    >>> PidParts(*symbols("feedback given")).given
    given
    """

    feedback: Expr
    given: Expr


def pid_parts(
    block: Block,
    terms: PidTerms,
    reference: Expr,
    measured: Expr,
    rate: Expr | None = None,
    *,
    feedforward: Expr = ZERO,
    zero: Expr | None = None,
    suffix: str = "",
) -> PidParts:
    """Return feedback and output of a PID law, with its integral as a state of a block.

    Args:
        block: what it becomes part of.
        terms: its gains and bounds.
        reference: r.
        measured: y.
        rate: the rate of the error.
        feedforward: what is added before the bounds.
        zero: where it is not zero, the integral counts as zero and begins anew; the block must
            then have a rate.
        suffix: what the name of the integral ends with.

    >>> from linkwright.algebra import symbols
    >>> r, y, k, f = symbols("r y k f")
    >>> pid_parts(Block("law"), PidTerms(k), r, y, feedforward=f).given
    f + k*(r - y)
    """
    error = reference - measured
    feedback = terms.kp * (terms.weight * reference - measured)
    if terms.kd is not None and rate is not None:
        feedback = feedback + terms.kd * rate
    integral = old = None
    if terms.ki is not None:
        if zero is None:
            integral = old = block.state("integral" + suffix)
        else:
            integral = block.discrete_state("integral" + suffix)
            old = block.intermediate(where(zero, 0, integral))
        feedback = feedback + old
    if zero is not None or terms.low is not None or terms.high is not None:
        feedback = block.intermediate(feedback)
    wanted = given = feedback + feedforward
    if terms.low is not None or terms.high is not None:
        wanted = given = wanted if feedforward is ZERO else block.intermediate(wanted)
        low = wanted if terms.low is None else terms.low
        high = wanted if terms.high is None else terms.high
        given = block.intermediate(saturate(wanted, low, high))
    if integral is not None and old is not None and terms.ki is not None:
        slope = terms.ki * error
        if given is not wanted and terms.unwind is None:
            slope = where((wanted - given) * error > 0, 0, slope)
        step = old + block.period * slope
        if given is not wanted and terms.unwind is not None:
            slope = slope + (given - wanted) / terms.unwind
            step = step + (1 - exp(-block.period / terms.unwind)) * (given - wanted)
        if zero is None:
            block.derivative(integral, slope, step=step)
        else:
            block.update(integral, step)
    return PidParts(feedback, given)


def pid_law(
    block: Block,
    gains: PidGains,
    reference: Expr,
    measured: Expr,
    *,
    rate: Expr | None = None,
    suffix: str = "",
) -> Expr:
    """Return the output of a PID law, with its states and parameters in a block.

    Args:
        block: what it becomes part of.
        gains: its numbers.
        reference: r.
        measured: y.
        rate: the rate of the error where that is measured; otherwise it is filtered out of -y.
        suffix: what the names of its states and parameters end with.

    >>> from linkwright.algebra import symbols
    >>> r, y = symbols("r y")
    >>> pid_law(Block("law"), PidGains(kp=2.0), r, y)
    kp*(r - y)
    """

    def parameter(name: str, value: float | Expr, sign: str = "") -> Expr:
        return block.parameter(name + suffix, value, sign=sign)

    def bound(name: str, value: float) -> Expr | None:
        return parameter(name, value) if math.isfinite(value) else None

    weight = ONE if gains.weight == 1.0 else parameter("weight", gains.weight)
    kp = parameter("kp", gains.kp)
    kd = parameter("kd", gains.kd) if gains.kd else None
    if kd is not None and rate is None:
        n = parameter("filter", gains.filter, "positive")
        x = block.state("slow" + suffix)
        block.derivative(x, n * (-measured - x))
        rate = block.slope_of_lag(n) * (-measured - x)
    low, high = bound("low", gains.low), bound("high", gains.high)
    if low is not None and high is not None:
        block.require(low < high)
    ki = parameter("ki", gains.ki) if gains.ki else None
    unwind = None
    if ki is not None and gains.limited:
        usual = where(kp, kp / ki, 1)
        usual = usual if kd is None else where(kd, sqrt(kd / ki), usual)
        usual = where(ki, usual, _NEVER)
        unwind = parameter("unwind", usual if gains.unwind is None else gains.unwind, "positive")
    terms = PidTerms(kp, ki, kd, low, high, weight, unwind)
    return pid_parts(block, terms, reference, measured, rate, suffix=suffix).given


class PID(Block):
    """A PID controller of one quantity, from `reference` and `measured` to `u`.

    The derivative is that of -`measured`, which counts as 0 before the start.

    Args:
        kp: proportional gain.
        ki: integral gain, 1/s.
        kd: derivative gain, s.
        low: the least output.
        high: the greatest output.
        filter: rate of the filter on the derivative, 1/s.
        unwind: the time in which the integral is unwound while the output is limited, s.
        weight: of the reference in the proportional part.
        units: of the measured quantity and of the output.
        name: of the block.
        rate: hertz or a `Rate`; continuous by default.

    >>> PID(2.0, ki=1.0, low=-1, high=1)
    PID(pid: reference, measured -> u)
    """

    learns_rate = True

    def __init__(
        self,
        kp: float,
        *,
        ki: float = 0.0,
        kd: float = 0.0,
        low: float = -math.inf,
        high: float = math.inf,
        filter: float = 100.0,  # noqa: A002 - the word of the field
        unwind: float | None = None,
        weight: float = 1.0,
        units: tuple[str, str] = ("?", "?"),
        name: str = "pid",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="PID controller")
        law = PidGains(kp, ki, kd, low, high, filter, unwind, weight)
        r = self.input("reference", unit=units[0])
        y = self.input("measured", unit=units[0])
        self.output("u", pid_law(self, law, r, y), unit=units[1])


class JointPID(JointController):
    """A PID controller for each joint; the rate of the error is taken from the measured speeds.

    Args:
        mechanism: what is driven; it measures and drives joints of it.
        kp: stiffness, N*m/rad or N/m: for all joints, for each, or by coordinate.
        ki: integral gain, N*m/(rad*s) or N/(m*s).
        kd: damping, N*m*s/rad or N*s/m.
        limit: largest torque or force of each joint.
        unwind: the time in which integrals are unwound while torques are limited, s.
        joints: names of the coordinates; all that can be driven by default.
        target: where they should be; where the mechanism starts by default.
        name: of the element.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0)
    >>> len(JointPID(m, kp=20, ki=10, kd=5).states)
    1
    """

    def __init__(
        self,
        mechanism: Any,
        kp: PerJoint,
        ki: PerJoint = 0.0,
        kd: PerJoint = 0.0,
        *,
        limit: PerJoint | None = None,
        unwind: float | None = None,
        joints: Iterable[str] | None = None,
        target: PerJoint | None = None,
        name: str = "pid",
    ) -> None:
        super().__init__(name, mechanism, joints, target)
        names = self.names_of_joints
        pairs = ((kp, "kp"), (ki, "ki"), (kd, "kd"))
        columns = [numbers(g, names, what, least=0.0) for g, what in pairs]
        bounds = [math.inf] * len(names)
        if limit is not None:
            bounds = numbers(limit, names, "limit", least=0.0, others=bounds)
        tau: list[Expr] = []
        for k, joint in enumerate(names):
            p, i, d = (column[k] for column in columns)
            law = PidGains(p, i, d, -bounds[k], bounds[k], unwind=unwind)
            rate = self.target_rate[k] - self.u[k]
            suffix = f"_{joint.replace('.', '_')}"
            tau.append(pid_law(self, law, self.target[k], self.q[k], rate=rate, suffix=suffix))
        self.efforts("tau", self.joints, tau)
