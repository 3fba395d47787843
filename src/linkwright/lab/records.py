"""What a laboratory shows of itself: records of one tick, with names and units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class JointState:
    """The joints as they were measured at a tick (SL: SL_Jstate)."""

    names: tuple[str, ...]  # of the joints
    tick: int  # base tick of the record
    q: Array  # positions, rad
    u: Array  # speeds, rad/s
    a: Array  # accelerations, rad/s^2
    ufb: Array  # feedback part of the command, N*m
    tau: Array  # command, N*m
    load: Array  # measured torque, N*m


@dataclass(frozen=True, slots=True, eq=False)
class DesiredState:
    """What the joints are to do (SL: SL_DJstate)."""

    names: tuple[str, ...]  # of the joints
    tick: int  # base tick of the record
    q: Array  # positions, rad
    u: Array  # speeds, rad/s
    a: Array  # accelerations, rad/s^2
    uff: Array  # feedforward command, N*m
    uex: Array  # external torques that inverse dynamics compensates, N*m


@dataclass(frozen=True, slots=True, eq=False)
class FrameState:
    """A frame, such as an end-effector or the base, along the world's axes."""

    x: Array  # position, m
    xd: Array  # velocity, m/s
    xdd: Array  # acceleration, m/s^2
    q: Array  # quaternion (w, x, y, z)
    w: Array  # angular velocity, rad/s
    wd: Array  # angular acceleration, rad/s^2


@dataclass(frozen=True, slots=True, eq=False)
class BlobState:
    """A blob in the robot's frame, or in pictures."""

    x: Array  # position, m; of a raw blob in two dimensions, pixels of each camera in turn
    xd: Array  # velocity, m/s
    xdd: Array  # acceleration, m/s^2
    status: bool  # whether it is seen


@dataclass(frozen=True, slots=True)
class ServoCounters:
    """What was counted of a servo."""

    rate: float  # Hz
    ticks: int  # that were run
    missed: int  # ticks that passed without being run
    overruns: int  # ticks that ended after the next one was due, or results that came too late
    worst: float  # the greatest lateness, s
    mean: float  # the mean lateness, s
