"""Holding brakes on the shaft of a motor."""

from __future__ import annotations

from typing import ClassVar

from linkwright.algebra import Expr, where
from linkwright.elements.drives.parts import DrivePart, PartSketch, Shaft, amount, part, sense


@part
class Brake(DrivePart):
    """A brake on the shaft of the motor, which closes where the port `brake.close` is 1.

    The command takes its time; then the torque is there as a whole. It is dry friction: a shaft
    that stands is held up to it. A command that is taken back on the way never takes effect: the
    brake goes back at the pace of the other command, from where it is.

    Args:
        torque: that it holds, N*m at the motor.
        close_time: from the command until it holds, s.
        open_time: from the command until it is free, s.
        creep: speed up to which the torque grows, rad/s, so that a held shaft creeps; none by
            default.
        closed: whether it is closed at the start, and where nothing drives the port.

    >>> Brake(1.5, close_time=0.02).open_time
    0.05
    """

    role: ClassVar[str] = "brake"
    torque: float = amount("N*m", above=0.0)
    close_time: float = amount("s", default=0.02, above=0.0)
    open_time: float = amount("s", default=0.05, above=0.0)
    creep: float | None = amount("rad/s", default=None, above=0.0)
    closed: bool = False

    def write(self, sheet: PartSketch, shaft: Shaft) -> Expr:
        """Return the torque against the shaft."""
        most, shut, free = sheet.numbers("torque", "close_time", "open_time")
        start = float(self.closed)
        wanted = sheet.port("close", start, unit="1", doc="1 to close the brake, 0 to open it")
        way = sheet.state("way", unit="1", doc="how far the brake has closed", start=start)
        block = sheet.sketch.block
        held = block.discrete_state(f"{sheet.label}.held", None, start, doc="whether it holds")
        closing = where(held * way < 1, 1 / shut, 0)
        opening = where((1 - held) * (1 - way) < 1, -1 / free, 0)
        sheet.rate(way, where(wanted > 0.5, closing, opening))
        block.update(held, where(way >= 1, 1, where(way <= 0, 0, held)))
        for what, end, direction in (("closed", 1, 1), ("open", 0, -1)):
            ends = {held: end, way: end}
            block.event(f"{sheet.label}.{what}", way - end, direction=direction, resets=ends)
        torque = held * most * sense(sheet, shaft.speed)
        sheet.loss("brake", torque * shaft.speed)
        return sheet.signal("drag", torque, unit="N*m", doc="torque of the brake")
