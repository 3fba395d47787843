"""Where the preference files of tasks are, and that tasks are recorded from their start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linkwright.base.errors import InputError, suggestion


def preference_file(lab: Any, name: str) -> Path:
    """Return the file that a task asks for: a path, or a name among the preferences."""
    given = Path(str(name)).expanduser()
    folder: Path | None = lab.config.preferences
    folders: list[Path | None] = [Path(), lab.folder, folder]
    for place in folders:
        if place is not None and (place / given).is_file():
            return place / given
    there = sorted(p.name for p in folder.iterdir() if p.is_file()) if folder else []
    raise InputError(
        f"there is no file {str(name)!r}",
        remedy=suggestion(
            given.name,
            there,
            f"the preferences have {', '.join(there)}" if there else "give the path of one",
        ),
    )


def recorded(lab: Any) -> None:
    """Start the recorder, unless it is at work already."""
    if not lab.recorder.active:
        lab.recorder.start()
