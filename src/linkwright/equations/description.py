"""A mechanism and its equations as tables of plain text, for terminals, files and pages.

`describe` gives what AUTOSIM shows when objects are inspected: bodies, points, coordinates, speeds,
constraints with what each eliminated, forces and moments, parameters with their values and
units (Sayers' thesis, sections 9.1 and 9.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linkwright.algebra import ZERO, Expr, Vector, free_symbols
from linkwright.algebra.units import MKS
from linkwright.equations.constraints import Elimination
from linkwright.equations.equations import Equations
from linkwright.mechanism import Body, Constraint, Force, Mechanism, Moment
from linkwright.mechanism.plausibility import implausible
from linkwright.program import Assign
from linkwright.program.passes import optimize

_LIMIT = 120
Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A titled table: names of columns, and rows of text."""

    title: str
    columns: Row
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Style:
    """How formulas stand in the cells of tables."""

    scalar: Callable[[Expr], str]
    vector: Callable[[Vector], str] = str

    def triple(self, values: Sequence[Expr]) -> str:
        """Return three components in parentheses; 0 where all are zero."""
        if all(x is ZERO for x in values):
            return "0"
        return "(" + ", ".join(self.scalar(x) for x in values) + ")"


def describe(equations: Equations, style: Style | None = None) -> list[Section]:
    """Return the sections that describe a mechanism; empty ones are left out.

    >>> from linkwright.equations import derive
    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass="m", com=("L", 0, 0), inertia=0)
    >>> m.gravity(along=-m.y)
    >>> [s.title for s in describe(derive(m))]
    ['bodies', 'coordinates', 'speeds', 'gravity', 'parameters']
    """
    m = equations.mechanism
    style = Style(short) if style is None else style
    sections = [
        _bodies(m, style),
        _points(m, style),
        _coordinates(m),
        _speeds(equations),
        _constraints(equations, style),
        _loads(m, style),
        _gravity(m, style),
        _parameters(equations),
        _inputs(m),
        _outputs(m),
        _notes(m),
    ]
    return [s for s in sections if s.rows]


def summary(equations: Equations) -> str:
    """Return one line about the size of a mechanism.

    >>> from linkwright.equations import derive
    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass="m", com=("L", 0, 0), inertia=0)
    >>> summary(derive(m))
    '1 body, 1 coordinate, 1 degree of freedom'
    """
    e = equations
    redundant = sum(1 for k in e.eliminations if k.speed is None)
    parts = [
        _many(len(e.mechanism.bodies), "body", "bodies"),
        _many(len(e.coordinates), "coordinate", "coordinates"),
        _many(len(e.speeds), "degree of freedom", "degrees of freedom"),
    ]
    if e.eliminations:
        told = _many(len(e.eliminations), "constraint", "constraints")
        parts.insert(2, told + (f" ({redundant} redundant)" if redundant else ""))
    other = "" if e.mechanism.display is MKS else "; numbers in expressions are in SI units"
    return ", ".join(parts) + other


def written_out(equations: Equations) -> dict[str, list[tuple[str, Expr]]]:
    """Return the optimized equations by group: constants, intermediate results, rates.

    Names of rates are those of the states with a prime.

    >>> from linkwright.equations import derive
    >>> m = Mechanism("pendulum")
    >>> rod = m.body("rod", rotate="z", mass="m", com=("L", 0, 0), inertia=0)
    >>> m.gravity(along=-m.y)
    >>> written_out(derive(m))["kinematical equations"]
    [("rod'", rod_dot)]
    """
    e = equations
    program = optimize(e.program(outputs=False))
    made = [s for s in program.statements if isinstance(s, Assign)]
    states = [*e.coordinates, *e.states]
    groups = {
        "constants": [(s.target.name, s.value) for s in made if s.value.is_constant],
        "intermediate results": [(s.target.name, s.value) for s in made if not s.value.is_constant],
        "kinematical equations": _primed(states, program.port("q_dot").entries),
    }
    if e.speeds:
        groups["dynamical equations"] = _primed(e.speeds, program.port("u_dot").entries)
    return {title: rows for title, rows in groups.items() if rows}


def _primed(states: Sequence[Expr], values: Sequence[Expr]) -> list[tuple[str, Expr]]:
    return [(f"{x.name}'", value) for x, value in zip(states, values, strict=True)]


