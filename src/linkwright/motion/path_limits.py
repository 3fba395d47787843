"""Limits at the points of a path, and the lines that they are for the passes along it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linkwright.motion.limits import Array, Dynamics, Limits, asked, force_parts
from linkwright.motion.reachable import NONE
from linkwright.motion.trajectory import MotionError, Trajectory

_SMALL = 1e-9  # of the largest factor of u


@dataclass(frozen=True, slots=True, eq=False)
class PathLimits:
    """What limits mean at points of a path; arrays are (point, value)."""

    step: float  # from one point to the next
    place: Array  # values of the path
    first: Array  # their derivative by s
    second: Array  # their second derivative
    weight: Array  # forces at rest
    dry: Array  # forces of dry friction
    viscous: Array  # forces by s'
    by_u: Array  # forces by s''
    by_x: Array  # forces by s'^2
    limits: dict[str, Array]  # for each value, by name
    power: tuple[float | None, float | None]  # largest power, W, and the largest that is given back
    rest: float  # time at rest in a cycle, s
    dynamics: Dynamics | None = None  # forces of a motion

    @staticmethod
    def of(path: Trajectory, limits: Limits, points: int) -> PathLimits:
        """Return the limits at equal steps along a path."""
        s = np.linspace(path.instants[0], path.instants[-1], points + 1)
        place, first, second = path(s), path(s, 1), path(s, 2)
        names = ("speed", "acceleration", "effort", "stall", "no_load", "continuous")
        known = {n: v for n in names if (v := limits.of(n, path.size)) is not None}
        none = np.zeros_like(place)
        weight, dry, viscous, by_u, by_x = (none,) * 5
        if limits.dynamics is not None:
            weight, dry, viscous, by_x = force_parts(limits.dynamics, place, first, second)
            by_u = asked(limits.dynamics, (place, none, first))[0] - weight
        for name in ("effort", "stall", "continuous"):
            if name in known:
                _refuse_weight(weight, known[name], name)
        return PathLimits(
            float(s[1] - s[0]),
            place,
            first,
            second,
            weight,
            dry,
            viscous,
            by_u,
            by_x,
            known,
            (limits.power, limits.braking),
            limits.rest,
            limits.dynamics,
        )

    @property
    def curved(self) -> bool:
        """Whether a limit depends on speed, so that tangents are needed."""
        return "stall" in self.limits or self.power != (None, None) or self.rubs

    @property
    def rubs(self) -> bool:
        """Whether there is friction."""
        return bool(self.dry.any() or self.viscous.any())

    def with_friction_at(self, x: Array) -> PathLimits:
        """Return the limits with friction as it is at a known x, where it follows other laws."""
        if self.dynamics is None or not self.rubs:
            return self
        root = np.sqrt(x)[:, None]
        state = (self.place, self.first * root, self.second * x[:, None])
        known = self.weight + self.viscous * root + self.by_x * x[:, None]
        return replace(self, dry=asked(self.dynamics, state)[0] - known)

    def tangent_at(self, x: Array) -> Array:
        """Return where tangents are taken for a solution x: above zero, and leaving a way."""
        found = np.minimum(x, self._slow())
        found[0], found[-1] = found[1], found[-2]
        return np.maximum(found, 1e-9 * float(found.max()))

    def _slow(self) -> Array:
        """Return an x so small that the tangents of all limits there allow to stand still."""
        found = np.full(len(self.place), NONE)
        held, drag = np.abs(self.weight + self.dry), np.abs(self.viscous)
        falls = {"effort": drag}
        if "stall" in self.limits:
            falls["stall"] = drag + self.limits["stall"] / self.limits["no_load"] * np.abs(
                self.first
            )
        for name, fall in falls.items():
            if name in self.limits:
                left = np.maximum(self.limits[name] - held, 0.0)
                with np.errstate(divide="ignore", invalid="ignore"):
                    bound = np.where(fall > 0, (left / fall) ** 2, NONE)
                found = np.minimum(found, np.min(bound, axis=1))
        return found

    def lines(self, x: Array | None, scale: float = 1.0) -> tuple[Array, Array]:
        """Return lines (4, line, point) and the largest x, with tangents at a known x."""
        rows: list[tuple[Array, ...]] = []  # a, b and c of a u + b x <= c, then >= with b and c
        if "acceleration" in self.limits:
            most = scale * self.limits["acceleration"]
            rows.append((self.first, self.second, most + 0 * self.first, self.second, -most))
        w, a, b = self.weight + self.dry, self.by_u, self.by_x
        root = None if x is None else np.sqrt(x)[:, None]
        if root is not None:
            w, b = w + self.viscous * root / 2, b + self.viscous / root / 2
        if "effort" in self.limits:
            most = self._shared("effort", scale)
            rows.append((a, b, most - w, b, -most - w))
        if "stall" in self.limits:
            stall, size = self._shared("stall", scale), np.abs(self.first)
            sign = np.where(self.first < 0, -1.0, 1.0)
            high_b, high = sign * b, stall - sign * w
            if root is not None:
                fall = self.limits["stall"] / self.limits["no_load"] * size / 2
                high_b, high = high_b + fall / root, high - fall * root
            rows.append((sign * a, high_b, high, sign * b, -stall - sign * w))
        if self.power != (None, None) and root is not None:
            rows.append(self._power_row(root, a, b, w))
        whole = [
            np.concatenate([np.broadcast_to(r[k], r[0].shape) for r in rows], 1) for k in range(5)
        ]
        at_start = _bounds(*whole)
        a, high_b, high, low_b, low = (part[1:] for part in whole)  # where each step ends
        sides = [(a, high_b, high), (-a, -low_b, -low)]
        at_end = [_one_sided(f + 2 * self.step * b, b, c) for f, b, c in sides]
        lines = [at_start[0], *(found for found, _ in at_end)]
        tops = np.minimum(self._tops(), at_start[1])
        for _, top in at_end:
            tops[:-1] = np.minimum(tops[:-1], top)
        return np.concatenate(lines, axis=1), tops

    def _shared(self, name: str, scale: float) -> Array:
        """Return a limit of force, of which what is above the weight is scaled."""
        held = np.minimum(np.abs(self.weight + self.dry), self.limits[name])
        return np.asarray(held + scale * (self.limits[name] - held))

    def _power_row(self, root: Array, *forces: Array) -> tuple[Array, ...]:
        a, b, w = ((self.first * f).sum(axis=1, keepdims=True) for f in forces)
        level, fall = 1.5 / root, 0.5 / root**3
        drive, brake = self.power
        if drive is None:
            high_b, high = b, np.full_like(a, NONE)
        else:
            high_b, high = b + drive * fall, drive * level - w
        if brake is None:
            return a, high_b, high, b, np.full_like(a, -NONE)
        return a, high_b, high, b - brake * fall, -brake * level - w

    def _tops(self) -> Array:
        if "speed" not in self.limits:
            return np.full(len(self.place), NONE)
        with np.errstate(divide="ignore"):
            tops = np.min((self.limits["speed"] / np.abs(self.first)) ** 2, axis=1)
        return np.asarray(np.minimum(tops, NONE))

    def excess(self, x: Array) -> float:
        """Return by how much of a limit the motion is beyond it at the points, at most."""
        u = np.diff(x) / (2 * self.step)
        x, first = x[:-1], self.first[:-1]
        speed = first * np.sqrt(x)[:, None]
        force = self._forces(slice(0, -1), u, x)
        ratios = [np.zeros(1)]
        if "acceleration" in self.limits:
            moved = first * u[:, None] + self.second[:-1] * x[:, None]
            ratios.append(np.abs(moved) / self.limits["acceleration"])
        if "speed" in self.limits:
            ratios.append(np.abs(speed) / self.limits["speed"])
        if "effort" in self.limits:
            ratios.append(np.abs(force) / self.limits["effort"])
        if "stall" in self.limits:
            driving = np.where(first < 0, -1.0, 1.0) * force / self.limits["stall"]
            ratios += [driving + np.abs(speed) / self.limits["no_load"], -driving]
        power = (force * speed).sum(axis=1)
        ratios += [s * power / p for s, p in zip((1, -1), self.power, strict=True) if p is not None]
        return max(float(r.max()) for r in ratios) - 1

    def _forces(self, k: slice, u: Array, x: Array) -> Array:
        moving = self.by_u[k] * u[:, None] + self.by_x[k] * x[:, None]
        held = self.weight[k] + self.dry[k] + self.viscous[k] * np.sqrt(x)[:, None]
        return np.asarray(held + moving)

    def accelerations(self, x: Array) -> Array:
        """Return the accelerations where each step starts and where it ends; they jump."""
        u = (np.diff(x) / (2 * self.step))[:, None]
        ends = (slice(0, -1), slice(1, None))
        return np.stack([self.first[k] * u + self.second[k] * x[k][:, None] for k in ends])

    def heat(self, x: Array) -> float:
        """Return the largest root mean square of the forces over a cycle, of what is allowed."""
        u = np.diff(x) / (2 * self.step)
        root = np.sqrt(x)
        times = 2 * self.step / (root[:-1] + root[1:])
        ends = [self._forces(k, u, x[k]) for k in (slice(0, -1), slice(1, None))]
        square = (times[:, None] * (ends[0] ** 2 + ends[0] * ends[1] + ends[1] ** 2) / 3).sum(
            axis=0
        )
        square = square + self.rest * self.weight[-1] ** 2
        mean = square / (float(times.sum()) + self.rest)
        return float(np.max(np.sqrt(mean) / self.limits["continuous"]))


def _refuse_weight(weight: Array, most: Array, name: str) -> None:
    over = np.abs(weight) - most
    if np.any(over >= 0):
        point, joint = np.unravel_index(int(np.argmax(over)), over.shape)
        raise MotionError(
            f"the limit {name!r} does not even hold the mechanism still: value {joint} takes "
            f"{abs(weight[point, joint]):.6g} at point {point} of the path, with a limit of "
            f"{most[joint]:.6g}",
            remedy="raise the limit, or move the path",
            code="R723",
        )


def _bounds(a: Array, high_b: Array, high: Array, low_b: Array, low: Array) -> tuple[Array, Array]:
    """Return a u + b x <= c and its counterpart as bounds of u, and of x where a is nothing."""
    flat = np.abs(a) <= _SMALL * float(np.abs(a).max(initial=0.0))
    safe = np.where(flat, 1.0, a)
    pair = [(high / safe, -high_b / safe), (low / safe, -low_b / safe)]
    down = a < 0
    made = np.stack(
        [
            np.where(flat, NONE, np.where(down, pair[1][0], pair[0][0])),
            np.where(flat, 0.0, np.where(down, pair[1][1], pair[0][1])),
            np.where(flat, -NONE, np.where(down, pair[0][0], pair[1][0])),
            np.where(flat, 0.0, np.where(down, pair[0][1], pair[1][1])),
        ]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(flat & (high_b > 0), high / high_b, NONE)
        below = np.where(flat & (low_b < 0), low / low_b, NONE)
    tops = np.minimum(above, below).min(axis=1)
    return np.ascontiguousarray(np.swapaxes(made, 1, 2)), np.maximum(tops, 0.0)


def _one_sided(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """Return a u + b x <= c in the same way, with the last point once more."""
    found, tops = _bounds(a, b, c, np.zeros_like(b), np.full_like(c, -NONE))
    return np.pad(found, ((0, 0), (0, 0), (0, 1)), mode="edge"), tops
