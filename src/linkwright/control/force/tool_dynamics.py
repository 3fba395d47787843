"""The tool as the joints move it: errors of its place, its acceleration, its inertia.

All vectors have six components along the flange's axes as they stand at the instant: three of the
reference point, three about the axes. With J the tool's Jacobian, M the mass matrix of the joints
and b their nonlinear effects (Khatib 1987),

    v = J u,   a = J u' + c,   Lambda = (J M^-1 J')^-1,   tau = J' Lambda (a - c) + b

are the torques with which the tool has the acceleration a of its reference point, seen from the
ground, whatever the number of joints. c is J' u for components that turn with the flange, plus
omega x v for the turning.

The error of a place is the way to the wanted reference point, and the rotation vector (axis times
angle) of the turn to the wanted axes, which holds below half a turn.

Where the Jacobian loses rank, J M^-1 J' has no inverse. The `clearance` says how near that is: the
smallest share of an axis' mobility that is left once the axes before it are held (a pivot of the
factorization). It is a share of the axis' own mobility, or of a tenth of what the most mobile of
its joints would give it if that joint moved the tool straight along it, where this is more: so an
arm that is stretched out, whose own mobility along itself is gone, is seen too. It is 0 at a
singular pose and 1 at most. Below the limit the diagonal is raised by that same measure times
(1 - clearance/limit)^2 / 100 (variable damping as Nakamura and Hanafusa 1986 have it), so that
torques stay finite and the axis that is lost gives way; above it nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwright.algebra import ZERO, Expr, free_symbols, maximum, minimum, symbol, total
from linkwright.algebra.triples import Matrix, cross, dot, matrix_product, row_products, transposed
from linkwright.control.force.ports import ForceLaw, ToolPlacement, WristOrBody
from linkwright.control.joints import PerJoint
from linkwright.control.models import inverse_dynamics, mass_matrix
from linkwright.control.servo import bounded
from linkwright.program import program
from linkwright.program.derivatives import jacobian_vector
from linkwright.program.passes.liveness import liveness
from linkwright.program.program import walk

CLEAR = 1e-3
"""The clearance from a singular pose below which a solution is damped."""

_DAMPED = 0.01
_LEAST = 1e-12  # share of an axis' measure that a pivot is taken to have at least
_POSSIBLE = 0.1  # share of what a joint could give an axis that counts as its measure
_NOTHING = 1e-12  # the least measure: of a tool that lies on the axes of all its joints


@dataclass(frozen=True, slots=True)
class ToolInertia:
    """How the tool answers to forces."""

    # J M^-1 J' of the axes that the joints move, damped where it must be
    mobility: tuple[tuple[Expr, ...], ...]
    bias: tuple[Expr, ...]  # nonlinear effects of the joints, N*m


class ToolLaw(ForceLaw):
    """A law of force that knows the tool's place and dynamics; base of those that command torques.

    Args:
        name: of the element.
        mechanism: what is driven.
        wrist: a compliant wrist, or the body that is the tool.
        joints: names of the coordinates; by default all that can be driven up to the flange.
        target: where the joints should be, rad or m.
        axes: that the joints can move; by default those that they move at all.
        values: numbers of the mechanism's parameters as the law believes them to be.
    """

    def __init__(
        self,
        name: str,
        mechanism: Any,
        wrist: WristOrBody,
        joints: Iterable[str] | None,
        target: PerJoint | None,
        *,
        axes: str | None = None,
        values: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(name, mechanism, wrist, joints, target, axes=axes)
        self.values = values
        self.wanted = self.tool_frame(self.target)
        self.tool_velocity = self.named(row_products(self.frame.jacobian, self.u))

    # -- motion ------------------------------------------------------------------------------------
    def named(self, values: Iterable[Expr]) -> list[Expr]:
        """Return partial results."""
        return [x if x.is_atom else self.intermediate(x) for x in values]

    def error(self, wanted: ToolPlacement, at: ToolPlacement) -> list[Expr]:
        """Return how far a wanted place is from another, along the axes of the latter."""
        way = [x - y for x, y in zip(wanted.position, at.position, strict=True)]
        around = self.turn_between(at.rotation, wanted.rotation)
        return self.named([*row_products(_columns(at.rotation), way), *around])

    def seen(self, six: Sequence[Expr], wanted: ToolPlacement, at: ToolPlacement) -> list[Expr]:
        """Return components along the axes of one place from those along another's."""
        turn = [self.named(row) for row in _between(at, wanted)]
        return self.named([*row_products(turn, six[:3]), *row_products(turn, six[3:])])

    def drift(self, place: ToolPlacement, q: Sequence[Expr], u: Sequence[Expr]) -> list[Expr]:
        """Return the tool's acceleration without accelerations of the joints.

        Args:
            place: the tool's, for joints at `q`.
            q: input symbols of the law.
            u: speeds of the joints.
        """
        speeds = [symbol(f"speed{k}", "input", owner="drift") for k in range(len(u))]
        moved = row_products(place.jacobian, speeds)
        own = {x for s in walk(self.statements) for x in s.targets}
        read = [x for s in walk(self.statements) for x in free_symbols(*s.operands)]
        read += free_symbols(*moved)
        known = {*q, *speeds, *own}
        rest = [x for x in dict.fromkeys(read) if x not in known]
        inputs = {"q": list(q), "u": speeds, "rest": rest}
        made = liveness(program("tool", inputs, {"v": moved}, statements=self.statements))
        tangent = jacobian_vector(made, "v", "q")
        turning = self.embed(tangent, {"u": u, "d_q": u})["d_v"]
        v = self.named(row_products(place.jacobian, u))
        carried = [*cross(v[3:], v[:3]), ZERO, ZERO, ZERO]
        return self.named(x + y for x, y in zip(turning, carried, strict=True))

    def wanted_motion(self, ahead: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        """Return velocity and acceleration of the wanted place, along the flange's axes.

        Args:
            ahead: wanted accelerations of the joints.
        """
        there = self.wanted
        velocity = self.seen(row_products(there.jacobian, self.target_rate), there, self.frame)
        drift = self.drift(there, self.target, self.target_rate)
        pushed = row_products(there.jacobian, ahead)
        rate = [x + y for x, y in zip(pushed, drift, strict=True)]
        return velocity, self.seen(rate, there, self.frame)

    # -- forces ------------------------------------------------------------------------------------
    def on_joints(self, wrench: Sequence[Expr]) -> list[Expr]:
        """Return the torques of a wrench, J' times it."""
        return self.named(row_products(_columns(self.frame.jacobian), wrench))

    def holding(self) -> list[Expr]:
        """Return the torques that hold the joints against gravity."""
        held = inverse_dynamics(self, self.by_joint(self.q), values=self.values)
        return [held[q] for q in self.joints]

    def inertia(self) -> ToolInertia:
        """Return how the tool answers to forces; say how far from a singular pose it is."""
        q, u = self.by_joint(self.q), self.by_joint(self.u)
        mass = mass_matrix(self, q, values=self.values)
        bias = inverse_dynamics(self, q, u, values=self.values)
        rows = [self.frame.jacobian[k] for k in self.moved]
        columns = self._solved([[mass[x, y] for y in self.joints] for x in self.joints], *rows)
        mobility = [[self.intermediate(dot(row, column)) for column in columns] for row in rows]
        cleared = self.cleared(mobility, self.frame, [1 / mass[x, x] for x in self.joints])
        return ToolInertia(cleared, tuple(bias[x] for x in self.joints))

    def cleared(
        self, matrix: Sequence[Sequence[Expr]], place: ToolPlacement, mobile: Sequence[Expr]
    ) -> tuple[tuple[Expr, ...], ...]:
        """Return a positive matrix that can be solved, and give the output `clearance`.

        Args:
            matrix: symmetric, without negative eigenvalues, for the axes that the joints move.
            place: of the tool, for which the matrix is.
            mobile: of each joint, its mobility by itself.
        """
        n = len(matrix)
        left = {(i, j): matrix[i][j] for i in range(n) for j in range(i + 1)}
        measures = self._measures([row[k] for k, row in enumerate(matrix)], place, mobile)
        shares = []
        for k, measure in enumerate(measures):
            pivot = self.intermediate(maximum(left[k, k], _LEAST * measure))
            shares.append(pivot / measure)
            for i in range(k + 1, n):
                factor = self.intermediate(left[i, k] / pivot)
                for j in range(k + 1, i + 1):
                    left[i, j] = self.intermediate(left[i, j] - factor * left[j, k])
        clearance = self.intermediate(_smallest(shares))
        self.output(
            "clearance", clearance, unit="1", doc="from a singular pose: 0 there, at most 1"
        )
        limit = self.parameter("clear", CLEAR, unit="1", sign="positive", lower=0.0)
        near = self.intermediate(maximum(1 - clearance / limit, 0.0))
        more = self.intermediate(_DAMPED * near**2)
        return tuple(
            tuple(
                self.intermediate(x + more * measures[i]) if i == j else x
                for j, x in enumerate(row)
            )
            for i, row in enumerate(matrix)
        )

    def _measures(
        self, diagonal: Sequence[Expr], place: ToolPlacement, mobile: Sequence[Expr]
    ) -> list[Expr]:
        """Return the mobility against which what is left of it is measured, for each axis.

        A joint that never moves the tool along an axis, as those of a gantry, has no say there.
        """
        able: dict[tuple[int, int], Expr] = {}
        for first in (0, 3):
            for j, free in enumerate(mobile):
                square = total([place.jacobian[first + k][j] ** 2 for k in range(3)])
                able[first, j] = self.intermediate(_POSSIBLE * square * free)
        found = []
        for k, own in zip(self.moved, diagonal, strict=True):
            largest = maximum(own, _NOTHING)
            for j, entry in enumerate(place.jacobian[k]):
                if entry is not ZERO:
                    largest = maximum(largest, able[3 * (k // 3), j])
            found.append(self.intermediate(largest))
        return found

    def accelerating(
        self, inertia: ToolInertia, a: Sequence[Expr], wrench: Sequence[Expr]
    ) -> list[Expr]:
        """Return the torques that give the tool an acceleration, and a wrench besides.

        Args:
            inertia: of the tool.
            a: six accelerations; those of axes that the joints cannot move do not count.
            wrench: six components that are added to those that accelerate the tool.
        """
        c = self.drift(self.frame, self.q, self.u)
        right = [self.intermediate(a[k] - c[k]) for k in self.moved]
        pushed = self.solved(inertia.mobility, right)
        whole = list(wrench)
        for k, x in zip(self.moved, pushed, strict=True):
            whole[k] = whole[k] + x
        made = self.on_joints(self.named(whole))
        return self.named(x + y for x, y in zip(made, inertia.bias, strict=True))

    def put(self, tau: Sequence[Expr], limit: PerJoint | None, acts: bool) -> None:
        """Put torques on the joints, within limits, or give them as the output `tau`.

        Args:
            tau: one for each joint.
            limit: the largest of each joint; none by default.
            acts: whether they act.
        """
        chosen = bounded(self, tau, limit, self.names_of_joints)
        if acts:
            self.efforts("tau", self.joints, chosen)
        else:
            self.output_vector("tau", chosen, doc="torques or forces of the joints")


def _columns(rows: Sequence[Sequence[Expr]]) -> list[tuple[Expr, ...]]:
    return list(zip(*rows, strict=True))


def _between(at: ToolPlacement, wanted: ToolPlacement) -> Matrix:
    """Return the rotation from the axes of a wanted place to those of another."""
    return matrix_product(transposed(at.rotation), wanted.rotation)


def _smallest(values: Sequence[Expr]) -> Expr:
    found = values[0]
    for x in values[1:]:
        found = minimum(found, x)
    return found
