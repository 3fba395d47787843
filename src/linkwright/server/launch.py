"""Starting the device process of a cell. Little is imported here, so that it starts at once."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from linkwright.base.closable import Closable
from linkwright.base.companions import Companion
from linkwright.base.shared_folders import SharedFolder, memory_root

DEVICE_LOG = ".device.journal"
"""How the name of the device's own log ends, beside a recording."""


class DeviceLaunch(Closable):
    """The device process of a cell, and the folder that it shares with the server."""

    def __init__(
        self,
        source: str | os.PathLike[str],
        *,
        folder: Path | None = None,
        log: Path | None = None,
    ) -> None:
        with ExitStack() as stack:
            if folder is None:
                shared = SharedFolder(memory_root(), "linkwright-cell-")
                folder = stack.enter_context(shared).path
            self.folder, self.log = folder, log
            command = ["-m", "linkwright.server.device", os.fspath(source), str(folder)]
            self.companion = Companion(
                "the device", lambda start: [*command, *self._logs(start)], folder / "device.log"
            )
            stack.callback(self.companion.close)
            self._stack = stack.pop_all()

    def _logs(self, start: int) -> list[str]:
        """Return the option of its log; what was written before a device ended is kept."""
        if self.log is None:
            return []
        ending = f".{start}{self.log.suffix}" if start > 1 else self.log.suffix
        return ["--log", str(self.log.with_suffix(ending))]

    def close(self) -> None:
        """End the device; a second time does nothing."""
        self._stack.close()
