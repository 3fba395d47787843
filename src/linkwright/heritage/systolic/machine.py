"""The machine: 256 processing elements that obey one program, cycle by cycle.

What its hardware manual said is lost; the rules here are those that the report leaves open, and
`docs/array.md` states them. A unit notes in which cycle its result is ready, so no clock has to be
counted down: a result is good for five more cycles, then it is stale.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.heritage.systolic.code import ArrayCode
from linkwright.heritage.systolic.fixed import ArrayFault, Words
from linkwright.heritage.systolic.instructions import (
    ELEMENTS,
    PAIRS,
    PORTS,
    REGISTERS,
    SIDE,
    TRANSFERS,
    Triple,
    loads,
)
from linkwright.heritage.systolic.memory import KINDS, ROWS, DataQueue
from linkwright.heritage.systolic.units import OPERATIONS, OUTPUTS, UNITS

KEPT = 5
"""Cycles that a result stays in its register."""

_LONG_AGO, _ALWAYS = -1000, 2**62
_UNIT = {unit.name: i for i, unit in enumerate(UNITS)}
_FIRST: dict[str, int] = {}  # of each unit's registers among all of them
for _unit in UNITS:
    _FIRST[_unit.name] = sum(len(u.registers) for u in UNITS[: _UNIT[_unit.name]])
_OWNER = {output.name: unit for unit in UNITS for output in unit.outputs}
_REGISTER = {name: i for i, name in enumerate(REGISTERS)}
_PORT = {name: i for i, name in enumerate(PORTS)}
_LOW, _HIGH = 0xFFFF, ~0xFFFF


@dataclass(slots=True)
class _Part:
    """What one half of an instruction does in both phases, to which elements."""

    elements: NDArray[np.intp]
    phases: tuple[Triple, Triple]
    buses: tuple[tuple[bool, bool], tuple[bool, bool]]


class ArrayMachine:
    """The array with its memory, ready to run a program.

    Args:
        code: the program.
        memory: rows of data, as `read_data` returns them.
        watch: whether questionable transfers between elements are noted too.

    Example:
        >>> from linkwright.heritage.systolic import assemble, read_data
        >>> code = assemble("ADDD(AB0, B1)\\nAB2 = SUM1A\\n")
        >>> machine = ArrayMachine(code, read_data("", code.queues)[0])
        >>> machine.run(), machine.cycle
        ('end', 2)
    """

    def __init__(self, code: ArrayCode, memory: Words, *, watch: bool = False) -> None:
        self.code = code
        self.watch = watch
        self.memory = np.array(memory, dtype=np.int64)
        self.registers = np.zeros((len(REGISTERS), ELEMENTS), dtype=np.int64)
        self.inputs = np.zeros((len(PORTS), ELEMENTS), dtype=np.int64)
        self.outputs = np.zeros((len(PORTS), ELEMENTS), dtype=np.int64)
        self.lines = np.zeros((len(PORTS), ELEMENTS + SIDE + 1), dtype=np.int64)  # and the edge
        self.driven = np.full((len(PORTS), ELEMENTS + SIDE + 1), _LONG_AGO)
        self.driven[:, ELEMENTS:] = _ALWAYS
        self.results = np.zeros((sum(len(u.registers) for u in UNITS), ELEMENTS), dtype=np.int64)
        self.ready = np.full((len(UNITS), ELEMENTS), _LONG_AGO)
        self.edge = np.zeros(SIDE, dtype=np.int64)
        self.left = np.zeros(SIDE, dtype=np.int64)
        self.counters: dict[str, int] = {"read": 0, "write": 0}
        self.current: dict[str, DataQueue | None] = {"read": None, "write": None}
        self.fifos = {
            name: deque(code.fifos.get(name, ())) for name in ("read", "write", "program")
        }
        self.pc = 0
        self.cycle = 0
        self.marks = 0
        self.ended = not code.instructions
        self.warnings: dict[str, int] = {}
        self._parts: dict[int, list[_Part]] = {}

    def copy(self) -> ArrayMachine:
        """Return a machine in the same state that goes its own way."""
        other = ArrayMachine(self.code, self.memory, watch=self.watch)
        for name in ("registers", "inputs", "outputs", "lines", "driven", "results", "ready"):
            setattr(other, name, getattr(self, name).copy())
        other.edge, other.left = self.edge.copy(), self.left.copy()
        other.counters, other.current = dict(self.counters), dict(self.current)
        other.fifos = {name: deque(waiting) for name, waiting in self.fifos.items()}
        other.pc, other.cycle, other.marks = self.pc, self.cycle, self.marks
        other.ended = self.ended
        other.warnings = dict(self.warnings)
        other._parts = self._parts
        return other

    def run(self, stops: Collection[int] = (), most: int | None = None) -> str:
        """Go on until the end, an address, or so many cycles, and return which: "end", "stop".

        Args:
            stops: addresses that are not executed, unless it is there already.
            most: cycles, or None for no limit.

        Raises:
            ArrayFault: on a fatal error; the program counter stays at the instruction.
        """
        first = True
        while not self.ended and (most is None or most > 0):
            if not first and self.pc in stops:
                return "stop"
            self.step()
            first = False
            most = None if most is None else most - 1
        return "end" if self.ended else "stop"

    def step(self) -> None:
        """Execute one instruction, which is one cycle."""
        if self.ended:
            return
        here = self.pc
        instruction = self.code.instructions[here]
        signals = instruction.signals
        for name in ("read", "write"):
            if f"{name.upper()}Q" in signals:
                self._next_queue(name)
        if "MARK" in signals:
            self.marks += 1
        parts = self._parts.get(here)
        if parts is None:
            parts = self._parts[here] = self._decoded(here)
        buses: list[list[Any]] = [[0, 0] for _ in parts]
        for phase in (0, 1) if parts else ():
            for part, bus in zip(parts, buses, strict=True):
                self._carry(part, phase, bus)
            moving = [p for p in parts if p.phases[phase].transfer != "NOP"]
            for half, move in enumerate((self._receive, self._send)):
                for part in moving:
                    code = TRANSFERS[part.phases[phase].transfer][half]
                    if code:
                        move(code, part.elements)
        self._signal(signals)
        self.cycle += 1

    def _signal(self, signals: frozenset[str]) -> None:
        """Obey what comes at the end of a cycle."""
        if "ZERO" in signals:
            self.edge[:] = 0
        if "READ" in signals:
            self.edge = self.memory[self._advanced("read")].copy()
        if "WRITE" in signals:
            self.memory[self._advanced("write")] = self.left
        self.pc += 1
        if "JUMP" in signals:
            if not self.fifos["program"]:
                self.pc -= 1
                raise self._fault("the program FIFO is empty", "list one address for each jump")
            self.pc = self.fifos["program"].popleft()
        if "HALT" in signals or self.pc >= len(self.code.instructions):
            self.ended = True

    # -- memory ------------------------------------------------------------------------------------
    def queue_at(self, address: int) -> DataQueue | None:
        """Return the queue that has an address, if one has."""
        for queue in self.code.queues:
            if queue.lowest <= address < queue.lowest + queue.rows:
                return queue
        return None

    def _next_queue(self, name: str) -> None:
        if not self.fifos[name]:
            raise self._fault(
                f"the {name} FIFO is empty", f"list one queue for each {name.upper()}Q"
            )
        self.counters[name] = self.fifos[name].popleft()
        self.current[name] = self.queue_at(self.counters[name])

    def _advanced(self, name: str) -> int:
        """Return the address of this access, and go on to the next."""
        address, queue = self.counters[name], self.current[name]
        if not 0 <= address < ROWS:
            raise self._fault(
                f"the {name} address {address} is out of data memory", "see the FIFOs"
            )
        if queue is None:
            self._warn(f"a {name} before a queue was taken from the {name} FIFO")
        elif address not in queue.addresses:
            self._warn(f"a {name} beyond the tail of the queue {queue.name!r}")
        self.counters[name] = address + (KINDS[queue.kind] if queue else 1)
        return address

    # -- elements ----------------------------------------------------------------------------------
    def _decoded(self, address: int) -> list[_Part]:
        """Return the parts of an instruction, without those that do nothing."""
        instruction = self.code.instructions[address]
        enabled = instruction.mask.elements
        column = np.indices((SIDE, SIDE))[1]
        halves = [
            (enabled & (column == 0), instruction.external),
            (enabled & (column > 0), instruction.internal),
        ]
        if instruction.external == instruction.internal:
            halves = [(enabled, instruction.external)]
        return [
            _Part(np.flatnonzero(where), phases, _buses(phases))
            for where, phases in halves
            if where.any() and phases != (Triple(), Triple())
        ]

    def _carry(self, part: _Part, phase: int, bus: list[Any]) -> None:
        """Load the buses of some elements, and let the destination take what is on them."""
        triple, elements = part.phases[phase], part.elements
        loaded = part.buses[phase]
        if triple.source != "NOP":
            self._load(triple.source, elements, loaded, bus)
        destination = triple.destination
        if destination == "NOP":
            return
        if destination in PAIRS:
            for which, port in enumerate(PAIRS[destination]):
                if loaded[which]:
                    self.outputs[_PORT[port], elements] = bus[which]
        elif destination in OPERATIONS:
            self._operate(destination, elements, bus)
        else:
            which = phase if loaded[0] == loaded[1] else int(loaded[1])
            if not destination.startswith("AB"):
                which = int(destination.startswith("B"))
            self.registers[_REGISTER[destination], elements] = bus[which]

    def _load(
        self, source: str, elements: NDArray[np.intp], loaded: tuple[bool, bool], bus: list[Any]
    ) -> None:
        if source in PAIRS:
            for which, port in enumerate(PAIRS[source]):
                if loaded[which]:
                    bus[which] = self.inputs[_PORT[port], elements]
        elif source in OUTPUTS:
            output, unit = OUTPUTS[source], _OWNER[source]
            self._look(unit.name, source, elements)
            for which, register in enumerate((output.on_a, output.on_b)):
                if loaded[which] and register is not None:
                    words = self.results[_FIRST[unit.name] + register, elements]
                    bus[which] = ~words if output.complement else words
        else:
            words = self.registers[_REGISTER[source], elements]
            for which in (0, 1):
                if loaded[which]:
                    bus[which] = words

    def _look(self, unit: str, name: str, elements: NDArray[np.intp]) -> None:
        """Reject a result that is not ready, and note one that is stale."""
        ages = self.cycle - self.ready[_UNIT[unit], elements]
        if (ages < 0).any():
            wait = int(-ages.min())
            raise self._fault(
                f"{name} is not ready for {wait} more {'cycle' if wait == 1 else 'cycles'}",
                "wait longer after the load",
                elements[ages < 0],
            )
        if (ages > KEPT).any():
            where = _place(int(elements[ages > KEPT][0]))
            self._warn(f"{name} is stale in {where}: older than {KEPT} cycles")

    def _operate(self, name: str, elements: NDArray[np.intp], bus: list[Any]) -> None:
        operation = OPERATIONS[name]
        a, b = (np.zeros(len(elements), np.int64) if type(w) is int else w for w in bus)
        if operation.source is not None:
            self._look(operation.source, operation.source, elements)
            first = _FIRST[operation.source]
            a = self.results[first, elements]
            b = self.results[first + 1, elements] if operation.source == "Shifter" else a
        try:
            results = operation.compute(a, b)
        except ArrayFault as fault:
            bad = elements[list(fault.elements)]
            raise self._fault(f"{name}: {fault.what}", fault.remedy or "", bad) from None
        for unit in operation.units:
            i = _UNIT[unit]
            busy = self.ready[i, elements] > self.cycle
            if busy.any():
                raise self._fault(f"{unit} is busy", "wait for its result", elements[busy])
            self.ready[i, elements] = self.cycle + UNITS[i].latency
            for register, words in enumerate(results):
                self.results[_FIRST[unit] + register, elements] = words

    # -- lines between elements --------------------------------------------------------------------
    def _send(self, code: str, elements: NDArray[np.intp]) -> None:
        low = code.endswith("L")
        for port in code[:2]:
            i = _PORT[port]
            words = self.outputs[i, elements]
            self.lines[i, elements] = words & _LOW if low else words & _HIGH
            self.driven[i, elements] = self.cycle
        if code.startswith("SW"):
            self._leave(elements[elements >= ELEMENTS - SIDE], "S", low)
        else:
            self._leave(elements[elements < SIDE], "N", low)

    def _leave(self, elements: NDArray[np.intp], port: str, low: bool) -> None:
        """Catch at the edge what goes out of the array."""
        columns = elements % SIDE
        words = self.lines[_PORT[port], elements]
        kept = self.left[columns] & (_HIGH if low else _LOW)
        self.left[columns] = kept | words

    def _receive(self, code: str, elements: NDArray[np.intp]) -> None:
        low = code.endswith("L")
        keep = _HIGH if low else _LOW
        for port in code[:2]:
            i, facing = _PORT[port], _PORT[_FACING[port]]
            neighbors = _NEIGHBOR[port][elements]
            if port in "NS":
                self.lines[facing, ELEMENTS : ELEMENTS + SIDE] = self.edge & ~keep
            words = self.lines[facing, neighbors]
            self.inputs[i, elements] = self.inputs[i, elements] & keep | words
            if self.watch:
                late = self.driven[facing, neighbors] < self.cycle - 1
                if late.any():
                    where = _place(int(elements[late][0]))
                    self._warn(f"{where} receives from {port} what nobody sends")

    # -- words -------------------------------------------------------------------------------------
    def _warn(self, what: str) -> None:
        text = f"{self.code.source}:{self._line()}: {what}"
        self.warnings[text] = self.warnings.get(text, 0) + 1

    def _line(self) -> int:
        return self.code.lines[self.pc] if self.pc < len(self.code.lines) else 0

    def _fault(
        self, what: str, remedy: str, elements: NDArray[np.intp] | None = None
    ) -> ArrayFault:
        place = f"{self.code.source}:{self._line()}, pc {self.pc}, cycle {self.cycle}"
        where = () if elements is None else tuple(int(e) for e in elements)
        if where:
            more = f" and {len(where) - 1} more" if len(where) > 1 else ""
            place += f", {_place(where[0])}{more}"
        return ArrayFault(f"{place}: {what}", remedy=remedy, elements=where)


def _buses(phases: tuple[Triple, Triple]) -> tuple[tuple[bool, bool], tuple[bool, bool]]:
    """Return which buses each phase loads; a pair leaves a first operand on its bus."""
    first = loads(phases[0].source, phases[0].destination, 1)
    second = loads(phases[1].source, phases[1].destination, 2)
    if second == (True, True) and phases[1].destination in OPERATIONS:
        second = (not first[0], not first[1])
    return first, second


def _place(element: int) -> str:
    return f"row {element // SIDE + 1} column {element % SIDE + 1}"


def _neighbors(row: int, column: int) -> NDArray[np.intp]:
    """Return the number of each element's neighbor in a direction.

    Beyond the north and the south are the 16 words at the edge, beyond east and west one that is 0.
    """
    r, c = np.indices((SIDE, SIDE))
    beyond = ELEMENTS + (c if row else SIDE)
    r, c = r + row, c + column
    inside = (r >= 0) & (r < SIDE) & (c >= 0) & (c < SIDE)
    return np.where(inside, r * SIDE + c, beyond).ravel()


_NEIGHBOR = {
    "N": _neighbors(-1, 0),
    "E": _neighbors(0, 1),
    "S": _neighbors(1, 0),
    "W": _neighbors(0, -1),
}
_FACING = {"N": "S", "S": "N", "E": "W", "W": "E"}
