"""The native tick of a whole-body controller: against its own text in Python, and in runs."""

from __future__ import annotations

import copy
import ctypes
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.base.errors import Error
from linkwright.wholebody import Controller, FlatContact, center_of_mass, daqp_door
from tests.seeds import seeds
from tests.support.late import Late
from tests.support.python_tick import PythonTick
from tests.wholebody.test_wholebody_controller import FEET, STANCE, dog, somewhere, standing

proxsuite = Late("proxsuite")

Array = NDArray[np.float64]


def asked(seed: int) -> Controller:
    """A controller with tasks of every kind, in one or two priorities."""
    rng = np.random.default_rng(seed)
    points = [(0.01, 0.01, 0), (-0.01, 0.0, 0)]
    first = FlatContact(FEET[0], points=points, max_force=60.0)
    contacts: list[str | FlatContact] = [first, *FEET[1:]]
    body = Controller(
        dog(), contacts, friction=0.5, settling=0.05, effort_weight=float(rng.choice([0, 1e-4]))
    )
    late = 1 + seed % 2
    q = standing()
    body.track("trunk", pose=dog().pose(q, "trunk"), weight=3.0, kp=80.0)
    body.track(center_of_mass, position=dog().center_of_mass(q) - [0, 0, 0.02], priority=late)
    body.momentum(weight=0.1)
    body.force(FEET[2], (0, 0, 20.0), weight=1e-4)
    body.posture(STANCE, weight=0.2, priority=late)
    return body


@pytest.mark.parametrize("seed", seeds(8, daily=2))
def test_native_code_gives_what_its_text_gives_in_python(seed: int) -> None:
    """The routine, run by Python with NumPy's sums, and with DAQP's own Python function."""
    body, (q, u) = asked(seed), somewhere(seed)
    python = PythonTick(body, q, u)
    found = python.run()
    native = body._own().results(np.concatenate([q, u]), 0.0)
    assert native == pytest.approx(found, rel=1e-6, abs=1e-6)
    assert len(python.programs) >= python.levels


@pytest.mark.parametrize("seed", seeds(8, daily=2))
def test_programs_have_the_solutions_of_another_solver(seed: int) -> None:
    """Those of a tick, by proxsuite: an augmented Lagrangian; DAQP is an active-set method."""
    python = PythonTick(asked(seed), *somewhere(seed))
    python.run()
    for H, f, rows, upper, lower, _, x, flag in python.programs:
        if flag != 1 or np.linalg.cond(H) > 1e9:
            continue
        qp = proxsuite.proxqp.dense.QP(len(f), 0, len(rows))
        qp.settings.eps_abs, qp.settings.max_iter = 1e-10, 100_000
        qp.init(H, f, None, None, rows, np.maximum(lower, -1e20), np.minimum(upper, 1e20))
        qp.solve()
        other = qp.results.x
        ours, theirs = (0.5 * y @ H @ y + f @ y for y in (x, other))
        assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-6)
        assert np.max(np.concatenate([rows @ x - upper, lower - rows @ x])) < 1e-6


def stand(body: Controller, until: float, **options: Any) -> Any:
    """A run on a floor of a controller that is asked to stand 1 cm lower."""
    system = lw.System(dog(), name="dog", base=1000)
    system.add(
        lw.elements.Contact(
            dog(), FEET, lw.elements.Plane(), stiffness=5e4, damping=300, static=0.8, tangential=2e4
        )
    )
    system.add(body, rate=500)
    start = dict(zip(dog().coordinates, standing(), strict=True))
    return lw.simulate(system, until, method="semi-implicit", initial=start, every=50, **options)


def lower(varies: bool) -> Controller:
    """A controller whose target is a constant, or a function of time that is one."""
    place = dog().center_of_mass(standing()) - [0, 0, 0.01]
    body = Controller(dog(), FEET, friction=0.6)
    body.track(center_of_mass, position=(lambda t: place) if varies else place, weight=10.0)
    body.track("trunk", orientation=np.eye(3), weight=10.0)
    body.posture(STANCE, priority=2)
    return body


def test_ticks_of_a_run_go_without_python_and_have_its_bits(monkeypatch: Any) -> None:
    through, native, python = [0], lower(False), lower(True)
    own = Controller._own

    def counted(self: Controller) -> Any:
        through[0] += 1
        return own(self)

    monkeypatch.setattr(Controller, "_own", counted)
    first = stand(native, 0.05)
    assert through[0] == 0
    second = stand(python, 0.05)
    assert through[0] == 26
    for name in dog().coordinates:
        np.testing.assert_array_equal(first[name], second[name])


def test_a_door_that_is_another_is_found_out_and_python_takes_its_place(
    monkeypatch: Any,
) -> None:
    """A function of the same face that returns something else, and one that is not there."""
    address, keep = daqp_door.python_solver()
    python = daqp_door.SOLVER(address)
    assert daqp_door.agrees(python)

    def wrong(result: Any, problem: Any, settings: Any) -> None:
        python(result, problem, settings)
        x = ctypes.cast(result.contents.x, ctypes.POINTER(ctypes.c_double))
        x[0] += 1e-6

    assert not daqp_door.agrees(daqp_door.SOLVER(wrong))
    q, u = somewhere(3)
    fast = asked(0).solve(q, u)
    daqp_door.solver.cache_clear()
    monkeypatch.setattr(daqp_door, "agrees", lambda _function: False)
    with pytest.warns(UserWarning, match="call Python at each tick"):
        slow = asked(0).solve(q, u)
    daqp_door.solver.cache_clear()
    np.testing.assert_array_equal(slow.effort, fast.effort)
    assert keep is not None


def test_a_copy_of_a_controller_has_memory_of_its_own() -> None:
    body, (q, u) = asked(0), somewhere(1)
    first = body.solve(q, u)
    other = copy.copy(body)
    still = other.solve(standing(), np.zeros(18))
    again = body.solve(q, u)
    assert other._own() is not body._own()
    np.testing.assert_array_equal(again.effort, first.effort)
    assert np.abs(still.effort - first.effort).max() > 0.1


def test_a_program_without_a_solution_is_said_where_it_was_asked(monkeypatch: Any) -> None:
    def fails(result: Any, _problem: Any, _settings: Any) -> None:
        result.contents.flag = -4

    function = daqp_door.SOLVER(fails)
    address = ctypes.cast(function, ctypes.c_void_p).value
    monkeypatch.setattr(daqp_door, "solver", lambda: (address, function))
    with pytest.raises(Error, match="DAQP's flag -4"):
        lower(False).solve(standing(), np.zeros(18))
    with pytest.raises(Error, match="flag -4"):
        stand(lower(False), 0.01)
