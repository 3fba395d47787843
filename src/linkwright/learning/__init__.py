"""Learning: models and Systems as environments of Gymnasium, one or thousands at once.

`Environment` steps one run, `VectorEnvironment` many in the lanes of one native program.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
