"""Results that are copied and sent to other processes; what cannot be sent says so."""

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.recording import Recording
from linkwright.scene.sources import what_moved
from linkwright.simulation.native.machine import Machine
from linkwright.simulation.native.session import Session


def swing() -> lw.Mechanism:
    m = lw.Mechanism("swing")
    m.body("rod", rotate="z", mass=1, com=("L", 0, 0), inertia=0)
    m.parameter("L", 2.0, unit="m")
    m.gravity(along="-y")
    m.output("height", "2*rod", unit="rad")
    return m


def sent(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))  # noqa: S301 - our own


WAYS: dict[str, Callable[[Any], Any]] = {
    "sent": sent,
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
}


def same(a: Recording, b: Recording) -> bool:
    return (
        a.channels == b.channels
        and np.array_equal(a.times, b.times)
        and np.array_equal(a.data, b.data)
    )


@pytest.mark.parametrize("way", WAYS)
def test_a_run_arrives_whole(way: str) -> None:
    run = lw.simulate(swing(), 0.5)
    other = WAYS[way](run)
    assert same(run.recording, other.recording)
    np.testing.assert_array_equal(run["height"], other["height"])
    assert (other.steps, other.report, other.units) == (run.steps, run.report, run.units)
    np.testing.assert_array_equal(run.energies().total, other.energies().total)
    assert (other.mechanism is run.mechanism) == (way != "sent")


@pytest.mark.parametrize("way", WAYS)
def test_a_recording_arrives_with_what_can_be_told_of_its_model(way: str) -> None:
    recording = lw.simulate(swing(), 0.5).recording
    other = WAYS[way](recording)
    assert same(recording, other)
    moved = what_moved(other).thing
    assert isinstance(moved, lw.Mechanism)
    assert list(moved.coordinates) == ["rod"]
    if way == "copied deeply":
        other.data[:] = 0
        assert recording.data.any()


@pytest.mark.parametrize("way", WAYS)
def test_a_run_of_a_system_and_a_batch_arrive(way: str) -> None:
    system = lw.System(swing(), base=100)
    run = lw.simulate(system, 0.5)
    other = WAYS[way](run)
    assert same(run.recording, other.recording)
    assert (other.final, other.events, other.stop) == (run.final, run.events, run.stop)
    if way == "sent":
        assert [s.name for s in other.system.phases().x] == ["rod", "rod_dot"]
    batch = lw.simulate_batch(system, 0.5, parameters={"L": [1.0, 2.0]}, every=1)
    many = WAYS[way](batch)
    np.testing.assert_array_equal(batch["rod"], many["rod"])
    assert same(batch.recording(1), many.recording(1))
    assert what_moved(many.recording(1)).thing is not None


def test_a_linear_model_arrives() -> None:
    model = lw.linearize(swing())
    np.testing.assert_array_equal(sent(model).a, model.a)


def in_another_process(length: float) -> Recording:
    return lw.simulate(swing(), 0.2, parameters={"L": length}).recording


def test_a_pool_returns_recordings() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map_async(in_another_process, [1.0, 3.0]).get(timeout=120)
    for length, recording in zip((1.0, 3.0), found, strict=True):
        assert same(recording, in_another_process(length))


def test_errors_arrive_with_all_they_say() -> None:
    error = lw.InputError("wrong", file="a.toml", line=3, column=2, remedy="mend it")
    assert str(sent(error)) == str(error) == "a.toml:3:2: wrong; mend it"


@pytest.mark.parametrize("backend", ["llvm", "c", "python"])
def test_a_kernel_is_its_own_copy_and_is_not_sent(backend: str) -> None:
    kernel = lw.compile(lw.derive(swing()).program(), backend=backend)
    kernel(*(np.ones(p.shape) for p in kernel.inputs))
    kernel.batch(*(np.ones((3, *p.shape)) for p in kernel.inputs))
    assert copy.copy(kernel) is kernel
    assert copy.deepcopy([kernel])[0] is kernel
    assert copy.deepcopy(kernel.batch)(*(np.ones((3, *p.shape)) for p in kernel.inputs)) is not None
    with pytest.raises(lw.BackendError, match="build it in each process"):
        pickle.dumps(kernel)


def test_native_memory_is_not_copied() -> None:
    """Its addresses would be those of the original."""
    session = Session(lw.System(swing(), base=100).phases(), 1.0)
    assert isinstance(session.machine, Machine)
    with pytest.raises(lw.Error, match="snapshot"):
        copy.deepcopy(session)
    held: list[Any] = [session.machine, session.machine.bundle.code._engine]
    for way in WAYS.values():
        for thing in held:
            with pytest.raises(lw.Error, match="not copied"):
                way(thing)
