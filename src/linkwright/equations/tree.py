"""What kernels are written from: a tree of bodies, its independent speeds, its ports.

Without constraints all speeds are independent. A joint that follows another has its coordinate put
in wherever it occurs, so that it is no input of any quantity. A loop keeps all coordinates as
inputs, which must satisfy it; its dependent speeds follow from the independent ones.

A quantity is written by a function of a `Writer` that returns expressions; `Tree.program` makes a
Program of it, with only those inputs that the quantity is a function of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

<<<<<<< HEAD
from linkwright.algebra import ZERO, Expr, free_symbols, total
from linkwright.equations.closure import closed_samples, with_exact_rates
from linkwright.equations.constraints import Reduction, choose, reduce
from linkwright.equations.equations import Equations, folded, has_loops, in_order
from linkwright.equations.writer import Writer
from linkwright.mechanism import Kinematics, Mechanism
from linkwright.program import Assign, Loop, Namer, Port, Program, Statement, program
from linkwright.program.passes.liveness import liveness
from linkwright.program.program import check, walk

Results: TypeAlias = Mapping[str, Any]
Write: TypeAlias = Callable[[Writer], Results]

_REST = "rest"  # symbols that intermediate results may hold, and results may not
=======
from linkwright.algebra import ZERO, Expr, Frame, Vector, total
from linkwright.equations.choices import MIXED, NO_SHIFT, SHIFT_ALL, SHIFT_TURNING, TENSOR, Choices
from linkwright.equations.inertia import NO_MASS, Moments
from linkwright.equations.links import RecursionLink, make_links, turned_back
from linkwright.equations.loads import external_loads, internal_forces
from linkwright.equations.writer import (
    NOTHING,
    Matrix,
    Triple,
    Writer,
    add,
    apply,
    cross,
    dot,
    is_nothing,
    subtract,
    times,
    transposed,
)
from linkwright.mechanism import Body, Kinematics
>>>>>>> f0f5fec (Let no public class name live twice; call motions to be shown motions)


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A tree of bodies with the relations between its speeds."""

    kinematics: Kinematics
    reduction: Reduction | None = None
    statements: tuple[Assign, ...] = ()
    values: Mapping[Expr, Expr | float] | None = None
    states: tuple[Expr, ...] = ()
    last: int = 0
    looped: bool = False

    def writer(self) -> Writer:
        """Return a writer that goes on after the statements, under new names."""
        return Writer(self.kinematics.mechanism.name, self.statements, self.last)

    @property
    def coordinates(self) -> tuple[Expr, ...]:
        """The coordinates, in the order of the port `q`; the analyst's states follow."""
        put_in = self.values or {}
        own = self.kinematics.mechanism.coordinates.values()
        return (*(q for q in own if q not in put_in), *self.states)

    @property
    def speeds(self) -> tuple[Expr, ...]:
        """The independent speeds, in the order of the port `u`."""
        if self.reduction is not None:
            return self.reduction.independent
        return tuple(s.symbol for s in self.kinematics.speeds)

    @property
    def accelerations(self) -> tuple[Expr, ...]:
        """The rates of the independent speeds, in the order of the port `a`."""
        return tuple(self.kinematics.accelerations[u] for u in self.speeds)

    def at_rest(self) -> Tree:
        """Return the tree with all speeds zero."""
        still: dict[Expr, Expr | float] = dict(self.values or {})
        still.update(dict.fromkeys((s.symbol for s in self.kinematics.speeds), ZERO))
        drift = self.reduction
        if drift is not None:
            drift = replace(drift, drift=tuple(ZERO for _ in drift.drift))
        return replace(self, reduction=drift, values=still)

    def all_rates(self, writer: Writer, given: Sequence[Expr] | None = None) -> dict[Expr, Expr]:
        """Return the rate of every speed of the tree from those of the independent ones."""
        rates = dict(zip(self.speeds, given or [ZERO] * len(self.speeds), strict=True))
        if self.reduction is not None:
            rows = zip(
                self.reduction.dependent, self.reduction.matrix, self.reduction.drift, strict=True
            )
            for u, row, drift in rows:
                shares = (x * a for x, a in zip(row, rates.values(), strict=False))
                rates[u] = writer.hold(total([drift, *shares]))
        return rates

    def on_independent(
        self, writer: Writer, columns: Mapping[Expr, Sequence[Expr]], height: int
    ) -> list[list[Expr]]:
        """Return the columns of a Jacobian for the independent speeds."""
        tied = self.reduction
        rows = () if tied is None else zip(tied.dependent, tied.matrix, strict=True)
        shares = [(columns[u], row) for u, row in rows if u in columns]
        made = []
        for k, u in enumerate(self.speeds):
            column = list(columns.get(u, [ZERO] * height))
            more = [(other, row[k]) for other, row in shares if row[k] is not ZERO]
            if more:
                column = [
                    writer.hold(total([x, *(factor * other[i] for other, factor in more)]))
                    for i, x in enumerate(column)
                ]
            made.append(column)
        return made

    def program(
        self,
        name: str,
        takes: Sequence[str],
        write: Write,
        more: Mapping[str, Sequence[Expr]] | None = None,
    ) -> Program:
        """Return the Program of what `write` returns."""
        mechanism = self.kinematics.mechanism
        statements, results = self.settled(self.writer(), write)
        ports = {"q": self.coordinates, "u": self.speeds, "a": self.accelerations}
        inputs = {key: ports[key] for key in takes} | {k: tuple(v) for k, v in (more or {}).items()}
        known = set(self.values or ())
        given = {
            "p": [p for _, p in sorted(mechanism.parameters.items())],
            "w": [w for w in mechanism.inputs.values() if w not in known],
            "t": [mechanism.time],
        }
        others = [x for key, port in ports.items() if key not in inputs for x in port]
        rest = [*(x for port in given.values() for x in port), *others]
        made = liveness(program(name, {**inputs, _REST: rest}, results, statements=statements))
        made = _with_used(made, given)
        check(made)
        return made

    def settled(self, writer: Writer, write: Write) -> tuple[list[Statement], dict[str, Any]]:
        """Return what is written, with the known values put in."""
        results: dict[str, Any] = dict(write(writer))
        statements: list[Statement] = list(writer.statements)
        if writer.loops:
            statements = in_order([*statements, *writer.loops])
        if not self.values:
            return statements, results
        statements, found = folded(statements, {k: [x] for k, x in results.items()}, self.values)
        return statements, {k: x for k, (x,) in found.items()}


