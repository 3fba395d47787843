"""The weight of a tool and the bias of its force sensor: found from still poses, and taken off.

A tool at rest that touches nothing puts on its sensor, along the flange's axes and about its
reference point,

    force = m g + b_F,    moment = (m c) x g + b_M

with the acceleration of gravity g along these axes. That is linear in the mass m, its moment m c
and the six biases, so least squares over poses of different attitude finds them (Atkeson, An and
Hollerbach 1986).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra.triples import cross
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError, ShapeError
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.blocks import Block, BlockError, Element, Location, checked
from linkwright.blocks.numbers import checked_all

Array = NDArray[np.float64]
NAMES = (
    "mass", "moment_x", "moment_y", "moment_z",
    "bias_x", "bias_y", "bias_z", "bias_rx", "bias_ry", "bias_rz",
)  # fmt: skip
"""What least squares finds: kg, mass times center kg*m, and biases N and N*m."""
_SEEN = 1e-6


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class ToolWeight(Result):
    """A tool's weight and its sensor's bias, found from still poses.

    Args:
        mass: kg.
        center: mass center from the tool's reference point, along the flange's axes, m.
        bias: of the six components of the wrench, N and N*m.
        deviations: standard deviations of `NAMES`, from the scatter of the measurements.
        residual: root of the mean square of what is left, in the units of the wrench.
        unseen: combinations that the poses do not distinguish, in words; their values are the
            least that fit.
        covariance: of `NAMES`, in their order.

    >>> ToolWeight(1.0, (0, 0, 0.1), (0,) * 6, {}, 0.0, ()).mass
    1.0
    """

    mass: float
    center: tuple[float, float, float]
    bias: tuple[float, ...]
    deviations: dict[str, float]
    residual: float
    unseen: tuple[str, ...]
    covariance: Array | None = field(default=None, repr=False)
    _units = (
        ("mass", "kg"),
        ("center", "m"),
    )


@worded
def identify_tool_weight(gravity: ArrayLike, wrenches: ArrayLike) -> ToolWeight:
    """Return the weight of a tool and the bias of its sensor from still poses.

    Args:
        gravity: acceleration of gravity along the flange's axes, one row for each pose, m/s^2.
        wrenches: that the sensor shows there, six numbers each: N and N*m, about the tool's
            reference point; what the surroundings put on the tool counts as positive.

    Example:
        >>> g = 9.81 * np.array([[0, 0, -1], [0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
        >>> shown = np.hstack([0.5 * g + 1.0, np.cross([0, 0, 0.05], g)])
        >>> found = identify_tool_weight(g, shown)
        >>> round(found.mass, 9), round(found.center[2], 9), round(found.bias[0], 9), found.unseen
        (0.5, 0.1, 1.0, ())
    """
    pulls, seen = (np.atleast_2d(np.array(x, dtype=float)) for x in (gravity, wrenches))
    if pulls.ndim != 2 or pulls.shape[1] != 3 or not np.isfinite(pulls).all():
        raise ShapeError(
            f"gravity has the shape {pulls.shape}", remedy="give finite rows of 3 numbers, m/s^2"
        )
    if not len(pulls):
        raise ShapeError("there are no poses", remedy="give rows of gravity, one for each pose")
    if seen.shape != (len(pulls), 6) or not np.isfinite(seen).all():
        raise ShapeError(
            f"wrenches have the shape {seen.shape} for {len(pulls)} poses",
            remedy="give finite rows of 6 numbers, one for each pose",
        )
    if not np.linalg.norm(pulls, axis=1).max() > 0:
        raise InputError("gravity is zero in all poses, so nothing weighs", remedy="give m/s^2")
    table = np.vstack([_rows(g) for g in pulls])
    left = seen.ravel()
    size = np.linalg.norm(table, axis=0)
    size[size == 0] = 1.0
    u, s, vt = np.linalg.svd(table / size, full_matrices=True)
    keep = int((s > _SEEN * s[0]).sum())
    values = (vt[:keep].T @ ((u.T[:keep] @ left) / s[:keep])) / size
    rest = left - table @ values
    free = max(len(left) - keep, 1)
    spread = (vt[:keep].T / s[:keep] ** 2) @ vt[:keep] / np.outer(size, size)
    covariance = np.asarray(float(rest @ rest) / free * spread, dtype=float)
    mass = float(values[0])
    if mass < -max(4 * math.sqrt(max(covariance[0, 0], 0.0)), 1e-9):
        raise InputError(
            f"the tool would have a mass of {mass:.4g} kg: gravity and wrenches point in opposite "
            "ways",
            remedy="gravity points down, and a wrench is what acts on the tool: turn one of them",
        )
    center = values[1:4] / mass if abs(mass) > 1e-12 else np.zeros(3)
    x, y, z = map(float, center)
    return ToolWeight(
        mass,
        (x, y, z),
        tuple(map(float, values[4:])),
        dict(zip(NAMES, map(float, np.sqrt(np.diag(covariance).clip(0.0))), strict=True)),
        float(np.sqrt(np.mean(rest**2))),
        tuple(_words(row / size) for row in vt[keep:]),
        covariance,
    )


def _rows(g: Array) -> Array:
    """Return the change of a wrench with each unknown, for gravity along the flange's axes."""
    x, y, z = g
    table = np.zeros((6, 10))
    table[:3, 0] = g
    table[3:, 1:4] = [[0, z, -y], [-z, 0, x], [y, -x, 0]]
    table[:, 4:] = np.eye(6)
    return table


def _words(row: Array) -> str:
    row = row / np.abs(row).max()
    parts = [f"{x:+.3g} {n}" for x, n in zip(row, NAMES, strict=True) if abs(x) > 1e-6]
    return "the poses do not determine " + " ".join(parts)


class WeightCompensation(Element):
    """The wrench of a sensor less the tool's weight in the present attitude, and less its bias.

    Output: `wrench` (6: N, N*m): what the surroundings put on the tool, along the flange's axes,
    for the port of that name of laws of force.

    Args:
        mechanism: that it belongs to.
        flange: the body or frame along whose axes the sensor measures, or a name.
        mass: of the tool beyond the sensor, kg.
        center: its mass center from the tool's reference point, along the flange's axes, m.
        bias: of the sensor, six numbers: N, N*m.
        sensor: whose output `wrench` it takes, unless the port `measured` is connected: a
            `CompliantWrist`, a `WristReading`, or a `ForceTorque`.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("m")
    >>> arm = m.body("arm", rotate="y", mass=1, inertia=1)
    >>> WeightCompensation(m, arm, 0.5, (0, 0, 0.1))
    WeightCompensation(weight: measured -> wrench)
    """

    def __init__(
        self,
        mechanism: Any,
        flange: Location,
        mass: float,
        center: Sequence[float] = (0.0, 0.0, 0.0),
        bias: Sequence[float] = (0.0,) * 6,
        *,
        sensor: Block | None = None,
        name: str = "weight",
    ) -> None:
        super().__init__(name, mechanism, doc="a wrench less the tool's weight and the bias")
        frame = self.point_at(flange)
        weight = self.parameter("mass", checked(mass, f"mass of {name!r}"), unit="kg", lower=0)
        places = checked_all(center, f"center of {name!r}", count=3)
        zeros = checked_all(bias, f"bias of {name!r}", count=6)
        lever = [
            self.parameter(f"center_{c}", v, unit="m") for c, v in zip("xyz", places, strict=True)
        ]
        units = ["N"] * 3 + ["N*m"] * 3
        rows = zip(("x", "y", "z", "rx", "ry", "rz"), zeros, units, strict=True)
        off = [self.parameter(f"bias_{c}", v, unit=unit) for c, v, unit in rows]
        measured = self.input_vector("measured", 6, doc="what the sensor shows: N, N*m")
        if sensor is not None:
            if "wrench" not in sensor.outputs:
                raise BlockError(
                    f"the sensor {sensor.name!r} of {name!r} has no output 'wrench'",
                    remedy="give a CompliantWrist, a WristReading or a ForceTorque",
                )
            self.default_source("measured", sensor, "wrench")
        gravity = self.mechanism.gravity_vector.components(self.mechanism.ground.frame)
        pull = [self.intermediate(weight * g) for g in self.places.inward(frame, gravity)]
        load = [*pull, *cross(lever, pull)]
        values = [w - p - b for w, p, b in zip(measured, load, off, strict=True)]
        self.output_vector("wrench", values, unit=units, doc="of the surroundings on the tool")
