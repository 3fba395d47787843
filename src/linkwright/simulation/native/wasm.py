"""A run as a module of WebAssembly: the Programs, the loop, and the memory of a run at its start.

It is the third executor of a schedule. The text is that of native code: the same Programs, the same
loop, lowered for another processor. The memory of a native `Machine` at its start goes into the
module, with the addresses of the module in place of its own; whoever runs it calls `run_blocks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from linkwright.backends.foreign import bound_functions
from linkwright.backends.llvm.compile import simplified
from linkwright.backends.wasm.arithmetic import arithmetic_text
from linkwright.backends.wasm.module import WasmModule, assemble, body_of
from linkwright.base.errors import InputError
from linkwright.program import Program
from linkwright.simulation.native.bundle import phase_programs
from linkwright.simulation.native.driver import driver_ir
from linkwright.simulation.native.machine import Integers, Machine
from linkwright.simulation.native.session import Session
from linkwright.simulation.native.steps import bundle_ir
from linkwright.simulation.native.tables import CONFIG, PREPARE, RUN, WHOLE, Variant
from linkwright.system.phases import Phases

ROWS = 4
"""Rows of samples that there is room for."""
_LINE = 64


@dataclass(frozen=True, slots=True)
class LiveModule:
    """A run as a module, and where everything is in its memory.

    Args:
        code: the module.
        places: addresses in bytes of `config`, `whole`, `arena`, `samples`, of what was asked for
            (`scratch`), and of the arrays of the run by name.
        whole: addresses of the integers of the run, by name; the budget and the end of it.
        exact: whether products and sums are fused as in native code.
        fused: where the code is that multiplies and adds with one rounding, and how many bytes it
            has: a browser that has an instruction for it may put that there.
    """

    code: bytes
    places: dict[str, int]
    whole: dict[str, int]
    exact: bool
    fused: tuple[int, int] | None


def refuse_python(name: str, phases: Phases) -> None:
    """Reject phases that need this process: a Python function, a device, a function of C."""
    remedy = "write it as expressions (`lw.Block`), or make a page of a recorded run without --live"
    for tick in phases.ticks:
        if tick.called:
            raise InputError(
                f"{name!r} cannot run in a page: {tick.name!r} calls a Python function",
                remedy=remedy,
            )
    given = [made for _, made in phase_programs(phases)]
    for made in [*given, *([phases.initialize] if phases.initialize is not None else [])]:
        for function in bound_functions(made):
            raise InputError(
                f"{name!r} cannot run in a page: {function.name!r} is a function outside of it",
                remedy=remedy,
            )


def live_module(
    session: Session,
    *,
    exact: bool = True,
    more: Mapping[str, Program] | None = None,
    scratch: int = 0,
) -> LiveModule:
    """Return the module of a session that stands at its start.

    Args:
        session: a native one.
        exact: fuse multiply-adds as native code does, which gives its bits; otherwise a product is
            rounded before it is added, which is faster.
        more: Programs that are in the module under names of their own.
        scratch: bytes of memory for those.
    """
    phases, machine = session.phases, session.machine
    assert isinstance(machine, Machine)
    refuse_python(phases.name, phases)
    machine.initialize()
    own = dict(more or {})
    if phases.initialize is not None:
        own["initialize"] = phases.initialize
    method = machine.settings.method
    variant = Variant(1, method.adaptive, method.adaptive, machine_follows(machine))
    unit = bundle_ir(phases, method, 1, packed=1, fuse=None if exact else False, more=own)
    loop = _loop(variant)
    names = ["output", "accepted", *own] if phases.accepted is not None else ["output", *own]
    code = assemble([unit, loop, arithmetic_text(exact=exact)], [RUN, PREPARE, *names])
    return _filled(machine, code, exact, scratch)


@lru_cache(maxsize=8)
def _loop(variant: Variant) -> str:
    return simplified(driver_ir(variant))


def machine_follows(machine: Machine) -> bool:
    """Return whether the loop is that of an implicit method that follows events."""
    followed = any(not event.guard for event in machine.phases.event_list)
    return machine.settings.method.implicit and followed


@dataclass(slots=True)
class _Memory:
    """What is put behind the data of a module."""

    at: int
    parts: list[tuple[int, bytes]] = field(default_factory=list)

    def take(self, size: int) -> int:
        place = self.at
        self.at += -(-max(size, 1) // _LINE) * _LINE
        return place

    def put(self, array: np.ndarray[Any, Any]) -> int:
        place = self.take(array.nbytes)
        self.parts += _pieces(place, array.tobytes())
        return place


def _pieces(place: int, data: bytes) -> list[tuple[int, bytes]]:
    """Return the parts of some memory that are not zero."""
    made, start, words = [], -1, len(data) // 8
    gap = 0
    for k in range(words + 1):
        empty = k == words or data[8 * k : 8 * k + 8] == bytes(8)
        gap = gap + 1 if empty else 0
        if not empty and start < 0:
            start = k
        if start >= 0 and (gap > 8 or k == words):
            end = k + 1 - gap
            made.append((place + 8 * start, data[8 * start : 8 * end]))
            start = -1
    return made


class _Placed(Machine):
    """A machine whose tables are in the memory of a module."""

    def __init__(self, machine: Machine, code: WasmModule, memory: _Memory) -> None:
        self.__dict__.update(machine.__dict__)
        self.memory = memory
        known = {n: code.functions[n] for n in machine.bundle.code.addresses if n in code.functions}
        self.bundle = replace(machine.bundle, code=replace(machine.bundle.code, addresses=known))

    def _table(self, rows: Sequence[Sequence[int]], width: int) -> int:
        return self.memory.put(np.array(rows, np.int64).reshape(len(rows), width))

    def _numbers(self, values: Sequence[int]) -> int:
        return self.memory.put(np.array(values, np.int64))

    def configuration(self) -> Integers:
        return self._configured()


def _filled(machine: Machine, code: WasmModule, exact: bool, scratch: int) -> LiveModule:
    memory = _Memory(code.free)
    placed = _Placed(machine, code, memory)
    config = placed.configuration()
    values = {
        "arena": memory.put(machine.arena),
        "whole": memory.put(machine.whole),
        "samples": memory.take(8 * ROWS * max(machine.channels, 1)),
        "log": memory.take(machine.log.nbytes),
        "row_count": ROWS,
    }
    for name, value in values.items():
        config[CONFIG[name]] = value
    places = {**values, "config": memory.put(config)}
    places["scratch"] = memory.take(scratch)
    for name, (at, _) in machine.layout.items():
        places.setdefault(name, values["arena"] + 8 * at)
    del places["row_count"]
    whole = {name: values["whole"] + 8 * WHOLE[name] for name in WHOLE.fields}
    whole |= {name: places["config"] + 8 * CONFIG[name] for name in ("budget", "until")}
    made = code.bytes_with(memory.parts, memory.at)
    fused = body_of(made, code.functions["fma"] - 1) if exact else None
    return LiveModule(made, places, whole, exact, fused)
