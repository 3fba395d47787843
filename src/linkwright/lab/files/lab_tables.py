"""The tables of `lab.toml`: all that a laboratory is set up with (`linkwright.lab.config`).

Numbers are in SI units and rad; a text has its own unit, as in `"90 deg"` or `"1 kHz"`. What is
left out follows the rules of `linkwright.lab.rules`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr

from linkwright.formats.text.tables import Record

CONTACT_MODELS = ("none", "damped-spring", "coulomb")
"""Words for SL's numbers of contact models."""


class LabJointTable(Record):
    """A joint; what is left out follows from the robot."""

    name: Annotated[StrictStr, Field(description="of the joint in the robot")]
    lower: Annotated[Any, Field(description="least position, rad or m")] = None
    upper: Annotated[Any, Field(description="greatest position, rad or m")] = None
    default: Annotated[Any, Field(description="posture at the start, rad or m")] = None
    rest: Annotated[Any, Field(description="posture that inverse kinematics likes")] = None
    weight: Annotated[Any, Field(description="of that posture, 1/s; above 0")] = 1.0
    kp: Annotated[Any, Field(description="stiffness, N*m/rad or N/m")] = None
    kd: Annotated[Any, Field(description="damping, N*m*s/rad or N*s/m")] = None
    ki: Annotated[Any, Field(description="integral gain, N*m/(rad*s) or N/(m*s)")] = 0.0
    max_effort: Annotated[Any, Field(description="greatest command, N*m or N")] = None
    max_speed: Annotated[Any, Field(description="greatest wanted speed, rad/s or m/s")] = None
    max_jump: Annotated[Any, Field(description="greatest jump in a tick, rad or m")] = None
    filters: Annotated[
        list[Any] | None,
        Field(description="cutoffs for position, speed, acceleration, load, % of Nyquist; 0: none"),
    ] = None
    offset: Annotated[Any, Field(description="of the robot's sensor, rad or m")] = 0.0
    linear_sensor: Annotated[StrictBool, Field(description="whether it measures a length")] = False
    linear_actuator: Annotated[StrictBool, Field(description="a cylinder beside the joint")] = False
    linear_load_cell: Annotated[StrictBool, Field(description="load along the cylinder")] = False
    moment_arm: Annotated[Any, Field(description="of the cylinder, m")] = 0.0
    attachment: Annotated[Any, Field(description="of the cylinder, m")] = 0.0
    theta0: Annotated[Any, Field(description="angle of the cylinder's triangle, rad")] = None
    position_polarity: Annotated[Literal[1, -1], Field(description="1 or -1")] = 1
    load_polarity: Annotated[Literal[1, -1], Field(description="1 or -1")] = 1


class LabEndTable(Record):
    """An end-effector."""

    name: Annotated[StrictStr, Field(description="of it")]
    link: Annotated[StrictStr, Field(description="that carries it, or a frame")]
    x: Annotated[list[Any] | None, Field(description="where it is in the link, m")] = None
    a: Annotated[list[Any] | None, Field(description="angles about x, y, z there, rad")] = None
    mass: Annotated[Any, Field(description="of what it carries, kg")] = 0.0
    mass_center: Annotated[
        list[Any] | None, Field(description="mass times center of that in its frame, kg*m")
    ] = None


class LabObjectTable(Record):
    """An object that the robot may touch."""

    name: Annotated[StrictStr, Field(description="at most 20 characters")]
    kind: Annotated[
        Literal["cube", "sphere"], Field(description="a sphere of unequal scales is an ellipsoid")
    ]
    color: Annotated[list[Any] | None, Field(description="red, green, blue, 0 to 1")] = None
    position: Annotated[list[Any], Field(description="of its center, m")]
    rotation: Annotated[list[Any] | None, Field(description="angles about x, y, z, rad")] = None
    scale: Annotated[list[Any], Field(description="edge lengths or diameters, m")]
    contact_model: Annotated[
        Literal["none", "damped-spring", "coulomb"], Field(description="none: only seen")
    ] = "none"
    contact_parameters: Annotated[
        list[Any] | None,
        Field(description="k_n, b_n, b_v (damped-spring); k_n, b_n, k_c, c_s, c_d (coulomb)"),
    ] = None
    object_parameters: Annotated[list[Any] | None, Field(description="one's own numbers")] = None


