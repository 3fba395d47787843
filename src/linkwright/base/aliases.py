"""Old public names and keywords, and what they are called now: one table.

`base.lazy` reads it where a room is asked for a name that it does not have. An old name works for
one release and warns, once, with the new one and the release that drops the old one. The page *What
was renamed* is made from this table.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

DROPPED = "0.2.0"
"""The release without these names, and without those of commands and extras."""

NAMES: dict[str, str] = {
    "BaseParameters": "equations.base_parameters:BaseParameters",
    "Batch": "simulation:Batch",
    "ClosedForm": "equations:ClosedForm",
    "Energy": "equations.energy:Energy",
    "Happened": "simulation.native.session:Happened",
    "Kernel": "backends.kernel:Kernel",
    "PlotFormat": "recording.plot_format:PlotFormat",
    "Reactions": "equations.reactions:Reactions",
    "Sweep": "sweeps.sweep:Sweep",
    "analysis": "analysis:",
    "contact.CharacteristicPolynomial": (
        "contact.characteristic_polynomials:CharacteristicPolynomial"
    ),
    "contact.ContactMap": "contact.parameter_maps:ContactMap",
    "contact.RouthCondition": "contact.characteristic_polynomials:RouthCondition",
    "contact.VERDICTS": "contact.wrist_loops:VERDICTS",
    "contact.WristFile": "contact.wrist_files:WristFile",
    "contact.loop_system": "contact.simulated_loops:loop_system",
    "contact.routh_conditions": "contact.characteristic_polynomials:routh_conditions",
    "contact.simulated_verdicts": "contact.simulated_loops:simulated_verdicts",
    "control.AxisCoefficients": "control.axis:AxisCoefficients",
    "control.AxisError": "control.axis:AxisError",
    "control.AxisMode": "control.axis:AxisMode",
    "control.CONTROLLERS": "control.registry:CONTROLLERS",
    "control.Correction": "control.covariances:Correction",
    "control.Gain": "control.linear:Gain",
    "control.JointController": "control.joints:JointController",
    "control.Measurement": "control.step_model:Measurement",
    "control.PidGains": "control.pid:PidGains",
    "control.PidParts": "control.pid:PidParts",
    "control.PidTerms": "control.pid:PidTerms",
    "control.RoundedCoefficients": "control.axis:RoundedCoefficients",
    "control.StateModel": "control.linear:StateModel",
    "control.Whiteness": "control.consistency:Whiteness",
    "control.axis_coefficients": "control.axis:axis_coefficients",
    "control.corrected": "control.correct",
    "control.discretized": "control.discretize",
    "control.driven_joints": "control.joints:driven_joints",
    "control.intersected": "control.intersect",
    "control.inverse_dynamics": "control.models:inverse_dynamics",
    "control.moment_interaction": "control.visual_interaction:moment_interaction",
    "control.notch_coefficients": "control.axis:notch_coefficients",
    "control.pid_coefficients": "control.axis:pid_coefficients",
    "control.pid_law": "control.pid:pid_law",
    "control.pid_parts": "control.pid:pid_parts",
    "control.place_interaction": "control.visual_interaction:place_interaction",
    "control.point_interaction": "control.visual_interaction:point_interaction",
    "control.predicted": "control.predict",
    "control.saturate": "control.servo:saturate",
    "control.saturated": "control.servo:saturate",
    "control.tracking_gain_limit": "control.visual_compensator:tracking_gain_limit",
    "control.tracking_poles": "control.visual_compensator:tracking_poles",
    "drives.Amplifier": "elements.drives.amplifiers:Amplifier",
    "drives.ChainMatrices": "elements.drives.matrices:ChainMatrices",
    "drives.Controller": "elements.drives.controllers:Controller",
    "drives.DRIVES": "elements.drives.registry:DRIVES",
    "drives.DriveError": "elements.drives.parts:DriveError",
    "drives.DriveLoad": "elements.drives.loads:DriveLoad",
    "drives.DrivePart": "elements.drives.parts:DrivePart",
    "drives.Motor": "elements.drives.motors:Motor",
    "drives.PARTS": "elements.drives.registry:PARTS",
    "drives.StepBlock": "elements.drives.matrices:StepBlock",
    "drives.Train": "elements.drives.trains:Train",
    "elements.CameraTarget": "elements.camera_targets:CameraTarget",
    "elements.ELEMENTS": "elements.registry:ELEMENTS",
    "elements.PictureRegion": "elements.camera_regions:PictureRegion",
    "elements.PixelScale": "elements.camera_calibration:PixelScale",
    "elements.Surface": "elements.surfaces:Surface",
    "elements.TireLaw": "elements.tire_laws:TireLaw",
    "elements.ToolWeight": "elements.tool_weight:ToolWeight",
    "elements.ViewGap": "elements.camera_gaps:ViewGap",
    "elements.calibrated_scale": "elements.calibrate_scale",
    "elements.depth_from_area": "elements.camera_calibration:depth_from_area",
    "elements.nearest_region": "elements.camera_regions:nearest_region",
    "elements.regions": "elements.find_regions",
    "grasp.PlannedGrasps": "grasp.planning:PlannedGrasps",
    "heritage.IndexerError": "heritage.indexer_driver:IndexerError",
    "identification.BaseEstimate": "robots.identification.estimation:BaseEstimate",
    "identification.DriveFit": "robots.identification.drives:DriveFit",
    "identification.Estimate": "robots.identification.estimation:Estimate",
    "identification.Excitation": "robots.identification.excitation:Excitation",
    "identification.FittedParameter": "robots.identification.likelihood:FittedParameter",
    "identification.FrictionCurve": "robots.identification.balances:FrictionCurve",
    "identification.SystemFit": "robots.identification.likelihood:SystemFit",
    "identification.Validation": "robots.identification.drives:Validation",
    "linear.DESCRIBING_FUNCTIONS": "linear.describing_functions:DESCRIBING_FUNCTIONS",
    "linear.HarmonicBalance": "linear.limit_cycles:HarmonicBalance",
    "linear.LimitCycle": "linear.limit_cycles:LimitCycle",
    "linear.LimitCycleMap": "linear.limit_cycle_maps:LimitCycleMap",
    "linear.LinearModel": "LinearModel",
    "linear.Margins": "linear.frequency:Margins",
    "linear.Mode": "linear.modes:Mode",
    "linear.OpenLoop": "linear.frequency:OpenLoop",
    "linear.ProposedGains": "linear.gains:ProposedGains",
    "linear.RelayRun": "linear.relays:RelayRun",
    "linear.StepMeasures": "linear.tuning:StepMeasures",
    "linear.UltimatePoint": "linear.tuning:UltimatePoint",
    "linear.backlash_gain": "linear.describing_functions:backlash_gain",
    "linear.dead_zone_gain": "linear.describing_functions:dead_zone_gain",
    "linear.dry_friction_gain": "linear.describing_functions:dry_friction_gain",
    "linear.fit_sine": "linear.tuning:fit_sine",
    "linear.fitted_sine": "linear.tuning:fit_sine",
    "linear.linearize": "linearize",
    "linear.measured_margins": "linear.measure_margins",
    "linear.measured_response": "linear.measure_response",
    "linear.opened": "linear.open_loop",
    "linear.proposed_gains": "linear.propose_gains",
    "linear.quantizer_gain": "linear.describing_functions:quantizer_gain",
    "linear.saturation_gain": "linear.describing_functions:saturation_gain",
    "linear.ultimate_point": "linear.tuning:ultimate_point",
    "motion.CartesianMotion": "motion.blends:CartesianMotion",
    "motion.FrameProduct": "motion.chains:FrameProduct",
    "motion.MOTIONS": "motion.registry:MOTIONS",
    "motion.MotionError": "motion.trajectory:MotionError",
    "motion.Payload": "Payload",
    "motion.PoseTransform": "motion.blends:PoseTransform",
    "motion.SampledIK": "motion.chains:SampledIK",
    "motion.Slowing": "motion.slowing:Slowing",
    "motion.Task": "Task",
    "motion.ToolKinematics": "motion.chains:ToolKinematics",
    "motion.ToolPose": "motion.chains:ToolPose",
    "motion.pose_transform": "motion.blends:pose_transform",
    "motion.voltage_line": "motion.limits:voltage_line",
    "mounts.AimError": "mounts.aiming:AimError",
    "mounts.Deck": "mounts.ships:Deck",
    "mounts.EasyCommPort": "mounts.easycomm:EasyCommPort",
    "mounts.FollowedPath": "mounts.keyholes:FollowedPath",
    "mounts.HorizonSweep": "mounts.sweeps:HorizonSweep",
    "mounts.KeyholePassage": "mounts.axes:KeyholePassage",
    "mounts.Keyholes": "mounts.keyholes:Keyholes",
    "mounts.LegAxes": "mounts.legs:LegAxes",
    "mounts.Licence": "mounts.License",
    "mounts.Look": "mounts.sites:Look",
    "mounts.MachineAxes": "mounts.machines:MachineAxes",
    "mounts.MountComparison": "mounts.comparison_page:MountComparison",
    "mounts.MountRank": "mounts.ranking:MountRank",
    "mounts.MountStudy": "mounts.ranking:MountStudy",
    "mounts.MoveError": "mounts.moves:MoveError",
    "mounts.MovePlan": "mounts.moves:MovePlan",
    "mounts.MoveTask": "mounts.move_files:MoveTask",
    "mounts.MoveWarning": "mounts.moves:MoveWarning",
    "mounts.OrbitError": "mounts.orbits:OrbitError",
    "mounts.Pass": "mounts.passes:Pass",
    "mounts.Passes": "mounts.passes:Passes",
    "mounts.PointingDrive": "mounts.pointing_drive:PointingDrive",
    "mounts.Responses": "mounts.seas:Responses",
    "mounts.RotatorError": "mounts.rotator_client:RotatorError",
    "mounts.RotatorLimits": "mounts.rotctl_language:RotatorLimits",
    "mounts.RotatorPort": "mounts.rotator:RotatorPort",
    "mounts.SensedMotion": "mounts.attitude:SensedMotion",
    "mounts.SerialAxes": "mounts.axes:SerialAxes",
    "mounts.ShapedPath": "mounts.shaping:ShapedPath",
    "mounts.ShapingError": "mounts.shaping:ShapingError",
    "mounts.StreamedMove": "mounts.moves:StreamedMove",
    "mounts.TargetPath": "mounts.moves:TargetPath",
    "mounts.ThreeAxes": "mounts.axes:ThreeAxes",
    "mounts.TransmitInhibit": "mounts.license:TransmitInhibit",
    "mounts.Trapezoids": "mounts.moves:Trapezoids",
    "mounts.VESSELS": "mounts.license:VESSELS",
    "mounts.WaveSpectrum": "mounts.seas:WaveSpectrum",
    "mounts.along_track_error": "mounts.budget:along_track_error",
    "mounts.comparison": "mounts.study_mounts",
    "mounts.generic_responses": "mounts.seas:generic_responses",
    "mounts.heave_amplitude": "mounts.ships:heave_amplitude",
    "mounts.leg_axes": "mounts.legs:leg_axes",
    "mounts.machine_axes": "mounts.machines:machine_axes",
    "mounts.mount_study": "mounts.ranking:mount_study",
    "mounts.passage": "mounts.keyhole_passage",
    "mounts.path_error": "mounts.moves:path_error",
    "mounts.pierson_moskowitz": "mounts.seas:pierson_moskowitz",
    "mounts.pointing_loss": "mounts.budget:pointing_loss",
    "mounts.rank_mounts": "mounts.ranking:rank_mounts",
    "mounts.ranked": "mounts.ranking:rank_mounts",
    "mounts.read_responses": "mounts.seas:read_responses",
    "mounts.report_ship": "mounts.ships:report_ship",
    "mounts.shaped": "mounts.shape_path",
    "mounts.streamed": "mounts.stream_moves",
    "mounts.sun_direction": "mounts.sun:sun_direction",
    "mounts.sweep_report": "mounts.sweeps:sweep_report",
    "mounts.synchronize": "mounts.moves:synchronize",
    "mounts.synchronized": "mounts.moves:synchronize",
    "mounts.tracking": "mounts.track_pass",
    "parallel.Assemblies": "parallel.assembly_modes:Assemblies",
    "parallel.AssemblyMode": "parallel.assembly_modes:AssemblyMode",
    "parallel.Chart": "parallel.charts:Chart",
    "parallel.Counterbalance": "parallel.counterweights:Counterbalance",
    "parallel.DimensionCalibration": "parallel.calibration:DimensionCalibration",
    "parallel.JoinedPoses": "parallel.joined_poses:JoinedPoses",
    "parallel.Locus": "parallel.loci:Locus",
    "parallel.Mobility": "parallel.mobility_counts:Mobility",
    "parallel.PlatformStiffness": "parallel.platform_stiffness:PlatformStiffness",
    "parallel.PoseAccuracy": "parallel.error_budgets:PoseAccuracy",
    "parallel.PoseProof": "parallel.pose_proofs:PoseProof",
    "parallel.PoseSensitivity": "parallel.pose_errors:PoseSensitivity",
    "parallel.RegionProof": "parallel.certificates:RegionProof",
    "parallel.Singularity": "parallel.singularities:Singularity",
    "parallel.assemblies": "parallel.find_assemblies",
    "parallel.balance": "parallel.counterbalance",
    "parallel.buckling_load": "parallel.beams:buckling_load",
    "parallel.displacements": "parallel.displacements:",
    "parallel.joined": "parallel.connect_poses",
    "parallel.root_stress": "parallel.beams:root_stress",
    "parallel.sampled_poses": "parallel.sample_poses",
    "parallel.tip_deflection": "parallel.beams:tip_deflection",
    "sampling.Answers": "sampling.answers:Answers",
    "sampling.DISTRIBUTIONS": "sampling.distributions:DISTRIBUTIONS",
    "sampling.Distribution": "sampling.distributions:Distribution",
    "sampling.Exponent": "sampling.exponents:Exponent",
    "sampling.LoopTask": "sampling.rate_files:LoopTask",
    "sampling.MEANINGS": "sampling.answers:MEANINGS",
    "sampling.RandomHold": "sampling.holds:RandomHold",
    "sampling.RandomRuns": "sampling.runs:RandomRuns",
    "sampling.RateCertificate": "sampling.streams:RateCertificate",
    "sampling.RateMap": "sampling.maps:RateMap",
    "sampling.SampleStream": "sampling.streams:SampleStream",
    "sampling.SwitchingBounds": "sampling.switching:SwitchingBounds",
    "sampling.UnitCurve": "sampling.designs:UnitCurve",
    "sampling.bernoulli_range": "sampling.designs:bernoulli_range",
    "sampling.stream_of": "sampling.streams:stream_of",
    "server.Client": "server.access:Client",
    "server.Credentials": "server.network:Credentials",
    "server.FusionSettings": "server.coordinator.world:FusionSettings",
    "server.SensorNode": "server.sensors:SensorNode",
    "server.Sight": "server.sensors:Sight",
    "sizing.Excess": "sizing.requirements:Excess",
    "sizing.LoadCycle": "sizing.requirements:LoadCycle",
    "sizing.Requirement": "sizing.requirements:Requirement",
    "sizing.Screening": "sizing.requirements:Screening",
    "sizing.Sensitivity": "sizing.requirements:Sensitivity",
    "sizing.Sizing": "sizing.choice:Sizing",
    "sizing.Statistic": "sizing.requirements:Statistic",
    "sizing.Worst": "sizing.requirements:Worst",
    "sizing.WorstCase": "sizing.requirements:WorstCase",
    "sizing.WorstPose": "sizing.requirements:WorstPose",
    "windows.Frame": "windows.records:Frame",
    "windows.HEAD": "windows.records:HEAD",
    "windows.InterruptClaim": "windows.interrupts:InterruptClaim",
    "windows.MULTIPLIER": "windows.records:MULTIPLIER",
    "windows.Stray": "windows.interrupts:Stray",
    "windows.WireCounts": "windows.wire:WireCounts",
}
"""Old public names below `linkwright`, and the new ones; one with a colon is not public any more:
`module:name` is where it is at home, and `module:` is a module that is imported by its name."""


KEYWORDS: dict[str, dict[str, str]] = {
    "Block.parameter": {"least": "lower", "most": "upper"},
    "Equations.assemble": {"values": "parameters"},
    "Equations.program": {"values": "parameters"},
    "Robot": {"source": "model"},
    "Robot.inverse_kinematics": {"start": "initial"},
    "Robot.joint_rates": {"rate": "velocity"},
    "assemble": {"values": "parameters", "mechanism": "model"},
    "base_parameters": {"mechanism": "model"},
    "control.kalman": {"system": "model", "values": "parameters"},
    "control.residual_bounds": {"least": "min_bound"},
    "derive": {"values": "parameters", "mechanism": "model"},
    "elements.WristLinkage.angles": {"turns": "max_iterations"},
    "elements.find_regions": {"least": "min_area"},
    "energy": {"mechanism": "model"},
    "equilibrium": {"mechanism": "model", "values": "parameters"},
    "linear.compliance": {"values": "parameters"},
    "linear.cut_loop": {"values": "parameters"},
    "linear.frequency_response": {"values": "parameters"},
    "linear.harmonic_balance": {"values": "parameters"},
    "linear.limit_cycles": {"values": "parameters"},
    "linear.linearize_along": {"values": "parameters"},
    "linear.relay_experiment": {"values": "parameters"},
    "linear.second_order": {"values": "parameters"},
    "linear.swept_sine": {"values": "parameters"},
    "linearize": {"values": "parameters"},
    "grasp.Grasp.forces": {"least": "min_force", "most": "max_force"},
    "lab.clip": {"low": "lower", "high": "upper"},
    "lab.parameter": {"low": "lower", "high": "upper"},
    "learning.Environment": {"start": "initial"},
    "learning.VectorEnvironment": {"start": "initial"},
    "mounts.Aiming": {"mount": "model"},
    "mounts.Ship.carry": {"mount": "model"},
    "mounts.bench_test": {"values": "parameters", "mount": "model"},
    "mounts.compare_deck": {"mount": "model"},
    "mounts.deck_loads": {"mount": "model"},
    "mounts.horizon_sweep": {"values": "parameters", "mount": "model"},
    "mounts.pointing_budget": {"mount": "model", "rate": "velocity"},
    "mounts.track_pass": {"mount": "model", "licence": "license"},
    "parallel.calibrate": {"source": "model"},
    "parallel.chart": {"values": "parameters", "source": "model", "start": "initial"},
    "parallel.connect_poses": {"robot": "model", "most": "max_nodes"},
    "parallel.find_assemblies": {"values": "parameters", "robot": "model"},
    "parallel.pose_budget": {"source": "model"},
    "parallel.pose_sensitivity": {"source": "model"},
    "parallel.prove_pose": {"robot": "model"},
    "parallel.prove_regular": {"robot": "model", "seconds": "timeout"},
    "parallel.sample_poses": {"source": "model"},
    "parallel.singular_loci": {"robot": "model"},
    "parallel.singularity": {"robot": "model"},
    "parallel.stiffness": {"source": "model"},
    "reactions": {"mechanism": "model", "values": "parameters"},
    "simulate": {"mechanism": "model", "values": "parameters"},
    "simulate_batch": {"values": "parameters", "numbers": "run_ids"},
    "sampling.random_runs": {"start": "initial"},
    "sizing.require": {"robot": "model"},
    "sizing.screen": {"robot": "model"},
    "sizing.worst_pose": {"robot": "model"},
    "sweep": {"values": "parameters", "together": "zip"},
}
"""Old keyword arguments of public functions and classes, and the new ones."""

METHODS: dict[str, str] = {
    "Mechanism.set_values": "set_parameters",
    "Mechanism.with_values": "with_parameters",
    "System.set": "set_parameters",
}
"""Old names of methods, and the new ones."""


RADIANS: dict[str, str] = {
    "mounts.License": "error, silence; verdict(error); input error of its switch",
    "mounts.Orbit": "inclination, node, perigee, anomaly",
    "mounts.PointingLimits": "sag, wind, attitude; the budget",
    "mounts.Rotator": "speed, acceleration, park, limits; go, position",
    "mounts.RotatorClient": "go, position",
    "mounts.Sea.ship": "heading",
    "mounts.Ship": "heading",
    "mounts.Site": "latitude, longitude, mask; horizon, passes(above), look: azimuth, elevation",
    "mounts.Wind": "comes_from",
    "mounts.circle_path": "angle",
    "mounts.drive_rotator": "lowest; commands, positions and errors of what it returns",
    "mounts.orbit_path": "tilt, turn, start, end, spacing; speeds along it",
    "mounts.track_pass": "the channel pointing error",
    "parallel.chart": "axes and at: azimuth, zenith, elevation, roll, pitch, yaw; ends",
    "parallel.prove_regular": "zenith, smallest; region and sizes of the proof",
    "parallel.singular_loci": "zenith of the region; zenith, azimuth, nearest, away, at_zenith",
}
"""Public names whose angles were in degrees, and which; values that can only be degrees fail."""

_PATHS = {"elements.drives": "drives", "robots.identification": "identification"}


def renamed(package: str, name: str) -> Any:
    """Return what an old name of a room stands for, with a warning; None where it is not one."""
    room = package.partition(".")[2]
    old = f"{_PATHS.get(room, room)}.{name}".removeprefix(".")
    new = NAMES.get(old)
    if new is None:
        return None
    from linkwright.base.lazy import named

    module, _, last = new.replace(":", ".").rpartition(".")
    place = f"linkwright.{new.replace(':', '.')}".removesuffix(".")
    if place != f"linkwright.{old}":  # else it is a module, imported by its name
        warnings.warn(
            f"linkwright.{old} is now {'the module ' * (not last)}{place}; "
            f"release {DROPPED} drops the old name",
            DeprecationWarning,
            stacklevel=3,
        )
    return named(f"linkwright.{module}:{last}" if module else f"linkwright:{last}")


def renamed_keywords(
    function: Callable[..., Any], given: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return keywords by their new names, with a warning for each old one; None without one."""
    own = function.__qualname__.removesuffix(".__init__")
    last = own.rpartition(".")[2]
    tables = (
        t for key, t in KEYWORDS.items() if key.rpartition(".")[2] == last and t.keys() & given
    )
    new = next((t for t in tables), {})
    if not new or {new.get(name) for name in given} & given.keys():
        return None
    for old in new.keys() & given.keys():
        warnings.warn(
            f"{old}= of {own} is now {new[old]}=; release {DROPPED} drops the old name",
            DeprecationWarning,
            stacklevel=4,
        )
    return {new.get(name, name): value for name, value in given.items()}


def renamed_method(kind: type, name: str) -> str:
    """Return the new name of a method, with a warning, or nothing."""
    new = next(
        (
            METHODS[f"{c.__name__}.{name}"]
            for c in kind.__mro__
            if f"{c.__name__}.{name}" in METHODS
        ),
        "",
    )
    if new:
        warnings.warn(
            f"{kind.__name__}.{name} is now {kind.__name__}.{new}; "
            f"release {DROPPED} drops the old name",
            DeprecationWarning,
            stacklevel=3,
        )
    return new
