"""Written simulation programs: they build, run alone, and repeat the library's own runs.

Numbers of the car, the four-bar and the spacecraft are those of Sayers' thesis, recomputed by an
independent Newton-Euler evaluation.
"""

from __future__ import annotations

import ctypes
import math
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwright import Error, Robot, simulate
from linkwright.algebra import foreign
from linkwright.blocks import Block
from linkwright.cli import main
from linkwright.codegen import codegen
from linkwright.codegen.c import c_kernel, c_program
from linkwright.codegen.content import Content, make_content
from linkwright.codegen.files import parameter_file
from linkwright.codegen.python import python_program
from linkwright.equations import derive
from linkwright.formats.urdf import parse_urdf
from linkwright.mechanism import Mechanism
from linkwright.models import load_model, opened
from linkwright.program import Rate, count_operations, lower, stage_counts
from linkwright.program.interpret import interpret
from linkwright.program.passes import optimize
from linkwright.recording import ErdChannel, ErdFile, read_erd, write_erd
from linkwright.simulation.native.session import Session
from linkwright.system import System
from tests.robots.test_joint_limits import ARM, START
from tests.seeds import cases, everything, seldom
from tests.simulation.test_executors import busy_system

STRICT = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffp-contract=off"]
MODELS = ("car", "cart", "four-bar", "spacecraft-2", "stanford-arm-controlled")


@cache
def content_of(name: str) -> Content:
    """Return the content of a model's program; models of the arm run for a second only."""
    return make_content(load_model(name))


