"""Random mechanisms: every formulation against Newton-Euler, Pinocchio and MuJoCo, and physics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from linkwright.algebra import Expr, evaluate_all
from linkwright.equations import FORMULATIONS, Equations, derive
from linkwright.equations.energy import add_energy_outputs, energy
from linkwright.mechanism import (
    Ball,
    Cylindrical,
    Joint,
    Mechanism,
    Planar,
    Revolute,
    Screw,
    Universal,
)
from linkwright.models import load_model
from tests.oracles.mechanism import Evaluation, evaluate_numerically
from tests.random.mechanisms import (
    KINDS,
    Array,
    Loop,
    Sample,
    difference,
    looped,
    mechanism_of,
    mujoco_accelerations,
    ours_at,
    pinocchio_accelerations,
    pinocchio_loop,
    pinocchio_of,
    random_loop,
    random_sample,
    solved,
    with_state,
)
from tests.seeds import cases, seeds

TOLERANCE = 1e-9
TREES = [(seed, 3 + seed % 3) for seed in seeds(3, daily=1)]
TREE_FORMS = ("composite", "composite-usual", "kane", "kane-expanded")
STEP = 1e-30


def body_accelerations(sample: Sample, found: Evaluation) -> Array:
    """Return acceleration of the origin and angular acceleration by body, as the oracle has it."""
    return np.array([np.concatenate(found.acceleration_of(link.name)) for link in sample.links])


def moving(sample: Sample) -> bool:
    """Whether anything moves."""
    return any(link.motions for link in sample.links)


# -- trees -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
def test_each_joint_agrees_with_peers_and_every_formulation(kind: str) -> None:
    """A chain of two equal joints, the second on a moving parent."""
    forms = cases(TREE_FORMS, daily=["composite-usual", "kane-expanded"])
    check_tree(random_sample(len(kind) + 7, 2, (kind,)), forms)


@pytest.mark.parametrize(("seed", "size"), TREES)
def test_random_tree_agrees_with_peers_and_every_formulation(seed: int, size: int) -> None:
    """Trees of all joints with loads."""
    check_tree(random_sample(1000 + seed, size), TREE_FORMS)


def check_tree(sample: Sample, forms: Sequence[str]) -> None:
    """Compare the oracle with Pinocchio and MuJoCo, and the formulations with the oracle."""
    import pinocchio as pin

    found = ours_at(sample)
    expected = body_accelerations(sample, found)
    peer = pinocchio_of(sample, found.coordinate_rates)
    data = peer.model.createData()
    rates = pin.aba(peer.model, data, peer.q, peer.v, np.zeros(peer.model.nv), peer.loads)
    assert difference(pinocchio_accelerations(peer, rates), expected) < TOLERANCE
    if all(link.kind != "screw" for link in sample.links):
        theirs = mujoco_accelerations(sample, found.coordinate_rates)
        assert difference(theirs, expected) < TOLERANCE
    if not moving(sample):
        return
    m = mechanism_of(sample)
    accelerations = np.array(list(found.accelerations.values()))
    for name in forms:
        e = derive(m, name)
        result = solved(e, sample.coordinates, sample.speeds)
        assert difference(result["u_dot"], accelerations) < TOLERANCE, name
        expected_rates = np.array([found.coordinate_rates[q.name] for q in e.coordinates])
        assert difference(result["q_dot"], expected_rates) < TOLERANCE, name


def mass_and_right(
    e: Equations, coordinates: Mapping[str, float], speeds: Mapping[str, float]
) -> tuple[Array, Array]:
    """Return M and f at a state."""
    roots = [*(x for row in e.mass for x in row), *e.right]
    results = {"M": [list(row) for row in e.mass], "f": list(e.right)}
    found = solved(e, coordinates, speeds, results=results, roots=roots)
    n = len(e.speeds)
    return found["M"].reshape(n, n), found["f"]


@pytest.mark.parametrize("size", cases([3, 4], daily=[3]))
@pytest.mark.parametrize("seed", seeds(1))
def test_mass_matrix_is_positive_definite_and_that_of_every_formulation(
    seed: int, size: int
) -> None:
    """M of each formulation is the oracle's, symmetric and positive definite."""
    sample = random_sample(2005 + seed, size)
    m, found = mechanism_of(sample), ours_at(sample)
    for name in FORMULATIONS:
        mass, right = mass_and_right(derive(m, name), sample.coordinates, sample.speeds)
        assert np.array_equal(mass, mass.T)
        assert np.linalg.eigvalsh(mass).min() > 0
        assert difference(mass, found.mass) < TOLERANCE
        assert difference(right, found.right) < TOLERANCE


