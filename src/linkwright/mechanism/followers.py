"""Coordinates that follow others by a factor and an offset, as mimic joints and gears do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from linkwright.algebra import Expr, evaluate, free_symbols
from linkwright.mechanism.mechanism import Mechanism
from linkwright.mechanism.parts import Constraint


@dataclass(frozen=True, slots=True)
class Follower:
    """A coordinate that is `factor` times another one plus `offset`, and the relation by which."""

    leader: Expr
    factor: float
    offset: float
    relation: Constraint


def followers(
    mechanism: Mechanism, values: Mapping[Expr, float] | None = None
) -> dict[Expr, Follower]:
    """Return the coordinates that follow one other each, which follows none itself.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("gripper")
    >>> a, b = m.body("a", translate="x"), m.body("b", translate="x")
    >>> c = m.constrain_position("b + 2*a - 1", eliminate="b")
    >>> [(str(q), str(x.leader), x.factor, x.offset) for q, x in followers(m).items()]
    [('b', 'a', -2.0, 1.0)]
    """
    known, found = dict(values or {}), dict[Expr, Follower]()
    single = {b.coordinates[0] for b in mechanism.bodies.values() if len(b.coordinates) == 1}
    for c in mechanism.constraints:
        q, zero = c.eliminate_coordinate, c.position
        if q is None or zero is None:
            continue
        others = [x for x in free_symbols(zero) if x not in known and x is not q]
        if len(others) != 1 or not {q, *others} <= single:
            continue
        points = [{q: x, others[0]: y} for x, y in ((0, 0), (1, 0), (0, 1), (2, 3))]
        at = [float(evaluate(zero, {**known, **more})) for more in points]
        slope, other = at[1] - at[0], at[2] - at[0]
        if slope and abs(at[3] - at[0] - 2 * slope - 3 * other) < 1e-9:
            found[q] = Follower(others[0], -other / slope, -at[0] / slope, c)
    return {q: end for q in found if (end := _resolved(q, found)).leader not in found}


def _resolved(q: Expr, found: Mapping[Expr, Follower]) -> Follower:
    """Return by what a coordinate follows the first in a chain; those of a ring follow none."""
    one = found[q]
    for _ in found:
        if one.leader not in found:
            break
        above = found[one.leader]
        offset = one.offset + one.factor * above.offset
        one = replace(one, leader=above.leader, factor=one.factor * above.factor, offset=offset)
    return one
