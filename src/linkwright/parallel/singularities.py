"""Singular poses of machines with closed loops: which kind, which motion, how far away.

All motions that a machine can make at a pose are the null space of its constraint Jacobian. Each
moves actuators, platform and passive joints. A pose is singular where these parts fit together in
another way than they do around it. The kinds are those of Gosselin and Angeles (*Singularity
analysis of closed-loop kinematic chains*, IEEE Transactions on Robotics and Automation 6, 1990):

- type 1: the platform loses a motion, while actuators can move with it at rest;
- type 2: with its actuators locked the platform still moves;
- type 3: both;

of Zlatanov, Bonev and Gosselin (*Constraint singularities of parallel mechanisms*, ICRA 2002):

- constraint: the platform gains a freedom, whatever the actuators do;

and the six of Zlatanov, Fenton and Benhabib (*A unifying framework for classification and
interpretation of mechanism singularities*, Journal of Mechanical Design 117, 1995): redundant input
(RI), redundant output (RO), impossible input (II), impossible output (IO), redundant passive motion
(RPM), increased instantaneous mobility (IIM).

What holds around every pose is not a singularity: redundant relations, and idle motions that
neither actuators nor platform feel (a strut that twists between two ball joints). Both are
counted at random configurations nearby.

How far away: motions are measured in radians, lengths by a characteristic length. The distance to
type 2 is the smallest share that actuators have in a motion, |actuators| / |actuators and
platform|; to type 1 the smallest share of the platform; to a passive motion the smallest share of
both in all coordinates; to a constraint singularity the smallest singular value of the relations'
Jacobian that is not zero everywhere, each relation by its largest gradient nearby.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from linkwright.base.arguments import worded
from linkwright.base.errors import DomainError, InputError
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.mechanism import ModelLike
from linkwright.parallel.machine_rates import (
    OUTPUTS,
    Array,
    Coordinates,
    MachineRates,
    machine_rates,
)
from linkwright.parallel.screws import Screw, screw_of

TOLERANCE = 1e-6
_RANK = 1e-7
_ASIDE = 1e-4


@one_line
@dataclass(frozen=True, slots=True)
class Singularity(Result):
    """What kind of pose a machine is in.

    Args:
        kind: "regular", "type 1", "type 2", "type 3", "constraint" or "passive".
        kinds: those of Zlatanov's six that hold, such as ("RO", "II").
        words: one sentence.
        gained: motions that the platform has with its actuators locked.
        lost: motions that it has around this pose and not here.
        distances: to each kind, between 0 and 1, without unit.
        mobility: freedoms at this pose, idle ones apart.
        idle: motions that neither actuators nor platform feel anywhere.
        length: the characteristic length, m, that a radian counts for.
        coordinates: of the pose, by name.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("arm")
    >>> upper = m.body("upper", rotate="z")
    >>> lower = m.body("lower", parent=upper, at=(1, 0, 0), rotate="z")
    >>> m.actuate("upper", "lower")
    >>> p = m.set_platform(m.point("tip", lower, (1, 0, 0)))
    >>> found = singularity(m, [0.5, 0.0], output="position")
    >>> found.kind, found.kinds, found.screw.words
    ('type 1', ('RI', 'IO'), 'move along (0.88, 0.48, 0)')
    """

    kind: str
    kinds: tuple[str, ...]
    words: str
    gained: tuple[Screw, ...]
    lost: tuple[Screw, ...]
    distances: Mapping[str, float]
    mobility: int
    idle: int
    length: float
    coordinates: Mapping[str, float] = field(repr=False)
    _also = ("distance", "scaling")

    @property
    def singular(self) -> bool:
        """Whether the pose is singular."""
        return self.kind != "regular"

    @property
    def screw(self) -> Screw | None:
        """The first motion gained, else the first lost; None at a regular pose."""
        return next(iter((*self.gained, *self.lost)), None)

    @property
    def distance(self) -> float:
        """To the nearest kind of singularity."""
        return min(self.distances.values())

    @property
    def scaling(self) -> str:
        """How lengths and angles were made comparable."""
        return f"{self.length:.4g} m count as much as a radian"


@dataclass(frozen=True, slots=True)
class _Motions:
    """The motions at one pose: how many of each sort, and those that matter."""

    mobility: int
    idle: int
    unmoved: int  # motions with all actuators at rest, in which the platform moves
    spare: int  # motions with the platform at rest, in which actuators move
    stiffness: Array  # singular values of the scaled Jacobian, smallest first, padded by zeros
    felt: Array  # singular values of actuators and platform on all motions, smallest first
    shares: Array  # of the actuators, smallest first
    returns: Array  # of the platform, smallest first
    by_locked: Array  # scaled rates of the coordinates, columns in the order of `shares`
    by_platform: Array  # the same, in the order of `returns`
    outputs: Array  # orthonormal scaled twists that the platform can have, as columns


@worded
def singularity(
    model: ModelLike,
    q: Coordinates | None = None,
    *,
    output: str = "pose",
    length: float | None = None,
    tolerance: float = TOLERANCE,
) -> Singularity:
    """Say whether a machine with closed loops is singular at a pose, and how.

    Args:
        model: with actuators and a platform: a robot, a mechanism, a file or a shipped model.
        q: all coordinates in order, or some by name (those of the actuators, say), rad or m; the
            others are computed so that the loops close. By default the machine's own configuration.
        output: what the platform is for: "pose", "direction" (the roll about it does not count) or
            "position".
        length: that counts as much as a radian, m. By default the root mean square of the distances
            from the platform's point to the places where loops are closed.
        tolerance: distance below which a pose counts as singular.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("slider crank")
    >>> crank = m.body("crank", rotate="z")
    >>> rod = m.body("rod", parent=crank, at=(1, 0, 0), rotate="z")
    >>> c = m.constrain_points(m.point("tip", rod, (2, 0, 0)), m.origin, "y")
    >>> m.actuate("crank")
    >>> p = m.set_platform("tip")
    >>> singularity(m, {"crank": 0.0}, output="position").words
    'type 1: the rod cannot move along (1, 0, 0), while crank moves'
    """
    if output not in OUTPUTS:
        raise InputError(f"output is {output!r}", remedy=f"one of {', '.join(OUTPUTS)}")
    rates = machine_rates(model, length=length)
    return singularity_at(rates, rates.coordinates(q), output, tolerance)


def singularity_at(
    rates: MachineRates, q: Array, output: str = "pose", tolerance: float = TOLERANCE
) -> Singularity:
    """Return the kind of pose of a compiled machine at closed coordinates."""
    generic, weights = generic_motions(rates, q, output)
    here = motions_at(rates, q, weights, output, tolerance)
    kinds = _zlatanov(here, generic)
    distances = _distances(here, generic)
    kind = _kind(kinds, here, generic)
    gained = tuple(
        screw_of(x, rates.at(q).position, rates.length) for x in _gained(rates, q, here, output)
    )
    lost: tuple[Screw, ...] = ()
    if "IO" in kinds:
        lost = tuple(
            screw_of(x, rates.at(q).position, rates.length)
            for x in _lost(rates, q, here, weights, output)
        )
    words = _words(rates, here, kind, kinds, gained, lost, distances)
    return Singularity(
        kind,
        kinds,
        words,
        gained if kind != "regular" else (),
        lost if kind != "regular" else (),
        MappingProxyType(distances),
        here.mobility - generic.idle,
        generic.idle,
        rates.length,
        MappingProxyType(dict(zip(rates.names, map(float, q), strict=True))),
    )


# -- motions at a pose -----------------------------------------------------------------------------
def motions_at(
    rates: MachineRates, q: Array, weights: Array, output: str, tolerance: float
) -> _Motions:
    """Return the motions at closed coordinates, those below the tolerance counted as none."""
    now = rates.at(q)
    n = len(q)
    jacobian = now.jacobian * rates.scales / weights[:, None]
    platform = rates.output(now, output) * rates.scales
    stiff, basis = _right(jacobian, n)
    mobility = int((stiff <= tolerance).sum())
    free = basis[:, :mobility]
    actuators = free[rates.driven]
    felt, turn = _right(np.vstack([actuators, platform @ free]), mobility)
    idle = int((felt <= tolerance).sum())
    moving = free @ turn[:, idle:]
    both = np.vstack([moving[rates.driven], platform @ moving])
    orthogonal, triangle = np.linalg.qr(both)
    own = orthogonal[: len(rates.driven)]
    others = orthogonal[len(rates.driven) :]
    shares, locked = _right(own, moving.shape[1])
    returns, resting = _right(others, moving.shape[1])
    spare = int((returns <= tolerance).sum())
    backward = moving @ np.linalg.inv(triangle)
    reached = others @ resting[:, spare:]
    return _Motions(
        mobility,
        idle,
        int((shares <= tolerance).sum()),
        spare,
        stiff,
        felt,
        shares,
        returns,
        backward @ locked,
        backward @ resting,
        np.linalg.qr(reached)[0],
    )


def _right(matrix: Array, n: int) -> tuple[Array, Array]:
    """Return n singular values, smallest first, and the right singular vectors as columns."""
    _, s, vt = np.linalg.svd(matrix, full_matrices=True)
    values = np.zeros(n)
    values[: len(s)] = s[:n]
    return values[::-1], vt[::-1].T


def generic_motions(rates: MachineRates, q: Array, output: str) -> tuple[_Motions, Array]:
    """Return the motions at a regular configuration nearby, and the size of each relation."""
    around = rates.samples(q)
    if not len(around):
        raise DomainError(
            f"{rates.machine.mechanism.name!r} has no other closed configuration near this one",
            remedy="it is rigid here: give another pose, or more freedoms",
        )
    rows = np.linalg.norm(rates.at(around).jacobian * rates.scales, axis=-1)
    weights = np.maximum(rows.max(axis=0, initial=0.0), 1e-300)
    found = [motions_at(rates, x, weights, output, _RANK) for x in around]
    best = min(found, key=lambda m: (m.mobility, m.idle, m.unmoved, m.spare))
    if not _rank_of_platform(best):
        raise DomainError(
            f"the {output} of the platform of {rates.machine.mechanism.name!r} never changes",
            remedy="choose another output or platform",
        )
    if best.unmoved:
        count, driven = best.mobility - best.idle, len(rates.driven)
        raise DomainError(
            f"{rates.machine.mechanism.name!r} has {count} freedoms and {driven} "
            f"actuator{'s' if driven > 1 else ''}: with {'these' if driven > 1 else 'it'} locked "
            "its platform moves in every pose",
            remedy="name more actuators",
        )
    return best, weights


def _zlatanov(here: _Motions, generic: _Motions) -> tuple[str, ...]:
    """Return which of the six kinds hold."""
    found = {
        "RI": here.spare > generic.spare,
        "RO": here.unmoved > generic.unmoved,
        "II": _rank_of_actuators(here) < _rank_of_actuators(generic),
        "IO": _rank_of_platform(here) < _rank_of_platform(generic),
        "RPM": here.idle > generic.idle,
        "IIM": here.mobility > generic.mobility,
    }
    return tuple(name for name, holds in found.items() if holds)


def _rank_of_actuators(motions: _Motions) -> int:
    return motions.mobility - motions.idle - motions.unmoved


def _rank_of_platform(motions: _Motions) -> int:
    return motions.mobility - motions.idle - motions.spare


def _kind(kinds: tuple[str, ...], here: _Motions, generic: _Motions) -> str:
    if _rank_of_platform(here) > _rank_of_platform(generic):
        return "constraint"
    first, second = "RI" in kinds, "RO" in kinds
    if first or second:
        return "type 3" if first and second else "type 1" if first else "type 2"
    return "passive" if kinds else "regular"


def _distances(here: _Motions, generic: _Motions) -> dict[str, float]:
    """Return how far each kind of singularity is."""
    found = {
        "type 1": float(here.returns[generic.spare]) if len(here.returns) > generic.spare else 0.0,
        "type 2": float(here.shares[0]) if len(here.shares) else 0.0,
        "passive": float(here.felt[generic.idle]),
    }
    if generic.mobility < len(here.stiffness):
        found["constraint"] = float(here.stiffness[generic.mobility])
    return found


# -- screws ----------------------------------------------------------------------------------------
def _gained(rates: MachineRates, q: Array, here: _Motions, output: str) -> list[Array]:
    """Return the platform's twists with its actuators locked."""
    found = rates.output(rates.at(q), output) * rates.scales
    return [found @ x for x in here.by_locked[:, : here.unmoved].T]


