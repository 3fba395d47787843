"""Pictures of real cameras: levels, edges and files against SciPy, and poses of drawn targets."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from scipy import ndimage

from linkwright.base.errors import Error, InputError
from linkwright.base.rotations import quaternion_matrix
from linkwright.elements import adaptive_threshold, find_regions, read_picture, threshold
from linkwright.elements.picture_processing import best_level, edges
from linkwright.server import picture_camera
from linkwright.server.cell_file import read_cell
from linkwright.server.virtual import VirtualCell
from tests.seeds import seeds

F, SIZE = (800.0, 700.0), (320, 240)


def pgm(path: Path, picture: np.ndarray) -> Path:
    height, width = picture.shape
    data = np.round(255 * np.clip(picture, 0, 1)).astype(np.uint8)
    path.write_bytes(b"P5\n# a comment\n%d %d\n255\n" % (width, height) + data.tobytes())
    return path


def drawn(x: float, y: float, depth: float, angle: float, sides: tuple[float, float]) -> np.ndarray:
    """Return what is seen of a bright rectangle, four by four points in each pixel."""
    u, v = ((np.arange(4 * n) + 0.5) / 4 for n in SIZE)
    across = (u[None, :] - SIZE[0] / 2) / F[0] * depth - x
    down = (v[:, None] - SIZE[1] / 2) / F[1] * depth - y
    along = math.cos(angle) * across + math.sin(angle) * down
    aside = -math.sin(angle) * across + math.cos(angle) * down
    inside = (abs(along) < sides[0] / 2) & (abs(aside) < sides[1] / 2)
    return np.asarray(0.1 + 0.7 * inside.reshape(SIZE[1], 4, SIZE[0], 4).mean(axis=(1, 3)))


# -- processing ------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", seeds(6, daily=2))
def test_levels_means_and_edges_are_those_of_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    picture = rng.random((17, 23)).round(2)
    level = best_level(picture)
    values = np.unique(picture)
    spreads = {}
    for k in range(len(values) - 1):
        at = (values[k] + values[k + 1]) / 2
        above = picture > at
        spreads[at] = (
            above.mean() * (~above).mean() * (picture[above].mean() - picture[~above].mean()) ** 2
        )  # between the classes
    assert spreads[level] == pytest.approx(max(spreads.values()))
    window = 5
    count = ndimage.uniform_filter(np.ones_like(picture), window, mode="constant")
    mean = ndimage.uniform_filter(picture, window, mode="constant") / count
    np.testing.assert_array_equal(
        adaptive_threshold(picture, window, offset=0.0312), picture > mean + 0.0312
    )
    slopes = [ndimage.sobel(picture, axis, mode="nearest") / 8 for axis in (0, 1)]
    np.testing.assert_allclose(edges(picture), np.hypot(*slopes), atol=1e-14)
    np.testing.assert_array_equal(threshold(picture, 0.4, dark=True), picture < 0.4)


def test_files_are_read_as_others_read_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    gray = rng.integers(0, 256, (5, 7)) / 255
    np.testing.assert_allclose(read_picture(pgm(tmp_path / "a.pgm", gray)), gray, atol=1e-12)
    deep = rng.integers(0, 65536, (3, 4))
    (tmp_path / "b.pgm").write_bytes(b"P5 4 3 65535\n" + deep.astype(">u2").tobytes())
    np.testing.assert_allclose(read_picture(tmp_path / "b.pgm"), deep / 65535)
    (tmp_path / "c.pgm").write_text("P2\n2 1\n10\n5 10\n")
    assert read_picture(tmp_path / "c.pgm").tolist() == [[0.5, 1.0]]
    color = rng.integers(0, 256, (5, 7, 3)).astype(np.uint8)
    (tmp_path / "d.ppm").write_bytes(b"P6 7 5 255\n" + color.tobytes())
    matplotlib.image.imsave(tmp_path / "d.png", color)
    np.testing.assert_allclose(
        read_picture(tmp_path / "d.ppm"), read_picture(tmp_path / "d.png"), atol=1e-6
    )


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.pgm", b"P5 4 3 255\n1", "not a PGM"),
        ("a.pgm", b"P5 99999999 3 255\n1", "not a PGM"),
        ("a.pgm", b"P9 1 1 255\n1", "not a PGM"),
        ("a.pgm", b"P2 1 1 255\nx", "not a PGM"),
        ("a.pgm", b"#", "not a PGM"),
        ("a.png", b"nothing", "not a PNG"),
        ("a.gif", b"", "is not read"),
    ],
)
def test_damaged_pictures_are_refused(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=words) as refused:
        read_picture(tmp_path / name)
    assert name in str(refused.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: threshold([1, 2]), "has the shape"),
        (lambda: edges([[math.nan]]), "finite numbers"),
        (lambda: adaptive_threshold([[1.0]], 4), "the window is 4"),
        (lambda: picture_camera(lambda t: None, area=0, focal=F), "area"),
        (lambda: picture_camera(lambda t: None, area=1, focal=(0, 1)), "focal lengths"),
        (lambda: picture_camera("/nowhere", area=1, focal=F), "no such folder or camera"),
        (lambda: picture_camera("/dev/null", area=1, focal=F), "this is not a camera"),
    ],
)
def test_what_cannot_be_meant_is_refused(make: Any, words: str) -> None:
    with pytest.raises(Error, match=words):
        make()


# -- the camera ------------------------------------------------------------------------------------
def test_a_target_is_where_it_was_drawn(tmp_path: Path) -> None:
    """Place within a fraction of a pixel, depth within 2 %, the turn within a degree."""
    rng = np.random.default_rng(5)
    sides, truths = (0.12, 0.06), []
    for k in range(6):
        depth, angle = rng.uniform(0.8, 1.4), rng.uniform(-1.4, 1.4)
        x, y = rng.uniform(-0.08, 0.08, 2) * depth
        truths.append((x, y, depth, angle))
        pgm(tmp_path / f"p{k:02}.pgm", drawn(x, y, depth, angle, sides))
    node = picture_camera(tmp_path, area=sides[0] * sides[1], focal=F, rate=10, label="part")
    found = list(node.sampled(1.0))
    assert len(found) == 6  # then there are no more pictures
    for one, (x, y, depth, angle) in zip(found, truths, strict=True):
        assert one.value[:2] == pytest.approx((x, y), abs=1e-3)
        assert one.value[2] == pytest.approx(depth, rel=0.02)
        turned = quaternion_matrix(one.value[3:])
        seen = math.atan2(turned[1, 0], turned[0, 0])
        assert math.sin(seen - angle) == pytest.approx(0.0, abs=math.radians(1.0))
    dark = picture_camera(lambda t: 1 - drawn(0, 0, 1, 0.3, sides), area=0.0072, focal=F, dark=True)
    assert dark.seen(0)[0].value[2] == pytest.approx(1.0, rel=0.02)
    shade = np.linspace(0.0, 0.9, SIZE[0])[None, :]
    lit = picture_camera(
        lambda t: 0.15 * drawn(-0.1, 0, 1, 0.3, sides) + shade, area=0.0072, focal=F, window=151
    )
    assert lit.seen(0)[0].value[0] == pytest.approx(-0.1, abs=3e-3)
    assert find_regions(threshold(0.15 * drawn(-0.1, 0, 1, 0.3, sides) + shade))[0].cut
    assert picture_camera(lambda t: None, area=1, focal=F).seen(0) == ()
    assert picture_camera(lambda t: np.zeros((9, 9)), area=1, focal=F).seen(0) == ()


def test_a_cell_sees_its_frame_in_pictures(tmp_path: Path) -> None:
    """The frame is where the pictures have the target, below a camera that looks down."""
    (tmp_path / "eye").mkdir()
    for k in range(40):
        pgm(tmp_path / "eye" / f"{k:03}.pgm", drawn(0.05, 0.02, 1.0, 0.4, (0.12, 0.06)))
    text = (
        read_cell("axes2").text
        + """
[[frame]]
name = "part"
kind = "sensed"
pose = [0.6, -0.3, 0.2, 1, 0, 0, 0]
age = "500 ms"

[[sensor]]
name = "eye"
kind = "camera"
rate = 20
frame = "part"
pose = [0.5, 0.1, 1.0, 0, 1, 0, 0]
source = "eye"
area = 0.0072
focal = [800, 700]
"""
    )
    file = tmp_path / "cell.toml"
    file.write_text(text)
    cell = VirtualCell(read_cell(file))
    cell.advance(500)
    place = [
        cell.loop.latest().d[i]
        for i, s in enumerate(cell.loop.session.phases.d)
        if s.name.startswith("frame_part.pose[")
    ]
    assert place[:3] == pytest.approx([0.5 + 0.05, 0.1 - 0.02, 0.0], abs=0.01)
    for old, new, words in (
        ('source = "eye"', 'source = "ear"', "no folder or camera 'ear'"),
        ('kind = "camera"', 'kind = "tracker"', "has no"),
    ):
        file.write_text(text.replace(old, new))
        with pytest.raises(InputError, match=words):
            read_cell(file)
