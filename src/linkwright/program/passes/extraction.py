"""Greedy extraction of common partial products and partial sums from a network.

This is the "fast extract" of logic synthesis (Rajski and Vasudevamurthy, 1992) for arithmetic with
free signs and free fixed coefficients. Two kinds of candidates compete:

- two factors that occur together in several terms: a*b*c and a*b*d share a*b;
- two terms of a sum, less what they have in common: a*x*u + b*x*u is x*u*(a + b), and a + b may
  occur again in other sums, under other common factors or coefficients.

A candidate's gain is the number of multiplications and additions that it saves. The best is carried
out and the tables are brought up to date, until nothing gains. Rows of the network never change:
a row that is rewritten is removed and another one added, so that occurrences in the tables are
valid for as long as their rows are alive.
"""

from __future__ import annotations

import heapq
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from linkwright.algebra.expr import ZERO, constant, scaled, split_coefficient
from linkwright.program.passes.network import Literals, Network, NetworkNode, NetworkTerm

_WIDE = 24  # in longer sums a term is paired with its neighbors and relatives only
_NEAR = 8

PairKey: TypeAlias = tuple[int, int]
SumKey: TypeAlias = tuple[Literals, int, Literals, int, int]  # two terms, and their signs' product
Way: TypeAlias = tuple[SumKey, Literals, int, int]  # a key; literals, coefficient, sign taken out


def literals_cost(literals: Literals, coefficient: int) -> int:
    """Return the multiplications and divisions that a term takes."""
    above = len(literals) + (coefficient != 0)
    below = 0
    for literal in literals:
        below += literal & 1
    if below:
        return max(above - below - 1, 0) + below
    return above - 1 if above else 0


class _Place(NamedTuple):
    """Where two terms occur: their rows, what is taken out of them, and what that saves."""

    first: int
    second: int
    common: Literals
    coefficient: int
    sign: int  # of the term that gives the first part of the key
    saving: int


class _Pair:
    """Where two factors occur together, in the order in which they were met."""

    __slots__ = ("order", "rate", "rows")

    def __init__(self, order: int, row: int) -> None:
        self.order = order
        self.rate = -1  # where it is not known yet
        self.rows = [row]


class _Sum:
    """Where two terms occur together, and what that may save."""

    __slots__ = ("cost", "order", "places", "rate", "savings")

    def __init__(self, order: int, cost: int) -> None:
        self.order = order
        self.rate = -1
        self.cost = cost
        self.places: list[_Place] = []
        self.savings = 0


def extract(
    network: Network, *, products: bool = True, sums: bool = True, common_only: bool = False
) -> None:
    """Share partial products and sums of a network as long as that saves operations."""
    _Extraction(network, products, sums, common_only).run()


