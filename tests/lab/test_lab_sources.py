"""Where laboratories come from: the shipped arm, SL folders, robot files."""

from __future__ import annotations

import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwright.base.errors import InputError
from linkwright.formats.robot.description import (
    Description,
    JointLimits,
    Link,
    LinkJoint,
    Mass,
    Place,
)
from linkwright.lab.config import LabConfig
from linkwright.lab.ready import config_digest
from linkwright.lab.rules import robot_lab
from linkwright.lab.sources import lab_config, shipped_folder
from linkwright.mechanism import Mechanism
from linkwright.robots import Robot

JOINTS = ["R_SFE", "R_SAA", "R_HR", "R_EB", "R_WR", "R_WFE", "R_WAA", "R_TL", "R_TV", "R_FAA"]
VERTICES = [
    "SHOULDER",
    "SHOULDER_OFF",
    "ELBOW",
    "ELBOW_OFF",
    "WRIST",
    "WRIST_OFF",
    "HAND",
    "FINGER_JOINT",
    "FINGER",
    "THUMB_JOINT",
    "THUMB",
]
OWNERS = [
    "R_SFE",
    "R_SAA",
    "R_EB",
    "R_WR",
    "R_WFE",
    "R_WAA",
    "R_WAA",
    "R_FAA",
    "R_FAA",
    "R_TL",
    "R_TV",
]


@pytest.fixture(scope="module")
def arm() -> LabConfig:
    return lab_config("sl-arm")


@pytest.fixture(scope="module")
def robot(arm: LabConfig) -> Robot:
    return Robot(arm.description)


def _copy(folder: Path) -> Path:
    return Path(shutil.copytree(shipped_folder("sl-arm"), folder / "mine"))


def test_the_arm_has_the_joints_and_vertices_of_the_manual(arm: LabConfig, robot: Robot) -> None:
    assert list(arm.names) == JOINTS
    assert robot.coordinates == arm.names
    assert list(arm.vertices) == VERTICES
    places = {frame.name: frame.link for frame in arm.description.frames}
    assert [places[frame] for frame in arm.vertices.values()] == OWNERS
    assert arm.description.ignored == ()
    assert arm.estimated == (13, 3)
    assert (arm.rate, dict(arm.ratios)) == (960.0, {"task": 2, "invdyn": 2, "invkin": 2})
    assert arm.vision.blobs == tuple(f"blob{k}" for k in range(1, 7))
    assert (arm.vision.cameras, arm.vision.preferences) == (2, "vision_default.pp")
    assert arm.preferences is not None
    assert (arm.preferences / "vision_default.pp").is_file()


def test_the_hand_is_the_first_end_effector(arm: LabConfig, tmp_path: Path) -> None:
    """SL check 81: by its name, or by the number of the vertex."""
    (hand,) = arm.end_effectors
    assert (hand.name, hand.link, hand.x) == ("R_HAND", "R_WAA", (0.0, 0.085, 0.0))
    np.testing.assert_allclose(hand.a, (0.0, -math.pi / 2, 0.0))
    common = _copy(tmp_path) / "SL_user_common.c"
    number = VERTICES.index("HAND") + 1
    common.write_text(common.read_text().replace("{0, HAND}", f"{{0, {number}}}"))
    assert lab_config(common.parent).end_effectors == arm.end_effectors


