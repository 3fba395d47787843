from linkwright.mounts.aiming import AimError as AimError, Aiming as Aiming
from linkwright.mounts.attitude import (
    AttitudeSensors as AttitudeSensors,
    SensedMotion as SensedMotion,
)
from linkwright.mounts.axes import (
    KeyholePassage as KeyholePassage,
    SerialAxes as SerialAxes,
    ThreeAxes as ThreeAxes,
    TurnedAxes as TurnedAxes,
    serial_axes as serial_axes,
)
from linkwright.mounts.bench_tests import (
    BalanceErrors as BalanceErrors,
    BenchTest as BenchTest,
    bench_test as bench_test,
)
from linkwright.mounts.budget import (
    PointingLimits as PointingLimits,
    along_track_error as along_track_error,
    pointing_budget as pointing_budget,
    pointing_loss as pointing_loss,
)
from linkwright.mounts.comparison_page import (
    MountComparison as MountComparison,
    study_mounts as study_mounts,
)
from linkwright.mounts.deck_comparison import (
    DeckComparison as DeckComparison,
    DeckRow as DeckRow,
    compare_deck as compare_deck,
)
from linkwright.mounts.easycomm import EasyCommPort as EasyCommPort
from linkwright.mounts.element_files import read_orbits as read_orbits
from linkwright.mounts.keyholes import (
    FollowedPath as FollowedPath,
    Keyholes as Keyholes,
    compare_mounts as compare_mounts,
    follow as follow,
    follow_together as follow_together,
    keyhole_passage as keyhole_passage,
)
from linkwright.mounts.legs import LegAxes as LegAxes, leg_axes as leg_axes
from linkwright.mounts.licence import (
    VESSELS as VESSELS,
    Licence as Licence,
    TransmitInhibit as TransmitInhibit,
)
from linkwright.mounts.loads_on_deck import deck_loads as deck_loads
from linkwright.mounts.machines import (
    MachineAxes as MachineAxes,
    machine_axes as machine_axes,
    mount_axes as mount_axes,
)
from linkwright.mounts.move_files import MoveTask as MoveTask, read_move as read_move
from linkwright.mounts.moves import (
    MoveError as MoveError,
    MovePlan as MovePlan,
    MoveWarning as MoveWarning,
    StreamedMove as StreamedMove,
    TargetPath as TargetPath,
    Trapezoids as Trapezoids,
    circle_path as circle_path,
    line_path as line_path,
    orbit_path as orbit_path,
    path_error as path_error,
    plan_moves as plan_moves,
    stream_moves as stream_moves,
    synchronize as synchronize,
)
from linkwright.mounts.orbits import Orbit as Orbit, OrbitError as OrbitError, Orbits as Orbits
from linkwright.mounts.pass_tracking import TrackingServo as TrackingServo, track_pass as track_pass
from linkwright.mounts.passes import Pass as Pass, Passes as Passes
from linkwright.mounts.pointing_drive import PointingDrive as PointingDrive
from linkwright.mounts.ranking import (
    MountRank as MountRank,
    MountStudy as MountStudy,
    mount_study as mount_study,
    rank_mounts as rank_mounts,
)
from linkwright.mounts.report_orbit import ReportOrbit as ReportOrbit
from linkwright.mounts.rotator import Rotator as Rotator, RotatorPort as RotatorPort
from linkwright.mounts.rotator_client import (
    RotatorClient as RotatorClient,
    RotatorError as RotatorError,
    drive_rotator as drive_rotator,
)
from linkwright.mounts.rotctl_language import RotatorLimits as RotatorLimits
from linkwright.mounts.seas import (
    Responses as Responses,
    Sea as Sea,
    WaveSpectrum as WaveSpectrum,
    generic_responses as generic_responses,
    jonswap as jonswap,
    pierson_moskowitz as pierson_moskowitz,
    read_responses as read_responses,
)
from linkwright.mounts.shaping import (
    ShapedPath as ShapedPath,
    ShapingError as ShapingError,
    shape_path as shape_path,
)
from linkwright.mounts.ship_files import read_ship as read_ship
from linkwright.mounts.ships import (
    Deck as Deck,
    Ship as Ship,
    heave_amplitude as heave_amplitude,
    report_ship as report_ship,
)
from linkwright.mounts.site_files import read_site as read_site
from linkwright.mounts.sites import Look as Look, Site as Site
from linkwright.mounts.steppers import StepperAxis as StepperAxis, StepperMotor as StepperMotor
from linkwright.mounts.sun import sun_direction as sun_direction, sun_path as sun_path
from linkwright.mounts.sweeps import (
    HorizonSweep as HorizonSweep,
    horizon_sweep as horizon_sweep,
    sweep_report as sweep_report,
)
from linkwright.mounts.wind import Wind as Wind, WindLoad as WindLoad
