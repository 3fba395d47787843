"""All inverse kinematics of an arm with six revolute joints in general position: 16 at most.

There is no closed form for such an arm (Tsai and Morgan 1985; the bound of 16 is Primrose's, 1986,
and Raghavan and Roth's elimination of 1993 reaches it). Written in Denavit and Hartenberg's
parameters all these arms and all poses are one family of equations, whose 16 solutions are known
at one complex member (`linkwright.homotopy`); a homotopy of the parameters carries them to an arm.

The chain is cut in the middle: with L the transform of the first three joints and Q that of the
last three, L = G / Q has to hold for the goal G. The positions of both sides are equal, and the
rotation from one to the other has no skew part.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import ONE, ZERO, Expr, symbol
from linkwright.algebra.expr import scaled
from linkwright.algebra.triples import dot
from linkwright.base.errors import ShapeError
from linkwright.base.rotations import quaternion_of
from linkwright.homotopy.ends import carried
from linkwright.homotopy.family import IMAGINARY, Complex, Family
from linkwright.homotopy.start_sets import StartSet, normal, start_set
from linkwright.robots.ik.closed import NoClosedForm, wrapped
from linkwright.robots.ik.targets import poses

if TYPE_CHECKING:
    from linkwright.robots.robot import Robot

Array = NDArray[np.float64]
BOUND = 16
"""Solutions of the inverse kinematics of six revolute joints, at most (Primrose 1986)."""

_OWNER = "six revolute joints"
_PARALLEL = 1e-9
_REAL = 1e-6
_REACHED = 1e-9
Matrix = list[list[Expr]]


@dataclass(frozen=True, slots=True, eq=False)
class GeneralArm:
    """An arm of six revolute joints by Denavit and Hartenberg's parameters."""

    lengths: Array  # a1 to a5, of the common normals, m
    shifts: Array  # d2 to d5, along the axes, m
    twists: Array  # from one axis to the next, five of them, rad
    offsets: Array  # what is added to the joint angles, rad
    base: Array  # the pose of the first axis
    tool: Array  # the pose of the frame behind the last axis


def general_arm(robot: Robot, frame: str) -> GeneralArm:
    """Return the parameters of an arm with six revolute joints, or say why it is wrong."""
    count = len(robot.coordinates)
    if count != 6 or len(robot.speeds) != 6:
        raise NoClosedForm(f"all branches are found for 6 revolute joints, and there are {count}")
    zero = np.zeros(6)
    twists = robot.jacobian(zero, frame, reference="world")
    axes = twists[3:].T
    if np.any(np.abs(np.linalg.norm(axes, axis=1) - 1) > 1e-6):
        raise NoClosedForm("all branches are found for 6 revolute joints that all move the frame")
    return _parameters(axes, np.cross(axes, twists[:3].T), robot.pose(zero, frame))


def _parameters(axes: Array, points: Array, end: Array) -> GeneralArm:
    """Return the parameters of lines in space: unit vectors along them, and a point of each."""
    normals, feet, heads = [], [], []
    before = None
    for k in range(5):
        normal, foot, head = _common_normal(axes[k], points[k], axes[k + 1], points[k + 1], before)
        normals.append(normal)
        feet.append(foot)
        heads.append(head)
        before = (normal, head)
    lengths = np.array([(h - f) @ n for h, f, n in zip(heads, feet, normals, strict=True)])
    shifts = np.array([(feet[k] - heads[k - 1]) @ axes[k] for k in range(1, 5)])
    turns = [_angle(normals[k], axes[k], axes[k + 1]) for k in range(5)]
    offsets = [0.0, *(_angle(axes[k], normals[k - 1], normals[k]) for k in range(1, 5)), 0.0]
    base, last = _frame(axes[0], normals[0], feet[0]), _frame(axes[5], normals[4], heads[4])
    tool = np.linalg.inv(last) @ end
    return GeneralArm(lengths, shifts, np.array(turns), np.array(offsets), base, tool)


