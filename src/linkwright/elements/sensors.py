"""Sensors: what instruments show of a mechanism, with steps, noise and bias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwright.algebra import Expr, Vector, floor
from linkwright.algebra.triples import subtract
from linkwright.blocks import Element, Location
from linkwright.elements.springs import motion_of
from linkwright.equations.reactions import carried_by_joint, shifted
from linkwright.mechanism import Point


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
        q, _ = motion_of(self, coordinate)
        unit = self.mechanism.units[q.name]
        step = self.parameter("resolution", resolution, unit=unit, sign="positive")
        zero = self.parameter("offset", offset, unit=unit)
        count = self.intermediate(floor((q - zero) / step + 0.5))
        angle = self.intermediate(count * step + zero)
        before = self.discrete_state("before", angle)
        started = self.discrete_state("started", 1.0)
        self.output("count", count, unit="1", doc=f"{q.name} in steps")
        self.output("angle", angle, unit=unit, doc=f"{q.name} in whole steps")
        speed = started * (angle - before) / self.period
        self.output("speed", speed, unit=f"{unit}/s", doc=f"rate of {q.name} by differences")


class Imu(Element):
    """An inertial unit: specific force and angular velocity, along the axes of where it sits.

    Outputs `accel_x`, ... (m/s^2: acceleration less that of gravity, as accelerometers show it) and
    `gyro_x`, ... (rad/s).

    Args:
        mechanism: that it belongs to.
        at: where it sits: a point, a body for its origin, or a name. The axes are those of the
            link or frame that is named, otherwise the body's.
        accel_noise: standard deviation of the specific force, m/s^2; with noise it needs a rate.
        gyro_noise: standard deviation of the angular velocity, rad/s.
        accel_bias: added to each component of the specific force, m/s^2.
        gyro_bias: added to each component of the angular velocity, rad/s.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", translate="xyz", rotate="xyz", mass=1, inertia=1)
    >>> list(Imu(m, b).outputs)
    ['accel_x', 'accel_y', 'accel_z', 'gyro_x', 'gyro_y', 'gyro_z']
    """

    def __init__(
        self,
        mechanism: Any,
        at: Location,
        *,
        accel_noise: float = 0.0,
        gyro_noise: float = 0.0,
        accel_bias: float = 0.0,
        gyro_bias: float = 0.0,
        name: str = "imu",
    ) -> None:
        super().__init__(name, mechanism, doc="inertial unit")
        point = self.point_at(at)
        felt = acceleration_of(self, point) - self.mechanism.gravity_vector
        on = at if isinstance(at, str) else point.body.name
        felt_in, turn_in = (
            point.inward(v.components(point.body.frame)) for v in (felt, point.body.omega)
        )
        show(
            self,
            "accel",
            felt_in,
            "m/s^2",
            accel_noise,
            accel_bias,
            f"specific force of {on}",
        )
        show(self, "gyro", turn_in, "rad/s", gyro_noise, gyro_bias, f"angular velocity of {on}")


class ForceTorque(Element):
    """A force and torque sensor where a body is mounted: what its parent puts on it.

    Outputs `force_x`, ... (N) and `moment_x`, ... (N*m, about the body's origin), along the body's
    axes, and `wrench` (6: N, N*m), their opposite: what the surroundings put on the body, weight
    and inertia among it, for the port of that name of laws of force. They carry the weight and the
    inertia of the body and of all that it carries, less the loads that act there from elsewhere,
    such as contacts, whichever member of the System they come from. A motor in the joint acts
    through the sensor. Loops may be closed on either side of it but not across it.

    Of a robot's link, origin and axes are the link's. Links that fixed joints hold together are one
    body: the sensor sits in the joint that moves them all, and shows what acts there at the origin
    and along the axes of the link that is named, a massless tool for example.

    Args:
        mechanism: that it belongs to.
        body: on which it looks outward, or a point of it; of a tool on a wrist, the tool.
        force_noise: standard deviation of the force, N; with noise it needs a rate.
        moment_noise: standard deviation of the moment, N*m.
        force_bias: added to each component of the force, N.
        moment_bias: added to each component of the moment, N*m.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=1)
    >>> list(ForceTorque(m, b).outputs)
    ['force_x', 'force_y', 'force_z', 'moment_x', 'moment_y', 'moment_z', 'wrench']
    """

    def __init__(
        self,
        mechanism: Any,
        body: Location,
        *,
        force_noise: float = 0.0,
        moment_noise: float = 0.0,
        force_bias: float = 0.0,
        moment_bias: float = 0.0,
        name: str = "force_torque",
    ) -> None:
        super().__init__(name, mechanism, doc="force and torque sensor")
        frame = self.point_at(body)
        on = body if isinstance(body, str) else frame.body.name
        others = self.subtree_loads(frame.body)
        felt = carried_by_joint(self.mechanism, frame.body)
        loads = shifted(frame, (subtract(felt[0], others[:3]), subtract(felt[1], others[3:])))
        units = "N", "N*m"
        noises, biases = (force_noise, moment_noise), (force_bias, moment_bias)
        wrench: list[Expr] = []
        rows = zip(("force", "moment"), loads, units, noises, biases, strict=True)
        for kind, parts, unit, noise, bias in rows:
            wrench += [-x for x in show(self, kind, parts, unit, noise, bias, f"{kind} on {on}")]
        texts = [unit for unit in units for _ in range(3)]
        self.output_vector("wrench", wrench, unit=texts, doc=f"of the surroundings on {on}")


def show(
    element: Element,
    kind: str,
    parts: Sequence[Expr],
    unit: str,
    noise: float,
    bias: float,
    words: str,
) -> list[Expr]:
    """Add and return the outputs of a sensor with three axes, with bias and noise, if any."""
    off = element.parameter(f"{kind}_bias", bias, unit=unit)
    sigma = element.parameter(f"{kind}_noise", noise, unit=unit, lower=0.0) if noise else None
    shown = []
    for axis, part in zip("xyz", parts, strict=True):
        value = part + off
        if sigma is not None:
            value = value + sigma * element.noise(f"{kind}_{axis}_noise")
        doc = f"{words} along {axis}"
        shown.append(element.output(f"{kind}_{axis}", value, unit=unit, doc=doc))
    return shown


def acceleration_of(element: Element, point: Point) -> Vector:
    """Return the acceleration of a point relative to the ground, in the rates of speeds."""
    found = element.mechanism.kinematics().derivative(point.velocity)
    assert isinstance(found, Vector)
    return found
