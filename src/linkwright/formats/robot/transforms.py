"""Places of frames in each other, and masses seen from other frames: what readers need.

A `Place` is an origin and the matrix that takes components in the placed frame to components in the
frame around it; places are composed from the outside in. Quarter turns about an axis come out
exactly, since most robot files are made of them. Inertias follow the parallel-axis theorem
(Featherstone, Rigid Body Dynamics Algorithms, section 2.13).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from linkwright.base.rotations import quaternion_rows
from linkwright.formats.robot.description import UNTURNED, Mass, Place, Rotation, Triple

_QUARTERS = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


def cosine_sine(angle: float) -> tuple[float, float]:
    """Return cosine and sine, exact where the angle is a quarter turn to the last digits.

    Units: `angle` in rad.

    >>> cosine_sine(math.pi / 2), cosine_sine(-math.pi)
    ((0.0, 1.0), (-1.0, 0.0))
    """
    quarters = angle / (math.pi / 2)
    nearest = round(quarters) if abs(quarters) < 1e6 else 0
    if abs(quarters - nearest) <= 1e-15 * max(1, abs(nearest)):
        return _QUARTERS[nearest % 4]
    return math.cos(angle), math.sin(angle)


def turned(axis: Sequence[float], angle: float) -> Rotation:
    """Return the rotation about an axis.

    Units: `angle` in rad.

    >>> turned((0, 0, 2), math.pi / 2)
    ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    """
    x, y, z = unit(axis)
    c, s = cosine_sine(angle)
    v = 1.0 - c
    return (
        (x * x * v + c, x * y * v - z * s, x * z * v + y * s),
        (y * x * v + z * s, y * y * v + c, y * z * v - x * s),
        (z * x * v - y * s, z * y * v + x * s, z * z * v + c),
    )


def euler_rotation(angles: Sequence[float]) -> Rotation:
    """Return the turn by three angles: about x, then y, then z, each of the turned axes.

    >>> euler_rotation((0, 0, 0))[0]
    (1.0, 0.0, 0.0)
    """
    x, y, z = angles
    return product(product(turned((1, 0, 0), x), turned((0, 1, 0), y)), turned((0, 0, 1), z))


def quaternion_rotation(quaternion: Sequence[float]) -> Rotation:
    """Return the rotation of a quaternion, scalar first, of any length but zero.

    >>> quaternion_rotation((1, 0, 0, 1))[0]
    (0.0, -1.0, 0.0)
    """
    length = math.hypot(*quaternion)
    a, b, c, d = quaternion
    ww, xx, yy, zz = (x / length * (x / length) for x in (a, b, c, d))
    w, x, y, z = (x / length for x in (a, b, c, d))
    rows = (
        (ww + xx - yy - zz, 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), ww - xx + yy - zz, 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), ww - xx - yy + zz),
    )
    return _snapped(rows)


def rotation_quaternion(rotation: Rotation) -> tuple[float, float, float, float]:
    """Return the quaternion of a rotation: w, x, y, z, with w not negative.

    >>> rotation_quaternion(turned((0, 0, 1), math.pi))
    (0.0, 0.0, 0.0, 1.0)
    """
    row = quaternion_rows(rotation)[0].tolist()
    length = math.hypot(*row) * (-1.0 if row[0] < 0 else 1.0)
    w, x, y, z = (value / length + 0.0 for value in row)
    return w, x, y, z


def transposed(rotation: Rotation) -> Rotation:
    """Return the transpose."""
    a, b, c = rotation
    return ((a[0], b[0], c[0]), (a[1], b[1], c[1]), (a[2], b[2], c[2]))


def product(first: Rotation, second: Rotation) -> Rotation:
    """Return the product of two matrices."""
    columns = transposed(second)
    a, b, c = ((dot(row, columns[0]), dot(row, columns[1]), dot(row, columns[2])) for row in first)
    return (a, b, c)


def rotate(rotation: Rotation, vector: Sequence[float]) -> Triple:
    """Return the vector with a matrix applied to it."""
    return dot(rotation[0], vector), dot(rotation[1], vector), dot(rotation[2], vector)


def composed(outer: Place, inner: Place) -> Place:
    """Return the place of a frame that is given in a frame that is itself given.

    >>> a = Place((1.0, 0.0, 0.0), turned((0, 0, 1), math.pi / 2))
    >>> composed(a, Place((1.0, 0.0, 0.0))).position
    (1.0, 1.0, 0.0)
    """
    if outer.rotation == UNTURNED:
        return Place(plus(outer.position, inner.position), inner.rotation)
    return Place(
        plus(outer.position, rotate(outer.rotation, inner.position)),
        product(outer.rotation, inner.rotation),
    )


def inverted(place: Place) -> Place:
    """Return the place of the outer frame in the inner one.

    >>> inverted(Place((1.0, 2.0, 3.0))).position
    (-1.0, -2.0, -3.0)
    """
    back = transposed(place.rotation)
    x, y, z = rotate(back, place.position)
    return Place((0.0 - x, 0.0 - y, 0.0 - z), back)


def moved_mass(mass: Mass, place: Place) -> Mass:
    """Return a mass as seen from the frame around the one that it is given in."""
    return Mass(
        mass.mass,
        plus(place.position, rotate(place.rotation, mass.center)),
        inertia_of(tensor_turned(tensor(mass.inertia), place.rotation)),
    )


def joined_masses(masses: Iterable[Mass]) -> Mass | None:
    """Return the composite of masses that are given in the same frame, or None for none.

    >>> joined_masses([Mass(1.0, (0.0, 0.0, 0.0)), Mass(1.0, (2.0, 0.0, 0.0))])
    Mass(mass=2.0, center=(1.0, 0.0, 0.0), inertia=(0.0, 2.0, 2.0, 0.0, 0.0, 0.0))
    """
    parts = list(masses)
    if len(parts) <= 1:
        return parts[0] if parts else None
    total = math.fsum(part.mass for part in parts)
    center = (
        scaled(
            (
                math.fsum(part.mass * part.center[0] for part in parts),
                math.fsum(part.mass * part.center[1] for part in parts),
                math.fsum(part.mass * part.center[2] for part in parts),
            ),
            1 / total,
        )
        if total
        else (0.0, 0.0, 0.0)
    )
    about = [
        plus_six(part.inertia, point_inertia(part.mass, minus(part.center, center)))
        for part in parts
    ]
    a, b, c, d, e, f = (math.fsum(column) for column in zip(*about, strict=True))
    return Mass(total, center, (a, b, c, d, e, f))


Six = tuple[float, float, float, float, float, float]


def point_inertia(mass: float, offset: Sequence[float]) -> Six:
    """Return the inertia of a point about the origin: xx, yy, zz, xy, yz, zx (`mass` in kg)."""
    x, y, z = offset
    return (
        mass * (y * y + z * z),
        mass * (z * z + x * x),
        mass * (x * x + y * y),
        0.0 - mass * x * y,
        0.0 - mass * y * z,
        0.0 - mass * z * x,
    )


def plus_six(first: Six, second: Six, factor: float = 1.0) -> Six:
    """Return the sum of two inertias, the second one times a factor."""
    a, b, c, d, e, f = (x + factor * y for x, y in zip(first, second, strict=True))
    return a, b, c, d, e, f


def tensor(inertia: Six) -> Rotation:
    """Return the matrix of an inertia given as xx, yy, zz, xy, yz, zx."""
    xx, yy, zz, xy, yz, zx = inertia
    return ((xx, xy, zx), (xy, yy, yz), (zx, yz, zz))


def inertia_of(matrix: Rotation) -> Six:
    """Return xx, yy, zz, xy, yz, zx of a symmetric matrix."""
    (xx, xy, zx), (yx, yy, yz), (xz, zy, zz) = matrix
    return xx, yy, zz, (xy + yx) / 2, (yz + zy) / 2, (zx + xz) / 2


def tensor_turned(matrix: Rotation, rotation: Rotation) -> Rotation:
    """Return a tensor along the axes of the outer frame."""
    if rotation == UNTURNED:
        return matrix
    return product(product(rotation, matrix), transposed(rotation))


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the scalar product of two triples."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Sequence[float], b: Sequence[float]) -> Triple:
    """Return the vector product of two triples."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def plus(a: Sequence[float], b: Sequence[float]) -> Triple:
    """Return the sum of two triples."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def minus(a: Sequence[float], b: Sequence[float]) -> Triple:
    """Return the difference of two triples."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def scaled(a: Sequence[float], factor: float) -> Triple:
    """Return a triple times a number."""
    return a[0] * factor, a[1] * factor, a[2] * factor


