"""Choices for bodies change the operations, never the motion; counts stay at or below the stated.

Oracle of the motion: Kane's equations, which know nothing of the choices (and are compared with
Pinocchio and MuJoCo in `test_dynamics_properties`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwright.equations import Equations, derive
from linkwright.equations.choices import (
    DEFAULT,
    NO_SHIFT,
    SHIFT_ALL,
    SHIFT_TURNING,
    Choices,
    options,
    places,
)
from linkwright.equations.kernels import (
    inverse_dynamics_program,
    mass_matrix_program,
)
from linkwright.equations.search import Search
from linkwright.equations.shipped import shipped_program
from linkwright.mechanism import Kinematics, Mechanism, MechanismError, Prismatic, Revolute
from linkwright.models import load_model
from linkwright.program import Program, count_operations, lower
from linkwright.program.interpret import interpret
from linkwright.program.passes import optimize
from linkwright.program.search import thorough
from tests.random.mechanisms import mechanism_of, random_sample, solved
from tests.seeds import cases, seeds
from tests.support.model_states import equations, optimized
from tests.support.native_ir import fresh_cache

TURNING = ("revolute", "minus", "referred", "prismatic", "revolute", "weld", "planar", "free")


def random_choices(kinematics: Kinematics, rng: np.random.Generator) -> Choices:
    """Return choices that differ from the usual ones in about half of all settings."""
    at = places(kinematics)
    made = {}
    for body in kinematics.mechanism.bodies.values():
        offer = options(kinematics, body, at[body])
        picked = {k: v[rng.integers(len(v))] for k, v in offer.items() if rng.random() < 0.6}
        made[body.name] = replace(DEFAULT, **picked)  # type: ignore[arg-type]
    shift = (NO_SHIFT, SHIFT_TURNING, SHIFT_ALL)[rng.integers(3)]
    return Choices(made, shift)


@pytest.mark.parametrize("seed", seeds(2, daily=1))
def test_no_choice_changes_the_motion_of_a_tree(seed: int) -> None:
    kinds = TURNING if seed % 2 else ("revolute", "prismatic", "screw", "ball", "free quaternion")
    sample = random_sample(seed, 5, kinds)
    m = mechanism_of(sample)
    expected = solved(derive(m, "kane"), sample.coordinates, sample.speeds)["u_dot"]
    rng = np.random.default_rng(seed)
    for _ in range(3):
        choices = random_choices(m.kinematics(), rng)
        found = solved(derive(m, choices=choices), sample.coordinates, sample.speeds)["u_dot"]
        assert found == pytest.approx(expected, rel=1e-8, abs=1e-8), choices.told()


@pytest.mark.parametrize("seed", seeds(2, daily=1))
def test_inverse_dynamics_and_mass_matrix_of_a_tree(seed: int) -> None:
    """The one recursion gives M a - f, with M and f of Kane's equations."""
    sample = random_sample(40 + seed, 4, TURNING)
    m = mechanism_of(sample)
    oracle = derive(m, "kane")
    choices = random_choices(m.kinematics(), np.random.default_rng(40 + seed))
    check_kernels(oracle, {**sample.coordinates, **sample.speeds}, choices)


@pytest.mark.parametrize("name", cases(["cart", "four-bar", "whipple", "puma560"], daily=["cart"]))
def test_inverse_dynamics_and_mass_matrix_of_models(name: str) -> None:
    """Also where speeds are eliminated, and with geared rotors; inputs count as zero."""
    oracle = equations(name, "kane")
    m = oracle.mechanism
    rng = np.random.default_rng(7)
    names = [*m.coordinates, *(s.symbol.name for s in m.kinematics().speeds)]
    state = {n: float(rng.uniform(0.2, 0.5)) for n in names}
    check_kernels(oracle, state, None)


def check_kernels(oracle: Equations, state: dict[str, float], choices: Choices | None) -> None:
    m, n = oracle.mechanism, len(oracle.speeds)
    roots = [*(x for row in oracle.mass for x in row), *oracle.right]
    program = oracle.assemble(
        "oracle", {"M": [list(r) for r in oracle.mass], "f": list(oracle.right)}, {}, roots
    )
    idle = dict.fromkeys(m.inputs, 0.0)
    given = {**m.values, **idle, **state, "t": 0.0}
    mass, right = run(program, given)
    rates = np.random.default_rng(3).normal(size=n)
    given |= {
        oracle.kinematics.accelerations[u].name: float(a)
        for u, a in zip(oracle.speeds, rates, strict=True)
    }
    (tau,) = run(inverse_dynamics_program(oracle, choices), given)
    expected = mass.reshape(n, n) @ rates - right
    assert tau == pytest.approx(expected, rel=1e-8, abs=1e-8 * np.abs(expected).max())
    (found,) = run(mass_matrix_program(oracle, choices), given)
    assert found.ravel() == pytest.approx(mass.ravel(), rel=1e-8, abs=1e-9)