def test_the_arm_hangs_down_at_zero_and_moves_as_its_signs_say(robot: Robot) -> None:
    zero = np.zeros(10)
    shoulder = np.array((0.0, -0.4, 0.0))
    elbow, wrist = robot.position(zero, "ELBOW"), robot.position(zero, "WRIST")
    np.testing.assert_allclose(robot.position(zero, "SHOULDER"), shoulder, atol=1e-15)
    np.testing.assert_allclose(elbow, (0, -0.4381, -0.287), atol=1e-15)
    np.testing.assert_allclose(wrist, (0.0025, -0.4381, -0.287 - 0.2781), atol=1e-15)
    forward, left = np.array((1.0, 0, 0)), np.array((0, 1.0, 0))
    moves = {
        "R_SFE": (forward, "WRIST"),
        "R_SAA": (left, "WRIST"),  # inward for a right arm: outward is negative
        "R_EB": (forward, "WRIST"),
        "R_WFE": (left, "HAND"),  # to the palm
        "R_WAA": (forward, "HAND"),
        "R_TL": (left, "THUMB"),  # away from the palm
        "R_TV": (forward, "THUMB"),
        "R_FAA": (forward, "FINGER"),
    }
    for joint, (direction, frame) in moves.items():
        jacobian = np.asarray(robot.jacobian(zero, frame))[:3, JOINTS.index(joint)]
        assert jacobian @ direction > 0.08, joint
    bent = zero.copy()
    bent[3] = math.pi / 2  # the forearm goes forward; turning out takes the hand to the right
    for joint in ("R_HR", "R_WR"):
        frame = "WRIST" if joint == "R_HR" else "THUMB"
        jacobian = np.asarray(robot.jacobian(bent, frame))[:3, JOINTS.index(joint)]
        outward = jacobian @ -left if joint == "R_HR" else jacobian @ np.array((0, 0, 1.0))
        assert outward > 0.02, joint


def _worst(arm: LabConfig, inertia: np.ndarray, *, filtered: bool) -> tuple[float, float]:
    """Return the largest eigenvalue of a tick, and the least damping of what swings: PD control of
    filtered states, viscous friction and a semi-implicit Euler step, all linear."""
    n, h = len(arm.joints), 1 / arm.rate
    kp, kd = (np.diag([getattr(j, gain) for j in arm.joints]) for gain in ("kp", "kd"))
    viscous = np.diag([joint.damping for joint in arm.description.joints])
    k = math.tan(math.pi * 5 / 200)
    d = 1 + math.sqrt(2) * k + k * k
    b = np.array((k * k, 2 * k * k, k * k)) / d
    a = np.array((1.0, 2 * (k * k - 1) / d, (1 - math.sqrt(2) * k + k * k) / d))
    if not filtered:
        b, a = np.array((1.0, 0, 0)), np.array((1.0, 0, 0))
    at = [slice(i * n, i * n + n) for i in range(6)]
    q, u, s1, s2, z1, z2 = (np.eye(6 * n)[place] for place in at)
    measured = [b[0] * q + s1, b[0] * u + z1]
    force = -kp @ measured[0] - kd @ measured[1] - viscous @ u
    speed = u + h * np.linalg.solve(inertia, force)
    rows = [q + h * speed, speed]
    for raw, y, second in ((q, measured[0], s2), (u, measured[1], z2)):
        rows += [b[1] * raw - a[1] * y + second, b[2] * raw - a[2] * y]
    values = np.linalg.eigvals(np.vstack(rows))
    rates = np.log(values[abs(values) > 1e-6].astype(complex)) / h
    swings = rates[abs(rates.imag) > 5]
    return float(abs(values).max()), float((-swings.real / abs(swings)).min())


def test_the_arm_is_damped_under_its_gains_in_every_posture(arm: LabConfig, robot: Robot) -> None:
    """Thumb and finger are the stiffest; near a singular shoulder so are its drives."""
    rng = np.random.default_rng(16)
    lower = [joint.lower for joint in arm.joints]
    upper = [joint.upper for joint in arm.joints]
    postures = [[joint.default for joint in arm.joints], lower, upper]
    postures += list(rng.uniform(lower, upper, (20, 10)))
    for posture in postures:
        inertia = np.asarray(robot.mass_matrix(np.asarray(posture, float)))
        for filtered in (False, True):
            radius, damping = _worst(arm, inertia, filtered=filtered)
            assert radius < 0.999
            assert damping > 0.2


