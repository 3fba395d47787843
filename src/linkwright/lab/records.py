"""What a laboratory shows of itself: records of one tick, with names and units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class JointState:
    """The joints as they were measured at a tick (SL: SL_Jstate).

    Args:
        names: of the joints.
        tick: base tick of the record.
        q: positions, rad.
        u: speeds, rad/s.
        a: accelerations, rad/s^2.
        ufb: feedback part of the command, N*m.
        tau: command, N*m.
        load: measured torque, N*m.
    """

    names: tuple[str, ...]
    tick: int
    q: Array
    u: Array
    a: Array
    ufb: Array
    tau: Array
    load: Array


@dataclass(frozen=True, slots=True, eq=False)
class DesiredState:
    """What the joints are to do (SL: SL_DJstate).

    Args:
        names: of the joints.
        tick: base tick of the record.
        q: positions, rad.
        u: speeds, rad/s.
        a: accelerations, rad/s^2.
        uff: feedforward command, N*m.
        uex: external torques that inverse dynamics compensates, N*m.
    """

    names: tuple[str, ...]
    tick: int
    q: Array
    u: Array
    a: Array
    uff: Array
    uex: Array


@dataclass(frozen=True, slots=True, eq=False)
class FrameState:
    """A frame, such as an end-effector or the base, along the world's axes.

    Args:
        x: position, m.
        xd: velocity, m/s.
        xdd: acceleration, m/s^2.
        q: quaternion (w, x, y, z).
        w: angular velocity, rad/s.
        wd: angular acceleration, rad/s^2.
    """

    x: Array
    xd: Array
    xdd: Array
    q: Array
    w: Array
    wd: Array


@dataclass(frozen=True, slots=True, eq=False)
class BlobState:
    """A blob in the robot's frame, or in pictures.

    Args:
        x: position, m; of a raw blob in two dimensions, pixels of each camera in turn.
        xd: velocity, m/s.
        xdd: acceleration, m/s^2.
        status: whether it is seen.
    """

    x: Array
    xd: Array
    xdd: Array
    status: bool


@dataclass(frozen=True, slots=True)
class ServoCounters:
    """What was counted of a servo.

    Args:
        rate: Hz.
        ticks: that were run.
        missed: ticks that passed without being run.
        overruns: ticks that ended after the next one was due, or results that came too late.
        worst: the greatest lateness, s.
        mean: the mean lateness, s.
    """

    rate: float
    ticks: int
    missed: int
    overruns: int
    worst: float
    mean: float
