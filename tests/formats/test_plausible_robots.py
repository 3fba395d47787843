"""Findings against masses, inertias and joints, and what the repairs make of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from linkwright.cli import main
from linkwright.formats.robot.description import (
    Description,
    JointLimits,
    Link,
    LinkJoint,
    Mass,
    Mimic,
    Place,
)
from linkwright.formats.robot.files import read_description
from linkwright.formats.robot.plausibility import description_findings, repaired
from linkwright.mechanism import Mechanism
from linkwright.mechanism.plausibility import mechanism_findings
from linkwright.mechanism.rigidity import mass_findings, nearest_inertia
from linkwright.models import load_model
from tests.seeds import examples

ROBOTS = Path(__file__).resolve().parents[1] / "robots"
SOUND = Mass(1.0, (0.1, 0.0, 0.0), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))

numbers = st.floats(-3, 3)
tensors = st.tuples(*[numbers] * 6)


def _matrix(tensor: tuple[float, ...]) -> np.ndarray:
    xx, yy, zz, xy, yz, zx = tensor
    return np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])


def _second_moments(tensor: tuple[float, ...]) -> np.ndarray:
    matrix = _matrix(tensor)
    return np.asarray(np.trace(matrix) / 2 * np.eye(3) - matrix)


@settings(max_examples=examples(50, daily=20), deadline=None)
@given(tensors, st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=6))
def test_the_nearest_inertia_is_one_and_no_body_is_nearer(
    tensor: tuple[float, ...], points: list[tuple[float, float, float]]
) -> None:
    """Clouds of points have inertias too; none lies nearer to the tensor than the repair."""
    found = nearest_inertia(tensor)
    assert not list(mass_findings("b", 1.0, found))
    distance = np.linalg.norm(_second_moments(found) - _second_moments(tensor))
    cloud = sum(np.outer(p, p) for p in points)  # second moments of points of mass 1
    assert distance <= np.linalg.norm(cloud - _second_moments(tensor)) + 1e-9
    np.testing.assert_allclose(nearest_inertia(found), found, atol=1e-9)


@settings(max_examples=examples(50, daily=20), deadline=None)
@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=6))
def test_no_cloud_of_points_is_found_implausible(
    points: list[tuple[float, float, float]],
) -> None:
    inertia = sum(np.dot(p, p) * np.eye(3) - np.outer(p, p) for p in points)
    entries = [inertia[k, k] for k in range(3)] + [inertia[0, 1], inertia[1, 2], inertia[2, 0]]
    assert not list(mass_findings("b", 1.0, entries))


def test_links_1_and_3_of_the_puma_are_found() -> None:
    found = {f.part: f for f in mechanism_findings(load_model("puma560"))}
    assert set(found) == {"link1", "link3"}
    assert found["link1"].name == "mass"
    assert found["link3"].name == "triangle inequality"
    assert all(f.severity == "warning" and f.repair for f in found.values())


def test_the_sample_arm_of_sl_is_found_and_repaired() -> None:
    """Its links' inertias are negative about their mass centers; the thumb has no mass."""
    robot = read_description(ROBOTS / "sl_arm" / "arm.dyn")
    names = {(f.part, f.name) for f in description_findings(robot)}
    assert {("L_HR", "positive definiteness"), ("L_TL", "massless chain")} <= names
    better, left = repaired(robot)
    assert [(f.part, f.name) for f in left if f.severity != "note"] == [("L_HR", "mass center")]
    for link, other in zip(robot.links, better.links, strict=True):
        if link.mass is not None and link.mass.mass:
            assert other.mass is not None
            assert (other.mass.mass, other.mass.center) == (link.mass.mass, link.mass.center)


def test_the_printed_numbers_of_sl_are_flagged_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    """SL check 63: WR has i33 < 0, SFE mass times center without mass; HR's center is 38 m off."""
    assert main(["model", "check", str(ROBOTS / "sl_arm" / "arm.dyn")]) == 1
    told = capsys.readouterr().err
    assert "not read: mass times center of L_SFE (line 5): its mass is zero" in told
    assert "warning: L_SFE: it has moments of inertia but no mass" in told
    assert "error: L_WR: its smallest moment of inertia, " in told
    assert "warning: L_HR: its mass center is 38.4 m from its origin" in told


def test_a_mass_center_is_held_against_the_size_of_the_robot() -> None:
    arm = LinkJoint("j", "revolute", "base", "arm", Place((0.3, 0.0, 0.4)))
    for away, flagged in ((2.0, False), (3.0, True)):
        robot = Description(
            "r", (Link("base"), Link("arm", replace(SOUND, center=(0, away, 0)))), (arm,)
        )
        assert any(f.name == "mass center" for f in description_findings(robot)) == flagged
    at_origin = _one_joint(HINGE, replace(SOUND, center=(0.0, 40.0, 0.0)))  # of a size unknown
    assert not any(f.name == "mass center" for f in description_findings(at_origin))


def _one_joint(joint: LinkJoint, mass: Mass | None = SOUND) -> Description:
    return Description("r", (Link("base"), Link("arm", mass)), (joint,))


