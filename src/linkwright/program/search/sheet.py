"""Sums of products in a form that can be changed, measured and changed back quickly.

A sheet holds what a `Network` holds: nodes that are atoms, functions or sums, and rows, each a
coefficient times literals (`2*node` for a factor, `2*node + 1` for a divisor; no literals for a
constant). Around that it keeps, up to date with every row that comes or goes:

- the number of operations;
- for every node the rows that mention it;
- for every pair of factors the rows that hold both;
- for every pair of terms, less what they have in common, where it occurs and what it would save;
- nodes by their value in a finite field, which never changes: a node may get another definition,
  but only one of the same value. A division has a value of its own kind, so that a quotient never
  stands in for something that can be computed where its divisor is zero.

Changes are written to a journal, so that a series of them can be taken back.
"""

from __future__ import annotations

from typing import TypeAlias

from linkwright.program.passes.fields import PRIME, inverse_value
from linkwright.program.search.coefficients import Coefficients

Literals: TypeAlias = tuple[int, ...]
Pair: TypeAlias = tuple[int, int]
Divisor: TypeAlias = tuple[Literals, int, Literals, int]
Found: TypeAlias = tuple[Divisor, Literals, int, int]  # key, common literals, taken out, saving

_WIDE = 40  # in longer sums only terms that share a literal are paired
_MEMORY = 400_000  # remembered pairs of terms


def row_cost(literals: Literals, coefficient: int) -> int:
    """Return the multiplications and divisions that a row takes.

    >>> row_cost((2, 4), 7), row_cost((3,), 1), row_cost((), 7)
    (2, 1, 0)
    """
    above = 1 if coefficient > 1 or coefficient < -1 else 0
    below = 0
    for literal in literals:
        if literal & 1:
            below += 1
        else:
            above += 1
    return (above - 1 if above else 0) + below


def merged(a: Literals, b: Literals) -> Literals:
    """Return the literals of a product, sorted, without those that cancel.

    >>> merged((2, 4), (3, 6))
    (4, 6)
    """
    kept: list[int] = []
    for literal in sorted(a + b):  # a factor sorts just before the divisor of the same node
        if kept and literal & 1 and kept[-1] == literal ^ 1:
            kept.pop()
        else:
            kept.append(literal)
    return tuple(kept)


def shared(a: Literals, b: Literals) -> tuple[Literals, Literals, Literals]:
    """Return the literals of both, and the rest of each; all are sorted.

    >>> shared((2, 4, 4), (4, 6))
    ((4,), (2, 4), (6,))
    """
    common: list[int] = []
    rest = list(b)
    left: list[int] = []
    for literal in a:
        if literal in rest:
            rest.remove(literal)
            common.append(literal)
        else:
            left.append(literal)
    return tuple(common), tuple(left), tuple(rest)


