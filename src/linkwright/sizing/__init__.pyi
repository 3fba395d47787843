from linkwright.formats.catalog.reader import (
    read_catalog as read_catalog,
)
from linkwright.formats.catalog.schema import (
    Catalog as Catalog,
)
from linkwright.sizing.choice import (
    size as size,
)
from linkwright.sizing.cycle import (
    JointCycle as JointCycle,
)
from linkwright.sizing.duty import (
    duty_cycle as duty_cycle,
    duty_type as duty_type,
)
from linkwright.sizing.requirements import (
    rainflow as rainflow,
    require as require,
    screen as screen,
    worst_pose as worst_pose,
)
