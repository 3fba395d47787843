"""The Chain: controller, amplifier, motor, train and load as one block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, as_expr, floor, substitute
from linkwright.algebra.triples import combination
from linkwright.base.errors import suggestion
from linkwright.blocks import Block, Rate, Sampled, as_rate
from linkwright.elements.drives.amplifiers import Amplifier
from linkwright.elements.drives.brakes import Brake
from linkwright.elements.drives.controllers import Controller
from linkwright.elements.drives.emission import commanded, emit
from linkwright.elements.drives.loads import DriveLoad
from linkwright.elements.drives.matrices import (
    ChainMatrices,
    chain_matrices,
    checked_sensors,
    measured,
    refuse_long_step,
)
from linkwright.elements.drives.motors import Motor
from linkwright.elements.drives.noise import DriveNoise, column, factor
from linkwright.elements.drives.parts import DriveError, Sketch
from linkwright.elements.drives.plant import Parts, write_plant
from linkwright.elements.drives.trains import Train

Array = NDArray[np.float64]

_ARGUMENTS = (
    *("controller", "amplifier", "motor", "train", "load", "brake"),
    *("update", "closed", "sensors", "noise", "ledger", "reference", "rate", "name"),
)


class Chain(Block):
    """A joint's drive as one block: controller, amplifier, motor, train and load.

    Without a rate everything is integrated. With a rate the chain goes from instant to instant by
    matrices: `update="exact"` discretizes the plant as a whole; "simultaneous" and "sequential" are
    JNTMOD's, part by part, with its channels XHOM, XPAR, XWON and W. The command is then computed
    at an instant and applied at the next.

    Args:
        controller: what makes the command; None for a port `u`, to which a Servo is connected.
        amplifier: from the command to a voltage.
        motor: from the voltage to a torque.
        train: between motor and load.
        load: what is turned.
        brake: on the shaft of the motor; none by default.
        update: "exact", "simultaneous" or "sequential", with a rate.
        closed: whether sensors are fed back; otherwise the command is the reference term alone.
        sensors: names of what is measured, such as `motor.speed`; those of the parts by default.
        noise: of the states and of the sensors; needs a rate.
        ledger: whether energies are integrated, without a rate: `energy.supply`, `energy.loss...`,
            `energy.stored`, and `energy.missing`, which stays what it is at the start.
        reference: what is wanted where nothing drives that port: an angle of the load, rad, unless
            the controller is one of speed.
        rate: hertz or a `Rate`; continuous by default.
        name: of the block.

    Ports: `reference` goes in. The signals come out under their names (`motor.i`, `load.angle`),
    and `Z`, what the sensors say, in the order of `sensors`. With a rate also `R`, the reference
    terms of the controller, `ZWON` and `V`, the sensors' signals and their noise, and in the
    updates of JNTMOD `U`, the inputs of all parts, `XHOM`, `XPAR`, `XWON` and `W`, of the step that
    led to the present states: these are XHOM + XPAR + W. `feedback` takes something else than `Z`
    into the controller, such as the outputs of a filter.

    >>> from linkwright.elements.drives import DC, PD, Elastic, Inertia, Lag
    >>> motor = DC(R=1, L=2e-3, kt=0.05, J=1e-4, b=1e-5)
    >>> gear = Elastic(50, stiffness=500, damping=2)
    >>> joint = Chain(PD(8, 0.02), Lag(10, 1e-3), motor, gear, Inertia(0.5, 0.1))
    >>> [x.name for x in joint.states]
    ['motor.speed', 'motor.angle', 'load.speed', 'load.angle', 'motor.i', 'amplifier.v']
    """

    def __init__(
        self,
        controller: Controller | None,
        amplifier: Amplifier,
        motor: Motor,
        train: Train,
        load: DriveLoad,
        *,
        brake: Brake | None = None,
        update: str = "exact",
        closed: bool = True,
        sensors: Sequence[str] | None = None,
        noise: DriveNoise | None = None,
        ledger: bool = False,
        reference: float = 0.0,
        rate: Rate | float | Fraction | None = None,
        name: str = "joint",
    ) -> None:
        super().__init__(name, rate=rate, doc="drive of a joint")
        self.parts = Parts(controller, amplifier, motor, train, load, brake)
        self._settings = (sensors, noise or DriveNoise(), closed)
        self.update_rule = update
        unit = "rad" if controller is None else controller.reference_unit
        wanted = self.input("reference", reference, unit=unit, doc="what is wanted of the load")
        if self.rate is not None:
            found = self.matrices()
            if found.growth > 1:
                refuse_long_step(self.name, found, self._fine(found.step / 64))
            self._sampled(wanted, found)
        elif noise:
            raise DriveError(
                f"the chain {name!r} has noise, but no rate",
                remedy="give rate=..., in hertz: noise is new at each instant",
                code="R407",
            )
        else:
            self._continuous(wanted, ledger)

    def matrices(self, step: float | None = None, *, update: str = "") -> ChainMatrices:
        """Return the chain as matrices, from one instant to the next.

        Args:
            step: s; that of the chain's rate by default.
            update: "exact", "simultaneous" or "sequential"; that of the chain by default.
        """
        if step is None:
            if not isinstance(self.rate, Sampled):
                raise DriveError(
                    f"the chain {self.name!r} has no period",
                    remedy="give the step, s, or make it with a rate in hertz",
                    code="R408",
                )
            step = float(self.rate.period)
        sensors, noise, closed = self._settings
        return chain_matrices(self.parts, step, update or self.update_rule, sensors, noise, closed)

    def _fine(self, step: float) -> ChainMatrices:
        """Return the chain in short steps, without noise."""
        sensors, _, closed = self._settings
        return chain_matrices(self.parts, step, "exact", sensors, DriveNoise(), closed)

    def edited(self, values: Mapping[str, Any]) -> Chain:
        """Return the chain with other numbers.

        Args:
            values: fields of parts by name, such as `motor.R`; parts and other arguments, such as
                `motor` and `update`.
        """
        given = dict(self.made_with[1])
        for name, value in values.items():
            if name not in self.editable():
                known = ", ".join(self.editable())
                raise DriveError(
                    f"the chain {self.name!r} has nothing called {name!r}",
                    remedy=suggestion(name, self.editable(), f"it has {known}"),
                    code="R410",
                )
            role, _, key = name.rpartition(".")
            given[role or key] = replace(given[role], **{key: value}) if role else value
        return type(self)(**given)

    def editable(self) -> tuple[str, ...]:
        """Return the names that `edited` takes."""
        own = (f"{p.role}.{f.name}" for p in self.parts.all for f in fields(p))
        return (*own, *_ARGUMENTS)

    def check_rate(self, rate: Rate) -> None:
        """Reject another rate than the one that the chain was made for."""
        if rate != as_rate(self.rate):
            raise DriveError(
                f"the chain {self.name!r} was made {as_rate(self.rate)}, not {rate}",
                remedy="give rate= where the chain is made",
                code="R409",
            )

    # -- integrated --------------------------------------------------------------------------------
    def _continuous(self, wanted: Expr, ledger: bool) -> None:
        sensors, _, closed = self._settings
        sketch = Sketch(self, numeric=False)
        write_plant(sketch, self.parts)
        names = checked_sensors(sketch, self.parts, sensors)
        known = {n: sketch.signal(n) for n in names}
        put = commanded(
            self,
            sketch,
            wanted,
            lambda n: measured(known, n) if closed else as_expr(0),
            self.parts.controller,
        )
        emit(self, sketch, put, ledger=ledger)
        units = [sketch.signals[n][1] for n in names]
        found = [substitute(x, put) for x in known.values()]
        self.output_vector("Z", found, unit=units, doc=", ".join(names), labels=names)

    # -- by matrices -------------------------------------------------------------------------------
    def _sampled(self, wanted: Expr, found: ChainMatrices) -> None:
        _, noise, _ = self._settings
        told = found.update != "exact"
        blocks = found.blocks
        stems = ("xhom", "xpar", "w") if told else ("x",)
        kept = [[self.discrete_state(f"{stem}.{n}") for n in found.states] for stem in stems]
        x = kept[0]
        if told:
            x = [h + p + w for h, p, w in zip(*kept, strict=True)]
        units = self.signal_units()
        x = [
            self.output(n, value, unit=units.get(n, "?"))
            for n, value in zip(found.states, x, strict=True)
        ]
        each = [units.get(n, "?") for n in found.states]
        sensed, seen = [units.get(n, "?") for n in found.sensors], ", ".join(found.sensors)
        terms = ", ".join(found.inputs[: len(found.gains)])
        put = found.states[: len(found.gains)]
        R = self.output_vector("R", [float(g) * wanted for g in found.gains], doc=terms, labels=put)
        without = self.output_vector(
            "ZWON",
            [combination(row, x) for row in found.H],
            unit=sensed,
            doc=f"without noise: {seen}",
            labels=found.sensors,
        )
        spread = column(noise.sensors, found.sensors, "sensor")
        quantum = column(noise.quantum, found.sensors, "sensor")
        added = self.output_vector(
            "V",
            [
                float(s) * self.noise(f"sensor.{n}") if s else as_expr(0)
                for n, s in zip(found.sensors, spread, strict=True)
            ],
            unit=sensed,
            doc=f"noise of {seen}",
            labels=found.sensors,
        )
        z = self.output_vector(
            "Z",
            [_rounded(a + v, q) for a, v, q in zip(without, added, quantum, strict=True)],
            unit=sensed,
            doc=seen,
            labels=found.sensors,
        )
        fed = self.input_vector("feedback", len(z), z, unit=sensed, doc=seen) if z else ()
        alpha = [*R, *fed]
        now, inputs = list(x), []
        parts: list[list[Expr]] = [[], [], []]
        for block in blocks:
            source = now if found.update == "sequential" else x
            u = [
                self.intermediate(combination(c, source) + combination(g, alpha))
                for c, g in zip(block.couple, block.given, strict=True)
            ]
            inputs += u
            streams = [
                self.noise(f"noise.{n}") if column_.any() else as_expr(0)
                for n, column_ in zip(found.states[block.own], factor(block.noise).T, strict=True)
            ]
            w = [combination(row, streams) for row in factor(block.noise)]
            home = [combination(row, x[block.own]) for row in block.phi]
            forced = [combination(row, u) for row in block.theta]
            for known, values in zip(parts, (home, forced, w), strict=True):
                known += values
            now[block.own] = [
                self.intermediate(a + b + c) for a, b, c in zip(home, forced, w, strict=True)
            ]
        if told:
            held = [self.discrete_state(f"u[{i}]", value) for i, value in enumerate(inputs)]
            fed_with, scales = zip(
                *(pair for block in blocks for pair in block.inputs), strict=True
            )
            roles = ", ".join(block.name for block in blocks)
            what = f"inputs of {roles}, in this order"
            self.output_vector("U", held, unit=scales, doc=what, labels=fed_with)
            for memories, values in zip(kept, parts, strict=True):
                for memory, value in zip(memories, values, strict=True):
                    self.update(memory, value)
            names, states = ("XHOM", "XPAR", "W"), ", ".join(found.states)
            for label, memories in zip(names, kept, strict=True):
                self.output_vector(label, memories, unit=each, doc=states, labels=found.states)
            both = [h + p for h, p in zip(kept[0], kept[1], strict=True)]
            self.output_vector("XWON", both, unit=each, doc=states, labels=found.states)
        else:
            for memory, value in zip(kept[0], now, strict=True):
                self.update(memory, value)

    def signal_units(self) -> dict[str, str]:
        """Return the units of signals and states, by name."""
        sketch = Sketch(Block("scratch"), numeric=True, split=self.update_rule != "exact")
        write_plant(sketch, self.parts)
        known = {name: unit for name, (_, unit, _) in sketch.signals.items()}
        return known | {s.name: s.unit for s in sketch.states}


def _rounded(value: Expr, quantum: float) -> Expr:
    return float(quantum) * floor(value / float(quantum) + 0.5) if quantum else value
