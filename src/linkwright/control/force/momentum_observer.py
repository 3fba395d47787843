"""Contact without a force sensor: the momentum observer, and the stop after a collision.

The generalized momentum p = M(q) u obeys p' = tau + tau_ext + M' u - b(q, u), with b the nonlinear
effects (centrifugal, Coriolis, gravity, friction) and tau_ext the torques of all that touches the
arm. An observer of p that is driven by the known torques,

    p^' = tau + M' u - b + r,    r = K (p - p^),    so that    r' = K (tau_ext - r),

has the residual r: each joint's external torque behind a lag of first order with the time 1/K (De
Luca and Mattone 2003; Haddadin, De Luca and Albu-Schäffer 2017). Neither accelerations nor the
inverse of M are needed. At a rate, the gain is (1 - exp(-K T))/T and M' u - b is taken by the
trapezoid rule, so that the residual of a constant torque is that of the continuous observer at the
instants, whatever K is.

Thresholds follow a rule. A model whose parameters are wrong by at most dp errs in the torques by no
more than e = sum_k |d tau/d p_k| dp_k, up to terms of second order in dp. The lag never amplifies,
since its impulse response is positive and has the integral 1; so without contact |r| stays below
the largest e of the motion. `residual_bounds` finds that for all motions within ranges of places,
speeds and accelerations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from linkwright.algebra import Expr, absolute, exp, maximum, where
from linkwright.blocks import BlockError
from linkwright.control.joints import JointElement, PerJoint, gains, numbers
from linkwright.control.models import inverse_dynamics, momentum


class MomentumObserver(JointElement):
    """Notices contact from the torques and the motion of the joints, and stops the arm.

    The torques that a controller commands go into the port `tau`; torques that the observer itself
    puts on the joints (`acts`) are these until something is noticed, and then those of the stop:
    what holds the arm against gravity, less damping times speed, plus reflex times residual.
    Without `acts` it only observes. It needs a rate.

    Outputs: `residual` (N*m or N, one per joint), `ratio` (the largest of |residual|/threshold),
    `noticed` (1 from the instant in which the ratio exceeds 1, until the port `release` is 1) and
    `noticed_at` (s; -1 before).

    Args:
        mechanism: that is observed.
        gain: K of the observer, 1/s; it lags by 1/K.
        threshold: of each joint's residual, N*m or N; `residual_bounds` gives what a model with
            uncertain parameters needs.
        joints: names of the coordinates; all that can be driven by default.
        values: numbers of the mechanism's parameters as the observer believes them to be.
        acts: whether it puts torques on the joints: those of the port `tau`, and those of the stop.
        damping: of the stop, N*m*s/rad or N*s/m.
        reflex: of the stop; residual times this is added, so that the arm gives way.
        name: of the element.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass=2, com=(1, 0, 0), inertia=0)
    >>> MomentumObserver(m, gain=100, threshold=2.0)
    MomentumObserver(momentum_observer: q, u, tau, release -> residual, ratio, noticed, noticed_at)
    """

    def __init__(
        self,
        mechanism: Any,
        gain: float,
        threshold: PerJoint,
        *,
        joints: Iterable[str] | None = None,
        values: Mapping[str, float] | None = None,
        acts: bool = False,
        damping: PerJoint = 0.0,
        reflex: PerJoint = 0.0,
        name: str = "momentum_observer",
    ) -> None:
        super().__init__(name, mechanism, joints)
        names, n = self.names_of_joints, len(self.joints)
        low = [
            joint
            for joint, x in zip(names, numbers(threshold, names, "threshold"), strict=True)
            if not x > 0
        ]
        if low:
            raise BlockError(
                f"threshold of {', '.join(low)} in {name!r} is not above zero: it would notice "
                "contact all the time",
                remedy="give what residual_bounds(..., least=...) returns, or larger thresholds",
            )
        commanded = self.input_vector("tau", n, doc="torques or forces that joints are driven with")
        release = self.input("release", unit="1", doc="1 to forget what was noticed")
        K = self.parameter("gain", gain, unit="1/s", sign="positive")
        limits = gains(self, "threshold", threshold, names, "positive")
        p, flow = momentum(self, self.by_joint(self.q), self.by_joint(self.u), values=values)
        started = self.discrete_state("started", 1.0, unit="1")
        T = self.period
        rate = self.intermediate((1 - exp(-K * T)) / T)
        residuals, ahead, coming = [], [], []
        for k, joint in enumerate(self.joints):
            now, half = self.intermediate(p[joint]), self.intermediate(0.5 * T * flow[joint])
            ahead.append(
                self.discrete_state(f"ahead{k}", doc="momentum expected, less half a step")
            )
            expected = where(started > 0, ahead[k] + half, now)
            residuals.append(self.intermediate(rate * (now - expected)))
            coming.append(expected + half + T * residuals[k])
        ratio = self._ratio(residuals, limits)
        noticed = self._latched(ratio, release)
        tau: Sequence[Expr] = commanded
        if acts:
            tau = self._stopping(noticed, commanded, residuals, damping, reflex, values)
        for memory, free, torque in zip(ahead, coming, tau, strict=True):
            self.update(memory, free + T * torque)
        self.output_vector("residual", residuals, doc="external torques of the joints, filtered")
        self.output("ratio", ratio, unit="1", doc="largest of residual over threshold")
        self.output("noticed", noticed, unit="1", doc="1 where contact has been noticed")
        self.output("noticed_at", self._since(noticed), unit="s", doc="when; -1 before")
        if acts:
            self.efforts("tau", self.joints, tau)

    def _ratio(self, residuals: Sequence[Expr], limits: Sequence[Expr]) -> Expr:
        found = [absolute(r) / b for r, b in zip(residuals, limits, strict=True)]
        largest = found[0]
        for x in found[1:]:
            largest = maximum(largest, x)
        return self.intermediate(largest)

    def _latched(self, ratio: Expr, release: Expr) -> Expr:
        before = self.discrete_state("latched", unit="1", doc="1 where contact has been noticed")
        over = where(ratio > 1, 1.0, before)
        noticed = self.intermediate(where(release > 0.5, 0.0, over))
        self.update(before, noticed)
        return noticed

    def _since(self, noticed: Expr) -> Expr:
        memory = self.discrete_state("since", initial=-1.0, unit="s")
        now = where(memory < 0, self.time, memory)
        since = self.intermediate(where(noticed > 0.5, now, -1.0))
        self.update(memory, since)
        return since

    def _stopping(
        self,
        noticed: Expr,
        commanded: Sequence[Expr],
        residuals: Sequence[Expr],
        damping: PerJoint,
        reflex: PerJoint,
        values: Mapping[str, float] | None,
    ) -> list[Expr]:
        """Return the torques that act: those commanded, or those of the stop."""
        names = self.names_of_joints
        held = inverse_dynamics(self, self.by_joint(self.q), values=values)
        rows = zip(
            commanded,
            self.joints,
            self.u,
            residuals,
            gains(self, "damping", damping, names),
            gains(self, "reflex", reflex, names),
            strict=True,
        )
        return [
            self.intermediate(where(noticed > 0.5, held[q] - d * u + k * r, tau))
            for tau, q, u, r, d, k in rows
        ]
