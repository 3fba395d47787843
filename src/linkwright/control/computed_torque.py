"""Computed torque and inverse dynamics: control with a model of the mechanism.

Computed torque (Luh, Walker and Paul 1980; Siciliano and others 2009, section 8.5.2) takes the
forces of the acceleration a = target'' + kd (target' - u) + kp (target - q) at the measured state,
so that each joint's error obeys e'' + kd e' + kp e = 0. Inverse dynamics as a feedforward takes
them along the wanted motion instead, and leaves the rest to a servo.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol

from linkwright.algebra import Expr, Scalar, absolute, diff, floor, where
from linkwright.blocks import BlockError, Element, Rate, checked
from linkwright.blocks.rates import Sampled
from linkwright.control.joints import JointController, PerJoint, driven_joints, gains
from linkwright.control.models import inverse_dynamics, split_law
from linkwright.control.servo import bounded


class ComputedTorque(JointController):
    """Control by the inverse dynamics of the mechanism, which makes its joints independent.

    Args:
        mechanism: what is driven; it measures and drives joints of it.
        kp: stiffness over inertia, 1/s^2: the square of each joint's natural frequency.
        kd: damping over inertia, 1/s; critical at 2 sqrt(kp).
        joints: names of the coordinates; all that can be driven by default.
        target: where they should be; where the mechanism starts by default.
        limit: largest torque or force of each joint.
        values: numbers of the mechanism's parameters as the controller believes them to be.
        background: Hz, at which terms of the model (mass matrix, nonlinear effects) are computed
            and held, of which the rate of the controller is a multiple; with every torque by
            default.
        speeds: those that count in centrifugal and Coriolis forces of the background: "frozen",
            its own; "fresh", those of the instant; or "auto", fresh where that is cheap.
        acts: whether torques act on the joints; otherwise they are the output `tau` alone, for
            amplifiers or axis controllers to make.
        name: of the element.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass=2, com=(1, 0, 0), inertia=0)
    >>> ComputedTorque(m, kp=400, kd=40)
    ComputedTorque(computed_torque: q, u, target, target_rate, target_acceleration -> tau_rod)
    """

    def __init__(
        self,
        mechanism: Any,
        kp: PerJoint,
        kd: PerJoint,
        *,
        joints: Iterable[str] | None = None,
        target: PerJoint | None = None,
        limit: PerJoint | None = None,
        values: Mapping[str, float] | None = None,
        background: float | None = None,
        speeds: Literal["auto", "frozen", "fresh"] = "auto",
        acts: bool = True,
        name: str = "computed_torque",
    ) -> None:
        super().__init__(name, mechanism, joints, target)
        self.background = None if background is None else checked(background, "background", above=0)
        n = len(self.joints)
        ahead = self.input_vector("target_acceleration", n, doc="wanted accelerations")
        stiff = gains(self, "kp", kp, self.names_of_joints)
        damp = gains(self, "kd", kd, self.names_of_joints)
        q, u = (dict(zip(self.joints, x, strict=True)) for x in (self.q, self.u))
        if self.background is None:
            rows = zip(
                stiff, damp, self.q, self.u, self.target, self.target_rate, ahead, strict=True
            )
            commands = [w + d * (v - u) + k * (r - q) for k, d, q, u, r, v, w in rows]
            a = dict(zip(self.joints, (self.intermediate(x) for x in commands), strict=True))
            tau = inverse_dynamics(self, q, u, a, values=values)
        else:
            words = ("target", "target_rate", "target_acceleration", "kp", "kd")
            parts = (self.target, self.target_rate, ahead, stiff, damp)
            wanted = {
                w: dict(zip(self.joints, x, strict=True)) for w, x in zip(words, parts, strict=True)
            }
            due = self._due(self.background)
            tau = split_law(self, due, q, u, wanted, speeds=speeds, values=values)
        chosen = bounded(self, [tau[q] for q in self.joints], limit, self.names_of_joints)
        if acts:
            self.efforts("tau", self.joints, chosen)
        else:
            self.output_vector("tau", chosen, doc="torques or forces of the joints")

    def _due(self, background: float) -> Expr:
        """Return what is 1 at the instants of the background, 0 at others."""
        self.uneven = "terms of its model are computed at some of its instants only"
        left = self.discrete_state("left", doc="instants until the background is due")
        hertz = self.parameter("background", background, unit="Hz", sign="positive", lower=1e-9)
        times = 1 / (hertz * self.period)
        every = floor(times + 0.5)
        self.require(
            (every >= 1) & (absolute(times - every) < 1e-6), "a whole number of instants each"
        )
        due = self.intermediate(where(left < 0.5, 1, 0))
        self.update(left, where(due, every, left) - 1)
        return due

    def check_rate(self, rate: Rate) -> None:
        """Reject a rate that is not a multiple of the background's."""
        super().check_rate(rate)
        if self.background is None or not isinstance(rate, Sampled):
            return
        times = 1 / (float(rate.period) * self.background)
        if times < 0.5 or abs(times - round(times)) > 1e-6:
            raise BlockError(
                f"{self.name!r} runs at {1 / float(rate.period):g} Hz, which is not a multiple "
                f"of its background's {self.background:g} Hz",
                remedy="let the rate be a whole multiple of background=",
            )


