"""The sensor of a compliant wrist: six potentiometers on a serial linkage, and their reading.

In a simulation the angles follow from the deflection by closing the loop of the linkage; a
controller has only the angles, and gets the deflection back by direct kinematics with the
dimensions that it believes in.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra import Expr, floor, maximum, minimum, sqrt, total
from linkwright.algebra.triples import dot
from linkwright.blocks import Block, BlockError, checked
from linkwright.blocks.places import AXES
from linkwright.blocks.rotation_vectors import rotation_rows, rotation_vector
from linkwright.elements.wrist import CompliantWrist, six_numbers
from linkwright.elements.wrist_linkage import LinkagePlacement, WristLinkage


class WristPotentiometers(Block):
    """Six potentiometers on the hinges of a linkage that a compliant wrist moves.

    Outputs: `angles` (6, rad), what they show: the hinge's angle with play, the offset, noise, and
    rounded to whole steps; `gap`, how far the linkage is from closed, in parts of its size and rad:
    near zero unless a deflection is out of its reach.

    Args:
        wrist: whose deflection moves it, unless the port `deflection` is connected.
        linkage: its hinges and the offsets of the potentiometers; a small one by default.
        resolution: size of a step, rad; 0 for none.
        noise: standard deviation, rad; with noise it needs a rate.
        backlash: play of each hinge, from one side to the other, rad.
        steps: of Newton's method from the linkage at rest; 4 close it to rounding for turns of up
            to about 0.3 rad.
        name: of the block.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("m")
    >>> tool = m.body("tool", translate="z", mass=1)
    >>> wrist = CompliantWrist(m, m.ground, tool, [500] * 6, [3] * 6)
    >>> WristPotentiometers(wrist, resolution=1e-4)
    WristPotentiometers(potentiometers: deflection -> angles, gap)
    """

    def __init__(
        self,
        wrist: CompliantWrist,
        linkage: WristLinkage | None = None,
        *,
        resolution: float = 0.0,
        noise: float = 0.0,
        backlash: float = 0.0,
        steps: int = 4,
        name: str = "potentiometers",
    ) -> None:
        super().__init__(name, doc="potentiometers of a wrist's linkage")
        if not isinstance(wrist, CompliantWrist):
            raise BlockError(f"wrist of {name!r} is {wrist!r}", remedy="give a CompliantWrist")
        if not checked(steps, f"steps of {name!r}", least=1).is_integer():
            raise BlockError(
                f"steps of {name!r} is {steps!r}", remedy="give a whole number above 0"
            )
        self.linkage = WristLinkage() if linkage is None else linkage
        deflection = self.input_vector("deflection", 6, doc="of the tool, flange's axes: m, rad")
        self.default_source("deflection", wrist, "deflection")
        angles, gap = self._closed(deflection, steps)
        step = self.parameter("resolution", resolution, unit="rad", lower=0.0)
        sigma = self.parameter("noise", noise, unit="rad", lower=0.0)
        play = self.parameter("backlash", backlash, unit="rad", lower=0.0)
        shown = []
        for k, (angle, zero) in enumerate(zip(angles, self.linkage.offsets, strict=True), 1):
            value = self._with_play(k, angle, play) if backlash else angle
            value = value + self.parameter(f"offset{k}", zero, unit="rad")
            if noise:
                value = value + sigma * self.noise(f"noise{k}")
            if resolution:
                value = step * floor(value / step + 0.5)
            shown.append(value)
        self.output_vector("angles", shown, unit="rad", doc="what the potentiometers show")
        self.output("gap", gap, unit="1", doc="of the linkage that should be closed")

    def _with_play(self, k: int, angle: Expr, play: Expr) -> Expr:
        """Return where the far side of a hinge with play is: it is taken along at the ends."""
        held = self.discrete_state(f"held{k}", unit="rad")
        now = self.intermediate(minimum(maximum(held, angle - play / 2), angle + play / 2))
        self.update(held, now)
        return now

    def _closed(self, wanted: Sequence[Expr], steps: int) -> tuple[list[Expr], Expr]:
        """Return the angles at which the linkage has a deflection, and what is left open."""
        goal = rotation_rows(wanted[3:], self.intermediate)
        angles = [self.expr(0.0)] * 6
        for _ in range(int(steps)):
            here = self.linkage.expressions(angles, self._named)
            table = [[self._named(x) for x in row] for row in here.jacobian()]
            (move,) = self._solved(table, self._left(wanted, goal, here))
            angles = [self._named(f + d) for f, d in zip(angles, move, strict=True)]
        here = self.linkage.expressions(angles, self._named)
        left = self._left(wanted, goal, here)
        far = [*(x / self.linkage.size for x in left[:3]), *left[3:]]
        return angles, sqrt(total(x**2 for x in far))

    def _left(
        self, wanted: Sequence[Expr], goal: Sequence[Sequence[Expr]], here: LinkagePlacement
    ) -> list[Expr]:
        """Return the way and the turn, by its sine, that are left to a deflection."""
        rows, now = goal, here.rotation
        turn = {
            (i, j): dot(rows[i], now[j])
            for i, j in ((2, 1), (1, 2), (0, 2), (2, 0), (1, 0), (0, 1))
        }
        pairs = ((2, 1), (0, 2), (1, 0))
        about = [(turn[i, j] - turn[j, i]) / 2 for i, j in pairs]
        along = [w - p for w, p in zip(wanted, here.position, strict=False)]
        return [self._named(x) for x in (*along, *about)]

    def _named(self, x: Expr) -> Expr:
        return x if x.is_atom else self.intermediate(x)


class WristReading(Block):
    """What a controller makes of a wrist's potentiometers: deflection and wrench.

    Outputs: `deflection` (6: m, rad) by the direct kinematics of the linkage that it believes in,
    and `wrench` (6: N, N*m), stiffness times deflection, for the port of that name of laws of
    force. It fits the wrist's own outputs of the same names.

    Args:
        stiffness: of the wrist, six numbers above zero: N/m, N*m/rad.
        linkage: with the offsets and lengths that the controller believes in, such as
            `linkage.calibrated(...)`; a small one by default.
        sensor: the potentiometers that it reads, unless the port `angles` is connected.
        name: of the block.

    >>> reading = WristReading([500] * 3 + [8] * 3)
    >>> reading
    WristReading(reading: angles -> deflection, wrench)
    """

    def __init__(
        self,
        stiffness: Sequence[float],
        linkage: WristLinkage | None = None,
        *,
        sensor: WristPotentiometers | None = None,
        name: str = "reading",
    ) -> None:
        super().__init__(name, doc="deflection from the potentiometers of a wrist")
        self.linkage = WristLinkage() if linkage is None else linkage
        values = six_numbers(stiffness, "stiffness", name, sound=True)
        units = ["N/m"] * 3 + ["N*m/rad"] * 3
        gains = [
            self.parameter(f"stiffness_{axis}", value, unit=unit, sign="positive", lower=0.0)
            for axis, value, unit in zip(AXES, values, units, strict=True)
        ]
        angles = self.input_vector("angles", 6, self.linkage.offsets, unit="rad", doc="shown")
        if sensor is not None:
            self.default_source("angles", sensor, "angles")
        turned = [
            self.intermediate(f - self.parameter(f"offset{k}", float(zero), unit="rad"))
            for k, (f, zero) in enumerate(zip(angles, self.linkage.offsets, strict=True), 1)
        ]
        place = self.linkage.expressions(turned, self.intermediate)
        vector = rotation_vector(place.rotation, self.intermediate)
        units = ["m"] * 3 + ["rad"] * 3
        found = [*place.position, *vector]
        where = self.output_vector("deflection", found, unit=units, doc="of the tool")
        loads = [k * d for k, d in zip(gains, where, strict=True)]
        units = ["N"] * 3 + ["N*m"] * 3
        self.output_vector("wrench", loads, unit=units, doc="stiffness times deflection")
