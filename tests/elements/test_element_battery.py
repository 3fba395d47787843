"""Every element and controller of the registries: units, energy, batches, rates, refusals.

Each has a line in `EXAMPLES` with random numbers; what is asked of all of them is asked here once.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright import control, elements
from linkwright.algebra import Expr, check_units, evaluate, parse_unit, unit_of
from linkwright.blocks import Block, BlockError, Continuous, Element, Kind
from linkwright.control.registry import CONTROLLERS
from linkwright.elements.registry import ELEMENTS
from linkwright.equations.energy import energy
from linkwright.mechanism import Mechanism
from linkwright.program import Assign
from tests.seeds import cases, seeds

KINDS = {kind.name: kind for kind in (*ELEMENTS, *CONTROLLERS)}
SEEDS = seeds(1)
FEW = ["Butterworth", "Contact", "LuGre", "AxisController", "KalmanFilter", "PID", "StateFeedback"]
"""An element, filter, law and observer of each sort: with and without states and events."""
SPREAD = ["ForceTorque", "LuGre", "Spring", "ComputedTorque", "Observer", "PID"]
"""An element, sensor, law and observer that may be continuous, with and without states."""
START = {
    "cart": 0.0, "cart_dot": 0.6, "arm": 0.4, "arm_dot": -1.1, "ball.x": 0.3, "ball.y": -0.2,
    "ball.z": 0.25, "ball.u": 1.5, "ball.v": 0.7, "ball.w": -0.5, "wheel_dot": 9.0,
}  # fmt: skip
FAR = math.sqrt(0.3**2 + 0.2**2 + 0.25**2)
"""From the ground's origin to the ball at the start, m."""

Numbers = dict[str, Any]


def rig(small: bool = False) -> Mechanism:
    """Return a cart with an arm that is driven, and a ball that flies with a wheel on it.

    All its numbers are parameters with units, so that the units of all expressions are known.
    """
    m = Mechanism("rig")
    rows = {
        "kg": {"m_cart": 2.0, "m_arm": 1.0, "m_ball": 0.7},
        "kg*m^2": {"i_arm": 0.05, "i_wheel": 0.02},
        "m": {"l_arm": 0.4, "l_tip": 0.8, "l_post": 0.5, "swing": 0.1},
        "m/s^2": {"g": 9.81},
        "rad/s": {"beat": 3.0},
    }
    for unit, row in rows.items():
        for name, value in row.items():
            m.parameter(name, value, unit=unit)
    cart = m.body("cart", translate="x", mass="m_cart", inertia=0)
    arm = m.body(
        "arm", parent=cart, rotate="y", mass="m_arm", com=(0, 0, "-l_arm"), inertia=(0, "i_arm", 0)
    )
    m.point("tip", arm, (0, 0, "-l_tip"))
    m.point("post", m.ground, (0, 0, "l_post"))
    if not small:
        ball = m.body("ball", translate="xyz", mass="m_ball", inertia=0)
        m.body("wheel", parent=ball, rotate="y", mass=0, inertia=(0, "i_wheel", 0))
    m.gravity(along="-z", g="g")
    m.force("push", m.input("F", unit="N"), at=cart, along="x")
    m.output("place", "cart")
    return m


def _pair(r: np.random.Generator) -> tuple[float, float]:
    return float(r.uniform(1, 50)), float(r.uniform(0.1, 4))


def _tire(m: Mechanism, r: np.random.Generator) -> Numbers:
    law = elements.MagicFormula(
        r.uniform(5, 15), r.uniform(1.1, 1.9), r.uniform(0.5, 1.2), r.uniform(-0.5, 0.98),
        longitudinal_b=r.uniform(5, 20), nominal_load=4.0, friction_slope=-0.1, stiffest_load=2.0,
    )  # fmt: skip
    return {
        "at": "ball", "law": law, "forward": m.x, "left": m.y, "load": r.uniform(1, 8),
        "wheel": "wheel", "radius": 0.12, "rolling_resistance": 0.02, "trail": 0.0,
        "trail_slip": 0.1, "min_speed": 0.1, "relaxation": 0.0,
    }  # fmt: skip


def _joint(r: np.random.Generator, **more: Any) -> Numbers:
    kp, kd = _pair(r)
    return {"kp": kp, "kd": kd, "joints": ["cart", "arm"]} | more