class TrajectoryLike(Protocol):
    """Values over time with their derivatives, as the trajectories of `linkwright.motion` are."""

    @property
    def size(self) -> int:
        """How many values it has."""

    def expressions(self, t: Scalar, order: int = 0) -> tuple[Expr, ...]:
        """Return the values, speeds (1) or accelerations (2) as expressions of a time."""


class Feedforward(Element):
    """Torques of a wanted motion by inverse dynamics, to be added to those of a servo.

    Args:
        mechanism: what is driven.
        motion: for coordinates by name their motion, expressions of `t`; or a trajectory of
            `linkwright.motion`, its values in the order of the joints; without it, the motion comes
            in at the ports `target`, `target_rate` and `target_acceleration`.
        joints: names of the coordinates; those of the motion, or all that can be driven.
        values: numbers of the mechanism's parameters as the controller believes them to be.
        name: of the element.

    With a motion that is given, the outputs `target` and `target_rate` are what a
    servo is to follow.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("cart")
    >>> b = m.body("b", translate="x", mass=2)
    >>> Feedforward(m, {"b": "0.5*sin(t)"}).outputs["tau_b"].values
    (-sin(t),)
    """

    def __init__(
        self,
        mechanism: Any,
        motion: Mapping[str, Any] | TrajectoryLike | None = None,
        *,
        joints: Iterable[str] | None = None,
        values: Mapping[str, float] | None = None,
        name: str = "feedforward",
    ) -> None:
        super().__init__(name, mechanism)
        wanted = list(motion) if isinstance(motion, Mapping) and joints is None else joints
        chosen = [q for q, _ in driven_joints(self.mechanism, wanted)]
        if motion is None:
            n = len(chosen)
            parts: list[list[Expr]] = [
                list(self.input_vector("target", n, chosen, doc="wanted coordinates")),
                list(self.input_vector("target_rate", n, doc="wanted speeds")),
                list(self.input_vector("target_acceleration", n, doc="wanted accelerations")),
            ]
        else:
            parts = self._motion(motion, len(chosen))
        q, u, a = (dict(zip(chosen, part, strict=True)) for part in parts)
        tau = inverse_dynamics(self, q, u, a, values=values)
        self.efforts("tau", chosen, [tau[x] for x in chosen])
        if motion is not None:
            self.output_vector("target", parts[0], doc="wanted coordinates")
            self.output_vector("target_rate", parts[1], doc="wanted speeds")

    def _motion(self, motion: Mapping[str, Any] | TrajectoryLike, count: int) -> list[list[Expr]]:
        size = len(motion) if isinstance(motion, Mapping) else motion.size
        if size != count:
            raise BlockError(f"{self.name!r} has {size} motions for {count} joints")
        if not isinstance(motion, Mapping):
            return [list(motion.expressions(self.time, order)) for order in range(3)]
        place = [self.expr(value) for value in motion.values()]
        rate = [self._rate(x) for x in place]
        return [place, rate, [self._rate(x) for x in rate]]

    def _rate(self, x: Expr) -> Expr:
        return diff(x, self.time) + diff(x, self.mechanism.time)
