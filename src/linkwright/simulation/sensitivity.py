"""How a run moves with its parameters and starts: forward, or by adjoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra.units import Amount, by_name
from linkwright.base.arguments import worded
from linkwright.base.errors import Error, suggestion
from linkwright.base.results import Result
from linkwright.mechanism import ModelLike
from linkwright.program import ProgramPort
from linkwright.simulation.adjoints import STRETCH, KeptRuns, WayBack, adjoint_of
from linkwright.simulation.batches import Given, _each, _typical, starts_freely, starts_of
from linkwright.simulation.described import timed
from linkwright.simulation.native import tables
from linkwright.simulation.native.batch import Batch, reason_of, run_batch, run_count
from linkwright.simulation.native.machine import Machine, Settings, start_of
from linkwright.simulation.native.methods import method_named
from linkwright.simulation.native.named import put_named, refuse_beyond
from linkwright.simulation.native.tables import LOG
from linkwright.simulation.settings import RunSettings, settings_of
from linkwright.simulation.tangents import derivative_name, with_derivatives
from linkwright.system import System, system_of
from linkwright.system.phases import Phases

Array = NDArray[np.float64]
Found = tuple[Array, Array, Array, tuple[str, ...]]
"""Times, samples, rates (both with an axis of runs in front), and why runs ended early."""
_ENDED = "ended it"  # what is said of a run that an event ended
_FINAL = "final."
_METHODS = ("midpoint", "rk4", "semi-implicit", "dopri5", "dop853")
_MODES = ("auto", "forward", "adjoint")
_FEW = 8
"""How many columns forward cost less than a way back."""
_STEP = 1e-4
"""By how much starts move that constraints determine, for their differences."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunSensitivity(Result):
    """How results of a run move with its parameters and starts.

    Args:
        of: names of the results.
        to: names of what they move with.
        values: the results at the end.
        jacobian: their derivatives at the end, a row for each result.
        times: of the samples, s.
        samples: (times, results).
        rates: (times, results, to): the derivatives over time; by adjoints at the end alone.
        reason: why the run, or the first of many, ended before its time; empty where none did.
        reasons: the same of each of many runs. Values, the Jacobian, samples and rates then have an
            axis of runs in front.
    """

    of: tuple[str, ...]
    to: tuple[str, ...]
    values: Array
    jacobian: Array
    times: Array = field(repr=False)
    samples: Array = field(repr=False)
    rates: Array = field(repr=False)
    reason: str = ""
    reasons: tuple[str, ...] = ()
    _units = (("times", "s"),)

    def __repr__(self) -> str:
        return f"RunSensitivity({len(self.of)} results to {len(self.to)} numbers)"

    def __getitem__(self, name: str) -> Any:
        """Return the derivative by a number: one, or one for each of several results or runs."""
        if name not in self.to:
            raise Error(f"nothing moves with {name!r}", remedy=suggestion(name, self.to, ""))
        column = self.jacobian[..., self.to.index(name)]
        if len(self.of) > 1:
            return column
        return column[..., 0] if column.ndim > 1 else float(column[0])

    def table(self) -> list[tuple[str, ...]]:
        """Return heads and rows as text."""
        rows = [("of", *self.to)]
        for table in self.jacobian.reshape(-1, len(self.of), len(self.to)):  # of each run
            for name, row in zip(self.of, table, strict=True):
                rows.append((name, *(f"{x:.6g}" for x in row)))
        return rows


