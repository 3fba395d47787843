"""Every kind of joint, with its axis written in every way, in trees and in loops.

Each mechanism is compared with what nature says of it: the rate of every place is the velocity, the
rate of every orientation is the angular velocity, column by column of the Jacobian; energy is kept,
at a state and over a run. The same direction, however it is written, is the same mechanism, and so
is what comes back from a text. A joint that closes a loop leaves the motion that it leaves in a
tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.algebra import ZERO, Expr, Vector, evaluate_all
from linkwright.equations.energy import add_energy_outputs, energy
from linkwright.formats.mjcf import mjcf_text, parse_mjcf
from linkwright.formats.robot.description import Place
from linkwright.formats.robot.simple_joints import joint_direction
from linkwright.formats.robot.to_mechanism import assembled
from linkwright.formats.text.files import read_model
from linkwright.formats.text.joints import keys_of
from linkwright.formats.text.schema import ModelFile
from linkwright.formats.urdf.reader import parse_urdf
from linkwright.formats.urdf.writer import urdf_text
from linkwright.mechanism import Body, Joint, Mechanism
from linkwright.mechanism.joint_kinds import JOINTS
from tests.oracles.mechanism import Evaluation, evaluate_numerically
from tests.random.robots import random_robot
from tests.seeds import cases, seeds

Array = NDArray[np.float64]
STEP = 1e-30

#: The kind of the registry, and the joint from an axis and, where it has two, another one.
MADE: dict[str, tuple[str, Callable[[Any, Any], Joint]]] = {
    "revolute": ("revolute", lambda axis, _: lw.Revolute(axis)),
    "revolute with offset": ("revolute", lambda axis, _: lw.Revolute(axis, offset=0.3)),
    "revolute block": ("revolute", lambda axis, _: Joint(rotate=(axis,))),
    "prismatic": ("prismatic", lambda axis, _: lw.Prismatic(axis)),
    "screw": ("screw", lambda axis, _: lw.Screw(axis, 0.7)),
    "cylindrical": ("cylindrical", lambda axis, _: lw.Cylindrical(axis)),
    "universal": ("universal", lw.Universal),
    "universal, second": ("universal", lambda axis, aside: lw.Universal(aside, axis)),
    "slide and turn": (
        "revolute",
        lambda axis, aside: Joint(translate=(aside, axis), rotate=(axis,)),
    ),
    "planar": ("planar", lambda *_: lw.Planar("y")),
    "ball": ("ball", lambda *_: lw.Ball("zxy")),
    "precession": ("ball", lambda *_: lw.Ball("zxz")),
    "quaternion": ("ball", lambda *_: lw.Ball(quaternion=True)),
    "free": ("free", lambda *_: lw.Free("yxz")),
    "free quaternion": ("free", lambda *_: lw.Free(quaternion=True)),
    "weld": ("weld", lambda *_: lw.Weld()),
    "turned weld": ("weld", lambda *_: lw.Weld([[0, -1, 0], [1, 0, 0], [0, 0, 1]])),
}
#: What the blocks of the others show already, and what has no place in a loop.
NOT_CLOSING = ("screw", "revolute block", "revolute with offset", "turned weld")
NOT_RUN = ("revolute block", "precession", "weld", "turned weld", "universal, second")
ASIDE = (3, 0, -4)
AXIAL = tuple(kind for kind in list(MADE)[:9])
FIXED = tuple(kind for kind in MADE if kind not in AXIAL)
DIRECTIONS = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (0, -1, 0), (0, 0, -1))
INCLINED = ((2, -3, 6), (-1, 4, -8), (0, -3, 4))
FRAME = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])

Writing = Callable[[Body, tuple[int, ...]], Any]
WRITINGS: dict[str, Writing] = {
    "triple": lambda _, d: d,
    "longer": lambda _, d: tuple(2.5 * x for x in d),
    "parameters": lambda _, d: tuple(f"{x}*L" for x in d),
    "vector": lambda body, d: body.vector(*d),
    "text": lambda body, d: " + ".join(f"({x})*[{body.name}{k + 1}]" for k, x in enumerate(d)),
}
NAMED: dict[str, Writing] = {
    "name": lambda _, d: ("-" if min(d) < 0 else "") + "xyz"[int(np.abs(d).argmax())],
    "number": lambda _, d: int(np.abs(d).argmax() + 1) * (-1 if min(d) < 0 else 1),
}


@dataclass(frozen=True)
class State:
    """A mechanism at a state: every coordinate and speed by its symbol."""

    mechanism: Mechanism
    known: dict[Expr, float]

    @cached_property
    def evaluation(self) -> Evaluation:
        """What Newton and Euler say at the state."""
        m = self.mechanism
        q = {name: self.known[x] for name, x in m.coordinates.items()}
        u = {s.symbol.name: self.known[s.symbol] for s in m.kinematics().speeds}
        return evaluate_numerically(m, q, u)

    def at(self, exprs: Sequence[Expr], more: dict[Expr, complex] | None = None) -> Array:
        """Return the values of expressions."""
        return np.array(evaluate_all(list(exprs), {**self.known, **(more or {})}))

    def vector(self, v: Vector, more: dict[Expr, complex] | None = None) -> Array:
        """Return a vector in the ground's axes."""
        return self.at(v.components(self.mechanism.ground.frame), more)

    def rotation(self, body: Body, more: dict[Expr, complex] | None = None) -> Array:
        """Return the matrix whose columns are the body's axes in the ground's."""
        return np.array([self.vector(axis, more) for axis in body.frame.axes]).T


