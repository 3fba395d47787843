"""Kalman filters against plain ones: any covariance, any sensors, any rate, modes of any speed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.linalg import block_diag, expm, solve_continuous_lyapunov, solve_discrete_are

import linkwright as lw
from linkwright.algebra.triples import combination
from linkwright.blocks.discretization import van_loan
from linkwright.control import KalmanFilter
from linkwright.control.nonlinear_filters import ExtendedKalmanFilter, UnscentedKalmanFilter
from linkwright.system.step_models import step_model
from tests.seeds import cases, seeds

M, N = 3, 3  # sensors, states


def _covariance(random: np.random.Generator, kind: int) -> np.ndarray:
    """Random noise of sensors: alone, in groups, in a common cause, without any."""
    root = random.normal(size=(M, M)) * (random.random((M, M)) < (0.5 if kind == 3 else 1.0))
    if kind == 0:
        root[:, 1:] = 0.0  # one cause of all
    elif kind == 1:
        root[random.integers(M)] = 0.0  # one of them is exact
    return np.asarray(root @ root.T + (1e-3 * np.eye(M) if kind == 2 else 0.0))


def _plain(
    x: np.ndarray, P: np.ndarray, z: np.ndarray, H: np.ndarray, R: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Correct by all sensors at once; directions without spread tell nothing."""
    S = H @ P @ H.T + R
    inverse = np.linalg.pinv(S, rcond=1e-11, hermitian=True)
    K, news = P @ H.T @ inverse, z - H @ x
    rest = np.eye(len(x)) - K @ H
    return x + K @ news, rest @ P @ rest.T + K @ R @ K.T, float(news @ inverse @ news)


@pytest.mark.parametrize(
    "kind", cases(["linear", "extended", "unscented"], daily=["linear", "unscented"])
)
def test_any_sensors_may_be_silent_whatever_the_noise_they_share(kind: str) -> None:
    for seed in seeds(4 if kind == "linear" else 2):
        random = np.random.default_rng(seed)
        phi = np.linalg.qr(random.normal(size=(N, N)))[0] * 0.95
        h, R, q = (
            random.normal(size=(M, N)),
            _covariance(random, seed % 4),
            np.diag(random.random(N)),
        )
        given: dict[str, Any] = {"initial": [0.0] * N, "covariance": 2.0, "rate": 10, "truth": True}
        if kind == "linear":
            made = KalmanFilter(phi, h, q, R, **given)
        else:
            walk = lw.Block("walk")
            states = [walk.discrete_state(f"x{i}") for i in range(N)]
            for i in range(N):
                walk.update(states[i], combination(phi[i], states))
            for k in range(M):
                walk.output(f"z{k}", combination(h[k], states))
            own = lw.System(name="own", base=10)
            own.add(walk, rate=10)
            model = step_model(own, [f"walk.z{k}" for k in range(M)], Fraction(1, 10))
            assert model.states == tuple(f"walk.x{i}" for i in range(N))
            made = {"extended": ExtendedKalmanFilter, "unscented": UnscentedKalmanFilter}[kind](
                model, q, R, **given
            )
        s = lw.System(name="s", base=10)
        f = s.add(made)
        number = "floor(10*t + 0.5)"
        for k in range(M):  # every set of sensors has its turn
            s.connect(f"sin({k + 2}*t) + {k}", f.z[k])
            s.connect(f"floor({number}/{2**k}) - 2*floor({number}/{2 ** (k + 1)})", f.used[k])
        run = lw.simulate(s, 0.8, every=1)
        x, P = np.zeros(N), 2.0 * np.eye(N)
        for n, t in enumerate(run.times):
            rows = [k for k in range(M) if n >> k & 1]
            z = np.array([np.sin((k + 2) * t) + k for k in rows])
            x, P, nis = _plain(x, P, z, h[rows], R[np.ix_(rows, rows)])
            for i in range(N):
                told = run[f"kalman.x[{i}]"][n], run[f"kalman.sigma[{i}]"][n]
                wanted = x[i], np.sqrt(max(P[i, i], 0.0))
                assert told == pytest.approx(wanted, abs=2e-6), (seed, rows)
            assert run["kalman.nis"][n] == pytest.approx(nis, rel=1e-5, abs=1e-9), (seed, rows)
            x, P = phi @ x, phi @ P @ phi.T + q


def _stiff(random: np.random.Generator) -> np.ndarray:
    """A random stable plant, with modes from slow to very fast."""
    size = 10 ** random.uniform(-1, 3.5, 2)
    angle = random.uniform(0.3, 1.4)
    turn = -size[1] * np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    shape = np.eye(3) + 0.3 * random.normal(size=(3, 3))
    return np.asarray(shape @ block_diag(-size[0], turn) @ np.linalg.inv(shape))


