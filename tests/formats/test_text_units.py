"""Units of text models: inside all is SI, a unit of a wrong kind is refused, and what is printed
carries the unit that it has. The same machines are written in SI and in inches and pounds.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.algebra.units import IN_LB, MKS, amount, parse_unit
from linkwright.base.errors import Error
from linkwright.cli import main
from linkwright.formats.text.check import check_mechanism
from linkwright.formats.text.files import parse_model, read_model
from linkwright.formats.text.members import MAKERS, arguments
from linkwright.models import load_model
from tests.seeds import cases, seeds, seldom
from tests.support.skies import sky

UNITS = ("m", "kg", "kg*m^2", "m/s^2", "rad", "N", "N*m", "N/m", "N*s/m", "N*m/rad", "N*m*s/rad")
"""The kinds of quantities of a mechanism."""


def given(value: float, unit: str, way: str) -> str:
    """Return a quantity as a text model has it: a plain number, or one with a unit."""
    own = (MKS if way in ("si", "written") else IN_LB).own_text(unit)
    number = value / parse_unit(own).factor
    if way in ("si", "inches"):
        return repr(number)
    if way == "foreign":  # a number with a unit of the other system
        return f'"{value!r} {{{unit}}}"'
    return f'"{number!r} {{{own}}}"'


ARM = """format = 1
name = "arm"
UNITS
[parameters]
L = {{ value = {L}, unit = "{m}" }}
k = {{ value = {k}, unit = "{N_m}" }}
[gravity]
along = "-z"
[[body]]
name = "arm"
joint = "revolute"
axis = "y"
at = [0, {at}, 0]
mass = {mass}
com = [{com}, 0, 0]
inertia = [0, {inertia}, 0]
armature = {armature}
damping = {damping}
stiffness = {stiffness}
rest = "5 deg"
[[body]]
name = "slide"
parent = "arm"
joint = "prismatic"
axis = "x"
at = ["L", 0, 0]
mass = {mass}
damping = {slide_damping}
[[body]]
name = "screw"
parent = "slide"
joint = "screw"
axis = "z"
pitch = {pitch}
mass = {mass}
inertia = {inertia}
[[point]]
name = "tip"
body = "slide"
at = [{com}, 0, 0]
[[shape]]
body = "slide"
kind = "sphere"
radius = {pitch}
at = [{com}, 0, 0]
[[strut]]
name = "spring"
magnitude = "-k*(x - {plain_L}) - {plain_force} - {plain_damping}*v"
at = "tip"
to = "o"
[[force]]
name = "push"
magnitude = "{plain_force}*sin(3*t) + k*(dot(pos(tip, o), [n1]) - L)/7"
at = "tip"
along = "[n3]"
[[moment]]
name = "turn"
magnitude = "{plain_moment}*cos(slide/{plain_L})"
on = "arm"
about = "y"
[[limit]]
coordinate = "slide"
lower = {low}
upper = {at}
effort = {effort}
[[output]]
name = "height"
value = "dot(pos(tip, o), [n3])"
unit = "{m}"
[[output]]
name = "pull"
value = "fm(spring)"
unit = "{N}"
[initial]
arm = 0.3
slide = {at}
slide_dot = {speed}
"""


def arm(seed: int, way: str) -> str:
    """Return an arm with a turning, a sliding and a screwing joint, and loads of all kinds."""
    draw = np.random.default_rng(seed)

    def number(low: float, high: float) -> float:
        return float(draw.uniform(low, high))

    values = {
        "L": (number(0.3, 0.6), "m"), "k": (number(20, 60), "N/m"), "at": (number(0.1, 0.3), "m"),
        "mass": (number(1, 3), "kg"), "com": (number(0.1, 0.2), "m"),
        "inertia": (number(0.02, 0.05), "kg*m^2"), "armature": (number(0.01, 0.02), "kg*m^2"),
        "damping": (number(0.1, 0.2), "N*m*s/rad"), "stiffness": (number(1, 2), "N*m/rad"),
        "slide_damping": (number(1, 2), "N*s/m"), "pitch": (number(0.01, 0.02), "m"),
        "low": (number(-0.9, -0.5), "m"), "effort": (number(90, 99), "N"),
        "speed": (number(-0.2, 0.2), "m/s"),
    }  # fmt: skip
    system = MKS if way in ("si", "written") else IN_LB
    plain = {"L": "m", "force": "N", "moment": "N*m", "damping": "N*s/m"}
    texts = {key: given(*pair, way) for key, pair in values.items()}
    for key in ("L", "k", "effort"):  # what has a unit of its own, and what takes no text
        texts[key] = given(*values[key], "si" if system is MKS else "inches")
    texts |= {
        f"plain_{key}": repr(number(0.5, 1.0) / parse_unit(system.own_text(unit)).factor)
        for key, unit in plain.items()
    }
    texts |= {name: system.own_text(unit) for name, unit in (("m", "m"), ("N", "N"))}
    text = ARM.format(**texts, N_m=system.own_text("N/m"))
    return text.replace("UNITS", f'units = "{system.name}"')


WAYS = ("written", "inches", "foreign")


@pytest.mark.parametrize("way", cases(WAYS, daily=["written", "foreign"]))
@pytest.mark.parametrize("seed", seeds(2, daily=1))
def test_a_machine_in_inches_moves_as_the_same_in_meters(
    seed: int, way: str, tmp_path: Path
) -> None:
    (tmp_path / "si.toml").write_text(arm(seed, "si"))
    (tmp_path / "other.toml").write_text(arm(seed, way))
    one, other = (lw.load(tmp_path / name) for name in ("si.toml", "other.toml"))
    assert set(other.units.values()) == set(one.units.values())
    assert other.values == pytest.approx(one.values, rel=1e-13)
    assert other.display is (MKS if way == "written" else IN_LB)
    first, second = (lw.simulate(m, 0.5, tolerance=1e-10) for m in (one, other))
    assert [c.unit for c in first.recording.channels] == [c.unit for c in second.recording.channels]
    for name in first.recording.names:
        scale = np.abs(first[name]).max() + 1e-9
        np.testing.assert_allclose(second[name], first[name], atol=1e-7 * scale, err_msg=name)
    printed = second.recording.printed
    for c, was in zip(printed.channels, second.recording.channels, strict=True):
        wanted, factor = other.display.printed(was.unit)
        assert c.unit == wanted
        np.testing.assert_allclose(printed[c.name] * factor, second[c.name], rtol=1e-14)
    a, b = lw.Robot(one), lw.Robot(other)
    q = np.array([0.3, 0.2, 0.5])
    at = (q, q, q, np.array([0.2]))
    np.testing.assert_allclose(b.inverse_dynamics(*at), a.inverse_dynamics(*at), rtol=1e-10)
    np.testing.assert_allclose(b.pose(q, "tip"), a.pose(q, "tip"), rtol=1e-13, atol=1e-14)
    for x, y in zip(a.limits, b.limits, strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-13)
    again = read_model(lw.write_model(other))
    assert again.values == other.values
    assert again.display is other.display


@pytest.mark.parametrize("way", cases(["inches", "foreign"], daily=["inches"]))
def test_files_that_are_converted_from_inches_are_in_meters(way: str, tmp_path: Path) -> None:
    text = re.sub(r"(?ms)^\[\[(strut|force|moment|output)\]\].*?(?=^\[)", "", arm(3, way))
    text = re.sub(r"(?m)^(stiffness|rest|pitch|damping) = .*\n", "", text)
    text = text.replace('joint = "screw"', 'joint = "revolute"')
    (tmp_path / "arm.toml").write_text(text)
    wanted = lw.Robot(tmp_path / "arm.toml")
    q = np.array([0.3, 0.2, 0.5])
    for name in ("arm.urdf", "arm.xml", "copy.toml"):
        assert main(["model", "convert", str(tmp_path / "arm.toml"), str(tmp_path / name)]) == 0
        found = lw.Robot(tmp_path / name)
        assert found.mass == pytest.approx(wanted.mass, rel=1e-9)
        np.testing.assert_allclose(found.mass_matrix(q), wanted.mass_matrix(q), rtol=1e-8)
        np.testing.assert_allclose(found.gravity(q), wanted.gravity(q), rtol=1e-8, atol=1e-9)


def test_what_is_not_given_has_its_default_in_si_units() -> None:
    text = 'format = 1\nname = "b"\nunits = "UNITS"\n[gravity]\n[[body]]\nname = "b"\n'
    text += 'translate = "xyz"\nmass = "0.5 kg"\n[initial]\n"b.u" = "4 {m/s}"\n'
    falls = []
    for units in ("mks", "in-lb"):
        m = read_model(text.replace("UNITS", units))
        s = lw.System(m)
        s.add(lw.elements.Drag(m, "b", coefficient=0.47, area=0.01))
        falls.append((lw.simulate(m, 0.5).final["b.z"], lw.simulate(s, 0.5).final["b.x"]))
    assert falls[0][0] == pytest.approx(-0.5 * 9.81 * 0.25)
    assert falls[1] == pytest.approx(falls[0], rel=1e-9)


# -- every field with every wrong unit -------------------------------------------------------------
FIELDS = {
    "mass": ("kg", 'HINGE\nmass = X'),
    "com": ("m", 'HINGE\nmass = 1\ncom = [X, 0, 0]'),
    "at": ("m", 'HINGE\nat = [0, X, 0]'),
    "inertia": ("kg*m^2", 'TURN\ninertia = X'),
    "inertia of three": ("kg*m^2", 'TURN\ninertia = [X, 1, 1]'),
    "turn": ("rad", 'HINGE\nturn = [["x", X]]'),
    "pitch": ("m", 'SCREW\npitch = X'),
    "armature": ("kg*m^2", 'HINGE\narmature = X'),
    "damping": ("N*m*s/rad", 'HINGE\ndamping = X'),
    "slide's damping": ("N*s/m", 'SLIDE\ndamping = X'),
    "friction": ("N*m", 'HINGE\nfriction = X'),
    "stiffness": ("N*m/rad", 'HINGE\nstiffness = X'),
    "rest": ("rad", 'HINGE\nstiffness = 1\nrest = X'),
    "place of a point": ("m", 'B\n[[point]]\nname = "p"\nbody = "b"\nat = [X, 0, 0]'),
    "radius of a shape": ("m", 'B\n[[shape]]\nbody = "b"\nkind = "sphere"\nradius = X'),
    "force": ("N", 'B\n[[force]]\nname = "f"\nat = "b0"\nalong = "x"\nmagnitude = X'),
    "moment": ("N*m", 'B\n[[moment]]\nname = "f"\non = "b"\nabout = "z"\nmagnitude = X'),
    "limit": ("rad", 'B\n[[limit]]\ncoordinate = "b"\nlower = X'),
    "gravity": ("m/s^2", 'B\n[gravity]\ng = X'),
    "start": ("rad", 'B\n[initial]\nb = X'),
    "starting speed": ("rad/s", 'B\n[initial]\nb_dot = X'),
    "parameter": ("m", 'B\n[parameters]\np = { value = X, unit = "m" }'),
    "input": ("N", 'B\n[inputs]\np = { value = X, unit = "N" }'),
    "state": ("m", 'B\n[[state]]\nname = "z"\nrate = 0\nunit = "m"\ninitial = X'),
    "rate of a state": ("m/s", 'B\n[[state]]\nname = "z"\nunit = "m"\nrate = X'),
    "prescribed motion": ("rad", 'B\n[[prescribe]]\ncoordinate = "b"\nmotion = X'),
    "rod": ("m", 'B\n[[distance_constraint]]\nfirst = "o"\nsecond = "b0"\nlength = X'),
    "capsule": ("m", 'B\n[[collision_capsule]]\nname = "c"\nfirst = "o"\nsecond = "o"\nradius = X'),
    "strut": ("m", 'B\n[[driven_strut]]\nname = "c"\nfirst = "o"\nsecond = "bcm"\nlength = X'),
}  # fmt: skip
TURN = '[[body]]\nname = "b"\njoint = "revolute"\naxis = "z"'
BODY = f"{TURN}\nmass = 1\ncom = [1, 0, 0]\ninertia = 1"
SHORT = {
    "TURN": TURN,
    "HINGE": f"{TURN}\ninertia = 1",
    "SLIDE": TURN.replace("revolute", "prismatic") + "\nmass = 1",
    "SCREW": TURN.replace("revolute", "screw") + "\nmass = 1\ninertia = 1",
    "B": BODY,
}
REFUSED_RIGHT = {"rod"}  # both of its ends stand still


def model_of(field: str, value: str, units: str = "mks") -> str:
    body, _, rest = FIELDS[field][1].partition("\n")
    text = f"{SHORT[body]}\n{rest}".replace("X", value)
    return f'format = 1\nname = "m"\nunits = "{units}"\n{text}\n'


@pytest.mark.parametrize("field", FIELDS)
def test_a_unit_of_another_kind_is_refused_in_every_field(field: str) -> None:
    own = parse_unit(FIELDS[field][0])
    for units in ("mks", "in-lb"):
        for unit in (*UNITS, "lb", "deg", "lbf*in", "ft", "s"):
            text = model_of(field, f'"0.3 {{{unit}}}"', units)
            if parse_unit(unit).fits(own):
                if field not in REFUSED_RIGHT:
                    read_model(text)
                continue
            with pytest.raises(Error) as caught:
                read_model(text)
            assert "0.3" in str(caught.value), (unit, caught.value)


def test_a_pound_of_mass_is_told_from_a_pound_of_force() -> None:
    with pytest.raises(Error, match="lb is a force: write lbm for a mass"):
        read_model(model_of("mass", '"20 lb"'))
    m = read_model(model_of("mass", '"20 lbm"'))
    assert lw.Robot(m).mass == pytest.approx(9.0718474)
    python = lw.Mechanism("m")
    with pytest.raises(lw.UnitError, match="cannot be in kg: it is in lb"):
        python.body("b", rotate="z", mass="20 lb")


def test_a_parameter_is_in_the_unit_that_it_declares() -> None:
    """300 mm were 300 m, and 30 deg 30 rad, wherever an expression had them."""
    m = read_model(
        f'format = 1\nname = "m"\n{BODY}\n[parameters]\nL = {{ value = 300, unit = "mm" }}\n'
        'a = { value = 30, unit = "deg" }\nw = "2 lbm"\n[[output]]\nname = "o"\nvalue = "a"\n'
        'unit = "deg"\n[[output]]\nname = "p"\nvalue = "a*180/pi"\nunit = "deg"\n'
    )
    assert m.values == pytest.approx({"L": 0.3, "a": np.pi / 6, "w": 0.90718474})
    assert [m.units[n] for n in "Law"] == ["m", "rad", "kg"]
    run = lw.simulate(m, 0.1)
    assert (run.final["o"], run.final["p"]) == pytest.approx((30, 30))


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_members_refuse_units_of_another_kind(name: str) -> None:
    """Units are those of the fields of drives, or as the documentation of an argument has them."""
    from linkwright.formats.text.members import _check_units

    class Names:
        mechanism = lw.Mechanism("m")

    for key, argument in arguments(MAKERS[name]).items():
        for unit in argument.units:
            parse_unit(unit)
        for unit in UNITS if argument.units else ():
            fits = any(parse_unit(unit).fits(parse_unit(own)) for own in argument.units)
            if fits:
                _check_units(key, f"2 {{{unit}}}", argument.units, Names())  # type: ignore[arg-type]
            else:
                with pytest.raises(Error, match="does not fit"):
                    _check_units(key, f"2 {{{unit}}}", argument.units, Names())  # type: ignore[arg-type]


# -- what is printed -------------------------------------------------------------------------------
def test_the_command_line_takes_and_shows_the_units_of_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plain number is in the unit in which the model prints it; the rest follows its unit."""
    monkeypatch.chdir(tmp_path)
    shown = []
    for speed in ("484", "484 in/s", "12.2936 m/s"):
        assert main(["simulate", "car", "--until", "0.5", "--set", f"SPEED={speed}"]) == 0
        table = capsys.readouterr().out
        shown.append(
            re.findall(r"(?m)^\W*(\S+)\s+(-?[\d.e+-]+)\s+(\S+)", table[table.find("at t") :])
        )
    assert shown[0] == shown[1] == shown[2]
    units = {name: unit for name, _, unit in shown[0]}
    assert [units[name] for name in ("X", "FY1", "MZ1")] == ["in", "lbf", "lbf*in"]
    run = lw.simulate(load_model("car"), 0.5, parameters={"SPEED": 12.2936})
    printed = {name: (float(x), unit) for name, x, unit in shown[0]}
    for name in ("X", "Y", "FY1", "MZ1"):
        value, unit = printed[name]
        assert value * parse_unit(unit).factor == pytest.approx(run.final[name], rel=2e-4), name


