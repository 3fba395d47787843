"""M, C, G and K: published matrices, eigenvalues of the first-order model, gyroscopes, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat
from scipy.linalg import eigvals

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.linear import second_order
from linkwright.linear.linearization import linearize
from linkwright.mechanism import Mechanism
from linkwright.models import load_model


def test_whipple_bicycle_has_the_matrices_of_the_benchmark() -> None:
    """M q'' + v C1 q' + (g K0 + v^2 K2) q = 0 (Meijaard and others 2007)."""
    v, g = 5.0, 9.81
    found = second_order(load_model("whipple"), parameters={"v": v})
    u = [found.speeds.index(n) for n in ("phi_dot", "delta_dot")]
    q = [found.coordinates.index(n) for n in ("phi", "delta")]
    here = np.ix_(u, u)
    m = [[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]]
    c1 = [[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]]
    k0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
    k2 = np.array([[0, 76.59734589573222], [0, 2.65431523794604]])
    assert found.mass[here] == pytest.approx(np.array(m), abs=1e-9)
    speeds = (found.damping + found.gyroscopic)[here]
    assert speeds == pytest.approx(v * np.array(c1), abs=1e-9)
    assert found.stiffness[np.ix_(u, q)] == pytest.approx(g * k0 + v**2 * k2, abs=1e-9)


def spinning(seed: int) -> Mechanism:
    """Return a damped chain of two arms on springs with a flywheel, at random numbers."""
    rng = np.random.default_rng(seed)
    m = Mechanism("spinning")
    a = m.body("a", rotate="x", mass=2, com=(0, 0.1, 0.4), inertia=rng.uniform(0.1, 0.3, 3))
    b = m.body(
        "b",
        parent=a,
        at=(0, 0, 0.7),
        rotate="y",
        mass=1,
        com=(0.1, 0, 0.3),
        inertia=(0.1, 0.2, 0.1),
    )
    m.body("w", parent=b, at=(0, 0, 0.3), rotate="z", mass=0.5, inertia=(0.05, 0.05, 0.2))
    m.moment("ka", f"-{rng.uniform(20, 40)}*a - 0.3*a_dot", on=a, about="x")
    m.moment("kb", f"-{rng.uniform(20, 40)}*b - 0.2*b_dot", on=b, about=b.y, reaction=a)
    return m


@pytest.mark.parametrize("seed", [1, 2])
def test_the_pencil_has_the_eigenvalues_of_the_first_order_model(seed: int) -> None:
    m = spinning(seed)
    at = {"a": 0.1, "b": -0.2, "w_dot": 30.0}
    found, first = second_order(m, at), linearize(m, at)
    assert found.mass == pytest.approx(found.mass.T)
    assert np.linalg.eigvalsh(found.mass).min() > 0
    assert found.gyroscopic == pytest.approx(-found.gyroscopic.T)
    assert np.abs(found.gyroscopic).max() > 1.0
    n = len(found.coordinates)
    zero, one = np.zeros((n, n)), np.eye(n)
    a = np.block([[zero, one], [-found.stiffness, -(found.damping + found.gyroscopic)]])
    ours = eigvals(a, np.block([[one, zero], [zero, found.mass]]))
    theirs = np.linalg.eigvals(first.a)
    nearest = [np.abs(theirs - x).min() for x in ours]
    assert max(nearest) < 1e-5
    assert np.abs(found.load).max() > 0.1


def test_rates_that_are_no_speeds_are_turned_into_coordinates() -> None:
    """Three angles of a free body: M is that of the angles, N^-T I N^-1, here by hand."""
    m = Mechanism("top")
    m.body("top", rotate="zyx", mass=1, inertia=(1.0, 2.0, 3.0))
    pitch, roll = 0.4, 0.3
    found = second_order(m, {"top.ry": pitch, "top.rx": roll})
    s, c, sr, cr = np.sin(pitch), np.cos(pitch), np.sin(roll), np.cos(roll)
    rates = {"top.rz": (-s, c * sr, c * cr), "top.ry": (0, cr, -sr), "top.rx": (1, 0, 0)}
    j = np.array([rates[name] for name in found.coordinates]).T
    assert found.speeds_are_rates
    assert found.mass == pytest.approx(j.T @ np.diag([1, 2, 3]) @ j, abs=1e-12)


def test_files_hold_the_matrices_and_names(tmp_path: Path) -> None:
    found = second_order(spinning(3), {"w_dot": 10.0})
    for name in ("m.npz", "m.mat"):
        found.save(tmp_path / name)
        with pytest.raises(lw.Error, match="exists"):
            found.save(tmp_path / name)
    with np.load(tmp_path / "m.npz") as read:
        assert np.array_equal(read["M"], found.mass)
        assert read["coordinates"].tolist() == list(found.coordinates)
    read = loadmat(tmp_path / "m.mat", squeeze_me=True)
    assert np.array_equal(read["G"], found.gyroscopic)
    assert read["coordinates"].tolist() == list(found.coordinates)
    with pytest.raises(InputError, match=r"name a file \.npz or \.mat"):
        found.save(tmp_path / "m.txt")


def test_the_command_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "small.npz"
    main(["analyze", "linearize", "pendulum", "--second-order", "-o", str(out)])
    assert "M q'' + (C + G) q' + K q = F w + f" in capsys.readouterr().out
    assert out.is_file()
    assert main(["analyze", "linearize", "pendulum", "-o", str(out)]) == 2
    assert "add --second-order" in capsys.readouterr().err


def test_a_system_with_members_is_rejected() -> None:
    m = load_model("pendulum")
    s = lw.System(m)
    s.add(lw.control.PD(m, kp=4, kd=1))
    with pytest.raises(InputError, match=r"has members \(pd\), which have no second-order form"):
        second_order(s)
