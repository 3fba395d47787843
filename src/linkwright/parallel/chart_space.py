"""Axes of charts: what is known of a machine at each place, in the words of people.

Directions have a compass azimuth (rad from North over East) and an angle to the zenith or an
elevation; poses have x, y, z (m) and roll, pitch, yaw (rad, about the fixed axes x, y, z in this
order); a distance of the platform from the origin (m); and any coordinate by its name (rad,
m). The last axis is the one along which lines of poses are followed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.checks import checked_angle
from linkwright.base.errors import InputError, suggestion
from linkwright.base.reprs import one_line
from linkwright.equations.parallel_machine import ParallelMachine

Array: TypeAlias = NDArray[np.float64]

_FAR = {"zenith": np.pi, "elevation": np.pi / 2}
ANGLES = ("azimuth", "zenith", "elevation", "roll", "pitch", "yaw")
"""Names of axes that files, pictures and the command line have in degrees."""
_UNITS = dict.fromkeys(ANGLES, "rad") | dict.fromkeys(("x", "y", "z", "distance"), "m")
_TURNS = ("roll", "pitch", "yaw")
_MOST = 2**31


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class ChartAxis:
    """An axis of a chart."""

    name: str  # of what changes along it
    values: Array  # at its places
    unit: str  # of the values

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shown_unit(self) -> str:
        """The unit that files and pictures have."""
        return "deg" if self.name in ANGLES else self.unit

    def shown(self, values: ArrayLike) -> Array:
        """Return values along it as files and pictures have them."""
        found = np.asarray(values, dtype=float)
        return np.round(np.degrees(found), 9) if self.name in ANGLES else found


def checked_place(name: str, value: float) -> float:
    """Return a value of an axis; an angle in degrees is rejected."""
    if name not in ANGLES:
        return float(value)
    far = _FAR.get(name, 2 * math.tau)
    return checked_angle(value, f"{name!r} of a chart", least=-far, most=far)


def axis_of(name: str, given: ArrayLike, unit: str) -> ChartAxis:
    """Return an axis from (first, last, count), or from all its values.

    >>> axis_of("zenith", (0, 1.5, 4), "rad").values.tolist()
    [0.0, 0.5, 1.0, 1.5]
    """
    try:
        values = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        values = np.empty((0, 0))
    if isinstance(given, tuple) and len(given) == 3 and isinstance(given[2], int | np.integer):
        first, last, count = given
        if not 1 <= int(count) < _MOST or not np.isfinite([float(first), float(last)]).all():
            raise InputError(
                f"the axis {name!r} goes from {first} to {last} in {count} places",
                remedy="give (first, last, count) with a count of at least 1",
            )
        values = np.linspace(float(first), float(last), int(count))
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise InputError(
            f"the axis {name!r} has no values",
            remedy="give (first, last, count) or an array of numbers",
        )
    for end in (values.min(), values.max()):
        checked_place(name, end)
    return ChartAxis(name, values, unit)


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class ChartSpace:
    """The axes of a chart, and what else is fixed."""

    axes: tuple[ChartAxis, ...]  # the last one is that of the lines
    fixed: Mapping[str, float]  # other numbers by name, in the units of axes
    # what closes the loops, in the words of `linkwright.equations.closing`
    known: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", _known({*self._names, *self.fixed}, self._order))

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.axes)

    @property
    def _order(self) -> list[str]:
        return [*self._names, *self.fixed]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of places along each axis."""
        return tuple(len(a) for a in self.axes)

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return int(np.prod([len(a) for a in self.axes[:-1]], dtype=np.int64))

    @property
    def output(self) -> str:
        """What counts of the platform's motion: direction, position or the whole pose."""
        if "direction" in self.known:
            return "direction"
        moved = any(w.startswith("position") for w in self.known)
        return "position" if moved and "rotation" not in self.known else "pose"

    def line_values(self, lines: NDArray[np.int_]) -> dict[str, Array]:
        """Return the values of all axes but the last, for lines by number."""
        values: dict[str, Array] = {}
        sizes = [len(a) for a in self.axes[:-1]]
        places = np.unravel_index(lines.astype(np.int64), sizes) if sizes else ()
        for axis, place in zip(self.axes[:-1], places, strict=True):
            values[axis.name] = axis.values[place]
        return values

    def rows(self, across: Mapping[str, Array], along: Array) -> Array:
        """Return what is known, as rows of numbers, for values of the axes that broadcast."""
        given: dict[str, Array] = {k: np.asarray(v) for k, v in self.fixed.items()}
        given |= dict(across)
        given[self.axes[-1].name] = along
        shape = np.broadcast_shapes(*(v.shape for v in given.values()))
        parts: list[Array] = []
        for word in self.known:
            if word == "direction":
                parts += _direction(given)
            elif word == "rotation":
                parts += _rotation(given)
            else:
                parts.append(given[word.removeprefix("position.")])
        made = np.empty((*shape, len(parts)))
        for k, part in enumerate(parts):
            made[..., k] = part
        return made


