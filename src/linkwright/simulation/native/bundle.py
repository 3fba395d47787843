"""The Programs of a System's phases and the step of a method, compiled as one unit of native code.

What depends on parameters alone is split off each Program and computed once for a run. The unit is
cached on disk under the digests of the Programs, so that a known System is ready without writing a
single step; the sizes that Python needs then lie in the unit itself.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from linkwright.backends.llvm import codegen
from linkwright.backends.llvm.backend import generator, has_fma
from linkwright.backends.llvm.compile import NativeCode, cached_native
from linkwright.backends.llvm.externals import bindings
from linkwright.backends.llvm.target import host
from linkwright.program import Port, Program, Rate, lower, passes, split, symbol_rate
from linkwright.simulation.native import driver, explicit, implicit
from linkwright.simulation.native.block import Variant
from linkwright.simulation.native.driver import driver_ir
from linkwright.simulation.native.methods import Method
from linkwright.system.phases import Phases

SIZES = "sizes"


@dataclass(frozen=True, slots=True)
class Bundle:
    """Compiled phases.

    Args:
        width: lanes.
        code: the compiled Programs.
        loop: the compiled driver.
        constants: for each Program with parameters of its own how many there are.
        rest: how many values the interpolant of a step needs.
    """

    width: int
    code: NativeCode
    loop: NativeCode
    constants: dict[str, int]
    rest: int
    keep: object

    def address(self, name: str) -> int:
        """Return the address of a function, 0 where there is none."""
        return self.code.addresses.get(name, 0)


def phase_programs(phases: Phases) -> Iterator[tuple[str, Program]]:
    """Yield the Programs of phases that run natively, each with its name in the unit.

    Args:
        phases: a flattened System.
    """
    yield "step", phases.derivative
    for name in ("accepted", "output", "events"):
        made = getattr(phases, name)
        if made is not None:
            yield name, made
    for i, tick in enumerate(phases.ticks):
        yield f"tick{i}", tick.program
    for i, event in enumerate(phases.event_list):
        if event.action is not None:
            yield f"action{i}", event.action


def bundle(phases: Phases, method: Method, width: int | None = None) -> Bundle:
    """Return the compiled phases of a System with a method.

    Args:
        phases: a flattened System.
        method: how it is integrated.
        width: lanes; those of a register by default, 1 for a single run.
    """
    lanes = host().lanes("f64") if width is None else width
    programs = dict(phase_programs(phases))
    # what is remembered holds its Programs, so that no other can have their identities
    known = (method.name, lanes, phases.coordinates, phases.quaternions)
    place = (*known, *(id(made) for made in programs.values()))
    with _lock:
        found = _remembered.pop(place, None)
    if found is None:
        found = (programs, _compiled(phases, programs, method, lanes))
    with _lock:
        _remembered[place] = found
        while len(_remembered) > _MOST:
            del _remembered[next(iter(_remembered))]
    return found[1]


_MOST = 16
_lock = threading.Lock()
_remembered: dict[tuple[object, ...], tuple[dict[str, Program], Bundle]] = {}


def _compiled(phases: Phases, programs: dict[str, Program], method: Method, lanes: int) -> Bundle:
    """Return the compiled phases, from the disk cache where they are known."""
    key = hashlib.blake2b(f"{own_digest()} {method.name} {lanes}".encode(), digest_size=32)
    if method.name in ("semi-implicit", "verlet"):
        key.update(repr((phases.coordinates, phases.quaternions)).encode())
    for name, made in programs.items():
        key.update(f" {name} {made.fingerprint()}".encode())
    bind: dict[str, int] = {}
    keep: list[object] = []
    for made in programs.values():
        addresses, kept = bindings(made)
        bind.update(addresses)
        keep.extend(kept)
    names = [*programs, *(f"constants_{n}" for n in programs), SIZES]
    if method.adaptive:
        names += ["first"] if method.implicit else ["slope", "first"]
    if method.interpolates and lanes == 1:
        names.append("dense")
    code = cached_native(
        b"phases " + key.digest(), lambda: bundle_ir(phases, method, lanes), names, bind=bind
    )
    count = len(programs) + 1
    sizes = list((ctypes.c_int64 * count).from_address(code.address(SIZES)))
    variant = Variant(lanes, method.adaptive, method.interpolates and lanes == 1)
    loop = cached_native(
        f"driver {own_digest()} {variant}".encode(),
        lambda: driver_ir(variant),
        [driver.RUN, driver.PREPARE],
    )
    return Bundle(lanes, code, loop, dict(zip(programs, sizes, strict=False)), sizes[-1], keep)


@lru_cache(maxsize=1)
def own_digest() -> str:
    """Return a digest of the code that writes steps and drivers, and of the passes it uses."""
    sink = hashlib.blake2b(generator().encode(), digest_size=8)
    for folder in (Path(__file__).parent, Path(passes.__file__).parent.parent):
        for source in sorted(folder.rglob("*.py")):
            sink.update(source.read_bytes())
    return sink.hexdigest()


def bundle_ir(phases: Phases, method: Method, width: int) -> str:
    """Return the text of the unit.

    Args:
        phases: a flattened System.
        method: how it is integrated.
        width: lanes.
    """
    module = codegen.Module("f64", min(4, host().lanes("f64")))
    sizes: list[int] = []
    rest = 0

    def write(name: str, made: Program) -> None:
        codegen.write_function(module, lower(made, fuse=has_fma()), name, width)

    for name, given in phase_programs(phases):
        constants, made = prepared(given)
        sizes.append(made.port("p").size)
        write(f"constants_{name}", constants)
        if name != "step":
            write(name, made)
            continue
        rest = write_step(module, phases, made, method, width)
    values = ", ".join(f"i64 {n}" for n in (*sizes, rest))
    module.declare([f"@{SIZES} = constant [{len(sizes) + 1} x i64] [{values}]"])
    return module.text()


def write_step(
    module: codegen.Module, phases: Phases, derivative: Program, method: Method, width: int
) -> int:
    """Write the step of a method and what goes with it; return the size of its array r."""

    def write(name: str, made: Program) -> None:
        codegen.write_function(module, lower(made, fuse=has_fma()), name, width)

    n = len(phases.x)
    if method.implicit:
        write("jacobian", implicit.jacobian_program(derivative))
        for k in range(len(implicit.NODES)):
            write(f"stage{k}", implicit.stage_program(derivative, k))
        end = implicit.end_program(derivative)
        write("end", end)
        module.functions.append(implicit.step_ir(n, width))
        rest = end.port("r").size
    else:
        assert method.step is not None
        step = method.step(phases, derivative)
        write("step", step)
        if not method.adaptive:
            return 0
        write("slope", derivative)
        rest = step.port("r").size
    write("first", explicit.first_size(derivative, method.order - 1))
    if method.interpolates and width == 1:
        inside = implicit.interpolant(n) if method.implicit else explicit.interpolant(n)
        write("dense", inside)
    return rest


def prepared(program: Program) -> tuple[Program, Program]:
    """Return what a Program computes from parameters alone, and the Program that is given that.

    The second has the same arrays, but `p` holds the results of the first.

    Args:
        program: of a phase.
    """
    given = program.port("p")
    others = [x for port in program.inputs if port.name != "p" for x in port.entries]
    splits = (
        bool(given.entries)
        and all(symbol_rate(x, program.slow) <= Rate.PARAMETER for x in given.entries)
        and all(symbol_rate(x, program.slow) > Rate.PARAMETER for x in others)
    )
    if not splits:
        copy = Program(f"{program.name}_constants", (given,), (replace(given, name="c"),))
        return copy, program
    first, second = split(program, Rate.PARAMETER, carried="constants")
    handed = second.port("constants")
    inputs = tuple(
        Port("p", handed.shape, handed.entries) if port.name == "p" else port
        for port in program.inputs
    )
    first = replace(first, inputs=(given,))
    return first, replace(second, inputs=inputs)