def tree(
    kind: str,
    written: Writing,
    direction: tuple[int, ...] = (0, 0, 1),
    *,
    elsewhere: bool = False,
    **more: Any,
) -> Mechanism:
    """Return a carriage with a heavy body on a joint; `elsewhere` gives all in other axes."""
    m = Mechanism("battery")
    m.positive("L")
    m.parameter("L", 1.7, unit="m")
    place, at, com = np.array([0.1, 0.2, -0.3]), np.array([0.5, 0.1, 0.2]), np.array([0.3, 0.2, -1])
    other = m.body("other", joint=lw.Weld(FRAME.tolist()), mass=0, inertia=0)
    a = m.body(
        "a",
        joint=Joint(translate=("x",), rotate=("y",)),
        at=place.tolist(),
        mass=1.2,
        com=(0.1, -0.2, 0.3),
        inertia=(0.3, 0.2, 0.4),
    )
    base, aside = other if elsewhere else a, ASIDE
    if elsewhere:
        direction, aside = (tuple(round(x) for x in FRAME.T @ d) for d in (direction, ASIDE))
        at, com = FRAME.T @ (place + at), FRAME.T @ (place + at + com)
    joint = MADE[kind][1](written(base, direction), aside) if not more else Joint(**more)
    m.body(
        "b",
        parent=a,
        joint=joint,
        at=at.tolist(),
        mass=1.3,
        com=com.tolist(),
        inertia=(0.3, 0.35, 0.2, 0.02, -0.03, 0.04),
        coordinates_in=other if elsewhere else None,
    )
    m.point("tip", m.bodies["b"], (0.4, -0.3, 0.6))
    m.gravity(along=(1, 2, -9), g=9)
    return m


def state_of(m: Mechanism, seed: int = 0) -> State:
    """Return the mechanism at a random state that keeps its constraints' rates."""
    rng = np.random.default_rng(seed)
    known = {x: m.values[name] for name, x in m.parameters.items()}
    for body in m.bodies.values():
        q = rng.uniform(-1.2, 1.2, len(body.coordinates))
        if body.joint.quaternion:
            q[-4:] /= np.linalg.norm(q[-4:])
        elif len(body.rotations) == 3:
            q[-2] = rng.uniform(0.4, 1.1)
        known.update(zip(body.coordinates, map(float, q), strict=True))
    for s in m.kinematics().speeds:
        known[s.symbol] = float(rng.uniform(-1, 1))
    return State(m, known)


def accelerations(state: State) -> dict[str, Array]:
    """Return acceleration of the origin and angular acceleration of each body, by name."""
    found = state.evaluation
    bodies = state.mechanism.bodies
    return {name: np.concatenate(found.acceleration_of(name)) for name in bodies}


