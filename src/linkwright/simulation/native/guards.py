"""Events followed over the whole of a step, as Programs that every driver calls.

An event is a value g(x, t) with its exact rate r = dg/dx f + dg/dt. A step from g0, r0 to g1, r1 of
length h is *calm* where g is farther from zero, at both ends and in the middle, than it can move in
between. All others are looked at more closely:

- the sign at the start is that of g0, or of r0 where g0 is zero: what an action has put onto the
  border leaves it by its rate;
- the value in the middle, at the state of Hermite's cubic, is compared with Hermite's cubic of g.
  Where they differ, the step does not resolve the event and is tried again, shorter;
- where that cubic, or the two tangents, reach the other side of zero inside the step, it is tried
  again up to there: two crossings in a step are two events, and a value that has a kink is seen.
  Where one tangent alone reaches it before the middle of the step, there is the kink of a distance
  that was folded, whatever the cubic says, and it is tried again up to the middle;
- a step that ends on the other side is tried again in parts, up to just behind where the cubic and
  then Newton's rule expect the first crossing. What is behind it by no more than the last bits of
  time is one end of the bracket, and the step ends just before it, where nothing has crossed yet;
  where such a part leads out of the bracket, or eight of them to no end, the rule of false position
  lets it shrink on both sides. The state goes behind the crossing along the rates at that end:
  where nothing is reset, so far that rounding puts no stage of either step on the wrong side;
- an event whose action lets it happen a hundred times in a row, while its value does not leave zero
  by more than rounding, would happen without end: a ball that comes to rest. The run ends there.

`look` keeps its memory in the run: the bracket, how often it tried, the size to try next, the
values at both ends of the bracket. So a run alone, a lane of a batch and a written program locate
the same events by the same numbers. Fixed steps know no rates; they are calm by the change of g in
this step and in the last one, and rates are computed for the others alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkwright.algebra import Expr, absolute, as_expr, maximum, minimum, sign, sqrt, symbol, where
from linkwright.program import Assign, Namer, Program, program
from linkwright.simulation.loop import (
    FAINT as FAINT,
    FULL as FULL,
    HIGH as HIGH,
    HOVERS as HOVERS,
    INSTANT as INSTANT,
    KEPT as KEPT,
    LOW as LOW,
    MARK as MARK,
    MEMORY as MEMORY,
    NEVER as NEVER,
    NOISE as NOISE,
    STAGE as STAGE,
    TRIES as TRIES,
    WANTED as WANTED,
)
from linkwright.system.phases import Event

_FRESH, _WITHIN, _LANDING = range(3)
_TRIES, _SURE, _HALVED, _MOST = 3, 8, 20, 60
_TINY, _BEYOND, _ENDLESS = 1e-300, 2e-14, 100
_LOCATED, _LOUDEST = 8, 1e-9


def followed(events: Sequence[Event]) -> int:
    """Return how many events are followed: all but guards, which come last."""
    return sum(not e.guard for e in events)


def _arrays(count: int, *names: str) -> dict[str, list[Expr]]:
    return {name: [symbol(f"{name}{i}", "local") for i in range(count)] for name in names}


def _largest(*values: Expr) -> Expr:
    return maximum(*map(absolute, values))


def _smallest(*values: Expr) -> Expr:
    return minimum(*map(absolute, values))


def _all(values: Iterable[Expr]) -> Expr:
    return minimum(1, *values)


def middle_program(states: int) -> Program:
    """Return the state in the middle of a step, by Hermite's cubic."""
    a = _arrays(states, "x", "y", "f", "y_f")
    h = symbol("h", "local")
    rows = zip(*a.values(), strict=True)
    half = [0.5 * (x + y) + 0.125 * h * (f - g) for x, y, f, g in rows]
    return program("middle", {**a, "h": [h]}, {"z": half})


def calm_program(count: int) -> Program:
    """Return whether no event can have gone through zero in an adaptive step (1, or 0), and the
    largest size of each event so far."""
    a = _arrays(count, "g", "g_mid", "g_new", "r", "r_new", "top")
    h = symbol("h", "local")
    calm, top = as_expr(1), []
    for g, mid, new, r, r_new, before in zip(*a.values(), strict=True):
        moves = 0.25 * h * _largest(r, r_new)
        missed = 4 * absolute(_missed(g, mid, new, h * r, h * r_new))
        same = where(g * new > 0, where(g * mid > 0, 1, 0), 0)
        calm = minimum(calm, where(_smallest(g, mid, new) > maximum(moves, missed), same, 0))
        top.append(maximum(before, absolute(new)))
    return program("calm", {**a, "h": [h]}, {"calm": [calm], "top_new": top})


