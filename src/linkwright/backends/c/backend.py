"""Kernels from C: the file of a Program, built with the system's compiler and loaded with ctypes.

The library is built in a temporary folder that is removed once it is loaded. Beside the Program's
function it has a loop over rows, which batch calls use with one lane.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwright.algebra.foreign import ForeignFunction
from linkwright.backends.c.compiler import FLAGS, load_library
from linkwright.backends.c.externals import linked_name
from linkwright.backends.c.file import KINDS, c_source, write_text
from linkwright.backends.callbacks import callback, guarded
from linkwright.backends.foreign import bound_functions
from linkwright.backends.kernel import Kernel
from linkwright.backends.llvm.batch import BatchCall, make_batch_call
from linkwright.backends.llvm.signature import Dtype, Signature, make_signature
from linkwright.backends.llvm.slowcall import make_slow_call
from linkwright.base.forking import cached_property
from linkwright.program import Program

_ROWS = "lw_rows"
_DTYPES: dict[str, Dtype] = {"float64": "f64", "float32": "f32"}


def compile_c(
    program: Program, *, dtype: str = "float64", flags: Sequence[str] = FLAGS, fuse: bool = False
) -> Kernel:
    """Return a kernel that the system's C compiler makes of a Program.

    The compiler is the one that the environment variable CC names, else `cc`, `gcc` or `clang`.

    >>> from linkwright.algebra import sin, symbol
    >>> from linkwright.program import program
    >>> q = symbol("q", "coordinate")
    >>> pendulum = compile_c(program("pendulum", {"q": q}, {"a": -9.81 * sin(q)}))
    >>> pendulum(0.0)
    -0.0
    """
    return Kernel(program, "c", dtype, CompiledC(program, dtype, tuple(flags), fuse))


@dataclass(frozen=True)
class CompiledC:
    """The parts of a kernel made by the C compiler, built when they are first used."""

    program: Program
    dtype: str
    flags: tuple[str, ...] = FLAGS
    fuse: bool = False

    @property
    def source(self) -> str:
        """The C source."""
        return c_source(self.program, dtype=self.dtype, fuse=self.fuse)

    @cached_property
    def library(self) -> tuple[ctypes.CDLL, str, list[object]]:
        """The library, the name of its function, and what it calls back."""
        bound = [f for f in bound_functions(self.program) if not f.c_source]
        source, title = write_text(
            self.program, None, KINDS[self.dtype], fuse=self.fuse, stages=False
        )
        text = "\n".join(
            [
                source,
                _driver(self.signature, title, KINDS[self.dtype]),
                *(_trampoline(f) for f in bound),
            ]
        )
        library = load_library(text, self.flags)
        keep: list[object] = []
        for function in bound:
            back = callback(function)
            keep.append(back)
            pointer = ctypes.c_void_p.in_dll(library, f"lw_bound_{function.name}")
            pointer.value = ctypes.cast(back, ctypes.c_void_p).value
        return library, title, keep

    @property
    def signature(self) -> Signature:
        """Names and shapes of the arrays."""
        return make_signature(
            [(p.name, p.shape) for p in self.program.inputs],
            [(p.name, p.shape) for p in self.program.outputs],
            _DTYPES[self.dtype],
        )

    @cached_property
    def scalar(self) -> Callable[..., Any]:
        """The function on single arrays."""
        library, title, keep = self.library
        call = make_slow_call(_address(library, title), self.signature, self.program.name, self)
        return guarded(call) if keep else call

    @cached_property
    def batch(self) -> BatchCall:
        """The function over rows."""
        library, _, keep = self.library
        rows = _address(library, _ROWS)
        return make_batch_call(
            self.signature,
            1,
            rows,
            rows,
            name=self.program.name,
            keep=self.library,
            guard=bool(keep),
        )


def build(program: Program, dtype: str) -> CompiledC:
    """Return the parts of a kernel of this backend."""
    return CompiledC(program, dtype)


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


def _driver(signature: Signature, title: str, kind: str) -> str:
    """Return the loop over rows; with one lane, blocks are rows."""
    passed = ", ".join(f"a[{k}].data + b*a[{k}].stride" for k in range(len(signature.arguments)))
    return f"""
struct lw_record {{ {kind} *data; long long stride; }};
void {_ROWS}(const struct lw_record *a, long long first, long long count)
{{
    (void)a;
    for (long long b = first; b < first + count; ++b) {{
        {title}({passed});
    }}
}}
"""


def _trampoline(function: ForeignFunction) -> str:
    """Return a definition of a foreign function that goes through a pointer, which Python fills."""
    names = [f"x{k}" for k in range(function.arity)]
    declared = [f"double {x}" for x in names]
    types = ["double"] * function.arity
    result, back = "double", "return "
    if function.outputs > 1:
        names.append("out")
        declared.append("double *out")
        types.append("double *")
        result, back = "void", ""
    pointer = f"lw_bound_{function.name}"
    return f"""
{result} (*{pointer})({", ".join(types)});
{result} {linked_name(function)}({", ".join(declared)})
{{
    {back}{pointer}({", ".join(names)});
}}
"""
