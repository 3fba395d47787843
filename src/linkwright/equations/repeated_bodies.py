"""Runs of like bodies in a tree: where a loop can take the place of one body after the other.

A run is a piece of a chain: each of its bodies is the only one on the body before it. Its bodies
are alike if rotation, arm, joint and what acts in the joint differ in symbols and numbers only;
where joints alternate, so many bodies as make one period are one turn of the loop. Inertial
parameters may be any. The body on the ground and the last one are left out, because regrouping
leaves them other parameters than the rest, and so is a body that the ground pushes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from linkwright.algebra import ZERO, Expr, substitute_all
from linkwright.algebra.triples import Matrix, Triple
from linkwright.equations.links import rotation_between
from linkwright.equations.rnea import armature_inertias, joint_forces
from linkwright.equations.templates import Shapes, TemplateForm
from linkwright.mechanism import Body, Kinematics

_PERIOD = 6  # bodies in one turn of a loop, at most
_TURNS = 8  # turns below which there is no loop


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """What the equations of one body are made of, its inertia apart."""

    rotation: Matrix  # its axes in those of the parent
    arm: Triple  # from the parent's reference point to its origin, along the parent's axes
    # index, angular and translational partial velocity of each speed
    speeds: tuple[tuple[int, Triple, Triple], ...]
    driven: tuple[Expr, ...]  # what acts in the joint, for each speed
    rotors: tuple[Expr, ...]  # the inertia of the geared rotor of each speed
    symbols: tuple[Expr, ...]  # the speeds themselves
    forms: tuple[TemplateForm, ...]  # all of these

    @property
    def shape(self) -> tuple[int, ...]:
        """What like bodies have in common."""
        return tuple(f.shape for f in self.forms)


@dataclass(frozen=True, slots=True, eq=False)
class LikeBodies:
    """Like bodies, from the root outward."""

    bodies: tuple[Body, ...]
    period: int
    terms: tuple[Terms, ...]

    @property
    def turns(self) -> int:
        """The number of turns."""
        return len(self.bodies) // self.period

    @property
    def parent(self) -> Body:
        """The body that the first one is on."""
        parent = self.bodies[0].parent
        assert parent is not None
        return parent


Item: TypeAlias = Body | LikeBodies


def plan(kinematics: Kinematics, without: Sequence[Expr] = ()) -> list[Item]:
    """Return the bodies of a tree, parents first, runs of like bodies together.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("chain")
    >>> last = m.ground
    >>> for k in range(20):
    ...     last = m.body(f"b{k}", parent=last, rotate="z", at=(1, 0, 0), mass=1)
    >>> [x.turns if isinstance(x, LikeBodies) else x.name for x in plan(m.kinematics())]
    ['b0', 18, 'b19']
    """
    reader = _Reader(kinematics, without)
    items: list[Item] = []
    for chain in _chains(kinematics, reader):
        items.extend(_cut(chain, reader))
    return items


def longest(items: Sequence[Item]) -> int:
    """Return the number of bodies in the longest run."""
    return max((len(x.bodies) for x in items if isinstance(x, LikeBodies)), default=0)


class _Reader:
    """Finds the terms of bodies."""

    def __init__(self, kinematics: Kinematics, without: Sequence[Expr]) -> None:
        self.kinematics = kinematics
        marks: dict[Expr, int] = {}
        for body, motion in kinematics.motions.items():
            own = [*body.coordinates, *(s.symbol for s in motion.speeds)]
            marks.update((x, k) for k, x in enumerate(own))
        self.shapes = Shapes(marks)
        self.index = {s.symbol: k for k, s in enumerate(kinematics.speeds)}
        self.driven = joint_forces(kinematics)
        if without:
            self.driven = substitute_all(self.driven, dict.fromkeys(without, ZERO))
        self.rotors = armature_inertias(kinematics)
        mechanism = kinematics.mechanism
        pushed = [(f.point.body, f.reaction) for f in mechanism.forces]
        pushed += [(c.body, c.reaction) for c in mechanism.moments]
        self.pushed = {b for pair in pushed if any(x.parent is None for x in pair) for b in pair}

    def may_run(self, body: Body) -> bool:
        """Whether a body may be one of a run."""
        assert body.parent is not None
        motion = self.kinematics.motions[body]
        inner = body.parent.parent is not None and bool(self.kinematics.mechanism.children(body))
        plain = not motion.absolute and motion.reference.is_zero and motion.speeds
        return inner and bool(plain) and body not in self.pushed

    def terms(self, body: Body) -> Terms:
        """Return what the equations of a body are made of."""
        parent, motion = body.parent, self.kinematics.motions[body]
        assert parent is not None
        rotation = rotation_between(body.frame, parent.frame)
        base = self.kinematics.motions[parent].reference
        arm = (body.from_parent - base).components(parent.frame)
        frame = body.frame
        speeds = tuple(
            (self.index[s.symbol], s.omega.components(frame), s.velocity.components(frame))
            for s in motion.speeds
        )
        driven = tuple(self.driven[k] for k, _, _ in speeds)
        rotors = tuple(self.rotors[k] for k, _, _ in speeds)
        symbols = tuple(s.symbol for s in motion.speeds)
        partials = [x for _, omega, velocity in speeds for x in (*omega, *velocity)]
        everything = [*(x for row in rotation for x in row), *arm, *partials]
        everything += [*driven, *rotors, *symbols]
        forms = tuple(self.shapes.form(x) for x in everything)
        return Terms(rotation, arm, speeds, driven, rotors, symbols, forms)


def _chains(kinematics: Kinematics, reader: _Reader) -> Iterator[list[Body]]:
    """Yield bodies in depth-first order: those that might be a run together, others alone."""
    chain: list[Body] = []
    for body in kinematics.mechanism.depth_first():
        follows = chain and body.parent is chain[-1]
        alone = len(kinematics.mechanism.children(body.parent)) == 1 if body.parent else False
        if chain and not (follows and alone and reader.may_run(body)):
            yield chain
            chain = []
        if reader.may_run(body):
            chain.append(body)
        else:
            yield [body]
    if chain:
        yield chain


def _cut(chain: Sequence[Body], reader: _Reader) -> Iterator[Item]:
    """Yield the runs of a chain and the bodies between them."""
    if len(chain) < _TURNS:
        yield from chain
        return
    terms = [reader.terms(b) for b in chain]
    numbers: dict[tuple[int, ...], int] = {}
    shapes = [numbers.setdefault(t.shape, len(numbers)) for t in terms]
    start = 0
    while start < len(chain):
        best, period = 0, 1
        for p in range(1, _PERIOD + 1):
            covered = _covered(shapes, start, p)
            if covered >= _TURNS * p and covered > best:
                best, period = covered, p
        if best:
            end = start + best
            yield LikeBodies(tuple(chain[start:end]), period, tuple(terms[start:end]))
            start = end
        else:
            yield chain[start]
            start += 1


def _covered(shapes: Sequence[int], start: int, period: int) -> int:
    """Return how many bodies from a place on repeat the first ones, in whole periods."""
    end = start + period
    while end < len(shapes) and shapes[end] == shapes[end - period]:
        end += 1
    return (end - start) // period * period if end > start + period else 0
