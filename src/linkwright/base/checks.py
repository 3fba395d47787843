"""Numbers that are given: finite, and within the bounds that make sense for them."""

from __future__ import annotations

import math
from typing import Any, SupportsFloat

from linkwright.base.errors import Error, InputError


def checked(
    value: SupportsFloat,
    what: str,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    finite: bool = True,
    kind: type[Error] = InputError,
    **more: Any,
) -> float:
    """Return a number that a user gave, or raise an error that says what is wrong.

    `more` is what the error takes: a code, a file, a line.

    >>> checked(2, "the stiffness of 'spring'", least=0)
    2.0
    >>> checked(-2, "the stiffness of 'spring'", least=0)
    Traceback (most recent call last):
        ...
    linkwright.InputError: the stiffness of 'spring' is -2; give a number of 0 or more
    """
    try:
        found = float(value)
    except (TypeError, ValueError) as error:
        raise kind(f"{what} is {value!r}", remedy="give a number", **more) from error
    if math.isnan(found) or (finite and math.isinf(found)):
        raise kind(f"{what} is {found:g}", remedy="give a finite number", **more)
    if found < least:
        raise kind(f"{what} is {found:g}", remedy=f"give a number of {least:g} or more", **more)
    if not found > above and above > -math.inf:
        raise kind(f"{what} is {found:g}", remedy=f"give a number above {above:g}", **more)
    if found > most:
        raise kind(f"{what} is {found:g}", remedy=f"give a number of {most:g} or less", **more)
    return found


def checked_angle(
    value: SupportsFloat,
    what: str,
    *,
    least: float = -2 * math.tau,
    most: float = 2 * math.tau,
    kind: type[Error] = InputError,
    **more: Any,
) -> float:
    """Return an angle in rad; one beyond its range was meant in degrees, and the error converts it.

    >>> checked_angle(45, "the latitude", least=-math.pi / 2, most=math.pi / 2)
    Traceback (most recent call last):
        ...
    linkwright.InputError: the latitude is 45 rad; give -1.571 to 1.571 rad: 45 deg are 0.785398 rad
    """
    found = checked(value, what, kind=kind, **more)
    if not least - _ROUNDING <= found <= most + _ROUNDING:
        given = f"{found:g} deg are {math.radians(found):.6g} rad"
        raise kind(
            f"{what} is {found:g} rad",
            remedy=f"give {least:.4g} to {most:.4g} rad: {given}",
            **more,
        )
    return found


_ROUNDING = 1e-9  # rad: a quarter of a turn that was computed may be a little more
