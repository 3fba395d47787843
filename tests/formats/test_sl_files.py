"""SL files: the arm of the manual, its configuration, what is refused, and the way back to text.

Positions are held against closed forms and a chain of 4x4 matrices written here; link parameters
against the parallel-axis theorem in NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from linkwright.base.errors import Error, InputError
from linkwright.formats.robot.description import (
    Description,
    Link,
    LinkJoint,
    Mass,
    NamedFrame,
    Place,
    Triple,
)
from linkwright.formats.robot.transforms import turned
from linkwright.formats.sl import SlRobot, configuration_texts, dyn_text, read_dyn, read_sl
from linkwright.formats.sl.configuration import read_configuration, scene, servo_lists, table
from linkwright.formats.sl.header import without_comments
from linkwright.formats.sl.reader import sl_from_text
from linkwright.robots import Robot
from tests.seeds import examples

ARM = Path(__file__).parents[1] / "robots" / "sl_arm" / "arm.dyn"
UPPERARM, FOREARM = 0.287, 0.2781
SHOULDER = np.array((0.45, -0.20, 0.02))


def _turn(axis: str, angle: float) -> np.ndarray:
    """Return a 4x4 matrix that turns about x, y or z."""
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    found = np.eye(4)
    found[i, i] = found[j, j] = math.cos(angle)
    found[j, i] = math.sin(angle)
    found[i, j] = -math.sin(angle)
    return found


def _shift(x: float, y: float, z: float) -> np.ndarray:
    found = np.eye(4)
    found[:3, 3] = x, y, z
    return found


def _arm_by_hand(theta: np.ndarray) -> dict[str, np.ndarray]:
    """Return the places of the links of the sample arm, from its lists by hand."""
    quarter = math.pi / 2
    steps: list[tuple[str, Sequence[float], tuple[str, float]]] = [
        ("L_SFE", (0.45, -0.20, 0.02), ("x", -quarter)),
        ("L_SAA", (0, 0, 0), ("x", -quarter)),
        ("L_HR", (0, 0, 0), ("y", quarter)),
        ("L_EB", (0, 0, -UPPERARM), ("x", quarter)),
        ("L_WR", (0, 0, 0), ("x", -quarter)),
        ("L_WFE", (0, 0, -FOREARM), ("y", -quarter)),
        ("L_WAA", (0, 0, 0), ("x", quarter)),
        ("L_TL", (-0.02, -0.05, 0.03), ("x", -quarter)),
    ]
    where, places = np.eye(4), {}
    for (name, at, (axis, angle)), joint in zip(steps, theta, strict=True):
        where = where @ _shift(*at) @ _turn(axis, angle) @ _turn("z", joint)
        places[name] = where
    places["HAND"] = places["L_WAA"] @ _shift(0, 0.085, 0) @ _turn("y", -quarter)
    places["THUMB"] = places["L_TL"] @ _shift(-0.06, 0, 0) @ _turn("z", quarter)
    return places


def _matrix(place: Place) -> np.ndarray:
    found = np.eye(4)
    found[:3, :3] = place.rotation
    found[:3, 3] = place.position
    return found


def _places(description: Description, theta: Mapping[str, float]) -> dict[str, np.ndarray]:
    """Return the places of links and frames of a description with rotary and fixed joints."""
    found = {description.root: np.eye(4)}
    waiting = list(description.joints)
    while waiting:
        joint = waiting.pop(0)
        if joint.parent not in found:
            waiting.append(joint)
            continue
        inner = _matrix(joint.place)
        if joint.kind == "revolute":
            inner = inner @ _matrix(Place(rotation=turned(joint.axis, theta[joint.name])))
        found[joint.child] = found[joint.parent] @ inner
    for frame in description.frames:
        found[frame.name] = found[frame.link] @ _matrix(frame.place)
    return found


@pytest.fixture(scope="module")
def arm() -> SlRobot:
    return read_sl(ARM)


def test_sample_arm_has_eight_degrees_of_freedom_and_two_dummies(arm: SlRobot) -> None:
    assert list(arm.degrees) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert arm.dummies == {108: "HAND", 109: "THUMB"}
    assert [joint.kind for joint in arm.description.joints] == ["revolute"] * 8
    branches = [j.child for j in arm.description.joints if j.parent == "L_WAA"]
    ends = [f.name for f in arm.description.frames if f.link == "L_WAA"]
    assert branches == ["L_TL"]
    assert "HAND" in ends
    assert arm.end_effectors == ("HAND",)


def test_sample_arm_has_six_vertices_with_their_owners(arm: SlRobot) -> None:
    owners = [arm.degrees[k] for k in (1, 4, 6, 7, 8, 8)]
    assert [vertex.owner for vertex in arm.vertices] == owners
    assert [vertex.name for vertex in arm.vertices][:3] == ["L_SHOULDER", "L_ELBOW", "L_WRIST"]


def test_sample_arm_hangs_along_minus_x_at_zero(arm: SlRobot) -> None:
    places = _places(arm.description, dict.fromkeys(arm.degrees.values(), 0.0))
    np.testing.assert_allclose(places["L_SHOULDER"][:3, 3], SHOULDER, atol=1e-15)
    down = np.array([-1.0, 0.0, 0.0])
    np.testing.assert_allclose(places["L_ELBOW"][:3, 3], SHOULDER + UPPERARM * down, atol=1e-15)
    wrist = SHOULDER + (UPPERARM + FOREARM) * down
    np.testing.assert_allclose(places["L_WRIST"][:3, 3], wrist, atol=1e-15)


def test_links_of_the_sample_arm_are_where_its_lists_put_them(arm: SlRobot) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        theta = rng.uniform(-2, 2, 8)
        expected = _arm_by_hand(theta)
        places = _places(arm.description, dict(zip(arm.degrees.values(), theta, strict=True)))
        for name, where in expected.items():
            np.testing.assert_allclose(places[name], where, atol=1e-14)


def test_configuration_reaches_joints(arm: SlRobot) -> None:
    joints = {joint.name: joint for joint in arm.description.joints}
    limits = joints["L_EB"].limits
    assert (limits.lower, limits.upper, limits.effort) == (0.53, 2.25, 100.0)
    assert joints["L_SFE"].damping == 0.48858
    assert arm.configuration.gains["L_WAA"].velocity == 0.35
    assert arm.configuration.ranges["L_SAA"].default == -0.3
    assert arm.configuration.filters["L_TL"].load == 5
    assert arm.configuration.calibration["L_EB"].moment_arm == 0.03175
    assert arm.configuration.servos["vision_servo"] == ()
    assert len(arm.configuration.servos["task_sim_servo"]) == 8
    floor = arm.configuration.objects[0]
    assert (floor.name, floor.kind, floor.position) == ("floor", "cube", (0.0, 0.0, -1.3))
    assert len(arm.configuration.files) == 7


def test_inertia_about_the_origin_becomes_one_about_the_center(arm: SlRobot) -> None:
    row = arm.configuration.links["L_WAA"]
    mass = arm.description.link("L_WAA").mass
    assert mass is not None
    c = np.array([row.x, row.y, row.z]) / row.mass
    about = np.array(
        [[row.i11, row.i12, row.i13], [row.i12, row.i22, row.i23], [row.i13, row.i23, row.i33]]
    )
    expected = about - row.mass * (c @ c * np.eye(3) - np.outer(c, c))
    xx, yy, zz, xy, yz, zx = mass.inertia
    np.testing.assert_allclose([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]], expected, atol=1e-15)
    np.testing.assert_allclose(mass.center, c, atol=1e-15)


def test_what_cannot_be_held_is_said(arm: SlRobot) -> None:
    fakes = [link.name for link in arm.description.links if link.mass is None]
    assert fakes == ["BASE", "L_SAA", "L_EB", "L_WFE", "L_TL"]
    assert [entry.what for entry in arm.description.ignored] == ["mass times center of L_SFE"]


def test_an_end_effector_that_carries_a_load_is_a_link() -> None:
    text = ARM.read_text()
    header = (ARM.parent / "include" / "SL_user.h").read_text()
    loaded = sl_from_text(text, header=header, constants={"eff[1].m": 2.0, "eff[1].mcm[2]": 0.5})
    hand = loaded.description.link("HAND")
    assert hand.mass is not None
    assert (hand.mass.mass, hand.mass.center) == (2.0, (0.0, 0.25, 0.0))
    assert next(j.kind for j in loaded.description.joints if j.child == "HAND") == "weld"


def test_end_effectors_without_numbers_are_told() -> None:
    header = (ARM.parent / "include" / "SL_user.h").read_text()
    found = sl_from_text(ARM.read_text(), header=header).description.ignored
    assert {"end-effectors", "link parameters"} == {entry.what for entry in found}


def test_a_universal_joint_is_two_joints_of_sl(tmp_path: Path) -> None:
    two = (Link("a"), Link("b", Mass(1.0)))
    first, second = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    joint = LinkJoint("j", "universal", "a", "b", axis=first, second_axis=second)
    after = read_dyn(_save(tmp_path, Description("r", two, (joint,))))
    assert [(j.name, j.axis) for j in after.joints] == [
        ("j_1", first),
        ("j_2", second),
    ]
    assert [link.mass is None for link in after.links] == [True, True, False]


def test_the_file_with_plural_is_read_as_well(tmp_path: Path) -> None:
    (tmp_path / "SensorOffsets.cf").write_text("A 0 1 2 3 4 5")
    assert read_configuration([tmp_path], ["A"]).ranges["A"].offset == 5.0


@pytest.mark.parametrize(
    ("text", "names", "message"),
    [
        ("A 1 2", ["A", "B"], "no line for 'B'"),
        ("A 1\nB 1 2", ["A", "B"], "g.cf:2: after 'A' stand 1 values, then 'B'"),
        ("A 1 2 B 1", ["A", "B"], "after 'B' stand 1 values"),
        ("A nan 2", ["A"], "after 'A' stand 0 values, then 'nan'"),
    ],
)
def test_short_tables_are_refused(text: str, names: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        table(text, names, 2, "g.cf")


def test_tables_skip_what_stands_between() -> None:
    text = "/* a */ Note: the file is parsed */ B 3 // no\n A 1"
    assert table(text, ["A", "B"], 1) == {"A": (1.0,), "B": (3.0,)}


def test_many_comments_take_no_square_of_time() -> None:
    """Each search starts where the last comment ended; a search from there for both kinds of
    comments would make this hang."""
    text = "/* */" * 100_000 + " A"
    assert without_comments(text).split() == ["A"]
    assert len(without_comments(text)) == len(text)


def test_servos_and_objects_are_checked() -> None:
    with pytest.raises(InputError, match="no degree of freedom is called 'C'"):
        servo_lists("task_servo A C", ["A"])
    with pytest.raises(InputError, match="longer than 20"):
        scene("a" * 21)
    with pytest.raises(InputError, match="not a type of object"):
        scene("ball 3 " + "0 " * 23)


_ONE = (
    "{{jointID,{ID=1}},{jointAxis,{0,0,1}},{translation,{0,0,0}},"
    "{rotationMatrix,{0,0,0}},{successors,{}}}"
)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{0,0,1}", "{0,0,2}", "has the length 2"),
        ("{0,0,1}", "{0,1}", "needs three numbers"),
        ("successors,{}", "successors,{2}", "ID 2, which is not there"),
        ("successors,{}", "successors,{1}", "a loop cannot be written"),
        ("ID=1", "ID=x", "an entry has no number"),
        ("translation,{0,0,0}", "translation,{0,0,L}", "nothing says what 'L' is"),
        ("translation,{0,0,0}", "translation,{0,0,Foo[1]}", "function 'Foo' is not known"),
        ("translation,{0,0,0}", "translation,{0,0,1/0}", "has no value|cannot be read"),
        ("translation,{0,0,0}", "translation,{0,0,9^9^9^9}", "has no value|cannot be read"),
        ("rotationMatrix,{0,0,0}", "rotationMatrix,{{1,0,0},{0,1,0},{0,0,1}}", "give the angles"),
        ("}}", "}", "brace is not closed"),
        ("{{", "{(* {", "comment .* is not closed"),
        ("0,0,1", "0,_,1", "'_' has no meaning"),
    ],
)
def test_faults_are_named(old: str, new: str, message: str) -> None:
    assert old in _ONE
    with pytest.raises(InputError, match=message):
        sl_from_text(_ONE.replace(old, new, 1), file="a.dyn")


def test_twice_the_same_number_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match=r"a\.dyn:2: ID 1 is given twice, first in line 1"):
        sl_from_text(f"{_ONE}\n{_ONE}", file="a.dyn")


def test_unknown_keys_are_reported_once() -> None:
    text = _ONE.replace("{successors,{}}", "{successors,{}},{color,{1}}")
    assert [entry.what for entry in sl_from_text(text).description.ignored] == ["{color}"]


def test_expressions_have_the_meaning_of_mathematica() -> None:
    text = _ONE.replace("translation,{0,0,0}", "translation,{2 L, Sqrt[4]/8, 1.5*^-1 Cos[Pi/3]}")
    place = sl_from_text(text, constants={"L": 0.25}).description.joints[0].place
    np.testing.assert_allclose(place.position, (0.5, 0.25, 0.075), atol=1e-15)


def _triple(values: np.ndarray) -> Triple:
    x, y, z = (float(value) for value in values)
    return x, y, z


def _save(folder: Path, description: Description) -> Path:
    written = dyn_text(description)
    path = folder / "robot.dyn"
    path.write_text(written.text)
    for name, text in written.beside:
        target = folder / name
        target.parent.mkdir(exist_ok=True)
        target.write_text(text)
    return path


def test_a_description_survives_the_way_through_sl(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    links, joints = [Link("trunk")], []
    for k in range(12):
        kind = "weld" if k % 4 == 3 else "revolute"
        shape = rng.uniform(0.5, 1.0, 3)
        mass = Mass(
            float(rng.uniform(1, 2)),
            _triple(rng.uniform(-0.2, 0.2, 3)),
            (*_triple(shape), 0.01, -0.02, 0.03),
        )
        links.append(Link(f"l{k}", mass))
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        place = Place(
            _triple(rng.uniform(-0.5, 0.5, 3)),
            turned(_triple(rng.normal(size=3)), float(rng.uniform(-3, 3))),
        )
        parent = links[int(rng.integers(0, len(links) - 1))].name
        joints.append(LinkJoint(f"j{k}", kind, parent, f"l{k}", place, _triple(axis), damping=k))
    frame = NamedFrame("tool", "l5", Place((0.1, 0.2, 0.3), turned((1, 2, 3), 0.4)))
    before = Description("zoo", tuple(links), tuple(joints), (frame,))
    after = read_dyn(_save(tmp_path, before))
    theta = {f"j{k}": float(rng.uniform(-3, 3)) for k in range(12)}
    old, new = _places(before, theta), _places(after, theta)
    np.testing.assert_allclose(new["tool"], old["tool"], atol=1e-13)
    for joint in joints:
        np.testing.assert_allclose(new[joint.name], old[joint.child], atol=1e-13)
        a, b = before.link(joint.child).mass, after.link(joint.name).mass
        assert a is not None
        assert b is not None
        np.testing.assert_allclose(
            [a.mass, *a.center, *a.inertia], [b.mass, *b.center, *b.inertia], atol=1e-14
        )
    kept = {joint.name: joint for joint in after.joints}
    assert all(kept[j.name].damping == j.damping for j in joints if j.kind == "revolute")
    assert all(kept[j.name].limits.lower is None for j in joints)


def test_the_arm_survives_the_way_through_its_own_format(arm: SlRobot, tmp_path: Path) -> None:
    heavy = [link for link in arm.description.links if link.mass is not None]
    again = read_sl(_save(tmp_path, arm.description))
    for link in heavy:
        mass, other = link.mass, again.description.link(link.name).mass
        assert mass is not None
        assert other is not None
        np.testing.assert_allclose(mass.inertia, other.inertia, atol=1e-13)
    theta = {name: 0.3 * k for k, name in arm.degrees.items()}
    new, old = _places(again.description, theta), _places(arm.description, theta)
    np.testing.assert_allclose(new["L_THUMB"], old["L_THUMB"], atol=1e-14)


def test_configuration_survives_its_own_format(arm: SlRobot, tmp_path: Path) -> None:
    for name, text in configuration_texts(arm.configuration).items():
        (tmp_path / name).write_text(text)
    again = read_configuration([tmp_path], arm.degrees.values())
    for part in ("ranges", "gains", "filters", "links", "calibration", "servos", "objects"):
        assert getattr(again, part) == getattr(arm.configuration, part)


def test_a_sliding_joint_has_no_word_in_sl() -> None:
    two = (Link("a"), Link("b"))
    with pytest.raises(InputError, match="'j' is prismatic"):
        dyn_text(Description("r", two, (LinkJoint("j", "prismatic", "a", "b"),)))


_PIECES = st.sampled_from(
    [
        "{",
        "}",
        "{jointID,{ID=1}}",
        "{jointID,{ID=2}},",
        ",",
        "(*",
        "*)",
        "[[",
        "]]",
        "[",
        "]",
        "1",
        "Pi",
        "eff$1$$x",
        "-",
        "*0",
        "{successors,{1}}",
        '"links"',
        "^",
        "GenMassS",
        "{mass,",
        "{jointAxis,{0,0,1}},",
        "{inertia,",
        "é",
        ";",
        "=",
    ]
)


@settings(max_examples=examples(25, daily=10), deadline=None)
@given(st.lists(_PIECES, max_size=25).map("".join) | st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever is not a robot is an error of ours, never another exception."""
    try:
        sl_from_text(text, header=text)
    except Error:
        return


