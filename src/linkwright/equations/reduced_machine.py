"""A parallel machine in fewer and better coordinates, with the same poses and singularities.

Two exact steps, for machines whose loops are closed by ball joints and driven struts alone:

- the tree is cut elsewhere: of the ball joints, those nearest the ground carry the tree, by three
  angles in place of a quaternion, and the others are cut, so that the platform hangs on the ground
  by the shortest chain. The rank that the relations lack is the same for every tree of the same
  joints, as long as the angles are regular, and where they are not, the relations are singular;
- a leg that hangs in a universal joint and ends in a ball, with a slider between them or none, has
  no say but in its length. With d from joint to ball and axes w1, w2 of the joint, its three
  relations by its two angles have the columns w1 x d and w2 x d, across d. Where these are
  independent, what is left of the three is their part along d, the rate of |d|^2 / 2: one relation
  between the ends. As (w1 x d) x (w2 x d) = d (d . (w1 x w2)), they are where
  |w1 x d|^2 - (w2 . d)^2 > 0: the leg has a length, and w1 does not lie along it. This is the
  leg's condition, which is left to whoever asks (`conditions`).

A joint that is passed against its direction turns by the transposed matrix: axes are taken as unit
vectors across each other, as they are meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    constant,
    cos,
    evaluate_all,
    free_symbols,
    sin,
    symbol,
)
from linkwright.algebra.triples import (
    IDENTITY,
    NOTHING,
    Matrix,
    Triple,
    apply,
    cross,
    dot,
    matrix_product,
    transposed,
)
from linkwright.base.reprs import one_line
from linkwright.equations.evaluation import all_values
from linkwright.equations.parallel_machine import ParallelMachine
from linkwright.mechanism.parts import Body, Point

Array = NDArray[np.float64]
_HALF = constant(0.5)


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class ReducedMachine:
    """A parallel machine after its reduction."""

    machine: ParallelMachine  # in its new coordinates, with the mechanism of the original
    original: ParallelMachine = field(repr=False)  # before
    # expressions of the new coordinates; where all are positive, what was removed is regular, and
    # the machine is singular just where the original is
    conditions: tuple[Expr, ...] = field(repr=False)
    # the new angles of ball joints, three for each, with the rows of the rotation that they stand
    # for, by the coordinates of the original
    angles: tuple[tuple[tuple[Expr, ...], Matrix], ...] = field(repr=False)
    words: tuple[str, ...]  # what was done, one clause for each

    def coordinates(self, q: Array) -> Array:
        """Return the new coordinates of a pose."""
        m = self.original.mechanism
        values = all_values(m, None)
        given: dict[Expr, object] = {x: values.get(x.name, 0.0) for x in self.original.parameters}
        known = dict(zip(self.original.coordinates, map(float, q), strict=True))
        given |= known
        given[m.time] = 0.0
        for angles, rows in self.angles:
            r = np.array(evaluate_all([x for row in rows for x in row], given)).reshape(3, 3)
            known[angles[0]] = float(np.arctan2(-r[1, 2], r[2, 2]))
            known[angles[1]] = float(np.arctan2(r[0, 2], np.hypot(r[1, 2], r[2, 2])))
            known[angles[2]] = float(np.arctan2(-r[0, 1], r[0, 0]))
        return np.array([known[x] for x in self.machine.coordinates])


def reduced_machine(machine: ParallelMachine) -> ReducedMachine:
    """Return a machine in fewer and better coordinates; one that offers none, as it is.

    >>> from linkwright.equations.parallel_machine import parallel_machine
    >>> mount = parallel_machine("mount-prismatic")
    >>> reduced = reduced_machine(mount)
    >>> len(mount.coordinates), len(reduced.machine.coordinates), len(reduced.machine.relations)
    (18, 13, 11)
    """
    same = ReducedMachine(machine, machine, (), (), ())
    m = machine.mechanism
    covered = {name for loop in m.loops if _is_ball(loop.joint) for name in loop.relations}
    covered |= {c.name for c in m.constraints if c.length is not None}
    if not m.loops or any(c.position is None or c.name not in covered for c in m.constraints):
        return same
    if any(len(x.relations) != 3 for x in m.loops):
        return same
    return _Reduction(machine).made()


def _is_ball(joint: object) -> bool:
    return (
        len(getattr(joint, "rotate", ())) == 3
        and not getattr(joint, "translate", ())
        and getattr(joint, "second", None) is None
    )


def _sum(a: Triple, b: Triple, sign: int = 1) -> Triple:
    x, y, z = (p + sign * q for p, q in zip(a, b, strict=True))
    return x, y, z


def _angles(a: Expr, b: Expr, c: Expr) -> Matrix:
    """Return the rotation by three angles about x, then y, then z of the turned axes."""
    x: Matrix = ((ONE, ZERO, ZERO), (ZERO, cos(a), -sin(a)), (ZERO, sin(a), cos(a)))
    y: Matrix = ((cos(b), ZERO, sin(b)), (ZERO, ONE, ZERO), (-sin(b), ZERO, cos(b)))
    z: Matrix = ((cos(c), -sin(c), ZERO), (sin(c), cos(c), ZERO), (ZERO, ZERO, ONE))
    return matrix_product(matrix_product(x, y), z)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Where a body is: rows that take its components to the ground's, its origin, and its chain."""

    rows: Matrix
    origin: Triple
    chain: tuple[Body, ...]
    before: tuple[Expr, ...]  # coordinates from the ground to it

    def at(self, local: Triple) -> Triple:
        return _sum(self.origin, apply(self.rows, local))


