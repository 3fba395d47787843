"""Elements of satellites: read from every form, refused where wrong, propagated as SGP4 does."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.mounts.element_files import parse_orbits
from linkwright.mounts.orbits import Orbit, OrbitError, propagated
from tests.support.skies import orbit_of

LINES = """ISS (ZARYA)
1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927
2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537
"""
FIELDS = {
    "OBJECT_NAME": "ISS (ZARYA)",
    "OBJECT_ID": "1998-067A",
    "EPOCH": "2008-09-20T12:25:40.104192",
    "MEAN_MOTION": 15.72125391,
    "ECCENTRICITY": 0.0006703,
    "INCLINATION": 51.6416,
    "RA_OF_ASC_NODE": 247.4627,
    "ARG_OF_PERICENTER": 130.536,
    "MEAN_ANOMALY": 325.0288,
    "NORAD_CAT_ID": 25544,
    "BSTAR": -1.1606e-05,
}
HEAD = {
    "CENTER_NAME": "EARTH",
    "REF_FRAME": "TEME",
    "TIME_SYSTEM": "UTC",
    "MEAN_ELEMENT_THEORY": "SGP4",
}


def _csv(record: dict[str, object]) -> str:
    return ",".join(record) + "\n" + ",".join(map(str, record.values())) + "\n"


def _kvn(record: dict[str, object]) -> str:
    rows = {"CCSDS_OMM_VERS": "2.0", **HEAD, **record}
    return "\n".join(f"{key:20s} = {value}" for key, value in rows.items()) + "\n"


def _xml(record: dict[str, object]) -> str:
    def tags(keys: list[str], source: dict[str, object]) -> str:
        return "".join(f"<{key}>{source[key]}</{key}>" for key in keys)

    both = {**HEAD, **record}
    mean = ["EPOCH", *list(FIELDS)[3:9]]
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<ndm><omm id="CCSDS_OMM_VERS"><body><segment>\n'
        f"<metadata>{tags(['OBJECT_NAME', 'OBJECT_ID', *HEAD], both)}</metadata><data>"
        f"<meanElements>{tags(mean, both)}</meanElements>"
        f"<tleParameters>{tags(['NORAD_CAT_ID', 'BSTAR'], both)}</tleParameters>"
        "</data></segment></body></omm></ndm>\n"
    )


FORMS = {
    "json": lambda r: json.dumps([r], indent=1),
    "one object": lambda r: json.dumps(r),
    "csv": _csv,
    "kvn": _kvn,
    "xml": _xml,
}


def _repaired(line: str) -> str:
    """Return a line of elements with the checksum that it should have."""
    return line[:68] + str(sum(int(c) if c.isdigit() else c == "-" for c in line[:68]) % 10)


def test_every_line_of_the_verification_set_is_reproduced() -> None:
    """667 lines of 33 satellites to 1e-6 km; one of them is an error, and said to be one."""
    home = files("sgp4")
    elements = [
        line[:69]
        for line in home.joinpath("SGP4-VER.TLE").read_text().splitlines()
        if line[:2] in ("1 ", "2 ")
    ]
    cases: list[list[list[float]]] = []
    for line in home.joinpath("tcppver.out").read_text().splitlines():
        if line.endswith("xx"):
            cases.append([])
        elif line.strip():
            cases[-1].append([float(word) for word in line.split()[:7]])
    assert len(cases) == 33
    compared, faults = 0, []
    for k, case in enumerate(cases):
        (orbit,) = parse_orbits("\n".join(_repaired(line) for line in elements[2 * k : 2 * k + 2]))
        rows = np.array(case)
        codes, r, v = propagated(orbit, rows[:, 0] * 60.0)
        faults += list(codes[codes != 0])
        good = codes == 0
        assert np.all(np.abs(r - rows[:, 1:4])[good] < 1e-6), orbit.number
        assert np.all(np.abs(v - rows[:, 4:7])[good] < 1e-8), orbit.number
        compared += len(rows)
    assert compared == 667
    assert faults == [3]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_message_gives_the_orbit_of_the_two_lines(
    form: str, tmp_path: Path
) -> None:
    path = tmp_path / "stations.txt"
    path.write_text(FORMS[form](FIELDS), encoding="utf-8")
    found = lw.mounts.read_orbits(path)["ISS (ZARYA)"]
    (wanted,) = parse_orbits(LINES)
    for name in Orbit.__dataclass_fields__:
        said, want = getattr(found, name), getattr(wanted, name)
        assert said == (want if isinstance(want, str) else pytest.approx(want, abs=1e-9)), name
    times = np.linspace(-1e5, 1e5, 11)
    assert np.abs(found.propagate(times)[0] - wanted.propagate(times)[0]).max() < 1e-5


@pytest.mark.parametrize("form", FORMS)
def test_numbers_above_five_digits_come_by_message(form: str) -> None:
    found = parse_orbits(FORMS[form]({**FIELDS, "NORAD_CAT_ID": 799_501_234}))[799_501_234]
    assert found.name == "ISS (ZARYA)"


@pytest.mark.parametrize(
    ("written", "number"),
    [("00005", 5), ("A0000", 100_000), ("J2931", 182_931), ("Z9999", 339_999)],
)
def test_alpha_five_counts_tens_of_thousands_by_letters(written: str, number: int) -> None:
    name, one, two = LINES.splitlines()
    text = "\n".join([name, *(_repaired(line[:2] + written + line[7:]) for line in (one, two))])
    assert parse_orbits(text)[number].number == number


def test_several_satellites_are_found_by_name_number_or_in_order() -> None:
    other = {**FIELDS, "OBJECT_NAME": "NOAA 15", "NORAD_CAT_ID": 25338}
    twin = {**FIELDS, "OBJECT_NAME": "NOAA 15", "NORAD_CAT_ID": 25339}
    orbits = parse_orbits(json.dumps([FIELDS, other, twin]), file="s.json")
    assert [orbit.number for orbit in orbits] == [25544, 25338, 25339]
    assert orbits["25544"] is orbits[25544] is orbits["iss (zarya)"]
    with pytest.raises(OrbitError, match=r"2 satellites in s\.json .* by its number: 25338, 25339"):
        orbits["NOAA 15"]
    with pytest.raises(OrbitError, match=r"no satellite 'ISS \(ZARIA\)'.*did you mean 'ISS"):
        orbits["ISS (ZARIA)"]


def _lines(edit: Callable[[str, str, str], list[str]]) -> str:
    return "\n".join(edit(*LINES.splitlines())) + "\n"


BAD = {
    "checksum": (
        _lines(lambda n, a, b: [n, a, b[:10] + "9" + b[11:]]),
        "f:3: the checksum is '7', and the line adds up to",
    ),
    "swapped": (_lines(lambda n, a, b: [n, b, a]), "f:2: line 2 .* before their line 1; swap them"),
    "one line": (_lines(lambda n, a, b: [n, a]), "f:2: line 2 of the elements is missing"),
    "another satellite": (
        _lines(lambda n, a, b: [n, a, _repaired(b[:2] + "25545" + b[7:])]),
        "f:3: this line is of satellite 25545, the one above of 25544",
    ),
    "short": (_lines(lambda n, a, b: [n, a, b[:-2]]), "f:3: the line has 67 characters"),
    "letters": (
        _lines(lambda n, a, b: [n, _repaired(a[:20] + "x" * 12 + a[32:]), b]),
        "f:2: the epoch is 'xxxxxxxxxxxx' in columns 21 to 32",
    ),
    "twice": (LINES + LINES, "f:5: satellite 25544 .* second time; the first is in line 2"),
    "nothing": ("", "f:1: the file is empty"),
    "a sentence": ("No GP data found", "f:1: there are no elements here"),
    "half a list": (json.dumps([FIELDS])[:-1], "f:1: the list of records does not end"),
    "a second list": (json.dumps([FIELDS]) + "\n[]", "f:2: something stands after the list"),
    "half an object": (json.dumps([FIELDS])[:-30], "f:1:.* not JSON"),
    "no number": (json.dumps([{**FIELDS, "NORAD_CAT_ID": None}]), "there is no NORAD_CAT_ID"),
    "no epoch": (json.dumps([FIELDS, {**FIELDS, "EPOCH": ""}], indent=0), "f:15: .* no epoch"),
    "no such day": (_csv({**FIELDS, "EPOCH": "2026-02-30T00:00:00"}), "f:2: .* no such day"),
    "not a number": (_kvn({**FIELDS, "INCLINATION": "nan"}), "f:1: INCLINATION of ISS .* 'nan'"),
    "another theory": (
        _kvn({**FIELDS, "MEAN_ELEMENT_THEORY": "DSST"}),
        "MEAN_ELEMENT_THEORY of ISS .* 'DSST', and these elements are for SGP4",
    ),
    "hyperbola": (_xml({**FIELDS, "ECCENTRICITY": 1.2}), "f:2: the eccentricity of ISS .* is 1.2"),
    "a bomb": ('<!DOCTYPE a [<!ENTITY b "c">]><ndm/>', "f:1:.* DOCTYPE"),
    "ragged": (_csv(FIELDS) + "1,2\n", "f:3: the row has 2 cells under a header of 11"),
}


@pytest.mark.parametrize("fault", BAD)
def test_wrong_elements_are_refused_with_line_and_remedy(fault: str) -> None:
    text, said = BAD[fault]
    with pytest.raises(lw.InputError, match=said) as caught:
        parse_orbits(text, file="f")
    assert caught.value.remedy


def test_an_orbit_that_has_decayed_says_when_and_what_to_do() -> None:
    (orbit,) = parse_orbits(json.dumps({**FIELDS, "MEAN_MOTION": 16.4, "BSTAR": 0.01}))
    with pytest.raises(OrbitError, match=r"ISS .* no place at 20.* decays; .* of 2008-09-20"):
        orbit.propagate(np.arange(0.0, 60.0) * 86400.0)


@pytest.mark.parametrize("form", ["two lines", *FORMS])
def test_damaged_files_are_read_or_refused_never_worse(form: str) -> None:
    """Random cuts, swaps and wrong characters end in an orbit or in our own words."""
    rng = np.random.default_rng(7)
    whole = LINES if form == "two lines" else FORMS[form](FIELDS)
    refused: list[str] = []
    for _ in range(80):
        text = list(whole)
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(len(text)))
            kind = int(rng.integers(3))
            if kind == 0:
                text[at] = str(rng.choice(list('\0\n,<>{}[]"=-.9eZ²\ud800')))
            elif kind == 1:
                del text[at : at + int(rng.integers(1, 40))]
            else:
                text[at:at] = text[at - 20 : at]
            text = text or ["x"]
        try:
            parse_orbits("".join(text), file="f")
        except lw.InputError as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert all(words.startswith("f:") for words in refused)


@pytest.mark.parametrize("seed", range(6))
def test_many_times_are_interpolated_between_few_of_sgp4(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To 0.1 mm, in any order of the times, for round and for long orbits, years from the epoch."""
    rng = np.random.default_rng(seed)
    e = (0.0, 0.001, 0.02, 0.1, 0.25, 0.3)[seed]
    axis = (6378.135 + 400) / (1 - e) + rng.uniform(0, 300)
    motion = 86400 / (2 * np.pi * np.sqrt(axis**3 / 398600.8))
    a, b, c, d = rng.uniform(0, 360, 4)
    orbit = orbit_of("R", 1, 60500, 0.0, a / 2, b, e, c, d, motion, 1e-6)
    times = rng.uniform(-3e3, 3e3, 4000) + rng.choice([0.0, 1e6])
    if seed % 2:
        times.sort()
    codes, r, v = propagated(orbit, times)
    asked = []

    def counted(orbit: Orbit, seconds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        asked.append(len(seconds))
        return propagated(orbit, seconds)

    monkeypatch.setattr("linkwright.mounts.orbits.propagated", counted)
    place, speed = orbit.propagate(times)
    assert not codes.any()
    assert sum(asked) < 400
    assert np.abs(place - r).max() < 1e-7
    assert np.abs(speed - v).max() < 1e-9


def test_many_times_of_an_orbit_that_decays_or_is_far_are_those_of_sgp4() -> None:
    low = orbit_of("L", 1, 60500, 0.0, 51.6, 0.0, 0.02, 0.0, 0.0, 16.6, 1e-4)
    with pytest.raises(OrbitError, match="has decayed"):
        low.propagate(np.linspace(0.0, 3e3, 5000))
    far = orbit_of("F", 1, 60500, 0.0, 63.4, 0.0, 0.7, 270.0, 0.0, 2.006)
    times = np.linspace(0.0, 3e3, 5000)
    np.testing.assert_array_equal(far.propagate(times)[0], propagated(far, times)[1])
