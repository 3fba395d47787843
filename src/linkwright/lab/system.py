"""The System of a laboratory: its robot and its servos, one member each, at exact ticks.

At a tick, members that are due run in the order in which they need each other:

    robot, sensors, base_state, cart, life, task, desired, invdyn, feed, motor, guard

with `invkin` between the task and `desired` in the mode `cart`, and `shown` for what servos report
those that come before them: what was wanted and commanded at the tick before. Whatever changes
during a run is an input or a parameter of one of them.

While no task runs, the input `life.number` is 0; then, and when a task is done, `desired` is
frozen. Servos of one's own have slots and lives of their own, by their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from linkwright.algebra import Expr, equal, total, where
from linkwright.base.errors import InputError
from linkwright.blocks import Block, Delay
from linkwright.formats.robot.ground import ground_of
from linkwright.lab.base import BaseState
from linkwright.lab.cartesian import STATE, CartesianState
from linkwright.lab.config import MODES, SERVOS, LabConfig
from linkwright.lab.contacts import contacts, stands
from linkwright.lab.drivers.layout import driver_layout
from linkwright.lab.life import SlotLife, life_of
from linkwright.lab.muscles import Activation, muscle_of
from linkwright.lab.plant import (
    GRAVITY,
    LabMechanism,
    ObjectPlaces,
    RobotDrive,
    lab_mechanism,
    load_names,
    without_objects,
)
from linkwright.lab.pushes import Pushes, Pushing, pushed_bodies
from linkwright.lab.servos import (
    Desired,
    Guard,
    InverseDynamicsServo,
    MotorServo,
    Sensors,
    add_invkin,
)
from linkwright.lab.servos.desired import WANTED
from linkwright.lab.servos.sensors import Actuators, MiscSensors
from linkwright.lab.slot import MEMBER, SlotLayout
from linkwright.lab.vision.assembly import add_vision
from linkwright.lab.watch import AnswerWatch, Pulse
from linkwright.system import Member, System

CART = MODES.index("cart")
SILENCE = 0.1
"""s without a reading after which a robot has fallen silent."""
STILL = (*[0.0] * 9, 1.0, *[0.0] * 9)
"""The numbers of a frame that stands at the origin."""


def servo_rates(config: LabConfig) -> dict[str, Fraction]:
    """Return the rate of each servo, Hz.

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
    for servo, ratio in {"task": 2, "invdyn": 2, "invkin": 2, **config.ratios}.items():
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


def own_servos(config: LabConfig) -> tuple[str, ...]:
    """Return the servos of a laboratory beyond those that every one has."""
    return tuple(name for name in config.ratios if name not in SERVOS)


def lab_system(
    config: LabConfig, robot: LabMechanism | None = None, *, real: bool = False
) -> System:
    """Return the System of a laboratory.

    >>> from linkwright.lab.sources import lab_config
    >>> sorted(lab_system(lab_config("sl-arm"), real=True).members)[:3]
    ['actuators', 'cart', 'cart_desired']
    """
    robot = lab_mechanism(config) if robot is None else robot
    return _Builder(config, robot, real).built()


def pulsing(config: LabConfig) -> tuple[str, ...]:
    """Return the servos that a laboratory runs, each of which turns a line over.

    >>> from linkwright.lab.sources import lab_config
    >>> pulsing(lab_config("pendulum"))
    ('motor', 'task', 'invdyn', 'invkin')
    """
    there = {"vision": bool(config.vision.blobs), "invkin": bool(config.end_effectors)}
    known = tuple(name for name in SERVOS if there.get(name, True))
    return (*known, *own_servos(config))


