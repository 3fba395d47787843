"""Studios beside a command: of a dialogue, of an analysis."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwright.base.errors import Error

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from linkwright.robots import Robot
    from linkwright.studio.server import Studio

_LOOKED_FOR = 10.0  # s that a browser may take to come


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


@contextmanager
def following(
    model: str, robot: Robot, scene: str, say: Callable[[str], None]
) -> Iterator[Callable[[float, NDArray[np.float64]], None]]:
    """Open a studio for as long as an analysis takes, and yield what shows where the robot is.

    What is shown keeps the pace of the clock, so that it can be looked at. The page is waited for
    where a browser was opened.
    """
    from linkwright.scene.previews import resting
    from linkwright.studio.display import open_browser
    from linkwright.studio.server import open_studio

    with open_studio([model], scene_file=scene or None) as studio:
        say(f"studio: {studio.address}")
        if open_browser(studio.address):
            end = time.monotonic() + _LOOKED_FOR
            while not studio.server.get_clients() and time.monotonic() < end:
                time.sleep(0.05)
        stage = studio.stage
        assert stage is not None
        poses, q = stage.scene.poses, resting(stage.scene).copy()
        places = [(poses.coordinates.index(n), k) for k, n in enumerate(robot.coordinates)]
        begun: list[float] = []

        def show(at: float, now: NDArray[np.float64]) -> None:
            for there, here in places:
                q[there] = now[here]
            stage.show(poses(q))
            begun.append(time.monotonic() - at) if not begun else None
            time.sleep(max(0.0, begun[0] + at - time.monotonic()))

        yield show
