"""Drag of air or water."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwright.algebra import sqrt, total
from linkwright.algebra.triples import subtract
from linkwright.blocks import Element, Location, checked_all


class Drag(Element):
    """Drag that grows with the square of the speed through a medium: -1/2 rho c A |v| v.

    Inputs `wind_x`, `wind_y`, `wind_z` are the velocity of the medium, m/s.

    Args:
        mechanism: that it belongs to.
        at: where it acts: a point, a body for its center of mass, or a name.
        coefficient: c, a drag coefficient.
        area: A, m^2.
        density: rho, kg/m^3.
        wind: velocity of the medium in the ground's frame where nothing else drives it, m/s.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="x", mass=1)
    >>> list(Drag(m, b, coefficient=0.47, area=0.01).inputs)
    ['wind_x', 'wind_y', 'wind_z']
    """

    def __init__(
        self,
        mechanism: Any,
        at: Location,
        *,
        coefficient: float,
        area: float,
        density: float = 1.225,
        wind: Sequence[float] = (0.0, 0.0, 0.0),
        name: str = "drag",
    ) -> None:
        super().__init__(name, mechanism, doc="drag through air or water")
        c = self.parameter("coefficient", coefficient, unit="1", lower=0.0)
        area_ = self.parameter("area", area, unit="m^2", lower=0.0)
        rho = self.parameter("density", density, unit="kg/m^3", lower=0.0)
        air = checked_all(wind, f"the wind of {name!r}", count=3)
        fast = "m/s"
        blow = [self.input(f"wind_{a}", v, unit=fast) for a, v in zip("xyz", air, strict=True)]
        point = self.point_at(at, center_of_mass=True)
        through = [self.intermediate(x) for x in subtract(self.velocity(point), blow)]
        speed = self.intermediate(sqrt(total(x**2 for x in through)))
        factor = self.intermediate(-rho * c * area_ * speed / 2)
        self.force_vector("force", [factor * x for x in through], at=point)
