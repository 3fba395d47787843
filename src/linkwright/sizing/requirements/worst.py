"""The worst payload: among all bodies of up to a mass inside a box.

Torques, powers and components of forces are linear in the ten moments of mass, and so in the mass
itself as it is in the box. A linear function of a positive measure of at most M is largest where
all of M is in one point, or where there is none. For a point mass at r the function is a
quadratic of r, and a quadratic over a box is largest where each coordinate is at its lower or
upper end, or free and stationary: 27 candidates for each sample. So these worst cases are proven,
at the samples of the requirement.

RMS values, and magnitudes of forces and moments, are convex in the moments, so the worst body is a
point mass again, or none. Its place is searched, from the middles of a grid, by L-BFGS-B with
exact gradients; such cases are found, not proven.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import suggestion
from linkwright.motion.payloads import Payload, payload_of
from linkwright.motion.trajectory import MotionError
from linkwright.sizing.requirements.tool_motion import known_frame

if TYPE_CHECKING:
    from linkwright.sizing.requirements.requirement import Requirement

Array = NDArray[np.float64]
Triple = tuple[float, float, float]
WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")
PROVEN = ("torque", "power", *WRENCH)
FOUND = ("rms torque", "force", "moment")
_REFINED = 3  # places from which a search begins, for each case


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The largest magnitude that a quantity of a joint has with any of some payloads.

    Args:
        joint: its name.
        quantity: "torque", "power", "rms torque", "force", "moment", or a component "fx" to "mz"
            along the axes of the joint's link.
        value: with its sign.
        unit: of it.
        time: when, s; the end of the task for an RMS.
        mass: of the payload, kg; 0 for none.
        position: of the point mass in the tool's frame, m.
        proof: "proven", or "found" by a search.

    Example:
        >>> print(WorstCase("j4", "torque", 12.0, "N*m", 0.82, 3.0, (0.05, 0.05, 0.0), "proven"))
        j4: torque 12 N*m at 0.82 s, proven: a point mass of 3 kg at (0.05, 0.05, 0) m
    """

    joint: str
    quantity: str
    value: float
    unit: str
    time: float
    mass: float
    position: Triple
    proof: str

    def __str__(self) -> str:
        x, y, z = self.position
        body = f"a point mass of {self.mass:g} kg at ({x:.4g}, {y:.4g}, {z:.4g}) m"
        return (
            f"{self.joint}: {self.quantity} {self.value:.4g} {self.unit} at {self.time:.4g} s, "
            f"{self.proof}: {body if self.mass else 'no payload'}"
        )


@dataclass(frozen=True, slots=True)
class Worst:
    """The worst cases of a task over payloads.

    Args:
        payload: all bodies of up to a mass inside a box.
        cases: one for each joint and quantity.

    Example:
        >>> import linkwright as lw
        >>> lift = lw.motion.point_to_point([0.0] * 6, [0.5] * 6, 1.0)
        >>> need = lw.sizing.require("puma560", lift, step=0.05)
        >>> worst = need.worst(payload=lw.Payload(up_to=3.0, box=(0.1, 0.1, 0.15)))
        >>> worst.case("q2", "torque").mass, worst.case("q2", "torque").proof
        (3.0, 'proven')
    """

    payload: Payload
    cases: tuple[WorstCase, ...]

    def case(self, joint: str, quantity: str = "torque") -> WorstCase:
        """Return the worst case of a quantity of a joint.

        Args:
            joint: its name.
            quantity: one of those of `WorstCase`.
        """
        for found in self.cases:
            if (found.joint, found.quantity) == (joint, quantity):
                return found
        raise MotionError(
            f"there is no worst case of {quantity!r} of {joint!r}",
            remedy=suggestion(quantity, [*PROVEN, *FOUND], f"ask for {', '.join(PROVEN + FOUND)}"),
            code="R701",
        )

    def __str__(self) -> str:
        return "\n".join(map(str, self.cases))


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """Values at samples as functions of a payload: `fixed + slopes @ moments`."""

    fixed: Array  # without a payload; any shape, samples first
    slopes: Array  # with one more axis, of the ten moments

    def at(self, mass: float, place: Array) -> Array:
        """Return the values with a point mass."""
        return np.asarray(self.fixed + self.slopes @ (mass * moments_at(place)))


def moments_at(place: Array) -> Array:
    """Return the ten moments of a unit mass in a place.

    >>> moments_at(np.array([1.0, 2.0, 0.0])).tolist()
    [1.0, 1.0, 2.0, 0.0, 4.0, -2.0, 1.0, 0.0, 0.0, 5.0]
    """
    x, y, z = place
    second = (y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y)
    return np.array([1.0, x, y, z, *second]) + 0.0


