"""AUTOSIM's Lisp: the six systems of the thesis against its numbers, and mistakes in files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.equations import derive
from linkwright.equations.evaluation import Evaluator, all_values
from linkwright.formats.autosim.reader import ReadSystem, read_autosim
from linkwright.mechanism import Mechanism
from tests.seeds import cases

FOLDER = Path(__file__).parent / "autosim"
INCH = np.array([0.0254, 1, 1])


@cache
def read(name: str) -> ReadSystem:
    return read_autosim(FOLDER / f"{name}.lsp")


def accelerations(
    m: Mechanism, q: list[float], u: list[float], values: dict[str, float] | None = None
) -> np.ndarray:
    equations = derive(m, "kane")
    known = all_values(m, values)
    made = Evaluator(m, equations.program(outputs=False), known, backend="python")
    return np.asarray(made(q=np.array(q, float), u=np.array(u, float))[1])


SC1 = {"CLKCMD": 3.9, "CAMCMD": -0.45, "THRUST_1": 1.0, "THRUST_2": 0.0, "THRUST_3": -1.0}
ARM_U = [0.7, -0.8, 0.9, -1, 1.1, -1.2]
ORACLES: dict[str, tuple[list[float], list[float], dict[str, float], list[float]]] = {
    "car": ([0, 0, 0.3, 0.4], [-50 * 0.0254, 0.5, -0.7], {},
            [-86.8569013280 * 0.0254, 2.2765034471, -23.9985173688]),
    "car-small": ([0, 0, 0.3, 0.05], [-20 * 0.0254, 0.15, 0.2], {},
                  [-10.8095584250 * 0.0254, 0.6792632470, -5.6507499439]),
    "cart": ([0, 0, 0, 0.3, 0, 0, 0, 0], [2, -0.1], {}, [3.7008652832, -4.4274048486]),
    "four-bar": ([0.2, -0.191463321, 0.250934537], [1.5], {}, [-202.986172]),
    "spacecraft-1": ([0, 0, 0, 0.1, 0.2, 0.3, 4, -0.5, 0.02, -0.03],
                     [0.1, -0.2, 0.3, 0.04, -0.05, 0.06, 0.07, -0.08, 0.09, -0.1], SC1,
                     [0.671533334, 0.590828512, 0.687511496, 1.179478485, -1.417344888,
                      0.761932345, -54.175585005, 18.769519138, -1.382731812, -0.888297600]),
    "spacecraft-2": ([0, 0, 0, 0.1, 0.2, 0.3, 0.05, -0.06, 0.07, -0.08],
                     [0.1, -0.2, 0.3, 0.04, -0.05, 0.06, 0.07, -0.08, 0.09, -0.1], {},
                     [0.0070439330, 0.0140037017, 0.0069936916, -0.0004249454, -0.0009523272,
                      -0.0005472264, 0.0015206199, 0.0181598457, 0.0155077295, 0.0056682985]),
    "stanford-arm": ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], ARM_U, {},
                     [-9.9628061686, 4.7271557222, -7.4315643353, 113.4112467426, -54.5129570678,
                      112.7956012161]),
}  # fmt: skip


@pytest.mark.parametrize("name", ORACLES)
def test_systems_of_the_thesis_accelerate_as_its_listings_do(name: str) -> None:
    q, u, values, wanted = ORACLES[name]
    found = accelerations(read(name).mechanism, q, u, values)
    assert found == pytest.approx(np.array(wanted), rel=3e-8, abs=2e-9)


@pytest.mark.parametrize("name", cases(list(ORACLES), daily=["car-small", "four-bar"]))
def test_a_converted_file_is_the_same_model_and_runs(name: str, tmp_path: Path) -> None:
    target = tmp_path / f"{name}.toml"
    main(["model", "convert", str(FOLDER / f"{name}.lsp"), str(target), "-q"])
    m = lw.load(target)
    q, u, values, wanted = ORACLES[name]
    assert accelerations(m, q, u, values) == pytest.approx(np.array(wanted), rel=3e-8, abs=2e-9)
    before = read(name).mechanism
    assert [o.name for o in m.outputs] == [o.name for o in before.outputs]
    # the listing's products of inertia are all 1, which no body has
    real = {n: 0.0 for n in m.values if n in ("FI12", "FI13", "FI23")} if name == "cart" else {}
    run = lw.simulate(m, 0.05, step=0.005, parameters={**values, **real})
    assert np.isfinite(run.recording[m.outputs[0].name] if m.outputs else run.times).all()


def test_the_car_keeps_its_units_outputs_and_eliminations() -> None:
    m = read("car").mechanism
    assert (m.values["NRBM"], m.values["SPEED"]) == pytest.approx(
        (
            704 / 386.2 * 4.4482216152605 / 0.0254,
            968 * 0.0254,
        )
    )
    assert m.values["CA1"] == pytest.approx(-444 * 4.4482216152605 * 180 / np.pi)
    assert [o.name for o in m.outputs] == ["Ay", "r", "fy1", "fy2", "mz1", "mz2", "rollm"]
    assert m.timing is not None
    assert (m.timing.until, m.timing.step, m.timing.every) == (2.0, 0.025, 2)
    (one,) = m.constraints
    assert (str(one.replaces), str(one.by)) == ("nrb.u", "SPEED")
    assert (
        read("car-small")
        .mechanism.coordinates["roll" if "roll" in m.coordinates else "rb"]
        .data.small
        == 1
    )


def test_what_is_not_taken_is_listed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = [entry.words for entry in read("car").ignored]
    assert words[0].startswith("default of IZZNR (line 26): the model has no such parameter")
    assert "value of HRA: no default is given: 1.0, as in AUTOSIM" in words
    told = [entry.what for entry in read("spacecraft-1").ignored]
    assert told[:3] == ["variable CLKCMD", "variable CAMCMD", "subroutine CMD"]
    assert told.count("func(thrust, ...)") == 3
    file = tmp_path / "a.lsp"
    file.write_text("(add-body b :translate 1)\n(print b)\n")
    main(["model", "convert", str(file), str(tmp_path / "a.toml")])
    assert "not read: (print ...) (line 2)" in "".join(capsys.readouterr())
    assert any("print" in line for line in lw.load(file).reports)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(add-body b\n :translate 1", "1: the form has no closing parenthesis"),
        ("\n(defun f (x) x)\n", "there is no form of AUTOSIM in this file that is known here"),
        ("(add-body b)\nstray", "2: 'stray' stands outside of a form"),
        ("\n(add-body b :masss 1)", r"2: \(add-body ...\) has no keyword :masss; it has :parent"),
        ("(add-body b :body-rotation-axes (1 2))\n", "1: b has two rotations; put a massless body"),
        ("(add-body b :body-rotation-axes 4)\n", "1: an axis is 1, 2 or 3, not 4"),
        ("(add-body b :translate 1)\n(add-body c :parent x)", "2: .*x"),
        ('(add-body b :translate 1)\n(add-moment f :magnitude !"q(2)")', r"2: there is no q\(2\)"),
        ('(add-body b :translate 1)\n(add-out !"eval(1)" "x")', "2: there is no function 'eval'"),
        ('(add-body b :translate 1)\n(add-out !"(1" "x")', "2: "),
        ("(add-body b :translate 1)\n(set-defaults bm)", "2: 'BM' has no value"),
        ("(add-body b :translate 1)\n(set-defaults bm heavy)", "2: the default of BM"),
        ("(add-body b :translate 1 :small-translations (t t))\n", "1: .* has 2 entries for 1"),
        ("\n" + "(" * 200 + ")" * 200, "2: lists stand 50 deep"),
        ("(add-body)\n", "1: in .add-body ....: its arguments are not those of the form"),
    ],
)  # fmt: skip
def test_mistakes_name_their_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_autosim(text if "\n" in text else text + "\n")


def test_a_file_that_is_no_text_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "a.lsp"
    file.write_bytes(b"\xff\xfe(add-body b)")
    with pytest.raises(InputError, match="not a text in UTF-8"):
        lw.load(file)
    assert main(["model", "describe", str(file)]) == 2


def test_names_given_by_setf_may_hold_signs() -> None:
    """`slip-f` is one name, and `roll-f` is roll less F where only roll has a value."""
    m = read_autosim(
        '(add-body b :translate 1)\n(setf s-f !"3*q(1)") (setf s !"q(1)")'
        '(add-out !"#s-f" "one") (add-out !"#s-g" "two")'
    ).mechanism
    assert [str(o.value) for o in m.outputs] == ["3*b", "b - G"]
