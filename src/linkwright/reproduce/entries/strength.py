"""Mounts 3: the strength of legs, arms and yoke, as beams held at one end."""

from __future__ import annotations

import numpy as np

from linkwright.mounts import deck_loads
from linkwright.parallel.beams import buckling_load, root_stress, tip_deflection
from linkwright.reproduce.reproduction import Check, Panel, Reproduction, Series

ALUMINIUM, STEEL = 70e9, 200e9


def _moments(force: float, length: float, title: str) -> Panel:
    x = np.linspace(0.0, length, 50)
    return Panel([Series(x, -force * (length - x))], "x - m", "M - N m", title)


def leg() -> Reproduction:
    """Return the numbers of section 3.4: 175 kg on a leg 0.85 m from the column."""
    force, length, bending = 1715.0, 0.85, 7.35e-5
    stress = root_stress(force, length, bending, 0.075) / 1e6
    bent = tip_deflection(force, length, bending, ALUMINIUM) * 1e3
    return Reproduction(
        [_moments(force, length, "Bending moment of a leg of the base")],
        [
            Check(
                "largest moment",
                "-1460",
                -force * length,
                "N m",
                within=5.0,
                why="printed to its tens",
            ),
            Check("largest bending stress", "1.5", stress, "MPa"),
            Check("deflection", "0.07", bent, "mm"),
        ],
        note="1460 N m is printed to three digits.",
    )


def arms_and_yoke() -> Reproduction:
    """Return the numbers of sections 3.5 to 3.7: 145 kg lifted by the arms and the upper yoke."""
    force, arm, yoke = 1425.0, 0.8416, 0.12
    lower, upper = (tip_deflection(force, arm, i, ALUMINIUM) * 1e3 for i in (1.02e-5, 3.34e-6))
    stress = root_stress(force, yoke, 3.07e-7, 0.0125) / 1e6
    bent = tip_deflection(force, yoke, 3.07e-7, STEEL) * 1e3
    return Reproduction(
        [_moments(force, arm, "Arms"), _moments(force, yoke, "Yoke of the upper joint")],
        [
            Check(
                "largest moment of the arms",
                "-1200",
                -force * arm,
                "N m",
                within=5.0,
                why="printed to its tens",
            ),
            Check("deflection of the lower arm", "0.4", lower, "mm"),
            Check("deflection of the upper arm", "1.2", upper, "mm"),
            Check("largest moment of the yoke", "-171", -force * yoke, "N m"),
            Check("bending stress of the yoke", "7", stress, "MPa"),
            Check("deflection of the yoke", "0.013", bent, "mm"),
        ],
        across=2,
        note="1200 N m is printed to three digits.",
    )


def strut() -> Reproduction:
    """Return section 3.10: what the printed load asks of the strut, and what the strut carries."""
    lengths = np.linspace(0.6, 1.2, 61)
    asked = 695e3 * 0.98**2 / (np.pi**2 * ALUMINIUM)
    loads = [buckling_load(float(x), asked, ALUMINIUM) / 1e3 for x in lengths]
    carried = float(deck_loads("mount-prismatic", (1, 0, 0), [0.0])["strut_cross"][0])
    return Reproduction(
        [Panel([Series(lengths, loads)], "length of the strut - m", "buckling load - kN")],
        [
            Check("second moment that 695 kN asks for", "0.966", asked * 1e6, "1e-6 m4",
                  recomputed=True, why="the strut of 0.98 m, pinned at both ends"),
            Check("buckling load at 1.2 m", "463.5", loads[-1], "kN", recomputed=True),
            Check("what the strut carries at the horizon", "1442.6", carried, "N",
                  recomputed=True),
            Check("share of 695 kN", "0.01", carried / 695e3, at_most=True,
                  why="'much higher than the expected loading'"),
        ],
        note="The section of the strut is lost in the scan: 695 kN cannot be computed, only what "
        "it asks for.",
    )  # fmt: skip
