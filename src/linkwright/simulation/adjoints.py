"""How the end of a run moves with many numbers: adjoints, which go back over the run once.

Forward sensitivities take a column for each number; adjoints take one way back for each result,
however many numbers there are. With λ the derivative of a result by the state behind something,
what lies before it has the derivative λ J, the product of a vector with the Jacobian:

- a step: the Program of the step's product, in a loop over the steps of a stretch. The states at
  its steps are computed anew from the state at its begin, which the run has kept (checkpoints);
- a tick: what its slots receive goes to what it has read;
- an event g = 0 with the action A, at T = -dg / (g_x f + g_t) (see
  `linkwright.simulation.tangents`): with a = λ A_x, the time has the adjoint
  τ = a f + λ A_t - λ f+, and the state before it a - τ g_x / (g_x f + g_t).

Runs of a batch go back together, each in its lane, on a card too; where there are events each run
has its own, and goes back alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import ZERO, Expr, as_expr
from linkwright.backends.cuda.arrays import CardArray, is_on_card
from linkwright.backends.kernel import compile as compiled
from linkwright.program import (
    Assign,
    Call,
    Loop,
    Namer,
    Program,
    ProgramPort,
    optimize,
    program,
    sparsity,
    vector_jacobian,
)
from linkwright.program.program import Carried, Scanned, Stacked, Statement, check
from linkwright.program.repeat import repeated
from linkwright.simulation.loop import draw
from linkwright.simulation.native.bundle import phase_programs
from linkwright.simulation.native.cards import CardTarget, target_named
from linkwright.simulation.native.machine import Settings
from linkwright.simulation.native.methods import Method
from linkwright.simulation.native.schedule import prepared, step_program
from linkwright.simulation.tangents import AT_ONCE
from linkwright.system.phases import Phases

Array = NDArray[np.float64]
STRETCH = 128
"""Steps that one call goes back over at most: their states are kept beside each other."""
_LENGTHS = (64, 8, 1)
"""The lengths of stretches of a run with events, where they would be of any length."""
_KNOWN = 4
"""How many models stay at hand."""
_MANY = 64
"""Runs from which on all processors share them."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps of one length from a time on."""

    time: float
    size: float
    count: int


@dataclass(frozen=True, slots=True)
class Ticked:
    """What is due at a base tick."""

    index: int
    number: int


@dataclass(frozen=True, slots=True)
class Jump:
    """An event at its time."""

    index: int
    time: float


Item = Steps | Ticked | Jump
State = tuple[Array, Array]
Bars = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pullback:
    """A Program, and the product of a vector with its Jacobian."""

    values: Program
    made: Program
    sources: Mapping[str, tuple[str, tuple[int, ...]]]  # of ports that are parts of an array
    by: tuple[str, ...]  # the arrays with which it moves, in the order of what `made` gives


_known: dict[str, Adjoint] = {}


def adjoint_of(phases: Phases, method: Method, to: Sequence[str]) -> Adjoint:
    """Return the way back over runs of phases, one that was made before where there is one."""
    signals = [[s.name for s in getattr(phases, array)] for array in ("x", "d", "p", "w")]
    ticks = [(t.slots, t.every, t.offset, t.streams) for t in phases.ticks]
    events = [(e.terminal, e.guard, e.action is None) for e in phases.event_list]
    made = [phases.initialize, *(program for _, program in phase_programs(phases))]
    programs = [None if program is None else program.fingerprint() for program in made]
    key = repr((method.name, tuple(to), signals, ticks, events, programs, phases.tick_seconds))
    if key not in _known:
        while len(_known) >= _KNOWN:
            _known.pop(next(iter(_known)))
        _known[key] = Adjoint(phases, method, to)
    return _known[key]


