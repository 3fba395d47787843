"""Primitive code: what a Program executes, operation by operation.

`lower` turns a Program into `Code`: a list of instructions with at most three operands, each with
the rate at which it changes. It is the one place where n-ary sums and products are put into a
sequence of binary operations, so every backend rounds alike and the operation counts are counts of
what is executed. Within a sum or product, what changes seldom is combined first: parameters meet
parameters in the parameter stage, where they cost nothing.

Instructions by `op`:

- `const` (data: float), `input` (data: port index, element);
- `add`, `sub`, `mul`, `div`, `neg`; with fused operations `fma` a*b+c, `fms` a*b-c, `fnma` c-a*b;
- `sqrt`, `abs`, `sign`, `min`, `max` (two operands each for the last two);
- conditions `lt`, `le`, `eq`, `ne`, `and`, `or`, `not`; `number` turns a condition into 1.0 or 0.0;
- `select` (condition, yes, no);
- functions by their name (`sin`, `atan2`, ...), `table1`, `table2`, `foreign` with their data
  object;
- `loop` (data: `LoopCode`), `call` (data: `Code`), and `result` (data: index), which picks a value
  from one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from linkwright.algebra.functions import TRUTH_VALUED
from linkwright.program.program import ProgramPort
from linkwright.program.rates import Rate

CONDITIONS = TRUTH_VALUED
COMMUTATIVE = frozenset({"add", "mul", "min", "max", "eq", "ne", "and", "or"})


@dataclass(slots=True)
class Instruction:
    """One primitive operation; `id` names its value, `name` is its local symbol's, if any."""

    id: int
    op: str
    args: tuple[int, ...]
    data: Any
    rate: Rate
    name: str = ""


@dataclass(slots=True)
class LoopCode:
    """The inside of a loop instruction.

    The instruction's operands are the initial values of the carried ones, then the scanned arrays
    one after the other. Its results are the final carried values, then the stacked arrays one after
    the other. `names` are those of the symbols that stand for the carried and then the scanned ones
    inside.
    """

    count: int
    carried: tuple[int, ...]
    following: tuple[int, ...]
    scanned: tuple[int, ...]
    stacked: tuple[int, ...]
    body: list[Instruction]
    names: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Code:
    """Lowered Program: `outputs` holds, for each output port, the ids of its entries.

    Equal to itself alone, so that what is remembered of it by a writer can have it as its key; an
    `id()` would be given to other code when this is gone.
    """

    name: str
    inputs: tuple[ProgramPort, ...]
    outputs: tuple[tuple[ProgramPort, tuple[int, ...]], ...]
    instructions: list[Instruction]
    size: int
    gate: int | None = None
    """The input, if any, that is zero where all outputs are: code may leave at once then."""

    def output_ids(self) -> tuple[int, ...]:
        """Return the ids of all output entries, in order."""
        return tuple(i for _, ids in self.outputs for i in ids)

    def walk(self) -> Iterator[Instruction]:
        """Yield all instructions, those inside loops after their loop."""
        stack = [iter(self.instructions)]
        while stack:
            for instruction in stack[-1]:
                yield instruction
                if instruction.op == "loop":
                    stack.append(iter(instruction.data.body))
                    break
            else:
                stack.pop()
