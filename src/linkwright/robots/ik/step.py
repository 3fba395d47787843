"""One step of inverse kinematics as a Program: pose, Jacobian, error, damped solution, limits.

The step solves, with the weighted Jacobian J and error e of the frame's pose,

    dq = n + J^T (J J^T + l 1)^-1 (e - J n),    n = w (rest - q)

which moves the frame by e as far as it can, and otherwise toward a rest posture in the null space
(SL's technical report, section 3.7, as its digest corrects it). The damping l is half the squared
error, as in Sugihara's method of Levenberg and Marquardt (IEEE Trans. Robotics 27, 2011), plus a
little: far from the goal and in singular poses steps stay short, near the goal they are Newton's.
The error of orientation is the rotation vector from the frame to the goal. Several frames at once
are one step with their rows of J and e one below the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra import ZERO, Expr, atan2, constant, maximum, minimum, sqrt, symbol, total
from linkwright.algebra.triples import Matrix, dot, subtract, transposed
from linkwright.base.errors import InputError
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.program import Namer, Program
from linkwright.program.linear import gram, ldlt
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.robots.kinematics import Stance, pose_and_jacobian

_OWNER = "inverse kinematics"
_TINY = constant(1e-300)
_HALF = constant(0.5)


def _inputs(name: str, count: int) -> tuple[Expr, ...]:
    return tuple(symbol(f"{name}[{k}]", "input", owner=_OWNER) for k in range(count))


def step_program(tree: Tree, *spots: FixedFrame) -> Program:
    """Return the Program of one step for a frame, or for several at once.

    Its inputs are `q`, `target` (rows of a 3 x 4 pose), `weights` (6), both for one frame after
    the other, `posture` and `pull` (toward it), `lower`, `upper`, `damping`; its outputs `next`
    (the coordinates after the step), `error` (m) and `turn` (rad) before it, of all frames.
    """
    q = tree.coordinates
    n = len(q)
    if n != len(tree.speeds) or any(tree.kinematics.rates[x] not in set(tree.speeds) for x in q):
        raise InputError(
            "inverse kinematics moves joints with one degree of freedom each, and here are others",
            remedy="fix the base, and use angles in place of quaternions",
        )
    target, weights = _inputs("target", 12 * len(spots)), _inputs("weights", 6 * len(spots))
    rest, pull = _inputs("rest", n), _inputs("pull", n)
    lower, upper = _inputs("lower", n), _inputs("upper", n)
    (damping,) = _inputs("damping", 1)
    more = {
        "target": target,
        "weights": weights,
        "posture": rest,
        "pull": pull,
        "lower": lower,
        "upper": upper,
        "damping": (damping,),
    }

    def write(writer: Writer) -> Results:
        error: list[Expr] = []
        rows: list[list[Expr]] = []
        for k, spot in enumerate(spots):
            at, jacobian = pose_and_jacobian(writer, tree, spot, "local-world-aligned")
            shift, turn = pose_errors(writer, at, target[12 * k : 12 * k + 12])
            own = weights[6 * k : 6 * k + 6]
            error += [writer.hold(w * e) for w, e in zip(own, [*shift, *turn], strict=True)]
            rows += [
                [writer.hold(w * x) if x is not ZERO else ZERO for x in row]
                for w, row in zip(own, jacobian, strict=True)
            ]
        posture = [writer.hold(p * (r - x)) for p, r, x in zip(pull, rest, q, strict=True)]
        step = _damped(writer, rows, error, posture, damping)
        moved = [
            minimum(maximum(x + dx, low), high)
            for x, dx, low, high in zip(q, step, lower, upper, strict=True)
        ]
        positions = [e for k, e in enumerate(error) if k % 6 < 3]
        turns = [e for k, e in enumerate(error) if k % 6 >= 3]
        return {
            "next": moved,
            "error": [sqrt(_squares(positions))],
            "turn": [sqrt(_squares(turns))],
        }

    return tree.program("ik_step", ["q"], write, more)


def _squares(v: Sequence[Expr]) -> Expr:
    return total(x**2 for x in v)


def pose_errors(
    writer: Writer, at: Stance, target: Sequence[Expr]
) -> tuple[list[Expr], list[Expr]]:
    """Return the way to the goal, m, and the rotation vector to it, rad, in the world's axes."""
    rows = [target[4 * i : 4 * i + 3] for i in range(3)]
    shift = subtract([target[3], target[7], target[11]], at.position)
    goal: Matrix = (
        (rows[0][0], rows[0][1], rows[0][2]),
        (rows[1][0], rows[1][1], rows[1][2]),
        (rows[2][0], rows[2][1], rows[2][2]),
    )
    now, wanted = transposed(at.rotation), transposed(goal)  # columns: the axes of both frames
    sines = [
        writer.hold(
            _HALF * total(a[i] * b[j] - a[j] * b[i] for a, b in zip(now, wanted, strict=True))
        )
        for i, j in ((1, 2), (2, 0), (0, 1))
    ]
    cosine = writer.hold(_HALF * (total(dot(a, b) for a, b in zip(now, wanted, strict=True)) - 1))
    size = writer.hold(sqrt(total([*(s**2 for s in sines), _TINY])))
    factor = writer.hold(atan2(size, cosine) / size)
    return [writer.hold(x) for x in shift], [writer.hold(factor * s) for s in sines]


def _damped(
    writer: Writer,
    rows: Sequence[Sequence[Expr]],
    error: Sequence[Expr],
    posture: Sequence[Expr],
    damping: Expr,
) -> list[Expr]:
    """Return the damped solution that goes on toward a posture in the null space."""
    left = [writer.hold(e - dot(row, posture)) for e, row in zip(error, rows, strict=True)]
    level = writer.hold(_HALF * _squares(error) + damping)
    matrix = gram(writer.hold, rows, level)
    statements, (solution,) = ldlt(matrix, [left], Namer(None, "ik"))
    for statement in statements:
        writer.assign(statement.target, statement.value)
    columns = zip(*rows, strict=True)
    return [
        writer.hold(p + dot(column, solution)) for p, column in zip(posture, columns, strict=True)
    ]