def _missed(g: Expr, mid: Expr, new: Expr, r: Expr, r_new: Expr) -> Expr:
    """Return by how much the middle differs from that of Hermite's cubic."""
    return mid - 0.5 * (g + new) - 0.125 * (r - r_new)


def look_program(events: Sequence[Event]) -> Program:
    """Return what becomes of a step of size h that begins at a time t.

    Its outputs are the new memory, `hit`, which events happen at the end of the step, and
    `verdict`: whether the step is taken, the largest size of the next one, whether it ends at an
    event, how far the state then goes behind that, s, and which event happens without end, from 1.
    """
    count = followed(events)
    named = _Named()
    a = _arrays(count, "g", "g_mid", "g_new", "r", "r_new", "top")
    calm, h, time = (symbol(n, "local") for n in ("calm", "h", "t"))
    memory = _arrays(MEMORY + KEPT * count, "m")["m"]
    low, high, tries, full, stage = (memory[i] for i in (LOW, HIGH, TRIES, FULL, STAGE))
    at_low, at_high, came, noise = (memory[MEMORY + i * count :][:count] for i in range(KEPT))
    noise = [maximum(n, NOISE * top) for n, top in zip(noise, a["top"], strict=True)]
    rows = list(zip(*a.values(), strict=True))
    sides = [named(_side(g, r, c)) for (g, _, _, r, _, _), c in zip(rows, came, strict=True)]
    rows = [
        (g, mid, named(_returning(side, g, new, r_new, top, n)), r, r_new, top)
        for side, n, (g, mid, new, r, r_new, top) in zip(sides, noise, rows, strict=True)
    ]
    news = [new for _, _, new, *_ in rows]
    due = [_due(side, event.direction) for side, event in zip(sides, events, strict=False)]

    def crossed(values: Sequence[Expr]) -> list[Expr]:
        """Return which events happen on the way to some values; from zero on, not by rounding."""
        return [
            where(side * v <= -_slack(g, top), ok, 0)
            for side, v, ok, g, top in zip(sides, values, due, a["g"], a["top"], strict=True)
        ]

    hits = crossed(news)
    hit = maximum(0, *hits) > 0
    fresh = stage < 0.5
    least = 2.3e-16 * (absolute(time) + h)
    # what was to end just before a crossing and is behind it is one more end of the bracket
    early = where(h > low + least, where(tries < _MOST, where(hit, 0, 1), 1), 1)
    landing = where(stage > 1.5, early, 0) > 0

    # a step that is looked at for the first time: is anything hidden inside?
    part, rough = as_expr(1), as_expr(0)
    for side, ok, most, row in zip(sides, due, noise, rows, strict=True):
        inside, unresolved = _hidden(named, side, ok, most, h, *row)
        part, rough = minimum(part, inside), maximum(rough, unresolved)
    again = where(tries < _TRIES, where(rough > 0, 0.25, part), part)
    tiny = 1e-15 * (absolute(time) + h)  # nothing is hidden in the last bits of time
    again = where(calm > 0, 1, where(tries < 2 * _TRIES, where(h > tiny, again, 1), 1))
    shorter = where(fresh, where(again < 1, 1, 0), 0) > 0

    # the bracket of the first crossing, and where to look next
    new_low = where(fresh, 0, where(hit, low, h))
    new_high = where(fresh, h, where(hit, h, high))
    both = list(zip(at_low, at_high, a["g"], news, strict=True))
    values_low = [where(fresh, g, where(hit, b, new)) for b, _, g, new in both]
    values_high = [where(fresh, new, where(hit, new, b)) for _, b, _, new in both]
    ended = crossed(values_high)
    share, beyond = as_expr(1), as_expr(NEVER)
    # by Newton's rule: where the first one is, and how far the last one is from this end
    ahead, last = as_expr(NEVER), as_expr(0)
    for b, c, ok, row, event in zip(values_low, values_high, ended, rows, events, strict=False):
        false_position = named(absolute(b) / maximum(absolute(b) + absolute(c), _TINY))
        share = minimum(share, where(ok > 0, false_position, 1))
        g, _, new, r, rate, top = row
        value, pace = _cubic(false_position, g, new, h * r, h * rate)
        off = named(where(fresh, value, new) / _not_zero(where(fresh, pace, h * rate)))
        off = named(h * (where(fresh, false_position, 1) - off))
        ahead = minimum(ahead, where(ok > 0, off, NEVER))
        last = maximum(last, where(ok > 0, absolute(h - off), 0))
        far = as_expr(0)
        if event.action is None and not event.terminal:
            pace = maximum(absolute(rate), absolute(g - c) / maximum(new_high, _TINY))
            far = _BEYOND * top / maximum(pace, _TINY)
        beyond = minimum(beyond, where(ok > 0, far, NEVER))
    zero = _all(
        where(ok > 0, where(absolute(c) <= 1e-15 * top, 1, 0), 1)
        for c, ok, top in zip(values_high, ended, a["top"], strict=True)
    )
    width = new_high - new_low
    least += 9e-16 * new_high
    narrow = where(width > 4 * least, where(tries < _MOST, zero, 1), 1)
    # a crossing that is known to the last bits lies before this end: the step goes up to there
    known = where(tries < _SURE, where(fresh, 0, where(hit, where(last < 8 * least, 1, 0), 0)), 0)
    narrow = maximum(narrow, known) > 0
    # close to an end of the bracket, twice as far from it as expected: the other end follows
    margin = minimum(where(tries < _SURE, 2 * least / maximum(width, _TINY), 2.0**-14), 0.25)
    near = minimum(share, 1 - share)
    aside = where(near < 0.125, 2 * near + margin, near)
    share = where(tries < _HALVED, where(share < 0.5, aside, 1 - aside), 0.5)
    inside = new_low + share * width
    ahead += 2 * least
    within = where(ahead > new_low, where(ahead < new_high, where(tries < _SURE, 1, 0), 0), 0)
    inside = where(within > 0, ahead, inside)
    clear = minimum(beyond, 1e-9 * full)
    gap = minimum(width, maximum(4 * least, where(known > 0, 2 * last, 0)))
    before = maximum(new_high - gap - clear, 0.5 * new_high)
    trial = where(narrow, before, inside)

    # it is taken, tried again up to a part, or tried in the bracket
    quiet = where(fresh, where(shorter, 0, where(hit, 0, 1)), 0)
    taken = where(landing, 1, maximum(quiet, where(fresh, calm, 0))) > 0

    def next_one(if_shorter: Expr | float, if_crossed: Expr | float) -> Expr:
        return where(taken, 0, where(shorter, if_shorter, if_crossed))

    tried = where(fresh, 0, tries + 1)
    kept = [
        next_one(0, new_low),
        next_one(0, where(narrow, new_high + clear, new_high)),
        next_one(tries + 1, tried),
        next_one(again * h, trial),
        where(taken, 0, where(fresh, maximum(full, h), full)),
        next_one(_FRESH, where(narrow, _LANDING, _WITHIN)),
    ]
    happens = [where(landing, x, 0) for x in crossed(at_high)]
    hovers, which = _hovering(happens, events, rows, noise, memory[HOVERS])
    kept.append(where(landing, hovers, memory[HOVERS]))
    limit = where(landing, NEVER, where(tries > 0, 2 * h, NEVER))
    behind = where(landing, maximum(high - h, 0), 0)
    endless = where(landing, where(hovers > _ENDLESS, which, 0), 0)
    verdict = [where(taken, 1, 0), limit, where(landing, 1, 0), behind, endless]
    inputs = {**a, "calm": [calm], "h": [h], "t": [time], "m": memory}
    marks = [side * MARK * maximum(top, 1e-100) for side, top in zip(sides, a["top"], strict=True)]
    # at an event, what is zero counts as being behind it; else what left zero and rounding alone
    # has put on the other side stays on its own
    values_high = [
        where(
            landing,
            where(absolute(v) > 0, v, where(ok > 0, -mark, v)),
            where(mark * v <= 0, where(absolute(v) < _slack(g, top), where(ok > 0, v, mark), v), v),
        )
        for v, ok, mark, g, top in zip(values_high, ended, marks, a["g"], a["top"], strict=True)
    ]
    left = zip(happens, sides, a["r_new"], came, strict=True)
    comes = [where(landing, x * side * absolute(r), where(taken, 0, c)) for x, side, r, c in left]
    found = zip(news, at_high, a["top"], noise, strict=True)
    louder = [maximum(n, minimum(_LOCATED * _largest(*v), _LOUDEST * top)) for *v, top, n in found]
    noise = [where(landing, more, n) for more, n in zip(louder, noise, strict=True)]
    made = [*kept, *values_low, *values_high, *comes, *noise]
    outputs = {"m_new": made, "hit": happens, "verdict": verdict}
    return program("look", inputs, outputs, statements=named.statements)


