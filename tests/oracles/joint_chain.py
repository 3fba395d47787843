"""V10 and V11 of ROBSIM in plain NumPy: the chain of a joint's drive, block by block.

State [u | v | i, ω_m, θ_m | δ | ω_L, θ_L]; sensors v, ω_m, θ_m, θ_L. Written from the formulas of
the digest (3.10 to 3.13), apart from the product, as an oracle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

Array = NDArray[np.float64]
STEP = 5e-4
PROCESS = np.array([1e-3, 1e-2, 1e-2, 5e-2, 1e-5, 1e-6, 1e-3, 1e-6])
"""Deviations of the noise on the states, per step."""
SENSOR = np.array([0.05, 1.0, 0.02, 0.002])
"""Deviations of the noise of the sensors."""
SIGMAX = np.array(
    [1e-3, 0.0128213, 0.0195851, 0.219657, 0.00294446, 1.49057e-4, 7.06573e-3, 1.67323e-4]
)
"""V11: the deviations at which the filter settles."""
STATES = ("u", "v", "i", "omega_m", "theta_m", "delta", "omega_L", "theta_L")


def _held(a: Any, b: Any) -> tuple[Array, Array]:
    """Return φ and θ of a block with inputs that hold."""
    A, B = np.atleast_2d(a).astype(float), np.atleast_2d(b).astype(float)
    n, m = B.shape
    whole = np.zeros((n + m, n + m))
    whole[:n, :n], whole[:n, n:] = A, B
    found = expm(whole * STEP)
    return found[:n, :n], found[:n, n:]


def blocks() -> tuple[Array, Array]:
    """Return φ of all blocks, and θ from their inputs u | u | v, T | ω_m, ω_L | T."""
    L, R, K, J, b = 2e-3, 1.0, 0.05, 1e-4, 1e-5
    n, JL, bL = 50.0, 0.5, 0.1
    phi = np.zeros((8, 8))
    theta = np.zeros((8, 7))
    theta[0, 0] = 1.0
    phi[1:2, 1:2], theta[1:2, 1:2] = _held([[-1e3]], [[1e4]])
    motor = [[-R / L, -K / L, 0], [K / J, -b / J, 0], [0, 1, 0]]
    phi[2:5, 2:5], theta[2:5, 2:4] = _held(motor, [[1 / L, 0], [0, -1 / (n * J)], [0, 0]])
    phi[5:6, 5:6], theta[5:6, 4:6] = _held([[0.0]], [[1 / n, -1.0]])
    phi[6:8, 6:8], theta[6:8, 6:7] = _held([[-bL / JL, 0], [1, 0]], [[1 / JL], [0]])
    return phi, theta


def chain(update: str = "simultaneous") -> tuple[Array, Array, Array, Array]:
    """Return Φ, Θ, H and Q of V10 and V11; the inputs are [R; z] of the step before."""
    phi, theta = blocks()
    n, k, c = 50.0, 500.0, 2.0
    reads = np.zeros((7, 8))  # block inputs from states
    torque = np.array([0, 0, 0, c / n, 0, k, -c, 0])
    reads[1, 0] = reads[2, 1] = 1.0
    reads[3] = reads[6] = torque
    reads[4, 3] = reads[5, 6] = 1.0
    H = np.zeros((4, 8))
    for row, column in enumerate((1, 3, 4, 7)):
        H[row, column] = 1.0
    gains = np.array([0.0, -0.02, 0.0, -8.0])
    alpha = np.zeros((8, 5))
    alpha[0, 0], alpha[0, 1:] = 1.0, gains
    Q = np.diag(PROCESS**2)
    if update == "simultaneous":
        return phi + theta @ reads, alpha, H, Q
    home = np.array([0, 1, 2, 2, 3, 3, 4])  # the block of an input, and of a state
    source = np.array([0, 1, 2, 2, 2, 3, 4, 4])
    early = np.where(source[None, :] < home[:, None], reads, 0.0)
    F = np.linalg.inv(np.eye(8) - theta @ early)
    return F @ (phi + theta @ (reads - early)), F @ alpha, H, F @ Q @ F.T