def _slopes_at(place: Array) -> Array:
    """Return the derivatives of `moments_at` by the place, 10 x 3."""
    x, y, z = place
    return np.array([
        [0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1],
        [0, 2 * y, 2 * z], [-y, -x, 0], [2 * x, 0, 2 * z],
        [-z, 0, -x], [0, -z, -y], [2 * x, 2 * y, 0],
    ], dtype=float)  # fmt: skip


def worst_payload(need: Requirement, payload: Payload) -> Worst:
    """Return the worst cases of a requirement over payloads."""
    payload = payload_of(payload)
    if payload.up_to is None or payload.box is None:
        raise MotionError(
            "the worst payload is sought among bodies of up to a mass in a box",
            remedy="Payload(up_to=3.0, box=(0.1, 0.1, 0.15))",
            code="R702",
        )
    torque, wrench, speeds, times = _affine(need)
    power = Affine(torque.fixed * speeds, torque.slopes * speeds[..., None])
    mass = payload.up_to
    middle, half = np.array(payload.center), np.array(payload.box) / 2
    ends = middle - half, middle + half
    cases: list[WorstCase] = []
    for k, joint in enumerate(need.joints):
        row = need.robot.links.index(joint.link)
        columns = {
            "torque": Affine(torque.fixed[:, k], torque.slopes[:, k]),
            "power": Affine(power.fixed[:, k], power.slopes[:, k]),
        }
        for i, name in enumerate(WRENCH):
            columns[name] = Affine(wrench.fixed[:, row, i], wrench.slopes[:, row, i])
        for quantity, one in columns.items():
            unit = {"f": "N", "m": "N*m"}.get(quantity[0], joint.units.get(quantity, ""))
            value, sample, heavy, place = _proven(one, mass, *ends)
            time = float(times[sample])
            cases.append(WorstCase(joint.name, quantity, value, unit, time, heavy, place, "proven"))
        square = _mean_square(columns["torque"], times)
        value, heavy, place = _searched(square, mass, *ends)
        cases.append(
            WorstCase(
                joint.name, "rms torque", float(np.sqrt(value)), joint.units["torque"],
                float(times[-1]), heavy, place, "found",
            )
        )  # fmt: skip
        for quantity, part in (("force", slice(0, 3)), ("moment", slice(3, 6))):
            three = Affine(wrench.fixed[:, row, part], wrench.slopes[:, row, part])
            value, heavy, place = _searched(_largest_square(three), mass, *ends)
            sizes = np.linalg.norm(three.at(heavy, np.array(place)), axis=1)
            time = float(times[int(np.argmax(sizes))])
            unit = joint.units[quantity]
            found = float(np.sqrt(value))
            cases.append(WorstCase(joint.name, quantity, found, unit, time, heavy, place, "found"))
    return Worst(payload, tuple(cases))


def _affine(need: Requirement) -> tuple[Affine, Affine, Array, Array]:
    """Return torques and wrenches as functions of a payload, speeds, and times."""
    from linkwright.sizing.requirements.require import loads_of

    robot, task = need.robot, need.task
    known_frame(robot, task.frame)
    q, u, a, times = need.dynamic_states()
    loads = loads_of(robot, task, times, q, None)
    fixed = loads.pop("payload", np.zeros((len(times), 10)))

    def at(moments: Array) -> tuple[Array, Array]:
        tau, wrench = robot.joint_loads(q, u, a, payload=fixed + moments, **loads, frame=task.frame)
        return np.asarray(tau), np.asarray(wrench)

    tau, wrench = at(np.zeros(10))
    units = [at(row) for row in np.eye(10)]
    torque = Affine(tau, np.stack([t - tau for t, _ in units], axis=-1))
    return torque, Affine(wrench, np.stack([w - wrench for _, w in units], axis=-1)), u, times


def _proven(
    values: Affine, mass: float, lower: Array, upper: Array
) -> tuple[float, int, float, Triple]:
    """Return the value of largest magnitude, its sample, the mass and its place."""
    w = values.slopes * mass
    fixed = w[:, 0]
    linear = w[:, 1:4]
    xx, xy, yy, xz, yz, zz = (w[:, k] for k in range(4, 10))
    square = np.array([
        [yy + zz, -xy / 2, -xz / 2], [-xy / 2, xx + zz, -yz / 2], [-xz / 2, -yz / 2, xx + yy],
    ]).transpose(2, 0, 1)  # fmt: skip
    k = int(np.argmax(np.abs(values.fixed)))  # no payload
    best: tuple[float, int, float, Triple] = (float(values.fixed[k]), k, 0.0, (0.0, 0.0, 0.0))
    for sign in (1.0, -1.0):
        more, places = largest_quadratic(sign * fixed, sign * linear, sign * square, lower, upper)
        total = sign * values.fixed + more
        k = int(np.argmax(total))
        if total[k] > abs(best[0]):
            x, y, z = map(float, places[k])
            best = (float(sign * total[k]), k, mass, (x, y, z))
    return best


