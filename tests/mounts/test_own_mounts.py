"""A mount is the same by whatever describes it: shipped, its text, its copies, one of one's own.

Passes are those of a satellite that flies straight on, at random; what axes of limited speed lose
of them is what `keyholes` says, and what a run of the mount loses.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.mounts.axes import ThreeAxes
from linkwright.mounts.keyholes import follow
from linkwright.mounts.machines import mount_axes
from linkwright.mounts.pass_tracking import track_pass
from linkwright.mounts.pointing import direction
from linkwright.mounts.sites import Site
from tests.mounts.test_pass_tracking import flight
from tests.random.own_machines import save
from tests.seeds import cases, seeds, seldom

SITE = Site(math.radians(-43.52), math.radians(172.58), 20.0)
SERIAL = ("mount-alt-az", "mount-x-y", "mount-equatorial", "mount-3-axis")
AZ_EL = """format = 1
name = "azel"
actuators = ["az", "dish"]
platform = {at = "dish", axis = "x"}
[gravity]
[[body]]
name = "az"
at = [0, 0, 1.0]
joint = "revolute"
axis = "z"
mass = 80
inertia = [5, 5, 4]
[[body]]
name = "dish"
parent = "az"
at = [0, 0, 0.8]
joint = "revolute"
axis = "-y"
mass = 60
com = [0.3, 0, 0]
inertia = [12, 10, 10]
"""
OWN = {
    "free": AZ_EL + '[initial]\ndish = "45 deg"\n',
    "over": AZ_EL + '[[limit]]\ncoordinate = "dish"\nlower = "85 deg"\nupper = "185 deg"\n',
    "kept": AZ_EL + '[[limit]]\ncoordinate = "dish"\nlower = "-5 deg"\nupper = "95 deg"\n'
    '[[limit]]\ncoordinate = "az"\nlower = "-20 deg"\nupper = "420 deg"\n',
}


def passes(seed: int) -> list[lw.motion.Trajectory]:
    """A pass through the keyhole of an azimuth, and one beside it."""
    rng = np.random.default_rng(seed)
    ways = rng.uniform(0, 2 * np.pi, 2)
    tops = rng.uniform(86, 89), rng.uniform(25, 60)
    return [flight(e, 120.0, way) for e, way in zip(tops, ways, strict=True)]


def copies(name: str, folder: Path) -> dict[str, str]:
    """The files of a shipped mount; URDF has no words for what points."""
    text = str(save(folder, lw.write_model(lw.load(name).mechanism), "text.toml"))
    lw.convert(text, folder / "copy.toml")
    return {"text": text, "copy": str(folder / "copy.toml")}


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("name", SERIAL)
def test_keyholes_of_copies(name: str, seed: int, tmp_path: Path) -> None:
    shipped, files = mount_axes(name, SITE), copies(name, tmp_path)
    for path in passes(seed):
        want = follow(name, shipped, path)
        for kind, file in files.items():
            found = follow(name, mount_axes(file, SITE), path)
            assert found.lost == pytest.approx(want.lost, abs=0.021), kind
            assert found.error == pytest.approx(want.error, abs=1e-6), kind
            assert found.fastest == pytest.approx(want.fastest, rel=1e-3), kind
            if isinstance(shipped, ThreeAxes):
                assert found.lost == 0.0


def fitting(azimuth: np.ndarray) -> np.ndarray:
    """Whether all of a pass is within the limits of "kept", for turns beside it: -2 to 2."""
    turned = azimuth[:, None] + 360 * np.arange(-2, 3)
    found: np.ndarray = (turned.min(axis=0) >= -20) & (turned.max(axis=0) <= 420)
    return found


@pytest.mark.parametrize("seed", seeds(2, daily=1))
@pytest.mark.parametrize("kind", OWN)
def test_keyholes_of_own_mounts(kind: str, seed: int, tmp_path: Path) -> None:
    """An azimuth and an elevation of one's own lose what the shipped ones lose."""
    axes = mount_axes(str(save(tmp_path, OWN[kind], "own.toml")))
    for path in passes(seed):
        want, found = follow("a", mount_axes("alt-az"), path), follow("a", axes, path)
        azimuth, elevation = np.degrees(axes.values(path(np.linspace(0, 120, 500)), 0.24)).T
        low, high = {"free": (0, 90), "over": (85, 185), "kept": (-5, 95)}[kind]
        assert low <= elevation.min() <= elevation.max() <= high
        fits = fitting(azimuth)
        if kind == "kept" and not fits.any():
            assert found.lost > want.lost  # no turn has the whole pass within the limits
            continue
        assert found.lost == pytest.approx(want.lost, abs=0.021)
        assert found.error == pytest.approx(want.error, abs=1e-6)
        if kind == "kept":
            assert fits[2]  # the turn that was chosen is one of them


