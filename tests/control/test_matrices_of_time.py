"""Matrices that change with time: closed forms, and the textbook's recursion of NumPy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import DomainError
from linkwright.blocks import BlockError
from linkwright.control import KalmanFilter, StateSpace, SteadyKalmanFilter
from tests.support.late import Late

sympy = Late("sympy")


def test_a_continuous_system_with_a_matrix_of_time_has_its_closed_form() -> None:
    """x' = -(1 + sin t) x has the solution exp(-(t + 1 - cos t)); y = (2 + t) x."""
    s = lw.System(name="s")
    s.add(StateSpace([["-1 - sin(t)"]], [[0.0]], ["2 + t"], initial=[1.0], name="f"))
    run = lw.simulate(s, until=3.0, tolerance=1e-10)
    t = run.recording.times
    x = np.exp(-(t + 1 - np.cos(t)))
    assert run.recording["f.y"] == pytest.approx((2 + t) * x, rel=1e-7)


Rows = list[list[Any]]
PHI: Rows = [["cos(3*t)", "0.1"], ["-0.1", "0.9 - 0.05*t"]]
THETA: Rows = [["0.1 + 0.1*t"], [0.2]]
H: Rows = [["1 + sin(t)", 0.5]]
D: Rows = [["0.3*t"]]


def at(rows: Rows, t: float) -> np.ndarray:
    """Return a matrix at an instant, read by SymPy."""
    return np.array([[float(sympy.sympify(x).subs("t", t)) for x in row] for row in rows])


def test_a_joint_of_blocks_whose_matrices_change_is_the_recursion_of_its_matrices() -> None:
    """PHI, THETA, C, D and the coupling M as functions of time, at the instants of JNTMOD."""
    rate, gain = 20, "-0.4 - 0.1*t"
    s = lw.System(base=rate, name="s")
    motor = s.add(StateSpace(PHI, THETA, H, D, initial=[1.0, -1.0], name="motor", rate=rate))
    load = s.add(StateSpace([["0.8 + 0.1*sin(t)"]], [["0.2*t"]], [[1.0]], name="load", rate=rate))
    s.connect(motor.y, load.u)
    s.connect(f"0.5*cos(t) + ({gain})*load.y", motor.u)
    run = lw.simulate(s, until=2.0)
    x, w = np.array([1.0, -1.0]), 0.0
    for k in range(40):
        t = k / rate
        u = 0.5 * math.cos(t) + (-0.4 - 0.1 * t) * w
        y = float((at(H, t) @ x)[0] + at(D, t)[0, 0] * u)
        row = int(np.searchsorted(run.recording.times, t - 1e-9))
        assert run.recording["motor.y"][row] == pytest.approx(y, rel=1e-12)
        assert run.recording["load.y"][row] == pytest.approx(w, rel=1e-12, abs=1e-15)
        x = at(PHI, t) @ x + at(THETA, t)[:, 0] * u
        w = (0.8 + 0.1 * math.sin(t)) * w + 0.2 * t * y


def test_a_filter_whose_matrices_change_is_that_of_the_textbook() -> None:
    rate, q, r = 20, 0.02, 0.05
    s = lw.System(base=rate, name="s")
    kalman = s.add(
        KalmanFilter(PHI, H, q, r, theta=THETA, d=D, covariance=4.0, name="k", rate=rate)
    )
    assert isinstance(kalman.block, KalmanFilter)
    assert kalman.block.unobservable == ()
    s.connect("sin(5*t) + 0.2*cos(31*t)", kalman.z)
    s.connect("cos(2*t)", kalman.u)
    run = lw.simulate(s, until=1.5)
    x, P = np.zeros(2), 4.0 * np.eye(2)
    for k in range(30):
        t = k / rate
        h, u = at(H, t), math.cos(2 * t)
        z = math.sin(5 * t) + 0.2 * math.cos(31 * t)
        K = P @ h.T / (h @ P @ h.T + r)
        x = x + K[:, 0] * (z - float((h @ x)[0]) - at(D, t)[0, 0] * u)
        P = (np.eye(2) - K @ h) @ P
        row = int(np.searchsorted(run.recording.times, t - 1e-9))
        assert run.recording["k.x[0]"][row] == pytest.approx(x[0], rel=1e-9)
        assert run.recording["k.sigma[1]"][row] == pytest.approx(math.sqrt(P[1, 1]), rel=1e-9)
        x, P = (
            at(PHI, t) @ x + at(THETA, t)[:, 0] * u,
            at(PHI, t) @ P @ at(PHI, t).T + q * np.eye(2),
        )


def test_a_text_model_may_have_matrices_of_time(tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.write_text(
        'format = 1\nname = "f"\n[[member]]\nname = "f"\nkind = "StateSpace"\n'
        'a = [["-1 - sin(t)"]]\nb = [[0]]\nc = [["2 + t"]]\ninitial = [1.0]\n',
        encoding="utf-8",
    )
    found = lw.simulate(file, until=1.0, tolerance=1e-10).recording["f.y"][-1]
    assert found == pytest.approx(3 * math.exp(-(2 - math.cos(1))), rel=1e-7)


def test_entries_that_are_no_functions_of_time_are_rejected() -> None:
    for a, message in (([["k*t"]], "'k'"), ([["1/t"]], "finite"), ([["t +"]], "end")):
        with pytest.raises(lw.Error, match=message):
            StateSpace(a, [[1.0]], [[1.0]])
    with pytest.raises(DomainError, match="never settles"):
        SteadyKalmanFilter([["0.5 + 0.1*sin(t)"]], [[1.0]], 0.1, 0.1)
    with pytest.raises(BlockError, match="change with time"):
        lw.System(name="s").add(StateSpace([["-t"]], [[1.0]], [[1.0]]), rate=10)