@worded
def sensitivity(
    model: ModelLike,
    until: Amount | None = None,
    *,
    of: str | Sequence[str],
    to: Sequence[str],
    step: Amount | None = None,
    method: str = "rk4",
    parameters: Given | None = None,
    initial: Given | None = None,
    every: int | None = None,
    seed: int = 0,
    tolerance: float = 1e-9,
    mode: str = "auto",
    device: str = "cpu",
) -> RunSensitivity:
    """Return how results of a run move with parameters, inputs and starts, exactly.

    Forward, the derivatives are states beside those of the run, moved by the tangents of the same
    Programs: through each step, sampled blocks, and events with the times at which they happen.
    Adjoints go back over the run once for each result, which is quicker by many numbers, and gives
    the derivatives at the end alone. Where values or starts are arrays there are many runs.

    Args:
        model: a mechanism, a robot, a System, a file or the name of a shipped model.
        until: end time, s; the model's own by default, or 10 s.
        of: names of outputs or states, at the end: `"final.q1"` or `"q1"`.
        to: names of parameters, inputs, or states, by where they start.
        step: of a method with fixed steps, s, as for `simulate`.
        method: "rk4", "midpoint", "semi-implicit", "dopri5" or "dop853".
        parameters: their values, and those of inputs, by name, SI: one number, or one for each run.
        initial: where states start, by name, SI, in the same way.
        every: steps from one sample to the next; by default for about a thousand samples.
        seed: of noise.
        tolerance: of an adaptive method, relative error of a step, of derivatives too.
        mode: "forward", "adjoint" (fixed steps), or "auto": adjoints where `to` has more than
            eight names for each of `of`, steps are fixed and `every` is not given.
        device: "cpu", or "cuda" for an NVIDIA card.

    Example:
        >>> from linkwright.mechanism import Mechanism
        >>> m = Mechanism("thrown")
        >>> ball = m.body("ball", translate="z", mass=1, inertia=0)
        >>> m.gravity(g="g")
        >>> m.defaults(g=9.81)
        >>> found = sensitivity(m, 2.0, of="final.ball", to=["g", "ball_dot"])
        >>> round(found["g"], 9), round(found["ball_dot"], 9)
        (-2.0, 2.0)
    """
    settings = settings_of(
        until, step=step, method=method, tolerance=tolerance, every=every, seed=seed
    )
    names = (of,) if isinstance(of, str) else tuple(of)
    if mode not in _MODES:
        raise Error(f"there is no mode {mode!r}", remedy=f"choose one of {', '.join(_MODES)}")
    made = SensitiveRun(
        model, settings, [n.removeprefix(_FINAL) for n in names], to, parameters, initial
    )
    many = len(made.to) > _FEW * len(names)
    back = mode == "adjoint" or (mode == "auto" and many and every is None)
    if back and (mode == "adjoint" or made.goes_back(device)):
        times, samples, rates, reasons = made.back(device)
    else:
        times, samples, rates, reasons = made.forth({}, device)
    failed = np.array([bool(words) and _ENDED not in words for words in reasons])
    if made.runs is None:
        if failed.any():
            raise Error(f"the run with its derivatives ended too early: {reasons[0]}")
        samples, rates = samples[0], rates[0]
    else:
        rates = np.where(failed[:, None, None, None], np.nan, rates)
    return RunSensitivity(
        names,
        made.to,
        samples[..., -1, :],
        rates[..., -1, :, :],
        times,
        samples,
        rates,
        reason=next(filter(None, reasons), ""),
        reasons=() if made.runs is None else reasons,
    )