@pytest.mark.parametrize(
    ("name", "high"),
    cases(
        [(n, h) for h in (True, False) for n in ("mount-alt-az", "mount-3-axis", "over", "kept")],
        daily=[("mount-3-axis", False), ("over", True)],
    ),
)
def test_mounts_in_series_track_as_keyholes_says(name: str, high: bool, tmp_path: Path) -> None:
    seed = seeds(1)[0]
    path = passes(seed)[0 if high else 1]
    source = str(save(tmp_path, OWN[name], "own.toml")) if name in OWN else name
    axes = mount_axes(source)
    azimuth = np.degrees(axes.values(path(np.linspace(0, 120, 500)), 0.24))[:, 0]
    if name == "kept" and not fitting(azimuth).any():
        with pytest.raises(lw.Error, match="'azel' cannot follow this path within its limits: az"):
            track_pass(source, path)
        return
    want = follow(name, axes, path)
    run = lw.simulate(track_pass(source, path), until=120.0, method="rk4", every=20)
    error = np.degrees(run["pointing error"])
    lost = float((error > 0.4).mean() * 120)
    assert float(error.max()) == pytest.approx(np.degrees(want.error), abs=2e-3)
    assert lost == pytest.approx(want.lost, abs=0.1)


def test_a_pass_beyond_the_limits_is_refused_before_the_run(tmp_path: Path) -> None:
    text = AZ_EL + '[[limit]]\ncoordinate = "dish"\nlower = "5 deg"\nupper = "70 deg"\n'
    with pytest.raises(lw.Error, match=r"'azel' cannot follow this path within its limits: dish"):
        track_pass(str(save(tmp_path, text, "own.toml")), passes(0)[0])


JACK = (
    AZ_EL.replace('"az", "dish"]', '"az", "jack"]')
    + """[[point]]
name = "foot"
body = "az"
at = [0.6, 0, 0.1]
[[point]]
name = "lug"
body = "dish"
at = [0.5, 0, -0.1]
[[driven_strut]]
name = "jack"
first = "foot"
second = "lug"
length = 0.7
[[limit]]
coordinate = "jack"
lower = 0.4
upper = 1.25
[initial]
dish = "45 deg"
"""
)


def test_a_turntable_with_a_jack_looks_wherever_it_reaches(tmp_path: Path) -> None:
    """Also behind it, and not beyond what its jack allows; by hand."""
    aim = lw.mounts.Aiming(str(save(tmp_path, JACK, "own.toml")))
    for azimuth in (90, 60, 0, 181, 270):
        for elevation in (10, 45, 70):
            turn, up = np.radians(90 - azimuth), np.radians(elevation)
            x, z = 0.5 * np.cos(up) + 0.1 * np.sin(up), 0.5 * np.sin(up) - 0.1 * np.cos(up)
            az, jack = aim(direction(azimuth, elevation))
            assert np.exp(1j * az) == pytest.approx(np.exp(1j * turn), abs=1e-6)
            assert jack == pytest.approx(np.hypot(x - 0.6, z + 0.7), abs=1e-6)
    high = direction(200, 86)
    assert not aim.reaches(high)
    with pytest.raises(lw.Error, match="jack would come to"):
        aim(high)


