"""Analyses of mechanisms and Systems: linearization, modes, frequency responses, requirements."""

from typing import TYPE_CHECKING

from linkwright.analysis.cycle import JointCycle
from linkwright.analysis.describing_functions import (
    DESCRIBING_FUNCTIONS,
    backlash_gain,
    dead_zone_gain,
    dry_friction_gain,
    quantizer_gain,
    saturation_gain,
)
from linkwright.analysis.frequency import (
    Margins,
    OpenLoop,
    compliance,
    cut_loop,
    frequency_response,
)
from linkwright.analysis.gains import ProposedGains, best_gains, gains_at, proposed_gains
from linkwright.analysis.limit_cycle_maps import LimitCycleMap, limit_cycle_map
from linkwright.analysis.limit_cycles import (
    HarmonicBalance,
    LimitCycle,
    harmonic_balance,
    limit_cycles,
)
from linkwright.analysis.linearization import LinearModel, linearize, linearize_along
from linkwright.analysis.modes import Mode, modes
from linkwright.analysis.relays import RelayRun, relay_experiment
from linkwright.analysis.requirements import (
    Excess,
    LoadCycle,
    Requirement,
    Screening,
    Sensitivity,
    Statistic,
    Worst,
    WorstCase,
    WorstPose,
    rainflow,
    require,
    screen,
    worst_pose,
)
from linkwright.analysis.responses import FrequencyResponse
from linkwright.analysis.swept_sine import swept_sine
from linkwright.analysis.tuning import (
    StepMeasures,
    UltimatePoint,
    fitted_sine,
    measured_margins,
    measured_response,
    opened,
    step_measures,
    ultimate_point,
)
from linkwright.lazy import lazy_names

if TYPE_CHECKING:
    from linkwright.analysis import contact, decoupled_compliance, displacements, sampling
    from linkwright.analysis.assembly_modes import Assemblies, AssemblyMode, assemblies
    from linkwright.analysis.beams import BeamSection, buckling_load, root_stress, tip_deflection
    from linkwright.analysis.calibration import DimensionCalibration, calibrate
    from linkwright.analysis.certificates import RegionProof, prove_regular
    from linkwright.analysis.charts import Chart, chart
    from linkwright.analysis.counterweights import Counterbalance, Counterweight, balance
    from linkwright.analysis.errors import (
        ErrorBudget,
        ErrorSource,
        PoseAccuracy,
        pose_accuracy,
    )
    from linkwright.analysis.joined_poses import JoinedPoses, joined
    from linkwright.analysis.loci import Locus, singular_loci
    from linkwright.analysis.mobility_counts import Mobility, mobility
    from linkwright.analysis.platform_stiffness import PlatformStiffness, stiffness
    from linkwright.analysis.pose_errors import (
        PoseSensitivity,
        pose_budget,
        pose_sensitivity,
        sampled_poses,
    )
    from linkwright.analysis.pose_proofs import PoseProof, prove_pose
    from linkwright.analysis.screws import Screw
    from linkwright.analysis.singularities import Singularity, singularity
    from linkwright.analysis.sizing.choice import Sizing, size
    from linkwright.analysis.sizing.duty import duty_cycle, duty_type
    from linkwright.formats.catalog.reader import read_catalog
    from linkwright.formats.catalog.schema import Catalog

__all__ = [
    "DESCRIBING_FUNCTIONS",
    "Assemblies",
    "AssemblyMode",
    "BeamSection",
    "Catalog",
    "Chart",
    "Counterbalance",
    "Counterweight",
    "DimensionCalibration",
    "ErrorBudget",
    "ErrorSource",
    "Excess",
    "FrequencyResponse",
    "HarmonicBalance",
    "JoinedPoses",
    "JointCycle",
    "LimitCycle",
    "LimitCycleMap",
    "LinearModel",
    "LoadCycle",
    "Locus",
    "Margins",
    "Mobility",
    "Mode",
    "OpenLoop",
    "PlatformStiffness",
    "PoseAccuracy",
    "PoseProof",
    "PoseSensitivity",
    "ProposedGains",
    "RegionProof",
    "RelayRun",
    "Requirement",
    "Screening",
    "Screw",
    "Sensitivity",
    "Singularity",
    "Sizing",
    "Statistic",
    "StepMeasures",
    "UltimatePoint",
    "Worst",
    "WorstCase",
    "WorstPose",
    "assemblies",
    "backlash_gain",
    "balance",
    "best_gains",
    "buckling_load",
    "calibrate",
    "chart",
    "compliance",
    "contact",
    "cut_loop",
    "dead_zone_gain",
    "decoupled_compliance",
    "displacements",
    "dry_friction_gain",
    "duty_cycle",
    "duty_type",
    "fitted_sine",
    "frequency_response",
    "gains_at",
    "harmonic_balance",
    "joined",
    "limit_cycle_map",
    "limit_cycles",
    "linearize",
    "linearize_along",
    "measured_margins",
    "measured_response",
    "mobility",
    "modes",
    "opened",
    "pose_accuracy",
    "pose_budget",
    "pose_sensitivity",
    "proposed_gains",
    "prove_pose",
    "prove_regular",
    "quantizer_gain",
    "rainflow",
    "read_catalog",
    "relay_experiment",
    "require",
    "root_stress",
    "sampled_poses",
    "sampling",
    "saturation_gain",
    "screen",
    "singular_loci",
    "singularity",
    "size",
    "step_measures",
    "stiffness",
    "swept_sine",
    "tip_deflection",
    "ultimate_point",
    "worst_pose",
]

if not TYPE_CHECKING:  # what reads files is imported when it is used
    __getattr__ = lazy_names(
        __name__,
        {
            "linkwright.analysis": (
                "contact",
                "decoupled_compliance",
                "displacements",
                "sampling",
            ),
            "linkwright.analysis.assembly_modes": ("Assemblies", "AssemblyMode", "assemblies"),
            "linkwright.analysis.calibration": ("DimensionCalibration", "calibrate"),
            "linkwright.analysis.charts": ("Chart", "chart"),
            "linkwright.analysis.counterweights": ("Counterbalance", "Counterweight", "balance"),
            "linkwright.analysis.beams": (
                "BeamSection",
                "buckling_load",
                "root_stress",
                "tip_deflection",
            ),
            "linkwright.analysis.pose_errors": (
                "PoseSensitivity",
                "pose_budget",
                "pose_sensitivity",
                "sampled_poses",
            ),
            "linkwright.analysis.platform_stiffness": ("PlatformStiffness", "stiffness"),
            "linkwright.analysis.errors": (
                "ErrorBudget",
                "ErrorSource",
                "PoseAccuracy",
                "pose_accuracy",
            ),
            "linkwright.analysis.screws": ("Screw",),
            "linkwright.analysis.mobility_counts": ("Mobility", "mobility"),
            "linkwright.analysis.pose_proofs": ("PoseProof", "prove_pose"),
            "linkwright.analysis.certificates": ("RegionProof", "prove_regular"),
            "linkwright.analysis.joined_poses": ("JoinedPoses", "joined"),
            "linkwright.analysis.loci": ("Locus", "singular_loci"),
            "linkwright.analysis.singularities": ("Singularity", "singularity"),
            "linkwright.analysis.sizing.choice": ("Sizing", "size"),
            "linkwright.analysis.sizing.duty": ("duty_cycle", "duty_type"),
            "linkwright.formats.catalog.reader": ("read_catalog",),
            "linkwright.formats.catalog.schema": ("Catalog",),
        },
    )
