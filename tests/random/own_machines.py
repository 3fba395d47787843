"""Machines that ship nowhere: random arms as people bring them, as files, with an oracle.

Joint frames are turned, axes are skew, tools hang on links without mass behind fixed joints, and
names differ only in what names of programs cannot hold. Pinocchio reads the same text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.support.late import Late

if TYPE_CHECKING:
    import pinocchio as pin
else:
    pin = Late("pinocchio")

Array = NDArray[np.float64]
LIMIT = '<limit lower="{low:g}" upper="{high:g}" effort="200" velocity="3"/>'


def _numbers(values: ArrayLike) -> str:
    return " ".join(f"{float(x):.17g}" for x in np.ravel(values))


def _origin(rng: np.random.Generator, size: float = 0.25) -> str:
    """A place that is turned: by right angles as often as by any others."""
    turns = rng.uniform(-np.pi, np.pi, 3)
    if rng.random() < 0.5:
        turns = rng.integers(-1, 3, 3) * np.pi / 2
    way = rng.uniform(-size, size, 3)
    return f'<origin xyz="{_numbers(way)}" rpy="{_numbers(turns)}"/>'


def _inertial(rng: np.random.Generator, mass: float) -> str:
    a, b, c = rng.uniform(0.5, 1.0, 3) * mass * 0.01
    moments = f'ixx="{b + c:g}" iyy="{a + c:g}" izz="{a + b:g}" ixy="0" ixz="0" iyz="0"'
    return f'<inertial>{_origin(rng, 0.1)}<mass value="{mass:g}"/><inertia {moments}/></inertial>'


def _axis(rng: np.random.Generator) -> str:
    v = rng.normal(size=3)
    if rng.random() < 0.5:
        v = np.eye(3)[rng.integers(3)] * rng.choice([-1, 1])
    return f'<axis xyz="{_numbers(v / np.linalg.norm(v))}"/>'


def random_arm(
    seed: int, count: int = 4, kinds: Sequence[str] = (), *, dynamics: str = "", feet: bool = False
) -> str:
    """Return the text of a URDF: an arm on a turned base, with a flange and a massless tool.

    Links are called `arm-1`, `arm_1`, `arm-2`, ..., joints `turn-1`, `turn_1` and so on; then
    `flange-plate` (with mass) and `tcp` (without) on fixed joints.

    Args:
        seed: of the random numbers.
        count: of joints that move.
        kinds: of these joints; by default at random, most of them revolute.
        dynamics: what stands in each moving joint besides, such as `<dynamics damping="1"/>`.
        feet: whether the flange and the last link have spheres that touch.
    """
    rng = np.random.default_rng(seed)
    chosen = kinds or rng.choice(["revolute", "revolute", "continuous", "prismatic"], count)
    names = [f"{'-_'[k % 2]}{k // 2 + 1}" for k in range(len(chosen))]
    links = ['<link name="world"/>', f'<link name="base">{_inertial(rng, 3)}</link>']
    joints = [_fixed(rng, "stand", "world", "base")]
    last = "base"
    for name, kind in zip(names, chosen, strict=True):
        child, slides = f"arm{name}", kind == "prismatic"
        touch = _sphere(rng) if feet and name == names[-1] else ""
        links.append(f'<link name="{child}">{_inertial(rng, rng.uniform(0.5, 3))}{touch}</link>')
        low, high = (-0.2, 0.3) if slides else (-2.5, 2.8)
        limit = "" if kind == "continuous" else LIMIT.format(low=low, high=high)
        joints.append(
            f'<joint name="turn{name}" type="{kind}"><parent link="{last}"/><child link="{child}"/>'
            f"{_origin(rng)}{_axis(rng)}{limit}{dynamics}</joint>"
        )
        last = child
    touch = _sphere(rng) if feet else ""
    links.append(f'<link name="flange-plate">{_inertial(rng, 0.4)}{touch}</link><link name="tcp"/>')
    joints.append(_fixed(rng, "flange", last, "flange-plate"))
    joints.append(_fixed(rng, "mount", "flange-plate", "tcp"))
    return f'<robot name="own{seed}">\n' + "\n".join([*links, *joints]) + "\n</robot>\n"


def _fixed(rng: np.random.Generator, name: str, parent: str, child: str) -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="fixed">{ends}{_origin(rng)}</joint>'


def _sphere(rng: np.random.Generator) -> str:
    sphere = '<geometry><sphere radius="0.03"/></geometry>'
    return f"<collision>{_origin(rng, 0.05)}{sphere}</collision>"


SCARA = ("revolute", "revolute", "prismatic", "revolute")


@dataclass(frozen=True)
class Oracle:
    """A URDF as Pinocchio reads it, for arms without free or continuous joints or with them."""

    text: str

    @cached_property
    def model(self) -> Any:
        return pin.buildModelFromXML(self.text)

    def configuration(self, q: ArrayLike) -> Array:
        """Pinocchio's coordinates: a continuous joint has cosine and sine."""
        rows = []
        for joint, x in zip(list(self.model.joints)[1:], np.ravel(q), strict=True):
            rows += [float(x)] if joint.nq == 1 else [float(np.cos(x)), float(np.sin(x))]
        return np.array(rows)

    def room(self, q: ArrayLike) -> float:
        """How far the nearest end of a joint's range is."""
        model, ends = self.model, [np.inf]
        for joint, x in zip(list(model.joints)[1:], np.ravel(q), strict=True):
            if joint.nq == 1:
                low, high = (
                    w[joint.idx_q] for w in (model.lowerPositionLimit, model.upperPositionLimit)
                )
                ends += [x - low, high - x]
        return float(min(ends))

    def pose(self, q: ArrayLike, frame: str) -> Array:
        """The homogeneous matrix of a link."""
        data = self.model.createData()
        pin.framesForwardKinematics(self.model, data, self.configuration(q))
        return np.array(data.oMf[self.model.getFrameId(frame)].homogeneous)

    def jacobian(self, q: ArrayLike, frame: str) -> Array:
        """Of a link along its own axes: velocity, then angular velocity."""
        data, place = self.model.createData(), self.model.getFrameId(frame)
        found = pin.computeFrameJacobian(self.model, data, self.configuration(q), place)
        return np.array(found)

    def torques(self, q: ArrayLike, u: ArrayLike, a: ArrayLike) -> Array:
        """Inverse dynamics."""
        data = self.model.createData()
        found = pin.rnea(self.model, data, self.configuration(q), np.array(u), np.array(a))
        return np.array(found)

    def motion(self, q: ArrayLike, u: ArrayLike, a: ArrayLike, frame: str) -> tuple[Array, Array]:
        """Acceleration of a link's origin and its angular velocity, both along its own axes."""
        model, data, place = self.model, self.model.createData(), self.model.getFrameId(frame)
        pin.forwardKinematics(model, data, self.configuration(q), np.array(u), np.array(a))
        moved = pin.getFrameClassicalAcceleration(model, data, place, pin.LOCAL)
        turned = pin.getFrameVelocity(model, data, place, pin.LOCAL)
        return np.array(moved.linear), np.array(turned.angular)

    def carried(self, q: ArrayLike, u: ArrayLike, a: ArrayLike, frame: str) -> Array:
        """What the joint of a link puts on it: force and moment about its origin, its axes."""
        model, data = self.model, self.model.createData()
        pin.rnea(model, data, self.configuration(q), np.array(u), np.array(a))
        own = model.frames[model.getFrameId(frame)]
        wrench = own.placement.actInv(data.f[own.parentJoint])
        return np.concatenate([wrench.linear, wrench.angular])


def save(folder: Path, text: str, name: str = "own.urdf") -> Path:
    """Write a machine into a folder."""
    file = folder / name
    file.write_text(text)
    return file


CONTROL = '{kind = "computed-torque", kp = 400, kd = 40}'


def cell_text(
    joints: Sequence[str], slides: Sequence[str], *, tool: str = "tcp", control: str = CONTROL
) -> str:
    """Return a `cell.toml` of one arm from `own.urdf`, with an axis for each joint."""
    rows = [
        'format = 1\nname = "own"\nrate = 500\naddress = "tcp/127.0.0.1:7469"',
        '[[arm]]\nname = "x"\nmodel = "own.urdf"',
        *([f'tool = "{tool}"'] if tool else []),
        f"control = {control}",
    ]
    for joint in joints:
        turns = 'low = -2.2\nhigh = 2.5\nspeed = "2 rad/s"'
        goes = 'low = "-150 mm"\nhigh = 0.25\nspeed = "0.5 m/s"'
        rows += [f'[[arm.axis]]\njoint = "{joint}"', goes if joint in slides else turns]
        rows += ["acceleration = 6\nconstant = 40\ncurrent = 20"]
    return "\n".join(rows) + "\n"