@pytest.mark.parametrize("kind", ["time-varying", "extended", "unscented"])
def test_a_linear_plant_is_followed_exactly_whatever_its_modes_and_the_rate(kind: Any) -> None:
    for seed in seeds(3, daily=1):
        random = np.random.default_rng(seed)
        A, rate = _stiff(random), int(10 ** random.uniform(0, 3))
        forced = random.normal(size=3) * 10
        plant = lw.Block("p")
        states = [plant.state(f"x{i}", initial=float(i)) for i in range(3)]
        for i in range(3):
            plant.derivative(states[i], combination(A[i], states) + float(forced[i]))
        model = lw.System(name="model")
        model.add(plant)
        s = lw.System(name="s", base=rate)
        density = {"p.x0": 1.0, "p.x1": 2.0, "p.x2": 0.5}
        f = lw.control.kalman(
            model, {"p.x1": 0.1}, kind, rate=rate, density=density, covariance=1.0
        )
        f = s.add(f)
        s.connect("2 + sin(t)", f.z[0])
        run = lw.simulate(s, 20 / rate, every=1)
        F, still = expm(A / rate), np.linalg.solve(A, -forced)
        spread = solve_continuous_lyapunov(A, -np.diag([1.0, 4.0, 0.25]))
        Q, h = spread - F @ spread @ F.T, np.array([[0.0, 1.0, 0.0]])
        x, P = np.arange(3.0), np.eye(3)
        for n, t in enumerate(run.times):
            x, P, _ = _plain(x, P, np.array([2 + np.sin(t)]), h, np.array([[0.01]]))
            for i in range(3):
                told = run[f"kalman.x[{i}]"][n], run[f"kalman.sigma[{i}]"][n]
                assert told == pytest.approx((x[i], np.sqrt(P[i, i])), rel=1e-4, abs=1e-5), seed
            x, P = still + F @ (x - still), F @ P @ F.T + Q


def test_the_noise_of_a_long_step_is_that_of_many_short_ones() -> None:
    for seed in seeds(20):
        random = np.random.default_rng(seed)
        A, step = _stiff(random), 10 ** random.uniform(-3, 2)
        spread = solve_continuous_lyapunov(A, -np.diag([1.0, 4.0, 0.25]))
        F = expm(A * step)
        wanted = spread - F @ spread @ F.T
        found = van_loan(A, np.diag([1.0, 4.0, 0.25]), step)
        np.testing.assert_allclose(found, wanted, atol=1e-7 * np.abs(wanted).max())


@pytest.mark.parametrize("rate", cases([1, 10, 100, 1000, 10_000], daily=[10, 1000]))
def test_an_observer_at_a_rate_knows_the_noise_between_its_instants(rate: int) -> None:
    """Its gain is that of the Riccati equation with the covariance that the noise has in a period.

    And it goes from instant to instant by the matrix exponential, whatever the rate.
    """
    random = np.random.default_rng(rate)
    m = lw.Mechanism("cart")
    cart = m.body("cart", translate="x", mass=1)
    m.force("push", m.input("F"), at=cart, along="x")
    m.output("place", "cart")
    c, k = random.uniform(0.2, 2), random.uniform(0.5, 50)
    m.passive(cart, damping=c, stiffness=k)
    A, H, h = np.array([[0.0, 1.0], [-k, -c]]), np.array([[1.0, 0.0]]), 1 / rate
    root, seen = random.normal(size=(2, 2)), random.uniform(0.1, 2)
    noise, F = root @ root.T, expm(A * h)
    spread = solve_continuous_lyapunov(A, -noise)
    Q = spread - F @ spread @ F.T
    P = solve_discrete_are(F.T, H.T, (Q + Q.T) / 2, np.array([[seen / h]]))
    K = P @ H.T / (P[0, 0] + seen / h)
    observer = lw.control.Observer(lw.linearize(m), noise, seen, rate=rate)
    np.testing.assert_allclose(observer.gain.gain, K, rtol=1e-5, atol=1e-7 * np.abs(K).max())
    s = lw.System(name="s", base=rate)
    member = s.add(observer)
    s.connect(["1.0", "0.3"], member.u)
    run = lw.simulate(s, 20 * h, every=1)
    x, still = np.zeros(2), np.array([1 / k, 0.0])
    for n in range(20):
        told = [run[f"observer.y[{i}]"][n] for i in range(2)]
        np.testing.assert_allclose(told, x, rtol=1e-5, atol=1e-9)
        x = still + F @ (x + K[:, 0] * (0.3 - x[0]) - still)
