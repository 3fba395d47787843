"""Records: values with names, units, types and shapes, in one layout of bytes.

A frame is a head of 64 bytes and the payload, little-endian throughout:

| bytes | type | what |
|---|---|---|
| 0 | u32 | "LWR1" |
| 4 | u16 | version of this layout, 1 |
| 6 | u16 | flags, 0 |
| 8 | u64 | digest of the declaration |
| 16 | u64 | sequence; in a window even, and odd while it is written |
| 24 | i64 | tick |
| 32 | i64 | clock, ns |
| 40 | u64 | checksum |
| 48 | u64 | bytes of the payload |
| 56 | u32 | in a window: counts wake-ups, the word that waiting processes sleep on; else 0 |
| 60 | u32 | 0 |
| 64 | | fields in the order of their declaration, each from a multiple of 8 bytes on |

Outside a window the last 8 bytes of the head are 0. The checksum is the sum of w_i K^(n-i) modulo
2^64 over the n 32-bit words w_1 to w_n of the frame, without the checksum itself and without those
last 8 bytes: in native code ``sum = sum * K + word`` for each. It shows damage, and frames that
were read half written; it is not a protection against somebody who means harm.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import Error, InputError, nearest
from linkwright.base.forking import cached_property
from linkwright.base.reprs import brief

HEAD = 64
"""Bytes before the payload."""
MAGIC = int.from_bytes(b"LWR1", "little")
VERSION = 1
MULTIPLIER = 0x9E3779B97F4A7C15
"""K of the checksum: an odd number near 2^64 over the golden ratio."""
LARGEST = 1 << 30
"""Bytes of a frame."""

TYPES = {
    "f64": "<f8", "f32": "<f4",
    "i64": "<i8", "i32": "<i4", "i16": "<i2", "i8": "<i1",
    "u64": "<u8", "u32": "<u4", "u16": "<u2", "u8": "<u1",
}  # fmt: skip
"""Types of fields, with NumPy's name for them."""

_CODES = dict(zip(TYPES, "dfqihbQIHB", strict=True))  # of Python's `struct`
_MANY = 1024  # values, from which on NumPy packs faster
_NUMBERS = frozenset((float, int, bool, np.float64, np.int64))
_WORD = np.dtype("<u4")
_HEAD = struct.Struct("<IHHQQqqQQII")
_COUNTED = [*range(10), 12, 13]  # words of the head that the checksum counts
_FORBIDDEN = frozenset("\t\n\r\0")

Values = Mapping[str, Any]