def wrist_on(m: Mechanism, r: np.random.Generator) -> elements.CompliantWrist:
    """Return a wrist between the ball and its wheel."""
    return elements.CompliantWrist(m, "ball", "wheel", r.uniform(5, 9, 6).tolist(), [0.02] * 6)


#: The arguments of each kind, all by name; those with a mechanism get it before them.
EXAMPLES: dict[str, Callable[[Mechanism, np.random.Generator], Numbers]] = {
    "Butterworth": lambda m, r: {"cutoff": r.uniform(5, 60), "initial": 0.2},
    "CompliantWrist": lambda m, r: {
        "flange": "ball", "tool": "wheel", "stiffness": r.uniform(1, 9, 6).tolist(),
        "damping": r.uniform(0.01, 0.05, 6).tolist(), "massless": False,
    },
    "Contact": lambda m, r: {
        "points": ["ball"], "surface": elements.Plane(), "stiffness": r.uniform(2e3, 2e4),
        "damping": r.uniform(1, 30), "dissipation": r.uniform(0.1, 1), "viscous": r.uniform(0, 5),
        "static": None, "dynamic": None, "tangential": None, "tangential_damping": None,
    },
    "Drag": lambda m, r: {
        "at": "ball", "coefficient": r.uniform(0.1, 2), "area": r.uniform(0.1, 1),
        "density": r.uniform(0.5, 2), "wind": (0.0, 0.0, 0.0),
    },
    "Encoder": lambda m, r: {"coordinate": "arm", "resolution": r.uniform(1e-3, 0.1),
                             "offset": r.uniform(-1, 1)},
    "ForceTorque": lambda m, r: {"body": "arm", "force_noise": 0.0, "moment_noise": 0.0,
                                 "force_bias": 0.1, "moment_bias": 0.2},
    "Friction": lambda m, r: {
        "coordinate": "arm", "coulomb": r.uniform(0.1, 2), "viscous": r.uniform(0, 1),
        "static": r.uniform(2, 3), "stribeck": 0.2, "smoothing": 0.1,
    },
    "Imu": lambda m, r: {"at": "tip", "accel_noise": 0.0, "gyro_noise": 0.0, "accel_bias": 0.1,
                         "gyro_bias": 0.2},
    "JointSpring": lambda m, r: {"coordinate": "arm", "stiffness": r.uniform(1, 50), "rest": 0.4,
                                 "damping": r.uniform(0, 2)},
    "LuGre": lambda m, r: {
        "coordinate": "arm", "stiffness": r.uniform(200, 500), "damping": r.uniform(0.1, 1),
        "coulomb": 1.0, "static": r.uniform(1.1, 1.5), "viscous": r.uniform(0.1, 1),
        "stribeck": 0.3,
    },
    "Muscle": lambda m, r: {"points": ["post", "tip"], "strength": r.uniform(1, 20),
                            "coordinates": ["arm", "cart"], "activation": r.uniform(0, 1)},
    "PinholeCamera": lambda m, r: {
        "at": "cart", "targets": [
            elements.DiscTarget(0.1, body="arm", rotation=((1, 0, 0), (0, 0, -1), (0, 1, 0))),
        ], "rotation": ((0, 1, 0), (0, 0, 1), (1, 0, 0)), "focal": (500.0, 620.0),
        "every": 2, "exposure": 1, "readout": 1, "interlaced": True, "noise": r.uniform(0.1, 1),
        "area_noise": 0.01, "skipped": 0.2,
    },
    "RoundContact": lambda m, r: {
        "first": elements.SphereSurface(0.1, body="ball"), "second": elements.Plane(),
        "stiffness": r.uniform(2e3, 2e4), "damping": r.uniform(1, 30),
        "dissipation": r.uniform(0.1, 1), "friction": r.uniform(0.1, 1), "creep": 0.05,
        "rolling": 0.01,
    },
    "Spring": lambda m, r: {
        "first": "n", "second": "ball", "stiffness": r.uniform(1, 50), "length": FAR,
        "damping": r.uniform(0, 3), "tension_only": bool(r.integers(2)),
    },
    "Stop": lambda m, r: {"coordinate": "arm", "lower": 0.2, "upper": 0.9,
                          "stiffness": r.uniform(50, 500), "damping": r.uniform(0.1, 2)},
    "Tire": _tire,
    "WeightCompensation": lambda m, r: {
        "flange": "arm", "mass": r.uniform(0.1, 1), "center": [0.1, 0.0, 0.05],
        "bias": [0.1] * 6, "sensor": elements.ForceTorque(m, "arm"),
    },
    "WristContact": lambda m, r: {
        "wrist": elements.CompliantWrist(
            m, "ball", "ball", [500] * 6, [30] * 6, massless=True
        ), "surface": elements.Plane(center=(0.0, 0.0, 0.3)), "stiffness": r.uniform(2e3, 2e4),
        "damping": r.uniform(1, 30), "dissipation": r.uniform(0.1, 1),
    },
    "WristPotentiometers": lambda m, r: {
        "wrist": wrist_on(m, r), "linkage": elements.WristLinkage(0.3, offsets=[0.1] * 6),
        "resolution": 0.0, "noise": 0.0, "backlash": 0.0,
    },
    "WristReading": lambda m, r: {
        "stiffness": r.uniform(1, 9, 6).tolist(), "linkage": elements.WristLinkage(0.3),
        "sensor": elements.WristPotentiometers(wrist_on(m, r), noise=0.0),
    },
    "AxisController": lambda m, r: {
        "names": ["a", "b"], "integers": False, "full_scale": 8.0, "kp": [r.uniform(1, 5), 2.0],
        "ki": {"a": 1.0}, "kd": 0.01, "start": {"following": 2.0, "rated": 3.0, "release": 0.1},
        "also": ["limits", "feedforward", "notch", "home"], "rate": 200,
    },
    "ComputedTorque": lambda m, r: {"kp": 30.0, "kd": 8.0, "limit": 40.0, "target": 0.1},
    "Feedforward": lambda m, r: {
        "motion": {"cart": "swing*sin(beat*t)", "arm": "0.4 + 0.2*sin(beat*t)"},
    },
    "ForceControl": lambda m, r: {
        "wrist": "arm", "KF": r.uniform(0.1, 0.5), "base": "specified", "push": {"ry": 0.1},
        "stiffness": 500.0, "axes": "x ry", "damping": 0.01,
    },
    "FourJointWrist": lambda m, r: {"fastest": r.uniform(1, 5), "initial": r.uniform(-1, 1),
                                    "either": bool(r.integers(2))},
    "GravityCompensation": lambda m, r: {"joints": ["cart", "arm"]},
    "Hybrid": lambda m, r: {
        "wrist": "arm", "force": "ry", "KF": r.uniform(0.1, 0.5), "Kp": 0.5, "axes": "x ry",
        "stiffness": 500.0, "approach": {"ry": 0.1}, "threshold": {"ry": 1e-3}, "release": 0.4,
        "form": "cartesian", "push": {"ry": 1.0}, "damping": 0.01, "follow": 0.5,
    },
    "ImageMoments": lambda m, r: {"at": "ball", "area": r.uniform(0.01, 0.1),
                                  "wanted": [256, 256, 1], "focal": (500, 600)},
    "ImagePoints": lambda m, r: {"at": "tip", "wanted": [(200, 256), (300, 256)], "depth": 1.0,
                                 "rotation": ((0, 1, 0), (0, 0, 1), (1, 0, 0))},
    "JointPID": lambda m, r: _joint(r, ki=r.uniform(0.1, 2), limit=30.0, unwind=0.5, target=0.1),
    "KalmanFilter": lambda m, r: {
        "phi": [[1.0, 0.1], [0.0, 0.9]], "h": [[1.0, 0.0]], "process": 0.1,
        "measurement": 0.5, "covariance": 2.0,
    },
    "LQR": lambda m, r: {"model": lw.linearize(m), "Q": 1.0, "R": 0.1},
    "LeadLag": lambda m, r: {"zero": r.uniform(1, 5), "pole": r.uniform(6, 20), "gain": 2.0},
    "Admittance": lambda m, r: {"wrist": "arm", "M": 2.0, "D": 5.0, "K": 10.0, "push": {"x": 1.0},
                                "axes": "x ry"},
    "Impedance": lambda m, r: {"wrist": "arm", "K": 5.0, "D": r.uniform(1, 3), "M": 2.0,
                               "axes": "x ry"},
    "OperationalHybrid": lambda m, r: {
        "wrist": "arm", "force": "ry", "push": {"ry": 0.1}, "kp": 9.0, "kd": 6.0, "M": 1.0,
        "D": 2.0, "ki": 0.5, "axes": "x ry",
    },
    "Stiffness": lambda m, r: {"wrist": "arm", "K": 5.0, "D": r.uniform(1, 3), "limit": 40.0,
                               "axes": "x ry"},
    "FlexibleJointControl": lambda m, r: {
        "stiffness": r.uniform(50, 90), "inertia": 1.5, "bandwidth": 4.0, "friction": 0.2,
        "target": 0.1,
    },
    "PassivityObserver": lambda m, r: {"budget": 0.2, "damping": r.uniform(1, 2)},
    "MomentumObserver": lambda m, r: {
        "gain": r.uniform(20, 100), "threshold": r.uniform(0.5, 2), "damping": 0.5, "reflex": 0.1,
        "acts": True,
    },
    "Observer": lambda m, r: {"model": lw.linearize(m), "process": 1.0, "measurement": 0.1},
    "PD": lambda m, r: _joint(r, target={"cart": 0.0, "arm": 0.4}, limit=30.0),
    "PID": lambda m, r: {"kp": 2.0, "ki": 1.0, "kd": 0.1, "low": -1.0, "high": 1.0, "filter": 50.0,
                         "unwind": 0.4, "weight": 0.8},
    "PositionCompensation": lambda m, r: {
        "wrist": "arm", "Kp": r.uniform(0.1, 1), "stiffness": 500.0, "axes": "x ry",
        "filter": 0.5, "damping": 0.01,
    },
    "StateFeedback": lambda m, r: {
        "K": [r.uniform(0.1, 2, 3).tolist()], "states": ["cart", "cart_dot", "arm_dot"],
        "target": {"cart": 0.1}, "rest": {"F": 0.5},
    },
    "StateSpace": lambda m, r: {"a": [[-2.0]], "b": [[1.0]], "c": [[1.0]], "d": None,
                                "initial": [0.3]},
    "SteadyKalmanFilter": lambda m, r: {
        "phi": [[1.0, 0.1], [0.0, 0.9]], "theta": [[0.0], [0.1]], "h": [[1.0, 0.0]],
        "process": 0.1, "measurement": 0.5,
    },
    "VisualCompensator": lambda m, r: {
        "axes": 2, "gain": r.uniform(0.05, 0.2), "scale": [1e-3, 2e-3], "limit": 0.5,
    },
    "VisualPredictor": lambda m, r: {"axes": 1, "gain": r.uniform(0.1, 0.4), "scale": 2e-3},
    "TransferFunction": lambda m, r: {"numerator": [1.0, 2.0], "denominator": [1.0, 3.0, 5.0]},
}  # fmt: skip

