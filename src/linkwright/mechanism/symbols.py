"""The symbols of a mechanism: parameters, inputs and speeds, with their numbers and units.

A mechanism owns its symbols. What is promised of one (small, large, positive, nonzero) is said
before it is used, because a symbol never changes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn

from linkwright.algebra import Expr, evaluate, symbol, units
from linkwright.algebra.units import MKS, Amount, Unit, by_name, checked_unit, parse_unit
from linkwright.base.arguments import worded
from linkwright.base.errors import nearest
from linkwright.base.reprs import brief
from linkwright.mechanism.joints import MechanismError
from linkwright.mechanism.parts import Value
from linkwright.mechanism.transactions import builder

if TYPE_CHECKING:
    from linkwright.mechanism.mechanism import Mechanism

_dependents: weakref.WeakKeyDictionary[Mechanism, list[weakref.WeakMethod[Callable[[], None]]]] = (
    weakref.WeakKeyDictionary()
)  # what is told of changes; kept beside a mechanism, so that views of it have none


@builder
def parameter(
    m: Mechanism,
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
        default = units.amount(default, f"the value of {name!r}", unit)
    known = m.parameters.get(name)
    if known is None:
        refuse_taken(m, name)
        known = symbol(
            name,
            "parameter",
            owner=m.name,
            small=m._orders.get(name, 0),
            sign=sign or m._signs.get(name, ""),
        )
        m.parameters[name] = known
    elif sign and known.data.sign != sign:
        raise MechanismError(
            f"the parameter {name!r} is in use already, without the promise {sign!r}",
            remedy="declare it before it is used",
        )
    if default is not None and m.values.get(name) != default:
        m.values[name] = default
        changed(m)
    if unit != "?":
        m.units[name] = unit
    if doc:
        m.docs[name] = doc
    return known


def refuse_taken(m: Mechanism, name: str) -> None:
    taken = m.parameters.keys() | m.inputs.keys() | m.coordinates.keys()
    if name in taken or name == "t":
        raise MechanismError(f"the name {name!r} is taken in {m.name!r}")


def speed_symbol(m: Mechanism, name: str, unit: str, small: int) -> Expr:
    """Return the symbol of a generalized speed; `small` may have been declared by name."""
    if m.units.get(name) != unit:
        m.units[name] = unit
    return symbol(name, "speed", owner=m.name, small=m._orders.get(name, small))


@builder
def small(m: Mechanism, *names: str) -> None:
    """Declare parameters, inputs or speeds small, before they are used.

    Args:
        names: names of parameters, or of speeds such as "nrb.v".

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.small("STEER")
    """
    _declare_order(m, names, 1)


@builder
def large(m: Mechanism, *names: str) -> None:
    """Declare parameters large, before they are used, so that they outweigh a small factor.

    Args:
        names: names of parameters.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.large("K")
    """
    _declare_order(m, names, -1)


def _declare_order(m: Mechanism, names: Iterable[str], order: int) -> None:
    for name in names:
        if name in m.parameters or m._kinematics is not None:
            raise MechanismError(
                f"{name!r} is in use already", remedy="declare it small or large before that"
            )
        m._orders[name] = order


def declared_orders(m: Mechanism) -> dict[str, int]:
    """Return what was declared small (1) or large (-1), by name.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.small("STEER")
    >>> m.declared_orders()
    {'STEER': 1}
    """
    return dict(m._orders)


@builder
def positive(m: Mechanism, *names: str) -> None:
    """Promise that parameters are positive, before they are used.

    Args:
        names: names of parameters.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.positive("R")
    >>> m.parameter("R").data.sign
    'positive'
    """
    _promise(m, names, "positive")


@builder
def nonzero(m: Mechanism, *names: str) -> None:
    """Promise that parameters are not zero, before they are used.

    Args:
        names: names of parameters.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.nonzero("L")
    >>> m.parameter("L").data.sign
    'nonzero'
    """
    _promise(m, names, "nonzero")


def _promise(m: Mechanism, names: Iterable[str], sign: str) -> None:
    for name in names:
        if name in m.parameters:
            raise MechanismError(
                f"{name!r} is in use already", remedy=f"promise that it is {sign} before that"
            )
        m._signs[name] = sign


@builder
def defaults(m: Mechanism, /, values: Mapping[str, Amount] | None = None, **more: Amount) -> None:
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
        if name not in m.parameters and name not in m.inputs:
            m.unknown(name, (*m.parameters, *m.inputs), "parameter")
        found[name] = m.amount(name, value, "the value")
    m.values.update(found)
    changed(m)


@builder
def set_initial(m: Mechanism, /, values: Mapping[str, Value] | None = None, **more: Value) -> None:
    """Set initial values of coordinates, speeds and extra states by name.

    They may be declared later; any other name is an error where a run starts.

    Args:
        values: value of each name; an expression of parameters follows their values.
        more: the same, as keywords.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> m.set_initial(b=0.25)
    >>> m.initial
    {'b': 0.25}
    """
    rules, numbers = {}, {}
    for name, value in {**by_name(values, "values"), **more}.items():
        if isinstance(value, str | Expr):
            rules[name] = m.expr(value)
        else:
            numbers[name] = m.amount(name, value, "the start")
    for name in numbers:
        m.initial_rules.pop(name, None)
    m.initial.update(numbers)
    m.initial_rules.update(rules)
    if rules:
        _follow_rules(m)
    changed(m)


@builder
def set_parameters(
    m: Mechanism, /, parameters: Mapping[str, Amount] | None = None, **more: Amount
) -> None:
    """Change the values of parameters and inputs; initial values that depend on them follow.

    Args:
        parameters: value of each name; an unknown one is an error.
        more: the same, as keywords.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> v = m.parameter("v", 5.0)
    >>> m.set_initial(spin="-v/2")
    >>> m.set_parameters(v=3)
    >>> m.initial
    {'spin': -1.5}
    """
    m.defaults(parameters, **more)
    _follow_rules(m)


def _follow_rules(m: Mechanism) -> None:
    """Compute the initial values that are given by expressions."""
    known = {x: m.values.get(name, 1.0) for name, x in m.parameters.items()}
    for name, rule in m.initial_rules.items():
        m.initial[name] = float(evaluate(rule, known))


@worded
def when_changed(m: Mechanism, forget: Callable[[], None]) -> None:
    """Let a method be called whenever the mechanism is changed by one of its own methods.

    Args:
        forget: a bound method, which forgets what was derived; its object is not kept alive.
    """
    _dependents.setdefault(m, []).append(weakref.WeakMethod(forget))


def changed(m: Mechanism) -> None:
    """Notify whoever has derived something that it does not hold any more."""
    for known in _dependents.get(m, ()):
        forget = known()
        if forget is not None:
            forget()


def known_units(m: Mechanism) -> dict[Expr, Unit]:
    """Return the units of its symbols, where they are known.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("m")
    >>> L, k = m.parameter("L", unit="m"), m.parameter("k")
    >>> m.known_units()
    {L: m}
    """
    symbols = {**m.parameters, **m.inputs, **m.coordinates}
    if m._kinematics is not None:
        symbols |= {s.symbol.name: s.symbol for s in m._kinematics.speeds}
    known = {x: m.units.get(name, "?") for name, x in symbols.items()}
    return {x: parse_unit(unit) for x, unit in known.items() if unit != "?"}


def amount(m: Mechanism, name: str, value: object, what: str) -> float:
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
    unit = m.units.get(name, "?")
    return units.amount(value, f"{what} of {name!r}", unit)


def amounts(m: Mechanism, given: object, what: str) -> dict[str, float]:
    """Return numbers by name; texts such as "30 deg" are converted.

    Args:
        given: a mapping from names to numbers or texts; None for nothing.
        what: what it is, in errors.

    >>> from linkwright.mechanism import Mechanism
    >>> Mechanism("m").amounts({"a": 1, "b": "1 km"}, "values")
    {'a': 1.0, 'b': 1000.0}
    """
    return units.amounts(given, what, lambda name: m.units.get(name, "?"))


@worded
def unknown(m: Mechanism, name: str, known: Iterable[str], what: str) -> NoReturn:
    """Raise the error for a name that is not known, with the nearest spelling."""
    names = list(known)
    near = nearest(name, names, cutoff=0.5)
    some = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    raise MechanismError(
        f"{m.name!r} has no {what} {name!r}",
        remedy=f"did you mean {near!r}?" if near else f"it has {some or 'none'}",
    )


def si_only(unit: str, name: str) -> str:
    """Return the unit of a symbol; one that is not SI is rejected, since nothing converts it.

    >>> si_only("N*m/rad", "k")
    'N*m/rad'
    """
    si = _si_text(checked_unit(unit, name)) if unit != "?" else unit
    if si != unit:
        raise MechanismError(
            f"{name!r} is in {unit}, and a mechanism is in SI units",
            remedy=f"unit={si!r}, and the value as a text: '1 {unit}'",
        )
    return unit


@lru_cache(maxsize=1024)
def _si_text(unit: str) -> str:
    return MKS.own_text(unit)


def require_name(name: object, what: str) -> None:
    """Reject what is not a name.

    >>> require_name("rod", "a body")
    """
    if not isinstance(name, str) or not name:
        raise MechanismError(f"{what} is named by a text, not by {brief(name)}")
