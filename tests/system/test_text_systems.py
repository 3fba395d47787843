"""Systems as text: every kind of member goes Python → TOML → Python, and every fault has a place.

The battery walks the registries, so that a new element, controller, block or motion is asked the
same without a line here: its arguments have a form as text, its text gives the same Programs, and
an unknown key or a value of the wrong type is refused with file, line, column and the nearest
spelling.
"""

from __future__ import annotations

import json
import re
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright import control, drives, elements, motion
from linkwright.blocks import BLOCKS, Block, Element, Sampled, Ticks, sampled
from linkwright.cli import main
from linkwright.control.registry import CONTROLLERS
from linkwright.elements.drives.registry import DRIVES
from linkwright.elements.registry import ELEMENTS
from linkwright.formats.text.check import check_model
from linkwright.formats.text.custom_members import CUSTOM
from linkwright.formats.text.document import ModelError, parse_model
from linkwright.formats.text.files import read_any
from linkwright.formats.text.members import MAKERS, arguments, record_of
from linkwright.models import load_model
from linkwright.motion.registry import MOTIONS
from linkwright.scene.motions import open_motion
from linkwright.scene.previews import PreviewOptions
from linkwright.simulation.native.stored import to_data
from linkwright.studio.live_system import plant_of
from linkwright.sweeps.sweep import worker_part
from scripts.book import text_models
from tests.elements.test_element_battery import KINDS, system_of
from tests.seeds import cases

SERVO = """\
format = 1
name = "servo"

[gravity]
along = "-y"

[run]
until = 0.5
step = 0.001

[[body]]
name = "rod"
rotate = "z"
mass = 1
com = [0, -1, 0]

[initial]
rod = "30 deg"

[[member]]
kind = "point_to_point"
name = "way"
start = [0.5]
end = [1.5]
duration = 0.4

[[member]]
kind = "PD"
name = "servo"
kp = 200
kd = 20
gravity = true
rate = 500

[[wire]]
source = "way.q"
target = "servo.target"
"""

#: The arguments of blocks and motions that are not in the battery of elements.
MORE: dict[str, dict[str, Any]] = {
    "Chain": {"controller": drives.PD(8, 0.02), "amplifier": drives.Lag(10, 1e-3),
              "motor": drives.DC(1, 2e-3, 0.05, 1e-4), "train": drives.Elastic(50, 500, 2),
              "load": drives.Inertia(0.5, 0.1), "rate": 500, "reference": 0.5,
              "noise": drives.DriveNoise(sensors={"load.angle": 0.002})},
    "Battery": {"full": 50, "empty": 42, "capacity": 5, "resistance": 0.05, "charge": 0.9},
    "CoupledDrives": {"joints": ["rod"], "ratios": [[50.0]], "stiffness": [500.0],
                      "amplifiers": [drives.Ideal()], "motors": [drives.DC(1, 2e-3, 0.05, 1e-4)]},
    "CurrentSensor": {"span": 20, "gain_error": 0.01, "offset": 0.1, "noise": 0.02, "latency": 1},
    "DCBus": {"voltage": 48, "resistance": 0.1, "capacitance": 2e-3, "chopper_resistance": 10},
    "Resolver": {"bits": 12, "error": 1e-3, "pairs": 2},
    "RotaryEncoder": {"lines": 1000, "error": 0.02, "latency": 2},
    "Drive": {"joint": "rod", "amplifier": drives.Ideal(2.0),
              "motor": drives.DC(1, 2e-3, 0.05, 1e-4, thermal=drives.Thermal(1.2, 20, 3, 400)),
              "train": drives.Rigid(50, efficiency=0.8), "ledger": True,
              "rating": drives.Rating(0.5, 1.5, 300)},
    "Servo": {"controller": drives.Cascade(1000, 500, 250), "train": drives.Rigid(50),
              "motor": drives.DC(1, 2e-3, 0.05, 1e-4), "inertia": 0.4, "latency": 1},
    "Delay": {"ticks": 3, "count": 2, "initial": 0.5},
    "Hold": {},
    "Integrator": {"initial": 0.25},
    "WhiteNoise": {"deviation": 0.2, "mean": 1.0, "unit": "m"},
    "ChainMotion": {"speed": [1.0, 2.0], "acceleration": [4.0, 8.0], "start": [0.1, 0.2],
                    "lower": [-1.0, -2.0], "upper": [1.0, 2.0], "brake": 0.1, "queue": 2,
                    "slots": 2},
    "FrameProduct": {"factors": ["base", "table"], "inverse": ["base"]},
    "Sines": {"offsets": [0.3], "sines": [[(0.1, 0.2, 1.0), (0.3, 0.0, 2.0)]]},
    "Trajectory": {"instants": [0, 2], "coefficients": [[[0], [1], [0], [0.5], [0], [0]]]},
    "blended": {"points": [[0], [1], [0.5]], "times": [0, 1, 2], "blend": 0.2},
    "hermite": {"instants": [0, 1], "values": [[0], [1]], "speeds": [[0], [0.5]]},
    "minimum_jerk": {"start": [0.1, 0.2]},
    "online": {"start": [0.1, 0.2], "limits": motion.Limits(speed=1, acceleration=2, jerk=9)},
    "point_to_point": {"start": [0, 1], "end": [1, 3], "speed": 0.5, "law": "trapezoid",
                       "acceleration": [1.0, 2.0]},
    "through": {"times": [0, 1, 2], "values": [[0], [1], [0.5]], "ends": "natural"},
    "time_optimal": {"path": motion.through([0.0, 0.5, 1.0], [[0.0], [0.5], [1.0]]), "points": 20,
                     "limits": motion.Limits(speed=1, acceleration=2)},
    "via_points": {"points": [[0], [1], [0.5]], "times": [0, 1, 2]},
}  # fmt: skip


