"""Greedy sharing on a sheet: two factors or two terms at a time, the best first.

This is the extraction of `linkwright.program.passes.extraction` on tables that are always up to
date, so that after a change only what the change touched is looked at. A pair whose value some node
has already costs nothing: it is that node. Between candidates that save the same, chance decides.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from linkwright.program.passes.fields import PRIME
from linkwright.program.search.sheet import Divisor, Literals, Pair, Sheet, merged, row_cost


class Rejected(Exception):
    """A series of changes that cannot be completed and is to be taken back."""


def settle(sheet: Sheet, chance: Callable[[], float], noise: float = 0.9) -> None:
    """Share and tidy up, until nothing that was touched saves operations."""
    heap: list[tuple[float, int, Pair | Divisor, int]] = []
    order = 0
    while True:
        tidy(sheet)
        while sheet.dirty:
            keys = list(sheet.dirty)
            sheet.dirty.clear()
            for key in keys:
                gain = _gain(sheet, key)
                if gain > 0:
                    order += 1
                    heapq.heappush(heap, (-gain - noise * chance(), order, key, gain))
        if not heap:
            return
        _, _, key, promised = heapq.heappop(heap)
        gain = _gain(sheet, key)
        if gain < promised:
            if gain > 0:
                order += 1
                heapq.heappush(heap, (-gain - noise * chance(), order, key, gain))
            continue
        if len(key) == 2:
            _share_product(sheet, key)
        else:
            _share_sum(sheet, key)


# -- gains -----------------------------------------------------------------------------------------
def _gain(sheet: Sheet, key: Pair | Divisor) -> int:
    return _product_gain(sheet, key) if len(key) == 2 else _sum_gain(sheet, key)


def _product_gain(sheet: Sheet, key: Pair) -> int:
    rows = sheet.pairs.get(key)
    if rows is None:
        return 0
    sign, node = sheet.find(sheet.pair_value(_upright(key)))
    if not sign:
        return len(rows) - 1
    return sum(1 for row in rows if sheet.owner[row] != node)


def _upright(key: Pair) -> Pair:
    """Return two divisors as two factors, and anything else as it is."""
    a, b = key
    return (a ^ 1, b ^ 1) if a >= 0 and a & b & 1 else key


def _sum_gain(sheet: Sheet, key: Divisor) -> int:
    places = sheet.divisors.get(key)
    if places is None:
        return 0
    savings = 0
    taken: set[int] = set()
    for (first, second), saving in places.items():
        if first not in taken and second not in taken:
            savings += saving
            taken.add(first)
            taken.add(second)
    a, ka, b, kb = key
    cost = 1 + row_cost(a, ka) + row_cost(b, kb)
    if savings > cost:
        return savings - cost
    value = (sheet.row_value(a, ka) + sheet.row_value(b, kb)) % PRIME
    if not value or sheet.coefficients.find(value):
        return savings
    sign, node = sheet.find(value)
    if not sign or any(sheet.owner[first] == node for first, _ in places):
        return savings - cost
    return savings


# -- products --------------------------------------------------------------------------------------
def _share_product(sheet: Sheet, key: Pair) -> None:
    rows = list(sheet.pairs[key])
    upright = _upright(key)
    literals: Literals = (upright[1],) if key[0] < 0 else upright
    coefficient = -key[0] if key[0] < 0 else 1
    value = sheet.pair_value(upright)
    sign, node = sheet.find(value)
    if not sign:
        if len(rows) < 2:
            return
        sign, node = 1, sheet.add_node(value, is_sum=True)
        sheet.add(node, literals, coefficient)
    exact = list(sheet.rows[node]) == [literals]
    new = 2 * node + (upright != key)
    below = [b for b in key if b >= 0]
    for row in rows:
        owner = sheet.owner[row]
        if not sheet.alive[row] or owner == node or not (exact or not sheet.reaches(node, owner)):
            continue
        left = list(sheet.literals[row])
        for literal in below:
            left.remove(literal)
        old = sheet.coefficient[row]
        kept = (1 if old > 0 else -1) if coefficient != 1 else old
        sheet.remove(row)
        sheet.add(owner, merged(tuple(left), (new,)), sign * kept)


# -- sums ------------------------------------------------------------------------------------------
def _share_sum(sheet: Sheet, key: Divisor) -> None:
    a, ka, b, kb = key
    value = (sheet.row_value(a, ka) + sheet.row_value(b, kb)) % PRIME
    places = list(sheet.divisors[key])
    fixed = sheet.coefficients.find(value) if value else 0
    sign, node = (0, -1) if fixed or not value else sheet.find(value)
    exact = False
    if not sign and value and not fixed:
        sign, node = 1, sheet.add_node(value, is_sum=True)
        sheet.add(node, a, ka)
        sheet.add(node, b, kb)
        exact = True
    elif sign:
        own = sheet.rows[node]
        exact = len(own) == 2 and a in own and b in own
    for first, second in places:
        owner = sheet.owner[first]
        if not (sheet.alive[first] and sheet.alive[second]) or owner == node:
            continue
        if sign and not exact and sheet.reaches(node, owner):
            continue
        ways = [way for way in sheet.found(first, second) if way[0] == key]
        if not ways:
            continue
        _, common, taken, _ = ways[0]
        sheet.remove(first)
        sheet.remove(second)
        if sign:
            sheet.add(owner, merged(common, (2 * node,)), sign * taken)
        elif fixed:
            sheet.add(owner, common, sheet.coefficients.times(fixed, taken))


# -- tidying up ------------------------------------------------------------------------------------
def tidy(sheet: Sheet) -> None:
    """Bury what nothing needs, and write what is needed in one place in that place."""
    while sheet.touched:
        node, _ = sheet.touched.popitem()
        if node >= len(sheet.value) or not sheet.is_sum[node]:
            continue
        users = sheet.users[node]
        if not users and not sheet.held[node]:
            sheet.bury(node)
            continue
        rows = sheet.rows[node]
        if not rows:
            _vanish(sheet, node)
            continue
        if len(rows) == 1:
            ((literals, row),) = rows.items()
            coefficient = sheet.coefficient[row]
            if not literals or (
                len(literals) == 1 and not literals[0] & 1 and coefficient in (1, -1)
            ):
                _replace(sheet, node, literals, coefficient)
                continue
        if len(users) == 1 and not sheet.held[node]:
            (user,) = users
            _inline(sheet, node, user)


def _vanish(sheet: Sheet, node: int) -> None:
    """Take out the rows that have a node as a factor that turned out to be zero."""
    sheet.forget(node)
    for user in list(sheet.users[node]):
        if 2 * node + 1 in sheet.literals[user]:
            raise Rejected  # that would divide by zero
        sheet.remove(user)


def _replace(sheet: Sheet, node: int, literals: Literals, coefficient: int) -> None:
    """Let all rows that mention a node mention the one node or constant that it is."""
    times = sheet.coefficients.times
    sheet.forget(node)
    if literals:
        sheet.remember(literals[0] >> 1)
    for user in list(sheet.users[node]):
        if not sheet.alive[user]:
            continue
        kept = sheet.coefficient[user]
        left: Literals = ()
        for literal in sheet.literals[user]:
            if literal >> 1 != node:
                left = (*left, literal)
                continue
            if literal & 1 and not literals:
                raise Rejected  # nothing divides by a constant that may be zero
            kept = times(kept, coefficient)
            left = merged(left, tuple(l ^ (literal & 1) for l in literals))
        owner = sheet.owner[user]
        sheet.remove(user)
        sheet.add(owner, merged(left, ()), kept)
    if not sheet.held[node]:
        sheet.bury(node)


def _inline(sheet: Sheet, node: int, user: int) -> None:
    """Write a product or sum that one row uses into that row or beside it, where that is free."""
    literals = sheet.literals[user]
    factor, divisor = 2 * node, 2 * node + 1
    if literals.count(factor) + literals.count(divisor) != 1:
        return
    owner, kept = sheet.owner[user], sheet.coefficient[user]
    rows = list(sheet.rows[node].values())
    if len(rows) == 1:
        inner, coefficient = sheet.literals[rows[0]], sheet.coefficient[rows[0]]
        below = divisor in literals
        if below and coefficient not in (1, -1):
            return
        rest = list(literals)
        rest.remove(divisor if below else factor)
        sheet.remove(user)
        flipped = tuple(sorted(l ^ 1 for l in inner)) if below else inner
        sheet.add(owner, merged(tuple(rest), flipped), sheet.coefficients.times(kept, coefficient))
    elif literals == (factor,) and kept in (1, -1):
        sheet.remove(user)
        for row in rows:
            sheet.add(owner, sheet.literals[row], kept * sheet.coefficient[row])
    else:
        return
    sheet.bury(node)
