"""Displacements of bodies in six formalisms, as Programs, with what they cost.

Costs are counted as written and after `optimize`: multiplications and divisions, additions
(doubling is one), square roots, and the depth: how many operations come one after the other on a
machine with as many processors as can be used, sums and products as balanced trees. The formalisms
stand in `displacement_forms`; these are the conclusions of the force and motion server's report,
section 2.2, to be read from the table:

- on one processor, without normalizing, homogeneous transforms and quaternion/vector pairs compose
  at about the same cost, and the former are a little less deep;
- with normalizing, quaternion/vector pairs win on one processor and on many, and take less room;
- of those that move lines, the dual quaternion is the most compact, and the cheapest to move a line
  and compose; all of them lose to those that move points.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import Expr, symbol
from linkwright.base.errors import InputError, ShapeError
from linkwright.equations.writer import Writer
from linkwright.parallel.displacement_forms import FORMALISMS, Formalism
from linkwright.program import Assign, Program, program
from linkwright.program.lowering import lower
from linkwright.program.passes import optimize

__all__ = [
    "FORMALISMS",
    "OPERATIONS",
    "OperationCost",
    "displacement",
    "displacement_costs",
    "displacement_program",
    "displacement_table",
    "mutual_moment",
    "operation_cost",
]

Array = NDArray[np.float64]
OPERATIONS = ("transform", "compose", "invert", "normalize")
"""What is done with displacements."""


# -- Programs --------------------------------------------------------------------------------------
def _formalism(name: str) -> Formalism:
    """Return a formalism by its name, or reject the name."""
    if name not in FORMALISMS:
        raise InputError(
            f"there is no formalism {name!r} of displacements",
            remedy=f"choose one of {', '.join(FORMALISMS)}",
        )
    return FORMALISMS[name]


@cache
def displacement_program(name: str, operation: str) -> Program:
    """Return the Program of an operation with displacements, as it is written.

    Its input `a` is a displacement; `compose` also takes `b`, the displacement that comes first,
    and `transform` takes `x`: a point, or a line as six numbers, its direction and its moment.

    Args:
        name: one of `FORMALISMS`.
        operation: one of `OPERATIONS`.

    >>> displacement_program("dual quaternion", "compose")
    Program('dual_quaternion_compose': a[8], b[8] -> found[8]; 8 statements)
    """
    form = _formalism(name)
    if operation not in OPERATIONS:
        raise InputError(
            f"there is no operation {operation!r} with displacements",
            remedy=f"choose one of {', '.join(OPERATIONS)}",
        )
    writer = Writer("displacement")

    def entries(port: str, count: int) -> list[Expr]:
        return [symbol(f"{port}[{k}]", "input", owner="displacement") for k in range(count)]

    ports = {"a": entries("a", form.storage)}
    if operation == "compose":
        ports["b"] = entries("b", form.storage)
    elif operation == "transform":
        ports["x"] = entries("x", 3 if form.moves == "point" else 6)

    def hold(x: Expr) -> Expr:
        """Return a name, for twice something too, so that it is doubled once."""
        if x.op != "scale" or abs(x.data) == 1:
            return writer.hold(x)
        name = writer.fresh(x)
        writer.assign(name, x)
        return name

    found = getattr(form, operation)(hold, *ports.values())
    word = "".join(c if c.isalnum() else "_" for c in f"{name}_{operation}")
    return program(word, ports, {"found": found}, statements=writer.statements)


def displacement(name: str, rotation: ArrayLike, translation: ArrayLike) -> Array:
    """Return a displacement as a formalism keeps it.

    Args:
        name: one of `FORMALISMS`.
        rotation: 3 x 3.
        translation: three numbers.

    >>> displacement("dual quaternion", np.eye(3), [0, 0, 2]).tolist()
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """
    r, p = np.asarray(rotation, dtype=float), np.asarray(translation, dtype=float)
    if r.shape != (3, 3) or p.shape != (3,):
        raise ShapeError("a displacement is a rotation, 3 x 3, and a translation, three numbers")
    if not (np.abs(r @ r.T - np.eye(3)).max() < 1e-6 and np.linalg.det(r) > 0):
        raise InputError("the rotation of a displacement is not a rotation matrix")
    return _formalism(name).encode(r, p) + 0.0


def mutual_moment(first: ArrayLike, second: ArrayLike) -> Array:
    """Return S1·M2 + S2·M1 of lines: distance times sine of the angle between them, with a sign.

    It is zero where lines meet or are parallel.

    Args:
        first: a line of unit direction, six numbers l and m = x × l, or rows of them.
        second: another, or rows.

    >>> float(
    ...     mutual_moment([1, 0, 0, 0, 0, 0], [0, 1, 0, -2, 0, 0])
    ... )  # 2 above, at right angles
    -2.0
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.shape[-1:] != (6,) or b.shape[-1:] != (6,):
        raise ShapeError("a line is six numbers: its direction and its moment")
    return np.asarray(np.sum(a[..., :3] * b[..., 3:] + b[..., :3] * a[..., 3:], axis=-1))


