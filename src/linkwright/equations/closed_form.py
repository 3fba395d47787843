r"""Equations of motion in closed form, as a textbook prints them.

    M(q) u' + c(q, u) + g(q) = Q(q, u, t, inputs),   q' = N(q) u

for the independent speeds u. No intermediate names are left. An entry is written out over the sines
and cosines of the coordinates, products of them become sines and cosines of sums of angles where
that is shorter, and what depends on parameters alone stays together. An entry that has too many
products for that keeps the form in which it was derived.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from linkwright.algebra import (
    ONE,
    ZERO,
    ZERO_VECTOR,
    Expr,
    as_expr,
    cos,
    factor,
    free_symbols,
    linear_coefficients,
    sin,
    substitute,
    total,
)
from linkwright.algebra.printers import latex, latex_name, tree_size
from linkwright.equations.expansion import Expander, Polynomial, TooManyProducts
from linkwright.equations.kane import kane, shares_of
from linkwright.equations.writer import Writer
from linkwright.mechanism import Kinematics, MechanismError
from linkwright.program import Assign

if TYPE_CHECKING:
    from linkwright.equations.equations import Equations

_PRODUCTS = 60
_PRINTABLE = 200_000
_BALANCE = r"\mathbf{M}\,\dot{\mathbf{u}} + \mathbf{c} + \mathbf{g} &= \mathbf{Q}"
Row = tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ClosedForm:
    """M u' + c + g = Q, with all intermediate names written out.

    Args:
        name: that of the mechanism.
        coordinates: q.
        speeds: the independent speeds u.
        accelerations: the symbols of their rates u'.
        mass: M, the mass matrix, row by row.
        bias: c, what is quadratic in the speeds (Coriolis and centrifugal terms) and what
            prescribed motions add.
        gravity: g, the generalized forces of gravity with their sign turned.
        forces: Q, the generalized forces of all other loads.
        rates: q' by coordinate, in terms of the speeds.
        dependent: the speeds that constraints eliminate, in terms of the others.

    >>> from linkwright.equations import derive
    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass="m", com=("L", 0, 0), inertia=0)
    >>> m.gravity(along="-y", g="g")
    >>> closed = derive(m).closed_form()
    >>> closed.mass, closed.gravity
    (((L**2*m,),), (L*g*m*cos(rod),))
    """

    name: str
    coordinates: Row
    speeds: Row
    accelerations: Row
    mass: tuple[Row, ...]
    bias: Row
    gravity: Row
    forces: Row
    rates: dict[Expr, Expr]
    dependent: dict[Expr, Expr]

    def __repr__(self) -> str:
        return (
            f"ClosedForm({self.name!r}: M u' + c + g = Q for "
            f"{', '.join(u.name for u in self.speeds)})"
        )

    def residuals(self) -> Row:
        """Return M u' + c + g - Q, which vanishes along a motion, row by row.

        >>> from linkwright.equations import derive
        >>> from linkwright.mechanism import Mechanism
        >>> m = Mechanism("cart")
        >>> b = m.body("b", translate="x", mass="m", inertia=0)
        >>> f = m.force("push", "F", at=b.origin, along="x")
        >>> derive(m).closed_form().residuals()
        (b_dot_dot*m - F,)
        """
        return tuple(
            total([*(x * a for x, a in zip(row, self.accelerations, strict=True)), c, g, -q])
            for row, c, g, q in zip(self.mass, self.bias, self.gravity, self.forces, strict=True)
        )

    def latex(self) -> str:
        r"""Return the equations as LaTeX for an `align*` environment of `amsmath`.

        >>> from linkwright.equations import derive
        >>> from linkwright.mechanism import Mechanism
        >>> m = Mechanism("cart")
        >>> b = m.body("x", translate="x", mass="m", inertia=0)
        >>> f = m.force("push", "F", at=b.origin, along="x")
        >>> print(derive(m).closed_form().latex())
        \begin{align*}
        \mathbf{M}\,\dot{\mathbf{u}} + \mathbf{c} + \mathbf{g} &= \mathbf{Q} \\
        \dot{\mathbf{u}} &= \begin{bmatrix} \ddot{x} \end{bmatrix} \\
        \mathbf{M} &= \begin{bmatrix} m \end{bmatrix} \\
        \mathbf{c} &= \begin{bmatrix} 0 \end{bmatrix} \\
        \mathbf{g} &= \begin{bmatrix} 0 \end{bmatrix} \\
        \mathbf{Q} &= \begin{bmatrix} F \end{bmatrix}
        \end{align*}
        """
        size = sum(tree_size(x) for row in (*self.mass, self.bias) for x in row)
        if size > _PRINTABLE:
            raise MechanismError(
                f"the closed form of {self.name!r} has {size:,} operations, too many to print",
                remedy="print the program: linkwright model describe --equations, or latex_report",
            )
        column = _matrix([[a] for a in self.accelerations])
        lines = [_BALANCE, rf"\dot{{\mathbf{{u}}}} &= {column}"]
        lines.append(rf"\mathbf{{M}} &= {_matrix(self.mass)}")
        for symbol, parts in (("c", self.bias), ("g", self.gravity), ("Q", self.forces)):
            lines.append(rf"\mathbf{{{symbol}}} &= {_matrix([[x] for x in parts])}")
        for q, rate in self.rates.items():
            if rate.op != "sym" or rate.name != f"{q.name}_dot":
                lines.append(f"{latex_name(q.name + '_dot')} &= {latex(rate)}")
        for u, value in self.dependent.items():
            lines.append(f"{latex_name(u.name)} &= {latex(value)}")
        body = " \\\\\n".join(lines)
        return f"\\begin{{align*}}\n{body}\n\\end{{align*}}"

    def _repr_latex_(self) -> str:
        return self.latex()


def _matrix(rows: Sequence[Sequence[Expr]]) -> str:
    inner = r" \\ ".join(" & ".join(latex(x) for x in row) for row in rows)
    return rf"\begin{{bmatrix}} {inner} \end{{bmatrix}}"


def closed_form(equations: Equations) -> ClosedForm:
    """Return M, c, g and Q of equations of motion, with all intermediate names written out.

    >>> from linkwright.equations import derive
    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("cart")
    >>> b = m.body("b", translate="x", mass="m", inertia=0)
    >>> closed_form(derive(m)).mass
    ((m,),)
    """
    e, kinematics = equations, equations.kinematics
    meaning = _meaning(e, [*e.rates, *_reduced(e)])
    reduction = replace(
        e.reduction,
        matrix=tuple(tuple(substitute(x, meaning) for x in row) for row in e.reduction.matrix),
        offset=tuple(substitute(x, meaning) for x in e.reduction.offset),
        drift=tuple(substitute(x, meaning) for x in e.reduction.drift),
    )
    writer = Writer(e.mechanism.name, prefix="closed_")
    found = kane(_without_loads(kinematics), reduction, writer)
    known: dict[Expr, Expr] = {}
    for s in writer.statements:
        known[s.target] = substitute(s.value, known)
    n = len(e.speeds)
    rows = shares_of(reduction).rows
    gravity, forces = ([ZERO] * n for _ in range(2))
    for share, target in ((_weights(kinematics), gravity), (_loads(kinematics), forces)):
        for u, value in share.items():
            for r, a in rows[u].items():
                target[r] = target[r] + a * value
    dependent = {
        u: total([offset, *(a * x for a, x in zip(row, reduction.independent, strict=True))])
        for u, row, offset in zip(
            reduction.dependent, reduction.matrix, reduction.offset, strict=True
        )
    }
    lower = {
        (i, j): tidy(substitute(found.mass[i][j], known)) for i in range(n) for j in range(i + 1)
    }
    return ClosedForm(
        e.mechanism.name,
        e.coordinates,
        e.speeds,
        tuple(kinematics.accelerations[u] for u in e.speeds),
        tuple(tuple(lower[max(i, j), min(i, j)] for j in range(n)) for i in range(n)),
        tuple(tidy(-substitute(x, known)) for x in found.right),
        tuple(tidy(-x) for x in gravity),
        tuple(tidy(x) for x in forces),
        {
            q: tidy(substitute(x, meaning))
            for q, x in zip([*e.coordinates, *e.states], e.rates + e.state_rates, strict=True)
        },
        {u: tidy(x) for u, x in dependent.items()},
    )


def _reduced(e: Equations) -> list[Expr]:
    found = e.reduction
    return [x for row in (*found.matrix, found.offset, found.drift) for x in row]


def _meaning(e: Equations, roots: Sequence[Expr]) -> dict[Expr, Expr]:
    """Return what the names stand for by which rates and eliminated speeds are given."""
    meaning: dict[Expr, Expr] = {}
    own = {s.symbol for s in e.kinematics.speeds}
    for s in e.assignments:
        if s.target not in own:
            meaning[s.target] = substitute(s.value, meaning)
    solved = {x for s in e.statements if not isinstance(s, Assign) for x in s.targets}
    if solved & set(free_symbols(*(substitute(x, meaning) for x in roots))):
        raise MechanismError(
            f"the constraints of {e.mechanism.name!r} are solved by numbers, in a run",
            remedy="there is no closed form of its eliminated speeds; use equations.program()",
        )
    return meaning


def _without_loads(kinematics: Kinematics) -> Kinematics:
    """Return the kinematics of a mechanism on which nothing acts."""
    bare = copy.copy(kinematics.mechanism)
    bare.forces, bare.moments, bare.gravity_vector = [], [], ZERO_VECTOR
    return replace(kinematics, mechanism=bare)


def _weights(kinematics: Kinematics) -> dict[Expr, Expr]:
    """Return the generalized forces of gravity by speed of the tree."""
    m = kinematics.mechanism
    if m.gravity_vector.is_zero:
        return {}
    powers = []
    for body in m.depth_first():
        if body.inertia.mass is not ZERO:
            arm = body.frame.vector(*body.inertia.center)
            moving = kinematics.origin_velocity(body) + (kinematics.omega(body) ^ arm)
            powers.append((body.inertia.mass, m.gravity_vector @ moving))
    return _by_speed(kinematics, powers)


def _loads(kinematics: Kinematics) -> dict[Expr, Expr]:
    """Return the generalized forces of forces and moments by speed of the tree."""
    powers = []
    for load in kinematics.mechanism.forces:
        lever = load.point.position - load.reaction.origin.position
        opposite = kinematics.origin_velocity(load.reaction)
        opposite = opposite + (kinematics.omega(load.reaction) ^ lever)
        moving = kinematics.velocity(load.point) - opposite
        powers.append((load.magnitude, load.direction @ moving))
    for couple in kinematics.mechanism.moments:
        turning = kinematics.omega(couple.body) - kinematics.omega(couple.reaction)
        powers.append((couple.magnitude, couple.direction @ turning))
    return _by_speed(kinematics, powers)


def _by_speed(kinematics: Kinematics, powers: Iterable[tuple[Expr, Expr]]) -> dict[Expr, Expr]:
    """Return the sum of magnitude times partial velocity, by speed of the tree."""
    speeds = [s.symbol for s in kinematics.speeds]
    found: dict[Expr, list[Expr]] = {}
    for magnitude, velocity in powers:
        for u, share in linear_coefficients(velocity, speeds)[0].items():
            found.setdefault(u, []).append(magnitude * share)
    return {u: total(parts) for u, parts in found.items()}


# -- the shortest way to write an entry ------------------------------------------------------------
def tidy(x: Expr) -> Expr:
    """Return an expression in the shortest of several forms.

    They are: as it is, written out, with products of sines and cosines as sines and cosines of
    sums, and the last two with common factors before brackets.

    >>> from linkwright.algebra import symbol
    >>> a, b, m = symbol("a", "coordinate"), symbol("b", "coordinate"), symbol("m")
    >>> tidy(m * (cos(a) * cos(b) - sin(a) * sin(b)))
    m*cos(a + b)
    """
    products = Expander({}).polynomial(x)
    if products is None:
        return x
    forms = [_written(products)]
    with suppress(TooManyProducts):
        forms.insert(0, _written(_in_sums_of_angles(products)))
    return min((*forms, *(factor(form) for form in forms), x), key=tree_size)


def _written(products: Polynomial) -> Expr:
    return total(c * m for m, c in products.items())


def _in_sums_of_angles(products: Polynomial) -> Polynomial:
    """Return a polynomial without products or powers of sines and cosines."""
    collected: dict[Expr, list[Expr]] = {}
    for m, c in products.items():
        for k, wave, rest in _waves(m):
            collected.setdefault(wave * rest, []).append(c * as_expr(k))
        if len(collected) > _PRODUCTS:
            raise TooManyProducts
    summed = {m: total(parts) for m, parts in collected.items()}
    return {m: c for m, c in summed.items() if c is not ZERO}


def _waves(m: Expr) -> list[tuple[Fraction, Expr, Expr]]:
    """Return one product as a sum of number, sine or cosine (or 1), and what else is in it."""
    factors = zip(m.args, m.data, strict=True) if m.op == "prod" else [(m, 1)]
    rest, waves = ONE, [(Fraction(1), "cos", ZERO)]
    for base, exponent in factors:
        if base.op not in ("sin", "cos") or exponent < 0:
            rest = rest * base**exponent
            continue
        for _ in range(exponent):
            waves = [w for wave in waves for w in _product(wave, base.op, base.args[0])]
            if len(waves) > _PRODUCTS:
                raise TooManyProducts
    made = {"sin": sin, "cos": cos}
    return [(k, made[op](angle), rest) for k, op, angle in waves]


def _product(
    wave: tuple[Fraction, str, Expr], op: str, b: Expr
) -> list[tuple[Fraction, str, Expr]]:
    """Return the product of a wave and a sine or cosine as two waves."""
    k, first, a = wave
    half = k / 2
    if first == "cos" and a is ZERO:
        return [(k, op, b)]
    if first == op:
        sign = 1 if op == "cos" else -1
        return [(half, "cos", a - b), (half * sign, "cos", a + b)]
    if first == "sin":
        return [(half, "sin", a + b), (half, "sin", a - b)]
    return [(half, "sin", b + a), (half, "sin", b - a)]
