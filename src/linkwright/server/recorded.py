"""Recordings of cells, and their replay: the same bits from the tape.

A recording of a cell holds its channels at every tick, the text of its `cell.toml` and the tape:
every change of an input with its tick, whoever it came from. A live cell's tape holds what its
device reported too, so that its control is replayed without the device; a virtual cell is replayed
whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.recording.streams import Stream, StreamPart, changes_of
from linkwright.server.cell import Cell
from linkwright.server.cell_file import read_cell
from linkwright.server.cell_system import (
    control_system,
    device_commands,
    session_of_cell,
    state_fields,
    whole_system,
)
from linkwright.simulation.native.session import Samples, Session
from linkwright.simulation.native.stored import Tell
from linkwright.simulation.pacing import LoopRecorder, PacedLoop, Show
from linkwright.simulation.pacing.replay import followed
from linkwright.simulation.pacing.tape import StoredTape, stored_tape
from linkwright.simulation.recorder import Target


def control_session(cell: Cell, every: int, tell: Tell | None = None) -> Session:
    """Return the control of a cell at its start, with the channels that are recorded."""
    shared = (*state_fields(cell), *device_commands(cell))
    names = [name for x in shared for name in x.sources]
    return session_of_cell(cell, control_system, every=every, record=names, tell=tell)


def whole_session(cell: Cell, every: int, tell: Tell | None = None) -> Session:
    """Return a cell with its simulated hardware at its start, as `control_session` does."""
    names = [name for x in (*state_fields(cell), *device_commands(cell)) for name in x.sources]
    return session_of_cell(cell, whole_system, every=every, record=names, tell=tell)


_SESSIONS = {"live": control_session, "virtual": whole_session}


def recorder_of(cell: Cell, session: Session, target: Target, kind: str) -> LoopRecorder:
    """Return what takes a run of a cell to a file."""
    about = {"model": cell.name, "cell": {"kind": kind, "text": cell.text, "file": cell.file}}
    return LoopRecorder(session, target, about)


def hourly_bytes(cell: Cell, session: Session) -> tuple[float, float]:
    """Return how much an hour of a live cell takes in its journal, while it stands and moves.

    >>> cell = read_cell("axes2")
    >>> still, moving = hourly_bytes(cell, control_session(cell, 1))
    >>> round((moving - still) / 1e6)
    259
    """
    row = 8 * (1 + len(session.phases.outputs))  # time and channels
    change = 24  # of an input, on the tape: tick, place, value
    still = row + change * len(cell.arms)  # the ticks of the device
    moving = still + change * 3 * cell.axes  # and positions, speeds and currents
    return still * cell.rate * 3600, moving * cell.rate * 3600


def run_again(
    stream: Stream, *, tasks: bool = False, show: Show | None = None
) -> tuple[Stream, Sequence[str]]:
    """Run a recorded cell again in virtual time, in little memory; with what is to be said."""
    del tasks  # a cell has none
    about = stream.metadata.get("cell")
    if not isinstance(about, Mapping) or about.get("kind") not in _SESSIONS:
        raise InputError(
            "this is not the recording of a cell", remedy="linkwright cell serve --record"
        )
    cell = read_cell(str(about["file"] or about["text"]))
    if cell.text != about["text"]:
        raise InputError(
            f"{about['file']} has changed since this was recorded",
            remedy="replay it with the file as it was",
        )
    session, tape = _SESSIONS[about["kind"]](cell, 1), stored_tape(stream)
    missing = round(tape.span * cell.rate) + 1 - tape.samples if tape.samples else 0
    times = (part.times for part in stream.parts())
    again = Stream(stream.metadata, stream.channels, lambda: replayed(session, tape, times, show))
    return again, [f"{missing} ticks were not recorded"] if missing else []


class _Kept(list[StreamPart]):
    """Keeps what a loop leaves."""

    def take(self, changes: NDArray[np.int64], samples: Samples) -> None:
        """Keep the samples."""
        del changes
        self.append(StreamPart(samples.times, samples.values, changes_of(b"")))


def replayed(
    session: Session,
    tape: StoredTape,
    times: Iterator[NDArray[np.float64]],
    show: Show | None = None,
) -> Iterator[StreamPart]:
    """Run a session along a tape, and yield its samples at the times that were recorded."""
    kept, wanted = _Kept(), np.empty(0)
    loop = PacedLoop(
        session, clock="virtual", stride=tape.stride, waits=tape.waits, taped=True, sink=kept
    )
    for _ in chain(followed(loop, tape, show=show), (None,)):
        for at, data, changes in kept:
            while len(at) and not (len(wanted) and wanted[-1] >= at[-1]):
                if (more := next(times, None)) is None:
                    break
                wanted = np.concatenate([wanted, more])
            there = np.isin(at, wanted)
            yield StreamPart(at[there], data[there], changes)
            wanted = wanted[wanted > at[-1]] if len(at) else wanted
        kept.clear()
