"""Actuators of any mount with a platform, as functions of where its dish points.

The loops are closed by Newton's method along the way, from where the mount stands and around the
zenith, so that all directions lie on the branch in which it was assembled and a turntable turns as
far as it must.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra.units import amount
from linkwright.base.errors import DomainError, InputError
from linkwright.equations.batch_closing import Closing
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.mechanism import Mechanism, ModelLike, mechanism_of
from linkwright.mounts.axes import UNLIMITED, MountAxes, ThreeAxes, TurnedAxes, serial_axes
from linkwright.mounts.chains import SHARE, chain_of, limits_of, refuse_beyond, with_turns
from linkwright.mounts.inverse_pointing import way_to
from linkwright.mounts.legs import LEGGED, leg_axes
from linkwright.mounts.pointing import angles
from linkwright.mounts.sites import Site

Array = NDArray[np.float64]

SERIAL = ("alt-az", "x-y", "equatorial")
_STEEP = 100.0
"""Angle of an actuator over that of the dish, beside the zenith, that makes it a keyhole."""
_ZENITH = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, slots=True)
class MachineAxes:
    """The actuators of a mount: where they are for directions, and where the dish then points.

    A jack is taken as fast as it must be to turn the dish at the zenith as fast as the limit says.

    Args:
        name: of the mount.
        names: of its actuators.
        arms: what a limit in rad/s is multiplied by for each: 1 for an angle, m for a jack.
        inverse: closes the loops for a direction.
        kept: the platform's distance, where a plunge would change it.
        limits: the least and greatest value of each actuator.

    >>> axes = machine_axes("mount-x-y")
    >>> axes.names, axes.arms
    (('x_axis', 'y_axis'), (1.0, 1.0))
    >>> np.degrees(axes.values(np.array([[0.6, 0.48, 0.64]]), 1.0)).round(3)
    array([[-36.87,  36.87]])
    """

    name: str
    names: tuple[str, ...]
    arms: tuple[float, ...]
    inverse: Closing = field(repr=False)
    kept: Array = field(repr=False)
    limits: Array = field(repr=False)

    def closed(self, d: Array) -> Array:
        """Return all coordinates for directions, each reached from the one before it.

        Args:
            d: unit vectors.
        """
        own = self.inverse.values_of(self.inverse.start[None])[0, :3]
        way = np.vstack([way_to(own, d[0])[:-1], d])
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        kept = np.broadcast_to(self.kept, (len(way), len(self.kept)))
        found = self.inverse.follow(np.hstack([way, kept]))
        if not found.closed.all():
            bad = int(np.flatnonzero(~found.closed)[0])
            azimuth, elevation = angles(way[max(bad, len(way) - len(d))])
            raise DomainError(
                f"{self.name} does not reach azimuth {float(azimuth):.1f}°, elevation "
                f"{float(elevation):.1f}°: {found.words(bad)}",
                remedy="look at higher elevations only, or take other dimensions",
            )
        q = np.asarray(found.q)[-len(d) :]
        limits, names = limits_of(self.inverse.machine), self.inverse.names
        limits[[names.index(name) for name in self.names]] = UNLIMITED[0]  # which stop there
        refuse_beyond(self.name, names, q, limits, "follow this path")
        return q

    def values(self, d: Array, step: float) -> Array:
        """Return what the actuators are at directions that follow each other.

        Args:
            d: unit vectors, near each other.
            step: s from one to the next, which changes nothing here.
        """
        q = _driven(self.inverse, self.closed(d))
        units = self.inverse.machine.mechanism.units
        turns = [k for k, name in enumerate(self.names) if units[name] == "rad"]
        own = _driven(self.inverse, self.inverse.start)[turns]
        q[:, turns] = with_turns(q[:, turns], self.limits[turns], own)
        return q

    def directions(self, q: Array) -> Array:
        """Return where the dish points at values of the actuators that follow each other.

        Args:
            q: one row for each direction, near each other.
        """
        forward = Closing(self.inverse.machine, ("actuators",))
        first = _driven(self.inverse, self.inverse.start)
        way = first + (q[0] - first) * np.linspace(0, 1, 20)[:, None]
        found = forward.follow(q, forward.follow(way, self.inverse.start).q[-1])
        if not found.closed.all():
            bad = int(np.flatnonzero(~found.closed)[0])
            raise DomainError(f"{self.name} does not go together: {found.words(bad)}")
        return np.asarray(self.inverse.values_of(found.q)[:, :3])


def _driven(closing: Closing, q: Array) -> Array:
    """Return the columns of the actuators, in their order."""
    columns = [closing.names.index(a.name) for a in closing.machine.actuators]
    return np.asarray(q[..., columns])


def on_site(m: Mechanism, site: Site | None) -> Mechanism:
    """Return a mount whose axis is tilted by the latitude of a site, where it has one."""
    if site is None or "latitude" not in m.parameters:
        return m
    return m.with_parameters({"latitude": site.latitude})


def machine_axes(source: ModelLike | str | os.PathLike[str]) -> MachineAxes:
    """Return the actuators of a mount with a platform, as functions of where its dish points.

    Args:
        source: a robot, mechanism, file or shipped model; one with a plunge keeps its distance.

    >>> [round(arm, 3) for arm in machine_axes("mount-prismatic").arms]
    [0.241, 0.241]
    """
    machine = parallel_machine(source)
    m = machine.mechanism
    spare = len(machine.actuators) - 2
    if spare not in (0, 1):
        raise InputError(
            f"{m.name!r} has {len(machine.actuators)} actuators",
            remedy="give a mount with two of them, or three of which one is its plunge",
        )
    inverse = Closing(machine, ("direction", "distance")[: 1 + spare])
    kept = inverse.values_of(inverse.start[None])[0, 3:]
    first = inverse.follow(np.hstack([_ZENITH, kept])[None], inverse.start)
    if not first.closed.all():
        raise DomainError(f"{m.name} does not point to the zenith: {first.words(0)}")
    zenith = np.asarray(first.q).reshape(-1)
    turn = np.arange(8) * (math.pi / 4)
    small = 1e-3
    around = np.stack([np.cos(turn), np.sin(turn), np.full(8, 1 / small)], axis=1)
    around /= np.linalg.norm(around, axis=1)[:, None]
    near = inverse.close(np.hstack([around, np.broadcast_to(kept, (8, len(kept)))]), zenith)
    slope = np.abs(_driven(inverse, near.q) - _driven(inverse, zenith)).max(axis=0) / small
    names = tuple(a.name for a in machine.actuators)
    turns = np.array([m.units[name] == "rad" for name in names])
    if not near.closed.all() or bool((slope[turns] > _STEEP).any()):  # the zenith is a keyhole
        tilted = math.atan2(*inverse.values_of(inverse.start[None])[0, 1::-1])
        up = np.array([[2 * small], [small]])
        rows = up * [math.cos(tilted), math.sin(tilted), 0.0] + _ZENITH
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        rising = inverse.follow(np.hstack([rows, [kept, kept]]), inverse.start)
        slope = np.abs(np.diff(_driven(inverse, rising.q), axis=0))[0] / small
    arms = tuple(np.where(turns, 1.0, slope).tolist())
    limits = limits_of(machine)[[inverse.names.index(name) for name in names]]
    return MachineAxes(m.name, names, arms, inverse, kept, limits)


def mount_axes(name: str, site: Site | None = None, *, speed: float = math.radians(5)) -> MountAxes:
    """Return the axes of a mount by its name.

    Args:
        name: "alt-az", "x-y", "equatorial", "3-axis", a shipped mount with or without its "mount-"
            ("2-rotary", "prismatic"), or the file of one; with "@90deg" or "@90" behind it for one
            that stands turned by this angle, from East to North.
        site: whose latitude tilts the axis of an equatorial mount.
        speed: limit of all axes, rad/s, of which the azimuth of a mount with three uses 0.8.

    >>> mount_axes("alt-az").names
    ('azimuth', 'elevation')
    """
    from linkwright.models import MODELS

    plain, at, turn = name.rpartition("@")
    if at:
        angle = amount(turn, f"the turn of {plain}", "deg")
        return TurnedAxes(mount_axes(plain, site, speed=speed), math.radians(angle))
    short = name.removeprefix("mount-")
    if short in SERIAL:
        return serial_axes(short, site)
    if short == "4-axis":  # its gimbal is level ashore
        return serial_axes("alt-az")
    if short == "3-axis":
        return ThreeAxes(SHARE * speed)
    if short in LEGGED:
        return leg_axes(short)
    m = on_site(mechanism_of(f"mount-{short}" if f"mount-{short}" in MODELS else name), site)
    return chain_of(parallel_machine(m), speed=speed) or machine_axes(m)
