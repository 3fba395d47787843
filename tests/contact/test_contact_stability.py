"""Stability of a compliant wrist in contact: polynomials, criteria, maps, files, the command."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from linkwright.algebra.sympy_bridge import to_sympy
from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.contact import WristLoop, characteristic, contact_map, element_system, read_wrist
from linkwright.contact.characteristic_polynomials import routh_conditions
from linkwright.contact.parameter_maps import ContactMap
from linkwright.contact.simulated_loops import loop_system, simulated_verdicts
from linkwright.contact.wrist_loops import continuous_verdicts, sampled
from linkwright.control.force.sampled_limits import CONTACT_LAWS, CONTACT_ORDERS
from linkwright.simulation import simulate, simulate_batch
from tests.seeds import cases
from tests.support.late import Late

if TYPE_CHECKING:
    import sympy
else:
    sympy = Late("sympy")

NAMES = "m Cw Kw Kp KF Ce Ke alpha0 f0 s"
TEXT = """format = 1
law = "position"
Kp = 1.0
m = "500 g"
Cw = 3.0
Kw = 500
a = 0.95
T = "28 ms"
[map]
Kp = [0.1, 1.2, 6]
a = [0.0, 0.95, 5]
"""


@cache
def known() -> dict[str, Any]:
    """The symbols of the polynomials in SymPy."""
    return {name: sympy.Symbol(name) for name in NAMES.split()}


def expanded(law: str, *, filtered: bool, environment: bool) -> Any:
    """Return the numerator of 1/(transfer function) of the loop, as SymPy solves its equations."""
    m, Cw, Kw, Kp, KF, Ce, Ke, alpha0, f0, s = known().values()
    x1, x2, F, x_in = sympy.symbols("x1 x2 F x_in")
    ke, ce = (Ke, Ce) if environment else (0, 0)
    law_of = {"position": -Kp, "force": KF, "accumulating": KF * (f0 - s) / (2 * s)}[law]
    if filtered:
        law_of *= alpha0 * (f0 - s) / (s + alpha0 * f0)
    found = sympy.solve(
        [
            sympy.Eq(x1, x_in + law_of * (x2 - x1)),
            sympy.Eq(m * s**2 * x2, -(Cw * s + Kw) * (x2 - x1) - (ce * s + ke) * x2 + F),
        ],
        [x1, x2],
        dict=True,
    )[0]
    return sympy.fraction(sympy.cancel(sympy.together(sympy.diff(found[x2], x_in))))[1]


@pytest.mark.parametrize("law", CONTACT_LAWS)
@pytest.mark.parametrize("filtered", cases([False, True], daily=[True]))
@pytest.mark.parametrize("environment", [False, True])
def test_polynomials_are_what_sympy_expands(law: str, filtered: bool, environment: bool) -> None:
    """Server check 42."""
    ours = characteristic(law, filter=filtered, environment=environment)
    s = known()["s"]
    mine = sympy.Poly(to_sympy(ours.expression, known()), s)
    theirs = sympy.Poly(expanded(law, filtered=filtered, environment=environment), s)
    while theirs.coeff_monomial(1) == 0:  # an arm that stays anywhere
        theirs = sympy.Poly(sympy.expand(theirs.as_expr() / s), s)
    assert mine.degree() == theirs.degree()
    for a, b in zip(mine.all_coeffs(), theirs.all_coeffs(), strict=True):
        assert sympy.expand(a * theirs.LC() - b * mine.LC()) == 0


def test_the_report_s_polynomials_and_conditions_are_reproduced() -> None:
    """Server check 42."""
    m, Cw, Kw, Kp, KF, Ce, Ke, alpha0, f0, _ = known().values()
    position = [
        m * (1 + Kp * alpha0),
        m * alpha0 * f0 * (1 - Kp) + Cw,
        Cw * alpha0 * f0 + Kw,
        Kw * alpha0 * f0,
    ]
    for law, swap in (("position", {}), ("force", {Kp: -KF})):
        found = characteristic(law)
        wanted = [c.subs(swap) for c in position]
        for a, b in zip(found.coefficients, wanted, strict=True):
            assert sympy.expand(to_sympy(a, known()) - b) == 0
        last = to_sympy(routh_conditions(found)[-1].expression, known())
        assert sympy.expand(last - (wanted[1] * wanted[2] - wanted[0] * wanted[3])) == 0
    plain = characteristic("position", filter=False).coefficients
    assert [sympy.expand(to_sympy(c, known())) for c in plain] == [m - Kp * m, Cw, Kw]
    touching = characteristic("force", filter=False, environment=True).coefficients
    for a, b in zip(touching, [(1 + KF) * m, Cw + (1 + KF) * Ce, Kw + (1 + KF) * Ke], strict=True):
        assert sympy.expand(to_sympy(a, known()) - b) == 0


def test_conditions_hold_where_all_roots_are_on_the_left() -> None:
    random = np.random.default_rng(2)
    seen = set()
    for k in range(90):
        law = list(CONTACT_LAWS)[k % 3]
        low = [0.05, 0.1, 0.5, 100.0, 0.0, 0.01, 100.0, 0.0]
        high = [2.0, 1.0, 9.0, 900.0, 0.95, 0.05, 2000.0, 5.0]
        gain, mass, damping, stiffness, a, T, ke, ce = random.uniform(low, high).tolist()
        loop = WristLoop(law, gain, m=mass, Cw=damping, Kw=stiffness, a=a, T=T, Ke=ke, Ce=ce)
        roots = np.roots(loop.polynomial.at(loop.values))
        stable = loop.polynomial.stable(loop.values)
        assert stable == bool((roots.real < 0).all())
        assert (loop.continuous != "unstable") == stable
        assert (loop.violated == ()) == stable
        seen.add((law, stable))
    assert len(seen) == 6


def test_damping_is_mandatory_and_force_feedback_never_resonates() -> None:
    """Server checks 41 and 42."""
    random = np.random.default_rng(7)
    for k in range(60):
        gain, mass, damping, a, T = random.uniform([0, 0.01, 0, 0, 0.001], [5, 5, 20, 0.99, 0.1])
        numbers: dict[str, Any] = {"m": mass, "Kw": 500.0, "a": a, "T": T}
        assert WristLoop("force", gain, Cw=damping, **numbers).frequency_ratio < 1
        undamped = WristLoop("position", gain + 0.01, Cw=0.0, **numbers)
        assert undamped.continuous == "unstable"
        assert k or undamped.continuous_limit == 0.0
    example = WristLoop("position", 0.8, m=0.1, Cw=10.0, Kw=500.0, T=0.02)
    assert example.critical_alpha0 == pytest.approx(1.25)
    a = (1 - 0.4) / (1 + 0.4)  # alpha0 = 0.4, below the critical one
    assert example.changed(a=a).frequency_ratio < 1
    critical = example.changed(Cw=10.0 * 0.4 / 1.25, a=a)
    assert critical.critical_alpha0 == pytest.approx(critical.alpha0)
    assert critical.frequency_ratio == pytest.approx(1.0)


def test_both_criteria_stand_side_by_side() -> None:
    """Server check 41."""
    loop = WristLoop("position", 1.0, m=0.5, Cw=3.0, Kw=500.0, a=0.6)
    told = loop.as_dict()
    assert told["order"] == "new-place"
    assert told["radius"] == pytest.approx(1.110, abs=5e-4)
    assert (told["continuous"], told["sampled"]) == ("unstable", "unstable")
    assert told["continuous_limit"] < told["gain_limit"] < 1
    assert told["stiffness"] is None  # complete compensation is infinitely stiff
    calm = loop.changed(a=0.95)
    assert calm.radius == pytest.approx(0.948, abs=5e-4)
    assert calm.sampled != "unstable"
    # neither is the careful one everywhere
    light = loop.changed(m=0.1, Cw=3.0, a=0.6, Kp=2.0)
    assert (light.continuous, light.sampled) == ("unstable", "ringing")
    heavy = loop.changed(m=0.5, Cw=9.0, a=0.2, Kp=0.6)
    assert (heavy.continuous, heavy.sampled) == ("ringing", "unstable")
    for limit, answer in ((light.gain_limit, "sampled"), (light.continuous_limit, "continuous")):
        assert getattr(light.changed(Kp=0.999 * limit), answer) != "unstable"
        assert getattr(light.changed(Kp=1.001 * limit), answer) == "unstable"


def test_the_bilinear_rule_is_exact_of_the_accumulating_law_on_a_slow_surface() -> None:
    loop = WristLoop("accumulating", 0.2, m=1e-6, Cw=1e-3, Kw=500.0, a=0.8, Ke=2000.0)
    limit = (500.0 + 2000.0) / 2000.0
    over = {"KF": limit * np.array([0.1, 0.5, 0.99, 1.01, 2.0])}
    assert (continuous_verdicts(loop, over) == 2).tolist() == [False, False, False, True, True]


@pytest.fixture(scope="module")
def maps() -> dict[str, ContactMap]:
    """Small maps of every law that can be simulated, over different parameters."""
    gains, poles = np.linspace(0.05, 1.2, 9), np.linspace(0.0, 0.96, 8)
    kept: dict[str, Any] = {"m": 0.5, "Cw": 9.0, "Kw": 500.0, "a": 0.5}
    position, force, adding = (
        WristLoop(law, 0.4, Ke=1e3 if law == "accumulating" else 0.0, **kept)
        for law in CONTACT_LAWS
    )
    return {
        "position": contact_map(position, {"Kp": gains, "a": poles}),
        "force": contact_map(force, {"KF": 3 * gains, "T": [0.005, 0.02, 0.04, 0.06]}),
        "accumulating": contact_map(adding, {"KF": 1.4 * gains, "m": [0.1, 0.3, 1.0]}),
    }


@pytest.mark.parametrize("law", CONTACT_LAWS)
def test_runs_say_what_the_sampled_loop_does(maps: dict[str, ContactMap], law: str) -> None:
    found = maps[law]
    assert found.simulated is not None
    clear = np.abs(found.radius - 1) > 2e-3
    np.testing.assert_array_equal(
        (found.simulated == 2)[clear], (found.sampled == 2)[clear], err_msg=repr(found)
    )
    assert found.agreement("sampled", "simulated", ringing=True) > 0.9  # who rings, too
    counts = found.counts("sampled")
    assert counts["unstable"] > 0
    assert counts["stable"] + counts["ringing"] > 0
    assert found.agreement("sampled", "simulated") >= clear.mean()
    assert json.loads(json.dumps(found.as_dict()))["counts"]["sampled"] == counts


def test_runs_with_nearly_equal_poles_do_not_ring() -> None:
    """The tool swings once a tick on the third surface: two poles are nearly one."""
    loop = WristLoop("accumulating", 0.2, m=0.5, Cw=9.0, Kw=500.0, a=0.6, Ke=1e4)
    over = {"KF": [0.0821, 0.3926, 0.4547, 0.5168, 0.8], "Ke": [5e3, 2e4, 24736.8, 3e4]}
    found = contact_map(loop, over)
    assert np.isreal(loop.changed(KF=0.0821, Ke=24736.8).poles).all()
    assert found.counts("sampled") == {"stable": 12, "ringing": 8, "unstable": 0}
    assert found.agreement("sampled", "simulated", ringing=True) == 1.0


def test_runs_with_late_deflections_show_no_poles_of_their_own() -> None:
    random = np.random.default_rng(3)
    loop = WristLoop("position", 0.2, m=0.5, Cw=9.0, Kw=500.0, order="old-place")
    low, high = [-1.0, 0.0, -1.7, 0.0], [0.5, 1.5, 0.2, 0.98]
    m_, Cw_, gain, a = random.uniform(low, high, (120, 4)).T
    over = {"m": 10**m_, "Cw": 10**Cw_, "Kp": 10**gain, "a": a}
    np.testing.assert_array_equal(simulated_verdicts(loop, over)[1], sampled(loop, over)[1])


def test_agreement_asks_for_stability_or_for_the_verdict(maps: dict[str, ContactMap]) -> None:
    found = maps["position"]
    other = replace(found, simulated=np.where(found.sampled == 2, 2, 1).astype(np.int8))
    assert other.agreement("sampled", "simulated") == 1.0
    wanted = (found.sampled != 0).mean()
    assert other.agreement("sampled", "simulated", ringing=True) == pytest.approx(wanted) != 1.0
    told = other.as_dict()["agreement"]["simulated"]
    assert told == {"stability": 1.0, "verdict": pytest.approx(wanted)}


@pytest.mark.parametrize("order", [name for name, o in CONTACT_ORDERS.items() if not o.impulse])
@pytest.mark.parametrize("law", CONTACT_LAWS)
def test_a_run_follows_the_matrix_tick_by_tick(law: str, order: str) -> None:
    loop = WristLoop(law, 0.7, m=0.5, Cw=3.0, Kw=500.0, a=0.6, Ke=300.0, Ce=1.0, order=order)
    run = simulate(loop_system(loop), 6 * loop.T, step=loop.T / 64, method="rk4",
                   initial={"tool": 1.0}, every=1)  # fmt: skip
    wanted = np.linalg.matrix_power(loop.matrix, 6) @ [1.0, 0.0, 0.0, 0.0]
    assert run.final["tool"] == pytest.approx(wanted[0], abs=1e-7)


@pytest.mark.parametrize("law", ["position", "accumulating"])
def test_elements_are_stable_where_the_sampled_loop_is(law: str) -> None:
    """A wrist, a law and a contact as elements, on an arm with a servo."""
    touched = law == "accumulating"
    loop = WristLoop(law, 0.3, m=0.1 if touched else 0.5, Cw=5.0, Kw=500.0, a=0.8,
                     Ke=1e4 if touched else 0.0, order="old-place")  # fmt: skip
    name = loop.gain_name
    K, a = (x.ravel() for x in np.meshgrid(np.linspace(0.1, 1.3, 7), [0.0, 0.3, 0.6, 0.8]))
    found = simulate_batch(
        element_system(loop), 160 * loop.T, method="rk4", step=loop.T / 30, every=1,
        initial={} if touched else {"tool": 1e-3}, record=["wrist.wrench[2]"],
        parameters={f"law.{name}": K, "law.filter": a},
    )["wrist.wrench[2]"]  # fmt: skip
    middle, late = np.ptp(found[:, 40:80], axis=1), np.ptp(found[:, -40:], axis=1)
    radius, verdicts = sampled(loop, {name: K, "a": a})
    clear = np.abs(radius - 1) > 0.02
    np.testing.assert_array_equal((late > 0.7 * middle)[clear], (verdicts == 2)[clear])
    assert 0.1 < (verdicts == 2)[clear].mean() < 0.9
    if touched:
        settled = clear & (radius < 0.95)
        np.testing.assert_allclose(found[settled, -1], 5.0, atol=0.02)


def test_elements_are_of_one_order() -> None:
    loop = WristLoop("position", 1.0, m=0.5, Cw=3.0, Kw=500.0)
    with pytest.raises(InputError, match="not 'new-place'"):
        element_system(loop)


def test_an_impulse_is_not_simulated() -> None:
    loop = WristLoop("position", 1.0, m=0.5, Cw=3.0, Kw=500.0, order="new-place-impulse")
    with pytest.raises(InputError, match=r"use 'new-place'.*--no-simulate"):
        contact_map(loop, {"Kp": [0.5], "a": [0.5]})
    assert contact_map(loop, {"Kp": [0.5], "a": [0.5]}, simulate=False).simulated is None


def test_an_arm_that_accumulates_and_touches_nothing_stays_anywhere() -> None:
    free = WristLoop("accumulating", 0.3, m=0.5, Cw=9.0, Kw=500.0, a=0.5)
    assert np.abs(free.poles).max() == pytest.approx(1.0)
    assert free.radius < 0.9
    assert (free.continuous, free.sampled, free.stiffness) == ("stable", "stable", 0.0)
    found = contact_map(free, {"Ke": [0.0, 1.0, 1e3, 1e4], "KF": [0.3, 2.5]})
    assert found.agreement("sampled", "simulated") == 1.0
    assert found.continuous[0].tolist() == [0, 2]


def test_runs_that_burst_are_unstable_and_tools_too_quick_for_them_are_refused() -> None:
    loop = WristLoop("force", 1.0, m=0.5, Cw=9.0, Kw=500.0)
    found = contact_map(loop, {"KF": [0.1, 1e3, 1e9], "a": [0.0]})
    assert found.simulated is not None
    assert found.simulated[:, 0].tolist() == [0, 2, 2]
    with pytest.raises(InputError, match="too quick for a simulation"):
        contact_map(loop, {"Ke": [0.0, 1e12], "a": [0.5]})
    assert contact_map(loop, {"Ke": [0.0, 1e12], "a": [0.5]}, simulate=False).radius.shape == (2, 1)


def test_the_example_is_the_report_s_wrist() -> None:
    given = read_wrist(Path(__file__).parents[2] / "examples" / "wrist.toml")
    assert (given.loop.law, given.loop.Kw, given.loop.T) == ("position", 500.0, 0.028)
    assert len(given.axis("Kp")) * len(given.axis("a")) == 10_000


def test_a_map_is_drawn_with_a_panel_for_each_answer(maps: dict[str, ContactMap]) -> None:
    drawing = maps["position"].plot()
    titles = [ax.get_title(loc="left") for ax in drawing.axes]
    assert titles == ["Routh's conditions", "exact sampled loop", "simulation"]
    assert drawing.axes[0].get_xlabel() == "Kp"
    assert "Cw = 9 N·s/m" in drawing.get_suptitle()


def test_the_command_tells_maps_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "wrist.toml"
    place.write_text(TEXT)
    assert main(["analyze", "wrist", str(place)]) == 0
    out = " ".join(capsys.readouterr().out.split())  # lines end where the terminal does
    assert "sampled ringing: spectral radius 0.9482" in out
    assert "the arm moves, then its deflection from the new place is taken" in out
    assert main(["analyze", "wrist", str(place), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["gain_limit"] == pytest.approx(
        read_wrist(place).loop.gain_limit
    )
    picture = tmp_path / "map.svg"
    wanted = ["analyze", "wrist", str(place), "--over", "Kp", "--over", "a", "--no-simulate"]
    assert main([*wanted, "-o", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "30 points" in out
    assert "stability as sampled  verdict as sampled" in out
    assert "simulated" not in out
    assert picture.read_text().startswith("<?xml")
    assert main([*wanted, "--points", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert np.shape(told["sampled"]) == (3, 3)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("position", "postion", "wrist.toml:2:7: law: there is no law 'postion'; did you mean"),
        ("Kp = 1.0", "KF = 1.0", "wrist.toml:3:1: KF: the gain of the position law is Kp"),
        ("Kp = 1.0", "", "the position law has no gain; give Kp"),
        ('"500 g"', "1e-300", "wrist.toml:4:5: m: 1e-300 is out of range; give numbers from"),
        ("Kw = 500", "Kw = 1e300", "wrist.toml:6:6: Kw: 1e+300 is out of range"),
        ("Kw = 500", "Kw = 1e20", "the tool swings by"),
        ("0.1, 1.2", "0.5, 0.5", "map.Kp: both ends of the range are 0.5; give two numbers that"),
        (
            "Kw = 500",
            "Kw = 0",
            "wrist.toml:6:6: Kw: Kw cannot be 0; give a number that is positive",
        ),
        ("a = 0.95", "a = 1", "wrist.toml:7:5: a: a cannot be 1; give a number that is from 0 to"),
        ("28 ms", "28 mm", "T"),
        ("0.1, 1.2", "1.2, 0.1", "map.Kp: 1.2 to 0.1 is not a range"),
        ("a = [0.0", "b = [0.0", "a wrist's loop has no parameter 'b'"),
        ("Cw = 3.0", "Cww = 3.0", "wrist.toml:5:1: Cww: unknown key 'Cww'; did you mean 'Cw'?"),
    ],
)
def test_bad_files_are_answered_with_place_and_remedy(
    old: str, new: str, complaint: str, tmp_path: Path
) -> None:
    place = tmp_path / "wrist.toml"
    place.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_wrist(place)
    assert complaint in str(caught.value)
    assert "wrist.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--over", "Kp"], "does not name two parameters"),
        (["--over", "Kp", "--over", "Kp"], "does not name two parameters"),
        (["--over", "KF", "--over", "a"], "the gain of the position law is Kp, not KF"),
        (["--over", "Kp", "--over", "b"], "no parameter 'b'"),
        (["--over", "Kp", "--over", "a", "--points", "0"], "0 points along an axis"),
        (["--over", "Kp", "--over", "a", "-o", "map.doc"], "not written as '.doc'"),
        (["-o", "map.png"], "a picture is that of a map"),
        ([], "wrist.toml:7:5: a: a cannot be 1; give a number that is from 0 to below 1"),
    ],
)
def test_bad_arguments_are_answered_with_a_remedy(
    arguments: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "wrist.toml"
    place.write_text(TEXT if arguments else TEXT.replace("a = 0.95", "a = 1"))
    assert main(["analyze", "wrist", str(place), *arguments]) == 2
    out, err = capsys.readouterr()
    assert complaint in err
    assert (out, "Traceback" in err) == ("", False)


def test_the_polynomial_s_order_is_told_beside_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    for law, own in (
        ("position", "new-place"),
        ("force", "new-place"),
        ("accumulating", "old-place"),
    ):
        assert characteristic(law).order == own
        told = WristLoop(law, 0.3, m=0.5, Cw=9.0, Kw=500.0, order="at-once").as_dict()
        assert (told["order"], told["continuous_order"]) == ("at-once", own)
    place = tmp_path / "wrist.toml"
    place.write_text(TEXT.replace("a = 0.95", 'a = 0.6\norder = "new-place-impulse"', 1))
    assert main(["analyze", "wrist", str(place)]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 60
    plain = " ".join(out.split())
    assert "unstable, by the polynomial of new-place, not of new-place-impulse:" in plain
    assert "violated determinant 2 of Hurwitz: must be positive" in plain
    assert (
        "conditions coefficient of s^3 0.625; coefficient of s^2 3; coefficient of s 553.6" in plain
    )
    assert (
        main(
            [
                "analyze",
                "wrist",
                str(place),
                "--over",
                "Kp",
                "--over",
                "a",
                "--points",
                "1",
                "--json",
            ]
        )
        == 0
    )
    out, err = capsys.readouterr()
    assert "cannot be simulated" in err
    assert "simulated" not in json.loads(out)
    assert (
        main(["analyze", "wrist", str(place), "--over", "Kp", "--over", "a", "--points", "1"]) == 0
    )
    out = capsys.readouterr().out
    assert " 1 point\n" in out
    out = " ".join(out.split())
    assert "continuous by the polynomial of new-place, not of new-place-impulse" in out
    place.write_text(TEXT.replace("Kp = 1.0", "Kp = 0", 1))
    assert main(["analyze", "wrist", str(place)]) == 0
    assert "P0 never exceeds 1" in capsys.readouterr().out


def test_values_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="gain of a wrist's loop is '1', which is not a number"):
        WristLoop("position", "1", m=0.5, Cw=3.0, Kw=500.0)  # type: ignore[arg-type]
    loop = WristLoop("position", 1, m=0.5, Cw=3.0, Kw=500.0)
    with pytest.raises(InputError, match="values of a are"):
        contact_map(loop, {"Kp": [1.0], "a": ["x"]})  # type: ignore[list-item]
    with pytest.raises(InputError, match="the mass 1e-30 is out of range"):
        contact_map(loop, {"Kp": [1.0], "m": [1e-30, 1.0]}, simulate=False)


def test_a_massless_tool_and_unknown_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="no mass"):
        WristLoop("position", 1.0, m=0.0, Cw=3.0, Kw=500.0)
    loop = WristLoop("position", 1.0, m=0.5, Cw=3.0, Kw=500.0)
    with pytest.raises(InputError, match="no mass somewhere"):
        contact_map(loop, {"m": [0.0, 1.0], "a": [0.5]}, simulate=False)
    with pytest.raises(InputError, match="two parameters"):
        contact_map(loop, {"m": [1.0]})
    with pytest.raises(InputError, match="needs Cw, Kp"):
        loop.polynomial.at({"m": 1.0, "Kw": 500.0, "a": 0.5, "T": 0.02})
