"""Stability of a compliant wrist in contact, along one axis: polynomials, limits and maps.

`WristLoop` holds the numbers; `characteristic` and `routh_conditions` are the continuous criterion
in symbols; `contact_map` sets both criteria and a simulation side by side over two parameters.
"""

from linkwright.analysis.contact.characteristic_polynomials import (
    CharacteristicPolynomial,
    RouthCondition,
    characteristic,
    routh_conditions,
)
from linkwright.analysis.contact.element_loops import element_system
from linkwright.analysis.contact.parameter_maps import ContactMap, contact_map
from linkwright.analysis.contact.simulated_loops import loop_system, simulated_verdicts
from linkwright.analysis.contact.wrist_files import WristFile, read_wrist
from linkwright.analysis.contact.wrist_loops import VERDICTS, WristLoop

__all__ = [
    "VERDICTS",
    "CharacteristicPolynomial",
    "ContactMap",
    "RouthCondition",
    "WristFile",
    "WristLoop",
    "characteristic",
    "contact_map",
    "element_system",
    "loop_system",
    "read_wrist",
    "routh_conditions",
    "simulated_verdicts",
]