# -- places and velocities -------------------------------------------------------------------------
def check_velocities(state: State) -> None:
    """Compare each column of the Jacobian with the rate of places and orientations."""
    m, kinematics = state.mechanism, state.mechanism.kinematics()
    speeds = [s.symbol for s in kinematics.speeds]
    for speed in speeds:
        moving = State(m, {**state.known, **dict.fromkeys(speeds, 0.0), speed: 1.0})
        names = [x for x in kinematics.rates if x in state.known]
        rates = moving.at([kinematics.rates[x] for x in names])
        ahead = {x: state.known[x] + 1j * STEP * rate for x, rate in zip(names, rates, strict=True)}
        for point in (*m.points.values(), *(b.com for b in m.bodies.values())):
            rate = state.vector(point.position, ahead).imag / STEP
            assert np.allclose(rate, moving.vector(point.velocity), atol=1e-12), (speed, point)
        for body in m.bodies.values():
            turn = state.rotation(body, ahead)
            spin = (turn.imag / STEP) @ turn.real.T
            crossed = np.cross(moving.vector(body.omega), np.eye(3)).T
            assert np.allclose(spin, crossed, atol=1e-12), (speed, body.name)


def check_power(state: State) -> None:
    """Let energy stay at a state, with the accelerations of Newton and Euler."""
    m, kinematics = state.mechanism, state.mechanism.kinematics()
    found = state.evaluation
    stored = energy(m)
    rates = {kinematics.rates[x]: x for x in kinematics.rates if x in state.known}
    moving = dict(zip(rates.values(), state.at(list(rates)), strict=True))
    moving |= {s.symbol: found.accelerations[s.symbol.name] for s in kinematics.speeds}
    ahead = {x: state.known[x] + 1j * STEP * rate for x, rate in moving.items()}
    kinetic, potential = state.at([stored.kinetic, stored.potential], ahead).imag / STEP
    assert abs(kinetic + potential) < 1e-10 * (1 + abs(kinetic))


def check_same(first: State, second: State) -> None:
    """Let two mechanisms have the same names, places, orientations and accelerations."""
    m, other = first.mechanism, second.mechanism
    assert list(m.coordinates) == list(other.coordinates)
    speeds = [[s.symbol.name for s in x.kinematics().speeds] for x in (m, other)]
    assert speeds[0] == speeds[1]
    moving, again = accelerations(first), accelerations(second)
    for name, body in m.bodies.items():
        twin = other.bodies[name]
        assert np.allclose(first.rotation(body), second.rotation(twin), atol=1e-12), name
        ends = [(body.origin, twin.origin)]
        if body.inertia.mass is not ZERO:
            ends.append((body.com, twin.com))
        for one, two in ends:
            there = second.vector(two.position)
            assert np.allclose(first.vector(one.position), there, atol=1e-12), name
        assert np.allclose(moving[name], again[name], rtol=1e-10, atol=1e-10), name


def moved(state: State, m: Mechanism) -> State:
    """Return another mechanism with symbols of the same names at the same state."""
    by_name = {x.name: value for x, value in state.known.items()}
    speeds = [s.symbol for s in m.kinematics().speeds]
    symbols = (*m.parameters.values(), *m.coordinates.values(), *speeds)
    return State(m, {x: by_name[x.name] for x in symbols})


def read_again(m: Mechanism) -> Mechanism:
    """Return the mechanism that the text of a mechanism describes."""
    return read_model(lw.write_model(m))


def check(m: Mechanism, seed: int) -> State:
    """Check a mechanism at a random state, and what its text describes."""
    state = state_of(m, seed)
    check_velocities(state)
    check_power(state)
    check_same(state, moved(state, read_again(m)))
    return state


