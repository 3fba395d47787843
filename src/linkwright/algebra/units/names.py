"""The units that have a name, with their exact factors.

The pound: `lbf` is the force, `lbm` the mass, and plain `lb` the force, as in the in-lb system of
AUTOSIM. `g's` (or `gees`) is the standard acceleration of gravity, and `g` the gram.
"""

from __future__ import annotations

from fractions import Fraction

from linkwright.algebra.units.unit import (
    ANGLE,
    CURRENT,
    LENGTH,
    MASS,
    ONE_UNIT,
    TEMPERATURE,
    TIME,
    Unit,
    base_unit,
)

PREFIXES: dict[str, Fraction] = {
    "T": Fraction(10**12),
    "G": Fraction(10**9),
    "M": Fraction(10**6),
    "k": Fraction(1000),
    "d": Fraction(1, 10),
    "c": Fraction(1, 100),
    "m": Fraction(1, 1000),
    "u": Fraction(1, 10**6),
    "µ": Fraction(1, 10**6),
    "μ": Fraction(1, 10**6),
    "n": Fraction(1, 10**9),
    "p": Fraction(1, 10**12),
}


def scaled_unit(factor: int | Fraction, unit: Unit, pi: int = 0) -> Unit:
    """Return a multiple of a unit."""
    return Unit(ONE_UNIT.exponents, factor, pi) * unit


_m = base_unit(LENGTH)
_kg = base_unit(MASS)
_s = base_unit(TIME)
_rad = base_unit(ANGLE)
_A = base_unit(CURRENT)
_K = base_unit(TEMPERATURE)
_N = _kg * _m / _s**2
_J = _N * _m
_W = _J / _s
_V = _W / _A
_in = scaled_unit(Fraction(127, 5000), _m)
_ft = scaled_unit(12, _in)
_mi = scaled_unit(5280, _ft)
_gees = scaled_unit(Fraction(980665, 100000), _m / _s**2)
_lbm = scaled_unit(Fraction(45359237, 10**8), _kg)
_lbf = _lbm * _gees
_rev = scaled_unit(2, _rad, pi=1)
_min = scaled_unit(60, _s)
_h = scaled_unit(3600, _s)

# With SI prefixes.
PREFIXABLE: dict[str, Unit] = {
    "m": _m,
    "g": scaled_unit(Fraction(1, 1000), _kg),
    "s": _s,
    "rad": _rad,
    "A": _A,
    "K": _K,
    "N": _N,
    "J": _J,
    "W": _W,
    "Pa": _N / _m**2,
    "Hz": ONE_UNIT / _s,
    "V": _V,
    "ohm": _V / _A,
    "Ω": _V / _A,
    "H": _V * _s / _A,
    "F": _A * _s / _V,
    "C": _A * _s,
    "Wb": _V * _s,
    "bar": scaled_unit(10**5, _N / _m**2),
}

# Without prefixes; these are looked up first.
PLAIN: dict[str, Unit] = {
    "kg": _kg,
    "T": _V * _s / _m**2,
    "min": _min,
    "h": _h,
    "hr": _h,
    "day": scaled_unit(86400, _s),
    "sec": _s,
    "deg": scaled_unit(Fraction(1, 180), _rad, pi=1),
    "°": scaled_unit(Fraction(1, 180), _rad, pi=1),
    "rev": _rev,
    "rpm": _rev / _min,
    "degC": _K,  # a temperature; its zero is another than that of K
    "in": _in,
    "ft": _ft,
    "yd": scaled_unit(3, _ft),
    "mi": _mi,
    "mph": _mi / _h,
    "kph": scaled_unit(1000, _m) / _h,
    "lbm": _lbm,
    "lbf": _lbf,
    "lb": _lbf,
    "slug": _lbf * _s**2 / _ft,
    "psi": _lbf / _in**2,
    "hp": scaled_unit(550, _ft * _lbf / _s),
    "g's": _gees,
    "gees": _gees,
    "%": scaled_unit(Fraction(1, 100), ONE_UNIT),
}


def named_unit(name: str) -> Unit | None:
    """Return the unit of a single name, with or without an SI prefix, or None.

    >>> named_unit("kN"), named_unit("furlong")
    (1000.0*N, None)
    """
    found = PLAIN.get(name) or PREFIXABLE.get(name)
    if found is not None:
        return found
    factor = PREFIXES.get(name[:1])
    unit = PREFIXABLE.get(name[1:])
    return None if factor is None or unit is None else scaled_unit(factor, unit)
