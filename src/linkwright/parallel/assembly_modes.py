"""Every assembly of a machine whose actuators are locked: all poses of its platform.

The relations become a family of equations with complex unknowns (`linkwright.parallel.polynomials`)
whose solutions at one generic member are found once and kept on disk
(`linkwright.homotopy.start_sets`); a homotopy of the parameters carries them to the machine that is
asked about. What is real there is an assembly that can be built.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from linkwright.algebra import Expr, free_symbols
from linkwright.algebra.units import Amount
from linkwright.backends.kernel import Kernel, compile as compiled
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.equations.evaluation import all_values, numbers
from linkwright.equations.parallel_machine import ParallelMachine, parallel_machine
from linkwright.homotopy.ends import carried
from linkwright.homotopy.family import Complex
from linkwright.homotopy.squares import Square, squared
from linkwright.homotopy.start_sets import StartSet, start_set
from linkwright.mechanism import Mechanism, ModelLike
from linkwright.parallel.polynomials import MachinePolynomials, polynomials
from linkwright.program import program
from linkwright.program.derivatives import derivative
from linkwright.program.passes import optimize

Array = npt.NDArray[np.float64]

REAL = 1e-6
"""Imaginary parts of features below which an assembly may be real, relative to their size."""
CLOSED = 1e-10
"""The largest relation of a real assembly, in its own unit."""
_MEETING = 1e-4  # how exactly the end of several paths is known, rad or m


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class AssemblyMode:
    """One real way in which a machine goes together.

    Args:
        coordinates: all coordinates of the tree by name, rad and m.
        position: of the platform's point, m.
        rotation: of the platform, 3 x 3.
        direction: unit vector along which the platform points.
        residual: the largest relation, in its own unit.

    >>> AssemblyMode({"crank": 0.7}, np.zeros(3), np.eye(3), np.array([0.0, 0, 1]), 1e-16)
    AssemblyMode(coordinates={'crank': 0.7}, position=[0. 0. 0.])
    """

    coordinates: Mapping[str, float]
    position: Array
    rotation: Array = field(repr=False)
    direction: Array = field(repr=False)
    residual: float = field(repr=False)


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class Assemblies(Result):
    """All assemblies of a machine with locked actuators.

    Args:
        count: of complex assemblies of this machine that are isolated; real ones are among them.
        complete: whether it is shown that none is missing: the trace test holds, and no path to
            this machine was lost.
        real: those that can be built.
        generic: how many a machine of this family has for almost all dimensions.
        diverged: how many of those lie at infinity for this machine.
        singular: how many come to places where they are not isolated or not single.
        self_motion: dimension of the motion that is left with the actuators locked, or 0.
        residual: the largest relation of all complex assemblies.
        meeting: real places where several assemblies meet, which are singular and can be built.

    >>> Assemblies(2, False, (), 2, 0, 0, 0, 1e-16).words.split("; ")[0]
    'at least 2 assemblies, none of them real'
    """

    count: int
    complete: bool
    real: tuple[AssemblyMode, ...]
    generic: int
    diverged: int
    singular: int
    self_motion: int
    residual: float
    meeting: tuple[AssemblyMode, ...] = ()
    _also = ("words",)

    @property
    def at_least(self) -> bool:
        """Whether there may be more than were found."""
        return not self.complete

    @property
    def words(self) -> str:
        """What was found, in a sentence."""
        if self.self_motion:
            return (
                f"infinitely many assemblies: with its actuators locked the machine still moves in "
                f"{self.self_motion} way{'s' if self.self_motion > 1 else ''}"
            )
        number = f"{'at least ' if self.at_least else ''}{self.count}"
        proof = "none is missing (trace test)" if self.complete else "more may exist"
        told = [f"{number} assemblies, {len(self.real) or 'none'} of them real; {proof}"]
        if self.singular and not self.count:
            told = ["no assembly stands alone"]
        if self.meeting:
            places = len(self.meeting)
            where = "a real place" if places == 1 else f"{places} real places"
            told.append(f"singular: several assemblies meet in {where}, where the machine closes")
        elif not self.real:
            told.append("these actuator values are out of reach")
        if self.singular:
            ends = "1 path ends" if self.singular == 1 else f"{self.singular} paths end"
            told.append(f"{ends} at singular places")
        if self.diverged:
            told.append(f"{self.diverged} of the family's {self.generic} lie at infinity")
        return "; ".join(told)


@worded
def find_assemblies(
    model: ModelLike,
    actuators: Mapping[str, Amount] | Sequence[float],
    parameters: Mapping[str, Amount] | None = None,
) -> Assemblies:
    """Return every assembly of a machine whose actuators are locked.

    Args:
        model: a mechanism with actuators and a platform, a robot, a file or a model's name.
        actuators: the value of each actuator, by name or in their order, rad or m.
        parameters: of parameters, over the mechanism's own.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("four-bar")
    >>> crank = m.body("crank", rotate="z")
    >>> coupler = m.body("coupler", parent=crank, at=(1, 0, 0), rotate="z")
    >>> tip, pivot = m.point("tip", coupler, (3, 0, 0)), m.point("pivot", at=(2, 0, 0))
    >>> c = m.constrain_distance(tip, pivot, 2.5)
    >>> m.actuate("crank")
    >>> m.set_platform("coupler").point.name
    'coupler0'
    >>> found = find_assemblies(m, {"crank": 0.7})
    >>> found.count, found.complete, len(found.real)
    (2, True, 2)
    >>> found.words
    '2 assemblies, 2 of them real; none is missing (trace test)'
    """
    machine = parallel_machine(model)
    if not machine.relations:
        raise InputError(
            f"{machine.mechanism.name!r} has no closed loop: its joints give its only assembly",
            remedy="ask for its pose instead (`Robot.pose`), or take a machine with loops",
        )
    locked = dict(zip(machine.actuators, _locked(machine, actuators), strict=True))
    made = prepared(machine, machine.actuators)
    return _assembled(made, {**_known(made, machine.mechanism, parameters), **locked})


def _known(
    made: _Prepared, mechanism: Mechanism, values: Mapping[str, Amount] | None
) -> dict[Expr, float]:
    """Return the values of the parameters that the relations hold."""
    given = all_values(mechanism, values)
    return dict(zip(made.parameters, numbers(mechanism, made.parameters, given), strict=True))


def _locked(machine: ParallelMachine, given: Mapping[str, Amount] | Sequence[float]) -> list[float]:
    names = [q.name for q in machine.actuators]
    if not isinstance(given, Mapping):
        row = np.asarray(given, dtype=float).ravel()
        if len(row) != len(names):
            raise InputError(
                f"{machine.mechanism.name!r} has {len(names)} actuators ({', '.join(names)}), "
                f"not {len(row)}"
            )
        values = dict(zip(names, row.tolist(), strict=True))
    else:
        for name in given:
            if name not in names:
                machine.mechanism.unknown(name, names, "actuator")
        values = machine.mechanism.amounts(given, "actuators")
        if missing := [n for n in names if n not in values]:
            raise InputError(
                f"no value is given for {', '.join(missing)}", remedy="give one for each actuator"
            )
    found = [float(values[n]) for n in names]
    if not np.all(np.isfinite(found)):
        raise InputError("the values of the actuators are not all finite numbers")
    ranges = machine.mechanism.ranges
    legs = {strut.length for strut in machine.mechanism.driven_struts}
    legs |= {r.coordinate for r in ranges if r.lower is not None and r.lower >= 0}
    slides = {q for b in machine.mechanism.bodies.values() for q, _ in b.translations}
    for q, value in zip(machine.actuators, found, strict=True):
        if q in slides & legs and value < 0:
            raise InputError(
                f"the leg {q.name!r} cannot be {value:g} m long", remedy="give a positive length"
            )
    return found


@dataclass(frozen=True, slots=True)
class _Key:
    """A machine with locked coordinates, equal where the expressions are."""

    machine: ParallelMachine = field(compare=False)
    locked: tuple[Expr, ...]
    content: tuple[object, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Prepared:
    """A machine's polynomials with all that is known of their solutions."""

    machine: ParallelMachine
    locked: tuple[Expr, ...]
    polynomials: MachinePolynomials
    square: Square
    start: StartSet
    kernel: Kernel
    parameters: tuple[Expr, ...]

    @property
    def free(self) -> tuple[Expr, ...]:
        """The coordinates that are not locked."""
        return tuple(q for q in self.machine.coordinates if q not in self.locked)