class FeedForward(Block):
    """The feedforward command: what a task gives and inverse dynamics adds.

    While a joint is frozen and no servo computes torques, the command that was there is kept. A
    task that begins then begins with it (`lent`), although only `own` of it comes from tasks: as
    long as the task leaves it alone, that part alone counts where inverse dynamics adds its own.
    """

    needs_rate = True
    """It remembers from instant to instant."""

    def __init__(self, count: int, name: str = "feed") -> None:
        super().__init__(name, doc="feedforward command of the joints")
        given = self.input_vector("given", count, doc="of tasks")
        added = self.input_vector("added", count, doc="of inverse dynamics")
        frozen = self.input_vector("frozen", count, doc="not zero while its servo is frozen")
        mode = self.input("mode", doc="place in MODES")
        always = self.input("always", doc="whether inverse dynamics adds torques in every mode")
        gives = self.input("gives", doc="whether inverse dynamics has computed torques")
        lent = self.input_vector("lent", count, doc="command that the task began with")
        own = self.input_vector("own", count, doc="what of it comes from tasks")
        adds = self.intermediate((mode > 0) | (always > 0))
        waits = self.intermediate(adds & equal(gives, 0))
        found = []
        for i, (x, y) in enumerate(zip(given, added, strict=True)):
            kept = self.discrete_state(f"kept{i}")
            both = self.intermediate(where(equal(x, lent[i]), own[i], x) + y)
            keeps = ((frozen[i] > 0) & equal(mode, 0)) | waits
            now = self.intermediate(where(keeps, kept, where(adds, both, x)))
            self.update(kept, now)
            found.append(now)
        self.output_vector("uff", found, doc="feedforward command")


