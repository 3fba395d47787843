"""Motors: from voltages, and the speed of the shaft, to a torque."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from linkwright.algebra import Expr, as_expr, sin
from linkwright.elements.drives.parts import DrivePart, PartSketch, Shaft, amount, part, sense


class Motor(DrivePart):
    """What turns voltages into a torque on its shaft. `axes` are the endings of its windings."""

    __slots__ = ()
    role: ClassVar[str] = "motor"
    sensors: ClassVar[tuple[str, ...]] = ("speed", "angle")
    axes: ClassVar[tuple[str, ...]] = ("",)

    @property
    @abstractmethod
    def J(self) -> float:
        """Inertia of the rotor, kg*m^2."""

    @property
    @abstractmethod
    def kt(self) -> float:
        """Torque constant, N*m/A."""

    def electrical_angle(self, sheet: PartSketch, shaft: Shaft) -> Expr | None:
        """Return by how much the axes of the windings have turned; None where they stand."""
        return None

    @abstractmethod
    def currents(self, sheet: PartSketch) -> tuple[Expr, ...]:
        """Return the current of each winding."""

    @abstractmethod
    def write(
        self, sheet: PartSketch, voltages: Sequence[Expr], currents: Sequence[Expr], shaft: Shaft
    ) -> Expr:
        """Return the torque that the motor puts on its shaft, its own friction taken off."""


@part
class Thermal(DrivePart):
    """Winding and housing as two masses of heat: C T' = heat - flow, flow = difference / R.

    Args:
        winding_resistance: from the winding to the housing, K/W.
        winding_capacity: J/K.
        housing_resistance: from the housing to the air, K/W.
        housing_capacity: J/K.
        ambient: temperature of the air, where both start, in degrees Celsius.
        coefficient: of the winding's resistance, 1/K; that of copper by default.
        reference: temperature at which R is given, in degrees Celsius.

    >>> Thermal(1.2, 20, 3.0, 400).ambient
    25.0
    """

    role: ClassVar[str] = "thermal"
    winding_resistance: float = amount("K/W", above=0.0)
    winding_capacity: float = amount("J/K", above=0.0)
    housing_resistance: float = amount("K/W", above=0.0)
    housing_capacity: float = amount("J/K", above=0.0)
    ambient: float = amount("degC", default=25.0)
    coefficient: float = amount("1/K", default=0.00393)
    reference: float = amount("degC", default=25.0)

    def write(self, sheet: PartSketch) -> tuple[Expr, Expr]:
        """Return the temperatures of winding and housing: states that start at the air's."""
        (start,) = sheet.numbers("ambient")
        winding = sheet.state("winding", unit="degC", doc="temperature of the winding", start=start)
        housing = sheet.state("housing", unit="degC", doc="temperature of the housing", start=start)
        return winding, housing

    def heat(self, sheet: PartSketch, at: tuple[Expr, Expr], winding: Expr, iron: Expr) -> None:
        """Say how the temperatures change with the heat of winding and iron, W."""
        Rw, Cw, Rh, Ch, air = sheet.numbers(
            "winding_resistance", "winding_capacity", "housing_resistance", "housing_capacity",
            "ambient",
        )  # fmt: skip
        flow = (at[0] - at[1]) / Rw
        sheet.rate(at[0], (winding - flow) / Cw)
        sheet.rate(at[1], (flow + iron - (at[1] - air) / Rh) / Ch)

    def factor(self, sheet: PartSketch, winding: Expr) -> Expr:
        """Return by how much the resistance of the winding is greater than at the reference."""
        coefficient, reference = sheet.numbers("coefficient", "reference")
        return 1 + coefficient * (winding - reference)


def drag(sheet: PartSketch, shaft: Shaft, own: DrivePart) -> tuple[Expr, Expr]:
    """Return the torques of friction and of iron losses, from the fields of a motor."""
    (b,) = sheet.numbers("b")
    friction, iron = b * shaft.speed, as_expr(0)
    if getattr(own, "coulomb", None) is not None:
        (coulomb,) = sheet.numbers("coulomb")
        friction = friction + coulomb * sense(sheet, shaft.speed)
    if getattr(own, "eddy", None) is not None:
        (eddy,) = sheet.numbers("eddy")
        iron = eddy * shaft.speed
    sheet.loss("friction", friction * shaft.speed)
    if iron.op != "num":
        sheet.loss("iron", iron * shaft.speed)
    return friction, iron


