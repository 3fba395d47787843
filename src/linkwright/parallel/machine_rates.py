"""The relations and the platform's motion of a parallel machine, as compiled numbers.

One Program gives, at coordinates q, the relations, their Jacobian, the pose of the platform and
its derivatives. Lengths and angles are made comparable by a characteristic length: a slider's
coordinate and the platform's velocity are divided by it, so that everything counts in radians.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, evaluate_all
from linkwright.algebra.calculus import gradient
from linkwright.algebra.units import Amount
from linkwright.backends.kernel import Kernel, compile as compiled
from linkwright.base.errors import InputError, unknown
from linkwright.base.reprs import brief
from linkwright.equations.closure import (
    AssemblyError,
    assemble,
    newton_closed,
)
from linkwright.equations.evaluation import all_values, numbers, quantities
from linkwright.equations.parallel_machine import ParallelMachine, parallel_machine
from linkwright.mechanism import ModelLike
from linkwright.program import ProgramPort

Array = NDArray[np.float64]
Coordinates: TypeAlias = Mapping[str, Amount] | Sequence[float] | Array
"""All coordinates in order, or some by name, from which the loops are closed."""

OUTPUTS = ("pose", "direction", "position")
_CLOSED = 1e-10
_NEAR = 0.02  # rad, by which coordinates that are all given may be off
_SPREADS = (0.3, 0.1, 0.03, 0.01)


@dataclass(frozen=True, slots=True)
class MotionRates:
    """A machine at one pose, or at many along the first axis."""

    residual: Array  # the relations
    jacobian: Array  # their derivatives by the coordinates
    position: Array  # of the platform's point, m
    direction: Array  # unit vector along which the platform points
    # 6 rows of velocity (angular, then that of the platform's point, m/s) for each coordinate's
    # rate
    twist: Array
    pose_slope: Array  # derivatives of position, direction and the rows of the rotation

    @property
    def turning(self) -> Array:
        """Rows of the direction's rate."""
        return self.pose_slope[..., 3:6, :]


