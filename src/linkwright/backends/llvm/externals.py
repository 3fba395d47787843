"""Tables and foreign functions in native code: scalar functions that kernels call lane by lane."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from linkwright.errors import CompileError


@dataclass(slots=True)
class Externals:
    """The scalar functions that a module needs, by their data object."""

    written: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)
    bind: dict[str, int] = field(default_factory=dict)
    keep: list[object] = field(default_factory=list)

    def function(self, op: str, data: Any, arity: int, scalar: str) -> str:
        """Return the name of the native function of a table or foreign function."""
        raise CompileError(f"{op} is not known to native code")

    def texts(self) -> list[str]:
        """Return the module-level texts."""
        return [text for _, text in self.written.values()]
