"""Which mount is best: the criteria of the antenna-mount thesis (section 10), by numbers of models.

The criteria are: few actuators, a large least transmission angle over the hemisphere, no rotary
gearbox, efforts that counterweights take away, and no singularity in the hemisphere. Every number
is computed from the mount's model. Mounts are ordered by the sum of their places in all criteria;
equal values share a place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from linkwright.base.arguments import worded
from linkwright.base.errors import DomainError, Error, InputError
from linkwright.base.reprs import one_line
from linkwright.mounts.sweeps import HorizonSweep, horizon_sweep
from linkwright.parallel.charts import Chart, chart
from linkwright.parallel.loci import Locus, singular_loci

if TYPE_CHECKING:
    from linkwright.robots import Robot

__all__ = ["CRITERIA", "MountRank", "MountStudy", "mount_study", "rank_mounts"]

SINGULAR = 1e6
"""Condition number from which on a pose of the chart is singular."""
_CLOSE = 0.01
"""Values that differ by less, of 1 or of themselves, have the same place."""
CRITERIA = ("actuators", "transmission angle", "no gearbox", "balance", "no singularity")


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class MountStudy:
    """What is known of a mount over the hemisphere.

    Args:
        mount: its name.
        doc: what it is.
        actuators: how many.
        linear: whether all of them are linear, so that it needs no rotary gearbox.
        chart: over the hemisphere: reach, condition, efforts, and the transmission angle where
            links close loops.
        sweep: around the horizon; None where there is none, and `unswept` says why.
        loci: curves of singular poses in the hemisphere, of a mount with two freedoms.
        unswept: why there is no sweep.

    >>> study = mount_study("mount-x-y", grid=(13, 4), sweep=0)
    >>> study.actuators, study.linear, study.singular
    (2, False, True)
    """

    mount: str
    doc: str
    actuators: int
    linear: bool
    chart: Chart = field(repr=False)
    sweep: HorizonSweep | None = field(repr=False)
    loci: tuple[Locus, ...] = field(repr=False)
    unswept: str = ""

    @property
    def transmission(self) -> float:
        """The least transmission angle over the chart, deg; NaN where no loop is closed."""
        if "transmission" not in self.chart.columns:
            return math.nan
        return self.chart.worst("transmission")[0]

    @property
    def condition(self) -> float:
        """The greatest condition number over the chart."""
        return self.chart.best("condition")[0]

    @property
    def singular(self) -> bool:
        """Whether a singular pose was found in the hemisphere, on a curve or on the chart."""
        return bool(self.loci) or not self.condition < SINGULAR

    @property
    def left(self) -> float:
        """What the best counterweights leave of the greatest effort of the sweep, as a share."""
        if self.sweep is None:
            return math.nan
        return min([b.peak / b.before for b in self.sweep.balances.values()], default=1.0)


@worded
def mount_study(
    mount: Robot | str,
    *,
    grid: tuple[int, int] = (73, 31),
    sweep: int = 72,
    elevation: float = 0.0,
) -> MountStudy:
    """Return the charts, sweep and singular curves of a mount over the hemisphere.

    Args:
        mount: a mount, or the name of a shipped one.
        grid: numbers of azimuths and of zenith angles.
        sweep: azimuths of the sweep around the horizon; 0 for no sweep.
        elevation: of the sweep, rad.

    >>> study = mount_study("mount-x-y", grid=(13, 4), sweep=4)
    >>> study.singular, study.unswept[:46]
    (True, "'mount-x-y' does not reach the elevation of 0 ")
    """
    from linkwright.robots import Robot

    if min(grid) < 2:
        raise InputError(f"a grid of {grid} shows nothing", remedy="give 2 or more of each")
    robot = mount if isinstance(mount, Robot) else Robot(mount)
    m = robot.mechanism
    plunges = len(robot.speeds) > 2 and "D" in m.values
    of = ["condition", "effort"] + (["transmission"] if m.loops or m.driven_struts else [])
    found = chart(
        robot,
        {"azimuth": (0, math.tau, grid[0]), "zenith": (0, math.pi / 2, grid[1])},
        of=of,
        at={"distance": m.values["D"]} if plunges else None,
        output="direction",
    )
    if not np.isfinite(found["condition"][0, 0]):
        raise DomainError(
            f"{m.name!r} is singular at the zenith, from which the hemisphere is charted",
            remedy="compare its keyholes with those of others: linkwright.mounts.compare_mounts",
        )
    swept, why = None, "not asked for"
    if sweep:
        try:
            swept, why = horizon_sweep(robot, count=sweep, elevation=elevation), ""
        except Error as error:
            why = str(error)
    loci: tuple[Locus, ...] = ()
    if m.loops and len(robot.speeds) == 2:
        loci = singular_loci(robot, "type 2", {"zenith": (0.0, math.pi / 2)}, grid=8)
    linear = all(m.units[a.name] == "m" for a in m.actuators)
    return MountStudy(m.name, m.doc, len(m.actuators), linear, found, swept, loci, why)


@one_line
@dataclass(frozen=True, slots=True)
class MountRank:
    """The place of a mount.

    Args:
        place: 1 for the best.
        mount: its name.
        places: in each of the criteria.

    >>> MountRank(1, "m", dict.fromkeys(CRITERIA, 1)).total
    5
    """

    place: int
    mount: str
    places: dict[str, int]

    @property
    def total(self) -> int:
        """The sum of its places."""
        return sum(self.places.values())


@worded
def rank_mounts(studies: Sequence[MountStudy]) -> tuple[MountRank, ...]:
    """Return mounts in order, the best one first.

    A mount without a number, such as a sweep that did not close, is last in that criterion. Where
    no links transmit, as in a serial mount, the transmission angle is a right one.

    Args:
        studies: of the mounts.

    >>> [
    ...     (r.place, r.mount)
    ...     for r in rank_mounts([mount_study("mount-x-y", grid=(13, 4), sweep=0)])
    ... ]
    [(1, 'mount-x-y')]
    """
    if not studies:
        raise InputError("there is no mount to rank", remedy="give one study or more")
    costs = {
        "actuators": [float(s.actuators) for s in studies],
        "transmission angle": [
            -(90.0 if "transmission" not in s.chart.columns else s.transmission) for s in studies
        ],
        "no gearbox": [float(not s.linear) for s in studies],
        "balance": [s.left for s in studies],
        "no singularity": [float(s.singular) for s in studies],
    }
    places = {name: _places(costs[name]) for name in CRITERIA}
    rows = [{name: places[name][k] for name in CRITERIA} for k in range(len(studies))]
    order = sorted(range(len(studies)), key=lambda k: sum(rows[k].values()))
    totals = [sum(rows[k].values()) for k in order]
    return tuple(
        MountRank(1 + totals.index(totals[i]), studies[k].mount, rows[k])
        for i, k in enumerate(order)
    )


def _places(costs: Sequence[float]) -> list[int]:
    """Return the place of each cost, the least first; what is close has the same one."""
    known = [math.inf if np.isnan(c) else c for c in costs]
    order = sorted(range(len(known)), key=known.__getitem__)
    place, last, found = 1, known[order[0]], [0] * len(known)
    for i, k in enumerate(order):
        if known[k] > last + _CLOSE * max(1.0, abs(last)):
            place, last = i + 1, known[k]
        found[k] = place
    return found
