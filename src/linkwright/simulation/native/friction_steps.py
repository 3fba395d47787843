"""The modes of dry friction, and the forces that hold, while a step is put together.

`linkwright.simulation.native.dry_friction` describes the law and its source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from linkwright.algebra import (
    ONE,
    ZERO,
    Expr,
    absolute,
    as_expr,
    maximum,
    minimum,
    symbol,
    total,
    where,
)
from linkwright.algebra.triples import dot
from linkwright.program import (
    Assign,
    Call,
    Carried,
    Loop,
    Program,
    Scanned,
    Solve,
    Statement,
    gated,
    program,
)
from linkwright.simulation.native.dry_friction import DryFriction

if TYPE_CHECKING:
    from linkwright.simulation.native.explicit import Stages

MOMENT = 1e-12
"""s, over which an adaptive step looks ahead to see what sticks."""
_AT_ONCE = 6  # exchanges of all that contradict the law, before one at a time
_SOON = 1e-11  # s, of each second of the run, up to which a break-away by a jump may be late
_FELT = 1e3  # times the error of a slip that comes to rest, which others may feel of it
_FIRM = 1e-12  # part of its own inertia with which a friction gives way where several are redundant


def _hold(size: int) -> Program:
    """Return the Program of v where it sticks, m = 0: W v = r there, v = r elsewhere.

    What has lost its grip in a step has a v of 0.
    """
    W, right, m = (_array(name, n) for name, n in (("W", size * size), ("r", size), ("m", size)))
    held = [absolute(x) < 0.5 for x in m]
    stuck = [h & (W[i * size + i] < 0) for i, h in enumerate(held)]
    known = [where(s, r, where(h, 0, r)) for s, h, r in zip(stuck, held, right, strict=True)]
    matrix = [
        where(stuck[i], W[i * size + j] * (1 + _FIRM * (i == j)), float(i == j))
        for i in range(size)
        for j in range(size)
    ]
    v = _array("v", size)
    made = program(
        f"hold{size}",
        {"W": W, "r": right, "m": m},
        {"held": [where(here, x, 0) for here, x in zip(stuck, v, strict=True)]},
        statements=[Solve(size, tuple(matrix), tuple(known), tuple(v))],
    )
    return gated(made, "on")


def _exchange(size: int) -> Program:
    """Return the Program of how modes change: (z, W, m, single) to (dm, how many are wrong)."""
    z, W, m = (_array(name, n) for name, n in (("z", size), ("W", size * size), ("m", size)))
    (single,) = _array("single", 1)
    held = _array("held", size)
    right = [where(absolute(a) < 0.5, -x, a) for a, x in zip(m, z, strict=True)]
    v = [a + b for a, b in zip(m, held, strict=True)]
    statements: list[Statement] = [Call(_hold(size), (*W, *right, *m, ONE), tuple(held))]
    better = []
    for i in range(size):
        row = W[i * size : (i + 1) * size]
        y = z[i] + dot(row, v)
        noise = 1e-12 * (absolute(z[i]) + total(absolute(a) for a in row))
        against = where(m[i] * y < -noise, where(row[i] < 0, 0, m[i]), m[i])
        beyond = where(v[i] > 1, 1, where(v[i] < -1, -1, 0))
        better.append(where(absolute(m[i]) < 0.5, beyond, against))
    change = _array("change", size)
    statements += [Assign(c, b - a) for c, b, a in zip(change, better, m, strict=True)]
    later, moves = ZERO, []
    for c in reversed(change):
        moves.append(where(single * later > 0, 0, c))
        later = later + absolute(c)
    made = program(
        f"exchange{size}",
        {"z": z, "W": W, "m": m, "single": [single]},
        {"dm": moves[::-1], "wrong": [later]},
        statements=statements,
    )
    return gated(made, "on")


def _array(name: str, size: int) -> list[Expr]:
    return [symbol(f"{name}{i}", "input", owner="dry friction") for i in range(size)]


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What `DryFriction.linear` gives at a state, and v there."""

    rates: list[Expr]
    slips: list[Expr]
    base: list[Expr]
    pushes: dict[tuple[int, int], Expr]
    couplings: dict[tuple[int, int], Expr]
    slopes: dict[tuple[int, int], Expr]
    groups: tuple[tuple[int, ...], ...]

    def columns(self) -> list[list[Expr]]:
        """Return df/dv, column by column."""
        n, k = len(self.rates), len(self.slips)
        return [[self.pushes.get((i, j), ZERO) for i in range(n)] for j in range(k)]

    def with_rates(self, rates: Sequence[Expr], columns: Sequence[Sequence[Expr]]) -> Found:
        """Return what is found with other rates f(x, 0) and df/dv."""
        n, k = len(self.rates), len(self.slips)

        def along(j: int, f: Sequence[Expr]) -> Expr:
            return total(slope * f[i] for (a, i), slope in self.slopes.items() if a == j)

        more = [a - b for a, b in zip(rates, self.rates, strict=True)]
        return replace(
            self,
            rates=list(rates),
            base=[b + along(j, more) for j, b in enumerate(self.base)],
            pushes={(i, j): columns[j][i] for j in range(k) for i in range(n)},
            couplings={(j, m): along(j, columns[m]) for j in range(k) for m in range(k)},
            groups=(tuple(range(k)),),
        )


