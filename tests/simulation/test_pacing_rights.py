"""What a paced loop asks of the system, what it says where that is refused, and its lateness."""

from __future__ import annotations

import os
import re
import resource

import numpy as np
import pytest
from typer.testing import CliRunner

from linkwright.cli.app import build
from linkwright.simulation.pacing import rights
from linkwright.simulation.pacing.counters import Counters, edges
from linkwright.simulation.pacing.latency import Latency

pytestmark = pytest.mark.realtime


def refuse(*_: object) -> None:
    raise PermissionError(1, "Operation not permitted")


def test_what_is_refused_is_told_in_a_line_with_what_to_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (65536, 65536))
    given = rights.take_rights(True, 5)
    assert (given.priority, given.locked, given.core) == (False, False, None)
    for line, words in zip(given.refused, ("ulimit -r", "ulimit -l", "taskset -c 5"), strict=True):
        assert words in line
        assert "\n" not in line
    assert "setcap" in given.refused[0]


def test_latency_is_told_for_the_loop_and_for_python() -> None:
    """Check 6. Mean, share below it, worst case and a histogram; the counts are those asked for."""
    done = CliRunner().invoke(build(), ["tools", "latency", "--rate", "1000", "--events", "40"])
    assert done.exit_code == 0, done.output
    for words in ("the native loop: ", "a Python thread: ", "% below it", "99.9 % within", "#"):
        assert words in done.output
    head = next(line for line in done.output.splitlines() if line.startswith("a Python thread"))
    met, missed = (int(word) for word in head.split() if word.isdigit())
    assert met + missed == 40
    told = re.findall(r"mean (\S+) µs, (\S+) % below it, worst (\S+) µs", done.output)
    assert len(told) == 2
    heights = [int(n) for n in re.findall(r"below +\d+ µs +(\d+) #", done.output)]
    met_by_both = sum(int(n) for n in re.findall(r": (\d+) instants met", done.output))
    assert sum(heights) == met_by_both
    for mean, share, worst in told:
        assert 0 < float(mean) <= float(worst) + 1
        assert 0 <= float(share) <= 100


def test_the_share_below_the_mean_is_that_of_the_histogram() -> None:
    """Check 6. Three of four instants are about 0.1 µs late, one 10 µs."""
    seen = np.histogram([1e-7, 1.1e-7, 1.2e-7, 1e-5], edges())[0].astype(np.int64)
    counted = Counters(4, 0, 0, 1e-5, 2.5825e-6, 0, 0, 0, 0, 0, seen)
    found = Latency("four", counted)
    assert found.below_mean == 0.75
    assert found.lines()[1] == "  mean 2.6 µs, 75.0 % below it, worst 10 µs"


def test_a_rate_that_nobody_can_keep_is_refused() -> None:
    done = CliRunner().invoke(build(), ["tools", "latency", "--rate", "0"])
    assert done.exit_code != 0