def test_controllers_believe_a_robot_a_little_different(arm: LabConfig) -> None:
    assert arm.model is not None
    for link, other in zip(arm.description.links, arm.model.links, strict=True):
        if link.mass is None:
            assert other.mass is None
            continue
        assert other.mass is not None
        assert 0 < abs(other.mass.mass / link.mass.mass - 1) < 0.1


def test_c_files_say_rates_and_integration(tmp_path: Path) -> None:
    folder = _copy(tmp_path)
    header = folder / "SL_user.h"
    text = header.read_text().replace("RATIO 2", "RATIO 3").replace("RATE 960", "RATE 600")
    header.write_text(text.replace("MAX_BLOBS BLOB6", "MAX_BLOBS 8"))
    common = folder / "SL_user_common.c"
    text = common.read_text().replace("n_integration = 1", "n_integration = 4")
    text = text.replace("INTEGRATE_EULER;", "INTEGRATE_RK;\nint invdyn_servo_ratio = 1;")
    common.write_text(text.replace("endeff[i].m = 0.0", "endeff[i].m = 0.5"))
    lab = lab_config(folder)
    assert (lab.name, lab.rate, lab.substeps, lab.method) == ("mine", 600.0, 4, "rk4")
    assert dict(lab.ratios) == {"task": 3, "invdyn": 1, "invkin": 3}
    assert lab.vision.blobs[5:] == ("blob6", "blob7", "blob8")
    assert lab.end_effectors[0].mass == 0.5
    assert "HAND" in {frame.name for frame in lab.description.frames}  # the load is not in it twice
    assert lab_config(folder / "arm.dyn").rate == 600.0


@pytest.mark.parametrize("ratio", ["2.5", "0", "-1"])
def test_a_ratio_is_a_whole_number(tmp_path: Path, ratio: str) -> None:
    """SL check 2."""
    header = _copy(tmp_path) / "SL_user.h"
    header.write_text(header.read_text().replace("RATIO 2", f"RATIO {ratio}"))
    with pytest.raises(InputError, match=rf"SL_user\.h:73: TASK_SERVO_RATIO is {ratio}; .*whole"):
        lab_config(header.parent)


def test_what_c_files_cannot_say_has_its_line(tmp_path: Path) -> None:
    folder = _copy(tmp_path)
    common = folder / "SL_user_common.c"
    common.write_text(common.read_text().replace("n_integration = 1", "n_integration = 0"))
    with pytest.raises(InputError, match=r"SL_user_common\.c:\d+: n_integration is 0"):
        lab_config(folder)
    header = folder / "SL_user.h"
    header.write_text(header.read_text().replace("RATE 960", "RATE 0"))
    with pytest.raises(InputError, match=r"SL_user\.h:72: SERVO_BASE_RATE is 0; a rate is"):
        lab_config(folder)


@pytest.mark.parametrize("text", ["", " ", " fast", " 50O"])
@pytest.mark.parametrize(("name", "line"), [("SERVO_BASE_RATE", 72), ("TASK_SERVO_RATIO", 73)])
def test_a_name_without_a_number_is_rejected(
    tmp_path: Path, name: str, line: int, text: str
) -> None:
    """It was taken for the usual number, without a word."""
    header = _copy(tmp_path) / "SL_user.h"
    header.write_text(re.sub(rf"{name} \d+", name + text, header.read_text()))
    with pytest.raises(InputError, match=rf"SL_user\.h:{line}: {name} is defined without a num"):
        lab_config(header.parent)


def test_a_folder_without_gains_gets_them_of_its_inertia(tmp_path: Path, arm: LabConfig) -> None:
    folder = _copy(tmp_path)
    (folder / "config" / "Gains.cf").unlink()
    lab = lab_config(folder)
    assert lab.notes == ("no Gains.cf was found: gains follow from the robot",)
    for joint, printed in zip(lab.joints, arm.joints, strict=True):
        assert (joint.lower, joint.rest, joint.filters) == (printed.lower, printed.rest, (5.0,) * 4)
        assert 0 < joint.kp < math.inf
        assert 0 < joint.max_effort < math.inf


