"""The commands about models: models, show, ops."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from linkwright.cli import main
from linkwright.equations import derive
from linkwright.equations.description import describe
from linkwright.equations.latex_report import latex_report
from linkwright.equations.meanings import parameter_units, parameter_words
from linkwright.mechanism import Mechanism, mechanism_of
from linkwright.models import MODELS
from linkwright.program.passes import PASSES
from tests.support.shipped_models import SMALL

COMPOSITE = ("--formulation", "composite-usual")  # one without search is quicker than the others


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command that must succeed in silence, and return what it printed."""
    assert main(list(words)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command that must fail with one line, and return that line."""
    assert main(list(words)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err.rstrip("\n")


def table(text: str, title: str) -> list[str]:
    """Return the rows of a titled table, without its header."""
    block = text.split(f"\n{title}\n", 1)[1].split("\n\n", 1)[0]
    return block.splitlines()[1:]


# -- models ----------------------------------------------------------------------------------------
def test_models_lists_each_with_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "model", "list").splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(MODELS)
    assert all(len(line) <= 110 for line in lines)
    assert next(line for line in lines if line.startswith("n-four-bar")).endswith("n=2")


def test_models_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(run(capsys, "model", "list", "--json"))
    assert [model["name"] for model in told] == list(MODELS)
    by_name = {model["name"]: model for model in told}
    assert by_name["puma560"]["options"] == ["drives=on", "wrist=3r"]
    assert by_name["pendulum"]["description"]


# -- show ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SMALL)
def test_show_names_everything_in_a_model(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "model", "describe", name, *COMPOSITE)
    m = mechanism_of(name)
    named = (*m.bodies, *m.points, *m.coordinates, *m.parameters, *m.inputs)
    missing = [x for x in named if not re.search(rf"^{re.escape(x)}\s", out, re.MULTILINE)]
    assert missing == []
    for constraint in m.constraints:
        assert f"\n{constraint.name}  " in out


def test_show_says_what_constraints_eliminate(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "model", "describe", "cart", *COMPOSITE)
    assert "6 bodies, 8 coordinates, 8 constraints (2 redundant), 2 degrees of freedom" in out
    rows = {row[:17].rstrip(): row for row in table(out, "constraints")}
    assert "  rrw_dot  " in rows["rrw rolls"]
    assert "nothing: redundant" in rows["lrw does not slip"]
    speeds = {row.split()[0]: row for row in table(out, "speeds")}
    assert "eliminated by rrw does not slip" in speeds["yaw_dot"]
    assert "independent" in speeds["b.u"]


def test_show_marks_parameters_without_effect(capsys: pytest.CaptureFixture[str]) -> None:
    rows = table(run(capsys, "model", "describe", "stanford-arm", *COMPOSITE), "parameters")
    idle = [row.split()[0] for row in rows if row.endswith("no effect")]
    assert idle == ["MA"]


def test_show_uses_values_that_are_set(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(
        capsys, "model", "describe", "whipple", *COMPOSITE, "--set", "v=6", "--set", "mB = 90"
    )
    parameters = {row.split()[0]: row.split()[1] for row in table(out, "parameters")}
    assert (parameters["v"], parameters["mB"]) == ("6", "90")
    speeds = {row.split()[0]: row.split() for row in table(out, "speeds")}
    assert speeds["theta_R_dot"][2] == "-20"


def test_show_equations_are_a_listing_that_computes(capsys: pytest.CaptureFixture[str]) -> None:
    """The printed lines, evaluated as Python in order, give the accelerations."""
    import math

    out = run(capsys, "model", "describe", "stanford-arm", *COMPOSITE, "--equations")
    listing = out[out.index("\nconstants\n") :]
    m = MODELS["stanford-arm"].builder()()
    known: dict[str, float] = dict(m.values)
    q, u = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.7, -0.8, 0.9, -1, 1.1, -1.2]
    known |= dict(zip("abcdef", q, strict=True))
    known |= dict(zip([f"{x}_dot" for x in "abcdef"], u, strict=True))
    functions = {"sin": math.sin, "cos": math.cos, "sqrt": math.sqrt}
    for line in listing.splitlines():
        if not line.startswith("  "):
            continue
        name, value = line.split(" = ")
        key = name.strip().replace("'", "_prime")
        known[key] = _value(value, {**functions, **known})
    wanted = (
        -1.8387701184,
        3.9205186867,
        -9.2911155187,
        18.035202185,
        -2.2476184599,
        -15.5278301809,
    )
    found = [known[f"{x}_dot_prime"] for x in "abcdef"]
    assert found == pytest.approx(wanted, rel=1e-9)


def _value(text: str, names: dict[str, object]) -> float:
    """Read a printed expression with our own language and evaluate it."""
    from linkwright.algebra import evaluate, free_symbols, parse, symbol

    class Scope:
        def lookup(self, kind: str, name: str) -> object:
            return symbol(name) if kind == "value" else None

        def names(self, kind: str) -> list[str]:
            return []

    expr = parse(text, Scope())
    return float(evaluate(expr, {x: names[x.name] for x in free_symbols(expr)}))


def check_latex(source: str) -> None:
    """Brackets and environments of a document balance, line by line where TeX wants that."""
    assert source.startswith("\\documentclass")
    assert source.endswith("\\end{document}\n")
    opened = re.findall(r"\\begin\{(.*?)\}", source)
    assert sorted(opened) == sorted(re.findall(r"\\end\{(.*?)\}", source))
    for environment in re.findall(r"\\begin\{align\*\}\n(.*?)\n\\end", source, re.DOTALL):
        for line in environment.split(" \\\\\n"):
            assert line.count(r"\left") == line.count(r"\right")
            assert line.count(r"\begin") == line.count(r"\end")
            assert line.count("{") == line.count("}")
            assert line.count("&=") + line.startswith(r"&\quad") == 1


def test_show_writes_a_latex_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "report.tex"
    told = run(capsys, "model", "describe", "four-bar", *COMPOSITE, "--latex", str(file))
    assert told == f"report: {file}\n"
    source = file.read_text(encoding="utf-8")
    check_latex(source)
    assert r"\dot{a} &= \dot{a}" in source
    assert "strut" in source


def test_latex_report_of_branches_and_odd_names() -> None:
    m = Mechanism("odd_name & more", "50 % of #1")
    b = m.body("b", translate="x")
    long = " + ".join(f"k{i}*sin({i}*b)" for i in range(20))
    m.force("f", f"where(b > 0, K*b + c_1*b_dot, {long})", at=b.origin, along="x")
    source = latex_report(derive(m))
    check_latex(source)
    assert r"\begin{cases}" in source
    assert r"50 \% of \#1" in source


# -- ops -------------------------------------------------------------------------------------------
def test_ops_json_has_the_promised_form(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(run(capsys, "analyze", "ops", "cart", "--json"))
    assert set(told) == {"derivative", "stages", "parameters"}
    assert told["derivative"].keys() >= {"add", "mul", "call"}
    moving = [v for k, v in told["stages"].items() if k not in ("parameter", "output")]
    for kind in ("add", "mul", "call"):
        assert told["derivative"][kind] == sum(stage[kind] for stage in moving)
    assert told["derivative"]["call"] == 4
    assert told["parameters"] == 14


def test_ops_table_agrees_with_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(run(capsys, "analyze", "ops", "double-pendulum", *COMPOSITE, "--json"))
    rows = {
        row.split()[0]: row.split()[1:]
        for row in run(capsys, "analyze", "ops", "double-pendulum", *COMPOSITE).splitlines()[1:]
    }
    for stage in ("parameter", "configuration", "velocity", "output"):
        assert rows[stage] == [str(n) for n in told["stages"][stage].values()]
    assert rows["derivative"] == [str(n) for n in told["derivative"].values()]


def test_ops_shows_what_passes_do(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "analyze", "ops", "pendulum", "--passes")
    assert [row.split()[0] for row in table(out, "after each pass")] == ["start", *PASSES]
    told = json.loads(run(capsys, "analyze", "ops", "pendulum", "--passes", "--json"))
    assert [row["pass"] for row in told["passes"]] == ["start", *PASSES]


def test_ops_takes_options_and_formulations(capsys: pytest.CaptureFixture[str]) -> None:
    few, many = (
        json.loads(run(capsys, "analyze", "ops", f"n-four-bar:n={n}", "--json", *COMPOSITE))
        for n in (1, 2)
    )
    assert few["derivative"]["mul"] < many["derivative"]["mul"]
    assert few["derivative"]["call"] == 6


# -- errors ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model", "describe", "carr"], "error: there is no model 'carr'; did you mean 'car'?"),
        (["analyze", "ops", "cart", "--set", "L9=3"], "error: 'cart' has no parameter 'L9'"),
        (["analyze", "ops", "car", "--set", "SPEDE=3"], "did you mean 'SPEED'?"),
        (["analyze", "ops", "cart", "--set", "L1"], "error: --set 'L1' is not NAME=VALUE"),
        (
            ["analyze", "ops", "cart", "--set", "L1=long"],
            "error: --set L1 is 'long', which is not a number",
        ),
        (
            ["analyze", "ops", "cart", "--formulation", "fast"],
            "error: there is no formulation 'fast'",
        ),
        (["model", "describe", "missing.toml"], "error: there is no file 'missing.toml'"),
        (
            ["model", "describe", "n-four-bar:n=x"],
            "option 'n' of model 'n-four-bar' is a whole number",
        ),
        (
            ["model", "describe", "pendulum", "--latex", "/nowhere/at/all.tex"],
            "the file cannot be written",
        ),
    ],
)
def test_errors_are_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(capsys, *words)


# -- text models and deduction ---------------------------------------------------------------------
TEXT = """\
format = 1
name = "swing"
[options]
n = 1
[parameters]
L = { value = 2 }
M = { value = 3 }
c = { value = 0.1 }
[gravity]
along = "-y"
[[body]]
name = "rod"
rotate = "z"
mass = "M"
com = [0, "-L", 0]
inertia = 0
[[moment]]
name = "brake"
magnitude = "-c*rod_dot"
on = "rod"
about = "z"
"""


def test_commands_read_text_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "swing.toml"
    file.write_text(TEXT)
    rows = {
        row.split()[0]: row.split()[1:]
        for row in table(run(capsys, "model", "describe", str(file)), "parameters")
    }
    assert rows["L"][:2] == ["2", "m"]
    assert rows["M"][:2] == ["3", "kg"]
    assert rows["c"][1] == "N*m*s/rad"
    assert (
        json.loads(run(capsys, "analyze", "ops", f"{file}:n=1", "--json"))["derivative"]["call"]
        == 1
    )


def test_names_and_units_of_parameters_are_deduced() -> None:
    m = Mechanism("m")
    b = m.body("b", translate="xy", rotate="z", com=("H", 0, 0))
    tip = m.point("tip", b, ("L/2", 0, 0))
    m.strut("spring", "-K*(x - L0) - D*v", at=tip, doc="spring")
    m.moment("drive", "A*sin(w*t)", on=b, about="z")
    words, units = parameter_words(m), parameter_units(m)
    assert words["b_m"] == "mass of b"
    assert words["b_Izz"] == "moment of inertia zz of b"
    assert words["H"] == "mass center of b, x"
    assert words["L"] == "part of place of tip on b along b.x"
    assert words["K"] == "in force spring"
    assert {k: units[k] for k in ("K", "D", "L0", "A", "w", "H", "b_m")} == {
        "K": "N/m",
        "D": "N*s/m",
        "L0": "m",
        "A": "N*m",
        "w": "rad/s",
        "H": "m",
        "b_m": "kg",
    }


def test_a_unit_that_cannot_be_known_is_a_question_mark() -> None:
    m = Mechanism("m")
    b = m.body("b", translate="x")
    m.force("f", "G*H*b", at=b.origin, along="x")
    units = parameter_units(m)
    assert (units["G"], units["H"]) == ("?", "?")


def test_empty_sections_are_left_out() -> None:
    m = Mechanism("m")
    m.body("b", translate="x", mass=1, inertia=0)
    assert [s.title for s in describe(derive(m))] == ["bodies", "coordinates", "speeds"]