def test_every_joint_of_the_registry_is_in_the_battery() -> None:
    """A new kind of joint needs a line here."""
    assert {kind for kind, _ in MADE.values()} == set(JOINTS)


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("kind", FIXED)
def test_joints_without_a_free_axis(kind: str, seed: int) -> None:
    """Places, velocities, power and text of joints whose axes are their own."""
    check(tree(kind, WRITINGS["triple"]), seed)


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize(
    "kind", cases(AXIAL, daily=["revolute with offset", "screw", "universal, second"])
)
def test_a_direction_is_one_joint_however_it_is_written(kind: str, seed: int) -> None:
    """Names, numbers, triples, parameters, vectors and other bodies' axes give one mechanism."""
    rng = np.random.default_rng(seed)
    for direction in (DIRECTIONS[3 + rng.integers(3)], INCLINED[rng.integers(3)]):
        ways = WRITINGS if direction in INCLINED else {**NAMED, **WRITINGS}
        if kind == "universal, second":  # its axis turns with the cross, and is not a vector of `a`
            ways = {way: ways[way] for way in ways if way not in ("vector", "text")}
        made = [tree(kind, written, direction) for written in ways.values()]
        if "offset" not in kind:  # an offset turns the body, and with it what lies elsewhere
            here = [WRITINGS["triple"]] if direction in INCLINED else [*NAMED.values()]
            made += [tree(kind, written, direction, elsewhere=True) for written in here]
        # coordinates of several axes are named after the axes, where those have names
        states = {tuple(m.coordinates): check(m, seed) for m in made}
        for m in made:
            state = states[tuple(m.coordinates)]
            check_same(moved(state, m), state)
        by_order = [np.concatenate(list(accelerations(s).values())) for s in states.values()]
        assert all(np.allclose(by_order[0], x, atol=1e-9) for x in by_order)


@pytest.mark.parametrize("direction", [*DIRECTIONS, *INCLINED])
def test_a_positive_angle_turns_about_the_direction_by_the_right_hand(
    direction: tuple[int, ...],
) -> None:
    """Rodrigues' formula about the direction that was given."""
    axis = np.array(direction) / np.linalg.norm(direction)
    cross = np.cross(axis, np.eye(3)).T
    for kind in ("revolute", "screw", "cylindrical"):
        m = tree(kind, WRITINGS["triple"], direction)
        state = state_of(m, 3)
        a, b = m.bodies["a"], m.bodies["b"]
        angle = state.known[b.rotations[0]]
        turn = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
        between = state.rotation(a).T @ state.rotation(b)
        assert np.allclose(between, turn, atol=1e-12), kind
        shift = state.rotation(a).T @ state.vector(b.origin.position - a.origin.position)
        slide = sum(state.known[q] for q, _ in b.translations)
        slide += 0.7 * angle / (2 * np.pi) if kind == "screw" else 0.0
        assert np.allclose(shift, [0.5, 0.1, 0.2] + slide * axis, atol=1e-12), kind


@pytest.mark.parametrize("body_axis", ["x", "y", "z"])
@pytest.mark.parametrize("axis", ["z", "-z", (0, 0, -1), (0, -3, 4)])
def test_body_axis_and_reference_place_the_frame(axis: Any, body_axis: str) -> None:
    """At angle zero the body's axis lies along the axis, the next one along the reference."""
    m = tree("revolute", NAMED["name"], rotate=(axis,), body_axis=body_axis, reference="x")
    state = check(m, 5)
    still = State(m, {**state.known, **dict.fromkeys(m.coordinates.values(), 0.0)})
    turn = still.rotation(m.bodies["b"])
    k = "xyz".index(body_axis)
    along = {"z": (0, 0, 1), "-z": (0, 0, -1)}.get(axis, axis)
    assert np.allclose(turn[:, k], np.array(along) / np.linalg.norm(along))
    assert np.allclose(turn[:, (k + 1) % 3], (1, 0, 0))


# -- the registry ----------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", JOINTS)
def test_a_record_says_how_its_joint_moves(kind: str) -> None:
    """The motion subspace of the record is the Jacobian of a robot's joint in its zero pose."""
    record = JOINTS[kind]
    robot = random_robot(3, [kind])
    joint = robot.joints[0]
    made = assembled(robot)
    if kind == "weld":
        assert not record.motions
        assert not made.joints
        return
    assert len(made.joints[0].coordinates) == record.sizes[0]
    m, frame = made.mechanism, rotation_of(joint.place)
    zero = dict.fromkeys(m.coordinates.values(), 0.0)
    zero |= {q: 1.0 for q in zero if q.name.endswith(".e0")}
    body, place = made.places[joint.child]
    origin = m.point("frame", body, place.position)
    speeds = [s.symbol for s in m.kinematics().speeds]
    assert len(speeds) == record.freedom == record.sizes[1]
    for speed, (what, along) in zip(speeds, record.motions, strict=True):
        still = State(m, {**zero, **dict.fromkeys(speeds, 0.0), speed: 1.0})
        d = frame @ np.array(joint_direction(joint, along))
        advance = {"turn": 0.0, "slide": 1.0, "screw": joint.pitch / (2 * np.pi)}[what]
        assert np.allclose(still.vector(body.omega), (what != "slide") * d, atol=1e-12)
        assert np.allclose(still.vector(origin.velocity), advance * d, atol=1e-12)


