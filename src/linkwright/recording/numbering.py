"""Recordings by number: dNNNNN in a folder, and `last_data` with the last number.

A number is taken once, whatever the format and whoever else writes to the folder: it is chosen and
used while the folder is locked, and a file gets its name only where there is none.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from linkwright.base.errors import Error, InputError
from linkwright.base.files import locked_folder, write_text
from linkwright.recording.files import write_recording
from linkwright.recording.recording import Recording

LAST = "last_data"
"""The file with the last number."""

_TAKEN = re.compile(r"d(\d{5,})(\..*)?\Z")
_TRIES = 100


def save_next(
    folder: str | os.PathLike[str], recording: Recording, ending: str = "", *, timeout: float = 30.0
) -> Path:
    """Write a recording under the next number of a folder and return its path.

    Units: `timeout` in s.

    >>> import tempfile
    >>> from linkwright.recording import Channel
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     one = Recording([0.5, 1], [Channel("a", "m")], [[1], [2]])
    ...     [save_next(folder, one, ending).name for ending in ("", ".csv", "")]
    ['d00001', 'd00002.csv', 'd00003']
    """
    where = Path(folder)
    with locked_folder(where, timeout):
        last = where / LAST
        number = last_number(where)
        taken = {int(m[1]) for p in where.iterdir() if (m := _TAKEN.fullmatch(p.name))}
        for _ in range(_TRIES):
            number += 1
            while number in taken:
                number += 1
            target = where / f"d{number:05d}{ending}"
            try:
                write_recording(target, recording, replace=False)
                break
            except Error:
                if not target.exists():  # else one who asks for no lock has taken it meanwhile
                    raise
        else:
            raise InputError(f"{_TRIES} numbers were taken meanwhile", file=where)
        try:
            write_text(last, f"{number}\n", replace=True)
        except BaseException:
            for part in where.glob(f"d{number:05d}*"):  # ERD files have two
                part.unlink(missing_ok=True)
            raise
        return target


def last_number(folder: Path) -> int:
    """Return the number that `last_data` holds, 0 where there is none."""
    last = folder / LAST
    try:
        return int(last.read_text(encoding="ascii").split()[0]) if last.exists() else 0
    except (OSError, ValueError, IndexError):
        raise InputError("it does not hold a number", file=last, line=1) from None
