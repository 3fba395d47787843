"""How mechanisms are described, and what comes of the thesis' models: what shows on the whole.

Most of AUTOSIM's language has its tests beside the code that has it. `docs/acceptance.md` maps each
check of the list to its test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import pytest

from linkwright.algebra import Expr, evaluate, foreign, postorder, substitute
from linkwright.algebra.calculus import gradient
from linkwright.base.errors import Error
from linkwright.codegen.c import c_program
from linkwright.codegen.content import make_content
from linkwright.equations import add_energy_outputs, derive
from linkwright.equations.description import describe
from linkwright.mechanism import Mechanism, MechanismError
from linkwright.models import load_model
from linkwright.program import Assign, count_operations, lower
from linkwright.program.passes import optimize
from linkwright.program.rates import Rate
from linkwright.program.search import thorough
from linkwright.simulation import simulate
from tests.oracles.mechanism import evaluate_numerically
from tests.random.mechanisms import difference, solved
from tests.support.model_states import equations


def names_of(m: Mechanism) -> tuple[list[str], list[str]]:
    """Return the names of coordinates and of speeds, in order."""
    kinematics = m.kinematics()
    return [q.name for q in kinematics.rates], [s.symbol.name for s in kinematics.speeds]


def accelerations(m: Mechanism, coordinates: Mapping[str, float] | None = None) -> list[float]:
    """Return u' at rest."""
    e = derive(m, "kane")
    q = {x.name: 0.0 for x in e.coordinates} | dict(coordinates or {})
    return [float(x) for x in solved(e, q, {u.name: 0.0 for u in e.speeds})["u_dot"]]


# -- describing ------------------------------------------------------------------------------------
def test_a_new_mechanism_has_a_ground_and_its_origin() -> None:
    m = Mechanism("m")
    assert (m.ground.name, m.origin.name) == ("n", "o")
    assert m.origin.body is m.ground
    assert not any((m.bodies, m.points, m.forces, m.moments, m.constraints, m.parameters))
    assert m.gravity_vector.is_zero


def test_a_body_has_defaults_for_everything_but_its_name() -> None:
    m = Mechanism("m")
    b = m.body("b")
    assert b.parent is m.ground
    assert b.coordinates == ()
    assert b.offset.is_zero
    assert str(b.inertia.mass) == "b_m"
    assert [str(x) for x in b.inertia.center] == ["0", "0", "0"]
    assert [str(x) for x in b.inertia.tensor] == [f"b_I{k}" for k in ("xx", "yy", "zz")] + [
        f"b_I{k}" for k in ("xy", "yz", "zx")
    ]
    assert m.units["b_m"] == "kg"


def test_one_axis_may_stand_by_itself() -> None:
    """Letters, numbers and components mean the same; so does one truth for what is small."""
    made = []
    for translate, rotate, small in (("x", "z", True), (1, 3, [True, True]), (["x"], ["z"], True)):
        m = Mechanism("m")
        b = m.body("b", translate=translate, rotate=rotate, small=small, mass=1)
        assert [q.data.small for q in b.coordinates] == [1, 1]
        made.append((str(b.omega), str(b.origin.position), names_of(m)))
    assert made[0] == made[1] == made[2]


def test_two_rotations_are_refused_with_advice() -> None:
    with pytest.raises(MechanismError, match="0, 1 or 3 rotations, not 2; use Universal"):
        Mechanism("m").body("b", rotate="xy")


@pytest.mark.parametrize(
    ("given", "tensor"),
    [
        (0, (0, 0, 0, 0, 0, 0)),
        ((1, 2, 3), (1, 2, 3, 0, 0, 0)),
        ((1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6)),
        ([[1, 4, 6], [4, 2, 5], [6, 5, 3]], (1, 2, 3, 4, 5, 6)),
    ],
)
def test_inertia_comes_as_matrix_moments_entries_or_nothing(
    given: object, tensor: tuple[int, ...]
) -> None:
    b = Mechanism("m").body("b", inertia=given)
    assert tuple(float(x) for x in b.inertia.tensor) == tensor


