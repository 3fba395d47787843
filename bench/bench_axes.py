"""Servo axes: 16 of them with everything on, their motors, and a snapshot at every tick."""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from bench.measure import Row, interleaved
from linkwright.blocks import Block
from linkwright.control import AxisController
from linkwright.control.axis.ports import PARTS
from linkwright.simulation.native.session import Session
from linkwright.system import Phases, System

TITLE = "Axes"
_AXES, _TICKS = 16, 50_000
_SHOWN = ("current", "inow", "error", "fbnow", "vel", "adcval")
_ON = {
    "coulcomp": 1.0, "adoff": 1.0, "poschk": 1.0, "softerr": 1.0, "ic_pos": 20.0, "ic_neg": 20.0,
    "ilim": 1500.0, "ilimmax": 50.0, "plo": -6000.0, "phi": 6000.0, "adc_a": 2.0, "adc_b": -3.0,
}  # fmt: skip


def run() -> list[Row]:
    """Time the integer form, the SI form, and the SI form with all its parts."""
    names = [f"axis{k}" for k in range(_AXES)]
    whole = AxisController(
        names,
        integers=True,
        start=_ON
        | {
            "mode": 2.0,
            "a0": 50.0,
            "a1": -20.0,
            "b0": 4.0,
            "b1": -3.0,
            "ipole": 900.0,
            "enable": 1.0,
        }
        | {"clkdivisor": [1 + k % 2 for k in range(_AXES)]},
    )
    real = {k: v / 1000 if k in ("ic_pos", "ic_neg", "ilim", "plo", "phi") else v
            for k, v in _ON.items()} | {"ipole": 0.9}  # fmt: skip
    plain = AxisController(names, kp=2.0, ki=4.0, kd=0.05, start=real, rate=1000)
    more = {"following": 3.0, "rated": 1.0, "overload": 9.0, "lowest": -5.0, "highest": 5.0,
            "deceleration": 50.0, "kv": 0.1, "ka": 0.01, "release": 0.1}  # fmt: skip
    full = AxisController(names, kp=2.0, ki=4.0, kd=0.05, start=real | more, also=PARTS, rate=1000)
    sessions = {
        what: _session(_phases(block, block.integers))
        for what, block in (("integers", whole), ("SI", plain), ("SI with all parts", full))
    }
    times = interleaved(
        {what: partial(_native, session) for what, session in sessions.items()},
        rounds=5,
        clock=time.process_time,
    )
    note = f"{_AXES} axes, motors k/(s(Js+B)), {len(_SHOWN) * _AXES} channels a snapshot"
    return [
        Row(f"{what}: ticks in a second", _TICKS / seconds, "1/s", 500_000, "higher", note)
        for what, seconds in times.items()
    ]


def _phases(block: AxisController, integers: bool) -> Phases:
    """Return the controller with a sampled motor at each axis, exact for a held current."""
    s = System(name="axes")
    axes = s.add(block, rate=1000)
    motor = s.add(motors(_AXES, 200.0 if integers else 4.0, 20.0, 1.0, 0.001), rate=1000)
    s.connect(axes.current, motor.i)
    s.connect(motor.counts if integers else motor.angle, axes.encoder)
    s.connect(["5*sin(3*t)" if not integers else "floor(20*sin(3*t))"] * _AXES, axes.demand)
    return s.phases([f"axes.{key}[{k}]" for key in _SHOWN for k in range(_AXES)])


def motors(count: int, k: float, inertia: float, friction: float, period: float) -> Block:
    """Return motors k/(s(Js+B)), stepped exactly from one tick to the next."""
    block = Block("motor")
    i = block.input_vector("i", count)
    lag = float(np.exp(-friction * period / inertia))
    gain, slope = k / friction, period - inertia / friction * (1 - lag)
    angles = []
    for n in range(count):
        angle, speed = block.discrete_state(f"angle_of[{n}]"), block.discrete_state(f"speed[{n}]")
        block.update(angle, angle + (inertia / friction * (1 - lag)) * speed + gain * slope * i[n])
        block.update(speed, lag * speed + gain * (1 - lag) * i[n])
        angles.append(angle)
    block.output_vector("angle", angles)
    block.output_vector("counts", [f"floor(angle_of[{n}])" for n in range(count)])
    return block


def _session(phases: Phases) -> Session:
    """Return a run that takes a snapshot at every tick."""
    session = Session(phases, phases.tick_seconds, every=1)
    session.advance()
    return session


def _native(session: Session) -> None:
    """Run so many ticks more; snapshots are taken away in chunks."""
    session.extend(session.tick + _TICKS)
    while not session.done:
        session.advance()
