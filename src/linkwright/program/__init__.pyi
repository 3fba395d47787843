from linkwright.program.code import Code as Code, Instruction as Instruction, LoopCode as LoopCode
from linkwright.program.counts import (
    Counts as Counts,
    count_operations as count_operations,
    counts_as_dict as counts_as_dict,
    stage_counts as stage_counts,
)
from linkwright.program.derivatives import (
    Sparsity as Sparsity,
    derivative as derivative,
    hessian_vector as hessian_vector,
    jacobian_vector as jacobian_vector,
    sparsity as sparsity,
    vector_jacobian as vector_jacobian,
)
from linkwright.program.interpret import (
    interpret as interpret,
    interpret_with_bound as interpret_with_bound,
)
from linkwright.program.linear import (
    LinearError as LinearError,
    elimination_order as elimination_order,
    ldlt as ldlt,
    lu as lu,
)
from linkwright.program.lowering import lower as lower
from linkwright.program.passes import (
    PASSES as PASSES,
    optimize as optimize,
    schedule_code as schedule_code,
    split as split,
)
from linkwright.program.program import (
    Assign as Assign,
    Call as Call,
    Carried as Carried,
    Loop as Loop,
    Namer as Namer,
    Program as Program,
    ProgramError as ProgramError,
    ProgramPort as ProgramPort,
    Scanned as Scanned,
    Solve as Solve,
    Stacked as Stacked,
    Statement as Statement,
    check as check,
    gated as gated,
    program as program,
    walk as walk,
)
from linkwright.program.rates import STAGES as STAGES, Rate as Rate, symbol_rate as symbol_rate
from linkwright.program.report import (
    as_text as as_text,
    ops_as_dict as ops_as_dict,
    ops_table as ops_table,
    passes_table as passes_table,
)
from linkwright.program.search import thorough as thorough
from linkwright.program.small_systems import faddeev_program as faddeev_program