def test_all_places_of_the_four_bar_convert_from_global_coordinates() -> None:
    m = load_model("four-bar")
    a, b, c = (m.bodies[k] for k in "abc")
    assert a.offset.is_zero
    assert str(b.offset) == "L1*a.x"
    assert {str(x) for x in c.offset.components(m.ground.frame)} == {"L5", "L4", "0"}
    assert [str(x) for x in b.inertia.center] == ["0", "L3", "0"]
    places = {name: str(point.local) for name, point in m.points.items()}
    assert places == {
        "bp": "L4*b.y",
        "cp": "(L1 - L5)*c.x",
        "s1": "L2*b.y",
        "s2": "L6*n.x + L7*n.y",
    }
    assert str(b.com.local) == "L3*b.y"
    assert all(x.origin.local.is_zero for x in (a, b, c))


def test_a_shared_axis_has_a_name_in_each_body() -> None:
    m = Mechanism("m")
    a = m.body("a", rotate="z")
    m.body("b", parent=a, rotate="z")
    assert m.vector("[b3]") == m.vector("[a3]") == m.vector("b.z") == m.z
    assert m.vector("[b1]") != m.vector("[a1]")


TEXTS: list[tuple[str, str | float]] = [
    ("2*K + 3**2 - -1/2", "9.5 + 2*K"),
    ("sin(0) + cos(0) + atan(0) + atan2(0, 1)", 1),
    ("nominal(cos(a) + b)", 1),
    ("diff(K*a**2, a)", "2*K*a"),
    ("dxdt(K*a)", "K*a_dot"),
    ("dot([a1], [a1]) + dot([n3], [a3])", 2),
    ("dot(cross([n1], [n2]), [n3])", 1),
    ("dot(dir(3*[n1]), [n1])", 1),
    ("mag(3*[n1] + 4*[n2])", 5),
    ("dot(dplane([n1] + [n3], [n3]), [n3])", 0),
    ("angle([n1], [a1], [n3])", "atan2(sin(a), cos(a))"),
    ("dot(pos(tip), [a1])", "L"),
    ("dot(pos(tip, a0), [a1])", "L"),
    ("dot(vel(tip), [a2])", "L*a_dot"),
    ("dot(vel(tip, a0), [a2])", "L*a_dot"),
    ("dot(pos(tip, b0), [n1])", "L*cos(a) - b"),
    ("dot(vel(tip, b0), [n1])", "-L*a_dot*sin(a) - b_dot"),
    ("dot(rot(a), [n3])", "a_dot"),
    ("fm(motor)", "T"),
    ("#reach + t", "L**2 + t"),
    ("a + a_dot + b + b_dot", "a + a_dot + b + b_dot"),
]


@pytest.mark.parametrize(("text", "meaning"), TEXTS)
def test_texts_know_every_function_of_the_thesis(text: str, meaning: str | float) -> None:
    m = Mechanism("m")
    a = m.body("a", rotate="z")
    m.body("b", translate="x")
    m.point("tip", a, ("L", 0, 0))
    m.moment("motor", "T", on=a, about="z")
    m.variables["reach"] = m.expr("L**2")
    found = m.expr(text)
    assert found is m.expr(meaning)


def test_texts_may_call_foreign_functions() -> None:
    m = Mechanism("m")
    tire = foreign("tire", 2, python=math.hypot)
    m.function("tire", tire)
    found = m.expr("func(tire, a, 2)")
    assert found is m.expr("tire(a, 2)")
    assert evaluate(found, {m.parameters["a"]: 1.5}) == 2.5


