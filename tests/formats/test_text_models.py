"""Text models: reading, writing, components, positions of errors, and the commands for them.

Oracles are independent of the reader: `tomllib` for values, the characters of the text itself for
positions, mechanisms built in Python for what a text means, and their Programs' fingerprints.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings, strategies as st

import linkwright
from linkwright import models
from linkwright.algebra import evaluate, foreign
from linkwright.base.errors import InputError, UnitError
from linkwright.cli import main
from linkwright.equations import derive
from linkwright.equations.meanings import parameter_units
from linkwright.formats.text import schema, tables
from linkwright.formats.text.check import check
from linkwright.formats.text.components import expand
from linkwright.formats.text.document import ModelError, TextLimits
from linkwright.formats.text.files import model_text, open_model, parse_model, read_any, read_model
from linkwright.formats.text.from_mechanism import describe
from linkwright.formats.text.positions import characters, scan
from linkwright.formats.text.schema import ModelFile
from linkwright.formats.text.starters import STARTERS, starter
from linkwright.mechanism import (
    Ball,
    Cylindrical,
    Free,
    Joint,
    Mechanism,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Universal,
    Weld,
)
from linkwright.mechanism.parts import Timing
from linkwright.models import MODELS, load_model
from linkwright.models.spacecraft1 import thruster
from linkwright.program.interpret import interpret
from linkwright.program.lowering import lower
from scripts.book.text_models import page
from tests.random.mechanisms import mechanism_of, random_sample
from tests.seeds import cases, examples, seeds
from tests.support.shipped_models import DIFFERENT, SMALL

HERE = Path(__file__).parents[1]
EVERYTHING = (HERE / "data" / "everything.toml").read_text(encoding="utf-8")
HEAD = 'format = 1\nname = "m"\n'
SHIPPED = sorted((Path(models.__file__).parent / "text").glob("*.toml"))
QUICK = "kane"  # of the formulations that make no search
BODY = HEAD + '[[body]]\nname = "b"\nrotate = "z"\nmass = 1\ninertia = 1\n'


def fingerprint(m: Mechanism) -> str:
    return derive(m, QUICK).program().fingerprint()


def complaint(text: str) -> InputError:
    """Return the error that reading a text gives."""
    with pytest.raises(InputError) as caught:
        read_model(text)
    return caught.value


def leaves(data: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, (*path, key))
    elif isinstance(data, list):
        for k, value in enumerate(data):
            yield from leaves(value, (*path, k))
    else:
        yield path, data


# -- positions -------------------------------------------------------------------------------------
TRICKY = r'''
a = 11 # a = 12
b.c."d.e" = "#[1]=2"
'lit eral' = 'C:\n'
multi = """
one\
   two "three" \u00e9
four"""
lines = [
    1, # ], 2
    [3, 4], 'five',
    { x = 6, y.z = [7, "eight, 9"] },
]
empty = []
none = {}
end = """quotes"" """

[table.sub]
k = 10.5
[table]
k = -1e3
[[many]]
name = "first"
[many.inside]
deep = true
[[many.list]]
v = 21
[[many.list]]
v = 22
[[many]]
name = "second"
[[many.list]]
v = 23
[ many . "spaced" ]
date = 1979-05-27T07:32:00Z
'''


def value_at(text: str, offset: int) -> object:
    """Return the TOML value that starts at a place, read by `tomllib`; None where none does."""
    for end in range(offset + 1, len(text) + 1):
        try:
            return tomllib.loads(f"k = {text[offset:end]}\n")["k"]
        except tomllib.TOMLDecodeError:
            continue
    return None


def check_positions(text: str) -> int:
    """Check each value's place by reading it from there, and each character of each string."""
    found = scan(text)
    data = tomllib.loads(text)
    count = 0
    for path, value in leaves(data):
        line, column = found.place(path)
        offset = found.lines[line - 1] + column - 1
        assert offset == found.values[path]
        if isinstance(value, str):
            # the shortest text that reads as a value may end inside the quotes of a long string
            places = characters(found.text, offset)
            assert len(places) == len(value) + 1
            for place, c in zip(places, value, strict=False):
                assert found.text[place] in (c, "\\")
        elif isinstance(value, bool | int | float):
            shown = re.split(r"[\s,\]}#]", found.text[offset:], maxsplit=1)[0]
            assert tomllib.loads(f"k = {shown}")["k"] == value
        else:
            assert str(value_at(found.text, offset)) in str(value)
        count += 1
    return count


def test_every_value_of_a_tricky_text_has_its_place() -> None:
    assert check_positions(TRICKY) == 21
    assert check_positions(TRICKY.replace("\n", "\r\n")) == 21


@pytest.mark.parametrize("text", [EVERYTHING, *(starter("m", s) for s in STARTERS)])
def test_every_value_of_a_model_has_its_place(text: str) -> None:
    assert check_positions(text) > 30


def test_keys_have_places_too() -> None:
    found = scan(TRICKY)
    lines = TRICKY.splitlines()
    for path, word in [
        (("b", "c", "d.e"), '"d.e"'),
        (("lit eral",), "'lit eral'"),
        (("lines", 3, "y", "z"), "z ="),
        (("many", 1), "[[many]]"),
        (("many", 0, "list", 1), "[[many.list]]"),
        (("many", 1, "spaced"), "[ many"),
    ]:
        line, column = found.place(path, key=True)
        assert lines[line - 1][column - 1 :].startswith(word), path


def test_a_path_that_is_not_there_has_the_place_of_the_one_above() -> None:
    assert scan(TRICKY).place(("many", 1, "mass")) == scan(TRICKY).place(("many", 1))


