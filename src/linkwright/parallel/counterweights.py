"""Counterweights: the moments that make the greatest effort of actuators at rest least.

A counterweight of mass m at an arm a of a body puts the moment m g a on it; what its place beside
that arm adds is the same in every pose. Gravity does the power k g . (w x e) on a moment k = m a
along the unit vector e of a body that turns with w, so that the efforts of actuators are linear in
the moments. The least greatest effort over some poses is then a linear program, solved exactly
(scipy.optimize.linprog, HiGHS). A weight whose angle may be chosen has two components, and a moment
found as their root of squares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError, unknown
from linkwright.base.reprs import one_line
from linkwright.base.results import Result

if TYPE_CHECKING:
    from linkwright.equations.tree import Results, Tree
    from linkwright.equations.writer import Writer
    from linkwright.program import Program
    from linkwright.robots import Robot

__all__ = ["Counterbalance", "Counterweight", "counterbalance"]

Array = NDArray[np.float64]
_EXACT = 1e-9


@one_line
@dataclass(frozen=True, slots=True)
class Counterweight:
    """A weight on one body or, with the same moment, on several.

    Args:
        bodies: their names.
        along: from the body's origin toward the weight, in the body's axes.
        across: a second direction, where the angle may be chosen: then the weight lies anywhere in
            the plane of both.
        most: greatest moment, kg*m.

    >>> Counterweight(("arm",), (0, 0, -2)).directions
    (array([ 0.,  0., -1.]),)
    """

    bodies: tuple[str, ...]
    along: tuple[float, float, float]
    across: tuple[float, float, float] | None = None
    most: float = math.inf

    @property
    def directions(self) -> tuple[Array, ...]:
        """Unit vectors of its components."""
        given = (self.along,) if self.across is None else (self.along, self.across)
        found = [np.array(d, dtype=float) for d in given]
        if any(d.shape != (3,) or not np.linalg.norm(d) > 0.0 for d in found):
            raise InputError(
                f"a counterweight lies along {self.along}, which is not a direction",
                remedy="give three numbers, not all zero",
            )
        return tuple(d / np.linalg.norm(d) for d in found)


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class Counterbalance(Result):
    """Counterweights and what they do.

    Args:
        moments: of each weight, kg*m, on each of its bodies.
        angles: from `along` toward `across`, rad; 0 where the angle is fixed.
        before: greatest effort of an actuator without the weights, N*m or N.
        peak: greatest effort with them.
        efforts: of the actuators with them, by pose.
        exact: whether nothing is left in any of the poses.

    >>> Counterbalance({"arm": 2.0}, {"arm": 0.0}, 50.0, 0.0, np.zeros((1, 1)), True).exact
    True
    """

    moments: dict[str, float]
    angles: dict[str, float]
    before: float
    peak: float
    efforts: Array = field(repr=False)
    exact: bool = False
    _units = (
        ("moments", "kg*m"),
        ("angles", "rad"),
    )


@worded
def counterbalance(
    robot: Robot,
    q: ArrayLike,
    weights: Mapping[str, Counterweight],
    *,
    actuators: Sequence[str] | None = None,
) -> Counterbalance:
    """Return the counterweights that make the greatest effort at rest least.

    Args:
        robot: whose speeds are those of its actuators.
        q: coordinates of poses, one row each; of a closed loop closed ones.
        weights: by names of your own.
        actuators: whose efforts count, by the names of their speeds; all by default.

    >>> import linkwright as lw
    >>> m = lw.Mechanism("lever")
    >>> arm = m.body("arm", rotate="y", mass=2, com=(0.5, 0, 0), inertia=0)
    >>> m.gravity()
    >>> poses = np.linspace(0, 1, 5)[:, None]
    >>> found = counterbalance(
    ...     lw.Robot(m), poses, {"weight": Counterweight(("arm",), (-1, 0, 0))}
    ... )
    >>> round(found.moments["weight"], 6), found.exact
    (1.0, True)
    """
    (found,) = balances(robot, q, weights, [tuple(weights)], actuators=actuators)
    return found


def balances(
    robot: Robot,
    q: ArrayLike,
    weights: Mapping[str, Counterweight],
    choices: Sequence[Sequence[str]],
    *,
    actuators: Sequence[str] | None = None,
) -> list[Counterbalance]:
    """Return what some choices of the counterweights do, each as `counterbalance` finds it."""
    rows = np.atleast_2d(np.array(q, dtype=float))
    counted = _counted(robot, actuators)
    own = np.asarray(robot.gravity(rows)).reshape(len(rows), -1)
    if not all(choices):
        raise InputError("there are no counterweights", remedy="give at least one")
    bodies = tuple(dict.fromkeys(body for weight in weights.values() for body in weight.bodies))
    turnings = _turnings(robot, bodies, rows)
    columns = {
        name: [
            sum((_effort(robot, turnings[body], along) for body in weight.bodies), np.zeros(1))
            for along in weight.directions
        ]
        for name, weight in weights.items()
    }
    return [_balance(own, counted, {k: columns[k] for k in names}, weights) for names in choices]


def _balance(
    own: Array,
    counted: Sequence[int],
    efforts: Mapping[str, Sequence[Array]],
    weights: Mapping[str, Counterweight],
) -> Counterbalance:
    """Return the best moments of weights, from the efforts of the components of each."""
    columns = [column for of_one in efforts.values() for column in of_one]
    owners = [name for name, of_one in efforts.items() for _ in of_one]
    shares = np.stack(columns, axis=-1)[:, counted]
    flat = shares.reshape(-1, len(owners))
    found = _least_peak(own[:, counted].ravel(), flat, owners, weights)
    moments, angles = {}, {}
    for name in efforts:
        parts = [x for x, owner in zip(found, owners, strict=True) if owner == name]
        moments[name] = float(np.hypot(*parts)) if len(parts) == 2 else float(parts[0])
        angles[name] = math.atan2(parts[1], parts[0]) if len(parts) == 2 else 0.0
    left = own.copy()
    left[:, counted] += shares @ found
    before = float(np.abs(own[:, counted]).max())
    peak = float(np.abs(left[:, counted]).max())
    return Counterbalance(moments, angles, before, peak, left, peak <= _EXACT * before)


def _counted(robot: Robot, actuators: Sequence[str] | None) -> list[int]:
    """Return the places of the actuators whose efforts count."""
    speeds = list(robot.speeds)
    if actuators is None:
        return list(range(len(speeds)))
    for name in actuators:
        if name not in speeds:
            raise unknown("speed", name, speeds, "Robot.speeds lists them", owner="the robot")
    return [speeds.index(name) for name in actuators]


def _turnings(robot: Robot, bodies: Sequence[str], rows: Array) -> dict[str, tuple[Array, Array]]:
    """Return the rotations of bodies and the Jacobians of their angular velocities, by pose.

    All of them come from one kernel: what loops make of speeds is solved for once.
    """
    from linkwright.robots import kinematics
    from linkwright.robots.quantity import USUAL_REFERENCE

    spots = [robot.spot(body) for body in bodies]

    def derived(tree: Tree) -> Program:
        def written(w: Writer) -> Results:
            found: dict[str, Any] = {}
            for k, spot in enumerate(spots):
                at, columns = kinematics.pose_and_jacobian(w, tree, spot, USUAL_REFERENCE)
                found[f"R{k}"] = [list(row) for row in at.rotation]
                found[f"J{k}"] = columns[3:]
            return found

        return tree.program("turnings", ["q"], written)

    turning = robot.quantity(f"turnings of {', '.join(bodies)}", derived, weighs=False)
    found = [np.asarray(x) for x in turning(rows)]
    return {body: (found[2 * k], found[2 * k + 1]) for k, body in enumerate(bodies)}


def _effort(robot: Robot, turning: tuple[Array, Array], direction: Array) -> Array:
    """Return the efforts that hold a unit moment along a direction of a body, by pose."""
    rotation, jacobian = turning
    pull = _field(robot)
    couple = np.cross(rotation @ direction, pull)
    return np.asarray(-np.einsum("nij,ni->nj", jacobian, couple))


def _field(robot: Robot) -> Array:
    """Return the acceleration of gravity, along the ground's axes."""
    from linkwright.algebra import evaluate_all

    m = robot.mechanism
    known = {x: m.values[name] for name, x in m.parameters.items() if name in m.values}
    parts: list[Any] = list(m.gravity_vector.components(m.ground.frame))
    return np.array([float(v) for v in evaluate_all(parts, known)])


def _least_peak(
    own: Array, shares: Array, owners: Sequence[str], weights: Mapping[str, Counterweight]
) -> Array:
    """Return the x that makes the largest of |own + shares x| least."""
    from scipy.optimize import linprog

    n = shares.shape[1]
    free = {name for name in owners if owners.count(name) == 2}
    bounds = [
        (-weights[name].most, weights[name].most) if name in free else (0.0, weights[name].most)
        for name in owners
    ]
    one = np.ones((len(own), 1))
    table = np.block([[shares, -one], [-shares, -one]])
    found = linprog(
        np.r_[np.zeros(n), 1.0],
        A_ub=table,
        b_ub=np.r_[-own, own],
        bounds=[*bounds, (0.0, None)],
        method="highs",
    )
    if not found.success:
        raise InputError(
            f"no counterweights were found: {found.message}",
            remedy="check the directions and the greatest moments",
        )
    return np.asarray(found.x[:n])
