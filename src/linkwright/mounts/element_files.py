"""Files of orbital elements: CelesTrak's two lines, and the OMM as JSON, CSV, XML and KVN.

Two-line elements (TLE) hold a number of five places, which Alpha-5 stretches to 339999; newer
satellites come only as an Orbit Mean-Elements Message (CCSDS 502.0-B-3), in one of four forms. A
file's first characters say which form it has. Every complaint names file and line.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from linkwright.base.errors import InputError
from linkwright.base.files import integer, path_of, read_text
from linkwright.base.reprs import brief
from linkwright.formats.robot.xml import XmlElement, finite, parse_xml
from linkwright.mounts.orbits import DAY, MJD_ZERO, Orbit, Orbits

LARGEST = 64 * 2**20
"""Bytes of a file of elements; all satellites that fly take about 20 MB as JSON."""

_NUMBERS = (
    "INCLINATION",
    "RA_OF_ASC_NODE",
    "ECCENTRICITY",
    "ARG_OF_PERICENTER",
    "MEAN_ANOMALY",
    "MEAN_MOTION",
)
_FIXED = {
    "TIME_SYSTEM": ("UTC",),
    "REF_FRAME": ("TEME",),
    "CENTER_NAME": ("EARTH",),
    "MEAN_ELEMENT_THEORY": ("SGP4", "SGP/SGP4", "SGP"),
}
_EPOCH = re.compile(
    r"(\d{4})-(?:(\d{2})-(\d{2})|(\d{3}))[T ](\d{2}):(\d{2}):(\d{2}(?:\.\d*)?)(?:Z|\+00:00)?"
)
_ALPHA = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # without I and O, which look like digits


@dataclass(frozen=True, slots=True)
class _Place:
    """Where something stands in a file."""

    file: str
    line: int

    def error(self, what: str, remedy: str) -> InputError:
        return InputError(what, file=self.file or None, line=self.line, remedy=remedy)


def read_orbits(path: str | os.PathLike[str]) -> Orbits:
    """Return the orbits of a file of two-line elements, or of an OMM as JSON, CSV, XML or KVN.

    Args:
        path: of the file.

    >>> import tempfile
    >>> from pathlib import Path
    >>> lines = '''ISS (ZARYA)
    ... 1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927
    ... 2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "iss.tle").write_text(lines)
    ...     orbits = read_orbits(Path(folder) / "iss.tle")
    >>> orbits[25544].name, round(math.degrees(orbits["ISS (ZARYA)"].inclination), 4)
    ('ISS (ZARYA)', 51.6416)
    """
    place = path_of(path, "a file of elements")
    return parse_orbits(read_text(place, LARGEST), file=str(place))


def parse_orbits(text: str, *, file: str = "") -> Orbits:
    """Return the orbits of a text, in any of the five forms.

    >>> parse_orbits("No GP data found")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    linkwright.InputError: line 1: there are no elements here: 'No GP data found'; give ...
    """
    found: list[tuple[Orbit, _Place]] = []
    first: dict[int, int] = {}
    for orbit, place in _form(text)(text.removeprefix("\ufeff"), file):
        if orbit.number in first:
            raise place.error(
                f"satellite {orbit.number} ({orbit.name}) stands a second time; "
                f"the first is in line {first[orbit.number]}",
                "keep the elements with the newer epoch",
            )
        first[orbit.number] = place.line
        found.append((orbit, place))
    if not found:
        raise _nothing(text, file)
    return Orbits(tuple(orbit for orbit, _ in found), file)


def _form(text: str) -> Callable[[str, str], Iterator[tuple[Orbit, _Place]]]:
    """Return the reader of the form that a text has."""
    start = text.removeprefix("\ufeff").lstrip()
    head = start.partition("\n")[0]
    if start[:1] in ("[", "{"):
        return _json
    if start[:1] == "<":
        return _xml
    if "CCSDS_OMM_VERS" in head or re.match(r"[A-Z_]+\s*=", head):
        return _kvn
    if "," in head and ("NORAD_CAT_ID" in head or "MEAN_MOTION" in head):
        return _csv
    return _tle


def _nothing(text: str, file: str) -> InputError:
    line = next((line for line in text.splitlines() if line.strip()), "")
    return _Place(file, 1).error(
        f"there are no elements here: {brief(line.strip())}" if line else "the file is empty",
        "give two-line elements, or an OMM as JSON, CSV, XML or KVN",
    )


# -- two lines -------------------------------------------------------------------------------------
def _tle(text: str, file: str) -> Iterator[tuple[Orbit, _Place]]:
    """Yield the orbits of two-line elements, with or without a line of names above each."""
    name = ""
    one: tuple[str, _Place] | None = None
    for count, raw in enumerate(text.splitlines(), 1):
        line, place = raw.rstrip(), _Place(file, count)
        if not line or line.startswith("#"):
            continue
        kind = line[:2]
        if kind == "2 " and len(line) > 60:
            if one is None:
                raise place.error(
                    "line 2 of the elements stands before their line 1",
                    "swap them: the line that begins with 1 comes first",
                )
            yield _pair(name, one[0], one[1], _checked(line, place), place), one[1]
            name, one = "", None
            continue
        if one is not None:
            raise place.error(
                "line 2 of the elements is missing",
                f"it belongs under line {one[1].line} and begins with '2 {one[0][2:7]}'",
            )
        if kind == "1 " and len(line) > 60:
            one = (_checked(line, place), place)
        elif name:
            raise place.error(
                f"{brief(line)} is not a line of elements, and the name {name!r} stands above it",
                "give two lines of 69 characters that begin with 1 and 2",
            )
        else:
            name = line.removeprefix("0 ").strip()
    if one is not None:
        raise one[1].error("line 2 of the elements is missing", "the file ends too early")
    if name:
        raise _Place(file, len(text.splitlines())).error(
            f"there are no elements here: {brief(name)}",
            "give two-line elements, or an OMM as JSON, CSV, XML or KVN",
        )


def _checked(line: str, place: _Place) -> str:
    """Return a line of 69 characters whose checksum is right."""
    if len(line) != 69:
        raise place.error(
            f"the line has {len(line)} characters, and a line of elements has 69",
            "copy the line whole",
        )
    wanted = sum(int(c) if c.isdigit() else c == "-" for c in line[:68] if c.isascii()) % 10
    if line[68] != str(wanted):
        raise place.error(
            f"the checksum is {line[68]!r}, and the line adds up to {wanted}",
            "a digit is damaged: fetch these elements again",
        )
    return line


def _pair(name: str, one: str, place1: _Place, two: str, place2: _Place) -> Orbit:
    if one[2:7] != two[2:7]:
        raise place2.error(
            f"this line is of satellite {two[2:7].strip()}, the one above of {one[2:7].strip()}",
            "put the two lines of one satellite together",
        )
    number = _alpha5(one[2:7], place1)
    year = int(_field(one, 18, 20, "the year of the epoch", place1))
    at = _field(one, 20, 32, "the epoch", place1)
    year += 1900 if year >= 57 else 2000
    if not 1.0 <= at < 367.0:
        raise place1.error(f"the epoch is day {at:g} of a year", "give a day from 1 to 366")
    begin = (datetime(year, 1, 1, tzinfo=UTC) - MJD_ZERO).days - 1
    whole = math.floor(at)
    second = float(f"0.{one[20:32].strip().partition('.')[2] or 0}") * DAY  # all of its digits
    elements = {
        "inclination": _field(two, 8, 16, "the inclination", place2),
        "node": _field(two, 17, 25, "the ascending node", place2),
        "eccentricity": _implied(two[26:33], "the eccentricity", place2),
        "perigee": _field(two, 34, 42, "the argument of perigee", place2),
        "anomaly": _field(two, 43, 51, "the mean anomaly", place2),
        "motion": _field(two, 52, 63, "the mean motion", place2),
        "drag": _exponential(one[53:61], place1),
    }
    epoch = begin + whole, second
    return _orbit(name, number, epoch, elements, _designator(one[9:17].strip()), place1)


def _designator(short: str) -> str:
    """Return 98067A as 1998-067A, as newer files write it."""
    if not re.fullmatch(r"\d{5}[A-Z]{1,3}", short):
        return short
    century = "19" if int(short[:2]) >= 57 else "20"
    return f"{century}{short[:2]}-{short[2:]}"


def _alpha5(text: str, place: _Place) -> int:
    """Return the number that five places hold; a letter in front counts tens of thousands."""
    said = text.strip()
    if said.isascii() and said.isdecimal():
        return int(said)
    if len(said) == 5 and said[0] in _ALPHA and said[1:].isascii() and said[1:].isdecimal():
        return (_ALPHA.index(said[0]) + 10) * 10_000 + int(said[1:])
    raise place.error(
        f"{text!r} is not a number of a satellite",
        "write five digits, or in Alpha-5 a letter (not I or O) and four digits",
    )


def _field(line: str, start: int, end: int, what: str, place: _Place) -> float:
    found = finite(line[start:end].strip())
    if found is None:
        raise place.error(
            f"{what} is {line[start:end]!r} in columns {start + 1} to {end}",
            "a number stands there in sound elements: fetch them again",
        )
    return found


def _implied(text: str, what: str, place: _Place) -> float:
    """Return a number whose decimal point stands in front and is not written."""
    said = text.strip()
    if not (said.isascii() and said.isdecimal()):
        raise place.error(f"{what} is {text!r}", "seven digits stand there in sound elements")
    return float(f"0.{said}")


def _exponential(text: str, place: _Place) -> float:
    """Return ' 28098-4' as 0.28098e-4."""
    found = re.fullmatch(r"([ +-]?)\.?(\d{1,5}) ?([+-]\d|\d)", text.strip() or "0+0")
    if found is None:
        raise place.error(f"the drag is {text!r}", "such a number is written as 28098-4")
    return float(f"{found[1].strip()}0.{found[2]}e{found[3]}")


# -- the message, in four forms --------------------------------------------------------------------
def _json(text: str, file: str) -> Iterator[tuple[Orbit, _Place]]:
    decoder, at = json.JSONDecoder(parse_constant=_no_constant), 0
    inside = text.lstrip().startswith("[")
    if inside:
        at = text.index("[") + 1
    while True:
        at = _blank(text, at)
        if at >= len(text):
            return
        if inside and text[at] == "]":
            rest = _blank(text, at + 1)
            if rest < len(text):
                line = text.count("\n", 0, rest) + 1
                raise _Place(file, line).error("something stands after the list", "remove it")
            return
        place = _Place(file, text.count("\n", 0, at) + 1)
        try:
            record, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise InputError(
                f"this is not JSON: {error.msg[:1].lower()}{error.msg[1:]}",
                file=file or None,
                line=error.lineno,
                column=error.colno,
                remedy="fetch the file again, whole",
            ) from None
        except (RecursionError, ValueError):
            raise place.error("this is not JSON of elements", "fetch the file again") from None
        if not isinstance(record, dict):
            raise place.error(
                f"{brief(record)} is not a record of elements", "give objects with OBJECT_NAME etc."
            )
        yield _message({str(k): _plain(v) for k, v in record.items()}, place), place
        at = _blank(text, end)
        if inside and at < len(text) and text[at] == ",":
            at += 1
        elif inside and not (at < len(text) and text[at] == "]"):
            line = text.count("\n", 0, at) + 1
            raise _Place(file, line).error("the list of records does not end", "close it with ]")


def _plain(value: object) -> str:
    if isinstance(value, dict | list):
        return brief(value)  # no element is a table
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _csv(text: str, file: str) -> Iterator[tuple[Orbit, _Place]]:
    rows = csv.reader(io.StringIO(text, newline=""))
    header: list[str] = []
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if not header:
                header = [cell.strip() for cell in row]
                continue
            place = _Place(file, rows.line_num)
            if len(row) != len(header):
                raise place.error(
                    f"the row has {len(row)} cells under a header of {len(header)}",
                    "give one cell for each column",
                )
            yield _message(dict(zip(header, row, strict=True)), place), place
    except csv.Error as error:
        raise _Place(file, rows.line_num).error(f"this is not CSV: {error}", "mend it") from None


def _xml(text: str, file: str) -> Iterator[tuple[Orbit, _Place]]:
    waiting = [parse_xml(text, file=file)]
    while waiting:
        element = waiting.pop()
        if element.tag.rpartition(":")[2] == "segment":
            leaves: dict[str, str] = {}
            _leaves(element, leaves)
            place = _Place(file, element.line)
            yield _message(leaves, place), place
        else:
            waiting += reversed(element.children)


def _leaves(element: XmlElement, found: dict[str, str]) -> None:
    if element.children:
        for child in element.children:
            _leaves(child, found)
    else:
        found[element.tag.rpartition(":")[2]] = element.text


def _kvn(text: str, file: str) -> Iterator[tuple[Orbit, _Place]]:
    fields: dict[str, str] = {}
    place = _Place(file, 1)
    for count, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.split()[0] == "COMMENT":
            continue
        key, equals, value = line.partition("=")
        key = key.strip()
        if not equals:
            raise _Place(file, count).error(f"{brief(line)} has no '='", "write KEY = VALUE")
        if key == "CCSDS_OMM_VERS" or key in fields:
            if key != "CCSDS_OMM_VERS" and key != "OBJECT_NAME":
                raise _Place(file, count).error(
                    f"{key} stands a second time", "begin each message with CCSDS_OMM_VERS"
                )
            if "MEAN_MOTION" in fields or "OBJECT_NAME" in fields:
                yield _message(fields, place), place
            fields, place = {}, _Place(file, count)
        fields[key] = re.sub(r"\s*\[[^\]]*\]$", "", value.strip())
    if fields:
        yield _message(fields, place), place


def _message(fields: Mapping[str, str], place: _Place) -> Orbit:
    """Return the orbit of a message's fields."""
    name = fields.get("OBJECT_NAME", "").strip()
    number = _integer(fields, "NORAD_CAT_ID", place)
    of = f" of {name or number}"
    for key, allowed in _FIXED.items():
        said = fields.get(key, "").strip()
        if said and said.upper() not in allowed:
            raise place.error(
                f"{key}{of} is {brief(said)}, and these elements are for {allowed[0]}",
                "take mean elements for SGP4; others need another theory",
            )
    day, second = _epoch(fields.get("EPOCH", "").strip(), of, place)
    names = ("inclination", "node", "eccentricity", "perigee", "anomaly", "motion")
    elements = {
        name: _number(fields, key, of, place) for name, key in zip(names, _NUMBERS, strict=True)
    }
    given = fields.get("BSTAR", "").strip()
    elements["drag"] = _number(fields, "BSTAR", of, place) if given else 0.0
    epoch = day, second
    return _orbit(name, number, epoch, elements, fields.get("OBJECT_ID", "").strip(), place)


def _integer(fields: Mapping[str, str], key: str, place: _Place) -> int:
    said = fields.get(key, "").strip()
    found = integer(said)
    if found is None or not 0 <= found < 10**9:
        raise place.error(
            f"{key} is {brief(said)}" if said else f"there is no {key}",
            "give the catalog number, of up to nine digits",
        )
    return found


def _number(fields: Mapping[str, str], key: str, of: str, place: _Place) -> float:
    said = fields.get(key, "").strip()
    found = finite(said)
    if found is None:
        raise place.error(
            f"{key}{of} is {brief(said)}" if said else f"there is no {key}{of}",
            "give a finite decimal number",
        )
    return found


def _epoch(said: str, of: str, place: _Place) -> tuple[int, float]:
    """Return the Modified Julian Date of a time and the second of its day."""
    remedy = "write it as 2026-11-16T12:00:00.000000, in UTC"
    if not said:
        raise place.error(f"the elements{of} have no epoch", remedy)
    found = _EPOCH.fullmatch(said)
    if found is None:
        raise place.error(f"the epoch{of} is {brief(said)}", remedy)
    year, month, of_month, of_year, hour, minute, second = found.groups()
    try:
        if of_year is None:
            day = date(int(year), int(month), int(of_month)).toordinal()
        else:
            day = date(int(year), 1, 1).toordinal() + int(of_year) - 1
    except ValueError:
        raise place.error(f"the epoch{of} is {brief(said)}, no such day", remedy) from None
    seconds = int(hour) * 3600 + int(minute) * 60 + float(second)
    if int(hour) > 23 or int(minute) > 59 or float(second) >= 61:
        raise place.error(f"the epoch{of} is {brief(said)}, no time of a day", remedy)
    return day - MJD_ZERO.date().toordinal(), seconds


def _orbit(
    name: str,
    number: int,
    epoch: tuple[int, float],
    elements: Mapping[str, float],
    designator: str,
    place: _Place,
) -> Orbit:
    """Return an orbit of elements whose angles are in degrees, as files have them."""
    name = name or str(number)
    of = f" of {name} ({number})"
    tilt = elements["inclination"]
    if not 0.0 <= tilt <= 180.0:
        raise place.error(f"the inclination{of} is {tilt:g}°", "give 0 to 180°")
    turned = {
        key: math.radians(math.fmod(elements[key], 360.0))
        for key in ("inclination", "node", "perigee", "anomaly")
    }
    orbit = Orbit(
        name,
        number,
        *epoch,
        turned["inclination"],
        turned["node"],
        elements["eccentricity"],
        turned["perigee"],
        turned["anomaly"],
        elements["motion"],
        elements["drag"],
        designator,
    )
    if not 0.0 <= orbit.eccentricity < 1.0:
        raise place.error(
            f"the eccentricity{of} is {orbit.eccentricity:g}", "a closed orbit has 0 to below 1"
        )
    if not 0.0 < orbit.motion < 20.0:
        raise place.error(
            f"the mean motion{of} is {orbit.motion:g} revolutions a day",
            "an orbit about the Earth has above 0, and at most 17",
        )
    return orbit
