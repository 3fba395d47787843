"""Slots: functions that are exchanged between two ticks, on the tape and off it."""

from __future__ import annotations

import numpy as np
import pytest

from linkwright.algebra import symbols
from linkwright.base.errors import Error
from linkwright.blocks import FunctionSlot, Integrator, SlotPort
from linkwright.program import program
from linkwright.simulation.native.called import (
    SlotFunction,
    native_function,
    python_function,
    taped_function,
)
from linkwright.simulation.native.session import Session
from linkwright.simulation.native.stored import from_data, is_storable, to_data
from linkwright.simulation.pacing import PacedLoop, replay
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from linkwright.system import System
from tests.seeds import cases
from tests.simulation.test_pacing import kite


def slotted() -> System:
    """A slot at 500 Hz whose first result is integrated."""
    system = System(name="slotted", base=1000)
    slot = system.add(FunctionSlot({"u": SlotPort()}, {"y": SlotPort((2,))}, rate=500), name="task")
    summed = system.add(Integrator(), name="sum")
    system.connect(slot.y[0], summed.u)
    return system


def session(executor: str = "native") -> Session:
    return session_of(slotted(), RunSettings(60.0, every=1, executor=executor))[0]


def summing() -> SlotFunction:
    t, number, u, a, b = symbols("t number u a b")
    inputs = {"t": [t], "arguments": [number, u], "held": [a, b]}
    return native_function("summing", program("f", inputs, {"results": [a + u, b + 1]}))


def scaling(t: float, arguments: np.ndarray, results: np.ndarray) -> None:
    results[0] = arguments[1] * t
    results[1] += 1


def played(loop: PacedLoop) -> None:
    """Exchange functions on the way."""
    loop.go_to(10)
    for end, number, u in ((20, 1, 0.5), (30, 2, 0.25), (40, 1, 0.25), (50, 2, 0.125), (60, 0, 1)):
        loop.set({"task.number": number, "task.u": u})
        loop.go_to(end)


def test_functions_are_exchanged_between_two_ticks_and_number_0_holds() -> None:
    run = session()
    run.install("task", 1, summing())
    run.install("task", 2, python_function("scaling", scaling))
    loop = PacedLoop(run, clock="virtual", waits=True)
    loop.go_to(10)
    assert loop.latest().d.tolist() == [0, 0]
    loop.set({"task.number": 1, "task.u": 0.5})
    loop.go_to(20)
    assert loop.latest().d.tolist() == [2.5, 5]
    loop.set({"task.number": 2, "task.u": 0.25})
    loop.go_to(30)
    assert loop.latest().d.tolist() == [0.25 * 0.03, 10]
    loop.set({"task.number": 0})
    loop.go_to(40)
    assert loop.latest().d.tolist() == [0.25 * 0.03, 10]


def test_a_replay_has_the_bits_although_python_is_not_called() -> None:
    """The tape of a run in lockstep has the exchanges, and what Python functions gave."""
    run = session()
    run.install("task", 1, summing())
    run.install("task", 2, python_function("scaling", scaling))
    loop = PacedLoop(run, clock="virtual", waits=True)
    played(loop)
    tape, live = loop.tape(), loop.samples()
    assert [c.value for c in tape if c.name == "task.number"] == [1, 2, 1, 2, 0]
    again = session()
    again.install("task", 1, summing())
    again.install("task", 2, taped_function("scaling"))
    found = replay(again, tape)
    assert np.array_equal(found.samples.values, live.values)


def test_a_replay_without_a_native_function_is_refused() -> None:
    run = session()
    run.install("task", 1, summing())
    loop = PacedLoop(run, clock="virtual", waits=True)
    played_until = 20
    loop.set({"task.number": 1})
    loop.go_to(played_until)
    with pytest.raises(Error, match="'task' has no function number 1"):
        replay(session(), loop.tape())


def test_the_plain_executor_and_the_session_give_the_same() -> None:
    values = []
    for executor in ("native", "python"):
        run = session(executor)
        run.install("task", 1, summing())
        run.install("task", 2, python_function("scaling", scaling))
        for end, number in ((11, 1), (21, 2), (31, 1)):
            run.set({"task.number": number, "task.u": 0.5})
            run.extend(end)
            while not run.done:
                run.collect()
        values.append(run.collected().values)
    np.testing.assert_allclose(values[0], values[1], rtol=1e-14)


