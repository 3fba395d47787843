"""Analyses of mechanisms and Systems: linearization, modes, frequency responses, drives."""

from linkwright.analysis.cycle import JointCycle
from linkwright.analysis.frequency import (
    Margins,
    OpenLoop,
    compliance,
    cut_loop,
    frequency_response,
)
from linkwright.analysis.linearization import LinearModel, linearize, linearize_along
from linkwright.analysis.modes import Mode, modes
from linkwright.analysis.responses import FrequencyResponse
from linkwright.analysis.swept_sine import swept_sine

__all__ = [
    "FrequencyResponse",
    "JointCycle",
    "LinearModel",
    "Margins",
    "Mode",
    "OpenLoop",
    "compliance",
    "cut_loop",
    "frequency_response",
    "linearize",
    "linearize_along",
    "modes",
    "swept_sine",
]
