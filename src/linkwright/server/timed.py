"""Timed trajectories of an arm: points with times, checked whole, followed by the loop itself.

A client sends the points one by one, as commands `knot`; the queue keeps them. `trajectory` makes
them one motion (`linkwright.motion.hermite`, quintic between points), which is rejected in words or
put before the loop as coefficients, all at one tick. It begins where the arm stands at the first
point and ends at rest at the last. A stop, `track` and `jog` leave it within the limits of speed,
acceleration and jerk (`linkwright.server.tracking`), each axis as soon as it can.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from linkwright.algebra import Expr, as_expr, equal, minimum, not_equal, symbol, where
from linkwright.blocks import Block
from linkwright.motion.trajectory import POWERS, Trajectory, hermite, through
from linkwright.program import Carried, Loop, Program, ProgramPort, Scanned, gated
from linkwright.server.cell import CellArm
from linkwright.server.face import POINTS, RefusedError
from linkwright.server.supervisor import TRAJECTORY

LONGEST = 3600.0
"""s that a trajectory may last."""

NEAR = 1e-6
"""rad or m, within which an arm has to stand at the first point."""

_NEVER = 1e9  # s
_SLACK = 1e-9  # of limits, for rounding
_LIMITS = ("high", "speed", "acceleration", "jerk")


class ArmTimed(Block):
    """Follows a trajectory of an arm.

    >>> from linkwright.server.cell_file import read_cell
    >>> sorted(ArmTimed(read_cell("axes2").arms[0], 500).outputs)
    ['a', 'leaves', 'q', 'runs', 'u']
    """

    def __init__(self, arm: CellArm, rate: float, name: str = "timed") -> None:
        super().__init__(name)
        n, hold = len(arm.axes), self.intermediate
        begins = self.input_vector("begins", POINTS - 1, _NEVER, unit="s", doc="of the pieces")
        size = POWERS * n
        pieces = self.input_vector("pieces", (POINTS - 1, size), doc="coefficients, by power")
        length = self.input("length", unit="s", doc="of the trajectory")
        count, kind = self.input("count", doc="motions so far"), self.input("kind")
        enabled, brake = self.input("on"), self.input("brake", doc="whether the arm is to stop")
        seen, running, elapsed = (self.discrete_state(x) for x in ("seen", "running", "elapsed"))
        fresh = hold(not_equal(count, seen))
        start = hold(fresh & equal(kind, TRAJECTORY))
        since = hold(where(start, 0, elapsed + 1))
        t = hold(minimum(since / rate, length))
        calm = (enabled > 0) & equal(brake, 0) & (t < length)
        on = hold((start | ((running > 0) & ~fresh)) & calm)
        given = {"t": [t], "begins": begins, "pieces": pieces, "on": [start | (running > 0)]}
        piece = self.embed(_piece_at(size), given)
        s, here = hold(t - piece["begin"][0]), piece["row"]
        for order, (word, doc) in enumerate((("q", "places"), ("u", "speeds"), ("a", "bends"))):
            found = []
            for i in range(n):
                value: Expr = self.expr(0)
                for power in reversed(range(order, POWERS)):
                    factor = np.prod([power - k for k in range(order)], dtype=float)
                    value = value * s + float(factor) * here[power * n + i]
                found.append(hold(value))
            self.output_vector(word, found, doc=doc)
        self.output("runs", on, doc="whether it goes on")
        self.output("leaves", (running > 0) & ~on & (enabled > 0), doc="whether it ends here")
        for memory, following in ((seen, count), (running, on), (elapsed, since)):
            self.update(memory, following)


@cache
def _piece_at(size: int) -> Program:
    """Return the Program that finds the piece of a time: its beginning and its coefficients."""
    owner, turns = "timed_piece", range(POINTS - 1)

    def made(name: str, role: str = "local") -> Expr:
        return symbol(name, role, owner=owner)

    t, begins = made("t", "input"), tuple(made(f"begins[{k}]", "input") for k in turns)
    pieces = [tuple(made(f"pieces[{k},{i}]", "input") for k in turns) for i in range(size)]
    reads = [Scanned(made(f"read{i}"), values) for i, values in enumerate((begins, *pieces))]
    kept = []
    for i, read in enumerate(reads):  # the last that has begun stays
        memory = made(f"kept{i}")
        following = where(t >= reads[0].symbol, read.symbol, memory)
        kept.append(Carried(memory, as_expr(0), following, made(f"found{i}")))
    begin, *row = (x.final for x in kept)
    inputs = (
        ProgramPort("t", (), (t,)),
        ProgramPort("begins", (len(turns),), begins),
        ProgramPort("pieces", (len(turns), size), tuple(x[k] for k in turns for x in pieces)),
    )
    outputs = (ProgramPort("begin", (), (begin,)), ProgramPort("row", (size,), tuple(row)))
    loop = Loop(len(turns), tuple(kept), tuple(reads), (), ())
    return gated(Program(owner, inputs, outputs, (loop,)), "on")


def planned(arm: CellArm, knots: Sequence[tuple[float, ...]], here: Sequence[float]) -> Trajectory:
    """Return the motion through points, or reject it with joint, time, value and limit.

    Speeds that are not given are those of the cubic spline at rest at both ends. Accelerations are
    zero at both ends, and in between the mean of those of the cubics before and after a point.

    Units: `knots` in s.
    """
    n, name = len(arm.axes), repr(arm.name)
    if len({len(x) for x in knots}) > 1:
        raise RefusedError("values", "speeds are given at all points of a trajectory, or at none")
    table = np.array(knots)
    t, q = table[:, 0] - table[0, 0], table[:, 1 : n + 1].copy()
    if np.diff(t).min() < 1e-3 or t[-1] > LONGEST:
        k = int(np.argmin(np.diff(t)))
        raise RefusedError(
            "times",
            f"times of a trajectory rise by 0.001 s at least, and to {LONGEST:g} s at most: "
            f"{table[k, 0]:g} s, {table[k + 1, 0]:g} s ... {table[-1, 0]:g} s",
        )
    for axis, x, y in zip(arm.axes, q[0], here, strict=True):
        if abs(x - y) > NEAR:
            raise RefusedError(
                "start",
                f"{axis.joint} of {name} stands at {y:.6g} {axis.unit}, and the trajectory begins "
                f"at {x:.6g}",
                remedy="go to its first point, as by joints(), and wait() there",
            )
    q[0] = here
    if table.shape[1] > n + 1:
        u = table[:, n + 1 :]
    else:
        u = through(t, q, ends="clamped").speed(t)
        u[[0, -1]] = 0.0
    for k in (0, -1):
        for axis, x in zip(arm.axes, u[k], strict=True):
            if x:
                raise RefusedError(
                    "speed",
                    f"{axis.joint} of {name} has {x:.6g} {axis.unit}/s at {table[k, 0]:g} s: a "
                    "trajectory begins and ends at rest",
                )
    cubic = hermite(t, q, u).coefficients
    bends = np.zeros_like(q)
    before = 2 * cubic[:-1, 2] + 6 * cubic[:-1, 3] * np.diff(t)[:-1, None]
    bends[1:-1] = (before + 2 * cubic[1:, 2]) / 2
    found = hermite(t, q, u, bends)
    _keep_limits(arm, found, float(table[0, 0]))
    return found


def inputs_of(arm: CellArm, motion: Trajectory) -> dict[str, float]:
    """Return the inputs of an arm's block that are a trajectory."""
    own, begins = f"{arm.name}_timed", [*map(float, motion.instants[:-1])]
    rows = motion.coefficients.reshape(len(begins), -1)
    rest = [_NEVER] * (POINTS - 1 - len(begins))
    return {
        f"{own}.length": motion.duration,
        **{f"{own}.begins[{k}]": x for k, x in enumerate([*begins, *rest])},
        **{f"{own}.pieces[{k},{i}]": float(x) for (k, i), x in np.ndenumerate(rows)},
    }


