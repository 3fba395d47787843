"""Position compensation: an arm that keeps its tool in place against what pushes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linkwright.control.force.place_law import PlaceLaw
from linkwright.control.force.ports import PerAxis, WristOrBody
from linkwright.control.joints import PerJoint


class PositionCompensation(PlaceLaw):
    """Move an arm against the deflection of its wrist, command = target - J^-1 Kp y.

    The tool is then as stiff as Kw/(1 - Kp); with Kp = 1 it does not yield to a force at all, and
    nothing is left of the margin of stability.

    Args:
        mechanism: what is driven.
        wrist: a compliant wrist; or the body that is the tool, where it is rigid.
        Kp: share of the deflection that is compensated, up to 1: for all axes, or by axis.
        filter: a of the filter (1 - a)/(z - a), from 0 (a tick's delay) to below 1; None for none.
        joints: names of the coordinates; by default all that can be driven up to the flange.
        target: where the joints should be, rad or m; where the mechanism starts by default.
        stiffness: of the wrist as the law believes it to be; the wrist's own by default.
        axes: that the joints can move; by default those that they move at all.
        damping: of the inverse of the Jacobian near singular poses, m; none by default.
        forced: take gains that make the sampled loop unstable on a rigid surface.
        name: of the element.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("press")
    >>> slide = m.body("slide", translate="z", mass=1)
    >>> law = PositionCompensation(m, slide, Kp=0.5, stiffness=500)
    >>> list(law.outputs)
    ['command', 'command_rate', 'error']
    """

    def __init__(
        self,
        mechanism: Any,
        wrist: WristOrBody,
        Kp: PerAxis = 1.0,
        *,
        filter: float | None = None,  # noqa: A002 - the word of the field
        joints: Iterable[str] | None = None,
        target: PerJoint | None = None,
        stiffness: PerAxis | None = None,
        axes: str | None = None,
        damping: float = 0.0,
        forced: bool = False,
        name: str = "position_compensation",
    ) -> None:
        super().__init__(
            name, mechanism, wrist, joints, target, stiffness=stiffness, axes=axes, filter=filter,
            damping=damping, forced=forced,
        )  # fmt: skip
        gain = self.gains_of("Kp", "position_gain", Kp, self.moved, "position")
        back = self.by_joints([k * y for k, y in zip(gain, self.seen, strict=True)])
        places = [r - x for r, x in zip(self.target, back, strict=True)]
        self.commanded(places, self.target_rate, self.felt)
