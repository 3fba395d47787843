"""Waiting for what should hold soon: with a limit, and saying for what."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0
"""Seconds that a test waits for what should hold soon: far more than it takes on a busy machine."""

_SHORTEST, _LONGEST = 0.002, 0.05  # s between two looks


def soon(holds: Callable[[], Any], *, limit: float = PATIENCE) -> Any:
    """Wait until something holds, and return it; what never holds fails the test by its text.

    Args:
        holds: asked again and again.
        limit: s.

    >>> from tests.support.waiting import soon
    >>> soon(lambda: "there")
    'there'
    """
    end, pause = time.monotonic() + limit, _SHORTEST
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError(f"it did not come to hold in {limit:g} s: {_text(holds)}")
        time.sleep(pause)
        pause = min(1.5 * pause, _LONGEST)
    return found


def _text(holds: Callable[[], Any]) -> str:
    """Return a condition as it is written, in one line."""
    try:
        return " ".join(inspect.getsource(holds).split())
    except (OSError, TypeError):
        return repr(holds)