def of_kind(name: str) -> lw.System:
    """Return a System with a member of a kind."""
    if name in KINDS:
        return system_of(name, 0)
    m = lw.Mechanism("m")
    m.body("rod", rotate="z", mass=1, inertia=1)
    on = "mechanism" in signature(MAKERS[name]).parameters
    s = lw.System(m if on else None, name="" if on else "s", base=1000)
    found = MAKERS[name](m, **MORE[name]) if on else MAKERS[name](**MORE[name])
    block = found if isinstance(found, Block) else found.block("block", unit="m")
    s.add(block, name="block", rate=block.rate or (100 if block.needs_rate else None))
    if "u" in block.inputs:
        count = len(block.inputs["u"].symbols)
        s.connect(["sin(t)"] * count, "block.u")
    return s


def programs(system: lw.System) -> object:
    """Return all that a run of a System does, as plain data."""
    return to_data(system.phases())


def held(system: lw.System) -> object:
    """Return the numbers, signals and sizes of all members, before they are put together."""
    return [
        (
            {k: (str(p.value), p.unit) for k, p in b.parameters.items()},
            {k: (len(port.symbols), port.unit) for k, port in (b.inputs | b.outputs).items()},
            [(str(k), str(x.initial)) for k, x in (b.states | b.discrete_states).items()],
            len(b.statements),
            member.rate,
        )
        for member in system.members.values()
        for b in (member.block,)
    ]


#: Members whose phases are compared, too.
DERIVED = cases(MAKERS, daily=8)


@pytest.mark.parametrize("name", MAKERS)
def test_every_kind_of_member_is_the_same_from_its_text(name: str) -> None:
    system = of_kind(name)
    text = lw.write_model(system)
    again = read_any(text)
    assert isinstance(again, lw.System)
    assert held(again) == held(system)
    if name in DERIVED:
        assert programs(again) == programs(system)
    assert lw.write_model(again) == text
    assert [type(m.block) for m in again.members.values()] == [
        type(m.block) for m in system.members.values()
    ]


