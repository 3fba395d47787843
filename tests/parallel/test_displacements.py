"""Displacements in six formalisms: they agree, and cost what the report concluded."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from linkwright.base.errors import InputError, ShapeError
from linkwright.parallel.displacements import (
    FORMALISMS,
    OPERATIONS,
    OperationCost,
    displacement,
    displacement_costs,
    displacement_program,
    displacement_table,
    mutual_moment,
)
from linkwright.program import lower
from linkwright.program.code import Code
from linkwright.program.interpret import interpret
from linkwright.program.passes import optimize

POINT = [name for name, form in FORMALISMS.items() if form.moves == "point"]
LINE = [name for name, form in FORMALISMS.items() if form.moves == "line"]


@cache
def code(name: str, operation: str, optimized: bool) -> Code:
    made = displacement_program(name, operation)
    return lower(optimize(made) if optimized else made)


def run(name: str, operation: str, *inputs: np.ndarray, optimized: bool = False) -> np.ndarray:
    return np.asarray(interpret(code(name, operation, optimized), inputs)[0])


def random_pose(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return q * np.sign(np.linalg.det(q)), rng.normal(size=3)


def poses(count: int, seed: int = 1) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return random poses; the first are half turns, where w of the quaternion is zero."""
    rng = np.random.default_rng(seed)
    half = [np.diag(d).astype(float) for d in ([1, -1, -1], [-1, 1, -1], [-1, -1, 1])]
    made = [random_pose(rng) for _ in range(count)]
    return [(r, made[k][1]) for k, r in enumerate(half)] + made


def line(rng: np.random.Generator) -> np.ndarray:
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    return np.concatenate([direction, np.cross(rng.normal(size=3), direction)])


def moved(pose: tuple[np.ndarray, np.ndarray], what: np.ndarray) -> np.ndarray:
    r, p = pose
    if len(what) == 3:
        return np.asarray(r @ what + p)
    turned = r @ what[:3]
    return np.concatenate([turned, r @ what[3:] + np.cross(p, turned)])


# -- they agree ------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", FORMALISMS)
def test_every_formalism_moves_composes_and_goes_back(name: str) -> None:
    """Server checks 23 and 26: transforms, compositions and inverses agree to 1e-12."""
    rng = np.random.default_rng(2)
    found = poses(12)
    for one, other in zip(found, found[1:] + found[:1], strict=True):
        a, b = displacement(name, *one), displacement(name, *other)
        x = rng.normal(size=3) if FORMALISMS[name].moves == "point" else line(rng)
        assert np.abs(run(name, "transform", a, x) - moved(one, x)).max() < 1e-12
        both = run(name, "compose", a, b)
        assert np.abs(run(name, "transform", both, x) - moved(one, moved(other, x))).max() < 1e-12
        back = run(name, "invert", a)
        assert np.abs(run(name, "transform", back, moved(one, x)) - x).max() < 1e-12
        direct = displacement(name, one[0] @ other[0], one[0] @ other[1] + one[1])
        turns = len(both) - 3 if name == "quaternion/vector" else len(both)
        if "3x3" in name or name == "homogeneous":
            turns = 0  # else q and -q are the same
        sign = 1.0 if turns == 0 else np.sign(both[:turns] @ direct[:turns])
        assert np.abs(sign * both[:turns] - direct[:turns]).max(initial=0.0) < 1e-12
        assert np.abs(both[turns:] - direct[turns:]).max(initial=0.0) < 1e-12


@pytest.mark.parametrize("name", FORMALISMS)
def test_what_is_normalized_is_a_displacement_again(name: str) -> None:
    rng = np.random.default_rng(4)
    for pose in poses(5, 3):
        a = displacement(name, *pose)
        rough = a + 1e-4 * rng.normal(size=a.shape)
        made = run(name, "normalize", rough)
        assert np.abs(made - a).max() < 2e-3
        assert np.abs(run(name, "normalize", made) - made).max() < 1e-14
        one = run(name, "compose", made, run(name, "invert", made))
        assert np.abs(one - displacement(name, np.eye(3), np.zeros(3))).max() < 1e-13


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", FORMALISMS)
def test_optimizing_changes_no_value_and_adds_no_operation(name: str, operation: str) -> None:
    rng = np.random.default_rng(5)
    made = displacement_program(name, operation)
    inputs = [rng.normal(size=port.shape) for port in made.inputs]
    plain = run(name, operation, *inputs)
    assert np.abs(run(name, operation, *inputs, optimized=True) - plain).max() < 1e-12 * (
        1 + np.abs(plain).max()
    )
    written, optimized = displacement_costs()[name][operation]
    assert optimized.total <= written.total


