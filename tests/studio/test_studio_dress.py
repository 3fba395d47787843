"""Scene files: ROBSIM's vertices, places of shapes, what is replaced, and what errors say.

The vertices are held against the formulas of ROBSIM's digest, section 3.9, written out here; the
places against SciPy's rotations.
"""

from __future__ import annotations

import json
import math
import time
from itertools import product as every
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.formats.robot.description import Description, Link, LinkJoint, LinkShape, Place
from linkwright.formats.robot.transforms import turned
from linkwright.pages.page import write_page
from linkwright.scene.motions import model_motion, open_motion
from linkwright.scene.scene import Scene, scene_of
from linkwright.scene.scene_file import parse_scene_file
from linkwright.scene.scene_tables import SHAPES, SceneTable
from linkwright.scene.solids import AT_HOME, Solid, surfaces_of
from linkwright.scene.viewpoint import ground_and_view
from linkwright.scene.wireframes import OUTLINES, Outline
from linkwright.studio.server import open_studio
from tests.support.chromium import opened

Array = NDArray[np.float64]
Corners = set[tuple[float, float, float]]
ROBOTS = Path(__file__).parents[1] / "robots"
STL = """solid s
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid s
"""


# -- vertices --------------------------------------------------------------------------------------
def circle(x: float, radius: float, count: int = 8) -> list[tuple[float, float, float]]:
    """Return a ring by the digest's formula for OBJECT and CYL."""
    turns = [2 * math.pi * k / count for k in range(count)]
    return [(x, radius * math.cos(a), radius * math.sin(a)) for a in turns]


def rect(x0: float, y0: float, near: tuple[float, float], far: tuple[float, float]) -> Corners:
    """Return the corners by the digest's formula for RECT."""
    ends = every((0.0,), (-y0, y0), near), every((x0,), (-y0, y0), far)
    return {corner for end in ends for corner in end}


def corners(outline: Outline) -> set[tuple[float, ...]]:
    """Return the vertices as a set."""
    return {tuple(map(float, v)) for v in outline.vertices}


def test_vertices_of_cylinder_and_cone() -> None:
    found = OUTLINES["x-cylinder"](0.6, 2.0)
    np.testing.assert_allclose(found.vertices, circle(0, 0.3) + circle(2.0, 0.3), atol=1e-15)
    cone = OUTLINES["x-cone"](0.6, 0.2, 2.0)
    np.testing.assert_allclose(cone.vertices, circle(0, 0.3) + circle(2.0, 0.1), atol=1e-15)
    assert found.counts == cone.counts == (18, 16)


def test_vertices_of_box_and_trapezoids() -> None:
    box = OUTLINES["x-box"](2.0, 0.5, 0.3)
    assert corners(box) == rect(2.0, 0.5, (-0.3, 0.3), (-0.3, 0.3))
    even = OUTLINES["trapezoid"](2.0, 0.5, 0.3, 0.1)
    assert corners(even) == rect(2.0, 0.5, (-0.3, 0.3), (-0.1, 0.1))
    uneven = OUTLINES["half-trapezoid"](2.0, 0.5, 0.3, 0.1)
    assert corners(uneven) == rect(2.0, 0.5, (0.0, -0.3), (0.0, -0.1))
    assert box.counts == even.counts == uneven.counts == (10, 8)


def test_vertices_and_lines_of_the_truss() -> None:
    t, bay, bays = 0.4, 0.5, 3
    found = OUTLINES["truss"](t, bay, bays)
    triangle = [(-t / 2, 0.0), (t / 2, 0.0), (0.0, -t)]
    expected = [(j * bay, y, z) for j in range(bays + 1) for y, z in triangle]
    np.testing.assert_allclose(found.vertices, expected, atol=1e-15)
    assert found.counts == (4 * (bays + 1), 6)
    long = [[(0.0, y, z), (bays * bay, y, z)] for y, z in triangle]
    np.testing.assert_allclose(found.sides, long, atol=1e-15)


