"""The shipped parallel machines and mounts: closed where they start, and named as machines."""

import math
from collections.abc import Mapping

import numpy as np
import pytest

from linkwright.algebra import Expr, evaluate_all
from linkwright.base.errors import Error
from linkwright.equations.parallel_machine import ParallelMachine, parallel_machine
from linkwright.mechanism import Mechanism
from linkwright.models import MODELS, load_model
from linkwright.mounts.closed_forms import Legs, arm_angles
from linkwright.mounts.closed_forms.rotary import elbows
from linkwright.parallel import chart
from linkwright.robots import Robot, closed
from tests.seeds import seldom
from tests.support.skies import sky

#: Constraints, actuators, and other dimensions for which the start is closed too.
MACHINES: dict[str, tuple[int, int, Mapping[str, float]]] = {
    "mount-3-rotary": (6, 3, {"D": 0.841, "r": 0.3}),
    "mount-2-rotary": (9, 2, {"D": 0.9, "l": 0.8416}),
    "mount-truss-3": (9, 3, {"D": 0.95}),
    "mount-truss-2": (11, 2, {"D": 0.95}),
    "mount-prismatic": (15, 2, {"D": 0.953, "h": 0.45, "anchor_radius": 0.6, "azimuth2": 2.0}),
    "mount-alt-az": (0, 2, {"height": 1}),
    "mount-x-y": (0, 2, {"height": 1}),
    "mount-equatorial": (0, 2, {"latitude": 0.8}),
    "mount-3-axis": (0, 3, {"height": 1}),
    "mount-4-axis": (0, 4, {"height": 1}),
    "stewart": (6, 6, {"height": 0.6, "base1_z": 0.1, "platform3_x": 0.2}),
    "delta": (3, 3, {"rod": 0.7, "start": 0.2}),
    "five-bar": (2, 2, {"c": 0, "L2": 0.4}),
    "agile-eye": (4, 3, {"R": 0.2}),
    "spherical-collinear": (4, 3, {"link_mass": 0.3}),
    "spherical-coplanar": (4, 3, {"link_mass": 0.3}),
    "spherical-shoulder": (4, 3, {"link_mass": 0.3}),
    "unitru": (10, 2, {"D": 0.3}),
    "tripod": (6, 3, {"base": 0.5, "height": 0.7}),
    "planar-3-rpr": (4, 3, {"turn": 0.5, "base3_x": 0.1}),
}


def start_of(machine: ParallelMachine) -> dict[str, float]:
    """Return all coordinates at the start; a quaternion without values is not a turn."""
    m = machine.mechanism
    return {
        q.name: m.initial.get(q.name, float(q.name.endswith(".e0"))) for q in machine.coordinates
    }


def values(machine: ParallelMachine, m: Mechanism) -> Mapping[Expr, float]:
    """Return the numbers of coordinates and parameters at the start."""
    start = start_of(machine)
    numbers: dict[Expr, float] = {q: start[q.name] for q in machine.coordinates}
    return numbers | {p: m.values[p.name] for p in machine.parameters}


def test_every_machine_is_in_the_table() -> None:
    homes = ("mounts:", "serial_mounts:", "parallel:", "agile_eye:", "candidates:")
    assert set(MACHINES) == {name for name, model in MODELS.items() if model.home.startswith(homes)}


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_is_closed_where_it_starts(name: str) -> None:
    """Cut at the ball joints: A 6, B 9 and E 15 constraints; for other dimensions too."""
    m = load_model(name)
    constraints, actuators, others = MACHINES[name]
    assert len(m.constraints) == constraints
    assert len(m.actuators) == actuators
    for given in ({}, others):
        m.set_parameters(given)
        machine = parallel_machine(m)
        at = values(machine, m)
        left = evaluate_all(machine.relations, at)
        assert max(map(abs, left), default=0) < 1e-12
        direction = np.array(evaluate_all(machine.direction, at))
        assert np.linalg.norm(direction) == pytest.approx(1)
        limits = {r.coordinate.name: r for r in m.ranges}
        for q in machine.actuators:
            r, value = limits.get(q.name), at[q]
            assert r is None or (r.lower or -9) < value < (r.upper or 9), q


@pytest.mark.parametrize("latitude", [-0.76, 0.9])
def test_an_equatorial_mount_follows_the_sky_with_its_first_axis_alone(latitude: float) -> None:
    """Hour angle grows westward; with it alone the dish keeps its angle to the Earth's axis."""
    m = load_model("mount-equatorial")
    m.set_parameters(latitude=latitude)
    machine = parallel_machine(m)
    numbers = dict(values(machine, m))
    hour, declination = machine.actuators
    pole = np.array([0, math.cos(latitude), math.sin(latitude)])
    for h in (0.0, 0.4):
        found = np.array(evaluate_all(machine.direction, numbers | {hour: h, declination: 0.3}))
        assert found @ pole == pytest.approx(math.sin(0.3))
        assert found[0] == pytest.approx(-math.sin(h) * math.cos(0.3))


UP = np.array([0.0, 0.0, 1.0])


