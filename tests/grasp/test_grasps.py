"""Grasps: closure, quality and forces against closed forms, hulls and searches of their own."""

from __future__ import annotations

import json
import math
import struct
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from linkwright.base.errors import DomainError, InputError
from linkwright.cli import main
from linkwright.grasp import FingerContact, Grasp, GraspObject, grasp_object, plan_grasps
from tests.seeds import seeds

Array = np.ndarray


def opposite(friction: float, **more: Any) -> list[FingerContact]:
    return [FingerContact((x, 0, 0), (-x, 0, 0), friction, **more) for x in (0.05, -0.05)]


def around(count: int, friction: float, radius: float = 0.1, **more: Any) -> list[FingerContact]:
    angles = 2 * np.pi * np.arange(count) / count
    return [
        FingerContact((radius * x, radius * y, 0), (-x, -y, 0), friction, **more)
        for x, y in zip(np.cos(angles), np.sin(angles), strict=True)
    ]  # fmt: skip


def support(rows: Array, direction: Array) -> float:
    """Return how far the hull of rows goes along a direction, by a linear program."""
    size = len(rows)
    equal = np.vstack([np.column_stack([rows.T, -direction]), [*np.ones(size), 0.0]])
    found = linprog([*np.zeros(size), -1.0], A_eq=equal, b_eq=[*np.zeros(rows.shape[1]), 1.0],
                    bounds=[(0, None)] * size + [(0, None)])  # fmt: skip
    return float(found.x[-1]) if found.status == 0 else 0.0


# -- closed forms ----------------------------------------------------------------------------------
@pytest.mark.parametrize("friction", [0.1, 0.5, 1.3])
def test_two_fingers_in_a_plane_have_the_quality_of_their_tetrahedron(friction: float) -> None:
    """Wrenches (+-1, +-mu, +-mu): facets are mu/sqrt(mu^2 + 2) away."""
    grasp = Grasp(opposite(friction), planar=True)
    assert grasp.closure == "force"
    assert grasp.quality == pytest.approx(friction / math.sqrt(friction**2 + 2), rel=1e-12)


def test_two_hard_fingers_cannot_keep_an_object_from_turning_about_their_line() -> None:
    assert Grasp(opposite(0.5)).closure == "none"
    assert Grasp(opposite(0.5)).quality == 0.0
    assert Grasp(opposite(0.5, torsion=0.001)).closure == "force"
    assert Grasp(opposite(0.0, torsion=0.001)).closure == "none"


def test_three_fingers_around_a_disc_need_friction() -> None:
    """Frictionless normals meet in the center; with friction it is held, in space as well."""
    assert Grasp(around(3, 0.0), planar=True).closure == "none"
    assert Grasp(around(3, 0.3), planar=True).closure == "force"
    assert Grasp(around(3, 0.3)).closure == "force"
    mu = 0.3
    best = Grasp(around(3, mu), planar=True, length=1e-9)  # moments count for everything
    up, down = (best.wrenches()[k::2, :2] for k in (0, 1))  # by the sign of their moments
    level = [(a + b) / 2 for a in up for b in down]
    assert best.quality == pytest.approx(-ConvexHull(level).equations[:, -1].max(), rel=1e-6)


def test_four_frictionless_fingers_hold_a_rectangle_if_their_moments_do() -> None:
    """Form closure in a plane takes four; pairs in line leave the turn free."""
    apart = [((0.1, 0.02), (-1, 0)), ((-0.1, -0.02), (1, 0)),
             ((0.03, -0.05), (0, 1)), ((-0.03, 0.05), (0, -1))]  # fmt: skip
    held = [FingerContact((*p, 0), (*n, 0), friction=0) for p, n in apart]
    turned = [*apart[:2], ((-0.03, -0.05), (0, 1)), ((0.03, 0.05), (0, -1))]
    other = [FingerContact((*p, 0), (*n, 0), friction=0) for p, n in turned]
    found = {Grasp(held, planar=True).closure, Grasp(other, planar=True).closure}
    assert found == {"form", "none"}


