"""Channels made from channels: rates, filtered values, spectra, sums.

The filter is a Butterworth low-pass of second order, with its cutoff in percent of half the
sampling rate as SL's plotter has it (0 or 100: none), run forward and backward so that nothing is
delayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal

import numpy as np

from linkwright.recording.recording import Array, Channel, Recording, RecordingError


def chosen(recording: Recording, patterns: Sequence[str]) -> list[str]:
    """Return the names that patterns stand for, each once; all where there are none.

    >>> r = Recording([0], map(Channel, ["a.x", "a.y", "b"]), [[1, 2, 3]])
    >>> chosen(r, ["a.*", "b"])
    ['a.x', 'a.y', 'b']
    """
    if not patterns:
        return list(recording.names)
    found: list[str] = []
    for pattern in patterns:
        if pattern in recording or not set(pattern) & set("*?"):
            names = [recording.channel(pattern).name]
        else:
            names = [n for n in recording.names if fnmatchcase(n, pattern)]
            if not names:
                raise RecordingError(
                    f"no channel is like {pattern!r}",
                    remedy=f"there are {', '.join(recording.names)}",
                )
        found += [n for n in names if n not in found]
    return found


def rate_of_change(recording: Recording, name: str, cutoff: float = 0) -> tuple[Channel, Array]:
    """Return the rate of a channel: central differences, filtered first where that is asked for.

    >>> r = Recording([0, 1, 2], [Channel("x", "m")], [[0], [1], [4]])
    >>> rate_of_change(r, "x")
    (Channel(name='d/dt x', unit='m/s', long='', generic='', body=''), array([0., 2., 4.]))
    """
    old = recording.channel(name)
    values = filtered(recording, name, cutoff)
    if len(values) < 2:
        raise RecordingError(f"a rate of {name!r} takes two samples, and there are {len(values)}")
    unit = {"?": "?", "1": "1/s", "s": "1"}.get(old.unit, _per_second(old.unit))
    long = f"rate of {old.long}" if old.long else ""
    with np.errstate(invalid="ignore"):  # where a value is not finite, nor is the rate beside it
        order: Literal[1, 2] = 2 if len(values) > 2 else 1
        rate: Array = np.gradient(values, recording.times, edge_order=order)
    return Channel(f"d/dt {name}", unit, long, "", old.body), rate


def _per_second(unit: str) -> str:
    for ending, next_one in (("/s^2", "/s^3"), ("/s", "/s^2")):
        if unit.endswith(ending):
            return unit[: -len(ending)] + next_one
    return f"{unit}/s" if unit.isidentifier() else f"({unit})/s"


def filtered(recording: Recording, name: str, cutoff: float) -> Array:
    """Return a channel through a low-pass filter that does not delay it.

    An end of the run between two samples has none, and is NaN.

    >>> r = Recording(np.arange(50) / 50, [Channel("x")], np.ones((50, 1)))
    >>> bool(np.allclose(filtered(r, "x", 20), 1))
    True
    """
    values = recording[name]
    if cutoff in (0, 100):
        return values
    if not 0 < cutoff < 100:
        raise RecordingError(f"a cutoff of {cutoff} % is not between 0 and 100")
    even = recording.even
    if even.rate is None:
        raise RecordingError("only evenly spaced samples can be filtered")
    from scipy.signal import butter, filtfilt

    b, a = butter(2, cutoff / 100)
    if len(even) <= 9:
        raise RecordingError(f"{len(even)} samples are too few for a filter")
    found: Array = np.full(len(values), np.nan)
    found[: len(even)] = filtfilt(b, a, even[name])
    return found


def spectrum(recording: Recording, name: str) -> tuple[Array, Array]:
    """Return frequencies in Hz and amplitudes of a channel, its mean taken away.

    A sine of amplitude 1 shows a peak of 1 (Hann window). A channel with a value that is not finite
    has no finite amplitude.

    >>> t = np.arange(1000) / 100
    >>> r = Recording(t, [Channel("x")], 3 * np.sin(2 * np.pi * 5 * t)[:, None])
    >>> f, a = spectrum(r, "x")
    >>> float(f[a.argmax()]), round(float(a.max()), 3)
    (5.0, 3.0)
    """
    recording = recording.even
    rate, values = recording.rate, recording[name]
    if rate is None:
        raise RecordingError("only evenly spaced samples have a spectrum here")
    if len(values) < 4:
        raise RecordingError(f"{len(values)} samples are too few for a spectrum")
    window = np.hanning(len(values) + 1)[:-1]
    count = 4 * len(values)  # padded, so that a peak between two frequencies is not missed
    with np.errstate(invalid="ignore"):
        waves = np.fft.rfft((values - values.mean()) * window, count)
    amplitudes: Array = np.asarray(2 * np.abs(waves) / window.sum(), dtype=np.float64)
    frequencies: Array = np.arange(len(amplitudes), dtype=np.float64) * np.float64(rate / count)
    return frequencies, amplitudes
