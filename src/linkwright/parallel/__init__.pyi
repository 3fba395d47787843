from linkwright.parallel.assembly_modes import (
    find_assemblies as find_assemblies,
)
from linkwright.parallel.beams import (
    BeamSection as BeamSection,
)
from linkwright.parallel.calibration import (
    calibrate as calibrate,
)
from linkwright.parallel.certificates import (
    prove_regular as prove_regular,
)
from linkwright.parallel.charts import (
    chart as chart,
)
from linkwright.parallel.counterweights import (
    Counterweight as Counterweight,
    counterbalance as counterbalance,
)
from linkwright.parallel.error_budgets import (
    ErrorBudget as ErrorBudget,
    ErrorSource as ErrorSource,
    pose_accuracy as pose_accuracy,
)
from linkwright.parallel.joined_poses import (
    connect_poses as connect_poses,
)
from linkwright.parallel.loci import (
    singular_loci as singular_loci,
)
from linkwright.parallel.member_loads import (
    member_strength as member_strength,
)
from linkwright.parallel.mobility_counts import (
    mobility as mobility,
)
from linkwright.parallel.platform_stiffness import (
    stiffness as stiffness,
)
from linkwright.parallel.pose_errors import (
    pose_budget as pose_budget,
    pose_sensitivity as pose_sensitivity,
    sample_poses as sample_poses,
)
from linkwright.parallel.pose_proofs import (
    prove_pose as prove_pose,
)
from linkwright.parallel.screws import (
    Screw as Screw,
)
from linkwright.parallel.singularities import (
    singularity as singularity,
)
