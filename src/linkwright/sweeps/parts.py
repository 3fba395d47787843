"""The parts of a sweep: some runs after each other in numbers, carried out together and reduced.

A part depends on the plan and its number alone, so it can be done anywhere, and done again.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error
from linkwright.mechanism import Mechanism
from linkwright.recording.recording import Array
from linkwright.simulation.batches import simulate_batch
from linkwright.simulation.described import own_times
from linkwright.sweeps.plans import Plan, part_size, ticks_of, time_of
from linkwright.sweeps.reducing import reduce_part
from linkwright.system import System

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A plan with its System at hand."""

    plan: Plan
    system: System
    count: int
    every: int
    size: int

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return -(-self.plan.count // self.size)

    def rows(self, part: int) -> range:
        """Return the numbers of the runs of a part."""
        return range(part * self.size, min((part + 1) * self.size, self.plan.count))


def job_of(plan: Plan, model: Mechanism | System | None = None, device: str = "cpu") -> Job:
    """Return a plan with its System."""
    if model is None:
        from linkwright.models import opened

        model = opened(plan.model)
    system = model if isinstance(model, System) else System(model)
    if not plan.channels:
        plan = replace(plan, channels={s.name: ("final",) for s in system.phases().outputs})
    step = plan.settings.timed(own_times(system.mechanism)).step
    tick = step if system.is_continuous and step else float(system.clock().tick)
    count, every = ticks_of(plan, tick)
    return Job(plan, system, count, every, part_size(plan, count // every + 1, device))


def run_part(job: Job, part: int, threads: int | None = None, device: str = "cpu") -> Columns:
    """Carry out a part, and return its columns: number, parameters, starts, what is kept."""
    plan, rows = job.plan, job.rows(part)
    values, initial = plan.numbers(rows.start, rows.stop)
    names = list(plan.channels)
    found = simulate_batch(
        job.system,
        plan.until,
        runs=len(rows),
        step=plan.step,
        method=plan.method,
        initial=initial,
        parameters=values,
        record=names,
        every=job.every,
        seed=plan.seed + np.arange(rows.start, rows.stop) % plan.runs,
        tolerance=plan.tolerance,
        absolute=plan.absolute,
        threads=threads,
        device=device,
    )
    columns: Columns = {"run": np.arange(rows.start, rows.stop)}
    columns |= values
    columns |= {n if n not in columns else f"{n}.initial": v for n, v in initial.items()}
    columns["stopped"] = np.where(np.isfinite(found.stopped), found.stopped, math.nan)
    for name, kept in plan.wanted.items():
        columns |= reduced(name, found.times, found[name], found.stopped, kept)
    return columns


def part_of(
    job: Job, part: int, threads: int | None = None, device: str = "cpu"
) -> Columns | dict[str, Any]:
    """Return the columns of a part, or what is known of them where the plan reduces its runs."""
    columns = run_part(job, part, threads, device)
    return reduce_part(columns, job.plan.columns, job.plan.reduce) if job.plan.reduce else columns


def reduced(
    name: str, times: Array, samples: Array, stopped: Array, kept: Sequence[str]
) -> dict[str, Array]:
    """Return what is kept of a channel of many runs, which stays as it was where a run has ended.

    >>> t, y = np.array([0.0, 1.0, 2.0]), np.array([[1.0, 3.0, 2.0]])
    >>> found = reduced("y", t, y, np.array([np.inf]), ["final", "max", "mean", "at 1"])
    >>> {k: float(v[0]) for k, v in found.items()}
    {'y.final': 2.0, 'y.max': 3.0, 'y.mean': 2.25, 'y.at 1': 3.0}
    """
    found: dict[str, Array] = {}
    for reduction in kept:
        found[f"{name}.{reduction}"] = _one(reduction, times, samples, stopped)
    return found


def _one(reduction: str, times: Array, samples: Array, stopped: Array) -> Array:
    t = time_of(reduction)
    if t is not None:
        k = int(np.abs(times - t).argmin())
        return np.where(times[k] <= stopped, samples[:, k], np.nan)
    if reduction == "final":
        return samples[:, -1]
    if reduction == "min":
        return np.asarray(samples.min(axis=1))
    if reduction == "max":
        return np.asarray(samples.max(axis=1))
    if reduction in ("mean", "rms"):
        return _mean(times, samples, stopped, square=reduction == "rms")
    raise Error(f"there is no reduction {reduction!r}")


def _mean(times: Array, samples: Array, stopped: Array, *, square: bool) -> Array:
    """Return means over time by the trapezium rule, of values or (roots) of squares."""
    values = samples**2 if square else samples
    steps = np.diff(np.minimum(times, stopped[:, None]))
    length = steps.sum(axis=1)
    area = (steps * (values[:, 1:] + values[:, :-1]) / 2).sum(axis=1)
    mean = np.where(length > 0, area / np.where(length > 0, length, 1.0), values[:, 0])
    return np.asarray(np.sqrt(mean) if square else mean)


@lru_cache(maxsize=4)
def known_job(text: str, file: str = "", content: str = "", device: str = "cpu") -> Job:
    """Return the job of a plan as JSON, the last ones from memory."""
    plan = plan_from(json.loads(text))
    if not content:
        return job_of(plan, device=device)
    from linkwright.models import opened

    with tempfile.TemporaryDirectory(prefix="linkwright-") as folder:
        path = Path(folder) / Path(file).name
        path.write_text(content, encoding="utf-8", newline="")
        return job_of(plan, opened(f"{path}{plan.model.rpartition(file)[2]}"), device)


def plan_from(data: Mapping[str, Any]) -> Plan:
    """Return the plan of plain data, as `Plan.as_data` gives it."""
    channels = {name: tuple(kept) for name, kept in data["channels"].items()}
    return Plan(**{**data, "channels": channels, "reduce": tuple(data.get("reduce", ()))})
