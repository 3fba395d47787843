"""Mass matrix and right side for the independent speeds, from those of the tree.

With dependent speeds u_D = A u_I + b and their rates A u_I' + c, the tree's M and f become
Aᵀ M A and Aᵀ (f - M c).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linkwright.algebra import ZERO, Expr, total
from linkwright.equations.constraints import Reduction
from linkwright.equations.tree import TreeDynamics, with_armatures
from linkwright.equations.writer import Writer
from linkwright.mechanism import Kinematics


@dataclass(frozen=True, slots=True)
class ReducedDynamics:
    """Mass matrix and right side for the independent speeds, in order."""

    mass: tuple[tuple[Expr, ...], ...]
    right: tuple[Expr, ...]


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
        mass, right = _projected(kinematics, reduction, tree, writer)
        return ReducedDynamics(tuple(tuple(row) for row in mass), tuple(right))

    return formulation


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
    a = {(i, r): reduction.matrix[k][r] for k, i in enumerate(tied) for r in range(len(free))}
    rows = [*free, *tied]
    load = [
        hold(tree.right[i] - total(m[i][j] * c for j, c in zip(tied, reduction.drift, strict=True)))
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
