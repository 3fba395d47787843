"""What one joint does over a task: the load that a drive has to carry.

Requirements produce it, sizing and reports read it. All values are SI.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwright.base.errors import InputError
from linkwright.base.results import Result

__all__ = ["JointCycle", "joint_axes"]

KINDS = ("revolute", "prismatic")


@dataclass(frozen=True, slots=True)
class JointCycle(Result):
    """Motion and load of one joint over a task that repeats.

    The sign of `torque` is that of inverse dynamics: what the drive does to the joint along
    positive motion, so torque times speed is the power that goes into the arm. Between samples
    values are taken to change linearly.

    Args:
        name: of the joint.
        kind: "revolute" (rad, N·m) or "prismatic" (m, N).
        times: of the samples, rising; in s. The cycle lasts from the first to the last.
        position: of the joint, in rad or m.
        speed: of the joint, in rad/s or m/s.
        acceleration: of the joint, in rad/s² or m/s².
        torque: of the drive, in N·m or N.
        force: that the inboard link puts on the outboard one through the joint, (n, 3), in N;
            the third component (z) is along the joint's axis, the other two across it, in the
            `joint_axes` of the outboard link. None where it is not known.
        moment: about the joint's origin, the same way, in N·m; z is what the drive carries.

    Example:
        >>> hold = JointCycle("elbow", "revolute", [0, 1], [0, 0], [0, 0], [0, 0], [2, 2])
        >>> hold.duration, hold.samples
        (1.0, 2)
    """

    name: str
    kind: str
    times: np.ndarray
    position: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    torque: np.ndarray
    force: np.ndarray | None = None
    moment: np.ndarray | None = None
    _units = (
        ("times", "s"),
        ("force", "N"),
        ("moment", "N*m"),
    )

    def __init__(
        self,
        name: str,
        kind: str,
        times: Sequence[float] | np.ndarray,
        position: Sequence[float] | np.ndarray,
        speed: Sequence[float] | np.ndarray,
        acceleration: Sequence[float] | np.ndarray,
        torque: Sequence[float] | np.ndarray,
        force: Sequence[Sequence[float]] | np.ndarray | None = None,
        moment: Sequence[Sequence[float]] | np.ndarray | None = None,
    ) -> None:
        if kind not in KINDS:
            raise InputError(
                f"joint {name!r} is of kind {kind!r}",
                remedy=f"sizing knows {' and '.join(KINDS)}",
                code="R301",
            )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "kind", kind)
        n = np.size(times)
        series = (times, position, speed, acceleration, torque)
        for field, given in zip(_SERIES, series, strict=True):
            object.__setattr__(self, field, _fixed(name, field, given, (n,)))
        for field, wrench in (("force", force), ("moment", moment)):
            value = None if wrench is None else _fixed(name, field, wrench, (n, 3))
            object.__setattr__(self, field, value)
        if n < 2 or not (np.diff(self.times) > 0).all():
            raise InputError(
                f"the times of joint {name!r} do not rise, or are fewer than two",
                remedy="give at least two samples, in the order of time",
                code="R301",
            )

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return len(self.times)

    @property
    def duration(self) -> float:
        """From the first sample to the last, in s."""
        return float(self.times[-1] - self.times[0])

    @property
    def power(self) -> np.ndarray:
        """What goes into the arm at each sample, in W."""
        return np.asarray(self.torque * self.speed)


def joint_axes(axis: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the joint's axes in the outboard link's frame, as columns x, y, z of a rotation.

    z is the joint's axis; x is as near as can be to the first axis of the link that is farthest
    from it.

    Example:
        >>> joint_axes([0, 0, 2])
        array([[1., 0., 0.],
               [0., 1., 0.],
               [0., 0., 1.]])
    """
    z = np.array(axis, dtype=float)
    z /= np.linalg.norm(z)
    near = np.round(np.abs(z), 9)  # rounding shall not choose among equals
    x = np.eye(3)[int(np.argmin(near))]
    x = x - (x @ z) * z
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


_SERIES = ("times", "position", "speed", "acceleration", "torque")


def _fixed(name: str, field: str, given: object, shape: tuple[int, ...]) -> np.ndarray:
    """The values as an array that nobody writes to."""
    value = np.array(given, dtype=float)
    if value.shape != shape or not np.isfinite(value).all():
        wrong = (
            f"shape {value.shape}, not {shape}" if value.shape != shape else "a value not finite"
        )
        raise InputError(
            f"{field} of joint {name!r} has {wrong}",
            remedy="give one finite value for each time",
            code="R301",
        )
    value.setflags(write=False)
    return value
