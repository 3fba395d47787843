"""Programs of inverse and forward dynamics, mass matrices and nonlinear effects.

With M(q) the mass matrix, g(q) what gravity and springs ask of the joints, and b(q, u) the
nonlinear effects, all that does not depend on accelerations, the forces in the joints are

    tau = M(q) a + b(q, u),   b(q, u) = C(q, u) u + g(q) + friction.

Inverse dynamics is one recursion (RNEA) with the accelerations as inputs, never M times them less
f. Forward dynamics eliminates one joint after the other (ABA) where the mechanism is large, and
factorizes the mass matrix (CRBA) where that is cheaper or speeds depend on each other. Where speeds
are eliminated, the dependent accelerations follow from the independent ones, and the forces are
projected on the independent speeds. For a free base `tau` holds, in the places of the base's
speeds, force and moment on the base link along its own axes, about its origin.

A smallest Program that ships is taken where it belongs to the mechanism
(`linkwright.equations.shipped`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from linkwright.algebra import ONE, ZERO, Expr, as_expr, symbol, total
from linkwright.base.errors import Error, InputError
from linkwright.equations.aba import articulated
from linkwright.equations.choices import Choices
from linkwright.equations.crba import TreeDynamics, composite, mass_matrix, with_armatures
from linkwright.equations.equations import Equations
from linkwright.equations.looped import looped_forces
from linkwright.equations.projection import project, unreduced
from linkwright.equations.repeated_bodies import plan
from linkwright.equations.resistance import refuse_unresisted
from linkwright.equations.rnea import inverse
from linkwright.equations.search import Search, reduced_by, remembered, weight
from linkwright.equations.shipped import shipped_program, ships
from linkwright.equations.tree import Results, Tree, tree_from
from linkwright.equations.writer import Writer
from linkwright.mechanism import Mechanism
from linkwright.program import Assign, Namer, Program
from linkwright.program.factors import factors
from linkwright.program.linear import ldlt

KERNELS = ("forward", "inverse", "mass")

_LONG = 16  # speeds beyond which the mass matrix is not factorized for forward dynamics
_FIRST = 9_000  # operations counted in all trials where a first result should not have to wait

Roots = Callable[[Writer, Choices], Sequence[Expr]]


# -- kernels of equations --------------------------------------------------------------------------
def kernel_program(equations: Equations, kernel: str) -> Program:
    """Return one of the `KERNELS` of a mechanism as a Program.

    >>> from linkwright.models import load_model
    >>> e = __import__("linkwright.equations", fromlist=["derive"]).derive(
    ...     load_model("pendulum")
    ... )
    >>> [port.name for port in kernel_program(e, "inverse").inputs]
    ['q', 'u', 'a', 'p']
    """
    if kernel not in KERNELS:
        raise InputError(f"there is no kernel {kernel!r}; there are {', '.join(KERNELS)}")
    if kernel == "inverse":
        return inverse_dynamics_program(equations)
    return mass_matrix_program(equations) if kernel == "mass" else equations.program(outputs=False)


def inverse_dynamics_program(equations: Equations, choices: Choices | None = None) -> Program:
    """Return the Program of the forces that accelerations take: `tau` = M a - f.

    Its input `a` holds the rates of the independent speeds. The model's inputs count as zero, so
    that with joint torques as inputs `tau` is what they must be; the other loads act.
    """
    tree = tree_from(equations)
    given = tree.accelerations
    if choices is None:
        choices = searched_choices(tree, "inverse", lambda w, trial: forces(tree, w, given, trial))
    return _inverse(tree, choices)


def mass_matrix_program(equations: Equations, choices: Choices | None = None) -> Program:
    """Return the Program of the mass matrix of the independent speeds, `M`."""
    tree = tree_from(equations)
    if choices is None:
        choices = searched_choices(tree, "mass", lambda w, trial: _flat(_mass(tree, w, trial)))
    name = f"{equations.mechanism.name}_mass"
    return tree.program(name, ["q", "u"], lambda w: {"M": _mass(tree, w, choices)})


def searched_choices(tree: Tree, kind: str, roots: Roots, *, budget: int | None = None) -> Choices:
    """Return choices for the bodies with which some expressions need few operations.

    With a budget, what pays most often is tried first, and no more operations are counted than it.
    """
    if tree.looped:
        return Choices()

    def search() -> Choices:
        if budget is None:
            return Search(tree.kinematics, _price(tree, roots)).best()
        as_written = _price(replace(tree, values=None), roots)
        return Search(tree.kinematics, as_written, budget=budget).first()

    given = reduced_by(tree.reduction or unreduced(tree.kinematics), tree.statements)
    for x, value in (tree.values or {}).items():
        given += [x, as_expr(value)]
    return remembered(f"{kind} {budget}", tree.kinematics, given, search)


def _price(tree: Tree, roots: Roots) -> Callable[[Choices], int]:
    """Return the function that counts operations with the known values put in."""
    start, names = tree.writer(), dict[Expr, Expr]()

    def price(choices: Choices) -> int:
        def write(writer: Writer) -> Results:
            return {"roots": list(roots(writer, choices))}

        statements, found = tree.settled(start.trial(names), write)
        return weight((s for s in statements if isinstance(s, Assign)), found["roots"])

    return price


# -- forces ----------------------------------------------------------------------------------------
def inverse_dynamics(tree: Tree) -> Program:
    """Return the Program of the forces `tau` that accelerations `a` take (RNEA)."""
    shipped = _shipped_inverse(tree)
    if shipped is not None:
        return shipped
    return _forces_program(tree, "inverse_dynamics", ["q", "u", "a"], tree.accelerations)


def _shipped_inverse(tree: Tree) -> Program | None:
    """Return the smallest Program that ships, with the numbers of the tree put in."""
    if not ships(_inverse_name(tree)):
        return None
    found = shipped_program(quick_inverse(tree))
    if found is None:
        return None

    def write(writer: Writer) -> Results:
        writer.take(found.statements)
        return {"tau": list(found.port("tau").entries)}

    return replace(tree, statements=()).program("inverse_dynamics", ["q", "u", "a"], write)


def quick_inverse(tree: Tree) -> Program:
    """Return inverse dynamics of symbols alone, without a search: which find shipped ones."""
    silent = dict.fromkeys(tree.kinematics.mechanism.inputs.values(), 0.0)
    return _inverse(replace(tree, values=silent), Choices())


def _inverse(tree: Tree, choices: Choices) -> Program:
    def write(writer: Writer) -> Results:
        return {"tau": forces(tree, writer, tree.accelerations, choices)}

    return tree.program(_inverse_name(tree), ["q", "u", "a"], write)


def _inverse_name(tree: Tree) -> str:
    return f"{tree.kinematics.mechanism.name}_inverse"


def nonlinear_effects(tree: Tree) -> Program:
    """Return the Program of the nonlinear effects: the forces `tau` that no accelerations take."""
    return _forces_program(tree, "nonlinear_effects", ["q", "u"], None)


def gravity(tree: Tree) -> Program:
    """Return the Program of the forces `tau` that hold the mechanism still."""
    return _forces_program(tree.at_rest(), "gravity", ["q"], None)


def _forces_program(
    tree: Tree, name: str, takes: Sequence[str], given: Sequence[Expr] | None
) -> Program:
    choices = searched_choices(
        tree, name, lambda writer, trial: forces(tree, writer, given, trial), budget=_FIRST
    )
    return tree.program(name, takes, lambda w: {"tau": forces(tree, w, given, choices)})


def forces(
    tree: Tree, writer: Writer, given: Sequence[Expr] | None, choices: Choices
) -> list[Expr]:
    """Return the forces that rates of the independent speeds take; none: nonlinear effects."""
    if tree.looped:
        items = plan(tree.kinematics, without=tuple(tree.kinematics.mechanism.inputs.values()))
        return list(looped_forces(tree.kinematics, writer, given or (), items))
    rates = tree.all_rates(writer, given)
    order = [s.symbol for s in tree.kinematics.speeds]
    found = inverse(tree.kinematics, writer, [rates[u] for u in order], choices)
    columns = {u: [force] for u, force in zip(order, found, strict=True)}
    return [column[0] for column in tree.on_independent(writer, columns, 1)]


# -- mass matrix -----------------------------------------------------------------------------------
def mass_matrix_of(tree: Tree) -> Program:
    """Return the Program of the mass matrix `M` of the independent speeds (CRBA)."""
    choices = _mass_choices(tree)
    return tree.program("mass_matrix", ["q"], lambda w: {"M": _mass(tree, w, choices)})


def _mass_choices(tree: Tree) -> Choices:
    return searched_choices(
        tree, "mass", lambda w, trial: _flat(_mass(tree, w, trial)), budget=_FIRST
    )


def _flat(rows: Sequence[Sequence[Expr]]) -> list[Expr]:
    return [x for row in rows for x in row]


def _mass(tree: Tree, writer: Writer, choices: Choices) -> list[list[Expr]]:
    mass = mass_matrix(tree.kinematics, writer, choices)
    if tree.reduction is not None:
        none = TreeDynamics(mass, (ZERO,) * len(mass))
        mass = project(tree.kinematics, tree.reduction, none, writer).mass
    return [list(row) for row in mass]


def mass_and_effects(tree: Tree) -> Callable[[Writer], Results]:
    """Return what writes the mass matrix `M` and the nonlinear effects `h` in a larger Program."""
    mass = _mass_choices(tree)
    choices = searched_choices(
        tree, "nonlinear_effects", lambda w, trial: forces(tree, w, None, trial), budget=_FIRST
    )
    return lambda w: {"M": _mass(tree, w, mass), "h": forces(tree, w, None, choices)}


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


# -- accelerations ---------------------------------------------------------------------------------
def efforts_of(tree: Tree) -> list[Expr]:
    """Return the symbols of the forces in the joints, one for each independent speed."""
    owner = tree.kinematics.mechanism.name
    return [symbol(f"{u.name}_tau", "input", owner=owner) for u in tree.speeds]


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
    """Reject a robot whose mass matrix has no inverse anywhere."""
    mechanism = tree.kinematics.mechanism
    assert isinstance(mechanism, Mechanism)
    refuse_unresisted(mechanism)


def _refuse_massless(tree: Tree) -> None:
    """Reject a robot some of whose speeds move nothing that has mass."""
    mass = _mass(tree, tree.writer(), Choices())
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
        way = min(
            ways, key=lambda one: _price(tree, lambda w, c: one(tree, w, efforts, c))(Choices())
        )
    choices = searched_choices(
        tree, way.__name__, lambda writer, trial: way(tree, writer, efforts, trial), budget=_FIRST
    )
    return tree.program(
        "forward_dynamics",
        ["q", "u"],
        lambda writer: {"a": way(tree, writer, efforts, choices)},
        {"tau": efforts},
    )


def _by_elimination(
    tree: Tree, writer: Writer, efforts: Sequence[Expr], choices: Choices
) -> list[Expr]:
    """Return accelerations by articulated bodies (ABA)."""
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