HINGE = LinkJoint("j", "revolute", "base", "arm", limits=JointLimits(-1, 1, 2, 3))
CASES = {
    "sound": (_one_joint(HINGE), set()),
    "limits the wrong way round": (
        _one_joint(replace(HINGE, limits=JointLimits(1, -1, 2, 3))),
        {("j", "limits", "error")},
    ),
    "no range": (
        _one_joint(replace(HINGE, limits=JointLimits(1, 1, 2, 3))),
        {("j", "range", "warning")},
    ),
    "no effort": (
        _one_joint(replace(HINGE, limits=JointLimits(-1, 1))),
        {("r", "effort", "note")},
    ),
    "an effort of zero": (
        _one_joint(replace(HINGE, limits=JointLimits(-1, 1, 2, 0))),
        {("j", "effort", "warning")},
    ),
    "damping that drives": (
        _one_joint(replace(HINGE, damping=-1.0)),
        {("j", "damping", "error")},
    ),
    "a negative mass": (_one_joint(HINGE, replace(SOUND, mass=-1.0)), {("arm", "mass", "error")}),
    "no mass": (_one_joint(HINGE, None), {("j", "massless chain", "error")}),
    "a point on the axis": (
        _one_joint(HINGE, Mass(1.0, (0.0, 0.0, 2.0))),
        {("j", "massless chain", "error")},
    ),
    "a rotor alone": (_one_joint(replace(HINGE, armature=0.1), None), set()),
    "a slide without mass": (
        _one_joint(replace(HINGE, kind="prismatic"), Mass(0.0)),
        {("j", "massless chain", "error")},
    ),
    "an inertia that is a plate's and more": (
        _one_joint(HINGE, Mass(1.0, (0, 0, 0), (0.1, 0.1, 0.21, 0, 0, 0))),
        {("arm", "triangle inequality", "warning")},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_fault_is_found_and_only_that(name: str) -> None:
    robot, expected = CASES[name]
    found = description_findings(robot)
    assert {(f.part, f.name, f.severity) for f in found} >= expected
    serious = {(f.part, f.name) for f in found if f.severity != "note"}
    assert serious == {(part, kind) for part, kind, severity in expected if severity != "note"}
    left = [f for f in repaired(robot)[1] if f.severity == "error"]
    assert not left


def test_what_follows_needs_no_mass_of_its_own() -> None:
    links = (Link("base"), Link("arm", SOUND), Link("dial"))
    dial = LinkJoint("k", "revolute", "arm", "dial", mimic=Mimic("j"))
    robot = Description("r", links, (HINGE, dial))
    assert not [f for f in description_findings(robot) if f.severity == "error"]


def test_a_chain_that_is_straight_now_is_not_massless() -> None:
    """A point beyond a second hinge lies on the first axis only while that hinge is at zero."""
    links = (Link("base"), Link("arm"), Link("tip", Mass(1.0, (0.0, 0.0, 1.0))))
    second = LinkJoint("k", "revolute", "arm", "tip", Place((0.0, 0.0, 1.0)), (1.0, 0.0, 0.0))
    robot = Description("r", links, (HINGE, second))
    assert not [f for f in description_findings(robot) if f.name == "massless chain"]


def test_a_massless_chain_of_a_mechanism_is_found() -> None:
    m = Mechanism("m")
    a = m.body("a", rotate="z", mass=1, inertia=1)
    b = m.body("b", parent=a, rotate="x", mass=0, inertia=0)
    assert [f.part for f in mechanism_findings(m)] == ["b"]
    m.body("c", parent=b, rotate="y", mass=1, inertia=1)
    assert not mechanism_findings(m)


def test_check_tells_and_repairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A robot with an error is bad; the file written in its place is sound."""
    text = (ROBOTS / "gripper.urdf").read_text().replace('izz="1.5e-6"', 'izz="-1.5e-6"')
    bad, good = tmp_path / "bad.urdf", tmp_path / "good.urdf"
    bad.write_text(text)
    assert main(["model", "check", str(bad)]) == 1
    assert "error: knob: its smallest moment of inertia" in capsys.readouterr().err
    assert main(["model", "check", str(bad), "--repair", str(good)]) == 0
    assert "wrote" in capsys.readouterr().out
    assert main(["model", "check", str(good)]) == 0


def test_check_takes_the_names_of_shipped_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The PUMA's links are found by its name, repaired on the way to a file, and sound there."""
    assert main(["model", "check", "puma560"]) == 0
    told = capsys.readouterr()
    assert "warning: link1: it has moments of inertia but no mass (repair: " in told.err
    assert "warning: link3: its largest moment of inertia" in told.err
    assert told.out.endswith("puma560: with 2 warning(s)\n")
    sound = tmp_path / "puma.urdf"
    assert main(["model", "check", "puma560", "--repair", str(sound)]) == 0
    capsys.readouterr()
    assert main(["model", "check", str(sound)]) == 0
    assert capsys.readouterr().out.endswith("puma.urdf: sound\n")
    assert main(["tools", "info", "puma560"]) == 0
    assert "6: 6 revolute" in capsys.readouterr().out
    assert main(["model", "check", "puma561"]) == 2
    assert "did you mean 'puma560'?" in capsys.readouterr().err
