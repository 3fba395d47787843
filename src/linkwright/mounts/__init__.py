"""Antenna mounts: where they point, what they follow, and what carries them."""

from typing import TYPE_CHECKING

from linkwright.lazy import lazy_names

if TYPE_CHECKING:
    from linkwright.mounts.aiming import AimError, Aiming
    from linkwright.mounts.attitude import AttitudeSensors, SensedMotion
    from linkwright.mounts.axes import KeyholePassage, SerialAxes, ThreeAxes, serial_axes
    from linkwright.mounts.budget import (
        PointingLimits,
        along_track_error,
        pointing_budget,
        pointing_loss,
    )
    from linkwright.mounts.comparison_page import MountComparison, comparison
    from linkwright.mounts.easycomm import EasyCommPort
    from linkwright.mounts.element_files import read_orbits
    from linkwright.mounts.indexer import Indexer
    from linkwright.mounts.indexer_driver import (
        IndexerDriver,
        IndexerError,
        IndexerTerminal,
        SerialLine,
        SimulatedLine,
    )
    from linkwright.mounts.keyholes import FollowedPath, Keyholes, compare_mounts, follow, passage
    from linkwright.mounts.legs import LegAxes, leg_axes
    from linkwright.mounts.licence import VESSELS, Licence, TransmitInhibit
    from linkwright.mounts.loads_on_deck import deck_loads
    from linkwright.mounts.machines import MachineAxes, machine_axes, mount_axes
    from linkwright.mounts.move_files import MoveTask, read_move
    from linkwright.mounts.moves import (
        MoveError,
        MovePlan,
        MoveWarning,
        StreamedMove,
        TargetPath,
        Trapezoids,
        circle_path,
        line_path,
        orbit_path,
        path_error,
        plan_moves,
        streamed,
        synchronized,
    )
    from linkwright.mounts.orbits import Orbit, OrbitError, Orbits
    from linkwright.mounts.pass_tracking import TrackingServo, tracking
    from linkwright.mounts.passes import Pass, Passes
    from linkwright.mounts.pointing_drive import PointingDrive
    from linkwright.mounts.ranking import MountRank, MountStudy, mount_study, ranked
    from linkwright.mounts.report_orbit import ReportOrbit
    from linkwright.mounts.rotator import Rotator, RotatorPort
    from linkwright.mounts.rotator_client import RotatorClient, RotatorError, drive_rotator
    from linkwright.mounts.rotctl_language import RotatorLimits
    from linkwright.mounts.seas import (
        Responses,
        Sea,
        WaveSpectrum,
        generic_responses,
        jonswap,
        pierson_moskowitz,
        read_responses,
    )
    from linkwright.mounts.shaping import ShapedPath, ShapingError, shaped
    from linkwright.mounts.ship_files import read_ship
    from linkwright.mounts.ships import Deck, Ship, heave_amplitude, report_ship
    from linkwright.mounts.site_files import read_site
    from linkwright.mounts.sites import Look, Site
    from linkwright.mounts.steppers import StepperAxis, StepperMotor
    from linkwright.mounts.sun import sun_direction, sun_path
    from linkwright.mounts.sweeps import HorizonSweep, horizon_sweep, sweep_report
    from linkwright.mounts.wind import Wind, WindLoad

