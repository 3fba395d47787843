"""Antenna mounts: where they point, what they follow, and what carries them."""

from typing import TYPE_CHECKING

from linkwright.lazy import lazy_names

if TYPE_CHECKING:
    from linkwright.mounts.ships import Deck, Ship, heave_amplitude, read_ship, report_ship

__all__ = ["Deck", "Ship", "heave_amplitude", "read_ship", "report_ship"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {".ships": ["Deck", "Ship", "heave_amplitude", "read_ship", "report_ship"]},
    )
