"""What a studio is connected to that runs by itself: a cell, or a laboratory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from linkwright.studio.scope_requests import LiveSource

if TYPE_CHECKING:
    from linkwright.pages.scope import ScopeLayout


class StudioLink(LiveSource, Protocol):
    """Something that runs by itself, and is looked at."""

    side_by_side: bool
    """Whether its robots stand beside each other; else all but the first are ghosts of it."""

    @property
    def name(self) -> str:
        """What it is called."""

    def first_layout(self) -> ScopeLayout:
        """Return what the scope shows at first."""

    def bar(self) -> dict[str, Any]:
        """Return what the bar over the scene shows."""

    @property
    def freeze(self) -> Callable[[], None] | None:
        """What lets it hold its posture, or None where there is no such thing."""

    def halt(self) -> None:
        """Stop it at once."""

    def close(self) -> None:
        """Leave it."""
