"""The stand-alone simulation program in C99, and the bare kernel for embedding.

The equations stand first in the file and see no header but `math.h`, so that no name of the model
meets a macro of the C library. Tables of names, units and defaults follow, then functions that call
the equations with the arrays of the program, then the fixed part (`runtime.c`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files

from linkwright.algebra.printers.names import c_identifier
from linkwright.backends.c.helpers import LIBRARY
from linkwright.backends.c.writer import File, write_function
from linkwright.backends.source import Names
from linkwright.codegen.content import Content, InputItem, OutputChannel
from linkwright.codegen.documentation import documentation, origin
from linkwright.program import Code

_INCLUDES = ("ctype", "stdint", "stdio", "stdlib", "string", "time")
_POSIX = (
    "#if defined(__unix__) || defined(__APPLE__)",
    "#define _POSIX_C_SOURCE 200112L /* for lstat and chmod */",
    "#endif",
)
_POSIX_INCLUDES = ("#ifdef _POSIX_C_SOURCE", "#include <sys/stat.h>", "#endif")
_ARGUMENTS = {
    "q": "q",
    "u": "u",
    "p": "sim_p",
    "w": "sim_w",
    "t": "&t",
    "constants": "sim_constants",
    "work": "sim_work",
    "q_dot": "q_dot",
    "u_dot": "u_dot",
    "y": "y",
    "g": "g",
    "G": "jacobian",
}


def c_program(content: Content, file_name: str) -> str:
    """Return the whole program in one file."""
    file, _ = _equations(content, "equations", static=True)
    return "\n".join(
        [
            _comment([*documentation(content), "", *_ABOUT]),
            *_POSIX,
            "#include <math.h>",
            "",
            *file.preamble(),
            *file.functions,
            *(f"#include <{name}.h>" for name in _INCLUDES),
            *_POSIX_INCLUDES,
            "",
            *_tables(content, file_name),
            *_globals(content),
            _callers(content),
            files("linkwright.codegen").joinpath("runtime.c").read_text(encoding="utf-8"),
        ]
    )


_ABOUT = (
    "Build with `make`, run with `./NAME [PARSFILE] [-e ECHO] [-o OUTPUT]`; `--help` says more.",
    "A parameter file starts with the record PARSFILE; then each line is a keyword and its value:",
    "any name above, Q(i), U(i), STEP, STOPT, IPRINT, METHOD (midpoint or rk4), TITLE, or PARSFILE",
    "with the name of another file; a line that starts with * is a comment; END is the end.",
)


def _stages(content: Content) -> dict[str, Code]:
    """Return the codes of all stages by name."""
    found = {
        "prepare": content.prepare,
        "derivative": content.derivative,
        "output": content.output,
        "closure": content.closure,
    }
    return {stage: code for stage, code in found.items() if code is not None}


def _equations(content: Content, prefix: str, *, static: bool) -> tuple[File, dict[str, str]]:
    """Return the file with a function for each stage, and their prototypes."""
    file = File("double", names=Names(c_identifier, LIBRARY))
    stages = _stages(content)
    titles = {stage: file.names(f"{prefix}_{stage}") for stage in stages}
    prototypes = {
        stage: write_function(file, code, titles[stage], static=static)
        for stage, code in stages.items()
    }
    return file, prototypes


# -- tables ----------------------------------------------------------------------------------------
def c_string(text: str) -> str:
    r"""Return a text as a string of C, in ASCII.

    >>> c_string('5" \\ θ ??')
    '"5\\" \\\\ \\? \\?\\?"'
    """
    kept = "".join(c if " " <= c <= "~" else "?" for c in text)
    for character in ("\\", '"', "?"):
        kept = kept.replace(character, "\\" + character)
    return f'"{kept}"'


def _size(code: Code, name: str) -> int:
    ports = [*code.inputs, *(port for port, _ in code.outputs)]
    return next((port.size for port in ports if port.name == name), 0)


def _tables(content: Content, name: str) -> Iterable[str]:
    sizes = {
        "Q": len(content.coordinates),
        "U": len(content.speeds),
        "P": len(content.parameters),
        "W": len(content.inputs),
        "Y": len(content.channels),
        "G": len(content.relations),
        "FREE": content.free,
        "COMPUTED": len(content.computed),
        "CORRECTED": len(content.corrected),
        "CONSTANTS": _size(content.prepare, "constants"),
        "WORK": _size(content.derivative, "work"),
    }
    yield "/* sizes of the arrays */"
    yield "enum {"
    yield ",\n".join(f"    SIM_{key} = {size}" for key, size in sizes.items())
    yield "};"
    timing = content.timing
    yield f"#define SIM_DEFAULT_STEP {float(timing.step)!r}"
    yield f"#define SIM_DEFAULT_STOP {float(timing.until)!r}"
    yield f"#define SIM_DEFAULT_EVERY {float(timing.every)!r}"
    m = content.mechanism
    yield f"static const char *const sim_name = {c_string(name)};"
    yield f"static const char *const sim_about = {c_string(m.doc or m.name)};"
    yield f"static const char *const sim_origin = {c_string(origin(content))};"
    yield ""
    yield "/* a value that users give: inside, it is shown*factor */"
    yield "struct sim_item { const char *name, *unit, *about; double shown, factor; };"
    yield from _item_table("parameters", content.parameters)
    yield from _item_table("inputs", content.inputs)
    yield from _item_table("coordinates", content.coordinates)
    yield from _item_table("speeds", content.speeds)
    yield "/* a channel of results: inside it is shown*factor */"
    yield "struct sim_channel {"
    yield "    const char *short_name, *long_name, *unit, *general, *body;"
    yield "    double factor;"
    yield "};"
    yield f"static const struct sim_channel sim_channels[{len(content.channels) + 1}] = {{"
    yield from (f"    {_channel(c)}," for c in content.channels)
    yield '    {"", "", "", "", "", 1.0}'
    yield "};"
    yield "/* coordinates that close the loops at the start, and after each step */"
    for name, places in (("computed", content.computed), ("corrected", content.corrected)):
        texts = "".join(f"{k}, " for k in places)
        yield f"static const int sim_{name}[{len(places) + 1}] = {{{texts}0}};"
    yield ""


def _item_table(name: str, items: Sequence[InputItem]) -> Iterable[str]:
    yield f"static const struct sim_item sim_{name}[{len(items) + 1}] = {{"
    for i in items:
        texts = ", ".join(c_string(x) for x in (i.name, i.unit, i.doc))
        yield f"    {{{texts}, {i.shown!r}, {i.factor!r}}},"
    yield '    {"", "", "", 0.0, 1.0}'
    yield "};"


def _channel(c: OutputChannel) -> str:
    texts = ", ".join(c_string(x) for x in (c.short, c.doc, c.unit, c.general, c.body))
    return f"{{{texts}, {c.factor!r}}}"


# -- calls -----------------------------------------------------------------------------------------
def _globals(content: Content) -> Iterable[str]:
    yield "static double sim_p[SIM_P + 1], sim_w[SIM_W + 1]; /* parameters, inputs */"
    if _size(content.prepare, "constants"):
        yield "static double sim_constants[SIM_CONSTANTS]; /* what depends on parameters alone */"
    if _size(content.derivative, "work"):
        yield "static double sim_work[SIM_WORK]; /* what the outputs need of the derivative */"
    yield ""


def _callers(content: Content) -> str:
    """Return functions of one shape, which pass the program's arrays to the equations."""
    codes = _stages(content)
    shapes = {
        "prepare": "sim_prepare(void)",
        "derivative": "sim_derivative(\n    double t, const double *q, const double *u, "
        "double *q_dot, double *u_dot)",
        "output": "sim_outputs(double t, const double *q, const double *u, double *y)",
        "closure": "sim_closure(double t, const double *q, double *g, double *jacobian)",
    }
    unused = {
        "derivative": ("t", "q", "u", "q_dot", "u_dot"),
        "output": ("t", "q", "u"),
        "closure": ("t", "q", "g", "jacobian"),
    }
    texts = []
    for stage, shape in shapes.items():
        code = codes.get(stage)
        lines = [f"    (void){x};" for x in unused.get(stage, ())]
        if code is not None:
            ports = [*code.inputs, *(port for port, _ in code.outputs)]
            passed = ", ".join(_ARGUMENTS[port.name] for port in ports)
            lines.append(f"    equations_{stage}({passed});")
        texts.append(f"static void {shape}\n{{\n" + "\n".join(lines) + "\n}\n")
    return "\n".join(texts)


