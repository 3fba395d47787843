"""Stiffness and impedance: how the tool answers to what pushes it (Salisbury 1980; Hogan 1985).

Both take the wanted place of the tool from the wanted joints, and work along the flange's axes,
with the wrench F that the surroundings put on the tool, its error e and the error of its velocity
e'.

- `Stiffness`: tau = J'(K e + D e') + gravity. At rest the tool answers with -F = K e. No force
  sensor and no inertia of the model is needed.
- `Impedance` without M: the inertia Lambda of the tool stays its own, nonlinear effects are taken
  away, Lambda (a - a_d) = F + K e + D e'. It needs no force sensor.
- `Impedance` with M: the inertia is M instead, M (a - a_d) = F + K e + D e', which needs the
  wrench: tau = J'(Lambda (a_d + M^-1 (F + K e + D e') - c) - F) + b.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from linkwright.algebra.triples import row_products
from linkwright.control.force.impedances import Six, six_by_six
from linkwright.control.force.ports import WristOrBody
from linkwright.control.force.tool_dynamics import ToolLaw
from linkwright.control.joints import PerJoint


class Stiffness(ToolLaw):
    """A tool with the stiffness of a spring in six directions, by torques of the joints.

    Args:
        mechanism: what is driven.
        wrist: a compliant wrist, or the body that is the tool.
        K: stiffness along the flange's axes, N/m and N*m/rad: a number, six, by axis, or a
            symmetric matrix.
        D: damping, N*s/m and N*m*s/rad.
        joints: names of the coordinates; by default all that can be driven up to the flange.
        target: where the joints should be; where the mechanism starts by default.
        axes: that the joints can move; by default those that they move at all.
        limit: largest torque or force of each joint.
        values: numbers of the mechanism's parameters as the law believes them to be.
        acts: whether torques act on the joints; otherwise they are the output `tau` alone.
        name: of the element.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("press")
    >>> slide = m.body("slide", translate="z", mass=1)
    >>> Stiffness(m, slide, K=500, D=30)
    Stiffness(stiffness: q, u, target, target_rate, wrench -> tau_slide)
    """

    def __init__(
        self,
        mechanism: Any,
        wrist: WristOrBody,
        K: Six,
        D: Six = 0.0,
        *,
        joints: Iterable[str] | None = None,
        target: PerJoint | None = None,
        axes: str | None = None,
        limit: PerJoint | None = None,
        values: Mapping[str, float] | None = None,
        acts: bool = True,
        name: str = "stiffness",
    ) -> None:
        super().__init__(name, mechanism, wrist, joints, target, axes=axes, values=values)
        stiff, damp = six_by_six(self, "K", K), six_by_six(self, "D", D)
        rate = self.seen(
            row_products(self.wanted.jacobian, self.target_rate), self.wanted, self.frame
        )
        slow = self.named(x - y for x, y in zip(rate, self.tool_velocity, strict=True))
        pull = row_products(stiff, self.error(self.wanted, self.frame))
        wrench = [x + y for x, y in zip(pull, row_products(damp, slow), strict=True)]
        tau = self.on_joints(self.named(wrench))
        held = self.holding()
        self.put([x + y for x, y in zip(tau, held, strict=True)], limit, acts)


class Impedance(ToolLaw):
    """A tool with the stiffness, damping and, if wanted, mass that are given.

    Beside the ports of all laws of force it has `target_acceleration`. The output `clearance` says
    how far the pose is from a singular one (0); below `clear` the law is damped.

    Args:
        mechanism: what is driven.
        wrist: a compliant wrist, or the body that is the tool.
        K: stiffness along the flange's axes, N/m and N*m/rad: a number, six, by axis, or a
            symmetric matrix.
        D: damping, N*s/m and N*m*s/rad.
        M: mass that the tool shows, kg and kg*m^2, which takes the wrench from the port; None for
            its own inertia.
        joints: names of the coordinates; by default all that can be driven up to the flange.
        target: where the joints should be; where the mechanism starts by default.
        axes: that the joints can move; by default those that they move at all.
        limit: largest torque or force of each joint.
        values: numbers of the mechanism's parameters as the law believes them to be.
        acts: whether torques act on the joints; otherwise they are the output `tau` alone.
        name: of the element.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("press")
    >>> slide = m.body("slide", translate="z", mass=1)
    >>> law = Impedance(m, slide, K=500, D=30, M=2)
    >>> list(law.inputs)
    ['q', 'u', 'target', 'target_rate', 'wrench', 'target_acceleration']
    """

    def __init__(
        self,
        mechanism: Any,
        wrist: WristOrBody,
        K: Six,
        D: Six = 0.0,
        M: Six | None = None,
        *,
        joints: Iterable[str] | None = None,
        target: PerJoint | None = None,
        axes: str | None = None,
        limit: PerJoint | None = None,
        values: Mapping[str, float] | None = None,
        acts: bool = True,
        name: str = "impedance",
    ) -> None:
        super().__init__(name, mechanism, wrist, joints, target, axes=axes, values=values)
        stiff, damp = six_by_six(self, "K", K), six_by_six(self, "D", D)
        ahead = self.input_vector(
            "target_acceleration", len(self.joints), doc="wanted accelerations"
        )
        inertia = self.inertia()
        rate, wanted = self.wanted_motion(ahead)
        slow = self.named(x - y for x, y in zip(rate, self.tool_velocity, strict=True))
        pull = row_products(stiff, self.error(self.wanted, self.frame))
        wrench = self.named(x + y for x, y in zip(pull, row_products(damp, slow), strict=True))
        if M is None:
            tau = self.accelerating(inertia, wanted, wrench)
        else:
            mass = six_by_six(self, "M", M, above=True)
            moved = self.moved
            right = [self.intermediate(wrench[k] + self.wrench[k]) for k in moved]
            answer = self.solved([[mass[i][j] for j in moved] for i in moved], right)
            for k, x in zip(moved, answer, strict=True):
                wanted[k] = wanted[k] + x
            tau = self.accelerating(inertia, wanted, [-x for x in self.wrench])
        self.put(tau, limit, acts)
