"""Names of the fields of arrays that Python and native code share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldTable:
    """Names of the 8-byte fields of an array that Python and native code share."""

    fields: tuple[str, ...]

    def __getitem__(self, name: str) -> int:
        """Return where a field lies."""
        return self.fields.index(name)

    def __len__(self) -> int:
        return len(self.fields)


def fields(*names: str | Sequence[str]) -> FieldTable:
    """Return a table of fields in order."""
    return FieldTable(
        tuple(n for group in names for n in ([group] if isinstance(group, str) else group))
    )
