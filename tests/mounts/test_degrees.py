"""Files have degrees, Python has radians: both make the same object."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.lazy import named
from linkwright.cli.commands.schema import FORMATS
from linkwright.formats.schema import Amount, Table, note_of
from linkwright.mounts.element_files import parse_orbits
from linkwright.mounts.moves import circle_path, orbit_path

r = math.radians
SITE = 'format = 1\nlatitude = -43.52\nlongitude = "172.58 deg"\nmask = [[350, 5], [90, 12.5]]\n'
ROLLING = "format = 1\nheading = 40\nroll = {amplitude = 0.1, period = 9}\n"
SEA = "format = 1\nheading = 40\n[sea]\nheight = 2\nperiod = 8\nduration = 10\n"
CIRCLE = "center = [0, 0, 1]\nstart = [1, 0, 1]\nnormal = [0, 0, 1]\nspacing = 0.1\nangle = 75\n"
ORBIT = "radius = 900\nheight = 500\ntilt = 20\nturn = -30\nstart = 15\nend = 200\nspacing = 7\n"
OMM = (
    "CCSDS_OMM_VERS = 2.0\nOBJECT_NAME = A\nNORAD_CAT_ID = 7\nEPOCH = 2026-11-16T00:00:00\n"
    "MEAN_MOTION = 15.5\nECCENTRICITY = 0.001\nINCLINATION = 51.6\nRA_OF_ASC_NODE = 120.25\n"
    "ARG_OF_PERICENTER = 90.5\nMEAN_ANOMALY = 270.75\nBSTAR = 0\n"
)


def _path(kind: str, keys: str, folder: Path) -> Any:
    place = folder / f"{kind}.toml"
    place.write_text(f'format = 1\nkind = "{kind}"\nspeed = 15\n{keys}', "utf-8")
    return lw.mounts.read_move(place)


def _site(folder: Path) -> lw.mounts.Site:
    place = folder / "s.toml"
    place.write_text(SITE, "utf-8")
    return lw.mounts.read_site(place)


WANTED: dict[str, tuple[Callable[[Path], Any], Callable[[], Any]]] = {
    "Site": (
        _site,
        lambda: lw.mounts.Site(
            r(-43.52), r(172.58), name="s", mask=((r(350), r(5)), (r(90), r(12.5)))
        ),
    ),
    "Ship": (
        lambda _: lw.mounts.read_ship(ROLLING),
        lambda: lw.mounts.Ship(
            lw.motion.Sines([0.0] * 6, [[], [], [], [(0.1, 0.0, 1 / 9)], [], []]), heading=r(40)
        ),
    ),
    "Ship in a sea": (
        lambda _: lw.mounts.read_ship(SEA).attitude([3.0]),
        lambda: lw.mounts.Sea(lw.mounts.jonswap(2, 8)).ship(10.0, heading=r(40)).attitude([3.0]),
    ),
    "MoveFile, circle": (
        lambda f: _path("circle", CIRCLE, f).path.points,
        lambda: circle_path((0, 0, 1), (1, 0, 1), (0, 0, 1), 0.1, r(75)).points,
    ),
    "MoveFile, orbit": (
        lambda f: _path("orbit", ORBIT, f).path.points,
        lambda: orbit_path(
            900, 500, tilt=r(20), turn=r(-30), start=r(15), end=r(200), spacing=r(7)
        ).points,
    ),
    "speed of an orbit": (lambda f: _path("orbit", ORBIT, f).speed, lambda: r(15)),
    "Orbit": (
        lambda _: parse_orbits(OMM)[7],
        lambda: lw.mounts.Orbit(
            "A", 7, 61360, 0.0, r(51.6), r(120.25), 0.001, r(90.5), r(270.75), 15.5
        ),
    ),
}  # fmt: skip


def _numbers(thing: Any) -> list[float]:
    """Return all numbers of an object, in order."""
    if is_dataclass(thing) and not isinstance(thing, type):
        return [x for field in fields(thing) for x in _numbers(getattr(thing, field.name))]
    if isinstance(thing, np.ndarray | list | tuple):
        return [x for each in np.asarray(thing, dtype=object).ravel() for x in _numbers(each)]
    return [float(thing)] if isinstance(thing, int | float) else []


def _in_degrees(kind: type[Any]) -> bool:
    """Whether a table of a file makes an object, and has a key in degrees."""
    notes = [note_of(field.metadata) for field in kind.model_fields.values()]
    return any(isinstance(note, Amount) and note.unit == "deg" for note in notes)


def test_what_a_file_says_in_degrees_is_what_python_says_in_radians(tmp_path: Path) -> None:
    wrong = []
    for name, (read, made) in WANTED.items():
        one, other = _numbers(read(tmp_path)), _numbers(made())
        assert one, name
        if one != pytest.approx(other, rel=1e-12, abs=1e-12):
            wrong.append(name)
    assert wrong == []


def test_no_record_with_degrees_is_left_out() -> None:
    """A new one is looked at here, and comes back from its file as it went in."""
    found = {kind.__name__.removesuffix("File"): kind for kind in _tables() if _in_degrees(kind)}
    known = {name.split()[0].removesuffix("File,") for name in WANTED}
    assert {n for n, kind in found.items() if issubclass(kind, Table)} <= known
    assert set(found) - known == {"ViewTable"}  # it is not made an object: the studio has degrees
    for kind in found.values():
        if not issubclass(kind, Table) or kind.of_class is lw.mounts.Ship:
            continue
        one = _site_of(kind)
        again = kind.of(one, format=1).made(mask=())
        assert _numbers(again) == _numbers(one)


def _site_of(kind: type[Table]) -> Any:
    assert kind.of_class is lw.mounts.Site
    return lw.mounts.Site(r(-43.52), r(172.58), 20.0)


def _tables() -> set[type[Any]]:
    """Return all records of files, and those within them."""
    waiting, seen = [named(place) for place in FORMATS.values()], set[type[Any]]()
    while waiting:
        kind = waiting.pop()
        if kind in seen or not hasattr(kind, "model_fields"):
            continue
        seen.add(kind)
        for hint in get_type_hints(kind, include_extras=False).values():
            waiting += [x for x in _parts(hint) if isinstance(x, type)]
    return seen


def _parts(hint: Any) -> list[Any]:
    inner = getattr(hint, "__args__", ())
    return [hint, *(x for each in inner for x in _parts(each))]


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (lambda: lw.mounts.Site(-43.52, 172.58), "the latitude of a site is -43.52 rad"),
        (lambda: lw.mounts.Site(0.1, 172.58), "172.58 deg are 3.01209 rad"),
        (lambda: lw.mounts.Site(0, 0, mask=((0.0, 10.0),)), "the elevation of the mask is 10 rad"),
        (lambda: _passes(10.0), "10 deg are 0.174533 rad"),
        (lambda: lw.mounts.Orbit("A", 1, 1, 0.0, 51.6, 0, 0, 0, 0, 15), "51.6 deg are 0.90059 rad"),
        (lambda: lw.mounts.Orbit("A", 1, 1, 0.0, 0.9, 120, 0, 0, 0, 15), "120 deg are 2.0944 rad"),
        (lambda: lw.mounts.Wind(10.0, 270.0), "270 deg are 4.71239 rad"),
        (lambda: lw.mounts.License(error=0.3, silence=0.5), "0.3 deg are 0.00523599 rad"),
        (lambda: lw.mounts.Ship(_still(), heading=90.0), "90 deg are 1.5708 rad"),
        (lambda: lw.mounts.PointingLimits(attitude=2.0), "2 deg are 0.0349066 rad"),
        (lambda: circle_path((0, 0, 1), (1, 0, 1), (0, 0, 1), 0.1, 90.0), "90 deg are 1.5708 rad"),
        (lambda: orbit_path(1, 1, end=360.0), "360 deg are 6.28319 rad"),
        (lambda: orbit_path(1, 1, spacing=10.0), "the spacing of waypoints in rad is 10"),
        (lambda: lw.parallel.prove_regular("mount-prismatic", 90), "90 deg are 1.5708 rad"),
        (
            lambda: lw.parallel.singular_loci("mount-truss-2", over={"zenith": (0, 90)}),
            "90 deg are 1.5708 rad",
        ),
    ],
)
def test_what_can_only_be_degrees_is_rejected_with_its_radians(
    made: Callable[[], object], shown: str
) -> None:
    with pytest.raises(lw.Error) as caught:
        made()
    assert shown in str(caught.value)


def _still() -> Any:
    return lw.motion.Sines([0.0] * 6, [[]] * 6)


def _site_at_home() -> lw.mounts.Site:
    return lw.mounts.Site(r(-43.52), r(172.58))


def _passes(above: float) -> object:
    orbit = lw.mounts.Orbit("A", 1, 61000, 0.0, 0.9, 0.0, 0.001, 0.0, 0.0, 15.5)
    return _site_at_home().passes(orbit, days=0.1, above=above)
