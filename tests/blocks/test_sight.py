"""A camera in a loop: the report's tracker, its skipped fields, and depth from a known area."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, cast

import numpy as np
import pytest

import linkwright as lw
from linkwright import control, elements
from linkwright.blocks import Delay, Integrator
from linkwright.control.visual_compensator import tracking_gain_limit, tracking_poles
from linkwright.elements.camera_calibration import PixelScale, depth_from_area
from tests.seeds import cases

SAMPLE = lw.sampled(period=0.028)
AREA = math.pi * 0.04**2
HEIGHT = 1.0
"""m, of the camera above the belt."""


def stage() -> lw.Mechanism:
    """Return a stage that carries a camera over a belt; both slide along x."""
    m = lw.Mechanism("stage")
    slide = m.body("slide", translate="x", mass=1.0)
    m.point("eye", slide, (0, 0, HEIGHT))
    belt = m.body("belt", translate="x", mass=1.0)
    assert belt.name
    for name in ("skip_from", "skip_to", "hide_from", "hide_to"):
        m.parameter(name, 1e3, unit="s")
    m.force("push", m.input("F", unit="N"), at=slide, along="x")
    return m


@cache
def tracker(predicts: bool) -> lw.System:
    """Return the stage with its camera and a law: three samples of delay."""
    m, focal = stage(), (800.0, 700.0)
    s = lw.System(m)
    down = ((1, 0, 0), (0, -1, 0), (0, 0, -1))
    disc = elements.DiscTarget(0.03, body="belt")
    eye = s.add(
        elements.PinholeCamera(
            m, "eye", [disc], rotation=down, focal=focal, pixels=(1024, 512), readout=1
        ),
        rate=SAMPLE,
    )
    kind = control.VisualPredictor if predicts else control.VisualCompensator
    law = s.add(kind(1, scale=HEIGHT / focal[0]), rate=SAMPLE)
    late = s.add(Delay(2, count=1), rate=SAMPLE)
    s.connect(eye.u[0] - 512, law.error[0])
    s.connect(eye.visible[0], law.seen)
    s.connect(eye.count, law.field)
    s.connect(law.velocity, late.u)
    s.connect("4000*(delay.y[0] - slide_dot)", "F")
    s.connect("1 if t > skip_from and t < skip_to else 0", "camera.skip")
    s.connect("1 if t > hide_from and t < hide_to else 0", "camera.occluded[0]")
    return s


def followed(predicts: bool, until: float, values: dict[str, float], **start: float) -> Any:
    """Return a run of the stage."""
    settings: dict[str, Any] = {"method": "rk4", "step": 4e-4}
    return lw.simulate(tracker(predicts), until, initial=start, parameters=values, **settings)


# -- the loop --------------------------------------------------------------------------------------
def test_the_tracker_in_a_system_has_the_poles_of_the_report() -> None:
    """Server check 49."""
    s = lw.System(name="loop")
    law = s.add(control.VisualCompensator(1), rate=SAMPLE)
    late, robot = s.add(Delay(3, count=1), rate=SAMPLE), s.add(Integrator())
    s.connect(law.velocity, late.u)
    s.connect(late.y[0], robot.u)
    s.connect("1 - integrator.y", law.error[0])
    poles = np.linalg.eigvals(lw.linearize(s).a)
    slow = [z for z in poles if z.imag > 0 and z.real > 0]
    assert slow == [pytest.approx(0.9149 + 0.0619j, abs=5e-5)]
    for z in tracking_poles():
        assert np.abs(poles - z).min() < 1e-9
    for other in (1, 2):
        assert abs(max(tracking_poles(delay=other), key=lambda z: z.real) - slow[0]) > 0.002
    run = lw.simulate(s, until=5.0)
    assert 0.33 < run["integrator.y"].max() - 1 < 0.37
    at_ticks = [float(np.interp(k * 0.028, run.times, run["integrator.y"])) for k in range(170)]
    assert max(at_ticks) == pytest.approx(1.3491, abs=2e-4)


def test_the_time_to_the_peak_is_counted_in_samples_and_not_in_fields() -> None:
    """Server check 49: the 1.3 s and 1.8 % of the report, of its slow poles without the zero."""
    slow = max(tracking_poles(), key=lambda z: z.real + z.imag)
    samples = math.pi / np.angle(slow)
    assert samples == pytest.approx(46.5, abs=0.1)
    assert samples * 0.028 == pytest.approx(1.30, abs=0.005)
    assert samples / 60 < 0.8
    assert abs(slow) ** samples == pytest.approx(0.018, abs=5e-4)


def test_a_camera_on_a_stage_overshoots_as_measured_and_follows_a_ramp_without_error() -> None:
    """Server check 49."""
    step = followed(False, 4.0, {}, belt=0.1)
    assert 1.33 < step["slide"].max() / 0.1 < 1.37
    ramp = followed(False, 6.0, {}, belt_dot=0.1)
    assert ramp["camera.visible[0]"][-1] == 1
    assert abs(512 - ramp.final["camera.u[0]"]) < 0.02  # pixels
    assert abs(ramp.final["belt"] - ramp.final["slide"]) < 1e-4


def test_skipped_fields_hold_the_speed_and_a_lost_target_stops_the_robot() -> None:
    """Server check 49."""
    run = followed(False, 7.0, {"skip_from": 3.0, "skip_to": 3.5, "hide_from": 5.0}, belt_dot=0.1)
    t, v = run.times, run["tracker.velocity[0]"]
    gap = (t > 3.06) & (t < 3.5)
    assert np.ptp(v[gap]) == 0.0
    assert v[gap][0] == pytest.approx(0.1, abs=2e-3)
    assert np.ptp(run["camera.count"][gap]) == 0.0
    assert run["tracker.missed"][gap].max() >= 15
    assert run["tracker.lost"][gap].max() == 0.0
    assert run["tracker.lost"][-1] == 1.0
    assert run["tracker.velocity[0]"][-1] == 0.0
    assert run["camera.visible[0]"][-1] == 0.0
    assert abs(run.final["slide_dot"]) < 1e-6


def test_a_gain_with_which_no_loop_is_stable_is_refused_with_the_limit() -> None:
    limit = tracking_gain_limit(0.95, 3)
    for delay in (0, 3):
        edge = tracking_gain_limit(0.95, delay)
        for share, stable in ((0.99, True), (1.01, False)):
            poles = tracking_poles(share * edge, 0.95, delay)
            assert (max(map(abs, poles)) < 1) == stable
    with pytest.raises(lw.Error, match=f"less than {limit:.3g}"):
        control.VisualCompensator(1, gain=2.1)
    m = stage()
    law = control.ImagePoints(m, "eye", [(1, 2)], depth=1.0, gain=130.0)
    with pytest.raises(lw.Error, match="less than 120"):
        lw.System(m).add(law, rate=60)


def settled(run: Any, goal: float) -> int:
    """Return the number of samples after which the stage stays within 2 % of where it should be."""
    away = np.abs(run["slide"] - goal) > 0.02 * goal
    return int(np.ceil(run.times[np.flatnonzero(away)[-1]] / 0.028))


def test_the_predictor_settles_in_half_the_fields_with_less_than_5_percent_overshoot() -> None:
    """Server check 49."""
    plain, ahead = (followed(predicts, 4.0, {}, belt=0.1) for predicts in (False, True))
    assert settled(ahead, 0.1) <= settled(plain, 0.1) / 2
    assert ahead["slide"].max() / 0.1 < 1.05
    ramp = followed(True, 4.0, {}, belt_dot=0.2)
    assert abs(ramp.final["belt"] - ramp.final["slide"]) < 1e-4
    assert ramp.final["tracker.target_rate[0]"] == pytest.approx(0.2, rel=1e-3)


def test_the_predictor_follows_a_target_that_is_hidden_and_gives_up_in_the_end() -> None:
    """Server check 49."""
    run = followed(True, 6.0, {"hide_from": 2.0, "hide_to": 3.0}, belt_dot=0.15)
    hidden = (run.times > 2.1) & (run.times < 3.0)
    assert run["camera.visible[0]"][hidden].max() == 0
    assert np.abs(run["belt"] - run["slide"])[hidden].max() < 2e-3
    assert np.abs(run["belt"] - run["slide"])[-1] < 1e-4
    (gap,) = elements.view_gaps(run)
    assert (gap.start, gap.end) == pytest.approx((2.04, 3.05), abs=0.02)
    assert "target 0 is not whole in the picture of 'camera', or hidden" in str(gap)
    with pytest.raises(lw.Error, match="no camera 'eye'"):
        elements.view_gaps(run, "eye")
    gone = followed(True, 6.0, {"hide_from": 2.0}, belt_dot=0.15)
    assert (gone["tracker.lost"][-1], gone["tracker.velocity[0]"][-1]) == (1, 0)


def test_the_predictor_takes_a_target_that_jumps_for_a_new_place_and_not_for_speed() -> None:
    s = lw.System(name="jump")
    law = s.add(control.VisualPredictor(1, scale=1.0, answer=0, readout=0), rate=SAMPLE)
    robot = s.add(Integrator())
    s.connect(law.velocity[0], robot.u)
    s.connect("(100 if t > 1 else 0) - integrator.y", law.error[0])
    run = lw.simulate(s, until=2.0)
    assert run["integrator.y"].max() < 105
    assert run.final["integrator.y"] == pytest.approx(100, abs=0.5)


# -- pictures --------------------------------------------------------------------------------------
CORNERS = [(-0.2, -0.1), (0.25, -0.15), (0.1, 0.2), (0.0, 0.05)]


@cache
def viewer(kind: str) -> lw.System:
    """Return a camera at the origin, which looks along z, and a target on a free body."""
    target: Any = (
        elements.DiscTarget(0.2, body="thing")
        if kind == "disc"
        else elements.PolygonTarget(CORNERS, body="thing")
    )
    m = _free()
    s = lw.System(m, base=60)
    s.add(elements.PinholeCamera(m, "n", [target], focal=(500, 400), pixels=(800, 600)), rate=60)
    return s


def picture(kind: str, at: dict[str, float], **values: float) -> dict[str, float]:
    """Return what the camera sees of a target at a place."""
    lens = {f"camera.{k}": v for k, v in values.items()}
    initial = {f"thing.{k}": v for k, v in at.items()}
    run = lw.simulate(viewer(kind), until=0.01, initial=initial, parameters=lens)
    return {k.split(".")[1]: v for k, v in run.final.items() if k.startswith("camera.")}


@pytest.mark.parametrize("kind", ["disc", "polygon"])
def test_centroid_area_and_variance_are_those_of_the_projected_shape(kind: str) -> None:
    """Against sums over a fine grid of points of the target, each projected by itself."""
    place = {"x": 0.1, "y": -0.05, "z": 1.2, "rx": 0.5, "ry": -0.4, "rz": 0.3}
    seen = picture(kind, place)
    edge = np.array(CORNERS)
    if kind == "disc":
        phi = np.linspace(0, 2 * math.pi, 20001)[:-1]
        edge = 0.2 * np.column_stack([np.cos(phi), np.sin(phi)])
    R = lw.Robot(_free()).pose([0, 0, 0, place["rx"], place["ry"], place["rz"]], "thing")[:3, :3]
    points = np.column_stack([edge, np.zeros(len(edge))]) @ R.T + [place[k] for k in "xyz"]
    u = 400 + 500 * points[:, 0] / points[:, 2]
    v = 300 + 400 * points[:, 1] / points[:, 2]
    area, mean, variance = _by_triangles(np.column_stack([u, v]))
    got = [seen["area[0]"], seen["u[0]"], seen["v[0]"], *(seen[f"variance[{i}]"] for i in range(3))]
    want = [area, *mean, variance[0, 0], variance[0, 1], variance[1, 1]]
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert seen["visible[0]"] == 1


def _free() -> lw.Mechanism:
    m = lw.Mechanism("m")
    m.body("thing", translate="xyz", rotate="xyz", mass=1, inertia=1)
    return m


def _by_triangles(corners: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return area, centroid and variance of a polygon as a signed sum of triangles."""
    a, b = corners, np.roll(corners, -1, axis=0)
    areas = (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2
    total = areas.sum()
    mean = (areas[:, None] * (a + b) / 3).sum(0) / total
    p, q, o = a - mean, b - mean, -mean[None, :]
    areas = areas / total
    middle = (p + q + o) / 3
    spread = sum(
        areas[:, None, None] * (x - middle)[:, :, None] * (x - middle)[:, None, :]
        for x in (p, q, np.repeat(o, len(p), 0))
    )
    around = (areas[:, None, None] * middle[:, :, None] * middle[:, None, :]).sum(0)
    return abs(float(total)), mean, np.asarray(spread).sum(0) / 12 + around


@pytest.mark.parametrize(
    "place",
    [
        {"z": -1.0},
        {"z": 1.0, "x": 0.9},
        {"z": 0.05, "ry": 1.2},
        {"z": 1.0, "ry": math.pi / 2},
        {"z": 250},
    ],
    ids=["behind", "beside", "across the camera", "edge on", "too far"],
)
def test_what_is_not_whole_in_the_picture_is_not_visible_and_leaves_no_number(
    place: dict[str, float],
) -> None:
    for kind in ("disc", "polygon"):
        seen = picture(kind, place)
        assert seen["visible[0]"] == 0
        assert [seen[k] for k in ("u[0]", "v[0]", "area[0]")] == [0, 0, 0]
        assert all(math.isfinite(x) for x in seen.values())


# -- fields ---------------------------------------------------------------------------------------
@cache
def flown(**given: Any) -> Any:
    """Return a run of a disc that flies past a camera with 240 instants a second."""
    m = _free()
    disc = elements.DiscTarget(0.02, body="thing")
    s = lw.System(m, base=240)
    s.add(elements.PinholeCamera(m, "n", [disc], pixels=(2000, 512), **given), rate=240)
    start = {"thing.z": 1.0, "thing.x": -0.5, "thing.u": 0.4}
    return lw.simulate(s, until=2.0, initial=start, every=1)


@pytest.mark.parametrize("exposure", [0, 2])
@pytest.mark.parametrize("readout", cases([0, 3, 5], daily=[0, 5]))
def test_a_field_shows_the_middle_of_its_exposure_and_arrives_when_it_was_read(
    exposure: int, readout: int
) -> None:
    run = flown(every=4, exposure=exposure, readout=readout)
    seen = run["camera.count"] > 1
    place = 1000 + 600 * (-0.5 + 0.4 * run["camera.stamp"])
    np.testing.assert_allclose(run["camera.u[0]"][seen], place[seen], atol=1e-6)
    arrived = run.times[np.flatnonzero(np.diff(run["camera.count"]) > 0) + 1]
    assert set(np.rint(240 * arrived - readout) % 4) == {0.0}
    age = run.times - run["camera.stamp"]
    assert age[seen].min() == pytest.approx((readout + exposure / 2) / 240)
    assert age[seen].max() == pytest.approx((readout + exposure / 2 + 3) / 240)
    assert run["camera.visible[0]"][seen].min() == 1


def test_noise_and_lost_fields_are_as_many_as_was_said() -> None:
    run = flown(noise=0.5, area_noise=0.02, skipped=0.25)
    new = np.flatnonzero(np.diff(run["camera.count"]) > 0) + 1
    assert 1 - len(new) / len(run.times) == pytest.approx(0.25, abs=0.05)
    place = 1000 + 600 * (-0.5 + 0.4 * run["camera.stamp"][new])
    assert np.std(run["camera.u[0]"][new] - place) == pytest.approx(0.5, rel=0.15)
    area = run["camera.area[0]"][new]
    assert np.std(area) / np.mean(area) == pytest.approx(0.02, rel=0.15)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"every": 2, "exposure": 2}, "open for 2 of 2 instants"),
        ({"every": 1.5}, "whole number"),
        ({"rotation": ((1, 0, 0), (0, 1, 0), (0, 0, -1))}, "not a rotation matrix"),
        ({"skipped": 1.5}, "skipped"),
    ],
)
def test_what_no_camera_can_be_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(lw.Error, match=message):
        elements.PinholeCamera(_free(), "n", [elements.DiscTarget(0.1)], **given)


