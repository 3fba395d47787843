"""Starting the device process of a cell. Little is imported here, so that it starts at once."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

LOG = "device.journal"
"""The device's own log, in the folder that the processes of a cell share."""

DEVICE_LOG = ".device.journal"
"""How its name ends beside a recording."""

_TOLD = "device.log"


class DeviceLaunch:
    """The device process of a cell, and the folder that it shares with the server.

    Args:
        source: a cell.toml, or the name of a cell that ships.
        folder: for windows and the device's log; a temporary one by default.
        log: where the device's log goes; into the folder by default.
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
            self.folder, self.log = folder, log or folder / LOG
            command = [sys.executable, "-m", "linkwright.server.device", os.fspath(source)]
            with (folder / _TOLD).open("wb") as told:
                self.process = subprocess.Popen(
                    [*command, str(folder), "--log", str(self.log)],
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
