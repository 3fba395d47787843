"""`print` and `repr` of whatever a user meets: one short line that says what it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.reprs import brief
from linkwright.mechanism import Mechanism
from linkwright.models import load_model

LONGEST = 300


def public_classes() -> dict[str, type]:
    """Return the public classes, with those of the parts that are used by their names."""
    homes = {"": lw, "control.": lw.control, "elements.": lw.elements, "motion.": lw.motion}
    return {
        f"{prefix}{name}": getattr(home, name)
        for prefix, home in homes.items()
        for name in home.__all__
        if inspect.isclass(getattr(home, name))
        and not getattr(getattr(home, name), "_is_protocol", False)  # nothing is made of it
    }


def test_no_public_class_prints_its_address() -> None:
    owners = {
        name: next(c for c in kind.__mro__ if "__repr__" in vars(c))
        for name, kind in public_classes().items()
    }
    assert len(owners) > 100
    assert [name for name, owner in owners.items() if owner is object] == []


@cache
def arm() -> lw.Robot:
    return lw.Robot("stanford-arm")


@cache
def rod() -> Mechanism:
    return load_model("double-pendulum")


@cache
def run() -> lw.Run:
    return lw.simulate(rod(), 1.0)


def system() -> lw.System:
    s = lw.System(rod())
    b = lw.Block("count")
    b.output("y", b.discrete_state("n", "n + 1"))
    s.add(b, rate=100)
    return s


OBJECTS: dict[str, Callable[[], object]] = {
    "Mechanism": rod,
    "an empty Mechanism": lambda: lw.Mechanism("m"),
    "Body": lambda: rod().bodies["upper"],
    "Point": lambda: rod().bodies["upper"].com,
    "Gain": lambda: lw.control.lqr(np.eye(4), np.eye(4), np.eye(4), np.eye(4)),
    "Run of a System": lambda: lw.simulate(system(), 0.1),
    "Force": lambda: lw.load("slider-crank").forces[0],
    "Constraint": lambda: lw.load("four-bar").constraints[0],
    "Output": lambda: rod().outputs[0],
    "Joint": lambda: lw.Universal("x", "y"),
    "Kinematics": lambda: rod().kinematics(),
    "Equations": lambda: rod().equations("quick"),
    "ClosedForm": lambda: rod().equations("quick").closed_form(),
    "Program": lambda: rod().equations("quick").program(),
    "Kernel": lambda: lw.compile(rod().equations("quick").program(), backend="python"),
    "Energy": lambda: lw.energy(rod()),
    "Reactions": lambda: lw.reactions(lw.load("four-bar")),
    "BaseParameters": lambda: lw.base_parameters(rod()),
    "Equilibrium": lambda: lw.equilibrium(rod()),
    "Assembly": lambda: lw.assemble(lw.load("four-bar")),
    "LinearModel": lambda: lw.linearize(rod()),
    "Run": run,
    "Energies": lambda: run().energies(),
    "Recording": lambda: run().recording,
    "an empty Recording": lambda: lw.Recording([], (), []),
    "Channel": lambda: run().recording.channels[0],
    "Batch": lambda: lw.simulate_batch(
        rod(), 0.1, step=0.01, method="rk4", initial={"phi1": np.linspace(0, 1, 500)}
    ),
    "Sweep": lambda: lw.sweep("pendulum", 0.1, L=[0.5, 1.0], channels={"phi": ["final"]}),
    "Robot": arm,
    "Quantity": lambda: arm().inverse_dynamics,
    "Solution": lambda: arm().inverse_kinematics(
        arm().pose(np.full(6, 0.3), arm().frames[-1]), arm().frames[-1], np.full(6, 0.2)
    ),
    "System": system,
    "Member": lambda: system().members["count"],
    "Phases": lambda: system().phases(),
    "Description": lambda: lw.read_description(
        next((Path(__file__).parents[1] / "robots").rglob("*.urdf"))
    ),
    "Lookup1D": lambda: lw.Lookup1D(np.arange(999.0), np.arange(999.0)),
    "Lookup2D": lambda: lw.Lookup2D(np.arange(30.0), np.arange(30.0), np.zeros((30, 30))),
    "Trajectory": lambda: lw.motion.point_to_point(np.zeros(6), np.ones(6), 1.0),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_is_one_short_line(name: str) -> None:
    thing = OBJECTS[name]()
    for told in (repr(thing), str(thing)):
        assert "\n" not in told
        assert "object at 0x" not in told
        assert len(told) <= LONGEST
        assert len(told) > len(type(thing).__name__)


def test_what_is_large_is_counted() -> None:
    assert brief(np.zeros((3, 4))) == "<3 x 4>"
    assert brief(list(range(9))) == "[0, 1, 2, 3, … 9 in all]"
    assert brief((1,)) == "(1,)"
    assert brief({"a": "b" * 99}) == "{'a': 'bbbbbbbbbbbbbbbbbb…}"


def test_tables_that_differ_print_differently() -> None:
    """Their text is part of what tells expressions apart."""
    first = lw.Lookup1D(np.arange(50.0), np.arange(50.0))
    values = np.arange(50.0)
    values[25] += 1e-9
    assert repr(first) != repr(lw.Lookup1D(np.arange(50.0), values))


def test_a_run_says_how_it_went() -> None:
    samples = len(run().times)
    assert repr(run()).startswith(f"Run('double-pendulum': 1 s, {samples} samples of ")


def test_parts_say_where_they_belong_and_that_they_are_fixed() -> None:
    m = lw.Mechanism("m")
    a = m.body("a", rotate="z", mass=1, inertia=1)
    assert repr(a) == "Body('a' on 'n': a)"
    assert repr(m.point("tip", a, (1, 0, 0))) == "Point('tip' of 'a': a.x)"
    assert (
        repr(lw.control.lqr([[0]], [[1]], [[1]], [[1]]))
        == "Gain(1 x 1, rightmost of its poles -1+0j)"
    )
    for name in ("mass", "name"):
        with pytest.raises(lw.Error, match=f"'{name}' of Body.* cannot be changed"):
            setattr(a, name, 7)
