"""Bodies that are put together from rods and point masses, as expressions of parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from linkwright.algebra import Expr, constant, total
from linkwright.mechanism import Mechanism

Place = Sequence[Expr | str | float]

RADIAL = {1: (1.0, 0.0), 2: (-0.5, math.sqrt(3) / 2), 3: (-0.5, -math.sqrt(3) / 2)}
"""Directions of three legs around an axis, at azimuths of 0, 120 and 240 degrees."""
_AXES = (0, 1, 2)
_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))  # xx, yy, zz, xy, yz, zx


@dataclass(frozen=True, slots=True)
class Lump:
    """A part of a body."""

    mass: Expr | str | float  # kg
    at: Place = (0, 0, 0)  # its mass center in the body's axes, m
    moments: Place = (0, 0, 0)  # its own about that along the body's axes, kg*m^2


class Inertial(TypedDict):
    """What `Mechanism.body` asks for: mass, mass center and inertia."""

    mass: Expr
    com: tuple[Expr, ...]
    inertia: tuple[Expr, ...]


def rod(mass: str, length: str, center: str, gyration: str = "gyration") -> Lump:
    """Return a rod along z.

    Units: `length` in m, `center` in m.

    >>> rod("m", "L", "L/2").moments
    ('(m)*((L)**2/12 + gyration)', '(m)*((L)**2/12 + gyration)', '(m)*gyration')
    """
    across, along = f"({mass})*(({length})**2/12 + {gyration})", f"({mass})*{gyration}"
    return Lump(mass, (0, 0, center), (across, across, along))


def lumped(m: Mechanism, *lumps: Lump) -> Inertial:
    """Return mass, mass center and inertia of some parts together.

    >>> m = Mechanism("m")
    >>> made = lumped(m, Lump(1), Lump(3, (0, 0, "L")))
    >>> made["mass"], made["com"][2], made["inertia"][0]
    (4, 0.75*L, 0.75*L**2)
    """
    masses = [m.expr(lump.mass) for lump in lumps]
    places = [m.exprs(lump.at) for lump in lumps]
    own = [m.exprs(lump.moments) for lump in lumps]
    whole = total(masses)
    com = tuple(total(w * p[k] for w, p in zip(masses, places, strict=True)) / whole for k in _AXES)
    arms = [[p[k] - com[k] for k in _AXES] for p in places]

    def entry(i: int, j: int) -> Expr:
        terms = []
        for w, d, moments in zip(masses, arms, own, strict=True):
            if i == j:
                terms.append(moments[i] + w * total(d[k] ** 2 for k in _AXES if k != i))
            else:
                terms.append(-w * d[i] * d[j])
        return total(terms) if terms else constant(0)

    return {"mass": whole, "com": com, "inertia": tuple(entry(i, j) for i, j in _PAIRS)}
