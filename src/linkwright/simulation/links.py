"""Links: what lies between a controller and a device, whoever stands at its two ends.

A link has two ports, windows or wires: frames of one record come from its source, those of another
go to its target. A paced loop exchanges them by itself; what they mean is said by the records.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Self, TypeAlias

from linkwright.base.closable import Closable
from linkwright.base.errors import Error
from linkwright.windows import Record, Window, Wire

Port: TypeAlias = Window | Wire
"""What frames go through."""


class DeviceLink(Closable):
    """One end of a link; `open` sets its ports."""

    ports: tuple[Port, Port] | None = None
    """Where frames come from, and where they go to."""

    def open(self) -> None:
        """Take hold of the other end."""

    @property
    def source(self) -> Port:
        """Where frames come from."""
        return self._opened[0]

    @property
    def target(self) -> Port:
        """Where frames go to."""
        return self._opened[1]

    @property
    def _opened(self) -> tuple[Port, Port]:
        if self.ports is None:
            raise Error(f"{self} is not open", remedy="`open` it first")
        return self.ports

    def close(self) -> None:
        """Let go of the other end; a second time does nothing."""
        ports, self.ports = self.ports, None
        for port in dict.fromkeys(ports or ()):
            port.close()

    def __enter__(self) -> Self:
        self.open()
        return self


def window_ports(
    reads: tuple[Path, Record], writes: tuple[Path, Record], *, within: float
) -> tuple[Window, Window]:
    """Return the ports of a link through files: this end makes the window that it writes.

    Units: `within` in s, for which the window of the other end is waited for.
    """
    target = Window.create(*writes)
    try:
        return Window.open(*reads, within=within), target
    except Error:
        target.close()
        raise


def numbers_of(record: Record, stems: Mapping[str, str]) -> dict[str, list[str]]:
    """Return what the numbers of a record's fields are called, by what each field is called.

    >>> from linkwright.windows import Field
    >>> numbers_of(
    ...     Record("r", Field("q", shape=(2,)), Field("beat")), {"q": "arm.q", "beat": "n"}
    ... )
    {'q': ['arm.q[0]', 'arm.q[1]'], 'beat': ['n']}
    """
    return {
        field.name: [f"{stems[field.name]}[{i}]" for i in range(prod(field.shape))]
        if field.shape
        else [stems[field.name]]
        for field in record.fields
    }
