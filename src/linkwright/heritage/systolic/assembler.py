"""The assembler: source text into object code at absolute addresses.

The syntax of the report's assembler is lost; this one is defined in `docs/array.md`. It keeps every
mnemonic that the report names, and its form of operations: ``SORT(AB1, CSUM1B)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from linkwright.base.errors import InputError, suggestion, unknown
from linkwright.heritage.systolic.code import FIFOS, MOST_WAITING, MOST_WORDS, ArrayCode
from linkwright.heritage.systolic.expressions import WholeNumbers
from linkwright.heritage.systolic.instructions import (
    DESTINATIONS,
    IDLE,
    PAIRS,
    REGISTERS,
    SIDE,
    SIGNALS,
    SOURCES,
    TRANSFERS,
    ArrayInstruction,
    ArrayMask,
    Triple,
    loads,
)
from linkwright.heritage.systolic.memory import KINDS, ROWS, DataQueue
from linkwright.heritage.systolic.units import OPERATIONS

_NAME = re.compile(r"[A-Za-z_]\w*")
_LABEL = re.compile(r"(?!(?:E:N|N:E|S:W|W:S)\b)([A-Za-z_]\w*)\s*:\s*")
_OPERATION = re.compile(r"([A-Z]+[0-9]?)\s*\((.*)\)")
_ALL = ArrayMask(False, 0xFFFFFFFF)
_MOST_TURNS, _MOST_DEEP = 20_000, 16  # of lines between repeat and end

MOVES: dict[str, tuple[tuple[str, str], ...]] = {
    "MOVE_SW": (("SWL_OUT", "NEL_IN"), ("SWH_OUT", "NEH_IN")),
    "MOVE_NE": (("NEL_OUT", "SWL_IN"), ("NEH_OUT", "SWH_IN")),
}
"""Lines that become two instructions; with READ or WRITE behind them, three."""


def assemble(
    text: str, *, file: str | None = None, settings: Mapping[str, int] | None = None
) -> ArrayCode:
    """Return the code of a source.

    Args:
        text: the source.
        file: its name, for errors and for the code.
        settings: values that replace those of ``set`` lines.

    Example:
        >>> code = assemble("queue x ascending 2\\nfifo read = x\\ngo: READQ\\nMOVE_SW READ\\n")
        >>> len(code.instructions), dict(code.labels), code.fifos["read"]
        (4, {'go': 0}, (0,))
    """
    return _Assembly(file, dict(settings or {})).code(text)


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    text: str


class _Assembly:
    """One pass over the lines, then the FIFOs."""

    def __init__(self, file: str | None, settings: dict[str, int]) -> None:
        self.file = file
        self.settings = settings
        self.names: dict[str, int] = {}
        self.masks: dict[str, ArrayMask] = {"all": _ALL}
        self.queues: list[DataQueue] = []
        self.labels: dict[str, int] = {}
        self.fifos: dict[str, _Line] = {}
        self.instructions: list[ArrayInstruction] = []
        self.lines: list[int] = []
        self._turns = 0

    def code(self, text: str) -> ArrayCode:
        rows = [
            _Line(i, row.partition("#")[0].strip()) for i, row in enumerate(text.splitlines(), 1)
        ]
        for line in self._unrolled([row for row in rows if row.text]):
            with _Placed(self.file, line):
                self._line(line)
        unused = sorted(set(self.settings) - set(self.names))
        if unused:
            raise InputError(
                f"the source sets no {unused[0]!r}",
                file=self.file,
                remedy=suggestion(unused[0], self.names, "leave the setting out"),
            )
        fifos: dict[str, tuple[int, ...]] = {}
        for name, listed in self.fifos.items():
            with _Placed(self.file, listed):
                fifos[name] = self._waiting(name, listed.text)
        return ArrayCode(
            tuple(self.instructions),
            tuple(self.lines),
            self.labels,
            self.masks,
            tuple(self.queues),
            fifos,
            self.file or "source",
        )

    def _unrolled(self, rows: list[_Line], depths: int = 0) -> Iterator[_Line]:
        """Yield lines with those between ``repeat`` and ``end`` as often as it says."""
        at = 0
        while at < len(rows):
            line = rows[at]
            at += 1
            if line.text == "end":
                raise InputError(
                    "there is nothing to end", file=self.file, line=line.number, remedy="remove it"
                )
            if line.text.split()[0] != "repeat":
                yield line
                continue
            inside, depth = [], 1
            while at < len(rows):
                depth += (rows[at].text.split()[0] == "repeat") - (rows[at].text == "end")
                at += 1
                if not depth:
                    break
                inside.append(rows[at - 1])
            with _Placed(self.file, line):
                if depth:
                    raise InputError(
                        "this repeat has no end", remedy="write `end` behind its lines"
                    )
                count = WholeNumbers(line.text.removeprefix("repeat"), self.names).value()
                if not 0 <= count <= MOST_WORDS:
                    raise InputError(
                        f"this would repeat {count} times", remedy=f"0 to {MOST_WORDS} are possible"
                    )
            for _ in range(count):
                self._turns += 1
                if self._turns > _MOST_TURNS or depths > _MOST_DEEP:
                    raise InputError(
                        "the lines are repeated too often",
                        file=self.file,
                        line=line.number,
                        remedy=f"{_MOST_TURNS} turns and {_MOST_DEEP} levels at most",
                    )
                yield from self._unrolled(inside, depths + 1)

    def _line(self, line: _Line) -> None:
        word, _, rest = line.text.partition(" ")
        if word == "set":
            self._set(rest)
        elif word == "limit":
            self._limit(rest)
        elif word == "queue":
            self._queue(rest.split())
        elif word == "mask":
            self._mask(rest)
        elif word == "fifo":
            name, _, rest = (part.strip() for part in rest.partition("="))
            if name not in FIFOS:
                raise InputError(f"there is no FIFO {name!r}", remedy="read, write or program")
            if name in self.fifos:
                raise InputError(f"the {name} FIFO is listed twice", remedy="join the lists")
            self.fifos[name] = _Line(line.number, rest)
        else:
            self._instruction(line)

    # -- declarations ------------------------------------------------------------------------------
    def _set(self, text: str) -> None:
        name, found, value = (part.strip() for part in text.partition("="))
        if not found or not _NAME.fullmatch(name):
            raise InputError("this sets nothing", remedy="write `set NAME = NUMBER`")
        if name in self.names:
            raise InputError(f"{name!r} is set twice", remedy="use another name")
        self.names[name] = self.settings.get(name, WholeNumbers(value, self.names).value())

    def _limit(self, text: str) -> None:
        left, found, right = (part.strip() for part in text.partition("<="))
        if not found:
            raise InputError("this limits nothing", remedy="write `limit n + p <= 16`")
        value, most = (WholeNumbers(part, self.names).value() for part in (left, right))
        if value > most:
            told = right if right.isdecimal() else f"{right}, which is {most},"
            given = ", ".join(f"{name} = {number}" for name, number in self.names.items())
            raise InputError(
                f"{left} is {value}, and {told} is the most", remedy=f"set other sizes than {given}"
            )

    def _queue(self, words: list[str]) -> None:
        if len(words) < 2 or not _NAME.fullmatch(words[0]):
            raise InputError("a queue needs a name and a kind", remedy=_QUEUE)
        name, kind, *rest = words
        if kind not in KINDS:
            raise InputError(f"no queue is {kind!r}", remedy=suggestion(kind, KINDS, _QUEUE))
        if any(queue.name == name for queue in self.queues):
            raise InputError(f"the queue {name!r} is declared twice", remedy="use another name")
        output = "output" in rest
        end = rest.index("output") if output else len(rest)
        rest, counted = rest[:end], " ".join(rest[end + 1 :])
        width = WholeNumbers(counted, self.names).value() if counted else SIDE
        if not 0 <= width <= SIDE:
            raise InputError(f"{width} words are not a row", remedy=f"0 to {SIDE}")
        at = rest.index("at") if "at" in rest else len(rest)
        size, place = " ".join(rest[:at]), " ".join(rest[at + 1 :])
        if not size and kind != "constant":
            raise InputError(f"the queue {name!r} has no number of rows", remedy=_QUEUE)
        rows = WholeNumbers(size, self.names).value() if size else 1
        if rows < 1 or (kind == "constant" and rows > 1):
            raise InputError(
                f"the queue {name!r} has {rows} rows",
                remedy="a constant queue has one" if kind == "constant" else "one at least",
            )
        free = max((q.lowest + q.rows for q in self.queues), default=0)
        lowest = WholeNumbers(place, self.names).value() if at < len(rest) else free
        if lowest < 0 or lowest + rows > ROWS:
            raise InputError(
                f"the queue {name!r} does not fit in data memory", remedy=f"it has {ROWS} rows"
            )
        for other in self.queues:
            if lowest < other.lowest + other.rows and other.lowest < lowest + rows:
                raise InputError(
                    f"the queues {other.name!r} and {name!r} overlap", remedy="place one elsewhere"
                )
        self.queues.append(DataQueue(name, kind, rows, lowest, output, width))

    def _mask(self, text: str) -> None:
        name, found, value = (part.strip() for part in text.partition("="))
        if not found or not _NAME.fullmatch(name):
            raise InputError("this is not a mask", remedy=_MASK)
        if name in self.masks:
            raise InputError(f"the mask {name!r} is declared twice", remedy="use another name")
        kind, _, rest = value.partition(" ")
        if kind == "diagonals":
            numbers = self._within(rest, -SIDE + 1, SIDE - 1)
            self.masks[name] = ArrayMask(True, sum(1 << 15 + d for d in set(numbers)))
            return
        if kind not in ("rows", "columns"):
            raise InputError(f"{value!r} is not a mask", remedy=_MASK)
        lists = re.fullmatch(r"(?:rows\s+(.*?))?\s*(?:columns\s+(.*))?", value)
        assert lists is not None
        bits = 0
        for given in lists.groups():
            numbers = self._within(given or f"1..{SIDE}", 1, SIDE)
            bits = bits << SIDE | sum(1 << SIDE - i for i in set(numbers))
        self.masks[name] = ArrayMask(False, bits)

    def _within(self, text: str, least: int, most: int) -> list[int]:
        numbers = WholeNumbers(text, self.names).ranges()
        for number in numbers:
            if not least <= number <= most:
                raise InputError(f"{number} is out of {least}..{most}", remedy=_MASK)
        return numbers

    def _waiting(self, name: str, text: str) -> tuple[int, ...]:
        """Return the addresses of a FIFO, such as ``loop*(n-1), stop``."""
        heads = {queue.name: queue.head for queue in self.queues}
        known = self.labels if name == "program" else heads
        found: list[int] = []
        for item in text.split(","):
            target, _, times = (part.strip() for part in item.partition("*"))
            if target not in known:
                kind = "label" if name == "program" else "queue"
                raise unknown(kind, target, known, f"list {kind}s")
            count = WholeNumbers(times, self.names).value() if times else 1
            if count < 0 or len(found) + count > MOST_WAITING:
                raise InputError(
                    f"{target!r} would wait {count} times", remedy=f"0 to {MOST_WAITING} fit"
                )
            found += [known[target]] * count
        return tuple(found)

    # -- instructions ------------------------------------------------------------------------------
    def _instruction(self, line: _Line) -> None:
        text = line.text
        while found := _LABEL.match(text):
            if found[1] in self.labels:
                raise InputError(f"the label {found[1]!r} stands twice", remedy="use another name")
            self.labels[found[1]] = len(self.instructions)
            text = text[found.end() :]
        mask = _ALL
        if text.startswith("@"):
            name, _, text = text[1:].partition(" ")
            if name not in self.masks:
                raise unknown("mask", name, self.masks, "declare it before")
            mask, text = self.masks[name], text.strip()
        if not text:
            if mask is not _ALL:
                raise InputError(
                    "there is no instruction behind the mask", remedy="add one, or NOP"
                )
            return  # labels alone
        moved = text.split()
        if moved[0] in MOVES:
            self._move(moved, mask, line.number)
            return
        signals = set()
        while text and (word := text.split()[0]) in SIGNALS:
            signals.add(word)
            text = text[len(word) :].strip()
        external, bar, internal = text.partition("|")
        one = _phases(external) if external.strip() else IDLE
        two = (_phases(internal) if internal.strip() else IDLE) if bar else one
        self._add(ArrayInstruction(mask, frozenset(signals), one, two), line.number)

    def _move(self, words: list[str], mask: ArrayMask, line: int) -> None:
        name, *signals = words
        if len(signals) > 1 or any(one not in ("READ", "WRITE") for one in signals):
            raise InputError(
                f"{' '.join(words)!r} is not a move", remedy=f"write {name}, {name} READ"
            )
        memory = ArrayInstruction(mask, frozenset(signals))
        if signals == ["READ"]:
            self._add(memory, line)
        for first, second in MOVES[name]:
            phases = (Triple(first), Triple(second))
            self._add(replace(memory, signals=frozenset(), external=phases, internal=phases), line)
        if signals == ["WRITE"]:
            self._add(memory, line)

    def _add(self, instruction: ArrayInstruction, line: int) -> None:
        if len(self.instructions) >= MOST_WORDS:
            raise InputError(
                "the program does not fit in program memory", remedy=f"it has {MOST_WORDS} words"
            )
        self.instructions.append(instruction)
        self.lines.append(line)


_QUEUE = "write `queue NAME ascending|descending|constant ROWS [at ADDRESS] [output [WORDS]]`"
_MASK = "write `mask NAME = rows 1..4 columns 2` (of 1..16), or `diagonals 0..3` (row − column)"


def _phases(text: str) -> tuple[Triple, Triple]:
    """Return the two phases of one half of an instruction."""
    transfers: list[str] = []
    moves: list[Triple] = []
    for item in _items(text):
        if item in TRANSFERS and item != "NOP":
            transfers.append(item)
        else:
            moves += _item(item, len(moves))
    if len(transfers) > 2 or len(moves) > 2:
        raise InputError(
            f"{text.strip()!r} needs more than two phases", remedy="make it two instructions"
        )
    moves += [Triple()] * (2 - len(moves))
    transfers += ["NOP"] * (2 - len(transfers))
    first, second = (
        replace(move, transfer=transfer) for move, transfer in zip(moves, transfers, strict=True)
    )
    return first, second


def _items(text: str) -> list[str]:
    """Return the items between commas that are not in parentheses."""
    return [item.strip() for item in re.split(r",(?![^()]*\))", text)]


def _item(item: str, taken: int) -> list[Triple]:
    """Return the triples of an operation, a move, or nothing."""
    if item == "NOP":
        return [Triple()]
    if item in OPERATIONS:
        return [Triple(destination=item)]
    found = _OPERATION.fullmatch(item)
    if found:
        return _operation(found[1], found[2])
    target, equals, source = (part.strip() for part in item.partition("="))
    if not equals:
        raise InputError(
            f"{item!r} is not understood",
            remedy=suggestion(
                item.partition("(")[0],
                [*DESTINATIONS, *TRANSFERS, *SIGNALS, *MOVES],
                "see the page *Array*",
            ),
        )
    if target not in REGISTERS and target not in PAIRS:
        raise InputError(f"nothing can be put in {target!r}", remedy="name a register or ports")
    if source == "0":
        if target in PAIRS:
            raise InputError(f"{target} cannot be cleared", remedy="send a register that is 0")
        return [Triple(destination=target)]
    _known(source)
    reached = loads(source, target, taken + 1)
    if (target in REGISTERS and not target.startswith("AB")) and not reached[target[0] == "B"]:
        raise InputError(f"no bus goes from {source} to {target}", remedy="go by a register AB0..7")
    return [Triple(source=source, destination=target)]


def _operation(name: str, inside: str) -> list[Triple]:
    if name not in OPERATIONS:
        raise unknown("operation", name, OPERATIONS)
    if OPERATIONS[name].source is not None:
        raise InputError(f"{name} takes nothing from the buses", remedy=f"write {name} alone")
    operands = [part.strip() for part in inside.split(",")]
    if len(operands) > 2:
        raise InputError(f"{name} has {len(operands)} operands", remedy="two at most")
    operands += [""] * (2 - len(operands))
    triples = []
    for which, operand in enumerate(operands):
        target, equals, source = (part.strip() for part in operand.rpartition("="))
        if equals and (which or target not in REGISTERS):
            raise InputError(
                f"{operand!r} is not an operand", remedy="only the first can be kept, in a register"
            )
        if source:
            _known(source)
            if not loads(source, target if which == 0 else "NOP", which + 1)[which]:
                raise InputError(
                    f"{source} cannot be on bus {'AB'[which]}",
                    remedy="change the order, or use a register AB0..7",
                )
            if target and not target.startswith("AB") and target[0] != "A":
                raise InputError(f"{target} does not hang on bus A", remedy="keep it in A or AB")
        triples.append(Triple(source=source or "NOP", destination=target or "NOP"))
    return [triples[0], replace(triples[1], destination=name)]


def _known(source: str) -> None:
    if source not in SOURCES or source == "NOP":
        raise unknown("source", source, SOURCES, "name a register, ports or a result")


class _Placed:
    """Adds file and line to an error of input."""

    def __init__(self, file: str | None, line: _Line | None) -> None:
        self.file, self.line = file, line

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError) and error.line is None:
            line = self.line.number if self.line else None
            raise InputError(error.what, file=self.file, line=line, remedy=error.remedy) from None
