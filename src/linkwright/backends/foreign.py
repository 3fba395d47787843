"""Foreign functions as compiled backends see them: what a Program calls, and Python callbacks."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from typing import Any

from linkwright.algebra.expr import FOREIGN, postorder
from linkwright.algebra.foreign import ForeignCall, ForeignFunction
from linkwright.errors import CompileError
from linkwright.program import Call, Loop, Program, walk


def foreign_functions(program: Program) -> list[ForeignFunction]:
    """Return the foreign functions of a Program and of those it calls, each once.

    Args:
        program: what to look through.
    """
    found: dict[str, ForeignFunction] = {}
    pending, seen = [program], {id(program)}
    while pending:
        current = pending.pop()
        exprs = list(current.output_values())
        for statement in walk(current.statements):
            exprs.extend(statement.operands)
            if isinstance(statement, Loop):
                exprs.extend(statement.inner_operands)
            elif isinstance(statement, Call) and id(statement.program) not in seen:
                seen.add(id(statement.program))
                pending.append(statement.program)
        for x in postorder([x for x in exprs if x.roles & FOREIGN]):
            if x.op == "foreign":
                _add(found, x.data.function)
    return sorted(found.values(), key=lambda f: f.name)


def _add(found: dict[str, ForeignFunction], function: ForeignFunction) -> None:
    known = found.setdefault(function.name, function)
    if known is not function and known != function:
        raise CompileError(
            f"two different foreign functions are named {function.name!r}",
            remedy="give them different names",
        )


def same_call(data: ForeignCall, args: Iterable[object]) -> tuple[object, ...]:
    """Return what the outputs of one call of a foreign function have in common."""
    return (data.function.name, data.call, *args)


def callback(function: ForeignFunction) -> Any:
    """Return a C function pointer that calls the Python callable of a foreign function.

    It takes the interpreter lock for each call. An exception cannot pass through machine code: it
    is reported on stderr, and the value is nan.

    Args:
        function: one with a Python callable.
    """
    python = function.python
    assert python is not None
    if function.outputs == 1:

        def single(*args: float) -> float:
            try:
                return float(python(*args))
            except Exception:
                sys.excepthook(*sys.exc_info())
                return float("nan")

        return ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * function.arity)(single)

    def several(*args: Any) -> None:
        *values, out = args
        try:
            results = [float(x) for x in python(*values)]
        except Exception:
            sys.excepthook(*sys.exc_info())
            results = [float("nan")] * function.outputs
        for k, value in enumerate(results):
            out[k] = value

    return ctypes.CFUNCTYPE(
        None, *[ctypes.c_double] * function.arity, ctypes.POINTER(ctypes.c_double)
    )(several)