@pytest.mark.parametrize("kind", ["x-box", "trapezoid", "half-trapezoid"])
def test_edges_of_a_box_are_its_twelve(kind: str) -> None:
    numbers = (2.0, 0.5, 0.3, 0.1)[: 3 if kind == "x-box" else 4]
    edges = {frozenset(map(tuple, edge.tolist())) for edge in OUTLINES[kind](*numbers).edges}
    assert len(edges) == 12
    for a, b in map(tuple, edges):  # neighbors differ in x, in y, or in the sign of z
        assert (a[0] != b[0]) + (a[1] != b[1]) + (a[0] == b[0] and a[2] != b[2]) == 1


@pytest.mark.parametrize("kind", sorted(set(OUTLINES) - {"truss"}))
def test_solids_have_exactly_these_vertices(kind: str) -> None:
    numbers = {"x-cylinder": (0.6, 2.0), "x-cone": (0.6, 0.2, 2.0), "x-box": (2.0, 0.5, 0.3)}
    size = numbers.get(kind, (2.0, 0.5, 0.3, 0.1))
    (surface,) = surfaces_of([Solid(kind, size)])
    found = np.unique(surface.points.round(12), axis=0)
    np.testing.assert_allclose(
        found, np.unique(OUTLINES[kind](*size).vertices.round(12), axis=0), atol=1e-12
    )


# -- places ----------------------------------------------------------------------------------------
def decorated(text: str, model: str = "double-pendulum") -> Scene:
    """Return the scene of a model in a scene_file."""
    return scene_of(lw.load(model)).decorated(parse_scene_file(text, file="cell.toml"))


ANGLES = st.floats(-720, 720)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("xyz"), ANGLES), max_size=5), st.integers(0, 2**32 - 1))
def test_orient_turns_first_and_moves_then(turns: list[tuple[str, float]], seed: int) -> None:
    t = np.random.default_rng(seed).normal(size=3)
    listed = [[axis, degrees] for axis, degrees in turns]
    text = f"""format = 1
[[section]]
body = "upper"
[[section.shape]]
kind = "trapezoid"
length = 2.0
half_width = 0.5
half_height = 0.3
end_half_height = 0.1
at = {t.tolist()}
turn = {listed}
"""
    scene = decorated(text.replace("'", '"'))
    (solid,) = scene.nodes[1].solids
    whole = Rotation.identity()
    for axis, degrees in turns:  # about moving axes: each one multiplied on the right
        whole = whole * Rotation.from_euler(axis, degrees, degrees=True)
    plain = OUTLINES["trapezoid"](2.0, 0.5, 0.3, 0.1).vertices
    (surface,) = surfaces_of([solid])
    expected = whole.apply(plain) + t
    for vertex in expected:
        assert np.linalg.norm(surface.points - vertex, axis=1).min() < 1e-9


def test_start_and_end_lay_a_shape_between_points() -> None:
    text = """format = 1
unit = "mm"
[[section]]
body = "upper"
shape = [
  { kind = "x-cylinder", diameter = 100, start = [100, 200, 300], end = [100, -400, 300] },
  { kind = "cylinder", radius = 50, start = [100, 200, 300], end = [100, -400, 300] },
]
"""
    for solid in decorated(text).nodes[1].solids:
        (surface,) = surfaces_of([solid])
        assert surface.points[:, 1].max() == pytest.approx(0.2)
        assert surface.points[:, 1].min() == pytest.approx(-0.4)
        middle = (surface.points.max(axis=0) + surface.points.min(axis=0)) / 2
        np.testing.assert_allclose(middle, [0.1, -0.1, 0.3], atol=1e-9)


