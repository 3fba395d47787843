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
from linkwright.analysis.sampling.holds import RandomHold
from linkwright.analysis.sampling.loops import Loop
from linkwright.analysis.sampling.maps import RateMap, rate_map
from linkwright.analysis.sampling.rate_files import LoopTask, read_loop
from linkwright.analysis.sampling.runs import RandomRuns, random_runs
from linkwright.analysis.sampling.streams import (
    RateCertificate,
    SampleStream,
    certify,
    stream_of,
)
from linkwright.analysis.sampling.switching import SwitchingBounds, switching_bounds

__all__ = [
    "DISTRIBUTIONS",
    "MEANINGS",
    "Answers",
    "Bernoulli",
    "Delayed",
    "Distribution",
    "Exponent",
    "Loop",
    "LoopTask",
    "Lost",
    "Markov",
    "Mixture",
    "RandomHold",
    "RandomRuns",
    "RateCertificate",
    "RateMap",
    "Recorded",
    "SampleStream",
    "SwitchingBounds",
    "Uniform",
    "UnitCurve",
    "bernoulli_range",
    "certify",
    "random_runs",
    "rate_map",
    "read_loop",
    "stream_of",
    "switching_bounds",
]
