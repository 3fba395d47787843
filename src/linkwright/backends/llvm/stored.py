"""Native kernels by a key that stands for their Program, which is asked for only when it is needed.

Where the disk cache has the object code, neither the Program nor anything that derives it is
imported, so that a kernel that was built once is ready in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linkwright.backends.built import require_sizes
from linkwright.backends.llvm import target
from linkwright.backends.llvm.batch import BatchCall, make_batch_call
from linkwright.backends.llvm.compile import NativeCode, cached_native
from linkwright.backends.llvm.fastcall import make_scalar_call
from linkwright.backends.llvm.signature import make_signature
from linkwright.base.fingerprint import fingerprint
from linkwright.base.forking import cached_property

if TYPE_CHECKING:
    from linkwright.program import Program

Ports = tuple[tuple[str, tuple[int, ...]], ...]

SCALAR, ROWS, BLOCKED = "kernel", "rows", "blocked"


@dataclass(frozen=True)
class StoredKernel:
    """A native kernel of a Program without foreign functions."""

    name: str
    key: str
    inputs: Ports
    outputs: Ports
    program: Callable[[], Program]

    def _code(self, kind: str, lanes: int, write: Callable[[], str], *names: str) -> NativeCode:
        ports = f"{self.inputs} {self.outputs}"
        key = f"stored {fingerprint('kernels')} {kind} f64 {lanes} {self.key} {ports}"
        return cached_native(key.encode(), write, names)

    def _made(self) -> Program:
        """Return the Program, which has the arrays that this kernel is called with."""
        made = self.program()
        for ports, own in ((self.inputs, made.inputs), (self.outputs, made.outputs)):
            require_sizes(self.name, ports, [(port.name, port.shape) for port in own])
        return made

    @cached_property
    def _scalar_code(self) -> NativeCode:
        def write() -> str:
            from linkwright.backends.llvm.backend import scalar_ir

            return scalar_ir(self._made())

        return self._code("scalar", 1, write, SCALAR)

    @property
    def code(self) -> tuple[int, object]:
        """The address of the scalar kernel, and what keeps it valid."""
        return self._scalar_code.address(SCALAR), self._scalar_code

    def scalar_or(self, slow: Callable[..., Any] | None) -> Callable[..., Any]:
        """Return the scalar kernel, with another function for all but plain arrays of inputs."""
        return make_scalar_call(
            self._scalar_code.address(SCALAR),
            self.inputs,
            self.outputs,
            "f64",
            slow,
            name=self.name,
            keep=self._scalar_code,
            fills=slow is None,
        )

    @cached_property
    def scalar(self) -> Callable[..., Any]:
        """The scalar kernel."""
        return self.scalar_or(None)

    @cached_property
    def batch(self) -> BatchCall:
        """The batch kernel."""
        lanes = target.host().lanes("f64")

        def write() -> str:
            from linkwright.backends.llvm.backend import batch_ir

            return batch_ir(self._made(), "f64", lanes)

        code = self._code("batch", lanes, write, ROWS, BLOCKED)
        return make_batch_call(
            make_signature(self.inputs, self.outputs, "f64"),
            lanes,
            code.address(ROWS),
            code.address(BLOCKED),
            name=self.name,
            keep=code,
        )