class RecordError(Error):
    """Bytes that are not a frame of the record that they should be; nothing of them is used.

    Args:
        reason: one word that programs can use: "short", "magic", "version", "schema", "length",
            "checksum"; of a window also "torn".
        what: the same in a sentence.
        remedy: what to do about it.

    Example:
        >>> Record("state", Field("q")).unpack(b"")
        Traceback (most recent call last):
        linkwright.windows.records.RecordError: a frame of 'state' has 72 bytes, these are 0
    """

    def __init__(self, reason: str, what: str, *, remedy: str | None = None) -> None:
        super().__init__(what, remedy=remedy)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a record.

    Args:
        name: of the value, such as "puma.q".
        unit: such as "rad"; "1" for a number without one.
        type: f64, f32, or i64, i32, i16, i8 and u64, u32, u16, u8.
        shape: of an array, () for a single number.

    Example:
        >>> Field("q", "rad", shape=(6,)).bytes
        48
    """

    name: str
    unit: str = "1"
    type: str = "f64"
    shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _check_line("a field's name", self.name)
        _check_line("a field's unit", self.unit)
        if self.type not in TYPES:
            near = nearest(str(self.type), TYPES) or "f64"
            raise InputError(
                f"field '{self.name}' has the unknown type {brief(self.type)}",
                remedy=f"did you mean '{near}'? There are {', '.join(TYPES)}",
            )
        shape = sides(self.shape)
        if shape is None:
            raise InputError(
                f"the shape of field '{self.name}' is {brief(self.shape)}",
                remedy="give up to four positive whole numbers, such as (6,)",
            )
        object.__setattr__(self, "shape", shape)
        if self.bytes > LARGEST:
            raise InputError(f"field '{self.name}' of {self.bytes} bytes is too large")

    @property
    def bytes(self) -> int:
        """How many bytes it takes, without what follows for alignment."""
        return math.prod(self.shape) * np.dtype(TYPES[self.type]).itemsize


def _check_line(what: str, text: object) -> None:
    if not isinstance(text, str) or not text.strip() or _FORBIDDEN & set(text):
        raise InputError(f"{what} is a text of one line, not {brief(text)}")


def sides(shape: object) -> tuple[int, ...] | None:
    """Return a shape as it is kept, or None where it is none."""
    if not isinstance(shape, tuple | list) or len(shape) > 4:
        return None
    whole = all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in shape)
    return tuple(shape) if whole else None


class _FrameValues(Mapping[str, Any]):
    """The values of a frame, looked up in its bytes."""

    __slots__ = ("_names", "_row")

    def __init__(self, row: Any, names: tuple[str, ...]) -> None:
        self._row = row
        self._names = names

    def __getitem__(self, name: str) -> Any:
        if name not in self._row.dtype.fields:
            raise KeyError(name)
        value = self._row[name]
        return value if isinstance(value, np.ndarray) else value.item()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))


@dataclass(frozen=True, slots=True)
class Frame:
    """A record's values at one instant.

    Args:
        record: the declaration.
        data: the bytes of the frame, which can be sent on as they are.
        sequence: number of the frame, rising.
        tick: of the loop that wrote it.
        clock: ns on the writer's clock.

    Example:
        >>> record = Record("state", Field("q", "rad"))
        >>> frame = record.unpack(record.pack({"q": 0.5}, tick=7))
        >>> frame.tick, frame.values["q"]
        (7, 0.5)
    """

    record: Record
    data: bytes
    sequence: int
    tick: int
    clock: int

    @property
    def values(self) -> Values:
        """Values by the names of their fields: numbers, and arrays that cannot be written to."""
        row = np.frombuffer(self.data, self.record.layout, count=1, offset=HEAD)[0]
        return _FrameValues(row, self.record.names)

    def __repr__(self) -> str:
        return (
            f"Frame({self.record.name}, sequence={self.sequence}, tick={self.tick}, "
            f"clock={self.clock}, values={brief(dict(self.values))})"
        )


@lru_cache(maxsize=64)
def _powers_of_size(size: int) -> NDArray[np.uint64]:
    powers = np.full(size, MULTIPLIER, np.uint64)
    powers[0] = 1
    return np.ascontiguousarray(np.multiply.accumulate(powers)[::-1])


def _powers(count: int) -> NDArray[np.uint64]:
    """Return at least so many powers of the multiplier, the last of them 1."""
    return _powers_of_size(1 << max(count, 64).bit_length())


class Record:
    """What is exchanged: named values with units, types and shapes, in one layout.

    Args:
        name: of the record.
        fields: its values, in the order of their bytes.

    Example:
        >>> record = Record("state", Field("q", "rad", shape=(2,)), Field("life", type="u8"))
        >>> record.offsets, record.size
        ({'q': 64, 'life': 80}, 88)
        >>> data = record.pack({"q": [0.1, 0.2], "life": 2}, sequence=1)
        >>> record.unpack(data).values["q"]
        array([0.1, 0.2])
    """

    @worded
    def __init__(self, name: str, *fields: Field) -> None:
        _check_line("a record's name", name)
        self.name = name
        self.fields = fields
        self.names = tuple(f.name for f in fields)
        if not fields:
            raise InputError(f"record '{name}' has no fields")
        twice = sorted({n for n in self.names if self.names.count(n) > 1})
        if twice:
            raise InputError(f"record '{name}' has two fields called '{twice[0]}'")
        self.offsets: dict[str, int] = {}
        at = HEAD
        for f in fields:
            self.offsets[f.name] = at
            at += -(-f.bytes // 8) * 8
        self.size = at
        if at > LARGEST:
            raise InputError(f"record '{name}' of {at} bytes is too large")
        self.layout = np.dtype(
            {
                "names": list(self.names),
                "formats": [(TYPES[f.type], f.shape) for f in fields],
                "offsets": [at - HEAD for at in self.offsets.values()],
                "itemsize": self.size - HEAD,
            }
        )
        counts = [math.prod(f.shape) for f in fields]
        parts = [f"{n}{_CODES[f.type]}{-f.bytes % 8}x" for f, n in zip(fields, counts, strict=True)]
        self._payload = struct.Struct("<" + "".join(parts)) if sum(counts) < _MANY else None
        lines = [f"LWR{VERSION}\t{name}"]
        for f in fields:
            shape = "x".join(map(str, f.shape)) or "-"
            lines.append(f"{f.name}\t{f.unit}\t{f.type}\t{shape}\t{self.offsets[f.name]}")
        self.text = "\n".join(lines) + "\n"
        digest = hashlib.blake2b(self.text.encode(), digest_size=8).digest()
        self.schema = int.from_bytes(digest, "little")

    @classmethod
    @worded
    def from_text(cls, text: str) -> Record:
        """Return the record that a `text` declares, such as one that came over a wire.

        Args:
            text: the `text` of a record.

        Example:
            >>> record = Record("state", Field("q", "rad"))
            >>> Record.from_text(record.text) == record
            True
        """
        head, *lines = text.removesuffix("\n").split("\n")
        fields = []
        for line in lines:
            match line.split("\t"):
                case [name, unit, kind, shape, _]:
                    sides = [] if shape == "-" else shape.split("x")
                    if not all(s.isascii() and s.isdecimal() and len(s) < 11 for s in sides):
                        raise InputError(f"no shape is written as {brief(shape)}")
                    fields.append(Field(name, unit, kind, tuple(map(int, sides))))
                case _:
                    raise InputError(f"no field is declared by {brief(line)}")
        found = cls(head.partition("\t")[2], *fields)
        if found.text != text:
            raise InputError(
                f"the text of record '{found.name}' declares another layout",
                remedy="take the text of a record as it is, from the same version of Linkwright",
            )
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Record({self.name}, {len(self.fields)} fields, {self.size} bytes)"

    @cached_property
    def weights(self) -> NDArray[np.uint64]:
        """What the checksum multiplies each 32-bit word of a frame by."""
        count = self.size // 4
        powers = _powers(count)
        weights = np.zeros(count, np.uint64)
        weights[16:] = powers[len(powers) - (count - 16) :]
        weights[_COUNTED] = powers[len(powers) - (count - 4) : len(powers) - (count - 16)]
        return weights

    def checksum(self, data: bytes | bytearray | memoryview) -> int:
        """Return the checksum of a frame's bytes, whatever stands in its place in the head.

        Args:
            data: the bytes of a frame.
        """
        words = np.frombuffer(data, _WORD, self.size // 4)
        return int(np.dot(words, self.weights))

    @worded
    def pack(self, values: Values, *, sequence: int = 0, tick: int = 0, clock: int = 0) -> bytes:
        """Return the bytes of a frame.

        Args:
            values: a number or array for each field, by name. One that its field cannot hold as it
                is (a fraction in a whole number, another shape) is rejected.
            sequence: number of the frame.
            tick: of the loop.
            clock: ns.

        Example:
            >>> len(Record("state", Field("q")).pack({"q": 1.0}))
            72
        """
        return bytes(self.filled(values, sequence, tick, clock))

    def filled(self, values: Values, sequence: int, tick: int, clock: int) -> bytearray:
        """Return a frame as `pack` does, in bytes that can still be written to.

        Args:
            values: by the names of the fields.
            sequence: number of the frame.
            tick: of the loop.
            clock: ns.
        """
        data = bytearray(self.size)
        flat = None if self._payload is None else self._flat(values)
        try:
            if flat is None or self._payload is None:
                raise struct.error
            self._payload.pack_into(data, HEAD, *flat)
        except (struct.error, OverflowError):  # NumPy packs it, or says what is wrong
            self.fill(np.frombuffer(data, self.layout, count=1, offset=HEAD), values)
        self.seal(data, sequence, tick, clock)
        return data

    def _flat(self, values: Values) -> list[Any] | None:
        """Return all numbers in a row where they come in the plainest forms, else None."""
        if len(values) != len(self.fields) or isinstance(values, _FrameValues):
            return None
        flat: list[Any] = []
        for f in self.fields:
            value: Any = values.get(f.name)
            kind = type(value)
            if kind in _NUMBERS and not f.shape:
                flat.append(value)
            elif isinstance(value, np.ndarray) and value.shape == f.shape:
                flat += value.ravel().tolist()
            elif kind in (list, tuple) and f.shape == (len(value),):
                flat += value
            else:
                return None
        return flat

    def seal(self, data: bytearray, sequence: int, tick: int, clock: int) -> None:
        """Write the head of a frame before its payload.

        Args:
            data: the bytes of the frame.
            sequence: number of the frame.
            tick: of the loop.
            clock: ns.
        """
        head = (MAGIC, VERSION, 0, self.schema, sequence, tick, clock)
        try:
            _HEAD.pack_into(data, 0, *head, 0, self.size - HEAD, 0, 0)
        except struct.error as error:
            raise InputError(
                f"the head of '{self.name}' cannot hold sequence {brief(sequence)}, "
                f"tick {brief(tick)} and clock {brief(clock)}",
                remedy="give whole numbers of 64 bits",
            ) from error
        struct.pack_into("<Q", data, 40, self.checksum(data))

    def fill(self, row: NDArray[Any], values: Values) -> None:
        """Write values into an array of the record's `layout`.

        Args:
            row: one row of it.
            values: by the names of the fields, all of them.
        """
        if isinstance(values, _FrameValues) and values._row.dtype == self.layout:
            row[0] = values._row
            return
        if len(values) != len(self.names) or not all(name in values for name in self.names):
            self._complain_of_names(values)
        for f in self.fields:
            value = values[f.name]
            if not f.shape and f.type == "f64" and type(value) is float:
                row[f.name] = value
                continue
            given = np.asarray(value)
            if given.shape != f.shape:
                raise InputError(
                    f"field '{f.name}' of '{self.name}' has the shape {f.shape}, "
                    f"and {brief(value)} has {given.shape}"
                )
            place = row[f.name]
            if given.dtype.kind not in "fiub":
                raise InputError(f"field '{f.name}' of '{self.name}' holds numbers: {brief(value)}")
            if np.can_cast(given.dtype, place.dtype, "safe") or f.type == "f64":
                place[0] = given
            elif f.type == "f32":
                with np.errstate(over="ignore"):
                    place[0] = given
                if not np.array_equal(np.isinf(place[0]), np.isinf(given)):
                    raise InputError(
                        f"field '{f.name}' of '{self.name}' is of type f32 and cannot hold "
                        f"{brief(given.tolist())}"
                    )
            else:
                self._fill_whole(f, place, given)

    def _fill_whole(self, f: Field, place: NDArray[Any], given: NDArray[Any]) -> None:
        """Write whole numbers that come as another type."""
        low, high = np.iinfo(place.dtype).min, np.iinfo(place.dtype).max
        whole = given.dtype.kind != "f" or bool(np.all(given == np.floor(given)))
        # compared as Python's integers: a float64 holds no 2^64 - 1
        if not whole or int(given.min()) < low or int(given.max()) > high:
            raise InputError(
                f"field '{f.name}' of '{self.name}' is of type {f.type} and cannot hold "
                f"{brief(given.tolist())}",
                remedy=f"give whole numbers from {low} to {high}",
            )
        place[0] = given.astype(place.dtype)

    def _complain_of_names(self, values: Values) -> None:
        for name in values:
            if name not in self.offsets:
                near = nearest(str(name), self.names)
                raise InputError(
                    f"record '{self.name}' has no field {brief(name)}",
                    remedy=f"did you mean '{near}'?" if near else None,
                )
        missing = [name for name in self.names if name not in values]
        raise InputError(f"record '{self.name}' needs a value for '{missing[0]}'")

    @worded
    def unpack(self, data: bytes | bytearray | memoryview) -> Frame:
        """Return the frame that bytes are, or raise `RecordError`.

        Args:
            data: the bytes of one frame and no more.

        Example:
            >>> record = Record("state", Field("q"))
            >>> try:
            ...     record.unpack(record.pack({"q": 1.0})[:-1] + b"!")
            ... except RecordError as error:
            ...     print(error.reason)
            checksum
        """
        length = len(data)
        if length < HEAD:
            raise RecordError(
                "short", f"a frame of '{self.name}' has {self.size} bytes, these are {length}"
            )
        magic, version, flags, schema, sequence, tick, clock, checksum, payload, wakes, zero = (
            _HEAD.unpack_from(data)
        )
        if magic != MAGIC:
            raise RecordError("magic", f"these bytes are not a frame of '{self.name}'")
        if version != VERSION or flags:
            raise RecordError(
                "version",
                f"a frame of '{self.name}' has version {version} and flags {flags}, "
                f"known are {VERSION} and 0",
                remedy="use the same version of Linkwright on both sides",
            )
        if schema != self.schema:
            raise RecordError(
                "schema",
                f"a frame was declared otherwise than '{self.name}' is here "
                f"({schema:016x}, not {self.schema:016x})",
                remedy="declare the same names, units, types and shapes on both sides",
            )
        if payload != self.size - HEAD or length != self.size:
            reason = "short" if length < self.size else "length"
            raise RecordError(
                reason, f"a frame of '{self.name}' has {self.size} bytes, these are {length}"
            )
        if wakes or zero or checksum != self.checksum(data):
            raise RecordError("checksum", f"a frame of '{self.name}' is damaged")
        return Frame(self, bytes(data), sequence, tick, clock)
