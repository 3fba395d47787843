"""What a drive may do without end and for moments: the numbers that margins are measured by."""

from __future__ import annotations

from typing import ClassVar

from linkwright.elements.drives.parts import DriveError, DrivePart, amount, part


@part
class Rating(DrivePart):
    """Limits of a motor, which change nothing in its motion; the studio shows how near they are.

    Args:
        continuous: torque of the motor without end, N*m.
        peak: torque of the motor for moments, N*m.
        speed: highest of the motor, rad/s.
        hottest: that the winding may become, in degrees Celsius.

    >>> Rating(0.64, 1.9, 314).margin(torque=0.95, speed=100.0, winding=None)
    0.5
    """

    role: ClassVar[str] = "rating"
    continuous: float = amount("N*m", above=0.0)
    peak: float = amount("N*m", above=0.0)
    speed: float = amount("rad/s", above=0.0)
    hottest: float = amount("degC", default=130.0)

    def __post_init__(self) -> None:
        DrivePart.__post_init__(self)
        if self.peak < self.continuous:
            raise DriveError(
                f"a peak torque of {self.peak:g} N*m is below the continuous {self.continuous:g}",
                remedy="give the peak torque as the greater",
                code="R401",
            )

    def margin(self, torque: float, speed: float, winding: float | None, cool: float = 40) -> float:
        """Return what is left of the limits, as a part of them: the smallest of all.

        Args:
            torque: of the motor, N*m.
            speed: of the motor, rad/s.
            winding: its temperature in degrees Celsius; None where it is not known.
            cool: temperature from which the winding's margin counts, in degrees Celsius.
        """
        left = [1 - abs(torque) / self.peak, 1 - abs(speed) / self.speed]
        if winding is not None:
            left.append((self.hottest - winding) / max(self.hottest - cool, 1.0))
        return min(left)
