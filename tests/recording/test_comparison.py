"""Two recordings beside each other: the first bit that differs, wherever parts begin and end."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from linkwright.recording import Channel, Recording, streams
from linkwright.recording.comparison import compared
from linkwright.recording.streams import Stream, StreamPart, changes_of, stream_of
from tests.seeds import seeds


def in_parts(recording: Recording, rng: np.random.Generator) -> Stream:
    """Return a recording that comes in parts of odd sizes, empty ones among them."""
    cuts = [0, *sorted(rng.integers(0, len(recording) + 1, 4).tolist()), len(recording)]
    parts = [
        StreamPart(recording.times[a:b], recording.data[a:b], changes_of(b""))
        for a, b in pairwise(cuts)
    ]
    return Stream(recording.metadata, recording.channels, lambda: iter(parts))


@pytest.mark.parametrize("seed", seeds(8))
def test_the_first_difference_is_found_wherever_parts_end(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(streams, "ROWS", 4)
    data = rng.normal(size=(21, 3))
    data[5, 1] = np.nan
    channels = [Channel(name) for name in "abc"]
    old = Recording(np.arange(21.0), channels, data)
    other = data.copy()
    row, column = int(rng.integers(6, 21)), int(rng.integers(0, 3))
    other[row, column] += 0.5
    other[20, 2] -= 2.0
    new = Recording(np.arange(21.0), channels, other)
    found = compared(in_parts(old, rng), in_parts(new, rng))
    first = found.difference
    assert first is not None
    assert (first.sample, first.time, first.channel) == (row, float(row), "abc"[column])
    assert (first.recorded, first.again) == (data[row, column], other[row, column])
    wanted = {n: float(np.nanmax(np.abs(other - data)[:, k])) for k, n in enumerate("abc")}
    assert found.largest == {n: v for n, v in wanted.items() if v}
    assert (found.samples, found.others, found.channels) == (21, 21, 3)
    assert compared(in_parts(old, rng), in_parts(old, rng)).difference is None
    assert compared(in_parts(old, rng), in_parts(new, rng), ["a"]).largest.keys() <= {"a"}


@pytest.mark.parametrize("rows", [3, 4, 5, 1000])
def test_a_run_that_ended_early_is_compared_up_to_its_last_sample(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sample where it was interrupted is at a time that the whole run does not have."""
    monkeypatch.setattr(streams, "ROWS", rows)
    channels, t = [Channel("x")], np.array([0.0, 1.0, 2.0, 3.0, 3.5])
    ended = stream_of(Recording(t, channels, t[:, None]))
    whole = stream_of(Recording(np.arange(9.0), channels, np.arange(9.0)[:, None]))
    assert compared(ended, whole, ended=True).difference is None
    for strict, of in ((compared(ended, whole), 4), (compared(whole, ended, ended=True), 5)):
        assert strict.difference is not None
        assert strict.difference.sample == of
        assert strict.difference.channel == ""
