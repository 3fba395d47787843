from linkwright.learning.environments import (
    Environment as Environment,
    VectorEnvironment as VectorEnvironment,
)
from linkwright.learning.networks import Network as Network
from linkwright.learning.regressors import Regressor as Regressor
