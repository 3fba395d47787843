"""Cylinders and spindles beside a joint: a triangle of two fixed sides and one that changes.

With phi the angle between the moment arm a and the distance h of the attachment,

    L = sqrt(a^2 + h^2 - 2 a h cos phi),   dL/dphi = a h sin phi / L,
    phi = theta0 + polarity (theta + offset),

and a force F along L acts on the joint with the torque F dL/dtheta (virtual work). The length
reports the angle as long as phi stays between 0 and pi; at both ends the force has no lever.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from linkwright.algebra import Expr, acos, as_expr, cos, evaluate, maximum, minimum, sin, sqrt
from linkwright.base.errors import InputError
from linkwright.lab.config import JointConfig


@dataclass(frozen=True, slots=True)
class Linkage:
    """The triangle of one joint.

    >>> from linkwright.algebra import evaluate, symbol
    >>> linkage, q = Linkage(3.0, 4.0, math.pi / 2), symbol("q")
    >>> evaluate(linkage.length(q), {q: 0.0}), round(evaluate(linkage.lever(q), {q: 0.0}), 12)
    (5.0, 2.4)
    """

    arm: float  # a, m
    attachment: float  # h, m
    theta0: float  # phi where the joint and its offset are zero, rad
    polarity: float = 1.0  # 1 or -1
    offset: float = 0.0  # that the angle has for the sensor, rad
    # the shortest lever in the range of the joint, m; beyond the range it counts, so that nothing
    # is divided by zero there
    least: float = 0.0

    @property
    def _sum(self) -> float:
        return self.arm**2 + self.attachment**2

    @property
    def _product(self) -> float:
        return 2 * self.arm * self.attachment

    def phi(self, angle: Expr) -> Expr:
        """Return the angle of the triangle for one of the joint."""
        return self.theta0 + self.polarity * (angle + self.offset)

    def length(self, angle: Expr) -> Expr:
        """Return L for an angle of the joint."""
        return sqrt(self._sum - self._product * cos(self.phi(angle)))

    def lever(self, angle: Expr) -> Expr:
        """Return dL/dtheta for an angle of the joint, m."""
        return self.polarity * (self._product / 2) * sin(self.phi(angle)) / self.length(angle)

    def divisor(self, angle: Expr) -> Expr:
        """Return the lever for an angle of the joint, or the shortest of its range."""
        return self.polarity * maximum(self.least, self.polarity * self.lever(angle))

    def is_length(self, length: Expr) -> Expr:
        """Return whether the triangle can have such a third side."""
        shortest, longest = abs(self.arm - self.attachment), self.arm + self.attachment
        return (length >= shortest) & (length <= longest)

    def bend(self, angle: Expr) -> Expr:
        """Return the second derivative of L by the angle of the joint, m."""
        lever = self.lever(angle)
        return ((self._product / 2) * cos(self.phi(angle)) - lever * lever) / self.length(angle)

    def angle(self, length: Expr) -> Expr:
        """Return the angle of the joint for a length, without the offset."""
        phi = acos(maximum(-1, minimum(1, (self._sum - length * length) / self._product)))
        return self.polarity * (phi - self.theta0)


def linkage_of(joint: JointConfig) -> Linkage:
    """Return the triangle of a joint with a linear sensor, actuator or load cell, or reject it.

    >>> linkage_of(JointConfig("EB", 0.5, 2.2, moment_arm=0.03, attachment=0.14)).polarity
    1.0
    """
    if not (joint.moment_arm > 0 and joint.attachment > 0):
        raise InputError(
            f"{joint.name} has a linear sensor or actuator with the moment arm {joint.moment_arm:g}"
            f" and the attachment {joint.attachment:g}",
            remedy="give both in m, greater than zero",
        )
    if math.isclose(joint.moment_arm, joint.attachment):
        raise InputError(
            f"the moment arm and the attachment of {joint.name} are the same, so that its actuator"
            " could have no length",
            remedy="give the two sides as they are built",
        )

    def ends(theta0: float) -> list[float]:
        sides = (joint.lower, joint.upper)
        return [theta0 + joint.position_polarity * (x + joint.offset) for x in sides]

    def has_lever(theta0: float) -> bool:
        return all(0 < phi < math.pi for phi in ends(theta0))

    theta0 = math.pi / 2 if joint.theta0 is None else joint.theta0
    if joint.theta0 is None and not has_lever(theta0):
        middle = (joint.lower + joint.upper) / 2
        theta0 = math.pi / 2 - joint.position_polarity * (middle + joint.offset)
    if not has_lever(theta0):
        low, high = sorted(ends(theta0))
        raise InputError(
            f"the linear sensor or actuator of {joint.name} goes through a dead point: the angle of"
            f" its triangle goes from {low:g} to {high:g}, not within 0 and pi",
            remedy="set theta0, or narrow the range of the joint",
        )
    sides = joint.moment_arm, joint.attachment
    found = Linkage(*sides, theta0, joint.position_polarity, joint.offset)
    levers = [evaluate(found.lever(as_expr(x)), {}) for x in (joint.lower, joint.upper)]
    return replace(found, least=min(abs(float(x)) for x in levers))