class _Named:
    """Gives names to partial results, so that each of them is computed once, as it is written."""

    def __init__(self) -> None:
        self.statements: list[Assign] = []
        self._namer = Namer(None, "look_")

    def __call__(self, value: Expr) -> Expr:
        name = self._namer()
        self.statements.append(Assign(name, value))
        return name


def _not_zero(x: Expr) -> Expr:
    return where(absolute(x) > _TINY, x, 1)


def _cubic(s: Expr, a: Expr, b: Expr, p: Expr, q: Expr) -> tuple[Expr, Expr]:
    """Return Hermite's cubic from a to b at a part s, and its rate there."""
    d = 2 * (a - b) + p + q
    c = 3 * (b - a) - 2 * p - q
    return a + s * (p + s * (c + s * d)), p + s * (2 * c + 3 * s * d)


def _side(g: Expr, r: Expr, came: Expr) -> Expr:
    """Return the side of zero on which a step begins: at zero by the rate.

    What its own action has just put to rest there is still on the side from which it came.
    """
    by_rate = sign(where(absolute(r) > NOISE * absolute(came), r, came))
    return where(g > 0, 1, where(g < 0, -1, by_rate))


def _returning(side: Expr, g: Expr, new: Expr, r_new: Expr, top: Expr, noise: Expr) -> Expr:
    """Return a value at the end of a step, on its side where only rounding has put it behind zero.

    It left zero and still goes away from there: a bounce that is lower than rounding.
    """
    behind = where(side * r_new > 0, where(side * new <= 0, absolute(new), NEVER), NEVER)
    own = where(absolute(g) > 2 * MARK * top, 0, where(behind <= noise, 1, 0))
    return where(own > 0, side * MARK * top, new)