def test_the_mass_of_a_model_in_inches_is_told_in_its_unit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["tools", "info", "car"]) == 0
    found = re.search(r"mass\s+([\d.]+) (\S+)", capsys.readouterr().out)
    assert found is not None
    assert float(found[1]) * parse_unit(found[2]).factor == pytest.approx(2056.4, rel=1e-4)


ELBOW = """<robot name="elbow"><link name="a"/><link name="b"/><link name="c"/>
<joint name="turn" type="revolute"><parent link="a"/><child link="b"/>
<limit lower="-1.5" upper="2.5" velocity="3" effort="40"/></joint>
<joint name="slide" type="prismatic"><parent link="b"/><child link="c"/>
<limit lower="-0.25" upper="0.5" velocity="0.75" effort="90"/></joint></robot>"""
REACH = """format = 1
name = "reach"
units = "in-lb"
body = [{name = "turn", rotate = "z", mass = 1}, {name = "slide", translate = "z", mass = 1}]
limit = [{coordinate = "turn", lower = -1.5, upper = 2.5, speed = 3, effort = 400},
         {coordinate = "slide", lower = -6, upper = 2, speed = 20, effort = 80}]
"""


@pytest.mark.parametrize(("file", "text"), [("elbow.urdf", ELBOW), ("reach.toml", REACH)])
def test_every_limit_of_a_joint_is_told_with_its_unit(
    file: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the units of the file, angles in rad."""
    (tmp_path / file).write_text(text)
    assert main(["tools", "info", str(tmp_path / file)]) == 0
    table = capsys.readouterr().out
    robot = lw.Robot(tmp_path / file)
    length, force = ("in", "lbf") if "in-lb" in text else ("m", "N")
    for k, (name, unit) in enumerate({"turn": "rad", "slide": length}.items()):
        (line,) = (line for line in table.splitlines() if line.startswith(name))
        told = re.findall(r"(-?[\d.]+) ([a-z][^ ]*|N\S*)", line)[-4:]
        effort = force if name == "slide" else "lbf*in" if force == "lbf" else "N*m"
        assert [x for _, x in told] == [unit, unit, f"{unit}/s", effort]
        ends = (*robot.limits[k], robot.speed_limits[k], robot.effort_limits[k])
        si = [float(x) * parse_unit(unit).factor for x, unit in told]
        np.testing.assert_allclose(si, ends, rtol=1e-5)


JACK = Path(__file__).parents[1] / "files" / "jackmount.toml"


def test_a_picture_of_efforts_has_one_unit_in_each_graph(tmp_path: Path) -> None:
    """A jack's newtons are not drawn on a scale of newton meters."""
    from linkwright.parallel import chart
    from linkwright.parallel.chart_plots import figure

    found = chart(lw.load(JACK), sky(zenith=(10, 80, 3), azimuth=(0, 300, 3)), of=["effort"])
    labels = [
        ax.get_title(loc="left") for ax in figure(found, "effort").axes if ax.get_title(loc="left")
    ]
    assert len(labels) == 2
    for label in labels:
        name, unit = re.search(r"effort (\w+) \((\S+)\)", label).groups()  # type: ignore[union-attr]
        assert unit == {"az": "N·m", "jack": "N"}[name]


def test_relations_of_the_mechanism_itself_are_not_warned_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["model", "check", str(JACK)]) == 0
    assert "warning" not in capsys.readouterr().out


