"""Rotations in numbers, against SciPy: at random, near none, at half turns and on the axes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from linkwright.base.rotations import (
    axis_rotation,
    cross,
    exponential,
    inertia_tensor,
    logarithm,
    point_inertia,
    quaternion_matrix,
    quaternion_of,
    quaternion_product,
    rotation_vectors,
    skew,
    turned,
)

Array = NDArray[np.float64]

rng = np.random.default_rng(29)
WAYS = rng.normal(size=(40, 3))
WAYS = np.concatenate([WAYS / np.linalg.norm(WAYS, axis=1)[:, None], np.eye(3), -np.eye(3)])
ANGLES = {
    "any": rng.uniform(-3.1, 3.1, (len(WAYS), 1)),
    "none": np.zeros((len(WAYS), 1)),
    "hardly any": rng.uniform(0.0, 1e-7, (len(WAYS), 1)),
    "half turns": np.full((len(WAYS), 1), np.pi),
    "nearly half turns": np.pi - rng.uniform(0.0, 1e-7, (len(WAYS), 1)),
    "quarter turns": np.full((len(WAYS), 1), np.pi / 2),
}


def scalar_first(rotation: Rotation) -> Array:
    return np.asarray(rotation.as_quat()[:, [3, 0, 1, 2]])


@pytest.fixture(params=ANGLES)
def vectors(request: pytest.FixtureRequest) -> Array:
    return np.asarray(ANGLES[request.param] * WAYS)


def test_a_quaternion_has_the_matrix_that_scipy_gives_it(vectors: Array) -> None:
    theirs = Rotation.from_rotvec(vectors)
    np.testing.assert_allclose(
        quaternion_matrix(scalar_first(theirs)), theirs.as_matrix(), atol=4e-15
    )


def test_a_matrix_has_its_quaternion_with_the_largest_component_positive(vectors: Array) -> None:
    matrices = Rotation.from_rotvec(vectors).as_matrix()
    q = quaternion_of(matrices)
    np.testing.assert_allclose(quaternion_matrix(q), matrices, atol=4e-15)
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1.0, atol=1e-15)
    assert (np.take_along_axis(q, np.abs(q).argmax(axis=1)[:, None], axis=1) > 0.5 - 1e-12).all()
    for one, matrix in zip(q, matrices, strict=True):  # one at a time it is the same, bit by bit
        assert (quaternion_of(matrix) == one).all()


def test_a_product_turns_by_its_second_factor_first(vectors: Array) -> None:
    first, then = Rotation.from_rotvec(vectors), Rotation.from_rotvec(vectors[::-1] + 0.3)
    ours = quaternion_product(scalar_first(then), scalar_first(first))
    np.testing.assert_allclose(quaternion_matrix(ours), (then * first).as_matrix(), atol=4e-15)


def test_vectors_are_turned_as_by_the_matrix(vectors: Array) -> None:
    theirs = Rotation.from_rotvec(vectors)
    arms = rng.normal(size=vectors.shape)
    np.testing.assert_allclose(turned(scalar_first(theirs), arms), theirs.apply(arms), atol=1e-14)


def test_exponential_and_logarithm_are_those_of_scipy(vectors: Array) -> None:
    for vector in vectors:
        theirs = Rotation.from_rotvec(vector)
        q = exponential(vector)
        np.testing.assert_allclose(quaternion_matrix(q), theirs.as_matrix(), atol=4e-15)
        back = logarithm(-q)  # the same rotation
        assert np.linalg.norm(back) <= np.pi + 1e-15
        np.testing.assert_allclose(
            Rotation.from_rotvec(back).as_matrix(), theirs.as_matrix(), atol=4e-15
        )


def test_matrices_have_the_rotation_vectors_that_scipy_gives_them(vectors: Array) -> None:
    below = vectors[np.linalg.norm(vectors, axis=1) < 3]  # half a turn
    ours = rotation_vectors(Rotation.from_rotvec(below).as_matrix())
    np.testing.assert_allclose(ours, below, atol=4e-14)


def test_a_turn_about_an_axis_is_that_of_scipy(vectors: Array) -> None:
    for way, vector in zip(WAYS, vectors, strict=True):
        found = axis_rotation(way, float(way @ vector))
        np.testing.assert_allclose(found, Rotation.from_rotvec(vector).as_matrix(), atol=4e-15)


def test_tensors_are_those_of_points() -> None:
    arm, weights = rng.normal(size=(8, 3)), rng.uniform(1, 2, 8)
    whole = sum(m * point_inertia(r) for m, r in zip(weights, arm, strict=True))
    for axis in np.eye(3):
        far = np.linalg.norm(np.cross(axis, arm), axis=1)
        assert axis @ whole @ axis == pytest.approx(weights @ far**2, rel=1e-13)
    moments = [*np.diag(whole), whole[0, 1], whole[1, 2], whole[2, 0]]
    np.testing.assert_array_equal(inertia_tensor(moments), whole)
    np.testing.assert_array_equal(inertia_tensor([moments] * 2)[1], whole)


def test_vector_products_are_those_of_numpy() -> None:
    a, b = rng.normal(size=(2, 5, 4, 3))
    np.testing.assert_array_equal(cross(a, b), np.cross(a, b))
    np.testing.assert_allclose(skew(a[0, 0]) @ b[0, 0], np.cross(a[0, 0], b[0, 0]), atol=1e-15)