def prepared(machine: ParallelMachine, locked: tuple[Expr, ...]) -> _Prepared:
    """Return the solutions of a machine's family, which are found once."""
    content = (machine.coordinates, machine.relations, machine.position, machine.rotation)
    return _made(_Key(machine, locked, (*content, machine.direction, machine.parameters)))


@lru_cache(maxsize=16)
def _made(key: _Key) -> _Prepared:
    made = polynomials(key.machine, locked=key.locked)
    square = squared(made.family)
    machine = key.machine
    pose = [*machine.position, *(x for row in machine.rotation for x in row), *machine.direction]
    moving = {*machine.coordinates}
    used = tuple(x for x in free_symbols(*machine.relations, *pose) if x not in moving)
    kernel = _real_kernel(machine, key.locked, used)
    return _Prepared(machine, key.locked, made, square, start_set(square.family), kernel, used)


def _real_kernel(
    machine: ParallelMachine, locked: tuple[Expr, ...], used: tuple[Expr, ...]
) -> Kernel:
    """Return the relations by the coordinates that are not locked, with the platform's pose."""
    free = [q for q in machine.coordinates if q not in locked]
    made = program(
        "closed",
        {"q": free, "locked": list(locked), "values": list(used)},
        {
            "relations": list(machine.relations),
            "position": list(machine.position),
            "rotation": [list(row) for row in machine.rotation],
            "direction": list(machine.direction),
        },
    )
    slopes = derivative(made, "relations", "q", values=True)
    return compiled(optimize(slopes, rounds=1, brief=True))