class LabCameraTable(Record):
    """A calibrated camera, which looks along its z axis."""

    position: Annotated[list[Any], Field(description="of its center in the frame of vision, m")]
    a: Annotated[list[Any] | None, Field(description="angles about x, y, z there, rad")] = None
    focal: Annotated[list[Any] | None, Field(description="lengths along x and y, pixels")] = None
    center: Annotated[
        list[Any] | None, Field(description="where its axis meets the picture, pixels")
    ] = None
    size: Annotated[list[Any] | None, Field(description="of the picture, pixels")] = None


class LabVisionTable(Record):
    """Eyes."""

    blobs: Annotated[list[StrictStr] | None, Field(description="names of blobs")] = None
    cameras: Annotated[StrictInt, Field(description="0 where blobs come as points", ge=0)] = 2
    preferences: Annotated[StrictStr, Field(description=".pp file to start with")] = (
        "vision_default.pp"
    )
    position: Annotated[
        list[Any] | None, Field(description="of the frame of vision in the robot's, m")
    ] = None
    a: Annotated[list[Any] | None, Field(description="angles about x, y, z there, rad")] = None
    noise: Annotated[Any, Field(description="of simulated pictures, pixels")] = 0.0
    delay: Annotated[Any, Field(description="of simulated pictures, s")] = 0.0
    camera: Annotated[list[LabCameraTable] | None, Field(description="each camera, calibrated")] = (
        None
    )


class LabFile(Record):
    """A laboratory as a file holds it."""

    format: Annotated[StrictInt, Field(description="1")]
    name: Annotated[StrictStr, Field(description="a word that names the laboratory")]
    robot: Annotated[StrictStr, Field(description="a robot file beside this one, or a model")]
    model: Annotated[
        StrictStr, Field(description="what controllers believe the robot to be; the same")
    ] = ""
    rate: Annotated[Any, Field(description="of the motor servo, Hz")] = 960.0
    vision_rate: Annotated[Any, Field(description="of the vision servo, Hz")] = 60.0
    controller: Annotated[
        Literal["pd", "pid", "pdff", "pidff"], Field(description="law of the motor servo")
    ] = "pidff"
    gravity: Annotated[list[Any] | None, Field(description="world's vector, m/s^2")] = None
    base: Annotated[
        Literal["fixed", "floating"] | None, Field(description="as in the robot file by default")
    ] = None
    method: Annotated[Literal["verlet", "rk4", "euler"], Field(description="of integration")] = (
        "verlet"
    )
    substeps: Annotated[StrictInt, Field(description="of integration in a tick", ge=1)] = 1
    misc_sensors: Annotated[list[StrictStr] | None, Field(description="their names")] = None
    estimated: Annotated[
        list[StrictInt] | None,
        Field(description="joints that estimation counts, and how many of the last it skips"),
    ] = None
    preferences: Annotated[StrictStr, Field(description="folder of preference files")] = ""
    ratios: Annotated[
        dict[str, Any] | None,
        Field(description="ticks of the motor servo in one of each servo; whole numbers"),
    ] = None
    servos: Annotated[
        dict[str, list[StrictStr]] | None, Field(description="joints that a servo commands; all")
    ] = None
    real_servos: Annotated[
        dict[str, list[StrictStr]] | None, Field(description="the same on a robot")
    ] = None
    vertices: Annotated[
        dict[str, StrictStr] | None,
        Field(description="points that may touch: link or frame of each"),
    ] = None
    vision: Annotated[LabVisionTable | None, Field(description="eyes")] = None
    joint: Annotated[list[LabJointTable] | None, Field(description="joints")] = None
    end_effector: Annotated[list[LabEndTable] | None, Field(description="end-effectors")] = None
    object: Annotated[list[LabObjectTable] | None, Field(description="what may be touched")] = None