def _lost(
    rates: MachineRates, q: Array, here: _Motions, weights: Array, output: str
) -> list[Array]:
    """Return twists that the platform has beside this pose and not at it.

    The pose is left along a motion in which the platform rests, to both sides.
    """
    now = rates.at(q)
    stays = here.by_platform[:, : here.spare]
    if not stays.size:
        free = _right(now.jacobian * rates.scales / weights[:, None], len(q))[1]
        stays = free[:, : here.mobility]
    found: list[Array] = []
    for x in stays.T:
        aside, _ = rates.closed(q + _ASIDE * rates.scales * x / max(np.linalg.norm(x), 1e-300))
        beside = motions_at(rates, aside, weights, output, _ASIDE * 1e-4)
        known = np.column_stack([here.outputs, *found])
        rest = beside.outputs - known @ (known.T @ beside.outputs)
        u, s, _ = np.linalg.svd(rest, full_matrices=False)
        if len(s) and s[0] > 0.1:
            found.append(u[:, 0])
    return found


# -- words -----------------------------------------------------------------------------------------
def _words(
    rates: MachineRates,
    here: _Motions,
    kind: str,
    kinds: tuple[str, ...],
    gained: tuple[Screw, ...],
    lost: tuple[Screw, ...],
    distances: Mapping[str, float],
) -> str:
    body = rates.machine.platform.point.body.name
    if kind == "regular":
        near = min(distances, key=lambda k: distances[k])
        return f"regular: {distances[near]:.3g} from the nearest singularity, {_NAMES[near]}"
    more = " and ".join(s.said("s") for s in gained)
    less = " or ".join(s.said("") for s in lost) or "move as it does nearby"
    moved = _moving_actuators(rates, here)
    if kind == "constraint":
        own = f"with its actuators locked it {more}" if more else "its actuators move in more ways"
        return f"constraint singularity: the {body} gains a freedom; {own}"
    if kind == "type 1":
        return f"type 1: the {body} cannot {less}, while {moved}"
    if kind == "type 2":
        return f"type 2: with its actuators locked the {body} still {more}"
    if kind == "type 3":
        return (
            f"type 3: with its actuators locked the {body} still {more}; with the {body} at rest "
            f"{moved}"
        )
    return (
        f"passive singularity ({', '.join(kinds)}): joints move while the {body} and its actuators "
        "are at rest"
    )


_NAMES = {
    "type 1": "type 1 (the platform loses a motion)",
    "type 2": "type 2 (the platform moves with its actuators locked)",
    "passive": "a motion of passive joints alone",
    "constraint": "a constraint singularity",
}


def _moving_actuators(rates: MachineRates, here: _Motions) -> str:
    """Return the names of the actuators that move while the platform rests."""
    rows = np.abs(here.by_platform[rates.driven, : here.spare]).max(axis=1, initial=0.0)
    names = [
        x.name
        for x, r in zip(rates.machine.actuators, rows, strict=True)
        if r > 1e-3 * rows.max(initial=1e-300)
    ]
    if not names:
        return "passive joints move"
    return f"{', '.join(names)} {'move' if len(names) > 1 else 'moves'}"
