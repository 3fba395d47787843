"""From LLVM IR to a WebAssembly module: the object that LLVM writes, put at fixed addresses.

LLVM writes a relocatable object. What a linker of several objects does is not needed for one: its
functions, types and globals keep their numbers, since nothing is imported but the memory, the stack
pointer and the table, which the module has itself. Addresses of data and places in the table of
functions are put in where the relocations say (WebAssembly tool conventions, *Linking*).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm

from linkwright.backends.llvm import target
from linkwright.base.errors import CompileError

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+sign-ext,+nontrapping-fptoint,+bulk-memory,+bulk-memory-opt,+mutable-globals"
START = 1024
"""Where data begins: an address of 0 is none."""
STACK = 1 << 18
PAGE = 1 << 16
_LARGE = 1_500_000  # characters of IR, of which a page must stay small
_TYPE, _IMPORT, _FUNCTION, _TABLE, _MEMORY, _GLOBAL, _EXPORT = range(1, 8)
_ELEMENTS, _CODE, _DATA = 9, 10, 11
_FUNCTIONS_KIND, _DATA_KIND = 0, 1
_UNDEFINED, _EXPLICIT_NAME, _ABSOLUTE = 0x10, 0x40, 0x200
_TABLE_PLACES, _ADDRESSES = {1: "sleb", 2: "i32"}, {3: "leb", 4: "sleb", 5: "i32"}
_ADDENDS = frozenset({3, 4, 5, 8, 9})


@dataclass(frozen=True, slots=True)
class WasmModule:
    """A module before its memory is filled.

    Args:
        sections: the bytes of all sections by number, the data left out.
        data: what memory holds from the start, with addresses.
        functions: the place of each function in the table: its address in C.
        addresses: of global variables by name.
        free: the first address behind data and stack.
    """

    sections: dict[int, bytes]
    data: list[tuple[int, bytes]]
    functions: dict[str, int]
    addresses: dict[str, int]
    free: int

    def bytes_with(self, data: Sequence[tuple[int, bytes]], size: int) -> bytes:
        """Return the module with more data in a memory of so many bytes."""
        pages = -(-size // PAGE)
        parts = [*self.data, *data]
        filled = b"".join(
            b"\x00\x41" + sleb(at) + b"\x0b" + leb(len(part)) + part for at, part in parts
        )
        sections = self.sections | {
            _MEMORY: b"\x01\x00" + leb(pages),
            _DATA: leb(len(parts)) + filled,
        }
        made = b"\0asm\1\0\0\0"
        for number in sorted(sections):
            made += bytes([number]) + leb(len(sections[number])) + sections[number]
        return made


def body_of(module: bytes, index: int) -> tuple[int, int]:
    """Return where the body of a function is in a module, and how many bytes it has."""
    reader = _Reader(module, 8)
    while reader.byte() != _CODE:
        reader.take(reader.leb())
    reader.leb()
    reader.leb()
    for _ in range(index):
        reader.take(reader.leb())
    size = reader.leb()
    return reader.at, size


@lru_cache(maxsize=2)
def _machine(effort: int) -> Any:
    target.initialize()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    made = llvm.Target.from_triple(TRIPLE)
    return made.create_target_machine(features=FEATURES, opt=effort, reloc="static")


def assemble(texts: Sequence[str], exports: Sequence[str]) -> WasmModule:
    """Return the module of texts of LLVM IR that are one unit; `exports` can be called by name.

    >>> made = assemble(
    ...     ["define double @half(double %x) {\\n%y = fmul double %x, 0.5\\n ret double %y }"],
    ...     ["half"],
    ... )
    >>> made.bytes_with([], 1)[:4], made.functions
    (b'\\x00asm', {'half': 1})
    """
    # the browser optimizes: 2 takes twice the time, for code that is as fast but smaller
    machine = _machine(0 if sum(map(len, texts)) < _LARGE else 2)
    whole: Any = None
    try:
        for text in texts:
            module = llvm.parse_assembly(text)
            module.triple, module.data_layout = TRIPLE, str(machine.target_data)
            if whole is None:
                whole = module
            else:
                whole.link_in(module)
        whole.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM rejected the generated IR: {str(error).strip()}") from error
    return linked(bytes(machine.emit_object(whole)), exports)


# -- numbers ---------------------------------------------------------------------------------------
def leb(value: int, size: int = 0) -> bytes:
    """Return an unsigned number in LEB128, of so many bytes or as few as it takes.

    >>> leb(624485).hex()
    'e58e26'
    """
    made = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        more = value or len(made) + 1 < size
        made.append(byte | (0x80 if more else 0))
        if not more:
            return bytes(made)


def sleb(value: int, size: int = 0) -> bytes:
    """Return a signed number in LEB128.

    >>> sleb(-123456).hex(), sleb(64).hex()
    ('c0bb78', 'c000')
    """
    made = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        done = (value == 0 and not byte & 0x40) or (value == -1 and byte & 0x40)
        more = not done or len(made) + 1 < size
        made.append(byte | (0x80 if more else 0))
        if not more:
            return bytes(made)


@dataclass(slots=True)
class _Reader:
    data: bytes
    at: int = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def leb(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def sleb(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if byte & 0x40 else value

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def name(self) -> str:
        return self.take(self.leb()).decode()


# -- the object ------------------------------------------------------------------------------------
@dataclass(slots=True)
class _Object:
    sections: dict[int, bytes] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)  # numbers of sections as they come
    symbols: list[tuple[int, str, int, int]] = field(default_factory=list)  # kind, name, index, at
    relocations: dict[int, list[tuple[int, int, int, int]]] = field(default_factory=dict)
    imported: list[str] = field(default_factory=list)  # functions


def _read(code: bytes) -> _Object:
    made, reader = _Object(), _Reader(code, 8)
    linking, relocations = b"", []
    while reader.at < len(code):
        number = reader.byte()
        payload = reader.take(reader.leb())
        made.order.append(number)
        if number:
            made.sections[number] = payload
            continue
        custom = _Reader(payload)
        name = custom.name()
        if name == "linking":
            linking = payload[custom.at :]
        elif name.startswith("reloc."):
            relocations.append(payload[custom.at :])
    made.imported = list(_imports(made.sections.get(_IMPORT, b"\0")))
    made.symbols = list(_symbols(linking, made.imported))
    for payload in relocations:
        custom = _Reader(payload)
        section = made.order[custom.leb()]
        made.relocations[section] = [_relocation(custom) for _ in range(custom.leb())]
    return made


def _relocation(reader: _Reader) -> tuple[int, int, int, int]:
    """Return type, offset, symbol and addend."""
    kind, offset, index = reader.byte(), reader.leb(), reader.leb()
    return kind, offset, index, reader.sleb() if kind in _ADDENDS else 0


def _imports(payload: bytes) -> Iterator[str]:
    """Yield the names of functions that are imported."""
    reader = _Reader(payload)
    for _ in range(reader.leb()):
        reader.name()
        name, kind = reader.name(), reader.byte()
        if kind == 0:
            reader.leb()
            yield name
        elif kind == 3:
            reader.take(2)
        else:  # a table has a type before its limits
            if kind == 1:
                reader.byte()
            limited = reader.byte()
            reader.leb()
            if limited & 1:
                reader.leb()


def _symbols(linking: bytes, imported: Sequence[str]) -> Iterator[tuple[int, str, int, int]]:
    """Yield the symbols: kind, name, and the number of a function or segment with the place in it.

    What is not defined has the number -1.
    """
    reader = _Reader(linking)
    reader.leb()
    while reader.at < len(linking):
        kind = reader.byte()
        part = _Reader(reader.take(reader.leb()))
        if kind != 8:
            continue
        for _ in range(part.leb()):
            symbol, flags = part.byte(), part.leb()
            if symbol == _DATA_KIND:
                name, index, at = part.name(), -1, 0
                if not flags & _UNDEFINED:
                    index, at = part.leb(), part.leb()
                    part.leb()
                yield symbol, name, index, at
            elif symbol == 3:
                yield symbol, "", part.leb(), 0
            else:
                index = part.leb()
                own = not flags & _UNDEFINED or flags & _EXPLICIT_NAME
                name = part.name() if own else ""
                if symbol == _FUNCTIONS_KIND and flags & _UNDEFINED:
                    yield symbol, imported[index], -1, 0
                else:
                    yield symbol, name, index, 0


def linked(code: bytes, exports: Sequence[str]) -> WasmModule:
    """Return the module of an object."""
    found = _read(code)
    if found.imported:
        raise CompileError(f"a page has no function {', '.join(sorted(found.imported))}")
    segments = _segments(found.sections.get(_DATA, b"\0"))
    places = [START + at for at, _ in segments]
    end = max((at + len(part) for at, (_, part) in zip(places, segments, strict=True)), default=0)
    stack = -(-max(end, START) // 64) * 64 + STACK
    functions = {
        name: index + 1 for kind, name, index, _ in found.symbols if kind == 0 and index >= 0
    }
    addresses = {
        name: places[index] + at
        for kind, name, index, at in found.symbols
        if kind == _DATA_KIND and index >= 0
    }
    texts = {section: bytearray(found.sections[section]) for section in found.relocations}
    for section, each in found.relocations.items():
        for kind, offset, index, addend in each:
            if kind in _TABLE_PLACES:
                _patch(texts[section], offset, _TABLE_PLACES[kind], found.symbols[index][2] + 1)
            elif kind in _ADDRESSES:
                _, name, segment, at = found.symbols[index]
                if segment < 0:
                    raise CompileError(f"a page has no variable {name!r}")
                _patch(texts[section], offset, _ADDRESSES[kind], places[segment] + at + addend)
    data = _segments(bytes(texts.get(_DATA, found.sections.get(_DATA, b"\0"))))
    count = _Reader(found.sections[_FUNCTION]).leb()
    elements = leb(count) + b"".join(map(leb, range(count)))
    missing = [name for name in exports if name not in functions]
    if missing:
        raise CompileError(f"the module does not define {', '.join(missing)}")
    listed = [_text("memory") + b"\x02\x00"]
    listed += [_text(name) + b"\x00" + leb(functions[name] - 1) for name in exports]
    sections = {
        _TYPE: found.sections[_TYPE],
        _FUNCTION: found.sections[_FUNCTION],
        _TABLE: b"\x01\x70\x00" + leb(count + 1),
        _GLOBAL: b"\x01\x7f\x01\x41" + sleb(stack) + b"\x0b",
        _EXPORT: leb(len(listed)) + b"".join(listed),
        _ELEMENTS: b"\x01\x00\x41\x01\x0b" + elements,
        _CODE: bytes(texts.get(_CODE, found.sections[_CODE])),
    }
    placed = list(zip(places, (part for _, part in data), strict=True))
    return WasmModule(sections, placed, functions, addresses, stack)


def _segments(payload: bytes) -> list[tuple[int, bytes]]:
    """Return where the segments of data lie in the object, and what they hold."""
    reader, made = _Reader(payload), []
    for _ in range(reader.leb()):
        if reader.leb() != 0 or reader.byte() != 0x41:
            raise CompileError("the object has data of an unknown kind")
        at = reader.sleb()
        reader.byte()
        made.append((at, reader.take(reader.leb())))
    return made


def _patch(text: bytearray, offset: int, kind: str, value: int) -> None:
    if kind == "i32":
        text[offset : offset + 4] = value.to_bytes(4, "little")
    else:
        text[offset : offset + 5] = (leb if kind == "leb" else sleb)(value, 5)


def _text(name: str) -> bytes:
    return leb(len(name.encode())) + name.encode()
