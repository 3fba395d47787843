"""Temperature of a motor's winding and housing over a cycle that repeats without end.

Two nodes, with the loss of the copper in the winding and that of friction in the housing:

    Cw Tw' = R (1 + alpha (Tw - 20)) i² - (Tw - Th)/Rw
    Ch Th' = friction + (Tw - Th)/Rw - (Th - Ta)/Rh

The resistance grows with temperature, and stays linear in it, so over an interval of constant
losses x = (Tw, Th) becomes P x + g, exactly. A whole cycle is the product of such steps, and
the temperature that comes back after one cycle is x = (I - P)^-1 g. Where the largest eigenvalue of
P is 1 or more the resistance grows faster than the heat is led away, and there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.formats.catalog.schema import MotorEntry

__all__ = ["Temperatures", "ThermalNetwork", "periodic"]

Array: TypeAlias = NDArray[Any]

COLD = 20.0
"""°C, at which R is given."""

NO_HOUSING = 1e-9
"""K/W, of a housing that keeps the temperature of its surroundings."""


@dataclass(frozen=True, slots=True)
class ThermalNetwork:
    """The two nodes of one motor, or of several along the last axis but one.

    Args:
        resistance: of the winding at 20 °C, ohm.
        alpha: its growth per K.
        winding: thermal resistance to the housing, K/W, and time constant, s.
        housing: the same, to the surroundings.
    """

    resistance: Array
    alpha: Array
    winding: tuple[Array, Array]
    housing: tuple[Array, Array]

    @staticmethod
    def of(motors: list[MotorEntry]) -> ThermalNetwork:
        """Return the networks of motors, one row each."""

        def column(values: list[float]) -> Array:
            return np.array(values)[:, None]

        cool = (NO_HOUSING, 1.0)
        return ThermalNetwork(
            column([m.R for m in motors]),
            column([m.alpha for m in motors]),
            (column([m.winding[0] for m in motors]), column([m.winding[1] for m in motors])),
            (
                column([(m.housing or cool)[0] for m in motors]),
                column([(m.housing or cool)[1] for m in motors]),
            ),
        )


@dataclass(frozen=True, slots=True)
class Temperatures:
    """Winding and housing at the start and at the end of every interval, °C; one row a motor.

    `runs_away` says for which motors there is no periodic temperature; theirs are infinite.
    """

    winding: Array
    housing: Array
    runs_away: Array


def periodic(
    network: ThermalNetwork, durations: Array, squares: Array, friction: Array, ambient: float
) -> Temperatures:
    """Return the temperatures of a cycle that has been repeated for ever.

    Units: `durations` in s, `friction` in W.

    >>> from linkwright.formats.catalog.reader import read_catalog
    >>> motor = read_catalog("generic").motor["servo-200w"]
    >>> squares, rubbed = np.full((1, 3), 3.0), np.zeros((1, 3))
    >>> always = periodic(ThermalNetwork.of([motor]), np.ones(3), squares, rubbed, 25)
    >>> hot = float(always.winding[0, 0])
    >>> round(hot, 2), round(25 + (1.2 + 2.0) * 5.0 * (1 + 0.00393 * (hot - 20)) * 3.0, 2)
    (85.32, 85.32)
    """
    matrix, offset = _steps(network, durations, squares, friction, ambient)
    matrix, offset = _running(matrix, offset)
    whole, shift = [m[..., -1] for m in matrix], [g[..., -1] for g in offset]
    a, b, c, d = 1.0 - whole[0], -whole[1], -whole[2], 1.0 - whole[3]
    determinant = a * d - b * c
    # positive matrices: the largest eigenvalue is below 1 if and only if both minors are positive
    away = ~((a > 0.0) & (determinant > 0.0))
    safe = np.where(away, 1.0, determinant)
    start = [(d * shift[0] - b * shift[1]) / safe, (a * shift[1] - c * shift[0]) / safe]
    path = [
        np.concatenate(
            [
                start[k][:, None],
                matrix[2 * k] * start[0][:, None]
                + matrix[2 * k + 1] * start[1][:, None]
                + offset[k],
            ],
            axis=1,
        )
        for k in range(2)
    ]
    for values in path:
        values[away] = np.inf
    return Temperatures(path[0], path[1], away)


def _steps(
    network: ThermalNetwork, durations: Array, squares: Array, friction: Array, ambient: float
) -> tuple[list[Array], list[Array]]:
    """Return matrix (four entries) and offset (two) of each interval."""
    (rw, tw), (rh, th) = network.winding, network.housing
    cw, ch = tw / rw, th / rh
    cold = network.resistance * squares
    a11 = (network.alpha * cold - 1.0 / rw) / cw
    a12 = np.broadcast_to(1.0 / (rw * cw), a11.shape)
    a21 = np.broadcast_to(1.0 / (rw * ch), a11.shape)
    a22 = np.broadcast_to(-(1.0 / rw + 1.0 / rh) / ch, a11.shape)
    b1 = cold * (1.0 - network.alpha * COLD) / cw
    b2 = (friction + ambient / rh) / ch
    # exp(A t) = e0 I + e1 (A - s1 I), for the eigenvalues s1 > s2 of A, which are real
    half = 0.5 * (a11 + a22)
    spread = np.sqrt((0.5 * (a11 - a22)) ** 2 + a12 * a21)
    s1, s2 = half + spread, half - spread
    first, second = np.exp(s1 * durations), np.exp(s2 * durations)
    slope = (first - second) / (2.0 * spread)
    matrix = [
        first + slope * (a11 - s1),
        slope * a12,
        slope * a21,
        first + slope * (a22 - s1),
    ]
    # integral of exp(A s) ds over the interval, in the same form
    f1, f2 = _grown(s1, durations), _grown(s2, durations)
    slope = (f1 - f2) / (2.0 * spread)
    offset = [
        (f1 + slope * (a11 - s1)) * b1 + slope * a12 * b2,
        slope * a21 * b1 + (f1 + slope * (a22 - s1)) * b2,
    ]
    return matrix, offset


def _grown(rate: Array, durations: Array) -> Array:
    """Return (exp(s t) - 1)/s, also where s is 0."""
    tiny = np.abs(rate) < 1e-300
    safe = np.where(tiny, 1.0, rate)
    return np.asarray(np.where(tiny, durations, np.expm1(safe * durations) / safe))


def _running(matrix: list[Array], offset: list[Array]) -> tuple[list[Array], list[Array]]:
    """Return the steps from the start to the end of each interval: a scan by doubling."""
    m = [np.array(x) for x in matrix]
    g = [np.array(x) for x in offset]
    n, by = m[0].shape[-1], 1
    while by < n:
        late = [x[..., by:] for x in m]
        early = [x[..., :-by] for x in m]
        shift = [x[..., :-by] for x in g]
        product = [
            late[0] * early[0] + late[1] * early[2],
            late[0] * early[1] + late[1] * early[3],
            late[2] * early[0] + late[3] * early[2],
            late[2] * early[1] + late[3] * early[3],
        ]
        moved = [
            late[0] * shift[0] + late[1] * shift[1] + g[0][..., by:],
            late[2] * shift[0] + late[3] * shift[1] + g[1][..., by:],
        ]
        for whole, part in zip((*m, *g), (*product, *moved), strict=True):
            whole[..., by:] = part
        by *= 2
    return m, g
