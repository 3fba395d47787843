"""Motions of shipped models as the documents ran them, and their channels in printed units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.recording import Recording
from linkwright.reproduce.reproduction import Check, Series, checks
from linkwright.simulation import simulate

Array = NDArray[np.float64]


@cache
def motion(
    model: str,
    until: float,
    step: float,
    method: str = "midpoint",
    *,
    every: int = 1,
    **start: float,
) -> Recording:
    """Return a motion of a shipped model in the units that it prints."""
    run = simulate(model, until, step=step, method=method, every=every, initial=start or None)
    return run.recording.printed


def degrees(recording: Recording, channel: str) -> Array:
    """Return a channel of angles in degrees."""
    return np.degrees(recording[channel])


def curve(recording: Recording, channel: str, label: str = "", scale: float = 1.0) -> Series:
    """Return a channel over time."""
    return Series(recording.times, scale * recording[channel], label)


def at(recording: Recording, channel: str, time: float) -> float:
    """Return the sample of a channel at a time."""
    return float(recording[channel][int(np.argmin(np.abs(recording.times - time)))])


def samples(
    recording: Recording,
    channel: str,
    printed: dict[float, str],
    what: str,
    unit: str = "",
    scale: float = 1.0,
    **more: Any,
) -> list[Check]:
    """Return a check for each time at which a number is known."""
    return [
        Check(f"{what}, t = {t:g} s", text, scale * at(recording, channel, t), unit, **more)
        for t, text in printed.items()
    ]


def states(
    recording: Recording, channels: Sequence[str], time: float, printed: str, **more: Any
) -> list[Check]:
    """Return a check for each channel of a state at a time."""
    names = [f"{name}, t = {time:g} s" for name in channels]
    return checks(names, printed, [at(recording, name, time) for name in channels], **more)


DEGREE = math.degrees(1.0)
