from linkwright.lab.vision.assembly import (
    add_vision as add_vision,
    preferences_of as preferences_of,
)
from linkwright.lab.vision.cameras import (
    SimulatedCameras as SimulatedCameras,
    cameras_of as cameras_of,
)
from linkwright.lab.vision.servo import (
    VisionServo as VisionServo,
    preference_values as preference_values,
)
