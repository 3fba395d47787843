"""What the texts of a mechanism may refer to: its symbols, points, bodies and axes.

Names: parameters, inputs, coordinates, speeds, extra states, `t`; bodies, points (`b0`, `bcm` and
those that were added), directions `[b1]` or `b.x`, variables after `#`. Functions beside the
standard ones: `pos`, `vel`, `rot`, `fm`, `dxdt`, `acc`. Any other name becomes a parameter, unless
the model declares its parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from linkwright.algebra import Expr, Vector
from linkwright.algebra.units import UnitSystem
from linkwright.mechanism.joints import MechanismError
from linkwright.mechanism.parts import Body, Force, Moment, Point, as_point

if TYPE_CHECKING:
    from linkwright.mechanism.workspace import Workspace

_LETTERS = {"x": 0, "y": 1, "z": 2, "1": 0, "2": 1, "3": 2}


@dataclass(frozen=True, slots=True)
class MechanismScope:
    """The scope of one mechanism; `lazy` holds names that are computed when they are used."""

    mechanism: Workspace
    lazy: Mapping[str, Callable[[], Expr]] = field(default_factory=dict)

    def with_lazy(self, **more: Callable[[], Expr]) -> MechanismScope:
        """Return the scope with further names, as a force has `x`, `x0` and `v`."""
        return MechanismScope(self.mechanism, {**self.lazy, **more})

    @property
    def unit_system(self) -> UnitSystem:
        """The system in which numbers with a unit are computed."""
        return self.mechanism.unit_system

    def lookup(self, kind: str, name: str) -> Any:
        """Return what the name stands for; a name that is not known becomes a parameter.

        Where the model declares its parameters, that is None.
        """
        found = self.known(kind, name)
        if found is not None or kind != "value" or self.mechanism.declared_only:
            return found
        return self.mechanism.parameter(name)

    def known(self, kind: str, name: str) -> Any:
        """Return what the name stands for, or None where it is not known; nothing is made."""
        m = self.mechanism
        if kind == "function":
            return self._functions().get(name) or m.functions.get(name)
        if kind == "direction":
            return self._axis(name)
        if kind == "reference":
            return m.variables.get(name)
        if name in self.lazy:
            return self.lazy[name]()
        for table in (m.parameters, m.inputs, m.coordinates, m.points):
            if name in table:
                return table[name]
        found = m.link_or_body(name)
        if found is not None:
            return found
        if name == "t":
            return m.time
        return self._derived(name)

    def _derived(self, name: str) -> Any:
        """Return an automatic point, an axis, a speed, an acceleration, or a load for `fm`."""
        m = self.mechanism
        if name == "n":
            return m.ground
        point = m.automatic_point(name)
        if point is not None:
            return point
        axis = self._axis(name) if "." in name else None
        if axis is not None:
            return axis
        if m.has_speed_name(name):
            for speed in m.kinematics().speeds:
                if speed.symbol.name == name:
                    return speed.symbol
            for rate in m.kinematics().accelerations.values():
                if rate.name == name:
                    return rate
        return next((load for load in self._loads() if load.name == name), None)

    def _loads(self) -> list[Force | Moment]:
        return [*self.mechanism.forces, *self.mechanism.moments]

    def _axis(self, name: str) -> Vector | None:
        stem, letter = name.rsplit(".", 1) if "." in name else (name[:-1], name[-1:])
        if letter not in _LETTERS:
            return None
        m = self.mechanism
        found = m.ground if stem == "n" else m.link_or_body(stem)
        return None if found is None else as_point(found).axes[_LETTERS[letter]]

    def names(self, kind: str) -> Iterable[str]:
        """Return the names that are known, to suggest the nearest."""
        m = self.mechanism
        if kind == "function":
            return [*self._functions(), *m.functions]
        if kind == "reference":
            return m.variables
        if kind == "direction":
            return [f"{b}{k}" for b in ("n", *m.bodies) for k in "123"]
        loads = (load.name for load in self._loads())
        rates = (f"{q}_dot" for q in m.coordinates)
        places = (f"{b}{end}" for b in m.bodies for end in ("0", "cm"))
        declared = (*self.lazy, *m.parameters, *m.inputs, *m.coordinates, *m.points, *m.bodies)
        return [*declared, *rates, *places, *loads]

    def _functions(self) -> dict[str, Callable[..., object]]:
        m = self.mechanism

        def part(value: object) -> object:
            """Return the point or body that has the name of a coordinate."""
            if isinstance(value, Expr) and value.op == "sym":
                return m.points.get(value.name) or m.link_or_body(value.name) or value
            return value

        def point(value: object) -> Point:
            value = part(value)
            if isinstance(value, Body):
                return value.origin
            if not isinstance(value, Point):
                raise MechanismError(f"{value} is not a point")
            return value

        def pos(first: object, second: object = None) -> object:
            start = m.origin if second is None else point(second)
            return point(first).position - start.position

        def vel(first: object, second: object = None) -> object:
            start = m.origin if second is None else point(second)
            return point(first).velocity - start.velocity

        def rot(body: object) -> object:
            body = part(body)
            if not isinstance(body, Body | Point):
                raise MechanismError(f"{body} is not a body")
            return as_point(body).body.omega

        def fm(name: object) -> object:
            wanted = getattr(name, "name", name)
            magnitudes = {f.name: f.magnitude for f in m.forces}
            magnitudes.update((t.name, t.magnitude) for t in m.moments)
            if wanted in magnitudes:
                return magnitudes[wanted]
            raise MechanismError(f"{name} is not a force or moment of {m.name!r}")

        def dxdt(x: object) -> object:
            if not isinstance(x, Vector | Expr):
                raise MechanismError(f"{x} has no time derivative")
            return m.kinematics().derivative(x)

        return {"pos": pos, "vel": vel, "rot": rot, "fm": fm, "dxdt": dxdt}
