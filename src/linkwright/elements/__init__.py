"""Elements: what acts on a mechanism or measures it."""

from linkwright.elements import drives
from linkwright.elements.camera import PinholeCamera
from linkwright.elements.camera_calibration import (
    PixelScale,
    calibrated_scale,
    depth_from_area,
)
from linkwright.elements.camera_drawing import PictureMaker
from linkwright.elements.camera_gaps import ViewGap, view_gaps
from linkwright.elements.camera_regions import PictureRegion, nearest_region, regions
from linkwright.elements.camera_targets import CameraTarget, DiscTarget, PolygonTarget
from linkwright.elements.contact import Contact
from linkwright.elements.drag import Drag
from linkwright.elements.filters import Butterworth
from linkwright.elements.friction import Friction, LuGre
from linkwright.elements.muscle import Muscle
from linkwright.elements.registry import ELEMENTS
from linkwright.elements.round_contact import RoundContact
from linkwright.elements.sensors import Encoder, ForceTorque, Imu
from linkwright.elements.springs import JointSpring, Spring, Stop
from linkwright.elements.surfaces import (
    BoxSurface,
    CapsuleSurface,
    EllipsoidSurface,
    HeightField,
    Plane,
    SphereSurface,
    Surface,
    Wave,
)
from linkwright.elements.tire_laws import LinearTire, MagicFormula, TableTire, TireLaw
from linkwright.elements.tires import Tire
from linkwright.elements.tool_weight import ToolWeight, WeightCompensation, identify_tool_weight
from linkwright.elements.wrist import CompliantWrist
from linkwright.elements.wrist_contact import WristContact
from linkwright.elements.wrist_linkage import WristLinkage
from linkwright.elements.wrist_sensor import WristPotentiometers, WristReading

__all__ = [
    "ELEMENTS",
    "BoxSurface",
    "Butterworth",
    "CameraTarget",
    "CapsuleSurface",
    "CompliantWrist",
    "Contact",
    "DiscTarget",
    "Drag",
    "EllipsoidSurface",
    "Encoder",
    "ForceTorque",
    "Friction",
    "HeightField",
    "Imu",
    "JointSpring",
    "LinearTire",
    "LuGre",
    "MagicFormula",
    "Muscle",
    "PictureMaker",
    "PictureRegion",
    "PinholeCamera",
    "PixelScale",
    "Plane",
    "PolygonTarget",
    "RoundContact",
    "SphereSurface",
    "Spring",
    "Stop",
    "Surface",
    "TableTire",
    "Tire",
    "TireLaw",
    "ToolWeight",
    "ViewGap",
    "Wave",
    "WeightCompensation",
    "WristContact",
    "WristLinkage",
    "WristPotentiometers",
    "WristReading",
    "calibrated_scale",
    "depth_from_area",
    "drives",
    "identify_tool_weight",
    "nearest_region",
    "regions",
    "view_gaps",
]
