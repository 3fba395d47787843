"""The inverse-dynamics servo: the torques that a model of the robot takes for the wanted motion.

    tau = M(q) a + C(q, u) u + g(q) + friction + uex

with a wanted, and q, u wanted (SL: compute torque) or measured (SL: inverse dynamics control). The
model is what controllers believe the robot to be, which need not be what is simulated.
"""

from __future__ import annotations

from linkwright.algebra import Expr, where
from linkwright.blocks import Block
from linkwright.control.models import efforts_of
from linkwright.lab.config import LabConfig
from linkwright.lab.plant import GRAVITY, HOLD, LabMechanism, lab_mechanism
from linkwright.lab.servos.columns import column
from linkwright.lab.servos.desired import listed


class InverseDynamicsServo(Block):
    """Torques of the wanted motion, as vectors over the joints.

    Inputs are `des_q`, `des_u`, `des_a`, `uex`, torques to be added, the measured `q` and `u`, and
    `measured`, not zero to compute with these; `mode`, a place in `MODES`, and `always`, not zero
    to give torques in the mode `motor` too. What the model does not know for sure are inputs
    as well: `gravity` and, for each end-effector, `NAME_load`: mass and its center in the frame of
    the body that carries it; `model`, masses, centers and inertias of the links, and `viscous`,
    the viscous friction of the joints. A base that floats moves as `base` (position, quaternion),
    `base_rate` and `base_acceleration` (along its own axes) say.

    Outputs are `tau`, zero where the mode asks for none and for joints that are not listed, and
    `gives`, 1 where it asks for torques.

    >>> from linkwright.lab.sources import lab_config
    >>> servo = InverseDynamicsServo(lab_config("puma560"))
    >>> list(servo.inputs)[:6]
    ['des_q', 'des_u', 'des_a', 'uex', 'q', 'u']
    """

    def __init__(
        self,
        config: LabConfig,
        robot: LabMechanism | None = None,
        *,
        real: bool = False,
        name: str = "invdyn",
    ) -> None:
        super().__init__(name, doc="torques of the wanted motion")
        robot = lab_mechanism(config, believed=True) if robot is None else robot
        n, start, hold = len(config.joints), column(config, "default"), self.intermediate
        des_q = self.input_vector("des_q", n, start, doc="wanted positions")
        des_u = self.input_vector("des_u", n, doc="wanted speeds")
        des_a = self.input_vector("des_a", n, doc="wanted accelerations")
        uex = self.input_vector("uex", n, doc="torques to be added")
        q = self.input_vector("q", n, start, doc="measured positions")
        u = self.input_vector("u", n, doc="measured speeds")
        measured = self.input("measured", doc="whether the measured state counts")
        mode = self.input("mode", doc="place in MODES")
        always = self.input("always", doc="whether torques count in every mode")
        values = self._values(config, robot)
        places = {
            x: hold(where(measured, here, wanted))
            for x, here, wanted in zip(robot.joints, q, des_q, strict=True)
        }
        speeds = {
            x: hold(where(measured, here, wanted))
            for x, here, wanted in zip(robot.speeds, u, des_u, strict=True)
        }
        rates = dict(zip(robot.speeds, des_a, strict=True))
        if robot.base:
            pose = self.input_vector("base", 7, [0, 0, 0, 1, 0, 0, 0], doc="pose of the base")
            rate = self.input_vector("base_rate", 6, doc="its velocities, along its axes")
            change = self.input_vector("base_acceleration", 6, doc="their rates")
            places |= dict(zip(robot.base, pose, strict=True))
            speeds |= dict(zip(robot.base_speeds, rate, strict=True))
            rates |= dict(zip(robot.base_speeds, change, strict=True))
        places = robot.with_followers(places)
        known = [frictions(config)[name] for name in config.names]
        viscous = self.input_vector("viscous", n, known, doc="viscous friction of the joints")
        found = efforts_of(self, robot.tree, places, speeds, rates, values=values)
        gives, chosen = hold((mode > 0) | (always > 0)), listed(config, "invdyn", real=real)
        self.output_vector(
            "tau",
            [
                where(gives, found[x] + (now - usual) * speeds[x] + more, 0)
                if name in chosen
                else self.expr(0)
                for name, x, more, now, usual in zip(
                    config.names, robot.speeds, uex, viscous, known, strict=True
                )
            ],
            doc="torques of the wanted motion",
        )
        self.output("gives", where(gives, 1, 0), doc="1 where the mode asks for torques")

    def _values(self, config: LabConfig, robot: LabMechanism) -> dict[str, Expr | float]:
        """Return the parameters of the model, with inputs for those that change."""
        m = robot.mechanism
        values: dict[str, Expr | float] = {
            name: m.values[name] for name in m.parameters if name in m.values
        }
        values[HOLD] = 0.0
        if robot.inertial:
            start = [m.values[name] for name in robot.inertial]
            model = self.input_vector("model", len(start), start, doc="masses of the links")
            values |= dict(zip(robot.inertial, model, strict=True))
        gravity = self.input_vector(
            "gravity", 3, list(config.gravity), unit="m/s^2", doc="world's vector"
        )
        values |= dict(zip(GRAVITY, gravity, strict=True))
        for effector in config.end_effectors:
            carried = robot.load_values(effector)
            load = self.input_vector(
                f"{effector.name}_load", 4, list(carried.values()), doc="mass, and its center"
            )
            values |= dict(zip(carried, load, strict=True))
        return values


def frictions(config: LabConfig) -> dict[str, float]:
    """Return the viscous friction that controllers believe each joint to have."""
    given = config.description if config.model is None else config.model
    found = dict.fromkeys(config.names, 0.0)
    own = {joint.name: joint.damping for joint in given.joints}
    return found | {name: own[name] for name in found if name in own}
