"""How equations are made: bodies lumped, speeds chosen, constraints solved, programs free of waste.

Most of AUTOSIM's methods are tested beside the code that has them; here is what shows on whole
models. `docs/acceptance.md` maps each check of the list to its test.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pytest

from linkwright.algebra import ONE, ZERO, Expr, evaluate, free_symbols, postorder, substitute
from linkwright.algebra.triples import NOTHING
from linkwright.backends.kernel import compile as compile_program
from linkwright.equations import Equations, derive
from linkwright.equations.closure import Relations, assemble, least_norm
from linkwright.equations.constraints import reduce
from linkwright.equations.evaluation import Array
from linkwright.equations.inertia import is_rotor, lumped
from linkwright.equations.kane import Worksheet, shares_of, worksheets
from linkwright.equations.rnea import inverse
from linkwright.equations.writer import Writer
from linkwright.mechanism import (
    Ball,
    Body,
    Cylindrical,
    Free,
    Joint,
    Mechanism,
    MechanismError,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Universal,
    Weld,
)
from linkwright.mechanism.kinematics import composite_centers
from linkwright.models import load_model
from linkwright.program import Assign, Namer, Program, count_operations, interpret, lower, program
from linkwright.program.derivatives import derivative
from linkwright.program.passes import optimize
from linkwright.program.passes.fields import PRIME, FieldValues
from linkwright.program.rates import Rate
from linkwright.simulation import simulate
from linkwright.system import System
from tests.oracles.mechanism import evaluate_numerically
from tests.random.mechanisms import difference, mechanism_of, random_sample, solved
from tests.seeds import cases, examples
from tests.support.model_states import equations

LISTED = ("car", "car-small", "cart", "four-bar")


@cache
def smallest(name: str) -> Program:
    """Return the optimized Program of a shipped model, its outputs beside."""
    return optimize(equations(name).program())


def at(
    e: Equations, coordinates: Mapping[str, float], speeds: Mapping[str, float], t: float = 0.0
) -> dict[str, Array]:
    """Return q' and u' at a state and a time."""
    p = e.program(outputs=False)
    known = {**e.mechanism.values, **coordinates, **speeds, "t": t}
    given = [np.array([known[x.name] for x in port.entries]) for port in p.inputs]
    found = interpret(lower(p), given)
    return {port.name: np.asarray(x) for port, x in zip(p.outputs, found, strict=True)}


def chain(n: int, **last: object) -> Mechanism:
    """Return a chain in space of n bodies that turn about x, y, z in turn; `last` is one more."""
    m = Mechanism("chain")
    parent = None
    for k in range(n):
        parent = m.body(
            f"b{k}",
            parent=parent,
            at=(0.3, 0.2, 0.1) if k else (0, 0, 0),
            rotate="xyz"[k % 3],
            mass=f"m{k}",
            com=(f"x{k}", f"y{k}", f"z{k}"),
            inertia=(f"I{k}", f"J{k}", f"K{k}"),
        )
    if last:
        m.body("last", parent=parent, at=(0.1, 0.2, 0.3), **last)  # type: ignore[arg-type]
    return m


# -- programs without waste ------------------------------------------------------------------------
@pytest.mark.parametrize("name", LISTED)
def test_every_definition_of_a_model_is_needed_and_used_twice(name: str) -> None:
    """What is used once stands where it is used; nothing stands there that no result needs."""
    p = smallest(name)
    roots = [s.value for s in p.statements if isinstance(s, Assign)] + list(p.output_values())
    uses: dict[Expr, int] = {}
    for root in roots:
        uses[root] = uses.get(root, 0) + 1
    for node in postorder(roots):
        for k, x in enumerate(node.args):
            uses[x] = uses.get(x, 0) + (abs(node.data[k]) if node.op == "prod" else 1)
    rates = {i.name: i.rate for i in lower(p).instructions}
    needed = set(free_symbols(*p.output_values()))
    for s in reversed(p.statements):
        assert isinstance(s, Assign)
        assert s.target in needed, f"{s.target} is dead"
        needed.update(free_symbols(s.value))
        assert uses[s.target] > 1 or rates[s.target.name] <= Rate.PARAMETER, s


@pytest.mark.parametrize("name", LISTED)
def test_no_two_definitions_of_a_model_are_equal(name: str) -> None:
    """Values after expansion differ, up to sign; AUTOSIM's cart and four-bar repeat some.

    Reciprocals are symbols of their own: nothing is said of what cancels against a divisor.
    """
    values = FieldValues()
    seen: dict[int, str] = {}
    for s in smallest(name).statements:
        assert isinstance(s, Assign)
        value = values.known[s.target] = values.of(s.value)
        other = seen.setdefault(min(value, PRIME - value), str(s))
        assert other == str(s)


@pytest.mark.parametrize("name", LISTED)
def test_constant_factors_and_terms_of_a_model_are_merged(name: str) -> None:
    """No product or sum of what moves takes in two constants one after the other."""
    code = lower(smallest(name))
    made = {i.id: i for i in code.instructions}
    used: dict[int, int] = {}
    for i in code.instructions:
        for a in i.args:
            used[a] = used.get(a, 0) + 1
    kinds = {"mul": ("mul",), "add": ("add", "sub"), "sub": ("add", "sub")}
    for i in code.instructions:
        if i.op in kinds and Rate.PARAMETER < i.rate < Rate.OUTPUT:
            for a, b in (i.args, i.args[::-1]):
                inner = made[b]
                if made[a].rate <= Rate.PARAMETER and inner.op in kinds[i.op] and used[b] == 1:
                    assert all(made[c].rate > Rate.PARAMETER for c in inner.args), i


@pytest.mark.parametrize("name", LISTED)
def test_nothing_that_moves_is_divided_by_a_constant(name: str) -> None:
    """Neither in the equations as they are derived nor in the optimized ones."""
    for p in (equations(name).program(), smallest(name)):
        code = lower(p)
        rates = {i.id: i.rate for i in code.instructions}
        divisions = [
            i for i in code.instructions if i.op == "div" and Rate.PARAMETER < i.rate < Rate.OUTPUT
        ]
        assert all(rates[i.args[1]] > Rate.PARAMETER for i in divisions)
        assert name != "car-small" or not divisions


def test_mass_matrix_of_the_small_car_is_factored_once() -> None:
    """M depends on parameters alone, so no pivot is formed and nothing divided while it moves."""
    e = equations("car-small")
    rows = [list(row) for row in e.mass]
    p = e.assemble("mass", {"M": rows}, {}, [x for row in rows for x in row])
    assert count_operations(p).total == 0
    assert count_operations(p).call == 0
    code = lower(smallest("car-small"))
    divisions = [i.rate for i in code.instructions if i.op == "div" and i.rate < Rate.OUTPUT]
    assert len(divisions) >= 3
    assert set(divisions) == {Rate.PARAMETER}


# -- joints, bodies, speeds ------------------------------------------------------------------------
COORDINATES: list[tuple[Joint, list[str], list[str]]] = [
    (Prismatic("x"), ["b"], ["b_dot"]),
    (Revolute("y"), ["b"], ["b_dot"]),
    (Screw("z", 0.1), ["b"], ["b_dot"]),
    (Cylindrical("z"), ["b.z", "b.rz"], ["b.z_dot", "b.rz_dot"]),
    (Universal("x", "y"), ["b_cross", "b"], ["b_cross_dot", "b_dot"]),
    (Ball("zyx"), ["b.rz", "b.ry", "b.rx"], ["b.r", "b.q", "b.p"]),
    (Ball(quaternion=True), ["b.e0", "b.e1", "b.e2", "b.e3"], ["b.p", "b.q", "b.r"]),
    (Planar("z"), ["b.x", "b.y", "b.rz"], ["b.u", "b.v", "b.rz_dot"]),
    (
        Free(),
        ["b.x", "b.y", "b.z", "b.rx", "b.ry", "b.rz"],
        ["b.u", "b.v", "b.w", "b.p", "b.q", "b.r"],
    ),
    (Weld(), [], []),
]


@pytest.mark.parametrize(("joint", "coordinates", "speeds"), COORDINATES)
def test_each_joint_has_its_coordinates_and_speeds(
    joint: Joint, coordinates: list[str], speeds: list[str]
) -> None:
    """Free and planar bodies on the ground have speeds along their own axes, others joint rates."""
    m = Mechanism("m")
    m.body("b", joint=joint, mass=1)
    assert list(m.coordinates) == coordinates
    assert [s.symbol.name for s in m.kinematics().speeds] == speeds


def test_a_body_on_a_moving_parent_has_joint_rates() -> None:
    m = Mechanism("m")
    a = m.body("a", rotate="z", mass=1)
    m.body("b", parent=a, joint=Planar("z"), mass=1)
    names = [s.symbol.name for s in m.kinematics().speeds]
    assert names == ["a_dot", "b.x_dot", "b.y_dot", "b.rz_dot"]


def test_wheels_of_the_cart_are_rotors_whose_mass_counts_with_the_frame() -> None:
    """Composite masses and centers of the thesis; wheels are alike in every position."""
    m = load_model("cart")
    b, f = m.bodies["b"], m.bodies["f"]
    composite = composite_centers(m)
    names = {x: 1.0 + 0.37 * k for k, x in enumerate(m.parameters.values())}

    def value(text: str) -> float:
        return float(evaluate(m.expr(text), names))

    for body, mass, center in (
        (b, "BM + 2*MW", "BM*CMB1/(BM + 2*MW)"),
        (f, "FM + 2*MW", "-(2*MW*EPS + FM*(EPS - CMF1))/(FM + 2*MW)"),
    ):
        found, place = composite[body]
        assert evaluate(found, names) == pytest.approx(value(mass), rel=1e-14)
        along = [evaluate(x, names) for x in place.components(body.frame)]
        assert along == pytest.approx([value(center), 0, 0], rel=1e-14)
    moments = lumped(m.kinematics())
    wheels = [body for name, body in m.bodies.items() if name.endswith("w")]
    assert len(wheels) == 4
    assert all(is_rotor(w, moments[w]) and moments[w].mass is ZERO for w in wheels)
    used = set(free_symbols(*(s.value for s in equations("cart").assignments)))
    assert not used & {q for w in wheels for q in w.coordinates}


def test_masses_on_their_own_hinges_count_with_the_parent() -> None:
    """The clock of spacecraft 1, links B, D and F of the arm; none of these is a rotor's mass."""
    clock = load_model("spacecraft-1")
    mass, center = composite_centers(clock)[clock.bodies["b"]]
    assert str(mass) == "BM + CM"
    assert str(center) == "-CM*(L1 - L2)/(BM + CM)*b.z"
    arm = load_model("stanford-arm")
    told = {body.name: str(mass) for body, (mass, _) in composite_centers(arm).items()}
    assert (told["a"], told["c"], told["e"]) == ("MA + MB", "MC + MD", "ME + MF")


