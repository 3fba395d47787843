from linkwright.elements.drives.amplifiers import (
    PWM as PWM,
    CurrentLoop as CurrentLoop,
    Ideal as Ideal,
    Lag as Lag,
    SwitchedPWM as SwitchedPWM,
)
from linkwright.elements.drives.brakes import Brake as Brake
from linkwright.elements.drives.cascade import Cascade as Cascade
from linkwright.elements.drives.chain import Chain as Chain
from linkwright.elements.drives.controllers import (
    PD as PD,
    PI as PI,
    PID as PID,
    LeadLag as LeadLag,
    Steps as Steps,
)
from linkwright.elements.drives.coupled import CoupledDrives as CoupledDrives
from linkwright.elements.drives.drive import Drive as Drive, attach as attach
from linkwright.elements.drives.loads import (
    Inertia as Inertia,
    Pendulum as Pendulum,
)
from linkwright.elements.drives.motors import (
    DC as DC,
    PMSM as PMSM,
    Stepper as Stepper,
    Thermal as Thermal,
    TorqueSource as TorqueSource,
)
from linkwright.elements.drives.noise import DriveNoise as DriveNoise
from linkwright.elements.drives.rating import Rating as Rating
from linkwright.elements.drives.sensing import (
    CurrentSensor as CurrentSensor,
    Resolver as Resolver,
    RotaryEncoder as RotaryEncoder,
)
from linkwright.elements.drives.servo import Servo as Servo
from linkwright.elements.drives.supplies import Battery as Battery, DCBus as DCBus
from linkwright.elements.drives.trains import Elastic as Elastic, Rigid as Rigid