@part
class DC(Motor):
    """A motor with brushes: L i' = v - R i - kt w, torque kt i - b w.

    Args:
        R: resistance of the winding, ohm.
        L: inductance of the winding, H.
        kt: torque constant, N*m/A, which is the voltage constant in V*s/rad as well.
        J: inertia of the rotor, kg*m^2.
        b: viscous friction, N*m*s/rad.
        coulomb: dry friction, N*m; none by default.
        creep: speed up to which dry friction grows, rad/s; by default it is there at once, and
            holds a motor that stands.
        eddy: iron loss of eddy currents, as a drag, N*m*s/rad; none by default.
        thermal: heat of winding and housing, which changes R; none by default.

    >>> DC(R=1, L=2e-3, kt=0.05, J=1e-4).b
    0.0
    """

    R: float = amount("ohm", above=0.0)
    L: float = amount("H", above=0.0)
    kt: float = amount("N*m/A", above=0.0)
    J: float = amount("kg*m^2", above=0.0)
    b: float = amount("N*m*s/rad", default=0.0, least=0.0)
    coulomb: float | None = amount("N*m", default=None, least=0.0)
    creep: float | None = amount("rad/s", default=None, above=0.0)
    eddy: float | None = amount("N*m*s/rad", default=None, least=0.0)
    thermal: Thermal | None = None

    def currents(self, sheet: PartSketch) -> tuple[Expr, ...]:
        """Return the current."""
        return (sheet.state("i", unit="A", doc="current"),)

    def write(
        self, sheet: PartSketch, voltages: Sequence[Expr], currents: Sequence[Expr], shaft: Shaft
    ) -> Expr:
        """Return the torque on the shaft."""
        R, L, kt = sheet.numbers("R", "L", "kt")
        i, v = currents[0], sheet.fed("v", voltages[0], unit="V")
        friction, iron = drag(sheet, shaft, self)
        if self.thermal is not None:
            heat = sheet.sketch.of(self.thermal)
            at = self.thermal.write(heat)
            R = R * self.thermal.factor(heat, at[0])
            self.thermal.heat(heat, at, R * i**2, iron * shaft.speed)
        sheet.rate(i, (v - R * i - kt * shaft.speed) / L)
        sheet.supply(v * i)
        sheet.loss("copper", R * i**2)
        sheet.stored("magnetic", L * i**2 / 2)
        sheet.signal("torque", kt * i, unit="N*m", doc="torque of the current")
        return kt * i - friction - iron


@part
class PMSM(Motor):
    """A synchronous motor with magnets, in axes that turn with the rotor (Park's equations).

    Ld id' = vd - R id + p w Lq iq, Lq iq' = vq - R iq - p w (Ld id + flux), torque
    1.5 p (flux iq + (Ld - Lq) id iq), amplitudes of phase quantities; less cogging.

    Args:
        R: resistance of a phase, ohm.
        Ld: inductance along the magnets, H.
        Lq: inductance across the magnets, H.
        flux: of the magnets, linked with a phase, V*s.
        pairs: pairs of poles.
        J: inertia of the rotor, kg*m^2.
        b: viscous friction, N*m*s/rad.
        cogging: amplitude of the cogging torque, N*m; none by default.
        slots: periods of the cogging torque in a turn.
        eddy: iron loss of eddy currents, as a drag, N*m*s/rad; none by default.
        thermal: heat of winding and housing, which changes R; none by default.

    >>> PMSM(R=0.5, Ld=1e-3, Lq=1.5e-3, flux=0.02, pairs=4, J=1e-4).kt
    0.12
    """

    R: float = amount("ohm", above=0.0)
    Ld: float = amount("H", above=0.0)
    Lq: float = amount("H", above=0.0)
    flux: float = amount("V*s", above=0.0)
    pairs: float = amount("1", above=0.0)
    J: float = amount("kg*m^2", above=0.0)
    b: float = amount("N*m*s/rad", default=0.0, least=0.0)
    cogging: float | None = amount("N*m", default=None, least=0.0)
    slots: float = amount("1", default=12.0, above=0.0)
    eddy: float | None = amount("N*m*s/rad", default=None, least=0.0)
    thermal: Thermal | None = None
    axes: ClassVar[tuple[str, ...]] = ("_d", "_q")

    @property
    def kt(self) -> float:
        """Torque for each ampere across the magnets, N*m/A."""
        return 1.5 * self.pairs * self.flux

    def electrical_angle(self, sheet: PartSketch, shaft: Shaft) -> Expr | None:
        """Return the angle of the magnets, in periods of the poles."""
        (p,) = sheet.numbers("pairs")
        return p * shaft.angle

    def currents(self, sheet: PartSketch) -> tuple[Expr, ...]:
        """Return the currents along and across the magnets."""
        along = sheet.state("i_d", unit="A", doc="current along the magnets")
        return along, sheet.state("i_q", unit="A", doc="current across the magnets")

    def write(
        self, sheet: PartSketch, voltages: Sequence[Expr], currents: Sequence[Expr], shaft: Shaft
    ) -> Expr:
        """Return the torque on the shaft."""
        R, Ld, Lq, flux, p = sheet.numbers("R", "Ld", "Lq", "flux", "pairs")
        (d, q), w = currents, p * shaft.speed
        vd, vq = sheet.fed("v_d", voltages[0], unit="V"), sheet.fed("v_q", voltages[1], unit="V")
        friction, iron = drag(sheet, shaft, self)
        if self.thermal is not None:
            heat = sheet.sketch.of(self.thermal)
            at = self.thermal.write(heat)
            R = R * self.thermal.factor(heat, at[0])
            self.thermal.heat(heat, at, 1.5 * R * (d**2 + q**2), iron * shaft.speed)
        sheet.rate(d, (vd - R * d + w * Lq * q) / Ld)
        sheet.rate(q, (vq - R * q - w * (Ld * d + flux)) / Lq)
        sheet.supply(1.5 * (vd * d + vq * q))
        sheet.loss("copper", 1.5 * R * (d**2 + q**2))
        sheet.stored("magnetic", 0.75 * (Ld * d**2 + Lq * q**2))
        torque = 1.5 * p * (flux * q + (Ld - Lq) * d * q)
        sheet.signal("torque", torque, unit="N*m", doc="torque of the currents")
        total = torque - friction - iron
        if self.cogging is not None:
            cogging, slots = sheet.numbers("cogging", "slots")
            total = total - cogging * sin(slots * shaft.angle)
            sheet.stored("cogging", 2 * cogging / slots * sin(slots * shaft.angle / 2) ** 2)
        return total


