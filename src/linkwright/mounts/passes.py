"""Passes: when a satellite is above a site's horizon, and its direction as a trajectory.

The elevation is sampled all along at steps that a low orbit's turn is long against, its maxima are
refined and joined to the samples, so that no pass is missed however short; sign changes of the
height above the horizon are then rises and sets, refined all at once. Each pass is a spline of the
fifth degree through the satellite's direction: continuous to the fourth derivative, so that rates
and accelerations are those of the very path that is followed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.checks import checked_angle
from linkwright.base.errors import InputError
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.motion.trajectory import POWERS, Trajectory
from linkwright.mounts.earth import lifted
from linkwright.mounts.orbits import DAY, EARTH, NEAR, Orbit, propagated
from linkwright.mounts.sites import Look, Site, topocentric
from linkwright.mounts.splines import quintic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

EXACT = 1e-5
"""Rises and sets are refined to this, s."""
TURN = 60
"""Samples in the time that one turn at the perigee's angular speed would take."""
REACH = 0.05
"""Angle by which the direction turns between knots at most, rad; less than 1e-7° is lost then."""
SWING = 0.1
"""Angle by which the satellite and the Earth turn about its center between knots at most, rad."""
DAY_TURN = 2 * math.pi / DAY
PADDING = 4
"""Knots before and after a pass, so that the ends of its spline lie outside."""
_LOWEST, _RIGHT = math.radians(-5.0), math.pi / 2
_NEARBY = math.radians(15.0)  # below the lowest point of a mask
FINE = 2.0
"""Between samples where a mask is, s."""
AGED = {True: 14.0, False: 30.0}
"""Days from the epoch after which elements are old: low orbits (drag), and high ones."""


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class Pass(Trajectory):
    """A satellite's way over a site: a trajectory of unit vectors East, North, up.

    Its time is 0 at the rise. The direction at times is `pass_(t)`, its rate `pass_.speed(t)`, its
    acceleration `pass_.acceleration(t)`; `pass_.block()` is the reference in a System.

    Args:
        instants: s after the rise.
        coefficients: of the direction.
        orbit: of the satellite.
        site: from which it is seen.
        begins: s from the epoch of the elements to the rise.
        culmination: the highest elevation, rad.
        culminates: when that is, s after the rise.
        rises: whether it rises at its beginning, or was up already when the search began.
        sets: whether it sets at its end, or was still up when the search ended.
        refraction: whether the air lifts it.

    >>> orbit = Orbit("A", 1, 61000, 0.0, 0.9, 0.0, 0.001, 0.0, 0.0, 15.5)
    >>> first = Site(-0.76, 3.01, 20).passes(orbit, days=1)[0]
    >>> f"{first.rise:%H:%M:%S}", round(first.duration, 3), round(first.culmination, 3)
    ('01:02:43', 367.198, 0.503)
    """

    orbit: Orbit
    site: Site
    begins: float
    culmination: float
    culminates: float
    rises: bool
    sets: bool
    refraction: bool

    def __init__(
        self,
        instants: ArrayLike,
        coefficients: ArrayLike,
        *,
        orbit: Orbit,
        site: Site,
        begins: float,
        culmination: float,
        culminates: float,
        rises: bool = True,
        sets: bool = True,
        refraction: bool = False,
    ) -> None:
        Trajectory.__init__(self, instants, coefficients)
        for name, value in (
            ("orbit", orbit),
            ("site", site),
            ("begins", begins),
            ("culmination", culmination),
            ("culminates", culminates),
            ("rises", rises),
            ("sets", sets),
            ("refraction", refraction),
        ):
            object.__setattr__(self, name, value)

    @property
    def rise(self) -> datetime:
        """When it begins, UTC."""
        return self.time(0.0)

    @property
    def top(self) -> datetime:
        """When it is highest, UTC."""
        return self.time(self.culminates)

    @property
    def set(self) -> datetime:
        """When it ends, UTC."""
        return self.time(self.duration)

    def time(self, t: float) -> datetime:
        """Return the time, UTC, that is some seconds after the rise."""
        return self.orbit.time(self.begins + t)

    def look(self, t: ArrayLike) -> Look:
        """Return direction, range and range rate from SGP4 itself, for Doppler and tables.

        Args:
            t: s after the rise.
        """
        since = self.begins + np.asarray(t, dtype=float)
        return self.site.look(self.orbit, since, refraction=self.refraction)

    def as_dict(self, frequency: float = 0.0) -> dict[str, object]:
        """Return it as plain data; azimuth and range at rise, culmination and set.

        Args:
            frequency: of a transmitter, Hz, whose Doppler shifts are given too.
        """
        look = self.look([0.0, self.culminates, self.duration])
        data: dict[str, object] = {
            "satellite": self.orbit.name,
            "number": self.orbit.number,
            "rise": self.rise.isoformat(timespec="milliseconds"),
            "top": self.top.isoformat(timespec="milliseconds"),
            "set": self.set.isoformat(timespec="milliseconds"),
            "duration_s": round(self.duration, 3),
            "culmination_deg": round(math.degrees(self.culmination), 4),
            "azimuth_deg": [round(math.degrees(a), 4) for a in look.azimuth],
            "range_m": [round(float(r), 1) for r in look.range],
            "rises": self.rises,
            "sets": self.sets,
        }
        if frequency:
            data["doppler_hz"] = [round(float(f), 1) for f in look.doppler(frequency)]
        return data

    def plot(self) -> Figure:
        """Return its path on a map of the sky, with rise, culmination and set in UTC.

        North is up, east right and the zenith in the middle. Needs Matplotlib (the extra `plot`);
        `chart.plot(passes=[...])` draws it over what a mount reaches.
        """
        from linkwright.parallel.chart_plots import pass_figure

        return pass_figure(self, f"{self.orbit.name}, {self.rise:%Y-%m-%d}")


