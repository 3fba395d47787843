"""The elementary functions of native kernels in C: the same operations, so the same bits.

Every function of `linkwright.backends.llvm.functions` is written once, on an Emitter. Here that
Emitter writes C, so a program in C depends on its library for nothing but what IEEE 754 rounds
correctly (`fma`, `sqrt`) or exactly (`floor`, `fabs`, `copysign`). Beyond `RANGE_LIMIT` radians
sine, cosine and tangent are the library's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from linkwright.backends.llvm.functions import FUNCTIONS, RANGE_LIMIT
from linkwright.backends.llvm.functions.emitter import Emitter
from linkwright.backends.llvm.functions.guard import GUARDED

_EXACT = frozenset({"sqrt", "abs", "sign", "min", "max", "floor", "ceil", "trunc"})
OWN = tuple(name for name in FUNCTIONS if name != "sincos" and name not in _EXACT)
"""The functions that are written here, by the names of instructions."""

BITS = """/* the bits of a number, and the number of some bits */
static uint64_t lw_bits(double x)
{
    uint64_t bits;
    (void)memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double lw_from_bits(uint64_t bits)
{
    double x;
    (void)memcpy(&x, &bits, sizeof x);
    return x;
}
"""
"""What the functions need; it takes <stdint.h> and <string.h>."""

_COMPARE = {
    "oeq": "{0} == {1}",
    "one": "({0} < {1}) || ({0} > {1})",
    "olt": "{0} < {1}",
    "ole": "{0} <= {1}",
    "ogt": "{0} > {1}",
    "oge": "{0} >= {1}",
    "uno": "({0} != {0}) || ({1} != {1})",
}
_INTRINSICS = {"fma": "fma", "fabs": "fabs", "copysign": "copysign", "sqrt": "sqrt"}
_INTEGERS = {"and": "&", "or": "|", "xor": "^", "add": "+", "sub": "-", "shl": "<<", "lshr": ">>"}


def function_text(name: str) -> str:
    """Return the definition of a function, called `lw_` and its name.

    >>> print(function_text("exp").splitlines()[0])
    static double lw_exp(double x)
    """
    function = FUNCTIONS[name]
    arguments = ["x", "y"][: function.arity]
    e = CEmitter("f64", 1, "t")
    (result,) = function.write(e, *arguments)
    if name in GUARDED:
        beyond = f"(fabs(x) > {RANGE_LIMIT['f64']!r}) && (fabs(x) < INFINITY)"
        result = f"({beyond}) ? {name}(x) : {result}"
    given = ", ".join(f"double {a}" for a in arguments)
    body = "\n".join([*e.lines, f"    return {result};"])
    return f"static double lw_{name}({given})\n{{\n{body}\n}}\n"


@dataclass(slots=True)
class CEmitter(Emitter):
    """Writes C where its base writes LLVM IR, for one double."""

    def define(self, kind: str, text: str) -> str:
        """Add a constant and return its name."""
        name = f"{self.prefix}{self.serial}"
        self.serial += 1
        self.lines.append(f"    const {kind} {name} = {text};")
        return name

    def const(self, value: float) -> str:
        """A floating constant."""
        if math.isnan(value):
            return "NAN"
        if math.isinf(value):
            return "INFINITY" if value > 0 else "(-INFINITY)"
        return repr(value) if math.copysign(1.0, value) > 0 else f"({value!r})"

    def int_const(self, value: int) -> str:
        """An integer constant (two's complement)."""
        return f"UINT64_C({value & ((1 << 64) - 1)})"

    def intrinsic(self, name: str, *operands: str) -> str:
        """A function of C's library that is exact or correctly rounded."""
        return self.define("double", f"{_INTRINSICS.get(name, name)}({', '.join(operands)})")

    def mul(self, a: str, b: str) -> str:
        """a·b."""
        return self.define("double", f"{a}*{b}")

    def add(self, a: str, b: str) -> str:
        """a + b."""
        return self.define("double", f"{a} + {b}")

    def sub(self, a: str, b: str) -> str:
        """a - b."""
        return self.define("double", f"{a} - {b}")

    def div(self, a: str, b: str) -> str:
        """a / b."""
        return self.define("double", f"{a}/{b}")

    def neg(self, a: str) -> str:
        """-a."""
        return self.define("double", f"-{a}")

    def compare(self, predicate: str, a: str, b: str) -> str:
        """A comparison of values."""
        return self.define("int", _COMPARE[predicate].format(a, b))

    def int_compare(self, predicate: str, a: str, b: str) -> str:
        """Whether the sign bit is set: the one comparison of integers that functions make."""
        if (predicate, b) != ("slt", self.int_const(0)):
            raise NotImplementedError(predicate)
        return self.define("int", f"({a} >> 63) != 0u")

    def select(self, condition: str, a: str, b: str) -> str:
        """a where the condition holds, else b."""
        return self.define("double", f"({condition} != 0) ? {a} : {b}")

    def int_select(self, condition: str, a: str, b: str) -> str:
        """The same of integers."""
        return self.define("uint64_t", f"({condition} != 0) ? {a} : {b}")

    def both(self, a: str, b: str) -> str:
        """Logical and of two comparisons."""
        return self.define("int", f"({a} != 0) && ({b} != 0)")

    def either(self, a: str, b: str) -> str:
        """Logical or of two comparisons."""
        return self.define("int", f"({a} != 0) || ({b} != 0)")

    def differ(self, a: str, b: str) -> str:
        """Logical exclusive or of two comparisons."""
        return self.define("int", f"{a} != {b}")

    def to_bits(self, a: str) -> str:
        """The bits of a value."""
        return self.define("uint64_t", f"lw_bits({a})")

    def from_bits(self, a: str) -> str:
        """The value with these bits."""
        return self.define("double", f"lw_from_bits({a})")

    def integer_op(self, op: str, a: str, b: str) -> str:
        """An integer instruction."""
        shift = op in ("shl", "lshr")
        return self.define("uint64_t", f"{a} {_INTEGERS[op]} {_bare(b) if shift else b}")

    def through_pair(self, function: object, *arguments: str) -> list[str]:
        """Evaluate a function as it is: pairs are a matter of registers."""
        assert callable(function)
        found: list[str] = function(self, *arguments)
        return found


def _bare(constant: str) -> str:
    """Return a shift by a constant as C programmers write it."""
    return constant.removeprefix("UINT64_C(").removesuffix(")")