@dataclass(frozen=True, slots=True)
class ProgramParts:
    """What a compiled Program depends on; equal expressions are the same objects."""

    relations: tuple[Expr, ...]
    coordinates: tuple[Expr, ...]
    pose: tuple[Expr, ...]
    machine: ParallelMachine = field(compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class MachineRates:
    """A parallel machine with its numbers in place."""

    machine: ParallelMachine  # as expressions
    length: float  # the characteristic length, m
    scales: Array  # what a unit of each scaled coordinate is: 1 rad, or the length
    slides: NDArray[np.bool_]  # which coordinates are lengths
    parts: ProgramParts = field(repr=False)  # the expressions that Programs of it are made from
    _fixed: tuple[Array, ...] = field(repr=False)
    _kernel: Kernel = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the coordinates."""
        return tuple(x.name for x in self.machine.coordinates)

    @property
    def driven(self) -> list[int]:
        """The places of the actuators among the coordinates."""
        place = {x: i for i, x in enumerate(self.machine.coordinates)}
        return [place[x] for x in self.machine.actuators]

    def fixed_of(self, ports: Sequence[ProgramPort]) -> list[Array]:
        """Return the arrays of parameters, inputs and time that a Program takes."""
        mechanism = self.machine.mechanism
        values = all_values(mechanism, None)
        return [
            np.zeros(1) if p.name == "t" else numbers(mechanism, p.entries, values)
            for p in ports
            if p.name in ("p", "w", "t")
        ]

    def apart(self, way: Array) -> Array:
        """Return a difference of scaled coordinates without whole turns of angles."""
        turns = np.where(self.slides, 0.0, np.rint(way / (2 * np.pi)))
        return np.asarray(way - 2 * np.pi * turns)

    def at(self, q: Array) -> MotionRates:
        """Return the relations and rates at coordinates, or at rows of them."""
        found = self._kernel(q, *self._fixed)
        n = len(self.machine.coordinates)
        none = (np.zeros((*q.shape[:-1], 0)), np.zeros((*q.shape[:-1], 0, n)))
        g, jacobian, pose, slope = found if self.machine.relations else (*none, *found)
        rotation = pose[..., 6:].reshape(*pose.shape[:-1], 3, 3)
        rates = slope[..., 6:, :].reshape(*slope.shape[:-2], 3, 3, n)
        spin = np.einsum("...ijk,...lj->...ilk", rates, rotation)  # dR R^T, by coordinates
        omega = 0.5 * np.stack(
            [
                spin[..., 2, 1, :] - spin[..., 1, 2, :],
                spin[..., 0, 2, :] - spin[..., 2, 0, :],
                spin[..., 1, 0, :] - spin[..., 0, 1, :],
            ],
            axis=-2,
        )
        twist = np.concatenate([omega, slope[..., :3, :]], axis=-2)
        return MotionRates(g, jacobian, pose[..., :3], pose[..., 3:6], twist, slope)

    def output(self, rates: MotionRates, of: str = "pose") -> Array:
        """Return the scaled rows of the motion that counts, as a twist in radians."""
        if of == "pose":
            return np.concatenate(
                [rates.twist[..., :3, :], rates.twist[..., 3:, :] / self.length], axis=-2
            )
        if of == "position":
            moved = rates.twist[..., 3:, :] / self.length
            return np.concatenate([np.zeros_like(moved), moved], axis=-2)
        turned = np.cross(rates.direction[..., :, None], rates.turning, axisa=-2, axisb=-2)
        turned = np.swapaxes(turned, -1, -2)
        return np.concatenate([turned, np.zeros_like(turned)], axis=-2)

    def limits(self, counted: bool = True) -> tuple[Array, Array]:
        """Return the limits of all coordinates, infinite where none counts."""
        low, high = np.full(len(self.names), -np.inf), np.full(len(self.names), np.inf)
        for r in self.machine.mechanism.ranges if counted else ():
            k = self.names.index(r.coordinate.name)
            low[k] = -np.inf if r.lower is None else r.lower
            high[k] = np.inf if r.upper is None else r.upper
        return low, high

    def closed(self, q: Array) -> tuple[Array, float]:
        """Return coordinates nearby at which the loops are closed, and the residual left."""
        return newton_closed(self._relations, q, np.arange(len(q)))

    def _relations(self, q: Array) -> tuple[Array, Array]:
        now = self.at(q)
        return now.residual, now.jacobian

    def coordinates(self, given: Coordinates | None) -> Array:
        """Return all coordinates, closed: those given by name are held, all are nearly closed."""
        mechanism = self.machine.mechanism
        if given is None or isinstance(given, Mapping):
            wanted = {} if given is None else dict(given)
            for name in wanted:
                if name not in self.names:
                    raise unknown("coordinate", name, self.names, owner=repr(mechanism.name))
            whole = len(wanted) == len(self.names)
            amounts = mechanism.amounts(wanted, "q")
            if not whole:
                return self._held(amounts)
            q = np.array([float(amounts[n]) for n in self.names])
        else:
            q = np.array(given, dtype=float)
            if q.shape != (len(self.names),):
                raise InputError(
                    f"q is {brief(given)}, and {mechanism.name!r} has {len(self.names)} "
                    f"coordinates: {', '.join(self.names)}",
                    remedy="give one number for each, or some of them by name",
                )
        if not np.isfinite(q).all():
            raise InputError("q holds a number that is not finite")
        near, left = self.closed(q)
        if left > _CLOSED or np.abs(self.apart((near - q) / self.scales)).max(initial=0.0) > _NEAR:
            raise self._open(q, "with these coordinates", "give coordinates of a closed pose, ")
        return near

    def _held(self, wanted: Mapping[str, float]) -> Array:
        """Return closed coordinates in which those wanted have their values."""
        found = assemble(self.machine.mechanism, wanted or None).coordinates
        q = np.array([found[n] for n in self.names])
        target = np.array([wanted.get(n, found[n]) for n in self.names])
        if np.abs(self.apart((q - target) / self.scales)).max(initial=0.0) <= 1e-8:
            return q
        free = np.array([i for i, n in enumerate(self.names) if n not in wanted])
        q, left = newton_closed(self._relations, target, free)
        if left <= _CLOSED:
            return q
        values = ", ".join(f"{n} = {float(v):.6g}" for n, v in wanted.items())
        raise self._open(q, f"at {values}", "give values within reach, ")

    def _open(self, q: Array, where: str, remedy: str) -> AssemblyError:
        """Return the error that says which relation is left open."""
        left = np.abs(self.at(q).residual)
        worst = int(left.argmax())
        return AssemblyError(
            f"{self.machine.mechanism.name!r} does not close {where}: the relation "
            f"{self.machine.names[worst]!r} is left open by {left[worst]:.3g}",
            remedy=f"{remedy}or fewer coordinates by name; the others are computed",
        )

    def samples(self, q: Array, count: int = 6) -> Array:
        """Return closed configurations around one, as rows; itself is not among them."""
        generator = np.random.default_rng(20_261_116)
        found: list[Array] = []
        for turn in range(20 * count):
            spread = _SPREADS[turn // (5 * count)]
            trial = q + spread * self.scales * generator.uniform(-1, 1, len(q))
            near, left = self.closed(trial)
            if left <= _CLOSED and np.abs(near - q).max() > 1e-3 * spread:
                found.append(near)
            if len(found) == count:
                break
        return np.array(found).reshape(-1, len(q))


def machine_rates(
    source: ModelLike | ParallelMachine, *, length: float | None = None
) -> MachineRates:
    """Return a parallel machine with its numbers in place; what was compiled is kept.

    Units: `length` in m.
    """
    machine = source if isinstance(source, ParallelMachine) else parallel_machine(source)
    if length is not None and not (np.isfinite(length) and length > 0):
        raise InputError(
            f"the characteristic length is {length}, which is not positive", remedy="m"
        )
    parts = ProgramParts(machine.relations, machine.coordinates, _pose(machine), machine)
    kernel = _kernel(parts)
    values = all_values(machine.mechanism, None)
    fixed = [
        np.zeros(1) if p.name == "t" else numbers(machine.mechanism, p.entries, values)
        for p in kernel.inputs[1:]
    ]
    size = _size(machine, values) if length is None else float(length)
    slides = {x for b in machine.mechanism.bodies.values() for x, _ in b.translations}
    slide = np.array([x in slides for x in machine.coordinates])
    return MachineRates(
        machine, size, np.where(slide, size, 1.0), slide, parts, tuple(fixed), kernel
    )


def _pose(machine: ParallelMachine) -> tuple[Expr, ...]:
    """Return position, direction and the rows of the rotation."""
    return (*machine.position, *machine.direction, *(x for row in machine.rotation for x in row))


@lru_cache(maxsize=16)
def _kernel(parts: ProgramParts) -> Kernel:
    q = parts.coordinates
    results = {
        "g": parts.relations,
        "G": [gradient(x, q) for x in parts.relations],
        "x": parts.pose,
        "X": [gradient(x, q) for x in parts.pose],
    }
    if not parts.relations:
        del results["g"], results["G"]
    roots = [*parts.relations, *parts.pose]
    return compiled(quantities(parts.machine.mechanism, "rates", results, roots, q=q))


def _size(machine: ParallelMachine, values: Mapping[str, float]) -> float:
    """Return the root mean square of distances from the platform to where loops are closed."""
    mechanism = machine.mechanism
    ground = mechanism.ground.frame
    works = [w for c in mechanism.constraints for w in c.works]
    places = {p: None for w in works for p in (w.point, w.reaction)}
    spans = [p.position - machine.platform.point.position for p in places]
    given: dict[Expr, object] = {x: values.get(x.name, 0.0) for x in machine.parameters}
    given |= dict(zip(machine.coordinates, _start(machine), strict=True))
    given[mechanism.time] = 0.0
    parts = evaluate_all([e for s in spans for e in s.components(ground)], given)
    size = float(np.sqrt(np.mean(np.square(parts)) * 3)) if parts else 0.0
    return size if size > 1e-9 else 1.0


def _start(machine: ParallelMachine) -> list[float]:
    """Return the coordinates from which the machine is assembled; a quaternion is at rest."""
    initial = machine.mechanism.initial
    turned = [b.rotations for b in machine.mechanism.bodies.values() if b.joint.quaternion]
    first = {u[0] for u in turned if not any(e.name in initial for e in u)}
    return [1.0 if x in first else initial.get(x.name, 0.0) for x in machine.coordinates]
