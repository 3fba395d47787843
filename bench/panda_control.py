"""The Panda arm under PD control with gravity compensation at 1 kHz, here and in MuJoCo.

Both read the same URDF file without the fingers, with the same gains, no friction and no limits;
the torque is computed from the state at each millisecond and holds until the next. In MuJoCo the
actuators are its own (affine bias), gravity compensation is its own (`gravcomp`), and `rollout`
steps in C with the Euler integrator, constraints and contacts disabled.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import lru_cache

import mujoco
import numpy as np
from mujoco import rollout
from numpy.typing import NDArray

from bench.example_robots import EXAMPLES, path_of
from linkwright.algebra import symbol
from linkwright.formats.robot.files import read_description
from linkwright.robots import Robot
from linkwright.system.phases import Phases, Signal, Tick, phase_program

Array = NDArray[np.float64]
KP = (100.0, 100.0, 80.0, 80.0, 20.0, 20.0, 4.0)
KD = (20.0, 20.0, 14.0, 14.0, 2.0, 2.0, 0.3)
START = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)
STEP = 1e-3
AWAY = 0.3  # the target is so far from the start in each joint, rad
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")


@lru_cache(maxsize=1)
def panda_phases() -> Phases:
    """Return the closed loop: dynamics, and a controller that runs every millisecond."""
    robot = Robot(
        read_description(path_of(EXAMPLES[0])), friction=False, locked=dict.fromkeys(FINGERS, 0.0)
    )
    forward, gravity = robot.forward_dynamics.program, robot.gravity.program
    q, u, tau = (list(forward.port(name).entries) for name in ("q", "u", "tau"))
    goals = [symbol(f"goal{i}", "input") for i in range(len(q))]
    t, k = symbol("t", "time"), symbol("k", "discrete")
    x = [Signal(s.name, s, v, "rad", "coordinate") for s, v in zip(q, START, strict=True)]
    x += [Signal(s.name, s, 0.0, "rad/s", "speed") for s in u]
    d = [Signal(s.name, s, 0.0, "N*m", "held") for s in tau]
    w = [Signal(s.name, s, v + AWAY, "rad", "input") for s, v in zip(goals, START, strict=True)]
    signals = {"x": x, "d": d, "w": w}
    torque = [
        g + kp * (goal - a) - kd * b
        for g, kp, kd, goal, a, b in zip(gravity.output_values(), KP, KD, goals, q, u, strict=True)
    ]
    control = phase_program(
        "control", signals, t, {"d_new": torque}, statements=gravity.statements, tick=k
    )
    rates = phase_program(
        "panda",
        signals,
        t,
        {"x_dot": [*u, *forward.output_values()]},
        statements=forward.statements,
    )
    return Phases(
        "panda",
        tuple(x),
        tuple(d),
        (),
        tuple(w),
        t,
        STEP,
        rates,
        (Tick("control", control, tuple(range(len(d)))),),
        output=phase_program("output", signals, t, {"y": [*q, *u]}),
        outputs=tuple(x),
    )


@dataclass(frozen=True, slots=True)
class PandaPeer:
    """The same arm in MuJoCo."""

    model: mujoco.MjModel
    data: mujoco.MjData

    def run(self, steps: int, runs: int = 1) -> Array:
        """Return the joint angles of each run at the end."""
        full = mujoco.mjtState.mjSTATE_FULLPHYSICS
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = START
        state = np.zeros(mujoco.mj_stateSize(self.model, full))
        mujoco.mj_getState(self.model, self.data, state, full)
        goal = np.array(START) + AWAY
        control = np.broadcast_to(goal, (runs, steps, len(goal)))
        found, _ = rollout.rollout(
            self.model, self.data, np.tile(state, (runs, 1)), np.ascontiguousarray(control)
        )
        angles: Array = found[:, -1, 1 : 1 + len(START)]
        return angles


def panda_peer() -> PandaPeer:
    """Return MuJoCo's model of the same file with the same controller."""
    root = ET.parse(path_of(EXAMPLES[0])).getroot()
    for link in root.iter("link"):
        for tag in ("visual", "collision"):
            for shape in link.findall(tag):
                link.remove(shape)
    options = {"fusestatic": "true", "balanceinertia": "false"}
    ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", options)
    spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
    for equality in list(spec.equalities):
        spec.delete(equality)
    for joint in list(spec.joints):
        if joint.name in FINGERS:
            spec.delete(joint)
        else:
            joint.limited, joint.armature, joint.frictionloss = 0, 0.0, 0.0
            joint.damping = np.zeros_like(joint.damping)
    for body in spec.bodies:
        body.gravcomp = 1.0
    for i, (kp, kd) in enumerate(zip(KP, KD, strict=True)):
        motor = spec.add_actuator(name=f"motor{i}", target=f"panda_joint{i + 1}")
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        motor.gaintype, motor.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
        motor.gainprm[0], motor.biasprm[1], motor.biasprm[2] = kp, -kp, -kd
    spec.option.timestep = STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    bits = mujoco.mjtDisableBit
    spec.option.disableflags |= bits.mjDSBL_CONSTRAINT | bits.mjDSBL_CONTACT
    model = spec.compile()
    return PandaPeer(model, mujoco.MjData(model))
