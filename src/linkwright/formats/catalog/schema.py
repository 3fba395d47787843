"""The schema of a catalog: what drives are made of, with units, and where the numbers come from.

A quantity is a text with a unit, "0.36 N*m/A", and is held in SI. Only 0 and what has no unit, such
as a ratio, may be a plain number: data sheets give inertias in g*cm^2 as often as in kg*m^2.
Motors are given as their equivalent with two terminals, in which kt and ke are one number in SI and
the copper loss is R i². For a three-phase motor with sine currents that is the power-invariant d-q
model: R of one phase, sqrt(3/2) times the phase's amplitudes of current and voltage.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, StrictBool, StrictInt, StrictStr

from linkwright.formats.schema import Amount, Format, Key
from linkwright.formats.text.tables import Record
from linkwright.formats.text.values import Text, wrong

__all__ = [
    "KINDS",
    "AmplifierEntry",
    "BearingEntry",
    "BrakeEntry",
    "Catalog",
    "DriveEntry",
    "GearEntry",
    "MotorEntry",
    "SupplyEntry",
    "entries",
]

_LARGEST = 1e15


def _above(unit: str, doc: str) -> Amount:
    """A quantity above zero; of a gear that slides, which has a lead, in the second unit."""
    return Amount(unit, doc, above=0.0, most=_LARGEST, bare=False, by="lead")


def _from_zero(unit: str, doc: str) -> Amount:
    """The same, which may be zero."""
    return Amount(unit, doc, least=0.0, most=_LARGEST, bare=False, by="lead")


def _thermal(value: object) -> object:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise wrong('a resistance and a time constant are needed here: ["1.2 K/W", "25 s"]')
    return value


_PAIR = BeforeValidator(_thermal)


class CatalogEntry(Record):
    """What every entry has."""

    mass: Annotated[float, _from_zero("kg", "of the whole part")] = 0.0
    price: Annotated[float, _from_zero("1", "in any one currency")] = 0.0
    source: Annotated[Text, Key("where the numbers come from")]


class MotorEntry(CatalogEntry):
    """A motor, as its equivalent with two terminals."""

    R: Annotated[float, _above("ohm", "winding, at 20 °C")]
    L: Annotated[float, _from_zero("H", "winding")] = 0.0
    kt: Annotated[float, _above("N*m/A", "torque per current")]
    ke: Annotated[float | None, _above("V*s/rad", "voltage per speed; kt in SI")] = None
    J: Annotated[float, _above("kg*m^2", "rotor")]
    continuous: Annotated[float, _above("N*m", "torque, without end")]
    peak: Annotated[float, _above("N*m", "torque, for moments")]
    speed: Annotated[float, _above("rad/s", "highest")]
    voltage: Annotated[float, _above("V", "highest of the bus")]
    friction: Annotated[float, _from_zero("N*m", "dry")] = 0.0
    damping: Annotated[float, _from_zero("N*m*s/rad", "viscous, with eddy currents")] = 0.0
    winding: Annotated[
        tuple[float, float],
        _above("K/W, s", "to the housing: thermal resistance and time constant"),
        _PAIR,
    ]
    housing: Annotated[
        tuple[float, float] | None,
        _above("K/W, s", "to the surroundings; without it the housing stays cool"),
        _PAIR,
    ] = None
    hottest: Annotated[float, Amount("1", "winding, °C", least=-273.15, most=2000.0)] = 130.0
    housing_hottest: Annotated[
        float | None, Amount("1", "housing, °C", least=-273.15, most=2000.0)
    ] = None
    ambient: Annotated[
        float, Amount("1", "of the continuous torque, °C", least=-273.15, most=2000.0)
    ] = 25.0
    alpha: Annotated[float, _from_zero("1/K", "growth of R per K from 20 °C; copper")] = 0.00393

    @property
    def constant(self) -> float:
        """The motor constant, torque per square root of copper loss at 20 °C."""
        return float(self.kt / math.sqrt(self.R))


class GearEntry(CatalogEntry):
    """A gear, belt, cable or screw between motor and joint.

    Torques are at the output, or forces where it slides; speeds and inertia are at the input.
    """

    kind: Annotated[
        Literal["planetary", "strain-wave", "cycloidal", "belt", "cable", "screw"],
        Key("how it works"),
    ]
    ratio: Annotated[float, _from_zero("1", "turns of the motor per turn")] = 0.0
    lead: Annotated[
        float | None, _above("m", "travel per turn of the motor, in place of `ratio`")
    ] = None
    efficiency: Annotated[float, _above("1", "at the rated load")] = 1.0
    no_load: Annotated[float, _from_zero("N*m", "dry friction, input")] = 0.0
    J: Annotated[float, _from_zero("kg*m^2", "at the input")] = 0.0
    rated: Annotated[float, _above("N*m|N", "for the rated life, at the rated speed")]
    rated_speed: Annotated[float, _above("rad/s", "of the input")]
    rated_life: Annotated[float, _above("s", "L10")]
    average: Annotated[float, _above("N*m|N", "limit of the average")]
    repeated: Annotated[float, _above("N*m|N", "limit of repeated peaks")]
    momentary: Annotated[float, _above("N*m|N", "limit of an emergency stop")]
    average_speed: Annotated[float, _above("rad/s", "limit of the average, input")]
    speed: Annotated[float, _above("rad/s", "highest, input")]
    stiffness: Annotated[float | None, _above("N*m/rad|N/m", "at the output")] = None
    backlash: Annotated[float, _from_zero("rad|m", "at the output, whole gap")] = 0.0
    kinematic_error: Annotated[float, _from_zero("rad|m", "at the output, ±")] = 0.0

    @property
    def reduction(self) -> float:
        """Turns of the motor per turn of the joint, or rad per m."""
        return float(self.ratio if self.lead is None else 2 * math.pi / self.lead)

    @property
    def exponent(self) -> float:
        """Of load in life: 3 for the ball bearing of a strain-wave gear and screws, else 10/3."""
        return 3.0 if self.kind in ("strain-wave", "screw") else 10.0 / 3.0


class BearingEntry(CatalogEntry):
    """A bearing that carries a joint."""

    kind: Annotated[Literal["crossed-roller", "roller", "ball"], Key("what rolls in it")]
    C: Annotated[float, _above("N", "dynamic load rating, ISO 281")]
    C0: Annotated[float, _above("N", "static load rating, ISO 76")]
    diameter: Annotated[float, _above("m", "of the rolling elements' circle")]
    elements: Annotated[StrictInt, Field(ge=3, le=10_000), Key("how many roll")]


class BrakeEntry(CatalogEntry):
    """A brake that holds the motor's shaft without power."""

    torque: Annotated[float, _above("N*m", "static, at the motor's shaft")]
    J: Annotated[float, _from_zero("kg*m^2", "of what turns")] = 0.0
    delay: Annotated[float, _from_zero("s", "until it holds")] = 0.0


