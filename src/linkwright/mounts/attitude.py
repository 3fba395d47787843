"""Attitude of a deck: gyros that drift, an inclinometer, a compass, and a filter of both.

Gyros show the rates of roll, pitch and yaw with a bias that walks and with white noise, whose
integral is the random walk of the angle. An inclinometer and a compass show the angles themselves,
with noise at each instant. A Kalman filter of three angles and three biases takes the gyros as its
inputs and corrects by the angles (Farrenkopf 1978). What it is off by is as large as it says: its
channel `nees` lies around 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwright.algebra import Expr, Scalar, as_expr, sqrt, where
from linkwright.base.checks import checked
from linkwright.base.reprs import one_line
from linkwright.blocks import Block
from linkwright.control.kalman_filter import KalmanFilter
from linkwright.mounts.ships import Ship
from linkwright.system import System

ANGLES = ("roll", "pitch", "yaw")
_STATES = (*ANGLES, *(f"bias_{name}" for name in ANGLES))


@one_line
@dataclass(frozen=True, slots=True)
class AttitudeSensors:
    """What measures the attitude of a deck; each number is one standard deviation.

    Args:
        walk: random walk of the gyros' angle, rad/sqrt(s).
        bias: of the gyros when they are switched on, rad/s.
        drift: random walk of their bias, rad/s/sqrt(s).
        incline: of the inclinometer at each instant, rad; it feels the ship's acceleration too.
        heading: of the compass at each instant, rad.

    Example:
        >>> AttitudeSensors(walk=1e-4).bias
        0.0005
    """

    walk: float = 2e-5
    bias: float = 5e-4
    drift: float = 1e-6
    incline: float = 5e-3
    heading: float = 5e-3

    def __post_init__(self) -> None:
        for name in self.__slots__:
            checked(getattr(self, name), f"{name} of attitude sensors", above=0)


def attitude(ship: Ship, sensors: AttitudeSensors | None = None, *, rate: float = 1000.0) -> System:
    """Return the System that measures and estimates the attitude of a ship.

    Its ports are `angles` (roll, pitch, yaw as estimated, rad) and `rates` (of the gyros without
    their estimated bias, rad/s); the filter's own channels are those of `filter`.

    Example:
    Units: `rate` in Hz.

        >>> from linkwright.mounts.ships import report_ship
        >>> sorted(attitude(report_ship(), rate=50).members)
        ['filter', 'gyros', 'levels', 'truth']
    """
    sensors = sensors or AttitudeSensors()
    s = System(name="attitude")
    gyros = s.add(_gyros(ship, sensors), rate=rate)
    shown = s.add(_angle_sensors(ship, sensors), rate=rate)
    truth = s.add(_truth(ship), rate=rate)
    h = 1.0 / rate
    one, none = np.eye(3), np.zeros((3, 3))
    found = s.add(
        KalmanFilter(
            np.block([[one, -h * one], [none, one]]),
            np.hstack([one, none]),
            [sensors.walk**2 * h] * 3 + [sensors.drift**2 * h] * 3,
            [sensors.incline**2, sensors.incline**2, sensors.heading**2],
            theta=np.vstack([h * one, none]),
            covariance=[1.0] * 3 + [sensors.bias**2] * 3,
            states=_STATES,
            truth=True,
            name="filter",
        ),
        rate=rate,
    )
    s.connect(shown.shown, found.z)
    s.connect(gyros.shown, found.u)
    s.connect([*truth.angles, *gyros.bias], found.truth)
    s.expose("angles", list(found.x[:3]))
    s.expose("rates", [g - b for g, b in zip(gyros.shown, found.x[3:], strict=True)])
    return s


def _gyros(ship: Ship, sensors: AttitudeSensors) -> Block:
    """Return gyros that show mean rates over the coming tick."""
    b = Block("gyros", doc="rates of roll, pitch and yaw, with bias and noise")
    walk = b.parameter("walk", sensors.walk, unit="rad/s^(1/2)", lower=0.0)
    first = b.parameter("first_bias", sensors.bias, unit="rad/s", lower=0.0)
    drift = b.parameter("drift", sensors.drift, unit="rad/s^(3/2)", lower=0.0)
    h = b.period
    rates = ship.motion.expressions(b.time + h / 2, 1)[3:]
    begun = b.discrete_state("begun", 1.0)
    shown: list[Expr] = []
    biases: list[Expr] = []
    for name, true in zip(ANGLES, rates, strict=True):
        before = b.discrete_state(f"bias_{name}")
        change = b.noise(f"{name}_bias_noise")
        bias = b.intermediate(where(begun, before + drift * sqrt(h) * change, first * change))
        b.update(before, bias)
        biases.append(bias)
        shown.append(true + bias + walk / sqrt(h) * b.noise(f"{name}_noise"))
    b.output_vector("shown", shown, unit="rad/s")
    b.output_vector("bias", biases, unit="rad/s")
    return b


def _angle_sensors(ship: Ship, sensors: AttitudeSensors) -> Block:
    b = Block("levels", doc="inclinometer and compass")
    incline = b.parameter("incline", sensors.incline, unit="rad", lower=0.0)
    heading = b.parameter("heading", sensors.heading, unit="rad", lower=0.0)
    true = ship.motion.expressions(b.time)[3:]
    spread = (incline, incline, heading)
    rows = zip(true, spread, ANGLES, strict=True)
    b.output_vector("shown", [x + s * b.noise(f"{n}_noise") for x, s, n in rows], unit="rad")
    return b


def _truth(ship: Ship) -> Block:
    b = Block("truth", doc="the angles themselves")
    b.output_vector("angles", ship.motion.expressions(b.time)[3:], unit="rad")
    return b


@dataclass(frozen=True, slots=True)
class SensedMotion:
    """The motion of a ship as its sensors report it: angles and rates, no places or accelerations.

    Args:
        angles: roll, pitch, yaw, rad.
        rates: of them, rad/s.

    Example:
        >>> SensedMotion([as_expr(0)] * 3, [as_expr(1)] * 3).expressions(0, 1)[3]
        1
    """

    angles: Sequence[Expr]
    rates: Sequence[Expr]

    @property
    def size(self) -> int:
        """Six."""
        return 6

    def expressions(self, t: Scalar, order: int = 0) -> tuple[Expr, ...]:
        """Return what is known of the six freedoms.

        Args:
            t: does not matter: it is what is measured now.
            order: 0 for angles, 1 for rates, 2 for zeros.
        """
        none = [as_expr(0)] * 3
        return (*none, *(self.angles, self.rates, none)[order])
