"""What each rule of simplification saves: operations of a program with some of the rules off.

Sayers reports them one by one (thesis, section 9.1 and table 9.1.2): terms of higher order in what
is small kept, every body with its own mass and every wheel with its own angle, constants computed
in the loop, intermediate results written out wherever they occur, and sums of products multiplied
out (as NEWEUL did). The first three change how the equations are derived, the others how the
program is written; those are counted without being written, since such a program may be millions
of operations long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager

from linkwright.algebra.expr import ONE, Expr, factors, product, raised, sum_terms
from linkwright.algebra.smallness import KEEP_ALL, smallness_threshold
from linkwright.base.errors import InputError
from linkwright.base.reprs import brief
from linkwright.equations.equations import derive
from linkwright.equations.inertia import leaving_out
from linkwright.equations.kernels import kernel_program
from linkwright.mechanism import Mechanism
from linkwright.program import Assign, Counts, Program, count_operations, stage_counts
from linkwright.program.counts import counts_of
from linkwright.program.lowering import lower
from linkwright.program.passes import optimize
from linkwright.program.rates import Rate

RULES = {
    "smallness": "terms of higher order in small variables are dropped",
    "composite": "what a joint leaves in place counts with the parent",
    "rotor": "a body that turns symmetrically needs no angle",
    "constants": "what depends on parameters alone is computed once",
    "intermediates": "what is used again has a name",
    "factoring": "sums are not multiplied out",
}
"""The rules that can be left out, and what each does."""

_TERMS = 200_000  # products of an entry that is multiplied out


@contextmanager
def without(rules: Collection[str]) -> Iterator[None]:
    """Leave out rules while a model is opened and its equations are derived inside the block."""
    for name in rules:
        if name not in RULES:
            known = ", ".join(RULES)
            raise InputError(f"there is no rule {brief(name)}", remedy=f"there are {known}")
    with ExitStack() as stack:
        if "smallness" in rules:
            stack.enter_context(smallness_threshold(KEEP_ALL))
        stack.enter_context(leaving_out(rules))
        yield


def operations_without(
    make: Callable[[], Mechanism], rules: Collection[str], formulation: str = "auto"
) -> Counts:
    """Return the operations of the derivative of a model with some rules left out.

    Args:
        make: makes the model, since terms are dropped when its expressions are entered.
        rules: names from `RULES`.
        formulation: as in `derive`.

    >>> from linkwright.models import load_model
    >>> operations_without(lambda: load_model("car-small"), []).total
    30
    >>> operations_without(lambda: load_model("car-small"), ["constants"]).total > 100
    True
    """
    with without(rules):
        program = optimize(kernel_program(derive(make(), formulation), "forward"))
    if "factoring" in rules:
        return _multiplied_out(program, constants="constants" in rules)
    if "intermediates" in rules:
        return _written_out(program, constants="constants" in rules)
    found = count_operations(program)
    if "constants" in rules:
        found = found + stage_counts(program)[Rate.PARAMETER]
    return found


def _written_out(program: Program, *, constants: bool) -> Counts:
    """Return the operations with every intermediate result computed anew where it is used."""
    code = lower(program)
    cost: dict[int, Counts] = {}
    for instruction in code.instructions:
        own = Counts()
        if constants or instruction.rate > Rate.PARAMETER:
            own = sum((cost[a] for a in instruction.args), start=counts_of(instruction.op))
        cost[instruction.id] = own
    return sum((cost[i] for i in code.output_ids()), start=Counts())


# -- sums multiplied out ---------------------------------------------------------------------------
Terms = dict[Expr, float | None]
"""Coefficients of products; None is a constant that is computed elsewhere."""


def _multiplied_out(program: Program, *, constants: bool) -> Counts:
    """Return the operations of the outputs as sums of products, with nothing named."""
    meaning = {s.target: s.value for s in program.statements if isinstance(s, Assign)}
    expander = _Expander(meaning, constants)
    return sum((expander.cost(x) for x in program.output_values()), start=Counts())


class _Expander:
    """Expressions as sums of products; a function, or a divisor that is a sum, is one factor."""

    def __init__(self, meaning: dict[Expr, Expr], constants: bool) -> None:
        self.meaning, self.constants = meaning, constants
        self._known: dict[Expr, Terms] = {}
        self._costs: dict[Expr, Counts] = {}

    def cost(self, x: Expr) -> Counts:
        """Return the operations of an expression, multiplied out."""
        found = self._costs.get(x)
        if found is None:
            terms = self.terms(x)
            found = Counts(add=max(0, len(terms) - 1))
            for product_, coefficient in terms.items():
                found = found + self._product(product_, coefficient)
            self._costs[x] = found
        return found

    def _product(self, x: Expr, coefficient: float | None) -> Counts:
        parts = [] if x is ONE else list(factors(x))
        own = Counts(mul=max(0, len(parts) - 1) + sum(abs(e) - 1 for _, e in parts))
        if parts and coefficient not in (1.0, -1.0):
            own = own + Counts(mul=1)
        for base, exponent in parts:
            own = own + self._factor(base).times(1)
            if exponent < 0 and len(parts) == 1 and coefficient in (1.0, -1.0):
                own = own + Counts(mul=1)
        return own

    def _factor(self, x: Expr) -> Counts:
        if x.is_atom:
            return Counts()
        if x.op in ("sum", "scale", "prod"):  # a divisor
            return self.cost(x)
        return sum((self.cost(y) for y in x.args), start=counts_of(x.op))

    def terms(self, x: Expr) -> Terms:
        """Return an expression as products with their coefficients."""
        found = self._known.get(x)
        if found is None:
            found = self._known[x] = self._terms(x)
            if len(found) > _TERMS:
                raise InputError(
                    f"multiplied out, an equation has more than {_TERMS:,} products",
                    remedy="leave the rule 'factoring' on",
                )
        return found

    def _terms(self, x: Expr) -> Terms:
        if x.op == "num":
            return {ONE: float(x.data)} if x.data else {}
        if x in self.meaning:
            return self.terms(self.meaning[x])
        if x.is_constant and not self.constants:
            return {ONE: None}
        if x.op == "sum":
            offset, parts = sum_terms(x)
            made: Terms = {ONE: float(offset)} if offset else {}
            for c, y in parts:
                _gather(made, self.terms(y), float(c))
            return made
        if x.op == "scale":
            return _gather({}, self.terms(x.args[0]), float(x.data))
        if x.op == "prod":
            made = {ONE: 1.0}
            for base, exponent in factors(x):
                made = _times(made, self._power(base, exponent))
            return made
        return {x: 1.0}

    def _power(self, base: Expr, exponent: int) -> Terms:
        inner = self.terms(base)
        if exponent < 0:
            if len(inner) > 1:
                return {raised(base, exponent): 1.0}
            ((only, c),) = inner.items()
            return {raised(only, exponent): None if c is None else c**exponent}
        made: Terms = {ONE: 1.0}
        for _ in range(exponent):
            made = _times(made, inner)
        return made


def _gather(into: Terms, more: Terms, scale: float) -> Terms:
    for x, c in more.items():
        old = into.get(x, 0.0)
        new = None if c is None or old is None else old + scale * c
        if new == 0.0:
            del into[x]
        else:
            into[x] = new
    return into


def _times(a: Terms, b: Terms) -> Terms:
    if len(a) * len(b) > 4 * _TERMS:
        raise InputError(
            f"multiplied out, an equation has more than {_TERMS:,} products",
            remedy="leave the rule 'factoring' on",
        )
    made: Terms = {}
    for x, c in a.items():
        for y, d in b.items():
            _gather(made, {product([x, y]): None if c is None or d is None else c * d}, 1.0)
    return made
