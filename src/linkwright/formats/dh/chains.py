"""The parameters of Denavit and Hartenberg from the lines of a chain's axes.

Each pair of neighboring axes has a common normal; along it lies x of the frame between them, and
its feet are the origins (Craig, Introduction to Robotics, section 3.4). Where axes are parallel the
normal through the first joint's origin is taken; where they coincide, x is kept from the frame
before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from linkwright.formats.robot.description import Place, Rotation, Triple
from linkwright.formats.robot.transforms import (
    composed,
    cross,
    dot,
    inverted,
    minus,
    plus,
    scaled,
    transposed,
    unit,
)

_PARALLEL = 1e-9


@dataclass(frozen=True, slots=True)
class Line:
    """An axis: a point on it, and its direction of length 1, in one frame for all."""

    point: Triple
    direction: Triple


@dataclass(frozen=True, slots=True)
class Parameters:
    """A row: theta and alpha in rad, d and a in m."""

    theta: float
    d: float
    a: float
    alpha: float


def modified_frames(lines: Sequence[Line]) -> list[Place]:
    """Return the frame on each axis: z along it, x along the common normal with the next one.

    >>> up = Line((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    >>> across = Line((2.0, 0.0, 3.0), (0.0, 1.0, 0.0))
    >>> modified_frames([up, across])[0].position
    (0.0, 0.0, 3.0)
    """
    found: list[Place] = []
    x = _some_normal(lines[0].direction)
    for k, line in enumerate(lines):
        origin = line.point
        if k + 1 < len(lines):
            x, origin = _common_normal(line, lines[k + 1], x)
        x = _square(x, line.direction)
        found.append(Place(origin, _axes(x, line.direction)))
    return found


def modified_parameters(frame: Place, following: Place) -> Parameters:
    """Return the row that leads from a frame to the following one."""
    step = composed(inverted(frame), following)
    r, p = step.rotation, step.position
    alpha = math.atan2(-r[1][2], r[2][2])
    theta = math.atan2(-r[0][1], r[0][0])
    d = p[1] * -math.sin(alpha) + p[2] * math.cos(alpha)
    return Parameters(theta, d, p[0], alpha)


def _common_normal(line: Line, following: Line, x: Triple) -> tuple[Triple, Triple]:
    """Return a direction square to both lines, and its foot on the first of them."""
    z, w = line.direction, following.direction
    across = minus(following.point, line.point)
    normal = cross(z, w)
    square = dot(normal, normal)
    if square < _PARALLEL**2:
        beside = minus(across, scaled(z, dot(across, z)))
        if dot(beside, beside) < _PARALLEL**2 * (1.0 + dot(across, across)):
            return x, line.point
        return unit(beside), line.point
    along = dot(cross(across, w), normal) / square
    direction = unit(normal)
    if dot(direction, across) < 0.0 and abs(dot(direction, across)) > _PARALLEL:
        direction = scaled(direction, -1.0)
    return direction, plus(line.point, scaled(z, along))


def _some_normal(z: Triple) -> Triple:
    """Return the axis of the outer frame that is the least along z."""
    least = min(range(3), key=lambda k: (round(abs(z[k]), 9), k))
    axes: tuple[Triple, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    return _square(axes[least], z)


def _square(x: Triple, z: Triple) -> Triple:
    """Return the direction of the part of x that is square to z."""
    rest = minus(x, scaled(z, dot(x, z)))
    return unit(rest) if dot(rest, rest) > 1e-6 else _some_normal(z)


def _axes(x: Triple, z: Triple) -> Rotation:
    return transposed((x, cross(z, x), z))