def test_seven_frictionless_fingers_hold_a_box() -> None:
    """Form closure in space takes seven at least (Lakshminarayana): six never do."""
    rng = np.random.default_rng(4)
    box = GraspObject.box((0.2, 0.1, 0.06))
    points, faces = box.sample(200, 1)
    normals = box.normals[faces]
    seen = {6: 0, 16: 0}
    for count in seen:
        for _ in range(10):
            k = rng.choice(200, count, replace=False)
            fingers = [FingerContact(tuple(points[i]), tuple(normals[i]), 0.0) for i in k]
            grasp = Grasp(fingers)
            rows = grasp.wrenches()
            whole = np.linalg.matrix_rank(rows - rows[0], tol=1e-9) == 6
            inside = whole and count > 6 and -ConvexHull(rows).equations[:, -1].max() > 0
            assert (grasp.closure == "form") == inside
            seen[count] += grasp.closure == "form"
    assert seen[6] == 0
    assert seen[16] > 0


# -- other ways to the same numbers ----------------------------------------------------------------
@pytest.mark.parametrize("seed", seeds(12, daily=2))
def test_closure_and_quality_of_random_grasps_are_those_of_hulls_and_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    at, normals = rng.normal(size=(2, count, 3))
    bounds = rng.uniform(0.2, 1.5, count)
    planar = seed % 2 == 0
    if planar:
        at[:, 2] = normals[:, 2] = 0
    fingers = [
        FingerContact(tuple(p), tuple(n), mu, 0.2)
        for p, n, mu in zip(at, normals, bounds, strict=True)
    ]
    grasp = Grasp(fingers, center=(0.1, 0.2, 0.0), planar=planar)
    rows = grasp.wrenches()
    hull = ConvexHull(rows)
    if abs(hull.equations[:, -1].max()) > 1e-6:
        assert (grasp.closure != "none") == bool(hull.equations[:, -1].max() < 0)
    if grasp.closure == "none":
        return
    ways = rng.normal(size=(20, rows.shape[1]))
    reached = [support(rows, w / np.linalg.norm(w)) for w in ways]
    assert grasp.quality <= min(reached) + 1e-9
    nearest = hull.equations[np.argmax(hull.equations[:, -1])]
    assert support(rows, nearest[:-1]) == pytest.approx(grasp.quality, rel=1e-6)


@pytest.mark.parametrize("seed", seeds(8, daily=2))
def test_two_fingers_on_a_polygon_are_nguyens(seed: int) -> None:
    """They hold it if and only if the line between them is inside both cones."""
    rng = np.random.default_rng(seed)
    edges = []
    for _ in range(3):
        corners = ConvexHull(rng.normal(size=(12, 2)))
        points = corners.points[corners.vertices]
        edges.append(list(zip(points, np.roll(points, -1, axis=0), strict=True)))
    mu, held = 0.6, 0
    for (a, b), (c, d) in chain.from_iterable(combinations(sides, 2) for sides in edges):
        p, q = (s + rng.uniform(0.1, 0.9) * (e - s) for s, e in ((a, b), (c, d)))
        n, m = (np.array([-(e - s)[1], (e - s)[0]]) for s, e in ((a, b), (c, d)))
        n, m = n / np.linalg.norm(n), m / np.linalg.norm(m)
        way = (q - p) / np.linalg.norm(q - p)
        angles = [math.acos(way @ n), math.acos(-way @ m)]
        if min(abs(x - math.atan(mu)) for x in angles) < 1e-3:
            continue
        expected = max(angles) < math.atan(mu)
        fingers = [FingerContact((*x, 0), (*y, 0), mu) for x, y in ((p, n), (q, m))]
        assert (Grasp(fingers, planar=True).closure == "force") == expected
        held += expected
    assert held


def test_the_grasp_matrix_is_that_of_virtual_work() -> None:
    """G^T takes a motion of the object to those of its material points, along the fingers' axes."""
    rng = np.random.default_rng(2)
    fingers = [
        FingerContact(tuple(rng.normal(size=3)), tuple(rng.normal(size=3)), 0.5, 0.1)
        for _ in range(3)
    ]
    center = (0.1, -0.2, 0.3)
    matrix = Grasp(fingers, center).matrix
    velocity, turn = rng.normal(size=(2, 3))
    found = (matrix.T @ np.concatenate([velocity, turn])).reshape(3, 4)
    for row, finger in zip(found, fingers, strict=True):
        moved = velocity + np.cross(turn, np.subtract(finger.at, center))
        np.testing.assert_allclose(row[:3], finger.axes.T @ moved, atol=1e-12)
        assert row[3] == pytest.approx(turn @ finger.direction)
    hard = Grasp([FingerContact((0, 0, 0), (0, 0, 1), friction=0)]).matrix
    assert np.abs(hard[:, 1:]).max() == 0


