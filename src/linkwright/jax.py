"""JAX over exact derivatives: `linkwright.jax.function(kernel)`, for `jit`, `vmap` and `grad`.

A kernel is one operation for JAX, a call of native code whose derivative is a Program too: the
product of a vector with the Jacobian, compiled when it is first asked for. It runs on the
processor; JAX brings arrays of a card there and back.
"""

from __future__ import annotations

import os
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

_MANY = 4096
"""Rows from which on all processors share them."""


def function(kernel: Any) -> Callable[..., Any]:
    """Return a kernel, a Program or a quantity of a robot as a function of JAX's arrays.

    It takes arrays of one row, or of many along leading axes; those without are shared by all
    rows. It gives an array, or a tuple where there are several results. Gradients are exact;
    double precision needs `jax.config.update("jax_enable_x64", True)`.

    Args:
        kernel: such as `robot.forward_dynamics`, a Program, or what `lw.compile` gives.

    Example:
        >>> from linkwright.robots import Robot
        >>> f = function(Robot("puma560:drives=off").forward_dynamics)  # then f(q, u, tau)
        >>> callable(f)
        True
    """
    return JaxFunction(*kernel_program(kernel))


class JaxFunction:
    """A Program as a function of arrays of JAX."""

    def __init__(self, program: Program, usual: Any) -> None:
        self.program, self.usual = program, usual
        self.inputs = [(port.name, port.shape) for port in program.inputs]
        self.forward = _Called(program)

    @cached_property
    def backward(self) -> _Called:
        """What computes the product of a vector with the Jacobian."""
        return _Called(optimize(vector_jacobian(self.program), rounds=1))

    @cached_property
    def operation(self) -> Any:
        """The operation of JAX, on arrays that all have the same leading axes."""
        made = _library().custom_vjp(self.forward)

        def forth(*given: Any) -> tuple[Any, Any]:
            return self.forward(*given), given

        def back(given: Any, bars: Any) -> tuple[Any, ...]:
            several = bars if isinstance(bars, tuple) else (bars,)
            found = self.backward(*given, *several)
            return found if isinstance(found, tuple) else (found,)

        made.defvjp(forth, back)
        return made

    def __call__(self, *inputs: Any) -> Any:
        """Evaluate arrays."""
        numbers = _library().numpy
        names = [name for name, _ in self.inputs]
        given = [numbers.asarray(x, dtype=float) for x in inputs]
        if len(given) == len(names) - 1 and names[-1] == "p" and self.usual is not None:
            given.append(numbers.asarray(np.asarray(self.usual), dtype=float))
        if len(given) != len(names):
            raise ShapeError(f"the function takes {len(names)} arrays ({', '.join(names)})")
        _, lead = leading_axes(self.inputs, given)
        shapes = [(*lead, *shape) for _, shape in self.inputs]
        rows = map(numbers.broadcast_to, given, shapes)  # whose gradient JAX sums up
        return self.operation(*rows)


class _Called:
    """A Program as a call of native code, for arrays with any leading axes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.kernels: dict[str, Any] = {}

    def __call__(self, *given: Any) -> Any:
        library = _library()
        shape = self.program.inputs[0].shape
        lead, dtype = given[0].shape[: given[0].ndim - len(shape)], given[0].dtype
        results = [
            library.ShapeDtypeStruct((*lead, *port.shape), dtype) for port in self.program.outputs
        ]
        found = library.pure_callback(self.host, results, *given, vmap_method="broadcast_all")
        return tuple(found) if len(found) > 1 else found[0]

    def host(self, *given: Any) -> list[Any]:
        """Compute on the processor."""
        arrays = [np.asarray(x) for x in given]
        first, ports = arrays[0], self.program.inputs
        lead = first.shape[: first.ndim - len(ports[0].shape)]
        count = int(np.prod(lead, dtype=np.int64))
        kernel = self.kernel(first.dtype.name)
        rows = [x.reshape(count, *port.shape) for x, port in zip(arrays, ports, strict=True)]
        threads = (os.cpu_count() or 1) if count >= _MANY else 1
        found = kernel.batch(*rows, size=count, threads=threads)
        several: Sequence[Any] = found if isinstance(found, tuple) else (found,)
        return [
            np.asarray(y, first.dtype).reshape(*lead, *port.shape)
            for y, port in zip(several, self.program.outputs, strict=True)
        ]

    def kernel(self, dtype: str) -> Any:
        """Return the kernel of a precision."""
        if dtype not in self.kernels:
            self.kernels[dtype] = compiled(self.program, dtype=dtype)
        return self.kernels[dtype]


def _library() -> Any:
    """Return JAX. It is not one of our extras: which build suits depends on the card."""
    try:
        return import_module("jax")
    except ModuleNotFoundError:
        raise Error(
            "this needs the package jax, which is not installed", remedy="pip install jax"
        ) from None