def test_a_fixed_child_changes_mass_center_and_velocity_of_what_carries_it() -> None:
    def center_of(*, loaded: bool) -> tuple[str, str, str]:
        m = Mechanism("m")
        b = m.body("b", joint=Free(), mass="M", inertia=0)
        arm = m.body("arm", parent=b, at=("L", 0, 0), mass=0, inertia=0)
        if loaded:
            m.body("load", parent=arm, at=("L", 0, 0), joint=Ball(), mass="M", inertia=0)
        mass, center = composite_centers(m)[b]
        return str(mass), str(center), str(b.origin.velocity.expressed(b.frame))

    assert center_of(loaded=False) == ("M", "0", "b.u*b.x + b.v*b.y + b.w*b.z")
    mass, center, velocity = center_of(loaded=True)
    assert (mass, center) == ("2*M", "L*b.x")
    assert velocity == "b.u*b.x + (b.v - L*b.r)*b.y + (b.w + L*b.q)*b.z"


def test_gravity_enters_at_the_root_alone() -> None:
    """What it costs does not grow with the number of bodies, as weights of bodies would."""

    def cost(n: int, *, gravity: bool) -> int:
        m = chain(n)
        if gravity:
            m.gravity(along=(1, 2, 3), g="G")
        return count_operations(derive(m, "kane").program()).total

    extra = [cost(n, gravity=True) - cost(n, gravity=False) for n in (4, 5, 6)]
    assert extra[0] == extra[1] == extra[2] > 0


