"""The recorder of a laboratory: what it records, when it ends, and that it disturbs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwright.base.errors import Error, InputError
from linkwright.formats.sl.configuration import SceneObject
from linkwright.lab.config import LabConfig
from linkwright.lab.lab import Lab
from linkwright.lab.tasks import Task, channel, parameter
from linkwright.recording import read_recording
from tests.support.lab_robots import planar, planar_file


class Swing(Task):
    """Swings a joint; Python code at the task's rate."""

    def run(self, t: float, state: Any, desired: Any) -> None:
        desired.q = np.array([0.0, 0.1 * np.sin(6 * t)])


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> LabConfig:
    """An arm of two joints whose elbow touches a ball."""
    ball = SceneObject(
        "ball", "sphere", (), (0.4, 0, 0.05), (0, 0, 0), (0.2, 0.2, 0.2), 1, (), (100, 0, 0)
    )
    arm = planar(tmp_path_factory.mktemp("planar"), 960.0)
    return replace(arm, vertices={"ELBOW": "fore"}, objects=(ball,))


@pytest.fixture
def lab(config: LabConfig, tmp_path: Path) -> Iterator[Lab]:
    with Lab(config, folder=tmp_path) as made:
        yield made


def test_it_ends_after_its_duration_and_has_its_rate(lab: Lab) -> None:
    """SL check 73, the first part."""
    lab.recorder.configure(rate=480, duration=0.25)
    lab.recorder.start()
    assert lab.recorder.active
    lab.run(0.2)
    assert len(lab.recorder.last) == 96
    lab.run(0.3)
    assert not lab.recorder.active
    made = lab.recorder.last
    assert (len(made), made.rate) == (120, 480)
    assert made.names[:7] == tuple(
        f"shoulder_{e}" for e in ("th", "thd", "u", "load", "des_th", "des_thd", "uff")
    )
    assert len(made.names) == 7 * 2


def test_samples_are_the_state_at_their_ticks(lab: Lab) -> None:
    lab.recorder.configure(
        rate=960, duration=0.02, names=["elbow_th", "elbow_thd", "elbow_u", "elbow_ufb"]
    )
    lab.recorder.start()
    seen = []
    for _ in range(19):
        lab.run(1 / 960)
        state = lab.state
        seen.append([state.q[1], state.u[1], state.tau[1], state.ufb[1]])
    assert np.array_equal(lab.recorder.last.data, seen)


def test_states_have_the_same_bits_with_the_recorder_on_off_and_changed(
    config: LabConfig, tmp_path: Path
) -> None:
    """SL check 73: recording does not disturb."""
    found = []
    for how in ("off", "on", "changed"):
        with Lab(config, folder=tmp_path) as lab:
            lab.add(Swing)
            lab.start("swing")
            if how != "off":
                lab.recorder.start(save=True)
            lab.run(0.1)
            if how == "changed":
                lab.recorder.add("answer", "1", lambda: 42.0)
                names = ["elbow_th", "answer", "motor_late"]
                lab.recorder.configure(rate=160, names=names, duration=0.05)
                lab.recorder.start(repeat=3, delay=0.02)
            lab.run(0.3)
            session = lab.loop.session
            found.append((session.tick, session.state(), dict(session.place().d)))
    assert found[0] == found[1] == found[2]


def test_several_recordings_are_saved_by_themselves_after_a_delay(lab: Lab, tmp_path: Path) -> None:
    """SL check 73: mscds makes N files; dscd delays."""
    lab.recorder.configure(rate=240, duration=0.1, names=["elbow_th"])
    lab.run(0.05)
    lab.recorder.start(save=True, repeat=3, delay=0.5)
    lab.run(0.45)
    assert not list(tmp_path.glob("d*"))
    lab.run(0.6)
    assert sorted(p.name for p in tmp_path.glob("d*")) == ["d00001", "d00002", "d00003"]
    assert (tmp_path / "last_data").read_text() == "3\n"
    listed = lab.recorder.recordings
    assert [entry.samples for entry in listed] == [24, 24, 24]
    assert [entry.path for entry in listed] == [tmp_path / f"d0000{k}" for k in (1, 2, 3)]
    assert [entry.tick for entry in listed] == [528 + 4, 528 + 100, 528 + 196]
    found = read_recording(tmp_path / "d00002")
    assert (len(found), found.rate) == (24, 240)