def test_a_section_replaces_what_is_drawn_and_others_stay() -> None:
    before = scene_of(lw.load("double-pendulum"))
    text = """format = 1
[[section]]
body = "upper"
shape = [{ kind = "sphere", radius = 0.1, repeat = { count = 3, by = [0, -0.25, 0] } }]
"""
    after = decorated(text)
    assert [s.place.position[1] for s in after.nodes[1].solids] == [0.0, -0.25, -0.5]
    assert after.nodes[2].solids == before.nodes[2].solids
    assert before.nodes[1].solids[0].kind != "sphere"
    kept = decorated(text.replace("shape =", "keep = true\nshape ="))
    assert len(kept.nodes[1].solids) == len(before.nodes[1].solids) + 3


def arm(base: Place = AT_HOME) -> Description:
    """Return a robot whose base is fixed to the ground, with a hand fixed to its only link."""
    box = LinkShape("box", (0.1, 0.1, 0.1))
    shapes = {"world": (), "base": (box,), "arm": (box, box), "hand": (box,)}
    links = tuple(Link(name, None, each) for name, each in shapes.items())
    joints = (
        LinkJoint("mount", "weld", "world", "base", base),
        LinkJoint("q", "revolute", "base", "arm", Place((0.0, 0.0, 1.0))),
        LinkJoint("wrist", "weld", "arm", "hand", Place((0.5, 0.0, 0.0))),
    )
    return Description("arm", links, joints)


def test_a_link_that_is_fixed_to_another_is_dressed_alone() -> None:
    text = """format = 1
[[section]]
body = "hand"
shape = [{ kind = "sphere", radius = 0.1, at = [0.1, 0, 0] }]
"""
    scene = scene_of(arm(), scene_file=parse_scene_file(text))
    node = scene.nodes[scene.index("arm")]
    assert [s.kind for s in node.solids] == ["box", "box", "sphere"]
    assert node.solids[-1].place.position == pytest.approx((0.6, 0.0, 0.0))


def test_environment_moves_with_the_base() -> None:
    text = """format = 1
[[environment]]
name = "table"
within = "base"
at = [1, 0, 0]
shape = [{ kind = "box", size = [1, 1, 0.1] }]
[[environment]]
name = "wall"
at = [0, 2, 0]
shape = [{ kind = "x-box", length = 1, half_width = 0.1, half_height = 1 }]
"""
    there = Place((3.0, 4.0, 0.0), turned((0, 0, 1), math.pi / 2))
    for base, table in ((Place(), (1.0, 0.0, 0.0)), (there, (3.0, 5.0, 0.0))):
        scene = scene_of(arm(base), scene_file=parse_scene_file(text))
        where = scene.poses([0.7]).poses
        np.testing.assert_allclose(where[scene.index("table"), :3], table, atol=1e-12)
        np.testing.assert_allclose(where[scene.index("wall"), :3], (0, 2, 0), atol=1e-12)
        assert [n.name for n in scene.nodes if n.environment] == ["table", "wall"]
        np.testing.assert_allclose(scene.poses([0.0]).poses[-2:], where[-2:], atol=1e-12)


def test_tool_axes_are_twice_the_radius_of_the_last_link() -> None:
    text = """format = 1
[tool]
body = "lower"
at = [0, -1, 0]
[[section]]
body = "lower"
shape = [{ kind = "x-cylinder", diameter = 0.08, length = 1, turn = [["z", -90]] }]
"""
    scene = decorated(text)
    axes = scene.nodes[2].solids[1:]
    points = np.concatenate([s.points for s in surfaces_of(axes)]) - [0, -1, 0]
    np.testing.assert_allclose(points.max(axis=0), [0.08, 0.08, 0.08], atol=1e-12)


def test_what_stands_around_is_in_view_where_it_is_near_and_carries_the_ground() -> None:
    text = """format = 1
[[environment]]
name = "NAME"
at = [0, -3, 0]
shape = [{ kind = "box", size = [1, 1, 1] }, { kind = "box", size = [1, 1, 1], at = [200, 0, 0] }]
"""
    bare = scene_of(lw.load("double-pendulum"))
    motion = model_motion(bare)
    plain_floor, plain = ground_and_view(motion, bare)
    scene = decorated(text)
    floor, view = ground_and_view(model_motion(scene), scene)
    assert plain_floor is not None
    assert floor == pytest.approx(-3.5)
    assert plain_floor > -3.5
    assert view["radius"] < 2 * plain["radius"]


