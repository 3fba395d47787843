"""Poses of many bodies: a small kernel for each joint, put together along the tree by NumPy.

Written out, the poses of a chain of bodies are products of products, and a kernel of thousands of
statements takes seconds to derive and compile. Here the kernel says only how each body stands
against its parent, which is short for any joint. The rest are 3 x 3 products, one level of the tree
after the other for all times at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, evaluate_all
from linkwright.base.rotations import quaternion_of
from linkwright.equations.tree import Tree
from linkwright.equations.writer import Writer
from linkwright.mechanism import Body, Mechanism, Point
from linkwright.program import Program
from linkwright.robots.fixed_frames import FixedFrame
from linkwright.robots.kinematics import stances

if TYPE_CHECKING:
    from linkwright.scene.poses import Hanging

Array: TypeAlias = NDArray[np.float64]
MANY = 60
"""Bodies above which poses are put together this way."""

_AT_ONCE = 1 << 18  # bodies times times, so that what lies between stays small


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """What stands still within bodies, in numbers; body 0 is the ground."""

    parents: NDArray[np.intp]  # of each body, by its place in the list
    # the bodies by how far they are from the ground, without it
    levels: tuple[NDArray[np.intp], ...]
    masses: Array  # kg
    centers: Array  # mass centers in the bodies' frames, m
    homes: NDArray[np.intp]  # of what hangs, the body; of a span that of its first point
    turns: Array  # of what hangs, the matrix from its axes to those of its body
    places: Array  # of what hangs, its origin in its body, m
    spans: NDArray[np.bool_]  # of what hangs, whether it is a span
    # of spans, the body of the second point, and that point in it
    ends: tuple[NDArray[np.intp], Array]


def joints_program(tree: Tree, bodies: Sequence[Body], takes: Sequence[str]) -> Program:
    """Return the Program of how each body stands against its parent: nine cosines, three places."""

    def write(writer: Writer) -> dict[str, list[Expr]]:
        found = [stances(writer, [body])[body] for body in bodies]
        return {
            "turns": [x for stance in found for row in stance.rotation for x in row],
            "arms": [x for stance in found for x in stance.position],
        }

    return tree.program("joints", takes, write)


def fixed_parts(
    mechanism: Mechanism, hanging: Sequence[Hanging], numbers: Mapping[str, float]
) -> Fixed:
    """Return what stands still within bodies."""
    bodies = [mechanism.ground, *mechanism.depth_first()]
    row = {body: k for k, body in enumerate(bodies)}
    parents = np.array([0 if b.parent is None else row[b.parent] for b in bodies], np.intp)
    depth = np.zeros(len(bodies), int)
    for k in range(1, len(bodies)):
        depth[k] = depth[parents[k]] + 1
    known = {x: numbers[n] for n, x in mechanism.parameters.items() if n in numbers}

    def values(parts: Sequence[Expr]) -> Array:
        return np.array(evaluate_all(list(parts), known), float)

    def point(at: Point) -> list[Expr]:
        return list(at.local.components(at.body.frame))

    first = [h if isinstance(h, FixedFrame) else h[0] for h in hanging]
    last = [h[1] for h in hanging if not isinstance(h, FixedFrame)]
    flat = [x for h in hanging if isinstance(h, FixedFrame) for r in h.rotation for x in r]
    spans = np.array([not isinstance(h, FixedFrame) for h in hanging], bool)
    turns = np.tile(np.eye(3), (len(hanging), 1, 1))
    turns[~spans] = values(flat).reshape(-1, 3, 3)
    places = [x for h in first for x in (h.position if isinstance(h, FixedFrame) else point(h))]
    inertias = [b.inertia for b in bodies]
    return Fixed(
        parents,
        tuple(np.flatnonzero(depth == k) for k in range(1, int(depth.max()) + 1)),
        values([i.mass for i in inertias]),
        values([x for i in inertias for x in i.center]).reshape(-1, 3),
        np.array([row[h.body] for h in first], np.intp),
        turns,
        values(places).reshape(-1, 3),
        spans,
        (
            np.array([row[p.body] for p in last], np.intp),
            values([x for p in last for x in point(p)]).reshape(-1, 3),
        ),
    )


def chained(fixed: Fixed, turns: Array, arms: Array) -> tuple[Array, Array]:
    """Return poses (times x nodes x 7) and mass centers (times x 3)."""
    count = max(1, _AT_ONCE // len(fixed.parents))
    parts = [
        _chained(fixed, turns[k : k + count], arms[k : k + count])
        for k in range(0, max(1, len(turns)), count)
    ]
    return np.concatenate([p for p, _ in parts]), np.concatenate([c for _, c in parts])


def _chained(fixed: Fixed, turns: Array, arms: Array) -> tuple[Array, Array]:
    times = len(turns)
    turn = np.empty((len(fixed.parents), times, 3, 3))
    turn[0] = np.eye(3)
    turn[1:] = np.moveaxis(turns.reshape(times, -1, 3, 3), 0, 1)
    place = np.zeros((len(fixed.parents), times, 3, 1))
    place[1:, ..., 0] = np.moveaxis(arms.reshape(times, -1, 3), 0, 1)
    for level in fixed.levels[1:]:
        above = fixed.parents[level]
        place[level] = turn[above] @ place[level] + place[above]
        turn[level] = turn[above] @ turn[level]
    mass = fixed.masses
    whole = float(mass.sum())
    centers = place[..., 0] + np.einsum("btij,bj->bti", turn, fixed.centers)
    center = np.einsum("b,bti->ti", mass / whole if whole else mass, centers)
    at, home = fixed.places[:, None, :, None], fixed.homes
    made = np.empty((times, len(home), 7))
    made[..., :3] = np.moveaxis((turn[home] @ at + place[home])[..., 0], 0, 1)
    q = quaternion_of(turn[home] @ fixed.turns[:, None])
    made[..., 3:] = np.moveaxis(np.where(q[..., :1] < 0, -q, q), 0, 1)
    if fixed.spans.any():
        body, local = fixed.ends
        ends = (turn[body] @ local[:, None, :, None] + place[body])[..., 0]
        made[:, fixed.spans, 3:] = _along(np.moveaxis(ends, 0, 1) - made[:, fixed.spans, :3])
    return made, center


def _along(arrows: Array) -> Array:
    """Return the shortest turns of z into directions; upside down it is a turn about x."""
    long = np.sqrt(np.maximum(np.sum(arrows**2, axis=-1, keepdims=True), 1e-18))
    x, y, z = np.moveaxis(arrows / long, -1, 0)
    w = 1 + z
    scale = 1 / np.sqrt(np.maximum(2 * w, 1e-9))
    made = np.stack([w * scale, -y * scale, x * scale, np.zeros_like(w)], axis=-1)
    return np.where((w > 1e-9)[..., None], made, [0.0, 1.0, 0.0, 0.0])
