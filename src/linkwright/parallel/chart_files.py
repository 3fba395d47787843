"""Charts on the disk: tables, pictures, and large ones in parts, which go on after a kill.

A folder holds the plan and, for each part, one Parquet file of its poses and one of the ends of its
lines, each written under another name and renamed when it is whole, as those of a sweep are.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.base.files import LARGEST, parse_json, path_of, read_text, write_text, write_with
from linkwright.base.optional import extra
from linkwright.parallel.chart_engine import CAUSES, NO_SOLUTION, ChartEngine
from linkwright.parallel.chart_parts import ComputedPart, computed_parts, parts_of
from linkwright.parallel.chart_space import Array
from linkwright.sweeps.sweep import is_whole, part_file, write_part
from linkwright.version import __version__

if TYPE_CHECKING:
    from linkwright.parallel.charts import Chart

PLAN = "_chart.json"
TABLES = (".csv", ".parquet")
_ROWS = 2**18  # that are turned into text or a row group at once


def charted_in(folder: Path, engine: ChartEngine, *, resume: bool, threads: int) -> Chart:
    """Compute a chart part by part into a folder, and return it; its columns stay there."""
    from linkwright.parallel.charts import finished

    extra("pyarrow.parquet", "plot")
    _begin(folder, _plan(engine), resume)
    space, parts = engine.space, parts_of(engine)
    places = len(space.axes[-1])
    ends, causes = np.empty((space.lines, 2)), np.empty((space.lines, 2), dtype=np.int8)

    def there(number: int) -> NDArray[np.bool_] | None:
        """Return what closed in a part that is written, unless more of it closed from beside it."""
        first, last = parts[number]
        told = _read_ends(folder, number, last - first)
        file = part_file(folder, number)
        if told is None or told[2].any() or not is_whole(file, (last - first) * places):
            return None
        ends[first:last], causes[first:last] = told[:2]
        reach = extra("pyarrow.parquet", "plot").read_table(file, columns=["reach"])
        return np.asarray(reach.column(0).to_numpy() != NO_SOLUTION).reshape(last - first, places)

    for made in computed_parts(engine, threads, there):
        _write(folder, engine, made, ends, causes)
    stored = StoredColumns(folder, ("reach", "bound", *engine.columns), len(parts), space.shape)
    return finished(engine, stored, ends, causes, folder)


def _write(
    folder: Path,
    engine: ChartEngine,
    made: ComputedPart,
    ends: Array,
    causes: NDArray[np.int8],
) -> None:
    """Write a part of a chart, or what has changed in it, and keep the ends of its lines."""
    ends[made.ended], causes[made.ended] = made.ends, made.causes
    (lower, upper), (why_lower, why_upper) = ends[made.lines].T, causes[made.lines].T
    write_part(
        _ends_file(folder, made.number),
        {
            "lower": lower, "upper": upper,
            "lower_cause": why_lower, "upper_cause": why_upper,
            "filled": made.filled,
        },
    )  # fmt: skip
    file, columns = part_file(folder, made.number), made.columns
    if made.places is not ...:
        table = extra("pyarrow.parquet", "plot").read_table(file)
        columns = {}
        for name, values in made.columns.items():
            there = table.column(_stored(engine, name)).to_numpy()
            columns[name] = there.reshape(len(made.filled), -1).copy()
            columns[name][made.places] = values
    write_part(file, _with_axes(engine, made.lines, columns))


def _stored(engine: ChartEngine, column: str) -> str:
    """Return the name of a column beside those of the axes."""
    return f"{column} of joint" if column in (a.name for a in engine.space.axes) else column


def _with_axes(
    engine: ChartEngine, lines: slice, columns: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Return the columns of a part as rows, the values of the axes before them."""
    space = engine.space
    along = space.axes[-1]
    made: dict[str, NDArray[Any]] = {
        name: np.repeat(values, len(along))
        for name, values in space.line_values(np.arange(lines.start, lines.stop)).items()
    }
    made[along.name] = np.tile(along.values, lines.stop - lines.start)
    for name, values in columns.items():
        made[_stored(engine, name)] = np.ascontiguousarray(values).reshape(-1)
    return made


class StoredColumns(Mapping[str, NDArray[Any]]):
    """The columns of a chart in a folder, each read when it is asked for."""

    def __init__(
        self, folder: Path, names: tuple[str, ...], parts: int, shape: tuple[int, ...]
    ) -> None:
        self._folder, self._names, self._parts, self._shape = folder, names, parts, shape

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._names:
            raise KeyError(name)
        parquet = extra("pyarrow.parquet", "plot")
        found = []
        for number in range(self._parts):
            table = parquet.read_table(part_file(self._folder, number), columns=[name])
            found.append(table.column(0).to_numpy())
        return np.concatenate(found).reshape(self._shape)


def _ends_file(folder: Path, number: int) -> Path:
    return folder / f"ends-{number:05d}.parquet"


def _read_ends(
    folder: Path, number: int, lines: int
) -> tuple[Array, NDArray[np.int8], NDArray[np.int32]] | None:
    path = _ends_file(folder, number)
    if not is_whole(path, lines):
        return None
    table = extra("pyarrow.parquet", "plot").read_table(path)
    lower, upper, one, two, filled = (table.column(k).to_numpy() for k in range(5))
    return np.stack([lower, upper], axis=1), np.stack([one, two], axis=1), filled


