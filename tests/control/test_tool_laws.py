"""Stiffness, impedance, admittance and operational-space hybrid control, in closed loop.

What the tool does under a law is worked out by Pinocchio from the law's torques at random states.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
import pytest

import linkwright as lw
from linkwright import control, elements
from linkwright.blocks import BlockError
from linkwright.control.force.tool_dynamics import CLEAR
from tests.oracles.force_laws import Tool, puma, said, torques, way_between

ROOT = np.random.default_rng(3).uniform(-1, 1, (6, 6))
STIFF, MASS = ROOT @ ROOT.T + 4 * np.eye(6), np.diag([2.0, 3.0, 4.0, 0.1, 0.2, 0.3]) + 0.05
"""Matrices with entries off their diagonals, as of springs and masses that are not at the tool."""
K = [500.0, 600.0, 700.0, 8.0, 9.0, 10.0]
D = [50.0, 40.0, 30.0, 0.8, 0.7, 0.6]
M = [2.0, 3.0, 4.0, 0.1, 0.2, 0.3]
MOON: Any = "moon"
TILT = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])


def state(seed: int) -> dict[str, np.ndarray]:
    """Return a random state of the PUMA, a wanted one near it, and a wrench."""
    rng = np.random.default_rng(seed)
    q = np.array([0, 0.6, -2, 0, 0.7, 0]) + rng.uniform(-0.4, 0.4, 6)
    return {
        "q": q, "u": rng.uniform(-1, 1, 6), "target": q + 0.1 * rng.uniform(-1, 1, 6),
        "target_rate": rng.uniform(-1, 1, 6), "target_acceleration": rng.uniform(-2, 2, 6),
        "wrench": rng.uniform(-5, 5, 6),
    }  # fmt: skip


def moved(law: Any, at: dict[str, np.ndarray]) -> tuple[Tool, np.ndarray, np.ndarray, np.ndarray]:
    """Return the tool as the law and the wrench move it, and errors from the wanted motion.

    The errors are those of place, velocity and acceleration along the flange's axes.
    """
    q, u = at["q"], at["u"]
    now = Tool(q, u)
    a = now.accelerated(q, u, torques(law, at) + now.jacobian.T @ at["wrench"])
    now = Tool(q, u, a)
    wanted = Tool(at["target"], at["target_rate"], at["target_acceleration"])
    turn = now.place.rotation.T @ wanted.place.rotation
    both = np.kron(np.eye(2), turn)
    rate = both @ wanted.velocity - now.velocity
    return now, way_between(now, wanted), rate, both @ wanted.acceleration - now.acceleration


@cache
def law(kind: str) -> Any:
    """Return a law on the PUMA."""
    m = puma()[0]
    if kind == "mass":
        return control.Impedance(m, "link6", STIFF.tolist(), D, MASS.tolist())
    if kind == "own":
        return control.Impedance(m, "link6", K, D)
    return control.OperationalHybrid(
        m, "link6", "z ry", {"z": 5, "ry": 0.2}, kp=100, kd=20, M=M, D=D, frame="ground",
        rotation=TILT.tolist(),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_impedance_gives_the_tool_its_mass_damping_and_stiffness(seed: int) -> None:
    """M (a - a_d) = F + K e + D e' in six coupled directions, by Pinocchio's forward dynamics."""
    at = state(seed)
    _, error, rate, lack = moved(law("mass"), at)
    left = -MASS @ lack - np.array(D) * rate - STIFF @ error - at["wrench"]
    assert np.abs(left).max() < 1e-8


def test_impedance_without_a_mass_keeps_the_inertia_of_the_tool() -> None:
    """Lambda (a - a_d) = F + K e + D e', with Lambda of Pinocchio's mass matrix."""
    at = state(5)
    now, error, rate, lack = moved(law("own"), at)
    q, u = at["q"], at["u"]
    free = now.accelerated(q, u, np.zeros(6))
    mobility = np.array(
        [now.accelerated(q, u, row) - free for row in now.jacobian]
    )  # M^-1 J', by columns
    pushed = np.linalg.solve(now.jacobian @ mobility.T, -lack)
    left = pushed - np.array(D) * rate - np.array(K) * error - at["wrench"]
    assert np.abs(left).max() < 1e-8


def test_stiffness_balances_a_wrench_where_the_tool_gives_way_by_it() -> None:
    """At rest tau + J'F is what gravity needs for F = -K e: the apparent stiffness is K."""
    at = state(11) | {"u": np.zeros(6), "target_rate": np.zeros(6)}
    del at["target_acceleration"]
    made = control.Stiffness(puma()[0], "link6", K, D)
    now = Tool(at["q"], at["u"])
    wanted = Tool(at["target"], at["u"])
    wrench = -np.array(K) * way_between(now, wanted)
    a = now.accelerated(at["q"], at["u"], torques(made, at) + now.jacobian.T @ wrench)
    assert np.abs(a).max() < 1e-8