def _with_used(made: Program, given: Mapping[str, Sequence[Expr]]) -> Program:
    """Return the Program with only those of the further inputs that it reads."""
    read: set[Expr] = set(free_symbols(*made.output_values()))
    for s in walk(made.statements):
        read.update(free_symbols(*s.operands))
        if isinstance(s, Loop):
            read.update(s.outer_reads)
    ports = [p for p in made.inputs if p.name != _REST]
    for name, entries in given.items():
        used = tuple(x for x in entries if x in read)
        if used:
            ports.append(Port(name, (len(used),), used))
    return replace(made, inputs=tuple(ports))


def tree_of(mechanism: Mechanism, known: Mapping[Expr, Expr | float] | None = None) -> Tree:
    """Return the tree of a mechanism.

    >>> m = Mechanism("swing")
    >>> rod = m.body("rod", rotate="y", mass=1, com=(1, 0, 0), inertia=0)
    >>> tree_of(m).speeds
    (rod_dot,)
    """
    kinematics = mechanism.kinematics()
    put_in = dict(known or {})
    if not mechanism.constraints:
        return Tree(kinematics, values=put_in or None)
    samples = closed_samples(mechanism, mechanism.values, None)
    mechanism = with_exact_rates(mechanism, samples)
    kinematics = mechanism.kinematics()
    eliminations = choose(kinematics, mechanism.values, samples)
    writer = Writer(mechanism.name)
    rates = dict(kinematics.rates)
    reduction = reduce(
        kinematics, eliminations, rates, writer, Namer(None, "r"), mechanism.values, samples
    )
    statements = [s for s in in_order(writer.statements) if isinstance(s, Assign)]
    return Tree(kinematics, reduction, tuple(statements), put_in or None, last=len(statements))


