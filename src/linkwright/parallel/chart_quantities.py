"""What charts show of a pose, as expressions of closed coordinates: a registry.

All quantities of a chart become one Program of the coordinates, which shares what they have in
common. The rates of all coordinates for unit rates of the actuators, X, come from the relations:
with the Jacobian split into passive joints and actuators, J_p X_p = -J_a (least squares, so that
redundant relations are welcome). From X follow

- the map F from rates of the actuators to those of the platform, made comparable by the
  characteristic length (a slider's rate and the platform's velocity are divided by it), with its
  singular values s: condition s_1/s_r and manipulability, the product of all (Yoshikawa 1985),
  where r is the number of freedoms that count;
- the efforts that hold the machine against its weight, dV/d(actuators) = X^T dV/dq;
- where parts give way (`linkwright.parallel.flexing`), the compliance of place and beam, S C S^T:
  S has the movement of the platform for that of a part, which is what the part does itself, less
  what it does to the relations times their forces for a unit load on the platform.

Of the transmission angles (`linkwright.parallel.transmission_angles`) the least is shown, as the
smaller of the angle and its supplement; the pressure angle is what it lacks to a right angle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    Vector,
    absolute,
    acos,
    as_expr,
    constant,
    evaluate_all,
    maximum,
    minimum,
    sqrt,
    symbol,
    total,
    where,
)
from linkwright.algebra.calculus import gradient
from linkwright.algebra.triples import cross, dot
from linkwright.base.errors import InputError, suggestion
from linkwright.equations.energy import energy
from linkwright.parallel.transmission_angles import driven_angles
from linkwright.program import Assign, Carried, Loop, Namer, Statement
from linkwright.program.linear import ldlt

if TYPE_CHECKING:
    from linkwright.mechanism import Point
    from linkwright.parallel.flexing import Displacement, Flexing, SoftParts
    from linkwright.parallel.machine_rates import MachineRates

_OWNER = "chart"
_WEAK = 1e-14
_TINY = 1e-300
_DEGREES = 57.29577951308232
_WAYS = 12  # in which slack is looked for, every 15 deg: at most 0.9 % below the greatest
_SWEEPS = 8  # of Jacobi's rotations, after which a matrix of six rows is diagonal to rounding


class ChartTerms:
    """Expressions of a machine that several quantities of a chart need, each written once."""

    def __init__(
        self,
        rates: MachineRates,
        output: str,
        start: Sequence[float],
        soft: SoftParts | None = None,
    ) -> None:
        self.rates, self.output, self.soft = rates, output, soft
        self.machine = rates.machine
        self.start = dict(zip(self.machine.coordinates, map(float, start), strict=True))
        self.statements: list[Statement] = []
        self._namer = Namer(None, "v")
        self._known: dict[Expr, Expr] = {}
        self._rates: list[list[Expr]] | None = None
        self._values: list[Expr] | None = None
        self._efforts: list[Expr] | None = None
        self._angles: list[tuple[str, Expr]] | None = None
        self._flexing: Flexing | None = None
        self._loads: dict[str, list[list[Expr]]] = {}

    def hold(self, value: Expr) -> Expr:
        """Return a name for a value that is used again."""
        if value.is_atom:
            return value
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = self._namer()
            self.statements.append(Assign(found, value))
        return found

    def place(self, point: Point) -> list[float]:
        """Return where a point is as the machine stands, m."""
        return self.at_start(point.position)

    def at_start(self, v: Vector) -> list[float]:
        """Return the components of a vector as the machine stands."""
        mechanism = self.machine.mechanism
        known: dict[Expr, object] = {
            p: mechanism.values.get(p.name, 0.0) for p in self.machine.parameters
        }
        known |= self.start
        known[mechanism.time] = 0.0
        parts = evaluate_all(list(v.components(mechanism.ground.frame)), known)
        return [float(x) for x in parts]

    @property
    def length(self) -> float:
        """The characteristic length, m."""
        return self.rates.length

    def actuator_rates(self) -> list[list[Expr]]:
        """Return the rate of each coordinate for unit rates of the actuators, a row for each."""
        if self._rates is not None:
            return self._rates
        machine, hold = self.machine, self.hold
        driven, passive = machine.actuators, machine.passive
        solved: list[list[Expr]] = []
        if passive:
            by_driven = [[hold(x) for x in gradient(g, driven)] for g in machine.relations]
            columns = list(zip(*self._by_passive(), strict=True))
            right = [
                [hold(-dot(column, own)) for column in columns]
                for own in zip(*by_driven, strict=True)
            ]
            solved = self._by_squares(right)
        place = {q: i for i, q in enumerate(passive)}
        self._rates = [
            [ONE if q is a else ZERO for a in driven]
            if q not in place
            else [column[place[q]] for column in solved]
            for q in machine.coordinates
        ]
        return self._rates

    def _by_passive(self) -> list[list[Expr]]:
        """Return the slopes of the relations by the passive coordinates."""
        passive = self.machine.passive
        return [[self.hold(x) for x in gradient(g, passive)] for g in self.machine.relations]

    def _by_squares(self, right: list[list[Expr]]) -> list[list[Expr]]:
        """Return solutions with the squares of these slopes, a row for each right side."""
        columns = list(zip(*self._by_passive(), strict=True))
        n = len(columns)
        squares = [[dot(columns[i], columns[j]) for j in range(n)] for i in range(n)]
        level = self.hold(constant(_WEAK / n) * total(squares[i][i] for i in range(n)))
        matrix = [[ZERO] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                entry = squares[i][j] + level if i == j else squares[i][j]
                matrix[i][j] = matrix[j][i] = self.hold(entry)
        made, solved = ldlt(matrix, right, self._namer)
        self.statements.extend(made)
        return solved

    # -- what gives way ----------------------------------------------------------------------------
    @property
    def flexing(self) -> Flexing:
        """The machine whose parts give way; one that is overconstrained is rejected."""
        if self._flexing is None:
            from linkwright.parallel.platform_stiffness import Stiffening

            at = {q.name: v for q, v in self.start.items()}
            self._flexing = Stiffening(self.machine, at).flexing
        return self._flexing

    def follows(self, output: str, made: Displacement) -> list[list[Expr]]:
        """Return what displacements do to the platform's place (m) or beam once loops close."""
        machine = self.machine
        rows = machine.position if output == "place" else machine.direction
        if output not in self._loads:  # forces in the relations for unit loads on the platform
            loads: list[list[Expr]] = [[] for _ in rows]
            if machine.passive and machine.relations:
                right = [[self.hold(x) for x in gradient(e, machine.passive)] for e in rows]
                by_passive = self._by_passive()
                loads = [
                    [self.hold(dot(row, w)) for row in by_passive] for w in self._by_squares(right)
                ]
            self._loads[output] = loads
        own = made.place
        if output == "beam":
            turns = list(zip(*made.turn, strict=True))
            own = tuple(zip(*(cross(turn, machine.direction) for turn in turns), strict=True))
        columns = list(zip(*made.relations, strict=True))
        return [
            [
                self.hold(direct - dot(load, columns[k]) if columns and load else direct)
                for k, direct in enumerate(row)
            ]
            for row, load in zip(own, self._loads[output], strict=True)
        ]

    def driven(self, output: str, actuator: Expr) -> list[list[Expr]]:
        """Return what a unit of an actuator does to the platform's place (m) or beam."""
        rows = self.machine.position if output == "place" else self.machine.direction
        k = self.machine.actuators.index(actuator)
        return [[self.along(x)[k]] for x in rows]

    def compliance(self, output: str) -> list[list[Expr]]:
        """Return the compliance of the platform's place (m/N) or of its beam (rad/(N*m))."""
        from linkwright.parallel.flexing import SoftParts, bent_through

        soft, parts = self.soft or SoftParts(), list[list[list[Expr]]]()
        for name, section in soft.links.items():
            made, span = self.flexing.link(name)
            parts.append(bent_through(self.follows(output, made), section, span))
        for name, size in soft.drives.items():
            parts.append(_through(self.driven(output, self.flexing.drive(name)), 1.0 / size))
        for name, size in soft.joints.items():
            parts.append(_through(self.follows(output, self.flexing.joint(name)), 1.0 / size))
        if not parts:
            raise InputError(
                "nothing gives way, so that the platform has no compliance",
                remedy="name some: --tube, --drive-stiffness, --joint-stiffness; "
                "[soft] in a design; soft= in Python",
            )
        return [[self.hold(total(p[i][j] for p in parts)) for j in range(3)] for i in range(3)]

    def slack(self) -> Expr:
        """Return the greatest turn of the beam within the clearances, deg."""
        if self.soft is None or not self.soft.clearances:
            raise InputError(
                "no joint has clearance, so that the beam has no slack",
                remedy="name some: --clearance; [soft.clearances] in a design; soft= in Python",
            )
        point, d = self.machine.platform.point, self.machine.direction
        ground = self.machine.mechanism.ground.frame
        beam = self.at_start(self.machine.platform.axis)
        axes = [axis.components(ground) for axis in point.axes]
        lean = [abs(sum(map(float.__mul__, self.at_start(a), beam))) for a in point.axes]
        beside = axes[lean.index(min(lean))]
        across = cross(d, beside)
        size = self.hold(sqrt(dot(across, across)))
        first = [self.hold(x / size) for x in across]
        bases = (first, [self.hold(x) for x in cross(d, first)])
        squares: list[tuple[float, list[Expr]]] = []
        for name, gap in self.soft.clearances.items():
            columns = list(zip(*self.follows("beam", self.flexing.joint(name)), strict=True))
            a, b = ([self.hold(dot(e, column)) for column in columns] for e in bases)
            squares.append((gap, [self.hold(dot(x, y)) for x, y in ((a, a), (a, b), (b, b))]))
        found = []
        for k in range(_WAYS):
            c, s = math.cos(math.pi * k / _WAYS), math.sin(math.pi * k / _WAYS)
            ways = [constant(x) for x in (c * c, 2.0 * c * s, s * s)]
            found.append(
                total(constant(gap * _DEGREES) * _root(dot(ways, parts)) for gap, parts in squares)
            )
        return self.hold(_greatest(found))

    def along(self, x: Expr) -> list[Expr]:
        """Return the rates of an expression of the coordinates for unit rates of the actuators."""
        rates = self.actuator_rates()
        slopes = gradient(x, self.machine.coordinates)
        count = len(self.machine.actuators)
        return [
            self.hold(total(s * row[k] for s, row in zip(slopes, rates, strict=True)))
            for k in range(count)
        ]

    def output_rates(self) -> list[list[Expr]]:
        """Return the scaled rates of the platform for scaled rates of the actuators.

        The rows of a rotation are those of its matrix over the root of two: together they have the
        length of the angular velocity.
        """
        machine = self.machine
        rows: list[list[Expr]] = []
        if self.output == "direction":
            rows = [self.along(e) for e in machine.direction]
        else:
            inverse = constant(1.0 / self.length)
            rows = [[inverse * e for e in self.along(x)] for x in machine.position]
        if self.output == "pose":
            half = constant(0.5**0.5)
            rows += [[half * e for e in self.along(x)] for row in machine.rotation for x in row]
        place = {q: i for i, q in enumerate(machine.coordinates)}
        scales = [constant(float(self.rates.scales[place[a]])) for a in machine.actuators]
        return [[self.hold(s * e) for s, e in zip(scales, row, strict=True)] for row in rows]

    def singular_values(self) -> list[Expr]:
        """Return the singular values that count, the largest first."""
        if self._values is None:
            rows = self.output_rates()
            columns = list(zip(*rows, strict=True))
            k = len(columns)
            matrix = [[self.hold(dot(columns[i], columns[j])) for j in range(k)] for i in range(k)]
            values = _sorted(self, _eigenvalues(self, matrix))
            counted = min(k, {"direction": 2, "position": 3}.get(self.output, 6))
            self._values = [self.hold(sqrt(maximum(x, 0))) for x in values[:counted]]
        return self._values

    def efforts(self) -> list[Expr]:
        """Return the actuators' efforts that hold the machine against its weight, N or N*m."""
        if self._efforts is None:
            mechanism = self.machine.mechanism
            if mechanism.forces or mechanism.moments:
                raise InputError(
                    f"{mechanism.name!r} has loads besides its weight, which efforts in charts "
                    "leave out",
                    remedy="chart the mechanism without them, or use Robot.inverse_dynamics",
                )
            self._efforts = self.along(energy(mechanism).potential)
        return self._efforts

    def transmission_angles(self) -> list[tuple[str, Expr]]:
        """Return the transmission angle at each joint where an actuator drives a link, deg."""
        if self._angles is None:
            found = []
            for name, first, second in driven_angles(self.machine, self.at_start):
                a, b = (
                    [self.hold(x) for x in v.components(self.machine.mechanism.ground.frame)]
                    for v in (first, second)
                )
                size = self.hold(sqrt(dot(a, a) * dot(b, b) + constant(_TINY)))
                cosine = self.hold(minimum(maximum(dot(a, b) / size, -1), 1))
                found.append((name, self.hold(constant(_DEGREES) * acos(cosine))))
            self._angles = found
        return self._angles

    def least_transmission(self) -> Expr:
        """Return the least transmission angle, the supplements counted too, deg."""
        angles = [x for _, x in self.transmission_angles()]
        if not angles:
            raise InputError(
                f"no actuator of {self.machine.mechanism.name!r} drives a link that drives "
                "another, so it has no transmission angle",
                remedy="leave it out",
            )
        return self.hold(_least([minimum(x, 180 - x) for x in angles]))