def test_targets_that_cannot_be_are_refused() -> None:
    with pytest.raises(lw.Error, match="no area"):
        elements.PolygonTarget([(0, 0), (1, 1), (2, 2)])
    with pytest.raises(lw.Error, match="three or more"):
        elements.PolygonTarget([(0, 0), (1, 1)])
    with pytest.raises(lw.Error, match="the polygon has the points None"):
        elements.PolygonTarget(cast("Any", None))
    with pytest.raises(lw.Error, match="after its corners 1 and 3 cross or touch"):
        elements.PolygonTarget([(0, 0), (1, 1), (1, 0), (0, 2)])
    with pytest.raises(lw.Error, match="after its corners 1 and 4 cross or touch"):
        elements.PolygonTarget([(0, 0), (1, 1), (2, 0), (2, 3), (1, 1), (0, 2)])
    closed = [(0, 0), (2, 0), (2, 2), (1, 0.5), (0, 2), (0, 0)]
    assert len(elements.PolygonTarget(closed).corners()) == 6
    with pytest.raises(lw.Error, match="radius"):
        elements.DiscTarget(0.0)
    with pytest.raises(lw.Error, match="no targets"):
        elements.PinholeCamera(_free(), "n", [])
    for junk, words in ((None, "targets of 'camera' is None"), ([None], "target 0 of 'camera'")):
        with pytest.raises(lw.Error, match=words):
            elements.PinholeCamera(_free(), "n", cast("Any", junk))


