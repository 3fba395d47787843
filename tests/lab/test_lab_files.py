"""Laboratories as files: `lab.toml` and SL folders, there and back, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwright.base.errors import Error, InputError
from linkwright.cli import main
from linkwright.formats.robot.description import (
    Description,
    Link,
    LinkJoint,
    LinkShape,
    Mass,
    Mimic,
    Place,
)
from linkwright.formats.sl.configuration import SceneObject
from linkwright.lab.config import (
    Camera,
    EndEffector,
    JointConfig,
    LabConfig,
    MuscleConfig,
    VisionConfig,
)
from linkwright.lab.files.conversion import convert_lab
from linkwright.lab.files.lab_reader import is_lab_file, parse_lab
from linkwright.lab.files.lab_tables import LabFile
from linkwright.lab.files.lab_writer import lab_text, starter_text, write_lab
from linkwright.lab.files.sl_writer import sl_folder, write_sl_lab
from linkwright.lab.sources import SHIPPED, is_lab, lab_config

APART = ("mechanism", "believed", "preferences", "files", "description", "model")
"""Fields that say where a laboratory lies, and robots, which are compared by themselves."""

ROD = Mass(1.0, (0.0, 0.0, -0.25), (0.02, 0.02, 0.001, 0.0, 0.0, 0.0))


def _small() -> LabConfig:
    """Return a laboratory of two joints in which every field is another than its default."""
    robot = Description(
        "small",
        (Link("BASE"), Link("A", ROD), Link("B", ROD)),
        (
            LinkJoint("A", "revolute", "BASE", "A", Place((0.0, 0.0, 1.0)), (0.0, 1.0, 0.0)),
            LinkJoint("B", "revolute", "A", "B", Place((0.0, 0.0, -0.5)), (0.0, 1.0, 0.0)),
        ),
        gravity=(0.0, 0.0, -9.81),
    )
    joints = (
        JointConfig(
            *("A", -1.0, 2.0, 0.5, 0.4, 0.3, 30.0, 2.0, 0.1, 50.0, 8.0, 0.2, (1.0, 2.0, 3.0, 4.0)),
            *(0.1, True, True, True, 0.05, 0.2, 1.2, -1.0, -1.0),
        ),
        JointConfig("B", -1.0, 1.0, kp=10.0, kd=1.0, max_effort=math.inf, max_speed=5, max_jump=1),
    )
    balls = (
        SceneObject(
            *("egg", "sphere", (1.0, 0.0, 0.0), (1.0, 2.0, 3.0), (0.1, 0.2, 0.3), (1.0, 2.0, 3.0)),
            *(2, (1.0, 2.0, 3.0, 4.0, 5.0), (1e4, 50.0, 1e4, 0.8, 0.6)),
        ),
    )
    return LabConfig(
        name="small",
        description=robot,
        joints=joints,
        model=replace(
            robot, links=(robot.links[0], Link("A", replace(ROD, mass=1.1)), Link("B", ROD))
        ),
        rate=500.0,
        ratios={"task": 5, "invdyn": 1, "invkin": 10, "eye": 2},
        vision_rate=50.0,
        controller="pd",
        servos={"task": ("A",), "eye": ("B",), "motor": ("A", "B")},
        real_servos={"task": ("A", "B"), "motor": ("A", "B")},
        end_effectors=(
            EndEffector("TIP", "B", (0.0, 0.1, -0.5), (0.1, 0.2, 0.3), 0.5, (0.01, 0.02, 0.03)),
        ),
        vertices={"KNEE": "B", "HIP": "A"},
        muscles=(MuscleConfig("flexor", ("A", "B"), ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), 90.0),),
        objects=balls,
        gravity=(0.0, 0.5, -1.6),
        method="rk4",
        substeps=3,
        vision=VisionConfig(
            ("red", "green"),
            1,
            "mine.pp",
            (Camera((0.1, 0.2, 0.3), (0.4, 0.5, 0.6), (7.0, 8.0), (9.0, 10.0), (11.0, 12.0)),),
            (0.1, 0.2, 0.3),
            (0.4, 0.5, 0.6),
            0.7,
            0.08,
        ),
        misc_sensors=("force",),
        estimated=(4, 1),
        ground=False,
    )


def _laboratories() -> dict[str, LabConfig]:
    return {**{name: lab_config(name) for name in SHIPPED}, "small": _small()}


def _same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or abs(a - b) <= 1e-12 * max(abs(a), abs(b))
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return a == b


def _robots_agree(before: Description | None, after: Description | None) -> None:
    assert (before is None) == (after is None)
    if before is None or after is None:
        return
    assert (before.gravity or (0.0, 0.0, -9.81)) == after.gravity  # which a URDF leaves out
    for kind in ("links", "joints"):
        old, new = getattr(before, kind), getattr(after, kind)
        assert [x.name for x in old] == [x.name for x in new]
        for x, y in zip(old, new, strict=True):
            for name in x.__slots__:
                if name not in ("line", "limits", "mass", "place"):
                    assert _same(getattr(x, name), getattr(y, name)), (x.name, name)
    for link, other in zip(before.links, after.links, strict=True):
        assert (link.mass is None) == (other.mass is None)
        if link.mass is not None and other.mass is not None:
            old, new = ((m.mass, *m.center, *m.inertia) for m in (link.mass, other.mass))
            np.testing.assert_allclose(old, new, atol=1e-15)
    places = [
        {x.name: (x.link, *x.place.position, *sum(x.place.rotation, ())) for x in d.frames}
        for d in (before, after)
    ]
    for name, (link, *numbers) in places[0].items():
        assert places[1][name][0] == link
        np.testing.assert_allclose(numbers, places[1][name][1:], atol=1e-15)
    for joint, twin in zip(before.joints, after.joints, strict=True):
        np.testing.assert_allclose(joint.place.position, twin.place.position, atol=1e-15)
        np.testing.assert_allclose(joint.place.rotation, twin.place.rotation, atol=1e-15)


@pytest.mark.parametrize("name", [*SHIPPED, "small"])
def test_a_laboratory_survives_its_own_file_field_by_field(name: str, tmp_path: Path) -> None:
    before = _laboratories()[name]
    write_lab(before, tmp_path / "lab.toml")
    after = lab_config(tmp_path)
    for field in fields(LabConfig):
        if field.name not in APART:
            assert getattr(after, field.name) == getattr(before, field.name), field.name
    _robots_agree(before.description, after.description)
    _robots_agree(before.model, after.model)
    assert (after.preferences is None) == (before.preferences is None)
    if before.preferences is not None and after.preferences is not None:
        for path in before.preferences.iterdir():
            assert (after.preferences / path.name).read_bytes() == path.read_bytes()


def test_the_small_laboratory_leaves_no_field_at_its_default() -> None:
    """What stands at its default in a round trip says nothing."""
    small = _small()
    usual = LabConfig("", small.description, ())
    kept = {f.name for f in fields(LabConfig) if getattr(small, f.name) == getattr(usual, f.name)}
    assert kept == {"description", "mechanism", "believed", "base", "preferences", "files", "notes"}
    joint = JointConfig("", 0.0, 0.0)
    assert all(getattr(small.joints[0], f.name) != getattr(joint, f.name) for f in fields(joint))
    eyes, camera = VisionConfig(), Camera((0.0, 0.0, 0.0))
    assert all(getattr(small.vision, f.name) != getattr(eyes, f.name) for f in fields(eyes))
    eye = small.vision.eyes[0]
    assert all(getattr(eye, f.name) != getattr(camera, f.name) for f in fields(camera))
    end = EndEffector("", "")
    assert all(getattr(small.end_effectors[0], f.name) != getattr(end, f.name) for f in fields(end))
    known = set(LabFile.model_fields) | {"joints", "end_effectors", "objects", "description"}
    assert {f.name for f in fields(LabConfig)} <= known | {
        "mechanism",
        "believed",
        "files",
        "notes",
    }


@pytest.mark.parametrize("name", [*SHIPPED, "small"])
def test_a_laboratory_survives_the_way_through_sl(name: str, tmp_path: Path) -> None:
    before = _laboratories()[name]
    _, dropped = write_sl_lab(before, tmp_path / name)
    after = lab_config(tmp_path / name)
    apart = {"vision_rate", "controller", "gravity", "joints", "vertices", "vision", "ground"}
    apart.add("muscles")
    lost: set[str] = {"humanoid": apart | {"notes"}, "small": apart}.get(name, set())
    for field in fields(LabConfig):
        if field.name not in {*APART, *lost}:
            old, new = getattr(before, field.name), getattr(after, field.name)
            if field.name == "end_effectors":
                for end, twin in zip(old, new, strict=True):
                    fits = [k for k in end.__slots__ if (name, k) != ("humanoid", "link")]
                    assert all(_same(getattr(end, k), getattr(twin, k)) for k in fits)
            else:
                assert new == old, field.name
    assert set(before.vertices) <= set(after.vertices)
    what = {entry.what for entry in dropped}
    if name == "small":
        assert {"rate of the vision servo", "law of the motor servo", "gravity"} <= what
        assert {"theta0 of a joint", "greatest speed and jump of a joint"} <= what
        assert {"places, noise and delay of cameras", "no ground", "muscle flexor"} <= what
        assert after.vision == VisionConfig(("red", "green"), 1, "mine.pp")
        for joint, twin in zip(before.joints, after.joints, strict=True):
            kept = replace(joint, theta0=None, max_speed=20.0, max_jump=0.5)
            assert twin == kept
    elif name == "humanoid":
        assert "greatest speed and jump of a joint" in what
    else:
        assert dropped == ()
        _robots_agree(before.description, after.description)
        _robots_agree(before.model, after.model)


def test_a_base_that_floats_stays_one(tmp_path: Path) -> None:
    small = _small()
    links = (replace(small.description.links[0], mass=ROD), *small.description.links[1:])
    robot = replace(small.description, links=links)
    before = replace(small, description=robot, model=None, base="floating")
    write_lab(before, tmp_path / "lab.toml")
    write_sl_lab(before, tmp_path / "sl")
    for place in (tmp_path, tmp_path / "sl"):
        after = lab_config(place)
        assert (after.base, after.names) == ("floating", ("A", "B"))
        mass = after.description.link("BASE").mass
        assert mass is not None
        np.testing.assert_allclose(mass.center, ROD.center, atol=1e-15)
    standing = sl_folder(replace(before, base="fixed"))  # SL lets a base with mass float
    assert "mass of a base that stands still" in {entry.what for entry in standing.dropped}


def test_meshes_are_found_from_where_a_laboratory_is_written(tmp_path: Path) -> None:
    shapes = (LinkShape("mesh", mesh="parts/rod.stl"),)
    small = _small()
    links = (*small.description.links[:2], replace(small.description.links[2], shapes=shapes))
    robot = replace(small.description, links=links, source=str(tmp_path / "robot.urdf"))
    write_lab(replace(small, description=robot), tmp_path / "labs" / "lab.toml")
    after = lab_config(tmp_path / "labs")
    assert after.description.links[2].shapes[0].mesh == "../parts/rod.stl"
    assert after.files == tuple(
        str(tmp_path / "labs" / name) for name in ("lab.toml", "lab.robot.toml", "lab.model.toml")
    )


def test_what_sl_has_no_word_for_is_refused() -> None:
    small = _small()
    first, second = small.description.joints

    def with_joint(joint: LinkJoint) -> LabConfig:
        return replace(small, description=replace(small.description, joints=(first, joint)))

    with pytest.raises(InputError, match="'B' follows 'A', which SL has no word for"):
        sl_folder(with_joint(replace(second, mimic=Mimic("A"))))
    with pytest.raises(InputError, match="'B' is prismatic, which SL has no word for"):
        sl_folder(with_joint(replace(second, kind="prismatic")))
    with pytest.raises(InputError, match="SL cannot hold the name 'B-2'"):
        sl_folder(with_joint(replace(second, name="B-2")))


def test_a_vertex_of_an_end_effector_is_the_one_that_the_map_names() -> None:
    """SL check 81."""
    texts = sl_folder(lab_config("sl-arm")).texts
    assert "int link2endeffmap[] = {0, HAND};" in texts["SL_user_common.c"]
    assert "eff$1$$x[[2]]" in texts["sl-arm.dyn"]


def test_what_is_left_out_follows_from_the_robot() -> None:
    made = parse_lab('format = 1\nname = "x"\nrobot = "pendulum"\n')
    usual = lab_config("pendulum")
    assert made.joints == usual.joints
    assert made.end_effectors == usual.end_effectors
    bent = '[[joint]]\nname = "phi"\nlower = "10 deg"\nupper = "50 deg"\n'
    (joint,) = parse_lab(f'format = 1\nname = "x"\nrobot = "pendulum"\n{bent}').joints
    assert joint.default == joint.rest == pytest.approx(math.radians(30))
    assert joint.kp == usual.joints[0].kp


HEAD = 'format = 1\nname = "x"\nrobot = "pendulum"\n'
JOINT = f'{HEAD}[[joint]]\nname = "phi"\n'
THING = '[[object]]\nname = "o"\nkind = "cube"\nposition = [0, 0, 0]\nscale = [1, 1, 1]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD.replace("pendulum", "pendulm"), r"line 3, column 9: robot: .*'pendulum'"),
        (HEAD.replace('"x"', '"a b"'), "line 2, .*cannot be a name"),
        (f"{HEAD}rat = 3\n", "line 4, column 1: rat: unknown key 'rat'; did you mean 'rate'"),
        (f"{HEAD}rate = 0\n", "line 4, .*not above zero"),
        (f'{HEAD}rate = "3 kg"\n', "line 4, .*rate"),
        (
            f"{HEAD}[ratios]\ntask = 2.5\n",
            "line 5, .*ratios.task: 2.5 is not a ratio; give a whole",
        ),
        (f"{HEAD}[ratios]\ntask = 0\n", "0 is not a ratio"),
        (f'{HEAD}controller = "pdf"\n', "line 4, .*controller"),
        (f'{HEAD}[servos]\ntask = ["phy"]\n', "line 5, .*no joint is called 'phy'.*'phi'"),
        (f'{HEAD}[vertices]\nTIP = "rodd"\n', "line 5, .*no link or frame of the robot"),
        (f'{HEAD}preferences = "nowhere"\n', "line 4, .*no folder 'nowhere'"),
        (f"{HEAD}estimated = [1]\n", "line 4, .*two counts"),
        (f'{HEAD}[[end_effector]]\nname = "e"\nlink = "rd"\n', "line 6, .*no link or frame"),
        (JOINT.replace("phi", "psi"), "line 5, .*no joint is called 'psi'"),
        (f'{JOINT}[[joint]]\nname = "phi"\n', "line 7, .*'phi' is given twice"),
        (f"{JOINT}lower = 1\nupper = 0\n", "line 7, .*0 is not above lower, 1"),
        (f"{JOINT}default = 9\n", "line 6, .*9 is beyond"),
        (f"{JOINT}weight = 0\n", "line 6, .*give a number above 0"),
        (f"{JOINT}kp = -1\n", "line 6, .*-1 is below 0"),
        (f"{JOINT}filters = [1, 2, 3]\n", "line 6, .*has 3 numbers"),
        (f"{JOINT}filters = [1, 2, 3, 400]\n", "line 6, .*400 percent is not a cutoff"),
        (f"{JOINT}position_polarity = 2\n", "line 6, .*position_polarity"),
        (f"{HEAD}{THING.replace('o', 'o' * 21, 1)}", "line 4"),
        (f"{HEAD}{THING}".replace("[1, 1, 1]", "[1, 1, 0]"), "line 8, .*a scale of 0"),
        (
            f'{HEAD}{THING}contact_model = "coulomb"\n',
            "line 9, .*'coulomb' has 5 parameters, and 0 are given; give stiffness",
        ),
    ],
)
def test_what_is_wrong_in_a_file_has_its_line(text: str, message: str) -> None:
    """SL check 2 for ratios, and 64 for contact models."""
    with pytest.raises(Error, match=message):
        parse_lab(text)


def test_the_laboratory_of_the_docs_is_one() -> None:
    page = (Path(__file__).parents[2] / "docs" / "robot-files.md").read_text(encoding="utf-8")
    section = page.partition("## Laboratories")[2].partition("```toml\n")[2].partition("```")[0]
    made = parse_lab(section.replace('"puma560"', '"pendulum"').replace('"q2"', '"phi"'))
    assert (made.name, made.joints[0].kp, made.objects[0].contact_model) == ("mine", 900.0, 2)
    assert made.joints[0].lower == pytest.approx(math.radians(-170))


def test_laboratories_are_told_from_other_files(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(starter_text("mine"))
    assert is_lab_file(mine)
    assert is_lab("sl-arm")
    assert not is_lab("cell1")
    for text in ('format = 1\nname = "m"\n', "robot = 3\n", "not toml ="):
        mine.write_text(text)
        assert not is_lab_file(mine)
    assert not is_lab(tmp_path)
    with pytest.raises(InputError, match="cannot name a laboratory"):
        starter_text('a"b')


def test_a_laboratory_is_not_overwritten_unasked(tmp_path: Path) -> None:
    convert_lab("sl-arm", tmp_path / "lab.toml")
    convert_lab("sl-arm", tmp_path / "lab.toml")  # the same again changes nothing
    (tmp_path / "lab.robot.toml").write_text("mine")
    before = (tmp_path / "lab.toml").read_bytes()
    with pytest.raises(InputError, match=r"lab\.robot\.toml.*exists already"):
        convert_lab("sl-arm", tmp_path / "lab.toml")
    assert (tmp_path / "lab.toml").read_bytes() == before
    convert_lab("sl-arm", tmp_path / "lab.toml", replace=True)
    assert lab_config(tmp_path).names == lab_config("sl-arm").names
    with pytest.raises(InputError, match="is a folder, and this is the name of a file"):
        convert_lab("sl-arm", tmp_path / "x.dyn", to="sl")
    assert convert_lab("sl-arm", tmp_path / "x.urdf").format == "urdf"


def test_commands_know_laboratories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = str(tmp_path / "mine.toml")
    assert main(["model", "new", "mine", "--template", "lab", "-o", mine]) == 0
    capsys.readouterr()
    assert main(["model", "check", mine, "--json"]) == 0
    facts = [(x["what"], x["is"]) for x in json.loads(capsys.readouterr().out)["facts"]]
    assert ("laboratory", "mine") in facts
    assert ("object", "floor: cube, contact damped-spring") in facts
    assert main(["model", "schema", "--lab"]) == 0
    assert "properties" in json.loads(capsys.readouterr().out)
    folder = tmp_path / "sl"
    assert main(["model", "convert", "sl-arm", str(folder)]) == 0
    (folder / "prefs" / "bad.sine").write_text("R_EB 4 0\n")
    assert main(["model", "check", str(folder)]) == 2
    assert "bad.sine:1: R_EB has 4 sines" in capsys.readouterr().err
    (folder / "prefs" / "bad.sine").unlink()
    links = folder / "config" / "LinkParametersSim.cf"
    links.write_text(links.read_text().replace("R_HR 1.6 ", "R_HR -1.6 "))
    assert main(["model", "check", str(folder)]) == 1
    assert "error: R_HR: its mass, -1.6 kg, is negative" in capsys.readouterr().err
    assert main(["model", "check", str(folder), "--repair", str(tmp_path / "better")]) == 0
    assert main(["model", "check", str(tmp_path / "better")]) == 0
    assert main(["model", "convert", "pendulum", str(tmp_path / "p.toml"), "--format", "lab"]) == 0
    assert lab_config(tmp_path / "p.toml").names == ("phi",)


@pytest.mark.parametrize(
    ("part", "key", "value", "message"),
    [
        ("", "method", "foo", "method: 'foo' is not one of"),
        ("", "substeps", 0, "substeps: it should be greater"),
        ("", "substeps", 2.0, "substeps: a whole number"),
        ("", "gravity", [0, 0], "gravity: has 2 numbers"),
        ("joints", "position_polarity", 0.5, "position_polarity: 0.5 is not 1 or -1"),
        ("joints", "max_effort", math.nan, "max_effort: nan is not a finite number"),
    ],
)
def test_what_no_file_may_have_is_not_written(
    part: str, key: str, value: Any, message: str, tmp_path: Path
) -> None:
    small = _small()
    change = {key: value}
    if part:
        change = {part: tuple(replace(x, **change) for x in getattr(small, part))}
    with pytest.raises(InputError, match=message):
        write_lab(replace(small, **change), tmp_path / "lab.toml")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("gravity", [0, 0, -1], "gravity = [0.0, 0.0, -1.0]"),
        ("gravity", np.array([0, 0, -1]), "gravity = [0.0, 0.0, -1.0]"),
        ("substeps", np.int64(3), "substeps = 3"),
        ("rate", np.float32(500), "rate = 500.0"),
        ("linear_sensor", 1, "linear_sensor = true"),
        ("linear_sensor", np.bool_(True), "linear_sensor = true"),
    ],
)
def test_lists_and_numbers_of_numpy_are_written_as_what_they_are(
    key: str, value: Any, line: str
) -> None:
    small = _small()
    change = {key: value}
    if key == "linear_sensor":
        change = {"joints": tuple(replace(x, **change) for x in small.joints)}
    assert line in lab_text(replace(small, **change), "a.urdf").splitlines()


def test_an_object_without_numbers_for_its_color_is_gray() -> None:
    (thing,) = parse_lab(f"{HEAD}{THING}color = []\n").objects
    assert thing.color == (0.5, 0.5, 0.5)
    with pytest.raises(InputError, match="color: has 2 numbers"):
        parse_lab(f"{HEAD}{THING}color = [0, 1]\n")
