"""What a robot file says of its joints counts by every door alike, and is told.

The machines are random arms with damping and dry friction (`tests.random.own_machines`);
Pinocchio reads the same text, and what joints do by themselves is added by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import linkwright as lw
from linkwright.cli import main
from linkwright.motion import point_to_point
from tests.random.own_machines import Oracle, random_arm, save
from tests.seeds import seeds
from tests.support.late import Late

if TYPE_CHECKING:
    import pinocchio as pin
else:
    pin = Late("pinocchio")

DAMPING, DRY, UNTIL = 0.7, 0.4, 0.05
KINDS = ("revolute", "prismatic")
ROUGH = f'<dynamics damping="{DAMPING}" friction="{DRY}"/>'
SAID = "2 joint(s) have the friction and springs of the file"
SPEEDS = np.array([1.5, 0.6])


@pytest.fixture(params=seeds(1))
def own(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Oracle]:
    text = random_arm(request.param, kinds=KINDS, dynamics=ROUGH)
    return save(tmp_path, text), Oracle(text)


def rubbed(u: np.ndarray) -> np.ndarray:
    return np.asarray(DAMPING * u + DRY * np.sign(u))


def accelerations(oracle: Oracle, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    return np.array(pin.aba(oracle.model, oracle.model.createData(), q, u, -rubbed(u)))


def copies(file: Path) -> dict[str, Any]:
    """The machine as everything that describes it."""
    robot = lw.Robot(file)
    save(file.parent, lw.write_model(robot.mechanism), "own.toml")
    made: dict[str, Any] = {"file": str(file), "Robot": robot}
    made["System"] = lw.System(str(file))
    lw.convert(file, file.parent / "own.xml")
    made["own.xml"] = str(file.parent / "own.xml")
    return {**made, "text": str(file.parent / "own.toml")}


def test_runs(own: tuple[Path, Oracle], capsys: pytest.CaptureFixture[str]) -> None:
    """Of whatever describes the machine, one by one, in batches and by the command line."""
    file, oracle = own
    names = list(lw.Robot(file).coordinates)
    start = dict(zip((f"{n}_dot" for n in names), SPEEDS, strict=True))

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[2:], accelerations(oracle, y[:2], y[2:])])

    first, fine = np.concatenate([0 * SPEEDS, SPEEDS]), {"rtol": 1e-10, "atol": 1e-12}
    y = solve_ivp(rates, (0, UNTIL), first, method="DOP853", dense_output=True, **fine)
    slow = y.t[(y.y[2:] * np.sign(SPEEDS)[:, None] <= 0).any(axis=0)]  # where a joint would stick
    until = round(0.8 * y.t[y.t < slow[0]][-1], 4) if len(slow) else UNTIL
    end = dict(zip((*names, *start), y.sol(until), strict=True))
    assert all(np.sign(end[n]) == np.sign(start[n]) for n in start)  # nothing sticks
    for kind, model in copies(file).items():
        run = lw.simulate(model, until=until, initial=start)
        assert {n: run.final[n] for n in end} == pytest.approx(end, abs=2e-7), kind
        if kind in ("file", "Robot"):
            batch = lw.simulate_batch(model, until, initial=start)
            assert {n: batch[n].flat[-1] for n in end} == pytest.approx(end, abs=1e-5), kind
            assert any(SAID in note for note in run.report)
    asked = [x for n, v in start.items() for x in ("--initial", f"{n}={v}")]
    main(["simulate", str(file), "--until", str(until), *asked, "-o", str(file.parent / "o.csv")])
    told = lw.load(file.parent / "o.csv")
    assert {n: told[n][-1] for n in end} == pytest.approx(end, abs=2e-7)
    assert SAID in capsys.readouterr().out


def test_dynamics(own: tuple[Path, Oracle]) -> None:
    """Torques and accelerations of robots, what tasks ask for, linear models."""
    file, oracle = own
    rng = np.random.default_rng(4)
    q, u, a = rng.uniform(-0.1, 0.1, (3, 2))
    want = oracle.torques(q, u, a) + rubbed(u)
    plain = oracle.torques(q, u, a)
    task = point_to_point([0.0] * 2, [0.1, 0.05], 0.2)
    for kind, model in copies(file).items():
        if kind == "System":
            continue
        robot = model if isinstance(model, lw.Robot) else lw.Robot(model)
        assert robot.inverse_dynamics(q, u, a) == pytest.approx(want, abs=1e-10), kind
        if kind != "file":
            continue
        assert robot.forward_dynamics(q, u, want) == pytest.approx(a, abs=1e-8), kind
        need, names = lw.sizing.require(robot, task, step=0.02), robot.coordinates
        rows = [[need[n + of][3] for n in names] for of in ("", "_dot", ".acceleration")]
        x, v, b = map(np.array, rows)
        shown = [need[f"{n}.torque"][3] for n in names]
        assert shown == pytest.approx(oracle.torques(x, v, b) + rubbed(v), abs=1e-9), kind
        assert need.notes == (f"{SAID}: {', '.join(names)}",)
    bare = lw.Robot(file, friction=False)
    assert bare.inverse_dynamics(q, u, a) == pytest.approx(plain, abs=1e-10)
    m = pin.crba(oracle.model, oracle.model.createData(), np.zeros(2))
    m = np.triu(m) + np.triu(m, 1).T
    held = lw.linearize(str(file)).a[2:, 2:]
    assert held == pytest.approx(-DAMPING * np.linalg.inv(m), rel=1e-6, abs=1e-8)
