"""Forces of a scene as arrows, and the points at which it can touch something.

A recording of a System tells where its forces act and which channels hold them
(`about["forces"]`, see `linkwright.system.arrows`). With the poses of the nodes that is all: a
point is fixed in a node, and a force is three channels. A live run computes the same channels from
the state that is shown. Everything here is in the picture's axes, whose z is up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.recording import Recording
from linkwright.studio.hanging import turned
from linkwright.studio.scene import Scene

Array: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Column: TypeAlias = Callable[[str], Array | float]

USUAL = 0.4
"""Length of the arrow of the weight of all, as a share of the scene's radius."""

LONGEST = 1.2
"""Of an arrow, as a share of the scene's radius; longer ones are cut."""

LEAST = 0.01
"""Share of the weight of all; less is not shown."""

GRAVITY = 9.81


@dataclass(frozen=True, slots=True, eq=False)
class Arrow:
    """A force that acts at a place of a node.

    Args:
        name: for people.
        node: its row in the poses.
        at: where it acts, in the node's axes, m.
        force: the channels of its components in the world's axes, or of its magnitude, N.
        along: the direction of a magnitude: in the node's axes, or in the world's.
        turns: whether that is in the node's axes.
        touch: the channel that is positive while the point touches; empty where it is no contact.
        down: how far below `at` it touches, m: the radius of a ball.
    """

    name: str
    node: int
    at: tuple[float, float, float]
    force: tuple[str, ...]
    along: tuple[float, float, float] | None = None
    turns: bool = True
    touch: str = ""
    down: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """Forces at one time, or at several: then each array has a row for each.

    Args:
        points: where they act, (times x) arrows x 3, m.
        forces: (times x) arrows x 3, N.
        touching: whether a contact point touches, (times x) arrows.
    """

    points: Array
    forces: Array
    touching: Flags


@dataclass(eq=False)
class Arrows:
    """The forces that are known of a scene.

    Args:
        scene: where they act.
        each: the forces.

    >>> from linkwright.mechanism import Mechanism
    >>> from linkwright.studio.scene import scene_of
    >>> m = Mechanism("m")
    >>> ball = m.body("ball", translate="z", mass=2)
    >>> m.gravity()
    >>> told = {"name": "f", "body": "ball", "at": [0, 0, -0.1], "force": ["fx", "fy", "fz"]}
    >>> arrows = arrows_of(scene_of(m), [told])
    >>> arrows.names, round(arrows.weight, 2)
    (('f',), 19.62)
    """

    scene: Scene
    each: tuple[Arrow, ...]
    contact: Flags = field(init=False)
    _nodes: NDArray[np.intp] = field(init=False, repr=False)
    _places: Array = field(init=False, repr=False)
    _down: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.contact = np.array([bool(a.touch) for a in self.each], bool)
        self._nodes = np.array([a.node for a in self.each], np.intp)
        self._places = np.array([a.at for a in self.each], float).reshape(-1, 3)
        self._down = np.array([a.down for a in self.each], float)

    def __len__(self) -> int:
        return len(self.each)

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(a.name for a in self.each)

    @property
    def weight(self) -> float:
        """The weight of all nodes, N, as on the earth; 1 where nothing has mass."""
        return GRAVITY * sum(node.mass for node in self.scene.nodes) or 1.0

    def points(self, poses: Array) -> Array:
        """Return where the forces act.

        Args:
            poses: of the nodes in the picture's axes, (times x) nodes x 7.
        """
        held = poses[..., self._nodes, :]
        found = held[..., :3] + turned(
            held[..., 3:], np.broadcast_to(self._places, held[..., :3].shape)
        )
        found[..., 2] -= self._down
        return np.asarray(found)

    def at(self, poses: Array, column: Column) -> Shown:
        """Return the forces at some times.

        Args:
            poses: of the nodes in the picture's axes, (times x) nodes x 7.
            column: from the name of a channel to its values at these times.
        """
        lead = poses.shape[:-2]
        forces = np.zeros((*lead, len(self.each), 3))
        touching = np.zeros((*lead, len(self.each)), bool)
        upright = self.scene.upright
        plain = [k for k, a in enumerate(self.each) if a.along is None]
        if plain:
            parts = [[column(name) for name in self.each[k].force] for k in plain]
            rows = np.array(parts, float).reshape(len(plain), 3, *lead)
            forces[..., plain, :] = np.moveaxis(rows, (0, 1), (-2, -1)) @ upright.T
        for k, a in enumerate(self.each):
            if a.along is not None:
                way = np.broadcast_to(np.array(a.along), (*lead, 3))
                turn = turned(poses[..., a.node, 3:], way) if a.turns else way @ upright.T
                forces[..., k, :] = np.asarray(column(a.force[0]))[..., None] * turn
            if a.touch:
                touching[..., k] = np.asarray(column(a.touch)) > 0
        return Shown(self.points(poses), np.nan_to_num(forces), touching)


