"""Running again what a recording holds, and comparing the two bit by bit.

Every recording holds the model (its name, the text of its file, or the mechanism written as text),
the parameters and starts that were given, and its settings, whichever way the run was started. On
the same machine with the same build, the same run has the same bits. While the System that ran is
at hand, as in the program that ran it, it is run itself.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from linkwright.base.errors import InputError
from linkwright.models.runner import USUAL, Request, run_model
from linkwright.models.sources import source_of
from linkwright.recording.comparison import BitComparison, compared
from linkwright.recording.files import open_stream, read_recording
from linkwright.recording.recording import Recording
from linkwright.recording.streams import Stream, stream_of
from linkwright.simulation.recorder import Progress
from linkwright.simulation.settings import RunSettings, settings_from
from linkwright.system import System


def rerun(
    source: Recording | str | os.PathLike[str],
    *,
    trust: bool = False,
    tasks: bool = False,
    progress: Progress | None = None,
) -> BitComparison:
    """Run again what a recording holds, and compare.

    >>> made = run_model(Request("pendulum", RunSettings(0.5))).recording
    >>> rerun(made).difference is None
    True
    """
    if not isinstance(source, Recording) and Path(source).suffix == ".toml":
        raise InputError(
            f"{source} is a cell or a model, and not the recording of one",
            remedy=f"make one with `linkwright simulate {source}`, or of a cell with "
            f"`linkwright cell serve {source} --record cell.parquet`",
        )
    stream = stream_of(source) if isinstance(source, Recording) else open_stream(Path(source))
    if "lab" in stream.metadata:  # laboratories and cells stand above this package
        from linkwright.base.hooks import rerun_laboratory

        again, notes = rerun_laboratory(stream, tasks=tasks, show=progress)
    elif "cell" in stream.metadata:
        from linkwright.base.hooks import rerun_cell

        again, notes = rerun_cell(stream, tasks=tasks, show=progress)
    else:
        recording = source if isinstance(source, Recording) else read_recording(source)
        again, notes = stream_of(_again(recording, trust, progress)), ()
    return _beside(stream, again, notes)


def _again(recording: Recording, trust: bool, progress: Progress | None) -> Recording:
    """Run a model as its recording says."""
    about = recording.metadata
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
        return _of_system(recording, settings, values, start)
    text = about.get("model_text")
    if (about.get("members") and not text and "model_hash" not in about) or "run" in about:
        what = f"members {', '.join(about['members'])}" if about.get("members") else "many runs"
        raise InputError(
            f"the recording is of a System with {what}, which is not at hand",
            remedy="call rerun(run.recording) in the program that built it",
        )
    return _of_model(about, settings, values, start, trust, progress)


def _of_system(
    recording: Recording, settings: RunSettings, values: Mapping[str, float], start: Any
) -> Recording:
    """Run a System that is at hand."""
    from linkwright.simulation.batches import simulate_batch
    from linkwright.simulation.runs import RunStopped, simulate

    about, names = recording.metadata, ("step", "method", "tolerance", "absolute", "every", "seed")
    how: dict[str, Any] = {name: getattr(settings, name) for name in names}
    how |= {"parameters": values, "initial": start, "record": about.get("record")}
    if "run" in about:
        number = int(about["run"])
        many = simulate_batch(recording.source, settings.until, runs=1, run_ids=[number], **how)
        return many.recording(0)
    how |= {"form": settings.form, "executor": settings.executor}
    try:
        return simulate(recording.source, settings.until, **how).recording
    except RunStopped as stopped:
        return stopped.run.recording


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
            **{n: about[n] for n in USUAL if type(about.get(n)) is type(USUAL[n])},
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


def _beside(old: Stream, new: Stream, notes: Iterable[str]) -> BitComparison:
    """Return a recording beside the same run that was made again."""
    about, said = old.metadata, list(notes)
    said += [
        f"{words}: {about.get(key, 'unknown')} then, {new.metadata.get(key, 'unknown')} now"
        for key, words in (("version", "version"), ("hash", "program"))
        if about.get(key) != new.metadata.get(key)
    ]
    known, now = (list(dict.fromkeys(c.name for c in s.channels)) for s in (old, new))
    if gone := [n for n in known if n not in now]:
        said.append(f"not recorded now: {', '.join(gone)}")
    ended = any(key in about for key in ("interrupted", "recovered", "given_up"))
    found = compared(old, new, [n for n in known if n in now], ended=ended)
    then, here = found.samples, found.others
    if ended and then < here:
        how = "was interrupted" if "interrupted" in about else "died"
        said.append(f"the run {how}; it was compared up to its last sample, t = {found.end:.9g} s")
    elif then != here:
        said.append(f"{then} samples then, {here} now")
    first = found.difference
    if first is not None and isinstance(about.get("tape"), Mapping):
        first = replace(first, tick=round(first.time / float(about["tape"]["tick"])))
    return replace(found, difference=first, notes=tuple(said))
