"""Resubstitution by value: is this sum, or a part of it, a simple combination of other nodes?

The value in the finite field of some rows of a sum is compared with those of a + b, a*b, c*a,
a + c*b, a + b*d and a*(b + d), for nodes a, b, d that do not need the sum themselves and fixed
coefficients c that have a formula. A division is proposed only by a node that is a divisor already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linkwright.program.passes.fields import PRIME
from linkwright.program.search.moves import Chance, pick
from linkwright.program.search.sheet import Literals, Sheet

_FEW = 10  # nodes that are tried as the second one where that takes time

Row = tuple[Literals, int]
NodeOf = Callable[[int], tuple[int, int]]


def resubstitute(sheet: Sheet, chance: Chance, nodes: Sequence[int]) -> bool:
    """Write some rows of a sum by way of other nodes, if a way is found; whether it was."""
    node = pick(nodes, chance)
    rows = list(sheet.rows[node].values())
    if not rows:
        return False
    if len(rows) > 2 and chance() < 0.6:
        count = 2 + int(chance() * (len(rows) - 2))
        rows = _some(rows, count, chance)
    others = _independent(sheet, node)
    value = sum(sheet.row_value(sheet.literals[r], sheet.coefficient[r]) for r in rows) % PRIME
    if not value or len(others) < 2:
        return False
    old = {(sheet.literals[r], sheet.coefficient[r]) for r in rows}
    ways = [w for w in _ways(sheet, value, others, chance) if set(w) != old]
    if not ways:
        return False
    way = ways[int(chance() * len(ways))]
    for row in rows:
        sheet.remove(row)
    for literals, coefficient in way:
        sheet.add(node, literals, coefficient)
    return True


def _some(items: list[int], count: int, chance: Chance) -> list[int]:
    left = list(items)
    return [left.pop(int(chance() * len(left))) for _ in range(count)]


def _independent(sheet: Sheet, node: int) -> list[int]:
    """Return the nodes in use that are not computed from this one."""
    above = {node}
    stack = [node]
    readers: dict[int, list[int]] = {}
    for number, reads in enumerate(sheet.reads):
        for other in reads:
            readers.setdefault(other, []).append(number)
    while stack:
        below = stack.pop()
        users = [sheet.owner[row] for row in sheet.users[below]]
        for other in (*users, *readers.get(below, ())):
            if other not in above:
                above.add(other)
                stack.append(other)
    return [n for n in sorted(sheet.by_value.values()) if n not in above and sheet.users[n]]


def _ways(sheet: Sheet, value: int, others: list[int], chance: Chance) -> list[list[Row]]:
    """Return rows that add up to a value."""
    allowed = set(others)
    ways: list[list[Row]] = []

    def node_of(v: int) -> tuple[int, int]:
        sign, number = sheet.find(v)
        return (sign, number) if sign and number in allowed else (0, 0)

    known = sheet.coefficients.find
    whole = known(value)
    if whole:
        ways.append([((), whole)])
    sign, number = node_of(value)
    if sign:
        ways.append([((2 * number,), sign)])
    for a in others:
        va = sheet.value[a]
        for s, rest in ((1, value - va), (-1, value + va)):
            sign, b = node_of(rest % PRIME)
            if sign:
                ways.append([((2 * a,), s), ((2 * b,), sign)])
            else:
                c = known(rest % PRIME)
                if c:
                    ways.append([((2 * a,), s), ((), c)])
        part = value * sheet.reciprocal(va) % PRIME
        ways.extend(_factors(sheet, 2 * a, part, node_of))
        if any(2 * a + 1 in sheet.literals[row] for row in sheet.users[a]):
            part = value * sheet.reciprocal(sheet.literal_value(2 * a + 1)) % PRIME
            ways.extend(_factors(sheet, 2 * a + 1, part, node_of))
    for b in _some(others, min(_FEW, len(others)), chance):
        ways.extend(_with(sheet, value, b, others, node_of))
    return ways


def _factors(sheet: Sheet, literal: int, part: int, node_of: NodeOf) -> list[list[Row]]:
    """Return the ways in which a literal times something is the value; `part` is the something."""
    sign, b = node_of(part)
    if sign:
        return [[(tuple(sorted((literal, 2 * b))), sign)]]
    c = sheet.coefficients.find(part)
    return [[((literal,), c)]] if c else []


def _with(sheet: Sheet, value: int, b: int, others: list[int], node_of: NodeOf) -> list[list[Row]]:
    """Return the ways a + c*b, a + b*d and b*(a + d) for one node b."""
    ways: list[list[Row]] = []
    inverse = sheet.reciprocal(sheet.value[b])
    quotient = value * inverse % PRIME
    for a in others:
        if a == b:
            continue
        va = sheet.value[a]
        over = va * inverse % PRIME
        for s, rest in ((1, quotient - over), (-1, quotient + over)):
            for row in _factors(sheet, 2 * b, rest % PRIME, node_of):
                ways.append([((2 * a,), s), *row])
        for s, rest in ((1, quotient - va), (-1, quotient + va)):
            sign, d = node_of(rest % PRIME)
            if sign:
                product = tuple(sorted((2 * a, 2 * b)))
                ways.append([(product, s), (tuple(sorted((2 * b, 2 * d))), sign)])
    return ways
