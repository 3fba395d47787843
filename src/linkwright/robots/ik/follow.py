"""A tool that follows rates over time, as a Program of many steps.

The wanted pose moves with the rates: they are polynomials of the time since the segment began,
along the axes of the world or of the tool as it moves, and the pose is integrated by the classical
method of Runge and Kutta. At each step the joint rates u = J^+ v and their exact derivative a (the
Program of u differentiated along u and the rate of v) are found where the joints are, and joints go

    q + h u + taylor (h^2 a / 2 + h^3 jerk / 6) + gain J^+ e

to the next step, with e the way from the frame to the wanted pose and the jerk from the last two
accelerations. With gain and taylor 1 what is left of e is of the order of h^4 and does not grow;
with both 0 it is Euler's step without feedback, as ROBSIM made it (its digest, section 3.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkwright.algebra import ONE, ZERO, Expr, constant, sqrt, total
from linkwright.algebra.functions import where
from linkwright.algebra.triples import (
    Matrix,
    add,
    apply,
    cross,
    dot,
    held_rows,
    quaternion_matrix,
    times,
)
from linkwright.equations.tree import Tree
from linkwright.equations.writer import Writer
from linkwright.program import Namer, Program, Statement, program
from linkwright.program.derivatives import jacobian_vector
from linkwright.program.inline import inlined
from linkwright.program.repeat import repeated
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.robots.ik.rates import kept_quantity, rate_inputs, rates_program

if TYPE_CHECKING:
    from linkwright.robots.quantity import Quantity
    from linkwright.robots.robot import Robot

POWERS = 5
"""Coefficients of the rate of each channel: constant to fourth power."""
CARRIED = {
    "q": "q_next",
    "before": "before_next",
    "place": "place_next",
    "quaternion": "quaternion_next",
    "clock": "clock_next",
}
"""What goes from step to step: joints, the last acceleration, the wanted pose, and time."""
SAMPLED = (
    "q_now",
    "u",
    "a",
    "error",
    "residual",
    "rank",
    "ratio",
    "place_now",
    "turn_now",
    "missed",
)
"""What a step reports."""

_HALF, _TWO, _SIXTH = constant(0.5), constant(2.0), constant(1 / 6)


def follow_program(tree: Tree, spot: FixedFrame, count: int) -> Program:
    """Return the Program of several steps.

    Its inputs are the `CARRIED` (`clock` holds the time since the segment began and how many steps
    were made), `profile` (5 x 6 coefficients of rates), `weights` (6), `aim` (n), `axes` (3 x 3,
    from the axes of the weights to the world's, where they are not the tool's), `settings` (damping
    and threshold) and `scheme`: the step h, whether axes are the tool's, gain and taylor.
    """
    return repeated(step_body(tree, spot), count, CARRIED, SAMPLED)


def step_body(tree: Tree, spot: FixedFrame) -> Program:
    """Return the Program of one step."""
    rates = rates_program(tree, spot, goal=True)
    slopes = jacobian_vector(rates, "rates", ["q", "rate", "axes"])
    n = len(tree.coordinates)
    sizes = {"q": n, "before": n, "place": 3, "quaternion": 4, "clock": 2, "profile": 6 * POWERS}
    sizes |= {"weights": 6, "aim": n, "axes": 9, "settings": 2, "scheme": 4}
    inputs = {name: rate_inputs(name, count) for name, count in sizes.items()}
    q, place, quaternion = (inputs[name] for name in ("q", "place", "quaternion"))
    h, own, gain, taylor = inputs["scheme"]
    since, seen = inputs["clock"]
    writer = Writer("follow")
    table = [inputs["profile"][6 * k : 6 * k + 6] for k in range(POWERS)]
    rotation = held_rows(writer.hold, quaternion_matrix(quaternion))
    rate, slope = _wanted(writer, table, since, own, rotation)
    inside = writer.hold(own > ZERO)
    flat = [x for row in rotation for x in row]
    pairs = zip(flat, inputs["axes"], strict=True)
    axes = [writer.hold(where(inside, x, y)) for x, y in pairs]
    spun = [cross(rate[3:], column) for column in zip(*rotation, strict=True)]
    turning = [writer.hold(where(inside, spun[j][i], ZERO)) for i in range(3) for j in range(3)]
    given: dict[str, Sequence[Expr]] = {"rate": rate, "turn": flat, "axes": axes}
    given |= {name: inputs[name] for name in ("q", "weights", "aim", "settings", "place")}
    statements: list[Statement] = list(writer.statements)
    more, found = inlined(rates, given, Namer(None, "fr"))
    statements += more
    u = found["rates"]
    more, tangent = inlined(
        slopes, {**given, "d_q": u, "d_rate": slope, "d_axes": turning}, Namer(None, "fs")
    )
    statements += more
    a = tangent["d_rates"]
    after = Writer("follow", prefix="n")
    third = [
        after.hold(where(seen > ZERO, (x - y) / h, ZERO))
        for x, y in zip(a, inputs["before"], strict=True)
    ]
    moved = [
        after.hold(x + h * v + taylor * (_HALF * h * h * b + _SIXTH * h * h * h * j) + gain * s)
        for x, v, b, j, s in zip(q, u, a, third, found["step"], strict=True)
    ]
    next_place, next_quaternion = _advanced(after, table, since, h, own, place, quaternion)
    statements += after.statements
    outputs = {
        "q_next": moved,
        "before_next": a,
        "place_next": next_place,
        "quaternion_next": next_quaternion,
        "clock_next": [since + h, seen + ONE],
        "q_now": q,
        "u": u,
        "a": a,
        **{name: found[name] for name in ("error", "residual", "rank", "ratio")},
        "place_now": place,
        "turn_now": quaternion,
        "missed": found["missed"],
    }
    return program("follow", inputs, outputs, statements=statements)


def _polynomials(
    writer: Writer, table: Sequence[Sequence[Expr]], t: Expr, order: int = 0
) -> list[Expr]:
    """Return the channels, or their derivatives, at a time (Horner)."""
    found: list[Expr] = [ZERO] * 6
    for k in reversed(range(order, POWERS)):
        found = [
            writer.hold((k if order else 1) * c + t * x)
            for c, x in zip(table[k], found, strict=True)
        ]
    return found


def _wanted(
    writer: Writer, table: Sequence[Sequence[Expr]], t: Expr, own: Expr, rotation: Matrix
) -> tuple[list[Expr], list[Expr]]:
    """Return the rate of the wanted pose and its derivative, along the axes of the world."""
    given, slope = _polynomials(writer, table, t), _polynomials(writer, table, t, 1)
    turned = [writer.triple(apply(rotation, given[i : i + 3])) for i in (0, 3)]
    carried = [
        writer.triple(add(apply(rotation, slope[i : i + 3]), cross(turned[1], turned[i // 3])))
        for i in (0, 3)
    ]
    inside = writer.hold(own > ZERO)
    rate, bent = (
        [writer.hold(where(inside, x, y)) for x, y in zip((*a, *b), along, strict=True)]
        for (a, b), along in ((turned, given), (carried, slope))
    )
    return rate, bent


def _advanced(
    writer: Writer,
    table: Sequence[Sequence[Expr]],
    t: Expr,
    h: Expr,
    own: Expr,
    place: Sequence[Expr],
    quaternion: Sequence[Expr],
) -> tuple[list[Expr], list[Expr]]:
    """Return the wanted pose after a step (Runge and Kutta)."""
    hold = writer.hold
    inside, half = hold(own > ZERO), hold(_HALF * h)
    slopes: list[list[Expr]] = []
    now = quaternion
    for part in (ZERO, half, half, h):
        if slopes:
            now = [hold(x + part * s) for x, s in zip(quaternion, slopes[-1][3:], strict=True)]
        rate = _polynomials(writer, table, t + part)
        linear = writer.triple(apply(held_rows(hold, quaternion_matrix(now)), rate[:3]))
        speed = [hold(where(inside, x, y)) for x, y in zip(linear, rate[:3], strict=True)]
        slopes.append([*speed, *_spin(writer, now, rate[3:], inside)])
    weights = (_SIXTH, constant(1 / 3), constant(1 / 3), _SIXTH)
    moved = [
        hold(x + h * dot(weights, column))
        for x, column in zip((*place, *quaternion), zip(*slopes, strict=True), strict=True)
    ]
    size = hold(ONE / sqrt(total(x * x for x in moved[3:])))
    return moved[:3], [hold(size * x) for x in moved[3:]]


def _spin(
    writer: Writer, quaternion: Sequence[Expr], omega: Sequence[Expr], own: Expr
) -> list[Expr]:
    """Return the rate of a quaternion that turns about axes of the world, or about its own."""
    w, *v = quaternion
    # of the world; about its own axes the sign is turned
    side = writer.triple(where(own, -x, x) for x in cross(omega, v))
    straight = add(times(w, omega), side)
    return [writer.hold(_HALF * x) for x in (-dot(omega, v), *straight)]


def follow_quantity(robot: Robot, frame: str, count: int) -> Quantity:
    """Return the quantity of so many steps of a frame that follows rates."""
    return kept_quantity(
        robot,
        f"{count} steps of {frame!r} that follows rates",
        [frame],
        lambda tree, spot: follow_program(tree, spot, count),
    )
