"""The Programs of jerk-limited motions of several axes: one plans, one evaluates.

A plan holds durations and a few numbers for each axis (`PLAN`), from which places, speeds and
accelerations at any time are polynomials: nothing adds up from instant to instant. The mathematics
is that of `linkwright.motion.profiles`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from linkwright.algebra import Expr, absolute, as_expr, maximum, minimum, symbol, where
from linkwright.motion.profiles import (
    TINY,
    Piece,
    ProfileWriter,
    State,
    braking,
    extremal,
    fastest,
    forward,
    returned,
    stopping,
)
from linkwright.program import (
    Assign,
    Loop,
    Program,
    ProgramPort,
    Scanned,
    Stacked,
    Statement,
    check,
    gated,
)

_ROUNDING = 2e-14  # of places
_START = ("x", "v", "a")
_RETURN = ("j1", "r1", "j2", "r2", "r3")
_FORWARD = tuple(f"f{k}" for k in range(1, 8))
_BACKWARD = tuple(f"b{k}" for k in range(1, 8))
PLAN = (*_START, "J", *_RETURN, *_FORWARD, *_BACKWARD, "weight", "final", "coast", "T")
"""What a plan holds for each axis.

Its start, the jerk, the two jerks and three durations of the return into the limits, the durations
of the forward and of the backward motion, the weight of the forward one, the place and the speed at
the end, and the duration.
"""


class _Axes:
    """Arrays of a Program over axes: inputs, and loops that go over them."""

    def __init__(self, name: str, count: int) -> None:
        self.name, self.count = name, count
        self.inputs: list[ProgramPort] = []
        self.arrays: dict[str, tuple[Expr, ...]] = {}
        self.statements: list[Statement] = []

    def take(self, name: str) -> None:
        made = tuple(symbol(f"{name}[{k}]", "input", owner=self.name) for k in range(self.count))
        self.inputs.append(ProgramPort(name, (self.count,), made))
        self.arrays[name] = made

    def one(self, name: str) -> Expr:
        made = symbol(name, "input", owner=self.name)
        self.inputs.append(ProgramPort(name, (), (made,)))
        return made

    def inside(self, stem: str) -> dict[str, Expr]:
        """Return symbols for the entries of all arrays inside a loop."""
        return {n: symbol(f"{stem}.{n}", "local", owner=self.name) for n in self.arrays}

    def loop(
        self, writer: ProfileWriter, inner: Mapping[str, Expr], values: Mapping[str, Expr]
    ) -> None:
        """Add a loop over the axes that writes one value of each name for each of them."""
        stacked = []
        for name, value in values.items():
            targets = tuple(
                symbol(f"{name}.{k}", "local", owner=self.name) for k in range(self.count)
            )
            stacked.append(Stacked(value, targets))
            self.arrays[name] = targets
        scanned = tuple(Scanned(inner[n], self.arrays[n]) for n in inner)
        body = tuple(writer.statements)
        self.statements.append(Loop(self.count, (), scanned, tuple(stacked), body))

    def program(self, outputs: Iterable[str], **ones: Expr) -> Program:
        ports = [ProgramPort(name, (self.count,), self.arrays[name]) for name in outputs]
        ports += [ProgramPort(name, (), (x,)) for name, x in ones.items()]
        made = Program(self.name, tuple(self.inputs), tuple(ports), tuple(self.statements))
        check(made)
        return made


@cache
def planning(count: int) -> Program:
    """Return the Program that plans a motion of several axes from any state.

    Its inputs are the state `x`, `v`, `a`, the limits `V`, `A`, `J`, `target` and `speed` of each
    axis; `mode`, 0 to come to rest at the targets, all axes at one time, else to go on with the
    speeds, each axis as soon as it can; and `on`, without which nothing is planned. Its outputs are
    those of `PLAN`, with `_plan` behind, the first `jerk`, and `duration`.

    >>> len(planning(2).outputs) == len(PLAN) + 2
    True
    """
    p = _Axes("online_plan", count)
    for name in (*_START, "V", "A", "J", "target", "speed"):
        p.take(name)
    mode = p.one("mode")
    going = absolute(mode) > 0
    # each axis by itself
    e, w = p.inside("e"), ProfileWriter("e")
    V, A, J = e["V"], e["A"], e["J"]
    pieces = returned(w, e["v"], e["a"], V, A, J, ~going)
    x, v, a = w.moved((as_expr(0), e["v"], e["a"]), pieces)
    before = w.let(pieces[0][1] + pieces[1][1] + pieces[2][1])
    rounding = w.let(_ROUNDING * (absolute(e["target"]) + absolute(e["x"]) + absolute(x)))
    least = fastest(w, w.let(e["target"] - e["x"] - x), v, a, V, A, J, rounding)
    aim = w.let(minimum(maximum(e["speed"], -V), V))
    side, stops = braking(w, w.let(v - aim), a, A, J)
    alone = w.let(before + where(going, stops[0] + stops[1] + stops[2], least))
    values = {"alone": alone, "before": before, "xr": x, "vr": v, "ar": a, "aim": aim}
    values |= {"j1": as_expr(pieces[0][0]), "j2": as_expr(pieces[1][0]), "side": side}
    values |= {f"r{k + 1}": t for k, (_, t) in enumerate(pieces)}
    values |= {f"s{k}": t for k, t in enumerate(stops)}
    p.loop(w, e, values)
    longest = symbol("longest", "local", owner=p.name)
    p.statements.append(Assign(longest, maximum(*p.arrays["alone"])))
    # all of them together
    e, w = p.inside("m"), ProfileWriter("m")
    V, A, J = e["V"], e["A"], e["J"]
    x, v, a = e["xr"], e["vr"], e["ar"]
    T = w.let(longest - e["before"])
    zero = as_expr(0)
    ahead = extremal(w, T, v, a, V, A, J, capped=True)
    back = extremal(w, T, w.let(-v), w.let(-a), V, A, J, capped=True)
    high = w.moved((zero, v, a), forward(J, ahead))[0]
    low = w.moved((zero, v, a), forward(-J, back))[0]
    wide = w.let(high - low)
    place = e["target"] - e["x"] - x - low
    weight = w.let(where(wide > 0, minimum(maximum(place / maximum(wide, TINY), 0), 1), 0.5))
    # or to a speed: the last three pieces of the motion that has its sign
    ahead_side = e["side"] > 0
    stop = [zero, zero, zero, zero, e["s0"], e["s1"], e["s2"]]
    brake = stopping(e["side"] * J, stop[4:])
    there = w.moved((e["x"] + x, v, a), brake)[0]
    values = {name: e[name] for name in (*_START, "J", *_RETURN)}
    values |= {n: where(going, s, t) for n, s, t in zip(_FORWARD, stop, ahead, strict=True)}
    values |= {n: where(going, s, t) for n, s, t in zip(_BACKWARD, stop, back, strict=True)}
    values["weight"] = where(going, where(ahead_side, 1, 0), weight)
    values["final"] = where(going, there, e["target"])
    values["coast"] = where(going, e["aim"], 0)
    values["T"] = where(going, e["alone"], longest)
    values = {f"{n}_plan": w.let(x) for n, x in values.items()}
    plan = {n: values[f"{n}_plan"] for n in PLAN}
    values["jerk"] = where(plan["T"] > 0, _jerk(w, plan, as_expr(0)), 0)
    p.loop(w, e, values)
    return gated(p.program(values, duration=longest), "on")


@cache
def evaluation(count: int) -> Program:
    """Return the Program that evaluates a plan: its inputs are `t` and those of `PLAN`.

    Its outputs are `q`, `q_dot`, `q_ddot` and `q_dddot`.

    >>> [p.name for p in evaluation(3).outputs]
    ['q', 'q_dot', 'q_ddot', 'q_dddot']
    """
    p = _Axes("online_motion", count)
    t = p.one("t")
    for name in PLAN:
        p.take(name)
    e, w = p.inside("e"), ProfileWriter("e")
    back_in, forth, back = _pieces(e)
    state, left = _until(w, (e["x"], e["v"], e["a"]), back_in, t)
    ends = zip(*(_until(w, state, pieces, left)[0] for pieces in (forth, back)), strict=True)
    x, v, a = (w.let(y2 + e["weight"] * (y1 - y2)) for y1, y2 in ends)
    over = w.let(t >= e["T"])
    values = {
        "q": where(over, e["final"] + e["coast"] * (t - e["T"]), x),
        "q_dot": where(over, e["coast"], v),
        "q_ddot": where(over, 0, a),
        "q_dddot": where(over, 0, _jerk(w, e, t)),
    }
    p.loop(w, e, values)
    return p.program(values)


def _pieces(plan: Mapping[str, Expr]) -> tuple[list[Piece], list[Piece], list[Piece]]:
    """Return the pieces of the return into limits, of the forward and of the backward motion."""
    back_in: list[Piece] = [(plan["j1"], plan["r1"]), (plan["j2"], plan["r2"]), (0, plan["r3"])]
    J = plan["J"]
    forth = forward(J, (plan[n] for n in _FORWARD))
    return back_in, forth, forward(-J, (plan[n] for n in _BACKWARD))


def _until(w: ProfileWriter, state: State, pieces: Sequence[Piece], t: Expr) -> tuple[State, Expr]:
    """Return the state at a time within pieces, and the time that is left after them."""
    for jerk, length in pieces:
        now = w.let(minimum(t, length))
        state = w.moved(state, [(jerk, now)])
        t = w.let(t - now)
    return state, t


def _jerk(w: ProfileWriter, plan: Mapping[str, Expr], t: Expr) -> Expr:
    """Return the jerk of a plan at a time."""
    back_in, forth, back = _pieces(plan)
    passed = w.let(t - plan["r1"] - plan["r2"] - plan["r3"])
    one, two = _acting(w, forth, passed), _acting(w, back, passed)
    mean = two + plan["weight"] * (one - two)
    return where(passed < 0, _acting(w, back_in, t), mean)


def _acting(w: ProfileWriter, pieces: Sequence[Piece], t: Expr) -> Expr:
    """Return the jerk of the piece that is on at a time."""
    ends: list[Expr] = []
    for _, length in pieces:
        ends.append(w.let((ends[-1] if ends else 0) + length))
    found: Expr = as_expr(0)
    for (jerk, _), end in reversed(list(zip(pieces, ends, strict=True))):
        found = where(t < end, jerk, found)
    return w.let(found)
