"""What a laboratory tells of itself agrees with kinematics that are computed another way."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwright.base.errors import Error, InputError
from linkwright.cli import main
from linkwright.formats.robot.description import Place
from linkwright.lab.files.sine_files import parse_sines
from linkwright.lab.lab import Lab
from linkwright.lab.tasks import Task

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """An arm in the middle of a fall, so that everything moves."""
    with Lab("sl-arm", folder=tmp_path_factory.mktemp("lab")) as made:
        made.do("run 0.2")
        yield made


def placed(place: Place) -> Array:
    """Return a place as a homogeneous matrix."""
    made = np.eye(4)
    made[:3, :3], made[:3, 3] = place.rotation, place.position
    return made


def turned(axis: Any, angle: float) -> Array:
    """Return a rotation by the formula of Rodrigues."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    made = np.eye(4)
    made[:3, :3] += np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    return made


def chain(lab: Lab, q: dict[str, float]) -> dict[str, Array]:
    """Return where each link is, joint by joint from the description."""
    description = lab.config.description
    poses = {description.root: np.eye(4)}
    left = list(description.joints)
    while left:
        for joint in [j for j in left if j.parent in poses]:
            turn = turned(joint.axis, q[joint.name]) if joint.kind != "weld" else np.eye(4)
            poses[joint.child] = poses[joint.parent] @ placed(joint.place) @ turn
            left.remove(joint)
    return poses


def test_joints_end_effectors_vertices_and_links_agree(lab: Lab) -> None:
    """SL check 76."""
    joints = lab.do("where").data
    q = {name: joint["th"] for name, joint in joints.items()}
    assert list(q.values()) == list(lab.state.q)
    poses = chain(lab, q)
    links = lab.do("linfo").data
    for joint in lab.config.description.joints:
        pose, told = poses[joint.child], links[joint.child]
        mass = next(k.mass for k in lab.config.description.links if k.name == joint.child)
        assert told["origin"] == pytest.approx(pose[:3, 3], abs=1e-12)
        assert told["axis"] == pytest.approx(pose[:3, :3] @ joint.axis, abs=1e-12)
        assert mass is not None
        assert told["mass"] == mass.mass
        assert told["cog"] == pytest.approx(pose[:3, :3] @ mass.center + pose[:3, 3], abs=1e-12)
    frames = {frame.name: frame for frame in lab.config.description.frames}
    vertices = lab.do("lwhere").data
    assert len(vertices) == 11
    for name, told in vertices.items():
        frame = frames[lab.config.vertices[name]]
        place = (poses[frame.link] @ placed(frame.place))[:3, 3]
        assert told["x"] == pytest.approx(place, abs=1e-12)
    (hand,) = lab.config.end_effectors
    told = lab.do("cwhere").data["R_HAND"]
    assert told["x"] == pytest.approx(vertices["HAND"]["x"], abs=1e-9)

    def at(step: float) -> Array:
        moved = {n: j["th"] + step * j["thd"] + step**2 * j["thdd"] / 2 for n, j in joints.items()}
        pose = chain(lab, moved)[hand.link]
        place: Array = pose[:3, :3] @ np.array(hand.x) + pose[:3, 3]
        return place

    h = 1e-4
    assert np.linalg.norm(told["xd"]) > 0.01
    assert told["xd"] == pytest.approx((at(h) - at(-h)) / (2 * h), abs=1e-6)
    assert told["xdd"] == pytest.approx((at(h) - 2 * at(0) + at(-h)) / h**2, abs=1e-5)
    assert np.linalg.norm(told["q"]) == pytest.approx(1.0)


def test_what_is_shown_is_what_the_data_say(lab: Lab) -> None:
    """SL check 76."""
    for name in ("where", "where_des", "cwhere", "lwhere", "linfo"):
        told = lab.do(name)
        head, *lines = told.text.splitlines()
        assert len(lines) == len(told.data)
        for line, (key, fields) in zip(lines, told.data.items(), strict=True):
            first, *shown = line.split()
            numbers = np.hstack([np.ravel(value) for value in fields.values()])
            assert first == key
            assert [float(x) for x in shown] == pytest.approx(numbers, abs=6e-5)
            assert len(head.split()) == len(line.split())


