"""Running again what a recording holds, and comparing the two bit by bit.

A recording of `linkwright simulate` holds the model (its name, or the text of its file), the
parameters and starts that were given, method, step and seed. On the same machine with the same
build, the same run has the same bits.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.brief import one_line
from linkwright.errors import InputError
from linkwright.recording.recording import Array, Recording
from linkwright.simulation.settings import RunSettings
from linkwright.studies.recorder import Progress
from linkwright.studies.running import Finished, Request, run_model
from linkwright.studies.sources import source_of

_NEEDED = ("model", "until", "step", "method", "every")


@dataclass(frozen=True, slots=True)
class Difference:
    """The first value that differs."""

    time: float
    channel: str
    recorded: float
    again: float


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """A recording beside the run that was made again."""

    recording: Recording
    again: Recording
    difference: Difference | None
    largest: Mapping[str, float]
    notes: tuple[str, ...]


def replay(
    recording: Recording, *, trust: bool = False, progress: Progress | None = None
) -> Replayed:
    """Run again what a recording holds, and compare.

    Args:
        trust: whether C and Python code in the model that it holds may be run.

    >>> made = run_model(Request("pendulum", RunSettings(0.5))).recording
    >>> replay(made).difference is None
    True
    """
    about = recording.metadata
    missing = [key for key in _NEEDED if about.get(key) is None]
    if missing:
        raise InputError(
            f"the recording does not say its {', '.join(missing)}, so it cannot be run again",
            remedy="only recordings of `linkwright simulate` can",
        )
    text = str(about.get("model_text", ""))
    if not text:
        return _compared(recording, _again(about, str(about["model"]), trust, progress))
    name = Path(str(about.get("model_file", "model.toml"))).name
    with tempfile.TemporaryDirectory(prefix="linkwright-") as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8", newline="")
        options = str(about["model"]).rpartition(name)[2]
        return _compared(recording, _again(about, f"{path}{options}", trust, progress))


def _again(
    about: Mapping[str, Any], model: str, trust: bool, progress: Progress | None
) -> Finished:
    try:
        request = Request(
            model,
            RunSettings(
                float(about["until"]),
                float(about["step"]),
                str(about["method"]),
                float(about.get("tolerance", RunSettings().tolerance)),
                every=int(about["every"]),
                seed=int(about.get("seed", 0)),
            ),
            {str(n): float(v) for n, v in dict(about.get("set", {})).items()},
            {str(n): float(v) for n, v in dict(about.get("start", {})).items()},
            trust=trust,
            reactions=bool(about.get("reactions", False)),
            ground=bool(about.get("ground", False)),
            limits=about.get("limits") is not False,
            base=str(about.get("base", "file")),
        )
    except (TypeError, ValueError, OverflowError):
        raise InputError("what the recording says of its run is damaged") from None
    known = about.get("model_hash")
    if known is not None and source_of(model).digest != known:
        raise InputError(
            f"{model} is not what it was when this was recorded", remedy="take the old file"
        )
    return run_model(request, progress=progress)


def _compared(old: Recording, finished: Finished) -> Replayed:
    new = finished.recording
    rows = min(len(old), len(new))
    ended = any(key in old.metadata for key in ("interrupted", "recovered"))
    notes = [
        f"{words}: {old.metadata.get(key, 'unknown')} then, {new.metadata.get(key, 'unknown')} now"
        for key, words in (("version", "version"), ("hash", "program"))
        if old.metadata.get(key) != new.metadata.get(key)
    ]
    shared = [n for n in old.names if n in new]
    gone = [n for n in old.names if n not in new]
    notes += [f"not recorded now: {', '.join(gone)}"] if gone else []
    difference = None
    if ended and len(old) < len(new):
        t = float(old.times[-1]) if len(old) else 0.0
        how = "was interrupted" if "interrupted" in old.metadata else "died"
        notes.append(f"the run {how}; it was compared up to its last sample, t = {t:.9g} s")
    elif len(old) != len(new):
        longer = old if len(old) > len(new) else new
        t = float(longer.times[rows])
        difference = Difference(t, "", len(old), len(new))
        notes.append(f"{len(old)} samples then, {len(new)} now")
    largest: dict[str, float] = {}
    first = rows
    for name, a, b in _pairs(old, new, shared, rows):
        wrong = np.flatnonzero(~_same(a, b))
        if not len(wrong):
            continue
        with np.errstate(invalid="ignore"):
            largest[name or "t"] = float(np.nanmax(np.abs(a - b)[wrong], initial=0.0))
        k = int(wrong[0])
        if k < first:
            first = k
            difference = Difference(float(old.times[k]), name, float(a[k]), float(b[k]))
    return Replayed(old, new, difference, largest, tuple(notes))


def _pairs(
    old: Recording, new: Recording, names: list[str], rows: int
) -> list[tuple[str, Array, Array]]:
    pairs = [("", old.times[:rows], new.times[:rows])]
    return pairs + [(n, old[n][:rows], new[n][:rows]) for n in names]


def _same(a: Array, b: Array) -> NDArray[np.bool_]:
    """Whether two arrays have the same bits, any NaN being like another."""
    bits = np.ascontiguousarray(a).view(np.int64) == np.ascontiguousarray(b).view(np.int64)
    same: NDArray[np.bool_] = bits | (np.isnan(a) & np.isnan(b))
    return same
