"""Clocks of nodes: the cell knows them within half the asymmetry of the paths and 50 µs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import linkwright as lw
from linkwright.server.clocks import SECOND, Exchange, NodeClock, node_clock


def exchanges(
    seed: int,
    *,
    offset: float = 0.3,
    drift: float = 2e-4,
    there: float = 1e-3,
    back: float = 1e-3,
    jitter: float = 3e-4,
    count: int = 64,
    start: int = 1_700_000_000 * SECOND,
) -> list[Exchange]:
    """Return exchanges every 0.5 s over paths whose queues are exponential."""
    draw = np.random.default_rng(seed)

    def node(cell: float) -> int:
        """The node's clock, ns, at seconds of the cell's."""
        return start + round((cell - offset) / (1 + drift) * SECOND)

    found = []
    for k in range(count):
        sent = 0.5 * k + draw.uniform(0, 0.1)
        received = sent + there + draw.exponential(jitter)
        answered = received + draw.uniform(0, 2e-3)
        returned = answered + back + draw.exponential(jitter)
        found.append(
            Exchange(
                node(sent),
                start + round(received * SECOND),
                start + round(answered * SECOND),
                node(returned),
            )
        )
    return found


def error(clock: NodeClock, offset: float, drift: float, cell: float) -> tuple[float, float]:
    """Return the error at a time of the cell's clock, s, and the bound."""
    start = 1_700_000_000 * SECOND
    told = clock.at(start + round((cell - offset) / (1 + drift) * SECOND))
    return (told.time - start) / SECOND - cell, told.bound


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("paths", [(1e-3, 1e-3), (0.4e-3, 2.4e-3), (5e-3, 1e-3)])
def test_a_drifting_clock_is_known_within_half_the_asymmetry(
    seed: int, paths: tuple[float, float]
) -> None:
    """0.3 s off and 200 ppm: within half the asymmetry of the paths plus 50 µs, and its bound."""
    there, back = paths
    clock = node_clock(exchanges(seed, there=there, back=back))
    for cell in np.linspace(2.0, 36.0, 35):
        wrong, bound = error(clock, 0.3, 2e-4, float(cell))
        assert abs(wrong) <= abs(there - back) / 2 + 50e-6
        assert abs(wrong) <= bound
    assert clock.drift == pytest.approx(2e-4, abs=3e-6)
    assert error(clock, 0.3, 2e-4, 32.0)[1] < (there + back) / 2 + 1e-3


@given(st.integers(0, 10_000), st.floats(-1e4, 1e4), st.floats(-4e-4, 4e-4), st.integers(1, 80))
@settings(max_examples=40, deadline=None)
def test_the_bound_holds_for_any_clock(seed: int, offset: float, drift: float, count: int) -> None:
    clock = node_clock(exchanges(seed, offset=offset, drift=drift, count=count, back=3e-3))
    for cell in (0.0, 0.25 * count, 0.5 * count, 0.5 * count + 20):
        wrong, bound = error(clock, offset, drift, cell)
        assert abs(wrong) <= bound


def test_one_exchange_gives_what_ntp_gives() -> None:
    (one,) = exchanges(3, count=1)
    clock = node_clock([one])
    assert clock.offset == pytest.approx(one.offset, abs=1e-6)
    assert clock.delay == one.delay


def test_the_bound_grows_where_nobody_asked() -> None:
    clock = node_clock(exchanges(1))
    bounds = [error(clock, 0.3, 2e-4, cell)[1] for cell in (32.0, 60.0, 600.0)]
    assert bounds[0] < bounds[1] < bounds[2]


def test_a_clock_that_was_set_is_taken_up_at_once() -> None:
    """A node that started anew has another clock: what was known of the old one is left out."""
    old = exchanges(5, offset=0.3, count=40)
    new = exchanges(6, offset=-7.0, count=43)[40:]
    clock = node_clock([*old, *new])
    assert len(clock.exchanges) == 3
    wrong, bound = error(clock, -7.0, 2e-4, 21.5)
    assert abs(wrong) <= bound < 5e-3


@pytest.mark.parametrize(
    "stamps", [(0, 10, 5, 20), (20, 10, 11, 0), (0, 0, 100, 50)], ids=["answer", "node", "delay"]
)
def test_stamps_that_cannot_be_are_refused(stamps: tuple[int, int, int, int]) -> None:
    with pytest.raises(lw.InputError, match="goes back in time"):
        node_clock([Exchange(*stamps)])
    with pytest.raises(lw.Error, match="at least one"):
        node_clock([])
