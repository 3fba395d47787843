"""Names and modules that are imported when they are first used, so that importing us is cheap."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


class Later:
    """A module that is imported when one of its names is first asked for.

    >>> Later("math").sqrt(4.0)
    2.0
    """

    def __init__(self, name: str) -> None:
        self.__name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self.__name), attribute)


def lazy_names(package: str, homes: Mapping[str, Iterable[str]]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package that imports names from their homes and keeps them.

    Args:
        homes: for a module, `.module` inside the package, the names that it is the home of; for the
            package itself, modules of it that are used by their names.

    >>> lazy_names("linkwright", {"linkwright": ["shapes"]})("shapes").__name__
    'linkwright.shapes'
    """
    home = {name: place for place, names in homes.items() for name in names}

    def find(name: str) -> object:
        place = home.get(name)
        if place is None:
            from linkwright.errors import nearest

            near = "" if name.startswith("_") else nearest(name, home, cutoff=0.7)
            hint = f"; did you mean {near!r}?" if near else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        with import_module("linkwright.forking").importing:
            if place == package:
                return import_module(f"{package}.{name}")
            value: object = getattr(import_module(place, package), name)
        setattr(sys.modules[package], name, value)
        return value

    module = sys.modules.get(package)
    if module is not None:  # so that dir() and completion know what is not imported yet
        vars(module)["__dir__"] = lambda: sorted({*vars(module), *home})
    return find
