"""Payloads as words of a command line: a mass, or a range of masses."""

from __future__ import annotations

from linkwright.base.errors import InputError, UnitError

__all__ = ["heaviest"]


def heaviest(text: str) -> tuple[float | None, bool]:
    """Return the largest mass of `--payload`, kg, and whether it is a range; nothing for "".

    >>> heaviest("500 g"), heaviest("0..3"), heaviest("")
    ((0.5, False), (3.0, True), (None, False))
    """
    from linkwright.algebra.units import amount

    if not text:
        return None, False
    low, dots, high = text.partition("..")
    try:
        least = amount(low, "--payload", "kg")
        most = amount(high, "--payload", "kg") if dots else least
    except (InputError, UnitError) as error:
        raise InputError(
            f"--payload {text!r} is not a mass",
            remedy="give a number in kg, a text such as '500 g', or a range such as 0..3",
            code="R208",
        ) from error
    if not 0.0 <= least <= most:
        raise InputError(
            f"--payload {text!r} is negative, or a range from the larger to the smaller",
            remedy="give the smaller mass first: 0..3",
            code="R209",
        )
    return most, bool(dots)
