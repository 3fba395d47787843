"""Written programs as files in a folder.

A target is one of `TARGETS`. Files are written under another name and renamed, so that a file
is never seen half written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from linkwright.algebra.foreign import ForeignFunction
from linkwright.algebra.printers.names import c_identifier
from linkwright.backends.c.externals import linked_prototype
from linkwright.backends.foreign import foreign_functions
from linkwright.backends.llvm.backend import has_fma
from linkwright.base.arguments import worded
from linkwright.base.errors import Error
from linkwright.base.files import write_text
from linkwright.base.results import Result
from linkwright.codegen.c import c_kernel, c_program
from linkwright.codegen.content import METHODS, Content, InputItem, make_content, system_of
from linkwright.codegen.documentation import documentation
from linkwright.codegen.firmware import firmware
from linkwright.codegen.python import python_program
from linkwright.codegen.script import listed, number
from linkwright.mechanism import Mechanism
from linkwright.mechanism.parts import Timing
from linkwright.mechanism.plausibility import refuse_unreal
from linkwright.system import System
from linkwright.system.controllers import controller_phases

_YOURS = frozenset({"hooks.c"})  # never replaced: the user may have written in it
FLAGS = "-std=c99 -O2 -Wall -Wextra -pedantic -ffp-contract=off"


@dataclass(frozen=True, slots=True)
class WrittenProgram(Result):
    """What was written: the files, and how to build and run them."""

    files: tuple[Path, ...]
    commands: tuple[str, ...]


@worded
def codegen(
    model: Mechanism | System | Any,
    folder: str | os.PathLike[str],
    *,
    target: str = "c",
    controllers: Iterable[str] = (),
    timing: Timing | None = None,
    channels: Sequence[str] = (),
    units: str = "auto",
    formulation: str = "auto",
    methods: Sequence[str] = METHODS,
    fuse: bool | None = None,
    force: bool = False,
) -> WrittenProgram:
    """Write the stand-alone simulation program of a model, or its controllers as firmware.

    Args:
        model: a mechanism, a robot or a System.
        folder: where the files go; it is made where it is not there.
        target: one of `TARGETS`: "c", "python", "kernel" for the bare equations in C, or "firmware"
            for the controllers of a System in C, without allocation, input or output.
        controllers: of firmware, the names of the members; all that have a rate by default.
        timing: step, end and interval of output, which a parameter file can change; the mechanism's
            by default.
        channels: kinds of quantities to put out beside the mechanism's outputs: "coordinates",
            "speeds", "accelerations", "forces", "moments".
        units: what users see: "model", "deg" or "in-lb"; by default in-lb for models in inches.
        formulation: how the equations of a mechanism are derived; a System says so itself.
        methods: integration methods with fixed steps that the program offers, the usual one first.
        fuse: whether products and sums round once, with `fma`; by default as in native runs on this
            machine, so that the numbers are the same bits.
        force: replace files that are there, but for hooks.c, which is the user's.

    >>> import tempfile
    >>> from linkwright.models import load_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = codegen(load_model("pendulum"), folder)
    >>> [path.name for path in done.files]
    ['pendulum.c', 'pendulum.par', 'Makefile', 'hooks.c', 'README']
    """
    if target not in TARGETS:
        raise Error(f"there is no target {target!r}", remedy=f"choose one of {', '.join(TARGETS)}")
    where = Path(folder)
    if where.is_file():
        raise Error(f"{where} is a file, and a program is a folder of files", remedy="name another")
    if target == "firmware":
        made, commands = _firmware_target(system_of(model), controllers, fuse)
    else:
        refuse_unreal(system_of(model).mechanism)
        content = make_content(
            model,
            timing=timing,
            channels=channels,
            units="model" if target == "kernel" else units,
            formulation=formulation,
            methods=methods,
            fuse=fuse,
            guarded=target != "kernel",
        )
        made, commands = _PROGRAMS[target](content)
    there = [name for name in made if (where / name).exists()]
    if there and not force:
        raise Error(
            f"{where} has {', '.join(there)} already",
            remedy="choose another folder, or replace them with force",
        )
    written = {where / name: text for name, text in made.items() if name not in _YOURS & {*there}}
    _write_all(written)
    return WrittenProgram(tuple(written), tuple(commands))


def _write_all(texts: Mapping[Path, str]) -> None:
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Error(f"cannot write {error.filename}: {error.strerror}") from error
        write_text(path, text, replace=True)


def file_name(content: Content) -> str:
    """Return the name of the model as one for files."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", content.system.name).lstrip(".-") or "model"


# -- targets ---------------------------------------------------------------------------------------
Texts = tuple[dict[str, str], list[str]]


def _c_target(content: Content) -> Texts:
    name = file_name(content)
    made = {
        f"{name}.c": c_program(content, name),
        f"{name}.par": parameter_file(content),
        "Makefile": _makefile(name),
        "hooks.c": files("linkwright.codegen").joinpath("hooks.c").read_text(encoding="utf-8"),
        "README": _readme(content, ["make", f"./{name} {name}.par"], _C_FILES),
    }
    return made, [*_to_link(content), "make", f"./{name} {name}.par -e echo.par"]


def _python_target(content: Content) -> Texts:
    name = file_name(content)
    run = f"python3 {name}.py {name}.par"
    made = {
        f"{name}.py": python_program(content, name),
        f"{name}.par": parameter_file(content),
        "README": _readme(content, [run], _PYTHON_FILES),
    }
    return made, [f"{run} -e echo.par"]


def _kernel_target(content: Content) -> Texts:
    name = file_name(content)
    header, source = c_kernel(content, name)
    return {f"{name}.h": header, f"{name}.c": source}, [f"cc {FLAGS} -c {name}.c"]


