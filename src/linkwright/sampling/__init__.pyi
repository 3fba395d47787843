from linkwright.sampling.distributions import (
    Bernoulli as Bernoulli,
    Delayed as Delayed,
    Lost as Lost,
    Markov as Markov,
    Mixture as Mixture,
    Recorded as Recorded,
    Uniform as Uniform,
)
from linkwright.sampling.loops import Loop as Loop
from linkwright.sampling.maps import rate_map as rate_map
from linkwright.sampling.rate_files import read_loop as read_loop
from linkwright.sampling.runs import random_runs as random_runs
from linkwright.sampling.streams import (
    certify as certify,
)
from linkwright.sampling.switching import (
    switching_bounds as switching_bounds,
)