# -- depth -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("focal", [(800.0, 800.0), (800.0, 560.0)])
def test_depth_from_a_known_area_is_within_two_percent_over_a_range(
    focal: tuple[float, float],
) -> None:
    """Server check 50."""
    scale = PixelScale(1 / focal[0], 1 / focal[1])
    lens = {"focal_u": focal[0], "focal_v": focal[1], "size0": 0.04}
    for u in np.geomspace(0.3, 5.0, 8):
        pixels = picture("disc", {"z": float(u), "x": 0.1 * u, "ry": 0.1}, **lens)["area[0]"]
        assert depth_from_area(AREA, pixels, scale) == pytest.approx(u, rel=0.02)
        if focal[0] != focal[1]:
            square = PixelScale(scale.across, scale.across)
            assert depth_from_area(AREA, pixels, square) != pytest.approx(u, rel=0.1)


def test_depth_from_counted_pixels_is_within_two_percent_over_a_range() -> None:
    """Server check 50: with pixels as coarse as they are, and not square."""
    focal = (800.0, 560.0)
    m = _free()
    camera = elements.PinholeCamera(m, "n", [elements.DiscTarget(0.04)], focal=focal)
    maker, scale = elements.PictureMaker(camera), PixelScale(1 / 800, 1 / 560)
    for u in np.geomspace(0.25, 2.0, 12):
        outline = [0.04, 0, 0, 0, 0.04, 0, 0.02 * u, -0.03 * u, u]
        (region,) = elements.find_regions(maker.frame(outline))
        assert depth_from_area(AREA, region.area, scale) == pytest.approx(u, rel=0.02)


