"""What a sensor says it saw: a value with its covariance, its time and the frame it is given in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error, suggestion
from linkwright.base.reprs import brief
from linkwright.control.covariances import covariance_matrix
from linkwright.server.coordinator.motions import MotionModel
from linkwright.server.face import RefusedError

Array = NDArray[np.float64]
WORLD = "world"
"""The frame in which objects are given."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing that one sensor saw.

    Args:
        source: name of the sensor.
        time: on the cell's clock, ns, when it was so; not when it was reported.
        kind: "point" (x, y, z in m), "pose" (and a unit quaternion w, x, y, z) or "wrench" (force
            in N, moment in N m).
        value: its numbers, in `frame`.
        covariance: of the error of the value in the axes of `frame`, row by row; the error of an
            orientation is a rotation vector, so a pose has 6 by 6.
        frame: in which it is given.
        label: what was seen, where the sensor knows it, as with a marker or the frame of a
            conveyor; empty where it is to be found out.
        sequence: of the sensor's observations; distinguishes what it saw at one time.
        bound: s, by how much the time may be wrong.
        independent: whether its error is independent of other observations. An estimate that has
            been through a filter is not: it is fused by covariance intersection.

    >>> Observation("camera", 10, "point", (0.1, 0.2, 0.3), (1e-6,) * 3).frame
    'world'
    """

    source: str
    time: int
    kind: str
    value: tuple[float, ...]
    covariance: tuple[float, ...]
    frame: str = WORLD
    label: str = ""
    sequence: int = 0
    bound: float = 0.0
    independent: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Sighting:
    """An observation in the world, with matrices."""

    told: Observation  # as it came
    value: Array = field(repr=False)  # in the world
    covariance: Array = field(repr=False)  # in the world


def in_world(
    told: Observation, models: Mapping[str, MotionModel], frames: Mapping[str, Array]
) -> Sighting:
    """Return an observation in the world, or reject it by name.

    >>> from linkwright.server.coordinator.motions import PointMotion
    >>> seen = in_world(
    ...     Observation("camera", 10, "point", (0.1, 0.2, 0.3), (1e-6,) * 3, frame="table"),
    ...     {"point": PointMotion()},
    ...     {"table": np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0])},
    ... )
    >>> seen.value.tolist()
    [0.1, 0.2, 1.3]
    """
    who = f"observation {told.sequence} of {told.source!r}"
    model = models.get(told.kind)
    if model is None:
        raise RefusedError(
            "kind", f"{who} is of the kind {told.kind!r}", remedy=_near(told.kind, models)
        )
    value = np.asarray(told.value, dtype=float)
    if value.shape != (model.numbers,):
        raise RefusedError(
            "size", f"{who} has {value.size} numbers, and a {told.kind} has {model.numbers}"
        )
    if not (np.isfinite(value).all() and math.isfinite(told.bound) and told.bound >= 0):
        raise RefusedError("finite", f"{who} is not finite: {brief(told.value)}")
    if told.kind == "pose":
        length = math.sqrt(float(value[3:] @ value[3:]))
        if abs(length - 1) > 1e-6:
            raise RefusedError("quaternion", f"{who} has a quaternion of the length {length:g}")
        value[3:] /= length
    covariance = _covariance(told, who, model.freedom)
    if told.frame == WORLD:
        return Sighting(told, value, covariance)
    pose = frames.get(told.frame)
    if pose is None:
        raise RefusedError(
            "frame", f"{who} is given in {told.frame!r}", remedy=_near(told.frame, [*frames, WORLD])
        )
    return Sighting(told, *model.placed(value, covariance, pose))


def _covariance(told: Observation, who: str, freedom: int) -> Array:
    """Return a covariance that is positive, or reject it."""
    given = np.asarray(told.covariance, dtype=float).ravel()
    if given.size not in (freedom, freedom**2):
        raise RefusedError(
            "size",
            f"{who} has a covariance of {given.size} numbers",
            remedy=f"give {freedom} by {freedom}, or its diagonal of {freedom}",
        )
    try:
        found = covariance_matrix(
            given if given.size == freedom else given.reshape(freedom, freedom), freedom, "it"
        )
        np.linalg.cholesky(found)
    except (Error, np.linalg.LinAlgError):
        raise RefusedError(
            "covariance",
            f"{who} has a covariance that is not positive: {brief(told.covariance)}",
            remedy="a sensor without any error does not exist: give variances above 0",
        ) from None
    return found


def _near(name: str, known: Mapping[str, object] | list[str]) -> str:
    return suggestion(name, known, f"there is {', '.join(known)}")
