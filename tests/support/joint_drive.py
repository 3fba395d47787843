"""ROBSIM's case V10 as plain blocks: PD, amplifier, motor, elastic gear with a gap, load."""

from __future__ import annotations

from linkwright import Block, System, maximum, minimum
from linkwright.system import Member

RATIO, STIFFNESS, MOTOR, LOAD = 50.0, 500.0, 1e-4, 0.5
"""Gear ratio, stiffness (N·m/rad), inertia of motor and load (kg·m²)."""


def _controller() -> Block:
    b = Block("pd")
    angle, speed = b.input("angle", unit="rad"), b.input("speed", unit="rad/s")
    kp, kd, target = b.parameter("kp", 8.0), b.parameter("kd", 0.02), b.input("target", unit="rad")
    b.output("u", kp * (target - angle) - kd * speed, unit="V")
    return b


def _amplifier() -> Block:
    b = Block("amp")
    u, v = b.input("u", unit="V"), b.state("level", unit="V")
    b.derivative(v, (10 * u - v) / 1e-3)
    b.output("v", v, unit="V")
    return b


def _winding() -> Block:
    b = Block("winding")
    v, speed, i = b.input("v", unit="V"), b.input("speed", unit="rad/s"), b.state("i", unit="A")
    b.derivative(i, (v - i - 0.05 * speed) / 2e-3)
    b.output("torque", 0.05 * i, unit="N*m")
    return b


def _mass(name: str, inertia: float, friction: float) -> Block:
    b = Block(name)
    driven, load = b.input("torque", unit="N*m"), b.input("load", unit="N*m")
    w, a = b.state("w", unit="rad/s"), b.state("a", unit="rad")
    b.derivative(w, (driven - load - friction * w) / inertia)
    b.derivative(a, w)
    b.output("speed", w, unit="rad/s")
    b.output("angle", a, unit="rad")
    return b


def _gear(damping: float) -> Block:
    b = Block("gear")
    motor, motor_speed = b.input("motor", unit="rad"), b.input("motor_speed", unit="rad/s")
    load, load_speed = b.input("load", unit="rad"), b.input("load_speed", unit="rad/s")
    gap, k, c = b.parameter("gap", 0.0), b.parameter("k", STIFFNESS), b.parameter("c", damping)
    wind = motor / RATIO - load
    spring = k * (wind - minimum(maximum(wind, -gap), gap))
    b.output("wind", wind, unit="rad")
    b.output("torque", spring + c * (motor_speed / RATIO - load_speed), unit="N*m")
    return b


def two_masses(damping: float = 2.0, friction: float = 0.0) -> System:
    """Motor and load with the gear between them, driven by the port `motor.torque`."""
    s = System(name="two_masses")
    _train(s, damping, friction * 1e-5, friction * 0.1)
    return s


def joint_drive(damping: float = 2.0, rate: float | None = None) -> System:
    """The whole joint, with a continuous controller or one at a rate (Hz)."""
    s = System(name="joint_drive")
    pd, amp, winding = s.add(_controller(), rate=rate), s.add(_amplifier()), s.add(_winding())
    motor, load = _train(s, damping, 1e-5, 0.1)
    s.connect(pd.u, amp.u)
    s.connect(amp.v, winding.v)
    s.connect(motor.speed, winding.speed)
    s.connect(winding.torque, motor.torque)
    s.connect(load.angle, pd.angle)
    s.connect(motor.speed, pd.speed)
    return s


def _train(s: System, damping: float, motor_b: float, load_b: float) -> tuple[Member, Member]:
    motor, load = s.add(_mass("motor", MOTOR, motor_b)), s.add(_mass("load", LOAD, load_b))
    gear = s.add(_gear(damping))
    s.connect(gear.torque / RATIO, motor.load)
    s.connect(gear.torque, load.torque)
    s.connect(motor.angle, gear.motor)
    s.connect(motor.speed, gear.motor_speed)
    s.connect(load.angle, gear.load)
    s.connect(load.speed, gear.load_speed)
    return motor, load
