"""What errors of dimensions and actuators do to the pose of a platform.

With the relations g(q, p) = 0 of closed loops, actuators z and all dimensions p, the passive
coordinates y follow by the implicit function theorem, dy = -G_y^+ (G_p dp + G_z dz), and the pose
of the platform with them. All derivatives are exact. Poses of serial machines, which have no
relations, are differentiated directly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import Expr
from linkwright.algebra.calculus import gradient
from linkwright.base.arguments import worded
from linkwright.base.errors import DomainError, InputError, unknown
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.base.rotations import rotation_vectors
from linkwright.equations.evaluation import BatchEvaluator, Evaluator, quantities
from linkwright.equations.parallel_machine import (
    ParallelMachine,
    parallel_machine,
    with_free_dimensions,
)
from linkwright.mechanism import ModelLike
from linkwright.parallel.error_budgets import ErrorBudget, ErrorSource

__all__ = ["POSE", "PoseSensitivity", "pose_budget", "pose_sensitivity", "sample_poses"]

Array = NDArray[np.float64]
POSE = ("x", "y", "z", "rx", "ry", "rz")
"""The outputs: place of the platform's point, m, and its rotation, rad, along the ground's axes."""

_SINGULAR = 1e-9


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class PoseSensitivity(Result):
    """Change of a platform's pose for units of errors.

    Args:
        dimensions: names of the parameters.
        actuators: names of the actuators.
        of_dimensions: 6 x dimensions: place (m) and rotation (rad) for a unit of each.
        of_actuators: 6 x actuators, in the same way.
        strained: dimensions whose errors an overconstrained machine cannot take up: it strains, or
            needs clearance, and their effect here is that of least squares.

    >>> PoseSensitivity((), ("z",), np.zeros((6, 0)), np.ones((6, 1))).actuators
    ('z',)
    """

    dimensions: tuple[str, ...]
    actuators: tuple[str, ...]
    of_dimensions: Array = field(repr=False)
    of_actuators: Array = field(repr=False)
    strained: tuple[str, ...] = ()


class PoseSlopes:
    """Relations and pose of a machine with their derivatives, compiled."""

    def __init__(self, machine: ParallelMachine, dimensions: Sequence[str] | None = None) -> None:
        self.dimensions = _chosen(machine, dimensions)
        self.machine = machine
        self.freed = freed = with_free_dimensions(machine, self.dimensions)
        unknowns = list(freed.coordinates)
        turned = [x for row in freed.rotation for x in row]
        slopes = {
            "g": [gradient(g, unknowns) for g in freed.relations],
            "x": [gradient(x, unknowns) for x in freed.position],
            "r": [gradient(x, unknowns) for x in turned],
        }
        results: dict[str, Sequence[object]] = {k: v for k, v in slopes.items() if v}
        results |= {"place": list(freed.position), "turned": turned}
        roots: list[Expr] = [*turned, *freed.position]
        roots += [x for rows in slopes.values() for row in rows for x in row]
        m = machine.mechanism
        made = quantities(m, "pose_slopes", results, roots, q=unknowns)
        self._evaluator = Evaluator(m, made, m.values)
        self._names = tuple(results)
        seen = {"place": list(freed.position), "turned": turned}
        self._poses = BatchEvaluator(m, quantities(m, "poses", seen, roots[:12], q=unknowns))
        self._driven = [machine.coordinates.index(z) for z in machine.actuators]
        n = len(machine.coordinates)
        self._passive = [k for k in range(n) if k not in set(self._driven)]
        self._free = [*self._driven, *range(n, len(unknowns))]

    @property
    def nominal(self) -> Array:
        """The values of the dimensions."""
        values = self.machine.mechanism.values
        return np.array([values[name] for name in self.dimensions])

    def pose(self, q: Array, dimensions: Array | None = None) -> tuple[Array, Array]:
        """Return place (m) and rotation (3 x 3) of the platform at closed coordinates."""
        found = self._found(q, dimensions)
        return found["place"], found["turned"].reshape(3, 3)

    def poses(self, q: Array, dimensions: Array) -> tuple[Array, Array]:
        """Return places (n x 3) and rotations (n x 3 x 3) for rows of coordinates."""
        place, turned = self._poses(np.hstack([q, dimensions]))
        return place, turned.reshape(-1, 3, 3)

    def at(self, q: Array, dimensions: Array | None = None) -> PoseSensitivity:
        """Return the sensitivities at closed coordinates, for dimensions other than the nominal."""
        found = self._found(q, dimensions)
        relations = found.get("g", np.zeros((0, len(self.freed.coordinates))))
        pose = np.vstack([found["x"], _turns(found["r"], found["turned"])])
        following, left = _following(self.machine, relations, self._passive, self._free, pose)
        total = pose[:, self._free] + pose[:, self._passive] @ following
        k = len(self._driven)
        names = tuple(z.name for z in self.machine.actuators)
        strained = tuple(name for name, more in zip(self.dimensions, left[k:], strict=True) if more)
        return PoseSensitivity(self.dimensions, names, total[:, k:], total[:, :k], strained)

    def _found(self, q: Array, dimensions: Array | None) -> dict[str, Array]:
        everything = np.r_[q, self.nominal if dimensions is None else dimensions]
        return dict(zip(self._names, self._evaluator(q=everything), strict=True))


@worded
def pose_sensitivity(
    model: ModelLike,
    q: Mapping[str, float] | ArrayLike,
    dimensions: Sequence[str] | None = None,
) -> PoseSensitivity:
    """Return the change of the platform's pose for a unit of each dimension and actuator.

    Args:
        model: a machine that names its actuators and its platform.
        q: closed coordinates, by name or in order.
        dimensions: names of parameters; all that the pose depends on by default.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("lever")
    >>> arm = m.body("arm", rotate="z")
    >>> p = m.set_platform(m.point("tip", arm, ("L", 0, 0)))
    >>> m.actuate("arm")
    >>> m.defaults(L=2.0)
    >>> found = pose_sensitivity(m, {"arm": 0.0})
    >>> found.of_dimensions[:3, 0], found.of_actuators[:2, 0]
    (array([1., 0., 0.]), array([0., 2.]))
    """
    machine = parallel_machine(model)
    return PoseSlopes(machine, dimensions).at(closed_coordinates(machine, q))


@worded
def pose_budget(
    model: ModelLike,
    q: Mapping[str, float] | ArrayLike,
    tolerances: Mapping[str, float],
    *,
    shape: str = "uniform",
) -> ErrorBudget:
    """Return the error budget of the platform's pose.

    Args:
        model: a machine that names its actuators and its platform.
        q: closed coordinates, by name or in order.
        tolerances: limits, ±, of parameters and actuators, by name, in their own units.
        shape: of their distribution: "uniform", "normal" or "sine".

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("lever")
    >>> arm = m.body("arm", rotate="z")
    >>> p = m.set_platform(m.point("tip", arm, ("L", 0, 0)))
    >>> m.actuate("arm")
    >>> m.defaults(L=2.0)
    >>> pose_budget(m, {"arm": 0.0}, {"L": 1e-3, "arm": 1e-3}).worst[:2]
    array([0.001, 0.002])
    """
    machine = parallel_machine(model)
    driven = [z.name for z in machine.actuators]
    found = PoseSlopes(machine, [name for name in tolerances if name not in driven]).at(
        closed_coordinates(machine, q)
    )
    columns = dict(zip(found.dimensions, found.of_dimensions.T, strict=True))
    columns |= dict(zip(found.actuators, found.of_actuators.T, strict=True))
    sources = (ErrorSource(k, size, columns[k], shape) for k, size in tolerances.items())
    return ErrorBudget(tuple(sources), POSE)


@worded
def sample_poses(
    model: ModelLike,
    q: Mapping[str, float] | ArrayLike,
    tolerances: Mapping[str, float],
    count: int = 1000,
    *,
    shape: str = "uniform",
    seed: int = 0,
    threads: int = 1,
) -> Array:
    """Return errors of the platform's pose in samples whose loops are closed anew (Monte Carlo).

    Args:
        model: a machine that names its actuators and its platform.
        q: closed coordinates without errors, by name or in order.
        tolerances: limits, ±, of parameters and actuators, by name, in their own units.
        count: of samples.
        shape: of their distribution: "uniform", "normal" or "sine".
        seed: of the random numbers.
        threads: that share the closing.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("slider")
    >>> crank = m.body("crank", rotate="z")
    >>> rod = m.body("rod", parent=crank, at=("r", 0, 0), rotate="z")
    >>> c = m.constrain_points(m.point("tip", rod, ("l", 0, 0)), m.origin, "y")
    >>> m.actuate("crank")
    >>> p = m.set_platform("tip")
    >>> m.defaults(r=0.3, l=1.0)
    >>> sample_poses(m, {"crank": 0.0, "rod": 0.0}, {"l": 1e-3}, 4).shape
    (4, 6)
    """
    machine = parallel_machine(model)
    at = closed_coordinates(machine, q)
    driven = [z.name for z in machine.actuators]
    slopes = PoseSlopes(machine, [name for name in tolerances if name not in driven])
    drawn = ErrorBudget(
        tuple(
            ErrorSource(name, size, np.eye(len(tolerances))[k], shape)
            for k, (name, size) in enumerate(tolerances.items())
        ),
        tuple(tolerances),
    ).sampled(count, seed)
    errors = dict(zip(tolerances, drawn.T, strict=True))
    still = np.zeros(count)
    dimensions = slopes.nominal + np.stack(
        [errors[name] for name in slopes.dimensions] or [np.zeros(0)], axis=-1
    ).reshape(count, -1)
    drives = np.stack(
        [at[machine.coordinates.index(z)] + errors.get(z.name, still) for z in machine.actuators],
        axis=-1,
    )
    rows = closed_with(slopes, at, drives, dimensions, threads)
    place, turn = slopes.pose(at)
    moved, turned = slopes.poses(rows, dimensions)
    return np.hstack([moved - place, rotation_vectors(turned @ turn.T)])


def closed_with(
    slopes: PoseSlopes, start: Array, drives: Array, dimensions: Array, threads: int = 1
) -> Array:
    """Return coordinates closed with other actuators and dimensions, one row each."""
    machine, n = slopes.machine, len(slopes.machine.coordinates)
    begin = np.broadcast_to(start, (len(drives), n))
    if not machine.relations:
        found = begin.copy()
        found[:, [machine.coordinates.index(z) for z in machine.actuators]] = drives
        return found
    from linkwright.equations.batch_closing import Closing

    closing = Closing(slopes.freed, ("actuators", *slopes.dimensions))
    closed = closing.close(
        np.hstack([drives, dimensions]), np.hstack([begin, dimensions]), threads=threads
    )
    if not closed.closed.all():
        bad = int(np.flatnonzero(~closed.closed)[0])
        raise DomainError(
            f"with errors {machine.mechanism.name!r} does not close any more: {closed.words(bad)}",
            remedy="take smaller tolerances, or a pose farther from the end of its reach",
        )
    return closed.q[:, :n]


def closed_coordinates(machine: ParallelMachine, q: Mapping[str, float] | ArrayLike) -> Array:
    """Return coordinates in order."""
    names = [x.name for x in machine.coordinates]
    if isinstance(q, Mapping):
        missing = [name for name in names if name not in q]
        if missing:
            raise InputError(
                f"there is no value for {', '.join(missing)}",
                remedy="give all coordinates, as linkwright.assemble(...).coordinates has them",
            )
        return np.array([q[name] for name in names], dtype=float)
    found = np.array(q, dtype=float)
    if found.shape != (len(names),):
        raise InputError(
            f"{machine.mechanism.name!r} has {len(names)} coordinates, not {found.shape}",
            remedy="give one number for each",
        )
    return found


def _chosen(machine: ParallelMachine, dimensions: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the dimensions that count."""
    m = machine.mechanism
    if dimensions is None:
        from linkwright.algebra import free_symbols

        turned = [x for row in machine.rotation for x in row]
        used = set(free_symbols(*machine.relations, *machine.position, *turned))
        return tuple(p.name for p in machine.parameters if p in used)
    for name in dimensions:
        if name not in m.parameters:
            raise unknown(
                "parameter or actuator",
                name,
                [*m.parameters, *(z.name for z in machine.actuators)],
                "its file lists the parameters",
                owner=repr(m.name),
            )
    return tuple(dimensions)


