"""Recordings of any length: the tape is a table, only rows grow, and what is kept is true."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwright.base.errors import InputError
from linkwright.blocks import Block
from linkwright.models.rerun import rerun
from linkwright.recording import Recording, files, parquet, read_recording, streams
from linkwright.recording.tables import read_csv, write_csv
from linkwright.server.cell_file import read_cell
from linkwright.server.face import Command
from linkwright.server.virtual import VirtualCell
from linkwright.simulation.native.session import Samples, Session
from linkwright.simulation.pacing import LoopRecorder, PacedLoop, replay, tape_of
from linkwright.simulation.recorder import Target
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from linkwright.system import System


def session() -> Session:
    """Return a run that adds up its input, at 1000 Hz."""
    system, block = System(name="recorded", base=1000), Block("block", rate=1000)
    n = block.discrete_state("n")
    block.update(n, n + block.input("u"))
    block.output("y", n)
    system.add(block, name="block")
    return session_of(system, RunSettings(1e7, method="rk4", every=1))[0]


def recorded(path: Path, ticks: int) -> Path:
    """Record as many ticks as if they had run, with a change at each."""
    live = session()
    recorder, loop = LoopRecorder(live, Target(path)), PacedLoop(live, clock="virtual")
    place = live.tape_names.index("block.u")
    u = np.random.default_rng(1).integers(-9, 9, ticks).astype(float)
    u[0] = 0.0
    y = np.concatenate([[0.0], np.cumsum(u)[:-1]])
    for first in range(0, ticks, 5000):
        k = np.arange(first, min(first + 5000, ticks))
        now = k[np.flatnonzero(u[k] != np.concatenate([[0.0], u])[k])]
        changes = np.stack([now, np.full(len(now), place), u[now].view(np.int64)], axis=1)
        recorder.take(changes, Samples(("block.y",), k / 1000, y[k, None]))
    loop.tape_end = lambda: ticks - 1  # type: ignore[method-assign]
    recorder.finish(loop)
    return path


def _metadata(path: Path) -> dict[bytes, bytes]:
    from pyarrow import parquet as arrow

    found: dict[bytes, bytes] = arrow.read_metadata(path).metadata
    return found


def test_the_metadata_of_a_recording_do_not_grow_with_its_ticks(tmp_path: Path) -> None:
    """PyArrow reads no text of more than 100 MB: 5.8 minutes of two arms, once."""
    paths = [recorded(tmp_path / f"{n}.parquet", n) for n in (1000, 200_000)]
    few, many = (_metadata(path) for path in paths)
    assert {k: len(v) for k, v in few.items()} == {k: len(v) for k, v in many.items()}
    made = read_recording(paths[1])
    assert len(made) == 200_000
    tape = tape_of(read_recording(paths[0]))
    again = replay(session(), tape).samples.values
    assert np.array_equal(again, read_recording(paths[0]).data)
    assert not list(tmp_path.glob("*.journal"))


def test_a_journal_stays_where_the_recording_reads_back_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(path: Path, recording: Recording, replace: bool) -> None:
        data = recording.data.copy()
        data[7, 0] += 1
        write_csv(path, Recording(recording.times, recording.channels, data), replace)

    monkeypatch.setitem(files.FORMATS, ".csv", files.FileFormat("text", read_csv, careless))
    with pytest.raises(
        InputError, match=r"block\.y of sample 7 .* but its samples are in .*journal"
    ):
        recorded(tmp_path / "run.csv", 20)
    assert len(read_recording(tmp_path / "run.csv.journal")) == 20


@pytest.mark.parametrize("rows", [64, 1000])
def test_a_cell_is_replayed_in_parts_from_a_file_of_any_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """In files of older versions the tape lies in the metadata."""
    for module in (streams, parquet):
        monkeypatch.setattr(module, "ROWS", rows)
    path, old = tmp_path / "cell.parquet", tmp_path / "old.parquet"
    cell = VirtualCell(read_cell("axes2"), record=Target(path))
    cell.advance(10)
    cell.command("plane", Command("enable", 1))
    for k in range(4):
        cell.advance(100)
        cell.command("plane", Command("joints", 2 + k, (0.1 * k, 0.5), blend=0.1))
    cell.advance(300)
    cell.finish()
    found = rerun(path)
    assert (found.difference, found.samples) == (None, 711)
    made = read_recording(path)
    from pyarrow import parquet as arrow

    table: Any = arrow.read_table(path).drop_columns(["linkwright.tape"])
    about = json.loads(table.schema.metadata[b"linkwright"])
    about["metadata"]["attached"] = made.metadata["attached"]
    table = table.replace_schema_metadata({"linkwright": json.dumps(about)})
    arrow.write_table(table, old)
    assert rerun(old).difference is None
    other = made.data.copy()
    other[500, 3] += 1
    Recording(made.times, made.channels, other, made.metadata).save(path)
    assert f"{made.names[3]} of sample 500 was" in str(rerun(path).difference)
