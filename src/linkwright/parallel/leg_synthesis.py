"""Machines that point, found by their legs: all legs of three joints are tried, three alike.

A leg has a joint at the base, one at the elbow and one at the platform: a hinge about the tangent
(`Rt`), the radius (`Rr`) or the vertical (`Rv`), a slider along the leg (`P`), a universal joint
(`Utr`, `Utv`, `Urv`, two of these hinges) or a ball (`S`). Three legs with five freedoms each leave
three by Kutzbach's count; how many are true is the dimension of the motions at a pose that is
nothing special, found by products of exponentials (Brockett 1984) and Newton's method. Of what
turns the beam both ways and can be driven at the base, the tilt is found to which it leads the beam
in every azimuth, before loops come apart or the drives lose hold of the platform.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError, unknown
from linkwright.base.results import Result

Array = NDArray[np.float64]

HINGES = {"t": (0.0, 1.0, 0.0), "r": (1.0, 0.0, 0.0), "v": (0.0, 0.0, 1.0)}
JOINTS = ("Rt", "Rr", "Rv", "P", "Utr", "Utv", "Urv", "S")
_HINGED = {"S": "rtv"}  # the hinges of a ball, one after the other
_CLOSED = 1e-10
_STEP = math.radians(5.0)
_LOST = 0.02  # of the drives' hold of the platform, the least singular value
_MOST = math.radians(95.0)
_AZIMUTHS = np.radians([0.0, 30.0, 60.0, 90.0])  # the legs stand 120 deg apart


@dataclass(frozen=True, slots=True)
class LegCandidate(Result):
    """A machine of three legs that are alike.

    Args:
        legs: its joints from the base to the platform, such as "Rt-S-Rt".
        kutzbach: freedoms by count.
        true: freedoms at a pose that is nothing special.
        beam: in how many ways it turns the beam.
        third: what the platform does besides: "plunge", "torsion" or "shift"; "" for nothing.
        tilt: to which it leads the beam in every azimuth, deg.
        condition: of the map from drives to the platform where it starts.

    >>> LegCandidate("Rt-S-Rt", 3, 3, 2, "plunge", 95.0, 1.5).tilt
    95.0
    """

    legs: str
    kutzbach: int
    true: int
    beam: int
    third: str
    tilt: float
    condition: float


def find_candidates(
    joints: Iterable[str] = JOINTS,
    *,
    freedoms: int = 5,
    radius: float = 0.28,
    elbow: float = 0.96,
    height: float = 0.98,
    overconstrained: bool = False,
) -> tuple[LegCandidate, ...]:
    """Return the machines of three legs that turn a beam both ways, the farthest tilt first.

    Args:
        joints: of which legs are made, of `JOINTS`.
        freedoms: of a leg.
        radius: of the joints of base and platform, m.
        elbow: of the elbows, m.
        height: of the platform above the base, m.
        overconstrained: also those that move only because of how their axes lie.

    >>> found = find_candidates(["Rt", "S"])
    >>> [(c.legs, c.true, c.third, round(c.tilt)) for c in found]
    [('Rt-S-Rt', 3, 'plunge', 95), ('Rt-Rt-S', 3, 'plunge', 25)]
    """
    known = tuple(dict.fromkeys(joints))
    for name in known:
        if name not in JOINTS:
            raise unknown("joint", name, JOINTS, f"there are {', '.join(JOINTS)}")
    if not 2 <= freedoms <= 6:
        raise InputError(f"legs of {freedoms} freedoms", remedy="give 2 to 6")
    places = np.array([[radius, 0, 0], [elbow, 0, height / 2], [radius, 0, height]])
    if not (np.isfinite(places).all() and radius > 0 and height > 0):
        raise InputError("a machine has a radius and a height", remedy="give them above 0")
    found = []
    for names in itertools.product(known, repeat=3):
        if sum(map(_freedoms, names)) == freedoms:
            made = _candidate(names, places)
            if made is not None and (overconstrained or made.true == made.kutzbach):
                found.append(made)
    return tuple(sorted(found, key=lambda c: (-round(c.tilt), c.condition, c.legs)))


def _freedoms(name: str) -> int:
    return {"R": 1, "P": 1, "U": 2, "S": 3}[name[0]]


def _candidate(names: Sequence[str], places: Array) -> LegCandidate | None:
    machine = _Legs(names, places)
    freedoms = sum(map(_freedoms, names))
    kutzbach = 6 - 3 * (6 - freedoms)
    q = machine.generic()
    if q is None:
        return None
    ways = machine.motions(q)
    beam = machine.beam_rank(q, ways)
    if beam < 2 or _freedoms(names[0]) > 1:
        return None
    hold = machine.hold(q, ways)
    if hold is None:
        return None
    tilt = machine.tilt()
    third = machine.third(q, ways) if len(ways.T) > 2 else ""
    return LegCandidate(
        "-".join(names), kutzbach, len(ways.T), beam, third, math.degrees(tilt), hold[1]
    )


class _Legs:
    """Three legs of single joints, as screws in the pose in which they are drawn."""

    def __init__(self, names: Sequence[str], places: Array) -> None:
        rows: list[Array] = []
        for k, name in enumerate(names):
            at = places[k]
            if name == "P":
                along = places[min(k + 1, 2)] - places[min(k, 1)]
                rows.append(np.r_[np.zeros(3), along / np.linalg.norm(along)])
                continue
            for letter in _HINGED.get(name, name[1:]):
                axis = np.array(HINGES[letter])
                rows.append(np.r_[axis, np.cross(at, axis)])
        self.count = len(rows)
        self.screws = np.array([[_turned(row, k * math.tau / 3) for row in rows] for k in range(3)])
        self.center = np.array([0.0, 0.0, places[2, 2]])
        self.length = float(places[0, 0])

    def poses(self, q: Array) -> tuple[Array, Array]:
        """Return where each leg puts the platform, and the screws of its joints there."""
        ends, columns = [], []
        for k in range(3):
            t = np.eye(4)
            moved = []
            for screw, angle in zip(self.screws[k], q[k * self.count :], strict=False):
                moved.append(_carried(t, screw))
                t = t @ _exponential(screw, float(angle))
            ends.append(t)
            columns.append(np.array(moved).T)
        return np.array(ends), np.array(columns)

    def relations(self, q: Array) -> tuple[Array, Array]:
        """Return by how much the legs disagree, and how that changes."""
        return self._relations(*self.poses(q))

    def _relations(self, ends: Array, columns: Array) -> tuple[Array, Array]:
        n = self.count
        off, rows = [], np.zeros((12, 3 * n))
        for i in (1, 2):
            off.append(_twist_of(ends[0] @ _inverse(ends[i])))
            rows[6 * i - 6 : 6 * i, :n] = columns[0]
            rows[6 * i - 6 : 6 * i, n * i : n * (i + 1)] = -columns[i]
        return np.concatenate(off), rows

    def closed(self, q: Array, aim: Array | None = None) -> Array | None:
        """Return joints near some that close the loops and, where it is given, aim the beam."""
        q = q.copy()
        for _ in range(30):
            ends, columns = self.poses(q)
            off, rows = self._relations(ends, columns)
            if aim is not None:
                beam = ends[0][:3, 2]
                turn = -_skew(beam) @ columns[0][:3]
                off = np.r_[off, beam - aim]
                rows = np.vstack([rows, np.hstack([turn, np.zeros((3, 2 * self.count))])])
            if np.abs(off).max() < _CLOSED:
                return q
            step = np.linalg.lstsq(rows, -off, rcond=1e-9)[0]
            size = float(np.abs(step).max())
            if not size < 10:
                return None
            q += step * min(1.0, 0.3 / max(size, 1e-12))
        return None

    def motions(self, q: Array) -> Array:
        """Return rates of all joints that keep the loops closed, a column for each freedom."""
        _, s, vt = np.linalg.svd(self.relations(q)[1])
        rank = int((s > 1e-7 * s[0]).sum())
        return np.asarray(vt[rank:].T)

    def generic(self) -> Array | None:
        """Return a pose beside the drawn one that is nothing special; None where nothing moves."""
        q = np.zeros(3 * self.count)
        rng = np.random.default_rng(5)
        for _ in range(4):
            ways = self.motions(q)
            if not ways.shape[1]:
                return None
            step = ways @ rng.normal(size=ways.shape[1])
            near = self.closed(q + 0.05 * step / np.abs(step).max())
            if near is None:
                return None
            q = near
        return q

    def twists(self, q: Array, ways: Array) -> Array:
        """Return the platform's rates, turning over its length and at its center, by motion."""
        columns = self.poses(q)[1]
        found = columns[0] @ ways[: self.count]
        ends = self.poses(q)[0][0]
        center = ends[:3, :3] @ self.center + ends[:3, 3]
        moving = found[3:] + np.cross(found[:3].T, center).T
        return np.vstack([found[:3], moving / self.length])

    def beam_rank(self, q: Array, ways: Array) -> int:
        """Return in how many ways the beam turns."""
        beam = self.poses(q)[0][0][:3, 2]
        turned = np.cross(self.twists(q, ways)[:3].T, beam)
        return int(np.linalg.matrix_rank(turned, tol=1e-6))

    def hold(self, q: Array, ways: Array) -> tuple[float, float] | None:
        """Return how well the drives at the base hold the platform, and the condition of that."""
        drives = ways[[0, self.count, 2 * self.count]]
        platform = self.twists(q, ways)
        basis, s, _ = np.linalg.svd(platform, full_matrices=False)
        rank = int((s > 1e-7).sum())
        if rank != ways.shape[1] or rank > 3:
            return None  # something moves that the platform does not show, or too much
        by_drives = drives @ np.linalg.pinv(basis[:, :rank].T @ platform)
        values = np.linalg.svd(by_drives)[1][:rank]
        return (float(values[-1]), float(values[0] / values[-1])) if values[-1] > 1e-6 else None

    def third(self, q: Array, ways: Array) -> str:
        """Return what the platform does while its beam stands."""
        beam = self.poses(q)[0][0][:3, 2]
        twists = self.twists(q, ways)
        turned = np.cross(twists[:3].T, beam).T
        still = np.linalg.svd(turned)[2][2:].T
        left = (twists @ still)[:, 0]
        spin, along = abs(left[:3] @ beam), float(np.linalg.norm(left[3:]))
        if spin > along:
            return "torsion"
        return "plunge" if abs(left[3:] @ beam) > 0.7 * along else "shift"

    def tilt(self) -> float:
        """Return to which tilt the beam is led in every azimuth, rad."""
        least = _MOST
        for azimuth in _AZIMUTHS:
            q, angle = np.zeros(3 * self.count), 0.0
            while angle < least:
                goal = angle + _STEP
                flat = math.sin(goal)
                aim = np.array([flat * math.cos(azimuth), flat * math.sin(azimuth), math.cos(goal)])
                near = self.closed(q, aim)
                if near is None or np.abs(near - q).max() > 1.0:
                    break
                held = self.hold(near, self.motions(near))
                if held is None or held[0] < _LOST:
                    break
                q, angle = near, goal
            least = min(least, angle)
        return least