def test_the_coupling_mirrors_base_and_platform() -> None:
    """UNITRU: its platform's center is on the normal that halves zenith and axis; no torsion."""
    robot = Robot(load_model("unitru"))
    for legs in ((0.2, -0.1), (-0.15, 0.25), (0.3, 0.3)):
        q = closed(robot, {"actuators": [legs]}).q[0]
        pose = robot.pose(q, "platform")
        n = (pose[:3, 2] + UP) / np.linalg.norm(pose[:3, 2] + UP)
        assert pose[:3, 3] == pytest.approx(0.2 * n, abs=1e-9)
        mirror = np.eye(3) - 2 * np.outer(n, n)
        assert pose[:3, :3] == pytest.approx(mirror @ np.diag([1, 1, -1]), abs=1e-9)
        assert abs(pose[2, 2]) < 0.999


def test_offset_arms_are_where_the_mirror_plane_puts_them() -> None:
    """n (P + offset y + l (x sin b + z cos b)) = D/2 for each leg, by hand; no closed form else."""
    rng = np.random.default_rng(3)
    d = rng.normal(size=(12, 3)) * [1, 1, 0.5] + [0, 0, 0.8]
    d[:, 2] = np.abs(d[:, 2])
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    mount = Robot(load_model("mount-2-rotary:offset=-0.1"))
    found = closed(mount, {"direction": d})
    assert found.closed.all()
    n = (d + UP) / np.linalg.norm(d + UP, axis=1, keepdims=True)
    for k, turn in enumerate((0.0, 2 * math.pi / 3, 4 * math.pi / 3), 1):
        out = n @ [math.cos(turn), math.sin(turn), 0]
        side = n @ [-math.sin(turn), math.cos(turn), 0]
        rest = 0.49 - 0.28033 * out + 0.1 * side
        a, b = 0.841 * out, 0.841 * n[:, 2]
        wanted = np.arctan2(a, b) + np.arccos(rest / np.hypot(a, b))
        assert found[f"arm{k}"] == pytest.approx(wanted, abs=1e-9)
    with pytest.raises(Error, match="beside the planes of their legs have no closed form"):
        Legs.of("mount-3-rotary:offset=0.1")


@seldom(daily="test_offset_arms_are_where_the_mirror_plane_puts_them")
def test_a_chart_tells_where_arms_and_jacks_meet() -> None:
    """Against distances of the lines by a dense search, from the closed form of the legs."""
    axes = sky(azimuth=[10.0, 60.0, 100.0, 200.0, 290.0], zenith=(0.0, 90.0, 10))
    found = chart("mount-prismatic:capsules=on", axes, of=["reach"])
    share = np.linspace(0.0, 1.0, 201)[:, None]
    checked = 0
    for i, azimuth in enumerate([10.0, 60.0, 100.0, 200.0, 290.0]):
        for j, zenith in enumerate(np.linspace(0.0, 90.0, 10)):
            if i and not j:
                continue
            a, z = math.radians(90.0 - azimuth), math.radians(zenith)
            d = np.array([math.sin(z) * math.cos(a), math.sin(z) * math.sin(a), math.cos(z)])
            n = (d + UP) / np.linalg.norm(d + UP)
            turn = np.eye(3) + np.array([[0, 0, d[0]], [0, 0, d[1]], [-d[0], -d[1], 0]])
            turn[:2, :2] -= np.outer(d[:2], d[:2]) / (1 + d[2])
            turn[2, 2] = d[2]
            low = elbows(arm_angles(d))
            feet = 0.28033 * np.array([[1, 0, 0], [-0.5, 3**0.5 / 2, 0], [-0.5, -(3**0.5) / 2, 0]])
            heads = 0.98 * n + feet @ turn.T
            lines = {f"arm{k + 1}": (feet[k], low[k]) for k in range(3)}
            lines |= {f"upper{k + 1}": (low[k], heads[k]) for k in range(3)}
            for k in range(3):
                c, s = math.cos(k * math.pi / 3), math.sin(k * math.pi / 3)
                rim = np.array([[0.6 * c, 0.6 * s, 0.35], [-0.6 * c, -0.6 * s, 0.35]])
                lines[f"dish{k}"] = tuple(0.98 * n + rim @ turn.T)
            lines |= {"jack1": (0.49 * n, np.array([0.8, 0, 0.3465])),
                      "jack2": (0.49 * n, np.array([0, 0.8, 0.3465]))}  # fmt: skip
            least = math.inf
            names = list(lines)
            for p, one in enumerate(names):
                for other in names[p + 1 :]:
                    joined = one[-1] == other[-1] and {one[:-1], other[:-1]} == {"arm", "upper"}
                    fixed = {one[:-1], other[:-1]} in ({"dish"}, {"jack"})
                    if joined or fixed or {one[:-1], other[:-1]} == {"dish", "strut"}:
                        continue
                    x, y = (u + share * (v - u) for u, v in (lines[one], lines[other]))
                    gap = np.linalg.norm(x[:, None] - y[None], axis=2).min()
                    least = min(least, float(gap))
            if abs(least - 0.08) > 0.01:
                checked += 1
                assert (least < 0.08) == (found.words(i, j).startswith("collision")), (
                    azimuth,
                    zenith,
                )
    assert checked > 30
