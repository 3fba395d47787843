"""Friction in joints: dry, viscous, with the dip of Stribeck, and with bristles (LuGre)."""

from __future__ import annotations

from typing import Any

from linkwright.algebra import Expr, absolute, exp, sign, sqrt
from linkwright.blocks import Element
from linkwright.elements.springs import motion_of, units_of


class Friction(Element):
    """Coulomb, viscous and Stribeck friction of a joint.

    The friction is (F_c + (F_s - F_c) exp(-(u/u_s)^2)) sign(u) + b u. At rest it holds the joint
    against loads up to F_s. With `smoothing` it has u / sqrt(u^2 + e^2) in place of the sign:
    within a few times the small speed e it rises through zero, and the joint creeps.

    Args:
        mechanism: that it belongs to.
        coordinate: of the joint.
        coulomb: F_c, N*m or N.
        viscous: b, N*m*s/rad or N*s/m.
        static: F_s, at least F_c; F_c by default.
        stribeck: u_s, the speed of the dip, rad/s or m/s.
        smoothing: e, rad/s or m/s; none by default.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=1)
    >>> Friction(m, "b", coulomb=2.0, viscous=0.1)
    Friction(friction: nothing -> effort)
    """

    def __init__(
        self,
        mechanism: Any,
        coordinate: Expr | str,
        *,
        coulomb: float = 0.0,
        viscous: float = 0.0,
        static: float | None = None,
        stribeck: float = 0.01,
        smoothing: float | None = None,
        name: str = "friction",
    ) -> None:
        super().__init__(name, mechanism, doc="dry and viscous friction of a joint")
        unit, load = units_of(self, coordinate)
        dry = self.parameter("coulomb", coulomb, unit=load, lower=0.0)
        b = self.parameter("viscous", viscous, unit=f"{load}*s/{unit}", lower=0.0)
        q, u = motion_of(self, coordinate)
        sense = sign(u)
        if smoothing is not None:
            e = self.parameter("smoothing", smoothing, unit=f"{unit}/s", sign="positive")
            sense = u / sqrt(u**2 + e**2)
        level: Expr = dry
        if static is not None:
            breakaway = self.parameter("static", static, unit=load, lower=0.0)
            self.require(dry <= breakaway)
            us = self.parameter("stribeck", stribeck, unit=f"{unit}/s", sign="positive")
            level = dry + (breakaway - dry) * exp(-((u / us) ** 2))
        self.effort("effort", q, -level * sense - b * u)


class LuGre(Element):
    """Friction of a joint by the bending of bristles, which sticks, slips and creeps.

    z' = u - s0 |u| z / g(u), g = F_c + (F_s - F_c) exp(-(u/u_s)^2), friction s0 z + s1 z' + s2 u
    (Canudas de Wit, Olsson, Astrom and Lischinsky, IEEE Trans. Automatic Control 40, 1995).

    Args:
        mechanism: that it belongs to.
        coordinate: of the joint.
        stiffness: s0 of the bristles, N*m/rad or N/m.
        damping: s1 of the bristles, N*m*s/rad or N*s/m.
        viscous: s2, N*m*s/rad or N*s/m.
        coulomb: F_c, N*m or N.
        static: F_s, N*m or N.
        stribeck: u_s, rad/s or m/s.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=1)
    >>> LuGre(m, "b", stiffness=1e5, damping=300, coulomb=1.0, static=1.5)
    LuGre(lugre: nothing -> bend, effort)
    """

    def __init__(
        self,
        mechanism: Any,
        coordinate: Expr | str,
        *,
        stiffness: float,
        damping: float,
        coulomb: float,
        static: float,
        viscous: float = 0.0,
        stribeck: float = 1e-3,
        name: str = "lugre",
    ) -> None:
        super().__init__(name, mechanism, doc="friction by bristles in a joint")
        unit, load = units_of(self, coordinate)
        s0 = self.parameter("stiffness", stiffness, unit=f"{load}/{unit}", sign="positive")
        s1 = self.parameter("damping", damping, unit=f"{load}*s/{unit}", lower=0.0)
        s2 = self.parameter("viscous", viscous, unit=f"{load}*s/{unit}", lower=0.0)
        dry = self.parameter("coulomb", coulomb, unit=load, sign="positive")
        breakaway = self.parameter("static", static, unit=load, sign="positive")
        self.require(dry <= breakaway)
        us = self.parameter("stribeck", stribeck, unit=f"{unit}/s", sign="positive")
        q, u = motion_of(self, coordinate)
        z = self.state("z", unit=unit, doc="bend of the bristles")
        level = dry + (breakaway - dry) * exp(-((u / us) ** 2))
        rate = self.intermediate(u - s0 * absolute(u) * z / level)
        self.derivative(z, rate)
        self.output("bend", z, unit=unit, doc="bend of the bristles")
        self.effort("effort", q, -(s0 * z + s1 * rate + s2 * u))