class _Builder:
    """A System that grows by its members."""

    def __init__(self, config: LabConfig, robot: LabMechanism, real: bool) -> None:
        self.config, self.robot, self.real = config, robot, real
        self.rates = servo_rates(config)
        self.system = System(None if real else robot.mechanism, name=config.name)
        self.count = len(config.joints)

    def built(self) -> System:
        """Return it with all members and wires."""
        config, n = self.config, self.count
        motor, task = self.rates["motor"], self.rates["task"]
        self.sensors = self.add(Sensors(config, real=self.real, derived=("a",)), motor)
        self.motor = self.add(MotorServo(config), motor)
        self.guard = self.add(Guard(config), motor)
        block = Desired(config, real=self.real)
        self.writer_of = [block.writers.get(name, MEMBER) for name in config.names]
        self.writers = {MEMBER, *block.writers.values()}
        self.desired = self.add(block, motor)
        self.feed = self.add(FeedForward(n), motor)
        self.shown = self.add(Delay(1, count=7 * n, name="shown"), motor)
        if self.real:
            self._add_hardware()
        else:
            self._add_robot()
        alone = without_objects(config, self.robot)
        self.cart = self.add(CartesianState(config, alone), task)
        wanted = CartesianState(config, alone, vertices=False, name="cart_desired")
        self.cart_desired = self.add(wanted, task)
        self.base = self.add(BaseState(), motor) if self.robot.base else None
        self._add_invdyn()
        slots = {
            servo: self.add(SlotLayout(config, servo).block(), self.rates[servo])
            for servo in (MEMBER, *own_servos(config))
        }
        self.lives = {servo: self._life(servo, slot) for servo, slot in slots.items()}
        if self.real:
            self._watched()
        else:
            self._wire_loads(slots)
        self._wire_joints(slots)
        self._wire_frames(slots)
        if config.muscles:
            self._add_muscles(slots)
        if config.vision.blobs:
            seen = add_vision(self.system, config, rate=self.rates["vision"], real=self.real)
            self.wire(*((seen, slot.blobs) for slot in slots.values()))
        if config.end_effectors:
            self._add_invkin(slots[MEMBER])
        for servo in pulsing(config):
            self.add(Pulse(servo), self.rates[servo])
        return self.system

    def add(self, block: Block, rate: Fraction | None = None) -> Member:
        """Add a member; what the robot has must not be called as it is."""
        member = self.system.add(block, rate=rate)
        if member.name != block.name:
            raise InputError(
                f"the robot has something called {block.name!r}, as a servo of the laboratory is",
                remedy="rename the link or joint in the robot's file",
            )
        return member

    def wire(self, *pairs: tuple[object, object]) -> None:
        """Connect sources with targets."""
        for source, target in pairs:
            self.system.connect(source, target)

    def _add_robot(self) -> None:
        config, robot = self.config, self.robot
        plant = self.add(RobotDrive(robot))
        for contact in contacts(config, robot):
            self.system.add(contact)
        if robot.objects:
            seen = self.add(ObjectPlaces(len(robot.objects) // 7), self.rates["motor"])
            self.wire((plant.objects, seen.places))
        pushed = pushed_bodies(robot)
        pushing = self.add(Pushing(pushed), self.rates["motor"])
        pushes = self.add(Pushes(robot))
        names = [f"{body.name}_acts" for body in pushed]
        self.wire(*((pushing[name], pushes[name]) for name in names))
        if stands(config) and (found := ground_of(config.description, robot.assembled)).touches:
            found.add_to(self.system)
        self.wire(
            (plant.q, self.sensors.raw_q),
            (plant.v, self.sensors.raw_u),
            (self.guard.safe_tau, plant.u),
            (self.shown.y[self.count : 2 * self.count], self.sensors.raw_load),
        )

    def _add_muscles(self, slots: dict[str, Member]) -> None:
        """Add muscles, which the task servo activates and every slot knows of."""
        if self.real:
            raise InputError(
                f"the muscles of {self.config.name!r} are simulated, and a driver has none",
                remedy="take them out of its file, or drive them as joints",
            )
        activation = self.add(Activation(len(self.config.muscles)), self.rates["motor"])
        self.wire(
            (slots[MEMBER].activation, activation.given),
            (self.lives[MEMBER].frozen, activation.frozen),
        )
        late = Delay(1, count=len(self.config.muscles), name="shown_muscles")
        shown = self.add(late, self.rates["motor"])
        told: list[Expr] = []
        for i, muscle in enumerate(self.config.muscles):
            member = self.add(muscle_of(self.config, self.robot, muscle))
            self.wire((activation.activation[i], member.activation), (member.tension, shown.u[i]))
            told += [member.length, member.speed, shown.y[i]]
        self.wire(*((told, slot.muscle) for slot in slots.values()))

    def _add_hardware(self) -> None:
        """Add what has the life of the robot; readings come in by the inputs of the sensors."""
        config, motor = self.config, self.rates["motor"]
        patience = max(5, round(SILENCE * config.rate))
        hardware = self.add(driver_layout(config).hardware(patience), motor)
        actuators = self.add(Actuators(config), motor)
        if config.misc_sensors:
            self.add(MiscSensors(config), motor)
        self.wire(
            (self.guard.safe_tau, actuators.tau),
            (self.sensors.q, actuators.q),
            (actuators.drive, hardware.wanted_tau),
        )

    def _watched(self) -> None:
        """Add what counts the answers of a task's process."""
        life = self.lives[MEMBER]
        watch = self.add(AnswerWatch(), self.rates[MEMBER])
        self.wire((life.calls, watch.calls), (watch.row, life.unanswered))

    def _life(self, servo: str, slot: Member) -> Member:
        """Add what says when the task of a slot is called."""
        motor = self.rates["motor"]
        life = self.add(SlotLife(life_of(servo), int(motor / self.rates[servo])), motor)
        self.wire(
            (slot.done, life.done),
            (slot.begun, life.begun),
            (life.calls, slot.number),
            (life.serial, slot.serial),
        )
        return life

    def _wire_joints(self, slots: dict[str, Member]) -> None:
        n, desired, motor, guard = self.count, self.desired, self.motor, self.guard
        sensors, shown, feed, invdyn = self.sensors, self.shown, self.feed, self.invdyn
        frozen = [self.lives[servo].frozen for servo in self.writer_of]
        wanted = [getattr(desired, name) for name in ("des_q", "des_u", "des_a")]
        told = [motor.ufb, guard.safe_tau, *wanted, feed.uff, desired.uex]
        self.wire(
            ([x for port in told for x in port], shown.u),
            (guard.latched, desired.follow),
            (sensors.q, desired.q),
            (desired.uff, feed.given),
            (invdyn.tau, feed.added),
            (invdyn.gives, feed.gives),
            (invdyn.always, feed.always),
            (frozen, feed.frozen),
            (desired.mode, feed.mode),
            (desired.mode, invdyn.mode),
            *((desired[f"des_{key}"], invdyn[f"des_{key}"]) for key in "qua"),
            (desired.uex, invdyn.uex),
            (sensors.q, invdyn.q),
            (sensors.u, invdyn.u),
            (sensors.q, motor.q),
            (sensors.u, motor.u),
            (desired.des_q, motor.des_q),
            (desired.des_u, motor.des_u),
            (feed.uff, motor.uff),
            (motor.tau, guard.tau),
            (desired.des_q, guard.q),
            (desired.des_u, guard.u),
        )
        rows = [shown.y[i * n : (i + 1) * n] for i in range(7)]
        for servo, slot in slots.items():
            for key, row in zip(("ufb", "tau"), rows, strict=False):
                self.wire((row, slot[key]))
            for key, row in zip(WANTED, rows[2:], strict=True):
                self.wire((row, slot[f"now_{key}"]))
            for key in ("q", "u", "a", "load"):
                self.wire((sensors[key], slot[key]))
            if servo in self.writers:
                stop = "freeze" if servo == MEMBER else f"{servo}_freeze"
                self.wire((self.lives[servo].frozen, desired[stop]))
                for key in WANTED:
                    self.wire((slot[f"des_{key}"], desired[f"{servo}_{key}"]))

    def _wire_frames(self, slots: dict[str, Member]) -> None:
        """Connect end-effectors and the base with joints, and slots with these."""
        cart, desired, sensors = self.cart, self.cart_desired, self.sensors
        self.wire(
            *((sensors[key], cart[key]) for key in "qua"),
            *((self.desired[f"des_{key}"], desired[key]) for key in "qua"),
        )
        base: Sequence[Expr | float] = STILL
        if self.base is not None:
            for port in ("base", "base_rate", "base_acceleration"):
                self.wire(*((self.base[port], m[port]) for m in (cart, desired)))
            self.wire(
                (self.base.base, self.invdyn.base),
                (self.base.base_rate, self.invdyn.base_rate),
                (self.base.smooth_acceleration, self.invdyn.base_acceleration),
            )
            if not self.real:
                plant = self.system["robot"]
                self.wire((plant.base, self.base.raw), (plant.base_rate, self.base.raw_rate))
            base = [x for key in STATE for x in self.base[key]]
        names = [effector.name for effector in self.config.end_effectors]
        frames, wanted = (
            [x for name in names for key in STATE for x in member[f"{name}_{key}"]]
            for member in (cart, desired)
        )
        for slot in slots.values():
            self.wire((base, slot.base))
        if not frames:
            return
        late = Delay(1, count=len(wanted), name="shown_cart")
        shown = self.add(late, self.rates["task"])
        self.wire((wanted, shown.u))
        for slot in slots.values():
            self.wire((frames, slot.cart), (shown.y, slot.now_cart))

    def _add_invdyn(self) -> None:
        """Add inverse dynamics; in a simulation it knows of changed gravity and loads."""
        config = self.config
        self.invdyn = self.add(InverseDynamicsServo(config, real=self.real), self.rates["invdyn"])
        if self.real:
            return
        known = self.robot.mechanism.parameters
        self.wire(([known[name] for name in GRAVITY], self.invdyn.gravity))
        for effector in config.end_effectors:
            load = [known[name] for name in load_names(effector.name)]
            self.wire((load, self.invdyn[f"{effector.name}_load"]))

    def _wire_loads(self, slots: dict[str, Member]) -> None:
        """Say to tasks of a simulated robot what its end-effectors carry."""
        known = self.robot.mechanism.parameters
        usual = [self.robot.load_values(effector) for effector in self.config.end_effectors]
        changes = [known[name] - value for load in usual for name, value in load.items()]
        for slot in slots.values() if changes else ():
            self.wire((changes, slot.carried))

    def _add_invkin(self, task: Member) -> None:
        """Add inverse kinematics for the mode `cart`, which begins where joints are wanted."""
        running = equal(self.desired.mode, CART) & equal(self.lives[MEMBER].frozen, 0)
        base = self.base
        found = add_invkin(
            self.system,
            self.config,
            rate=self.rates["invkin"],
            on=where(running, 1, 0),
            start=[self.system[f"desired.last_q{i}"] for i in range(self.count)],
            target=task.target,
            status=task.target_status,
            base=() if base is None else base.base,
            base_rate=() if base is None else [*base.xd, *base.w],
            real=self.real,
        )
        self.wire(
            *((part, self.desired[f"invkin_{k}"]) for k, part in zip("qua", found, strict=True)),
            (total(self.system.expr(x) for x in task.target_status), self.desired.aims),
        )