# -- loops -----------------------------------------------------------------------------------------
def closed(loop: Loop, joint: Joint | None, **more: object) -> tuple[Mechanism, dict[Expr, float]]:
    """Return the loop closed by a joint, or held at a distance, with its coordinates by symbol."""
    m, place, tip = looped(loop)
    if joint is None:
        m.constrain_distance(m.origin, tip, "length")
        tip_at = np.array(
            evaluate_all(list(tip.position.components(m.ground.frame)), numbers(m, loop))
        )
        m.defaults(length=float(np.linalg.norm(tip_at)))
    else:
        m.close_loop("closure", place, tip, joint, **more)  # type: ignore[arg-type]
    return m, {m.coordinates[k]: v for k, v in loop.sample.coordinates.items()}


def numbers(m: Mechanism, loop: Loop) -> dict[Expr, float]:
    """Return values by symbol."""
    known = {x: m.values[k] for k, x in m.parameters.items() if k in m.values}
    return known | {m.coordinates[k]: v for k, v in loop.sample.coordinates.items()}


def check_loop(loop: Loop, m: Mechanism, at: dict[Expr, float]) -> Evaluation:
    """Compare the formulations with the oracle, and check what constraint forces are."""
    coordinates = loop.sample.coordinates
    found = None
    for name in cases(
        ["composite-usual", "kane", "kane-expanded"], daily=["composite-usual", "kane-expanded"]
    ):
        e = derive(m, name, closed_at=at)
        speeds = {u.name: loop.sample.speeds[u.name] for u in e.speeds}
        found = evaluate_numerically(m, coordinates, speeds)
        singular = np.linalg.svd(found.jacobian, compute_uv=False)
        assert singular.max() < 1e4 * singular.min(), "choose another seed"
        expected = np.array([found.accelerations[u.name] for u in e.speeds])
        wanted = {
            "q_dot": list(e.rates),
            "u_dot": list(e.accelerations),
            "dependent": list(e.dependent_accelerations),
        }
        roots = [x for part in wanted.values() for x in part]
        result = solved(e, coordinates, speeds, results=wanted, roots=roots)
        assert difference(result["u_dot"], expected) < TOLERANCE, name
        rates = np.array([found.coordinate_rates[q.name] for q in e.coordinates])
        assert difference(result["q_dot"], rates) < TOLERANCE, name
        extra = result["dependent"]
        names = [u.name for u in (*e.speeds, *e.reduction.dependent)]
        by_name = dict(zip(names, [*result["u_dot"], *extra], strict=True))
        u_dot = np.array([by_name[u.symbol.name] for u in e.kinematics.speeds])
        u = np.array([found.speeds[s.symbol.name] for s in e.kinematics.speeds])
        needed = found.mass @ u_dot - found.right
        assert abs(needed @ u) < TOLERANCE * max(1, np.abs(needed).max()), "forces do work"
        _, _, whole = np.linalg.svd(found.jacobian)
        free = whole[len(found.jacobian) :]
        assert difference(free @ needed, np.zeros(len(free))) < TOLERANCE * max(
            1, np.abs(needed).max()
        )
        assert difference(found.jacobian @ u_dot, -found.drift) < TOLERANCE
    assert found is not None
    return found


