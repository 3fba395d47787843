"""Singular poses of parallel machines: kinds, screws and distances, by plain geometry."""

from __future__ import annotations

import json
from math import acos, atan2, cos, hypot, pi, sin

import numpy as np
import pytest
from scipy.optimize import root

import linkwright as lw
from linkwright.parallel import singularity
from tests.seeds import seldom


def five_bar() -> lw.Mechanism:
    """Two cranks of 1 m a meter apart, and two rods of 1.2 m that meet in the pin."""
    m = lw.Mechanism("five_bar")
    left = m.body("left", rotate="z")
    right = m.body("right", at=(1, 0, 0), rotate="z")
    first = m.body("first", parent=left, at=(1, 0, 0), rotate="z")
    second = m.body("second", parent=right, at=(1, 0, 0), rotate="z")
    pin = m.point("pin", first, (1.2, 0, 0))
    other = m.point("other", second, (1.2, 0, 0))
    for axis in "xyz":  # the third relation holds everywhere: it is redundant
        m.constrain_points(pin, other, axis)
    m.set_initial({"left": 2.0, "right": 1.1, "first": -1.2, "second": 1.0})
    m.actuate("left", "right")
    m.set_platform(pin)
    return m


def five_bar_at(pin: tuple[float, float], signs: tuple[int, int]) -> dict[str, float]:
    """Return the coordinates of the five-bar with its pin at a place."""
    found = {}
    for crank, rod, base, sign in (("left", "first", 0, 0), ("right", "second", 1, 1)):
        x, y = pin[0] - base, pin[1]
        far = hypot(x, y)
        bend = signs[sign] * acos((1 + far**2 - 1.2**2) / (2 * far))
        angle = atan2(y, x) + bend
        tip = (pin[0] - base - cos(angle), pin[1] - sin(angle))
        found[crank] = angle
        found[rod] = atan2(tip[1], tip[0]) - angle
    return found


def planar_3rpr() -> lw.Mechanism:
    """A platform in the plane on three driven struts."""
    m = lw.Mechanism("planar_3rpr")
    plate = m.body("plate", joint=lw.Planar())
    bases = ((0, 0, 0), (3, 0, 0), (1, 3, 0))
    tips = ((-0.4, -0.3, 0), (0.5, -0.2, 0), (0.1, 0.6, 0))
    places = [
        (m.point(f"a{k}", at=a), m.point(f"b{k}", plate, b))
        for k, (a, b) in enumerate(zip(bases, tips, strict=True))
    ]
    for k, (a, b) in enumerate(places):
        m.drive_strut(f"leg{k}", a, b, length=1.5)
    m.actuate("leg0", "leg1", "leg2")
    m.set_platform(plate)
    return m


def test_a_regular_pose_says_how_far_the_nearest_singularity_is() -> None:
    found = singularity(five_bar(), five_bar_at((0.4, 1.4), (1, -1)), output="position")
    assert found.kind == "regular"
    assert not found.singular
    assert found.screw is None
    assert found.words.startswith("regular: ")
    assert "nearest" in found.words
    assert set(found.distances) == {"type 1", "type 2", "passive", "constraint"}
    assert 0.01 < found.distance <= min(found.distances.values())


def test_a_stretched_leg_of_a_five_bar_is_type_1() -> None:
    far = 2.2
    pin = (far * cos(1.2), far * sin(1.2))
    found = singularity(five_bar(), five_bar_at(pin, (1, -1)), output="position", tolerance=1e-6)
    assert found.kind == "type 1"
    assert found.kinds == ("RI", "IO")
    assert found.words == "type 1: the first cannot move along (0.36, 0.93, 0), while left moves"
    np.testing.assert_allclose(found.lost[0].axis, (cos(1.2), sin(1.2), 0), atol=1e-6)
    assert found.screw is not None
    assert found.screw.point is None


def test_rods_in_line_of_a_five_bar_are_type_2() -> None:
    """The pin lies on the line between the elbows, and moves across it with both cranks locked."""
    left, right = 2.2, 1.0
    elbows = np.array([[cos(left), sin(left)], [1 + cos(right), sin(right)]])
    span = float(np.linalg.norm(elbows[1] - elbows[0]))
    along = (elbows[1] - elbows[0]) / span
    q = {"left": left, "right": right}
    q["first"] = atan2(along[1], along[0]) - left
    q["second"] = atan2(-along[1], -along[0]) - right
    m = lw.Mechanism("five_bar_in_line")
    a = m.body("left", rotate="z")
    b = m.body("right", at=(1, 0, 0), rotate="z")
    c = m.body("first", parent=a, at=(1, 0, 0), rotate="z")
    d = m.body("second", parent=b, at=(1, 0, 0), rotate="z")
    pin = m.point("pin", c, (0.4 * span, 0, 0))
    other = m.point("other", d, (0.6 * span, 0, 0))
    for axis in "xyz":
        m.constrain_points(pin, other, axis)
    m.actuate("left", "right")
    m.set_platform(pin)
    found = singularity(m, q, output="position")
    assert found.kind == "type 2"
    assert found.kinds == ("RO", "II")
    assert found.screw is not None
    assert abs(np.dot(found.screw.axis[:2], along)) < 1e-9
    assert found.words.startswith("type 2: with its actuators locked the first still moves along (")
    assert found.distances["type 2"] < 1e-9 < found.distances["type 1"]