# -- errors name file, line, column and key --------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "line", "column", "key", "words"),
    [
        ("name = 'm'\n", 1, 1, "", "format = 1"),
        ("format = 2\nname = 'm'\n", 1, 10, "format", "format 1"),
        (HEAD + "docs = ''\n", 3, 1, "docs", "did you mean 'doc'?"),
        (HEAD + "[[body]]\nmass = 1\n", 3, 1, "body[0]", "'name' is missing"),
        (BODY + "parnet = 'n'\n", 8, 1, "body[0].parnet", "did you mean 'parent'?"),
        (BODY + "parent = 'bb'\n", 8, 10, "body[0].parent", "did you mean 'b'?"),
        (BODY + "com = [0, 0]\n", 8, 7, "body[0].com", "three components"),
        (BODY + "com = [0, 'LL', 0]\n", 8, 12, "body[0].com[1]", "unknown name 'LL'"),
        (BODY + "com = [0, '2*(1 + LL)', 0]\n", 8, 19, "body[0].com[1]", "unknown name 'LL'"),
        (BODY + 'com = [0, "\\u0032*)", 0]\n', 8, 19, "body[0].com[1]", "')'"),
        (BODY + "small = 1\n", 8, 9, "body[0].small", "true or false"),
        (BODY + "doc = 1\n", 8, 7, "body[0].doc", "text in quotes"),
        (BODY + "joint = 'revolut'\n", 8, 9, "body[0].joint", "did you mean 'revolute'?"),
        (BODY + "[[body]]\nname = 'b'\n", 9, 8, "body[1].name", "already"),
        (BODY + "[parameters]\nL = { valeu = 1 }\n", 9, 7, "parameters.L.valeu", "'value'"),
        (BODY + "[parameters]\nt = 1\n", 9, 5, "parameters.t", "taken"),
        (BODY + "[parameters]\nL = true\n", 9, 5, "parameters.L", "number or an expression"),
        (BODY + "[inputs]\nL = nan\n", 9, 5, "inputs.L", "finite"),
        (BODY + "[gravity]\nalong = 'b'\n", 9, 9, "gravity.along", "not a vector"),
        (BODY + "[variables]\na = '#c'\n", 9, 6, "variables.a", "unknown variable 'c'"),
        (BODY + "[initial]\nbb = 1\n", 9, 1, "initial.bb", "did you mean 'b'?"),
        (BODY + "[[point]]\nname = 'p'\nbody = 'c'\n", 10, 8, "point[0].body", "no body 'c'"),
        (
            BODY + "[[moment]]\nname = 'M'\nmagnitude = '''\n2 *\n bb'''\non = 'b'\nabout = 'z'\n",
            12,
            2,
            "moment[0].magnitude",
            "unknown name 'bb'",
        ),
        (
            BODY + "[[force]]\nname = 'F'\nmagnitude = 1\nat = 'bc'\nalong = 'z'\n",
            11,
            6,
            "force[0].at",
            "did you mean 'bcm'?",
        ),
        (
            BODY + "[[output]]\nname = 'o'\nvalue = 'b_dto'\n",
            10,
            10,
            "output[0].value",
            "did you mean 'b_dot'?",
        ),
        (BODY + "[[constraint]]\nname = 'c'\n", 8, 1, "constraint[0]", "`speed` or `position`"),
        (
            BODY + "[[constraint]]\nspeed = 'b_dot'\neliminate = 'c_dot'\n",
            10,
            13,
            "constraint[0].eliminate",
            "did you mean 'b_dot'?",
        ),
        (BODY + "[[use]]\ncomponent = 'wheel'\n", 9, 13, "use[0].component", "no component"),
        (
            BODY + "[[use]]\ncomponent = 'w'\n[component.w]\nbody = 1\n",
            11,
            8,
            "component.w.body",
            "",
        ),
        (BODY + "[[output]]\nname = 'o'\nvalue = '${n}'\n", 10, 9, "output[0].value", "${n}"),
        (BODY + "[[table]]\nname = 'f'\nx = [1, 0]\ny = [0, 1]\n", 8, 1, "table[0]", "increasing"),
    ],
)
def test_an_error_names_its_place_and_the_remedy(
    text: str, line: int, column: int, key: str, words: str
) -> None:
    error = complaint(text)
    assert (error.line, error.column) == (line, column)
    assert error.what.startswith(f"{key}: " if key else "")
    assert words in str(error)


def test_a_syntax_error_has_a_place() -> None:
    error = complaint(BODY + "mass 2\n")
    assert error.line == 8
    assert error.column is not None


def test_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(BODY + "com = [0, 'L', 0]\n")
    with pytest.raises(InputError, match=r"wrong\.toml:8:12: body\[0\]\.com\[1\]: "):
        read_model(path)
    with pytest.raises(InputError, match=r"nowhere\.toml: .*no such file"):
        read_model(tmp_path / "nowhere.toml")
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match="UTF-8"):
        read_model(path)


def test_all_faults_of_shape_are_listed_in_the_order_of_the_text() -> None:
    with pytest.raises(ModelError) as caught:
        parse_model(BODY + "small = 1\ndoc = 2\n[[point]]\nbody = 'b'\n[gravity]\nG = 1\n")
    assert [fault.line for fault in caught.value.faults] == [8, 9, 10, 13]


