"""Loops whose samples come at random: are they stable, and by which gain do they become so?"""

from linkwright.analysis.sampling.answers import MEANINGS, Answers
from linkwright.analysis.sampling.designs import UnitCurve, bernoulli_range
from linkwright.analysis.sampling.distributions import (
    DISTRIBUTIONS,
    Bernoulli,
    Delayed,
    Distribution,
    Lost,
    Markov,
    Mixture,
    Recorded,
    Uniform,
)
from linkwright.analysis.sampling.exponents import Exponent
from linkwright.analysis.sampling.loops import Loop

__all__ = [
    "DISTRIBUTIONS",
    "MEANINGS",
    "Answers",
    "Bernoulli",
    "Delayed",
    "Distribution",
    "Exponent",
    "Loop",
    "Lost",
    "Markov",
    "Mixture",
    "Recorded",
    "Uniform",
    "UnitCurve",
    "bernoulli_range",
]
