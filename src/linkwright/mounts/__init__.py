"""Antenna mounts: where they point, what they follow, and what carries them."""

from typing import TYPE_CHECKING

from linkwright.lazy import lazy_names

if TYPE_CHECKING:
    from linkwright.mounts.pointing_drive import PointingDrive
    from linkwright.mounts.rotator import Rotator, RotatorPort
    from linkwright.mounts.rotator_client import RotatorClient, RotatorError, drive_rotator
    from linkwright.mounts.rotctl_language import RotatorLimits
    from linkwright.mounts.ships import Deck, Ship, heave_amplitude, read_ship, report_ship

__all__ = [
    "Deck",
    "PointingDrive",
    "Rotator",
    "RotatorClient",
    "RotatorError",
    "RotatorLimits",
    "RotatorPort",
    "Ship",
    "drive_rotator",
    "heave_amplitude",
    "read_ship",
    "report_ship",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            ".pointing_drive": ["PointingDrive"],
            ".rotator": ["Rotator", "RotatorPort"],
            ".rotator_client": ["RotatorClient", "RotatorError", "drive_rotator"],
            ".rotctl_language": ["RotatorLimits"],
            ".ships": ["Deck", "Ship", "heave_amplitude", "read_ship", "report_ship"],
        },
    )