class AmplifierEntry(CatalogEntry):
    """An amplifier of one motor."""

    voltage: Annotated[float, _above("V", "highest of the bus")]
    continuous: Annotated[float, _above("A", "without end")]
    peak: Annotated[float, _above("A", "for moments")]
    efficiency: Annotated[float, _above("1", "bus to motor, and back")] = 1.0


class SupplyEntry(CatalogEntry):
    """A supply of the bus that all amplifiers share."""

    voltage: Annotated[float, _above("V", "of the bus")]
    highest: Annotated[float, _above("V", "of the bus, while energy comes back")]
    continuous: Annotated[float, _above("W", "without end")]
    peak: Annotated[float, _above("W", "for moments")]
    capacitance: Annotated[float, _from_zero("F", "of the bus")] = 0.0
    resistor: Annotated[float | None, _above("ohm", "that burns what is left")] = None
    resistor_power: Annotated[float, _from_zero("W", "without end")] = 0.0
    takes_back: Annotated[StrictBool, Key("feeds energy to the mains")] = False


class DriveEntry(Record):
    """The parts of one joint's drive, by their names, as `linkwright analyze size` writes them."""

    motor: Annotated[Text, Key("its name")]
    gear: Annotated[Text, Key("its name")]
    brake: Annotated[StrictStr, Key("its name; none where empty")] = ""
    amplifier: Annotated[StrictStr, Key("its name; none where empty")] = ""
    bearing: Annotated[StrictStr, Key("its name; none where empty")] = ""


class Catalog(Record, BaseModel):
    """A catalog: entries by kind and name; and drives of joints, where they have been chosen.

    Args:
        format: 1, the version of the format.
        name: a word for the catalog.
        doc: one line that says what it is.
        motor: motors by name.
        gear: gears by name.
        bearing: bearings by name.
        brake: brakes by name.
        amplifier: amplifiers by name.
        supply: supplies by name.
        drive: drives by joint.

    Example:
        >>> from linkwright.formats.catalog.reader import read_catalog
        >>> sorted(read_catalog("generic").supply)
        ['supply-320v', 'supply-48v']
    """

    format: Format
    name: Annotated[Text, Key("a word for the catalog")]
    doc: Annotated[StrictStr, Key("one line that says what it is")] = ""
    motor: Annotated[dict[str, MotorEntry], Key("motors by name")] = {}
    gear: Annotated[dict[str, GearEntry], Key("gears by name")] = {}
    bearing: Annotated[dict[str, BearingEntry], Key("bearings by name")] = {}
    brake: Annotated[dict[str, BrakeEntry], Key("brakes by name")] = {}
    amplifier: Annotated[dict[str, AmplifierEntry], Key("amplifiers by name")] = {}
    supply: Annotated[dict[str, SupplyEntry], Key("supplies by name")] = {}
    drive: Annotated[dict[str, DriveEntry], Key("drives by joint")] = {}


KINDS = ("motor", "gear", "bearing", "brake", "amplifier", "supply")


def entries(catalog: Catalog) -> Iterator[tuple[str, str, CatalogEntry]]:
    """Yield kind, name and entry of everything in a catalog."""
    for kind in KINDS:
        table: Mapping[str, CatalogEntry] = getattr(catalog, kind)
        for name, entry in table.items():
            yield kind, name, entry