def test_the_kinds_are_those_of_the_registries() -> None:
    kinds = {kind.name for kind in (*ELEMENTS, *CONTROLLERS, *BLOCKS, *DRIVES)}
    assert {*MAKERS} == kinds | {maker.__name__ for maker in MOTIONS}
    assert {*MAKERS} == {*KINDS, *MORE}


@pytest.mark.parametrize("name", MAKERS)
def test_an_unknown_key_has_its_place_and_the_nearest_spelling(name: str) -> None:
    key = next(reversed(arguments(MAKERS[name])), "name")
    wrong = f"{key}x"
    text = f'format = 1\nname = "m"\n\n[[member]]\nkind = "{name}"\nname = "a"\n{wrong} = 1\n'
    with pytest.raises(ModelError, match=f"did you mean '{key}'") as caught:
        parse_model(text, file="m.toml")
    at = next(fault for fault in caught.value.faults if wrong in fault.what)
    assert (at.file, at.line, at.column) == ("m.toml", 7, 1)


@pytest.mark.parametrize("name", MAKERS)
def test_a_value_of_the_wrong_type_has_its_place(name: str) -> None:
    for key in arguments(MAKERS[name]):
        text = (
            f'format = 1\nname = "m"\n[[member]]\nkind = "{name}"\nname = "a"\n{key} = 1979-05-27\n'
        )
        with pytest.raises(ModelError) as caught:
            parse_model(text, file="m.toml")
        places = {(f.line, f.column) for f in caught.value.faults if f".{key}" in f.what}
        assert places == {(6, len(key) + 4)}, key


@pytest.mark.parametrize("name", MAKERS)
def test_every_argument_is_explained(name: str) -> None:
    table = record_of(MAKERS[name], member=True)
    assert table.__doc__
    missing = [key for key, found in table.model_fields.items() if not found.description]
    assert not missing


def test_a_system_from_a_file_is_that_of_python(tmp_path: Path) -> None:
    m = lw.Mechanism("servo")
    m.body("rod", rotate="z", mass=1, com=(0, -1, 0), inertia=0)
    m.gravity(along="-y")
    m.set_initial({"rod": "30 deg"})
    m.set_timing(0.5, step=0.001)
    s = lw.System(m)
    way = s.add(motion.point_to_point([0.5], [1.5], 0.4).block("way"))
    servo = s.add(control.PD(m, kp=200, kd=20, gravity=True), name="servo", rate=500)
    s.connect(way.q, servo.target)
    file = tmp_path / "servo.toml"
    file.write_text(SERVO)
    assert programs(lw.load(file)) == programs(s)
    with pytest.raises(lw.Error, match="is a System, not a mechanism alone; open it"):
        load_model(file)


@pytest.mark.parametrize("rate", [sampled(60, offset=0.001), sampled(period=0.3), Ticks(5, 2)])
def test_rates_are_written_exactly(rate: Sampled | Ticks) -> None:
    s = lw.System(name="s", base=3000)
    s.add(MAKERS["Hold"](), name="hold", rate=rate)
    again = read_any(lw.write_model(s))
    assert isinstance(again, lw.System)
    assert again.members["hold"].rate == rate
    assert again.base == s.base


def test_values_and_starts_of_a_system_are_written_apart_from_its_mechanism() -> None:
    s = system_of("PD", 0)
    s.set_parameters({"block.kp": 3.0, "m_cart": 2.5})
    again = read_any(lw.write_model(s))
    assert isinstance(again, lw.System)
    assert (again.values, again.initial) == (s.values, s.initial)
    assert again.mechanism.values == s.mechanism.values
    assert programs(again) == programs(s)


