"""One round of the search without chance: every definition is multiplied out once, if that helps.

This is quick enough for fast mode on small Programs, where it finds for instance that a linear
system needs one constant for each of its entries.
"""

from __future__ import annotations

from linkwright.program.passes.blocks import through_networks
from linkwright.program.passes.network import Network
from linkwright.program.passes.schedule import schedule
from linkwright.program.program import Program
from linkwright.program.search.moves import expand
from linkwright.program.search.operands import OperandSheet
from linkwright.program.search.sharing import Rejected, settle
from linkwright.program.search.sheet import Sheet
from linkwright.program.search.walk import Walk

_ROOM = 60  # rows that one node may become


def swept(program: Program) -> Program:
    """Return the Program with definitions multiplied out and shared anew where that is shorter.

    >>> from linkwright.algebra import symbols
    >>> from linkwright.program import count_operations, program
    >>> x, y = symbols("x y", "coordinate")
    >>> a, b = symbols("a b")
    >>> p = program("f", {"x": [x, y], "p": [a, b]}, {"f": a * (b * x + a * y) + x})
    >>> count_operations(p).total, count_operations(swept(p)).total
    (5, 3)
    """
    return schedule(through_networks(program, _sweep))


def _sweep(network: Network) -> None:
    loaded = OperandSheet(network)
    walk = Walk(loaded.sheet, 0)
    while _round(walk.sheet):
        walk.renew()
    loaded.store(walk.sheet, walk.names)


def _round(sheet: Sheet) -> bool:
    """Try every node once; whether any of them helped."""
    helped = False
    for node in range(len(sheet.value)):
        mark = sheet.mark()
        try:
            if sheet.rows[node] and expand(sheet, node, _middle, _ROOM)[1]:
                settle(sheet, _middle)
        except Rejected:
            sheet.undo(mark)
            continue
        if sheet.cost < mark[2]:
            helped = True
        else:
            sheet.undo(mark)
    return helped


def _middle() -> float:
    return 0.5
