"""Which channels of a recording are the coordinates of a scene, and in which unit they stand.

A channel is a coordinate where it has its name, or that of the joint in the robot file, or SL's
(`NAME_th`). Values in degrees, inches and the like, as the unit of a channel says, are converted to
the coordinate's own unit; a channel without a unit is taken to be in that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import nearest
from linkwright.recording import Recording
from linkwright.recording.in_units import factor
from linkwright.scene.scene import Scene

Array = NDArray[np.float64]


def coordinates_in(scene: Scene, recording: Recording) -> tuple[Array | None, tuple[str, ...]]:
    """Return the scene's coordinates over time, or None for none, and what to say about them."""
    names = scene.poses.coordinates
    found, notes = _channels(scene, recording)
    missing = [n for n in names if n not in found]
    if missing and not found:
        return None, (*notes, f"{nothing_matches(scene, recording)}: only plots are shown")
    q = np.tile(scene.poses.start, (len(recording), 1))
    for k, name in enumerate(names):
        if name in found:
            channel, times = found[name]
            q[:, k] = times * recording[channel]
    notes = [*scene.notes, *notes]
    if missing:
        used = {channel for channel, _ in found.values()}
        others = [c.name for c in recording.channels if c.name not in (*used, *missing)]
        notes.append(f"not recorded, and held at the start: {_near(missing, others)}")
    finite = np.isfinite(q).all(axis=1)
    if not finite.all():
        good = np.flatnonzero(finite)
        if not len(good):
            return None, ("the coordinates are not finite: only plots are shown",)
        q = q[good[np.clip(np.searchsorted(good, np.arange(len(q)), "right") - 1, 0, None)]]
        notes.append("some coordinates are not finite, and are held where they are not")
    return q, tuple(notes)


def nothing_matches(scene: Scene, recording: Recording) -> str:
    """Return a sentence for a recording whose channels are not coordinates of the scene."""
    wanted, given = _some(scene.poses.coordinates), _some([c.name for c in recording.channels])
    return f"no channel is a coordinate of {scene.name!r}, which has {wanted}; there are {given}"


def _channels(scene: Scene, recording: Recording) -> tuple[dict[str, tuple[str, float]], list[str]]:
    """Return the channel of each coordinate with its factor, and which have an unknown unit."""
    units = {c.name: c.unit for c in recording.channels}
    own = scene.robot.mechanism.units
    joints = {
        joint.coordinates[0].name: joint.name
        for joint in scene.robot.assembled.joints
        if len(joint.coordinates) == 1
    }
    found: dict[str, tuple[str, float]] = {}
    wrong: dict[str, dict[str, str]] = {}
    for name in scene.poses.coordinates:
        ways = (name, joints.get(name, name), f"{name}_th", f"{name}.q")
        channel = next((way for way in ways if way in units), None)
        if channel is None:
            continue
        times = factor(units[channel], own.get(name, "?"))
        if times is None:
            wrong.setdefault(units[channel], {})[channel] = name
            continue
        found[name] = channel, times
    notes = [_no_unit(unit, names, own) for unit, names in wrong.items()]
    return found, notes


def _no_unit(unit: str, names: Mapping[str, str], own: Mapping[str, str]) -> str:
    """Return a sentence for channels with a unit that their coordinates cannot have."""
    if len(names) == 1:
        ((channel, name),) = names.items()
        needed = f"{name!r} ({own[name]})"
        return f"{channel!r} is in {unit!r}, which is not a unit for {needed}, and is left out"
    return f"{_some(list(names))} are in {unit!r}, which is not a unit for them, and are left out"


def _near(missing: Sequence[str], others: Sequence[str]) -> str:
    """Return names of coordinates, each with a channel whose name is nearly the same."""
    known = {name.lower(): name for name in others}
    words = []
    for name in missing:
        near = nearest(name.lower(), list(known), cutoff=0.75)
        words.append(f"{name} (is it {known[near]!r}?)" if near else name)
    return ", ".join(words)


def _some(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return (shown + (", ..." if len(names) > most else "")) or "none"
