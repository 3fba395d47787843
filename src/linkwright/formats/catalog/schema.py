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
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    Field,
    PlainValidator,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationInfo,
    WithJsonSchema,
)

from linkwright.algebra.units import amount
from linkwright.errors import InputError, UnitError
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
_NUMBER: dict[str, Any] = {"type": ["string", "number"]}
_AMOUNT: dict[str, Any] = {"anyOf": [{"type": "string"}, {"const": 0}]}


def _quantity(value: object, unit: str, zero: bool = False) -> float:
    """Return a quantity in SI, above 0 or where allowed 0; or raise what is wrong with it."""
    if unit != "1" and _bare(value):
        raise wrong(
            f'it is {value} without a unit; write a text with one, such as "{value} {unit}"'
        )
    try:
        found = amount(value, "it", unit)
    except (InputError, UnitError) as error:
        raise wrong(str(error)) from None
    if not abs(found) <= _LARGEST:
        raise wrong("a finite quantity is needed here")
    if found < 0.0 or (found == 0.0 and not zero):
        raise wrong(f"it is {found:g}, and has to be {'0 or more' if zero else 'above 0'}")
    return found


def _bare(value: object) -> bool:
    """Return whether it is a number other than 0 without a unit, as a number or as a text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        return float(value) != 0.0
    except ValueError:
        return False


def _kind(unit: str, zero: bool = False) -> Any:
    """The annotations of a quantity."""
    check = PlainValidator(lambda value: _quantity(value, unit, zero))
    form = _NUMBER if unit == "1" else _AMOUNT
    return (check, WithJsonSchema({**form, "title": f"quantity in {unit}"}), unit)


def _free(unit: str) -> Any:
    """The annotations of a quantity that may be zero."""
    return _kind(unit, zero=True)


def _output(turning: str, sliding: str, zero: bool = False) -> Any:
    """The annotations of a quantity at the output of a gear, which turns or slides."""

    def check(value: object, info: ValidationInfo) -> float:
        return _quantity(value, turning if info.data.get("lead") is None else sliding, zero)

    title = f"quantity in {turning}, or in {sliding} with `lead`"
    return (
        PlainValidator(check),
        WithJsonSchema({**_AMOUNT, "title": title}),
        f"{turning}|{sliding}",
    )


def _thermal(value: object) -> tuple[float, float]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise wrong('a resistance and a time constant are needed here: ["1.2 K/W", "25 s"]')
    return _quantity(value[0], "K/W"), _quantity(value[1], "s")


Thermal: TypeAlias = Annotated[
    Any, PlainValidator(_thermal), WithJsonSchema({"type": "array", "items": _AMOUNT}), "K/W, s"
]
Degrees: TypeAlias = Annotated[float, Field(ge=-273.15, le=2000.0)]
Ratio: TypeAlias = Annotated[float, *_kind("1")]
Resistance: TypeAlias = Annotated[float, *_kind("ohm")]
Inductance: TypeAlias = Annotated[float, *_free("H")]
Inertia: TypeAlias = Annotated[float, *_kind("kg*m^2")]
Torque: TypeAlias = Annotated[float, *_kind("N*m")]
Speed: TypeAlias = Annotated[float, *_kind("rad/s")]
Voltage: TypeAlias = Annotated[float, *_kind("V")]
Current: TypeAlias = Annotated[float, *_kind("A")]
Power: TypeAlias = Annotated[float, *_kind("W")]
Force: TypeAlias = Annotated[float, *_kind("N")]
Length: TypeAlias = Annotated[float, *_kind("m")]
Time: TypeAlias = Annotated[float, *_kind("s")]
Effort: TypeAlias = Annotated[float, *_output("N*m", "N")]


class CatalogEntry(Record):
    """What every entry has."""

    mass: Annotated[float, *_free("kg"), Field(description="of the whole part")] = 0.0
    price: Annotated[float, *_free("1"), Field(description="in any one currency")] = 0.0
    source: Annotated[Text, Field(description="where the numbers come from")]


class MotorEntry(CatalogEntry):
    """A motor, as its equivalent with two terminals."""

    R: Annotated[Resistance, Field(description="winding, at 20 °C")]
    L: Annotated[Inductance, Field(description="winding")] = 0.0
    kt: Annotated[float, *_kind("N*m/A"), Field(description="torque per current")]
    ke: Annotated[
        float | None, *_kind("V*s/rad"), Field(description="voltage per speed; kt in SI")
    ] = None
    J: Annotated[Inertia, Field(description="rotor")]
    continuous: Annotated[Torque, Field(description="torque, without end")]
    peak: Annotated[Torque, Field(description="torque, for moments")]
    speed: Annotated[Speed, Field(description="highest")]
    voltage: Annotated[Voltage, Field(description="highest of the bus")]
    friction: Annotated[float, *_free("N*m"), Field(description="dry")] = 0.0
    damping: Annotated[
        float, *_free("N*m*s/rad"), Field(description="viscous, with eddy currents")
    ] = 0.0
    winding: Annotated[
        Thermal, Field(description="to the housing: thermal resistance and time constant")
    ]
    housing: Annotated[
        Thermal | None, Field(description="to the surroundings; without it the housing stays cool")
    ] = None
    hottest: Annotated[Degrees, Field(description="winding, °C")] = 130.0
    housing_hottest: Annotated[Degrees | None, Field(description="housing, °C")] = None
    ambient: Annotated[Degrees, Field(description="of the continuous torque, °C")] = 25.0
    alpha: Annotated[
        float, *_free("1/K"), Field(description="growth of R per K from 20 °C; copper")
    ] = 0.00393

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
        Field(description="how it works"),
    ]
    ratio: Annotated[float, *_free("1"), Field(description="turns of the motor per turn")] = 0.0
    lead: Annotated[
        Length | None, Field(description="travel per turn of the motor, in place of `ratio`")
    ] = None
    efficiency: Annotated[Ratio, Field(description="at the rated load")] = 1.0
    no_load: Annotated[float, *_free("N*m"), Field(description="dry friction, input")] = 0.0
    J: Annotated[float, *_free("kg*m^2"), Field(description="at the input")] = 0.0
    rated: Annotated[Effort, Field(description="for the rated life, at the rated speed")]
    rated_speed: Annotated[Speed, Field(description="of the input")]
    rated_life: Annotated[Time, Field(description="L10")]
    average: Annotated[Effort, Field(description="limit of the average")]
    repeated: Annotated[Effort, Field(description="limit of repeated peaks")]
    momentary: Annotated[Effort, Field(description="limit of an emergency stop")]
    average_speed: Annotated[Speed, Field(description="limit of the average, input")]
    speed: Annotated[Speed, Field(description="highest, input")]
    stiffness: Annotated[
        float | None, *_output("N*m/rad", "N/m"), Field(description="at the output")
    ] = None
    backlash: Annotated[
        float, *_output("rad", "m", zero=True), Field(description="at the output, whole gap")
    ] = 0.0
    kinematic_error: Annotated[
        float, *_output("rad", "m", zero=True), Field(description="at the output, ±")
    ] = 0.0

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

    kind: Annotated[
        Literal["crossed-roller", "roller", "ball"], Field(description="what rolls in it")
    ]
    C: Annotated[Force, Field(description="dynamic load rating, ISO 281")]
    C0: Annotated[Force, Field(description="static load rating, ISO 76")]
    diameter: Annotated[Length, Field(description="of the rolling elements' circle")]
    elements: Annotated[StrictInt, Field(description="how many roll", ge=3, le=10_000)]


class BrakeEntry(CatalogEntry):
    """A brake that holds the motor's shaft without power."""

    torque: Annotated[Torque, Field(description="static, at the motor's shaft")]
    J: Annotated[float, *_free("kg*m^2"), Field(description="of what turns")] = 0.0
    delay: Annotated[float, *_free("s"), Field(description="until it holds")] = 0.0