<<<<<<< HEAD
def tree_from(equations: Equations) -> Tree:
    """Return the tree of a mechanism whose equations were derived; its inputs count as zero."""
    reduction, looped = equations.reduction, has_loops(equations)
    statements = () if looped else equations.assignments
    known: dict[Expr, Expr | float] = dict.fromkeys(equations.mechanism.inputs.values(), 0.0)
    defined = {x for s in equations.statements for x in s.targets}
    for u, offset in zip(reduction.dependent, reduction.offset, strict=True):
        if u not in defined:
            known[u] = offset
    numbers = [re.fullmatch(r"(?:z|pc)(\d+)", s.target.name) for s in statements]
    last = max((int(m[1]) for m in numbers if m), default=0)
    return Tree(
        equations.kinematics,
        reduction if reduction.dependent else None,
        statements,
        known,
        equations.states,
        last,
        looped,
    )
=======
# -- bias ------------------------------------------------------------------------------------------
def _recursion(
    kinematics: Kinematics,
    writer: Writer,
    links: dict[Body, RecursionLink],
    shift: str,
    rates: Sequence[Expr] = (),
) -> tuple[tuple[Expr, ...], dict[int, Expr]]:
    """Return f - M u' for the rates of the speeds, zero by default, and what f leaves out."""
    speeds = [s.symbol for s in kinematics.speeds]
    given = rates or [ZERO] * len(speeds)
    shifts: dict[int, Expr] = {}
    for body, link in links.items():
        outward(kinematics, writer, links, link, speeds, given)
        if kinematics.motions[body].absolute:
            found = free_acceleration(kinematics, writer, link, speeds, given, shift)
            shifts.update(found)
    own, driven = own_forces(kinematics, writer, links)
    right = [[x] for x in driven]
    for body in reversed(list(links)):
        link = links[body]
        moment, force = own[body]
        force = writer.triple(add(force, *link.force))
        moment = writer.triple(add(moment, *link.moment))
        for k, omega, velocity in link.speeds:
            right[k].append(-(dot(omega, moment) + dot(velocity, force)))
        parent = body.parent
        assert parent is not None
        if parent.parent is not None:
            back = transposed(link.rotation)
            up_force = writer.triple(apply(back, force))
            up_moment = add(apply(back, moment), cross(link.arm, up_force))
            links[parent].force.append(up_force)
            links[parent].moment.append(up_moment)
    return tuple(writer.hold(total(parts)) for parts in right), shifts


def bias_forces(
    kinematics: Kinematics, writer: Writer, links: dict[Body, RecursionLink]
) -> tuple[dict[Body, tuple[Triple, Triple]], list[Expr]]:
    """Return moment and force of each link with all rates zero, and what acts in the joints."""
    speeds = [s.symbol for s in kinematics.speeds]
    none = [ZERO] * len(speeds)
    for body, link in links.items():
        outward(kinematics, writer, links, link, speeds, none)
        if kinematics.motions[body].absolute:
            free_acceleration(kinematics, writer, link, speeds, none, NO_SHIFT)
    own, driven = own_forces(kinematics, writer, links)
    return {b: (writer.triple(n), writer.triple(f)) for b, (n, f) in own.items()}, driven


def own_forces(
    kinematics: Kinematics, writer: Writer, links: dict[Body, RecursionLink]
) -> tuple[dict[Body, tuple[Triple, Triple]], list[Expr]]:
    """Return inertia forces less loads of each link, as moment and force, and loads in joints."""
    loads = external_loads(kinematics, {b: link.frame for b, link in links.items()})
    own: dict[Body, tuple[Triple, Triple]] = {}
    for body, link in links.items():
        force, moment = inertia_force(writer, link, link.moments)
        pushed = loads.get(body)
        if pushed is not None:
            couple = pushed.moment
            if not link.reference.is_zero:
                arm = link.reference.components(link.frame)
                couple = subtract(couple, cross(arm, pushed.force))
            force, moment = subtract(force, pushed.force), subtract(moment, couple)
        own[body] = moment, force
    return own, joint_forces(kinematics)


def joint_forces(kinematics: Kinematics) -> list[Expr]:
    """Return what loads between two moving bodies add to the right side of each speed."""
    driven: list[list[Expr]] = [[] for _ in kinematics.speeds]
    for k, value in internal_forces(kinematics):
        driven[k].append(value)
    return [total(parts) for parts in driven]


