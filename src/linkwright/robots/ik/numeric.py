"""Inverse kinematics by damped least squares, for one goal or thousands, from many starts.

All goals advance together, one batch of steps at a time; those that are reached leave the batch,
and those that are stuck begin again from another start. Starts come from a counter-based generator
keyed by the seed, the number of the goal and the attempt, so that a goal's solution does not depend
on the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError, ShapeError
from linkwright.base.reprs import one_line
from linkwright.robots.ik.targets import goals_of, six, stacked_goals

if TYPE_CHECKING:
    from linkwright.robots.quantity import Quantity
    from linkwright.robots.robot import Robot

Array = NDArray[np.float64]
_WIDE = 1e6  # in place of limits that are not there
_SPREAD = math.pi  # starts of joints without limits
_LOOK = 3  # steps between two looks at who has arrived
_PROGRESS = 0.9  # of the error that must be gone from look to look


@one_line
@dataclass(frozen=True, slots=True)
class Solution:
    """What inverse kinematics found; with several goals, one row for each.

    Args:
        q: coordinates.
        reached: whether the pose is within the tolerance.
        error: distance from the goal, m (weighted); of several frames the root of the sum of
            squares.
        rotation_error: angle from the goal, rad (weighted); of several frames likewise.
        steps: taken in the attempt that was best.
        attempts: starts that were tried.
    """

    q: Array
    reached: NDArray[np.bool_]
    error: Array
    rotation_error: Array
    steps: NDArray[np.int_]
    attempts: NDArray[np.int_]


class Solver(Protocol):
    """What solves inverse kinematics: a function with the arguments of `solve`."""

    def __call__(
        self, robot: Robot, target: Any, frame: str | None, start: Any, /, **options: Any
    ) -> Solution:
        """Return coordinates that bring a frame, or several, to a pose."""


def solve(
    robot: Robot,
    target: ArrayLike | Mapping[str, ArrayLike],  # m
    frame: str | None = None,
    start: ArrayLike | None = None,
    *,
    tolerance: float = 1e-6,  # of the position, m
    turn_tolerance: float | None = None,  # of the orientation, rad; by default as `tolerance`
    weights: Sequence[float] | Mapping[str, Sequence[float]] = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    posture: ArrayLike | None = None,
    posture_gain: float | ArrayLike = 0.0,
    steps: int = 60,
    attempts: int = 50,
    damping: float = 1e-9,
    seed: int = 0,
) -> Solution:
    """Return coordinates that bring a frame, or several, to a pose, within the joints' limits."""
    frames, goals, used = _named_goals(target, frame, weights)
    alone = goals.ndim == 2
    goals = goals[None] if alone else goals
    if goals.ndim != 3:
        raise ShapeError("a pose is a 4 x 4 matrix, and several are one after the other")
    if attempts < 1 or steps < 1:
        raise InputError("there must be at least one attempt with one step")
    n = len(robot.coordinates)
    lower, upper = np.ascontiguousarray(np.clip(robot.limits, -_WIDE, _WIDE).T)
    first = np.clip(_middle(robot), lower, upper) if start is None else start
    first = _rows("start", first, len(goals), n)
    wanted = first if posture is None else _rows("posture", posture, len(goals), n)
    strength = np.array(np.broadcast_to(np.asarray(posture_gain, dtype=float), (n,)))
    if np.any(strength < 0) or np.any(strength > 1):
        raise InputError("posture_gain must lie between 0 and 1")
    state = _State(
        step_of(robot, *frames),
        np.ascontiguousarray(goals.reshape(len(goals), 12 * len(frames))),
        np.ascontiguousarray(wanted),
        used,
        strength,
        lower,
        upper,
        np.array([damping]),
        (tolerance, tolerance if turn_tolerance is None else turn_tolerance),
    )
    if alone:
        return _alone(state, first[0], steps, attempts, seed)
    return _attempts(state, first, steps, attempts, seed)