def test_an_error_in_a_component_is_placed_where_it_is_written() -> None:
    text = (
        BODY + "[component.c]\n[[component.c.body]]\nname = '${prefix}a'\nmass = '2*${prefix}m'\n"
    )
    error = complaint(text + "[[use]]\ncomponent = 'c'\nprefix = 'x_'\n")
    assert (error.line, error.column) == (11, 9)
    assert "unknown name 'x_m' (in '2*x_m')" in str(error)


# -- writing is the inverse of reading -------------------------------------------------------------
def types_of(data: object) -> object:
    """Return data with the types of its numbers beside, since 1 == 1.0 == True."""
    return [(path, type(value), value) for path, value in leaves(data)]


@pytest.mark.parametrize("text", [EVERYTHING, *(starter("m", s) for s in STARTERS)])
def test_text_to_model_to_text_is_the_identity(text: str) -> None:
    model = parse_model(text).model
    written = model_text(model)
    again = parse_model(written).model
    assert again == model
    assert types_of(again.model_dump()) == types_of(model.model_dump())
    assert model_text(again) == written


_words = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=30)
_names = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=8
).filter(lambda s: bool(s.strip()))
_numbers = st.integers(-(2**60), 2**60) | st.floats(-1e300, 1e300)
_expressions = _numbers | _names
_triples = st.lists(_expressions, min_size=3, max_size=3)
_records: dict[str, st.SearchStrategy[Any]] = {
    "parameters": st.dictionaries(
        _names,
        _expressions
        | st.fixed_dictionaries(
            {},
            optional={
                "value": _expressions,
                "unit": _words,
                "doc": _words,
                "sign": st.just("nonzero"),
            },
        ),
        max_size=3,
    ),
    "initial": st.dictionaries(_names, _expressions, max_size=3),
    "small": st.lists(_names, max_size=3),
    "options": st.dictionaries(_names, st.integers(-5, 5), max_size=2),
    "gravity": st.fixed_dictionaries({}, optional={"g": _expressions, "along": _triples}),
    "body": st.lists(
        st.fixed_dictionaries(
            {"name": _names},
            optional={
                "at": _triples,
                "mass": _expressions,
                "inertia": _expressions | _triples | st.lists(_triples, min_size=3, max_size=3),
                "rotate": st.sampled_from(["z", ["x", [0, 1.0, "a"]], [0, 0, 1]]),
                "small": st.booleans() | st.lists(st.booleans(), min_size=1, max_size=3),
                "coordinates": st.lists(_names, max_size=3),
                "doc": _words,
            },
        ),
        max_size=3,
    ),
    "constraint": st.lists(
        st.fixed_dictionaries(
            {"speed": _expressions},
            optional={
                "acts": st.lists(
                    st.fixed_dictionaries({"along": _triples, "at": _names}), max_size=2
                )
            },
        ),
        max_size=2,
    ),
    "function": st.lists(
        st.fixed_dictionaries(
            {"name": _names, "arguments": st.lists(_names, min_size=1, max_size=2)},
            optional={"c_source": _words | st.just("a\nb\n\n'c'"), "outputs": st.integers(1, 3)},
        ),
        max_size=2,
    ),
}
_component = st.fixed_dictionaries(
    {},
    optional={
        "doc": _words,
        "arguments": st.dictionaries(_names, _expressions | _triples, max_size=2),
        "body": _records["body"],
        "parameters": _records["parameters"],
        "use": st.lists(
            st.fixed_dictionaries(
                {"component": _names},
                optional={"first": st.dictionaries(_names, _expressions, max_size=2)},
            ),
            max_size=2,
        ),
    },
)


@given(
    st.fixed_dictionaries(
        {"format": st.just(1), "name": _names},
        optional={
            **_records,
            "doc": _words,
            "component": st.dictionaries(_names, _component, max_size=2),
        },
    )
)
@settings(
    max_examples=examples(75, daily=25), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
def test_any_model_reads_back_as_it_was_written(data: dict[str, Any]) -> None:
    model = ModelFile.model_validate(data)
    text = model_text(model)
    assert tomllib.loads(text)["name"] == data["name"]
    again = parse_model(text).model
    assert again == model
    assert types_of(again.model_dump()) == types_of(model.model_dump())
    check_positions(text)


# -- describing mechanisms -------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name",
    [
        n
        for n in cases(DIFFERENT, daily=SMALL[::3])
        if not n.startswith(("spacecraft-1", "servo-arm", "joint-drive", "puma-on-wave"))
    ],
)
def test_a_described_model_gives_the_same_program(name: str) -> None:
    m = load_model(name)
    text = model_text(describe(m))
    again = read_model(text)
    assert fingerprint(again) == fingerprint(load_model(name))
    assert (again.values, again.initial, again.units) == (m.values, m.initial, m.units)
    assert model_text(describe(again)) == text


@pytest.mark.parametrize("seed", seeds(6, daily=1))
def test_a_described_random_tree_gives_the_same_program(seed: int) -> None:
    """Trees of all kinds of joints, with inclined axes, forces and couples at random."""
    sample = random_sample(seed, size=4)
    text = linkwright.write_model(mechanism_of(sample))
    again = read_model(text)
    assert fingerprint(again) == fingerprint(mechanism_of(sample))
    assert linkwright.write_model(again) == text


SLED = """format = 1
name = "sled"
UNITS

[parameters]
L = { value = 3, unit = "UNIT" }
M = 2
K = 5

[[body]]
name = "sled"
joint = "prismatic"
axis = "x"
mass = "M"

[[force]]
name = "spring"
magnitude = "-K*(sled - L)"
at = "sled0"
along = "[n1]"
"""


