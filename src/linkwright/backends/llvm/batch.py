"""Running a kernel over a batch of NumPy arrays: layouts, tails and threads.

A batch kernel works on *blocks* of W lanes, W being the number of values in one vector register
(`target.Host.lanes`). For an argument of shape S (for instance `(n,)`), three layouts exist,
distinguished by the number of axes of the array that is passed:

    shared    S              one value for all lanes (inputs only)
    rows      (N, *S)        the plain NumPy layout, one lane after the other
    blocked   (B, *S, W)     the fast layout: component j of lanes b*W ... b*W+W-1 lies together

`to_blocked` and `from_blocked` convert. If one batched array is blocked, the whole call is: other
arrays are converted. Any memory order, byte order or floating width is accepted; what the kernel
cannot read in place is copied. Read in place: rows whose components are contiguous (`x[:, 3:9]` and
`x[::2]` are), and blocked arrays that are contiguous within a block.

Native entry, the same for both layouts (the generator writes one function for each):

    void batch(const Record* arguments, int64 first, int64 count)

    struct Record { T* data; int64 stride; }     // one per argument, inputs first

It computes blocks `first` to `first + count - 1`, complete ones. All strides count elements.

- rows: component j of lane i is `data[i * stride + j]`, i from `first * W` to
  `(first + count) * W - 1`; `stride` is 0 for a shared input, and may be negative.
- blocked: component j of lane l in block b is `data[b * stride + j * W + l]`; for a shared input
  `stride` is 0 and `data` is one block in which every lane holds the value, so that the generated
  code needs no case for it.

Pointers are aligned to the element only, so vector loads and stores say `align 8` (`align 4` for
float). Output arrays overlap nothing. The entry is called from several threads at once, without the
interpreter lock, on disjoint ranges of blocks.

A lane's result does not depend on its index, on N or on the number of threads: the last N mod W
rows go through the same vector code, copied to a block of their own whose spare lanes repeat the
last row.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from linkwright.backends.callbacks import guarded
from linkwright.backends.llvm.blocks import (
    LayoutName,
    empty_aligned,
    from_blocked,
    layout_of,
    to_blocked,
)
from linkwright.backends.llvm.layout import data_address
from linkwright.backends.llvm.signature import (
    Argument,
    Array,
    Signature,
    as_values,
    check_apart,
    check_output,
    checked_size,
)
from linkwright.backends.llvm.workers import share_blocks
from linkwright.backends.threads import checked_threads
from linkwright.base.errors import ShapeError

_Entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


SEVENS_EXAMPLE = """
define void @sevens(ptr %records, i64 %first, i64 %count) {
entry:
  %y = load ptr, ptr %records
  %end = add i64 %first, %count
  br label %turn
turn:
  %i = phi i64 [ %first, %entry ], [ %next, %turn ]
  %at = getelementptr double, ptr %y, i64 %i
  store double 7.0, ptr %at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %turn, label %done
done:
  ret void
}
"""


class _Record(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("stride", ctypes.c_int64))


@lru_cache(maxsize=64)
def _numbers(count: int) -> Any:
    """Return the type of so many whole numbers in a row: pointers and strides by turns."""
    return ctypes.c_int64 * count


@dataclass(frozen=True, slots=True)
class BatchCall:
    """A kernel over batches, callable on NumPy arrays; see the module for layouts and entries.

    Calling it takes the inputs, by position, and

        out      arrays to fill, one per output, instead of new ones (then the result is None)
        size     N, where no array shows it because all inputs are shared
        threads  how many threads share the work; the calling one is among them

    and returns an array, or a tuple of arrays when there are several outputs, in the call's layout.
    """

    signature: Signature
    lanes: int
    rows: Callable[[Any, int, int], None]
    blocked: Callable[[Any, int, int], None]
    name: str = "kernel"
    keep: object = field(default=None, repr=False)

    def __call__(
        self,
        *inputs: object,
        out: Array | Sequence[Array] | None = None,
        size: int | None = None,
        threads: int = 1,
    ) -> Any:
        signature, dtype = self.signature, self.signature.numpy_dtype
        if len(inputs) != len(signature.inputs):
            wanted = ", ".join(a.name for a in signature.inputs)
            raise ShapeError(
                f"{self.name} takes {len(signature.inputs)} inputs ({wanted}), not {len(inputs)}",
                remedy="pass outputs with out=",
            )
        threads, size = checked_threads(threads), checked_size(size)
        values = [
            as_values(a.name, x, dtype) for a, x in zip(signature.inputs, inputs, strict=True)
        ]
        outputs = self._outputs(out)
        named = [(a, x, "input") for a, x in zip(signature.inputs, values, strict=True)]
        if outputs is not None:
            named += [(a, x, "output") for a, x in zip(signature.outputs, outputs, strict=True)]
        layout, count = self._extent(named, size)
        if layout == "rows":
            results = self._run_rows(values, outputs, count, threads)
        else:
            results = self._run_blocked(values, outputs, count, threads)
        if outputs is not None or not results:
            return None
        return results[0] if len(results) == 1 else tuple(results)

    def __copy__(self) -> BatchCall:
        return self

    def __deepcopy__(self, memo: object) -> BatchCall:
        return self

    def plain_rows(self, inputs: Sequence[Array]) -> Any:
        """Evaluate plain rows with the least overhead; None where the arrays are not that.

        Plain are contiguous, writeable arrays of the kernel's type, either rows, all of the same
        number, no fewer than there are lanes, or shared. Where lanes do not divide the number of
        rows, the last block begins early and computes some rows again, to the same values.
        """
        dtype, count = self.signature.numpy_dtype, -1
        values: list[int] = []
        steps: list[int] = []
        for argument, x in zip(self.signature.inputs, inputs, strict=True):
            shape = x.shape
            if x.dtype is not dtype or not x.flags.carray:
                return None
            if shape == argument.shape:
                values += data_address(x), 0
                steps.append(0)
                continue
            if shape[1:] != argument.shape or count not in (-1, shape[0]):
                return None
            count = shape[0]
            values += data_address(x), argument.size
            steps.append(argument.size * dtype.itemsize)
        if count < self.lanes:
            return None
        results = [np.empty((count, *a.shape), dtype) for a in self.signature.outputs]
        for argument, x in zip(self.signature.outputs, results, strict=True):
            values += data_address(x), argument.size
            steps.append(argument.size * dtype.itemsize)
        records = _numbers(len(values))(*values)
        full, rest = divmod(count, self.lanes)
        self.rows(records, 0, full)
        if rest:
            for k, step in enumerate(steps):
                records[2 * k] += step * (count - self.lanes)
            self.rows(records, 0, 1)
        return results[0] if len(results) == 1 else tuple(results)

    def _outputs(self, out: Array | Sequence[Array] | None) -> list[Array] | None:
        if out is None:
            return None
        arguments = self.signature.outputs
        given = [out] if isinstance(out, np.ndarray) else list(out)
        if len(given) != len(arguments):
            wanted = ", ".join(a.name for a in arguments)
            raise ShapeError(
                f"{self.name} has {len(arguments)} outputs, but out has {len(given)} arrays",
                remedy=f"pass one array for each of: {wanted}",
            )
        dtype = self.signature.numpy_dtype
        checked = [check_output(a.name, x, dtype) for a, x in zip(arguments, given, strict=True)]
        check_apart((a.name, x) for a, x in zip(arguments, checked, strict=True))
        return checked

    def _extent(
        self, named: Sequence[tuple[Argument, Array, str]], size: int | None
    ) -> tuple[LayoutName, int]:
        """The layout of the call and N (a multiple of W when blocked)."""
        layouts = [layout_of(a, x, self.lanes, kind) for a, x, kind in named]
        blocks = {
            a.name: len(x)
            for (a, x, _), layout in zip(named, layouts, strict=True)
            if layout == "blocked"
        }
        rows = {
            a.name: len(x)
            for (a, x, _), layout in zip(named, layouts, strict=True)
            if layout == "rows"
        }
        if blocks:
            _agree(blocks, "blocks")
            count = next(iter(blocks.values()))
            short = {name: n for name, n in rows.items() if -(-n // self.lanes) != count}
            if short:
                raise ShapeError(
                    f"{short} rows do not fill {count} blocks of {self.lanes} lanes",
                    remedy="pass arrays of one batch size",
                )
            given = count * self.lanes
        elif rows:
            _agree(rows, "rows")
            given = next(iter(rows.values()))
        elif size is not None:
            return "rows", size
        else:
            raise ShapeError(
                f"no array of this call to {self.name} has a batch axis", remedy="pass size="
            )
        if size is not None and size != given:
            raise ShapeError(f"size={size}, but the arrays hold {given} lanes")
        return ("blocked" if blocks else "rows"), given

    def _run_rows(
        self, inputs: Sequence[Array], outputs: Sequence[Array] | None, count: int, threads: int
    ) -> list[Array]:
        signature, dtype, lanes = self.signature, self.signature.numpy_dtype, self.lanes
        arguments = signature.arguments
        sources = [
            x if _rows_in_place(x, a) else np.array(x, dtype, order="C")
            for a, x in zip(signature.inputs, inputs, strict=True)
        ]
        shapes = [(count, *a.shape) for a in signature.outputs]
        targets = _writable(outputs, shapes, sources, dtype, _rows_in_place, signature.outputs)
        full, rest = divmod(count, lanes)
        arrays = [*sources, *targets]
        records = (_Record * len(arguments))()
        for record, argument, array in zip(records, arguments, arrays, strict=True):
            record.data, record.stride = data_address(array), _lead_stride(argument, array)
        share_blocks(self.rows, records, arrays, full, threads)
        if rest:
            scratch = [
                _tail(x, full * lanes, lanes) if _is_batched(a, x) else x
                for a, x in zip(signature.inputs, sources, strict=True)
            ]
            scratch += [empty_aligned((lanes, *a.shape), dtype) for a in signature.outputs]
            for record, argument, array in zip(records, arguments, scratch, strict=True):
                record.data, record.stride = data_address(array), _lead_stride(argument, array)
            self.rows(records, 0, 1)
            for target, block in zip(targets, scratch[len(sources) :], strict=True):
                target[full * lanes :] = block[:rest]
        return _deliver(outputs, targets)

    def _run_blocked(
        self, inputs: Sequence[Array], outputs: Sequence[Array] | None, count: int, threads: int
    ) -> list[Array]:
        signature, dtype, lanes = self.signature, self.signature.numpy_dtype, self.lanes
        blocks = count // lanes
        sources = [
            self._block_input(a, x, dtype) for a, x in zip(signature.inputs, inputs, strict=True)
        ]
        shapes = [(blocks, *a.shape, lanes) for a in signature.outputs]
        targets = _writable(outputs, shapes, sources, dtype, _block_in_place, signature.outputs)
        records = (_Record * len(signature.arguments))()
        arrays = [*sources, *targets]
        for record, array in zip(records, arrays, strict=True):
            record.data, record.stride = data_address(array), array.strides[0] // array.itemsize
        for record, argument, value in zip(records, signature.inputs, inputs, strict=False):
            if not _is_batched(argument, value):
                record.stride = 0
        share_blocks(self.blocked, records, arrays, blocks, threads)
        return _deliver(outputs, targets)

    def _block_input(self, argument: Argument, value: Array, dtype: np.dtype[Any]) -> Array:
        extra = value.ndim - len(argument.shape)
        if extra == 1:
            return to_blocked(value, self.lanes)
        if extra == 0:
            splat = empty_aligned((1, *argument.shape, self.lanes), dtype)
            splat[0] = value[..., None]
            return splat
        return value if _block_in_place(value, argument) else np.array(value, dtype, order="C")


def make_batch_call(
    signature: Signature,
    lanes: int,
    rows_address: int,
    blocked_address: int,
    *,
    name: str = "kernel",
    keep: object = None,
    guard: bool = False,
) -> BatchCall:
    """A batch call from the addresses of the two native entries; `keep` is kept alive with it.

    `guard` is for entries that call Python functions.

    Here one entry for W = 1, in which both layouts are the same, fills a batch with sevens:

    >>> from linkwright.backends.llvm.compile import native
    >>> from linkwright.backends.llvm.signature import make_signature
    >>> code = native(SEVENS_EXAMPLE, ["sevens"])
    >>> entry = code.address("sevens")
    >>> sevens = make_batch_call(make_signature([], [("y", ())]), 1, entry, entry, keep=code)
    >>> sevens(size=3)
    array([7., 7., 7.])
    """
    rows, blocked = _Entry(rows_address), _Entry(blocked_address)
    if guard:
        return BatchCall(signature, lanes, guarded(rows), guarded(blocked), name, keep)
    return BatchCall(signature, lanes, rows, blocked, name, keep)


def _agree(counts: dict[str, int], unit: str) -> None:
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name}: {n}" for name, n in counts.items())
        raise ShapeError(f"the arrays differ in their number of {unit} ({listed})")


def _is_batched(argument: Argument, array: Array) -> bool:
    return array.ndim > len(argument.shape)


def _lead_stride(argument: Argument, array: Array) -> int:
    return array.strides[0] // array.itemsize if _is_batched(argument, array) else 0


def _rows_in_place(array: Array, argument: Argument) -> bool:
    """Whether the rows entry can walk the array: whole strides, components contiguous."""
    return _walkable(array, 1 if _is_batched(argument, array) else 0)


def _block_in_place(array: Array, argument: Argument) -> bool:
    return array.ndim == len(argument.shape) + 2 and _walkable(array, 1)


def _walkable(array: Array, lead: int) -> bool:
    if not (array.flags.aligned and array.dtype.isnative) or array.dtype.kind != "f":
        return False
    if any(step % array.itemsize for step in array.strides[:lead]):
        return False
    expected = array.itemsize
    for axis in range(array.ndim - 1, lead - 1, -1):
        if array.shape[axis] > 1 and array.strides[axis] != expected:
            return False
        expected *= array.shape[axis]
    return True


def _writable(
    outputs: Sequence[Array] | None,
    shapes: Sequence[tuple[int, ...]],
    sources: Sequence[Array],
    dtype: np.dtype[Any],
    in_place: Callable[[Array, Argument], bool],
    arguments: Sequence[Argument],
) -> list[Array]:
    """For each output the array that the kernel writes: the given one where that is sound."""
    if outputs is None:
        return [empty_aligned(shape, dtype) for shape in shapes]
    return [
        x
        if x.shape == shape
        and x.dtype == dtype
        and in_place(x, a)
        and not any(np.may_share_memory(x, source) for source in sources)
        else empty_aligned(shape, dtype)
        for x, a, shape in zip(outputs, arguments, shapes, strict=True)
    ]


def _deliver(outputs: Sequence[Array] | None, targets: list[Array]) -> list[Array]:
    for given, written in zip(outputs or (), targets, strict=False):
        if given is written:
            continue
        values = written if given.ndim == written.ndim else from_blocked(written, len(given))
        np.copyto(given, values, casting="same_kind")
    return targets


def _tail(array: Array, start: int, lanes: int) -> Array:
    rest = array[start:]
    block = empty_aligned((lanes, *array.shape[1:]), array.dtype)
    block[: len(rest)] = rest
    block[len(rest) :] = rest[-1]
    return block
