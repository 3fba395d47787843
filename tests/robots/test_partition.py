"""Redundant arms: rates of joints by a partition of the Jacobian, freedom, and limits."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog

import linkwright as lw
from linkwright.algebra import Expr, constant, symbol, total
from linkwright.base.errors import InputError, ShapeError
from linkwright.blocks import BlockError
from linkwright.equations.writer import Writer
from linkwright.formats.robot.description import Description, Link, LinkJoint, NamedFrame, Place
from linkwright.program import Namer, lower, program
from linkwright.program.interpret import interpret
from linkwright.program.linear import ldlt
from linkwright.program.passes import liveness
from linkwright.robots import Robot
from linkwright.robots.ik import RateLimits, ResolvedRates
from linkwright.robots.ik.inverses import partitioned
from linkwright.robots.ik.resolution import Method, quantity_of
from tests.seeds import cases

ALL = range(6)
PLACE = (1, 1, 1, 0, 0, 0)
"""Weights of the position alone: four joints have one to spare."""


@cache
def arm(axes: str = "zyyxyxz", sliders: str = "") -> Robot:
    """Return rods on joints about some axes; those whose numbers are in `sliders` slide."""
    links, joints = [Link("l0")], []
    for k, axis in enumerate(axes, 1):
        along = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}[axis]
        links.append(Link(f"l{k}"))
        kind = "prismatic" if str(k) in sliders else "revolute"
        place = Place((0.0 if k == 1 else 0.35, 0.0, 0.05 * k))
        joints.append(LinkJoint(f"q{k}", kind, f"l{k - 1}", f"l{k}", place, along))
    tool = NamedFrame("tool", f"l{len(axes)}", Place((0.2, 0.0, 0.1)))
    elbow = NamedFrame("elbow", "l4", Place((0.1, 0.0, 0.0)))
    frames = (tool, elbow) if len(axes) > 4 else (tool,)
    return Robot(Description(f"rods {axes} {sliders}", tuple(links), tuple(joints), frames))


def demands(count: int, n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-2, 2, (count, n)), rng.normal(size=(count, 6))


# -- the partition ---------------------------------------------------------------------------------
def test_a_partition_gives_the_rates_of_the_pseudo_inverse() -> None:
    """Server check 48: seven joints, least norm, to 1e-12 of the largest rate."""
    robot = arm()
    q, rate = demands(300, 7)
    found = robot.joint_rates(q, rate, "tool", method="partition")
    jacobian = robot.jacobian(q, "tool")
    expected = np.einsum("kij,kj->ki", np.linalg.pinv(jacobian), rate)
    size = np.linalg.cond(jacobian)[:, None] * np.abs(expected).max(axis=1, keepdims=True)
    assert np.abs((found.rates - expected) / size).max() < 1e-12
    calm = np.linalg.cond(jacobian) < 30
    assert calm.sum() > 100
    assert np.abs(found.rates - expected)[calm].max() < 1e-12 * np.abs(expected[calm]).max()
    assert np.abs(found.residual).max() < 1e-11
    assert np.all(np.asarray(found.rank) == 6)
    assert np.all(found.scale == 1)
    one = robot.joint_rates(q[0], rate[0], "tool", method="partition")
    assert one.rates == pytest.approx(found.rates[0], abs=1e-13)
    assert isinstance(one.rank, int)


def test_a_partition_takes_few_operations() -> None:
    """Server check 48: at most 0.65 of those of the pseudo-inverse, one square solve a tick."""
    robot = arm()
    partition = quantity_of(robot, "tool", "partition", ALL).program
    pseudo = quantity_of(robot, "tool", "pseudo", ALL).program
    assert [p.name for p in pseudo.outputs] == [p.name for p in partition.outputs][:4]
    assert lw.count_operations(partition).total <= 0.65 * lw.count_operations(pseudo).total


def test_a_partition_of_any_matrix_takes_fewer_than_the_normal_equations() -> None:
    """Server check 48: against J^T (J J^T)^-1 v, the least that a pseudo-inverse takes."""
    matrix = [[symbol(f"j{i}{k}", "input") for k in range(7)] for i in range(6)]
    right = [symbol(f"v{i}", "input") for i in range(6)]
    inputs = {"J": matrix, "v": right}
    writer = Writer("partition")
    made = partitioned(writer, matrix, right, constant(1e-9))
    rates = made.nearest([constant(0)] * 7)
    ours = program("ours", inputs, {"u": rates}, statements=writer.statements)
    writer = Writer("normal")
    gram: list[list[Expr]] = [[constant(0)] * 6 for _ in range(6)]
    for i in range(6):
        for j in range(i + 1):
            entry = total(x * y for x, y in zip(matrix[i], matrix[j], strict=True))
            gram[i][j] = gram[j][i] = writer.hold(entry)
    statements, (found,) = ldlt(gram, [right], Namer(None, "n"))
    columns = list(zip(*matrix, strict=True))
    least = [total(x * y for x, y in zip(c, found, strict=True)) for c in columns]
    normal = program("normal", inputs, {"u": least}, statements=[*writer.statements, *statements])
    rng = np.random.default_rng(1)
    a, v = rng.normal(size=(6, 7)), rng.normal(size=6)
    for p in (ours, normal):
        assert interpret(lower(p), [a, v])[0] == pytest.approx(np.linalg.pinv(a) @ v, abs=1e-11)
    assert lw.count_operations(liveness(ours)).total <= 0.65 * lw.count_operations(normal).total


def test_the_free_joint_changes_and_rates_do_not_jump() -> None:
    """Server check 48: a smooth swap, also where freedom climbs a gradient."""
    robot = arm()
    s = np.linspace(0, 1, 2001)[:, None]
    q = (1 - s) * np.array([0.6, 0.5, 0.6, -0.4, -1.2, 0.7, 0.1])
    q = q + s * np.array([-0.6, 0.0, 1.2, 1.4, -0.5, 0.2, -0.6])
    rate = np.array([0.2, -0.1, 0.3, 0.1, 0.4, -0.2])
    small = (1 - s) * np.array([-0.2, 1.2, -1.1, -1.8]) + s * np.array([-0.4, -1.2, -1.6, 0.3])
    for found in (
        robot.joint_rates(q, rate, "tool", method="partition"),
        arm("zyyx").joint_rates(
            small, rate, "tool", method="partition", weights=PLACE, climb="manipulability"
        ),
    ):
        changes = np.flatnonzero(np.diff(found.free[:, 0]))
        assert len(changes) >= 2
        steps = np.abs(np.diff(found.rates, axis=0)).max(axis=1)
        around = np.maximum(np.roll(steps, 1), np.roll(steps, -1))
        assert np.all(steps[changes] < 1.5 * around[changes] + 1e-9)


@pytest.mark.parametrize(
    ("axes", "sliders"),
    cases([("zyxyz", "3"), ("zyy", "2"), ("zyxy", "14")], daily=[("zyxyz", "3")]),
)
def test_sliders_and_any_number_of_free_joints(axes: str, sliders: str) -> None:
    robot = arm(axes, sliders)
    q, rate = demands(50, len(axes), 4)
    aim = np.random.default_rng(2).normal(size=len(axes))
    found = robot.joint_rates(q, rate, "tool", method="partition", aim=aim, weights=PLACE)
    assert found.free.shape == (50, len(axes) - 3)
    jacobian = robot.jacobian(q, "tool")[:, :3]
    inverse = np.linalg.pinv(jacobian)
    off = rate[:, :3] - np.einsum("kij,j->ki", jacobian, aim)
    expected = aim + np.einsum("kij,kj->ki", inverse, off)
    size = np.linalg.cond(jacobian)[:, None] * (1 + np.abs(expected).max(axis=1, keepdims=True))
    assert np.abs((found.rates - expected) / size).max() < 1e-12


def test_components_that_do_not_count_and_frames_in_the_middle() -> None:
    """A frame on the fourth link: the joints after it do not move it, and only get the aim."""
    robot = arm("zyyxyx")
    q, rate = demands(20, 6, 6)
    aim = np.arange(6.0)
    found = robot.joint_rates(q, rate, "elbow", method="partition", weights=PLACE, aim=aim)
    jacobian = robot.jacobian(q, "elbow")[:, :3]
    off = rate[:, :3] - np.einsum("kij,j->ki", jacobian, aim)
    expected = aim + np.einsum("kij,kj->ki", np.linalg.pinv(jacobian), off)
    assert np.abs(found.rates - expected).max() < 1e-10 * np.abs(expected).max()
    assert np.all(found.rates[:, 4:] == aim[4:])
    assert np.all(found.residual[:, 3:] == 0)
    assert set(found.free.ravel()) <= {0, 1, 2, 3}
    with pytest.raises(InputError, match="4 joints move the frame for 6 components"):
        robot.joint_rates(q, rate, "elbow", method="partition")


def test_a_singular_pose_has_finite_rates_and_says_so() -> None:
    """Joints about y alone, straight: they move the tool in two ways, and not along itself."""
    robot = arm("yyy")
    plane = (1, 0, 1, 0, 0, 0)
    bent = robot.joint_rates(
        [0.3, 0.8, -0.5], np.ones(6), "tool", method="partition", weights=plane
    )
    assert bent.rank == 2
    found = robot.joint_rates(np.zeros(3), np.ones(6), "tool", method="partition", weights=plane)
    other = robot.joint_rates(np.zeros(3), np.ones(6), "tool", weights=plane)
    assert found.rank == other.rank
    assert np.isfinite(found.rates).all()


# -- freedom ---------------------------------------------------------------------------------------
def test_freedom_climbs_manipulability_and_any_expression() -> None:
    """The gradient is that of finite differences; what it climbs grows, and the frame stays."""
    robot = arm("zyyx")
    q, _ = demands(5, 4, 8)

    def seen(x: np.ndarray) -> np.ndarray:
        return np.asarray(robot.jacobian(x, "tool")[..., :3, :])

    def measure(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.sqrt(np.linalg.det(seen(x) @ np.swapaxes(seen(x), -1, -2))))

    def near(x: np.ndarray) -> np.ndarray:
        return np.asarray(-((x[..., 1] - 0.3) ** 2))

    still, h = np.zeros(6), 1e-6
    shifts = h * np.eye(4)
    for climb, value in (("manipulability", measure), ("-(q2 - 0.3)**2", near)):
        found = robot.joint_rates(q, still, "tool", method="partition", climb=climb, weights=PLACE)
        slope = (value(q[:, None] + shifts) - value(q[:, None] - shifts)) / (2 * h)
        null = np.eye(4) - np.linalg.pinv(seen(q)) @ seen(q)
        expected = np.einsum("kij,kj->ki", null, slope)
        assert np.abs(found.rates - expected).max() < 1e-7
        grown = value(q + 1e-4 * found.rates) - value(q)
        assert np.all(grown >= 0.5e-4 * np.sum(found.rates**2, axis=1) - 1e-12)
    with pytest.raises(InputError, match="depends on q2_dot"):
        robot.joint_rates(q, still, "tool", climb="-q2_dot**2")


# -- limits ----------------------------------------------------------------------------------------
METHODS: tuple[Method, ...] = ("partition", "pseudo", "damped")


def rig(method: Method) -> tuple[Robot, tuple[int, ...]]:
    """Return seven joints for a partition, and four for others, each with one to spare."""
    return (arm(), (1,) * 6) if method == "partition" else (arm("zyyx"), PLACE)


@pytest.mark.parametrize("method", METHODS)
def test_limits_are_never_exceeded_and_the_scale_is_what_is_left(method: Method) -> None:
    """Server check 48, with limits: 20,000 random demands; the bench takes a million."""
    robot, weights = rig(method)
    n, count = len(robot.coordinates), 20_000
    rng = np.random.default_rng(5)
    limits = RateLimits(0.01, lower=-2.5, upper=2.2, speed=1.5, acceleration=30.0)
    q = rng.uniform(-2.4, 2.1, (count, n))
    rate = rng.normal(size=(count, 6)) * rng.choice([0.05, 0.3, 1.0], (count, 1))
    last = rng.uniform(-0.5, 0.5, (count, n))
    aim = rng.normal(size=(count, n))
    found = robot.joint_rates(
        q, rate, "tool", method=method, weights=weights, limits=limits, last=last, aim=aim
    )
    u = found.rates
    assert np.abs(u).max() <= 1.5
    assert np.abs(u - last).max() <= 0.3 + 1e-12
    assert ((found.scale >= 0) & (found.scale <= 1)).all()
    slow = RateLimits(0.01, lower=-3.0, upper=3.0, speed=1.5)
    found = robot.joint_rates(q, rate, "tool", method=method, weights=weights, limits=slow)
    assert np.abs(found.rates).max() <= 1.5
    moved = np.einsum("kij,kj->ki", robot.jacobian(q, "tool"), found.rates)
    assert 0.1 < np.mean(found.scale < 1) < 0.9
    counts = np.array(weights) > 0
    if method != "damped":
        assert np.abs(moved - found.scale[:, None] * rate)[:, counts].max() < 1e-7
    assert np.abs(rate - moved - found.residual)[:, counts].max() < 1e-7


def test_saturation_uses_the_null_space_before_it_scales() -> None:
    """What one joint may not do the others do: scaling the least rates alone gives less."""
    robot = arm()
    q, rate = demands(500, 7, 9)
    limits = RateLimits(0.01, lower=-3.0, upper=3.0, speed=1.0)
    least = robot.joint_rates(q, rate, "tool", method="partition").rates
    plain = np.minimum(1, 1 / np.abs(least).max(axis=1))
    found = robot.joint_rates(q, rate, "tool", method="partition", limits=limits)
    assert np.all(found.scale >= plain - 1e-12)
    assert np.mean(found.scale > 1.05 * plain) > 0.3
    inside = plain == 1
    assert np.abs(found.rates - least)[inside].max() < 1e-9


def test_the_scale_is_nearly_the_largest_there_is() -> None:
    """Never more than a linear program finds, and on average a few thousandths less."""
    robot = arm()
    q, rate = demands(60, 7, 11)
    last = np.random.default_rng(1).uniform(-0.3, 0.3, (60, 7))
    limits = RateLimits(0.01, lower=-3.0, upper=3.0, speed=1.0, acceleration=30.0)
    found = robot.joint_rates(q, rate, "tool", method="partition", limits=limits, last=last)
    low, high = np.maximum(last - 0.3, -1.0), np.minimum(last + 0.3, 1.0)
    jacobian = robot.jacobian(q, "tool")
    best = []
    for k in range(60):
        box = [*zip(low[k], high[k], strict=True), (0.0, 1.0)]
        columns = np.column_stack([jacobian[k], -rate[k]])
        made = linprog([*np.zeros(7), -1.0], A_eq=columns, b_eq=np.zeros(6), bounds=box)
        best.append(made.x[-1])
    assert np.all(found.scale <= np.array(best) + 1e-9)
    assert np.mean(best - found.scale) < 0.01


@pytest.mark.parametrize("method", METHODS)
def test_joints_brake_in_time_for_their_stops(method: Method) -> None:
    """A tool that is driven away for long: positions, speeds and accelerations stay in limits."""
    robot, weights = rig(method)
    n = len(robot.coordinates)
    h, count = 0.01, 40
    rng = np.random.default_rng(3)
    q, u = rng.uniform(-0.8, 0.8, (count, n)), np.zeros((count, n))
    push = rng.normal(size=(count, 6))
    limits = RateLimits(h, lower=-1.0, upper=1.2, speed=2.0, acceleration=8.0)
    stopped = 0
    for _ in range(150):
        found = robot.joint_rates(
            q, push, "tool", method=method, weights=weights, limits=limits, last=u
        )
        assert np.abs(found.rates).max() <= 2.0
        assert np.abs(found.rates - u).max() <= 8.0 * h + 1e-12
        u = found.rates
        q = q + h * u
        assert q.max() <= 1.2 + 1e-12
        assert q.min() >= -1.0 - 1e-12
        stopped += int(np.sum((q > 1.2 - 1e-6) | (q < -1.0 + 1e-6)))
    assert stopped > 100


def test_the_block_does_at_each_tick_what_the_function_does() -> None:
    """In a System, with limits and a gradient to climb, at 100 Hz."""
    robot = arm("zyyx")
    h, start = 0.01, [0.6, 0.5, 0.6, -0.4]
    twist = np.array([0.4, -0.2, 0.3, 0.2, 0.5, -0.4])
    limits = RateLimits(h, lower=-1.5, upper=1.0, speed=0.6, acceleration=6.0)
    climb = "-(q2 - 0.3)**2"
    s = lw.System(name="cell")
    block = ResolvedRates(robot, "tool", start, weights=PLACE, climb=climb, gain=0.5, limits=limits)
    s.add(block, rate=100, name="rates")
    s.connect([f"{x}" for x in twist], "rates.twist")
    run = lw.simulate(s, until=1.0, step=h, every=1)
    q, u = np.array(start), np.zeros(4)
    scales = []
    for k in range(101):
        command = np.array([run[f"rates.command[{i}]"][k] for i in range(4)])
        assert command == pytest.approx(q, abs=1e-9)
        found = robot.joint_rates(
            q,
            twist,
            "tool",
            method="partition",
            weights=PLACE,
            climb=climb,
            gain=0.5,
            limits=limits,
            last=u,
        )
        u = found.rates
        assert [run[f"rates.command_rate[{i}]"][k] for i in range(4)] == pytest.approx(u, abs=1e-9)
        assert run["rates.scale"][k] == pytest.approx(float(found.scale), abs=1e-9)
        scales.append(float(found.scale))
        q = q + h * u
    assert min(scales) < 0.9 < max(scales)
    with pytest.raises(BlockError, match=r"period of 0.01 s, and it runs with 0.002 s"):
        lw.System(name="other").add(block, rate=500)


def test_bad_limits_and_methods_are_named() -> None:
    robot = arm()
    q, rate = np.zeros(7), np.ones(6)
    with pytest.raises(InputError, match="no method 'qp'"):
        robot.joint_rates(q, rate, "tool", method="qp")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="have no damping"):
        robot.joint_rates(q, rate, "tool", damping=0.1)
    with pytest.raises(InputError, match="above 0"):
        robot.joint_rates(q, rate, "tool", method="damped", damping=-1.0)
    with pytest.raises(InputError, match="all weights"):
        robot.joint_rates(q, rate, "tool", method="partition", weights=np.zeros(6))
    for period in (0.0, -1, "10 ms", float("nan"), True):
        with pytest.raises(InputError, match="the period of rate limits is"):
            RateLimits(period)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="`speed` are numbers above 0"):
        RateLimits(0.1, speed=0.0)
    with pytest.raises(InputError, match="`upper` are 'far', not numbers"):
        RateLimits(0.1, upper="far")
    with pytest.raises(ShapeError, match="shape"):
        robot.joint_rates(q, rate, "tool", limits=RateLimits(0.1, upper=[1.0, 2.0]))
    with pytest.raises(InputError, match="above the upper"):
        RateLimits(0.1, lower=1.0, upper=0.0)
    with pytest.raises(InputError, match="`rate` of joint rates"):
        robot.joint_rates(q, [np.nan] * 6, "tool", method="partition")
    with pytest.raises(InputError, match="with limits alone"):
        robot.joint_rates(q, rate, "tool", last=q)


def test_a_changed_mechanism_has_other_rates() -> None:
    m = lw.Mechanism("two")
    length = m.parameter("L", 1.0)
    one = m.body("a", rotate="z", mass=1, inertia=(1, 1, 1))
    two = m.body("b", parent=one, at=(length, 0, 0), rotate="z", mass=1, inertia=(1, 1, 1))
    m.point("tip", two, at=(length, 0, 0))
    robot = Robot(m)
    q, rate, weights = [0.3, 0.9], [0, 1, 0, 0, 0, 0], (1, 1, 0, 0, 0, 0)
    found = robot.joint_rates(q, rate, "tip", method="partition", weights=weights).rates
    m.defaults(L=2.0)
    again = robot.joint_rates(q, rate, "tip", method="partition", weights=weights).rates
    assert again == pytest.approx(found / 2)
