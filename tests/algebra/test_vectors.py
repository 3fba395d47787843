"""Frames, vectors and dyadics against rotation matrices, finite differences and AUTOSIM's examples.

The oracle of every random test is a 3×3 rotation matrix in root coordinates that NumPy and SciPy
make from the same description of a frame; a vector is then three numbers.
"""

from __future__ import annotations

import gc
import itertools
import math
import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st
from scipy.spatial.transform import Rotation

from linkwright.algebra import (
    ONE,
    PI,
    ZERO_DYADIC,
    ZERO_VECTOR,
    Dyadic,
    Expr,
    Frame,
    Motion,
    Vector,
    VectorError,
    angle,
    common_ancestor,
    cos,
    direction_of,
    evaluate_all,
    free_symbols,
    magnitude,
    outer,
    postorder,
    project_on_plane,
    sin,
    smallness_threshold,
    substitute,
    symbol,
    symbols,
    vector_total,
)
from tests.seeds import examples, seldom

Array = npt.NDArray[np.float64]

SEQUENCES = [
    sequence
    for sequence in itertools.product("xyz", repeat=3)
    if sequence[0] != sequence[1] and sequence[1] != sequence[2]
]
Path = Callable[[float], Array]
KINDS = ("axis", "minus", "inclined", "turned", "euler", "quaternion", "matrix", "aligned")


def coordinate(name: str) -> Expr:
    return symbol(name, "coordinate")


def speed(name: str) -> Expr:
    return symbol(name, "speed")


def numbers(vector: Vector, frame: Frame, values: Mapping[Expr, float]) -> Array:
    """The components of a vector in a frame, as numbers."""
    return np.array(evaluate_all(list(vector.components(frame)), values), dtype=float)


def trigonometry(*exprs: Expr) -> set[str]:
    """The sines and cosines in some expressions, as text."""
    return {str(x) for x in postorder(exprs) if x.op in ("sin", "cos")}


def unit(vector: Array) -> Array:
    return np.asarray(vector / np.linalg.norm(vector))


# -- a random tree of frames, in symbols and in numbers --------------------------------------------
@dataclass
class Tree:
    """Frames with a function each that gives the rotation matrix to root coordinates at a time."""

    frames: list[Frame] = field(default_factory=list)
    matrices: list[Path] = field(default_factory=list)
    paths: dict[Expr, tuple[float, float, float]] = field(default_factory=dict)

    def angle(self, random: np.random.Generator) -> tuple[Expr, Callable[[float], float]]:
        """A new coordinate that moves as a + b*t + c*t**2."""
        q = coordinate(f"q{len(self.paths)}")
        a, b, c = (float(x) for x in random.uniform(-1.5, 1.5, 3))
        self.paths[q] = (a, b, c)
        return q, lambda t: a + b * t + c * t * t

    def values(self, t: float) -> dict[Expr, float]:
        found = {q: a + b * t + c * t * t for q, (a, b, c) in self.paths.items()}
        found.update({u: b + 2 * c * t for u, (_, b, c) in self.speeds().items()})
        return found

    def speeds(self) -> dict[Expr, tuple[float, float, float]]:
        return {speed(f"u_{q.name}"): path for q, path in self.paths.items()}

    def rates(self) -> dict[Expr, Expr]:
        return {q: speed(f"u_{q.name}") for q in self.paths}


def still(matrix: Array) -> Path:
    return lambda t: matrix


def turning(before: Array, axis: Array, at: Callable[[float], float], after: Array) -> Path:
    return lambda t: before @ Rotation.from_rotvec(at(t) * axis).as_matrix() @ after


def triad(k: int, axis: Array, reference: Array) -> Array:
    """The matrix of a nominal triad: its columns are the axes at angle zero."""
    matrix = np.zeros((3, 3))
    matrix[:, k] = axis
    matrix[:, (k + 2) % 3] = unit(np.cross(axis, reference))
    matrix[:, (k + 1) % 3] = np.cross(matrix[:, (k + 2) % 3], axis)
    return matrix


def child(tree: Tree, kind: str, above: Frame, random: np.random.Generator) -> tuple[Frame, Path]:
    """One frame of a kind below a frame, and its rotation matrix in time made by SciPy alone."""
    name = f"f{len(tree.frames)}"
    k = int(random.integers(3))
    eye = np.eye(3)
    axis, reference = unit(random.normal(size=3)), random.normal(size=3)
    if kind == "matrix":
        fixed = Rotation.random(rng=random).as_matrix()
        return above.with_matrix(name, fixed.tolist()), still(fixed)
    if kind == "aligned":
        return above.aligned(name), still(eye)
    q, at = tree.angle(random)
    if kind in ("axis", "minus"):
        sign = 1 if kind == "axis" else -1
        nominal = triad(k, sign * eye[k], eye[(k + 1) % 3])
        return above.rotated(name, sign * (k + 1), q), turning(nominal, eye[k], at, eye)
    if kind == "inclined":
        frame = above.rotated(name, list(axis), q, reference=list(reference), body_axis=k + 1)
        return frame, turning(eye, axis, at, triad(k, axis, reference))
    if kind == "turned":
        return above.turned(name, list(3 * axis), q), turning(eye, axis, at, eye)
    r, at_r = tree.angle(random)
    if kind == "quaternion":
        c1, s1, c2, s2 = cos(q / 2), sin(q / 2), cos(r / 2), sin(r / 2)
        frame = above.oriented(name, (c1 * c2, s1 * c2, -s1 * s2, c1 * s2))
        first, second = turning(eye, eye[0], at, eye), turning(eye, eye[2], at_r, eye)
        return frame, lambda t: first(t) @ second(t)
    s, at_s = tree.angle(random)
    word = "".join(SEQUENCES[int(random.integers(len(SEQUENCES)))])
    frame = above.euler(name, word, (q, r, s))
    return frame, lambda t: Rotation.from_euler(word.upper(), [at(t), at_r(t), at_s(t)]).as_matrix()