# -- forces ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("friction", [0.2, 0.8])
def test_a_weight_is_held_by_half_of_it_over_the_friction(friction: float) -> None:
    grasp = Grasp(opposite(friction, torsion=0.01), edges=8)
    held = grasp.forces([0, 0, -9.81 * 0.4, 0, 0, 0])
    np.testing.assert_allclose(held[:, 0], [-9.81 * 0.2 / friction, 9.81 * 0.2 / friction])
    np.testing.assert_allclose(held[:, 2], 9.81 * 0.2)


def test_forces_balance_a_wrench_within_their_cones() -> None:
    rng = np.random.default_rng(6)
    grasp = Grasp(around(4, 0.4, torsion=0.01), center=(0.01, 0.0, 0.02))
    for _ in range(10):
        wrench = rng.normal(size=6) * [1, 1, 1, 0.05, 0.05, 0.05]
        held = grasp.forces(wrench, min_force=0.5)
        total = np.zeros(6)
        for row, finger in zip(held, grasp.contacts, strict=True):
            force, moment = row[:3], row[3:]
            total += [*force, *(moment + np.cross(np.subtract(finger.at, grasp.center), force))]
            normal = force @ finger.direction
            assert normal >= 0.5 - 1e-9
            across = np.linalg.norm(force - normal * finger.direction)
            assert across <= finger.friction * normal + 1e-9
            assert np.linalg.norm(moment) <= finger.torsion * normal + 1e-9
        np.testing.assert_allclose(total, -wrench, atol=1e-9)
    with pytest.raises(DomainError, match="cannot hold the wrench"):
        grasp.forces([0, 0, -100, 0, 0, 0], max_force=5.0)
    with pytest.raises(DomainError, match="no closure"):
        Grasp(around(3, 0.0)).forces([0, 0, -1, 0, 0, 0])


# -- planning --------------------------------------------------------------------------------------
def stl(path: Path, target: GraspObject, *, inside_out: bool = False) -> Path:
    faces = target.faces[:, ::-1] if inside_out else target.faces
    rows = b"".join(
        struct.pack("<12fH", 0, 0, 0, *target.points[face].ravel(), 0) for face in faces
    )
    path.write_bytes(bytes(80) + struct.pack("<I", len(faces)) + rows)
    return path


def test_a_mesh_of_a_shape_is_the_shape(tmp_path: Path) -> None:
    """Also inside out: normals point into the object, and the center is that of its volume."""
    box = GraspObject.box((0.2, 0.06, 0.1))
    for inside_out in (False, True):
        read = grasp_object(stl(tmp_path / "box.stl", box, inside_out=inside_out))
        assert read.center == pytest.approx((0, 0, 0), abs=1e-9)
        middles = read.points[read.faces].mean(axis=1)
        assert (np.einsum("ij,ij->i", read.normals, middles) < 0).all()
        points, faces = read.sample(300, 0)
        off = np.abs(np.abs(points) - [0.1, 0.03, 0.05]).min(axis=1)
        assert off.max() < 1e-7
        share = np.mean(np.abs(read.normals[faces][:, 0]) > 0.9)
        assert share == pytest.approx(0.006 / (0.006 + 0.02 + 0.012), abs=0.05)


def test_planned_grasps_are_closed_apart_and_within_the_opening() -> None:
    target = grasp_object("cylinder:30mm,0.12")
    found = plan_grasps(target, opening=0.08, samples=60, seed=3)
    again = plan_grasps(target, opening=0.08, samples=60, seed=3)
    assert [g.quality for g in found.grasps] == [g.quality for g in again.grasps]
    assert len(found.grasps) == 5
    qualities = [g.quality for g in found.grasps]
    assert qualities == sorted(qualities, reverse=True)
    for grasp in found.grasps:
        assert grasp.closure == "force"
        a, b = (np.array(c.at) for c in grasp.contacts)
        assert np.linalg.norm(a - b) <= 0.08
        for contact, at in zip(grasp.contacts, (a, b), strict=True):
            assert np.hypot(*at[:2]) == pytest.approx(0.03, abs=1e-4)  # the side, not the ends
            assert contact.direction @ [*at[:2], 0] < 0
    assert abs(found.grasps[0].contacts[0].at[2]) < 0.02  # near the mass center