def test_what_a_robot_says_and_a_laboratory_leaves_out_is_told() -> None:
    assert lab_config("pendulum").notes == ()  # it runs the model itself
    m = Mechanism("pair")
    m.body("a", rotate="z", mass=1, inertia=1)
    m.body("b", parent="a", rotate="z", mass=1, inertia=1)
    m.constrain_position("b - 2*a", eliminate="b")
    m.force("push", 1, at="a", along="x")
    told = lab_config(Robot(m)).notes
    assert any("forces (push): a robot file has no place for them" in note for note in told)


def test_an_end_effector_at_no_vertex_is_refused(tmp_path: Path) -> None:
    common = _copy(tmp_path) / "SL_user_common.c"
    common.write_text(common.read_text().replace("{0, HAND}", "{0, HADN}"))
    with pytest.raises(InputError, match="'HADN', which is not a vertex; did you mean 'HAND'"):
        lab_config(common.parent)


def test_a_robot_file_gets_gains_of_its_inertia() -> None:
    """A slide that carries a rod: what each feels is known, and so is what the rules make of it."""
    rod = Mass(2.0, (0.0, 0.0, 0.5), (0.1, 0.1, 0.01, 0.0, 0.0, 0.0))
    robot = Description(
        "crane",
        (Link("base"), Link("cart", Mass(3.0)), Link("rod", rod), Link("hook")),
        (
            LinkJoint("slide", "prismatic", "base", "cart", axis=(1.0, 0.0, 0.0)),
            LinkJoint(
                *("swing", "revolute", "cart", "rod", Place(), (0.0, 1.0, 0.0)),
                limits=JointLimits(0.5, 1.5, 3.0, 40.0),
            ),
            LinkJoint("tip", "weld", "rod", "hook", Place((0.0, 0.0, 1.0))),
        ),
    )
    lab = robot_lab(Robot(robot))
    slide, swing = lab.joints
    omega = 6 * math.pi
    felt = {"slide": 5.0, "swing": 0.1 + 2.0 * 0.25}
    for joint in (slide, swing):
        assert joint.kp == pytest.approx(felt[joint.name] * omega**2)
        assert joint.kd == pytest.approx(2 * felt[joint.name] * omega)
    assert (slide.lower, slide.upper, slide.default) == (-1.0, 1.0, 0.0)
    assert (swing.lower, swing.upper, swing.default, swing.rest) == (0.5, 1.5, 1.0, 1.0)
    assert (swing.max_effort, swing.max_speed, slide.max_speed) == (40.0, 3.0, 20.0)
    assert slide.max_effort == pytest.approx(4 * 0.25 * slide.kp)  # nothing weighs on it
    assert [end.link for end in lab.end_effectors] == ["hook"]
    assert lab.names == ("slide", "swing")


def test_sources_that_cannot_be_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'sl-arm'"):
        lab_config("sl-amr")
    with pytest.raises(InputError, match=r"no \.dyn file"):
        lab_config(tmp_path)
    arm = lab_config("sl-arm")
    assert lab_config(arm) is arm
    assert lab_config(replace(arm, rate=500.0)).rate == 500.0


def test_what_is_remembered_goes_by_what_files_hold_not_by_where_they_are(tmp_path: Path) -> None:
    """A copy of a laboratory is derived no second time; other filters of its vision are another."""
    one, two = (
        lab_config(Path(shutil.copytree(shipped_folder("sl-arm"), tmp_path / name / "arm")))
        for name in ("one", "two")
    )
    assert one.files != two.files
    assert config_digest(one) == config_digest(two)
    assert config_digest(one) != config_digest(replace(two, rate=480.0))
    assert two.preferences is not None
    filters = two.preferences / two.vision.preferences
    filters.write_text(filters.read_text() + "\n")
    assert config_digest(one) != config_digest(two)
