"""What drives a robot and what it moves: its actuators, its platform, what closes its loops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linkwright.mechanism import Mechanism
    from linkwright.mechanism.parts import Platform


class Drives(ABC):
    """The part of a robot that tells its actuators and its platform."""

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism:
        """The mechanism."""

    @property
    def actuators(self) -> tuple[str, ...]:
        """The names of the coordinates that are driven, in order; empty where none are named.

        >>> from linkwright.robots import Robot
        >>> Robot("four-bar", actuators=["b"]).actuators
        ('b',)
        """
        return tuple(q.name for q in self.mechanism.actuators)

    @property
    def loops(self) -> tuple[str, ...]:
        """What closes its loops: joints by their names, then rods and driven struts.

        >>> from linkwright.robots import Robot
        >>> Robot("five-bar").loops
        ('pin',)
        """
        from linkwright.robots.loop_forces import loop_names

        return loop_names(self.mechanism)

    @property
    def platform(self) -> Platform | None:
        """The point that the robot moves, and the axis along which it points."""
        return self.mechanism.platform