def _least(values: Sequence[Expr]) -> Expr:
    found = values[0]
    for x in values[1:]:
        found = minimum(found, x)
    return found


def _greatest(values: Sequence[Expr]) -> Expr:
    found = values[0]
    for x in values[1:]:
        found = maximum(found, x)
    return found


def _root(x: Expr) -> Expr:
    """Return the root of a sum of squares, smooth at zero: 1e-9 rad/m is nothing."""
    return sqrt(maximum(x, 0) + constant(1e-18))


def _through(rows: Sequence[Sequence[Expr]], compliance: float) -> list[list[Expr]]:
    """Return S C S^T for a compliance that is alike along all axes of a part."""
    return [[constant(compliance) * dot(a, b) for b in rows] for a in rows]


def _eigenvalues(terms: ChartTerms, matrix: Sequence[Sequence[Expr]]) -> list[Expr]:
    """Return the eigenvalues of a symmetric matrix by Jacobi's rotations, in a loop of sweeps."""
    n = len(matrix)
    if n == 1:
        return [matrix[0][0]]
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    again = sum(isinstance(x, Loop) for x in terms.statements)
    own = f"{again}_" if again else ""
    inner = {p: symbol(f"m{own}{p[0]}_{p[1]}", "local", owner=_OWNER) for p in pairs}
    ends = {p: symbol(f"e{own}{p[0]}_{p[1]}", "local", owner=_OWNER) for p in pairs}
    body: list[Statement] = []
    names = Namer(None, f"r{own}")

    def let(value: Expr) -> Expr:
        if value.is_atom:
            return value
        made = names()
        body.append(Assign(made, value))
        return made

    now = dict(inner)

    def at(i: int, j: int) -> Expr:
        return now[min(i, j), max(i, j)]

    for p in range(n):
        for q in range(p + 1, n):
            off = at(p, q)
            flat = let(absolute(off) <= _TINY)
            tau = let((at(q, q) - at(p, p)) / where(flat, 1, 2 * off))
            sign = where(tau < 0, constant(-1), constant(1))
            t = let(where(flat, 0, sign / (absolute(tau) + sqrt(1 + tau**2))))
            c = let(1 / sqrt(1 + t**2))
            s = let(t * c)
            for k in range(n):
                if k not in (p, q):
                    a, b = at(k, p), at(k, q)
                    now[min(k, p), max(k, p)] = let(c * a - s * b)
                    now[min(k, q), max(k, q)] = let(s * a + c * b)
            shift = let(t * off)
            now[p, p], now[q, q] = let(at(p, p) - shift), let(at(q, q) + shift)
            now[p, q] = ZERO
    carried = tuple(Carried(inner[p], matrix[p[0]][p[1]], as_expr(now[p]), ends[p]) for p in pairs)
    sweeps = 1 if n == 2 else _SWEEPS
    terms.statements.append(Loop(sweeps, carried, (), (), tuple(body)))
    return [ends[i, i] for i in range(n)]


