"""What is measured of loops that are to be tuned: step responses, sines, margins, relays.

All functions take recorded numbers, whatever made them: a run, a recording, a running axis. Sines
are fitted by least squares with a mean and a slope beside them, so samples may be missing and need
not hold whole periods. A relay in a loop makes it oscillate where its phase is half a turn; the
ratio of the first harmonics of relay and answer is the ultimate gain (Åström and Hägglund,
Automatica 20, 1984).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from linkwright.base.arguments import worded
from linkwright.base.errors import Error, InputError
from linkwright.base.reprs import brief
from linkwright.base.results import Result
from linkwright.blocks import checked
from linkwright.linear.frequency import Margins
from linkwright.linear.responses import Array, FrequencyResponse, checked_frequencies


@dataclass(frozen=True, slots=True)
class StepMeasures(Result):
    """What is read off a step response.

    Args:
        start: value before the step.
        goal: value that it goes to.
        final: mean of the last tenth.
        rise: s from 10 to 90 % of the way; NaN where it does not get there.
        overshoot: beyond the goal, as a share of the step; 0 where it stays below.
        peak: s from the step to the largest value.
        settling: s until it stays within the band; NaN where it does not.
        error: of the final value, as a share of the step.

    >>> t = np.linspace(0, 5, 501)
    >>> found = step_measures(t, 1 - np.exp(-t / 0.5), goal=1.0)
    >>> round(found.rise, 3), round(found.settling, 3), found.overshoot
    (1.099, 1.956, 0.0)
    """

    start: float
    goal: float
    final: float
    rise: float
    overshoot: float
    peak: float
    settling: float
    error: float

    def as_dict(self) -> dict[str, float]:
        """Return the measures by names with units."""
        return {
            "start": self.start,
            "goal": self.goal,
            "final": self.final,
            "rise_s": self.rise,
            "overshoot": self.overshoot,
            "peak_s": self.peak,
            "settling_s": self.settling,
            "error": self.error,
        }

    def rows(self) -> list[tuple[str, str]]:
        """Return label and value of each line of a table."""
        return [
            ("rise time, 10 to 90 %", time_text(self.rise)),
            ("overshoot", f"{100 * self.overshoot:.3g} %"),
            ("settling time, 2 %", time_text(self.settling)),
            ("final error", f"{100 * self.error:.3g} %"),
        ]


@worded
def step_measures(
    times: ArrayLike,
    values: ArrayLike,
    *,
    start: float | None = None,
    goal: float | None = None,
    at: float | None = None,
    band: float = 0.02,
) -> StepMeasures:
    """Return rise time, overshoot, settling time and error of a step response.

    Args:
        times: s, rising.
        values: of the answer.
        start: value before the step; the first one by default.
        goal: that it should go to; the mean of the last tenth by default.
        at: when the step was, s; the first time by default.
        band: share of the step around the goal within which it counts as settled.

    >>> t = np.linspace(0, 20, 2001)
    >>> found = step_measures(t, 1 - np.exp(-0.5 * t) * np.cos(2 * t), goal=1.0)
    >>> round(found.overshoot, 3), round(found.settling, 2)
    (0.47, 7.82)
    """
    t, y = _signals(times, values)
    if at is not None:
        kept = t >= at
        before = y[t < at]
        start = float(before[-1]) if start is None and len(before) else start
        t, y = t[kept], y[kept]
    if len(t) < 5:
        raise InputError("a step response has at least 5 values", remedy="record for longer")
    t = t - (t[0] if at is None else at)
    low = float(y[0]) if start is None else checked(start, "start")
    final = float(np.mean(y[-max(1, len(y) // 10) :]))
    high = final if goal is None else checked(goal, "goal")
    size = high - low
    if size == 0 or not math.isfinite(size):
        raise InputError(
            f"the step goes from {low:g} to {high:g}, which is not a step", remedy="give a goal"
        )
    way = (y - low) / size
    first, second = _crossing(t, way, 0.1), _crossing(t, way, 0.9)
    top = int(np.argmax(way))
    outside = np.flatnonzero(np.abs(way - 1) > checked(band, "band", above=0.0, most=1.0))
    settling = 0.0
    if len(outside):
        last = int(outside[-1])
        settling = math.nan if last == len(t) - 1 else _into(t, np.abs(way - 1), last, band)
    return StepMeasures(
        low,
        high,
        final,
        second - first,
        max(0.0, float(way[top]) - 1.0),
        float(t[top]),
        settling,
        (final - high) / size,
    )


def _crossing(t: Array, way: Array, level: float) -> float:
    """Return when a level is first reached, between samples; NaN where it is not."""
    above = np.flatnonzero(way >= level)
    if not len(above):
        return math.nan
    k = int(above[0])
    if k == 0:
        return float(t[0])
    share = (level - way[k - 1]) / (way[k] - way[k - 1])
    return float(t[k - 1] + share * (t[k] - t[k - 1]))


def _into(t: Array, away: Array, last: int, band: float) -> float:
    """Return when the band is entered for the last time, between samples."""
    share = (away[last] - band) / (away[last] - away[last + 1])
    return float(t[last] + share * (t[last + 1] - t[last]))


# -- sines -----------------------------------------------------------------------------------------
@worded
def fit_sine(times: ArrayLike, values: ArrayLike, frequency: float) -> complex:
    """Return the complex amplitude c of the sine in a signal: Im(c exp(j w t)).

    Args:
        times: s; they need not be even.
        values: of the signal.
        frequency: w, rad/s.

    A mean and a slope are fitted with it.

    >>> t = np.linspace(0, 3, 200)
    >>> abs(fit_sine(t, 5 + 0.1 * t + 2 * np.sin(4 * t + 0.3), 4.0)).__round__(9)
    2.0
    """
    t, y = _signals(times, values)
    w = checked(frequency, "frequency", above=0.0)
    if len(t) < 5 or (t[-1] - t[0]) * w < math.pi:
        raise InputError(
            f"{len(t)} values over {t[-1] - t[0] if len(t) else 0:g} s are too few for {w:g} rad/s",
            remedy="measure for at least half a period",
        )
    return _harmonic(t, y, w, t - t.mean())


def _harmonic(t: Array, y: Array, w: float, *beside: Array) -> complex:
    """Return the complex amplitude of a sine, fitted with a mean and what else is given."""
    rows = np.column_stack([np.sin(w * t), np.cos(w * t), np.ones_like(t), *beside])
    found = np.linalg.lstsq(rows, y, rcond=None)[0]
    return complex(found[0], found[1])


@worded
def measure_response(
    times: ArrayLike,
    input: ArrayLike,  # noqa: A002 - the word of the field
    output: ArrayLike,
    frequency: float,
    *,
    settle: float = 0.0,
) -> complex:
    """Return output over input at the frequency of a sine that was put in.

    Args:
        times: s.
        input: the signal that was put in.
        output: the answer.
        frequency: rad/s.
        settle: s at the beginning that do not count.

    >>> t = np.linspace(0, 5, 500)
    >>> found = measure_response(t, np.sin(2 * t), 3 * np.cos(2 * t), 2.0)
    >>> round(abs(found), 6), round(np.angle(found) / np.pi, 6).item()
    (3.0, 0.5)
    """
    t, u = _signals(times, input)
    _, y = _signals(times, output)
    kept = t >= t[0] + settle
    size = fit_sine(t[kept], u[kept], frequency)
    if abs(size) < 1e-12 * max(1e-300, float(np.abs(u).max(initial=0.0))):
        raise Error(f"nothing goes in at {frequency:g} rad/s", remedy="put a sine in")
    return fit_sine(t[kept], y[kept], frequency) / size


@worded
def open_loop(closed: FrequencyResponse) -> FrequencyResponse:
    """Return the loop gain L = T/(1 - T) of a loop whose closed response T was measured.

    Args:
        closed: from the set-point to the answer.

    >>> T = FrequencyResponse(np.array([1.0]), np.array([0.5 + 0j]), "r", "y")
    >>> open_loop(T).values
    array([1.+0.j])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        values = closed.values / (1 - closed.values)
    return replace(closed, values=values, model=None, name=f"loop gain of {closed.output}")


