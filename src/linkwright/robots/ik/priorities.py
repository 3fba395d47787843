"""Rates of joints for several frames with priorities, as a Program.

Frames have levels. With J_k the rows of the frames of level k that count, and N the projection on
the null space of all levels before it,

    u_k = u_(k-1) + (J_k N)^+ (v_k - J_k u_(k-1)),

and what freedom is left after the last level goes toward the rates `aim` (Siciliano and Slotine,
A general framework for managing multiple tasks in highly redundant robotic systems, ICAR 1991).
The rows of J_k N are orthogonalized as in `rates`; N takes away the rows that were found, so a
lower level never moves a frame of a higher one, damped or not.

Damping begins where the smallest pivot of a level falls below a part `width` of its largest row,
and grows from 0 to `damping` there (Nakamura and Hanafusa 1986), so that rates are exact elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from linkwright.algebra import ONE, ZERO, Expr, constant, cos, minimum, sin, sqrt, total
from linkwright.algebra.functions import maximum, where
from linkwright.algebra.triples import (
    Matrix,
    add,
    apply,
    dot,
    held_rows,
    matrix_product,
    quaternion_matrix,
    quaternion_product,
)
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.program import Namer, Program, program
from linkwright.program.inline import inlined
from linkwright.program.repeat import repeated
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.robots.ik.inverses import Orthogonal, orthogonalized
from linkwright.robots.ik.rates import pose_errors, rate_inputs, refuse_quaternions
from linkwright.robots.kinematics import pose_and_jacobian

FRAME = {"pose": 7, "twist": 6, "acceleration": 6, "mask": 6, "tool": 6}
"""Numbers of each frame: the wanted pose (x, y, z, a unit quaternion), its twist and acceleration,
which of its six components count (0 or 1), and the tool: x, y, z and angles about x, y, z."""

SETTINGS = ("damping", "width", "threshold")
"""Greatest damping; the part of a level's largest row below which its smallest pivot is damped; the
part below which a pivot is left out."""
FEEDBACK = ("gain", "speed", "turn_speed")
"""Part of the way to the wanted pose that is gone in a second; limits of that speed."""

STEP = 2.0**-20
"""Seconds between the rates of which the difference is the acceleration."""

_HALF, _TINY, _STEP = constant(0.5), constant(1e-200), constant(STEP)


def priority_rates(tree: Tree, spots: Sequence[FixedFrame], levels: Sequence[int]) -> Program:
    """Return the Program of joint rates that follow frames with priorities.

    What is wanted of a frame is its twist and a part of the way e to the wanted pose a second,
    v + gain e, whose length is limited; what is free goes to a posture, w (posture - q) a second.

    Its inputs are `q`, for the frames one after the other those of `FRAME` but the acceleration,
    `posture`, `weights`, `moves` (n each; 1 for each joint that may move, else 0), `settings` and
    `feedback`; its outputs `rates` (n), `error` (6 a frame: the way to the wanted pose, of
    components that count) and `rank`.
    """
    refuse_quaternions(tree)
    q = tree.coordinates
    n, count = len(q), len(spots)
    sizes = {name: size * count for name, size in FRAME.items() if name != "acceleration"}
    sizes |= dict.fromkeys(("posture", "weights", "moves"), n)
    sizes |= {"settings": len(SETTINGS), "feedback": len(FEEDBACK)}
    more = {name: rate_inputs(name, size) for name, size in sizes.items()}

    def write(writer: Writer) -> Results:
        hold = writer.hold
        frames = [_frame(writer, tree, spot, i, more) for i, spot in enumerate(spots)]
        rates: list[Expr] = [ZERO] * n
        rank: list[Expr] = []
        above: list[Orthogonal] = []
        for level in sorted(set(levels)):
            here = [frame for frame, k in zip(frames, levels, strict=True) if k == level]
            rows = [row for frame in here for row in frame.rows]
            wanted = [v for frame in here for v in frame.wanted]
            masks = [m for frame in here for m in frame.mask]
            left = [hold(v - dot(row, rates)) for v, row in zip(wanted, rows, strict=True)]
            made = _level(writer, rows, masks, above, more["settings"])
            (added,) = made.solved(left)
            rates = [hold(u + x) for u, x in zip(rates, added, strict=True)]
            rank += made.live
            above.append(made)
        pull = zip(more["moves"], more["weights"], more["posture"], q, strict=True)
        free = [hold(m * w * (r - x)) for m, w, r, x in pull]
        for made in above:
            free = made.null(free)
        return {
            "rates": [hold(u + z) for u, z in zip(rates, free, strict=True)],
            "error": [e for frame in frames for e in frame.error],
            "rank": [total(rank)],
        }

    return tree.program("priority_rates", ["q"], write, more)


@dataclass(frozen=True, slots=True)
class _Frame:
    """A frame at a tick: rows of its Jacobian that count, what is wanted of them, and the error."""

    rows: list[list[Expr]]
    wanted: list[Expr]
    mask: Sequence[Expr]
    error: list[Expr]


def _own(values: Sequence[Expr], k: int, size: int) -> Sequence[Expr]:
    return values[size * k : size * k + size]


def _frame(
    writer: Writer, tree: Tree, spot: FixedFrame, k: int, given: Mapping[str, Sequence[Expr]]
) -> _Frame:
    """Return what is wanted of frame k."""
    hold = writer.hold
    pose, twist, mask, tool = (
        _own(given[name], k, FRAME[name]) for name in ("pose", "twist", "mask", "tool")
    )
    (ca, sa), (cb, sb), (cc, sc) = ((hold(cos(e)), hold(sin(e))) for e in tool[3:])
    turns: Matrix = (
        (hold(cb * cc), hold(-cb * sc), sb),
        (hold(ca * sc + sa * sb * cc), hold(ca * cc - sa * sb * sc), hold(-sa * cb)),
        (hold(sa * sc - ca * sb * cc), hold(sa * cc + ca * sb * sc), hold(ca * cb)),
    )
    place = writer.triple(add(spot.position, apply(spot.rotation, tool[:3])))
    turn = held_rows(hold, matrix_product(spot.rotation, turns))
    held = FixedFrame(spot.body, turn, place)
    at, jacobian = pose_and_jacobian(writer, tree, held, "local-world-aligned")
    rows = [
        [ZERO if x is ZERO else hold(m * s * x) for x, s in zip(row, given["moves"], strict=True)]
        for m, row in zip(mask, jacobian, strict=True)
    ]
    goal = held_rows(hold, quaternion_matrix(pose[3:]))
    gain, *most = given["feedback"]
    error: list[Expr] = []
    wanted: list[Expr] = []
    for h, way, limit in zip((0, 3), pose_errors(writer, at, pose[:3], goal), most, strict=True):
        ways = [hold(m * e) for m, e in zip(mask[h : h + 3], way, strict=True)]
        fast = hold(sqrt(total([*(e * e for e in ways), _TINY])))
        part = hold(minimum(gain, limit / fast))
        parts = zip(mask[h : h + 3], twist[h : h + 3], ways, strict=True)
        wanted += [hold(m * v + part * e) for m, v, e in parts]
        error += ways
    return _Frame(rows, wanted, mask, error)


def _level(
    writer: Writer,
    rows: Sequence[Sequence[Expr]],
    masks: Sequence[Expr],
    above: Sequence[Orthogonal],
    settings: Sequence[Expr],
) -> Orthogonal:
    """Return the rows of a level made orthogonal in the null space of those above."""
    hold = writer.hold
    damping, width, threshold = settings
    scale = hold(sqrt(_TINY + maximum(*(total(x * x for x in row) for row in rows), ZERO)))
    left = [list(row) for row in rows]
    for made in above:
        left = [made.null(row) for row in left]
    found = orthogonalized(writer, left, ZERO, threshold, scale)
    counted = hold(total(where(m > ZERO, ONE, ZERO) for m in masks))
    least: Expr = ONE
    for k in range(len(found.q)):
        part = hold(found.r[k][k] / hold(maximum(scale, threshold)))
        least = hold(where(counted > k + 0.5, minimum(least, part), least))
    near = hold(maximum(ONE - least / width, ZERO))
    return replace(found, damping=hold(damping * near), stem=f"jr{len(above)}_")


def priority_tick(tree: Tree, spots: Sequence[FixedFrame], levels: Sequence[int]) -> Program:
    """Return the Program of one tick: the rates now, and `STEP` seconds later.

    The joints move with the rates of now, and the wanted poses as they are said to. The difference
    of both rates over `STEP` is the acceleration a of the joints to five digits or more, in the
    null space too, so that J a + J' u is the rate of what is wanted of the frames. (The Program
    differentiated is five times as large, for no digits that count.)

    Its inputs are those of `priority_rates`, `acceleration` (6 a frame), and `along` (n) and
    `side`, which are 0; its outputs `rates`, `error` and `rank`, of both times.
    """
    rates = priority_rates(tree, spots, levels)
    n = len(tree.coordinates)
    given: dict[str, Sequence[Expr]] = {port.name: port.entries for port in rates.inputs}
    bend = rate_inputs("acceleration", 6 * len(spots))
    along, (side,) = rate_inputs("along", n), rate_inputs("side", 1)
    writer = Writer("priorities", prefix="a")
    hold = writer.hold
    moving: list[Expr] = []
    for k in range(len(spots)):
        pose, twist = _own(given["pose"], k, 7), _own(given["twist"], k, 6)
        spun = quaternion_product((ZERO, *twist[3:]), pose[3:])
        moving += [*twist[:3], *(_HALF * x for x in spun)]
    gone = {
        name: [hold(x + side * dx) for x, dx in zip(given[name], rate, strict=True)]
        for name, rate in {"q": along, "pose": moving, "twist": bend}.items()
    }
    statements, found = inlined(rates, {**given, **gone}, Namer(None, "pr"))
    u = found["rates"]
    turn = program(
        "velocity_ik",
        {**given, "acceleration": bend, "along": along, "side": (side,)},
        {
            **found,
            "along_next": [where(side, x, y) for x, y in zip(along, u, strict=True)],
            "side_next": [_STEP],
        },
        statements=[*writer.statements, *statements],
    )
    return repeated(
        turn, 2, {"along": "along_next", "side": "side_next"}, ["rates", "error", "rank"]
    )