def test_three_fingers_hold_a_ball_nearly_as_well_as_can_be() -> None:
    """On a sphere the best three stand around a great circle."""
    rng = np.random.default_rng(0)
    ways = rng.normal(size=(400, 3))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    hull = ConvexHull(ways)
    ball = GraspObject.of(0.05 * ways, hull.simplices, "ball") if _outward(hull) else None
    assert ball is not None
    best = Grasp(around(3, 0.5, 0.05), length=0.05).quality
    found = plan_grasps(ball, fingers=3, friction=0.5, samples=100, seed=1)
    assert 0.6 * best < found.grasps[0].quality < 1.15 * best
    normals = np.array([c.direction for c in found.grasps[0].contacts])
    assert np.linalg.norm(normals.sum(axis=0)) < 0.8


def _outward(hull: ConvexHull) -> bool:
    """Let all triangles of a hull be counterclockwise from outside."""
    for k, (face, normal) in enumerate(zip(hull.simplices, hull.equations[:, :3], strict=True)):
        a, b, c = hull.points[face]
        if np.cross(b - a, c - a) @ normal < 0:
            hull.simplices[k] = face[::-1]
    return True


# -- refusals and the command ----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FingerContact((0, 0), (0, 0, 1)), "at of a finger is .* not three finite numbers"),
        (lambda: FingerContact((0, 0, 0), (0, 0, 0), name="left"), "finger 'left' is zero"),
        (lambda: FingerContact((0, 0, 0), (0, 0, 1), -0.1), "friction of a finger is -0.1"),
        (lambda: FingerContact((0, 0, 0), (0, 0, 1), torsion=math.nan), "torsion of a finger"),
        (lambda: Grasp([]), "without fingers"),
        (lambda: Grasp(opposite(0.5), center=(0, 0)), "not three finite numbers"),
        (lambda: Grasp(opposite(0.5), edges=2), "2 edges make no pyramid"),
        (lambda: Grasp(opposite(0.5)).forces([1, 2]), "not six finite numbers"),
        (lambda: grasp_object("box:1,2"), "has 2 sizes; give length, width, height"),
        (lambda: grasp_object("box:1,2,-3"), "height of the box is '-3'"),
        (lambda: grasp_object("thing"), "'thing' is not an object"),
        (lambda: plan_grasps(GraspObject.box((1, 1, 1)), fingers=1), "1 fingers are not planned"),
        (lambda: plan_grasps(GraspObject.box((1, 1, 1)), friction=-1), "friction is -1"),
    ],
)
def test_what_cannot_be_meant_is_refused(make: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()


def test_a_flat_mesh_is_no_object(tmp_path: Path) -> None:
    flat = GraspObject(np.eye(3), np.array([[0, 1, 2]]), (0, 0, 0))
    with pytest.raises(InputError, match=r"flat\.stl: flat has no volume"):
        grasp_object(stl(tmp_path / "flat.stl", flat))


def test_the_command_plans_judges_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = stl(tmp_path / "part.stl", GraspObject.box((0.2, 0.06, 0.06)))
    picture = tmp_path / "grasp.svg"
    words = ["--opening", "8 cm", "--mass", "300 g", "-o", str(picture), "--json"]
    assert main(["analyze", "grasp", str(file), *words]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["object"] == "part"
    assert told["grasps"][0]["closure"] == "force"
    assert 0 < min(told["largest_normal_forces_newton"]) < 100
    assert picture.read_text().count("<path") > 10
    both = ["--contact", "0.1,0,0,-1,0,0", "--contact=-0.1,0,0,1,0,0"]
    assert main(["analyze", "grasp", str(file), *both]) == 1  # hard fingers
    assert "none" in capsys.readouterr().out
    assert main(["analyze", "grasp", str(file), *both, "--patch", "5 mm"]) == 0
    assert "force" in capsys.readouterr().out
    for bad, said in ((["--patch", "5 kg"], "the patch"), (["--contact", "1,2"], "not six"),
                      (["-o", "x.doc"], "'.doc'"), (["--mass", "-1"], "the mass")):  # fmt: skip
        assert main(["analyze", "grasp", str(file), *bad]) == 2, bad
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1
