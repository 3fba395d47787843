"""Objects.cf in a laboratory: what is touched, where, and by which joint it is felt."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from linkwright.algebra import as_expr, evaluate
from linkwright.base.errors import InputError
from linkwright.elements.surfaces import EllipsoidSurface
from linkwright.formats.robot.description import (
    Description,
    Link,
    LinkJoint,
    Mass,
    NamedFrame,
    Place,
)
from linkwright.formats.sl.configuration import SceneObject, scene
from linkwright.lab.config import JointConfig, LabConfig
from linkwright.lab.contacts import contacts, surface_of
from linkwright.lab.files.sl_writer import write_sl_lab
from linkwright.lab.plant import lab_mechanism
from linkwright.lab.sources import lab_config, shipped_folder
from linkwright.robots import Robot
from linkwright.simulation.native.session import Session
from linkwright.system import System
from tests.oracles.phase_runner import PlainRun

OBJECTS = """
/* a floor of the damped spring, and an egg that sticks and slips */
table 1  .4 .6 .9   0 0 -0.4   0 0 0   4 4 0.1   1   0 0 0 0 0   2e4 50 20 0 0
a_long_egg_of_20_chr 2  1 1 0   0.1 0.05 -0.75  0.1 0.2 0.3   0.5 0.6 0.8   2
0 0 0 0 0   1e4 30 8e3 0.8 0.6
"""


def _arm() -> LabConfig:
    rod = Mass(1.0, (0.0, 0.0, -0.2), (0.02, 0.02, 0.001, 0.0, 0.0, 0.0))
    robot = Description(
        "arm",
        (Link("BASE"), Link("A", rod), Link("B", rod)),
        (
            LinkJoint("A", "revolute", "BASE", "A", Place((0.1, 0.0, 0.0)), (0.0, 1.0, 0.0)),
            LinkJoint("B", "revolute", "A", "B", Place((0.0, 0.0, -0.4)), (1.0, 0.0, 0.0)),
        ),
        (NamedFrame("FOOT", "B", Place((0.0, 0.0, -0.3))),),
    )
    joints = tuple(JointConfig(name, -2.0, 2.0, kp=1.0) for name in "AB")
    return LabConfig("arm", robot, joints, vertices={"HIP": "A", "KNEE": "B", "FOOT": "FOOT"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = Path(tmp_path_factory.mktemp("sl")) / "arm"
    write_sl_lab(_arm(), home)
    (home / "config" / "Objects.cf").write_text(OBJECTS)
    return home


def test_every_vertex_is_held_against_every_object(folder: Path) -> None:
    """SL check 64: names of 20 characters and both contact models load, and act."""
    config = lab_config(folder)
    made = list(contacts(config, lab_mechanism(config)))
    assert [contact.name for contact in made] == ["table", "a_long_egg_of_20_chr"]
    for contact in made:
        assert [f"normal{k}" in contact.outputs for k in (1, 2, 3, 4)] == [True] * 3 + [False]
    assert isinstance(made[1].surface, EllipsoidSurface)


def test_what_touches_is_felt_by_the_joints_that_carry_it(folder: Path) -> None:
    """SL check 53: accelerations are those of the forces at their vertices, through J'."""
    config = lab_config(folder)
    made = lab_mechanism(config)
    system = System(made.mechanism, base=960)
    names = []
    for contact in contacts(config, made):
        system.add(contact)
        names += [f"{contact.name}.force{k}_{c}" for k in (1, 2, 3) for c in "xyz"]
    q, u = np.array([0.2, 0.3]), np.array([0.4, -0.3])
    start = {x.name: v for x, v in zip((*made.joints, *made.speeds), (*q, *u), strict=True)}
    phases = system.phases(names)
    samples = Session(phases, 1e-3, initial=start).run().samples
    forces = np.array([samples[name][0] for name in names]).reshape(2, 3, 3)
    pressed = np.linalg.norm(forces, axis=2) > 1.0
    assert pressed.tolist() == [[False, True, False], [False, False, True]]
    x = np.array([start.get(signal.name, 0.0) for signal in phases.x])
    signals = [signal.name for signal in phases.x]
    rates = dict(zip(signals, PlainRun(phases).rate(0, x), strict=True))
    robot = Robot(config.description)
    torque = sum(
        np.asarray(robot.jacobian(q, frame))[:3].T @ forces[:, k].sum(axis=0)
        for k, frame in enumerate(config.vertices.values())
    )
    expected = robot.forward_dynamics(q, u, torque)
    found = [rates[speed.name] for speed in made.speeds]
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def _depth(thing: SceneObject, point: tuple[float, float, float]) -> tuple[float, list[float]]:
    surface = surface_of(thing)
    turn = np.array(surface.rotation)
    x, y, z = turn.T @ (np.array(point) - np.array(surface.center))
    depth, normal = surface.depth(as_expr(float(x)), as_expr(float(y)), as_expr(float(z)))
    outward = turn @ [float(evaluate(n, {})) for n in normal]
    return float(evaluate(depth, {})), outward.tolist()