@pytest.mark.parametrize(
    ("units", "unit", "wanted"),
    [
        ("", "in", ("in", "in/s", "lbf*s^2/in", "lbf/in")),
        ('units = "in-lb"', "?", ("in", "in/s", "lbf*s^2/in", "lbf/in")),
        ("", "m", ("m", "m/s", "kg", "N/m")),
        ('units = "mks"', "?", ("m", "m/s", "kg", "N/m")),
    ],
)
def test_a_model_prints_in_its_own_units(units: str, unit: str, wanted: tuple[str, ...]) -> None:
    """The system that is named, or that of the lengths; inside everything is SI."""
    m = read_model(SLED.replace("UNITS", units).replace("UNIT", unit))
    m.kinematics()
    deduced = parameter_units(m)
    found = (m.units["sled"], m.units["sled_dot"], deduced["M"], deduced["K"])
    assert found == ("m", "m/s", "kg", "N/m")
    assert tuple(m.display.printed(unit)[0] for unit in found) == wanted
    again = read_model(model_text(describe(m)))
    assert again.display is m.display
    assert again.values == m.values


def test_a_system_of_units_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="units"):
        read_model(SLED.replace("UNITS", 'units = "cgs"').replace("UNIT", "m"))
    with pytest.raises(UnitError, match="choose one of mks, in-lb"):
        linkwright.Mechanism("m", display="cgs")


@pytest.mark.parametrize(
    "name", cases(["spacecraft-1", "spacecraft-1-small"], daily=["spacecraft-1-small"])
)
def test_a_described_model_with_a_foreign_function_takes_it_from_python(name: str) -> None:
    """A Python callable has an identity of its own, so that the assignments are compared."""
    again = read_model(model_text(describe(load_model(name))), functions={"thrust": thruster()})
    found, wanted = (derive(m, QUICK).program() for m in (again, load_model(name)))
    assert [str(s) for s in found.statements] == [str(s) for s in wanted.statements]
    assert any("thrust(t, 2, " in str(s) for s in found.statements)
    assert found.outputs == wanted.outputs


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_text_models_are_registered_and_sound(path: Path) -> None:
    assert MODELS[path.stem].home == path.name
    report = check(open_model(path))
    assert report.warnings == ()
    document = open_model(path)
    assert document.model.name == path.stem
    assert parse_model(model_text(document.model)).model == document.model


def test_write_model_is_public() -> None:
    m = load_model("cart")
    assert linkwright.write_model(read_model(linkwright.write_model(m))) == (
        linkwright.write_model(m)
    )


# -- what a text means -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("keys", "joint"),
    [
        (
            "joint = 'revolute'\naxis = [0, 1, 1]\nbody_axis = 'x'",
            Revolute((0, 1, 1), body_axis="x"),
        ),
        ("joint = 'revolute'\naxis = '-z'", Revolute("-z")),
        ("joint = 'prismatic'\naxis = 'y'", Prismatic("y")),
        ("joint = 'screw'\naxis = 'x'\npitch = 'P'", Screw("x", "P")),
        ("joint = 'cylindrical'\naxis = 'z'", Cylindrical("z")),
        ("joint = 'universal'\naxes = ['x', 'y']", Universal("x", "y")),
        ("joint = 'ball'\nsequence = 'zyx'", Ball("zyx")),
        ("joint = 'ball'\nquaternion = true", Ball(quaternion=True)),
        ("joint = 'planar'", Planar()),
        ("joint = 'planar'\naxis = 'x'", Planar("x")),
        ("joint = 'free'", Free()),
        ("translate = 'xy'\nrotate = 'z'", Joint(("x", "y"), ("z",))),
        ("translate = [[0, 1, 1]]", Joint(translate=((0, 1, 1),))),
        ("rotate = 'xyz'\nquaternion = true", Ball(quaternion=True)),
        ("joint = 'weld'", Weld()),
    ],
)
def test_each_joint_is_that_of_python(keys: str, joint: Joint) -> None:
    text = f"""{HEAD}
[parameters]
P = 0.1
[gravity]
[[body]]
name = "a"
rotate = "y"
mass = 1
com = [1, 0, 0]
[[body]]
name = "b"
parent = "a"
at = [1, 0, 0]
mass = 2
com = [0.1, 0.2, 0.3]
inertia = [1, 2, 3, 0.1, 0.2, 0.3]
{keys}
"""
    m = Mechanism("m")
    m.parameter("P", 0.1)
    m.gravity()
    a = m.body("a", rotate="y", mass=1, com=(1, 0, 0), inertia=0)
    inertia = (1, 2, 3, 0.1, 0.2, 0.3)
    m.body("b", parent=a, joint=joint, at=(1, 0, 0), mass=2, com=(0.1, 0.2, 0.3), inertia=inertia)
    read = read_model(text)
    assert list(read.coordinates) == list(m.coordinates)
    assert fingerprint(read) == fingerprint(m)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("joint = 'revolute'", "needs the key 'axis'"),
        (
            "joint = 'ball'\naxis = 'z'",
            "`axis` is not a key of a ball joint; it has quaternion, sequence",
        ),
        ("axis = 'z'", "needs a `joint` by its name"),
        ("joint = 'universal'\naxes = 'x'", "two axes"),
        ("rotate = 'xy'", "0, 1 or 3 rotations"),
        ("translate = 'x'\nadvance_per_radian = 0.1", "one rotation"),
        ("joint = 'planar'\naxis = [0, 1, 1]", "normal"),
    ],
)
def test_a_joint_that_makes_no_sense_is_refused(keys: str, words: str) -> None:
    error = complaint(f"{HEAD}[[body]]\nname = 'b'\n{keys}\n")
    assert words in str(error)
    assert error.line == 3


