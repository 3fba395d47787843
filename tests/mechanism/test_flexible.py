"""Elastic bodies by modes: a beam that is spun up, and finite elements that were reduced."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import linkwright as lw
from linkwright.algebra import evaluate
from linkwright.equations.energy import energy
from linkwright.formats.text.files import write_model
from linkwright.mechanism import Mechanism, MechanismError
from tests.mechanism.test_beams import EI, LENGTH, LINE, ritz, speed

Array = npt.NDArray[np.float64]


def test_a_beam_of_two_modes_spins_up_as_it_was_published() -> None:
    """Kane, Ryan and Banerjee (1987): it lags by 0.57 m and comes back."""
    m = Mechanism("spin")
    hub = m.body("hub", rotate="z", mass=1, inertia=1)
    beam = m.modal_beam("b", hub, length=LENGTH, mass=LINE * LENGTH, bending=EI, modes=2)
    m.constrain("hub_dot - 6/15*(t - 15/(2*pi)*sin(2*pi*t/15))", eliminate="hub_dot")
    tip = m.point("tip", beam.nodes["tip"])
    m.output("lag", "dot(pos(tip), [hub2])", unit="m")
    m.output("draw", "dot(pos(tip), [hub1])", unit="m")
    assert tip is m.points["tip"]
    run = lw.simulate(m, 15.0, tolerance=1e-6)
    assert run.recording["lag"].min() == pytest.approx(ritz(15.0), rel=0.01)
    assert abs(run.recording["lag"][-1]) < 0.01
    drawn = LENGTH - run.recording["draw"].min()
    assert drawn == pytest.approx(0.6 * 0.574**2 / LENGTH, rel=0.06)  # 3/5 w^2/L, as the cubic
    assert speed(15.0) == pytest.approx(6.0)


def test_a_modal_beam_has_frequencies_and_deflection_of_the_textbook() -> None:
    m = Mechanism("cantilever")
    beam = m.modal_beam(
        "b", length=LENGTH, mass=LINE * LENGTH, bending=EI, modes=5, bends="y", at=(1, 0, 0)
    )
    m.force("load", 0.5, at=beam.nodes["tip"], along="z")
    rest = lw.equilibrium(m).coordinates
    assert rest["b_tip_2"] == pytest.approx(0.5 * LENGTH**3 / (3 * EI), rel=2e-3)
    assert rest["b_tip"] == pytest.approx(-0.5 * LENGTH**2 / (2 * EI), rel=8e-3)
    model = lw.linear.second_order(m)
    squares = np.sort(np.linalg.eigvals(np.linalg.solve(model.mass, model.stiffness)).real)
    unit = math.sqrt(EI / (LINE * LENGTH**4))
    wanted = [unit * x**2 for x in (1.8751041, 4.6940911, 7.8547574, 10.9955407, 14.1371684)]
    assert np.sqrt(squares) == pytest.approx(wanted, rel=1e-3)


# -- finite elements -------------------------------------------------------------------------------
def finite_elements(count: int = 12) -> tuple[Array, Array, Array]:
    """Return masses at nodes, stiffness and places of a clamped beam that bends along y and z.

    Elements of Hermite; freedoms of each node: y, slope about z, z, slope about y.
    """
    h = LENGTH / count
    a = np.array([[12, 6 * h], [6 * h, 4 * h * h]])
    b = np.array([[-12, 6 * h], [-6 * h, 2 * h * h]])
    c = np.array([[12, -6 * h], [-6 * h, 4 * h * h]])
    whole = np.zeros((4 * (count + 1), 4 * (count + 1)))
    for axis, factor in ((0, 1.0), (2, 3.0)):
        for e in range(count):
            one, two = 4 * e + axis, 4 * (e + 1) + axis
            cut = np.r_[one, one + 1, two, two + 1]
            element = factor * EI / h**3 * np.block([[a, b], [b.T, c]])
            whole[np.ix_(cut, cut)] += element
    mass = np.full(count + 1, LINE * h)
    mass[[0, -1]] /= 2
    return mass, whole[4:, 4:], np.linspace(0, LENGTH, count + 1)


def craig_bampton(count: int = 12, inner: int = 1) -> dict[str, Array]:
    """Return a clamped beam whose free end is its boundary, with normal modes of the inside."""
    mass, stiff, x = finite_elements(count)
    edge, inside = np.arange(4 * count - 4, 4 * count), np.arange(4 * count - 4)
    static = -np.linalg.solve(stiff[np.ix_(inside, inside)], stiff[np.ix_(inside, edge)])
    moving = np.repeat(mass[1:-1], 4) * np.tile([1.0, 0, 1, 0], count - 1)
    flexed = np.linalg.inv(stiff[np.ix_(inside, inside)])
    root = np.sqrt(moving)
    values, vectors = np.linalg.eigh(root[:, None] * flexed * root)
    chosen = flexed @ (root[:, None] * vectors[:, -2 * inner :]) / np.sqrt(values[-2 * inner :])
    shape = np.zeros((4 * count, 4 + 2 * inner))
    shape[edge, range(4)] = 1.0
    shape[inside, :4], shape[inside, 4:] = static, chosen
    n = shape.shape[1]
    fields = np.zeros((count + 1, 6, n))
    by_node = shape.reshape(count, 4, n)
    fields[1:, 1], fields[1:, 5] = by_node[:, 0], by_node[:, 1]
    fields[1:, 2], fields[1:, 4] = by_node[:, 2], -by_node[:, 3]
    nodes = np.column_stack([x, 0 * x, 0 * x])
    reduced = np.einsum("i,iaj,iak->jk", mass, fields[:, :3], fields[:, :3])
    return {
        "nodes": nodes,
        "mass": mass,
        "modes": fields,
        "stiffness": shape.T @ stiff @ shape,
        "reduced_mass": reduced,
    }


def test_a_reduced_beam_bends_and_swings_as_all_of_its_elements(tmp_path: Path) -> None:
    data = craig_bampton()
    np.savez(tmp_path / "beam.npz", **data)  # type: ignore[arg-type]
    m = Mechanism("boom")
    body = m.flexible("b", source=tmp_path / "beam.npz", interfaces={"tip": 12})
    ball = m.body("ball", parent=body.nodes["tip"], mass=5, inertia=0)
    m.force("load", 3, at=ball.origin, along="y")
    tip = m.point("end", ball)
    m.output("y", "dot(pos(end), [n2])", unit="m")
    rest = lw.equilibrium(m).coordinates
    assert rest["b1"] == pytest.approx(3 * LENGTH**3 / (3 * EI), rel=1e-6)
    assert tip.body is ball
    model = lw.linear.second_order(m)
    squares = np.sort(np.linalg.eigvals(np.linalg.solve(model.mass, model.stiffness)).real)
    mass, stiff, _ = finite_elements()
    mass[-1] += 5
    loads = np.repeat(mass[1:], 4) * np.tile([1.0, 0, 1, 0], 12)
    slow = np.sort(np.linalg.eigvals(np.linalg.solve(stiff, np.diag(loads))).real)
    wanted = 1 / slow[::-1][:4]
    assert squares[:4] == pytest.approx(wanted, rel=0.01)
    assert squares[:2] == pytest.approx(wanted[:2], rel=1e-4)


def test_a_text_model_of_an_elastic_body_moves_as_it_does(tmp_path: Path) -> None:
    m = Mechanism("spin")
    hub = m.body("hub", rotate="z", mass=1, inertia=1)
    beam = m.modal_beam("b", hub, length="L", mass=12, bending="EI", modes=1)
    m.body("ball", parent=beam.nodes["tip"], rotate="z", mass=1, com=(0.1, 0, 0), inertia=0.1)
    m.defaults(L=10, EI=1.4e4)
    (tmp_path / "spin.toml").write_text(write_model(m), encoding="utf-8")
    start = {"b1": 0.1, "hub_dot": 1.0}
    ends = [lw.simulate(x, 0.5, initial=start).final for x in (m, tmp_path / "spin.toml")]
    assert ends[0]["b1"] == pytest.approx(ends[1]["b1"], rel=1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_few_particles_have_the_energy_of_all_nodes(order: int) -> None:
    """Energy, momenta and the power of springs and dampers, by sums over all nodes."""
    rng = np.random.default_rng(3)
    count, n = 60, 2
    bend = rng.normal(size=(count, 3, n, n)) * (order - 1)
    bend += bend.swapaxes(2, 3)
    data = {
        "nodes": rng.normal(size=(count, 3)),
        "mass": rng.uniform(0, 2, count),
        "modes": rng.normal(size=(count, 3, n)),
        "stiffness": np.array([[5.0, 1.0], [1.0, 3.0]]),
        "damping": np.array([[0.5, -0.1], [-0.1, 0.2]]),
        "second": bend,
    }
    m = Mechanism("m")
    base = m.body("base", joint=lw.Free(), mass=0, inertia=0)
    body = m.flexible("f", base, source=data)
    assert len(body.particles) == 4 + 3 * n + (9 if order == 2 else 0)
    q, v, w, rate = (rng.normal(size=k) for k in (n, 3, 3, n))
    at = dict.fromkeys(m.coordinates.values(), 0.0)
    at |= zip(body.modes, q, strict=True)
    known = {f"base.{key}": x for key, x in zip("uvwpqr", (*v, *w), strict=True)}
    known |= {f"{x.name}_dot": y for x, y in zip(body.modes, rate, strict=True)}
    at |= {s.symbol: known.get(s.symbol.name, 0.0) for s in m.kinematics().speeds}
    speeds = {s.symbol.name: s.symbol for s in m.kinematics().speeds}
    for c in m.constraints:
        assert c.eliminate_coordinate is not None
        assert c.position is not None
        at[c.eliminate_coordinate] = -float(evaluate(c.position, at))
        at[speeds[f"{c.eliminate_coordinate.name}_dot"]] = -float(evaluate(c.speed, at))
    places = data["nodes"] + data["modes"] @ q + bend @ q @ q / 2
    velocity = v + np.cross(w, places) + data["modes"] @ rate + bend @ q @ rate
    momentum = (data["mass"][:, None] * velocity).sum(0)
    spin = (data["mass"][:, None] * np.cross(places, velocity)).sum(0)
    found = energy(m)
    kinetic = 0.5 * (data["mass"][:, None] * velocity**2).sum()
    assert evaluate(found.kinetic, at) == pytest.approx(kinetic, rel=1e-9)
    assert [evaluate(x, at) for x in found.momentum] == pytest.approx(list(momentum), rel=1e-9)
    assert [evaluate(x, at) for x in found.angular_momentum] == pytest.approx(list(spin), rel=1e-9)
    power = -rate @ (data["stiffness"] @ q + data["damping"] @ rate)
    assert evaluate(found.power, at) == pytest.approx(power, rel=1e-9)


def test_a_file_of_text_is_read_as_one_of_numbers(tmp_path: Path) -> None:
    data = craig_bampton(4)
    np.savez(tmp_path / "a.npz", **data)  # type: ignore[arg-type]
    text = {key: value.tolist() for key, value in data.items()}
    (tmp_path / "a.json").write_text(json.dumps(text), encoding="utf-8")
    found = []
    for file in ("a.npz", "a.json"):
        m = Mechanism("m")
        m.flexible("b", source=tmp_path / file, interfaces={"tip": 4})
        found.append([str(x) for c in m.constraints for x in (c.position, c.speed)])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mass": [1.0, -2.0]}, "not all positive"),
        ({"mass": [1.0]}, "shape"),
        ({"modes": [[[0], [0]], [[0], [1]]]}, "'modes' of 'b' has the shape"),
        ({"stiffness": [[math.nan]]}, "not finite"),
        ({"stiffness": "soft"}, "not of numbers"),
        ({"reduced_mass": [[3.0]]}, "differ by 33 %"),
        ({"masses": [1.0]}, "known are nodes"),
    ],
)
def test_arrays_that_do_not_fit_are_rejected(change: dict[str, object], message: str) -> None:
    data = {"nodes": [[0, 0, 0], [1, 0, 0]], "mass": [1, 2], "stiffness": [[50]]}
    given = {**data, "modes": [[[0], [0], [0]], [[0], [1], [0]]], **change}
    m = Mechanism("m")
    with pytest.raises(MechanismError, match=message):
        m.flexible("b", source=given)
    assert not m.bodies


def test_files_and_nodes_that_are_not_there_are_named(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text("[", encoding="utf-8")
    (tmp_path / "b.npz").write_text("x", encoding="utf-8")
    (tmp_path / "b.op2").write_text("x", encoding="utf-8")
    messages = {
        "b.json": "cannot be",
        "b.npz": "cannot be",
        "b.op2": "no arrays",
        "c.npz": "no such",
    }
    for name, message in messages.items():
        with pytest.raises(lw.Error, match=message):
            Mechanism("m").flexible("b", source=tmp_path / name)
    with pytest.raises(MechanismError, match="nodes 0 to 4, not 5"):
        Mechanism("m").flexible("b", source=craig_bampton(4), interfaces={"tip": 5})
    for wrong in ({"modes": 0}, {"bends": "x"}):
        with pytest.raises(MechanismError, match="a beam"):
            Mechanism("m").modal_beam("b", length=1, mass=1, bending=1, **wrong)