def test_the_floor_of_the_file_is_touched_below_its_top() -> None:
    """SL check 54."""
    (floor,) = lab_config("sl-arm").objects
    assert (floor.name, floor.contact_model) == ("floor", 1)
    for z, depth in ((-1.24, -0.01), (-1.25, 0.0), (-1.27, 0.02)):
        found, normal = _depth(floor, (0.3, -0.7, z))
        assert found == pytest.approx(depth, abs=1e-12)
        np.testing.assert_allclose(normal, (0, 0, 1), atol=1e-15)


def test_a_sphere_of_unequal_scales_is_an_ellipsoid() -> None:
    """SL check 52, with three scales: on the axes and on the surface the depth is exact."""
    egg = SceneObject("egg", "sphere", (), (1.0, 2.0, 3.0), (0.3, -0.2, 0.5), (0.4, 0.6, 1.0), 1)
    turn = np.array(surface_of(egg).rotation)
    for axis, radius in enumerate((0.2, 0.3, 0.5)):
        way = turn[:, axis]
        x, y, z = np.array(egg.position) + (radius - 0.01) * way
        depth, normal = _depth(egg, (x, y, z))
        assert depth == pytest.approx(0.01, abs=1e-12)
        np.testing.assert_allclose(normal, way, atol=1e-12)
    rng = np.random.default_rng(3)
    for way in rng.normal(size=(20, 3)):
        inner = way / np.linalg.norm(way / np.array((0.2, 0.3, 0.5)))
        x, y, z = np.array(egg.position) + turn @ inner
        assert _depth(egg, (x, y, z))[0] == pytest.approx(0.0, abs=1e-12)


def test_an_object_without_a_contact_model_is_scenery_and_that_is_said(tmp_path: Path) -> None:
    """The manual prints its floor so."""
    printed = "floor 1\n0.4 0.6 0.9\n0 0 -1.3\n0 0 0\n4 4 0.1\n"
    home = Path(shutil.copytree(shipped_folder("sl-arm"), tmp_path / "arm"))
    objects = home / "config" / "Objects.cf"
    for text in (printed, printed + "0 0 0 0 0\n0 0 0 0 0\n"):
        objects.write_text(text + "ball 2 1 1 1 0 0 0 0 0 0 1 1 1 1 0 0 0 0 0 1 1 1 0 0\n")
        config = lab_config(home)
        assert [(x.name, x.contact_model) for x in config.objects] == [("floor", 0), ("ball", 1)]
        assert config.notes == (
            f"{objects}:1: 'floor' has no contact model, so nothing touches it",
        )
        made = contacts(config, lab_mechanism(config))
        assert [contact.name for contact in made] == ["ball"]
    with pytest.raises(InputError, match=r"o\.cf:1: after 'floor' stand 15 values"):
        scene(printed.replace("\n", " ") + "1 2", "o.cf")
