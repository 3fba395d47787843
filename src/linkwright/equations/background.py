"""Dynamics in two Programs: terms of the model in the background, the law in the foreground.

Computed torque takes tau = M(q) v + h(q, u) + g(q), with v = w + kd (w' - u) + kp (w'' - q) from
what is wanted. In the background, at a lower rate, the terms are computed where the arm is; in the
foreground, at the rate of the servo, only products with them are left. Newton-Euler's recursion
does not split that way: almost all of it depends on v.

The speeds of h are either those of the background ("frozen": h + g is one term for each joint), or
the foreground's ("fresh": h = L u + sum of C_jk u_j u_k, with L and C from the background). Fresh
ones take n^2 (n + 1)/2 products or so, which comes near the recursion from about five joints on;
"auto" lets the counts decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from linkwright.algebra import ONE, ZERO, Expr, as_expr, symbol, total
from linkwright.base.errors import InputError
from linkwright.base.reprs import one_line
from linkwright.equations.choices import Choices
from linkwright.equations.crba import mass_matrix
from linkwright.equations.kernels import forces, inverse_dynamics
from linkwright.equations.tree import Results, Tree
from linkwright.equations.writer import Writer
from linkwright.program import Assign, Namer, Program, ProgramPort, check, count_operations
from linkwright.program.derivatives import derivative
from linkwright.program.inline import inlined
from linkwright.program.interpret import interpret
from linkwright.program.lowering import lower
from linkwright.program.passes import optimize
from linkwright.program.passes.liveness import liveness

SPEEDS = ("auto", "frozen", "fresh")
_WANTED = ("target", "target_rate", "target_acceleration", "kp", "kd")
_MANY = 4  # joints beyond which fresh speeds cost more than they save, and are not tried
_WORTH = 0.8  # of the whole law's operations, up to which fresh speeds are taken
_ALIKE = 1e-9  # of forces, for h to count as a quadratic form


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class SplitDynamics:
    """Computed torque as two Programs, and as the one that they stand for."""

    background: Program  # terms of the model from `q` and `u`: one array, `terms`
    # `tau` from `q`, `u`, `target`, `target_rate`, `target_acceleration`, `kp`, `kd` and `terms`
    foreground: Program
    whole: Program  # `tau` from the same without `terms`, by inverse dynamics
    names: tuple[str, ...]  # what each term is
    speeds: str  # those that count in h: "frozen", the background's, or "fresh"

    def optimized(self) -> SplitDynamics:
        """Return the same with small Programs."""
        background, foreground = optimize(self.background), optimize(self.foreground)
        return replace(
            self, background=background, foreground=foreground, whole=optimize(self.whole)
        )


def split_dynamics(tree: Tree, speeds: str = "auto") -> SplitDynamics:
    """Return computed torque in the background and the foreground.

    >>> from linkwright.equations.tree import tree_of
    >>> from linkwright.models import load_model
    >>> split = split_dynamics(tree_of(load_model("pendulum")))
    >>> split.names, split.speeds
    (('M[0,0]', 'b[0]'), 'frozen')
    """
    if speeds not in SPEEDS:
        raise InputError(
            f"speeds={speeds!r} is not known", remedy=f"give one of {', '.join(SPEEDS)}"
        )
    if tree.reduction is not None or tree.looped:
        raise InputError(
            f"the dynamics of {tree.kinematics.mechanism.name!r} have closed loops or long chains, "
            "and are not split",
            remedy="use computed torque without a background",
        )
    whole = _law(tree)
    frozen = _split(tree, whole, _frozen(tree), "frozen")
    if speeds == "frozen" or (speeds == "auto" and len(tree.speeds) > _MANY):
        return frozen
    fresh = _fresh(tree)
    if fresh is None:
        if speeds == "fresh":
            raise InputError(
                f"the forces of {tree.kinematics.mechanism.name!r} are not quadratic in the speeds",
                remedy='give speeds="frozen"',
            )
        return frozen
    made = _split(tree, whole, fresh, "fresh")
    if speeds == "fresh":
        return made
    some, all_of_it = (count_operations(optimize(p)).total for p in (made.foreground, whole))
    return made if some <= _WORTH * all_of_it else frozen


# -- terms -----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Terms:
    """A Program of terms, its results by name, the mass matrix, and the rest of the forces.

    The rest is, for each joint, a sum of terms times speeds and their products, which `products`
    names.
    """

    program: Program
    found: dict[str, Expr]
    mass: list[list[Expr]]
    rest: list[list[tuple[Expr, Expr]]]
    products: tuple[Assign, ...] = ()


def _frozen(tree: Tree) -> _Terms:
    """Return the mass matrix, and all other forces as one term for each joint."""

    def write(writer: Writer) -> Results:
        mass = mass_matrix(tree.kinematics, writer, Choices())
        return {"M": [list(r) for r in mass], "b": forces(tree, writer, None, Choices())}

    made = tree.program("background", ["q", "u"], write)
    found = _named(made, {"M": 2, "b": 1})
    n = len(tree.speeds)
    mass = [[found[f"M[{i},{j}]"] for j in range(n)] for i in range(n)]
    return _Terms(made, found, mass, [[(found[f"b[{i}]"], ONE)] for i in range(n)])


def _fresh(tree: Tree) -> _Terms | None:
    """Return the mass matrix, gravity, and coefficients of speeds and their products."""
    n = len(tree.speeds)
    effects = tree.program("effects", ["q", "u"], lambda w: {"b": forces(tree, w, None, Choices())})
    first = derivative(effects, "b", "u")
    second = derivative(first, first.outputs[0].name, "u")
    inertia = tree.program(
        "mass",
        ["q"],
        lambda w: {"M": [list(r) for r in mass_matrix(tree.kinematics, w, Choices())]},
    )
    names, statements = Namer(None, "z"), []
    inputs: dict[str, dict[Expr, None]] = {}
    outputs: dict[str, Sequence[Expr]] = {}
    still = [ZERO] * n
    for part in (inertia, effects, first, second):
        for port in part.inputs:
            inputs.setdefault(port.name, {}).update(dict.fromkeys(port.entries))
        own = {p.name: list(p.entries) for p in part.inputs} | {"u": still}
        given = {p.name: own[p.name] for p in part.inputs}
        more, found = inlined(part, given, names)
        statements += more
        outputs[part.name] = next(iter(found.values()))
    m, g, one, two = outputs.values()
    entries = {f"M[{i},{j}]": m[i * n + j] for i in range(n) for j in range(n)}
    entries |= {f"g[{i}]": g[i] for i in range(n)}
    entries |= {f"L[{i},{j}]": one[i * n + j] for i in range(n) for j in range(n)}
    for i in range(n):
        for j in range(n):
            for k in range(j, n):
                half = 0.5 if j == k else 1
                entries[f"C[{i},{j},{k}]"] = half * two[(i * n + j) * n + k]
    taken = [ProgramPort(name, (len(own),), tuple(own)) for name, own in inputs.items()]
    every = ProgramPort("all", (len(entries),), tuple(entries.values()))
    made = Program("background", tuple(taken), (every,), tuple(statements))
    check(made)
    u = tree.speeds
    pairs = {
        (j, k): Assign(symbol(f"u{j}u{k}", "local", owner="law"), u[j] * u[k])
        for j in range(n)
        for k in range(j, n)
    }
    rest = [
        [
            (entries[f"g[{i}]"], ONE),
            *((entries[f"L[{i},{j}]"], u[j]) for j in range(n)),
            *((entries[f"C[{i},{j},{k}]"], s.target) for (j, k), s in pairs.items()),
        ]
        for i in range(n)
    ]
    mass = [[entries[f"M[{i},{j}]"] for j in range(n)] for i in range(n)]
    terms = _Terms(made, entries, mass, rest, tuple(pairs.values()))
    return terms if _quadratic(effects, terms) else None


def _quadratic(effects: Program, terms: _Terms) -> bool:
    """Return whether forces by coefficients are the forces, at random states."""
    forces = tuple(total([x * y for x, y in row]) for row in terms.rest)
    statements = (*terms.program.statements, *terms.products)
    port = ProgramPort("b", (len(forces),), forces)
    again = replace(terms.program, outputs=(port,), statements=statements)
    check(again)
    rng = np.random.default_rng(0)
    for _ in range(3):
        values = {x: rng.uniform(0.2, 1.5) for x in again.input_symbols()}
        one, two = (
            np.asarray(interpret(lower(p), [[values[x] for x in q.entries] for q in p.inputs])[0])
            for p in (effects, again)
        )
        if not np.abs(one - two).max() <= _ALIKE * (1 + np.abs(one).max()):
            return False
    return True


def _named(made: Program, ranks: dict[str, int]) -> dict[str, Expr]:
    """Return the entries of outputs by name and indices."""
    return {
        f"{name}[{','.join(map(str, index))}]": made.port(name).entries[k]
        for name in ranks
        for k, index in enumerate(np.ndindex(*made.port(name).shape))
    }


# -- programs --------------------------------------------------------------------------------------
def _split(tree: Tree, whole: Program, made: _Terms, speeds: str) -> SplitDynamics:
    """Return both Programs: what is a number is put in, what is the same is handed over once."""
    held: dict[Expr, Expr] = {}
    names: list[str] = []
    for name, x in made.found.items():
        if x.op != "num" and x not in held:
            held[x] = symbol(f"terms[{len(held)}]", "input", owner="split dynamics")
            names.append(name)
    terms = ProgramPort("terms", (len(held),), tuple(held))
    background = replace(made.program, outputs=(terms,))
    wanted, commands = _commands(tree)
    rows = []
    for row, rest in zip(made.mass, made.rest, strict=True):
        pairs = [*zip(row, commands, strict=True), *rest]
        rows.append(total([held.get(x, x) * y for x, y in pairs]))
    handed = replace(terms, entries=tuple(held.values()))
    q, u = (ProgramPort(w, (len(x),), x) for w, x in (("q", tree.coordinates), ("u", tree.speeds)))
    out = ProgramPort("tau", (len(rows),), tuple(rows))
    given = [Assign(x, value) for x, value in zip(commands, wanted[1], strict=True)]
    statements = (*made.products, *given)
    foreground = liveness(Program("foreground", (q, u, *wanted[0], handed), (out,), statements))
    check(background)
    check(foreground)
    return SplitDynamics(background, foreground, whole, tuple(names), speeds)


def _commands(tree: Tree) -> tuple[tuple[list[ProgramPort], list[Expr]], list[Expr]]:
    """Return the ports of what is wanted, the accelerations commanded, and symbols for them."""
    n = len(tree.speeds)
    ports = [
        ProgramPort(w, (n,), tuple(symbol(f"{w}[{k}]", "input", owner="law") for k in range(n)))
        for w in _WANTED
    ]
    rates = tree.kinematics.rates
    place = {rates[x]: x for x in tree.coordinates}
    values = []
    for k, u in enumerate(tree.speeds):
        r, v, w, kp, kd = (port.entries[k] for port in ports)
        values.append(w + kd * (v - u) + kp * (r - place.get(u, as_expr(0))))
    return (ports, values), [symbol(f"v[{k}]", "local", owner="law") for k in range(n)]


def _law(tree: Tree) -> Program:
    """Return computed torque as one Program, by inverse dynamics."""
    made = replace(inverse_dynamics(tree), name="whole")
    (ports, values), _ = _commands(tree)
    given = tuple(Assign(a, value) for a, value in zip(tree.accelerations, values, strict=True))
    inputs = [p for p in made.inputs if p.name != "a"]
    law = replace(made, inputs=(*inputs, *ports), statements=(*given, *made.statements))
    check(law)
    return law
