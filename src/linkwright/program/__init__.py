"""Programs: staged assignments that passes make small and backends make fast."""

from linkwright.program.code import Code, Instruction, LoopCode
from linkwright.program.counts import Counts, count, counts_as_dict, stage_counts
from linkwright.program.interpret import interpret, interpret_with_bound
from linkwright.program.lowering import lower
from linkwright.program.program import (
    Assign,
    Call,
    Carried,
    Loop,
    Namer,
    Port,
    Program,
    ProgramError,
    Scanned,
    Solve,
    Stacked,
    Statement,
    check,
    program,
    walk,
)
from linkwright.program.rates import STAGES, Rate, symbol_rate

__all__ = [
    "STAGES",
    "Assign",
    "Call",
    "Carried",
    "Code",
    "Counts",
    "Instruction",
    "Loop",
    "LoopCode",
    "Namer",
    "Port",
    "Program",
    "ProgramError",
    "Rate",
    "Scanned",
    "Solve",
    "Stacked",
    "Statement",
    "check",
    "count",
    "counts_as_dict",
    "interpret",
    "interpret_with_bound",
    "lower",
    "program",
    "stage_counts",
    "symbol_rate",
    "walk",
]
