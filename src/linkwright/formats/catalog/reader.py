"""Reading a catalog, and rejecting what physics forbids.

A catalog is a TOML file after `linkwright.formats.catalog.schema`; "generic" is the one that ships.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

from linkwright.base.errors import InputError, suggestion, unknown
from linkwright.base.files import is_there, path_of, read_text
from linkwright.formats.catalog.schema import KINDS, Catalog, GearEntry, MotorEntry
from linkwright.formats.text.document import ModelError, TextSource, parse_record

__all__ = ["SHIPPED", "is_catalog", "joined", "parse_catalog", "read_catalog"]

SHIPPED = ("generic",)
"""The names of catalogs that ship."""

ROUNDING = 0.02
"""How far two numbers of an entry may be apart because they were rounded."""

_SIZE = 16_000_000
_MARK = re.compile(rf"^\s*\[\s*(?:{'|'.join((*KINDS, 'drive'))})\s*\.", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Impossible:
    """What cannot be: where it stands, why, and what to do."""

    path: tuple[str, ...]
    what: str
    remedy: str | None


def is_catalog(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a catalog: TOML with a table of motors, gears and so on.

    >>> is_catalog("generic.urdf")
    False
    """
    place = Path(path)
    if place.suffix.lower() != ".toml" or not is_there(place):
        return False
    return _MARK.search(read_text(place, _SIZE)) is not None


def read_catalog(source: str | os.PathLike[str]) -> Catalog:
    """Return the catalog of a file, or one that ships.

    Args:
        source: the path of a file, or "generic".

    Example:
        >>> generic = read_catalog("generic")
        >>> generic.motor["servo-200w"].kt
        0.36
    """
    path = path_of(source, "a catalog")
    if str(path) in SHIPPED:
        return _shipped(str(path))
    if not path.suffix and not is_there(path):
        raise unknown("catalog", path, SHIPPED, "give a file, or 'generic'", code="R302")
    return parse_catalog(read_text(path, _SIZE), file=path)


def joined(catalogs: Sequence[Catalog]) -> Catalog:
    """Return one catalog of several; what two of them call alike has to be the same.

    >>> generic = read_catalog("generic")
    >>> joined([generic, generic]) == generic
    True
    """
    if len(catalogs) == 1:
        return catalogs[0]
    tables: dict[str, dict[str, Any]] = {kind: {} for kind in (*KINDS, "drive")}
    owner: dict[tuple[str, str], str] = {}
    for catalog in catalogs:
        for kind, table in tables.items():
            for name, entry in getattr(catalog, kind).items():
                if table.setdefault(name, entry) != entry:
                    raise InputError(
                        f"the {kind} {name!r} is in the catalogs {owner[kind, name]!r} and "
                        f"{catalog.name!r} with different numbers",
                        remedy="rename one of them",
                        code="R302",
                    )
                owner.setdefault((kind, name), catalog.name)
    name = " and ".join(dict.fromkeys(catalog.name for catalog in catalogs))
    return catalogs[0].model_copy(update={"name": name, **tables})


@lru_cache(maxsize=len(SHIPPED))
def _shipped(name: str) -> Catalog:
    text = files("linkwright.formats.catalog").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return parse_catalog(text, file=f"{name}.toml")


def parse_catalog(text: str, *, file: str | os.PathLike[str] | None = None) -> Catalog:
    """Return the catalog of a text; what physics forbids is an error at its place.

    >>> parse_catalog('''format = 1
    ... name = "mine"
    ... [gear.dream]
    ... kind = "belt"
    ... ratio = 3
    ... efficiency = 1.2
    ... rated = "5 N*m"
    ... rated_speed = "3000 rpm"
    ... rated_life = "5000 h"
    ... average = "5 N*m"
    ... repeated = "10 N*m"
    ... momentary = "15 N*m"
    ... average_speed = "3000 rpm"
    ... speed = "5000 rpm"
    ... source = "a dream"
    ... ''')  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    linkwright.formats.text.document.ModelError: line 6, column 14: gear.dream.efficiency: ...
    """
    catalog, source = parse_record(text, Catalog, file=file, code="R302")
    wrong = TextSource(source.file, source.positions, code="R303")
    faults = [wrong.error(f.path, f.what, f.remedy) for f in impossible(catalog)]
    if faults:
        raise _in_order(faults)
    return catalog


