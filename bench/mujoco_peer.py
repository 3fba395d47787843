"""MuJoCo's numbers for the robots of conformance, in our coordinates and speeds.

MuJoCo reads the same URDF file, without shapes and meshes, which dynamics does not need; a free
base gets a free joint. It refuses some inertias that no body can have; then there is no model of
the file to compare with, and its message is printed.

Speeds of a free base differ: MuJoCo has the velocity of the origin along the world's axes. With
v = G u, forces are Gᵀ tau, mass matrices Gᵀ M G, and accelerations G a + G' u. Accelerations are
compared by the forces that they take in MuJoCo.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import mujoco
import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

import linkwright as lw
from bench.example_robots import Example, path_of
from linkwright.robots import Robot
from linkwright.robots.regressor import random_states

Array: TypeAlias = NDArray[np.float64]

LIMIT = 1e-10
STATES = 3


def model_of(path: Path, base: str) -> mujoco.MjModel:
    """Return MuJoCo's model of a URDF file, shapes left out."""
    root = ET.parse(path).getroot()
    for link in root.iter("link"):
        for tag in ("visual", "collision"):
            for shape in link.findall(tag):
                link.remove(shape)
    extension = ET.SubElement(root, "mujoco")
    options = {"fusestatic": "false", "balanceinertia": "false"}
    ET.SubElement(extension, "compiler", options)
    spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
    if base == "free":
        spec.worldbody.first_body().add_freejoint(name="floating")
    return spec.compile()


class Peer:
    """A robot in MuJoCo.

    Args:
        robot: ours.
        model: MuJoCo's.
    """

    def __init__(self, robot: Robot, model: mujoco.MjModel) -> None:
        self.robot, self.model = robot, model
        self.data = mujoco.MjData(model)

    def set(self, q: Array, u: Array) -> None:
        """Bring MuJoCo into one of our states."""
        value = dict(zip(self.robot.coordinates, q, strict=True))
        for joint in self.robot.assembled.joints:
            name = "floating" if joint.kind == "free" else joint.name
            at = self.model.joint(name).qposadr[0]
            if joint.kind == "free":
                self.data.qpos[at : at + 7] = [value[c.name] for c in joint.coordinates]
            elif joint.follows is not None:
                leader, factor, offset = joint.follows
                self.data.qpos[at] = factor * value[leader.name] + offset
            else:
                self.data.qpos[at] = value[joint.coordinates[0].name]
        mujoco.mj_kinematics(self.model, self.data)
        self.data.qvel[:] = self.transmission() @ u
        mujoco.mj_forward(self.model, self.data)

    def transmission(self) -> Array:
        """Return G at the present configuration."""
        g = np.zeros((self.model.nv, len(self.robot.speeds)))
        column = 0
        columns: dict[str, int] = {}
        for joint in self.robot.assembled.joints:
            if joint.follows is None:
                columns[joint.coordinates[0].name] = column
                column += 6 if joint.kind == "free" else 1
        for joint in self.robot.assembled.joints:
            if joint.kind == "free":
                g[:3, :3] = self.data.xmat[self.model.body(joint.child).id].reshape(3, 3)
                g[3:6, 3:6] = np.eye(3)
                continue
            row = self.model.joint(joint.name).dofadr[0]
            if joint.follows is not None:
                g[row, columns[joint.follows[0].name]] = joint.follows[1]
            else:
                g[row, columns[joint.coordinates[0].name]] = 1.0
        return g

    def accelerations(self, u: Array, a: Array) -> Array:
        """Return G a + G' u."""
        made = self.transmission() @ a
        if self.robot.assembled.joints[0].kind == "free":
            base = self.model.body(self.robot.assembled.joints[0].child).id
            made[:3] += self.data.xmat[base].reshape(3, 3) @ np.cross(u[3:6], u[:3])
        return np.asarray(made)

    def mass(self) -> Array:
        """Return MuJoCo's mass matrix."""
        full = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, full)
        return full


def pairs(peer: Peer, q: Array, u: Array, a: Array) -> Iterator[tuple[str, Array, Array]]:
    """Compare poses, Jacobians, masses and forces at one state."""
    robot, data, model = peer.robot, peer.data, peer.model
    peer.set(q, u)
    g = peer.transmission()
    name = robot.links[-1]
    body = model.body(name).id
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = data.xmat[body].reshape(3, 3), data.xpos[body]
    yield "pose", robot.pose(q, name), pose
    linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    mujoco.mj_jacBody(model, data, linear, angular, body)
    yield "Jacobian", robot.jacobian(q, name), np.vstack([linear, angular]) @ g
    mass = peer.mass()
    yield "mass", robot.mass_matrix(q), g.T @ mass @ g
    tau = g.T @ (mass @ peer.accelerations(u, a) + data.qfrc_bias)
    yield "inverse", robot.inverse_dynamics(q, u, a), tau
    again = mass @ peer.accelerations(u, robot.forward_dynamics(q, u, tau)) + data.qfrc_bias
    yield "forward", g.T @ again, tau


def compare(console: Console, examples: Sequence[Example]) -> list[str]:
    """Print the table of agreement with MuJoCo; return what disagrees."""
    title = f"the same for MuJoCo's model of the same file (limit {LIMIT:.0e})"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    headings = ("pose", "Jacobian", "mass", "inverse", "forward")
    for heading in ("robot", "base", "dof", *headings, "remark"):
        table.add_column(heading, justify="left" if heading in ("robot", "remark") else "right")
    wrong = []
    for example in examples:
        path = path_of(example)
        try:
            model = model_of(path, example.base)
        except ValueError as refused:
            first = str(refused).splitlines()[0].removeprefix("Error: ")
            table.add_row(example.name, example.base, *[""] * 6, f"MuJoCo refuses it: {first}")
            continue
        robot = lw.load(path, base=example.base, friction=False)
        peer = Peer(robot, model)
        worst = dict.fromkeys(headings, 0.0)
        for state in zip(*random_states(robot.tree, STATES, seed=7), strict=True):
            for what, ours, theirs in pairs(peer, *state):
                size = max(float(np.abs(theirs).max()), 1e-3)
                worst[what] = max(worst[what], float(np.abs(ours - theirs).max()) / size)
        wrong += [
            f"{example.name}: MuJoCo: {k}: {x:.1e}" for k, x in worst.items() if not x <= LIMIT
        ]
        shown = [f"{worst[k]:.0e}" for k in headings]
        table.add_row(example.name, example.base, str(len(robot.speeds)), *shown, "")
    console.print(table)
    return wrong
