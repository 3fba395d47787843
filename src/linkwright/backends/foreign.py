"""Foreign functions as backends see them: what a Program calls, and the code that it has."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from linkwright.algebra.foreign import ForeignCall, ForeignFunction
from linkwright.algebra.nodes import FOREIGN
from linkwright.algebra.walk import postorder
from linkwright.base.errors import BackendError, CompileError
from linkwright.program import Call, Loop, Program, walk


def foreign_functions(program: Program) -> list[ForeignFunction]:
    """Return the foreign functions of a Program and of those it calls, each once."""
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


def bound_functions(program: Program) -> list[ForeignFunction]:
    """Return the foreign functions of a Program that is to run; one without code is an error.

    Code is what was given in Python, as a callable or as C source. A function is never looked for
    by its name among those of the process: a name may come from a file of unknown origin.

    >>> from linkwright.algebra import foreign, symbol
    >>> from linkwright.program import program
    >>> x = symbol("x")
    >>> bound_functions(program("p", {"x": x}, {"y": foreign("system")(x)}))
    Traceback (most recent call last):
        ...
    linkwright.CompileError: the function 'system' has no code: what calls it can be
    derived but not run; give it in Python: functions={'system': ...} of read_model, or python=...
    of foreign; C code in a model file counts where you trust it (trust=True, --trust)
    """
    found = foreign_functions(program)
    for function in found:
        if not function.is_bound:
            raise CompileError(
                f"the function {function.name!r} has no code: what calls it can be derived but "
                "not run",
                remedy=f"give it in Python: functions={{{function.name!r}: ...}} of read_model, or "
                "python=... of foreign; C code in a model file counts where you trust it "
                "(trust=True, --trust)",
            )
    return found


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


def from_source(function: ForeignFunction) -> tuple[object, Any] | None:
    """Return the library of a foreign function's C source and its pointer, or None."""
    if not function.c_source:
        return None
    from linkwright.backends.c.compiler import find_compiler, load_library

    try:
        find_compiler()
    except BackendError:
        if function.python is None:
            raise
        return None
    # Under a name that no library has, so that only this source can define it.
    own = f"lw_own_{function.name}"
    library = load_library(
        f"#include <math.h>\n#define {function.name} {own}\n{function.c_source}\n"
    )
    pointer = getattr(library, own, None)
    if pointer is None and function.python is None:
        raise CompileError(
            f"the C source of the foreign function {function.name!r} does not define it",
            remedy=f"define '{function.prototype}' in it",
        )
    return None if pointer is None else (library, pointer)


def with_python(function: ForeignFunction) -> ForeignFunction:
    """Return a foreign function with a Python callable, if need be one that calls its C source."""
    if function.python is not None:
        return function
    found = from_source(function)
    assert found is not None
    library, pointer = found
    reals = [ctypes.c_double] * function.arity
    if function.outputs == 1:
        pointer.argtypes, pointer.restype = reals, ctypes.c_double
    else:
        pointer.argtypes, pointer.restype = [*reals, ctypes.POINTER(ctypes.c_double)], None

    def call(*args: float) -> Any:
        if function.outputs == 1:
            return pointer(*args)
        out = (ctypes.c_double * function.outputs)()
        pointer(*args, out)
        return tuple(out)

    vars(call)["keep"] = library
    return replace(function, python=call, vectorized=False)
