"""Cameras and the vision servo of a laboratory, each against the same computed with NumPy."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.lab.base import BaseState
from linkwright.lab.config import Camera, LabConfig, VisionConfig
from linkwright.lab.files.vision_files import (
    BlobPreferences,
    VisionPreferences,
    parse_vision,
    vision_text,
)
from linkwright.lab.lab import Lab
from linkwright.lab.sources import lab_config
from linkwright.lab.tasks import Task
from linkwright.lab.vision import SimulatedCameras, VisionServo, cameras_of, preference_values
from tests.support.lab_blocks import RATE, Array, driven, lab
from tests.support.lab_robots import planar
from tests.support.late import Late

if TYPE_CHECKING:
    from scipy import signal
else:
    signal = Late("scipy.signal")

EXECUTORS = ("native", "python")
TICKS = 40
EYES = (
    Camera((-0.3, 2.8, 0.2), (1.5, 0.1, -0.15), (400.0, 350.0), (310.0, 250.0)),
    Camera((0.5, 2.9, -0.1), (1.6, -0.1, 0.2), (380.0, 380.0)),
)


def config(**changed: Any) -> LabConfig:
    """Return a laboratory with one blob, at the rate of the tests."""
    given = {"blobs": ("b",), "eyes": EYES, "position": (0.1, -0.2, 0.3), "a": (0.1, 0.2, -0.3)}
    return lab(vision=VisionConfig(**{**given, **changed}), vision_rate=float(RATE))


def projected(points: Array) -> Array:
    """Where the cameras see points of the robot's frame: by matrices, in plain NumPy."""
    turn = Rotation.from_euler("XYZ", (0.1, 0.2, -0.3)).as_matrix()
    inner = (points - [0.1, -0.2, 0.3]) @ turn
    found = []
    for eye in EYES:
        rows = (inner - eye.position) @ Rotation.from_euler("XYZ", eye.a).as_matrix()
        found.append(eye.center + np.array(eye.focal) * rows[:, :2] / rows[:, 2:])
    return np.hstack(found)


def walk(seed: int = 0) -> Array:
    """A blob that wanders before the cameras."""
    return np.random.default_rng(seed).uniform(-0.3, 0.3, (TICKS, 3))


def stamps(late: float = 0.0) -> Array:
    return np.arange(TICKS) / RATE - late


@pytest.mark.parametrize("executor", EXECUTORS)
def test_cameras_see_by_their_calibration_and_two_of_them_tell_the_place(executor: str) -> None:
    points = walk()
    seen = driven(SimulatedCameras(config()), {"b_x": points}, executor)
    np.testing.assert_allclose(seen["pixels"], projected(points), rtol=1e-12)
    assert seen["visible"].all()
    given = {"pixels": seen["pixels"], "visible": seen["visible"], "stamp": stamps()}
    found = driven(VisionServo(config()), given, executor)
    np.testing.assert_allclose(found["b_unfiltered"], points, atol=1e-12)
    np.testing.assert_allclose(found["b_x"], points, atol=1e-12)
    assert found["b_status"].all()


def test_triangulation_is_least_squares() -> None:
    """Of pictures with noise: the same rows, solved by NumPy."""
    rough = projected(walk()) + np.random.default_rng(1).standard_normal((TICKS, 4))
    given = {"pixels": rough, "visible": np.ones((TICKS, 2)), "stamp": stamps()}
    found = driven(VisionServo(config()), given)["b_unfiltered"]
    turn = Rotation.from_euler("XYZ", (0.1, 0.2, -0.3)).as_matrix()
    for k in range(TICKS):
        rows, right = [], []
        for i, eye in enumerate(EYES):
            axes = Rotation.from_euler("XYZ", eye.a).as_matrix().T
            slopes = (rough[k, 2 * i : 2 * i + 2] - eye.center) / eye.focal
            for slope, axis in zip(slopes, axes, strict=False):
                rows.append(slope * axes[2] - axis)
                right.append(rows[-1] @ eye.position)
        inner = np.linalg.lstsq(np.array(rows), np.array(right), rcond=None)[0]
        np.testing.assert_allclose(found[k], turn @ inner + [0.1, -0.2, 0.3], atol=1e-11)


