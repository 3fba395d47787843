"""The registry of distributions: one file and one line each."""

from linkwright.analysis.sampling.distributions.bernoulli import Bernoulli
from linkwright.analysis.sampling.distributions.delayed import Delayed
from linkwright.analysis.sampling.distributions.lost import Lost
from linkwright.analysis.sampling.distributions.markov import Markov
from linkwright.analysis.sampling.distributions.mixture import Mixture
from linkwright.analysis.sampling.distributions.recorded import Recorded
from linkwright.analysis.sampling.distributions.uniform import Uniform
from linkwright.analysis.sampling.regimes import Distribution

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
