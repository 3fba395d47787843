from linkwright.parallel.decoupled_compliance.leg_distances import (
    LegDistances as LegDistances,
    link_distances as link_distances,
)
from linkwright.parallel.decoupled_compliance.leg_platforms import (
    LegPlatform as LegPlatform,
    leg_platform as leg_platform,
    mechanism_1 as mechanism_1,
    mechanism_2 as mechanism_2,
    octahedral_platform as octahedral_platform,
)
from linkwright.parallel.decoupled_compliance.platform_synthesis import (
    Synthesis as Synthesis,
    synthesize as synthesize,
)