class AmplifierEntry(CatalogEntry):
    """An amplifier of one motor."""

    voltage: Annotated[Voltage, Field(description="highest of the bus")]
    continuous: Annotated[Current, Field(description="without end")]
    peak: Annotated[Current, Field(description="for moments")]
    efficiency: Annotated[Ratio, Field(description="bus to motor, and back")] = 1.0


class SupplyEntry(CatalogEntry):
    """A supply of the bus that all amplifiers share."""

    voltage: Annotated[Voltage, Field(description="of the bus")]
    highest: Annotated[Voltage, Field(description="of the bus, while energy comes back")]
    continuous: Annotated[Power, Field(description="without end")]
    peak: Annotated[Power, Field(description="for moments")]
    capacitance: Annotated[float, *_free("F"), Field(description="of the bus")] = 0.0
    resistor: Annotated[Resistance | None, Field(description="that burns what is left")] = None
    resistor_power: Annotated[float, *_free("W"), Field(description="without end")] = 0.0
    takes_back: Annotated[StrictBool, Field(description="feeds energy to the mains")] = False


class DriveEntry(Record):
    """The parts of one joint's drive, by their names; `linkwright size` writes such tables."""

    motor: Annotated[Text, Field(description="its name")]
    gear: Annotated[Text, Field(description="its name")]
    brake: Annotated[StrictStr, Field(description="its name; none where empty")] = ""
    amplifier: Annotated[StrictStr, Field(description="its name; none where empty")] = ""
    bearing: Annotated[StrictStr, Field(description="its name; none where empty")] = ""


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

    format: Annotated[Literal[1], Field(description="version of this format")]
    name: Annotated[Text, Field(description="a word for the catalog")]
    doc: Annotated[StrictStr, Field(description="one line that says what it is")] = ""
    motor: Annotated[dict[str, MotorEntry], Field(description="motors by name")] = {}
    gear: Annotated[dict[str, GearEntry], Field(description="gears by name")] = {}
    bearing: Annotated[dict[str, BearingEntry], Field(description="bearings by name")] = {}
    brake: Annotated[dict[str, BrakeEntry], Field(description="brakes by name")] = {}
    amplifier: Annotated[dict[str, AmplifierEntry], Field(description="amplifiers by name")] = {}
    supply: Annotated[dict[str, SupplyEntry], Field(description="supplies by name")] = {}
    drive: Annotated[dict[str, DriveEntry], Field(description="drives by joint")] = {}


KINDS = ("motor", "gear", "bearing", "brake", "amplifier", "supply")


def entries(catalog: Catalog) -> Iterator[tuple[str, str, CatalogEntry]]:
    """Yield kind, name and entry of everything in a catalog."""
    for kind in KINDS:
        table: Mapping[str, CatalogEntry] = getattr(catalog, kind)
        for name, entry in table.items():
            yield kind, name, entry
