"""Tracking at 1 kHz with the mount whose jacks tilt a strut: how much faster than real time."""

from __future__ import annotations

import time

import numpy as np

import linkwright as lw
from bench.measure import Row
from linkwright.motion import Trajectory, hermite

TITLE = "Tracking a pass with mount-prismatic at 1 kHz"

SECONDS, SPEED, HEIGHT = 60.0, 7500.0, 400e3


def overhead() -> Trajectory:
    """Return the directions of a satellite that flies straight on through the zenith."""
    t = np.linspace(0.0, SECONDS, 121)
    v = np.array([SPEED, 0.0, 0.0])
    p = (t - SECONDS / 2)[:, None] * v + np.array([0.0, 0.0, HEIGHT])
    r = np.linalg.norm(p, axis=1, keepdims=True)
    d = p / r
    away = (d @ v)[:, None]
    rate = (v - d * away) / r
    return hermite(t, d, rate, (-2 * away * rate - d * (v @ v - away**2) / r) / r)


def run() -> list[Row]:
    """Measure a run on one core, by the time that the processor spent on it."""
    s = lw.mounts.track_pass(lw.load("mount-prismatic"), overhead())
    rows = []
    for form in ("auto", "independent"):
        made = lw.simulate(s, 0.01, method="rk4", form=form, every=20)
        found = []
        for _ in range(3):
            before = time.process_time()
            made = lw.simulate(s, SECONDS, method="rk4", form=form, every=20)
            found.append(SECONDS / (time.process_time() - before))
        speed = float(np.median(found))
        note = f"pointing error {np.degrees(made['pointing error'].max()):.2g} deg at most"
        rows.append(Row(f"times real time, form {form}", speed, "1", 30.0, "higher", note))
    return rows
