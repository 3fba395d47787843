"""Contact of a tool on a massless wrist: the force that fits both at every instant.

Without mass nothing holds the tool's speed but the dampers of the wrist and of the surface. With
the depth z of the reference point, its speed v_f out of the surface if nothing pushed, stiffness k
and damper B = b + k a z of the surface, and e = sum(n_i^2 / c_i), the speed that one newton along
the normal n adds through the wrist's dampers c_i,

    N = max(0, (k z - B v_f) / (1 + B e))

is the normal force of the contact's law at the speed v = v_f + e N that it makes.
"""

from __future__ import annotations

from typing import Any

from linkwright.algebra import Expr, maximum, total, where
from linkwright.algebra.triples import Triple, add, cross, dot, held, subtract
from linkwright.blocks import BlockError, Element
from linkwright.elements.surface_frames import SurfaceFrame
from linkwright.elements.surfaces import Surface, surface_of
from linkwright.elements.wrist import CompliantWrist


class WristContact(Element):
    """The reference point of a tool on a massless wrist, which can touch a smooth surface.

    Outputs: `load` (6: N, N*m), for the port of that name of the wrist; `depth` (m, positive
    inside), `normal` (N), and the force in the ground's axes, `force_x` and so on.

    Args:
        mechanism: that it belongs to.
        wrist: massless; it is added to the System before.
        surface: what the tool touches.
        stiffness: k of the normal spring, N/m.
        damping: b of the normal damper, N*s/m.
        dissipation: a of a damper k * depth * a, besides that, s/m.
        events: whether runs say when the tool begins and ceases to touch.
        name: of the element.

    >>> from linkwright import Mechanism, System
    >>> from linkwright.elements import Plane
    >>> m = Mechanism("m")
    >>> hand = m.body("hand", translate="z", mass=1)
    >>> wrist = CompliantWrist(m, hand, hand, [500] * 6, [3] * 6, massless=True)
    >>> s = System(m)
    >>> spring = s.add(wrist)
    >>> touch = s.add(WristContact(m, wrist, Plane(), stiffness=1e5))
    >>> s.connect(touch.load, spring.load)
    """

    def __init__(
        self,
        mechanism: Any,
        wrist: CompliantWrist,
        surface: Surface,
        *,
        stiffness: float,
        damping: float = 0.0,
        dissipation: float = 0.0,
        events: bool = True,
        name: str = "wrist_contact",
    ) -> None:
        super().__init__(name, mechanism, doc="contact of a tool on a massless wrist")
        if not getattr(wrist, "massless", False):
            raise BlockError(
                f"the wrist of {name!r} is not a massless CompliantWrist",
                remedy="give massless=True to the wrist, or use Contact for a tool with mass",
            )
        k = self.parameter("stiffness", stiffness, unit="N/m", lower=0.0)
        b = self.parameter("damping", damping, unit="N*s/m", lower=0.0)
        a = self.parameter("dissipation", dissipation, unit="s/m", lower=0.0)
        ports = {}
        for port, words in (
            ("deflection", "of the tool, flange's axes"),
            ("free_rate", "of the deflection without a load"),
            ("mobility", "speeds of the deflection for units of load"),
        ):
            ports[port] = self.input_vector(port, 6, doc=words)
            self.default_source(port, wrist, port)
        surface = surface_of(surface)
        flange, frame = wrist.flange, SurfaceFrame(self, surface)
        carrier = frame.carrier.body
        way = self._outward(wrist, ports["deflection"])
        drift = self._outward(wrist, ports["free_rate"])
        turning = cross(self.places.of(flange.body).omega, way)
        position = self._triple(add(self.position(wrist.tool), way))
        velocity = add(self.velocity(wrist.tool), add(turning, drift))
        place, speed = frame.relative(position, self._triple(velocity))
        depth, normal = surface.depth(*self._triple(place))
        depth = self.intermediate(depth)
        normal = self._triple(normal)
        along = held(
            self.intermediate,
            self.places.inward(flange, self._triple(frame.outward(normal))),
        )
        eased = total(n**2 * y for n, y in zip(along, ports["mobility"], strict=False))
        out = dot(normal, speed)
        damper = self.intermediate(b + k * a * depth)
        push = maximum((k * depth - damper * out) / (1 + damper * eased), 0.0)
        press = self.output("normal", where(depth > 0, push, 0.0), unit="N")
        self.output("depth", depth, unit="m")
        force = self._triple(frame.outward([press * n for n in normal]))
        for c, x in zip("xyz", force, strict=True):
            self.output(f"force_{c}", x, unit="N")
        self.show_force("force", at=wrist.tool, touch="depth")
        load = [*(press * n for n in along), 0.0, 0.0, 0.0]
        units = ["N"] * 3 + ["N*m"] * 3
        self.output_vector("load", load, unit=units, doc="on the tool")
        if events:
            self.event("touch", depth)
        if carrier.parent is not None:
            arm = subtract(position, self.position(carrier.origin))
            self.force_vector("reaction", [-x for x in force], at=carrier, arm=arm)

    def _outward(self, wrist: CompliantWrist, six: tuple[Expr, ...]) -> Triple:
        return self._triple(self.places.outward(wrist.flange, six[:3]))