@pytest.mark.parametrize("seed", seeds(2, daily=1))
def test_keyholes_of_a_turntable_with_a_jack(seed: int, tmp_path: Path) -> None:
    """A jack lifts the dish; what the azimuth loses is what any azimuth loses."""
    free = JACK.replace("lower = 0.4\nupper = 1.25\n", "lower = 0.2\nupper = 1.5\n")
    axes = mount_axes(str(save(tmp_path, free, "own.toml")))
    for path in passes(seed):
        want, found = follow("a", mount_axes("alt-az"), path), follow("a", axes, path)
        assert found.lost == pytest.approx(want.lost, abs=0.021)
        assert found.error == pytest.approx(want.error, abs=1e-6)
        assert found.fastest == pytest.approx(want.fastest, rel=1e-6)


LIMITED = AZ_EL + '[[limit]]\ncoordinate = "dish"\nlower = "5 deg"\nupper = "70 deg"\n'
TURNED = JACK + '[[limit]]\ncoordinate = "az"\nlower = "200 deg"\nupper = "760 deg"\n'


def by_hand(path: lw.motion.Trajectory, low: float, high: float) -> tuple[float, float]:
    """What a turntable of 5 deg/s with an elevation between limits loses, and its error, rad."""
    t = np.linspace(0, path.duration, round(path.duration * 50) + 1)
    d = path(t)
    turn = np.unwrap(np.arctan2(d[:, 1], d[:, 0]))
    for k in range(1, len(t)):
        most = np.radians(5) * (t[1] - t[0])
        turn[k] = turn[k - 1] + np.clip(turn[k] - turn[k - 1], -most, most)
    up = np.clip(np.arcsin(d[:, 2]), low, high)
    looks = np.stack([np.cos(up) * np.cos(turn), np.cos(up) * np.sin(turn), np.sin(up)], axis=1)
    error = np.arccos(np.clip(np.einsum("ij,ij->i", looks, d), -1, 1))
    return float((error > np.radians(0.4)).sum() * (t[1] - t[0])), float(error.max())


@pytest.mark.parametrize("seed", seeds(2, daily=1))
@pytest.mark.parametrize("kind", cases(["limited", "jack", "turned"], daily=["jack", "turned"]))
def test_keyholes_count_what_limits_of_joints_lose(kind: str, seed: int, tmp_path: Path) -> None:
    """Of two axes, and of a turntable with a jack, which has its keyhole in the zenith, too."""
    text = {"limited": LIMITED, "jack": JACK, "turned": TURNED}[kind]
    axes = mount_axes(str(save(tmp_path, text, "own.toml")))
    low, high = np.radians(5), np.radians(70)
    if kind != "limited":  # where the jack is 1.25 m long
        ups = np.radians(np.linspace(0, 90, 90_001))
        x, z = 0.5 * np.cos(ups) + 0.1 * np.sin(ups), 0.5 * np.sin(ups) - 0.1 * np.cos(ups)
        low, high = 0.0, float(np.interp(1.25, np.hypot(x - 0.6, z + 0.7), ups))
    for path in passes(seed):
        lost, error = by_hand(path, low, high)
        found = follow("own", axes, path)
        assert found.lost == pytest.approx(lost, abs=0.021)
        assert found.error == pytest.approx(error, abs=2e-5)
        if kind == "turned":
            q = axes.values(path(np.linspace(0, 120, 500)), 0.24)
            assert q[:, 0].min() >= np.radians(200)
            assert q[:, 0].max() <= np.radians(760)


@seldom(daily="test_mounts_in_series_track_as_keyholes_says")
@pytest.mark.parametrize("name", ["mount-2-rotary"])
def test_keyholes_of_copies_of_closed_mounts(name: str, tmp_path: Path) -> None:
    """Loops closed by Newton's method are those of the closed form."""
    path = passes(seeds(1)[0])[1]
    want = follow(name, mount_axes(name), path)
    found = follow(name, mount_axes(copies(name, tmp_path)["text"]), path)
    assert (found.lost, found.error) == pytest.approx((want.lost, want.error), abs=1e-6)
    assert found.fastest == pytest.approx(want.fastest, rel=1e-3)


def test_a_path_through_singular_poses_is_refused_before_the_run() -> None:
    with pytest.raises(lw.Error, match=r"'stewart' cannot follow this path: near .* is singular"):
        track_pass("stewart", flight(89.6, 400.0, 0.9))
