"""Seas: heights and spectra of an hour, what ships answer, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

import linkwright as lw
from linkwright.mounts.seas import (
    Responses,
    Sea,
    WaveSpectrum,
    generic_responses,
    jonswap,
    pierson_moskowitz,
    read_responses,
)
from linkwright.mounts.ship_files import read_ship
from linkwright.mounts.ships import FREEDOMS
from tests.seeds import cases
from tests.support.late import Late

if TYPE_CHECKING:
    from scipy import signal
else:
    signal = Late("scipy.signal")

Array = NDArray[np.float64]
HOUR = np.arange(0.0, 3600.0, 0.5)
SPECTRA = [jonswap(4.0, 10.0), jonswap(3.0, 8.0, 5.0), pierson_moskowitz(6.0, 12.0)]


def through_window(spectrum: WaveSpectrum, size: int) -> Array:
    """Return what Welch's method expects of a spectrum at 2 Hz: it, through Hann's window."""
    pad = 16
    kernel = np.abs(np.fft.fft(signal.get_window("hann", size), size * pad)) ** 2
    density = spectrum(np.abs(np.fft.fftfreq(size * pad, 0.5)))
    seen = np.fft.ifft(np.fft.fft(density) * np.fft.fft(kernel / kernel.sum())).real
    return np.asarray(seen[: size * pad // 2 + 1 : pad])


@pytest.mark.parametrize("spectrum", cases(SPECTRA, daily=1), ids=lambda s: f"{s.height:g} m")
def test_an_hour_has_the_height_and_the_spectrum_of_its_sea(spectrum: WaveSpectrum) -> None:
    f = np.linspace(0.001, 3, 20_001)
    assert 4 * np.sqrt(np.trapezoid(spectrum(f), f)) == pytest.approx(spectrum.height, rel=2e-3)
    # Welch: segments of 128 s by Hann's window, half of each shared with the next; ten bands, each
    # with about a tenth of the energy
    wanted = through_window(spectrum, 256)
    tenth = np.minimum(9, 10 * np.cumsum(wanted) / wanted.sum()).astype(int)
    lags = np.arange(120.0, 1800.0, 7.0)
    for seed in (0, 1, 7):
        sea = Sea(spectrum, seed)
        waves = sea.elevation(HOUR)
        assert 4 * waves.std() == pytest.approx(spectrum.height, rel=0.02)
        found = signal.welch(waves, 2.0, nperseg=256)[1]
        for band in np.unique(tenth):
            within = tenth == band
            assert found[within].sum() == pytest.approx(wanted[within].sum(), rel=0.10)
        # it does not repeat itself, upside down or otherwise: envelope of its autocorrelation
        a, _, f = sea.components
        again = np.exp(2j * np.pi * f * lags[:, None]) @ a**2 / (a @ a)
        assert np.abs(again).max() < 0.1
        for lag in (360, 720):
            assert abs(np.corrcoef(waves[: -2 * lag], waves[2 * lag :])[0, 1]) < 0.15


def test_seeds_tell_seas_apart_and_repeat_them() -> None:
    t = HOUR[:50]
    first, again, other = (Sea(SPECTRA[0], seed).elevation(t) for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert np.abs(first - other).max() > 0.5


def test_a_ship_answers_each_wave_by_its_table() -> None:
    sea = Sea(jonswap(4.0, 10.0), 2)
    table = np.zeros((2, 6), dtype=complex)
    table[:, 2], table[:, 3] = 1.0, 0.02j
    motion = sea.motion(Responses(np.array([0.01, 1.0]), table), 60.0)
    t = np.linspace(0, 60, 601) + 0.033
    t = t[t < 60]
    a, p, f = sea.components
    turning = 2 * np.pi * f * t[:, None] + p
    assert np.abs(motion(t)[:, 2] - sea.elevation(t)).max() < 1e-4
    assert np.abs(motion(t)[:, 3] - 0.02 * (a * np.cos(turning)).sum(axis=1)).max() < 1e-5
    rate = (a * 2 * np.pi * f * np.cos(turning)).sum(axis=1)
    assert np.abs(motion.speed(t)[:, 2] - rate).max() < 1e-3
    assert np.abs(generic_responses().at([0.5, 2.0])).max() < 0.5


def test_a_file_with_a_sea_gives_a_ship(tmp_path: Path) -> None:
    (tmp_path / "ship.csv").write_text("period,heave,roll,roll phase\n20,1,2,90\n5,0.1,0.3,0\n")
    file = tmp_path / "sea.toml"
    text = "format = 1\n[sea]\nheight = 4\nperiod = 10\nduration = 30\nresponses = 'ship.csv'\n"
    file.write_text(text)
    motion = read_ship(file).motion
    assert isinstance(motion, lw.motion.Trajectory)
    sizes = np.abs(motion(np.arange(30.0))).max(axis=0)
    assert [name for name, size in zip(FREEDOMS, sizes, strict=True) if size] == ["heave", "roll"]
    for change, words in (
        ("height = -4", "line 3"),
        ("height = 4\nroll = 1", "unknown key"),
        ("height = 4\nspectrum = 'x'", "spectrum"),
    ):
        with pytest.raises(lw.InputError, match=words):
            read_ship(text.replace("height = 4", change))
    with pytest.raises(lw.InputError, match="not both"):
        read_ship(text.replace("[sea]", "roll = {amplitude = 0.1, period = 9}\n[sea]"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("period,heave\n10,1\n", "two lines"),
        ("period,heav\n10,1\n5,1\n", "no column is called 'heav'"),
        ("heave,roll\n10,1\n5,1\n", "one of period and frequency"),
        ("period,heave\n10,1\n5,x\n", "csv:3: .5, x"),
        ("period,heave\n10,1\n10,1\n", "each comes once"),
    ],
)
def test_wrong_tables_of_responses_are_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "ship.csv"
    file.write_text(text)
    with pytest.raises(lw.InputError, match=words):
        read_responses(file)
