"""Recordings in the units in which they are wanted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra.units import parse_unit
from linkwright.base.errors import Error, InputError
from linkwright.recording.recording import Recording

_ALIASES = {"degree": "deg", "degrees": "deg", "turn": "rev", "Nm": "N*m"}
_NONE = ("", "?", "-", "1")


def factor(given: str, wanted: str) -> float | None:
    """Return what a value in one unit is multiplied by for another, or None where nothing fits.

    >>> round(factor("deg", "rad") * 180, 6), factor("mm", "m"), factor("?", "rad")
    (3.141593, 0.001, 1.0)
    >>> factor("km", "m"), factor("V", "rad"), factor("counts/turn", "rad"), factor("degC", "K")
    (1000.0, None, None, None)
    """
    if given == wanted or "?" in (given, wanted) or not given or not wanted:
        return 1.0
    try:
        unit, own = (parse_unit(_ALIASES.get(name, name)) for name in (given, wanted))
    except Error:
        return None
    alike = unit.exponents == own.exponents and unit.stands_for(own)
    return unit.factor / own.factor if alike else None


def si_values(recording: Recording, name: str, file: str | None = None) -> NDArray[np.float64]:
    """Return a channel in the SI unit of its kind; one without a unit is taken to be in SI.

    >>> from linkwright.recording.recording import Channel
    >>> si_values(
    ...     Recording([0], [Channel("tau", "Nm"), Channel("q", "deg")], [[2, 180]]), "tau"
    ... )
    array([2.])
    """
    unit, values = recording.channel(name).unit, recording[name]
    if unit in _NONE:
        return values
    try:
        return values * parse_unit(_ALIASES.get(unit, unit)).factor
    except Error:
        raise InputError(
            f"channel {name!r} is in {unit!r}, which is not a known unit",
            file=file,
            remedy="record it in SI, or without a unit",
        ) from None


def in_units(recording: Recording, wanted: Mapping[str, str]) -> Recording:
    """Return a recording whose channels are in the units that are wanted of them, by name.

    A channel without a unit is taken to be in that.

    >>> from linkwright.recording.recording import Channel
    >>> turned = Recording([0], [Channel("q", "deg"), Channel("v", "?")], [[180, 2]])
    >>> found = in_units(turned, {"q": "rad", "v": "m/s"})
    >>> found["q"].round(6).tolist(), found["v"].tolist(), found.channel("q").unit
    ([3.141593], [2.0], 'rad')
    """
    channels, data = list(recording.channels), recording.data.copy()
    for k, channel in enumerate(channels):
        unit = wanted.get(channel.name, "?")
        if channel.unit in _NONE or unit in _NONE:
            continue
        times = factor(channel.unit, unit)
        if times is None:
            raise Error(
                f"channel {channel.name!r} is in {channel.unit!r}, which is not a unit for {unit}",
                remedy=f"record it in {unit}, or without a unit",
            )
        if times != 1.0:
            data[:, k] *= times
            channels[k] = replace(channel, unit=unit)
    return Recording(recording.times, channels, data, recording.metadata, recording.source)
