"""All that a tick of a whole-body controller needs of a robot and its tasks, as one Program.

Mass matrix, nonlinear effects, contact points, and the rows A a = b of tasks share most of their
subexpressions; written together, they are one call and the optimizer sees them all. Targets and
gains are inputs, so that one Program serves all controllers with the same contacts and tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.algebra import ZERO, Expr, as_expr, symbol
from linkwright.algebra.triples import (
    Triple,
    add,
    apply,
    cross,
    matrix_product,
    subtract,
    transposed,
)
from linkwright.base.fingerprint import fingerprint
from linkwright.blocks.rotation_vectors import rotation_vector
from linkwright.equations.kernels import mass_and_effects
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.robots import kinematics, momentum
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.wholebody.contacts import FlatContact

if TYPE_CHECKING:
    from linkwright.robots.quantity import Quantity
    from linkwright.robots.robot import Robot

Array = np.ndarray[Any, np.dtype[np.float64]]
_SEEN = "local-world-aligned"
_ROW = list[Expr]

Plan = tuple[tuple[str, tuple[int, ...] | str], ...]
"""Of each task its kind, and its frame (or, of a posture, places of coordinates and speeds)."""
OUTPUTS = ("M", "h", "J", "drift", "slow", "A", "b")
"""Mass matrix and nonlinear effects; of all contact points Jacobian, J' u, and the rates in which
they come to rest (J' u left out); of all tasks the rows."""


def target_size(kind: str, rows: int) -> int:
    """Return how many numbers say what a task asks for: rates and accelerations beside places."""
    return {"position": 9, "center": 9, "orientation": 9, "pose": 18, "momentum": 0}.get(kind, rows)


def terms_of(robot: Robot, contacts: Sequence[FlatContact], plan: Plan) -> Quantity:
    """Return the function of coordinates, speeds, targets and gains that gives `OUTPUTS`.

    Gains are 1 / settling, then kp and kd of each task.
    """
    named = [*(c.frame for c in contacts), *(x for _, x in plan if isinstance(x, str) and x)]
    spots = {name: robot.spot(name) for name in dict.fromkeys(named)}

    def derive(tree: Tree) -> Any:
        dynamics = mass_and_effects(tree)
        counts = [target_size(kind, rows_in(kind, of)) for kind, of in plan]
        target = [symbol(f"target{k}", "input") for k in range(max(sum(counts), 1))]
        gain = [symbol(f"gain{k}", "input") for k in range(1 + 2 * len(plan))]

        def write(writer: Writer) -> Results:
            results: dict[str, Any] = dict(dynamics(writer))
            terms = _Terms(writer, tree)
            results |= terms.contacts(
                [(spots[c.frame], np.asarray(c.points, dtype=float)) for c in contacts], gain[0]
            )
            A, b, at = [], [], 0
            for k, (kind, of) in enumerate(plan):
                wanted = target[at : at + counts[k]]
                at += counts[k]
                place = spots[of] if isinstance(of, str) and of else of
                rows, values = terms.task(kind, place, wanted, gain[1 + 2 * k], gain[2 + 2 * k])
                A += rows
                b += values
            n = len(tree.speeds)
            return results | {"A": A or [[ZERO] * n], "b": b or [ZERO]}

        more = {"target": target, "gain": gain}
        return tree.program("whole_body", ["q", "u"], write, more)

    points = [(c.frame, np.asarray(c.points, dtype=float).tolist()) for c in contacts]
    name = f"whole body {points} {plan} {fingerprint('wholebody')}"
    if name not in robot.kept:
        robot.kept[name] = robot.quantity(name, derive)
    return robot.kept[name]


def rows_in(kind: str, of: tuple[int, ...] | str) -> int:
    """Return how many rows a task has."""
    return len(of) // 2 if kind == "posture" else 6 if kind == "pose" else 3


class _Terms:
    """Writes rows of contacts and tasks."""

    def __init__(self, writer: Writer, tree: Tree) -> None:
        self.writer, self.tree = writer, tree
        self.rates = tree.all_rates(writer)

    def contacts(self, spots: Sequence[tuple[FixedFrame, Array]], slowing: Expr) -> Results:
        """Return Jacobian, J' u and slowing rates of the points of contacts.

        Points that turn about each other cannot all be without w x (w x r), with r from the first.
        """
        writer, tree = self.writer, self.tree
        J: list[_ROW] = []
        drift: _ROW = []
        slow: _ROW = []
        for spot, points in spots:
            first: Triple | None = None
            for point in points:
                at = _moved(spot, point)
                stance, rows = kinematics.pose_and_jacobian(writer, tree, at, _SEEN)
                moving = kinematics.velocity(writer, tree, at, _SEEN)
                first = first or stance.position
                arm = writer.triple(subtract(stance.position, first))
                w = (moving[3], moving[4], moving[5])
                inward = cross(w, writer.triple(cross(w, arm)))
                late = kinematics.acceleration(writer, tree, at, _SEEN, self.rates)[:3]
                J += rows[:3]
                drift += late
                slow += [
                    i - v * slowing - x for i, v, x in zip(inward, moving[:3], late, strict=True)
                ]
        if not J:
            J, drift, slow = [[ZERO] * len(tree.speeds)], [ZERO], [ZERO]
        return {"J": J, "drift": drift, "slow": slow}

    def task(
        self, kind: str, of: Any, target: Sequence[Expr], kp: Expr, kd: Expr
    ) -> tuple[list[_ROW], _ROW]:
        """Return the rows of one task."""
        writer, tree = self.writer, self.tree
        speeds = tree.speeds
        if kind == "force":
            return [[ZERO] * len(speeds)] * 3, list(target)
        if kind == "posture":
            half = len(of) // 2
            rows = [[as_expr(int(j == u)) for j in range(len(speeds))] for u in of[half:]]
            pairs = zip(of[:half], of[half:], target, strict=True)
            return rows, [kp * (x - tree.coordinates[q]) - kd * speeds[u] for q, u, x in pairs]
        if kind == "momentum":
            A = momentum.centroidal_matrix(writer, tree)[1][3:]
            turning, late = momentum.centroidal_momentum(writer, tree, self.rates)
            return A, [-kp * h - x for h, x in zip(turning[3:], late[3:], strict=True)]
        if kind == "center":
            middle, J = momentum.mass_center_jacobian(writer, tree)
            below = 1 / momentum.gather(writer, tree, second=False).mass
            h, push = momentum.centroidal_momentum(writer, tree, self.rates)
            speed, late = ([below * x for x in y[:3]] for y in (h, push))
            return J, _followed(target, middle, speed, late, kp, kd)
        at, J = kinematics.pose_and_jacobian(writer, tree, of, _SEEN)
        moving = kinematics.velocity(writer, tree, of, _SEEN)
        late = kinematics.acceleration(writer, tree, of, _SEEN, self.rates)
        rows, values = [], []
        if kind != "orientation":
            rows += J[:3]
            values += _followed(target[:9], at.position, moving[:3], late[:3], kp, kd)
        if kind != "position":
            own, turn = target[-9:], transposed(at.rotation)
            turned = matrix_product([own[:3], own[3:6], own[6:]], turn)
            error = rotation_vector(turned, writer.hold)
            rows += J[3:]
            values += [
                kp * e - kd * w - x for e, w, x in zip(error, moving[3:], late[3:], strict=True)
            ]
        return rows, values


def _followed(
    target: Sequence[Expr],
    place: Sequence[Expr],
    speed: Sequence[Expr],
    late: Sequence[Expr],
    kp: Expr,
    kd: Expr,
) -> _ROW:
    """Return the acceleration that takes a place to its target."""
    return [
        target[6 + i] + kd * (target[3 + i] - speed[i]) + kp * (target[i] - place[i]) - late[i]
        for i in range(3)
    ]


def _moved(spot: FixedFrame, point: Array) -> FixedFrame:
    """Return the frame moved to a point that is given in it."""
    x, y, z = (as_expr(float(v)) for v in point)
    return FixedFrame(spot.body, spot.rotation, add(spot.position, apply(spot.rotation, (x, y, z))))
