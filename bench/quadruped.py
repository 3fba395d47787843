"""Go2, a quadruped of 15 kg with a floating base, on its feet: here and in MuJoCo.

Both read the same URDF file, with a PD servo in each of the 12 joints and one point of contact for
each foot, at the foot's frame; no friction in joints and no limits. There are two cases. A stand of
2 s begins at the pose that the servos aim at, with the feet just on the ground; a drop of 1 s
begins 5 cm higher.

Ours is a System with `Contact` (springs and dampers, friction with stick and slip). MuJoCo's feet
are spheres of 1 mm on a plane that lies 1 mm lower, with its own soft constraints and friction
pyramids; its servos are its own actuators with an affine bias, which hold the targets, so that no
array of controls has to be read. Its friction gives way slowly under a load (feet creep outward and
the base sinks by millimeters) unless cones are elliptic and `impratio` is large: with that, and
ours with stiffer springs, both engines are compared in the height at which the robot ends.
"""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

import mujoco
import numpy as np
from mujoco import rollout
from numpy.typing import NDArray

import linkwright as lw
from bench.example_robots import EXAMPLES, path_of
from linkwright.control import PD
from linkwright.elements import Contact, Plane
from linkwright.robots import Robot
from linkwright.simulation.native.batch import run_batch
from linkwright.simulation.native.session import Session
from linkwright.system import System
from linkwright.system.phases import Phases

Array: TypeAlias = NDArray[np.float64]
ROBOT, HUMANOID = (next(e for e in EXAMPLES if e.name == name) for name in ("Go2", "G1"))
LEGS = ("FL", "FR", "RL", "RR")
STANCE = {
    f"{leg}_{joint}_joint": angle
    for leg in LEGS
    for joint, angle in (("hip", 0.0), ("thigh", 0.8), ("calf", -1.6))
}
KP, KD = 80.0, 3.0  # N*m/rad and N*m*s/rad
FRICTION = 0.8
CASES = {"stand": (0.0, 2.0), "drop": (0.05, 1.0)}  # height of the feet (m) and duration (s)
BALL = 1e-3  # radius of MuJoCo's feet, m
DEPTHS = tuple(f"contact.depth{k}" for k in range(1, 5))
HEIGHT = "base_free.z"


@dataclass(frozen=True, slots=True)
class Course:
    """What a run gave.

    Args:
        times: of the steps, s.
        heights: of the base, m.
        depth: of the deepest foot at any step, m.
    """

    times: Array
    heights: Array
    depth: float

    def away(self, other: Course) -> float:
        """Return the largest difference of heights from a run with finer steps."""
        there = np.interp(self.times, other.times, other.heights)
        return float(np.abs(self.heights - there).max())


def system(robot: Robot, base: float = 1000.0, *, contact: bool = True) -> System:
    """Return the quadruped with its servos and contacts."""
    m = robot.mechanism
    made = System(robot, name="quadruped", base=base)
    made.add(PD(m, kp=KP, kd=KD, joints=list(STANCE), target=STANCE))
    if contact:
        places = (robot.assembled.places[f"{leg}_foot"] for leg in LEGS)
        feet = [m.point(f"sole{k}", body, place.position) for k, (body, place) in enumerate(places)]
        made.add(
            Contact(
                *(m, feet, Plane()), stiffness=1e5, damping=100, static=FRICTION,
                tangential=3e4, tangential_damping=30.0,
            )
        )  # fmt: skip
    return made


def loaded() -> Robot:
    """Return the robot with a free base."""
    return lw.Robot(path_of(ROBOT), base="free", friction=False)


