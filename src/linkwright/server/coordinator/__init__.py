"""Sensors of a cell, fused: observations in, objects and frames with covariance out."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
