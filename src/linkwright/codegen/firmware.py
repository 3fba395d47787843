"""Controllers as firmware: C99 without allocation, input or output, library state or recursion.

A header and a source. All that changes is in one state struct, which the caller owns: `init`
fills it, `tick` is called once each base tick with what was measured and gives what is commanded.
Members with slower rates run when their countdown is at zero. The Programs are those of the native
run, with the same elementary functions and the same fused multiply-adds, so that the numbers are
the same bits wherever the compiler keeps IEEE arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files

from linkwright.algebra.printers.names import c_identifier
from linkwright.backends.c.helpers import LIBRARY
from linkwright.backends.c.stages import trimmed
from linkwright.backends.c.writer import File, write_function
from linkwright.backends.source import Names, plain
from linkwright.program import Code, Program, lower
from linkwright.simulation.native.schedule import prepared
from linkwright.system.phases import Phases, Signal, Tick
from linkwright.version import __version__


@dataclass(frozen=True, slots=True)
class _Part:
    """A tick as C: the names of its functions, with the arrays that they take."""

    tick: Tick
    constants: Code
    main: Code
    name: str

    @property
    def carried(self) -> int:
        """How many constants it keeps."""
        reads = any(port.name == "p" for port in self.main.inputs)
        return self.constants.outputs[0][0].size if reads else 0


def firmware(phases: Phases, name: str, *, fuse: bool) -> tuple[str, str]:
    """Return the header and the source of the controllers of some phases."""
    file = File("double", own=True, names=Names(c_identifier, LIBRARY))
    parts = [_part(file, tick, name, fuse) for tick in phases.ticks]
    for part in parts:
        if part.carried:
            write_function(file, part.constants, f"{part.name}_constants", static=True)
        write_function(file, part.main, part.name, static=True)
    fields = {kind: _fields(getattr(phases, kind)) for kind in "wpd"}
    header = _header(phases, name, parts, fields)
    return header, "\n".join(_source(phases, name, parts, fields, file))


def _part(file: File, tick: Tick, name: str, fuse: bool) -> _Part:
    def lowered(program: Program) -> Code:
        return trimmed(lower(program, fuse=fuse))

    constants, main = prepared(tick.program)
    title = file.names(f"{name}_{tick.name.replace(' and ', '_')}")
    return _Part(tick, lowered(constants), lowered(main), title)


def _fields(signals: Sequence[Signal]) -> list[str]:
    """Return the names of a struct's members for some signals."""
    names = Names(c_identifier, LIBRARY)
    return [names(re.sub(r"\W+", "_", s.name).strip("_")) for s in signals]


# -- the header ------------------------------------------------------------------------------------
_HEADER = """/*
 * SYSTEM: its controllers.
 *
 * Written by Linkwright VERSION.
 *
 * Call NAME_init once, then NAME_tick every SECONDS s (HERTZ), with what was measured
 * at that time. Outputs hold between calls.
RATES *
 * There is no allocation, no input or output, no recursion and no global state: a state struct is
 * one controller, and several may run beside each other. Numbers are IEEE 754 doubles; compile with
 * -ffp-contract=off to keep every rounding.
 */
#ifndef GUARD_H
#define GUARD_H

#include <stdint.h>

/* seconds from one tick to the next */
#define GUARD_PERIOD SECONDS

/* what is measured, and what comes from outside */
INPUTS
/* what is commanded */
OUTPUTS
/* what can be tuned; call NAME_prepare after a change */
PARAMETERS
/* all that a controller remembers */
typedef struct {
    NAME_parameters parameters;
MEMORY} NAME_state;

/* Start: parameters at their defaults, memory as it begins, tick 0. */
void NAME_init(NAME_state *state);

/* Compute what depends on parameters alone. */
void NAME_prepare(NAME_state *state);

/* Run what is due at this tick. */
void NAME_tick(NAME_state *state, const NAME_inputs *inputs, NAME_outputs *outputs);

#endif
"""


