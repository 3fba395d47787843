"""The careful way to call a scalar kernel: everything is checked, converted or rejected in Python.

The native wrapper of `fastcall.py` hands over every call that it does not recognize at once, and
where that wrapper cannot be used at all this is the whole way. What it accepts:

- inputs: any array, list or number of the right shape whose values are real; they are converted;
- outputs: writeable arrays of the right shape and a floating type; where the kernel cannot write
  straight into one (strides, byte order, width, overlap with an input) it writes beside it, and the
  result is copied;
- arguments by position or by name.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwright.backends.llvm.layout import data_address
from linkwright.backends.llvm.signature import (
    Argument,
    Array,
    Signature,
    as_values,
    check_apart,
    check_output,
)
from linkwright.base.errors import ShapeError

Result = Array | float | tuple[Array | float, ...] | None


def make_slow_call(
    address: int, signature: Signature, name: str = "kernel", keep: object = None
) -> Callable[..., Result]:
    """A Python callable for the scalar kernel at `address`; `keep` is kept alive with it.

    With outputs passed it fills them and returns None; without, it returns new arrays (Python
    floats for outputs of shape `()`), as a tuple when there are several.

    >>> from linkwright.backends.llvm.compile import native
    >>> from linkwright.backends.llvm.signature import make_signature
    >>> code = native("define void @f(ptr %y) { store double 7.0, ptr %y ret void }", ["f"])
    >>> make_slow_call(code.address("f"), make_signature([], [("y", 1)]), keep=code)()
    array([7.])
    """
    kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(signature.arguments))(address)
    dtype = signature.numpy_dtype

    def call(*args: object, **named: object) -> Result:
        given = _match(name, signature, args, named)
        inputs = [
            _exact_shape(a, as_values(a.name, value, dtype), "input")
            for a, value in zip(signature.inputs, given, strict=False)
        ]
        ready = [x if x.flags.c_contiguous and x.flags.aligned else x.copy("C") for x in inputs]
        if len(given) == len(signature.inputs):
            fresh = [np.empty(a.shape, dtype) for a in signature.outputs]
            kernel(*[data_address(x) for x in ready + fresh])
            if not fresh:
                return None
            results = tuple(x if x.shape else float(x) for x in fresh)
            return results if len(results) > 1 else results[0]
        outputs = [
            _exact_shape(a, check_output(a.name, value, dtype), "output")
            for a, value in zip(signature.outputs, given[len(ready) :], strict=True)
        ]
        pairs = zip(signature.outputs, outputs, strict=True)
        check_apart((a.name, x) for a, x in pairs)
        beside = [x if _direct(x, ready, dtype) else np.empty(x.shape, dtype) for x in outputs]
        kernel(*[data_address(x) for x in ready + beside])
        for target, values in zip(outputs, beside, strict=True):
            if target is not values:
                np.copyto(target, values, casting="same_kind")
        return None

    call.__name__ = call.__qualname__ = name
    # The function object owns whatever the machine code lives in.
    call.__dict__["keep"] = (kernel, keep)
    return call


def _match(
    name: str, signature: Signature, args: tuple[object, ...], named: dict[str, object]
) -> Sequence[Any]:
    arguments = signature.arguments
    few, many = len(signature.inputs), len(arguments)
    total = len(args) + len(named)
    if total not in (few, many):
        raise ShapeError(
            f"{name} takes {few} arrays, or {many} with its outputs, but got {total}",
            remedy=f"call it as {usage(name, signature)}",
        )
    values = list(args)
    wanted = arguments[len(args) : total]
    for argument in wanted:
        if argument.name not in named:
            unknown = sorted(set(named) - {a.name for a in wanted})
            raise ShapeError(
                f"{name} lacks {argument.name!r} and got {', '.join(unknown)} instead",
                remedy=f"call it as {usage(name, signature)}",
            )
        values.append(named[argument.name])
    return values


def usage(name: str, signature: Signature) -> str:
    """How a kernel is called, in one line, with the shapes of its arguments.

    >>> from linkwright.backends.llvm.signature import make_signature
    >>> usage("idyn", make_signature([("q", 6), ("t", ())], [("tau", 6)]))
    'idyn(q[6], t[, tau[6]])'
    """
    inputs = ", ".join(_described(a) for a in signature.inputs)
    outputs = ", ".join(_described(a) for a in signature.outputs)
    return f"{name}({inputs}[, {outputs}])" if outputs else f"{name}({inputs})"


def _described(argument: Argument) -> str:
    return argument.name + "".join(f"[{n}]" for n in argument.shape)


def _exact_shape(argument: Argument, array: Array, kind: str) -> Array:
    if array.shape != argument.shape:
        raise ShapeError(
            f"{kind} {argument.name!r} has shape {array.shape}",
            remedy=f"it must be {argument.shape}",
        )
    return array


def _direct(output: Array, inputs: Sequence[Array], dtype: np.dtype[Any]) -> bool:
    plain = output.dtype == dtype and output.flags.c_contiguous and output.flags.aligned
    return plain and not any(np.may_share_memory(output, x) for x in inputs)
