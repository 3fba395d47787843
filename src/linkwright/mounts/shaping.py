"""Shaping the path of an alt-az mount past its keyhole: lead and lag, and over the top.

Where a target passes near the zenith, the azimuth may lead it before its closest approach and lag
it after, as long as the pointing error stays below a limit (Crawford and Brush: about twice the
time, so about half the speed). An azimuth that is off by a costs sin(error) = cos(elevation) sin(a)
when the elevation does the rest, so all azimuths that will do form a tube about the target's own,
wide near the zenith. The path inside it is a cubic spline: its coefficients c, h apart, bound its
speed by their first differences over h and its acceleration by their second ones over h², so the
slowest path is that of a linear program, and so is the one nearest to the target at that speed.
Where the target comes within the error of the zenith, the tube is open there, and the dish may go
over the top: past 90° of elevation, with an azimuth that does not turn at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from linkwright.base.checks import checked
from linkwright.base.errors import Error
from linkwright.base.results import Result
from linkwright.motion.trajectory import Trajectory, through
from linkwright.mounts.axes import serial_axes

Array = NDArray[np.float64]

STEP = 0.1
"""Between samples of the tube, s."""
KNOT = 3
"""Samples from one coefficient of the path to the next."""
_MARGINS = (0.999, 0.99, 0.95, 0.85)  # of the error, as it is larger between samples


class ShapingError(Error):
    """A pass that no shape of the path brings within the limits."""


@dataclass(frozen=True, slots=True)
class ShapedPath(Result):
    """The path of azimuth and elevation that follows a pass within limits.

    Args:
        path: azimuth (from North over East) and elevation over time, rad; over the top, the
            elevation goes on past 90°.
        rate: the largest speed of the azimuth, rad/s.
        plain: the one that the target itself asks for, rad/s.
        error: the largest pointing error, rad.
        over_the_top: whether it goes past 90° of elevation.

    >>> still = through([0, 1, 2, 3], np.zeros((4, 2)))
    >>> ShapedPath(still, 0.0, 0.1, 0.0, False).direction(np.array([1.0]))
    array([[0., 1., 0.]])
    """

    path: Trajectory = field(repr=False)
    rate: float
    plain: float
    error: float
    over_the_top: bool
    _units = (
        ("path", "rad"),
        ("rate", "rad/s"),
        ("plain", "rad/s"),
        ("error", "rad"),
    )

    @property
    def aim(self) -> Trajectory:
        """The directions along it: what a mount follows in place of the pass."""
        first, last = self.path.instants[[0, -1]]
        t = np.linspace(first, last, 1 + math.ceil((last - first) / STEP))
        return through(t, self.direction(t))

    def direction(self, t: NDArray[np.float64]) -> Array:
        """Return where the dish points at times.

        Args:
            t: s after the rise.
        """
        azimuth, elevation = self.path(t).T
        flat = np.cos(elevation)
        return np.stack([flat * np.sin(azimuth), flat * np.cos(azimuth), np.sin(elevation)], axis=1)


def shape_path(
    target: Trajectory,
    *,
    error: float,
    speed: float = math.radians(5.0),
    acceleration: float = math.radians(5.0),
    over_the_top: bool | None = None,
) -> ShapedPath:
    """Return the slowest path of an alt-az mount that keeps a pass within an error.

    Args:
        target: unit vectors over time, such as a pass.
        error: pointing error that is allowed, rad; half the beamwidth, say.
        speed: limit of the azimuth, rad/s.
        acceleration: limit of the azimuth, rad/s².
        over_the_top: whether to go past 90° of elevation; by default where lead and lag need more
            than the limit and the pass comes near enough to the zenith.

    >>> from linkwright.mounts.orbits import Orbit
    >>> from linkwright.mounts.sites import Site
    >>> orbit = Orbit("A", 1, 61000, 0.0, 0.9, 0.0, 0.001, 0.0, 0.0, 15.5)
    >>> low = Site(-0.76, 3.01, 20).passes(orbit, days=1)[0]
    >>> found = shape_path(low, error=math.radians(0.4))
    >>> found.rate < found.plain, found.over_the_top
    (True, False)
    """
    for what, value in (("error", error), ("speed", speed), ("acceleration", acceleration)):
        checked(value, f"the {what}", above=0)
    count = KNOT * max(3, math.ceil(target.duration / STEP / KNOT)) + 1
    t = np.linspace(target.instants[0], target.instants[-1], count)
    d = target(t)
    azimuth = np.unwrap(np.arctan2(d[:, 0], d[:, 1]))
    top = int(np.argmax(d[:, 2]))
    away = math.hypot(d[top, 0], d[top, 1])
    near = away <= math.sin(min(error, math.pi / 2))
    if over_the_top and not near:
        raise ShapingError(
            f"the pass stays {math.degrees(math.asin(away)):.2f}° from the zenith, "
            f"and an error of {math.degrees(error):.2f}° is allowed",
            remedy="go over the top only where it comes nearer than that",
        )
    plain = float(np.abs(serial_axes("alt-az").rate(d, target.speed(t))).max())
    turned = azimuth - math.copysign(math.pi, azimuth[-1] - azimuth[0]) * (np.arange(count) > top)
    ways = ([False, True] if near else [False]) if over_the_top is None else [over_the_top]
    tubes = [_Tube(t, d, turned if over else azimuth, over) for over in ways]
    fine = np.linspace(t[0], t[-1], 8 * count)
    wanted = target(fine)

    def within(tube: _Tube, speed: float, acceleration: float) -> ShapedPath | None:
        for margin in _MARGINS:
            found = tube.path(margin * error, speed, acceleration)
            if found is None:
                return None
            made = ShapedPath(found, float(found.max_abs(1)[0]), plain, 0.0, tube.over)
            pointed = made.direction(fine)
            off = np.linalg.norm(np.cross(wanted, pointed), axis=1)
            left = float(np.arctan2(off, np.einsum("ij,ij->i", wanted, pointed)).max())
            if left <= error:
                return replace(made, error=left)
        return None

    for tube in tubes:
        if (made := within(tube, speed, acceleration)) is not None:
            return made
    for margin, tube in product(_MARGINS, reversed(tubes)):  # what is told has been tried
        need = tube.needs(margin * error, speed, acceleration)
        if not math.isfinite(sum(need)):
            continue
        rate, most = (math.ceil(1e3 * math.degrees(v)) / 1e3 for v in need)
        if within(tube, math.radians(rate), math.radians(most)) is None:
            continue
        raise ShapingError(
            f"the azimuth would have to turn at {rate:.3f}°/s with {most:.3f}°/s², and its limits "
            f"are {math.degrees(speed):.3f}°/s and {math.degrees(acceleration):.3f}°/s²",
            remedy="allow a larger error, a faster azimuth, or take a mount without a keyhole",
        )
    raise ShapingError(
        f"no path that is sampled every {STEP} s keeps an error of {math.degrees(error):.3g}°",
        remedy="allow a larger error, or take a mount without a keyhole",
    )


class _Tube:
    """The azimuths that keep a pass within an error, and the splines inside them."""

    def __init__(self, t: Array, d: Array, asked: Array, over: bool) -> None:
        from scipy.interpolate import BSpline
        from scipy.sparse import block_array, diags_array, eye_array

        self.t, self.d, self.asked, self.over = t, d, asked, over
        self.flat = np.hypot(d[:, 0], d[:, 1])
        self.n = n = (len(t) - 1) // KNOT + 3
        h = KNOT * float(t[1] - t[0])
        self.knots = t[0] + h * np.arange(-3.0, n + 1)
        values = BSpline.design_matrix(np.clip(t, self.knots[3], self.knots[-4]), self.knots, 3)
        one = np.ones(n)
        first = diags_array([-one, one], offsets=[0, 1], shape=(n - 1, n)) / h
        second = diags_array([one, -2 * one, one], offsets=[0, 1, 2], shape=(n - 2, n)) / h**2
        side = diags_array(self.flat[::KNOT]) @ values[::KNOT]
        self.aim = self.flat[::KNOT] * self.asked[::KNOT]
        away = eye_array(n - 2)
        v, a = -np.ones((n - 1, 1)), -np.ones((n - 2, 1))
        # Unknowns: the coefficients, the largest speed and acceleration, the errors at the knots.
        self.rows = block_array(
            [
                [values, None, None, None],
                [first, v, None, None],
                [-first, v, None, None],
                [second, None, a, None],
                [-second, None, a, None],
                [side, None, None, -away],
                [-side, None, None, -away],
            ],
            format="csr",
        )

    def path(self, error: float, speed: float, acceleration: float) -> Trajectory | None:
        """Return the path nearest to the target among the slowest ones, if any is within limits."""
        least = self._solved(error, "speed", speed, acceleration)
        if least is None:
            return None
        slowest = min(1.0001 * least[self.n] + 1e-9, speed)
        nearest = self._solved(error, "error", slowest, acceleration)
        return self._made((least if nearest is None else nearest)[: self.n])

    def needs(self, error: float, speed: float, acceleration: float) -> tuple[float, float]:
        """Return a speed and an acceleration at which there is a path, near those given."""
        least = self._solved(error, "speed", math.inf, acceleration)
        if least is not None:
            return max(1.0001 * least[self.n], speed), acceleration
        most = self._solved(error, "acceleration", speed, math.inf)
        if most is not None:
            return speed, 1.0001 * most[self.n + 1]
        most = self._solved(error, "acceleration", math.inf, math.inf)
        if most is None:
            return math.inf, math.inf
        needed = 1.001 * float(most[self.n + 1])
        least = self._solved(error, "speed", math.inf, needed)
        return (math.inf if least is None else 1.0001 * least[self.n]), needed

    def _solved(self, error: float, what: str, speed: float, acceleration: float) -> Array | None:
        """Return the unknowns with the least speed, acceleration or sum of errors, if any."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        ratio = math.sin(min(error, math.pi / 2)) / np.maximum(self.flat, 1e-12)
        wide = np.arcsin(np.minimum(ratio, 1.0))
        wide[ratio >= 1.0] = 4 * math.pi if self.over else math.pi / 2
        n, size = self.n, self.rows.shape[1]
        upper = np.full(size, math.inf)
        upper[n : n + 2] = np.array([speed, acceleration]) * (1 - 1e-6)
        lower = np.where(np.arange(size) < n, -math.inf, 0.0)
        cost = np.zeros(size)
        first = {"speed": n, "acceleration": n + 1, "error": n + 2}[what]
        cost[first : size if what == "error" else first + 1] = 1.0
        below = np.full(self.rows.shape[0], -math.inf)
        above = np.zeros(len(below))
        below[: len(wide)], above[: len(wide)] = self.asked - wide, self.asked + wide
        above[-2 * len(self.aim) :] = np.concatenate([self.aim, -self.aim])
        found = milp(
            cost,
            constraints=LinearConstraint(self.rows, below, above),
            bounds=Bounds(lower, upper),
        )
        return None if found.x is None else np.asarray(found.x)

    def _made(self, coefficients: Array) -> Trajectory:
        """Return the path of azimuth and elevation, which does the rest."""
        from scipy.interpolate import BSpline

        spline = BSpline(self.knots, coefficients, 3)
        azimuth = spline(self.t)
        along = self.d[:, 0] * np.sin(azimuth) + self.d[:, 1] * np.cos(azimuth)
        elevation = np.unwrap(np.arctan2(self.d[:, 2], along))
        path = through(self.t, np.stack([azimuth, elevation], axis=1))
        pieces = np.array(path.coefficients)
        for k, scale in enumerate((1, 1, 2)):
            pieces[:, k, 0] = spline(self.t[:-1], k) / scale
        pieces[:, 3, 0] = spline((self.t[1:] + self.t[:-1]) / 2, 3) / 6
        return Trajectory(self.t, pieces)
