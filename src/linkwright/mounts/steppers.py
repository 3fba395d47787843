"""Stepping motors with gears that turn the arms of a mount: steps, trapezoids, switches, homing.

An axis counts steps of its motor from home. Its limit switches are wired to its amplifier: they
stop it whatever the host does. Times are virtual: a trapezoid is known in closed form, so that an
axis is asked where it is at any time to come.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from linkwright.base.errors import InputError

MOTOR_STEPS = 400
"""Steps in a turn of a motor."""

GEAR = 80
"""Turns of a motor in one of the arm."""

HOME_STEPS = (5519, 5407, 5472)
"""Steps from an upright arm to the home switch of each axis of the rotary mounts."""

TOP_SPEED, ACCELERATION = 50.0, 33.0
"""Of a motor, turns/s and turns/s²."""

SEEK, CREEP, CLEAR = 0.3, 0.1, 1 / 32
"""Homing: turns/s toward the switch, turns/s at last, and turns outside it where that begins."""


@dataclass(frozen=True, slots=True)
class StepperAxis:
    """How steps of a motor turn an arm.

    Args:
        home: steps from the angle zero to the home switch.
        steps: in a turn of the motor.
        gear: turns of the motor in one of the arm.

    >>> axis = StepperAxis(HOME_STEPS[0])
    >>> axis.turn, axis.degrees_a_step, round(math.degrees(axis.home_angle), 2)
    (32000, 0.01125, 62.09)
    >>> axis.steps_at(math.radians(90)), round(math.degrees(axis.angle_at(2481)), 9)
    (2481, 90.0)
    """

    home: int = 0
    steps: int = MOTOR_STEPS
    gear: int = GEAR

    def __post_init__(self) -> None:
        if self.steps < 1 or self.gear < 1:
            raise InputError("an axis needs at least a step in a turn, and a gear of 1")

    @property
    def turn(self) -> int:
        """Steps in a turn of the arm."""
        return self.steps * self.gear

    @property
    def degrees_a_step(self) -> float:
        """Degrees that the arm turns in a step."""
        return 360 / self.turn

    @property
    def home_angle(self) -> float:
        """Angle of the arm at home, rad."""
        return self.home * math.tau / self.turn

    def steps_at(self, angle: float) -> int:
        """Return the steps from home that are nearest to an angle.

        Args:
            angle: of the arm, rad.
        """
        if not math.isfinite(angle):
            raise InputError(f"an axis does not turn to {angle}")
        return round(angle * self.turn / math.tau) - self.home

    def angle_at(self, steps: float) -> float:
        """Return the angle of the arm, rad.

        Args:
            steps: number of steps from home.
        """
        return (steps + self.home) * math.tau / self.turn


def trapezoid_time(distance: float, speed: float, acceleration: float) -> float:
    """Return how long a motion with trapezoidal speed takes, s.

    >>> trapezoid_time(100.0, 10.0, 5.0), trapezoid_time(5.0, 10.0, 5.0)
    (12.0, 2.0)
    """
    if distance <= 0:
        return 0.0
    if distance * acceleration < speed**2:
        return 2 * math.sqrt(distance / acceleration)
    return distance / speed + speed / acceleration


def trapezoid_place(t: float, distance: float, speed: float, acceleration: float) -> float:
    """Return how far a motion with trapezoidal speed has come.

    Units: `t` in s.

    >>> [trapezoid_place(t, 100.0, 10.0, 5.0) for t in (-1.0, 1.0, 6.0, 11.0, 13.0)]
    [0.0, 2.5, 50.0, 97.5, 100.0]
    """
    time = trapezoid_time(distance, speed, acceleration)
    if t <= 0 or time == 0:
        return 0.0
    if t >= time:
        return distance
    peak = min(speed, acceleration * time / 2)
    ramp = peak / acceleration
    if t < ramp:
        return acceleration * t**2 / 2
    if t > time - ramp:
        return distance - acceleration * (time - t) ** 2 / 2
    return peak * (t - ramp / 2)


@dataclass(slots=True)
class StepperMotor:
    """A simulated motor with its amplifier, limit switches and home switch.

    Args:
        limits: steps from home where the limit switches are.
        start: steps from home where it stands at first; its counter does not know.
        steps: in a turn of the motor.

    >>> motor = StepperMotor(limits=(-4000, 4000))
    >>> motor.move(8000, speed=10.0, acceleration=33.0, now=0.0)
    >>> motor.finish_time() > 1, motor.place(100.0), motor.tripped
    (True, 4000, 1)
    """

    limits: tuple[float, float] = (-math.inf, math.inf)
    start: float = 0.0
    steps: int = MOTOR_STEPS
    tripped: int = field(default=0, init=False)
    """-1 or 1 where it has run into a switch, and has not left it."""
    offset: float = field(init=False)
    """Steps from home where its counter reads zero."""
    _legs: list[tuple[float, float, float, float, float]] = field(default_factory=list, init=False)
    _at: float = field(init=False)

    def __post_init__(self) -> None:
        low, high = self.limits
        if not low < high:
            raise InputError(f"limit switches at {low:g} and {high:g} leave no way")
        self.offset = self._at = float(self.start)

    def move(self, distance: float, *, speed: float, acceleration: float, now: float) -> None:
        """Begin a motion with trapezoidal speed; a tripped switch lets it only away.

        Args:
            distance: steps, of either sign.
            speed: turns/s.
            acceleration: turns/s².
            now: s.
        """
        at = self.place(now)
        if self.tripped and distance * self.tripped > 0:
            distance = 0.0
        self.tripped = self.tripped if distance == 0 else 0
        self._at = at
        self._legs = [(now, at, distance, speed * self.steps, acceleration * self.steps)]

    def home(self, *, now: float, seek: float = SEEK) -> None:
        """Begin to look for the home switch, which is closed on its far side.

        It is sought, left by `CLEAR`, and met again at `CREEP`; there the counter becomes zero.

        Args:
            now: s.
            seek: turns/s toward the switch.
        """
        at, clear = self.place(now), round(CLEAR * self.steps)
        self._at, self.tripped, self._legs = at, 0, []
        for target, speed in ((0.0, seek), (-clear, seek), (0.0, CREEP)):
            distance = target - at
            leg = (now, at, distance, speed * self.steps, math.inf)
            self._legs.append(leg)
            now += abs(distance) / (speed * self.steps)
            at = target
        self.offset = 0.0

    def stop(self, now: float) -> None:
        """Stand at once.

        Args:
            now: s.
        """
        self._at = self.place(now)
        self._legs = []

    def place(self, now: float) -> float:
        """Return where it is, steps from home; limit switches have stopped it on the way.

        Args:
            now: s.
        """
        at = self._at
        for began, start, distance, speed, acceleration in self._legs:
            if now < began:
                break
            if math.isinf(acceleration):
                way = min(speed * (now - began), abs(distance))
            else:
                way = trapezoid_place(now - began, abs(distance), speed, acceleration)
            done = way > abs(distance) - 1e-9
            at = start + (distance if done else math.copysign(way, distance))
        low, high = self.limits
        if at >= high and self._legs and at > self._at:
            self._at, self._legs, self.tripped = high, [], 1
            return high
        if at <= low and self._legs and at < self._at:
            self._at, self._legs, self.tripped = low, [], -1
            return low
        return at

    def finish_time(self) -> float:
        """Return when the motion that was begun would end, s; -inf where there is none."""
        if not self._legs:
            return -math.inf
        began, _, distance, speed, acceleration = self._legs[-1]
        if math.isinf(acceleration):
            return began + abs(distance) / speed
        return began + trapezoid_time(abs(distance), speed, acceleration)

    def counter(self, now: float) -> int:
        """Return what its own counter reads, whole steps.

        Args:
            now: s.
        """
        return round(self.place(now) - self.offset)
