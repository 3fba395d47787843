"""URDF, the robot files of ROS: `read_urdf` and `urdf_text`."""

from __future__ import annotations

from linkwright.formats.urdf.reader import parse_urdf, read_urdf, urdf_description
from linkwright.formats.urdf.writer import urdf_text

__all__ = ["parse_urdf", "read_urdf", "urdf_description", "urdf_text"]
