"""What is said about one drive: each judgment in words, with margin, time and formula."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwright.base.results import Result
from linkwright.sizing.loads import JointLoad
from linkwright.sizing.pairs import FORMULAS, MATCHED, Demands, Pairs, judge

__all__ = ["DriveChoice", "Verdict", "Why", "explain"]

OUTPUT = {
    "repeated peak": ("N*m", "N"),
    "emergency stop": ("N*m", "N"),
    "average torque": ("N*m", "N"),
    "wind-up": ("rad", "m"),
}
"""Units of judgments at the joint, which turns or slides."""


@dataclass(frozen=True, slots=True)
class Verdict(Result):
    """One judgment about a drive.

    Args:
        name: what is judged.
        value: what the task asks.
        limit: what the part allows.
        unit: of both.
        margin: how much is left, as a part of the limit; negative where it is exceeded.
        time: when, s; None for what belongs to the whole cycle.
        formula: how it was reckoned.

    >>> Verdict("supply peak", 380.0, 2000.0, "W", 0.81, 0.15, "max sum P <= P").passed
    True
    """

    name: str
    value: float
    limit: float
    unit: str
    margin: float
    time: float | None
    formula: str
    _units = (("time", "s"),)

    @property
    def passed(self) -> bool:
        """Whether the limit is kept."""
        return self.margin >= 0.0

    @property
    def counts(self) -> bool:
        """Whether it is a margin of the drive.

        Brakes, amplifiers and bearings are the weakest that will do, and count where none does.
        """
        return self.name not in MATCHED or not self.passed

    def __str__(self) -> str:
        when = "" if self.time is None else f" at t = {self.time:.4g} s"
        sign = "ok  " if self.passed else "FAIL"
        numbers = f"{self.value:.4g} of {self.limit:.4g} {self.unit}".rstrip()
        return f"{sign} {self.name:<18} {numbers:<26} margin {_percent(self.margin)}{when}"


def _percent(margin: float) -> str:
    return f"{100.0 * margin:+.0f} %" if abs(margin) < 10.0 else f"{margin + 1.0:+.3g}-fold"


@dataclass(frozen=True, slots=True)
class DriveChoice:
    """A drive for one joint.

    Args:
        joint: its name.
        motor: name in the catalog, like all that follow.
        gear: between motor and joint.
        brake: empty where there is none.
        amplifier: empty where the catalog has none.
        bearing: empty where the joint's force is not known, or the catalog has none.
        margin: the smallest of all judgments.
        limited_by: the judgment with that margin.
        mass: that the link inboard carries: motor, gear, brake and bearing, kg.
        energy: from the bus in one cycle, with a hot winding, J.
        price: of all, in the catalog's currency.
    """

    joint: str
    motor: str
    gear: str
    brake: str
    amplifier: str
    bearing: str
    margin: float
    limited_by: str
    mass: float
    energy: float
    price: float

    @property
    def fits(self) -> bool:
        """Whether everything passes."""
        return self.margin >= 0.0


@dataclass(frozen=True, slots=True)
class Why:
    """Why a drive does or does not suit a joint; `str` of it is a table.

    Args:
        choice: the drive.
        verdicts: smallest margin first.
        notes: what could not be judged, and warnings.
    """

    choice: DriveChoice
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Verdict:
        """Return a verdict by its name."""
        return next(v for v in self.verdicts if v.name == name)

    def __str__(self) -> str:
        c = self.choice
        head = f"{c.joint}: {c.motor} with {c.gear}"
        state = "fits" if c.fits else "does not fit"
        rows = [f"  {v}\n         {v.formula}" for v in self.verdicts]
        notes = [f"  note: {n}" for n in self.notes]
        return "\n".join([f"{head} {state}", *rows, *notes])


def explain(load: JointLoad, pairs: Pairs, terms: Demands) -> list[Verdict]:
    """Return every verdict about the only pair, reckoned sample by sample."""
    judged = judge(load, pairs, terms, exact=True)
    found = []
    slides = load.cycle.kind == "prismatic"
    for name, j in judged.judgments.items():
        if np.isnan(j.limit[0]):
            continue
        unit, formula = FORMULAS[name]
        unit = OUTPUT[name][slides] if name in OUTPUT else unit
        time = None if j.at is None else float(load.cycle.times[int(j.at[0])])
        value, limit, margin = float(j.value[0]), float(j.limit[0]), float(j.margin[0])
        found.append(Verdict(name, value, limit, unit, margin, time, formula))
    return sorted(found, key=lambda v: v.margin)