def test_a_recording_that_is_stopped_is_what_there_is_of_it(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(Error, match="nothing was recorded yet"):
        _ = lab.recorder.last
    lab.recorder.start(save=True)
    lab.run(0.1)
    lab.recorder.stop()
    assert len(lab.recorder.last) == 48
    assert len(read_recording(tmp_path / "d00001")) == 48
    lab.recorder.start()
    lab.recorder.stop()
    assert len(lab.recorder.recordings) == 1


@pytest.mark.parametrize("ending", ["", ".parquet", ".csv", ".npz", ".mcap", ".mat", ".erd"])
def test_it_saves_every_format_under_one_row_of_numbers(
    lab: Lab, tmp_path: Path, ending: str
) -> None:
    lab.recorder.configure(ending=ending, duration=0.05)
    lab.recorder.start()
    lab.run(0.1)
    path = lab.recorder.save()
    assert path == tmp_path / f"d00001{ending}"
    found = read_recording(path)
    wanted = lab.recorder.last
    assert ending == ".erd" or found.names == wanted.names  # ERD has eight letters
    exact = ending not in ("", ".erd")
    assert np.array_equal(found.data, wanted.data if exact else wanted.data.astype("f4"))
    assert lab.recorder.save(tmp_path / "mine.csv").is_file()
    with pytest.raises(InputError, match="exists already"):
        lab.recorder.save(tmp_path / "mine.csv")


def test_the_sample_script_lists_every_variable_and_is_read_again(lab: Lab, tmp_path: Path) -> None:
    """SL check 74."""
    lab.recorder.add("temperature", "K", lambda: 300.0)
    path = lab.recorder.write_sample_script()
    names = path.read_text().split()
    assert set(names) == set(lab.recorder.variables)
    for joint in lab.config.names:
        for ending in ("th", "thd", "thdd", "ufb", "u", "load", "des_th", "des_thd", "uff", "uex"):
            assert f"{joint}_{ending}" in names
    assert "temperature" in names
    lab.recorder.configure(script="sample_script", duration=0.01)
    lab.recorder.start()
    lab.run(0.1)
    made = lab.recorder.last
    assert set(made.names) == set(names)
    assert made["temperature"].tolist() == [300.0] * len(made)


def test_unknown_names_are_told_with_the_nearest(lab: Lab, tmp_path: Path) -> None:
    """SL check 74."""
    (tmp_path / "mine.script").write_text("shoulder_th elbow_thh\nelbow_desth")
    before = lab.recorder.settings
    with pytest.raises(InputError) as told:
        lab.recorder.configure(rate=60, script="mine.script")
    assert "no variable 'elbow_thh', 'elbow_desth'" in str(told.value)
    assert "did you mean 'elbow_th' for 'elbow_thh', 'elbow_des_th' for 'elbow_desth'?" in str(
        told.value
    )
    assert lab.recorder.settings == before


def test_what_cannot_be_recorded_is_refused_in_words(lab: Lab) -> None:
    recorder = lab.recorder
    with pytest.raises(InputError, match=r"500 Hz is not a whole part of the 960 Hz.*take 480 Hz"):
        recorder.configure(rate=500)
    with pytest.raises(InputError, match="more than 0"):
        recorder.configure(rate=0)
    with pytest.raises(InputError, match="has no end"):
        recorder.configure(duration=float("inf"))
    with pytest.raises(InputError, match="more than 2 GiB"):
        recorder.configure(duration=1e6)
    with pytest.raises(InputError, match="at least one variable"):
        recorder.configure(names=[])
    with pytest.raises(InputError, match="names no format"):
        recorder.configure(ending=".wav")
    with pytest.raises(InputError, match="use no blanks"):
        recorder.add("my value", "1", lambda: 1.0)
    with pytest.raises(InputError, match="is a variable of the laboratory"):
        recorder.add("shoulder_th", "rad", lambda: 1.0)
    with pytest.raises(InputError, match="0 recordings"):
        recorder.start(repeat=0)
    with pytest.raises(InputError, match="delay"):
        recorder.start(delay=-1)


def test_a_file_that_cannot_be_written_does_not_stop_the_robot(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "last_data").write_text("none\n")
    lab.recorder.configure(duration=0.05)
    lab.recorder.start(save=True)
    lab.run(0.1)
    assert lab.tick == 96
    assert "does not hold a number" in lab.recorder.complaints[0]
    assert len(lab.recorder.last) == 24
    (tmp_path / "last_data").unlink()
    assert lab.recorder.save().name == "d00001"


def test_by_the_clock_it_records_the_same_ticks(lab: Lab) -> None:
    lab.recorder.configure(duration=0.1, names=["elbow_th", "motor_late", "motor_length"])
    lab.pace(1)
    lab.recorder.start(save=True)
    lab.run(0.4)
    lab.pace(None)
    made = lab.recorder.last
    assert len(made) == 48
    assert made.metadata["tick"] % 2 == 0
    assert np.all(made["motor_late"] >= 0)
    assert lab.recorder.recordings[-1].path is not None


class Lean(Task):
    """Leans, and tells how far."""

    reach = parameter(0.2, unit="rad")
    far = channel("rad")

    def run(self, t: float, state: Any, desired: Any) -> None:
        self.far = self.reach * t
        desired.q = np.full(2, self.far)


def test_channels_and_parameters_of_tasks_and_forces_of_contacts_are_recorded(lab: Lab) -> None:
    names = ["lean_far", "lean_reach", "shoulder_des_th", "ball_ELBOW_fz", "ELBOW_x", "elbow_th"]
    lab.add(Lean)
    assert set(names) <= set(lab.recorder.variables)
    lab.recorder.configure(names=names, rate=480, duration=0.2)
    lab.start("lean")
    lab.recorder.start()
    lab.run(0.1)
    lab.change(reach=0.4)
    lab.run(0.2)
    made = lab.recorder.last
    assert made["lean_reach"].tolist() == [0.2] * 48 + [0.4] * 48
    assert np.allclose(made["shoulder_des_th"], made["lean_far"])
    assert np.all(np.diff(made["lean_far"]) > 0)
    assert made["ball_ELBOW_fz"][0] == pytest.approx(-100 * 0.05, rel=1e-3)
    assert made["ELBOW_x"][0] == pytest.approx(0.4, abs=1e-3)
    assert [c.unit for c in made.channels][:4] == ["rad", "rad", "rad", "N"]


def test_what_is_saved_before_its_end_is_listed_with_its_file(lab: Lab) -> None:
    lab.recorder.start()
    lab.run(0.05)
    part = lab.recorder.save()
    assert [(r.path, r.samples) for r in lab.recorder.recordings] == [(part, 24)]
    lab.run(0.05)
    lab.recorder.stop()
    assert [(r.path, r.samples) for r in lab.recorder.recordings] == [(part, 24), (None, 48)]
    whole = lab.recorder.save()
    assert [r.path for r in lab.recorder.recordings] == [part, whole]


def test_joints_that_slide_are_recorded_in_meters_and_newtons(tmp_path: Path) -> None:
    """Also goto, whose parameters are sliders of the page, and what `go` reads, have them."""
    file = planar_file(tmp_path)
    first = '<joint name="shoulder" type="revolute">'
    file.write_text(file.read_text().replace(first, first.replace("revolute", "prismatic")))
    with Lab(file, folder=tmp_path / "out" / "data") as lab:
        known = lab.recorder.variables
        units = {e: known[f"shoulder_{e}"].unit for e in ("th", "thd", "des_thdd", "u", "load")}
        assert units == {"th": "m", "thd": "m/s", "des_thdd": "m/s^2", "u": "N", "load": "N"}
        assert (known["elbow_th"].unit, known["elbow_u"].unit) == ("rad", "N*m")
        about = lab.tasks["goto"].parameters()
        assert [about[n].unit for n in ("shoulder", "elbow", "shoulder_uff")] == ["m", "rad", "N"]
        lab.do("go shoulder=10mm")
        assert lab.desired.q[0] == pytest.approx(0.01)
        lab.recorder.configure(duration=0.1, names=["shoulder_th", "shoulder_u"])
        lab.recorder.start()
        lab.run(0.2)
        channels = read_recording(lab.recorder.save()).channels
        assert [channel.unit for channel in channels] == ["m", "N"]


def test_closing_a_laboratory_saves_what_is_to_be_saved(tmp_path: Path) -> None:
    with Lab(planar(tmp_path), folder=tmp_path) as lab:
        lab.recorder.start()
        lab.run(0.1)
    assert not list(tmp_path.glob("d0*"))
    with Lab(planar(tmp_path), folder=tmp_path) as lab:
        lab.recorder.start(save=True)
        lab.run(0.1)
        lab.close()
    assert [len(read_recording(path)) for path in tmp_path.glob("d0*")] == [10]


def test_each_servo_turns_a_line_over_that_shows_its_ticks() -> None:
    """SL's debug channels: half-waves are as long as the period of the servo, at its instants; with
    how late a tick began and how long it took, they are the picture of an oscilloscope."""
    with Lab("sl-arm") as lab:
        rates = {name: round(960 / float(rate)) for name, rate in lab.rates.items()}
        assert rates == {"motor": 1, "task": 2, "invdyn": 2, "invkin": 2, "vision": 16}
        names = [f"{name}_pulse" for name in rates]
        lab.recorder.configure(names=names, rate=960, duration=0.25)
        lab.recorder.start()
        lab.run(0.3)
        made = lab.recorder.last
        assert made is not None
        for name, ratio in rates.items():
            edges = np.flatnonzero(np.diff(made[f"{name}_pulse"])) + 1
            assert (np.diff(edges) == ratio).all()
            assert len(edges) >= 240 // ratio - 1
            assert set(made[f"{name}_pulse"]) == {0.0, 1.0}
