from linkwright.server.coordinator.core import (
    Coordinator as Coordinator,
    FusedObject as FusedObject,
    SensorReport as SensorReport,
)
from linkwright.server.coordinator.motions import (
    PointMotion as PointMotion,
    PoseMotion as PoseMotion,
    WrenchMotion as WrenchMotion,
)
from linkwright.server.coordinator.observations import WORLD as WORLD, Observation as Observation
from linkwright.server.coordinator.world import FusionSettings as FusionSettings
