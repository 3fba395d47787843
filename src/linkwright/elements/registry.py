"""All elements, one line each. A new element is added here, and the battery of tests finds it."""

from __future__ import annotations

from linkwright.blocks.kinds import Kind
from linkwright.elements.camera import PinholeCamera
from linkwright.elements.camera_targets import DiscTarget, PolygonTarget
from linkwright.elements.contact import Contact
from linkwright.elements.drag import Drag
from linkwright.elements.filters import Butterworth
from linkwright.elements.friction import Friction, LuGre
from linkwright.elements.muscle import Muscle
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
    Wave,
)
from linkwright.elements.tire_laws import LinearTire, MagicFormula, TableTire
from linkwright.elements.tires import Tire
from linkwright.elements.tool_weight import WeightCompensation
from linkwright.elements.wrist import CompliantWrist
from linkwright.elements.wrist_contact import WristContact
from linkwright.elements.wrist_sensor import WristPotentiometers, WristReading

ELEMENTS = (
    Kind(Butterworth, passive=True),
    Kind(CompliantWrist, passive=True),
    Kind(Contact, passive=True),
    Kind(Drag, passive=True),
    Kind(Encoder, passive=True),
    Kind(ForceTorque, passive=True),
    Kind(Friction, passive=True),
    Kind(Imu, passive=True),
    Kind(JointSpring, passive=True),
    Kind(LuGre, passive=True),
    Kind(Muscle),
    Kind(PinholeCamera, passive=True),
    Kind(RoundContact, passive=True),
    Kind(Spring, passive=True),
    Kind(Stop, passive=True),
    Kind(Tire, passive=True),
    Kind(WeightCompensation, passive=True),
    Kind(WristContact),
    Kind(WristPotentiometers),
    Kind(WristReading),
)
"""Every kind of element."""

SURFACES = (BoxSurface, CapsuleSurface, EllipsoidSurface, HeightField, Plane, SphereSurface, Wave)
"""Every surface that can be touched."""

TARGETS = (DiscTarget, PolygonTarget)
"""Everything that a camera can see."""

TIRE_LAWS = (LinearTire, MagicFormula, TableTire)
"""Every law of a tire."""
