"""URDF, the robot files of ROS: `read_urdf` and `write_urdf`."""

from __future__ import annotations

from linkwright.formats.urdf.reader import parse_urdf, read_urdf, urdf_description

__all__ = ["parse_urdf", "read_urdf", "urdf_description"]
