"""Cells that run on this machine, by name: where a client finds them.

Each cell has a file in a folder that belongs to the user and that nobody else may enter. The cell's
process holds a lock on it while it runs, so that a file whose process died counts for nothing.

Setting, from the environment: `LINKWRIGHT_RUNTIME_DIR` (the folder; otherwise `linkwright` in
`XDG_RUNTIME_DIR`, or `linkwright-<user>` in the folder of temporary files).
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from linkwright.base.errors import InputError, suggestion
from linkwright.base.files import own_folder, parse_json
from linkwright.server.access import check_name

VARIABLE = "LINKWRIGHT_RUNTIME_DIR"
_LARGEST = 1 << 16  # bytes of an entry
_ATTEMPTS, _PAUSE = 10, 0.01  # s


@dataclass(frozen=True, slots=True)
class Running:
    """A cell that runs."""

    name: str  # of the cell
    endpoint: str  # where it listens
    process: int  # number of its process


class CellEntry:
    """The file of a running cell; it is gone when it is closed, and void when its process dies."""

    def __init__(self, running: Running, kind: str = "cell") -> None:
        folder = runtime_folder()
        self._kind = kind
        self._path = folder / f"{check_name(running.name, f'a {kind}')}.{kind}"
        self._file: IO[str] | None = self._locked(running.name)
        self._file.truncate()
        self._file.write(json.dumps(asdict(running)))
        self._file.flush()

    def _locked(self, name: str) -> IO[str]:
        """Open the file and lock it; a client that looks at it just now is waited for."""
        found = None
        for _ in range(_ATTEMPTS):
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
            file = os.fdopen(descriptor, "r+", encoding="utf-8")
            if _lock(file, alone=True):
                with suppress(OSError):  # gone: another process has just closed its entry
                    if self._path.stat().st_ino == os.fstat(descriptor).st_ino:
                        return file
            found = _read(file)
            file.close()
            time.sleep(_PAUSE)
        raise InputError(
            f"a {self._kind} called {name!r} runs already"
            + (f", process {found.process}" if found else ""),
            remedy="give this one another name, or end that one",
        )

    def close(self) -> None:
        """Take the cell out; a second time does nothing."""
        if self._file is not None:
            with suppress(OSError):
                self._path.unlink()
            self._file.close()
            self._file = None


def runtime_folder() -> Path:
    """Return the user's folder for what lives no longer than its processes; made where missing."""
    given, session = os.environ.get(VARIABLE, ""), os.environ.get("XDG_RUNTIME_DIR", "")
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    if given:
        folder = Path(given)
    elif session and Path(session).is_dir():
        folder = Path(session) / "linkwright"
    else:
        folder = Path(tempfile.gettempdir()) / f"linkwright-{user}"
    return own_folder(folder, f"set {VARIABLE}")


def running_cells(kind: str = "cell") -> dict[str, Running]:
    """Return the cells that run on this machine, by name."""
    found = {}
    for path in sorted(runtime_folder().glob(f"*.{kind}")):
        with suppress(OSError), path.open(encoding="utf-8") as file:
            if not _lock(file, alone=False):  # its process holds it
                running = _read(file)
                if running is not None:
                    found[running.name] = running
    return found


_STARTS = {"cell": "linkwright cell serve", "lab": "linkwright lab open sl-arm"}
"""What starts one of a kind from a shell."""


def running_cell(name: str, kind: str = "cell") -> Running:
    """Return a cell that runs on this machine."""
    cells = running_cells(kind)
    if name not in cells:
        start = _STARTS.get(kind, "start one with lw.server.coordinate")
        known = f"there runs {', '.join(cells)}" if cells else f"none runs: {start}"
        raise InputError(
            f"no {kind} called {name!r} runs on this machine",
            remedy=suggestion(name, cells, known),
        )
    return cells[name]


_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def _lock(file: IO[str], *, alone: bool) -> bool:
    """Whether nobody else has locked a file; with `alone`, lock it until it is closed."""
    try:
        import fcntl
    except ModuleNotFoundError:  # no such locks on this system: a file that is there counts
        return alone
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(file: IO[str]) -> Running | None:
    try:
        said: dict[str, Any] = parse_json(file.read(_LARGEST))
        return Running(str(said["name"]), str(said["endpoint"]), int(said["process"]))
    except (ValueError, TypeError, KeyError):
        return None
