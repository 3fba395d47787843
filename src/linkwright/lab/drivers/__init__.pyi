from linkwright.lab.drivers.driver import LinkDriver as LinkDriver, RobotDriver as RobotDriver
from linkwright.lab.drivers.layout import DriverLayout as DriverLayout
from linkwright.lab.drivers.places import DriverPlace as DriverPlace, driver_place as driver_place
from linkwright.lab.drivers.relay import Troubles as Troubles
from linkwright.lab.drivers.robot_side import robot_end as robot_end
from linkwright.lab.drivers.schemes import driver_at as driver_at
