"""Object code of the array: words at absolute addresses, and the symbols of the source.

A code file is text. Its first line is ``linkwright array code 1``; each other line is a queue, a
mask, a label, a FIFO or a word of 112 bits in hexadecimal digits with the line of its source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from linkwright.base.errors import InputError
from linkwright.base.files import integer
from linkwright.heritage.systolic.instructions import SIDE, ArrayInstruction, ArrayMask
from linkwright.heritage.systolic.memory import KINDS, ROWS, DataQueue

HEAD = "linkwright array code 1"
FIFOS = ("read", "write", "program")
MOST_WORDS = 4096
"""Words of program memory."""

MOST_WAITING = 1024
"""Addresses that a FIFO holds."""


@dataclass(frozen=True, slots=True)
class ArrayCode:
    """A program of the array.

    Args:
        instructions: from address 0 on.
        lines: the line of the source that each comes from.
        labels: addresses by name.
        masks: by name.
        queues: in the order of declaration.
        fifos: start addresses that wait in "read", "write" and "program".
        source: the name of the source.

    Example:
        >>> ArrayCode(()).text().splitlines()[0]
        'linkwright array code 1'
    """

    instructions: tuple[ArrayInstruction, ...]
    lines: tuple[int, ...] = ()
    labels: Mapping[str, int] = field(default_factory=dict)
    masks: Mapping[str, ArrayMask] = field(default_factory=dict)
    queues: tuple[DataQueue, ...] = ()
    fifos: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    source: str = "?"

    def text(self) -> str:
        """Return the code file."""
        rows = [HEAD, f"source {self.source}"]
        for q in self.queues:
            use = f"output {q.words}" if q.output else "input"
            rows.append(f"queue {q.name} {q.kind} {q.rows} {q.lowest} {use}")
        for name, mask in self.masks.items():
            rows.append(f"mask {name} {'D' if mask.diagonal else 'R/C'} {mask.bits:08x}")
        rows += [f"label {name} {address}" for name, address in self.labels.items()]
        rows += [f"fifo {name} {' '.join(map(str, self.fifos.get(name, ())))}" for name in FIFOS]
        rows += [
            f"word {one.word:028x} {line}"
            for one, line in zip(self.instructions, self.lines, strict=True)
        ]
        return "\n".join(rows) + "\n"


def read_code(text: str, *, file: str | None = None) -> ArrayCode:
    """Return the program of a code file.

    Args:
        text: of the file.
        file: its name, for errors.

    Example:
        >>> read_code(ArrayCode(()).text()).source
        '?'
    """
    rows = text.splitlines()
    if not rows or rows[0] != HEAD:
        raise InputError(
            "this is not code of the array",
            file=file,
            line=1,
            remedy="make it with `linkwright tools systolic assemble`",
        )
    parts = _Parts()
    for number, row in enumerate(rows[1:], 2):
        words = row.split()
        if not words:
            continue
        try:
            parts.take(words)
        except (ValueError, IndexError, KeyError, InputError):
            raise InputError(
                f"{row[:60]!r} does not belong in a code file",
                file=file,
                line=number,
                remedy="assemble the program again",
            ) from None
    code = parts.code()
    for name, waiting in code.fifos.items():
        most = len(code.instructions) if name == "program" else ROWS
        if any(address >= most for address in waiting) or len(waiting) > MOST_WAITING:
            raise InputError(
                f"the {name} FIFO is out of range", file=file, remedy="assemble the program again"
            )
    return code


class _Parts:
    """The parts of a code file as they are read."""

    def __init__(self) -> None:
        self.source = "?"
        self.queues: list[DataQueue] = []
        self.masks: dict[str, ArrayMask] = {}
        self.labels: dict[str, int] = {}
        self.fifos: dict[str, tuple[int, ...]] = {}
        self.instructions: list[ArrayInstruction] = []
        self.lines: list[int] = []

    def take(self, words: list[str]) -> None:
        kind, *rest = words
        if kind == "source":
            self.source = " ".join(rest)
        elif kind == "queue":
            name, sort, *numbers = rest[:4]
            rows, lowest = map(_natural, numbers)
            output = rest[4] == "output"
            width = _natural(rest[5]) if output else SIDE
            queue = DataQueue(name, sort, rows, lowest, output, width)
            fits = rows >= 1 and lowest + rows <= ROWS and width <= SIDE
            if sort not in KINDS or not fits or rest[4:] not in (["input"], ["output", rest[-1]]):
                raise ValueError
            self.queues.append(queue)
        elif kind == "mask":
            name, sort, bits = rest
            self.masks[name] = ArrayMask({"D": True, "R/C": False}[sort], _hexadecimal(bits, 8))
        elif kind == "label":
            name, address = rest
            self.labels[name] = _natural(address)
        elif kind == "fifo":
            if rest[0] not in FIFOS:
                raise ValueError
            self.fifos[rest[0]] = tuple(_natural(one) for one in rest[1:])
        elif kind == "word" and len(self.instructions) < MOST_WORDS:
            word, line = rest
            self.instructions.append(ArrayInstruction.decoded(_hexadecimal(word, 28)))
            self.lines.append(_natural(line))
        else:
            raise ValueError

    def code(self) -> ArrayCode:
        return ArrayCode(
            tuple(self.instructions),
            tuple(self.lines),
            self.labels,
            self.masks,
            tuple(self.queues),
            self.fifos,
            self.source,
        )


def _natural(digits: str) -> int:
    found = integer(digits)
    if found is None or found < 0:
        raise ValueError
    return found


def _hexadecimal(digits: str, length: int) -> int:
    if len(digits) != length or not set(digits) <= set("0123456789abcdef"):
        raise ValueError
    return int(digits, 16)