def test_what_is_not_seen_has_no_status_and_stays_at_rest_where_it_was() -> None:
    """SL check 59: an invalid status is propagated: of one camera, none, no number."""
    points, visible = walk(), np.ones((TICKS, 2))
    visible[10:13, 0] = 0
    visible[20:23] = 0
    pixels = projected(points)
    pixels[30, 1] = np.nan
    found = driven(VisionServo(config()), {"pixels": pixels, "visible": visible, "stamp": stamps()})
    lost = np.zeros(TICKS, bool)
    lost[[10, 11, 12, 20, 21, 22, 30]] = True
    np.testing.assert_array_equal(found["b_status"], ~lost)
    np.testing.assert_allclose(found["b_x"][10:13], np.tile(points[9], (3, 1)), atol=1e-12)
    assert not found["b_xd"][lost].any()
    assert not found["b_xdd"][lost].any()
    assert np.isfinite(found["b_x"]).all()
    np.testing.assert_allclose(found["b_x"][31], points[31], atol=1e-12)


def test_simulated_blobs_replace_the_cameras() -> None:
    """SL check 59."""
    points, given = walk(), walk(1)
    on = np.repeat([0.0, 1.0], TICKS // 2)
    there = np.ones(TICKS)
    there[30:] = 0
    found = driven(
        VisionServo(config()),
        {
            "pixels": projected(points),
            "visible": np.ones((TICKS, 2)),
            "stamp": stamps(),
            "b_simulated": on,
            "b_given": given,
            "b_there": there,
        },
    )
    np.testing.assert_allclose(found["b_x"][:20], points[:20], atol=1e-12)
    np.testing.assert_allclose(found["b_x"][20:30], given[20:30], atol=1e-12)
    assert found["b_status"].tolist() == [1.0] * 30 + [0.0] * 10


START, SPEED, PULL = np.array([[0.1, -0.2, 0.3], [0.5, 0.3, -0.4], [0.8, -0.5, -9.81]])


def thrown(t: Array) -> Array:
    found: Array = START + np.outer(t, SPEED) + np.outer(t * t / 2, PULL)
    return found


def points_config(**changed: Any) -> LabConfig:
    """Blobs that come as points in space."""
    return lab(vision=VisionConfig(blobs=("b",), cameras=0, **changed), vision_rate=float(RATE))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_prediction_is_exact_for_a_constant_acceleration(executor: str) -> None:
    """SL check 58: from the time stamps of pictures that come late and unevenly."""
    late = 0.03 + 0.004 * np.random.default_rng(2).uniform(-1, 1, TICKS)
    stamp = stamps() - late
    given = {"b_raw": thrown(stamp), "b_visible": np.ones(TICKS), "stamp": stamp}
    ahead = VisionPreferences(0.05)
    found = driven(VisionServo(points_config(), ahead), given, executor)
    now = stamps() + 0.05
    np.testing.assert_allclose(found["b_x"][2:], thrown(now)[2:], atol=1e-9)
    np.testing.assert_allclose(found["b_xd"][2:], (SPEED + np.outer(now, PULL))[2:], atol=1e-8)
    np.testing.assert_allclose(found["b_xdd"][2:], np.tile(PULL, (TICKS - 2, 1)), atol=1e-6)
    # a prescribed acceleration needs two pictures, and counts whatever was seen
    pulled = BlobPreferences(acceleration=(PULL[0], PULL[1], PULL[2]))
    servo = VisionServo(points_config(), replace(ahead, blobs={1: pulled}))
    found = driven(servo, given, executor)
    np.testing.assert_allclose(found["b_x"][1:], thrown(now)[1:], atol=1e-10)
    np.testing.assert_array_equal(found["b_xdd"], np.tile(PULL, (TICKS, 1)))


def test_a_prescribed_acceleration_overrides_the_one_that_is_seen() -> None:
    """SL check 58."""
    given = {
        "b_raw": thrown(stamps()),
        "b_visible": np.ones(TICKS),
        "stamp": stamps(),
    }
    pulled = parse_vision("BLOB1_ACCELERATION 1 1 1")
    assert (driven(VisionServo(points_config(), pulled), given)["b_xdd"] == 1).all()


def butterworth(rows: Array, cutoffs: Array, start: int) -> Array:
    """By SciPy, at rest at the first value that counts."""
    found = rows.copy()
    for k, cutoff in enumerate(cutoffs):
        if cutoff not in (0, 100):
            b, a = signal.butter(2, cutoff / 100)
            at = signal.lfilter_zi(b, a) * rows[start, k]
            found[start:, k] = signal.lfilter(b, a, rows[start:, k], zi=at)[0]
    return found


@pytest.mark.parametrize("executor", EXECUTORS)
def test_blobs_are_filtered_by_butterworths_rule(executor: str) -> None:
    cutoffs = np.array([20.0, 5, 0, 100, 30, 20, 10, 100, 40])
    raw = walk()
    given = {"b_raw": raw, "b_visible": np.ones(TICKS), "stamp": stamps()}
    text = "BLOB1_BUTTER " + " ".join(map(str, cutoffs))
    found = driven(VisionServo(points_config(), parse_vision(text)), given, executor)
    x = butterworth(raw, cutoffs[:3], 0)
    slope, a, v = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    slope[1:] = np.diff(x, axis=0) * RATE
    a[2:] = np.diff(slope[1:], axis=0) * RATE
    v[1:] = slope[1:] + a[1:] / (2 * RATE)
    np.testing.assert_allclose(found["b_x"], x, atol=1e-12)
    np.testing.assert_allclose(found["b_xd"], butterworth(v, cutoffs[3:6], 1), atol=1e-9)
    np.testing.assert_allclose(found["b_xdd"], butterworth(a, cutoffs[6:], 2), atol=1e-6)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_nine_coefficients_are_gains_of_position_velocity_and_acceleration(executor: str) -> None:
    gains = np.array([[0.5, 0.6, 0.7], [8.0, 9.0, 10.0], [40.0, 50.0, 60.0]])
    raw = walk()
    given = {"b_raw": raw, "b_visible": np.ones(TICKS), "stamp": stamps()}
    text = "BLOB1_KALMAN " + " ".join(map(str, gains.ravel()))
    found = driven(VisionServo(points_config(), parse_vision(text)), given, executor)
    x, v, a, h = raw[0], np.zeros(3), np.zeros(3), 1 / RATE
    for k in range(1, TICKS):
        guess = x + v * h + a * h * h / 2
        miss = raw[k] - guess
        x, v, a = guess + gains[0] * miss, v + a * h + gains[1] * miss, a + gains[2] * miss
        np.testing.assert_allclose(found["b_x"][k], x, atol=1e-12)
        np.testing.assert_allclose(found["b_xd"][k], v, atol=1e-10)
        np.testing.assert_allclose(found["b_xdd"][k], a, atol=1e-9)


def test_filters_go_on_over_short_gaps_and_begin_anew_after_long_ones() -> None:
    visible = np.ones(TICKS)
    visible[10:13] = 0  # 0.04 s from picture to picture
    visible[20:32] = 0  # 0.13 s
    given = {"b_raw": thrown(stamps()), "b_visible": visible, "stamp": stamps()}
    found = driven(VisionServo(points_config()), given)
    np.testing.assert_allclose(found["b_xdd"][13], PULL, atol=1e-8)
    assert not found["b_xd"][32].any()
    np.testing.assert_allclose(found["b_xdd"][34], PULL, atol=1e-8)


def test_an_old_picture_counts_no_more() -> None:
    stamp = stamps()
    stamp[10:] = stamp[10]  # none comes any more
    stamp -= 0.3
    given = {"b_raw": thrown(stamp), "b_visible": np.ones(TICKS), "stamp": stamp}
    found = driven(VisionServo(points_config()), given)
    age = stamps() - stamp
    np.testing.assert_array_equal(found["b_status"], age <= 0.5)
    seen = age <= 0.5
    seen[:2] = False
    np.testing.assert_allclose(found["b_x"][seen], thrown(stamps())[seen], atol=1e-8)


def test_pictures_have_noise_by_the_seed_come_late_and_can_be_hidden() -> None:
    made = config(noise=0.5, delay=0.03)
    points = np.tile([0.1, 0.0, 0.2], (150, 1))
    hidden = np.zeros((150, 2))
    hidden[50, 1] = 1
    seen = driven(SimulatedCameras(made), {"b_x": points, "occluded": hidden})
    again = driven(SimulatedCameras(made), {"b_x": points, "occluded": hidden})
    np.testing.assert_array_equal(seen["pixels"], again["pixels"])
    error = seen["pixels"][3:] - projected(points[:1])
    assert abs(error.mean()) < 0.1
    assert abs(error.std() - 0.5) < 0.08
    assert np.abs(np.corrcoef(error.T) - np.eye(4)).max() < 0.4
    np.testing.assert_allclose(seen["stamp"][3:], np.arange(147) / RATE, atol=1e-12)
    assert (seen["stamp"][:3] < 0).all()
    assert not seen["visible"][:3].any()
    assert np.argwhere(seen["visible"][3:] == 0).tolist() == [[50, 1]]


def test_what_is_beside_a_picture_or_behind_a_camera_is_not_visible() -> None:
    points = np.array([[0.0, 0, 0], [5.0, 0, 0], [0.0, 9.0, 0]] * 2)
    seen = driven(SimulatedCameras(lab(vision=VisionConfig(blobs=("b",)))), {"b_x": points})
    assert seen["visible"].tolist() == [[1, 1], [0, 0], [0, 0]] * 2


def test_a_ball_in_flight_is_where_it_is_though_pictures_come_late() -> None:
    """Cameras, triangulation, stamps and prediction together, with the filters of a `.pp` file."""
    made = config(delay=0.02)
    text = "BLOB1_ACCELERATION 0 0 -9.81 BLOB1_BUTTER 100 100 100 0 0 0 100 100 100"
    preferences = parse_vision(text, 1)
    system = lw.System(name="flight", base=RATE)
    cameras = system.add(SimulatedCameras(made), rate=RATE)
    vision = system.add(VisionServo(made, preferences), rate=RATE)
    system.connect(["0.2*t", "0.1 - 0.1*t", "0.3*t - 4.905*t**2"], cameras.b_x)
    for port in ("pixels", "visible", "stamp"):
        system.connect(cameras[port], vision[port])
    run = lw.simulate(system, 0.35, every=1)
    t = run.times[4:]
    np.testing.assert_allclose(run["vision.b_x[2]"][4:], 0.3 * t - 4.905 * t * t, atol=1e-9)
    np.testing.assert_allclose(run["vision.b_xd[2]"][4:], 0.3 - 9.81 * t, atol=1e-8)


def test_preferences_become_inputs_and_replace_those_of_before() -> None:
    """SL check 60: a task chooses its own file during a run."""
    made = points_config()
    servo = VisionServo(made, parse_vision("PREDICT .1 BLOB1_KALMAN 1 2 3 4 5 6 7 8 9", 1))
    known = {f"vision.{name}" for name in servo.parameters}
    values = preference_values(made, parse_vision("BLOB1_ACCELERATION 0 0 -9.81", 1))
    assert set(values) == known
    assert values["vision.predict"] == 0
    assert values["vision.b_gains"] == 0
    assert [values[f"vision.b_acceleration{i}"] for i in (1, 2, 3)] == [0, 0, -9.81]
    started = preference_values(made, parse_vision("PREDICT .1 BLOB1_KALMAN 1 2 3 4 5 6 7 8 9", 1))
    assert set(started) == set(values)  # nothing of the other file is left


def test_a_task_takes_its_own_file_of_preferences(tmp_path: Path) -> None:
    """SL check 60: in its init; a blob that jumps is filtered from then on, as the file says."""
    (tmp_path / "mine.pp").write_text("BLOB1_BUTTER 5 5 5 5 5 5 5 5 5\n")
    (tmp_path / "vision_default.pp").write_text("")
    eyes = replace(lab_config("sl-arm").vision, blobs=("blob1",))
    small = replace(planar(tmp_path), preferences=tmp_path, vision=eyes)

    class Looks(Task):
        def init(self, lab: Lab) -> None:
            lab.set_vision("mine.pp")

        def run(self, t: float, state: Any, desired: Any) -> None:
            pass

    with Lab(small) as running:
        running.add(Looks)
        for jumped in (True, False):
            running.place_blob("blob1", [0.2, 0.1, -0.3])
            running.run(1.0)
            assert running.blobs["blob1"].x[0] == pytest.approx(0.2, abs=2e-3)
            running.place_blob("blob1", [0.3, 0.1, -0.3])
            running.run(1 / 60)
            assert (running.blobs["blob1"].x[0] > 0.29) == jumped
            if jumped:
                running.start("looks")


def test_the_base_is_told_in_the_world() -> None:
    """SL check 45: rates along the axes of a base that turns become w, x' and x'' of the world.

    The place and the turn come from these rates by an integrator of SciPy, and x' and x'' from
    differences of the place.
    """
    v0, v1 = np.array([0.3, -0.2, 0.1]), np.array([0.5, 0.4, -0.6])
    w0, w1 = np.array([1.0, -0.7, 0.4]), np.array([-0.5, 0.8, 1.1])

    def rates(t: float, y: Array) -> Array:
        turn = Rotation.from_quat(y[3:], scalar_first=True)
        w, x, yy, z = y[3:]
        rows = np.array([[-x, -yy, -z], [w, -z, yy], [z, w, -x], [-yy, x, w]])
        return np.concatenate([turn.apply(v0 + t * v1), rows @ (w0 + t * w1) / 2])

    start = [
        0.1,
        0.2,
        0.3,
        *Rotation.from_euler("zyx", [0.4, -0.3, 0.8]).as_quat(scalar_first=True),
    ]
    t, h = np.arange(1, 31) / RATE, 1e-3
    way = solve_ivp(rates, (0, 0.4), start, rtol=1e-12, atol=1e-12, dense_output=True).sol
    raw_rate = np.concatenate([v0 + t[:, None] * v1, w0 + t[:, None] * w1], axis=1)
    found = driven(BaseState(), {"raw": way(t).T, "raw_rate": raw_rate})
    turns = Rotation.from_quat(way(t).T[:, 3:], scalar_first=True)
    place, before, after = (way(t + k * h).T[:, :3] for k in (0, -1, 1))
    np.testing.assert_allclose(found["xd"], (after - before) / (2 * h), atol=1e-5)
    bend = (after - 2 * place + before) / h**2
    np.testing.assert_allclose(found["xdd"][1:], bend[1:], atol=1e-4)
    spun = [Rotation.from_quat(way(t + k * h).T[:, 3:], scalar_first=True) for k in (-1, 1)]
    np.testing.assert_allclose(
        found["w"], (spun[1] * spun[0].inv()).as_rotvec() / (2 * h), atol=1e-5
    )
    np.testing.assert_allclose(found["wd"][1:], turns.apply(w1)[1:], atol=1e-9)
    assert np.abs(found["xdd"][1:] - turns.apply(v1)[1:]).max() > 0.1  # w x v counts


def test_cameras_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="one camera does not determine how far"):
        cameras_of(lab(vision=VisionConfig(cameras=1)))
    with pytest.raises(InputError, match="3 cameras, and 2 are placed"):
        VisionServo(config(cameras=3))
    assert math.isclose(cameras_of(lab(vision=VisionConfig(cameras=3)))[1].position[0], 0)