@dataclass(frozen=True, slots=True)
class Passes(Sequence[Pass], Result):
    """Passes in the order of time.

    Args:
        members: the passes.
        words: what is to be said of them: that there are none and why, that elements are old, that
            the satellite never sets.
        warnings: those of the words that cast doubt on the numbers.

    >>> orbit = Orbit("A", 1, 61000, 0.0, 0.9, 0.0, 0.001, 0.0, 0.0, 15.5)
    >>> found = Site(-0.76, 3.01, 20).passes(orbit, days=0.01)
    >>> len(found), found.words[0][:43]
    (0, 'A does not rise above 10° in these 0.01 day')
    """

    members: tuple[Pass, ...]
    words: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[Pass]:
        return iter(self.members)

    @overload
    def __getitem__(self, key: int) -> Pass: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Pass, ...]: ...
    def __getitem__(self, key: int | slice) -> Pass | tuple[Pass, ...]:
        return self.members[key]


@dataclass(frozen=True, slots=True)
class _Search:
    """What a site sees of an orbit, as functions of seconds after the epoch."""

    site: Site
    orbit: Orbit
    above: float
    refraction: bool

    def sight(self, t: Array) -> tuple[Array, Array]:
        """Return unit vectors as seen, and how fast the height (the third of them) grows."""
        _, r, v = propagated(self.orbit, t)
        place, speed = topocentric(self.site, self.orbit, t, r, v)
        far = np.sqrt(np.einsum("ij,ij->i", place, place))
        direction = place / far[:, None]
        rate = np.einsum("ij,ij->i", direction, speed)
        climb = (speed[:, 2] - direction[:, 2] * rate) / far
        if self.refraction:
            direction = lifted(direction, self.site.pressure, self.site.temperature)
        return direction, climb

    def climb(self, t: Array) -> Array:
        return self.sight(t)[1]

    def clearance(self, t: Array) -> Array:
        """Return the elevation above the horizon that counts, rad."""
        return self.over(self.sight(t)[0])

    def over(self, d: Array) -> Array:
        elevation = np.arctan2(d[:, 2], np.hypot(d[:, 0], d[:, 1]))
        least: Array | float = self.above
        if self.site.mask:
            azimuth = np.arctan2(d[:, 0], d[:, 1])
            least = np.maximum(self.above, self.site.horizon(azimuth))
        return np.asarray(elevation - least)


