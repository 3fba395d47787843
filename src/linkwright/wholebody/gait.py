"""Gaits: where feet go, and how the center of mass gets there over them.

The plan is a function of time alone. Feet swing in groups, in turn; while a group swings, the
center of pressure p stays in the middle of the feet that stand, and between two steps it moves on
evenly. The center of mass c is a linear inverted pendulum, c'' = w^2 (c - p) with w^2 = g / height.
Its capture point x = c + c'/w obeys x' = w (x - p), which is stable backward in time: solved from
the last step to the first it gives the one bounded motion over all footsteps (Englsberger, Ott and
Albu-Schaeffer 2015). Over each piece, with p = p0 + v s and s from its start,

    x(s) = p0 + v s + v / w + X e^(w s),    c(s) = p0 + v s + X e^(w s) / 2 + Y e^(-w s).

`Gait.controller` follows the plan: with kp = k w and kd = w + k errors of the capture point fade
at the rate k, which only takes centers of pressure inside the feet where there are such.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.checks import checked
from linkwright.base.errors import InputError, suggestion
from linkwright.wholebody.balance import falling
from linkwright.wholebody.contacts import (
    FlatContact,
    checked_contacts,
    checked_robot,
    finite_state,
)
from linkwright.wholebody.controller import Controller
from linkwright.wholebody.tasks import center_of_mass

if TYPE_CHECKING:
    from linkwright.robots.robot import Robot

Array = np.ndarray[Any, np.dtype[np.float64]]
Motion = tuple[Array, Array, Array]

_STRONG = 2.0
"""A foot without a limit carries up to so many times the weight, so that its share is felt."""


@dataclass(frozen=True, slots=True)
class _Swing:
    """One foot that goes from one place to another."""

    begin: float
    end: float
    start: Array
    goal: Array


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of the pendulum, from `begin` on: p0, v, X, Y, and two heights of the center."""

    begin: float
    p: Array
    v: Array
    X: Array
    Y: Array
    heights: tuple[float, float]


