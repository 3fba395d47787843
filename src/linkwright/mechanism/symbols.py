"""The symbols of a mechanism: parameters, inputs and speeds, with their numbers and units.

A mechanism owns its symbols. What is promised of one (small, large, positive, nonzero) is said
before it is used, because a symbol never changes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping

from linkwright.algebra import Expr, symbol
from linkwright.algebra.units import (
    MKS,
    Amount,
    Unit,
    amount,
    amounts,
    by_name,
    checked_unit,
    parse_unit,
    unit_system,
)
from linkwright.base.arguments import worded
from linkwright.base.errors import nearest
from linkwright.base.reprs import brief
from linkwright.mechanism.joints import MechanismError
from linkwright.mechanism.kinematics import Kinematics
from linkwright.mechanism.transactions import builder

_dependents: weakref.WeakKeyDictionary[Symbols, list[weakref.WeakMethod[Callable[[], None]]]] = (
    weakref.WeakKeyDictionary()
)  # what is told of changes; kept beside a mechanism, so that views of it have none


class Symbols:
    """The symbols of a mechanism, with their numbers, units and documentation.

    Args:
        name: a word that names the mechanism; it owns the symbols.
        display: the units in which its results are printed: "mks" or "in-lb" (in, lbf, s).
    """

    is_frozen = False

    def __init__(self, name: str, *, display: str = "mks") -> None:
        self.name = name
        self.display = unit_system(display)
        self.time = symbol("t", "time", owner=name, unit="s")
        self.parameters: dict[str, Expr] = {}
        self.inputs: dict[str, Expr] = {}
        self.coordinates: dict[str, Expr] = {}
        self.values: dict[str, float] = {}
        self.units: dict[str, str] = {}
        self.docs: dict[str, str] = {}
        self._orders: dict[str, int] = {}
        self._signs: dict[str, str] = {}
        self._kinematics: Kinematics | None = None

    @builder
    def parameter(
        self,
        name: str,
        default: Amount | None = None,
        *,
        unit: str = "?",
        sign: str = "",
        doc: str = "",
    ) -> Expr:
        """Return a parameter, declaring it where it is new.

        Args:
            name: its name.
            default: the value it has unless another is given.
            unit: its unit; "?" where it is not known.
            sign: "positive" or "nonzero" where that is promised.
            doc: what it is.

        >>> from linkwright.mechanism import Mechanism
        >>> Mechanism("m").parameter("L1", 1.5, unit="m")
        L1
        """
        require_name(name, "a parameter")
        si_only(unit, name)
        if default is not None:
            default = amount(default, f"the value of {name!r}", unit)
        known = self.parameters.get(name)
        if known is None:
            self._refuse_taken(name)
            known = symbol(
                name,
                "parameter",
                owner=self.name,
                small=self._orders.get(name, 0),
                sign=sign or self._signs.get(name, ""),
            )
            self.parameters[name] = known
        elif sign and known.data.sign != sign:
            raise MechanismError(
                f"the parameter {name!r} is in use already, without the promise {sign!r}",
                remedy="declare it before it is used",
            )
        if default is not None and self.values.get(name) != default:
            self.values[name] = default
            self._changed()
        if unit != "?":
            self.units[name] = unit
        if doc:
            self.docs[name] = doc
        return known

    @builder
    def input(self, name: str, default: Amount = 0.0, *, unit: str = "?", doc: str = "") -> Expr:
        """Return an input: a value that is given from outside at every instant.

        Args:
            name: its name.
            default: the value it has where none is given.
            unit: its unit.
            doc: what it is.

        >>> from linkwright.mechanism import Mechanism
        >>> Mechanism("m").input("tau", unit="N*m")
        tau
        """
        require_name(name, "an input")
        si_only(unit, name)
        value = amount(default, f"the value of {name!r}", unit)
        known = self.inputs.get(name)
        if known is None:
            self._refuse_taken(name)
            known = self.inputs[name] = symbol(name, "input", owner=self.name)
        self.values[name] = value
        if unit != "?":
            self.units[name] = unit
        if doc:
            self.docs[name] = doc
        return known

    def _refuse_taken(self, name: str) -> None:
        taken = self.parameters.keys() | self.inputs.keys() | self.coordinates.keys()
        if name in taken or name == "t":
            raise MechanismError(f"the name {name!r} is taken in {self.name!r}")

    def speed_symbol(self, name: str, unit: str, small: int) -> Expr:
        """Return the symbol of a generalized speed; `small` may have been declared by name."""
        if self.units.get(name) != unit:
            self.units[name] = unit
        return symbol(name, "speed", owner=self.name, small=self._orders.get(name, small))

    @builder
    def small(self, *names: str) -> None:
        """Declare parameters, inputs or speeds small, before they are used.

        Args:
            names: names of parameters, or of speeds such as "nrb.v".

        >>> from linkwright.mechanism import Mechanism
        >>> m = Mechanism("m")
        >>> m.small("STEER")
        """
        self._declare_order(names, 1)

    @builder
    def large(self, *names: str) -> None:
        """Declare parameters large, before they are used, so that they outweigh a small factor.

        Args:
            names: names of parameters.

        >>> from linkwright.mechanism import Mechanism
        >>> m = Mechanism("m")
        >>> m.large("K")
        """
        self._declare_order(names, -1)

    def _declare_order(self, names: Iterable[str], order: int) -> None:
        for name in names:
            if name in self.parameters or self._kinematics is not None:
                raise MechanismError(
                    f"{name!r} is in use already", remedy="declare it small or large before that"
                )
            self._orders[name] = order

    def declared_orders(self) -> dict[str, int]:
        """Return what was declared small (1) or large (-1), by name.

        >>> from linkwright.mechanism import Mechanism
        >>> m = Mechanism("m")
        >>> m.small("STEER")
        >>> m.declared_orders()
        {'STEER': 1}
        """
        return dict(self._orders)

    @builder
    def positive(self, *names: str) -> None:
        """Promise that parameters are positive, before they are used.

        Args:
            names: names of parameters.

        >>> from linkwright.mechanism import Mechanism
        >>> m = Mechanism("m")
        >>> m.positive("R")
        >>> m.parameter("R").data.sign
        'positive'
        """
        self._promise(names, "positive")

    @builder
    def nonzero(self, *names: str) -> None:
        """Promise that parameters are not zero, before they are used.

        Args:
            names: names of parameters.

        >>> from linkwright.mechanism import Mechanism
        >>> m = Mechanism("m")
        >>> m.nonzero("L")
        >>> m.parameter("L").data.sign
        'nonzero'
        """
        self._promise(names, "nonzero")

    def _promise(self, names: Iterable[str], sign: str) -> None:
        for name in names:
            if name in self.parameters:
                raise MechanismError(
                    f"{name!r} is in use already", remedy=f"promise that it is {sign} before that"
                )
            self._signs[name] = sign

    @builder
    def defaults(self, values: Mapping[str, Amount] | None = None, **more: Amount) -> None:
        """Set default values of parameters and inputs; an unknown name is an error.

        Args:
            values: value of each name.
            more: the same, as keywords.

        >>> from linkwright.mechanism import Mechanism
        >>> m = Mechanism("m")
        >>> L = m.parameter("L1")
        >>> m.defaults(L1=1.5)
        >>> m.values["L1"]
        1.5
        """
        found = {}
        for name, value in {**by_name(values, "values"), **more}.items():
            if name not in self.parameters and name not in self.inputs:
                self.unknown(name, (*self.parameters, *self.inputs), "parameter")
            found[name] = self.amount(name, value, "the value")
        self.values.update(found)
        self._changed()

    @worded
    def when_changed(self, forget: Callable[[], None]) -> None:
        """Let a method be called whenever the mechanism is changed by one of its own methods.

        Args:
            forget: a bound method, which forgets what was derived; its object is not kept alive.
        """
        _dependents.setdefault(self, []).append(weakref.WeakMethod(forget))

    def _changed(self) -> None:
        """Tell whoever has derived something that it does not hold any more."""
        for known in _dependents.get(self, ()):
            forget = known()
            if forget is not None:
                forget()

    def known_units(self) -> dict[Expr, Unit]:
        """Return the units of its symbols, where they are known.

        >>> from linkwright.mechanism import Mechanism
        >>> m = Mechanism("m")
        >>> L, k = m.parameter("L", unit="m"), m.parameter("k")
        >>> m.known_units()
        {L: m}
        """
        symbols = {**self.parameters, **self.inputs, **self.coordinates}
        if self._kinematics is not None:
            symbols |= {s.symbol.name: s.symbol for s in self._kinematics.speeds}
        known = {x: self.units.get(name, "?") for name, x in symbols.items()}
        return {x: parse_unit(unit) for x, unit in known.items() if unit != "?"}

    def amount(self, name: str, value: object, what: str) -> float:
        """Return a number that is given for a name; a text such as "30 deg" is converted.

        Args:
            name: of a parameter, input, coordinate or speed.
            value: the number, or a text of a number and a unit.
            what: what it is, in errors.

        >>> from linkwright.mechanism import Mechanism
        >>> m = Mechanism("m")
        >>> L = m.parameter("L", unit="m")
        >>> m.amount("L", "20 cm", "the value")
        0.2
        """
        unit = self.units.get(name, "?")
        return amount(value, f"{what} of {name!r}", unit)

    def amounts(self, given: object, what: str) -> dict[str, float]:
        """Return numbers by name; texts such as "30 deg" are converted.

        Args:
            given: a mapping from names to numbers or texts; None for nothing.
            what: what it is, in errors.

        >>> from linkwright.mechanism import Mechanism
        >>> Mechanism("m").amounts({"a": 1, "b": "1 km"}, "values")
        {'a': 1.0, 'b': 1000.0}
        """
        return amounts(given, what, lambda name: self.units.get(name, "?"))

    @worded
    def unknown(self, name: str, known: Iterable[str], what: str) -> None:
        """Raise the error for a name that is not known, with the nearest spelling."""
        names = list(known)
        near = nearest(name, names, cutoff=0.5)
        some = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        raise MechanismError(
            f"{self.name!r} has no {what} {name!r}",
            remedy=f"did you mean {near!r}?" if near else f"it has {some or 'none'}",
        )


def si_only(unit: str, name: str) -> str:
    """Return the unit of a symbol; one that is not SI is refused, since nothing converts it.

    >>> si_only("N*m/rad", "k")
    'N*m/rad'
    """
    si = MKS.own_text(checked_unit(unit, name)) if unit != "?" else unit
    if si != unit:
        raise MechanismError(
            f"{name!r} is in {unit}, and a mechanism is in SI units",
            remedy=f"unit={si!r}, and the value as a text: '1 {unit}'",
        )
    return unit


def require_name(name: object, what: str) -> None:
    """Refuse what is no name.

    >>> require_name("rod", "a body")
    """
    if not isinstance(name, str) or not name:
        raise MechanismError(f"{what} is named by a text, not by {brief(name)}")