def largest_quadratic(
    fixed: Array, linear: Array, square: Array, lower: Array, upper: Array
) -> tuple[Array, Array]:
    """Return the largest values of quadratics c + g r + r G r over a box, and where they are.

    >>> top, place = largest_quadratic(
    ...     np.zeros(1), np.array([[1.0, 0.0, 0.0]]), -np.eye(3)[None], -np.ones(3), np.ones(3)
    ... )
    >>> float(top[0]), float(place[0, 0])
    (0.25, 0.5)
    """
    count = len(fixed)
    best = np.full(count, -np.inf)
    at = np.zeros((count, 3))
    for choice in product((0, 1, 2), repeat=3):
        free = [k for k in range(3) if choice[k] == 2]
        r = np.tile(np.where(np.array(choice) == 0, lower, upper), (count, 1))
        inside = np.ones(count, dtype=bool)
        if free:
            held = [k for k in range(3) if choice[k] != 2]
            matrix = 2 * square[:, free][:, :, free]
            side = -linear[:, free] - 2 * np.einsum(
                "kij,kj->ki", square[:, free][:, :, held], r[:, held]
            )
            size = np.abs(matrix).max(axis=(1, 2), initial=0.0) + 1e-300
            regular = np.abs(np.linalg.det(matrix / size[:, None, None])) > 1e-12
            safe = np.where(regular[:, None, None], matrix, np.eye(len(free)))
            r[:, free] = np.linalg.solve(safe, side[..., None])[..., 0]
            inside = regular & np.all((r >= lower) & (r <= upper), axis=1)
            r = np.clip(r, lower, upper)
        value = fixed + np.einsum("ki,ki->k", linear + np.einsum("kij,kj->ki", square, r), r)
        better = inside & (value > best)
        best = np.where(better, value, best)
        at = np.where(better[:, None], r, at)
    return best, at


Objective = Callable[[float, Array], tuple[float, Array]]


def _mean_square(values: Affine, times: Array) -> Objective:
    """Return the mean square over time and its derivatives by the place of a point mass."""
    h = np.diff(times)
    span = float(times[-1] - times[0])

    def objective(mass: float, place: Array) -> tuple[float, Array]:
        x = values.at(mass, place)
        slopes = values.slopes @ (mass * _slopes_at(place))
        a, b, da, db = x[:-1], x[1:], slopes[:-1], slopes[1:]
        value = float(h @ (a * a + a * b + b * b)) / (3 * span)
        each = (2 * a + b)[:, None] * da + (a + 2 * b)[:, None] * db
        return value, h @ each / (3 * span)

    return objective


def _largest_square(values: Affine) -> Objective:
    """Return the largest square of the size over time and its derivatives by the place."""

    def objective(mass: float, place: Array) -> tuple[float, Array]:
        x = values.at(mass, place)
        squares = np.einsum("ki,ki->k", x, x)
        k = int(np.argmax(squares))
        slopes = values.slopes[k] @ (mass * _slopes_at(place))
        return float(squares[k]), 2 * x[k] @ slopes

    return objective


def _searched(
    objective: Objective, mass: float, lower: Array, upper: Array
) -> tuple[float, float, Triple]:
    """Return the largest value that was found, the mass and its place."""
    from scipy.optimize import minimize

    none, _ = objective(0.0, lower)
    grid = [lower + (upper - lower) * np.array(w) for w in product((0.0, 0.5, 1.0), repeat=3)]
    starts = sorted(grid, key=lambda r: -objective(mass, r)[0])[:_REFINED]
    best, at = none, None
    for start in starts:
        scale = max(objective(mass, start)[0], 1e-300)

        def downhill(r: Array, scale: float = scale) -> tuple[float, Array]:
            value, slope = objective(mass, r)
            return -value / scale, -slope / scale

        box = list(zip(lower, upper, strict=True))
        found = minimize(downhill, start, jac=True, bounds=box, method="L-BFGS-B")
        for place in (start, np.clip(found.x, lower, upper)):
            value = objective(mass, place)[0]
            if value > best:
                best, at = value, place
    if at is None:
        return best, 0.0, (0.0, 0.0, 0.0)
    x, y, z = map(float, at)
    return best, mass, (x, y, z)
