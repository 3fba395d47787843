"""AUTOSIM 9.1: handling of a passenger car."""

from __future__ import annotations

from linkwright.reproduce.entries.motions import DEGREE, curve, motion, samples
from linkwright.reproduce.reproduction import Panel, Reproduction


def lateral_acceleration() -> Reproduction:
    """Return figure 9.1.9."""
    full, small = (motion(name, 2.0, 0.025) for name in ("car", "car-small"))
    curves = [curve(full, "Ay", "Nonlinear"), curve(small, "Ay", "Small variables")]
    known = {0.0: "0.109977", 0.5: "0.215290", 1.0: "0.261443", 2.0: "0.269506"}
    why = "the output keeps no terms of second order in what is small"
    few = {0.0: "0.109977", 0.5: "0.215172", 1.0: "0.261218", 2.0: "0.269247"}
    return Reproduction(
        [Panel(curves, "Time - sec", "Lateral Acceleration - g's", "Step steer of 1 degree")],
        [
            *samples(full, "Ay", known, "nonlinear", "g's", recomputed=True),
            *samples(
                small, "Ay", few, "small variables", "g's", recomputed=True, within=5e-5, why=why
            ),
        ],
        note="Midpoint steps of 0.025 s, as printed; both curves lie together.",
    )


def yaw_rate() -> Reproduction:
    """Return figure 9.1.10."""
    full, small = (motion(name, 2.0, 0.025) for name in ("car", "car-small"))
    curves = [curve(full, "r", "Nonlinear", DEGREE), curve(small, "r", "Small variables", DEGREE)]
    known = {0.5: "6.22807", 1.0: "6.11997", 2.0: "6.17175"}
    few = {0.5: "6.22385", 1.0: "6.11284", 2.0: "6.16489"}
    roll = ({2.0: "-3.03773"}, {2.0: "-3.04221"})
    return Reproduction(
        [Panel(curves, "Time - sec", "Yaw Rate - deg/s", "Step steer of 1 degree")],
        [
            *samples(full, "r", known, "nonlinear", "deg/s", DEGREE, recomputed=True),
            *samples(small, "r", few, "small variables", "deg/s", DEGREE, recomputed=True),
            *samples(full, "roll", roll[0], "roll, nonlinear", "deg", DEGREE, recomputed=True),
            *samples(small, "roll", roll[1], "roll, small", "deg", DEGREE, recomputed=True),
        ],
    )