def test_a_laboratory_sees_blobs_and_takes_up_the_file_of_a_task() -> None:
    """SL checks 59 and 60: in its System, during a run."""
    with Lab("sl-arm") as running:
        running.set_vision(VisionPreferences())  # none
        running.run(0.1)
        assert not any(blob.status for blob in running.blobs.values())  # until it is placed
        with pytest.raises(InputError, match="blob1 is not seen"):
            running.do("goVisTarget")
        running.place_blob("blob1", [0.2, 0.1, -0.3])
        running.run(0.1)
        blob = running.blobs["blob1"]
        np.testing.assert_allclose(blob.x, [0.2, 0.1, -0.3], atol=1e-9)
        assert blob.status
        running.set_vision("vision_default.pp")
        running.set_vision(parse_vision("BLOB1_BUTTER 5 5 5 5 5 5 5 5 5"))
        running.place_blob("blob1", [0.3, 0.1, -0.3])
        running.run(1 / 60)
        assert 0.2 < running.blobs["blob1"].x[0] < 0.21  # filtered now
        running.place_blob("blob1", [0.3, 0.1, -0.3], seen=False)
        running.run(0.05)
        assert not running.blobs["blob1"].status
        running.place_blob("blob1", [9.0, 9.0, 9.0], by_cameras=False)  # where no camera sees it
        running.run(2.0)
        np.testing.assert_allclose(running.blobs["blob1"].x, 9.0, atol=1e-4)
        with pytest.raises(InputError, match="did you mean 'blob"):
            running.place_blob("blob", [0, 0, 0])
        with pytest.raises(InputError, match=r"missing.pp"):
            running.set_vision("missing.pp")


