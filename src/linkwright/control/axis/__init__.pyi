from linkwright.control.axis.codes import AxisError as AxisError, AxisMode as AxisMode
from linkwright.control.axis.coefficients import (
    AxisCoefficients as AxisCoefficients,
    RoundedCoefficients as RoundedCoefficients,
    axis_coefficients as axis_coefficients,
    integer_coefficients as integer_coefficients,
    notch_coefficients as notch_coefficients,
    pid_coefficients as pid_coefficients,
)
from linkwright.control.axis.controller import AxisController as AxisController