class Gait:
    """Footsteps in turn, with the motion of the center of mass over them.

    The first and the last step are half as long, so that the feet stand side by side in the end.

    Args:
        robot: with a free base; z points up.
        q: coordinates in which it stands on all its feet.
        contacts: the feet, frames or `FlatContact`s.
        groups: frames that swing together, in order; each foot by itself if none are given.
        steps: how many steps it takes.
        stride: how far each step brings the robot on, x and y in m; zero steps in place.
        step_time: from one step to the next, s.
        transfer: the part of it in which all feet stand and the weight moves on, s.
        clearance: how high feet are lifted, m.
        ground: its height in m at x and y in m, as a function; level by default.
        rest: how long it stands before the first and after the last step, s.
        gravity: m/s²; that of the robot by default.

    >>> from linkwright import Robot
    >>> body = Robot("humanoid")
    >>> walk = Gait(body, body.neutral, ["left_sole", "right_sole"], steps=4, stride=(0.2, 0))
    >>> [(frame, place[0].round(2)) for _, frame, place in walk.footsteps][:2]
    [('left_sole', np.float64(0.25)), ('right_sole', np.float64(0.45))]
    >>> bool(np.linalg.norm(walk.center(walk.duration)[1]) < 0.01)
    True
    """

    def __init__(
        self,
        robot: Robot,
        q: ArrayLike,
        contacts: Sequence[str | FlatContact],
        *,
        groups: Sequence[Sequence[str]] | None = None,
        steps: int = 2,
        stride: Sequence[float] = (0.0, 0.0),
        step_time: float = 0.8,
        transfer: float = 0.2,
        clearance: float = 0.05,
        ground: Callable[[float, float], float] | None = None,
        rest: float = 1.0,
        gravity: float | None = None,
    ) -> None:
        self.robot = checked_robot(robot)
        (self.start,) = finite_state(robot, q=q)
        self.contacts = checked_contacts(robot, contacts, 0.8)
        self.given = [c if isinstance(c, FlatContact) else FlatContact(c) for c in contacts]
        frames = [c.frame for c in self.contacts]
        self.groups = _checked_groups(groups, frames)
        if checked(steps, "steps of a gait", least=1) != int(steps):
            raise InputError(f"steps of a gait are {steps:g}", remedy="give a whole number")
        along = np.asarray(stride, dtype=float)
        if along.shape != (2,) or not np.isfinite(along).all():
            raise InputError(f"the stride of a gait is {stride!r}; give x and y in m")
        checked(transfer, "transfer of a gait", above=0)
        checked(clearance, "clearance of a gait", above=0)
        checked(rest, "rest of a gait", above=0)
        if not checked(step_time, "step_time of a gait", above=0) > transfer:
            raise InputError(
                f"a step of {step_time:g} s has no time to swing after {transfer:g} s of transfer",
                remedy="give a longer step_time, or a shorter transfer",
            )
        self.clearance, self.transfer = clearance, transfer
        self._level = ground or (lambda x, y: 0.0)
        self.places = {f: np.array(robot.position(self.start, f)) for f in frames}
        self._middles = {c.frame: np.mean(np.asarray(c.points, float), 0) for c in self.contacts}
        middle = robot.center_of_mass(self.start)
        height = float(middle[2]) - float(np.mean([self._under(p) for p in self.places.values()]))
        if not height > 0:
            raise InputError(f"the center of mass is {-height:g} m below the ground of the gait")
        fall = falling(robot, gravity)
        self.omega = math.sqrt(fall / height)
        self._weight = fall * robot.mass
        self._swings: dict[str, list[_Swing]] = {f: [] for f in frames}
        self._step(int(steps), along, step_time, rest, middle)

    def _under(self, place: Array) -> float:
        """Return the height of the ground under a place."""
        return checked(self._level(float(place[0]), float(place[1])), "the ground of a gait")

    def _step(self, steps: int, along: Array, step_time: float, rest: float, middle: Array) -> None:
        """Plan the footsteps, and the pendulum over them."""
        now = {f: p.copy() for f, p in self.places.items()}
        above = {f: float(p[2]) - self._under(p) for f, p in now.items()}
        apart = middle[:2] - self._center(now, list(now))
        knots = [(0.0, middle[:2]), (rest, middle[:2])]
        levels = [float(middle[2])] * 2
        lift = levels[0] - self._mean_level(now)
        for k in range(steps):
            group = self.groups[k % len(self.groups)]
            begin = rest + k * step_time + self.transfer
            end = rest + (k + 1) * step_time
            standing = [f for f in now if f not in group]
            over = self._center(now, standing)
            knots += [(begin, over), (end, over)]
            far = along * min(k + 1, steps - 1)
            for f in group:
                goal = self.places[f].copy()
                goal[:2] += far
                goal[2] = self._under(goal) + above[f]
                self._swings[f].append(_Swing(begin, end, now[f], goal))
                now[f] = goal
            levels += [levels[-1], lift + self._mean_level(now)]
        final = self._center(now, list(now)) + apart
        begin = rest + steps * step_time + self.transfer
        self.duration = begin + rest
        """Of the whole gait, s."""
        knots += [(begin, final), (self.duration, final)]
        levels += [levels[-1]] * 2
        self._pieces = self._pendulum(knots, levels, middle[:2])
        self._begins = [piece.begin for piece in self._pieces]

    def _center(self, places: dict[str, Array], frames: Sequence[str]) -> Array:
        """Return the middle of some feet, x and y."""
        points = [places[f] + self._turned(f) for f in frames]
        return np.asarray(np.mean(points, axis=0)[:2])

    def _turned(self, frame: str) -> Array:
        """Return the middle of a contact's points from its origin, along the world's axes."""
        return np.asarray(self.robot.pose(self.start, frame)[:3, :3] @ self._middles[frame])

    def _mean_level(self, places: dict[str, Array]) -> float:
        return float(np.mean([self._under(p) for p in places.values()]))

    def _pendulum(
        self, knots: list[tuple[float, Array]], levels: list[float], start: Array
    ) -> list[_Piece]:
        """Return the pieces of the pendulum; the capture point ends above the last knot."""
        w, found = self.omega, []
        capture = knots[-1][1]
        for (begin, p), (end, after) in list(pairwise(knots))[::-1]:
            v = (after - p) / (end - begin)
            X = (capture - after - v / w) * math.exp(-w * (end - begin))
            capture = p + v / w + X
            found.append((begin, end, p, v, X))
        pieces, c = [], start
        for (begin, end, p, v, X), heights in zip(found[::-1], pairwise(levels), strict=True):
            Y = c - p - X / 2
            pieces.append(_Piece(begin, p, v, X, Y, heights))
            s = end - begin
            c = p + v * s + X / 2 * math.exp(w * s) + Y * math.exp(-w * s)
        return pieces

    # -- the plan ----------------------------------------------------------------------------------
    @property
    def footsteps(self) -> list[tuple[float, str, Array]]:
        """When feet come down, which, and where, m."""
        steps = [(s.end, f, s.goal) for f, swings in self._swings.items() for s in swings]
        return sorted(steps, key=lambda step: step[0])

    def pressure(self, t: float) -> Array:
        """Return the planned center of pressure at a time in s, x and y in m.

        Args:
            t: the time, s.
        """
        piece, s, _ = self._at(t)
        return np.asarray(piece.p + piece.v * s)

    def center(self, t: float) -> Motion:
        """Return where the center of mass should be, with velocity and acceleration.

        Args:
            t: the time, s.
        """
        piece, s, length = self._at(t)
        w = self.omega
        up, down = piece.X / 2 * math.exp(w * s), piece.Y * math.exp(-w * s)
        low, high = piece.heights
        z = _eased(s / length, length) if math.isfinite(length) else (0.0, 0.0, 0.0)
        rise = high - low
        place = np.array([*(piece.p + piece.v * s + up + down), low + rise * z[0]])
        rate = np.array([*(piece.v + w * (up - down)), rise * z[1]])
        return place, rate, np.array([*(w * w * (up + down)), rise * z[2]])

    def _at(self, t: float) -> tuple[_Piece, float, float]:
        """Return a piece, the time since its begin, and its length."""
        t = min(max(t, 0.0), self.duration)
        k = max(bisect_right(self._begins, t) - 1, 0)
        piece = self._pieces[k]
        end = self._begins[k + 1] if k + 1 < len(self._begins) else self.duration
        return piece, t - piece.begin, end - piece.begin

    def foot(self, frame: str, t: float) -> Motion:
        """Return where a foot should be, with velocity and acceleration.

        Args:
            frame: of the foot.
            t: the time, s.
        """
        still = np.zeros(3)
        place = self.places[self._known(frame)]
        for swing in self._swings[frame]:
            if t < swing.begin:
                break
            place = swing.goal
            if t < swing.end:
                length = swing.end - swing.begin
                s = (t - swing.begin) / length
                far, up = swing.goal - swing.start, np.array([0.0, 0.0, self.clearance])
                x, h = _eased(s, length), _lifted(s, length)
                return swing.start + far * x[0] + up * h[0], far * x[1] + up * h[1], (
                    far * x[2] + up * h[2]
                )  # fmt: skip
        return place, still, still

    def share(self, frame: str, t: float) -> float:
        """Return the part of its greatest force that a foot may carry, from 0 to 1.

        Args:
            frame: of the foot.
            t: the time, s.
        """
        part = 1.0
        for swing in self._swings[self._known(frame)]:
            away = max(swing.begin - t, t - swing.end)
            part = min(part, max(away / self.transfer, 0.0))
        return part

    def _known(self, frame: str) -> str:
        if frame not in self._swings:
            raise InputError(
                f"{frame!r} is not a foot of the gait",
                remedy=suggestion(frame, self._swings, f"it has {', '.join(self._swings)}"),
            )
        return frame

    # -- under control -----------------------------------------------------------------------------
    def controller(
        self,
        upright: str,
        *,
        fading: float | None = None,
        friction: float = 0.8,
        settling: float = 0.05,
        braking: float | None = 0.1,
    ) -> Controller:
        """Return a controller that follows the plan; further tasks may be added to it.

        Args:
            upright: the frame that keeps its orientation: the trunk.
            fading: the rate at which errors of the capture point fade, 1/s; by default three times
                that of the pendulum.
            friction: the coefficient of contacts that name none of their own.
            settling: as for `Controller`, s.
            braking: likewise, s.
        """
        contacts = []
        for contact in self.given:
            most = min(contact.max_force, _STRONG * self._weight)
            share = partial(self.share, contact.frame)
            contacts.append(replace(contact, max_force=most, share=share))
        body = Controller(
            self.robot, contacts, friction=friction, settling=settling, braking=braking
        )
        k = 3.0 * self.omega if fading is None else checked(fading, "fading", above=0)
        kp, kd = k * self.omega, self.omega + k
        body.track(center_of_mass, position=self.center, weight=10.0, kp=kp, kd=kd)
        turn = self.robot.pose(self.start, upright)[:3, :3]
        body.track(upright, orientation=turn, weight=5.0)
        for contact in contacts:
            frame, place = contact.frame, partial(self.foot, contact.frame)
            body.track(frame, position=place, weight=5.0, kp=400.0, name=f"place of {frame}")
            if len(contact.points) > 2:
                turn = self.robot.pose(self.start, frame)[:3, :3]
                body.track(frame, orientation=turn, weight=5.0, name=f"turn of {frame}")
        names = list(self.robot.coordinates)
        body.posture([float(self.start[names.index(j)]) for j in body.joints], priority=2)
        return body