def rows_from_works(m: Mechanism, found: Evaluation, known: Mapping[Expr, float]) -> Array:
    """Return the constraints' Jacobian from where their forces act."""
    states, rows = found.bodies, []

    def world(v: object, where: object) -> Array:
        return np.array(evaluate_all(list(v.components(where.ground.frame)), known))  # type: ignore[attr-defined]

    for c in m.constraints:
        row = np.zeros(found.jacobian.shape[1])
        for work in c.works:
            d = world(work.direction, m)
            for point, sign in ((work.point, 1), (work.reaction, -1)):
                if point.body.name in states:
                    s = states[point.body.name]
                    arm = world(point.position, m) - s.origin
                    linear = s.linear + np.cross(s.angular, arm, axisa=0, axisc=0)
                    row += sign * d @ (s.angular if work.turns else linear)
        rows.append(row)
    return np.array(rows)


LOOPS = cases([303, 310, 320, 324], daily=[324])


@pytest.mark.parametrize("seed", LOOPS)
def test_random_loop_agrees_with_pinocchio(seed: int) -> None:
    """A loop closed by a ball, against constraintDynamics and multipliers."""
    loop = random_loop(seed)
    m, at = closed(loop, Ball())
    found = check_loop(loop, m, at)
    theirs = pinocchio_loop(loop, found.coordinate_rates, found.speeds)
    assert difference(theirs, body_accelerations(loop.sample, found)) < TOLERANCE
    assert difference(rows_from_works(m, found, numbers(m, loop)), found.jacobian) < TOLERANCE


@pytest.mark.parametrize(
    ("joint", "seed"),
    cases(
        [
            ("revolute", 402),
            ("cylindrical", 413),
            ("planar", 402),
            ("universal", 413),
            ("distance", 402),
            ("distance", 413),
        ],
        daily=[("cylindrical", 413), ("distance", 413)],
    ),
)
def test_loop_closed_by_any_joint_agrees_with_multipliers(joint: str, seed: int) -> None:
    """The relations of each joint hold at the state, and the motion is that with multipliers."""
    loop = random_loop(seed, 3, ("ball", "cylindrical", "universal", "planar"))
    made = {
        "revolute": Revolute("z"),
        "cylindrical": Cylindrical("z"),
        "planar": Planar("z"),
        "universal": Universal("z", "x"),
        "distance": None,
    }[joint]
    names = [f"axis_{c}" for c in "xyz"]
    m, at = closed(loop, made, **({} if made is None else {"second_axis": names}))
    if made is not None:
        axis = loop.turn.T @ np.eye(3)[0 if joint == "universal" else 2]
        m.defaults(dict(zip(names, map(float, axis), strict=True)))
    found = check_loop(loop, m, at)
    known = numbers(m, loop)
    for c in m.constraints:
        assert c.position is not None
        assert abs(evaluate_all([c.position], known)[0]) < 1e-12
    assert difference(rows_from_works(m, found, known), found.jacobian) < TOLERANCE


# -- energy, momentum, reactions -------------------------------------------------------------------
def rate_of(
    exprs: list[Expr],
    m: Mechanism,
    coordinates: Mapping[str, float],
    speeds: Mapping[str, float],
    rates: Mapping[str, float],
    accelerations: Mapping[str, float],
) -> Array:
    """Return time derivatives of expressions by complex steps along the motion."""
    known: dict[Expr, complex] = {x: m.values[k] for k, x in m.parameters.items()}
    for name, q in m.coordinates.items():
        known[q] = complex(coordinates[name], STEP * rates[name])
    for s in m.kinematics().speeds:
        name = s.symbol.name
        known[s.symbol] = complex(speeds[name], STEP * accelerations[name])
    return np.array([np.imag(x) / STEP for x in evaluate_all(exprs, known)])


