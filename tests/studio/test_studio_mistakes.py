"""Mistakes that users of the studio and of pages make: one line that helps, and nothing harmed."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.cli import main
from linkwright.pages.page import page_text
from linkwright.recording import Channel, Recording
from linkwright.scene.motions import SceneMotion, open_motion
from linkwright.scene.scene import scene_of
from linkwright.studio.server import Studio, open_studio
from tests.seeds import seldom
from tests.support.lab_robots import planar_file

STILL = """<robot name="stone"><link name="base"><visual><geometry><box size="1 2 3"/></geometry>
</visual></link></robot>
"""


def _error(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the one line with which a command fails."""
    assert main(list(arguments)) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1
    return told


def _table(folder: Path, text: str, name: str = "angles.csv") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


# -- where a page is written, and where a studio serves --------------------------------------------
def test_a_page_never_replaces_what_it_is_made_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "time,phi\n0,0.1\n1,0.2\n"
    table = _table(tmp_path, text)
    told = _error(
        capsys, "page", table, "--model", "pendulum", "-o", f"{tmp_path}/./angles.csv", "--force"
    )
    assert "made from" in told
    assert "angles.html" in told
    with pytest.raises(lw.Error, match="made from"):
        lw.page(table, table)
    assert Path(table).read_text() == text


def test_a_page_without_a_name_is_told_to_have_one() -> None:
    run = lw.simulate(lw.load("pendulum"), 0.1)
    swapped: Any = run
    with pytest.raises(lw.Error, match="a Run is not the name of a file; name the file first"):
        lw.page(swapped, run)


@pytest.mark.parametrize(("out", "words"), [("no/a.html", "no such folder"), ("", "a folder")])
def test_a_place_that_cannot_be_written_is_told_before_the_work(
    out: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in _error(capsys, "page", "pendulum", "-o", str(tmp_path / out))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("port", [-3, 99_999])
def test_a_port_that_cannot_be_is_an_error(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    before = threading.active_count()
    told = _error(capsys, "studio", "pendulum", "--no-browser", "--port", str(port))
    assert f"there is no port {port}" in told
    assert threading.active_count() == before


def test_a_port_that_is_taken_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        told = _error(capsys, "studio", "pendulum", "--no-browser", "--port", str(port))
    assert f"port {port} " in told
    assert "0 for any" in told


def test_an_address_of_another_machine_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    told = _error(
        capsys, "studio", "pendulum", "--no-browser", "--host", "192.0.2.1", "--port", "8080"
    )
    assert "'192.0.2.1'" in told


def test_a_studio_ends_with_its_block() -> None:
    before = threading.active_count()
    with Studio([open_motion("pendulum")]) as studio:
        assert repr(studio) == f"<Studio of pendulum at {studio.address}>"
        assert threading.active_count() > before
        port = studio.port
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


# -- options that would do nothing -----------------------------------------------------------------
def test_options_that_would_do_nothing_are_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--model" in _error(capsys, "page", "pendulum", "--model", "cart")
    told = _error(capsys, "page", "pendulum", "--mesh-dir", "no-such-folder")
    assert "no-such-folder: there is no such folder" in told
    assert "--max-size" in _error(capsys, "page", "pendulum", "--max-size", "-1")


def test_a_parameter_that_is_not_there_is_told_with_those_that_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    m = lw.load("pendulum")
    told = _error(capsys, "page", "pendulum", "--set", "zzz=1")
    assert all(name in told for name in m.parameters)


# -- tables ----------------------------------------------------------------------------------------
def test_a_table_without_rows_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = _table(tmp_path, "time,phi\n")
    told = _error(capsys, "page", table, "--model", "pendulum")
    assert "angles.csv" in told
    assert "the table has no rows of numbers" in told
    assert not (tmp_path / "angles.html").exists()


def test_a_table_without_time_says_how_fast_it_is_played(tmp_path: Path) -> None:
    motion = open_motion(_table(tmp_path, "phi\n0.1\n0.2\n"), model="pendulum")
    assert any("no column 'time'" in note for note in motion.notes)
    timed = open_motion(_table(tmp_path, "time,phi\n0,0.1\n1,0.2\n"), model="pendulum")
    assert timed.notes == ()


@pytest.mark.parametrize("between", [";", "\t"])
def test_decimal_commas_are_read_where_they_part_no_columns(between: str, tmp_path: Path) -> None:
    text = "time;phi [deg]\n0;-10,5\n0,5;1,25e1\n1;\n".replace(";", between)
    motion = open_motion(_table(tmp_path, text), model="pendulum")
    np.testing.assert_allclose(motion.recording.times, [0, 0.5, 1])
    np.testing.assert_allclose(motion.recording["phi"], [-10.5, 12.5, np.nan])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time,phi\n0,0.1\n1,abc\n", "angles.csv:3: 'abc' is not a number\n"),
        ("time;phi\n0;1.000,5\n", "angles.csv:2: '1.000,5' is not a number\n"),
        ("time phi\n0 0.1\n", "angles.csv:2: '0 0.1' is not a number; part columns by commas"),
    ],
)
def test_a_cell_that_is_no_number_is_told_with_its_line(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in _error(capsys, "page", _table(tmp_path, text), "--model", "pendulum")


def test_a_broken_archive_gives_no_advice_to_trust_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = _error(capsys, "page", _table(tmp_path, "\x80\x04 no archive", "run.npz"))
    assert "run.npz" in told
    assert "pickle" not in told
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    assert "'data'" in _error(capsys, "page", str(tmp_path / "other.npz"))


# -- things that cannot move, or are not alike -----------------------------------------------------
def test_a_robot_without_joints_is_shown_and_stands_still(tmp_path: Path) -> None:
    path = _table(tmp_path, STILL, "stone.urdf")
    assert main(["page", path, "-o", str(tmp_path / "stone.html")]) == 0
    assert '"poses"' in (tmp_path / "stone.html").read_text()
    motion = open_motion(path)
    assert "stands still" in motion.story
    open_studio([path]).close()


def test_another_model_on_a_page_is_told_to_have_only_plots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["page", "pendulum", "cart", "--until", "1", "-o", f"{tmp_path}/two.html"]) == 0
    assert "cart is not of 'pendulum': only its plots are shown" in capsys.readouterr().err


