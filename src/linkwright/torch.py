"""PyTorch's autograd over exact derivatives: `linkwright.torch.function(kernel)`.

A kernel is one operation for PyTorch. Its derivative is a Program too: the product of a vector with
the Jacobian, compiled when it is first asked for. Tensors of a card stay there. `torch.compile`
sees one operation (PyTorch 2.4 or later).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from linkwright.backends.kernel import compile as compiled
from linkwright.backends.operations import kernel_program, leading_axes
from linkwright.base.errors import Error, ShapeError
from linkwright.program import Program, optimize, vector_jacobian

__all__ = ["function"]

_operations: dict[str, Any] = {}
"""The operations by name; PyTorch knows a name once."""


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
    found = TorchFunction(*kernel_program(kernel))
    if sys.modules.get("torch") is not None:
        _ = found.operation  # there before `torch.compile` looks at it
    return found


class TorchFunction:
    """A Program as a function of tensors."""

    def __init__(self, program: Program, usual: Any) -> None:
        self.program, self.usual = program, usual
        self.inputs = [(port.name, port.shape) for port in program.inputs]

    @cached_property
    def torch(self) -> Any:
        """PyTorch."""
        return _library()

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
        """The operation of PyTorch, with its gradient, opaque to `torch.compile`."""
        torch = self.torch
        name = f"{self.program.name}_{self.program.fingerprint()[:16]}"
        found = _operations.get(name)
        if found is None:
            found = _operations[name] = self._registered(torch, name)
        return found

    def _registered(self, torch: Any, name: str) -> Any:
        shapes = [shape for _, shape in self.inputs]
        results = [port.shape for port in self.program.outputs]

        def operation(
            name: str, compute: Callable[..., Any], given: Sequence[Any], made: Sequence[Any]
        ) -> Any:
            """Return an operation from tensors to as many as there are shapes."""

            def forth(*tensors: Any) -> Any:
                found = compute(tensors)
                return found if len(found) > 1 else found[0]

            def blank(*tensors: Any) -> Any:
                """Return tensors of the shapes that will come, of which PyTorch makes its plans."""
                rows = [x.shape[0] for x, s in zip(tensors, given, strict=True) if x.ndim > len(s)]
                empty = [tensors[0].new_empty((*rows[:1], *shape)) for shape in made]
                return tuple(empty) if len(empty) > 1 else empty[0]

            taken = ", ".join(f"Tensor x{i}" for i in range(len(given)))
            gives = ", ".join(["Tensor"] * len(made))
            schema = f"({taken}) -> {f'({gives})' if len(made) > 1 else gives}"
            op = torch.library.custom_op(
                f"linkwright::{name}", forth, mutates_args=(), schema=schema
            )
            op.register_fake(blank)
            return op

        forth = operation(name, lambda given: self.forward(given), shapes, results)
        back = operation(
            f"{name}_back", lambda given: self.backward(given), [*shapes, *results], shapes
        )

        def keep(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        def pull(ctx: Any, *bars: Any) -> tuple[Any, ...]:
            given = ctx.saved_tensors
            moved = back(*given, *(bar.contiguous() for bar in bars))
            moved = moved if isinstance(moved, tuple) else (moved,)
            return tuple(
                _summed(bar, x.shape) if wanted else None
                for bar, x, wanted in zip(moved, given, ctx.needs_input_grad, strict=True)
            )

        forth.register_autograd(pull, setup_context=keep)
        return forth

    def __call__(self, *inputs: Any) -> Any:
        """Evaluate tensors, which may be asked for their gradients later."""
        operation, torch = self.operation, self.torch
        names = [name for name, _ in self.inputs]
        if len(inputs) == len(names) - 1 and names[-1] == "p" and self.usual is not None:
            like = inputs[0]
            usual = torch.as_tensor(np.asarray(self.usual), dtype=like.dtype, device=like.device)
            inputs = (*inputs, usual)
        if len(inputs) != len(names):
            raise ShapeError(f"the function takes {len(names)} tensors ({', '.join(names)})")
        for x, name in zip(inputs, names, strict=True):
            if not isinstance(x, torch.Tensor):
                raise ShapeError(f"{name} is not a tensor", remedy="give torch.as_tensor(...)")
        leads, lead = leading_axes(self.inputs, inputs)
        flat = [
            x.reshape(-1, *shape) if own else x
            for x, own, (_, shape) in zip(inputs, leads, self.inputs, strict=True)
        ]
        found = operation(*flat)
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