class Sheet:
    """Nodes and rows with their tables."""

    def __init__(self, coefficients: Coefficients) -> None:
        self.coefficients = coefficients
        self.cost = 0
        # nodes
        self.value: list[int] = []
        self.inverse: list[int] = []  # 0 where it was not needed yet
        self.rows: list[dict[Literals, int]] = []
        self.users: list[dict[int, None]] = []
        self.held: list[int] = []  # mentions by roots, functions and statements
        self.reads: list[tuple[int, ...]] = []  # what a function or statement reads
        self.is_sum: list[bool] = []
        self.by_value: dict[int, int] = {}
        # rows
        self.owner: list[int] = []
        self.literals: list[Literals] = []
        self.coefficient: list[int] = []
        self.alive: list[bool] = []
        # tables
        self.pairs: dict[Pair, dict[int, None]] = {}
        self.divisors: dict[Divisor, dict[Pair, int]] = {}
        self.dirty: dict[Pair | Divisor, None] = {}
        self.touched: dict[int, None] = {}
        self.journal: list[tuple[int, int]] = []
        self._reciprocals: dict[int, int] = {}
        self._found: dict[tuple[Literals, int, Literals, int], list[Found]] = {}

    # -- nodes -------------------------------------------------------------------------------------
    def add_node(self, value: int, *, is_sum: bool, reads: tuple[int, ...] = ()) -> int:
        """Return the number of a new node without rows."""
        new = len(self.value)
        self.value.append(value)
        self.inverse.append(0)
        self.rows.append({})
        self.users.append({})
        self.held.append(0)
        self.reads.append(reads)
        self.is_sum.append(is_sum)
        if value not in self.by_value and PRIME - value not in self.by_value:
            self.by_value[value] = new
        return new

    def literal_value(self, literal: int) -> int:
        """Return the field value of a literal."""
        node = literal >> 1
        if not literal & 1:
            return self.value[node]
        found = self.inverse[node]
        if not found:
            found = self.inverse[node] = inverse_value(self.value[node])
        return found

    def reciprocal(self, value: int) -> int:
        """Return what gives one when it is multiplied by a value, to find factors with."""
        found = self._reciprocals.get(value)
        if found is None:
            if len(self._reciprocals) > _MEMORY:
                self._reciprocals.clear()
            found = self._reciprocals[value] = pow(value, -1, PRIME)
        return found

    def row_value(self, literals: Literals, coefficient: int) -> int:
        """Return the field value of a row."""
        value = self.coefficients.value(coefficient)
        for literal in literals:
            value = value * self.literal_value(literal) % PRIME
        return value

    def find(self, value: int) -> tuple[int, int]:
        """Return sign and number of the node with this value or its negative, (0, 0) if none."""
        found = self.by_value.get(value)
        if found is not None:
            return 1, found
        found = self.by_value.get(PRIME - value)
        return (-1, found) if found is not None else (0, 0)

    def reaches(self, start: int, goal: int) -> bool:
        """Whether a node is computed from another one, or is that one."""
        if start == goal:
            return True
        seen = {start}
        stack = [start]
        while stack:
            node = stack.pop()
            below = [l >> 1 for literals in self.rows[node] for l in literals]
            for other in (*below, *self.reads[node]):
                if other == goal:
                    return True
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        return False

    def forget(self, node: int) -> None:
        """Let a node no longer be found by its value."""
        if self.by_value.get(self.value[node]) == node:
            del self.by_value[self.value[node]]
            self.journal.append((2, node))

    def remember(self, node: int) -> None:
        """Let a node be found by its value, unless another one is."""
        if not self.find(self.value[node])[0]:
            self.by_value[self.value[node]] = node
            self.journal.append((3, node))

    # -- rows --------------------------------------------------------------------------------------
    def add(self, node: int, literals: Literals, coefficient: int) -> int:
        """Add a row to a node, joined with one of the same literals; -1 where the two cancel."""
        old = self.rows[node].get(literals)
        if old is not None:
            self.remove(old)
            coefficient = self.coefficients.plus(self.coefficient[old], coefficient)
            if not coefficient:
                return -1
        row = len(self.owner)
        self.owner.append(node)
        self.literals.append(literals)
        self.coefficient.append(coefficient)
        self.alive.append(False)
        self._link(row)
        self.journal.append((0, row))
        return row

    def remove(self, row: int) -> None:
        """Take a row out of its node."""
        self._unlink(row)
        self.journal.append((1, row))

    def _link(self, row: int) -> None:
        node = self.owner[row]
        literals, coefficient = self.literals[row], self.coefficient[row]
        rows = self.rows[node]
        self.cost += row_cost(literals, coefficient) + (1 if rows else 0)
        for other in rows.values():
            self._enter(other, row, len(rows))
        rows[literals] = row
        self.alive[row] = True
        self.touched[node] = None
        for literal in literals:
            self.users[literal >> 1][row] = None
        pairs, dirty = self.pairs, self.dirty
        for pair in _pairs(literals, coefficient):
            places = pairs.get(pair)
            if places is None:
                pairs[pair] = {row: None}
            else:
                places[row] = None
            dirty[pair] = None

    def _unlink(self, row: int) -> None:
        node = self.owner[row]
        literals, coefficient = self.literals[row], self.coefficient[row]
        rows = self.rows[node]
        del rows[literals]
        self.alive[row] = False
        self.touched[node] = None
        self.cost -= row_cost(literals, coefficient) + (1 if rows else 0)
        divisors = self.divisors
        for other in rows.values():
            place = (other, row) if other < row else (row, other)
            for key, _, _, _ in self.found(*place):
                places = divisors.get(key)
                if places is not None:
                    places.pop(place, None)
                    if not places:
                        del divisors[key]
        for literal in literals:
            self.users[literal >> 1].pop(row, None)
            self.touched[literal >> 1] = None
        pairs = self.pairs
        for pair in _pairs(literals, coefficient):
            held = pairs.get(pair)
            if held is not None:
                held.pop(row, None)
                if not held:
                    del pairs[pair]

    def _enter(self, other: int, row: int, width: int) -> None:
        if width > _WIDE and set(self.literals[other]).isdisjoint(self.literals[row]):
            return
        place = (other, row) if other < row else (row, other)
        divisors, dirty = self.divisors, self.dirty
        for key, _, _, saving in self.found(*place):
            places = divisors.get(key)
            if places is None:
                divisors[key] = {place: saving}
            else:
                places[place] = saving
            dirty[key] = None

    # -- pairs of terms ----------------------------------------------------------------------------
    def found(self, first: int, second: int) -> list[Found]:
        """Return what two rows are, less what they have in common, in all ways."""
        a = (self.literals[first], self.coefficient[first])
        b = (self.literals[second], self.coefficient[second])
        known = self._found.get((*a, *b))
        if known is None:
            if len(self._found) > _MEMORY:
                self._found.clear()
            known = self._found[(*a, *b)] = self._ways(*a, *b)
        return known

    def _ways(self, a: Literals, ka: int, b: Literals, kb: int) -> list[Found]:
        common, rest_a, rest_b = shared(a, b)
        before = 1 + row_cost(a, ka) + row_cost(b, kb)
        if rest_b < rest_a:
            rest_a, ka, rest_b, kb = rest_b, kb, rest_a, ka
        ways: list[Found] = []
        with_new = (*common, 0)

        def way(first: int, second: int, taken: int) -> None:
            if first < 0:
                first, second, taken = -first, -second, -taken
            saving = before - row_cost(with_new, taken)
            ways.append(((rest_a, first, rest_b, second), common, taken, saving))

        times_b = self.coefficients.ratio(kb, ka)
        if times_b:
            way(1, times_b, ka)
        if ka not in (1, -1) and ka not in (kb, -kb):
            way(ka, kb, 1)
        if kb not in (ka, -ka, 1, -1):
            times_a = self.coefficients.ratio(ka, kb)
            if times_a:
                way(times_a, 1, kb)
            if ka in (1, -1) and not times_b:
                way(ka, kb, 1)
        return ways

    def pair_value(self, pair: Pair) -> int:
        """Return the field value of a product of two factors."""
        a, b = pair
        first = self.coefficients.value(-a) if a < 0 else self.literal_value(a)
        return first * self.literal_value(b) % PRIME

    # -- death and undoing -------------------------------------------------------------------------
    def bury(self, node: int) -> None:
        """Take away what a node needs, as nothing needs it, and so on downward."""
        stack = [node]
        while stack:
            dead = stack.pop()
            if not self.is_sum[dead] or self.held[dead] or self.users[dead]:
                continue
            self.forget(dead)
            for row in list(self.rows[dead].values()):
                self.remove(row)
                stack.extend(l >> 1 for l in self.literals[row])

    def mark(self) -> tuple[int, int, int]:
        """Start a series of changes: return what `undo` needs."""
        self.journal.clear()
        self.dirty.clear()
        self.touched.clear()
        return len(self.value), len(self.owner), self.cost

    def undo(self, mark: tuple[int, int, int]) -> None:
        """Take back all changes since the mark."""
        nodes, rows, cost = mark
        for kind, number in reversed(self.journal):
            if kind == 0:
                self._unlink(number)
            elif kind == 1:
                self._link(number)
            elif kind == 2:
                self.by_value[self.value[number]] = number
            else:
                del self.by_value[self.value[number]]
        for node in range(nodes, len(self.value)):
            if self.by_value.get(self.value[node]) == node:
                del self.by_value[self.value[node]]
        del self.value[nodes:], self.inverse[nodes:], self.rows[nodes:], self.users[nodes:]
        del self.held[nodes:], self.reads[nodes:], self.is_sum[nodes:]
        del self.owner[rows:], self.literals[rows:], self.coefficient[rows:], self.alive[rows:]
        assert self.cost == cost
        self.journal.clear()


def _pairs(literals: Literals, coefficient: int) -> list[Pair]:
    """Return the pairs of factors of a row; a coefficient is given by its negative size."""
    if coefficient not in (1, -1):
        literals = (-abs(coefficient), *literals)
    n = len(literals)
    if n < 2:
        return []
    if n == 2:
        return [(literals[0], literals[1])]
    found: dict[Pair, None] = {}
    for i in range(n - 1):
        a = literals[i]
        for j in range(i + 1, n):
            found[a, literals[j]] = None
    return list(found)