class FrictionInStep:
    """The dry friction of a step while the step is put together."""

    def __init__(self, stages: Stages, dry: DryFriction, span: Expr) -> None:
        self.stages, self.dry, self.span = stages, dry, span
        self.modes: list[Expr] = []
        self.targets: list[Expr] = []
        self.seen: list[tuple[Found, list[Expr]]] = []

    def named(self, values: Sequence[Expr]) -> list[Expr]:
        """Return names for values."""
        names = [self.stages.namer() for _ in values]
        self.stages.statements.extend(map(Assign, names, values))
        return names

    def found(self, x: Sequence[Expr], t: Expr) -> Found:
        """Return what the rates are made of at a state."""
        dry = self.dry
        rest = iter(self.stages.rates_of(dry.linear, x, t))
        n, k = len(self.stages.x), dry.count
        rates, slips, base = ([next(rest) for _ in range(size)] for size in (n, k, k))
        places = (dry.pushes, dry.couplings, dry.slopes)
        pushes, couplings, slopes = ({place: next(rest) for place in p} for p in places)
        return Found(rates, slips, base, pushes, couplings, slopes, dry.groups)

    def begin(self, found: Found) -> list[Expr]:
        """Settle the modes by what is found at the start; return the rates there."""
        h = self.stages.h
        time = h if self.span is h else maximum(h, self.span)
        self.targets = self.named([-s / time for s in found.slips])
        z = self.named([s / self.span + b for s, b in zip(found.slips, found.base, strict=True)])
        modes: dict[int, Expr] = {}
        for group in found.groups:
            modes |= zip(group, self._group_modes(group, [z[i] for i in group], found), strict=True)
        self.modes = [modes[i] for i in range(len(z))]
        return self.rates(found)

    def _group_modes(self, group: Sequence[int], z: Sequence[Expr], found: Found) -> list[Expr]:
        W = [found.couplings.get((i, j), ZERO) for i in group for j in group]
        k = len(group)
        start = []
        for i, x in enumerate(z):
            most = total(absolute(w) for w in W[i * k : (i + 1) * k])
            slides = where(x < 0, -1, 1)
            start.append(where(absolute(x) > most, slides, where(W[i * k + i] < 0, 0, slides)))
        modes = self.named(start)
        if k == 1:
            return modes
        stages = self.stages
        inside, out, moves = ([stages.namer() for _ in group] for _ in range(3))
        on, wrong, single, over = (stages.namer() for _ in range(4))
        turns = _AT_ONCE + 2 * k
        exchanged = Call(_exchange(k), (*z, *W, *inside, single, on), (*moves, wrong))
        any_holds = total(1 - absolute(m) for m in modes)
        carried = [
            Carried(m, first, m + dm, end)
            for m, first, dm, end in zip(inside, modes, moves, out, strict=True)
        ]
        carried.append(Carried(on, any_holds, wrong, over))
        flags = Scanned(single, tuple(as_expr(int(i >= _AT_ONCE)) for i in range(turns)))
        stages.statements.append(Loop(turns, tuple(carried), (flags,), (), (exchanged,)))
        return out

    def solved(
        self, found: Found, right: Sequence[Expr], modes: Sequence[Expr], slides: Sequence[Expr]
    ) -> list[Expr]:
        """Return v: the solution of W v = right where it sticks, and `slides` elsewhere."""
        v: dict[int, Expr] = {}
        for group in found.groups:
            W = [found.couplings.get((i, j), ZERO) for i in group for j in group]
            m, stuck = [modes[i] for i in group], [absolute(modes[i]) < 0.5 for i in group]
            if len(group) == 1:
                (i,), (here,), grips = group, stuck, W[0] < 0
                v[i] = where(here, where(grips, right[i] / where(grips, W[0], 1), 0), slides[i])
                continue
            sides = [where(h, right[i], slides[i]) for h, i in zip(stuck, group, strict=True)]
            held = [self.stages.namer() for _ in group]
            holds = total(1 - absolute(x) for x in m)
            self.stages.statements.append(
                Call(_hold(len(group)), (*W, *sides, *m, holds), tuple(held))
            )
            rows = zip(group, stuck, held, strict=True)
            v |= {i: where(here, x, slides[i]) for i, here, x in rows}
        return self.named([v[i] for i in range(len(modes))])

    def rates(self, found: Found) -> list[Expr]:
        """Return the rates at a state, with the friction that the modes say."""
        right = [c - b for c, b in zip(self.targets, found.base, strict=True)]
        v = self.solved(found, right, self.modes, self.modes)
        self.seen.append((found, v))
        rates = self.pushed(found.rates, found, v)
        for j, i in self.dry.states.items():
            rates[i] = where(absolute(self.modes[j]) < 0.5, self.targets[j], rates[i])
        return self.named(rates)

    def pushed(self, x: Sequence[Expr], found: Found, v: Sequence[Expr]) -> list[Expr]:
        """Return x with df/dv times v added."""
        parts: list[list[Expr]] = [[a] for a in x]
        for (i, j), push in found.pushes.items():
            parts[i].append(push * v[j])
        return [total(p) for p in parts]

    def still(self, x: Sequence[Expr], modes: Sequence[Expr] | None = None) -> list[Expr]:
        """Return x with slips that are states at zero where they stick."""
        new = list(x)
        for j, i in self.dry.states.items():
            stuck = absolute((self.modes if modes is None else modes)[j]) < 0.5
            new[i] = where(stuck, 0, new[i])
        return self.named(new)

    # -- adaptive steps ----------------------------------------------------------------------------
    def unresolved(self, weights: Sequence[object]) -> Expr:
        """Return the error of v over the step where it sticks, in units of a thousandth."""
        from linkwright.simulation.native.explicit import number

        errors = []
        for j, m in enumerate(self.modes):
            rows = zip(weights, self.seen, strict=False)
            change = total(number(w) * v[j] for w, (_, v) in rows if w)
            errors.append(where(absolute(m) < 0.5, 1e3 * absolute(change), 0))
        return where(self.stages.h > self.soon, maximum(*errors, 0), 0)

    @property
    def soon(self) -> Expr:
        """Return the size of a step in which a jump of the load is taken as it comes."""
        return _SOON * (1 + absolute(self.stages.t))

    def ended(
        self, x: Sequence[Expr], control: Sequence[Expr], relative: Expr, least: Expr
    ) -> tuple[list[Expr], list[Expr]]:
        """Return the new state and what the control of steps needs, slips at zero where they end.

        The rates at the new state have been asked for last.
        """
        (first, v0), (last, v1), h = self.seen[0], self.seen[-1], self.stages.h
        sizes, landed = [], []
        for j, m in enumerate(self.modes):
            stuck = absolute(m) < 0.5
            s0, s1 = (m * f.slips[j] for f in (first, last))
            a0, a1 = (
                m * (f.base[j] + total(f.couplings[i, k] * v[k] for i, k in f.couplings if i == j))
                for f, v in ((first, v0), (last, v1))
            )
            # the slip between the ends, by Hermite's cubic where its rate is zero by the secant
            at = where(a1 > a0, minimum(1, maximum(0, -a0 / where(a1 > a0, a1 - a0, 1))), 0)
            dip = (1 - at) ** 2 * (s0 + at * (2 * s0 + h * a0))
            dip = dip + at**2 * (s1 + (1 - at) * (2 * s1 - h * a1))
            room, band = self.named([0.1 * (relative * absolute(s0) + least), 0.1 * relative])
            way = where(s1 < -room, s0 - s1, 1)
            crossed = where(s1 < -room, maximum(1e-3, (s0 + 0.5 * room) / way), 2)
            crossed = where(dip < minimum(s0, s1, 0) - room, minimum(crossed, 0.5), crossed)
            beyond = absolute(v1[j]) - 1
            torn = where(beyond > band, where(h > self.soon, 1, 0), 0)
            needed = absolute(v1[j]) - absolute(v0[j])
            part = (1 + 0.5 * band - absolute(v0[j])) / where(torn > 0, needed, 1)
            inner = [absolute(v[j]) for _, v in self.seen[1:-1]]
            early = where(maximum(ZERO, *inner) > 1.001, 0.5, 2) if inner else as_expr(2)
            torn = where(torn > 0, maximum(1e-3, part), where(h > self.soon, early, 2))
            rubs = [f.couplings[j, j] < 0 for f in (first, last)]
            crossed = where(rubs[0], where(h > self.soon, crossed, 2), 2)
            sizes.append(where(stuck, torn, crossed))
            # near its dead point a joint holds nothing: to stop it there would stop all others
            grip, reach = absolute(last.couplings[j, j]), absolute(last.slips[j])
            moved = [
                reach * absolute(w) > grip * (0.01 * absolute(last.slips[i]) + _FELT * room)
                for (i, k), w in last.couplings.items()
                if k == j and i != j
            ]
            holds = where(total(moved) > 0, m, 0) if moved else ZERO
            ends = where(s1 <= where(s0 > room, room, 0), where(rubs[1], holds, m), m)
            landed.append(where(stuck, 0, ends))
        error, longer, shorter = control
        (cut,) = self.named([minimum(*sizes, 2)])
        bad = cut < 1.5
        told = [
            where(bad, maximum(error, 2), error),
            longer,
            where(bad, minimum(cut, where(error > 1, shorter, 1), 1 - 1e-12), shorter),
        ]
        modes = self.named(landed)
        none = [ZERO] * len(modes)
        impulse = self.solved(last, [-s for s in last.slips], modes, none)
        return self.still(self.pushed(x, last, impulse), modes), told
