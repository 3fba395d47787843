"""JNTMOD: the model of one joint, from its controller to its load."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwright.elements import drives
from linkwright.reproduce.entries.motions import samples
from linkwright.reproduce.reproduction import Check, Panel, Reproduction, Series
from linkwright.simulation import simulate
from linkwright.system import System

ANGLES = {
    "simultaneous": ("0.202350815", "0.398703699", "0.480405214", "0.499737386", "0.499999389"),
    "sequential": ("0.2052987", "0.3956842", "0.4810164", "0.4997114", "0.4999995"),
}
TIMES = (0.1, 0.2, 0.5, 1.0, 2.0)


def chain(**more: Any) -> drives.Chain:
    """Return the joint of the digest's case V10."""
    motor = drives.DC(R=1, L=2e-3, kt=0.05, J=1e-4, b=1e-5)
    gear = drives.Elastic(50, stiffness=500, damping=2)
    load = drives.Inertia(0.5, 0.1)
    return drives.Chain(drives.PD(8, 0.02), drives.Lag(10, 1e-3), motor, gear, load, **more)


def joint() -> Reproduction:
    """Return figure A3-2: controller, amplifier, motor, power train and load in a loop."""
    made, curves = [], []
    for update, printed in ANGLES.items():
        system = System(name="joint")
        system.add(chain(rate=2000, update=update, reference=0.5))
        run = simulate(system, 2.0, every=1).recording
        known = dict(zip(TIMES, printed, strict=True))
        made += samples(run, "joint.load.angle", known, update, "rad", recomputed=True)
        curves.append(Series(run.times, run["joint.load.angle"], update))
        if update == "simultaneous":
            volts = float(np.abs(run["joint.amplifier.v"]).max())
            amperes = float(np.abs(run["joint.motor.i"]).max())
            made.append(Check("largest voltage", "37.8306", volts, "V", recomputed=True))
            made.append(Check("largest current", "31.7332", amperes, "A", recomputed=True))
    panel = Panel(curves, "TIME - s", "load angle - rad", "Step of 0.5 rad")
    note = "The document prints no run; the constants are the digest's, whose loop is its own."
    return Reproduction([panel], made, note=note)
