"""Every assembly of a Stewart platform: from nothing, and for random geometries.

The peer is the same method in NumPy, vectorized over the paths: Runge and Kutta's predictor,
Newton's corrector, the same tolerances and step control path by path, the same start set and the
same unknowns, with derivatives written by hand and `numpy.linalg.solve` on stacks of matrices.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import linkwright as lw
from bench.measure import Row
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.homotopy.tracking import SHORTEST, TOLERANCE, track
from linkwright.parallel.assembly_modes import find_assemblies, prepared
from linkwright.parallel.polynomials import CHART

TITLE = "Assemblies of a Stewart platform"
GEOMETRIES = 20
_FROM_NOTHING = """
import time
import linkwright as lw
from linkwright.parallel import assemblies
m = lw.load("stewart")
start = time.perf_counter()
found = assemblies(m, [0.6, 0.64, 0.7, 0.55, 0.66, 0.73])
print(time.perf_counter() - start, time.process_time(), found.generic, found.complete)
"""


def run() -> list[Row]:
    """Return the rows of the table."""
    rows = [_from_nothing()]
    m = lw.load("stewart").mechanism
    rng = np.random.default_rng(17)
    times: list[float] = []
    counts: list[int] = []
    real: list[int] = []
    worst, wide, complete = 0.0, 0.0, 0
    for k in range(GEOMETRIES + 1):
        values, legs = _geometry(m, rng)
        start = time.perf_counter()
        found = find_assemblies(m, legs, values)
        if k == 0:
            continue  # the code is loaded
        times.append(time.perf_counter() - start)
        counts.append(found.count)
        real.append(len(found.real))
        worst = max(worst, *(mode.residual for mode in found.real))
        wide = max(wide, found.residual)
        complete += found.complete
    rows += [
        Row("assemblies of 20 random geometries, fewest", min(counts), "1", 40, "higher"),
        Row("of these complete", complete, "1", GEOMETRIES, "higher", f"real: {sorted(real)}"),
        Row("largest residual of real ones", worst, "m^2", 1e-10),
        Row("of complex ones", wide, "m^2", note="rotations of size 2,000: rounding of squares"),
        Row("a new geometry, median", statistics.median(times), "s", 0.1),
    ]
    return rows + _peers(m, rng)


def _from_nothing() -> Row:
    with tempfile.TemporaryDirectory() as folder:
        settings = {**os.environ, "LINKWRIGHT_CACHE_DIR": f"{folder}/cache"}
        done = subprocess.run(
            [sys.executable, "-c", _FROM_NOTHING],
            env=settings, capture_output=True, text=True, check=True, timeout=300,
        )  # fmt: skip
    wall, cpu, count, complete = done.stdout.split()
    note = f"{count} in the family, complete: {complete}; {float(cpu):.1f} s of processor time"
    return Row("from nothing, empty cache", float(wall), "s", 10, note=note)


def _geometry(m: lw.Mechanism, rng: np.random.Generator) -> tuple[dict[str, float], list[float]]:
    """Return random places of all ball joints, and lengths of the legs that fit some pose."""
    values: dict[str, float] = {}
    legs = []
    for k in range(1, 7):
        foot, head = (
            np.array([m.values[f"{what}{k}_{axis}"] for axis in "xyz"]) + rng.uniform(-0.2, 0.2, 3)
            for what in ("base", "platform")
        )
        values |= {f"base{k}_{axis}": float(v) for axis, v in zip("xyz", foot, strict=True)}
        values |= {f"platform{k}_{axis}": float(v) for axis, v in zip("xyz", head, strict=True)}
        legs.append(float(np.linalg.norm(head + np.array([0.05, -0.03, 0.5]) - foot)))
    return values, legs


# -- peers -----------------------------------------------------------------------------------------
def _peers(m: lw.Mechanism, rng: np.random.Generator) -> list[Row]:
    machine = parallel_machine(m)
    made = prepared(machine, machine.actuators)
    family, start = made.square.family, made.start
    values, legs = _geometry(m, rng)
    known = {machine.mechanism.parameters[n]: v for n, v in {**m.values, **values}.items()}
    known |= dict(zip(machine.actuators, legs, strict=True))
    end = made.square.parameters(made.polynomials.at(known))
    names = [str(x) for x in made.polynomials.definitions]
    peer = _NumPy(names)
    ours, theirs = [], []
    paths = track(family, start.solutions, start.parameters, end)
    z, arrived = paths.z, paths.arrived
    for _ in range(3):
        before = time.perf_counter()
        paths = track(family, start.solutions, start.parameters, end)
        ours.append(time.perf_counter() - before)
        before = time.perf_counter()
        z, arrived = peer.track(start.solutions, start.parameters, end)
        theirs.append(time.perf_counter() - before)
    off = np.abs(paths.z[paths.arrived & arrived] - z[paths.arrived & arrived]).max()
    ratio = statistics.median(theirs) / statistics.median(ours)
    note = f"{1e3 * statistics.median(theirs):.0f} ms by NumPy; same ends within {off:.0e}"
    return [Row("40 paths, times faster than NumPy", ratio, "1", 10, "higher", note)]


class _NumPy:
    """The equations of a Stewart platform and a tracker of them in plain NumPy."""

    def __init__(self, names: list[str]) -> None:
        def places(pattern: str) -> np.ndarray:
            return np.array(
                [[names.index(pattern.format(k, a)) for a in "xyz"] for k in range(1, 7)]
            )

        self.base, self.head = places("base{}_{}"), places("platform{}_{}")
        self.squares = np.array([names.index(f"leg{k}**2") for k in range(1, 7)])

    def newton(
        self, z: np.ndarray, t: np.ndarray, start: np.ndarray, way: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return Newton's steps and the slopes of the paths."""
        p = start + t[:, None] * way
        y = z[:, 3:]
        e = np.concatenate([(1 + y @ np.array(CHART))[:, None], y], axis=1)
        by_y = np.zeros((4, 3), complex)
        by_y[0], by_y[1:] = CHART, np.eye(3)
        norm = (e * e).sum(axis=1)
        matrix = np.einsum("kabc,nb,nc->nka", _FORMS, e, e).reshape(-1, 3, 3)
        slope = 2 * np.einsum("kabc,nb,cj->nkaj", _FORMS, e, by_y).reshape(-1, 3, 3, 3)
        turn = matrix / norm[:, None, None]
        turned = slope / norm[:, None, None, None] - np.einsum(
            "nij,nk->nijk", matrix, 2 * (e @ by_y) / norm[:, None] ** 2
        )
        x = z[:, :3] / norm[:, None]
        x_by_y = x[:, :, None] * (-2 * (e @ by_y) / norm[:, None])[:, None]
        a, b, squares = p[:, self.base], p[:, self.head], p[:, self.squares]
        d = x[:, None] + np.einsum("nij,nlj->nli", turn, b) - a
        f = (d * d).sum(axis=2) - squares
        turns = np.einsum("nli,nijk,nlj->nlk", d, turned, b) + d @ x_by_y
        by_z = np.concatenate([2 * d / norm[:, None, None], 2 * turns], axis=2)
        moved = np.einsum("nij,lj->nli", turn, way[self.head]) - way[self.base]
        by_t = 2 * (d * moved).sum(axis=2) - way[self.squares]
        both = np.linalg.solve(by_z, -np.stack([f, by_t], axis=2))
        return both[..., 0], both[..., 1]

    def track(
        self, z: np.ndarray, start: np.ndarray, end: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Follow all paths, each with its own step."""
        way = end - start
        z, t, h = z.copy(), np.zeros(len(z)), np.full(len(z), 0.01)
        _, v = self.newton(z, t, start, way)
        going = np.arange(len(z))
        while len(going):
            at, now = z[going], t[going]
            last = 1 - now <= h[going]
            step = np.where(last, 1 - now, h[going])
            after, s = np.where(last, 1.0, now + step), step[:, None]
            k1 = v[going]
            _, k2 = self.newton(at + s / 2 * k1, now + step / 2, start, way)
            _, k3 = self.newton(at + s / 2 * k2, now + step / 2, start, way)
            _, k4 = self.newton(at + s * k3, after, start, way)
            place = at + s / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            sizes, slope = [], k1
            for _ in range(3):
                correction, slope = self.newton(place, after, start, way)
                place = place + correction
                sizes.append(np.abs(correction).max(axis=1))
            scale = np.maximum(1, np.abs(place).max(axis=1))
            error = sizes[0] / scale
            good = (error <= TOLERANCE) & (sizes[1] <= 0.05 * sizes[0] + 1e-9 * scale)
            good &= sizes[2] <= 0.05 * sizes[1] + 1e-9 * scale
            ratio = 0.9 * (TOLERANCE / np.maximum(error, 1e-300) / 4) ** 0.25
            growth = np.where(good, np.clip(ratio, 0.5, 2), np.clip(ratio, 0.1, 0.5))
            h[going] = step * growth
            own = going[good]
            z[own], v[own], t[own] = place[good], slope[good], after[good]
            going = going[(t[going] < 1) & (h[going] > SHORTEST)]
        return z, t >= 1


def _forms() -> np.ndarray:
    """Return the rotation of a quaternion as nine quadratic forms, 3 x 3 x 4 x 4 in halves."""
    made = np.zeros((3, 3, 4, 4))
    for i in range(3):
        for k in range(4):
            made[i, i, k, k] = 1 if k in (0, i + 1) else -1
        j, k = (i + 1) % 3, (i + 2) % 3
        for r, c, sign in ((i, j, -1), (j, i, 1)):
            made[r, c, r + 1, c + 1] = made[r, c, c + 1, r + 1] = 1
            made[r, c, 0, k + 1] = made[r, c, k + 1, 0] = sign
    return made


_FORMS = _forms()
