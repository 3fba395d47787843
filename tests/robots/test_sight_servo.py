"""Image-based control: interaction matrices against finite differences, and arms that use them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright import control, elements
from linkwright.control.visual_interaction import (
    moment_interaction,
    place_interaction,
    point_interaction,
)

STEP = 1e-6


def moved(points: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Return points along the axes of a camera after it has made a small motion."""
    w = twist[3:]
    cross = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    return np.asarray(points - twist[:3] - points @ cross.T)  # to first order


def rates(of: Any, points: np.ndarray) -> np.ndarray:
    """Return how features of points go with each part of the camera's motion, by differences."""
    columns = []
    for k in range(6):
        twist = np.zeros(6)
        twist[k] = STEP
        there, back = np.asarray(of(moved(points, twist))), np.asarray(of(moved(points, -twist)))
        columns.append((there - back) / (2 * STEP))
    return np.array(columns).T


def polygon_moments(points: np.ndarray) -> dict[tuple[int, int], float]:
    """Return the moments of the picture of a polygon up to the third order, by quadrature."""
    seen = points[:, :2] / points[:, 2:]
    nodes, weights = np.polynomial.legendre.leggauss(4)
    s, w = (nodes + 1) / 2, weights / 2
    a, b = np.meshgrid(s, s, indexing="ij")  # Duffy's map of a square to the triangles
    p, q = seen, np.roll(seen, -1, axis=0)
    double = p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]
    x, y = (a * (p[:, k, None, None] + b * (q - p)[:, k, None, None]) for k in range(2))
    share = double[:, None, None] * np.outer(w * s, w)
    return {(i, j): float((share * x**i * y**j).sum()) for i in range(4) for j in range(4 - i)}


CORNERS = np.array([[-0.1, -0.1, 0.0], [0.15, -0.05, 0.0], [0.1, 0.12, 0.0], [-0.05, 0.1, 0.0]])


def flat_polygon(normal: tuple[float, float, float]) -> tuple[np.ndarray, tuple[float, ...]]:
    """Return corners in a plane before the camera, and A, B, C of that plane."""
    n = np.array(normal) / np.linalg.norm(normal)
    right = np.cross([0, 1, 0], n)
    right /= np.linalg.norm(right)
    points = CORNERS @ np.array([right, np.cross(n, right), n]) + [0.1, -0.05, 0.8]
    return points, tuple(n / (n @ points[0]))


