"""What crosses the border between Python and native code, in a few seconds, for Valgrind.

Kernels on single arrays and on batches with threads, functions that return too much or too little,
a kernel that is called while it is collected, and runs with a Python function in every step.
"""

from __future__ import annotations

import gc
from contextlib import suppress

import numpy as np

import linkwright as lw
from linkwright.backends.kernel import Kernel
from linkwright.program import program


class Owner:
    """Calls a kernel while both are collected."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.own = kernel, self

    def __del__(self) -> None:
        self.kernel(np.ones(1))


def main() -> None:
    """Cross the border in all ways."""
    (x,) = lw.symbols("x", "coordinate")
    kernel = lw.compile(program("p", {"x": [x]}, {"y": [lw.sin(x), x * x], "z": lw.sqrt(x)}))
    for rows in (1, 7, 64, 1000):
        kernel.batch(np.ones((rows, 1)), threads=2)
        kernel.batch(np.ones((rows, 3))[:, 1:2], out=(np.ones((2, rows)).T, np.ones(2 * rows)[::2]))
    for count in (0, 1, 2, 3, 1000):
        first, second = lw.foreign("f", python=lambda a, n=count: [a] * n, outputs=2)(x)
        wrong = lw.compile(program("f", {"x": x}, {"y": [first, second]}))
        with suppress(lw.ShapeError):
            wrong(1.0)
        with suppress(lw.ShapeError):
            wrong.batch(np.ones(9))
    kernel(np.ones(1))
    owner = Owner(kernel)
    del owner, kernel
    gc.collect()
    m = lw.Mechanism("pulled")
    b = m.body("b", translate="x", mass=1)
    pull = lw.foreign("pull", python=lambda a: -a)
    m.force("f", pull(m.coordinates["b"]), at=b.origin, along="x")
    system = lw.System(m, base=100)
    lw.simulate(system, 0.1)
    lw.simulate_batch(system, 0.1, runs=9, threads=2, every=1)
    print("crossed")


if __name__ == "__main__":
    main()
