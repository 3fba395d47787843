from linkwright.mounts.closed_forms.jacks import (
    Jacks as Jacks,
    jack_directions as jack_directions,
    jack_lengths as jack_lengths,
    jack_singularity as jack_singularity,
    jack_transmission as jack_transmission,
)
from linkwright.mounts.closed_forms.legs import Legs as Legs, OutOfReachError as OutOfReachError
from linkwright.mounts.closed_forms.limits import (
    reach as reach,
    rotary_limit as rotary_limit,
    truss_curve as truss_curve,
    worst as worst,
)
from linkwright.mounts.closed_forms.rotary import (
    PlatformModes as PlatformModes,
    arm_angles as arm_angles,
    arm_rates as arm_rates,
    determinants as determinants,
    inverse_jacobian as inverse_jacobian,
    mirror_pose as mirror_pose,
    platform_modes as platform_modes,
    strut_poses as strut_poses,
    transmission_ratio as transmission_ratio,
)
from linkwright.mounts.closed_forms.trusses import (
    member_determinant as member_determinant,
    member_lengths as member_lengths,
    truss_modes as truss_modes,
)