SMALL_RIG = {
    "Admittance", "ComputedTorque", "FlexibleJointControl", "Impedance", "LQR",
    "MomentumObserver", "Observer", "OperationalHybrid", "PassivityObserver", "Stiffness",
}  # fmt: skip
"""Those that model the whole mechanism: they get the cart and its arm alone."""

SOURCES = {
    "AxisController", "Butterworth", "FourJointWrist", "KalmanFilter", "LeadLag", "Observer", "PID",
    "StateSpace",
    "SteadyKalmanFilter", "TransferFunction", "VisualCompensator", "VisualPredictor",
}  # fmt: skip
"""Blocks without a mechanism, whose first port is fed with a sine."""

DISCRETE = {"LeadLag", "Observer", "TransferFunction"}
"""Those that are made discrete for a rate, and not only run at one."""


def made(name: str, seed: int = 0, other: Numbers | None = None) -> tuple[Mechanism, Block]:
    """Return a rig and a block on it, with some arguments other than in the example."""
    m = rig(name in SMALL_RIG)
    given = EXAMPLES[name](m, np.random.default_rng(seed)) | (other or {})
    kind: Callable[..., Block] = KINDS[name].block
    return m, kind(m, **given) if "mechanism" in inspect.signature(kind).parameters else kind(
        **given
    )


