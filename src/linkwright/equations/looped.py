"""Dynamics of long chains: the recursions of a tree with a loop over each run of like bodies.

Forward dynamics are those of `linkwright.equations.aba` (outward velocities and bias
forces, inward articulated inertias, outward accelerations), inverse dynamics those of
`linkwright.equations.rnea` (outward accelerations, inward forces), regrouping that of
`linkwright.equations.inertia`. A body that is not in a run is written out as there; a run hands
its first body's parent, and takes from its last body's children, what a single body would. The
size of the program does not depend on the length of the runs, but for the arrays that loops read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from linkwright.algebra import ZERO, Expr, total
from linkwright.algebra.triples import NOTHING, Matrix, Triple, add, apply, cross, dot, transposed
from linkwright.equations import aba as law_of
from linkwright.equations.aba import Law, Step
from linkwright.equations.body_loops import Sweeps
from linkwright.equations.choices import DEFAULT, NO_SHIFT
from linkwright.equations.inertia import (
    NO_MASS,
    Moments,
    handed_over,
    own_moments,
    symmetric,
)
from linkwright.equations.links import LinkMaker, RecursionLink
from linkwright.equations.repeated_bodies import Item, LikeBodies, plan
from linkwright.equations.rnea import (
    armature_inertias,
    free_acceleration,
    inertia_force,
    outward,
    own_forces,
    spread_of,
)
from linkwright.equations.templates import Shapes, TemplateForm, template
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body, Kinematics

_PAIRS = tuple((i, j) for i in range(3) for j in range(i, 3))


def looped_accelerations(
    kinematics: Kinematics, writer: Writer, items: Sequence[Item] | None = None
) -> tuple[Expr, ...]:
    """Return the rates of the speeds of a tree, by articulated bodies."""
    tree = _Tree(kinematics, writer, plan(kinematics) if items is None else items)
    tree.velocities([ZERO] * len(kinematics.speeds))
    tree.articulate()
    found = tree.accelerations()
    tree.finish()
    return found


def looped_forces(
    kinematics: Kinematics,
    writer: Writer,
    rates: Sequence[Expr],
    items: Sequence[Item] | None = None,
) -> tuple[Expr, ...]:
    """Return M u' - f for given rates of the tree's speeds."""
    tree = _Tree(kinematics, writer, plan(kinematics) if items is None else items, rates)
    tree.velocities(rates)
    found = tree.forces(rates)
    tree.finish()
    return found


@dataclass(slots=True, eq=False)
class _Unit:
    """One turn of a run: its links, with symbols for what differs from turn to turn.

    The speeds of the links are numbered from 0 on; `speeds`, `rates`, `driven` and `rotors` are by
    that number.
    """

    run: LikeBodies
    links: list[RecursionLink]
    speeds: list[Expr]
    rates: list[Expr]
    driven: list[Expr]
    rotors: list[Expr]
    sweeps: Sweeps
    bias: list[tuple[Triple, Triple]] = field(default_factory=list)
    steps: list[list[Step]] = field(default_factory=list)

    def indices(self, turn: int) -> list[int]:
        """Return the speeds of the tree that those of the unit are in some turn."""
        p = self.run.period
        return [k for t in self.run.terms[turn * p : (turn + 1) * p] for k, _, _ in t.speeds]


class _Tree:
    """The recursions over one tree."""

    def __init__(
        self,
        kinematics: Kinematics,
        writer: Writer,
        items: Sequence[Item],
        rates: Sequence[Expr] = (),
    ) -> None:
        self.kinematics, self.writer, self.items = kinematics, writer, items
        self.numbered = {
            run: f"r{k}_"
            for k, run in enumerate([x for x in items if isinstance(x, LikeBodies)], start=1)
        }
        self.links: dict[Body, RecursionLink] = {}
        self.moments = _regrouped(kinematics, writer, items, self.numbered)
        self.units = {
            run: _unit(kinematics, run, self.moments, rates, f"{prefix}")
            for run, prefix in self.numbered.items()
        }
        self.own: dict[Body, tuple[Triple, Triple]] = {}
        self.driven: list[Expr] = []
        self.rotors = armature_inertias(kinematics)
        self.steps: dict[Body, list[Step]] = {}

    def finish(self) -> None:
        """Write the loops of all runs."""
        for unit in self.units.values():
            self.writer.take(unit.sweeps.statements())

    # -- velocities --------------------------------------------------------------------------------
    def velocities(self, rates: Sequence[Expr]) -> None:
        """Find velocities, accelerations for some rates, and the bias forces that these cause."""
        kinematics, writer, links = self.kinematics, self.writer, self.links
        speeds = [s.symbol for s in kinematics.speeds]
        maker = LinkMaker(kinematics, writer)
        for item in self.items:
            if isinstance(item, LikeBodies):
                self._velocities_along(self.units[item])
                continue
            assert item.parent is not None
            link = maker(item, links.get(item.parent), self.moments[item])
            links[item] = link
            outward(kinematics, writer, links, link, speeds, rates)
            if kinematics.motions[item].absolute:
                free_acceleration(kinematics, writer, link, speeds, rates, NO_SHIFT)
        own, self.driven = own_forces(kinematics, writer, links)
        self.own = {b: (writer.triple(n), writer.triple(f)) for b, (n, f) in own.items()}

    def _velocities_along(self, unit: _Unit) -> None:
        run = unit.run
        above, raw = self.links[run.parent], unit.links

        def turn(inside: Writer, s: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
            known = {run.parent: _moving(above, s)}
            unit.bias, unit.links = [], []
            for made in raw:
                a, b, c = (inside.triple(row) for row in made.rotation)
                link = replace(made, rotation=(a, b, c), arm=inside.triple(made.arm))
                known[made.body] = link
                unit.links.append(link)
                outward(self.kinematics, inside, known, link, unit.speeds, unit.rates)
                force, moment = inertia_force(inside, link, link.moments)
                unit.bias.append((inside.triple(moment), inside.triple(force)))
            return _motion(inside, unit.links[-1]), []

        finals, _ = unit.sweeps.sweep(_motion(self.writer, above), turn)
        last = run.bodies[-1]
        reference = self.kinematics.motions[last].reference
        bare = replace(
            unit.links[-1], body=last, frame=last.frame, reference=reference, moments=NO_MASS
        )
        self.links[last] = _moving(bare, finals)

    # -- articulated bodies ------------------------------------------------------------------------
    def articulate(self) -> None:
        """Find how each body with what hangs on it answers an acceleration, from the leaves on."""
        received: dict[Body, Law] = {}
        for item in reversed(self.items):
            if isinstance(item, LikeBodies):
                parent = item.parent
                law = self._articulate_along(self.units[item], received[item.bodies[-1]])
            else:
                assert item.parent is not None
                parent = item.parent
                law = self._articulated(item, received.get(item))
            if parent in self.links:
                old = received.get(parent)
                received[parent] = law if old is None else law_of.joined(self.writer, old, law)

    def _articulated(self, body: Body, received: Law | None) -> Law:
        link, writer = self.links[body], self.writer
        law = law_of.rigid(link, *self.own[body])
        if received is not None:
            law = law_of.joined(writer, law, received)
        steps = self.steps[body] = []
        for k, omega, velocity in reversed(link.speeds):
            step = law_of.step(writer, law, k, omega, velocity, self.driven[k], self.rotors[k])
            steps.append(step)
            law = law_of.without(writer, law, step)
        return law_of.carried(writer, law, link)

    def _articulate_along(self, unit: _Unit, received: Law) -> Law:
        def turn(inside: Writer, s: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
            law = _law(s)
            unit.steps = []
            for link, own in zip(reversed(unit.links), reversed(unit.bias), strict=True):
                law = law_of.joined(inside, law_of.rigid(link, *own), law)
                unit.steps.insert(0, [])
                for k, omega, velocity in reversed(link.speeds):
                    driven, rotor = unit.driven[k], unit.rotors[k]
                    step = law_of.step(inside, law, k, omega, velocity, driven, rotor)
                    unit.steps[0].append(step)
                    law = law_of.without(inside, law, step)
                law = law_of.carried(inside, law, link)
            return [inside.hold(x) for x in _entries(law)], []

        finals, _ = unit.sweeps.sweep(
            [self.writer.hold(x) for x in _entries(received)], turn, inward=True
        )
        return _law(finals)

    def accelerations(self) -> tuple[Expr, ...]:
        """Return the rates of the speeds, once the bodies are articulated."""
        rates: dict[int, Expr] = {}
        found: dict[Body, tuple[Triple, Triple]] = {}
        for item in self.items:
            if isinstance(item, LikeBodies):
                reached = found[item.parent]
                found[item.bodies[-1]] = self._accelerate_along(self.units[item], reached, rates)
                continue
            assert item.parent is not None
            held = item.parent not in self.links or self.kinematics.motions[item].absolute
            above = None if held else found[item.parent]
            found[item] = law_of.accelerated(
                self.writer, self.links[item], self.steps[item], above, rates
            )
        return tuple(rates[k] for k in range(len(rates)))

    def _accelerate_along(
        self, unit: _Unit, above: tuple[Triple, Triple], rates: dict[int, Expr]
    ) -> tuple[Triple, Triple]:
        def turn(inside: Writer, s: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
            state = _triple(s[:3]), _triple(s[3:])
            own: dict[int, Expr] = {}
            for link, steps in zip(unit.links, unit.steps, strict=True):
                state = law_of.accelerated(inside, link, steps, state, own)
            return [*state[0], *state[1]], [own[k] for k in range(len(own))]

        finals, kept = unit.sweeps.sweep([*above[0], *above[1]], turn)
        _spread_out(unit, kept, rates)
        return _triple(finals[:3]), _triple(finals[3:])

    # -- inverse dynamics --------------------------------------------------------------------------
    def forces(self, rates: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return the forces in the joints, once velocities and bias forces are known."""
        writer = self.writer
        taken: dict[int, Expr] = {}
        received: dict[Body, tuple[Triple, Triple]] = {}
        for item in reversed(self.items):
            if isinstance(item, LikeBodies):
                parent = item.parent
                up = self._forces_along(self.units[item], received[item.bodies[-1]], taken)
            else:
                assert item.parent is not None
                parent = item.parent
                more = received.get(item, (NOTHING, NOTHING))
                link, own = self.links[item], self.own[item]
                up = _force(writer, link, own, more, rates, self.driven, self.rotors, taken)
            if parent in self.links:
                moment, force = received.get(parent, (NOTHING, NOTHING))
                received[parent] = add(moment, up[0]), add(force, up[1])
        return tuple(taken[k] for k in range(len(taken)))

    def _forces_along(
        self, unit: _Unit, received: tuple[Triple, Triple], taken: dict[int, Expr]
    ) -> tuple[Triple, Triple]:
        def turn(inside: Writer, s: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
            state = _triple(s[:3]), _triple(s[3:])
            found: dict[int, Expr] = {}
            for link, own in zip(reversed(unit.links), reversed(unit.bias), strict=True):
                state = _force(
                    inside, link, own, state, unit.rates, unit.driven, unit.rotors, found
                )
            return [*inside.triple(state[0]), *state[1]], [found[k] for k in range(len(found))]

        initial = [*self.writer.triple(received[0]), *self.writer.triple(received[1])]
        finals, kept = unit.sweeps.sweep(initial, turn, inward=True)
        _spread_out(unit, kept, taken)
        return _triple(finals[:3]), _triple(finals[3:])


def _force(
    writer: Writer,
    link: RecursionLink,
    own: tuple[Triple, Triple],
    received: tuple[Triple, Triple],
    rates: Sequence[Expr],
    driven: Sequence[Expr],
    rotors: Sequence[Expr],
    taken: dict[int, Expr],
) -> tuple[Triple, Triple]:
    """Find the forces in one joint; return moment and force on the parent, along its axes."""
    moment = writer.triple(add(own[0], received[0]))
    force = writer.triple(add(own[1], received[1]))
    for k, omega, velocity in link.speeds:
        parts = [dot(omega, moment), dot(velocity, force), rotors[k] * rates[k], -driven[k]]
        taken[k] = writer.hold(total(parts))
    back = transposed(link.rotation)
    up = writer.triple(apply(back, force))
    return add(apply(back, moment), cross(link.arm, up)), up


def _spread_out(unit: _Unit, kept: Sequence[Sequence[Expr]], into: dict[int, Expr]) -> None:
    """Put what sweeps kept for the speeds of the unit to the speeds of the tree."""
    for turn in range(unit.run.turns):
        for array, k in zip(kept, unit.indices(turn), strict=True):
            into[k] = array[turn]


# -- one turn of a run -----------------------------------------------------------------------------
def _unit(
    kinematics: Kinematics,
    run: LikeBodies,
    moments: dict[Body, Moments],
    rates: Sequence[Expr],
    prefix: str,
) -> _Unit:
    """Return the template of a turn."""
    owner, p = kinematics.mechanism.name, run.period
    shapes = Shapes({})
    rows = []
    for first in range(0, len(run.bodies), p):
        row: list[TemplateForm] = []
        for body, terms in zip(run.bodies[first : first + p], run.terms[first:], strict=False):
            row.extend(terms.forms)
            row.extend(shapes.form(x) for x in _flat(moments[body]))
            row.extend(shapes.form(rates[k]) for k, _, _ in terms.speeds if rates)
        rows.append(row)
    made, holes = template(rows, owner, prefix)
    rest = iter(made)

    def triple() -> Triple:
        return next(rest), next(rest), next(rest)

    links: list[RecursionLink] = []
    speeds: list[Expr] = []
    given: list[Expr] = []
    driven: list[Expr] = []
    rotors: list[Expr] = []
    for body, terms in zip(run.bodies[:p], run.terms[:p], strict=True):
        rotation, arm = (triple(), triple(), triple()), triple()
        start, own = len(speeds), len(terms.speeds)
        partials = [(start + k, triple(), triple()) for k in range(own)]
        driven.extend(next(rest) for _ in range(own))
        rotors.extend(next(rest) for _ in range(own))
        speeds.extend(next(rest) for _ in range(own))
        inertia = _moments([next(rest) for _ in range(10)])
        given.extend(next(rest) if rates else ZERO for _ in range(own))
        reference = kinematics.motions[body].reference
        links.append(
            RecursionLink(body, body.frame, DEFAULT, rotation, arm, reference, inertia, partials)
        )
    sweeps = Sweeps(owner, prefix, run.turns, holes)
    return _Unit(run, links, speeds, given, driven, rotors, sweeps)


def _moving(link: RecursionLink, s: Sequence[Expr]) -> RecursionLink:
    """Return a link with the motion that a sweep hands over."""
    return replace(
        link,
        omega=_triple(s[:3]),
        alpha=_triple(s[3:6]),
        acceleration=_triple(s[6:9]),
        spread=(_triple(s[9:12]), _triple(s[12:15]), _triple(s[15:18])),
    )


def _motion(writer: Writer, link: RecursionLink) -> list[Expr]:
    """Return what a link hands over to the next one."""
    spread = [x for row in spread_of(writer, link) for x in row]
    return [*link.omega, *link.alpha, *link.acceleration, *spread]


def _triple(v: Sequence[Expr]) -> Triple:
    a, b, c = v
    return a, b, c


def _entries(law: Law) -> list[Expr]:
    turning = [law.turning[i][j] for i, j in _PAIRS]
    moving = [law.moving[i][j] for i, j in _PAIRS]
    mixed = [x for row in law.mixed for x in row]
    return [*turning, *moving, *mixed, *law.moment, *law.force]


def _law(s: Sequence[Expr]) -> Law:
    mixed: Matrix = (_triple(s[12:15]), _triple(s[15:18]), _triple(s[18:21]))
    turning, moving = _symmetric(s[:6]), _symmetric(s[6:12])
    return Law(turning, mixed, moving, _triple(s[21:24]), _triple(s[24:27]))


def _symmetric(entries: Sequence[Expr]) -> Matrix:
    table = dict(zip(_PAIRS, entries, strict=True))
    return symmetric(lambda i, j: table[i, j])


# -- regrouping ------------------------------------------------------------------------------------
def _flat(m: Moments) -> list[Expr]:
    return [m.mass, *m.first, *(m.second[i][j] for i, j in _PAIRS)]


def _moments(s: Sequence[Expr]) -> Moments:
    return Moments(s[0], _triple(s[1:4]), _symmetric(s[4:10]))


def _regrouped(
    kinematics: Kinematics, writer: Writer, items: Sequence[Item], prefixes: dict[LikeBodies, str]
) -> dict[Body, Moments]:
    """Return the moments of all bodies, with what joints leave in place counted with the parent."""
    result: dict[Body, Moments] = {}
    received: dict[Body, Moments] = {}
    for item in reversed(items):
        if isinstance(item, LikeBodies):
            parent = item.parent
            given = received.get(item.bodies[-1], NO_MASS)
            own = {b: own_moments(b) for b in item.bodies}
            parts = [x for m in (given, *own.values()) for x in _flat(m)]
            moved = None
            if any(x.op != "num" for x in parts):
                prefix = f"{prefixes[item]}m"
                moved = _handed_in_a_loop(writer, item, own, given, result, prefix)
            if moved is None:
                moved = _handed_down(writer, item, own, given, result)
        else:
            assert item.parent is not None
            parent = item.parent
            moments = own_moments(item) + received.get(item, NO_MASS)
            moved = NO_MASS
            if not kinematics.motions[item].absolute:
                moments, moved = handed_over(item, moments)
            reference = kinematics.motions[item].reference
            if not reference.is_zero:
                x, y, z = reference.components(item.frame)
                moments = moments.moved((-x, -y, -z))
            result[item] = moments
        if parent.parent is not None:
            received[parent] = (received.get(parent, NO_MASS) + moved).held(writer)
    return result


def _handed_down(
    writer: Writer,
    run: LikeBodies,
    own: dict[Body, Moments],
    given: Moments,
    result: dict[Body, Moments],
) -> Moments:
    """Regroup a run body by body; return what goes to its parent."""
    for body in reversed(run.bodies):
        stays, moved = handed_over(body, own[body] + given)
        result[body], given = stays.held(writer), moved.held(writer)
    return given


class _UnlikeError(Exception):
    """Bodies that are alike in all but what they hand to their parents."""


def _handed_in_a_loop(
    writer: Writer,
    run: LikeBodies,
    own: dict[Body, Moments],
    given: Moments,
    result: dict[Body, Moments],
    prefix: str,
) -> Moments | None:
    """Regroup a run in a loop of the parameter stage; return what goes to its parent."""
    owner, p = writer.owner, run.period
    sweeps = Sweeps(owner, prefix, run.turns, ())

    def turn(inside: Writer, s: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        state, kept = _moments(s), list[Expr]()
        sweeps.holes.clear()
        for j in reversed(range(p)):
            marks = {x: k for k, x in enumerate(_flat(state)) if x.op == "sym"}
            shapes = Shapes(marks, deep=True)
            rows = []
            for body in run.bodies[j::p]:
                stays, moved = handed_over(body, own[body] + state)
                rows.append([shapes.form(x) for x in (*_flat(stays), *_flat(moved))])
            if any(x.shape != y.shape for row in rows for x, y in zip(row, rows[0], strict=True)):
                raise _UnlikeError
            made, holes = template(rows, owner, f"{prefix}{j}_")
            sweeps.holes.update((h.symbol, h.column) for h in holes)
            kept = [*made[:10], *kept]
            state = _moments(made[10:]).held(inside)
        return _flat(state), kept

    try:
        finals, arrays = sweeps.sweep(
            _flat(given.held(writer)), turn, inward=True, role="parameter"
        )
    except _UnlikeError:
        return None
    writer.take(sweeps.statements())
    for k, body in enumerate(run.bodies):
        number, j = divmod(k, p)
        result[body] = _moments([array[number] for array in arrays[10 * j : 10 * j + 10]])
    return _moments(finals)