@dataclass(frozen=True, slots=True, eq=False)
class _Ball:
    """A ball joint, in the tree or closing a loop."""

    name: str
    first: Body
    one: Triple
    second: Body
    two: Triple


@dataclass(frozen=True, slots=True, eq=False)
class _Leg:
    """A chain that has no say but in its length."""

    host: Body
    hip: Triple
    axis: Triple  # of the first rotation, in the host
    across: Expr  # the part of d along the second axis
    square: Expr  # of the length
    angles: tuple[Expr, ...]
    bodies: tuple[Body, ...]


class _Reduction:
    """The steps of one reduction."""

    def __init__(self, machine: ParallelMachine) -> None:
        self.machine, self.m = machine, machine.mechanism
        barred = {r.coordinate for r in self.m.ranges} | set(machine.actuators)
        bodies = [b for b in self.m.bodies.values() if b.parent is not None]
        sliders = {s.slider for s in self.m.driven_struts}
        self.barred = barred
        self.bodies = [b for b in bodies if b not in sliders]
        free = [
            b for b in self.bodies if _is_ball(b.joint) and not barred.intersection(b.coordinates)
        ]
        self.links = [b for b in self.bodies if b not in free]
        self.balls = [
            _Ball(f"{b.name} on {_up(b).name}", _up(b), _shift(b), b, NOTHING) for b in free
        ] + [
            _Ball(x.name, x.first.body, _local(x.first), x.second.body, _local(x.second))
            for x in self.m.loops
        ]
        self.own = len(free)  # those of the tree come first
        self.places: dict[Body, _Place] = {}
        self.new: list[tuple[tuple[Expr, ...], Matrix]] = []
        self.words: list[str] = []

    def made(self) -> ReducedMachine:
        """Return what is left."""
        cut = self._grown()
        legs: dict[_Ball, tuple[_Leg, Triple, Body]] = {}
        for ball in cut:
            for end, own, other, far in (
                (ball.second, ball.two, ball.first, ball.one),
                (ball.first, ball.one, ball.second, ball.two),
            ):
                leg = self._leg(end, own, ball, cut)
                if leg is not None and ball not in legs:
                    legs[ball] = (leg, far, other)
        relations: list[Expr] = []
        names: list[str] = []
        conditions: list[Expr] = []
        gone = {x for leg, _, _ in legs.values() for x in leg.angles}
        for ball in cut:
            if ball in legs:
                leg, far, other = legs[ball]
                host = self.places[leg.host]
                d = _sum(self.places[other].at(far), host.at(leg.hip), -1)
                relations.append(_HALF * (dot(d, d) - leg.square))
                names.append(f"{ball.name}: the length of {leg.bodies[-1].name}")
                own = apply(transposed(host.rows), d)
                aside = cross(leg.axis, own)
                conditions.append(dot(aside, aside) - leg.across**2)
                chain = ", ".join(b.name for b in leg.bodies)
                self.words.append(f"the leg {chain} became one relation of its length")
                continue
            gap = _sum(
                self.places[ball.second].at(ball.two), self.places[ball.first].at(ball.one), -1
            )
            relations += gap
            names += [f"{ball.name}: no movement along {x}" for x in "xyz"]
        for s in self.m.driven_struts:
            gap = _sum(self._at(s.second), self._at(s.first), -1)
            relations.append(_HALF * (dot(gap, gap) - s.length**2))
            names.append(f"{s.name} is as long as it is driven")
        turned = {x for ball in self.balls[: self.own] for x in ball.second.coordinates}
        kept = [x for x in self.machine.coordinates if x not in turned and x not in gone]
        kept += [x for angles, _ in self.new for x in angles]
        platform = self.machine.platform
        where, turn = self.places[platform.point.body], platform.point.inward
        a, b, c = where.rows
        axis = platform.axis.components(platform.point.body.frame)
        reduced = ParallelMachine(
            self.m,
            tuple(kept),
            tuple(relations),
            tuple(names),
            self.machine.actuators,
            self._at(platform.point),
            (turn(a), turn(b), turn(c)),
            apply(where.rows, axis),
        )
        return ReducedMachine(
            reduced, self.machine, tuple(conditions), tuple(self.new), tuple(self.words)
        )

    def _at(self, point: Point) -> Triple:
        return self.places[point.body].at(_local(point))

    # -- another tree ------------------------------------------------------------------------------
    def _grown(self) -> list[_Ball]:
        """Place all bodies, from the ground on; return the ball joints that are cut."""
        ground = self.m.ground
        self._spread(_Place(IDENTITY, NOTHING, (), ()), ground)
        left = list(self.balls)
        while len(self.places) < len(self.bodies) + 1:
            open_ = [b for b in left if (b.first in self.places) != (b.second in self.places)]
            ball = min(open_, key=self._cost)
            left.remove(ball)
            self._hang(ball)
        return left

    def _ends(self, ball: _Ball) -> tuple[Body, Body]:
        return (ball.first, ball.second) if ball.first in self.places else (ball.second, ball.first)

    def _cost(self, ball: _Ball) -> tuple[int, int]:
        """Return how many coordinates lead over a ball to the platform, and to the ball."""
        near, far = self._ends(ball)
        before = len(self.places[near].before)
        goal = self.machine.platform.point.body
        seen = {far: 0}
        queue = [far]
        for body in queue:
            for other, link in self._neighbors(body):
                if other not in seen:
                    seen[other] = seen[body] + len(link.coordinates)
                    queue.append(other)
        return before + seen.get(goal, 0), before

    def _neighbors(self, body: Body) -> Iterable[tuple[Body, Body]]:
        """Return the bodies that links join to one, each with the link's lower body."""
        for b in self.links:
            if _up(b) is body:
                yield b, b
            elif b is body:
                yield _up(b), b

    def _spread(self, place: _Place, start: Body) -> None:
        """Place a body, and what links join to it."""
        self.places[start] = place
        queue = [start]
        for body in queue:
            here = self.places[body]
            for other, link in self._neighbors(body):
                if other in self.places:
                    continue
                rows, shift = _rows(link, _up(link)), _shift(link)
                if other is not link:  # up the tree
                    rows = transposed(rows)
                    back = apply(rows, shift)
                    shift = (-back[0], -back[1], -back[2])
                self.places[other] = _Place(
                    matrix_product(here.rows, rows),
                    here.at(shift),
                    (*here.chain, other),
                    (*here.before, *link.coordinates),
                )
                queue.append(other)

    def _hang(self, ball: _Ball) -> None:
        """Place what hangs on a ball joint, by three angles."""
        near, far = self._ends(ball)
        own, other = (ball.one, ball.two) if near is ball.first else (ball.two, ball.one)
        angles = tuple(
            symbol(f"{far.name}_by_{x}", "coordinate", owner=f"{self.m.name} reduced")
            for x in "xyz"
        )
        here = self.places[near]
        rows = matrix_product(here.rows, _angles(*angles))
        shift = apply(rows, other)
        origin = _sum(here.at(own), shift, -1)
        place = _Place(rows, origin, (*here.chain, far), (*here.before, *angles))
        self.new.append((angles, _rows(far, near)))
        on = "the ground" if near is self.m.ground else near.name
        self.words.append(f"{far.name} turns on {on} by three angles")
        self._spread(place, far)

    # -- legs --------------------------------------------------------------------------------------
    def _leg(self, end: Body, tip: Triple, ball: _Ball, cut: Sequence[_Ball]) -> _Leg | None:
        """Return the leg that ends in a body: two hinges that meet at right angles, a slider."""
        chain = self.places[end].chain
        for count in (3, 2):
            bodies = chain[-count:]
            if len(bodies) != count or any(_up(b) is not a for a, b in pairwise(bodies)):
                continue
            one, two, *slider = bodies
            host = _up(one)
            if host not in self.places or one not in self.links:
                continue
            if self.places[one].chain != (*self.places[host].chain, one):
                continue  # it is reached from elsewhere
            if any(len(b.rotations) != 1 or b.translations for b in (one, two)):
                continue
            if any(b.rotations or len(b.translations) != 1 for b in slider):
                continue
            angles = (*one.rotations, *two.rotations)
            if self.barred.intersection(angles) or self._used(bodies, ball, cut):
                continue
            reach = tip if not slider else _sum(_shift(slider[0]), apply(_rows(end, two), tip))
            along, turn = one.frame.spins[0][1], two.frame.spins[0][1]
            first = along.components(one.frame)
            second = turn.components(one.frame)
            if dot(first, second) is not ZERO or any(x is not ZERO for x in _shift(two)):
                continue
            if set(free_symbols(*reach)).intersection(angles):
                continue
            return _Leg(
                host,
                _shift(one),
                along.components(host.frame),
                dot(reach, turn.components(two.frame)),
                dot(reach, reach),
                angles,
                tuple(bodies),
            )
        return None

    def _used(self, bodies: Sequence[Body], ball: _Ball, cut: Sequence[_Ball]) -> bool:
        """Whether anything but one ball joint hangs on a chain of bodies."""
        own = set(bodies)
        joined = [b for x in cut if x is not ball for b in (x.first, x.second)]
        joined += [p.body for s in self.m.driven_struts for p in (s.first, s.second)]
        joined.append(self.machine.platform.point.body)
        beyond = [b for b in self.places if b not in own and own & set(self.places[b].chain)]
        both = ball.first in own and ball.second in own
        return bool(beyond) or both or bool(own.intersection(joined))


def _up(body: Body) -> Body:
    assert body.parent is not None, "the ground hangs on nothing"
    return body.parent


def _local(point: Point) -> Triple:
    return point.local.components(point.body.frame)


def _shift(body: Body) -> Triple:
    """Return where a body's origin is in its parent."""
    return body.from_parent.components(_up(body).frame)


def _rows(body: Body, seen_from: Body) -> Matrix:
    """Return rows that take the components of a body to those of another."""
    x, y, z = (a.components(seen_from.frame) for a in body.frame.axes)
    return transposed((x, y, z))
