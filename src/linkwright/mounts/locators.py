"""Places on Earth as rotators' tools write them: Maidenhead locators, minutes, great circles."""

from __future__ import annotations

import math

from linkwright.base.errors import InputError

DEGREE = 111.2
"""km in a degree of a great circle, as Hamlib has it."""

_FIELDS = (18, 10, 24, 10, 24, 10)  # parts that each pair of characters divides into


def locator_of(longitude: float, latitude: float, length: int = 6) -> str:
    """Return the Maidenhead locator of a place.

    Units: `longitude` in degrees, `latitude` in degrees.

    >>> locator_of(13.5, 52.5)
    'JO62SM'
    """
    parts = []
    for degrees, whole in ((longitude + 180, 360.0), (latitude + 90, 180.0)):
        counts = _FIELDS[: length // 2]
        squares = math.prod(counts)
        number = min(int(degrees / whole * squares + 1e-6), squares - 1)  # an edge is the next's
        signs = []
        for count in reversed(counts):
            number, last = divmod(number, count)
            signs.append(_sign(last, count))
        parts.append(signs[::-1])
    return "".join(a + b for a, b in zip(*parts, strict=True))


def place_of(locator: str) -> tuple[float, float] | None:
    """Return longitude and latitude of the middle of a locator's square; None where it is none.

    >>> [round(x, 6) for x in place_of("JO62rm")]
    [13.458333, 52.520833]
    >>> place_of("zz") is None
    True
    """
    if not 2 <= len(locator) <= 12 or len(locator) % 2:
        return None
    found = []
    for first, whole in ((0, 360.0), (1, 180.0)):
        width, at = whole, -whole / 2
        for sign, count in zip(locator[first::2].upper(), _FIELDS, strict=False):
            signs = [_sign(i, count) for i in range(count)]
            if sign not in signs:
                return None
            width /= count
            at += width * signs.index(sign)
        found.append(at + width / 2)
    return found[0], found[1]


def _sign(number: int, count: int) -> str:
    return str(number) if count == 10 else chr(ord("A") + number)


def decimal_of(degrees: float, minutes: float, seconds: float, west: float) -> float:
    """Return decimal degrees.

    >>> round(decimal_of(45, 30, 15, 1), 6)
    -45.504167
    """
    size = abs(degrees) + minutes / 60 + seconds / 3600
    return -size if west or degrees < 0 else size


def degrees_minutes_seconds(degrees: float) -> tuple[int, int, float, bool]:
    """Return whole degrees, whole minutes, seconds, and whether it is South or West.

    >>> degrees_minutes_seconds(-45.5)
    (45, 30, 0.0, True)
    """
    if not abs(degrees) < 1e9:
        raise InputError(f"{degrees:g} degrees are not an angle")
    hundred_thousandths = round(abs(degrees) * 3600e5)  # no 60 seconds by rounding
    minutes, seconds = divmod(hundred_thousandths, 60 * 10**5)
    return minutes // 60, minutes % 60, seconds / 1e5, degrees < 0


def distance_and_bearing(
    longitude: float, latitude: float, longitude2: float, latitude2: float
) -> tuple[float, float]:
    """Return the distance between two places, km, and the compass bearing of the second.

    Units: `longitude` in degrees, `latitude` in degrees, `longitude2` in degrees, `latitude2` in
    degrees.

    >>> [round(x, 6) for x in distance_and_bearing(0, 0, 90, 0)]
    [10008.0, 90.0]
    """
    a, b = math.radians(latitude), math.radians(latitude2)
    turn = math.radians(longitude2 - longitude)
    east = math.cos(b) * math.sin(turn)
    north = math.cos(a) * math.sin(b) - math.sin(a) * math.cos(b) * math.cos(turn)
    along = math.sin(a) * math.sin(b) + math.cos(a) * math.cos(b) * math.cos(turn)
    angle = math.degrees(math.atan2(math.hypot(east, north), along))
    return DEGREE * angle, math.degrees(math.atan2(east, north)) % 360