def _sorted(terms: ChartTerms, values: Sequence[Expr]) -> list[Expr]:
    """Return values by size, the largest first."""
    found = list(values)
    for last in range(len(found) - 1, 0, -1):
        for k in range(last):
            a, b = found[k], found[k + 1]
            found[k], found[k + 1] = terms.hold(maximum(a, b)), terms.hold(minimum(a, b))
    return found


Columns = Mapping[str, Expr]


@dataclass(frozen=True, slots=True)
class ChartQuantity:
    """Something that charts show."""

    name: str  # in lists of what is shown
    # of its numbers, or a function that returns it for a column of a machine
    unit: str | Callable[[ChartTerms, str], str]
    doc: str  # what it is
    # returns expressions of closed coordinates by the names of columns
    columns: Callable[[ChartTerms], Columns]

    def unit_of(self, terms: ChartTerms, column: str) -> str:
        """Return the unit of a column."""
        return self.unit if isinstance(self.unit, str) else self.unit(terms, column)


QUANTITIES: dict[str, ChartQuantity] = {}
"""All quantities by name; `reach` is always known besides."""


def register(quantity: ChartQuantity) -> None:
    """Add a quantity that charts can show."""
    if quantity.name in QUANTITIES or quantity.name == "reach":
        raise InputError(f"charts know {quantity.name!r} already")
    QUANTITIES[quantity.name] = quantity


