"""Charts of machines over directions, poses or actuators: what is reached, why not, and how well.

A chart closes the loops of a machine at every place of a grid, on the branch of a start, first
along lines, then from any place beside one that did not close, and shows quantities of the poses
(`linkwright.parallel.chart_quantities`). A place that is not reached has a cause: no solution, a
joint limit, a cone, a collision, an effort. Where lines stop being reached is found exactly, by
halving the interval between two places of the grid; a chart is a grid for all that, and no proof of
what lies between its lines.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra.units import Amount
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.results import Result
from linkwright.equations.parallel_machine import parallel_machine
from linkwright.mechanism import ModelLike
from linkwright.parallel.chart_engine import CAUSES, ChartEngine
from linkwright.parallel.chart_parts import computed_parts
from linkwright.parallel.chart_space import Array, ChartAxis, chart_space
from linkwright.parallel.machine_rates import OUTPUTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from linkwright.parallel.chart_plots import DrawnPass
    from linkwright.parallel.flexing import SoftParts


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Chart(Result):
    """Quantities of a machine's poses over a grid.

    Args:
        name: of the machine.
        axes: of the grid; lines of poses were followed along the last one.
        columns: arrays over the grid by name; `reach` has the numbers of `CAUSES`, `bound` those of
            `bounds`; other columns are NaN where no pose closes.
        units: of the columns.
        bounds: names of all that poses must keep.
        output: what counts of the platform's motion in condition and manipulability.
        length: the characteristic length, m: a slider's rate and the platform's velocity are
            divided by it.
        ends: values of the last axis between which each line is reached, without a gap, about the
            reached place next to the line's start; NaN where the chart ends first or nothing is
            reached. The last axis has the lower and the upper end.
        end_causes: why each line ends there, numbers of `CAUSES`.
        folder: where the parts of a large chart lie as Parquet files; its columns are read there.

    >>> from linkwright import Mechanism
    >>> m = Mechanism("arm")
    >>> tip = m.point("tip", m.body("arm", rotate="z"), (1, 0, 0))
    >>> m.actuate("arm")
    >>> p = m.set_platform(tip)
    >>> m.limit("arm", -1, 1)
    >>> found = chart(m, {"arm": (-2, 2, 9)})
    >>> found.words(0), found.ends.round(9)
    ('joint limit: arm at its lower limit', array([-1.,  1.]))
    """

    name: str
    axes: tuple[ChartAxis, ...]
    columns: Mapping[str, NDArray[Any]]
    units: Mapping[str, str]
    bounds: tuple[str, ...]
    output: str
    length: float
    ends: Array
    end_causes: NDArray[np.int8]
    folder: Path | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of places along each axis."""
        return tuple(len(a) for a in self.axes)

    def __repr__(self) -> str:
        grid = " x ".join(f"{a.name} {len(a)}" for a in self.axes)
        shown = ", ".join(n for n in self.columns if n != "bound")
        return f"Chart({self.name!r}: {grid}; {self.share:.1%} reached; {shown})"

    @property
    def share(self) -> float:
        """The part of all places that is reached."""
        return self.counts["reached"] / max(1, int(np.prod(self.shape, dtype=np.int64)))

    @property
    def counts(self) -> dict[str, int]:
        """How many places are reached, and how many are not for each cause."""
        found = np.bincount(np.asarray(self["reach"]).reshape(-1), minlength=len(CAUSES))
        return {cause: int(n) for cause, n in zip(CAUSES, found, strict=True)}

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column as an array over the grid."""
        if name not in self.columns:
            raise InputError(
                f"the chart has no column {name!r}", remedy=f"there are {', '.join(self.columns)}"
            )
        return self.columns[name]

    def words(self, *place: int) -> str:
        """Return what became of a place.

        Args:
            place: a number for each axis.
        """
        cause, bound = int(self["reach"][place]), int(self["bound"][place])
        return CAUSES[cause] if bound < 0 else f"{CAUSES[cause]}: {self.bounds[bound]}"

    def worst(self, name: str) -> tuple[float, dict[str, float]]:
        """Return the least value of a column where it is reached, and where that is.

        Args:
            name: of the column.
        """
        return self._extreme(name, -1.0)

    def best(self, name: str) -> tuple[float, dict[str, float]]:
        """Return the greatest value of a column where it is reached, and where that is.

        Args:
            name: of the column.
        """
        return self._extreme(name, 1.0)

    def _extreme(self, name: str, sign: float) -> tuple[float, dict[str, float]]:
        values = np.where(self["reach"] == 0, sign * self[name], -np.inf)
        at = np.unravel_index(int(np.nanargmax(values)), self.shape)
        if values[at] == -np.inf:
            raise InputError(f"no place of the chart has a {name!r}")
        place = {a.name: float(a.values[i]) for a, i in zip(self.axes, at, strict=True)}
        return float(self[name][at]), place

    def plot(self, of: str | None = None, *, passes: Sequence[DrawnPass] = ()) -> Figure:
        """Return a picture: polar for directions, else a map of the last two axes.

        Args:
            of: a column, or several divided by commas; the first one by default. Needs Matplotlib
                (the extra `plot`).
            passes: of satellites, drawn over a map of the sky (`site.passes(...)`).
        """
        from linkwright.parallel.chart_plots import figure

        return figure(self, of, passes)

    def save(
        self, path: str | os.PathLike[str], *, of: str | None = None, replace: bool = True
    ) -> Path:
        """Write the chart as a table (.csv, .parquet) or a picture (.svg, .png, .pdf).

        Args:
            path: its ending says which.
            of: the column of a picture, or several divided by commas.
            replace: whether a file that is there already may be replaced.
        """
        from linkwright.parallel.chart_files import save

        return save(self, path, of, replace=replace)

    def as_dict(self) -> dict[str, Any]:
        """Return what matters of it as plain data."""
        names = [n for n in self.columns if n not in ("reach", "bound")]
        found: dict[str, Any] = {}
        for name in names:
            values = self[name][(self["reach"] == 0) & np.isfinite(self[name])]
            if len(values):
                found[name] = {
                    "unit": self.units.get(name, ""),
                    "least": float(values.min()),
                    "median": float(np.median(values)),
                    "greatest": float(values.max()),
                }
        shown = self.axes[-1].shown(self.ends)
        lower, upper = (shown[..., k][np.isfinite(shown[..., k])] for k in (0, 1))
        return {
            "machine": self.name,
            "axes": [
                {"name": a.name, "unit": a.shown_unit, "from": float(a.shown(a.values[0])),
                 "to": float(a.shown(a.values[-1])), "count": len(a)}
                for a in self.axes
            ],
            "reach": self.counts,
            "ends": {
                "axis": self.axes[-1].name,
                "lower": {"nearest": float(lower.max())} if len(lower) else None,
                "upper": {"nearest": float(upper.min())} if len(upper) else None,
            },
            "quantities": found,
            "output": self.output,
            "characteristic_length_m": self.length,
        }  # fmt: skip


@worded
def chart(
    model: ModelLike,
    axes: Mapping[str, ArrayLike],
    of: Sequence[str] = ("reach",),
    *,
    at: Mapping[str, float] | None = None,
    initial: Mapping[str, Amount] | None = None,
    parameters: Mapping[str, Amount] | None = None,
    output: str | None = None,
    length: float | None = None,
    soft: Mapping[str, Mapping[str, Any]] | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    threads: int = 1,
) -> Chart:
    """Return a chart of a machine with actuators and platform.

    Args:
        model: a robot, mechanism, file or shipped model.
        axes: by name (first, last, count) or all values: "azimuth" (compass) with "zenith" or
            "elevation", "roll", "pitch", "yaw" in rad; "x", "y", "z", "distance" in m;
            coordinates by their names in rad or m. Lines are followed along the last one.
        of: "reach", "condition", "manipulability", "transmission", "pressure", "effort",
            "coordinates", "rotary-compliance", "linear-compliance", "slack", and what else is
            registered.
        at: what else is known, by the same names, such as {"distance": 0.98}.
        initial: coordinates from which the configuration is assembled whose branch is charted.
        parameters: values of parameters by name.
        output: what counts of the platform's motion: "pose", "direction" or "position"; by default
            what the axes are about.
        length: characteristic length, m.
        soft: what gives way, as in `linkwright.parallel.stiffness`: "links", "drives", "joints" and
            "clearances", each by name.
        folder: where the parts of a large chart go as Parquet files while it is computed.
        resume: go on with what is in the folder.
        threads: that share the work; the result has the same bits for any number.

    >>> import linkwright as lw
    >>> m = lw.Mechanism("five_bar")
    >>> for side, x in (("left", 0.0), ("right", 1.0)):
    ...     arm = m.body(side, at=(x, 0, 0), rotate="z", mass=1, inertia=0)
    ...     rod = m.body(f"{side}_rod", parent=arm, at=(0, 1, 0), rotate="z", mass=1, inertia=0)
    ...     p = m.point(f"{side}_tip", rod, (0, 1, 0))
    >>> c = m.close_loop("pin", "left_tip", "right_tip", lw.mechanism.Revolute("z"))
    >>> m.set_initial({"left": 0.5, "left_rod": -1.0, "right": -0.5, "right_rod": 1.0})
    >>> m.actuate("left", "right")
    >>> p = m.set_platform("left_tip")
    >>> found = chart(m, {"x": (0.3, 0.7, 5), "y": (0.5, 2.5, 21)}, of=["reach", "condition"])
    >>> found
    Chart('five_bar': x 5 x y 21; 69.5% reached; reach, condition)
    >>> found.words(2, 20), round(float(found.ends[2, 1]), 9)
    ('no solution', 1.936491673)
    """
    machine = parallel_machine(model)
    names = tuple(of if not isinstance(of, str) else (of,))
    if output is not None and output not in OUTPUTS:
        raise InputError(f"output is {output!r}", remedy=f"one of {', '.join(OUTPUTS)}")
    space = chart_space(machine, axes, at)
    engine = ChartEngine(
        machine,
        space,
        names,
        output=output,
        start=initial,
        values=parameters,
        length=length,
        soft=_soft_parts(soft) if soft else None,
    )
    if folder is not None:
        from linkwright.parallel.chart_files import charted_in

        return charted_in(Path(os.fspath(folder)), engine, resume=resume, threads=threads)
    if resume:
        raise InputError("a chart is resumed in a folder", remedy="name it: folder=...")
    kinds = {"reach": np.int8, "bound": np.int16, **dict.fromkeys(engine.columns, np.float64)}
    shape = (space.lines, len(space.axes[-1]))
    result: dict[str, NDArray[Any]] = {name: np.empty(shape, kind) for name, kind in kinds.items()}
    ends, causes = np.empty((space.lines, 2)), np.empty((space.lines, 2), dtype=np.int8)
    for made in computed_parts(engine, threads):
        for name, whole in result.items():
            whole[made.lines][made.places] = made.columns.pop(name)  # room for the next part
        ends[made.ended], causes[made.ended] = made.ends, made.causes
    shaped = {name: whole.reshape(space.shape) for name, whole in result.items()}
    return finished(engine, shaped, ends, causes)


def _soft_parts(given: Mapping[str, Mapping[str, Any]]) -> SoftParts:
    from linkwright.parallel.flexing import SoftParts

    return SoftParts.of(given)


def finished(
    engine: ChartEngine,
    columns: Mapping[str, NDArray[Any]],
    ends: Array,
    causes: NDArray[np.int8],
    folder: Path | None = None,
) -> Chart:
    """Return the chart of what was computed."""
    space = engine.space
    return Chart(
        engine.machine.mechanism.name,
        space.axes,
        columns,
        engine.units,
        tuple(b.name for b in engine.bounds),
        engine.output,
        engine.length,
        ends.reshape(*space.shape[:-1], 2),
        causes.reshape(*space.shape[:-1], 2),
        folder,
    )
