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
