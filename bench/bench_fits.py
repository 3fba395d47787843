"""Drives fitted to recordings: errors, how often the truth is in the interval, and the time."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from bench.measure import Row
from linkwright import drives
from linkwright.blocks import Block
from linkwright.elements.drives import Chain
from linkwright.recording import Channel, Recording
from linkwright.robots.identification import fit_drive
from linkwright.simulation import simulate
from linkwright.system import System

TITLE = "Drives from recordings"
_SEEDS = 20
_MOTOR = {"R": 1.0, "L": 2e-3, "kt": 0.05, "J": 1e-4, "b": 2e-5, "coulomb": 0.01}
_TRUTH = {
    **{f"motor.{name}": value for name, value in _MOTOR.items()},
    "train.stiffness": 500.0,
    "train.damping": 2.0,
    "train.gap": 5e-3,
    "load.J": 0.5,
    "load.b": 0.1,
}
_FRICTION = ("motor.b", "motor.coulomb", "load.b", "train.damping")


def run() -> list[Row]:
    """Fit an elastic drive with a gap to 20 s at 1 kHz, from parameters 30 to 40 % off."""
    away: dict[str, list[float]] = {name: [] for name in _TRUTH}
    held: dict[str, int] = dict.fromkeys(_TRUTH, 0)
    times = []
    for seed in range(_SEEDS):
        recording = _recorded(seed)
        start = time.process_time()
        found = fit_drive(recording, _drive(0.7 if seed % 2 else 1.4))
        times.append(time.process_time() - start)
        for name, truth in _TRUTH.items():
            low, high = found[name].confidence
            away[name].append(abs(found[name].value / truth - 1))
            held[name] += low <= truth <= high
    worst = {name: max(values) for name, values in away.items()}
    firm = max((n for n in worst if n not in _FRICTION), key=lambda n: worst[n])
    rough = max(_FRICTION, key=lambda n: worst[n])
    least = min(held, key=lambda n: held[n])
    note = "20 s at 1 kHz, 12-bit current with 10 mA of noise, two encoders of 4096 lines"
    return [
        Row(
            f"largest error of {_SEEDS} seeds",
            100 * worst[firm],
            "%",
            3,
            "lower",
            f"{firm}; {note}",
        ),
        Row("the same, friction", 100 * worst[rough], "%", 6, "lower", rough),
        Row(f"truth in the 95 % interval, of {_SEEDS}", held[least], "1", 16, "higher", least),
        Row("one fit, eleven parameters", statistics.median(times), "s"),
    ]


def _drive(factor: float = 1.0) -> Chain:
    motor: dict[str, Any] = {name: factor * value for name, value in _MOTOR.items()}
    gear = drives.Elastic(50, stiffness=factor * 500, damping=factor * 2, gap=factor * 5e-3)
    load = drives.Inertia(factor * 0.5, factor * 0.1)
    return Chain(
        drives.PD(1.0, 0.0), drives.Ideal(1.0), drives.DC(**motor), gear, load, closed=False
    )


def _recorded(seed: int) -> Recording:
    generator = np.random.default_rng(seed)
    source = Block("source", rate=1000)
    for k, phase in enumerate(generator.uniform(0, 2 * np.pi, 6)):
        source.parameter(f"phase{k}", float(phase))
    lines = zip((4, 4, 4, 3, 3, 3), (0.3, 0.9, 2.3, 5.1, 9.7, 21.0), range(6), strict=True)
    source.output("v", "+".join(f"{a}*sin({2 * np.pi * f}*t + phase{k})" for a, f, k in lines))
    s = System(name="bench", base=1000)
    joint = s.add(_drive())
    s.connect(s.add(source).v, joint.reference)
    names = ["source.v", "joint.motor.i", "joint.motor.angle", "joint.load.angle"]
    run = simulate(s, 20.0, record=names, every=1, method="rk4", step=1 / 8000)
    v, i, *angles = (run[name] for name in names)
    i = np.round((i + 0.01 * generator.normal(size=len(i))) / (40 / 4096)) * (40 / 4096)
    count = 2 * np.pi / 16384
    units = {"amplifier.v": "V", "motor.i": "A", "motor.angle": "rad", "load.angle": "rad"}
    columns = np.column_stack([v, i, *(np.round(a / count) * count for a in angles)])
    return Recording(run.times, [Channel(n, u) for n, u in units.items()], columns)
