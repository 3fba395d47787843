"""The System of a laboratory: its robot and its servos, one member each, at exact ticks.

Members: `robot` (simulated), `sensors`, `cart` and `cart_desired` (end-effectors), `task` (the task
slot), `desired`, `invdyn`, `motor`, `guard`. What changes during a run is an input or a parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from linkwright.algebra import maximum, minimum, where
from linkwright.blocks import Block, Delay, Foreign
from linkwright.errors import InputError
from linkwright.lab.cartesian import CartesianState
from linkwright.lab.config import LabConfig
from linkwright.lab.contacts import contacts
from linkwright.lab.plant import LabMechanism, RobotDrive, lab_mechanism
from linkwright.system import System

SlotFunction = Callable[..., Any]


def servo_rates(config: LabConfig) -> dict[str, Fraction]:
    """Return the rate of each servo, Hz.

    Args:
        config: with the rate of the motor servo and the ratios of the others.

    >>> from linkwright.lab.sources import lab_config
    >>> {name: int(rate) for name, rate in servo_rates(lab_config("sl-arm")).items()}
    {'motor': 960, 'task': 480, 'invdyn': 480, 'invkin': 480, 'vision': 60}
    """
    base = Fraction(config.rate).limit_denominator(10**6)
    if base <= 0:
        raise InputError(
            f"the motor servo of {config.name!r} has a rate of {config.rate:g} Hz",
            remedy="give a rate above 0, such as 960",
        )
    rates = {"motor": base}
    for servo, ratio in config.ratios.items():
        if isinstance(ratio, bool) or not float(ratio).is_integer() or ratio < 1:
            raise InputError(
                f"the {servo} servo has a ratio of {ratio!r}: it runs at every so many ticks of "
                "the motor servo",
                remedy="give a whole number, 1 or more",
            )
        rates[servo] = base / int(ratio)
    vision = Fraction(config.vision_rate).limit_denominator(10**6)
    if vision <= 0:
        raise InputError(
            f"the vision servo has a rate of {config.vision_rate:g} Hz",
            remedy="give a rate above 0, such as 60",
        )
    return rates | {"vision": vision}


def lab_system(config: LabConfig, slot: SlotFunction, robot: LabMechanism | None = None) -> System:
    """Return the System of a simulated laboratory.

    Args:
        config: that it is built from.
        slot: called at each tick of the task servo.
        robot: its mechanism, where it is made already.
    """
    robot = lab_mechanism(config) if robot is None else robot
    rates = servo_rates(config)
    n, motor_rate, task_rate = len(config.joints), rates["motor"], rates["task"]
    system = System(robot.mechanism, name=config.name)
    plant = system.add(RobotDrive(robot))
    for contact in contacts(config, robot):
        system.add(contact)
    sensors = system.add(_Sensors(config), rate=motor_rate)
    cart = system.add(CartesianState(config, robot), rate=task_rate)
    wanted = CartesianState(config, robot, vertices=False, name="cart_desired")
    task = system.add(
        Foreign(
            slot,
            inputs={"q": n, "u": n, "a": n, "ufb": n, "tau": n},
            outputs={"q_des": n, "u_des": n, "a_des": n, "uff": n, "uex": n},
            name="task",
        ),
        rate=task_rate,
    )
    motor = system.add(_Motor(config), rate=motor_rate)
    before = system.add(Delay(1, count=2 * n, name="before"), rate=motor_rate)
    desired = system.add(wanted, rate=task_rate)
    for source, target in (
        (plant.q, sensors.q_raw),
        (plant.v, sensors.u_raw),
        (sensors.q, cart.q),
        (sensors.u, cart.u),
        (sensors.a, cart.a),
        (sensors.q, task.q),
        (sensors.u, task.u),
        (sensors.a, task.a),
        ([*motor.ufb, *motor.tau], before.u),
        (before.y[:n], task.ufb),
        (before.y[n:], task.tau),
        (task.q_des, desired.q),
        (task.u_des, desired.u),
        (task.a_des, desired.a),
        (sensors.q, motor.q),
        (sensors.u, motor.u),
        (task.q_des, motor.q_des),
        (task.u_des, motor.u_des),
        (task.uff, motor.uff),
        (motor.tau, plant.u),
    ):
        system.connect(source, target)
    return system


class _Sensors(Block):
    """What the sensors of the joints tell: positions, speeds, and accelerations by differences."""

    def __init__(self, config: LabConfig) -> None:
        super().__init__("sensors")
        n = len(config.joints)
        q, u = self.input_vector("q_raw", n), self.input_vector("u_raw", n)
        self.output_vector("q", list(q), unit="rad")
        self.output_vector("u", list(u), unit="rad/s")
        before = [self.discrete_state(f"before{i}", x) for i, x in enumerate(u)]
        change = [(x - y) / self.period for x, y in zip(u, before, strict=True)]
        self.output_vector("a", change, unit="rad/s^2")


class _Motor(Block):
    """PD control with feedforward, limited."""

    def __init__(self, config: LabConfig) -> None:
        super().__init__("motor")
        n = len(config.joints)
        q, u = self.input_vector("q", n), self.input_vector("u", n)
        start = [joint.default for joint in config.joints]
        q_des = self.input_vector("q_des", n, start)
        u_des, uff = self.input_vector("u_des", n), self.input_vector("uff", n)
        on = self.input("on", 1.0, doc="0 where all output is disabled")
        ufb, tau = [], []
        for i, joint in enumerate(config.joints):
            feedback = joint.kp * (q_des[i] - q[i]) + joint.kd * (u_des[i] - u[i])
            ufb.append(self.intermediate(feedback))
            most = min(joint.max_effort, 1e12)
            limited = maximum(-most, minimum(most, ufb[-1] + uff[i]))
            tau.append(where(on > 0, limited, 0))
        self.output_vector("ufb", ufb, unit="N*m")
        self.output_vector("tau", tau, unit="N*m")
