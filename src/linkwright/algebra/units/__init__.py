"""Units: reading and printing them, converting values, and deducing them through expressions."""

from linkwright.algebra.units.amounts import Amount, amount, amounts, by_name, span
from linkwright.algebra.units.display import unit_text
from linkwright.algebra.units.inference import check_units, deduce_units, unit_of
from linkwright.algebra.units.parse import checked_unit, parse_unit
from linkwright.algebra.units.systems import IN_LB, MKS, SYSTEMS, UnitSystem, unit_system
from linkwright.algebra.units.unit import DIMENSIONS, Unit

__all__ = [
    "DIMENSIONS",
    "IN_LB",
    "MKS",
    "SYSTEMS",
    "Amount",
    "Unit",
    "UnitSystem",
    "amount",
    "amounts",
    "by_name",
    "check_units",
    "checked_unit",
    "deduce_units",
    "parse_unit",
    "span",
    "unit_of",
    "unit_system",
    "unit_text",
]
