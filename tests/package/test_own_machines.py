"""Machines that ship nowhere, through every application, against other computations."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import linkwright as lw
from linkwright.cli import main
from linkwright.recording import read_recording
from tests.random.own_machines import Oracle, random_arm, save
from tests.seeds import cases, seeds
from tests.support.late import Late

if TYPE_CHECKING:
    import pinocchio as pin
else:
    pin = Late("pinocchio")

Array = NDArray[np.float64]
DAMPING, FRICTION = 0.7, 0.4
FILES = ("own.urdf", "own.toml", "own.xml")
JOINTS = 3
SLIDES = ("revolute", "prismatic", "revolute")
ARMS = [*((s, ()) for s in seeds(2, daily=1)), (seeds(1)[0] + 50, SLIDES)]
UNTIL = 0.15


@cache
def text(seed: int, kinds: tuple[str, ...], friction: float = 0.0) -> str:
    dynamics = f'<dynamics damping="{DAMPING}" friction="{friction}"/>'
    return random_arm(seed, JOINTS, kinds, dynamics=dynamics)


def brought(folder: Path, seed: int, kinds: tuple[str, ...], friction: float = 0.0) -> list[Path]:
    """The arm as URDF, and what `convert` makes of it."""
    first = save(folder, text(seed, kinds, friction))
    for name in FILES[1:]:
        assert main(["model", "convert", str(first), str(folder / name), "--force"]) == 0
    return [folder / name for name in FILES]


def told(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    capsys.readouterr()
    assert main([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def start(seed: int, count: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.15, 0.25, count), rng.uniform(-0.3, 0.3, count)


def rates(oracle: Oracle, q: Array, u: Array) -> Array:
    """Accelerations of the free arm by Pinocchio, with the damping of the file."""
    data = oracle.model.createData()
    found = pin.aba(oracle.model, data, oracle.configuration(q), u, -DAMPING * u)
    return np.array(found)


@pytest.mark.parametrize(("seed", "kinds"), ARMS)
def test_a_free_motion_is_the_same_by_every_door(
    seed: int, kinds: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    oracle = Oracle(text(seed, kinds))
    files = brought(tmp_path, seed, kinds)
    robot = lw.Robot(files[0])
    names = list(robot.coordinates)
    q, u = start(seed, len(names))

    def slope(_: float, x: Array) -> Array:
        return np.concatenate([x[JOINTS:], rates(oracle, x[:JOINTS], x[JOINTS:])])

    def free(until: float) -> Any:
        return solve_ivp(
            slope, (0, until), [*q, *u], "DOP853", rtol=1e-10, atol=1e-12, events=at_a_stop
        )

    def at_a_stop(_: float, x: Array) -> float:
        return oracle.room(x[:JOINTS])

    at_a_stop.terminal = True  # type: ignore[attr-defined]
    until = 0.9 * float(free(UNTIL).t[-1])  # no joint is at the end of its range until then
    true = free(until).y[:JOINTS, -1]
    for file in cases(files, daily=files[:1] if kinds else files[1:]):
        other = lw.Robot(file)
        assert main(["model", "check", str(file)]) == 0
        own = list(other.coordinates)
        assert len(own) == len(names)
        speeds = [f"{n}_dot" for n in own]
        initial = dict(zip([*own, *speeds], map(float, [*q, *u]), strict=True))
        given = [w for n, v in initial.items() for w in ("--initial", f"{n}={v!r}")]
        out = tmp_path / f"{file.suffix[1:]}.csv"
        said = told(capsys, "simulate", file, "--until", until, *given, "-o", out)
        assert not said.get("stopped"), said
        by_command = read_recording(out)
        doors = {
            "command": [by_command[n][-1] for n in own],
            "robot": [lw.simulate(other, until, initial=initial).final[n] for n in own],
            "path": [lw.simulate(str(file), until, initial=initial).final[n] for n in own],
            "batch": [lw.simulate_batch(other, until, runs=2, initial=initial)[n][1] for n in own],
        }
        for door, found in doors.items():
            assert found == pytest.approx(true, abs=2e-6), (file.name, door)


@pytest.mark.parametrize(("seed", "kinds"), ARMS[:1])
def test_a_written_program_and_a_linear_model_are_those_of_the_file(
    seed: int, kinds: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    oracle = Oracle(text(seed, kinds))
    files = brought(tmp_path, seed, kinds)[:2]
    for file in cases(files, daily=files[:1]):
        names = list(lw.Robot(file).coordinates)
        found = told(capsys, "analyze", "linearize", file)
        order = [found["states"].index(n) for n in [*names, *(f"{n}_dot" for n in names)]]
        A = np.array(found["A"])[np.ix_(order, order)]
        h, zero = 1e-5, np.zeros(2 * JOINTS)
        columns = []
        for i in range(2 * JOINTS):
            ends = []
            for sign in (1, -1):
                x = zero.copy()
                x[i] = sign * h
                slope = rates(oracle, x[:JOINTS], x[JOINTS:])
                ends.append(np.concatenate([x[JOINTS:], slope]))
            columns.append((ends[0] - ends[1]) / 2 / h)
        assert np.transpose(columns) == pytest.approx(A, rel=1e-5, abs=1e-4 * np.abs(A).max())
        folder = tmp_path / file.suffix[1:]
        assert main(["codegen", str(file), "-o", str(folder), "--methods", "rk4"]) == 0
        par = next(folder.glob("*.par"))
        lines = [x for x in par.read_text().splitlines() if not re.match("STEP|STOPT", x)]
        par.write_text("\n".join([lines[0], "STEP 0.0005", "STOPT 0.1", *lines[1:]]) + "\n")
        source = folder / f"{par.stem}.c"
        compiled = ["gcc", "-O1", source.name, "-lm", "-o", "made"]
        subprocess.run(compiled, cwd=folder, check=True)
        subprocess.run(["./made", par.name, "-f", "final"], cwd=folder, check=True)
        rows = (x.split() for x in (folder / "final").read_text().splitlines())
        final = {x[0]: float(x[1]) for x in rows if len(x) > 1 and x[0] in names}
        run = lw.simulate(str(file), 0.1)
        assert final == pytest.approx({n: run.final[n] for n in final}, abs=1e-6)
        assert len(final) == JOINTS


@pytest.mark.parametrize(("seed", "kinds"), cases(ARMS, daily=ARMS[-1:]))
def test_what_a_task_asks_for_counts_what_the_file_says(
    seed: int, kinds: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    oracle = Oracle(text(seed, kinds))
    peaks = []
    for file in brought(tmp_path, seed, kinds, FRICTION):
        robot = lw.Robot(file)
        names = list(robot.coordinates)
        goals = dict(zip(names, (0.2, -0.15, 0.18), strict=True))
        task = tmp_path / "go.toml"
        listed = ", ".join(f'"{n}" = {v}' for n, v in goals.items())
        part = f'[[part]]\nkind = "move"\nto = {{{listed}}}\nduration = 0.5\n'
        task.write_text(f'format = 1\nname = "go"\n{part}')
        need = lw.sizing.require(robot, lw.Task([lw.motion.Move(goals, 0.5)]))
        rows = [[need.values(n, k) for n in names] for k in ("position", "speed", "acceleration")]
        q, u, a = (np.transpose(r) for r in rows)
        true = np.array([oracle.torques(*x) for x in zip(q, u, a, strict=True)])
        true = true + DAMPING * u + FRICTION * np.sign(u)
        torques = np.transpose([need.values(n, "torque") for n in names])
        inner = slice(2, -2)  # at rest friction may be anything up to its limit
        assert torques[inner] == pytest.approx(true[inner], abs=1e-6), file.name
        said = told(capsys, "analyze", "require", file, task)
        peaks.append([need.statistic(n, "torque").peak for n in names])
        assert str(round(peaks[-1][0], 3))[:4] in json.dumps(said), file.name
    for other in peaks[1:]:
        assert other == pytest.approx(peaks[0], rel=1e-6)


@pytest.mark.parametrize(("seed", "kinds"), ARMS[-1:])
def test_a_page_of_ones_own_machine_is_written(
    seed: int, kinds: tuple[str, ...], tmp_path: Path
) -> None:
    files = brought(tmp_path, seed, kinds)
    for file in cases(files, daily=files[:1]):
        page = tmp_path / f"{file.suffix[1:]}.html"
        assert main(["page", str(file), "-o", str(page)]) == 0
        assert page.stat().st_size > 50_000
