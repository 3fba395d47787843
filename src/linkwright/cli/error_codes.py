"""The numbers of errors: one table that makes the page *Errors* and ``linkwright tools explain``.

The table is `error_codes.toml`. A number is never used for something else. To add one, take the
next free number of its part, and give it where the error is raised:
``raise MotionError(..., code="R201")``.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

from linkwright.base.errors import InputError, nearest

NOTE = (
    "Errors of these parts end in a number. One without a number says by itself what is wrong, "
    "where, and what to do."
)
"""What is numbered: the parts of which a document asks it (ROBSIM, section 2.4.1, and on)."""


class Explanation(NamedTuple):
    """What a number means: a short title, why it happens, and what to do."""

    title: str
    why: str
    remedy: str


PARTS = {
    "1": "Definition and dialogue",
    "2": "Tasks and requirements",
    "3": "Sizing and catalogs",
    "4": "Drives",
    "5": "Filters",
    "6": "Frequency response, limit cycles and identification",
    "7": "Worst case and timing",
    "8": "Listings, plots and reports",
}
"""The first digit of a number says which part of Linkwright it comes from."""


def _read() -> dict[str, Explanation]:
    """Return the table of the file beside this module."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return {code: Explanation(**told) for code, told in tomllib.loads(text).items()}


ERRORS = _read()
"""Every number and what it means."""


def explanation(code: str) -> Explanation:
    """Return what a number means.

    >>> explanation("r101").title
    'Unknown error number'
    """
    found = ERRORS.get(code.upper())
    if found is None:
        near = nearest(code.upper(), ERRORS)
        raise InputError(
            f"there is no error {code!r}",
            remedy=f"did you mean {near}?"
            if near
            else "run `linkwright tools explain` for the list",
            code="R101",
        )
    return found