def test_unknown_names_become_parameters_and_given_ones_do_not() -> None:
    """Inputs, that foreign code sets, are not parameters; names differ by case, as in Python."""
    m = Mechanism("m")
    b = m.body("b", translate="x", mass=1)
    m.input("w")
    m.force("f", "w*K - k*b", at=b.origin, along="x")
    assert set(m.parameters) >= {"K", "k"}
    assert "w" not in m.parameters
    e = derive(m, "kane")
    assert [p.name for p in e.parameters()] == ["K", "k"]


def test_gravity_is_off_unless_it_is_switched_on() -> None:
    def fall(along: object | None) -> list[float]:
        m = Mechanism("m")
        m.body("b", translate="xyz", mass=2, inertia=0)
        if along is not None:
            m.gravity(along=along, g=4)
        return accelerations(m)

    assert fall(None) == [0, 0, 0]
    assert fall("y") == [0, 4, 0]
    assert fall((0, 0.6, -0.8)) == pytest.approx([0, 2.4, -3.2])


def two_sliders() -> Mechanism:
    m = Mechanism("m")
    m.body("a", translate="x", mass=2)
    m.body("b", translate="x", mass=4)
    return m


LOADS: list[tuple[str, Callable[[Mechanism], object], list[float]]] = [
    (
        "force between bodies",
        lambda m: m.force(
            "f", 8, at=m.bodies["a"].origin, along="x", reaction=m.bodies["b"].origin
        ),
        [4, -2],
    ),
    ("force on one", lambda m: m.force("f", 8, at=m.bodies["a"].origin, along="x"), [4, 0]),
    (
        "strut between bodies",
        lambda m: m.strut("s", 8, at=m.bodies["b"].origin, to=m.bodies["a"].origin),
        [-4, 2],
    ),
    ("strut to the ground", lambda m: m.strut("s", 8, at=m.bodies["b"].origin), [0, 2]),
]


@pytest.mark.parametrize(("name", "load", "wanted"), LOADS)
def test_loads_push_two_bodies_apart_or_one_from_the_ground(
    name: str, load: Callable[[Mechanism], object], wanted: list[float]
) -> None:
    m = two_sliders()
    load(m)
    assert accelerations(m, {"b": 1.0}) == pytest.approx(wanted), name


@pytest.mark.parametrize(("both", "wanted"), [(True, [4, -2]), (False, [4, 0])])
def test_couples_turn_two_bodies_apart_or_one_on_the_ground(
    both: bool, wanted: list[float]
) -> None:
    m = Mechanism("m")
    a = m.body("a", rotate="z", mass=0, inertia=(0, 0, 2))
    b = m.body("b", rotate="z", mass=0, inertia=(0, 0, 4))
    m.moment("t", 8, on=a, about="z", reaction=b if both else None)
    assert accelerations(m) == pytest.approx(wanted)


def test_length_and_rate_of_the_strut_of_the_four_bar() -> None:
    """Its length at zero is a constant that is computed once."""
    m = load_model("four-bar")
    (strut,) = m.forces
    assert strut.formula.replace(" ", "") == "-K*(x-x0)-D*v"
    length = m.expr("sqrt((L1 - L6)**2 + (L2 - L7)**2)")
    values = {x: m.values[name] for name, x in m.parameters.items()}
    rest = dict.fromkeys(m.coordinates.values(), 0.0)
    still = {s.symbol: 0.0 for s in m.kinematics().speeds}
    stretched = substitute(strut.magnitude, {m.parameters["D"]: 0.0})
    assert evaluate(stretched, {**values, **rest}) == pytest.approx(0, abs=1e-9)
    away = {**rest, m.coordinates["a"]: 0.2}
    place = m.vector("pos(s1, s2)").components(m.ground.frame)
    now = math.hypot(*(float(evaluate(x, {**values, **away, **still})) for x in place))
    wanted = -values[m.parameters["K"]] * (now - evaluate(length, values))
    assert evaluate(stretched, {**values, **away}) == pytest.approx(wanted, rel=1e-12)
    p = equations("four-bar").program()
    roots = [i for i in lower(p).instructions if i.op == "sqrt"]
    assert sorted(i.rate > Rate.PARAMETER for i in roots) == [False, True]


