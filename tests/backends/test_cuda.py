"""Programs for cards: PTX that ptxas assembles, with the roundings of the CPU, and clear errors.

What runs on a card is compared bit by bit by `make test-gpu`; these tests need none.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwright as lw
from linkwright.algebra import foreign, symbol
from linkwright.backends.cuda import driver
from linkwright.backends.cuda.arrays import is_on_card, placed
from linkwright.backends.cuda.ptx import ptx_of
from linkwright.base.errors import Error
from linkwright.models import MODELS
from linkwright.program import program
from linkwright.robots import Robot
from linkwright.system import system_of
from tests.seeds import cases

DAILY = ["pendulum", "four-bar", "car", "whipple"]


@cache
def ptxas() -> Path:
    """The assembler of the wheel `nvidia-cuda-nvcc-cu12`."""
    found = importlib.util.find_spec("nvidia.cuda_nvcc")
    assert found is not None
    assert found.submodule_search_locations is not None
    path = Path(next(iter(found.submodule_search_locations))) / "bin" / "ptxas"
    path.chmod(0o755)
    return path


def assembled(text: str, tmp_path: Path, architecture: str = "sm_90") -> int:
    """Assemble PTX for a card; return the size of its code."""
    source, target = tmp_path / "kernel.ptx", tmp_path / "kernel.cubin"
    source.write_text(text)
    subprocess.run(
        [ptxas(), f"-arch={architecture}", "-O1", str(source), "-o", str(target)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return target.stat().st_size


@pytest.mark.parametrize("name", cases(sorted(MODELS), daily=DAILY))
def test_every_shipped_model_is_assembled_for_a_card(name: str, tmp_path: Path) -> None:
    derivative = system_of(lw.load(name)).phases(()).derivative
    if name.startswith("spacecraft-1"):  # its thrusters are a function in Python
        with pytest.raises(Error, match="calls the function 'thrust', which a card cannot"):
            ptx_of(derivative)
        return
    text = ptx_of(derivative)
    assert ".extern" not in text  # everything that it calls is in it
    assert not re.search(r"\b(add|sub|mul|fma)\.f64", text)  # .rn: no assembler fuses them
    assert not re.search(r"\b(div|sqrt)\.(approx|full)", text)
    assert assembled(text, tmp_path) > 1000


@pytest.mark.parametrize("kernel", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_kernels_of_robots_are_assembled_for_old_and_new_cards(kernel: str, tmp_path: Path) -> None:
    robot = Robot("puma560:drives=off")
    text = ptx_of(getattr(robot, kernel)._for_speed())
    assert text == ptx_of(getattr(robot, kernel)._for_speed())
    assert text.count("fma.rn.f64") > 50
    for architecture in ("sm_70", "sm_100"):
        assert assembled(text, tmp_path, architecture) > 1000


def test_single_precision_has_no_double_arithmetic(tmp_path: Path) -> None:
    made = program("f", {"x": list("xyz")}, {"f": lambda x, y, z: [x * y + z, x / y, x - z]})
    text = ptx_of(made, "f32")
    assert "mul.rn.f32" in text
    assert "div.rn.f32" in text
    assert ".f64" not in text
    assembled(text, tmp_path)


def test_a_python_function_is_rejected_by_name() -> None:
    x = symbol("x")
    called = program("p", {"x": x}, {"y": foreign("friction", python=abs)(x)})
    with pytest.raises(Error, match="'friction', which a card cannot"):
        ptx_of(called)


def test_without_a_driver_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    driver.library.cache_clear()
    monkeypatch.setattr(driver, "_LIBRARIES", ("libnothing-of-that-name.so",))
    kernel = lw.compile(program("f", {"x": ["x"]}, {"y": lambda x: [x + 1]}), backend="cuda")
    with pytest.raises(Error) as caught:
        kernel(np.zeros((3, 1)))
    assert "there is no NVIDIA driver on this machine" in str(caught.value)
    assert "\n" not in str(caught.value)
    driver.library.cache_clear()


def there(shape: tuple[int, ...], dtype: str = "<f8", strides: Any = None) -> Any:
    """Something that says it is an array on a card."""
    told = {"shape": shape, "typestr": dtype, "data": (4096, False), "version": 3}
    return SimpleNamespace(__cuda_array_interface__={**told, "strides": strides})


def test_arrays_on_cards_are_read_where_they_are() -> None:
    double = np.dtype(np.float64)
    assert is_on_card(there((3,)))
    assert not is_on_card(np.zeros(3))
    assert not is_on_card([1.0])
    assert placed(there((9, 6)), "q", (6,), double).step == 6
    assert placed(there((6,)), "q", (6,), double).step == 0  # one row that all share
    assert placed(there((9, 6), strides=(96, 8)), "q", (6,), double).step == 12  # every second row
    for wrong, words in (
        (there((9, 6), "<f4"), "float32; give float64"),
        (there((9, 5)), "its last axes are 6"),
        (there((2, 9, 6)), "its last axes are 6"),
        (there((9, 6), strides=(8, 72)), "not dense; copy it"),
    ):
        with pytest.raises(Error, match=words):
            placed(wrong, "q", (6,), double)


def test_a_robot_asks_the_card_where_arrays_lie_there(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = Robot("puma560:drives=off")
    asked: list[Any] = []

    class Card:
        """What computes there."""

        def batch(self, *arrays: Any, out: Any = None) -> str:
            asked.extend(arrays)
            return "on the card"

    robot.inverse_dynamics(np.zeros(6), np.zeros(6), np.zeros(6))
    monkeypatch.setattr(type(robot.inverse_dynamics), "_cuda", Card())
    q = there((9, 6))
    assert robot.inverse_dynamics(q, q, q) == "on the card"
    assert asked[:3] == [q, q, q]
