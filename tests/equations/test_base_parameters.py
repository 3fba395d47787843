"""Base parameters: how many there are, what is counted with what, and what has no effect.

Oracle: the numeric regressor from M and f of Kane's equations, column by column with one inertial
parameter set to one and the others to zero; its rank by singular values, and combinations of its
columns by least squares. Kane's equations know nothing of regrouping.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from linkwright.cli import main
from linkwright.equations import derive
from linkwright.equations.base_parameters import BaseParameters, base_parameters
from linkwright.mechanism import Mechanism
from linkwright.models import load_model
from linkwright.program import lower
from linkwright.program.interpret import interpret
from tests.random.mechanisms import KINDS, mechanism_of, random_sample
from tests.seeds import cases

TENSOR = ("xx", "yy", "zz", "xy", "yz", "zx")


def regressor(m: Mechanism, states: int) -> dict[str, np.ndarray]:
    """Return the forces that each inertial parameter alone takes, over states, by its name."""
    e = derive(m, "kane")
    n = len(e.speeds)
    roots = [*(x for row in e.mass for x in row), *e.right]
    results: dict[str, Sequence[object]] = {"M": [list(r) for r in e.mass], "f": list(e.right)}
    program = e.assemble("oracle", results, {}, roots)
    code = lower(program)
    rng = np.random.default_rng(5)
    inertial = ("_m", "_c", "_I", "_R")
    blank = {k: 0.0 if any(x in k for x in inertial) else v for k, v in m.values.items()}
    names = [*m.coordinates, *(u.name for u in e.speeds)]
    tests = [dict(zip(names, rng.uniform(-2, 2, len(names)), strict=True)) for _ in range(states)]
    for body in m.bodies.values():
        if body.joint.quaternion:
            turns = [q.name for q in body.rotations]
            for state in tests:
                size = np.linalg.norm([state[q] for q in turns])
                state.update({q: state[q] / float(size) for q in turns})
    rates = rng.uniform(-2, 2, (states, n))

    def forces(values: dict[str, float]) -> np.ndarray:
        given = {**blank, **values, "t": 0.0} | {k: np.array([s[k] for s in tests]) for k in names}
        ports = [
            [np.broadcast_to(given[x.name], states) for x in p.entries] for p in program.inputs
        ]
        mass, right = interpret(code, [np.stack(port, axis=-1) for port in ports])
        found: np.ndarray = np.einsum("kij,kj->ki", mass, rates) - right
        return found.ravel()

    columns: dict[str, np.ndarray] = {}
    for b in m.bodies:
        if f"{b}_m" not in m.parameters:
            continue
        columns[f"{b}.m"] = forces({f"{b}_m": 1.0})
        for c in "xyz":
            inertia = {f"{b}_I{k}{k}": -1.0 for k in "xyz" if k != c}
            whole = forces({f"{b}_m": 1.0, f"{b}_c{c}": 1.0, **inertia})
            columns[f"{b}.m{c}"] = whole - columns[f"{b}.m"]
        columns |= {f"{b}.J{k}": forces({f"{b}_I{k}": 1.0}) for k in TENSOR}
        if f"{b}_R" in m.parameters:
            columns[f"{b}.rotor"] = forces({f"{b}_R": 1.0})
    return columns


def check(found: BaseParameters, columns: dict[str, np.ndarray]) -> None:
    """Hold the groups against the columns: their rank, their zeros and their combinations."""
    matrix = np.array(list(columns.values()))
    assert len(found.base) == np.linalg.matrix_rank(matrix, tol=1e-8)
    assert {*found.base, *found.regrouped, *found.idle} == set(columns)
    assert len(found.base) + len(found.regrouped) + len(found.idle) == len(columns)
    scale = np.abs(matrix).max()
    for name in found.idle:
        assert np.abs(columns[name]).max() < 1e-9 * scale
    for name in found.regrouped:
        parts = np.array([columns[k] for k in found.into[name]]).T
        shares, *_ = np.linalg.lstsq(parts, columns[name], rcond=None)
        assert np.abs(parts @ shares - columns[name]).max() < 1e-9 * scale
        assert np.abs(shares).min() > 1e-9  # each of them is needed


@pytest.mark.parametrize("kind", cases(KINDS, daily=6))
def test_every_joint_has_as_many_as_the_rank_of_the_regressor(kind: str) -> None:
    """A joint of each kind on a moving body, and a mass fixed to what it carries."""
    base, joint, fixed = (
        random_sample(17, 1, (k,), pushed=False).links[0] for k in ("revolute", kind, "weld")
    )
    m = Mechanism("pair")
    body = m.ground
    for k, link in enumerate((base, joint, fixed)):
        at, com = (tuple(f"b{k}{x}{c}" for c in "xyz") for x in ("_a", "_c"))
        body = m.body(f"b{k}", parent=body, joint=link.joint, at=at, com=com)
    m.gravity(along=(1, 2, -3), g="g")
    m.defaults({p: 0.3 + 0.07 * k for k, p in enumerate(sorted(m.parameters))})
    check(base_parameters(m), regressor(m, 16))


@pytest.mark.parametrize(
    "kinds",
    cases(
        [
            ("revolute",),
            ("revolute", "prismatic"),
            ("cylindrical", "revolute"),
            ("inclined", "weld"),
            ("ball", "screw"),
        ],
        daily=2,
    ),
)
def test_trees_have_as_many_as_the_rank_of_the_regressor(kinds: tuple[str, ...]) -> None:
    m = mechanism_of(random_sample(11, 3, kinds, pushed=False))
    check(base_parameters(m), regressor(m, 12))


def six_joints(*, upright: bool, rotors: bool = False) -> Mechanism:
    """Return an arm of six links with general inertias, the second and third axis parallel."""
    m = Mechanism("arm")
    axes, places = "zyyzyz", ((0, 0, 0), (0, "a", 0), ("b", "c", 0), (0, 0, "d"), (0, 0, 0), "")
    body = m.ground
    for k, (axis, at) in enumerate(zip(axes, places, strict=True)):
        com = tuple(f"b{k}_c{c}" for c in "xyz")
        body = m.body(f"b{k}", parent=body, rotate=axis, at=at or (0, 0, 0), com=com)
        if rotors:
            m.armature(body, f"b{k}_R")
    m.gravity(along="-z" if upright else (1, 2, -3), g="g")
    m.defaults({k: 0.4 + 0.1 * i for i, k in enumerate(sorted(m.parameters))})
    return m


@pytest.mark.parametrize(
    ("upright", "expected"), cases([(True, 36), (False, 38)], daily=[(False, 38)])
)
def test_base_parameters_of_an_arm(upright: bool, expected: int) -> None:
    m = six_joints(upright=upright)
    found = base_parameters(m)
    assert len(found.base) == expected
    check(found, regressor(m, 11))


def test_base_parameters_with_rotors() -> None:
    """The rotors of the first two joints turn as their links do; the others count."""
    m = six_joints(upright=True, rotors=True)
    found = base_parameters(m)
    assert len(found.base) == 40
    assert {n for n in found.regrouped if "rotor" in n} == {"b0.rotor", "b1.rotor"}
    check(found, regressor(m, 12))


def test_a_free_body_keeps_all_ten_and_a_fixed_mass_none() -> None:
    m = Mechanism("ship")
    hull = m.body("hull", translate="xyz", rotate="zyx", com=("x", "y", "z"))
    m.body("mast", parent=hull, at=("a", 0, "h"), com=(0, 0, "c"))
    found = base_parameters(m)
    assert len(found.base) == 10
    assert all(name.startswith("hull.") for name in found.base)
    assert found.into["mast.m"] == (
        "hull.m",
        "hull.mx",
        "hull.mz",
        "hull.Jxx",
        "hull.Jyy",
        "hull.Jzz",
        "hull.Jzx",
    )


def test_wheels_of_the_cart_count_with_its_frame() -> None:
    """Rotors and composite bodies are special cases: masses of wheels count with their bearer."""
    found = base_parameters(load_model("cart"))
    wheels = ("lfw", "rfw", "lrw", "rrw")
    assert set(found.gathered("b.m")) == {"f.m", *(f"{w}.m" for w in wheels)}
    assert {f"{w}.Jyy" for w in wheels} <= set(found.base)
    assert {"b.Jxx", "b.Jyy", "f.Jxx"} <= set(found.idle)


def test_the_command_shows_what_becomes_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "describe", "puma560", "--base-parameters"]) == 0
    text = capsys.readouterr().out
    assert "66 inertial parameters, 40 base parameters; 15 are counted" in text
    (row,) = (line for line in text.splitlines() if line.startswith("link4.Jxx"))
    assert row.split(maxsplit=1)[1] == "link4.Jyy, link5.Jyy"
    (idle,) = (line for line in text.splitlines() if line.startswith("without effect:"))
    assert "link1.m," in idle