def test_a_law_may_be_a_function_with_names_of_its_own() -> None:
    """Where `x`, `x0` or `v` are parameters already, a function takes the three instead."""
    m = Mechanism("m")
    b = m.body("b", translate="xy", mass=1)
    tip = m.point("tip", b, (1, 2, 0))
    told = m.strut("told", "-K*(x - x0) - D*v", at=tip)
    k, d = m.parameters["K"], m.parameters["D"]
    made = m.strut("made", lambda gap, free, rate: -k * (gap - free) - d * rate, at=tip)
    assert made.magnitude is told.magnitude
    m = Mechanism("m")
    b = m.body("b", translate="x", mass=1)
    assert str(m.force("f", lambda gap: -3 * gap, at=b.origin, along="x").magnitude) == "-3*b"
    m.body("c", translate="x", mass=1)


def test_a_force_is_a_value_without_a_symbol_of_its_own() -> None:
    """No name stands for a magnitude that is used once; `fm` gives it to outputs, sign and all."""
    m = Mechanism("m")
    b = m.body("b", translate="x", mass="M")
    m.force("spring", "-K*b", at=b.origin, along="x")
    m.output("spring", "fm(spring)", unit="N")
    e = derive(m, "kane")
    (constant,) = optimize(e.program(outputs=False)).statements
    assert isinstance(constant, Assign)
    assert str(constant.value) == "K/M"
    m.defaults(K=3, M=1)
    assert solved(e, {"b": 2.0}, {"b_dot": 0.0})["y"] == pytest.approx([-6])


def test_misspelled_names_are_reported() -> None:
    m = load_model("car")
    with pytest.raises(Error, match="no parameter 'NRBI3'; did you mean 'NRBI33'"):
        m.defaults(NRBI3=1285)
    with pytest.raises(Error, match="no parameter 'izznr'"):
        m.set_parameters(izznr=1285)
    with pytest.raises(Error, match="'rol'; did you mean 'roll'"):
        simulate(equations("car"), 1, initial={"rol": 0.1})
    with pytest.raises(Error, match="no parameter or input 'STEERR'; did you mean 'STEER'"):
        simulate(equations("car"), 1, parameters={"STEERR": 0.1})


def test_everything_can_be_looked_at_before_and_after_constraints() -> None:
    """Bodies, points, speeds, forces and constraints as they are entered, then the equations."""
    m = Mechanism("m")
    b = m.body("b", translate="xy", rotate="z", mass="M", com=("C", 0, 0))
    tip = m.point("tip", b, ("L", 0, 0))
    assert str(tip.position) == "b.x*n.x + b.y*n.y + L*b.x"
    assert repr(b) == "Body('b' on 'n': b.x, b.y, b.rz)"
    assert str(b.omega) == "b.rz_dot*n.z"
    assert str(tip.velocity) == "b.u*b.x + (b.v - b.rz_dot*(C - L))*b.y"
    push = m.force("push", "F", at=tip, along=b.y)
    assert (str(push.magnitude), str(push.direction)) == ("F", "b.y")
    wheel = m.constrain("dot(vel(b0), [b2])", name="no slip")
    assert str(wheel.speed) == "b.v - C*b.rz_dot"
    e = derive(m, "kane")
    (found,) = e.eliminations
    assert (found.constraint.name, str(found.speed)) == ("no slip", "b.rz_dot")
    sections = {s.title: s.rows for s in describe(e)}
    assert list(sections)[:4] == ["bodies", "points", "coordinates", "speeds"]
    assert any("eliminated by no slip" in cell for row in sections["speeds"] for cell in row)
    assert str(tip.velocity) == "b.u*b.x + (b.v - b.rz_dot*(C - L))*b.y"