def rotation_of(place: Place) -> Array:
    """Return the matrix of a place."""
    return np.array(place.rotation)


@pytest.mark.parametrize("kind", JOINTS)
def test_every_kind_is_read_by_text_models_with_its_keys(kind: str) -> None:
    """A key that a joint needs is asked for, one that it has not is refused."""
    needed, allowed = keys_of(kind)
    given: dict[str, Any] = {
        "axis": "z",
        "pitch": 0.01,
        "axes": ["x", "y"],
        "quaternion": True,
        "sequence": "zyx",
    }
    table: Any = {"name": "b", "joint": kind, "mass": 1}
    for key in needed:
        with pytest.raises(lw.Error, match=f"needs the key '{min(needed)}'"):
            ModelFile(format=1, name="m", body=[table]).build()
        assert key in given
    whole: Any = {**table, **{key: given[key] for key in needed | allowed if key in given}}
    body = ModelFile(format=1, name="m", body=[whole]).build().bodies["b"]
    assert len(body.coordinates) or kind == "weld"
    wrong = min(given.keys() - needed - allowed)
    with pytest.raises(lw.Error, match=f"`{wrong}` is not a key of a {kind} joint"):
        ModelFile(format=1, name="m", body=[whole | {wrong: given[wrong]}]).build()


@pytest.mark.parametrize("kind", JOINTS)
def test_every_kind_can_be_written_in_mjcf_and_most_in_urdf(kind: str) -> None:
    """What a format has no word for is written as slides and turns of the same freedom."""
    robot = random_robot(4, [kind])
    back = parse_mjcf(mjcf_text(robot).text)
    freedom = sum(JOINTS[j.kind].freedom for j in back.joints if j.mimic is None)
    assert freedom == JOINTS[kind].freedom
    if kind == "ball":
        with pytest.raises(lw.Error, match="URDF cannot say"):
            urdf_text(robot)
        return
    again = parse_urdf(urdf_text(robot).text)
    assert sum(JOINTS[j.kind].freedom for j in again.joints if j.mimic is None) == freedom


# -- loops -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("kind", cases(MADE, daily=4))
def test_energy_stays_in_a_loop(kind: str, seed: int) -> None:
    """A rod holds the tip of the body; energy, velocities and the text stay right."""
    rng = np.random.default_rng(seed)
    direction = (*DIRECTIONS[3:], *INCLINED)[rng.integers(6)]
    m = tree(kind, WRITINGS["triple"], direction)
    free = state_of(m, seed)
    anchor = m.point("anchor", at=(0.3, -2.5, 1.5))
    gap = free.vector(m.points["tip"].position - anchor.position)
    m.constrain_distance(m.points["tip"], anchor, float(np.linalg.norm(gap)))
    check_velocities(free)
    state = with_kept_rates(free)
    check_power(state)
    check_same(state, moved(state, read_again(m)))


