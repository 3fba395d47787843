"""Tyres: forces at a wheel's contact with the road from slip.

The slip angle is the angle of the contact's motion to the wheel's plane, the slip ratio the speed
of the tread over the road in relation to the motion forward. A tyre builds its side force up over a
distance, the relaxation length s: the slip that acts, a', follows s a'_dot + |v_x| a' = |v_x| a.

Laws turn slip and load into a force; each is a small object with `side` and `along`. To add one,
write such a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from linkwright.algebra import (
    Expr,
    Scalar,
    Table1,
    Table2,
    Vector,
    absolute,
    as_expr,
    atan,
    atan2,
    maximum,
    sin,
)
from linkwright.blocks import Element
from linkwright.mechanism import Body, Point


class TyreLaw(Protocol):
    """Forces from slip and load, as expressions."""

    def side(self, angle: Expr, load: Expr) -> Expr:
        """Return the side force, N, for a slip angle, rad; it opposes positive slip."""
        ...

    def along(self, ratio: Expr, load: Expr) -> Expr:
        """Return the force forward, N, for a slip ratio."""
        ...


@dataclass(frozen=True, slots=True)
class LinearTyre:
    """Forces in proportion to slip.

    Args:
        cornering: side force over slip angle, N/rad.
        driving: force forward over slip ratio, N.
        per_load: whether both are given for a unit of load, 1/rad and 1.
    """

    cornering: float
    driving: float = 0.0
    per_load: bool = False

    def side(self, angle: Expr, load: Expr) -> Expr:
        """Return the side force."""
        return -self.cornering * angle * (load if self.per_load else 1)

    def along(self, ratio: Expr, load: Expr) -> Expr:
        """Return the force forward."""
        return self.driving * ratio * (load if self.per_load else 1)


@dataclass(frozen=True, slots=True)
class MagicFormula:
    """Pacejka's formula, D sin(C atan(B x - E (B x - atan(B x)))), with D in relation to the load.

    Args:
        b: stiffness factor B, 1/rad for slip angles.
        c: shape factor C.
        d: peak D in relation to the load.
        e: curvature factor E.
        along_b: B for slip ratios; as for slip angles by default, and likewise the others.
        along_c: C for slip ratios.
        along_d: D for slip ratios.
        along_e: E for slip ratios.

    >>> tyre = MagicFormula(10.0, 1.9, 1.0, 0.97)
    >>> from linkwright.algebra import evaluate
    >>> -4000 < evaluate(tyre.side(as_expr(0.2), as_expr(4000.0)), {}) < -3900
    True
    """

    b: float
    c: float
    d: float
    e: float
    along_b: float | None = None
    along_c: float | None = None
    along_d: float | None = None
    along_e: float | None = None

    def side(self, angle: Expr, load: Expr) -> Expr:
        """Return the side force."""
        return -load * _pacejka(angle, self.b, self.c, self.d, self.e)

    def along(self, ratio: Expr, load: Expr) -> Expr:
        """Return the force forward."""
        given = (self.along_b, self.along_c, self.along_d, self.along_e)
        usual = (self.b, self.c, self.d, self.e)
        b, c, d, e = (u if g is None else g for g, u in zip(given, usual, strict=True))
        return load * _pacejka(ratio, b, c, d, e)


def _pacejka(slip: Expr, b: float, c: float, d: float, e: float) -> Expr:
    x = b * slip
    return d * sin(c * atan(x - e * (x - atan(x))))


@dataclass(frozen=True, slots=True)
class TableTyre:
    """Forces from tables: over slip, or over slip and load; odd in the slip.

    Args:
        side_table: size of the side force, N, over slip angle in rad (and load in N).
        along_table: size of the force forward, N, over slip ratio (and load); none by default.
    """

    side_table: Table1 | Table2
    along_table: Table1 | Table2 | None = None

    def side(self, angle: Expr, load: Expr) -> Expr:
        """Return the side force."""
        return -_odd(self.side_table, angle, load)

    def along(self, ratio: Expr, load: Expr) -> Expr:
        """Return the force forward."""
        return as_expr(0) if self.along_table is None else _odd(self.along_table, ratio, load)


def _odd(table: Table1 | Table2, slip: Expr, load: Expr) -> Expr:
    from linkwright.algebra import sign

    size = absolute(slip)
    return sign(slip) * (table(size, load) if isinstance(table, Table2) else table(size))


class Tyre(Element):
    """The tyre of a wheel on a flat road.

    Inputs: `load` (N). Outputs: `slip_angle` (rad), `slip_ratio`, `side` and `along` (N), and
    both together in the ground's axes, `force_x`, `force_y`, `force_z` (N).

    Args:
        mechanism: that it belongs to.
        at: the contact: a point of the body that carries the wheel (which does not spin).
        forward: direction in which the wheel rolls, in the plane of the road.
        leftward: direction to its left, in the plane of the road.
        law: forces from slip.
        load: vertical load where nothing else drives it, N: a number or an expression.
        relaxation: distance over which the side force builds up, m; 0 for at once.
        spin: speed of rotation of the wheel, rad/s, as an expression; None for free rolling.
        radius: of the wheel, m; needed with `spin`.
        slow: speed below which slip is taken as at that speed, m/s.
        name: of the element.
    """

    def __init__(
        self,
        mechanism: Any,
        at: Point | Body,
        law: TyreLaw,
        *,
        forward: Vector,
        leftward: Vector,
        load: Scalar | str,
        relaxation: float = 0.0,
        spin: Scalar | str | None = None,
        radius: float = 0.0,
        slow: float = 0.1,
        name: str = "tyre",
    ) -> None:
        super().__init__(name, mechanism, doc="forces of a tyre from slip")
        point = at.origin if isinstance(at, Body) else at
        weight = self.input("load", load, unit="N")
        crawl = self.parameter("slow", slow, unit="m/s", sign="positive")
        ahead, aside = (self.let(point.velocity @ axis) for axis in (forward, leftward))
        roll = self.let(maximum(absolute(ahead), crawl))
        angle = self.let(atan2(aside, roll))
        if relaxation > 0:
            over = self.parameter("relaxation", relaxation, unit="m", sign="positive")
            lagging = self.state("slip", unit="rad", doc="the slip angle that acts")
            self.derivative(lagging, roll * (angle - lagging) / over)
            angle = lagging
        ratio: Expr = as_expr(0)
        if spin is not None:
            tread = self.parameter("radius", radius, unit="m")
            ratio = self.let((tread * self.expr(spin) - ahead) / roll)
        self.output("slip_angle", angle, unit="rad")
        self.output("slip_ratio", ratio, unit="1")
        whole = leftward * self.force(
            "side", law.side(angle, weight), at=point, along=leftward, shown=False
        )
        if spin is not None:
            whole = whole + forward * self.force(
                "along", law.along(ratio, weight), at=point, along=forward, shown=False
            )
        for c, part in zip("xyz", whole.components(self.mechanism.ground.frame), strict=True):
            self.output(f"force_{c}", part, unit="N")
        self.show_force("force", at=point)
