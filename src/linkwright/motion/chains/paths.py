"""Legs of a tool: from a pose in one frame to a pose in another, either of which may move.

The place goes along the straight line between both ends, wherever they are. The rotation is

    carry(r) start Rot(axis, r angle) Rot(z, r roll)

with the drive as it is when the leg begins (Paul; the report on the force and motion server, 3.1),
or one turn about one axis (slerp, with no roll), and `carry` what the frames of both ends turned
since then, from that of the first to that of the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwright.algebra import ONE, ZERO, Expr, absolute, sqrt, total
from linkwright.algebra.triples import NOTHING, Hold, Quaternion, Triple, conjugate, subtract
from linkwright.blocks import Block
from linkwright.motion.chains.frames import BASE, MovingFrame, frame_of
from linkwright.motion.chains.legs import Share
from linkwright.motion.chains.poses import (
    UNIT,
    Pose,
    Turning,
    between,
    carry,
    composed,
    drive_angles,
    inverse,
    multiplied,
    on,
    product,
    rotated,
    slerp_angles,
    turned_about,
)
from linkwright.motion.chains.records import chosen, like, numbers


@dataclass(frozen=True, slots=True)
class Anchor:
    """An end of a leg: a pose in a frame."""

    frame: Expr  # its number, 0 for the base
    place: Triple  # m
    turn: Quaternion  # unit quaternion w, x, y, z


@dataclass(frozen=True, slots=True)
class ToolPath:
    """A leg of a tool."""

    first: Anchor  # where it begins
    last: Anchor  # where it ends
    start: Quaternion  # the rotation of its beginning as it began, in the base
    end: Quaternion  # the rotation of its end at that time
    axis: Triple  # of the drive's first turn, in the axes of the beginning
    angle: Expr  # of that turn, rad
    roll: Expr  # of its second turn, about z, rad
    length: Expr  # of the way as it began, m

    @property
    def span(self) -> tuple[Expr, Expr]:
        """Length, m, and angle, rad."""
        return self.length, self.angle + absolute(self.roll)


def path_tangent(hold: Hold, frames: Sequence[MovingFrame], path: ToolPath) -> list[Expr]:
    """Return how the pose of a tool changes with r where a leg begins: a twist."""
    ends = [
        on(hold, ZERO, frame_of(hold, frames, anchor.frame), anchor.place, anchor.turn)
        for anchor in (path.first, path.last)
    ]
    way = subtract(ends[1].place.at, ends[0].place.at)
    x, y, z = path.axis
    turn = (path.angle * x, path.angle * y, path.angle * z + path.roll)
    return [*(hold(e) for e in way), *rotated(hold, path.start, [hold(e) for e in turn])]


_STANDING = Anchor(ZERO, NOTHING, UNIT)
_NONE = ToolPath(_STANDING, _STANDING, UNIT, UNIT, (ONE, ZERO, ZERO), ZERO, ZERO, ZERO)


def path_of(values: Sequence[Expr]) -> ToolPath:
    """Return a leg from its numbers."""
    return like(_NONE, values)


def path_states(block: Block, leg: str) -> ToolPath:
    """Return a leg as discrete states of a block."""
    usual = enumerate(map(float, numbers(_NONE)))
    return path_of([block.discrete_state(f"{leg}_path{k}", initial=x) for k, x in usual])


def planned_path(
    hold: Hold, frames: Sequence[MovingFrame], first: Anchor, last: Anchor, slerp: bool
) -> ToolPath:
    """Return the leg from one pose to another as it begins now."""
    ends = [
        on(hold, ZERO, frame_of(hold, frames, anchor.frame), anchor.place, anchor.turn)
        for anchor in (first, last)
    ]
    start, end = (e.turn.at for e in ends)
    turn = multiplied(hold, conjugate(start), end)
    axis, angle, roll = (slerp_angles if slerp else drive_angles)(hold, turn)
    way = subtract(ends[1].place.at, ends[0].place.at)
    length = hold(sqrt(total(x**2 for x in way)))
    return ToolPath(first, last, start, end, axis, angle, roll, length)


@dataclass(frozen=True, slots=True)
class OnPath:
    """Where a tool is on a leg, and where the leg ends."""

    now: Pose
    end: Pose


def on_path(
    hold: Hold, sigma: Expr, frames: Sequence[MovingFrame], path: ToolPath, share: Share
) -> OnPath:
    """Return where a tool is on a leg."""
    first, last = (
        on(hold, sigma, frame_of(hold, frames, a.frame), a.place, a.turn)
        for a in (path.first, path.last)
    )
    place = between(hold, sigma, first.place, last.place, share)
    drive = [
        Turning(path.start),
        turned_about(hold, sigma, path.axis, path.angle, share),
        turned_about(hold, sigma, (ZERO, ZERO, ONE), path.roll, share),
    ]
    if frames:
        since = [
            composed(hold, sigma, end.turn, Turning(conjugate(then)))
            for end, then in ((first, path.start), (last, path.end))
        ]
        drive.insert(0, carry(hold, sigma, since[0], since[1], share))
    return OnPath(Pose(place, product(hold, sigma, *drive)), last)


def both_paths(hold: Hold, sigma: Expr, a: OnPath, b: OnPath, one: Expr, two: Expr) -> Pose:
    """Return the pose of a tool on one leg or two: what is left of one, done of the other."""
    first, second, corner = (
        chosen(active, pose, BASE, hold)
        for active, pose in ((one, a.now), (two, b.now), (hold(one & two), a.end))
    )
    rows = zip(*(numbers(p.place) for p in (first, second, corner)), strict=True)
    place = like(corner.place, [hold(x + y - z) for x, y, z in rows])
    back = inverse(hold, corner.turn)
    return Pose(place, product(hold, sigma, first.turn, back, second.turn))