# -- errors ----------------------------------------------------------------------------------------
WRONG = {
    '[[section]]\nbody = "uper"\n': (
        "cell.toml:3:8: section[0].body: 'double-pendulum' has no body or frame 'uper'; "
        "did you mean 'upper'?"
    ),
    '[[section]]\nbody = "upper"\nshape = [{ kind = "sphere" }]\n': (
        "cell.toml:4:10: section[0].shape[0]: a sphere needs 'radius'; add radius = ..."
    ),
    '[[section]]\nbody = "upper"\nshape = [{ kind = "sphere", radius = 1, length = 2 }]\n': (
        "cell.toml:4:41: section[0].shape[0].length: a sphere has no 'length'; it has radius"
    ),
    '[[section]]\nbody = "upper"\nshape = [{ kind = "sphere", radius = -1 }]\n': (
        "cell.toml:4:38: section[0].shape[0].radius: a number above 0 is needed here"
    ),
    '[[section]]\nbody = "upper"\nshape = [{ kind = "sphere", turn = [["w", 90]] }]\n': (
        "cell.toml:4:36: section[0].shape[0].turn: turns are needed here, such as "
        '[["x", 90], ["z", 30]], in degrees'
    ),
    '[[section]]\nbody = "upper"\n[[section]]\nbody = "upper"\n': (
        "cell.toml:5:8: section[1].body: 'upper' has a section already; put all its shapes into one"
    ),
    '[[environment]]\nname = "upper"\nshape = [{ kind = "sphere", radius = 1 }]\n': (
        "cell.toml:3:8: environment[0].name: 'upper' is there already; give it another name"
    ),
    '[[environment]]\nname = "x"\nshape = [{ kind = "box", size = [1, 1, 1], wire = true }]\n': (
        "cell.toml:4:51: environment[0].shape[0].wire: a box has no wire frame; use one of "
        + ", ".join(OUTLINES)
    ),
    '[[environment]]\nname = "x"\nshape = [{ kind = "sphere", radius = 1, color = "mauve" }]\n': (
        "cell.toml:4:49: environment[0].shape[0].color: a color is needed here"
    ),
    '[[environment]]\nname = "x"\nshape = [{ kind = "mesh", file = "../../etc/passwd" }]\n': (
        "cell.toml:4:34: environment[0].shape[0].file: the mesh '../../etc/passwd' lies outside"
    ),
    '[[environment]]\nname = "x"\nshape = []\n': "cell.toml:4:9: environment[0].shape: ",
    '[tool]\nbody = "lower"\n[[section]]\nbody = "lower"\n': (
        "cell.toml:2:1: tool: 'lower' has no round shape to size the axes by; add length = ..."
    ),
}


@pytest.mark.parametrize("text", list(WRONG))
def test_errors_name_file_place_and_remedy(text: str) -> None:
    with pytest.raises(InputError) as caught:
        decorated("format = 1\n" + text)
    assert str(caught.value).startswith(WRONG[text])


def test_every_kind_of_shape_can_be_drawn(tmp_path: Path) -> None:
    (tmp_path / "part.stl").write_text(STL)
    numbers = {
        "size": [1, 1, 1],
        "radii": [1, 2, 3],
        "points": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
        "bays": 3,
    }
    for name, kind in SHAPES.items():
        keys = "\n".join(f"{key} = {numbers.get(key, 0.5)}" for key in kind.needs if key != "file")
        keys += '\nfile = "part.stl"' if name == "mesh" else ""
        file = tmp_path / "cell.toml"
        file.write_text(
            f'format = 1\n[[section]]\nbody = "rod"\n[[section.shape]]\nkind = "{name}"\n{keys}'
        )
        scene = scene_of(lw.load("pendulum"), scene_file=file)
        assert scene.surfaces[1][0].points.size > 0