def find_passes(
    site: Site,
    orbit: Orbit,
    days: float = 3.0,
    above: float = math.radians(10.0),
    start: datetime | str | None = None,
    *,
    refraction: bool = False,
) -> Passes:
    """Return what `Site.passes` does, without warning of what its words say."""
    if not 0 < days <= 3660:
        raise InputError(f"passes in {days:g} days", remedy="give above 0 and at most 3660 days")
    checked_angle(above, "the elevation of passes", least=_LOWEST, most=math.nextafter(_RIGHT, 0))
    first = 0.0 if start is None else orbit.since_epoch(start)
    last = first + days * DAY
    search = _Search(site, orbit, above, refraction)
    step = 2 * math.pi / orbit.fastest / TURN
    t = np.linspace(first, last, max(2, math.ceil((last - first) / step) + 1))
    codes, _, _ = propagated(orbit, t)
    words: list[str] = []
    faulty = np.flatnonzero(codes)
    if len(faulty):
        fault = orbit.fault(int(codes[faulty[0]]), float(t[faulty[0]]))
        if faulty[0] < 4:
            raise fault
        words.append(f"{fault.what}; passes are looked for until then")
        t = t[: faulty[0] - 1]
    old = _age(orbit, t)
    d, climb = search.sight(t)
    tops = _extremes(search, t, climb)
    grid, kept = _refined_grid(search, t, d, tops)
    up = kept > 0
    cross = np.flatnonzero(up[1:] != up[:-1])
    at = _roots(search.clearance, grid[cross], grid[cross + 1], kept[cross], kept[cross + 1])
    begins = list(at[~up[cross]])
    ends = list(at[up[cross]])
    if up[0]:
        begins.insert(0, grid[0])
    if up[-1]:
        ends.append(grid[-1])
    spans = [(a, b) for a, b in zip(begins, ends, strict=True) if b - a > 1e-3]
    found = _splines(search, spans, bool(up[0]), bool(up[-1]))
    if not found:
        words.append(_never(search, d, days))
    elif len(found) == 1 and not (found[0].rises or found[0].sets):
        words.append(
            f"{orbit.name} never sets below {math.degrees(above):g}° in these {days:g} days: "
            "its one pass is as long as the search"
        )
    doubts = [*words[: int(len(faulty) > 0)], *([old] if old else [])]
    return Passes(tuple(found), tuple(words + ([old] if old else [])), tuple(doubts))


def _age(orbit: Orbit, t: Array) -> str:
    """Return a warning where the elements are old, or nothing."""
    away = max(abs(float(t[0])), abs(float(t[-1]))) / DAY
    most = AGED[orbit.period / 60 < NEAR]
    if away <= most:
        return ""
    return (
        f"the elements of {orbit.name} are of {orbit.epoch:%Y-%m-%d}, up to {away:.0f} days from "
        f"these times: after {most:.0f} days they are wrong by kilometers; take newer ones"
    )


def _extremes(search: _Search, t: Array, climb: Array) -> Array:
    """Return when the elevation is greatest, or least, of all around."""
    k = np.flatnonzero((climb[:-1] > 0) != (climb[1:] > 0))
    return _roots(search.climb, t[k], t[k + 1], climb[k], climb[k + 1])


def _refined_grid(search: _Search, t: Array, d: Array, tops: Array) -> tuple[Array, Array]:
    """Return times between which a pass neither begins and ends, and the clearance at them."""
    more = [tops]
    if search.site.mask:
        # a mask bends the horizon at will: look closely wherever the sky is above its lowest point
        lowest = max(search.above, min(up for _, up in search.site.mask))
        high = np.arcsin(np.clip(d[:, 2], -1, 1)) > lowest - _NEARBY
        step = t[1] - t[0]
        near = t[:-1][high[:-1] | high[1:]]
        more.append((near[:, None] + np.arange(FINE, step, FINE)).ravel())
    extra = np.concatenate(more)
    grid = np.concatenate([t, extra])
    order = np.argsort(grid, kind="stable")
    clearance = np.concatenate([search.over(d), search.clearance(extra)])
    return grid[order], clearance[order]


def _roots(f: Callable[[Array], Array], a: Array, b: Array, fa: Array, fb: Array) -> Array:
    """Return where functions of opposite signs at a and b vanish, all at once.

    The secant rule of Illinois: regula falsi that halves the value of an end that stays twice.
    """
    a, b, fa, fb = a.copy(), b.copy(), fa.copy(), fb.copy()
    side = np.zeros(len(a), dtype=int)
    x = a.copy()
    going = np.arange(len(a))
    for _ in range(60):
        if not len(going):
            break
        low, high, at_low, at_high = a[going], b[going], fa[going], fb[going]
        new = (low * at_high - high * at_low) / (at_high - at_low)
        value = f(new)
        moved = np.abs(new - x[going])
        x[going] = new
        left = (value > 0) == (at_low > 0)
        kept_right, kept_left = left & (side[going] == 1), ~left & (side[going] == -1)
        fb[going] = np.where(left, np.where(kept_right, at_high / 2, at_high), value)
        fa[going] = np.where(left, value, np.where(kept_left, at_low / 2, at_low))
        a[going], b[going] = np.where(left, new, low), np.where(left, high, new)
        side[going] = np.where(left, 1, -1)
        going = going[(moved > EXACT / 10) & (value != 0)]
    return x


