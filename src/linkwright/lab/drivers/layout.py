"""What a laboratory and a robot send each other: two records, joints and a rate."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from linkwright.base.errors import InputError
from linkwright.lab.config import LabConfig
from linkwright.simulation.hardware import Hardware
from linkwright.windows import Field, Record

KEEPERS = ("lab", "robot")
"""Who keeps time: the laboratory ticks by its own clock, or each frame of the robot is a tick."""


@dataclass(frozen=True, slots=True)
class DriverLayout:
    """What a robot sends and receives at each tick, and how often.

    A robot reports positions, speeds and loads of its joints, further sensors, a fault (0 for none)
    and a beat, which changes at each of its ticks. One whose base floats reports `base`, position
    and quaternion (w, x, y, z) in the world, and `base_rate`, velocity and angular velocity along
    the base's own axes, as its inertial unit and its estimator have them. It takes torques, its
    life (a place in `simulation.hardware.LIVES`) and the beat of the laboratory. Only a robot
    that is active follows the torques.

    >>> layout = DriverLayout(("shoulder", "elbow"), 960.0)
    >>> layout.states.names, layout.commands.names
    (('q', 'u', 'load', 'fault', 'beat'), ('tau', 'life', 'beat'))
    """

    joints: tuple[str, ...]  # their names, in order
    rate: float  # Hz, of the motor servo
    sensors: tuple[str, ...] = ()  # names of further sensors
    floating: bool = False  # whether the base floats

    def __post_init__(self) -> None:
        if not self.joints:
            raise InputError("a robot without joints has nothing to drive")

    def hardware(self, patience: int) -> Hardware:
        """Return the block that has the life of the robot in a System, and gates its commands."""
        tau = Field("tau", "N*m", shape=(len(self.joints),))
        return Hardware("hardware", [], [tau], patience=patience)

    def _whole(self) -> Hardware:
        n = len(self.joints)
        states = [Field("q", "rad", shape=(n,)), Field("u", "rad/s", shape=(n,))]
        states.append(Field("load", "N*m", shape=(n,)))
        if self.sensors:
            states.append(Field("misc", shape=(len(self.sensors),)))
        if self.floating:
            states += [Field("base", shape=(7,)), Field("base_rate", shape=(6,))]
        tau = Field("tau", "N*m", shape=(n,))
        return Hardware("robot", states, [tau])

    @property
    def states(self) -> Record:
        """What the robot reports."""
        return self._whole().state_record

    @property
    def commands(self) -> Record:
        """Commands to the robot."""
        return self._whole().command_record

    @property
    def digest(self) -> str:
        """Sixteen digits that two layouts share only where both records and all names are equal."""
        names = "\t".join(self.joints) + "\n" + "\t".join(self.sensors)
        text = f"{self.states.text}{self.commands.text}{names}"
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def driver_layout(config: LabConfig) -> DriverLayout:
    """Return what the robot of a laboratory sends and receives."""
    floats = config.base == "floating"
    return DriverLayout(config.names, float(config.rate), config.misc_sensors, floats)
