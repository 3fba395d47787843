"""A number that is given where a block is made, set later, or swept is the same number.

Over every element, controller and part of a drive, and every number that it takes: what a block
computes is the same however it got the number, so that no default keeps what another number was;
and what is refused where it is made is refused by every other door.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from dataclasses import fields, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright import control, drives, elements
from linkwright.algebra import Expr, evaluate, free_symbols
from linkwright.blocks import Block, Element
from linkwright.cli import main
from linkwright.elements.drives.parts import DrivePart
from linkwright.program import Assign
from linkwright.recording import read_recording
from linkwright.simulation.native.session import Session
from linkwright.system.numbers import parameters
from tests.elements import test_drive_battery as parts, test_element_battery as battery
from tests.elements.test_drives import joint
from tests.seeds import cases, seeds

SEEDS = seeds(1)

#: Arguments with which a kind is made beside its example, so that its other half is there too.
OTHER: dict[str, list[battery.Numbers]] = {
    "Contact": [{}, {"static": 0.5, "viscous": 0.0}],
    "PID": [{}, {"unwind": None}, {"unwind": None, "kd": 0.0}],
    "JointPID": [{}, {"unwind": None}],
    "ForceControl": [{}, {"filter": 0.5}, {"filter": 0.5, "base": "current"}, {"base": "current"}],
    "Hybrid": [{}, {"filter": 0.3}],
    "PinholeCamera": [{"pixels": (640.0, 480.0)}],
    "Tire": [{}, {"relaxation": 0.3, "trail": 0.03}],
}
CASES = [(name, k) for name in battery.KINDS for k in range(len(OTHER.get(name, [{}])))]
DAILY = [case for case in CASES if case[0] in battery.FEW]


# -- what a block computes, in numbers -------------------------------------------------------------
class Computed:
    """All that a block computes, with the numbers of a System in place of its parameters."""

    def __init__(self, block: Block, values: dict[str, Any]) -> None:
        self.known: dict[Expr, Any] = {
            p.symbol: values[f"block.{n}"] for n, p in block.parameters.items()
        }
        self.found: list[float] = []
        for statement in block.statements:
            for x in self._all(statement.operands):
                if isinstance(statement, Assign):
                    self.known[statement.target] = x
        for port in (*block.inputs.values(), *block.outputs.values()):
            for x, value in zip(port.symbols, self._all(port.values), strict=True):
                if port.name in block.outputs:
                    self.known[x] = value
        for state in (*block.states.values(), *block.discrete_states.values()):
            assert state.following is not None
            self._all([state.following, state.initial])
        for crossing in block.crossings:
            self._all([crossing.value, *(value for _, value in crossing.resets)])
        if isinstance(block, Element):
            self._all([*(x.magnitude for x in block.forces), *(x.magnitude for x in block.moments)])

    def _all(self, exprs: Iterable[Expr]) -> list[Any]:
        """Return values; what is not a parameter has a number that its name gives."""
        exprs = list(exprs)
        for x in free_symbols(*exprs):
            self.known.setdefault(x, 0.1 + zlib.crc32(x.name.encode()) / 2**32)
        found = [evaluate(x, self.known) for x in exprs]
        self.found += map(float, found)
        return found


def alone(name: str, other: battery.Numbers) -> lw.System:
    """Return a System with one block, and with what it reads."""
    m, block = battery.made(name, SEEDS[0], other=other)
    s = lw.System(m)
    battery.add_sources(s, block)
    s.add(block, rate=200 if block.needs_rate else None, name="block")
    return s


def scaled(given: Any, factor: float) -> Any:
    """Return a number, or numbers in a list, with another size; None where there is none."""
    if isinstance(given, list | tuple):
        rest = [scaled(x, factor) for x in given]
        return None if any(x is None for x in rest) else type(given)(rest)
    if isinstance(given, int | float | np.floating) and not isinstance(given, bool):
        return float(given) * factor
    return None


def is_refused(make: Any) -> bool:
    try:
        make()
    except lw.Error:
        return True
    return False


def named(block: Block, argument: str) -> list[str]:
    """Return the parameters that an argument gives."""
    own = block.parameters
    return [argument] if argument in own else [n for n in own if n.startswith(f"{argument}_")]


def arguments(name: str, plain: lw.System) -> list[tuple[str, list[str]]]:
    """Return the arguments of a kind that take numbers, each with the parameters that it gives."""
    block = plain.members["block"].block
    known = [(x, named(block, x)) for x in battery.numeric_arguments(battery.KINDS[name])]
    return [(argument, names) for argument, names in known if names]


@pytest.mark.parametrize(("name", "k"), cases(CASES, daily=DAILY))
def test_a_number_that_is_set_or_swept_is_the_number_that_is_given(name: str, k: int) -> None:
    other = OTHER.get(name, [{}])[k]
    example = battery.EXAMPLES[name](battery.rig(), np.random.default_rng(SEEDS[0])) | other
    rng = np.random.default_rng((SEEDS[0], zlib.crc32(name.encode())))
    plain = alone(name, other)
    own = plain.members["block"].block
    for argument, names in arguments(name, plain):
        value = scaled(example.get(argument), rng.uniform(0.8, 0.95) + 0.3 * rng.integers(2))
        if value is None or is_refused(lambda: alone(name, other | {argument: value})):  # noqa: B023
            continue  # no number, or one that another does not go with
        given = alone(name, other | {argument: value})
        block = given.members["block"].block
        numbers = {f"block.{n}": block.parameters[n].value for n in names}
        later = plain.copy()
        later.set_parameters(numbers)
        wanted = Computed(block, parameters(given)).found
        same = Computed(own, parameters(later)).found
        np.testing.assert_allclose(same, wanted, rtol=1e-12, err_msg=argument)
        before = parameters(plain)
        many = parameters(plain, {n: np.array([before[n], v]) for n, v in numbers.items()})
        for n, v in parameters(given).items():
            np.testing.assert_allclose(np.broadcast_to(many[n], 2), [before[n], v], rtol=1e-13)


WRONG = (-3.0, 0.0, 1e4)


@pytest.mark.parametrize(("name", "k"), cases(CASES, daily=DAILY))
def test_a_number_that_is_refused_when_given_is_refused_when_set(name: str, k: int) -> None:
    other = OTHER.get(name, [{}])[k]
    plain = alone(name, other)
    before = parameters(plain)
    for argument, names in arguments(name, plain):
        if names != [argument]:
            continue
        known = f"block.{argument}"
        for value in WRONG:
            if is_refused(lambda: alone(name, other | {argument: value})):  # noqa: B023
                assert is_refused(lambda: parameters(plain, {known: value})), (argument, value)  # noqa: B023
                row = np.array([before[known], value, before[known]])
                assert is_refused(lambda: parameters(plain, {known: row})), (argument, value)  # noqa: B023


# -- parts of drives -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", cases(parts.PLAIN, daily=8))
def test_a_number_of_a_part_is_the_same_given_set_or_swept_or_refused(name: str) -> None:
    made = parts.EXAMPLES[name]
    plain = chained(name, made)
    own, before = plain.members["block"].block, parameters(plain)
    for item in fields(made):
        label = f"{made.role}.{item.name}"
        old = getattr(made, item.name)
        if f"block.{label}" not in {*before, *plain.inputs()} or old is None:
            continue
        for value in (1.1 * old, 0.9 * old, *WRONG):
            later = plain.copy()
            later.set_parameters({f"block.{label}": value})
            try:
                given = chained(name, replace(made, **{item.name: value}))
            except lw.Error:
                assert is_refused(lambda: parameters(later)), (label, value)  # noqa: B023
                if f"block.{label}" in before:
                    row = {f"block.{label}": np.array([old, value, old])}
                    assert is_refused(lambda: parameters(plain, row)), (label, value)  # noqa: B023
                continue
            if value in WRONG:
                continue  # which is another structure, as a dead time of 0
            wanted = Computed(given.members["block"].block, parameters(given)).found
            same = Computed(own, parameters(later)).found
            if f"block.{label}" in before:
                np.testing.assert_allclose(same, wanted, rtol=1e-12, err_msg=label)


def test_the_voltage_of_a_bus_is_the_same_given_or_set() -> None:
    """Of which its start and its chopper follow; the argument has another name."""
    found = []
    for given, later in ((48.0, 60.0), (60.0, 60.0)):
        block = drives.DCBus(given, 0.1, 2e-3, chopper_resistance=3.0)
        s = lw.System(name="s")
        s.add(block, name="block")
        s.set_parameters({"block.source": later})
        found.append(Computed(block, parameters(s)).found)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def chained(name: str, made: DrivePart) -> lw.System:
    """Return a System with a chain that has a part."""
    part = replace(parts.MOTOR, thermal=made) if isinstance(made, drives.Thermal) else made
    edits: dict[str, Any] = {part.role: part}
    if name == "Steps":
        edits["motor"] = parts.EXAMPLES["Stepper"]
    s = lw.System(name="s")
    s.add(joint(reference=0.2).edited(edits), name="block")
    return s


# -- every door ------------------------------------------------------------------------------------
def lagging(**values: float) -> lw.System:
    """Return a lag from `start` to `gain`, a number that is 2 T + 1 unless it is given."""
    b = Block("lag")
    T = b.parameter("T", values.get("T", 0.5), unit="s", sign="positive", upper=5.0)
    gain = b.parameter("gain", values.get("gain", 2 * T + 1))
    start = b.parameter("start", values.get("start", gain / 2))
    b.require(start <= gain)
    b.output("y", b.state("x", "(gain - x)/T", start))
    s = lw.System(name="s")
    s.add(b)
    return s


def exact(T: float = 0.5, gain: float | None = None, start: float | None = None) -> float:
    gain = 2 * T + 1 if gain is None else gain
    start = gain / 2 if start is None else start
    return gain + (start - gain) * math.exp(-1 / T)


DOORS: list[dict[str, float]] = [{"T": 0.8}, {"T": 0.3, "gain": 1.0}, {"start": 0.2}]


@pytest.mark.parametrize("given", cases(DOORS, daily=1))
def test_a_default_follows_other_numbers_by_every_door(
    given: dict[str, float], tmp_path: Path
) -> None:
    wanted, values = exact(**given), {f"lag.{n}": v for n, v in given.items()}
    file = tmp_path / "lag.toml"
    file.write_text(lw.write_model(lagging_text()))
    assert lw.simulate(lagging(**given), 1.0).final["lag.x"] == pytest.approx(wanted, rel=1e-7)
    assert lw.simulate(lagging(), 1.0, parameters=values).final["lag.x"] == pytest.approx(wanted)
    assert lw.simulate(str(file), 1.0, parameters=values).final["lag.x"] == pytest.approx(wanted)
    rows = {n: [parameters(lagging())[n], v] for n, v in values.items()}
    many = lw.simulate_batch(lagging(), 1.0, parameters=rows, step=1e-3)
    np.testing.assert_allclose(many["lag.x"], [exact(), wanted], rtol=1e-9)
    swept = lw.sweep(lagging(), 1.0, parameters=values, channels={"lag.x": ["final"]})
    assert float(swept["lag.x.final"][0]) == pytest.approx(wanted, rel=1e-6)
    out = tmp_path / "run.npz"
    words = [f"--set={n}={v}" for n, v in values.items()]
    assert main(["simulate", str(file), "--until", "1", "--out", str(out), *words]) == 0
    assert read_recording(out)["lag.x"][-1] == pytest.approx(wanted)


def lagging_text() -> lw.System:
    """Return the same without its relation, which a table of formulas has no word for."""
    s = lagging()
    s.members["lag"].block.requirements.clear()
    parameter = s.members["lag"].block.parameters["T"]
    s.members["lag"].block.parameters["T"] = replace(parameter, most=math.inf)
    return s


@pytest.mark.parametrize("given", [{"T": -1.0}, {"T": 6.0}, {"gain": math.nan}, {"start": 9.0},
                                   {"gain": 0.5, "start": 0.6}])  # fmt: skip
def test_what_makes_no_sense_is_refused_by_every_door(given: dict[str, float]) -> None:
    values = {f"lag.{n}": v for n, v in given.items()}
    begun = Session(lagging(gain=3.0, start=1.0).phases(), 1.0)
    later = lagging()
    later.set_parameters(values)
    rows = {n: [parameters(lagging())[n], v] for n, v in values.items()}
    for door in (
        lambda: lagging(**given),
        later.phases,
        lambda: lw.simulate(lagging(), 1.0, parameters=values),
        lambda: lw.simulate_batch(lagging(), 1.0, parameters=rows, step=0.1),
        lambda: lw.sweep(lagging(), 1.0, parameters=values, channels={"lag.x": ["final"]}),
        lambda: begun.set(values),
    ):
        with pytest.raises(lw.Error, match=next(iter(given))):
            door()


def test_a_number_that_follows_others_is_not_changed_within_a_run() -> None:
    begun = Session(lagging().phases(), 1.0)
    with pytest.raises(lw.Error, match=r"follows others in this run: it is 1 \+ 2\*lag.T"):
        begun.set({"lag.gain": 3.0})
    begun.set({"lag.T": 1.0})
    assert begun.run().samples["lag.x"][-1] == pytest.approx(3 + (1 - 3) * math.exp(-1), rel=1e-6)


def test_the_belief_of_a_law_is_its_wrist_as_that_is_set() -> None:
    for doubled in (False, True):
        m = lw.Mechanism("press")
        slide = m.body("slide", translate="z", mass=1)
        tool = m.body("tool", parent=slide, translate="z", mass=0.2)
        wrist = elements.CompliantWrist(m, slide, tool, [1e3] * 6, [1.0] * 6)
        law = control.ForceControl(m, wrist, 0.2, base="current", push={"z": 5}, filter=0.5)
        s = lw.System(m)
        s.add(law, rate=100)
        if doubled:
            whole = lw.System(m)
            s.set_parameters({"wrist.stiffness_z": 500.0})
            whole.add(s, name="inner")
            s = whole
        names = [n for n in parameters(s) if n.endswith("stiffness_z")]
        assert [parameters(s)[n] for n in names] == [500.0 if doubled else 1e3] * 2


# -- rest, axes, joints that are not named ---------------------------------------------------------
@pytest.mark.parametrize("latency", [0, 1, 4])
@pytest.mark.parametrize("kind", [drives.RotaryEncoder, drives.Resolver, drives.CurrentSensor])
def test_a_sensor_of_something_at_rest_sees_no_motion(kind: Any, latency: int) -> None:
    made = kind(20.0 if kind is drives.CurrentSensor else 12, latency=latency, rate=1000)
    s = lw.System(name="s")
    s.add(made, name="sensor")
    s.set_parameters({f"sensor.{next(iter(made.inputs))}": 1.25})
    run = lw.simulate(s, 0.008, every=1)
    assert np.ptp(run["sensor.measured"]) == 0.0
    assert run["sensor.measured"][0] == pytest.approx(1.25, abs=0.3)
    if "speed" in made.outputs:
        assert np.all(run["sensor.speed"] == 0.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_directions_of_a_tire_have_no_length(seed: int) -> None:
    rng = np.random.default_rng(seed)
    turn = float(rng.uniform(-3, 3))
    ahead, aside = np.array([math.cos(turn), math.sin(turn), 0]), [-math.sin(turn), math.cos(turn)]
    found = []
    for a, b in ((1.0, 1.0), rng.uniform(0.1, 9, 2), rng.uniform(0.1, 9, 2)):
        axes = {"forward": (a * ahead).tolist(), "left": [*(b * x for x in aside), 0]}
        m, tire = battery.made("Tire", seed, other=axes)
        s = lw.System(m)
        s.add(tire, name="block")
        found.append(Computed(tire, parameters(s)).found)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-9, atol=1e-9)
    for left in ((1.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.3, 1.0, 0.0)):
        with pytest.raises(lw.Error, match="not at right angles"):
            battery.made("Tire", seed, other={"forward": (1, 0, 0), "left": left})


BY_JOINT = [
    (name, argument)
    for name, kind in battery.KINDS.items()
    for argument in ("limit", "target")
    if "PerJoint" in str(getattr(signature(kind.block).parameters.get(argument), "annotation", ""))
]


@pytest.mark.parametrize(("name", "argument"), BY_JOINT)
def test_a_joint_that_is_not_named_has_no_limit_and_the_start_as_its_target(
    name: str, argument: str
) -> None:
    def made(given: Any) -> tuple[list[Expr], list[float]]:
        m = battery.rig(small=True)
        m.initial["arm"] = 0.3
        example = battery.EXAMPLES[name](m, np.random.default_rng(0))
        kind: Any = battery.KINDS[name].block
        block = kind(m, **example | {"target": None, argument: given})
        s = lw.System(m)
        battery.add_sources(s, block)
        s.add(block, rate=200 if block.needs_rate else None, name="block")
        known = Computed(block, parameters(s)).known
        outputs = [x for n, p in block.outputs.items() if n.startswith("tau") for x in p.symbols]
        return list(block.inputs["target"].values), [float(known[x]) for x in outputs]

    if argument == "limit":
        (_, tight), (_, free) = made({"cart": 1e-3}), made(None)
        assert abs(tight[0]) == pytest.approx(1e-3)
        assert tight[1:] == pytest.approx(free[1:])
    else:
        assert [float(x.data) for x in made({"cart": 0.1})[0]] == [0.1, 0.3]


# -- what cannot be meant --------------------------------------------------------------------------
IMPOSSIBLE: dict[str, Any] = {
    "Contact, dynamic": lambda: battery.made("Contact", other={"viscous": 0.0, "dynamic": 0.3}),
    "Contact, both": lambda: battery.made("Contact", other={"viscous": 3.0, "static": 0.3}),
    "Stop": lambda: battery.made("Stop", other={"lower": 1.0, "upper": -1.0}),
    "Friction": lambda: battery.made("Friction", other={"coulomb": 2.0, "static": 1.0}),
    "LuGre": lambda: battery.made("LuGre", other={"coulomb": 2.0, "static": 1.0}),
    "Muscle": lambda: battery.made("Muscle", other={"activation": -0.5}),
    "Elastic": lambda: drives.Elastic(
        50, stiffness=500, second_stiffness=700, third_stiffness=900, first_torque=10,
        second_torque=5,
    ),
    "Battery": lambda: drives.Battery(42, 50, capacity=5, resistance=0.05),
    "DCBus": lambda: drives.DCBus(
        48, 0.1, 2e-3, chopper_resistance=3.0, chopper_on=50, chopper_off=52
    ),
    "Cascade": lambda: drives.Cascade(10_000, 2_000, 1_000, ratio=0.0),
    "point_to_point": lambda: lw.motion.point_to_point([0.0], [1.0], speed=math.inf),
    "point_to_point, trapezoid": lambda: lw.motion.point_to_point(
        [0.0], [1.0], speed=1.0, acceleration=math.inf, law="trapezoid"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_cannot_be_meant_is_refused(name: str) -> None:
    with pytest.raises(lw.Error):
        IMPOSSIBLE[name]()


@pytest.mark.parametrize("field", ["current_integral", "along", "across", "feedforward"])
def test_zero_is_a_number_of_a_cascade(field: str) -> None:
    motor: Any = parts.EXAMPLES["PMSM"]
    law = drives.Cascade(10_000, 2_000, 1_000, **{field: 0.0})
    found = drives.Servo(law, motor, drives.Rigid(50)).controller
    assert getattr(found, field) == 0.0