def system_of(name: str, seed: int, rate: float | None = None) -> lw.System:
    """Return a System of a rig and a block; one without a mechanism is fed with a sine."""
    m, block = made(name, seed, other={"rate": rate} if rate and name in DISCRETE else None)
    rate = 200 if rate is None and block.needs_rate else rate
    if name not in SOURCES:
        s = lw.System(m, base=2000)
        add_sources(s, block)
        s.add(block, rate=rate, name="block")
        speeds = {speed.symbol.name for speed in m.kinematics().speeds}
        s.set_initial({k: v for k, v in START.items() if k in {*m.coordinates, *speeds}})
        return s
    s = lw.System(name="rig", base=2000)
    s.add(block, rate=rate, name="block")
    port = next(iter(block.inputs.values()))
    feed = "0.3 + sin(9*t)" if not port.shape else ["sin(9*t)"] * math.prod(port.shape)
    s.connect(feed, f"block.{port.name}")
    return s


def add_sources(s: lw.System, block: Block) -> None:
    """Add the blocks that a block reads, and those that these read, before it."""
    for other in dict.fromkeys(other for other, _ in block.sources.values()):
        add_sources(s, other)
        s.add(other)


@cache
def continuous(name: str, seed: int) -> tuple[lw.System, Any]:
    """Return a System and its run with adaptive steps."""
    s = system_of(name, seed)
    return s, lw.simulate(s, 0.5, tolerance=1e-9)