def _named_goals(
    target: ArrayLike | Mapping[str, ArrayLike],
    frame: str | None,
    weights: Sequence[float] | Mapping[str, Sequence[float]],
) -> tuple[tuple[str, ...], Array, Array]:
    """Return the names of frames, their goals one below the other, and the weights of all."""
    if not isinstance(target, Mapping):
        if frame is None:
            raise InputError(
                "a goal needs the name of its frame", remedy='such as "tool"; or give {name: goal}'
            )
        if isinstance(weights, Mapping):
            weights = weights[frame] if [*weights] == [frame] else ()
        goals, used = goals_of(target, six(weights))
        return (frame,), goals[..., :3, :], np.asarray(used, float)
    if frame is not None:
        raise InputError(
            f"the goals have the names of their frames, and {frame!r} is named besides",
            remedy="leave the frame out",
        )
    return (*map(str, target),), *stacked_goals(target, weights)


def step_of(robot: Robot, *frames: str) -> Quantity:
    """Return the quantity that makes one step toward the pose of a frame, or of several."""
    from linkwright.robots.ik.rates import kept_quantity
    from linkwright.robots.ik.step import step_program

    names = " and ".join(map(repr, frames))
    return kept_quantity(robot, f"step of inverse kinematics of {names}", frames, step_program)


def _rows(name: str, given: ArrayLike, count: int, n: int) -> Array:
    """Return coordinates for each goal."""
    found = np.asarray(given, dtype=float)
    if found.shape not in ((n,), (1, n), (count, n)):
        raise ShapeError(
            f"{name} has the shape {found.shape}", remedy=f"give {n} numbers, or {count} x {n}"
        )
    if not np.all(np.isfinite(found)):
        raise InputError(f"{name} holds numbers that are not finite")
    return np.broadcast_to(found, (count, n))


def _middle(robot: Robot) -> Array:
    low, high = robot.limits.T
    both = np.isfinite(low) & np.isfinite(high)
    return np.where(both, (np.where(both, low, 0) + np.where(both, high, 0)) / 2, 0.0)


@dataclass(frozen=True, slots=True)
class _State:
    """What does not change from step to step."""

    step: Quantity
    goals: Array
    rest: Array
    weights: Array
    pull: Array
    lower: Array
    upper: Array
    damping: Array
    tolerances: tuple[float, float]

    def advance(self, q: Array, goals: Array, rest: Array) -> tuple[Array, Array, Array]:
        """Return the coordinates after a step, and both errors before it."""
        after, error, turn = self.step(
            q, goals, self.weights, rest, self.pull, self.lower, self.upper, self.damping
        )
        return after, error[:, 0], turn[:, 0]


def _attempts(state: _State, first: Array, steps: int, attempts: int, seed: int) -> Solution:
    """Advance all goals together; those that arrive leave, those that are stuck start over."""
    count = len(first)
    best = Solution(
        first.copy(),
        np.zeros(count, bool),
        np.full(count, np.inf),
        np.full(count, np.inf),
        np.zeros(count, int),
        np.ones(count, int),
    )
    rows = np.arange(count)
    pool = _Pool(
        np.clip(first, state.lower, state.upper),
        rows,
        state.goals,
        state.rest,
        np.zeros(count, int),
        np.full(count, np.inf),
    )
    while len(pool.rows):
        pool = _look(state, pool, best, steps, attempts, seed)
    return best


def _alone(state: _State, first: Array, steps: int, attempts: int, seed: int) -> Solution:
    """Return the solution of the only goal, one call of the kernel after the other."""
    near, turn_near = state.tolerances
    fixed = (state.weights, state.rest[0], state.pull, state.lower, state.upper, state.damping)
    goal, step = state.goals[0], state.step
    row, best = np.zeros(1, int), (math.inf, first, math.inf, math.inf, 0)
    q = np.clip(first, state.lower, state.upper)
    least = _LOOK if state.pull.any() else 0  # steps, so that freedom is used at all
    for attempt in range(1, attempts + 1):
        if attempt > 1:
            q = _starts(state, row, np.array([attempt]), seed)[0]
        before = math.inf
        for taken in range(steps + 1):
            after, error, turn = step(q, goal, *fixed)
            e, w = float(error[0]), float(turn[0])
            if e + w < best[0]:
                best = (e + w, q, e, w, taken)
            if e <= near and w <= turn_near and taken >= least:
                return _single(q, True, e, w, taken, attempt)
            if taken % _LOOK == 0:
                if e + w > _PROGRESS * before:
                    break
                before = e + w
            q = after
    return _single(best[1], False, best[2], best[3], best[4], attempts)


