"""The laboratory: servos, tasks, a console and a recorder around a robot, simulated or real."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
