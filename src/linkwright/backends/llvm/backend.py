"""The native backend: kernels compiled in this process, for scalars and for batches.

A kernel is compiled when it is first called, and separately for scalars and batches, so that only
what is used is built; object code comes from the disk cache where it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from linkwright.backends.callbacks import guarded
from linkwright.backends.llvm import codegen, target
from linkwright.backends.llvm.compile import NativeCode, cached_native
from linkwright.backends.llvm.externals import bindings
from linkwright.backends.llvm.lines import IrModule
from linkwright.backends.llvm.signature import Dtype, make_signature
from linkwright.base.fingerprint import fingerprint
from linkwright.base.forking import cached_property
from linkwright.program import Program, lower

if TYPE_CHECKING:
    from linkwright.backends.llvm.batch import BatchCall

SCALAR = "kernel"
SLOT = "slot"


def has_fma() -> bool:
    """Whether this processor multiplies and adds in one instruction."""
    return "+fma" in target.host().features.split(",") or target.host().cpu.startswith("apple")


@lru_cache(maxsize=1)
def _packed_lanes() -> int:
    """Return how many angles a scalar kernel packs into one vector."""
    return min(4, target.host().lanes("f64"))


def scalar_ir(program: Program, dtype: Dtype = "f64") -> str:
    """Return the IR text of the scalar kernel of a Program."""
    module = IrModule(dtype, _packed_lanes())
    codegen.write_function(module, lower(program, fuse=has_fma()), SCALAR, 1)
    return module.text()


def batch_ir(program: Program, dtype: Dtype, lanes: int) -> str:
    """Return the IR text of the batch kernel of a Program."""
    from linkwright.backends.llvm import entries

    module = IrModule(dtype)
    entries.write_batch(module, lower(program, fuse=has_fma()), lanes)
    return module.text()


def _key(program: Program, kind: str, dtype: str, lanes: int) -> bytes:
    return f"{fingerprint('kernels')} {kind} {dtype} {lanes} {program.fingerprint()}".encode()


def scalar_code(
    program: Program, dtype: Dtype = "f64", bind: Mapping[str, int] | None = None
) -> NativeCode:
    """Return the loaded scalar kernel of a Program; `bind` has its foreign functions' addresses."""
    key = _key(program, "scalar", dtype, _packed_lanes())
    return cached_native(key, lambda: scalar_ir(program, dtype), [SCALAR], bind=bind)


def scalar_call(program: Program, dtype: Dtype = "f64", slow: Any = None) -> Any:
    """Return the scalar kernel as a Python function on NumPy arrays."""
    from linkwright.backends.llvm.fastcall import make_scalar_call

    bound = bindings(program)
    code = scalar_code(program, dtype, bound.addresses)
    call = make_scalar_call(
        code.address(SCALAR),
        [(p.name, p.shape) for p in program.inputs],
        [(p.name, p.shape) for p in program.outputs],
        dtype,
        slow,
        name=program.name,
        keep=(code, bound.keep),
    )
    return guarded(call) if bound.python else call


def slot_code(program: Program) -> tuple[NativeCode, int]:
    """Return a Program of t, arguments and held as the function of a slot, and its address.

    The function takes a context, the address of t, and that of arguments, held and results in one
    array; it returns 0.
    """
    arguments, held = (port.size for port in program.inputs[1:])
    wrapper = f"""
define i64 @{SLOT}(ptr %context, ptr %t, ptr %o) nounwind {{
entry:
  %held = getelementptr double, ptr %o, i64 {arguments}
  %results = getelementptr double, ptr %o, i64 {arguments + held}
  call void @{SCALAR}(ptr %t, ptr %o, ptr %held, ptr %results)
  ret i64 0
}}
"""
    bound = bindings(program)
    key = _key(program, "slot", "f64", _packed_lanes())
    code = cached_native(key, lambda: scalar_ir(program) + wrapper, [SLOT], bind=bound.addresses)
    return code, code.address(SLOT)


def batch_call(program: Program, dtype: Dtype = "f64", lanes: int | None = None) -> BatchCall:
    """Return the batch kernel as a Python function on NumPy arrays with a leading axis."""
    from linkwright.backends.llvm import entries
    from linkwright.backends.llvm.batch import make_batch_call

    width = target.host().lanes(dtype) if lanes is None else lanes
    key = _key(program, "batch", dtype, width)
    bound = bindings(program)
    code = cached_native(
        key,
        lambda: batch_ir(program, dtype, width),
        [entries.ROWS, entries.BLOCKED],
        bind=bound.addresses,
    )
    signature = make_signature(
        [(p.name, p.shape) for p in program.inputs],
        [(p.name, p.shape) for p in program.outputs],
        dtype,
    )
    return make_batch_call(
        signature,
        width,
        code.address(entries.ROWS),
        code.address(entries.BLOCKED),
        name=program.name,
        keep=(code, bound.keep),
        guard=bound.python,
    )


# -- as a kernel -----------------------------------------------------------------------------------
_DTYPES: dict[str, Dtype] = {"float64": "f64", "float32": "f32"}


@dataclass(frozen=True)
class CompiledNative:
    """The parts of a native kernel, compiled when they are first used."""

    program: Program
    dtype: Dtype

    @property
    def source(self) -> str:
        """The IR text of the scalar kernel."""
        return scalar_ir(self.program, self.dtype)

    @cached_property
    def scalar(self) -> Callable[..., Any]:
        """The scalar kernel."""
        call: Callable[..., Any] = scalar_call(self.program, self.dtype)
        return call

    def scalar_or(self, slow: Callable[..., Any]) -> Callable[..., Any]:
        """The scalar kernel, with another function for arguments that do not fit as they are."""
        call: Callable[..., Any] = scalar_call(self.program, self.dtype, slow)
        return call

    @cached_property
    def batch(self) -> BatchCall:
        """The batch kernel."""
        return batch_call(self.program, self.dtype)


def build(program: Program, dtype: str) -> CompiledNative:
    """Return the parts of a kernel of this backend."""
    return CompiledNative(program, _DTYPES[dtype])
