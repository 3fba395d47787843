"""The solutions of any member of a family, from those of a generic one.

Where two paths end at one place although that place is not singular, one of them has jumped: they
are tracked again with a tighter tolerance. So are paths that stood still; where one stands still in
midway, all go another way, over a random member. What is left over ends at a singular place, or
runs off to infinity; it is distinguished by the size and the residual there. A path that was far
out near its end may only have passed there: infinity is believed where two ways agree on what is
left. Those of hexapods stand still at features of 1e6 or more; what lies nearer is reached.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwright.homotopy.family import (
    Complex,
    Family,
    Real,
    conditions,
    features,
    residuals,
    slopes,
)
from linkwright.homotopy.start_sets import StartSet, random_parameters, same
from linkwright.homotopy.tracking import FAR, TOLERANCE, Paths, PathStatus, polished, track

TIGHTER = (1e-2, 1e-4)
"""Tolerances, relative to the first one, with which paths are tracked again."""
DETOURS = 6
"""Other ways to the same member that are tried where paths are lost."""
LARGE = 1e3
"""The size of an unknown or a feature beyond which a path that stands still goes to infinity."""
_SEED = 7
_NEAR_END = 1e-2
_CLOSE = 1e-8
_POLISHED = 1e-9
_REGULAR = 1e-8  # the smallest by the largest singular value at a solution that is isolated


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """The solutions of one member."""

    z: Complex  # isolated solutions, one row each
    features: Complex  # theirs
    singular: Complex  # places where paths end that are no isolated single solutions, one row each
    diverged: int  # number of paths that run off to infinity
    lost: int  # number of paths that stood still on the way
    residual: float  # the largest equation at the isolated solutions


def carried(family: Family, start: StartSet, p: Complex) -> Ends:
    """Return the solutions of a member of a family.

    >>> from linkwright.algebra import symbol
    >>> from linkwright.homotopy.start_sets import start_set
    >>> x, a, b = symbol("x", "coordinate"), symbol("a"), symbol("b")
    >>> cubic = Family("cubic", (x,), (a, b), (x**3 + a * x + b,), (x,), pencil=(0, 1))
    >>> ends = carried(cubic, start_set(cubic), np.array([-1.0 + 0j, 0.0]))
    >>> np.sort(ends.z[:, 0].real).round(9).tolist()
    [-1.0, 0.0, 1.0]
    """
    rng = np.random.default_rng(_SEED)
    found = _along(family, start.solutions, start.parameters, p)
    doubtful = found.diverged
    for _ in range(DETOURS):
        if not found.lost and not doubtful:
            break
        middle = random_parameters(family, rng)
        there = track(family, start.solutions, start.parameters, middle, tolerance=TOLERANCE / 100)
        if there.arrived.any():  # whichever these are: their ends are solutions, too
            more = _along(family, there.z[there.arrived], middle, p)
            known, found = len(found.z), _united(found, more, start.count)
            doubtful = found.diverged and (more.lost or len(found.z) > min(known, len(more.z)))
    return found


def _along(family: Family, solutions: Complex, start: Complex, p: Complex) -> Ends:
    """Return the ends of paths along a straight line of the parameters."""
    paths = track(family, solutions, start, p)
    z, t, status = paths.z.copy(), paths.t.copy(), paths.status.copy()
    told = _settle(family, z, t, status, p)
    for factor in TIGHTER:
        again = _doubtful(told, status)
        if not len(again):
            break
        more = track(family, solutions[again], start, p, tolerance=TOLERANCE * factor)
        z[again], t[again], status[again] = more.z, more.t, more.status
        told = _settle(family, z, t, status, p)
    return _sorted(family, Paths(z, t, status, paths.steps), told, p)


def _united(first: Ends, second: Ends, count: int) -> Ends:
    """Return what two ways to the same member found together."""
    if not second.lost and not second.diverged and len(second.z) + len(second.singular) == count:
        return second
    new = [k for k, row in enumerate(second.features) if not len(same(first.features, row))]
    z = np.vstack([first.z, second.z[new]])
    rest = max(first, second, key=lambda ends: (ends.diverged + len(ends.singular), -ends.lost))
    left = max(0, count - len(z) - len(rest.singular))
    return Ends(
        z,
        np.vstack([first.features, second.features[new]]),
        rest.singular,
        min(rest.diverged, left),
        max(0, left - rest.diverged),
        max(first.residual, second.residual),
    )


def _settle(family: Family, z: Complex, t: Real, status: np.ndarray, p: Complex) -> Complex:
    """Polish what has arrived, in place, and return the features of all.

    A path that stands still near its end, far out, is on its way to infinity.
    """
    told, away = features(family, np.where(np.isfinite(z), z, 0), p), status != PathStatus.ARRIVED
    size = np.abs(np.hstack([z, told])).max(axis=1)
    far = (size > LARGE) & (t > 1 - _NEAR_END)
    status[away & (far | ((size > LARGE / 10) & (t > 1 - _NEAR_END / 100)))] = PathStatus.DIVERGED
    own = np.flatnonzero(status == PathStatus.ARRIVED)
    if len(own):
        z[own], _ = polished(family, z[own], p)
    return features(family, np.where(np.isfinite(z), z, 0), p)


def _doubtful(told: Complex, status: np.ndarray) -> np.ndarray:
    """Return the paths that share their end with another one, or that stood still."""
    arrived = np.flatnonzero(status == PathStatus.ARRIVED)
    doubtful = [
        k for k in range(len(status)) if status[k] in (PathStatus.SINGULAR, PathStatus.MOVING)
    ]
    doubtful += [int(k) for k in arrived if len(same(told[arrived], told[k])) > 1]
    return np.array(sorted(doubtful), dtype=int)


def _sorted(family: Family, paths: Paths, told: Complex, p: Complex) -> Ends:
    z, status = paths.z, paths.status
    isolated: list[int] = []
    singular: list[Complex] = []
    diverged = lost = 0
    arrived = np.flatnonzero(status == PathStatus.ARRIVED)
    off = np.full(len(z), np.inf)
    step, regular = np.full(len(z), np.inf), np.zeros(len(z))
    if len(arrived):
        regular[arrived] = conditions(family, z[arrived], p)
        off[arrived] = residuals(family, z[arrived], p)
        _, step[arrived] = polished(family, z[arrived], p)
    for k in range(len(z)):
        size = np.abs(z[k]).max()
        if status[k] == PathStatus.ARRIVED and step[k] < _POLISHED * max(1, size):
            if regular[k] < _REGULAR or len(same(told[isolated], told[k])):
                singular.append(z[k])
            else:
                isolated.append(k)
        elif status[k] == PathStatus.DIVERGED:
            diverged += 1
        elif paths.t[k] > 1 - _NEAR_END and size < FAR:
            near, residual = _closest(family, z[k], p)
            if residual < _CLOSE:
                singular.append(near)
            else:
                lost += 1
        else:
            lost += 1
    rows = np.array(singular, complex).reshape(-1, family.size)
    residual = float(off[isolated].max(initial=0))
    return Ends(z[isolated], told[isolated], rows, diverged, lost, residual)


def _closest(family: Family, z: Complex, p: Complex) -> tuple[Complex, float]:
    """Return a solution near a place where the equations may be dependent, and its residual."""
    for _ in range(30):
        f, by_z, _ = slopes(family, z, p)
        if not (np.all(np.isfinite(f)) and np.all(np.isfinite(by_z))):
            break
        z = z - np.linalg.lstsq(by_z, f, rcond=1e-10)[0]
    return z, float(residuals(family, z[None], p)[0])
