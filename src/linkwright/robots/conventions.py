"""Coordinates, speeds and forces in the conventions of Pinocchio and MuJoCo.

What differs from ours (`linkwright.robots.robot`):

- Pinocchio: the scalar part of a quaternion comes last; a joint that its reader takes for unbounded
  has cosine and sine of its angle as coordinates, and so has the angle of a planar joint, whose
  speeds are along the child's axes. Speeds and forces of a free base are as ours.
- MuJoCo: the linear speeds, accelerations and forces of a free base are along the world's axes;
  its angular ones are along the body's, as ours, and so is the order of its quaternion.

Joints are matched by name where a model is given; a joint that follows another has a place of its
own in such a model, and gets the coordinates and speeds that it must have. Without a model the
joints are in our order. Every function takes one vector or leading axes in front of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import InputError
from linkwright.base.reprs import brief
from linkwright.base.rotations import quaternion_matrix
from linkwright.equations.tree import Tree
from linkwright.formats.robot.to_mechanism import Assembled
from linkwright.mechanism.joint_kinds import JOINTS

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a joint's numbers are among ours, and among theirs."""

    kind: str  # of the joint
    q: int  # place of its first coordinate among ours; of its leader's, where it follows one
    u: int  # the same of its speeds
    their_q: int  # place of its first coordinate among theirs
    their_u: int  # the same of its speeds
    size_q: int  # how many coordinates they have for it
    size_u: int  # how many speeds
    factor: float = 1.0  # of the leader's coordinate; 1 for itself
    offset: float = 0.0  # what is added to that
    leads: bool = True  # whether it follows no other


Find: TypeAlias = Callable[[str, str], "tuple[int, int, int, int] | None"]


def slots(
    assembled: Assembled, tree: Tree, their: Find | None = None, *, angles_as_pairs: bool = False
) -> tuple[Slot, ...]:
    """Return where the numbers of each joint are."""
    if tree.reduction is not None and len(assembled.mechanism.constraints) != len(
        [joint for joint in assembled.joints if joint.follows is not None]
    ):
        raise InputError(
            "the speeds of a robot with closed loops are not those of its joints",
            remedy="convert those of the tree, without closures",
        )
    q_of = {x: k for k, x in enumerate(tree.coordinates)}
    kinematics = tree.kinematics
    u_of = {u: k for k, u in enumerate(tree.speeds)}
    first_speed = {
        x: kinematics.motions[joint.bodies[0]].speeds[0].symbol
        for joint in assembled.joints
        for x in joint.coordinates[:1]
    }
    made: list[Slot] = []
    at_q = at_u = 0
    for joint in assembled.joints:
        lead, factor, offset = joint.follows or (joint.coordinates[0], 1.0, 0.0)
        size_q, size_u = _sizes(joint.kind)
        speed = first_speed[lead]
        if their is None:
            pair = int(angles_as_pairs and joint.kind == "planar")
            places: tuple[int, int, int, int] | None = (at_q, at_u, size_q + pair, size_u)
        else:
            places = their(joint.name, joint.kind)
        if joint.kind in ("planar", "free") and not kinematics.motions[joint.body].absolute:
            raise InputError(
                f"the speeds of the {joint.kind} joint {joint.name!r} are along its parent's axes, "
                "as it does not hang on the ground; others have them along the child's"
            )
        if places is not None:
            made.append(
                Slot(
                    joint.kind,
                    q_of[lead],
                    u_of[speed],
                    *places,
                    factor,
                    offset,
                    joint.follows is None,
                )
            )
        if joint.follows is None and places is not None:
            at_q, at_u = at_q + places[2], at_u + size_u
    return tuple(s for s in made if their is not None or s.leads)


def pinocchio_places(model: Any) -> Find:
    """Return the function that finds a joint in a model of Pinocchio."""
    _require(model, "pinocchio.Model", "njoints", "nq", "nv")

    def find(name: str, kind: str) -> tuple[int, int, int, int] | None:
        found = [k for k in range(1, model.njoints) if model.names[k] == name]
        if not found and kind == "free":
            found = [k for k in range(1, model.njoints) if model.joints[k].nv == 6]
        if not found:
            return None
        joint = model.joints[found[0]]
        return joint.idx_q, joint.idx_v, joint.nq, joint.nv

    return find


