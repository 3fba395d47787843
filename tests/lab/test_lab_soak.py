"""The soak of a laboratory: what it tells adds up."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bench.lab_soak import main, since
from linkwright.simulation.pacing.counters import Counters
from linkwright.simulation.pacing.memory import BUCKETS
from tests.seeds import seldom
from tests.support.lab_robots import planar_file

pytestmark = pytest.mark.realtime


@seldom(daily="test_what_was_counted_since_has_its_own_lateness")
def test_a_short_soak_counts_every_tick(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ticks run and missed are those that were due, and none has drifted from the clock."""
    source = str(planar_file(tmp_path))
    assert main(["--minutes", "0.005", "--source", source]) == 0
    told = capsys.readouterr().out
    assert "planar at 960 Hz" in told
    found = re.search(r"(\d+) ticks run, (\d+) missed, (\d+) due", told)
    assert found is not None, told
    run, missed, due = map(int, found.groups())
    assert run + missed == due
    assert due > 250


def test_what_was_counted_since_has_its_own_lateness() -> None:
    before, now = np.zeros(BUCKETS, np.int64), np.zeros(BUCKETS, np.int64)
    before[200], now[200], now[100] = 5, 5, 3
    found = since(
        Counters(8, 2, 1, 1.0, 0.1, 0, 0, 0, 0, 0, now),
        Counters(5, 1, 1, 1.0, 0.1, 0, 0, 0, 0, 0, before),
    )
    assert (found.total, found.missed, found.overrun, found.due) == (3, 1, 0, 4)
    assert found.worst == found.percentile(50) < 1e-5