@settings(max_examples=examples(50, daily=20), deadline=None)
@given(st.integers(0, 10**6), st.binary(max_size=4), st.integers(0, 6))
def test_a_damaged_file_is_read_or_refused(at: int, junk: bytes, cut: int) -> None:
    data = ARM.read_bytes()
    at %= len(data)
    damaged = (data[:at] + junk + data[at + cut :]).decode("utf-8", "replace")
    header = (ARM.parent / "include" / "SL_user.h").read_text()
    try:
        sl_from_text(damaged, header=header)
    except Error:
        return


def test_kernels_put_the_vertices_of_the_arm_where_its_lists_do(arm: SlRobot) -> None:
    robot = Robot(arm.description)
    assert robot.coordinates == tuple(arm.degrees.values())
    theta = np.random.default_rng(2).uniform(-1, 1, 8)
    expected = _arm_by_hand(theta)
    links = ("L_SFE", "L_EB", "L_WFE", "HAND", "L_TL", "THUMB")
    for vertex, name in zip(arm.vertices, links, strict=True):
        np.testing.assert_allclose(
            robot.position(theta, vertex.name), expected[name][:3, 3], atol=1e-14
        )


def test_a_base_that_floats_is_number_zero(tmp_path: Path) -> None:
    heavy = Mass(2.0, (0.1, 0.0, 0.0), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    links = (Link("world"), Link("trunk", heavy), Link("leg", heavy))
    joints = (
        LinkJoint("root", "free", "world", "trunk"),
        LinkJoint("hip", "revolute", "trunk", "leg", Place((0.0, 0.0, -0.1))),
    )
    after = read_sl(_save(tmp_path, Description("hopper", links, joints)))
    assert after.description.root == "BASE"
    mass = after.description.link("BASE").mass
    assert mass is not None
    np.testing.assert_allclose((mass.mass, *mass.center), (2.0, 0.1, 0.0, 0.0), atol=1e-15)
    assert Robot(after.description, base="free").coordinates[-1] == "hip"
