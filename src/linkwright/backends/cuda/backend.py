"""Kernels on cards: the face of every backend, for arrays of the processor and of a card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwright.backends.cuda.arrays import (
    CardArray,
    CardPlace,
    is_on_card,
    like,
    placed,
    stream_of,
)
from linkwright.backends.cuda.driver import GraphicsCard, card, card_of
from linkwright.backends.cuda.ptx import ENTRY, ptx_of
from linkwright.base.errors import ShapeError
from linkwright.base.forking import cached_property
from linkwright.program import Program

THREADS = 128
"""Threads of a block: enough to hide latency, few enough for long kernels with many registers."""
_SHARE = 0.8
"""The part of the free memory that a wave of rows may take."""


class CudaNative:
    """A Program on cards."""

    def __init__(self, program: Program, dtype: str = "float64") -> None:
        self.program, self.dtype = program, np.dtype(dtype)
        self._inputs = [(p.name, p.shape) for p in program.inputs]
        self._outputs = [(p.name, p.shape) for p in program.outputs]
        self._functions: dict[int, Any] = {}

    @cached_property
    def source(self) -> str:
        """The PTX."""
        return ptx_of(self.program, "f64" if self.dtype.itemsize == 8 else "f32")

    def scalar(self, *arrays: Any) -> Any:
        """Evaluate once: `f(*inputs)`, or `f(*inputs, *outputs)` to fill arrays."""
        count = len(self._inputs)
        rows = [np.asarray(x, self.dtype)[None] for x in arrays[:count]]
        found = self.batch(*rows, size=1)
        results = [x[0] for x in (found if isinstance(found, tuple) else (found,))]
        for target, value in zip(arrays[count:], results, strict=False):
            target[...] = value
        singles = [float(x) if not np.shape(x) else x for x in results]
        return tuple(singles) if len(singles) > 1 else singles[0]

    def batch(
        self, *arrays: Any, out: Any = None, size: int | None = None, threads: int = 1
    ) -> Any:
        """Evaluate rows: on the card where an array lies there, else in waves over copies."""
        if len(arrays) != len(self._inputs):
            names = ", ".join(name for name, _ in self._inputs)
            raise ShapeError(f"the kernel takes {len(self._inputs)} arrays ({names})")
        if any(is_on_card(x) for x in arrays):
            return self.on_card(arrays, out)
        given = [np.asarray(x, self.dtype) for x in arrays]
        leads = [
            len(x) if x.ndim > len(shape) else None
            for x, (_, shape) in zip(given, self._inputs, strict=True)
        ]
        counts = {n for n in leads if n is not None} | ({size} if size is not None else set())
        if len(counts) != 1:
            raise ShapeError(f"the leading axes do not fit together ({sorted(counts)})")
        (count,) = counts
        found = [np.empty((count, *shape), self.dtype) for _, shape in self._outputs]
        owner = card()
        wave = self._wave(owner, count)
        for start in range(0, count, wave):
            part = slice(start, min(start + wave, count))
            sent = [
                CardArray.of(owner, x if n is None else x[part])
                for x, n in zip(given, leads, strict=True)
            ]
            made = self.on_card(sent, None, rows=part.stop - part.start)
            for target, piece in zip(
                found, made if isinstance(made, tuple) else (made,), strict=True
            ):
                target[part] = piece.numpy()
        if out is not None:
            for target, piece in zip(
                out if isinstance(out, tuple | list) else (out,), found, strict=True
            ):
                target[...] = piece
            return out
        return tuple(found) if len(found) > 1 else found[0]

    def _wave(self, owner: GraphicsCard, count: int) -> int:
        """Return how many rows fit into the memory that is free."""
        numbers = sum(
            int(np.prod(shape, dtype=np.int64)) for _, shape in (*self._inputs, *self._outputs)
        )
        fit = int(_SHARE * owner.free_bytes()) // max(1, numbers * self.dtype.itemsize)
        return max(1, min(count, fit))

    def on_card(self, arrays: Sequence[Any], out: Any = None, rows: int | None = None) -> Any:
        """Evaluate rows of arrays on a card; the result is there too, in the caller's stream."""
        first = next(x for x in arrays if is_on_card(x))
        number = card_of(first.__cuda_array_interface__["data"][0])
        owner = card(number)
        kept: list[Any] = []
        places: list[CardPlace] = []
        for x, (name, shape) in zip(arrays, self._inputs, strict=True):
            here = x
            if not is_on_card(x):
                values = np.asarray(x, self.dtype)
                if values.shape != shape:
                    raise ShapeError(
                        f"{name} is not on the card, where others are",
                        remedy="move it there, or give one row that all share",
                    )
                here = CardArray.of(owner, values)
                kept.append(here)
            elif card_of(x.__cuda_array_interface__["data"][0]) != number:
                raise ShapeError(f"{name} is on another card", remedy=f"move it to card {number}")
            places.append(placed(here, name, shape, self.dtype))
        leads = {
            p.shape[0]
            for p, (_, s) in zip(places, self._inputs, strict=True)
            if len(p.shape) > len(s)
        } | ({rows} if rows is not None else set())
        if len(leads) > 1:
            raise ShapeError(f"the leading axes do not fit together ({sorted(leads)})")
        count = leads.pop() if leads else 1
        results = self._results(first, owner, count, out)
        places += [
            placed(x, name, shape, self.dtype)
            for x, (name, shape) in zip(results, self._outputs, strict=True)
        ]
        if count:
            numbers = [count]
            for p in places:
                numbers += [p.address, p.step]
            stream = stream_of(first)
            owner.launch(self._function(owner), count, THREADS, numbers, stream)
            if kept:
                owner.wait()  # what was copied for this call is given back now
        return tuple(results) if len(results) > 1 else results[0]

    def _results(self, first: Any, owner: GraphicsCard, count: int, out: Any) -> list[Any]:
        if out is not None:
            given = list(out) if isinstance(out, tuple | list) else [out]
            if len(given) != len(self._outputs) or not all(is_on_card(x) for x in given):
                raise ShapeError("out is not on the card", remedy="give an array there for each")
            return given
        return [like(first, owner, (count, *shape), self.dtype) for _, shape in self._outputs]

    def _function(self, owner: GraphicsCard) -> Any:
        if owner.number not in self._functions:
            self._functions[owner.number] = owner.load(self.source, ENTRY)
        return self._functions[owner.number]


def build(program: Program, dtype: str) -> CudaNative:
    """Return a Program for cards; the driver compiles it when it is first used."""
    return CudaNative(program, dtype)