def followed(z: Array, variances: Array, times: Array, jerk: float) -> tuple[Array, Array]:
    """A Kalman filter of one axis in plain NumPy, with matrices and the usual form."""
    x, P = np.array([z[0], 0.0, 0.0]), np.diag([variances[0], 4.0, 400.0])
    states, spreads = [x], [P]
    for h, here, r in zip(np.diff(times), z[1:], variances[1:], strict=True):
        F = np.array([[1, h, h * h / 2], [0, 1, h], [0, 0, 1]])
        b = [h**3 / 6, h**2 / 2, h]
        Q = np.array([[h**5 / 20, h**4 / 8, b[0]], [h**4 / 8, h**3 / 3, b[1]], b])
        x, P = F @ x, F @ P @ F.T + jerk**2 * Q
        K = P[:, 0] / (P[0, 0] + r)
        x, P = x + K * (here - x[0]), P - np.outer(K, P[0])
        states.append(x)
        spreads.append(P)
    return np.array(states), np.array(spreads)


def worth(pixels: Array) -> Array:
    """The variances of the point of two cameras along x, y, z, for a deviation of one pixel."""
    turn = Rotation.from_euler("XYZ", (0.1, 0.2, -0.3)).as_matrix()
    rows, right, depths = [], [], []
    for i, eye in enumerate(EYES):
        axes = Rotation.from_euler("XYZ", eye.a).as_matrix().T
        for pixel, center, focal, axis in zip(
            pixels[2 * i : 2 * i + 2], eye.center, eye.focal, axes, strict=False
        ):
            rows.append((pixel - center) / focal * axes[2] - axis)
            right.append(rows[-1] @ eye.position)
            depths.append((axes[2], eye.position, focal))
    inverse = np.linalg.pinv(np.array(rows))
    x = inverse @ right
    levers = [float(z @ (x - at)) / focal for z, at, focal in depths]
    found: Array = ((turn @ inverse * levers) ** 2).sum(axis=1)
    return found


