"""Forces, accelerations, mass matrices and energies of a robot, as Programs.

With M(q) the mass matrix, g(q) what gravity and springs ask of the joints, and b(q, u) all that
does not depend on accelerations, the forces in the joints are

    tau = M(q) a + b(q, u),   b(q, u) = C(q, u) u + g(q) + friction.

Inverse dynamics is one recursion (Luh, Walker and Paul 1980). Forward dynamics eliminates one joint
after the other (articulated bodies, Featherstone 1983) where the robot is large, and factorises the
mass matrix where it is small or has dependent speeds. For a free base `tau` holds, in the places of
the base's speeds, force and moment on the base link along its own axes, about its origin.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra import ONE, ZERO, Expr, symbol
from linkwright.equations.articulated import articulated
from linkwright.equations.projection import project, unreduced
from linkwright.equations.tree import TreeDynamics, composite, inverse, mass_matrix, with_armatures
from linkwright.equations.writer import Writer
from linkwright.program import Namer, Program
from linkwright.program.linear import ldlt
from linkwright.robots.tree import Results, Tree

_SHORT = 6  # speeds up to which the mass matrix is factorised for forward dynamics


def efforts_of(tree: Tree) -> list[Expr]:
    """Return the symbols of the forces in the joints, one for each independent speed."""
    owner = tree.kinematics.mechanism.name
    return [symbol(f"{u.name}_tau", "input", owner=owner) for u in tree.speeds]


def inverse_dynamics(tree: Tree) -> Program:
    """Return the Program of the forces `tau` that accelerations `a` take.

    Args:
        tree: of the robot.
    """
    return tree.program(
        "inverse_dynamics",
        ["q", "u", "a"],
        lambda writer: {"tau": _forces(tree, writer, tree.accelerations)},
    )


def bias(tree: Tree) -> Program:
    """Return the Program of the forces `tau` that no accelerations take.

    Args:
        tree: of the robot.
    """
    return tree.program("bias", ["q", "u"], lambda writer: {"tau": _forces(tree, writer, None)})


def gravity(tree: Tree) -> Program:
    """Return the Program of the forces `tau` that hold the robot still.

    Args:
        tree: of the robot.
    """
    still = tree.at_rest()
    return still.program("gravity", ["q"], lambda writer: {"tau": _forces(still, writer, None)})


def _forces(tree: Tree, writer: Writer, given: Sequence[Expr] | None) -> list[Expr]:
    rates = tree.all_rates(writer, given)
    order = [s.symbol for s in tree.kinematics.speeds]
    forces = inverse(tree.kinematics, writer, [rates[u] for u in order])
    columns = {u: [force] for u, force in zip(order, forces, strict=True)}
    return [column[0] for column in tree.on_independent(writer, columns, 1)]


def mass_matrix_of(tree: Tree) -> Program:
    """Return the Program of the mass matrix `M` of the independent speeds.

    Args:
        tree: of the robot.
    """
    return tree.program("mass_matrix", ["q"], lambda writer: {"M": _mass(tree, writer)})


def _mass(tree: Tree, writer: Writer) -> list[list[Expr]]:
    mass = mass_matrix(tree.kinematics, writer)
    if tree.reduction is not None:
        none = TreeDynamics(mass, (ZERO,) * len(mass))
        mass = project(tree.kinematics, tree.reduction, none, writer).mass
    return [list(row) for row in mass]


def inverse_mass_matrix(tree: Tree) -> Program:
    """Return the Program of the inverse `W` of the mass matrix.

    Args:
        tree: of the robot.
    """

    def write(writer: Writer) -> Results:
        mass = _mass(tree, writer)
        n = len(mass)
        sides = [[ONE if i == k else ZERO for i in range(n)] for k in range(n)]
        statements, columns = ldlt(mass, sides, Namer(None, "s"))
        writer.statements.extend(statements)
        return {"W": [[columns[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]}

    return tree.program("inverse_mass_matrix", ["q"], write)


def forward_dynamics(tree: Tree) -> Program:
    """Return the Program of the accelerations `a` that forces `tau` make.

    Args:
        tree: of the robot.
    """
    efforts = efforts_of(tree)

    def write(writer: Writer) -> Results:
        if tree.reduction is None and len(efforts) > _SHORT:
            return {"a": list(articulated(tree.kinematics, writer, efforts=efforts))}
        reduction = tree.reduction or unreduced(tree.kinematics)
        made = with_armatures(tree.kinematics, composite(tree.kinematics, writer))
        reduced = project(tree.kinematics, reduction, made, writer)
        right = [f + tau for f, tau in zip(reduced.right, efforts, strict=True)]
        statements, solutions = ldlt(reduced.mass, [right], Namer(None, "s"))
        writer.statements.extend(statements)
        if not reduced.shift:
            return {"a": solutions[0]}
        return {"a": [a - s for a, s in zip(solutions[0], reduced.shift, strict=True)]}

    return tree.program("forward_dynamics", ["q", "u"], write, {"tau": efforts})