def _many(n: int, one: str, more: str) -> str:
    return f"{n} {one if n == 1 else more}"


def short(x: Expr) -> str:
    """Return an expression as text, cut where it is long.

    >>> from linkwright.algebra import symbols
    >>> short(sum(symbols(" ".join(f"a{k}" for k in range(99)))))[-6:]
    '+ a27…'
    """
    from linkwright.algebra.printers import text

    return text(x, limit=_LIMIT)


# -- sections --------------------------------------------------------------------------------------
def _bodies(m: Mechanism, style: Style) -> Section:
    rows = [
        (
            body.name,
            "" if body.parent is None else body.parent.name,
            joint_words(body),
            style.vector(body.offset),
            style.scalar(body.inertia.mass),
            style.triple(body.inertia.center),
            _inertia_text(body, style),
            body.doc,
        )
        for body in m.depth_first()
    ]
    columns = (
        *("body", "parent", "joint", "at (m)", "mass (kg)", "mass center (m)"),
        *("inertia (kg*m^2)", "what"),
    )
    return Section("bodies", columns, tuple(rows))


def _inertia_text(body: Body, style: Style) -> str:
    tensor = body.inertia.tensor
    if all(x is ZERO for x in tensor[3:]):
        return style.triple(tensor[:3])
    return f"{style.triple(tensor[:3])} products {style.triple(tensor[3:])}"


def joint_words(body: Body) -> str:
    """Return how a body may move relative to its parent.

    >>> m = Mechanism("m")
    >>> joint_words(m.body("b", translate="xy", rotate="z"))
    'slides along n.x, n.y; turns about n.z'
    """
    words = []
    if body.translations:
        words.append("slides along " + ", ".join(str(d) for _, d in body.translations))
    if body.lead is not ZERO:
        words.append(f"screws along {body.frame.spins[0][1]}")
    elif len(body.rotations) == 1:
        words.append(f"turns about {body.frame.spins[0][1]}")
    elif body.joint.quaternion:
        words.append("turns freely (quaternion)")
    elif body.rotations:
        words.append("turns about " + ", ".join(str(a) for a in body.joint.rotate))
    return "; ".join(words) or "fixed"


def _points(m: Mechanism, style: Style) -> Section:
    rows = [(p.name, p.body.name, style.vector(p.local)) for p in m.points.values()]
    return Section("points", ("point", "body", "place (m)"), tuple(rows))


def _coordinates(m: Mechanism) -> Section:
    rows = []
    for body in m.depth_first():
        for k, q in enumerate(body.coordinates):
            rows.append((q.name, *_start(m, q), _coordinate_words(body, k)))
    for state in m.states:
        unit, factor = m.display.printed(m.units.get(state.symbol.name, "?"))
        rows.append((state.symbol.name, unit, f"{state.initial / factor:g}", "state of its own"))
    return Section("coordinates", ("coordinate", "unit", "start", "what"), tuple(rows))


def _coordinate_words(body: Body, k: int) -> str:
    shifts = len(body.translations)
    if k < shifts:
        return f"translation of {body.name} along {body.translations[k][1]}"
    if body.joint.quaternion:
        return f"component {k - shifts} of the quaternion of {body.name}"
    axis = body.frame.spins[k - shifts][1]
    return f"rotation of {body.name} about {axis}"


def meanings(m: Mechanism) -> dict[str, str]:
    """Return what each coordinate and each speed is, in words, by name.

    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=1)
    >>> meanings(m)
    {'b': 'rotation of b about n.z', 'b_dot': 'rate of rotation of b about n.z'}
    """
    words = {
        q.name: _coordinate_words(body, k)
        for body in m.bodies.values()
        for k, q in enumerate(body.coordinates)
    }
    for speed in m.kinematics().speeds:
        simple = speed.doc.startswith(("rotation of", "translation of"))
        words[speed.symbol.name] = f"rate of {speed.doc}" if simple else speed.doc
    return {name: m.docs.get(name) or text for name, text in words.items()}


def _start(m: Mechanism, x: Expr) -> tuple[str, str]:
    """Return the unit in which a coordinate or speed is printed, and where it starts."""
    turned = [b.rotations for b in m.bodies.values() if b.joint.quaternion]
    rest = {q[0] for q in turned if not any(e.name in m.initial for e in q)}
    unit, factor = m.display.printed(m.units.get(x.name, "?"))
    return unit, f"{m.initial.get(x.name, 1.0 if x in rest else 0.0) / factor:g}"