def test_temperatures_are_in_degrees_celsius() -> None:
    thermal = lw.drives.Thermal(1.2, 20, 3.0, 400)
    for item in ("ambient", "reference"):
        assert type(thermal).__dataclass_fields__[item].metadata["unit"] == "degC"
    run = lw.simulate(lw.load("joint-drive"), 0.01)
    hot = [c for c in run.recording.channels if "temperature" in c.long]
    assert all(c.unit == "degC" for c in hot)
    assert amount("40 degC", "ambient", "degC") == 40
    with pytest.raises(Error, match="does not fit"):
        amount("300 K", "ambient", "degC")


# -- applications ----------------------------------------------------------------------------------
LIFT = """format = 1
name = "lift"
units = "UNITS"
[gravity]
[[body]]
name = "arm"
joint = "revolute"
axis = "y"
mass = "9 kg"
com = ["0.3 m", 0, 0]
inertia = "0.09 {kg*m^2}"
[[body]]
name = "slide"
parent = "arm"
joint = "prismatic"
axis = "x"
at = ["0.5 m", 0, 0]
mass = "2 kg"
[[point]]
name = "tip"
body = "slide"
"""
TASK = """format = 1
name = "go"
frame = "tip"
[[part]]
kind = "move"
to = { arm = "-40 deg", slide = "100 mm" }
duration = 1
[[payload]]
at = 0
mass = "3 kg"
"""


