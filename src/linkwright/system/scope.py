"""What the texts of a System may refer to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linkwright.system.member import Member

if TYPE_CHECKING:
    from linkwright.system.system import System


@dataclass(frozen=True, slots=True)
class SystemScope:
    """What texts may refer to: ports of members, and what the mechanism knows."""

    system: System

    def lookup(self, kind: Any, name: str) -> object | None:
        """Return what the name stands for, or None where it is not known."""
        member, rest = self.system.apart(name)
        if kind == "value" and member and rest:
            port: object = self.system.members[member][rest]
            return port
        m = self.system.mechanism
        found: object = m.scope.known(kind, name)
        return found

    def names(self, kind: Any) -> Iterable[str]:
        """Return the names that are known, to suggest the nearest."""
        members: Sequence[Member] = list(self.system.members.values()) if kind == "value" else []
        ports = [f"{m.name}.{p}" for m in members for p in (*m.block.inputs, *m.block.outputs)]
        return [*ports, *self.system.mechanism.scope.names(kind)]
