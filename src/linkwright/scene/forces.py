"""Forces of a scene as arrows, and the points at which it can touch something.

A recording of a System says where its forces act and which channels hold them
(`about["forces"]`, see `linkwright.system.force_arrows`). With the poses of the nodes that is all:
a point is fixed in a node, a force is three channels. A live run computes the same channels from
the state that is shown. Everything here is in the picture's axes, whose z is up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import Error
from linkwright.base.forking import cached_property
from linkwright.base.rotations import turned
from linkwright.recording import Recording
from linkwright.scene.arrow_shapes import SHORTEST
from linkwright.scene.body_geometry import Geometry, body_rows
from linkwright.scene.scene import Scene

Array: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Column: TypeAlias = Callable[[str], Array | float]

USUAL = 0.32
"""Length of the arrow of the weight of all, as a share of the scene's radius."""

LONGEST = 1.0
"""Of an arrow, as a share of the scene's radius; longer ones are cut."""

LEAST = 0.01
"""Share of the weight of all; less is not shown."""

GRAVITY = 9.81


@dataclass(frozen=True, slots=True, eq=False)
class NodeForce:
    """A force that acts at a place of a node."""

    name: str  # for people
    node: int  # its row in the poses
    at: tuple[float, float, float]  # where it acts, in the node's axes, m
    force: tuple[str, ...]  # the channels of its components, or of its magnitude, N
    along: tuple[float, float, float] | None = None  # the direction of a magnitude
    turns: bool = False  # whether directions are in the node's axes, not in the world's
    touch: str = ""  # the channel that is positive while the point touches; empty without contact
    down: float = 0.0  # how far below `at` it touches, m: the radius of a ball
    # the other end of the strut that it is along: row of the node and place in its axes, m
    far: tuple[int, tuple[float, float, float]] | None = None
    reaction: bool = False  # whether it is what a joint has to do, not a force that is applied
    # in the node's axes, those along which the components are; the same by default
    axes: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ForceFrames:
    """Forces at one time, or at several: then each array has a row for each."""

    points: Array
    forces: Array
    touching: Flags
    ending: Flags


@dataclass(eq=False)
class Arrows:
    """The forces that are known of a scene.

    >>> from linkwright.mechanism import Mechanism
    >>> from linkwright.scene.scene import scene_of
    >>> m = Mechanism("m")
    >>> ball = m.body("ball", translate="z", mass=2)
    >>> m.gravity()
    >>> told = {"name": "f", "body": "ball", "at": [0, 0, -0.1], "force": ["fx", "fy", "fz"]}
    >>> arrows = arrows_of(scene_of(m), [told])
    >>> arrows.names, round(arrows.weight, 2)
    (('f',), 19.62)
    """

    scene: Scene
    each: tuple[NodeForce, ...]
    contact: Flags = field(init=False)
    reaction: Flags = field(init=False)
    _nodes: NDArray[np.intp] = field(init=False, repr=False)
    _places: Array = field(init=False, repr=False)
    _down: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.contact = np.array([bool(a.touch) for a in self.each], bool)
        self.reaction = np.array([a.reaction for a in self.each], bool)
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
        """The weight of all nodes, N, as on the earth where nothing falls; 1 without mass."""
        return self._gravity * sum(node.mass for node in self.scene.nodes) or 1.0

    @cached_property
    def _gravity(self) -> float:
        m = self.scene.robot.mechanism
        field = Geometry(m, self.scene.poses.values).vector(m.gravity_vector, m.ground.frame)
        return float(np.linalg.norm(field)) or GRAVITY

    @property
    def units(self) -> tuple[str, str]:
        """The units of length and force of the mechanism."""
        m = self.scene.robot.mechanism
        moves = (q.name for b in m.bodies.values() for q, _ in b.translations)
        length = next((m.units[name] for name in moves if m.units.get(name, "?") != "?"), "m")
        return length, "lbf" if length in ("in", "ft") else "N"

    def points(self, poses: Array) -> Array:
        """Return where the forces act."""
        held = poses[..., self._nodes, :]
        found = held[..., :3] + turned(
            held[..., 3:], np.broadcast_to(self._places, held[..., :3].shape)
        )
        found[..., 2] -= self._down
        return np.asarray(found)

    def at(self, poses: Array, column: Column) -> ForceFrames:
        """Return the forces at some times."""
        lead = poses.shape[:-2]
        forces = np.zeros((*lead, len(self.each), 3))
        touching = np.zeros((*lead, len(self.each)), bool)
        upright = self.scene.upright
        plain = [k for k, a in enumerate(self.each) if a.along is None and not a.turns]
        if plain:
            parts = [[column(name) for name in self.each[k].force] for k in plain]
            rows = np.array(parts, float).reshape(len(plain), 3, *lead)
            forces[..., plain, :] = np.moveaxis(rows, (0, 1), (-2, -1)) @ upright.T
        for k, a in enumerate(self.each):
            if a.along is not None or a.turns:
                forces[..., k, :] = self._given(a, poses, column)
            if a.touch:
                touching[..., k] = np.asarray(column(a.touch)) > 0
        forces = np.nan_to_num(forces)
        return ForceFrames(self.points(poses), forces, touching, self.ending(poses, forces))

    def ending(self, poses: Array, forces: Array) -> Flags:
        """Return which arrows end where they act: those that pull along a strut."""
        found = np.zeros(forces.shape[:-1], bool)
        points = self.points(poses)
        for k, a in enumerate(self.each):
            if a.far is not None:
                held = poses[..., a.far[0], :]
                place = np.broadcast_to(np.array(a.far[1]), held[..., :3].shape)
                out = points[..., k, :] - held[..., :3] - turned(held[..., 3:], place)
                found[..., k] = (out * forces[..., k, :]).sum(axis=-1) < 0
        return found

    def _given(self, arrow: NodeForce, poses: Array, column: Column) -> Array:
        """Return a force that is given along a direction, or in the axes of its node."""
        lead = poses.shape[:-2]
        parts = np.stack([np.broadcast_to(column(n), lead) for n in arrow.force], axis=-1)
        way = parts if arrow.along is None else parts * np.array(arrow.along)
        way = way if arrow.axes is None else way @ arrow.axes
        if arrow.turns:
            return turned(poses[..., arrow.node, 3:], way)
        return np.asarray(way @ self.scene.upright.T)