def test_the_command_dresses_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.html"
    assert main(["page", "stanford-arm", "--scene", "work-cell", "-o", str(out)]) == 0
    assert '"name":"table"' in out.read_text()
    assert main(["page", "stanford-arm", "--scene", "no-such-cell", "--force", "-o", str(out)]) == 2
    assert "name a file, or one of" in capsys.readouterr().err


# -- what robot files have around them -------------------------------------------------------------
ROOM = """<mujoco model="room"><worldbody>
<geom name="floor" type="plane" size="0 0 1" pos="0 0 -0.2"/>
<geom type="box" size="0.05 2 1" pos="-1.5 0 0.8"/>
<geom type="box" size="0.5 0.5 5" pos="40 0 0"/>
<body name="table" pos="0.8 0 0"><geom type="box" size="0.3 0.5 0.02" pos="0 0 0.2"/></body>
<body name="foot"><geom type="box" size="0.1 0.1 0.05"/>
  <body name="arm" pos="0 0 0.1"><joint name="swing" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 0.8" size="0.05"/></body></body>
</worldbody></mujoco>"""


def test_the_world_of_a_file_stands_around_its_robot(tmp_path: Path) -> None:
    (tmp_path / "room.xml").write_text(ROOM)
    scene = scene_of(lw.load(tmp_path / "room.xml"))
    around = {n.name: len(n.solids) for n in scene.nodes if n.environment}
    assert around == {"world": 2, "table": 1}
    assert [s.link for s in scene.nodes[0].solids] == ["foot"]
    assert scene.floor == pytest.approx(-0.2)
    _, view = ground_and_view(model_motion(scene), scene)
    assert view["radius"] < 3  # what is 40 m away is drawn, and not in view


def test_an_arm_has_a_tool_with_axes_twice_as_long_as_it_is_thick() -> None:
    scene = scene_of(lw.load(ROBOTS / "scara.toml"))
    chuck = scene.nodes[scene.index("chuck")]
    rod = next(s for s in chuck.solids if s.kind == "capsule")
    tool = next(f for f in scene.frames if f.name == "tool")
    axes = surfaces_of(chuck.solids[-7:])
    turn = np.array(tool.place.rotation)
    points = (np.concatenate([s.points for s in axes]) - tool.place.position) @ turn
    np.testing.assert_allclose(points.max(axis=0), 3 * [2 * rod.size[0]], rtol=1e-9)
    # the last link reaches the tool
    assert rod.place.position[2] + rod.size[1] / 2 == pytest.approx(0.05)


# -- replay ----------------------------------------------------------------------------------------
EXAMPLE = Path(__file__).parents[2] / "examples" / "ref6"
V2 = [20.0, 40.0, 50.0, -30.0, 25.0, 15.0]


def test_the_six_joint_arm_is_that_of_robsim() -> None:
    robot = lw.Robot(lw.load("ref6"))
    pose = robot.pose(np.radians(V2), "tool")
    inches = [-23.2368409096, 52.5128722288, -51.4861643659]
    np.testing.assert_allclose(pose[:3, 3] / 0.0254, inches, atol=1e-8)
    np.testing.assert_allclose(pose[:3, 0], [-0.6655779362, 0.4531538935, -0.5930072172], atol=1e-9)