def moved(m: Mechanism, sample: Sample) -> tuple[Equations, dict[str, float], dict[str, float]]:
    """Return equations with q' and u' at the sample's state, by name."""
    e = derive(m, "composite-usual")
    found = solved(e, sample.coordinates, sample.speeds)
    rates = dict(zip((q.name for q in e.coordinates), found["q_dot"], strict=True))
    return e, rates, dict(zip((u.name for u in e.speeds), found["u_dot"], strict=True))


@pytest.mark.parametrize("seed", seeds(2, daily=1))
def test_rate_of_energy_is_the_power_of_the_loads(seed: int) -> None:
    """d(T + V)/dt, exact to rounding, is the power; T, V and power are the oracle's."""
    sample = random_sample(3000 + seed, 4)
    m = mechanism_of(sample)
    found, stored = ours_at(sample), energy(m)
    _, rates, accelerations = moved(m, sample)
    change = rate_of(
        [stored.kinetic + stored.potential],
        m,
        sample.coordinates,
        sample.speeds,
        rates,
        accelerations,
    )
    assert change[0] == pytest.approx(found.power, rel=1e-9, abs=1e-9 * found.kinetic)


@pytest.mark.parametrize("seed", seeds(1))
def test_momentum_is_constant_without_outer_forces(seed: int) -> None:
    """A tree that floats, with forces and couples between its bodies."""
    first = random_sample(4000 + seed, 1, ("free quaternion",), pushed=False)
    rest = random_sample(4100 + seed, 3, pushed=False)
    links = [first.links[0]]
    for k, link in enumerate(rest.links):
        links.append(replace(link, name=f"c{k}", parent=link.parent + 1))
    sample = with_state(Sample(tuple(links), np.zeros(3)), np.random.default_rng(seed))
    m = mechanism_of(sample)
    one, other = m.bodies["b0"], m.bodies["c2"]
    m.strut("spring", "3*x - v", at=m.point("a", one, (1, 2, 3)), to=other.com)
    m.moment("motor", 2.5, on=other, about=one.y, reaction=one)
    found = energy(m)
    _, rates, accelerations = moved(m, sample)
    change = rate_of(
        [*found.momentum, *found.angular_momentum],
        m,
        sample.coordinates,
        sample.speeds,
        rates,
        accelerations,
    )
    assert np.abs(change).max() < 1e-9
    assert max(map(abs, accelerations.values())) > 0.1


@pytest.mark.parametrize("seed", seeds(2, daily=1))
def test_energies_and_reactions_are_those_of_newton_and_euler(seed: int) -> None:
    """Outputs of energy, momentum, power, and forces in joints, beside the oracle's."""
    sample = random_sample(5000 + seed, 4)
    m = mechanism_of(sample)
    add_energy_outputs(m)
    m.output_all("reactions")
    found = ours_at(sample, m)
    check_outputs(m, derive(m, "kane"), sample.coordinates, sample.speeds, found)
    for speed in m.kinematics().speeds:
        state, motion = found.bodies[speed.body.name], m.kinematics().motions[speed.body]
        known = {x: m.values[k] for k, x in m.parameters.items()}
        known |= {m.coordinates[k]: v for k, v in sample.coordinates.items()}

        def world(v: object, known: dict[Expr, float] = known) -> Array:
            return np.array(evaluate_all(list(v.components(m.ground.frame)), known))  # type: ignore[attr-defined]

        force, moment = found.reactions[speed.body.name]
        moment = moment - np.cross(world(motion.reference), force)
        work = world(speed.omega) @ moment + world(speed.velocity) @ force
        assert abs(work) < 1e-9 * max(1, np.abs(force).max()), (speed.symbol, state)