def test_a_mass_on_its_hinge_axis_costs_nothing() -> None:
    """Its partial velocities are its parent's, so the parent's products serve it too."""
    costs = [
        count_operations(
            derive(chain(3, rotate="z", mass=m, inertia=("A", "A", "C")), f).program()
        ).total
        for f in ("kane", "composite")
        for m in (0, "M")
    ]
    assert costs[0] == costs[1]
    assert costs[2] == costs[3]


def sheets_of(m: Mechanism) -> dict[Body, Worksheet]:
    """Return Kane's worksheets of a mechanism without constraints."""
    kinematics, writer = m.kinematics(), Writer(m.name)
    free = reduce(kinematics, (), {}, writer, Namer(None, "s"), {})
    return worksheets(kinematics, shares_of(free), writer)


def test_a_free_body_has_no_angular_remainder() -> None:
    """Its speeds are components along its own axes: alpha has none but their rates."""
    m = Mechanism("m")
    b = m.body("b", joint=Free(), mass="M", com=(1, 2, 3))
    sheet = sheets_of(m)[b]
    assert sheet.alpha == NOTHING
    assert [sheet.partial_omega[r] for r in (3, 4, 5)] == [
        (ONE, ZERO, ZERO),
        (ZERO, ONE, ZERO),
        (ZERO, ZERO, ONE),
    ]