def _turns(slopes: Array, turned: Array) -> Array:
    """Return the rotation, along the ground's axes, for a unit of each unknown."""
    r = turned.reshape(3, 3)
    spins = np.einsum("ijk,lj->ilk", slopes.reshape(3, 3, -1), r)
    rows: list[Any] = [spins[2, 1] - spins[1, 2], spins[0, 2] - spins[2, 0]]
    rows.append(spins[1, 0] - spins[0, 1])
    return 0.5 * np.array(rows)


def _following(
    machine: ParallelMachine,
    relations: Array,
    passive: Sequence[int],
    free: Sequence[int],
    pose: Array,
) -> tuple[Array, NDArray[np.bool_]]:
    """Return the change of passive coordinates for a unit of each free one.

    The second result says which free ones relations cannot follow.
    """
    tied = relations[:, passive]
    if not tied.size:
        return np.zeros((len(passive), len(free))), np.zeros(len(free), dtype=bool)
    u, s, vt = np.linalg.svd(tied)
    rank = int((s > _SINGULAR * s[0]).sum())
    idle = vt[rank:]
    if idle.size and np.abs(pose[:, passive] @ idle.T).max() > 1e-7:
        raise DomainError(
            f"{machine.mechanism.name!r} is singular here: with its actuators locked the platform "
            "still moves, so that errors have no bound",
            remedy="take a pose away from the singularity",
        )
    found: Array = -vt[:rank].T @ ((u[:, :rank].T @ relations[:, free]) / s[:rank, None])
    left = np.abs(u[:, rank:].T @ relations[:, free]).max(axis=0, initial=0.0)
    return found, left > 1e-7 * s[0]
