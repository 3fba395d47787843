"""Parts of a drive: frozen descriptions that write their physics into a `Sketch`.

A part is a controller, an amplifier, a motor, a train or a load. Its fields are numbers in SI with
units and bounds (`amount`). It says what it does in expressions, once; a continuous run integrates
them, and a sampled chain takes its matrices from their exact derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, TypeVar, dataclass_transform

from linkwright.algebra import (
    Expr,
    as_expr,
    diff,
    evaluate,
    free_symbols,
    postorder,
    sign,
    substitute,
    symbol,
    tanh,
)
from linkwright.blocks import Block, BlockError, checked

PartType = TypeVar("PartType", bound="DrivePart")


class DriveError(BlockError):
    """A drive that cannot be meant."""


def misfit(what: str, remedy: str) -> DriveError:
    """Return the error of parts that do not go together."""
    return DriveError(what, remedy=remedy, code="R424")


def amount(
    unit: str,
    *,
    default: Any = ...,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    nonzero: bool = False,
    absent: bool = False,
) -> Any:
    """Return a field of a part: a number in a unit, within bounds."""
    bounds = {
        "unit": unit, "least": least, "above": above, "most": most, "nonzero": nonzero,
        "absent": absent,
    }  # fmt: skip
    return field(metadata=bounds) if default is ... else field(default=default, metadata=bounds)


@dataclass_transform(frozen_default=True, field_specifiers=(amount, field))
def part(kind: type[PartType]) -> type[PartType]:
    """Make a frozen dataclass of a part."""
    return dataclass(frozen=True, slots=True)(kind)


class DrivePart:
    """A part of a drive.

    `sensors` names the signals that are measured unless a chain says otherwise, within the part;
    `needs` are groups of fields of which all are given, or none; `rising` are pairs of fields of
    which the second is not below the first.
    """

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    role: ClassVar[str]
    sensors: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[tuple[str, ...], ...]] = ()
    rising: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if "unit" in item.metadata and value is not None:
                what = f"{item.name} of {type(self).__name__}"
                if item.metadata["nonzero"] and value == 0:
                    raise DriveError(f"{what} is 0", remedy="give another number", code="R401")
                number(
                    value,
                    what,
                    least=item.metadata["least"],
                    above=item.metadata["above"],
                    most=item.metadata["most"],
                )
        for low, high in self.rising:
            pair = getattr(self, low), getattr(self, high)
            if None not in pair and pair[0] > pair[1]:
                raise DriveError(
                    f"{low} of {type(self).__name__} is {pair[0]:g}, above {high}, {pair[1]:g}",
                    remedy="give numbers that rise",
                    code="R401",
                )
        for group in self.needs:
            missing = [name for name in group if getattr(self, name) is None]
            if missing and len(missing) < len(group):
                raise DriveError(
                    f"{type(self).__name__} is given without {', '.join(missing)}",
                    remedy=f"give all of {', '.join(group)}, or none",
                    code="R412",
                )


def refuse_misplaced(given: Mapping[str, Any], kinds: Mapping[str, type[DrivePart]]) -> None:
    """Reject parts of a drive that stand in the place of others."""
    for place, value in given.items():
        if value is None or isinstance(value, kinds[place]):
            continue
        own = isinstance(value, DrivePart)
        raise DriveError(
            f"the {place} is {type(value).__name__}(...), "
            + (f"which is of the kind {value.role!r}" if own else "which is not a part of a drive"),
            remedy=f"give {', '.join(given)} in this order, or by name: {place}=...",
            code="R422",
        )


def number(
    value: Any,
    what: str,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
) -> float:
    """Return a number that a drive is given, or say why it cannot be meant.

    >>> number(2, "R of DC", above=0)
    2.0
    """
    try:
        return checked(value, what, least=least, above=above, most=most)
    except BlockError as error:
        raise DriveError(error.what, remedy=error.remedy, code="R401") from None


@dataclass(frozen=True, slots=True)
class Shaft:
    """How a shaft turns: its angle, rad, and its speed, rad/s."""

    angle: Expr
    speed: Expr


@dataclass(slots=True)
class SketchState:
    """A state of a drive: its part, its symbol, and its rate."""

    role: str
    symbol: Expr
    unit: str
    doc: str
    shaft: bool = False
    rate: Expr | None = None

    @property
    def name(self) -> str:
        """The name, such as `motor.i`."""
        return str(self.symbol.name)


@dataclass(frozen=True, slots=True)
class SketchPort:
    """What a part is fed with by others: its own symbol for it, and what that is."""

    role: str
    symbol: Expr
    value: Expr
    unit: str = "?"


class Sketch:
    """What the parts of a drive say together: states, their rates, signals, powers."""

    def __init__(self, block: Block, *, numeric: bool, split: bool = False) -> None:
        self.block = block
        self.numeric = numeric
        self.split = split
        self.prefix = ""
        self.commands: tuple[Expr, ...] = ()
        self.states: list[SketchState] = []
        self.ports: list[SketchPort] = []
        self.signals: dict[str, tuple[Expr, str, str]] = {}
        self.flags: dict[Expr, Expr] = {}
        self.pending: dict[Expr, tuple[Expr, Expr | None]] = {}
        self.powers: dict[str, Expr] = {}
        self.energies: dict[str, Expr] = {}
        self.known_numbers: dict[str, Expr] = {}

    def of(self, part: DrivePart) -> PartSketch:
        """Return the sheet on which a part writes."""
        return PartSketch(self, part)

    def signal(self, name: str) -> Expr:
        """Return a signal by its name, such as `motor.i`."""
        return substitute(self.signals[name][0], {port.symbol: port.value for port in self.ports})

    def ordered(self, roles: tuple[str, ...]) -> list[SketchState]:
        """Return the states, part by part; in each those of its shaft come last."""
        known = [s for s in self.states if s.role in roles]
        return sorted(known, key=lambda s: (roles.index(s.role), s.shaft))


class PartSketch:
    """The sheet of one part: names on it begin with the sketch's prefix and the part's role."""

    def __init__(self, sketch: Sketch, part: DrivePart) -> None:
        self.sketch = sketch
        self.part = part
        self.role = part.role
        self.label = f"{sketch.prefix}{part.role}"

    def numbers(self, *names: str) -> tuple[Expr, ...]:
        """Return fields of the part: numbers, or parameters of the block."""
        found = []
        known = self.sketch.known_numbers
        units = {f.name: f.metadata for f in fields(self.part)}
        for name in names:
            value = float(getattr(self.part, name))
            label = f"{self.label}.{name}"
            if label not in known and self.sketch.numeric:
                known[label] = as_expr(value)
            elif label not in known:
                meta = units[name]
                known[label] = self.sketch.block.parameter(
                    label,
                    as_expr(0) if meta["absent"] and not value else value,
                    unit=meta["unit"],
                    sign="positive" if meta["above"] >= 0 else "nonzero" * meta["nonzero"],
                    lower=meta["least"],
                    upper=meta["most"],
                )
            found.append(known[label])
        for low, high in self.part.rising:
            if low in names and high in names:
                self.require(known[f"{self.label}.{low}"] <= known[f"{self.label}.{high}"])
        return tuple(found)

    def state(
        self, name: str, *, unit: str, doc: str, shaft: bool = False, start: Expr | float = 0.0
    ) -> Expr:
        """Return a new state, which is a signal too."""
        made = self.sketch.block.state(f"{self.label}.{name}", None, start, unit=unit, doc=doc)
        self.sketch.states.append(SketchState(self.role, made, unit, doc, shaft))
        self.sketch.signals[f"{self.label}.{name}"] = (made, unit, doc)
        return made

    def shaft(self) -> Shaft:
        """Return a shaft that turns by itself: two states."""
        what = f"of the {self.role}"
        speed = self.state("speed", unit="rad/s", doc=f"speed {what}", shaft=True)
        angle = self.state("angle", unit="rad", doc=f"angle {what}", shaft=True)
        self.rate(angle, speed)
        return Shaft(angle, speed)

    def rate(self, state: Expr, value: Expr) -> None:
        """Say the rate of a state."""
        next(s for s in self.sketch.states if s.symbol is state).rate = value

    def fed(self, name: str, value: Expr, *, unit: str = "?") -> Expr:
        """Return what comes in from another part."""
        if not self.sketch.split:
            return value
        made = symbol(f"{self.label}.{name}", "input", owner=self.sketch.block.owner)
        known = {port.symbol: port.value for port in self.sketch.ports}
        self.sketch.ports.append(SketchPort(self.role, made, substitute(value, known), unit))
        return made

    def shared(self, value: Expr) -> Expr:
        """Return a partial result that several rates read, so that a loop can be cut at it."""
        if self.sketch.numeric or self.sketch.split:
            return value
        return self.sketch.block.intermediate(value)

    def signal(self, name: str, value: Expr, *, unit: str, doc: str) -> Expr:
        """Give something a name, under which it can be measured and recorded."""
        self.sketch.signals[f"{self.label}.{name}"] = (value, unit, doc)
        return value

    def port(self, name: str, default: float, *, unit: str, doc: str) -> Expr:
        """Return an input of the whole drive, called `part.name`."""
        if self.sketch.numeric:
            return as_expr(default)
        return self.sketch.block.input(f"{self.label}.{name}", default, unit=unit, doc=doc)

    def require(self, holds: Expr) -> None:
        """Reject other numbers for which a relation between fields or ports does not hold."""
        if not self.sketch.numeric:
            self.sketch.block.require(holds)

    def above_zero(self, name: str, value: Expr, start: bool = False) -> Expr:
        """Return 1 while a value is above zero, else 0: steps end where that changes.

        It is remembered, so that no rounding of the time of a change can undo it.
        """
        flag = self.sketch.block.discrete_state(f"{self.label}.{name}", None, float(start))
        self.sketch.flags[flag] = value
        return flag

    # -- the ledger --------------------------------------------------------------------------------
    def supply(self, power: Expr) -> None:
        """Say what is drawn from the supply, W."""
        self._power("supply", power)

    def loss(self, name: str, power: Expr) -> None:
        """Say what becomes heat, W."""
        self._power(f"loss.{self.label}.{name}", power)

    def stored(self, name: str, energy: Expr) -> None:
        """Say what is stored, J."""
        self.sketch.energies[f"{self.label}.{name}"] = energy

    def _power(self, name: str, power: Expr) -> None:
        self.sketch.powers[name] = self.sketch.powers.get(name, as_expr(0)) + power


def coefficients(
    values: list[Expr], symbols: list[Expr], what: Mapping[int, str]
) -> list[list[float]]:
    """Return the coefficients of expressions that are linear, without a constant."""
    zeros: dict[Expr, Any] = dict.fromkeys(symbols, 0.0)
    rows = []
    for k, value in enumerate(values):
        row = [diff(value, x) for x in symbols]
        jumps = [x for x in postorder([value]) if x.op == "sign"]
        known = set(symbols)
        bent = free_symbols(*row) or set(free_symbols(value)) - known
        bent = bent or set(free_symbols(*jumps)) & known
        if bent or float(evaluate(value, zeros)):
            raise DriveError(
                f"{what[k]} is not linear, so that a chain with a rate has no matrices",
                remedy="leave out rate=: then the plant is integrated, and a Servo samples it",
                code="R402",
            )
        rows.append([float(evaluate(c, {})) for c in row])
    return rows


def sense(sheet: PartSketch, speed: Expr) -> Expr:
    """Return the sense in which a shaft turns, for dry friction against it.

    It is the sign of the speed, with which friction holds a shaft that stands; where the part has a
    speed `creep`, it is smooth within that, and a held shaft creeps.
    """
    if getattr(sheet.part, "creep", None) is None:
        return sign(speed)
    (creep,) = sheet.numbers("creep")
    return tanh(speed / creep)