def test_requirements_of_a_machine_in_inches_are_those_of_the_same_in_meters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "go.toml").write_text(TASK)
    told = []
    for units in ("mks", "in-lb"):
        (tmp_path / "lift.toml").write_text(LIFT.replace("UNITS", units))
        assert (
            main(["analyze", "require", str(tmp_path / "lift.toml"), str(tmp_path / "go.toml")])
            == 0
        )
        told.append(capsys.readouterr().out.splitlines()[2:4])
    assert told[0] == told[1]
    assert "-60.44 N*m" in told[0][0]  # at the greatest torque, by hand
    assert "31.53 N" in told[0][1]


@seldom(daily="test_a_machine_in_inches_moves_as_the_same_in_meters")
def test_a_laboratory_of_a_machine_in_inches_is_in_si_units(tmp_path: Path) -> None:
    (tmp_path / "lift.toml").write_text(LIFT.replace("UNITS", "in-lb"))
    lab = lw.Lab(tmp_path / "lift.toml")
    try:
        lab.mode("invdyn")
        lab.run(0.1)
        assert abs(lab.desired.uff[0]) == pytest.approx(9.81 * (9 * 0.3 + 2 * 0.5), rel=1e-5)
        assert "9.81 m/s^2" in lab.do("setG 0 0 -9.81").text
        lab.run(0.1)
        assert abs(lab.desired.uff[0]) == pytest.approx(9.81 * (9 * 0.3 + 2 * 0.5), rel=1e-5)
    finally:
        lab.close()


