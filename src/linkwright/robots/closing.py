"""Poses of machines with closed loops, from their actuators or from where the platform shall be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra.units import Amount
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError, ShapeError
from linkwright.base.rotations import quaternion_matrix
from linkwright.equations.parallel_machine import parallel_machine

if TYPE_CHECKING:
    from linkwright.equations.batch_closing import ClosedPoses, Closing
    from linkwright.mechanism import ModelLike
    from linkwright.robots import Robot

Array = NDArray[np.float64]
_UNIT = 1e-6


@worded
def closed(
    source: ModelLike,
    known: Mapping[str, ArrayLike],  # m
    *,
    start: Mapping[str, float] | ArrayLike | None = None,
    unknown: Sequence[str] | None = None,
    values: Mapping[str, Amount] | None = None,
    follow: bool = False,
    threads: int = 1,
) -> ClosedPoses:
    """Return the coordinates of a machine for actuators, directions or poses, one or millions.

    >>> import linkwright as lw
    >>> m = lw.Mechanism("four_bar")
    >>> crank = m.body("crank", rotate="z")
    >>> rod = m.body("rod", parent=crank, at=(1, 0, 0), rotate="z")
    >>> c = m.constrain_distance(
    ...     m.point("pin", rod, (3, 0, 0)), m.point("pivot", at=(3, 0, 0)), 2
    ... )
    >>> m.actuate("crank")
    >>> p = m.set_platform("rod")
    >>> found = closed(m, {"crank": [0.5, 1.0]}, start={"crank": 0.5, "rod": 0.5})
    >>> found["rod"].round(6), found.closed
    (array([ 0.007153, -0.6127  ]), array([ True,  True]))
    """
    from linkwright.equations.batch_closing import ClosedPoses, Closing

    machine = parallel_machine(source)
    if not known:
        raise InputError("nothing is known", remedy='give {"actuators": [...]} or another mapping')
    x = known_rows(known, len(machine.actuators))
    closing = Closing(machine, tuple(known), unknown, values)
    first = _start(start, closing)
    if follow:
        return closing.follow(x, first, threads=threads)
    shape = x.shape[:-1]
    if first is not None and first.ndim > 1:
        first = first.reshape(-1, first.shape[-1])
    found = closing.close(x.reshape(-1, x.shape[-1]), first, threads=threads)
    return ClosedPoses(
        found.names,
        found.q.reshape(*shape, -1),
        found.residual.reshape(shape),
        found.status.reshape(shape),
        found.worst.reshape(shape),
        found.relations,
    )


def driven_names(robot: Robot) -> tuple[str, ...]:
    """Return the actuators in the order of speeds and efforts, which is not that of their names.

    The actuators stand in the order in which the model names them, speeds in that of the tree.
    """
    rates = robot.mechanism.kinematics().rates
    place = {name: k for k, name in enumerate(robot.speeds)}
    found = {q.name: place.get(rates[q].name, len(place)) for q in robot.mechanism.actuators}
    return tuple(sorted(found, key=found.__getitem__))


def known_rows(known: Mapping[str, ArrayLike], actuators: int) -> Array:
    """Return what is known as numbers along the last axis, the other axes made the same."""
    parts = [
        _part(name, np.asarray(value, dtype=float), actuators) for name, value in known.items()
    ]
    try:
        shape = np.broadcast_shapes(*(p.shape[:-1] for p in parts))
    except ValueError:
        shapes = ", ".join(f"{n} {p.shape[:-1]}" for n, p in zip(known, parts, strict=True))
        raise ShapeError(
            f"the leading axes of what is known do not fit: {shapes}",
            remedy="give arrays of the same leading axes",
        ) from None
    return np.concatenate([np.broadcast_to(p, (*shape, p.shape[-1])) for p in parts], axis=-1)


def _part(name: str, value: Array, actuators: int) -> Array:
    if not np.isfinite(value).all():
        raise InputError(f"{name!r} holds numbers that are not finite")
    if name == "rotation":
        return _columns(value)
    width = {"actuators": actuators, "position": 3, "direction": 3}.get(name)
    if width is None:
        return value[..., None]
    if value.ndim < 1 or value.shape[-1] != width:
        raise ShapeError(
            f"{name!r} has the shape {value.shape}",
            remedy=f"give {width} numbers along its last axis",
        )
    if name == "direction":
        size = np.linalg.norm(value, axis=-1, keepdims=True)
        if np.any(np.abs(size - 1.0) > _UNIT):
            raise InputError("a direction is not a unit vector", remedy="divide it by its length")
        value = value / size
    return value


def _columns(value: Array) -> Array:
    """Return the first two columns of rotation matrices or quaternions, one after the other."""
    if value.ndim >= 1 and value.shape[-1] == 4:
        size = np.linalg.norm(value, axis=-1, keepdims=True)
        if np.any(np.abs(size - 1.0) > _UNIT):
            raise InputError(
                "a quaternion does not have unit length", remedy="divide it by its length"
            )
        value = quaternion_matrix(value / size)
    if value.ndim < 2 or value.shape[-2:] != (3, 3):
        raise ShapeError(
            f"'rotation' has the shape {value.shape}",
            remedy="give 3 x 3 matrices, or quaternions of 4 numbers",
        )
    errors = np.abs(np.swapaxes(value, -1, -2) @ value - np.eye(3))
    if np.any(errors > _UNIT) or np.any(np.linalg.det(value) < 0):
        raise InputError("'rotation' is not a rotation matrix")
    return np.concatenate([value[..., :, 0], value[..., :, 1]], axis=-1)


def _start(start: Mapping[str, float] | ArrayLike | None, closing: Closing) -> Array | None:
    """Return the coordinates to start from."""
    if start is None:
        return None
    if not isinstance(start, Mapping):
        return np.asarray(start, dtype=float)
    return closing.assembled(start)
