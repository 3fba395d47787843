"""Limits of position, speed and acceleration that rates of joints keep, by saturating them.

Rates u are held for a period h. Joint by joint they are in a box: no faster than the speed limit,
no farther from the `last` rates than the acceleration limit lets them, and no faster toward a
position limit than from where braking with that acceleration still ends before it. A joint at the
distance d that goes on with u, u - A h, u - 2 A h, ... until it stands goes

    h (u (k + 1) - A h k (k + 1) / 2),   k = floor(u / (A h)),

and that is d at most for u up to (d / h + A h k (k + 1) / 2) / (k + 1) with
k = floor((sqrt(1 + 8 d / (A h^2)) - 1) / 2). From a state within the limits the box is never empty.
Where it is (a joint that begins outside), the acceleration limit counts, and it turns back.

Rates s a + b, with a for the wanted motion and b of the null space, that leave the box are brought
into it by saturation in the null space (Flacco, De Luca and Khatib, Control of redundant robots
under hard joint constraints, IEEE Transactions on Robotics 31, 2015): the joint that limits the
scale s most is put on its limit for all s, and the others make up for it in the null space, as long
as there is one. Of the sets of joints tried in this way, that with the largest scale counts. With P
the projection on the null space, joint j goes to its limit e by

    a <- a - P_j a_j / P_jj,   b <- b + P_j (e - b_j) / P_jj,   P <- P - P_j P_j^T / P_jj.

What may still be outside (where acceleration limits leave no scale between 0 and 1) is cut off, so
that no limit is ever exceeded; the residual of the rate says what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkwright.algebra import ONE, ZERO, Expr, constant, sqrt, symbol
from linkwright.algebra.functions import absolute, floor, maximum, minimum, where
from linkwright.algebra.triples import dot
from linkwright.equations.writer import Writer

LIMITS = ("lower", "upper", "speed", "acceleration")
"""Limits of each joint."""
FAR = 1e9
"""A limit that counts as none; accelerations up to its square."""
_MOST = constant(1e30)
_TINY = constant(1e-200)
_THIN = constant(1e-10)


def limit_inputs(n: int) -> dict[str, tuple[Expr, ...]]:
    """Return the inputs of a Program that limits rates: `last`, those of `LIMITS`, `period`."""
    sizes = {"last": n, **dict.fromkeys(LIMITS, n), "period": 1}
    return {
        name: tuple(symbol(f"{name}[{k}]", "input", owner="limits") for k in range(count))
        for name, count in sizes.items()
    }


def clipped(writer: Writer, x: Expr, low: Expr, high: Expr) -> Expr:
    """Return a value within limits."""
    return writer.hold(minimum(maximum(x, low), high))


def bounds(
    writer: Writer, q: Sequence[Expr], given: Mapping[str, Sequence[Expr]]
) -> tuple[list[Expr], list[Expr]]:
    """Return the least and greatest rates of joints."""
    hold = writer.hold
    (h,) = given["period"]
    low: list[Expr] = []
    high: list[Expr] = []
    rows = zip(q, given["last"], *(given[name] for name in LIMITS), strict=True)
    for x, before, lower, upper, speed, acceleration in rows:
        step = hold(acceleration * h)
        up = hold(minimum(speed, _stopping(writer, hold(upper - x), step, h)))
        down = hold(-minimum(speed, _stopping(writer, hold(x - lower), step, h)))
        least, most = hold(maximum(before - step, -speed)), hold(minimum(before + step, speed))
        low.append(hold(minimum(maximum(down, least), most)))
        high.append(hold(maximum(minimum(up, most), low[-1])))
    return low, high


def _stopping(writer: Writer, distance: Expr, step: Expr, h: Expr) -> Expr:
    """Return the fastest rate from which a joint can still stop within a distance."""
    hold = writer.hold
    periods = hold(maximum(distance, ZERO) / hold(step * h))
    count = hold(floor((sqrt(ONE + 8 * periods) - ONE) / 2))
    return hold((distance / h + step * (count * (count + ONE)) / 2) / (count + ONE))


def saturated(
    writer: Writer,
    task: Sequence[Expr],
    free: Sequence[Expr],
    projector: Sequence[Sequence[Expr]],
    low: Sequence[Expr],
    high: Sequence[Expr],
    rounds: int,
) -> tuple[list[Expr], Expr]:
    """Return rates within limits, and the part of the wanted motion that they have."""
    hold = writer.hold
    a, b, p = list(task), list(free), [list(row) for row in projector]
    n = len(a)
    keys, score = _scales(writer, a, b, low, high)
    best_a, best_b, best = a, b, score
    for _ in range(min(rounds, n)):
        critical, done = keys[0], hold(score >= ONE)
        for key in keys[1:]:
            critical = hold(minimum(critical, key))
        chosen: list[Expr] = []
        taken: Expr = ZERO
        for key in keys:
            here = hold(where(key <= critical, ONE - taken, ZERO))
            taken = hold(taken + here)
            chosen.append(here)
        column = [hold(dot(chosen, row)) for row in p]
        own, rest, least, most, depth = (
            hold(dot(chosen, values)) for values in (a, b, low, high, column)
        )
        goal = hold(where(own + rest > most, most, least))
        able = hold(where(done, ZERO, where(depth > _THIN, ONE, ZERO)))
        inverse = hold(able / maximum(depth, _THIN))
        slope, shift = hold(own * inverse), hold((goal - rest) * inverse)
        stay = [hold(ONE - able * c) for c in chosen]
        a = [hold(k * (x - slope * y)) for k, x, y in zip(stay, a, column, strict=True)]
        b = [
            hold(where(k > ZERO, x + shift * y, goal))
            for k, x, y in zip(stay, b, column, strict=True)
        ]
        for i in range(n):
            for j in range(i + 1):
                entry = p[i][j] - column[i] * column[j] * inverse
                p[i][j] = p[j][i] = hold(stay[i] * stay[j] * entry)
        keys, score = _scales(writer, a, b, low, high)
        better = hold(score > best)
        best = hold(maximum(score, best))
        best_a = [hold(where(better, x, y)) for x, y in zip(a, best_a, strict=True)]
        best_b = [hold(where(better, x, y)) for x, y in zip(b, best_b, strict=True)]
    scale = clipped(writer, best, ZERO, ONE)
    rates = [
        clipped(writer, hold(scale * x + y), least, most)
        for x, y, least, most in zip(best_a, best_b, low, high, strict=True)
    ]
    return rates, scale


def _scales(
    writer: Writer,
    a: Sequence[Expr],
    b: Sequence[Expr],
    low: Sequence[Expr],
    high: Sequence[Expr],
) -> tuple[list[Expr], Expr]:
    """Return how early each joint limits the scale, and the scale that all of them allow.

    Where they allow none the latter is below zero.
    """
    hold = writer.hold
    keys: list[Expr] = []
    most, least = ONE, ZERO
    for x, y, bottom, top in zip(a, b, low, high, strict=True):
        inside = hold(where(y > top, -_MOST, where(y < bottom, -_MOST, _MOST)))
        still = hold(absolute(x) < _TINY)
        inverse = hold(ONE / where(still, ONE, x))
        one, other = hold((top - y) * inverse), hold((bottom - y) * inverse)
        last = hold(where(still, inside, maximum(one, other)))
        first = hold(where(still, -_MOST, minimum(one, other)))
        keys.append(hold(minimum(last, 2 - first)))
        most, least = hold(minimum(most, last)), hold(maximum(least, first))
    return keys, hold(where(most >= least, most, minimum(most - least, -_THIN)))
