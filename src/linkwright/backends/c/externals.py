"""Tables and foreign functions in a C file: static functions, and prototypes or definitions."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Any

from linkwright.algebra.foreign import ForeignFunction
from linkwright.algebra.printers.names import C_RESERVED
from linkwright.backends.lookup import Lookup, lookup
from linkwright.backends.source import Names, plain
from linkwright.base.errors import CompileError

_PIECE = """/* how many of the points are not above x */
static int lw_piece(const double *points, int count, double x)
{
    int low = 0;
    while (low < count) {
        const int middle = (low + count)/2;
        if (points[middle] <= x) {
            low = middle + 1;
        } else {
            count = middle;
        }
    }
    return low;
}
"""


def linked_name(function: ForeignFunction) -> str:
    """Return the symbol of a foreign function without C source, which somebody has to define.

    It is not the function's own name, so that none of the C library is linked in its place.
    """
    return f"user_{function.name}"


def linked_prototype(function: ForeignFunction) -> str:
    """Return the declaration of that symbol.

    >>> from linkwright.algebra import foreign
    >>> linked_prototype(foreign("tire", 2))
    'double user_tire(double x0, double x1)'
    """
    head, bracket, arguments = function.prototype.partition("(")
    kind = head.split()[0]
    return f"{kind} {linked_name(function)}{bracket}{arguments}"


class CExternals:
    """The functions of a file that stand for tables, and the foreign functions it calls."""

    def __init__(self, kind: str, names: Names) -> None:
        self._kind = kind
        self._names = names
        self._tables: dict[tuple[str, Any], tuple[str, str]] = {}
        self.foreign: dict[str, ForeignFunction] = {}

    def table(self, op: str, table: Any) -> str:
        """Return the name of the function of a table."""
        if (op, table) not in self._tables:
            name = self._names(_called(table))
            self._tables[op, table] = (name, _table_text(name, table, self._kind))
        return self._tables[op, table][0]

    def call(self, function: ForeignFunction) -> str:
        """Return the name by which a foreign function is called."""
        known = self.foreign.setdefault(function.name, function)
        if known != function:
            raise CompileError(
                f"two different foreign functions are named {function.name!r}",
                remedy="give them different names",
            )
        if not function.c_source:
            return linked_name(function)
        if function.name in C_RESERVED:
            raise CompileError(
                f"the foreign function {function.name!r} has the name of a word of C or of its "
                "mathematical library",
                remedy="give it another name",
            )
        return function.name

    def texts(self) -> Iterable[str]:
        """Return the declarations and definitions, in order of first use."""
        for function in self.foreign.values():
            if function.c_source:
                yield f"/* foreign function */\n{function.c_source.strip()}\n"
            else:
                yield f"/* foreign function, to be linked */\n{linked_prototype(function)};\n"
        if self._tables:
            yield _PIECE
        for _, text in self._tables.values():
            yield text


def _called(table: Any) -> str:
    orders = table.orders if hasattr(table, "orders") else (table.order,)
    derivative = "_d" + "".join(str(n) for n in orders) if any(orders) else ""
    return f"table_{table.name}{derivative}"


def _table_text(name: str, table: Any, kind: str) -> str:
    data = lookup(table)
    axes = "xy"[: len(data.points)]
    sizes = " by ".join(str(len(p)) for p in data.points)
    lines = [
        f"/* {plain(table.name)}: {sizes} points, {table.kind}, outside {table.outside} */",
        f"static {kind} {name}({', '.join(f'{kind} {a}' for a in axes)})",
        "{",
    ]
    for axis, points, origins in zip(axes, data.points, data.origins, strict=True):
        lines += _array(f"points_{axis}", points.tolist())
        lines += _array(f"origins_{axis}", origins.tolist())
    lines += _array("c", data.coefficients.ravel().tolist())
    for axis, points in zip(axes, data.points, strict=True):
        lines += [
            f"    const int piece_{axis} = lw_piece(points_{axis}, {len(points)}, {axis});",
            f"    const double d{axis} = {axis} - origins_{axis}[piece_{axis}];",
        ]
    lines += _polynomial(data)
    result = "value" if kind == "double" else f"({kind})value"
    return "\n".join([*lines, f"    return {result};", "}", ""])


def _polynomial(data: Lookup) -> list[str]:
    if len(data.points) == 1:
        (powers,) = data.powers
        return [
            f"    const double *p = c + {powers}*piece_x;",
            f"    const double value = {_horner([f'p[{k}]' for k in range(powers)], 'dx')};",
        ]
    rows, columns = data.powers
    size = rows * columns
    lines = [f"    const double *p = c + {size}*({len(data.points[1]) + 1}*piece_x + piece_y);"]
    for i in range(rows):
        inner = _horner([f"p[{i * columns + j}]" for j in range(columns)], "dy")
        lines.append(f"    const double a{i} = {inner};")
    value = _horner([f"a{i}" for i in range(rows)], "dx")
    return [*lines, f"    const double value = {value};"]


def _horner(coefficients: list[str], variable: str) -> str:
    text = coefficients[-1]
    for k, c in enumerate(reversed(coefficients[:-1])):
        text = f"{c} + {variable}*{text if k == 0 else f'({text})'}"
    return text


def _array(name: str, values: list[float]) -> list[str]:
    inside = wrap(", ".join(repr(v) for v in values), 88, break_on_hyphens=False)
    return [
        f"    static const double {name}[{len(values)}] = {{",
        *(f"        {line}" for line in inside),
        "    };",
    ]