def _slack(g: Expr, top: Expr) -> Expr:
    """Return how far behind zero a value is not yet behind it, which has left zero."""
    return where(absolute(g) > 2 * MARK * top, 0, 1e-15 * top)


def _hovering(
    happens: Sequence[Expr],
    events: Sequence[Event],
    rows: Sequence[tuple[Expr, ...]],
    noise: Sequence[Expr],
    before: Expr,
) -> tuple[Expr, Expr]:
    """Return how often in a row events did not leave zero between their actions, and which one."""
    some, free, which = as_expr(0), as_expr(0), as_expr(0)
    for i, (ok, event, (g, mid, new, *_), most) in enumerate(
        zip(happens, events, rows, noise, strict=False)
    ):
        at_zero = where(_largest(g, mid, new) <= most, ok, 0) if event.action else as_expr(0)
        some, free = maximum(some, at_zero), maximum(free, ok - at_zero)
        which = where(at_zero > 0, i + 1, which)
    return where(free > 0, 0, before + some), which


def _due(side: Expr, direction: int) -> Expr:
    """Return whether leaving a side of zero is the event."""
    if not direction:
        return absolute(side)
    return where(side < 0, 1, 0) if direction > 0 else where(side > 0, 1, 0)


def _hidden(
    named: _Named,
    side: Expr,
    due: Expr,
    noise: Expr,
    h: Expr,
    g: Expr,
    mid: Expr,
    new: Expr,
    r: Expr,
    r_new: Expr,
    top: Expr,
) -> tuple[Expr, Expr]:
    """Return in which part of a step a value may be beyond zero, and whether it is unresolved.

    The part is 1 where it is nowhere but, perhaps, at the end.
    """
    way, slack = named(where(side < 0, -1, 1)), named(_slack(g, top))
    a, m, b = (named(way * x + slack) for x in (g, mid, new))
    p, q = (named(h * way * x) for x in (r, r_new))
    missed = named(absolute(_missed(a, m, b, p, q)))
    size = _largest(a, m, b)
    loud = where(size > noise, 1, 0)  # nothing is hidden in rounding
    rough = where(missed > 0.25 * size, loud, 0)
    # Hermite's cubic a + p s + c s^2 + d s^3 has its extrema at the roots of p + 2 c s + 3 d s^2
    d, c = named(2 * (a - b) + p + q), named(3 * (b - a) - 2 * p - q)
    root = named(sqrt(maximum(c * c - 3 * d * p, 0)))
    turn = named(-(c + where(c < 0, -root, root)))
    # a value that stays behind zero, and is what the cubic says, crosses where the cubic does
    stays = where(b <= 0, where(missed <= size / 64, 1, 0.5), 0.5)
    part = where(m <= 0, stays, 1)
    for above, below in ((turn, 3 * d), (p, turn)):
        s = named(above / _not_zero(below))
        low = a + s * (p + s * (c + s * d)) <= missed
        valid = where(s > 0, where(s < 1, where(root > 0, 1, 0), 0), 0) > 0
        part = minimum(part, where(valid, where(low, s, 1), 1))
    # the tangents at both ends meet below all that is convex
    bent = where(p < 0, where(q > 0, 1, 0), 0) > 0
    s = named((b - a - q) / where(bent, p - q, 1))
    part = minimum(part, where(bent, where(a + p * s <= 0, s, 1), 1))
    # a fold beside the middle: the tangent at an end reaches zero before it
    folds = minimum(where(m > 0, a + 0.5 * p, 0), where(b > 0, b - 0.5 * q, 0))
    part = minimum(part, where(folds < 0, 0.5, 1))
    part = where(loud > 0, where(part < 1, minimum(maximum(part, 1 / 64), 63 / 64), 1), 1)
    return where(b > 0, part, where(due > 0, part, 1)), rough
