"""From the schedule of a run to the text of its native unit: all Programs, and the step."""

from __future__ import annotations

from collections.abc import Mapping

from linkwright.backends.llvm import codegen
from linkwright.backends.llvm.backend import has_fma
from linkwright.backends.llvm.lines import IrModule
from linkwright.backends.llvm.target import host
from linkwright.program import Program, lower
from linkwright.program.code import Code
from linkwright.simulation.native.bundle import SIZES
from linkwright.simulation.native.methods import Method
from linkwright.simulation.native.schedule import make_schedule
from linkwright.system.phases import Phases


def bundle_ir(
    phases: Phases,
    method: Method,
    width: int,
    *,
    packed: int | None = None,
    fuse: bool | None = None,
    more: Mapping[str, Program] | None = None,
) -> str:
    """Return the text of the unit; `packed` angles are one vector, `more` Programs stand in it."""
    module = IrModule("f64", min(4, host().lanes("f64")) if packed is None else packed)
    made = make_schedule(phases, method, dense=width == 1)
    fused = has_fma() if fuse is None else fuse
    codes: dict[int, Code] = {}

    def write(name: str, program: Program) -> None:
        code = codes.get(id(program)) or lower(program, fuse=fused, codes=codes)
        codegen.write_function(module, code, name, width)

    for name, program in (more or {}).items():
        write(name, program)

    for part in made.parts:
        write(f"constants_{part.name}", part.constants)
        if part.name != "step":
            write(part.name, part.main)
    for name, program in made.steps.items():
        write(name, program)
    if method.implicit:  # between its Programs stands an elimination, which is native text
        from linkwright.simulation.native.implicit import step_ir

        module.functions.append(step_ir(len(phases.x), width))
    sizes = [*(part.main.port("p").size for part in made.parts), made.rest]
    values = ", ".join(f"i64 {n}" for n in sizes)
    module.declare([f"@{SIZES} = constant [{len(sizes)} x i64] [{values}]"])
    return module.text()