def _in_order(faults: list[InputError]) -> ModelError:
    """Return one error of all faults, in the order of the text."""
    return ModelError(sorted(faults, key=lambda e: (e.line or 0, e.column or 0)))


def impossible(catalog: Catalog) -> Iterator[Impossible]:
    """Yield what in a catalog cannot be."""
    for name, motor in catalog.motor.items():
        yield from _motor(name, motor)
    for name, gear in catalog.gear.items():
        yield from _gear(name, gear)
    for name, amplifier in catalog.amplifier.items():
        yield from _lossy(("amplifier", name), amplifier.efficiency)
        yield from _rising(("amplifier", name), amplifier, ("continuous", "peak"), "A")
    for name, supply in catalog.supply.items():
        yield from _rising(("supply", name), supply, ("continuous", "peak"), "W")
        yield from _rising(("supply", name), supply, ("voltage", "highest"), "V")
    for joint, drive in catalog.drive.items():
        for kind in ("motor", "gear", "brake", "amplifier", "bearing"):
            part = getattr(drive, kind)
            if part and part not in getattr(catalog, kind):
                yield Impossible(
                    ("drive", joint, kind),
                    f"the catalog has no {kind} {part!r}",
                    suggestion(part, getattr(catalog, kind), f"add [{kind}.{part}]"),
                )


def _motor(name: str, motor: MotorEntry) -> Iterator[Impossible]:
    at = ("motor", name)
    if motor.ke is not None and abs(motor.ke - motor.kt) > ROUNDING * motor.kt:
        yield Impossible(
            (*at, "ke"),
            f"ke is {motor.ke:.4g} V*s/rad and kt {motor.kt:.4g} N*m/A; in SI they are one number",
            "leave ke out, or give both for the equivalent with two terminals",
        )
    yield from _rising(at, motor, ("continuous", "peak"), "N*m")
    loss = copper_loss(motor, motor.continuous, motor.hottest)
    rise = loss * (motor.winding[0] + (motor.housing[0] if motor.housing else 0.0))
    room = motor.hottest - motor.ambient
    if rise > (1.0 + ROUNDING) * room:
        allowed = motor.continuous * (room / rise) ** 0.5 if room > 0 else 0.0
        yield Impossible(
            (*at, "continuous"),
            f"{motor.continuous:.4g} N*m makes {loss:.4g} W in the winding, which heats it by "
            f"{rise:.4g} K, and {room:.4g} K are allowed",
            f"its thermal resistance allows {allowed:.3g} N*m",
        )
    idle = motor.voltage / motor.kt
    if motor.speed > (1.0 + ROUNDING) * idle:
        yield Impossible(
            (*at, "speed"),
            f"{motor.speed:.4g} rad/s is faster than the motor turns without load at "
            f"{motor.voltage:.4g} V, {idle:.4g} rad/s",
            "give a lower speed or a higher voltage",
        )


def _gear(name: str, gear: GearEntry) -> Iterator[Impossible]:
    at = ("gear", name)
    yield from _lossy(at, gear.efficiency)
    yield from _rising(at, gear, ("average", "repeated", "momentary"), "N*m or N")
    yield from _rising(at, gear, ("average_speed", "speed"), "rad/s")
    if (gear.ratio > 0.0) == (gear.lead is not None):
        yield Impossible(
            at,
            "a gear has either a ratio or a lead",
            'write ratio = 100, or lead = "5 mm" where it slides',
        )


def _lossy(at: tuple[str, ...], efficiency: float) -> Iterator[Impossible]:
    if efficiency > 1.0:
        yield Impossible(
            (*at, "efficiency"),
            f"{efficiency:g} is above 1, which would make energy",
            'write a part of 1, or a text such as "92 %"',
        )


def _rising(
    at: tuple[str, ...], entry: object, names: tuple[str, ...], unit: str
) -> Iterator[Impossible]:
    for low, high in pairwise(names):
        first, second = getattr(entry, low), getattr(entry, high)
        if first > second:
            yield Impossible(
                (*at, high),
                f"{high} is {second:.4g} {unit}, below {low}, {first:.4g}",
                f"{low} is at most {high}",
            )


def copper_loss(motor: MotorEntry, torque: float, temperature: float) -> float:
    """Return the loss in the winding while a torque is made, W; the temperature is in °C."""
    resistance = motor.R * (1.0 + motor.alpha * (temperature - 20.0))
    return float(resistance * (torque / motor.kt) ** 2)
