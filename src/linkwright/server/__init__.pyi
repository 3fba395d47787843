from linkwright.server.client import TimedOutError as TimedOutError, connect as connect
from linkwright.server.coordinator.core import Coordinator as Coordinator
from linkwright.server.coordinator.host import coordinate as coordinate
from linkwright.server.coordinator.motions import (
    PointMotion as PointMotion,
    PoseMotion as PoseMotion,
)
from linkwright.server.coordinator.observations import Observation as Observation
from linkwright.server.face import RefusedError as RefusedError
from linkwright.server.hand import StoppedError as StoppedError
from linkwright.server.joining import LostError as LostError
from linkwright.server.picture_camera import picture_camera as picture_camera
from linkwright.server.sensors import (
    camera as camera,
    force_sensor as force_sensor,
    merged as merged,
    sensor as sensor,
    tracker as tracker,
)
