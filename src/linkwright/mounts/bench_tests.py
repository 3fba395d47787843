"""An experiment with a mount at rest: drives held, one moved from place to place, torques measured.

A spring balance at a lever holds the arm (the antenna-mount thesis, sections 6.6 and 6.10). What
it reads is compared with the model, within the worst case of its errors: those of the balance, of
the lever, of the angle between both, and of the angle of the arm, which counts by the slope of the
torque.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import DomainError, InputError, unknown
from linkwright.base.optional import extra
from linkwright.base.reprs import one_line
from linkwright.base.results import Result, unit_key
from linkwright.parallel.error_budgets import ErrorBudget, ErrorSource
from linkwright.recording.colors import TRACES
from linkwright.recording.document import typeset
from linkwright.recording.plots import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from linkwright.robots import Robot

__all__ = ["BalanceErrors", "BenchTest", "bench_test"]

Array = NDArray[np.float64]
_WAY = 12  # poses on the way from where the model stands
_SMALL = 1e-4  # of the actuator, for the slope of the torque


@one_line
@dataclass(frozen=True, slots=True)
class BalanceErrors:
    """What a spring balance at a lever may be off by; those of the thesis by default.

    Args:
        force: of the balance, N.
        lever: how long it is, m.
        lever_error: of its length, m.
        angle: between balance and lever, from a right angle, rad.
        arm: of the angle of the arm, rad.

    >>> round(BalanceErrors().worst(0.0, 0.0), 2)
    24.75
    """

    force: float = 3.0 * 9.81
    lever: float = 0.841
    lever_error: float = 0.02
    angle: float = math.radians(3.0)
    arm: float = math.radians(3.0)

    def worst(self, torque: float, slope: float) -> float:
        """Return by how much a torque may be off, N*m.

        Args:
            torque: N*m.
            slope: of the torque by the angle of the arm, N*m/rad.
        """
        held = abs(torque)
        sources = (
            ErrorSource("balance", self.force, [self.lever]),
            ErrorSource("lever", self.lever_error, [held / self.lever]),
            ErrorSource("angle of the balance", 1.0 - math.cos(self.angle), [held]),
            ErrorSource("angle of the arm", self.arm, [slope]),
        )
        return float(ErrorBudget(sources, ("torque",)).worst[0])


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class BenchTest(Result):
    """Efforts of a moved actuator, modeled, with what a measurement may be off by.

    Args:
        mount: its name.
        moved: the actuator.
        unit: of its effort.
        angles: of the actuator, rad or m.
        efforts: that hold it, as the drive has to give them.
        errors: what a measurement there may be off by.
        measured: what was measured, as pairs of angle and effort.

    >>> none = np.zeros((0, 2))
    >>> BenchTest("m", "arm", "N*m", np.zeros(1), np.ones(1), np.ones(1), none).outside
    0
    """

    mount: str
    moved: str
    unit: str
    angles: Array = field(repr=False)
    efforts: Array = field(repr=False)
    errors: Array = field(repr=False)
    measured: Array = field(repr=False)

    @property
    def outside(self) -> int:
        """How many measured efforts differ from the model by more than the errors."""
        if not len(self.measured):
            return 0
        at, found = self.measured.T
        off = np.abs(found - np.interp(at, self.angles, self.efforts))
        return int((off > np.interp(at, self.angles, self.errors)).sum())

    def rows(self) -> list[tuple[float, float, float]]:
        """Return place (deg or m), effort and error, as rows."""
        scale = math.degrees(1.0) if self.unit == "N*m" else 1.0
        return [
            (scale * float(a), float(e), float(w))
            for a, e, w in zip(self.angles, self.efforts, self.errors, strict=True)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data: places in rad or m, efforts in their unit."""
        place = "rad" if self.unit == "N*m" else "m"
        return {
            "mount": self.mount,
            "moved": self.moved,
            "unit": self.unit,
            unit_key("places", place): self.angles.tolist(),
            unit_key("efforts", self.unit): self.efforts.tolist(),
            unit_key("errors", self.unit): self.errors.tolist(),
            "measured": self.measured.tolist(),
            "outside": self.outside,
        }

    def plot(self) -> Figure:
        """Return a picture: the model with its errors, and the points."""
        turns = self.unit == "N*m"
        scale = math.degrees(1.0) if turns else 1.0
        with styled():
            figure = extra("matplotlib.figure", "plot").Figure
            made: Figure = figure((6.4, 4.0), layout="constrained")
            ax = made.add_subplot()
            x, color = scale * self.angles, TRACES["light"][0]
            ax.errorbar(x, self.efforts, yerr=self.errors, color=color, capsize=3, label="model")
            if len(self.measured):
                at, found = self.measured.T
                ax.plot(scale * at, found, "o", color=TRACES["light"][1], label="measured")
            ax.set_xlabel(f"{self.moved} - {'deg' if turns else 'm'}")
            ax.set_ylabel(typeset(self.unit))
            ax.set_title(self.mount, loc="left")
            ax.legend()
        return made


