"""Wrist files: a wrist's loop along one axis, and the ranges of its maps, as TOML."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from linkwright.algebra.units import amount
from linkwright.base.errors import InputError, UnitError, suggestion
from linkwright.base.reprs import one_line
from linkwright.contact.parameter_maps import UNITS, usual_range
from linkwright.contact.wrist_loops import PARAMETERS, WristLoop, parameter
from linkwright.control.force.sampled_limits import (
    CONTACT_LAWS,
    CONTACT_ORDERS,
    RANGE,
    out_of_range,
)
from linkwright.formats.schema import Amount, Format, Key, read_record
from linkwright.formats.text.document import TextSource
from linkwright.formats.text.tables import Record

__all__ = ["WristFile", "read_wrist"]

_SIZE = 2**20
_POINTS = 60
_MOST = 2000
_Number = float | str


class WristTable(Record, BaseModel):
    """A wrist's loop along one axis, and the ranges of its maps."""

    format: Format
    law: Annotated[str, Key("position, force or accumulating")]
    Kp: Annotated[float | None, Amount("?", "gain of the position law")] = None
    KF: Annotated[float | None, Amount("?", "gain of the other laws")] = None
    m: Annotated[float, Amount("kg", "of the tool")]
    Cw: Annotated[float, Amount("N*s/m", "damping of the wrist")]
    Kw: Annotated[float, Amount("N/m", "stiffness of the wrist")]
    a: Annotated[float, Amount("?", "pole of the filter")] = 0.0
    T: Annotated[float, Amount("s", "from tick to tick")]
    Ke: Annotated[float, Amount("N/m", "stiffness of what is touched")] = 0.0
    Ce: Annotated[float, Amount("N*s/m", "damping of what is touched")] = 0.0
    order: Annotated[str, Key("what happens at a tick; the law's own")] = ""
    map: Annotated[
        dict[str, tuple[_Number, _Number, int]], Key("ranges by parameter: from, to, points")
    ] = {}


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class WristFile:
    """What a wrist file says.

    Args:
        loop: the loop.
        ranges: of its maps, by the names of parameters.

    >>> loop = WristLoop("position", 1.0, m=0.5, Cw=3.0, Kw=500.0)
    >>> WristFile(loop).axis("a", 3).tolist()
    [0.0, 0.49, 0.98]
    """

    loop: WristLoop
    ranges: dict[str, tuple[float, float, int]] = field(default_factory=dict)

    def axis(self, name: str, points: int | None = None) -> NDArray[np.float64]:
        """Return the values of an axis of a map.

        Args:
            name: of the parameter.
            points: how many; by default as the file says, or 60.
        """
        low, high, own = self.ranges.get(name, (*usual_range(self.loop, name), _POINTS))
        count = own if points is None else points
        if not 1 <= count <= _MOST:
            raise InputError(f"{count} points along an axis", remedy=f"give 1 to {_MOST}")
        return np.linspace(low, high, count)


def read_wrist(path: str | os.PathLike[str]) -> WristFile:
    """Return what a wrist file says.

    Args:
        path: of a TOML file.

    >>> import tempfile
    >>> from pathlib import Path
    >>> text = 'format = 1\\nlaw = "position"\\nKp = 1\\nm = "500 g"\\nCw = 3\\nKw = 500\\n'
    >>> text += 'T = "28 ms"\\na = 0.95\\n'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "wrist.toml"
    ...     _ = place.write_text(text)
    ...     read_wrist(place).loop.sampled
    'ringing'
    """
    record, source = read_record(path, WristTable, "a wrist", most=_SIZE)
    for key, known in (("law", CONTACT_LAWS), ("order", CONTACT_ORDERS)):
        given = getattr(record, key)
        if given not in known and (key == "law" or given):
            remedy = suggestion(given, known, f"one of {', '.join(known)}")
            raise source.error((key,), f"there is no {key} {given!r}", remedy)
    gain = "Kp" if record.law == "position" else "KF"
    other = "KF" if gain == "Kp" else "Kp"
    if getattr(record, other) is not None:
        raise source.error(
            (other,), f"the gain of the {record.law} law is {gain}", f"write {gain}", key=True
        )
    if getattr(record, gain) is None:
        raise source.error((), f"the {record.law} law has no gain", f"give {gain}")
    numbers = {
        "gain" if n == gain else n: getattr(record, n)
        for n in (gain, *(p for p in PARAMETERS if p != "gain"))
    }
    for name, value in numbers.items():
        _refuse(source, (gain if name == "gain" else name,), name, value)
    try:
        loop = WristLoop(record.law, order=record.order, **numbers)
    except InputError as error:  # numbers that do not go together
        raise source.error((), error.what, error.remedy) from None
    ranges = {n: _range(source, loop, n, given) for n, given in record.map.items()}
    return WristFile(loop, ranges)


def _number(source: TextSource, path: tuple[Any, ...], given: _Number, name: str) -> float:
    unit = UNITS.get(name, "?")
    try:
        return amount(given, name, unit)
    except (InputError, UnitError) as error:
        told = f"give a number in {unit}" if unit != "?" else "give a number"
        raise source.error(path, error.what, told) from None


def _refuse(source: TextSource, path: Sequence[Any], name: str, value: float) -> None:
    """Reject a number that no loop can have."""
    positive = name in ("m", "Kw", "T")
    good = np.isfinite(value) and (value > 0 if positive else value >= 0)
    if name == "a":
        good = good and value < 1
    if not good:
        wanted = "from 0 to below 1" if name == "a" else "positive" if positive else "0 or positive"
        raise source.error(
            tuple(path), f"{name} cannot be {value:g}", f"give a number that is {wanted}"
        )
    if out_of_range(value, least=name not in ("a", "gain")):
        raise source.error(tuple(path), f"{value:g} is out of range", RANGE)


def _range(
    source: TextSource, loop: WristLoop, name: str, given: tuple[_Number, _Number, int]
) -> tuple[float, float, int]:
    try:
        own = parameter(loop, name)
    except InputError as error:
        raise source.error(("map", name), error.what, error.remedy, key=True) from None
    ends = [_number(source, ("map", name, k), given[k], name) for k in (0, 1)]
    for k, value in enumerate(ends):
        _refuse(source, ("map", name, k), own, value)
    if ends[0] == ends[1]:
        raise source.error(
            ("map", name), f"both ends of the range are {ends[0]:g}", "give two numbers that differ"
        )
    if not ends[0] < ends[1]:
        raise source.error(
            ("map", name),
            f"{ends[0]:g} to {ends[1]:g} is not a range",
            "give the smaller one first",
        )
    if not 1 <= given[2] <= _MOST:
        raise source.error(
            ("map", name, 2), f"{given[2]} points are asked for", f"give 1 to {_MOST}"
        )
    return ends[0], ends[1], given[2]
