"""AUTOSIM 9.4 and 9.5: two spacecraft."""

from __future__ import annotations

import numpy as np

from linkwright.reproduce.entries.motions import curve, motion, samples, states
from linkwright.reproduce.reproduction import Check, Panel, Reproduction

ATTITUDE = {"b.rx": "Q(4)", "b.ry": "Q(5)", "b.rz": "Q(6)"}
_NOTE = (
    "Midpoint steps of 0.02 s, as printed. Thrusters switch by a dead band: a limit cycle that "
    "other steps shift."
)


def attitude() -> Reproduction:
    """Return figure 9.4.7: the attitude of spacecraft 1 in its slew."""
    run = motion("spacecraft-1", 30.0, 0.02)
    known = {
        "b.rx": {5.0: "1.365", 10.0: "2.251", 30.0: "-2.212"},
        "b.ry": {5.0: "-2.074", 10.0: "-2.454", 30.0: "2.458"},
        "b.rz": {5.0: "0.745", 10.0: "1.811", 30.0: "1.093"},
    }
    made = []
    for channel, label in ATTITUDE.items():
        made += samples(run, channel, known[channel], label, "mrad", 1e3, recomputed=True)
    largest = max(float(np.abs(run[c]).max()) for c in ATTITUDE)
    made.append(Check("largest angle", "0.0025", largest, "rad", at_most=True,
                      why="the dead band of the thrusters"))  # fmt: skip
    made += samples(run, "c", {15.0: "3.75"}, "clock", "rad")
    made += samples(run, "d", {15.0: "-0.40"}, "camera", "rad")
    panel = Panel(
        [curve(run, c, label) for c, label in ATTITUDE.items()], "Time - sec", "Rotation - rad"
    )
    return Reproduction([panel], made, note=_NOTE)


def boom() -> Reproduction:
    """Return figure 9.4.8: the deflection of the boom of spacecraft 1 in its slew."""
    run = motion("spacecraft-1", 30.0, 0.02)
    largest = max(float(np.abs(run[c]).max()) for c in "ef") * 1e3
    made = [Check("largest deflection", "0.17", largest, "mrad", at_most=True, recomputed=True)]
    curves = [curve(run, "e", "Q(9)"), curve(run, "f", "Q(10)")]
    return Reproduction([Panel(curves, "Time - sec", "Rotation - rad")], made, note=_NOTE)


ANTENNAS = ("a1", "a2", "a3", "a4")


def spinning() -> Reproduction:
    """Return figure 9.5.3: 1000 s of spacecraft 2."""
    run = motion("spacecraft-2", 1000.0, 0.5, "rk4")
    late = states(run, ANTENNAS, 200.0, ".0048764 .0147685 .0054541 -.0155180", recomputed=True)
    last = states(run, ANTENNAS, 1000.0, ".0049071 .0120323 .0053227 -.0123097", recomputed=True)
    rates = states(
        run, ("w.r", "w.q", "w.p"), 1000.0, "1.7017708e-3 5.0766e-5 2.22034e-4", recomputed=True
    )
    speeds = states(
        run, ("w.u", "w.v", "w.w"), 1000.0, "1.8397e-5 -2.1761e-5 -2.136e-6", recomputed=True
    )
    body = [("w.u", "U(1)"), ("w.v", "U(2)"), ("w.w", "U(3)")]
    turn = [("w.r", "U(4)"), ("w.q", "U(5)"), ("w.p", "U(6)")]
    panels = [
        Panel([curve(run, c, n) for c, n in body], "Time - sec", "Speed - m/s"),
        Panel([curve(run, c, n) for c, n in turn], "Time - sec", "Angular Speed - rad/s"),
        Panel([curve(run, c, f"Q({k})") for k, c in enumerate(ANTENNAS, 7)], "Time - sec",
              "Rotation - rad"),
    ]  # fmt: skip
    return Reproduction(panels, [*late, *last, *rates, *speeds])