# -- numbering -------------------------------------------------------------------------------------
BASE = ["x", "y", "z", "rx", "ry", "rz"]
NUMBERED = {
    "car": (["X", "Y", "yaw", "roll"], ["nrb.v", "yaw_dot", "roll_dot"]),
    "cart": (["X", "Y", "yaw", "steer", "lfw", "rfw", "lrw", "rrw"], ["b.u", "b.v"]),
    "four-bar": (["a", "b", "c"], ["a_dot"]),
    "spacecraft-1": (
        [*(f"b.{k}" for k in BASE), *"cdef"],
        [*(f"b.{k}" for k in "uvwpqr"), *(f"{k}_dot" for k in "cdef")],
    ),
    "spacecraft-2": (
        [*(f"w.{k}" for k in ("x", "y", "z", "rz", "ry", "rx")), "a1", "a2", "a3", "a4"],
        [*(f"w.{k}" for k in "uvwrqp"), *(f"a{k}_dot" for k in (1, 2, 3, 4))],
    ),
    "stanford-arm": (list("abcdef"), [f"{k}_dot" for k in "abcdef"]),
}


@pytest.mark.parametrize("name", NUMBERED)
def test_states_are_numbered_depth_first(name: str) -> None:
    """Translations before rotations, children as entered, eliminated speeds left out."""
    e = equations(name, "composite-usual")
    found = [x.name for x in e.coordinates], [u.name for u in e.speeds]
    assert found == NUMBERED[name]


# -- motions ---------------------------------------------------------------------------------------
def test_small_angles_of_the_car_cost_less_than_two_parts_in_a_thousand() -> None:
    """Yaw rate, lateral acceleration and roll after a step of the steering wheel."""
    runs = [
        simulate(equations(name), 2, step=0.025, method="midpoint") for name in ("car", "car-small")
    ]
    for t in (0.5, 1.0, 2.0):
        full, small = (run.at(t) for run in runs)
        assert small["r"] == pytest.approx(full["r"], rel=2e-3)
        assert small["Ay"] == pytest.approx(full["Ay"], rel=2e-3)
        assert small["roll"] == pytest.approx(full["roll"], rel=2e-3)


def test_energy_of_the_arm_that_swings_freely_is_kept() -> None:
    m = load_model("stanford-arm")
    m.outputs.clear()
    add_energy_outputs(m)
    start = {"b": 1.0, "c": 0.3, "e": 0.5, "a_dot": 1.0}
    run = simulate(derive(m, "kane"), 1, step=0.1, initial=start)
    assert np.ptp(run["kinetic_energy"]) > 1
    assert np.ptp(run["energy"]) < 1e-7


def test_energy_and_momentum_of_spacecraft_2_without_damping_are_kept() -> None:
    m = load_model("spacecraft-2")
    m.outputs.clear()
    add_energy_outputs(m)
    start = {"w.r": 0.3, "w.q": 0.2, "a1": 0.4, "a2_dot": 0.5}
    run = simulate(derive(m, "kane"), 20, step=1, parameters={"D": 0.0}, initial=start)
    springs = sum(0.5 * m.values["K"] * run[f"a{k}"] ** 2 for k in (1, 2, 3, 4))
    energy = run["energy"] + springs
    assert np.ptp(run["a1"]) > 0.1
    assert np.ptp(energy) < 1e-8 * energy[0]
    for axis in "xyz":
        assert np.ptp(run[f"momentum_{axis}"]) < 1e-8
        assert np.ptp(run[f"angular_momentum_{axis}"]) < 1e-8


def test_momentum_of_spacecraft_1_without_thrusters_is_kept() -> None:
    """Clock and camera are driven against the bus."""
    m = load_model("spacecraft-1:external=off")
    m.outputs.clear()
    add_energy_outputs(m)
    commands = {"CLKCMD": 3.9, "CAMCMD": -0.45}
    run = simulate(derive(m, "kane"), 1, step=0.1, inputs=commands, initial={"b.u": 0.1})
    assert np.ptp(run["b.rx"]) > 1e-4
    for axis in "xyz":
        assert np.ptp(run[f"momentum_{axis}"]) < 1e-7
        assert np.ptp(run[f"angular_momentum_{axis}"]) < 1e-7


