"""All solutions of one member of a family, from which those of every other member follow.

One solution is made up: random complex unknowns, and parameters that fit them. Carried around
closed loops of the parameters it comes back as another one (monodromy); all that are found go
around again, until nothing new comes. Whether none is missing is then asked of the trace test
(`linkwright.homotopy.traces`). A set is kept on disk by the structure of its equations.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from linkwright.base.cache import entry_key, open_cache
from linkwright.base.errors import Error
from linkwright.base.fingerprint import fingerprint
from linkwright.homotopy.family import Complex, Family, conditions, features, is_meant, slopes
from linkwright.homotopy.tracking import TOLERANCE, polished, track

SAME = 1e-6
"""Features that differ by less, relative to their size, are those of one solution."""
QUIET = 4
"""Loops without anything new after which completeness is asked for."""
LOOPS = 60
"""Loops after which the search is given up."""
_ALONE = 12  # loops without anything new where there is one solution
_ROUNDS = 3
_FAR = 1e3
_ISOLATED = 1e-7
_SEED = 20_261_116


Seed: TypeAlias = Callable[[np.random.Generator], tuple[Complex, Complex]]
"""Makes up a solution, with the parameters that it belongs to."""


class HomotopyError(Error):
    """A family whose solutions could not be found."""


@dataclass(frozen=True, slots=True, eq=False)
class StartSet:
    """Solutions of one member of a family."""

    parameters: Complex  # of the member, complex
    solutions: Complex  # one row each
    complete: bool  # whether the trace test says that none is missing
    loops: int  # how many loops it took

    @property
    def count(self) -> int:
        """The number of solutions."""
        return len(self.solutions)


def random_parameters(family: Family, rng: np.random.Generator) -> Complex:
    """Return random complex parameters, those that turn away from zero."""
    p = normal(rng, len(family.parameters))
    turns = list(family.turns)
    p[turns] = np.exp(rng.normal(size=len(turns)) * 0.3 + 1j * rng.uniform(-3, 3, len(turns)))
    return p


def made_up(
    family: Family, rng: np.random.Generator, *, anywhere: bool = False
) -> tuple[Complex, Complex]:
    """Return a random complex solution with the parameters that it belongs to.

    Unknowns and parameters move together, as little as needed, until the equations hold. One
    random combination of the parameters is kept, so that not all of them become zero where the
    equations allow that (a machine without any size).
    """
    n = family.size
    for _ in range(20 * 2 ** len(family.signs)):
        z, p = normal(rng, n), random_parameters(family, rng)
        kept = np.concatenate([np.zeros(n), normal(rng, len(p))])[None]
        for _ in range(60):
            f, by_z, by_p = slopes(family, z, p)
            both = np.hstack([by_z, by_p])
            if not np.all(np.isfinite(both)) or not np.all(np.isfinite(f)):
                break
            if len(p):
                both, f = np.vstack([both, kept]), np.append(f, 0)
            step = np.linalg.lstsq(both, -f, rcond=1e-9)[0]
            step *= min(1.0, 1.0 / max(np.abs(step).max(), 1e-300))
            z, p = z + step[:n], p + step[n:]
            if np.abs(step).max() < 1e-13 and np.abs(f).max() < 1e-11:
                if is_meant(family, z, p) and _is_general(family, z, p, anywhere):
                    return z, p
                break
    raise HomotopyError(
        f"no made-up configuration of {family.name!r} closes",
        remedy="check that its loops can be closed at all",
    )


def _is_general(family: Family, z: Complex, p: Complex, anywhere: bool) -> bool:
    """Return whether a made-up solution lies well, and is isolated where it can be."""
    if max(np.abs(z).max(), np.abs(p).max(initial=0)) > _FAR:
        return False
    return anywhere or bool(conditions(family, z[None], p)[0] > _ISOLATED)


def normal(rng: np.random.Generator, count: int) -> Complex:
    """Return random complex numbers with normal parts."""
    return rng.normal(size=count) + 1j * rng.normal(size=count)


class Solutions:
    """Solutions of one member that are distinguished by their features."""

    def __init__(self, family: Family, parameters: Complex, z: Complex) -> None:
        self.family = family
        self.parameters = parameters
        self.z: Complex = np.zeros((0, family.size), complex)
        self.features: Complex = np.zeros((0, len(family.features)), complex)
        self.add(z)

    def __len__(self) -> int:
        return len(self.z)

    def told(self, z: Complex) -> Complex:
        """Return the features of places."""
        return features(self.family, z, self.parameters)

    def add(self, z: Complex) -> int:
        """Add those that are not known yet, and return how many they are."""
        if not len(z):
            return 0
        z, size = polished(self.family, z, self.parameters)
        own = self.told(z)
        sound = np.isfinite(own).all(axis=1) & (size < 1e-6 * (1 + np.abs(z).max(axis=1)))
        added = 0
        for row, known in zip(z[sound], own[sound], strict=True):
            if len(same(self.features, known)):
                continue
            self.z = np.vstack([self.z, row])
            self.features = np.vstack([self.features, known])
            added += 1
        return added


def same(known: Complex, row: Complex) -> npt.NDArray[np.intp]:
    """Return the rows that hold the same features as one row."""
    off = np.abs(known - row).max(axis=1, initial=0)
    return np.flatnonzero(off < SAME * (1 + np.abs(row).max(initial=0)))


def monodromy(
    found: Solutions,
    rng: np.random.Generator,
    *,
    moved: npt.NDArray[np.intp] | None = None,
    quiet: int = QUIET,
    loops: int = LOOPS,
    bound: int = 0,
) -> int:
    """Carry solutions around random triangles until nothing new comes, and return the loops."""
    family, home = found.family, found.parameters
    still = 0
    for loop in range(loops):
        corners = []
        for _ in range(2):
            corner = random_parameters(family, rng)
            if moved is not None:
                corner, fresh = home.copy(), corner
                corner[moved] = fresh[moved]
            corners.append(corner)
        z = found.z
        for start, end in zip((home, *corners), (*corners, home), strict=True):
            paths = track(family, z, start, end)
            z = paths.z[paths.arrived]
            if not len(z):
                break
        still = 0 if found.add(z) else still + 1
        if len(found) == bound:
            return loop + 1
        if still >= max(quiet, _ALONE // max(1, len(found))):
            return loop + 1
    return loops


def start_set(family: Family, *, seed: Seed | None = None, bound: int = 0) -> StartSet:
    """Return all solutions of a generic member of a family, from disk where they are known.

    >>> from linkwright.algebra import symbol
    >>> x, a, b = symbol("x", "coordinate"), symbol("a"), symbol("b")
    >>> cubic = Family("cubic", (x,), (a, b), (x**3 + a * x + b,), (x,), pencil=(0, 1))
    >>> found = start_set(cubic)
    >>> found.count, found.complete
    (3, True)
    """
    told = f"{fingerprint('starts')} {family.fingerprint()} {bound}"
    key = entry_key(told.encode(), "start set")

    def make() -> dict[str, Any]:
        return asdict(_searched(family, made_up_of(family) if seed is None else seed, bound))

    data = stored_arrays(key, make)
    return StartSet(
        data["parameters"], data["solutions"], bool(data["complete"]), int(data["loops"])
    )


def stored_arrays(key: bytes, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the arrays that lie under a key, which are made and stored where there are none."""
    store = open_cache()
    entry = None if store is None else store.fetch(key)
    if entry is not None:
        with np.load(io.BytesIO(entry), allow_pickle=False) as data:
            return dict(data)
    made, file = make(), io.BytesIO()
    np.savez(file, **made)
    if store is not None:
        store.put(key, file.getvalue())
    return made


def made_up_of(family: Family) -> Seed:
    """Return what makes up solutions of a family."""
    return lambda rng: made_up(family, rng)


def _searched(family: Family, seed: Seed, bound: int) -> StartSet:
    from linkwright.homotopy.traces import is_complete

    rng = np.random.default_rng(_SEED)
    z, p = seed(rng)
    found = Solutions(family, p, z[None])
    complete, loops = False, 0
    for _ in range(_ROUNDS):
        loops += monodromy(found, rng, bound=bound)
        for _ in range(2):  # made-up configurations of their own: there may be several components
            other, from_there = seed(rng)
            paths = track(family, other[None], from_there, p, tolerance=TOLERANCE / 100)
            if found.add(paths.z[paths.arrived]):
                loops += monodromy(found, rng, bound=bound)
        complete = len(found) == bound if bound else is_complete(found, rng)
        if complete:
            break
    return StartSet(p, found.z, complete, loops)
