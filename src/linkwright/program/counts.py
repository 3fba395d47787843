"""Operation counts in AUTOSIM's convention, made stricter where it could be gamed.

A binary + or - is one add; *, /, a square or a square root one multiply; unary minus is free; calls
of sine, cosine and other functions are counted apart, and so are comparisons, selections, minima
and absolute values. A higher power counts the multiplications it takes. The parameter stage is
free, because it runs once. Counts are of executed operations: a loop counts its body as often as it
runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from linkwright.algebra.functions import FUNCTIONS
from linkwright.base.arguments import worded
from linkwright.base.results import Result
from linkwright.program.code import Code, Instruction
from linkwright.program.lowering import lower
from linkwright.program.program import Program
from linkwright.program.rates import STAGES, Rate

_FREE = frozenset({"const", "input", "neg", "number", "result", "inner"})
_ADD = frozenset({"add", "sub"})
_MUL = frozenset({"mul", "div", "sqrt"})
_FUSED = frozenset({"fma", "fms", "fnma"})


@dataclass(frozen=True, slots=True)
class Counts(Result):
    """Numbers of executed operations."""

    add: int = 0
    mul: int = 0
    call: int = 0
    select: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.add + other.add,
            self.mul + other.mul,
            self.call + other.call,
            self.select + other.select,
        )

    def times(self, n: int) -> Counts:
        """Return the counts of n repetitions."""
        return Counts(n * self.add, n * self.mul, n * self.call, n * self.select)

    @property
    def total(self) -> int:
        """Adds and multiplies together."""
        return self.add + self.mul

    def as_dict(self) -> dict[str, int]:
        """Return the four numbers by name."""
        return {"add": self.add, "mul": self.mul, "call": self.call, "select": self.select}


def stage_counts(program: Program | Code) -> dict[Rate, Counts]:
    """Return the operations of each stage.

    >>> from linkwright.program import program
    >>> p = program("f", {"k": ["a", "b"]}, {"f": lambda a, b: [a * b + a]})
    >>> stage_counts(p)[Rate.PARAMETER]
    Counts(add=1, mul=1, call=0, select=0)
    """
    code = program if isinstance(program, Code) else lower(program)
    return _stages(code.instructions)


def _stages(instructions: Iterable[Instruction]) -> dict[Rate, Counts]:
    result = dict.fromkeys(STAGES, Counts())
    simple: dict[tuple[Rate, str], int] = {}
    for instruction in instructions:
        op = instruction.op
        if op == "loop":
            inner = _stages(instruction.data.body)
            own = sum(inner.values(), start=Counts()).times(instruction.data.count)
        elif op == "call":
            inner = _stages(instruction.data.instructions)
            own = sum(inner.values(), start=Counts())
        else:
            place = (instruction.rate, op)
            simple[place] = simple.get(place, 0) + 1
            continue
        result[max(instruction.rate, Rate.PARAMETER)] += own
    for (rate, op), times in simple.items():
        result[max(rate, Rate.PARAMETER)] += counts_of(op).times(times)
    return result


def counts_of(op: str) -> Counts:
    """Return what one operation counts."""
    if op in _FREE:
        return Counts()
    if op in _ADD:
        return Counts(add=1)
    if op in _MUL:
        return Counts(mul=1)
    if op in _FUSED:
        return Counts(add=1, mul=1)
    function = FUNCTIONS.get(op)
    selects = function is not None and function.column == "select"
    return Counts(select=1) if selects else Counts(call=1)


@worded
def count_operations(program: Program | Code) -> Counts:
    """Return the operations of one evaluation: every stage but parameters and outputs.

    Args:
        program: a Program, or its lowered code.

    >>> from linkwright.algebra import symbol, sin
    >>> from linkwright.program import program
    >>> q = symbol("q", "coordinate")
    >>> count_operations(program("f", {"q": q}, {"f": 2 * sin(q) + q**2}))
    Counts(add=1, mul=2, call=1, select=0)
    """
    stages = stage_counts(program)
    return sum(
        (c for rate, c in stages.items() if Rate.PARAMETER < rate < Rate.OUTPUT), start=Counts()
    )


def counts_as_dict(program: Program) -> dict[str, object]:
    """Return the counts as plain data for JSON: `derivative`, `stages` and `parameters`."""
    code = lower(program)
    stages = stage_counts(code)
    return {
        "derivative": count_operations(code).as_dict(),
        "stages": {rate.label: counts.as_dict() for rate, counts in stages.items()},
        "parameters": sum(
            1 for i in code.instructions if i.op == "input" and i.rate == Rate.PARAMETER
        ),
    }
