"""The registry of distributions: one file and one line each."""

from linkwright.sampling.distributions.bernoulli import Bernoulli
from linkwright.sampling.distributions.delayed import Delayed
from linkwright.sampling.distributions.lost import Lost
from linkwright.sampling.distributions.markov import Markov
from linkwright.sampling.distributions.mixture import Mixture
from linkwright.sampling.distributions.recorded import Recorded
from linkwright.sampling.distributions.uniform import Uniform
from linkwright.sampling.regimes import Distribution

__all__ = [
    "DISTRIBUTIONS",
    "Bernoulli",
    "Delayed",
    "Distribution",
    "Lost",
    "Markov",
    "Mixture",
    "Recorded",
    "Uniform",
]

DISTRIBUTIONS: dict[str, type[Distribution]] = {
    kind.kind: kind for kind in (Bernoulli, Uniform, Mixture, Recorded, Markov, Lost, Delayed)
}
"""Distributions by the word for them in files."""
