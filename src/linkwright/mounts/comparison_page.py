"""A comparison of mounts in one file of HTML that needs nothing else: ranking, efforts, the sky.

Every number and curve in it is computed from the models (`linkwright.mounts.ranking`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.files import path_of, write_text
from linkwright.base.optional import extra
from linkwright.base.reprs import brief, one_line
from linkwright.base.results import Result
from linkwright.mounts.ranking import CRITERIA, MountRank, MountStudy, mount_study, rank_mounts
from linkwright.mounts.sweeps import HorizonSweep
from linkwright.recording.colors import TRACES
from linkwright.recording.document import (
    document,
    heading,
    paragraph,
    picture,
    table,
    typeset,
    verdict,
)
from linkwright.recording.plots import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from linkwright.robots import Robot

__all__ = ["MountComparison", "study_mounts"]

MOUNTS = (
    "mount-3-rotary",
    "mount-2-rotary",
    "mount-truss-3",
    "mount-truss-2",
    "mount-prismatic",
)
"""The five of the antenna-mount thesis."""
_ENDINGS = (".html", ".htm")
_SPIKE = 20.0  # times the median, above which a curve of efforts leaves the picture
_NOTHING = 1e-6  # of the greatest effort, below which a curve is rounding
_LOCUS = "#d55e00"


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class MountComparison(Result):
    """Mounts beside each other.

    Args:
        studies: one for each mount.
        ranks: the same mounts, the best one first.

    >>> found = study_mounts(["mount-x-y"], grid=(13, 4), sweep=4)
    >>> [r.mount for r in found.ranks]
    ['mount-x-y']
    """

    studies: tuple[MountStudy, ...] = field(repr=False)
    ranks: tuple[MountRank, ...]

    def study(self, mount: str) -> MountStudy:
        """Return what is known of a mount.

        Args:
            mount: its name.
        """
        for found in self.studies:
            if found.mount == mount:
                return found
        names = ", ".join(s.mount for s in self.studies)
        raise InputError(f"{mount!r} is not compared", remedy=f"there are {names}")

    def plot(self, of: str = "") -> Figure:
        """Return maps of the sky, one for each mount that has the quantity.

        Args:
            of: "transmission", "condition" or "effort"; by default the first that a mount has.
        """
        known = ("transmission", "condition", "effort")
        of = of or next((k for k in known if any(_has(s, k) for s in self.studies)), known[0])
        return _skies([s for s in self.studies if _has(s, of)], of)

    def save(self, path: str | os.PathLike[str], *, replace: bool = True) -> int:
        """Write the page, and return its size in bytes.

        Args:
            path: of the file, .html.
            replace: whether one that is there is replaced.
        """
        if path_of(path).suffix.lower() not in _ENDINGS:
            raise InputError(
                f"{brief(path)}: a comparison is a page", remedy="give a name that ends in .html"
            )
        text = document("Comparison of antenna mounts", list(_parts(self)))
        write_text(Path(path), text, replace=replace)
        return len(text.encode())


@worded
def study_mounts(
    mounts: Sequence[Robot | str] = MOUNTS,
    *,
    grid: tuple[int, int] = (73, 31),
    sweep: int = 72,
    elevation: float = 0.0,
) -> MountComparison:
    """Compare mounts over the hemisphere and around the horizon.

    Args:
        mounts: robots or names of shipped mounts; the five of the thesis by default.
        grid: numbers of azimuths and of zenith angles of the charts.
        sweep: azimuths around the horizon.
        elevation: of that way around, rad.

    >>> study_mounts(["mount-x-y"], grid=(13, 4), sweep=4).study("mount-x-y").actuators
    2
    """
    if not mounts:
        raise InputError("there is no mount to compare", remedy="name one or more")
    studies = tuple(mount_study(m, grid=grid, sweep=sweep, elevation=elevation) for m in mounts)
    return MountComparison(studies, rank_mounts(studies))


def _has(study: MountStudy, of: str) -> bool:
    return any(n == of or n.startswith(f"{of} ") for n in study.chart.columns)


def _parts(found: MountComparison) -> Iterator[str]:
    first = found.ranks[0]
    tied = [r.mount for r in found.ranks if r.place == 1]
    words = f"First: {' and '.join(tied)}, with {first.total} points."
    yield verdict(not found.study(first.mount).singular, words)
    yield paragraph(
        "The points of a mount are the sum of its places in five criteria: "
        f"{', '.join(CRITERIA)}. Fewer are better. Angles, condition numbers and singular curves "
        "come from a grid of closed poses over the hemisphere: what lies between its nodes is not "
        "proven."
    )
    yield heading("Ranking")
    yield table(
        ("place", "mount", "points", *CRITERIA),
        [(r.place, r.mount, r.total, *(str(r.places[c]) for c in CRITERIA)) for r in found.ranks],
    )
    yield heading("What the places come from")
    yield table(
        ("mount", "actuators", "kind", "transmission", "condition", "balance leaves",
         "singular in the hemisphere"),
        [_facts(s) for s in found.studies],
    )  # fmt: skip
    yield heading("Efforts around the horizon")
    yield from _efforts(found)
    yield heading("Over the hemisphere")
    yield paragraph(
        "North is up and east is right, the zenith is in the middle and the horizon at the rim. "
        "Thick lines are curves of singular poses."
    )
    for of in ("transmission", "condition", "effort"):
        studies = [s for s in found.studies if _has(s, of)]
        if studies:
            yield picture(_skies(studies, of))


def _facts(s: MountStudy) -> tuple[str | float, ...]:
    angle = "no links" if math.isnan(s.transmission) else f"{s.transmission:.1f}°"
    number = f"{s.condition:.2f}" if s.condition < 1e6 else "infinite"
    left = "unknown" if math.isnan(s.left) else f"{s.left:.1%}"
    where = "no"
    if s.loci:
        where = (
            f"yes, from {math.degrees(min(x.zenith.min() for x in s.loci)):.1f}° off the zenith on"
        )
    elif s.singular:
        at = {n: math.degrees(v) for n, v in s.chart.best("condition")[1].items()}
        where = f"yes, at azimuth {at['azimuth']:.0f}°, {at['zenith']:.0f}° off the zenith"
    kind = "linear" if s.linear else "rotary"
    return (s.mount, s.actuators, kind, angle, number, left, where)


def _efforts(found: MountComparison) -> Iterator[str]:
    swept = [s.sweep for s in found.studies if s.sweep is not None]
    kinds = list(dict.fromkeys(kind for s in swept for kind in s.balances))
    rows = [
        (s.mount, s.unit, f"{s.peak:.1f}",
         *(f"{s.balances[k].peak:.1f}" if k in s.balances else "–" for k in kinds))
        for s in swept
    ]  # fmt: skip
    yield paragraph(
        "The greatest effort of an actuator while the dish goes slowly once around the horizon, "
        "without counterweights and with the best ones at the places that the mount has for them."
    )
    if rows:
        yield table(
            ("mount", "unit", "without", *(f"weights on {k}" for k in kinds)),
            rows,
        )
    for s in found.studies:
        if s.sweep is None:
            yield paragraph(f"{s.mount} has no sweep: {s.unswept}.")
    if swept:
        yield picture(_sweeps(found))
        yield heading("Each actuator")
        yield paragraph("Without weights, and with the best ones at each place, over the azimuth.")
        yield picture(_each(swept))


def _sweeps(found: MountComparison) -> Figure:
    swept = [s.sweep for s in found.studies if s.sweep is not None]
    made = extra("matplotlib.figure", "plot")
    with styled():
        rows = -(-len(swept) // 2)
        drawing: Figure = made.Figure(figsize=(10.0, 0.4 + 2.5 * rows), layout="constrained")
        axes = drawing.subplots(rows, min(2, len(swept)), squeeze=False).reshape(-1)
        for ax, sweep in zip(axes, swept, strict=False):
            curves = {"without": sweep.efforts} | {
                f"weights on {k}": b.efforts for k, b in sweep.balances.items()
            }
            for color, (label, efforts) in zip(TRACES["light"], curves.items(), strict=False):
                greatest = np.abs(np.asarray(efforts)).reshape(len(sweep.azimuths), -1).max(axis=1)
                compass = (90.0 - sweep.azimuths) % 360.0
                order = np.argsort(compass)
                ax.plot(compass[order], greatest[order], label=label, color=color)
            top = _SPIKE * float(np.median(np.abs(sweep.efforts)))
            if sweep.peak > top:
                ax.set_ylim(0, top)
            ax.set_title(sweep.mount, loc="left")
            ax.set_xlim(0, 360)
            ax.set_xticks(range(0, 361, 90), ["N", "E", "S", "W", "N"])
            ax.set_ylabel(typeset(sweep.unit))
        for ax in axes[len(swept) :]:
            ax.set_axis_off()
        most = max(axes[: len(swept)], key=lambda ax: len(ax.get_lines()))
        handles: Any = most.get_legend_handles_labels()
        drawing.legend(*handles, loc="outside lower center", ncols=4)
    return drawing


def _each(swept: Sequence[HorizonSweep]) -> Figure:
    """Draw the efforts of each actuator: a row for a mount, a column for a kind of weights."""
    kinds = ["none", *dict.fromkeys(kind for s in swept for kind in s.balances)]
    made = extra("matplotlib.figure", "plot")
    with styled():
        size = (3.0 * len(kinds), 0.4 + 2.2 * len(swept))
        drawing: Figure = made.Figure(figsize=size, layout="constrained")
        axes = drawing.subplots(len(swept), len(kinds), squeeze=False)
        for row, sweep in zip(axes, swept, strict=True):
            for ax, kind in zip(row, kinds, strict=True):
                if kind != "none" and kind not in sweep.balances:
                    ax.set_axis_off()
                    continue
                efforts = np.asarray(sweep.held(kind))
                for k, color in zip(range(efforts.shape[1]), TRACES["light"], strict=False):
                    ax.plot(sweep.azimuths, efforts[:, k], color=color, label=sweep.actuators[k])
                top = _SPIKE * max(float(np.median(np.abs(efforts))), 1e-9)
                if np.abs(efforts).max() > top:
                    ax.set_ylim(-top, top)
                if np.abs(efforts).max() < _NOTHING * sweep.peak:
                    ax.set_ylim(-_NOTHING * sweep.peak, _NOTHING * sweep.peak)
                ax.set_title(f"{sweep.mount}, {kind}", loc="left", fontsize=8)
                ax.set_xlim(0, 360)
            row[0].set_ylabel(typeset(sweep.unit))
            row[0].legend(fontsize=7)
    return drawing


def _skies(studies: Sequence[MountStudy], of: str) -> Figure:
    from linkwright.parallel.chart_plots import draw, draw_curve

    if not studies:
        raise InputError(f"no mount of the comparison has {of!r}")
    made = extra("matplotlib.figure", "plot")
    with styled():
        rows = -(-len(studies) // 3)
        drawing: Figure = made.Figure(figsize=(12.0, 4.0 * rows), layout="constrained")
        for k, s in enumerate(studies):
            ax: Any = drawing.add_subplot(rows, min(3, len(studies)), k + 1, projection="polar")
            draw(drawing, ax, s.chart, of)
            for locus in s.loci:
                draw_curve(ax, locus.directions, color=_LOCUS, linewidth=2.6)
            ax.set_title(s.mount, loc="left", pad=12)
    return drawing
