from linkwright.sampling.answers import MEANINGS as MEANINGS, Answers as Answers
from linkwright.sampling.designs import (
    UnitCurve as UnitCurve,
    bernoulli_range as bernoulli_range,
)
from linkwright.sampling.distributions import (
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
from linkwright.sampling.exponents import Exponent as Exponent
from linkwright.sampling.holds import RandomHold as RandomHold
from linkwright.sampling.loops import Loop as Loop
from linkwright.sampling.maps import RateMap as RateMap, rate_map as rate_map
from linkwright.sampling.rate_files import LoopTask as LoopTask, read_loop as read_loop
from linkwright.sampling.runs import RandomRuns as RandomRuns, random_runs as random_runs
from linkwright.sampling.streams import (
    RateCertificate as RateCertificate,
    SampleStream as SampleStream,
    certify as certify,
    stream_of as stream_of,
)
from linkwright.sampling.switching import (
    SwitchingBounds as SwitchingBounds,
    switching_bounds as switching_bounds,
)
