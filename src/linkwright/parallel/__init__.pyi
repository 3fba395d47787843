from linkwright.parallel import (
    decoupled_compliance as decoupled_compliance,
    displacements as displacements,
)
from linkwright.parallel.assembly_modes import (
    Assemblies as Assemblies,
    AssemblyMode as AssemblyMode,
    find_assemblies as find_assemblies,
)
from linkwright.parallel.beams import (
    BeamSection as BeamSection,
    buckling_load as buckling_load,
    root_stress as root_stress,
    tip_deflection as tip_deflection,
)
from linkwright.parallel.calibration import (
    DimensionCalibration as DimensionCalibration,
    calibrate as calibrate,
)
from linkwright.parallel.certificates import (
    RegionProof as RegionProof,
    prove_regular as prove_regular,
)
from linkwright.parallel.charts import (
    Chart as Chart,
    chart as chart,
)
from linkwright.parallel.counterweights import (
    Counterbalance as Counterbalance,
    Counterweight as Counterweight,
    counterbalance as counterbalance,
)
from linkwright.parallel.error_budgets import (
    ErrorBudget as ErrorBudget,
    ErrorSource as ErrorSource,
    PoseAccuracy as PoseAccuracy,
    pose_accuracy as pose_accuracy,
)
from linkwright.parallel.joined_poses import (
    JoinedPoses as JoinedPoses,
    connect_poses as connect_poses,
)
from linkwright.parallel.loci import (
    Locus as Locus,
    singular_loci as singular_loci,
)
from linkwright.parallel.member_loads import (
    MemberStrength as MemberStrength,
    member_strength as member_strength,
)
from linkwright.parallel.mobility_counts import (
    Mobility as Mobility,
    mobility as mobility,
)
from linkwright.parallel.platform_stiffness import (
    PlatformStiffness as PlatformStiffness,
    stiffness as stiffness,
)
from linkwright.parallel.pose_errors import (
    PoseSensitivity as PoseSensitivity,
    pose_budget as pose_budget,
    pose_sensitivity as pose_sensitivity,
    sample_poses as sample_poses,
)
from linkwright.parallel.pose_proofs import (
    PoseProof as PoseProof,
    prove_pose as prove_pose,
)
from linkwright.parallel.screws import (
    Screw as Screw,
)
from linkwright.parallel.singularities import (
    Singularity as Singularity,
    singularity as singularity,
)
