"""Whether the tool of an arm can come to a pose: looked at before the arm moves.

The joints are followed along the straight line to the pose, as the motion will do. Where they come
to the end, they have to be within their limits there. Where they do not, the pose is rejected if no
joints at all are found for it; else the motion itself decides, and stops where it cannot go on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from linkwright.base.rotations import exponential, logarithm, quaternion_matrix, quaternion_of
from linkwright.server.cell import CellArm
from linkwright.server.face import RefusedError

Array = NDArray[np.float64]

_POINTS = 32  # of a line
_STEPS = 8  # of Newton's method at each
_NEAR = 1e-7  # m and rad from a point of the line
_LONGEST = 0.5  # rad or m, of a step
_WITHIN = 1e-4  # m and rad from a goal that is reached
_ATTEMPTS = 20


def pose_matrix(pose: Sequence[float]) -> Array:
    """Return the matrix of a pose: x, y, z and a unit quaternion w, x, y, z.

    >>> pose_matrix((1, 2, 3, 1, 0, 0, 0))[:3, 3].tolist()
    [1.0, 2.0, 3.0]
    """
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = quaternion_matrix(pose[3:]), pose[:3]
    return found


class ArmReach:
    """Where the tool of an arm can go.

    >>> from linkwright.server.cell_file import read_cell
    >>> arm = read_cell("cell1").arms[0]
    >>> ArmReach(arm).to(arm.start, pose_matrix((5, 5, 5, 1, 0, 0, 0)))
    Traceback (most recent call last):
    linkwright.server.face.RefusedError: the tool of 'puma' cannot come to x = 5, y = 5, z = 5 m; it
    comes within 7.64 m of it
    """

    def __init__(self, arm: CellArm) -> None:
        from linkwright.robots import Robot

        self._arm = arm
        self._robot = Robot(arm.mechanism.with_parameters(dict(arm.values)))
        pose, _ = self._at(np.array(arm.start))  # whatever is compiled is so from here on
        for goal in (pose, pose[:3, 3]):
            self._robot.inverse_kinematics(goal, arm.tool, arm.start, attempts=1)

    def _at(self, q: Array) -> tuple[Array, Array]:
        pose = np.asarray(self._robot.pose(q, self._arm.tool))
        jacobian = self._robot.jacobian(q, self._arm.tool, reference="local-world-aligned")
        return pose, np.asarray(jacobian)

    def pose(self, q: Sequence[float]) -> Array:
        """Return the pose of the tool, a 4 x 4 matrix."""
        return self._at(np.array(q, float))[0]

    def to(self, start: Sequence[float] | None, goal: Array) -> tuple[float, ...] | None:
        """Return the joints with which the tool is at a pose, or None where that is not known."""
        arm = self._arm
        end = None if start is None else self._along(np.array(start, float), goal)
        if end is None:
            self._refuse_far(start, goal)
            return None
        for axis, x in zip(arm.axes, end, strict=True):
            beyond = max(axis.low - x, x - axis.high)
            if beyond > axis.slack:
                raise RefusedError(
                    "reach",
                    f"{axis.joint} of {arm.name!r} would be at {x:.4g} {axis.unit} there, "
                    f"{beyond:.4g} {axis.unit} beyond its range from {axis.low:.4g} to "
                    f"{axis.high:.4g}",
                    remedy="go there by joints(), which may come to it with others",
                )
        return tuple(map(float, end))

    def _along(self, q: Array, goal: Array) -> Array | None:
        """Return the joints at the end of the straight line to a pose; None where they stick."""
        begin, _ = self._at(q)
        turn = _vector(goal[:3, :3] @ begin[:3, :3].T)
        for k in range(1, _POINTS + 1):
            share = k / _POINTS
            aim = begin[:3, 3] + share * (goal[:3, 3] - begin[:3, 3])
            wanted = quaternion_matrix(exponential(share * turn)) @ begin[:3, :3]
            for _ in range(_STEPS):
                pose, jacobian = self._at(q)
                error = np.concatenate([aim - pose[:3, 3], _vector(wanted @ pose[:3, :3].T)])
                if np.abs(error).max() < _NEAR:
                    break
                step = np.linalg.lstsq(jacobian, error, rcond=1e-6)[0]
                if np.abs(step).max() > _LONGEST:
                    return None
                q = q + step
            else:
                return None
        return q

    def _refuse_far(self, start: Sequence[float] | None, goal: Array) -> None:
        arm = self._arm
        begin = np.array(arm.start if start is None else start, float)
        found = self._robot.inverse_kinematics(goal, arm.tool, begin, attempts=_ATTEMPTS)
        if float(found.error) < _WITHIN and float(found.rotation_error) < _WITHIN:
            return
        near = self._robot.inverse_kinematics(goal[:3, 3], arm.tool, begin, attempts=_ATTEMPTS)
        x, y, z = goal[:3, 3]
        what = f"the tool of {arm.name!r} cannot come to x = {x:.4g}, y = {y:.4g}, z = {z:.4g} m"
        if float(near.error) < _WITHIN:
            angle = float(np.degrees(found.rotation_error))
            raise RefusedError(
                "reach", f"{what} with this orientation; it comes within {angle:.3g} degrees of it"
            )
        ends = []
        for axis, q in zip(arm.axes, np.atleast_1d(near.q), strict=True):
            if min(abs(q - axis.low), abs(q - axis.high)) < 1e-3:
                ends.append(axis.joint)
        at = f", with {', '.join(ends)} at the end of its range" if ends else ""
        raise RefusedError("reach", f"{what}; it comes within {float(near.error):.3g} m of it{at}")


def _vector(turn: Array) -> Array:
    """Return a rotation as a vector: its axis times its angle."""
    return logarithm(quaternion_of(turn))
