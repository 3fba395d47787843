"""ROBSIM's shapes: their vertices, and the lines between them.

All lie along x from 0 to their length (ROBSIM's sections 2.1.2 and 3.9): cylinders and cones with
flat sides, boxes and trapezoids given by half their width and height, and a truss of triangular
section. An outline is what ROBSIM stored: closed rings of points that are joined one after another,
then points that are joined in pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SIDES = 8
"""Of ROBSIM's cylinders."""


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """A shape as lines."""

    rings: tuple[Array, ...]
    sides: Array

    @property
    def vertices(self) -> Array:
        """All corners, ring after ring."""
        return np.concatenate(self.rings)

    @property
    def counts(self) -> tuple[int, int]:
        """Points that are joined one after another (rings come back to their start), and in pairs.

        >>> x_cylinder(2.0, 1.0).counts, x_box(1.0, 1.0, 1.0).counts, truss(1.0, 1.0, 4).counts
        ((18, 16), (10, 8), (20, 6))
        """
        return sum(len(ring) + 1 for ring in self.rings), 2 * len(self.sides)

    @property
    def edges(self) -> Array:
        """All lines: count x 2 x 3, m."""
        around = [np.stack([ring, np.roll(ring, -1, axis=0)], axis=1) for ring in self.rings]
        return np.concatenate([*around, self.sides])


def _between(rings: list[list[tuple[float, float, float]]]) -> Outline:
    """Return rings with sides from each corner of the first to that of the last."""
    made = tuple(np.array(ring, float) for ring in rings)
    return Outline(made, np.stack([made[0], made[-1]], axis=1))


def x_cone(diameter: float, end_diameter: float, length: float, sides: float = SIDES) -> Outline:
    """Return a truncated cone (ROBSIM's CYL with two diameters)."""
    count = round(sides)
    return _between(
        [
            [
                (
                    x,
                    d / 2 * math.cos(2 * math.pi * k / count),
                    d / 2 * math.sin(2 * math.pi * k / count),
                )
                for k in range(count)
            ]
            for x, d in ((0.0, diameter), (length, end_diameter))
        ]
    )


def x_cylinder(diameter: float, length: float, sides: float = SIDES) -> Outline:
    """Return a cylinder (ROBSIM's CYL)."""
    return x_cone(diameter, diameter, length, sides)


def _rect(
    length: float, half: float, near: tuple[float, float], far: tuple[float, float]
) -> Outline:
    return _between(
        [
            [(x, -half, high), (x, half, high), (x, half, low), (x, -half, low)]
            for x, (low, high) in ((0.0, near), (length, far))
        ]
    )


def x_box(length: float, half_width: float, half_height: float) -> Outline:
    """Return a box (ROBSIM's RECT with X0, Y0, Z0)."""
    return trapezoid(length, half_width, half_height, half_height)


def trapezoid(
    length: float, half_width: float, half_height: float, end_half_height: float
) -> Outline:
    """Return a symmetric trapezoid (ROBSIM's RECT with X0, Y0, Z1, Z2)."""
    near, far = half_height, end_half_height
    return _rect(length, half_width, (-near, near), (-far, far))


def half_trapezoid(length: float, half_width: float, height: float, end_height: float) -> Outline:
    """Return a trapezoid with one face in the plane z = 0 (ROBSIM's nonsymmetric one)."""
    return _rect(length, half_width, (-height, 0.0), (-end_height, 0.0))


def truss(side: float, bay: float, bays: float) -> Outline:
    """Return a beam of triangular section with a triangle at every bay (ROBSIM's TRISTR)."""
    corners = ((-side / 2, 0.0), (side / 2, 0.0), (0.0, -side))
    return _between([[(j * bay, y, z) for y, z in corners] for j in range(round(bays) + 1)])


OUTLINES: dict[str, Callable[..., Outline]] = {
    "x-cylinder": x_cylinder,
    "x-cone": x_cone,
    "x-box": x_box,
    "trapezoid": trapezoid,
    "half-trapezoid": half_trapezoid,
    "truss": truss,
}
"""ROBSIM's shapes by their names here."""