def quantity_of(name: str) -> ChartQuantity:
    """Return a quantity by name."""
    found = QUANTITIES.get(name)
    if found is None:
        known = ["reach", *QUANTITIES]
        raise InputError(
            f"charts know no quantity {name!r}",
            remedy=suggestion(name, known, f"one of {', '.join(known)}"),
        )
    return found


def _efforts(terms: ChartTerms) -> Columns:
    names = (a.name for a in terms.machine.actuators)
    return {f"effort {n}": x for n, x in zip(names, terms.efforts(), strict=True)}


def _effort_unit(terms: ChartTerms, column: str) -> str:
    units = terms.machine.mechanism.units
    return {"rad": "N*m", "m": "N"}.get(units.get(column.removeprefix("effort "), ""), "")


def _softest(output: str) -> Callable[[ChartTerms], Columns]:
    name = "rotary-compliance" if output == "beam" else "linear-compliance"

    def column(terms: ChartTerms) -> Columns:
        matrix = terms.compliance(output)
        return {name: _sorted(terms, _eigenvalues(terms, matrix))[0]}

    return column


def _condition(terms: ChartTerms) -> Columns:
    values = terms.singular_values()
    return {"condition": values[0] / values[-1]}


def _manipulability(terms: ChartTerms) -> Columns:
    found = ONE
    for x in terms.singular_values():
        found = found * x
    return {"manipulability": found}


