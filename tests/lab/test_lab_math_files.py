"""The math files of SL as C: compiled without a warning, called by their 1-based arrays."""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.lab.config import LabConfig
from linkwright.lab.files.math_files import math_texts, write_math
from linkwright.lab.sources import lab_config
from linkwright.robots import Robot
from tests.lab.test_lab_pushes import arm
from tests.seeds import cases, seldom

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wno-unused-parameter", "-pedantic", "-Werror"]
Array = np.ndarray


def built(config: LabConfig, folder: Path) -> ctypes.CDLL:
    """Compile the files of a laboratory as a library."""
    files = [str(p) for p in write_math(config, folder) if p.suffix == ".c"]
    library = folder / "libmath.so"
    subprocess.run(
        ["cc", *STRICT, "-shared", "-fPIC", *files, "-lm", "-o", str(library)], check=True
    )
    return ctypes.CDLL(str(library))


def call(function: object, *arrays: Array) -> None:
    function(*(a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for a in arrays))  # type: ignore[operator]


def from_one(values: Array) -> Array:
    return np.concatenate([[np.nan], values])


@pytest.mark.parametrize("name", cases(["own", "sl-arm"], daily=["own"]))
def test_math_files_are_the_robot(name: str, tmp_path: Path) -> None:
    """SL 7.2, the six calls: dynamics undo each other, and the rest is that of the robot."""
    config = lab_config(name) if name != "own" else replace(arm(), gravity=(0.0, 0.0, -9.81))
    library, robot = built(config, tmp_path / "math"), Robot(config.description)
    n, rng = len(config.names), np.random.default_rng(3)
    q, u, a = rng.uniform(-1, 1, (3, n))
    tau, back = np.full(n + 1, np.nan), np.full(n + 1, np.nan)
    call(library.sl_inverse_dynamics, from_one(q), from_one(u), from_one(a), tau)
    np.testing.assert_allclose(tau[1:], robot.inverse_dynamics(q, u, a), rtol=1e-9, atol=1e-12)
    call(library.sl_forward_dynamics, from_one(q), from_one(u), tau, back)
    np.testing.assert_allclose(back[1:], a, rtol=1e-6, atol=1e-8)
    assert np.isnan(tau[0])
    places = np.full((len(config.vertices) + 1, 4), np.nan)
    call(library.sl_endpoint_kinematics, from_one(q), places)
    frames = list(config.vertices.values())
    for k, frame in enumerate(frames, 1):
        np.testing.assert_allclose(places[k, 1:], robot.position(q, frame), atol=1e-12)
    axes, origins, centers = (np.full((n + 1, 4), np.nan) for _ in range(3))
    links = np.full((n + 1, 5, 5), np.nan)
    call(library.sl_link_information, from_one(q), axes, origins, centers, links)
    whole = np.zeros(3)
    for k, joint in enumerate(config.description.joints, 1):
        pose = np.asarray(robot.pose(q, joint.child))
        np.testing.assert_allclose(links[k, 1:, 1:], pose, atol=1e-12)
        np.testing.assert_allclose(origins[k, 1:], pose[:3, 3], atol=1e-12)
        np.testing.assert_allclose(axes[k, 1:], pose[:3, :3] @ joint.axis, atol=1e-12)
        whole += centers[k, 1:]
    masses = [x.mass.mass for x in config.description.links if x.mass and x.name != "BASE"]
    np.testing.assert_allclose(whole / sum(masses), robot.center_of_mass(q), atol=1e-9)
    jacobian = np.full((7, n + 1), np.nan)
    call(library.sl_geometric_jacobian, from_one(q), jacobian)
    end, pose = config.end_effectors[0], np.asarray(robot.pose(q, config.end_effectors[0].link))

    def hand(at: Array) -> Array:
        found = np.asarray(robot.pose(at, end.link))
        return np.asarray(found[:3, 3] + found[:3, :3] @ end.x)

    for k in range(n):
        h = 1e-6 * np.eye(n)[k]
        slope = (hand(q + h) - hand(q - h)) / 2e-6
        np.testing.assert_allclose(jacobian[1:4, k + 1], slope, atol=1e-8)
    assert pose.shape == (4, 4)


def test_vertices_are_on_the_joints_that_carry_them_and_sticks_join_them() -> None:
    texts = math_texts(lab_config("sl-arm"))
    owners = texts["LEKin_contact.h"].partition("{")[2].partition("}")[0]
    assert owners == "0, 1, 2, 4, 5, 6, 7, 7, 10, 10, 8, 9"
    assert "R_FAA = 10" in texts["sl_math.h"]
    assert "{6, 7}" in texts["OpenGL.h"]


@seldom(daily="test_math_files_are_the_robot")
def test_the_command_writes_a_folder_that_make_builds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "math"
    words = ["codegen", "tests/robots/scara.toml", "--target", "sl", "--out", str(folder)]
    assert main(words) == 0
    subprocess.run(["make", "-C", str(folder)], check=True, capture_output=True)
    assert (folder / "libsl_math.a").is_file()
    assert main(words) == 2
    assert "--force" in capsys.readouterr().err
    assert main([*words, "--force"]) == 0
    floating = replace(lab_config("tests/robots/quadruped.urdf"))
    with pytest.raises(InputError, match="fixed base"):
        math_texts(floating)
