"""The units of expressions: deduced, checked, and solved for the symbols that have none.

Nothing is stored in an expression: a unit is worked out when it is asked for, from what the
symbols say of themselves (AUTOSIM, section 9.1: "?" only where it cannot be known). Three rules
need a word:

- A number has no unit as a factor; as a term it has the unit of its sum, because a model may give
  any of its lengths and masses as a number.
- A sum has the unit of its first term whose unit is known; a product has one only if all factors
  have.
- Going down, the one unknown factor of a product whose unit is known is solved for; two stay
  unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from linkwright.algebra.expr import Expr
from linkwright.algebra.units.parse import parse_unit
from linkwright.algebra.units.unit import ONE_UNIT, Unit, without_needless_angle
from linkwright.algebra.walk import postorder
from linkwright.base.errors import InputError, UnitError

Statement: TypeAlias = "Expr | tuple[Expr, Expr | Unit | str]"
_Units: TypeAlias = dict[Expr, Unit | None]

_RADIAN = parse_unit("rad")
_ANGLE_TO_NUMBER = frozenset({"sin", "cos", "tan"})
_NUMBER_TO_ANGLE = frozenset({"asin", "acos", "atan"})
_NUMBER_TO_NUMBER = frozenset({"exp", "log", "tanh"})
_COMPARISONS = frozenset({"lt", "le", "eq", "ne"})
_ALIKE = frozenset({"sum", "min", "max", "select", "atan2"}) | _COMPARISONS
_SHOWN = 60


def unit_of(expr: Expr, known: Mapping[Expr, Unit | str] | None = None) -> Unit | None:
    """Return the unit of an expression, or None where it cannot be known.

    >>> from linkwright.algebra import symbol
    >>> m, v, c = symbol("m", unit="kg"), symbol("v", "speed", unit="m/s"), symbol("c")
    >>> unit_of(m * v**2 / 2), unit_of(c * v), unit_of(c * v + m * v)
    (N*m, None, N*s)
    """
    return _upward(list(postorder([expr])), _as_units(known))[expr]


def check_units(
    expr: Expr, unit: Unit | str | None = None, known: Mapping[Expr, Unit | str] | None = None
) -> Unit | None:
    """Return the unit of an expression after checking every sum, comparison and function in it.

    >>> from linkwright.algebra import symbol
    >>> x, v = symbol("x", unit="m"), symbol("v", unit="m/s")
    >>> check_units(x + v)
    Traceback (most recent call last):
        ...
    linkwright.UnitError: in v + x, x is in m but v is in m/s
    """
    nodes = list(postorder([expr]))
    units = _upward(nodes, _as_units(known))
    for node in nodes:
        _check_node(node, units)
    found = units[expr]
    wanted = _as_unit(unit)
    if found is not None and wanted is not None and not found.fits(wanted):
        raise UnitError(f"{_shown(expr)} is in {found}, not in {wanted}")
    return found if found is not None else wanted


def deduce_units(
    statements: Iterable[Statement], known: Mapping[Expr, Unit | str] | None = None
) -> dict[Expr, Unit]:
    """Return the units of the symbols that say nothing of theirs, where equations give them.

    >>> from linkwright.algebra import symbol, symbols
    >>> F, x, v = symbol("F", unit="N"), symbol("x", unit="m"), symbol("v", unit="m/s")
    >>> K, D, g, h = symbols("K D g h")
    >>> deduce_units([(F, -K * x - D * v + g * h)])
    {D: N*s/m, K: N/m}
    """
    equal, expected = _sorted_out(statements)
    nodes = list(postorder([*expected, *(x for pair in equal for x in pair)]))
    given = _as_units(known)
    symbols = sorted((x for x in nodes if x.op == "sym"), key=lambda x: x.key)
    found: dict[Expr, Unit] = {}
    while True:
        units = _upward(nodes, {**given, **found})
        targets = {x: unit for x, unit in expected.items() if unit is not None}
        for a, b in equal:
            _share(a, b, units, targets)
        _downward(nodes, units, targets)
        new = {x: targets[x] for x in symbols if units[x] is None and x in targets}
        if not new:
            return {x: found[x] for x in symbols if x in found}
        found.update(new)


def _sorted_out(
    statements: Iterable[Statement],
) -> tuple[list[tuple[Expr, Expr]], dict[Expr, Unit | None]]:
    equal: list[tuple[Expr, Expr]] = []
    expected: dict[Expr, Unit | None] = {}
    for statement in statements:
        if isinstance(statement, Expr):
            expected.setdefault(statement, None)
        elif isinstance(statement[1], Expr):
            equal.append((statement[0], statement[1]))
        else:
            expected[statement[0]] = _as_unit(statement[1])
    return equal, expected


def _as_unit(unit: Unit | str | None) -> Unit | None:
    if isinstance(unit, str):
        return None if unit == "?" else parse_unit(unit)
    return unit


def _as_units(known: Mapping[Expr, Unit | str] | None) -> dict[Expr, Unit]:
    units = {x: _as_unit(unit) for x, unit in (known or {}).items()}
    return {x: unit for x, unit in units.items() if unit is not None}


# -- from the symbols up ---------------------------------------------------------------------------
def _upward(nodes: Sequence[Expr], known: Mapping[Expr, Unit]) -> _Units:
    units: _Units = {}
    for node in nodes:
        unit = known.get(node)
        if unit is None:
            unit = _node_unit(node, units)
        units[node] = unit
    return units


def _node_unit(node: Expr, units: _Units) -> Unit | None:
    op, args = node.op, node.args
    if op == "sym":
        return _symbol_unit(node)
    if op == "scale" or op == "abs":
        return units[args[0]]
    if op == "sum" or op == "min" or op == "max":
        return _first_known(args, units)
    if op == "select":
        return _first_known(args[1:], units)
    if op == "prod":
        return _product_unit(zip(args, node.data, strict=True), units)
    if op == "sqrt" or op == "pow":
        unit, exponent = units[args[0]], _exponent(node)
        if unit is None or exponent is None:
            return ONE_UNIT if unit is not None and unit.is_dimensionless else None
        return without_needless_angle(unit**exponent)
    if op in _NUMBER_TO_ANGLE or op == "atan2":
        return _RADIAN
    declared = None if node.data is None else getattr(node.data, "unit", None)
    if op in ("table1", "table2", "foreign"):
        return _as_unit(declared) if isinstance(declared, Unit | str) else None
    return ONE_UNIT


def _symbol_unit(node: Expr) -> Unit | None:
    try:
        return _as_unit(node.data.unit)
    except InputError as error:
        raise InputError(
            f"the symbol {node.name!r} has no proper unit: {error.what}", remedy=error.remedy
        ) from None


def _is_number(x: Expr) -> bool:
    return x.op == "num" or x.op == "pi" or (x.op == "scale" and x.args[0].op == "pi")


def _first_known(args: Sequence[Expr], units: _Units) -> Unit | None:
    """Return the unit that terms have in common; numbers take whatever the others have."""
    terms = [x for x in args if not _is_number(x)]
    if not terms:
        return ONE_UNIT
    return next((units[x] for x in terms if units[x] is not None), None)


def _product_unit(powers: Iterable[tuple[Expr, int]], units: _Units) -> Unit | None:
    result = ONE_UNIT
    for base, exponent in powers:
        unit = units[base]
        if unit is None:
            return None
        result = _times(result, unit, exponent)
    return without_needless_angle(result)


@lru_cache(maxsize=4096)
def _times(a: Unit, b: Unit, exponent: int) -> Unit:
    return a * b**exponent


def _exponent(node: Expr) -> Fraction | None:
    """Return the exponent of a root or power where it is a number."""
    if node.op == "sqrt":
        return Fraction(1, 2)
    exponent = node.args[1]
    return Fraction(exponent.data).limit_denominator(1000) if exponent.op == "num" else None


# -- from what is expected down --------------------------------------------------------------------
def _downward(nodes: Sequence[Expr], units: _Units, targets: dict[Expr, Unit]) -> None:
    for node in reversed(nodes):
        target = units[node] or targets.get(node)
        for x, unit in _wanted(node, target, units):
            if units[x] is None and not _is_number(x):
                targets.setdefault(x, without_needless_angle(unit))


def _wanted(node: Expr, target: Unit | None, units: _Units) -> Iterable[tuple[Expr, Unit]]:
    """Return what a node wants its arguments to be measured in."""
    op, args = node.op, node.args
    if op in _ANGLE_TO_NUMBER:
        return [(args[0], _RADIAN)]
    if op in _NUMBER_TO_ANGLE or op in _NUMBER_TO_NUMBER:
        return [(args[0], ONE_UNIT)]
    if op in _COMPARISONS or op == "atan2":
        shared = next((units[x] for x in args if units[x] is not None and not _is_number(x)), None)
        return [(x, shared) for x in args] if shared is not None else []
    if op == "pow" and _exponent(node) is None:
        return [(args[1], ONE_UNIT)]
    if target is None:
        return []
    if op in ("scale", "sum", "min", "max", "abs"):
        return [(x, target) for x in args]
    if op == "select":
        return [(x, target) for x in args[1:]]
    if op == "sqrt" or op == "pow":
        exponent = _exponent(node)
        return [(args[0], target ** (1 / exponent))] if exponent else []
    if op == "prod":
        return _unknown_factor(node, target, units)
    return []


def _unknown_factor(node: Expr, target: Unit, units: _Units) -> list[tuple[Expr, Unit]]:
    powers = list(zip(node.args, node.data, strict=True))
    unknown = [(x, e) for x, e in powers if units[x] is None]
    if len(unknown) != 1:
        return []
    ((x, exponent),) = unknown
    rest = _product_unit([power for power in powers if power[0] is not x], units)
    assert rest is not None
    return [(x, (target / rest) ** Fraction(1, exponent))]


def _share(a: Expr, b: Expr, units: _Units, targets: dict[Expr, Unit]) -> None:
    """Let each side of an equation want the unit of the other."""
    for x, y in ((a, b), (b, a)):
        unit = units[y] or targets.get(y)
        if unit is not None and units[x] is None and not _is_number(y):
            targets.setdefault(x, unit)


# -- checks ----------------------------------------------------------------------------------------
def _check_node(node: Expr, units: _Units) -> None:
    op, args = node.op, node.args
    if op in _ALIKE:
        _check_alike(node, args[1:] if op == "select" else args, units)
    if op in _ANGLE_TO_NUMBER or op in _NUMBER_TO_ANGLE or op in _NUMBER_TO_NUMBER:
        _check_number(node, args[0], units)
    if op == "pow":
        _check_number(node, args[1], units)


def _check_alike(node: Expr, args: Sequence[Expr], units: _Units) -> None:
    first: Expr | None = None
    for x in args:
        if units[x] is None or _is_number(x):
            continue
        if first is None:
            first = x
        elif not _fits(units[first], units[x]):
            raise UnitError(
                f"in {_shown(node)}, {_shown(x)} is in {units[x]} "
                f"but {_shown(first)} is in {units[first]}"
            )


def _fits(a: Unit | None, b: Unit | None) -> bool:
    return a is None or b is None or a.fits(b)


def _check_number(node: Expr, x: Expr, units: _Units) -> None:
    unit = units[x]
    if unit is not None and not unit.is_dimensionless:
        raise UnitError(
            f"in {_shown(node)}, {_shown(x)} is in {unit} where a number or an angle is needed"
        )


def _shown(x: Expr) -> str:
    from linkwright.algebra.printers import text

    return text(x, limit=_SHOWN)
