"""Platforms whose six springy legs answer each direction by itself: analysis and synthesis."""

from linkwright.analysis.decoupled_compliance.leg_distances import LegDistances, link_distances
from linkwright.analysis.decoupled_compliance.leg_platforms import (
    LegPlatform,
    leg_platform,
    mechanism_1,
    mechanism_2,
    octahedral_platform,
)
from linkwright.analysis.decoupled_compliance.platform_synthesis import Synthesis, synthesize

__all__ = [
    "LegDistances",
    "LegPlatform",
    "Synthesis",
    "leg_platform",
    "link_distances",
    "mechanism_1",
    "mechanism_2",
    "octahedral_platform",
    "synthesize",
]