def test_a_table_in_degrees_moves_the_arm_frame_by_frame() -> None:
    model, bay = "ref6", EXAMPLE / "bay.toml"
    motion = open_motion(str(EXAMPLE / "angles.csv"), model=model, scene_file=bay)
    rows = np.loadtxt(EXAMPLE / "angles.csv", delimiter=",", skiprows=1)
    assert motion.scene is not None
    assert motion.q is not None
    assert motion.notes == ()
    np.testing.assert_allclose(np.degrees(motion.q), rows[:, 1:], atol=1e-9)
    np.testing.assert_allclose(motion.recording.times, rows[:, 0])
    k = int(np.flatnonzero(rows[:, 0] == 2.0)[0])
    np.testing.assert_allclose(rows[k, 1:], V2)
    tool = next(f for f in motion.scene.frames if f.name == "tool")
    pose = motion.scene.poses(motion.q[k]).poses[tool.node]
    x, y, z, w = pose[[4, 5, 6, 3]]
    at = pose[:3] + Rotation.from_quat([x, y, z, w]).apply(tool.place.position)
    expected = [-23.2368409096, 52.5128722288, -51.4861643659]
    np.testing.assert_allclose(at / 0.0254, expected, atol=1e-6)
    assert {"table", "gantry"} <= {n.name for n in motion.scene.nodes if n.environment}


def test_other_ways_to_write_a_table(tmp_path: Path) -> None:
    file = tmp_path / "run.csv"
    file.write_text("n;phi1 (deg);time (ms);phi2\n0;45;0;0.5\n1;90;500;\n2;180;1000;1.5\n")
    motion = open_motion(str(file), model="double-pendulum")
    assert motion.q is not None
    np.testing.assert_allclose(motion.recording.times, [0, 0.5, 1])
    quarter = [np.pi / 4, 0.5]  # held where a cell is empty
    np.testing.assert_allclose(motion.q, [quarter, quarter, [np.pi, 1.5]])
    assert any("not finite" in note for note in motion.notes)


def test_parquet_files_of_others_move_a_model_too(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"phi2": [0.1, 0.2], "time [ms]": [0.0, 20.0], "phi1 [deg]": [0.0, 90.0]}
    parquet.write_table(pa.table(columns), tmp_path / "run.parquet")
    motion = open_motion(str(tmp_path / "run.parquet"), model="double-pendulum")
    assert motion.q is not None
    np.testing.assert_allclose(motion.recording.times, [0, 0.02])
    np.testing.assert_allclose(motion.q, [[0, 0.1], [np.pi / 2, 0.2]])


TABLES = {
    "time,a,b\n0,1,2\n": (
        "run.csv: no channel is a coordinate of 'double-pendulum', which has phi1, phi2; there are "
        "a, b; name the columns after the coordinates, or name another model"
    ),
    "time,phi1 [V]\n0,1\n": "run.csv: 'phi1' is in 'V', which is not a unit for 'phi1' (rad)",
    "0,1,2\n1,2,3\n": "the first line holds numbers, not the names of the columns; write a line",
    "time [day],phi1\n0,1\n": "'day' is not a unit of time; use one of s, sec, ms",
}


@pytest.mark.parametrize("text", list(TABLES))
def test_tables_that_do_not_fit_are_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        open_motion(str(tmp_path / "run.csv"), model="double-pendulum")
    assert TABLES[text] in str(caught.value)


