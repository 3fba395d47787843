from linkwright.lab.drivers.driver import (
    DriverPlace as DriverPlace,
    LinkDriver as LinkDriver,
    RobotDriver as RobotDriver,
)
from linkwright.lab.drivers.layout import DriverLayout as DriverLayout
from linkwright.lab.drivers.links import (
    driver_at as driver_at,
    driver_place as driver_place,
    robot_end as robot_end,
)
from linkwright.lab.drivers.relay import Troubles as Troubles
