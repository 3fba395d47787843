"""A PUMA 560 with a compliant wrist that comes down on a wave and follows it, pressing with 5 N.

The arm knows nothing of the wave. It comes down at 50 mm/s under position control; when the wrist
has deflected by 2 mm it changes to hybrid control at ticks of 28 ms: force along z and about x and
y of the flange, compensated position along the others, while the specified place goes ahead at
20 mm/s. The tool's weight is taken off what the wrist shows.
"""

from __future__ import annotations

import math
from typing import Literal

from linkwright.blocks import sampled
from linkwright.control import ComputedTorque, Hybrid
from linkwright.elements import CompliantWrist, Contact, Wave
from linkwright.elements.tool_weight import WeightCompensation
from linkwright.mechanism.shapes import Box, Cylinder
from linkwright.models.puma560 import arm, rotors
from linkwright.system import System

_START = (0.0, 0.744634, -3.271435, 0.0, -0.614798, 0.0)
"""Joints with the flange at (0.55, -0.15, 0.6) m, its z down and its x backward."""
_TOOL = 0.1
"""From the flange to the tip, m."""
_GAP = 0.02
_MASS = 0.1
_AMPLITUDE, _LENGTH = 0.01, 0.2
_FLOOR = -0.08
"""Height of the floor on which arm and table stand, m."""
_JOINTS = ("q1", "q2", "q3", "q4", "q5", "q6")


def build(form: Literal["joint", "cartesian"] = "joint") -> System:
    """Return the arm over the wave.

    >>> s = build()
    >>> list(s.members)
    ['wrist', 'weight', 'law', 'servo', 'wave']
    """
    m = arm(drives=False, torques=False, name="puma-on-wave")
    m.doc = "PUMA 560 that follows a wave with a compliant wrist, pressing with 5 N"
    flange = m.bodies["link6"]
    probe = m.body(
        "probe", parent=flange, at=(0, 0, _TOOL), translate="xyz", rotate="xyz", mass=_MASS,
        inertia=1e-4, shape=[Cylinder(0.012, _TOOL, at=(0, 0, -_TOOL / 2), color="gold")],
    )  # fmt: skip
    rotors(m)
    m.set_initial(dict(zip(_JOINTS, _START, strict=True)))
    m.set_timing(10.0, step=1 / 4000)
    mean = 0.6 - _TOOL - _GAP - _AMPLITUDE
    m.shape(flange, Cylinder(0.028, 0.02, at=(0, 0, 0.01), color="graphite"))
    m.shape(None, Cylinder(0.12, 0.02, at=(0, 0, _FLOOR + 0.01), color="gray"))
    m.shape(None, *_strips(mean), _table(mean - _AMPLITUDE - 0.004))
    s = System(m)
    wrist = CompliantWrist(m, flange, probe, [500] * 3 + [8] * 3, [3] * 3 + [0.05] * 3)
    s.add(wrist)
    weight = s.add(WeightCompensation(m, flange, _MASS, sensor=wrist))
    law = Hybrid(
        m, wrist, force="z rx ry", push={"z": 5.0}, KF=0.2, Kp=1.0, filter=0.8, form=form,
        approach={"z": 0.05}, threshold={"z": 0.002}, joints=_JOINTS,
    )  # fmt: skip
    added = s.add(law, rate=sampled(period=0.028), name="law")
    servo = s.add(ComputedTorque(m, 1e4, 200.0, joints=_JOINTS), rate=1000, name="servo")
    s.connect(weight.wrench, added.wrench)
    s.connect(added.command, servo.target)
    s.connect(added.command_rate, servo.target_rate)
    s.connect(-0.02, added.feed[0])  # the flange's x points backward
    surface = Wave(_AMPLITUDE, _LENGTH, center=(0.5, 0.0, mean))
    s.add(Contact(m, [probe], surface, stiffness=1e5, dissipation=1.0, name="wave"))
    return s


def _table(top: float) -> Box:
    """Return what the wave lies on."""
    high = top - _FLOOR
    return Box((0.4, 0.2, high), at=(0.65, -0.15, _FLOOR + high / 2), color="gray")


def _strips(mean: float) -> list[Box]:
    """Return what the wave is drawn with."""
    count, start, width = 40, 0.45, 0.4
    step = width / count
    found = []
    for k in range(count):
        x = start + (k + 0.5) * step
        angle = 2 * math.pi * (x - 0.5) / _LENGTH
        height = _AMPLITUDE * math.sin(angle)
        slope = math.atan(_AMPLITUDE * 2 * math.pi / _LENGTH * math.cos(angle))
        long = step / math.cos(slope)
        found.append(
            Box(
                (1.02 * long, 0.2, 0.004), at=(x, -0.15, mean + height - 0.002),
                turn=("y", -slope), color="steel",
            )
        )  # fmt: skip
    return found