def test_bodies_of_a_plane_share_their_partial_angular_velocities() -> None:
    """All are the plane's normal, and no remainder turns them."""
    m = Mechanism("m")
    parent = None
    for k in range(4):
        parent = m.body(f"b{k}", parent=parent, at=("L", 0, 0), rotate="z", mass="M", com=(1, 0, 0))
    sheets = list(sheets_of(m).values())
    assert all(sheet.alpha == NOTHING for sheet in sheets)
    for k, sheet in enumerate(sheets):
        assert sheet.partial_omega == dict.fromkeys(range(k + 1), (ZERO, ZERO, ONE))


# -- constraints -----------------------------------------------------------------------------------
def machine() -> Mechanism:
    """Return three bodies in a row that turn, turn and slide."""
    m = Mechanism("machine")
    a = m.body("a", rotate="z", mass=1)
    b = m.body("b", parent=a, at=(1, 0, 0), rotate="z", mass=1)
    m.body("c", parent=b, translate="x", mass=1)
    return m


CHOICES = [
    (
        "3*a_dot + 2*b_dot + cos(a)*c_dot",
        "b_dot",
        "constant coefficients come first",
    ),
    ("3*a_dot + 2*b_dot + 5*c_dot", "c_dot", "of several constant ones the last"),
    ("cos(b)*b_dot + sin(a)*c_dot", "b_dot", "not one that vanishes with all coordinates zero"),
]


@pytest.mark.parametrize(("zero", "chosen", "why"), CHOICES)
def test_the_speed_to_eliminate_is_chosen_by_its_coefficient(
    zero: str, chosen: str, why: str
) -> None:
    m = machine()
    m.constrain(zero)
    (found,) = derive(m, "kane").eliminations
    assert str(found.speed) == chosen, why


def test_the_speed_to_eliminate_may_be_named() -> None:
    m = machine()
    m.constrain("3*a_dot + 2*b_dot", eliminate="a_dot")
    (found,) = derive(m, "kane").eliminations
    assert str(found.speed) == "a_dot"


@pytest.mark.parametrize(
    ("zero", "eliminate", "message"),
    [
        ("3*a_dot + 2*b_dot", "c_dot", "'tie' cannot eliminate c_dot, which is not in it"),
        ("3*a_dot + 2*b_dot", "a", "'tie' cannot eliminate a, which is not a speed"),
        ("K - L", None, "'tie' has no speed that it could eliminate"),
    ],
)
def test_a_constraint_that_can_eliminate_nothing_is_refused(
    zero: str, eliminate: str | None, message: str
) -> None:
    m = machine()
    m.constrain(zero, name="tie", eliminate=eliminate)
    with pytest.raises(MechanismError, match=message):
        derive(m, "kane")