# -- the registry ----------------------------------------------------------------------------------
def test_every_block_that_ships_is_registered_has_an_example_and_is_documented() -> None:
    shipped = {
        name
        for home in (elements, control)
        for name in home.__all__
        if inspect.isclass(getattr(home, name)) and issubclass(getattr(home, name), Block)
    }
    assert set(KINDS) == shipped - {"JointController"}  # which is only a base of others
    assert set(EXAMPLES) == set(KINDS)
    docs = Path(__file__).parents[2] / "docs"
    text = "".join((docs / page).read_text() for page in ("elements.md", "systems.md"))
    assert [name for name in KINDS if f"`{name}" not in text] == []


PLAIN = {"Tire": {"law": elements.MagicFormula(10.0, 1.6, 1.0, 0.9)}}
"""Arguments whose numbers have no unit inside: a law's nominal load is a plain number."""


# -- units -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", KINDS)
def test_units_are_consistent(name: str) -> None:
    """Every sum adds what can be added, and every output has the unit that it says it has."""
    m, block = made(name, other=PLAIN.get(name))
    known: dict[Expr, Any] = {}
    speeds = [s.symbol for s in m.kinematics().speeds]
    for x in (*m.parameters.values(), *m.coordinates.values(), *m.inputs.values(), *speeds):
        if m.units.get(x.name, "?") != "?":
            known[x] = m.units[x.name]
    for statement in block.statements:
        if isinstance(statement, Assign) and statement.value.op != "num":
            found = check_units(statement.value, None, known)
            if found is not None:
                known[statement.target] = found
    for port in block.outputs.values():
        for x, value in zip(port.symbols, port.values, strict=True):
            if value.op == "num":
                continue
            found = check_units(value, None if port.unit == "?" else port.unit, known)
            if found is not None:
                known[x] = found
    for state in block.states.values():
        assert state.following is not None
        rate, own = unit_of(state.following, known), unit_of(state.symbol, known)
        if rate is not None and own is not None:
            assert (rate * parse_unit("s")).fits(own), (state.symbol, rate, own)
    for memory in block.discrete_states.values():
        assert memory.following is not None
        check_units(memory.following, None if memory.unit == "?" else memory.unit, known)


# -- energy ----------------------------------------------------------------------------------------
PASSIVE = [n for n, k in KINDS.items() if k.passive and n not in SOURCES]
IDLE = [
    "Admittance", "Encoder", "ForceControl", "ForceTorque", "Hybrid", "ImageMoments", "ImagePoints",
    "Imu", "PinholeCamera", "PositionCompensation", "WeightCompensation",
]  # fmt: skip
"""Those of them that put no force or moment on the mechanism: they measure, or move set points."""


