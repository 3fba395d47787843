"""The servos of a laboratory, as blocks of its System."""

from linkwright.lab.servos.desired import Desired, listed, writers
from linkwright.lab.servos.guard import Guard
from linkwright.lab.servos.inverse_dynamics import InverseDynamicsServo
from linkwright.lab.servos.invkin import add_invkin, inverse_kinematics_servo
from linkwright.lab.servos.motor import MotorServo
from linkwright.lab.servos.sensors import Actuators, RawSensors, Sensors

__all__ = [
    "Actuators",
    "Desired",
    "Guard",
    "InverseDynamicsServo",
    "MotorServo",
    "RawSensors",
    "Sensors",
    "add_invkin",
    "inverse_kinematics_servo",
    "listed",
    "writers",
]
