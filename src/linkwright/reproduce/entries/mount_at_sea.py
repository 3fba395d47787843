"""Mounts 10.4: the mount with two jacks on a ship of 10,000 tons, dish at the horizon."""

from __future__ import annotations

from functools import cache

import numpy as np

from linkwright.doors import load
from linkwright.mounts import deck_loads
from linkwright.mounts.ships import report_ship
from linkwright.recording import Recording
from linkwright.reproduce.reproduction import Check, Panel, Reproduction, Series, checks

TIMES = np.linspace(0.0, 70.0, 281)  # both periods have met again
JOINTS = {"2": "platform", "4": "upper2", "8": "upper3", "12": "strut_cross"}
WHY = "the parts that the report plots are lost; ours are the sizes of the forces"


@cache
def _loads(at_sea: bool) -> Recording:
    """Return what joints carry; the strut has its weight."""
    balanced = {"strut_balance_mass": 130.63 / 0.5, "strut_balance_arm": 0.5}
    mount = load("mount-prismatic").mechanism.with_parameters(balanced)
    return deck_loads(mount, (1, 0, 0), TIMES, report_ship(stabilized=True) if at_sea else None)


def _force(found: Recording, k: int) -> np.ndarray:
    """Return the force of a jack: along its own axis, which points from the strut."""
    return np.asarray(-found[f"leg{k}.Fz"])


def jacks() -> Reproduction:
    """Return figures 10.20 and 10.21."""
    parts, made = [], []
    for at_sea, words in ((False, "without ship motion"), (True, "with ship motion")):
        found = _loads(at_sea)
        lines = [Series(TIMES, _force(found, k), f"Actuator {k}") for k in (1, 2)]
        parts.append(Panel(lines, "Time (sec)", "Force (N)", words, y_range=(-800, 1500)))
    for t, printed in ((0.0, "303.18 0.00"), (2.5, "705.59 -366.36"), (12.0, "-207.12 -350.16")):
        k = int(np.argmin(np.abs(TIMES - t)))
        ours = [_force(_loads(True), j)[k] for j in (1, 2)]
        names = [f"with the ship, t = {t:g} s: jack {j}" for j in (1, 2)]
        made += checks(names, printed, ours, unit="N", recomputed=True)
    made.append(
        Check("without: jack 1", "443.62", _force(_loads(False), 1)[0], "N", recomputed=True)
    )
    made.append(
        Check(
            "with: greatest of jack 1",
            "1355.99",
            np.abs(_force(_loads(True), 1)).max(),
            "N",
            recomputed=True,
        )
    )
    return Reproduction(parts, made, across=2, note="Strut balanced by 130.63 kg m.")  # fmt: skip


def reactions() -> Reproduction:
    """Return figures 10.22 to 10.29: what four neighbors do to the platform."""
    parts, made = [], []
    peaks = dict(zip(JOINTS, ["441.74", "329.53", "316.66", "2802.05"], strict=True))
    rest = dict(zip(JOINTS, ["241.64", "33.54", "33.54", "1442.60"], strict=True))
    for number, name in JOINTS.items():
        for at_sea, words in ((False, "without"), (True, "with")):
            force = _loads(at_sea)[name]
            what = f"Links {min(int(number), 3)} and {max(int(number), 3)}"
            parts.append(
                Panel(
                    [Series(TIMES, force)],
                    "Time (sec)",
                    "Force (N)",
                    f"{what}, {words} ship motion",
                    y_range=(0, 1.1 * float(peaks[number])),
                )
            )
        still, moved = (_loads(x)[name] for x in (False, True))
        made.append(Check(f"3-{number}, without", rest[number], still[0], "N", recomputed=True))
        made.append(
            Check(
                f"3-{number}, with: greatest",
                peaks[number],
                moved.max(),
                "N",
                recomputed=True,
                within=2e-4 * float(peaks[number]),
                why=WHY,
            )
        )
    return Reproduction(
        parts, made, across=2,
        note="Four joints in equilibrium at every instant: twelve equations in twelve unknowns.",
    )  # fmt: skip
