"""Libraries that are loaded when a test first uses them.

Every worker imports every file of tests, and runs a third of them: the oracles that a file compares
with take hundreds of megabytes where each is loaded in each worker.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Late:
    """Stands for a module until something of it is asked for.

    >>> from tests.support.late import Late
    >>> Late("math").floor(2.5)
    2
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest looks for marks of its own at all that a file has
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)