def _checked_groups(
    given: Sequence[Sequence[str]] | None, frames: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """Return groups of feet, and reject those that leave nothing to stand on."""
    groups = tuple(tuple(g) for g in given) if given is not None else tuple((f,) for f in frames)
    if not groups or not all(groups):
        raise InputError("a group of the gait has no foot", remedy="name frames of contacts")
    for name in (name for group in groups for name in group):
        if name not in frames:
            raise InputError(
                f"{name!r} swings, and is not a contact of the gait",
                remedy=suggestion(name, frames, f"contacts are {', '.join(frames)}"),
            )
    if any(set(group) >= set(frames) for group in groups):
        raise InputError(
            "all feet of the gait swing together", remedy="let one or more stand in each group"
        )
    return groups


def _eased(s: float, length: float) -> tuple[float, float, float]:
    """Return the way of least jerk from 0 to 1, with its rates in time."""
    rate, push = 30 * s**2 * (1 - s) ** 2, 60 * s * (1 - s) * (1 - 2 * s)
    return s**3 * (10 - 15 * s + 6 * s * s), rate / length, push / length**2


def _lifted(s: float, length: float) -> tuple[float, float, float]:
    """Return 64 s^3 (1 - s)^3, from 0 to 1 and back at rest, with its rates in time."""
    a, b = s * (1 - s), 1 - 2 * s
    return 64 * a**3, 192 * a * a * b / length, 64 * (6 * a * b * b - 6 * a * a) / length**2