def check_outputs(
    m: Mechanism,
    e: Equations,
    coordinates: Mapping[str, float],
    speeds: Mapping[str, float],
    found: Evaluation,
) -> dict[str, float]:
    """Compare the outputs that energy.py and reactions.py add with the oracle."""
    values = solved(e, coordinates, speeds)["y"]
    y = dict(zip((o.name for o in m.outputs), map(float, values), strict=True))
    letters = "xyz"
    ours = [y["kinetic_energy"], y["potential_energy"], y["power"]]
    ours += [y[f"{k}_{c}"] for k in ("momentum", "angular_momentum") for c in letters]
    theirs = [found.kinetic, found.potential, found.power]
    assert (
        difference(np.array(ours), np.array([*theirs, *found.momentum, *found.angular_momentum]))
        < TOLERANCE
    )
    for body, (force, moment) in found.reactions.items():
        back = found.bodies[body].rotation.T
        mine = np.array([y[f"{body}.{k}{c}"] for k in "FM" for c in letters])
        assert difference(mine, np.concatenate([back @ force, back @ moment])) < TOLERANCE
    return y


@pytest.mark.parametrize("name", ["four-bar", "andrews", "slider-crank"])
def test_reactions_in_loops_are_those_with_multipliers(name: str) -> None:
    """Forces in joints and of constraints of the loops of the library."""
    from linkwright.equations.closure import closed_samples

    m = load_model(name)
    m.outputs.clear()
    add_energy_outputs(m)
    m.output_all("reactions")
    e = derive(m, "kane")
    samples = closed_samples(m, m.values)
    assert samples is not None
    coordinates = {q.name: float(samples[q][1]) for q in e.coordinates}
    speeds = {u.name: 0.5 for u in e.speeds}
    found = evaluate_numerically(m, coordinates, speeds)
    y = check_outputs(m, e, coordinates, speeds, found)
    for c, multiplier in zip(m.constraints, found.multipliers, strict=True):
        assert y[f"force of {c.name}"] == pytest.approx(multiplier, rel=1e-9, abs=1e-9)


def test_wheel_loads_of_the_bicycle() -> None:
    """Checks 8 and 10 of the bicycle: wheel loads upright, ground forces and energy leaning."""
    m = load_model("whipple")
    m.outputs.clear()
    add_energy_outputs(m)
    m.output_all("reactions")
    m.outputs = [o for o in m.outputs if not o.made or o.body in ("heading", "")]
    e = derive(m, "composite-usual")

    def outputs(coordinates: dict[str, float], speeds: dict[str, float]) -> dict[str, float]:
        q = {x.name: coordinates.get(x.name, 0.0) for x in e.coordinates}
        u = {x.name: speeds.get(x.name, 0.0) for x in e.speeds}
        return dict(zip((o.name for o in m.outputs), solved(e, q, u)["y"], strict=True))

    upright = outputs({}, {})
    assert upright["force of front wheel touches"] == pytest.approx(-309.303529411765, rel=1e-12)
    assert upright["heading.Fz"] == pytest.approx(-612.836470588235, rel=1e-12)
    leaning = outputs(
        {"phi": 0.2, "delta": 0.4, "theta": -0.00578224303992},
        {"phi_dot": 0.3, "delta_dot": -0.5, "theta_R_dot": -5 / 0.3},
    )
    forces = [
        leaning["force of rear wheel rolls"],
        leaning["force of rear wheel does not slip"],
        leaning["heading.Fz"],
        leaning["force of front wheel rolls"],
        leaning["force of front wheel does not slip"],
        leaning["force of front wheel touches"],
    ]
    expected = [-2.135698, 212.203671, -639.790245, -37.019394, 88.178246, -380.715857]
    assert forces == pytest.approx(expected, abs=1e-6)
    assert leaning["energy"] == pytest.approx(1899.2150106525, rel=1e-12)


