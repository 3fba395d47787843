"""A model that is changed after it was used: the result is that of a model built so at once."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.formats.origins import origin_of
from linkwright.mechanism.provenance import named
from linkwright.mechanism.shapes import Sphere
from linkwright.mechanism.structure import structure_of
from linkwright.scene.scene import scene_of
from linkwright.simulation.native.session import Session
from linkwright.studio.live import Live
from linkwright.studio.live_system import plant_of
from tests.seeds import cases, seeds


def build() -> lw.Mechanism:
    """A cart with two rods, a spring and a push."""
    m = lw.Mechanism("swing")
    k = m.parameter("k", 5.0)
    cart = m.body("cart", translate="x", mass=m.parameter("M", 2.0))
    for name, mass in (("left", 1.0), ("right", 0.5)):
        m.body(name, parent=cart, rotate="z", mass=mass, com=(0.4, 0, 0), inertia=0.01)
    m.force("spring", -k * m.expr("cart"), at=cart, along="x")
    m.moment("wind", "0.3 - 0.1*left_dot", on=m.bodies["left"], about="z")
    m.gravity(along="-y")
    m.set_initial(left=0.3, right=-0.2, cart_dot="k/10")
    return m


Edit = Callable[[lw.Mechanism], Any]


def other_gravity(m: lw.Mechanism) -> None:
    """Another field."""
    m.gravity(along="x", g=3.0)


def more_force(m: lw.Mechanism) -> None:
    """A force more, under a name that is free."""
    m.force(f"push{len(m.forces)}", "2 - 0.3*cart_dot", at=m.bodies["cart"], along="x")


def other_force(m: lw.Mechanism) -> None:
    """Another force in place of one: as many as before."""
    m.forces[0] = replace(m.forces[0], magnitude=m.expr("-4*k*cart - 1"))


def other_moment(m: lw.Mechanism) -> None:
    """Another moment in place of one."""
    m.moments[0] = replace(m.moments[0], magnitude=m.expr("-0.7"))


def other_value(m: lw.Mechanism) -> None:
    """Other values, on which the start depends too."""
    m.set_parameters(k=11.0, M=1.2)


def other_start(m: lw.Mechanism) -> None:
    """Another start."""
    m.set_initial(left=-0.4)


def rotor(m: lw.Mechanism) -> None:
    """More inertia in a joint."""
    m.armature(m.bodies["left"], 0.2)


def relation(m: lw.Mechanism) -> None:
    """A relation between speeds."""
    m.constrain(f"right_dot - {0.5 + len(m.constraints)}*left_dot")


EDITS = {
    e.__name__: e
    for e in (
        other_gravity, more_force, other_force, other_moment, other_value, other_start, rotor,
        relation,
    )
}  # fmt: skip


IN_LISTS = ("other_force", "other_moment")
"""Changes that no method of the mechanism makes, so that a robot is not told of them."""


class Used:
    """A mechanism with what was made from it once and is used again after each change."""

    def __init__(self, m: lw.Mechanism | None = None) -> None:
        self.m = m or build()
        self.system = lw.System(self.m)
        self.system.add(lw.elements.JointSpring(self.m, "right", 2.0))
        self.robot = lw.Robot(self.m)


def numbers(run: Any) -> list[float]:
    """The last row of a run."""
    return [float(run.final[n]) for n in sorted(run.final)]


def simulated(u: Used, folder: Path) -> Any:
    """A run of the mechanism."""
    return numbers(lw.simulate(u.m, 0.2, method="rk4", step=0.01))


def system_run(u: Used, folder: Path) -> Any:
    """A run of the System."""
    return numbers(lw.simulate(u.system, 0.2, method="rk4", step=0.01, every=50))


def batch(u: Used, folder: Path) -> Any:
    """A batch of the mechanism, where values and start follow each other."""
    found = lw.simulate_batch(u.m, 0.2, method="rk4", step=0.01, parameters={"k": [3.0, 6.0]})
    return found.x.tolist()


def system_batch(u: Used, folder: Path) -> Any:
    """A batch of the System."""
    return lw.simulate_batch(u.system, 0.2, method="rk4", runs=2).x.tolist()


def swept(u: Used, folder: Path) -> Any:
    """A sweep."""
    found = lw.sweep(u.m, 0.2, step=0.01, method="rk4", M=[1.0, 2.0])
    return {name: np.asarray(found[name]).tolist() for name in ("left.final", "cart.final")}


def linear(u: Used, folder: Path) -> Any:
    """The linear model at the start."""
    return lw.linearize(u.m).a.tolist()


def quantities(u: Used, folder: Path) -> Any:
    """Forward dynamics of a robot that was made before, and where it starts."""
    n, p = len(u.robot.coordinates), len(u.robot.speeds)
    q, v = np.linspace(0.1, 0.3, n), np.linspace(-0.2, 0.2, p)
    found = u.robot.forward_dynamics(q, v, np.zeros(p)).tolist()
    return found, u.robot.parameters, u.robot.neutral.tolist(), u.robot.limits.tolist()


def written(u: Used, folder: Path) -> Any:
    """The program in C."""
    lw.codegen(u.m, folder, formulation="kane", force=True)
    return {p.name: p.read_text() for p in sorted(folder.iterdir()) if p.suffix in (".c", ".par")}


def text(u: Used, folder: Path) -> Any:
    """The text model and what recordings tell."""
    return lw.write_model(u.m), origin_of(u.m)


def live(u: Used, folder: Path) -> Any:
    """A live run."""
    run = Live(plant_of(u.m), scene_of(u.m))
    run.advance(20)
    return run.latest.x.tolist()


def page(u: Used, folder: Path) -> Any:
    """A page."""
    path = folder / "page.html"
    lw.page(path, lw.simulate(u.m, 0.1, method="rk4", step=0.01))
    return path.read_text()


QUICK_DOORS = (simulated, system_run, linear, quantities, text)
DOORS = (*QUICK_DOORS, batch, system_batch, swept, written, live, page)


def same(a: Any, b: Any) -> None:
    """Compare results exactly, but for the last bits of numbers."""
    if isinstance(a, str | dict) or not isinstance(a, list):
        assert a == b
    else:
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("door", DOORS, ids=lambda d: d.__name__)
def test_a_change_after_use_is_a_change(door: Callable[..., Any], tmp_path: Path) -> None:
    """Through every door, after each of two changes that leave the number of parts as it is."""
    used = Used()
    before = door(used, tmp_path)
    edits = [other_gravity, more_force if door is quantities else other_force, other_value]
    for i in (1, 3):
        for edit in edits[i - 2 if i == 3 else 0 : i]:
            edit(used.m)
        fresh = Used()
        for edit in edits[:i]:
            edit(fresh.m)
        found = door(used, tmp_path)
        same(found, door(fresh, tmp_path))
        assert found != before


@pytest.mark.parametrize(
    "name", cases(EDITS, daily=["other_force", "other_start", "other_value", "rotor", "relation"])
)
def test_each_kind_of_change_counts(name: str, tmp_path: Path) -> None:
    used, fresh = Used(), Used()
    doors = (system_run, linear, *((quantities,) if name not in IN_LISTS else ()))
    before = [door(used, tmp_path) for door in doors]
    EDITS[name](used.m)
    EDITS[name](fresh.m)
    found = [door(used, tmp_path) for door in doors]
    for a, b in zip(found, [door(fresh, tmp_path) for door in doors], strict=True):
        same(a, b)
    assert found != before


@pytest.mark.parametrize("seed", seeds(4, daily=1))
def test_random_changes_between_random_uses(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    used, fresh = Used(), Used()
    for _ in range(4):
        chance.choice(QUICK_DOORS)(used, tmp_path)
        edit = EDITS[chance.choice([n for n in EDITS if n not in IN_LISTS])]
        if edit is relation and used.m.constraints:
            continue
        edit(used.m)
        edit(fresh.m)
    for door in chance.sample(QUICK_DOORS, 2):
        same(door(used, tmp_path), door(fresh, tmp_path))


# -- snapshots -------------------------------------------------------------------------------------
@pytest.mark.parametrize("door", DOORS, ids=lambda d: d.__name__)
def test_every_door_takes_a_snapshot(door: Callable[..., Any], tmp_path: Path) -> None:
    """It stays what it was while the mechanism goes on to change; using it changes nothing."""
    used = Used()
    used.m.kinematics()
    before, content = everything(used.m), used.system.content()
    expected = door(used, tmp_path)
    assert everything(used.m) == before
    assert used.system.content() == content
    m = build()
    kept = m.frozen()
    for edit in (other_gravity, more_force, other_value):
        edit(m)
    same(door(Used(kept), tmp_path), expected)


def test_a_snapshot_cannot_be_changed() -> None:
    m = build()
    kept = m.frozen()
    assert kept.frozen() is kept
    for name, edit in EDITS.items():
        with pytest.raises(lw.Error if name not in IN_LISTS else TypeError):
            edit(kept)
    with pytest.raises(TypeError):
        kept.values["k"] = 1.0
    with pytest.raises(lw.Error, match="frozen"):
        kept.expr("2*nothing")
    assert everything(kept) == everything(m)
    other = kept.with_parameters({"k": 7.0})
    assert other.is_frozen
    assert other.values["k"] == 7.0
    assert other.initial["cart_dot"] == pytest.approx(0.7)
    assert (kept.values["k"], m.values["k"]) == (5.0, 5.0)
    assert not kept.with_outputs([]).outputs
    assert len(kept.with_loads(m.forces).forces) == 2 * len(kept.forces)


def tables(m: lw.Mechanism) -> dict[str, Any]:
    """All lists and dictionaries of a mechanism, but for points that bodies have by themselves."""
    found = {n: copy(x) for n, x in vars(m).items() if isinstance(x, dict | list)}
    del found["_points_of"]
    return found


ELASTIC = {"nodes": [[1, 0, 0]], "mass": [1], "modes": [[[0], [1], [0]]], "stiffness": [[9]]}

BUILT: dict[str, Edit] = {
    "actuate": lambda m: m.actuate("left"),
    "armature": lambda m: m.armature("left", "new_inertia"),
    "beam": lambda m: m.beam("new", length="new_length", mass=1.0, bending=2.0, segments=2),
    "body": lambda m: m.body("more", parent="left", rotate="z", mass=1.0, inertia=0.1),
    "close_loop": lambda m: m.close_loop("new", m.origin, "left", lw.Revolute("z")),
    "collision_capsule": lambda m: m.collision_capsule("new", "left", "right", "new_radius"),
    "constrain": lambda m: m.constrain("left_dot - new_ratio*right_dot"),
    "constrain_distance": lambda m: m.constrain_distance(m.origin, "left", "new_length"),
    "constrain_points": lambda m: m.constrain_points(m.origin, "left", "x"),
    "constrain_position": lambda m: m.constrain_position("left - new_ratio*right"),
    "defaults": lambda m: m.defaults(k=7.0),
    "drive_strut": lambda m: m.drive_strut("new", m.origin, "left"),
    "flexible": lambda m: m.flexible("new", "left", source=ELASTIC),
    "force": lambda m: m.force("new", "new_force", at="cart", along="x"),
    "function": lambda m: m.function("new_function", abs),
    "gravity": lambda m: m.gravity(along="x", g="new_g"),
    "input": lambda m: m.input("new_input", 3.0, unit="N", doc="of a view"),
    "large": lambda m: m.large("new_large"),
    "limit": lambda m: m.limit("left", -1.0, 1.0),
    "limit_cone": lambda m: m.limit_cone("hip", 0.5),
    "modal_beam": lambda m: m.modal_beam("new", "left", length=1, mass=1, bending="new_EI"),
    "moment": lambda m: m.moment("new", "new_moment", on="left", about="z"),
    "nonzero": lambda m: m.nonzero("new_nonzero"),
    "output": lambda m: m.output("new", "new_factor*cart", unit="m"),
    "output_all": lambda m: m.output_all("coordinates"),
    "parameter": lambda m: m.parameter("new_parameter", 1.0, unit="m", doc="of a view"),
    "passive": lambda m: m.passive("left", friction="new_friction"),
    "point": lambda m: m.point("new", None, ("new_length", 0, 0)),
    "positive": lambda m: m.positive("new_positive"),
    "prescribe": lambda m: m.prescribe("left", "new_rate*t"),
    "rolling_contact": lambda m: m.rolling_contact("wheel", radius="new_radius"),
    "sensor": lambda m: m.sensor("new", "gyro", "left"),
    "set_files": lambda m: m.set_files(scene="new.toml"),
    "set_initial": lambda m: m.set_initial(left="k/7"),
    "set_platform": lambda m: m.set_platform("left"),
    "set_timing": lambda m: m.set_timing(1.0, step=0.1),
    "set_parameters": lambda m: m.set_parameters(k=9.0),
    "shape": lambda m: m.shape("left", Sphere("new_radius")),
    "small": lambda m: m.small("new_small"),
    "state": lambda m: m.state("new_state", "-new_rate*new_state"),
    "strut": lambda m: m.strut("new", "new_force", at="left"),
}
"""A call of each method that changes a mechanism."""


def to_change() -> lw.Mechanism:
    """A cart with two rods, a ball joint and a wheel."""
    m = lw.Mechanism("swing")
    m.body("cart", translate="x", mass="M")
    for name in ("left", "right"):
        m.body(name, parent="cart", rotate="z", mass=1.0, com=(0.4, 0, 0), inertia=0.01)
    m.body("hip", joint=lw.Ball(), mass=1.0)
    m.body("wheel", parent="cart", rotate="y", mass=1.0)
    m.parameter("k", 5.0)
    m.force("spring", "-stiff*x", at="cart", along="x")
    m.set_initial(cart_dot="k/10")
    return m


def test_every_method_that_changes_a_mechanism_leaves_the_others_alone() -> None:
    """What a view or a copy gets, or refuses, its mechanism and other views do not see."""
    made = {n for n in dir(lw.Mechanism) if hasattr(getattr(lw.Mechanism, n), "builds")}
    assert made == set(BUILT)
    wrong, done, refused = [], set[str](), set[str]()
    for name, call in BUILT.items():
        m = to_change()
        m.kinematics()
        views = [m.with_parameters({"k": 7.0}), m.with_parts(), m.with_outputs([]), copy(m)]
        views += [m.with_parameters({"k": 7.0}).with_parameters({"k": 8.0}), m.with_loads(m.forces)]
        views += [m.with_loads(armatures={m.bodies["left"]: m.parameters["k"]})]
        for k, view in enumerate(views):
            others = [m, *(v for v in views if v is not view)]
            before = [tables(x) for x in others]
            try:
                call(view)
                done.add(name)
            except lw.Error as error:  # it takes no parts
                refused.add(str(error))
            if [tables(x) for x in others] != before:
                wrong.append(f"{name} of view {k}")
    assert not wrong
    own = ("another mechanism", "needs a", "in use already")
    assert not [words for words in refused if not any(x in words for x in own)]
    assert len(done) > 20, sorted(set(BUILT) - done)
    for call in BUILT.values():  # the calls are right where there is no view
        call(to_change())


def test_a_view_takes_no_parts() -> None:
    """It shares tables with its mechanism, which would get them too."""
    m = build()
    before = everything(m)
    for view in (m.with_parameters({"k": 7.0}), m.with_parts(), m.with_loads(m.forces)):
        for part in ("left", m.bodies["left"], m.bodies["left"].com):
            with pytest.raises(lw.Error, match="needs a point of"):
                view.force("more", 1.0, at=part, along="x")
        for parent in ("left", None):
            with pytest.raises(lw.Error, match="another mechanism"):
                view.body("more", parent=parent, rotate="z", mass=1.0, inertia=0.1)
        with pytest.raises(lw.Error):
            view.moment("more", 1.0, on="left", about="z")
    assert everything(m) == before


@pytest.mark.parametrize("name", EDITS)
def test_fingerprints_follow_content(name: str) -> None:
    """The same for a model built again, another one after each change."""
    m = build()
    before = m.frozen().fingerprint()
    assert build().fingerprint() == before
    EDITS[name](m)
    assert m.fingerprint() != before


def test_a_model_that_is_loaded_again_has_the_same_fingerprint() -> None:
    """Foreign functions of its own among it."""
    first, second = lw.load("spacecraft-1"), lw.load("spacecraft-1")
    assert first.fingerprint() == second.fingerprint()


@pytest.mark.parametrize("frozen", [False, True])
def test_threads_share_one_model(frozen: bool, tmp_path: Path) -> None:
    """Each of several threads gets what it would get alone."""
    doors = (simulated, linear, quantities, text)
    expected = [door(Used(), tmp_path) for door in doors]
    m = build().frozen() if frozen else build()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda door: door(Used(m), tmp_path), doors * 2))
    for a, b in zip(found, expected * 2, strict=True):
        same(a, b)


# -- nothing that reads a model writes to it -------------------------------------------------------
def everything(m: lw.Mechanism) -> Any:
    """All that a mechanism holds, numbers included."""
    names = ("parameters", "inputs", "values", "initial", "coordinates", "points", "variables")
    tables = {n: dict(getattr(m, n)) for n in names}
    return structure_of(m), tuple(m.outputs), tuple(m.reports), tables


def test_deriving_leaves_the_relations_as_they_were_given() -> None:
    """Points that are apart across a direction that turns."""
    m = lw.Mechanism("apart")
    a = m.body("a", rotate="z", mass=1, com=(0.5, 0, 0), inertia=0.1)
    b = m.body("b", translate="xy", mass=1, inertia=0)
    m.constrain_points(m.point("tip", a, (1.0, 0.2, 0)), b.origin, a.x)
    m.set_initial({"a": 0.4, "b.y": -0.3})
    before = everything(m)
    equations = m.equations("kane")
    assert everything(m) == before
    assert equations.mechanism.reports
    assert equations.mechanism.constraints[0].speed is not m.constraints[0].speed
    for given in (m, lw.System(m)):
        run = lw.simulate(given, 0.5, initial={"a_dot": 1.0})
        q, tip = run.final, np.array([1.0, 0.2])
        turn = np.array([[np.cos(q["a"]), -np.sin(q["a"])], [np.sin(q["a"]), np.cos(q["a"])]])
        gap = turn @ tip - [q["b.x"], q["b.y"]]
        assert abs(turn[:, 0] @ gap) < 1e-8
    assert everything(m) == before


def test_values_of_one_linear_model_are_not_those_of_the_next() -> None:
    m = build()
    first = lw.linearize(m)
    other = lw.linearize(m, parameters={"k": 50.0})
    assert m.values["k"] == 5.0
    assert m.initial["cart_dot"] == 0.5
    assert np.abs(other.a - first.a).max() > 1
    np.testing.assert_array_equal(lw.linearize(m).a, first.a)


def test_a_start_that_depends_on_values_follows_those_of_a_run() -> None:
    m = build()
    doors = (
        lambda: lw.simulate(m, 0.01, parameters={"k": 20.0}).recording["cart_dot"][0],
        lambda: lw.simulate(lw.System(m), 0.01, parameters={"k": 20.0}).recording["cart_dot"][0],
        lambda: lw.assemble(m, parameters={"k": 20.0}).speeds["cart_dot"],
    )
    assert [float(door()) for door in doors] == [2.0, 2.0, 2.0]
    two = lw.simulate_batch(m, 1e-9, step=1e-9, method="rk4", parameters={"k": [20.0, 30.0]})
    np.testing.assert_allclose(two["cart_dot"], [2.0, 3.0], rtol=1e-6)


def test_looking_a_name_up_makes_nothing() -> None:
    m = build()
    before = everything(m)
    s = lw.System(m)
    for text in ("nothing", "2*nothing + cart"):
        with pytest.raises(lw.Error, match="nothing"):
            s.read(text)
        with pytest.raises(lw.Error, match="nothing"):
            lw.Element("e", m).expr(text)
    assert everything(m) == before


# -- where it comes from ---------------------------------------------------------------------------
@pytest.mark.parametrize("edit", [lambda m: m.gravity(along="x"), lambda m: m.constraints.pop()])
def test_a_shipped_model_that_was_changed_is_no_longer_that_model(edit: Edit) -> None:
    m = lw.load("n-four-bar:n=2")
    m.set_parameters({next(iter(m.parameters)): 1.5})
    assert named(m) == "n-four-bar:n=2"
    assert origin_of(m) == {"model": "n-four-bar:n=2"}
    edit(m)
    assert named(m) == m.name
    assert set(origin_of(m)) == {"text"}


# -- blocks ----------------------------------------------------------------------------------------
def test_a_block_that_is_changed_after_it_was_added_is_changed() -> None:
    s = lw.System(name="s")
    b = lw.Block("counter")
    n = b.discrete_state("n", "n + 1")
    b.output("y", n)
    s.add(b, rate=10)
    assert lw.simulate(s, 0.4).final["counter.n"] == 5
    b.update(n, n + 2)
    assert lw.simulate(s, 0.4).final["counter.n"] == 10
    b.output("z", 3 * n)
    assert lw.simulate(s, 0.4).final["counter.z"] == 24


def test_a_copy_and_its_original_go_their_own_ways() -> None:
    m = build()
    s = lw.System(m)
    s.phases()
    other = s.copy()
    other.add(lw.elements.JointSpring(m, "left", 9.0))
    fresh = lw.System(m)
    fresh.add(lw.elements.JointSpring(m, "left", 9.0))
    assert other.phases().derivative.fingerprint() == fresh.phases().derivative.fingerprint()
    assert s.phases().derivative.fingerprint() != other.phases().derivative.fingerprint()
    session = Session(s.phases(), 0.01, method="rk4")
    assert np.isfinite(list(session.run().x.values())).all()