def _assembled(made: _Prepared, values: Mapping[Expr, float]) -> Assemblies:
    p = made.square.parameters(made.polynomials.at(values))
    ends = carried(made.square.family, made.start, p)
    real: list[AssemblyMode] = []
    flat = np.abs(ends.features.imag).max(axis=1, initial=0)
    flat = flat < REAL * (1 + np.abs(ends.features).max(axis=1, initial=0))
    for z in made.square.unknowns(ends.z[flat]):
        mode = _mode(made, values, z)
        if mode is not None:
            real.append(mode)
    motions = [_dimension(made, values, z) for z in made.square.unknowns(ends.singular)]
    return Assemblies(
        len(ends.z),
        made.start.complete and not ends.lost and not len(ends.singular),
        tuple(sorted(real, key=lambda m: tuple(np.round(m.position[::-1], 9)), reverse=True)),
        made.start.count,
        ends.diverged,
        len(ends.singular),
        max(motions, default=0),
        ends.residual,
        _meeting(made, values, made.square.unknowns(ends.singular)) if not any(motions) else (),
    )


def _meeting(
    made: _Prepared, values: Mapping[Expr, float], places: Complex
) -> tuple[AssemblyMode, ...]:
    """Return the real assemblies at which paths meet, each once."""
    found: list[AssemblyMode] = []
    for z in places:
        at = made.polynomials.coordinates(z)
        mode = _mode(made, values, z) if _is_flat(at.values()) else None
        if mode is not None and not any(_same(mode, known) for known in found):
            found.append(mode)
    return tuple(found)


def _is_flat(coordinates: Iterable[complex]) -> bool:
    return all(abs(x.imag) < _MEETING for x in coordinates)


def _same(one: AssemblyMode, other: AssemblyMode) -> bool:
    """Whether two assemblies have the platform in one pose."""
    apart = np.abs(one.position - other.position).max()
    return bool(max(apart, np.abs(one.rotation - other.rotation).max()) < _MEETING)


def _closed(
    made: _Prepared, values: Mapping[Expr, float], q: Array
) -> tuple[Array, list[Array], Array]:
    """Return coordinates after Newton's steps, what the kernel says there, and the Jacobian."""
    held = np.array([values[x] for x in made.locked])
    known = np.array([values[x] for x in made.parameters])
    for _ in range(6):
        *told, slopes = made.kernel(q, held, known)
        q = q - np.linalg.lstsq(slopes, told[0], rcond=1e-9)[0]
    *told, slopes = made.kernel(q, held, known)
    return q, told, slopes


def _start(made: _Prepared, z: Complex) -> Array:
    """Return the real coordinates next to a complex solution, zero where none is needed."""
    at = made.polynomials.coordinates(z)
    return np.array([at.get(q, 0j).real for q in made.free])


def _mode(made: _Prepared, values: Mapping[Expr, float], z: Complex) -> AssemblyMode | None:
    """Return the real assembly at a solution, or None where there is none."""
    start = _start(made, z)
    q, told, _ = _closed(made, values, start)
    residual = float(np.abs(told[0]).max(initial=0))
    if not residual < CLOSED:
        return None
    at = {x.name: float(v) for x, v in zip(made.free, q, strict=True)}
    at |= {x.name: float(values[x]) for x in made.locked}
    names = [x.name for x in made.machine.coordinates]
    return AssemblyMode({n: at[n] for n in names}, told[1], told[2], told[3], residual)


def _dimension(made: _Prepared, values: Mapping[Expr, float], z: Complex) -> int:
    """Return the dimension of the real motion of the platform through a singular place, or 0."""
    q, told, slopes = _closed(made, values, _start(made, z))
    if not np.abs(told[0]).max(initial=0) < CLOSED:
        return 0
    _, sizes, right = np.linalg.svd(slopes)
    rank = int(np.sum(sizes > 1e-7 * sizes[0]))
    ways = 0
    for motion in right[rank:]:
        step = 1e-2
        moved, there, _ = _closed(made, values, q + step * motion)
        far = max(float(np.abs(a - b).max()) for a, b in zip(there[1:3], told[1:3], strict=True))
        off = np.abs(moved - q - step * motion).max()
        if np.abs(there[0]).max() < CLOSED and off < 0.3 * step and far > 1e-3 * step:
            ways += 1
    return ways