# -- sizes -----------------------------------------------------------------------------------------
def test_small_car_takes_fewer_operations_than_without_intermediate_symbols() -> None:
    """The thesis' best are 15 adds and 19 multiplies and calls; 14 and 18 are the least known."""
    p = thorough(derive(load_model("car-small")).program(outputs=False), moves=1000)
    found = count_operations(p)
    assert found.add <= 15
    assert found.mul + found.call <= 19


def rocket_car() -> Mechanism:
    """Return the cart steered about the middle of its front axle, which is the root."""
    m = Mechanism("rocket")
    m.positive("R", "L1")
    f = m.body("f", translate="xy", rotate="z", mass="FM", inertia=(0, 0, "FI33"))
    b = m.body(
        "b", parent=f, rotate="z", mass="BM", com=("CMB1 - L1", 0, 0), inertia=(0, 0, "BI33")
    )
    places = {"rrw": (b, "-L1", "T"), "lrw": (b, "-L1", "-T"), "rfw": (f, 0, "T")}
    places["lfw"] = (f, 0, "-T")
    for name, (parent, x, y) in places.items():
        inertia = ("IT", "IA", "IT")
        m.body(name, parent=parent, at=(x, y, 0), rotate="y", mass="MW", inertia=inertia)
    m.force("push", "F", at=m.point("rear", b, ("-L1", 0, 0)), along=b.x)
    for name in places:
        m.rolling_contact(m.bodies[name], "R", lateral=False)
    for name, (parent, _, _) in places.items():
        m.constrain(f"dot(vel({name}0), [{parent.name}2])", name=f"{name} does not slip")
    return m


def test_cart_without_offset_keeps_the_yaw_rate_of_its_front_axle() -> None:
    """That it has no acceleration is found by itself; by hand it takes 34 multiplications."""
    e = derive(rocket_car())
    assert [u.name for u in e.speeds] == ["f.u", "f.rz_dot"]
    p = optimize(e.program(outputs=False))
    assert count_operations(p).mul <= 34
    assert str(p.port("u_dot").entries[1]) == "0"


def test_four_bar_with_its_correction_takes_no_more_than_the_thesis() -> None:
    """Derivative and a full Newton step of both computed coordinates, by Cramer's rule.

    The thesis takes 81 adds, 141 multiplies and 6 calls; 60, 102 and 6 are what fast mode leaves.
    """
    e = equations("four-bar")
    m = e.mechanism
    (first, second), computed = m.constraints, [m.coordinates["b"], m.coordinates["c"]]
    assert first.position is not None
    assert second.position is not None
    g, h = first.position, second.position
    (g1, g2), (h1, h2) = gradient(g, computed), gradient(h, computed)
    below = g1 * h2 - g2 * h1
    step = [(h * g2 - g * h2) / below, (g * h1 - h * g1) / below]
    results = {"q_dot": list(e.rates), "u_dot": list(e.accelerations), "step": step}
    found = count_operations(
        optimize(e.assemble("all", results, {}, [x for r in results.values() for x in r]))
    )
    assert found.add <= 60
    assert found.mul <= 102
    assert found.call <= 6


@cache
def written_out(name: str) -> tuple[Expr, ...]:
    """Return q' and u' of a model without any intermediate result."""
    e = equations(name)
    known: dict[Expr, Expr] = {}
    for s in e.assignments:
        known[s.target] = substitute(s.value, known)
    return tuple(substitute(x, known) for x in (*e.rates, *e.accelerations))


