"""A mount on a ship beside the same mount ashore: efforts, and the forces around its platform.

It is the maritime run of the antenna-mount thesis (section 10.4) for any mount: the dish keeps a
direction of its deck, and what the ship's motion adds to the actuators and to the joints between
the platform and its neighbors is compared with what they carry at rest.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import evaluate
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.files import path_of, write_text
from linkwright.base.optional import extra
from linkwright.base.reprs import brief, one_line
from linkwright.base.results import Result
from linkwright.mechanism import Mechanism, ModelLike, mechanism_of
from linkwright.mounts.loads_on_deck import deck_loads
from linkwright.mounts.ships import Ship
from linkwright.recording import Recording
from linkwright.recording.colors import TRACES
from linkwright.recording.document import document, heading, paragraph, picture, table, typeset
from linkwright.recording.plots import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DeckComparison", "DeckRow", "compare_deck"]

Array = NDArray[np.float64]


@one_line
@dataclass(frozen=True, slots=True)
class DeckRow:
    """What one joint or actuator carries ashore and at sea.

    Args:
        name: of the joint's body, or of the actuator.
        kind: "effort" of an actuator, or "force" in a joint of the platform.
        unit: of what follows.
        ashore: the magnitude without the ship.
        least: the smallest magnitude at sea.
        most: the greatest.
        at: when that is, s.

    >>> DeckRow("leg1", "effort", "N", 400.0, 10.0, 1000.0, 2.5).ratio
    2.5
    """

    name: str
    kind: str
    unit: str
    ashore: float
    least: float
    most: float
    at: float

    @property
    def ratio(self) -> float:
        """The greatest at sea over what it is ashore; infinite where that is nothing."""
        return self.most / self.ashore if self.ashore > 1e-6 * self.most else float("inf")


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class DeckComparison(Result):
    """A mount on its ship beside the same mount ashore.

    Args:
        mount: its name.
        direction: that the dish keeps, in the deck's axes.
        actuators: by name, with the channel and the sign of its effort in both recordings.
        neighbors: bodies whose joints hold the platform.
        ashore: what joints carry without the ship.
        at_sea: what they carry with it.

    >>> from linkwright.mounts.ships import report_ship
    >>> found = compare_deck(
    ...     "mount-alt-az", (1, 0, 0.2), [0.0, 2.5], report_ship(stabilized=True)
    ... )
    >>> [row.name for row in found.rows()]
    ['azimuth', 'tilt', 'tilt']
    """

    mount: str
    direction: tuple[float, float, float]
    actuators: dict[str, tuple[str, float]]
    neighbors: tuple[str, ...]
    ashore: Recording = field(repr=False)
    at_sea: Recording = field(repr=False)

    def effort(self, actuator: str, *, at_sea: bool = True) -> Array:
        """Return the effort of an actuator over time, N or N*m.

        Args:
            actuator: its name.
            at_sea: with the ship, or without it.
        """
        channel, sign = self.actuators[actuator]
        return np.asarray(sign * (self.at_sea if at_sea else self.ashore)[channel])

    def rows(self) -> list[DeckRow]:
        """Return a row for each actuator, and one for each joint of the platform."""
        found = []
        for name, (channel, _) in self.actuators.items():
            both = [np.abs(self.effort(name, at_sea=x)) for x in (False, True)]
            found.append(self._row(name, "effort", self.ashore.channel(channel).unit, *both))
        for name in self.neighbors:
            found.append(self._row(name, "force", "N", self.ashore[name], self.at_sea[name]))
        return found

    def _row(self, name: str, kind: str, unit: str, still: Array, moved: Array) -> DeckRow:
        k = int(np.argmax(moved))
        worst = float(self.at_sea.times[k])
        return DeckRow(
            name, kind, unit, float(still[0]), float(moved.min()), float(moved[k]), worst
        )

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data; efforts and forces are magnitudes in their units."""
        return {
            "mount": self.mount,
            "direction": list(self.direction),
            "duration_s": float(self.at_sea.times[-1]),
            "rows": [
                {"name": r.name, "kind": r.kind, "unit": r.unit, "ashore": r.ashore,
                 "least": r.least, "most": r.most, "at_s": r.at,
                 "ratio": r.ratio if np.isfinite(r.ratio) else None}
                for r in self.rows()
            ],
        }  # fmt: skip

    def save(self, path: str | os.PathLike[str], *, replace: bool = True) -> int:
        """Write a page with pictures and the table, and return its size in bytes.

        Args:
            path: of the file, .html.
            replace: whether one that is there is replaced.
        """
        if path_of(path).suffix.lower() not in (".html", ".htm"):
            raise InputError(
                f"{brief(path)}: the comparison is a page", remedy="give a name that ends in .html"
            )
        text = document(f"{self.mount} at sea", list(self._parts()))
        write_text(Path(path), text, replace=replace)
        return len(text.encode())

    def _parts(self) -> Iterator[str]:
        x, y, z = self.direction
        yield paragraph(
            f"The dish keeps the direction ({x:.3f}, {y:.3f}, {z:.3f}) of its deck: on the left "
            "without the ship, on the right with it."
        )
        yield heading("Actuators")
        first = next(iter(self.actuators.values()))[0]
        efforts = {
            n: tuple(self.effort(n, at_sea=s) for s in (False, True)) for n in self.actuators
        }
        yield picture(self._figure([("actuators", efforts, self.ashore.channel(first).unit)]))
        yield heading("Joints of the platform")
        yield picture(
            self._figure([(n, {n: (self.ashore[n], self.at_sea[n])}, "N") for n in self.neighbors])
        )
        yield heading("Peaks")
        rows = [
            (r.name, r.kind, r.unit, r.ashore, r.least, r.most, r.at,
             f"{r.ratio:.2f}" if np.isfinite(r.ratio) else "from nothing")
            for r in self.rows()
        ]  # fmt: skip
        yield table(("", "what", "unit", "ashore", "least", "greatest", "at s", "ratio"), rows)

    def _figure(self, rows: Sequence[tuple[str, dict[str, Any], str]]) -> Figure:
        made = extra("matplotlib.figure", "plot")
        with styled():
            size = (10.0, 0.4 + 2.1 * len(rows))
            drawing: Figure = made.Figure(figsize=size, layout="constrained")
            axes = drawing.subplots(len(rows), 2, squeeze=False, sharey="row", sharex="col")
            times = self.ashore.times, self.at_sea.times
            for pair, (title, curves, unit) in zip(axes, rows, strict=True):
                for k, words in enumerate(("without the ship", "with the ship")):
                    for color, (name, both) in zip(TRACES["light"], curves.items(), strict=False):
                        pair[k].plot(times[k], both[k], color=color, label=name)
                    pair[k].set_title(f"{title}, {words}", loc="left")
                    pair[k].set_ylabel(typeset(unit) if k == 0 else "")
                if len(curves) > 1:
                    pair[0].legend()
            for ax in axes[-1]:
                ax.set_xlabel("s")
        return drawing