def _known(names: set[str], order: Sequence[str]) -> tuple[str, ...]:
    """Return what closes the loops, each group of names once."""
    found: list[str] = []
    if names & {"azimuth", "zenith", "elevation"}:
        if "azimuth" not in names or len(names & {"zenith", "elevation"}) != 1:
            raise InputError(
                "a direction has an azimuth, and a zenith angle or an elevation",
                remedy='give {"azimuth": (0, 2 * pi, 361), "zenith": (0, pi / 2, 91)}',
            )
        found.append("direction")
    if names & set(_TURNS):
        found.append("rotation")
    for name in order:
        if name in ("x", "y", "z"):
            found.append(f"position.{name}")
        elif name not in ("azimuth", "zenith", "elevation", *_TURNS):
            found.append(name)
    return tuple(found)


def _direction(given: Mapping[str, Array]) -> list[Array]:
    turn = np.pi / 2 - given["azimuth"]
    polar = given["zenith"] if "zenith" in given else np.pi / 2 - given["elevation"]
    level = np.sin(polar)
    return [level * np.cos(turn), level * np.sin(turn), np.cos(polar)]


def _rotation(given: Mapping[str, Array]) -> list[Array]:
    """Return the first two columns of Rz(yaw) Ry(pitch) Rx(roll)."""
    roll, pitch, yaw = (given.get(n, np.zeros(())) for n in _TURNS)
    (sr, sp, sy), (cr, cp, cy) = ([f(a) for a in (roll, pitch, yaw)] for f in (np.sin, np.cos))
    first = [cy * cp, sy * cp, -sp]
    return [*first, cy * sp * sr - sy * cr, sy * sp * sr + cy * cr, cp * sr]


def chart_space(
    machine: ParallelMachine, axes: Mapping[str, ArrayLike], at: Mapping[str, float] | None
) -> ChartSpace:
    """Return the axes of a chart of a machine."""
    if not axes:
        raise InputError(
            "a chart needs an axis",
            remedy='give {"azimuth": (0, 2 * pi, 361), "zenith": (0, pi / 2, 91)}',
        )
    slides = {x.name for b in machine.mechanism.bodies.values() for x, _ in b.translations}
    units = dict(_UNITS)
    units.update({q.name: "m" if q.name in slides else "rad" for q in machine.coordinates})
    fixed = dict(at or {})
    for name in (*axes, *fixed):
        if name not in units:
            raise InputError(
                f"{machine.mechanism.name!r} has nothing called {name!r} to chart",
                remedy=suggestion(name, units, f"one of {', '.join(units)}"),
            )
    if twice := sorted(set(axes) & set(fixed)):
        raise InputError(f"{', '.join(twice)} is an axis and fixed at once")
    made = tuple(axis_of(name, given, units[name]) for name, given in axes.items())
    return ChartSpace(made, {k: checked_place(k, v) for k, v in fixed.items()})
