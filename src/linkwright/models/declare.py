"""Tables of parameters, as the models of the library write them."""

from __future__ import annotations

from linkwright.algebra.units import MKS, parse_unit
from linkwright.mechanism import Mechanism


def declare(m: Mechanism, unit: str, doc: str = "", /, **defaults: float) -> None:
    """Declare parameters that share a unit, in which the numbers are, and a description.

    >>> m = Mechanism("m")
    >>> declare(m, "m", "length of a link", L1=0.5, L2=0.1)
    >>> m.values, m.units["L1"], m.docs["L2"]
    ({'L1': 0.5, 'L2': 0.1}, 'm', 'length of a link')
    """
    si = MKS.own_text(unit)
    factor = parse_unit(unit).to(parse_unit(si))
    for name, value in defaults.items():
        m.parameter(name, factor * value, unit=si, doc=doc)


def declare_inertia(m: Mechanism, prefix: str, unit: str, /, **entries: float) -> None:
    """Declare entries of an inertia tensor about the mass center.

    >>> m = Mechanism("m")
    >>> declare_inertia(m, "BI", "kg*m^2", i11=115, i12=-14)
    >>> m.values, m.docs["BI12"]
    ({'BI11': 115.0, 'BI12': -14.0}, 'product of inertia of B')
    """
    body = prefix.removesuffix("I")
    for key, value in entries.items():
        digits = key[1:]
        kind = "moment" if len(set(digits)) == 1 else "product"
        m.parameter(f"{prefix}{digits}", value, unit=unit, doc=f"{kind} of inertia of {body}")