def test_long_times_are_told_in_plain_numbers() -> None:
    assert open_motion("spacecraft-2").story.startswith("1,000 s from")


# -- what a note says is so ------------------------------------------------------------------------
def test_a_column_in_a_wrong_unit_is_not_proposed_for_itself(tmp_path: Path) -> None:
    table = _table(tmp_path, "time,phi1 [kg],phi2 [deg]\n0,1,1\n1,2,2\n")
    motion = open_motion(table, model="double-pendulum")
    assert any("'phi1' is in 'kg'" in note for note in motion.notes)
    assert "not recorded, and held at the start: phi1" in motion.notes
    many = _table(tmp_path, "time,X [kg],Y [kg],yaw\n0,1,1,1\n1,2,2,2\n")
    first = open_motion(many, model="cart").notes[0]
    assert first == "X, Y are in 'kg', which is not a unit for them, and are left out"


def test_a_mesh_of_a_package_is_told_with_the_folder_to_declare(tmp_path: Path) -> None:
    text = STILL.replace('<box size="1 2 3"/>', '<mesh filename="package://stones/a/b.stl"/>')
    motion = open_motion(_table(tmp_path, text, "stone.urdf"))
    assert any("declare the folder that holds 'stones'" in note for note in motion.notes)


def test_a_robot_file_that_has_changed_is_not_told_to_be_missing(tmp_path: Path) -> None:
    arm = """<robot name="arm"><link name="base"/><link name="rod"><visual><geometry>
    <mesh filename="rod.stl"/></geometry></visual><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="turn" type="continuous"><parent link="base"/><child link="rod"/></joint></robot>"""
    file = Path(_table(tmp_path, arm, "arm.urdf"))
    lw.simulate(lw.load(file), 0.1).save(tmp_path / "run.npz")
    file.write_text(arm.replace('mass value="1"', 'mass value="2"'))
    notes = open_motion(str(tmp_path / "run.npz")).notes
    assert any("has changed" in note for note in notes)
    assert not any("is not in the folder" in note for note in notes)
    file.unlink()
    notes = open_motion(str(tmp_path / "run.npz")).notes
    assert any("is not in the folder" in note for note in notes)


@seldom(daily="tests/studio/test_studio_page.py::test_a_minute_of_a_humanoid_takes_less_than_3_mb")
def test_long_recordings_fit_into_small_pages() -> None:
    times = np.linspace(0, 100, 100_001)
    channels = [Channel(f"x{k}") for k in range(8)]
    noise = np.random.default_rng(7).normal(size=(len(times), len(channels)))
    text = page_text([SceneMotion("noise", Recording(times, channels, noise))], most=300_000)
    assert len(text.encode()) <= 300_000


# -- what is simulated -----------------------------------------------------------------------------
def test_a_robot_is_simulated_as_its_mechanism_is(tmp_path: Path) -> None:
    robot = lw.load(planar_file(tmp_path))
    assert isinstance(robot, lw.Robot)
    run = lw.simulate(robot, 0.1)
    assert run.final == lw.simulate(robot.mechanism, 0.1).final


@pytest.mark.parametrize("thing", [3, None, 2.5])
def test_what_has_no_mechanism_is_told_so(thing: Any) -> None:
    with pytest.raises(lw.Error, match="is not a model; give a Mechanism"):
        lw.simulate(thing, 0.1)


# -- a model to start from -------------------------------------------------------------------------
def test_the_cart_to_start_from_has_a_frame_between_its_wheels(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    assert main(["model", "new", "mine", "-t", "cart", "-o", str(file)]) == 0
    scene = scene_of(lw.load(str(file)))
    (frame,) = (s for n in scene.nodes if n.name == "cart" for s in n.solids if s.kind == "box")
    length, width, height = frame.size
    assert 1.5 <= length < 2.0  # the wheelbase
    assert 0.5 < width < 1.0  # between the wheels
    assert height < 0.4  # flat
    assert frame.place.position[0] == pytest.approx(0.75)
