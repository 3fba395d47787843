"""Folders in memory that processes share, and that vanish with the process that made them."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from linkwright.base.closable import Closable
from linkwright.base.files import try_lock

_OWNER = "owner"


def memory_root() -> Path:
    """Return the folder in memory, where there is one; else that of temporary files."""
    memory = Path("/dev/shm")
    usable = memory.is_dir() and os.access(memory, os.W_OK)
    return memory if usable else Path(tempfile.gettempdir())


class SharedFolder(Closable):
    """A folder of this user's alone; what killed processes left behind is removed first.

    >>> folder = SharedFolder(memory_root(), "linkwright-example-")
    >>> folder.path.is_dir()
    True
    >>> folder.close()
    >>> folder.path.exists()
    False
    """

    def __init__(self, root: Path, prefix: str, name: str = "") -> None:
        for left in root.glob(f"{prefix}*"):
            _remove_dead(left)
        self.path = Path(tempfile.mkdtemp(prefix=f"{prefix}{name}", dir=root))
        self._owner = (self.path / _OWNER).open("wb")
        try_lock(self._owner.fileno())

    def close(self) -> None:
        """Remove it; a second time does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._owner.close()


def _remove_dead(left: Path) -> None:
    """Remove a folder of this user's whose owner was killed: nobody holds its lock."""
    with suppress(OSError):
        if left.lstat().st_uid == os.getuid() and stat.S_ISDIR(left.lstat().st_mode):
            with (left / _OWNER).open("rb") as owner:
                if try_lock(owner.fileno()):
                    shutil.rmtree(left, ignore_errors=True)