@dataclass(frozen=True)
class Program:
    """A written program that stands in a folder of its own."""

    folder: Path
    command: tuple[str, ...]

    def run(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run it in its folder."""
        done = subprocess.run(
            [*self.command, *words], cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        return done

    def values(self, file: str) -> dict[str, str]:
        """Return keywords and values of a parameter file of the folder."""
        lines = (self.folder / file).read_text().splitlines()
        found = [line.split(None, 2) for line in lines if line and not line.startswith("*")]
        return {words[0]: words[1] for words in found[1:] if len(words) > 1}

    def write(self, file: str, *lines: str) -> str:
        """Write a parameter file into the folder, and return its name."""
        (self.folder / file).write_text("\n".join(["PARSFILE", *lines, ""]))
        return file


@dataclass(frozen=True)
class Built(Program):
    """A written program, and what it was written from."""

    content: Content


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Built]:
    """Return a function that builds the C program of a model, once."""

    @cache
    def built(name: str) -> Built:
        return compiled(content_of(name), tmp_path_factory.mktemp(name))

    return built


def compiled(content: Content, folder: Path) -> Built:
    """Write the C program of a content into a folder, and build it there."""
    name = content.mechanism.name
    (folder / f"{name}.c").write_text(c_program(content, name))
    compile_c(folder, f"{name}.c", "-o", name)
    return Built(folder, (str(folder / name),), content)


def compile_c(folder: Path, *words: str) -> None:
    """Compile without any warning; hooks are always compiled at -O2, see there."""
    options = STRICT if everything() else ["-O1" if o == "-O2" else o for o in STRICT]
    done = subprocess.run(
        ["cc", *options, *words, "-lm"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


# -- the same motion as the library's own ----------------------------------------------------------
@pytest.mark.parametrize("name", cases(MODELS, daily=["four-bar", "car"]))
def test_written_program_repeats_the_library_run(name: str, build: Callable[[str], Built]) -> None:
    """The C program compiles without warnings, and its results are the bits of the native run."""
    program = build(name)
    timing = program.content.timing
    until = 1.0 if "arm" in name else timing.until
    program.write("run.par", f"STOPT {until!r}")
    program.run("run.par", "-e", "echo.par", "-f", "final.par", "-o", "run.erd")
    echo, final = program.values("echo.par"), program.values("final.par")
    content = program.content
    items = {i.name: i for i in (*content.coordinates, *content.speeds)}
    start = {n: float(echo[n]) * i.factor for n, i in items.items()}
    phases = replace(content.phases, tick_seconds=timing.step)
    limit = {s.name: math.inf for s in phases.d if s.name == "guard.limit"}
    run = Session(
        phases,
        until,
        step=timing.step,
        method="midpoint",
        initial={**start, **limit},
        every=timing.every,
    ).run()
    for n, i in items.items():
        assert float(final[n]) * i.factor == pytest.approx(run.x[n], rel=1e-15), n
    found = read_erd(program.folder / "run.erd")
    factors = [channel.factor for channel in content.channels]
    assert np.array_equal(found.data, (run.samples.values / factors).astype(np.float32))


def test_car_has_the_step_response_of_the_thesis(build: Callable[[str], Built]) -> None:
    """Midpoint, h = .025: lateral acceleration in g, yaw rate in deg/s, roll in deg."""
    program = build("car")
    program.run("-f", "final.par")
    found = read_erd(program.folder / "car.erd")
    at = {t: round(t / found.step) for t in (0.0, 0.5, 1.0, 2.0)}
    assert found["Ay"][at[0.0]] == pytest.approx(0.109977, abs=1e-6)
    for t, ay, r in ((0.5, 0.215290, 6.22807), (1.0, 0.261443, 6.11997), (2.0, 0.269506, 6.17175)):
        assert found["Ay"][at[t]] == pytest.approx(ay, abs=1e-6)
        assert found["r"][at[t]] == pytest.approx(r, abs=1e-5)
    assert float(program.values("final.par")["roll"]) == pytest.approx(-3.03773, abs=1e-5)


def test_four_bar_is_closed_before_the_echo(build: Callable[[str], Built]) -> None:
    """The crank keeps its angle, the two computed coordinates follow; so does the strut force."""
    program = build("four-bar")
    program.write("rough.par", "b 0.5", "c -0.6", "STEP 0.0005", "IPRINT 100", "STOPT 0.1")
    program.run("rough.par", "-e", "echo.par", "-o", "rough.erd")
    echo = program.values("echo.par")
    assert float(echo["a"]) == -0.5
    assert float(echo["b"]) == pytest.approx(0.5634732703, abs=1e-10)
    assert float(echo["c"]) == pytest.approx(-0.6444917734, abs=1e-10)
    found = read_erd(program.folder / "rough.erd")
    assert found["tension"][0] == pytest.approx(2062.637507, rel=1e-7)
    assert found["a"][1] == pytest.approx(-0.224809, abs=1e-5)
    assert found["a"][2] == pytest.approx(0.205925, abs=1e-5)
    program.run("-o", "own.erd")  # the thesis corrects in every evaluation, we after every step
    assert read_erd(program.folder / "own.erd")["a"][20] == pytest.approx(0.207050, abs=3e-6)


def test_thrusters_with_memory_hold_the_spacecraft(tmp_path: Path) -> None:
    """Attitude of the slew at 5 and 10 s, mrad; the switching is right to the step."""
    content = make_content(load_model("spacecraft-1"), formulation="composite-usual")
    program = compiled(content, tmp_path)
    program.run(program.write("slew.par", "STOPT 10", "IPRINT 1"), "-o", "slew.erd")
    found = read_erd(program.folder / "slew.erd")
    for t, expected in ((5.0, (1.365, -2.074, 0.745)), (10.0, (2.251, -2.454, 1.811))):
        row = round(t / found.step)
        attitude = [1e3 * float(found[n][row]) for n in ("b.rx", "b.ry", "b.rz")]
        np.testing.assert_allclose(attitude, expected, atol=6e-4)


# -- the integrator --------------------------------------------------------------------------------
def test_evaluations_of_the_derivative(build: Callable[[str], Built]) -> None:
    """Two for each midpoint step and four for one of Runge-Kutta; CPU time."""
    program = build("car")
    begin = time.monotonic()
    done = program.run()
    passed = time.monotonic() - begin
    assert "end at t = 2 s after 80 steps and 160 evaluations" in done.stdout
    told = re.search(r"([\d.e-]+) CPU seconds, ([\d.e-]+) per simulated second", done.stdout)
    assert told is not None
    assert 0 <= float(told[1]) <= passed + 0.1
    assert float(told[2]) == pytest.approx(float(told[1]) / 2, rel=0.02)
    done = program.run(program.write("rk4.par", "METHOD rk4"))
    assert "after 80 steps and 320 evaluations" in done.stdout


def test_runge_kutta_is_of_fourth_order(build: Callable[[str], Built]) -> None:
    """Halving the step divides the error of the yaw angle by sixteen, by four for midpoint."""
    program = build("car")

    def yaw(method: str, step: float) -> float:
        program.write("order.par", f"METHOD {method}", f"STEP {step!r}", "STOPT 1")
        program.run("order.par", "-f", "order.end")
        return float(program.values("order.end")["yaw"])

    exact = yaw("rk4", 0.0005)
    for method, order in (("midpoint", 2), ("rk4", 4)):
        errors = [abs(yaw(method, h) - exact) for h in (0.02, 0.01)]
        assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


def test_steps_are_counted_not_summed(build: Callable[[str], Built]) -> None:
    """A tenth is not a binary number; still 10 s are 1000 steps of 0.01 s, and 101 samples."""
    program = build("car")
    done = program.run(
        program.write("count.par", "STEP 0.01", "STOPT 10", "IPRINT 10"), "-o", "count.erd"
    )
    assert "end at t = 10 s after 1000 steps" in done.stdout
    assert read_erd(program.folder / "count.erd").data.shape == (101, 9)


# -- parameter files -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["car", "four-bar"])
def test_echo_repeats_the_run_to_the_last_bit(name: str, build: Callable[[str], Built]) -> None:
    """Values in degrees, closed loops and a title go through the echo file unchanged."""
    program = build(name)
    own = {"car": ("STEER 1.7", "roll 0.3", "yaw_dot -0.7"), "four-bar": ("a -0.3", "K 9.1e3")}
    program.write("first.par", "TITLE A run of my own", "IPRINT 3", *own[name])
    program.run("first.par", "-e", "echo.par", "-o", "first.erd", "-f", "first.end")
    program.run("echo.par", "-e", "again.par", "-o", "again.erd", "-f", "again.end")
    folder = program.folder
    assert (folder / "first.erd.bin").read_bytes() == (folder / "again.erd.bin").read_bytes()
    assert program.values("echo.par") == program.values("again.par")
    assert program.values("first.end") == program.values("again.end")
    assert read_erd(folder / "again.erd").title == "A run of my own"
    first, again = (
        [line for line in (folder / f).read_text().splitlines() if "HISTORY" not in line]
        for f in ("first.erd", "again.erd")
    )
    assert first == again


def test_default_parameter_file_is_the_default_run(build: Callable[[str], Built]) -> None:
    """Every default can be read back, and gives the run that no file gives."""
    program = build("car")
    (program.folder / "car.par").write_text(parameter_file(program.content))
    program.run("-o", "none.erd")
    done = program.run("car.par", "-o", "file.erd")
    assert done.stderr == ""
    folder = program.folder
    assert (folder / "none.erd.bin").read_bytes() == (folder / "file.erd.bin").read_bytes()
    assert read_erd(folder / "none.erd").history[0] == "No input file (used defaults)"
    assert read_erd(folder / "file.erd").history[0] == "Input parameter file was car.par"


def test_units_are_converted_where_values_enter() -> None:
    """Users of the car see degrees, lbm and lbf/deg; the equations compute in rad and slugs."""
    items = {i.name: i for i in content_of("car").parameters}
    assert [(items[n].shown, items[n].unit) for n in ("CA1", "RBM", "THETAR", "KRS2")] == [
        (-444.0, "lbf/deg"),
        (3831.0, "lbm"),
        (5.1, "deg"),
        (-0.016, "-"),
    ]
    values = load_model("car").values
    assert all(i.shown * i.factor == values[n] for n, i in items.items())
    assert len(items) == 23
    assert "HRA" not in items


def test_files_are_included_after_the_one_that_names_them(build: Callable[[str], Built]) -> None:
    """An included file wins, stands beside the file that names it, and END ends only its own."""
    program = build("car")
    (program.folder / "parts").mkdir(exist_ok=True)
    program.write("parts/tires.par", "CA1 -500", "STEER 2", "PARSFILE more.par", "END", "CA2 7")
    program.write("parts/more.par", "  L   120   wheelbase", "Q(3) 5", "U(1) 2.5")
    program.write("main.par", "* a comment", "PARSFILE parts/tires.par", "STEER 3", "\tSPEED 900")
    done = program.run("main.par", "-e", "echo.par")
    echo = program.values("echo.par")
    assert done.stderr == ""
    names = ("CA1", "CA2", "STEER", "L", "SPEED", "yaw", "nrb.v")
    assert [float(echo[n]) for n in names] == [-500, -428, 2, 120, 900, 5, 2.5]


def test_unknown_names_warn_and_missing_includes_are_skipped(
    build: Callable[[str], Built],
) -> None:
    """A misspelled name is reported with its line, and the run goes on."""
    program = build("car")
    program.write("odd.par", "STER 2", "PARSFILE nowhere.par", "Q(9) 1")
    done = program.run("odd.par", "-e", "echo.par")
    assert done.stderr.splitlines() == [
        "warning: odd.par:2: unknown name STER",
        "warning: odd.par:4: unknown name Q(9)",
        "warning: cannot read nowhere.par, which is skipped",
    ]
    assert float(program.values("echo.par")["STEER"]) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    cases(
        [
            ("CA1 3\n", "bad.par:1: the file does not begin with PARSFILE"),
            ("", "bad.par:1: the file does not begin with PARSFILE"),
            ("PARSFILE\nCA1 three\n", "bad.par:2: no number for CA1"),
            ("PARSFILE\nCA1\n", "bad.par:2: no number for CA1"),
            ("PARSFILE\nCA1 nan\n", "bad.par:2: no number for CA1"),
            ("PARSFILE\nMETHOD euler\n", "bad.par:2: METHOD is midpoint or rk4, not euler"),
            ("PARSFILE\nSTEP 0\n", "STEP must be above zero"),
            ("PARSFILE\nIPRINT 1.5\n", "IPRINT must be a whole number of steps, 1 or more"),
            ("PARSFILE\nPARSFILE bad.par\n", "bad.par:2: more than 20 parameter files, at bad.par"),
        ],
        daily=3,
    ),
)
def test_wrong_parameter_files_are_refused(
    text: str, message: str, build: Callable[[str], Built]
) -> None:
    """The program stops with 2, names file and line, and leaves no result behind."""
    program = build("car")
    (program.folder / "bad.par").write_text(text)
    done = program.run("bad.par", "-o", "bad.erd", code=2)
    assert done.stderr == f"error: {message}\n"
    assert not list(program.folder.glob("bad.erd*"))
    with_python(program, ["bad.par", "-o", "bad.erd"], code=2, stderr=done.stderr)


def with_python(program: Built, words: list[str], *, code: int, stderr: str) -> None:
    """Let the Python program answer the same."""
    name = program.content.mechanism.name
    script = program.folder / f"{name}.py"
    if not script.exists():
        script.write_text(python_program(program.content, name))
    same = Program(program.folder, (sys.executable, str(script)))
    assert same.run(*words, code=code).stderr == stderr


def test_wrong_command_lines_and_help(build: Callable[[str], Built]) -> None:
    """Unknown options and missing files are errors; help needs nothing."""
    program = build("car")
    assert "see --help; cannot use --nope" in program.run("--nope", code=2).stderr
    assert "cannot read none.par" in program.run("none.par", code=2).stderr
    assert "usage:" in program.run("--help").stdout


def test_loops_that_do_not_close_are_an_error(tmp_path: Path) -> None:
    """A pin out of reach of two rods says so, with exit code 1; within reach all of them move."""
    m = Mechanism("reach")
    upper = m.body("upper", rotate="z", mass=1)
    lower_rod = m.body("lower", parent=upper, at=(1, 0, 0), rotate="z", mass=1)
    tip = m.point("tip", lower_rod, (1, 0, 0))
    m.parameter("D", 1.2, unit="m")
    for axis in "xy":
        m.constrain_points(tip, m.point(f"pin {axis}", None, ("D", 0, 0)), axis)
    m.set_initial(upper=0.9, lower=-1.8)
    m.state("clock", "1")
    m.set_timing(0.1, step=0.1)
    program = compiled(make_content(m), tmp_path)
    program.run("-e", "echo.par")
    assert float(program.values("echo.par")["upper"]) == pytest.approx(math.acos(0.6), abs=1e-12)
    assert float(program.values("echo.par")["lower"]) == pytest.approx(
        -2 * math.acos(0.6), abs=1e-12
    )
    done = program.run(program.write("torn.par", "D 2.1"), "-o", "torn.erd", code=1)
    assert done.stderr == "error: the loops do not close from the given initial coordinates\n"
    with_python(program, ["torn.par"], code=1, stderr=done.stderr)


def test_programs_stop_joints_at_their_limits_with_steps_of_any_size(tmp_path: Path) -> None:
    """As the library does, whatever STEP says; a start far beyond an end stop is rejected."""
    m = Robot(parse_urdf(ARM)).mechanism
    m.set_initial(START)
    m.set_timing(1.0, step=0.01, every=1)
    program = compiled(make_content(m, units="model"), tmp_path)
    program.run("-f", "final.par", "-o", "run.erd")
    wanted = simulate(m, 1.0, step=0.01, method="midpoint").final
    final = program.values("final.par")
    for item in (*program.content.coordinates, *program.content.speeds):
        assert float(final[item.name]) * item.factor == pytest.approx(wanted[item.name], abs=1e-9)
    assert wanted["shoulder"] == pytest.approx(simulate(m, 1.0).final["shoulder"], abs=0.05)
    program.write("far.par", "shoulder 150")
    done = program.run("far.par", code=2)
    assert "start within the range of the joint, not beyond its end stop: shoulder" in done.stderr
    with_python(program, ["far.par"], code=2, stderr=done.stderr)


@seldom(daily="test_loops_that_do_not_close_are_an_error")
def test_motion_without_finite_values_is_an_error(build: Callable[[str], Built]) -> None:
    """A step that is far too long ends with 1 and leaves no half-written result."""
    program = build("stanford-arm-controlled")
    program.write("long.par", "STEP 0.05")
    done = program.run("long.par", "-o", "long.erd", code=1)
    assert "no finite values" in done.stderr
    assert not list(program.folder.glob("long.erd*"))


# -- results ---------------------------------------------------------------------------------------
def test_channels_of_the_car_and_the_four_bar(build: Callable[[str], Built]) -> None:
    """Nine and seven channels, with the labels that plots need."""
    car = build("car")
    car.run()
    channels = read_erd(car.folder / "car.erd").channels
    shorts = ["Ay", "r", "alphaf", "alphar", "FY1", "FY2", "MZ1", "MZ2", "ROLLM"]
    assert [c.short for c in channels] == shorts
    assert channels[1] == ErdChannel(
        "r", "yaw rate", "deg/s", "Angular Speed", "body that does not roll"
    )
    assert channels[0].unit == "g's"
    assert channels[0].general == "Translational Acceleration"
    assert channels[8].general == "Moment"
    assert channels[8].body == "body that rolls"
    four_bar = content_of("four-bar").channels
    assert [c.short for c in four_bar] == ["tension", "X", "Y", "a", "b", "c", "tilt"]
    general = [c.general for c in four_bar]
    assert general[2:4] == ["Translation", "Rotation"]
    assert general[6] == "Rotation Angle"
    assert four_bar[4].doc == "Rot. of b rel. to a, axis z"


def test_erd_header_and_data_have_the_layout_of_the_format(
    build: Callable[[str], Built],
) -> None:
    """The records of the header character by character, the data byte by byte."""
    program = build("car")
    program.run(program.write("erd.par", "TITLE t", "STOPT 0.1"), "-o", "erd")
    lines = (program.folder / "erd").read_text().splitlines()
    assert lines[:3] == [
        "ERDFILEV2.00",
        "     9,     3,     3,    36,     1,         0.05",
        "TITLE   t",
    ]
    keys = [line[:8] for line in lines[3:]]
    widths = {"SHORTNAM": 8, "LONGNAME": 32, "UNITSNAM": 8, "GENNAME ": 32, "RIGIBODY": 32}
    assert keys[:5] == list(widths)
    assert [len(line) for line in lines[3:8]] == [8 + 9 * w for w in widths.values()]
    assert lines[8:11] == [
        "XLABEL  Time",
        "XUNITS  sec",
        "HISTORY Input parameter file was erd.par",
    ]
    assert lines[-1] == "END"
    data = (program.folder / "erd.bin").read_bytes()
    assert len(data) == 3 * 36
    assert np.frombuffer(data[:4], "<f4")[0] == pytest.approx(0.109977, abs=1e-6)


def test_erd_files_go_through_the_reader(tmp_path: Path) -> None:
    """What is written is read again, labels cut to their fields; damage is an error."""
    labels = (ErdChannel("a", "long " * 10, "N", "Force", "body"), ErdChannel("b"))
    data = np.arange(6, dtype=np.float32).reshape(3, 2)
    write_erd(tmp_path / "x.erd", ErdFile(labels, data, 0.25, "title", ("made here",)))
    found = read_erd(tmp_path / "x.erd")
    assert found.channels[0].long == ("long " * 10)[:32].strip()
    assert (found.title, found.history, found.step) == ("title", ("made here",), 0.25)
    assert np.array_equal(found.data, data)
    with pytest.raises(Error, match="there is no channel 'c'; there are a, b"):
        found["c"]
    (tmp_path / "x.erd.bin").write_bytes(b"1234")
    with pytest.raises(Error, match="have 4 bytes, not 4 for each of 3 samples of 2 channels"):
        read_erd(tmp_path / "x.erd")
    (tmp_path / "x.erd.bin").unlink()
    with pytest.raises(Error, match="data are not there"):
        read_erd(tmp_path / "x.erd")
    (tmp_path / "x.erd").write_text("ERDFILEV2.00\n 1, 2\n")
    with pytest.raises(Error, match=r"x\.erd:2: the second record is not six numbers"):
        read_erd(tmp_path / "x.erd")
    (tmp_path / "x.erd").write_text("PARSFILE\n")
    with pytest.raises(Error, match="does not begin with ERDFILE"):
        read_erd(tmp_path / "x.erd")


# -- the text --------------------------------------------------------------------------------------
def test_header_documents_the_model() -> None:
    """Bodies, states, constraints, loads, parameters and counts stand at the head."""
    text = c_program(content_of("cart"), "cart")
    head = text[: text.index("*/")]
    for line in (
        "rrw (right rear wheel): parent b; coordinates: rrw",
        "Q(4) steer = 0.25 rad: Rot. of f rel. to b, axis z",
        "push (push at the rear axle): F along b.x",
        "MW = 1.0 kg: mass of a wheel",
        "it eliminates rrw_dot",
        "is redundant, and left out",
        "steer rate (rad/s): steer rate",
    ):
        assert line in head
    assert head.count("is redundant") == 2
    assert content_of("cart").phases.derivative.fingerprint() in head


@pytest.mark.parametrize("name", cases(["car", "stanford-arm-controlled"], daily=["car"]))
def test_counts_of_the_header_are_those_of_the_text(name: str) -> None:
    """Operators in the text of the derivative are as many as the head says."""
    content = make_content(load_model(name), fuse=False)
    text = c_program(content, name)
    start = text.index("static void equations_derivative")
    body = text[text.index("{", start) : text.index("\n}", start)]
    body = re.sub(r"/\*.*?\*/", "", body)
    counts = count_operations(content.phases.derivative)
    calls = len(re.findall(r"\blw_(?:sin|cos|atan2)\(", body))
    found = (len(re.findall(r" [+-] ", body)), len(re.findall(r"[*/]", body)), calls)
    assert found == (counts.add, counts.mul, counts.call)
    row = f"derivative    {counts.add:8}{counts.mul:8}{counts.call:8}{counts.select:8}"
    assert row in text


def test_constants_and_the_rest_are_the_program() -> None:
    """What depends on parameters alone, then the rest, give what the whole Program gives."""
    content = content_of("car")
    generator = np.random.default_rng(11)
    given = {
        "x": generator.uniform(-0.3, 0.3, 7),
        "d": np.zeros(0),
        "p": np.array([i.shown * i.factor for i in content.parameters]),
        "w": np.zeros(len(content.inputs)),
        "t": np.zeros(1),
    }
    wholes = {"step": content.phases.derivative, "output": content.phases.output}
    for name, constants, rest in content.programs:
        whole = wholes[name]
        assert whole is not None
        (kept,) = interpret(lower(constants), [given["p"]])
        split = {**given, "p": kept}
        (found,) = interpret(lower(rest), [split[port.name] for port in rest.inputs])
        (wanted,) = interpret(lower(whole), [given[port.name] for port in whole.inputs])
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_what_only_outputs_need_is_not_in_the_derivative() -> None:
    """The outputs of the car take operations, none of them among those of its derivative."""
    e = derive(load_model("car"))
    alone, both = (optimize(e.program(outputs=x)) for x in (False, True))
    assert stage_counts(both)[Rate.OUTPUT].total > 0
    assert count_operations(both).total <= count_operations(alone).total
    written = content_of("car").phases
    assert written.output is not None
    assert count_operations(written.output).total > 0
    bare = make_content(load_model("car").with_outputs(())).phases
    assert count_operations(written.derivative) == count_operations(bare.derivative)


def test_optimized_outputs_do_not_change_the_derivative() -> None:
    """Names that passes give out anew are not mistaken for those of the plain Program."""
    m = load_model("slider-crank")
    plain = derive(m).program()
    generator = np.random.default_rng(5)
    given = [
        np.array([m.values[x.name] for x in port.entries])
        if port.name == "p"
        else generator.uniform(-0.5, 0.5, port.shape)
        for port in plain.inputs
    ]
    expected = interpret(lower(plain), given)
    for x, y in zip(interpret(lower(optimize(plain)), given), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_written_text_is_the_same_in_every_run() -> None:
    """The same model gives the same bytes."""
    again = make_content(load_model("car"))
    assert c_program(again, "car") == c_program(content_of("car"), "car")
    assert python_program(again, "car") == python_program(content_of("car"), "car")


# -- Python, kernels, hooks ------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["car", "four-bar"])
def test_python_program_equals_the_c_program(name: str, build: Callable[[str], Built]) -> None:
    """The same values at the end, the same echo, the same results."""
    c = build(name)
    script = c.folder / f"{name}.py"
    script.write_text(python_program(c.content, name))
    python = Program(c.folder, (sys.executable, str(script)))
    source = c.write("both.par", "TITLE both", f"STOPT {min(c.content.timing.until, 2.0)!r}")
    c.run(source, "-e", "c.par", "-f", "c.end", "-o", "c.erd")
    python.run(source, "-e", "python.par", "-f", "python.end", "-o", "python.erd")
    for one, other in (("c.par", "python.par"), ("c.end", "python.end")):
        first, second = c.values(one), c.values(other)
        assert first.keys() == second.keys()
        for n in first.keys() - {"TITLE", "METHOD"}:
            assert float(first[n]) == pytest.approx(float(second[n]), rel=1e-10, abs=1e-12), n
    a, b = read_erd(c.folder / "c.erd"), read_erd(c.folder / "python.erd")
    assert (a.channels, a.title, a.step) == (b.channels, b.title, b.step)
    np.testing.assert_allclose(a.data, b.data, rtol=3e-7, atol=1e-9)


def test_kernel_gives_the_derivatives_of_the_thesis(tmp_path: Path) -> None:
    """The bare functions, called as firmware would: rest, and a state with roll and yaw."""
    done = codegen(load_model("car"), tmp_path, target="kernel")
    assert [path.name for path in done.files] == ["car.h", "car.c"]
    compile_c(tmp_path, "-fPIC", "-shared", "car.c", "-o", "car.so")
    library = ctypes.CDLL(str(tmp_path / "car.so"))
    sizes = dict(re.findall(r"car_size_(\w+) = (\d+)", (tmp_path / "car.h").read_text()))
    array = {n: (ctypes.c_double * max(int(k), 1))() for n, k in sizes.items()}
    rates = (ctypes.c_double * 7)()
    defaults = (ctypes.c_double * 23).in_dll(library, "car_defaults")
    t = (ctypes.c_double * 1)()
    x, d, w, y = (array[name] for name in "xdwy")
    library.car_prepare(defaults, array["constants"])
    library.car_prepare_output(defaults, array["constants_output"])

    def derivative(*states: float) -> list[float]:
        x[:] = list(states)
        library.car_derivative(x, d, array["constants"], w, t, rates)
        return list(rates)[4:]

    inch = 0.0254
    rest = derivative(0, 0, 0, 0, 0, 0, 0)
    wanted = [12.4409473909 * inch, 0.7620956764, -1.2365734163]
    np.testing.assert_allclose(rest, wanted, rtol=1e-10)
    turning = derivative(0, 0, 0.3, 0.05, 20 * inch, 0.1, 0.2)
    np.testing.assert_allclose(turning, [-165.058680 * inch, 0.407115822, -1.38694910], rtol=1e-8)
    np.testing.assert_allclose(np.array(rates[:2]) / inch, [918.855317, 305.170290], rtol=1e-8)
    library.car_output(x, d, array["constants_output"], w, t, y)
    assert y[1] == pytest.approx(0.1)


_HOOKS = """
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static double limit = 1.0, last = -1.0, now = 0.0;
static long updates = 0, rates = 0, steady = 1;
static void see(double t)
{
    steady = steady && t > now - 1e-12;
    now = t;
}
int hook_input(const char *keyword, const char *value)
{
    if (strcmp(keyword, "LIMIT") != 0) return 0;
    limit = atof(value);
    return 1;
}
void hook_init(double t, double *q, double *u, double *p, double *w)
{
    (void)u, (void)p, (void)w;
    see(t);
    q[0] = 0.5;
}
void hook_echo(FILE *file) { fprintf(file, "LIMIT %.17g\\n", limit); }
void hook_difeqn(double t, const double *q, const double *u, const double *p, double *w)
{
    (void)p;
    see(t);
    ++rates;
    w[0] = fmax(-limit, fmin(limit, -4.0*q[0] - u[0]));
}
void hook_output(double t, const double *q, const double *u, double *y)
{
    (void)q, (void)u;
    see(t);
    y[1] = (double)rates;
}
int hook_update(double t, double *q, double *u, double *p, double *w)
{
    (void)q, (void)u, (void)p, (void)w;
    see(t);
    steady = steady && t > last;
    last = t;
    ++updates;
    if (updates == 100) fprintf(stderr, "updates %ld steady %ld to %g\\n", updates, steady, t);
    return 0;
}
"""


def test_hooks_are_called_at_their_places(tmp_path: Path) -> None:
    """A limited controller as foreign code: its input, keyword, echo, output, once a step."""
    m = Mechanism("servo")
    wheel = m.body("wheel", rotate="z", mass=1, inertia=(1, 1, 1))
    m.moment("motor", m.input("tau", unit="N*m"), on=wheel, about="z")
    m.output("angle", "wheel", unit="rad")
    m.output("calls", "tau")
    m.set_timing(1, step=0.01)
    codegen(m, tmp_path)
    (tmp_path / "hooks.c").write_text(_HOOKS)
    subprocess.run(
        ["make", "HOOKS=hooks.c", f"CFLAGS={' '.join(STRICT)}"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    program = Program(tmp_path, (str(tmp_path / "servo"),))
    program.write("servo.par", "LIMIT 0.5")
    done = program.run("servo.par", "-e", "echo.par", "-f", "final.par")
    assert done.stderr == "updates 100 steady 1 to 1\n"
    assert program.values("echo.par")["LIMIT"] == "0.5"
    assert float(program.values("echo.par")["wheel"]) == 0.5

    def slope(x: np.ndarray) -> np.ndarray:
        return np.array([x[1], np.clip(-4 * x[0] - x[1], -0.5, 0.5)])

    x = np.array([0.5, 0.0])
    for _ in range(100):
        x = x + 0.01 * slope(x + 0.005 * slope(x))
    final = program.values("final.par")
    assert [float(final["wheel"]), float(final["wheel_dot"])] == pytest.approx(list(x), rel=1e-12)
    assert read_erd(tmp_path / "servo.erd")["calls"].tolist() == [2 * k for k in range(101)]
    done = program.run("echo.par", "-e", "again.par")
    assert program.values("again.par") == program.values("echo.par")


@pytest.mark.parametrize("source", ["", "double tire(double a, double b){ return a*b; }"])
def test_foreign_functions_are_put_in_or_linked(source: str, tmp_path: Path) -> None:
    """With its source it is part of the program; without it, C says what to link."""
    tire = foreign("tire", 2, python=lambda a, b: a * b, c_source=source)
    m = Mechanism("rig")
    b = m.body("b", translate="x", mass=2)
    m.force("grip", tire(m.coordinates["b"], m.parameter("k", -3.0)), at=b.origin, along="x")
    m.set_initial(b=1)
    m.set_timing(1, step=0.1)
    done = codegen(m, tmp_path / "c", fuse=False)
    (tmp_path / "c" / "tire.c").write_text("double user_tire(double a, double b){ return a*b; }")
    if not source:
        assert "double user_tire(double x0, double x1)" in done.commands[0]
    compile_c(tmp_path / "c", "rig.c", *["tire.c"] * (not source), "-o", "rig")
    program = Program(tmp_path / "c", (str(tmp_path / "c" / "rig"),))
    program.run("-f", "final.par")
    x = np.array([1.0, 0.0])
    a = np.array([[0, 1], [-1.5, 0]])
    for _ in range(10):
        x = x + 0.1 * a @ (x + 0.05 * a @ x)
    assert float(program.values("final.par")["b"]) == pytest.approx(x[0], rel=1e-13)
    if not source:
        with pytest.raises(Error, match="'tire' has no source"):
            codegen(m, tmp_path / "python", target="python")
        return
    codegen(m, tmp_path / "python", target="python")
    python = Program(tmp_path / "python", (sys.executable, "rig.py"))
    python.run("-f", "final.par")
    assert python.values("final.par") == program.values("final.par")


def test_free_body_with_quaternion_keeps_unit_length(tmp_path: Path) -> None:
    """Unit length is a relation of position: a tumbling body keeps it through 500 steps."""
    from linkwright.mechanism import Free

    m = Mechanism("tumbler")
    m.body("b", joint=Free(quaternion=True), mass=1, inertia=(1, 2, 3))
    m.set_initial({"b.p": 0.3, "b.q": 2.0, "b.r": 0.1})
    m.set_timing(5, step=0.01, every=10)
    program = compiled(make_content(m, formulation="composite-usual"), tmp_path)
    program.run("-f", "final.par")
    final = program.values("final.par")
    assert sum(float(final[f"b.e{k}"]) ** 2 for k in range(4)) == pytest.approx(1, abs=1e-14)
    spin = [i * float(final[n]) for i, n in zip((1, 2, 3), ("b.p", "b.q", "b.r"), strict=True)]
    assert math.hypot(*spin) == pytest.approx(math.hypot(0.3, 4.0, 0.3), rel=1e-4)


# -- the command -----------------------------------------------------------------------------------
def test_command_writes_and_refuses_to_replace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what it wrote and how to run it; files that are there stay, hooks.c in any case."""
    folder = tmp_path / "out"
    words = ["codegen", "pendulum", "-o", str(folder), "--set", "L=2", "--set", "STOPT=3"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "pendulum.c" in shown
    assert "make" in shown
    assert re.search(r"^L +2 ", (folder / "pendulum.par").read_text(), re.MULTILINE)
    assert re.search(r"^STOPT +3 ", (folder / "pendulum.par").read_text(), re.MULTILINE)
    (folder / "hooks.c").write_text("mine")
    assert main(words) == 2
    assert "pendulum.c" in capsys.readouterr().err
    assert main([*words, "--force"]) == 0
    assert (folder / "hooks.c").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pendulum", "--target", "fortran"], "there is no target 'fortran'"),
        (["pendulum", "--set", "LL=2"], "no parameter 'LL'"),
        (["pendulum", "--set", "STEP=-1"], "cannot go in steps"),
        (["pendulum", "--channels", "smells"], "no quantities 'smells'"),
        (["pendulum", "--units", "furlongs"], "no style of units"),
        (["pendulun"], "did you mean 'pendulum'"),
    ],
)
def test_command_refuses_what_it_cannot_write(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, one line, and nothing is written."""
    assert main(["codegen", *words, "-o", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_command_writes_python_and_kernels(tmp_path: Path) -> None:
    """Both run or compile as they come."""
    assert main(["codegen", "pendulum", "-o", str(tmp_path / "p"), "--target", "python"]) == 0
    done = subprocess.run(
        [sys.executable, "pendulum.py", "pendulum.par"],
        cwd=tmp_path / "p",
        check=True,
        capture_output=True,
        text=True,
    )
    assert "end at t = 10 s" in done.stdout
    assert main(["codegen", "pendulum", "-o", str(tmp_path / "k"), "--target", "kernel"]) == 0
    compile_c(tmp_path / "k", "-c", "pendulum.c")


def test_names_of_the_program_are_no_parameters() -> None:
    """A parameter that is called like a keyword of parameter files is refused."""
    m = Mechanism("m")
    m.body("b", rotate="z", mass="STEP", com=(1, 0, 0))
    m.gravity(along="-y")
    with pytest.raises(Error, match="'STEP' is a keyword"):
        make_content(m)


def test_kernel_and_program_names_are_identifiers() -> None:
    """A model with a dash gives functions that C can name."""
    header, source = c_kernel(make_content(load_model("pendulum")), "my-2.pendulum")
    assert "void my_2_pendulum_derivative(" in header
    assert '#include "my-2.pendulum.h"' in source


# -- whole Systems ---------------------------------------------------------------------------------
def test_program_of_a_system_has_the_bits_of_the_native_run(tmp_path: Path) -> None:
    """Ticks at three rates, noise, a delay, memory, bounces, an end between ticks; each method."""
    system = busy_system(python=False)
    others = ("semi-implicit", "implicit-speeds", "verlet")  # midpoint and rk4 have their own tests
    methods = tuple(cases(("midpoint", "rk4", *others), daily=others))
    done = codegen(system, tmp_path, methods=methods)
    assert [path.name for path in done.files][:2] == ["busy.c", "busy.par"]
    compile_c(tmp_path, "busy.c", "-o", "busy")
    content = make_content(system, methods=methods)
    program = Program(tmp_path, (str(tmp_path / "busy"),))
    common = ("SEED 7", "STOPT 1.4057", "IPRINT 3", "STEP 0.0015")
    settings: dict[str, Any] = {"seed": 7, "every": 3, "step": 0.0015}
    for method in methods:
        program.write("run.par", f"METHOD {method}", *common)
        told = program.run("run.par", "-o", "run.erd", "-f", "final.par", "-e", "echo.par").stdout
        run = Session(content.phases, 1.4057, method=method, **settings).run()
        assert run.events
        events = [f"{e.name} at t = {e.time:.10g} s" for e in run.events]
        assert [line for line in told.splitlines() if line.startswith("ball.")] == events
        final = program.values("final.par")
        ends = {**run.x, **run.d}
        assert {n: float(final[n]) for n in ends} == ends, method
        found = read_erd(tmp_path / "run.erd")
        assert np.array_equal(found.data, run.samples.values[:-1].astype(np.float32))
        assert f"the end, t = {run.time:.9g} s" in " ".join(found.history)
        program.run("echo.par", "-o", "again.erd")
        assert (tmp_path / "run.erd.bin").read_bytes() == (tmp_path / "again.erd.bin").read_bytes()


def test_python_program_of_a_system_goes_through_the_same_run(tmp_path: Path) -> None:
    """The same events and states as natively, to rounding, in a script that needs only NumPy."""
    system = busy_system(python=False)
    codegen(system, tmp_path, target="python", methods=["rk4"])
    content = make_content(system, methods=["rk4"])
    program = Program(tmp_path, (sys.executable, "-I", str(tmp_path / "busy.py")))
    program.write("run.par", "SEED 7", "STOPT 1")
    program.run("run.par", "-f", "final.par")
    run = Session(content.phases, 1.0, method="rk4", seed=7, every=content.timing.every).run()
    final = program.values("final.par")
    for name, value in {**run.x, **run.d}.items():
        assert float(final[name]) == pytest.approx(value, abs=1e-9), name
    assert read_erd(tmp_path / "busy.erd").data.shape == run.samples.values.shape


def test_starts_that_depend_on_parameters_follow_them(tmp_path: Path) -> None:
    """A member that starts where a parameter says does so with another value, unless told."""
    system = System(name="tank")
    block = Block("level")
    high = block.parameter("high", 2.0)
    block.output("y", block.state("x", "-x", high / 2))
    system.add(block)
    codegen(system, tmp_path)
    compile_c(tmp_path, "tank.c", "-o", "tank")
    program = Program(tmp_path, (str(tmp_path / "tank"),))
    for lines, start in (
        ((), 1.0),
        (("level.high 6",), 3.0),
        (("level.high 6", "level.x 0.5"), 0.5),
    ):
        program.run(program.write("run.par", "STOPT 0.1", *lines), "-e", "echo.par")
        assert float(program.values("echo.par")["level.x"]) == start


def test_command_writes_a_system_from_one_text_file(tmp_path: Path) -> None:
    """Plant and controllers with the bits of the native run; the servo alone as firmware."""
    model, folder = tmp_path / "board.toml", tmp_path / "c"
    assert main(["model", "new", "board", "--template", "servo", "-o", str(model)]) == 0
    assert main(["codegen", str(model), "-o", str(folder), "--methods", "rk4"]) == 0
    compile_c(folder, "board.c", "-o", "board")
    content = make_content(opened(str(model)), methods=["rk4"])
    program = Program(folder, (str(folder / "board"),))
    program.run(program.write("run.par", "STOPT 0.5"), "-f", "final.par")
    run = Session(content.phases, 0.5, method="rk4", every=content.timing.every).run()
    final = program.values("final.par")
    ends = {**run.x, **run.d}
    assert {n: float(final[n]) for n in ends} == ends
    words = ["--target", "firmware", "--controller", "servo", "-o", str(tmp_path / "fw")]
    assert main(["codegen", str(model), *words]) == 0
    compile_c(tmp_path / "fw", "-Wconversion", "-c", "board.c")
    header = (tmp_path / "fw" / "board.h").read_text()
    assert "double encoder_" in header[header.index("what is measured") : header.index("_inputs;")]
    assert main(["codegen", str(model), *words[:3], "nobody", "-o", str(tmp_path / "no")]) == 2
    assert not (tmp_path / "no").exists()


def test_what_no_program_can_hold_is_refused(tmp_path: Path) -> None:
    for target in ("c", "python"):
        with pytest.raises(Error, match="'script' is a Python function"):
            codegen(busy_system(), tmp_path / "out", target=target)
    with pytest.raises(Error, match="fixed steps, and dopri5 does not"):
        codegen(busy_system(python=False), tmp_path / "out", methods=["dopri5"])
    assert not (tmp_path / "out").exists()
