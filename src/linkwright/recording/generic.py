"""The kind of quantity that a unit stands for, with which the axis of a plot is labeled."""

from __future__ import annotations

_KINDS = {
    "rad": "angle",
    "deg": "angle",
    "rad/s": "angular speed",
    "deg/s": "angular speed",
    "rad/s^2": "angular acceleration",
    "m": "length",
    "mm": "length",
    "in": "length",
    "ft": "length",
    "m/s": "speed",
    "in/s": "speed",
    "ft/s": "speed",
    "m/s^2": "acceleration",
    "in/s^2": "acceleration",
    "g's": "acceleration",
    "N": "force",
    "lbf": "force",
    "N*m": "moment",
    "lbf*in": "moment",
    "in*lbf": "moment",
    "J": "energy",
    "W": "power",
    "s": "time",
    "V": "voltage",
    "A": "current",
    "kg": "mass",
}


def generic_name(unit: str) -> str:
    """Return the kind of quantity that has a unit, or nothing where several have it.

    >>> generic_name("rad/s"), generic_name("kg*m^2")
    ('angular speed', '')
    """
    return _KINDS.get(unit, "")