def test_dependent_speeds_of_the_cart_follow_the_two_that_remain() -> None:
    """Six rows in u, v of the body, without any eliminated speed; nothing is left over at rest.

    With the speeds that they give all eight constraints hold, the redundant ones too.
    """
    reduction = equations("cart").reduction
    assert [str(u) for u in reduction.independent] == ["b.u", "b.v"]
    assert [len(row) for row in reduction.matrix] == [2] * 6
    assert reduction.offset == (ZERO,) * 6
    definitions = {s.target: s.value for s in equations("cart").assignments}
    entries = [x for row in reduction.matrix for x in row]
    while any(x in definitions for x in free_symbols(*entries)):
        entries = [substitute(x, definitions) for x in entries]
    assert {str(x) for x in free_symbols(*entries) if not x.is_constant} == {"steer"}
    m = equations("cart").mechanism
    known = {x: m.values[name] for name, x in m.parameters.items()} | {m.coordinates["steer"]: 0.3}
    known |= dict(zip(reduction.independent, (2.0, 0.7), strict=True))
    for k, u in enumerate(reduction.dependent):
        row = zip(entries[2 * k : 2 * k + 2], reduction.independent, strict=True)
        known[u] = sum(evaluate(x, known) * known[v] for x, v in row)
    found = [evaluate(c.speed, known) for c in m.constraints]
    assert found == pytest.approx([0] * 8, abs=1e-12)


@pytest.mark.parametrize(("name", "eliminated"), [("cart", "yaw_dot"), ("four-bar", "c_dot")])
def test_an_eliminated_speed_is_computed_once_and_used_again(name: str, eliminated: str) -> None:
    """It is the rate of its coordinate, and the dynamics reads it instead of computing it anew."""
    e = equations(name)
    (u,) = (x for x in e.reduction.dependent if x.name == eliminated)
    assert sum(s.target is u for s in e.assignments) == 1
    assert u in e.rates
    assert any(u in free_symbols(s.value) for s in e.assignments)


def test_no_movement_ties_places_and_speeds_together() -> None:
    """One relation of both kinds: a coordinate to compute and a speed to eliminate, or neither."""
    m = machine()
    tip = m.point("tip", m.bodies["c"])
    first = m.constrain_points(tip, m.origin, "y")
    again = m.constrain_points(tip, m.origin, "y", name="the same again")
    moving = machine()  # in which neither point stands still
    foot = moving.point("foot", moving.bodies["a"], (0, 1, 0))
    between = moving.constrain_points(moving.point("tip", moving.bodies["c"]), foot, "y")
    for mechanism, made in ((m, first), (m, again), (moving, between)):
        assert made.position is not None
        rate = mechanism.kinematics().derivative(made.position)
        assert isinstance(rate, Expr)
        for seed in range(3):
            rng = np.random.default_rng(seed)
            known = {x: rng.uniform(-1, 1) for x in free_symbols(rate)}
            assert evaluate(made.speed, known) == pytest.approx(evaluate(rate, known), abs=1e-14)
    e = derive(m, "kane", closed_at={m.coordinates["c"]: 0.5, m.coordinates["b"]: 2.0})
    assert [k.speed is None for k in e.eliminations] == [False, True]
    assert len(e.speeds) == 2
    assert len(assemble(m, {"a": 0.3, "c": 0.2}).computed) == 1


def test_newton_closes_the_four_bar_in_twenty_steps() -> None:
    m = load_model("four-bar")
    relations = Relations(m, m.values, "python")
    q, residual = relations.closed(np.array([-0.5, 0.0, 0.0]), 0.0, [1, 2], iterations=20)
    assert residual < 1e-12
    assert q == pytest.approx([-0.5, 0.5634732703, -0.6444917734], abs=1e-10)


