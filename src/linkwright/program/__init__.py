"""Programs: staged assignments that passes make small and backends make fast.

What differentiates, optimizes, searches and reports is imported when it is first used: a kernel
that comes from the cache needs none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.lazy import lazy_names
from linkwright.program.code import Code, Instruction, LoopCode
from linkwright.program.interpret import interpret, interpret_with_bound
from linkwright.program.program import (
    Assign,
    Call,
    Carried,
    Loop,
    Namer,
    Program,
    ProgramError,
    ProgramPort,
    Scanned,
    Solve,
    Stacked,
    Statement,
    check,
    gated,
    program,
    walk,
)
from linkwright.program.rates import STAGES, Rate, symbol_rate

if TYPE_CHECKING:
    from linkwright.program.counts import Counts, count_operations, counts_as_dict, stage_counts
    from linkwright.program.derivatives import (
        Sparsity,
        derivative,
        hessian_vector,
        jacobian_vector,
        sparsity,
        vector_jacobian,
    )
    from linkwright.program.linear import LinearError, elimination_order, ldlt, lu
    from linkwright.program.lowering import lower
    from linkwright.program.passes import PASSES, optimize, schedule_code, split
    from linkwright.program.report import as_text, ops_as_dict, ops_table, passes_table
    from linkwright.program.search import thorough
    from linkwright.program.small_systems import faddeev_program

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
    "Program",
    "ProgramError",
    "ProgramPort",
    "Rate",
    "Scanned",
    "Solve",
    "Sparsity",
    "Stacked",
    "Statement",
    "as_text",
    "check",
    "count_operations",
    "counts_as_dict",
    "derivative",
    "elimination_order",
    "faddeev_program",
    "gated",
    "hessian_vector",
    "interpret",
    "interpret_with_bound",
    "jacobian_vector",
    "ldlt",
    "lower",
    "lu",
    "ops_as_dict",
    "ops_table",
    "optimize",
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

_HOMES = {
    ".counts": ("Counts", "count_operations", "counts_as_dict", "stage_counts"),
    ".derivatives": (
        "Sparsity",
        "derivative",
        "hessian_vector",
        "jacobian_vector",
        "sparsity",
        "vector_jacobian",
    ),
    ".linear": ("LinearError", "elimination_order", "ldlt", "lu"),
    ".lowering": ("lower",),
    ".passes": ("PASSES", "optimize", "schedule_code", "split"),
    ".report": ("as_text", "ops_as_dict", "ops_table", "passes_table"),
    ".search": ("thorough",),
    ".small_systems": ("faddeev_program",),
}

if not TYPE_CHECKING:  # hidden from type checkers, so that they report an unknown name
    __getattr__ = lazy_names(__name__, _HOMES)
