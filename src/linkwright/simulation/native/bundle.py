"""The Programs of a System's phases and the step of a method, compiled as one unit of native code.

What depends on parameters alone is split off each Program and computed once for a run. The unit is
cached on disk under the digests of the Programs, so that a known System is ready without writing a
single step; the sizes that Python needs then are in the unit itself.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from linkwright.backends.llvm.compile import NativeCode, cached_native, simplified
from linkwright.backends.llvm.externals import bindings
from linkwright.backends.llvm.target import host
from linkwright.base.fingerprint import fingerprint
from linkwright.base.forking import held_over_forks
from linkwright.program import Program
from linkwright.simulation.native.guards import followed
from linkwright.simulation.native.methods import Method
from linkwright.simulation.native.tables import HOLD, PREPARE, RUN, STAGED, Variant
from linkwright.system.phases import Phases

SIZES = "sizes"


@dataclass(frozen=True, slots=True)
class Bundle:
    """Compiled phases."""

    width: int  # lanes
    code: NativeCode  # the compiled Programs
    loop: NativeCode  # the compiled driver
    constants: dict[str, int]  # for each Program with parameters of its own how many there are
    rest: int  # how many values the interpolant of a step needs
    keep: object  # what keeps foreign functions valid
    python: bool  # whether one of them is Python's

    def address(self, name: str) -> int:
        """Return the address of a function, 0 where there is none."""
        return self.code.addresses.get(name, 0)


def phase_programs(phases: Phases) -> Iterator[tuple[str, Program]]:
    """Yield the Programs of phases that run natively, each with its name in the unit."""
    yield "step", phases.derivative
    for name in ("accepted", "output", "events", "turns", "terms", "breaks"):
        made = getattr(phases, name)
        if made is not None:
            yield name, made
    for i, tick in enumerate(phases.ticks):
        yield f"tick{i}", tick.program
    for i, event in enumerate(phases.event_list):
        if event.action is not None:
            yield f"action{i}", event.action


def bundle(phases: Phases, method: Method, width: int | None = None) -> Bundle:
    """Return the compiled phases of a System with a method."""
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
_lock = threading.RLock()
held_over_forks(_lock, 1)
_remembered: dict[tuple[object, ...], tuple[dict[str, Program], Bundle]] = {}


def _compiled(phases: Phases, programs: dict[str, Program], method: Method, lanes: int) -> Bundle:
    """Return the compiled phases, from the disk cache where they are known."""
    key = hashlib.blake2b(f"{fingerprint('runs')} {method.name} {lanes}".encode(), digest_size=32)
    if method.in_turn:
        key.update(repr((phases.coordinates, phases.quaternions)).encode())
    key.update(
        repr(
            [(e.direction, e.action is None, e.terminal, e.guard) for e in phases.event_list]
        ).encode()
    )
    # code is found by the sizes, too, with which it is called: a stored one fits its memory
    arrays = [len(getattr(phases, array)) for array in ("x", "d", "p", "w", "outputs")]
    ticks = [(t.slots, len(t.streams), t.called, t.exchanged) for t in phases.ticks]
    key.update(repr((arrays, ticks)).encode())
    for name, made in programs.items():
        sizes = [port.size for port in made.outputs]
        key.update(f" {name} {made.fingerprint()} {sizes}".encode())
    bind: dict[str, int] = {}
    keep: list[object] = []
    python = False
    called = list(programs.values())
    if bindings(phases.derivative).addresses and (method.implicit or method.in_turn):
        # a step with the Jacobian calls what derivatives of foreign functions call
        from linkwright.simulation.native.schedule import make_schedule

        called += make_schedule(phases, method).steps.values()
    for made in called:
        bound = bindings(made)
        bind.update(bound.addresses)
        keep.extend(bound.keep)
        python = python or bound.python
    names = [*programs, *(f"constants_{n}" for n in programs), SIZES]
    follows = followed(phases.event_list) > 0
    names += ["middle", "look"] if follows else []
    names += ["calm"] if follows and method.adaptive else []
    names += ["slope"] if follows or (method.adaptive and not method.implicit) else []
    names += ["first"] if method.adaptive else []
    dense = method.adaptive and lanes == 1
    names += ["dense"] if dense else []
    names += ["curve"] if dense and method.stages_inside else []
    code = cached_native(
        b"phases " + key.digest(),
        lambda: _bundle_ir(phases, method, lanes),
        names,
        bind=bind,
    )
    count = len(programs) + 1
    sizes = list((ctypes.c_int64 * count).from_address(code.address(SIZES)))
    variant = Variant(lanes, method.adaptive, dense, method.implicit and follows)
    loop = _driver(variant)
    constants = dict(zip(programs, sizes, strict=False))
    return Bundle(lanes, code, loop, constants, sizes[-1], keep, python)


@lru_cache(maxsize=16)
def _driver(variant: Variant) -> NativeCode:
    """Return the loop of a kind of run, which writes no memory of its own: one serves all."""
    key = f"driver {fingerprint('runs')} {variant}".encode()
    return cached_native(key, lambda: _driver_ir(variant), [RUN, PREPARE, HOLD, STAGED])


# What writes code is imported where code has to be written.
def _bundle_ir(phases: Phases, method: Method, width: int) -> str:
    from linkwright.simulation.native.steps import bundle_ir

    return bundle_ir(phases, method, width)


def _driver_ir(variant: Variant) -> str:
    from linkwright.simulation.native.driver import driver_ir

    return simplified(driver_ir(variant))
