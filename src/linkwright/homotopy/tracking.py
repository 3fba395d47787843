"""Paths of solutions while the parameters of a family move: one path a lane, many steps a call.

The parameters go along a straight line, p(t) = start + t (end - start), and a solution follows:
F_z z' = -F_p p'. A step predicts by the classical method of Runge and Kutta (order 4) and corrects
by Newton's method. It is taken if the first correction is below the tolerance and the second much
smaller than the first, which keeps a path from jumping to its neighbor; the step follows from the
size of the first correction, path by path (Sommese and Wampler, section 2.3; the error of the
predictor grows with the fifth power of the step).

A turn of the kernel is `STEPS` steps of every path that is not at its end. What has arrived, runs
off to infinity or stands still is distinguished by `PathStatus`, and leaves the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import numpy as np

from linkwright.algebra import Expr, absolute, as_expr, maximum, minimum, sqrt, symbol, where
from linkwright.backends.kernel import Kernel, compile as compiled
from linkwright.homotopy.family import Complex, Family, Real, from_pairs, newton_program, pairs_of
from linkwright.program import Assign, Call, Program, Statement, program
from linkwright.program.repeat import repeated

STEPS = 12
"""Steps of a path in one turn of the kernel."""
TURNS = 120
"""Turns after which a path that goes on is left."""
TOLERANCE = 1e-6
"""The largest first correction, relative to the size of the solution (at least 1)."""
FAR = 1e7
"""The size of an unknown beyond which a path runs off to infinity."""
SHORTEST = 1e-10
"""The step below which a path stands still: it comes to a singular place."""
_CONTRACTION = 0.05
_ROUNDING = 1e-9
_FIRST = 0.02
_FEW = 16  # paths up to which one thread does it
_ANY = 1e-2  # the first correction of a place that is polished


class PathStatus(IntEnum):
    """What has become of a path."""

    MOVING = 0
    ARRIVED = 1
    SINGULAR = 2
    DIVERGED = 3


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """The ends of paths."""

    z: Complex  # where each is, one row a path
    t: Real  # how far each has come, from 0 to 1
    status: np.ndarray  # what has become of each, by the numbers of `PathStatus`
    steps: np.ndarray  # how many steps were tried for each, at most

    @property
    def arrived(self) -> np.ndarray:
        """Which ones have come to their end."""
        return np.asarray(self.status == PathStatus.ARRIVED)


def step_program(family: Family) -> Program:
    """Return the Program of one step of a path.

    It takes where the path is, `z`, its slope `v` there, the time `t`, the step `h` and the
    `status`, with the line of the parameters from `start` to `end` and the `tolerance`, and gives
    the same after a step that may have failed.
    """
    newton = newton_program(family)
    n = 2 * family.size

    def inputs(name: str, count: int) -> list[Expr]:
        return [symbol(f"{name}{k}", "input", owner="tracker") for k in range(count)]

    z, v = inputs("z", n), inputs("v", n)
    t, h, status, tolerance = (
        symbol(name, "input", owner="tracker") for name in ("t", "h", "status", "tolerance")
    )
    m = 2 * len(family.parameters)
    line = (*inputs("start", m), *inputs("end", m))
    statements: list[Statement] = []

    def let(name: str, value: Expr) -> Expr:
        made = symbol(name, "local", owner="tracker")
        statements.append(Assign(made, value))
        return made

    def at(name: str, place: list[Expr], time: Expr) -> tuple[list[Expr], list[Expr]]:
        made = [symbol(f"{name}_{k}", "local", owner="tracker") for k in range(2 * n)]
        statements.append(Call(newton, (*place, time, *line), tuple(made)))
        return made[:n], made[n:]

    def moved(name: str, by: list[Expr], far: Expr) -> list[Expr]:
        return [let(f"{name}_{k}", x + far * d) for k, (x, d) in enumerate(zip(z, by, strict=True))]

    left = let("left", 1 - t)
    last = let("last", left <= h * (1 + 1e-9))
    step = let("taken", where(last, left, h))
    half, whole = let("half", step / 2), let("after", where(last, 1, t + step))
    middle = let("middle", t + half)
    _, k2 = at("second", moved("to_second", v, half), middle)
    _, k3 = at("third", moved("to_third", k2, half), middle)
    _, k4 = at("fourth", moved("to_fourth", k3, step), whole)
    sixth = let("sixth", step / 6)
    mean = [a + 2 * (b + c) + d for a, b, c, d in zip(v, k2, k3, k4, strict=True)]
    place = moved("predicted", mean, sixth)
    sizes: list[Expr] = []
    slope = v
    for turn in range(3):
        correction, slope = at(f"newton{turn}", place, whole)
        sizes.append(let(f"size{turn}", _largest(correction)))
        place = [
            let(f"place{turn}_{k}", x + d)
            for k, (x, d) in enumerate(zip(place, correction, strict=True))
        ]
    scale = let("scale", maximum(1, _largest(place)))
    error = let("error", sizes[0] / scale)
    good = let(
        "good",
        (error <= tolerance)
        & (sizes[1] <= _CONTRACTION * sizes[0] + _ROUNDING * scale)
        & (sizes[2] <= _CONTRACTION * sizes[1] + _ROUNDING * scale),
    )
    ratio = let("ratio", 0.9 * sqrt(sqrt(tolerance / maximum(error, 1e-300) / 4)))
    growth = where(good, minimum(2, maximum(0.5, ratio)), minimum(0.5, maximum(0.1, ratio)))
    following = let("next_h", where(error >= 0, step * growth, step / 4))  # nan: a quarter
    moving = let("moving", status <= 0)
    go = let("go", moving & good)
    ended = where(
        go,
        where(scale > FAR, PathStatus.DIVERGED, where(last, PathStatus.ARRIVED, 0)),
        where(following < SHORTEST, PathStatus.SINGULAR, 0),
    )
    names = {"start": list(line[:m]), "end": list(line[m:])}
    outputs = {
        "z_next": [where(go, new, old) for new, old in zip(place, z, strict=True)],
        "v_next": [where(go, new, old) for new, old in zip(slope, v, strict=True)],
        "t_next": where(go, whole, t),
        "h_next": where(moving, where(good & last, h, following), h),
        "status_next": where(moving, ended, status),
    }
    return program(
        "step",
        {"z": z, "v": v, "t": t, "h": h, "status": status, **names, "tolerance": tolerance},
        outputs,
        statements=statements,
    )


def _largest(values: list[Expr]) -> Expr:
    found = as_expr(0)
    for x in values:
        found = maximum(found, absolute(x))
    return found


@lru_cache(maxsize=32)
def _kernel(family: Family) -> Kernel:
    carried = {name: f"{name}_next" for name in ("z", "v", "t", "h", "status")}
    return compiled(repeated(step_program(family), STEPS, carried))


def track(
    family: Family,
    z: Complex,
    start: Complex,
    end: Complex,
    *,
    tolerance: float = TOLERANCE,
    threads: int = 2,
) -> Paths:
    """Follow solutions while the parameters go from one place to another.

    >>> x, p = symbol("x", "coordinate"), symbol("p")
    >>> family = Family("roots", (x,), (p,), (x**2 - p,), (x,))
    >>> paths = track(
    ...     family, np.array([[1.0 + 0j], [-1.0]]), np.array([1.0 + 0j]), np.array([-4.0 + 1j])
    ... )
    >>> np.allclose(paths.z**2, -4 + 1j), paths.arrived.tolist()
    (True, [True, True])
    """
    kernel = _kernel(family)
    count, n = z.shape
    at = pairs_of(z).reshape(count, 2 * n).copy()
    lines = [_rows(p) for p in (start, end)]
    slope, t, h, status = (np.zeros(shape) for shape in ((count, 2 * n), count, count, count))
    # a step of no length corrects the place and gives the slope there
    found = kernel.batch(at, slope, t, h, status, *lines, np.array(tolerance), threads=threads)
    sound = found[4] == PathStatus.MOVING
    at[sound], slope[sound] = found[0][sound], found[1][sound]
    speed = np.maximum(np.abs(slope).max(axis=1), 1e-3)
    h[:] = np.minimum(_FIRST, _FIRST * np.maximum(1, np.abs(at).max(axis=1)) / speed)
    status[~sound] = PathStatus.SINGULAR
    steps = np.zeros(count, dtype=int)
    for _ in range(TURNS):
        going = np.flatnonzero(status == PathStatus.MOVING)
        if not len(going):
            break
        own = [x if x.ndim == 1 else x[going] for x in lines]
        found = kernel.batch(
            at[going], slope[going], t[going], h[going], status[going], *own,
            np.array(tolerance), threads=threads if len(going) > _FEW else 1,
        )  # fmt: skip
        at[going], slope[going], t[going], h[going], status[going] = found
        steps[going] += STEPS
    return Paths(from_pairs(at.reshape(count, n, 2)), t, status.astype(int), steps)


def _rows(p: Complex) -> Real:
    """Return parameters as rows of pairs, one for each path or one for all."""
    return pairs_of(p).reshape(*p.shape[:-1], -1)


def polished(family: Family, z: Complex, p: Complex) -> tuple[Complex, Real]:
    """Return solutions after some of Newton's steps, and how far the last one went of each.

    Where Newton's steps do not become smaller, a place stays as it is, and its last step is
    infinite.

    >>> x, a = symbol("x", "coordinate"), symbol("a")
    >>> family = Family("roots", (x,), (a,), (x**2 - a,), (x,))
    >>> z, size = polished(family, np.array([[1.414 + 0j]]), np.array([2.0 + 0j]))
    >>> bool(abs(z[0, 0] - 2**0.5) < 1e-15), bool(size[0] < 1e-12)
    (True, True)
    """
    kernel = _kernel(family)
    count, n = z.shape
    at = pairs_of(z).reshape(count, 2 * n).copy()
    line = _rows(p)
    size = np.full(count, np.inf)
    for _ in range(2):
        rest = [np.zeros((count, 2 * n)), np.ones(count), np.zeros(count), np.zeros(count)]
        moved, _, _, _, status = kernel.batch(at, *rest, line, line, np.array(_ANY))
        size = np.where(status == PathStatus.ARRIVED, np.abs(moved - at).max(axis=1), np.inf)
        at = moved
    return from_pairs(at.reshape(count, n, 2)), size
