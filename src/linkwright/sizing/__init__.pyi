from linkwright.formats.catalog.reader import (
    read_catalog as read_catalog,
)
from linkwright.formats.catalog.schema import (
    Catalog as Catalog,
)
from linkwright.sizing.choice import (
    Sizing as Sizing,
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
    Excess as Excess,
    LoadCycle as LoadCycle,
    Requirement as Requirement,
    Screening as Screening,
    Sensitivity as Sensitivity,
    Statistic as Statistic,
    Worst as Worst,
    WorstCase as WorstCase,
    WorstPose as WorstPose,
    rainflow as rainflow,
    require as require,
    screen as screen,
    worst_pose as worst_pose,
)
