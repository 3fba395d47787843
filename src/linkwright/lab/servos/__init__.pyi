from linkwright.lab.servos.desired import Desired as Desired, listed as listed, writers as writers
from linkwright.lab.servos.guard import Guard as Guard
from linkwright.lab.servos.inverse_dynamics import InverseDynamicsServo as InverseDynamicsServo
from linkwright.lab.servos.invkin import (
    add_invkin as add_invkin,
    inverse_kinematics_servo as inverse_kinematics_servo,
)
from linkwright.lab.servos.motor import MotorServo as MotorServo
from linkwright.lab.servos.sensors import (
    Actuators as Actuators,
    RawSensors as RawSensors,
    Sensors as Sensors,
)