@pytest.mark.parametrize("angle", [0.3, 2.5])
def test_the_moment_is_the_stiffness_times_the_angle(angle: float) -> None:
    """Not times its sine, which falls beyond a quarter turn: as the spring of a wrist."""
    m = lw.Mechanism("wheel")
    m.body("wheel", rotate="z", mass=1, inertia=1)
    made = control.Stiffness(m, "wheel", K=10.0, D=1.0, axes="rz")
    assert torques(made, {"q": [0.2], "u": [0.0], "target": [0.2 + angle]}) == pytest.approx(
        [10 * angle]
    )


# -- hybrid ----------------------------------------------------------------------------------------
def split(six: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Return components along the axes of the selection, which is tilted against the ground."""
    turn = TILT.T @ place
    found: np.ndarray = np.r_[turn @ six[:3], turn @ six[3:]]
    return found


def test_force_and_motion_do_not_disturb_each_other() -> None:
    """Axes of a frame that is tilted against the ground: motion as wanted, force as a mass."""
    at = state(2)
    now, error, rate, lack = moved(law("hybrid"), at)
    turn = now.place.rotation
    error, rate, lack, felt, speed, a = (
        split(x, turn) for x in (error, rate, lack, at["wrench"], now.velocity, now.acceleration)
    )
    motion = [0, 1, 3, 5]
    np.testing.assert_allclose(-lack[motion], (20 * rate + 100 * error)[motion], atol=1e-8)
    for k, push in ((2, 5.0), (4, 0.2)):
        assert a[k] == pytest.approx((felt[k] + push - D[k] * speed[k]) / M[k], abs=1e-8)


def test_the_wrench_does_not_move_axes_of_motion_nor_the_target_those_of_force() -> None:
    """The decoupling itself: one input changes, and the other kind of axis does not notice."""
    at = state(4)
    turn = Tool(at["q"], at["u"]).place.rotation

    def acceleration(changed: dict[str, np.ndarray]) -> np.ndarray:
        return split(moved(law("hybrid"), at | changed)[0].acceleration, turn)

    base = acceleration({})
    pressed = acceleration({"wrench": at["wrench"] + [30, -20, 40, 1, 2, -1]})
    steered = acceleration({"target_acceleration": at["target_acceleration"] + 3})
    assert np.abs((pressed - base)[[0, 1, 3, 5]]).max() < 1e-8
    assert np.abs((pressed - base)[[2, 4]]).min() > 0.1
    assert np.abs((steered - base)[[2, 4]]).max() < 1e-8
    assert np.abs((steered - base)[[0, 1, 3, 5]]).min() > 0.1


# -- in one program with arm and contact -----------------------------------------------------------
def plotter() -> lw.Mechanism:
    """Return a tool that slides along x and z."""
    m = lw.Mechanism("plotter")
    slide = m.body("slide", translate="xz", mass=2)
    m.point("tip", slide)
    m.gravity(along="-z")
    return m


def test_hybrid_control_presses_on_a_table_while_it_moves_along_it() -> None:
    """The contact's force is what is asked for; along the table the tool follows its target."""
    m = plotter()
    s = lw.System(m)
    given = control.OperationalHybrid(
        m, "slide", "z", {"z": -5}, kp=400, kd=40, M=1.0, D=60.0, ki=5.0, axes="x z"
    )
    hybrid = s.add(given, rate=1000)
    table = s.add(elements.Contact(m, ["tip"], elements.Plane(), stiffness=1e4, dissipation=1.0))
    s.connect(table.force1_z, hybrid.wrench[2])
    s.connect("0.1*sin(2*t)", hybrid.target[0])
    s.connect("0.2*cos(2*t)", hybrid.target_rate[0])
    s.connect("-0.4*sin(2*t)", hybrid.target_acceleration[0])
    run = lw.simulate(
        s, 1.0, initial={"slide.z": 1e-3, "slide.x_dot": 0.2}, method="rk4", step=1e-4
    )
    assert run.final["contact.normal1"] == pytest.approx(5.0, abs=0.02)
    assert run.final["slide.x"] == pytest.approx(0.1 * np.sin(2.0), abs=1e-4)


def test_admittance_is_the_mass_damper_and_spring_that_it_says() -> None:
    """A step of force on one axis, against the response of m w' + d w + k x = F."""
    m = lw.Mechanism("press")
    m.body("slide", translate="z", mass=1)
    s = lw.System(m)
    given = s.add(control.Admittance(m, "slide", M=2.0, D=12.0, K=50.0), rate=2000)
    servo = s.add(control.ComputedTorque(m, kp=4e4, kd=400), rate=2000)
    s.connect(given.command, servo.target)
    s.connect(given.command_rate, servo.target_rate)
    s.connect(3.0, given.wrench[2])
    run = lw.simulate(s, 1.0, every=1)
    root = np.sqrt(complex(3.0**2 - 25.0)).imag
    t = run.times
    wave = np.cos(root * t) + 3.0 / root * np.sin(root * t)
    assert np.abs(run["admittance.way[2]"] - 0.06 * (1 - np.exp(-3 * t) * wave)).max() < 3e-4
    assert run["slide"][-1] == pytest.approx(run["admittance.way[2]"][-1], abs=1e-3)


def test_admittance_gives_way_by_the_wrench_over_the_stiffness_on_a_whole_arm() -> None:
    """All six axes of the PUMA: iterated to rest, the tool's commanded place is F/K away."""
    m = puma()[0]
    at = state(9)
    wrench = np.array([4.0, -3.0, 5.0, 0.2, -0.1, 0.15])
    given = control.Admittance(m, "link6", M=0.1, D=1.0, K=K)
    ports = {"q": at["q"], "u": np.zeros(6), "target": at["q"], "wrench": wrench}
    memory: dict[str, Any] = {}
    found: dict[str, np.ndarray] = {}
    for _ in range(40):
        found = said(given, ports | memory, period=0.5)
        memory = {n.removeprefix("next "): x.item() for n, x in found.items() if "next" in n}
    wanted, reached = Tool(at["q"], np.zeros(6)), Tool(found["command"], np.zeros(6))
    np.testing.assert_allclose(-np.array(K) * way_between(reached, wanted), wrench, rtol=1e-6)


def test_arm_wrist_and_contact_are_one_program() -> None:
    """A tool on springs, sent 10 mm into a table: the law's spring and the table's force agree."""
    m = lw.Mechanism("press")
    ram = m.body("ram", translate="xz", mass=3)
    tool = m.body("tool", parent=ram, translate="xz", at=(0, 0, -0.1), mass=0.1, inertia=0)
    m.gravity(along="-z")
    wrist = elements.CompliantWrist(m, ram, tool, [500] * 3 + [8] * 3, [8] * 3 + [0.05] * 3)
    s = lw.System(m)
    s.add(wrist)
    given = control.Impedance(m, wrist, K=400.0, D=80.0, M=3.0, axes="x z", target=[0.0, -0.01])
    member = s.add(given, rate=1000)
    s.connect("wrist.wrench[2] + 0.1*9.81", member.wrench[2])  # without the tool's weight
    table = elements.Plane(center=(0, 0, -0.1))
    s.add(elements.Contact(m, ["tool"], table, stiffness=1e5, dissipation=1.0))
    run = lw.simulate(s, 1.5, method="rk4", step=2.5e-4)
    assert run.final["contact.normal1"] > 2.0
    wanted = 400 * (run.final["ram.z"] + 0.01)
    assert run.final["contact.normal1"] == pytest.approx(wanted, rel=1e-3)


# -- singular poses --------------------------------------------------------------------------------
def test_a_singular_pose_is_said_and_gives_finite_torques() -> None:
    """The wrist stretched out: axes 4 and 6 are one, and clearance says 0."""
    at = state(1)
    far = said(law("mass"), at)["clearance"].item()
    at["q"][4] = 0.0
    near = said(law("mass"), at)
    assert far > CLEAR
    assert near["clearance"].item() < 1e-9
    assert np.abs(torques(law("mass"), at)).max() < 1e4


def stretched() -> lw.Mechanism:
    """Return a planar arm of two rods of 1 m."""
    m = lw.Mechanism("arm")
    a = m.body("a", rotate="z", mass=1, com=(0.5, 0, 0), inertia=0.1)
    b = m.body("b", parent=a, at=(1, 0, 0), rotate="z", mass=1, com=(0.5, 0, 0), inertia=0.1)
    m.body("tip", parent=b, at=(1, 0, 0), mass=0.1, inertia=0.001)
    return m


STILL = {"u": [0.0, 0.0]}
STRETCHED: dict[str, Callable[[lw.Mechanism], Any]] = {
    "Impedance": lambda m: control.Impedance(m, "tip", 100, 20, axes="x y", acts=False),
    "OperationalHybrid": lambda m: control.OperationalHybrid(
        m, "tip", "x", {"x": 1}, kp=100, kd=20, M=1, D=10, axes="x y", acts=False
    ),
    "Admittance": lambda m: control.Admittance(m, "tip", M=1, D=10, axes="x y"),
}


@pytest.mark.parametrize("kind", STRETCHED)
def test_an_arm_that_is_stretched_out_gives_way_along_itself(kind: str) -> None:
    """Its mobility along x is gone with the row of J: clearance says so, and nothing explodes."""
    given = STRETCHED[kind](stretched())
    port = "command_rate" if kind == "Admittance" else "tau"
    for bend in (0.0, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2):
        at = STILL | {"q": [0.2, bend], "target": [0.3, 0.5], "wrench": [10, 0, 0, 0, 0, 0]}
        if kind == "Admittance":
            at["target"] = [0.2, bend]
        found = said(given, at)
        assert bend > 1e-3 or found["clearance"].item() < 0.01 * CLEAR
        assert np.abs(found[port]).max() < (1.0 if kind == "Admittance" else 1e3)
    bent = said(given, STILL | {"q": [0.2, 1.0], "target": [0.2, 1.0]})
    assert bent["clearance"].item() > 100 * CLEAR


def test_axes_of_very_different_mass_are_no_singular_pose() -> None:
    """A portal of a ton with a light quill: each axis has its own joint, so none is lost."""
    m = lw.Mechanism("portal")
    m.body("quill", parent=m.body("cart", translate="x", mass=1e4), translate="z", mass=0.01)
    given = control.Impedance(m, "quill", K=100, D=10, axes="x z")
    assert said(given, STILL | {"q": [0, 0]})["clearance"].item() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["K", "D", "M", "push"])