def test_the_worth_of_pictures_is_how_the_point_moves_with_each_pixel() -> None:
    """The covariance of the point, by differences of what the servo finds."""
    pixels, step = projected(walk())[0], 1e-4
    rows = np.vstack([pixels + s * step * row for s in (1, -1) for row in np.eye(4)] + [pixels])
    given = {"pixels": rows, "visible": np.ones((9, 2)), "stamp": stamps()[:9]}
    servo = VisionServo(config(), parse_vision("BLOB1_NOISE 0.5 300"))
    found = driven(servo, given)
    slopes = (found["b_unfiltered"][:4] - found["b_unfiltered"][4:8]) / (2 * step)
    variances = 0.25 * (slopes**2).sum(axis=0)
    assert 0.25 * worth(pixels) == pytest.approx(variances, rel=1e-6)
    assert found["b_sigma"][0, :3] ** 2 == pytest.approx(variances, rel=1e-3)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_kalman_filter_weighs_pictures_by_what_they_are_worth(executor: str) -> None:
    """Gains, deviations and estimates are those of matrices; a gap in the pictures included."""
    rough = projected(walk()) + 0.5 * np.random.default_rng(2).standard_normal((TICKS, 4))
    visible = np.ones((TICKS, 2))
    visible[7:10, 1] = 0
    given = {"pixels": rough, "visible": visible, "stamp": stamps()}
    servo = VisionServo(config(), parse_vision("BLOB1_NOISE 0.5 300"))
    found = driven(servo, given, executor)
    seen = visible.all(axis=1)
    variances = 0.25 * np.array([worth(row) for row in rough[seen]])
    for axis in range(3):
        points = found["b_unfiltered"][seen, axis]
        states, spreads = followed(points, variances[:, axis], stamps()[seen], 300.0)
        for i, key in enumerate(("b_x", "b_xd", "b_xdd")):
            scale = np.abs(states[:, i]).max()
            assert found[key][seen, axis] == pytest.approx(states[:, i], abs=1e-9 * scale)
            deviations = np.sqrt(spreads[:, i, i])
            assert found["b_sigma"][seen, 3 * i + axis] == pytest.approx(deviations, rel=1e-6)


