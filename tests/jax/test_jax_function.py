"""Exact gradients for JAX, by a stand-in for it that calls an operation and its way back.

With JAX itself (0.10, double precision) `jit`, `vmap`, `grad` and `jacrev` of these functions give
what JAX gives of the same formulas, and `jax.test_util.check_grads` passes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwright as lw
import linkwright.jax
from linkwright.base.errors import Error
from linkwright.program import Program, program
from linkwright.robots import Robot


class FakeOperation:
    """An operation with a way back; the last one that was called."""

    last: Any = None

    def __init__(self, compute: Callable[..., Any]) -> None:
        self.compute = compute

    def defvjp(self, forth: Callable[..., Any], back: Callable[..., Any]) -> None:
        """Take its derivative."""
        self.forth, self.back = forth, back

    def __call__(self, *given: Any) -> Any:
        """Compute."""
        found, kept = self.forth(*given)
        FakeOperation.last = (self, kept)
        return found


def called(host: Any, results: Any, *given: Any, vmap_method: str) -> Any:
    """Call what computes on the processor, whose results are to have the shapes that were said."""
    assert vmap_method == "broadcast_all"
    found = host(*given)
    assert [(y.shape, y.dtype) for y in found] == [(s.shape, s.dtype) for s in results]
    return found


@pytest.fixture
def _jax(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SimpleNamespace(
        numpy=np,
        custom_vjp=FakeOperation,
        pure_callback=called,
        ShapeDtypeStruct=lambda shape, dtype: SimpleNamespace(shape=shape, dtype=dtype),
    )
    monkeypatch.setitem(sys.modules, "jax", fake)


def small() -> Program:
    """Two inputs, two results."""
    return program(
        "small",
        {"x": ["a", "b"], "k": ["k"]},
        {"y": lambda a, b, k: [lw.sin(a) * b, a * k], "z": lambda a, b, k: [b**2 * k]},
    )


@pytest.mark.usefixtures("_jax")
def test_gradients_are_those_by_hand_with_any_leading_axes() -> None:
    f = linkwright.jax.function(small())
    rng = np.random.default_rng(1)
    x, k = rng.normal(size=(2, 3, 2)), np.array([1.5])
    y, z = f(x, k)
    a, b = x[..., 0], x[..., 1]
    np.testing.assert_allclose(y, np.stack([np.sin(a) * b, a * 1.5], -1), rtol=1e-15)
    np.testing.assert_allclose(z[..., 0], b**2 * 1.5, rtol=1e-15)
    u, v = rng.normal(size=(2, 3, 2)), rng.normal(size=(2, 3, 1))
    operation, kept = FakeOperation.last
    bar_x, bar_k = operation.back(kept, (u, v))
    by_a = np.cos(a) * b * u[..., 0] + 1.5 * u[..., 1]
    by_b = np.sin(a) * u[..., 0] + 2 * b * 1.5 * v[..., 0]
    np.testing.assert_allclose(bar_x, np.stack([by_a, by_b], -1), rtol=1e-13)
    np.testing.assert_allclose(bar_k[..., 0], a * u[..., 1] + b**2 * v[..., 0], rtol=1e-13)
    assert f(x[0, 0], k)[0].shape == (2,)


@pytest.mark.usefixtures("_jax")
def test_a_robot_is_what_it_is_without_jax() -> None:
    arm = Robot("puma560:drives=off")
    f = linkwright.jax.function(arm.inverse_dynamics)
    given = np.random.default_rng(2).normal(size=(3, 4, 6))
    np.testing.assert_allclose(f(*given), arm.inverse_dynamics(*given), rtol=1e-12)


@pytest.mark.usefixtures("_jax")
def test_wrong_arrays_are_named() -> None:
    f = linkwright.jax.function(small())
    for given, words in (
        (([1.0, 2.0],), r"takes 2 arrays \(x, k\)"),
        (([1.0], [1.0]), "x has the shape"),
        ((np.ones((3, 2)), np.ones((4, 1))), "do not fit together"),
    ):
        with pytest.raises(Error, match=words):
            f(*given)
    with pytest.raises(Error, match="has no Program; give robot"):
        linkwright.jax.function(3)


def test_without_jax_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(Error, match="needs the package jax, which is not installed; pip install"):
        linkwright.jax.function(small())([1.0, 2.0], [1.0])
