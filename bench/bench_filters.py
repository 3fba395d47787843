"""Kalman filters of a drive, in native runs, against a NumPy loop and filterpy."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from bench.measure import Row, interleaved
from linkwright import drives
from linkwright.control import KalmanFilter, SteadyKalmanFilter
from linkwright.simulation.native.session import Session
from linkwright.system import Phases, System

TITLE = "Filters"
_STEPS, _PEER_STEPS = 200_000, 500
_SENSOR = {"amplifier.v": 0.05, "motor.speed": 1.0, "motor.angle": 0.02, "load.angle": 0.002}


def run() -> list[Row]:
    """Time one drive with its filter: a run of the drive alone is not taken off."""
    rows = []
    for what, kind, bar in (
        ("time-varying", KalmanFilter, 1e6),
        ("steady", SteadyKalmanFilter, 4e6),
    ):
        quiet, noisy = _phases(kind, False), _phases(kind, True)
        times = interleaved(
            {
                "ours": partial(_native, quiet),
                "noisy": partial(_native, noisy),
                "numpy": lambda: _numpy_loop(_PEER_STEPS),
                "filterpy": lambda: _filterpy_loop(_PEER_STEPS),
            },
            rounds=5,
            clock=time.process_time,
        )
        ours, noisy_time = times["ours"] / _STEPS, times["noisy"] / _STEPS
        theirs, other = times["numpy"] / _PEER_STEPS, times["filterpy"] / _PEER_STEPS
        note = (
            f"7 states, 4 sensors, 2 kHz; with 8 noises a step {1 / noisy_time:.3g} steps/s; "
            f"filterpy {1 / other:.3g} steps/s"
        )
        rows.append(Row(f"drive with {what} filter", 1 / ours, "steps/s", bar, "higher", note))
        if kind is KalmanFilter:
            rows.append(
                Row(
                    f"the same by a NumPy loop's {1 / theirs:.3g} steps/s",
                    theirs / ours,
                    "1",
                    100,
                    "higher",
                )
            )
    return rows


def _native(phases: Phases) -> object:
    return Session(phases, _STEPS / 2000, every=0).run()


def _chain(noisy: bool) -> Any:
    process = {"amplifier.v": 1e-2, "motor.i": 1e-2, "motor.speed": 5e-2, "load.speed": 1e-3}
    noise = drives.DriveNoise(process=process, sensors=_SENSOR)
    return drives.Chain(
        drives.PD(8, 0.02),
        drives.Lag(10, 1e-3),
        drives.DC(R=1, L=2e-3, kt=0.05, J=1e-4, b=1e-5),
        drives.Elastic(50, stiffness=500, damping=2),
        drives.Inertia(0.5, 0.1),
        noise=noise if noisy else None,
        sensors=list(_SENSOR),
        reference=0.5,
        rate=2000,
    )


def _phases(kind: type[KalmanFilter | SteadyKalmanFilter], noisy: bool) -> Phases:
    m = _chain(True).matrices()
    s = System(name="drive", base=2000)
    joint = s.add(_chain(noisy))
    f = s.add(kind(m.Phi, m.H, m.Q, m.R, theta=m.Theta, rate=2000))
    s.connect(joint.Z, f.z)
    for source, port in zip([*joint.R, *joint.Z], f.u, strict=True):
        s.connect(source, port)
    return s.phases(record=["kalman.x[6]"])


def _numpy_loop(steps: int) -> float:
    """Step the drive and its filter in Joseph's form, as one writes it with NumPy."""
    m = _chain(True).matrices()
    x, y, P, one = np.zeros(7), np.zeros(7), 100.0 * np.eye(7), np.eye(7)
    gain = float(m.gains[0]) * 0.5
    for _ in range(steps):
        z = m.H @ x
        K = P @ m.H.T @ np.linalg.inv(m.H @ P @ m.H.T + m.R)
        y = y + K @ (z - m.H @ y)
        rest = one - K @ m.H
        P = rest @ P @ rest.T + K @ m.R @ K.T
        alpha = np.concatenate([[gain], z])
        x, y = m.Phi @ x + m.Theta @ alpha, m.Phi @ y + m.Theta @ alpha
        P = m.Phi @ P @ m.Phi.T + m.Q
    return float(y[6])


def _filterpy_loop(steps: int) -> float:
    from filterpy.kalman import KalmanFilter as Peer

    m = _chain(True).matrices()
    f = Peer(dim_x=7, dim_z=4, dim_u=5)
    f.F, f.H, f.Q, f.R, f.B = m.Phi, m.H, m.Q, m.R, m.Theta
    f.x, f.P = np.zeros((7, 1)), 100.0 * np.eye(7)
    x, gain = np.zeros(7), float(m.gains[0]) * 0.5
    for _ in range(steps):
        z = m.H @ x
        f.update(z[:, None])
        alpha = np.concatenate([[gain], z])
        x = m.Phi @ x + m.Theta @ alpha
        f.predict(alpha[:, None])
    return float(f.x[6, 0])
