"""Hybrid control: force along some axes, compensated position along the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from linkwright.algebra import ONE, ZERO, Expr, absolute, sqrt, total, where
from linkwright.algebra.triples import (
    Quaternion,
    add,
    apply,
    dot,
    held_rows,
    matrix_product,
    quaternion_matrix,
    quaternion_product,
    subtract,
    transposed,
)
from linkwright.blocks import BlockError, checked
from linkwright.blocks.places import AXES
from linkwright.control.force.place_law import PlaceLaw
from linkwright.control.force.ports import PerAxis, WristOrBody, per_axis
from linkwright.control.joints import PerJoint

_FORMS = ("joint", "cartesian")
_UNTURNED = (ONE, ZERO, ZERO, ZERO)


class Hybrid(PlaceLaw):
    """Press along axes of force, and hold the tool's place along the others, at ticks.

    Along the axes of force, S, the arm moves by KF e from where it was last sent; along the others
    it moves by Kp y against the deflection. `force` names the artificial constraints: the
    axes along which a force is wanted, not those along which the surroundings leave the tool free.

    With a `threshold` the arm is under position control until the wrist has deflected so far, going
    ahead by `approach` along the axes of force; it then changes to hybrid control, and back when
    contact is lost: the deflection is below `release` times the threshold. The output
    `contact` is 1 under hybrid control.

    Ports beside those of other laws: `feed` (6: m/s, rad/s), the speed at which the specified place
    moves, along the flange's axes; `surface_rate` (6), the speed of the surface, which is added
    along the axes of force during contact, so that the force does not lag by v T/KF; `push`,
    `force_gain` and `position_gain` (6), where these are to change during a run.

    Args:
        mechanism: what is driven.
        wrist: a compliant wrist; or the body that is the tool, where it is rigid.
        force: the axes of force, such as "z rx ry".
        push: with which the tool is to press on the surroundings, N, N*m, by axis; 0 by default.
        KF: share of the error by which the arm moves at each tick, for all axes of force or by
            axis; below 1.
        Kp: share of the deflection that is compensated along the other axes, up to 1.
        filter: a of the filter (1 - a)/(z - a), from 0 (a tick's delay) to below 1; None for none.
        form: "joint" adds small motions to the joints; "cartesian" moves the tool's frame and
            follows it with the joints, so that steps of any size leave no error behind.
        approach: speed until contact along axes of force, m/s, rad/s, by axis.
        threshold: deflection at which contact begins, m, rad, by axis of force.
        release: share of the threshold below which contact is lost.
        follow: pole b, from 0 to below 1, of the filter with which the law takes the speed of the
            surface from the tool's own motion during contact, and adds it to `surface_rate`, so
            that a surface that nobody knows leaves no lag; None for not at all.
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
    >>> law = Hybrid(m, slide, force="z", push={"z": 5.0}, stiffness=500)
    >>> list(law.outputs)
    ['command', 'command_rate', 'error', 'contact']
    """

    def __init__(
        self,
        mechanism: Any,
        wrist: WristOrBody,
        force: str,
        *,
        push: PerAxis | None = None,
        KF: PerAxis = 0.2,
        Kp: PerAxis = 1.0,
        filter: float | None = 0.8,  # noqa: A002 - the word of the field
        form: Literal["joint", "cartesian"] = "joint",
        approach: PerAxis | None = None,
        threshold: PerAxis | None = None,
        release: float = 0.5,
        follow: float | None = None,
        joints: Iterable[str] | None = None,
        target: PerJoint | None = None,
        stiffness: PerAxis | None = None,
        axes: str | None = None,
        damping: float = 0.0,
        forced: bool = False,
        name: str = "hybrid",
    ) -> None:
        super().__init__(
            name, mechanism, wrist, joints, target, stiffness=stiffness, axes=axes, filter=filter,
            damping=damping, forced=forced,
        )  # fmt: skip
        if form not in _FORMS:
            raise BlockError(f"form of {name!r} is {form!r}", remedy='"joint" or "cartesian"')
        chosen = self.selected(force)
        others = [k for k in self.moved if k not in chosen]
        KF_ = self.gains_of("KF", "force_gain", KF, chosen, "accumulating")
        Kp_ = self.gains_of("Kp", "position_gain", Kp, others, "position")
        error = self.pushed(push, chosen)
        feed = self.input_vector("feed", 6, doc="speed of the specified place, m/s, rad/s")
        surface = self.input_vector("surface_rate", 6, doc="speed of the surface, m/s, rad/s")
        contact, ahead = self._contact(chosen, approach, threshold, release)
        T = self.period
        if follow is not None:
            seen = self._followed(chosen, follow, contact)
            surface = tuple(self.intermediate(a + b) for a, b in zip(surface, seen, strict=True))
        step = [ZERO] * 6
        for k in self.moved:
            step[k] = T * feed[k]
            if k in chosen:
                during = KF_[k] * error[k] + T * surface[k]
                step[k] = step[k] + where(contact > 0, during, T * ahead[k])
        step = [x if x is ZERO else self.intermediate(x) for x in step]
        back = [k * y for k, y in zip(Kp_, self.seen, strict=True)]
        if form == "joint":
            steps = self.by_joints(step)
            places = [
                r + x - b
                for r, x, b in zip(
                    self.target, self.accumulated(steps), self.by_joints(back), strict=True
                )
            ]
        else:
            steps, places = self._cartesian(step, back)
        rates = [v + x / T for v, x in zip(self.target_rate, steps, strict=True)]
        shown = [error[k] if k in chosen else self.felt[k] for k in range(6)]
        self.commanded(places, rates, shown)
        self.output("contact", contact, unit="1", doc="1 under hybrid control")

    # -- contact -----------------------------------------------------------------------------------
    def _contact(
        self,
        chosen: Sequence[int],
        approach: PerAxis | None,
        threshold: PerAxis | None,
        release: float,
    ) -> tuple[Expr, list[Expr]]:
        """Return what is 1 during contact, and the speeds until then."""
        given = {"approach": per_axis({} if approach is None else approach, "approach")}
        edges = {} if threshold is None else threshold
        given["threshold"] = per_axis(edges, "threshold", least=0.0)
        for what, numbers in given.items():
            strange = [AXES[k] for k in range(6) if numbers[k] and k not in chosen]
            if strange:
                raise BlockError(
                    f"{what} of {self.name!r} is given for {' '.join(strange)}, "
                    "an axis of position",
                    remedy="give it along axes of force; `feed` moves along all of them",
                )
        if checked(release, "release", least=0.0) > 1:
            raise BlockError(
                f"release of {self.name!r} is {release:g}: contact would end as it begins",
                remedy="give a share of the threshold, from 0 to 1",
            )
        if not any(given["threshold"]):
            if any(given["approach"]):
                raise BlockError(
                    f"{self.name!r} has an approach, but no threshold that ends it",
                    remedy="give threshold={...}: the deflection at which contact begins",
                )
            return ONE, [ZERO] * 6
        share = self.parameter("release", release, unit="1", lower=0.0, upper=1.0)
        speeds, far, near = [ZERO] * 6, ZERO, ZERO
        for k in chosen:
            if given["approach"][k]:
                speeds[k] = self.parameter(f"approach_{AXES[k]}", given["approach"][k])
            if given["threshold"][k]:
                edge = self.parameter(f"threshold_{AXES[k]}", given["threshold"][k], lower=0.0)
                far = far + where(absolute(self.felt[k]) >= edge, 1.0, 0.0)
                near = near + where(absolute(self.felt[k]) >= share * edge, 1.0, 0.0)
        before = self.discrete_state("touches", doc="1 during contact")
        now = self.intermediate(where(where(before > 0, near, far) > 0, 1.0, 0.0))
        self.update(before, now)
        return now, speeds

    def _followed(self, chosen: Sequence[int], follow: float, contact: Expr) -> list[Expr]:
        """Return the speed of the surface along axes of force, from the motion of the tool.

        The tool is where the flange and the deflection of the wrist put it, and on a surface.
        """
        pole = checked(follow, "follow", least=0.0)
        if pole >= 1:
            raise BlockError(
                f"follow of {self.name!r} is {pole:g}", remedy="give a number from 0 to below 1"
            )
        b = self.parameter("follow", pole, unit="1", lower=0.0)
        self.require(b < 1)
        begun = self.discrete_state("followed", 1.0, doc="1 after the first tick")
        turned = []
        for joint, q in zip(self.names_of_joints, self.q, strict=True):
            before = self.discrete_state(f"was_{joint.replace('.', '_')}", q, doc="a tick ago")
            turned.append(self.intermediate(q - before))
        found = [ZERO] * 6
        for k in chosen:
            before = self.discrete_state(f"felt_{AXES[k]}", self.felt[k], doc="a tick ago")
            row = self.frame.jacobian[k]
            moved = dot(row, turned)
            speed = self.intermediate((moved + self.felt[k] - before) / self.period)
            kept = self.discrete_state(f"surface_{AXES[k]}", doc="speed of the surface")
            found[k] = self.intermediate(
                where(contact > 0, where(begun > 0, b * kept + (1 - b) * speed, 0.0), 0.0)
            )
            self.update(kept, found[k])
        return found

    # -- Cartesian form ----------------------------------------------------------------------------
    def _cartesian(
        self, step: Sequence[Expr], back: Sequence[Expr]
    ) -> tuple[list[Expr], list[Expr]]:
        """Return steps and places of the joints that follow the tool's frame.

        The offset T_off <- T_off T(step) is remembered, and T_req = T_spec T_off T(back)^-1 is
        followed by one step of Newton's method for the joints from where they were last sent.
        """
        self.instants_only = True
        begun = self.discrete_state("begun", 1.0, doc="1 after the first tick")
        way = [self.discrete_state(f"way_{c}", doc="offset of the frame") for c in "xyz"]
        turn = [
            self.discrete_state(f"turn_{c}", initial=float(c == "w"), doc="offset, a quaternion")
            for c in "wxyz"
        ]
        ahead = apply(quaternion_matrix(turn), step[:3])
        moved = [self.intermediate(a + b) for a, b in zip(way, ahead, strict=True)]
        turned = self._normalized(_turned_by(turn, step[3:]))
        for memory, new in zip((*way, *turn), (*moved, *turned), strict=True):
            self.update(memory, new)
        wanted = self.tool_frame(self.target)
        offset = held_rows(self.intermediate, quaternion_matrix(turned))
        rotation = held_rows(self.intermediate, matrix_product(wanted.rotation, offset))
        reached = add(wanted.position, apply(wanted.rotation, moved))
        unturned = self._normalized(_turned_by(_UNTURNED, [-x for x in back[3:]]))
        rotation = held_rows(
            self.intermediate,
            matrix_product(rotation, held_rows(self.intermediate, quaternion_matrix(unturned))),
        )
        reached = subtract(self._triple(reached), apply(rotation, back[:3]))
        sent = []
        for joint, r in zip(self.names_of_joints, self.target, strict=True):
            memory = self.discrete_state(f"sent_{joint.replace('.', '_')}", doc="last command")
            sent.append((memory, self.intermediate(where(begun > 0, memory, r))))
        here = self.tool_frame([x for _, x in sent])
        inward = transposed(here.rotation)
        shift = apply(inward, subtract(self._triple(reached), here.position))
        steps = self.by_joints([*shift, *self.turn_between(here.rotation, rotation)], here)
        places = [self.intermediate(x + d) for (_, x), d in zip(sent, steps, strict=True)]
        for (memory, _), place in zip(sent, places, strict=True):
            self.update(memory, place)
        return self.by_joints(step), places

    def _normalized(self, q: Sequence[Expr]) -> list[Expr]:
        parts = [self.intermediate(x) for x in q]
        size = self.intermediate(sqrt(total([x**2 for x in parts])))
        return [self.intermediate(x / size) for x in parts]


def _turned_by(q: Sequence[Expr], angles: Sequence[Expr]) -> Quaternion:
    """Return a quaternion times that of a small turn, not normalized."""
    return quaternion_product(q, (ONE, *(x / 2 for x in angles)))