@pytest.mark.parametrize("place", [(0.0, 0.0, 1.0), (0.2, -0.3, 0.7), (-0.5, 0.1, 2.0)])
def test_every_entry_of_a_point_is_that_of_finite_differences(
    place: tuple[float, float, float],
) -> None:
    points = np.array([place])
    found = rates(lambda p: (p[0, 0] / p[0, 2], p[0, 1] / p[0, 2]), points)
    x, y, z = place
    np.testing.assert_allclose(point_interaction(x / z, y / z, z), found, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("normal", [(0.0, 0.0, 1.0), (0.3, -0.2, 1.0)])
def test_every_entry_of_moments_is_that_of_finite_differences(
    normal: tuple[float, float, float],
) -> None:
    points, plane = flat_polygon(normal)
    known = polygon_moments(points)
    orders = [(i, j) for i in range(3) for j in range(3 - i)]
    found = rates(lambda p: [polygon_moments(p)[o] for o in orders], points)
    for row, order in zip(found, orders, strict=True):
        np.testing.assert_allclose(
            moment_interaction(known, order, plane), row, rtol=1e-5, atol=1e-10
        )

    def place(p: np.ndarray) -> list[float]:
        m = polygon_moments(p)
        u = math.sqrt(0.03 / m[0, 0])
        return [u * m[1, 0] / m[0, 0], u * m[0, 1] / m[0, 0], u]

    x, y = known[1, 0] / known[0, 0], known[0, 1] / known[0, 0]
    variance = [
        known[2, 0] / known[0, 0] - x * x,
        known[1, 1] / known[0, 0] - x * y,
        known[0, 2] / known[0, 0] - y * y,
    ]
    mine = place_interaction(x, y, math.sqrt(0.03 / known[0, 0]), variance, plane)
    np.testing.assert_allclose(mine, rates(place, points), rtol=1e-5, atol=1e-8)


# -- arms ------------------------------------------------------------------------------------------
RATE = 60
AT = {"hand.x": 0.1, "hand.y": -0.08, "hand.z": -0.2, "roll": 0.3}


def gantry() -> lw.Mechanism:
    """Return a hand that three slides carry, with a camera that rolls."""
    m = lw.Mechanism("gantry")
    hand = m.body("hand", translate="xyz", mass=1)
    m.body("roll", parent=hand, rotate="z", mass=0.1, inertia=1.0)
    return m


def servo(m: lw.Mechanism, targets: list[Any], law: Any, joints: Any = None) -> lw.System:
    """Return a gantry with camera, law and a stiff servo."""
    s = lw.System(m)
    eye = s.add(elements.PinholeCamera(m, "roll", targets), rate=RATE)
    image = s.add(law, rate=RATE, name="law")
    arm = s.add(control.PD(m, kp=4e3, kd=130, joints=joints))
    s.connect(eye.count, image.field)
    s.connect(image.command, arm.target)
    s.connect(image.command_rate, arm.target_rate)
    s.connect([eye.u[i] for i in range(len(targets))], image["u"])
    s.connect([eye.v[i] for i in range(len(targets))], image["v"])
    return s


def test_four_points_go_to_their_places_and_the_arm_with_them() -> None:
    m = gantry()
    corners = [(-0.1, -0.1), (0.1, -0.1), (0.1, 0.1), (-0.1, 0.1)]
    dots = [elements.DiscTarget(0.01, center=(x, y, 1.0)) for x, y in corners]
    wanted = [(256 + 600 * x, 256 + 600 * y) for x, y in corners]
    s = servo(m, dots, control.ImagePoints(m, "roll", wanted, depth=1.0, gain=4.0))
    visible = s["camera"].visible
    s.connect(visible[0] * visible[1] * visible[2] * visible[3], "law.seen")
    run = lw.simulate(s, until=3.0, initial=AT, method="rk4", step=1e-3)
    for q in AT:
        assert abs(run.final[q]) < 2e-3, q
    assert run["law.distance"][-1] < 1e-3 < run["law.distance"][0]
    half = int(np.searchsorted(run.times, 1.0))
    assert run["law.distance"][half] < 0.05 * run["law.distance"][0]


def test_a_region_of_known_area_goes_to_its_place_at_its_distance() -> None:
    """Server check 50."""
    m = gantry()
    disc = elements.DiscTarget(0.05, center=(0.05, 0.02, 1.0))
    slides = ["hand.x", "hand.y", "hand.z"]
    law = control.ImageMoments(
        m, "roll", area=math.pi * 0.05**2, wanted=(300, 200, 0.6), gain=3.0, joints=slides
    )
    s = servo(m, [disc], law, slides)
    eye = s["camera"]
    s.connect(eye.area[0], "law.area")
    s.connect(eye.visible[0], "law.seen")
    s.connect([eye.variance[i] for i in range(3)], "law.variance")
    run = lw.simulate(s, until=4.0, initial=AT, method="rk4", step=1e-3)
    assert run.final["law.depth"] == pytest.approx(0.6, rel=1e-3)
    assert run.final["hand.z"] == pytest.approx(0.4, rel=0.01)
    assert run.final["camera.u[0]"] == pytest.approx(300, abs=0.2)
    assert run.final["camera.v[0]"] == pytest.approx(200, abs=0.2)
    gone = lw.simulate(s, until=1.5, initial=AT | {"hand.x": 2.0}, method="rk4", step=1e-3)
    assert gone["camera.visible[0]"].max() == 0
    assert gone["law.lost"][-1] == 1
    assert gone.final["hand.x"] == pytest.approx(2.0, abs=1e-3)  # it stays, and says so


def test_the_camera_moves_as_the_law_says() -> None:
    """The twist that the law puts out is that of the camera's own Jacobian, by differences."""
    m = lw.Mechanism("arm")
    one = m.body("one", rotate="z", mass=1, inertia=0.1)
    two = m.body("two", parent=one, at=(0.5, 0, 0), rotate="y", mass=1, inertia=0.1)
    m.point("eye", two, (0.3, 0.1, 0.0))
    turn = ((0, 0, 1), (1, 0, 0), (0, 1, 0))
    law = control.ImagePoints(m, "eye", [(256, 256)], depth=1.0, rotation=turn)
    s = lw.System(m)
    s.add(law, rate=RATE, name="law")
    robot = lw.Robot(m)
    q0 = np.array([0.4, -0.7])
    run = lw.simulate(s, until=0.01, initial={"one": 0.4, "two": -0.7})
    rate = np.array([run.final["law.command_rate[0]"], run.final["law.command_rate[1]"]])
    assert np.abs(rate).max() > 1e-3

    def pose(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        place = robot.pose(q, "two")
        return place[:3, :3] @ np.array(turn), place[:3, :3] @ [0.3, 0.1, 0.0] + place[:3, 3]

    R, _ = pose(q0)
    (ahead, there), (behind, back) = pose(q0 + STEP * rate), pose(q0 - STEP * rate)
    spin = R.T @ (ahead - behind) / (2 * STEP)
    want = [*(R.T @ (there - back) / (2 * STEP)), spin[2, 1], spin[0, 2], spin[1, 0]]
    got = [run.final[f"law.twist[{k}]"] for k in range(6)]
    np.testing.assert_allclose(got, want, atol=1e-7)