def mujoco_places(model: Any) -> Find:
    """Return the function that finds a joint in a model of MuJoCo."""
    _require(model, "mujoco.MjModel", "njnt", "nq", "nv")
    sizes = ((7, 6), (4, 3), (1, 1), (1, 1))

    def find(name: str, kind: str) -> tuple[int, int, int, int] | None:
        found = [k for k in range(model.njnt) if model.joint(k).name == name]
        if not found and kind == "free":
            found = [k for k in range(model.njnt) if model.jnt_type[k] == 0]
        if not found:
            return None
        k = found[0]
        return int(model.jnt_qposadr[k]), int(model.jnt_dofadr[k]), *sizes[model.jnt_type[k]]

    return find


# -- Pinocchio -------------------------------------------------------------------------------------
def to_pinocchio(
    layout: Sequence[Slot],
    q: Any,
    u: Any = None,
    a: Any = None,
    tau: Any = None,
    size: tuple[int, int] | None = None,
) -> tuple[Array, ...]:
    """Return what is given in Pinocchio's conventions."""
    ours = _array(q)
    count_q, count_u = size or _extent(layout)
    found = np.zeros((*ours.shape[:-1], count_q))
    for s in layout:
        mine = ours[..., s.q : s.q + _sizes(s.kind)[0]]
        into = found[..., s.their_q : s.their_q + s.size_q]
        if s.kind in ("free", "ball"):
            into[..., :-4] = mine[..., :-4]
            into[..., -4:] = np.roll(mine[..., -4:], -1, axis=-1)
        elif s.kind == "planar":
            into[..., :2] = mine[..., :2]
            into[..., 2], into[..., 3] = np.cos(mine[..., 2]), np.sin(mine[..., 2])
        elif s.size_q == 2 and s.size_u == 1:
            angle = s.factor * mine[..., 0] + s.offset
            into[..., 0], into[..., 1] = np.cos(angle), np.sin(angle)
        else:
            into[...] = s.factor * mine + s.offset
    results = [found]
    for vector, is_force in ((u, False), (a, False), (tau, True)):
        if vector is not None:
            results.append(_rates(layout, ours, _array(vector), count_u, is_force))
    return tuple(results)


def _rates(layout: Sequence[Slot], q: Array, given: Array, count: int, is_force: bool) -> Array:
    made = np.zeros((*np.broadcast_shapes(q.shape[:-1], given.shape[:-1]), count))
    for s in layout:
        if is_force and not s.leads:
            continue
        mine = given[..., s.u : s.u + s.size_u]
        factor = 1.0 if is_force else s.factor
        made[..., s.their_u : s.their_u + s.size_u] = factor * mine
    return made


def from_pinocchio(
    layout: Sequence[Slot], q: Any, u: Any = None, a: Any = None, tau: Any = None
) -> tuple[Array, ...]:
    """Return in our conventions what is given in Pinocchio's; the inverse of `to_pinocchio`."""
    theirs = _array(q)
    own = [s for s in layout if s.leads]
    found = np.zeros((*theirs.shape[:-1], _own_sizes(own)[0]))
    for s in own:
        size = _sizes(s.kind)[0]
        their = theirs[..., s.their_q : s.their_q + s.size_q]
        into = found[..., s.q : s.q + size]
        if s.kind in ("free", "ball"):
            into[..., :-4] = their[..., :-4]
            into[..., -4:] = np.roll(their[..., -4:], 1, axis=-1)
        elif s.kind == "planar":
            into[..., :2] = their[..., :2]
            into[..., 2] = np.arctan2(their[..., 3], their[..., 2])
        elif s.size_q == 2 and s.size_u == 1:
            into[..., 0] = np.arctan2(their[..., 1], their[..., 0])
        else:
            into[...] = their
    results = [found]
    for vector in (u, a, tau):
        if vector is not None:
            results.append(_own_rates(own, _array(vector)))
    return tuple(results)


def _own_rates(layout: Sequence[Slot], given: Array) -> Array:
    made = np.zeros((*given.shape[:-1], _own_sizes(layout)[1]))
    for s in layout:
        made[..., s.u : s.u + s.size_u] = given[..., s.their_u : s.their_u + s.size_u]
    return made


