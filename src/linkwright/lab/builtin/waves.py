"""Tasks of sines: sine files, and motions that excite the robot for identification."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from linkwright import motion, robots
from linkwright.base.errors import InputError
from linkwright.lab.builtin.preferences import preference_file, recorded
from linkwright.lab.config import LabConfig
from linkwright.lab.files.sine_files import read_sines
from linkwright.lab.functions import pi, sin, where
from linkwright.lab.tasks import Task, parameter, setting


class _Waves(Task):
    """Joints that move by sums of sines, with their exact speeds and accelerations."""

    native = True

    def init(self, lab: Any) -> None:
        """Go where the motion begins, with inverse dynamics."""
        waves = self.waves(lab)
        self.offsets = np.array(waves.offsets)
        most = max(len(row) for row in waves.sines)
        table = np.zeros((len(waves.sines), max(most, 1), 3))
        for k, row in enumerate(waves.sines):
            table[k, : len(row)] = np.reshape(row, (-1, 3))
        self.amplitudes, self.phases, self.frequencies = np.moveaxis(table, 2, 0)
        lab.go_to(waves(0.0), inverse_dynamics=True)
        lab.mode("invdyn")
        recorded(lab)

    def waves(self, lab: Any) -> motion.Sines:
        """Return the motion of all joints, in order; here they hold their default posture."""
        return motion.Sines(
            [joint.default for joint in lab.config.joints], [()] * len(lab.config.joints)
        )

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Want the sines and their derivatives."""
        w = 2 * pi * self.frequencies
        angle = w * t + self.phases
        desired.q = self.offsets + (self.amplitudes * sin(angle)).sum(axis=1)
        desired.u = (self.amplitudes * w * sin(angle + pi / 2)).sum(axis=1)
        desired.a = -(self.amplitudes * w**2 * sin(angle)).sum(axis=1)


_DEFAULT = "default.sine"
_SMALL, _SLOW = 0.1, 0.5  # rad or m, and Hz


def _small(config: LabConfig) -> motion.Sines:
    """Return a small sine of every joint about its default posture, as far as its range goes."""
    rooms = [min(x.default - x.lower, x.upper - x.default) for x in config.joints]
    sizes = [max(0.0, min(_SMALL, room / 2)) for room in rooms]
    return motion.Sines([x.default for x in config.joints], [[(a, 0.0, _SLOW)] for a in sizes])


class Sine(_Waves):
    """Moves joints by the sums of one to three sines of a `.sine` file (SL: SINE_TASK).

    Joints that the file does not have hold their default posture. Inverse dynamics adds torques.
    The recorder runs from its start. A laboratory without preferences, as that of a robot file, has
    a small sine for each joint where no other file is asked for.
    """

    name = "sine"
    file = setting(_DEFAULT, doc="a file among the preferences, or a path")

    def waves(self, lab: Any) -> motion.Sines:
        """Return what the file says."""
        if self.file == _DEFAULT and lab.config.preferences is None:
            return _small(lab.config)
        path = preference_file(lab, self.file)
        found = read_sines(path, lab.config.names)
        offsets = [
            found[joint.name].offset if joint.name in found else joint.default
            for joint in lab.config.joints
        ]
        sines = motion.Sines(
            offsets, [found[n].sines if n in found else () for n in lab.config.names]
        )
        _require_range(lab.config, sines, str(path))
        return sines


class Excite(_Waves):
    """Moves all joints so that their inertial parameters can be distinguished from a recording.

    The motion is that of `linkwright.identification.excite`, within the ranges of the joints.
    """

    name = "excite"
    repeats = parameter(1.0, lower=0, doc="periods until it is done; 0: until it is frozen")
    period = setting(10.0, doc="of the motion, s")
    harmonics = setting(5, doc="of each joint")
    trials = setting(10, doc="motions that are compared")
    seed = setting(0, doc="of the trials")

    def waves(self, lab: Any) -> motion.Sines:
        """Return the motion that excites most."""
        from linkwright.robots.identification import excite

        self.length = float(self.period)
        if not self.length > 0:
            raise InputError(f"excite has a period of {self.period!r} s", remedy="give more than 0")
        robot = ranged_robot(lab.config)
        found = excite(
            robot,
            period=self.length,
            harmonics=int(self.harmonics),
            trials=int(self.trials),
            seed=int(self.seed),
        ).motion
        order = [robot.coordinates.index(name) for name in lab.config.names]
        return motion.Sines([found.offsets[k] for k in order], [found.sines[k] for k in order])

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Want the motion until it was repeated often enough."""
        super().run(t, state, desired)
        ends = (self.repeats > 0) & (t >= self.repeats * self.length)
        desired.done = where(ends, 1, 0)


def ranged_robot(config: LabConfig) -> robots.Robot:
    """Return the robot that controllers believe in, with the ranges of the laboratory.

    >>> from linkwright.lab.sources import lab_config
    >>> ranged_robot(lab_config("sl-arm")).limits[3].tolist()
    [0.53, 2.25]
    """
    given = config.description if config.model is None else config.model
    ranges = {joint.name: joint for joint in config.joints}
    joints = []
    for joint in given.joints:
        own = ranges.get(joint.name)
        if own is not None:
            fast = own.max_speed if math.isfinite(own.max_speed) else joint.limits.speed
            limits = replace(joint.limits, lower=own.lower, upper=own.upper, speed=fast)
            joint = replace(joint, limits=limits)
        joints.append(joint)
    return robots.Robot(replace(given, joints=tuple(joints)), base="fixed")


def _require_range(config: LabConfig, waves: motion.Sines, file: str) -> None:
    """Reject sines that may leave the range of a joint."""
    size = waves.max_abs(0)
    for joint, offset, most in zip(config.joints, waves.offsets, size, strict=True):
        if not joint.lower <= offset - most <= offset + most <= joint.upper:
            raise InputError(
                f"the sines of {joint.name} reach from {offset - most:g} to {offset + most:g} rad, "
                f"and its range is from {joint.lower:g} to {joint.upper:g}",
                file=file,
                remedy="give a smaller amplitude, or another offset",
            )