def test_numbers_by_axis_may_be_arrays(name: str) -> None:
    """An array gives the parameters that a list does."""
    usual: dict[str, Any] = {"M": M, "D": D, "K": K, "push": [1.0, 2, 3, 4, 5, 6]}
    rows = [
        control.Admittance(plotter(), "slide", **(usual | {name: kind(usual[name])}), axes="x z")
        for kind in (list, np.array)
    ]
    first, second = ({k: p.value for k, p in row.parameters.items()} for row in rows)
    assert first == second


# -- refusals --------------------------------------------------------------------------------------
BAD: dict[str, tuple[Callable[[lw.Mechanism], Any], str]] = {
    "indefinite": (
        lambda m: control.Impedance(m, "slide", np.diag([1, 1, -1, 1, 1, 1]).tolist(), axes="x z"),
        "K of 'impedance' is indefinite: its smallest eigenvalue is -1",
    ),
    "asymmetric": (
        lambda m: control.Stiffness(m, "slide", (np.eye(6) + np.eye(6, k=1)).tolist(), axes="x z"),
        "not symmetric",
    ),
    "negative": (
        lambda m: control.Stiffness(m, "slide", {"z": -3.0}, axes="x z"),
        "K of 'stiffness' of 'z'",
    ),
    "massless": (
        lambda m: control.Impedance(m, "slide", 1.0, 1.0, {"z": 1.0}, axes="x z"),
        "M of 'impedance' is zero for x y rx ry rz",
    ),
    "singular mass": (
        lambda m: control.Impedance(m, "slide", 1.0, 1.0, np.ones((6, 6)).tolist(), axes="x z"),
        "M of 'impedance' is",
    ),
    "selects nothing": (
        lambda m: control.OperationalHybrid(m, "slide", " ", 0.0, kp=1, kd=1, M=1, D=1),
        "selects no axis",
    ),
    "cannot move": (
        lambda m: control.OperationalHybrid(m, "slide", "y", 0.0, kp=1, kd=1, M=1, D=1),
        "controls force along y",
    ),
    "pushes where it moves": (
        lambda m: control.OperationalHybrid(m, "slide", "z", {"x": 1}, kp=1, kd=1, M=1, D=1),
        "is to push along x, where it controls motion",
    ),
    "no frame": (
        lambda m: control.OperationalHybrid(
            m, "slide", "z", 0.0, kp=1, kd=1, M=1, D=1, frame=MOON
        ),
        "frame of 'operational_hybrid' is 'moon'",
    ),
    "coupled admittance": (
        lambda m: control.Admittance(m, "slide", M=1.0, D=1.0, K=cast(Any, STIFF), axes="x z"),
        "K of 'admittance' is a matrix, and the axes of this law do not mix",
    ),
    "coupled force axes": (
        lambda m: control.OperationalHybrid(
            m, "slide", "z", 0.0, kp=1, kd=1, M=cast(Any, MASS), D=1
        ),
        "M of 'operational_hybrid' is a matrix, and the axes of this law do not mix",
    ),
    "ragged": (
        lambda m: control.Stiffness(m, "slide", [[1.0], [1.0, 2.0]], axes="x z"),
        "K of 'stiffness' has rows of different lengths",
    ),
    "shape": (
        lambda m: control.Stiffness(m, "slide", np.eye(3).tolist(), axes="x z"),
        r"a matrix of shape \(3, 3\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_meant_is_refused(case: str) -> None:
    make, words = BAD[case]
    with pytest.raises(BlockError, match=words):
        make(plotter())
