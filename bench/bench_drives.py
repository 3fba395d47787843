"""Drives: an arm with six of them against ideal torques, and a synchronous motor's against a peer.

The arm is the PUMA 560 with elastic gears, current loops at 10 kHz and position loops at 1 kHz; the
same motion with computed torque at 10 kHz, put on the joints at once, is what it is compared with.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from bench.measure import Row, interleaved
from linkwright import control, drives, load
from linkwright.elements.drives.amplifiers import Amplifier
from linkwright.motion import point_to_point
from linkwright.simulation.native.session import Session
from linkwright.system import Phases, System

TITLE = "Drives"
_ARM_TIME, _MOTOR_TIME = 1.5, 0.5
_WAY = ([0, 0.785, -3.141, 0, 0.785, 0], [0.5, 0.4, -2.7, 0.3, 0.5, 0.4])


def run() -> list[Row]:
    """Time both."""
    arm = load("puma560:drives=electric")
    assert isinstance(arm, System)
    electric, ideal = arm.phases(["q1"]), _ideal().phases(["q1"])
    motor = _motor(drives.PWM(540, 4e3)).phases(["joint.motor.i_q"])
    # the peer's controller runs twice in a period of its carrier, which is of 2 kHz then
    switched = _motor(drives.SwitchedPWM(540, 2e3)).phases(["joint.motor.i_q"])
    times = interleaved(
        {
            "electric": partial(_run, electric, _ARM_TIME, "midpoint", 1e-4),
            "ideal": partial(_run, ideal, _ARM_TIME, "midpoint", 1e-4),
            "electric rk4": partial(_run, electric, _ARM_TIME, "rk4", 1e-4),
            "ideal rk4": partial(_run, ideal, _ARM_TIME, "rk4", 1e-4),
            "motor": partial(_run, motor, _MOTOR_TIME, "rk4", 5e-5),
            "switched": partial(_run, switched, _MOTOR_TIME, "rk4", 5e-5),
        },
        rounds=7,
    )
    peers = interleaved(
        {"averaged": _motulator, "switched": partial(_motulator, switched=True)}, rounds=1
    )
    fine = times["electric rk4"] / times["ideal rk4"]
    return [
        Row(
            "PUMA with six elastic drives, current loops at 10 kHz, midpoint",
            _ARM_TIME / times["electric"],
            "times real time",
            20,
            "higher",
            f"rk4 {_ARM_TIME / times['electric rk4']:.3g}",
        ),
        Row(
            "its cost by that of ideal torques at 10 kHz",
            times["electric"] / times["ideal"],
            "1",
            2.5,
            "lower",
            f"rk4 {fine:.3g}",
        ),
        Row(
            "synchronous motor with field-oriented control, 0.5 s, by motulator's time",
            peers["averaged"] / times["motor"],
            "1",
            100,
            "higher",
            f"averaged bridge, 4 kHz: {times['motor'] * 1e3:.3g} ms against "
            f"{peers['averaged']:.3g} s",
        ),
        Row(
            "the same with a bridge of three legs, switch by switch",
            peers["switched"] / times["switched"],
            "1",
            100,
            "higher",
            f"6000 switchings, {times['switched'] * 1e3:.3g} ms against {peers['switched']:.3g} s",
        ),
    ]


def _run(phases: Phases, until: float, method: str, step: float) -> object:
    return Session(phases, until, method=method, step=step, every=0).run()


def _ideal() -> System:
    arm = load("puma560:drives=off")
    s = System(arm)
    way = s.add(point_to_point(*_WAY, duration=1.0).block("way"))
    servo = s.add(control.ComputedTorque(arm, kp=900, kd=60), rate=10_000)
    s.connect(way.q, servo.target)
    s.connect(way.q_dot, servo.target_rate)
    return s


def _motor(bridge: Amplifier) -> System:
    motor = drives.PMSM(R=3.6, Ld=0.036, Lq=0.051, flux=0.545, pairs=3, J=0.015)
    train = drives.Rigid(1)
    s = System(name="s")
    joint = s.add(drives.Chain(None, bridge, motor, train, drives.Inertia(1e-6)))
    cascade = drives.Cascade(4_000, 4_000, 4_000, voltage_limit=300)
    servo = s.add(drives.Servo(cascade, motor, train, inertia=0.015))
    for name in ("motor.angle", "motor.speed", "motor.i_d", "motor.i_q"):
        s.connect(joint[name], servo[name])
    s.connect(servo.u_d, joint.u_d)
    s.connect(servo.u_q, joint.u_q)
    s.connect("100*t^2", servo.reference)
    return s


def _motulator(switched: bool = False) -> Any:
    import motulator.drive.control.sm as law
    from motulator.drive import model
    from motulator.drive.utils import SynchronousMachinePars

    par = SynchronousMachinePars(n_p=3, R_s=3.6, L_d=0.036, L_q=0.051, psi_f=0.545)
    drive: Any = model.Drive(
        model.VoltageSourceConverter(u_dc=540),
        model.SynchronousMachine(par),
        model.StiffMechanicalSystem(J=0.015),
    )
    wanted = law.CurrentReferenceCfg(par, nom_w_m=471, max_i_s=9)
    board = law.CurrentVectorControl(par, wanted, J=0.015, T_s=250e-6, sensorless=False)
    board.ref.w_m = lambda t: 200 * t * 3
    if switched:
        drive.pwm = model.CarrierComparison()
    return model.Simulation(drive, board).simulate(t_stop=_MOTOR_TIME)
