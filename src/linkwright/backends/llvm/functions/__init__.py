"""Elementary functions as LLVM IR text, for scalars and for vectors of any width.

All are straight-line: selects and integer operations, no branch and no call, so the scalar and
the vector forms are the same operations and give the same bits. They use the `llvm.fma`
intrinsic, which is one instruction on a processor with FMA (every x86-64-v3 and every 64-bit
ARM); without it LLVM calls the C library's `fma`, slow but right.

`inline` writes the instructions in place, the normal route, for the code generator runs no
inliner. `definition` wraps them in a function. Sine, cosine and tangent are good up to
RANGE_LIMIT; arguments of any size go through `guarded_group`, which checks many angles with one
branch.
"""

from linkwright.backends.llvm.functions.emitter import Emitter, suffix, value_type
from linkwright.backends.llvm.functions.guard import (
    GUARDED,
    GuardedGroup,
    exact_definition,
    exact_dependencies,
    guarded_group,
)
from linkwright.backends.llvm.functions.registry import (
    ERROR_BOUNDS,
    FUNCTIONS,
    TEXT_VERSION,
    NativeFunction,
)
from linkwright.backends.llvm.functions.trig import RANGE_LIMIT
from linkwright.base.errors import Error

__all__ = [
    "ERROR_BOUNDS",
    "FUNCTIONS",
    "RANGE_LIMIT",
    "TEXT_VERSION",
    "GuardedGroup",
    "NativeFunction",
    "definition",
    "dependencies",
    "function_name",
    "guarded_group",
    "inline",
]


def _lookup(name: str) -> NativeFunction:
    if name not in FUNCTIONS:
        raise Error(
            f"no elementary function is called {name!r}",
            remedy=f"there are {', '.join(FUNCTIONS)}",
        )
    return FUNCTIONS[name]


def function_name(name: str, scalar: str, width: int) -> str:
    """Name that `definition` gives to the function.

    >>> function_name("sin", "f64", 8)
    'lw.sin.v8f64'
    """
    _lookup(name)
    return f"lw.{name}.{suffix(scalar, width)}"


def inline(
    name: str, scalar: str, width: int, args: list[str], prefix: str
) -> tuple[list[str], list[str]]:
    """Instructions that evaluate a function in place, and the operands of its results.

    Example:
        >>> lines, results = inline("sign", "f64", 1, ["%x"], "s.")
        >>> lines[0], results
        ('  %s.0 = fcmp olt double %x, 0x0000000000000000', ['%s.3'])
    """
    function = _lookup(name)
    if len(args) != function.arity:
        raise Error(f"{name} takes {function.arity} arguments, not {len(args)}")
    e = Emitter(scalar, width, prefix)
    results = function.write(e, *args)
    return e.lines, results


def definition(name: str, scalar: str, width: int, *, guarded: bool = True) -> str:
    """An internal function that evaluates `name`; sincos returns a structure of two values.

    Example:
        >>> print(definition("abs", "f32", 1))
        define internal float @lw.abs.f32(float %x0) alwaysinline nounwind {
        entry:
          %t0 = call float @llvm.fabs.f32(float %x0)
          ret float %t0
        }
    """
    function = _lookup(name)
    kind = value_type(scalar, width)
    args = [f"%x{i}" for i in range(function.arity)]
    if guarded and name in GUARDED:
        group = guarded_group(scalar, width, [(name, args[0])], "t.")
        lines, results = group.lines, list(group.results[0])
    else:
        lines, results = inline(name, scalar, width, args, "t")
    returned = kind
    value = results[0]
    if len(results) > 1:
        returned = "{ " + ", ".join([kind] * len(results)) + " }"
        value = "poison"
        for i, r in enumerate(results):
            lines.append(f"  %r{i} = insertvalue {returned} {value}, {kind} {r}, {i}")
            value = f"%r{i}"
    parameters = ", ".join(f"{kind} {a}" for a in args)
    head = f"define internal {returned} @{function_name(name, scalar, width)}({parameters})"
    body = "\n".join(lines)
    return f"{head} alwaysinline nounwind {{\nentry:\n{body}\n  ret {returned} {value}\n}}\n"


def dependencies(name: str, scalar: str, width: int) -> tuple[str, ...]:
    """Module-level texts that the guarded `definition` needs, each to be written once.

    >>> dependencies("exp", "f64", 4)
    ()
    >>> len(dependencies("sin", "f64", 4))
    3
    """
    _lookup(name)
    if name not in GUARDED:
        return ()
    return (*exact_dependencies((name,)), exact_definition(name, scalar, width))