PAIR = """
[parameters]
k = 3
L = 0.5
[[body]]
name = "a"
rotate = "z"
inertia = [0, 0, 1]
[[body]]
name = "b"
parent = "a"
rotate = "z"
at = [1, 0, 0]
mass = 1
inertia = [0, 0, 1]
[[body]]
name = "w"
translate = "xy"
mass = 2
[[point]]
name = "tip"
body = "b"
at = [1, 0, 0]
"""


def pair() -> Mechanism:
    m = Mechanism("m")
    m.parameter("k", 3)
    m.parameter("L", 0.5)
    a = m.body("a", rotate="z", mass=0, inertia=(0, 0, 1))
    b = m.body("b", parent=a, rotate="z", at=(1, 0, 0), mass=1, inertia=(0, 0, 1))
    m.body("w", translate="xy", mass=2, inertia=0)
    m.point("tip", b, (1, 0, 0))
    return m


def add_strut(m: Mechanism) -> None:
    m.strut("s", "-k*(x - x0) - v", at=m.points["tip"], to=m.bodies["w"].origin)


def add_force(m: Mechanism) -> None:
    m.force("f", "-k*x - 2*v", at=m.bodies["b"].com, along="[b2]", reaction=m.bodies["w"])


def add_moment(m: Mechanism) -> None:
    m.moment("t", "-k*b", on=m.bodies["b"], about="z", reaction=m.bodies["a"])


def add_speed(m: Mechanism) -> None:
    m.constrain("a_dot - 2*b_dot + k", eliminate="b_dot")


def add_position(m: Mechanism) -> None:
    m.constrain_position("a - 2*b", eliminate="b")


def add_variable(m: Mechanism) -> None:
    m.variables["reach"] = m.vector("pos(tip, w)")
    m.output("y", "dot(#reach, [a1])", unit="m")


@pytest.mark.parametrize(
    ("tables", "same"),
    [
        ("[[strut]]\nname='s'\nmagnitude='-k*(x - x0) - v'\nat='tip'\nto='w0'", add_strut),
        (
            "[[force]]\nname='f'\nmagnitude='-k*x - 2*v'\nat='bcm'\nalong='[b2]'\nreaction='w'",
            add_force,
        ),
        ("[[moment]]\nname='t'\nmagnitude='-k*b'\non='b'\nabout='z'\nreaction='a'", add_moment),
        (
            "[[point_constraint]]\nfirst='tip'\nsecond='w'\nalong='y'",
            lambda m: m.constrain_points(m.points["tip"], m.bodies["w"].origin, "y"),
        ),
        (
            "[[loop]]\nname='pin'\nfirst='w'\nsecond='tip'\njoint='revolute'\naxis='z'",
            lambda m: m.close_loop("pin", m.bodies["w"], m.points["tip"], Revolute("z")),
        ),
        (
            "[[distance_constraint]]\nfirst='tip'\nsecond='w0'\nlength='L'",
            lambda m: m.constrain_distance(m.points["tip"], m.bodies["w"].origin, "L"),
        ),
        ("[[prescribe]]\ncoordinate='a'\nmotion='sin(t)'", lambda m: m.prescribe("a", "sin(t)")),
        ("[[constraint]]\nspeed='a_dot - 2*b_dot + k'\neliminate='b_dot'", add_speed),
        ("[[constraint]]\nposition='a - 2*b'\ncompute='b'", add_position),
        (
            "[[output]]\nname='y'\nvalue='dot(#reach, [a1])'\nunit='m'\n"
            "[variables]\nreach='pos(tip, w)'",
            add_variable,
        ),
        (
            "[[output]]\nname='r'\nvalue='dot(rot(b), [n3])'",
            lambda m: m.output("r", m.bodies["b"].omega @ m.z),
        ),
    ],
)
def test_each_table_does_what_its_method_does(
    tables: str, same: Callable[[Mechanism], object]
) -> None:
    m = pair()
    same(m)
    read = read_model(HEAD + PAIR + tables + "\n")
    assert fingerprint(read) == fingerprint(m)
    assert [c.name for c in read.constraints] == [c.name for c in m.constraints]


def test_bodies_may_stand_in_any_order() -> None:
    parts = BODY.split("[[body]]")
    child = "\nname = 'c'\nparent = 'b'\nrotate = 'z'\n"
    m = read_model(parts[0] + "[[body]]" + child + "[[body]]" + parts[1])
    assert list(m.bodies) == ["b", "c"]
    error = complaint(BODY + "parent = 'c'\n[[body]]" + child)
    assert "hangs on itself" in str(error)


def test_states_may_use_each_other() -> None:
    """Two coupled states make an oscillator, whose rates are known."""
    states = "[[state]]\nname='p'\nrate='w*q'\n[[state]]\nname='q'\nrate='-w*p'\ninitial='1/4'\n"
    m = read_model(BODY + "[parameters]\nw = 3\n" + states)
    program = derive(m, QUICK).program()
    rates, *_ = interpret(lower(program), [[0.0, 2.0, 5.0], [0.0], [3.0]])
    assert rates.tolist() == [0.0, 15.0, -6.0]
    assert [s.initial for s in m.states] == [0.0, 0.25]


