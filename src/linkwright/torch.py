"""PyTorch's autograd over exact derivatives: `linkwright.torch.function(kernel)`.

A kernel is one operation for PyTorch. Its derivative is a Program too: the product of a vector with
the Jacobian, compiled when it is first asked for. Tensors of a card stay there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from linkwright.backends.kernel import compile as compiled
from linkwright.base.errors import Error, ShapeError
from linkwright.program import Program, optimize, vector_jacobian

__all__ = ["function"]


def function(kernel: Any) -> Callable[..., Any]:
    """Return a kernel, a Program or a quantity of a robot as a function of PyTorch's tensors.

    It takes tensors of one row, or of many along leading axes; those without are shared by all
    rows. It gives a tensor, or a tuple where there are several results. Gradients are exact.

    Args:
        kernel: such as `robot.forward_dynamics`, a Program, or what `lw.compile` gives.

    Example:
        >>> from linkwright.robots import Robot
        >>> f = function(Robot("puma560:drives=off").forward_dynamics)  # then f(q, u, tau)
        >>> callable(f)
        True
    """
    made = kernel if isinstance(kernel, Program) else getattr(kernel, "program", None)
    if not isinstance(made, Program):
        raise Error(f"{kernel!r} has no Program", remedy="give robot.forward_dynamics, or a kernel")
    return TorchFunction(made, getattr(kernel, "_usual", None))


class TorchFunction:
    """A Program as a function of tensors."""

    def __init__(self, program: Program, usual: Any) -> None:
        self.program, self.usual = program, usual
        self.inputs = [(port.name, port.shape) for port in program.inputs]

    @cached_property
    def forward(self) -> _Evaluated:
        """What computes results."""
        return _Evaluated(self.program)

    @cached_property
    def backward(self) -> _Evaluated:
        """What computes the product of a vector with the Jacobian."""
        return _Evaluated(optimize(vector_jacobian(self.program), rounds=1))

    @cached_property
    def operation(self) -> Any:
        """The operation of PyTorch."""
        torch = _library()
        forward, owner = self.forward, self

        def compute(ctx: Any, *given: Any) -> Any:
            found = forward(given)
            ctx.save_for_backward(*given)
            return found if len(found) > 1 else found[0]

        def pull(ctx: Any, *bars: Any) -> tuple[Any, ...]:
            given = ctx.saved_tensors
            moved = owner.backward((*given, *(bar.contiguous() for bar in bars)))
            return tuple(
                _summed(bar, x.shape) if wanted else None
                for bar, x, wanted in zip(moved, given, ctx.needs_input_grad, strict=True)
            )

        body = {
            "forward": staticmethod(compute),
            "backward": staticmethod(torch.autograd.function.once_differentiable(pull)),
        }
        return type(self.program.name, (torch.autograd.Function,), body)

    def __call__(self, *inputs: Any) -> Any:
        """Evaluate tensors, which may be asked for their gradients later."""
        torch = _library()
        names = [name for name, _ in self.inputs]
        if len(inputs) == len(names) - 1 and names[-1] == "p" and self.usual is not None:
            like = inputs[0]
            usual = torch.as_tensor(np.asarray(self.usual), dtype=like.dtype, device=like.device)
            inputs = (*inputs, usual)
        if len(inputs) != len(names):
            raise ShapeError(f"the function takes {len(names)} tensors ({', '.join(names)})")
        leads = []
        for x, (name, shape) in zip(inputs, self.inputs, strict=True):
            if not isinstance(x, torch.Tensor):
                raise ShapeError(f"{name} is not a tensor", remedy="give torch.as_tensor(...)")
            lead = tuple(x.shape[: x.ndim - len(shape)])
            if x.ndim < len(shape) or tuple(x.shape[len(lead) :]) != shape:
                wanted = " x ".join(map(str, shape)) or "a number"
                raise ShapeError(f"{name} has the shape {tuple(x.shape)}", remedy=f"{wanted} last")
            leads.append(lead)
        whole = {lead for lead in leads if lead}
        if len(whole) > 1:
            raise ShapeError(f"the leading axes do not fit together ({sorted(whole)})")
        lead = whole.pop() if whole else ()
        flat = [
            x.reshape(-1, *shape) if own else x
            for x, own, (_, shape) in zip(inputs, leads, self.inputs, strict=True)
        ]
        found = self.operation.apply(*flat)
        if not lead:
            return found
        results = found if isinstance(found, tuple) else (found,)
        shaped = tuple(y.reshape(*lead, *y.shape[1:]) for y in results)
        return shaped if len(shaped) > 1 else shaped[0]


class _Evaluated:
    """A Program on tensors, where they lie."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.kernels: dict[tuple[str, str], Any] = {}

    def __call__(self, given: Sequence[Any]) -> tuple[Any, ...]:
        torch = _library()
        first = given[0]
        dtype = str(first.dtype).removeprefix("torch.")
        kind = "cuda" if any(x.is_cuda for x in given) else "llvm"
        if (kind, dtype) not in self.kernels:
            self.kernels[kind, dtype] = compiled(self.program, backend=kind, dtype=dtype)
        kernel = self.kernels[kind, dtype]
        plain = [x.detach().contiguous() for x in given]
        if kind == "cuda":
            found = kernel.batch(*plain)
            found = found if isinstance(found, tuple) else (found,)
            rows = any(
                x.ndim > len(p.shape) for x, p in zip(plain, self.program.inputs, strict=True)
            )
            return found if rows else tuple(y[0] for y in found)
        found = kernel(*(x.numpy() for x in plain))
        found = found if isinstance(found, tuple) else (found,)
        return tuple(torch.as_tensor(np.asarray(y), dtype=first.dtype) for y in found)


def _summed(bar: Any, shape: Sequence[int]) -> Any:
    """Return the gradient of what all rows shared: the sum of theirs."""
    return bar.sum(0) if bar.ndim > len(shape) else bar


def _library() -> Any:
    """Return PyTorch. It is not one of our extras: which build suits depends on the card."""
    try:
        return import_module("torch")
    except ModuleNotFoundError:
        raise Error(
            "this needs the package torch, which is not installed", remedy="pip install torch"
        ) from None
