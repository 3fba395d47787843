"""Programs: staged assignments that passes make small and backends make fast."""

from linkwright.program.code import Code, Instruction, LoopCode
from linkwright.program.counts import Counts, count, counts_as_dict, stage_counts
from linkwright.program.derivatives import (
    Sparsity,
    derivative,
    hessian_vector,
    jacobian_vector,
    sparsity,
    vector_jacobian,
)
from linkwright.program.interpret import interpret, interpret_with_bound
from linkwright.program.linear import LinearError, elimination_order, ldlt, lu
from linkwright.program.lowering import lower
from linkwright.program.passes import PASSES, optimise, schedule_code, split
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
from linkwright.program.report import as_text, ops_as_dict, ops_table, passes_table
from linkwright.program.search import thorough

__all__ = [
    "PASSES",
    "STAGES",
    "Assign",
    "Call",
    "Carried",
    "Code",
    "Counts",
    "Instruction",
    "LinearError",
    "Loop",
    "LoopCode",
    "Namer",
    "Port",
    "Program",
    "ProgramError",
    "Rate",
    "Scanned",
    "Solve",
    "Sparsity",
    "Stacked",
    "Statement",
    "as_text",
    "check",
    "count",
    "counts_as_dict",
    "derivative",
    "elimination_order",
    "hessian_vector",
    "interpret",
    "interpret_with_bound",
    "jacobian_vector",
    "ldlt",
    "lower",
    "lu",
    "ops_as_dict",
    "ops_table",
    "optimise",
    "passes_table",
    "program",
    "schedule_code",
    "sparsity",
    "split",
    "stage_counts",
    "symbol_rate",
    "thorough",
    "vector_jacobian",
    "walk",
]
