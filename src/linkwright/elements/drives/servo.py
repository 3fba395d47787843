"""The Servo: a controller of a drive that runs at instants, as on a processor."""

from __future__ import annotations

from fractions import Fraction

from linkwright.algebra import Expr, where
from linkwright.blocks import Block, Rate, as_rate, exact
from linkwright.elements.drives.amplifiers import Amplifier
from linkwright.elements.drives.controllers import Controller, commands
from linkwright.elements.drives.motors import Motor
from linkwright.elements.drives.parts import DriveError, Sketch, refuse_misplaced
from linkwright.elements.drives.trains import Train


class Servo(Block):
    """A controller at instants, for a `Drive` or a `Chain` without one.

    Its inputs are the signals that the controller measures, under their names, and `reference`.
    Its outputs are the commands, `u` or one for each winding of the motor.

    Args:
        controller: the law; its states go on exactly for measurements that hold. One with a rate
            of its own runs at that alone.
        motor: that is driven, to tune what the controller leaves open and to know its windings.
        train: that is driven.
        amplifier: that is commanded: a `Cascade` without a limit of its own takes its limit, and
            gains that it leaves open are for its gain; by default that of the drive to which
            `attach` connects it.
        inertia: of the load that the controller is tuned for, kg*m^2 at the joint; as much as the
            rotor's there by default.
        latency: instants from the measurement to the command.
        rate: hertz, or a `Rate`; by default that of the controller, where it has one.
        name: of the block.

    >>> from linkwright.elements.drives import PD
    >>> Servo(PD(8, 0.02), rate=2000)
    Servo(servo: reference, load.angle, motor.speed -> u)
    """

    def __init__(
        self,
        controller: Controller,
        motor: Motor | None = None,
        train: Train | None = None,
        *,
        amplifier: Amplifier | None = None,
        inertia: float | None = None,
        latency: int = 0,
        rate: Rate | float | Fraction | None = None,
        name: str = "servo",
    ) -> None:
        given = {"controller": controller, "motor": motor, "train": train, "amplifier": amplifier}
        kinds = {"controller": Controller, "motor": Motor, "train": Train, "amplifier": Amplifier}
        refuse_misplaced(given, kinds)
        own = controller.rate
        super().__init__(name, rate=own if rate is None else rate, doc="controller of a drive")
        if own is not None:
            self.designed_for = 1 / exact(own)
            self.check_rate(as_rate(self.rate))
        if self.rate is None:
            raise DriveError(
                f"the servo {name!r} has no rate", remedy="give rate=..., in hertz", code="R415"
            )
        tuned = controller.tuned(motor, train, inertia, amplifier)
        if motor is not None:
            tuned.refuse_motor(motor)
        axes = motor.axes if motor is not None else tuned.axes or ("",)
        self.controller = tuned.within(amplifier, axes)
        wanted = self.input(
            "reference", unit=controller.reference_unit, doc="what is wanted of the joint"
        )
        sketch = Sketch(self, numeric=False)

        def measured(signal: str) -> Expr:
            if signal not in self.inputs:
                self.input(signal, doc=f"what is measured of {signal}")
            return self.inputs[signal].symbols[0]

        sheet = sketch.of(self.controller)
        law = self.controller.law(sheet, wanted, measured)
        for state in sketch.states:
            if state.rate is not None:
                self.derivative(state.symbol, state.rate)
        for axis, command in zip(axes, commands(law, len(axes)), strict=True):
            late = self.delay(command, latency, name=f"late{axis}") if latency else command
            self.output(f"u{axis}", late, doc="command")

    def on(self, amplifier: Amplifier) -> Servo:
        """Return it for an amplifier, unless it was made for one.

        Args:
            amplifier: that is commanded.
        """
        given = self.made_with[1]
        if given.get("amplifier") is not None:
            return self
        return type(self)(**{**given, "amplifier": amplifier})


class Division:
    """One of so many instants of a block, from the first on."""

    def __init__(self, block: Block, count: int, name: str) -> None:
        self._now: Expr | None = None
        if count > 1:
            n = block.discrete_state(f"{name}.count")
            block.update(n, where(n > count - 1.5, 0, n + 1))
            self._now = n

    def choose(self, new: Expr, old: Expr) -> Expr:
        """Return the first at such an instant, and the second at others."""
        return new if self._now is None else where(self._now < 0.5, new, old)
