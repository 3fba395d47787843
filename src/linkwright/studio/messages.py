"""Words of models, files and errors in the tabs of the studio.

Viser's texts are Markdown in which HTML counts, scripts too; names come from files that anyone may
have written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linkwright.simulation.paced import Reached

_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@dataclass(frozen=True, slots=True)
class Bar:
    """What the bar over the scene shows."""

    mode: str = ""  # what moves the scene, in capitals
    kind: str = ""  # "live", "replay" or "pose"
    time: str = ""
    pace: str = ""
    note: str = ""  # what a user must know
    again: str = ""  # the command that opens the studio again
    stop: bool = False  # whether there is a button that stops what runs
    freeze: bool = False  # and one that lets it hold its posture
    busy: bool = False  # whether a user waits for the live run


def only_words(text: str) -> str:
    r"""Return Markdown that shows a text as it is.

    >>> only_words("<b>a_b</b>")
    '\\<b\\>a\\_b\\</b\\>'
    """
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|&$~" else c for c in text)


def shown_unit(unit: str) -> str:
    """Return a unit as it is printed in books; nothing for one that is not known, or 1.

    >>> shown_unit("kg*m^2"), shown_unit("m/s^2"), shown_unit("deg"), shown_unit("1")
    ('kg·m²', 'm/s²', '°', '')
    """
    if unit in ("?", "1", ""):
        return ""
    plain = re.sub(r"(?:\*\*|\^)\(?(-?\d+)\)?", lambda found: found[1].translate(_RAISED), unit)
    return "°" if plain == "deg" else plain.replace("*", "·")


def with_unit(name: str, unit: str) -> str:
    """Return a name with its unit behind it, where it has one.

    >>> with_unit("g", "m/s^2"), with_unit("zeta", "1")
    ('g [m/s²]', 'zeta')
    """
    shown = shown_unit(unit)
    return f"{name} [{shown}]" if shown else name


def stopped_words(now: Reached) -> str:
    """Return that a live run has stopped, and what to do."""
    found = re.match(r"no finite value of (.+) after t = (\S+) s", now.stopped)
    if found:
        return f"Simulation diverged at t = {found[2]} s ({found[1]} not finite). Press Reset."
    return f"Simulation stopped at t = {now.time:.4g} s: {now.stopped}. Press Reset."