def test_integration_of_the_four_bar_drifts_little_and_is_corrected() -> None:
    """A step of 5 ms opens the loop by 1e-6 rad and less; 20 s later it is still closed."""
    m = load_model("four-bar")
    e = equations("four-bar")
    relations = Relations(m, m.values)
    phases = System(e).phases()
    rates = compile_program(phases.derivative)
    numbers = [np.array([s.value for s in part]) for part in (phases.d, phases.p, phases.w)]
    start = assemble(m, {"a": 0.0, "b": 0.0, "c": 0.0}, relations=relations)
    q = np.array([start.coordinates[x.name] for x in e.coordinates])
    u = np.array([start.speeds[x.name] for x in e.speeds])
    x, h, drifts = np.concatenate([q, u]), 0.005, []
    for k in range(40):
        middle = x + h / 2 * rates(x, *numbers, np.array([k * h]))
        x = x + h * rates(middle, *numbers, np.array([(k + 0.5) * h]))
        closed, _ = relations.closed(x[:3], (k + 1) * h, [1, 2])
        drifts.append(float(np.abs(x[:3] - closed).max()))
        x[:3] = closed
    assert 1e-8 < max(drifts) < 3e-6
    run = simulate(e, 20, step=0.005, method="midpoint", every=40)
    assert run.residual < 1e-12


def test_a_correction_is_left_out_where_its_divisor_vanishes() -> None:
    """The step of least length never divides by what counts as zero."""
    jacobian = np.array([[1.0, 0.0], [0.0, 1e-12]])
    step = least_norm(jacobian, np.array([1e-6, 1e-6]))
    assert step == pytest.approx([1e-6, 0.0], abs=1e-18)
    assert not least_norm(np.zeros((2, 2)), np.ones(2)).any()
    m = load_model("n-four-bar")
    relations = Relations(m, m.values, "python")
    flat = np.array([math.pi / 2, -math.pi / 2, math.pi / 2, -math.pi / 2, math.pi / 2])
    q, residual = relations.closed(flat + 1e-7 * np.eye(5)[1], 0.0)
    assert residual < 1e-9
    assert np.abs(q - flat).max() < 1e-3


def test_a_prescribed_motion_shakes_what_hangs_on_it() -> None:
    """Pendulum whose support moves by A sin(w t): L p'' = -g sin p - x'' cos p."""
    m = Mechanism("shaken")
    base = m.body("base", translate="x", mass=3)
    m.body("rod", parent=base, rotate="z", mass=2, com=(0, "-L", 0), inertia=0)
    m.gravity(along="-y")
    m.prescribe("base", "A*sin(w*t)")
    m.defaults(L=0.8, A=0.3, w=5.0)
    for formulation in ("kane", "composite"):
        e = derive(m, formulation)
        t, p = 0.7, 0.4
        found = at(e, {"base": 0.3 * math.sin(5 * t), "rod": p}, {"rod_dot": 1.1}, t)
        push = -0.3 * 25 * math.sin(5 * t)
        wanted = -(9.81 * math.sin(p) + push * math.cos(p)) / 0.8
        assert found["u_dot"] == pytest.approx([wanted], rel=1e-13)
        assert found["q_dot"] == pytest.approx([1.5 * math.cos(5 * t), 1.1], rel=1e-13)


# -- dynamics --------------------------------------------------------------------------------------
TREES = ["stanford-arm", "spacecraft-2", "puma560"]
BOTH_WAYS = [(name, formulation) for formulation in ("kane", "composite") for name in TREES]


@pytest.mark.parametrize(("name", "formulation"), cases(BOTH_WAYS, daily=BOTH_WAYS[:4]))
def test_mass_matrix_and_forces_agree_to_twelve_digits(name: str, formulation: str) -> None:
    e = equations(name, formulation)
    rng = np.random.default_rng(12)
    rows = [list(row) for row in e.mass]
    roots = [*(x for row in rows for x in row), *e.right]
    for _ in range(examples(3, daily=1)):
        q = {x.name: float(rng.uniform(-1, 1)) for x in e.coordinates}
        u = {x.name: float(rng.uniform(-1, 1)) for x in e.speeds}
        found = solved(e, q, u, results={"M": rows, "f": list(e.right)}, roots=roots)
        wanted = evaluate_numerically(e.mechanism, q, u)
        assert difference(found["M"], found["M"].T) == 0
        assert difference(found["M"], wanted.mass) < 1e-12
        assert difference(found["f"], wanted.right) < 1e-12


