"""The stand-alone simulation program in C99, and the bare kernel for embedding.

The equations stand first in the file and see no header of the C library but those that they need,
so that no name of the model meets a macro. Tables of names, units and defaults follow, then
functions that call the equations with the parameters of the program, then the fixed part
(`runtime.c`) around the loop of a run, `linkwright.simulation.loop`. The Programs, too, are those
of the native run, so that the numbers are the same bits where the compiler keeps IEEE arithmetic.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from linkwright.algebra.printers.names import c_identifier
from linkwright.backends.c.helpers import LIBRARY
from linkwright.backends.c.routine import (
    KINDS,
    CMemory,
    constants_of,
    fields_of,
    number_text,
    routine_text,
)
from linkwright.backends.c.stages import trimmed
from linkwright.backends.c.writer import File, write_function
from linkwright.backends.source import Names
from linkwright.base.errors import Error
from linkwright.codegen.content import Content, InputItem, OutputChannel
from linkwright.codegen.documentation import documentation, origin
from linkwright.codegen.script import listed
from linkwright.program import Code, Program, lower
from linkwright.program.routine import ARRAY, INT, Memory, RoutineFunction, constant, read
from linkwright.simulation import loop
from linkwright.simulation.native.driver import FIELDS
from linkwright.simulation.native.guards import KEPT, MEMORY, followed
from linkwright.simulation.native.machine import slot_runs
from linkwright.system.forms import LIMIT
from linkwright.system.phases import DEPTH

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
    """A function of the equations: its name, what it was written from, and the code of that."""

    name: str
    program: Program
    code: Code

    @property
    def given(self) -> list[str]:
        """The arrays that it is given beside the parameters."""
        return [port.name for port in self.program.inputs if port.name != "p"]

    @property
    def results(self) -> list[str]:
        """The arrays that it writes, by names that are not those of what it is given."""
        names = [c_identifier(port.name) for port in self.program.outputs]
        return [f"{name}_new" if name in self.given else name for name in names]

    @property
    def arguments(self) -> list[str]:
        """The arguments of a function that calls it."""
        return [
            *(f"const double *{n}" for n in self.given),
            *(f"double *{n}" for n in self.results),
        ]

    def called(self, parameters: str, *results: str) -> list[str]:
        """Return a call with what is given by the names of that, and what is not used."""
        used = [port.name for port in self.code.inputs]
        arrays = [parameters if name == "p" else name for name in used]
        unused = [f"    (void){name};" for name in self.given if name not in used]
        arrays += results or self.results
        return [*unused, f"    {self.name}({', '.join(arrays)});"]

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
    functions = _loop(content, made)
    before, after = _resource("runtime.c").split("/* the loop of a run stands here */\n")
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
            *_tables(content, file_name, made),
            *_memory(content, functions),
            *_callers(content, made),
            before,
            *routine_text(functions, _LOOP),
            after,
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
        found[name] = _Function(title, program, code)

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
        found[name] = _Function(title, schedule.steps["step"], code)
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
        "O": max([len(phases.d), *(t.program.outputs[0].size for t in ticks)]),
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
    if content.ranges:
        yield f"#define SIM_LONGEST {content.longest!r} /* step for the end stops of joints, s */"
        yield f"#define SIM_DEPTH {DEPTH!r} /* how far beyond an end stop a joint may start */"
        yield "/* coordinates with end stops: the place, where these are */"
        yield "struct sim_range { int at; double lower, upper; };"
        yield f"static const struct sim_range sim_ranges[{len(content.ranges)}] = {{"
        for at, *ends in content.ranges:
            low, high = (repr(e).replace("inf", "INFINITY") for e in ends)
            yield f"    {{{at}, {low}, {high}}},"
        yield "};"
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
    runs = [slot_runs(t.slots) for t in ticks]
    yield "/* what happens every so many base ticks: where results go in d, noise streams */"
    yield "struct sim_tick { int64_t every, offset, runs, streams; };"
    yield f"static const struct sim_tick sim_ticks[{len(ticks) + 1}] = {{"
    for t, own in zip(ticks, runs, strict=True):
        sizes_of = f"{len(own)}, {len(t.streams)}"
        yield f"    {{{t.every}, {t.offset}, {sizes_of}}}, /* {_word(t.name)} */"
    yield "    {1, 0, 0, 0}\n};"
    if ticks:
        yield "/* results that go side by side: the first of them, its place, how many */"
        yield "struct sim_slot_run { int64_t first, slot, length; };"
        most = max(map(len, runs), default=0) + 1
        yield f"static const struct sim_slot_run sim_slots[][{most}] = {{"
        for own in runs:
            yield f"    {{{', '.join(f'{{{a}, {b}, {c}}}' for a, b, c in [*own, [0, 0, 0]])}}},"
        yield "    {{0, 0, 0}}\n};"
        yield f"static const uint32_t sim_streams[][{sizes['NOISE'] // 2 + 1}] = {{"
        yield from (f"    {{{''.join(f'{k}u, ' for k in t.streams)}0u}}," for t in ticks)
        yield "    {0u}\n};"
    if followed(events):
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


# -- the loop --------------------------------------------------------------------------------------
_SIZES = {
    **dict.fromkeys(("x", "y", "z", "f", "y_f"), "SIM_X"),
    "d": "SIM_D",
    "o": "SIM_O",
    "w": "SIM_W",
    "n": "SIM_NOISE+1",  # numbers are drawn in pairs
    "due": "SIM_TICKS",
    **dict.fromkeys(("g", "g_new", "g_mid", "count", "first"), "SIM_EVENTS"),
    **dict.fromkeys(("turn", "turn_new", "top", "top_new", "change"), "SIM_FOLLOWED"),
    **dict.fromkeys(("hit", "fired"), "SIM_FOLLOWED"),
    "m": "SIM_MEMORY",
    "m_new": "SIM_MEMORY",
    "calm": "1",
    "verdict": "5",
}
_COUNTS = {"states": "X", "discretes": "D", "events": "EVENTS", "followed": "FOLLOWED"}
_COUNTS |= {"memory": "MEMORY", "tick_count": "TICKS"}
_LOOP = CMemory(
    "sim_run",
    "sim_",
    "LOOP_",
    {name: f"SIM_{size}" for name, size in _COUNTS.items()},
    {
        "ticks.every": "sim_ticks[{0}].every",
        "ticks.stream_count": "sim_ticks[{0}].streams",
        "ticks.streams": "sim_streams[{0}][{1}]",
        "ticks.run_count": "sim_ticks[{0}].runs",
        **{f"ticks.runs.{n}": f"sim_slots[{{0}}][{{1}}].{n}" for n in ("first", "slot", "length")},
        **{f"crossings.{n}": f"sim_event_list[{{0}}].{n}" for n in ("direction", "terminal")},
    },
    {"action": "sim_event_list[{0}].action"},
)
_HOST = (
    *("k", "start", "in_gap", "sample", "every", "until", "end", "tick_seconds", "step_size", "s"),
    *("steps", "left", "row_count", "log_rows", "watched", "seed", "x", "d", "w", "due"),
)
_CONSTANTS = ("MORE", "NOT_FINITE", "TOO_SMALL", "GUARDED", "ENDLESS", "NEVER", "FAINT")
"""What the rest of the program sets or asks for."""


def _loop(content: Content, made: _Equations) -> dict[str, RoutineFunction]:
    """Return the loop of a run of this System, with fixed steps."""
    phases = content.phases
    counts = {
        "events": len(phases.event_list),
        "followed": followed(phases.event_list),
        "tick_count": len(phases.ticks),
    }
    known: dict[str, int | float | bool] = {"single": True}
    known |= dict.fromkeys(("adaptive", "dense", "implicit"), False)
    known |= {name: 0 for name, count in counts.items() if not count}
    if not counts["followed"]:
        known["looked"] = 0
    tables = {"ticks": {"foreign": 0}, "crossings": {}}
    memory = Memory(FIELDS, {"due"}, tables, known, {*made.functions, "step"})
    return read(loop, "go", memory, ("keep_sample", "log_event", "stepped"))


def _memory(content: Content, functions: Mapping[str, RoutineFunction]) -> Iterator[str]:
    """Yield the structure of what changes in a run, with the fields that its loop uses."""
    used = {**fields_of(functions), **{name: FIELDS.get(name, INT) for name in _HOST}}
    if followed(content.phases.event_list):
        used |= dict.fromkeys(("g", "top", "change"), ARRAY)
    if content.phases.event_list:
        used |= dict.fromkeys(("g", "g_new"), ARRAY)
    constants = {n: constant(getattr(loop, n)) for n in _CONSTANTS} | constants_of(functions)
    yield "/* constants of the loop of a run */"
    for name, e in sorted(constants.items()):
        yield f"#define LOOP_{name} {number_text(e.args[0], e.type)}"
    kinds: dict[str, list[str]] = {}
    for name in sorted(used):
        if name in _SIZES:
            kind = "int64_t" if name == "due" else "double"
            kinds.setdefault(kind, []).append(f"{name}[{_SIZES[name]}+1]")
        elif name not in _COUNTS:
            kinds.setdefault(KINDS[used[name]], []).append(name)
    yield "/* all that changes in a run; time is `start` base ticks and s seconds */"
    yield "static struct {"
    for kind, names in kinds.items():
        text = f"    {kind} {', '.join(names)};"
        yield from textwrap.wrap(text, 100, subsequent_indent="        ")
    yield "} sim_run;"


# -- calls -----------------------------------------------------------------------------------------
def _callers(content: Content, made: _Equations) -> Iterator[str]:
    """Yield functions that call the equations with the parameters of the program."""
    functions = made.functions
    yield "static double sim_p[SIM_P + 1]; /* parameters, and what depends on them alone */"
    parts = [name for name, _, _ in content.programs]
    for name in parts:
        size = max(functions[f"constants_{name}"].size(), 1)
        yield f"static double sim_kept_{name}[{size}];"
    yield "\nstatic void sim_prepare(void)\n{"
    for name in parts:
        yield from functions[f"constants_{name}"].called("sim_p", f"sim_kept_{name}")
    yield "}\n"
    ticks = {f"tick{i}": i for i, _ in enumerate(content.phases.ticks)}
    actions = {f"action{i}": i for i, e in enumerate(content.phases.event_list) if e.action}
    for name, function in functions.items():
        if name.startswith("constants_") or name in ticks or name in actions:
            continue
        kept = "step" if name == "slope" or name.startswith("step_") else name
        parameters = f"sim_kept_{kept}" if kept in parts else "sim_p"
        yield f"#define SIM_HAS_{name.upper()} 1"
        yield _heading(name, function.arguments)
        yield from function.called(parameters)
        yield "}\n"
    for word, numbers in (("tick", ticks), ("action", actions)):
        if numbers:
            arguments = functions[next(iter(numbers))].arguments
            yield _heading(word, ["int64_t i", *arguments])
            for name, i in numbers.items():
                yield f"    if (i == {i}) {{"
                yield from (f"    {line}" for line in functions[name].called(f"sim_kept_{name}"))
                yield "    }"
            yield "}\n"
    step = next(f for name, f in functions.items() if name.startswith("step_"))
    yield "struct sim_method { const char *name; long evaluations; void (*step)("
    yield f"    {', '.join(step.arguments)}); }};"
    yield f"static const struct sim_method sim_methods[{len(content.schedules)}] = {{"
    for schedule in content.schedules:
        method = schedule.method
        title = f"sim_compute_step_{method.name.replace('-', '_')}"
        yield f"    {{{c_string(method.name)}, {method.evaluations}, {title}}},"
    yield "};"
    told = listed(schedule.method.name for schedule in content.schedules)
    yield f"#define SIM_METHODS_TOLD {c_string(told)}"
    if made.called_rates:
        yield "#define SIM_HAS_RATES 1"
    yield ""


def _heading(name: str, arguments: Sequence[str]) -> str:
    """Return the first lines of a function that calls the equations."""
    text = f"static void sim_compute_{name}({', '.join(arguments)})"
    return "\n".join([*textwrap.wrap(text, 100, subsequent_indent="    "), "{"])


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