def grow(tree: Tree, kind: str, parent: int, random: np.random.Generator) -> None:
    above = tree.matrices[parent]
    frame, local = child(tree, kind, tree.frames[parent], random)
    tree.frames.append(frame)
    tree.matrices.append(lambda t: above(t) @ local(t))


def tree_of(kinds: Sequence[tuple[str, int]], seed: int, *, add_angles: bool = False) -> Tree:
    random = np.random.default_rng(seed)
    tree = Tree([Frame.root("n", add_angles=add_angles)], [lambda t: np.eye(3)])
    for kind, parent in kinds:
        grow(tree, kind, parent % len(tree.frames), random)
    return tree


trees = st.builds(
    tree_of,
    st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 100)), min_size=1, max_size=6),
    st.integers(0, 2**32 - 1),
    add_angles=st.booleans(),
)


def mixed(tree: Tree, random: np.random.Generator, moving: bool = False) -> tuple[Vector, Path]:
    """A random vector over several frames, and its root coordinates in time."""
    vector, parts = ZERO_VECTOR, []
    for _ in range(4):
        i = int(random.integers(len(tree.frames)))
        k = int(random.integers(3))
        if moving:
            c, at = tree.angle(random)
            vector += c * tree.frames[i].axes[k]
        else:
            value = float(random.normal())
            at = constantly(value)
            vector += value * tree.frames[i].axes[k]
        parts.append((i, k, at))
    return vector, lambda t: sum(
        (at(t) * tree.matrices[i](t)[:, k] for i, k, at in parts), start=np.zeros(3)
    )


def constantly(value: float) -> Callable[[float], float]:
    return lambda t: value


def slope(path: Callable[[float], Array], t: float) -> Array:
    """The derivative of a path by finite differences of sixth order."""
    h = 1e-2
    weights = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))
    return (
        sum(
            (w * (path(t + i * h) - path(t - i * h)) for i, w in weights),
            start=np.zeros_like(path(t)),
        )
        / h
    )


# -- random trees ----------------------------------------------------------------------------------
@settings(deadline=None, max_examples=examples(20, daily=8))
@given(trees)
def test_direction_cosines_are_the_relative_rotation(tree: Tree) -> None:
    """b_r · a_k of every pair of frames is the element of R_b^T R_a."""
    values = tree.values(0.3)
    for i, j in itertools.product(range(len(tree.frames)), repeat=2):
        found = [
            evaluate_all(list(row), values)
            for row in tree.frames[i].direction_cosines(tree.frames[j])
        ]
        expected = tree.matrices[i](0.3).T @ tree.matrices[j](0.3)
        np.testing.assert_allclose(np.array(found, dtype=float), expected, atol=2e-9)


@settings(deadline=None, max_examples=examples(15, daily=6))
@given(trees, st.integers(0, 2**32 - 1))
def test_products_are_those_of_coordinates(tree: Tree, seed: int) -> None:
    """Dot, cross and change of basis in mixed form equal NumPy's in root coordinates."""
    random = np.random.default_rng(seed)
    (v, v_at), (w, w_at) = mixed(tree, random), mixed(tree, random)
    values, root = tree.values(0.7), tree.frames[0]
    frame = tree.frames[int(random.integers(len(tree.frames)))]
    a, b = v_at(0.7), w_at(0.7)
    (dot,) = evaluate_all([v @ w], values)
    assert dot == pytest.approx(a @ b, abs=1e-8)
    np.testing.assert_allclose(numbers(v ^ w, root, values), np.cross(a, b), atol=1e-8)
    np.testing.assert_allclose(numbers(2 * v - w / 4, root, values), 2 * a - b / 4, atol=1e-8)
    inside = v.expressed(frame)
    assert set(inside.directions) <= set(frame.directions)
    np.testing.assert_allclose(numbers(inside, root, values), a, atol=1e-8)


@settings(deadline=None, max_examples=examples(15, daily=6))
@given(trees, st.integers(0, 2**32 - 1))
def test_time_derivative_is_the_slope(tree: Tree, seed: int) -> None:
    """v.dt seen from the root, and from any frame, is the slope of the coordinates there."""
    random = np.random.default_rng(seed)
    v, at = mixed(tree, random, moving=True)
    motion = Motion(tree.rates())
    t, values = 0.2, tree.values(0.2)
    root = tree.frames[0]
    np.testing.assert_allclose(numbers(v.dt(motion), root, values), slope(at, t), atol=1e-6)
    i = int(random.integers(len(tree.frames)))
    frame, matrix = tree.frames[i], tree.matrices[i]
    seen = numbers(v.dt(motion, frame), frame, values)
    np.testing.assert_allclose(seen, slope(lambda s: matrix(s).T @ at(s), t), atol=1e-6)


