"""DAQP's C function, which its Python module exports: solved without Python in between.

The module is a shared object whose symbols are public, `daqp_quadprog` among them, but not part of
what it promises. So the way to it is tried before it is used: structures of the layout below get
programs whose solutions DAQP's own Python function gives too. Where that fails, or the symbol is
not there, native code calls that Python function, which is as right and slower, and a warning says
so.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from linkwright.base.optional import extra

Array = np.ndarray[Any, np.dtype[np.float64]]
_SEEDS = 24
_POINTER = ctypes.POINTER(ctypes.c_double)


class DaqpProblem(ctypes.Structure):
    """Minimize x H x / 2 + f x within lower <= A x <= upper: `DAQPProblem`."""

    _fields_ = (
        ("n", ctypes.c_int),
        ("m", ctypes.c_int),
        ("bounds", ctypes.c_int),  # how many of the limits are on x itself
        ("H", ctypes.c_void_p),
        ("f", ctypes.c_void_p),
        ("A", ctypes.c_void_p),
        ("upper", ctypes.c_void_p),
        ("lower", ctypes.c_void_p),
        ("sense", ctypes.c_void_p),
        ("break_points", ctypes.c_void_p),
        ("levels", ctypes.c_int),
        ("kind", ctypes.c_int),
        ("room", ctypes.c_byte * 256),  # for fields of later versions, all of them 0
    )


class DaqpResult(ctypes.Structure):
    """What was found: `DAQPResult`."""

    _fields_ = (
        ("x", ctypes.c_void_p),
        ("multipliers", ctypes.c_void_p),
        ("value", ctypes.c_double),
        ("slack", ctypes.c_double),
        ("flag", ctypes.c_int),
        ("room", ctypes.c_byte * 256),
    )


SOLVER = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(DaqpResult), ctypes.POINTER(DaqpProblem), ctypes.c_void_p
)


@lru_cache(maxsize=1)
def solver() -> tuple[int, object]:
    """Return the address of a function like `daqp_quadprog`, and what keeps it valid."""
    daqp: Any = extra("daqp", "lab")
    try:
        library = ctypes.CDLL(daqp.__file__)
        address = ctypes.cast(library.daqp_quadprog, ctypes.c_void_p).value or 0
        if agrees(SOLVER(address)):
            return address, library
        why = "solves programs of its test otherwise than its Python function"
    except (AttributeError, OSError) as error:
        why = f"cannot be reached ({error})"
    warnings.warn(
        f"DAQP's C function {why}; whole-body controllers call Python at each tick, which is "
        "slower and gives the same: install a version of daqp that pyproject.toml names",
        stacklevel=2,
    )
    return python_solver()


def python_solver() -> tuple[int, object]:
    """Return the same by way of DAQP's Python function."""
    daqp: Any = extra("daqp", "lab")

    def call(result: Any, problem: Any, _settings: int | None) -> None:
        p, found = problem.contents, result.contents
        n, m = p.n, p.m
        sense = np.ctypeslib.as_array(
            ctypes.cast(p.sense, ctypes.POINTER(ctypes.c_int32)), (m,)
        ).copy()
        arrays = [
            _view(p.H, (n, n)), _view(p.f, (n,)), _view(p.A, (m, n)), _view(p.upper, (m,)),
            _view(p.lower, (m,)),
        ]  # fmt: skip
        x, _, found.flag, _ = daqp.solve(*(a.copy() for a in arrays), sense)
        _view(found.x, (n,))[:] = x

    function = SOLVER(call)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address, function


def _view(address: int, shape: tuple[int, ...]) -> Array:
    return np.ctypeslib.as_array(ctypes.cast(address, _POINTER), shape)


def agrees(function: Callable[..., None]) -> bool:
    """Return whether a function gives what DAQP's Python function gives.

    A program with a known solution comes first: where the layout were another one, it would be the
    one that shows it, without a pointer being followed that was not given.
    """
    daqp: Any = extra("daqp", "lab")
    one, minus = np.eye(1), np.array([-2.0])
    x, flag = solved(function, one, minus, one, np.array([1.0]), np.array([-1.0]), 0)
    if flag != 1 or abs(float(x[0]) - 1.0) > 1e-9:
        return False
    for seed in range(_SEEDS):
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(2, 12)), int(rng.integers(1, 30))
        root, A = rng.normal(size=(n + 2, n)), rng.normal(size=(m, n))
        H, f = root.T @ root + 1e-6 * np.eye(n), rng.normal(size=n)
        lower = rng.normal(size=m) - 0.5
        upper = lower + rng.uniform(-0.05, 1.0, m)  # some are empty
        upper = np.where(rng.random(m) < 0.2, 1e30, np.maximum(upper, lower))
        sense = 8 * int(seed % 3 == 0)
        x, flag = solved(function, H, f, A, upper, lower, sense)
        wanted, _, right, _ = daqp.solve(H, f, A, upper, lower, np.full(m, sense, np.int32))
        if flag != right or (flag > 0 and not np.allclose(x, wanted, rtol=1e-9, atol=1e-9)):
            return False
    return True


def solved(
    function: Callable[..., None],
    H: Array,
    f: Array,
    A: Array,
    upper: Array,
    lower: Array,
    sense: int,
) -> tuple[Array, int]:
    """Return a solution and the flag, by a function like `daqp_quadprog`."""
    m, n = A.shape
    given = [np.array(a, dtype=float, order="C") for a in (H, f, A, upper, lower)]
    senses = np.full(m, sense, np.int32)
    x, multipliers = np.zeros(n), np.zeros(m)
    problem = DaqpProblem(n, m, 0, *(a.ctypes.data for a in given), senses.ctypes.data, None, 0, 0)
    result = DaqpResult(x.ctypes.data, multipliers.ctypes.data)
    function(ctypes.byref(result), ctypes.byref(problem), None)
    return x, int(result.flag)