def test_parameters_and_starts_may_be_constant_expressions() -> None:
    m = read_model(BODY + "[parameters]\na = '30 deg'\nc = '2*pi'\n[initial]\nb = '2*a'\n")
    assert m.values["a"] == pytest.approx(np.pi / 6, abs=1e-15)
    assert m.values["c"] == pytest.approx(2 * np.pi, abs=1e-15)
    assert m.initial["b"] == pytest.approx(np.pi / 3, abs=1e-15)
    m.set_parameters(a=0.1)
    assert m.initial["b"] == pytest.approx(0.2, abs=1e-15)


def test_small_and_large_are_declared() -> None:
    text = HEAD.replace('"m"\n', '"m"\nsmall = ["e"]\nlarge = ["K"]\n') + BODY[len(HEAD) :]
    m = read_model(text + "small = true\n[parameters]\ne = 1\nK = 1\n")
    assert m.expr("1 + e*b") is m.expr("1")
    assert m.expr("1 + K*e*b") is not m.expr("1")


def test_outputs_of_a_kind_and_the_run() -> None:
    m = read_model(
        BODY + "[[output]]\nall = 'coordinates'\n[[output]]\nall = 'accelerations'\n"
        "[run]\nuntil = 2\nstep = 0.5\n"
    )
    assert [o.name for o in m.outputs] == ["b", "b_dot_dot"]
    assert m.timing == Timing(2, 0.5, 1)
    assert describe(m).run == tables.RunTable(until=2, step=0.5)
    plain = read_model(BODY + "[run]\nuntil = 2\n").timing
    assert plain == Timing(2, 2e-4, 10)  # the steps of a run that nobody says anything about
    for wrong in ("name = 'x'\n", "all = 'speeds'\nunit = 'm'\n", "all = 'masses'\n"):
        assert complaint(BODY + "[[output]]\n" + wrong).line in (8, 9)
    error = complaint(BODY + "[run]\nuntil = 2\nstep = 3\n")
    assert (error.line, error.what.split(":")[0]) == (8, "run")


def test_the_doc_may_name_options() -> None:
    m = read_model(HEAD + "doc = 'n is ${n}, twice ${2*n}'\n[options]\nn = 2\n", options={"n": 3})
    assert m.doc == "n is 3, twice 6"


# -- tables and functions --------------------------------------------------------------------------
FOREIGN = """
[[function]]
name = "drag"
arguments = ["s"]
derivatives = ["2*s"]
c_source = "double drag(double s) { return s*s; }"
[[output]]
name = "d"
value = "drag(b_dot)"
"""


def test_tables_are_known_to_expressions() -> None:
    m = read_model(
        BODY
        + "[[table]]\nname = 'f'\nx = [0, 1]\ny = [0, 5]\n"
        + "[[table]]\nname = 'g'\nx = [0, 1]\ny = [0, 2]\nz = [[0, 2], [1, 5]]\n"
    )
    assert evaluate(m.expr("f(0.5) + 10*f'(0.5)"), {}) == pytest.approx(2.5 + 50)
    assert evaluate(m.expr("g(1, 2)"), {}) == pytest.approx(5.0)


def test_a_foreign_function_is_bound_from_python() -> None:
    m = read_model(BODY + FOREIGN, functions={"drag": lambda s: s * s})
    program = derive(m, QUICK).program()
    assert interpret(lower(program), [[0.0], [3.0]])[-1].tolist() == [9.0]
    ready = foreign("drag", 1, python=lambda s: s * s)
    assert read_model(BODY + FOREIGN, functions={"drag": ready}).functions["drag"] is ready
    with pytest.raises(InputError, match=r"no .*function.* 'dragg'; did you mean 'drag'"):
        read_model(BODY + FOREIGN, functions={"dragg": abs})
    with pytest.raises(InputError, match="2 argument"):
        read_model(BODY + FOREIGN, functions={"drag": foreign("drag", 2)})


def test_code_in_a_file_is_used_only_where_it_is_trusted() -> None:
    plain = read_model(BODY + FOREIGN).functions["drag"]
    trusted = read_model(BODY + FOREIGN, trust=True).functions["drag"]
    assert getattr(plain, "c_source", None) == ""
    assert "return s*s" in getattr(trusted, "c_source", "")


# -- components ------------------------------------------------------------------------------------
def chain(n: int) -> Mechanism:
    m = Mechanism("arm")
    for name in ("m", "L"):
        m.positive(name)
    m.parameter("m", 1.0)
    m.parameter("L", 0.5)
    m.parameter("g", 9.81)
    m.parameter("kp", 40)
    m.parameter("kd", 4)
    for k in range(1, n + 1):
        m.input(f"target{k}")
    below = m.ground
    for k in range(1, n + 1):
        below = m.body(
            f"q{k}",
            parent=below,
            at=("L", 0, 0) if k > 1 else (0, 0, 0),
            rotate="z",
            mass="m",
            com=("L/2", 0, 0),
            inertia=(0, 0, "m*L**2/12"),
        )
    m.gravity(along="-y", g="g")
    for k in range(1, n + 1):
        body = m.bodies[f"q{k}"]
        load = f"kp*(target{k} - q{k}) - kd*q{k}_dot"
        m.moment(f"drive{k}", load, on=body, about="z", reaction=body.parent)
    tip = m.point("tip", below, ("L", 0, 0))
    m.output("x", tip.position @ m.x)
    m.output("y", tip.position @ m.y)
    return m


@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_counted_component_makes_a_chain(n: int) -> None:
    m = read_model(starter("arm", "arm"), options={"n": n})
    assert len(m.bodies) == n
    assert fingerprint(m) == fingerprint(chain(n))


