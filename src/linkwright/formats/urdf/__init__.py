"""URDF, the robot files of ROS: `read_urdf` and `urdf_text`."""

from linkwright.base.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
