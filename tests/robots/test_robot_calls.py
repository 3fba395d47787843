"""Calls of a robot's quantities go to native code, and what they need is all that is imported."""

from __future__ import annotations

import copy
import ctypes
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.robots import Robot
from tests.seeds import seeds, seldom

_FIRST = """
import json, sys
import numpy as np
import linkwright as lw
robot = lw.load("tests/robots/gripper.urdf")
robot.inverse_dynamics(*[np.zeros(len(robot.speeds))] * 3)
print(json.dumps([name for name in sys.modules if name.startswith("linkwright.")]))
"""


@pytest.fixture(scope="module")
def arm() -> Robot:
    return Robot("puma560")


def state(seed: int) -> list[Any]:
    return list(np.random.default_rng(seed).normal(size=(3, 6)))


@pytest.mark.parametrize("seed", seeds(2, daily=1))
def test_loads_by_keyword_go_to_the_native_function_of_their_frame(arm: Robot, seed: int) -> None:
    """Whatever order, kind and number of keywords: the same bits as the quantity itself gives."""
    motion, rng = state(seed), np.random.default_rng(seed)
    loads = {"wrench": rng.normal(size=6), "payload": rng.normal(size=10), "base": np.ones(3)}
    call = arm.inverse_dynamics
    plain = call(*motion)
    alone, together = [("wrench",), ("payload",)], [("wrench", "payload"), ("payload", "base")]
    for frame, ways in (("tool", together), ("link3", alone)):
        for names in ways:
            given: dict[str, Any] = {name: loads[name] for name in names}
            wanted = call.under(frame, *names)(*motion, *given.values())
            for again in range(3):  # by Python at first, then by native code
                assert np.array_equal(call(*motion, **given, frame=frame), wanted), (names, again)
            assert np.array_equal(call(*motion, frame=frame, **given), wanted)
            assert np.array_equal(
                call(*motion, **given, frame=str(bytes(frame, "ascii"), "ascii")), wanted
            )
            absent = dict.fromkeys(set(loads) - set(names))  # None is as if it were not given
            assert np.array_equal(call(*motion, **given, **absent, frame=frame), wanted), absent
            lists = {name: x.tolist() for name, x in given.items()}
            assert np.allclose(call(*motion, **lists, frame=frame), wanted, rtol=1e-14)
            rows = call(*(np.stack([x, x]) for x in motion), **given, frame=frame)
            assert np.allclose(rows, wanted, rtol=1e-9)
            out = np.zeros(6)
            assert call(*motion, **given, frame=frame, out=out) is out
            assert np.array_equal(out, wanted)
    assert np.array_equal(call(*motion), plain)


def test_no_python_stands_before_the_native_function(arm: Robot) -> None:
    motion = state(1)
    arm.inverse_dynamics(*motion)
    assert type(arm.inverse_dynamics.func) is BuiltinFunctionType
    found = ctypes.pythonapi.PyVectorcall_Function
    found.argtypes, found.restype = (ctypes.py_object,), ctypes.c_void_p
    for quantity in (arm.inverse_dynamics, arm.inverse_dynamics.under("tool", "wrench")):
        assert found(quantity)  # keywords come as they are, and not in a dictionary
    seen: list[str] = []

    def look(frame: Any, event: str, _: object) -> None:
        if event == "call":
            seen.append(frame.f_code.co_name)

    push, carried, up, named = np.ones(6), np.ones(10), np.ones(3), "".join(["to", "ol"])
    for _ in range(2):
        seen.clear()
        sys.setprofile(look)
        try:
            arm.inverse_dynamics(*motion)
            arm.inverse_dynamics(*motion, wrench=push, frame="tool")
            arm.inverse_dynamics(*motion, payload=carried, frame="tool")
            arm.inverse_dynamics(*motion, frame="tool", payload=carried, wrench=push)
            arm.inverse_dynamics(*motion, base=up)
            arm.inverse_dynamics(*motion, wrench=push, frame=named)
        finally:
            sys.setprofile(None)
    assert not seen


def test_loads_have_the_same_bits_in_any_order_of_their_keywords(arm: Robot) -> None:
    motion = state(3)
    rng = np.random.default_rng(3)
    loads = {"wrench": rng.normal(size=6), "payload": rng.uniform(size=10), "base": np.ones(3)}
    want = arm.inverse_dynamics.under("tool", *loads)(*motion, *loads.values())
    for order in itertools.permutations([*loads.items(), ("frame", "tool")]):
        for _ in range(2):
            assert arm.inverse_dynamics(*motion, **dict(order)).tobytes() == want.tobytes()
    other = arm.inverse_dynamics(*motion, **loads, frame=arm.frames[0])
    assert other.tobytes() != want.tobytes()


def test_what_was_kept_before_the_first_call_builds_nothing_again() -> None:
    call = Robot("puma560").inverse_dynamics
    kept, motion = call.func, state(1)
    first = kept(*motion)
    made = call.func
    assert kept(*motion).tobytes() == first.tobytes()
    assert call.func is made


def test_a_copy_of_a_quantity_is_the_quantity(arm: Robot) -> None:
    call = arm.inverse_dynamics
    assert copy.copy(call) is call
    assert copy.deepcopy([call]) == [call]


def test_what_does_not_fit_is_refused_in_words(arm: Robot) -> None:
    motion, push = state(2), np.ones(6)
    good = arm.inverse_dynamics(*motion, wrench=push, frame="tool")
    with pytest.raises(lw.Error, match="takes 3 arrays"):
        arm.inverse_dynamics(*motion, np.zeros(6))  # which would be filled
    for wrong in (np.ones(5), np.ones((6, 1)), ["push"]):
        with pytest.raises(lw.Error):
            arm.inverse_dynamics(*motion, wrench=wrong, frame="tool")
    with pytest.raises(TypeError):
        arm.inverse_dynamics(*motion, pull=push, frame="tool")
    with pytest.raises(lw.Error, match="needs the name of the frame"):
        arm.inverse_dynamics(*motion, wrench=push)
    with pytest.raises(lw.Error, match="toool"):
        arm.inverse_dynamics(*motion, wrench=push, frame="toool")
    assert np.array_equal(arm.inverse_dynamics(*motion, wrench=push, frame="tool"), good)


@seldom(
    daily="tests/robots/test_robots_loading.py::test_a_second_process_needs_nothing_that_derives_programs"
)
def test_a_first_result_from_the_cache_imports_nothing_that_derives(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    for turn in ("cold", "warm"):
        done = subprocess.run(
            [sys.executable, "-c", _FIRST],
            env={**os.environ, "LINKWRIGHT_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        )
        table = ("linkwright.mechanism", "linkwright.mechanism.joint_kinds")  # names alone
        rooms = {name.split(".")[1] for name in json.loads(done.stdout) if name not in table}
        derives = {"algebra", "program", "mechanism", "equations", "system", "simulation"}
        assert (rooms & derives == set()) == (turn == "warm")
