"""Preference files of a laboratory: scripts, vision filters, sines, trajectories."""

from __future__ import annotations

import math
import string
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from linkwright.base.errors import Error, InputError
from linkwright.lab.files.scripts import parse_script, read_script, script_text
from linkwright.lab.files.sine_files import SineLine, parse_sines, read_sines, sine_text
from linkwright.lab.files.trajectories import (
    JointSamples,
    JointTrajectory,
    read_trajectory,
    trajectory_of,
    trajectory_recording,
)
from linkwright.lab.files.vision_files import (
    BlobPreferences,
    VisionPreferences,
    parse_vision,
    read_vision,
    vision_text,
)
from linkwright.lab.lab import Lab
from linkwright.lab.sources import lab_config
from linkwright.motion import Sines
from linkwright.recording import read_recording
from linkwright.recording.recording import Channel, Recording
from tests.seeds import examples
from tests.support.lab_robots import planar

ARM = lab_config("sl-arm")
PREFS = ARM.preferences or Path()
JOINTS = ("A", "B_th", "C")
NUMBER = st.floats(-1e6, 1e6, allow_nan=False)
NAME = st.text(string.ascii_letters + string.digits + "_", min_size=1, max_size=12)


def test_the_shipped_files_are_read() -> None:
    """SL checks 22 (of the file) and 74 (unknown names have a list to be looked for in)."""
    sines = read_sines(PREFS / "default.sine", ARM.names)
    assert set(sines) == set(ARM.names)
    wave = Sines([s.offset for s in sines.values()], [s.sines for s in sines.values()])
    np.testing.assert_allclose(wave.max_abs(1), 0.2 * math.pi)
    np.testing.assert_allclose(wave.max_abs(2), 0.4 * math.pi**2)
    vision = read_vision(PREFS / "vision_default.pp", 6)
    assert vision.predict == 0.033
    assert vision.blob(6).butter == ((20.0,) * 3, (100.0,) * 3, (100.0,) * 3)
    assert vision.blob(6).acceleration == (0.0, 0.0, 0.0)
    sample = read_script(PREFS / "sample_script")
    assert set(read_script(PREFS / "default.script", sample)) <= set(sample)


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(NAME, unique=True, max_size=30))
def test_scripts_survive_their_own_format(names: list[str]) -> None:
    text = script_text(names)
    assert parse_script(text, names) == tuple(names)
    assert all(len(line) <= 96 for line in text.splitlines())


SINE = st.tuples(NUMBER, NUMBER, st.floats(0, 1e4))
LINES = st.builds(SineLine, NUMBER, st.lists(SINE, min_size=1, max_size=3).map(tuple))


@settings(max_examples=examples(25), deadline=None)
@given(st.dictionaries(st.sampled_from(JOINTS), LINES))
def test_sines_survive_their_own_format(sines: dict[str, SineLine]) -> None:
    """SL check 23: one to three sines."""
    assert parse_sines(sine_text(sines), JOINTS) == sines


THREE = st.tuples(NUMBER, NUMBER, NUMBER)
PERCENT = st.floats(0, 100)
CUTOFFS = st.tuples(*[st.tuples(PERCENT, PERCENT, PERCENT)] * 3)
BLOB = st.builds(
    BlobPreferences,
    st.none() | CUTOFFS,
    st.none() | st.tuples(THREE, THREE, THREE),
    st.none() | THREE,
).filter(lambda blob: blob != BlobPreferences())


@settings(max_examples=examples(25), deadline=None)
@given(st.floats(0, 10), st.dictionaries(st.integers(1, 12), BLOB, max_size=4))
def test_vision_files_survive_their_own_format(
    predict: float, blobs: dict[int, BlobPreferences]
) -> None:
    made = VisionPreferences(predict, dict(sorted(blobs.items())))
    again = parse_vision(vision_text(made))
    assert (again.predict, dict(again.blobs)) == (made.predict, dict(made.blobs))