FAULTS = {
    'kind = "PDD"': ('member[0].kind: there is no kind \'PDD\'; did you mean \'PD\'?', 8, 8),
    "kp = 1": ("member[0]: the key 'kind' is missing; add kind = ...", 6, 1),
    'kind = "PD"\nkp = "k"': ("member[0].kp: unknown name 'k'; declare it first", 9, 7),
    'kind = "PD"\nkp = -2': ("member[0].kp: kp of 'rod' is -2; give a number of 0 or more", 9, 6),
    'kind = "PD"\nkp = { rod = true }': (
        "member[0].kp: a number or an expression in quotes is needed here", 9, 6),
    'kind = "Delay"\nticks = 1.5': ("member[0].ticks: a whole number is needed here", 9, 9),
    'kind = "PD"\nkp = 1\njoints = ["rot"]': (
        "member[0].joints[0]: 'm' has no coordinate 'rot'; did you mean 'rod'?", 10, 11),
    'kind = "Contact"\npoints = "rodd"\nsurface = { kind = "Plane" }\nstiffness = 1': (
        "member[0].points: 'm' has no point, body or frame 'rodd'; did you mean 'rod'?", 9, 10),
    'kind = "Contact"\npoints = "rod"\nsurface = { kind = "Plain" }\nstiffness = 1': (
        "member[0].surface.kind: there is no kind 'Plain'; did you mean 'Plane'?", 10, 20),
    'kind = "Contact"\npoints = "rod"\nsurface = { kind = "BoxSurface", sizes = 1 }\nstiffness=1': (
        "member[0].surface.sizes: unknown key 'sizes'; did you mean 'size'?", 10, 34),
    'kind = "Hold"': (
        "member[0]: block 'a' works at instants, but it was given no rate; "
        "add it with rate=..., in hertz", 6, 1),
    'kind = "Hold"\nrate = { hertz = 3, period = 2 }': (
        "member[0].rate: a rate is a number (Hz) or a table of hertz, period or ticks, and offset",
        9, 8),
    'kind = "Muscle"\npoints = ["n", "rod"]\nstrength = 1\nby_length = "f"': (
        "member[0].by_length: 'm' has no table 'f'; it has none", 11, 13),
    'kind = "Hold"\nrate = 9\n[[wire]]\nsource = "rot"\ntarget = "a.u"': (
        "wire[0].source: unknown name 'rot'; did you mean 'rod'?", 11, 11),
    'kind = "Hold"\nrate = 9\n[[wire]]\nsource = "rod"\ntarget = "a.x"': (
        "wire[0].target: 'a' has no port 'x'; it has u, y", 12, 10),
    'kind = "Hold"\nrate = 9\n[system]\nvalues = { "a.v" = 1 }': (
        "system.values.a.v: there is no parameter or open input 'a.v'; did you mean 'a.u'?",
        11, 12),
}  # fmt: skip


@pytest.mark.parametrize("lines", FAULTS)
def test_a_fault_of_a_member_has_its_place(lines: str) -> None:
    what, line, column = FAULTS[lines]
    body = 'format = 1\nname = "m"\n[[body]]\nname = "rod"\nrotate = "z"\n'
    with pytest.raises(lw.Error) as caught:
        parse_model(f'{body}[[member]]\nname = "a"\n{lines}\n', file="m.toml").system()
    assert str(caught.value) == f"m.toml:{line}:{column}: {what}"


def test_what_no_text_can_hold_is_refused() -> None:
    s = lw.System(name="s")
    s.add(lambda t: 2 * t, rate=10, name="ramp", outputs="y")
    with pytest.raises(lw.Error, match=r"'ramp' is a Python function, .* kind \"Python\" with its"):
        lw.write_model(s)
    s = lw.System(system_of("PD", 0).mechanism)
    s.add(Element("own", s.mechanism))
    with pytest.raises(lw.Error, match="'own' is a Element, which has no text form; register"):
        lw.write_model(s)
    s = lw.System(name="s")
    s.add(MAKERS["Integrator"](), name="sum").block.input("more")
    with pytest.raises(lw.Error, match="'sum' is not what it was made as"):
        lw.write_model(s)