def test_scales_of_pixels_are_calibrated_from_known_steps() -> None:
    """Server check 50."""
    places = [(0.0, 0.0), (0.1, 0.0), (0.1, 0.1), (-0.1, 0.05)]
    seen = [picture("disc", {"z": 1.5, "x": x, "y": y}, size0=0.02) for x, y in places]
    rows = [(each["u[0]"], each["v[0]"]) for each in seen]
    found = elements.calibrate_scale(places, rows, 1.5)
    assert found.focal == pytest.approx((500, 400), rel=1e-9)
    assert found.across != found.down
    with pytest.raises(lw.Error, match="not moved along its columns"):
        elements.calibrate_scale([(0, 0), (1, 0), (2, 0)], [(0, 0), (9, 0), (18, 0)], 1.0)
    with pytest.raises(lw.Error, match="nothing is seen"):
        depth_from_area(AREA, 0.0, found)


STEPS = np.array([(0, 0), (0.1, 0), (0, 0.1), (0.1, 0.1), (-0.1, 0), (0, -0.1)])
SEEN = STEPS * (800, 600) + 256


def _rolled(degrees: float) -> Any:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return STEPS @ np.array([[c, s], [-s, c]]) * (800, 600) + 256


def _outlier(row: int) -> Any:
    return SEEN + 60.0 * (np.arange(6) == row)[:, None] * (1, 0)


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        (_rolled(30), "turned by 30.0° against the steps"),
        (_rolled(-10), "turned by -10.0° against the steps"),
        (_rolled(180), "turned by 180° against the steps"),
        (_outlier(2), "picture 2 lies 4.* pixels from .* tolerance is 2; look at"),
        (SEEN * (-1, 1), "the other way along the lines of the picture: the picture is mirrored"),
        (SEEN * (1, -1), "the other way along its columns"),
        (SEEN * (1, 0), "did not move along its columns"),
    ],
)
def test_pictures_that_contradict_their_scales_are_refused(seen: Any, message: str) -> None:
    with pytest.raises(lw.Error, match=message):
        elements.calibrate_scale(STEPS, seen, 1.0)