def arrows_of(scene: Scene, info: object, *, there: Sequence[str] | None = None) -> Arrows:
    """Return the forces that are reported and whose channels are there."""
    rows = {body.name: k for body, k in body_rows(scene.robot.mechanism).items() if k}
    known = None if there is None else set(there)
    found = []
    for one in info if isinstance(info, list | tuple) else ():
        made = _arrow(one, rows) if isinstance(one, Mapping) else None
        if made is not None and (known is None or known.issuperset(made.force)):
            found.append(made)
    return Arrows(scene, tuple(found))


def reacting(about: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the bodies whose joints' forces a recording, or a flattened System, reports.

    >>> reacting({"reactions": ["crank"]})
    ('crank',)
    """
    info = about.get("reactions")
    given = info if isinstance(info, list | tuple) else ()
    return tuple(str(x.get("body") if isinstance(x, Mapping) else x) for x in given)


def joint_arrows(scene: Scene, about: Mapping[str, Any]) -> list[NodeForce]:
    """Return the forces that parents put on bodies through their joints, where links begin."""
    rows = {body.name: k for body, k in body_rows(scene.robot.mechanism).items() if k}
    found = []
    for k, name in enumerate(reacting(about)):
        told, at, axes = about["reactions"][k], (0.0, 0.0, 0.0), None
        if isinstance(told, Mapping):
            with suppress(KeyError, TypeError, ValueError):
                at = _triple(told["at"])
                axes = np.reshape([_triple(x) for x in told["axes"]], (3, 3))
        if name in rows:
            force = tuple(f"{name}.F{c}" for c in "xyz")
            named = f"joint of {name}", rows[name], at, force
            found.append(NodeForce(*named, turns=True, reaction=True, axes=axes))
    return found


def _arrow(info: Mapping[str, Any], rows: Mapping[str, int]) -> NodeForce | None:
    try:
        force, along = tuple(map(str, info["force"])), info.get("along")
        if len(force) != (3 if along is None else 1):
            return None
        return NodeForce(
            str(info["name"]),
            rows[str(info["body"])],
            _triple(info["at"]),
            force,
            None if along is None else _triple(along),
            along is not None and info.get("axes") != "ground",
            str(info.get("touch", "")),
            float(info.get("down", 0.0)),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _triple(found: Any) -> tuple[float, float, float]:
    x, y, z = map(float, found)
    return x, y, z


def recorded_forces(scene: Scene, recording: Recording) -> tuple[Arrows, Column]:
    """Return the forces of a recording, and where their channels are, over all its times."""
    from linkwright.scene.load_arrows import OwnForces, known_in

    there = {c.name for c in recording.channels}
    about = recording.metadata
    info = arrows_of(scene, about.get("forces"), there=[*there])
    each = [a for a in info.each if not a.touch or a.touch in there]
    each += [a for a in joint_arrows(scene, about) if there.issuperset(a.force)]
    own, columns = OwnForces(scene.robot.mechanism, scene.poses.values, about), {}
    known = known_in(recording.__getitem__, there, about, own.mechanism, recording.times)
    with suppress(Error):  # what cannot be computed is not shown
        columns = own.columns(known)
        each += [a for a in own.arrows if a.force[0] in columns]

    def column(name: str) -> Array:
        found = columns.get(name)
        return np.asarray(recording[name] if found is None else found, float)

    return Arrows(scene, tuple(each)), column


def recorded_floor(scene: Scene, recording: Recording) -> float | None:
    """Return the height of the ground that a recording reports, m; None where it reports none."""
    info = recording.metadata.get("floors")
    heights = []
    for one in info if isinstance(info, list | tuple) else ():
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

    >>> scale_of(100.0, 1.0)
    Scale(meters=0.0032, longest=1.0, least=6.25)
    """

    meters: float  # of an arrow for one newton
    longest: float
    least: float

    def lengths(self, forces: Array) -> Array:
        """Return the arrows of forces, m; zero where they are too small to be shown."""
        size = np.linalg.norm(forces, axis=-1, keepdims=True)
        long = np.minimum(self.meters * size, self.longest)
        return np.where(size < self.least, 0.0, forces * long / np.maximum(size, 1e-30))

    def legend(self, radius: float, units: tuple[str, str] = ("m", "N")) -> str:
        """Return in words how long an arrow is.

        >>> scale_of(147.0, 0.5).legend(0.5)
        '0.2 m = 184 N'
        """
        length = nice(USUAL * radius)
        force = float(f"{length / self.meters:.3g}")  # 1300, not 1.3e+03
        return f"{length:g} {units[0]} = {force:g} {units[1]}"


def scale_of(reference: float, radius: float, factor: float = 1.0) -> Scale:
    """Return the scale with which a force is an arrow of a good length."""
    meters = factor * USUAL * radius / reference
    return Scale(meters, LONGEST * radius, max(LEAST * reference, SHORTEST * radius / meters))


def reference_of(arrows: Arrows, forces: Array | None = None) -> float:
    """Return the force whose arrow has the usual length: the weight, unless forces are far off.

    Where several points share the weight, it is up to a quarter of it.
    """
    weight = arrows.weight / min(4, max(1, int(arrows.contact.sum())))
    if forces is None or not forces.size:
        return weight
    return adapted(weight, np.linalg.norm(forces, axis=-1).max(axis=-1))


def adapted(reference: float, largest: ArrayLike) -> float:
    """Return a reference, or what forces usually are where that is far from it.

    >>> adapted(10.0, [12.0, 30.0]), adapted(10.0, [0.0, 1.0, 1.0])
    (10.0, 1.0)
    """
    some = np.asarray(largest, float)
    some = some[np.isfinite(some) & (some > 1e-6 * reference)]
    usual = float(np.quantile(some, 0.9)) if some.size else 0.0
    return reference if usual <= 0 or 0.25 * reference < usual < 4 * reference else usual


def nice(raw: float) -> float:
    """Return 1, 2 or 5 times a power of ten, near a number.

    >>> nice(0.17), nice(0.034)
    (0.2, 0.05)
    """
    power = 10.0 ** np.floor(np.log10(raw))
    return float(next(k * power for k in (1, 2, 5, 10) if k * power >= raw * 0.999))


# -- over time -------------------------------------------------------------------------------------
@dataclass(eq=False)
class ForceTrack:
    """The forces of a take, ready to be looked up."""

    arrows: Arrows
    forces: NDArray[np.float32]
    touching: Flags
    reference: float = field(init=False)

    def __post_init__(self) -> None:
        self.reference = reference_of(self.arrows, self.forces.astype(float))

    def between(self, k: int, j: int, f: float, poses: Array) -> ForceFrames:
        """Return the forces between two samples, along lines."""
        forces = (1 - f) * self.forces[k].astype(float) + f * self.forces[j].astype(float)
        touching = self.touching[k if f < 0.5 else j]
        ending = self.arrows.ending(poses, forces)
        return ForceFrames(self.arrows.points(poses), forces, touching, ending)


def force_track(
    scene: Scene, recording: Recording, rows: slice | NDArray[np.intp], poses: Array
) -> ForceTrack | None:
    """Return the forces of a recording at some of its samples, or None where it has none."""
    arrows, column = recorded_forces(scene, recording)
    if not arrows.each:
        return None
    whole = recording.times.shape
    shown = arrows.at(poses, lambda name: np.broadcast_to(column(name), whole)[rows])
    return ForceTrack(arrows, shown.forces.astype(np.float32), shown.touching)
