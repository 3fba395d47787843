"""A compliant wrist between a flange and a tool: six directions of stiffness and damping.

The deflection is how far the tool's frame is from its rest place, along the flange's axes: x y z
the way of its reference point, m, and rx ry rz the rotation vector (axis times angle), rad. With
its potential V = sum(k d^2) / 2 and its losses sum(c d'^2) the wrist puts on the tool

    force  -(k x + c x')            at the reference point
    moment -L^-T(r) (k r + c r')    with the rotation vector r; see `rotation_vectors`

and the opposite on the flange. L is the identity to first order: for a turn about one axis, or the
same stiffness about all, the moment is -k r at any angle, and otherwise it differs from that by
r x (k r) / 2. So energy is exact for large turns too; turns stay below half a turn.

- Where the tool hangs on the flange by coordinates of the mechanism, up to six, the deflection is a
  function of these, and the tool has its own mass. At rest they are zero.
- Massless, the tool is fixed on the flange, and the deflection is six states of the wrist with
  c d' = load - k d. The load (port `load`) goes on to the flange where the tool is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwright.algebra import ZERO, Expr, substitute_all
from linkwright.algebra.triples import (
    Matrix,
    add,
    cross,
    matrix_product,
    subtract,
    transposed,
)
from linkwright.blocks import BlockError, Element, Location, checked
from linkwright.blocks.places import AXES, Places
from linkwright.blocks.rotation_vectors import (
    gradient_from_moment,
    moment_from_gradient,
    rate_from_spin,
    rotation_vector,
)
from linkwright.mechanism import Body, Point


class CompliantWrist(Element):
    """Springs and dampers in six directions between a flange and the tool that hangs on it.

    Stiffness and damping are those about the tool's reference point, along the flange's axes: the
    center of compliance, where the directions do not mix.

    Outputs: `deflection` and `deflection_rate` (6: m, rad), of the tool from its rest place along
    the flange's axes; `wrench` (6: N, N*m), stiffness times deflection: at rest, what the
    surroundings and the tool's weight put on the tool about its reference point. With a tool that
    has coordinates also `force_x`, ..., `moment_x`, ...: what the wrist puts on the tool. Massless
    also `free_rate` and `mobility` (6), what the rate is without a load, and what a unit adds; the
    load itself comes in by the port `load` (6), from a `WristContact` or an expression.

    Args:
        mechanism: that it belongs to.
        flange: the body or frame that carries the wrist, or a name; directions are along its axes.
        tool: what hangs on it: a body, whose origin is the reference point, or a point of it.
        stiffness: six numbers above zero: x, y, z in N/m, rx, ry, rz in N*m/rad.
        damping: six numbers: N*s/m and N*m*s/rad; above zero where the wrist is massless.
        massless: whether the tool is fixed on the flange and the deflection is the wrist's own.
        name: of the element.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("m")
    >>> flange = m.body("flange", translate="z", mass=5)
    >>> tool = m.body(
    ...     "tool", parent=flange, translate="xyz", rotate="xyz", mass=0.1, inertia=1e-4
    ... )
    >>> wrist = CompliantWrist(m, flange, tool, [500] * 3 + [8] * 3, [3] * 3 + [0.05] * 3)
    >>> list(wrist.outputs)[:3]
    ['deflection', 'deflection_rate', 'wrench']
    """

    def __init__(
        self,
        mechanism: Any,
        flange: Location,
        tool: Location,
        stiffness: Sequence[float],
        damping: Sequence[float],
        *,
        massless: bool = False,
        name: str = "wrist",
    ) -> None:
        super().__init__(name, mechanism, doc="compliant wrist")
        self.flange: Point = self.point_at(flange)
        self.tool: Point = self.point_at(tool)
        self.massless = massless
        between = self._between()
        units = self._units()
        gains = (
            ("stiffness", stiffness, True, "N/m", "N*m/rad"),
            ("damping", damping, massless, "N*s/m", "N*m*s/rad"),
        )
        made = []
        for kind, given, sound, along, about in gains:
            values = six_numbers(given, kind, name, sound=sound)
            texts = [along] * 3 + [about] * 3
            made.append(
                tuple(
                    self.parameter(
                        f"{kind}_{axis}",
                        value,
                        unit=unit,
                        sign="positive" if sound else "",
                        lower=0.0,
                        doc=f"{kind} of direction {axis}",
                    )
                    for axis, value, unit in zip(AXES, values, texts, strict=True)
                )
            )
        self.stiffness: tuple[Expr, ...] = made[0]
        self.damping: tuple[Expr, ...] = made[1]
        if massless:
            self.deflection, self.deflection_rate = self._own(units)
        else:
            self.deflection, self.deflection_rate = self._of_coordinates(between)
        where = self.output_vector(
            "deflection",
            self.deflection,
            unit=["m"] * 3 + ["rad"] * 3,
            doc="of the tool, flange's axes",
        )
        rates = ["m/s"] * 3 + ["rad/s"] * 3
        speed = self.output_vector(
            "deflection_rate", self.deflection_rate, unit=rates, doc="of the tool"
        )
        springs = [k * d for k, d in zip(self.stiffness, where, strict=True)]
        pulls = self.output_vector(
            "wrench",
            springs,
            unit=["N"] * 3 + ["N*m"] * 3,
            doc="stiffness times deflection",
        )
        if not massless:
            self._act(between[-1], where, speed, pulls)

    def _units(self) -> list[str]:
        return ["m"] * 3 + ["rad"] * 3

    def _between(self) -> list[Body]:
        """Return the bodies from the tool up to the flange, without the latter."""
        m, tool, flange = self.mechanism, self.tool.body, self.flange.body
        chain = tool.ancestors()
        whole = [*chain, m.ground]
        if flange not in whole:
            raise BlockError(
                f"the tool {tool.name!r} of {self.name!r} does not hang on the flange "
                f"{flange.name!r}, but on {whole[1].name if len(whole) > 1 else tool.name!r}",
                remedy="give a body on the way from the ground to the tool as the flange",
            )
        found = whole[: whole.index(flange)]
        count = sum(len(body.coordinates) for body in found)
        if self.massless and count:
            raise BlockError(
                f"{self.name!r} is massless, but the tool {tool.name!r} has {count} coordinates "
                f"from the flange {flange.name!r}",
                remedy="fix the tool on the flange, or leave out massless=True",
            )
        if not self.massless and not 1 <= count <= 6:
            raise BlockError(
                f"the tool {tool.name!r} of {self.name!r} hangs on the flange {flange.name!r} by "
                f"{count} coordinates",
                remedy="give the tool 1 to 6 coordinates (translate='xyz', rotate='xyz'), or "
                "massless=True where it is fixed",
            )
        return found

    # -- with coordinates of the mechanism ---------------------------------------------------------
    def _of_coordinates(self, between: Sequence[Body]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        """Return deflection and rate as expressions of the mechanism."""
        turn = self.flange.inward
        where, rate = self._along_body(between)
        return (*turn(where[:3]), *turn(where[3:])), (*turn(rate[:3]), *turn(rate[3:]))

    def _along_body(self, between: Sequence[Body]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        """Return deflection and rate along the axes of the flange's body."""
        places = Places(lambda x: x, self.flange.body)
        point = self.tool
        place = places.of(point.body)
        still = {q: ZERO for b in between for q in b.coordinates}
        here = places.position(point)
        way = subtract(here, substitute_all(here, still))
        drift = places.velocity(point)
        turns = [q for b in between for q in b.rotations]
        if not turns:
            return (*way, ZERO, ZERO, ZERO), (*drift, ZERO, ZERO, ZERO)
        if len(turns) == 1:
            (q,) = turns
            rate = self.mechanism.kinematics().rates[q]
            axis = [x / rate for x in place.omega]
            return (*way, *(a * q for a in axis)), (*drift, *place.omega)
        rest = _rows(substitute_all([x for row in place.rotation for x in row], still))
        turned = matrix_product(place.rotation, transposed(rest))
        vector = tuple(rotation_vector(turned, lambda x: x))
        rates = rate_from_spin(vector, place.omega, lambda x: x)
        return (*way, *vector), (*drift, *rates)

    def _act(
        self, hung: Body, where: Sequence[Expr], speed: Sequence[Expr], pulls: Sequence[Expr]
    ) -> None:
        """Put the loads of springs and dampers on the tool, and the opposite on the flange."""
        loads = [p + c * v for p, c, v in zip(pulls, self.damping, speed, strict=True)]
        if sum(x is not ZERO for x in self.deflection[3:]) > 1:
            gradient = [self.intermediate(x) for x in loads[3:]]
            loads[3:] = moment_from_gradient(where[3:], gradient, self.intermediate)
        on, back, axes = self.tool.body, self.flange.body, self.flange.axes
        words = f"of the wrist on {on.name}, flange's axes"
        for c, axis, force, moment in zip("xyz", axes, loads[:3], loads[3:], strict=True):
            push, turn = f"force_{c}", f"moment_{c}"
            self.in_joints |= {push: hung, turn: hung}
            doc = f"force {words}"
            self.force(push, -force, at=self.tool, along=axis, reaction=back, doc=doc, shown=False)
            self.moment(turn, -moment, on=on, about=axis, reaction=back, doc=f"moment {words}")

    # -- massless ----------------------------------------------------------------------------------
    def _own(self, units: Sequence[str]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        """Return deflection and rate as states of the wrist, and pass the load on."""
        load = self.input_vector("load", 6, doc="on the tool about its point, flange's axes")
        states = tuple(
            self.state(f"deflection_{axis}", unit=unit, doc=f"deflection in direction {axis}")
            for axis, unit in zip(AXES, units, strict=True)
        )
        felt = [*load[:3], *gradient_from_moment(states[3:], load[3:], self.intermediate)]
        rows = zip(felt, self.stiffness, self.damping, states, strict=True)
        rates = tuple(self.intermediate((f - k * d) / c) for f, k, c, d in rows)
        for state, rate in zip(states, rates, strict=True):
            self.derivative(state, rate)
        eased = [1 / c for c in self.damping]
        back = [-k * e * d for k, e, d in zip(self.stiffness, eased, states, strict=True)]
        speeds = ["m/s"] * 3 + ["rad/s"] * 3
        self.output_vector("free_rate", back, unit=speeds, doc="of the deflection without a load")
        self.output_vector("mobility", eased, doc="rates of the deflection for units of load")
        if self.flange.body.parent is not None:
            couple = add(load[3:], cross(states[:3], load[:3]))
            axes = self.flange.axes
            for letter, axis, value in zip("xyz", axes, load[:3], strict=True):
                self.force(f"force_{letter}", value, at=self.tool, along=axis, shown=False)
            for letter, axis, value in zip("xyz", axes, couple, strict=True):
                self.moment(f"moment_{letter}", value, on=self.flange.body, about=axis)
        return states, rates


def six_numbers(given: Sequence[float], kind: str, name: str, *, sound: bool) -> list[float]:
    """Return six numbers, or say which one cannot be meant."""
    try:
        values = list(given)
    except TypeError as error:
        raise BlockError(
            f"{kind} of {name!r} is {given!r}", remedy="give six numbers: " + ", ".join(AXES)
        ) from error
    if len(values) != 6 or isinstance(given, str):
        raise BlockError(
            f"{kind} of {name!r} has {len(values)} numbers", remedy="give six: " + ", ".join(AXES)
        )
    found = [checked(v, f"{kind} {a} of {name!r}") for a, v in zip(AXES, values, strict=True)]
    for axis, value in zip(AXES, found, strict=True):
        if value < 0:
            raise BlockError(
                f"{kind} {axis} of {name!r} is {value:g}: the wrist would be "
                + ("indefinite" if kind == "stiffness" else "driven by its own motion"),
                remedy="give numbers above 0" if sound else "give numbers of 0 or more",
            )
        if value == 0 and sound:
            raise BlockError(
                f"{kind} {axis} of {name!r} is 0: "
                + (
                    "the stiffness is singular, and no load can be computed from the deflection"
                    if kind == "stiffness"
                    else "without mass nothing else holds the tool's speed"
                ),
                remedy="give a number above 0"
                + (", or a tool without that coordinate" if kind == "stiffness" else ""),
            )
    return found


def _rows(nine: Sequence[Expr]) -> Matrix:
    a, b, c, d, e, f, g, h, i = nine
    return (a, b, c), (d, e, f), (g, h, i)