def _splines(
    search: _Search, spans: list[tuple[float, float]], already: bool, still: bool
) -> list[Pass]:
    """Return a pass for each span of time; the satellite is asked once for all of them."""
    if not spans:
        return []
    knots = []
    ends = np.array(spans)
    rough = np.linspace(ends[:, 0], ends[:, 1], 33, axis=1)
    rates = _turning(search, rough.ravel()).reshape(rough.shape)
    for (a, b), fastest in zip(spans, rates.max(axis=1), strict=True):
        turns = max(float(fastest) / REACH, search.orbit.fastest / SWING, DAY_TURN / SWING)
        count = max(8, math.ceil((b - a) * turns))
        knots.append(np.arange(-PADDING, count + PADDING + 1) * ((b - a) / count))
    since = np.concatenate([k + a for k, (a, _) in zip(knots, spans, strict=True)])
    directions, _ = search.sight(since)
    parts = np.split(directions, np.cumsum([len(k) for k in knots])[:-1])
    found = []
    for number, (k, d, (a, _)) in enumerate(zip(knots, parts, spans, strict=True)):
        t, c = quintic(k, d, PADDING)
        highest, when = _highest(t, c)
        found.append(
            Pass(
                t,
                c,
                orbit=search.orbit,
                site=search.site,
                begins=float(a),
                culmination=highest,
                culminates=when,
                rises=not (already and number == 0),
                sets=not (still and number == len(spans) - 1),
                refraction=search.refraction,
            )
        )
    return found


def _turning(search: _Search, t: Array) -> Array:
    """Return how fast the direction turns, rad/s."""
    _, r, v = propagated(search.orbit, t)
    place, speed = topocentric(search.site, search.orbit, t, r, v)
    far = np.linalg.norm(place, axis=1)
    return np.asarray(np.linalg.norm(np.cross(place, speed), axis=1) / far**2)


def _highest(t: Array, c: Array) -> tuple[float, float]:
    """Return the highest elevation of a path of pieces, rad, and when it is."""
    found = (-math.inf, 0.0)
    k = int(np.argmax(c[:, 0, 2]))  # the piece that starts highest, and those beside it
    for piece in range(max(k - 1, 0), min(k + 2, len(c))):
        height, length = c[piece, :, 2], t[piece + 1] - t[piece]
        flat = np.roots((height * np.arange(POWERS))[:0:-1])
        real = flat[np.abs(flat.imag) < 1e-9 * length].real
        since = np.concatenate([[0.0, length], real[(real > 0) & (real < length)]])
        up = np.polyval(height[::-1], since)
        best = int(np.argmax(up))
        found = max(found, (float(up[best]), float(t[piece] + since[best])))
    when = found[1]
    d = Trajectory(t, c)(when)
    return math.atan2(d[2], math.hypot(d[0], d[1])), when


def _never(search: _Search, d: Array, days: float) -> str:
    """Return why there is no pass."""
    orbit, site, above = search.orbit, search.site, math.degrees(search.above)
    best = math.degrees(math.asin(float(np.clip(np.nanmax(d[:, 2]), -1, 1))))
    said = f"{orbit.name} does not rise above {above:g}° in these {days:g} days"
    apogee = orbit.axis * (1 + orbit.eccentricity)
    share = min(EARTH * math.cos(math.radians(above)) / apogee, 1.0)
    seen = math.degrees(math.acos(share)) - above
    north = math.degrees(min(orbit.inclination, math.pi - orbit.inclination))
    latitude = math.degrees(site.latitude)
    if abs(latitude) > north + seen + 0.5:
        return (
            f"{said}, and never will at latitude {latitude:g}°: its orbit stays within "
            f"{north:.1f}° of the equator and is seen up to {seen:.0f}° farther"
        )
    masked = " and the mask" if site.mask else ""
    return (
        f"{said}: its highest elevation is {best:.1f}°; lower `above`{masked}, or look for longer"
    )