def test_errors_of_the_kalman_filter_are_as_large_as_it_says() -> None:
    """Over 80 blobs that jerk at random, seen in pictures with noise: normalized squared errors
    of position, velocity and acceleration are on average one, within the band of chi-square."""
    random, h, jerk, length, pause = np.random.default_rng(7), 1 / RATE, 30.0, 12, 12
    runs = 80
    F = np.array([[1, h, h * h / 2], [0, 1, h], [0, 0, 1]])
    b = [h**3 / 6, h**2 / 2, h]
    Q = jerk**2 * np.array([[h**5 / 20, h**4 / 8, b[0]], [h**4 / 8, h**3 / 3, b[1]], b])
    L = np.linalg.cholesky(Q + 1e-30 * np.eye(3))
    state = random.normal(size=(runs, 3, 3)) * np.array([0.1, 2.0, 20.0])[:, None]
    points, last = np.zeros((runs, length + pause, 3)), state
    for k in range(length + pause):
        points[:, k] = state[:, 0]
        last = state if k < length else last
        state = np.einsum("ij,njk->nik", F, state)
        state = state + np.einsum("ij,njk->nik", L, random.normal(size=state.shape))
    pixels = projected(points.reshape(-1, 3))
    pixels += 0.5 * random.normal(size=pixels.shape)
    visible = np.tile(np.repeat([[1.0, 1.0], [0.0, 0.0]], [length, pause], axis=0), (runs, 1))
    given = {"pixels": pixels, "visible": visible, "stamp": np.arange(len(pixels)) / RATE}
    servo = VisionServo(config(), parse_vision("BLOB1_NOISE 0.5 30"))
    found = driven(servo, given, "native")
    at = np.arange(runs) * (length + pause) + length - 1
    for i, key in enumerate(("b_x", "b_xd", "b_xdd")):
        errors = (found[key][at] - last[:, i]) / found["b_sigma"][at, 3 * i : 3 * i + 3]
        low, high = chi2.ppf([0.0005, 0.9995], runs * 2) / (runs * 2)  # axes share the pictures
        assert low < float((errors**2).mean()) < high


def test_noise_of_preferences_is_read_written_and_checked() -> None:
    """`BLOBn_NOISE`, alone; what is not above zero has its line."""
    found = parse_vision("BLOB2_NOISE 0.5 300")
    assert found.blob(2).noise == (0.5, 300.0)
    assert parse_vision(vision_text(found)) == found
    with pytest.raises(InputError, match=r"BLOB1_NOISE is 0 300.*above 0"):
        parse_vision("BLOB1_NOISE 0 300")
    with pytest.raises(InputError, match="blob 1 has both NOISE and KALMAN"):
        parse_vision("BLOB1_NOISE 1 300\nBLOB1_KALMAN 1 2 3 4 5 6 7 8 9")
