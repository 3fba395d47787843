from linkwright.analysis import (
    contact as contact,
    decoupled_compliance as decoupled_compliance,
    displacements as displacements,
    sampling as sampling,
)
from linkwright.analysis.assembly_modes import (
    Assemblies as Assemblies,
    AssemblyMode as AssemblyMode,
    assemblies as assemblies,
)
from linkwright.analysis.beams import (
    BeamSection as BeamSection,
    buckling_load as buckling_load,
    root_stress as root_stress,
    tip_deflection as tip_deflection,
)
from linkwright.analysis.calibration import (
    DimensionCalibration as DimensionCalibration,
    calibrate as calibrate,
)
from linkwright.analysis.certificates import (
    RegionProof as RegionProof,
    prove_regular as prove_regular,
)
from linkwright.analysis.charts import Chart as Chart, chart as chart
from linkwright.analysis.counterweights import (
    Counterbalance as Counterbalance,
    Counterweight as Counterweight,
    balance as balance,
)
from linkwright.analysis.cycle import JointCycle as JointCycle
from linkwright.analysis.describing_functions import (
    DESCRIBING_FUNCTIONS as DESCRIBING_FUNCTIONS,
    backlash_gain as backlash_gain,
    dead_zone_gain as dead_zone_gain,
    dry_friction_gain as dry_friction_gain,
    quantizer_gain as quantizer_gain,
    saturation_gain as saturation_gain,
)
from linkwright.analysis.errors import (
    ErrorBudget as ErrorBudget,
    ErrorSource as ErrorSource,
    PoseAccuracy as PoseAccuracy,
    pose_accuracy as pose_accuracy,
)
from linkwright.analysis.frequency import (
    Margins as Margins,
    OpenLoop as OpenLoop,
    compliance as compliance,
    cut_loop as cut_loop,
    frequency_response as frequency_response,
)
from linkwright.analysis.gains import (
    ProposedGains as ProposedGains,
    best_gains as best_gains,
    gains_at as gains_at,
    proposed_gains as proposed_gains,
)
from linkwright.analysis.joined_poses import JoinedPoses as JoinedPoses, joined as joined
from linkwright.analysis.limit_cycle_maps import (
    LimitCycleMap as LimitCycleMap,
    limit_cycle_map as limit_cycle_map,
)
from linkwright.analysis.limit_cycles import (
    HarmonicBalance as HarmonicBalance,
    LimitCycle as LimitCycle,
    harmonic_balance as harmonic_balance,
    limit_cycles as limit_cycles,
)
from linkwright.analysis.linearization import (
    LinearModel as LinearModel,
    linearize as linearize,
    linearize_along as linearize_along,
)
from linkwright.analysis.loci import Locus as Locus, singular_loci as singular_loci
from linkwright.analysis.mobility_counts import Mobility as Mobility, mobility as mobility
from linkwright.analysis.modes import Mode as Mode, modes as modes
from linkwright.analysis.platform_stiffness import (
    PlatformStiffness as PlatformStiffness,
    stiffness as stiffness,
)
from linkwright.analysis.pose_errors import (
    PoseSensitivity as PoseSensitivity,
    pose_budget as pose_budget,
    pose_sensitivity as pose_sensitivity,
    sampled_poses as sampled_poses,
)
from linkwright.analysis.pose_proofs import PoseProof as PoseProof, prove_pose as prove_pose
from linkwright.analysis.relays import RelayRun as RelayRun, relay_experiment as relay_experiment
from linkwright.analysis.requirements import (
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
from linkwright.analysis.responses import FrequencyResponse as FrequencyResponse
from linkwright.analysis.screws import Screw as Screw
from linkwright.analysis.singularities import Singularity as Singularity, singularity as singularity
from linkwright.analysis.sizing.choice import Sizing as Sizing, size as size
from linkwright.analysis.sizing.duty import duty_cycle as duty_cycle, duty_type as duty_type
from linkwright.analysis.swept_sine import swept_sine as swept_sine
from linkwright.analysis.tuning import (
    StepMeasures as StepMeasures,
    UltimatePoint as UltimatePoint,
    fitted_sine as fitted_sine,
    measured_margins as measured_margins,
    measured_response as measured_response,
    opened as opened,
    step_measures as step_measures,
    ultimate_point as ultimate_point,
)
from linkwright.formats.catalog.reader import read_catalog as read_catalog
from linkwright.formats.catalog.schema import Catalog as Catalog
