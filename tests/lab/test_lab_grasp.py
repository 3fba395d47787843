"""Objects of a laboratory that move: a box that two fingers lift by friction, or do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwright.base.errors import Error
from linkwright.lab.config import LabConfig
from linkwright.lab.contacts import contacts
from linkwright.lab.files.lab_reader import read_lab
from linkwright.lab.files.lab_writer import write_lab
from linkwright.lab.files.sl_writer import write_sl_lab
from linkwright.lab.lab import Lab
from linkwright.lab.plant import lab_mechanism, object_body
from linkwright.lab.sources import lab_config
from linkwright.robots import Robot
from tests.seeds import cases

FOLDER = Path(__file__).parents[2] / "examples" / "lab" / "gripper"
MASS, EDGE, G = 0.5, 0.05, 9.81


def gripper(*, static: float = 0.6) -> LabConfig:
    """The laboratory of the example, with a coefficient of its box."""
    found = lab_config(FOLDER)
    table, box = found.objects
    law = (*box.contact_parameters[:3], static, 0.8 * static)
    return replace(found, objects=(table, replace(box, contact_parameters=law)))


def test_an_object_with_a_mass_is_a_body_of_even_density() -> None:
    """Its kinetic energy is that of a cube; controllers do not know it; its corners touch."""
    config = gripper()
    robot, believed = lab_mechanism(config), lab_mechanism(config, believed=True)
    (name,) = (object_body(thing) for thing in config.objects if thing.mass)
    assert name in robot.mechanism.bodies
    assert name not in believed.mechanism.bodies
    whole = Robot(robot.mechanism)
    at = [k for k, x in enumerate(whole.coordinates) if x.startswith(name)]
    assert whole.neutral[at] == pytest.approx([0, 0, EDGE / 2, 1, 0, 0, 0])
    inertia = MASS * EDGE**2 / 6
    own = np.asarray(whole.mass_matrix(whole.neutral))[3:, 3:]
    assert own == pytest.approx(np.diag([MASS] * 3 + [inertia] * 3))
    table, box = contacts(config, robot)
    assert (len(table.points), len(box.points)) == (8 + 8, 8)


def test_files_keep_the_mass_of_an_object_and_those_of_sl_say_that_they_do_not(
    tmp_path: Path,
) -> None:
    config = gripper()
    write_lab(config, tmp_path / "lab.toml")
    assert read_lab(tmp_path / "lab.toml").objects == config.objects
    arm = lab_config("sl-arm")
    _, dropped = write_sl_lab(replace(arm, objects=config.objects), tmp_path / "sl")
    assert [x.what for x in dropped if "mass of" in x.what] == ["mass of the object box"]
    text = (tmp_path / "lab.toml").read_text(encoding="utf-8")
    (tmp_path / "lab.toml").write_text(text.replace("mass = 0.5", "mass = -0.5"), encoding="utf-8")
    with pytest.raises(Error, match="mass"):
        read_lab(tmp_path / "lab.toml")


@pytest.mark.parametrize("static", cases([0.6, 0.3], 1))
def test_friction_lifts_the_box_as_coulomb_says(static: float) -> None:
    """Two fingers with the force F hold m (g + a) where 2 mu F is more, and do not lift m g where
    it is less; a is the greatest acceleration of minimum jerk, 10 h / (sqrt(3) T^2)."""
    height, time = 0.1, 1.0
    most = 10 * height / (np.sqrt(3) * time**2)
    with Lab(gripper(static=static)) as lab:
        lab.add(FOLDER.parent / "grasp.py")
        for force, holds in (
            (1.06 * MASS * (G + most) / (2 * static), True),
            (0.94 * MASS * G / (2 * static), False),
        ):
            lab.reset()
            lab.mode("invdyn")
            lab.run(0.3)
            before = lab.objects["box"]
            assert before[2] == pytest.approx(EDGE / 2, abs=5e-4)  # it stands on the table
            lab.start("grasp", force=force, height=height, lifting=time)
            lab.run(3.0)
            rose = lab.objects["box"] - before
            palm = float(lab.state.q[0])
            assert palm == pytest.approx(height, abs=3e-3)
            wanted = palm if holds else 0.0
            assert rose == pytest.approx([0, 0, wanted, 0, 0, 0, 0], abs=3e-3)
            lab.run(1.0)  # held, it stays where it is
            assert lab.objects["box"] - before == pytest.approx(rose, abs=5e-4)
            if holds:  # twice its weight is too much
                lab.push("box", (0.0, 0.0, -MASS * G), seconds=0.3)
                lab.run(0.5)
                assert lab.objects["box"][2] - before[2] < height / 2
