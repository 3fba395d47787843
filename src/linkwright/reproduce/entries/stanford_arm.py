"""AUTOSIM 9.6: the Stanford arm."""

from __future__ import annotations

from linkwright.reproduce.entries.motions import curve, motion, states
from linkwright.reproduce.reproduction import Panel, Reproduction

POSES = {
    1.0: ".372638 1.473753 .058902 .404829 .409831 .661287",
    2.0: ".722569 1.359125 .085873 .670800 .665907 .906722",
    5.0: "1.024869 1.138826 .098439 .977822 .970145 1.040425",
    10.0: "1.047165 1.056017 .099954 1.043205 1.040888 1.047144",
}


def controlled() -> Reproduction:
    """Return figure 9.6.4: the coordinates of the arm under control."""
    run = motion("stanford-arm-controlled", 10.0, 0.002, "rk4", every=5)
    made = [c for t, row in POSES.items() for c in states(run, "abcdef", t, row, recomputed=True)]
    panels = [
        Panel([curve(run, c, f"Q({'abcdef'.index(c) + 1})") for c in group], "Time - sec", label)
        for group, label in (
            ("abd", "Rotation - rad"),
            ("ef", "Rotation - rad"),
            ("c", "Translation - m"),
        )
    ]
    note = "MB is illegible in the scan: 6 kg. Targets are pi/3 rad and 0.1 m."
    return Reproduction(panels, made, note=note)
