"""Forces that a mechanism puts on its own bodies: pushes, dampers, struts, tyres of the models.

A recording of a mechanism holds its states, not its forces; these are computed again from the
states, by one kernel for all of them and all times, along the axes of the bodies that feel them. A
force between two points acts on both. What motors do within joints is not shown, and a force is
left out where a number that it needs is not known: an input of the mechanism that something else
in a System drives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, evaluate, free_symbols
from linkwright.forking import cached_property
from linkwright.mechanism import Force, Mechanism, Point
from linkwright.program import optimise, program
from linkwright.studio.forces import Arrow, Column

Array: TypeAlias = NDArray[np.float64]
_BESIDE = 0.08  # of the scene's radius: the arrow of a strut, next to it
Known: TypeAlias = Callable[[str], "Array | float | None"]


@dataclass(frozen=True, slots=True, eq=False)
class _Own:
    """A force at one of its points, as components along the axes of the body there."""

    name: str
    point: Point
    parts: tuple[Expr, Expr, Expr]
    beside: float = 0.0


@dataclass(eq=False)
class OwnForces:
    """The forces of a mechanism.

    Args:
        mechanism: any.
        values: of parameters, over its own.

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

    @cached_property
    def _each(self) -> list[_Own]:
        found = []
        for force in self.mechanism.forces:
            found += [own for own in _ends(force) if own.point.body.parent is not None]
        return found

    @cached_property
    def _needed(self) -> list[Expr]:
        """The symbols of all forces, in an order that does not change."""
        symbols = {x for own in self._each for part in own.parts for x in free_symbols(part)}
        return sorted(symbols, key=lambda x: x.name)

    @cached_property
    def _kernel(self) -> Any:
        from linkwright.backends.kernel import compile as compiled

        parts = [part for own in self._each for part in own.parts]
        return compiled(optimise(program("forces", {"x": list(self._needed)}, {"f": parts})))

    @cached_property
    def arrows(self) -> tuple[Arrow, ...]:
        """The forces as arrows, with the names that their components have in `columns`."""
        rows = {b: k + 1 for k, b in enumerate(self.mechanism.depth_first())}
        numbers = {**self.mechanism.values, **(self.values or {})}
        found = []
        for own in self._each:
            local = own.point.local.components(own.point.body.frame)
            symbols = {x for part in local for x in free_symbols(part)}
            if all(x.name in numbers for x in symbols):
                given = {x: numbers[x.name] for x in symbols}
                x, y, z = (float(evaluate(part, given)) for part in local)
                parts = tuple(f"own.{own.name}.{k}" for k in range(3))
                node = rows[own.point.body]
                at = (x, y, z)
                found.append(Arrow(own.name, node, at, parts, turns=True, beside=own.beside))
        return tuple(found)

    def names_in(self, names: Sequence[str]) -> list[str]:
        """Return those of some names that forces depend on.

        Args:
            names: of channels.
        """
        needed = {x.name for x in self._needed}
        return [name for name in names if name in needed]

    def columns(self, known: Known) -> dict[str, Array]:
        """Return the components of the forces whose numbers are all known, by name.

        Args:
            known: from a name to its value or values over time; None where it is not known.
        """
        if not self._each:
            return {}
        found = {x: known(x.name) for x in self._needed}
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


def _ends(force: Force) -> list[_Own]:
    """Return a force at the point where it acts, and where it acts back at a point."""
    body = force.point.body
    if force.away_from is None:
        if force.reaction.parent is not None:
            return []  # within a joint, or between bodies at no point that is known
        return [_Own(force.name, force.point, _along(force, force.point, 1))]
    other = force.away_from
    made = [_Own(force.name, force.point, _along(force, force.point, 1), _BESIDE)]
    if other.body is not body:
        made.append(_Own(f"{force.name} back", other, _along(force, other, -1), _BESIDE))
    return made


def _along(force: Force, at: Point, sign: int) -> tuple[Expr, Expr, Expr]:
    x, y, z = force.direction.components(at.body.frame)
    push = sign * force.magnitude
    return push * x, push * y, push * z


def known_in(
    channel: Column, there: set[str], about: Mapping[str, Any], mechanism: Mechanism, times: Array
) -> Known:
    """Return the values that a recording knows: channels, time, numbers of the run.

    Args:
        channel: from its name to its values.
        there: names of the channels.
        about: of the recording.
        mechanism: that it is of.
        times: s.
    """
    told = about.get("parameters")
    numbers: dict[str, Any] = dict(mechanism.values)
    if "members" in about:  # in a System, others may drive inputs
        numbers = {n: v for n, v in numbers.items() if n not in mechanism.inputs}
    numbers.update(told if isinstance(told, Mapping) else {})
    numbers = {n: v for n, v in numbers.items() if isinstance(v, int | float)}
    drives = about.get("drives")
    driven = dict(drives) if isinstance(drives, Mapping) else {}

    def known(name: str) -> Array | float | None:
        if name == mechanism.time.name:
            return times
        if name in there:
            return channel(name)
        if driven.get(name) in there:
            return channel(driven[name])
        return numbers.get(name)

    return known