def test_by_mail_python_answers_a_tick_later_and_native_at_once() -> None:
    run = session()
    run.install("task", 1, summing())
    run.install("task", 2, python_function("scaling", scaling))
    loop = PacedLoop(run, clock="virtual")
    played(loop)
    tape, live = loop.tape(), loop.samples()
    assert loop.counters.late == 0
    again = session()
    again.install("task", 1, summing())
    again.install("task", 2, taped_function("scaling"))
    assert np.array_equal(replay(again, tape).samples.values, live.values)
    lacking = session()
    lacking.install("task", 1, summing())
    with pytest.raises(Error, match="'task' has no function number 2"):
        replay(lacking, tape)


def test_an_answer_to_a_function_that_was_exchanged_is_dropped() -> None:
    run = session()
    run.install("task", 2, python_function("scaling", scaling))
    loop = PacedLoop(run, clock="virtual")
    loop.set({"task.number": 2, "task.u": 1.0})
    loop.go_to(4)
    held = loop.latest().d.tolist()
    loop.set({"task.number": 0})
    loop.go_to(8)
    assert loop.latest().d[1] <= held[1] + 1


def test_failures_tell_what_failed_and_the_run_goes_on_from_there() -> None:
    def failing(t: float, arguments: np.ndarray, results: np.ndarray) -> None:
        if arguments[1] > 0:
            raise ValueError("no such luck")

    def lost(t: float, arguments: np.ndarray, results: np.ndarray) -> None:
        results[1] = np.nan

    run = session()
    run.install("task", 1, python_function("failing", failing))
    run.install("task", 2, python_function("lost", lost))
    loop = PacedLoop(run, clock="virtual", waits=True)
    loop.set({"task.number": 1})
    loop.go_to(10)
    loop.set({"task.u": 1.0})
    with pytest.raises(Error, match=r"'failing' failed at t = 0.012 s: ValueError: no such luck"):
        loop.go_to(20)
    assert loop.session.tick == 12
    loop.set({"task.u": 0.0})
    loop.go_to(20)
    loop.set({"task.number": 2})
    with pytest.raises(Error, match=r"'lost' gave nan for task.y\[1\] at t = 0.022 s"):
        loop.go_to(30)
    loop.set({"task.number": 7})
    with pytest.raises(Error, match="no function number 7"):
        loop.go_to(30)
    loop.set({"task.number": 1})
    loop.go_to(40)
    assert loop.latest().d.tolist() == [0, 0]
    again = session()
    for number in (1, 2, 7):
        again.install("task", number, taped_function("some"))
    assert np.array_equal(replay(again, loop.tape()).samples.values, loop.samples().values)


def test_a_native_function_that_gives_no_number_is_told_by_name() -> None:
    t, number, u, a, b = symbols("t number u a b")
    inputs = {"t": [t], "arguments": [number, u], "held": [a, b]}
    made = native_function("pole", program("f", inputs, {"results": [1 / u, b]}))
    run = session()
    run.install("task", 1, made)
    run.set({"task.number": 1})
    with pytest.raises(Error, match=r"'pole' gave inf for task.y\[0\]"):
        run.advance()


def test_phases_with_a_slot_are_plain_data() -> None:
    phases = slotted().phases([])
    assert is_storable(phases)
    assert [tick.exchanged for tick in from_data(to_data(phases)).ticks] == [True]


def test_wrong_slots_and_numbers_are_refused() -> None:
    run = session()
    with pytest.raises(Error, match="there is no slot 'other'"):
        run.install("other", 1, summing())
    with pytest.raises(Error, match="no function number 0"):
        run.install("task", 0, summing())
    with pytest.raises(Error, match="tick by tick"):
        PacedLoop(run, clock="virtual", stride=2)


