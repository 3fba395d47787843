"""What a constraint eliminates, said when it is entered (Sayers' thesis, figure 9.2.8).

Constraints are taken in their order. Each loses a speed, chosen as in
`linkwright.equations.constraints`, and is solved for it with the earlier replacements put in; one
that these satisfy already loses none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from linkwright.algebra import ZERO, Expr, linear_coefficients, substitute, total
from linkwright.algebra.expr import raised
from linkwright.base.errors import Error
from linkwright.equations.closure import closed_samples
from linkwright.equations.constraints import choose
from linkwright.mechanism import Constraint, Mechanism


@dataclass(frozen=True, slots=True, eq=False)
class ConstraintReply:
    """What a constraint eliminates.

    Args:
        constraint: the constraint.
        replaces: the speed; None where earlier constraints satisfy it already.
        by: what the speed is replaced by, in terms of the speeds that are left at that time.
        now: the same in terms of the speeds that the last constraint leaves.
    """

    constraint: Constraint
    replaces: Expr | None = None
    by: Expr | None = None
    now: Expr | None = None

    def __str__(self) -> str:
        if self.replaces is None:
            return "is already satisfied"
        return f"replaces {self.replaces} by {self.by}"


def replies(mechanism: Mechanism, count: int | None = None) -> list[ConstraintReply]:
    """Return what each of the first constraints eliminates; all by default.

    >>> m = Mechanism("cart")
    >>> b = m.body("b", translate="xy", rotate="z")
    >>> for speed in ("dot(vel(b0), [b2])", "b.v", "b.u - R*w"):
    ...     made = m.constrain(speed)
    >>> for reply in replies(m):
    ...     print(reply)
    replaces b.v by 0
    is already satisfied
    replaces b.u by R*w
    """
    constraints = mechanism.constraints[:count]
    kinematics = mechanism.kinematics()
    samples = closed_samples(mechanism, mechanism.values)
    chosen = choose(kinematics, mechanism.values, samples, constraints=constraints)
    speeds = [s.symbol for s in kinematics.speeds]
    found: list[ConstraintReply] = []
    known: dict[Expr, Expr] = {}
    for elimination in chosen:
        speed = elimination.speed
        if speed is None:
            found.append(ConstraintReply(elimination.constraint))
            continue
        left = substitute(elimination.constraint.speed, known)
        row, rest = linear_coefficients(left, [u for u in speeds if u not in known])
        others = [c * u for u, c in row.items() if u is not speed and c is not ZERO]
        by = -total([rest, *others]) * raised(row[speed], -1)
        known = {u: substitute(x, {speed: by}) for u, x in known.items()}
        known[speed] = by
        found.append(ConstraintReply(elimination.constraint, speed, by))
    return [r if r.replaces is None else replace(r, now=known[r.replaces]) for r in found]


def reply_to(constraint: Constraint) -> ConstraintReply:
    """Return what a constraint eliminates, after those that were entered before it."""
    mechanism = constraint.mechanism
    if mechanism is None or constraint not in mechanism.constraints:
        raise Error(f"the constraint {constraint.name!r} is not one of a mechanism")
    return replies(mechanism, mechanism.constraints.index(constraint) + 1)[-1]
