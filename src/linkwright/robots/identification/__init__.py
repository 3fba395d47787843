"""Identification: motions that excite a robot, and its parameters from what was recorded."""

from linkwright.robots.identification.estimation import (
    BaseEstimate,
    Estimate,
    estimate,
    with_estimate,
)
from linkwright.robots.identification.excitation import Excitation, excite

__all__ = ["BaseEstimate", "Estimate", "Excitation", "estimate", "excite", "with_estimate"]
