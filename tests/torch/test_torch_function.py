"""Exact gradients for PyTorch, by a stand-in for it that records one operation at a time.

With PyTorch itself `torch.autograd.gradcheck` passes for these functions (2.13, double precision),
and `torch.compile(fullgraph=True)` gives the same gradients (2.11, on a card and beside it).
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwright as lw
import linkwright.torch
from linkwright.base.errors import Error
from linkwright.program import Program, program
from linkwright.robots import Robot


class FakeTensor(np.ndarray[Any, Any]):
    """What an array needs to pass for a tensor of the processor."""

    is_cuda, device = False, "cpu"

    def detach(self) -> FakeTensor:
        """Return the same."""
        return self

    def new_empty(self, shape: Any) -> FakeTensor:
        """Return one of another shape."""
        return tensor(np.empty(shape))

    def contiguous(self) -> FakeTensor:
        """Return the same, row by row."""
        return tensor(np.ascontiguousarray(self))

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return a plain array."""
        return np.asarray(self)


def tensor(values: Any, **_: Any) -> FakeTensor:
    """Make one."""
    return np.asarray(values, dtype=float).view(FakeTensor)


class FakeOperation:
    """Calls what an operation computes, and keeps what its gradient needs."""

    last: Any = None

    def __init__(self, name: str, compute: Any, *, mutates_args: Any, schema: str) -> None:
        assert name.startswith("linkwright::")
        self.compute, self.schema = compute, schema

    def register_fake(self, blank: Any) -> None:
        """Take what says which shapes come."""
        self.blank = blank

    def register_autograd(self, pull: Any, *, setup_context: Any) -> None:
        """Take the gradient."""
        self.pull, self.keep = pull, setup_context

    def __call__(self, *given: Any) -> Any:
        """Compute; the shapes are those that were said before."""
        found, said = self.compute(*given), self.blank(*given)
        several = found if isinstance(found, tuple) else (found,)
        blanks = said if isinstance(said, tuple) else (said,)
        assert [y.shape for y in several] == [y.shape for y in blanks]
        assert self.schema.count("Tensor") == len(given) + len(several)
        if hasattr(self, "pull"):
            ctx = SimpleNamespace(needs_input_grad=[True] * len(given))
            ctx.save_for_backward = lambda *kept: setattr(ctx, "saved_tensors", kept)
            self.keep(ctx, given, found)
            FakeOperation.last = (self, ctx)
        return found


@pytest.fixture
def _torch(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SimpleNamespace(
        Tensor=FakeTensor, as_tensor=tensor, library=SimpleNamespace(custom_op=FakeOperation)
    )
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.setattr(linkwright.torch, "_operations", {})


def pulled(*bars: Any) -> tuple[Any, ...]:
    """Return the gradients of the last operation for those of its results."""
    operation, ctx = FakeOperation.last
    return tuple(operation.pull(ctx, *map(tensor, bars)))


def small() -> Program:
    """Two inputs, two results."""
    return program(
        "small",
        {"x": ["a", "b"], "k": ["k"]},
        {"y": lambda a, b, k: [lw.sin(a) * b, a * k], "z": lambda a, b, k: [b**2 * k]},
    )


@pytest.mark.usefixtures("_torch")
def test_gradients_are_those_by_hand_and_shared_inputs_get_sums() -> None:
    f = linkwright.torch.function(small())
    rng = np.random.default_rng(1)
    x, k = rng.normal(size=(2, 3, 2)), np.array([1.5])
    y, z = f(tensor(x), tensor(k))
    a, b = x[..., 0], x[..., 1]
    np.testing.assert_allclose(y, np.stack([np.sin(a) * b, a * 1.5], -1), rtol=1e-15)
    assert z.shape == (2, 3, 1)
    u, v = rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    bar_x, bar_k = pulled(u, v)
    a, b = a.ravel(), b.ravel()
    by_a = np.cos(a) * b * u[:, 0] + 1.5 * u[:, 1]
    by_b = np.sin(a) * u[:, 0] + 2 * b * 1.5 * v[:, 0]
    np.testing.assert_allclose(bar_x, np.stack([by_a, by_b], 1), rtol=1e-13)
    np.testing.assert_allclose(bar_k, [(a * u[:, 1] + b**2 * v[:, 0]).sum()], rtol=1e-13)
    assert f(tensor(x[0, 0]), tensor(k))[0].shape == (2,)


@pytest.mark.usefixtures("_torch")
def test_a_robot_has_the_gradients_of_differences() -> None:
    arm = Robot("puma560:drives=off")
    f = linkwright.torch.function(arm.inverse_dynamics)
    rng = np.random.default_rng(2)
    given = rng.normal(size=(3, 4, 6))
    out = f(*map(tensor, given))
    np.testing.assert_allclose(out, arm.inverse_dynamics(*given), rtol=1e-12)
    bar = rng.normal(size=(4, 6))
    f(*map(tensor, given))
    exact, h = pulled(bar)[0], 1e-5
    for j in range(6):
        step = np.zeros(6)
        step[j] = h
        ahead, behind = (
            arm.inverse_dynamics(given[0] + s * step, given[1], given[2]) for s in (1, -1)
        )
        wanted = ((ahead - behind) / (2 * h) * bar).sum(1)
        np.testing.assert_allclose(exact[:, j], wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.usefixtures("_torch")
def test_wrong_tensors_are_named() -> None:
    f = linkwright.torch.function(small())
    for given, words in (
        ((tensor([1.0, 2.0]),), r"takes 2 tensors \(x, k\)"),
        ((tensor([1.0]), tensor([1.0])), "x has the shape"),
        (([1.0, 2.0], tensor([1.0])), "x is not a tensor"),
        ((tensor(np.ones((3, 2))), tensor(np.ones((4, 1)))), "do not fit together"),
    ):
        with pytest.raises(Error, match=words):
            f(*given)


def test_without_pytorch_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(Error, match="needs the package torch, which is not installed; pip install"):
        linkwright.torch.function(small())(np.zeros(2), np.zeros(1))
    with pytest.raises(Error, match="has no Program"):
        linkwright.torch.function(abs)
