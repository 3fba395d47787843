"""Shapes that bodies are given in Python and in text models: exactly these are drawn."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.algebra.printers import text
from linkwright.base.errors import Error
from linkwright.formats.text.document import parse_model
from linkwright.mechanism.shapes import COLORS, Box, Capsule, Cylinder, Mesh, Shape, Sphere
from linkwright.scene.scene import Scene, scene_of
from linkwright.scene.solids import Solid

STL = """solid t
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 2 0
endloop
endfacet
endsolid t
"""


def _mechanism(tmp_path: Path) -> lw.Mechanism:
    (tmp_path / "part.stl").write_text(STL)
    m = lw.Mechanism("dressed")
    m.parameter("L", 0.8, unit="m")
    rod = m.body(
        "rod",
        rotate="z",
        mass=1,
        com=("L/2", 0, 0),
        inertia=0.1,
        shape=[
            Box(("L", 0.04, 0.06), at=("L/2", 0, 0), color="gold"),
            Cylinder(0.03, 0.2, turn=("x", "90 deg"), color="#ff0000"),
            Capsule("L/10", 0.3, at=(0, 0, 0.1), turn=[("z", "90 deg"), ("y", 0.5)]),
        ],
    )
    m.body("ball", parent=rod, joint=lw.Universal("x", "y"), at=("L", 0, 0), mass=1, inertia=1,
           shape=Sphere(0.1, color=(0, 0, 1, 0.5)))  # fmt: skip
    m.body("plain", translate="x", mass=1, inertia=1)
    m.shape(None, Mesh(tmp_path / "part.stl", scale=0.1, at=(1, 2, 3)))
    m.gravity(along="-y")
    return m


def _solids(scene: Scene, name: str) -> tuple[Solid, ...]:
    return scene.nodes[scene.index(name)].solids


def test_a_scene_has_exactly_the_shapes_that_were_given(tmp_path: Path) -> None:
    m = _mechanism(tmp_path)
    bare = scene_of(_without(m))
    for values, long in (({}, 0.8), ({"L": 1.5}, 1.5)):
        scene = scene_of(m).with_parameters(values)
        assert scene.notes == ()
        box, cylinder, capsule = _solids(scene, "rod")
        assert (box.kind, box.size, box.color) == ("box", (long, 0.04, 0.06), COLORS["gold"])
        assert box.place.position == (long / 2, 0, 0)
        assert (cylinder.kind, cylinder.size) == ("cylinder", (0.03, 0.2))
        assert cylinder.color == (1, 0, 0, 1)
        np.testing.assert_allclose(cylinder.place.rotation, [[1, 0, 0], [0, 0, -1], [0, 1, 0]])
        assert capsule.size == pytest.approx((long / 10, 0.3))
        c, s = np.cos(0.5), np.sin(0.5)  # first about z, then about its own y
        np.testing.assert_allclose(
            capsule.place.rotation, [[0, -1, 0], [c, 0, s], [-s, 0, c]], atol=1e-15
        )
        (ball,) = _solids(scene, "ball")
        assert (ball.kind, ball.size, ball.color) == ("sphere", (0.1,), (0, 0, 1, 0.5))
        (ground,) = _solids(scene, "ground")
        assert (ground.file, ground.scale) == (tmp_path / "part.stl", (0.1, 0.1, 0.1))
        points = scene.surfaces[scene.index("ground")][0].points
        np.testing.assert_allclose(points.max(axis=0), [1.1, 2.2, 3])
        assert _solids(scene, "plain") == _solids(bare.with_parameters(values), "plain")


def _without(m: lw.Mechanism) -> lw.Mechanism:
    bare = parse_model(lw.write_model(m)).build()
    bare.shapes.clear()
    return bare


def test_text_models_and_recordings_keep_shapes(tmp_path: Path) -> None:
    m = _mechanism(tmp_path)
    file = tmp_path / "dressed.toml"
    file.write_text(lw.write_model(m))
    again = lw.load(file)
    assert lw.write_model(again) == file.read_text()
    for name, shapes in m.shapes.items():
        for one, other in zip(shapes, again.shapes[name], strict=True):
            assert one.kind == other.kind
            assert [text(x) for x in one.values()] == [text(x) for x in other.values()]
    drawn, redrawn = scene_of(m), scene_of(again)
    assert [len(n.solids) for n in drawn.nodes] == [len(n.solids) for n in redrawn.nodes]
    run = lw.simulate(m, 0.02, step=0.01)
    run.save(tmp_path / "run.parquet")
    back = lw.load(tmp_path / "run.parquet")
    assert 'kind = "capsule"' in json.loads(json.dumps(back.metadata["origin"]))["text"]


def test_a_page_draws_them(tmp_path: Path) -> None:
    m = lw.Mechanism("pendulum of my own")
    shapes = [Sphere(0.123), Box((1, 2, 3), color="gold")]
    m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=0, shape=shapes)
    scene = scene_of(m)
    node = scene.index("rod")
    surface = scene.surfaces[node][0]
    assert np.linalg.norm(surface.points, axis=1) == pytest.approx(0.123)
    lw.page(tmp_path / "page.html", m)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    data = re.search(r'id="data">(.*?)</script>', text, re.S)
    assert data is not None
    ball, box = json.loads(data[1])["scene"]["nodes"][node]["parts"]
    assert ball["low"] == pytest.approx([-0.123] * 3, rel=1e-2)
    assert box["low"] == pytest.approx([-0.5, -1, -1.5])
    assert box["color"] == pytest.approx(COLORS["gold"], abs=1e-4)


def test_shapes_go_into_robot_files(tmp_path: Path) -> None:
    m = lw.Mechanism("arm")
    m.body("rod", rotate="z", mass=1, com=(1, 0, 0), inertia=1, shape=Box((1, 2, 3), at=(1, 0, 0)))
    (tmp_path / "arm.toml").write_text(lw.write_model(m))
    lw.convert(tmp_path / "arm.toml", tmp_path / "arm.urdf")
    found = {link.name: link for link in lw.read_description(tmp_path / "arm.urdf").links}
    (shape,) = found["rod"].shapes
    assert (shape.kind, shape.size, shape.place.position) == ("box", (1, 2, 3), (1, 0, 0))


def test_a_size_without_sense_is_said_and_the_generated_shape_stands_in() -> None:
    m = lw.Mechanism("m")
    m.parameter("R", 0.1)
    m.body("b", rotate="z", mass=1, com=(1, 0, 0), inertia=0, shape=Sphere("R"))
    assert [s.kind for s in _solids(scene_of(m), "b")] == ["sphere"]
    scene = scene_of(m).with_parameters({"R": -1})
    assert "'b': a dimension of a sphere is -1" in scene.notes[0]
    assert len(_solids(scene, "b")) > 1 or _solids(scene, "b")[0].size != (-1,)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda m: Box((1, 2)), "three components"),
        (lambda m: Box((1, 2, 0)), "a dimension of a box is 0"),
        (lambda m: Sphere(float("nan")), "a dimension of a sphere is nan"),
        (lambda m: Cylinder(-1, 2), "a dimension of a cylinder"),
        (lambda m: Sphere(1, color="gould"), "did you mean 'gold'"),
        (lambda m: Sphere(1, color=(1, 2, 3)), "not a color"),
        (lambda m: Sphere(1, turn=("q", 1)), "does not turn"),
        (lambda m: Mesh("a.stl", scale=0), "scale of a mesh"),
        (lambda m: m.body("c", shape=Mesh("nowhere.stl")), "mesh of 'c' is missing"),
        (lambda m: m.body("c", shape="box"), "not a shape"),
        (lambda m: m.body("c", shape=Shape()), "not a shape"),
        (lambda m: m.shape("b", Sphere("b")), "depends on 'b'"),
        (lambda m: m.shape("b", Sphere("2 m/s")), "braces"),
        (lambda m: m.shape("d", Sphere(1)), "'d'"),
    ],
)
def test_what_is_no_shape_is_refused(make: object, match: str) -> None:
    m = lw.Mechanism("m")
    m.body("b", rotate="z", mass=1)
    assert callable(make)
    with pytest.raises(Error, match=match):
        make(m)


@pytest.mark.parametrize(
    ("table", "match"),
    [
        ('kind = "box"', "a box needs 'edges'"),
        ('kind = "sphere"\nradius = 1\nlength = 2', "a sphere has no 'length'"),
        ('kind = "sphere"\nradius = "Q"', "unknown name 'Q'"),
        ('kind = "sphere"\nradius = 1\ncolor = "gould"', "did you mean 'gold'"),
        ('kind = "sphere"\nradius = 1\nturn = ["x"]', "turns are needed"),
        ('kind = "ball"\nradius = 1', "kind"),
    ],
)
def test_a_table_that_is_no_shape_is_refused_with_its_place(table: str, match: str) -> None:
    head = 'format = 1\nname = "m"\n[[body]]\nname = "b"\nrotate = "z"\n'
    with pytest.raises(Error, match=match):
        parse_model(f'{head}[[shape]]\nbody = "b"\n{table}\n').build()


def test_a_mesh_outside_the_folder_of_a_text_model_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "part.stl").write_text(STL)
    (tmp_path / "inner").mkdir()
    file = tmp_path / "inner" / "m.toml"
    file.write_text(
        'format = 1\nname = "m"\n[[body]]\nname = "b"\nrotate = "z"\nmass = 1\ncom = [1, 0, 0]\n'
        '[[shape]]\nbody = "b"\nkind = "mesh"\nfile = "../part.stl"\n'
    )
    scene = scene_of(lw.load(file))
    assert "outside the folders" in scene.notes[0]
    assert all(s.kind != "mesh" for s in _solids(scene, "b"))
    scene = scene_of(lw.load(file), roots=[tmp_path])
    assert [s.kind for s in _solids(scene, "b")] == ["mesh"]