def _common_normal(
    a: Array, p: Array, b: Array, q: Array, before: tuple[Array, Array] | None
) -> tuple[Array, Array, Array]:
    """Return the direction of the common normal of two lines, and where it meets each."""
    cross = np.cross(a, b)
    size = float(np.linalg.norm(cross))
    if size < _PARALLEL:
        foot = p if before is None else before[1]
        head = q + b * (b @ (foot - q))
        way = head - foot
        far = float(np.linalg.norm(way))
        if far > _PARALLEL:
            return way / far, foot, head
        side = np.cross(a, np.eye(3)[int(np.argmin(np.abs(a)))]) if before is None else before[0]
        side = side - a * (a @ side)
        return side / np.linalg.norm(side), foot, head
    normal = cross / size
    matrix = np.column_stack([a, -b, normal])
    s, t, _ = np.linalg.solve(matrix, q - p)
    return normal, p + s * a, q + t * b


def _angle(axis: Array, start: Array, end: Array) -> float:
    return float(np.arctan2(axis @ np.cross(start, end), start @ end))


def _frame(z: Array, x: Array, at: Array) -> Array:
    made = np.eye(4)
    made[:3] = np.column_stack([x, np.cross(z, x), z, at])
    return made


# -- the family ------------------------------------------------------------------------------------
@lru_cache(maxsize=1)
def family() -> Family:
    """Return the equations of all arms with six revolute joints and all poses.

    >>> family().size, len(family().parameters)
    (6, 21)
    """

    def named(name: str, count: int, first: int = 1, role: str = "input") -> list[Expr]:
        return [symbol(f"{name}{k}", role, owner=_OWNER) for k in range(first, first + count)]

    w = named("w", 6, role="coordinate")
    lengths, shifts, twists = named("a", 5), [ZERO, *named("d", 4, 2)], named("t", 5)
    place, four = named("x", 3), named("e", 4, 0)
    links = [_link(*x) for x in zip(w[:5], shifts, lengths, twists, strict=True)]
    first = _product(_product(links[0], links[1]), links[2])
    last = _product(_product(links[3], links[4]), _link(w[5], ZERO, ZERO, ONE))
    goal = _rotation(four)
    # G / Q: rotation G R', position x - G R' q
    ahead = [[dot(goal[i], last[j][:3]) for j in range(3)] for i in range(3)]
    back = [dot(ahead[i], [last[j][3] for j in range(3)]) for i in range(3)]
    columns = [[[m[k][j] for k in range(3)] for j in range(3)] for m in (first, ahead)]
    turn = [[dot(columns[0][i], columns[1][j]) for j in range(3)] for i in range(3)]
    equations = [first[i][3] - place[i] + back[i] for i in range(3)]
    equations += [turn[1][2] - turn[2][1], turn[2][0] - turn[0][2], turn[0][1] - turn[1][0]]
    parameters = (*lengths, *shifts[1:], *twists, *place, *four)
    return Family(
        _OWNER, tuple(w), parameters, tuple(equations), tuple(w), turns=tuple(range(9, 14))
    )


def _cosine(w: Expr) -> Expr:
    return scaled(0.5, w + 1 / w)


def _sine(w: Expr) -> Expr:
    return scaled(-0.5, IMAGINARY * (w - 1 / w))


def _link(w: Expr, d: Expr, a: Expr, t: Expr) -> Matrix:
    """Return the first three rows of Rz(w) Tz(d) Tx(a) Rx(t), angles as exp(i angle)."""
    c, s = _cosine(w), _sine(w)
    n, m = (ONE, ZERO) if t is ONE else (_cosine(t), _sine(t))
    return [[c, -s * n, s * m, a * c], [s, c * n, -c * m, a * s], [ZERO, m, n, d]]