@worded
def measure_margins(loop: FrequencyResponse) -> Margins:
    """Return the margins of a loop gain that is known at some frequencies.

    Args:
        loop: L, at enough frequencies to follow it: between them logarithms go straight.

    >>> w = np.geomspace(0.1, 100, 400)
    >>> L = FrequencyResponse(w, 8 / (1j * w * (2 + 1j * w)), "e", "y")
    >>> found = measure_margins(L)
    >>> round(found.degrees, 1), round(found.phase_frequency, 2), found.gain
    (38.7, 2.5, inf)
    """
    w = checked_frequencies(loop.frequencies)
    kept = np.isfinite(loop.values) & (np.abs(loop.values) > 0) & (w > 0)
    w, values = w[kept], loop.values[kept]
    if len(w) < 3:
        raise InputError("margins need a loop gain at 3 frequencies or more", remedy="measure more")
    x, size, phase = np.log(w), np.log(np.abs(values)), np.unwrap(np.angle(values))
    phase = phase - 2 * math.pi * np.round((phase[0] + math.pi / 2) / (2 * math.pi))
    gains: list[tuple[float, float]] = []
    turns = np.arange(math.floor(phase.min() / (2 * math.pi)), 1) * 2 * math.pi
    for half in turns - math.pi:  # odd numbers of half turns
        for at in _zeros(x, phase - half):
            gains.append((math.exp(-np.interp(at, x, size)), math.exp(at)))
    lags = [
        ((float(np.interp(at, x, phase)) + math.pi) % (2 * math.pi), math.exp(at))
        for at in _zeros(x, size)
    ]
    far = np.abs(1 + values)
    near = int(np.argmin(far))
    up = min(((g, f) for g, f in gains if g > 1), default=(math.inf, math.nan))
    down = max((g for g, _ in gains if g < 1), default=0.0)
    lag = min(((min(p, 2 * math.pi - p), f) for p, f in lags), default=(math.inf, math.nan))
    delay = min(((p / f, f) for p, f in lags), default=(math.inf, math.nan))
    return Margins(
        up[0], down, lag[0], delay[0], float(far[near]), up[1], lag[1], delay[1], float(w[near])
    )


