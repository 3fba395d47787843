"""Tables of Denavit and Hartenberg's parameters against the products of their matrices."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from linkwright.base.errors import InputError
from linkwright.formats.dh import dh_text, parse_dh, read_dh
from linkwright.formats.robot.description import (
    Description,
    Link,
    LinkJoint,
    Mass,
    NamedFrame,
    Place,
)
from linkwright.formats.urdf import read_urdf
from linkwright.formats.urdf.origins import rpy_rotation
from tests.oracles.robot_walks import link_places, matrix
from tests.seeds import examples

ROBOTS = Path(__file__).resolve().parents[1] / "robots"


def _x(alpha: float, a: float) -> np.ndarray:
    c, s = math.cos(alpha), math.sin(alpha)
    return np.array([[1, 0, 0, a], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])


def _z(theta: float, d: float) -> np.ndarray:
    c, s = math.cos(theta), math.sin(theta)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, d], [0, 0, 0, 1]])


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_the_tool_is_where_the_matrices_lead(convention: str) -> None:
    """Random tables, revolute and prismatic, against the product of the table's own matrices."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        rows, q = [], {}
        at = np.eye(4)
        for k in range(5):
            theta, d, a, alpha = rng.uniform(-1.5, 1.5, 4)
            slides = bool(rng.integers(2))
            move = rng.uniform(-1, 1)
            kind = "prismatic" if slides else "revolute"
            rows.append(
                f'[[joint]]\ntype = "{kind}"\ntheta = {theta}\nd = {d}\na = {a}\nalpha = {alpha}\n'
            )
            q[f"joint{k + 1}"] = [move]
            z = _z(theta, d + move) if slides else _z(theta + move, d)
            x = _x(alpha, a)
            at = at @ (z @ x if convention == "standard" else x @ z)
        text = f'format = 1\nconvention = "{convention}"\n' + "".join(rows)
        robot = parse_dh(text)
        tool = robot.frames[-1]
        found = matrix(link_places(robot, q)[tool.link]) @ matrix(tool.place)
        np.testing.assert_allclose(found, at, atol=1e-13)


def test_a_table_says_all_of_its_robot() -> None:
    robot = read_dh(ROBOTS / "scara.toml")
    assert [joint.kind for joint in robot.joints] == ["revolute"] * 2 + ["prismatic", "revolute"]
    shoulder, elbow, quill, spin = robot.joints
    assert (shoulder.limits.lower, shoulder.limits.effort) == (-2.2, 40.0)
    assert elbow.limits.upper == pytest.approx(math.radians(140))
    assert quill.armature == pytest.approx(1e-5 * 300**2)
    assert (elbow.damping, spin.line) == (0.2, 47)
    upper = robot.link("upper_arm").mass
    assert upper is not None
    np.testing.assert_allclose(upper.center, (0.15, 0, 0.01), atol=1e-15)  # from the joint
    assert robot.link("spindle").mass == Mass(0.8, (0.0, 0.0, 0.1))
    places = link_places(robot, {"quill": [0.0]})
    tool = matrix(places["chuck"]) @ matrix(robot.frames[-1].place)
    np.testing.assert_allclose(tool[:3, 3], (0.6, 0, 0.25), atol=1e-15)
    np.testing.assert_allclose(tool[:3, 2], (0, 0, 1), atol=1e-15)


def _carried(robot: Description, q: dict[str, list[float]]) -> list[tuple[str, np.ndarray]]:
    """Return mass, mass center and inertia of each heavy link in the root's axes."""
    found = []
    for name, place in link_places(robot, q).items():
        mass = robot.link(name).mass
        if mass is None or name == robot.root:
            continue
        turn = np.array(place.rotation)
        xx, yy, zz, xy, yz, zx = mass.inertia
        inertia = turn @ np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]]) @ turn.T
        center = np.array(place.position) + turn @ np.array(mass.center)
        found.append((name, np.concatenate([[mass.mass], center, inertia.ravel()])))
    return sorted(found, key=lambda entry: entry[0])