def _header(phases: Phases, name: str, parts: Sequence[_Part], fields: dict[str, list[str]]) -> str:
    period = Fraction(phases.tick_seconds).limit_denominator(10**9)
    held = [(s, f) for s, f in zip(phases.d, fields["d"], strict=True) if s.kind == "held"]
    outputs = _struct(f"{name}_outputs", [s for s, _ in held], [f for _, f in held])
    texts = {
        "RATES": "".join(f" *   {_when(part.tick, period)}\n" for part in parts),
        "INPUTS": _struct(f"{name}_inputs", phases.w, fields["w"]),
        "OUTPUTS": outputs,
        "PARAMETERS": _struct(f"{name}_parameters", phases.p, fields["p"]),
        "MEMORY": "".join(f"    {line}\n" for line in _memory(phases, parts)),
        "SYSTEM": plain(phases.name),
        "VERSION": __version__,
        "SECONDS": repr(phases.tick_seconds),
        "HERTZ": _hertz(period),
        "GUARD": name.upper(),
        "NAME": name,
    }
    return re.sub(r"\b(" + "|".join(texts) + r")(?![a-z])", lambda found: texts[found[0]], _HEADER)


def _when(tick: Tick, period: Fraction) -> str:
    every = "each tick" if tick.every == 1 else f"every {tick.every} ticks"
    late = f", first at tick {tick.offset}" if tick.offset else ""
    return f"{plain(tick.name)}: {every}, {_hertz(period * tick.every)}{late}"


def _memory(phases: Phases, parts: Sequence[_Part]) -> Iterator[str]:
    yield f"double discrete[{max(len(phases.d), 1)}]; /* states and held outputs: */"
    for i, s in enumerate(phases.d):
        yield f"/*   {i}: {_about(s)} */"
    for part in parts:
        if part.carried:
            yield f"double {part.name}_kept[{part.carried}]; /* what depends on parameters alone */"
    yield f"uint32_t countdown[{max(len(parts), 1)}]; /* ticks until each part runs next */"
    yield "uint64_t tick; /* the number of the next tick */"
    if _noisy(parts):
        yield "uint64_t seed; /* of noise */"
        yield "uint32_t run; /* the number of the run, on which noise depends too */"


def _hertz(period: Fraction) -> str:
    return f"{float(1 / period):.10g} Hz"


def _about(s: Signal) -> str:
    unit = "" if s.unit in ("?", "1") else f", {s.unit}"
    return plain(f"{s.name}{unit}" + (f": {s.long_name}" if s.long_name else ""))


def _struct(name: str, signals: Sequence[Signal], fields: Sequence[str]) -> str:
    lines = []
    for s, field in zip(signals, fields, strict=True):
        start = f"; {s.value!r} by default" if s.kind in ("input", "parameter") else ""
        lines.append(f"    double {field}; /* {_about(s)}{start} */")
    if not signals:
        lines.append("    uint8_t none; /* C has no empty struct */")
    return "\n".join(["typedef struct {", *lines, f"}} {name};", ""])


def _noisy(parts: Iterable[_Part]) -> bool:
    return any(part.tick.streams for part in parts)


# -- the source ------------------------------------------------------------------------------------
def _source(
    phases: Phases, name: str, parts: Sequence[_Part], fields: dict[str, list[str]], file: File
) -> Iterator[str]:
    yield f"/* {plain(phases.name)}: its controllers; {name}.h says what they are. */"
    yield f'#include "{name}.h"\n'
    yield "#include <math.h>\n#include <string.h>\n"
    yield from file.preamble()
    if _noisy(parts):
        yield files("linkwright.codegen").joinpath("philox.c").read_text(encoding="utf-8")
    yield from file.functions
    yield from _init(phases, name, parts, fields)
    yield from _prepare(name, parts, fields["p"])
    yield from _tick(phases, name, parts, fields)


