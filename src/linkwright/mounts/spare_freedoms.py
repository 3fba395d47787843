"""How a mount spends freedoms that a direction does not need: plunge, and turning about the beam.

A direction has two freedoms. A mount with three actuators has its plunge to spare (the distance of
its platform, the antenna-mount thesis, section 10.2.1), a hexapod four: it may plunge, and turn
about its beam. Along a path they are chosen for one of three aims:

- "farthest from singular": the smallest ratio of the singular values of J, which maps the rates of
  the actuators to those of the platform (velocities over a characteristic length);
- "stiffest": the smallest turn of the beam under a unit moment where all actuators give way alike,
  the largest eigenvalue of J_b J_bT, with the rows J_b of turns across the beam;
- "least effort": the smallest of the greatest efforts against the weight.

Poses are closed over knots of the path and a grid of the spare values, and the way through them is
that of dynamic programming: the sum of the measure (its logarithm, since it has no scale) and of
squares of the changes. A hexapod stays on the side of its singular poses on which it starts: the
determinant of J keeps its sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import DomainError, InputError, unknown
from linkwright.base.reprs import one_line
from linkwright.equations.batch_closing import Closing
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.mounts.chains import beyond, chain_of, limits_of
from linkwright.mounts.inverse_pointing import way_to
from linkwright.parallel.machine_rates import machine_rates

if TYPE_CHECKING:
    from linkwright.robots import Robot

Array = NDArray[np.float64]

AIMS = ("farthest from singular", "stiffest", "least effort")
_PLUNGES = np.linspace(0.7, 1.2, 26)  # of the distance of a mount with three actuators
_HEIGHTS = np.linspace(0.85, 1.15, 7)  # of that of a hexapod
_TURNS = np.radians(np.arange(-60.0, 61.0, 7.5))  # of a hexapod about its beam
_SMOOTH = 40.0  # weight of a change by the whole grid in one step, squared
_OVER = 1e-9
_APART = np.radians([4.0, 2.0, 1.0])  # from knot to knot of a plan, in turn
_FEWEST = 8  # knots


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class SparePlan:
    """A way through the spare freedoms of a mount along a path.

    Args:
        aim: what they were chosen for.
        names: of what is spare: "distance" (m), or "height" (m) and "turn" (rad).
        values: of these, one row for each direction.
        q: all coordinates, one row for each direction.
        measure: of the aim along the way; the smaller the better.
        before: the same where the spare freedoms are kept as the model has them; infinite where
            the mount does not get there.
    """

    aim: str
    names: tuple[str, ...]
    values: Array = field(repr=False)
    q: Array = field(repr=False)
    measure: Array = field(repr=False)
    before: Array = field(repr=False)

    @property
    def worst(self) -> tuple[float, float]:
        """The largest measure with the plan, and without it."""
        return float(self.measure.max()), float(self.before.max())


class SpareFreedoms:
    """A mount with spare freedoms, closed for directions and values of these."""

    def __init__(self, robot: Robot) -> None:
        machine = parallel_machine(robot)
        m = machine.mechanism
        count = len(machine.actuators)
        if count not in (3, 6) or chain_of(machine) is not None:
            raise InputError(
                f"{m.name!r} has no spare freedoms that can be planned: it has {count} actuators",
                remedy="take mount-3-rotary, mount-truss-3, stewart or their like, or leave it out",
            )
        point = machine.platform.point
        self.robot, self.machine = robot, machine
        self.frame = point.name if point.name in robot.frames else point.body.name
        self.names = ("distance",) if count == 3 else ("height", "turn")
        words = ("direction", "distance") if count == 3 else ("rotation", "position")
        self.closing = Closing(machine, words)
        known = self.closing.values_of(self.closing.start[None])[0]
        self.place = known[6:]
        self.own = known[3:] if count == 3 else np.array([self.place[2], 0.0])
        self.first = known[:3] if count == 3 else np.cross(known[:3], known[3:6])
        if count == 3:
            self.grid = self.own * _PLUNGES[:, None]
        else:
            tall, turned = np.meshgrid(self.own[0] * _HEIGHTS, _TURNS, indexing="ij")
            self.grid = np.stack([tall.ravel(), turned.ravel()], axis=1)
        self.limits = limits_of(machine)
        self.length = machine_rates(machine).length
        start = self.measured(self.closing.start[None], self.first[None], AIMS[0])
        self.side = float(start[1][0])

    def known(self, d: Array, spare: Array) -> Array:
        """Return what is known of the machine, as rows, for directions and values as many."""
        if len(self.names) == 1:
            return np.concatenate([d, spare], axis=-1)
        height, turn = spare[..., :1], spare[..., 1:]
        up = np.array([0.0, 0.0, 1.0])
        lean = (d + up) / (1.0 + d[..., 2:])  # the platform turns without torsion, then about d
        x, y = (np.eye(3)[k] - d[..., k : k + 1] * lean for k in (0, 1))
        first, second = np.cos(turn) * x + np.sin(turn) * y, np.cos(turn) * y - np.sin(turn) * x
        place = np.broadcast_to(self.place, (*d.shape[:-1], 3)).copy()
        place[..., 2:] = height
        return np.concatenate([first, second, place], axis=-1)

    def closed(self, d: Array, spare: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return coordinates along directions, lanes apart, and which are closed within limits.

        All lanes begin where the model starts, and come to the first direction together.
        """
        way = way_to(self.first, d[0, 0])[:-1]
        lanes = d.shape[1]
        led = np.broadcast_to(way[:, None, :], (len(way), lanes, 3))
        share = np.linspace(0.0, 1.0, len(way) + 1)[:-1, None, None]
        values = self.own + share * (spare[:1] - self.own)
        rows = np.concatenate([self.known(led, values), self.known(d, spare)])
        found = self.closing.follow(rows, self.closing.start)
        q, closed = found.q[len(way) :], found.closed[len(way) :]
        inside = beyond(q.reshape(-1, q.shape[-1]), self.limits).max(axis=1) <= _OVER
        return q, closed & inside.reshape(closed.shape)

    def measured(self, q: Array, d: Array, aim: str) -> tuple[Array, Array]:
        """Return the measure of an aim at poses, and the sign of the side they are on."""
        flat, beams = q.reshape(-1, q.shape[-1]), d.reshape(-1, 3)
        j = np.array(self.robot.jacobian(flat, self.frame))
        j[:, :3] /= self.length
        bad = ~np.isfinite(j).all(axis=(1, 2))
        j[bad] = 0.0
        side = np.sign(np.linalg.det(j)) if j.shape[2] == 6 else np.ones(len(j))
        if aim == "least effort":
            found = np.abs(np.asarray(self.robot.gravity(flat))).max(axis=1)
        elif aim == "stiffest":
            across = (
                j[:, 3:] - beams[:, :, None] * np.einsum("ni,nij->nj", beams, j[:, 3:])[:, None]
            )
            found = np.linalg.norm(across, ord=2, axis=(1, 2)) ** 2
        else:
            sizes = np.linalg.svd(j, compute_uv=False)
            with np.errstate(divide="ignore", invalid="ignore"):
                found = sizes[:, 0] / sizes[:, -1]
        found = np.where(bad | ~np.isfinite(found), np.inf, found)
        return found.reshape(q.shape[:-1]), side.reshape(q.shape[:-1])


