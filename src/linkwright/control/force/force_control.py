"""Force control: an arm that yields to what its wrist feels, in two meanings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from linkwright.blocks import BlockError
from linkwright.control.force.place_law import PlaceLaw
from linkwright.control.force.ports import PerAxis, WristOrBody
from linkwright.control.joints import PerJoint

_BASES = ("specified", "current")


class ForceControl(PlaceLaw):
    """Move an arm along with the deflection of its wrist, until it presses as it should.

    There are two laws of this name, and `base` says which:

    - "specified": command = target + J^-1 KF S e. The arm is a softer spring, Kw/(1 + KF).
    - "current": the same is added to the place that was last commanded. It accumulates: the arm
      yields until the force is the wanted one, with no stiffness at all. It needs a rate.

    Args:
        mechanism: what is driven.
        wrist: a compliant wrist; or the body that is the tool, where it is rigid.
        KF: share of the deflection by which the arm moves: for all axes, or by axis.
        base: what it is added to: the "specified" place, or the "current" one.
        force: the axes of force, such as "z rx ry"; all that the joints move by default.
        push: with which the tool is to press on the surroundings, N, N*m, by axis; 0 by default.
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
    >>> law = ForceControl(m, slide, 0.2, base="current", push={"z": 5}, stiffness=500)
    >>> law.parameters["KF"].value
    0.2
    """

    def __init__(
        self,
        mechanism: Any,
        wrist: WristOrBody,
        KF: PerAxis,
        *,
        base: Literal["specified", "current"],
        force: str | None = None,
        push: PerAxis | None = None,
        filter: float | None = None,  # noqa: A002 - the word of the field
        joints: Iterable[str] | None = None,
        target: PerJoint | None = None,
        stiffness: PerAxis | None = None,
        axes: str | None = None,
        damping: float = 0.0,
        forced: bool = False,
        name: str = "force_control",
    ) -> None:
        super().__init__(
            name, mechanism, wrist, joints, target, stiffness=stiffness, axes=axes, filter=filter,
            damping=damping, forced=forced,
        )  # fmt: skip
        if base not in _BASES:
            raise BlockError(
                f"base of {name!r} is {base!r}",
                remedy='"specified" makes a softer spring, "current" accumulates',
            )
        chosen = self.selected(force)
        law = "force" if base == "specified" else "accumulating"
        gain = self.gains_of("KF", "force_gain", KF, chosen, law)
        error = self.pushed(push, chosen)
        steps = self.by_joints([k * e for k, e in zip(gain, error, strict=True)])
        added = steps if base == "specified" else self.accumulated(steps)
        places = [r + x for r, x in zip(self.target, added, strict=True)]
        rates = list(self.target_rate)
        if base == "current":
            rates = [v + x / self.period for v, x in zip(rates, steps, strict=True)]
        self.commanded(places, rates, error)
