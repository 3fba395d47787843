"""One hand-written kernel that is built and run, for tests and for the processes they start."""

from __future__ import annotations

import numpy as np

from linkwright.backends.llvm.compile import native
from linkwright.backends.llvm.fastcall import make_scalar_call
from tests.support.native_ir import axpy_scalar


def axpy_result() -> tuple[bool, list[float]]:
    """Build or load the kernel 2*x + 1 and run it: whether it was cached, and its result."""
    code = native(axpy_scalar(2), ["axpy"])
    call = make_scalar_call(
        code.address("axpy"), [("a", 2), ("x", 2), ("y", 2)], [("out", 2)], keep=code
    )
    out = call(np.full(2, 2.0), np.array([3.0, 4.0]), np.ones(2))
    return code.from_cache, out.tolist()
