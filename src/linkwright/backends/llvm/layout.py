"""Where CPython and NumPy keep what the native call wrapper reads, found out by looking.

The wrapper reads a few fields of an array object at fixed places. Those places are part of the
binary interface of CPython (object header) and of NumPy (`PyArrayObject_fields` in
`ndarraytypes.h`, and the numbering of its function table), and have been the same since NumPy 1.7.
Nothing here trusts that: `find_layout` reads them from arrays whose contents are known and returns
None when anything differs, when the interpreter is not a 64-bit CPython, or when it has no global
lock, in which case kernels are called through ctypes instead.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from linkwright.backends.llvm.signature import Array

TYPE = 8
DATA = 16
NDIM = 24
DIMENSIONS = 32
DESCRIPTOR = 56
FLAGS = 64
SCALAR_VALUE = 16
TUPLE_SIZE = 16
TUPLE_ITEMS = tuple.__basicsize__

C_CONTIGUOUS = 0x1
ALIGNED = 0x100
WRITEABLE = 0x400

_GET_ABI_VERSION = 0
_NEW_FROM_DESCRIPTOR = 94
_ABI_VERSIONS = (0x01000009, 0x02000000)


@dataclass(frozen=True, slots=True)
class Layout:
    """Addresses in this process of the objects and functions that the wrapper needs."""

    array_type: int
    float_type: int
    none: int
    vectorcall: int
    incref: int
    decref: int
    new_array: int
    new_float: int
    new_tuple: int
    set_tuple_item: int


@lru_cache(maxsize=1)
def find_layout() -> Layout | None:
    """The layout of this process, or None where the wrapper must not be used.

    >>> found = find_layout()
    >>> found is None or found.none == id(None)
    True
    """
    if sys.implementation.name != "cpython" or sys.maxsize != 2**63 - 1:
        return None
    if "free-threading" in sys.version or hasattr(sys, "getobjects"):
        return None  # Free-threaded and reference-tracing builds have another object header.
    if not _fields_are_where_expected():
        return None
    new_array = _array_allocator()
    if new_array is None:
        return None
    return Layout(
        array_type=id(np.ndarray),
        float_type=id(float),
        none=id(None),
        vectorcall=_python_function("PyObject_Vectorcall"),
        incref=_python_function("Py_IncRef"),
        decref=_python_function("Py_DecRef"),
        new_array=new_array,
        new_float=_python_function("PyFloat_FromDouble"),
        new_tuple=_python_function("PyTuple_New"),
        set_tuple_item=_python_function("PyTuple_SetItem"),
    )


def data_address(array: Array) -> int:
    """Address of an array's first element: read in place where that was found safe.

    >>> x = np.arange(3.0)
    >>> data_address(x[1:]) - data_address(x)
    8
    """
    if find_layout() is None:
        return int(array.__array_interface__["data"][0])
    return ctypes.c_int64.from_address(id(array) + DATA).value


def _python_function(name: str) -> int:
    return int(ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0)


def _fields_are_where_expected() -> bool:
    plain = np.arange(7.0)
    matrix = np.arange(15.0, dtype=np.float32).reshape(3, 5)
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    unaligned = np.zeros(17, np.uint8)[1:].view(np.float64)
    samples = (plain, matrix, frozen, plain[::2], matrix.T, unaligned, np.array(2.5))
    scalars = (1.2345678901234567, np.float64(-7.25))
    several = (plain, matrix, frozen)
    return (
        np.ndarray.__basicsize__ >= FLAGS + 4
        and all(_array_agrees(sample) for sample in samples)
        and _read(ctypes.c_int64, several, TUPLE_SIZE) == 3
        and _read(ctypes.c_int64, several, TUPLE_ITEMS + 16) == id(frozen)
        and all(_read(ctypes.c_double, x, SCALAR_VALUE) == x for x in scalars)
        and _read(ctypes.c_float, np.float32(0.75), SCALAR_VALUE) == 0.75
    )


def _array_agrees(array: Array) -> bool:
    dimensions = _read(ctypes.c_int64, array, DIMENSIONS)
    shape = (ctypes.c_int64 * array.ndim).from_address(dimensions) if array.ndim else ()
    flags = _read(ctypes.c_int, array, FLAGS)
    bits = (
        (C_CONTIGUOUS, array.flags.c_contiguous),
        (ALIGNED, array.flags.aligned),
        (WRITEABLE, array.flags.writeable),
    )
    return (
        _read(ctypes.c_int64, array, TYPE) == id(type(array))
        and _read(ctypes.c_int64, array, DATA) == array.ctypes.data
        and _read(ctypes.c_int, array, NDIM) == array.ndim
        and tuple(shape) == array.shape
        and _read(ctypes.c_int64, array, DESCRIPTOR) == id(array.dtype)
        and all(bool(flags & bit) == value for bit, value in bits)
    )


def _read(kind: Any, thing: object, offset: int) -> Any:
    return kind.from_address(id(thing) + offset).value


def _array_allocator() -> int | None:
    """Address of NumPy's `PyArray_NewFromDescr`, after a trial; None where it cannot be had."""
    core = getattr(np, "_core", None) or getattr(np, "core", None)
    capsule = getattr(getattr(core, "multiarray", None), "_ARRAY_API", None)
    if capsule is None:
        return None
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ctypes.cast(get_pointer, ctypes.c_void_p).value or 0
    )(capsule, None)
    table = (ctypes.c_void_p * (_NEW_FROM_DESCRIPTOR + 1)).from_address(pointer)
    version = ctypes.PYFUNCTYPE(ctypes.c_uint)(table[_GET_ABI_VERSION] or 0)()
    address = table[_NEW_FROM_DESCRIPTOR]
    if version not in _ABI_VERSIONS or not address:
        return None
    dtype = np.dtype(np.float64)
    _add_reference(dtype)  # The function takes one over.
    shape = (ctypes.c_int64 * 2)(3, 2)
    new = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        ctypes.py_object,
        ctypes.py_object,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_void_p,
    )(address)
    made = new(np.ndarray, dtype, 2, ctypes.addressof(shape), None, None, 0, None)
    right = (type(made), made.shape, made.dtype) == (np.ndarray, (3, 2), dtype)
    return int(address) if right and made.flags.carray and made.flags.owndata else None


def _add_reference(thing: object) -> None:
    ctypes.PYFUNCTYPE(None, ctypes.py_object)(_python_function("Py_IncRef"))(thing)