def test_members_in_components_have_their_own_names() -> None:
    text = """
format = 1
name = "pair"
[component.leg]
[[component.leg.body]]
name = "rod${i}"
rotate = "z"
inertia = 1
[[component.leg.member]]
kind = "PD"
name = "servo${i}"
kp = "10*${i}"
joints = ["rod${i}"]
[[component.leg.wire]]
source = "sin(t)"
target = "servo${i}.target"
[[use]]
component = "leg"
count = 2
start = 1
"""
    s = read_any(text)
    assert isinstance(s, lw.System)
    gains = {p.name: p.value for p in s.phases().p if p.name.endswith("kp")}
    assert gains == {"servo1.kp": 10.0, "servo2.kp": 20.0}
    assert s.inputs().keys() == {"servo1.target_rate[0]", "servo2.target_rate[0]"}


def run(*words: str, status: int = 0) -> None:
    assert main([*words]) == status


def test_every_command_takes_a_system_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("servo.toml").write_text(SERVO)
    run("model", "check", "servo.toml")
    assert "servo: PD, 500 Hz" in capsys.readouterr().out
    run("simulate", "servo.toml", "-q", "--set", "servo.kp=300", "--initial", "rod=0.1")
    recording = lw.load("servo.parquet")
    by_hand = lw.simulate(
        lw.load("servo.toml"), 0.5, parameters={"servo.kp": 300}, initial={"rod": 0.1},

    )  # fmt: skip
    assert np.array_equal(recording["rod"], by_hand["rod"][:: recording.metadata["every"]])
    run("rerun", "servo.parquet")
    assert "the same bit for bit" in capsys.readouterr().out
    run("page", "servo.parquet", "-o", "run.html")
    run("page", "servo.toml", "--until", "0.2", "--set", "servo.kp=100")
    assert Path("servo.html").stat().st_size > 10_000
    Path("plan.toml").write_text(
        'model = "servo.toml"\nuntil = 0.1\n[parameters]\n"servo.kp" = [100, 200]\n'
    )
    run("sweep", "plan.toml", "-q")
    run("model", "convert", "servo.toml", "same.toml")
    assert programs(lw.load("same.toml")) == programs(lw.load("servo.toml"))
    run("simulate", "servo.toml", "-q", "--ground", status=2)
    assert "whose members say what touches the ground" in capsys.readouterr().err


def test_a_sweep_over_gains_is_each_run_alone(tmp_path: Path) -> None:
    file = tmp_path / "servo.toml"
    file.write_text(SERVO)
    found = lw.sweep(str(file), 0.1, parameters={"servo.kp": [100.0, 200.0]}, method="rk4")
    for k, kp in enumerate((100.0, 200.0)):
        alone = lw.simulate(lw.load(file), 0.1, parameters={"servo.kp": kp}, method="rk4")
        assert found["rod.final"][k] == pytest.approx(alone.final["rod"], abs=1e-12)


def test_the_json_schema_knows_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    run("model", "schema")
    found = json.loads(capsys.readouterr().out)
    places = [k["$ref"].rpartition("/")[2] for k in found["properties"]["member"]["items"]["anyOf"]]
    kinds = {found["$defs"][place]["properties"]["kind"]["const"] for place in places}
    assert kinds == {*MAKERS, *CUSTOM}


