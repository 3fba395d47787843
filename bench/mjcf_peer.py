"""What MuJoCo and a `Description` say about the same MJCF file, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from linkwright.formats.robot.description import Description, Place
from linkwright.formats.robot.transforms import quaternion_rotation, tensor, turned
from linkwright.robots import Robot

if TYPE_CHECKING:
    import mujoco


def matrix(place: Place) -> np.ndarray:
    """Return a place as a 4x4 matrix."""
    found = np.eye(4)
    found[:3, :3] = place.rotation
    found[:3, 3] = place.position
    return found


def moved(kind: str, axis: tuple[float, float, float], q: np.ndarray) -> np.ndarray:
    """Return how a joint at some coordinates moves its child, as a 4x4 matrix."""
    if kind == "revolute":
        return matrix(Place(rotation=turned(axis, float(q[0]))))
    if kind == "prismatic":
        return matrix(Place((axis[0] * q[0], axis[1] * q[0], axis[2] * q[0])))
    if kind == "ball":
        return matrix(Place(rotation=quaternion_rotation([float(x) for x in q])))
    if kind == "free":
        turn = quaternion_rotation([float(x) for x in q[3:]])
        return matrix(Place((float(q[0]), float(q[1]), float(q[2])), turn))
    return np.eye(4)


def places(description: Description, q: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the places of links and frames at some coordinates, as 4x4 matrices."""
    found = {description.root: np.eye(4)}
    waiting = list(description.joints)
    while waiting:
        joint = waiting.pop(0)
        if joint.parent not in found:
            waiting.append(joint)
            continue
        step = moved(joint.kind, joint.axis, q[joint.name]) if joint.kind != "weld" else np.eye(4)
        found[joint.child] = found[joint.parent] @ matrix(joint.place) @ step
    for frame in description.frames:
        found.setdefault(frame.name, found[frame.link] @ matrix(frame.place))
    return found


def joints_of(model: mujoco.MjModel, description: Description) -> dict[str, slice]:
    """Return where MuJoCo keeps the coordinates of each joint of a description.

    Joints stand in both in the order of the bodies; names made up for joints without any differ.
    """
    moving = [joint for joint in description.joints if joint.kind != "weld"]
    kinds = {0: ("free", 7), 1: ("ball", 4), 2: ("prismatic", 1), 3: ("revolute", 1)}
    by_body: dict[int, list[int]] = {}
    for k in range(model.njnt):
        by_body.setdefault(int(model.jnt_bodyid[k]), []).append(k)
    assert len(moving) == model.njnt, (len(moving), model.njnt)
    found = {}
    for k, joint in enumerate(moving):
        kind, count = kinds[int(model.jnt_type[k])]
        assert kind == joint.kind
        assert model.joint(k).name in ("", joint.name)
        start = int(model.jnt_qposadr[k])
        found[joint.name] = slice(start, start + count)
    return found


def random_configuration(model: mujoco.MjModel, rng: np.random.Generator) -> np.ndarray:
    """Return coordinates anywhere, with quaternions of length one."""
    q = np.asarray(rng.uniform(-2, 2, int(model.nq)))
    for k in range(model.njnt):
        start = int(model.jnt_qposadr[k])
        if model.jnt_type[k] in (0, 1):
            start += 3 if model.jnt_type[k] == 0 else 0
            q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    return q


def body_names(model: mujoco.MjModel, description: Description) -> dict[int, str]:
    """Return the link of each body: by name, or by what is made up for a body without one."""
    links = {link.name for link in description.links}
    found = {}
    for k in range(1, model.nbody):
        name = model.body(k).name or f"body{k}"
        assert name in links, (name, sorted(links))
        found[k] = name
    return found


def mass_errors(model: mujoco.MjModel, description: Description) -> float:
    """Return the greatest relative error of masses, first and second moments of the bodies."""
    worst = 0.0
    for k, name in body_names(model, description).items():
        mass = description.link(name).mass
        if mass is None:
            worst = max(worst, float(model.body_mass[k]), float(abs(model.body_inertia[k]).max()))
            continue
        turn = np.array(quaternion_rotation([float(x) for x in model.body_iquat[k]]))
        theirs = turn @ np.diag(model.body_inertia[k]) @ turn.T
        ours = np.array(tensor(mass.inertia))
        scale = max(1e-3, float(np.abs(theirs).max()))
        worst = max(worst, float(np.abs(ours - theirs).max()) / scale)
        worst = max(worst, abs(mass.mass - model.body_mass[k]) / max(1.0, model.body_mass[k]))
        if mass.mass > 0:
            worst = max(worst, float(np.abs(np.array(mass.center) - model.body_ipos[k]).max()))
    return worst


