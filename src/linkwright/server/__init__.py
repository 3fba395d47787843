"""The motion server: axes, motions and sensors over a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.lazy import lazy_names

if TYPE_CHECKING:
    from linkwright.server.access import Client as Client
    from linkwright.server.client import LostError as LostError, connect as connect
    from linkwright.server.face import RefusedError as RefusedError
    from linkwright.server.hand import StoppedError as StoppedError
    from linkwright.server.network import Credentials as Credentials

_HOMES = {
    "linkwright.server.access": ("Client",),
    "linkwright.server.client": ("LostError", "connect"),
    "linkwright.server.face": ("RefusedError",),
    "linkwright.server.hand": ("StoppedError",),
    "linkwright.server.network": ("Credentials",),
}

__all__ = [
    "Client",
    "Credentials",
    "LostError",
    "RefusedError",
    "StoppedError",
    "connect",
]

__getattr__ = lazy_names(__name__, _HOMES)