def humanoid() -> System:
    """Return a larger System: the humanoid G1 with servos, and four points under each foot."""
    robot = lw.load(path_of(HUMANOID), base="free", friction=False)
    m = robot.mechanism
    made = System(robot, name="humanoid", base=1000)
    made.add(PD(m, kp=KP, kd=KD, joints=robot.coordinates[7:], target=0.0))
    points = []
    for side in ("left", "right"):
        body, place = robot.assembled.places[f"{side}_ankle_roll_link"]
        turn, origin = np.array(place.rotation), np.array(place.position)
        for k, corner in enumerate(itertools.product((-0.05, 0.12), (-0.025, 0.025), (-0.03,))):
            at = origin + turn @ np.array(corner)
            points.append(m.point(f"{side}_sole{k}", body, tuple(at.tolist())))
    made.add(Contact(m, points, Plane(), stiffness=1e5, damping=100, static=FRICTION))
    return made


@lru_cache(maxsize=1)
def _ours() -> tuple[Robot, Phases, Phases]:
    robot = loaded()
    made = system(robot)
    return robot, made.phases([HEIGHT, *DEPTHS]), made.phases(())


def starts() -> dict[str, dict[str, float]]:
    """Return where our runs start, for each case."""
    robot = _ours()[0]
    q = robot.neutral.copy()
    for name, angle in STANCE.items():
        q[robot.coordinates.index(name)] = angle
    low = min(float(robot.pose(q, f"{leg}_foot")[2, 3]) for leg in LEGS)
    return {case: {**STANCE, HEIGHT: lift - low} for case, (lift, _) in CASES.items()}


@dataclass(frozen=True, slots=True)
class Ours:
    """Our engine with some settings.

    Args:
        method: of integration.
        stiffness: of the normal spring of each foot, N/m.
        damping: of the normal damper, N*s/m.
        tangential: of the spring along the ground, N/m.
        tangential_damping: N*s/m.
    """

    method: str
    stiffness: float
    damping: float
    tangential: float = 3e4
    tangential_damping: float = 30.0

    finest = 1 / 64e3

    @property
    def values(self) -> dict[str, float]:
        """The parameters of the System."""
        names = ("stiffness", "damping", "tangential", "tangential_damping")
        return {f"contact.{name}": getattr(self, name) for name in names}

    def course(self, case: str, step: float) -> Course:
        """Return one run. Nothing is sampled in time, so a base tick may be a step."""
        phases = replace(_ours()[1], tick_seconds=step)
        found = Session(
            phases,
            CASES[case][1],
            method=self.method,
            initial=starts()[case],
            values=self.values,
        ).run()
        depth = max(float(found.samples[name].max()) for name in DEPTHS)
        return Course(found.samples.times, found.samples[HEIGHT], depth)

    def batch(self, case: str, step: float, lifts: Array) -> Array:
        """Return the final heights of runs that start so much higher, on one thread."""
        start = starts()[case]
        initial: Mapping[str, object] = {**start, HEIGHT: start[HEIGHT] + lifts}
        found = run_batch(
            replace(_ours()[2], tick_seconds=step),
            CASES[case][1],
            method=self.method,
            initial={name: np.asarray(value) for name, value in initial.items()},
            values=self.values,
            threads=1,
        )
        return found[HEIGHT]

    def told(self) -> str:
        """Return the settings in words."""
        return (
            f"{self.method}, k {self.stiffness:g} N/m, b {self.damping:g} N*s/m, along "
            f"{self.tangential:g} and {self.tangential_damping:g}, c_s {FRICTION}"
        )


