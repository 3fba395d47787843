"""Jerk-limited profiles of one axis, to rest or to a speed, in closed form.

State x, v, a; limits V of speed, A of acceleration, J of jerk, the same both ways. (Kroeger,
On-Line Trajectory Generation in Robotic Systems, 2010, and Berscheid and Kroeger, Jerk-limited
Real-time Trajectory Generation with Arbitrary Target States, RSS 2021, have the problem; the way
below is by extremal motions.)

What a motion of a given duration T can reach at rest is an interval, because limits are convex. Its
upper end belongs to the *forward* motion: jerk +J for t1, acceleration held at A for t2, -J for t3,
speed held at V for t4, -J for t5, acceleration held at -A for t6, +J for t7. With a1 the largest
acceleration and -a2 the least, and K = J v - a^2/2,

    a2^2 = a1^2 + K                          without holds, and a1 + a2 = (J T + a)/2,
    (a1 + A)^2 = A (J T + a) - K             where a2 = A alone is held,
    (a2 + A)^2 = A (J T + a) + K             where a1 = A alone is held,
    J v_peak = (A (J T + a) + K)/2 - A^2     where both are,

so that T gives all seven durations. The lower end is the same with signs changed. Therefore:

- the fastest motion is the forward one (backward, where the target lies behind the place where
  braking at once ends) whose distance D(T) is the one wanted. D is convex up to where the speed
  limit is met, and straight from there on; its slope is J t7 (t7/2 + t6 + (t3 + t5)/2) (Pontryagin:
  the value of the Hamiltonian). So Newton's method from above falls on the root without a miss. It
  begins at the duration of braking to rest and then going from rest to rest, never less than that
  of the fastest motion;
- a motion of any longer duration T is the mean, with weights, of the forward and the backward
  motion of duration T. It keeps all limits, as both do. So axes arrive together, and no duration
  above the least is blocked.

A state beyond the limits comes back within them first, as fast as it can: the acceleration at full
jerk, then the speed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkwright.algebra import (
    Expr,
    Scalar,
    absolute,
    as_expr,
    maximum,
    minimum,
    sign as sign_of,
    sqrt,
    symbol,
    where,
)
from linkwright.program import Assign, Carried, Loop, Statement

STEPS = 18
"""Newton steps to the duration of the fastest motion; thirteen were the most in 10^5 trials."""

TINY = 1e-300
"""Below every number that divides."""
Piece = tuple[Scalar, Expr]
State = tuple[Expr, Expr, Expr]


class ProfileWriter:
    """Statements with partial results of one block of a Program."""

    def __init__(self, stem: str) -> None:
        self.stem = stem
        self.statements: list[Statement] = []
        self.count = 0

    def fresh(self, name: str = "") -> Expr:
        """Return a new local symbol."""
        self.count += 1
        return symbol(f"{self.stem}{self.count}{name}", "local", owner="online")

    def let(self, value: Scalar) -> Expr:
        """Return a symbol for a value, so that it is computed once."""
        made = as_expr(value)
        if made.is_atom or made.op == "num":
            return made
        target = self.fresh()
        self.statements.append(Assign(target, made))
        return target

    def moved(self, state: State, pieces: Sequence[Piece]) -> State:
        """Return the state after pieces of constant jerk, each with its duration."""
        x, v, a = state
        for jerk, t in pieces:
            x = self.let(x + t * (v + t * (a / 2 + t * jerk / 6)))
            v, a = self.let(v + t * (a + t * jerk / 2)), self.let(a + t * jerk)
        return x, v, a


def _root(x: Expr) -> Expr:
    return sqrt(maximum(x, 0))


def forward(J: Expr, times: Iterable[Expr]) -> list[Piece]:
    """Return the pieces of the forward motion; with -J, of the backward one."""
    return list(zip((J, 0, -J, 0, -J, 0, J), times, strict=True))


def stopping(J: Expr, times: Iterable[Expr]) -> list[Piece]:
    """Return the pieces of a change of speed."""
    return list(zip((-J, 0, J), times, strict=True))


# -- one axis --------------------------------------------------------------------------------------
def returned(
    w: ProfileWriter, v: Expr, a: Expr, V: Expr, A: Expr, J: Expr, speeds: Expr
) -> list[Piece]:
    """Return the pieces that bring a state back within limits; durations are 0 if it is within."""
    first = w.let(-sign_of(a) * J)
    t1 = w.let(maximum(absolute(a) - A, 0) / J)
    v = w.let(v + t1 * (a + t1 * first / 2))
    a = w.let(minimum(maximum(a, -A), A))
    g = w.let(a * a / (2 * J))
    high = ((v > V) & (v - g > -V)) | ((a > 0) & (v + g > V))
    low = ((v < -V) & (v + g < V)) | ((a < 0) & (v - g < -V))
    s = w.let(where(speeds, where(high, 1, where(low, -1, 0)), 0))
    v, a = w.let(s * v), w.let(s * a)
    # to the limit of speed, but not so hard that the opposite one is passed
    b = minimum(_root(a * a + 2 * J * (v - V)), _root(a * a / 2 + J * (v + V)))
    held = w.let((b >= A) & (absolute(s) > 0))
    t2 = w.let(where(absolute(s) > 0, maximum(a + minimum(b, A), 0) / J, 0))
    v = w.let(v + t2 * (a - t2 * J / 2))
    t3 = w.let(where(held, maximum(minimum(v - V, v + V - A * A / (2 * J)) / A, 0), 0))
    return [(first, t1), (w.let(-s * J), t2), (0, t3)]


def extremal(
    w: ProfileWriter, T: Expr, v: Expr, a: Expr, V: Expr, A: Expr, J: Expr, *, capped: bool
) -> list[Expr]:
    """Return the seven durations of the forward motion of a duration."""
    K = w.let(J * v - a * a / 2)
    h = w.let(maximum((J * T + a) / 2, TINY))
    ratio = w.let(K / h)
    one, two = w.let((h - ratio) / 2), w.let((h + ratio) / 2)
    free = w.let(maximum(one, two) <= A)
    less = w.let(_root(2 * A * h - absolute(K)) - A)  # the smaller one, where the other is held
    single = w.let(less <= A)
    first = w.let(where(free, one, where(single & (K >= 0), less, A)))
    second = w.let(where(free, two, where(single & (K < 0), less, A)))
    both = (2 * A * h + K) / 2 - A * A
    peak = w.let(
        where(free | (single & (K >= 0)), first**2 + K, where(single, second**2, both))
    )  # J times the largest speed
    cap: Expr = as_expr(0)
    if capped:
        cap = w.let((first > 0) & (peak > J * V))
        peak = w.let(where(cap, J * V, peak))
        first = w.let(where(cap, minimum(A, _root(J * V - K)), first))
        second = w.let(where(cap, minimum(A, _root(J * V)), second))
    t1 = w.let(maximum(first - a, 0) / J)
    t2 = w.let(maximum(peak - first * first - K, 0) / (J * A))
    t3 = w.let(maximum(first, 0) / J)
    t5 = w.let(maximum(second + minimum(first, 0), 0) / J)
    t6 = w.let(maximum(peak - second * second, 0) / (J * A))
    t7 = w.let(maximum(second, 0) / J)
    t4 = w.let(where(cap, maximum(T - (t1 + t2 + t3 + t5 + t6 + t7), 0), 0))
    return [t1, t2, t3, t4, t5, t6, t7]


def braking(w: ProfileWriter, v: Expr, a: Expr, A: Expr, J: Expr) -> tuple[Expr, list[Expr]]:
    """Return the sign and the three durations of the fastest change to speed 0.

    The jerks are minus, zero and plus the sign times J.
    """
    s = w.let(where(v + a * absolute(a) / (2 * J) >= 0, 1, -1))
    square = w.let(maximum(s * J * v + a * a / 2, 0))
    b = w.let(minimum(sqrt(square), A))
    held = w.let(maximum(square - b * b, 0) / (J * A))
    return s, [w.let(maximum(s * a + b, 0) / J), held, w.let(b / J)]


def fastest(
    w: ProfileWriter, d: Expr, v: Expr, a: Expr, V: Expr, A: Expr, J: Expr, rounding: Expr
) -> Expr:
    """Return the least duration in which a distance is gone to rest, from within limits."""
    zero = as_expr(0)
    s, stops = braking(w, v, a, A, J)
    least = w.let(stops[0] + stops[1] + stops[2])
    end = w.moved((zero, v, a), stopping(s * J, stops))[0]
    s = w.let(where(d >= end, 1, -1))
    rest = w.let(maximum(s * (d - end) - rounding, 0))
    v, a, d = w.let(s * v), w.let(s * a), w.let(s * d)
    # the fastest motion that just meets the limit of speed
    K = J * v - a * a / 2
    first, second = w.let(minimum(A, _root(J * V - K))), w.let(minimum(A, _root(J * V)))
    meets = [
        w.let(maximum(first - a, 0) / J),
        w.let(maximum(J * V - first * first - K, 0) / (J * A)),
        w.let(first / J),
        zero,
        w.let(second / J),
        w.let(maximum(J * V - second * second, 0) / (J * A)),
        w.let(second / J),
    ]
    whole = w.let(sum(meets, zero))
    reach = w.moved((zero, v, a), forward(J, meets))[0]
    # from rest to rest, without a limit of speed
    tj = w.let(A / J)
    short = w.let((32 * rest / J) ** (1 / 3))
    long = sqrt(tj * tj + 4 * rest / A) + tj
    above = w.let(maximum(minimum(whole, least + where(short <= 4 * tj, short, long)), least))
    inner = ProfileWriter(f"{w.stem}n")
    T, found = inner.fresh("T"), w.fresh("T")
    times = extremal(inner, T, v, a, V, A, J, capped=False)
    gone = inner.moved((zero, v, a), forward(J, times))[0]
    slope = J * times[6] * (times[6] / 2 + times[5] + (times[2] + times[4]) / 2)
    step = inner.let((gone - d) / maximum(slope, TINY))
    following = inner.let(where(slope > 0, minimum(maximum(T - step, least), above), T))
    carried = Carried(T, above, following, found)
    w.statements.append(Loop(STEPS, (carried,), (), (), tuple(inner.statements)))
    found = where(d >= reach, whole + (d - reach) / V, found)
    return w.let(where(rest > 0, found, least))
