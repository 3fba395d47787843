"""Drives of joints: controller, amplifier, motor, train and load."""

from linkwright.base.lazy import attach as _attach  # `attach` is one of the names

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
