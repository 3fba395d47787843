"""Choosing drives for all joints of a robot, from the tip inward.

A drive loads only the joints inboard of it. So the drive of the last joint is chosen first, and
its mass is known when the next one is; nothing has to be repeated.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError, suggestion, unknown
from linkwright.base.results import Result, in_columns, plain
from linkwright.formats.catalog.reader import joined, read_catalog
from linkwright.formats.catalog.schema import Catalog, DriveEntry
from linkwright.formats.catalog.writer import chosen_parts
from linkwright.sizing.arm import Arm, arm_of
from linkwright.sizing.bearings import Mounted, mounted
from linkwright.sizing.bus import BusLoad, bus_load
from linkwright.sizing.loads import MOST_BINS, JointLoad
from linkwright.sizing.pairs import (
    Demands,
    Judged,
    Pairs,
    amplifiers_of,
    brakes_of,
    judge,
)
from linkwright.sizing.pareto import DriveSet, ParetoFront, front
from linkwright.sizing.verdicts import DriveChoice, Why, explain

if TYPE_CHECKING:
    from linkwright.elements.drives import Cascade
    from linkwright.linear.estimation import FilterKind
    from linkwright.parallel.error_budgets import ErrorBudget
    from linkwright.system import System

__all__ = ["ORDERS", "JointOptions", "Sizing", "size"]

ORDERS = ("mass", "price", "energy", "margin")
"""What drives of one joint may be ranked by."""

ABSOLUTE_ZERO = -273.15
"""°C."""


@dataclass(frozen=True, eq=False)
class JointOptions:
    """All drives for one joint, under the load of the task and of the drives outboard.

    Args:
        load: of the joint.
        pairs: of motors and gears.
        judged: what each does.
        mounted: the joint's bearing.
        terms: what is asked.
        order: what they are ranked by.
    """

    load: JointLoad
    pairs: Pairs
    judged: Judged
    mounted: Mounted
    terms: Demands
    order: str

    @property
    def joint(self) -> str:
        """Its name."""
        return self.load.cycle.name

    def ranking(self) -> np.ndarray:
        """Return the indices of pairs that fit, best first."""
        j = self.judged
        key = -j.margin if self.order == "margin" else getattr(j, self.order)
        ranked = np.lexsort((-j.margin, key))
        return np.asarray(ranked[j.fits[ranked]])

    def choice(self, k: int) -> DriveChoice:
        """Return one of the drives."""
        j, catalog = self.judged, self.pairs.catalog
        brakes, amplifiers = brakes_of(catalog), amplifiers_of(catalog, self.terms.voltage)
        bearing = catalog.bearing.get(self.mounted.name)
        return DriveChoice(
            self.joint,
            self.pairs.motors[k],
            self.pairs.gears[k],
            brakes[j.brake[k]] if j.brake[k] >= 0 else "",
            amplifiers[j.amplifier[k]] if j.amplifier[k] >= 0 else "",
            self.mounted.name,
            float(j.margin[k]),
            j.limiting(k),
            float(j.mass[k]) + (bearing.mass if bearing else 0.0),
            float(j.energy[k]),
            float(j.price[k]) + (bearing.price if bearing else 0.0),
        )


@dataclass(frozen=True, eq=False)
class Sizing(Result):
    """Drives that a robot's task needs.

    Args:
        options: all drives of each joint, by name.
        chosen: the best drive of each joint, by name.
        catalog: that they were taken from.
        terms: what was asked.
        supply: name of the supply; empty where the catalog has none.
        arm: the joints' loads.

    Example:
        >>> from linkwright.sizing import JointCycle, size
        >>> still = [0.0, 0.0]
        >>> found = size([JointCycle("j1", "revolute", [0, 1], still, still, still, [5, 5])])
        >>> found.chosen["j1"].motor
        'flat-60w'
    """

    options: Mapping[str, JointOptions]
    chosen: Mapping[str, DriveChoice]
    catalog: Catalog
    terms: Demands
    supply: str
    arm: Arm

    def as_dict(self, *, pareto: bool = False) -> dict[str, Any]:
        """Return the chosen drives and the supply as plain data; energies in J.

        Args:
            pareto: whether the sets that are best in something are there, too.
        """
        bus = {
            "energy_j": self.bus.energy,
            "regenerated_j": self.bus.regenerated,
            "burned_j": self.bus.burned,
            "capacitance_f": self.bus.capacitance,
            "verdicts": self.bus.verdicts,
        }
        best = {"pareto": self.pareto} if pareto else {}
        data: dict[str, Any] = plain(
            {"supply": self.supply, "joints": self.chosen, "bus": bus, **best}
        )
        return data

    @property
    def mass(self) -> float:
        """Of all drives on the arm, kg."""
        return sum(c.mass for c in self.chosen.values())

    @property
    def margin(self) -> float:
        """The smallest of all."""
        return min(c.margin for c in self.chosen.values())

    @cached_property
    def front(self) -> ParetoFront:
        """The sets of drives of which none is better in everything, and whether that is proven."""
        return front(self.arm, self.catalog, self.terms)

    @property
    def pareto(self) -> tuple[DriveSet, ...]:
        """Sets of drives with the best of margin, mass, energy and price, lightest first."""
        return self.front.sets

    @cached_property
    def bus(self) -> BusLoad:
        """What the chosen drives ask of the supply together."""
        return bus_load(self)

    def ranked(self, joint: str, most: int = 10) -> tuple[DriveChoice, ...]:
        """Return the drives that fit a joint, best first.

        Args:
            joint: its name.
            most: how many at most.
        """
        options = self._options(joint)
        return tuple(options.choice(int(k)) for k in options.ranking()[:most])

    def why(self, motor: str, joint: str, gear: str | None = None) -> Why:
        """Return why a motor does or does not suit a joint.

        Args:
            motor: its name in the catalog.
            joint: its name.
            gear: its name; by default the one with which the motor does best there.
        """
        options = self._options(joint)
        pairs = options.pairs
        fit = [
            k
            for k, (m, g) in enumerate(zip(pairs.motors, pairs.gears, strict=True))
            if m == motor and gear in (None, g)
        ]
        if not fit:
            known = pairs.gears if motor in pairs.motors else pairs.motors
            word = gear if motor in pairs.motors and gear else motor
            raise InputError(
                f"no drive of joint {joint!r} has {word!r}",
                remedy=suggestion(word, set(known), f"there are {_some(known)}"),
                code="R305",
            )
        k = max(fit, key=lambda k: float(options.judged.margin[k]))
        verdicts = explain(options.load, pairs.take(np.array([k])), options.terms)
        verdicts += options.mounted.verdicts(options.terms, options.load)
        found = sorted(verdicts, key=lambda v: v.margin)
        counted = next(v for v in found if v.counts)
        choice = replace(options.choice(k), margin=counted.margin, limited_by=counted.name)
        return Why(
            choice, tuple(found), (*self._bus_notes(motor), *options.mounted.notes(options.load))
        )

    def _bus_notes(self, motor: str) -> tuple[str, ...]:
        """Return why a motor is judged at less than its own voltage."""
        own, bus = self.catalog.motor[motor].voltage, self.terms.voltage
        if own <= bus:
            return ()
        return (
            f"{motor} is made for {own:g} V, and judged at the {bus:g} V of {self.supply}, which "
            "feeds all joints; size(..., supply=...) takes another",
        )

    def _options(self, joint: str) -> JointOptions:
        if joint not in self.options:
            raise unknown("joint", joint, self.options, code="R305")
        return self.options[joint]

    def __str__(self) -> str:
        rows = [
            (c.joint, c.motor, c.gear, c.brake or "-", f"{c.margin:+.0%}", c.limited_by)
            for c in self.chosen.values()
        ]
        head = ("joint", "motor", "gear", "brake", "margin", "limited by")
        table = in_columns([head, *rows], left=len(head))
        judged = self.bus.verdicts if len(self.chosen) == len(self.options) else ()
        failed = [f"{self.supply}: {v}" for v in judged if not v.passed]
        return "\n".join([table, *failed])

    def system(
        self,
        servo: Cascade | None = None,
        filter: FilterKind | None = None,  # noqa: A002 - the word of the field
        *,
        elastic: bool = True,
        thermal: bool = True,
        ledger: bool = False,
        counts: float = 16_384.0,
    ) -> System:
        """Return the robot with the chosen drives, following the motion of the task.

        Args:
            servo: position over speed over current; by default at 1, 2 and 10 kHz. What it leaves
                open is set for each joint, with the limits of motor, amplifier and bus.
            filter: kind of a Kalman filter beside each drive, as for `control.kalman`: it
                estimates motor and joint from the motor's encoder, as `JOINT_filter.x`.
            elastic: whether gears give, with their backlash and kinematic error.
            thermal: whether windings warm up and their resistance with them.
            ledger: whether each drive counts its energies.
            counts: of an encoder in one turn of the motor, which the filter believes in.
        """
        from linkwright.elements.drives import Cascade
        from linkwright.sizing.driven import driven_system

        law = Cascade(current=10_000, speed=2_000, position=1_000) if servo is None else servo
        return driven_system(
            self, law, filter, elastic=elastic, thermal=thermal, ledger=ledger, counts=counts
        )

    def error_budget(
        self, frame: str, time: float = 0.0, *, counts: float = 16_384.0, control: float = 0.0
    ) -> ErrorBudget:
        """Return what encoders, gears and control leave uncertain at the tool.

        Args:
            frame: of the tool.
            time: an instant of the task, s.
            counts: of an encoder in one turn of the motor.
            control: three deviations of a joint's control error, rad or m.
        """
        from linkwright.sizing.accuracy import tool_budget

        return tool_budget(self, frame, time, counts, control)

    def as_catalog(self, name: str = "drives") -> Catalog:
        """Return the chosen drives, with the entries of their parts, as a catalog.

        Args:
            name: of the catalog.
        """
        drives = {
            c.joint: DriveEntry(
                motor=c.motor,
                gear=c.gear,
                brake=c.brake,
                amplifier=c.amplifier,
                bearing=c.bearing,
            )
            for c in self.chosen.values()
        }
        used = {k: {getattr(d, k) for d in drives.values()} for k in DriveEntry.model_fields} | {
            "supply": {self.supply}
        }
        return Catalog(format=1, name=name, drive=drives, **chosen_parts(self.catalog, used))


@worded
def size(
    need: Any,
    catalog: str | os.PathLike[str] | Catalog | Sequence[str | Catalog] = "generic",
    *,
    life: float = 20_000.0,
    ambient: float = 40.0,
    supply: str | None = None,
    robot: Any = None,
    order: str = "mass",
    inertia_ratio: float | None = 10.0,
    bandwidth: float | None = None,
    windup: float | None = None,
    brakes: bool = True,
) -> Sizing:
    """Return the drives that a task needs, ranked for each joint.

    Args:
        need: a requirement, or a sequence of `JointCycle`.
        catalog: a catalog, its file, or "generic"; or several of them, which count as one.
        life: that gears and bearings shall reach, h.
        ambient: temperature of the surroundings, °C.
        supply: name of the supply; by default the weakest with which every joint finds a drive
            and that feeds them all.
        robot: that moves; by default that of the requirement. Without one the drives' own masses
            and what depends on the joints' inertia are left out.
        order: what drives are ranked by: "mass", "price", "energy" or "margin".
        inertia_ratio: largest inertia of the load over that of the motor, seen at the motor.
        bandwidth: of position control, Hz; the gear's resonance lies twice as high or more.
        windup: largest twist of a gear under load, rad or m.
        brakes: whether each joint has a brake that holds it.

    Example:
        >>> import numpy as np
        >>> from linkwright.sizing import JointCycle, size
        >>> t = np.linspace(0, 2, 201)
        >>> w = 2 * np.sin(np.pi * t)
        >>> lift = JointCycle(
        ...     "elbow",
        ...     "revolute",
        ...     t,
        ...     -2 / np.pi * np.cos(np.pi * t),
        ...     w,
        ...     2 * np.pi * np.cos(np.pi * t),
        ...     12 + 2 * np.pi * np.cos(np.pi * t),
        ... )
        >>> found = size([lift])
        >>> print(found)
        joint  motor      gear           brake    margin  limited by
        elbow  flat-150w  strain-20-100  brake-1  +55%    motor speed
    """
    if order not in ORDERS:
        raise InputError(
            f"drives are not ranked by {order!r}",
            remedy=f"choose one of {', '.join(ORDERS)}",
            code="R305",
        )
    given = [catalog] if isinstance(catalog, str | os.PathLike | Catalog) else list(catalog)
    book = joined([c if isinstance(c, Catalog) else read_catalog(c) for c in given])
    _refuse_senseless(book, life, ambient, inertia_ratio, bandwidth, windup)
    arm = arm_of(need, robot)
    failed: InputError | None = None
    best: Sizing | None = None
    for name, voltage in _buses(book, supply):
        terms = Demands(
            life, ambient, voltage, inertia_ratio, bandwidth, windup, brakes and bool(book.brake)
        )
        try:
            found = _chosen(arm, book, terms, name, order)
        except InputError as error:
            failed = error  # the strongest supply says what is missing
            continue
        if found.bus.margin >= 0.0:
            return found
        if best is None or found.bus.margin > best.bus.margin:
            best = found
    if best is not None:  # its table says what the supply lacks
        return best
    assert failed is not None
    raise failed


def _refuse_senseless(
    catalog: Catalog,
    life: float,
    ambient: float,
    inertia_ratio: float | None,
    bandwidth: float | None,
    windup: float | None,
) -> None:
    """Reject demands that no drive can meet, or any."""
    for what, value, unit in (
        ("life", life, "h"),
        ("inertia_ratio", inertia_ratio, ""),
        ("bandwidth", bandwidth, "Hz"),
        ("windup", windup, "rad or m"),
    ):
        if value is not None and not 0.0 < float(value) < math.inf:
            raise InputError(
                f"{what} is {float(value):g} {unit}".rstrip(),
                remedy="give a finite number above 0",
                code="R311",
            )
    hottest = max((m.hottest for m in catalog.motor.values()), default=math.inf)
    if not ABSOLUTE_ZERO <= float(ambient) < hottest:
        raise InputError(
            f"ambient is {float(ambient):g} °C, and windings of the catalog stand up to "
            f"{hottest:g} °C",
            remedy="give the temperature of the air around the drives in °C",
            code="R311",
        )


def _buses(catalog: Catalog, supply: str | None) -> list[tuple[str, float]]:
    """Return name and voltage of the supplies that are tried, weakest first."""
    if supply is None:
        if not catalog.supply:
            return [("", max((m.voltage for m in catalog.motor.values()), default=0.0))]
        names = sorted(catalog.supply, key=lambda n: catalog.supply[n].peak)
        return [(n, catalog.supply[n].voltage) for n in names]
    if supply not in catalog.supply:
        raise unknown("supply", supply, catalog.supply, owner="the catalog", code="R305")
    return [(supply, catalog.supply[supply].voltage)]


def _chosen(arm: Arm, catalog: Catalog, terms: Demands, supply: str, order: str) -> Sizing:
    """Choose from the tip inward."""
    masses: dict[str, float] = {}
    options: dict[str, JointOptions] = {}
    chosen: dict[str, DriveChoice] = {}
    for name in reversed(arm.names):
        found = options_of(arm, catalog, terms, name, masses, order)
        options = {name: found, **options}
        best = _first_exact(found, found.ranking())
        fails = found.mounted.margin(terms) < 0.0
        if fails or best is None:
            error = _no_bearing(found) if fails else _no_fit(found, supply)
            error.sized = Sizing(options, chosen, catalog, terms, supply, arm)
            raise error
        chosen = {name: found.choice(best), **chosen}
        masses[name] = chosen[name].mass
    return Sizing(options, chosen, catalog, terms, supply, arm)


def _first_exact(options: JointOptions, ranking: np.ndarray) -> int | None:
    """Return the best drive that also fits sample by sample; heat was counted in groups."""
    if len(ranking) and options.load.cycle.samples - 1 <= MOST_BINS:
        return int(ranking[0])
    for k in ranking:
        verdicts = explain(options.load, options.pairs.take(np.array([k])), options.terms)
        if all(v.passed for v in verdicts):
            return int(k)
    return None


def options_of(
    arm: Arm,
    catalog: Catalog,
    terms: Demands,
    joint: str,
    masses: Mapping[str, float],
    order: str = "mass",
    pairs: Pairs | None = None,
) -> JointOptions:
    """Return drives for a joint, with masses of the drives at others; by default all there are."""
    load = arm.load(joint, masses)
    if pairs is None:
        pairs = Pairs.all_of(catalog, load.cycle.kind, terms.voltage)
    if not len(pairs):
        what = "motor" if not catalog.motor else "gear"
        raise InputError(
            f"the catalog has no {what} for joint {joint!r}, which is {load.cycle.kind}, "
            f"at {terms.voltage:g} V",
            remedy="add one: gears with `ratio` turn, gears with `lead` slide",
            code="R304",
        )
    bearing = mounted(catalog, load, terms)
    return JointOptions(load, pairs, judge(load, pairs, terms), bearing, terms, order)


class UnsizedError(InputError):
    """No drive of a catalog suits a joint; `sized` has the joints beyond it, and why of its own."""

    sized: Sizing


def _no_fit(options: JointOptions, supply: str) -> UnsizedError:
    """Return the error about a joint for which nothing fits: what failed, and the nearest."""
    j = options.judged
    k = int(np.argmax(j.margin))
    near = options.choice(k)
    judged = explain(options.load, options.pairs.take(np.array([k])), options.terms)
    words = [
        f"{v.name} {v.value:.4g} against {v.limit:.4g} {v.unit}".rstrip()
        + (f" at t = {v.time:.4g} s" if v.time is not None else "")
        for v in judged
        if not v.passed
    ]
    bus = f" on {supply}" if supply else ""
    return UnsizedError(
        f"no drive of the catalog suits joint {near.joint!r}{bus}; nearest is {near.motor} with "
        f"{near.gear}, where {'; '.join(words)}",
        remedy="add a stronger entry to the catalog, or ask for less speed, payload or life",
        code="R304",
    )


def _no_bearing(options: JointOptions) -> UnsizedError:
    """Return the error about a joint that no bearing of the catalog carries."""
    verdicts = options.mounted.verdicts(options.terms, options.load)
    words = [f"{v.name} {v.value:.4g} against {v.limit:.4g} {v.unit}".rstrip() for v in verdicts]
    return UnsizedError(
        f"no bearing of the catalog suits joint {options.joint!r}; nearest is "
        f"{options.mounted.name}, where {'; '.join(words)}",
        remedy="add a stronger entry to the catalog, or ask for less payload or life",
        code="R304",
    )


def _some(names: Any) -> str:
    known = list(dict.fromkeys(names))
    return ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
