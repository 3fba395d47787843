"""Commands of the recorder: `scd` and its kin, `saveData`, `outMenu`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.base.errors import InputError
from linkwright.lab.console.table import Answer

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab


def start(lab: Lab) -> Answer:
    """Record."""
    lab.recorder.start()
    return _begun(lab, "recording")


def start_saved(lab: Lab) -> Answer:
    """Record, and save it at its end."""
    lab.recorder.start(save=True)
    return _begun(lab, "recording, to be saved")


def start_many(lab: Lab, count: int) -> Answer:
    """Record several times."""
    lab.recorder.start(save=True, repeat=count)
    return _begun(lab, f"{count} recordings, to be saved")


def start_later(lab: Lab, delay: float) -> Answer:
    """Record after a while."""
    lab.recorder.start(delay=delay)
    return _begun(lab, f"recording in {delay:g} s")


def stop(lab: Lab) -> Answer:
    """End the recording."""
    before = [*lab.recorder.recordings][-1:] if lab.recorder.active else []
    lab.recorder.stop()
    if [*lab.recorder.recordings][-1:] == before:
        return Answer("nothing was recorded")
    entry = lab.recorder.recordings[-1]
    return Answer(
        f"{entry.samples} samples of {entry.channels} variables, {entry.seconds:.3f} s",
        {"tick": entry.tick, "samples": entry.samples, "channels": entry.channels},
    )


def save(lab: Lab, file: str | None) -> Answer:
    """Save what was recorded."""
    target = None if file is None else lab.folder / file
    if target is not None and target.exists():
        raise InputError("the file exists already", file=target, remedy="choose another name")
    path = lab.recorder.save(target)
    return Answer(f"saved {path}", {"file": str(path)})


def configure(lab: Lab, rate: float, duration: float, script: str) -> Answer:
    """Set rate, duration and script."""
    lab.recorder.configure(rate=rate, duration=duration, script=script or None)
    names = list(lab.recorder.settings.names)
    return Answer(
        f"{rate:g} Hz, {duration:g} s, {len(names)} variables",
        {"rate": rate, "duration": duration, "names": names},
    )


def rate(lab: Lab) -> float:
    """Return the recorder's rate, Hz."""
    return float(lab.recorder.settings.rate)


def duration(lab: Lab) -> float:
    """Return the recorder's duration, s."""
    return float(lab.recorder.settings.duration)


def _begun(lab: Lab, words: str) -> Answer:
    data = {"rate": rate(lab), "duration": duration(lab)}
    return Answer(f"{words}: {data['rate']:g} Hz, {data['duration']:g} s", data)
