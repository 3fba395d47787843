"""The motion server: axes, motions and sensors over a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkwright.lazy import lazy_names

if TYPE_CHECKING:
    from linkwright.server.access import Client as Client
    from linkwright.server.client import (
        TimedOutError as TimedOutError,
        connect as connect,
    )
    from linkwright.server.coordinator.core import Coordinator as Coordinator
    from linkwright.server.coordinator.host import coordinate as coordinate
    from linkwright.server.coordinator.motions import (
        PointMotion as PointMotion,
        PoseMotion as PoseMotion,
        WrenchMotion as WrenchMotion,
    )
    from linkwright.server.coordinator.observations import Observation as Observation
    from linkwright.server.coordinator.world import FusionSettings as FusionSettings
    from linkwright.server.face import RefusedError as RefusedError
    from linkwright.server.hand import StoppedError as StoppedError
    from linkwright.server.joining import LostError as LostError
    from linkwright.server.network import Credentials as Credentials
    from linkwright.server.sensors import (
        SensorNode as SensorNode,
        Sight as Sight,
        camera as camera,
        force_sensor as force_sensor,
        merged as merged,
        sensor as sensor,
        tracker as tracker,
    )

_HOMES = {
    "linkwright.server.access": ("Client",),
    "linkwright.server.client": ("TimedOutError", "connect"),
    "linkwright.server.joining": ("LostError",),
    "linkwright.server.coordinator.core": ("Coordinator",),
    "linkwright.server.coordinator.host": ("coordinate",),
    "linkwright.server.coordinator.motions": ("PointMotion", "PoseMotion", "WrenchMotion"),
    "linkwright.server.coordinator.observations": ("Observation",),
    "linkwright.server.coordinator.world": ("FusionSettings",),
    "linkwright.server.face": ("RefusedError",),
    "linkwright.server.hand": ("StoppedError",),
    "linkwright.server.network": ("Credentials",),
    "linkwright.server.sensors": (
        "SensorNode",
        "Sight",
        "camera",
        "force_sensor",
        "merged",
        "sensor",
        "tracker",
    ),
}

__all__ = [
    "Client",
    "Coordinator",
    "Credentials",
    "FusionSettings",
    "LostError",
    "Observation",
    "PointMotion",
    "PoseMotion",
    "RefusedError",
    "SensorNode",
    "Sight",
    "StoppedError",
    "TimedOutError",
    "WrenchMotion",
    "camera",
    "connect",
    "coordinate",
    "force_sensor",
    "merged",
    "sensor",
    "tracker",
]

__getattr__ = lazy_names(__name__, _HOMES)
