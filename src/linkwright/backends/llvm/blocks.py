"""The memory layouts of a batch: plain rows, and blocks of lanes that fill a vector register.

`batch.py` describes the layouts and when each is used.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from linkwright.backends.llvm.layout import data_address
from linkwright.backends.llvm.signature import Argument, Array
from linkwright.base.errors import ShapeError

LayoutName = Literal["shared", "rows", "blocked"]
_ALIGNMENT = 64


def empty_aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A new array whose first element lies on a cache line.

    >>> empty_aligned((3, 8), np.dtype(np.float64)).ctypes.data % 64
    0
    """
    size = math.prod(shape) * dtype.itemsize
    raw = np.empty(size + _ALIGNMENT, np.uint8)
    start = -data_address(raw) % _ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(shape)


def to_blocked(array: Array, lanes: int) -> Array:
    """Rows `(N, *S)` to blocks `(ceil(N / lanes), *S, lanes)`; spare lanes repeat the last row.

    >>> to_blocked(np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]), 2).tolist()
    [[[1.0, 2.0], [10.0, 20.0]], [[3.0, 3.0], [30.0, 30.0]]]
    """
    if array.ndim == 0 or lanes < 1:
        raise ShapeError("blocks are made from an array with a batch axis and one lane or more")
    count = len(array)
    full, rest = divmod(count, lanes)
    blocks = empty_aligned((full + bool(rest), *array.shape[1:], lanes), array.dtype)
    whole = array[: full * lanes].reshape(full, lanes, *array.shape[1:])
    blocks[:full] = np.moveaxis(whole, 1, -1)
    if rest:
        blocks[full, ..., :rest] = np.moveaxis(array[full * lanes :], 0, -1)
        blocks[full, ..., rest:] = array[-1][..., None]
    return blocks


def from_blocked(blocks: Array, count: int | None = None) -> Array:
    """Blocks `(B, *S, lanes)` to rows `(count, *S)`; `count` is `B * lanes` unless given.

    >>> from_blocked(to_blocked(np.arange(5.0), 2), 5).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    if blocks.ndim < 2:
        raise ShapeError(f"an array of blocks has two axes or more, not {blocks.ndim}")
    total = blocks.shape[0] * blocks.shape[-1]
    if count is not None and not 0 <= count <= total:
        raise ShapeError(f"{count} rows cannot be taken from blocks that hold {total}")
    rows = np.moveaxis(blocks, -1, 1).reshape(total, *blocks.shape[1:-1])
    return rows if count is None else rows[:count]


def layout_of(argument: Argument, array: Array, lanes: int, kind: str) -> LayoutName:
    """Which layout an array has for an argument, from its number of axes; rejects a wrong shape.

    >>> layout_of(Argument("q", (6,)), np.zeros((100, 6)), 8, "input")
    'rows'
    """
    shape, extra = argument.shape, array.ndim - len(argument.shape)
    if extra == 0 and array.shape == shape and kind == "input":
        return "shared"
    if extra == 1 and array.shape[1:] == shape:
        return "rows"
    if extra == 2 and array.shape[1:] == (*shape, lanes):
        return "blocked"
    wanted = [("N", *shape), ("B", *shape, lanes)] + ([shape] if kind == "input" else [])
    words = " or ".join("(" + ", ".join(str(n) for n in s) + ")" for s in wanted)
    raise ShapeError(
        f"{kind} {argument.name!r} has shape {array.shape}", remedy=f"it must be {words}"
    )
