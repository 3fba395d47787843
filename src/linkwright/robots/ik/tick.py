"""Inverse kinematics at one tick as a Program: where the tool is, and how the joints go on.

A wanted pose moves with a twist `flow + sigma * slope` and an acceleration. With the damped inverse
of the Jacobian, J+ = J^T (J J^T + damping^2 1)^-1, joints that are nearly there go on with

    flow:  J+ flow      slope:  J+ slope      second:  J+ (acceleration - J' u)      step:  J+ e

and e the way from the tool to the wanted pose: one step of Newton's method, and the motion that
is known ahead. After a tick of h seconds they are at q + h u + h^2 a / 2 + step, so that what is
left of e is of third order in h and does not grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkwright.algebra import ZERO, Expr, as_expr, constant
from linkwright.algebra.functions import where
from linkwright.algebra.triples import (
    add,
    apply,
    conjugate,
    matrix_product,
    quaternion_product,
    subtract,
)
from linkwright.base.errors import InputError
from linkwright.base.rotations import quaternion_matrix
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.motion.chains.solver import ToolKinematics
from linkwright.program import Namer, Program
from linkwright.program.inline import inlined
from linkwright.program.linear import damped_inverse
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.robots.ik.rates import rate_inputs, refuse_quaternions
from linkwright.robots.kinematics import acceleration, pose_and_jacobian, quaternion, velocity

if TYPE_CHECKING:
    from linkwright.robots.robot import Robot

_TWO = constant(2)
_VIEW = "local-world-aligned"


def tool_kinematics(
    robot: Robot, frame: str, *, tool: Sequence[float] = (0, 0, 0, 1, 0, 0, 0)
) -> ToolKinematics:
    """Return the kinematics of a robot's tool for motions that are computed at ticks.

    Units: `tool` in m.

    >>> from linkwright.robots import Robot
    >>> arm = tool_kinematics(Robot("puma560"), Robot("puma560").frames[-1])
    >>> len(arm.joints), [port.name for port in arm.forward.outputs]
    (6, ['place', 'turn', 'twist', 'bend'])
    """
    if len(tool) != 7:
        raise InputError(
            f"the pose of a tool has 7 numbers, not {len(tool)}",
            remedy="give x, y, z and a unit quaternion w, x, y, z",
        )
    tree, spot = robot.tree, robot.spot(frame)
    place = [as_expr(float(x)) for x in tool[:3]]
    turn = [[as_expr(x) for x in row] for row in quaternion_matrix(tool[3:]).tolist()]
    held = FixedFrame(
        spot.body,
        matrix_product(spot.rotation, turn),
        add(spot.position, apply(spot.rotation, place)),
    )
    return ToolKinematics(robot.coordinates, forward_program(tree, held), tick_program(tree, held))


def forward_program(tree: Tree, spot: FixedFrame) -> Program:
    """Return the Program of a tool's motion from that of the joints.

    Its inputs are `q`, `u` and `a`; its outputs `place` (3), `turn` (a unit quaternion), `twist`
    and `bend` (6 each, linear first, in the axes of the ground): velocity and acceleration.
    """

    def write(writer: Writer) -> Results:
        at, _ = pose_and_jacobian(writer, tree, spot, _VIEW)
        rates = dict(zip(tree.speeds, tree.accelerations, strict=True))
        return {
            "place": list(at.position),
            "turn": quaternion(writer, at.rotation),
            "twist": velocity(writer, tree, spot, _VIEW),
            "bend": acceleration(writer, tree, spot, _VIEW, rates),
        }

    return tree.program("tool_forward", ["q", "u", "a"], write)


def tick_program(tree: Tree, spot: FixedFrame) -> Program:
    """Return the Program of a tick.

    Its inputs are `q`, the wanted `goal_place` (3), `goal_turn` (4), `flow`, `slope` and `second`
    (6 each, linear first, in the axes of the ground), `probe` (another twist), `sigma` and
    `damping`; its outputs the `error` (6), and of the joints `joint_flow`, `joint_slope`,
    `joint_second`, `joint_step` and `joint_probe`.
    """
    refuse_quaternions(tree)
    sizes = {"goal_place": 3, "goal_turn": 4, "flow": 6, "slope": 6, "second": 6, "probe": 6}
    sizes |= {"sigma": 1, "damping": 1}
    more = {name: rate_inputs(name, count) for name, count in sizes.items()}
    still = dict.fromkeys(tree.speeds, ZERO)
    drift = tree.program(
        "drift", ["q", "u"], lambda w: {"drift": acceleration(w, tree, spot, _VIEW, still)}
    )

    def write(writer: Writer) -> Results:
        hold = writer.hold
        at, jacobian = pose_and_jacobian(writer, tree, spot, _VIEW)
        turn = quaternion(writer, at.rotation)
        shift = [hold(x) for x in subtract(more["goal_place"], at.position)]
        # the rotation vector to the goal, which is near
        cosine, *sines = quaternion_product(more["goal_turn"], conjugate(turn))
        side = hold(where(cosine < ZERO, -_TWO, _TWO))
        error = [*shift, *(hold(side * x) for x in sines)]
        (sigma,), (damping,) = more["sigma"], more["damping"]

        def joints(*rights: Sequence[Expr]) -> list[list[Expr]]:
            namer = Namer(None, f"it{len(rights)}_")
            statements, found = damped_inverse(hold, jacobian, rights, hold(damping**2), namer)
            writer.take(statements)
            return [[hold(x) for x in rates] for rates in found]

        flow, slope, step, probe = joints(more["flow"], more["slope"], error, more["probe"])
        u = [hold(f + sigma * s) for f, s in zip(flow, slope, strict=True)]
        given = {port.name: port.entries for port in drift.inputs} | {"u": u}
        statements, found = inlined(drift, given, Namer(None, "dr"))
        writer.take(statements)
        (second,) = joints(
            [hold(a - d) for a, d in zip(more["second"], found["drift"], strict=True)]
        )
        return {
            "error": error,
            "joint_flow": flow,
            "joint_slope": slope,
            "joint_second": second,
            "joint_step": step,
            "joint_probe": probe,
        }

    return tree.program("kinematics_tick", ["q"], write, more)
