"""Kernels: compiled Programs, whatever compiled them.

A backend is one module and one line in `BACKENDS`. The module has a function
`build(program, dtype)` that returns a `Compiled`; what it holds is built when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from linkwright.base.arguments import worded
from linkwright.base.errors import BackendError, ShapeError
from linkwright.base.forking import cached_property
from linkwright.base.lazy import named
from linkwright.program import Counts, Program, ProgramError, ProgramPort, count_operations

BACKENDS: dict[str, str] = {
    "llvm": "linkwright.backends.llvm.backend",
    "c": "linkwright.backends.c.backend",
    "cuda": "linkwright.backends.cuda.backend",
    "python": "linkwright.backends.python",
}
"""The module of each backend."""

DTYPES = ("float64", "float32")


class Compiled(Protocol):
    """What a backend makes of a Program."""

    @property
    def source(self) -> str:
        """The text that was compiled."""

    @property
    def scalar(self) -> Callable[..., Any]:
        """The function on single arrays: `f(*inputs)`, or `f(*inputs, *outputs)` to fill arrays."""

    @property
    def batch(self) -> Callable[..., Any]:
        """The function over a leading axis: `f(*inputs, out=None, size=None, threads=1)`."""


class Kernel:
    """A compiled Program; `linkwright.compile` makes one.

    Calling it with arrays of the inputs' shapes evaluates the Program once; if an array has one
    more axis, in front, it is evaluated for each row, and inputs without that axis are shared by
    all rows.
    The result is an array (a float for an output of shape `()` in a single evaluation), or a tuple
    of them in the order of the outputs when there are several.

    Args:
        program: what is computed.
        backend: the name of the backend.
        dtype: "float64" or "float32".
        compiled: what the backend has made of it.

    Example:
        >>> from linkwright.algebra import sin, symbol
        >>> from linkwright.program import program
        >>> q = symbol("q", "coordinate")
        >>> f = compile(program("pendulum", {"q": [q]}, {"a": [-9.81 * sin(q)]}))
        >>> f
        Kernel(pendulum(q[1]) -> a[1], backend='llvm', dtype='float64')
        >>> f([1.5707963267948966]), f([[0.0], [1.5707963267948966]])
        (array([-9.81]), array([[-0.  ], [-9.81]]))
    """

    @worded
    def __init__(self, program: Program, backend: str, dtype: str, compiled: Compiled) -> None:
        self.program = program
        self.backend = backend
        self.dtype = dtype
        self._compiled = compiled
        self._ranks = tuple(len(port.shape) for port in program.inputs)

    @property
    def name(self) -> str:
        """The name of the Program."""
        return self.program.name

    @property
    def inputs(self) -> tuple[ProgramPort, ...]:
        """The arrays it takes, with names and shapes."""
        return self.program.inputs

    @property
    def outputs(self) -> tuple[ProgramPort, ...]:
        """The arrays it gives, with names and shapes."""
        return self.program.outputs

    @cached_property
    def counts(self) -> Counts:
        """The operations of one evaluation."""
        return count_operations(self.program)

    @cached_property
    def source(self) -> str:
        """The text that was compiled: LLVM IR, C or Python."""
        return self._compiled.source

    @cached_property
    def scalar(self) -> Callable[..., Any]:
        """The function for one evaluation, with the least overhead.

        `scalar(*inputs)` returns new arrays; `scalar(*inputs, *outputs)` fills the given ones.
        """
        return self._compiled.scalar

    @cached_property
    def batch(self) -> Callable[..., Any]:
        """The function over a leading axis: `batch(*inputs, out=None, size=None, threads=1)`.

        Which memory layouts are fast is described in `linkwright.backends.llvm.batch`.
        """
        return self._compiled.batch

    @cached_property
    def _evaluate(self) -> Callable[..., Any]:
        """The quickest function for single arrays; all else that it is given is sorted out."""
        quick = getattr(self._compiled, "scalar_or", None)
        return self._sort_out if quick is None else quick(self._sort_out)

    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        """Evaluate once, or for each row; fill `out` (one array for each output) where given."""
        if out is None:
            return self._evaluate(*inputs)
        return self._sort_out(*inputs, out=out)

    def _sort_out(self, *inputs: Any, out: Any = None) -> Any:
        """Evaluate inputs of any kind: convert them, or take them as a batch."""
        if len(inputs) != len(self._ranks):
            names = ", ".join(port.name for port in self.inputs)
            raise ShapeError(
                f"{self.name} takes {len(self._ranks)} inputs ({names}), not {len(inputs)}",
                remedy="pass outputs with out=",
            )
        for value, rank in zip(inputs, self._ranks, strict=True):
            if (value.ndim if isinstance(value, np.ndarray) else _rank(value)) != rank:
                return self.batch(*inputs, out=out)
        if out is None:
            return self.scalar(*inputs)
        return self.scalar(*inputs, *(out if isinstance(out, tuple | list) else (out,)))

    def __copy__(self) -> Kernel:
        return self

    def __deepcopy__(self, memo: object) -> Kernel:
        """Return itself: a kernel never changes, and its code is loaded once."""
        return self

    def __reduce__(self) -> str:
        raise BackendError(
            "a kernel is machine code of this process, and is not pickled",
            remedy="build it in each process from the model; the cache on disk has its code",
        )

    def __repr__(self) -> str:
        taken = ", ".join(_shown(port) for port in self.inputs)
        given = ", ".join(_shown(port) for port in self.outputs)
        what = f"{self.name}({taken}) -> {given or 'nothing'}"
        return f"Kernel({what}, backend={self.backend!r}, dtype={self.dtype!r})"


@worded
def compile(program: Program, *, backend: str = "llvm", dtype: str = "float64") -> Kernel:  # noqa: A001
    """Return a kernel for a Program; machine code is made when it is first called.

    Args:
        program: what to compile.
        backend: "llvm" (native code, made in this process), "c" (through the system's compiler), or
            "python" (NumPy, for reading and checking).
        dtype: "float64" or "float32", the type of every array.

    Example:
        >>> from linkwright.algebra import symbols
        >>> from linkwright.program import program
        >>> x, y = symbols("x y")
        >>> f = compile(program("f", {"x": x, "y": y}, {"sum": x + y, "product": x * y}))
        >>> f(2.0, 3.0)
        (5.0, 6.0)
    """
    module = BACKENDS.get(backend)
    if module is None:
        raise BackendError(
            f"there is no backend {backend!r}", remedy=f"choose one of {', '.join(BACKENDS)}"
        )
    if dtype not in DTYPES:
        raise BackendError(
            f"a kernel cannot work on {dtype!r}", remedy=f"choose {' or '.join(DTYPES)}"
        )
    if not isinstance(program, Program):
        raise ProgramError(f"{program!r} is not a Program; make one with linkwright.program")
    build: Callable[[Program, str], Compiled] = named(f"{module}:build")
    return Kernel(program, backend, dtype, build(program, dtype))


def _rank(value: Any) -> int:
    if isinstance(value, float | int):
        return 0
    try:
        return np.ndim(value)
    except ValueError as error:
        raise ShapeError(f"an input is not a rectangular array: {error}") from error


def _shown(port: ProgramPort) -> str:
    return port.name + "".join(f"[{n}]" for n in port.shape)
