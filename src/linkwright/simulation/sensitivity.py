"""How a run moves with its parameters and starts, and parameters that let it meet a recording."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra.units import Amount, by_name
from linkwright.base.arguments import worded
from linkwright.base.errors import Error, suggestion
from linkwright.base.results import Result
from linkwright.mechanism import ModelLike
from linkwright.recording.in_units import in_units
from linkwright.recording.recording import Recording
from linkwright.simulation.batches import Given, _each, _typical, starts_freely, starts_of
from linkwright.simulation.described import own_times, timed
from linkwright.simulation.native.batch import Batch, run_batch
from linkwright.simulation.native.methods import method_named
from linkwright.simulation.run import Run
from linkwright.simulation.settings import RunSettings, settings_of
from linkwright.simulation.tangents import derivative_name, with_derivatives
from linkwright.system import System, system_of
from linkwright.system.phases import Phases

Array = NDArray[np.float64]
_FINAL = "final."
_METHODS = ("midpoint", "rk4", "semi-implicit", "dopri5", "dop853")
_STEP = 1e-4
"""By how much starts move that constraints determine, for their differences."""
_ROUNDS = 60
_CLOSE = 1e-10
"""By how much less the squares of deviations are in the last round of a fit."""


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
        rates: (times, results, to): the derivatives over time.
        reason: why the run ended before its time; empty where it did not.
    """

    of: tuple[str, ...]
    to: tuple[str, ...]
    values: Array
    jacobian: Array
    times: Array = field(repr=False)
    samples: Array = field(repr=False)
    rates: Array = field(repr=False)
    reason: str = ""
    _units = (("times", "s"),)

    def __repr__(self) -> str:
        return f"RunSensitivity({len(self.of)} results to {len(self.to)} numbers)"

    def __getitem__(self, name: str) -> Any:
        """Return the derivative by a number: one, or one for each of several results."""
        if name not in self.to:
            raise Error(f"nothing moves with {name!r}", remedy=suggestion(name, self.to, ""))
        column = self.jacobian[:, self.to.index(name)]
        return float(column[0]) if len(self.of) == 1 else column

    def table(self) -> list[tuple[str, ...]]:
        """Return heads and rows as text."""
        rows = [("of", *self.to)]
        for name, row in zip(self.of, self.jacobian, strict=True):
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
    device: str = "cpu",
) -> RunSensitivity:
    """Return how results of a run move with parameters, inputs and starts, exactly.

    The derivatives are states beside those of the run, moved by the tangents of the same Programs:
    through each step, sampled blocks, and events with the times at which they happen.

    Args:
        model: a mechanism, a robot, a System, a file or the name of a shipped model.
        until: end time, s; the model's own by default, or 10 s.
        of: names of outputs or states, at the end: `"final.q1"` or `"q1"`.
        to: names of parameters, inputs, or states, by where they start.
        step: of a method with fixed steps, s, as for `simulate`.
        method: "rk4", "midpoint", "semi-implicit", "dopri5" or "dop853".
        parameters: their values, and those of inputs, by name, SI.
        initial: where states start, by name, SI.
        every: steps from one sample to the next; by default for about a thousand samples.
        seed: of noise.
        tolerance: of an adaptive method, relative error of a step, of derivatives too.
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
    made = SensitiveRun(
        model, settings, [n.removeprefix(_FINAL) for n in names], to, parameters, initial
    )
    times, samples, rates, reason = made.run({}, device=device)
    return RunSensitivity(
        names, made.to, samples[-1], rates[-1], times, samples, rates, reason=reason
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
        self.given = {n: float(np.asarray(v)) for n, v in given.items()}
        self.initial = {n: float(np.asarray(v)) for n, v in starts.items()}
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
        self.phases, self.settings = timed(self.system, phases, settings)
        self.of = tuple(of)
        self._require()
        self.wide: Phases = with_derivatives(self._outputs(), self.to, {})
        self.at = {
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

    def starts(self, at: Mapping[str, float]) -> dict[str, float]:
        """Return where states and their derivatives start."""
        phases, by = self.phases, self.to
        states = {s.name for s in (*phases.x, *phases.d)}
        base = {**self.given, **{n: v for n, v in at.items() if n not in states}}
        initial = {**self.initial, **{n: v for n, v in at.items() if n in states}}
        m = self.system.mechanism
        free = starts_freely(m, {s.name for s in (*phases.x, *phases.d)}) and not m.initial_rules
        count = 1 + 4 * len(by)
        if free:
            found: dict[str, float] = {n: v for n, v in initial.items() if n in states}
            return found | {derivative_name(n, n): 1.0 for n in by if n in states}
        tables: list[dict[str, Array]] = [
            {n: np.full(count, v) for n, v in part.items()} for part in (initial, base)
        ]
        sizes = {}
        for k, name in enumerate(by):
            value = {**self.at, **at}[name]
            sizes[name] = _STEP * max(1.0, abs(value))
            row = tables[0 if name in states else 1].setdefault(name, np.full(count, value))
            row[1 + 4 * k : 5 + 4 * k] += sizes[name] * np.array([-2.0, -1.0, 1.0, 2.0])
        rows = starts_of(self.system, phases, tables[0], tables[1], count)
        known = {}
        for state, given in rows.items():
            every = np.broadcast_to(np.asarray(given, dtype=float), (count,))
            known[state] = float(every[0])
            for k, name in enumerate(by):
                a, b, c, d = every[1 + 4 * k : 5 + 4 * k]
                slope = (a - 8 * b + 8 * c - d) / (12 * sizes[name])
                known[derivative_name(state, name)] = float(slope)
        return known

    def run(self, at: Mapping[str, float], device: Any = "cpu") -> tuple[Array, Array, Array, str]:
        """Return times, samples and their derivatives, with other values of what these are by."""
        phases = self.wide
        now = {**self.given, **at}
        batch: Batch = run_batch(
            phases,
            self.settings,
            runs=1,
            initial=self.starts(at),
            values={s.name: now[s.name] for s in phases.p if s.name in now},
            inputs={s.name: now[s.name] for s in phases.w if s.name in now},
            seed=self.settings.seed,
            numbers=[0],
            threads=1,
            device=device,
        )
        count = len(self.of)
        rows = batch.samples[0]
        rates = rows[:, count:].reshape(len(rows), count, len(self.to))
        return batch.times, rows[:, :count], rates, batch.reasons[0]


# -- fitting ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fit(Result):
    """Parameters that let a model meet a recording.

    Args:
        values: by name, SI.
        deviations: standard deviation of each, from what is left and how closely it determines it.
        intervals: 95 % confidence of each.
        residual: root of the mean square of what is left, of each channel.
        covariance: of the values.
        rounds: how many runs it took.
    """

    values: dict[str, float]
    deviations: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    residual: dict[str, float]
    covariance: Array = field(repr=False)
    rounds: int

    def __repr__(self) -> str:
        told = ", ".join(
            f"{n} = {v:.6g} ± {self.deviations[n]:.2g}" for n, v in self.values.items()
        )
        return f"Fit({told})"

    def table(self) -> list[tuple[str, ...]]:
        """Return heads and rows as text."""
        rows: list[tuple[str, ...]] = [("parameter", "value", "std", "from", "to")]
        for name, value in self.values.items():
            numbers = (value, self.deviations[name], *self.intervals[name])
            rows.append((name, *(f"{x:.6g}" for x in numbers)))
        return rows


@worded
def fit(
    model: ModelLike,
    recording: Recording | Run,
    to: Sequence[str],
    *,
    channels: Iterable[str] | None = None,
    step: Amount | None = None,
    method: str = "rk4",
    parameters: Given | None = None,
    initial: Given | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Fit:
    """Return parameters (or starts) with which a model meets a recording best, by Gauss and Newton.

    Each round is one run with its exact derivatives. Channels are weighted by how far they range,
    and each has noise of its own size. Where states jump, samples are to be evenly apart.

    Args:
        model: a mechanism, a robot, a System, a file or the name of a shipped model.
        recording: channels over time, or a run, from its start on.
        to: names of what is fitted: parameters, or states by where they start.
        channels: of the recording that are met; by default all that the model has. Units such as
            mm are converted.
        step: of the method, s, as for `simulate`.
        method: as for `sensitivity`.
        parameters: values of others, and of where the search begins, SI.
        initial: where states start, SI.
        progress: called with the number of rounds and the sum of squares.

    Example:
        >>> from linkwright.simulation import simulate
        >>> seen = simulate("pendulum", 2.0, initial={"phi": 0.4}, parameters={"L": 0.8})
        >>> round(fit("pendulum", seen, ["L"], initial={"phi": 0.4}).values["L"], 6)
        0.8
    """
    recording = recording.recording if isinstance(recording, Run) else recording
    times = np.asarray(recording.times, dtype=float)
    times = times - times[0]
    if len(times) < 3:
        raise Error("a recording of less than three samples fits everything")
    there = [c.name for c in recording.channels]
    system = system_of(model)
    phases = system.phases()
    known = {s.name for s in (*phases.outputs, *phases.x)}
    wanted = [n for n in there if n in known] if channels is None else list(channels)
    for name in wanted:
        for place, names in (("the recording", there), (f"{phases.name!r}", known)):
            if name not in names:
                raise Error(f"{place} has no channel {name!r}", remedy=suggestion(name, names, ""))
    if not wanted:
        raise Error("the recording has no channel of the model", remedy="give channels=...")
    settings = settings_of(float(times[-1]), step=step, method=method, every=1)
    settings, rows = _met(system, phases, times, settings, wanted)
    run = SensitiveRun(model, settings, wanted, to, parameters, initial)
    units = {s.name: s.unit for s in (*phases.x, *phases.outputs)}
    recording = in_units(recording, {n: units[n] for n in wanted})
    seen = np.stack([np.asarray(recording[n], dtype=float) for n in wanted], axis=1)
    span = np.ptp(seen, axis=0)
    weights = 1.0 / np.where(span > 0, span, 1.0)
    at = np.array([run.at[n] for n in to])

    def looked(at: Array) -> tuple[Array, Array, float]:
        grid, samples, rates, reason = run.run(dict(zip(to, map(float, at), strict=True)))
        if reason or not np.isfinite(rates).all():
            return np.empty(0), np.empty(0), math.inf
        if rows is None:
            samples, rates = (_between(system, grid, y, times) for y in (samples, rates))
        else:
            samples, rates = samples[rows], rates[rows]
        left = (samples - seen) * weights
        slopes = rates * weights[:, None]
        return left.ravel(), slopes.reshape(-1, len(at)), float((left**2).sum())

    left, slopes, cost = looked(at)
    if not math.isfinite(cost):
        raise Error("the run ends before the recording does", remedy="give other values to begin")
    damping, rounds = 1e-4, 1
    while rounds < _ROUNDS:
        size = np.linalg.norm(slopes, axis=0)
        scaled = slopes / np.where(size > 0, size, 1.0)
        normal = scaled.T @ scaled + damping * np.eye(len(at))
        move = -np.linalg.solve(normal, scaled.T @ left) / np.where(size > 0, size, 1.0)
        tried = looked(at + move)
        rounds += 1
        if progress is not None:
            progress(rounds, min(cost, tried[2]))
        if tried[2] < cost:
            gain, at = (cost - tried[2]) / cost, at + move
            left, slopes, cost = tried
            damping = max(damping / 10, 1e-14)
            if gain < _CLOSE or cost < 1e-28 * left.size:
                break
        elif damping > 1e6 or np.abs(move).max() <= 1e-14 * max(1.0, np.abs(at).max()):
            break
        else:
            damping *= 10
    return _fitted(to, wanted, at, left, slopes, weights, rounds)


def _met(
    system: System, phases: Phases, times: Array, settings: RunSettings, wanted: Sequence[str]
) -> tuple[RunSettings, NDArray[np.intp] | None]:
    """Return settings whose samples fall on those of a recording, and which; None where none do."""
    jumps = any(e.action for e in phases.event_list)
    least = float(np.diff(times).min())
    if least <= 0:
        raise Error("times of a recording do not increase", remedy="sort it, each time once")
    apart = float(times[-2]) / round(times[-2] / least)
    counts = np.round(times / apart)
    off = np.abs(times - counts * apart) / apart
    close = 1e-3 if jumps else 1e-6
    even = off[:-1].max() <= close and counts[-1] <= 20 * len(times)
    if system.is_continuous:
        usual = settings.timed(own_times(system.mechanism)).step
        assert usual is not None
        alone = settings.chosen.adaptive and settings.step is None
        parts = 1 if alone else math.ceil(apart / usual * (1 - 1e-9))
        made = replace(settings, step=apart / parts, every=parts)
    else:
        parts = max(1, round(apart / phases.tick_seconds))
        even = even and abs(apart / (parts * phases.tick_seconds) - 1) * counts[-1] <= close
        made = replace(settings, every=parts)
    if even:
        rows = counts.astype(np.intp)
        rows[-1] = rows[-2] + 1 if off[-1] > close else rows[-1]
        return made, rows
    held = [] if system.is_continuous else sorted({*wanted} - {s.name for s in phases.x})
    if jumps or held:
        what = f"{held[0]!r} is held from tick to tick" if held else f"{phases.name!r} jumps"
        apart_by = "" if system.is_continuous else f" at multiples of {phases.tick_seconds:g} s"
        raise Error(
            f"{what}, and samples of the recording are not evenly apart{apart_by}",
            remedy=f"give a recording with samples evenly apart{apart_by}",
        )
    return settings, None


def _between(system: System, grid: Array, samples: Array, times: Array) -> Array:
    """Return samples at other times; where something is sampled, by what is near alone."""
    from scipy.interpolate import Akima1DInterpolator, CubicSpline

    smooth = CubicSpline if system.is_continuous else Akima1DInterpolator
    found = smooth(grid, samples, axis=0)(np.clip(times, grid[0], grid[-1]))
    return np.asarray(found, dtype=float)


def _fitted(
    parameters: Sequence[str],
    wanted: Sequence[str],
    at: Array,
    left: Array,
    slopes: Array,
    weights: Array,
    rounds: int,
) -> Fit:
    from scipy.stats import t as student

    normal = slopes.T @ slopes
    free = max(left.size - len(at), 1)
    singular = np.linalg.cond(normal) > 1 / np.finfo(float).eps
    inverse = np.full(normal.shape, np.inf)
    if not singular:
        inverse = np.asarray(np.linalg.inv(normal), dtype=float)
    covariance = (
        inverse if singular else inverse @ _scatter(left, slopes, inverse, wanted) @ inverse
    )
    deviations = np.sqrt(np.diag(covariance))
    reach = float(student.ppf(0.975, free))
    rows = left.reshape(-1, len(wanted)) / weights
    return Fit(
        dict(zip(parameters, map(float, at), strict=True)),
        dict(zip(parameters, map(float, deviations), strict=True)),
        {
            n: (float(v - reach * s), float(v + reach * s))
            for n, v, s in zip(parameters, at, deviations, strict=True)
        },
        dict(zip(wanted, map(float, np.sqrt((rows**2).mean(axis=0))), strict=True)),
        np.asarray(covariance, dtype=float),
        rounds,
    )


def _scatter(left: Array, slopes: Array, inverse: Array, wanted: Sequence[str]) -> Array:
    """Return the covariance of slopes times noise, which each channel has to its own size."""
    found = np.zeros_like(inverse)
    for channel in range(len(wanted)):
        own, moved = left[channel :: len(wanted)], slopes[channel :: len(wanted)]
        normal = moved.T @ moved
        free = max(len(own) - float(np.trace(normal @ inverse)), 1.0)
        found += float(own @ own) / free * normal
    return found
