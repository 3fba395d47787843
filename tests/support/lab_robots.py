"""A small robot for laboratories that meet real sockets and processes."""

from __future__ import annotations

from pathlib import Path

from linkwright.lab.config import LabConfig
from linkwright.lab.sources import lab_config

_LINK = """
  <link name="{name}">
    <inertial>
      <origin xyz="0.2 0 0"/><mass value="1.5"/>
      <inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="{joint}" type="revolute">
    <parent link="{parent}"/><child link="{name}"/>
    <origin xyz="{x} 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="50" velocity="20"/>
  </joint>
"""
_ARM = (
    '<robot name="planar"><link name="base"/>'
    + _LINK.format(name="upper", joint="shoulder", parent="base", x=0)
    + _LINK.format(name="fore", joint="elbow", parent="upper", x=0.4)
    + "</robot>"
)


def planar_file(folder: Path) -> Path:
    """Write a URDF of an arm of two joints that turn about the vertical; return where it is."""
    file = folder / "planar.urdf"
    file.write_text(_ARM)
    return file


def planar(folder: Path, rate: float = 200.0) -> LabConfig:
    """Return the laboratory of that arm, with sensors that have an offset."""
    from dataclasses import replace

    found = lab_config(planar_file(folder))
    joints = tuple(replace(joint, offset=0.1) for joint in found.joints)
    return replace(found, joints=joints, rate=rate)
