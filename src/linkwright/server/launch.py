"""Starting the device process of a cell. Little is imported here, so that it starts at once."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

DEVICE_LOG = ".device.journal"
"""How the name of the device's own log ends, beside a recording."""

_TOLD = "device.log"


class DeviceLaunch:
    """The device process of a cell, and the folder that it shares with the server.

    Args:
        source: a cell.toml, or the name of a cell that ships.
        folder: for windows and what the device prints; a temporary one by default.
        log: where the device's own log goes; none is kept by default.
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        *,
        folder: Path | None = None,
        log: Path | None = None,
    ) -> None:
        with contextlib.ExitStack() as stack:
            if folder is None:
                folder = Path(stack.enter_context(_shared_folder()))
            self.folder, self.log = folder, log
            more = [] if log is None else ["--log", str(log)]
            command = [sys.executable, "-m", "linkwright.server.device", os.fspath(source)]
            with (folder / _TOLD).open("wb") as told:
                self.process = subprocess.Popen(
                    [*command, str(folder), *more],
                    stdin=subprocess.DEVNULL,
                    stdout=told,
                    stderr=told,
                    start_new_session=True,
                )
            stack.callback(_ended, self.process)
            self._stack = stack.pop_all()

    @property
    def told(self) -> str:
        """What the device has said, which is nothing where all is well."""
        return (self.folder / _TOLD).read_text("utf-8", "replace").strip()

    def close(self) -> None:
        """End the device; a second time does nothing."""
        self._stack.close()


def _shared_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder in memory where there is one, for this user alone."""
    memory = Path("/dev/shm")
    return tempfile.TemporaryDirectory(
        prefix="linkwright-cell-",
        dir=memory if memory.is_dir() and os.access(memory, os.W_OK) else None,
        ignore_cleanup_errors=True,
    )


def _ended(device: subprocess.Popen[bytes]) -> None:
    """End the device; it is killed where it does not end by itself."""
    device.terminate()
    try:
        device.wait(5)
    except subprocess.TimeoutExpired:
        device.kill()
        device.wait()