def test_four_wheels_from_one_component() -> None:
    m = read_model(starter("cart", "cart"))
    assert [b for b in m.bodies if b.endswith("_wheel")] == [
        f"{k}_wheel" for k in ("lr", "rr", "lf", "rf")
    ]
    assert len(m.constraints) == 8
    equations = derive(m, QUICK)
    assert len(equations.speeds) == 2
    assert sum(e.speed is None for e in equations.eliminations) == 2


def test_components_may_use_components() -> None:
    text = f"""{HEAD}
[component.leg]
arguments = {{ on = "n", side = 1 }}
[[component.leg.use]]
component = "bone"
prefix = "${{prefix}}"
count = 2
arguments = {{ parent = "${{prefix}}bone${{i-1}}" }}
first = {{ parent = "${{on}}", at = [0, "${{side}}*w", 0] }}
[component.bone]
arguments = {{ parent = "n", at = ["L", 0, 0] }}
[[component.bone.body]]
name = "${{prefix}}bone${{i}}"
parent = "${{parent}}"
at = "${{at}}"
rotate = "y"
mass = 1
[parameters]
w = 1
L = 2
[[use]]
component = "leg"
prefix = "l_"
arguments = {{ side = -1 }}
[[use]]
component = "leg"
prefix = "r_"
"""
    m = read_model(text)
    assert {b.name: b.parent and b.parent.name for b in m.bodies.values()} == {
        "l_bone0": "n",
        "l_bone1": "l_bone0",
        "r_bone0": "n",
        "r_bone1": "r_bone0",
    }
    assert str(m.bodies["l_bone0"].offset) == "-w*n.y"
    assert str(m.bodies["r_bone1"].offset) == "L*r_bone0.x"


def test_a_value_keeps_together_in_an_expression() -> None:
    component = {"arguments": {"a": 1}, "output": [{"name": "o${i}", "value": "2*${a}"}]}
    model = ModelFile(
        format=1,
        name="m",
        component={"c": schema.Component.model_validate(component)},
        use=[tables.Use(component="c", arguments={"a": "p + q"})],
    )
    assert expand(model)["output"][0].value.value == "2*(p + q)"


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("count = -1", "a count lies between 0 and"),
        ("count = 1000000", "a count lies between 0 and"),
        ("count = 'n/2'", "unknown name 'n'"),
        ("count = '3/2'", "not a whole number"),
        ("count = 1.5", "not a whole number"),
        ("arguments = { plase = 1 }", "did you mean 'place'?"),
        ("count = 2", "there is a body 'a' already"),
    ],
)
def test_a_use_that_makes_no_sense_is_refused(use: str, words: str) -> None:
    component = "[component.c]\narguments = { place = 1 }\n[[component.c.body]]\nname = 'a'\n"
    error = complaint(f"{HEAD}{component}[[use]]\ncomponent = 'c'\n{use}\n")
    assert words in str(error)
    assert error.line is not None


def test_components_that_use_themselves_are_refused() -> None:
    error = complaint(HEAD + "[[component.c.use]]\ncomponent = 'c'\n[[use]]\ncomponent = 'c'\n")
    assert "8 deep" in str(error)


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(InputError, match="no option 'm'"):
        read_model(starter("arm", "arm"), options={"m": 3})


# -- limits ----------------------------------------------------------------------------------------
def test_size_nesting_and_number_of_parts_are_limited() -> None:
    with pytest.raises(InputError, match="at most 10 are read"):
        parse_model(BODY, limits=TextLimits(size=10))
    for text in ("x = " + "[" * 100 + "]" * 100, "x = " + "[" * 100_000, "a." * 5000 + "b = 1"):
        with pytest.raises(InputError, match=r"nested too deeply|not TOML"):
            parse_model(HEAD + text + "\n")
    with pytest.raises(InputError, match="more than 2 parts"):
        open_model(starter("arm", "arm"), limits=TextLimits(parts=2)).build()
    with pytest.raises(InputError, match="not TOML"):
        parse_model(HEAD + "x = " + "9" * 5000 + "\n")


# -- any text reads, or is refused with an InputError ----------------------------------------------
_WORDS = sorted(set(re.findall(r'"[^"\n]*"|[\w.]+|[^\w\s]', EVERYTHING)))
_VALUES = [
    *("1", "-1", "true", '"x"', "[]", "{}", "[1, 2, 3]", "1e308", "nan", "inf", '"[b1]"', '"1/0"'),
    *('"sqrt(-1)"', '["x", "y", "z"]', "1979-05-27", '"b0"', '""', '"n"', "0", '"t"', '"-"'),
    *(
        '"xyz"',
        '"xyx"',
        '"${i}"',
        '"${n-1}"',
        '"${"',
        '"b.u"',
        '"pos(b0)"',
        '"#place"',
        '"l0_dot_dot"',
    ),
]
_mutation = st.tuples(
    st.sampled_from(["cut", "insert", "word", "drop", "copy", "value", "key"]),
    st.floats(0, 1, exclude_max=True),
    st.floats(0, 1, exclude_max=True),
    st.sampled_from("\"'[]{}=.,#\n\\-+*/()^$019abxn é\x00"),
    st.sampled_from(_WORDS),
    st.sampled_from(_VALUES),
    st.sampled_from(sorted({*tables.BodyTable.model_fields, *tables.LoopTable.model_fields})),
)


