"""Motion server, 2.3: dynamics in the background, servo in the foreground."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwright.control import ComputedTorque
from linkwright.mechanism import Mechanism
from linkwright.reproduce.reproduction import Check, Panel, Reproduction, Series
from linkwright.simulation import simulate
from linkwright.system import System

WAYS = (("j0", 0.6, 0.0), ("j1", 0.8, 1.0))
FOUND = {1: "0.0006089", 5: "0.003466", 28: "0.019415"}


def _arm() -> Mechanism:
    m = Mechanism("two-links")
    links: dict[str, Any] = {"mass": 1.0, "com": (0.25, 0, 0), "inertia": (0, 0, 0.02)}
    first = m.body("j0", rotate="z", **links)
    m.body("j1", parent=first, at=(0.5, 0, 0), rotate="z", **links)
    m.gravity(along="-y")
    return m


def _tracking(milliseconds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times, and the larger of both joints' errors."""
    m, w = _arm(), math.pi
    s = System(m)
    law = ComputedTorque(m, kp=100, kd=20, background=1000 / milliseconds,
                                    speeds="frozen")  # fmt: skip
    servo = s.add(law, rate=1000)
    start: dict[str, float] = {}
    for k, (name, size, phase) in enumerate(WAYS):
        angle = f"({w}*t + {phase})"
        s.connect(f"{size}*sin{angle}", servo.target[k])
        s.connect(f"{size * w}*cos{angle}", servo.target_rate[k])
        s.connect(f"{-size * w**2}*sin{angle}", servo.target_acceleration[k])
        start |= {name: size * math.sin(phase), f"{name}_dot": size * w * math.cos(phase)}
    run = simulate(s, until=2.0, initial=start, every=1)
    wanted = {name: size * np.sin(w * run.times + phase) for name, size, phase in WAYS}
    return run.times, np.max([abs(run[name] - x) for name, x in wanted.items()], axis=0)


def errors() -> Reproduction:
    """Return the error of a two-link arm over the interval of its background."""
    curves, made = [], []
    for milliseconds, printed in FOUND.items():
        times, error = _tracking(milliseconds)
        curves.append(Series(times, 1e3 * error, f"{milliseconds} ms"))
        made.append(Check(f"largest error after 0.5 s, {milliseconds} ms", printed,
                          float(error[times >= 0.5].max()), "rad", recomputed=True))  # fmt: skip
    note = (
        "The report prints no numbers for it. These are of an arm of two links with 1 kHz in the "
        "foreground, integrated apart in NumPy, to half a percent."
    )
    panel = Panel(curves, "time - s", "error - mrad", "Interval of the background",
                  logarithmic=True, y_range=(1e-3, 1e2))  # fmt: skip
    return Reproduction([panel], made, note=note)