def _firmware_target(system: System, controllers: Iterable[str], fuse: bool | None) -> Texts:
    phases = controller_phases(system, controllers)
    name = c_identifier(re.sub(r"[^A-Za-z0-9]+", "_", system.name).strip("_").lower() or "model")
    header, source = firmware(phases, name, fuse=has_fma() if fuse is None else fuse)
    flags = "-std=c99 -O2 -Wall -Wextra -Wpedantic -Wconversion -ffp-contract=off"
    return {f"{name}.h": header, f"{name}.c": source}, [f"cc {flags} -c {name}.c"]


_PROGRAMS: dict[str, Callable[[Content], Texts]] = {
    "c": _c_target,
    "python": _python_target,
    "kernel": _kernel_target,
}
TARGETS = (*_PROGRAMS, "firmware")
"""What can be written."""


def parameter_file(content: Content) -> str:
    """Return the parameter file with all defaults."""
    timing, about = content.timing, content.mechanism.doc or content.system.name
    counted = "base ticks" if content.sampled else "time steps"
    lines = [
        "PARSFILE",
        f"* Defaults of the simulation program of: {_plain(about)}",
        "* A line is a keyword, a value, and what you like; lines that start with * are comments.",
        "",
        f"TITLE {_plain(about)}",
        "",
        "* RUN",
        "",
        _line("STEP", number(timing.step), "time step of the integration (s)"),
        _line("STOPT", number(timing.until), "time at which the run ends (s)"),
        _line("IPRINT", number(timing.every), f"number of {counted} between outputs (counts)"),
        _line("METHOD", content.schedules[0].method.name, listed(_methods(content))),
    ]
    if any(tick.streams for tick in content.phases.ticks):
        lines.append(_line("SEED", "0", "seed of noise (-)"))
    groups: tuple[tuple[str, Sequence[InputItem]], ...] = (
        ("PARAMETER VALUES", content.parameters),
        ("INPUTS", content.inputs),
        ("INITIAL CONDITIONS: COORDINATES", content.coordinates),
        ("INITIAL CONDITIONS: SPEEDS", content.speeds),
        ("INITIAL CONDITIONS: STATES", content.states),
        ("INITIAL CONDITIONS: DISCRETE STATES", content.memory),
    )
    for heading, items in groups:
        if items:
            lines += ["", f"* {heading}", ""]
        lines += [_line(i.name, number(i.shown), _plain(f"{i.doc} ({i.unit})")) for i in items]
    return "\n".join([*lines, "", "END", ""])


def _line(name: str, value: str, about: str) -> str:
    return f"{name:<15} {value:<24} {about}"


def _plain(text: str) -> str:
    return "".join(c if " " <= c <= "~" else "?" for c in text)


def _to_link(content: Content) -> list[str]:
    """Return what to say about foreign functions that have no source here."""
    return [
        f"# put the file that defines `{linked_prototype(f)}` behind EXTRA= of make"
        for f in _foreign(content)
        if not f.c_source
    ]


def _methods(content: Content) -> list[str]:
    return [schedule.method.name for schedule in content.schedules]


def _foreign(content: Content) -> list[ForeignFunction]:
    """Return the foreign functions that a program calls, each once."""
    made = [main for _, _, main in content.programs]
    return list({f.name: f for main in made for f in foreign_functions(main)}.values())


def _makefile(name: str) -> str:
    return f"""# make                builds the simulation program
# make HOOKS=hooks.c  builds it with the functions of hooks.c
# make EXTRA=file.c   links foreign functions that you have written
CC ?= cc
# fused multiply-adds in line, where the compiler can: several times as fast, and the same bits
FOR = -march=native
NATIVE := $(shell $(CC) $(FOR) -x c -c /dev/null -o /dev/null 2>/dev/null && echo $(FOR))
CFLAGS ?= {FLAGS} $(NATIVE)
HOOKS =
EXTRA =

{name}: {name}.c $(HOOKS) $(EXTRA)
\t$(CC) $(CFLAGS) $(if $(HOOKS),-DSIM_HOOKS) -o $@ {name}.c $(HOOKS) $(EXTRA) -lm

clean:
\trm -f {name}

.PHONY: clean
"""


_C_FILES = """\
- NAME.c: the whole program: equations, then the part that reads, integrates and writes
- NAME.par: a parameter file with all defaults
- Makefile: builds it; any C99 compiler does
- hooks.c: functions of your own, where the program is to do more (`make HOOKS=hooks.c`)
"""
_PYTHON_FILES = """\
- NAME.py: the whole program; it needs Python 3.11 and NumPy
- NAME.par: a parameter file with all defaults
"""
_README = """\
Files
-----
FILES
Build and run
-------------
COMMANDS

The program reads a parameter file, closes loops, writes an echo file if asked to (-e), which is
itself a parameter file and repeats the run exactly, integrates with a fixed step, and writes its
results as NAME.erd (text: names, units, labels) and NAME.erd.bin (32-bit floats, one record for
each sample). With -f it writes the values at the end as a parameter file.

METHOD chooses how it is integrated. Sampled members run at their ticks, and events are found where
they happen. After each step coordinates of closed loops are moved onto their relations. The
equations are bound to the speeds that the constraints eliminated when the program was written, so
it does not go through configurations in which those cannot be solved for.

Model
-----
"""


def _readme(content: Content, commands: Sequence[str], listing: str) -> str:
    text = _README.replace("FILES", listing).replace(
        "COMMANDS", "\n".join(f"    {command}" for command in commands)
    )
    text = text.replace("NAME", file_name(content))
    return text + "\n".join(documentation(content)) + "\n"