def with_kept_rates(state: State) -> State:
    """Return the state with the nearest speeds that the constraints allow."""
    jacobian = np.asarray(state.evaluation.jacobian)
    speeds = [s.symbol for s in state.mechanism.kinematics().speeds]
    u = np.array([state.known[x] for x in speeds])
    u = u - np.linalg.pinv(jacobian) @ (jacobian @ u)
    return State(state.mechanism, {**state.known, **dict(zip(speeds, u, strict=True))})


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("kind", cases([k for k in MADE if k not in NOT_CLOSING], daily=6))
def test_a_joint_that_closes_a_loop_leaves_what_it_leaves_in_a_tree(kind: str, seed: int) -> None:
    """A free body that is closed to the carriage moves as the body that hangs on it."""
    rng = np.random.default_rng(seed)
    direction = (*DIRECTIONS[3:], *INCLINED)[rng.integers(6)]
    m = tree(kind, WRITINGS["triple"], direction)
    state = state_of(m, seed)
    joint = MADE[kind][1](direction, ASIDE)
    loose = tree("free quaternion", WRITINGS["triple"])
    a, b = loose.bodies["a"], loose.bodies["b"]
    loose.close_loop("closed", loose.point("hinge", a, (0.5, 0.1, 0.2)), b, joint)
    there = same_pose(state, loose)
    for c in loose.constraints:
        assert c.position is not None
        assert np.allclose(there.at([c.position, c.speed]), 0, atol=1e-12), c.name
    expected, found = accelerations(state), accelerations(there)
    for name in ("a", "b"):
        assert np.allclose(found[name], expected[name], rtol=1e-8, atol=1e-8), name


def same_pose(state: State, loose: Mechanism) -> State:
    """Return the loose mechanism with its bodies where those of the tree are."""
    m = state.mechanism
    a, b = m.bodies["a"], m.bodies["b"]
    known = dict(moved_of(state, loose))
    turn = state.rotation(a).T @ state.rotation(b)
    shift = state.rotation(a).T @ state.vector(b.origin.position - a.origin.position)
    body = loose.bodies["b"]
    known.update(zip(body.coordinates[:3], map(float, shift - [0.5, 0.1, 0.2]), strict=True))
    known.update(zip(body.coordinates[3:], quaternion(turn), strict=True))
    kinematics = loose.kinematics()
    omega_a, omega_b = state.vector(a.omega), state.vector(b.omega)
    relative = state.vector(b.origin.velocity - a.origin.velocity)
    arm = state.vector(b.origin.position - a.origin.position)
    slide = state.rotation(a).T @ (relative - np.cross(omega_a, arm))
    spin = state.rotation(b).T @ (omega_b - omega_a)
    own = [s.symbol for s in kinematics.motions[body].speeds]
    known.update(zip(own, map(float, (*slide, *spin)), strict=True))
    return State(loose, known)


def moved_of(state: State, m: Mechanism) -> dict[Expr, float]:
    """Return the values of the symbols that a mechanism shares by name."""
    by_name = {x.name: value for x, value in state.known.items()}
    speeds = [s.symbol for s in m.kinematics().speeds]
    symbols = (*m.parameters.values(), *m.coordinates.values(), *speeds)
    return {x: by_name[x.name] for x in symbols if x.name in by_name}


def quaternion(turn: Array) -> list[float]:
    """Return the unit quaternion, scalar part first, of a rotation matrix."""
    k = np.array(
        [
            [turn[0, 0] - turn[1, 1] - turn[2, 2], 0, 0, 0],
            [turn[1, 0] + turn[0, 1], turn[1, 1] - turn[0, 0] - turn[2, 2], 0, 0],
            [turn[2, 0] + turn[0, 2], turn[2, 1] + turn[1, 2], 0, 0],
            [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1], 0],
        ]
    )
    k[2, 2], k[3, 3] = turn[2, 2] - turn[0, 0] - turn[1, 1], np.trace(turn)
    values, vectors = np.linalg.eigh(k)
    x, y, z, w = vectors[:, np.argmax(values)]
    return [float(w), float(x), float(y), float(z)]


# -- runs ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize(
    "kind",
    cases(
        [k for k in MADE if k not in NOT_RUN],
        daily=["screw", "universal", "free quaternion"],
    ),
)
def test_energy_is_kept_in_a_run(kind: str, seed: int) -> None:
    """Half a second of free motion from a random state."""
    rng = np.random.default_rng(seed)
    direction = (*DIRECTIONS[3:], *INCLINED)[rng.integers(6)]
    m = tree(kind, WRITINGS["triple"], direction)
    state = state_of(m, seed)
    add_energy_outputs(m)
    initial = {x.name: v for x, v in state.known.items() if x.name not in m.parameters}
    run = lw.simulate(m, 0.5, initial=initial)
    stored = run["energy"]
    assert np.ptp(stored) < 1e-7 * (1 + np.ptp(run["kinetic_energy"]))
