"""What a laboratory is set up with: joints, rates, servos, end-effectors, objects, eyes.

It is plain data. An SL folder, a `lab.toml` and any robot file are read into it, and everything in
the laboratory is built from it alone. Units are SI; angles are radians.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from linkwright.formats.robot.description import Description
from linkwright.formats.sl.configuration import SceneObject
from linkwright.joint_kinds import JOINTS

CONTROLLERS = ("pd", "pid", "pdff", "pidff")
"""Laws of the motor servo; `ff` adds the feedforward torque."""

MODES = ("motor", "invdyn", "cart")
"""Servo modes: the task commands joints; the inverse-dynamics servo adds torques to that; the
inverse-kinematics servo makes joints of Cartesian targets, and the inverse-dynamics servo
torques (SL: MOTORSERVO, INVDYNSERVO, CARTSERVO)."""

SERVOS = ("motor", "task", "vision", "invdyn", "invkin")
"""The servos that every laboratory has."""


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class JointConfig:
    """One degree of freedom.

    Args:
        name: of the joint, which is its coordinate in the robot.
        lower: least position.
        upper: greatest position.
        default: posture at the start.
        rest: posture of the null space of inverse kinematics.
        weight: of that posture, 1/s; greater than 0.
        kp: stiffness, N*m/rad.
        kd: damping, N*m*s/rad.
        ki: integral gain, N*m/(rad*s).
        max_effort: greatest command, N*m.
        max_speed: greatest wanted speed, rad/s.
        max_jump: greatest change of the wanted position between two ticks of the motor servo, rad.
        filters: cutoffs for position, speed, acceleration and load, percent of the Nyquist
            frequency; 0 or 100 for none.
        offset: of the robot's sensor; a simulation has none.
        linear_sensor: whether the sensor measures a length.
        linear_actuator: whether the actuator is a cylinder or spindle beside the joint.
        linear_load_cell: whether the load is measured along that.
        moment_arm: a, m.
        attachment: h, m.
        theta0: angle that is added to the joint's in the triangle of a and h; by default pi/2, or
            what puts the middle of the range there where a dead point would lie in it.
        position_polarity: 1 or -1.
        load_polarity: 1 or -1.

    >>> JointConfig("R_EB", 0.53, 2.25, default=1.57, kp=30.0, kd=2.0).max_effort
    inf
    """

    name: str
    lower: float
    upper: float
    default: float = 0.0
    rest: float = 0.0
    weight: float = 1.0
    kp: float = 0.0
    kd: float = 0.0
    ki: float = 0.0
    max_effort: float = float("inf")
    max_speed: float = float("inf")
    max_jump: float = float("inf")
    filters: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    offset: float = 0.0
    linear_sensor: bool = False
    linear_actuator: bool = False
    linear_load_cell: bool = False
    moment_arm: float = 0.0
    attachment: float = 0.0
    theta0: float | None = None
    position_polarity: float = 1.0
    load_polarity: float = 1.0


@dataclass(frozen=True, slots=True)
class EndEffector:
    """A frame at a link that tasks speak of, and what it carries.

    Args:
        name: of it.
        link: that carries it, by its name in the robot.
        x: where it is in the link's frame, m.
        a: how it is turned there, angles about x, y, z.
        mass: of the load, kg.
        mass_center: mass times center of the load in its frame, kg*m.

    >>> EndEffector("R_HAND", "HAND", mass=0.5).mass
    0.5
    """

    name: str
    link: str
    x: tuple[float, float, float] = (0.0, 0.0, 0.0)
    a: tuple[float, float, float] = (0.0, 0.0, 0.0)
    mass: float = 0.0
    mass_center: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Camera:
    """A calibrated camera, which looks along its z axis; x and y are those of its picture.

    Args:
        position: of its center in the frame of vision, m.
        a: how it is turned there, angles about x, y, z.
        focal: length in pixels, along x and y.
        center: where its axis meets the picture, pixels.
        size: width and height of the picture, pixels.

    >>> Camera((0.2, 2.0, 0.0)).size
    (640.0, 480.0)
    """

    position: tuple[float, float, float]
    a: tuple[float, float, float] = (1.5707963267948966, 0.0, 0.0)
    focal: tuple[float, float] = (600.0, 600.0)
    center: tuple[float, float] = (320.0, 240.0)
    size: tuple[float, float] = (640.0, 480.0)


@dataclass(frozen=True, slots=True)
class VisionConfig:
    """Eyes of the laboratory.

    Args:
        blobs: their names.
        cameras: number of them, or 0 where blobs come as points in space.
        preferences: name of the file of filters (`.pp`) to start with.
        eyes: the cameras, calibrated; where none are given they stand side by side 2 m before
            the robot along y, and look at it.
        position: of the frame of vision in the robot's, m.
        a: how it is turned there, angles about x, y, z.
        noise: deviation of simulated pictures, pixels.
        delay: from a picture of simulated cameras to its arrival, s.

    >>> VisionConfig(("blob1",)).cameras
    2
    """

    blobs: tuple[str, ...] = ()
    cameras: int = 2
    preferences: str = "vision_default.pp"
    eyes: tuple[Camera, ...] = ()
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    a: tuple[float, float, float] = (0.0, 0.0, 0.0)
    noise: float = 0.0
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class LabConfig:
    """A laboratory.

    Args:
        name: of it, a word.
        description: of the robot that is simulated.
        joints: its degrees of freedom, in order.
        model: what controllers believe the robot to be; the same by default.
        rate: of the motor servo, Hz.
        ratios: ticks of the motor servo in one of the task, invdyn and invkin servo, and of
            servos of one's own; whole numbers.
        vision_rate: Hz.
        controller: of the motor servo, one of `CONTROLLERS`.
        servos: the joints that a servo commands, by servo; all where a servo is not named.
        real_servos: the same on a robot; as in the simulation where empty.
        end_effectors: in order.
        vertices: points of the robot that may touch objects: names, by the link or frame they are.
        objects: that may be touched.
        gravity: world's vector, m/s^2.
        base: "fixed" or "floating".
        method: of integration, "verlet", "rk4" or "euler" (of order 1: a free robot gains energy).
        substeps: of integration in a tick of the motor servo.
        vision: eyes.
        misc_sensors: names.
        estimated: N_DOFS_EST, how many joints parameter estimation counts, and how many of the
            last ones it skips.
        preferences: folder of preference files.
        files: that it was read from.
        notes: what somebody may want to know about them, such as objects that nothing touches.

    >>> from linkwright.lab.sources import lab_config
    >>> lab_config("sl-arm").names[:3]
    ('R_SFE', 'R_SAA', 'R_HR')
    """

    name: str
    description: Description
    joints: tuple[JointConfig, ...]
    model: Description | None = None
    rate: float = 960.0
    ratios: Mapping[str, int] = field(default_factory=lambda: {"task": 2, "invdyn": 2, "invkin": 2})
    vision_rate: float = 60.0
    controller: str = "pidff"
    servos: Mapping[str, tuple[str, ...]] = field(default_factory=_nothing)
    real_servos: Mapping[str, tuple[str, ...]] = field(default_factory=_nothing)
    end_effectors: tuple[EndEffector, ...] = ()
    vertices: Mapping[str, str] = field(default_factory=_nothing)
    objects: tuple[SceneObject, ...] = ()
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    base: str = "fixed"
    method: str = "verlet"
    substeps: int = 1
    vision: VisionConfig = VisionConfig()
    misc_sensors: tuple[str, ...] = ()
    estimated: tuple[int, int] = (0, 0)
    preferences: Path | None = None
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

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
