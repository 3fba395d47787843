"""Wind: a mean speed with gusts after Davenport, and what it does to a dish.

The gusts have Davenport's spectrum (1961), f S(f) = 4 k V^2 x^2/(1 + x^2)^(4/3), x = 1200 m f/V,
with V the mean speed at a height of 10 m and k the drag coefficient of the ground (0.005 over open
land, 0.001 over a rough sea); its integral is 6 k V^2. They are a sum of sines, one in each cell of
a logarithmic scale of frequencies with the energy of the cell, and random phases by a seed.

A dish of the area A feels the pressure p = rho v^2/2 of the wind as the force p A C along it, where
C goes from `edge` to `face` with the square of the cosine between beam and wind, and as the moment
p A D `twist` sin(2 psi), psi from wind to beam, that turns it broadside: a plate that is held at
its middle stands across the stream, for the stagnation point, and with it the center of pressure,
lies toward the edge that leads (Lamb, Hydrodynamics, chapter VI). The beam is normal to the face,
so that a beam along the wind, or against it, is stable, and one across it is not. The coefficients
are round numbers for solid paraboloids; give those of your dish.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import absolute, as_expr
from linkwright.algebra.triples import cross, dot
from linkwright.base.checks import checked, checked_angle
from linkwright.base.errors import InputError
from linkwright.base.reprs import one_line
from linkwright.blocks import Element
from linkwright.motion import Sines, Trajectory, hermite
from linkwright.mounts.ships import Ship

Array = NDArray[np.float64]

CELLS = 120
"""Sines of a gust."""
BAND = (1e-3, 2.0)
"""Hz: slower is another mean, faster does not reach all of a dish at once."""
AIR = 1.225
"""kg/m^3."""
_STEP = 0.05  # s between the knots of a gust


@one_line
@dataclass(frozen=True, slots=True)
class Wind:
    """A wind with gusts.

    Args:
        speed: mean, m/s.
        comes_from: from North over East, rad.
        roughness: drag coefficient of the ground; 0 for a steady wind.
        seed: of the gusts.

    Example:
        >>> wind = Wind(15.0, 3 * math.pi / 2)
        >>> t = np.arange(0, 3600, 0.5)
        >>> bool(abs(wind.gusts(t).std() / wind.deviation - 1) < 0.05)
        True
    """

    speed: float
    comes_from: float = 0.0
    roughness: float = 0.005
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.speed < 200:
            raise InputError(
                f"a wind of {self.speed} m/s", remedy="give a speed above 0 and below 200, m/s"
            )
        if not 0 <= self.roughness < 1 or not math.isfinite(self.comes_from):
            raise InputError("roughness is 0 or more, and a wind comes from a compass direction")
        checked_angle(self.comes_from, "the direction that a wind comes from")

    def density(self, frequency: ArrayLike) -> Array:
        """Return the spectral density of its gusts, (m/s)^2/Hz.

        Args:
            frequency: Hz, above 0.
        """
        f = np.asarray(frequency, dtype=float)
        x = 1200 * f / self.speed
        return np.asarray(4 * self.roughness * self.speed**2 * x**2 / (1 + x**2) ** (4 / 3) / f)

    @property
    def deviation(self) -> float:
        """Standard deviation of the gusts that count, m/s."""
        f = np.geomspace(*BAND, 4001)
        return math.sqrt(float(np.trapezoid(self.density(f), f)))

    @property
    def sines(self) -> Sines:
        """Its gusts as a motion of one value, m/s."""
        edges = np.geomspace(*BAND, CELLS + 1)
        random = np.random.default_rng([20_261_117, self.seed])
        inside = np.geomspace(edges[:-1], edges[1:], 33, axis=1)
        energy = np.trapezoid(self.density(inside), inside, axis=1)
        phase = 2 * math.pi * random.random(CELLS)
        middle = inside[:, 16]
        rows = zip(np.sqrt(2 * energy).tolist(), phase.tolist(), middle.tolist(), strict=True)
        return Sines([0.0], [list(rows)])

    def gusts(self, t: ArrayLike) -> Array:
        """Return its speed over the mean, m/s.

        Args:
            t: times, s.
        """
        return np.asarray(self.sines(t)[..., 0])

    def trajectory(self, duration: float) -> Trajectory:
        """Return its speed, mean and gusts, as a trajectory of one value, m/s.

        Args:
            duration: s.
        """
        t = np.linspace(0.0, duration, math.ceil(duration / _STEP) + 1)
        rows = [self.sines(t, order) for order in range(3)]
        return hermite(t, rows[0] + self.speed, *rows[1:])

    @property
    def direction(self) -> Array:
        """Unit vector East, North, up along which it blows."""
        a = self.comes_from
        return -np.array([math.sin(a), math.cos(a), 0.0])


class WindLoad(Element):
    """What a wind does to the dish of a mount: outputs `push_x` to `push_z`, N, and `speed`, m/s.

    Args:
        mount: a mechanism or robot with a platform.
        wind: that blows.
        duration: of its gusts, s.
        diameter: of the dish, m.
        face: force coefficient of a dish that faces the wind or turns its back to it.
        edge: the same of one that lies along it.
        twist: coefficient of the moment.
        ship: that carries the mount.
        name: of the element.

    Example:
        >>> from linkwright.mechanism import Mechanism
        >>> m = Mechanism("post")
        >>> dish = m.body("dish", rotate="z", mass=10, inertia=1)
        >>> platform = m.set_platform(dish, axis="x")
        >>> list(WindLoad(m, Wind(20.0), 1.0).outputs)[3:6]
        ['push_x', 'push_y', 'push_z']
    """

    def __init__(
        self,
        mount: Any,
        wind: Wind,
        duration: float,
        *,
        diameter: float = 2.4,
        face: float = 1.5,
        edge: float = 0.3,
        twist: float = 0.1,
        ship: Ship | None = None,
        name: str = "wind",
    ) -> None:
        super().__init__(name, mount, doc="wind on the dish")
        m = self.mechanism
        if m.platform is None:
            raise InputError(f"{m.name!r} has no platform that a wind could push")
        checked(diameter, "the diameter of a dish in m", above=0)
        body = m.platform.point.body
        (v,) = wind.trajectory(duration).expressions(self.time)
        density = self.parameter("density", AIR, unit="kg/m^3", lower=0.0)
        across = self.parameter("diameter", diameter, unit="m", sign="positive")
        blows = [as_expr(float(x)) for x in wind.direction]
        along = blows if ship is None else list(ship.seen([blows], self.time)[0])
        along = [self.intermediate(x) for x in along]
        looks = [self.intermediate(x) for x in m.platform.axis.components(m.ground.frame)]
        lined = self.intermediate(dot(along, looks))
        speed = self.intermediate(v)
        load = self.intermediate(density * speed * absolute(speed) / 2 * math.pi / 4 * across**2)
        size = self.intermediate(load * (edge + (face - edge) * lined**2))
        self.force_vector("push", [size * x for x in along], at=m.platform.point)
        # 2 sin cos times the unit normal of both: turns the beam along the wind, the face across it
        turn = self.intermediate(2 * load * across * twist * lined)
        for c, x, axis in zip("xyz", cross(looks, along), m.ground.frame.axes, strict=True):
            self.moment(f"turn_{c}", turn * x, on=body, about=axis)
        self.output("speed", speed, unit="m/s", doc="of the wind")