# -- MuJoCo ----------------------------------------------------------------------------------------
def to_mujoco(
    layout: Sequence[Slot],
    q: Any,
    u: Any = None,
    a: Any = None,
    tau: Any = None,
    size: tuple[int, int] | None = None,
) -> tuple[Array, ...]:
    """Return what is given in MuJoCo's conventions."""
    ours = _array(q)
    count_q, count_u = size or _extent(layout)
    found = np.zeros((*ours.shape[:-1], count_q))
    for s in layout:
        found[..., s.their_q : s.their_q + s.size_q] = (
            s.factor * ours[..., s.q : s.q + s.size_q] + s.offset
        )
    results = [found]
    speeds = None if u is None else _array(u)
    for vector, kind in ((u, "u"), (a, "a"), (tau, "tau")):
        if vector is None:
            continue
        given = _array(vector)
        made = _rates(layout, ours, given, count_u, kind == "tau")
        for s in layout:
            if s.kind == "free":
                linear = given[..., s.u : s.u + 3]
                if kind == "a":
                    linear = linear + _transport(speeds, s.u)
                rotation = quaternion_matrix(ours[..., s.q + 3 : s.q + 7])
                made[..., s.their_u : s.their_u + 3] = _applied(rotation, linear)
        results.append(made)
    return tuple(results)


def from_mujoco(
    layout: Sequence[Slot], q: Any, u: Any = None, a: Any = None, tau: Any = None
) -> tuple[Array, ...]:
    """Return in our conventions what is given in MuJoCo's; the inverse of `to_mujoco`."""
    theirs = _array(q)
    own = [s for s in layout if s.leads]
    found = np.zeros((*theirs.shape[:-1], _own_sizes(own)[0]))
    for s in own:
        found[..., s.q : s.q + s.size_q] = theirs[..., s.their_q : s.their_q + s.size_q]
    results = [found]
    speeds: Array | None = None
    for vector, kind in ((u, "u"), (a, "a"), (tau, "tau")):
        if vector is None:
            continue
        made = _own_rates(own, _array(vector))
        for s in own:
            if s.kind == "free":
                back = np.swapaxes(quaternion_matrix(found[..., s.q + 3 : s.q + 7]), -1, -2)
                linear = _applied(back, made[..., s.u : s.u + 3])
                if kind == "a":
                    linear = linear - _transport(speeds, s.u)
                made[..., s.u : s.u + 3] = linear
        if kind == "u":
            speeds = made
        results.append(made)
    return tuple(results)


def _transport(speeds: Array | None, at: int) -> Array:
    """Return omega x v of a free body."""
    if speeds is None:
        raise InputError("the accelerations of a free base need its speeds too", remedy="give u")
    v, omega = speeds[..., at : at + 3], speeds[..., at + 3 : at + 6]
    return np.asarray(np.cross(omega, v), np.float64)


# -- arrays ----------------------------------------------------------------------------------------
def _array(x: Any) -> Array:
    try:
        found = np.asarray(x, np.float64)
    except (TypeError, ValueError):
        found = np.zeros(())
    if found.ndim == 0:
        raise InputError(f"{brief(x)} is not a vector of numbers", remedy="give one for each joint")
    return found


def _require(model: Any, library: str, *wanted: str) -> None:
    if not all(hasattr(model, name) for name in wanted):
        raise InputError(f"model is {brief(model)}, which is not a {library}")


def _extent(layout: Sequence[Slot]) -> tuple[int, int]:
    return (
        max((s.their_q + s.size_q for s in layout), default=0),
        max((s.their_u + s.size_u for s in layout), default=0),
    )


def _sizes(kind: str) -> tuple[int, int]:
    return JOINTS[kind].sizes if kind else (1, 1)


def _own_sizes(layout: Sequence[Slot]) -> tuple[int, int]:
    return (
        max((s.q + _sizes(s.kind)[0] for s in layout), default=0),
        max((s.u + _sizes(s.kind)[1] for s in layout), default=0),
    )


def _applied(rotation: Array, v: Array) -> Array:
    return np.asarray(np.einsum("...ij,...j->...i", rotation, v), np.float64)