@dataclass(frozen=True, slots=True)
class Theirs:
    """MuJoCo with some settings.

    Args:
        integrator: "EULER" or "IMPLICITFAST".
        time_constant: of contacts (first number of solref), s.
        impedance: least and greatest of contacts (first numbers of solimp).
        cone: of friction, "PYRAMIDAL" or "ELLIPTIC".
        ratio: of the impedances of friction and normal forces (impratio).
    """

    integrator: str
    time_constant: float
    impedance: tuple[float, float] = (0.9, 0.95)
    cone: str = "PYRAMIDAL"
    ratio: float = 1.0

    finest = 1 / 16e3

    def course(self, case: str, step: float) -> Course:
        """Return one run."""
        model, data, state = self._ready(case, step)
        steps = round(CASES[case][1] / step)
        found, _ = rollout.rollout(model, data, state[None], np.zeros((1, steps, model.nu)))
        rows: Array = np.vstack([state, found[0]])
        balls = [model.geom(f"{leg}_ball").id for leg in LEGS]
        depth = 0.0
        for row in rows[:: max(1, round(1e-4 / step))]:
            data.qpos[:] = row[1 : 1 + model.nq]
            mujoco.mj_kinematics(model, data)
            depth = max(depth, -float(data.geom_xpos[balls, 2].min()))
        times: Array = step * np.arange(steps + 1, dtype=np.float64)
        return Course(times, rows[:, 3], depth)

    def batch(self, case: str, step: float, lifts: Array) -> Array:
        """Return the final heights of runs that start so much higher, on one thread."""
        model, data, state = self._ready(case, step)
        steps = round(CASES[case][1] / step)
        states: Array = np.tile(state, (len(lifts), 1))
        states[:, 3] += lifts
        found, _ = rollout.rollout(model, data, states, np.zeros((len(lifts), steps, model.nu)))
        return np.asarray(found[:, -1, 3])

    def told(self) -> str:
        """Return the settings in words."""
        least, most = self.impedance
        return (
            f"{self.integrator.lower()}, Newton, {self.cone.lower()} cones, solref "
            f"{self.time_constant:g} 1, solimp {least:g} {most:g}, friction {FRICTION}"
        )

    def _ready(self, case: str, step: float) -> tuple[mujoco.MjModel, mujoco.MjData, Array]:
        model = _model(self, step)
        data = mujoco.MjData(model)
        for name, angle in STANCE.items():
            data.qpos[model.joint(name).qposadr[0]] = angle
        mujoco.mj_kinematics(model, data)
        low = min(float(data.geom(f"{leg}_ball").xpos[2]) for leg in LEGS)
        data.qpos[2] += CASES[case][0] - low
        full = mujoco.mjtState.mjSTATE_FULLPHYSICS
        state = np.zeros(mujoco.mj_stateSize(model, full))
        mujoco.mj_getState(model, data, state, full)
        return model, data, state


@lru_cache(maxsize=64)
def _model(settings: Theirs, step: float) -> mujoco.MjModel:
    """Return MuJoCo's model of the robot on the ground."""
    root = ET.parse(path_of(ROBOT)).getroot()
    for link in root.iter("link"):
        for tag in ("visual", "collision"):
            for shape in link.findall(tag):
                link.remove(shape)
    options = {"fusestatic": "false", "balanceinertia": "false"}
    ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", options)
    spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
    for joint in spec.joints:
        joint.limited, joint.armature, joint.frictionloss = 0, 0.0, 0.0
        joint.damping = np.zeros_like(joint.damping)
    spec.worldbody.first_body().add_freejoint(name="floating")
    touch = {
        "friction": [FRICTION, 0.005, 0.0001],
        "solref": [settings.time_constant, 1.0],
        "solimp": [*settings.impedance, 0.001, 0.5, 2.0],
    }
    sphere, plane = mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_PLANE
    for leg in LEGS:
        ball = {"type": sphere, "size": [BALL, 0, 0], "mass": 0, "contype": 1, "conaffinity": 0}
        spec.body(f"{leg}_foot").add_geom(name=f"{leg}_ball", **ball, **touch)
    floor = {"type": plane, "size": [0, 0, 1], "pos": [0, 0, -BALL], "contype": 0, "conaffinity": 1}
    spec.worldbody.add_geom(name="floor", **floor, **touch)
    for name, angle in STANCE.items():
        motor = spec.add_actuator(name=name, target=name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        motor.gaintype, motor.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
        motor.gainprm[0] = 0.0
        motor.biasprm[0], motor.biasprm[1], motor.biasprm[2] = KP * angle, -KP, -KD
    spec.option.timestep = step
    spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{settings.integrator}")
    spec.option.cone = getattr(mujoco.mjtCone, f"mjCONE_{settings.cone}")
    spec.option.impratio = settings.ratio
    return spec.compile()