def _zeros(x: Array, values: Array) -> list[float]:
    found = []
    for k in range(len(x) - 1):
        a, b = float(values[k]), float(values[k + 1])
        if a == 0.0 or a * b < 0:
            found.append(float(x[k] - a * (x[k + 1] - x[k]) / (b - a)) if a != b else float(x[k]))
    return found


# -- relays ----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class UltimatePoint:
    """Where the phase of a loop is half a turn.

    Args:
        gain: by which the loop gain may grow until it oscillates: the ultimate gain.
        period: of that oscillation, s.
        spread: of the last periods, as a share of their mean; a steady oscillation has little.
        amplitude: of the answer.

    >>> round(UltimatePoint(8.0, 3.628).frequency, 3)
    1.732
    """

    gain: float
    period: float
    spread: float = 0.0
    amplitude: float = math.nan

    @property
    def frequency(self) -> float:
        """Of the oscillation, rad/s."""
        return 2 * math.pi / self.period


@worded
def ultimate_point(
    times: ArrayLike, relay: ArrayLike, answer: ArrayLike, *, periods: int = 4
) -> UltimatePoint:
    """Return the ultimate gain and period from a relay that was in the loop.

    Args:
        times: s.
        relay: what the relay put in.
        answer: what came back, before its sign is turned.
        periods: of the oscillation, the last ones, over which it is taken.

    >>> t = np.linspace(0, 20, 4001)
    >>> point = ultimate_point(t, np.sign(np.sin(3 * t)), -0.2 * np.sin(3 * t))
    >>> round(point.gain, 2), round(point.period, 3)
    (6.37, 2.094)
    """
    t, u = _signals(times, relay)
    _, y = _signals(times, answer)
    middle = (u.max() + u.min()) / 2
    ups = np.flatnonzero((u[:-1] <= middle) & (u[1:] > middle)) + 1
    count = int(checked(periods, "periods", least=1))
    if len(ups) < count + 1:
        raise Error(
            f"the relay has switched {len(ups)} times, and {count + 1} are needed",
            remedy="run it for longer; with a loop that lags less than half a turn it never does",
        )
    ends = t[ups[-count - 1 :]]
    spans = np.diff(ends)
    period = float(spans.mean())
    kept = (t >= ends[0]) & (t < ends[-1])
    w = 2 * math.pi / period
    size, back = _harmonic(t[kept], u[kept], w), _harmonic(t[kept], y[kept], w)
    if abs(back) == 0.0:
        raise Error("the answer does not move", remedy="give the relay a larger amplitude")
    return UltimatePoint(abs(size) / abs(back), period, float(np.ptp(spans) / period), abs(back))


def _signals(times: ArrayLike, values: ArrayLike) -> tuple[Array, Array]:
    """Return times and values as they can be used, or say what is wrong."""
    try:
        t, y = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"times and values are numbers, not {brief(times, 20)} and {brief(values, 20)}"
        ) from None
    if t.ndim != 1 or t.shape != y.shape or not len(t):
        raise InputError(f"{t.shape} times and {y.shape} values do not fit together")
    if not (np.isfinite(t).all() and np.isfinite(y).all()) or np.any(np.diff(t) <= 0):
        raise InputError(
            "times must rise, and all numbers be finite", remedy="leave the others out"
        )
    return t, y


def time_text(seconds: float) -> str:
    """Return a time in ms or s, in words where it was not reached.

    >>> time_text(0.0123), time_text(math.nan)
    ('12.3 ms', 'not reached')
    """
    if not math.isfinite(seconds):
        return "not reached"
    return f"{1e3 * seconds:.4g} ms" if seconds < 1 else f"{seconds:.4g} s"
