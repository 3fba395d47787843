"""``python -m bench.mjcf_conformance [FILE ...]``: MJCF files as MuJoCo reads them, and as we do.

Without arguments, all MJCF files inside installed packages are taken: gymnasium, which the bench
extra brings, and dm_control, gymnasium_robotics and mujoco_playground where they are there. What is
compared: masses, mass centers and inertias of bodies, places of bodies and sites at random
coordinates, and, with ``--dynamics``, the mass matrix and the bias force. The exit code is 1 where
something differs by more than 1e-10 of its size.

Two known differences are MuJoCo's. It drops products of inertia of meshes below about 1e-7 of
the moments; of bodies with meshes, principal moments are compared, of joints' dynamics nothing. And
rotors and springs of ball joints are left out here, as is said when a file is read.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import mujoco
import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from bench.mjcf_peer import dynamics_errors, mass_errors, moment_errors, place_errors
from linkwright.base.errors import Error
from linkwright.cli.machine import describe
from linkwright.formats.mjcf import read_mjcf
from linkwright.formats.robot.description import Description
from linkwright.robots import Robot

LIMIT = 1e-10
PACKAGES = ("gymnasium", "dm_control", "gymnasium_robotics", "mujoco_playground", "mujoco")


def packaged() -> Iterator[tuple[Path, Path]]:
    """Yield the MJCF files of installed packages, each with the folder of its package."""
    for name in PACKAGES:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            continue
        folder = Path(spec.origin).parent
        for path in sorted(folder.rglob("*.xml")):
            yield path, folder


@contextmanager
def elsewhere() -> Iterator[None]:
    """Work in a folder of its own, since MuJoCo writes a log of its warnings where it is."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def compared(model: mujoco.MjModel, description: Description, dynamics: bool) -> dict[str, float]:
    """Return the greatest errors of masses, places and dynamics."""
    rng = np.random.default_rng(1)
    meshes = any(shape.kind == "mesh" for link in description.links for shape in link.shapes)
    found = {
        "mass": (moment_errors if meshes else mass_errors)(model, description),
        "place": place_errors(model, description, rng),
    }
    loops = description.closures or any(joint.mimic for joint in description.joints)
    lost = any(
        "of a ball" in entry.what or "of a free" in entry.what for entry in description.ignored
    )
    if dynamics and not loops and not meshes and not lost and model.nv:
        robot = Robot(description, friction=False)
        found["dynamics"] = dynamics_errors(robot, model, description, rng)
    return found


def main() -> int:
    """Compare, print a table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--dynamics", action="store_true")
    given = parser.parse_args()
    console = Console()
    console.print(f"{describe()}, MuJoCo {mujoco.__version__}", highlight=False)
    table = Table(box=box.SIMPLE_HEAD)
    for title in ("file", "bodies", "speeds", "mass", "place", "dynamics", "read, ms"):
        table.add_column(title, justify="left" if title == "file" else "right")
    files = [(path.resolve(), path.resolve().parent) for path in given.files] or list(packaged())
    worst, refused, counted = 0.0, 0, 0
    with elsewhere():
        for path, root in files:
            try:
                model = mujoco.MjModel.from_xml_path(str(path))
            except ValueError:
                continue  # not a whole model, or its meshes are not in the package
            started = time.perf_counter()
            try:
                description = read_mjcf(path, roots=[root])
            except Error as error:
                console.print(f"refused: {error}", highlight=False)
                refused += 1
                continue
            spent = time.perf_counter() - started
            errors = compared(model, description, given.dynamics)
            counted += 1
            worst = max(worst, *errors.values())
            cells = (
                f"{errors[k]:.1e}" if k in errors else "" for k in ("mass", "place", "dynamics")
            )
            table.add_row(
                f"{root.name}: {path.stem}",
                str(model.nbody),
                str(model.nv),
                *cells,
                f"{1e3 * spent:.0f}",
            )
    console.print(table)
    console.print(
        f"{counted} files, {refused} refused, greatest error {worst:.1e}", highlight=False
    )
    return 0 if worst <= LIMIT and counted else 1


if __name__ == "__main__":
    sys.exit(main())