def _product(a: Matrix, b: Matrix) -> Matrix:
    columns = [[b[k][j] for k in range(3)] for j in range(4)]
    moved = [[dot(row[:3], column) for column in columns] for row in a]
    return [[*row[:3], row[3] + old[3]] for row, old in zip(moved, a, strict=True)]


def _rotation(e: list[Expr]) -> Matrix:
    """Return the rotation of a quaternion of any length."""
    w, x, y, z = e
    scale = 1 / (w**2 + x**2 + y**2 + z**2)
    rows = [
        [w**2 + x**2 - y**2 - z**2, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w**2 - x**2 + y**2 - z**2, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w**2 - x**2 - y**2 + z**2],
    ]
    return [[scale * x for x in row] for row in rows]


def _made_up(rng: np.random.Generator) -> tuple[Complex, Complex]:
    """Return a random complex arm in a random configuration, with the goal that it reaches."""
    w = np.exp(1j * (rng.uniform(-3, 3, 6) + 0.3j * rng.normal(size=6)))
    lengths, shifts = normal(rng, 5), normal(rng, 4)
    twists = np.exp(1j * (rng.uniform(-3, 3, 5) + 0.3j * rng.normal(size=5)))
    whole = np.eye(4, dtype=complex)
    for k in range(6):
        d = shifts[k - 1] if 0 < k < 5 else 0
        whole = whole @ _numbers(w[k], d, *((lengths[k], twists[k]) if k < 5 else (0, 1)))
    r = whole[:3, :3]
    first = np.sqrt(1 + np.trace(r)) / 2
    rest = np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]) / (4 * first)
    goal = np.concatenate([whole[:3, 3], [first], rest])
    return w, np.concatenate([lengths, shifts, twists, goal])


def _numbers(w: complex, d: complex, a: complex, t: complex) -> Complex:
    c, s, n, m = (w + 1 / w) / 2, (w - 1 / w) / 2j, (t + 1 / t) / 2, (t - 1 / t) / 2j
    return np.array(
        [[c, -s * n, s * m, a * c], [s, c * n, -c * m, a * s], [0, m, n, d], [0, 0, 0, 1]]
    )


def start() -> StartSet:
    """Return the 16 solutions of one complex arm."""
    return start_set(family(), seed=_made_up, bound=BOUND)


# -- branches --------------------------------------------------------------------------------------
def general_branches(arm: GeneralArm, target: ArrayLike) -> Array:
    """Return all solutions, 16 x 6 with nan in those that do not exist, angles in (-pi, pi].

    They are in the order of the angles.
    """
    goal = poses(target)
    if goal.shape != (4, 4):
        raise ShapeError("a pose is a 4 x 4 matrix")
    inner = np.linalg.inv(arm.base) @ goal @ np.linalg.inv(arm.tool)
    pose = [*inner[:3, 3], *quaternion_of(inner[:3, :3])]
    turns = np.exp(1j * arm.twists)
    p = np.concatenate([arm.lengths, arm.shifts, turns, pose]).astype(complex)
    ends = carried(family(), start(), p)
    found = []
    for w in ends.z:
        if np.abs(np.abs(w) - 1).max() < _REAL:
            q = np.angle(w)
            if np.abs(_reached(arm, q) - inner).max() < _REACHED:
                found.append(wrapped(q - arm.offsets))
    rows = np.full((BOUND, 6), np.nan)
    if found:
        ordered = np.array(sorted(found, key=lambda q: [round(float(x), 9) for x in q]))
        rows[: len(ordered)] = ordered
    return rows


def _reached(arm: GeneralArm, q: Array) -> Array:
    whole = np.eye(4, dtype=complex)
    for k in range(6):
        d = arm.shifts[k - 1] if 0 < k < 5 else 0.0
        a, t = (arm.lengths[k], np.exp(1j * arm.twists[k])) if k < 5 else (0.0, 1.0)
        whole = whole @ _numbers(np.exp(1j * q[k]), d, a, t)
    return np.asarray(whole.real)
