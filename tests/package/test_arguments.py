"""What public functions say to arguments of a wrong kind: an error of ours, never a raw one."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import linkwright as lw
from linkwright.base.arguments import worded
from linkwright.cli import main
from linkwright.mechanism import Mechanism
from tests.support.shared import robot

JUNK: dict[str, Any] = {
    "None": None,
    "a text": "rubbish",
    "a number": -3.7,
    "a list": [0.3],
    "a mapping": {"nonsense": 1.0},
    "an object": object(),
    "a mapping of texts": {"rod": "much"},
}


def pendulum() -> Mechanism:
    m = lw.Mechanism("pendulum")
    m.body("rod", rotate="z", mass="m", com=("L", 0, 0), inertia=0.1)
    m.gravity(along="-y")
    m.defaults(m=1, L=1)
    return m


def loaded() -> lw.System:
    s = lw.System(pendulum())
    b = lw.Block("hold")
    b.output("y", b.discrete_state("n", "n + 1"))
    s.add(b, rate=100)
    return s


# For each function, a call that is right; one argument after the other is then replaced by junk.
CALLS: dict[str, tuple[Callable[..., Any], Callable[[], dict[str, Any]]]] = {
    "simulate": (
        lambda **k: lw.simulate(**k),
        lambda: {"model": pendulum(), "until": 0.1, "initial": {"rod": 0.1},
                 "parameters": {"m": 2}, "inputs": {}, "step": 0.05, "method": "dopri5"},
    ),
    "simulate a System": (
        lambda **k: lw.simulate(k.pop("model"), **k),
        lambda: {"model": loaded(), "until": 0.1, "initial": {"rod": 0.1},
                 "parameters": {"m": 2}, "inputs": {}, "method": "dopri5"},
    ),
    "simulate_batch": (
        lambda **k: lw.simulate_batch(**k),
        lambda: {"model": pendulum(), "until": 0.1, "initial": {"rod": [0.1, 0.2]},
                 "parameters": {"m": 2}, "step": 0.01, "method": "rk4"},
    ),
    "linearize": (
        lambda **k: lw.linearize(**k),
        lambda: {"model": pendulum(), "at": {"rod": -1.5}, "parameters": {"m": 1}},
    ),
    "equilibrium": (
        lambda **k: lw.equilibrium(**k),
        lambda: {"model": pendulum(), "initial": {"rod": -1.5}, "parameters": {"m": 1}},
    ),
    "assemble": (
        lambda **k: lw.assemble(**k),
        lambda: {"model": pendulum(), "initial": {"rod": 0.1}, "parameters": {"m": 1}},
    ),
    "derive": (
        lambda **k: lw.derive(**k),
        lambda: {"model": pendulum(), "formulation": "kane"},
    ),
    "Mechanism.body": (
        lambda **k: lw.Mechanism("m").body(**k),
        lambda: {"name": "rod", "parent": "n", "joint": lw.Revolute("z"), "at": (0, 0, 0),
                 "mass": 1, "com": (0, 0, 0), "inertia": 1, "coordinates_in": "n"},
    ),
    "Mechanism.point": (
        lambda **k: pendulum().point(**k),
        lambda: {"name": "tip", "body": "rod", "at": (1, 0, 0)},
    ),
    "Mechanism.force": (
        lambda **k: _force(**k),
        lambda: {"name": "push", "magnitude": 1.0, "at": "rod", "along": "x", "reaction": "n"},
    ),
    "Mechanism.moment": (
        lambda **k: pendulum().moment(**k),
        lambda: {"name": "motor", "magnitude": 1.0, "on": "rod", "about": "z", "reaction": "n"},
    ),
    "Mechanism.defaults": (
        lambda **k: pendulum().defaults(**k),
        lambda: {"values": {"m": 1}},
    ),
    "Mechanism.set_initial": (
        lambda **k: pendulum().set_initial(**k),
        lambda: {"values": {"rod": 1}},
    ),
    "Mechanism.gravity": (
        lambda **k: lw.Mechanism("m").gravity(**k),
        lambda: {"along": "-z", "g": 9.81},
    ),
    "load": (lambda **k: lw.load(**k), lambda: {"source": "pendulum"}),
    "read_description": (lambda **k: lw.read_description(**k), lambda: {"path": "none.urdf"}),
    "System.add": (
        lambda **k: lw.System(pendulum()).add(**k),
        lambda: {"part": lw.Block("b"), "rate": 100},
    ),
}  # fmt: skip


def _force(**k: Any) -> Any:
    return pendulum().force(**k)


def test_junk_is_taken_or_refused_in_our_words() -> None:
    """One argument after the other of calls that are right is replaced by junk of each kind."""
    raw, seen = [], 0
    for name, (call, right) in CALLS.items():
        for argument in right():
            for kind, junk in JUNK.items():
                seen += 1
                try:
                    call(**{**right(), argument: junk})
                except lw.Error:
                    pass
                except Exception as error:
                    raw.append(f"{name}: {argument} is {kind}: {type(error).__name__}: {error}")
    assert seen > 400
    assert not raw, "\n".join(raw)


# -- units -----------------------------------------------------------------------------------------
def test_starts_and_values_may_have_units() -> None:
    m = lw.Mechanism("pendulum")
    m.parameter("L", unit="m")
    m.body("rod", rotate="z", mass=1, com=("L", 0, 0), inertia=0.1)
    m.gravity(along="-y")
    m.defaults(L="50 cm")
    assert m.values["L"] == 0.5
    run = lw.simulate(m, "200 ms", initial={"rod": "30 deg"}, parameters={"L": "250 mm"})
    assert run["rod"][0] == pytest.approx(math.pi / 6)
    assert run.times[-1] == 0.2
    assert run.values["L"] == 0.25
    with pytest.raises(lw.UnitError, match="does not fit"):
        lw.simulate(m, 1.0, initial={"rod": "3 kg"})
    batch = lw.simulate_batch(m, 0.1, parameters={"L": [1.0, 2.0]}, initial={"rod": "90 deg"})
    assert len(batch.x) == 2
    s = lw.System(m)
    s.set_initial({"rod": "90 deg"})
    assert s.initial["rod"] == pytest.approx(math.pi / 2)


def test_numbers_are_in_si_units_whatever_is_printed() -> None:
    m = lw.Mechanism("car", display="in-lb")
    with pytest.raises(lw.Error, match="in SI units; unit='m', and the value as a text: '1 in'"):
        m.parameter("L", unit="in")
    m.parameter("L", unit="m")
    m.parameter("k")
    m.set_parameters({"L": "1 ft", "k": "2.54 cm"})
    assert m.values["L"] == pytest.approx(0.3048)
    assert m.values["k"] == pytest.approx(0.0254)  # no unit is known: SI


@pytest.mark.parametrize("wrong", ["much", "1,5", "3 furlongs", "nan", "1e999", ""])
def test_texts_that_are_no_numbers_are_refused(wrong: str) -> None:
    with pytest.raises(lw.Error):
        lw.simulate(pendulum(), 0.1, initial={"rod": wrong})


def test_bodies_go_by_their_names() -> None:
    m = lw.Mechanism("chain")
    m.body("a", parent="n", rotate="z", mass=1, inertia=1)
    b = m.body("b", parent="a", rotate="z", at=(1, 0, 0), mass=1, inertia=1)
    assert b.parent is m.bodies["a"]
    assert m.force("push", 1, at="b", along="x").point is b.origin
    with pytest.raises(lw.Error, match="did you mean 'a'"):
        m.point("tip", "aa")


def test_the_command_line_takes_units(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["simulate", "pendulum", "--until", "0.1", "--json"]
    assert main([*words, "--initial", "phi=30 deg", "--set", "g=1.62 m/s^2"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = lw.load(told["recording"])
    assert found["phi"][0] == pytest.approx(math.pi / 6)
    assert found.metadata["parameters"]["g"] == 1.62
    assert main([*words, "--set", "g=3 kg"]) == 2
    assert "--set g is in m/s^2, so '3 kg' does not fit" in capsys.readouterr().err
    assert main([*words, "--set", "g=much"]) == 2
    assert "--set g is 'much', which is not a number" in capsys.readouterr().err


# -- every public callable -------------------------------------------------------------------------
# What an argument is where it is not junk; any other that must be given is a number.
RIGHT: dict[str, Any] = {
    "until": 0.05, "name": "x", "body": "rod", "wheel": "rod", "first": "rod", "second": "tip",
    "at": "rod", "along": "x", "on": "rod", "about": "z", "joint": lw.Revolute("z"),
    "coordinate": "rod", "path": "pendulum", "zero": "rod_dot", "derivative": "0", "value": "rod",
    "motion": "t", "unit": "m",
}  # fmt: skip
SHOWS = {"show", "page", "video"}  # they open windows, or write a file of several megabytes


def _public() -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in vars(lw)["__all__"]:
        found = getattr(lw, name)
        is_error = isinstance(found, type) and issubclass(found, Exception)
        if callable(found) and name not in SHOWS and not is_error:
            yield name, partial(_same, found)
    puma = robot("puma560")
    owners: dict[type, Callable[[], Any]] = {
        lw.Mechanism: with_tip,
        lw.System: lambda: lw.System(with_tip()),
        lw.Robot: lambda: puma,
    }
    for owner, make in owners.items():
        for name in dir(owner):
            if name.startswith("_") or name in SHOWS:
                continue
            if inspect.isfunction(inspect.getattr_static(owner, name)):
                yield f"{owner.__name__}.{name}", partial(_method, make, name)
    for name in ("Field", "Record", "Register", "RegisterWindow", "Interrupts"):
        yield f"windows.{name}", partial(getattr, lw.windows, name)
    window = lw.windows.Window.in_memory(lw.windows.Record("r", lw.windows.Field("q")))
    for name in ("create", "open", "in_memory", "write", "wait"):
        yield f"windows.Window.{name}", partial(getattr, window, name)
    for name in ("from_text", "pack", "unpack"):
        yield f"windows.Record.{name}", partial(getattr, window.record, name)
    for name in ("lqr", "dlqr", "lqe", "dlqe"):
        yield f"control.{name}", partial(getattr, lw.control, name)


def _same(found: Any) -> Any:
    return found


def _method(make: Callable[[], Any], name: str) -> Any:
    return getattr(make(), name)


def with_tip() -> Mechanism:
    m = pendulum()
    m.point("tip", "rod", (1, 0, 0))
    return m


def _calls(function: Any) -> Iterator[tuple[str, str, list[Any], dict[str, Any]]]:
    """Yield calls in each of which one argument is junk."""
    given = [p for p in inspect.signature(function).parameters.values() if p.kind != p.VAR_KEYWORD]
    for parameter in given:
        for kind in ("None", "a text", "a number"):
            args: list[Any] = []
            named: dict[str, Any] = {}
            for p in given:
                if p is parameter:
                    value = JUNK[kind]
                elif p.default is not p.empty or p.kind == p.VAR_POSITIONAL:
                    continue
                else:
                    value = with_tip() if p.name in MODELS else RIGHT.get(p.name, 1.0)
                if p.kind in (p.VAR_POSITIONAL, p.POSITIONAL_ONLY):
                    args.append(value)
                elif p.kind == p.KEYWORD_ONLY or not args:
                    named[p.name] = value
            if given[-1].kind == inspect.Parameter.VAR_POSITIONAL or args:
                args, named = [*named.values(), *args], {}
            yield parameter.name, kind, args, named


MODELS = ("mechanism", "model")


def test_every_public_callable_refuses_junk_in_our_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    raw, seen = [], 0
    for label, made in _public():
        for argument, kind, args, named in _calls(made()):
            seen += 1
            try:
                made()(*args, **named)
            except lw.Error:
                pass
            except Exception as error:
                raw.append(f"{label}: {argument} is {kind}: {type(error).__name__}: {error}")
    assert seen > 500
    assert not raw, "\n".join(raw)


def test_bodies_points_and_units_go_where_numbers_and_parts_do() -> None:
    m = lw.Mechanism("chain")
    m.body("a", rotate="y", mass=1, inertia=1)
    m.body("b", parent="a", at=(1, 0, 0), rotate="y", mass=1, inertia=1)
    m.point("pivot", at=(1, 0, 1))
    m.point("tip", "b", (1, 0, 0))
    m.limit("a", "-30 deg", "30 deg")
    assert m.ranges[0].upper == pytest.approx(math.pi / 6)
    with pytest.raises(lw.UnitError, match="does not fit"):
        m.limit("b", "-3 kg", "1 rad")
    by_name = m.close_loop("pin", "pivot", "tip", lw.Revolute("y"))
    assert len(by_name) == 2
    m.armature("b", "J")
    assert m.armatures[m.bodies["b"]] is m.parameters["J"]
    for wrong in (
        lambda: m.rolling_contact("nope", radius=1),
        lambda: m.close_loop("l", "a", "nope", lw.Revolute("y")),
        lambda: m.constrain_distance("a", "nope", 1),
        lambda: m.constrain_points("nope", "a", "x"),
        lambda: m.armature("nope", 1),
    ):
        with pytest.raises(lw.Error, match=r"no (body|point, body or frame) 'nope'"):
            wrong()


def test_errors_of_our_own_making_are_let_through() -> None:
    @worded
    def broken(x: float) -> float:
        return {"y": x}["x"]

    with pytest.raises(KeyError):
        broken(1.0)
    with pytest.raises(lw.Error, match="x of broken is 'a', which is not a number"):
        broken("a")  # type: ignore[arg-type] # what the test is about


REFUSED: dict[str, Callable[[Mechanism], Any]] = {
    "gravity": lambda m: m.gravity(along="down"),
    "force": lambda m: m.force("push", "k*(new", at="rod", along="x"),
    "force along": lambda m: m.force("push", "new*2", at="rod", along="down"),
    "moment": lambda m: m.moment("motor", "new", on="rod", about="down"),
    "strut": lambda m: m.strut("spring", "new", at="rod"),
    "body": lambda m: m.body("second", rotate="z", mass="new", com=("new2", 0)),
    "universal": lambda m: m.body("second", joint=lw.Universal("x", "y"), com=("new2", 0)),
    "point": lambda m: m.point("tip2", "rod", ("new", 0)),
    "constrain": lambda m: m.constrain("rod_dot**2 - new"),
    "prescribe": lambda m: m.prescribe("fresh", "new*t"),
    "output": lambda m: m.output("v", "rod_dot + new + nofunction(1)"),
    "state": lambda m: m.state("z", "new*z + nofunction(1)"),
    "close": lambda m: m.close_loop("pin", "rod", "rod", lw.Revolute("z")),
    "roll": lambda m: m.rolling_contact("rod", "new"),
    "defaults": lambda m: m.defaults(m=5, L="much"),
    "start": lambda m: m.set_initial({"rod": 1.0, "rod_dot": None}),
    "start by rule": lambda m: m.set_initial({"rod": "new*(2"}),
    "limit": lambda m: m.limit("rod", "1 kg"),
    "parameter": lambda m: m.parameter("new", "much", unit="m"),
    "input": lambda m: m.input("new", None, unit="m"),  # type: ignore[arg-type] # on purpose
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_calls_leave_no_trace(name: str) -> None:
    m = pendulum()

    def all_tables() -> dict[str, str]:
        held = {k: v for k, v in vars(m).items() if isinstance(v, dict | list)}
        del held["_points_of"]  # what every body has anyhow
        return {k: repr(list(v.items()) if isinstance(v, dict) else v) for k, v in held.items()}

    before = all_tables()
    with pytest.raises(lw.Error):
        REFUSED[name](m)
    assert all_tables() == before


def test_a_late_body_is_told_first_what_is_wrong_with_itself() -> None:
    m = pendulum()
    m.output("v", m.bodies["rod"].com.velocity @ m.x)
    with pytest.raises(lw.Error, match="no body 'rodd'; did you mean 'rod'"):
        m.body("late", parent="rodd", rotate="z")
    with pytest.raises(lw.Error, match="after velocities have been used"):
        m.body("late", parent="rod", rotate="z")


def test_a_tolerance_below_rounding_is_called_so() -> None:
    with pytest.raises(lw.Error, match="1e-30 is below rounding"):
        lw.simulate(pendulum(), 0.1, tolerance=1e-30)


@pytest.mark.parametrize(("unit", "told"), [("rad", "30 deg"), ("kg", "0.5 kg"), ("?", "0.5")])
def test_examples_have_the_unit_that_is_wanted(unit: str, told: str) -> None:
    m = lw.Mechanism("m")
    m.parameter("k", unit=unit)
    with pytest.raises(lw.Error, match=f'give a number, or "{told}"'):
        m.defaults({"k": None})  # type: ignore[dict-item] # what the test is about


def test_a_foreign_function_that_returns_a_matrix_is_told_its_shape() -> None:
    pair = lw.foreign("pair", 1, python=lambda x: [[x, x], [x, x]], outputs=2)
    m = lw.Mechanism("m")
    b = m.body("b", translate="x", mass=1)
    m.force("push", pair(b.coordinates[0])[0], at=b, along="x")
    with pytest.raises(lw.Error, match=r"2 values \(an array of shape \(2,\)\) for one output"):
        lw.simulate(m, 0.1)