def run(program: Program, given: dict[str, float]) -> list[np.ndarray]:
    inputs = [np.array([given[x.name] for x in port.entries]) for port in program.inputs]
    return [np.asarray(x) for x in interpret(lower(program), inputs)]


@pytest.mark.parametrize("seed", seeds(2, daily=1))
def test_articulated_bodies_move_like_the_others(seed: int) -> None:
    """Accelerations without a mass matrix are those of Kane's equations, on branched trees too."""
    kinds = ("revolute", "inclined", "prismatic", "cylindrical", "ball", "free", "screw", "weld")
    sample = random_sample(60 + seed, 6, kinds)
    m = mechanism_of(sample)
    expected = solved(derive(m, "kane"), sample.coordinates, sample.speeds)["u_dot"]
    found = solved(derive(m, "articulated"), sample.coordinates, sample.speeds)["u_dot"]
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_articulated_bodies_take_geared_rotors_and_refuse_constraints() -> None:
    m = load_model("puma560")
    state = {x: 0.3 + 0.1 * k for k, x in enumerate(m.coordinates)}
    speeds = {s.symbol.name: 0.2 * k - 0.5 for k, s in enumerate(m.kinematics().speeds)}
    state |= dict.fromkeys(m.inputs, 1.0)
    expected = solved(equations(m.name, "kane"), state, speeds)["u_dot"]
    assert solved(derive(m, "articulated"), state, speeds)["u_dot"] == pytest.approx(expected)
    with pytest.raises(MechanismError, match="has constraints"):
        derive(load_model("cart"), "articulated")


def test_long_chains_grow_in_proportion() -> None:
    """Articulated bodies cost the same for every further link, the mass matrix ever more."""
    found = derive(chain(14))
    assert found.formulation == "articulated"
    short, middle, long = (
        count_operations(e.program()).total
        for e in (*(derive(chain(n), "articulated") for n in (6, 10)), found)
    )
    assert long - middle == pytest.approx(middle - short, rel=0.05)
    assert derive(chain(3)).formulation != "articulated"


def chain(n: int) -> Mechanism:
    m = Mechanism("chain")
    body = m.ground
    for k in range(n):
        body = m.body(
            f"b{k}",
            parent=body,
            rotate="xz"[k % 2],
            at=(0, 0, "-L") if k else (0, 0, 0),
            mass="m",
            com=(0, 0, "-c"),
            inertia=("J", "J", "K"),
        )
    m.gravity(along="-z", g="g")
    return m


@pytest.mark.parametrize(
    "name",
    cases(["cart", "four-bar", "spacecraft-1-small", "puma560"], daily=["four-bar", "puma560"]),
)
def test_no_choice_changes_the_motion_of_a_model(name: str) -> None:
    """The same with constraints, small motions (which agree to first order) and geared rotors."""
    m = load_model(name)
    small = {x.name for x in m.coordinates.values() if x.data.small}
    small |= {s.symbol.name for s in m.kinematics().speeds if s.symbol.data.small}
    state = {x: 0.2 + 0.05 * k for k, x in enumerate(m.coordinates)}
    speeds = {s.symbol.name: 0.3 - 0.1 * k for k, s in enumerate(m.kinematics().speeds)}
    state = {k: 1e-9 * v if k in small else v for k, v in state.items()}
    speeds = {k: 1e-9 * v if k in small else v for k, v in speeds.items()}
    state |= dict.fromkeys(m.inputs, 1.0)
    expected = solved(equations(m.name, "kane"), state, speeds)["u_dot"]
    rng = np.random.default_rng(2)
    for _ in range(4):
        choices = random_choices(m.kinematics(), rng)
        found = solved(derive(m, choices=choices), state, speeds)["u_dot"]
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-9), choices.told()


def test_what_was_chosen_is_told_and_can_be_pinned() -> None:
    """The wrist center of the arm becomes the reference point of both links whose axes meet it."""
    m = load_model("stanford-arm")
    made = derive(m, "composite")
    assert made.choices is not None
    assert {made.choices.bodies[b].place for b in "cd"} == {1}
    pinned = derive(m, choices=made.choices)
    assert count_operations(pinned.program(outputs=False)) == count_operations(
        made.program(outputs=False)
    )