@worded
def bench_test(
    model: Robot | str,
    held: Mapping[str, float],
    moved: str,
    places: ArrayLike,
    *,
    errors: BalanceErrors | None = None,
    measured: Sequence[tuple[float, float]] | ArrayLike = (),
    parameters: Mapping[str, float] | None = None,
) -> BenchTest:
    """Return what holds one actuator of a mount at places while others are held.

    Args:
        model: a mount with actuators, or the name of a shipped one.
        held: where the other actuators are, rad or m, by name.
        moved: the actuator that goes from place to place.
        places: of it, rad or m, rising or falling.
        errors: of the measurement; those of the thesis by default.
        measured: pairs of place (rad or m) and effort.
        parameters: of parameters, over the mount's own.

    >>> found = bench_test("mount-x-y", {"x_axis": 0.0}, "y_axis", [0.5, 1.0])
    >>> [round(float(e), 2) for e in found.efforts], found.outside
    ([-117.58, -206.37], 0)
    """
    from linkwright.robots import Robot, closed
    from linkwright.robots.closing import driven_names

    robot = model if isinstance(model, Robot) else Robot(model)
    if parameters:
        robot = Robot(robot.mechanism.with_parameters(parameters))
    m, names = robot.mechanism, tuple(robot.actuators)
    for name in (moved, *held):
        if name not in names:
            raise unknown("actuator", name, names, owner=repr(m.name))
    missing = [n for n in names if n != moved and n not in held]
    if missing or moved in held:
        words = f"{missing[0]!r} is neither held nor moved" if missing else f"{moved!r} is both"
        raise InputError(words, remedy="hold every actuator but the one that moves")
    x = np.atleast_1d(np.asarray(places, dtype=float))
    if not x.size or not np.isfinite(x).all():
        raise InputError("the moved actuator has no places", remedy="give finite numbers")
    rows = np.array([[p if n == moved else held[n] for n in names] for p in x], dtype=float)
    own = np.asarray(robot.neutral if not robot.loops else _started(robot), dtype=float)
    first = own[[robot.coordinates.index(n) for n in names]]
    way = first + np.linspace(0.0, 1.0, _WAY)[:, None] * (rows[0] - first)
    near = np.repeat(rows, 2, axis=0)
    near[:, names.index(moved)] += np.tile([-_SMALL, _SMALL], len(x))
    beside = np.stack([near[0::2], rows, near[1::2]], axis=1).reshape(-1, len(names))
    path = np.concatenate([way, beside])
    poses = closed(robot, {"actuators": path}, start=own, follow=True)
    if not poses.closed.all():
        bad = int(np.flatnonzero(~poses.closed)[0])
        raise DomainError(
            f"{m.name!r} does not come to {moved} = {path[bad, names.index(moved)]:.4g}: "
            f"{poses.words(bad)}",
            remedy="hold the others elsewhere, or take fewer places",
        )
    found = np.asarray(robot.gravity(poses.q))[_WAY:, driven_names(robot).index(moved)].reshape(
        -1, 3
    )
    slopes = (found[:, 2] - found[:, 0]) / (2 * _SMALL)
    off = errors or BalanceErrors()
    worst = [off.worst(e, s) for e, s in zip(found[:, 1], slopes, strict=True)]
    unit = "N*m" if m.units[moved] == "rad" else "N"
    points = np.asarray(measured, dtype=float).reshape(-1, 2)
    return BenchTest(m.name, moved, unit, x, found[:, 1], np.array(worst), points)


def _started(robot: Robot) -> Array:
    from linkwright.equations.closure import assemble

    at = assemble(robot.mechanism).coordinates
    return np.array([at[name] for name in robot.coordinates])
