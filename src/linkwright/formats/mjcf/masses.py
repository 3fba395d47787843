"""Masses of MJCF bodies: what ``<inertial>`` says, and the bounds that the compiler sets."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from linkwright.formats.mjcf.settings import CompilerSettings
from linkwright.formats.mjcf.words import TURNS
from linkwright.formats.robot.description import Mass, Place
from linkwright.formats.robot.omissions import Leftovers
from linkwright.formats.robot.transforms import composed, inertia_of, tensor, tensor_turned
from linkwright.formats.robot.xml import XmlElement


def inertial_mass(
    element: XmlElement, outer: Place, settings: CompilerSettings, left: Leftovers
) -> Mass:
    """Return the mass that an ``<inertial>`` in a frame of a body gives, in the body's frame."""
    left.rest(element, (), ("pos", *TURNS, "mass", "diaginertia", "fullinertia"))
    place = composed(outer, settings.place(element))
    mass = element.number("mass")
    if "fullinertia" in element.attributes:
        if "diaginertia" in element.attributes:
            raise element.error("<inertial> has diaginertia and fullinertia", "keep one of them")
        xx, yy, zz, xy, xz, yz = element.numbers("fullinertia", 6)
        inertia = (xx, yy, zz, xy, yz, xz)
    else:
        x, y, z = element.triple("diaginertia", (0.0, 0.0, 0.0))
        inertia = (x, y, z, 0.0, 0.0, 0.0)
    return Mass(mass, place.position, inertia_of(tensor_turned(tensor(inertia), place.rotation)))


def bounded(mass: Mass | None, settings: CompilerSettings) -> Mass | None:
    """Return a mass with the least values and the balance that the compiler was given."""
    least, least_moment = settings.least_mass, settings.least_inertia
    if least <= 0 and least_moment <= 0 and not settings.balance:
        return mass
    given = mass or Mass(0.0)
    moments, axes = np.linalg.eigh(np.array(tensor(given.inertia)))
    new = np.maximum(moments, least_moment)
    if settings.balance and new[0] + new[1] < new[2] - 1e-12 * abs(new[2]):
        new = np.full(3, new.mean())
    if given.mass >= least and np.array_equal(new, moments):
        return mass
    matrix = axes @ np.diag(new) @ axes.T
    rows = tuple((float(row[0]), float(row[1]), float(row[2])) for row in matrix)
    return Mass(max(given.mass, least), given.center, inertia_of((rows[0], rows[1], rows[2])))


def scaled_to(masses: Mapping[str, Mass | None], total: float) -> dict[str, Mass | None]:
    """Return masses scaled so that their sum is `total`, where that is positive.

    Units: `total` in kg.

    >>> scaled_to({"a": Mass(1.0), "b": None, "c": Mass(3.0)}, 8.0)["c"].mass
    6.0
    """
    whole = sum(mass.mass for mass in masses.values() if mass is not None)
    if total <= 0 or whole <= 0:
        return dict(masses)
    factor = total / whole
    found: dict[str, Mass | None] = {}
    for name, mass in masses.items():
        if mass is None:
            found[name] = None
        else:
            a, b, c, d, e, f = (factor * value for value in mass.inertia)
            found[name] = Mass(factor * mass.mass, mass.center, (a, b, c, d, e, f))
    return found