@pytest.mark.parametrize(
    ("value", "fits"),
    [('"100 kg"', False), ('"8 {lbf*in/rad}"', True), ('"2 {N/m}"', True), ("3", True)],
)
def test_a_member_of_a_text_refuses_a_wrong_unit_where_it_stands(value: str, fits: bool) -> None:
    text = f'format = 1\nname = "m"\n{BODY}\n[[member]]\nkind = "JointSpring"\nname = "s"\n'
    text += f'coordinate = "b"\nstiffness = {value}\n'
    if fits:
        parse_model(text).system()
        return
    with pytest.raises(Error, match=r"m.toml:14.*'stiffness' is in N\*m/rad or N/m, so '100 kg'"):
        parse_model(text, file="m.toml").system()


@pytest.mark.parametrize(("table", "name"), [("values", "s.stiffness"), ("initial", "b")])
def test_values_and_starts_of_a_system_are_compared_with_their_units(table: str, name: str) -> None:
    text = f'format = 1\nname = "m"\n{BODY}\n[[member]]\nkind = "JointSpring"\nname = "s"\n'
    text += f'coordinate = "b"\nstiffness = 3\n[system]\n{table} = {{ "{name}" = "VALUE" }}\n'
    parse_model(text.replace("VALUE", "0.5")).system()
    with pytest.raises(Error, match="'3 kg' does not fit"):
        parse_model(text.replace("VALUE", "3 kg")).system()


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("units", ["mks", "in-lb"])
def test_gravity_has_the_size_that_is_given_whatever_its_direction(units: str, seed: int) -> None:
    """A direction has length 1 or is refused; only with `g = 1` it is the acceleration itself."""
    way = np.random.default_rng(seed).normal(size=3)

    def felt(along: np.ndarray, more: str = "") -> float:
        text = (
            f'format = 1\nname = "ball"\nunits = "{units}"\n[gravity]\nalong = {along.tolist()}\n'
        )
        made = parse_model(
            f'{text}{more}[[body]]\nname = "b"\ntranslate = "xyz"\nmass = 1\n'
        ).build()
        return float(np.linalg.norm([float(x) for _, x in made.gravity_vector.terms]))

    assert felt(way / np.linalg.norm(way)) == pytest.approx(9.81, rel=1e-12)
    with pytest.raises(Error, match="`along` has the length"):
        felt(2 * way)
    own = 1.0 if units == "mks" else 0.0254
    assert felt(way, "g = 1\n") == pytest.approx(own * float(np.linalg.norm(way)), rel=1e-12)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "cylindrical"])
def test_numbers_of_springs_and_dampers_in_joints_are_not_warned_of(kind: str) -> None:
    """A joint's stiffness and damping have their units though their sum shows none of them."""
    text = (
        'format = 1\nname = "m"\n[parameters]\nc = { value = 2, unit = "kg" }\n'
        f'[[body]]\nname = "b"\njoint = "{kind}"\naxis = "z"\nmass = 1\ninertia = 1\n'
        "damping = DAMPING\n"
    )
    spring = "stiffness = 3\nrest = 0.1\nfriction = 0.5\n" if kind != "cylindrical" else ""
    sound = parse_model(text.replace("DAMPING", "2") + spring).build()
    assert [w for w in check_mechanism(sound).warnings if "not used" not in w] == []
    if spring:
        odd = parse_model(text.replace("DAMPING", '"c"') + spring).build()
        (said,) = check_mechanism(odd).warnings
        assert said.startswith("damping of 'b': c is in kg, not in N*")
