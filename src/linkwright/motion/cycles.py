"""Cycles that robots are compared by: pick and place, and the test cube of ISO 9283.

- `pick`: up, across and down, then back the same way; 25, 305 and 25 mm is what makers of SCARA and
  delta robots quote as the standard cycle (1, 12 and 1 inches).
- `cube_poses` and `cube_path`: ISO 9283:1998, section 6.8.4, puts five poses P1 to P5 on a diagonal
  plane of a cube in the work space: P1 in its center, P2 to P5 at 10 % of the diagonal from four
  corners. Paths of its tests are lines between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.arguments import worded
from linkwright.motion.payloads import Payload
from linkwright.motion.task_parts import Dwell, Part, ToolLine
from linkwright.motion.tasks import Task
from linkwright.motion.trajectory import MotionError

Array = NDArray[np.float64]
PLANES = {
    "C1-C2-C7-C8": ((1, 1, 1), (-1, 1, 1), (-1, -1, -1), (1, -1, -1)),
    "C2-C3-C8-C5": ((-1, 1, 1), (-1, -1, 1), (1, -1, -1), (1, 1, -1)),
    "C3-C4-C5-C6": ((-1, -1, 1), (1, -1, 1), (1, 1, -1), (-1, 1, -1)),
    "C4-C1-C6-C7": ((1, -1, 1), (1, 1, 1), (-1, 1, -1), (-1, -1, -1)),
}
"""The four diagonal planes of the cube, by the corners that P2 to P5 are near to."""


@worded
def pick(
    up: float = 0.025,  # m
    across: float = 0.305,  # m; below zero for the other way along the axis
    down: float = 0.025,  # m
    *,
    duration: float = 1.0,  # s
    along: str = "x",
    law: str = "quintic",
    dwell: float = 0.0,  # s, before each way, for the gripper
    payload: Payload | float | None = None,  # kg
    start: dict[str, float] | None = None,
    frame: str = "tool",
    free: Sequence[str] = (),
) -> Task:
    """Return a pick-and-place cycle: up, across, down, and back the same way.

    Example:
        >>> cycle = pick(0.025, 0.305, 0.025)
        >>> cycle.duration, len(cycle.parts)
        (1.0, 6)
    """
    if along not in ("x", "y"):
        raise MotionError(f"a pick goes along x or y, not {along!r}", code="R202")
    ways = [("z", up), (along, across), ("z", -down), ("z", down), (along, -across), ("z", -up)]
    moving = duration - 2 * dwell
    wrong = any(not math.isfinite(d) or d == 0 for _, d in ways) or min(up, down) < 0
    if not moving > 0 or dwell < 0 or wrong:
        raise MotionError(
            "a pick goes up, across and down by some length, and takes more time than its dwells",
            remedy="give up and down above zero",
            code="R202",
        )
    shares = np.sqrt([abs(d) for _, d in ways])
    times = moving * shares / shares.sum()
    parts: list[Part] = []
    for k, ((axis, by), time) in enumerate(zip(ways, times, strict=True)):
        if dwell and k in (0, 3):
            parts.append(Dwell(dwell))
        parts.append(ToolLine({axis: by}, float(time), law=law, free=tuple(free)))
    carried: list[tuple[float, Payload | float]] = []
    if payload is not None:
        there = float(times[:3].sum()) + dwell * (2 if dwell else 0)
        carried = [(dwell, payload), (there, 0.0)]
    return Task(parts, start, frame, payloads=carried, name="pick")


@worded
def cube_poses(center: ArrayLike, edge: float, plane: str = "C1-C2-C7-C8") -> Array:
    """Return the places P1 to P5 of ISO 9283's test cube, m.

    Example:
    Units: `center` in m, `edge` in m.

        >>> cube_poses((0.5, 0.0, 0.4), 0.25).round(3).tolist()[1]
        [0.6, 0.1, 0.5]
    """
    middle = np.asarray(center, dtype=float)
    if plane not in PLANES or middle.shape != (3,) or not 0 < edge < math.inf:
        raise MotionError(
            "a test cube has a center of three numbers, an edge above zero and a plane",
            remedy=f"planes are {', '.join(PLANES)}",
            code="R202",
        )
    corners = np.array(PLANES[plane], dtype=float)
    return np.concatenate([middle[None], middle + 0.5 * edge * corners * 0.8])


@worded
def cube_path(
    edge: float,  # of the cube, m; its center is where the tool is at the beginning
    *,
    speed: float = 0.25,  # mean speed on each line, m/s
    plane: str = "C1-C2-C7-C8",
    start: dict[str, float] | None = None,
    frame: str = "tool",
    law: str = "trapezoid",
    free: Sequence[str] = (),
) -> Task:
    """Return the way through the poses of ISO 9283: P1 to P5 and back to P1, in straight lines.

    Example:
        >>> len(cube_path(0.25).parts)
        5
    """
    if not 0 < speed < math.inf:
        raise MotionError(f"a speed of {speed} m/s is not above zero", code="R202")
    places = cube_poses((0.0, 0.0, 0.0), edge, plane)
    parts: list[Part] = []
    for here, there in zip(places, np.roll(places, -1, axis=0), strict=True):
        way = there - here
        by = {x: float(d) for x, d in zip("xyz", way, strict=True) if d}
        time = float(np.linalg.norm(way)) / speed
        parts.append(ToolLine(by, time, law=law, free=tuple(free)))
    return Task(parts, start, frame, name="test cube")
