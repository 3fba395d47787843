"""The trace test: whether a set of solutions of one member of a family is all of them.

Let the parameters move along a line, p + v t: the solutions are points of a curve in the space of
t and the features s. Its points on t = 0 are the solutions asked about; those on a plane
l . s = c are found by monodromy of that plane. Together they are deformed into the points of the
curve on one general plane a . s + b t = d, and that plane is moved in parallel: the sum of all
points on it goes along a straight line if, and only if, no point is missing (Sommese, Verschelde
and Wampler, SIAM J. Numer. Anal. 40, 2002; for the union of both sets: Leykin, Rodriguez and
Sottile, *Trace test*, Arnold Math. J. 4, 2018).

The charts of t and of s are general ones: t and s stand here for t / (1 + m t) and s / (1 + e . s)
with random m and e, so that no point of the curve lies at infinity of both.

All planes are members of one family of equations with one more unknown:
k t (l . s - c) + a . s + b t - d = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwright.algebra import ZERO, Expr, substitute_all, symbol
from linkwright.homotopy.family import (
    Complex,
    Family,
    from_pairs,
    pairs_of,
    slopes,
    value_kernel,
)
from linkwright.homotopy.start_sets import Solutions, monodromy, normal
from linkwright.homotopy.tracking import track

STRAIGHT = 1e-6
"""The bend of the trace, relative to its way, below which it is straight."""
FEATURES = 12
"""The features by which the curve is looked at, at most."""
_ROUNDS = 4
_MANY = 1_500  # points beyond which the test is not tried
_TIGHT = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class _Cuts:
    """A curve of solutions, cut by planes."""

    # with the unknowns z and t, and the parameters k, c, b, d, then l and a, then those of the
    # curve
    family: Family
    curve: Complex  # the parameters of the curve: m, e, p and v
    width: int  # the number of features

    def plane(self, a: Complex, d: complex, *, b: complex = 0) -> Complex:
        """Return the parameters of the plane a . s + b t = d."""
        return np.concatenate([[0, 0, b, d], 0 * a, a, self.curve])

    def both(self, a: Complex, d: complex) -> Complex:
        """Return the parameters of the two planes t (a . s - d) = 0."""
        return np.concatenate([[1, d, 0, 0], a, 0 * a, self.curve])

    @property
    def moved(self) -> npt.NDArray[np.intp]:
        """The places of what moves where a plane a . s = d does."""
        return np.array([3, *range(4 + self.width, 4 + 2 * self.width)])


def _cuts(found: Solutions, rng: np.random.Generator) -> _Cuts:
    """Return the cuts of the curve of solutions over a random line of parameters."""
    family, p = found.family, found.parameters
    width = min(FEATURES, len(family.features))
    count = len(p)
    v = np.zeros(count, complex)
    moving = _pencil(found, rng)
    v[moving] = normal(rng, len(moving))

    def named(name: str, size: int) -> list[Expr]:
        return [symbol(f"{name}{k}", "input", owner="trace") for k in range(size)]

    def along(row: list[Expr], values: list[Expr]) -> Expr:
        value = ZERO
        for x, y in zip(row, values, strict=True):
            value = value + x * y
        return value

    t, chart = symbol("t", "coordinate", owner="trace"), symbol("m", "input", owner="trace")
    (k, c, b, d), plane, a = named("n", 4), named("l", width), named("a", width)
    edge, start, way = named("e", width), named("start", count), named("way", count)
    time = t / (1 - chart * t)
    line = {x: s + time * w for x, s, w in zip(family.parameters, start, way, strict=True)}
    moved = substitute_all([*family.equations, *family.features[:width]], line)
    own, seen = list(moved[: family.size]), list(moved[family.size :])
    scale = 1 / (1 + along(edge, seen))
    charted = [x * scale for x in seen]
    cut = k * t * (along(plane, charted) - c) + along(a, charted) + b * t - d
    made = Family(
        f"{family.name}, cut",
        (*family.unknowns, t),
        (k, c, b, d, *plane, *a, chart, *edge, *start, *way),
        (*own, cut),
        (*charted, t),
    )
    return _Cuts(made, np.concatenate([normal(rng, 1), normal(rng, width), p, v]), width)


def _pencil(found: Solutions, rng: np.random.Generator) -> list[int]:
    """Return the parameters that move along the line.

    The fewer powers of t there are, the fewer points the curve has on a plane. Where the equations
    are linear in some parameters together and independent in these, the solutions over them are a
    bundle of planes over the unknowns, so the curve over a line of them alone has one component.

    Otherwise one parameter is enough where its loops alone join all solutions that are known: they
    lie on one component of the curve then. Other components would be copies of it, exchanged by
    loops of all parameters, by which the known solutions were found without leaving it.
    """
    family = found.family
    z, p = normal(rng, family.size), normal(rng, len(family.parameters))

    def equations(at: Complex) -> Complex:
        return from_pairs(value_kernel(family)(pairs_of(z), pairs_of(at))[0])

    chosen: list[int] = []
    direction = np.zeros(len(p), complex)
    middle, _, by_p = slopes(family, z, p)
    for k in family.pencil:
        if k in family.turns:
            continue
        trial = direction.copy()
        trial[k] = normal(rng, 1)[0]
        bend = np.abs(equations(p + trial) + equations(p - trial) - 2 * middle)
        if bend.max() < 1e-9 * (1 + np.abs(middle).max()):
            chosen, direction = [*chosen, k], trial
    if chosen and np.linalg.matrix_rank(by_p[:, chosen], tol=1e-7) == len(family.equations):
        return chosen
    for k in family.pencil:
        joined = Solutions(family, found.parameters, found.z[:1])
        monodromy(joined, rng, moved=np.array([k]), quiet=6, bound=len(found))
        if len(joined) == len(found) > 1:
            return [k]
    return list(family.pencil)


def is_complete(found: Solutions, rng: np.random.Generator) -> bool:
    """Return whether no solution of a member of a family is missing, by the trace test."""
    family = found.family
    if not family.pencil or not len(found):
        return False
    cuts = _cuts(found, rng)
    a = normal(rng, cuts.width)
    starts = np.hstack([found.z, np.zeros((len(found), 1))])
    anywhere = Solutions(cuts.family, cuts.plane(a, 0), starts[:0])
    at = anywhere.told(starts) @ np.append(a, 0)
    (d,) = normal(rng, 1)
    home = cuts.plane(a, d)
    points = Solutions(cuts.family, home, starts[:0])
    own = np.array([cuts.plane(a, x) for x in at])  # each solution lies on a parallel plane
    paths = track(cuts.family, starts, own, np.broadcast_to(home, own.shape))
    points.add(paths.z[paths.arrived])
    for _ in range(_ROUNDS):
        monodromy(points, rng, moved=cuts.moved, quiet=3, loops=30)
        if len(points) > _MANY:
            return False
        if _is_straight(cuts, np.vstack([starts, points.z]), cuts.both(a, d), rng):
            return True
    return False


def _is_straight(cuts: _Cuts, z: Complex, start: Complex, rng: np.random.Generator) -> bool:
    """Return whether the sum of the points on a plane moves along a straight line with it."""
    a = normal(rng, cuts.width)
    b, d, step = normal(rng, 3)
    sums = []
    for k in range(3):
        end = cuts.plane(a, d + k * step, b=b)
        paths = track(cuts.family, z, start, end, tolerance=_TIGHT)
        if not paths.arrived.all():
            return False
        here = Solutions(cuts.family, end, paths.z)
        if len(here) != len(z):
            return False
        sums.append(here.features.sum(axis=0))
        z, start = here.z, end
    first, second = sums[1] - sums[0], sums[2] - sums[1]
    way = float(np.abs(first).max() + np.abs(second).max())
    return bool(np.abs(second - first).max() < STRAIGHT * way)
