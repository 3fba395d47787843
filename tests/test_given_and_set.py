"""A number that is given where a block is made, set later, or swept is the same number.

Over every element, controller and part of a drive, and every number that it takes: what a block
computes is the same however it got the number, so that no default keeps what another number was;
and what is refused where it is made is refused by every other door.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright import drives
from linkwright.algebra import Expr, evaluate, free_symbols
from linkwright.blocks import Block, Element
from linkwright.program import Assign
from linkwright.system.numbers import parameters
from tests import test_drive_battery as parts, test_element_battery as battery
from tests.seeds import seeds

SEEDS = seeds(1)

#: Arguments with which a kind is made beside its example, so that its other half is there too.
OTHER: dict[str, list[battery.Numbers]] = {
    "Contact": [{}, {"static": 0.5, "viscous": 0.0}],
    "PID": [{}, {"unwind": None}, {"unwind": None, "kd": 0.0}],
    "JointPID": [{}, {"unwind": None}],
    "ForceControl": [{}, {"filter": 0.5}, {"filter": 0.5, "base": "current"}, {"base": "current"}],
    "Hybrid": [{}, {"filter": 0.3}],
    "Tire": [{}, {"relaxation": 0.3, "trail": 0.03}],
}
CASES = [(name, k) for name in battery.KINDS for k in range(len(OTHER.get(name, [{}])))]


# -- what a block computes, in numbers -------------------------------------------------------------
class Computed:
    """All that a block computes, with the numbers of a System in place of its parameters."""

    def __init__(self, block: Block, values: dict[str, Any]) -> None:
        self.known: dict[Expr, Any] = {
            p.symbol: values[f"block.{n}"] for n, p in block.parameters.items()
        }
        self.found: list[float] = []
        for statement in block.statements:
            for x in self._all(statement.operands):
                if isinstance(statement, Assign):
                    self.known[statement.target] = x
        for port in (*block.inputs.values(), *block.outputs.values()):
            for x, value in zip(port.symbols, self._all(port.values), strict=True):
                if port.name in block.outputs:
                    self.known[x] = value
        for state in (*block.states.values(), *block.discrete_states.values()):
            assert state.following is not None
            self._all([state.following, state.initial])
        for crossing in block.crossings:
            self._all([crossing.value, *(value for _, value in crossing.resets)])
        if isinstance(block, Element):
            self._all([load.magnitude for load in (*block.forces, *block.moments)])

    def _all(self, exprs: Iterable[Expr]) -> list[Any]:
        """Return values; what is no parameter has a number that its name gives."""
        exprs = list(exprs)
        for x in free_symbols(*exprs):
            self.known.setdefault(x, 0.1 + zlib.crc32(x.name.encode()) / 2**32)
        found = [evaluate(x, self.known) for x in exprs]
        self.found += map(float, found)
        return found


def alone(name: str, other: battery.Numbers) -> lw.System:
    """Return a System with one block, and with what it reads."""
    m, block = battery.made(name, SEEDS[0], other=other)
    s = lw.System(m)
    battery.add_sources(s, block)
    s.add(block, rate=200 if block.needs_rate else None, name="block")
    return s


def scaled(given: Any, factor: float) -> Any:
    """Return a number, or numbers in a list, with another size; None where there is none."""
    if isinstance(given, list | tuple):
        rest = [scaled(x, factor) for x in given]
        return None if any(x is None for x in rest) else type(given)(rest)
    if isinstance(given, int | float | np.floating) and not isinstance(given, bool):
        return float(given) * factor
    return None


def is_refused(make: Any) -> bool:
    try:
        make()
    except lw.Error:
        return True
    return False


def named(block: Block, argument: str) -> list[str]:
    """Return the parameters that an argument gives."""
    own = block.parameters
    return [argument] if argument in own else [n for n in own if n.startswith(f"{argument}_")]


def arguments(name: str, plain: lw.System) -> list[tuple[str, list[str]]]:
    """Return the arguments of a kind that take numbers, each with the parameters that it gives."""
    block = plain.members["block"].block
    known = [(x, named(block, x)) for x in battery.numeric_arguments(battery.KINDS[name])]
    return [(argument, names) for argument, names in known if names]


@pytest.mark.parametrize(("name", "k"), CASES)
def test_a_number_that_is_set_or_swept_is_the_number_that_is_given(name: str, k: int) -> None:
    other = OTHER.get(name, [{}])[k]
    example = battery.EXAMPLES[name](battery.rig(), np.random.default_rng(SEEDS[0])) | other
    rng = np.random.default_rng((SEEDS[0], zlib.crc32(name.encode())))
    plain = alone(name, other)
    own = plain.members["block"].block
    for argument, names in arguments(name, plain):
        value = scaled(example.get(argument), rng.uniform(0.8, 0.95) + 0.3 * rng.integers(2))
        if value is None or is_refused(lambda: alone(name, other | {argument: value})):  # noqa: B023
            continue  # no number, or one that another does not go with
        given = alone(name, other | {argument: value})
        block = given.members["block"].block
        numbers = {f"block.{n}": block.parameters[n].value for n in names}
        later = plain.copy()
        later.set(numbers)
        wanted = Computed(block, parameters(given)).found
        same = Computed(own, parameters(later)).found
        np.testing.assert_allclose(same, wanted, rtol=1e-12, err_msg=argument)
        before = parameters(plain)
        many = parameters(plain, {n: np.array([before[n], v]) for n, v in numbers.items()})
        for n, v in parameters(given).items():
            np.testing.assert_allclose(np.broadcast_to(many[n], 2), [before[n], v], rtol=1e-13)


WRONG = (-3.0, 0.0, 1.5, 1e4)


@pytest.mark.parametrize(("name", "k"), CASES)
def test_a_number_that_is_refused_when_given_is_refused_when_set(name: str, k: int) -> None:
    other = OTHER.get(name, [{}])[k]
    plain = alone(name, other)
    before = parameters(plain)
    for argument, names in arguments(name, plain):
        if names != [argument]:
            continue
        known = f"block.{argument}"
        for value in WRONG:
            if is_refused(lambda: alone(name, other | {argument: value})):  # noqa: B023
                assert is_refused(lambda: parameters(plain, {known: value})), (argument, value)  # noqa: B023
                row = np.array([before[known], value, before[known]])
                assert is_refused(lambda: parameters(plain, {known: row})), (argument, value)  # noqa: B023


# -- parts of drives -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", parts.PLAIN)
def test_a_number_of_a_part_is_the_same_given_set_or_swept_or_refused(name: str) -> None:
    made = parts.EXAMPLES[name]
    plain = chained(name, made)
    own, before = plain.members["block"].block, parameters(plain)
    for item in fields(made):
        label = f"{made.role}.{item.name}"
        old = getattr(made, item.name)
        if f"block.{label}" not in {*before, *plain.inputs()} or old is None:
            continue
        for value in (1.1 * old, 0.9 * old, *WRONG):
            later = plain.copy()
            later.set({f"block.{label}": value})
            try:
                given = chained(name, replace(made, **{item.name: value}))
            except lw.Error:
                assert is_refused(lambda: parameters(later)), (label, value)  # noqa: B023
                if f"block.{label}" in before:
                    row = {f"block.{label}": np.array([old, value, old])}
                    assert is_refused(lambda: parameters(plain, row)), (label, value)  # noqa: B023
                continue
            if value in WRONG:
                continue  # which is another structure, as a dead time of 0
            wanted = Computed(given.members["block"].block, parameters(given)).found
            same = Computed(own, parameters(later)).found
            if f"block.{label}" in before:
                np.testing.assert_allclose(same, wanted, rtol=1e-12, err_msg=label)


def chained(name: str, made: drives.DrivePart) -> lw.System:
    """Return a System with a chain that has a part."""
    part = replace(parts.MOTOR, thermal=made) if isinstance(made, drives.Thermal) else made
    edits: dict[str, Any] = {part.role: part}
    if name == "Steps":
        edits["motor"] = parts.EXAMPLES["Stepper"]
    s = lw.System(name="s")
    s.add(parts.joint(reference=0.2).edited(edits), name="block")
    return s
