from linkwright.elements.camera import PinholeCamera as PinholeCamera
from linkwright.elements.camera_calibration import (
    calibrate_scale as calibrate_scale,
)
from linkwright.elements.camera_drawing import PictureMaker as PictureMaker
from linkwright.elements.camera_gaps import view_gaps as view_gaps
from linkwright.elements.camera_regions import (
    find_regions as find_regions,
)
from linkwright.elements.camera_targets import (
    DiscTarget as DiscTarget,
    PolygonTarget as PolygonTarget,
)
from linkwright.elements.contact import Contact as Contact
from linkwright.elements.drag import Drag as Drag
from linkwright.elements.filters import Butterworth as Butterworth
from linkwright.elements.friction import Friction as Friction, LuGre as LuGre
from linkwright.elements.muscle import Muscle as Muscle
from linkwright.elements.picture_processing import (
    adaptive_threshold as adaptive_threshold,
    read_picture as read_picture,
    threshold as threshold,
)
from linkwright.elements.round_contact import RoundContact as RoundContact
from linkwright.elements.sensors import Encoder as Encoder, ForceTorque as ForceTorque, Imu as Imu
from linkwright.elements.springs import JointSpring as JointSpring, Spring as Spring, Stop as Stop
from linkwright.elements.surfaces import (
    BoxSurface as BoxSurface,
    CapsuleSurface as CapsuleSurface,
    EllipsoidSurface as EllipsoidSurface,
    HeightField as HeightField,
    Plane as Plane,
    SphereSurface as SphereSurface,
    Wave as Wave,
)
from linkwright.elements.tire_laws import (
    LinearTire as LinearTire,
    MagicFormula as MagicFormula,
    TableTire as TableTire,
)
from linkwright.elements.tires import Tire as Tire
from linkwright.elements.tool_weight import (
    WeightCompensation as WeightCompensation,
    identify_tool_weight as identify_tool_weight,
)
from linkwright.elements.wrist import CompliantWrist as CompliantWrist
from linkwright.elements.wrist_contact import WristContact as WristContact
from linkwright.elements.wrist_linkage import WristLinkage as WristLinkage
from linkwright.elements.wrist_sensor import (
    WristPotentiometers as WristPotentiometers,
    WristReading as WristReading,
)
