"""Scheduling: an order of statements in which values wait as little as possible for their use.

Statements and instructions are taken depth first from the outputs, operands that need more
registers first (Sethi and Ullman, 1970, whose numbering is exact on trees and used here on graphs).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from linkwright.algebra.expr import Expr
from linkwright.algebra.walk import fill
from linkwright.program.code import Code, Instruction, LoopCode
from linkwright.program.program import Loop, Program, Statement
from linkwright.program.rates import is_impure

_ATOMS = frozenset({"const", "input"})


# -- Programs --------------------------------------------------------------------------------------
def schedule(program: Program) -> Program:
    """Return the Program with its statements in an order that keeps few values alive.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import Assign, program
    >>> x, y = symbols("x y", "coordinate")
    >>> a, b = symbols("a b", "local")
    >>> p = program(
    ...     "f",
    ...     {"x": [x, y]},
    ...     {"f": b - 1, "g": a**2},
    ...     statements=[Assign(a, x + y), Assign(b, x * y)],
    ... )
    >>> [s.target for s in schedule(p).statements]
    [b, a]
    """
    statements = _ordered(program.statements, program.output_values())
    fixed = _fixed(program)
    front = [s for s in statements if all(x in fixed for x in s.targets)]
    rest = [s for s in statements if not all(x in fixed for x in s.targets)]
    return program.with_statements([*front, *rest])


def _fixed(program: Program) -> set[Expr]:
    """Return the locals that only depend on numbers and parameters."""
    moving = {x for x in program.input_symbols() if not x.is_constant} | set(program.slow)
    seen: dict[Expr, bool] = dict.fromkeys(moving, True)
    fixed: set[Expr] = set()

    def moved(node: Expr) -> bool:
        return is_impure(node) or any(seen[a] for a in node.args)

    for statement in program.statements:
        reads = list(statement.operands)
        if isinstance(statement, Loop):
            reads.extend(statement.outer_reads)
        fill(seen, reads, moved)
        moves = any(seen[x] for x in reads)
        for x in statement.targets:
            seen[x] = moves
            if not moves:
                fixed.add(x)
    return fixed


def _ordered(statements: Sequence[Statement], roots: Sequence[Expr]) -> list[Statement]:
    """Return the statements that the roots need, each after those that it reads."""
    made_by = {x: s for s in statements for x in s.targets}
    needs: dict[Expr, int] = {}

    def need(node: Expr) -> int:
        return _need([needs[a] for a in node.args])

    for statement in statements:
        reads = _expressions(statement)
        fill(needs, reads, need)
        needs.update(dict.fromkeys(statement.targets, _need([needs[x] for x in reads])))
    fill(needs, roots, need)

    def operands(x: Expr) -> Iterator[Expr]:
        maker = made_by.get(x)
        below = x.args if maker is None else _expressions(maker)
        return iter(sorted(below, key=lambda y: -needs[y]) if len(below) > 1 else below)

    result: list[Statement] = []
    done: set[Expr] = set()
    for root in roots:
        stack = [] if root in done else [(root, operands(root))]
        while stack:
            x, rest = stack[-1]
            for other in rest:
                if other not in done:
                    stack.append((other, operands(other)))
                    break
            else:
                stack.pop()
                if x not in done:
                    done.add(x)
                    if x in made_by:
                        result.append(_with_ordered_body(made_by[x]))
                        done.update(made_by[x].targets)
    return result


def _expressions(statement: Statement) -> tuple[Expr, ...]:
    """Return what a statement reads, for a loop also what its body reads from outside."""
    if isinstance(statement, Loop):
        return (*statement.operands, *statement.outer_reads)
    return statement.operands


def _with_ordered_body(statement: Statement) -> Statement:
    if not isinstance(statement, Loop):
        return statement
    return replace(statement, body=tuple(_ordered(statement.body, statement.inner_operands)))


def _need(below: Sequence[int]) -> int:
    """Return how many values must be held at once for a value, from those of its operands."""
    if len(below) == 1:
        return below[0]
    if len(below) == 2:
        a, b = below
        return a if a > b else b if b > a else a + 1
    return max([n + i for i, n in enumerate(sorted(below, reverse=True))], default=1)


def _needs(reads: Sequence[Sequence[int]]) -> list[int]:
    """Return how many values must be held at once to compute each item (as if on a tree)."""
    needs: list[int] = []
    for operands in reads:
        needs.append(_need([needs[k] for k in operands]))
    return needs


def _depth_first(
    wanted: Sequence[int], reads: Sequence[Sequence[int]], needs: Sequence[int], done: list[bool]
) -> Iterator[int]:
    """Yield what is wanted after what it reads, the neediest operands first."""

    def operands(k: int) -> Iterator[int]:
        return iter(sorted(reads[k], key=lambda i: (-needs[i], i)))

    for root in wanted:
        if done[root]:
            continue
        stack = [(root, operands(root))]
        while stack:
            k, rest = stack[-1]
            for other in rest:
                if not done[other]:
                    stack.append((other, operands(other)))
                    break
            else:
                stack.pop()
                if not done[k]:
                    done[k] = True
                    yield k


# -- primitive code --------------------------------------------------------------------------------
def schedule_code(code: Code) -> Code:
    """Return the code with its instructions in an order that keeps few values alive.

    >>> from linkwright.program import lower, program
    >>> p = program("f", {"x": ["x", "y"]}, {"f": lambda x, y: [x * y + x]})
    >>> [i.op for i in schedule_code(lower(p)).instructions]
    ['input', 'input', 'mul', 'add']
    """
    instructions = _ordered_code(code.instructions, code.output_ids())
    better = pressure(instructions, code.output_ids()) < pressure(
        code.instructions, code.output_ids()
    )
    return replace(code, instructions=instructions if better else list(code.instructions))


def pressure(instructions: Sequence[Instruction], outputs: Sequence[int]) -> int:
    """Return how many computed values are alive at once, at most; outputs stay in memory."""
    last: dict[int, int] = {}
    for place, instruction in enumerate(instructions):
        for a in _reads(instruction):
            last[a] = place
    alive = most = 0
    ends: dict[int, int] = {}
    for place, instruction in enumerate(instructions):
        if instruction.op not in _ATOMS and last.get(instruction.id, -1) > place:
            alive += 1
            ends[last[instruction.id]] = ends.get(last[instruction.id], 0) + 1
        alive -= ends.pop(place, 0)
        most = max(most, alive)
    return most


def _reads(instruction: Instruction) -> tuple[int, ...]:
    if instruction.op != "loop":
        return instruction.args
    loop: LoopCode = instruction.data
    inner = {i.id for i in loop.body}
    inner.update((*loop.carried, *loop.scanned))
    reads = dict.fromkeys(instruction.args)
    for i in loop.body:
        reads.update(dict.fromkeys(a for a in _reads(i) if a not in inner))
    reads.update(dict.fromkeys(a for a in (*loop.following, *loop.stacked) if a not in inner))
    return tuple(reads)


def _ordered_code(instructions: Sequence[Instruction], roots: Sequence[int]) -> list[Instruction]:
    place = {i.id: k for k, i in enumerate(instructions)}
    reads = [[place[a] for a in _reads(i) if a in place] for i in instructions]
    needs = _needs(reads)
    for k, instruction in enumerate(instructions):
        if instruction.op in _ATOMS:
            needs[k] = 0
    wanted = [place[i] for i in roots if i in place]
    result: list[Instruction] = []
    for k in _depth_first(wanted, reads, needs, [False] * len(reads)):
        instruction = instructions[k]
        if instruction.op == "loop":
            loop: LoopCode = instruction.data
            body = _ordered_code(loop.body, (*loop.following, *loop.stacked))
            instruction = replace(instruction, data=replace(loop, body=body))
        result.append(instruction)
    return result