# -- motions of bodies -----------------------------------------------------------------------------
def _skew(v: Array) -> Array:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def _turned(screw: Array, angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    r = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    return np.concatenate([r @ screw[:3], r @ screw[3:]])


def _carried(t: Array, screw: Array) -> Array:
    """Return a screw that a motion has carried along."""
    w = t[:3, :3] @ screw[:3]
    return np.concatenate([w, t[:3, :3] @ screw[3:] + np.cross(t[:3, 3], w)])


def _exponential(screw: Array, angle: float) -> Array:
    """Return the motion by a screw: a turn about its axis, or a shift."""
    t = np.eye(4)
    w, v = screw[:3], screw[3:]
    if not w.any():
        t[:3, 3] = v * angle
        return t
    k = _skew(w)
    t[:3, :3] = np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k
    at = np.cross(w, v)  # the point of the axis nearest to the origin
    t[:3, 3] = at - t[:3, :3] @ at
    return t


def _inverse(t: Array) -> Array:
    made = np.eye(4)
    made[:3, :3] = t[:3, :3].T
    made[:3, 3] = -t[:3, :3].T @ t[:3, 3]
    return made


def _twist_of(t: Array) -> Array:
    """Return the small motion that a matrix is: its turn, and its shift at the origin."""
    r = t[:3, :3]
    w = 0.5 * np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]])
    return np.concatenate([w, t[:3, 3]])
