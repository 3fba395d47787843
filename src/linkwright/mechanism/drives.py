"""What drives a machine and what it moves: actuators, struts whose length is driven, the platform.

A tree has many coordinates, and a machine with closed loops has few actuators. Naming them chooses
the independent speeds of everything that is derived. A strut whose length is driven (a cylinder
between two ball joints whose own masses do not count) is a coordinate too: a massless slider that
nothing else moves, and the relation |p2 - p1|^2 = length^2. The force on that coordinate is the
force of the strut, positive where it pushes its ends apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Self

from linkwright.algebra import Expr, direction_of
from linkwright.algebra.units import Amount
from linkwright.border import worded
from linkwright.mechanism import loops
from linkwright.mechanism.joints import MechanismError
from linkwright.mechanism.loads import LoadBuilder
from linkwright.mechanism.parts import Body, DrivenStrut, Platform, Point
from linkwright.mechanism.symbols import require_name
from linkwright.mechanism.transactions import builder
from linkwright.mechanism.workspace import Value


class DriveBuilder(LoadBuilder):
    """The part of a mechanism that names its actuators and its platform."""

    @builder
    def actuate(self, *coordinates: str) -> None:
        """Name the coordinates that motors and cylinders move, in the order of the actuators.

        Where loops are closed, the speeds of the actuators are the independent ones.

        Args:
            coordinates: of joints with one translation or rotation, or names of driven struts.

        >>> m = DriveBuilder("m")
        >>> b = m.body("b", rotate="z")
        >>> m.actuate("b")
        >>> m.actuators
        [b]
        """
        self.actuators.extend(self._driven(coordinates, self.actuators))
        self._changed()

    @worded
    def with_drives(
        self, actuators: Iterable[str] | None = None, platform: Point | Body | str | None = None
    ) -> Self:
        """Return a view with other actuators or another platform; the mechanism stays as it is.

        Args:
            actuators: names of coordinates, in place of its own.
            platform: a point or body, in place of its own.

        >>> m = DriveBuilder("m")
        >>> b = m.body("b", rotate="z")
        >>> m.with_drives(["b"]).actuators, m.actuators
        ([b], [])
        """
        own = self.actuators if actuators is None else self._driven(actuators, ())
        made = self.platform if platform is None else self._platform(platform, "z")
        view = self.with_parts(actuators=own)
        view.platform = made
        return view

    def _driven(self, names: Iterable[str], before: Sequence[Expr]) -> list[Expr]:
        """Return the coordinates of actuators."""
        found = list(before)
        for name in names:
            require_name(name, "an actuator")
            q = self.coordinates.get(name)
            body = next((b for b in self.bodies.values() if q in b.coordinates), None)
            if q is None or body is None:
                known = [q.name for b in self.bodies.values() for q in b.coordinates]
                self.unknown(name, known, "coordinate")
                continue
            if body.joint.quaternion and q in body.rotations:
                raise MechanismError(
                    f"{name!r} is part of a quaternion, which no actuator moves alone",
                    remedy="drive a joint with one axis, or a strut",
                )
            if q in found:
                raise MechanismError(f"{name!r} is an actuator already")
            found.append(q)
        return found[len(before) :]

    def _platform(self, at: Point | Body | str, axis: Value) -> Platform:
        point = self._place("the platform", at)
        if point.body is self.ground:
            raise MechanismError("the platform is a body that moves, not the ground")
        return Platform(point, direction_of(self.vector(axis, point.body.frame)))

    @builder
    def drive_strut(
        self,
        name: str,
        first: Point | Body | str,
        second: Point | Body | str,
        *,
        length: Amount = 1.0,
        doc: str = "",
    ) -> Expr:
        """Add a massless strut whose length is a coordinate that can be driven.

        Args:
            name: of the strut, and of its coordinate, the length, m.
            first: a point of one body, or its name; of a body, its origin.
            second: a point of another, in the same way.
            length: near which the assembly starts to look for it, m.
            doc: what it is.

        >>> m = DriveBuilder("m")
        >>> b = m.body("b", translate="x", mass=1)
        >>> m.drive_strut("cylinder", m.origin, b)
        cylinder
        >>> m.constraints[0].speed
        b*b_dot - cylinder*cylinder_dot
        """
        require_name(name, "a strut")
        start, end = self._place(name, first), self._place(name, second)
        self._kinematics = None  # a massless slider on the ground leaves all velocities as they are
        words = doc or "length of a driven strut"
        slider = self.body(name, translate="x", mass=0, inertia=0, doc=words)
        (driven,) = slider.coordinates
        made = loops.distance(self, start, end, driven, f"{name} is as long as it is driven")
        self.constraints[-1] = replace(made, length=driven)
        self.set_initial({name: length})
        self._changed()
        return driven

    @property
    def driven_struts(self) -> tuple[DrivenStrut, ...]:
        """The struts whose length is a coordinate, in order.

        >>> m = DriveBuilder("m")
        >>> b = m.body("b", translate="x", mass=1)
        >>> cylinder = m.drive_strut("cylinder", m.origin, b)
        >>> [(s.name, s.first.name) for s in m.driven_struts]
        [('cylinder', 'o')]
        """
        found = []
        for constraint in self.constraints:
            if constraint.length is not None:
                slider = self.bodies[constraint.length.name]
                (work,) = constraint.works
                found.append(
                    DrivenStrut(slider.name, work.reaction, work.point, constraint.length, slider)
                )
        return tuple(found)

    @builder
    def set_platform(self, at: Point | Body | str, *, axis: Value = "z") -> Platform:
        """Say which body the machine moves, at which point, and along which axis it points.

        Args:
            at: a point of the platform, or its name; of a body, its origin.
            axis: the direction that a dish or tool points along, in the platform's axes.

        >>> m = DriveBuilder("m")
        >>> b = m.body("b", rotate="y")
        >>> m.set_platform(b).point.body.name
        'b'
        """
        self.platform = self._platform(at, axis)
        self._changed()
        return self.platform
