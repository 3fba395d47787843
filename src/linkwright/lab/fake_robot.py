"""A simulated robot in a process of its own, behind a driver's place, by the clock on the wall.

It says what a real one would: raw readings of its sensors. It takes commands of actuators, and
follows it while it is active. After `PATIENCE` of its periods without a command, and
whenever it is not active, it damps its joints.
"""

from __future__ import annotations

from collections.abc import Callable

from linkwright.algebra import Expr, equal, where
from linkwright.base.closable import Closable
from linkwright.base.errors import Error, InputError
from linkwright.blocks import Block
from linkwright.lab.config import LabConfig
from linkwright.lab.contacts import contacts
from linkwright.lab.drivers.layout import KEEPERS, driver_layout
from linkwright.lab.drivers.links import driver_place, robot_end
from linkwright.lab.drivers.relay import Troubles
from linkwright.lab.plant import RobotDrive, lab_mechanism
from linkwright.lab.ready import ready_session
from linkwright.lab.servos.columns import is_number
from linkwright.lab.servos.sensors import Actuators, MiscSensors, RawSensors
from linkwright.simulation.hardware import ACTIVE, silence
from linkwright.simulation.links import numbers_of
from linkwright.simulation.pacing import PacedLoop, Reads, Writes
from linkwright.system import System

PATIENCE = 5
"""Periods without a command after which a robot damps its joints."""

_TOLD = {
    **{key: f"raw_sensors.raw_{key}" for key in ("q", "u", "load")},
    "misc": "misc.value",
    "base": "robot.base",
    "base_rate": "robot.base_rate",
    "fault": "card.fault",
    "beat": "card.beat",
}


class RobotCard(Block):
    """The electronics of a robot: it follows commands while they come, and damps its joints else.

    Inputs are the torques in the joints that actuators would give (`wanted`), the `life` and
    `heard` (the beat) of the laboratory, and the speeds `u`. Outputs are the torques `tau`, whether
    it is `damped`, for how many periods nothing new was `heard` (`silence`), how often it had to
    damp, its `fault` and its own `beat`.
    """

    needs_rate = True
    """It remembers from instant to instant."""

    def __init__(self, config: LabConfig, patience: int = PATIENCE) -> None:
        super().__init__("card", doc="the electronics of a robot")
        n, hold = len(config.joints), self.intermediate
        wanted, u = self.input_vector("wanted", n), self.input_vector("u", n)
        life, heard = self.input("life"), self.input("heard")
        _, ticks = silence(self, heard, "last", "silent", initial=patience, most=1e9)
        usable: Expr = self.expr(1) > 0
        for x in wanted:
            usable = usable & is_number(x)
        follows = hold((ticks < patience) & equal(life, ACTIVE) & usable)
        self.output_vector(
            "tau",
            [
                where(follows, x, -(joint.kd or 1.0) * speed)
                for x, speed, joint in zip(wanted, u, config.joints, strict=True)
            ],
        )
        self.output("damped", where(follows, 0, 1))
        was = self.discrete_state("was", where(follows, 0, 1), initial=1.0)
        times = self.discrete_state("times")
        self.update(times, times + where(follows, 0, 1 - was))
        self.output("damps", times)
        self.output("silence", ticks)
        self.output("fault", where(usable, 0, 1))
        beat = self.discrete_state("count", "count + 1")
        self.output("beat", beat + 1)


def robot_system(config: LabConfig) -> System:
    """Return the System of a robot alone, with its card."""
    robot = lab_mechanism(config)
    system = System(robot.mechanism, name=f"{config.name}_robot")
    plant = system.add(RobotDrive(robot))
    for contact in contacts(config, robot):
        system.add(contact)
    card = system.add(RobotCard(config), rate=config.rate)
    drive = system.add(Actuators(config, back=True), rate=config.rate)
    raw = system.add(RawSensors(config), rate=config.rate)
    if config.misc_sensors:
        system.add(MiscSensors(config), rate=config.rate)
    for source, target in (
        (plant.v, card.u),
        (plant.q, drive.q),
        (drive.drive, card.wanted),  # what actuators give; damping is of the joints themselves
        (card.tau, plant.u),
        (plant.q, raw.q),
        (plant.v, raw.u),
        (card.tau, raw.load),
    ):
        system.connect(source, target)
    return system


class FakeRobot(Closable):
    """A simulated robot behind a driver's place.

    Nothing of its further sensors is simulated: they report the inputs `misc.raw` of its loop, 0 as
    long as nobody sets them.
    """

    def __init__(
        self,
        config: LabConfig,
        at: str,
        *,
        keeps_time: str = "lab",
        troubles: Troubles | None = None,
    ) -> None:
        if keeps_time not in KEEPERS:
            raise InputError(f"{keeps_time!r} keeps no time", remedy=f"{' or '.join(KEEPERS)} does")
        self.config = config
        layout = driver_layout(config)
        self.end = robot_end(driver_place(at), layout, keeps_time=keeps_time, troubles=troubles)
        try:
            takes = numbers_of(
                layout.commands, {"tau": "actuators.tau", "life": "card.life", "beat": "card.heard"}
            )
            gives = numbers_of(layout.states, _TOLD)
            names = [name for given in gives.values() for name in given]
            more = ["card.damped", "card.damps", "card.silence"]
            self.loop = PacedLoop(
                ready_session(
                    config,
                    lambda: robot_system(config),
                    kind=" robot",
                    channels=[*names, *more],
                ),
                reads=[Reads(self.end.source, takes)],
                writes=[Writes(self.end.target, gives)],
            )
        except BaseException:
            self.end.close()
            raise

    @property
    def url(self) -> str:
        """Where it is."""
        return str(self.end.place)

    def serve(self, goes_on: Callable[[], bool]) -> None:
        """Answer laboratories until it is to end."""
        self.loop.start()
        while goes_on() and self.loop.running:
            self.end.attend()
        self.loop.stop()
        reason = self.loop.stopped
        if reason is not None and reason.failed:
            raise Error(f"the simulated robot has ended: {reason.reason}")

    def close(self) -> None:
        """End it; a second time does nothing."""
        self.loop.stop()
        self.end.close()
