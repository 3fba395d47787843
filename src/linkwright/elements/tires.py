"""Tires: forces at a wheel's contact with the road from slip.

The slip angle a is the angle of the contact's motion to the wheel's plane; the slip ratio k is the
speed of the tread over the road in relation to the motion forward, (R w - v_x)/|v_x|. A tire builds
its side force up over a distance, the relaxation length s: the slip that acts, a', follows
s a'_dot + |v_x| a' = |v_x| a.

**Combined slip** (after Pacejka, Tire and Vehicle Dynamics, sections 3.2.3 and 4.2; Milliken and
Milliken, Race Car Vehicle Dynamics, chapter 2: the friction ellipse). Slip is one vector, the
velocity of the tread over the road divided by the speed of travel, with the components
s_x = k cos a and s_y = sin a; its size is 1 for a locked wheel, whichever way that slides. With n
its direction, and the forces of pure slip at the same size of slip,

    A = along(sqrt(s_x^2 + s_y^2))     S = |side(sqrt(s_x^2 + a^2))|

the force is (n_x A, n_y S) at small slip: that of a brush with two stiffnesses, which lies within
the ellipse of A and S. The more the tread slides, the more the force turns against the sliding, as
dry friction does, (n_x, n_y) (n_x^2 A + n_y^2 S); between the two it is mixed by the square of the
slip, up to 1. So pure slip in either direction is exactly the law's, the force never exceeds
the greater friction times the load, a locked wheel is pushed against its motion, and the power
F . v_slip is never above zero.

**The wheel** feels the force at its rim: the moment -R F_x about its axle, with its opposite on the
body that carries it, as the force acts there at the contact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linkwright.algebra import (
    ZERO,
    Expr,
    Vector,
    absolute,
    as_expr,
    atan2,
    cos,
    direction_of,
    evaluate,
    free_symbols,
    maximum,
    minimum,
    sin,
    sqrt,
)
from linkwright.base.reprs import brief
from linkwright.blocks import BlockError, Element, Location, checked, joint_of
from linkwright.elements.tire_laws import TireLaw
from linkwright.mechanism import Body, Point

_NO_SLIP = 1e-12
"""Added to the square of a slip whose direction is asked for."""


class Tire(Element):
    """The tire of a wheel on a flat road.

    Inputs: `load` (N; below zero it counts as zero). Outputs: `slip_angle` (rad), `slip_ratio`,
    `lateral` and `longitudinal` force (N), both together in the ground's axes, `force_x`,
    `force_y`, `force_z` (N), and where a wheel spins `spin_moment` (N*m), what the tire puts on it
    about its axle.

    Args:
        mechanism: that it belongs to.
        at: the contact: a point of the body that carries the wheel, which does not spin; or the
            wheel itself, whose contact is then its radius below its origin.
        law: forces from slip: `LinearTire`, `MagicFormula`, `TableTire`.
        forward: direction in which the wheel rolls, in the plane of the road.
        left: direction to its left, in the plane of the road.
        load: vertical load where nothing else drives it, N: a number or an expression.
        relaxation: distance over which the side force builds up, m; 0 for at once.
        wheel: the body that spins, or its name: its speed makes slip, and it feels the force. None
            for a wheel that rolls freely, or whose speed is given by `spin`.
        spin: speed of rotation of the wheel, rad/s, as an expression, positive where it rolls
            forward: the speed of a joint, whose body is then the wheel, or a speed that is
            prescribed, by an input for example.
        radius: of the wheel, m; needed with `wheel` or `spin`.
        rolling_resistance: moment against rolling in relation to load times radius; needs a wheel.
        trail: distance by which the side force acts behind the contact at small slip (the
            pneumatic trail), m; it gives the aligning moment `aligning` (N*m).
        trail_slip: the slip angle at which half of the trail is left, rad.
        min_speed: speed below which slip is taken as at that speed, m/s.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> from linkwright.elements import MagicFormula
    >>> m = Mechanism("m")
    >>> hub = m.body("hub", translate="x", mass=100)
    >>> wheel = m.body("wheel", parent=hub, rotate="y", mass=0, inertia=1)
    >>> law = MagicFormula(10.0, 1.9, 1.0, 0.97)
    >>> tire = Tire(m, hub, law, forward=m.x, left=m.y, load=1000.0, wheel=wheel, radius=0.3)
    >>> [moment.name for moment in tire.moments]
    ['spin_moment']
    """

    def __init__(
        self,
        mechanism: Any,
        at: Location,
        law: TireLaw,
        *,
        forward: Vector | str | Sequence[float],
        left: Vector | str | Sequence[float],
        load: Expr | float | str,
        relaxation: float = 0.0,
        wheel: Body | str | None = None,
        spin: Expr | float | str | None = None,
        radius: float = 0.0,
        rolling_resistance: float = 0.0,
        trail: float = 0.0,
        trail_slip: float = 0.1,
        min_speed: float = 0.1,
        name: str = "tire",
    ) -> None:
        super().__init__(name, mechanism, doc="forces of a tire from slip")
        forward, left = self._direction("forward", forward), self._direction("left", left)
        self._refuse_oblique(forward @ left)
        self.wheel_radius = checked(radius, f"radius of {name!r}", least=0)
        self.wheel = self._wheel_of(wheel, spin, radius)
        turns = self.wheel is not None or spin is not None
        if rolling_resistance and self.wheel is None:
            raise BlockError(
                f"{name!r} has rolling resistance but no wheel that could feel it",
                remedy="give wheel=..., the body that spins",
            )
        point = self.point_at(at)
        weight = self.intermediate(maximum(self.input("load", load, unit="N"), 0.0))
        crawl = self.parameter("min_speed", min_speed, unit="m/s", sign="positive")
        tread: Expr = ZERO
        if turns:
            tread = self.parameter("radius", radius, unit="m", sign="positive")
        ahead, aside = (self.intermediate(point.velocity @ axis) for axis in (forward, left))
        on_wheel = self.wheel is point.body
        if on_wheel:
            aside = self.intermediate(aside + tread * (point.body.omega @ forward))
        roll = self.intermediate(maximum(absolute(ahead), crawl))
        angle = self.intermediate(atan2(aside, roll))
        if checked(relaxation, f"relaxation of {name!r}", least=0):
            over = self.parameter("relaxation", relaxation, unit="m", sign="positive")
            lagging = self.state("slip", unit="rad", doc="the slip angle that acts")
            self.derivative(lagging, roll * (angle - lagging) / over)
            angle = lagging
        rim = self.intermediate(tread * self._spin(point, left, spin)) if turns else ZERO
        ratio = self.intermediate((rim - ahead) / roll) if turns else ZERO
        self.output("slip_angle", angle, unit="rad")
        self.output("slip_ratio", ratio, unit="1")
        pure = (as_expr(0), law.lateral(angle, weight))
        along, aside_force = self._combined(law, angle, ratio, weight) if turns else pure
        lateral = self.force("lateral", aside_force, at=point, along=left, shown=False)
        whole = left * lateral
        if turns:
            whole = whole + forward * self.force(
                "longitudinal", along, at=point, along=forward, shown=False
            )
        if self.wheel is not None:
            moment = -tread * self._value("longitudinal")
            if rolling_resistance:
                part = self.parameter("rolling_resistance", rolling_resistance, lower=0.0)
                moment = moment - tread * part * weight * rim / sqrt(rim**2 + crawl**2)
            self._turn_wheel(point, left, spin, moment)
            if on_wheel:
                self.moment("tilt_moment", tread * lateral, on=point.body, about=forward)
        if trail:
            behind = self.parameter("trail", trail, unit="m", lower=0.0)
            half = self.parameter("trail_slip", trail_slip, unit="rad", sign="positive")
            arm = behind / sqrt(1 + 3 * (angle / half) ** 2)
            self.moment("aligning", -arm * lateral, on=point.body, about=forward.cross(left))
        for c, part in zip("xyz", whole.components(self.mechanism.ground.frame), strict=True):
            self.output(f"force_{c}", part, unit="N")
        self.show_force("force", at=point, below=self.wheel_radius if on_wheel else 0.0)

    def _wheel_of(
        self, wheel: Body | str | None, spin: Expr | float | str | None, radius: float
    ) -> Body | None:
        """Return the body that spins, from what was given of it."""
        m = self.mechanism
        if (wheel is not None or spin is not None) and not radius > 0:
            raise BlockError(
                f"{self.name!r} knows no radius of its wheel", remedy="give radius=..., m"
            )
        if wheel is not None:
            if spin is not None:
                raise BlockError(
                    f"{self.name!r} is given both a wheel and a spin",
                    remedy="give wheel=... alone; its speed is known",
                )
            return self.point_at(wheel).body
        if spin is None:
            return None
        speed = self.expr(spin)
        speeds = {s.symbol for s in m.kinematics().speeds}
        if not speeds & set(free_symbols(speed)):
            return None
        for q, rate in m.kinematics().rates.items():
            if rate is speed and q.name in m.coordinates and joint_of(m, q).turns:
                return joint_of(m, q).body
        raise BlockError(
            f"the spin of {self.name!r} is {speed}, which is not the speed of one joint, so it "
            "is not known what feels the tire's force",
            remedy="give wheel=..., the body that spins",
        )

    def _direction(self, name: str, given: Vector | str | Sequence[float]) -> Vector:
        """Return the direction of an argument."""
        if not isinstance(given, Vector | str | Sequence):
            raise BlockError(
                f"{name} of {self.name!r} must be a direction, not {brief(given)}",
                remedy="give a vector, its text, or three components",
            )
        return direction_of(self.mechanism.vector(given))

    def _refuse_oblique(self, cosine: Expr) -> None:
        """Reject directions that are not at right angles, in some state or other."""
        used = free_symbols(cosine)
        for k in range(1, 4):
            at = {x: math.sin(k * (1 + i)) for i, x in enumerate(used)}
            if abs(found := float(evaluate(cosine, at))) > 1e-6:
                raise BlockError(
                    f"left of {self.name!r} is not at right angles to forward, but at "
                    f"{math.degrees(math.acos(max(-1.0, min(found, 1.0)))):.4g} deg",
                    remedy="give the axis about which the wheel spins as left=",
                )

    def _spin(self, point: Point, left: Vector, spin: Expr | float | str | None) -> Expr:
        """Return the speed of the wheel's rotation, positive where it rolls forward."""
        if spin is not None:
            return self.expr(spin)
        assert self.wheel is not None
        if point.body is self.wheel:
            return self.wheel.omega @ left
        if point.body not in self.wheel.ancestors():
            raise BlockError(
                f"the contact of {self.name!r} is on {point.body.name!r}, which does not carry "
                f"{self.wheel.name!r}",
                remedy="put it on the body that carries the wheel",
            )
        return (self.wheel.omega - point.body.omega) @ left

    def _turn_wheel(
        self, point: Point, left: Vector, spin: Expr | float | str | None, moment: Expr
    ) -> None:
        """Put the moment of the tire's force on the wheel."""
        assert self.wheel is not None
        if spin is not None:
            rates = self.mechanism.kinematics().rates
            speed = self.expr(spin)
            coordinate = next(q for q, rate in rates.items() if rate is speed)
            self.effort("spin_moment", coordinate, moment)
        elif point.body is self.wheel:
            self.moment("spin_moment", moment, on=self.wheel, about=left)
        else:
            self.moment("spin_moment", moment, on=self.wheel, about=left, reaction=point.body)

    def _value(self, output: str) -> Expr:
        return self.outputs[output].symbols[0]

    def _combined(self, law: TireLaw, angle: Expr, ratio: Expr, load: Expr) -> tuple[Expr, Expr]:
        """Return the forces forward and to the left of slip in both directions."""
        across = self.intermediate(sin(angle))
        onward = self.intermediate(ratio * cos(angle))
        size = self.intermediate(sqrt(onward**2 + across**2 + _NO_SLIP))
        turned = self.intermediate(sqrt(onward**2 + angle**2 + _NO_SLIP))
        n_x, n_y = self.intermediate(onward / size), self.intermediate(across / size)
        a, s = (
            self.intermediate(law.longitudinal(size, load)),
            self.intermediate(-law.lateral(turned, load)),
        )
        sliding = self.intermediate(minimum(size**2, 1.0))
        dry = self.intermediate(sliding * (n_x**2 * a + n_y**2 * s))
        return n_x * ((1 - sliding) * a + dry), -n_y * ((1 - sliding) * s + dry)