def test_a_system_is_described_linearized_and_written_as_firmware(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("servo.toml").write_text(SERVO)
    run("model", "describe", "servo.toml", "--set", "servo.kp=77")
    shown = capsys.readouterr().out
    assert re.search(r"^servo +PD +500 Hz +q, u, target, target_rate +tau_rod$", shown, re.M)
    assert re.search(r"^servo\.kp +77 ", shown, re.M)
    assert re.search(r"^servo\.target\[0\] +way\.q\[0\]$", shown, re.M)
    run("analyze", "linearize", "servo.toml", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["A"] == lw.linearize(lw.load("servo.toml")).as_dict()["A"]
    run("codegen", "servo.toml", "--target", "firmware", "--out", "board")
    assert "servo" in Path("board/servo.c").read_text()
    run("analyze", "ops", "servo.toml", status=2)
    assert "'servo.toml' is a System with members" in capsys.readouterr().err


LAW = """
format = 1
name = "law"
[[member]]
kind = "Block"
name = "law"
rate = 100
inputs = { e = 0, w = { size = 2, unit = "V" } }
parameters = { k = { value = 3, unit = "1/s", sign = "positive" }, T = 0.1 }
noise = ["n"]
states = { x = { rate = "e - k*x", initial = 0.5 } }
discrete_states = { i = { rate = "i + period*e" } }
outputs = { y = { value = "k*x + i + 0.1*n", unit = "V" }, z = ["w[0]", "2*w[1]"] }
[[wire]]
source = "sin(t)"
target = "law.e"
"""


def test_a_block_of_formulas_is_that_of_python() -> None:
    b = Block("law")
    e, w = b.input("e"), b.input_vector("w", 2, unit="V")
    k, _ = b.parameter("k", 3, unit="1/s", sign="positive"), b.parameter("T", 0.1)
    n = b.noise("n")
    x, i = b.state("x", initial=0.5), b.discrete_state("i")
    b.output("y", k * x + i + 0.1 * n, unit="V")
    b.output_vector("z", [w[0], 2 * w[1]])
    b.derivative(x, e - k * x)
    b.update(i, i + b.period * e)
    s = lw.System(name="law")
    s.add(b, rate=100)
    s.connect("sin(t)", "law.e")
    from_text = read_any(LAW)
    assert isinstance(from_text, lw.System)
    assert programs(from_text) == programs(s)
    assert lw.write_model(s) == lw.write_model(from_text)
    again = read_any(lw.write_model(s))
    assert isinstance(again, lw.System)
    assert programs(again) == programs(s)
    b.event("limit", x - 1)
    with pytest.raises(lw.Error, match="has partial results or events, which have no text form"):
        lw.write_model(s)


PYTHON = SERVO.replace(
    "[[wire]]",
    """[[member]]
kind = "Python"
name = "task"
rate = 50
arguments = ["t", "q", "gain"]
inputs = { gain = 0 }
outputs = { target = 1 }
source = \'\'\'
import math
def task(t, q, gain):
    return gain * q + math.sin(t)
\'\'\'

[[wire]]""",
).replace('"way.q"', '"task.target"')


def test_python_in_a_text_runs_only_by_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("task.toml").write_text(PYTHON)
    run("model", "check", "task.toml")
    assert "the member 'task' has no code, so the System can be checked" in capsys.readouterr().err
    run("simulate", "task.toml", "-q", status=2)
    assert "'task' has no code here; look at the source in the file" in capsys.readouterr().err
    assert not Path("task.parquet").exists()
    run("simulate", "task.toml", "-q", "--trust", "--set", "task.gain=0.3")
    run("rerun", "task.parquet", status=2)
    run("rerun", "task.parquet", "--trust")
    assert "the same bit for bit" in capsys.readouterr().out
    run("page", "task.parquet")

    def task(t: float, q: np.ndarray, gain: float) -> Any:
        return gain * q + np.sin(t)

    given = read_any("task.toml", functions={"task": task})
    made = lw.simulate(given, 0.5, parameters={"task.gain": 0.3})
    assert np.allclose(made["rod"], lw.load("task.parquet")["rod"], atol=1e-12)
    again = read_any(lw.write_model(given))
    assert isinstance(given, lw.System)
    assert isinstance(again, lw.System)
    assert again.members.keys() == given.members.keys()


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("def task(t, q, gain)", "def tusk(t, q, gain)", "defines no function 'task'; write def"),
        ("def task(t, q, gain)", "def task(t, q)", "has the arguments t, q; write arguments = ["),
        ("import math", "import maths", "cannot be run: ModuleNotFoundError: No module named"),
    ],
)
def test_wrong_python_is_refused_with_its_place(old: str, new: str, what: str) -> None:
    text = PYTHON.replace(old, new)
    with pytest.raises(lw.Error, match=re.escape(what)) as caught:
        parse_model(text, file="m.toml").system(trust=True)
    line = PYTHON[: PYTHON.index('kind = "Python"')].count("\n")
    assert str(caught.value).startswith(f"m.toml:{line}:1: member[2]: ")


