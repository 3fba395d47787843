"""The table `origin` of a recording: what moved, written so that it can be drawn later.

In memory a recording keeps the thing itself (`Recording.of`) and whole paths. In a file there is
plain data (`linkwright.formats.origins`), and the path of a robot file is relative to the folder of
the recording, so that the two can be moved together and nothing of the machine is reported.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from linkwright.recording.recording import Recording
from linkwright.recording.transfer import with_origin

KEY = "origin"
FOLDER = "folder"
"""In the table, in memory alone: the folder of the file that the recording was read from."""


def to_be_written(recording: Recording, folder: Path) -> Recording:
    """Return a recording as a file in a folder holds it: with an origin, its paths relative."""
    about = with_origin(recording.metadata, recording.source)
    return recording.with_metadata(with_relative_paths(about, folder))


def to_be_sent(recording: Recording) -> Recording:
    """Return a recording to be sent away: a robot file is named without its folders."""
    about = with_origin(recording.metadata, recording.source)
    origin = about.get(KEY)
    if isinstance(origin, Mapping) and isinstance(origin.get("file"), str):
        about[KEY] = {**origin, "file": Path(origin["file"]).name}
    return recording.with_metadata(about)


def with_relative_paths(about: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what is known of a recording with the path of a robot file relative to a folder.

    >>> told = with_relative_paths(
    ...     {"origin": {"file": "/robots/arm.urdf"}}, Path("/robots/runs")
    ... )
    >>> told["origin"]["file"]
    '../arm.urdf'
    """
    origin = about.get(KEY)
    if not isinstance(origin, Mapping):
        return dict(about)
    kept = {k: v for k, v in origin.items() if k != FOLDER}
    file = kept.get("file")
    if not isinstance(file, str) or not Path(file).is_absolute():
        return {**about, KEY: kept}
    try:
        path = Path(os.path.relpath(file, folder.resolve())).as_posix()
    except (OSError, ValueError):  # on another drive
        path = Path(file).name
    return {**about, KEY: {**kept, "file": path}}


def as_read(recording: Recording, folder: Path) -> Recording:
    """Return a recording from a file, with the path of a robot file made whole, and its folder.

    Nothing is opened here: whoever does has to see that the path may be read.
    """
    origin = recording.metadata.get(KEY)
    file = origin.get("file") if isinstance(origin, Mapping) else None
    if not isinstance(origin, Mapping):
        return recording
    info = {**origin, FOLDER: str(folder.absolute())}
    if isinstance(file, str) and "\0" not in file:
        info["file"] = os.path.normpath(folder.absolute() / file)
    return recording.with_metadata({**recording.metadata, KEY: info})
