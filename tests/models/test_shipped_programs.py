"""The smallest programs that ship: used through every door of their model, and of no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.codegen.content import make_content
from linkwright.equations import derive
from linkwright.equations.shipped import shipped_program
from linkwright.models import load_model
from linkwright.models.prepared import prepare
from linkwright.models.smallest import SHIPPED, Shipped
from linkwright.models.sources import source_of
from linkwright.program import count_operations, interpret, lower
from tests.seeds import cases
from tests.support.native_ir import fresh_cache

SMALL = [s for s in SHIPPED if s.model in ("cart", "car", "car-small", "four-bar")]


def counts(shipped: Shipped) -> dict[str, int]:
    """Return what the file says."""
    found: dict[str, int] = json.loads(shipped.path.read_text(encoding="utf-8"))["counts"]
    return found


@pytest.mark.parametrize("shipped", SHIPPED, ids=lambda s: s.path.stem)
def test_they_are_found_from_equations_that_are_derived_quickly(shipped: Shipped) -> None:
    """And compute the same numbers, whatever the states and parameters.

    What is declared small is small: formulations agree to its first order.
    """
    quick = shipped.quick()
    found = shipped_program(quick)
    assert found is not None, "run make regenerate"
    assert count_operations(found).as_dict() == counts(shipped)
    draw, codes = np.random.default_rng(3), (lower(quick), lower(found))
    for _ in range(3):
        size = [[1e-6 if x.data.small > 0 else 1.0 for x in p.entries] for p in quick.inputs]
        inputs = [draw.uniform(0.5, 1.5, len(row)) * row for row in size]
        expected, values = (interpret(code, inputs) for code in codes)
        for a, b in zip(values, expected, strict=True):
            scale = max(1.0, float(np.abs(b).max(initial=0.0)))
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-8 * scale)


def of_equations(m: lw.Mechanism, name: str) -> object:
    """What runs, batches and sweeps derive."""
    return lw.derive(m, "quick").program(outputs=False)


def of_a_system(m: lw.Mechanism, name: str) -> object:
    """What every run integrates."""
    return lw.System(m).phases().derivative


def of_the_command(m: lw.Mechanism, name: str) -> object:
    """What `linkwright simulate` integrates."""
    return prepare(source_of(name), lw.System(m)).phases.derivative


def of_c(m: lw.Mechanism, name: str) -> object:
    """What is written as C."""
    return make_content(m).phases.derivative


@pytest.mark.parametrize("door", [of_equations, of_a_system, of_the_command, of_c])
@pytest.mark.parametrize("shipped", cases(SMALL, daily=2), ids=lambda s: s.path.stem)
def test_every_door_takes_them(
    door: Callable[[lw.Mechanism, str], lw.Program], shipped: Shipped
) -> None:
    found = count_operations(door(lw.load(shipped.model), shipped.model))
    told = counts(shipped)
    assert found.add + found.mul <= told["add"] + told["mul"]
    assert found.call <= told["call"]


@pytest.mark.parametrize("symbolic", [False, True])
def test_the_robot_of_the_puma_computes_the_program_that_ships(symbolic: bool) -> None:
    (shipped,) = (s for s in SHIPPED if s.kernel == "inverse")
    arm = lw.Robot(lw.load(shipped.model), symbolic=symbolic)
    found, told = arm.inverse_dynamics.counts, counts(shipped)
    assert found.add <= told["add"]
    assert found.mul <= told["mul"]
    assert found.call <= told["call"]
    if symbolic:
        assert found.as_dict() == told


def heavier(m: lw.Mechanism) -> None:
    """Another load on the body."""
    m.force("more", "2", at=next(iter(m.bodies.values())), along="x")


def replaced(m: lw.Mechanism) -> None:
    """Another load in place of one: as many as before."""
    m.forces[0] = replace(m.forces[0], magnitude=2 * m.forces[0].magnitude)


def rates(m: lw.Mechanism) -> np.ndarray:
    """What a run would integrate, at a state where everything is one half."""
    p = lw.System(m).phases().derivative
    found = interpret(lower(p), [np.full(len(port.entries), 0.5) for port in p.inputs])
    return np.concatenate([np.ravel(x) for x in found])


@pytest.mark.parametrize("edit", cases([heavier, replaced], daily=[heavier]))
def test_a_model_that_was_edited_gets_none(edit: Callable[[lw.Mechanism], None]) -> None:
    m = lw.load("cart")
    before = rates(m)
    edit(m)
    assert shipped_program(lw.derive(m, "composite-usual").program(outputs=False)) is None
    assert np.abs(rates(m) - before).max() > 1e-3


def test_other_values_are_no_edit() -> None:
    """They are inputs of the program; numbers follow them."""
    m = lw.load("cart")
    m.set_parameters({name: 1.1 * v for name, v in m.values.items()})
    quick = lw.simulate(lw.System(m), 0.2).final
    fresh = lw.simulate(lw.System(m, formulation="kane"), 0.2).final
    assert quick == pytest.approx(fresh, rel=1e-8)


@pytest.mark.parametrize("name", ["cart", "spacecraft-1"])
def test_what_ships_is_the_same_from_the_cache(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also a Program with functions of the model, which the cache cannot hold, and none."""
    fresh_cache(monkeypatch, tmp_path)
    written = derive(load_model(name), "composite-usual").program(outputs=False)
    find = shipped_program.__wrapped__
    first = find(written)
    assert first is not None
    assert find(written) == first
    other = replace(written, name="four-bar")  # other equations than those of its name
    assert find(other) is find(other) is None
