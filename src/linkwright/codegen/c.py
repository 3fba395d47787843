"""The stand-alone simulation program in C99, and the bare kernel for embedding.

The equations stand first in the file and see no header of the C library but those that they need,
so that no name of the model meets a macro. Tables of names, units and defaults follow, then
functions that call the equations with the arrays of the program, then the fixed part (`runtime.c`),
which goes through a run as native code does. The Programs are those of the native run, so that the
numbers are the same bits where the compiler keeps IEEE arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

from linkwright.algebra.printers.names import c_identifier
from linkwright.backends.c.helpers import LIBRARY
from linkwright.backends.c.stages import trimmed
from linkwright.backends.c.writer import File, write_function
from linkwright.backends.source import Names
from linkwright.base.errors import Error
from linkwright.codegen.content import Content, InputItem, OutputChannel
from linkwright.codegen.documentation import documentation, origin
from linkwright.codegen.script import listed
from linkwright.program import Code, Program, lower
from linkwright.simulation.native.guards import KEPT, MEMORY, followed
from linkwright.system.forms import LIMIT

_INCLUDES = ("ctype", "stdio", "stdlib", "time")
_POSIX = (
    "#if defined(__unix__) || defined(__APPLE__)",
    "#define _POSIX_C_SOURCE 200112L /* for lstat and chmod */",
    "#endif",
)
_POSIX_INCLUDES = ("#ifdef _POSIX_C_SOURCE", "#include <sys/stat.h>", "#endif")
_RATES = (
    "static void sim_rates(const double *x, const double *d, const double *p, const double *w,",
    "    const double *t, double *rate);",
)


@dataclass(frozen=True, slots=True)
class _Function:
    """A function of the equations: its name, and the code that it was written from."""

    name: str
    code: Code

    def called(self, given: dict[str, str]) -> str:
        """Return a call with what each array is there."""
        ports = [*self.code.inputs, *(port for port, _ in self.code.outputs)]
        return f"    {self.name}({', '.join(given[port.name] for port in ports)});"

    def size(self, index: int = 0) -> int:
        """Return the size of an output."""
        return self.code.outputs[index][0].size


@dataclass(frozen=True, slots=True)
class _Equations:
    """The functions of a program by what they are: `constants_output`, `output`, `step_rk4`, ..."""

    file: File
    functions: dict[str, _Function]
    called_rates: bool = False


def c_program(content: Content, file_name: str) -> str:
    """Return the whole program in one file."""
    for tick in content.phases.ticks:
        if tick.foreign is not None:
            raise Error(
                f"{tick.name!r} is a Python function, which no program in C can call",
                remedy="write it as a Block, or leave it out",
            )
    made = _equations(content)
    return "\n".join(
        [
            _comment([*documentation(content), "", *_ABOUT]),
            *_POSIX,
            "#include <math.h>",
            "#include <stdint.h>",
            "#include <string.h>",
            "",
            *(_RATES if made.called_rates else ()),
            *made.file.preamble(),
            *made.file.functions,
            *(f"#include <{name}.h>" for name in _INCLUDES),
            *_POSIX_INCLUDES,
            "",
            _resource("philox.c"),
            *_tables(content, file_name, made),
            *_callers(content, made),
            _resource("runtime.c"),
        ]
    )


def _resource(name: str) -> str:
    return files("linkwright.codegen").joinpath(name).read_text(encoding="utf-8")


_ABOUT = (
    "Build with `make`, run with `./NAME [PARSFILE] [-e ECHO] [-o OUTPUT]`; `--help` says more.",
    "A parameter file starts with the record PARSFILE; then each line is a keyword and its value:",
    "any name above, Q(i), U(i), STEP, STOPT, IPRINT, METHOD, SEED, TITLE, or PARSFILE with the",
    "name of another file; a line that starts with * is a comment; END is the end.",
)


def _equations(content: Content) -> _Equations:
    """Return the functions of all that happens in a run."""
    file = File("double", own=True, names=Names(c_identifier, LIBRARY))
    found: dict[str, _Function] = {}
    rates = False

    def write(name: str, program: Program) -> None:
        code = trimmed(lower(program, fuse=content.fuse))
        title = file.names(f"equations_{name}")
        write_function(file, code, title, static=True)
        found[name] = _Function(title, code)

    for name, constants, main in content.programs:
        write(f"constants_{name}", constants)
        if name != "step":
            write(name, main)
    for name, program in (("initialize", content.phases.initialize), ("closure", content.closure)):
        if program is not None:
            write(name, program)
    derivative = content.schedules[0].parts[0].main
    for schedule in content.schedules:
        code = trimmed(lower(schedule.steps["step"], fuse=content.fuse))
        for i in code.walk():  # the derivative is called through `sim_rates`, where the hook is
            if i.op == "call" and i.data not in file.called and i.data.name == derivative.name:
                file.called[i.data] = "sim_rates"
                if not rates:
                    write_function(file, i.data, "equations_derivative", static=True)
                rates = True
        name = f"step_{schedule.method.name.replace('-', '_')}"
        title = file.names(f"equations_{name}")
        write_function(file, code, title, static=True)
        found[name] = _Function(title, code)
    for name, program in content.following:
        write(name, program)
    return _Equations(file, found, rates)


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


def _tables(content: Content, name: str, made: _Equations) -> Iterable[str]:
    phases = content.phases
    ticks, events = phases.ticks, phases.event_list
    sizes = {
        "X": len(phases.x),
        "D": len(phases.d),
        "M": len(content.memory),
        "P": len(phases.p),
        "W": len(phases.w),
        "Q": len(content.coordinates),
        "U": len(content.speeds),
        "S": len(content.states),
        "Y": len(content.channels),
        "G": len(content.relations),
        "FREE": content.free,
        "COMPUTED": len(content.computed),
        "TICKS": len(ticks),
        "EVENTS": len(events),
        "GUARDS": sum(e.guard for e in events),
        "FOLLOWED": followed(events),
        "MEMORY": MEMORY + KEPT * followed(events),
        "NOISE": 2 * max((len(t.streams) for t in ticks), default=0),
        "MADE": max((len(t.slots) for t in ticks), default=0),
        "METHODS": len(content.schedules),
    }
    yield "/* sizes of the arrays */"
    yield "enum {"
    yield ",\n".join(f"    SIM_{key} = {size}" for key, size in sizes.items())
    yield "};"
    timing = content.timing
    if len(content.memory) < len(phases.d):  # what guards remember follows
        yield f"#define SIM_HAS_GUARDS\n#define SIM_LIMIT {LIMIT}"
    yield f"#define SIM_DEFAULT_STEP {float(timing.step)!r}"
    yield f"#define SIM_DEFAULT_STOP {float(timing.until)!r}"
    yield f"#define SIM_DEFAULT_EVERY {float(timing.every)!r}"
    yield f"#define SIM_TICK_SECONDS {phases.tick_seconds if content.sampled else 0.0!r}"
    yield f"static const char *const sim_name = {c_string(name)};"
    yield f"static const char *const sim_about = {c_string(about(content))};"
    yield f"static const char *const sim_origin = {c_string(origin(content))};"
    yield ""
    yield "/* a value that users give: inside, it is shown*factor */"
    yield "struct sim_item { const char *name, *unit, *about; double shown, factor; };"
    groups = ("parameters", "inputs", "coordinates", "speeds", "states", "memory")
    for group in groups:
        yield from _item_table(group, getattr(content, group))
    yield "/* a channel of results: inside it is shown*factor */"
    yield "struct sim_channel {"
    yield "    const char *short_name, *long_name, *unit, *general, *body;"
    yield "    double factor;"
    yield "};"
    yield f"static const struct sim_channel sim_channels[{len(content.channels) + 1}] = {{"
    yield from (f"    {_channel(c)}," for c in content.channels)
    yield '    {"", "", "", "", "", 1.0}'
    yield "};"
    if content.closure is not None:
        yield "/* coordinates that close the loops at the start */"
        places = "".join(f"{k}, " for k in content.computed)
        yield f"static const int sim_computed[{len(content.computed) + 1}] = {{{places}0}};"
    yield "/* what happens every so many base ticks: slots of d that it writes, noise streams */"
    yield "struct sim_tick { int64_t every, offset; int slots, streams; };"
    yield f"static const struct sim_tick sim_ticks[{len(ticks) + 1}] = {{"
    for t in ticks:
        sizes_of = f"{len(t.slots)}, {len(t.streams)}"
        yield f"    {{{t.every}, {t.offset}, {sizes_of}}}, /* {_word(t.name)} */"
    yield "    {1, 0, 0, 0}\n};"
    yield f"static const int sim_slots[][{sizes['MADE'] + 1}] = {{"
    yield from (f"    {{{''.join(f'{k}, ' for k in t.slots)}0}}," for t in ticks)
    yield "    {0}\n};"
    yield f"static const uint32_t sim_streams[][{sizes['NOISE'] // 2 + 1}] = {{"
    yield from (f"    {{{''.join(f'{k}u, ' for k in t.streams)}0u}}," for t in ticks)
    yield "    {0u}\n};"
    yield "/* values whose zeros are events: the direction in which they go through */"
    yield "struct sim_event {"
    yield "    const char *name;"
    yield "    int direction, terminal, guard, action;"
    yield "    double before; /* its value before the start */"
    yield "};"
    yield f"static const struct sim_event sim_event_list[{len(events) + 1}] = {{"
    for e in events:
        flags = f"{int(e.terminal or e.guard)}, {int(e.guard)}, {int(e.action is not None)}"
        yield f"    {{{c_string(e.name)}, {e.direction}, {flags}, {e.before!r}}},"
    yield '    {"", 0, 0, 0, 0, 0.0}\n};'
    yield ""


def about(content: Content) -> str:
    """Return one line that says what is simulated."""
    return content.mechanism.doc or content.system.name


def _word(text: str) -> str:
    return "".join(c if c.isalnum() or c in " ._" else "_" for c in text)


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
_SHAPES = {
    "output": "double t, const double *x, const double *d, double *y",
    "accepted": "double t, const double *x, const double *d, double *x_new, double *d_new",
    "events": "double t, const double *x, const double *d, double *g",
    "initialize": "double t, const double *x, const double *d, double *x_new, double *d_new",
    "closure": "double t, const double *x, double *g, double *jacobian",
    "slope": "double t, const double *x, const double *d, double *x_dot",
    "terms": "double t, const double *x, const double *d, double *size",
    "turns": "double t, const double *x, const double *d, const double *d_x, double *r",
    "middle": "double h, const double *x, const double *y, const double *f, const double *y_f, "
    "double *z",
    "calm": "const double *g, const double *g_new, const double *change, const double *top, "
    "double *calm, double *top_new, double *change_new",
    "look": "double t, double h, const double *g, const double *g_mid, const double *g_new, "
    "const double *r, const double *r_new, const double *top, const double *calm, const double *m, "
    "double *m_new, double *hit, double *verdict",
}
_TICK = "int i, double t, double k, const double *x, const double *d, const double *n, double *made"
_ACTION = "int i, double t, const double *x, const double *d, double *x_new, double *d_new"
_STEP = "double t, double h, const double *x, const double *d, double *y"
_ALWAYS = {"x": "x", "d": "d", "w": "sim_w", "t": "&t", "k": "&k", "n": "n", "h": "&h"}
_RESULTS = {"y": "y", "x_new": "x_new", "d_new": "d_new", "g": "g", "G": "jacobian"}


def _callers(content: Content, made: _Equations) -> Iterator[str]:
    """Yield functions of one shape, which pass the program's arrays to the equations."""
    functions = made.functions
    yield "static double sim_p[SIM_P + 1], sim_w[SIM_W + 1]; /* parameters, inputs */"
    yield "/* what depends on parameters alone */"
    parts = [name for name, _, _ in content.programs]
    for name in parts:
        size = max(functions[f"constants_{name}"].size(), 1)
        yield f"static double sim_kept_{name}[{size}];"
    yield "\nstatic void sim_prepare(void)\n{"
    for name in parts:
        function = functions[f"constants_{name}"]
        (port, _), *_ = function.code.outputs
        yield function.called({"p": "sim_p", port.name: f"sim_kept_{name}"})
    yield "}\n"
    for name, shape in _SHAPES.items():
        if name in functions:
            yield f"#define SIM_HAS_{name.upper()} 1"
            kept = f"sim_kept_{name}" if name in parts else "sim_p"
            own = {word: word for word in _words(shape) if word not in _ALWAYS}
            given = {**own, "p": kept}
            if name == "slope":  # by its own derivative, or by one with dry friction
                given |= {"p": "sim_kept_step", functions[name].code.outputs[0][0].name: "x_dot"}
            yield from _caller(f"sim_{name}", shape, functions[name], given)
    ticks = {i: functions[f"tick{i}"] for i, _ in enumerate(content.phases.ticks)}
    yield from _switch("sim_run_tick", _TICK, ticks, "tick", "made")
    events = enumerate(content.phases.event_list)
    actions = {i: functions[f"action{i}"] for i, e in events if e.action is not None}
    yield from _switch("sim_run_action", _ACTION, actions, "action", "")
    for name, function in functions.items():
        if name.startswith("step_"):
            results = {function.code.outputs[0][0].name: "y"}
            yield from _caller(f"sim_{name}", _STEP, function, {"p": "sim_kept_step", **results})
    yield "struct sim_method { const char *name; long evaluations; void (*step)("
    yield f"    {_STEP}); }};"
    yield f"static const struct sim_method sim_methods[{len(content.schedules)}] = {{"
    for schedule in content.schedules:
        method = schedule.method
        title = f"sim_step_{method.name.replace('-', '_')}"
        yield f"    {{{c_string(method.name)}, {method.evaluations}, {title}}},"
    yield "};"
    told = listed(schedule.method.name for schedule in content.schedules)
    yield f"#define SIM_METHODS_TOLD {c_string(told)}"
    if made.called_rates:
        yield "#define SIM_HAS_RATES 1"
    yield ""


