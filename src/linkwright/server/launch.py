"""Starting the device process of a cell. Little is imported here, so that it starts at once."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from linkwright.base.files import try_lock

DEVICE_LOG = ".device.journal"
"""How the name of the device's own log ends, beside a recording."""

PAUSE, LONGEST = 0.5, 30.0
"""s until a process of a cell that ended is started anew: the first time, and at most."""

_TOLD = "device.log"
_OWNER = "owner"
_PREFIX = "linkwright-cell-"


class DeviceLaunch:
    """The device process of a cell, and the folder that it shares with the server."""

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
                owner = stack.enter_context((folder / _OWNER).open("wb"))
                try_lock(owner.fileno())
            self.folder, self.log = folder, log
            self._command = [sys.executable, "-m", "linkwright.server.device", os.fspath(source)]
            self._starts, self._pause, self._again = 0, PAUSE, 0.0
            self.process = self._started()
            stack.callback(lambda: _ended(self.process))
            self._stack = stack.pop_all()

    def _started(self) -> subprocess.Popen[bytes]:
        self._starts, self._began = self._starts + 1, time.monotonic()
        more: list[str] = []
        if self.log is not None:  # what was written before a device ended is kept
            again = f".{self._starts}{self.log.suffix}" if self._starts > 1 else self.log.suffix
            more = ["--log", str(self.log.with_suffix(again))]
        with (self.folder / _TOLD).open("wb") as told:
            return subprocess.Popen(
                [*self._command, str(self.folder), *more],
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=told,
                start_new_session=True,
            )

    def look(self) -> Iterator[str]:
        """Start the device anew where it has ended, after a pause; yield lines that tell of it."""
        now = time.monotonic()
        if self.process.poll() is None:
            return
        if not self._again:
            pause = PAUSE if now - self._began > LONGEST else self._pause
            self._pause, self._again = min(2 * pause, LONGEST), now + pause
            why = self.told.splitlines()[-1:]
            said = f": {why[0]}" if why else f" (exit status {self.process.returncode})"
            yield f"the device has ended{said}; it is started anew in {pause:g} s"
        elif now >= self._again:
            self._again, self.process = 0.0, self._started()

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
    usable = memory.is_dir() and os.access(memory, os.W_OK)
    root = memory if usable else Path(tempfile.gettempdir())
    for left in root.glob(f"{_PREFIX}*"):
        _remove_dead(left)
    return tempfile.TemporaryDirectory(prefix=_PREFIX, dir=root, ignore_cleanup_errors=True)


def _remove_dead(left: Path) -> None:
    """Remove the folder of a server of this user's that was killed: nobody holds its lock."""
    with contextlib.suppress(OSError):
        if left.lstat().st_uid == os.getuid() and stat.S_ISDIR(left.lstat().st_mode):
            with (left / _OWNER).open("rb") as owner:
                if try_lock(owner.fileno()):
                    shutil.rmtree(left, ignore_errors=True)


def _ended(device: subprocess.Popen[bytes]) -> None:
    """End the device; it is killed where it does not end by itself."""
    device.terminate()
    try:
        device.wait(5)
    except subprocess.TimeoutExpired:
        device.kill()
        device.wait()