def arrows_of(scene: Scene, told: object, *, there: Sequence[str] | None = None) -> Arrows:
    """Return the forces that are told of and whose channels are there.

    Args:
        scene: where they act.
        told: as in `about["forces"]`; what is not of that form is left out.
        there: names of the channels; all by default.
    """
    rows = {b.name: k + 1 for k, b in enumerate(scene.robot.mechanism.depth_first())}
    known = None if there is None else set(there)
    found = []
    for one in told if isinstance(told, list | tuple) else ():
        made = _arrow(one, rows) if isinstance(one, Mapping) else None
        if made is not None and (known is None or known.issuperset(made.force)):
            found.append(made)
    return Arrows(scene, tuple(found))


def _arrow(told: Mapping[str, Any], rows: Mapping[str, int]) -> Arrow | None:
    try:
        force, along = tuple(map(str, told["force"])), told.get("along")
        if len(force) != (3 if along is None else 1):
            return None
        return Arrow(
            str(told["name"]),
            rows[str(told["body"])],
            _triple(told["at"]),
            force,
            None if along is None else _triple(along),
            told.get("axes") != "ground",
            str(told.get("touch", "")),
            float(told.get("down", 0.0)),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _triple(found: Any) -> tuple[float, float, float]:
    x, y, z = map(float, found)
    return x, y, z


def recorded_arrows(scene: Scene, recording: Recording) -> Arrows:
    """Return the forces of a recording.

    Args:
        scene: what moves in it.
        recording: of a System; others have none.
    """
    names = [c.name for c in recording.channels]
    made = arrows_of(scene, recording.about.get("forces"), there=names)
    there = set(names)
    if all(not a.touch or a.touch in there for a in made.each):
        return made
    return Arrows(scene, tuple(a for a in made.each if not a.touch or a.touch in there))


def recorded_floor(scene: Scene, recording: Recording) -> float | None:
    """Return the height of the ground that a recording tells of, m; None where it tells of none.

    Args:
        scene: what moves in it.
        recording: of a System.
    """
    told = recording.about.get("floors")
    heights = []
    for one in told if isinstance(told, list | tuple) else ():
        try:
            at, up = _triple(one["at"]), _triple(one["up"])
        except (KeyError, TypeError, ValueError):
            continue
        if np.dot(up, scene.up) > 0.999:
            heights.append(float(np.dot(at, scene.up)))
    return min(heights, default=None)


# -- how long they are -----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Scale:
    """How forces become lengths.

    Args:
        metres: of an arrow for one newton.
        longest: m; longer arrows are cut.
        least: N; less is not shown.

    >>> scale_of(100.0, 1.0)
    Scale(metres=0.004, longest=1.2, least=1.0)
    """

    metres: float
    longest: float
    least: float

    def lengths(self, forces: Array) -> Array:
        """Return the arrows of forces, m; zero where they are too small to be shown.

        Args:
            forces: ... x 3, N.
        """
        size = np.linalg.norm(forces, axis=-1, keepdims=True)
        long = np.minimum(self.metres * size, self.longest)
        return np.where(size < self.least, 0.0, forces * long / np.maximum(size, 1e-30))

    def legend(self, radius: float) -> str:
        """Return in words how long an arrow is.

        Args:
            radius: of the scene, m.

        >>> scale_of(147.0, 0.5).legend(0.5)
        'arrow of 0.2 m: 147 N'
        """
        length = nice(USUAL * radius)
        return f"arrow of {length:g} m: {length / self.metres:.3g} N"


def radius_of(size: float, poses: Array) -> float:
    """Return the radius of a scene for the lengths of arrows: its own size, not that of its way.

    Args:
        size: of the scene at one time, m.
        poses: of its nodes in the picture's axes, times x nodes x 7.
    """
    way = float(np.linalg.norm(np.ptp(poses[..., :3].reshape(-1, 3), axis=0))) if len(poses) else 0
    return max(0.8 * size, 0.15 * way)


def scale_of(reference: float, radius: float, factor: float = 1.0) -> Scale:
    """Return the scale with which a force is an arrow of a good length.

    Args:
        reference: N, such as the weight of all.
        radius: of the scene, m.
        factor: makes all arrows longer.
    """
    return Scale(factor * USUAL * radius / reference, LONGEST * radius, LEAST * reference)


def reference_of(arrows: Arrows, forces: Array | None = None) -> float:
    """Return the force whose arrow has the usual length: the weight, unless forces are far off.

    Where several points share the weight, it is up to a quarter of it.

    Args:
        arrows: with the scene.
        forces: those of a recording, ... x 3, N.
    """
    weight = arrows.weight / min(4, max(1, int(arrows.contact.sum())))
    if forces is None or not forces.size:
        return weight
    sizes = np.linalg.norm(forces, axis=-1)
    usual = float(np.quantile(sizes.max(axis=-1), 0.9)) if sizes.size else 0.0
    if usual <= 0 or 0.05 * weight < usual < 20 * weight:
        return weight
    return usual


def nice(raw: float) -> float:
    """Return 1, 2 or 5 times a power of ten, near a number.

    Args:
        raw: above zero.

    >>> nice(0.17), nice(0.034)
    (0.2, 0.05)
    """
    power = 10.0 ** np.floor(np.log10(raw))
    return float(next(k * power for k in (1, 2, 5, 10) if k * power >= raw * 0.999))


# -- over time -------------------------------------------------------------------------------------
@dataclass(eq=False)
class ForceTrack:
    """The forces of a take, ready to be looked up.

    Args:
        arrows: what they are.
        forces: times x arrows x 3, N, in the picture's axes.
        touching: times x arrows.
        reference: the force whose arrow has the usual length, N.
    """

    arrows: Arrows
    forces: NDArray[np.float32]
    touching: Flags
    reference: float = field(init=False)

    def __post_init__(self) -> None:
        self.reference = reference_of(self.arrows, self.forces.astype(float))

    def between(self, k: int, j: int, f: float, poses: Array) -> Shown:
        """Return the forces between two samples, along lines.

        Args:
            k: the sample before.
            j: the sample after.
            f: how far from one to the other, 0 to 1.
            poses: of the nodes then, in the picture's axes.
        """
        forces = (1 - f) * self.forces[k].astype(float) + f * self.forces[j].astype(float)
        touching = self.touching[k if f < 0.5 else j]
        return Shown(self.arrows.points(poses), forces, touching)


def force_track(
    scene: Scene, recording: Recording, rows: slice | NDArray[np.intp], poses: Array
) -> ForceTrack | None:
    """Return the forces of a recording at some of its samples, or None where it has none.

    Args:
        scene: what moves in it.
        recording: of a System.
        rows: which samples.
        poses: of the nodes then, in the picture's axes, times x nodes x 7.
    """
    arrows = recorded_arrows(scene, recording)
    if not arrows.each:
        return None
    shown = arrows.at(poses, lambda name: np.asarray(recording[name][rows], float))
    return ForceTrack(arrows, shown.forces.astype(np.float32), shown.touching)