def _plan(engine: ChartEngine) -> dict[str, Any]:
    """Return what the parts of a chart depend on."""
    sink = hashlib.blake2b(digest_size=16)
    for made in (engine.closing.program, engine.program):
        sink.update(made.fingerprint().encode())
    for numbers in (*engine.fixed, engine.start, *(a.values for a in engine.space.axes)):
        sink.update(np.ascontiguousarray(numbers, dtype=float).tobytes())
    sink.update(repr(sorted(engine.space.fixed.items())).encode())
    return {
        "chart": engine.machine.mechanism.name,
        "axes": {a.name: [float(a.values[0]), float(a.values[-1]), len(a)]
                 for a in engine.space.axes},
        "of": list(engine.of),
        "digest": sink.hexdigest(),
        "version": __version__,
    }  # fmt: skip


def _begin(folder: Path, plan: Mapping[str, Any], resume: bool) -> None:
    """Make the folder, or see that it holds parts of the same chart."""
    told = folder / PLAN
    try:
        there = folder.is_dir() and any(folder.iterdir())
        if folder.exists() and not folder.is_dir():
            raise InputError("this is a file, not a folder for a chart", file=folder)
        if there and not told.is_file():
            raise InputError("the folder holds something else than a chart", file=folder)
        if there and not resume:
            raise InputError(
                "the chart was begun already", file=folder, remedy="resume it: resume=True"
            )
        if there:
            try:
                old = parse_json(read_text(told, LARGEST))
            except ValueError:
                raise InputError("the plan of the chart cannot be read", file=told) from None
            if old != plan:
                raise InputError(
                    "the chart was begun with another machine, other axes or other quantities",
                    file=told,
                    remedy="take another folder",
                )
            return
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder cannot be used: {error.strerror}", file=folder) from None
    write_text(told, json.dumps(plan, indent=1) + "\n", replace=True)


# -- single files ----------------------------------------------------------------------------------
def checked_target(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file that a chart can be written to; another ending is an error."""
    from linkwright.recording.plots import ENDINGS

    target = path_of(path)
    if target.suffix.lower() not in (*TABLES, *ENDINGS):
        raise InputError(
            f"a chart is not written as {target.suffix!r}",
            file=target,
            remedy=f"end the name with one of {', '.join((*TABLES, *ENDINGS))}",
        )
    return target


def save(
    chart: Chart, path: str | os.PathLike[str], of: str | None, *, replace: bool = True
) -> Path:
    """Write a chart as a table or a picture, by the ending of the name."""
    target = checked_target(path)
    ending = target.suffix.lower()
    if ending == ".csv":
        write_with(target, lambda file: _write_csv(chart, file), replace=replace)
    elif ending == ".parquet":
        write_with(target, lambda file: _write_parquet(chart, file), replace=replace)
    else:
        from linkwright.recording.plots import save_figure

        save_figure(target, chart.plot(of), replace=replace)
    return target


def _tables(chart: Chart) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield the rows of a chart in pieces."""
    columns = {name: np.asarray(chart[name]).reshape(-1) for name in chart.columns}
    count = int(np.prod(chart.shape, dtype=np.int64))
    for first in range(0, count, _ROWS):
        rows = np.arange(first, min(first + _ROWS, count))
        places = np.unravel_index(rows, chart.shape)
        made: dict[str, NDArray[Any]] = {
            a.name: a.shown(a.values[i]) for a, i in zip(chart.axes, places, strict=True)
        }
        for name, values in columns.items():
            made[f"{name} of joint" if name in made else name] = values[rows]
        yield made


def _write_csv(chart: Chart, file: Any) -> None:
    """Write a table; the cause is written in words, and a broken bound by its name."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text)
    for number, table in enumerate(_tables(chart)):
        if not number:
            units = {a.name: a.shown_unit for a in chart.axes} | dict(chart.units)
            writer.writerow([f"{n} ({units[n]})" if units.get(n) else n for n in table])
        words: dict[str, list[str]] = {n: [repr(x) for x in v.tolist()] for n, v in table.items()}
        words["reach"] = [CAUSES[k] for k in table["reach"]]
        words["bound"] = ["" if k < 0 else chart.bounds[k] for k in table["bound"]]
        writer.writerows(zip(*words.values(), strict=True))
    text.flush()
    text.detach()


def _write_parquet(chart: Chart, file: Any) -> None:
    arrow, parquet = extra("pyarrow", "plot"), extra("pyarrow.parquet", "plot")
    about = {"causes": list(CAUSES), "bounds": list(chart.bounds), **chart.as_dict()}
    writer = None
    try:
        for table in _tables(chart):
            made = arrow.table({n: arrow.array(v) for n, v in table.items()})
            if writer is None:
                made = made.replace_schema_metadata({"linkwright chart": json.dumps(about)})
                writer = parquet.ParquetWriter(file, made.schema)
            writer.write_table(made.replace_schema_metadata(writer.schema.metadata))
    finally:
        if writer is not None:
            writer.close()
