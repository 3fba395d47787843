"""Whole-body control: robots with a free base that stand on contacts, and what keeps them up.

`Controller` chooses joint efforts at each tick by a quadratic program over accelerations and
contact forces; `contact_dynamics` is inverse dynamics under contact without inequalities;
`capture_point`, `center_of_pressure` and `support_margin` say where a robot would tip.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
