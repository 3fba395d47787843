"""Servo axes of a motion server: switches, compensator, limits, trips and cards."""

from linkwright.control.axis.codes import AxisError, AxisMode
from linkwright.control.axis.coefficients import (
    AxisCoefficients,
    RoundedCoefficients,
    axis_coefficients,
    integer_coefficients,
    notch_coefficients,
    pid_coefficients,
)
from linkwright.control.axis.controller import AxisController

__all__ = [
    "AxisCoefficients",
    "AxisController",
    "AxisError",
    "AxisMode",
    "RoundedCoefficients",
    "axis_coefficients",
    "integer_coefficients",
    "notch_coefficients",
    "pid_coefficients",
]
