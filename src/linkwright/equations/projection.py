"""Mass matrix and right side for the independent speeds, from those of the tree.

With dependent speeds u_D = A u_I + b and their rates A u_I' + c, the tree's M and f become
Aᵀ M A and Aᵀ (f - M c). Where the tree's M and f are for the unknowns y = u' + s (the accelerations
of free bodies, rather than the rates of their speeds), c is c + s_D - A s_I, and y_I are found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linkwright.algebra import ZERO, Expr, total
from linkwright.equations.choices import Choices
from linkwright.equations.constraints import Reduction
from linkwright.equations.crba import TreeDynamics, with_armatures
from linkwright.equations.writer import Writer
from linkwright.mechanism import Kinematics


@dataclass(frozen=True, slots=True)
class ReducedDynamics:
    """Mass matrix and right side for the independent speeds, in order: M (u' + shift) = right.

    An empty `shift` is zero. Where `accelerations` are given, they are u' already; M and f may then
    be empty. `choices` are those for the bodies, where there were any.
    """

    mass: tuple[tuple[Expr, ...], ...]
    right: tuple[Expr, ...]
    shift: tuple[Expr, ...] = ()
    accelerations: tuple[Expr, ...] | None = None
    choices: Choices | None = None

    def unshifted(self) -> tuple[Expr, ...]:
        """Return f with M u' = f."""
        if not self.shift:
            return self.right
        return tuple(
            total([f, *(-m * s for m, s in zip(row, self.shift, strict=True))])
            for row, f in zip(self.mass, self.right, strict=True)
        )


Formulation = Callable[[Kinematics, Reduction, Writer], ReducedDynamics]
TreeFormulation = Callable[[Kinematics, Writer], TreeDynamics]


def unreduced(kinematics: Kinematics) -> Reduction:
    """Return the reduction that keeps all speeds of the tree."""
    return Reduction((), (), tuple(s.symbol for s in kinematics.speeds), (), (), ())


def projected(tree_formulation: TreeFormulation) -> Formulation:
    """Return the formulation for independent speeds from one for the speeds of the tree."""

    def formulation(
        kinematics: Kinematics, reduction: Reduction, writer: Writer
    ) -> ReducedDynamics:
        tree = with_armatures(kinematics, tree_formulation(kinematics, writer))
        return project(kinematics, reduction, tree, writer)

    return formulation


def project(
    kinematics: Kinematics, reduction: Reduction, tree: TreeDynamics, writer: Writer
) -> ReducedDynamics:
    """Return M and f for the independent speeds from those of the tree."""
    mass, right = _projected(kinematics, reduction, tree, writer)
    place = {s.symbol: k for k, s in enumerate(kinematics.speeds)}
    shift = tuple(tree.shift.get(place[u], ZERO) for u in reduction.independent)
    moves = any(s is not ZERO for s in shift)
    return ReducedDynamics(tuple(tuple(row) for row in mass), tuple(right), shift if moves else ())


def _projected(
    kinematics: Kinematics, reduction: Reduction, tree: TreeDynamics, writer: Writer
) -> tuple[list[list[Expr]], list[Expr]]:
    """Return M and f for the independent speeds: Aᵀ M A and Aᵀ (f - M c)."""
    speeds = [s.symbol for s in kinematics.speeds]
    place = {u: k for k, u in enumerate(speeds)}
    free = [place[u] for u in reduction.independent]
    tied = [place[u] for u in reduction.dependent]
    if not tied:
        return [[tree.mass[i][j] for j in free] for i in free], [tree.right[i] for i in free]
    m, hold = tree.mass, writer.hold
    drift = [
        hold(
            total(
                [
                    c,
                    tree.shift.get(i, ZERO),
                    *(-x * tree.shift.get(j, ZERO) for x, j in zip(row, free, strict=True)),
                ]
            )
        )
        for i, c, row in zip(tied, reduction.drift, reduction.matrix, strict=True)
    ]
    a = {(i, r): reduction.matrix[k][r] for k, i in enumerate(tied) for r in range(len(free))}
    rows = [*free, *tied]
    load = [
        hold(tree.right[i] - total(m[i][j] * c for j, c in zip(tied, drift, strict=True)))
        for i in range(len(speeds))
    ]
    half = {
        (i, r): hold(m[i][free[r]] + total(m[i][j] * a[j, r] for j in tied))
        for i in rows
        for r in range(len(free))
    }
    mass = [[ZERO] * len(free) for _ in free]
    right = []
    for r, i in enumerate(free):
        for s in range(r + 1):
            entry = half[i, s] + total(a[j, r] * half[j, s] for j in tied)
            mass[r][s] = mass[s][r] = hold(entry)
        right.append(hold(load[i] + total(a[j, r] * load[j] for j in tied)))
    return mass, right
