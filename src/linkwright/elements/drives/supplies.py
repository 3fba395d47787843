"""Supplies of drives: a bus with its capacitor and chopper, fed by a rectifier or a battery."""

from __future__ import annotations

from linkwright.algebra import maximum, minimum, where
from linkwright.blocks import Block
from linkwright.elements.drives.parts import number


class DCBus(Block):
    """The bus that several amplifiers share: a capacitor, a source and a brake chopper.

    C V' = (source - V) / R - power / V - chopper. A rectifier gives no current back, so that power
    of braking drives raises the voltage until the chopper burns it.

    Args:
        voltage: of the source without load, V.
        resistance: of the source, ohm.
        capacitance: F.
        regenerative: whether the source takes current back, as a battery does.
        chopper_resistance: ohm; no chopper by default.
        chopper_on: voltage at which the chopper switches on, V; by default 1.1 of the source's.
        chopper_off: voltage at which it switches off, V; by default 1.05 of the source's.
        name: of the block.

    Ports: `power` is what all drives draw, W; connect the sum of their `power.supply`. Outputs are
    `voltage`, `current` and `chopping`, and the energies `given` and `burned`, J.

    >>> DCBus(48, 0.1, 2e-3)
    DCBus(bus: power -> voltage, current, burning, missing)
    """

    def __init__(
        self,
        voltage: float,
        resistance: float,
        capacitance: float,
        *,
        regenerative: bool = False,
        chopper_resistance: float | None = None,
        chopper_on: float | None = None,
        chopper_off: float | None = None,
        name: str = "bus",
    ) -> None:
        super().__init__(name, doc="supply of drives")
        for value, what in ((voltage, "voltage"), (resistance, "resistance")):
            number(value, f"the {what} of {name!r}", above=0.0)
        number(capacitance, f"the capacitance of {name!r}", above=0.0)
        power = self.input("power", unit="W", doc="what the drives draw")
        source = self.parameter("source", voltage, unit="V", sign="positive")
        R = self.parameter("resistance", resistance, unit="ohm", sign="positive")
        C = self.parameter("capacitance", capacitance, unit="F", sign="positive")
        v = self.state("v", None, source, unit="V", doc="voltage of the bus")
        current = (source - v) / R
        if not regenerative:
            current = maximum(current, 0)
        burning = self.expr(0)
        if chopper_resistance is not None:
            burner = self.parameter(
                "chopper", number(chopper_resistance, "chopper_resistance", above=0.0),
                unit="ohm", sign="positive",
            )  # fmt: skip
            on, off = (
                self.parameter(what, share * source if given is None else given, unit="V")
                for what, given, share in (
                    ("chopper_on", chopper_on, 1.1), ("chopper_off", chopper_off, 1.05)
                )
            )  # fmt: skip
            self.require(off <= on)
            shut = self.discrete_state("chopping")
            self.update(shut, where(v > on, 1, where(v < off, 0, shut)))
            self.event("chopper on", v - on, direction=1, resets={shut: 1})
            self.event("chopper off", v - off, direction=-1, resets={shut: 0})
            burning = shut * v**2 / burner
        self.derivative(v, (current - (power + burning) / v) / C)
        self.output("voltage", v, unit="V", doc="voltage of the bus")
        self.output("current", current, unit="A", doc="current of the source")
        self.output("burning", burning, unit="W", doc="power of the chopper")
        given = self.state("given", source * current, unit="J", doc="energy of the source")
        lost = self.state("lost", R * current**2, unit="J", doc="heat of the source's resistance")
        burned = self.state("burned", burning, unit="J", doc="heat of the chopper")
        used = self.state("used", power, unit="J", doc="energy drawn by the drives")
        rest = given - lost - burned - used - C * v**2 / 2
        self.output("missing", rest, unit="J", doc="unaccounted for; constant")


class Battery(Block):
    """A battery: its voltage falls with its charge and with its current.

    Args:
        full: voltage when full, V.
        empty: voltage when empty, V.
        capacity: A*h.
        resistance: ohm.
        charge: at the start, 0 to 1.
        name: of the block.

    Ports: `power` is what all drives draw, W; outputs `voltage`, `current`, `charge` and `lacking`.
    The current solves V0 i - R i^2 = power. No current does above V0^2 / (4 R): a run ends where
    that is passed (`overload`), at once where it starts beyond it. Up to there `lacking` is what is
    asked for beyond that power, W. It ends where the battery is empty (`flat`), too. What comes
    back to a full one charges it beyond 1, along the same line of voltage: `overcharge`, an event.

    >>> Battery(50, 42, capacity=5, resistance=0.05)
    Battery(battery: power -> voltage, current, lacking)
    """

    def __init__(
        self,
        full: float,
        empty: float,
        capacity: float,
        resistance: float,
        *,
        charge: float = 1.0,
        name: str = "battery",
    ) -> None:
        from linkwright.algebra import sqrt

        super().__init__(name, doc="battery of drives")
        for value, what in ((full, "full"), (empty, "empty"), (capacity, "capacity")):
            number(value, f"{what} of {name!r}", above=0.0)
        number(charge, f"charge of {name!r}", least=0.0, most=1.0)
        power = self.input("power", unit="W", doc="what the drives draw")
        top = self.parameter("full", full, unit="V", sign="positive")
        low = self.parameter("empty", empty, unit="V", sign="positive")
        q = self.parameter("capacity", capacity * 3600, unit="A*s", sign="positive")
        number(resistance, f"resistance of {name!r}", above=0.0)
        R = self.parameter("resistance", resistance, unit="ohm", sign="positive")
        self.require(low <= top)
        x = self.state("charge", None, charge, unit="1", doc="charge, 1 when full")
        inner = low + (top - low) * x
        most = inner**2 / (4 * R)
        given = minimum(power, most)
        i = 2 * given / (inner + sqrt(maximum(inner**2 - 4 * R * given, 0)))
        for what, beyond in {"overload": power - most, "flat": -x, "overcharge": x - 1}.items():
            ends = what != "overcharge"
            self.event(what, beyond, direction=1, terminal=ends, at_start=True)
        self.derivative(x, -i / q)
        self.output("voltage", inner - R * i, unit="V", doc="voltage at the terminals")
        self.output("current", i, unit="A", doc="current")
        self.output("lacking", power - given, unit="W", doc="asked for, but more than it can give")
