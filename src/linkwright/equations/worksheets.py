"""Bodies and their worksheets, printed (Sayers' thesis, sections 9.1 and 9.2).

Of each body: how it was taken, its mass with all the masses that keep their place in it, its axes
in those of its parent, its velocities, the partial velocities of its mass center for every speed of
the tree and for the independent ones, and what is left of its accelerations when the rates of
the independent speeds are zero. Of the equations: in which order the speeds are solved for, and
which zeros of the mass matrix that fills.

A worksheet is the one of `linkwright.equations.kane`, whose reference point is moved to the mass
center. A body is a rotor where its turning changes none of its moments, so that its angle is not
needed; its mass is fixed where it keeps its place in the parent, and counts with it. Components of
a rotor are along the axes of its parent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from linkwright.algebra import ZERO, Dyadic, Expr, Frame, Vector, free_symbols, substitute_all
from linkwright.algebra.expr import ONE
from linkwright.algebra.triples import NOTHING, Matrix, Triple, add, cross
from linkwright.equations.description import Section, short
from linkwright.equations.inertia import axes_product
from linkwright.equations.kane import Shares, Worksheet, remainder, shares_of, worksheets
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body, Kinematics
from linkwright.mechanism.kinematics import composite_centers, keeps_mass_in_place
from linkwright.program import Assign
from linkwright.program.linear import elimination_order, fill, kinds

if TYPE_CHECKING:
    from linkwright.equations.equations import Equations

_WRITTEN_OUT = 110  # characters up to which names of intermediate results are written out
_WIDEST = 240  # characters of a cell
_COLUMNS = (
    *("speed", "angular velocity", "velocity of the mass center"),
    *("angular, with what follows", "mass center, with what follows"),
)
_LEVELS = 12  # of names within names


@dataclass(frozen=True, slots=True, eq=False)
class Partials:
    """What one speed gives a body: parts of its angular velocity, and of its mass center's."""

    speed: Expr
    omega: Vector
    velocity: Vector


@dataclass(frozen=True, slots=True, eq=False)
class BodySheet:
    """A body as Kane's method takes it.

    Args:
        body: the body.
        turning: "carried", "recursive", "rotor", or "body axes" where its speeds are absolute.
        moving: "recursive", "fixed mass" or "body axes", for its mass center.
        counted: the bodies whose masses count with it.
        mass: its own mass and theirs, kg.
        center: of these, from its origin, m.
        inertia: its own, about that center, with what their masses add, kg m^2.
        cosines: its axes, row by row, in those of its parent.
        omega: angular velocity, rad/s.
        velocity: of its origin, m/s.
        every: partial velocities for all speeds of the tree.
        independent: partial velocities for the independent speeds, with what follows them.
        alpha: what is left of the angular acceleration, rad/s^2.
        acceleration: what is left of that of the mass center, less gravity, m/s^2.
        names: what the names of intermediate results in these stand for.
    """

    body: Body
    turning: str
    moving: str
    counted: tuple[str, ...]
    mass: Expr
    center: Vector
    inertia: Dyadic
    cosines: Matrix
    omega: Vector
    velocity: Vector
    every: tuple[Partials, ...]
    independent: tuple[Partials, ...]
    alpha: Vector
    acceleration: Vector
    names: Mapping[Expr, Expr]


@dataclass(frozen=True, slots=True, eq=False)
class SolveOrder:
    """How the accelerations are solved for: the order of the speeds, and zeros that are filled."""

    order: tuple[Expr, ...]
    zeros: tuple[int, ...]
    filled: tuple[tuple[Expr, Expr], ...]


def body_sheets(equations: Equations) -> list[BodySheet]:
    """Return what Kane's method knows of each body, parents first.

    >>> from linkwright.equations import derive
    >>> from linkwright.models import load_model
    >>> for sheet in body_sheets(derive(load_model("cart")))[:3]:
    ...     print(sheet.body.name, sheet.turning, sheet.moving, sep=", ")
    b, recursive, body axes
    f, recursive, recursive
    lfw, rotor, fixed mass
    """
    kinematics, reduction = equations.kinematics, equations.reduction
    writer = Writer(kinematics.mechanism.name, prefix="w.")
    speeds = tuple(s.symbol for s in kinematics.speeds)
    free = Shares({u: {k: ONE} for k, u in enumerate(speeds)}, {})
    every = worksheets(kinematics, free, writer)
    tied = worksheets(kinematics, shares_of(reduction), writer)
    reader = _Reader(equations.assignments)
    for u, steady in zip(reduction.dependent, reduction.offset, strict=True):
        reader.meaning.setdefault(u, steady)  # a speed that is constant has no statement
    return [
        _sheet(kinematics, every[body], tied[body], writer, reader, reduction.independent)
        for body in kinematics.mechanism.depth_first()
    ]


