"""Modules that are imported when they are first used.

What derives Programs takes longer to import than a kernel from the disk cache takes to load, so the
modules that a robot is made of when it is loaded import it through this.
"""

from __future__ import annotations

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
