"""The columns of tables that others have made: names with units in brackets, and the time.

A label is a name, perhaps with a unit in square or round brackets behind it: `shoulder [deg]`. The
column called `time` or `t` is the time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.recording.generic import generic_name
from linkwright.recording.recording import Channel, Recording

TIMES = ("t", "time", "times")
SECONDS = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0}
_LABEL = re.compile(r"(.*?)\s*(?:\[([^\]]*)\]|\(([^()]*)\))\s*\Z", re.S)


def labeled(text: str) -> tuple[str, str]:
    """Return name and unit of a column from its label.

    >>> labeled("shoulder [deg]"), labeled(" time (ms)"), labeled("x")
    (('shoulder', 'deg'), ('time', 'ms'), ('x', '?'))
    """
    found = _LABEL.fullmatch(text)
    if found is None:
        return text.strip(), "?"
    return found[1].strip(), (found[2] or found[3] or "?").strip()


def recording_of(
    path: Path, channels: Sequence[Channel], table: NDArray[np.float64], line: int | None = None
) -> Recording:
    """Return the recording of a table with one column for each channel, the time among them."""
    clock = next((k for k, c in enumerate(channels) if c.name.lower() in TIMES), None)
    times = np.arange(len(table), dtype=float)
    if clock is not None:
        unit = channels[clock].unit
        if unit not in ("?", *SECONDS):
            raise InputError(
                f"{unit!r} is not a unit of time",
                file=path,
                line=line,
                remedy=f"use one of {', '.join(SECONDS)}",
            )
        times = table[:, clock] * SECONDS.get(unit, 1.0)
    rest = [k for k in range(len(channels)) if k != clock]
    about = {"source": path.name} | ({} if clock is not None else {"times": "counted"})
    return Recording(times, [channels[k] for k in rest], table[:, rest], about)


def channel_of(label: str) -> Channel:
    """Return the channel of a label, with the kind of quantity of its unit.

    >>> channel_of("shoulder [deg]")
    Channel(name='shoulder', unit='deg', long='', generic='angle', body='')
    """
    name, unit = labeled(label)
    return Channel(name, unit, generic=generic_name(unit))
