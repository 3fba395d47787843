"""Actuators of the shipped mounts on three legs, in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError, suggestion
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.mechanism import mechanism_of
from linkwright.mounts.chains import limits_of
from linkwright.mounts.closed_forms.jacks import Jacks, jack_directions, jack_lengths
from linkwright.mounts.closed_forms.legs import Legs
from linkwright.mounts.closed_forms.rotary import arm_angles, mirror_pose, strut_poses
from linkwright.mounts.pointing import mirrored

Array = NDArray[np.float64]

LEGGED = ("3-rotary", "2-rotary", "prismatic")
"""Mounts with a closed form, without their "mount-"."""
_SMALL = 1e-4


@dataclass(frozen=True, slots=True)
class LegAxes:
    """The actuators of a mount on three legs.

    Args:
        kind: one of `LEGGED`.
        distance: of the centers of base and platform, m.
        legs: their dimensions.
        jacks: where they are; a mount with motors at the base has none.
        arms: what a limit in rad/s is multiplied by for each actuator: 1 for an angle, and for a
            jack what turns the dish so fast at the zenith, m.
        limits: the least and greatest value of each.

    >>> axes = leg_axes("2-rotary")
    >>> axes.names, np.degrees(axes.values(np.array([[0.0, 0.0, 1.0]]))).round(3)
    (('arm1', 'arm2'), array([[54.364, 54.364]]))
    """

    kind: str
    distance: float
    legs: Legs
    jacks: Jacks
    arms: tuple[float, ...]
    limits: Array

    @property
    def names(self) -> tuple[str, ...]:
        """Of the actuators."""
        count = 3 if self.kind == "3-rotary" else 2
        word = "leg" if self.kind == "prismatic" else "arm"
        return tuple(f"{word}{k + 1}" for k in range(count))

    def values(self, d: Array, step: float = 1.0) -> Array:
        """Return what the actuators are at directions; one out of reach is rejected.

        Args:
            d: unit vectors.
            step: s from one to the next, which changes nothing here.
        """
        arms = arm_angles(d, self.distance, self.legs)
        if self.kind == "prismatic":
            return jack_lengths(d, self.jacks)
        return arms[..., : len(self.names)]

    def directions(self, q: Array) -> Array:
        """Return where the dish points.

        Args:
            q: values of the actuators.
        """
        if self.kind == "prismatic":
            return np.asarray(jack_directions(q, self.jacks)[..., 0, :])
        if self.kind == "3-rotary":
            return mirror_pose(q, self.legs)[1]
        centers = strut_poses(q, self.distance, self.legs)[..., 0, :]
        return mirrored(centers / np.linalg.norm(centers, axis=-1, keepdims=True))


def leg_axes(kind: str) -> LegAxes:
    """Return the actuators of a shipped mount on three legs.

    Args:
        kind: "3-rotary", "2-rotary" or "prismatic".

    >>> [round(arm, 3) for arm in leg_axes("prismatic").arms]
    [0.241, 0.241]
    """
    if kind not in LEGGED:
        raise InputError(
            f"there is no mount {kind!r} on three legs",
            remedy=suggestion(kind, LEGGED, f"choose from {', '.join(LEGGED)}"),
        )
    m = mechanism_of(f"mount-{kind}")
    legs = Legs.of(m)
    legs.require_symmetric()
    machine = parallel_machine(m)
    driven = [machine.coordinates.index(a) for a in machine.actuators]
    distance, limits = float(m.values["D"]), limits_of(machine)[driven]
    if kind != "prismatic":
        return LegAxes(kind, distance, legs, Jacks(), (1.0,) * len(driven), limits)
    jacks = Jacks.of(m)
    return LegAxes(kind, distance, legs, jacks, _levers(jacks), limits)


def _levers(jacks: Jacks) -> tuple[float, ...]:
    """Return how far jacks move for an angle of the dish at the zenith, at most, m."""
    turn = np.arange(360) * math.radians(1.0)
    around = np.stack([np.cos(turn), np.sin(turn), np.full(360, 1 / _SMALL)], axis=1)
    around /= np.linalg.norm(around, axis=1)[:, None]
    at, near = jack_lengths((0.0, 0.0, 1.0), jacks), jack_lengths(around, jacks)
    return tuple(float(x) for x in np.abs(near - at).max(axis=0) / _SMALL)
