"""Mounts 2, 4 and 7: reach, synchronized trapezoids, and the idealized orbit."""

from __future__ import annotations

import math
import warnings

import numpy as np

from linkwright.mounts import ReportOrbit
from linkwright.mounts.closed_forms import Legs
from linkwright.mounts.closed_forms.limits import reach as reach_of
from linkwright.mounts.moves import Trapezoids, synchronize
from linkwright.parallel import chart
from linkwright.reproduce.reproduction import Check, Panel, Reproduction, Series, checks


def reach() -> Reproduction:
    """Return what figure 2.7 shows: longer arms reach lower, by chart and by formula."""
    ratios = (2.0, 2.5, 3.0, 3.5, 4.0)
    turns, made = np.arange(0.0, 61.0, 2.0), []
    legs = {k: Legs(l=k * 0.28033) for k in ratios}
    far = {k: 0.98 / 0.841 * legs[k].l for k in ratios}
    curves = [
        Series(turns, reach_of(turns, far[k], legs[k]), f"l = {k:g} r") for k in (2.0, 3.0, 4.0)
    ]
    printed = dict(zip(ratios, ["95.437", "101.054", "103.662", "105.112", "106.010"], strict=True))
    for k in ratios:
        fine = reach_of(np.arange(0.0, 30.0, 0.1), far[k], legs[k])
        made.append(Check(f"l = {k:g} r: reach", printed[k], fine.min(), "deg", recomputed=True))
    charted = chart(
        "mount-3-rotary",
        {"azimuth": [math.radians(76.2)], "zenith": (0, math.radians(120), 25)},
        at={"distance": 0.98},
    )
    made.append(
        Check(
            "l = 3 r: reach of the chart",
            "103.662",
            math.degrees(charted.ends[0, 1]),
            "deg",
            recomputed=True,
        )
    )
    return Reproduction(
        [Panel(curves, "azimuth - deg", "greatest angle from the zenith - deg")],
        made,
        note="The base to platform distance grows with the arms. The chart closes the loops of "
        "the model in the worst direction, where the formula has 103.662.",
    )  # fmt: skip


def trapezoids() -> Reproduction:
    """Return figure 4.2: three arms that begin and end together, one of them at its ceiling."""
    easy = synchronize([60.0, 35.0, 12.0], 3.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        hard = synchronize([90.0, 35.0, 12.0], 3.0)
    names = [f"arm {k}" for k in (1, 2, 3)]
    made = [
        Check("rise to the ceiling", "1.515", 50.0 / 33.0, "s"),
        *checks(names, "27.8148 13.5104 4.1762", easy.speeds, unit="rev/s", recomputed=True),
        Check("stretched: time", "3.3152", hard.time, "s", recomputed=True),
        Check("stretched: arm 1", "50.00", hard.speeds[0], "rev/s", recomputed=True),
        Check("stretched: warnings", "1", len(told)),
    ]
    return Reproduction(
        [_profiles(easy, "In time"), _profiles(hard, "Too fast: stretched, with a warning")],
        made,
        across=2,
        note="33 rev/s2 and at most 50 rev/s. The moves are ours: 60, 35 and 12 revolutions in "
        "3 s, then 90 of arm 1.",
    )


def _profiles(move: Trapezoids, title: str) -> Panel:
    lines = []
    for k, v in enumerate(move.speeds, 1):
        rise = v / 33.0
        lines.append(Series([0.0, rise, move.time - rise, move.time], [0, v, v, 0], f"Arm {k}"))
    return Panel(lines, "Time - s", "v - rev/s", title, y_range=(0, 55))


def orbit() -> Reproduction:
    """Return figure 7.1: the circle of the target, and its angles over time."""
    made, parts = [], []
    t = np.linspace(0.0, 36.0, 145)
    for height, printed in ((1000.0, "45"), (577.0, "30"), (176.3, "10"), (0.0, "0")):
        d = ReportOrbit(1000.0, height, math.radians(10.0)).direction(0.0)
        made.append(
            Check(f"h = {height:g}: elevation", printed, math.degrees(math.asin(d[2])), "deg")
        )
    tilted = ReportOrbit(
        1000.0, 1000.0, math.radians(10), tilt=math.radians(20), turn=math.radians(30)
    )
    angles, rates, accelerations = (np.degrees(x) for x in tilted.angles(t))
    at = int(np.argmin(np.abs(t - 6.0)))
    names = ("roll", "angle from the zenith", "azimuth")
    for what, row, printed, unit in (
        ("angle", angles, "20.6633 57.0750 76.8487", "deg"),
        ("rate", rates, "2.7868 -2.4952 7.8822", "deg/s"),
        ("acceleration", accelerations, "-0.3304 -0.3218 0.0777", "deg/s2"),
    ):
        made += checks(
            [f"{x}, {what} at 6 s" for x in names], printed, row[at], unit=unit, recomputed=True
        )
    for rows, label in ((angles, "angles - deg"), (rates, "rates - deg/s")):
        lines = [
            Series(
                t,
                np.degrees(np.unwrap(np.radians(rows[:, k]))) if rows is angles else rows[:, k],
                name,
            )
            for k, name in enumerate(names)
        ]
        parts.append(Panel(lines, "time - s", label))
    d = tilted.direction(t)
    parts.append(
        Panel([Series(d[:, 0], d[:, 1], "path of the tracked object")], "x", "y", equal=True)
    )
    return Reproduction(
        parts, made, note="Radius 1000, 10 deg/s; the curves are of the circle at height 1000, "
        "its axis tilted by 20 deg to an azimuth of 30 deg."
    )  # fmt: skip
