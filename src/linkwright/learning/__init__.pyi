from linkwright.learning.environments import (
    Environment as Environment,
    VectorEnvironment as VectorEnvironment,
)
