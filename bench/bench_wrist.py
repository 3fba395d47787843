"""A PUMA 560 with a compliant wrist that follows a wave, in one program on one core.

The arm has rotors and computed torque at 1 kHz; the wrist six coordinates; the hybrid law runs at
1 kHz with its Jacobian solved at every tick; the surface has 1e5 N/m. The sensor of six
potentiometers, closed by Newton's method at every tick, is timed with it and without it.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

import linkwright as lw
from bench.measure import Row, interleaved
from linkwright.elements import (
    CompliantWrist,
    Contact,
    Wave,
    WeightCompensation,
    WristPotentiometers,
    WristReading,
)
from linkwright.models.puma560 import arm, rotors

TITLE = "A PUMA with a wrist on a wave"
_JOINTS = ("q1", "q2", "q3", "q4", "q5", "q6")
_START = (0.0, 0.744634, -3.271435, 0.0, -0.614798, 0.0)
_STIFFNESS, _DAMPING = [500.0] * 3 + [8.0] * 3, [3.0] * 3 + [0.05] * 3
_SECONDS = 4.0


def cell(sensor: bool) -> lw.System:
    """Return the arm over the wave, whose law reads the wrist itself or its potentiometers."""
    m = arm(drives=False, torques=False)
    flange = m.bodies["link6"]
    tool = m.body(
        "tool", parent=flange, at=(0, 0, 0.1), translate="xyz", rotate="xyz", mass=0.1,
        inertia=1e-4,
    )  # fmt: skip
    rotors(m)
    m.set_initial(dict(zip(_JOINTS, _START, strict=True)))
    s = lw.System(m)
    wrist = CompliantWrist(m, flange, tool, _STIFFNESS, _DAMPING)
    s.add(wrist)
    source: lw.Block = wrist
    if sensor:
        pots = WristPotentiometers(wrist, resolution=1e-4, noise=1e-5, backlash=1e-4)
        s.add(pots, rate=1000)
        source = WristReading(_STIFFNESS, sensor=pots)
        s.add(source, rate=1000)
    weight = s.add(WeightCompensation(m, flange, 0.1, sensor=source))
    law = lw.control.Hybrid(
        m, wrist, force="z rx ry", push={"z": 5.0}, KF=0.02, Kp=0.5, filter=0.95,
        approach={"z": 0.05}, threshold={"z": 0.004}, joints=_JOINTS,
    )  # fmt: skip
    hybrid = s.add(law, rate=1000)
    servo = s.add(lw.control.ComputedTorque(m, 1e4, 200.0, joints=_JOINTS), rate=1000)
    s.connect(weight.wrench, hybrid.wrench)
    s.connect(hybrid.command, servo.target)
    s.connect(hybrid.command_rate, servo.target_rate)
    s.connect(-0.02, hybrid.feed[0])  # the flange's x points backward
    wave = Wave(0.01, 0.2, center=(0.5, 0.0, 0.47))
    s.add(Contact(m, [tool], wave, stiffness=1e5, dissipation=1.0))
    return s


def run() -> list[Row]:
    """Return the table."""
    cells = {"wrist": cell(False), "potentiometers": cell(True)}
    steps: dict[str, Any] = {"method": "rk4", "step": 1 / 4000}
    times = interleaved(
        {name: partial(lw.simulate, s, _SECONDS, **steps) for name, s in cells.items()},
        rounds=5,
        clock=time.process_time,
    )
    rows = []
    for name, s in cells.items():
        found = lw.simulate(s, _SECONDS, **steps)
        late = found["contact.normal1"][found.times > 1.5]
        error = float(np.abs(late - 5.0).max())
        note = f"rk4 at 4 kHz; force within {error:.2f} N of 5 after 1.5 s"
        faster = _SECONDS / times[name]
        bar = 20 if name == "wrist" else None
        what = f"PUMA, hybrid law at 1 kHz, contact of 1e5 N/m, read from {name}"
        rows.append(Row(what, faster, "times real time", bar, "higher", note=note))
    return rows
