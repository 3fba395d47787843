"""Running again what a recording holds, and comparing the two bit by bit.

Every recording holds the model (its name, the text of its file, or the mechanism written as text),
the parameters and starts that were given, and its settings, whichever way the run was started. On
the same machine with the same build, the same run has the same bits. While the System that ran is
at hand, as in the program that ran it, it is run itself.
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
from linkwright.models.runner import Request, run_model
from linkwright.models.sources import source_of
from linkwright.recording.recording import Array, Recording
from linkwright.simulation.recorded import RecordedSession
from linkwright.simulation.recorder import Progress
from linkwright.simulation.settings import RunSettings, settings_from
from linkwright.system import System


@dataclass(frozen=True, slots=True)
class Difference:
    """The first value that differs; `tick` is the base tick, where the recording knows it."""

    time: float
    channel: str
    recorded: float
    again: float
    tick: int | None = None


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class Rerun:
    """A recording beside the run that was made again."""

    recording: Recording
    again: Recording
    difference: Difference | None
    largest: Mapping[str, float]
    notes: tuple[str, ...]


def rerun(
    recording: Recording,
    *,
    trust: bool = False,
    tasks: bool = False,
    progress: Progress | None = None,
) -> Rerun:
    """Run again what a recording holds, and compare.

    >>> made = run_model(Request("pendulum", RunSettings(0.5))).recording
    >>> rerun(made).difference is None
    True
    """
    about = recording.metadata
    if "lab" in about:  # which stands above this package
        from linkwright.hooks import rerun_session

        again: Rerun = rerun_session(recording, tasks=tasks, progress=progress)
        return again
    if about.get("live"):
        raise InputError(
            "the recording was made live, with a hand in it, so it cannot be run again",
            remedy="simulate the model with the parameters that it holds",
        )
    missing = [key for key in ("model", "until", "method", "every") if about.get(key) is None]
    if missing:
        raise InputError(
            f"the recording does not say its {', '.join(missing)}, so it cannot be run again",
            remedy="only recordings of runs can",
        )
    try:
        settings = settings_from(about)
        values, start = (
            {str(n): float(v) for n, v in dict(about.get(key, {})).items()}
            for key in ("set", "start")
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError("what the recording says of its run is damaged") from None
    if isinstance(recording.source, System):
        return compared(recording, _of_system(recording, settings, values, start))
    text = about.get("model_text")
    if (about.get("members") and not text and "model_hash" not in about) or "run" in about:
        what = f"members {', '.join(about['members'])}" if about.get("members") else "many runs"
        raise InputError(
            f"the recording is of a System with {what}, which is not at hand",
            remedy="call rerun(run.recording) in the program that built it",
        )
    return compared(recording, _of_model(about, settings, values, start, trust, progress))


def _of_system(
    recording: Recording, settings: RunSettings, values: Mapping[str, float], start: Any
) -> Recording:
    """Run a System that is at hand."""
    from linkwright.simulation.batches import simulate_batch
    from linkwright.simulation.runs import give, metadata_of, session_of

    system, about = recording.source.copy(), recording.metadata
    record = about.get("record")
    if "run" in about:
        number = int(about["run"])
        many = simulate_batch(
            system,
            settings.until,
            runs=1,
            step=settings.step,
            method=settings.method,
            tolerance=settings.tolerance,
            absolute=settings.absolute,
            every=settings.every,
            values=values,
            initial=start,
            record=record,
            seed=settings.seed,
            numbers=[number],
        )
        return many.recording(0)
    give(system, start, values)
    session, settings = session_of(system, settings, record)
    about = metadata_of(system, session.phases, settings)
    return RecordedSession(session, settings, about).finished().recording


def _of_model(
    about: Mapping[str, Any],
    settings: RunSettings,
    values: Mapping[str, float],
    start: Mapping[str, float],
    trust: bool,
    progress: Progress | None,
) -> Recording:
    """Run a model that the recording names or holds as text."""
    origin = about.get("origin", {})
    named = "model_hash" in about  # by the command, which notes all that it needs
    text = str(about.get("model_text", "") if named else origin.get("text", ""))
    model = str(origin.get("model", "") or about.get("model", ""))

    def again(name: str) -> Recording:
        known = about.get("model_hash")
        if known is not None and source_of(name).digest != known:
            raise InputError(
                f"{name} is not what it was when this was recorded", remedy="take the old file"
            )
        request = Request(
            name,
            settings,
            values,
            start,
            trust=trust,
            reactions=bool(about.get("reactions") is True),
            ground=bool(about.get("ground", False)),
            limits=about.get("limits") is not False,
            base=str(about.get("base", "file")),
        )
        return run_model(request, progress=progress).recording

    if not text:
        if not model and not origin.get("file"):
            raise InputError(
                f"the recording does not hold its model: {origin.get('why', 'nothing is said')}",
                remedy="run the model again by hand",
            )
        return again(str(about["model"]) if "model_hash" in about else origin.get("file") or model)
    file = Path(str(about.get("model_file", "") or origin.get("file", "") or "model.toml")).name
    with tempfile.TemporaryDirectory(prefix="linkwright-") as folder:
        path = Path(folder) / file
        path.write_text(text, encoding="utf-8", newline="")
        options = str(about.get("model", "")).rpartition(file)[2] if "model_file" in about else ""
        if not named and file.endswith(".toml") and origin.get("options"):
            options = ":" + ",".join(f"{k}={v}" for k, v in origin["options"].items())
        return again(f"{path}{options}")


def compared(old: Recording, new: Recording) -> Rerun:
    """Return two recordings of the same run beside each other.

    >>> from linkwright.recording import Channel
    >>> made = Recording([0, 1], [Channel("x")], [[1.0], [2.0]])
    >>> other = Recording([0, 1], [Channel("x")], [[1.0], [2.5]])
    >>> compared(made, other).difference
    Difference(time=1.0, channel='x', recorded=2.0, again=2.5, tick=None)
    """
    rows = min(len(old), len(new))
    ended = any(key in old.metadata for key in ("interrupted", "recovered", "given_up"))
    if ended and rows and old.times[rows - 1] != new.times[rows - 1]:
        rows -= 1  # where it was interrupted, which is no sample of the whole run
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
    return Rerun(old, new, difference, largest, tuple(notes))


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
