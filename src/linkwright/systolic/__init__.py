"""A systolic array of 256 processing elements: its cells, its cost, and the machine itself.

`faddeev` computes D + C A⁻¹ B by the cells of the array, in floats or in its fixed point, and
`array_cost` says what that takes. The package needs nothing of the others but their errors.
"""

from __future__ import annotations

from linkwright.systolic.assembler import assemble
from linkwright.systolic.cells import faddeev
from linkwright.systolic.code import ArrayCode, read_code
from linkwright.systolic.cost import STEP_CYCLES, ArrayCost, array_cost, pseudo_inverse_cost
from linkwright.systolic.debugger import Debugger
from linkwright.systolic.fixed import ArrayFault, to_numbers, to_words
from linkwright.systolic.listing import disassemble
from linkwright.systolic.machine import ArrayMachine
from linkwright.systolic.memory import DataQueue, data_scales, read_data
from linkwright.systolic.programs import ArrayRun, faddeev_data, program_source, run_faddeev
from linkwright.systolic.roots import root

__all__ = [
    "STEP_CYCLES",
    "ArrayCode",
    "ArrayCost",
    "ArrayFault",
    "ArrayMachine",
    "ArrayRun",
    "DataQueue",
    "Debugger",
    "array_cost",
    "assemble",
    "data_scales",
    "disassemble",
    "faddeev",
    "faddeev_data",
    "program_source",
    "pseudo_inverse_cost",
    "read_code",
    "read_data",
    "root",
    "run_faddeev",
    "to_numbers",
    "to_words",
]