def _single(
    q: Array, reached: bool, error: float, turn: float, steps: int, attempts: int
) -> Solution:
    numbers = (np.bool_(reached), np.float64(error), np.float64(turn), np.int_(steps))
    return Solution(q, *numbers, np.int_(attempts))  # type: ignore[arg-type]


@dataclass(slots=True)
class _Pool:
    """The goals that are still under way."""

    q: Array  # where each is
    rows: NDArray[np.int_]  # which goal it is
    goals: Array  # its pose
    rest: Array  # its posture
    taken: NDArray[np.int_]  # steps in this attempt
    before: Array  # its error at the last look

    def kept(self, chosen: NDArray[np.bool_]) -> _Pool:
        """Return the pool with some of its goals."""
        return _Pool(*(getattr(self, field.name)[chosen] for field in fields(_Pool)))


def _look(
    state: _State, pool: _Pool, best: Solution, steps: int, attempts: int, seed: int
) -> _Pool:
    """Take a few steps, then see who has arrived and who is stuck."""
    q = pool.q
    for _ in range(_LOOK):
        q, _, _ = state.advance(q, pool.goals, pool.rest)
    pool.taken += _LOOK
    after, error, turn = state.advance(q, pool.goals, pool.rest)
    whole = error + turn
    arrived = (error <= state.tolerances[0]) & (turn <= state.tolerances[1])
    closer = arrived | (whole < best.error[pool.rows] + best.rotation_error[pool.rows])
    rows = pool.rows[closer]
    best.q[rows], best.error[rows], best.rotation_error[rows] = (
        q[closer],
        error[closer],
        turn[closer],
    )
    best.steps[rows] = pool.taken[closer]
    best.reached[pool.rows[arrived]] = True
    stuck = ~arrived & ((whole > _PROGRESS * pool.before) | (pool.taken >= steps))
    again = pool.rows[stuck]
    given_up = stuck.copy()
    given_up[stuck] = best.attempts[again] >= attempts
    best.attempts[again[~given_up[stuck]]] += 1
    pool.q, pool.before = after, whole
    pool.taken += 1
    fresh = stuck & ~given_up
    if fresh.any():
        rows = pool.rows[fresh]
        pool.q[fresh] = _starts(state, rows, best.attempts[rows], seed)
        pool.taken[fresh] = 0
        pool.before[fresh] = np.inf
    leaving = arrived | given_up
    return pool.kept(~leaving) if leaving.any() else pool


def _starts(state: _State, rows: NDArray[np.int_], attempts: NDArray[np.int_], seed: int) -> Array:
    """Return random starts between the limits, each by its goal's number alone."""
    low = np.where(state.lower <= -_WIDE, -_SPREAD, state.lower)
    high = np.where(state.upper >= _WIDE, _SPREAD, state.upper)
    columns = np.arange(len(low), dtype=np.uint64)
    key = _mixed(np.uint64(seed % 2**64) ^ _mixed(attempts.astype(np.uint64)))
    each = _mixed(rows.astype(np.uint64) ^ key)
    bits = _mixed(each[:, None] + columns * np.uint64(0x9E3779B97F4A7C15))
    share = (bits >> np.uint64(11)).astype(float) * 2.0**-53
    return np.asarray(low + share * (high - low))


def _mixed(x: NDArray[np.uint64] | np.uint64) -> NDArray[np.uint64]:
    """Return well mixed bits (the finalizer of SplitMix64)."""
    z = np.atleast_1d(np.asarray(x, dtype=np.uint64)).copy()
    z += np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return found
