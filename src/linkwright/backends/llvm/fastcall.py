"""Calling a scalar kernel from Python at the price of a few comparisons.

A function of C's calling convention for Python (`METH_FASTCALL | METH_KEYWORDS`) is generated for
the signature. For every argument it compares type, element type, rank, shape and flags, and for
every output that it overlaps nothing; then it calls the kernel with the arrays' own pointers.
Whatever is not exactly that (a list, another width, strides, a keyword) goes to the slow call,
which converts or rejects with a message, or may add a shortcut for keywords like these. The
interpreter lock is kept.

    f(a, b)         returns new arrays (floats for outputs of shape ()), a tuple when several
    f(a, b, out)    fills `out` and returns None

An input of shape () may also be a Python float or a NumPy scalar of the kernel's type.

The generated code holds no address: it reads them from a table in its own data, filled in after
loading, so that it can live in the disk cache. Before a wrapper is handed out it is tried on arrays
of its own shapes with a recording function in place of the kernel; if that or the check of the
memory layout (`layout.py`) fails, the slow call is returned instead.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from linkwright.backends.llvm.compile import NativeCode, cached_native
from linkwright.backends.llvm.layout import TUPLE_ITEMS, Layout, find_layout
from linkwright.backends.llvm.signature import (
    ArgumentLike,
    Array,
    Dtype,
    Signature,
    make_signature,
)
from linkwright.backends.llvm.slowcall import make_slow_call, usage
from linkwright.backends.llvm.wrapper import CALL, MOST_GIVEN, SHORTCUT, SLOTS, TABLE, wrapper_ir
from linkwright.base.fingerprint import fingerprint

_FASTCALL_KEYWORDS = 0x0080 | 0x0002


class _MethodDefinition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


@cache
def _defined(name: str, address: int, documentation: str) -> _MethodDefinition:
    """Return a definition that is never freed.

    Python reads it when the function goes, which in a cycle is after all that the function holds.
    """
    return _MethodDefinition(name.encode(), address, _FASTCALL_KEYWORDS, documentation.encode())


@dataclass(frozen=True, slots=True)
class _Owner:
    """The `self` of a wrapper: keeps alive everything that its machine code refers to."""

    definition: _MethodDefinition
    wrapper: NativeCode
    slow: Callable[..., object]
    keep: object
    table: Any
    shortcuts: list[object] = field(default_factory=list)


def make_scalar_call(
    address: int,
    inputs: Iterable[ArgumentLike],
    outputs: Iterable[ArgumentLike],
    dtype: Dtype = "f64",
    slow: Callable[..., object] | None = None,
    *,
    name: str = "kernel",
    keep: object = None,
    fills: bool = True,
) -> Callable[..., Any]:
    """A fast Python callable for the scalar kernel at `address`.

    >>> from linkwright.backends.llvm.compile import native
    >>> code = native(
    ...     '''define void @twice(ptr %x, ptr %y) {
    ...   %a = load double, ptr %x
    ...   %b = fadd double %a, %a
    ...   store double %b, ptr %y
    ...   ret void
    ... }''',
    ...     ["twice"],
    ... )
    >>> twice = make_scalar_call(code.address("twice"), [("x", 1)], [("y", 1)], keep=code)
    >>> twice(np.array([21.0]))
    array([42.])
    """
    signature = make_signature(inputs, outputs, dtype)
    slow = slow or make_slow_call(address, signature, name, keep)
    layout = find_layout()
    if layout is None:
        return slow
    shapes = [[a.shape for a in group] for group in (signature.inputs, signature.outputs)]
    key = f"fastcall {fingerprint('kernels')} {TUPLE_ITEMS} {dtype} {shapes}".encode()
    code = cached_native(key, lambda: wrapper_ir(signature), [CALL, TABLE])
    table = (ctypes.c_int64 * len(SLOTS)).from_address(code.address(TABLE))
    _fill(table, layout, signature, slow)
    documentation = f"{name}($self, /, *arrays)\n--\n\n{usage(name, signature)}"
    definition = _defined(name, code.address(CALL), documentation)
    owner = _Owner(definition, code, slow, keep, table)
    if not _passes_trial(definition, owner, table, signature):
        return slow
    table[SLOTS.index("kernel")] = address
    if not fills:
        table[SLOTS.index("most")] = len(signature.inputs)
    return _new_function(definition, owner)


def add_shortcut(
    call: object, given: int, names: tuple[str, ...], last: object, target: object
) -> None:
    """Let a call with some keywords, in any order, go straight to another function."""
    owner = getattr(call, "__self__", None)
    if not isinstance(owner, _Owner) or given + len(names) > MOST_GIVEN:
        return
    place, known = SLOTS.index("shortcut"), tuple(map(sys.intern, names))
    head = {
        "next": owner.table[place],
        "given": given,
        "names": len(known),
        "last": 0 if last is None else id(last),
        "target": id(target),
    }
    entry = [*(head[field] for field in SHORTCUT), *map(id, known)]
    record = (ctypes.c_int64 * len(entry))(*entry)
    owner.shortcuts.append((record, known, last, target))
    owner.table[place] = ctypes.addressof(record)


def _fill(table: Any, layout: Layout, signature: Signature, slow: Callable[..., object]) -> None:
    values = {
        "scalar_type": id(signature.numpy_dtype.type),
        "descriptor": id(signature.numpy_dtype),
        "kernel": 0,
        "most": len(signature.arguments),
        "slow": id(slow),
        "shortcut": 0,
    }
    for index, slot in enumerate(SLOTS):
        table[index] = values[slot] if slot in values else getattr(layout, slot)


def _new_function(definition: _MethodDefinition, owner: object) -> Callable[..., Any]:
    new = ctypes.pythonapi.PyCFunction_NewEx
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)(
        ctypes.cast(new, ctypes.c_void_p).value or 0
    )
    function: Callable[..., Any] = make(ctypes.addressof(definition), owner, __name__)
    return function


def _passes_trial(
    definition: _MethodDefinition, owner: _Owner, table: Any, signature: Signature
) -> bool:
    """Call the wrapper with a recorder for the kernel: it must see the arrays' own pointers."""
    seen: list[int | None] = []
    slow_calls: list[int] = []

    def record(*pointers: int | None) -> None:
        seen[:] = pointers

    def refuse(*values: object) -> None:
        slow_calls.append(len(values))

    recorder = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(signature.arguments))(record)
    kernel, slow = SLOTS.index("kernel"), SLOTS.index("slow")
    slow_address = table[slow]
    table[kernel] = ctypes.cast(recorder, ctypes.c_void_p).value or 0
    table[slow] = id(refuse)
    function = _new_function(definition, owner)
    dtype = signature.numpy_dtype
    arrays: list[Array] = [np.zeros(a.shape, dtype) for a in signature.arguments]
    count = len(signature.inputs)
    good = function(*arrays) is None and seen == [x.ctypes.data for x in arrays]
    made = function(*arrays[:count])
    results = made if isinstance(made, tuple) else (made,) if signature.outputs else ()
    good = good and [np.shape(x) for x in results] == [a.shape for a in signature.outputs]
    good = good and seen[:count] == [x.ctypes.data for x in arrays[:count]] and not slow_calls
    function(*arrays, None)
    for index, array in enumerate(arrays):
        wrong = list(arrays)
        wrong[index] = array.astype(dtype.newbyteorder())
        function(*wrong)
        if index >= count:
            array.flags.writeable = False
            function(*arrays)
            array.flags.writeable = True
    good = good and len(slow_calls) == 1 + len(arrays) + len(signature.outputs)
    table[slow] = slow_address
    return good
