"""Curves of singular poses over directions, actuators or places, and what they separate.

The start of each curve comes from a coarse grid of closed poses: from every node where the smallest
singular value is least among its neighbors, changes its sign, or beyond which loops do not close,
Newton's method looks for the curve nearby. Points of a curve are exact (1e-12); that no curve was
missed is as sure as the grid is fine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import cos

import numpy as np
from numpy.typing import NDArray

from linkwright.base.arguments import worded
from linkwright.base.checks import checked_angle
from linkwright.base.errors import DomainError, InputError, suggestion
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.equations.batch_closing import Closing
from linkwright.equations.grid_closing import fill
from linkwright.mechanism import ModelLike
from linkwright.parallel.machine_rates import Array, Coordinates, MachineRates, machine_rates
from linkwright.parallel.singular_curves import (
    KINDS,
    Followed,
    Inside,
    SingularCurve,
    crossing,
    followed,
    singular_curve,
)
from linkwright.parallel.singularities import generic_motions, singularity_at

Region = Mapping[str, tuple[float, float]]
_PLACES = ("x", "y", "z")


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class Locus(Result):
    """A curve of singular poses.

    Args:
        kind: of the poses on it, as in `Singularity`; where passive joints or the constraints
            themselves are singular, it says so.
        names: of the coordinates.
        q: the coordinates of each point, rows, rad or m.
        directions: where the platform points at each, unit vectors.
        positions: of the platform's point, m.
        closed: whether the last point is followed by the first.
        ends: why the curve ends, at the first and at the last point.
        curve: its equations, by which points between those given are found.
        tangents: unit vectors along it, in scaled coordinates.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("arm")
    >>> upper = m.body("upper", rotate="z")
    >>> lower = m.body("lower", parent=upper, at=(1, 0, 0), rotate="z")
    >>> m.set_initial({"lower": 1.0})
    >>> m.actuate("upper", "lower")
    >>> p = m.set_platform(m.point("tip", lower, (1, 0, 0)))
    >>> over = {"upper": (0.0, 1.0), "lower": (-1.5, 1.5)}
    >>> found = singular_loci(m, "type 1", over, output="position")
    >>> len(found), found[0].ends, bool(abs(found[0].q[:, 1]).max() < 1e-12)
    (1, ('the edge of the region', 'the edge of the region'), True)
    """

    kind: str
    names: tuple[str, ...] = field(repr=False)
    q: Array
    directions: Array
    positions: Array
    closed: bool
    ends: tuple[str, str]
    curve: SingularCurve = field(repr=False)
    tangents: Array = field(repr=False)

    @property
    def zenith(self) -> Array:
        """The angle of each direction from z, rad."""
        d = self.directions
        return np.asarray(np.arctan2(np.hypot(d[:, 0], d[:, 1]), d[:, 2]))

    @property
    def azimuth(self) -> Array:
        """The angle of each direction about z from x, rad, from 0 to 2 pi."""
        return np.asarray(np.arctan2(*self.directions[:, 1::-1].T) % (2 * np.pi))

    def nearest(self, direction: Sequence[float] = (0.0, 0.0, 1.0)) -> tuple[Array, float]:
        """Return the direction on the curve nearest to another one, and the angle, rad.

        Args:
            direction: any vector; by default the zenith.
        """
        aim = np.asarray(direction, dtype=float)
        aim = aim / np.linalg.norm(aim)
        rates = self.curve.rates
        z = self.q / rates.scales
        best = int((self.directions @ aim).argmax())
        found = self.directions[best]

        def rate(at: Array) -> float:
            solved = self.curve.solved(at)
            slope = aim @ rates.at(at * rates.scales).turning * rates.scales
            if solved is None:
                return float("nan")
            t = solved[1] if solved[1] @ self.tangents[best] > 0 else -solved[1]
            return float(slope @ t)

        count = len(z)
        for other in (best - 1, best + 1):
            inner = other % count if self.closed else other
            if not 0 <= inner < count:
                continue
            t = self.tangents[best]
            step = float((z[inner] - z[best]) @ t)
            if rate(z[best]) * rate(self._shifted(best, step)) < 0:
                at, _ = crossing(self.curve, (z[best], t), step, rate)
                found = rates.at(at * rates.scales).direction
        return found, float(np.arccos(np.clip(found @ aim, -1.0, 1.0)))

    def away(self, coordinates: Mapping[str, float]) -> float:
        """Return the angle from where a pose points to the nearest direction on the curve, rad.

        Args:
            coordinates: of the pose, by name, as in `Singularity`.
        """
        q = np.array([float(coordinates[n]) for n in self.names])
        return self.nearest(self.curve.rates.at(q).direction.tolist())[1]

    def _shifted(self, k: int, step: float) -> Array:
        t = self.tangents[k]
        found = self.curve.solved(self.q[k] / self.curve.rates.scales + step * t, t)
        return self.q[k] / self.curve.rates.scales if found is None else found[0]

    def at_zenith(self, angle: float) -> Array:
        """Return the directions at which the curve has an angle from z, as rows.

        Args:
            angle: rad; pi/2 for the horizon.
        """
        checked_angle(angle, "the angle from z", least=0.0, most=np.pi)
        rates, wanted = self.curve.rates, cos(angle)

        def above(z: Array) -> float:
            return float(rates.at(z * rates.scales).direction[2]) - wanted

        z = self.q / rates.scales
        heights = self.directions[:, 2] - wanted
        found = [d for d, h in zip(self.directions, heights, strict=True) if abs(h) < 1e-13]
        pairs = [(k, k + 1) for k in range(len(z) - 1)] + [(len(z) - 1, 0)] * self.closed
        for k, after in pairs:
            if heights[k] * heights[after] < 0 and min(abs(heights[[k, after]])) >= 1e-13:
                t = self.tangents[k]
                at, _ = crossing(self.curve, (z[k], t), float((z[after] - z[k]) @ t), above)
                found.append(rates.at(at * rates.scales).direction)
        return np.array(found).reshape(-1, 3)

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "kind": self.kind,
            "closed": self.closed,
            "ends": list(self.ends),
            "coordinates": list(self.names),
            "q": self.q.tolist(),
            "directions": self.directions.tolist(),
            "positions": self.positions.tolist(),
        }


@worded
def singular_loci(
    model: ModelLike,
    kind: str = "type 2",
    over: Region | None = None,
    *,
    q: Coordinates | None = None,
    hold: Mapping[str, float] | None = None,
    output: str = "pose",
    grid: int = 24,
    length: float | None = None,
) -> tuple[Locus, ...]:
    """Return the curves of singular poses on the branch of a pose.

    Their points satisfy the relations and the condition to 1e-12. On curves of kind "constraint"
    the relations themselves are singular, and points are as exact as the root of that. On curves
    of kind "passive" joints fold that no actuator drives; beyond them the branch ends.

    Args:
        model: with actuators and a platform: a robot, a mechanism, a file or a shipped model.
        kind: "type 1" (the platform loses a motion) or "type 2" (it moves with its actuators
            locked).
        over: the region. {"zenith": (0, 1.57)} for directions, rad from z; two actuators or other
            coordinates by name, {"leg1": (0.5, 1.2), "leg2": (0.5, 1.2)}, rad or m; or two of the
            platform's places, {"x": (-1, 1), "y": (0, 1)}, m. By default the upper hemisphere.
        q: a pose of the branch, as in `singularity`.
        hold: coordinates that stay, by name, where the machine has more than two freedoms.
        output: what the platform is for: "pose", "direction" or "position".
        grid: how many nodes the region has along each axis, from which curves are looked for.
        length: that counts as much as a radian, m.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("mount")
    >>> yoke = m.body("yoke", rotate="z")
    >>> dish = m.body("dish", parent=yoke, rotate="y")
    >>> m.set_initial({"dish": 0.5})
    >>> m.actuate("yoke", "dish")
    >>> p = m.set_platform(dish)
    >>> over = {"yoke": (0.0, 1.0), "dish": (-1.0, 1.0)}
    >>> keyhole = singular_loci(m, "type 1", over, output="direction", grid=4)
    >>> [x.kind for x in keyhole], float(keyhole[0].zenith.max().round(9))
    (['type 1'], 0.0)
    """
    if kind not in KINDS:
        raise InputError(f"a locus is of {' or '.join(KINDS)}, not {kind!r}")
    if grid < 3:
        raise InputError(f"a grid of {grid} nodes shows nothing", remedy="give at least 3")
    rates = machine_rates(model, length=length)
    start = rates.coordinates(q)
    generic, weights = generic_motions(rates, start, output)
    held = _held(rates, hold or {})
    freedoms = generic.mobility - generic.idle - len(held)
    if freedoms != 2:
        raise DomainError(
            f"{rates.machine.mechanism.name!r} moves in {freedoms} ways, and singular poses are a "
            "curve where there are two",
            remedy="hold coordinates: hold={...}" if freedoms > 2 else "hold fewer coordinates",
        )
    chart = _chart(rates, start, {"zenith": (0.0, np.pi / 2)} if over is None else over, held, grid)
    found: list[tuple[str, SingularCurve, Followed]] = []
    for node in _candidates(rates, chart, kind, output, weights, start):
        curve = singular_curve(rates, kind, output, weights, chart.q[node], held)
        solved = curve.solved(chart.q[node] / rates.scales)
        if solved is None or chart.inside(solved[0]) < 0:
            continue
        if any(_lies_on(c, f, solved[0], kind) for kind, c, f in found):
            continue
        made = followed(curve, solved[0], chart.inside)
        if len(made.points) > 1 and _singular(curve, made):
            middle = made.points[len(made.points) // 2] * rates.scales
            found.append((singularity_at(rates, middle, output, 1e-5).kind, curve, made))
    return tuple(_locus(kind, curve, made) for kind, curve, made in found)


def _held(rates: MachineRates, hold: Mapping[str, float]) -> dict[int, float]:
    for name in hold:
        if name not in rates.names:
            raise InputError(
                f"there is no coordinate {name!r} to hold",
                remedy=suggestion(name, rates.names),
            )
    return {rates.names.index(n): float(v) for n, v in hold.items()}


def _locus(kind: str, curve: SingularCurve, made: Followed) -> Locus:
    q = made.points * curve.rates.scales
    now = curve.rates.at(q)
    return Locus(
        kind,
        curve.rates.names,
        q,
        now.direction,
        now.position,
        made.closed,
        made.ends,
        curve,
        made.tangents,
    )


def _singular(curve: SingularCurve, made: Followed) -> bool:
    """Whether the whole matrix, not only what the bases leave of it, loses rank on the curve."""
    now = curve.rates.at(made.points[len(made.points) // 2] * curve.rates.scales)
    s = np.linalg.svd(curve.matrix(now), compute_uv=False)
    return bool(s[curve.left.shape[1] - 1] < 1e-9)


def _lies_on(curve: SingularCurve, made: Followed, z: Array, kind: str) -> bool:
    """Whether a point of a curve is one of those that were followed."""
    gaps = curve.rates.apart(z - made.points)
    near = int((gaps**2).sum(axis=1).argmin())
    point, t, gap = made.points[near], made.tangents[near], gaps[near]
    far = float(np.linalg.norm(gap))
    if far > 0.2 or kind == "constraint":
        return far < 0.1
    found = curve.solved(point + float(gap @ t) * t, t)
    return found is not None and bool(np.abs(curve.rates.apart(found[0] - z)).max() < 1e-6)


# -- grids -----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, eq=False)
class _Chart:
    """Closed poses on a grid over a region, and the function that is positive inside it."""

    q: Array
    closed: NDArray[np.bool_]
    round: bool
    inside: Inside

    def neighbors(self, i: int, j: int) -> list[tuple[int, int]]:
        """Return the nodes beside one."""
        rows, columns = self.closed.shape
        beside = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
        if self.round:
            beside = [(a, b % columns) for a, b in beside]
        return [(a, b) for a, b in beside if 0 <= a < rows and 0 <= b < columns]


def _chart(
    rates: MachineRates, start: Array, over: Region, held: dict[int, float], grid: int
) -> _Chart:
    """Return closed poses over a region."""
    for name, (low, high) in over.items():
        if not (np.isfinite([low, high]).all() and low < high):
            raise InputError(f"{name!r} goes from {low} to {high}, which is not a range")
    names = tuple(over)
    kept = [rates.names[i] for i in held]
    fixed = np.array(list(held.values()))
    if names == ("zenith",):
        low, high = (
            checked_angle(x, "the zenith angle", least=0.0, most=np.pi) for x in over["zenith"]
        )
        polar = np.linspace(low, high, grid)
        around = np.linspace(0.0, 2 * np.pi, 2 * grid, endpoint=False)
        a, b = np.meshgrid(polar, around, indexing="ij")
        known = np.stack([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)], axis=-1)
        closing = Closing(rates.machine, ["direction", *kept])
        inner, outer = cos(high), cos(low) if low > 0 else 2.0

        def inside(z: Array) -> float:
            height = float(rates.at(z * rates.scales).direction[2])
            return min(height - inner, outer - height)

        made = _closed(closing, known, fixed, start, True, inside)
        if made.closed.any(axis=1).sum() == 1:
            raise DomainError(
                f"the platform of {rates.machine.mechanism.name!r} does not tilt",
                remedy="go over two of its coordinates, or over x and y of the platform",
            )
        return made
    if len(names) != 2:
        raise InputError(
            f"a region over {', '.join(names)} is not a plane",
            remedy='give {"zenith": (0, pi / 2)}, or ranges of two coordinates, or of x and y',
        )
    axes = [np.linspace(*over[n], grid) for n in names]
    known = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    low, high = np.array([over[n] for n in names]).T
    if set(names) <= set(_PLACES):
        whole = np.broadcast_to(rates.at(start).position, (*known.shape[:2], 3)).copy()
        places = [_PLACES.index(n) for n in names]
        whole[..., places] = known
        closing = Closing(rates.machine, ["position", *kept])

        def inside_place(z: Array) -> float:
            p = rates.at(z * rates.scales).position[places]
            return float(min((p - low).min(), (high - p).min()))

        return _closed(closing, whole, fixed, start, False, inside_place)
    for name in names:
        if name not in rates.names:
            raise InputError(
                f"there is no coordinate {name!r} to go over",
                remedy=suggestion(name, [*rates.names, "zenith", *_PLACES]),
            )
    where = [rates.names.index(n) for n in names]

    def inside_box(z: Array) -> float:
        x = (z * rates.scales)[where]
        return float(min((x - low).min(), (high - x).min()))

    if len(names) + len(kept) == len(rates.names):  # a serial machine: nothing is computed
        q = np.broadcast_to(start, (*known.shape[:2], len(start))).copy()
        q[..., where], q[..., list(held)] = known, fixed
        return _Chart(q, np.ones(known.shape[:2], dtype=bool), False, inside_box)
    closing = Closing(rates.machine, [*names, *kept])
    return _closed(closing, known, fixed, start, False, inside_box)


def _closed(
    closing: Closing, known: Array, fixed: Array, start: Array, circle: bool, inside: Inside
) -> _Chart:
    more = np.broadcast_to(fixed, (*known.shape[:-1], len(fixed)))
    grid = np.concatenate([known, more], axis=-1)
    found = closing.follow(grid, start)
    gapless = np.logical_and.accumulate(found.closed, axis=0)  # another branch may lie beyond
    rows, q = grid.reshape(-1, grid.shape[-1]), found.q.reshape(-1, len(start))
    around = 1 if circle else None
    filled = fill(
        closing, gapless.shape, rows.__getitem__, gapless, q.__getitem__, start, around=around
    )  # fmt: skip
    q[filled.places] = filled.q
    gapless.reshape(-1)[filled.places] = True
    return _Chart(q.reshape(found.q.shape), gapless, circle, inside)


def _candidates(
    rates: MachineRates, chart: _Chart, kind: str, output: str, weights: Array, start: Array
) -> list[tuple[int, int]]:
    """Return nodes near which a curve may be, the nearest first."""
    curve = singular_curve(rates, kind, output, weights, start, {})
    rows = chart.q[chart.closed]
    if not len(rows):
        raise DomainError(f"{rates.machine.mechanism.name!r} closes nowhere in this region")
    now = rates.at(np.ascontiguousarray(rows))
    size = np.full(chart.closed.shape, np.inf)
    sign = np.zeros(chart.closed.shape)
    size[chart.closed], sign[chart.closed] = curve.smallest(now), curve.sign(now)
    found = []
    for i, j in zip(*np.nonzero(chart.closed), strict=True):
        beside = chart.neighbors(int(i), int(j))
        least = all(size[i, j] <= size[n] for n in beside)
        if least or any(not chart.closed[n] or sign[n] != sign[i, j] for n in beside):
            found.append((int(i), int(j)))
    return sorted(found, key=lambda n: size[n])
