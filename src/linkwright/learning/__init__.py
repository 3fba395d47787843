"""Learning: models and Systems as environments of Gymnasium, one or thousands at once.

`Environment` steps one run, `VectorEnvironment` many in the lanes of one native program; a trained
`Network` is a block of a System.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
