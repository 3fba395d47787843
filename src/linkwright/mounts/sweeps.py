"""A sweep around the horizon: what actuators must hold, with and without counterweights.

The dish goes once around at one elevation, slowly, so that only weights count (the antenna-mount
thesis, section 10.2). Counterweights hang below the hinges of the lower arms, below the foot of the
strut, or both; their moments are those that make the greatest effort least, found exactly
(`linkwright.parallel.counterbalance`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import DomainError, InputError
from linkwright.base.reprs import one_line
from linkwright.base.results import Result, in_columns
from linkwright.mounts.spare_freedoms import plan_spare
from linkwright.parallel.counterweights import Counterbalance, Counterweight, balances

if TYPE_CHECKING:
    from linkwright.robots import Robot

__all__ = ["HorizonSweep", "horizon_sweep", "sweep_report"]

Array = NDArray[np.float64]
_ARMS = ("arm1", "arm2", "arm3")
_DOWN = (0.0, 0.0, -1.0)
_STEPS = 144  # around the horizon


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class HorizonSweep(Result):
    """What actuators hold while the dish goes around.

    Args:
        mount: its name.
        unit: of the efforts, "N*m" or "N".
        azimuths: from x to y, deg.
        directions: where the dish points, one row each.
        q: coordinates, one row each.
        efforts: of the actuators without counterweights, one row each.
        balances: by what carries weights: "arms", "strut", "arms and strut".
        actuators: their names.

    >>> sweep = HorizonSweep("m", "N", np.zeros(1), np.eye(3), np.zeros(1), -np.ones(1), {})
    >>> sweep.peak
    1.0
    """

    mount: str
    unit: str
    azimuths: Array = field(repr=False)
    directions: Array = field(repr=False)
    q: Array = field(repr=False)
    efforts: Array = field(repr=False)
    balances: dict[str, Counterbalance]
    actuators: tuple[str, ...] = ()
    _units = (("azimuths", "deg"),)

    def held(self, kind: str = "none") -> Array:
        """Return the efforts with a kind of weights, one row for each azimuth.

        Args:
            kind: "none", or one of `balances`.
        """
        found = self.efforts if kind == "none" else self.balances[kind].efforts
        return np.asarray(found).reshape(len(self.azimuths), -1)

    def rows(self) -> list[tuple[str, str, float, str, float, str]]:
        """Return mount, weights, azimuth (deg, from x to y), actuator, effort and unit, as rows."""
        return [
            (self.mount, kind, float(azimuth), actuator, float(effort), self.unit)
            for kind in ("none", *self.balances)
            for azimuth, row in zip(self.azimuths, self.held(kind), strict=True)
            for actuator, effort in zip(self.actuators, row, strict=True)
        ]

    @property
    def peak(self) -> float:
        """The greatest effort without counterweights."""
        return float(np.abs(self.efforts).max())


@worded
def horizon_sweep(
    model: Robot | str,
    *,
    count: int = 360,
    elevation: float = 0.0,
    parameters: Mapping[str, float] | None = None,
    spare: str = "",
) -> HorizonSweep:
    """Return what the actuators of a mount hold while its dish goes around.

    Args:
        model: a mount whose platform points along its axis, or the name of a shipped one.
        count: of azimuths.
        elevation: of the way around, rad.
        parameters: of parameters, over the mount's own.
        spare: what a mount with three or six actuators spends its spare freedoms on, as in
            `track_pass`.

    >>> sweep = horizon_sweep("mount-alt-az", count=4, elevation=1.0)
    >>> sweep.unit, sweep.efforts.shape
    ('N*m', (4, 2))
    """
    from linkwright.equations.batch_closing import Closing
    from linkwright.equations.parallel_machine import parallel_machine
    from linkwright.robots import Robot
    from linkwright.robots.closing import known_rows

    if count < 1:
        raise InputError(f"a sweep has {count} azimuths", remedy="give 1 or more")
    if not abs(elevation) < math.pi / 2:
        raise InputError(
            f"an elevation of {elevation:g} rad goes around nothing",
            remedy="give one below pi/2: math.radians(60)",
        )
    elevation = math.degrees(elevation)
    robot = model if isinstance(model, Robot) else Robot(model)
    if parameters:
        robot = Robot(robot.mechanism.with_parameters(parameters))
    m = robot.mechanism
    azimuths = np.arange(count) * 360.0 / count
    finer = -(-_STEPS // count)  # the way around goes in steps short enough to stay on its branch
    around = np.arange(count * finer) * 360.0 / (count * finer)
    down = np.linspace(90.0, elevation, 19)
    given = [_directions(np.zeros(19), down), _directions(around, np.full(len(around), elevation))]
    if spare:
        plan = plan_spare(robot, given[1], spare, returns=True)
        return _held(robot, azimuths, given[1][::finer], np.ascontiguousarray(plan.q[::finer]))
    more = {} if len(robot.speeds) < 3 else {"distance": np.array(m.values["D"])}
    machine = parallel_machine(robot)
    closing = Closing(machine, ("direction", *more))
    rows = [known_rows({"direction": x, **more}, len(machine.actuators)) for x in given]
    way = closing.follow(rows[0])
    found = closing.follow(rows[1], way.q[-1])
    for poses, words in ((way, "on the way down"), (found, "on the way around")):
        if not poses.closed.all():
            bad = int(np.flatnonzero(~poses.closed)[0])
            raise DomainError(
                f"{m.name!r} does not reach the elevation of {elevation:g} deg, {words}: "
                f"{poses.words(bad)}",
                remedy="take a higher elevation, or other dimensions",
            )
    return _held(robot, azimuths, given[1][::finer], np.ascontiguousarray(found.q[::finer]))


def _held(robot: Robot, azimuths: Array, directions: Array, q: Array) -> HorizonSweep:
    """Return what actuators hold in poses, without and with the best weights."""
    from linkwright.robots.closing import driven_names

    m, count = robot.mechanism, len(q)
    names, columns = tuple(robot.actuators), driven_names(robot)
    efforts = np.asarray(robot.gravity(q)).reshape(count, -1)
    efforts = efforts[:, [columns.index(name) for name in names]]
    if not np.isfinite(efforts).all():
        bad = int(np.flatnonzero(~np.isfinite(efforts).all(axis=1))[0])
        raise DomainError(
            f"the efforts of {m.name!r} are not finite at the azimuth of {azimuths[bad]:g} deg",
            remedy="take a higher elevation, or other dimensions",
        )
    unit = "N*m" if m.units[m.actuators[0].name] == "rad" else "N"
    weights = _weights(robot)
    choices = [
        chosen
        for chosen in (("arms",), ("strut",), ("arms", "strut"))
        if weights.keys() >= set(chosen)
    ]
    found_best = balances(robot, q, weights, choices) if choices else []
    best = {" and ".join(c): b for c, b in zip(choices, found_best, strict=True)}
    return HorizonSweep(m.name, unit, azimuths, directions, q, efforts, best, names)


def _directions(azimuths: Array, elevations: Array) -> Array:
    a, e = np.radians(azimuths), np.radians(elevations)
    return np.stack([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)], axis=-1)


def _weights(robot: Robot) -> dict[str, Counterweight]:
    """Return the places for counterweights that a mount has."""
    bodies = robot.mechanism.bodies
    found = {}
    if all(name in bodies for name in _ARMS):
        found["arms"] = Counterweight(_ARMS, _DOWN)
    if "strut" in bodies:
        found["strut"] = Counterweight(("strut",), _DOWN)
    return found


@worded
def sweep_report(sweeps: Sequence[HorizonSweep]) -> str:
    """Return a table of sweeps: greatest efforts without and with counterweights.

    Args:
        sweeps: one for each mount.

    >>> arms = Counterbalance({"arms": 40.0}, {"arms": 0.0}, 1500.9, 499.4, np.zeros((1, 2)))
    >>> none = np.array([[-1500.9, 12.0]])
    >>> sweep = HorizonSweep("m", "N*m", np.zeros(1), np.eye(3), none, none, {"arms": arms})
    >>> print(sweep_report([sweep]))
    mount  unit    none   arms
    m       N*m  1500.9  499.4
    """
    kinds = [kind for sweep in sweeps for kind in sweep.balances]
    columns = list(dict.fromkeys(kinds))
    rows = [["mount", "unit", "none", *columns]]
    for s in sweeps:
        held = [f"{s.balances[c].peak:.1f}" if c in s.balances else "-" for c in columns]
        rows.append([s.mount, s.unit, f"{s.peak:.1f}", *held])
    return in_columns(rows)
