"""Parameters of a System by the likelihood of a recording (the method of prediction errors).

An extended Kalman filter of the System goes through the recording; its innovations, each in units
of its deviation, are as small and as white as they can be where the parameters are right (Ljung,
System Identification, 1999, chapter 7). Gauss and Newton's method finds that place; one pass of the
filter gives the innovations for all changes of parameters at once, as lanes of one kernel.

The covariance of what is found counts that innovations may be correlated, as the steps of an
encoder make them: H⁻¹ Ω H⁻¹ with H = Jᵀ J, and Ω the long-run covariance of the gradient (Newey and
West 1987). The error of the integration counts too: what a filter with half the steps would change
is added to the result once, and to its deviation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, symbol
from linkwright.backends.kernel import compile as compile_kernel
from linkwright.base.errors import Error, suggestion, unknown
from linkwright.base.results import Result
from linkwright.blocks import Block
from linkwright.control.nonlinear_filters import ExtendedKalmanFilter
from linkwright.control.step_model import Measurement
from linkwright.program import Program, program
from linkwright.program.program import Carried, Loop, Scanned, Stacked
from linkwright.recording import Recording
from linkwright.system import Phases, System
from linkwright.system.step_models import step_model

Array = NDArray[np.float64]
CHUNK = 250
"""Instants in one call of the kernel."""
_LAGS = 40
_SMALL = 1e-4
SCALE = "process_scale"
SCALES = (1e6, 1e3, 1.0)
"""Times the noise on the states, one search after the other; the likeliest is kept."""


class IdentificationError(Error):
    """A recording that does not determine what is asked."""


@dataclass(frozen=True, slots=True)
class FittedParameter:
    """A parameter that was found, with how well it is known.

    Args:
        name: of the parameter.
        value: what was found.
        deviation: its standard deviation.
        start: where the search began.
        unit: of the value.

    >>> FittedParameter("motor.R", 1.0, 0.01, 1.2, "ohm").confidence
    (0.9804, 1.0196)
    """

    name: str
    value: float
    deviation: float
    start: float
    unit: str = "?"

    @property
    def confidence(self) -> tuple[float, float]:
        """The interval that holds it with 95 %."""
        return self.value - 1.96 * self.deviation, self.value + 1.96 * self.deviation


class RecordedFilter:
    """A filter of a System that goes through a recording, natively, for several parameters at once.

    Args:
        system: what was recorded.
        sensors: for each channel that was measured, what it is in the System and how well.
        inputs: for inputs of the System, the channels that drove them.
        rate: of the recording, Hz.
        process: standard deviation of what a step adds to states, by name.
        covariance: of the states at the start, by name.
        steps: of the integration from one sample to the next.
    """

    def __init__(
        self,
        system: System,
        sensors: Mapping[str, tuple[str, Measurement]],
        inputs: Mapping[str, str],
        rate: Fraction,
        *,
        process: Mapping[str, float],
        covariance: Mapping[str, float],
        steps: int = 2,
    ) -> None:
        self._given = (system, sensors, inputs, rate, process, covariance, steps)
        model = step_model(
            system,
            [what for what, _ in sensors.values()],
            1 / rate,
            inputs=list(inputs),
            steps=steps,
        )
        self.channels = (*sensors, *inputs.values())
        self.states = model.states
        self.block = ExtendedKalmanFilter(
            model,
            {n: v**2 for n, v in process.items()},
            [m.variance for _, m in sensors.values()],
            covariance=dict(covariance),
            likelihood=True,
            rate=rate,
        )
        whole = System(name="fit", base=rate)
        member = whole.add(self.block)
        self.phases = whole.phases(record=[])
        self.names = tuple(s.name.removeprefix("kalman.") for s in self.phases.p)
        self.units = tuple(s.unit for s in self.phases.p)
        self.values = np.array([s.value for s in self.phases.p])
        self.sensors = tuple(sensors)
        given = [*member.z, *member.u]
        self._kernel = compile_kernel(_loop(self.phases, given, list(member.used)))
        self._place = {s.name: k for k, s in enumerate(self.phases.d)}

    def refined(self) -> RecordedFilter:
        """Return the same filter with twice as many steps of the integration."""
        system, sensors, inputs, rate, process, covariance, steps = self._given
        return RecordedFilter(
            system,
            sensors,
            inputs,
            rate,
            process=process,
            covariance=covariance,
            steps=2 * steps,
        )

    def start(self, initial: Mapping[str, float]) -> Array:
        """Return the memory of the filter where the recording begins."""
        found = np.array([s.value for s in self.phases.d])
        for name, value in initial.items():
            found[self._place[f"kalman.prior[{self.states.index(name)}]"]] = value
        return found

    def run(
        self, data: Array, parameters: Array, start: Array, *, free: bool = False
    ) -> tuple[Array, Array, Array]:
        """Return whitened innovations, log det 2πS, and innovations themselves.

        Args:
            data: a row for each sample, with sensors and inputs.
            parameters: a row for each lane.
            start: the memory of the filter.
            free: let nothing correct the estimate: innovations are then errors of a simulation.

        Innovations are arrays over lane, sample and sensor.
        """
        count, lanes = len(data), len(parameters)
        memory: Array = np.repeat(start[None, :], lanes, axis=0)
        used = np.full(len(self.sensors), 0.0 if free else 1.0)
        parts: tuple[list[Array], ...] = ([], [], [])
        padded = np.vstack([data, np.repeat(data[-1:], -count % CHUNK, axis=0)])
        for first in range(0, count, CHUNK):
            chunk = np.ascontiguousarray(padded[first : first + CHUNK].T)
            memory, *found = self._kernel(memory, parameters, chunk, used)
            for part, values in zip(parts, found, strict=True):
                part.append(np.asarray(values))
        e, logs, raw = (np.concatenate(part, axis=-1)[..., :count] for part in parts)
        return np.moveaxis(e, 1, 2), logs, np.moveaxis(raw, 1, 2)


def _loop(phases: Phases, given: Sequence[Expr], used: Sequence[Expr]) -> Program:
    """Return the ticks of phases over a chunk of inputs, as one Program."""
    scratch = Block("fit")
    sensors = len(used)

    def made(stem: str, rows: int, role: str = "input") -> list[Expr]:
        return [symbol(f"{stem}[{k}]", role, owner=scratch.owner) for k in range(rows)]

    d, p = made("d", len(phases.d)), [s.symbol for s in phases.p if s.symbol is not None]
    live = dict(zip([*given, *used], made("w", len(given) + sensors), strict=True))
    now: list[Expr] = list(d)
    for tick in phases.ticks:
        w = [live.get(s.symbol, s.value) for s in phases.w if s.symbol is not None]
        arguments: dict[str, Sequence[Any]]
        arguments = {"x": [], "d": now, "p": p, "w": w, "t": [0.0], "k": [0.0], "n": []}
        new = scratch.embed(tick.program, arguments)[tick.program.outputs[0].name]
        now = list(now)
        for slot, value in zip(tick.slots, new, strict=True):
            now[slot] = value
    place = {s.name: k for k, s in enumerate(phases.d)}
    wanted = [f"kalman.whitened[{j}]" for j in range(sensors)]
    wanted += ["kalman.log_spread", *(f"kalman.innovation[{j}]" for j in range(sensors))]
    first, final = made("start", len(d)), made("final", len(d), "local")
    data = [made(f"data{j}", CHUNK) for j in range(len(given))]
    out = [made(f"out{j}", CHUNK, "local") for j in range(len(wanted))]
    loop = Loop(
        CHUNK,
        tuple(Carried(*four) for four in zip(d, first, now, final, strict=True)),
        tuple(Scanned(live[x], tuple(row)) for x, row in zip(given, data, strict=True)),
        tuple(Stacked(now[place[name]], tuple(row)) for name, row in zip(wanted, out, strict=True)),
        tuple(scratch.statements),
    )
    return program(
        "fit",
        {"memory": first, "p": p, "data": data, "used": [live[x] for x in used]},
        {
            "final": final,
            "whitened": out[:sensors],
            "spread": out[sensors],
            "innovation": out[sensors + 1 :],
        },
        statements=[loop],
    )


@dataclass(frozen=True, slots=True, eq=False)
class SystemFit(Result):
    """Parameters of a System that explain a recording best.

    Args:
        parameters: what was found.
        nis: mean of the innovations squared, in units of their variance; 1 where all fits.
        samples: how many were used.
        rounds: of the search.

    >>> found = SystemFit((FittedParameter("R", 2.0, 0.1, 1.0, "ohm"),), 1.0, 10, 3)
    >>> print(found.summary())
    parameter         value     deviation    share  unit
    R                     2           0.1    5.0 %  ohm
    """

    parameters: tuple[FittedParameter, ...]
    nis: float
    samples: int
    rounds: int

    @property
    def values(self) -> dict[str, float]:
        """What was found, by name."""
        return {p.name: p.value for p in self.parameters}

    def __getitem__(self, name: str) -> FittedParameter:
        """Return a parameter by its name."""
        for p in self.parameters:
            if p.name == name:
                return p
        raise IdentificationError(
            f"{name!r} was not fitted", remedy=f"there is {', '.join(self.values)}", code="R652"
        )

    def table(self) -> list[tuple[str, ...]]:
        """Return heads and rows: the parameters with their deviations."""
        rows: list[tuple[str, ...]] = [("parameter", "value", "deviation", "share", "unit")]
        for p in self.parameters:
            share = abs(p.deviation / p.value) if p.value else np.inf
            text = f"{100 * share:.1f} %" if share < 10 else "-"
            rows.append((p.name, f"{p.value:.6g}", f"{p.deviation:.3g}", text, p.unit))
        return rows


def fit_recorded(
    f: RecordedFilter,
    data: Array,
    free: Sequence[str],
    *,
    values: Mapping[str, float] | None = None,
    start: Array | None = None,
    floor: float = 0.0,
    rounds: int = 25,
) -> SystemFit:
    """Return the parameters with which a filter explains a recording best."""
    base = np.array(f.values)
    for name, value in (values or {}).items():
        base[_index(f, name)] = value
    chosen = [_index(f, name) for name in free]
    for k in chosen:
        if not base[k] > 0.0:
            raise IdentificationError(
                f"{f.names[k]!r} starts at {base[k]:g}",
                remedy="give it a start above 0, in values=...",
                code="R652",
            )
    start = f.start({}) if start is None else start
    first, done = base[chosen], 0
    scale = _index(f, SCALE)
    stages: list[tuple[float, Array]] = []
    for size in SCALES:  # a filter that trusts its model little finds the way from far
        base[scale] = size
        base, cost, used = _searched(f, data, base, chosen, start, 4, 10.0)
        done += used
        stages.append((cost, base.copy()))
        if len(stages) > 1 and cost > stages[-2][0]:
            break
    _, base = min(stages, key=lambda stage: stage[0])
    base, _, used = _searched(f, data, base, chosen, start, rounds, 0.01)
    e, H, _ = _slopes(f, data, base, chosen, start)
    fine, _, _ = f.refined().run(data, base[None, :], start)
    error = -np.linalg.solve(H, np.einsum("aij,ij->a", e[1:], fine[0] - e[0]))
    base[chosen] *= np.exp(error)
    covariance = _sandwich(e, H)
    spread = np.sqrt(np.diag(covariance) + error**2 + floor**2)
    found = tuple(
        FittedParameter(f.names[k], float(base[k]), float(base[k]) * s, x, f.units[k])
        for k, s, x in zip(chosen, spread.tolist(), first.tolist(), strict=True)
    )
    return SystemFit(found, float(np.mean(e[0] ** 2)), len(data), done + used)


def _searched(
    f: RecordedFilter,
    data: Array,
    base: Array,
    chosen: Sequence[int],
    start: Array,
    rounds: int,
    enough: float,
) -> tuple[Array, float, int]:
    """Return parameters of least cost near a place, the cost, and how many rounds it took.

    The search ends where a round gains less than `enough` of twice the log likelihood.
    """
    cost, done = float(_cost(f, data, base[None, :], start)[0]), 0
    while done < rounds:
        done += 1
        _, H, gradient = _slopes(f, data, base, chosen, start)
        size = np.diag(np.diag(H))
        tries = [0.0, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0]
        steps = [np.clip(-np.linalg.solve(H + k * size, gradient), -0.7, 0.7) for k in tries]
        lanes = np.repeat(base[None, :], len(tries), axis=0)
        for lane, step in zip(lanes, steps, strict=True):
            lane[chosen] *= np.exp(step)
        costs = _cost(f, data, lanes, start)
        best = int(np.argmin(costs))
        gain = cost - float(costs[best])
        if not gain > 0.0:
            break
        cost, base = float(costs[best]), lanes[best]
        if gain < enough:
            break
    return base, cost, done


def _cost(f: RecordedFilter, data: Array, lanes: Array, start: Array) -> Array:
    """Return -2 log likelihood of each lane; what is not a number counts as without end."""
    e, logs, _ = f.run(data, lanes, start)
    with np.errstate(over="ignore", invalid="ignore"):
        found: Array = np.sum(e**2, axis=(1, 2)) + np.sum(logs, axis=1)
    return np.where(np.isfinite(found), found, np.inf)


def _slopes(
    f: RecordedFilter, data: Array, base: Array, chosen: Sequence[int], start: Array
) -> tuple[Array, Array, Array]:
    """Return innovations with their slopes by the logarithms of parameters, H = JᵀJ, and Jᵀe.

    The first row of what is returned is the innovations, the others are the slopes.
    """
    lanes = np.repeat(base[None, :], 2 * len(chosen) + 1, axis=0)
    for j, k in enumerate(chosen):
        lanes[1 + 2 * j, k] *= np.exp(_SMALL)
        lanes[2 + 2 * j, k] *= np.exp(-_SMALL)
    e, logs, _ = f.run(data, lanes, start)
    J = (e[1::2] - e[2::2]) / (2 * _SMALL)
    by_log = np.sum(logs[1::2] - logs[2::2], axis=1) / (2 * _SMALL)
    H = np.einsum("aij,bij->ab", J, J)
    whole = bool(np.isfinite(H).all())
    if not whole or np.linalg.eigvalsh(_scaled(H))[0] < 1e-9:
        shape = np.linalg.eigh(_scaled(H))[1][:, 0] if whole else np.ones(len(H))
        hidden = [f.names[k] for k, v in zip(chosen, shape, strict=True) if abs(v) > 0.2]
        raise IdentificationError(
            f"the recording does not distinguish {', '.join(hidden)}",
            remedy="record a motion that excites them, add a sensor, or leave one of them out",
            code="R653",
        )
    gradient = np.einsum("aij,ij->a", J, e[0]) + by_log / 2
    return np.concatenate([e[:1], J]), H, gradient


def _scaled(H: Array) -> Array:
    size = np.sqrt(np.maximum(np.diag(H), 1e-300))
    found: Array = H / np.outer(size, size)
    return found


def _sandwich(rows: Array, H: Array) -> Array:
    """Return the covariance of the parameters from innovations that may be correlated."""
    scores = np.einsum("aij,ij->ia", rows[1:], rows[0])
    scores = scores - scores.mean(axis=0)
    middle = scores.T @ scores
    lags = min(_LAGS, len(scores) // 10)
    for lag in range(1, lags + 1):
        part = scores[lag:].T @ scores[:-lag]
        middle = middle + (1 - lag / (lags + 1)) * (part + part.T)
    inverse = np.linalg.inv(H)
    plain = inverse * max(1.0, float(np.mean(rows[0] ** 2)))
    robust = inverse @ middle @ inverse
    size = np.sqrt(np.maximum(np.diag(robust), np.diag(plain)) / np.diag(plain))
    found: Array = plain * np.outer(size, size)
    return found


def recorded_data(recording: Recording, channels: Sequence[str]) -> Array:
    """Return the samples of channels, a row for each instant, or say which is missing."""
    names = recording.names
    for name in channels:
        if name not in names:
            raise IdentificationError(
                f"the recording has no channel {name!r}, which the fit needs",
                remedy=suggestion(name, names, f"it has {', '.join(names)}"),
                code="R650",
            )
    found = np.column_stack([recording[name] for name in channels])
    if not np.isfinite(found).all():
        bad = channels[int(np.flatnonzero(~np.isfinite(found).all(axis=0))[0])]
        raise IdentificationError(
            f"channel {bad!r} has samples that are not numbers",
            remedy="cut the recording to where all sensors work",
            code="R651",
        )
    return found


def recorded_rate(recording: Recording) -> Fraction:
    """Return the rate of a recording, Hz, or say that it is not even."""
    times = recording.times
    gaps = np.diff(times)
    if len(times) < 100 or not (np.abs(gaps - gaps.mean()) < 1e-3 * gaps.mean()).all():
        raise IdentificationError(
            f"the recording has {len(times)} samples at uneven times, or too few",
            remedy="give 100 samples or more at one rate",
            code="R651",
        )
    return Fraction(1 / float(gaps.mean())).limit_denominator(1000)


def _index(f: RecordedFilter, name: str) -> int:
    if name not in f.names:
        raise unknown(
            "parameter", name, f.names, owner="the System", kind=IdentificationError, code="R652"
        )
    return f.names.index(name)