def test_struts_through_one_point_let_the_plate_turn_about_it() -> None:
    """The instantaneous center of a plane platform is where the lines of its struts meet."""
    m = planar_3rpr()
    center = np.array([1.3, 0.9])
    bases = np.array([[0, 0], [3, 0], [1, 3.0]])
    tips = np.array([[-0.4, -0.3], [0.5, -0.2], [0.1, 0.6]])

    def misses(x: np.ndarray) -> np.ndarray:
        place, angle = x[:2], x[2]
        turn = np.array([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])
        ends = place + tips @ turn.T
        span, arm = ends - bases, center - bases
        return np.asarray(span[:, 0] * arm[:, 1] - span[:, 1] * arm[:, 0])

    x, y, angle = root(misses, [1.2, 1.0, 0.5], tol=1e-14).x
    assert np.abs(misses(np.array([x, y, angle]))).max() < 1e-13
    turn = np.array([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])
    lengths = np.linalg.norm(np.array([x, y]) + tips @ turn.T - bases, axis=1)
    q = dict(zip(m.coordinates, [x, y, angle, *lengths], strict=True))
    found = singularity(m, q)
    assert found.kind == "type 2"
    assert found.kinds == ("RO", "II")
    assert found.screw is not None
    assert found.screw.point is not None
    np.testing.assert_allclose(found.screw.axis, (0, 0, 1), atol=1e-9)
    np.testing.assert_allclose(found.screw.point, (*center, 0), atol=1e-7)
    assert abs(found.screw.pitch) < 1e-9
    assert "turns about (0, 0, 1) through (1.3, 0.9, 0) m" in found.words


def four_bar(lengths: tuple[float, float, float, float]) -> lw.Mechanism:
    """A crank, a rod and a rocker on a base, closed in space: two relations are redundant."""
    base, crank, rod, rocker = lengths
    m = lw.Mechanism("four_bar")
    a = m.body("crank", rotate="z")
    b = m.body("rod", parent=a, at=(crank, 0, 0), rotate="z")
    c = m.body("rocker", at=(base, 0, 0), rotate="z")
    for axis in "xyz":
        m.constrain_points(
            m.point(f"p{axis}", b, (rod, 0, 0)), m.point(f"r{axis}", c, (rocker, 0, 0)), axis
        )
    m.set_initial({"crank": 1.2, "rod": -1.2, "rocker": 1.2})
    m.actuate("crank")
    m.set_platform(c)
    return m


def test_a_parallelogram_in_line_gains_mobility() -> None:
    """With all bars in line the loop moves in two ways, and no crank commands the other."""
    found = singularity(four_bar((2, 1, 2, 1)), {"crank": 0.0, "rod": 0.0, "rocker": 0.0})
    assert found.kind == "type 3"
    assert {"RI", "RO", "IIM"} <= set(found.kinds)
    assert found.mobility == 2
    assert "with its actuators locked the rocker still turns about (0, 0, 1)" in found.words


def hexapod(turned: float) -> tuple[lw.Mechanism, list[float]]:
    """A hexapod of threefold symmetry, and its coordinates with the platform turned about z."""
    m = lw.Mechanism("hexapod")
    top = m.body("top", joint=lw.Free(quaternion=True))
    bases = [(cos(a), sin(a), 0.0) for a in np.radians([0, 40, 120, 160, 240, 280])]
    tips = [(0.6 * cos(a), 0.6 * sin(a), 0.0) for a in np.radians([-30, 70, 90, 190, 210, 310])]
    places = [
        (m.point(f"a{k}", at=a), m.point(f"b{k}", top, b))
        for k, (a, b) in enumerate(zip(bases, tips, strict=True))
    ]
    for k, (a, b) in enumerate(places):
        m.drive_strut(f"leg{k}", a, b, length=1.2)
    m.actuate(*(f"leg{k}" for k in range(6)))
    m.set_platform(top)
    c, s = cos(turned), sin(turned)
    ends = np.array(tips) @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1.0]]) + (0, 0, 1)
    legs = np.linalg.norm(ends - np.array(bases), axis=1)
    return m, [0.0, 0.0, 1.0, cos(turned / 2), 0.0, 0.0, sin(turned / 2), *map(float, legs)]


