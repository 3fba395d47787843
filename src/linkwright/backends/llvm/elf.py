"""Just enough of the ELF object format to check object code before it is loaded.

LLVM ends the process when a symbol cannot be found, and so does its memory manager when a
relocation needs space that was not reserved. Reading the symbol and relocation tables first turns
both into something that can be handled. Offsets and numbers are those of the System V ABI
(chapter 4, object files) and of its x86-64 supplement (table of relocation types).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

_SYMBOL = np.dtype(
    [
        ("name", "<u4"),
        ("info", "u1"),
        ("other", "u1"),
        ("section", "<u2"),
        ("value", "<u8"),
        ("size", "<u8"),
    ]
)
_RELOCATION = np.dtype([("offset", "<u8"), ("type", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL_TABLE, _RELOCATIONS = 2, 4
_X86_64 = 62
_DIRECT_64, _PC_32, _PLT_32, _PC_64 = 1, 2, 4, 24
_GOT_RELATIVE = (9, 41, 42)


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """What an object defines, what it needs, and whether it can be loaded as one block."""

    defined: frozenset[str]
    undefined: frozenset[str]
    one_block: bool


def read_facts(data: bytes) -> ObjectFacts | None:
    """Read the tables of a 64-bit little-endian ELF object; None for any other kind of file.

    >>> read_facts(b"not an object") is None
    True
    """
    if len(data) < _HEADER.size or data[:6] != b"\x7fELF\x02\x01":
        return None
    header = _HEADER.unpack_from(data)
    start, size, count = header[6], header[11], header[12]
    if size != _SECTION.size or start + size * count > len(data):
        return None
    sections = [_SECTION.unpack_from(data, start + size * i) for i in range(count)]
    tables = [s for s in sections if s[1] == _SYMBOL_TABLE]
    if len(tables) != 1:
        return None
    table = tables[0]
    symbols = np.frombuffer(data, _SYMBOL, int(table[5]) // _SYMBOL.itemsize, int(table[4]))
    external = symbols["section"] == 0
    text = sections[table[6]]
    strings = data[text[4] : text[4] + text[5]]
    defined = _names(symbols[~external & (symbols["info"] >> 4 != 0)], strings)
    undefined = _names(symbols[external], strings)
    one_block = header[2] == _X86_64 and all(
        _fits_one_block(data, s, external) for s in sections if s[1] == _RELOCATIONS
    )
    return ObjectFacts(defined, undefined, one_block)


def _names(symbols: np.ndarray, strings: bytes) -> frozenset[str]:
    starts = (int(start) for start in symbols["name"])
    names = (strings[start : strings.index(b"\0", start)].decode() for start in starts)
    return frozenset(name for name in names if name)


def _fits_one_block(data: bytes, section: tuple[int, ...], external: np.ndarray) -> bool:
    count = section[5] // _RELOCATION.itemsize
    relocations = np.frombuffer(data, _RELOCATION, count, section[4])
    inside = ~external[relocations["symbol"]]
    kind = relocations["type"]
    near = inside & np.isin(kind, (_PC_32, _PLT_32, _PC_64))
    return bool(np.all(near | np.isin(kind, (_DIRECT_64, *_GOT_RELATIVE))))
