"""SL 5: tasks of the sample arm."""

from __future__ import annotations

import numpy as np

from linkwright.lab.lab import Lab
from linkwright.recording import Recording
from linkwright.reproduce.reproduction import Check, Panel, Reproduction, Series

JOINTS = ["SFE", "SAA", "HR", "EB", "WR", "WFE", "WAA", "TL", "TV", "FAA"]


def recorded(*lines: str) -> Recording:
    """Return what a laboratory of the sample arm has recorded of lines of its console."""
    with Lab("sl-arm") as lab:
        for line in lines:
            lab.do(line)
        lab.recorder.stop()
        found = lab.recorder.last
    assert found is not None
    return found


def sine() -> Reproduction:
    """Return the task of section 5.7.3 that follows default.sine, from when it follows it."""
    found = recorded("st sine", "run 2")
    speeds, accelerations = (
        np.array([np.abs(found[f"R_{joint}_des_{what}"]).max() for joint in JOINTS])
        for what in ("thd", "thdd")
    )
    angles = [Series(found.times, found[f"R_{joint}_th"], joint) for joint in ("SFE", "SAA", "EB")]
    rates = [Series(found.times, found[f"R_{joint}_thd"], joint) for joint in ("SFE", "SAA", "EB")]
    made = [
        Check(f"R_{joint}: largest {what}", text, float(value), unit, recomputed=True)
        for joint, *values in zip(JOINTS, speeds, accelerations, strict=True)
        for what, text, value, unit in (
            ("speed", "0.62832", values[0], "rad/s"),
            ("acceleration", "3.94784", values[1], "rad/s^2"),
        )
    ]
    return Reproduction(
        [Panel(angles, "time - s", "th - rad"), Panel(rates, "time - s", "thd - rad/s")],
        made,
        note="One sine each of 0.1 rad and 1 Hz: 0.2 pi rad/s and 0.4 pi^2 rad/s^2.",
    )
