"""Several Programs in one unit of native code."""

import ctypes

import numpy as np

from linkwright.algebra import symbol
from linkwright.backends.llvm import codegen
from linkwright.backends.llvm.compile import compile_ir, load
from linkwright.backends.llvm.lines import IrModule
from linkwright.program import Call, program
from linkwright.program.lowering import lower

MANY = 40


def test_each_program_of_a_unit_calls_its_own() -> None:
    x, y = symbol("x", "coordinate"), symbol("y", "coordinate")
    module = IrModule("f64", 4)
    for k in range(MANY):
        # code that was written is gone when the next is made, in memory that may be the same
        inner = program(f"inner{k}", {"x": [x]}, {"f": [(k + 2) * x + k]})
        call = Call(inner, (x,), (y,))
        outer = program("outer", {"x": [x]}, {"g": [y]}, statements=[call])
        codegen.write_function(module, lower(outer), f"outer{k}", 1)
    names = [f"outer{k}" for k in range(MANY)]
    code = load(compile_ir(module.text()), names)
    given, found = np.array([0.5]), np.zeros(1)
    for k, name in enumerate(names):
        code.function(name, None, ctypes.c_void_p, ctypes.c_void_p)(
            given.ctypes.data, found.ctypes.data
        )
        assert found[0] == (k + 2) * 0.5 + k, name
