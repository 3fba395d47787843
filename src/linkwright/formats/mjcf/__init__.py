"""MJCF, the format of MuJoCo: `read_mjcf`, `parse_mjcf` and `mjcf_text`.

After the reference of the format (mujoco.readthedocs.io, chapters Modeling and XML Reference). What
is read is the mechanism: bodies, joints, masses, shapes, sites, loops, couplings and limits.
Contact, tendons, sensors, keyframes and pictures are listed as left out.
"""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
