from linkwright.heritage.systolic.assembler import assemble as assemble
from linkwright.heritage.systolic.cells import faddeev as faddeev
from linkwright.heritage.systolic.code import ArrayCode as ArrayCode, read_code as read_code
from linkwright.heritage.systolic.cost import (
    STEP_CYCLES as STEP_CYCLES,
    ArrayCost as ArrayCost,
    array_cost as array_cost,
    pseudo_inverse_cost as pseudo_inverse_cost,
)
from linkwright.heritage.systolic.debugger import Debugger as Debugger
from linkwright.heritage.systolic.fixed import (
    ArrayFault as ArrayFault,
    to_numbers as to_numbers,
    to_words as to_words,
)
from linkwright.heritage.systolic.listing import disassemble as disassemble
from linkwright.heritage.systolic.machine import ArrayMachine as ArrayMachine
from linkwright.heritage.systolic.memory import (
    DataQueue as DataQueue,
    data_scales as data_scales,
    read_data as read_data,
)
from linkwright.heritage.systolic.programs import (
    ArrayRun as ArrayRun,
    faddeev_data as faddeev_data,
    program_source as program_source,
    run_faddeev as run_faddeev,
    run_pseudo_inverse as run_pseudo_inverse,
)
from linkwright.heritage.systolic.roots import root as root
