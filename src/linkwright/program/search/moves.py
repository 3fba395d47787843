"""Moves of the local search: definitions are multiplied out, and what is left is shared anew.

One move picks a node, writes it out by distribution wherever it is used (or in one place only), may
go on with neighbors of it, up to six, and lets the greedy sharing find another way to write what
came of it. A sheet on which nothing can be shared any more differs from the one before only around
these nodes, so that a move is cheap however large the Program is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linkwright.program.search.sheet import Sheet, merged

Chance = Callable[[], float]

MOST_NODES = 6
_MOST_ROWS = 28  # of one sum
_MOST_LITERALS = 7  # of one row
_MOST_NEW = 60  # rows in one move


def pick(items: Sequence[int], chance: Chance) -> int:
    """Return one of several numbers at random."""
    return items[int(chance() * len(items))]


def collapse(sheet: Sheet, chance: Chance, nodes: Sequence[int]) -> bool:
    """Write some nodes out where they are used; whether anything changed."""
    most = 1
    while most < MOST_NODES and chance() < 0.55:
        most += 1
    node = pick(nodes, chance)
    room = _MOST_NEW
    changed = False
    for _ in range(most):
        if not sheet.is_sum[node]:
            continue
        around = neighbors(sheet, node)
        room, done = expand(sheet, node, chance, room)
        changed = changed or done
        if chance() < 0.75 and around:
            node = pick(around, chance)
        else:
            node = pick(nodes, chance)
    return changed


def neighbors(sheet: Sheet, node: int) -> list[int]:
    """Return the sums that use a node or that it uses."""
    found = {sheet.owner[row]: None for row in sheet.users[node]}
    for literals in sheet.rows[node]:
        for literal in literals:
            if sheet.is_sum[literal >> 1]:
                found[literal >> 1] = None
    return list(found)


def expand(sheet: Sheet, node: int, chance: Chance, room: int) -> tuple[int, bool]:
    """Write a node out where rows have it as a factor; return what is left of the room."""
    factor = 2 * node
    users = [row for row in sheet.users[node] if factor in sheet.literals[row]]
    if not users or not sheet.rows[node]:
        return room, False
    if len(users) > 1 and chance() < 0.3:
        users = [pick(users, chance)]
    rows = [(sheet.literals[r], sheet.coefficient[r]) for r in sheet.rows[node].values()]
    longest = max(len(literals) for literals, _ in rows)
    changed = False
    for user in users:
        if not sheet.alive[user]:
            continue  # joined with another one
        owner = sheet.owner[user]
        literals, kept = sheet.literals[user], sheet.coefficient[user]
        if len(rows) > room or len(sheet.rows[owner]) + len(rows) > _MOST_ROWS:
            continue
        if len(literals) + longest - 1 > _MOST_LITERALS:
            continue
        room -= len(rows)
        rest = list(literals)
        rest.remove(factor)
        sheet.remove(user)
        for inner, coefficient in rows:
            made = merged(tuple(rest), inner)
            sheet.add(owner, made, sheet.coefficients.times(kept, coefficient))
        changed = True
    return room, changed