def outward(
    kinematics: Kinematics,
    writer: Writer,
    links: dict[Body, RecursionLink],
    link: RecursionLink,
    speeds: Sequence[Expr],
    rates: Sequence[Expr],
) -> None:
    """Set velocities and accelerations of a link from those of its parent.

    Args:
        kinematics: of the mechanism.
        writer: receives the intermediate results.
        links: by body; the parent's is read, where it is not the ground.
        link: the link.
        speeds: the speeds to which the indices of the link refer.
        rates: their rates.
    """
    parent = link.body.parent
    assert parent is not None
    above = links.get(parent)
    twist = add(NOTHING, *[times(rates[k], omega) for k, omega, _ in link.speeds])
    push = add(NOTHING, *[times(rates[k], v) for k, _, v in link.speeds])
    own_omega = add(NOTHING, *[times(speeds[k], omega) for k, omega, _ in link.speeds])
    if above is None:
        link.omega = writer.triple(own_omega)
        link.alpha = writer.triple(twist)
        carried: Triple = times_minus(kinematics.mechanism.gravity_vector, parent.frame)
    else:
        turned = writer.triple(apply(link.rotation, above.omega))
        link.omega = writer.triple(add(turned, own_omega))
        link.alpha = writer.triple(
            add(apply(link.rotation, above.alpha), cross(turned, own_omega), twist)
        )
        rate = add(NOTHING, *[times(speeds[k], v) for k, _, v in link.speeds])
        rate_above = apply(transposed(link.rotation), rate)
        carried = add(
            above.acceleration,
            _spread_apply(writer, above, link.arm),
            times_two(cross(above.omega, rate_above)),
        )
    if not kinematics.motions[link.body].absolute:
        carried = apply(link.rotation, writer.triple(carried))
        link.acceleration = writer.triple(add(carried, push))


def free_acceleration(
    kinematics: Kinematics,
    writer: Writer,
    link: RecursionLink,
    speeds: Sequence[Expr],
    rates: Sequence[Expr],
    shift: str,
) -> dict[int, Expr]:
    """Set the acceleration of a free body; return what is left out of it, by index of speed."""
    velocity = add(NOTHING, *[times(speeds[k], v) for k, _, v in link.speeds])
    fall = times_minus(kinematics.mechanism.gravity_vector, link.frame)
    turning = cross(link.omega, velocity)
    kept, out = {
        NO_SHIFT: (add(turning, fall), NOTHING),
        SHIFT_TURNING: (fall, turning),
        SHIFT_ALL: (NOTHING, add(turning, fall)),
    }[shift]
    across = [i for i in range(3) if all(v[i] is ZERO for _, _, v in link.speeds)]
    kept = add(kept, *[times(rates[k], v) for k, _, v in link.speeds])
    held = [kept[i] if i not in across else turning[i] + fall[i] for i in range(3)]
    link.acceleration = writer.triple(held)
    found = {k: writer.hold(dot(v, out)) for k, _, v in link.speeds}
    return {k: x for k, x in found.items() if x is not ZERO}


def times_minus(v: Vector, frame: Frame) -> Triple:
    """Return the components of -v."""
    x, y, z = v.components(frame)
    return -x, -y, -z


def times_two(v: Triple) -> Triple:
    """Return 2 v."""
    return 2 * v[0], 2 * v[1], 2 * v[2]


def spread(writer: Writer, omega: Triple, alpha: Triple) -> Matrix:
    """Return U with a(P) = a(O) + U r: the matrix of alpha x r + omega x (omega x r)."""
    x, y, z = omega
    hold = writer.hold
    xx, yy, zz = hold(x * x), hold(y * y), hold(z * z)
    xy, yz, zx = hold(x * y), hold(y * z), hold(z * x)
    return (
        (-hold(yy + zz), hold(xy - alpha[2]), hold(zx + alpha[1])),
        (hold(xy + alpha[2]), -hold(zz + xx), hold(yz - alpha[0])),
        (hold(zx - alpha[1]), hold(yz + alpha[0]), -hold(xx + yy)),
    )


def _spread_apply(writer: Writer, link: RecursionLink, r: Triple) -> Triple:
    if is_nothing(r):
        return NOTHING
    return apply(spread_of(writer, link), r)