def _caller(name: str, shape: str, function: _Function, given: dict[str, str]) -> Iterator[str]:
    ports = {port.name for port in function.code.inputs}
    yield f"static void {name}(\n    {shape})\n{{"
    yield from (f"    (void){x};" for x in _words(shape) if x not in ports)
    yield function.called({**_ALWAYS, **_RESULTS, **given})
    yield "}\n"


def _words(shape: str) -> list[str]:
    return [word.split()[-1].lstrip("*") for word in shape.split(",")]


def _switch(
    name: str, shape: str, functions: dict[int, _Function], part: str, result: str
) -> Iterator[str]:
    """Yield a function that calls the equations with a number."""
    yield f"static void {name}(\n    {shape})\n{{"
    yield "    " + ", ".join(f"(void){x}" for x in _words(shape)) + ";"
    for i, function in functions.items():
        given = {**_ALWAYS, **_RESULTS, "p": f"sim_kept_{part}{i}"}
        if result:
            given[function.code.outputs[0][0].name] = result
        yield f"    if (i == {i}) {{\n    {function.called(given)}\n    }}"
    yield "}\n"


# -- the kernel ------------------------------------------------------------------------------------
_KERNEL = {
    "prepare": "/* Compute the constants from the parameters, whenever these change. */",
    "derivative": "/* Compute the rates of the states, with the constants. */",
    "prepare_output": "/* Compute the constants of the outputs from the parameters. */",
    "output": "/* Compute the outputs, with the constants of the outputs. */",
    "closure": "/* Compute the relations of position, which vanish, and their Jacobian by rows. */",
}
_KERNEL_ABOUT = (
    "Call prepare once, then derivative as often as you like; the same for the outputs. Every",
    "argument is an array; t has one entry. x are the coordinates and then the speeds, p of the",
    "derivative and of the outputs is what was prepared. All values are in the units above.",
)