# -- costs -----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class OperationCost:
    """What a Program takes.

    Args:
        mul: multiplications and divisions.
        add: additions and subtractions; doubling is one of them.
        sqrt: square roots.
        depth: operations that come one after the other with any number of processors.

    >>> OperationCost(8, 3, 1, 5).total
    12
    """

    mul: int
    add: int
    sqrt: int
    depth: int

    @property
    def total(self) -> int:
        """All operations."""
        return self.mul + self.add + self.sqrt


def operation_cost(made: Program) -> OperationCost:
    """Return what a Program of additions, multiplications and square roots takes.

    Args:
        made: a Program without loops.

    >>> operation_cost(displacement_program("homogeneous", "compose"))
    OperationCost(mul=33, add=24, sqrt=0, depth=5)
    """
    code = lower(made)
    numbers = {i.id: i.data for i in code.instructions if i.op == "const"}
    mul = add = roots = 0
    for i in code.instructions:
        if i.op == "mul" and any(abs(numbers.get(k, 0)) == 2 for k in i.args):
            add += 1
        elif i.op in ("mul", "div"):
            mul += 1
        elif i.op in ("add", "sub"):
            add += 1
        elif i.op == "sqrt":
            roots += 1
    return OperationCost(mul, add, roots, _depth(made))


def _depth(made: Program) -> int:
    known: dict[Expr, int] = {}

    def depth(x: Expr) -> int:
        if x in known:
            return known[x]
        if x.op == "sum":
            constants, *factors = x.data
            terms = [depth(a) + (abs(f) != 1) for a, f in zip(x.args, factors, strict=True)] + [
                0
            ] * bool(constants)
            found = _tree(terms)
        elif x.op == "prod":
            above = [
                depth(b) for b, e in zip(x.args, x.data, strict=True) for _ in range(max(e, 0))
            ]
            below = [
                depth(b) for b, e in zip(x.args, x.data, strict=True) for _ in range(max(-e, 0))
            ]
            found = _tree(above) if above else 0
            if below:
                found = 1 + max(found, _tree(below))
        elif x.op == "scale":
            found = depth(x.args[0]) + (abs(x.data) != 1)
        elif x.op == "sqrt":
            found = depth(x.args[0]) + 1
        else:
            found = 0
        known[x] = found
        return found

    for statement in made.statements:
        assert isinstance(statement, Assign)
        known[statement.target] = depth(statement.value)
    return max(depth(x) for x in made.output_values())


def _tree(depths: Sequence[int]) -> int:
    """Return the depth of a balanced tree over what has depths already."""
    heap = list(depths)
    heapq.heapify(heap)
    while len(heap) > 1:
        heapq.heappop(heap)
        heapq.heapreplace(heap, heap[0] + 1)
    return heap[0]


@cache
def displacement_costs() -> Mapping[str, Mapping[str, tuple[OperationCost, OperationCost]]]:
    """Return what each operation takes in each formalism, as written and optimized.

    >>> as_written, optimized = displacement_costs()["quaternion/vector"]["compose"]
    >>> as_written.mul, as_written.add
    (31, 30)
    """
    return {
        name: {
            operation: (
                operation_cost(displacement_program(name, operation)),
                operation_cost(optimize(displacement_program(name, operation))),
            )
            for operation in OPERATIONS
        }
        for name in FORMALISMS
    }


def displacement_table() -> list[tuple[str, ...]]:
    """Return the costs as rows of text: a header, then one row for each formalism.

    Cells are mul/add, with square roots and depth behind: as written, then optimized.

    >>> displacement_table()[0][:3]
    ('formalism', 'moves', 'numbers')
    """

    def cell(cost: OperationCost) -> str:
        roots = f" +{cost.sqrt}√" if cost.sqrt else ""
        return f"{cost.mul}/{cost.add}{roots} ({cost.depth})"

    rows: list[tuple[str, ...]] = [("formalism", "moves", "numbers", *OPERATIONS)]
    for name, costs in displacement_costs().items():
        form = FORMALISMS[name]
        cells = [" → ".join(map(cell, costs[operation])) for operation in OPERATIONS]
        rows.append((name, form.moves, str(form.storage), *cells))
    return rows
