"""A studio beside the dialogue, which shows each component as it is entered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwright.base.errors import Error

if TYPE_CHECKING:
    from linkwright.studio.server import Studio


class Window:
    """A studio that is replaced by another one at the same address whenever the model changes.

    Its page in the browser finds the new one by itself.

    Args:
        say: prints a line.
        browser: whether a browser is opened at first.
    """

    def __init__(self, say: Callable[[str], None], *, browser: bool = True) -> None:
        self._say = say
        self._browser = browser
        self._place: dict[str, Any] = {}
        self.studio: Studio | None = None

    def show(self, file: Path) -> None:
        """Show the model in a file; where it cannot be shown, say so."""
        from linkwright.studio.display import open_browser
        from linkwright.studio.server import open_studio

        self.close()
        try:
            self.studio = open_studio([str(file)], **self._place)
        except Error as error:
            self._say(f"not shown: {error}")
            return
        if not self._place:
            self._place = {"port": self.studio.port, "token": self.studio.gate.token}
            self._say(f"studio: {self.studio.address}")
            if self._browser:
                open_browser(self.studio.address)

    def close(self) -> None:
        """End the studio."""
        if self.studio is not None:
            self.studio.close()
            self.studio = None
