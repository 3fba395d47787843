"""Straight-line LLVM IR text, one instruction a line, for one value type.

An Emitter writes instructions on `double`, `float` or vectors of them and hands back the operand
text of each result. Every function of this package is written once on top of it, so the scalar
and the vector forms perform the same operations and give the same bits in every lane.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from linkwright.base.errors import Error

SCALARS = {"f64": "double", "f32": "float"}
"""Scalar kinds and their LLVM types."""


def value_type(scalar: str, width: int) -> str:
    """LLVM type of one value.

    >>> value_type("f64", 8), value_type("f32", 1)
    ('<8 x double>', 'float')
    """
    if scalar not in SCALARS:
        raise Error(f"unknown scalar kind {scalar!r}: use one of {', '.join(SCALARS)}")
    return vector_of(SCALARS[scalar], width)


def integer_type(scalar: str, width: int) -> str:
    """LLVM type of the integers with the bits of one value."""
    return vector_of("i64" if scalar == "f64" else "i32", width)


def vector_of(element: str, width: int) -> str:
    """`element` itself at width 1, else the vector of `width` elements."""
    if width < 1:
        raise Error(f"the width of a value is at least 1, not {width}")
    return element if width == 1 else f"<{width} x {element}>"


def suffix(scalar: str, width: int) -> str:
    """Type suffix of intrinsic names.

    >>> suffix("f64", 8), suffix("f32", 1)
    ('v8f64', 'f32')
    """
    return scalar if width == 1 else f"v{width}{scalar}"


def float_literal(value: float, scalar: str) -> str:
    """The exact bits of `value` as LLVM writes them; a float literal is spelled as a double.

    >>> float_literal(1.5, "f64")
    '0x3FF8000000000000'
    """
    if scalar == "f32":
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


@dataclass(slots=True)
class Emitter:
    """Writes instructions for values of one scalar kind and width; names start with `prefix`."""

    scalar: str
    width: int
    prefix: str
    lines: list[str] = field(default_factory=list)
    serial: int = 0

    def __post_init__(self) -> None:
        value_type(self.scalar, self.width)

    @property
    def value(self) -> str:
        """LLVM type of a value."""
        return value_type(self.scalar, self.width)

    @property
    def integer(self) -> str:
        """LLVM type of the bits of a value."""
        return integer_type(self.scalar, self.width)

    @property
    def truth(self) -> str:
        """LLVM type of a comparison."""
        return vector_of("i1", self.width)

    @property
    def bits(self) -> int:
        """Bits in one element."""
        return 64 if self.scalar == "f64" else 32

    @property
    def sign_mask(self) -> int:
        """The integer with only the sign bit set."""
        return 1 << (self.bits - 1)

    def emit(self, text: str) -> str:
        """Append `%new = text` and return `%new`."""
        name = f"%{self.prefix}{self.serial}"
        self.serial += 1
        self.lines.append(f"  {name} = {text}")
        return name

    # constants

    def const(self, value: float) -> str:
        """A floating constant in every lane."""
        literal = float_literal(value, self.scalar)
        return literal if self.width == 1 else f"splat ({SCALARS[self.scalar]} {literal})"

    def int_const(self, value: int) -> str:
        """An integer constant in every lane (two's complement)."""
        value &= (1 << self.bits) - 1
        if value >= self.sign_mask:
            value -= 1 << self.bits
        return str(value) if self.width == 1 else f"splat (i{self.bits} {value})"

    # arithmetic

    def intrinsic(self, name: str, *operands: str) -> str:
        """Call `llvm.name` on values."""
        args = ", ".join(f"{self.value} {a}" for a in operands)
        return self.emit(
            f"call {self.value} @llvm.{name}.{suffix(self.scalar, self.width)}({args})"
        )

    def fma(self, a: str, b: str, c: str) -> str:
        """a·b + c, rounded once."""
        return self.intrinsic("fma", a, b, c)

    def mul(self, a: str, b: str) -> str:
        """a·b."""
        return self.emit(f"fmul {self.value} {a}, {b}")

    def add(self, a: str, b: str) -> str:
        """a + b."""
        return self.emit(f"fadd {self.value} {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        """a - b."""
        return self.emit(f"fsub {self.value} {a}, {b}")

    def div(self, a: str, b: str) -> str:
        """a / b."""
        return self.emit(f"fdiv {self.value} {a}, {b}")

    def neg(self, a: str) -> str:
        """-a, the sign bit flipped."""
        return self.emit(f"fneg {self.value} {a}")

    def abs(self, a: str) -> str:
        """|a|, the sign bit cleared."""
        return self.intrinsic("fabs", a)

    def copysign(self, size: str, sign: str) -> str:
        """|size| with the sign bit of `sign`."""
        return self.intrinsic("copysign", size, sign)

    def sqrt(self, a: str) -> str:
        """Correctly rounded square root."""
        return self.intrinsic("sqrt", a)

    def horner(self, x: str, coefficients: tuple[float, ...]) -> str:
        """Polynomial in x, coefficients from the lowest power up, by Horner's rule with FMA."""
        total = self.const(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = self.fma(total, x, self.const(c))
        return total

    # comparisons and choices

    def compare(self, predicate: str, a: str, b: str) -> str:
        """`fcmp predicate`."""
        return self.emit(f"fcmp {predicate} {self.value} {a}, {b}")

    def int_compare(self, predicate: str, a: str, b: str) -> str:
        """`icmp predicate`."""
        return self.emit(f"icmp {predicate} {self.integer} {a}, {b}")

    def select(self, condition: str, a: str, b: str) -> str:
        """a where the condition holds, else b."""
        return self.emit(
            f"select {self.truth} {condition}, {self.value} {a}, {self.value} {b}",
        )

    def int_select(self, condition: str, a: str, b: str) -> str:
        """`select` on integers."""
        return self.emit(
            f"select {self.truth} {condition}, {self.integer} {a}, {self.integer} {b}",
        )

    def both(self, a: str, b: str) -> str:
        """Logical and of two comparisons."""
        return self.emit(f"and {self.truth} {a}, {b}")

    def either(self, a: str, b: str) -> str:
        """Logical or of two comparisons."""
        return self.emit(f"or {self.truth} {a}, {b}")

    def differ(self, a: str, b: str) -> str:
        """Logical exclusive or of two comparisons."""
        return self.emit(f"xor {self.truth} {a}, {b}")

    # bits

    def to_bits(self, a: str) -> str:
        """The bits of a value."""
        return self.emit(f"bitcast {self.value} {a} to {self.integer}")

    def from_bits(self, a: str) -> str:
        """The value with these bits."""
        return self.emit(f"bitcast {self.integer} {a} to {self.value}")

    def integer_op(self, op: str, a: str, b: str) -> str:
        """An integer instruction: and, or, xor, add, sub, shl, lshr, ashr."""
        return self.emit(f"{op} {self.integer} {a}, {b}")

    # other shapes

    def through_pair(self, function: "Callable[..., list[str]]", *arguments: str) -> list[str]:
        """Evaluate a function of a scalar in a vector of two equal lanes.

        Selects and bit operations on vectors are single instructions; on scalars LLVM turns them
        into jumps or moves them through integer registers.
        """
        pair = Emitter(self.scalar, 2, f"{self.prefix}w{self.serial}.", self.lines)
        self.serial += 1
        element, kind, packed = SCALARS[self.scalar], pair.value, []
        for a in arguments:
            first = pair.emit(f"insertelement {kind} poison, {element} {a}, i32 0")
            packed.append(pair.emit(f"insertelement {kind} {first}, {element} {a}, i32 1"))
        results = function(pair, *packed)
        return [self.emit(f"extractelement {kind} {r}, i32 0") for r in results]

    def through_double(self, function: "Callable[..., list[str]]", *arguments: str) -> list[str]:
        """Evaluate a function of doubles on floats: widen, evaluate, round once."""
        wide = Emitter("f64", self.width, f"{self.prefix}d{self.serial}.", self.lines)
        self.serial += 1
        widened = [self.emit(f"fpext {self.value} {a} to {wide.value}") for a in arguments]
        results = function(wide, *widened)
        return [self.emit(f"fptrunc {wide.value} {r} to {self.value}") for r in results]