class SensitiveRun:
    """A run with its derivatives, for any values of what they are by."""

    def __init__(
        self,
        model: ModelLike,
        settings: RunSettings,
        of: Sequence[str],
        to: Sequence[str],
        values: Given | None = None,
        initial: Given | None = None,
    ) -> None:
        self.system: System = system_of(model).copy()
        self.to = tuple(to)
        given = _each(self.system, by_name(values, "values"), "values")
        starts = _each(self.system, by_name(initial, "initial"), "initial")
        _typical(self.system, starts, given)
        self.given = {n: np.asarray(v, dtype=float) for n, v in given.items()}
        self.initial = {n: np.asarray(v, dtype=float) for n, v in starts.items()}
        many = [v for v in (*self.given.values(), *self.initial.values()) if v.ndim]
        self.runs = run_count(None, many) if many else None
        method = method_named(settings.method)
        if method.name not in _METHODS:
            raise Error(
                f"{method.name} has no derivatives of runs", remedy=f"take {', '.join(_METHODS)}"
            )
        states = {s.name for s in self.system.phases(()).x}
        recorded = tuple(n for n in of if n not in states)
        phases = self.system.phases(recorded)
        if method.in_turn and (phases.quaternions or any(e.action for e in phases.event_list)):
            raise Error(
                f"steps of {method.name} have no exact derivatives at events, nor where bodies "
                "turn freely in space",
                remedy="take rk4",
            )
        self.asked = settings
        self.phases, self.settings = timed(self.system, phases, settings)
        self.of = tuple(of)
        self._require()
        self.at: dict[str, Any] = {
            **{s.name: s.value for s in (*self.phases.x, *self.phases.d)},
            **self.initial,
            **{s.name: s.value for s in (*self.phases.p, *self.phases.w)},
            **self.given,
        }

    def _require(self) -> None:
        known = [s.name for a in ("p", "w", "x") for s in getattr(self.phases, a)]
        if not self.to:
            raise Error("there is nothing to move", remedy='give to=["m", ...]')
        for name in self.to:
            if name not in known:
                raise Error(
                    f"{self.phases.name!r} has no parameter, input or state {name!r}",
                    remedy=suggestion(name, known, f"there are {', '.join(known)}"),
                )

    def _outputs(self) -> Phases:
        """Return the phases, recording outputs and states that are asked for."""
        from linkwright.system.phases import Signal, phase_program

        phases = self.phases
        there = {s.name: i for i, s in enumerate(phases.outputs)}
        states = {s.name: s for s in phases.x}
        made = phases.output
        old = () if made is None else made.outputs[0].entries
        entries = [old[there[n]] if n in there else states[n].symbol for n in self.of]
        signals = {n: getattr(phases, n) for n in ("x", "d", "p", "w")}
        outputs = [
            phases.outputs[there[n]] if n in there else Signal(n, None, unit=states[n].unit)
            for n in self.of
        ]
        program = phase_program(
            "results",
            signals,
            phases.time,
            {"y": [e for e in entries if e is not None]},
            statements=() if made is None else made.statements,
        )
        return replace(phases, output=program, outputs=tuple(outputs))

    def starts(self, at: Mapping[str, float]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Return where states start, and how that moves: by state, by number."""
        phases, by = self.phases, self.to
        states = {s.name for s in (*phases.x, *phases.d)}
        base: dict[str, Any] = {**self.given, **{n: v for n, v in at.items() if n not in states}}
        initial: dict[str, Any] = {
            **self.initial,
            **{n: v for n, v in at.items() if n in states},
        }
        m = self.system.mechanism
        if starts_freely(m, {s.name for s in (*phases.x, *phases.d)}) and not m.initial_rules:
            found = {n: v for n, v in initial.items() if n in states}
            own = {n: {n: 1.0} for n in by if n in states}
            return found, own | {n: {b: float(b == n) for b in by} for n in found}
        every = []
        for run in range(self.runs or 1):
            held, numbers = (
                {n: float(np.ravel(v)[run % np.size(v)]) for n, v in part.items()}
                for part in (initial, base)
            )
            every.append(self._assembled(held, numbers, at))
        if self.runs is None:
            return every[0]
        known = {n: np.array([one[0][n] for one in every]) for n in every[0][0]}
        slopes = {
            n: {b: np.array([one[1][n][b] for one in every]) for b in by} for n in every[0][0]
        }
        return known, slopes

    def _assembled(
        self, initial: Mapping[str, float], base: Mapping[str, float], at: Mapping[str, float]
    ) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        """Return the start of one run that constraints have a say in, by differences."""
        by, count = self.to, 1 + 4 * len(self.to)
        states = {s.name for s in (*self.phases.x, *self.phases.d)}
        tables: list[dict[str, Array]] = [
            {n: np.full(count, v) for n, v in part.items()} for part in (initial, base)
        ]
        sizes = {}
        for k, name in enumerate(by):
            value = {**self.at, **base, **initial, **at}[name]
            sizes[name] = _STEP * max(1.0, abs(value))
            row = tables[0 if name in states else 1].setdefault(name, np.full(count, value))
            row[1 + 4 * k : 5 + 4 * k] += sizes[name] * np.array([-2.0, -1.0, 1.0, 2.0])
        rows = starts_of(self.system, self.phases, tables[0], tables[1], count)
        known, slopes = {}, {}
        for state, given in rows.items():
            every = np.broadcast_to(np.asarray(given, dtype=float), (count,))
            known[state], slopes[state] = float(every[0]), dict.fromkeys(by, 0.0)
            for k, name in enumerate(by):
                a, b, c, d = every[1 + 4 * k : 5 + 4 * k]
                slopes[state][name] = float((a - 8 * b + 8 * c - d) / (12 * sizes[name]))
        return known, slopes

    @cached_property
    def wide(self) -> Phases:
        """The phases with forward sensitivities."""
        return with_derivatives(self._outputs(), self.to, {})

    def run(self, at: Mapping[str, float], device: Any = "cpu") -> tuple[Array, Array, Array, str]:
        """Return times, samples and their derivatives, with other values of what these are by."""
        times, samples, rates, reasons = self.forth(at, device)
        return times, samples[0], rates[0], reasons[0]

    def forth(self, at: Mapping[str, float], device: Any = "cpu") -> Found:
        """Return times, samples and their derivatives of each run, forward."""
        phases = self.wide
        known, slopes = self.starts(at)
        moved = {
            derivative_name(state, name): slope
            for state, row in slopes.items()
            for name, slope in row.items()
        }
        batch = self._batch(phases, self.settings, {**known, **moved}, at, device)
        count = len(self.of)
        rates = batch.samples[:, :, count:]
        rates = rates.reshape(*rates.shape[:2], count, len(self.to))
        return batch.times, batch.samples[:, :, :count], rates, batch.reasons

    def _batch(
        self,
        phases: Phases,
        settings: RunSettings,
        initial: Mapping[str, Any],
        at: Mapping[str, float],
        device: Any,
    ) -> Batch:
        now: dict[str, Any] = {**self.given, **at}
        return run_batch(
            phases,
            settings,
            runs=self.runs or 1,
            initial=initial,
            values={s.name: now[s.name] for s in phases.p if s.name in now},
            inputs={s.name: now[s.name] for s in phases.w if s.name in now},
            seed=settings.seed,
            numbers=np.arange(self.runs or 1),
            threads=1 if self.runs is None else None,
            device=device,
        )

    # -- adjoints ----------------------------------------------------------------------------------
    @property
    def _happens(self) -> bool:
        """Whether there are events that each run has at its own times."""
        return any(not e.guard for e in self.phases.event_list)

    def goes_back(self, device: Any = "cpu") -> bool:
        """Whether there are adjoints."""
        return not self.settings.chosen.adaptive and (device == "cpu" or not self._happens)

    def back(self, device: Any = "cpu") -> Found:
        """Return times, samples and, at the end alone, derivatives of each run, by adjoints."""
        if self.settings.chosen.adaptive:
            raise Error(
                f"steps of {self.settings.method} have no adjoints",
                remedy='take rk4, or mode="forward"',
            )
        if not self.goes_back(device):
            raise Error(
                "runs with events go back on the processor",
                remedy='take device="cpu", or mode="forward"',
            )
        results = self._outputs()
        assert results.output is not None
        phases = _with_states(results)
        settings = self.settings
        if self.asked.every is None and not phases.ticks:
            settings = replace(settings, every=_apart(settings.native(phases)))
        native = settings.native(phases)
        adjoint = adjoint_of(phases, native.method, self.to)
        known, slopes = self.starts({})
        count = len(self.of)
        if self._happens or self.runs is None:
            single = [self._alone(phases, native, known, k) for k in range(self.runs or 1)]
            times = native.times(np.arange(native.samples), phases.tick_seconds)
            if times[-1] < (end := min(native.until * phases.tick_seconds, native.end)):
                times = np.append(times, end)
            samples = np.stack([_filled(s, len(times)) for s, _, _ in single])
            kepts, reasons = [k for _, k, _ in single], tuple(words for _, _, words in single)
        else:
            batch = self._batch(phases, settings, known, {}, device)
            times, samples, reasons = batch.times, batch.samples, batch.reasons
            states = samples[:, :, count:]
            end = min(native.until * phases.tick_seconds, native.end)
            start = self._beginning(phases, known)
            kepts = [
                KeptRuns(start, states, states[:, -1], end, settings.seed, np.arange(self.runs))
            ]
        failed = np.array([bool(words) and _ENDED not in words for words in reasons])
        rates = np.full((len(samples), 1, count, len(self.to)), np.nan)
        for kept in kepts:
            if not failed[kept.numbers].all():
                way = WayBack(adjoint, native, kept, device)
                found = way.gradients(results.output)
                rates[kept.numbers, 0] = self._gathered(found, way, slopes, known)
        rates[failed] = np.nan
        return times, samples[:, :, :count], rates, reasons

    def _beginning(self, phases: Phases, known: Mapping[str, Any]) -> dict[str, Array]:
        """Return what runs are given and where they start: rows, or one row that all share."""
        runs = self.runs or 1

        def table(array: str, given: Mapping[str, Any]) -> Array:
            columns = [given.get(s.name, s.value) for s in getattr(phases, array)]
            if any(np.ndim(c) for c in columns):
                return np.stack([np.broadcast_to(c, (runs,)) for c in columns], axis=1)
            return np.array(columns, dtype=float)

        found = {array: table(array, self.given) for array in ("p", "w")}
        states = {n: np.tile(table(n, {}), (runs, 1)) for n in ("x", "d")}
        rows = {**found, **states}
        for name, values in start_of(phases, rows.__getitem__, runs):
            states[name] = np.array(values, dtype=float)
        for name in ("x", "d"):
            for i, s in enumerate(getattr(phases, name)):
                if s.name in known:
                    states[name][:, i] = known[s.name]
        return {**found, **states}

    def _alone(
        self, phases: Phases, native: Settings, known: Mapping[str, Any], run: int
    ) -> tuple[Array, KeptRuns, str]:
        """Return the samples of one run, what its way back needs, and why it ended early."""
        own = {n: v[run] if np.ndim(v) else v for n, v in known.items()}
        given = {n: float(v[run] if v.ndim else v) for n, v in self.given.items()}
        machine = Machine(phases, native, 1, rows=max(native.samples, 1))
        machine.put_whole("run_number", run)
        values, inputs = (
            {s.name: given[s.name] for s in a if s.name in given} for a in (phases.p, phases.w)
        )
        put_named(machine, phases, own, values, inputs)
        refuse_beyond(machine, phases)
        arrays = {n: machine.rows_of(n) for n in ("x", "d", "p", "w")}
        arrays |= {n: arrays[n][0] for n in ("p", "w")}
        machine.prepare()
        machine.remember()
        machine.budget(1 << 40)
        log: list[tuple[int, int, float]] = []
        while True:
            machine.run(0, 1)
            rows = machine.log[: int(machine.field("logged")[0])]
            seconds = rows.view(np.float64)[:, LOG["s"]]
            which, start = (rows[:, LOG[n]].tolist() for n in ("event", "start"))
            log += zip(which, start, seconds.tolist(), strict=True)
            machine.field("logged")[0] = 0
            status = int(machine.field("status")[0])
            if status not in (tables.MORE, tables.LOGGED):
                break
        end = min(native.until * phases.tick_seconds, native.end)
        ended = status == tables.TERMINAL
        if ended:
            end = log[-1][1] * phases.tick_seconds + log[-1][2]
        last = machine.outputs(end)
        count = len(self.of)
        samples = machine.samples[0, : int(machine.field("row")[0]), :, 0].copy()
        kept = KeptRuns(
            arrays,
            samples[None, :, count:],
            last[:, count:],
            end,
            native.seed,
            np.array([run]),
            tuple(log),
            ended,
        )
        told = status in (tables.TERMINAL, tables.ENDLESS)
        event = int(machine.field("detail")[0]) + 1 if told else 0
        words = (
            "" if status == tables.DONE else reason_of(phases, event * int(tables.WHICH) + status)
        )
        return np.concatenate([samples, last]), kept, words

    def _gathered(
        self,
        found: Sequence[Mapping[str, Array]],
        way: WayBack,
        slopes: Mapping[str, Mapping[str, Any]],
        known: Mapping[str, Any],
    ) -> Array:
        """Return derivatives of results by all numbers, from the adjoints at the start."""
        phases, moving = way.phases, way.adjoint.moving
        made = np.zeros((way.count, len(found), len(self.to)))
        for k, bars in enumerate(found):
            bars = dict(bars)
            starts = {
                s.name: bars[n][:, i] for n in ("x", "d") for i, s in enumerate(getattr(phases, n))
            }
            if phases.initialize is not None:
                bars = way.before_start(bars, known)
            for array in ("p", "w"):
                for i, place in enumerate(moving[array]):
                    name = getattr(phases, array)[place].name
                    made[:, k, self.to.index(name)] += bars[array][:, i]
            for state, row in slopes.items():
                for name, slope in row.items():
                    part = np.asarray(slope)[way.kept.numbers] if np.ndim(slope) else slope
                    made[:, k, self.to.index(name)] += starts[state] * part
        return made


def _with_states(phases: Phases) -> Phases:
    """Return phases that record all that a run remembers behind its results."""
    assert phases.output is not None
    port, signals = phases.output.outputs[0], (*phases.x, *phases.d)
    entries = (*port.entries, *(s.symbol for s in signals if s.symbol is not None))
    output = replace(phases.output, outputs=(ProgramPort(port.name, (len(entries),), entries),))
    more = tuple(replace(s, symbol=None) for s in signals)
    return replace(phases, output=output, outputs=(*phases.outputs, *more))


def _apart(native: Settings) -> int:
    """Return how many steps lie between states that are kept: few different numbers of them."""
    whole = max(native.until - (native.end < np.inf), 1)  # the last tick may be cut short
    most = min(whole, STRETCH)
    return next((n for n in range(most, most // 2, -1) if whole % n == 0), most)


def _filled(samples: Array, count: int) -> Array:
    """Return the samples of a run up to the end, where one that has ended stays as it was."""
    rows = samples[: count if len(samples) >= count else len(samples)]
    rest = np.repeat(samples[-1:], count - len(rows), axis=0)
    found = np.concatenate([rows, rest])
    found[-1] = samples[-1]
    return found
