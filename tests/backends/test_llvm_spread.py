"""Long outputs with values that occur repeatedly: held once by the core, spread when they leave."""

from __future__ import annotations

import numpy as np
import pytest

from linkwright.algebra import ZERO, Expr, symbols
from linkwright.backends.kernel import compile as compile_kernel
from linkwright.backends.llvm import target
from linkwright.backends.llvm.blocks import from_blocked, to_blocked
from linkwright.program import Program, program
from tests.seeds import cases


def outer_products(size: int, group: int) -> Program:
    """Return the products of numbers of one group, zeros elsewhere: symmetric and sparse."""
    x = symbols(" ".join(f"x{k}" for k in range(size)), "coordinate")

    def entry(i: int, j: int) -> Expr:
        return x[i] * x[j] if i // group == j // group else ZERO

    rows = [[entry(i, j) for j in range(size)] for i in range(size)]
    return program("outer", {"x": list(x)}, {"M": rows, "y": [x[0] + 1.0]})


@pytest.mark.parametrize(("size", "group"), [(16, 5), (17, 17), (19, 4), (23, 1)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("count", cases([1, 5, 16, 37], daily=[5, 37]))
def test_rows_and_blocks_of_symmetric_matrices(
    size: int, group: int, dtype: str, count: int
) -> None:
    """Rows, tails and blocks hold what NumPy makes of the same numbers, the zeros too."""
    kernel = compile_kernel(outer_products(size, group), dtype=dtype)
    x = np.random.default_rng(size).normal(size=(count, size)).astype(dtype)
    same = np.arange(size)[:, None] // group == np.arange(size) // group
    wanted = np.where(same, x[:, :, None] * x[:, None, :], 0.0)
    rows, other = kernel.batch(x)
    np.testing.assert_allclose(rows, wanted, rtol=1e-6)
    np.testing.assert_allclose(other, x[:, :1] + 1.0, rtol=1e-6)
    lanes = target.host().lanes("f64" if dtype == "float64" else "f32")
    blocked, _ = kernel.batch(to_blocked(x, lanes))
    np.testing.assert_allclose(from_blocked(blocked, count), wanted, rtol=1e-6)
    np.testing.assert_allclose(kernel(x[0])[0], wanted[0], rtol=1e-6)
