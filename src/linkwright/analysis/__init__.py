"""The former home of `linear`, `parallel`, `sizing`, `sampling` and `contact`.

Old names work for one release, with a warning that says the new one.
"""

from typing import Any
from warnings import warn

import linkwright.contact
import linkwright.linear
import linkwright.parallel
import linkwright.sampling
import linkwright.sizing
from linkwright.base.aliases import renamed

_ROOMS = ("linear", "parallel", "sizing", "sampling", "contact")
__all__: list[str] = []


def __getattr__(name: str) -> Any:
    for room in _ROOMS:
        module = getattr(linkwright, room)
        place = f"linkwright.{room}" if name == room else f"linkwright.{room}.{name}"
        if name == room or name in module.__all__:
            warn(f"linkwright.analysis.{name} is {place} now", DeprecationWarning, stacklevel=2)
            return module if name == room else getattr(module, name)
        value = renamed(f"linkwright.{room}", name)
        if value is not None:
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
