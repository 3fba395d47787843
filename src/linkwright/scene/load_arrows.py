"""Forces that a mechanism puts on its own bodies: pushes, dampers, struts, tires of the models.

A recording of a mechanism holds its states, not its forces; these are computed again from the
states, by one kernel for all of them and all times, along the axes of the bodies that feel them. A
force between two points acts on both. What motors do within joints is not shown, and a force is
left out where a number that it needs is not known, such as one that was not recorded. Where the
reactions were recorded, so are the forces of constraints, which act where their joints are closed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import ZERO, Expr, evaluate, free_symbols, substitute
from linkwright.base.forking import cached_property
from linkwright.mechanism import Force, Mechanism, Point
from linkwright.program import optimize, program
from linkwright.recording import Recording
from linkwright.scene.body_geometry import body_rows
from linkwright.scene.forces import Column, NodeForce, reacting
from linkwright.scene.scene import Scene
from linkwright.system.driven_inputs import channel_name, channel_symbol, drives_in

Array: TypeAlias = NDArray[np.float64]
Known: TypeAlias = Callable[[str], "Array | float | None"]


@dataclass(frozen=True, slots=True, eq=False)
class _Own:
    """A force at one of its points, as components along the axes of the body there."""

    name: str
    point: Point
    parts: tuple[Expr, Expr, Expr]
    far: Point | None = None
    reaction: bool = False


@dataclass(eq=False)
class OwnForces:
    """The forces of a mechanism.

    >>> m = Mechanism("cart")
    >>> b = m.body("b", translate="x", mass=2)
    >>> f = m.force("damper", "-3*b_dot", at=b, along="x")
    >>> own = OwnForces(m)
    >>> [a.name for a in own.arrows]
    ['damper']
    >>> columns = own.columns({"b": 0.0, "b_dot": np.array([1.0, 2.0])}.get)
    >>> columns["own.damper.0"].tolist()
    [-3.0, -6.0]
    """

    mechanism: Mechanism
    values: Mapping[str, float] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def _each(self) -> list[_Own]:
        m, found = self.mechanism, []
        for force in m.forces:
            found += [own for own in _ends(force) if own.point.body.parent is not None]
        if reacting(self.about):
            found += _held(m)
        drives = drives_in(self.about)
        driven = {x: drives[name] for name, x in m.inputs.items() if name in drives}
        return [replace(own, parts=_with(own.parts, driven)) for own in found] if driven else found

    @cached_property
    def _needed(self) -> list[Expr]:
        """The symbols of all forces, in an order that does not change."""
        symbols = {x for own in self._each for part in own.parts for x in free_symbols(part)}
        return sorted(symbols, key=lambda x: x.name)

    @cached_property
    def _kernel(self) -> Any:
        from linkwright.backends.kernel import compile as compiled

        parts = [part for own in self._each for part in own.parts]
        return compiled(optimize(program("forces", {"x": list(self._needed)}, {"f": parts})))

    @cached_property
    def arrows(self) -> tuple[NodeForce, ...]:
        """The forces as arrows, with the names that their components have in `columns`."""
        rows = body_rows(self.mechanism)
        numbers = {**self.mechanism.values, **(self.values or {})}
        found = []
        for own in self._each:
            at = _place(own.point, numbers)
            if at is not None:
                parts = tuple(f"own.{own.name}.{k}" for k in range(3))
                other = None if own.far is None else _place(own.far, numbers)
                far = None if own.far is None or other is None else (rows[own.far.body], other)
                arrow = NodeForce(own.name, rows[own.point.body], at, parts, turns=True, far=far)
                found.append(replace(arrow, reaction=own.reaction))
        return tuple(found)

    def names_in(self, names: Sequence[str]) -> list[str]:
        """Return those of some names that forces depend on."""
        needed = {channel_name(x) for x in self._needed}
        return [name for name in names if name in needed]

    def columns(self, known: Known) -> dict[str, Array]:
        """Return the components of the forces whose numbers are all known, by name."""
        if not self._each:
            return {}
        found = {x: known(channel_name(x)) for x in self._needed}
        shape = np.broadcast_shapes(*(np.shape(v) for v in found.values() if v is not None), ())
        rows = np.zeros((*shape, len(self._needed)))
        for k, x in enumerate(self._needed):
            value = found[x]
            rows[..., k] = np.nan if value is None else value
        forces = np.asarray(self._kernel(rows))
        made = {}
        for k, own in enumerate(self._each):
            symbols = {x for part in own.parts for x in free_symbols(part)}
            if all(found[x] is not None for x in symbols):
                for c in range(3):
                    made[f"own.{own.name}.{c}"] = forces[..., 3 * k + c]
        return made

    def unknown(self, known: Known) -> dict[str, str]:
        """Return the applied forces that cannot be computed, with the first number that lacks."""
        found: dict[str, str] = {}
        for own in self._each:
            symbols = sorted({channel_name(x) for part in own.parts for x in free_symbols(part)})
            missing = [name for name in symbols if known(name) is None]
            if missing and not own.reaction:
                found[own.name.removesuffix(" back")] = missing[0]
        return found


def _place(point: Point, numbers: Mapping[str, float]) -> tuple[float, float, float] | None:
    """Return where a point is in its body's frame, m, or None where a number is not known."""
    local = point.local.components(point.body.frame)
    symbols = {x for part in local for x in free_symbols(part)}
    if not all(x.name in numbers for x in symbols):
        return None
    given = {x: numbers[x.name] for x in symbols}
    x, y, z = (float(evaluate(part, given)) for part in local)
    return x, y, z