@pytest.mark.parametrize("native", [True, False])
def test_what_a_slot_holds_can_be_changed_before_its_function_goes_on_from_there(
    native: bool,
) -> None:
    """Changes of results enter what is held; on the tape they are apart from what was given."""
    kept = summing() if native else python_function("keeping", lambda *_: None)
    run = session()
    loop = PacedLoop(run, clock="virtual", waits=True)
    run.install("task", 1, kept)
    held = [s.name for s in run.phases.d if s.name.startswith("task.")]
    loop.go_to(4)
    loop.enter({name: 3.0 + i for i, name in enumerate(held)})
    loop.go_to(6)
    assert [run.place().d[name] for name in held] == [3.0 + i for i in range(len(held))]
    loop.enter({"task.number": 1.0})
    loop.go_to(20)
    loop.enter({"task.number": 0.0, held[0]: -1.0})
    loop.go_to(30)
    assert run.place().d[held[0]] == -1.0
    again = session()
    again.install("task", 1, kept if native else taped_function("keeping"))
    found = replay(again, loop.tape())
    assert np.array_equal(found.samples.values, loop.samples().values)
    assert again.place().d == run.place().d


def test_results_stay_on_the_tape_where_the_form_of_equations_changes() -> None:
    """The machine of a session becomes another one on the way; its slot goes on there."""

    def with_slot(system: System) -> None:
        slot = FunctionSlot({"q": SlotPort()}, {"y": SlotPort((2,))}, name="task")
        system.connect(system.mechanism.coordinates["a"], system.add(slot, rate=100).q)

    def doubling(t: float, arguments: np.ndarray, results: np.ndarray) -> None:
        results[0] = 2 * arguments[1]
        results[1] += 1

    live = kite(with_slot)
    live.install("task", 1, python_function("doubling", doubling))
    loop = PacedLoop(live, clock="virtual", waits=True)
    loop.set({"task.number": 1})
    loop.go_to(60)
    assert live.fallback is not None
    assert any("went through a singular configuration" in line for line in live.fallback.report)
    again = kite(with_slot)
    again.install("task", 1, taped_function("doubling"))
    found = replay(again, loop.tape())
    assert np.array_equal(found.samples.values, loop.samples().values)
    assert found.d["task.y[1]"] == 61


def test_what_a_slot_holds_can_be_changed_where_the_loop_stands_still() -> None:
    run = session()
    run.install("task", 1, summing())
    loop = PacedLoop(run, clock="virtual", waits=True)
    loop.go_to(10)
    loop.enter({"task.y[0]": 3.0, "task.number": 1.0, "task.u": 0.5})
    loop.settle()
    assert loop.latest().d.tolist() == [3.0, 0.0]
    loop.go_to(12)
    assert loop.latest().d.tolist() == [3.5, 1.0]
    again = session()
    again.install("task", 1, summing())
    assert np.array_equal(replay(again, loop.tape()).samples.values, loop.samples().values)


@pytest.mark.parametrize("executor", ["native", "python"])
@pytest.mark.parametrize(
    "number",
    cases(
        [0.5, 1.5, -1, 4096, 1e18, 9.3e18, 1e300, -1e300, np.inf, -np.inf, np.nan],
        daily=[0.5, -1, 9.3e18, np.inf, np.nan],
    ),
)
def test_a_number_that_no_function_has_is_refused(number: float, executor: str) -> None:
    run = session(executor)
    run.install("task", 1, summing())
    run.set({"task.number": number})
    for _ in range(2):
        with pytest.raises(Error, match="'task' has no function number"):
            run.advance()


@pytest.mark.parametrize(
    ("arguments", "held"),
    cases([(1, 2), (3, 2), (2, 1), (2, 3), (9000, 2)], daily=[(1, 2), (2, 3), (9000, 2)]),
)
def test_a_function_of_other_sizes_is_refused(arguments: int, held: int) -> None:
    """Native code would take what is held, and put results, beside the slot's memory."""
    symbols_ = [list(symbols(" ".join(f"{n}{i}" for i in range(9001)))) for n in "ah"]
    inputs = {"t": list(symbols("t s"))[:1], "arguments": symbols_[0][:arguments]}
    inputs["held"] = symbols_[1][:held]
    wrong = native_function("wrong", program("f", inputs, {"results": inputs["held"]}))
    run = session()
    with pytest.raises(
        Error, match=r"of the slot 'task' has the sizes .* where \[1, 2, 2, 2\] fit"
    ):
        run.install("task", 1, wrong)
