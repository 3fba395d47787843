"""Robots: files that people have, kernels that people need."""

from linkwright.robots.loading import load
from linkwright.robots.quantity import FrameQuantity, Quantity
from linkwright.robots.robot import Robot

__all__ = ["FrameQuantity", "Quantity", "Robot", "load"]