def _ends(force: Force) -> list[_Own]:
    """Return a force at the point where it acts, and where it acts back at a point."""
    body = force.point.body
    if force.away_from is None:
        if force.reaction.parent is not None:
            return []  # within a joint, or between bodies at no point that is known
        return [_Own(force.name, force.point, _along(force, force.point, 1))]
    other = force.away_from
    made = [_Own(force.name, force.point, _along(force, force.point, 1), other)]
    if other.body is not body:
        made.append(_Own(f"{force.name} back", other, _along(force, other, -1), force.point))
    return made


def _held(mechanism: Mechanism) -> list[_Own]:
    """Return the forces of constraints: at each point the sum of those that act there."""
    parts: dict[Point, list[Expr]] = {}
    names: dict[Point, str] = {}
    for constraint in mechanism.constraints:
        for work in constraint.works:
            if work.turns:
                continue
            fixed = work.point.body.parent is None
            point, sign = (work.reaction, -1) if fixed else (work.point, 1)
            if point.body.parent is None:
                continue
            push = sign * channel_symbol(f"force of {constraint.name}")
            own = [push * x for x in work.direction.components(point.body.frame)]
            before = parts.get(point, [ZERO] * 3)
            parts[point] = [a + b for a, b in zip(before, own, strict=True)]
            names.setdefault(point, constraint.name)
    return [
        _Own(f"reaction of {names[point]}", point, (x, y, z), reaction=True)
        for point, (x, y, z) in parts.items()
    ]


def _with(parts: Sequence[Expr], driven: Mapping[Expr, Expr]) -> tuple[Expr, Expr, Expr]:
    x, y, z = (substitute(part, driven) for part in parts)
    return x, y, z


def _along(force: Force, at: Point, sign: int) -> tuple[Expr, Expr, Expr]:
    x, y, z = force.direction.components(at.body.frame)
    push = sign * force.magnitude
    return push * x, push * y, push * z


def known_in(
    channel: Column, there: set[str], about: Mapping[str, Any], mechanism: Mechanism, times: Array
) -> Known:
    """Return the values that a recording knows: channels, time, numbers of the run."""
    info = about.get("parameters")
    numbers: dict[str, Any] = dict(mechanism.values)
    if "members" in about:  # in a System, others may drive inputs
        numbers = {n: v for n, v in numbers.items() if n not in mechanism.inputs}
    numbers.update(info if isinstance(info, Mapping) else {})
    numbers = {n: v for n, v in numbers.items() if isinstance(v, int | float)}

    def known(name: str) -> Array | float | None:
        if name == mechanism.time.name:
            return times
        if name in there:
            return channel(name)
        return numbers.get(name)

    return known


def unshown_forces(scene: Scene, recording: Recording) -> list[str]:
    """Return in words which forces of a System's mechanism cannot be shown, and why."""
    about, m = recording.metadata, scene.robot.mechanism
    if "members" not in about:
        return []
    there = {c.name for c in recording.channels}
    known = known_in(recording.__getitem__, there, about, m, recording.times)
    missing = OwnForces(m, scene.poses.values, about).unknown(known)
    by_reason: dict[str, list[str]] = {}
    for force, name in missing.items():
        by_reason.setdefault(name, []).append(force)
    return [
        f"{', '.join(forces)}: no arrow is shown, since {name} is not in the recording"
        for name, forces in by_reason.items()
    ]