@part
class Stepper(Motor):
    """A stepping motor with two windings: torque kt (-ia sin(p a) + ib cos(p a)), less detent.

    L ia' = va - R ia + kt w sin(p a), L ib' = vb - R ib - kt w cos(p a) (Kenjo, 1984).

    Args:
        R: resistance of a winding, ohm.
        L: inductance of a winding, H.
        kt: torque constant, N*m/A.
        pairs: pairs of poles; 50 make 200 full steps in a turn.
        J: inertia of the rotor, kg*m^2.
        b: viscous friction, N*m*s/rad.
        detent: amplitude of the torque without current, N*m; none by default.

    >>> Stepper(R=2, L=3e-3, kt=0.3, J=5e-6).pairs
    50.0
    """

    R: float = amount("ohm", above=0.0)
    L: float = amount("H", above=0.0)
    kt: float = amount("N*m/A", above=0.0)
    J: float = amount("kg*m^2", above=0.0)
    pairs: float = amount("1", default=50.0, above=0.0)
    b: float = amount("N*m*s/rad", default=0.0, least=0.0)
    detent: float | None = amount("N*m", default=None, least=0.0)
    axes: ClassVar[tuple[str, ...]] = ("_a", "_b")

    def currents(self, sheet: PartSketch) -> tuple[Expr, ...]:
        """Return the currents of the two windings."""
        first = sheet.state("i_a", unit="A", doc="current of the first winding")
        return first, sheet.state("i_b", unit="A", doc="current of the second winding")

    def write(
        self, sheet: PartSketch, voltages: Sequence[Expr], currents: Sequence[Expr], shaft: Shaft
    ) -> Expr:
        """Return the torque on the shaft."""
        from linkwright.algebra import cos

        R, L, kt, p = sheet.numbers("R", "L", "kt", "pairs")
        a, b = currents
        va, vb = sheet.fed("v_a", voltages[0], unit="V"), sheet.fed("v_b", voltages[1], unit="V")
        along, across = -sin(p * shaft.angle), cos(p * shaft.angle)
        friction, _ = drag(sheet, shaft, self)
        sheet.rate(a, (va - R * a - kt * shaft.speed * along) / L)
        sheet.rate(b, (vb - R * b - kt * shaft.speed * across) / L)
        sheet.supply(va * a + vb * b)
        sheet.loss("copper", R * (a**2 + b**2))
        sheet.stored("magnetic", L * (a**2 + b**2) / 2)
        torque = kt * (a * along + b * across)
        sheet.signal("torque", torque, unit="N*m", doc="torque of the currents")
        total = torque - friction
        if self.detent is not None:
            (detent,) = sheet.numbers("detent")
            total = total - detent * sin(4 * p * shaft.angle)
            sheet.stored("detent", detent / (2 * p) * sin(2 * p * shaft.angle) ** 2)
        return total


@part
class TorqueSource(Motor):
    """A motor whose current is what the amplifier gives: torque kt times that.

    Args:
        kt: N*m for each unit that the amplifier gives.
        J: inertia of the rotor, kg*m^2.
        b: viscous friction, N*m*s/rad.

    >>> TorqueSource(0.1, J=1e-4).kt
    0.1
    """

    kt: float = amount("N*m/V")
    J: float = amount("kg*m^2", above=0.0)
    b: float = amount("N*m*s/rad", default=0.0, least=0.0)

    def currents(self, sheet: PartSketch) -> tuple[Expr, ...]:
        """Return no current: it is not modeled."""
        return (as_expr(0),)

    def write(
        self, sheet: PartSketch, voltages: Sequence[Expr], currents: Sequence[Expr], shaft: Shaft
    ) -> Expr:
        """Return the torque on the shaft."""
        (kt,) = sheet.numbers("kt")
        friction, _ = drag(sheet, shaft, self)
        torque = kt * sheet.fed("v", voltages[0], unit="V")
        sheet.supply(torque * shaft.speed)
        sheet.signal("torque", torque, unit="N*m", doc="torque")
        return torque - friction