class _Extraction:
    def __init__(self, network: Network, products: bool, sums: bool, common_only: bool) -> None:
        self.network = network
        self.products = products
        self.sums = sums
        self.common_only = common_only
        self.pairs: dict[PairKey, _Pair] = {}
        self.divisors: dict[SumKey, _Sum] = {}
        self.heap: list[tuple[int, int, int, PairKey | SumKey]] = []
        self.ratios: dict[tuple[int, int], int] = {}
        self.order = 0
        self.uses: dict[int, int] = {}
        self.costs: dict[int, int] = {}
        self.live = False

    def run(self) -> None:
        network = self.network
        for node in network.nodes:
            for argument in node.arguments:
                if isinstance(argument, NetworkTerm):
                    self.use(argument.literals, 1)
        for opaque in network.opaque:
            for value in (*opaque.operands, *(v for _, v in opaque.reads)):
                if isinstance(value, NetworkTerm):
                    self.use(value.literals, 2)
        for value in network.roots:
            if isinstance(value, NetworkTerm):
                self.use(value.literals, 2)
        for row, owner in enumerate(network.row_owner):
            if owner >= 0:
                self.use(network.row_term[row].literals, 1)
        for number in range(len(network.nodes)):
            self.enter_node(number)
        self.live = True
        for pair, found in self.pairs.items():
            if len(found.rows) > 1:
                self.push_pair(pair, found, len(found.rows) - 1)
        for key, candidate in self.divisors.items():
            if candidate.savings > candidate.cost:
                self.push_sum(key, candidate, candidate.savings - candidate.cost)
        self.settle()

    def settle(self) -> None:
        while self.heap:
            gain, _, _, key = heapq.heappop(self.heap)
            if len(key) == 2:
                self.try_pair(key, -gain)
            else:
                self.try_divisor(key, -gain)

    # -- tables ------------------------------------------------------------------------------------
    def use(self, literals: Literals, times: int) -> None:
        uses = self.uses
        for literal in literals:
            number = literal >> 1
            uses[number] = uses.get(number, 0) + times

    def push_pair(self, key: PairKey, found: _Pair, gain: int) -> None:
        if gain > 0:
            if found.rate < 0:
                found.rate = self.network.rate(key if key[0] >= 0 else key[1:])
            heapq.heappush(self.heap, (-gain, found.rate, found.order, key))

    def push_sum(self, key: SumKey, found: _Sum, gain: int) -> None:
        if gain > 0:
            if found.rate < 0:
                found.rate = self.network.rate((*key[0], *key[2]))
            heapq.heappush(self.heap, (-gain, found.rate, found.order, key))

    def enter_node(self, number: int) -> None:
        rows = list(self.network.nodes[number].rows.values())
        for row in rows:
            self.enter_factors(row)
        if self.sums and len(rows) > 1:
            for k, row in enumerate(rows):
                for other in self.partners(row, rows[:k]):
                    self.enter_terms(other, row)

    def partners(self, row: int, rows: list[int]) -> list[int]:
        """Return the rows that a row is paired with: all, or in a long sum the likely ones."""
        if len(rows) <= _WIDE:
            return rows
        terms = self.network.row_term
        own = set(terms[row].literals)
        related = [r for r in rows[-8 * _WIDE :] if not own.isdisjoint(terms[r].literals)]
        near = rows[-_NEAR:]
        return [*related[-_WIDE:], *[r for r in near if r not in related]]

    def enter_factors(self, row: int) -> None:
        if not self.products:
            return
        _, coefficient, literals = self.network.row_term[row]
        factors = (-coefficient, *literals) if coefficient else literals
        if len(factors) < 2:
            return
        if len(factors) == 2:
            self.enter_pair((factors[0], factors[1]), row)
            return
        last: PairKey | None = None
        for i, a in enumerate(factors):
            for b in factors[i + 1 :]:
                pair = (a, b)
                if pair != last:
                    last = pair
                    self.enter_pair(pair, row)

    def enter_pair(self, pair: PairKey, row: int) -> None:
        found = self.pairs.get(pair)
        if found is None:
            self.order += 1
            self.pairs[pair] = _Pair(self.order, row)
            return
        rows = found.rows
        if rows and rows[-1] == row:
            return
        rows.append(row)
        if self.live and len(rows) > 1:
            self.push_pair(pair, found, len(rows) - 1)

    def enter_terms(self, first: int, second: int) -> None:
        one, two = self.network.row_term[first], self.network.row_term[second]
        before = 1 + self.row_cost(first) + self.row_cost(second)
        for key, common, coefficient, sign in self.ways(one, two):
            if common:
                saving = before - literals_cost((*common, 0), coefficient)
            elif coefficient:
                saving = before - 1
            elif self.common_only:
                continue
            else:
                saving = before
            found = self.divisors.get(key)
            if found is None:
                self.order += 1
                a, ka, b, kb, _ = key
                cost = before  # unless something is taken out
                if common or coefficient:
                    cost = 1 + literals_cost(a, ka) + literals_cost(b, kb)
                found = self.divisors[key] = _Sum(self.order, cost)
            found.places.append(_Place(first, second, common, coefficient, sign, saving))
            found.savings += saving
            if self.live and found.savings > found.cost:
                self.push_sum(key, found, found.savings - found.cost)

    def row_cost(self, row: int) -> int:
        found = self.costs.get(row)
        if found is None:
            _, coefficient, literals = self.network.row_term[row]
            found = self.costs[row] = literals_cost(literals, coefficient)
        return found

    def ways(self, first: NetworkTerm, second: NetworkTerm) -> list[Way]:
        """Return two terms less what they share, and the same divided by a common coefficient."""
        common, rest_1, rest_2 = _shared(first.literals, second.literals)
        if rest_2 < rest_1:
            first, second, rest_1, rest_2 = second, first, rest_2, rest_1
        lead, k1, _ = first
        sign = lead * second.sign
        k2 = second.coefficient
        if k1 == k2:
            return [((rest_1, 0, rest_2, 0, sign), common, k1, lead)]
        found: list[Way] = [((rest_1, k1, rest_2, k2, sign), common, 0, lead)]
        ratio = self.ratio(k1, k2) if k1 else 0
        if ratio:
            found.append(((rest_1, 0, rest_2, ratio, sign), common, k1, lead))
        return found

    def ratio(self, k1: int, k2: int) -> int:
        """Return the second coefficient over the first where that is an exact number, else 0."""
        known = self.ratios.get((k1, k2))
        if known is None:
            coefficients = self.network.coefficients
            n1, rest_1 = split_coefficient(coefficients[k1])
            n2, rest_2 = split_coefficient(coefficients[k2])
            known = 0
            if rest_1 is rest_2 and not isinstance(n1, float) and not isinstance(n2, float):
                known = self.network.coefficient_id(constant(Fraction(n2) / Fraction(n1)))
            self.ratios[k1, k2] = known
        return known

    # -- products ----------------------------------------------------------------------------------
    def try_pair(self, key: PairKey, gain: int) -> None:
        found = self.pairs[key]
        owner = self.network.row_owner
        rows = found.rows = [r for r in found.rows if owner[r] >= 0]
        if len(rows) - 1 < gain:
            self.push_pair(key, found, len(rows) - 1)
            return
        self.share_product(key, list(rows))

    def share_product(self, key: PairKey, rows: list[int]) -> None:
        network = self.network
        a, b = key
        both_below = a >= 0 and bool(a & b & 1)
        coefficient = -a if a < 0 else 0
        literals: Literals = (b,) if a < 0 else (a, b)
        wanted = NetworkTerm(
            1, coefficient, tuple(l ^ 1 for l in literals) if both_below else literals
        )
        number = self.product_node(wanted, rows)
        new = 2 * number + both_below
        for row in rows:
            owner = network.row_owner[row]
            if owner == number or owner < 0:
                continue
            term = network.row_term[row]
            left = list(term.literals)
            for literal in literals:
                left.remove(literal)
            left.append(new)
            left.sort()
            kept = 0 if coefficient else term.coefficient
            self.replace_rows(owner, (row,), NetworkTerm(term.sign, kept, tuple(left)))

    def product_node(self, wanted: NetworkTerm, rows: list[int]) -> int:
        """Return the node of a product: one of the rows' owners where that is just this product."""
        network = self.network
        for row in rows:
            term = network.row_term[row]
            owner = network.row_owner[row]
            node = network.nodes[owner]
            if (
                term.sign == 1
                and term.coefficient == wanted.coefficient
                and term.literals == wanted.literals
                and len(node.rows) == 1
                and node.offset is ZERO
            ):
                return owner
        number = network.add_node(
            NetworkNode(network.rate(wanted.literals), network.term_value(wanted), offset=ZERO)
        )
        self.add(number, wanted)
        return number

    # -- sums --------------------------------------------------------------------------------------
    def try_divisor(self, key: SumKey, gain: int) -> None:
        found = self.divisors[key]
        owner = self.network.row_owner
        taken: set[int] = set()
        places = []
        savings = 0
        for place in found.places:
            first, second = place.first, place.second
            if owner[first] < 0 or owner[second] < 0 or first in taken or second in taken:
                continue
            taken.add(first)
            taken.add(second)
            savings += place.saving
            places.append(place)
        now = savings - found.cost
        if now < gain:
            found.savings = savings
            found.places = [p for p in found.places if owner[p.first] >= 0 and owner[p.second] >= 0]
            self.push_sum(key, found, now)
            return
        self.share_sum(key, places)

    def share_sum(self, key: SumKey, places: list[_Place]) -> None:
        network = self.network
        number = self.sum_node(key, places)
        for first, second, common, coefficient, sign, _ in places:
            owner = network.row_owner[first]
            if owner < 0 or network.row_owner[second] < 0 or owner == number:
                continue
            literals = tuple(sorted((*common, 2 * number)))
            self.replace_rows(owner, (first, second), NetworkTerm(sign, coefficient, literals))

    def sum_node(self, key: SumKey, places: list[_Place]) -> int:
        """Return the node of a sum: the owner of an occurrence where that is just this sum."""
        network = self.network
        for place in places:
            node = network.nodes[network.row_owner[place.first]]
            taken_out = place.common or place.coefficient or place.sign < 0
            if len(node.rows) == 2 and node.offset is ZERO and not taken_out:
                return network.row_owner[place.first]
        a, ka, b, kb, sign = key
        node = NetworkNode(network.rate((*a, *b)), 0)
        number = network.add_node(node)
        value = 0
        for literals, coefficient, s in ((a, ka, 1), (b, kb, sign)):
            if not literals:
                offset = scaled(s, network.coefficients[coefficient])
                node.offset = node.offset + offset
                value += network.values.of(offset)
                continue
            term = NetworkTerm(s, coefficient, literals)
            value += network.term_value(term)
            if len(places) == 1 and self.absorbs(term):
                self.absorb(number, term)
            else:
                self.add(number, term)
        node.value = value
        self.enter_pairs(number)
        return number

    def absorbs(self, term: NetworkTerm) -> bool:
        """Whether a term is a sum that only the two rows at hand use."""
        if not term.is_node:
            return False
        number = term.literals[0] >> 1
        node = self.network.nodes[number]
        return node.is_sum and len(node.rows) > 1 and self.uses.get(number, 0) == 1

    def absorb(self, number: int, term: NetworkTerm) -> None:
        """Add the rows of a sum that is used nowhere else to another one."""
        network = self.network
        other = network.nodes[term.literals[0] >> 1]
        network.nodes[number].offset = network.nodes[number].offset + scaled(
            term.sign, other.offset
        )
        other.offset = ZERO
        for row in list(other.rows.values()):
            old = network.row_term[row]
            self.drop(row)
            self.add(number, NetworkTerm(term.sign * old.sign, old.coefficient, old.literals))

    def enter_pairs(self, number: int) -> None:
        rows = list(self.network.nodes[number].rows.values())
        for k, row in enumerate(rows):
            for other in self.partners(row, rows[:k]):
                self.enter_terms(other, row)

    # -- rows --------------------------------------------------------------------------------------
    def drop(self, row: int) -> None:
        self.use(self.network.row_term[row].literals, -1)
        self.network.remove_row(row)

    def add(self, number: int, term: NetworkTerm) -> int:
        network = self.network
        old = network.nodes[number].rows.get(term.literals)
        if old is not None:
            self.use(network.row_term[old].literals, -1)
        row = network.add_row(number, term)
        if row >= 0:
            self.use(network.row_term[row].literals, 1)
            self.enter_factors(row)
        return row

    def replace_rows(self, owner: int, rows: tuple[int, ...], term: NetworkTerm) -> None:
        for row in rows:
            self.drop(row)
        row = self.add(owner, term)
        if row < 0 or not self.sums:
            return
        others = [r for r in self.network.nodes[owner].rows.values() if r != row]
        for other in self.partners(row, others):
            self.enter_terms(other, row)


def _shared(a: Literals, b: Literals) -> tuple[Literals, Literals, Literals]:
    """Return the literals of both, and the rest of each; all are sorted."""
    for literal in a:
        if literal in b:
            break
    else:
        return (), a, b
    common: list[int] = []
    rest_a: list[int] = []
    only_b: list[int] = []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            common.append(a[i])
            i += 1
            j += 1
        elif a[i] < b[j]:
            rest_a.append(a[i])
            i += 1
        else:
            only_b.append(b[j])
            j += 1
    return tuple(common), (*rest_a, *a[i:]), (*only_b, *b[j:])
