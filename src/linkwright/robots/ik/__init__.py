"""Inverse kinematics: in closed form, by damped least squares, and by rates."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