def _sheet(
    kinematics: Kinematics,
    every: Worksheet,
    tied: Worksheet,
    writer: Writer,
    reader: _Reader,
    independent: Sequence[Expr],
) -> BodySheet:
    body, frame, motion = every.body, every.frame, kinematics.motions[every.body]
    assert body.parent is not None
    centers = composite_centers(kinematics.mechanism)
    mass, center = centers[body]
    children = kinematics.mechanism.children(body)
    counted = [c for c in children if keeps_mass_in_place(c, *centers[c][::-1])]
    moving = "body axes" if motion.absolute else "recursive"
    if not motion.absolute and keeps_mass_in_place(body, center, mass):
        moving = "fixed mass"
    above = moving == "fixed mass"
    arm = (center - motion.reference).components(frame)
    turning = {0: "carried", 1: "recursive"}.get(len(body.rotations), "body axes")

    def vector(x: Triple) -> Vector:
        return reader.vector(frame.vector(*x))

    def partials(sheet: Worksheet, speeds: Sequence[Expr]) -> tuple[Partials, ...]:
        turns = [sheet.partial_omega.get(k, NOTHING) for k in range(len(speeds))]
        moves = [
            NOTHING if above else add(sheet.partial_velocity.get(k, NOTHING), cross(turn, arm))
            for k, turn in enumerate(turns)
        ]
        return tuple(
            Partials(u, vector(turn), vector(move))
            for u, turn, move in zip(speeds, turns, moves, strict=True)
        )

    left = NOTHING if above else add(tied.acceleration, remainder(writer, tied, arm))
    reader.learn(writer.statements)
    made = BodySheet(
        body,
        turning if frame is body.frame else "rotor",
        moving,
        tuple(c.name for c in counted if c.inertia.mass is not ZERO),
        mass,
        center,
        _inertia(body, frame, counted, center, centers),
        axes_product(body.frame, body.parent.frame),
        reader.vector(kinematics.omega(body)),
        reader.vector(kinematics.origin_velocity(body)),
        partials(every, tuple(s.symbol for s in kinematics.speeds)),
        partials(tied, independent),
        vector(tied.alpha),
        vector(left),
        {},
    )
    return replace(made, names=reader.names(list(_coefficients(made))))


def _inertia(
    body: Body,
    frame: Frame,
    counted: Sequence[Body],
    center: Vector,
    centers: Mapping[Body, tuple[Expr, Vector]],
) -> Dyadic:
    """Return a body's inertia about its composite center, with the masses that count with it."""
    inertia = Dyadic.inertia(body.frame, *body.inertia.tensor)
    if frame is not body.frame:  # of a rotor
        axis, tensor = body.frame.spins[0][1], body.inertia.tensor
        across = next(
            x for x, own in zip(tensor, body.frame.axes, strict=False) if (own @ axis) is ZERO
        )
        along = axis @ (inertia @ axis)
        return Dyadic.unit(frame) * across + (axis | axis) * (along - across)
    unit = Dyadic.unit(body.frame)
    places = [(body.inertia.mass, body.frame.vector(*body.inertia.center))]
    places += [(centers[c][0], c.offset + centers[c][1].expressed(body.frame)) for c in counted]
    for m, place in places:
        r = place - center
        if m is not ZERO and not r.is_zero:
            inertia = inertia + (unit * (r @ r) - (r | r)) * m
    return inertia


class _Reader:
    """Writes out names of intermediate results where that is short, and knows the others."""

    def __init__(self, statements: Sequence[Assign]) -> None:
        self.meaning: dict[Expr, Expr] = {}
        self.learn(statements)

    def learn(self, statements: Sequence[Assign]) -> None:
        """Take the definitions of names."""
        self.meaning.update((s.target, s.value) for s in statements)

    def scalar(self, x: Expr) -> Expr:
        """Return an expression with names written out for as long as it is short."""
        found = x
        for _ in range(_LEVELS):
            names = [y for y in free_symbols(found) if y in self.meaning]
            if not names:
                return found
            (longer,) = substitute_all([found], {y: self.meaning[y] for y in names})
            if len(short(longer)) > _WRITTEN_OUT:
                return found
            found = longer
        return found

    def names(self, used: Sequence[Expr]) -> dict[Expr, Expr]:
        """Return the names that expressions use, with what they stand for, in their order."""
        wanted, open_ = set[Expr](), [x for x in free_symbols(*used) if x in self.meaning]
        while open_:
            x = open_.pop()
            if x not in wanted:
                wanted.add(x)
                open_ += [y for y in free_symbols(self.meaning[x]) if y in self.meaning]
        return {x: value for x, value in self.meaning.items() if x in wanted}

    def vector(self, v: Vector) -> Vector:
        """Return a vector with names in its coefficients written out."""
        return Vector({d: self.scalar(c) for d, c in v.terms})


