"""Instructions of the array: words of 112 bits, and what their fields mean.

A word has a mask of 32 bits, the kind of that mask (8 bits), the eight signals of the system field
(8 bits), and four triples of 4 + 6 + 6 bits: input or output, source, destination, for the external
elements (column 1) in phase 1 and 2, and for the internal ones (columns 2 to 16) in phase 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.heritage.systolic.units import OPERATIONS, OUTPUTS

SIDE = 16
ELEMENTS = SIDE * SIDE
PORTS = ("N", "E", "S", "W")
REGISTERS = tuple(f"{kind}{i}" for kind in ("AB", "A", "B") for i in range(8))
PAIRS: dict[str, tuple[str, str]] = {
    "E:N": ("E", "N"),
    "N:E": ("N", "E"),
    "S:W": ("S", "W"),
    "W:S": ("W", "S"),
}
"""Which port a pair has on bus A, and which on bus B."""

SOURCES = ("NOP", *REGISTERS, *PAIRS, *OUTPUTS)
DESTINATIONS = ("NOP", *REGISTERS, *PAIRS, *OPERATIONS)
TRANSFERS: dict[str, tuple[str, str]] = {
    "NOP": ("", ""),
    "SWL_IN": ("SWL", ""),
    "SWH_IN": ("SWH", ""),
    "NEL_IN": ("NEL", ""),
    "NEH_IN": ("NEH", ""),
    "SWL_OUT": ("", "SWL"),
    "SWH_OUT": ("", "SWH"),
    "NEL_OUT": ("", "NEL"),
    "NEH_OUT": ("", "NEH"),
    "SWH&NEL": ("SWH", "NEL"),
    "NEH&SWL": ("NEH", "SWL"),
}
"""What each code receives, and what it sends: from or to which neighbors, and which half."""

SIGNALS: dict[str, str] = {
    "READ": "a row of data memory goes to the edge of the array, at the end of the cycle",
    "WRITE": "what left the array goes to a row of data memory, at the end of the cycle",
    "READQ": "the read address is taken from the read FIFO",
    "WRITEQ": "the write address is taken from the write FIFO",
    "JUMP": "the program goes on at an address of the program FIFO",
    "HALT": "the program ends",
    "ZERO": "the row at the edge becomes 0",
    "MARK": "a step begins (the machine counts them)",
}
"""The eight signals of the system field, from bit 0 on."""

_TRANSFERS = tuple(TRANSFERS)


@dataclass(frozen=True, slots=True)
class ArrayMask:
    """Which elements take part.

    Example:
        >>> ArrayMask(False, 0x8000FFFF).elements.sum(), ArrayMask(True, 1 << 15).elements.sum()
        (np.int64(16), np.int64(16))
    """

    diagonal: bool  # whether the bits are diagonals, or rows and columns
    bits: int  # 16 rows and 16 columns, row 1 and column 1 first; or bit 15 + row − column

    @property
    def elements(self) -> NDArray[np.bool_]:
        """Return the enabled elements, 16×16."""
        row, column = np.indices((SIDE, SIDE))
        if self.diagonal:
            return ((self.bits >> (15 + row - column)) & 1).astype(bool)
        return ((self.bits >> (31 - row)) & (self.bits >> (15 - column)) & 1).astype(bool)

    def picture(self) -> str:
        """Return a drawing with an x for each enabled element."""
        rows = ["    " + " ".join(f"{c + 1:>2}" for c in range(SIDE))]
        for r, enabled in enumerate(self.elements):
            rows.append(f"{r + 1:>3} " + " ".join(" x" if on else " ." for on in enabled))
        return "\n".join(rows)


@dataclass(frozen=True, slots=True)
class Triple:
    """What an element does in a phase: mnemonics of input or output, source and destination."""

    transfer: str = "NOP"
    source: str = "NOP"
    destination: str = "NOP"


IDLE = (Triple(), Triple())


@dataclass(frozen=True, slots=True)
class ArrayInstruction:
    """An instruction of the array.

    Example:
        >>> word = ArrayInstruction(ArrayMask(False, 0x0F0FF0F0)).word
        >>> f"{word:028x}", ArrayInstruction.decoded(word).mask.bits == 0x0F0FF0F0
        ('0f0ff0f000000000000000000000', True)
    """

    mask: ArrayMask  # who takes part
    signals: frozenset[str] = frozenset()  # names of `SIGNALS`
    external: tuple[Triple, Triple] = IDLE  # the two phases of column 1
    internal: tuple[Triple, Triple] = IDLE  # those of the other columns

    @property
    def system_field(self) -> int:
        """Return the signals as bits."""
        return sum(1 << i for i, name in enumerate(SIGNALS) if name in self.signals)

    @property
    def word(self) -> int:
        """Return the 112 bits."""
        word = self.mask.bits << 16 | self.mask.diagonal << 8 | self.system_field
        for triple in (*self.external, *self.internal):
            word = word << 4 | _TRANSFERS.index(triple.transfer)
            word = word << 6 | SOURCES.index(triple.source)
            word = word << 6 | DESTINATIONS.index(triple.destination)
        return word

    @classmethod
    def decoded(cls, word: int) -> ArrayInstruction:
        """Return the instruction of a word.

        Args:
            word: 112 bits.
        """
        if not 0 <= word < 1 << 112:
            raise InputError("an instruction has 112 bits", remedy="assemble the program again")
        triples = []
        for i in reversed(range(4)):
            bits = word >> 16 * i & 0xFFFF
            try:
                triples.append(
                    Triple(
                        _TRANSFERS[bits >> 12],
                        SOURCES[bits >> 6 & 63],
                        DESTINATIONS[bits & 63],
                    )
                )
            except IndexError:
                raise InputError(
                    f"the word {word:028x} is not an instruction",
                    remedy="assemble the program again",
                ) from None
        head = word >> 64
        if head >> 9 & 127:
            raise InputError(
                f"the word {word:028x} is not an instruction", remedy="assemble the program again"
            )
        return cls(
            ArrayMask(bool(head >> 8 & 1), head >> 16),
            signals_of(head & 255),
            (triples[0], triples[1]),
            (triples[2], triples[3]),
        )


def signals_of(system_field: int) -> frozenset[str]:
    """Return the names of the signals that a system field asserts.

    >>> sorted(signals_of(0x11))
    ['JUMP', 'READ']
    """
    return frozenset(name for i, name in enumerate(SIGNALS) if system_field >> i & 1)


@lru_cache(maxsize=1024)
def loads(source: str, destination: str, phase: int) -> tuple[bool, bool]:
    """Return whether a source loads bus A and bus B.

    A register of both buses loads the one that the destination can take, else A in phase 1 and B in
    phase 2.

    >>> loads("AB0", "NOP", 1), loads("AB0", "A3", 2), loads("SFTA&B", "NOP", 1)
    ((True, False), (True, False), (True, True))
    """
    if source == "NOP":
        return False, False
    if source in PAIRS:
        return True, True
    if source in OUTPUTS:
        output = OUTPUTS[source]
        return output.on_a is not None, output.on_b is not None
    if not source.startswith("AB"):
        return source.startswith("A"), source.startswith("B")
    if destination in REGISTERS and not destination.startswith("AB"):
        return destination.startswith("A"), destination.startswith("B")
    return phase == 1, phase == 2
