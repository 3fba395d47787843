"""Statistics of a task inside the native loop, so that memory does not grow with samples.

One Program makes a block of samples: the motion (polynomials of joints, or a tool that follows
rates), the loads in the joints, and of each quantity its value of largest magnitude with the time,
and the integrals of value and square. Values change linearly between samples, as in
`linkwright.sizing.requirements.statistics`. Batches run it for many runs at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkwright.algebra import ONE, ZERO, Expr, constant, sqrt, symbol, total
from linkwright.algebra.functions import absolute, maximum, where
from linkwright.equations.writer import Writer
from linkwright.program import Namer, Program, Statement, program
from linkwright.program.inline import inlined
from linkwright.program.repeat import repeated
from linkwright.robots.ik.follow import CARRIED, step_body
from linkwright.robots.joint_loads import load_symbols, loads_program
from linkwright.robots.loaded_quantity import LOADS

if TYPE_CHECKING:
    from linkwright.equations.tree import Tree
    from linkwright.robots import Robot
    from linkwright.robots.fixed_frames import FixedFrame
    from linkwright.robots.quantity import Quantity

QUANTITIES = ("speed", "acceleration", "torque", "power", "force", "moment")
"""What is reduced, of each joint."""
REST = 1e-11
"""Part of the terms of a speed below which it is rounding: what stands has no dry friction."""
BLOCK = 64
"""Samples of one call."""
_THIRD, _HALF, _TINY = constant(1 / 3), constant(0.5), constant(1e-280)


def _symbols(name: str, count: int) -> tuple[Expr, ...]:
    return tuple(symbol(f"{name}[{k}]", "input", owner="reduction") for k in range(count))


def reduction_program(
    tree: Tree,
    links: Sequence[FixedFrame],
    rows: Sequence[int],
    spot: FixedFrame | None,
    loads: Sequence[str],
    *,
    tool: bool,
) -> Program:
    """Return the Program of a block of samples.

    Its inputs are `state` (for each quantity and joint: peak, its time, integral, integral of the
    square, and the last value), `watch` (time, time of the last sample, samples and steps left;
    where none is left everything stays as it is), and the loads. For joints there are `path`
    (6 x n coefficients), `clock` (time since the piece began) and `pace` (the step), for a tool
    what `follow_program` takes, and `missed`: the largest residual and error so far.
    """
    n = len(tree.coordinates)
    acting = loads_program(tree, links, spot, loads, ("tau", "reactions"))
    state = _symbols("state", 5 * len(QUANTITIES) * n)
    time, last, left, steps = watch = _symbols("watch", 4)
    given = load_symbols(loads)
    statements: list[Statement] = []
    inputs: dict[str, Sequence[Expr]] = {"state": state, "watch": watch}
    outputs: dict[str, Sequence[Expr]] = {}
    carried = {"state": "state_next", "watch": "watch_next"}
    if tool:
        assert spot is not None
        body = step_body(tree, spot)
        own = {p.name: _symbols(p.name, p.size) for p in body.inputs}
        more, found = inlined(body, own, Namer(None, "rt"))
        statements += more
        motion: list[Sequence[Expr]] = [found["q_now"], found["u"], found["a"]]
        h, missed = own["scheme"][0], found["missed"]
        inputs |= own
        keep = Writer("keep", prefix="w")
        moving = keep.hold(steps > ZERO)
        for now, after in CARRIED.items():
            pairs = zip(found[after], own[now], strict=True)
            outputs[after] = [keep.hold(where(moving, x, y)) for x, y in pairs]
        statements += keep.statements
        carried |= CARRIED
    else:
        path, clock, (h,) = _symbols("path", 6 * n), _symbols("clock", 1), _symbols("pace", 1)
        writer = Writer("path", prefix="m")
        motion = [_orders(writer, path, clock[0], n, k) for k in range(3)]
        terms = _orders(writer, [absolute(c) for c in path], clock[0], n, 1)
        motion[1] = [
            writer.hold(where(absolute(x) < constant(REST) * term, ZERO, x))
            for x, term in zip(motion[1], terms, strict=True)
        ]
        statements += writer.statements
        missed = ()
        inputs |= {"path": path, "clock": clock, "pace": (h,)}
        outputs["clock_next"] = (clock[0] + h,)
        carried["clock"] = "clock_next"
    inputs |= given
    q, u, a = motion
    more, forces = inlined(acting, {"q": q, "u": u, "a": a, **given}, Namer(None, "rl"))
    statements += more
    writer = Writer("reduction", prefix="k")
    hold = writer.hold
    tau, reactions = forces["tau"], forces["reactions"]
    sizes = [
        [
            hold(sqrt(total(x * x for x in reactions[6 * k + i : 6 * k + i + 3]) + _TINY))
            for k in rows
        ]
        for i in (0, 3)
    ]
    values = [
        *u,
        *a,
        *tau,
        *(hold(t * v) for t, v in zip(tau, u, strict=True)),
        *sizes[0],
        *sizes[1],
    ]
    active = hold(left > ZERO)
    gap = hold(where(active, time - last, ZERO))
    following = []
    for k, x in enumerate(values):
        following += _reduced(writer, state[5 * k : 5 * k + 5], x, time, gap, active)
    outputs["state_next"] = following
    outputs["watch_next"] = (time + h, hold(where(active, time, last)), left - ONE, steps - ONE)
    if missed:
        worst = _symbols("missed", 2)
        inputs["missed"] = worst
        seen = [hold(maximum(*(absolute(x) for x in missed[i : i + 6]))) for i in (0, 6)]
        outputs["missed_next"] = [
            hold(where(active, maximum(w, x), w)) for w, x in zip(worst, seen, strict=True)
        ]
        carried["missed"] = "missed_next"
    statements += writer.statements
    made = program("reduction", inputs, outputs, statements=statements)
    return repeated(made, BLOCK, carried)


def _orders(writer: Writer, path: Sequence[Expr], t: Expr, n: int, order: int) -> list[Expr]:
    """Return positions, or their derivatives, at a time since the piece began (Horner)."""
    found: list[Expr] = [ZERO] * n
    for power in reversed(range(order, 6)):
        factor = 1
        for k in range(order):
            factor *= power - k
        row = path[power * n : power * n + n]
        found = [writer.hold(factor * c + t * x) for c, x in zip(row, found, strict=True)]
    return found


def _reduced(
    writer: Writer, state: Sequence[Expr], x: Expr, time: Expr, gap: Expr, active: Expr
) -> list[Expr]:
    """Return peak, its time, integral, integral of the square, and last value after a sample."""
    hold = writer.hold
    peak, at, area, square, before = state
    higher = hold(where(active, absolute(x) > absolute(peak), ZERO))
    return [
        hold(where(higher, x, peak)),
        hold(where(higher, time, at)),
        hold(area + gap * (_HALF * (x + before))),
        hold(square + gap * (_THIRD * (x * x + x * before + before * before))),
        hold(where(active, x, before)),
    ]


def reduction_quantity(
    robot: Robot, frame: str | None, rows: Sequence[int], loads: Sequence[str], *, tool: bool
) -> Quantity:
    """Return the quantity of a block of samples of a robot."""
    kept: dict[object, Quantity] = robot.__dict__.setdefault("_task_reductions", {})
    ordered = tuple(name for name in LOADS if name in loads)
    key = (frame, ordered, tool)
    if key not in kept:
        words = f"{'tool' if tool else 'joint'} control under {', '.join(ordered) or 'no load'}"
        kept[key] = robot.quantity(
            f"statistics of {words} of {frame!r}",
            lambda tree: reduction_program(
                tree,
                [robot.spot(link) for link in robot.links],
                rows,
                None if frame is None else robot.spot(frame),
                ordered,
                tool=tool,
            ),
        )
    return kept[key]
