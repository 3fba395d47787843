"""The two passes along a path that find its fastest motion, as native code.

At each point of a grid, limits bound u = s'' from both sides by lines in x = s'^2,

    low_i + low_slope_i x <= u <= high_i + high_slope_i x,

and a step of length h leads from x to x + 2 h u. Backward from the end, the largest x from which
the end can be reached is where the gap between the highest lower line and the lowest upper line
closes. That gap is convex in x, so Newton's method comes down to it from above, line by line, and
ends after finitely many steps. Forward from the start, the largest u that keeps to it is taken
(Pham and Pham, IEEE Transactions on Robotics 34, 2018). Both passes are one Program: a loop over
the grid, for all paths of a batch at once.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, as_expr, maximum, minimum, symbol, where
from linkwright.backends.kernel import Kernel, compile as compile_kernel
from linkwright.program import Program, program
from linkwright.program.program import Assign, Carried, Loop, Scanned, Stacked, Statement

Array = NDArray[np.float64]

Rows = list[tuple[list[Expr], ...]]
"""For each line its four numbers at each point."""

NONE = 1e12
"""A bound that bounds nothing."""

_TURNS = 10  # of Newton's method; each ends at a line of its own
_ABOVE = 1 + 4e-15  # by which a turn ends above, so that rounding does not count
_CHUNK = 40  # points that a kernel goes over at once
_LINES = 12  # lines are filled up to a multiple of this, so that few kernels serve all
_NAMES = ("high", "high_slope", "low", "low_slope")
_FREE = (NONE, 0.0, -NONE, 0.0)


def largest_speeds(bounds: Array, tops: Array, step: Array) -> Array:
    """Return x at each point of each path; negative where no motion keeps to the limits."""
    paths, _, lines, points = bounds.shape
    wide = -(-lines // _LINES) * _LINES
    steps = -(-(points - 1) // _CHUNK) * _CHUNK
    filled = np.empty((paths, 4, wide, steps))
    filled[:] = np.array(_FREE)[None, :, None, None]
    filled[:, :, :lines, : points - 1] = bounds[..., :-1]
    highest = np.zeros((paths, steps))
    highest[:, : points - 1] = tops[:, :-1]
    backward, forward = (_kernel(name, wide) for name in ("backward", "forward"))
    h = np.ascontiguousarray(step, dtype=float).reshape(paths, 1)
    reach = np.zeros((paths, steps + 1))
    chunks = [slice(k, k + _CHUNK) for k in range(0, steps, _CHUNK)]
    for part in reversed(chunks):
        arrays = [np.ascontiguousarray(filled[:, k, :, part]) for k in range(4)]
        top = np.ascontiguousarray(highest[:, part])
        reach[:, part] = backward.batch(*arrays, top, reach[:, part.stop : part.stop + 1].copy(), h)
    x = np.zeros((paths, steps + 1))
    for part in chunks:
        arrays = [np.ascontiguousarray(filled[:, k, :, part]) for k in range(4)]
        bound = np.ascontiguousarray(reach[:, part.start + 1 : part.stop + 1])
        x[:, part.start + 1 : part.stop + 1] = forward.batch(
            *arrays, bound, x[:, part.start : part.start + 1].copy(), h
        )
    stuck = (reach[:, :points] < 0).any(axis=1)
    x[stuck] = -1.0
    return x[:, :points]


@lru_cache(maxsize=16)
def _kernel(name: str, lines: int) -> Kernel:
    return compile_kernel(passing(name, lines))


def passing(name: str, lines: int) -> Program:
    """Return the Program of a pass over some points: "backward" or "forward".

    >>> [port.name for port in passing("forward", 4).inputs]
    ['high', 'high_slope', 'low', 'low_slope', 'bound', 'start', 'step']
    """
    inputs = {
        word: [[symbol(f"{word}_{i}_{k}") for k in range(_CHUNK)] for i in range(lines)]
        for word in _NAMES
    }
    bound = [symbol(f"bound_{k}") for k in range(_CHUNK)]
    x = [symbol(f"x_{k}") for k in range(_CHUNK)]
    start, step = symbol("start"), symbol("step")
    rows = [tuple(inputs[word][i] for word in _NAMES) for i in range(lines)]
    make = _backward if name == "backward" else _forward
    return program(
        name,
        {**inputs, "bound": bound, "start": [start], "step": [step]},
        {"x": x},
        statements=[make(rows, bound, start, x, step)],
    )


def _scanned(rows: Rows, points: slice) -> tuple[list[tuple[Expr, ...]], list[Scanned]]:
    """Return symbols for the lines at a point, and the arrays that they come from."""
    inside = [tuple(symbol(f"{name}{i}", "local") for name in _NAMES) for i in range(len(rows))]
    arrays = [
        Scanned(x, tuple(values[points]))
        for symbols, row in zip(inside, rows, strict=True)
        for x, values in zip(symbols, row, strict=True)
    ]
    return inside, arrays


def _backward(rows: Rows, tops: list[Expr], start: Expr, reach: list[Expr], step: Expr) -> Loop:
    back = slice(None, None, -1)
    lines, scanned = _scanned(rows, back)
    top, after = symbol("top", "local"), symbol("after", "local")
    best, last = (symbol(n, "local") for n in ("best", "last_reach"))
    x = symbol("at", "local")
    body: list[Statement] = []

    def let(name: str, value: Expr) -> Expr:
        made = symbol(name, "local")
        body.append(Assign(made, value))
        return made

    # the lowest upper and the highest lower line at x, each with its slope
    reachable = let("per", 1 / (2 * step))
    high, high_slope = (after - x) * reachable, -reachable
    low, low_slope = -x * reachable, -reachable
    for i, (p, q, r, s) in enumerate(lines):
        upper, lower = let(f"up{i}", p + q * x), let(f"down{i}", r + s * x)
        high_slope = let(f"uslope{i}", where(upper < high, q, high_slope))
        high = let(f"umin{i}", minimum(upper, high))
        low_slope = let(f"dslope{i}", where(lower > low, s, low_slope))
        low = let(f"dmax{i}", maximum(lower, low))
    gap, slope = let("gap", low - high), let("slope", low_slope - high_slope)
    # From far above, rounding may lead below where the gap closes: a little more, or up again.
    moved = where(slope > 0, minimum(_ABOVE * x - gap / slope, top), where(gap > 0, as_expr(-1), x))
    newton = Loop(
        _TURNS,
        (Carried(x, top, moved, best),),
        (),
        (),
        tuple(body),
    )
    chosen = where(best < 0, as_expr(-1), best)
    carried = (Carried(after, start, chosen, last),)
    scanned = [*scanned, Scanned(top, tuple(tops[back]))]
    stacked = (Stacked(chosen, tuple(reach[back])),)
    return Loop(len(reach), carried, tuple(scanned), stacked, (newton,))


def _forward(rows: Rows, reach: list[Expr], start: Expr, x: list[Expr], step: Expr) -> Loop:
    lines, scanned = _scanned(rows, slice(None))
    now, bound, last = (symbol(n, "local") for n in ("now", "bound", "last_x"))
    high, low = (bound - now) / (2 * step), -now / (2 * step)
    for p, q, r, s in lines:
        high, low = minimum(p + q * now, high), maximum(r + s * now, low)
    moved = symbol("moved", "local")
    value = minimum(maximum(now + 2 * step * maximum(high, low), 0), bound)
    arrays = (*scanned, Scanned(bound, tuple(reach)))
    carried = (Carried(now, start, moved, last),)
    return Loop(len(x), carried, arrays, (Stacked(moved, tuple(x)),), (Assign(moved, value),))