class Adjoint:
    """The way back over runs of phases, as Programs."""

    def __init__(self, phases: Phases, method: Method, to: Sequence[str]) -> None:
        self.phases, self.method = phases, method
        self.moving = {
            array: tuple(i for i, s in enumerate(getattr(phases, array)) if s.name in to)
            for array in ("p", "w")
        }
        acts = any(e.action for e in phases.event_list)
        self.holds = bool(phases.d) and bool(phases.ticks or phases.accepted or acts)
        self.constants, main = prepared(phases.derivative)
        self.moving["c"] = _reached(self.constants, self.moving["p"])
        self.stepped = self._step(main)
        self.step = self.pull(self.stepped, {"p": "c", "own": "p"})
        self._made: dict[Any, Any] = {}

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what is made when it is first needed."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    # -- Programs ----------------------------------------------------------------------------------
    def _step(self, main: Program) -> Program:
        """Return the Program of a step, with what runs behind it."""
        made = step_program(self.phases, main, self.method)
        accepted = self.phases.accepted
        if accepted is None:
            return made
        namer = Namer(made, "behind_")
        ports = {port.name: port.entries for port in made.inputs}
        own = tuple(namer() for _ in accepted.port("p").entries)
        middle = tuple(namer() for _ in ports["x"])
        new = tuple(namer() for port in accepted.outputs for _ in range(port.size))
        behind = (*middle, *ports["d"], *own, *ports["w"], ports["t"][0] + ports["h"][0])
        statements = (Call(made, made.input_symbols(), middle), Call(accepted, behind, new))
        count = len(middle)
        return program(
            f"{made.name}_accepted",
            {**ports, "own": own},
            {"x_new": new[:count], "d_new": new[count:]},
            statements=statements,
        )

    def pull(
        self, made: Program, arrays: Mapping[str, str] | None = None, *, back: bool = True
    ) -> Pullback:
        """Return the product of a vector with the Jacobian, by what moves."""
        named = {"p": "p", "w": "w", **(arrays or {})}
        sources: dict[str, tuple[str, tuple[int, ...]]] = {}
        states = ("x", "d", "t") if self.holds else ("x", "t")
        by = [(n, n) for n in states if any(port.name == n for port in made.inputs)]
        by = [(n, array) for n, array in by if n != "t" or made is not self.stepped]
        inputs: list[ProgramPort] = []
        for port in made.inputs:
            array = named.get(port.name)
            if array is None:
                inputs.append(port)
                continue
            moving = self.moving[array]
            still = tuple(i for i in range(port.size) if i not in moving)
            for name, chosen in ((port.name, still), (f"{port.name}_moving", moving)):
                sources[name] = (array, chosen)
                entries = tuple(port.entries[i] for i in chosen)
                inputs.append(ProgramPort(name, (len(entries),), entries))
            by.append((f"{port.name}_moving", array))
        made = replace(made, inputs=tuple(inputs))
        by = [(port, array) for port, array in by if made.port(port).size]
        if not back or not by or not any(port.size for port in made.outputs):
            return Pullback(made, made, sources, ())
        names = [port for port, _ in by]
        pulled = optimize(vector_jacobian(made, None, names, again=True), rounds=1)
        return Pullback(made, pulled, sources, tuple(array for _, array in by))

    def forth(self, count: int) -> Program:
        """Return the Program of some steps of one length."""
        step = self.step.values
        t, h = step.port("t").entries[0], step.port("h").entries[0]
        after = ProgramPort("t_new", (1,), (t + h,))
        carried = {"x": "x_new", "d": "d_new"} if len(step.outputs) > 1 else {"x": "x_new"}
        whole = replace(step, outputs=(*step.outputs, after))
        return repeated(whole, count, {**carried, "t": "t_new"})

    def stretch(self, count: int) -> Program:
        """Return the way back over some steps of one length, whose states it computes anew."""
        step, back = self.step.values, self.step.made
        forth = len(step.outputs) > 1  # whether d changes too
        namer = Namer(back, "stretch_")
        arrays = {port.name: [namer() for _ in port.entries] for port in step.inputs}
        begin, size = arrays["t"][0], arrays["h"][0]

        def called(made: Program, given: Mapping[str, Sequence[Expr]]) -> tuple[Call, list[Expr]]:
            targets = [namer() for port in made.outputs for _ in port.entries]
            arguments = [x for port in made.inputs for x in given[port.name]]
            return Call(made, tuple(arguments), tuple(targets)), targets

        def turns(first: Expr, by: int) -> tuple[Carried, Expr, Assign]:
            """Return the number of a turn, and its time."""
            number, time = namer(), namer()
            carried = Carried(number, first, number + by, namer())
            return carried, time, Assign(time, begin + number * size)

        kept = ["x", "d"] if forth else ["x"]
        inside = {n: [namer() for _ in arrays[n]] for n in kept}
        counter, time, timed = turns(ZERO, 1)
        call, new = called(step, {**arrays, **inside, "t": [time]})
        flat = [x for n in kept for x in inside[n]]
        starts = [x for n in kept for x in arrays[n]]
        rows = [tuple(namer() for _ in range(count)) for _ in flat]
        statements: list[Statement] = [
            Loop(
                count,
                (
                    counter,
                    *(Carried(*e, namer()) for e in zip(flat, starts, new, strict=True)),
                ),
                (),
                tuple(Stacked(x, row) for x, row in zip(flat, rows, strict=True)),
                (timed, call),
            )
        ]
        there = {n: [namer() for _ in arrays[n]] for n in kept}
        again = [x for n in kept for x in there[n]]
        sizes = {p.name: p.size for p in back.outputs}
        sums = {n.removeprefix("bar_"): [namer() for _ in range(k)] for n, k in sizes.items()}
        held = {n: [namer() for _ in s] for n, s in sums.items()}
        seeds = {f"bar_{n}_new": held.get(n, []) for n in kept}
        counter, time, timed = turns(as_expr(count - 1), -1)
        call, moved = called(back, {**arrays, **there, **seeds, "t": [time]})
        following: dict[str, list[Expr]] = {}
        for port in back.outputs:
            name = port.name.removeprefix("bar_")
            given, moved = moved[: port.size], moved[port.size :]
            whole = name in kept
            following[name] = [
                g if whole else h + g for g, h in zip(given, held[name], strict=True)
            ]
        names = list(sums)
        finals = {n: [namer() for _ in s] for n, s in sums.items()}
        carried = [
            Carried(*e)
            for n in names
            for e in zip(held[n], sums[n], following[n], finals[n], strict=True)
        ]
        scanned = [Scanned(x, tuple(reversed(row))) for x, row in zip(again, rows, strict=True)]
        statements.append(Loop(count, (counter, *carried), tuple(scanned), (), (timed, call)))
        inputs = [ProgramPort(p.name, p.shape, tuple(arrays[p.name])) for p in step.inputs]
        inputs += [ProgramPort(f"sum_{n}", (len(s),), tuple(s)) for n, s in sums.items()]
        outputs = [ProgramPort(f"bar_{n}", (len(s),), tuple(s)) for n, s in finals.items()]
        made = Program(
            f"{self.phases.name}_back{count}",
            tuple(inputs),
            tuple(outputs),
            tuple(statements),
            step.slow,
        )
        check(made)
        return made