def test_what_is_idle_puts_no_force_on_the_mechanism() -> None:
    """Whatever its numbers are, then, the mechanism has the energy that it has without it."""
    idle = []
    for name in PASSIVE:
        block = made(name)[1]
        assert isinstance(block, Element)
        if not block.forces + block.moments:
            idle.append(name)
    assert sorted(idle) == sorted(IDLE)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "name",
    cases(PASSIVE, daily=[n for n in PASSIVE if n not in IDLE or n in ("Encoder", "Hybrid")]),
)
def test_what_is_passive_never_gives_more_energy_than_it_took(name: str, seed: int) -> None:
    """It holds none at the start, so the mechanism never has more than it had then."""
    system, run = continuous(name, seed)
    m = system.mechanism
    found = energy(m)
    names = [*m.coordinates, *(s.symbol.name for s in m.kinematics().speeds)]
    symbols = {**m.coordinates, **{s.symbol.name: s.symbol for s in m.kinematics().speeds}}
    at: dict[Expr, Any] = {symbols[n]: run[n] for n in names}
    at |= {x: m.values[n] for n, x in m.parameters.items()}
    total = evaluate(found.kinetic + found.potential, at)
    kinetic = evaluate(found.kinetic, at)
    assert np.max(total - total[0]) < 1e-6 * kinetic.max()
    block = system.members["block"].block
    assert isinstance(block, Element)
    if block.forces + block.moments:
        assert np.max(np.abs(total - total[0])) > 1e-6, "it does nothing in this test"


# -- batches ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", cases(KINDS, daily=FEW))
def test_a_batch_is_its_single_runs(name: str, seed: int) -> None:
    system, _ = continuous(name, seed)
    block = system.members["block"].block
    chosen = next((p for p in block.parameters.values() if p.value), None)
    initial = {}
    if "arm" in system.initial:
        initial["arm"] = system.initial["arm"] + np.array([0.0, 0.02, 0.05])
    settings: dict[str, Any] = {"method": "rk4", "step": 1 / 2000}
    for factors in ([0.7, 1.0, 1.3], [0.7, 0.8, 1.0], [1.0, 1.1, 1.3]):
        values = {}
        if chosen is not None:
            values[f"block.{chosen.symbol.name}"] = chosen.value * np.array(factors)
        try:
            many = lw.simulate_batch(
                system, 0.05, runs=3, initial=initial, parameters=values, **settings
            )
        except BlockError:
            continue  # it must not be larger, or smaller, than another number
        break
    else:
        pytest.fail(f"no other value of {chosen} is taken")
    for k in range(0, 3, 2):
        one = lw.simulate(
            system, 0.05,
            initial={n: float(v[k]) for n, v in initial.items()},
            parameters={n: float(v[k]) for n, v in values.items()},
            **settings,
        )  # fmt: skip
        for state in many.states:
            np.testing.assert_allclose(
                many[state][k], one.final[state], rtol=1e-11, atol=1e-11, err_msg=state
            )


# -- rates -----------------------------------------------------------------------------------------
WITH_MEMORY = {
    "Butterworth", "Encoder", "PinholeCamera", "Admittance", "AxisController", "FourJointWrist",
    "Hybrid", "ImageMoments", "ImagePoints", "KalmanFilter", "MomentumObserver",
    "PassivityObserver", "PositionCompensation", "StateSpace", "SteadyKalmanFilter",
    "VisualCompensator", "VisualPredictor",
}  # fmt: skip
"""Kinds that are not a continuous one, sampled: they have a rate or a memory of their own."""


def test_every_kind_with_a_memory_of_its_own_is_listed() -> None:
    blocks = {name: made(name)[1] for name in KINDS}
    own = {name for name, b in blocks.items() if b.discrete_states or b.needs_rate}
    assert own | {"StateSpace"} == WITH_MEMORY


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "name",
    cases(
        [n for n in KINDS if n not in WITH_MEMORY],
        daily=[n for n in SPREAD if n not in WITH_MEMORY],
    ),
)
def test_sampled_ever_faster_it_becomes_the_continuous_one(name: str, seed: int) -> None:
    """The error of holding outputs, or of Euler's rule, is of first order in the period."""
    whole, run = continuous(name, seed)
    states = [x for x in run.final if x in START or x in ("block.y", "block.u", "block.y[0]")]
    assert states
    at = int(np.searchsorted(run.times, 0.1 - 1e-9))
    assert run.times[at] == pytest.approx(0.1)
    errors = []
    for rate in (500, 2000):
        s = system_of(name, seed, rate)
        assert not isinstance(s.members["block"].rate, Continuous)
        sampled = lw.simulate(s, 0.1, tolerance=1e-9).final
        errors.append(max(abs(sampled[x] - float(run[x][at])) for x in states))
    assert errors[1] < max(0.4 * errors[0], 1e-8)
    assert whole.name == "rig"


