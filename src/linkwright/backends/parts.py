"""Cutting long code into parts that hand values over in a workspace.

Compilers take more than linear time for one huge function (register allocation, alias analysis),
so a backend writes a long kernel as several functions. A value that a later part reads gets a slot
of the workspace, and a slot is given out again when its value has been read for the last time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linkwright.program.code import Instruction, LoopCode


@dataclass(frozen=True, slots=True)
class InstructionPart:
    """Consecutive instructions; `slots` has the places of what they read or leave to others."""

    instructions: Sequence[Instruction]
    slots: dict[int, int]


@dataclass(frozen=True, slots=True)
class InstructionParts:
    """All parts, the size of their workspace, and the instructions by id."""

    parts: list[InstructionPart]
    size: int
    by_id: dict[int, Instruction]


def reads(instruction: Instruction) -> Iterable[int]:
    """Return the ids that an instruction needs from outside, those read inside a loop included.

    >>> from linkwright.program.rates import Rate
    >>> reads(Instruction(2, "add", (0, 1), None, Rate.SLOW))
    (0, 1)
    """
    if instruction.op != "loop":
        return instruction.args
    inside: set[int] = set()
    found: dict[int, None] = dict.fromkeys(instruction.args)
    stack: list[LoopCode] = [instruction.data]
    while stack:
        data = stack.pop()
        inside.update((*data.carried, *data.scanned))
        found.update(dict.fromkeys((*data.following, *data.stacked)))
        for i in data.body:
            inside.add(i.id)
            found.update(dict.fromkeys(i.args))
            if i.op == "loop":
                stack.append(i.data)
    return [a for a in found if a not in inside]


def results_at_their_source(instructions: Sequence[Instruction]) -> list[Instruction]:
    """Return the instructions with each result directly behind the loop or call it comes from."""
    results: dict[int, list[Instruction]] = {}
    for i in instructions:
        if i.op == "result":
            results.setdefault(i.args[0], []).append(i)
    if not results:
        return list(instructions)
    order: list[Instruction] = []
    for i in instructions:
        if i.op != "result":
            order.append(i)
            order.extend(results.get(i.id, ()))
    return order


def cut(plan: Sequence[Instruction], length: int) -> InstructionParts:
    """Return the parts of a plan.

    >>> from linkwright.program import lower, program
    >>> p = program("f", {"x": ["x", "y"]}, {"f": lambda x, y: [(x + y) * x]})
    >>> [len(part.instructions) for part in cut(lower(p).instructions, 3).parts]
    [3, 1]
    """
    pieces = _pieces(plan, length)
    piece_of = {i.id: k for k, piece in enumerate(pieces) for i in piece}
    last_read: dict[int, int] = {}
    for k, piece in enumerate(pieces):
        for i in piece:
            for a in reads(i):
                last_read[a] = k
    again = {i.id for i in plan if i.op in ("const", "input")}
    crossing = {a for a, k in last_read.items() if piece_of.get(a, k) != k} - again
    slots: dict[int, int] = {}
    free: list[int] = []
    size = 0
    parts = []
    for k, piece in enumerate(pieces):
        for i in piece:
            if i.id in crossing:
                if not free:
                    free.append(size)
                    size += 1
                slots[i.id] = free.pop()
        parts.append(InstructionPart(piece, dict(slots)))
        free.extend(sorted(slots.pop(a) for a in list(slots) if last_read[a] <= k))
    return InstructionParts(parts, size, {i.id: i for i in plan})


def _pieces(plan: Sequence[Instruction], length: int) -> list[Sequence[Instruction]]:
    pieces = []
    start = 0
    while start < len(plan):
        end = min(start + length, len(plan))
        while end < len(plan) and plan[end].op == "result":
            end += 1
        pieces.append(plan[start:end])
        start = end
    return pieces