def moment_errors(model: mujoco.MjModel, description: Description) -> float:
    """Return the greatest relative error of masses, mass centers and principal moments.

    Only bodies with one mesh, or none, count: in a sum of meshes, what MuJoCo drops of each shows.
    """
    worst = 0.0
    for k, name in body_names(model, description).items():
        mass, shapes = description.link(name).mass, description.link(name).shapes
        worst = max(worst, abs((0.0 if mass is None else mass.mass) - model.body_mass[k]))
        if mass is None or mass.mass == 0:
            continue
        worst = max(worst, float(np.abs(np.array(mass.center) - model.body_ipos[k]).max()))
        if len(shapes) <= 1 or all(shape.kind != "mesh" for shape in shapes):
            moments = np.linalg.eigvalsh(np.array(tensor(mass.inertia)))
            theirs = np.sort(model.body_inertia[k])
            worst = max(worst, float(np.abs(moments - theirs).max() / max(theirs.max(), 1e-300)))
    return worst


def place_errors(
    model: mujoco.MjModel, description: Description, rng: np.random.Generator, count: int = 5
) -> float:
    """Return the greatest difference of places of bodies and sites at random coordinates."""
    import mujoco

    data = mujoco.MjData(model)
    where = joints_of(model, description)
    names = body_names(model, description)
    frames = {frame.name for frame in description.frames}
    worst = 0.0
    for _ in range(count):
        q = random_configuration(model, rng)
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        ours = places(description, {name: q[part] for name, part in where.items()})
        for k, name in names.items():
            worst = max(worst, _difference(ours[name], data.xpos[k], data.xmat[k]))
        for k in range(model.nsite):
            name = model.site(k).name
            if name in frames and name not in names.values():
                worst = max(worst, _difference(ours[name], data.site_xpos[k], data.site_xmat[k]))
    return worst


def _difference(ours: np.ndarray, position: np.ndarray, turn: np.ndarray) -> float:
    there = float(np.abs(ours[:3, 3] - position).max())
    return max(there, float(np.abs(ours[:3, :3] - turn.reshape(3, 3)).max()))


def exchanged(
    robot: Robot, model: mujoco.MjModel, description: Description, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return our coordinates, and the matrices of our speeds and their rates in MuJoCo's speeds.

    MuJoCo's speeds of a free joint are along the world's axes for the origin, the body's for the
    rotation; ours are along the body's for both.
    """
    where = joints_of(model, description)
    moving = [joint.name for joint in description.joints if joint.kind != "weld"]
    rows: list[int] = []
    ours: list[float] = []
    turns: list[tuple[int, np.ndarray]] = []
    for joint in robot.assembled.joints:
        part = where[joint.name]
        ours += [float(x) for x in q[part]]
        start = int(model.jnt_dofadr[moving.index(joint.name)])
        if joint.kind == "free":
            quaternion = [float(x) for x in q[part][3:]]
            turns.append((len(rows), np.array(quaternion_rotation(quaternion)).T))
        count = {"free": 6, "ball": 3}.get(joint.kind, 1)
        rows += range(start, start + count)
    speeds, rates = np.eye(model.nv)[rows], np.zeros((model.nv, model.nv))
    for row, turn in turns:
        part, columns = slice(row, row + 3), rows[row : row + 3]
        x, y, z = v[rows[row + 3 : row + 6]]
        speeds[part] = 0
        speeds[part, columns] = turn
        rates[part, columns] = -np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) @ turn
    return np.array(ours), speeds, rates


def dynamics_errors(
    robot: Robot,
    model: mujoco.MjModel,
    description: Description,
    rng: np.random.Generator,
    count: int = 3,
) -> float:
    """Return the greatest relative error of mass matrix and bias force at random states."""
    import mujoco

    data = mujoco.MjData(model)
    worst = 0.0
    for _ in range(count):
        q, v = random_configuration(model, rng), rng.normal(size=int(model.nv))
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(model, data)
        theirs = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, theirs)
        ours, speeds, rates = exchanged(robot, model, description, q, v)
        M = robot.mass_matrix(ours)
        bias = speeds.T @ (M @ (rates @ v) + robot.nonlinear_effects(ours, speeds @ v))
        mass = speeds.T @ M @ speeds
        worst = max(worst, float(np.abs(mass - theirs).max() / np.abs(theirs).max()))
        scale = max(1.0, float(np.abs(data.qfrc_bias).max()))
        worst = max(worst, float(np.abs(bias - data.qfrc_bias).max()) / scale)
    return worst


def mujoco_model(path: Path) -> mujoco.MjModel:
    """Return MuJoCo's model of a file."""
    import mujoco

    return mujoco.MjModel.from_xml_path(str(path))
