"""`.sine` files: for some joints an offset and one to three sines (SL manual, section 5.4)."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from linkwright.base.errors import InputError, suggestion
from linkwright.formats.robot.xml import finite
from linkwright.formats.sl.configuration import Word, text_of, words_of

MOST = 3
"""Sines of a joint at most."""


@dataclass(frozen=True, slots=True)
class SineLine:
    """What one joint does: `offset` (rad), and for each sine its amplitude (rad), phase (rad) and
    frequency (Hz)."""

    offset: float
    sines: tuple[tuple[float, float, float], ...]


def read_sines(path: str | os.PathLike[str], joints: Iterable[str]) -> dict[str, SineLine]:
    """Return what a `.sine` file says, by joint; a joint that is not in it is not in the result."""
    path = Path(path)
    return parse_sines(text_of(path), joints, file=str(path))


def parse_sines(text: str, joints: Iterable[str], *, file: str = "") -> dict[str, SineLine]:
    """Return what the text of a `.sine` file says, by joint.

    >>> parse_sines("EB 1 1.57  0.1 0 1", ["EB", "WR"])
    {'EB': SineLine(offset=1.57, sines=((0.1, 0.0, 1.0),))}
    """
    known = tuple(joints)
    words = words_of(text)
    found: dict[str, SineLine] = {}
    at = 0
    while at < len(words):
        name, line = words[at]
        if name not in known:
            raise InputError(
                f"a joint is needed here, and none is called {name[:40]!r}",
                file=file or None,
                line=line,
                remedy=suggestion(name, known, f"there are {', '.join(known)}"),
            )
        if name in found:
            raise InputError(f"{name} is given twice", file=file or None, line=line)
        count = _count(words, at, file)
        given = _numbers(words, at, 1 + 3 * count, file)
        sines = tuple((given[k], given[k + 1], given[k + 2]) for k in range(1, len(given), 3))
        if any(frequency < 0 for *_, frequency in sines):
            raise InputError(
                f"a sine of {name} has a frequency below 0", file=file or None, line=line
            )
        found[name] = SineLine(given[0], sines)
        at += 3 + 3 * count
    return found


def _count(words: list[Word], at: int, file: str) -> int:
    name, line = words[at]
    number = finite(words[at + 1][0]) if at + 1 < len(words) else None
    if number is None or number != int(number) or not 1 <= number <= MOST:
        given = words[at + 1][0][:40] if at + 1 < len(words) else "nothing"
        raise InputError(
            f"{name} has {given} sines",
            file=file or None,
            line=line,
            remedy=f"a joint has 1 to {MOST}",
        )
    return int(number)


def _numbers(words: list[Word], at: int, count: int, file: str) -> list[float]:
    name, line = words[at]
    found: list[float] = []
    for word, here in words[at + 2 : at + 2 + count]:
        number = finite(word)
        if number is None:
            if word.lower().lstrip("+-") in ("nan", "inf", "infinity"):
                raise InputError(
                    f"{word} among the sines of {name} is not a finite number",
                    file=file or None,
                    line=here,
                )
            line = here
            break
        found.append(number)
    if len(found) < count:
        raise InputError(
            f"after {name} and its number of sines stand {len(found)} values; {count} are needed",
            file=file or None,
            line=line,
            remedy="give the offset, then amplitude, phase and frequency of each sine",
        )
    return found


def sine_text(sines: Mapping[str, SineLine]) -> str:
    """Return the text of a `.sine` file.

    >>> print(sine_text({"EB": SineLine(1.57, ((0.1, 0.0, 1.0),))}).splitlines()[1])
    EB 1 1.57  0.1 0.0 1.0
    """
    lines = ["/* joint, number of sines, offset, then amplitude, phase, frequency of each */"]
    for name, row in sines.items():
        if not 1 <= len(row.sines) <= MOST:
            raise InputError(
                f"{name} has {len(row.sines)} sines", remedy=f"a joint has 1 to {MOST}"
            )
        numbers = [row.offset, *(value for sine in row.sines for value in sine)]
        if not all(map(math.isfinite, numbers)):
            raise InputError(f"the sines of {name} are not all finite")
        terms = "".join("  " + " ".join(map(repr, map(float, sine))) for sine in row.sines)
        lines.append(f"{name} {len(row.sines)} {float(row.offset)!r}{terms}")
    return "\n".join(lines) + "\n"
