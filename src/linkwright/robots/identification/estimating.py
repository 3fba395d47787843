"""Parameters of a robot from recorded motion and forces.

Forces are linear in the parameters, tau = Y p. What the data can tell apart are the base
parameters; they are found by least squares in which each joint counts by the noise of its own force
(estimated, and weighed anew until it settles), with standard deviations from the covariance.

Base parameters alone do not make a robot: masses may come out negative. So beside them, all
parameters are found that explain the data best among those that a distribution of positive mass can
have: the pseudo-inertia matrix of each link is positive definite. It is written through its
log-Cholesky factor (Rucker and Wensing, IEEE Robotics and Automation Letters 7, 2022), in which
every vector is such a link, so that no constraint is left; a weak pull, in that vector, to what was
known before settles what the data leave open and keeps links from becoming points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.errors import InputError, ShapeError
from linkwright.robots.identification.cholesky import (
    from_parameters,
    nearest_physical,
    parameters_and_slopes,
)
from linkwright.robots.identification.exciting import scaled_condition
from linkwright.robots.regressor import base_of

if TYPE_CHECKING:
    from linkwright.robots.robot import Robot

Array = NDArray[np.float64]
_ROUNDS = 5
_PULL = 1e-6
_LITTLE = 1e-2  # of friction and rotor inertia to begin with
_FAR = 30.0  # logarithms of these stay within
_MOST_STEPS = 500
_EXACT = 1e-6  # of the forces: noise that is taken for no less
_LONGEST = 1.0  # change of a logarithm in a step


@dataclass(frozen=True, slots=True)
class BaseEstimate:
    """A base parameter: its name, value, standard deviation, and what is counted with it."""

    name: str
    value: float
    deviation: float

    @property
    def confidence(self) -> tuple[float, float]:
        """The interval that holds it with 95 %."""
        return self.value - 1.96 * self.deviation, self.value + 1.96 * self.deviation


@dataclass(frozen=True, slots=True)
class Estimate:
    """What was found of a robot's parameters.

    Args:
        base: the parameters that the data tell apart.
        parameters: all of them, physically possible, by name.
        residuals: standard deviation of the forces that are not explained, for each joint.
        physical_residuals: the same with the physically possible parameters.
        condition: of the scaled base regressor.
        samples: states that were used.
    """

    base: tuple[BaseEstimate, ...]
    parameters: dict[str, float]
    residuals: Array
    physical_residuals: Array
    condition: float
    samples: int

    def table(self) -> str:
        """Return the base parameters with their deviations, one in a line."""
        width = max((len(b.name) for b in self.base), default=0)
        lines = [f"{'parameter':<{width}}  {'value':>12}  {'deviation':>12}  {'share':>7}"]
        for b in self.base:
            share = abs(b.deviation / b.value) if b.value else np.inf
            text = f"{100 * share:.1f} %" if share < 10 else "-"
            lines.append(f"{b.name:<{width}}  {b.value:12.6g}  {b.deviation:12.3g}  {text:>7}")
        return "\n".join(lines)


def estimate(
    robot: Robot,
    q: ArrayLike,
    u: ArrayLike,
    a: ArrayLike,
    tau: ArrayLike,
    *,
    joints: bool = True,
    prior: ArrayLike | None = None,
    pull: float = _PULL,
) -> Estimate:
    """Return the parameters that explain recorded forces.

    Args:
        robot: whose geometry is known.
        q: coordinates, one row for each sample.
        u: speeds, likewise.
        a: accelerations, likewise.
        tau: forces, likewise.
        joints: whether to find rotor inertia and friction of the joints too.
        prior: inertial parameters as known before; the robot's own by default.
        pull: weight of the prior beside the data, for a parameter that they leave open.
    """
    y, forces = _data(robot, q, u, a, tau, joints)
    names = robot.full_names if joints else robot.inertial_names
    count, n = forces.shape
    chosen = base_of(y.reshape(count, n, -1), names)
    columns = list(chosen.columns)
    scales: Array = np.ones(n)
    least = _EXACT * max(float(np.sqrt(np.mean(forces**2))), 1e-300)
    base: Array = np.zeros(len(columns))
    for _ in range(_ROUNDS):
        weighted = (y[:, :, columns] / scales[:, None]).reshape(-1, len(columns))
        base = np.asarray(np.linalg.lstsq(weighted, (forces / scales).ravel(), rcond=None)[0])
        left = forces - y[:, :, columns] @ base
        freedom = max(count - len(columns) / n, 1.0)
        scales = np.maximum(np.sqrt((left**2).sum(axis=0) / freedom), least)
    weighted = (y[:, :, columns] / scales[:, None]).reshape(-1, len(columns))
    triangle = np.linalg.qr(weighted, mode="r")
    covariance = np.linalg.inv(triangle)
    deviations = np.linalg.norm(covariance, axis=1)
    known = robot.inertial_parameters if prior is None else np.asarray(prior, dtype=float)
    whole = _physical(y / scales[:, None], forces / scales, known, len(names), pull)
    physical_left = forces - y @ whole
    return Estimate(
        tuple(
            BaseEstimate(names[k], float(v), float(d))
            for k, v, d in zip(columns, base, deviations, strict=True)
        ),
        dict(zip(names, map(float, whole), strict=True)),
        np.std(forces - y[:, :, columns] @ base, axis=0),
        np.std(physical_left, axis=0),
        scaled_condition(weighted),
        count,
    )


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
    make = robot.full_regressor if joints else robot.regressor
    y = np.asarray(make(*given[:3]))
    if y.shape[0] * y.shape[1] < y.shape[2]:
        raise InputError(
            f"{len(forces)} samples are too few for {y.shape[2]} parameters",
            remedy="record a longer motion",
        )
    return y, forces


def _physical(y: Array, forces: Array, known: Array, total: int, pull: float) -> Array:
    """Return the best parameters among those that links of positive mass can have."""
    rows = y.reshape(-1, total)
    q, r = np.linalg.qr(rows)
    goal = q.T @ forces.ravel()
    links, joints = len(known) // 10, total - len(known)
    starts = np.array([nearest_physical(p) for p in known.reshape(links, 10)])
    strength = np.sqrt(pull * len(rows))
    cut = 10 * links
    inner = [from_parameters(p) for p in starts]
    first = np.concatenate([*inner, np.full(joints, np.log(_LITTLE))])

    def values_of(x: Array) -> tuple[Array, Array]:
        """Return the parameters, positive where they belong to joints, and their slopes."""
        ten, slopes = parameters_and_slopes(x[:cut].reshape(links, 10))
        rest = np.exp(np.clip(x[cut:], -_FAR, _FAR))
        whole = np.zeros((total, total))
        for k in range(links):
            part = slice(10 * k, 10 * k + 10)
            whole[part, part] = slopes[k]
        whole[cut:, cut:] = np.diag(rest)
        return np.concatenate([ten.ravel(), rest]), whole

    def errors_of(x: Array) -> tuple[Array, Array]:
        values, slopes = values_of(x)
        left = np.concatenate([r @ values - goal, strength * (x - first)])
        return left, np.vstack([r @ slopes, strength * np.eye(total)])

    return values_of(_least(errors_of, first))[0]


def _least(errors_of: Callable[[Array], tuple[Array, Array]], first: Array) -> Array:
    """Return where the sum of squares is least, by the method of Levenberg and Marquardt."""
    x, damping = first, 1e-3
    errors, slopes = errors_of(x)
    cost = float(errors @ errors)
    for _ in range(_MOST_STEPS):
        normal = slopes.T @ slopes
        scale = np.diag(normal) + 1e-12 * float(np.trace(normal)) / len(x)
        step = np.linalg.solve(normal + np.diag(damping * scale), -slopes.T @ errors)
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-300))
        with np.errstate(over="ignore", invalid="ignore"):
            trial, trial_slopes = errors_of(x + step)
            trial_cost = float(trial @ trial)
        if trial_cost < cost:
            done = cost - trial_cost <= 1e-9 * cost and damping < 1.0
            x, errors, slopes, cost = x + step, trial, trial_slopes, trial_cost
            damping = max(damping / 5, 1e-12)
            if done:
                break
        elif damping > 1e8:
            break
        else:
            damping *= 4
    return x


def with_estimate(description: Any, robot: Robot, found: Estimate) -> Any:
    """Return a description with the parameters that were found written back.

    Links that are fixed to another count with it, and have no mass of their own afterwards.

    Args:
        description: that the robot was made from.
        robot: made from it.
        found: its parameters.
    """
    from linkwright.formats.description import Mass

    carrier = _carriers(description, robot.links)
    links = []
    for link in description.links:
        if link.name in robot.links:
            p = np.array([found.parameters[f"{link.name}.{key}"] for key in _KEYS])
            links.append(replace(link, mass=Mass(*_about_centre(p))))
        elif carrier.get(link.name) is not None:
            links.append(replace(link, mass=None))
        else:
            links.append(link)
    joints = []
    for joint in description.joints:
        changes = {
            field: found.parameters[f"{joint.name}.{key}"]
            for field, key in (("armature", "rotor"), ("damping", "viscous"), ("friction", "dry"))
            if f"{joint.name}.{key}" in found.parameters
        }
        joints.append(replace(joint, **changes))
    return replace(description, links=tuple(links), joints=tuple(joints))


_KEYS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


def _carriers(description: Any, moved: Sequence[str]) -> dict[str, str | None]:
    """Return for each link the moved link that it is fixed to; None on the ground."""
    above = {j.child: j.parent for j in description.joints}
    found: dict[str, str | None] = {}
    for link in description.links:
        name: str | None = link.name
        while name is not None and name not in moved:
            name = above.get(name)
        found[link.name] = name
    return found


def _about_centre(p: Array) -> tuple[float, Any, Any]:
    """Return mass, centre and inertia about the centre from the ten parameters."""
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
