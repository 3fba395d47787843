"""The phases of a flattened System: one Program for each thing that happens during a run.

A System of mechanism, elements and blocks is flattened to a few arrays of numbers,

    x  continuous states            p  parameters
    d  discrete states and          w  inputs from outside
       held outputs of blocks       t  time in seconds

and to Programs over them. Every Program of a phase takes the arrays `x`, `d`, `p`, `w`, `t`, in
that order and of full size (`phase_program` makes one); a tick takes `k` and `n` besides. What
happens when:

- at the start, `initialize` (where there is one) gives x and d from p and w;
- at base tick k, time is exactly k times `tick_seconds`. The ticks that are due
  (k = offset + i * every) run in the order of the tuple: each reads x and all of d as it is then,
  what ticks before it have written included, and writes its own slots. A held output that feeds
  another block of the same tick therefore belongs to an earlier entry; a block that does not feed
  through may have two entries, one for its output and a later one for its update;
- between ticks x is integrated with `derivative` while d holds, in steps that never straddle a
  tick, and `accepted` runs once after each step: normal quaternions, anchors, corrections of
  drift;
- `events` is followed over the whole of each step with its rate `turns`, and an event whose value
  goes through zero is located; its action, if it has one, gives new x and d. Where a tick, an
  action or a change from outside lets a value jump through zero, the event happens there;
- steps of adaptive methods end where `breaks` says that something known changes: at knots of
  tables and motions, where a clock switches;
- `output` runs where a sample is recorded, after the ticks of that time.

Noise is counter-based: stream j of a tick gives two numbers, uniform in (0, 1), which depend on
the seed, the stream, the number of the run and k alone. `normal` makes a standard normal number
of two uniform ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkwright.algebra import PI, Expr, cos, log, sqrt
from linkwright.base.errors import Error
from linkwright.program import Program, Statement, program

ARRAYS = ("x", "d", "p", "w", "t")
"""The arrays that every Program of a phase takes, in order."""

TICK_ARRAYS = (*ARRAYS, "k", "n")
"""The arrays that the Program of a tick takes: k, one number, and n, two for each noise stream."""

BEFORE = 1e-120
"""How far from zero, on its own side, an event begins that may happen at the start."""
DEPTH = 0.05
"""How far beyond its end stop a joint may start, rad or m: it would leave it at 0.37 w = 37 1/s
times that (`linkwright.equations.joint_stops`)."""
GUARD = "guard."
"""What the names of guards and of what they remember begin with."""

_REMEMBERED = re.compile(re.escape(GUARD) + r"(limit|inverse\d+)")

KINDS = ("coordinate", "speed", "state", "discrete", "held", "parameter", "input", "output")


def of_guard(name: str) -> bool:
    """Return whether guards of the constraints remember something under this name.

    >>> of_guard("guard.inverse0"), of_guard("guard.stopped")
    (True, False)
    """
    return _REMEMBERED.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Signal:
    """A number of a run: one entry of x, d, p, w, or one output.

    Args:
        name: how it is called, unique among its array.
        symbol: what stands for it in the Programs; None for an output.
        value: where it starts, or what it is unless another value is given.
        unit: its unit as text.
        kind: one of `KINDS`; a "coordinate" (of the mechanism, or a state of a block whose rate is
            another state) is advanced with the new speeds by the semi-implicit method.
        long_name: what it is, in words.
        body: what it belongs to, for recordings.
    """

    name: str
    symbol: Expr | None
    value: float = 0.0
    unit: str = "?"
    kind: str = "state"
    long_name: str = ""
    body: str = ""


Foreign = Callable[[float, Sequence[float]], Sequence[float]]
"""A foreign function of a tick: the time and its arguments, to the new values of its slots."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Something that happens every so many base ticks.

    Args:
        name: the block or blocks that it belongs to.
        program: from `TICK_ARRAYS` to one output, the new values of the slots; with a foreign
            function, the arguments of that.
        slots: the indices in d that are written, one for each value.
        every: base ticks from one time to the next, 1 or more.
        offset: the base tick of the first time.
        streams: the noise streams whose numbers `n` holds, two for each.
        foreign: a Python function, called with the time in s and the arguments.
        exchanged: whether its function is exchanged during a run: the program gives the number of
            the function, its other arguments, and what the slots hold.
    """

    name: str
    program: Program
    slots: tuple[int, ...]
    every: int = 1
    offset: int = 0
    streams: tuple[int, ...] = ()
    foreign: Foreign | None = None
    exchanged: bool = False

    @property
    def called(self) -> bool:
        """Whether a function is called that is not a Program of the System."""
        return self.exchanged or self.foreign is not None

    def __post_init__(self) -> None:
        if self.every < 1 or self.offset < 0:
            raise Error(
                f"{self.name!r} cannot run every {self.every} ticks from tick {self.offset} on",
                remedy="every is 1 or more, offset 0 or more",
            )


@dataclass(frozen=True, slots=True)
class Event:
    """A value that goes through zero."""

    name: str
    direction: int = 0
    terminal: bool = False
    action: Program | None = None
    guard: bool = False
    at_start: bool = False

    @property
    def before(self) -> float:
        """The value from which it begins: on its own side where it may happen at the start."""
        return -self.direction * BEFORE if self.at_start else 0.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Phases:
    """A flattened System.

    Args:
        name: of the System.
        x: continuous states; `value` is where they start.
        d: discrete states and held outputs.
        p: parameters.
        w: inputs from outside.
        time: the symbol of time.
        tick_seconds: the base tick, s.
        derivative: to one output, the rates of x.
        ticks: what happens at ticks, in order.
        accepted: to two outputs, the new x and d, run after each accepted step; None for none.
        output: to one output, the recorded channels; None for none.
        outputs: what the channels are.
        events: to one output, a number for each event; None for none.
        event_list: what these are; guards come last.
        turns: to one output, the rates of all events but guards, given the rates `d_x` of x too;
            None where they have none.
        terms: to one output, how large the terms are of which each of them is the sum, by which its
            rounding is judged; it runs once, at the start.
        breaks: to one output, how long it is until just before something known changes, and how
            long that takes, s; None where nothing does.
        initialize: to two outputs, x and d at the start; None to start from the values.
        rates: to one output, the rates of the coordinates in order, for the semi-implicit method;
            None to take them from `derivative`.
        quaternions: indices in x of the four parts of each quaternion.
        meta: what recordings report about the System.
        check: called with values of parameters by name before they change; rejects those without
            sense.
    """

    name: str
    x: tuple[Signal, ...]
    d: tuple[Signal, ...]
    p: tuple[Signal, ...]
    w: tuple[Signal, ...]
    time: Expr
    tick_seconds: float
    derivative: Program
    ticks: tuple[Tick, ...] = ()
    accepted: Program | None = None
    output: Program | None = None
    outputs: tuple[Signal, ...] = ()
    events: Program | None = None
    event_list: tuple[Event, ...] = ()
    initialize: Program | None = None
    turns: Program | None = None
    terms: Program | None = None
    breaks: Program | None = None
    rates: Program | None = None
    quaternions: tuple[tuple[int, int, int, int], ...] = ()
    meta: Mapping[str, Any] | None = None
    check: Callable[[Mapping[str, float]], object] | None = None

    def __post_init__(self) -> None:
        if not self.tick_seconds > 0:
            raise Error(f"{self.name!r} has a base tick of {self.tick_seconds} s")
        for tick in self.ticks:
            wrong = [i for i in tick.slots if not 0 <= i < len(self.d)]
            if wrong:
                raise Error(f"the tick {tick.name!r} writes to slots {wrong} that do not exist")

    def __repr__(self) -> str:
        return (
            f"Phases({self.name!r}: {len(self.x)} states, {len(self.d)} discrete, "
            f"{len(self.p)} parameters, {len(self.w)} inputs, {len(self.ticks)} ticks)"
        )

    @property
    def coordinates(self) -> tuple[int, ...]:
        """The indices in x of the coordinates."""
        return tuple(i for i, s in enumerate(self.x) if s.kind == "coordinate")


def with_coordinates(x: Sequence[Signal], derivative: Program) -> tuple[Signal, ...]:
    """Return states with those of blocks as coordinates whose rate is another state."""
    kinds = {s.symbol: s.kind for s in x}
    for signal, rate in zip(x, derivative.outputs[0].entries, strict=True):
        if signal.kind == "state" and rate is not signal.symbol and rate in kinds:
            kinds[signal.symbol] = "coordinate" if kinds[rate] != "coordinate" else "state"
    return tuple(replace(s, kind=kinds[s.symbol]) for s in x)


def phase_program(
    name: str,
    signals: Mapping[str, Sequence[Signal]],
    time: Expr,
    outputs: Mapping[str, Sequence[Expr]],
    *,
    statements: Sequence[Statement] = (),
    tick: Expr | None = None,
    noise: Sequence[Expr] = (),
) -> Program:
    """Return the Program of a phase, with all its arrays in order.

    Example:
        >>> from linkwright.algebra import symbol
        >>> q, t = symbol("q", "coordinate"), symbol("t", "time")
        >>> made = phase_program("f", {"x": [Signal("q", q)]}, t, {"x_dot": [-q]})
        >>> [(port.name, port.size) for port in made.inputs]
        [('x', 1), ('d', 0), ('p', 0), ('w', 0), ('t', 1)]
    """
    inputs: dict[str, Any] = {
        array: [s.symbol for s in signals.get(array, ())] for array in ARRAYS[:4]
    }
    inputs["t"] = [time]
    if tick is not None:
        inputs["k"] = [tick]
        inputs["n"] = list(noise)
    elif noise:
        raise Error(f"{name!r} has noise but is not the Program of a tick", remedy="give tick=")
    return program(name, inputs, outputs, statements=statements)


def normal(first: Expr, second: Expr) -> Expr:
    """Return a standard normal number made of two uniform ones (Box and Muller 1958).

    Example:
        >>> from linkwright.algebra import symbols
        >>> print(normal(*symbols("a b")))
        1.4142135623730951*sqrt(-log(a))*cos(2*pi*b)
    """
    return sqrt(-2 * log(first)) * cos(2 * PI * second)
