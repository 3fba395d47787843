"""Identification: motions that excite a robot, and its parameters from what was recorded."""

from linkwright.robots.identification.balances import FrictionCurve
from linkwright.robots.identification.drives import DriveFit, Validation, fit_drive
from linkwright.robots.identification.estimation import (
    BaseEstimate,
    Estimate,
    estimate,
    with_estimate,
)
from linkwright.robots.identification.excitation import Excitation, excite
from linkwright.robots.identification.likelihood import FittedParameter, SystemFit

__all__ = [
    "BaseEstimate",
    "DriveFit",
    "Estimate",
    "Excitation",
    "FittedParameter",
    "FrictionCurve",
    "SystemFit",
    "Validation",
    "estimate",
    "excite",
    "fit_drive",
    "with_estimate",
]