def _reached(constants: Program, moving: Sequence[int]) -> tuple[int, ...]:
    """Return which of the results of a Program move with some of its inputs."""
    if not moving or not constants.outputs[0].size:
        return ()
    found = sparsity(constants, constants.outputs[0].name, constants.inputs[0].name)
    pairs = zip(found.rows, found.columns, strict=True)
    return tuple(sorted({row for row, column in pairs if column in moving}))


# -- runs ------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, eq=False)
class KeptRuns:
    """What runs leave behind for their way back."""

    arrays: Mapping[str, Array]  # p and w, a row for each run or one for all; x and d at the start
    rows: Array  # x and d at the samples: (runs, samples, x and d)
    final: Array  # x and d at the end
    end: float  # when that is, s
    seed: int
    numbers: NDArray[np.int64]  # of the runs
    log: tuple[tuple[int, int, float], ...] = ()  # events of a single run
    ended: bool = False  # whether the last of them ended it


class WayBack:
    """The way back over runs that are done."""

    def __init__(
        self, adjoint: Adjoint, settings: Settings, kept: KeptRuns, device: str = "cpu"
    ) -> None:
        self.adjoint, self.settings, self.kept = adjoint, settings, kept
        self.phases, self.count = adjoint.phases, len(kept.final)
        target = None if device == "cpu" else target_named(device)
        self.card = target.owner if isinstance(target, CardTarget) else None
        self.arrays = dict(kept.arrays)
        p, self.arrays["c"] = kept.arrays["p"], np.zeros(0)
        if adjoint.constants.outputs[0].size:
            found = self.call(adjoint.constants, {"p": p})[0]
            self.arrays["c"] = found[0] if p.ndim == 1 else found
        self._parts: dict[tuple[str, tuple[int, ...]], Any] = {}

    # -- calls -------------------------------------------------------------------------------------
    def call(self, made: Program, given: Mapping[str, Any], *, card: bool = False) -> list[Any]:
        """Return what a Program gives, a row for each run."""
        backend = "cuda" if card else "llvm"
        kernel = self.adjoint.once((backend, id(made)), lambda: compiled(made, backend=backend))
        inputs = [given[port.name] for port in made.inputs]
        if card:
            found = kernel.batch(*map(self.sent, inputs))
        elif self.count == 1:
            found = kernel.scalar(*(np.reshape(x, np.shape(x)[-1]) for x in inputs))
            several = isinstance(found, tuple)
            return [np.asarray(x)[None] for x in (found if several else (found,))]
        else:
            threads = (os.cpu_count() or 1) if self.count >= _MANY else 1
            found = kernel.batch(*inputs, size=self.count, threads=threads)
        return list(found) if isinstance(found, tuple) else [found]

    def sent(self, x: Any) -> Any:
        """Return rows where the card has them; what all runs share goes with the call."""
        if self.card is None or not isinstance(x, np.ndarray) or x.ndim < 2:
            return x
        return CardArray.of(self.card, x)

    def given(
        self, pull: Pullback, state: State, t: float, more: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return what a Program is given."""
        found: dict[str, Any] = {"x": state[0], "d": state[1], "t": np.array([t]), **more}
        for name, (array, chosen) in pull.sources.items():
            if (array, chosen) not in self._parts:
                part = np.ascontiguousarray(self.arrays[array][..., list(chosen)])
                self._parts[array, chosen] = part
            found[name] = self._parts[array, chosen]
        return found

    def values(self, pull: Pullback, state: State, t: float, **more: Any) -> list[Array]:
        """Return what a Program gives."""
        return self.call(pull.values, self.given(pull, state, t, more))

    def pulled(
        self, pull: Pullback, state: State, t: float, bars: Sequence[Array], **more: Any
    ) -> Bars:
        """Return the adjoints of what a Program is given, from those of its results."""
        found = {n: np.zeros((self.count, size)) for n, size in self.sizes.items()}
        if pull.by:
            ports = pull.values.outputs
            seeds = {f"bar_{port.name}": bar for port, bar in zip(ports, bars, strict=True)}
            given = self.given(pull, state, t, {**more, **seeds})
            for name, bar in zip(pull.by, self.call(pull.made, given), strict=True):
                found[name] = found[name] + bar
        return found

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many adjoints there are, by array."""
        phases, moving = self.phases, self.adjoint.moving
        return {
            "x": len(phases.x),
            "d": len(phases.d),
            "t": 1,
            **{n: len(chosen) for n, chosen in moving.items()},
        }

    # -- what happened -----------------------------------------------------------------------------
    def stretches(self) -> list[list[Item]]:
        """Return what happened up to each sample, and behind the last one, in order.

        It is the order of `linkwright.simulation.loop`.
        """
        phases, settings = self.phases, self.settings
        tick, log = phases.tick_seconds, list(self.kept.log)
        found: list[list[Item]] = [[]]
        due = [t.offset for t in phases.ticks]
        k = sample = 0
        while True:
            if not (k >= settings.until and settings.end < inf):
                for i, ticked in enumerate(phases.ticks):
                    if due[i] == k:
                        found[-1].append(Ticked(i, k))
                        due[i] += ticked.every
            now = min(k * tick, settings.end)
            while log and log[0][1:] == (k, 0.0):
                found[-1].append(Jump(log.pop(0)[0], now))
            if self.kept.ended and not log:
                return found
            if settings.every and sample == k:
                found.append([])
                following = sample + settings.every
                last = following > settings.until and sample < settings.until
                sample = settings.until if last and settings.end < inf else following
            if k >= settings.until:
                return found
            target = min([settings.until, *due, *([sample] if settings.every else [])])
            span = min((target - k) * tick, settings.end - k * tick)
            for item in self._gap(k, span, log):
                found[-1].append(item)
            if self.kept.ended and not log:
                return found
            k = target

    def _gap(self, k: int, span: float, log: list[tuple[int, int, float]]) -> Iterator[Item]:
        """Yield the steps between two things that are due, and the events in them."""
        begin, parts = k * self.phases.tick_seconds, max(ceil(span / self.settings.step - 1e-9), 1)
        j = 0
        while j < parts:
            calm = parts - j
            if log and log[0][1] == k:
                calm = next(i for i in range(parts - j) if (j + i + 1) / parts * span >= log[0][2])
            for count in _pieces(calm, bool(self.kept.log)):
                yield Steps(begin + j / parts * span, span / parts, count)
                j += count
            if j == parts:
                return
            s, goal = j / parts * span, (j + 1) / parts * span
            while log and log[0][1] == k and log[0][2] <= goal:
                index, _, at = log.pop(0)
                if at > s:
                    yield Steps(begin + s, at - s, 1)
                yield Jump(index, begin + at)
                s = at
            if self.kept.ended and not log:
                return
            if goal > s:
                yield Steps(begin + s, goal - s, 1)
            j += 1

    # -- forth -------------------------------------------------------------------------------------
    def forth(self, item: Item, state: State) -> State:
        """Return the state behind something."""
        x, d = state
        adjoint, phases = self.adjoint, self.phases
        if isinstance(item, Steps):
            if not phases.x:
                return state
            made = adjoint.once(("forth", item.count), lambda: adjoint.forth(item.count))
            given = self.given(adjoint.step, state, item.time, {"h": np.array([item.size])})
            given |= {f"{n}_0": given[n] for n in ("x", "d", "t")}
            found = self.call(made, given)
            return found[0], found[1] if len(found) > 2 else d
        if isinstance(item, Ticked):
            tick = phases.ticks[item.index]
            time, more = self.seconds(item), self.drawn(item)
            (new,), d = self.values(self.tick(item.index), state, time, **more), d.copy()
            d[:, list(tick.slots)] = new
            return x, d
        if phases.event_list[item.index].action is None:
            return state
        found = self.values(self.action(item.index), state, item.time)
        return found[0], found[1]

    def seconds(self, item: Ticked) -> float:
        """Return the time of a tick, s."""
        return item.number * self.phases.tick_seconds

    def drawn(self, item: Ticked) -> dict[str, Array]:
        """Return what a tick is given besides: its number, and noise."""
        streams = self.phases.ticks[item.index].streams
        noise = np.zeros((self.count, 2 * len(streams)))
        for run in range(self.count if streams else 0):
            numbers = SimpleNamespace(
                n=noise[run], seed=self.kept.seed, run_number=int(self.kept.numbers[run])
            )
            for j, stream in enumerate(streams):
                draw(numbers, stream, item.number, 2 * j)  # type: ignore[arg-type]
        return {"k": np.array([float(item.number)]), "n": noise}

    def tick(self, index: int) -> Pullback:
        """Return the Program of a tick."""
        adjoint, made = self.adjoint, self.phases.ticks[index].program
        found: Pullback = adjoint.once(("tick", index), lambda: adjoint.pull(made))
        return found

    def action(self, index: int) -> Pullback:
        """Return the Program of an action."""
        adjoint, made = self.adjoint, self.phases.event_list[index].action
        assert made is not None
        found: Pullback = adjoint.once(("action", index), lambda: adjoint.pull(made))
        return found

    # -- back --------------------------------------------------------------------------------------
    def back(self, item: Item, state: State, bars: Bars) -> Bars:
        """Return the adjoints before something, from those behind it."""
        if isinstance(item, Steps):
            return self.back_steps(item, state, bars) if self.phases.x else bars
        bars = {n: on_processor(bar) for n, bar in bars.items()}
        if isinstance(item, Jump):
            return self.back_jump(item, state, bars)
        slots = list(self.phases.ticks[item.index].slots)
        given, bars["d"] = bars["d"][:, slots], bars["d"].copy()
        bars["d"][:, slots] = 0.0
        time = self.seconds(item)
        found = self.pulled(self.tick(item.index), state, time, [given], **self.drawn(item))
        return _added(bars, found)

    def back_steps(self, item: Steps, state: State, bars: Bars) -> Bars:
        """Return the adjoints before some steps."""
        adjoint = self.adjoint
        made = adjoint.once(("back", item.count), lambda: adjoint.stretch(item.count))
        more = {"h": np.array([item.size])}
        ports = [port.name.replace("bar_", "sum_") for port in adjoint.step.made.outputs]
        more |= {n: bars[array] for n, array in zip(ports, adjoint.step.by, strict=True)}
        given = self.given(adjoint.step, state, item.time, more)
        found = self.call(made, given, card=self.card is not None)
        return {**bars, **dict(zip(adjoint.step.by, found, strict=True))}

    def back_jump(self, item: Jump, state: State, bars: Bars) -> Bars:
        """Return the adjoints before an event; see above."""
        adjoint, phases, t = self.adjoint, self.phases, item.time
        event = phases.event_list[item.index]
        if event.guard or (event.action is None and not event.terminal):
            return bars
        assert phases.events is not None
        events, port = phases.events, entry_of(phases.events, item.index)
        rates = adjoint.once("rates", lambda: adjoint.pull(phases.derivative, back=False))
        value = adjoint.once(
            ("event", item.index), lambda: adjoint.pull(replace(events, outputs=(port,)))
        )
        (f,) = self.values(rates, state, t)
        (g,) = self.values(value, state, t)
        slope = self.pulled(value, state, t, [np.ones((self.count, 1))])
        speed = (slope["x"] * f).sum(axis=1) + slope["t"][:, 0]
        before = {**bars, "t": np.zeros((self.count, 1))}
        if event.action is not None:
            moved = self.pulled(self.action(item.index), state, t, [bars["x"], bars["d"]])
            states = {n: moved.pop(n) for n in ("x", "d")}
            before = {**_added(before, moved), **states}
        time = (before["x"] * f).sum(axis=1) + before["t"][:, 0]
        if not event.terminal:
            (behind,) = self.values(rates, self.forth(item, state), t)
            time -= (bars["x"] * behind).sum(axis=1)
        near = abs(g[:, 0]) <= AT_ONCE * (1 + abs(t)) * abs(speed)
        part = np.where(near, -time / np.where(speed == 0.0, 1.0, speed), 0.0)
        return {n: bar + part[:, None] * slope[n] for n, bar in before.items()}

    def gradients(self, results: Program) -> list[Bars]:
        """Return the adjoints of each result: of x and d at the start, and of what moves."""
        adjoint, kept = self.adjoint, self.kept
        size = results.outputs[0].size
        last = adjoint.once(("results", results.fingerprint()), lambda: adjoint.pull(results))
        ends, found = self._split(kept.final), []
        for row in np.eye(size):
            bars = self.pulled(last, ends, kept.end, [np.broadcast_to(row, (self.count, size))])
            found.append(bars)
        parts = self.stretches()
        for r in reversed(range(len(parts))):
            states = [self._split(kept.rows[:, r - 1]) if r else self._start()]
            for item in parts[r][:-1]:
                states.append(self.forth(item, states[-1]))
            for item, state in zip(reversed(parts[r]), reversed(states), strict=False):
                found = [self.back(item, state, bars) for bars in found]
        return [self._begun({n: on_processor(b) for n, b in bars.items()}) for bars in found]

    def _split(self, rows: Array) -> State:
        count = len(self.phases.x)
        return np.ascontiguousarray(rows[:, :count]), np.ascontiguousarray(rows[:, count:])

    def _start(self) -> State:
        return self.arrays["x"], self.arrays["d"]

    def _begun(self, bars: Bars) -> Bars:
        """Return the adjoints with those of constants as those of parameters."""
        adjoint = self.adjoint
        if self.sizes["c"]:
            pull = adjoint.once("constants", lambda: adjoint.pull(adjoint.constants))
            bar = np.zeros((self.count, adjoint.constants.outputs[0].size))
            bar[:, list(adjoint.moving["c"])] = bars["c"]
            bars = _added(bars, {"p": self.pulled(pull, self._start(), 0.0, [bar])["p"]})
        return bars

    def before_start(self, bars: Bars, known: Collection[str]) -> Bars:
        """Return the adjoints before the Program of the start, which gives what is not known."""
        adjoint, phases = self.adjoint, self.phases
        made = phases.initialize
        if made is None:
            return bars
        pull = adjoint.once("start", lambda: adjoint.pull(made))
        seeds = []
        for array in ("x", "d"):
            free = [s.name not in known for s in getattr(phases, array)]
            seeds.append(bars[array] * np.array(free, dtype=float))
        found = self.pulled(pull, self._start(), 0.0, seeds)
        return _added(bars, {n: found[n] for n in ("p", "w")})


def entry_of(made: Program, index: int) -> ProgramPort:
    """Return the port of one entry of what a Program gives."""
    port = made.outputs[0]
    return ProgramPort(port.name, (1,), (port.entries[index],))


def on_processor(bar: Any) -> Array:
    """Return adjoints that may lie on a card."""
    return np.asarray(bar.numpy() if is_on_card(bar) else bar)


def _added(bars: Bars, more: Bars) -> Bars:
    return {n: bar + more[n] if n in more else bar for n, bar in bars.items()}


def _pieces(count: int, uneven: bool) -> Iterator[int]:
    """Yield the lengths of stretches: few different ones."""
    if uneven:
        for size in _LENGTHS:
            while count >= size:
                yield size
                count -= size
    else:
        parts = ceil(count / STRETCH)
        for i in range(parts):
            yield count * (i + 1) // parts - count * i // parts
