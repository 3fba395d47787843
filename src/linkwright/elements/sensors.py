"""Sensors: what instruments show of a mechanism, with steps, noise and bias."""

from __future__ import annotations

from typing import Any

from linkwright.algebra import Expr, Vector, floor
from linkwright.blocks import Element
from linkwright.elements.springs import motion_of
from linkwright.mechanism import Body, Point


class Encoder(Element):
    """An encoder of a joint: its coordinate in whole steps, and the speed from their differences.

    Outputs: `angle` (rad or m), `speed` (by differences of `angle` from instant to instant), and
    `count`. It must be added with a rate.

    Args:
        mechanism: that it belongs to.
        coordinate: of the joint.
        resolution: size of a step, rad or m.
        offset: coordinate at which the count is zero, rad or m.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=1)
    >>> Encoder(m, "b", resolution=0.001)
    Encoder(encoder: nothing -> count, angle, speed)
    """

    def __init__(
        self,
        mechanism: Any,
        coordinate: Expr | str,
        *,
        resolution: float,
        offset: float = 0.0,
        name: str = "encoder",
    ) -> None:
        super().__init__(name, mechanism, doc="encoder of a joint")
        step = self.parameter("resolution", resolution, sign="positive")
        zero = self.parameter("offset", offset)
        q, _ = motion_of(self, coordinate)
        count = self.let(floor((q - zero) / step + 0.5))
        angle = self.let(count * step + zero)
        before = self.memory("before", angle)
        started = self.memory("started", 1.0)
        self.output("count", count, unit="1")
        self.output("angle", angle)
        self.output("speed", started * (angle - before) / self.period)


class Imu(Element):
    """An inertial unit in a body: specific force and angular velocity, along the body's axes.

    Outputs `force_x`, ... (m/s^2: acceleration less that of gravity, as accelerometers show it) and
    `rate_x`, ... (rad/s).

    Args:
        mechanism: that it belongs to.
        at: where it sits: a point, or a body for its origin.
        force_noise: standard deviation of the specific force, m/s^2; with noise it needs a rate.
        rate_noise: standard deviation of the angular velocity, rad/s.
        force_bias: added to each component of the specific force, m/s^2.
        rate_bias: added to each component of the angular velocity, rad/s.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="xyz", rotate="xyz", mass=1, inertia=1)
    >>> list(Imu(m, b).outputs)
    ['force_x', 'force_y', 'force_z', 'rate_x', 'rate_y', 'rate_z']
    """

    def __init__(
        self,
        mechanism: Any,
        at: Point | Body,
        *,
        force_noise: float = 0.0,
        rate_noise: float = 0.0,
        force_bias: float = 0.0,
        rate_bias: float = 0.0,
        name: str = "imu",
    ) -> None:
        super().__init__(name, mechanism, doc="inertial unit")
        point = at.origin if isinstance(at, Body) else at
        m, frame = self.mechanism, point.body.frame
        felt = acceleration_of(self, point) - m.gravity_vector
        turn = point.body.omega
        noises = {"force": force_noise, "rate": rate_noise}
        biases = {"force": force_bias, "rate": rate_bias}
        units = {"force": "m/s^2", "rate": "rad/s"}
        for kind, vector in (("force", felt), ("rate", turn)):
            bias = self.parameter(f"{kind}_bias", biases[kind], unit=units[kind])
            sigma = None
            if noises[kind]:
                sigma = self.parameter(f"{kind}_noise", noises[kind], unit=units[kind])
            for axis, part in zip("xyz", vector.components(frame), strict=True):
                value = part + bias
                if sigma is not None:
                    value = value + sigma * self.noise(f"{kind}_{axis}_noise")
                self.output(f"{kind}_{axis}", value, unit=units[kind])


def acceleration_of(element: Element, point: Point) -> Vector:
    """Return the acceleration of a point relative to the ground, in the rates of speeds.

    Args:
        element: on whose mechanism the point is.
        point: of one of its bodies.
    """
    found = element.mechanism.kinematics().derivative(point.velocity)
    assert isinstance(found, Vector)
    return found
