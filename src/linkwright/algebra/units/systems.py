"""Systems of units, in which texts are read and results printed; inside, everything is SI.

A system is coherent: a force is a mass times an acceleration without any factor, and angles are in
rad (AUTOSIM, section 9.1).
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwright.algebra.units.display import unit_text
from linkwright.algebra.units.parse import parse_unit
from linkwright.algebra.units.unit import CURRENT, LENGTH, MASS, ONE_UNIT, TEMPERATURE, Unit
from linkwright.base.errors import InputError, UnitError


@dataclass(frozen=True, slots=True)
class UnitSystem:
    """A coherent system: its units of length and mass; s and rad are common to all.

    >>> IN_LB.coherent_unit(parse_unit("N*m/rad"))
    lbf*in/rad
    """

    name: str
    length: Unit
    mass: Unit

    def coherent_unit(self, unit: Unit) -> Unit:
        """Return the unit of the same dimension in which this system computes."""
        result = ONE_UNIT
        for dimension, exponent in enumerate(unit.exponents):
            base = {LENGTH: self.length, MASS: self.mass}.get(dimension)
            if exponent and base is not None:
                result = result * base**exponent
            elif exponent:
                plain = tuple(int(i == dimension) for i in range(len(unit.exponents)))
                result = result * Unit(plain) ** exponent
        return result

    def own_text(self, text: str) -> str:
        """Return the text of the unit in which this system computes what others have in SI units.

        >>> IN_LB.own_text("N*m"), MKS.own_text("J")
        ('lbf*in', 'J')
        """
        unit = parse_unit(text)
        own = self.coherent_unit(unit)
        return text if own == unit else unit_text(own)

    def printed(self, text: str) -> tuple[str, float]:
        """Return the unit in which values in an SI unit are printed, and one of it in SI units.

        What is in another unit than SI, or is electric or thermal, is printed as it is.

        >>> IN_LB.printed("m/s"), IN_LB.printed("V"), IN_LB.printed("deg")
        (('in/s', 0.0254), ('V', 1.0), ('deg', 1.0))
        """
        if self is MKS or text in ("?", "1", ""):
            return text, 1.0
        try:
            unit = parse_unit(text)
        except InputError:
            return text, 1.0
        if unit != unit.si or any(unit.exponents[k] for k in (CURRENT, TEMPERATURE)):
            return text, 1.0
        own = self.coherent_unit(unit)
        return (text, 1.0) if own == unit else (unit_text(own), own.to(unit))


MKS = UnitSystem("mks", parse_unit("m"), parse_unit("kg"))
IN_LB = UnitSystem("in-lb", parse_unit("in"), parse_unit("lbf*s^2/in"))

SYSTEMS: dict[str, UnitSystem] = {system.name: system for system in (MKS, IN_LB)}


def unit_system(name: str) -> UnitSystem:
    """Return a system by name; one that is not known is an error.

    >>> unit_system("in-lb").length
    in
    """
    if name not in SYSTEMS:
        raise UnitError(
            f"there is no system of units {name!r}", remedy=f"choose one of {', '.join(SYSTEMS)}"
        )
    return SYSTEMS[name]