def test_trajectories_survive_their_own_format(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    for case in range(8):
        some = [name for name in JOINTS if rng.random() < 0.7] or ["A"]

        def column(keep: bool) -> np.ndarray:
            values = rng.normal(size=13).astype(np.float32).astype(float)
            if keep:
                values[-1] = values[0]
            return values

        again = case % 2 == 0
        before = JointTrajectory(
            120.0,
            {
                name: JointSamples(
                    column(again), *(column(again) if rng.random() < 0.5 else None for _ in "uaf")
                )
                for name in some
            },
        )
        path = tmp_path / f"{case}.traj"
        trajectory_recording(before).save(path)
        after = read_trajectory(path, JOINTS)
        assert (after.rate, after.samples, list(after.joints)) == (120.0, 13, some)
        assert after.rhythmic is before.rhythmic is again
        for name in some:
            for part in ("q", "u", "a", "uff"):
                old, new = getattr(before.joints[name], part), getattr(after.joints[name], part)
                assert (old is None) == (new is None)
                if old is not None:
                    assert np.array_equal(old, new)


def test_a_trajectory_takes_every_form_of_a_column() -> None:
    names = ["A", "C_th", "C_des_th", "C_thd", "C_uff", "time_of_day"]
    rows = np.arange(12.0).reshape(2, 6)
    made = trajectory_of(Recording([0, 0.5], map(Channel, names), rows), JOINTS)
    assert made.joints["A"].q.tolist() == [0, 6]
    assert made.joints["A"].u is None
    assert made.joints["C"].q.tolist() == [2, 8]  # the wanted one, not the measured one
    c = made.joints["C"]
    assert c.u is not None
    assert c.uff is not None
    assert (c.u.tolist(), c.uff.tolist()) == ([3, 9], [4, 10])
    assert made.rate == 2.0


def test_a_trajectory_in_degrees_is_converted() -> None:
    units = {"A_th": "deg", "A_thd": "deg/s", "A_uff": "Nm", "C_th": "mm"}
    channels = [Channel(name, unit) for name, unit in units.items()]
    made = trajectory_of(Recording([0, 1], channels, [[180, 90, 7, 500]] * 2), JOINTS)
    a = made.joints["A"]
    assert a.u is not None
    assert a.uff is not None
    assert (a.q[0], a.u[0], a.uff[0]) == pytest.approx((math.pi, math.pi / 2, 7.0))
    assert made.joints["C"].q[0] == pytest.approx(0.5)


def test_a_trajectory_is_a_recording(tmp_path: Path) -> None:
    trajectory_recording(JointTrajectory(10.0, {"A": JointSamples(np.zeros(3))})).save(
        tmp_path / "a.traj"
    )
    assert [c.name for c in read_recording(tmp_path / "a.traj").channels] == ["A_th"]


def _recorded(*names: str, last: float = 0.0) -> Recording:
    rows = np.zeros((3, len(names)))
    rows[2, 0] = last
    return Recording([0, 0.1, 0.2], map(Channel, names), rows)


@pytest.mark.parametrize(
    ("recording", "message"),
    [
        (_recorded("A_th", "CC_th"), "f.traj: the column 'CC_th' is of no joint.*mean 'C'"),
        (_recorded("x", "y"), "no column is the position of a joint; call columns A_th"),
        (_recorded("A_thd"), "A has no positions; add a column A_th"),
        (
            Recording([0, 1], [Channel("A_th", "gradian")], [[1], [2]]),
            "f.traj: channel 'A_th' is in 'gradian', which is not a known unit",
        ),
        (_recorded("A", last=math.nan), "sample 3 of A_th is not a finite number"),
        (Recording([0, 1, 3], [Channel("A")], np.zeros((3, 1))), "at even times"),
        (Recording([0], [Channel("A")], np.zeros((1, 1))), "at least two samples"),
    ],
)
def test_trajectories_that_cannot_be_are_named(recording: Recording, message: str) -> None:
    with pytest.raises(InputError, match=message):
        trajectory_of(recording, JOINTS, file="f.traj")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A 4 0  1 1 1  1 1 1  1 1 1  1 1 1", "f.sine:1: A has 4 sines; a joint has 1 to 3"),
        ("A 0 0", "A has 0 sines"),
        ("A 1.5 0", "A has 1.5 sines"),
        ("A", "A has nothing sines"),
        ("A 1 0 1 1\nC 1 0 1 1 1", "f.sine:2: after A and its number of sines stand 3 values"),
        ("A 1 0 1 1", "stand 3 values; 4 are needed"),
        ("\nABC 1 0 1 1 1", "f.sine:2: a joint is needed here, and none is called 'ABC'"),
        ("B_ht 1 0 1 1 1", "did you mean 'B_th'"),
        ("A 1 0 1 1 1\nA 1 0 1 1 1", "f.sine:2: A is given twice"),
        ("A 1 0 1 0 -1", "a frequency below 0"),
        ("A 1 nan 1 1 1", "nan among the sines of A is not a finite number"),
    ],
)
def test_sines_that_cannot_be_are_named(text: str, message: str) -> None:
    """SL check 23: four sines are refused."""
    with pytest.raises(InputError, match=message):
        parse_sines(text, JOINTS, file="f.sine")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PREDIT 1", "f.pp:1: 'PREDIT' is not a keyword.*did you mean 'PREDICT'"),
        ("\nBLOB1_BUTER 1", "f.pp:2: .*did you mean 'BLOB1_BUTTER'"),
        ("BLOB0_BUTTER 1", "is not a keyword"),
        ("PREDICT -1", "PREDICT is below 0"),
        ("PREDICT 1\nPREDICT 1", "f.pp:2: PREDICT is given twice, first in line 1"),
        ("BLOB7_ACCELERATION 0 0 0", "of blob 7, and there are 6"),
        ("BLOB1_BUTTER 1 2 3", "stand 3 values; 9 are needed"),
        ("BLOB1_BUTTER 1 2 3 4 5 6 7 8 900", "a cutoff of 900 percent"),
        ("BLOB1_ACCELERATION 1 x 2", "stand 1 values; 3 are needed"),
    ],
)
def test_vision_files_that_cannot_be_are_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_vision(text, 6, file="f.pp")