# -- the kernel ------------------------------------------------------------------------------------
def c_kernel(content: Content, file_name: str) -> tuple[str, str]:
    """Return the header and the source of the bare equations."""
    name = c_identifier(file_name.replace("-", "_").replace(".", "_"))
    file, found = _equations(content, name, static=False)
    prototypes = [
        line for stage, text in found.items() for line in (_KERNEL[stage], f"{text};", "")
    ]
    guard = f"{name.upper()}_H"
    arrays = {
        "q": content.coordinates,
        "u": content.speeds,
        "p": content.parameters,
        "w": content.inputs,
        "y": content.channels,
    }
    sizes = {key: len(values) for key, values in arrays.items()}
    sizes |= {"constants": _size(content.prepare, "constants")}
    sizes |= {"work": _size(content.derivative, "work"), "g": len(content.relations)}
    inner = ", ".join(repr(i.shown * i.factor) for i in content.parameters) or "0.0"
    header = "\n".join(
        [
            _comment([*documentation(content), "", *_KERNEL_ABOUT]),
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "/* sizes of the arrays */",
            "enum {",
            ",\n".join(f"    {name}_size_{key} = {size}" for key, size in sizes.items()),
            "};",
            "",
            "/* defaults of the parameters, in the units of the equations */",
            f"extern const double {name}_defaults[{max(len(content.parameters), 1)}];",
            "",
            *prototypes,
            "#endif",
            "",
        ]
    )
    source = "\n".join(
        [
            _comment([f"{content.mechanism.name}: the equations of motion", origin(content)]),
            f'#include "{file_name}.h"',
            "#include <math.h>",
            "",
            *file.preamble(),
            f"const double {name}_defaults[{max(len(content.parameters), 1)}] = {{{inner}}};",
            "",
            *file.functions,
        ]
    )
    return header, source


_KERNEL = {
    "prepare": "/* Compute the constants from the parameters, whenever these change. */",
    "derivative": "/* Compute the rates of coordinates and speeds. */",
    "output": "/* Compute the outputs; work is what the derivative left for the same state. */",
    "closure": "/* Compute the relations of position, which vanish, and their Jacobian by rows. */",
}
_KERNEL_ABOUT = (
    "Call prepare once, then derivative as often as you like, and output after a derivative at the",
    "same state. Every argument is an array; t has one entry. All values are in the units above.",
)


def _comment(lines: Iterable[str]) -> str:
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in lines), " */"])
