"""Windows and wires that a paced loop reads at each tick and writes after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error, suggestion
from linkwright.simulation.pacing.memory import ENTRY, KINDS, READ, WRITE
from linkwright.windows import Record, Window, Wire

Integers = NDArray[np.int64]
Names = str | Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class Reads:
    """A window or wire that is read at each tick, into inputs of the System.

    A frame that is torn or damaged is counted (`Counters.failures`), and what was read before it
    holds. Of what came over a wire the newest sound frame is taken; `Wire.counts` has the rest.

    Args:
        window: open.
        fields: for fields of its record the inputs that take them, as many names as a field has
            numbers; also outputs of Python blocks and slots, which hold what was read.
        sequence: an input that receives the sequence of the frame, by which a block knows that
            nothing new has come.
        tick: an input that receives the frame's tick.
    """

    window: Window | Wire
    fields: Mapping[str, Names]
    sequence: str = ""
    tick: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Writes:
    """A window or wire that is written after each tick, from channels of the System.

    Args:
        window: made by this process; a frame that the system of a wire does not take is counted.
        fields: for each field of its record the channels, states, sampled outputs or inputs that
            it takes; `loop:total`, `loop:missed`, `loop:timeouts`, `loop:overrun`, `loop:unkept`
            and `loop:worst` (s) are what the loop counts.
        wake: whether to wake those who wait for a window.
        every: base ticks from one frame to the next, at multiples of so many.
        instants: whether the tick of a frame counts the instants that were missed, too.
    """

    window: Window | Wire
    fields: Mapping[str, Names]
    wake: bool = True
    every: int = 1
    instants: bool = False


def read_rows(
    reads: Sequence[Reads], number: Callable[[str], int]
) -> tuple[Integers, list[object]]:
    """Return the table of windows that are read, and what it refers to."""
    rows: list[list[int]] = []
    keep: list[object] = []
    for read in reads:
        record = read.window.record
        entries = _entries(record, read.fields, number)
        copy = np.zeros(record.size // 8, np.int64)
        inbox = np.zeros(record.size // 8 + 1, np.int64)
        descriptor = read.window.descriptor if isinstance(read.window, Wire) else -1
        keep += [entries, copy, inbox]
        told = [number(name) if name else -1 for name in (read.sequence, read.tick)]
        rows.append(
            [
                *(read.window.address, record.size // 4, copy.ctypes.data),
                int(np.uint64(record.schema).view(np.int64)),
                *(entries.ctypes.data, len(entries), -1, *told),
                *(descriptor, inbox.ctypes.data, 0),
            ]
        )
    return np.array(rows, np.int64).reshape(len(rows), len(READ)), keep


def write_rows(
    writes: Sequence[Writes], number: Callable[[str], int]
) -> tuple[Integers, list[object]]:
    """Return the table of windows that are written, and what it refers to."""
    rows: list[list[int]] = []
    keep: list[object] = []
    for write in writes:
        wire = write.window if isinstance(write.window, Wire) else None
        record = write.window.record if wire is None else wire.out_record
        if isinstance(write.window, Window) and not write.window.writable:
            raise Error(
                f"the window '{record.name}' was opened to be read",
                remedy="its one writer makes it by Window.create",
            )
        missing = [f.name for f in record.fields if f.name not in write.fields]
        if missing:
            raise Error(f"nothing is written to '{missing[0]}' of the record '{record.name}'")
        entries = _entries(record, write.fields, number)
        zeros = {f.name: np.zeros(f.shape) for f in record.fields}
        copy = np.frombuffer(bytearray(record.pack(zeros)), np.int64)
        keep += [entries, copy]
        rows.append(
            [
                *(write.window.address, record.size // 4, copy.ctypes.data),
                *(entries.ctypes.data, len(entries), int(write.wake)),
                *(
                    -1 if wire is None else wire.descriptor,
                    max(1, write.every),
                    int(write.instants),
                ),
            ]
        )
    return np.array(rows, np.int64).reshape(len(rows), len(WRITE)), keep


def _entries(record: Record, fields: Mapping[str, Names], number: Callable[[str], int]) -> Integers:
    """Return for each number of the fields where it lies, its type, and its place."""
    known = {f.name: f for f in record.fields}
    rows = []
    for name, given in fields.items():
        if name not in known:
            remedy = suggestion(name, known, f"there are {', '.join(known)}")
            raise Error(f"the record {record.name!r} has no field {name!r}", remedy=remedy)
        field = known[name]
        names = [given] if isinstance(given, str) else list(given)
        count = int(np.prod(field.shape, dtype=int))
        if len(names) != count:
            raise Error(
                f"the field {name!r} of {record.name!r} has {count} numbers, "
                f"and {len(names)} names were given for them"
            )
        size, kind = int(field.type[1:]) // 8, KINDS.index(field.type)
        at = record.offsets[name]
        rows += [[at + size * i, kind, number(n)] for i, n in enumerate(names)]
    return np.array(rows, np.int64).reshape(len(rows), len(ENTRY))