@worded
def compare_deck(
    model: ModelLike, direction: ArrayLike, times: ArrayLike, ship: Ship
) -> DeckComparison:
    """Compare what a mount's actuators and the joints of its platform carry ashore and at sea.

    Args:
        model: a mechanism, a robot, a file or the name of a shipped model, with actuators and
            platform.
        direction: unit vector that the dish keeps on the deck.
        times: s.
        ship: that carries the mount.

    >>> from linkwright.mounts.ships import report_ship
    >>> found = compare_deck("mount-x-y", (1, 0, 1), [0.0, 2.5], report_ship(stabilized=True))
    >>> found.rows()[-1].ratio > 1
    True
    """
    m = mechanism_of(model)
    if m.platform is None or not m.actuators:
        raise InputError(
            f"{m.name!r} names no actuators and platform",
            remedy="let it be a mount, such as mount-prismatic, or name them",
        )
    d = np.asarray(direction, dtype=float)
    if d.shape != (3,) or not np.isfinite(d).all() or not np.linalg.norm(d) > 0:
        raise InputError("a direction is three numbers that are not all zero")
    d = d / np.linalg.norm(d)
    efforts = _efforts(m)
    t = np.atleast_1d(np.asarray(times, dtype=float))
    if t.size == 0 or not np.isfinite(t).all():
        raise InputError("there are no finite times to compare at", remedy="give instants, in s")
    platform = m.platform.point.body
    held = [b.name for b in m.bodies.values() if b.parent is platform]
    names = (platform.name, *held) if platform.parent is not None else tuple(held)
    moved = deck_loads(m, d, t, ship)
    x, y, z = map(float, d)
    return DeckComparison(m.name, (x, y, z), efforts, names, deck_loads(m, d, t), moved)


def _efforts(m: Mechanism) -> dict[str, tuple[str, float]]:
    """Return the channel and the sign of each actuator's effort: the part along its own axis."""
    struts = {s.slider for s in m.driven_struts}
    found = {}
    for q in m.actuators:
        body = next(b for b in m.bodies.values() if q in b.coordinates)
        if body in struts:
            raise InputError(
                f"the force of {q.name!r}, a strut of driven length, is in no joint",
                remedy="take a mount whose actuators turn or slide in joints of their own",
            )
        speed = m.kinematics().motions[body].speeds[0]
        turns = not speed.omega.is_zero
        parts = (speed.omega if turns else speed.velocity).components(body.frame)
        along = [float(evaluate(x, {})) if x.is_constant else np.nan for x in parts]
        k = int(np.argmax(np.abs(along)))
        if not np.isfinite(along).all() or abs(abs(along[k]) - 1.0) > 1e-9:
            raise InputError(
                f"{q.name!r} moves along no axis of its own link",
                remedy="let its joint have the link's x, y or z (body_axis=...)",
            )
        letter = "M" if turns else "F"
        found[q.name] = (f"{body.name}.{letter}{'xyz'[k]}", along[k])
    return found
