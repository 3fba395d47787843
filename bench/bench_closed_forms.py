"""Mounts in closed form: all ways to assemble three legs by a resultant, beside many starts.

The peer is what its users write: `scipy.optimize.root` on the three closures from starts at random,
with 50 starts, after which one of the four ways of the example is missed in about one case of a
hundred. Angles of the lower arms are drawn about the example of the report.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root

from bench.measure import Row
from linkwright.mounts import pointing
from linkwright.mounts.closed_forms import Legs, arm_angles, platform_modes
from linkwright.mounts.closed_forms.rotary import elbows
from linkwright.parallel.resultants import closures

TITLE = "Mounts in closed form"

Array = NDArray[np.float64]
CASES, PEER_CASES, STARTS = 4_000, 12, 50
DIRECTIONS = 200_000
_ROUNDS = 3
_LEGS = Legs(upper=(-0.141, 0, 0))


def run() -> list[Row]:
    """Return the rows of the table."""
    rng = np.random.default_rng(17)
    arms = np.radians([60.0, 45, 30]) + rng.uniform(-0.1, 0.1, (CASES, 3))
    found = platform_modes(arms, _LEGS)
    ours = math.inf
    for _ in range(_ROUNDS):
        started = time.process_time()
        found = platform_modes(arms, _LEGS)
        ours = min(ours, (time.process_time() - started) / CASES)
    peer, missed = _starts(arms[:PEER_CASES], np.bincount(found.row, minlength=CASES), rng)
    d = pointing.direction_at(rng.uniform(0, 360, DIRECTIONS), rng.uniform(0, 90, DIRECTIONS))
    arm_angles(d)
    started = time.process_time()
    arm_angles(d)
    inverse = (time.process_time() - started) / DIRECTIONS
    return [
        Row(
            "three legs, all ways by the resultant",
            1 / ours,
            "answers/s",
            5_000,
            "higher",
            f"{len(found.row) / CASES:.2f} real ways of 16; residual {found.residual.max():.0e}",
        ),
        Row(
            f"… over SciPy's root from {STARTS} starts",
            peer / ours,
            "1",
            100,
            "higher",
            f"{1 / peer:.1f} answers a second; {missed} of its {PEER_CASES} cases miss a way",
        ),
        Row(
            "arms for directions, in batch",
            1 / inverse / 1e6,
            "million/s",
            None,
            "higher",
            "angles, elbows and derivatives on one core",
        ),
    ]


def _starts(arms: Array, ways: NDArray[np.intp], rng: np.random.Generator) -> tuple[float, int]:
    """Return the peer's time for one case, and in how many it finds fewer ways."""
    out = np.array([[1, 0, 0], [-0.5, math.sqrt(0.75), 0], [-0.5, -math.sqrt(0.75), 0]])
    lengths = _LEGS.l + np.array(_LEGS.upper)
    missed = 0
    started = time.process_time()
    for k, case in enumerate(arms):
        b = elbows(case, _LEGS)
        sides = [np.linalg.norm(b[j] - b[i]) for i, j in ((0, 1), (1, 2), (2, 0))]
        d = closures(_LEGS.r * out, out, 0 * out - (0, 0, 1), lengths, sides)

        def left(x: Array, d: Array = d) -> Array:
            c, s = np.cos(x), np.sin(x)
            ci, si, cj, sj = c, s, np.roll(c, -1), np.roll(s, -1)
            parts = (ci, cj, si, sj, ci * cj, si * cj, ci * sj, si * sj, np.ones(3))
            found: Array = (d * np.stack(parts, axis=1)).sum(axis=1)
            return found

        known: set[tuple[float, ...]] = set()
        for start in rng.uniform(-math.pi, math.pi, (STARTS, 3)):
            solved = root(left, start)
            if solved.success:
                known.add(tuple(np.round(np.arctan2(np.sin(solved.x), np.cos(solved.x)), 5)))
        missed += len(known) < ways[k]
    return (time.process_time() - started) / len(arms), missed


if __name__ == "__main__":
    for row in run():
        print(row)
