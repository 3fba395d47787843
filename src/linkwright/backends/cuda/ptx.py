"""PTX of Programs, by the target NVPTX of LLVM.

A kernel takes the number of rows, then for each array where its rows lie and how far they are
apart, in entries; 0 for one row that all share. The function of a row is the same IR that the CPU
runs, with one lane. PTX has `mul.rn` and `add.rn`, which no assembler fuses, and `fma.rn` where the
Program has fused multiply-adds: each rounds as on the CPU.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm

from linkwright.backends.foreign import foreign_functions
from linkwright.backends.llvm.codegen import write_function
from linkwright.backends.llvm.entries import CORE
from linkwright.backends.llvm.functions.emitter import value_type
from linkwright.backends.llvm.lines import IrModule
from linkwright.base.errors import BackendError, CompileError
from linkwright.program import Program
from linkwright.program.lowering import lower

ENTRY = "rows"
_REGISTERS = ("tid", "ctaid", "ntid")
DECLARED = tuple(f"declare i32 @llvm.nvvm.read.ptx.sreg.{r}.x()" for r in _REGISTERS)
"""What kernels call."""
TRIPLE = "nvptx64-nvidia-cuda"
ARCHITECTURE = "sm_70"
"""The oldest cards that are served; drivers of newer ones compile it for them."""
_NUMBERED = re.compile(r"[ \t]*// callseq \d+.*")
"""Remarks of LLVM that count on from one kernel to the next."""


@lru_cache(maxsize=4)
def _machine(architecture: str) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu=architecture, opt=3, features="+ptx70")


def ptx_of(program: Program, dtype: str = "f64", architecture: str = ARCHITECTURE) -> str:
    """Return the PTX of a Program over rows.

    >>> from linkwright.program import program
    >>> text = ptx_of(program("f", {"x": list("xyz")}, {"f": lambda x, y, z: [x * y + z]}))
    >>> ".visible .entry rows(" in text, text.count("mul.rn.f64")
    (True, 1)
    """
    refuse_functions(program)
    module = IrModule(dtype)
    code = lower(program, fuse=True)
    write_function(module, code, CORE, 1, internal=True)
    module.declare(DECLARED)
    module.functions.append(_entry(dtype, len(code.inputs), len(code.outputs)))
    return assembly(module.text(), architecture)


def assembly(text: str, architecture: str = ARCHITECTURE) -> str:
    """Return the PTX of IR text, optimized."""
    machine = _machine(architecture)
    try:
        parsed = llvm.parse_assembly(text)
        parsed.triple, parsed.data_layout = TRIPLE, str(machine.target_data)
        parsed.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM rejected the IR for a card: {str(error).strip()}") from error
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(parsed, builder)
    return _NUMBERED.sub("", str(machine.emit_assembly(parsed)))


def refuse_functions(program: Program) -> None:
    """Reject a Program that calls a function in Python or C."""
    others = foreign_functions(program)
    if others:
        raise BackendError(
            f"{program.name!r} calls the function {others[0].name!r}, which a card cannot",
            remedy="write it as an expression or a table, or compute on the processor",
        )


def _entry(dtype: str, inputs: int, outputs: int) -> str:
    """Return the kernel: a row for each thread."""
    element, count = value_type(dtype, 1), inputs + outputs
    kinds = ["ptr noalias readonly"] * inputs + ["ptr noalias"] * outputs
    arguments = [f"{kind} %data{k}, i64 %stride{k}" for k, kind in enumerate(kinds)]
    places = []
    for k in range(count):
        places += [
            f"  %o{k} = mul i64 %row, %stride{k}",
            f"  %p{k} = getelementptr {element}, ptr %data{k}, i64 %o{k}",
        ]
    passed = ", ".join(f"ptr %p{k}" for k in range(count))
    return kernel(
        ENTRY, f"i64 %count, {', '.join(arguments)}", [*places, f"  call void @{CORE}({passed})"]
    )


def kernel(name: str, arguments: str, work: Sequence[str]) -> str:
    """Return a kernel that does something for each `%row` below `%count`, one of its arguments."""
    reads = []
    for register in _REGISTERS:
        call = f"call i32 @llvm.nvvm.read.ptx.sreg.{register}.x()"
        reads += [f"  %{register}.32 = {call}", f"  %{register} = zext i32 %{register}.32 to i64"]
    return "\n".join(
        [
            f"define ptx_kernel void @{name}({arguments}) {{",
            *reads,
            "  %first = mul i64 %ctaid, %ntid",
            "  %row = add i64 %first, %tid",
            "  %within = icmp ult i64 %row, %count",
            "  br i1 %within, label %work, label %done",
            "work:",
            *work,
            "  br label %done",
            "done:",
            "  ret void",
            "}",
            "",
        ]
    )