def test_a_calibration_takes_noise_up_to_its_tolerance_and_refuses_junk() -> None:
    noisy = SEEN + np.random.default_rng(2).normal(size=SEEN.shape) * 0.5
    assert elements.calibrate_scale(STEPS, noisy, 1.0).focal == pytest.approx((800, 600), rel=0.01)
    elements.calibrate_scale(STEPS, _outlier(2), 1.0, tolerance=60.0)
    line = STEPS[:, :1] * (1, 1)
    for moved, seen, distance, message in (
        (STEPS, SEEN, "1 m", "distance is '1 m'; give a positive number, m, or 6 of them"),
        (STEPS, SEEN, [1.0, 2.0], "or 6 of them"),
        ([(0, 0), (1,), (0, 1)], SEEN, 1.0, "moved is not a table of places"),
        (STEPS, None, 1.0, "seen is not a table of places"),
        (STEPS, SEEN[:4], 1.0, "6 places and 4 pictures"),
        (line, line * 800, 1.0, "lie on one line"),
    ):
        with pytest.raises(lw.Error, match=message):
            elements.calibrate_scale(moved, cast("Any", seen), cast("Any", distance))


def test_laws_of_pictures_refuse_reflections_and_goals_outside() -> None:
    m = stage()

    def points(*wanted: Any, **given: Any) -> None:
        control.ImagePoints(m, "eye", wanted, depth=1.0, **given)

    def moments(*wanted: Any, **given: Any) -> None:
        control.ImageMoments(m, "eye", area=0.01, wanted=[*wanted[0], 1.0], **given)

    mirror = ((1, 0, 0), (0, 1, 0), (0, 0, -1))
    for law in (points, moments):
        law((500, 500))
        law((600, 500), pixels=(640, 512))
        with pytest.raises(lw.Error, match="it is a reflection"):
            law((9, 9), rotation=mirror)
        with pytest.raises(lw.Error, match=r"\(600, 9\), outside the picture of 512 by 512 pixels"):
            law((600, 9))
        with pytest.raises(lw.Error, match="outside the picture of 640 by 512"):
            law((9, -1), pixels=(640, 512))
    with pytest.raises(lw.Error, match="the rotation of target 0 of 'camera' is not a rotation"):
        elements.PinholeCamera(_free(), "n", [elements.DiscTarget(0.1, rotation=mirror)])