def plan_spare(robot: Robot, directions: Array, aim: str, *, returns: bool = False) -> SparePlan:
    """Return how the spare freedoms of a mount go along directions that follow each other.

    The plan has a knot for a few degrees of the beam's way, and more where it leaves the limits or
    meets a singular pose between them; with `returns` it ends where it begins.
    """
    if aim not in AIMS:
        raise unknown("aim", aim, AIMS)
    mount = SpareFreedoms(robot)
    d = np.asarray(directions, dtype=float)
    d = d / np.linalg.norm(d, axis=1, keepdims=True)
    way = float(np.linalg.norm(np.diff(d, axis=0), axis=1).sum())
    for apart in _APART:
        every = max(1, len(d) // max(_FEWEST, math.ceil(way / apart)))
        values = _planned(mount, d, every, aim, returns=returns)
        q, good = mount.closed(d[:, None, :], values[:, None, :])
        measure, side = mount.measured(q[:, 0], d, aim)
        if bool((good[:, 0] & (side == mount.side)).all()):
            break
    else:
        raise DomainError(
            f"{robot.mechanism.name!r} leaves its limits between the knots of the plan",
            remedy="choose another aim or another pass",
        )
    kept = np.broadcast_to(mount.own, (len(d), 1, len(mount.own)))
    plain, reached = mount.closed(d[:, None, :], kept)
    before = np.where(reached[:, 0], mount.measured(plain[:, 0], d, aim)[0], np.inf)
    return SparePlan(aim, mount.names, values, q[:, 0], measure, before)


def _planned(mount: SpareFreedoms, d: Array, every: int, aim: str, *, returns: bool) -> Array:
    """Return the spare values at all directions, by the best way through some of them."""
    knots = d[::every] if (len(d) - 1) % every == 0 else np.vstack([d[::every], d[-1:]])
    lanes, count = len(mount.grid), len(knots)
    wide = np.broadcast_to(knots[:, None, :], (count, lanes, 3))
    q, good = mount.closed(wide, np.broadcast_to(mount.grid, (count, *mount.grid.shape)))
    measure, side = mount.measured(q, wide, aim)
    good = good & np.isfinite(measure) & (side == mount.side)
    chosen = _way(measure, good, mount.grid, returns=returns)
    if chosen is None:
        stuck = int(np.argmin(good.any(axis=1))) if not good.any(axis=1).all() else count - 1
        x, y, z = knots[stuck]
        raise DomainError(
            f"{mount.machine.mechanism.name!r} finds no way past its limits and singular poses "
            f"near ({x:.4f}, {y:.4f}, {z:.4f}), whatever its spare freedoms do",
            remedy="choose another pass, or higher elevations",
        )
    return _smoothed(mount.grid[chosen], len(d), every, count)


def _way(measure: Array, good: NDArray[np.bool_], grid: Array, *, returns: bool) -> Array | None:
    """Return the lane at each knot: least sum of measures and of squared changes."""
    span = np.ptp(grid, axis=0)
    apart = ((grid[:, None] - grid[None]) / np.where(span > 0, span, 1.0)) ** 2
    change = _SMOOTH * apart.sum(axis=2)
    with np.errstate(divide="ignore"):
        cost = np.where(good, np.log(measure), np.inf)
    ends: Sequence[int | None] = [None]
    if returns:
        ends = [int(np.argmin(cost[0]))]
    for end in ends:
        first = cost[0] if end is None else np.where(np.arange(len(grid)) == end, cost[0], np.inf)
        total, back = first, []
        for row in cost[1:]:
            sums = total[:, None] + change
            back.append(np.argmin(sums, axis=0))
            total = sums.min(axis=0) + row
        last = int(np.argmin(total)) if end is None else end
        if math.isfinite(total[last]):
            way = [last]
            for step in reversed(back):
                way.append(int(step[way[-1]]))
            return np.array(way[::-1])
    return None


def _smoothed(values: Array, count: int, every: int, knots: int) -> Array:
    """Return values at all directions: a smooth curve by the knots of the plan."""
    from scipy.ndimage import gaussian_filter1d

    at = np.minimum(np.arange(knots) * every, count - 1)
    wide = gaussian_filter1d(values, 1.5, axis=0, mode="nearest") if knots > 4 else values
    if knots < 4:
        return np.stack([np.interp(np.arange(count), at, x) for x in wide.T], axis=1)
    from linkwright.motion.trajectory import through

    return np.asarray(through(at.astype(float), wide)(np.arange(count, dtype=float)))
