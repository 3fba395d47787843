"""The forms in which a System's constrained mechanism is integrated.

- Speeds eliminated: the derived equations, in the coordinates and the independent speeds. Fast, but
  bound to a set of eliminated speeds, good only where the constraints can be solved for them.
  Guards (`Guards`) say where that ends.
- All speeds kept (the redundant form): constraints are solved numerically, by Python, in every
  evaluation (`linkwright.equations.singular`). It goes through singular configurations.

Which form is taken when is decided in `linkwright.simulation.switching`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.algebra import (
    ZERO,
    Expr,
    as_expr,
    foreign,
    free_symbols,
    linear_coefficients,
    postorder,
    symbol,
    total,
)
from linkwright.blocks import BlockError
from linkwright.equations import Equations
from linkwright.equations.closure import Relations
from linkwright.equations.derived_outputs import output_values
from linkwright.equations.evaluation import Array, all_values
from linkwright.equations.projection import unreduced
from linkwright.mechanism import Mechanism
from linkwright.program import Assign, Namer, Program, ProgramPort, Solve, Statement, program
from linkwright.program.passes.replacement import replaced
from linkwright.system.definitions import Definitions
from linkwright.system.phases import GUARD

if TYPE_CHECKING:
    from linkwright.equations.singular import Singular


LIMIT = 30.0
"""The condition number beyond which a form is not trusted, unless it was taken up with a larger."""

REFERENCE = f"{GUARD}reference"
"""What the names of A^-1 at a reference begin with."""

NEAR = 0.3
"""How far from a reference, |A0^-1 A1 - 1|_F, guards that compare with it hold."""

_LARGEST = 6  # constraints that are coupled, of which all symmetric functions are written out


@dataclass(frozen=True, slots=True)
class Form:
    """Which speeds of a constrained mechanism are integrated."""

    dependent: tuple[str, ...] = ()  # names of the speeds that may be eliminated; empty for any
    # coordinates by name where they are chosen; empty for the start
    at: tuple[tuple[str, float], ...] = ()
    redundant: bool = False  # whether all speeds are kept
    guarded: bool = True  # whether guards end a run before the form fails
    # whether guards compare with a state that is set from outside (`reference_of`), in place of the
    # start of each step: far cheaper where steps are short
    reference: bool = False


def is_regular(mechanism: Mechanism) -> bool:
    """Whether what constraints eliminate is the same everywhere.

    >>> from linkwright.mechanism import Mechanism
    >>> is_regular(Mechanism("m"))
    True
    """
    speeds = [s.symbol for s in mechanism.kinematics().speeds]
    fixed = set(mechanism.parameters.values())
    for constraint in mechanism.constraints:
        found, _ = linear_coefficients(constraint.speed, speeds)
        if constraint.position is not None or not set(free_symbols(*found.values())) <= fixed:
            return False
    return True


def is_driven(mechanism: Mechanism) -> bool:
    """Whether a constraint moves by itself, and so does work.

    >>> from linkwright.models import load_model
    >>> is_driven(load_model("car")), is_driven(load_model("four-bar"))
    (True, False)
    """
    speeds = [s.symbol for s in mechanism.kinematics().speeds]
    rests = (linear_coefficients(c.speed, speeds)[1] for c in mechanism.constraints)
    return any(rest is not ZERO for rest in rests)


def coupled(mechanism: Mechanism) -> int:
    """Return how many constraints hang together by speeds, at most.

    >>> from linkwright.mechanism import Mechanism
    >>> coupled(Mechanism("m"))
    0
    """
    if not mechanism.constraints:
        return 0
    speeds = {s.symbol for s in mechanism.kinematics().speeds}
    parts: list[tuple[set[Expr], int]] = []
    for constraint in mechanism.constraints:
        own, count = speeds.intersection(free_symbols(constraint.speed)), 1
        apart = []
        for others, more in parts:
            if own & others:
                own, count = own | others, count + more
            else:
                apart.append((others, more))
        parts = [*apart, (own, count)]
    return max(count for _, count in parts)


# -- guards ----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Guards:
    """What must stay above zero for a form to be trusted, and what is remembered for that.

    With A the eliminated part of the constraints' Jacobian J, they are

    - a bound on |J|_F |A^-1|_F, which is not below the condition number;
    - the elementary symmetric functions of the eigenvalues of A0^-1 A1, with A0 before and A1
      after a step, for each part of A that is coupled. As long as all of them are above zero, that
      matrix has no eigenvalue below zero, so no matrix between A0 and A1 is singular. Of a large
      part, 1 - |E^2|_F^2 with E = A0^-1 A1 - 1: as long as it is above zero, no eigenvalue of E
      is as large as 1, which is a little more than what is needed, and much cheaper.

    Where A0 is that of a reference, they are NEAR^2 - |E|_F^2, which says that a new reference is
    due, and the bound on the condition number by |A1^-1|_F <= |A0^-1|_F / (1 - NEAR).
    """

    limit: Expr  # the symbol of the bound
    memory: tuple[Expr, ...]  # symbols of A^-1 at the start of a step, row by row
    inverse: tuple[Expr, ...]  # what they become, with the statements `inner`
    inner: tuple[Statement, ...]
    values: tuple[Expr, ...]  # of the guards, with `statements`
    statements: tuple[Statement, ...]


def guards_of(equations: Equations, reference: bool = False) -> Guards:
    """Return the guards of a form."""
    speeds = [s.symbol for s in equations.kinematics.speeds]
    tied = list(equations.reduction.dependent)
    active = [e.constraint for e in equations.eliminations if e.speed is not None]
    writer = _Names()
    rows = {}
    for constraint in equations.mechanism.constraints:
        found, _ = linear_coefficients(constraint.speed, speeds)
        rows[constraint] = {u: writer.held(found[u]) for u in speeds}
    parts = _coupled([[rows[c][u] for u in tied] for c in active])
    limit = symbol(f"{GUARD}limit", "discrete")
    if reference:
        every = [list(row.values()) for row in rows.values()]
        return _referred(limit, every, [[rows[c][u] for u in tied] for c in active], writer)
    memory: list[Expr] = []
    inverses: list[Expr] = []
    matrices: list[tuple[list[list[Expr]], list[list[Expr]]]] = []
    for some, columns in parts:
        n = len(some)
        inner = [[rows[active[i]][tied[j]] for j in columns] for i in some]
        unit = [as_expr(int(i == j)) for j in range(n) for i in range(n)]
        names = [[writer.namer() for _ in range(n)] for _ in range(n)]
        flat = tuple(x for column in names for x in column)
        matrix = tuple(x for row in inner for x in row)
        writer.statements.append(Solve(n, matrix, tuple(unit), flat))
        inverses += [names[j][i] for i in range(n) for j in range(n)]
        first = len(memory)
        memory += [symbol(f"{GUARD}inverse{first + k}", "discrete") for k in range(n * n)]
        before = [memory[first + i * n : first + (i + 1) * n] for i in range(n)]
        matrices.append((before, inner))
    remembered = tuple(writer.statements)
    whole = total([x**2 for row in rows.values() for x in row.values()])
    size = writer.held(whole) * writer.held(total([x**2 for x in inverses]))
    values = [limit**2 - size]
    for before, inner in matrices:
        change = _product(before, inner, writer)
        values += _symmetric(change, writer) if len(change) <= _LARGEST else _near(change, writer)
    return Guards(
        limit,
        tuple(memory),
        tuple(inverses),
        remembered,
        tuple(values),
        tuple(writer.statements),
    )


def _referred(limit: Expr, whole: Matrix, part: Matrix, writer: _Names) -> Guards:
    """Return guards that compare with a reference (`part` in A)."""
    n = len(part)
    memory = tuple(symbol(f"{REFERENCE}{k}", "discrete") for k in range(n * n))
    change = _product([memory[i * n : (i + 1) * n] for i in range(n)], part, writer)
    off = [x - 1 if i == j else x for i, row in enumerate(change) for j, x in enumerate(row)]
    distance = total([x**2 for x in off])
    size = writer.held(total([x**2 for row in whole for x in row]))
    size *= writer.held(total([x**2 for x in memory]))
    values = (((1 - NEAR) * limit) ** 2 - size, NEAR**2 - distance)
    return Guards(limit, memory, (), (), values, tuple(writer.statements))


def reference_of(part: Array) -> dict[str, float]:
    """Return what guards remember of a reference, by name."""
    inverse = np.linalg.inv(part).ravel().tolist()
    return {f"{REFERENCE}{k}": x for k, x in enumerate(inverse)}


def _coupled(matrix: Sequence[Sequence[Expr]]) -> list[tuple[list[int], list[int]]]:
    """Return the rows and columns of the parts of a matrix that have nothing to do with others."""
    left = set(range(len(matrix)))
    found = []
    while left:
        rows, columns = {min(left)}, set[int]()
        while True:
            wider = {j for i in rows for j, x in enumerate(matrix[i]) if x is not ZERO}
            more = {i for i in left if any(matrix[i][j] is not ZERO for j in wider)}
            if more == rows and wider == columns:
                break
            rows, columns = rows | more, wider
        left -= rows
        found.append((sorted(rows), sorted(columns)))
    return found


class _Names:
    """Statements that hold values under names."""

    def __init__(self) -> None:
        self.namer = Namer(None, f"{GUARD}a")
        self.statements: list[Statement] = []

    def held(self, value: Expr) -> Expr:
        """Return a name for a value, or the value where it is a name already."""
        if value.is_atom:
            return value
        name = self.namer()
        self.statements.append(Assign(name, value))
        return name


Matrix = Sequence[Sequence[Expr]]


def _product(a: Matrix, b: Matrix, writer: _Names) -> list[list[Expr]]:
    n = len(a)
    return [
        [writer.held(total([a[i][k] * b[k][j] for k in range(n)])) for j in range(n)]
        for i in range(n)
    ]


def _symmetric(matrix: Matrix, writer: _Names) -> list[Expr]:
    """Return the elementary symmetric functions of the eigenvalues (Faddeev and LeVerrier)."""
    n = len(matrix)
    now = [list(row) for row in matrix]
    found = [writer.held(total([now[i][i] for i in range(n)]))]
    for k in range(2, n + 1):
        rest = [
            [writer.held(found[-1] - x) if i == j else -x for j, x in enumerate(row)]
            for i, row in enumerate(now)
        ]
        now = _product(matrix, rest, writer)
        found.append(writer.held(total([now[i][i] for i in range(n)]) / k))
    return found


def _near(matrix: Matrix, writer: _Names) -> list[Expr]:
    """Return what is above zero where no eigenvalue is as far from 1 as 0 is."""
    change = [
        [writer.held(x - 1) if i == j else x for j, x in enumerate(row)]
        for i, row in enumerate(matrix)
    ]
    squared = _product(change, change, writer)
    return [1 - total([x**2 for row in squared for x in row])]


# -- all speeds ------------------------------------------------------------------------------------
def redundant_equations(mechanism: Mechanism) -> tuple[Equations, list[list[Expr]], list[Expr]]:
    """Return equations in all speeds, whose accelerations are yet to be defined, J and c."""
    from linkwright.equations.redundant import tree_parts

    kinematics = mechanism.kinematics()
    parts = tree_parts(mechanism)
    speeds = tuple(s.symbol for s in kinematics.speeds)
    made = Equations(
        mechanism,
        kinematics,
        "redundant",
        tuple(parts.rates),
        speeds,
        unreduced(kinematics),
        tuple(parts.writer.statements),
        tuple(parts.rates.values()),
        parts.mass,
        parts.right,
        tuple(symbol(f"redundant.a{i}", "local") for i in range(len(speeds))),
        (),
        tuple(output_values(mechanism)),
        tuple(s.derivative for s in mechanism.states),
    )
    return made, [list(row) for row in parts.jacobian], list(parts.rest)


def _with_signs_apart(made: Program) -> tuple[Program, list[Expr]]:
    """Return the Program of a tree with signs v of zero and df/dv besides, and what they are.

    So dry friction is seen from outside; where f is not affine in all signs, they stay inside.
    """
    from linkwright.program import derivative

    found = postorder([*(x for s in made.statements for x in s.operands), *made.output_values()])
    nodes = [x for x in found if x.op == "sign"]
    if not nodes:
        return made, []
    signs = {x: symbol(f"kept.sign{i}", "local") for i, x in enumerate(nodes)}
    v = tuple(signs.values())
    given = replace(
        made,
        inputs=(*made.inputs, ProgramPort("v", (len(v),), v)),
        outputs=made.map_outputs(replaced(made.output_values(), signs)),
        statements=tuple(s.with_operands(replaced(s.operands, signs)) for s in made.statements),
    )
    by = derivative(given, "f", "v", values=True)
    felt = set(v)
    for statement in by.statements:
        if felt.intersection(free_symbols(*statement.operands)):
            felt.update(statement.targets)
    others = [x for port in by.outputs if port.name != "f" for x in port.entries]
    if felt.intersection(free_symbols(*others)):
        return made, []
    zero = [Assign(x, ZERO) for x in v]
    return replace(by, inputs=made.inputs, statements=(*zero, *by.statements)), list(signs)


class KeptSpeeds:
    """The accelerations of all speeds, and states moved onto the constraints, as Python functions.

    Args:
        equations: those of `redundant_equations`.
        jacobian: J of the constraints J u' = c.
        rest: c.
        table: what loads on the mechanism stand for.
        values: of its parameters.
    """

    def __init__(
        self,
        equations: Equations,
        jacobian: Sequence[Sequence[Expr]],
        rest: Sequence[Expr],
        table: Definitions,
        values: Mapping[str, float],
    ) -> None:
        m = self.mechanism = equations.mechanism
        self._q = [*equations.coordinates, *equations.states]
        self._u = list(equations.speeds)
        results: dict[str, Sequence[object]] = {
            "q_dot": list(equations.rates),
            "M": [list(row) for row in equations.mass],
            "f": list(equations.right),
        }
        if jacobian:
            results |= {"J": [list(row) for row in jacobian], "c": list(rest)}
        roots = [*equations.rates, *equations.right, *rest]
        roots += [x for row in (*equations.mass, *jacobian) for x in row]
        statements = table.ordered(roots)
        leaves = table.leaves(statements, roots) - {*self._q, *self._u}
        if leaves & set(equations.accelerations):
            raise BlockError(
                f"a load on {m.name!r} depends on accelerations, so all its speeds cannot be kept",
                remedy="let what measures them have a rate, or keep away from singular positions",
            )
        self._others = sorted(leaves - {m.time}, key=lambda x: x.name)
        bound = [x for c in m.constraints for x in (c.speed, c.position) if x is not None]
        read = set(free_symbols(*bound))
        self._inputs = {n: x for n, x in m.inputs.items() if x in read}
        ports: dict[str, Sequence[Expr]] = {"q": self._q, "u": self._u}
        if self._others:
            ports["a"] = self._others
        if m.time in leaves:
            ports["t"] = [m.time]
        self._ports = tuple(ports)
        self._program: Program = program(f"{m.name}_tree", ports, results, statements=statements)
        self._program, self._signs = _with_signs_apart(self._program)
        self._values = dict(values)
        self._singular: Singular | None = None
        self._now: dict[str, float] = {}
        self._arrays: dict[str, Array] = {"a": np.zeros(len(self._others)), "t": np.zeros(1)}

    @property
    def arguments(self) -> list[Expr]:
        """What both functions are called with."""
        return [*self._q, *self._u, *self._others, *self._inputs.values(), self.mechanism.time]

    @property
    def moved(self) -> list[Expr]:
        """What is moved onto the constraints."""
        return [*self._q, *self._u]

    def calls(self) -> tuple[list[Expr], list[Expr]]:
        """Return the accelerations and the moved states as expressions."""
        arguments = self.arguments
        n, size = len(self._u), len(arguments)
        count = n * (1 + len(self._signs))
        slopes = foreign("kept_slopes", size, python=self._slopes, outputs=count * size)

        def slope(i: int) -> Callable[..., Any]:
            def rates(*given: Expr) -> Any:
                found = slopes(*given)
                parts = list(found) if isinstance(found, tuple) else [found]
                column = tuple(parts[k * size + i] for k in range(count))
                return column[0] if count == 1 else column

            return rates

        made = (
            foreign(
                "kept_accelerations",
                size,
                python=self._accelerations,
                outputs=count,
                derivatives=[slope(i) for i in range(size)],
            ),
            foreign("kept_settled", size, python=self._settled, outputs=len(self.moved)),
        )
        found = [function(*arguments) for function in made]
        first, second = (list(x) if isinstance(x, tuple) else [x] for x in found)
        columns = [first[k : k + n] for k in range(0, count, n)]
        rows = zip(*columns, strict=True)
        return [a + total(map(mul, more, self._signs)) for a, *more in rows], second

    @property
    def singular(self) -> Singular:
        """What solves the constraints."""
        from linkwright.equations.singular import Singular

        if self._singular is None:
            from linkwright.backends.kernel import compile as compiled

            self._tree = compiled(self._program).scalar
            self._results = [port.name for port in self._program.outputs]
            self._singular = Singular(self._evaluated, self._relations())
        return self._singular

    def _relations(self) -> Relations:
        known = {*self.mechanism.parameters, *self.mechanism.inputs}
        values = {n: v for n, v in self._values.items() if n in known}
        values = all_values(self.mechanism, values)
        return Relations(self.mechanism, values, signals=lambda _: self._now)

    def renew(self, values: Mapping[str, float]) -> None:
        """Take other values of parameters."""
        self._values.update(values)
        if self._singular is not None:
            self._singular.relations = self._relations()

    def _evaluated(self, t: float, q: Array, u: Array) -> tuple[Array, Array, Array, Array, Array]:
        self._arrays["t"][0] = t
        given = {"q": np.ascontiguousarray(q), "u": np.ascontiguousarray(u), **self._arrays}
        found = dict(zip(self._results, self._tree(*(given[n] for n in self._ports)), strict=True))
        columns = [found["f"][:, None]]
        if self._signs:
            columns.append(found["d_f_d_v"].reshape(len(u), -1))
        rest = np.zeros((len(found.get("c", ())), 1 + len(self._signs)))
        rest[:, 0] = found.get("c", ())
        jacobian = found.get("J", np.zeros((0, len(u))))
        return found["q_dot"], found["M"], np.hstack(columns), jacobian, rest

    def take(self, numbers: Sequence[float]) -> tuple[float, Array]:
        """Take what the functions are called with; return the time and the state."""
        count, rest = len(self._q) + len(self._u), len(self._others)
        self._arrays["a"][:] = numbers[count : count + rest]
        self._now = dict(zip(self._inputs, numbers[count + rest : -1], strict=True))
        return float(numbers[-1]), np.array(numbers[:count], dtype=float)

    def _accelerations(self, *numbers: float) -> list[float]:
        solver = self.singular
        return list(solver.accelerations(*self.take(numbers)).T.ravel())

    def _settled(self, *numbers: float) -> list[float]:
        solver = self.singular
        return list(solver.settle(*self.take(numbers)))

    def _slopes(self, *numbers: float) -> list[float]:
        """Return the Jacobian of the accelerations, row by row, by central differences."""
        at = np.array(numbers)
        columns = []
        for i, x in enumerate(at):
            step = np.zeros_like(at)
            step[i] = 6e-6 * max(1.0, abs(x))
            ahead, behind = (np.array(self._accelerations(*(at + s * step))) for s in (1.0, -1.0))
            columns.append((ahead - behind) / (2.0 * step[i]))
        return list(np.array(columns).T.ravel())
