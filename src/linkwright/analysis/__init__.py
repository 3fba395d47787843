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
from linkwright.base.aliases import NAMES

_ROOMS = ("linear", "parallel", "sizing", "sampling", "contact")
__all__: list[str] = []


def __getattr__(name: str) -> Any:
    for room in _ROOMS:
        module = getattr(linkwright, room)
        new = NAMES.get(f"{room}.{name}", f"{room}.{name}").partition(".")[2]
        if name == room or new in module.__all__:
            place = f"linkwright.{room}" if name == room else f"linkwright.{room}.{new}"
            warn(f"linkwright.analysis.{name} is {place} now", DeprecationWarning, stacklevel=2)
            return module if name == room else getattr(module, new)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