def test_a_hexapod_turned_by_a_right_angle_is_singular() -> None:
    """Fichter, International Journal of Robotics Research 5, 1986: 90 degrees from symmetry."""
    machine, q = hexapod(0.0)
    assert singularity(machine, q).kind == "regular"
    machine, q = hexapod(pi / 2)
    found = singularity(machine, q)
    assert found.kind == "type 2"
    assert found.kinds == ("RO", "II")
    assert found.mobility == 6
    assert found.idle == 0
    assert found.screw is not None
    assert abs(found.screw.pitch) > 1e-3
    np.testing.assert_allclose(found.screw.axis, (0, 0, 1), atol=1e-7)


def test_a_rod_that_twists_between_two_balls_is_idle_and_no_singularity() -> None:
    m = lw.Mechanism("rod_between_balls")
    crank = m.body("crank", rotate="z")
    rocker = m.body("rocker", at=(2, 0, 0.5), rotate="x")
    rod = m.body("rod", parent=crank, at=(1, 0, 0), joint=lw.Ball(quaternion=True))
    end, tip = m.point("end", rod, (2, 0, 0)), m.point("tip", rocker, (0, 1.5, 0))
    for axis in "xyz":
        m.constrain_points(end, tip, axis)
    m.set_initial({"crank": 0.4})
    m.actuate("crank")
    m.set_platform(rocker)
    found = singularity(m, {"crank": 0.4})
    assert (found.kind, found.mobility, found.idle) == ("regular", 1, 1)
    stuck = singularity(m.with_drives(platform="crank"), {"crank": 0.4})
    assert stuck.kind == "regular"
    assert stuck.distance > 1e-3


def test_what_cannot_be_asked_is_refused_in_words() -> None:
    m = five_bar()
    with pytest.raises(lw.Error, match="2 freedoms and 1 actuator: with it locked its platform"):
        singularity(m.with_drives(["left"]))
    with pytest.raises(lw.Error, match="has no coordinate 'lefty'; did you mean 'left'"):
        singularity(m, {"lefty": 1.0})
    with pytest.raises(lw.Error, match="has 4 coordinates: left, right, first, second"):
        singularity(m, [1.0, 2.0])
    with pytest.raises(lw.Error, match="not finite"):
        singularity(m, [1.0, 2.0, float("nan"), 0.0])
    with pytest.raises(lw.Error, match=r"pin to other along n\.x. is left open by 3"):
        singularity(m, [pi, 0.0, pi, 0.0])
    with pytest.raises(lw.Error, match="the direction of the platform of 'five_bar' never changes"):
        singularity(m, output="direction")
    with pytest.raises(lw.Error, match="one of pose, direction, position"):
        singularity(m, output="speed")
    with pytest.raises(lw.Error, match="names no actuators"):
        singularity(lw.Mechanism("bare"))


def test_another_pose_than_the_one_asked_about_is_not_judged() -> None:
    with pytest.raises(
        lw.DomainError, match="at left = 2, left_rod = 0: the relation 'pin: no mov"
    ):
        singularity("five-bar", {"left": 2.0, "left_rod": 0.0})
    with pytest.raises(lw.DomainError, match=r"'pin: no movement along n\.x' is left open"):
        singularity("five-bar", [1.0, 2.0, 3.0, 4.0])
    found = singularity("five-bar", {"left": 2.0})
    near = [round(v, 4) for v in found.coordinates.values()]
    assert singularity("five-bar", near).distance == pytest.approx(found.distance, abs=1e-3)
    assert found.coordinates["left"] == pytest.approx(2.0, abs=1e-12)


def test_the_command_says_what_the_function_says(capsys: pytest.CaptureFixture[str]) -> None:
    from linkwright.cli import main

    assert main(["parallel", "singularities", "five-bar", "--purpose", "position", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["pose"]
    found = singularity("five-bar", output="position")
    assert told["words"] == found.words
    assert told["distance"] == pytest.approx(found.distance)
    assert main(["parallel", "singularities", "five-bar", "--at", "lefty=1"]) == 2


@seldom(daily="test_a_stretched_leg_of_a_five_bar_is_type_1")
def test_planar_machines_are_traced_over_places_and_not_over_directions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A platform that never tilts is refused over directions; over places curves are found."""
    from linkwright.cli import main

    traced = ["parallel", "singularities", "five-bar", "--locus", "type 2"]
    assert main(traced) == 2
    assert "does not tilt" in capsys.readouterr().err
    assert main(["parallel", "chart", "five-bar"]) == 2
    assert "--over x=" in capsys.readouterr().err
    region = {"left": (0.3, 3.0), "right": (0.1, 2.8)}
    over = [f"--over={n}={a}:{b}" for n, (a, b) in region.items()]
    assert main([*traced, *over, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["loci"]
    curves = lw.parallel.singular_loci("five-bar", "type 2", region)
    assert [len(c["q"]) for c in told] == [len(c.q) for c in curves] != []
    assert main([*traced, *over]) == 0
    low = min(float(c.q[:, c.names.index("left")].min()) for c in curves)
    assert f"left from {low:.6f}" in capsys.readouterr().out
    assert main([*traced, "--over", "left=1"]) == 2
    assert "NAME=FROM:TO" in capsys.readouterr().err
