"""What lower rooms ask of higher ones: `from linkwright.base.hooks import load`, within a function.

A room imports only rooms below it. Where it needs something from above all the same (a model is
given by its name, a run is to be shown), it asks for that here by name. The front door, which every
import of a room passes, has filled in where each hook is made; it is imported when it is asked for.
"""

from __future__ import annotations

from typing import Any

from linkwright.base.lazy import named

_places: dict[str, str] = {}


def fill(**places: str) -> None:
    """Say where hooks are made, as `module:name`, without importing that."""
    _places.update(places)


def __getattr__(name: str) -> Any:
    if name not in _places:
        raise AttributeError(f"nothing fills the hook {name!r}; the front door, linkwright, does")
    return named(_places[name])
