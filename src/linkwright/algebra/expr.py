"""Interned, immutable scalar expressions: the one kind of value everything else is made of.

Every node has one of six forms:

======  ==========================  ==============================  =========================
op      args                        data                            meaning
======  ==========================  ==============================  =========================
num     ()                          the number                      a constant
sym     ()                          `SymbolInfo`                    a named atom
scale   (x,)                        c, neither 0 nor 1              c * x
prod    (b1, b2, ...)               whole exponents (e1, e2, ...)   b1**e1 * b2**e2 * ...
sum     (t1, t2, ...)               (c0, c1, c2, ...)               c0 + c1*t1 + c2*t2 + ...
other   arguments                   None, a table, a foreign        a function of the arguments
======  ==========================  ==============================  =========================

Equal expressions are the same object: constructors bring their arguments into canonical form
(fold, flatten, merge, sort, normalize the sign) and look the result up in a weak table. The
rules are those of Sayers' thesis (AUTOSIM, section 5.3), except that a sum is identified by its
flat list of terms: factoring is a view (`linkwright.algebra.factoring`), not part of the
identity. Products are never expanded; only a number is distributed over a sum.

Sums are linear combinations in the strict sense: a number times a sum is the sum with every
coefficient multiplied, and what all coefficients have in common (the whole greatest common
divisor, or one shared absolute value) stands outside. So 2*a + 2*b and 2*(a + b) are the same
object, and any order and grouping of a sum gives the same object (with smallness, which drops
terms while they appear, apart).

Order and signs come from structure and names, by the sort keys of `linkwright.algebra.nodes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

from linkwright.algebra.nodes import (
    DIGEST_MASK,
    FOREIGN,
    FUNCTION_BITS,
    FUNCTION_CODES,
    INHERITED,
    NUM_CODE,
    PARAMETER,
    PROD_BITS,
    PROD_CODE,
    ROOT,
    SCALE_BITS,
    SCALE_CODE,
    SMALL,
    SUM_BITS,
    SUM_CODE,
    TRIG,
    TRIG_SQUARE,
    ExprError,
    Node,
    by_key,
    finish_as,
    intern,
    opcode,
    rank_bits,
    shape_of,
    shapes,
)
from linkwright.algebra.numbers import (
    Number,
    number,
    number_digest,
    over,
    plus,
    power,
    times,
)

if TYPE_CHECKING:
    from linkwright.algebra.symbols import SymbolInfo

Scalar: TypeAlias = "Expr | int | float"

# What str() and a notebook show of an expression; `printers.text` and `latex` have no limit.
_SHOWN_CHARACTERS, _SHOWN_NODES = 100_000, 5_000


class Expr(Node):
    """An immutable scalar expression; equal expressions are the same object.

    >>> from linkwright.algebra import symbols
    >>> a, b, c = symbols("a b c")
    >>> (a + b) + c is c + (b + a)
    True
    """

    __slots__ = ()

    def __init__(self) -> None:
        raise ExprError("an Expr is made by its constructors (symbol, +, sin, ...), not by Expr()")

    def __setattr__(self, name: str, value: object) -> None:
        raise ExprError("an Expr never changes; use substitute() to make another one")

    def __delattr__(self, name: str) -> None:
        raise ExprError("an Expr never changes; use substitute() to make another one")

    # -- arithmetic ------------------------------------------------------------------------------
    def __add__(self, other: Scalar) -> Expr:
        if isinstance(other, Expr):
            return add(self, other)
        operand = _operand(other)
        return operand if operand is NotImplemented else add(self, operand)

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Expr:
        if isinstance(other, Expr):
            return subtract(self, other)
        operand = _operand(other)
        return operand if operand is NotImplemented else subtract(self, operand)

    def __rsub__(self, other: Scalar) -> Expr:
        operand = _operand(other)
        return operand if operand is NotImplemented else subtract(operand, self)

    def __mul__(self, other: Scalar) -> Expr:
        if isinstance(other, Expr):
            return mul(self, other)
        operand = _operand(other)
        return operand if operand is NotImplemented else mul(self, operand)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Expr:
        operand = _operand(other)
        return operand if operand is NotImplemented else mul(self, raised(operand, -1))

    def __rtruediv__(self, other: Scalar) -> Expr:
        operand = _operand(other)
        return operand if operand is NotImplemented else mul(operand, raised(self, -1))

    def __pow__(self, exponent: Scalar) -> Expr:
        if type(exponent) is int:
            return raised(self, exponent)
        other = _operand(exponent)
        return NotImplemented if other is NotImplemented else _function("pow", self, other)

    def __rpow__(self, base: Scalar) -> Expr:
        other = _operand(base)
        return NotImplemented if other is NotImplemented else _function("pow", other, self)

    def __neg__(self) -> Expr:
        return scaled(-1, self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return _function("abs", self)

    # -- comparisons make expressions; == is identity ----------------------------------------------
    def __lt__(self, other: Scalar) -> Expr:
        return _function("lt", self, as_expr(other))

    def __le__(self, other: Scalar) -> Expr:
        return _function("le", self, as_expr(other))

    def __gt__(self, other: Scalar) -> Expr:
        return _function("lt", as_expr(other), self)

    def __ge__(self, other: Scalar) -> Expr:
        return _function("le", as_expr(other), self)

    def __and__(self, other: Scalar) -> Expr:
        return _function("and", self, as_expr(other))

    __rand__ = __and__

    def __or__(self, other: Scalar) -> Expr:
        return _function("or", self, as_expr(other))

    __ror__ = __or__

    def __invert__(self) -> Expr:
        return _function("not", self)

    def __bool__(self) -> bool:
        raise ExprError(
            f"the truth of the expression {self} is not known while building; use where(), "
            "or `is` to ask whether two expressions are the same"
        )

    def __float__(self) -> float:
        if self.op == "num":
            return float(self.data)
        raise ExprError(f"the expression {self} is not a number; evaluate() it with values")

    # -- copies are the object itself --------------------------------------------------------------
    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: object) -> Expr:
        return self

    def __reduce__(self) -> str:
        raise ExprError("an Expr is not pickled; write the model, or its Program, as text instead")

    # -- text --------------------------------------------------------------------------------------
    def __str__(self) -> str:
        from linkwright.algebra.printers import text

        return text(self, limit=_SHOWN_CHARACTERS)

    __repr__ = __str__

    def _repr_latex_(self) -> str | None:
        from linkwright.algebra.printers import latex, tree_size

        return f"${latex(self)}$" if tree_size(self) <= _SHOWN_NODES else None

    @property
    def name(self) -> str:
        """The name of a symbol."""
        if self.op != "sym":
            raise ExprError(f"{self} is not a symbol and has no name")
        info: SymbolInfo = self.data
        return info.name

    @property
    def is_atom(self) -> bool:
        """Whether this is a number or a symbol."""
        return self.op == "num" or self.op == "sym"

    @property
    def is_constant(self) -> bool:
        """Whether only numbers and parameters occur in it."""
        return not self.roles & (INHERITED & ~(PARAMETER | SMALL | FOREIGN))


finish_as(Expr)


# -- atoms -----------------------------------------------------------------------------------------
def constant(value: object) -> Expr:
    """Return the expression of a constant.

    >>> constant(1.0) is constant(1)
    True
    """
    exact = number(value)
    digest = hash((NUM_CODE, number_digest(exact))) & DIGEST_MASK
    return intern("num", exact, (), digest, 0, 0)


def intern_symbol(info: SymbolInfo) -> Expr:
    """Return the symbol that is described by `info`."""
    head = int.from_bytes(info.name.encode()[:12].ljust(12, b"\0"), "big") << 60
    key = rank_bits("sym") | head | (info.digest & DIGEST_MASK)
    return intern("sym", info, (), key, head, info.role_bits)


ZERO, ONE, MINUS_ONE = constant(0), constant(1), constant(-1)


def as_expr(value: object) -> Expr:
    """Return `value` as an expression: an Expr as it is, a number as a constant."""
    return value if isinstance(value, Expr) else constant(value)


def _operand(value: object) -> Any:
    if isinstance(value, Expr):
        return value
    return constant(value) if isinstance(value, Real) else NotImplemented


# -- products --------------------------------------------------------------------------------------
def scaled(factor: Number, x: Expr) -> Expr:
    """Return `factor * x`; the factor is a number in canonical form."""
    if factor == 1:
        return x
    if factor == 0:
        return ZERO
    op = x.op
    if op == "num":
        return constant(times(factor, x.data))
    if op == "scale":
        factor = times(factor, x.data)
        x = x.args[0]
        op = x.op
        if factor == 1:
            return x
        if factor == 0:
            return ZERO
    if op == "sum" and factor != -1 and not _stays_outside(factor, x.data):
        terms = {t: times(factor, c) for c, t in zip(x.data[1:], x.args, strict=True)}
        return _linear(terms, times(factor, x.data[0]))
    return _scale_node(factor, x)


def _scale_node(factor: Number, x: Expr) -> Expr:
    head = x.head
    digest = hash((SCALE_CODE, number_digest(factor), x.key)) & DIGEST_MASK
    return intern("scale", factor, (x,), SCALE_BITS | head | digest, head, x.roles & INHERITED)


def _stays_outside(factor: Number, coefficients: tuple[Number, ...]) -> bool:
    """Whether the factor is what the multiplied coefficients have in common."""
    if type(factor) is int and all(type(c) is int for c in coefficients):
        return True
    return all(c == 1 or c == -1 for c in coefficients[1:]) and coefficients[0] in (0, 1, -1)


def split_coefficient(x: Expr) -> tuple[Number, Expr]:
    """Return `(c, y)` with `x = c*y` and no numeric factor in `y`."""
    if x.op == "scale":
        return x.data, x.args[0]
    if x.op == "num":
        return x.data, ONE
    return 1, x


def factors(x: Expr) -> tuple[tuple[Expr, int], ...]:
    """Return the bases and whole exponents of an expression without numeric factor."""
    if x.op == "prod":
        return tuple(zip(x.args, x.data, strict=True))
    return () if x is ONE else ((x, 1),)


_COMPOUND_FACTORS = frozenset({"num", "scale", "prod"})


def mul(a: Expr, b: Expr) -> Expr:
    """Return the product of two expressions."""
    if a.op in _COMPOUND_FACTORS or b.op in _COMPOUND_FACTORS or a is b:
        return product((a, b))
    roles = a.roles | b.roles
    if roles & ROOT:
        return product((a, b))
    return _product_node((a, b) if a.key < b.key else (b, a), (1, 1), roles & INHERITED)


def product(items: Iterable[Expr]) -> Expr:
    """Return the product of any number of expressions, without expanding sums.

    >>> from linkwright.algebra import symbols
    >>> a, b, c = symbols("a b c")
    >>> product([b, a, c, a])
    a**2*b*c
    """
    coefficient: Number = 1
    exponents: dict[Expr, int] = {}
    for x in items:
        op = x.op
        if op == "scale":
            factor = x.data
            coefficient = factor if coefficient == 1 else times(coefficient, factor)
            x = x.args[0]
            op = x.op
        if op == "prod":
            if exponents:
                for base, exponent in zip(x.args, x.data, strict=True):
                    exponents[base] = exponents.get(base, 0) + exponent
            else:
                exponents = dict(zip(x.args, x.data, strict=True))
        elif op == "num":
            if x is ZERO:
                return ZERO
            coefficient = times(coefficient, x.data)
        else:
            exponents[x] = exponents.get(x, 0) + 1
    result = monomial(exponents)
    return result if coefficient == 1 else scaled(coefficient, result)


def raised(base: Expr, exponent: int) -> Expr:
    """Return `base` to a whole exponent."""
    if exponent == 1:
        return base
    if exponent == 0:
        return ONE
    coefficient, rest = split_coefficient(base)
    if rest is ONE:
        return constant(power(coefficient, exponent))
    result = monomial({x: e * exponent for x, e in factors(rest)})
    return scaled(power(coefficient, exponent), result) if coefficient != 1 else result


def monomial(exponents: dict[Expr, int]) -> Expr:
    """Return the product of whole powers of bases that are neither numbers, products nor scaled."""
    roles = 0
    for base, exponent in exponents.items():
        roles |= base.roles
        if not exponent:
            return monomial({x: e for x, e in exponents.items() if e})
    if roles & ROOT:
        from linkwright.algebra.roots import merge_roots

        sign, exponents = merge_roots(exponents)
        if sign < 0:
            return scaled(-1, monomial(exponents))
        roles = 0
        for base in exponents:
            roles |= base.roles
    if len(exponents) > 1:
        args = tuple(sorted(exponents, key=by_key))
    elif exponents:
        args = tuple(exponents)
        if exponents[args[0]] == 1:
            return args[0]
    else:
        return ONE
    inherited = roles & INHERITED
    if roles & TRIG:
        for base, exponent in exponents.items():
            if exponent > 1 and base.roles & TRIG:
                inherited |= TRIG_SQUARE
                break
    return _product_node(args, tuple([exponents[base] for base in args]), inherited)


def _product_node(args: tuple[Expr, ...], data: tuple[int, ...], roles: int) -> Expr:
    shape, shared = shapes.get(data) or shape_of(data)
    head = args[0].head
    digest = hash((PROD_CODE, shape, *[x.key for x in args])) & DIGEST_MASK
    return intern("prod", shared, args, PROD_BITS | head | digest, head, roles)


# -- sums ------------------------------------------------------------------------------------------
_COMPOUND_TERMS = frozenset({"num", "scale", "sum"})


def add(a: Expr, b: Expr) -> Expr:
    """Return the sum of two expressions."""
    if a is ZERO:
        return b
    if b is ZERO:
        return a
    if a.op not in _COMPOUND_TERMS and b.op not in _COMPOUND_TERMS and a is not b:
        roles = a.roles | b.roles
        if not roles & (SMALL | TRIG_SQUARE):
            return _sum_node((0, 1, 1), (a, b) if a.key < b.key else (b, a), roles & INHERITED)
    terms: dict[Expr, Number] = {}
    offset = collect(a, 1, terms)
    return _linear(terms, plus(offset, collect(b, 1, terms)))


def subtract(a: Expr, b: Expr) -> Expr:
    """Return the difference of two expressions."""
    if b is ZERO:
        return a
    if a.op not in _COMPOUND_TERMS and b.op not in _COMPOUND_TERMS and a is not b:
        roles = a.roles | b.roles
        if not roles & (SMALL | TRIG_SQUARE):
            if a.key < b.key:
                return _sum_node((0, 1, -1), (a, b), roles & INHERITED)
            return _scale_node(-1, _sum_node((0, 1, -1), (b, a), roles & INHERITED))
    terms: dict[Expr, Number] = {}
    offset = collect(a, 1, terms)
    return _linear(terms, plus(offset, collect(b, -1, terms)))


def total(items: Iterable[Expr]) -> Expr:
    """Return the sum of any number of expressions.

    >>> from linkwright.algebra import symbols
    >>> a, b = symbols("a b")
    >>> total([a, b, a, 1 - b])
    1 + 2*a
    """
    terms: dict[Expr, Number] = {}
    offset: Number = 0
    for x in items:
        offset = plus(offset, collect(x, 1, terms))
    return _linear(terms, offset)


def linear_combination(pairs: Iterable[tuple[Number, Expr]], offset: Number = 0) -> Expr:
    """Return `offset + sum(c*x)` over the pairs `(c, x)`."""
    terms: dict[Expr, Number] = {}
    for c, x in pairs:
        if c != 0:
            offset = plus(offset, collect(x, c, terms))
    return _linear(terms, offset)


def sum_terms(x: Expr) -> tuple[Number, tuple[tuple[Number, Expr], ...]]:
    """Return the constant and the `(coefficient, term)` pairs of any expression seen as a sum."""
    terms: dict[Expr, Number] = {}
    offset = collect(x, 1, terms)
    return offset, tuple((c, t) for t, c in terms.items())


def collect(x: Expr, coefficient: Number, terms: dict[Expr, Number]) -> Number:
    """Add `coefficient*x` to the terms, none of which is a sum, and return its constant part."""
    op = x.op
    if op == "scale":
        coefficient = x.data if coefficient == 1 else times(coefficient, x.data)
        x = x.args[0]
        op = x.op
    if op == "sum":
        data: Sequence[Number] = x.data
        if coefficient != 1:
            data = [times(coefficient, c) for c in data]
        if terms:
            for term, c in zip(x.args, data[1:], strict=True):
                old = terms.get(term)
                terms[term] = c if old is None else plus(old, c)
        else:
            terms.update(zip(x.args, data[1:], strict=True))
        return data[0]
    if op == "num":
        return times(coefficient, x.data)
    old = terms.get(x)
    terms[x] = coefficient if old is None else plus(old, coefficient)
    return 0


def _linear(terms: dict[Expr, Number], offset: Number) -> Expr:
    """Return the canonical sum of collected terms."""
    roles = 0
    for term, c in terms.items():
        if c == 0:
            return _linear({t: c for t, c in terms.items() if c != 0}, offset)
        roles |= term.roles
    if roles & (TRIG_SQUARE | SMALL) and (len(terms) > 1 or offset != 0):
        if roles & TRIG_SQUARE:
            from linkwright.algebra.trigonometry import merge_squares

            terms, offset = merge_squares(terms, offset)
        if roles & SMALL:
            from linkwright.algebra.smallness import drop_small_terms

            terms, offset = drop_small_terms(terms, offset)
        roles = 0
        for term in terms:
            roles |= term.roles
    if len(terms) > 1:
        args = tuple(sorted(terms, key=by_key))
    elif terms:
        args = tuple(terms)
        if offset == 0:
            term = args[0]
            c = terms[term]
            return term if c == 1 else _scale_node(c, term)
    else:
        return constant(offset)
    data = (offset, *[terms[term] for term in args])
    outside = _common_coefficient(data)
    if outside == 1:
        return _sum_node(data, args, roles & INHERITED)
    node = _sum_node(tuple([over(c, outside) for c in data]), args, roles & INHERITED)
    return _scale_node(outside, node)


def _common_coefficient(data: tuple[Number, ...]) -> Number:
    """Return what stands outside a sum: a common coefficient with the sign of the first term."""
    first = data[1]
    if first == 1 or first == -1:
        return first
    size = abs(first)
    if all(abs(c) == size for c in data[2:]) and (data[0] == 0 or abs(data[0]) == size):
        return first
    common = 0
    for c in data:
        if type(c) is not int:
            common = 1
            break
        common = gcd(common, c)
    return common if first > 0 else -common


def _sum_node(data: tuple[Number, ...], args: tuple[Expr, ...], roles: int) -> Expr:
    shape, shared = shapes.get(data) or shape_of(data)
    head = args[0].head
    digest = hash((SUM_CODE, shape, *[x.key for x in args])) & DIGEST_MASK
    return intern("sum", shared, args, SUM_BITS | head | digest, head, roles)


def number_node(op: str, args: tuple[Expr, ...], data: tuple[Any, ...]) -> Expr:
    """Return a scaled expression, a product or a sum exactly as given: one that was canonical."""
    if op == "scale":
        return _scale_node(data[0], args[0])
    roles = 0
    for x in args:
        roles |= x.roles
    inherited = roles & INHERITED
    if op == "sum":
        return _sum_node(data, args, inherited)
    if roles & TRIG:
        for base, exponent in zip(args, data, strict=True):
            if exponent > 1 and base.roles & TRIG:
                inherited |= TRIG_SQUARE
                break
    return _product_node(args, data, inherited)


# -- functions -------------------------------------------------------------------------------------
_OWN_BITS = {"sqrt": ROOT, "sin": TRIG, "cos": TRIG, "foreign": FOREIGN}


def function_node(op: str, args: tuple[Expr, ...], data: Any = None) -> Expr:
    """Return the node of a function exactly as given; `functions.apply` simplifies first."""
    code = FUNCTION_CODES.get(op)
    if code is None:
        code = FUNCTION_CODES[op] = opcode(op)
    roles = 0
    for x in args:
        roles |= x.roles
    head = args[0].head if args else 0
    data_digest = 0 if data is None else data.digest
    digest = hash((code, data_digest, *[x.key for x in args])) & DIGEST_MASK
    own = _OWN_BITS.get(op, 0)
    return intern(op, data, args, FUNCTION_BITS | head | digest, head, roles & INHERITED | own)


def _function(op: str, *args: Expr) -> Expr:
    from linkwright.algebra.functions import apply

    return apply(op, args)
