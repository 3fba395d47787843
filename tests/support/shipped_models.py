"""Which shipped models a test over all of them takes where each costs a derivation."""

from linkwright.models import MODELS

#: Models whose bodies, joints and loops all occur in another that is shipped.
ALIKE = frozenset(
    {
        "mount-3-rotary",  # these four: mount-prismatic, and stewart for struts that are driven
        "mount-2-rotary",
        "mount-truss-3",
        "mount-truss-2",
        "mount-x-y",
        "mount-3-axis",
        "mount-4-axis",
        "tripod",
        "spherical-collinear",  # these four: agile-eye
        "spherical-coplanar",
        "spherical-shoulder",
        "unitru",
        "planar-3-rpr",
        "puma-sees",  # puma560
        "humanoid",  # arms, and spacecraft-1 for a base that is free
    }
)

DIFFERENT = tuple(name for name in MODELS if name not in ALIKE)
"""The names of models without those that have the parts of another."""

SMALL = tuple(name for name in DIFFERENT if name not in ("mount-prismatic", "agile-eye"))
"""Those of them that are derived in little time."""
