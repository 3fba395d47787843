"""Parameters of a robot from recorded motion and forces.

Forces are linear in the parameters, tau = Y p. What the data can distinguish are the base
parameters; they are found by least squares in which each joint counts by the noise of its own force
(estimated, and weighed anew until it settles), with standard deviations from the covariance.

Base parameters alone do not make a robot: masses may come out negative. So beside them, all
parameters are found that explain the data best among those that a distribution of positive mass can
have (`linkwright.robots.identification.physical`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError, ShapeError
from linkwright.base.results import Result
from linkwright.formats.robot.description import Description, Mass
from linkwright.robots.identification.excitation import scaled_condition
from linkwright.robots.identification.physical import best_physical
from linkwright.robots.regressor import base_of

if TYPE_CHECKING:
    from linkwright.robots.robot import Robot

Array = NDArray[np.float64]
_ROUNDS = 5
_PULL = 1e-6
_LITTLE = 1e-2  # of friction and rotor inertia to begin with
_EXACT = 1e-6  # of the forces: noise that is taken for no less


@dataclass(frozen=True, slots=True)
class BaseEstimate:
    """A base parameter that was found, with how well it is known.

    Args:
        name: of the parameter, with what is counted with it.
        value: what was found.
        deviation: its standard deviation.

    >>> BaseEstimate("link.m", 2.0, 0.1).confidence
    (1.804, 2.196)
    """

    name: str
    value: float
    deviation: float

    @property
    def confidence(self) -> tuple[float, float]:
        """The interval that holds it with 95 %."""
        return self.value - 1.96 * self.deviation, self.value + 1.96 * self.deviation


@dataclass(frozen=True, slots=True)
class Estimate(Result):
    """What was found of a robot's parameters.

    Args:
        base: the parameters that the data distinguish.
        parameters: all of them, physically possible, by name.
        residuals: standard deviation of the forces that are not explained, for each joint.
        physical_residuals: the same with the physically possible parameters.
        condition: of the scaled base regressor.
        samples: states that were used.

    >>> found = Estimate(
    ...     (BaseEstimate("m", 2.0, 0.1),), {"m": 2.0}, np.zeros(1), np.zeros(1), 1, 10
    ... )
    >>> print(found.summary())
    parameter         value     deviation    share
    m                     2           0.1    5.0 %
    """

    base: tuple[BaseEstimate, ...]
    parameters: dict[str, float]
    residuals: Array
    physical_residuals: Array
    condition: float
    samples: int

    def table(self) -> list[tuple[str, ...]]:
        """Return heads and rows: the base parameters with their deviations."""
        rows: list[tuple[str, ...]] = [("parameter", "value", "deviation", "share")]
        for b in self.base:
            share = abs(b.deviation / b.value) if b.value else np.inf
            text = f"{100 * share:.1f} %" if share < 10 else "-"
            rows.append((b.name, f"{b.value:.6g}", f"{b.deviation:.3g}", text))
        return rows


def estimate(
    robot: Robot,
    q: ArrayLike,
    u: ArrayLike,
    a: ArrayLike,
    tau: ArrayLike,
    *,
    joints: bool = True,
    prior: ArrayLike | None = None,
    prior_weight: float = _PULL,
    find: Sequence[str] | None = None,
    counted: Sequence[str] | None = None,
) -> Estimate:
    """Return the parameters that explain recorded forces.

    Args:
        robot: whose geometry is known.
        q: coordinates, one row for each sample.
        u: speeds, likewise.
        a: accelerations, likewise.
        tau: forces, likewise.
        joints: whether to find rotor inertia and friction of the joints too.
        prior: inertial parameters as known before, or those of the joints too; the robot's own by
            default, of joints 0.
        prior_weight: weight of the prior beside the data, for a parameter that they leave open.
        find: names of the parameters to find, with all ten of a link or none; others stay what
            they are known to be. All by default.
        counted: speeds whose forces count; all by default.

    >>> import linkwright as lw
    >>> robot = lw.Robot(lw.load("double-pendulum"))
    >>> _, q, u, a = lw.identification.excite(robot, trials=2, samples=20).sampled(10)
    >>> found = estimate(robot, q, u, a, tau=robot.inverse_dynamics(q, u, a))
    >>> bool(found.residuals.max() < 1e-9)
    True
    """
    y, forces = _data(robot, q, u, a, tau, joints)
    every = robot.full_names if joints else robot.inertial_names
    known: Array = np.zeros(len(every))
    before = robot.inertial_parameters if prior is None else np.asarray(prior, dtype=float)
    known[: len(before)] = before
    found = [k for k, name in enumerate(every) if find is None or name in find]
    rest = np.setdiff1d(np.arange(len(every)), found)
    names = tuple(every[k] for k in found)
    if counted is not None:
        own = [list(robot.speeds).index(name) for name in counted]
        y, forces = y[:, own], forces[:, own]
    forces = forces - y[:, :, rest] @ known[rest]
    y = y[:, :, found]
    count, n = forces.shape
    chosen = base_of(y.reshape(count, n, -1), names)
    columns = list(chosen.columns)
    rows, goals = _packed(y, forces)
    scales: Array = np.ones(n)
    least = _EXACT * max(float(np.sqrt(np.mean(forces**2))), 1e-300)
    base: Array = np.zeros(len(columns))
    for _ in range(_ROUNDS):
        weighted = (rows[:, :, columns] / scales[:, None, None]).reshape(-1, len(columns))
        goal = (goals / scales[:, None]).ravel()
        base = np.asarray(np.linalg.lstsq(weighted, goal, rcond=None)[0])
        left = goals - rows[:, :, columns] @ base
        freedom = max(count - len(columns) / n, 1.0)
        scales = np.maximum(np.sqrt((left**2).sum(axis=1) / freedom), least)
    weighted = (rows[:, :, columns] / scales[:, None, None]).reshape(-1, len(columns))
    triangle = np.asarray(np.linalg.qr(weighted, mode="r"))
    covariance = np.linalg.inv(triangle)
    deviations = np.linalg.norm(covariance, axis=1)
    links = [k for k in found if k < len(robot.inertial_names)]
    small = known[found[len(links) :]]
    whole = best_physical(
        (rows / scales[:, None, None]).reshape(-1, len(names)),
        (goals / scales[:, None]).ravel(),
        known[links],
        np.where(small > 0, small, _LITTLE),
        prior_weight * forces.size,
    )
    known[found] = whole
    physical_left = forces - y @ whole
    return Estimate(
        tuple(
            BaseEstimate(names[k], float(v), float(d))
            for k, v, d in zip(columns, base, deviations, strict=True)
        ),
        dict(zip(every, map(float, known), strict=True)),
        np.std(forces - y[:, :, columns] @ base, axis=0),
        np.std(physical_left, axis=0),
        scaled_condition(triangle),
        count,
    )


def _packed(y: Array, forces: Array) -> tuple[Array, Array]:
    """Return for each joint a triangle and right sides that have the squares of all its samples."""
    both = np.concatenate([y, forces[:, :, None]], axis=2).transpose(1, 0, 2)
    packed = np.asarray(np.linalg.qr(both, mode="r"))
    return packed[..., :-1], packed[..., -1]


def _data(
    robot: Robot, q: ArrayLike, u: ArrayLike, a: ArrayLike, tau: ArrayLike, joints: bool
) -> tuple[Array, Array]:
    given = [np.atleast_2d(np.asarray(x, dtype=float)) for x in (q, u, a, tau)]
    if len({len(x) for x in given}) > 1:
        raise ShapeError("q, u, a and tau have different numbers of samples")
    if not all(np.all(np.isfinite(x)) for x in given):
        raise InputError("the samples hold numbers that are not finite")
    forces = given[3]
    if forces.shape[1] != len(robot.speeds):
        raise ShapeError(f"tau has {forces.shape[1]} columns for {len(robot.speeds)} speeds")
    make = robot.joint_regressor if joints else robot.regressor
    y = np.asarray(make(*given[:3]))
    if y.shape[0] * y.shape[1] < y.shape[2]:
        raise InputError(
            f"{len(forces)} samples are too few for {y.shape[2]} parameters",
            remedy="record a longer motion",
        )
    return y, forces


def with_estimate(robot: Robot, found: Estimate) -> Description:
    """Return the description of a robot with the parameters that were found written back.

    Links that are fixed to another count with it, and have no mass of their own afterward.

    Args:
        robot: from a file, or from a mechanism that is a tree.
        found: its parameters.

    >>> import linkwright as lw
    >>> robot = lw.Robot(lw.load("double-pendulum"))
    >>> _, q, u, a = lw.identification.excite(robot, trials=2, samples=20).sampled(10)
    >>> found = estimate(robot, q, u, a, tau=robot.inverse_dynamics(q, u, a))
    >>> round(with_estimate(robot, found).links[1].mass.mass, 1)
    1.0
    """
    description = _described(robot)
    carrier = _carriers(description, robot.links)
    links = []
    for link in description.links:
        if link.name in robot.links:
            p = np.array([found.parameters[f"{link.name}.{key}"] for key in _KEYS])
            links.append(replace(link, mass=Mass(*_about_center(p))))
        elif carrier.get(link.name) is not None:
            links.append(replace(link, mass=None))
        else:
            links.append(link)
    coordinates = {j.name: j.coordinates[0].name for j in robot.assembled.joints}
    joints = []
    for joint in description.joints:
        name, known = coordinates.get(joint.name, joint.name), found.parameters
        joints.append(
            replace(
                joint,
                armature=known.get(f"{name}.rotor", joint.armature),
                damping=known.get(f"{name}.viscous", joint.damping),
                friction=known.get(f"{name}.dry", joint.friction),
            )
        )
    return replace(description, links=tuple(links), joints=tuple(joints))


def _described(robot: Robot) -> Description:
    if isinstance(robot.source, Description):
        return robot.source
    from linkwright.formats.robot.from_mechanism import description_of

    return description_of(robot.source)


_KEYS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


def _carriers(description: Description, moved: Sequence[str]) -> dict[str, str | None]:
    """Return for each link the moved link that it is fixed to; None on the ground."""
    above = {j.child: j.parent for j in description.joints}
    found: dict[str, str | None] = {}
    for link in description.links:
        name: str | None = link.name
        while name is not None and name not in moved:
            name = above.get(name)
        found[link.name] = name
    return found


def _about_center(p: Array) -> tuple[float, Any, Any]:
    """Return mass, center and inertia about the center from the ten parameters."""
    m = float(p[0])
    x, y, z = (float(v) / m for v in p[1:4])
    xx, xy, yy, xz, yz, zz = (float(v) for v in p[4:])
    inertia = (
        xx - m * (y * y + z * z),
        yy - m * (x * x + z * z),
        zz - m * (x * x + y * y),
        xy + m * x * y,
        yz + m * y * z,
        xz + m * x * z,
    )
    return m, (x, y, z), inertia