def inverse_program(m: Mechanism) -> Program:
    """Return the Program of M a - f, with inputs q, u, a and p."""
    kinematics, writer = m.kinematics(), Writer(m.name)
    rates = [kinematics.accelerations[s.symbol] for s in kinematics.speeds]
    torques = inverse(kinematics, writer, rates)
    inputs: dict[str, Sequence[Expr]] = {
        "q": list(m.coordinates.values()),
        "u": [s.symbol for s in kinematics.speeds],
        "a": rates,
        "p": list(m.parameters.values()),
    }
    return program("inverse", inputs, {"tau": list(torques)}, statements=writer.statements)


def values_of(p: Program, known: Mapping[str, float]) -> dict[str, Array]:
    """Return the outputs of a Program for values by name."""
    given = [np.array([known[x.name] for x in port.entries]) for port in p.inputs]
    found = interpret(lower(p), given)
    return {port.name: np.asarray(x) for port, x in zip(p.outputs, found, strict=True)}


@pytest.mark.parametrize("seed", cases(range(4), daily=2))
def test_inverse_dynamics_undoes_forward_dynamics(seed: int) -> None:
    """Forces that some accelerations need bring about these accelerations."""
    sample = random_sample(9100 + seed, 4)
    m = mechanism_of(sample)
    p = inverse_program(m)
    rng = np.random.default_rng(seed)
    rates = {x.name: float(rng.uniform(-1, 1)) for x in p.port("a").entries}
    known = {**m.values, **sample.coordinates, **sample.speeds, **rates}
    tau = values_of(p, known)["tau"]
    e = derive(m, "kane")
    rows = [list(row) for row in e.mass]
    roots = [*(x for row in rows for x in row), *e.right]
    wanted = {"M": rows, "f": list(e.right)}
    found = solved(e, sample.coordinates, sample.speeds, results=wanted, roots=roots)
    back = np.asarray(np.linalg.solve(found["M"], found["f"] + tau), dtype=np.float64)
    assert difference(back, np.array(list(rates.values()))) < 1e-9


def test_torques_are_linear_in_the_inertial_parameters() -> None:
    """Regressor times masses, first and second moments is the inverse dynamics.

    The regressor is the exact derivative by parameters; it is the same at other parameters.
    """
    m = Mechanism("arm")
    parent = None
    for k in range(3):
        mass, h = f"m{k}", [f"h{c}{k}" for c in "xyz"]
        own = [f"J{c}{k} - ({h[i]}**2 + {h[j]}**2)/{mass}" for c, i, j in _MOMENTS]
        own += [f"J{c}{k} + {h[i]}*{h[j]}/{mass}" for c, i, j in _PRODUCTS]
        parent = m.body(
            f"b{k}",
            parent=parent,
            at=(0.3, 0.2, 0.1),
            rotate="zxy"[k],
            mass=mass,
            com=[f"{x}/{mass}" for x in h],
            inertia=own,
        )
    m.gravity(along=(1, 2, 3))
    p = inverse_program(m)
    both = derivative(p, "tau", "p", values=True)
    rng = np.random.default_rng(8)
    moving = {x.name: float(rng.uniform(-1, 1)) for name in "qua" for x in p.port(name).entries}
    matrices = []
    for _ in range(2):
        numbers = {name: float(rng.uniform(0.5, 1.5)) for name in m.parameters}
        found = values_of(both, {**moving, **numbers})
        theta = np.array([numbers[x.name] for x in p.port("p").entries])
        assert difference(found["d_tau_d_p"] @ theta, found["tau"]) < 1e-12
        matrices.append(found["d_tau_d_p"])
    assert difference(*matrices) < 1e-12


_MOMENTS = (("xx", 1, 2), ("yy", 2, 0), ("zz", 0, 1))
_PRODUCTS = (("xy", 0, 1), ("yz", 1, 2), ("zx", 2, 0))
