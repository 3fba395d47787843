"""Arrays that lie on a card, whoever made them: PyTorch, CuPy, Numba, JAX, or this module.

They say where they are by `__cuda_array_interface__`. Results are made by the library of the first
one, and computed in its current stream, so that they are ready for whatever it does next.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwright.backends.cuda.driver import CardMemory, GraphicsCard
from linkwright.base.errors import ShapeError


def is_on_card(x: Any) -> bool:
    """Whether something is an array on a card.

    >>> is_on_card(np.zeros(3))
    False
    """
    return not isinstance(x, np.ndarray) and hasattr(x, "__cuda_array_interface__")


@dataclass(frozen=True, slots=True)
class CardPlace:
    """Where an array lies."""

    address: int
    shape: tuple[int, ...]
    step: int  # entries from one row to the next


def placed(x: Any, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> CardPlace:
    """Return where an array lies whose rows have a shape, or say why it cannot be read."""
    told = x.__cuda_array_interface__
    found = np.dtype(told["typestr"])
    if found != dtype:
        raise ShapeError(f"{name} is of {found.name}", remedy=f"give {dtype.name}")
    whole = tuple(told["shape"])
    lead = len(whole) - len(shape)
    if lead not in (0, 1) or whole[lead:] != shape:
        wanted = " x ".join(map(str, shape)) or "a number"
        raise ShapeError(f"{name} has the shape {whole}", remedy=f"its last axes are {wanted}")
    strides = told.get("strides") or _dense(whole, dtype.itemsize)
    if tuple(strides[lead:]) != _dense(shape, dtype.itemsize) and 0 not in whole:
        raise ShapeError(f"the rows of {name} are not dense", remedy="copy it: x.contiguous()")
    step = strides[0] // dtype.itemsize if lead else 0
    return CardPlace(int(told["data"][0]), whole, int(step))


def _dense(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    strides: list[int] = []
    for length in reversed(shape):
        strides.insert(0, size)
        size *= length
    return tuple(strides)


class CardArray:
    """An array on a card that no other library has made."""

    def __init__(self, owner: GraphicsCard, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype = shape, dtype
        self.memory = CardMemory(owner, int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        data = (self.memory.address, False)
        typestr = self.dtype.str
        return {"shape": self.shape, "typestr": typestr, "data": data, "version": 3}

    @classmethod
    def of(cls, owner: GraphicsCard, values: Any) -> CardArray:
        """Return a copy of an array of the processor."""
        dense = np.ascontiguousarray(values)
        made = cls(owner, dense.shape, dense.dtype)
        made.memory.write(dense.ctypes.data, dense.nbytes)
        return made

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return a copy on the processor."""
        found = np.empty(self.shape, self.dtype)
        self.memory.read(found.ctypes.data, found.nbytes)
        return found

    def __repr__(self) -> str:
        return f"CardArray({' x '.join(map(str, self.shape))}, {self.memory.card.name})"


def like(x: Any, owner: GraphicsCard, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return a new array made by the library of another one."""
    library = type(x).__module__.partition(".")[0]
    if library == "torch":
        return x.new_empty(shape)
    if library == "cupy":
        return np.empty_like(x, shape=shape)  # CuPy answers this itself
    return CardArray(owner, shape, dtype)


def stream_of(x: Any) -> int:
    """Return the stream in which the library of an array works now."""
    library = type(x).__module__.partition(".")[0]
    if library == "torch":
        torch = sys.modules["torch"]
        return int(torch.cuda.current_stream(x.device).cuda_stream)
    if library == "cupy":
        return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
    return int(x.__cuda_array_interface__.get("stream") or 0)
