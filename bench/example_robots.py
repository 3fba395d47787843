"""Robots that come inside a PyPI package, for benches and for conformance.

`example-robot-data` holds the URDF files of many robots; where they lie is asked of the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

PACKAGE = "example-robot-data"


@dataclass(frozen=True, slots=True)
class Example:
    """A robot.

    Args:
        name: for tables.
        file: the end of its path in the package.
        base: "fixed" or "free".
        kind: arm, hand, quadruped, humanoid, ...
    """

    name: str
    file: str
    base: str
    kind: str


EXAMPLES = (
    Example("Panda", "panda_description/urdf/panda.urdf", "fixed", "arm"),
    Example("UR5", "ur_description/urdf/ur5_robot.urdf", "fixed", "arm"),
    Example("xArm7", "xarm_description/urdf/xarm7.urdf", "fixed", "arm"),
    Example("Kinova", "kinova_description/robots/kinova.urdf", "fixed", "arm"),
    Example("Allegro", "allegro_hand_description/urdf/allegro_left_hand.urdf", "fixed", "hand"),
    Example("Solo12", "solo_description/robots/solo12.urdf", "free", "quadruped"),
    Example("ANYmal", "anymal_b_simple_description/robots/anymal.urdf", "free", "quadruped"),
    Example("Go2", "go2_description/urdf/go2.urdf", "free", "quadruped"),
    Example("Baxter", "baxter_description/urdf/baxter.urdf", "fixed", "two arms"),
    Example("G1", "g1_description/urdf/g1_29dof_rev_1_0.urdf", "free", "humanoid"),
    Example("iCub", "icub_description/robots/icub_reduced.urdf", "free", "humanoid"),
    Example("Talos", "talos_data/robots/talos_reduced.urdf", "free", "humanoid"),
    Example("Romeo", "romeo_description/urdf/romeo_small.urdf", "free", "humanoid"),
)


def path_of(example: Example) -> Path:
    """Return where the file of a robot lies; the package must be installed (extra `bench`)."""
    try:
        known = files(PACKAGE) or []
    except PackageNotFoundError:
        known = []
    for entry in known:
        if str(entry).endswith(example.file):
            return Path(str(entry.locate())).resolve()
    raise FileNotFoundError(
        f"{example.file} is in no installed package; install the extra 'bench', which brings "
        f"{PACKAGE}"
    )
