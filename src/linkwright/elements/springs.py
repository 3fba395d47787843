"""Springs, dampers and stops."""

from __future__ import annotations

from typing import Any

from linkwright.algebra import Expr, maximum, sqrt, total
from linkwright.algebra.triples import dot, subtract
from linkwright.blocks import Element, Location, joint_of
from linkwright.equations.joint_stops import stop_effort


class Spring(Element):
    """A spring and damper along the line between two points.

    Outputs are `tension` (N, positive where it pulls) and `length` (m).

    Args:
        mechanism: that it belongs to.
        first: one end: a point, a body for its origin, or a name.
        second: the other end.
        stiffness: N/m.
        length: at which it is slack, m.
        damping: N*s/m.
        tension_only: whether it can push (a cable cannot).
        name: of the element.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="x", mass=1)
    >>> list(Spring(m, m.ground, b, 100.0, length=0.5).outputs)[:2]
    ['length', 'tension']
    """

    def __init__(
        self,
        mechanism: Any,
        first: Location,
        second: Location,
        stiffness: float,
        *,
        length: float = 0.0,
        damping: float = 0.0,
        tension_only: bool = False,
        name: str = "spring",
    ) -> None:
        super().__init__(name, mechanism, doc="spring and damper between two points")
        a = self.point_at(first)
        b = self.point_at(second)
        k = self.parameter("stiffness", stiffness, unit="N/m", lower=0.0)
        c = self.parameter("damping", damping, unit="N*s/m", lower=0.0)
        free = self.parameter("free_length", length, unit="m", lower=0.0)
        way = [self.intermediate(x) for x in subtract(self.position(b), self.position(a))]
        far = self.intermediate(sqrt(total(x**2 for x in way)))
        parting = subtract(self.velocity(b), self.velocity(a))
        rate = dot(way, parting) / far
        pull = k * (far - free) + c * rate
        self.output("length", far, unit="m", doc="distance of its ends")
        pull = maximum(pull, 0.0) if tension_only else pull
        tension = self.output("tension", pull, unit="N")
        force = [self.intermediate(tension / far * x) for x in way]
        for name, end, sign in (("first", a, 1), ("second", b, -1)):
            if end.body.parent is not None:
                self.force_vector(name, [sign * x for x in force], at=end)


class JointSpring(Element):
    """A spring and damper in a joint.

    Args:
        mechanism: that it belongs to.
        coordinate: of the joint.
        stiffness: N*m/rad or N/m.
        rest: coordinate at which it is slack, rad or m.
        damping: N*m*s/rad or N*s/m.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=1)
    >>> JointSpring(m, "b", 100.0).mechanism.name
    'm'
    """

    def __init__(
        self,
        mechanism: Any,
        coordinate: Expr | str,
        stiffness: float,
        *,
        rest: float = 0.0,
        damping: float = 0.0,
        name: str = "joint_spring",
    ) -> None:
        super().__init__(name, mechanism, doc="spring and damper in a joint")
        unit, load = units_of(self, coordinate)
        k = self.parameter("stiffness", stiffness, unit=f"{load}/{unit}", lower=0.0)
        c = self.parameter("damping", damping, unit=f"{load}*s/{unit}", lower=0.0)
        free = self.parameter("rest", rest, unit=unit)
        q, u = motion_of(self, coordinate)
        self.effort("effort", q, -k * (q - free) - c * u)


class Stop(Element):
    """End stops of a joint: outside its range a stiff spring and damper that never pull inward.

    Args:
        mechanism: that it belongs to.
        coordinate: of the joint.
        lower: end of the range, rad or m; None for none.
        upper: end of the range, rad or m; None for none.
        stiffness: N*m/rad or N/m.
        damping: N*m*s/rad or N*s/m.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=1)
    >>> [crossing.name for crossing in Stop(m, "b", -1, 1).crossings]
    ['lower', 'upper']
    """

    def __init__(
        self,
        mechanism: Any,
        coordinate: Expr | str,
        lower: float | None = None,
        upper: float | None = None,
        *,
        stiffness: float = 1e4,
        damping: float = 10.0,
        name: str = "stop",
    ) -> None:
        super().__init__(name, mechanism, doc="end stops of a joint")
        unit, load = units_of(self, coordinate)
        k = self.parameter("stiffness", stiffness, unit=f"{load}/{unit}", lower=0.0)
        c = self.parameter("damping", damping, unit=f"{load}*s/{unit}", lower=0.0)
        q, u = motion_of(self, coordinate)
        low = None if lower is None else self.parameter("lower", lower, unit=unit)
        high = None if upper is None else self.parameter("upper", upper, unit=unit)
        if low is not None and high is not None:
            self.require(low <= high)
        if low is not None:
            self.event("lower", low - q)
        if high is not None:
            self.event("upper", q - high)
        self.effort("effort", q, stop_effort(q, u, low, high, k, c))


def motion_of(element: Element, coordinate: Expr | str) -> tuple[Expr, Expr]:
    """Return a joint's coordinate and its rate."""
    q = joint_of(element.mechanism, coordinate).coordinate
    return q, element.mechanism.kinematics().rates[q]


def units_of(element: Element, coordinate: Expr | str) -> tuple[str, str]:
    """Return the units of a joint's coordinate and of what acts on it."""
    turns = joint_of(element.mechanism, coordinate).turns
    length, force, moment = "m", "N", "N*m"
    return ("rad", moment) if turns else (length, force)
