"""Admittance: a virtual mass, damper and spring that give way to the wrench, for a place servo.

The commanded place of the tool moves from the wanted one as a mass that hangs on it by a spring
and a damper and is pushed by what the tool feels (Whitney 1977; Hogan 1985),

    M w' + D w + K d = F + push,

with w the speed of the commanded place against the wanted one and d its way from there, along its
axes. Both are advanced by the backward Euler rule, which is stable for every period:

    w = (M w + T (F + push - K d)) / (M + T D + T^2 K),   way of the joints += T J^-1 w.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linkwright.algebra import ONE
from linkwright.algebra.triples import dot, row_products
from linkwright.blocks.places import AXES
from linkwright.control.force.impedances import six_by_six
from linkwright.control.force.ports import PerAxis, WristOrBody, per_axis
from linkwright.control.force.tool_dynamics import ToolLaw
from linkwright.control.joints import PerJoint


class Admittance(ToolLaw):
    """Places of the joints that give way to a wrench as a mass with spring and damper does.

    The outputs `command` and `command_rate` go to the ports `target` and `target_rate` of a servo;
    `way` and `speed` are those of the tool (6: m, rad). With K of zero along an axis the tool is
    pushed away for as long as the wrench lasts. The output `clearance` says how far the commanded
    pose is from a singular one (0); below `clear` the motion of the joints is damped. It needs a
    rate.

    Args:
        mechanism: what is driven.
        wrist: a compliant wrist, or the body that is the tool.
        M: virtual mass along the flange's axes, kg and kg*m^2.
        D: virtual damping, N*s/m and N*m*s/rad.
        K: virtual stiffness, N/m and N*m/rad.
        push: what the tool should press with, N and N*m; the spring takes its share of it.
        joints: names of the coordinates; by default all that can be driven up to the flange.
        target: where the joints should be; where the mechanism starts by default.
        axes: that the joints can move; by default those that they move at all.
        name: of the element.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("press")
    >>> slide = m.body("slide", translate="z", mass=1)
    >>> Admittance(m, slide, M=2, D=50, K=500)  # doctest: +ELLIPSIS
    Admittance(admittance: q, u, target, target_rate, wrench -> clearance, command, ...)
    """

    def __init__(
        self,
        mechanism: Any,
        wrist: WristOrBody,
        M: PerAxis,
        D: PerAxis,
        K: PerAxis = 0.0,
        *,
        push: PerAxis = 0.0,
        joints: Iterable[str] | None = None,
        target: PerJoint | None = None,
        axes: str | None = None,
        name: str = "admittance",
    ) -> None:
        super().__init__(name, mechanism, wrist, joints, target, axes=axes)
        mass = six_by_six(self, "M", M, above=True, whole=False)
        drag, stiff = (six_by_six(self, n, x, whole=False) for n, x in (("D", D), ("K", K)))
        along, about = "N", "N*m"
        pushes = [
            self.parameter(f"push_{axis}", x, unit=along if k < 3 else about)
            for k, (axis, x) in enumerate(zip(AXES, per_axis(push, "push"), strict=True))
        ]
        T = self.period
        moved = [
            self.discrete_state(f"moved{k}", doc=f"way of {joint} from its target")
            for k, joint in enumerate(self.names_of_joints)
        ]
        place = self.tool_frame(self.named(x + d for x, d in zip(self.target, moved, strict=True)))
        away = self.error(self.wanted, place)
        speeds = []
        for k, axis in enumerate(AXES):
            if k not in self.moved:
                continue
            before = self.discrete_state(f"speed_{axis}", doc=f"of the tool along {axis}")
            m, d, c = (x[k][k] for x in (mass, drag, stiff))
            push_now = T * (self.wrench[k] + pushes[k] + c * away[k])
            after = self.intermediate((m * before + push_now) / (m + T * d + T**2 * c))
            self.update(before, after)
            speeds.append(after)
        rows = [place.jacobian[k] for k in self.moved]
        products = [[self.intermediate(dot(a, b)) for b in rows] for a in rows]
        square = self.cleared(products, place, [ONE] * len(self.joints))
        part = self.solved(square, speeds)
        rates = self.named(dot(column, part) for column in zip(*rows, strict=True))
        ways = [self.intermediate(x + T * r) for x, r in zip(moved, rates, strict=True)]
        for memory, way in zip(moved, ways, strict=True):
            self.update(memory, way)
        self.output_vector(
            "command",
            [x + y for x, y in zip(self.target, ways, strict=True)],
            doc="commanded coordinates",
        )
        self.output_vector(
            "command_rate",
            [x + y for x, y in zip(self.target_rate, rates, strict=True)],
            doc="commanded speeds",
        )
        self.output_vector("way", [-x for x in away], doc="of the commanded place from the wanted")
        self.output_vector(
            "speed", row_products(place.jacobian, rates), doc="of the commanded place"
        )