def _init(
    phases: Phases, name: str, parts: Sequence[_Part], fields: dict[str, list[str]]
) -> Iterator[str]:
    yield f"void {name}_init({name}_state *state)\n{{"
    for s, field in zip(phases.p, fields["p"], strict=True):
        yield f"    state->parameters.{field} = {_number(s.value)};"
    if not phases.p:
        yield "    state->parameters.none = 0u;"
    for i, s in enumerate(phases.d):
        yield f"    state->discrete[{i}] = {_number(s.value)};"
    for i, part in enumerate(parts):
        yield f"    state->countdown[{i}] = {part.tick.offset}u;"
    yield "    state->tick = 0u;"
    if _noisy(parts):
        yield "    state->seed = 0u;\n    state->run = 0u;"
    yield f"    {name}_prepare(state);\n}}\n"


def _prepare(name: str, parts: Sequence[_Part], fields: Sequence[str]) -> Iterator[str]:
    kept = [part for part in parts if part.carried]
    yield f"void {name}_prepare({name}_state *state)\n{{"
    if any(part.constants.inputs for part in kept):
        yield f"    const double p[{len(fields)}] = {{"
        yield ",\n".join(f"        state->parameters.{field}" for field in fields)
        yield "    };"
    for part in kept:
        given = "p, " if part.constants.inputs else ""
        yield f"    {part.name}_constants({given}state->{part.name}_kept);"
    if not kept:
        yield "    (void)state;"
    yield "}\n"


def _tick(
    phases: Phases, name: str, parts: Sequence[_Part], fields: dict[str, list[str]]
) -> Iterator[str]:
    read = {port.name for part in parts for port in part.main.inputs}
    arguments = f"{name}_state *state, const {name}_inputs *inputs, {name}_outputs *outputs"
    yield f"void {name}_tick({arguments})\n{{"
    if "w" in read:
        yield f"    const double w[{len(fields['w'])}] = {{"
        yield ",\n".join(f"        inputs->{field}" for field in fields["w"])
        yield "    };"
    if read & {"k", "t"}:
        yield "    const double k[1] = {(double)state->tick};"
    if "t" in read:
        yield f"    const double t[1] = {{k[0]*{name.upper()}_PERIOD}};"
    if "w" not in read:
        yield "    (void)inputs;"
    for i, part in enumerate(parts):
        yield from _run(part, i)
    yield "    ++state->tick;"
    for i, (s, field) in enumerate(zip(phases.d, fields["d"], strict=True)):
        if s.kind == "held":
            yield f"    outputs->{field} = state->discrete[{i}];"
    if not any(s.kind == "held" for s in phases.d):
        yield "    outputs->none = 0u;"
    yield "}\n"


def _run(part: _Part, index: int) -> Iterator[str]:
    """Yield the lines of one part of a tick."""
    tick = part.tick
    passed = {"d": "state->discrete", "p": f"state->{part.name}_kept"}
    arguments = [passed.get(port.name, port.name) for port in part.main.inputs]
    yield f"    if (state->countdown[{index}] == 0u) {{ /* {plain(tick.name)} */"
    yield f"        double made[{max(len(tick.slots), 1)}];"
    if "n" in arguments:
        yield f"        double n[{2 * len(tick.streams)}];"
        for k, stream in enumerate(tick.streams):
            given = f"state->seed, {stream}u, state->run, state->tick"
            yield f"        lw_uniform({given}, &n[{2 * k}]);"
    yield f"        {part.name}({', '.join([*arguments, 'made'])});"
    for k, slot in enumerate(tick.slots):
        yield f"        state->discrete[{slot}] = made[{k}];"
    yield f"        state->countdown[{index}] = {tick.every}u;"
    yield "    }"
    yield f"    --state->countdown[{index}];"


def _number(value: float) -> str:
    return File("double").literal(value)
