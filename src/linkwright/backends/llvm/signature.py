"""The named, shaped arguments of a native kernel, and the checks on arrays given for them.

A kernel has named inputs and named outputs, each an array of a fixed shape (`()` for a scalar), all
of one floating type. The scalar entry takes one pointer per argument, inputs first, each to
C-contiguous values aligned to the element; outputs never overlap anything else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from operator import index
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import ShapeError

Dtype = Literal["f64", "f32"]
Array = NDArray[Any]
ArgumentLike = tuple[str, int] | tuple[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Argument:
    """One array argument of a kernel: its name and its shape without any batch axis."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Signature:
    """The arguments of a kernel, inputs first, and their floating type."""

    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    dtype: Dtype

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Inputs, then outputs: the order of the kernel's pointers."""
        return self.inputs + self.outputs

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The type of every array, in native byte order."""
        return np.dtype(np.float64 if self.dtype == "f64" else np.float32)


def make_signature(
    inputs: Iterable[ArgumentLike], outputs: Iterable[ArgumentLike], dtype: Dtype = "f64"
) -> Signature:
    """A signature from (name, length) or (name, shape) pairs.

    >>> make_signature([("q", 6), ("t", ())], [("M", (6, 6))]).arguments[2].size
    36
    """
    if dtype not in ("f64", "f32"):
        raise ShapeError(f"a kernel works on 'f64' or 'f32', not {dtype!r}")
    signature = Signature(
        tuple(_argument(*pair) for pair in inputs),
        tuple(_argument(*pair) for pair in outputs),
        dtype,
    )
    names = [argument.name for argument in signature.arguments]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ShapeError(f"the arguments of a kernel need different names, but {twice} repeat")
    return signature


def _argument(name: str, shape: int | tuple[int, ...]) -> Argument:
    return Argument(name, (shape,) if isinstance(shape, int) else tuple(shape))


def as_values(name: str, value: object, dtype: np.dtype[Any]) -> Array:
    """An input as an array of `dtype` in native order, copied only when it has to be.

    Integers and the other floating width are converted; complex numbers, text and objects are not.

    >>> as_values("q", [1, 2], np.dtype(np.float64))
    array([1., 2.])
    """
    if type(value) is np.ndarray and value.dtype is dtype:
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise ShapeError(f"input {name!r} is a masked array", remedy="fill it first")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ShapeError(f"input {name!r} is not a rectangular array: {error}") from error
    if array.dtype.kind not in "fiub":
        raise ShapeError(
            f"input {name!r} has type {array.dtype}, which is not a real number",
            remedy="convert it",
        )
    return array.astype(dtype, copy=False)


def check_output(name: str, value: object, dtype: np.dtype[Any]) -> Array:
    """An output as the array it is, rejected when results of `dtype` cannot be written into it.

    >>> check_output("tau", [0.0], np.dtype(np.float64))
    Traceback (most recent call last):
    linkwright.ShapeError: output 'tau' is a list; pass a NumPy array to write into
    """
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
        raise ShapeError(
            f"output {name!r} is a {type(value).__name__}",
            remedy="pass a NumPy array to write into",
        )
    if not value.flags.writeable:
        raise ShapeError(f"output {name!r} is read-only", remedy="pass an array that is writeable")
    if not np.can_cast(dtype, value.dtype, "same_kind"):
        raise ShapeError(f"output {name!r} has type {value.dtype}", remedy=f"pass a {dtype} array")
    if _overlaps_itself(value):
        raise ShapeError(f"output {name!r} overlaps itself", remedy="pass an array of its own")
    return value


def _overlaps_itself(array: Array) -> bool:
    """Whether two entries of an array share memory, as `as_strided` and `broadcast_to` allow."""
    if array.flags.c_contiguous or array.flags.f_contiguous or array.size < 2:
        return False
    axes = sorted((abs(s), n) for n, s in zip(array.shape, array.strides, strict=True) if n > 1)
    extent = array.itemsize
    for stride, n in axes:
        if stride < extent:
            break
        extent += stride * (n - 1)
    else:
        return False  # each axis steps over all that is inside it
    places = np.zeros((), np.int64)
    for stride, n in axes:
        places = np.add.outer(places, stride * np.arange(n))
    return bool((np.diff(np.sort(places, axis=None)) < array.itemsize).any())


def checked_size(size: SupportsIndex | None) -> int | None:
    """A number of rows, or None for what the arrays say; anything else is rejected.

    >>> checked_size(3)
    3
    """
    if size is None:
        return None
    try:
        count = -1 if isinstance(size, bool) else index(size)
    except TypeError:
        count = -1
    if count < 0:
        raise ShapeError(f"size must be a number of rows, not {size!r}", remedy="pass 0 or more")
    return count


def check_apart(outputs: Iterable[tuple[str, Array]]) -> None:
    """Reject outputs that share memory with each other: one result would destroy the other.

    >>> x = np.zeros(4)
    >>> check_apart([("a", x[:3]), ("b", x[2:])])
    Traceback (most recent call last):
    linkwright.ShapeError: outputs 'a' and 'b' overlap; pass separate arrays
    """
    seen: list[tuple[str, Array]] = []
    for name, array in outputs:
        for other, earlier in seen:
            if np.shares_memory(array, earlier):
                raise ShapeError(
                    f"outputs {other!r} and {name!r} overlap", remedy="pass separate arrays"
                )
        seen.append((name, array))