def mutated(text: str, how: tuple[str, float, float, str, str, str, str]) -> str:
    kind, where, size, character, word, value, key = how
    at = int(where * len(text))
    if kind == "cut":
        return text[:at] + text[at + 1 + int(4 * size) :]
    if kind == "insert":
        return text[:at] + character + text[at:]
    if kind in ("drop", "copy"):
        lines = text.split("\n")
        k, other = int(where * len(lines)), int(size * len(lines))
        lines[k : k + 1] = [] if kind == "drop" else [lines[k], lines[other]]
        return "\n".join(lines)
    patterns = {
        "word": r'"[^"\n]*"|[\w.]+|[^\w\s]',
        "value": r"(?<== ).+",
        "key": r"(?m)^\w+(?= =)",
    }
    places = list(re.finditer(patterns[kind], text))
    if not places:
        return text
    place = places[int(where * len(places))]
    new = {"word": word, "value": value, "key": key}[kind]
    return text[: place.start()] + new + text[place.end() :]


@given(
    st.sampled_from([EVERYTHING, starter("m", "cart"), starter("m", "arm")]),
    st.lists(_mutation, min_size=1, max_size=3),
)
@settings(
    max_examples=examples(200, daily=60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
def test_any_text_reads_or_is_refused_with_an_input_error(
    text: str, changes: list[tuple[str, float, float, str, str, str, str]]
) -> None:
    for change in changes:
        text = mutated(text, change)
    try:
        document = parse_model(text + "\n", limits=TextLimits(size=20_000, nesting=8, parts=300))
        made = document.build()
    except InputError as error:
        event(type(error).__name__)
        return
    assert made.name


@given(st.text(max_size=200) | st.binary(max_size=100).map(lambda b: b.decode("latin-1")))
@settings(max_examples=examples(50, daily=20), deadline=None)
def test_noise_is_refused_with_an_input_error(noise: str) -> None:
    with pytest.raises(InputError):
        read_model(HEAD + noise + "\n[[")


# -- commands and pages ----------------------------------------------------------------------------
@pytest.mark.parametrize("template", STARTERS)
def test_a_new_model_is_sound(
    template: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    assert main(["model", "new", "mine", "-o", str(path), "--template", template]) == 0
    assert main(["model", "check", str(path)]) == 0
    out, err = capsys.readouterr()
    assert "sound" in out
    assert err == ""
    assert read_any(path).name == "mine"
    assert [p.name for p in tmp_path.iterdir()] == ["mine.toml"]


def test_new_takes_the_name_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["model", "new", "cart.toml", "-t", "cart"]) == 0
    assert main(["model", "new", "swing"]) == 0
    assert "wrote swing.toml" in capsys.readouterr().out
    assert read_model(tmp_path / "cart.toml").name == "cart"
    assert read_model(tmp_path / "swing.toml").name == "swing"


def test_new_does_not_overwrite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("mine")
    assert main(["model", "new", "mine", "-o", str(path)]) == 2
    assert path.read_text() == "mine"
    assert "--force" in capsys.readouterr().err
    assert main(["model", "new", "mine", "-o", str(path), "--force"]) == 0
    assert path.read_text() == starter("mine")
    assert main(["model", "new", "mine", "-o", str(tmp_path / "no" / "mine.toml")]) == 2
    assert main(["model", "new", 'a"b', "-o", str(tmp_path / "b.toml")]) == 2
    assert main(["model", "new", "mine", "-t", "plane", "-o", str(tmp_path / "c.toml")]) == 2


def test_check_lists_all_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(BODY + "small = 1\ndoc = 2\n")
    assert main(["model", "check", str(path)]) == 2
    err = capsys.readouterr().err
    assert "wrong.toml:8:9: body[0].small" in err
    assert "wrong.toml:9:7: body[0].doc" in err


def test_check_warns_of_units_and_unused_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.toml"
    moment = "[[moment]]\nname = 'M'\nmagnitude = '-k*b'\non = 'b'\nabout = 'z'\n"
    path.write_text(BODY + "[parameters]\nk = { value = 1, unit = 'kg' }\nidle = 1\n" + moment)
    assert main(["model", "check", "--json", str(path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["warnings"]) == 2
    assert "moment 'M'" in found["warnings"][0]
    assert "not in N*m" in found["warnings"][0]
    assert "'idle' is declared but not used" in found["warnings"][1]


def test_check_tells_mobility_and_redundancy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "twice.toml"
    hold = "[[constraint]]\nname = '{}'\nspeed = 'c_dot - 1'\n"
    body = "[[body]]\nname = 'c'\ntranslate = 'x'\nmass = 1\n"
    path.write_text(BODY + body + hold.format("one") + hold.format("two"))
    assert main(["model", "check", str(path)]) == 0
    out = capsys.readouterr().out
    assert "one: eliminates c_dot" in out
    assert "two: redundant" in out
    assert "1 degree of freedom" in out


def test_check_takes_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "arm.toml"
    path.write_text(starter("arm", "arm"))
    assert main(["model", "check", str(path), "--option", "n=5"]) == 0
    assert "q1, q2, q3, q4, q5" in capsys.readouterr().out
    assert main(["model", "check", str(path), "--option", "n=x"]) == 2


def test_the_json_schema_knows_every_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "schema"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["properties"]) == set(ModelFile.model_fields)
    assert found["additionalProperties"] is False
    body = found["$defs"]["BodyTable"]["properties"]
    assert body["mass"]["description"] == "kg"
    assert body["at"]["default"] == [0, 0, 0]


def test_the_page_names_every_table_of_the_schema() -> None:
    made = page()
    tables = [f.alias or name for name, f in ModelFile.model_fields.items()]
    assert [name for name in tables if f"`{name}`" not in made and f"[{name}" not in made] == []
