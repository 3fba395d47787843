"""Adjoints under guards: sums of contributions, each with a condition under which it counts.

The adjoint of a value that is used only in one branch of a selection is not multiplied by 0 where
the other branch is taken, because 0 times an infinite local derivative is not a number. It
carries its condition as a guard instead; what is derived from it stays under that guard, and
where contributions under different guards meet, each is selected or replaced by 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from linkwright.algebra.expr import ONE, ZERO, Expr, total
from linkwright.algebra.functions import apply, where
from linkwright.program.derivatives.flat import Builder


@dataclass(frozen=True, slots=True)
class Guarded:
    """A value that counts only where the guard holds, and may be anything elsewhere."""

    guard: Expr
    value: Expr

    @property
    def plain(self) -> Expr:
        """The value, or 0 where the guard does not hold."""
        return where(self.guard, self.value, ZERO)


def both(a: Expr, b: Expr) -> Expr:
    """Return the guard under which two guards hold."""
    return apply("and", (a, b))


def negated(a: Expr) -> Expr:
    """Return the opposite of a guard."""
    return apply("not", (a,))


def either(guards: Iterable[Expr]) -> Expr:
    """Return the guard under which one of several holds."""
    result: Expr = ZERO
    for guard in guards:
        if negated(guard) is result:
            return ONE
        shared = _shared_but_opposite(result, guard)
        result = apply("or", (result, guard)) if shared is None else shared
    return result


def _shared_but_opposite(a: Expr, b: Expr) -> Expr | None:
    """Return p where a is (p and c) and b is (p and not c)."""
    if a.op != "and" or b.op != "and":
        return None
    for i in (0, 1):
        for j in (0, 1):
            if a.args[i] is b.args[j] and negated(a.args[1 - i]) is b.args[1 - j]:
                return a.args[i]
    return None


class Adjoints:
    """Contributions to the adjoints of symbols, by lane, until they are taken."""

    def __init__(self) -> None:
        self._given: dict[Expr, dict[int, list[Guarded]]] = {}

    def add(self, x: Expr, lane: int, contribution: Guarded) -> None:
        """Add a contribution to the adjoint of a symbol."""
        if contribution.value is not ZERO and contribution.guard is not ZERO:
            self._given.setdefault(x, {}).setdefault(lane, []).append(contribution)

    def symbols(self) -> tuple[Expr, ...]:
        """Return the symbols with contributions that nobody has taken."""
        return tuple(self._given)

    def take(self, x: Expr, builder: Builder) -> dict[int, Guarded]:
        """Return the adjoint of a symbol in each lane, assigning sums to symbols."""
        given = self._given.pop(x, None)
        if given is None:
            return {}
        result = {}
        for lane in sorted(given):
            adjoint = gather(given[lane], builder)
            if adjoint.value is not ZERO:
                result[lane] = adjoint
        return result


def gather(contributions: Iterable[Guarded], builder: Builder) -> Guarded:
    """Return the sum of contributions, its value a light expression."""
    groups: dict[Expr, list[Expr]] = {}
    for c in contributions:
        groups.setdefault(c.guard, []).append(c.value)
    sums = [Guarded(guard, builder.settled("b", total(values))) for guard, values in groups.items()]
    if len(sums) == 1:
        return sums[0]
    guard = either(s.guard for s in sums)
    if len(sums) == 2:
        first, second = sums
        merged = guard if guard is not ONE else None
        if negated(first.guard) is second.guard or (
            merged is not None and merged is _shared_but_opposite(first.guard, second.guard)
        ):
            value = where(first.guard, first.value, second.value)
            return Guarded(guard, builder.settled("b", value))
    value = total([s.plain for s in sums])
    return Guarded(guard, builder.settled("b", value))
