from linkwright.analysis.sampling.answers import MEANINGS as MEANINGS, Answers as Answers
from linkwright.analysis.sampling.designs import (
    UnitCurve as UnitCurve,
    bernoulli_range as bernoulli_range,
)
from linkwright.analysis.sampling.distributions import (
    DISTRIBUTIONS as DISTRIBUTIONS,
    Bernoulli as Bernoulli,
    Delayed as Delayed,
    Distribution as Distribution,
    Lost as Lost,
    Markov as Markov,
    Mixture as Mixture,
    Recorded as Recorded,
    Uniform as Uniform,
)
from linkwright.analysis.sampling.exponents import Exponent as Exponent
from linkwright.analysis.sampling.holds import RandomHold as RandomHold
from linkwright.analysis.sampling.loops import Loop as Loop
from linkwright.analysis.sampling.maps import RateMap as RateMap, rate_map as rate_map
from linkwright.analysis.sampling.rate_files import LoopTask as LoopTask, read_loop as read_loop
from linkwright.analysis.sampling.runs import RandomRuns as RandomRuns, random_runs as random_runs
from linkwright.analysis.sampling.streams import (
    RateCertificate as RateCertificate,
    SampleStream as SampleStream,
    certify as certify,
    stream_of as stream_of,
)
from linkwright.analysis.sampling.switching import (
    SwitchingBounds as SwitchingBounds,
    switching_bounds as switching_bounds,
)
