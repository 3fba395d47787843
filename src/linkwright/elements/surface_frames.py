"""The frame of a surface that an element touches: places and speeds as the surface sees them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwright.algebra import Expr, as_expr
from linkwright.algebra.triples import Triple, add, apply, cross, held, subtract
from linkwright.base.rotations import exact
from linkwright.blocks import Element, checked_rotation
from linkwright.elements.surfaces import Surface


class SurfaceFrame:
    """Where a surface is, for an element that touches it."""

    def __init__(self, element: Element, surface: Surface) -> None:
        m = element.mechanism
        self.carrier = element.point_at(m.ground if surface.body is None else surface.body)
        self.turn = np.array(checked_rotation(surface.rotation, "the rotation of a surface"))
        self._element = element
        self._origin = m.point_of(self.carrier, tuple(map(as_expr, surface.center)))

    def relative(self, position: Sequence[Expr], velocity: Sequence[Expr]) -> tuple[Triple, Triple]:
        """Return place and velocity of a point relative to the surface, along its axes.

        Units: `position` in m, `velocity` in m/s.
        """
        element = self._element
        way = subtract(position, element.position(self._origin))
        speed: Sequence[Expr] = velocity
        if self.carrier.body.parent is not None:
            omega = element.places.of(self.carrier.body).omega
            arm = held(element.intermediate, way)
            carried = add(element.velocity(self._origin), cross(omega, arm))
            speed = subtract(speed, carried)
        return self.inward(way), self.inward(speed)

    def inward(self, v: Sequence[Expr]) -> Triple:
        """Return components along the surface's axes from those in the ground's."""
        return apply(
            [[exact(x) for x in row] for row in self.turn.T],
            self._element.places.inward(self.carrier, v),
        )

    def outward(self, v: Sequence[Expr]) -> Triple:
        """Return components in the ground's axes from those along the surface's."""
        return self._element.places.outward(
            self.carrier, apply([[exact(x) for x in row] for row in self.turn], v)
        )
