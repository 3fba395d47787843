"""`.pp` files: how the vision servo filters and predicts blobs (SL manual, section 5.7.2).

`PREDICT` has the time to look ahead; `BLOBn_BUTTER` nine cutoffs of Butterworth filters,
`BLOBn_KALMAN` nine gains of a Kalman filter, `BLOBn_NOISE` what its gains can follow from instead:
the deviation of pictures (pixels; m where there are no cameras) and the density of the jerk
(m/s^2.5). `BLOBn_ACCELERATION` is an acceleration that replaces the measured one. A blob that is
not named is not filtered.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from linkwright.base.errors import InputError, suggestion
from linkwright.formats.robot.xml import finite
from linkwright.formats.sl.configuration import Word, text_of, words_of

Triple: TypeAlias = tuple[float, float, float]
Nine: TypeAlias = tuple[Triple, Triple, Triple]

_NUMBERS = {"BUTTER": 9, "KALMAN": 9, "ACCELERATION": 3, "NOISE": 2}
_KEY = re.compile(r"BLOB([1-9]\d{0,3})_([A-Z]+)\Z")


@dataclass(frozen=True, slots=True)
class BlobPreferences:
    """What is done with one blob."""

    # cutoffs for position, velocity and acceleration along x, y, z, percent of the Nyquist
    # frequency, 0 or 100 for none; None where none are given
    butter: Nine | None = None
    # gains of position, velocity and acceleration for x, y, z; None where none are given
    kalman: Nine | None = None
    # that replaces the measured one, m/s^2; None where the measured one counts
    acceleration: Triple | None = None
    # deviation of pictures (pixels, or m) and density of the jerk (m/s^2.5); None for none
    noise: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class VisionPreferences:
    """A `.pp` file: `predict` (s), and what is done with each blob, by its number from 1 on."""

    predict: float = 0.0
    blobs: Mapping[int, BlobPreferences] = field(default_factory=lambda: MappingProxyType({}))

    def blob(self, number: int) -> BlobPreferences:
        """Return what is done with a blob.

        >>> VisionPreferences().blob(1).butter is None
        True
        """
        return self.blobs.get(number, BlobPreferences())


def read_vision(path: str | os.PathLike[str], blobs: int | None = None) -> VisionPreferences:
    """Return what a `.pp` file says."""
    path = Path(path)
    return parse_vision(text_of(path), blobs, file=str(path))


def parse_vision(text: str, blobs: int | None = None, *, file: str = "") -> VisionPreferences:
    """Return what the text of a `.pp` file says.

    >>> found = parse_vision("PREDICT 0.033 BLOB2_ACCELERATION 0 0 -9.81")
    >>> found.predict, found.blob(2).acceleration
    (0.033, (0.0, 0.0, -9.81))
    """
    words = words_of(text)
    found = VisionPreferences()
    rows: dict[int, BlobPreferences] = {}
    seen: dict[str, int] = {}
    at = 0
    while at < len(words):
        key, line = words[at]
        match = _KEY.fullmatch(key)
        kind = match.group(2) if match else ""
        if key != "PREDICT" and kind not in _NUMBERS:
            raise _unknown(key, line, file)
        if key in seen:
            raise InputError(
                f"{key} is given twice, first in line {seen[key]}", file=file or None, line=line
            )
        seen[key] = line
        count = _NUMBERS.get(kind, 1)
        values = _values(words, at, count, file)
        if match is None:
            if values[0] < 0:
                raise InputError("PREDICT is below 0", file=file or None, line=line)
            found = replace(found, predict=values[0])
        else:
            number = int(match.group(1))
            if blobs is not None and number > blobs:
                raise InputError(
                    f"{key} is of blob {number}, and there are {blobs}",
                    file=file or None,
                    line=line,
                    remedy="say MAX_BLOBS greater, or take the line out",
                )
            _check(key, kind, values, line, file)
            row = rows.get(number, BlobPreferences())
            rows[number] = row = _with(row, kind, values)
            if row.noise is not None and row.kalman is not None:
                raise InputError(
                    f"blob {number} has both NOISE and KALMAN",
                    file=file or None,
                    line=line,
                    remedy="give constant gains, or what they follow from",
                )
        at += 1 + count
    return replace(found, blobs=MappingProxyType(dict(sorted(rows.items()))))


def _with(row: BlobPreferences, kind: str, v: tuple[float, ...]) -> BlobPreferences:
    if kind == "ACCELERATION":
        return replace(row, acceleration=(v[0], v[1], v[2]))
    if kind == "NOISE":
        return replace(row, noise=(v[0], v[1]))
    nine: Nine = ((v[0], v[1], v[2]), (v[3], v[4], v[5]), (v[6], v[7], v[8]))
    return replace(row, butter=nine) if kind == "BUTTER" else replace(row, kalman=nine)


def _check(key: str, kind: str, values: tuple[float, ...], line: int, file: str) -> None:
    wrong = [value for value in values if not 0 <= value <= 100] if kind == "BUTTER" else []
    if wrong:
        raise InputError(
            f"{key} has a cutoff of {wrong[0]:g} percent",
            file=file or None,
            line=line,
            remedy="cutoffs are 0 to 100 percent of the Nyquist frequency",
        )

    if kind == "NOISE" and not all(value > 0 for value in values):
        raise InputError(
            f"{key} is {values[0]:g} {values[1]:g}",
            file=file or None,
            line=line,
            remedy="the deviation of pictures and the density of the jerk are above 0",
        )


def _unknown(key: str, line: int, file: str) -> InputError:
    number = re.match(r"BLOB(\d+)", key)
    which = number.group(1) if number and number.group(1) != "0" else "1"
    known = ["PREDICT", *(f"BLOB{which}_{kind}" for kind in _NUMBERS)]
    return InputError(
        f"{key[:40]!r} is not a keyword of a file of vision preferences",
        file=file or None,
        line=line,
        remedy=suggestion(key, known, f"keywords are {', '.join(known)}"),
    )


def _values(words: list[Word], at: int, count: int, file: str) -> tuple[float, ...]:
    key, line = words[at]
    found: list[float] = []
    for word, here in words[at + 1 : at + 1 + count]:
        number = finite(word)
        if number is None:
            line = here
            break
        found.append(number)
    if len(found) < count:
        raise InputError(
            f"after {key} stand {len(found)} values; {count} are needed",
            file=file or None,
            line=line,
            remedy="BUTTER and KALMAN have nine, ACCELERATION three, NOISE two, PREDICT one",
        )
    return tuple(found)


def vision_text(preferences: VisionPreferences) -> str:
    """Return the text of a `.pp` file.

    >>> vision_text(VisionPreferences(0.033))
    'PREDICT 0.033\\n'
    """
    lines = [f"PREDICT {float(preferences.predict)!r}"]
    for number, row in preferences.blobs.items():
        parts: dict[str, tuple[float, ...] | None] = {
            "BUTTER": None if row.butter is None else sum(row.butter, ()),
            "KALMAN": None if row.kalman is None else sum(row.kalman, ()),
            "ACCELERATION": row.acceleration,
            "NOISE": row.noise,
        }
        for kind, values in parts.items():
            if values is None:
                continue
            if not all(map(math.isfinite, values)):
                raise InputError(f"BLOB{number}_{kind} is not finite")
            lines.append(f"BLOB{number}_{kind} {' '.join(repr(float(v)) for v in values)}")
    return "\n".join(lines) + "\n"
