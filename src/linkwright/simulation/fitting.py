"""Parameters and starts with which a model meets a recording."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra.units import Amount
from linkwright.base.arguments import worded
from linkwright.base.errors import Error, suggestion
from linkwright.base.optional import extra
from linkwright.base.results import Result
from linkwright.mechanism import ModelLike
from linkwright.recording.in_units import in_units
from linkwright.recording.plots import styled
from linkwright.recording.recording import Recording
from linkwright.simulation.batches import Given
from linkwright.simulation.described import own_times
from linkwright.simulation.run import Run
from linkwright.simulation.sensitivity import SensitiveRun
from linkwright.simulation.settings import RunSettings, settings_of
from linkwright.system import System, system_of
from linkwright.system.phases import Phases

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
_ROUNDS = 60
_CLOSE = 1e-10
"""By how much less the squares of deviations are in the last round of a fit."""


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
        times: of the samples, s, from the start on.
        recorded: what was met, by channel, in the units of the model.
        fitted: what the model gives there.
    """

    values: dict[str, float]
    deviations: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    residual: dict[str, float]
    covariance: Array = field(repr=False)
    rounds: int
    times: Array = field(repr=False)
    recorded: dict[str, Array] = field(repr=False)
    fitted: dict[str, Array] = field(repr=False)
    _units = (("times", "s"),)

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

    def plot(self) -> Figure:
        """Return what was recorded and what is fitted, and below what is left, of each channel."""
        made = extra("matplotlib.figure", "plot")
        with styled():
            size = (3.6 * len(self.recorded) + 1.0, 4.6)
            drawing: Figure = made.Figure(figsize=size, layout="constrained")
            panels = drawing.subplots(
                2, len(self.recorded), sharex=True, squeeze=False, height_ratios=(3, 1)
            )
            for (above, below), name in zip(panels.T, self.recorded, strict=True):
                seen, fitted = self.recorded[name], self.fitted[name]
                above.plot(self.times, seen, ".", markersize=3, label="recorded")
                above.plot(self.times, fitted, linewidth=1.0, label="fitted")
                below.plot(self.times, seen - fitted, ".", markersize=3)
                above.set_title(name)
                below.set_xlabel("t (s)")
            panels[0, 0].legend()
            panels[1, 0].set_ylabel("recorded - fitted")
        return drawing


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
    found = dict(zip(wanted, seen.T, strict=True))
    return _fitted(to, found, at, left, slopes, weights, rounds, times)


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
    recorded: dict[str, Array],
    at: Array,
    left: Array,
    slopes: Array,
    weights: Array,
    rounds: int,
    times: Array,
) -> Fit:
    from scipy.stats import t as student

    wanted = list(recorded)

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
        times,
        recorded,
        {n: seen + row for (n, seen), row in zip(recorded.items(), rows.T, strict=True)},
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