# -- refusals --------------------------------------------------------------------------------------
def numeric_arguments(kind: Kind) -> list[str]:
    """Return the arguments of a kind that take numbers."""
    found = []
    for name, taken in inspect.signature(kind.block).parameters.items():
        told = str(taken.annotation)
        numeric = any(word in told for word in ("float", "PerJoint", "Weights", "Scalar"))
        if numeric and not told.startswith(("Mapping", "dict")) and name not in ("rate", "motion"):
            found.append(name)
    return found


CASES = [(name, argument) for name, kind in KINDS.items() for argument in numeric_arguments(kind)]


@pytest.mark.parametrize(("name", "argument"), CASES)
def test_a_number_that_is_none_is_refused_by_the_name_of_the_argument(
    name: str, argument: str
) -> None:
    for value in (math.nan, "much"):
        with pytest.raises(lw.Error) as told:
            made(name, other=_enabled(name) | {argument: value})
        told_by_text = value == "much" and "'much'" in str(told.value)  # read as an expression
        assert argument in str(told.value) or told_by_text, told.value


def _enabled(name: str) -> Numbers:
    """Return arguments without which others are not looked at."""
    return {"Contact": {"static": 0.5, "viscous": 0.0}, "Tire": {"trail": 0.03}}.get(name, {})


ALLOWED_BELOW_ZERO = {
    "offset", "rest", "lower", "upper", "target", "initial", "wind", "activation", "load", "spin",
    "force_bias", "moment_bias", "accel_bias", "gyro_bias", "low", "high", "weight", "gain",
    "K", "a", "b", "c", "d", "zero", "numerator", "denominator", "inputs",
}  # fmt: skip


REVERSED = [(name, gain) for name in ("AxisController", "PID") for gain in ("kp", "ki", "kd")]
"""Gains whose sign is that of the plant."""


@pytest.mark.parametrize(
    ("name", "argument"),
    [c for c in CASES if c[1] not in ALLOWED_BELOW_ZERO and c not in REVERSED],
)
def test_a_negative_number_that_makes_no_sense_is_refused(name: str, argument: str) -> None:
    with pytest.raises(lw.Error) as told:
        made(name, other=_enabled(name) | {argument: -0.5})
    assert argument in str(told.value), told.value


@pytest.mark.parametrize("name", ["PD", "ComputedTorque", "JointPID"])
@pytest.mark.parametrize("argument", ["kp", "kd", "limit", "target"])
def test_numbers_for_joints_are_as_many_as_joints(name: str, argument: str) -> None:
    with pytest.raises(lw.Error, match=f"{argument} has 3 numbers for 2 joints"):
        made(name, other={argument: [1.0, 2.0, 3.0]})


@pytest.mark.parametrize("name", cases(KINDS, daily=FEW))
def test_a_run_refuses_values_that_the_argument_would_refuse(name: str) -> None:
    """What is checked where a block is made is checked where a run gives another value."""
    system = system_of(name, SEEDS[0])
    for p in system.members["block"].block.parameters.values():
        words = f"{p.symbol.name} of 'block'"
        known = f"block.{p.symbol.name}"
        wrong = [math.nan]
        if p.least == 0 or p.symbol.data.sign == "positive":
            wrong.append(-1.0)
        for value in wrong:
            with pytest.raises(lw.Error, match=words):
                lw.simulate(system, 0.01, parameters={known: value})
            with pytest.raises(lw.Error, match=words):
                lw.simulate_batch(system, 0.01, parameters={known: [p.value, value]})


def test_a_sampled_block_reads_its_own_output_of_the_same_instant() -> None:
    s = lw.System(name="s", base=10)
    b = Block("b")
    y = b.output("y", "t + 1")
    b.output("z", 2 * y)
    n = b.discrete_state("n", y)
    b.output("before", n)
    s.add(b, rate=10)
    final = lw.simulate(s, 0.5).final
    assert final["b.z"] == 2 * final["b.y"]
    assert final["b.y"] - final["b.before"] == pytest.approx(0.1)