def _moves_alike(robot: Description, other: Description, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    q = {joint.name: [rng.uniform(-2, 2)] for joint in robot.joints if joint.kind != "weld"}
    for one, two in zip(_carried(robot, q), _carried(other, q), strict=True):
        assert one[0] == two[0]
        np.testing.assert_allclose(one[1], two[1], atol=1e-12)


def test_a_written_chain_moves_its_masses_alike() -> None:
    """An arm with oblique axes, and a table in the other convention, through a table."""
    for robot in (read_urdf(ROBOTS / "oblique_arm.urdf"), read_dh(ROBOTS / "scara.toml")):
        written = dh_text(robot)
        other = parse_dh(written.text)
        _moves_alike(robot, other)
        for joint, same in zip(robot.joints, other.joints, strict=True):
            assert joint.limits == same.limits
            assert joint.damping == same.damping
            assert joint.armature == pytest.approx(same.armature)
        dropped = {entry.what for entry in written.dropped}
        assert ("shapes" in dropped) == (robot.name == "oblique_arm")


numbers = st.floats(-1, 1).map(lambda x: round(x, 3))
places = st.builds(
    lambda p, a: Place(p, rpy_rotation(*a)),
    st.tuples(numbers, numbers, numbers),
    st.tuples(*[st.sampled_from([0, math.pi / 2, -math.pi / 2, math.pi, 0.7])] * 3),
)
axes = st.sampled_from(
    [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (0.6, 0.0, 0.8), (0.48, 0.64, 0.6)]
)


@settings(max_examples=examples(60, daily=24), deadline=None)
@given(
    st.lists(
        st.tuples(places, axes, st.sampled_from(["revolute", "prismatic"])), min_size=1, max_size=5
    )
)
def test_every_chain_fits_in_a_table(
    parts: list[tuple[Place, tuple[float, float, float], str]],
) -> None:
    """Axes that are parallel, meet, coincide or are skew; masses move as before."""
    mass = Mass(1.5, (0.1, -0.2, 0.3), (0.3, 0.4, 0.5, 0.01, -0.02, 0.03))
    links = (Link("base"), *(Link(f"l{k}", mass) for k in range(len(parts))))
    joints = tuple(
        LinkJoint(f"j{k}", kind, links[k].name, links[k + 1].name, place, axis)
        for k, (place, axis, kind) in enumerate(parts)
    )
    tip = NamedFrame("tip", links[-1].name, Place((0.1, 0.2, 0.3)))
    robot = Description("r", links, joints, (tip,))
    other = parse_dh(dh_text(robot).text)
    _moves_alike(robot, other)
    ends = [
        matrix(link_places(one, {})[one.frames[-1].link]) @ matrix(one.frames[-1].place)
        for one in (robot, other)
    ]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)


def test_links_on_fixed_joints_are_joined() -> None:
    """A load welded to the tool is felt as part of the link that it hangs on."""
    load = Mass(2.0, (0.0, 0.0, 0.5), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    links = (Link("base"), Link("arm", Mass(1.0)), Link("load", load))
    joints = (
        LinkJoint("j", "revolute", "base", "arm"),
        LinkJoint("weld", "weld", "arm", "load", Place((1.0, 0.0, 0.0))),
    )
    written = dh_text(Description("r", links, joints))
    (arm,) = [link for link in parse_dh(written.text).links if link.name == "arm"]
    assert arm.mass is not None
    assert arm.mass.mass == 3.0
    center = np.array(arm.mass.center)
    assert np.linalg.norm(center[:2]) == pytest.approx(2 / 3)
    assert center[2] == pytest.approx(1 / 3)
    assert any("fixed joints" in entry.what for entry in written.dropped)


def test_what_is_no_chain_is_refused() -> None:
    with pytest.raises(InputError, match=r"holds one chain .* branches at joint"):
        dh_text(read_urdf(ROBOTS / "gripper.urdf"))
    with pytest.raises(InputError, match="joint 'floating_base' is of kind free"):
        dh_text(read_urdf(ROBOTS / "quadruped.urdf"))
    with pytest.raises(InputError, match="no joint that moves"):
        dh_text(Description("r", (Link("a"),), ()))


HEAD = 'format = 1\nconvention = "modified"\n'
FAULTS = {
    "no rows": (HEAD, "the key 'joint' is missing"),
    "an unknown convention": (
        'format = 1\nconvention = "craig"\n[[joint]]\n',
        "t.toml:2:14: convention: 'craig' is not one of",
    ),
    "an unknown key": (HEAD + "[[joint]]\nlength = 1\n", "joint[0].length: unknown key 'length'"),
    "an angle in words": (
        HEAD + '[[joint]]\nalpha = "right"\n',
        "t.toml:4:9: joint[0].alpha: 'right' is not an angle",
    ),
    "an angle over zero": (HEAD + '[[joint]]\nalpha = "pi/0"\n', "'pi/0' is not an angle"),
    "a length that is not finite": (HEAD + "[[joint]]\na = inf\n", "a finite number up to"),
    "a center of two numbers": (HEAD + "[[joint]]\ncenter = [1, 2]\n", "3 numbers in brackets"),
    "two links of one name": (
        HEAD + '[[joint]]\nlink = "a"\n[[joint]]\nlink = "a"\n',
        "t.toml:5: a second link is called 'a'",
    ),
    "a tool named like a link": (
        HEAD + '[[joint]]\nlink = "tool"\n',
        "both a frame and a link are called 'tool'",
    ),
    "another format": ('format = 2\nconvention = "modified"\n', "format 2 is not known"),
    "no TOML": ("format = \n", "this is not TOML"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_with_its_place(name: str) -> None:
    text, message = FAULTS[name]
    with pytest.raises(InputError) as caught:
        parse_dh(text, file="t.toml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("t.toml")
