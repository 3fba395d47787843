"""Data memory of the array: rows of 16 words, in named queues that a data file fills."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwright.base.errors import InputError
from linkwright.heritage.systolic.fixed import ArrayFault, Words, to_words
from linkwright.heritage.systolic.instructions import SIDE

ROWS = 4096
"""Rows of data memory."""

KINDS: dict[str, int] = {"ascending": 1, "descending": -1, "constant": 0}
"""Kinds of queues, and how an address goes on."""


@dataclass(frozen=True, slots=True)
class DataQueue:
    """A named queue of rows.

    Args:
        name: of the source.
        kind: "ascending", "descending" or "constant".
        rows: how many; 1 where it is constant.
        lowest: the lowest address that it occupies.
        output: whether the program fills it, and the data file has nothing for it.
        words: how many words of a row count, from column 1 on.

    Example:
        >>> DataQueue("x", "descending", 3, 10).addresses
        (12, 11, 10)
    """

    name: str
    kind: str
    rows: int
    lowest: int
    output: bool = False
    words: int = SIDE

    @property
    def head(self) -> int:
        """Return the address that is read or written first."""
        return self.lowest + self.rows - 1 if self.kind == "descending" else self.lowest

    @property
    def addresses(self) -> tuple[int, ...]:
        """Return its addresses, from head to tail."""
        step = KINDS[self.kind]
        return tuple(self.head + step * i for i in range(self.rows))


def read_data(
    text: str, queues: Sequence[DataQueue], *, file: str | None = None
) -> tuple[Words, tuple[str, ...]]:
    """Return data memory with the numbers of a data file, and the warnings.

    The file lists the queues that are not output in the order of their declaration, each from head
    to tail, whatever its kind; 16 numbers are a row, "#" starts a comment. A number out of (−2, 2)
    becomes 0, with a warning. Lines with ``scale`` are left to `data_scales`.

    Args:
        text: of the data file.
        queues: as declared.
        file: its name, for errors and warnings.

    Example:
        >>> memory, warnings = read_data(
        ...     "1 " * 16 + "2 " * 16, [DataQueue("x", "descending", 2, 0)]
        ... )
        >>> int(memory[1, 0] >> 30), int(memory[0, 0]), warnings[0]
        (1, 0, "line 1: 2 is out of the range (−2, 2): 0 is loaded in row 2 of 'x'")
    """
    memory = np.zeros((ROWS, SIDE), dtype=np.int64)
    places = [(q, i, a) for q in queues if not q.output for i, a in enumerate(q.addresses)]
    wanted = SIDE * len(places)
    warnings: list[str] = []
    count = 0
    for number, line in enumerate(text.splitlines(), 1):
        entries = _entries(line)
        if entries[:1] == ["scale"]:
            continue
        for column, entry in enumerate(entries, 1):
            try:
                value = float(entry)
            except ValueError:
                raise InputError(
                    f"entry {column} is {entry[:40]!r}, not a number",
                    file=file,
                    line=number,
                    remedy="list numbers between −2 and 2; # starts a comment",
                ) from None
            if count >= wanted:
                raise InputError(
                    f"there are more numbers than the {wanted} that the queues take",
                    file=file,
                    line=number,
                    remedy=_sizes(queues),
                )
            queue, row, address = places[count // SIDE]
            try:
                memory[address, count % SIDE] = to_words(value)
            except ArrayFault as fault:
                place = f"{file}:{number}" if file else f"line {number}"
                warnings.append(
                    f"{place}: {fault.what}: 0 is loaded in row {row + 1} of {queue.name!r}"
                )
            count += 1
    if count < wanted:
        raise InputError(
            f"there are {count} numbers, and the queues take {wanted}",
            file=file,
            remedy=_sizes(queues),
        )
    return memory, tuple(warnings)


def data_scales(
    text: str, queues: Sequence[DataQueue], *, file: str | None = None
) -> dict[str, float]:
    """Return what the numbers of output queues are to be multiplied by, as a data file says.

    A line such as ``scale results 4`` says that the data were made smaller to fit, and that four
    times what the program leaves in the queue is meant.

    Args:
        text: of the data file.
        queues: as declared.
        file: its name, for errors.

    Example:
        >>> data_scales(
        ...     "scale y 4 # a quarter comes out", [DataQueue("y", "ascending", 2, 0, True)]
        ... )
        {'y': 4.0}
    """
    found: dict[str, float] = {}
    outputs = [q.name for q in queues if q.output and q.words]
    for number, line in enumerate(text.splitlines(), 1):
        entries = _entries(line)
        if entries[:1] != ["scale"]:
            continue
        try:
            _, name, factor = entries
            scale = float(factor)
        except ValueError:
            name, scale = "", 0.0
        if not math.isfinite(scale) or not scale or name not in outputs or name in found:
            raise InputError(
                f"{' '.join(entries)[:60]!r} scales nothing",
                file=file,
                line=number,
                remedy=f"write `scale QUEUE NUMBER` once, with a queue of {', '.join(outputs)}"
                if outputs
                else "remove it: the program fills no queue",
            )
        found[name] = scale
    return found


def _entries(line: str) -> list[str]:
    return line.partition("#")[0].replace(",", " ").split()


def _sizes(queues: Sequence[DataQueue]) -> str:
    listed = ", ".join(f"{q.name} {q.rows}" for q in queues if not q.output)
    return f"give 16 numbers for each row, in the order {listed}" if listed else "leave it empty"
