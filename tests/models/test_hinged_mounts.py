"""Mounts with three hinges (3-2-3) in place of each ball joint."""

from __future__ import annotations

import numpy as np
import pytest

from linkwright.algebra import evaluate_all
from linkwright.mechanism import mechanism_of
from linkwright.parallel import chart, mobility
from linkwright.parallel.charts import Chart
from tests.seeds import cases
from tests.support.skies import sky

GRID = sky(azimuth=(0, 300, 6), zenith=(0, 90, 4))


def fold(found: Chart) -> np.ndarray:
    """Return the angles between the lower and the upper arm of each leg, rad.

    The platform mirrors the base in a plane across n, so that an arm u goes on as 2 (u n) n - u,
    and u n = (D/2 - r n x)/l.
    """
    azimuth, zenith = (a.values for a in found.axes)
    turn, half = np.meshgrid(np.pi / 2 - azimuth, zenith / 2, indexing="ij")
    n = np.stack([np.sin(half) * np.cos(turn), np.sin(half) * np.sin(turn), np.cos(half)], axis=-1)
    out = np.radians([0, 120, 240])
    x = np.stack([np.cos(out), np.sin(out), np.zeros(3)])
    along = (0.98 / 2 - 0.28033 * (n @ x)) / 0.841
    return np.asarray(np.arccos(2 * along**2 - 1))


@pytest.mark.parametrize(
    ("name", "freedoms"),
    cases([("mount-2-rotary", 2), ("mount-3-rotary", 3), ("mount-prismatic", 2)], daily=1),
)
def test_hinges_do_what_balls_do(name: str, freedoms: int) -> None:
    """The freedoms, the poses, what holds the weight, and the angle of the middle hinge."""
    hinged, plain = mechanism_of(f"{name}:hinges=on"), mechanism_of(name)
    count = mobility(hinged)
    assert (count.kutzbach, count.true) == (freedoms, freedoms)
    at = {"distance": 0.98} if freedoms == 3 else None
    of = ["reach", "effort", "coordinates"]
    one, other = (chart(m, GRID, of, at=at) for m in (hinged, plain))
    assert one.share == 1.0
    angles = fold(one)
    for k in range(3):
        np.testing.assert_allclose(one[f"yoke{k + 1}"], angles[..., k], atol=1e-9)
        np.testing.assert_allclose(one[f"arm{k + 1}"], other[f"arm{k + 1}"], atol=1e-9)
    for effort in (c for c in one.columns if c.startswith("effort")):
        np.testing.assert_allclose(one[effort], other[effort], atol=1e-6)


def test_outer_hinges_stay_out_of_one_line_by_their_cone() -> None:
    """Over the hemisphere the least is 40.6 deg, where the arms fold together."""
    wide = chart(mechanism_of("mount-2-rotary:hinges=on,cone=60"), GRID, ["reach"])
    folded = np.degrees(fold(wide))
    beyond = ((folded < 60) | (folded > 120)).any(axis=-1)
    assert 0 < beyond.sum() < beyond.size
    np.testing.assert_array_equal(wide["reach"] != 0, beyond)
    assert wide.words(*np.argwhere(beyond)[0]).startswith("joint limit: yoke")


def test_hinges_on_one_line_lose_a_freedom() -> None:
    """The least singular value of the axes is that of two at an angle: sqrt(1 - |cos|)."""
    m = mechanism_of("mount-2-rotary:hinges=on")
    bodies = [m.bodies[n] for n in ("fork1", "yoke1", "upper1")]
    for angle in (1.2, 0.3, 1e-3):
        known = {**dict.fromkeys(m.coordinates.values(), 0.0), m.coordinates["yoke1"]: angle}
        known |= {x: m.values[n] for n, x in m.parameters.items()}
        axes = [b.frame.spins[0][1].components(m.bodies["arm1"].frame) for b in bodies]
        rows = np.array([[float(v) for v in evaluate_all(list(a), known)] for a in axes])
        least = np.linalg.svd(rows)[1][-1]
        assert least == pytest.approx(np.sqrt(1 - abs(np.cos(angle))), rel=1e-6)
