"""Laws of tires: forces from slip and load.

A law is a small object with `side` and `along`, the forces of pure slip; `Tire` combines them. To
add one, write such a class: both are odd in the slip, and oppose it.

How the Magic Formula depends on load is Pacejka's (Tire and Vehicle Dynamics, section 4.3.2): with
the change of load dfz = (F_z - F_z0)/F_z0 the friction is mu = d + d_load dfz, and the stiffness
at small slip goes with sin(2 atan(F_z/(p F_z0))), which is greatest at the load p F_z0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from linkwright.algebra import (
    Expr,
    Lookup1D,
    Lookup2D,
    absolute,
    as_expr,
    atan,
    maximum,
    minimum,
    sin,
    where,
)
from linkwright.blocks import BlockError, checked

_LEAST_FRICTION = 0.1
"""However great the load, friction is at least this part of that at the nominal load."""


class TireLaw(Protocol):
    """Forces of pure slip from slip and load, as expressions."""

    def lateral(self, angle: Expr, load: Expr) -> Expr:
        """Return the side force, N, for a slip angle, rad; it opposes positive slip."""

    def longitudinal(self, ratio: Expr, load: Expr) -> Expr:
        """Return the force forward, N, for a slip ratio."""


@dataclass(frozen=True, slots=True)
class LinearTire:
    """Forces in proportion to slip, up to the limit of friction where one is given.

    Args:
        cornering: side force over slip angle, N/rad.
        driving: force forward over slip ratio, N.
        per_load: whether both are given for a unit of load, 1/rad and 1.
        friction: the greatest force in relation to the load; none by default, so that forces grow
            with slip for ever.

    >>> from linkwright.algebra import evaluate
    >>> law = LinearTire(5e4, friction=0.8)
    >>> [evaluate(law.lateral(as_expr(a), as_expr(1000.0)), {}) for a in (0.01, 0.1)]
    [-500.0, -800.0]
    """

    cornering: float
    driving: float = 0.0
    per_load: bool = False
    friction: float | None = None

    def __post_init__(self) -> None:
        checked(self.cornering, "cornering of a linear tire", least=0)
        checked(self.driving, "driving of a linear tire", least=0)
        if self.friction is not None:
            checked(self.friction, "friction of a linear tire", least=0)

    def lateral(self, angle: Expr, load: Expr) -> Expr:
        """Return the side force."""
        return self._limited(-self.cornering * angle, load)

    def longitudinal(self, ratio: Expr, load: Expr) -> Expr:
        """Return the force forward."""
        return self._limited(self.driving * ratio, load)

    def _limited(self, force: Expr, load: Expr) -> Expr:
        force = force * load if self.per_load else force
        if self.friction is None:
            return force
        most = self.friction * load
        return maximum(-most, minimum(most, force))


@dataclass(frozen=True, slots=True)
class MagicFormula:
    """Pacejka's formula, D sin(C atan(B x - E (B x - atan(B x)))), with D in relation to the load.

    All factors are those at the nominal load. Without one, forces are in proportion to the load.

    Args:
        b: stiffness factor B, 1/rad for slip angles.
        c: shape factor C, above 0 and at most 2.
        d: peak D in relation to the load: the friction coefficient.
        e: curvature factor E, at most 1.
        longitudinal_b: B for slip ratios; as for slip angles by default, and likewise the others.
        longitudinal_c: C for slip ratios.
        longitudinal_d: D for slip ratios.
        longitudinal_e: E for slip ratios.
        nominal_load: F_z0, N; needed for what follows.
        friction_slope: change of D when the load grows by the nominal load; below zero for real
            tires, about -0.1.
        stiffest_load: the load at which the stiffness at small slip is greatest, in relation to
            the nominal load, about 2; by default stiffness is in proportion to the load.

    >>> tire = MagicFormula(10.0, 1.9, 1.0, 0.97)
    >>> from linkwright.algebra import evaluate
    >>> -4000 < evaluate(tire.lateral(as_expr(0.2), as_expr(4000.0)), {}) < -3900
    True
    """

    b: float
    c: float
    d: float
    e: float
    longitudinal_b: float | None = None
    longitudinal_c: float | None = None
    longitudinal_d: float | None = None
    longitudinal_e: float | None = None
    nominal_load: float | None = None
    friction_slope: float = 0.0
    stiffest_load: float | None = None

    def __post_init__(self) -> None:
        for way, (b, c, d, e) in (("", self._lateral), ("longitudinal_", self._longitudinal)):
            checked(b, f"{way}b of a Magic Formula", least=0)
            checked(c, f"{way}c of a Magic Formula", above=0, most=2)
            checked(d, f"{way}d of a Magic Formula", least=0)
            checked(e, f"{way}e of a Magic Formula", most=1)
        checked(self.friction_slope, "friction_slope of a Magic Formula")
        if self.stiffest_load is not None:
            checked(self.stiffest_load, "stiffest_load of a Magic Formula", above=0)
        if self.nominal_load is not None:
            checked(self.nominal_load, "nominal_load of a Magic Formula", above=0)
        elif self.friction_slope or self.stiffest_load is not None:
            raise BlockError(
                "a Magic Formula that changes with load needs the load at which its factors hold",
                remedy="give nominal_load=..., N",
            )

    @property
    def _lateral(self) -> tuple[float, float, float, float]:
        return self.b, self.c, self.d, self.e

    @property
    def _longitudinal(self) -> tuple[float, float, float, float]:
        given = (self.longitudinal_b, self.longitudinal_c, self.longitudinal_d, self.longitudinal_e)
        b, c, d, e = (u if g is None else g for g, u in zip(given, self._lateral, strict=True))
        return b, c, d, e

    def lateral(self, angle: Expr, load: Expr) -> Expr:
        """Return the side force."""
        return -self._force(angle, load, *self._lateral)

    def longitudinal(self, ratio: Expr, load: Expr) -> Expr:
        """Return the force forward."""
        return self._force(ratio, load, *self._longitudinal)

    def _force(self, slip: Expr, load: Expr, b: float, c: float, d: float, e: float) -> Expr:
        friction, stiffness = as_expr(d), as_expr(b)
        if self.nominal_load is not None:
            relative = load / self.nominal_load
            if self.friction_slope:
                sloping = d + self.friction_slope * (relative - 1)
                friction = maximum(sloping, _LEAST_FRICTION * d)
                stiffness = stiffness * d / friction
            if self.stiffest_load is not None:
                p = self.stiffest_load  # sin(2 atan x) = 2 x/(1 + x^2), over the load
                stiffness = stiffness * (1 + 1 / p**2) / (1 + (relative / p) ** 2)
        x = stiffness * slip
        return load * friction * sin(c * atan(x - e * (x - atan(x))))


@dataclass(frozen=True, slots=True)
class TableTire:
    """Forces from tables: over slip, or over slip and load; odd in the slip.

    Args:
        lateral_table: size of the side force, N, over slip angle in rad (and load in N).
        longitudinal_table: size of the force forward, N, over slip ratio (and load in N); none by
            default.

    >>> from linkwright.algebra import Lookup1D, evaluate
    >>> law = TableTire(Lookup1D([0, 0.1, 1], [0, 800, 1000]))
    >>> evaluate(law.lateral(as_expr(-0.05), as_expr(1000.0)), {})
    400.0
    """

    lateral_table: Lookup1D | Lookup2D
    longitudinal_table: Lookup1D | Lookup2D | None = None

    def lateral(self, angle: Expr, load: Expr) -> Expr:
        """Return the side force."""
        return -_odd(self.lateral_table, angle, load)

    def longitudinal(self, ratio: Expr, load: Expr) -> Expr:
        """Return the force forward."""
        return (
            as_expr(0)
            if self.longitudinal_table is None
            else _odd(self.longitudinal_table, ratio, load)
        )


def _odd(table: Lookup1D | Lookup2D, slip: Expr, load: Expr) -> Expr:
    size = absolute(slip)
    force = table(size, load) if isinstance(table, Lookup2D) else table(size)
    return where(slip < 0, -force, force)