def _keep_limits(arm: CellArm, motion: Trajectory, begin: float) -> None:
    """Reject a motion beyond limits, at its worst instant; say how much slower it would do."""
    slower, reason, worst = 1.0, "", ""
    for order, word in enumerate(_LIMITS):
        rows = (x.reshape(-1, motion.size).T for x in motion.extremes(order))
        for axis, times, values in zip(arm.axes, *rows, strict=True):
            high = getattr(axis, word)
            low = -high if order else axis.low
            k = int(np.argmax(np.maximum(low - values, values - high)))
            if low - _SLACK * abs(low) <= values[k] <= high + _SLACK * abs(high):
                continue
            unit = axis.unit + (f"/s^{order}" if order > 1 else "/s" * order)
            if not order:
                raise RefusedError(
                    "range",
                    f"{axis.joint} of {arm.name!r} would be at {values[k]:.6g} {unit} at "
                    f"{begin + times[k]:.4g} s, and goes from {low:.6g} to {high:.6g} {unit}",
                    remedy="move the points, or give speeds at them",
                )
            if (need := float(abs(values[k]) / high) ** (1 / order)) > slower:
                slower, reason = need, word
                worst = (
                    f"{axis.joint} of {arm.name!r} would have {abs(values[k]):.6g} {unit} at "
                    f"{begin + times[k]:.4g} s, and its largest {word} is {high:.6g} {unit}"
                )
    if worst:
        raise RefusedError(
            reason, worst, remedy=f"give it {np.ceil(slower * 1000) / 1000:g} times the time"
        )
