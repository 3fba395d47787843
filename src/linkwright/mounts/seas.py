"""Seas: wave spectra, seeded sums of sines that have them, and ships that answer to the waves.

Spectra are one-sided, in m^2/Hz over the frequency f. With the significant height H and the peak
frequency fp, Pierson and Moskowitz (1964) have

    S(f) = 5/16 H^2 fp^4 f^-5 exp(-5/4 (fp/f)^4),

and JONSWAP (Hasselmann and others 1973) multiplies by gamma^b, b = exp(-(f/fp - 1)^2/(2 s^2)), s =
0.07 below the peak and 0.09 above, scaled so that H stays what it is (DNV-RP-C205, section 3.5).

A sea is one sine in each cell of frequencies, with the energy of the cell and a random phase. Cells
are an hour's finest, 1/3600 Hz, from 1.5 times the peak's frequency on wider in proportion to it,
and each is wider or narrower by up to 8 % at random. So the sines have no common period: the sea
does not repeat itself (its autocorrelation stays below 0.1 from two minutes to half an hour). And
any two of them beat about once in an hour or more: what an hour shows of the height is that of the
spectrum within 2 %; of the energy in tenths of it, by Welch's method with segments of 128 s, within
about 10 %, whatever the seed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.files import csv_rows, read_text
from linkwright.base.reprs import one_line
from linkwright.formats.schema import Amount, described, require_ranges
from linkwright.motion import Sines, Trajectory, hermite
from linkwright.mounts.ships import FREEDOMS, Ship

Array = NDArray[np.float64]

CELL = 1 / 3600
"""Width of the cells of a sea, Hz, up to 1.5 times the frequency of the peak."""
BAND = (0.4, 6.0)
"""Frequencies that count, over that of the peak."""
_FINE = 20_001  # points of the band, over which energies are summed
_WIDER = 1.5  # over the frequency of the peak: from there cells grow with frequency
_UNEVEN = 0.08  # share by which cells are wider or narrower
_STEP = 0.1  # s between the knots of a ship's motion
_LARGEST = 1_000_000  # characters of a table


_DAY = 86_400.0  # s


@described
@one_line
@dataclass(frozen=True, slots=True)
class WaveSpectrum:
    """A spectrum of waves.

    Example:
        >>> float(WaveSpectrum(4.0, 10.0)(0.1).round(3))
        14.325
    """

    # ripples and tsunamis are within
    height: Annotated[float, Amount("m", "significant wave height", least=1e-6, most=1e3)]
    period: Annotated[float, Amount("s", "of the peak", least=0.01, most=1e4)]
    gamma: Annotated[
        float,
        Amount("1", "of the peak; 1 for Pierson and Moskowitz", least=0.01, most=100),
    ] = 1.0

    def __post_init__(self) -> None:
        require_ranges(self, "a wave spectrum")

    def __call__(self, frequency: ArrayLike) -> Array:
        """Return its density, m^2/Hz (`frequency` in Hz)."""
        scale = 1.0 if self.gamma == 1.0 else self.height**2 / 16 / self._energy()
        return scale * self._shape(np.asarray(frequency, dtype=float))

    def _energy(self) -> float:
        x = np.geomspace(0.2, 40.0, 4001) / self.period
        return float(np.trapezoid(self._shape(x), x))

    def _shape(self, f: Array) -> Array:
        with np.errstate(all="ignore"):
            x = f * self.period
            base = 5 / 16 * self.height**2 * self.period * x**-5.0 * np.exp(-1.25 * x**-4.0)
            width = np.where(x <= 1, 0.07, 0.09)
            peak = self.gamma ** np.exp(-((x - 1) ** 2) / (2 * width**2))
        return np.where(f > 0, base * peak, 0.0)


def pierson_moskowitz(height: float, period: float) -> WaveSpectrum:
    """Return the spectrum of a fully developed sea.

    Args:
        height: significant wave height, m.
        period: of the peak, s.

    Example:
        >>> pierson_moskowitz(4, 10).gamma
        1.0
    """
    return WaveSpectrum(float(height), float(period))


def jonswap(height: float, period: float, gamma: float = 3.3) -> WaveSpectrum:
    """Return the spectrum of a sea that still grows.

    Args:
        height: significant wave height, m.
        period: of the peak, s.
        gamma: by how much the peak is enhanced.

    Example:
        >>> bool(jonswap(4, 10)(0.1) > 2 * pierson_moskowitz(4, 10)(0.1))
        True
    """
    return WaveSpectrum(float(height), float(period), float(gamma))


@one_line
@dataclass(frozen=True, slots=True)
class Sea:
    """Waves at one place, as a sum of sines; the same seed gives the same waves everywhere.

    Args:
        spectrum: of the waves.
        seed: of phases, and of the widths of the cells.

    Example:
        >>> sea = Sea(jonswap(4, 10), seed=1)
        >>> t = np.arange(0, 3600, 0.5)
        >>> bool(abs(4 * sea.elevation(t).std() / 4 - 1) < 0.02)
        True
    """

    spectrum: WaveSpectrum
    seed: int = 0

    @property
    def components(self) -> tuple[Array, Array, Array]:
        """Amplitudes (m), phases (rad) and frequencies (Hz) of its sines."""
        f = np.linspace(*BAND, _FINE) / self.spectrum.period
        energy = _summed_up(f, self.spectrum(f))
        energy *= self.spectrum.height**2 / 16 / energy[-1]
        cells = _summed_up(f, 1 / CELL / np.maximum(1, f * self.spectrum.period / _WIDER))
        random = np.random.default_rng([20_261_116, self.seed])
        most = math.ceil(cells[-1] / (1 - _UNEVEN))
        edges = np.cumsum(1 + _UNEVEN * (2 * random.random(most) - 1))
        edges = np.concatenate([[0.0], edges[edges < cells[-1] - 0.5], cells[-1:]])
        held = np.diff(np.interp(np.interp(edges, cells, f), f, energy))
        places = np.interp((edges[1:] + edges[:-1]) / 2, cells, f)
        return np.sqrt(2 * held), 2 * math.pi * random.random(len(held)), places

    @property
    def sines(self) -> Sines:
        """Its elevation as a motion of one value, m."""
        return Sines([0.0], [list(zip(*(x.tolist() for x in self.components), strict=True))])

    def elevation(self, t: ArrayLike) -> Array:
        """Return the height of the water, m.

        Args:
            t: times, s.
        """
        return np.asarray(self.sines(t)[..., 0])

    def motion(self, responses: Responses, duration: float) -> Trajectory:
        """Return how a ship moves in this sea: its six freedoms as a trajectory.

        Args:
            responses: of the ship.
            duration: s, after which it stays where it is.
        """
        if not 0 < duration <= _DAY:
            raise InputError(f"a motion of {duration} s", remedy="give a duration up to a day")
        amplitude, phase, frequency = self.components
        factors = responses.at(frequency)
        t = np.linspace(0.0, duration, math.ceil(duration / _STEP) + 1)
        weights = factors * (amplitude * np.exp(1j * phase))[:, None]
        turn = (2j * math.pi * frequency)[:, None]
        # of sin(w t + p) = Im exp(i (w t + p)), each derivative a factor i w
        orders = np.concatenate([weights * turn**order for order in range(3)], axis=1)
        found = np.concatenate(_summed(t, frequency, orders))
        return hermite(t, *np.split(found, 3, axis=1))

    def ship(
        self,
        duration: float,
        responses: Responses | None = None,
        *,
        offset: Sequence[float] = (0.0, 0.0, 0.0),
        heading: float = math.pi / 2,
        stabilized: bool = False,
    ) -> Ship:
        """Return a ship in this sea.

        Args:
            duration: of its motion, s.
            responses: of the ship; a generic one's by default.
            offset: from its center of rotation to the mount, m.
            heading: of the bow from North over East, rad.
            stabilized: whether a platform keeps the mount's axes still.

        Example:
            >>> ship = Sea(jonswap(4, 10)).ship(60.0)
            >>> bool(0.3 < np.abs(ship.motion(np.arange(60.0))[:, 2]).max() < 4)
            True
        """
        x, y, z = map(float, offset)
        motion = self.motion(responses or generic_responses(), duration)
        return Ship(motion, (x, y, z), heading, stabilized)


def _summed_up(x: Array, y: Array) -> Array:
    """Return the integral of values up to each place."""
    return np.concatenate([[0.0], np.cumsum((y[1:] + y[:-1]) / 2 * np.diff(x))])


def _summed(t: Array, frequency: Array, weights: NDArray[np.complex128]) -> list[Array]:
    """Return sums of sines over equal steps of time from 0 on, some of these at once.

    exp(i w (t0 + t)) = exp(i w t0) exp(i w t), where the second is that of the first times.
    """
    turn = 2j * math.pi * frequency
    first = np.exp(t[:2000, None] * turn)
    return [
        np.asarray((first[: len(t) - k] @ (np.exp(t[k] * turn)[:, None] * weights)).imag)
        for k in range(0, len(t), len(first))
    ]


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class Responses:
    """What a ship answers to waves of unit amplitude (response amplitude operators).

    Args:
        frequencies: Hz, rising.
        factors: for each frequency and each of the six freedoms a complex number: m/m or rad/m,
            its argument the phase by which the ship is ahead of the wave.

    Example:
        >>> generic_responses().at([0.02]).shape
        (1, 6)
    """

    frequencies: Array
    factors: NDArray[np.complex128] = field(repr=False)

    def at(self, frequency: ArrayLike) -> NDArray[np.complex128]:
        """Return the factors at frequencies; beyond the table those of its ends.

        Args:
            frequency: Hz.
        """
        f = np.asarray(frequency, dtype=float)
        rows = [
            np.interp(f, self.frequencies, x.real) + 1j * np.interp(f, self.frequencies, x.imag)
            for x in self.factors.T
        ]
        return np.stack(rows, axis=-1)


@worded
def read_responses(path: str | os.PathLike[str]) -> Responses:
    """Return the responses of a CSV file.

    Its first line has the names of the columns: `period` (s) or `frequency` (Hz), for each freedom
    that answers its name (m/m; deg/m for `roll`, `pitch`, `yaw`), and perhaps its phase in deg, as
    `roll phase`.

    Args:
        path: of the file.

    Example:
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "ship.csv"
        ...     _ = file.write_text("period,heave,roll,roll phase\\n20,1,1.5,90\\n5,0.1,0.3,0\\n")
        ...     float(abs(read_responses(file).at(0.05)[2]))
        1.0
    """
    return _responses(read_text(path, _LARGEST), os.fspath(path))


def generic_responses() -> Responses:
    """Return the responses of a generic ship of about 100 m in waves from the bow's quarter.

    They are second-order responses to the slope and height of deep-water waves, with natural
    periods of 8 s (heave, pitch) and 12 s (roll); a table in the package, and no certain ship's.

    Example:
        >>> float(abs(generic_responses().at(0.02)[2]).round(1))
        1.0
    """
    table = files("linkwright.mounts") / "generic_ship.csv"
    return _responses(table.read_text("utf-8"), "generic_ship.csv")


def _responses(text: str, file: str) -> Responses:
    rows = [row for row in csv_rows(text, file) if row and not row[0].startswith("#")]
    if len(rows) < 3:
        raise InputError(
            "a table of responses has a line of names and two lines of numbers", file=file
        )
    names = [name.strip().lower() for name in rows[0]]
    known = {"period", "frequency", *FREEDOMS, *(f"{n} phase" for n in FREEDOMS)}
    for name in names:
        if name not in known:
            raise InputError(
                f"no column is called {name!r}", file=file, line=1,
                remedy=f"there are period, frequency, {', '.join(FREEDOMS)}, and their phase",
            )  # fmt: skip
    if ("period" in names) == ("frequency" in names):
        raise InputError("a table has one of period and frequency", file=file, line=1)
    table = np.array([_numbers(row, len(names), file, k) for k, row in enumerate(rows[1:], 2)])
    columns = dict(zip(names, table.T, strict=True))
    f = columns["frequency"] if "frequency" in columns else 1 / columns["period"]
    order = np.argsort(f)
    if not np.all(f > 0) or np.any(np.diff(f[order]) <= 0):
        raise InputError("periods or frequencies are above 0, and each comes once", file=file)
    factors = np.zeros((len(f), len(FREEDOMS)), dtype=complex)
    for k, name in enumerate(FREEDOMS):
        size = columns.get(name, np.zeros(len(f)))
        size = np.radians(size) if k >= 3 else size
        factors[:, k] = size * np.exp(1j * np.radians(columns.get(f"{name} phase", 0.0)))
    return Responses(f[order], factors[order])


def _numbers(row: Sequence[str], count: int, file: str, line: int) -> list[float]:
    try:
        found = [float(x) for x in row]
    except ValueError:
        found = []
    if len(found) != count or not all(map(math.isfinite, found)):
        raise InputError(f"{', '.join(row)!r} is not {count} finite numbers", file=file, line=line)
    return found
