"""Maps of wrist loops over two parameters: what both criteria and runs say at each point."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.reprs import brief
from linkwright.base.results import Result
from linkwright.contact.wrist_loops import (
    VERDICTS,
    WristLoop,
    continuous_verdicts,
    parameter,
    sampled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["UNITS", "ContactMap", "contact_map", "usual_range"]

Array = NDArray[np.float64]
Codes = NDArray[np.int8]
UNITS = {"m": "kg", "Cw": "N*s/m", "Kw": "N/m", "T": "s", "Ke": "N/m", "Ce": "N*s/m"}
"""Units of a loop's parameters; the gain and the filter's pole have none."""
_POINTS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ContactMap(Result):
    """What is said of a wrist's loop over two parameters.

    Args:
        loop: its other numbers.
        names: of the two parameters.
        axes: their values.
        radius: spectral radius of the exact sampled loop, the first parameter's axis first.
        continuous: what Routh's conditions say, as places in `VERDICTS`; they stand for the order
            `loop.continuous_order`.
        sampled: what the exact sampled loop does.
        simulated: what runs of it show; None where none were made.

    >>> loop = WristLoop("position", 1.0, m=0.5, Cw=3.0, Kw=500.0)
    >>> contact_map(loop, {"Kp": [0.5, 1.0], "a": [0.6, 0.95]}, simulate=False)
    ContactMap(Kp, a: 4 points, sampled 0 stable, 2 ringing, 2 unstable)
    """

    loop: WristLoop
    names: tuple[str, str]
    axes: tuple[Array, Array]
    radius: Array
    continuous: Codes
    sampled: Codes
    simulated: Codes | None = None

    def __repr__(self) -> str:
        told = ", ".join(f"{n} {word}" for word, n in self.counts("sampled").items())
        return f"ContactMap({', '.join(self.names)}: {self.points}, sampled {told})"

    @property
    def points(self) -> str:
        """How many points it has, in words: "30 points"."""
        return f"{self.sampled.size} point{'' if self.sampled.size == 1 else 's'}"

    @property
    def answers(self) -> dict[str, Codes]:
        """Who says what: "continuous", "sampled" and, where runs were made, "simulated"."""
        found = {"continuous": self.continuous, "sampled": self.sampled}
        return found if self.simulated is None else {**found, "simulated": self.simulated}

    def counts(self, answer: str) -> dict[str, int]:
        """Return how many points are stable, ringing and unstable.

        Args:
            answer: a key of `answers`.
        """
        return {word: int((self.answers[answer] == k).sum()) for k, word in enumerate(VERDICTS)}

    def agreement(self, first: str, second: str, *, ringing: bool = False) -> float:
        """Return the share of points of which two answers say alike whether they are stable.

        Args:
            first: a key of `answers`.
            second: another.
            ringing: whether they must also say alike which of the stable ones ring.
        """
        one, two = (self.answers[name] for name in (first, second))
        if not ringing:
            one, two = (codes == VERDICTS.index("unstable") for codes in (one, two))
        return float((one == two).mean())

    def plot(self) -> Figure:
        """Return the answers side by side as a figure."""
        from linkwright.contact.map_plots import figure

        return figure(self)

    def save(self, path: str | os.PathLike[str], *, replace: bool = True) -> Path:
        """Write the picture.

        Args:
            path: of the file (.png, .svg, .pdf).
            replace: whether a file that is there already may be replaced.
        """
        from linkwright.recording.plots import save_figure

        save_figure(path, self.plot(), replace=replace)
        return Path(path)

    def table(self) -> list[tuple[str, ...]]:
        """Return heads and rows: the share of each verdict, and of points that agree."""
        rows: list[tuple[str, ...]] = [
            ("answer", *VERDICTS, "stability as sampled", "verdict as sampled")
        ]
        for name, codes in self.answers.items():
            shares = [f"{count / codes.size:.1%}" for count in self.counts(name).values()]
            same = [
                "" if name == "sampled" else f"{self.agreement('sampled', name, ringing=asked):.1%}"
                for asked in (False, True)
            ]
            rows.append((name, *shares, *same))
        return rows

    def as_dict(self) -> dict[str, Any]:
        """Return the map as plain data."""
        return {
            "loop": self.loop.as_dict(),
            "axes": {n: v.tolist() for n, v in zip(self.names, self.axes, strict=True)},
            "verdicts": list(VERDICTS),
            "radius": self.radius.tolist(),
            "counts": {name: self.counts(name) for name in self.answers},
            "agreement": {
                n: {
                    "stability": self.agreement("sampled", n),
                    "verdict": self.agreement("sampled", n, ringing=True),
                }
                for n in self.answers
                if n != "sampled"
            },
            **{name: codes.tolist() for name, codes in self.answers.items()},
        }


@worded
def contact_map(
    loop: WristLoop,
    over: Mapping[str, Sequence[float] | NDArray[np.float64]],
    *,
    simulate: bool = True,
    threads: int | None = None,
) -> ContactMap:
    """Return what both criteria and a simulation say of a loop over two parameters.

    Args:
        loop: its other numbers, its law and its order.
        over: values of two parameters by name: Kp or KF, m, Cw, Kw, a, T, Ke, Ce.
        simulate: whether each point is run too; an order with an impulse cannot be.
        threads: of the runs; as many as there are processors by default.

    >>> loop = WristLoop("accumulating", 0.2, m=0.5, Cw=3.0, Kw=500.0, a=0.8, Ke=1e4)
    >>> found = contact_map(loop, {"KF": [0.2, 0.9, 1.2], "a": [0.6, 0.8]})
    >>> found.agreement("sampled", "simulated")
    1.0
    """
    if len(over) != 2:
        raise InputError(
            f"a map of contact is over two parameters, not {len(over)}",
            remedy='give over={"Kp": [...], "a": [...]}',
        )
    first, second = over
    if parameter(loop, first) == parameter(loop, second):
        raise InputError(f"the map is twice over {first}", remedy="name two parameters")
    axes = tuple(_values(n, v) for n, v in over.items())
    points = len(axes[0]) * len(axes[1])
    if not points or points > _POINTS:
        raise InputError(
            f"the map has {points} points", remedy=f"give 1 to {_POINTS} of them in all"
        )
    grid: dict[str, Any] = dict(zip(over, np.meshgrid(*axes, indexing="ij"), strict=True))
    _refuse_massless(loop, grid)
    radius, verdicts = sampled(loop, grid)
    runs = None
    if simulate:
        from linkwright.contact.simulated_loops import simulated_verdicts

        runs = simulated_verdicts(loop, grid, threads=threads)[1]
    said = continuous_verdicts(loop, grid)
    return ContactMap(loop, (first, second), (axes[0], axes[1]), radius, said, verdicts, runs)


def usual_range(loop: WristLoop, name: str) -> tuple[float, float]:
    """Return the ends of an axis for a parameter that none are given for.

    >>> usual_range(WristLoop("force", 0.2, m=0.5, Cw=3.0, Kw=500.0), "m")
    (0.1, 2.5)
    """
    own = parameter(loop, name)
    if own == "gain":
        return 0.02, max(1.2, 1.5 * loop.gain)
    if own == "a":
        return 0.0, 0.98
    value = getattr(loop, own)
    if value:
        return value / 5, value * 5
    return {"Ke": (0.0, 20 * loop.Kw), "Ce": (0.0, 5 * loop.Cw)}.get(own, (0.0, 10.0))


def _values(name: str, given: Any) -> Array:
    try:
        return np.asarray(given, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        raise InputError(
            f"the values of {name} are {brief(given)}, which are not numbers",
            remedy=f'give numbers, such as over={{"{name}": [0.1, 0.2], ...}}',
        ) from None


def _refuse_massless(loop: WristLoop, grid: Mapping[str, Any]) -> None:
    for name, values in grid.items():
        if parameter(loop, name) == "m" and (values <= 0).any():
            raise InputError(
                "the tool has no mass somewhere on the map", remedy="let m be positive"
            )