for _quantity in (
    ChartQuantity(
        "condition",
        "",
        "condition number of the map from actuators to platform, lengths over the "
        "characteristic length",
        _condition,
    ),
    ChartQuantity(
        "manipulability", "", "product of the singular values of that map", _manipulability
    ),
    ChartQuantity(
        "transmission",
        "deg",
        "least angle between a driven link and the next one",
        lambda terms: {"transmission": terms.least_transmission()},
    ),
    ChartQuantity(
        "pressure",
        "deg",
        "what the transmission angle lacks to a right angle",
        lambda terms: {"pressure": 90 - terms.least_transmission()},
    ),
    ChartQuantity(
        "effort", _effort_unit, "efforts of the actuators against the weight, N or N*m", _efforts
    ),
    ChartQuantity(
        "rotary-compliance",
        "rad/(N*m)",
        "greatest turn of the beam for a unit moment on the platform, actuators locked",
        _softest("beam"),
    ),
    ChartQuantity(
        "linear-compliance",
        "m/N",
        "greatest displacement of the platform's point for a unit force, actuators locked",
        _softest("place"),
    ),
    ChartQuantity(
        "slack",
        "deg",
        "greatest turn of the beam within the clearances of joints, actuators locked",
        lambda terms: {"slack": terms.slack()},
    ),
    ChartQuantity(
        "coordinates",
        lambda terms, column: terms.machine.mechanism.units.get(column, ""),
        "all coordinates, rad or m",
        lambda terms: {q.name: q for q in terms.machine.coordinates},
    ),
):
    register(_quantity)
