"""Disassembly: instructions as rows of a table, and code as source that can be assembled again."""

from __future__ import annotations

from collections.abc import Iterable

from linkwright.heritage.systolic.code import FIFOS, ArrayCode
from linkwright.heritage.systolic.instructions import SIGNALS, ArrayInstruction, Triple
from linkwright.heritage.systolic.units import OPERATIONS

_HEAD = (
    f"{'':26}{'external (ph1/ph2)':26}internal (ph1/ph2)\n"
    f"{'pc':5}{'sel':4}{'mask':9}{'sysfld':8}" + f"{'i/o':8}{'src':8}{'dst':10}" * 2
).rstrip()


def listing(code: ArrayCode, addresses: Iterable[int]) -> str:
    """Return instructions as the report's simulator shows them, two rows each.

    Example:
        >>> from linkwright.heritage.systolic import assemble
        >>> print(listing(assemble("ADD2(CSUM2A, B7)"), [0]).splitlines()[-1])
                                   NOP     B7      ADD2      NOP     B7      ADD2
    """
    rows = [_HEAD, "-" * 78]
    for address in addresses:
        one = code.instructions[address]
        kind = "D" if one.mask.diagonal else "R/C"
        head = f"{address:04d} {kind:4}{one.mask.bits:08X} {one.system_field:04X}    "
        for phase in (0, 1):
            fields = _fields(one.external[phase]) + _fields(one.internal[phase])
            rows.append(((head if phase == 0 else " " * len(head)) + fields).rstrip())
    return "\n".join(rows)


def _fields(triple: Triple) -> str:
    return f"{triple.transfer:8}{triple.source:8}{triple.destination:10}"


def disassemble(code: ArrayCode) -> str:
    """Return source that assembles to the same words, queues and FIFOs.

    Args:
        code: the program, as the assembler makes it.

    Example:
        >>> from linkwright.heritage.systolic import assemble
        >>> print(disassemble(assemble("go: READ AB0 = 0 | ADDD(A1 = AB2, B3)")), end="")
        go: READ AB0 = 0 | ADDD(A1 = AB2, B3)
    """
    rows = []
    for q in code.queues:
        end = f" output {q.words}" if q.output else ""
        rows.append(f"queue {q.name} {q.kind} {q.rows} at {q.lowest}{end}")
    names = {mask: name for name, mask in reversed(list(code.masks.items()))}
    for name, mask in code.masks.items():
        if name != "all":
            rows.append(f"mask {name} = {_lists(mask.bits, mask.diagonal)}")
    heads = {q.head: q.name for q in code.queues}
    marks = {address: label for label, address in reversed(list(code.labels.items()))}
    for name in FIFOS:
        waiting = code.fifos.get(name, ())
        known = marks if name == "program" else heads
        if waiting:
            rows.append(f"fifo {name} = {', '.join(known[address] for address in waiting)}")
    labels: dict[int, list[str]] = {}
    for label, address in code.labels.items():
        labels.setdefault(address, []).append(f"{label}:")
    for address, one in enumerate(code.instructions):
        mask_name = names[one.mask]
        words = [*labels.get(address, ()), *([] if mask_name == "all" else [f"@{mask_name}"])]
        rows.append(" ".join([*words, _instruction(one)]))
    rows += labels.get(len(code.instructions), [])
    return "\n".join(rows) + "\n"


def _lists(bits: int, diagonal: bool) -> str:
    if diagonal:
        return f"diagonals {_ranges(i - 15 for i in range(31) if bits >> i & 1)}"
    rows = _ranges(i for i in range(1, 17) if bits >> 32 - i & 1)
    return f"rows {rows} columns {_ranges(i for i in range(1, 17) if bits >> 16 - i & 1)}"


def _ranges(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "1..0"


def _instruction(one: ArrayInstruction) -> str:
    signals = [name for name in SIGNALS if name in one.signals]
    halves = [_half(*one.external)]
    if one.internal != one.external:
        halves.append(_half(*one.internal))
    return " ".join([*signals, " | ".join(halves)])


def _half(first: Triple, second: Triple) -> str:
    last = OPERATIONS.get(second.destination)
    if last is not None and last.source is None:
        kept = "" if first.destination == "NOP" else f"{first.destination} = "
        operands = [kept + _name(first.source), _name(second.source)]
        items = [f"{last.name}({', '.join(operands)})"]
    else:
        items = [_item(first), _item(second)]
        while len(items) > 1 and items[-1] == "NOP":
            items.pop()
    items += [t.transfer for t in (first, second) if t.transfer != "NOP"]
    if len(items) > 1 and items[0] == "NOP" and second.destination == "NOP":
        items.pop(0)
    return ", ".join(items)


def _name(source: str) -> str:
    return "" if source == "NOP" else source


def _item(triple: Triple) -> str:
    if triple.destination == "NOP" or triple.destination in OPERATIONS:
        return triple.destination
    return f"{triple.destination} = {_name(triple.source) or '0'}"