def size_as_tree(roots: tuple[Expr, ...]) -> int:
    """Return adds and multiplies where nothing is shared; what is constant is free."""
    sizes: dict[Expr, int] = {}
    for node in postorder(list(roots)):
        if node.is_constant or node.is_atom:
            sizes[node] = 0
            continue
        own = len(node.args) - 1 if node.op in ("sum", "prod") else 0
        if node.op == "sum" and node.data[0]:
            own += 1
        if node.op == "prod":
            own += sum(abs(e) > 1 for e in node.data)
        sizes[node] = own + sum(sizes[x] for x in node.args)
    return sum(sizes[x] for x in roots)


def size_expanded(roots: tuple[Expr, ...]) -> int:
    """Return the multiplies where all sums of numerators are multiplied out, at the least."""
    terms: dict[Expr, int] = {}
    factors: dict[Expr, int] = {}
    for node in postorder(list(roots)):
        n, f = 1, 1
        if not node.is_constant and node.op == "sum":
            n = sum(terms[x] for x in node.args)
            f = sum(factors[x] for x in node.args)
        elif not node.is_constant and node.op == "scale":
            n, f = terms[node.args[0]], factors[node.args[0]]
        elif not node.is_constant and node.op == "prod":
            f = 0
            for x, e in zip(node.args, node.data, strict=True):
                for _ in range(e if e > 0 else 1):
                    m, g = (terms[x], factors[x]) if e > 0 else (1, 1)
                    n, f = n * m, f * m + g * n
        terms[node], factors[node] = n, f
    return sum(factors[x] - terms[x] for x in roots)


def test_each_way_to_save_operations_saves() -> None:
    """The car: optimized, as derived, without intermediate results, with sums multiplied out."""
    e = equations("car")
    derived = e.program(outputs=False)
    sizes = [count_operations(optimize(derived)).total, count_operations(derived).total]
    sizes += [size_as_tree(written_out("car")), size_expanded(written_out("car"))]
    assert sizes[0] < sizes[1]
    assert sizes[2] > 3 * sizes[1]
    assert sizes[3] > 3 * sizes[2]


def test_models_of_more_than_seven_thousand_operations_are_derived() -> None:
    """A chain in space of all kinds of inertia, against Newton and Euler body by body."""
    m = Mechanism("chain")
    parent = None
    rng = np.random.default_rng(1)
    for k in range(17):
        numbers = rng.uniform(0.5, 1.5, 4)
        inertia = (2.0, 2.5, 3.0, 0.1, 0.2, 0.3)
        parent = m.body(
            f"b{k}",
            parent=parent,
            at=numbers[:3].tolist(),
            rotate="xyz"[k % 3],
            mass=float(numbers[3]),
            com=(0.2, 0.3, 0.4),
            inertia=inertia,
        )
    m.gravity()
    e = derive(m, "composite-plain")
    assert count_operations(e.program(outputs=False)).total >= 7000
    q = {x.name: float(rng.uniform(-1, 1)) for x in e.coordinates}
    u = {x.name: float(rng.uniform(-1, 1)) for x in e.speeds}
    wanted = evaluate_numerically(m, q, u).accelerations
    found = solved(e, q, u)["u_dot"]
    assert difference(found, np.array([wanted[x.name] for x in e.speeds])) < 1e-9


# -- written programs ------------------------------------------------------------------------------
def test_parameters_without_a_value_are_one_in_written_programs() -> None:
    """Units that cannot be known are shown as a question mark."""
    m = Mechanism("m")
    b = m.body("b", translate="x", mass="M")
    m.force("f", "G*H*b", at=b.origin, along="x")
    m.set_timing(1, step=0.1)
    items = {i.name: i for i in make_content(m).parameters}
    assert {n: (i.shown, i.unit) for n, i in items.items()} == {
        "G": (1.0, "?"),
        "H": (1.0, "?"),
        "M": (1.0, "kg"),
    }
    assert all(i.doc for i in items.values())


def test_lines_of_written_programs_are_short() -> None:
    """A line of C may be 4095 characters long; here none needs more than a screen or two."""
    lines = c_program(make_content(load_model("cart")), "cart").splitlines()
    assert max(map(len, lines)) <= 300