def test_a_script_tells_what_came_of_it_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "outMenu duration=0.1; scds; run 0.25; where; quit; run 9"
    assert main(["lab", "open", "sl-arm", "-c", words, "--folder", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["lab"], told["tick"], told["time"]) == ("sl-arm", 240, 0.25)
    assert [each["command"].split()[0] for each in told["commands"]] == [
        "outMenu",
        "scds",
        "run",
        "where",
        "quit",
    ]
    assert len(told["commands"][3]["data"]) == 10
    assert (tmp_path / "d00001").is_file()
    assert told["servos"]["task"]["ticks"] == 120
    assert [r["file"] for r in told["recordings"]] == [str(tmp_path / "d00001")]
    session = Path(told["session"])
    assert session.parent == tmp_path
    again = ["lab", "open", "--from", f"{session}@0.1", "-c", "run 0.1", "--folder", str(tmp_path)]
    assert main([*again, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tick"] == 192
    assert main(["lab", "open", "--from", f"{session}@soon", "-c", "run 0.1"]) == 2
    assert main(["lab", "open", "-c", "run 0.1"]) == 2


def test_every_command_runs_on_a_laboratory(lab: Lab) -> None:
    """SL check 75. Each command of the table does what it says, one after the other."""
    tip = "R_EB"
    lines = {
        "man": "setTask",
        "reset": "reset",
        "st sine": "sine runs",
        "run 0.1": " s",
        "changeTaskParm": "no parameters",
        "freeze": "frozen",
        "redo": "runs again",
        "stop a test": "stopped: a test",
        "reset ": "reset",
        f"go {tip}=80deg": "1.3963",
        "go0": "1.5700",
        f"step {tip} 0.1 0.1": "step of R_EB",
        "freeze ": "frozen",
        "blob blob1 0.35 -0.5 -0.3": "blob1 at",
        "run 0.3": " s",
        "goVisTarget": "R_HAND at 0.35",
        "tasks": "goto-cart",
        "where_off": tip,
        "where_raw": tip,
        "where_base": "sl-arm",
        "where_misc": "no other sensor",
        "bwhere": "blob6",
        "rbwhere": "True",
        "rbwhere2D": "y2",
        "push R_HAND 0 0 -1 seconds=0.1": "R_HAND is pushed with 0, 0, -1 N for 0.1 s",
        "setG z=-1.62": "-1.62",
        "ck pd": "controller pd",
        "mode invdyn": "mode invdyn",
        "toggle_filter": "filters off",
        "toggle_filter on": "filters on",
        "outMenu duration=0.05": "0.05 s",
        "scd": "recording",
        "stopcd": "nothing",
        "scds": "to be saved",
        "mscds 2": "2 recordings",
        "dscd 0.1": "in 0.1 s",
        "run 0.2": " s",
        "saveData": "d0000",
        "status": "invdyn",
        "jitter": "worst",
        "reload": "no task files",
        "pace 0": "as run says",
        "patience 3": "3 ticks",
        "quit": "bye",
    }
    given = {lab.commands[line.split()[0]].name for line in lines}
    for line, words in lines.items():
        assert words in lab.do(line).text, line
    with pytest.raises(Error, match="fixed"):
        lab.do("freezeBase on")
    reported = {"where", "where_des", "cwhere", "lwhere", "linfo", "freezeBase"}
    reported.add("estimate")  # which tests of its own carry out
    assert given | reported == {command.name for command in lab.commands}
    assert "-1.62" in lab.do("status").text


class Stumble(Task):
    """A task that fails after a while."""

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Fail."""
        if t > 0.05:
            raise ValueError("stumbled")


def test_a_task_that_fails_by_the_clock_is_told_and_the_laboratory_goes_on(lab: Lab) -> None:
    told: list[str] = []
    lab.listen(told.append)
    lab.add(Stumble)
    lab.reset()
    lab.pace(1)
    try:
        lab.do("st stumble")
        limit = time.monotonic() + 60
        while lab.task is not None and time.monotonic() < limit:
            time.sleep(0.01)
        assert lab.task is None
        assert any("stumbled" in text and "test_lab_reports.py" in text for text in told)
        before = lab.tick
        lab.do("run 0.1")
        assert lab.tick > before
        assert lab.paced == 1
    finally:
        lab.pace(None)


def test_a_script_that_fails_tells_what_came_of_it_and_saves_what_was_to_be_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names of files are those in the folder; goto's complaint is not blamed on our files."""
    words = "scd; run 0.1; stopcd; saveData x.csv; scds; run 0.1; setTask goto target=1,2"
    folder = tmp_path / "new"
    assert main(["lab", "open", "sl-arm", "-c", words, "--folder", str(folder), "--json"]) == 2
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert len(told["commands"]) == 6
    assert told["error"].endswith("'setTask goto target=1,2': 2 positions for 10 joints")
    assert told["error"] in err
    assert [Path(r["file"]).name for r in told["recordings"]] == ["x.csv", "d00001"]
    assert (folder / "x.csv").is_file()
    again = "scd; run 0.1; saveData x.csv"
    assert main(["lab", "open", "sl-arm", "-c", again, "--folder", str(folder)]) == 2
    err = capsys.readouterr().err
    assert "exists already; choose another name" in err
    assert main(["lab", "open", "sl-arm", "-c", "run 0", "--folder", str(folder / "x.csv")]) == 2
    assert "the folder cannot be made" in capsys.readouterr().err


def test_names_that_are_no_laboratory_say_what_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "open", "nope", "-c", "run 1"]) == 2
    assert (
        "no laboratory or model 'nope'; the laboratories sl-arm and humanoid ship"
        in capsys.readouterr().err
    )
    assert main(["lab", "open", "puma56", "-c", "run 1"]) == 2
    assert "did you mean 'puma560'?" in capsys.readouterr().err
    (tmp_path / "lab.toml").write_text('format = 1\nrobot = "puma560"\n')
    assert main(["simulate", str(tmp_path / "lab.toml")]) == 2
    assert "'robot'; `linkwright lab open` opens a laboratory" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["nan", "-inf"])
def test_sines_that_are_no_finite_numbers_are_named(word: str) -> None:
    with pytest.raises(InputError, match=f"line 2: {word} among the sines of R_EB is not a finite"):
        parse_sines(f"R_EB 1 1.5\n0.1 {word} 1", ["R_EB"])


def test_end_effectors_are_frames_of_the_robot() -> None:
    lab = Lab("sl-arm")  # both are of its first tick
    q = lab.state.q
    places = [lab.config.names.index(name) for name in lab.robot.coordinates]
    hand = lab.robot.position(q[places], "R_HAND")
    assert hand == pytest.approx(lab.cart["R_HAND"].x, abs=1e-9)
    assert np.asarray(lab.robot.jacobian(q[places], "R_HAND")).shape == (6, len(places))
