"""A machine in fewer coordinates: the same poses, the same rates, the same singularities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import null_space

from linkwright.algebra import Expr, evaluate_all
from linkwright.equations.evaluation import all_values
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.equations.reduced_machine import ReducedMachine, reduced_machine
from linkwright.mechanism import Mechanism
from linkwright.models import load_model
from linkwright.parallel import prove_regular
from linkwright.parallel.machine_rates import MachineRates, machine_rates
from tests.seeds import seldom
from tests.support.closed_loop_machines import five_bar

Array = NDArray[np.float64]
Machines = tuple[MachineRates, ReducedMachine, MachineRates]


@pytest.fixture(scope="module")
def prismatic() -> Machines:
    own = machine_rates("mount-prismatic")
    reduced = reduced_machine(own.machine)
    return own, reduced, machine_rates(reduced.machine, length=own.length)


def poses(rates: MachineRates) -> Array:
    return rates.samples(rates.coordinates(None), 4)


def driving(rates: MachineRates, q: Array) -> Array:
    """Return the actuators' rates by rates of the direction, least of all rates of it."""
    now = rates.at(q)
    free = null_space(now.jacobian, rcond=1e-9)
    return np.asarray(free[rates.driven] @ np.linalg.pinv(now.turning @ free))


def test_a_reduced_machine_has_the_poses_and_rates_of_its_original(prismatic: Machines) -> None:
    own, reduced, less = prismatic
    assert (len(own.names), len(less.names), len(less.machine.relations)) == (18, 13, 11)
    for q in poses(own):
        x = reduced.coordinates(q)
        assert np.abs(less.at(x).residual).max() < 1e-10
        np.testing.assert_allclose(less.at(x).direction, own.at(q).direction, atol=1e-12)
        np.testing.assert_allclose(less.at(x).position, own.at(q).position, atol=1e-12)
        np.testing.assert_allclose(driving(less, x), driving(own, q), atol=1e-9)


def test_the_condition_of_a_leg_is_the_determinant_of_its_own_joints(prismatic: Machines) -> None:
    own, reduced, less = prismatic
    rows = [k for k, n in enumerate(own.machine.names) if n.startswith("foot1:")]
    columns = [own.names.index(n) for n in ("jack1_cross", "jack1", "leg1")]
    values = all_values(own.machine.mechanism, None)
    given: dict[Expr, object] = {p: values[p.name] for p in own.machine.parameters}
    for q in poses(own):
        x = reduced.coordinates(q)
        given |= dict(zip(less.machine.coordinates, x, strict=True))
        (condition, _) = evaluate_all(reduced.conditions, given)
        block = own.at(q).jacobian[np.ix_(rows, columns)]
        length = q[own.names.index("leg1")]
        assert abs(np.linalg.det(block) ** 2 - length**2 * condition) < 1e-9


def test_the_tree_is_cut_where_the_platform_hangs_by_the_shortest_chain() -> None:
    own = machine_rates("mount-2-rotary")
    reduced = reduced_machine(own.machine)
    less = machine_rates(reduced.machine, length=own.length)
    assert len(less.names) == len(own.names) - 1  # no quaternion
    q = poses(own)[0]
    x = reduced.coordinates(q)
    assert np.abs(less.at(x).residual).max() < 1e-10
    np.testing.assert_allclose(driving(less, x), driving(own, q), atol=1e-9)


def test_a_machine_with_other_loops_stays_as_it_is() -> None:
    machine = parallel_machine(five_bar())
    reduced = reduced_machine(machine)
    assert reduced.machine is machine
    assert reduced.words == ()


def test_a_limit_of_a_legs_own_joint_keeps_the_leg() -> None:
    m = load_model("mount-prismatic")
    assert isinstance(m, Mechanism)
    m.limit("jack1", -1.0, 1.0)
    reduced = reduced_machine(parallel_machine(m))
    assert "jack1" in {x.name for x in reduced.machine.coordinates}
    assert "jack2" not in {x.name for x in reduced.machine.coordinates}


@seldom(
    daily="tests/parallel/test_certificates.py::test_a_region_without_singular_directions_is_proven"
)
def test_a_proof_says_that_the_machine_was_reduced() -> None:
    found = prove_regular("mount-prismatic", math.radians(8))
    assert found.proven
    assert "reduced before, exactly: strut turns on the ground by three angles" in found.words
    assert "the leg jack2_cross, jack2, leg2 became one relation of its length" in found.words
    assert "the joints of these legs are regular there" in found.words