__all__ = [
    "VESSELS",
    "AimError",
    "Aiming",
    "AttitudeSensors",
    "Deck",
    "EasyCommPort",
    "FollowedPath",
    "HorizonSweep",
    "Indexer",
    "IndexerDriver",
    "IndexerError",
    "IndexerTerminal",
    "KeyholePassage",
    "Keyholes",
    "LegAxes",
    "Licence",
    "Look",
    "MachineAxes",
    "MountComparison",
    "MountRank",
    "MountStudy",
    "MoveError",
    "MovePlan",
    "MoveTask",
    "MoveWarning",
    "Orbit",
    "OrbitError",
    "Orbits",
    "Pass",
    "Passes",
    "PointingDrive",
    "PointingLimits",
    "ReportOrbit",
    "Responses",
    "Rotator",
    "RotatorClient",
    "RotatorError",
    "RotatorLimits",
    "RotatorPort",
    "Sea",
    "SensedMotion",
    "SerialAxes",
    "SerialLine",
    "ShapedPath",
    "ShapingError",
    "Ship",
    "SimulatedLine",
    "Site",
    "StepperAxis",
    "StepperMotor",
    "StreamedMove",
    "TargetPath",
    "ThreeAxes",
    "TrackingServo",
    "TransmitInhibit",
    "Trapezoids",
    "WaveSpectrum",
    "Wind",
    "WindLoad",
    "along_track_error",
    "circle_path",
    "compare_mounts",
    "comparison",
    "deck_loads",
    "drive_rotator",
    "follow",
    "generic_responses",
    "heave_amplitude",
    "horizon_sweep",
    "jonswap",
    "leg_axes",
    "line_path",
    "machine_axes",
    "mount_axes",
    "mount_study",
    "orbit_path",
    "passage",
    "path_error",
    "pierson_moskowitz",
    "plan_moves",
    "pointing_budget",
    "pointing_loss",
    "ranked",
    "read_move",
    "read_orbits",
    "read_responses",
    "read_ship",
    "read_site",
    "report_ship",
    "serial_axes",
    "shaped",
    "streamed",
    "sun_direction",
    "sun_path",
    "sweep_report",
    "synchronized",
    "tracking",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            ".aiming": ["AimError", "Aiming"],
            ".axes": ["KeyholePassage", "SerialAxes", "ThreeAxes", "serial_axes"],
            ".loads_on_deck": ["deck_loads"],
            ".easycomm": ["EasyCommPort"],
            ".comparison_page": ["MountComparison", "comparison"],
            ".element_files": ["read_orbits"],
            ".indexer": ["Indexer"],
            ".indexer_driver": [
                "IndexerDriver",
                "IndexerError",
                "IndexerTerminal",
                "SerialLine",
                "SimulatedLine",
            ],
            ".keyholes": ["FollowedPath", "Keyholes", "compare_mounts", "follow", "passage"],
            ".legs": ["LegAxes", "leg_axes"],
            ".licence": ["VESSELS", "Licence", "TransmitInhibit"],
            ".machines": ["MachineAxes", "machine_axes", "mount_axes"],
            ".move_files": ["MoveTask", "read_move"],
            ".moves": [
                "MoveError",
                "MovePlan",
                "MoveWarning",
                "StreamedMove",
                "TargetPath",
                "Trapezoids",
                "circle_path",
                "line_path",
                "orbit_path",
                "path_error",
                "plan_moves",
                "streamed",
                "synchronized",
            ],
            ".orbits": ["Orbit", "OrbitError", "Orbits"],
            ".attitude": ["AttitudeSensors", "SensedMotion"],
            ".budget": [
                "PointingLimits",
                "along_track_error",
                "pointing_budget",
                "pointing_loss",
            ],
            ".pass_tracking": ["TrackingServo", "tracking"],
            ".passes": ["Pass", "Passes"],
            ".pointing_drive": ["PointingDrive"],
            ".ranking": ["MountRank", "MountStudy", "mount_study", "ranked"],
            ".report_orbit": ["ReportOrbit"],
            ".rotator": ["Rotator", "RotatorPort"],
            ".rotator_client": ["RotatorClient", "RotatorError", "drive_rotator"],
            ".rotctl_language": ["RotatorLimits"],
            ".seas": [
                "Responses",
                "Sea",
                "WaveSpectrum",
                "generic_responses",
                "jonswap",
                "pierson_moskowitz",
                "read_responses",
            ],
            ".shaping": ["ShapedPath", "ShapingError", "shaped"],
            ".ship_files": ["read_ship"],
            ".ships": ["Deck", "Ship", "heave_amplitude", "report_ship"],
            ".site_files": ["read_site"],
            ".sites": ["Look", "Site"],
            ".steppers": ["StepperAxis", "StepperMotor"],
            ".sun": ["sun_direction", "sun_path"],
            ".sweeps": ["HorizonSweep", "horizon_sweep", "sweep_report"],
            ".wind": ["Wind", "WindLoad"],
        },
    )