def solve_order(equations: Equations) -> SolveOrder | None:
    """Return in which order the accelerations are solved for; None without a mass matrix.

    >>> from linkwright.equations import derive
    >>> from linkwright.models import load_model
    >>> found = solve_order(derive(load_model("stanford-arm"), "kane"))
    >>> sorted(u.name for u in found.order)[:2], len(found.filled)
    (['a_dot', 'b_dot'], 0)
    """
    if not equations.mass:
        return None
    pattern, speeds = kinds(equations.mass), equations.speeds
    order = elimination_order(pattern)
    return SolveOrder(
        tuple(speeds[k] for k in order),
        tuple(pattern[k].count(0) for k in order),
        tuple((speeds[i], speeds[j]) for i, j in fill(pattern, order)),
    )


# -- as tables -------------------------------------------------------------------------------------
def worksheet_sections(equations: Equations) -> Iterator[Section]:
    """Yield tables of bodies, worksheets, the names in them, and the order of the solve."""
    columns = _COLUMNS if equations.reduction.dependent else _COLUMNS[:3]
    meaning: dict[Expr, Expr] = {}
    for sheet in body_sheets(equations):
        yield Section(f"body {sheet.body.name}", ("slot", "value"), tuple(_slots(sheet)))
        rows = tuple(row[: len(columns)] for row in _partial_rows(sheet))
        if rows:
            yield Section(f"partial velocities of {sheet.body.name}", columns, rows)
        meaning |= sheet.names
    names = tuple((x.name, short(value)) for x, value in meaning.items())
    if names:
        yield Section("names in them", ("name", "stands for"), names)
    found = solve_order(equations)
    if found is not None:
        filled = {u: [b.name for a, b in found.filled if a is u] for u in found.order}
        order = tuple(
            (u.name, str(zeros), ", ".join(filled[u]))
            for u, zeros in zip(found.order, found.zeros, strict=True)
        )
        yield Section("order of the solve", ("speed", "zeros of its row", "filled"), order)


def _coefficients(sheet: BodySheet) -> Iterator[Expr]:
    vectors = [sheet.omega, sheet.velocity, sheet.alpha, sheet.acceleration]
    for p in (*sheet.every, *sheet.independent):
        vectors += [p.omega, p.velocity]
    for v in vectors:
        yield from (c for _, c in v.terms)


def _slots(sheet: BodySheet) -> Iterator[tuple[str, str]]:
    body = sheet.body
    assert body.parent is not None
    yield "parent", body.parent.name
    yield "turning", sheet.turning
    yield "moving", sheet.moving
    if sheet.counted:
        yield "masses that count with it", ", ".join(sheet.counted)
    yield "mass", short(sheet.mass)
    yield "mass center", _brief(sheet.center)
    yield "inertia", _brief(sheet.inertia)
    yield "unit vectors", ", ".join(str(axis) for axis in body.frame.axes)
    for axis, row in zip("xyz", sheet.cosines, strict=True):
        yield f"cosines {axis}", "(" + ", ".join(short(x) for x in row) + ")"
    yield "angular velocity", _brief(sheet.omega)
    yield "velocity of its origin", _brief(sheet.velocity)
    yield "left of the angular acceleration", _brief(sheet.alpha)
    yield "left of the mass center's, less gravity", _brief(sheet.acceleration)


def _partial_rows(sheet: BodySheet) -> Iterator[tuple[str, ...]]:
    tied = {p.speed: p for p in sheet.independent}
    for p in sheet.every:
        own = tied.get(p.speed)
        both = ("dependent", "") if own is None else (_brief(own.omega), _brief(own.velocity))
        row = (_brief(p.omega), _brief(p.velocity), *both)
        if row != ("0", "0", "0", "0") and row != ("0", "0", "dependent", ""):
            yield (p.speed.name, *row)


def _brief(v: Vector | Dyadic) -> str:
    text = str(v)
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…"
