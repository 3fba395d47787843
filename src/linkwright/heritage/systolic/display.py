"""What the debugger shows: a processing element, rows of data memory, FIFOs, everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from linkwright.heritage.systolic.code import MOST_WAITING
from linkwright.heritage.systolic.fixed import ONE
from linkwright.heritage.systolic.instructions import ELEMENTS, PORTS, REGISTERS, SIDE, SIGNALS
from linkwright.heritage.systolic.listing import listing
from linkwright.heritage.systolic.machine import KEPT, ArrayMachine
from linkwright.heritage.systolic.units import UNITS, ArrayUnit

_WIDE = 38


def element_text(machine: ArrayMachine, row: int, column: int, *, raw: bool = False) -> str:
    """Return the contents of a processing element, in the boxes of the report's display.

    Example:
        >>> from linkwright.heritage.systolic import ArrayMachine, assemble, read_data
        >>> code = assemble("NOP")
        >>> machine = ArrayMachine(code, read_data("", ())[0])
        >>> "AB0:  0.0000000000000000" in element_text(machine, 2, 16)
        True
    """
    element = (row - 1) * SIDE + column - 1
    shown = _raw if raw else _real
    rule = f"+{'-' * _WIDE}+{'-' * _WIDE}+"
    rows = [f"+{'-' * (2 * _WIDE + 1)}+"]
    for pair in (("N.in", "N.out"), ("W.in", "E.in"), ("W.out", "E.out"), ("S.in", "S.out")):
        cells = []
        for name in pair:
            ports = machine.inputs if name.endswith("in") else machine.outputs
            word = int(ports[PORTS.index(name[0]), element])
            cells.append(f" {name:5} = {shown(word)}")
        rows.append("|" + "|".join(f"{cell:{_WIDE}}" for cell in cells) + "|")
    rows.append(rows[0])
    for i in range(8):
        line = ""
        for kind in ("AB", "A", "B"):
            name = f"{kind}{i}"
            line += (
                f" {name + ':':4} {shown(int(machine.registers[REGISTERS.index(name), element]))}"
            )
        rows.append(f"|{line:{2 * _WIDE + 1}}|")
    rows.append(rule)
    boxes = [_unit(machine, unit, element, shown) for unit in UNITS]
    boxes.append(_about(machine, row, column))
    order = {unit.name: box for unit, box in zip(UNITS, boxes, strict=False)}
    pairs = (
        (order["Adder1"], order["Multiplier1"]),
        (order["Adder2"], order["Multiplier2"]),
        (order["Divider"], order["Shifter"]),
        (order["Sorter"], boxes[-1]),
    )
    for left, right in pairs:
        for i in range(max(len(left), len(right))):
            cells = [box[i] if i < len(box) else "" for box in (left, right)]
            rows.append("|" + "|".join(f"{cell:{_WIDE}}" for cell in cells) + "|")
        rows.append(rule)
    return "\n".join(rows)


def clocks(machine: ArrayMachine, unit: ArrayUnit, element: int) -> tuple[int, int]:
    """Return the cycles that a result is still good for, and those until it is ready; −1 for none.

    >>> from linkwright.heritage.systolic import ArrayMachine, assemble, read_data
    >>> machine = ArrayMachine(assemble("ADDD(AB0, AB1)"), read_data("", ())[0])
    >>> machine.step(), clocks(machine, UNITS[0], 0)
    (None, (5, -1))
    """
    number = UNITS.index(unit)
    age = machine.cycle - 1 - int(machine.ready[number, element])
    if age < 0:
        return -1, -age
    return (KEPT - age if age <= KEPT else -1), -1


def _unit(
    machine: ArrayMachine, unit: ArrayUnit, element: int, shown: Callable[[int], str]
) -> list[str]:
    good, busy = clocks(machine, unit, element)
    lines = [f" {unit.name + ':':13} (dyn. clock = {good:2d})"]
    first = sum(len(u.registers) for u in UNITS[: UNITS.index(unit)])
    for output in unit.outputs:
        for register in (output.on_a, output.on_b):
            if register is not None:
                word = int(machine.results[first + register, element])
                name = unit.registers[register] if "&" in output.name else output.name
                lines.append(f"   {name:6} = {shown(~word if output.complement else word)}")
    if not unit.outputs:
        lines.append("   PAR_PROD & CARY : inaccessible")
    if unit.latency:
        clock = "div_clock" if unit.name == "Divider" else "mul_clock"
        lines.append(f"   ready = {'y' if busy < 0 else 'n'} ({clock} = {busy:2d})")
    return lines


def _about(machine: ArrayMachine, row: int, column: int) -> list[str]:
    there = machine.code.instructions[machine.pc : machine.pc + 1]
    enabled = bool(there) and bool(there[0].mask.elements[row - 1, column - 1])
    return [
        f" row ........................... {row:04d}",
        f" column ........................ {column:04d}",
        f" enabled? ...................... {'yes' if enabled else 'no'}",
    ]


def data_text(machine: ArrayMachine, addresses: Iterable[int], *, raw: bool = False) -> str:
    """Return rows of data memory; rows like the one before them are left out.

    Example:
        >>> from linkwright.heritage.systolic import ArrayMachine, assemble, read_data
        >>> machine = ArrayMachine(assemble("NOP"), read_data("", ())[0])
        >>> print(data_text(machine, range(0, 3), raw=True))
        0000:        0        0        0        0        0        0        0        0
                     0        0        0        0        0        0        0        0
           *: the same to 0002
    """
    per = 8 if raw else 4
    rows: list[str] = []
    before, same = None, None

    def close() -> None:
        if same is not None:
            rows.append(f"   *: the same to {same:04d}")

    for address in addresses:
        words = [int(w) for w in machine.memory[address]]
        if words == before:
            same = address
            continue
        close()
        before, same = words, None
        cells = [_raw(w) if raw else f"{w / ONE:13.10f}" for w in words]
        for i in range(0, SIDE, per):
            head = f"{address:04d}:" if i == 0 else " " * 5
            rows.append(f"{head} {' '.join(cells[i : i + per])}")
    close()
    return "\n".join(rows)


def fifo_text(machine: ArrayMachine, name: str) -> str:
    """Return the addresses that wait in a FIFO, and its state.

    Example:
        >>> from linkwright.heritage.systolic import ArrayMachine, assemble, read_data
        >>> machine = ArrayMachine(assemble("fifo program = x*2\\nx: JUMP"), read_data("", ())[0])
        >>> fifo_text(machine, "program")
        'program FIFO (ok): 0 0'
    """
    waiting = machine.fifos[name]
    state = "empty" if not waiting else "full" if len(waiting) >= MOST_WAITING else "ok"
    return f"{name} FIFO ({state}): {' '.join(map(str, waiting))}".rstrip(": ")


def signal_text(system_field: int) -> str:
    """Return the eight signals, with an X at those that a system field asserts.

    >>> print(signal_text(0x10).splitlines()[4])
    X JUMP    the program goes on at an address of the program FIFO
    """
    return "\n".join(
        f"{'X' if system_field >> i & 1 else ' '} {name:7} {meaning}"
        for i, (name, meaning) in enumerate(SIGNALS.items())
    )


def dump_text(machine: ArrayMachine) -> str:
    """Return everything: memories, FIFOs and all 256 elements.

    Example:
        >>> from linkwright.heritage.systolic import ArrayMachine, assemble, read_data
        >>> machine = ArrayMachine(assemble("NOP"), read_data("", ())[0])
        >>> dump_text(machine).count("enabled?")
        256
    """
    parts = [
        f"cycle {machine.cycle}, pc {machine.pc}, steps {machine.marks}",
        *(fifo_text(machine, name) for name in ("read", "write", "program")),
        "Data Memory",
        data_text(machine, range(len(machine.memory))),
        "Program Memory",
        listing(machine.code, range(len(machine.code.instructions))),
        *(element_text(machine, e // SIDE + 1, e % SIDE + 1) for e in range(ELEMENTS)),
    ]
    return "\n\n".join(parts) + "\n"


def _real(word: int) -> str:
    return f"{word / ONE:19.16f}"


def _raw(word: int) -> str:
    return f"{word & 0xFFFFFFFF:8x}"