def unit(a: Sequence[float]) -> Triple:
    """Return the vector of length one along a triple, which must not be zero."""
    length = math.hypot(*a)
    if not 1e-150 < length < 1e150:
        largest = max(abs(value) for value in a)
        a = scaled([value / largest for value in a], 1.0)
        length = math.hypot(*a)
    return a[0] / length, a[1] / length, a[2] / length


def _snapped(rows: Rotation) -> Rotation:
    """Return a rotation without the last digits' noise around 0 and 1."""
    a, b, c = ((_snap(row[0]), _snap(row[1]), _snap(row[2])) for row in rows)
    return (a, b, c)


def _snap(value: float) -> float:
    nearest = round(value)
    return float(nearest) if abs(value - nearest) < 4e-16 else value


def upright(axis: tuple[float, ...]) -> Rotation:
    """Return the least turn that takes z to an axis.

    >>> upright((2.0, 0.0, 0.0))[0]
    (0.0, 0.0, 1.0)
    """
    z = unit(axis)
    normal = (0.0 - z[1], z[0], 0.0)
    length = math.hypot(*normal)
    if length < 1e-15:
        return UNTURNED if z[2] > 0 else turned((1.0, 0.0, 0.0), math.pi)
    return turned(normal, math.atan2(length, z[2]))


def plane_axes(normal: Triple) -> Rotation:
    """Return the rotation that takes x, y, z to two axes of a plane and its normal.

    >>> plane_axes((1.0, 0.0, 0.0))
    ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    """
    if normal in UNTURNED:
        k = UNTURNED.index(normal)
        return transposed((UNTURNED[k - 2], UNTURNED[k - 1], UNTURNED[k]))
    return upright(normal)
