"""What a laboratory is set up with: joints, rates, servos, end-effectors, objects, eyes.

It is plain data. An SL folder, a `lab.toml` and any robot file are read into it, and everything in
the laboratory is built from it alone. Units are SI; angles are radians.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from linkwright.formats.robot.description import Description
from linkwright.formats.schema import Amount, Key, described
from linkwright.formats.sl.configuration import SceneObject
from linkwright.mechanism import Mechanism
from linkwright.mechanism.joint_kinds import JOINTS

CONTROLLERS = ("pd", "pid", "pdff", "pidff")
"""Laws of the motor servo; `ff` adds the feedforward torque."""

MODES = ("motor", "invdyn", "cart")
"""Servo modes: the task commands joints; the inverse-dynamics servo adds torques to that; the
inverse-kinematics servo makes joints of Cartesian targets, and the inverse-dynamics servo
torques (SL: MOTORSERVO, INVDYNSERVO, CARTSERVO)."""

SERVOS = ("motor", "task", "vision", "invdyn", "invkin")
"""The servos that every laboratory has."""

MEMBERS = (
    *("robot", "sensors", "base_state", "cart", "cart_desired", "life", "task", "desired"),
    *("invdyn", "invkin", "feed", "motor", "guard", "shown", "shown_cart", "cameras", "vision"),
    *("card", "raw_sensors", "actuators", "misc", "driver"),
    *("activation", "shown_muscles", "objects", *(f"{servo}_pulse" for servo in SERVOS)),
)
"""Names of members of the Systems of laboratories and their robots."""


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


Triple: TypeAlias = tuple[float, float, float]
_ORIGIN = (0.0, 0.0, 0.0)
_TURN = "angles about x, y, z there"


def _ruled(unit: str, doc: str, **more: Any) -> Amount:
    """A number that follows from the robot where a file leaves it out."""
    return Amount(unit, doc, ruled=True, **more)


@described
@dataclass(frozen=True, slots=True)
class JointConfig:
    """One degree of freedom; what is left out in a file follows from the robot.

    >>> JointConfig("R_EB", 0.53, 2.25, default=1.57, kp=30.0, kd=2.0).max_effort
    inf
    """

    name: Annotated[str, Key("of the joint in the robot, which is its coordinate")]
    lower: Annotated[float, _ruled("rad|m", "least position")]
    upper: Annotated[float, _ruled("rad|m", "greatest position")]
    default: Annotated[float, _ruled("rad|m", "posture at the start")] = 0.0
    rest: Annotated[float, _ruled("rad|m", "posture that inverse kinematics likes")] = 0.0
    weight: Annotated[float, Amount("1/s", "of that posture", above=0)] = 1.0
    kp: Annotated[float, _ruled("N*m/rad|N/m", "stiffness", least=0)] = 0.0
    kd: Annotated[float, _ruled("N*m*s/rad|N*s/m", "damping", least=0)] = 0.0
    ki: Annotated[float, Amount("N*m/(rad*s)|N/(m*s)", "integral gain", least=0)] = 0.0
    max_effort: Annotated[float, _ruled("N*m|N", "greatest command", least=0, endless=True)] = (
        math.inf
    )
    max_speed: Annotated[
        float, _ruled("rad/s|m/s", "greatest wanted speed", least=0, endless=True)
    ] = math.inf
    # from one tick of the motor servo to the next
    max_jump: Annotated[
        float, _ruled("rad|m", "greatest jump of the wanted position", least=0, endless=True)
    ] = math.inf
    filters: Annotated[
        tuple[float, float, float, float],
        Amount("1", "cutoffs for position, speed, acceleration, load, % of Nyquist; 0: none"),
    ] = (0.0, 0.0, 0.0, 0.0)
    offset: Annotated[float, Amount("rad|m", "of the robot's sensor; a simulation has none")] = 0.0
    linear_sensor: Annotated[bool, Key("whether it measures a length")] = False
    linear_actuator: Annotated[bool, Key("a cylinder or spindle beside the joint")] = False
    linear_load_cell: Annotated[bool, Key("load along the cylinder")] = False
    moment_arm: Annotated[float, Amount("m", "a of the cylinder")] = 0.0
    attachment: Annotated[float, Amount("m", "h of the cylinder")] = 0.0
    # added to the joint's; by default pi/2, or what puts the middle of the range there where a dead
    # point would lie in it
    theta0: Annotated[
        float | None, Amount("rad", "angle of the cylinder's triangle of a and h")
    ] = None
    position_polarity: Annotated[float, Amount("1", "1 or -1", among=(1.0, -1.0))] = 1.0
    load_polarity: Annotated[float, Amount("1", "1 or -1", among=(1.0, -1.0))] = 1.0


@described
@dataclass(frozen=True, slots=True)
class EndEffector:
    """A frame at a link that tasks speak of, and what it carries.

    >>> EndEffector("R_HAND", "HAND", mass=0.5).mass
    0.5
    """

    name: Annotated[str, Key("of it")]
    link: Annotated[str, Key("that carries it, or a frame")]
    x: Annotated[Triple, Amount("m", "where it is in the link")] = _ORIGIN
    a: Annotated[Triple, Amount("rad", _TURN)] = _ORIGIN
    mass: Annotated[float, Amount("kg", "of what it carries")] = 0.0
    mass_center: Annotated[Triple, Amount("kg*m", "mass times center of that in its frame")] = (
        _ORIGIN
    )


@described
@dataclass(frozen=True, slots=True)
class MuscleConfig:
    """A muscle of the simulated robot, straight from point to point; a task activates it.

    >>> MuscleConfig("biceps", ("upper", "fore"), ((0, 0, 0), (0.05, 0, 0)), 400.0).strength
    400.0
    """

    name: Annotated[str, Key("of it")]
    links: Annotated[tuple[str, ...], Key("links or frames that its path goes through, in order")]
    points: Annotated[tuple[Triple, ...], Amount("m", "where it does, in each of these")]
    strength: Annotated[float, Amount("N", "tension where it is activated wholly", above=0)]


@described
@dataclass(frozen=True, slots=True)
class Camera:
    """A calibrated camera, which looks along its z axis; x and y are those of its picture.

    >>> Camera((0.2, 2.0, 0.0)).size
    (640.0, 480.0)
    """

    position: Annotated[Triple, Amount("m", "of its center in the frame of vision")]
    a: Annotated[Triple, Amount("rad", _TURN)] = (1.5707963267948966, 0.0, 0.0)
    focal: Annotated[tuple[float, float], Amount("1", "lengths along x and y, pixels")] = (
        600.0,
        600.0,
    )
    center: Annotated[
        tuple[float, float], Amount("1", "where its axis meets the picture, pixels")
    ] = (320.0, 240.0)
    size: Annotated[tuple[float, float], Amount("1", "of the picture, pixels")] = (640.0, 480.0)


@described
@dataclass(frozen=True, slots=True)
class VisionConfig:
    """Eyes of the laboratory.

    Cameras that are not placed stand side by side 2 m before the robot along y, and look at it.

    >>> VisionConfig(("blob1",)).cameras
    2
    """

    blobs: Annotated[tuple[str, ...], Key("names of blobs")] = ()
    cameras: Annotated[int, Field(ge=0), Key("number; 0 where blobs come as points")] = 2
    preferences: Annotated[str, Key("file of filters (.pp) to start with")] = "vision_default.pp"
    eyes: Annotated[tuple[Camera, ...], Key("each camera, calibrated", key="camera")] = ()
    position: Annotated[Triple, Amount("m", "of the frame of vision in the robot's")] = _ORIGIN
    a: Annotated[Triple, Amount("rad", _TURN)] = _ORIGIN
    noise: Annotated[float, Amount("1", "deviation of simulated pictures, pixels")] = 0.0
    delay: Annotated[float, Amount("s", "from a simulated picture to its arrival")] = 0.0


@described
@dataclass(frozen=True, slots=True)
class LabConfig:
    """A laboratory.

    >>> from linkwright.lab.sources import lab_config
    >>> lab_config("sl-arm").names[:3]
    ('R_SFE', 'R_SAA', 'R_HR')
    """

    name: Annotated[str, Key("a word that names the laboratory")]
    description: Annotated[Description, Key("of the robot that is simulated", internal=True)]
    joints: Annotated[tuple[JointConfig, ...], Key("in order", key="joint", ruled=True)]
    model: Annotated[
        Description | None,
        Key("what controllers believe the robot to be; the same by default", internal=True),
    ] = None
    rate: Annotated[float, Amount("Hz", "of the motor servo", above=0)] = 960.0
    vision_rate: Annotated[float, Amount("Hz", "of the vision servo", above=0)] = 60.0
    controller: Annotated[Literal["pd", "pid", "pdff", "pidff"], Key("law of the motor servo")] = (
        "pidff"
    )
    gravity: Annotated[Triple, _ruled("m/s^2", "world's vector")] = (0.0, 0.0, -9.81)
    base: Annotated[
        Literal["fixed", "floating"], Key("as in the robot file by default", ruled=True)
    ] = "fixed"
    # "euler" is of order 1: a free robot gains energy
    method: Annotated[Literal["verlet", "rk4", "euler"], Key("of integration")] = "verlet"
    substeps: Annotated[int, Field(ge=1), Key("of integration in a tick of the motor servo")] = 1
    misc_sensors: Annotated[tuple[str, ...], Key("their names")] = ()
    estimated: Annotated[
        tuple[int, int],
        Key("joints that estimation counts (N_DOFS_EST), and how many of the last it skips"),
    ] = (0, 0)
    ground: Annotated[
        bool, Key("whether a floating robot stands on a level ground, if it can touch nothing else")
    ] = True
    preferences: Annotated[Path | None, Key("folder of preference files", internal=True)] = None
    ratios: Annotated[
        Mapping[str, int],
        Key("ticks of the motor servo in one of each servo, own ones too", ruled=True),
    ] = field(default_factory=lambda: {"task": 2, "invdyn": 2, "invkin": 2})
    servos: Annotated[
        Mapping[str, tuple[str, ...]], Key("joints that a servo commands; all by default")
    ] = field(default_factory=_nothing)
    real_servos: Annotated[
        Mapping[str, tuple[str, ...]], Key("the same on a robot; as simulated where empty")
    ] = field(default_factory=_nothing)
    vertices: Annotated[
        Mapping[str, str], Key("points that may touch: link or frame of each", ruled=True)
    ] = field(default_factory=_nothing)
    vision: Annotated[VisionConfig, Key("eyes", ruled=True)] = VisionConfig()
    end_effectors: Annotated[
        tuple[EndEffector, ...], Key("in order", key="end_effector", ruled=True)
    ] = ()
    muscles: Annotated[
        tuple[MuscleConfig, ...], Key("that pull beside the motors", key="muscle")
    ] = ()
    objects: Annotated[tuple[SceneObject, ...], Key("what may be touched", internal=True)] = ()
    mechanism: Annotated[
        Mechanism | None,
        Key(
            "that is simulated with all that acts in it, in place of the description", internal=True
        ),
    ] = None
    believed: Annotated[
        Mechanism | None, Key("that controllers compute with, in place of the model", internal=True)
    ] = None
    files: Annotated[tuple[str, ...], Key("that it was read from", internal=True)] = ()
    notes: Annotated[
        tuple[str, ...],
        Key("what one may want to know, such as objects that nothing touches", internal=True),
    ] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return tuple(joint.name for joint in self.joints)

    @property
    def units(self) -> Mapping[str, tuple[str, str]]:
        """Units of the position and of the command of each joint, by name.

        >>> from linkwright.lab.sources import lab_config
        >>> lab_config("sl-arm").units["R_EB"]
        ('rad', 'N*m')
        """
        slide = {joint.name for joint in self.description.joints if JOINTS[joint.kind].slides}
        return {name: ("m", "N") if name in slide else ("rad", "N*m") for name in self.names}