def _speeds(equations: Equations) -> Section:
    m = equations.mechanism
    gone = {k.speed: k.constraint.name for k in equations.eliminations if k.speed is not None}
    rows = []
    for speed in equations.kinematics.speeds:
        u = speed.symbol
        status = f"eliminated by {gone[u]}" if u in gone else "independent"
        unit, start = _start(m, u)
        rows.append((u.name, unit, "" if u in gone else start, status, speed.doc))
    return Section("speeds", ("speed", "unit", "start", "status", "what"), tuple(rows))


def _constraints(equations: Equations, style: Style) -> Section:
    rows = [
        (
            k.constraint.name,
            "speeds" if k.constraint.position is None else "places",
            _eliminated(k),
            f"{style.scalar(_relation(k.constraint))} = 0",
        )
        for k in equations.eliminations
    ]
    return Section("constraints", ("constraint", "of", "eliminates", "relation"), tuple(rows))


def _relation(constraint: Constraint) -> Expr:
    return constraint.speed if constraint.position is None else constraint.position


def _eliminated(elimination: Elimination) -> str:
    if elimination.speed is None:
        return "nothing: redundant"
    return elimination.speed.name


def _loads(m: Mechanism, style: Style) -> Section:
    rows = [
        (
            f.name,
            "force",
            _magnitude(f, style),
            _line(f, style),
            f.point.name,
            f.reaction.name,
            f.doc,
        )
        for f in m.forces
    ]
    rows += [
        (
            t.name,
            "moment",
            _magnitude(t, style),
            style.vector(t.direction),
            t.body.name,
            t.reaction.name,
            t.doc,
        )
        for t in m.moments
    ]
    columns = ("load", "kind", "magnitude", "along", "on", "reaction", "what")
    return Section("forces and moments", columns, tuple(rows))


def _magnitude(load: Force | Moment, style: Style) -> str:
    """Return the magnitude as it was written, but for names that only the description knows."""
    if style.scalar is short and load.formula and "#" not in load.formula:
        return load.formula
    return style.scalar(load.magnitude)


def _line(force: Force, style: Style) -> str:
    if force.away_from is not None:
        return f"away from {force.away_from.name}"
    return style.vector(force.direction)


def _gravity(m: Mechanism, style: Style) -> Section:
    rows = () if m.gravity_vector.is_zero else ((style.vector(m.gravity_vector),),)
    return Section("gravity", ("acceleration (m/s^2)",), rows)


def _parameters(equations: Equations) -> Section:
    from linkwright.equations.meanings import parameter_units, parameter_words

    m = equations.mechanism
    words, units = parameter_words(m), parameter_units(m)
    positions = [c.position for c in m.constraints if c.position is not None]
    effective = {
        *equations.parameters(),
        *free_symbols(*positions, *m.initial_rules.values()),
    }
    rows = []
    for name in sorted(m.parameters, key=lambda s: (s.lower(), s)):
        value = m.values.get(name)
        note = "" if m.parameters[name] in effective else "no effect"
        unit, factor = m.display.printed(units[name])
        shown = "" if value is None else f"{value / factor:.10g}"
        rows.append((name, shown, unit, words[name], note))
    return Section("parameters", ("parameter", "value", "unit", "what", "note"), tuple(rows))


def _inputs(m: Mechanism) -> Section:
    from linkwright.equations.meanings import parameter_units, parameter_words

    words, units = parameter_words(m), parameter_units(m)
    rows = []
    for name in m.inputs:
        unit, factor = m.display.printed(units[name])
        rows.append((name, f"{m.values.get(name, 0.0) / factor:.10g}", unit, words[name]))
    return Section("inputs", ("input", "value", "unit", "what"), tuple(rows))


def _outputs(m: Mechanism) -> Section:
    rows = [(o.name, m.display.printed(o.unit)[0], o.doc, o.body) for o in m.outputs]
    return Section("outputs", ("output", "unit", "what", "body"), tuple(rows))


def _notes(m: Mechanism) -> Section:
    rows = [(line,) for line in (*m.reports, *implausible(m))]
    return Section("notes", ("note",), tuple(rows))
