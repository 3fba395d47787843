"""Mobility: how many ways a machine can move, by count and in truth.

Kutzbach's count M = 6 (n - g - 1) + sum f takes links n (the ground among them), joints g and their
freedoms f, and nothing of where the joints are (Kutzbach, Mechanische Leitungsverzweigung, 1929).
The true mobility is the dimension of the motions at a closed configuration that is nothing special.
Where it is larger than the count, the machine is overconstrained: relations say twice what is so
already, and it binds without clearance. A motion that moves neither the platform nor an actuator,
such as the twist of a strut between two balls, is idle.

A rod of fixed length counts as a link with a ball and a universal joint, a driven strut as two
links with ball, slider and universal joint, so that neither twists. A relation that is not a
joint (a point held along one direction, a coordinate that follows another) takes one freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, evaluate_all, free_symbols
from linkwright.base.errors import InputError
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.equations.closure import Relations, closed_samples, rank_of
from linkwright.equations.evaluation import all_values
from linkwright.mechanism import Body, Joint, Mechanism, ModelLike, Work, mechanism_of

Array = NDArray[np.float64]
_SPACE = 6
_STILL = 1e-7  # of the largest velocity, which counts as none


@one_line
@dataclass(frozen=True, slots=True)
class Mobility(Result):
    """How a machine can move.

    Args:
        kutzbach: the count from links, joints and freedoms.
        true: degrees of freedom at a closed configuration that is nothing special.
        overconstraint: by how much the truth exceeds the count.
        idle: motions that move neither platform nor actuators, in words.
        links: the ground among them.
        joints: of the tree and of its loops.
        freedoms: of the joints together.
        relations: beside the joints.
        actuators: how many are named.

    >>> found = Mobility(-3, 3, 6, (), 8, 9, 9)
    >>> found.words.split("; ")[1]
    'overconstrained by 6'
    """

    kutzbach: int
    true: int
    overconstraint: int
    idle: tuple[str, ...]
    links: int
    joints: int
    freedoms: int
    relations: int = 0
    actuators: int = 0
    _also = ("words",)

    @property
    def words(self) -> str:
        """The counts and what they mean, in sentences.

        >>> Mobility(3, 3, 0, ("the strut twists freely",), 9, 11, 21).words
        "9 links and 11 joints with 21 freedoms: mobility 3, as Kutzbach's count; idle: the strut \
twists freely"
        """
        more = f", {_several(self.relations, 'other relation')}" if self.relations else ""
        counted = (
            f"{_several(self.links, 'link')} and {_several(self.joints, 'joint')} with "
            f"{_several(self.freedoms, 'freedom')}{more}"
        )
        if self.overconstraint:
            told = (
                f"{counted}: mobility {self.true}, where Kutzbach's count gives {self.kutzbach}; "
                f"overconstrained by {self.overconstraint}"
            )
        else:
            told = f"{counted}: mobility {self.true}, as Kutzbach's count"
        if self.idle:
            told += f"; idle: {', '.join(self.idle)}"
        short = self.true - len(self.idle) - self.actuators
        if self.actuators and short > 0:
            told += f"; {_several(self.actuators, 'actuator')}, {short} too few to hold it"
        return told


def mobility(model: ModelLike) -> Mobility:
    """Return how a machine can move, by Kutzbach's count and in truth.

    Args:
        model: a mechanism, a robot, a System, a file or the name of a shipped model; its parameters
            have values.

    >>> mobility("five-bar").true
    2
    """
    m = mechanism_of(model)
    links, joints, freedoms, relations = _counted(m)
    kutzbach = _SPACE * (links - joints - 1) + freedoms - relations
    missing = [name for name in m.parameters if name not in m.values]
    if missing:
        raise InputError(
            f"the mobility of {m.name!r} takes numbers, and {', '.join(missing[:5])} have none",
            remedy="give them values: m.defaults(...)",
        )
    true, idle = _moved(m)
    return Mobility(
        kutzbach,
        true,
        max(0, true - kutzbach),
        idle,
        links,
        joints,
        freedoms,
        relations,
        len(m.actuators),
    )


# -- the count -------------------------------------------------------------------------------------
def _counted(m: Mechanism) -> tuple[int, int, int, int]:
    """Return links, joints, freedoms, and relations beside the joints."""
    sliders = {strut.slider for strut in m.driven_struts}
    crosses = {b for b in m.bodies.values() if b.name.endswith("_cross") and _is_cross(m, b)}
    links, joints, freedoms = 1, 0, 0
    for body in m.bodies.values():
        if body in sliders:
            continue
        free = len(m.kinematics().motions[body].speeds)
        if body not in crosses and free > 0:
            links += 1
            joints += free < _SPACE
        freedoms += free % _SPACE
    stated = {name for loop in m.loops for name in loop.relations}
    for loop in m.loops:
        joints += 1
        freedoms += _freedom(loop.joint)
    relations = 0
    for c in m.constraints:
        if c.name in stated:
            continue
        if c.length is not None:
            links, joints, freedoms = links + 2, joints + 3, freedoms + 6
        elif _is_rod(c.works):
            links, joints, freedoms = links + 1, joints + 2, freedoms + 5
        else:
            relations += 1
    return links, joints, freedoms, relations


def _is_cross(m: Mechanism, body: Body) -> bool:
    """Whether a body is the cross of a universal joint, which is part of the joint."""
    own = m.bodies.get(body.name.removesuffix("_cross"))
    return own is not None and own.parent is body and not free_symbols(body.inertia.mass)


def _is_rod(works: Sequence[Work]) -> bool:
    """Whether a relation is that of two points at a distance: its force is along their span."""
    if len(works) != 1 or works[0].turns:
        return False
    (work,) = works
    return bool(work.direction == work.point.position - work.reaction.position)


def _freedom(joint: Joint) -> int:
    more = 0 if joint.second is None else _freedom(joint.second)
    return len(joint.translate) + len(joint.rotate) + more


# -- the truth -------------------------------------------------------------------------------------
def _moved(m: Mechanism) -> tuple[int, tuple[str, ...]]:
    """Return the degrees of freedom at closed configurations, and idle motions in words."""
    values = all_values(m, None)
    relations = Relations(m, values, backend="python")
    names = [u.name for u in relations.speeds]
    if not m.constraints:
        return len(names), ()
    samples = closed_samples(m, values) or _anywhere(relations, m)
    places = np.array([samples[q] for q in relations.coordinates]).T
    states = [s.initial for s in m.states]
    jacobians = [relations.speed(np.array([*q, *states]), 0.0)[0] for q in places]
    ranks = [rank_of(j) for j in jacobians]
    best = int(np.argmax(ranks))
    _, _, vt = np.linalg.svd(jacobians[best])
    motions = vt[ranks[best] :]
    return len(names) - ranks[best], _idle(m, relations, places[best], motions)


def _anywhere(relations: Relations, m: Mechanism) -> dict[Expr, Array]:
    """Return configurations of a mechanism without relations of position."""
    generator = np.random.default_rng(17)
    return {
        q: m.initial.get(q.name, 0.0) + 0.1 * generator.uniform(-1, 1, 4)
        for q in relations.coordinates
    }


def _idle(m: Mechanism, relations: Relations, q: Array, motions: Array) -> tuple[str, ...]:
    """Return the motions under which neither platform nor actuators move, in words."""
    if not len(motions) or (m.platform is None and not m.actuators):
        return ()
    rates = m.kinematics().rates
    held = [relations.speeds.index(rates[x]) for x in m.actuators if rates[x] in relations.speeds]
    sliders = {strut.slider for strut in m.driven_struts}
    bodies = [b for b in m.bodies.values() if b not in sliders]
    twists = _twists(m, relations, q, motions, bodies)
    rows = [motions[:, held]]
    if m.platform is not None:
        rows.append(twists[:, bodies.index(m.platform.point.body)])
    told = np.concatenate(rows, axis=1).T
    _, sizes, vt = np.linalg.svd(told)
    rank = int((sizes > _STILL * max(1.0, sizes.max(initial=0.0))).sum())
    free = np.tensordot(vt[rank:], twists, axes=1)
    return tuple(_said(motion, bodies) for motion in _apart(free))


def _twists(
    m: Mechanism, relations: Relations, q: Array, motions: Array, bodies: list[Body]
) -> Array:
    """Return angular velocity and velocity of the origin of each body in each motion."""
    known: dict[Expr, object] = {x: m.values.get(n, 0.0) for n, x in m.parameters.items()}
    known |= {x: m.values.get(n, 0.0) for n, x in m.inputs.items()}
    known |= {s.symbol: s.initial for s in m.states}
    known |= dict(zip(relations.coordinates, map(float, q), strict=True)) | {m.time: 0.0}
    known |= {u: motions[:, k] for k, u in enumerate(relations.speeds)}
    ground = m.ground.frame
    vectors = [(b.omega.components(ground), b.origin.velocity.components(ground)) for b in bodies]
    parts = [x for pair in vectors for v in pair for x in v]
    found = [
        np.broadcast_to(np.asarray(x, float), len(motions)) for x in evaluate_all(parts, known)
    ]
    return np.array(found).T.reshape(len(motions), len(bodies), 6)


def _apart(free: Array) -> list[Array]:
    """Return motions that span the same space and move as few bodies as can be, each of size 1."""
    if not len(free):
        return []
    rows = free.reshape(len(free), -1).copy()
    done = 0
    for k in range(rows.shape[1]):
        if done == len(rows):
            break
        pivot = done + int(np.abs(rows[done:, k]).argmax())
        if abs(rows[pivot, k]) < 1e-6:
            continue
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, k]
        for other in range(len(rows)):
            if other != done:
                rows[other] -= rows[other, k] * rows[done]
        done += 1
    kept = rows[:done]
    return [r.reshape(free.shape[1:]) / np.abs(r).max() for r in kept]


def _said(motion: Array, bodies: list[Body]) -> str:
    """Return an idle motion in words."""
    moving = [b.name for b, twist in zip(bodies, motion, strict=True) if np.abs(twist).max() > 1e-6]
    turning = np.abs(motion[:, :3]).max() > 1e-6
    names = [name for name in moving if not name.endswith("_cross")] or moving
    several = len(names) > 1
    who = f"{', '.join(names[:-1])} and {names[-1]}" if several else names[0]
    verb = ("twist" if several else "twists") if turning else ("slide" if several else "slides")
    return f"the {who} {verb} freely{' together' if several else ''}"


def _several(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"
