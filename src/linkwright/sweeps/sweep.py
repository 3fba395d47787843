"""Sweeps: many runs of a model over parameters, starts and noise.

The runs of a part go through the lanes of vector registers on all processors, or, with the address
of a Dask scheduler, parts go to its workers. What is kept of each run is one row of a table in
Parquet files, one file a part, each written under another name and renamed when it is whole; a
sweep that was killed goes on with the parts that are missing. The folder of these files is a
dataset for whatever reads Parquet.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from linkwright.base.arguments import worded
from linkwright.base.errors import Error, InputError
from linkwright.base.files import LARGEST, parse_json, read_text, write_text, write_with
from linkwright.base.optional import extra
from linkwright.base.reprs import brief
from linkwright.base.results import Result
from linkwright.mechanism import Mechanism, ModelLike, mechanism_of
from linkwright.models.sources import source_of
from linkwright.simulation.described import own_times
from linkwright.simulation.settings import DEFAULTS
from linkwright.sweeps.parts import Columns, Job, job_of, known_job, part_of
from linkwright.sweeps.plans import Plan, checked
from linkwright.sweeps.reducing import QUANTILES, Reduced, ReducedParts
from linkwright.system import System
from linkwright.version import __version__

PLAN = "_plan.json"
REDUCED = "_reduced.json"
_WHILE = 2.0
"""How often what is known of reduced runs is kept, s."""
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sweep(Result):
    """What a sweep has found: a column for each parameter and each thing kept, a row for each run.

    Args:
        plan: what was swept.
        columns: by name.
        folder: where they are as Parquet files; None for nowhere.
        reduced: by name what is known of all runs, where they are reduced; there are no columns.

    >>> found = sweep("pendulum", 1.0, L=[0.5, 1.0], channels={"phi": ["final"]})
    >>> found["L"].tolist(), len(found)
    ([0.5, 1.0], 2)
    """

    plan: Plan
    columns: Columns = field(repr=False)
    folder: Path | None = None
    reduced: Mapping[str, Reduced] = field(default_factory=dict, repr=False)
    early: int = 0

    def __repr__(self) -> str:
        return f"Sweep({len(self)} runs: {brief(list(self.reduced or self.columns))[1:-1]})"

    def __len__(self) -> int:
        return self.plan.count if self.reduced else len(self.columns["run"])

    def __getitem__(self, name: str) -> Any:
        """Return a column, or what is known of it where runs are reduced."""
        there: Mapping[str, Any] = self.reduced or self.columns
        if name not in there:
            raise Error(f"no column is called {name!r}", remedy=f"there are {list(there)}")
        return there[name]

    @property
    def stopped(self) -> int:
        """How many runs ended early."""
        return self.early if self.reduced else int(np.isfinite(self["stopped"]).sum())

    @property
    def _parts(self) -> tuple[float, ...]:
        """Quantiles that a table shows: none where they were not kept."""
        kept = [r for r in self.reduced.values() if r.count]
        return QUANTILES if kept and all(r.bins is not None for r in kept) else ()

    def as_dict(self) -> dict[str, object]:
        """Return what there is, without its numbers, as plain data."""
        return {
            "runs": len(self),
            "stopped": self.stopped,
            "folder": None if self.folder is None else str(self.folder),
            "columns": list(self.reduced or self.columns),
        } | (
            {"reduced": {n: r.as_result() for n, r in self.reduced.items()}} if self.reduced else {}
        )

    def table(self, most: int = 24) -> list[tuple[str, ...]]:
        """Return heads and rows: mean, deviation, least and greatest of what was kept.

        Args:
            most: rows at most.
        """
        heads = [f"{100 * part:g} %" for part in self._parts]
        rows: list[tuple[str, ...]] = [("quantity", "mean", "std", "min", "max", *heads)]
        for name in self.plan.columns[:most]:
            if self.reduced:
                r = self.reduced[name]
                if r.count:
                    four = (r.mean, r.variance**0.5, r.minimum, r.maximum)
                    shown = (*four, *map(r.quantile, self._parts))
                    rows.append((name, *(f"{x:.6g}" for x in shown)))
                continue
            good = self[name][np.isfinite(self[name])]
            if len(good):
                numbers = (good.mean(), good.std(), good.min(), good.max())
                rows.append((name, *(f"{x:.6g}" for x in numbers)))
        return rows


@worded
def sweep(
    model: ModelLike,
    until: float | None = None,
    *,
    step: float | None = None,
    method: str = DEFAULTS.method,
    parameters: Mapping[str, Any] | None = None,
    initial: Mapping[str, Any] | None = None,
    channels: Mapping[str, Sequence[str]] | None = None,
    seeds: Iterable[int] | int | None = None,
    seed: int = DEFAULTS.seed,
    zip: bool = False,  # noqa: A002 - the word of the field
    every: int | None = None,
    tolerance: float = DEFAULTS.tolerance,
    absolute: float | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    threads: int | None = None,
    cluster: str | None = None,
    device: str = "cpu",
    reduce: Sequence[str] = (),
    progress: Progress | None = None,
    **more: Any,
) -> Sweep:
    """Run a model many times, and return what is kept of each run.

    Lists and ranges of parameters span a grid; distributions are drawn at each of its points.

    Args:
        model: a mechanism, a robot, a System, a file or the name of a shipped model.
        until: end time, s; the model's own by default, or 10 s.
        step: of a method with fixed steps, or the finest interval of samples, s, as for `simulate`.
        method: as for `simulate`.
        parameters: values of parameters and inputs: a number, a list, a range
            `{"from": 1, "to": 2, "count": 5}` or a distribution such as
            `{"normal": [mean, deviation]}`.
        initial: where states start, in the same way.
        channels: what is kept of each: "final", "min", "max", "mean", "rms", "at T"; by default
            the last values of all.
        seeds: of distributions and of noise, a run for each at each point of the grid: the run with
            seed s is `simulate(seed=s)`. A number counts them, from `seed` on.
        seed: of all runs, where no seeds are given; else it is added to them.
        zip: let lists go together, one entry a run, instead of spanning a grid.
        every: steps from sample to sample; by default for about a thousand.
        tolerance: of an adaptive method, relative error of a step.
        absolute: the same where a state is near zero, as for `simulate`.
        folder: where results go as Parquet files while the sweep goes on.
        resume: go on with what is in the folder.
        threads: as many as there are processors by default.
        cluster: address of a Dask scheduler, for a model by its name or file.
        device: where runs go: "cpu", or "cuda" for an NVIDIA card.
        reduce: what is kept of all runs together instead of a row for each: "min", "max", "mean",
            "variance", "quantiles", "histogram LOW HIGH BINS", and with their inputs "worst K", the
            greatest, and "least K". Memory does not grow with the number of runs then.
        progress: called with the number of runs that are done.
        more: as `parameters`, by their names.

    >>> found = sweep("pendulum", 1.0, L={"from": 0.5, "to": 1.5, "count": 3})
    >>> found["L"].tolist()
    [0.5, 1.0, 1.5]
    """
    if isinstance(model, os.PathLike):
        model = os.fspath(model)
    elif not isinstance(model, str | System):
        model = mechanism_of(model)
    if until is None:
        until = _own_end(model)
    count, first = _seeds(seeds, seed)
    plan = Plan(
        model if isinstance(model, str) else model.name,
        until,
        step,
        method,
        {n: _given(v) for n, v in {**(parameters or {}), **more}.items()},
        {n: _given(v) for n, v in (initial or {}).items()},
        {n: (k,) if isinstance(k, str) else tuple(k) for n, k in (channels or {}).items()},
        count,
        first,
        zip,
        every,
        tolerance,
        absolute=absolute,
        reduce=(reduce,) if isinstance(reduce, str) else tuple(reduce),
    )
    return run_sweep(
        checked(plan),
        None if folder is None else Path(folder),
        model=None if isinstance(model, str) else model,
        resume=resume,
        threads=threads,
        cluster=cluster,
        device=device,
        progress=progress,
    )


def _own_end(model: ModelLike) -> float:
    until = DEFAULTS.timed(own_times(mechanism_of(model))).until
    assert until is not None
    return until


def _seeds(seeds: Iterable[int] | int | None, seed: int) -> tuple[int, int]:
    """Return how many runs there are at each point, and the seed of all."""
    if seeds is None:
        return 1, seed
    if isinstance(seeds, int):
        return seeds, seed
    listed = list(seeds)
    if not listed or listed != list(range(listed[0], listed[0] + len(listed))):
        raise Error("seeds follow each other without a gap", remedy="give range(...), or a number")
    return len(listed), seed + listed[0]


def _given(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic | range):
        return np.asarray(value).tolist()
    return list(value) if isinstance(value, tuple) else value


def run_sweep(
    plan: Plan,
    folder: Path | None = None,
    *,
    model: Mechanism | System | None = None,
    resume: bool = False,
    force: bool = False,
    threads: int | None = None,
    cluster: str | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Sweep:
    """Carry out a plan."""
    if cluster is not None and model is not None:
        raise Error(
            "a cluster needs a model that its workers can read",
            remedy="give its name or its file; write_model makes one of a mechanism",
        )
    if folder is not None:
        extra("pyarrow.parquet", "plot")
    if model is None:
        source_of(plan.model)
    job = job_of(plan, model, device)
    about = _told(job, model is None)
    if plan.reduce:
        return _reduced(job, folder, about, resume, force, threads, cluster, device, progress)
    done = {} if folder is None else _begun(job, folder, about, resume, force)
    finished = sum(len(job.rows(part)) for part in done)
    tell = progress or (lambda _: None)
    tell(finished)
    missing = [part for part in range(job.parts) if part not in done]
    kept: dict[int, Columns] = {}
    kept_any = False
    for part, columns in _carried_out(job, missing, threads, cluster, device):
        if folder is not None:
            if not done and not kept_any:
                _open(folder, about)
                kept_any = True
            write_part(part_file(folder, part), columns)
        else:
            kept[part] = columns
        finished += len(job.rows(part))
        tell(finished)
    if folder is not None:
        return Sweep(job.plan, read_parts(job, folder), folder)
    return Sweep(job.plan, _joined([kept[part] for part in range(job.parts)]))


def _reduced(
    job: Job,
    folder: Path | None,
    about: Mapping[str, Any],
    resume: bool,
    force: bool,
    threads: int | None,
    cluster: str | None,
    device: str,
    progress: Progress | None,
) -> Sweep:
    """Carry out a plan whose runs are reduced; what is known is kept after each while."""
    known, place = ReducedParts(), None if folder is None else folder / REDUCED
    if folder is not None and place is not None:
        _begun(job, folder, about, resume, force)
        if resume and place.is_file():
            try:
                known = ReducedParts.from_data(parse_json(read_text(place, LARGEST)))
            except (ValueError, TypeError, KeyError, IndexError, AttributeError):
                raise InputError(
                    "what was reduced before cannot be read", file=place, remedy="use --force"
                ) from None
        elif not resume or not (folder / PLAN).is_file():
            _open(folder, about)
            place.unlink(missing_ok=True)
    tell, written = progress or (lambda _: None), time.monotonic()
    tell(min(known.parts * job.size, job.plan.count))

    def keep() -> None:
        if place is not None:
            write_text(place, json.dumps(known.as_data()) + "\n", replace=True)

    try:
        missing = range(known.parts, job.parts)
        for part, data in _carried_out(job, missing, threads, cluster, device):
            known.take(part, data)
            tell(min((known.parts + len(known.waiting)) * job.size, job.plan.count))
            if time.monotonic() - written > _WHILE:
                keep()
                written = time.monotonic()
    finally:
        if known.parts:
            keep()
    return Sweep(job.plan, {}, folder, known.columns, known.stopped)


def _carried_out(
    job: Job, missing: Sequence[int], threads: int | None, cluster: str | None, device: str
) -> Iterator[tuple[int, Any]]:
    """Yield parts as they are done."""
    if cluster is not None:
        from linkwright.sweeps.cluster import on_cluster

        text = json.dumps(job.plan.as_data(), sort_keys=True)
        source = source_of(job.plan.model)
        yield from on_cluster(cluster, text, missing, source.file, source.text, device)
        return
    for part in missing:
        yield part, part_of(job, part, threads, device)


def worker_part(
    text: str, part: int, file: str = "", content: str = "", device: str = "cpu"
) -> Any:
    """Carry out a part of a plan that comes as text, on one processor."""
    return part_of(known_job(text, file, content, device), part, threads=1, device=device)


# -- the folder ------------------------------------------------------------------------------------
def part_file(folder: Path, part: int) -> Path:
    """Return the file of a part.

    >>> part_file(Path("s"), 3).name
    'part-00003.parquet'
    """
    return folder / f"part-{part:05d}.parquet"


def _told(job: Job, by_name: bool) -> dict[str, Any]:
    """Return what a folder reports its sweep."""
    return {
        "plan": job.plan.as_data(),
        "model_hash": source_of(job.plan.model).digest if by_name else "",
        "part": job.size,
        "version": __version__,
    }


def _begun(
    job: Job, folder: Path, about: Mapping[str, Any], resume: bool, force: bool
) -> dict[int, Path]:
    """Return the parts that are there already; nothing is written yet."""
    told = folder / PLAN
    if folder.exists() and not folder.is_dir():
        raise InputError("this is a file, not a folder for a sweep", file=folder)
    try:
        there = sorted(folder.iterdir()) if folder.exists() else []
        if there and not told.is_file():
            raise InputError("the folder holds something else than a sweep", file=folder)
        if there and force:
            return {}
        if there:
            if not resume:
                raise InputError(
                    "the sweep was begun already",
                    file=folder,
                    remedy="use --resume to go on with it, or --force to start over",
                )
            _check_same(told, about)
    except OSError as error:
        raise InputError(f"the folder cannot be used: {error.strerror}", file=folder) from None
    return {
        part: part_file(folder, part)
        for part in range(job.parts)
        if is_whole(part_file(folder, part), len(job.rows(part)))
    }


def _open(folder: Path, about: Mapping[str, Any]) -> None:
    """Make the folder for the first part of a sweep; parts of an older one go.

    A plan that cannot be run leaves nothing behind, since nothing is written before.
    """
    told = folder / PLAN
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("part-*.parquet"):
            path.unlink()
    except OSError as error:
        raise InputError(f"the folder cannot be used: {error.strerror}", file=folder) from None
    write_text(told, json.dumps(about, indent=1) + "\n", replace=True)


def _check_same(told: Path, about: Mapping[str, Any]) -> None:
    try:
        old = parse_json(read_text(told, LARGEST))
    except ValueError:
        raise InputError("the plan of the sweep cannot be read", file=told) from None
    words = {"plan": "plan", "model_hash": "model", "part": "size of parts", "version": "version"}
    for key, what in words.items():
        if not isinstance(old, dict) or old.get(key) != about[key]:
            raise InputError(
                f"the sweep was begun with another {what}",
                file=told,
                remedy="take another folder, or use --force to start over",
            )


def is_whole(path: Path, rows: int) -> bool:
    """Whether a part is there with as many rows."""
    arrow, parquet = extra("pyarrow", "plot"), extra("pyarrow.parquet", "plot")
    try:
        return path.is_file() and bool(parquet.read_metadata(path).num_rows == rows)
    except (arrow.ArrowException, OSError):
        return False


def write_part(path: Path, columns: Columns) -> None:
    """Write a part, which is there as a whole or not at all."""
    arrow, parquet = extra("pyarrow", "plot"), extra("pyarrow.parquet", "plot")
    table = arrow.table({name: arrow.array(values) for name, values in columns.items()})
    write_with(path, lambda file: parquet.write_table(table, file), replace=True)


def read_parts(job: Job, folder: Path) -> Columns:
    """Return the columns of all parts in order."""
    parquet = extra("pyarrow.parquet", "plot")
    found = []
    for part in range(job.parts):
        table = parquet.read_table(part_file(folder, part))
        found.append({n: table.column(n).to_numpy() for n in table.column_names})
    return _joined(found)


def _joined(parts: Sequence[Columns]) -> Columns:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
