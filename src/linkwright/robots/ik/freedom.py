"""What joints do with the freedom that the motion of a frame leaves them: gradients to climb."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linkwright.algebra import Expr, constant, free_symbols, sqrt
from linkwright.algebra.functions import maximum
from linkwright.base.errors import InputError
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.program import Program
from linkwright.program.linear import gram
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.robots.ik.rates import kept_quantity
from linkwright.robots.kinematics import pose_and_jacobian

if TYPE_CHECKING:
    from linkwright.robots.quantity import Quantity
    from linkwright.robots.robot import Robot

_TINY = constant(1e-280)


def manipulability_program(tree: Tree, spot: FixedFrame, rows: Sequence[int]) -> Program:
    """Return the Program of sqrt(det(J J^T)), or of J^T J with fewer joints (Yoshikawa 1985)."""

    def write(writer: Writer) -> Results:
        hold = writer.hold
        _, jacobian = pose_and_jacobian(writer, tree, spot, "local-world-aligned")
        chosen = [list(jacobian[k]) for k in rows]
        if len(chosen[0]) < len(chosen):
            chosen = [list(column) for column in zip(*chosen, strict=True)]
        left = gram(hold, chosen)
        found: Expr = constant(1)
        for k, row in enumerate(left):
            pivot = hold(maximum(row[k], _TINY))
            found = hold(found * pivot)
            for i in range(k + 1, len(left)):
                share = hold(left[i][k] / pivot)
                for j in range(i, len(left)):
                    left[i][j] = left[j][i] = hold(left[i][j] - share * row[j])
        return {"manipulability": hold(sqrt(found))}

    return tree.program("manipulability", ["q"], write)


def gradient_of(robot: Robot, frame: str, rows: Sequence[int], what: str | Expr) -> Quantity:
    """Return the gradient, by the coordinates, of what freedom should make larger."""
    if what == "manipulability":
        return kept_quantity(
            robot,
            f"manipulability of {frame!r} {''.join(map(str, rows))}",
            [frame],
            lambda tree, spot: manipulability_program(tree, spot, rows),
        ).derivative("q")

    def derive(tree: Tree, _: FixedFrame) -> Program:
        value = robot.mechanism.expr(what)
        known = {x.name for x in robot.tree.coordinates} | set(robot.parameters)
        others = sorted(x.name for x in free_symbols(value) if x.name not in known)
        if others:
            raise InputError(
                f"what freedom makes larger depends on {', '.join(others)}",
                remedy=f"write it with the coordinates {', '.join(robot.coordinates)}",
            )
        return tree.program("climbed", ["q"], lambda _: {"value": value})

    return kept_quantity(robot, f"climbed {what}", [frame], derive).derivative("q")
