"""The frame of a body that turns about an axis, chosen so that what follows is simple in it.

The rotation axis is to be an axis of the body. The turn of the body's frame about it, and the
place of its origin along it, are free (Denavit and Hartenberg 1955): the turn is taken for which
most axes of the next joints lie along axes of the body, and most numbers of its inertia are zero.
What the frame is turned by with the coordinate at zero is an offset of the angle, one addition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from linkwright.formats.robot.description import UNTURNED, Mass, Place, Rotation, Triple
from linkwright.formats.robot.rigid_groups import snapped
from linkwright.formats.robot.transforms import (
    composed,
    cross,
    dot,
    inverted,
    moved_mass,
    product,
    rotate,
    transposed,
    unit,
)

_RIGHT = math.pi / 2
_OBLIQUE, _PLANE, _ANGLE, _ARM, _CENTER, _PRODUCT = 40, 20, 1, 4, 2, 3


@dataclass(frozen=True, slots=True)
class Framing:
    """A body's frame."""

    number: int
    nominal: Rotation
    offset: float  # the angle with the coordinate at zero, rad
    place: Place


@dataclass(frozen=True, slots=True)
class Following:
    """A joint that hangs on a body: its place in the first link's frame, its axis if it turns."""

    place: Place
    axis: Triple | None


def framed(at: Place, axis: Triple, following: Sequence[Following], mass: Mass | None) -> Framing:
    """Return a good frame for a body that turns about an axis.

    >>> framed(Place(), (0.0, 0.0, 1.0), (), None).place.rotation == UNTURNED
    True
    """
    along = tidy_unit(rotate(at.rotation, axis))
    number = max(range(3), key=lambda k: (round(abs(along[k]), 6), k))
    nominal = _nominal(along, number)
    # Components in the link's frame of the body's axes, with all angles at zero.
    link_from_parent = transposed(at.rotation)
    still = product(link_from_parent, transposed(nominal))
    found = []
    for turn in _turns(still, number, following):
        frame = tidy_rotation(product(still, about(number, turn)))
        place = Place((0.0, 0.0, 0.0), frame)
        found.append((_cost(place, turn, following, mass), abs(turn), turn, place))
    best = min(range(len(found)), key=lambda k: (found[k][0], found[k][1], k))
    _, _, turn, place = found[best]
    return Framing(number, nominal, turn, place)


def _nominal(along: Triple, number: int) -> Rotation:
    """Return a right-handed triad with axis `number` along a vector, turned as little as can be."""
    i, j = (number + 1) % 3, (number + 2) % 3
    across = [k for k in (i, j) if along[k] == 0.0]
    if along[number] in (1.0, -1.0):
        first = _unit(i)
    elif across:
        # in a principal plane: the axis across that plane is common to both frames
        common = across[0]
        first = _unit(i) if common == i else cross(_unit(j), along)
    else:
        first = unit(cross(_unit(j), along))
    second = cross(along, first)
    rows = [along, along, along]
    rows[i], rows[j] = first, second
    return tidy_rotation((rows[0], rows[1], rows[2]))


def _turns(still: Rotation, number: int, following: Sequence[Following]) -> list[float]:
    """Return the angles to try, each once, right angles left out."""
    i, j = (number + 1) % 3, (number + 2) % 3
    columns = transposed(still)
    wanted: list[Triple] = [_unit(0), _unit(1), _unit(2)]
    for joint in following:
        if joint.axis is not None:
            wanted.append(rotate(joint.place.rotation, joint.axis))
        wanted.append(joint.place.position)
    found = [0.0]
    for direction in wanted:
        x, y = dot(direction, columns[i]), dot(direction, columns[j])
        if math.hypot(x, y) < 1e-6:
            continue
        angle = math.atan2(y, x)
        angle -= _RIGHT * round(angle / _RIGHT)
        if all(abs(angle - other) > 1e-9 for other in found):
            found.append(angle)
    return found


def _cost(place: Place, turn: float, following: Sequence[Following], mass: Mass | None) -> float:
    """Return a guess of the operations that a frame leads to."""
    back = inverted(place)
    cost = float(_ANGLE * (turn != 0.0))
    for joint in following:
        seen = composed(back, joint.place)
        cost += _ARM * _filled(seen.position)
        if joint.axis is not None:
            zeros = 3 - _filled(tidy_unit(rotate(seen.rotation, joint.axis)))
            cost += {2: 0, 1: _PLANE, 0: _OBLIQUE}[zeros]
    if mass is not None:
        seen_mass = without_dust(moved_mass(mass, back))
        cost += _CENTER * _filled(seen_mass.center) + _PRODUCT * _filled(seen_mass.inertia[3:])
    return cost


def _filled(values: Sequence[float]) -> int:
    size = max(map(abs, values), default=0.0)
    return sum(abs(x) > 1e-12 * size for x in values)


def about(number: int, angle: float) -> Rotation:
    """Return the rotation about one of the axes: columns are the turned axes.

    >>> about(2, 0.0) == UNTURNED
    True
    """
    i, j = (number + 1) % 3, (number + 2) % 3
    rows = [[float(r == c) for c in range(3)] for r in range(3)]
    c, s = math.cos(angle), math.sin(angle)
    rows[i][i], rows[i][j], rows[j][i], rows[j][j] = c, -s, s, c
    a, b, d = rows
    return (a[0], a[1], a[2]), (b[0], b[1], b[2]), (d[0], d[1], d[2])


def tidy_rotation(rotation: Rotation) -> Rotation:
    """Return a rotation with exact zeros and ones."""
    a, b, c = (snapped(row) for row in rotation)
    return a, b, c


def tidy_unit(v: Triple) -> Triple:
    """Return the unit vector along v, with exact zeros and ones."""
    return snapped(unit(v))


def without_dust(mass: Mass) -> Mass:
    """Return a mass without the last digits' noise around zero."""
    xx, yy, zz, xy, yz, zx = mass.inertia
    size = 1e-14 * (abs(xx) + abs(yy) + abs(zz))
    center = swept(mass.center)
    xx, yy, zz, xy, yz, zx = (0.0 if abs(x) <= size else x for x in mass.inertia)
    return Mass(mass.mass, center, (xx, yy, zz, xy, yz, zx))


def swept(v: Sequence[float]) -> Triple:
    """Return a vector without the last digits' noise around zero.

    >>> swept((1.0, 1e-17, 0.0))
    (1.0, 0.0, 0.0)
    """
    size = 1e-14 * max(abs(x) for x in v)
    x, y, z = (0.0 if abs(x) <= size else x for x in v)
    return x, y, z


def _unit(k: int) -> Triple:
    return UNTURNED[k]