@settings(deadline=None, max_examples=examples(15, daily=6))
@given(trees, st.integers(0, 100), st.integers(0, 100))
def test_angular_velocity_turns_the_frame(tree: Tree, i: int, j: int) -> None:
    """The matrix of ω× of b in a is the slope of the rotation matrix times its transpose."""
    i, j = i % len(tree.frames), j % len(tree.frames)
    b, a = tree.frames[i], tree.frames[j]
    t = -0.4
    omega = numbers(b.angular_velocity(tree.rates(), a), a, tree.values(t))

    def relative(s: float) -> Array:
        return np.asarray(tree.matrices[j](s).T @ tree.matrices[i](s))

    spin = slope(relative, t) @ relative(t).T
    np.testing.assert_allclose(omega, [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-6)
    np.testing.assert_allclose(spin, -spin.T, atol=1e-6)


@settings(deadline=None, max_examples=examples(10))
@given(trees, st.integers(0, 2**32 - 1))
def test_dyadics_are_matrices(tree: Tree, seed: int) -> None:
    """Products from both sides, transpose, change of basis and sums equal those of 3×3 matrices."""
    random = np.random.default_rng(seed)
    t, values, root = 0.1, tree.values(0.1), tree.frames[0]
    i = int(random.integers(len(tree.frames)))
    frame, matrix = tree.frames[i], tree.matrices[i](t)
    (v, v_at), (w, w_at) = mixed(tree, random), mixed(tree, random)
    a, b = v_at(t), w_at(t)
    moments = random.normal(size=6)
    xx, yy, zz, xy, yz, zx = (float(x) for x in moments)
    inertia = Dyadic.inertia(frame, xx, yy, zz, xy, yz, zx)
    body = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
    D = inertia + (v | w)
    M = matrix @ body @ matrix.T + np.outer(a, b)

    def array(dyadic: Dyadic, in_frame: Frame) -> Array:
        rows = [evaluate_all(list(row), values) for row in dyadic.components(in_frame)]
        return np.array(rows, dtype=float)

    def skew(x: Array) -> Array:
        return np.cross(np.eye(3), x).T * -1

    close = np.testing.assert_allclose
    close(array(inertia, frame), body, atol=1e-12)
    close(array(D, root), M, atol=1e-8)
    close(array(D.T, root), M.T, atol=1e-8)
    close(numbers(D @ v, root, values), M @ a, atol=1e-8)
    close(numbers(v @ D, root, values), a @ M, atol=1e-8)
    close(array(D @ inertia, root), M @ (matrix @ body @ matrix.T), atol=1e-8)
    close(array(D ^ v, root), np.cross(M, a), atol=1e-8)
    close(array(v ^ D, root), np.cross(a, M.T).T, atol=1e-8)
    close(array(D.expressed(frame), root), M, atol=1e-8)
    close(array(D.expressed(frame), frame), matrix.T @ M @ matrix, atol=1e-8)
    close(array(2 * D - inertia / 2, root), 2 * M - matrix @ body @ matrix.T / 2, atol=1e-8)
    assert {d for pair, _ in D.expressed(frame).terms for d in pair} <= set(frame.directions)


def test_dyadic_time_derivative_is_the_slope() -> None:
    """d/dt of q*(inertia in a turning frame) equals the finite difference of its root matrix."""
    tree = tree_of([("euler", 0), ("axis", 1)], 5)
    q, at = tree.angle(np.random.default_rng(8))
    frame, matrix = tree.frames[2], tree.matrices[2]
    body = np.array([[2.0, 0.3, -0.1], [0.3, 3.0, 0.2], [-0.1, 0.2, 4.0]])
    D = q * Dyadic.inertia(frame, 2, 3, 4, 0.3, 0.2, -0.1)
    t, values = 0.6, tree.values(0.6)
    rows = D.dt(tree.rates()).components(tree.frames[0])
    found = np.array([evaluate_all(list(row), values) for row in rows], dtype=float)
    expected = slope(lambda s: at(s) * (matrix(s) @ body @ matrix(s).T), t)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    at_rest = (Dyadic.inertia(frame, 2, 3, 4, 0.3, 0.2, -0.1)).dt(tree.rates(), frame)
    assert at_rest == ZERO_DYADIC


# -- the thesis' own statements --------------------------------------------------------------------
@pytest.fixture
def example() -> tuple[Frame, Frame, Frame, tuple[Expr, ...]]:
    """The example of AUTOSIM 8.4: A turns about n1 in N, B about a2 in A."""
    q = tuple(coordinate(f"q{i}") for i in (1, 2, 3))
    n = Frame.root("n")
    a = n.rotated("a", 1, q[0])
    b = a.rotated("b", 2, q[1])
    return n, a, b, q


def test_mixed_basis_is_kept(example: tuple[Frame, Frame, Frame, tuple[Expr, ...]]) -> None:
    """ω = u1 n1 + u2 a2 + u3 b3 stays in three frames and is dotted with any direction."""
    n, _, b, q = example
    u = tuple(speed(f"u{i}") for i in (1, 2, 3))
    c = b.rotated("c", 3, q[2])
    omega = c.angular_velocity(dict(zip(q, u, strict=True)))
    assert str(omega) == "u1*n.x + u2*a.y + u3*b.z"
    assert omega @ c.z is u[2] + u[0] * (n.x @ c.z)
    assert omega @ n.x is u[0] + u[2] * sin(q[1])


def test_basis_dyadics_give_the_three_forms(
    example: tuple[Frame, Frame, Frame, tuple[Expr, ...]],
) -> None:
    """(8.4.3) and (8.4.4): dotting with the basis dyadic of N, A, B gives the printed forms."""
    n, a, b, q = example
    u1, u2 = speed("u1"), speed("u2")
    omega = u1 * n.x + u2 * a.y
    assert str(Dyadic.unit(a)) == "(n.x|n.x) + (a.y|a.y) + (a.z|a.z)"
    assert str(Dyadic.unit(b)) == "(a.y|a.y) + (b.x|b.x) + (b.z|b.z)"
    assert omega @ Dyadic.unit(n) == n.vector(u1, u2 * cos(q[0]), u2 * sin(q[0]))
    assert omega @ Dyadic.unit(a) == omega
    assert omega @ Dyadic.unit(b) == b.vector(u1 * cos(q[1]), u2, u1 * sin(q[1]))
    for frame in (n, a, b):
        assert Dyadic.unit(frame) @ omega == omega.expressed(frame)


def test_products_stop_at_the_common_ancestor() -> None:
    """Directions of sibling frames know nothing of the rotations above their common parent."""
    q = [coordinate(f"q{i}") for i in range(6)]
    trunk = Frame.root("n").rotated("a", "x", q[0]).euler("b", "zxy", (q[1], q[2], q[3]))
    left, right = trunk.rotated("l", "y", q[4]), trunk.rotated("r", "y", q[5])
    assert common_ancestor(left, right) is trunk
    assert trigonometry(left.x @ right.x) == {"cos(q4)", "cos(q5)", "sin(q4)", "sin(q5)"}
    assert trigonometry(left.x @ right.y, left.y @ right.y, left.y @ trunk.x) == set()
    product = (left.x ^ right.x).terms
    assert [str(d) for d, _ in product] == ["b.y"]
    assert left.x @ right.x is right.x @ left.x
    summed = Frame.root("n", add_angles=True).rotated("a", "z", q[0]).rotated("b", "z", q[1])
    one, other = summed.rotated("l", "z", q[2]), summed.rotated("r", "z", q[3])
    assert trigonometry(one.x @ other.x) == {"cos(q2)", "cos(q3)", "sin(q2)", "sin(q3)"}


def test_products_are_found_once() -> None:
    """A product that was found before is returned without climbing again."""
    n = Frame.root("n")
    b = n.euler("b", "xyz", [coordinate(f"q{i}") for i in range(3)])
    d, e = b.directions[0], n.directions[1]
    first = b.x @ n.y
    assert d._dots[e.serial] is first
    d._dots[e.serial] = marker = symbol("marker")
    assert b.x @ n.y is marker
    assert n.y @ b.x is marker


def test_position_derivative_is_velocity() -> None:
    """d/dt of a point's position equals v_origin + ω × r after the kinematical equations."""
    q, u = coordinate("q"), speed("u")
    x, v = coordinate("x"), speed("v")
    L = symbol("L")
    n = Frame.root("n")
    a = n.rotated("a", "z", q)
    rates = {q: u, x: v}
    position = x * n.x + L * a.x
    assert position.dt(rates) == v * n.x + (u * n.z ^ L * a.x)
    acceleration = position.dt(rates).dt({**rates, u: 0, v: 0})
    assert acceleration == -L * u**2 * a.x


# -- sharing of directions -------------------------------------------------------------------------
@pytest.mark.parametrize("axis", [1, 2, 3])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_turn_about_an_axis_shares_it(axis: int, sign: int) -> None:
    """A revolute about ±a_k keeps the parent's object; the others are new."""
    a = Frame.root("n").euler("a", "xyz", symbols("p r s"))
    b = a.rotated("b", sign * axis, coordinate("q"))
    k = axis - 1
    assert b.directions[k] is a.directions[k]
    assert b.axes[k] == sign * a.axes[k]
    own = [d for d in b.directions if d.frame is b]
    assert len(own) == 2
    given_as = {"number": sign * axis, "name": ("-" if sign < 0 else "") + "xyz"[k]}
    for other in (given_as["name"], [sign * 2.0 * (i == k) for i in range(3)], sign * a.axes[k]):
        twin = a.rotated("b", other, coordinate("q"))  # type: ignore[arg-type]
        assert twin.cosines == b.cosines
        assert twin.directions[k] is a.directions[k]


def test_a_backward_hinge_flips_two_axes() -> None:
    """A hinge along (-1, 0, 0) reverses axes 1 and 3 and keeps axis 2 (camera of AUTOSIM 9.4)."""
    a = Frame.root("a")
    b = a.rotated("b", (-1, 0, 0), 0)
    assert b.axes == (-a.x, a.y, -a.z)
    q, u = coordinate("q"), speed("u")
    c = a.rotated("c", (-1, 0, 0), q)
    assert c.angular_velocity({q: u}) == -u * a.x
    assert c.y.dt({q: u}) == u * c.z
    assert c.x ^ c.y == c.z


def test_a_turn_keeps_the_zero_pose() -> None:
    """turned() coincides with the parent at angle zero, also about a backward axis."""
    n = Frame.root("n")
    q, u = coordinate("q"), speed("u")
    b = n.turned("b", (0, -3, 0), q)
    assert b.directions[1] is n.directions[1]
    assert b.y == n.y
    assert b.z @ n.x is -sin(q)
    assert b.angular_velocity({q: u}) == -u * n.y


def test_the_default_reference_follows_the_rotation_axis() -> None:
    """Body axis 1 along a3: the reference is the successor of 3, so b2 starts along a1."""
    a = Frame.root("a")
    b = a.rotated("b", 3, 0, body_axis=1)
    assert b.axes == (a.z, a.x, a.y)
    c = a.rotated("c", 3, 0, body_axis=1, reference=2)
    assert c.axes == (a.z, a.y, -a.x)


def test_an_inclined_hinge_has_three_new_axes() -> None:
    """(cos θ, 0, sin θ) makes three new directions; its angle never enters along the hinge."""
    theta, q = symbol("theta"), coordinate("q")
    a = Frame.root("a")
    b = a.rotated("b", (cos(theta), 0, sin(theta)), q, body_axis=1)
    assert all(d.frame is b for d in b.directions)
    assert b.x @ a.x is cos(theta)
    assert b.x @ a.z is sin(theta)
    assert trigonometry(b.y @ a.y) == {"cos(q)"}
    with pytest.raises(VectorError, match="body_axis"):
        a.rotated("b", (cos(theta), 0, sin(theta)), q)


def test_frames_that_do_not_turn_share_everything() -> None:
    """No rotation, and right angles in numbers or in π, give no new directions."""
    a = Frame.root("n").rotated("a", "x", coordinate("q"))
    quarter = a.rotated("d", "z", PI / 2)
    for frame in (
        a.aligned("b"),
        a.with_rpy("c", 0, math.pi / 2, -math.pi),
        quarter,
        a.with_matrix("e", np.array([[0, 0, 1], [1, 0, 0], [0, 1, 1e-12]])),  # type: ignore[arg-type]
    ):
        assert set(frame.directions) == set(a.directions)
        assert frame.x ^ frame.y == frame.z
    assert quarter.axes == (a.y, -a.x, a.z)


def test_numbers_near_zero_and_one_become_exact() -> None:
    """What a file rounds, 1e-11 and 0.9999999999, is 0 and 1; 1e-8, and 1 beside it, are not."""
    n = Frame.root("n")
    b = n.with_matrix("b", [[0.9999999999, -1e-11, 0], [1e-11, 0.9999999999, 0], [0, 0, 1]])
    assert b.axes == n.axes
    c = n.with_matrix("c", [[1, -1e-8, 0], [1e-8, 1, 0], [0, 0, 1]])
    assert c.z == n.z
    assert float(c.x @ n.y) == 1e-8
    tilt = math.cos(1.5708)
    d = n.with_matrix("d", [[1, 0, 0], [0, tilt, -math.sin(1.5708)], [0, math.sin(1.5708), tilt]])
    assert float(d.z @ n.z) == tilt
    assert d.y != n.z


def test_rpy_is_that_of_urdf() -> None:
    """Roll, pitch, yaw about the fixed axes x, y, z, as SciPy composes them."""
    n = Frame.root("n")
    b = n.with_rpy("b", 0.3, -0.7, 1.9)
    found = np.array([[float(x) for x in row] for row in b.direction_cosines(n)])
    expected = Rotation.from_euler("xyz", (0.3, -0.7, 1.9)).as_matrix().T
    np.testing.assert_allclose(found, expected, atol=1e-15)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_three_rotations_are_three_single_ones(sequence: tuple[str, str, str]) -> None:
    """For all 12 sequences: one frame by three angles is three frames by one angle each."""
    q = [coordinate(f"q{i}") for i in range(3)]
    rates = {x: speed(f"u{i}") for i, x in enumerate(q)}
    n = Frame.root("n")
    once = n.euler("b", "".join(sequence), q)
    thrice = n
    for name, axis, x in zip(("b1", "b2", "b3"), sequence, q, strict=True):
        thrice = thrice.rotated(name, axis, x)
    random = np.random.default_rng(7)
    values = {x: float(random.normal()) for x in [*q, *rates.values()]}
    matrix = Rotation.from_euler("".join(sequence).upper(), [values[x] for x in q]).as_matrix()
    omegas = []
    for frame in (once, thrice):
        rows = [evaluate_all(list(row), values) for row in frame.direction_cosines(n)]
        np.testing.assert_allclose(np.array(rows, dtype=float), matrix.T, atol=1e-15)
        omegas.append(numbers(frame.angular_velocity(rates), n, values))
    np.testing.assert_allclose(omegas[0], omegas[1], atol=1e-14)
    assert all(d.frame is once for d in once.directions)


def test_three_rotations_about_a_given_first_axis() -> None:
    """The first axis and the reference set the nominal orientation, as for a single rotation."""
    n = Frame.root("n")
    q = [coordinate(f"q{i}") for i in range(3)]
    ball = n.euler("b", (3, 2, 1), q, axis="-x", reference="z")
    rest = dict.fromkeys(q, 0)
    nominal = [[float(substitute(x, rest)) for x in row] for row in ball.cosines]
    assert nominal == [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]
    assert ball.spins[0] == (q[0], -n.x)


# -- adding angles ---------------------------------------------------------------------------------
def test_turns_about_one_line_add_their_angles() -> None:
    """With add_angles, parallel hinges give functions of the sum, opposite ones of a difference."""
    q = [coordinate(f"q{i}") for i in range(4)]
    n = Frame.root("n", add_angles=True)
    a = n.rotated("a", "z", q[0])
    b = a.rotated("b", "z", q[1])
    c = b.rotated("c", "-z", q[2])
    assert b.x @ n.x is cos(q[0] + q[1])
    assert trigonometry(c.x @ n.x, c.y @ n.y) <= {"cos(q0 + q1 - q2)", "sin(q0 + q1 - q2)"}
    assert trigonometry(c.x @ a.x) <= {"cos(q1 - q2)", "sin(q1 - q2)"}
    assert b.rotated("d", "x", q[3]).y @ a.x is -cos(q[3]) * sin(q[1])
    flipped = a.aligned("e").with_rpy("f", math.pi, 0, 0).rotated("g", "z", q[1])
    assert flipped.x @ n.x is cos(q[0] - q[1])


# -- angle, magnitude, direction, projection -------------------------------------------------------
def test_angle_is_right_in_all_quadrants() -> None:
    """angle() from x to a vector at every 15 degrees, in its plane and seen from both sides."""
    n = Frame.root("n")
    q = coordinate("q")
    b = n.rotated("b", "z", q)
    u, v = symbols("u v")
    w = symbol("w")
    in_plane = angle(n.x, u * n.x + v * n.y, n.z)
    mixed_frames = angle(n.x, 2 * b.x, 3 * n.z)
    skew_view = angle(n.x, u * n.x + v * n.y, n.z + w * n.x)
    plain = angle(n.x, u * n.x + v * n.y)
    for degrees in range(-180, 181, 15):
        true = math.radians(degrees)
        values = {u: math.cos(true), v: math.sin(true), q: true, w: 0.3}
        found = evaluate_all([in_plane, mixed_frames, skew_view, plain], values)
        assert abs(math.remainder(found[0] - true, math.tau)) < 1e-12
        assert abs(math.remainder(found[1] - true, math.tau)) < 1e-12
        assert abs(math.remainder(found[2] - true, math.tau)) < 1e-12
        assert found[3] == pytest.approx(abs(true), abs=1e-12)
    opposite = angle(n.x, u * n.x + v * n.y, -n.z)
    (found,) = evaluate_all([opposite], {u: -0.5, v: 0.5})
    assert found == pytest.approx(-3 * math.pi / 4)


def test_angle_out_of_plane_takes_the_sign_of_the_third_vector() -> None:
    """Between vectors in space the size is acos of the cosine, the sign that of v3 · (v1 × v2)."""
    random = np.random.default_rng(11)
    n = Frame.root("n")
    names = symbols("x1 x2 x3 y1 y2 y3 z1 z2 z3")
    v1, v2, v3 = (n.vector(*names[i : i + 3]) for i in (0, 3, 6))
    signed = angle(v1, v2, v3)
    for _ in range(20):
        numbers_ = random.normal(size=9)
        a, b, c = numbers_[:3], numbers_[3:6], numbers_[6:]
        size = math.acos(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
        (found,) = evaluate_all([signed], dict(zip(names, numbers_, strict=True)))
        assert found == pytest.approx(math.copysign(size, c @ np.cross(a, b)), abs=1e-12)


def test_slip_angle_is_lateral_over_forward() -> None:
    """With a small lateral speed and a positive forward one, the slip angle is (v + L r)/V."""
    V = symbol("V", sign="positive")
    v, r = symbol("v", "speed", small=1), symbol("r", "speed", small=1)
    L = symbol("L")
    n = Frame.root("n")
    b = n.rotated("b", "z", coordinate("q"))
    contact = V * b.x + v * b.y + (r * b.z ^ L * b.x)
    assert angle(b.x, contact, b.z) is (v + L * r) / V


def test_projection_lies_in_the_plane() -> None:
    """A projected vector has no part along the normal and differs only by that."""
    tree = tree_of([("axis", 0), ("euler", 1), ("inclined", 0)], 3)
    random = np.random.default_rng(2)
    (v, v_at), (w, w_at) = mixed(tree, random), mixed(tree, random)
    a, b = v_at(0.5), w_at(0.5)
    values = tree.values(0.5)
    flat = project_on_plane(v, w)
    found = numbers(flat, tree.frames[0], values)
    assert found @ b == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(found, a - (a @ b) / (b @ b) * b, atol=1e-9)
    n = Frame.root("n")
    assert project_on_plane(3 * n.z, n.z) == ZERO_VECTOR
    assert project_on_plane(n.x + 2 * n.z, -5 * n.z) == n.x


def test_magnitude_and_direction() -> None:
    """|v| and v/|v| in mixed bases agree with NumPy; simple cases come out simple."""
    tree = tree_of([("axis", 0), ("quaternion", 1)], 9)
    v, at = mixed(tree, np.random.default_rng(4))
    values = tree.values(0.0)
    (size,) = evaluate_all([magnitude(v)], values)
    assert size == pytest.approx(float(np.linalg.norm(at(0.0))), rel=1e-9)
    np.testing.assert_allclose(
        numbers(direction_of(v), tree.frames[0], values), unit(at(0.0)), atol=1e-9
    )
    b = Frame.root("n").rotated("b", "x", coordinate("q"))
    L = symbol("L", sign="positive")
    assert magnitude(L * b.z) is L
    assert direction_of(L * b.z) == b.z
    with pytest.raises(VectorError, match="no direction"):
        direction_of(ZERO_VECTOR)
    with pytest.raises(VectorError, match="zero vector"):
        angle(b.x, ZERO_VECTOR)


# -- calculus on vectors ---------------------------------------------------------------------------
def test_partial_leaves_directions_alone() -> None:
    """∂/∂u of u1 n1 + u2 sin(q) a2 acts on coefficients only; so does substitution."""
    q, u1, u2 = coordinate("q"), speed("u1"), speed("u2")
    n = Frame.root("n")
    a = n.rotated("a", "x", q)
    v = u1 * n.x + u2 * sin(q) * a.y
    assert v.diff(u2) == sin(q) * a.y
    assert v.diff(q) == u2 * cos(q) * a.y
    assert v.substitute({u1: q, u2: 0}) == q * n.x
    assert v.nominal() == ZERO_VECTOR
    assert (v + 2 * a.z).nominal() == 2 * a.z
    assert v.free_symbols() == free_symbols(q + u1 + u2)
    D = v | a.y
    assert D.diff(u1) == outer(n.x, a.y)
    assert D.substitute({u2: 0}) == u1 * (n.x | a.y)
    assert D.nominal() == ZERO_DYADIC
    assert D.free_symbols() == v.free_symbols()


def test_angular_velocity_can_be_given_in_speeds() -> None:
    """ω of a frame in body speeds replaces the sum of angle rates, also for the frames below."""
    q = [coordinate(f"q{i}") for i in range(4)]
    p = [speed(f"p{i}") for i in range(4)]
    n = Frame.root("n")
    b = n.euler("b", "zyx", q[:3])
    c = b.rotated("c", "y", q[3])
    motion = Motion({q[3]: p[3]}, {b: b.vector(*p[:3])})
    assert motion.angular_velocity(c) == b.vector(p[0], p[1] + p[3], p[2])
    assert motion.angular_velocity(c, b) == p[3] * b.y
    side = n.rotated("s", "z", q[3])
    assert motion.angular_velocity(b, side) == b.vector(*p[:3]) - p[3] * n.z
    assert motion.angular_velocity(side, b) == p[3] * n.z - b.vector(*p[:3])
    assert b.x.dt(motion) == p[2] * b.y - p[1] * b.z
    given_here = Motion({}, relative_velocities={b: b.vector(*p[:3]), c: p[0] * b.y})
    assert c.angular_velocity(given_here) == b.vector(p[0], p[0] + p[1], p[2])
    with pytest.raises(VectorError, match="'q3' is not known"):
        c.angular_velocity(Motion({}, {b: b.vector(*p[:3])}))


def test_derivative_of_truncated_directions_keeps_first_order() -> None:
    """With a small angle the cosines are truncated, and ω × u still gives the true velocity."""
    q, u = symbol("q", "coordinate", small=1), symbol("u", "speed", small=1)
    L, h = symbols("L h")
    n = Frame.root("n")
    b = n.rotated("b", "x", q)
    assert b.y @ n.y is ONE
    assert b.z @ n.y is -q
    velocity = (L * b.y + h * b.z).dt({q: u})
    assert velocity == L * u * b.z - h * u * b.y
    assert velocity @ n.z is L * u - h * u * q
    assert (velocity + n.z) @ n.z is 1 + L * u


def test_products_follow_the_threshold_of_smallness() -> None:
    """A product found under one threshold is not returned under another."""
    q, r = (symbol(name, "coordinate", small=1) for name in "qr")
    n = Frame.root("n")
    with smallness_threshold(4):
        b = n.rotated("a", "x", q).rotated("b", "x", r)
        kept = b.y @ n.y
        assert substitute(kept, {r: 0}) is 1 - q**2 / 2
    assert b.y @ n.y is ONE
    with smallness_threshold(4):
        assert b.y @ n.y is kept


def test_moving_matrix_gives_its_angular_velocity() -> None:
    """A frame by a matrix of expressions turns as the matrix says."""
    q, u = coordinate("q"), speed("u")
    n = Frame.root("n")
    b = n.with_matrix("b", [[1, 0, 0], [0, cos(q), -sin(q)], [0, sin(q), cos(q)]])
    assert b.directions[0] is n.directions[0]
    assert b.angular_velocity({q: u}) == u * n.x


# -- identity, order, text -------------------------------------------------------------------------
def test_equal_content_is_equal() -> None:
    """Order of building does not matter for equality, hash or text; other bases are not equal."""
    n = Frame.root("n")
    b = n.rotated("b", "z", coordinate("q"))
    x, y = symbols("x y")
    v, w = x * n.x + y * b.y - n.z, -n.z + y * b.y + x * n.x
    assert v == w
    assert hash(v) == hash(w)
    assert str(v) == str(w) == "x*n.x - n.z + y*b.y"
    assert v - w == ZERO_VECTOR
    assert not v - w
    assert b.x != b.x.expressed(n)
    assert vector_total([v, w, -v]) == w
    assert len({v | w, w | v, v | n.x}) == 2
    assert v != 1


def test_text_of_vectors_and_dyadics() -> None:
    """Signs, ones, sums and zero are written as people write them; LaTeX has hats."""
    n = Frame.root("n")
    a, b = symbols("a b")
    assert str(n.vector(a + b, -a, -1)) == "(a + b)*n.x - a*n.y - n.z"
    assert str(n.vector(-a - b, 0, 2)) == "-(a + b)*n.x + 2*n.z"
    assert str(ZERO_VECTOR) == str(ZERO_DYADIC) == "0"
    assert str(a * (n.x | n.y) - (n.z | n.z)) == "a*(n.x|n.y) - (n.z|n.z)"
    latex = n.vector(a, 0, -1)._repr_latex_()
    assert latex == r"$a\,\hat{\mathbf{n}}_{x} - \hat{\mathbf{n}}_{z}$"
    assert r"\hat{\mathbf{n}}_{x}\,\hat{\mathbf{n}}_{y}" in (n.x | n.y).latex()
    assert Frame.root("left_arm").x.latex() == r"\hat{\mathbf{left\_arm}}_{x}"


_SCRIPT = """
from linkwright.algebra import Frame, symbols
p, q, r, s = symbols("p q r s", "coordinate")
n = Frame.root("n")
make = {"a": lambda: n.rotated("a", "x", q), "b": lambda: n.euler("b", "zxz", (q, r, s))}
made = {name: make[name]() for name in ORDER}
a, b = made["a"], made["b"]
c, d = a.rotated("c", "y", p), b.rotated("d", "z", r)
v = p * d.x + q * c.x + r * b.y + n.z
print(v, v @ d.y, v ^ c.x, (v | v), v.dt({p: q, q: r, r: s, s: p}))
"""


@seldom(
    daily="tests/algebra/test_algebra.py::test_order_and_digests_do_not_depend_on_hash_seed_or_creation_order"
)
def test_text_does_not_depend_on_hash_seed_or_creation_order() -> None:
    """Four processes with two hash seeds and two orders of making frames print the same."""
    outputs = set()
    for seed, order in itertools.product("12", (["a", "b"], ["b", "a"])):
        script = _SCRIPT.replace("ORDER", repr(order))
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert len(outputs.pop()) > 500


# -- limits ----------------------------------------------------------------------------------------
def test_chain_of_two_thousand_frames() -> None:
    """Products, velocities and derivatives across 2,000 frames work, and are right."""
    count = 2000
    n = Frame.root("n")
    q, u = symbols("q", "coordinate")[0], symbols("u", "speed")[0]
    frame, matrix = n, np.eye(3)
    angle_value = 0.01
    for i in range(count):
        axis = "xyz"[i % 3]
        frame = frame.rotated(f"f{i}", axis, q)
        matrix = matrix @ Rotation.from_euler(axis, angle_value).as_matrix()
    found = [evaluate_all(list(row), {q: angle_value}) for row in frame.direction_cosines(n)]
    np.testing.assert_allclose(np.array(found, dtype=float), matrix.T, atol=1e-12)
    omega = frame.angular_velocity({q: u})
    assert len(omega.terms) == count
    observer = frame
    for _ in range(30):
        assert observer.parent is not None
        observer = observer.parent
    assert common_ancestor(frame, observer) is observer
    seen = frame.x.dt({q: u}, observer) @ frame.y
    (spin,) = evaluate_all([seen], {q: 0.0, u: 1.0})
    assert spin == pytest.approx(10)


def test_parallel_chain_has_one_direction_for_its_hinges() -> None:
    """2,000 parallel hinges: ω has one term, and the hinge line is one object all along."""
    n = Frame.root("n", add_angles=True)
    q, u = coordinate("q"), speed("u")
    frame = n
    for i in range(2000):
        frame = frame.rotated(f"f{i}", "z", q)
    assert frame.z is not None
    assert frame.directions[2] is n.directions[2]
    assert frame.angular_velocity({q: u}) == 2000 * u * n.z
    assert frame.x @ n.x is cos(2000 * q)


def test_frames_are_released() -> None:
    """Products keep neither a child nor a sibling alive, and dropping a tree frees it."""
    n = Frame.root("n")
    q = coordinate("q")
    left, right = n.rotated("l", "x", q), n.rotated("r", "y", q)
    for v, w in itertools.product(left.axes, right.axes):
        assert (v @ w) is (w @ v)
        assert (v ^ w) == -(w ^ v)
    gone_left, gone_right = weakref.ref(left), weakref.ref(right)
    del right, v, w
    gc.collect()
    assert gone_right() is None
    assert gone_left() is left
    del left
    gc.collect()
    assert gone_left() is None


def refused(match: str) -> Any:
    return pytest.raises(VectorError, match=match)


def test_wrong_frames_are_refused() -> None:
    """Each wrong argument is answered by what is wrong with it."""
    n = Frame.root("n")
    q = coordinate("q")
    with refused("no axis"):
        n.rotated("b", 4, q)
    with refused("no axis"):
        n.rotated("b", "w", q)
    with refused("length zero"):
        n.rotated("b", (0, 0, 0), q)
    with refused("3 components"):
        n.rotated("b", (1, 0), q)
    with refused("parallel"):
        n.rotated("b", "x", q, reference=(2, 0, 0))
    with refused("does not stand still"):
        n.rotated("b", n.rotated("a", "x", q).y, q, body_axis=1)
    with refused("sequence of three axes"):
        n.euler("b", "xxy", (q, q, q))
    with refused("sequence of three axes"):
        n.euler("b", "xy", (q, q))
    with refused("3 angles"):
        n.euler("b", "xyx", (q, q))
    with refused("4 parts"):
        n.oriented("b", (1, 0, 0))
    with refused("not a rotation"):
        n.with_matrix("b", [[1, 0, 0], [0, 2, 0], [0, 0, 1]])
    with refused("reflection"):
        n.with_matrix("b", [[1, 0, 0], [0, 1, 0], [0, 0, -1]])
    with refused("name of a frame"):
        Frame.root("2b")
    with refused("different roots"):
        _ = n.x @ Frame.root("m").x


def test_nothing_changes_once_made() -> None:
    """Frames, directions, vectors and dyadics refuse assignment, and copies are themselves."""
    n = Frame.root("n")
    with refused("Frame.root"):
        Frame()
    for thing in (n, n.directions[0], n.x, n.x | n.y):
        with refused("never changes"):
            setattr(thing, "name", "m")  # noqa: B010
    with refused("use `@`"):
        n.x * n.y  # type: ignore[operator]
    assert np.float64(2.0) * n.x == 2 * n.x
    with pytest.raises(TypeError):
        n.x + 1  # type: ignore[operator]
