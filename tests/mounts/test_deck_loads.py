"""What a mount carries at sea, and when its transmitter must be silent."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.motion import Sines
from linkwright.mounts.license import VESSELS, License, TransmitInhibit
from linkwright.mounts.loads_on_deck import deck_loads
from linkwright.mounts.ships import Ship, report_ship

Array = NDArray[np.float64]

PLATFORM = {"2-3": "platform", "3-4": "upper2", "3-8": "upper3", "3-12": "strut_cross"}
"""The joints of the platform, in the report's numbers of bodies."""


def swung(t: Array) -> Array:
    """Return where a mount 76 m above the center of the report's ship is, by hand."""
    roll = np.radians(15) * np.sin(2 * np.pi * t / 10)
    pitch = np.radians(7.5) * np.sin(2 * np.pi * t / 7)
    heave = 0.25 * 9.81 * (10 / (2 * np.pi)) ** 2 * np.sin(2 * np.pi * t / 10)
    x, y, z = np.sin(pitch) * np.cos(roll), -np.sin(roll), np.cos(pitch) * np.cos(roll)
    return np.stack([76 * x, 76 * y, 76 * z + heave], axis=-1)


def test_the_joints_of_a_platform_carry_more_at_sea(tmp_path: Path) -> None:
    """Mount check 52: roll, pitch and heave of the report, stabilized, the dish at the horizon."""
    balanced = {"strut_balance_mass": 130.63 / 0.5, "strut_balance_arm": 0.5}
    mount = lw.load("mount-prismatic").mechanism.with_parameters(balanced)
    t = np.linspace(0.0, 70.0, 141)  # the periods 10 and 7 s have met again
    still = deck_loads(mount, (1.0, 0.0, 0.0), t[:2])
    moving = deck_loads(mount, (1.0, 0.0, 0.0), t, report_ship(stabilized=True))
    for words, name in PLATFORM.items():
        assert moving[name].max() > 1.05 * still[name].max(), words
        assert still[name].std() < 1e-9
    # held still on its deck, all joints carry what the acceleration that is felt makes of known
    # ones: that of the 76 m arm by roll and pitch, and of heave, is taken by differences
    h = 1e-3
    before, now, after = (swung(t + k * h) for k in (-1, 0, 1))
    felt = np.array([0, 0, -9.81]) - (after - 2 * now + before) / h**2
    assert np.abs(felt[:, :2]).max() > 5  # mostly the arm's, for heave has none
    rows = [[(1.0, 0.0, 0.1 * k)] if k < 4 else [] for k in range(1, 7)]  # without any turns
    slid, w = np.array([1.0, 2.2, 3.7]), 0.2 * np.pi * np.arange(1, 4)
    known = w**2 * np.sin(slid[:, None] * w) - [0, 0, 9.81]
    loads = deck_loads(mount, (1.0, 0.0, 0.0), slid, Ship(Sines([0.0] * 6, rows), stabilized=True))
    for name in PLATFORM.values():
        for part in ("Fx", "Fy", "Fz", "Mx", "My", "Mz"):
            channel = f"{name}.{part}"
            wanted = felt @ np.linalg.solve(known, loads[channel])
            size = 1 + np.abs(wanted).max()
            assert moving[channel] == pytest.approx(wanted, abs=1e-5 * size), channel
    file = tmp_path / "reactions.svg"
    moving.plot(*PLATFORM.values()).savefig(file)
    assert file.stat().st_size > 5000


def errors(values: list[float]) -> lw.Run:
    """Return the run of a switch that sees errors in degrees, one for each 10 ms."""
    s = lw.System(name="station", base=100)
    switch = s.add(TransmitInhibit(ticks=3), rate=100)
    shown = s.add(
        lambda t: math.radians(values[min(round(t * 100), len(values) - 1)]),
        rate=100,
        name="monitor",
        outputs="y",
    )
    s.connect(shown.y, switch.error)
    return lw.simulate(s, until=len(values) / 100, every=1)


def test_a_transmitter_is_silent_in_time_and_until_the_dish_is_back() -> None:
    course = [0.1] * 10 + [0.6] * 30 + [0.3] * 20 + [0.15] * 40
    run = errors(course)
    on = run["transmitter.transmits"]
    assert on[:3].max() == 0  # nothing is known yet
    assert on[4:13].min() == 1  # three ticks late, within 100 ms
    assert on[14:62].max() == 0
    assert on[65:].min() == 1
    assert run.final["transmitter.cuts"] == 1
    assert run.final["transmitter.late"] == 0
    off = np.interp(run.times, np.arange(len(course)) / 100, course)
    assert VESSELS.verdict(np.radians(off), on, 0.01).startswith("broken: beyond 0.2 deg for 0.0")
    slow = np.where(np.arange(len(on)) < 25, 1.0, on)
    assert VESSELS.verdict(np.radians(off), slow, 0.01).startswith("broken: transmitted 0.1")


def test_a_transmitter_begins_silent_and_an_unknown_error_silences_it() -> None:
    nan = float("nan")
    on = errors([0.4] * 10 + [0.1] * 10 + [0.4] * 10 + [nan] * 10 + [0.4] * 10)[
        "transmitter.transmits"
    ]
    assert on[:13].max() == 0
    assert on[14:32].min() == 1
    assert on[35:].max() == 0
    assert VESSELS.verdict(np.radians([0.1, nan]), [1, 1], 0.01).startswith(
        "broken: transmitted for 0.01 s"
    )
    assert VESSELS.verdict(np.radians([0.1, nan]), [1, 0], 0.01).startswith("kept")


def test_a_license_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(lw.InputError, match="license"):
        License(error=0.06, silence=0.05)
