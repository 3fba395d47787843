"""The law of a nonlinearity as a System computes it, and its describing function by quadrature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkwright.backends.kernel import Kernel, compile as compile_kernel
from linkwright.base.errors import Error
from linkwright.linear.cuts import RETURNED, Cut

if TYPE_CHECKING:
    from linkwright.linear.linearization import LinearModel

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_POINTS = 512  # of a sine, for many amplitudes
_FINE = 8192  # the same, for one
_DECADES = np.geomspace(1e-10, 1e8, 37)


@dataclass(frozen=True, slots=True)
class SignalLaw:
    """What an output of a System is, as a function of one signal alone."""

    kernel: Kernel  # from the arrays of a phase to the outputs
    x: Array  # the operating point
    rest: tuple[Array, ...]  # the other arrays
    way: Array  # how the states move for the signal to grow by one
    rows: tuple[int, int]  # places of the output and of the signal among the outputs

    def values(self, signal: Array) -> Array:
        """Return the output where the signal has changed by so much."""
        x = self.x + signal[:, None] * self.way
        rest = [np.broadcast_to(part, (len(x), len(part))) for part in self.rest]
        return np.asarray(self.kernel(x, *rest))[:, self.rows[0]]

    def gain(self, amplitudes: Array) -> Complex:
        """Return the describing function."""
        points = _POINTS if len(amplitudes) > 1 else _FINE
        turn = (np.arange(points) + 0.5) * (2 * math.pi / points)
        wave = np.outer(amplitudes, np.sin(turn))
        out = self.values(wave.ravel()).reshape(wave.shape)
        return np.asarray(2 * (out @ np.exp(-1j * turn)) * 1j / (points * amplitudes))

    def amplitudes(self) -> Array:
        """Return the amplitudes between which the gain changes, on a grid."""
        gains = self.gain(_DECADES)
        size = float(np.abs(gains).max(initial=0.0))
        changes = np.flatnonzero(np.abs(np.diff(gains)) > 1e-6 * size)
        if not len(changes):
            return np.geomspace(1e-3, 1e3, 400)
        low, high = _DECADES[max(changes[0] - 1, 0)], _DECADES[min(changes[-1] + 2, 36)]
        return np.geomspace(low, high, 1 + 40 * max(1, round(math.log10(high / low))))


def law_of(found: Cut, signal: str, linear: LinearModel) -> SignalLaw:
    """Return the law of the nonlinearity at whose output a System was cut."""
    system = found.system
    phases = system.phases([RETURNED, signal])
    assert phases.output is not None
    names = [s.name for s in phases.outputs]
    rows = names.index(RETURNED), names.index(signal)
    kernel = compile_kernel(phases.output, backend="python")
    slopes = phases.output.derivative(None, ["x"], mode="forward", optimized=False)
    x = np.array([s.value for s in phases.x])
    arrays = [np.array([s.value for s in part]) for part in (phases.d, phases.p, phases.w)]
    rest = (*arrays, np.zeros(1))
    slope = linear.c[list(linear.outputs).index(signal)]
    places = {s.name: k for k, s in enumerate(phases.x)}
    way = np.zeros(len(x))
    size = float(slope @ slope)
    if size > 0:
        for name, part in zip(linear.states, slope, strict=True):
            way[places[name]] = part / size
    law = SignalLaw(kernel, x, rest, way, rows)
    if size == 0 or not _depends_on_it_alone(law, compile_kernel(slopes, backend="python")):
        raise Error(
            f"{found.port!r} is not a function of {signal!r} alone",
            remedy="name the port of the nonlinearity itself and what goes into it, or give its "
            "describing function",
            code="R610",
        )
    return law


def _depends_on_it_alone(law: SignalLaw, slopes: Kernel) -> bool:
    """Whether the output changes with the states only as the signal does."""
    for change in (0.0, *np.geomspace(1e-6, 1e3, 10), *-np.geomspace(1e-6, 1e3, 10)):
        found = np.asarray(slopes(law.x + change * law.way, *law.rest))
        by_x, seen = (np.reshape(found, (-1, len(law.x)))[row] for row in law.rows)
        size = max(float(np.abs(by_x).max(initial=0.0)), 1e-300)
        if np.abs(by_x - float(by_x @ law.way) * seen).max(initial=0.0) > 1e-9 * size:
            return False
    return True
