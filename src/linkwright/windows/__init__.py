"""What processes share: records with one layout for window, wire and journal, and their windows.

A `Record` is declared once. A `Window` holds one frame of it in a file that several processes map;
one of them writes. The same bytes travel over a wire and lie in a journal. A `RegisterWindow` maps
the registers of a device, and `Interrupts` wake the process that has claimed them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.lazy import lazy_names

if TYPE_CHECKING:
    from linkwright.windows.interrupts import InterruptClaim, Interrupts, Stray
    from linkwright.windows.records import HEAD, MULTIPLIER, Field, Frame, Record, RecordError
    from linkwright.windows.registers import Register, RegisterWindow
    from linkwright.windows.window import Window
    from linkwright.windows.wire import Wire, WireCounts

__all__ = [
    "HEAD",
    "MULTIPLIER",
    "Field",
    "Frame",
    "InterruptClaim",
    "Interrupts",
    "Record",
    "RecordError",
    "Register",
    "RegisterWindow",
    "Stray",
    "Window",
    "Wire",
    "WireCounts",
]

_HOMES: dict[str, tuple[str, ...]] = {
    ".interrupts": ("InterruptClaim", "Interrupts", "Stray"),
    ".records": ("HEAD", "MULTIPLIER", "Field", "Frame", "Record", "RecordError"),
    ".registers": ("Register", "RegisterWindow"),
    ".window": ("Window",),
    ".wire": ("Wire", "WireCounts"),
}

if not TYPE_CHECKING:  # hidden from type checkers, so that they report an unknown name
    __getattr__ = lazy_names(__name__, _HOMES)
