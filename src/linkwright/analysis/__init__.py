"""Analyses of mechanisms and Systems: linearization, modes, frequency responses, requirements."""

from typing import TYPE_CHECKING

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
from linkwright.analysis.requirements import (
    Excess,
    LoadCycle,
    Requirement,
    Statistic,
    rainflow,
    require,
)
from linkwright.analysis.responses import FrequencyResponse
from linkwright.analysis.swept_sine import swept_sine
from linkwright.lazy import lazy_names

if TYPE_CHECKING:
    from linkwright.analysis.sizing.choice import Sizing, size
    from linkwright.formats.catalog.reader import read_catalog
    from linkwright.formats.catalog.schema import Catalog

__all__ = [
    "Catalog",
    "Excess",
    "FrequencyResponse",
    "JointCycle",
    "LinearModel",
    "LoadCycle",
    "Margins",
    "Mode",
    "OpenLoop",
    "Requirement",
    "Sizing",
    "Statistic",
    "compliance",
    "cut_loop",
    "frequency_response",
    "linearize",
    "linearize_along",
    "modes",
    "rainflow",
    "read_catalog",
    "require",
    "size",
    "swept_sine",
]

if not TYPE_CHECKING:  # what reads files is imported when it is used
    __getattr__ = lazy_names(
        __name__,
        {
            "linkwright.analysis.sizing.choice": ("Sizing", "size"),
            "linkwright.formats.catalog.reader": ("read_catalog",),
            "linkwright.formats.catalog.schema": ("Catalog",),
        },
    )
