from linkwright.mounts.aiming import Aiming as Aiming
from linkwright.mounts.attitude import (
    AttitudeSensors as AttitudeSensors,
)
from linkwright.mounts.axes import (
    serial_axes as serial_axes,
)
from linkwright.mounts.bench_tests import (
    bench_test as bench_test,
)
from linkwright.mounts.budget import (
    PointingLimits as PointingLimits,
    pointing_budget as pointing_budget,
)
from linkwright.mounts.comparison_page import (
    study_mounts as study_mounts,
)
from linkwright.mounts.deck_comparison import (
    compare_deck as compare_deck,
)
from linkwright.mounts.element_files import read_orbits as read_orbits
from linkwright.mounts.keyholes import (
    compare_mounts as compare_mounts,
    follow as follow,
    follow_together as follow_together,
    keyhole_passage as keyhole_passage,
)
from linkwright.mounts.license import (
    License as License,
)
from linkwright.mounts.loads_on_deck import deck_loads as deck_loads
from linkwright.mounts.machines import (
    mount_axes as mount_axes,
)
from linkwright.mounts.move_files import read_move as read_move
from linkwright.mounts.moves import (
    circle_path as circle_path,
    line_path as line_path,
    orbit_path as orbit_path,
    plan_moves as plan_moves,
    stream_moves as stream_moves,
)
from linkwright.mounts.orbits import Orbit as Orbit, Orbits as Orbits
from linkwright.mounts.pass_tracking import TrackingServo as TrackingServo, track_pass as track_pass
from linkwright.mounts.report_orbit import ReportOrbit as ReportOrbit
from linkwright.mounts.rotator import Rotator as Rotator
from linkwright.mounts.rotator_client import (
    RotatorClient as RotatorClient,
    drive_rotator as drive_rotator,
)
from linkwright.mounts.seas import (
    Sea as Sea,
    jonswap as jonswap,
)
from linkwright.mounts.shaping import (
    shape_path as shape_path,
)
from linkwright.mounts.ship_files import read_ship as read_ship
from linkwright.mounts.ships import (
    Ship as Ship,
)
from linkwright.mounts.site_files import read_site as read_site
from linkwright.mounts.sites import Site as Site
from linkwright.mounts.steppers import StepperAxis as StepperAxis, StepperMotor as StepperMotor
from linkwright.mounts.sun import sun_path as sun_path
from linkwright.mounts.sweeps import (
    horizon_sweep as horizon_sweep,
)
from linkwright.mounts.wind import Wind as Wind, WindLoad as WindLoad
