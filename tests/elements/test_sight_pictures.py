"""Binary pictures of what a camera sees: drawn, in fields, cut into regions, in a System."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import linkwright as lw
from linkwright import elements
from linkwright.elements import find_regions
from linkwright.elements.camera_regions import nearest_region

TILTED = [0.11, 0.0, 0.03, 0.02, 0.09, -0.02]
"""Axes of a target along those of a camera, m."""


def maker(*targets: Any, pixels: tuple[int, int] = (512, 384)) -> elements.PictureMaker:
    """Return what draws targets."""
    m = lw.Mechanism("m")
    return elements.PictureMaker(
        elements.PinholeCamera(m, "n", targets, focal=(600, 500), pixels=pixels)
    )


DISC = maker(elements.DiscTarget(0.1))


def at(x: float, y: float, z: float = 1.0) -> list[float]:
    return [*TILTED, x, y, z]


# -- regions ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("density", [0.0, 0.03, 0.4, 0.6, 1.0])
def test_regions_are_those_of_another_program(density: float, diagonal: bool) -> None:
    picture = np.random.default_rng(3).random((37, 53)) < density
    found = find_regions(picture, diagonal=diagonal)
    label, count = ndimage.label(picture, np.ones((3, 3)) if diagonal else None)
    assert len(found) == count
    want = []
    for k in range(1, count + 1):
        v, u = np.nonzero(label == k)
        variance = [
            np.var(u) + 1 / 12,
            np.mean((u - u.mean()) * (v - v.mean())),
            np.var(v) + 1 / 12,
        ]
        want.append([len(u), u.mean() + 0.5, v.mean() + 0.5, *variance, u.min(), v.max() + 1])
    got = [[r.area, r.u, r.v, *r.variance, r.box[0], r.box[3]] for r in found]
    np.testing.assert_allclose(sorted(got), sorted(want), atol=1e-9)
    assert [r.area for r in found] == sorted((r.area for r in found), reverse=True)


def test_regions_tell_what_is_cut_by_the_edge_and_leave_out_what_is_small() -> None:
    picture = np.zeros((8, 8))
    picture[2:4, 2:4] = picture[7, 7] = 1
    whole, corner = find_regions(picture)
    assert (whole.cut, corner.cut) == (False, True)
    assert find_regions(picture, min_area=2) == (whole,)
    assert nearest_region((whole, corner), 7, 7) == corner
    assert nearest_region((whole, corner), 5, 5, within=0.5) is None


@pytest.mark.parametrize(
    "picture", [[1, 0], np.zeros((2, 2, 3)), [["a"]], [[np.nan]], np.zeros((0, 4))]
)
def test_what_is_no_picture_is_refused(picture: Any) -> None:
    with pytest.raises(lw.Error, match="picture"):
        find_regions(picture)


# -- drawings --------------------------------------------------------------------------------------
def test_a_drawn_disc_and_polygon_have_the_moments_of_their_exact_pictures() -> None:
    corners = [(-0.1, -0.1), (0.12, -0.08), (0.1, 0.1), (-0.02, 0.02)]
    both = maker(elements.DiscTarget(0.1), elements.PolygonTarget(corners))
    outline = [*at(-0.2, 0.05), *[10 * x for x in TILTED], 0.2, -0.1, 0.9]
    by_place = sorted(find_regions(both.frame(outline), min_area=100), key=lambda r: r.u)
    phi = np.linspace(0, 2 * np.pi, 4000, endpoint=False)
    for found, numbers, edge in (
        (by_place[0], outline[:9], np.column_stack([np.cos(phi), np.sin(phi)])),
        (by_place[1], outline[9:], np.array(corners)),
    ):
        H = np.reshape(numbers, (3, 3)).T
        x, y, z = H @ np.column_stack([edge, np.ones(len(edge))]).T
        u, v = 256 + 600 * x / z, 192 + 500 * y / z
        cross = u * np.roll(v, -1) - np.roll(u, -1) * v
        area = cross.sum() / 2
        mean = (((u + np.roll(u, -1)) * cross).sum() / (6 * area),
                ((v + np.roll(v, -1)) * cross).sum() / (6 * area))  # fmt: skip
        assert found.area == pytest.approx(abs(area), rel=0.005)
        assert (found.u, found.v) == pytest.approx(mean, abs=0.1)


def test_a_target_across_or_behind_the_camera_is_drawn_as_far_as_it_is_in_view() -> None:
    assert not DISC.frame([0.1, 0, 0, 0, 0.1, 0, 0, 0, -1]).any()
    across = DISC.frame([0.0, 0, 0.3, 0, 0.1, 0, 0.05, 0, 0.2])
    assert find_regions(across)[0].cut
    assert not DISC.frame(at(3.0, 0)).any()
    with pytest.raises(lw.Error, match="9 finite numbers"):
        DISC.frame([1.0, 2.0])


def test_fields_of_a_moving_target_woven_together_make_a_comb() -> None:
    first, second = at(0.0, 0.0), at(0.02, 0.0)
    still = find_regions(DISC.woven(first, first))[0]
    assert still == find_regions(DISC.frame(first))[0]
    for parity, outline in ((0, first), (1, second)):
        field = find_regions(DISC.field(outline, parity), parity=parity)[0]
        whole = find_regions(DISC.frame(outline))[0]
        assert (field.u, field.v) == pytest.approx((whole.u, whole.v), abs=0.3)
        assert field.area == pytest.approx(whole.area, rel=0.02)
        assert field.variance == pytest.approx(whole.variance, rel=0.03, abs=3)
    comb = DISC.woven(first, second)
    edges = np.abs(np.diff(comb.astype(int), axis=0)).sum()
    smooth = np.abs(np.diff(DISC.frame(first).astype(int), axis=0)).sum()
    assert edges > 5 * smooth
    parts = find_regions(comb)
    assert parts[0].u == pytest.approx(still.u + 6.0, abs=0.5)  # between both: of no instant
    assert parts[0].variance[0] > 1.02 * still.variance[0]


def test_a_long_exposure_needs_half_of_its_instants() -> None:
    rows = [at(0.01 * k, 0.0) for k in range(3)]
    blurred = find_regions(DISC.frame(np.array(rows)))[0]
    assert blurred.u == pytest.approx(find_regions(DISC.frame(rows[1]))[0].u, abs=0.3)


def test_a_function_of_pictures_sees_in_a_system_what_the_camera_computes() -> None:
    """Fields in turn, drawn and cut into regions in Python, at the rate of the camera."""
    m = lw.Mechanism("m")
    m.body("ball", translate="xyz", mass=1)
    disc = elements.DiscTarget(0.06, body="ball")
    camera = elements.PinholeCamera(m, "n", [disc], interlaced=True)
    draw = elements.PictureMaker(camera)
    s = lw.System(m, base=60)
    eye = s.add(camera, rate=60)

    def look(outline: np.ndarray, parity: float = 0.0) -> tuple[float, float, float]:
        side = int(parity)
        found = find_regions(draw.field(outline, side), parity=side)
        return (found[0].u, found[0].v, found[0].area) if found else (0.0, 0.0, 0.0)

    seen = s.add(look, rate=60, outputs=["u", "v", "area"], inputs={"outline": 9})
    s.connect(eye.outline, seen.outline)
    s.connect(eye.parity, seen.parity)
    start = {"ball.z": 1.0, "ball.u": 0.3, "ball.v": -0.2}
    run = lw.simulate(s, until=0.5, initial=start, every=1)
    assert set(run["camera.parity"]) == {0.0, 1.0}
    assert np.abs(run["look.u"] - run["camera.u[0]"]).max() < 0.3
    assert np.abs(run["look.v"] - run["camera.v[0]"]).max() < 0.3
    assert np.abs(run["look.area"] / run["camera.area[0]"] - 1).max() < 0.02
