"""Forces, accelerations, mass matrices and energies of a robot, as Programs.

With M(q) the mass matrix, g(q) what gravity and springs ask of the joints, and b(q, u) all that
does not depend on accelerations, the forces in the joints are

    tau = M(q) a + b(q, u),   b(q, u) = C(q, u) u + g(q) + friction.

Inverse dynamics is one recursion (Luh, Walker and Paul 1980). Forward dynamics eliminates one joint
after the other (articulated bodies, Featherstone 1983) where the robot is large, and factorizes the
mass matrix where that is cheaper or speeds depend on each other. For a free base `tau` holds, in
the places of the base's speeds, force and moment on the base link along its own axes, about its
origin.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra import ONE, ZERO, Expr, symbol, total
from linkwright.equations.aba import articulated
from linkwright.equations.choices import Choices
from linkwright.equations.projection import project, unreduced
from linkwright.equations.resistance import refuse_unresisted
from linkwright.equations.tree import TreeDynamics, composite, inverse, mass_matrix, with_armatures
from linkwright.equations.writer import Writer
from linkwright.errors import Error, InputError
from linkwright.mechanism import Mechanism
from linkwright.program import Assign, Namer, Program
from linkwright.program.factors import factors
from linkwright.program.linear import ldlt
from linkwright.robots.choices import chosen, price
from linkwright.robots.tree import Results, Tree

_LONG = 16  # speeds beyond which the mass matrix is not factorized for forward dynamics


def efforts_of(tree: Tree) -> list[Expr]:
    """Return the symbols of the forces in the joints, one for each independent speed."""
    owner = tree.kinematics.mechanism.name
    return [symbol(f"{u.name}_tau", "input", owner=owner) for u in tree.speeds]


def inverse_dynamics(tree: Tree) -> Program:
    """Return the Program of the forces `tau` that accelerations `a` take."""
    return _forces_program(tree, "inverse_dynamics", ["q", "u", "a"], tree.accelerations)


def nonlinear_effects(tree: Tree) -> Program:
    """Return the Program of the forces `tau` that no accelerations take."""
    return _forces_program(tree, "nonlinear_effects", ["q", "u"], None)


def gravity(tree: Tree) -> Program:
    """Return the Program of the forces `tau` that hold the robot still."""
    return _forces_program(tree.at_rest(), "gravity", ["q"], None)


def _forces_program(
    tree: Tree, name: str, takes: Sequence[str], given: Sequence[Expr] | None
) -> Program:
    choices = chosen(tree, lambda writer, trial: _forces(tree, writer, given, trial))
    return tree.program(name, takes, lambda w: {"tau": _forces(tree, w, given, choices)})


def _forces(
    tree: Tree, writer: Writer, given: Sequence[Expr] | None, choices: Choices
) -> list[Expr]:
    rates = tree.all_rates(writer, given)
    order = [s.symbol for s in tree.kinematics.speeds]
    forces = inverse(tree.kinematics, writer, [rates[u] for u in order], choices)
    columns = {u: [force] for u, force in zip(order, forces, strict=True)}
    return [column[0] for column in tree.on_independent(writer, columns, 1)]


def mass_matrix_of(tree: Tree) -> Program:
    """Return the Program of the mass matrix `M` of the independent speeds."""
    choices = _mass_choices(tree)
    return tree.program("mass_matrix", ["q"], lambda w: {"M": _mass(tree, w, choices)})


def _mass_choices(tree: Tree) -> Choices:
    return chosen(tree, lambda w, trial: [x for row in _mass(tree, w, trial) for x in row])


def _mass(tree: Tree, writer: Writer, choices: Choices) -> list[list[Expr]]:
    mass = mass_matrix(tree.kinematics, writer, choices)
    if tree.reduction is not None:
        none = TreeDynamics(mass, (ZERO,) * len(mass))
        mass = project(tree.kinematics, tree.reduction, none, writer).mass
    return [list(row) for row in mass]


def inverse_mass_matrix(tree: Tree) -> Program:
    """Return the Program of the inverse `W` of the mass matrix.

    With M = L D Lᵀ, eliminated from the tips inward so that L has no entries but those of M, the
    inverse N of L has an entry for each speed and those that carry it, and W = Nᵀ D⁻¹ N.
    """

    choices = _mass_choices(tree)
    _refuse_massless(tree)

    def write(writer: Writer) -> Results:
        made = factors(_mass(tree, writer, choices), Namer(None, "s"))
        writer.statements.extend(s for s in made.statements if isinstance(s, Assign))
        n, hold = len(made.order), writer.hold
        inward: dict[int, dict[int, Expr]] = {}
        for place, k in enumerate(made.order):
            entries = {k: ONE}
            for i in made.order[place + 1 :]:
                steps = [-made.lower[i, p] * x for p, x in entries.items() if (i, p) in made.lower]
                if steps:
                    entries[i] = hold(total(steps))
            inward[k] = entries
        shares = {
            k: {i: hold(x * made.reciprocals[i]) for i, x in entries.items()}
            for k, entries in inward.items()
        }
        rows = [[ZERO] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                common = [x * shares[j][k] for k, x in inward[i].items() if k in inward[j]]
                rows[i][j] = rows[j][i] = hold(total(common))
        return {"W": rows}

    return tree.program("inverse_mass_matrix", ["q"], write)


def forward_dynamics(tree: Tree) -> Program:
    """Return the Program of the accelerations `a` that forces `tau` make."""
    try:
        made = _accelerations(tree, efforts_of(tree))
    except Error:
        _refuse_massless(tree)
        _refuse_singular(tree)
        raise
    _refuse_singular(tree)
    return made


def _refuse_singular(tree: Tree) -> None:
    """Refuse a robot whose mass matrix has no inverse anywhere."""
    mechanism = tree.kinematics.mechanism
    assert isinstance(mechanism, Mechanism)
    refuse_unresisted(mechanism)


def _refuse_massless(tree: Tree) -> None:
    """Refuse a robot some of whose speeds move nothing that has mass."""
    writer = Writer(tree.kinematics.mechanism.name, tree.statements, len(tree.statements))
    mass = _mass(tree, writer, Choices())
    idle = [u.name for k, u in enumerate(tree.speeds) if mass[k][k] is ZERO]
    if idle:
        raise InputError(
            f"nothing that has mass moves with {', '.join(idle)}, so no acceleration can be found",
            remedy="give the links that move mass and inertia, or lock the joint",
        )


def _accelerations(tree: Tree, efforts: Sequence[Expr]) -> Program:
    ways = [_by_elimination, _by_factors]
    if tree.reduction is not None:
        ways = [_by_factors]
    elif len(efforts) > _LONG:
        ways = [_by_elimination]
    way = ways[0]
    if len(ways) > 1:
        way = min(ways, key=lambda one: price(tree, lambda w, c: one(tree, w, efforts, c)))
    choices = chosen(tree, lambda writer, trial: way(tree, writer, efforts, trial))
    return tree.program(
        "forward_dynamics",
        ["q", "u"],
        lambda writer: {"a": way(tree, writer, efforts, choices)},
        {"tau": efforts},
    )


def _by_elimination(
    tree: Tree, writer: Writer, efforts: Sequence[Expr], choices: Choices
) -> list[Expr]:
    """Return accelerations by articulated bodies."""
    return list(articulated(tree.kinematics, writer, choices, efforts=efforts))


def _by_factors(
    tree: Tree, writer: Writer, efforts: Sequence[Expr], choices: Choices
) -> list[Expr]:
    """Return accelerations by the factors of the mass matrix."""
    reduction = tree.reduction or unreduced(tree.kinematics)
    made = with_armatures(tree.kinematics, composite(tree.kinematics, writer, choices))
    reduced = project(tree.kinematics, reduction, made, writer)
    right = [f + tau for f, tau in zip(reduced.right, efforts, strict=True)]
    statements, solutions = ldlt(reduced.mass, [right], Namer(None, "s"))
    writer.statements.extend(statements)
    if not reduced.shift:
        return solutions[0]
    return [a - s for a, s in zip(solutions[0], reduced.shift, strict=True)]
