"""The base of laws that answer a deflection of the wrist with places of the joints.

With the deflection d of the wrist, filtered by F(z) = (1 - a)/(z - a),

    y[k] = a y[k-1] + (1 - a) d[k-1],

a law at tick k moves the tool from where it is specified to be. S selects the axes of force, those
of the artificial constraints (a wanted force or moment); I - S are the axes of position. e is the
error of force as a deflection, y - Kw^-1 F_d, and F_d = -push what the surroundings then put on the
tool.

    position compensation         command = target - J^-1 Kp y
    force, specified place        command = target + J^-1 KF S e
    force, current place          offset <- offset + J^-1 KF S e,     command = target + offset
    hybrid                        offset <- offset + J^-1 KF S e,     command = target + offset
                                                                        - J^-1 Kp (I - S) y

Kp moves the arm against the deflection, so that the tool stays: its stiffness is Kw/(1 - Kp). KF
moves it along with the deflection, so that it yields: from the specified place its stiffness is
Kw/(1 + KF); from the current place (the one that was last commanded) it yields until e is gone,
with no stiffness at all. After Y. Xu and R. P. Paul, who built the wrist and these laws.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import ONE, ZERO, Expr, as_expr, evaluate, free_symbols
from linkwright.base.rotations import inertia_tensor, point_inertia
from linkwright.blocks import BlockError, Rate, Sampled, checked
from linkwright.blocks.places import AXES, Places
from linkwright.control.force.ports import (
    ForceLaw,
    PerAxis,
    ToolPlacement,
    WristOrBody,
    per_axis,
    plain,
    selection,
)
from linkwright.control.force.sampled_limits import LEAST, gain_limit
from linkwright.control.joints import PerJoint

Array = NDArray[np.float64]
_REMEDY = "lower it, or give forced=True to try it all the same"


class PlaceLaw(ForceLaw):
    """A law that commands places of joints by the deflection of a wrist; base of the three.

    Outputs: `command` and `command_rate`, for the target of a servo; `error` (6), the error of
    force as a deflection, or the deflection itself along axes of position.
    """

    def __init__(
        self,
        name: str,
        mechanism: Any,
        wrist: WristOrBody,
        joints: Iterable[str] | None,
        target: PerJoint | None,
        *,
        stiffness: PerAxis | None,
        axes: str | None,
        filter: float | None,  # noqa: A002 - the word of the field
        damping: float,
        forced: bool,
    ) -> None:
        super().__init__(name, mechanism, wrist, joints, target, stiffness=stiffness, axes=axes)
        self.forced = forced
        self._compensated: dict[int, float] = {}
        self.instants_only = filter is not None
        self.pole: float | None = None
        if filter is not None:
            self.pole = checked(filter, "filter", least=0.0)
            if self.pole >= 1:
                raise BlockError(
                    f"filter of {name!r} is {self.pole:g}", remedy="give a number from 0 to below 1"
                )
        checked(damping, "damping", least=0.0)
        self._damping = self.parameter("damping", damping, lower=0.0) if damping else None
        self.felt = [self.intermediate(x) for x in self.believed_deflection()]
        self.seen = self._filtered(self.felt)

    def _filtered(self, values: Sequence[Expr]) -> list[Expr]:
        """Return what the filter gives now: it knows the values up to the tick before."""
        if self.pole is None:
            return list(values)
        a = self.parameter("filter", self.pole, unit="1", lower=0.0)
        self.require(a < 1)
        found = []
        for axis, value in zip(AXES, values, strict=True):
            kept = self.discrete_state(f"seen_{axis}", doc=f"deflection in {axis}, filtered")
            self.update(kept, a * kept + (1 - a) * value)
            found.append(kept)
        return found

    def gains_of(
        self, name: str, port: str, given: PerAxis, axes: Sequence[int], law: str
    ) -> list[Expr]:
        """Return the gains along all axes, zero where the law has none.

        They are parameters called `name`, or `name_axis` where they differ, which the port drives
        unless it is connected.
        """
        given = plain(given)
        numbers = per_axis(given, name, least=0.0)
        if isinstance(given, Mapping):
            strange = [axis for axis in given if AXES.index(axis) not in axes]
            if strange:
                raise BlockError(
                    f"{name} of {self.name!r} is given for {' '.join(strange)}, where the law has "
                    "no such gain",
                    remedy=f"give it for {' '.join(AXES[k] for k in axes)}",
                )
        limit = self._limit(law)
        if law == "position":
            self._compensated = {k: numbers[k] for k in axes if numbers[k]}
        for k in axes:
            if numbers[k] > limit * (1 + 1e-6) and not self.forced:
                raise BlockError(
                    f"{name} of {self.name!r} is {numbers[k]:g} along {AXES[k]}; with that "
                    f"{self._filter_words()} the sampled loop on a rigid surface is stable up to "
                    f"{limit:.4g} only",
                    remedy=_REMEDY,
                )
        if isinstance(given, Mapping | Sequence):
            made = {
                k: self.parameter(f"{name}_{AXES[k]}", numbers[k], unit="1", lower=0.0)
                for k in axes
            }
        else:
            one = self.parameter(name, numbers[0], unit="1", lower=0.0)
            made = dict.fromkeys(axes, one)
        for gain in dict.fromkeys(made.values()) if not self.forced else ():
            self.require(gain <= (1 + 1e-6) * self._bound(law), "for a stable sampled loop")
        usual = [made.get(k, ZERO) for k in range(6)]
        gains = self.input_vector(port, 6, usual, unit="1", doc=f"{name} along the axes")
        return [gains[k] if k in made else ZERO for k in range(6)]

    def _limit(self, law: str) -> float:
        order = "at-once" if self.pole is None else "old-place"
        rigid = float("inf")
        return gain_limit(
            law, stiffness=1.0, filter=self.pole or 0.0, environment_stiffness=rigid, order=order
        )

    def _bound(self, law: str) -> Expr:
        """Return the same limit, of the filter as it is set: poles of the loop reach -1 there."""
        if self.pole is None:
            return as_expr(2 if law == "accumulating" else 1)
        return 1 / (1 - self.parameters["filter"].symbol) if law == "force" else ONE

    def check_rate(self, rate: Rate) -> None:
        """Reject a rate at which compensation makes the tool swing while it touches nothing."""
        super().check_rate(rate)
        if not isinstance(rate, Sampled) or self.forced or self.wrist is None:
            return
        period, wrist = float(rate.period), self.wrist
        heavy = self._inertias()
        for k, gain in self._compensated.items():
            if wrist.deflection[k] is ZERO or heavy[k] < LEAST:
                continue
            stiffness, damping = (
                wrist.parameters[x[k].name].value for x in (wrist.stiffness, wrist.damping)
            )
            limit = gain_limit(
                "position", stiffness=stiffness, mass=heavy[k], damping=damping,
                filter=self.pole or 0.0, period=period,
                order="at-once" if self.pole is None else "old-place",
            )  # fmt: skip
            if gain > limit * (1 + 1e-6):
                raise BlockError(
                    f"Kp of {self.name!r} is {gain:g} along {AXES[k]}; with that "
                    f"{self._filter_words()}, ticks of {period:g} s and a tool of {heavy[k]:.4g} "
                    f"{'kg' if k < 3 else 'kg*m^2'} that touches nothing, the sampled loop is "
                    f"stable up to {limit:.4g} only",
                    remedy="filter more, lower it, or give forced=True to try it all the same",
                )

    def _inertias(self) -> list[float]:
        """Return mass and moments of inertia of the tool and of all that it carries.

        They are along the flange's axes, about the tool's reference point, where the tool is at
        rest and what it carries stands as the mechanism starts.
        """
        m, tool = self.mechanism, self.tool.body
        numbers = {**m.initial, **m.values}
        hanging = tool.ancestors()
        rest = {q for x in hanging[: hanging.index(self.flange.body)] for q in x.coordinates}
        places = Places(lambda x: x, self.flange.body)

        def value(x: Expr) -> float:
            at = {s: 0.0 if s in rest else numbers.get(s.name, 0.0) for s in free_symbols(x)}
            return float(evaluate(x, at))

        def values(rows: Sequence[Expr]) -> Array:
            return np.array([value(x) for x in rows])

        middle = values(places.position(self.tool))
        mass, tensor = 0.0, np.zeros((3, 3))
        for body in m.bodies.values():
            if tool not in body.ancestors():
                continue
            own, place = body.inertia, places.of(body)
            turn = np.array([values(row) for row in place.rotation])
            inner = inertia_tensor(values(own.tensor))
            arm = values(place.origin) + turn @ values(own.center) - middle
            weight = value(own.mass)
            mass += weight
            tensor += turn @ inner @ turn.T + weight * point_inertia(arm)
        turn = np.array(
            [values(axis.components(self.flange.body.frame)) for axis in self.flange.axes]
        )
        return [mass] * 3 + [float(x) for x in np.diag(turn @ tensor @ turn.T)]

    def _filter_words(self) -> str:
        return "law without a filter" if self.pole is None else f"filter of {self.pole:g}"

    def pushed(self, push: PerAxis | None, axes: Sequence[int]) -> list[Expr]:
        """Return e, the error of force as a deflection, along axes of force; zero along others.

        Args:
            push: with which the tool is to press on the surroundings, along axes of force.
            axes: of force.
        """
        given = per_axis({} if push is None else push, "push")
        strange = [AXES[k] for k in range(6) if given[k] and k not in axes]
        if strange:
            raise BlockError(
                f"push of {self.name!r} is given for {' '.join(strange)}, an axis of position",
                remedy=f"name it in force=, or push along {' '.join(AXES[k] for k in axes)} only",
            )
        wanted = self.input_vector("push", 6, given, doc="that the tool is to press with, N, N*m")
        return [
            self.seen[k] + wanted[k] / self.stiffness[k] if k in axes else ZERO for k in range(6)
        ]

    def selected(self, force: str | None) -> tuple[int, ...]:
        """Return the axes of force; all that the joints move where none are named."""
        if force is None:
            return self.moved
        chosen = selection(force)
        out = [AXES[k] for k in chosen if k not in self.moved]
        if out:
            raise BlockError(
                f"force of {self.name!r} names {' '.join(out)}, which its joints do not move",
                remedy=f"they move {' '.join(AXES[k] for k in self.moved)}",
            )
        return chosen

    def by_joints(self, motion: Sequence[Expr], frame: ToolPlacement | None = None) -> list[Expr]:
        """Return J^-1 times a small motion of the tool, where the joints are measured to be."""
        if all(x is ZERO for x in motion):
            return [ZERO] * len(self.joints)
        return self.joint_motion(frame or self.frame, motion, self._damping)

    def accumulated(self, steps: Sequence[Expr]) -> list[Expr]:
        """Return offsets of the joints that grow by a step at each tick."""
        self.instants_only = True
        found = []
        for joint, step in zip(self.names_of_joints, steps, strict=True):
            kept = self.discrete_state(f"offset_{joint.replace('.', '_')}", doc="from the target")
            new = self.intermediate(kept + step)
            self.update(kept, new)
            found.append(new)
        return found

    def commanded(
        self, places: Sequence[Expr], rates: Sequence[Expr], error: Sequence[Expr]
    ) -> None:
        """Put out what joints are sent to."""
        self.output_vector("command", places, doc="places of the joints, for a servo")
        self.output_vector("command_rate", rates, doc="speeds of the joints, for a servo")
        self.output_vector(
            "error",
            error,
            unit=["m"] * 3 + ["rad"] * 3,
            doc="of force as a deflection; else the deflection",
        )

    @property
    def needs_rate(self) -> bool:
        """Whether it makes sense only at instants: with a filter or an offset it does."""
        return self.instants_only or super().needs_rate