def test_cantilever_carries_weight_and_moment() -> None:
    """A welded beam with a mass at its end: reactions by hand."""
    m = Mechanism("beam")
    slider = m.body("slider", translate="x", mass=3, inertia=0)
    beam = m.body("beam", parent=slider, at=(0, 1, 0), mass=2, com=(4, 0, 0), inertia=0)
    m.gravity(along=-m.z, g=10)
    m.force("tip", 5, at=m.point("end", beam, (8, 0, 0)), along=m.y)
    m.output_all("reactions")
    y = solved(derive(m), {"slider": 0.3}, {"slider_dot": 0.0})["y"]
    found = dict(zip((o.name for o in m.outputs), y, strict=True))
    assert [found[f"beam.F{c}"] for c in "xyz"] == pytest.approx([0, -5, 20])
    assert [found[f"beam.M{c}"] for c in "xyz"] == pytest.approx([0, -80, -40])
    assert [found[f"slider.F{c}"] for c in "xyz"] == pytest.approx([0, -5, 50])
    assert [found[f"slider.M{c}"] for c in "xyz"] == pytest.approx([20, -80, -40])


# -- invariance ------------------------------------------------------------------------------------
def floating(seed: int) -> Sample:
    """Return a tree on a free body."""
    sample = random_sample(6000 + seed, 3, pushed=False)
    first = random_sample(seed, 1, ("free quaternion",)).links[0]
    links = [
        first,
        *(replace(x, name=f"c{k}", parent=x.parent + 1) for k, x in enumerate(sample.links)),
    ]
    return with_state(Sample(tuple(links), sample.gravity), np.random.default_rng(seed))


def accelerations_of(sample: Sample) -> dict[str, float]:
    """Return u' by name."""
    return moved(mechanism_of(sample), sample)[2]


@pytest.mark.parametrize("seed", seeds(2, daily=1))
def test_motion_does_not_depend_on_the_ground_frame(seed: int) -> None:
    """Turn the ground's axes, the first attitude and gravity: body-axis accelerations stay."""
    sample = floating(seed)
    rng = np.random.default_rng(99 + seed)
    e = rng.normal(size=4)
    w, v = (e / np.linalg.norm(e))[0], (e / np.linalg.norm(e))[1:]
    name = sample.links[0].name
    old = np.array([sample.coordinates[f"{name}.e{k}"] for k in range(4)])
    new = np.array([w * old[0] - v @ old[1:], *(w * old[1:] + old[0] * v + np.cross(v, old[1:]))])
    turned = (w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v)
    turned += 2 * w * np.cross(np.eye(3), v)
    coordinates = dict(sample.coordinates)
    coordinates.update({f"{name}.e{k}": float(x) for k, x in enumerate(new)})
    other = replace(sample, coordinates=coordinates, gravity=turned @ sample.gravity)
    before, after = accelerations_of(sample), accelerations_of(other)
    assert difference(np.array(list(after.values())), np.array(list(before.values()))) < TOLERANCE


@pytest.mark.parametrize("seed", seeds(2, daily=1))
def test_motion_does_not_depend_on_the_order_of_bodies(seed: int) -> None:
    """Enter the bodies in another order, parents before children."""
    sample = random_sample(7000 + seed, 6)
    rng = np.random.default_rng(seed)
    order: list[int] = []
    while len(order) < len(sample.links):
        ready = [
            k
            for k, link in enumerate(sample.links)
            if k not in order and (link.parent < 0 or link.parent in order)
        ]
        order.append(int(rng.choice(ready)))
    links = [
        replace(
            sample.links[k],
            parent=-1 if sample.links[k].parent < 0 else order.index(sample.links[k].parent),
        )
        for k in order
    ]
    pushes = tuple(replace(p, link=order.index(p.link)) for p in sample.pushes)
    other = replace(sample, links=tuple(links), pushes=pushes)
    before, after = accelerations_of(sample), accelerations_of(other)
    assert before.keys() == after.keys()
    for name, value in before.items():
        assert after[name] == pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", seeds(2, daily=1))