def c_kernel(content: Content, file_name: str) -> tuple[str, str]:
    """Return the header and the source of the bare equations."""
    name = c_identifier(file_name.replace("-", "_").replace(".", "_"))
    file = File("double", names=Names(c_identifier, LIBRARY))
    programs: dict[str, Program] = {}
    for part, constants, main in content.programs:
        if part == "step":
            programs |= {"prepare": constants, "derivative": main}
        elif part == "output":
            programs |= {"prepare_output": constants, "output": main}
    if content.closure is not None:
        programs["closure"] = content.closure
    codes = {stage: lower(program) for stage, program in programs.items()}
    titles = {stage: file.names(f"{name}_{stage}") for stage in codes}
    prototypes = [
        line
        for stage, code in codes.items()
        for line in (
            _KERNEL[stage],
            f"{write_function(file, code, titles[stage], static=False)};",
            "",
        )
    ]
    guard = f"{name.upper()}_H"
    phases = content.phases
    sizes = {"x": len(phases.x), "d": len(phases.d), "p": len(phases.p), "w": len(phases.w)}
    sizes |= {"y": len(content.channels), "g": len(content.relations)}
    for stage in ("prepare", "prepare_output"):
        if stage in codes:
            sizes[stage.replace("prepare", "constants")] = codes[stage].outputs[0][0].size
    inner = ", ".join(repr(i.shown * i.factor) for i in content.parameters) or "0.0"
    count = max(len(content.parameters), 1)
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
            f"extern const double {name}_defaults[{count}];",
            "",
            *prototypes,
            "#endif",
            "",
        ]
    )
    source = "\n".join(
        [
            _comment([f"{content.system.name}: the equations of motion", origin(content)]),
            f'#include "{file_name}.h"',
            "#include <math.h>",
            "",
            *file.preamble(),
            f"const double {name}_defaults[{count}] = {{{inner}}};",
            "",
            *file.functions,
        ]
    )
    return header, source


def _comment(lines: Iterable[str]) -> str:
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in lines), " */"])