# -- what they cost --------------------------------------------------------------------------------
COUNTS = {
    ("homogeneous", "transform"): (9, 9, 0),
    ("homogeneous", "compose"): (33, 24, 0),
    ("homogeneous", "invert"): (9, 6, 0),
    ("homogeneous", "normalize"): (24, 12, 2),
    ("quaternion/vector", "transform"): (15, 18, 0),
    ("quaternion/vector", "compose"): (31, 30, 0),
    ("quaternion/vector", "invert"): (15, 15, 0),
    ("quaternion/vector", "normalize"): (8, 3, 1),
    ("dual 3x3", "transform"): (27, 21, 0),
    ("dual 3x3", "compose"): (81, 63, 0),
    ("dual quaternion", "transform"): (45, 45, 0),
    ("dual quaternion", "compose"): (48, 40, 0),
    ("dual unitary 2x2", "compose"): (96, 80, 0),
    ("dual Pauli", "compose"): (192, 176, 0),
}


@pytest.mark.parametrize(("name", "operation"), COUNTS)
def test_operations_are_as_many_as_the_report_says(name: str, operation: str) -> None:
    """Server check 23: 33/24 and 31/30; the lines' 48/40 and 81/63 (digest, section 3.2)."""
    found = displacement_costs()[name][operation][0]
    assert (found.mul, found.add, found.sqrt) == COUNTS[name, operation]


def cost(name: str, *operations: str) -> int:
    return sum(displacement_costs()[name][operation][0].total for operation in operations)


def depth(name: str, *operations: str) -> int:
    return sum(displacement_costs()[name][operation][0].depth for operation in operations)


def test_the_conclusions_of_the_report_hold() -> None:
    """Server check 26: dual quaternions first among those of lines, and these below points."""
    matrix, pair = "homogeneous", "quaternion/vector"
    assert abs(cost(matrix, "compose") - cost(pair, "compose")) <= 0.1 * cost(matrix, "compose")
    assert depth(matrix, "compose") < depth(pair, "compose") <= 1.25 * depth(matrix, "compose")
    both = ("compose", "normalize")
    assert cost(pair, *both) < 0.8 * cost(matrix, *both)
    assert depth(pair, *both) < 0.6 * depth(matrix, *both)
    assert FORMALISMS[pair].storage < FORMALISMS[matrix].storage
    needed = ("transform", "compose")
    ranked = sorted(LINE, key=lambda name: cost(name, *needed))
    assert ranked == ["dual quaternion", "dual 3x3", "dual unitary 2x2", "dual Pauli"]
    assert min(LINE, key=lambda name: FORMALISMS[name].storage) == "dual quaternion"
    worst = max(cost(name, *needed) for name in POINT)
    assert all(cost(name, *needed) > worst for name in LINE)


def test_the_table_has_a_row_for_each_formalism() -> None:
    head, *rows = displacement_table()
    assert head == ("formalism", "moves", "numbers", *OPERATIONS)
    assert [row[0] for row in rows] == list(FORMALISMS)
    assert rows[0][4] == "33/24 (5) → 33/24 (5)"
    assert OperationCost(3, 2, 1, 4).total == 6


# -- lines -----------------------------------------------------------------------------------------
def test_the_mutual_moment_is_distance_times_sine() -> None:
    """Server check 27: zero for lines that meet or are parallel, d sin(alpha) otherwise."""
    rng = np.random.default_rng(6)

    def through(point: np.ndarray, direction: np.ndarray) -> np.ndarray:
        return np.concatenate([direction, np.cross(point, direction)])

    for _ in range(20):
        point, shift = rng.normal(size=(2, 3))
        a, b = (v / np.linalg.norm(v) for v in rng.normal(size=(2, 3)))
        meets = mutual_moment(through(point + 2 * a, a), through(point - 3 * b, b))
        assert abs(meets) < 1e-14
        assert abs(mutual_moment(through(point, a), through(point + shift, -a))) < 1e-14
        one, other = through(point, a), through(point + shift, b)
        normal = np.cross(a, b)
        sine = np.linalg.norm(normal)
        distance = abs(shift @ normal) / sine
        assert abs(mutual_moment(one, other)) == pytest.approx(distance * sine, abs=1e-13)
        pose = random_pose(rng)
        same = mutual_moment(moved(pose, one), moved(pose, other))
        assert same == pytest.approx(float(mutual_moment(one, other)), abs=1e-12)
    right = mutual_moment(
        through(np.zeros(3), np.array([1.0, 0, 0])),
        through(np.array([0, 0, 2.0]), np.array([0, math.sin(0.3), math.cos(0.3)])),
    )
    assert abs(right) == pytest.approx(2.0 * math.sin(0.3))
    assert mutual_moment(np.ones((4, 6)), np.ones(6)).shape == (4,)


def test_bad_displacements_are_named() -> None:
    with pytest.raises(InputError, match="no formalism 'euler'"):
        displacement_program("euler", "compose")
    with pytest.raises(InputError, match="no operation 'add'"):
        displacement_program("homogeneous", "add")
    with pytest.raises(ShapeError, match="three numbers"):
        displacement("homogeneous", np.eye(3), [0.0])
    with pytest.raises(InputError, match="is not a rotation matrix"):
        displacement("homogeneous", np.diag([1.0, 1.0, -1.0]), [0.0, 0.0, 0.0])
    with pytest.raises(ShapeError, match="six numbers"):
        mutual_moment([1.0, 0.0, 0.0], np.ones(6))