def test_a_column_that_is_nearly_right_is_pointed_at(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("time,phi1,Phi_2\n0,1,2\n1,1,2\n")
    motion = open_motion(str(tmp_path / "run.csv"), model="double-pendulum")
    assert "phi2 (is it 'Phi_2'?)" in motion.notes[0]


def test_python_takes_a_dress_too(tmp_path: Path) -> None:
    run = lw.simulate(lw.load("double-pendulum"), 0.1, step=0.01)
    (tmp_path / "cell.toml").write_text(TABLE)
    run.page(tmp_path / "run.html", scene=tmp_path / "cell.toml")
    assert '"name":"table"' in (tmp_path / "run.html").read_text()


def test_copies_are_bounded() -> None:
    text = """format = 1
[[environment]]
name = "x"
repeat = { count = 1000, by = [1, 0, 0] }
shape = [{ kind = "sphere", radius = 1, repeat = { count = 1000, by = [0, 1, 0] } }]
"""
    with pytest.raises(InputError, match="more than 5000 shapes are too many"):
        decorated(text)


# -- in the browser --------------------------------------------------------------------------------
TABLE = """format = 1
[[environment]]
name = "table"
at = [0, -2.5, 0]
shape = [{ kind = "box", size = [4, 0.2, 2], color = "#20c040" }]
[[point]]
name = "pin"
within = "lower"
at = [0, -1, 0]
"""


ON_THE_TABLE = """() => {
const box = document.getElementById("view").getBoundingClientRect(), m = camera(studio).camera;
const p = [0.3, 0.3, -2.4], at = (i) => m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i];
return [box.left + (0.5 + at(0) / at(3) / 2) * box.width,
  box.top + (0.5 - at(1) / at(3) / 2) * box.height]; }"""


def test_a_page_names_points_and_what_stands_around(tmp_path: Path) -> None:
    (tmp_path / "cell.toml").write_text(TABLE)
    file = tmp_path / "page.html"
    write_page(file, [open_motion("double-pendulum", scene_file=tmp_path / "cell.toml")])
    with opened(file, drawn=True, offline=True, width=700, height=500) as (page, wrong):
        page.wait_for_selector("html[data-ready=yes]")
        label = page.locator("#labels span")
        assert label.inner_text() == "pin"
        before = label.get_attribute("style")
        page.fill("#scrub", "0.3")
        page.wait_for_function(  # it goes along with the point
            "(was) => document.querySelector('#labels span').getAttribute('style') !== was",
            arg=before,
        )
        page.mouse.click(*page.evaluate(ON_THE_TABLE))
        page.wait_for_function("document.getElementById('chip').innerText.startsWith('table env')")
        assert len(page.evaluate("draws(studio).filter((d) => studio.nodes[d.node].around)")) == 1
        page.keyboard.press("u")
        assert page.evaluate("draws(studio).filter((d) => studio.nodes[d.node].around)") == []
        page.keyboard.press("n")
        label.wait_for(state="hidden")
        assert wrong == []


def test_the_studio_puts_a_dress_on_again_when_it_is_saved(tmp_path: Path) -> None:
    file = tmp_path / "cell.toml"
    file.write_text(TABLE)
    studio = open_studio(["double-pendulum"], scene_file=file)
    try:
        scene_watch, stage = studio.scene_watch, studio.stage
        assert stage is not None
        assert (32, 192, 64) in [mesh.color for _, mesh in stage.meshes]
        with opened(studio.address, drawn=True, width=700, height=500) as (page, wrong):
            page.wait_for_function("document.body.innerText.includes('Speed')")
            second = TABLE.replace("#20c040", "#c02040")
            file.write_text(second + "[ground]\nheight = -3\n")
            end = time.monotonic() + 30
            while studio.grid.position[2] != pytest.approx(-3):  # what is done last
                assert time.monotonic() < end
                time.sleep(0.05)
            colors = [mesh.color for _, mesh in stage.meshes]
            assert (192, 32, 64) in colors
            assert (32, 192, 64) not in colors
            stage.set_around(False)
            assert [thing.visible for thing in stage.things] == [False]
            file.write_text(second.replace("size", "sise"))
            page.wait_for_function("document.body.innerText.includes(\"unknown key 'sise'\")")
            assert [mesh.color for _, mesh in stage.meshes] == colors
            assert scene_watch is not None
            assert not scene_watch.look()
            file.write_text(second)  # a mistake is told until it is mended
            page.wait_for_function("!document.body.innerText.includes(\"unknown key 'sise'\")")
            assert wrong == []
    finally:
        studio.close()


def test_the_schema_for_editors_knows_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "schema", "--scene"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told["properties"]) == set(SceneTable.model_fields)
    assert told["$defs"]["SceneShape"]["properties"]["kind"]["enum"] == list(SHAPES)
