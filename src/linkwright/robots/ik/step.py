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

from linkwright.algebra import ZERO, Expr, constant, maximum, minimum, sqrt, total
from linkwright.algebra.triples import dot
from linkwright.base.errors import InputError
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.program import Namer, Program
from linkwright.program.linear import damped_inverse
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.robots.ik.rates import has_quaternions, pose_errors, rate_inputs
from linkwright.robots.kinematics import pose_and_jacobian

_HALF = constant(0.5)


def step_program(tree: Tree, *spots: FixedFrame) -> Program:
    """Return the Program of one step for a frame, or for several at once.

    Its inputs are `q`, `target` (rows of a 3 x 4 pose), `weights` (6), both for one frame after
    the other, `posture` and `pull` (toward it), `lower`, `upper`, `damping`; its outputs `next`
    (the coordinates after the step), `error` (m) and `turn` (rad) before it, of all frames.
    """
    if has_quaternions(tree):
        raise InputError(
            "inverse kinematics moves joints with one degree of freedom each, and here are others",
            remedy="fix the base, and use angles in place of quaternions",
        )
    q = tree.coordinates
    sizes = {"target": 12 * len(spots), "weights": 6 * len(spots)}
    sizes |= dict.fromkeys(("posture", "pull", "lower", "upper"), len(q)) | {"damping": 1}
    more = {name: rate_inputs(name, count) for name, count in sizes.items()}

    def write(writer: Writer) -> Results:
        hold = writer.hold
        error: list[Expr] = []
        rows: list[list[Expr]] = []
        for k, spot in enumerate(spots):
            at, jacobian = pose_and_jacobian(writer, tree, spot, "local-world-aligned")
            target = more["target"][12 * k : 12 * k + 12]
            turned = [target[i : i + 3] for i in (0, 4, 8)]
            shift, turn = pose_errors(writer, at, target[3::4], turned)
            own = more["weights"][6 * k : 6 * k + 6]
            error += [hold(w * e) for w, e in zip(own, [*shift, *turn], strict=True)]
            rows += [
                [hold(w * x) if x is not ZERO else ZERO for x in row]
                for w, row in zip(own, jacobian, strict=True)
            ]
        pulls = zip(more["pull"], more["posture"], q, strict=True)
        posture = [hold(p * (r - x)) for p, r, x in pulls]
        left = [hold(e - dot(row, posture)) for e, row in zip(error, rows, strict=True)]
        level = hold(_HALF * total(e**2 for e in error) + more["damping"][0])
        statements, (step,) = damped_inverse(hold, rows, [left], level, Namer(None, "ik"))
        writer.take(statements)
        moved = zip(q, posture, step, more["lower"], more["upper"], strict=True)
        sizes = [[e**2 for k, e in enumerate(error) if k % 6 // 3 == half] for half in (0, 1)]
        return {
            "next": [
                minimum(maximum(x + hold(p + dx), low), high) for x, p, dx, low, high in moved
            ],
            "error": [sqrt(total(sizes[0]))],
            "turn": [sqrt(total(sizes[1]))],
        }

    return tree.program("ik_step", ["q"], write, more)