def test_the_systems_on_the_page_are_sound() -> None:
    shown = [
        t for t in re.findall(r"```toml\n(.*?)```", text_models.page(), re.S) if "[[member]]" in t
    ]
    assert len(shown) == 3
    for text in shown:
        assert check_model(parse_model(text).system()).facts


def test_a_worker_of_a_cluster_gets_the_system_with_its_plan(tmp_path: Path) -> None:
    """What a worker does with the text that comes to it, without the file."""
    file = tmp_path / "servo.toml"
    file.write_text(SERVO)
    here = lw.sweep(str(file), 0.1, parameters={"servo.kp": [100.0, 200.0]})
    plan = json.dumps(here.plan.as_data(), sort_keys=True)
    file.unlink()
    there = worker_part(plan, 0, "servo.toml", SERVO)
    assert np.array_equal(there["rod.final"], here["rod.final"])


def test_a_system_is_run_live_as_its_file_says(tmp_path: Path) -> None:
    file = tmp_path / "servo.toml"
    file.write_text(SERVO)
    shown = open_motion(str(file), asked=PreviewOptions(until=0.1))
    assert shown.system is not None
    plant = plant_of(shown.system)
    assert {"servo.kp", "servo.kd"} <= {a.name for a in plant.adjustables}


def test_the_program_in_c_of_a_system_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "servo.toml"
    file.write_text(SERVO)
    assert main(["codegen", str(file), "--out", str(tmp_path / "program")]) == 0
    assert "servo.tau_rod" in (tmp_path / "program" / "servo.c").read_text()


def test_ports_of_a_system_are_in_its_text() -> None:
    more = '[[expose]]\nname = "rate"\nvalue = "servo.target_rate"\n'
    s = read_any(f'{SERVO}{more}[[expose]]\nname = "angle"\nvalue = "2*rod"\n')
    assert isinstance(s, lw.System)
    assert (list(s.exposed_inputs), list(s.exposed_outputs)) == (["rate"], ["angle"])
    again = read_any(lw.write_model(s))
    assert isinstance(again, lw.System)
    assert again.exposed_inputs == s.exposed_inputs
    assert again.exposed_outputs == s.exposed_outputs
    assert lw.linearize(again).outputs == ("angle",)


def test_a_member_may_be_made_with_another_by_its_name() -> None:
    m = lw.Mechanism("m")
    flange = m.body("flange", translate="z", mass=5)
    m.body("tool", parent=flange, mass=0, inertia=0)
    wrist = elements.CompliantWrist(m, flange, "tool", [500] * 6, [3] * 6, massless=True)
    pots = elements.WristPotentiometers(wrist, elements.WristLinkage(0.04), resolution=1e-3)
    s = lw.System(m)
    s.add(wrist, name="soft")
    s.add(pots, rate=100)
    s.add(elements.WristReading([500] * 6, sensor=pots), rate=100)
    text = lw.write_model(s)
    assert 'wrist = "soft"' in text
    assert 'sensor = "potentiometers"' in text
    again = read_any(text)
    assert isinstance(again, lw.System)
    assert programs(again) == programs(s)
    assert lw.write_model(again) == text
    with pytest.raises(lw.Error, match=r"has no member before it 'sift'; did you mean 'soft'"):
        read_any(text.replace('wrist = "soft"', 'wrist = "sift"'))
    s.add(lw.control.ForceControl(m, wrist, 0.1, base="current"), rate=100)
    text = lw.write_model(s)
    for wrong, words in (("sofd", "the member 'soft'"), ("flang", "'flange'")):
        at = text.rindex('wrist = "soft"')
        with pytest.raises(lw.Error, match=rf"{wrong}'; did you mean {words}"):
            read_any(text[:at] + f'wrist = "{wrong}"' + text[at + 14 :])
    lonely = lw.System(m)
    lonely.add(wrist)
    law = elements.WristPotentiometers(wrist)
    lonely.add(law, rate=10)
    lonely.members.pop("wrist")
    with pytest.raises(lw.Error, match="'wrist' that a member is made with is not a member"):
        lw.write_model(lonely)
