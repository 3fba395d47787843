"""Units that users of a written program see.

Equations are neutral to units; values are converted only where a program reads or writes them
(Sayers' thesis, section 9.1). A style says what users see:

- `model`: the units in which the model prints its results;
- `deg`: the same with degrees in place of radians;
- `in-lb`: degrees, masses in lbm and, in outputs, accelerations in g's; for models in in, lbf, s.

Inside, a program is in SI units, as its mechanism is.

A pound of mass weighs a pound of force in the model's own gravity: where a parameter `GEES` is the
acceleration of gravity, its default is used, as AUTOSIM did with 386.2 in/s^2.
"""

from __future__ import annotations

from linkwright.algebra.units import IN_LB, Unit, parse_unit, unit_text
from linkwright.base.errors import Error
from linkwright.mechanism import Mechanism

STYLES = ("auto", "model", "deg", "in-lb")
_MASS = parse_unit("kg").exponents
_ACCELERATION = parse_unit("m/s^2").exponents
_ANGLE = 3
_GENERAL = (
    ("m", "Translation"),
    ("m/s", "Translational Speed"),
    ("m/s^2", "Translational Acceleration"),
    ("rad/s", "Angular Speed"),
    ("rad/s^2", "Angular Acceleration"),
    ("rad", "Rotation Angle"),
    ("N", "Force"),
    ("N*m", "Moment"),
    ("J", "Energy"),
    ("W", "Power"),
)


class ShownUnits:
    """Turns units of a model into units that users see.

    >>> ShownUnits(Mechanism("m"), "deg").shown("N*m/rad")
    ('N*m/deg', 57.29577951308232)
    """

    def __init__(self, mechanism: Mechanism, style: str = "auto") -> None:
        if style not in STYLES:
            raise Error(
                f"there is no style of units {style!r}", remedy=f"choose one of {', '.join(STYLES)}"
            )
        self._system = mechanism.display
        inches = self._system is IN_LB
        self.style = ("in-lb" if inches else "model") if style == "auto" else style
        gees = mechanism.values.get("GEES", 0.0)
        known = mechanism.units.get("GEES", "?")
        self._gees = gees if inches and known == "m/s^2" and gees > 0 else None

    def shown(self, unit: str, *, output: bool = False) -> tuple[str, float]:
        """Return the unit that users see, and the factor from a value in it to one inside."""
        own, factor = self._system.printed(unit)
        if unit == "?" or self.style == "model":
            return own, factor
        try:
            inner = parse_unit(unit)
        except Error:
            return unit, 1.0
        if self.style == "in-lb" and inner.exponents == _MASS:
            pound = parse_unit("lbm").to(inner)
            weight = parse_unit("lbf").factor
            return "lbm", pound if self._gees is None else weight / self._gees
        if self.style == "in-lb" and output and inner.exponents == _ACCELERATION:
            gees = parse_unit("g's")
            return "g's", gees.to(inner) if self._gees is None or unit == "g's" else self._gees
        text, degrees = _in_degrees(own, parse_unit(own))
        return text, degrees * factor


def _in_degrees(unit: str, inner: Unit) -> tuple[str, float]:
    power = inner.exponents[_ANGLE]
    if not power or inner.pi:
        return unit, 1.0
    outer = inner * (parse_unit("deg") / parse_unit("rad")) ** power
    return unit_text(outer), outer.to(inner)


def general_name(unit: str, *, coordinate: bool = False) -> str:
    """Return the general name of a quantity by its unit, as plots label an axis with it.

    >>> general_name("lbf*in"), general_name("deg"), general_name("deg", coordinate=True)
    ('Moment', 'Rotation Angle', 'Rotation')
    """
    try:
        exponents = parse_unit(unit).exponents
    except Error:
        return "Value"
    for text, word in _GENERAL:
        if parse_unit(text).exponents == exponents:
            return "Rotation" if coordinate and text == "rad" else word
    return "Value"