def test_motion_scales_with_the_units(seed: int) -> None:
    """Meters to millimeters, kilograms to grams, seconds to milliseconds."""
    sample = random_sample(8000 + seed, 4, [k for k in KINDS if k != "screw"])
    length, mass, time = 1e3, 1e3, 1e3
    m = mechanism_of(sample)
    unit = m.units

    def scale(name: str) -> float:
        return length if unit[name] in ("m", "m/s") else 1.0

    other = Sample(
        tuple(
            replace(
                x,
                at=x.at * length,
                mass=x.mass * mass,
                center=x.center * length,
                tensor=x.tensor * mass * length**2,
            )
            for x in sample.links
        ),
        sample.gravity * length / time**2,
        tuple(
            replace(
                p,
                at=p.at * length,
                force=p.force * mass * length / time**2,
                couple=p.couple * mass * length**2 / time**2,
            )
            for p in sample.pushes
        ),
        {k: v * scale(k) for k, v in sample.coordinates.items()},
        {
            s.symbol.name: sample.speeds[s.symbol.name] * scale(s.symbol.name) / time
            for s in m.kinematics().speeds
        },
    )
    before, after = accelerations_of(sample), accelerations_of(other)
    for name, value in before.items():
        assert after[name] * time**2 / scale(name) == pytest.approx(value, rel=1e-8, abs=1e-8)


def test_screw_advances_by_its_pitch_in_a_turn() -> None:
    """One turn of a screw moves the body by the pitch, and its speed follows."""
    m = Mechanism("screw")
    nut = m.body("nut", joint=Screw("z", "pitch"), mass=2, inertia=(0, 0, 3))
    m.defaults(pitch=0.5)
    found = evaluate_numerically(m, {"nut": 2 * np.pi}, {"nut_dot": 2 * np.pi})
    assert found.bodies["nut"].origin == pytest.approx([0, 0, 0.5])
    assert found.bodies["nut"].velocity == pytest.approx([0, 0, 0.5])
    assert found.mass[0, 0] == pytest.approx(3 + 2 * (0.5 / (2 * np.pi)) ** 2)
    place = evaluate_all(
        list(nut.origin.position.components(m.ground.frame)),
        {m.parameters["pitch"]: 0.5, m.coordinates["nut"]: 2 * np.pi},
    )
    assert place == pytest.approx([0, 0, 0.5])


@pytest.mark.parametrize(
    "formulation",
    cases(["composite", "kane", "kane-expanded"], daily=["composite", "kane-expanded"]),
)
@pytest.mark.parametrize(("small", "whole"), [("car-small", "car")])
def test_small_variables_are_exact_to_first_order(formulation: str, small: str, whole: str) -> None:
    """The error of a model with small variables falls with their square."""
    m, full = load_model(small), load_model(whole)
    e = derive(m, formulation)
    rng = np.random.default_rng(1)
    names = (*e.coordinates, *e.speeds)
    start = {x.name: float(rng.uniform(-0.1, 0.1)) for x in names}
    tiny = [k for k, p in m.parameters.items() if p.data.small > 0]
    errors = []
    for size in (1e-2, 1e-3):
        state = {x.name: start[x.name] * (size if x.data.small > 0 else 1) for x in names}
        given = {**m.values, **{k: m.values[k] * size for k in tiny}}
        q = {x.name: state[x.name] for x in e.coordinates}
        u = {x.name: state[x.name] for x in e.speeds}
        found = evaluate_numerically(full, q, u, given)
        m.values.update({k: given[k] for k in tiny})
        result = solved(e, q, u)["u_dot"]
        m.values.update({k: given[k] / size for k in tiny})
        expected = np.array([found.accelerations[x.name] for x in e.speeds])
        errors.append(np.abs(result - expected).max())
    assert errors[0] > 1e-7
    assert errors[1] < 0.02 * errors[0]
