"""The tables and foreign functions of a text model.

A file may name a foreign function. Its code comes from Python, or, where the reader is allowed to
trust the file, from the C source in it; without either it can be derived from but not run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkwright.algebra import Expr, ForeignFunction, Lookup1D, Lookup2D, foreign
from linkwright.algebra.language import SymbolScope, read, resolve
from linkwright.base.errors import InputError
from linkwright.formats.text import tables


def table_of(table: tables.LookupTable) -> Lookup1D | Lookup2D:
    """Return the function that a table of points stands for.

    >>> table_of(tables.LookupTable(name="f", x=[0, 1], y=[0, 5])).kind
    'linear'
    """
    if table.z is None:
        return Lookup1D(table.x, table.y, kind=table.kind, outside=table.outside, name=table.name)
    return Lookup2D(
        table.x, table.y, table.z, kind=table.kind, outside=table.outside, name=table.name
    )


def foreign_of(
    function: tables.FunctionTable, given: Callable[..., Any] | None, trust: bool
) -> ForeignFunction:
    """Return a foreign function: the one given, or one made of a Python callable or trusted C.

    >>> table = tables.FunctionTable(name="f", arguments=["x"], derivatives=["2*x"])
    >>> foreign_of(table, lambda x: x**2, trust=False).arity
    1
    """
    arity = len(function.arguments)
    if isinstance(given, ForeignFunction):
        if (given.name, given.arity, given.outputs) != (function.name, arity, function.outputs):
            raise InputError(
                f"the function given for {function.name!r} is {given.name!r} with {given.arity} "
                f"argument(s) and {given.outputs} output(s)"
            )
        return given
    return foreign(
        function.name,
        arity,
        python=given,
        c_source=function.c_source if trust else "",
        derivatives=_derivatives(function),
        pure=function.pure,
        outputs=function.outputs,
    )


def _derivatives(function: tables.FunctionTable) -> list[Callable[..., Any]] | None:
    if function.derivatives is None:
        return None
    if len(function.derivatives) != len(function.arguments) or function.outputs != 1:
        raise InputError(
            "one derivative for each argument is needed, of a function with one output"
        )
    return [_derivative(text, tuple(function.arguments)) for text in function.derivatives]


def _derivative(text: object, names: tuple[str, ...]) -> Callable[..., Any]:
    formula = read(str(text))
    resolve(formula, SymbolScope.of(*names))

    def derivative(*args: Expr) -> object:
        return resolve(formula, SymbolScope(dict(zip(names, args, strict=True))))

    return derivative