def test_the_same_question_is_searched_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A second copy of a model gets the choices of the first, a changed one is searched anew."""
    fresh_cache(monkeypatch, tmp_path)
    asked: list[object] = []

    def best(self: Search) -> Choices:
        asked.append(self)
        return self._descent(Choices())

    monkeypatch.setattr(Search, "best", best)
    monkeypatch.setattr("linkwright.equations.search._found", {})
    first, second = (derive(load_model("double-pendulum"), "composite") for _ in range(2))
    assert len(asked) == 1
    assert second.choices == first.choices
    assert second.accelerations == first.accelerations
    derive(load_model("double-pendulum"), "articulated")
    assert len(asked) == 2
    other = load_model("double-pendulum")
    other.gravity(along=(1, 2, 3), g="g")
    derive(other, "composite")
    assert len(asked) == 3
    inverse_dynamics_program(second)
    inverse_dynamics_program(first)
    assert len(asked) == 4


# -- counts ----------------------------------------------------------------------------------------
def test_a_cart_with_other_names_in_another_order_costs_the_same() -> None:
    """Nothing knows a model: only the structure matters."""
    expected = count_operations(optimized("cart"))
    assert count_operations(optimize(derive(other_cart()).program(outputs=False))) == expected


def test_the_search_knows_no_model_either() -> None:
    """The other cart gets as small as the one that ships with its program, in a short search."""
    source = equations("cart", "auto").program(outputs=False)
    shipped = shipped_program(source)
    assert shipped is not None
    found = count_operations(thorough(derive(other_cart()).program(outputs=False), moves=500))
    assert found.total <= count_operations(shipped).total
    assert found.call == count_operations(shipped).call


def other_cart() -> Mechanism:
    """Return the cart with front wheels first, other names, and constraints in another order."""
    m = Mechanism("trolley")
    m.positive("mass_b", "mass_w", "trail", "radius", "ahead")
    b = m.body(
        "chassis",
        translate="xy",
        rotate="z",
        mass="mass_b",
        com=("ahead", 0, 0),
        inertia=("Bx", "By", "Bz"),
    )
    f = m.body(
        "axle",
        parent=b,
        rotate="z",
        at=("base", 0, 0),
        mass="mass_f",
        com=("-trail+cf", 0, 0),
        inertia=("Fx", "Fy", "Fz"),
    )
    places = {
        "w4": (f, ("-trail", "half", 0)),
        "w3": (f, ("-trail", "-half", 0)),
        "w2": (b, (0, "half", 0)),
        "w1": (b, (0, "-half", 0)),
    }
    for name, (parent, at) in places.items():
        m.body(name, parent=parent, rotate="y", at=at, mass="mass_w", inertia=("T", "A", "T"))
    m.force("shove", "P", at=b.origin, along=b.x)
    order = ("w2", "w1", "w4", "w3")
    for name in order:
        m.rolling_contact(m.bodies[name], "radius", lateral=False)
    for name in order:
        m.constrain(m.bodies[name].origin.velocity @ places[name][0].y, name=f"{name} grips")
    return m


def random_arm(seed: int, n: int = 12) -> Mechanism:
    """Return an arm of revolute and prismatic joints, general inertias, all parameters symbols."""
    rng = np.random.default_rng(seed)
    m = Mechanism("arm")
    body = m.ground
    for k in range(n):
        at = tuple(f"a{k}{c}" if rng.random() < 0.6 else 0 for c in "xyz")
        com = tuple(f"c{k}{c}" if rng.random() < 0.8 else 0 for c in "xyz")
        axis = "xyz"[rng.integers(3)]
        joint = Prismatic(axis) if rng.random() < 0.2 else Revolute(axis)
        inertia = (f"I{k}x", f"I{k}y", f"I{k}z")
        body = m.body(
            f"b{k}", parent=body, joint=joint, at=at, com=com, mass=f"m{k}", inertia=inertia
        )
    m.gravity(along="-z", g="g")
    return m


@pytest.mark.parametrize("links", cases([5, 7, 12], daily=[5]))
def test_a_random_arm_is_never_worse_than_by_kane(links: int) -> None:
    m = random_arm(1, links)
    found, kane = (
        count_operations(optimize(derive(m, way).program(outputs=False)))
        for way in ("auto", "kane")
    )
    assert found.total + found.call <= kane.total + kane.call