def spread_of(writer: Writer, link: RecursionLink) -> Matrix:
    """Return the `spread` of a link, found once."""
    if link.spread is None:
        link.spread = spread(writer, link.omega, link.alpha)
    return link.spread


def inertia_force(writer: Writer, link: RecursionLink, own: Moments) -> tuple[Triple, Triple]:
    """Return the inertia force and its moment about the reference point."""
    force = times(own.mass, link.acceleration)
    if not is_nothing(own.first):
        force = add(force, apply(spread_of(writer, link), own.first))
    return force, add(_moment(writer, link, own.second), cross(own.first, link.acceleration))


def _moment(writer: Writer, link: RecursionLink, s: Matrix) -> Triple:
    """Return the rate of the moment of momentum, the vector of U S - S Uᵀ.

    Its component i is S_ij U_ki - S_ik U_ji + S_jk (w_k² - w_j²) and a share of the diagonal,
    which is S_jj U_kj - S_kk U_jk, or J_ii alpha_i + (S_jj - S_kk) w_j w_k.
    """
    if all(is_nothing(row) for row in s):
        return NOTHING
    u, w, hold = spread_of(writer, link), link.omega, writer.hold
    square = [hold(x * x) for x in w]
    result = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        lone = s[j][j] is ZERO or s[k][k] is ZERO
        if link.choice.form == TENSOR or (link.choice.form == MIXED and not lone):
            product = hold(w[j] * w[k])
            diagonal = hold(s[j][j] + s[k][k]) * link.alpha[i] + hold(s[j][j] - s[k][k]) * product
        else:
            diagonal = s[j][j] * u[k][j] - s[k][k] * u[j][k]
        crossed = s[j][k] * hold(square[k] - square[j]) if s[j][k] is not ZERO else ZERO
        result.append(total([diagonal, s[i][j] * u[k][i], -s[i][k] * u[j][i], crossed]))
    a, b, c = result
    return a, b, c


# -- mass matrix -----------------------------------------------------------------------------------
def _mass_matrix(
    kinematics: Kinematics, writer: Writer, links: dict[Body, RecursionLink]
) -> tuple[tuple[Expr, ...], ...]:
    n = len(kinematics.speeds)
    mass: list[list[Expr]] = [[ZERO] * n for _ in range(n)]
    collected: dict[Body, Moments] = {}
    for body in reversed(list(links)):
        link = links[body]
        whole = (link.moments + collected.get(body, NO_MASS)).held(writer)
        tensor = None
        for position, (k, omega, velocity) in enumerate(link.speeds):
            if tensor is None:
                tensor = whole.tensor()
            force = writer.triple(add(times(whole.mass, velocity), cross(omega, whole.first)))
            moment = writer.triple(add(apply(tensor, omega), cross(whole.first, velocity)))
            for j, other_omega, other_velocity in link.speeds[: position + 1]:
                entry = writer.hold(dot(other_omega, moment) + dot(other_velocity, force))
                mass[k][j] = mass[j][k] = entry
            _along_chain(kinematics, writer, links, body, k, force, moment, mass)
        parent = body.parent
        assert parent is not None
        if parent.parent is not None and not whole.is_nothing:
            seen = turned_back(writer, whole, link.rotation)
            moved = seen.moved(link.arm)
            collected[parent] = collected.get(parent, NO_MASS) + moved
    return tuple(tuple(row) for row in mass)


def _along_chain(
    kinematics: Kinematics,
    writer: Writer,
    links: dict[Body, RecursionLink],
    body: Body,
    k: int,
    force: Triple,
    moment: Triple,
    mass: list[list[Expr]],
) -> None:
    """Carry the force of one speed's unit acceleration to the joints nearer the root."""
    while True:
        link = links[body]
        parent = body.parent
        if parent is None or parent.parent is None or kinematics.motions[body].absolute:
            return
        back = transposed(link.rotation)
        force_above = writer.triple(apply(back, force))
        moment = writer.triple(add(apply(back, moment), cross(link.arm, force_above)))
        force = force_above
        for j, omega, velocity in links[parent].speeds:
            entry = writer.hold(dot(omega, moment) + dot(velocity, force))
            mass[k][j] = mass[j][k] = entry
        body = parent
>>>>>>> f0f5fec (Let no public class name live twice; call motions to be shown motions)