def test_unknown_names_of_a_script_are_reported_with_the_nearest() -> None:
    """SL check 74: unknown names reported."""
    sample = read_script(PREFS / "sample_script")
    with pytest.raises(
        InputError, match=r"f\.script:2: .*'R_EB_ht', 'X'; .* 'R_EB_th' for 'R_EB_ht'\?"
    ):
        parse_script("R_EB_th\nR_EB_ht X", sample, file="f.script")
    with pytest.raises(InputError, match="sample_script has all"):
        parse_script("??", sample)
    with pytest.raises(InputError, match="cannot hold the name 'a b'"):
        script_text(["a b"])


WORDS = st.sampled_from(
    ["A", "C", "1", "3", "-1", "nan", "1e999", "/*", "*/", "PREDICT", "BLOB1_BUTTER", "\n", "x"]
)


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(WORDS, max_size=25).map(" ".join) | st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for reader in (
        lambda: parse_sines(text, JOINTS),
        lambda: parse_vision(text, 6),
        lambda: parse_script(text, JOINTS),
    ):
        try:
            reader()
        except Error:
            continue


def test_what_cannot_be_written_is_said() -> None:
    with pytest.raises(InputError, match="A has 4 sines"):
        sine_text({"A": SineLine(0.0, ((1.0, 0.0, 1.0),) * 4)})
    with pytest.raises(InputError, match="not all finite"):
        sine_text({"A": SineLine(math.inf, ((1.0, 0.0, 1.0),))})
    with pytest.raises(InputError, match="BLOB1_ACCELERATION is not finite"):
        vision_text(VisionPreferences(0.0, {1: BlobPreferences(acceleration=(math.nan, 0.0, 0.0))}))


def test_a_laboratory_without_preferences_moves_every_joint_by_a_small_sine(tmp_path: Path) -> None:
    """A robot file of one's own moves at the first command, within its ranges."""
    config = planar(tmp_path)
    assert config.preferences is None
    with Lab(config) as lab:
        assert "sine runs" in lab.do("st sine").text
        lab.run(0.5)
        wanted = [0.1 * np.sin(np.pi * 0.5) + joint.default for joint in config.joints]
        room = [min(x.upper - x.default, x.default - x.lower) for x in config.joints]
        near = [x for x, space in enumerate(room) if space > 0.2]
        assert near
        np.testing.assert_allclose(lab.desired.q[near], np.array(wanted)[near], atol=1e-3)
        lab.freeze()
        with pytest.raises(InputError, match="no file"):
            lab.start("sine", file="other.sine")
