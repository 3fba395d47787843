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

Equal expressions are the same object: constructors bring their arguments into canonical form (fold,
flatten, merge, sort, normalise the sign) and look the result up in a weak table. The rules are those
of Sayers' thesis (AUTOSIM, section 5.3), except that a sum is identified by its flat list of terms:
factoring is a view (`linkwright.algebra.factoring`), not part of the identity. Products are never
expanded; only a factor of -1 is distributed over a sum, which costs nothing.

Order and signs come from structure and names. Each node holds a sort key: its rank, the first letters of
its leading symbol, and a structural digest. The digest uses Python's hash of tuples of integers,
which does not depend on the hash seed.
"""

from __future__ import annotations

import threading
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from linkwright.algebra.numbers import Number, number, number_digest, plus, power, times
from linkwright.errors import Error

if TYPE_CHECKING:
    from linkwright.algebra.symbols import SymbolInfo

Scalar: TypeAlias = "Expr | int | float"

# Bits of `Expr.roles`: which kinds of symbols an expression holds.
PARAMETER = 1
COORDINATE = 2
SPEED = 4
ACCELERATION = 8
INPUT = 16
TIME = 32
DISCRETE = 64
LOCAL = 128
SMALL = 256
_TRIG_SQUARE = 512  # this product itself has a squared sine or cosine; not inherited
_INHERITED = 511

_DIGEST_MASK = (1 << 60) - 1
_NAME_MASK = (1 << 96) - 1
_RANK = {"num": 0, "sym": 1, "scale": 2, "prod": 3, "sum": 5}
_FUNCTION_RANK = 4


class ExprError(Error):
    """An operation that an expression does not allow."""


class Expr:
    """An immutable scalar expression; equal expressions are the same object.

    >>> from linkwright.algebra import symbols
    >>> a, b, c = symbols("a b c")
    >>> (a + b) + c is c + (b + a)
    True
    """

    __slots__ = ("__weakref__", "args", "data", "key", "op", "roles")

    op: str
    args: tuple[Expr, ...]
    data: Any
    key: int
    roles: int

    def __init__(self) -> None:
        raise ExprError("an Expr is made by its constructors (symbol, +, sin, ...), not by Expr()")

    def __setattr__(self, name: str, value: object) -> None:
        raise ExprError("an Expr never changes; use substitute() to make another one")

    # -- arithmetic ------------------------------------------------------------------------------
    def __add__(self, other: Scalar) -> Expr:
        if not isinstance(other, Expr):
            other = _operand(other)
            if other is NotImplemented:
                return NotImplemented
        return add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Expr:
        if not isinstance(other, Expr):
            other = _operand(other)
            if other is NotImplemented:
                return NotImplemented
        return add(self, scaled(-1, other))

    def __rsub__(self, other: Scalar) -> Expr:
        other = _operand(other)
        return NotImplemented if other is NotImplemented else add(other, scaled(-1, self))

    def __mul__(self, other: Scalar) -> Expr:
        if not isinstance(other, Expr):
            other = _operand(other)
            if other is NotImplemented:
                return NotImplemented
        return mul(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Expr:
        other = _operand(other)
        return NotImplemented if other is NotImplemented else mul(self, raised(other, -1))

    def __rtruediv__(self, other: Scalar) -> Expr:
        other = _operand(other)
        return NotImplemented if other is NotImplemented else mul(other, raised(self, -1))

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

    def __and__(self, other: Expr) -> Expr:
        return _function("and", self, other)

    def __or__(self, other: Expr) -> Expr:
        return _function("or", self, other)

    def __invert__(self) -> Expr:
        return _function("not", self)

    def __bool__(self) -> bool:
        raise ExprError(
            f"the truth of the expression {self} is not known while building; use select(), "
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

        return text(self)

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        from linkwright.algebra.printers import latex

        return f"${latex(self)}$"

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
        return not self.roles & (_INHERITED & ~(PARAMETER | SMALL))


# -- interning -------------------------------------------------------------------------------------
class _Ref(weakref.ref[Expr]):
    __slots__ = ("key",)
    key: tuple[Any, ...]


_table: dict[tuple[Any, ...], _Ref] = {}
_lock = threading.RLock()
_new = object.__new__
_set_op = Expr.__dict__["op"].__set__
_set_args = Expr.__dict__["args"].__set__
_set_data = Expr.__dict__["data"].__set__
_set_key = Expr.__dict__["key"].__set__
_set_roles = Expr.__dict__["roles"].__set__
_by_key: Callable[[Expr], int] = attrgetter("key")


def _forget(ref: weakref.ref[Expr]) -> None:
    assert isinstance(ref, _Ref)
    with _lock:
        if _table.get(ref.key) is ref:
            del _table[ref.key]


def _lookup(table_key: tuple[Any, ...]) -> Expr | None:
    ref = _table.get(table_key)
    return ref() if ref is not None else None


def _enter(table_key: tuple[Any, ...], sort_key: int, roles: int) -> Expr:
    """Enter a node that `_lookup` did not find; another thread may have been quicker."""
    node: Expr = _new(Expr)
    op, data, args = table_key
    _set_op(node, op)
    _set_data(node, data)
    _set_args(node, args)
    _set_key(node, sort_key)
    _set_roles(node, roles)
    ref = _Ref(node, _forget)
    ref.key = table_key
    with _lock:
        known = _lookup(table_key)
        if known is not None:
            return known
        _table[table_key] = ref
    return node


def node_count() -> int:
    """Return how many expressions are alive in this process."""
    return len(_table)


def _sort_key(rank: int, name: int, digest: int) -> int:
    return (rank << 156) | (name << 60) | (digest & _DIGEST_MASK)


def _opcode(op: str) -> int:
    return zlib.crc32(op.encode())


_CODES = {op: _opcode(op) for op in ("num", "scale", "prod", "sum")}


# -- atoms -----------------------------------------------------------------------------------------
def constant(value: object) -> Expr:
    """Return the expression of a constant.

    Args:
        value: a real number; nan is refused.

    >>> constant(1.0) is constant(1)
    True
    """
    exact = number(value)
    table_key = ("num", exact, ())
    found = _lookup(table_key)
    if found is not None:
        return found
    return _enter(table_key, _sort_key(0, 0, hash((_CODES["num"], number_digest(exact)))), 0)


def intern_symbol(info: SymbolInfo) -> Expr:
    """Return the symbol that is described by `info`."""
    table_key = ("sym", info, ())
    found = _lookup(table_key)
    if found is not None:
        return found
    name = int.from_bytes(info.name.encode()[:12].ljust(12, b"\0"), "big")
    return _enter(table_key, _sort_key(_RANK["sym"], name, info.digest), info.role_bits)


ZERO = constant(0)
ONE = constant(1)
MINUS_ONE = constant(-1)


def as_expr(value: object) -> Expr:
    """Return `value` as an expression: an Expr as it is, a number as a constant."""
    return value if isinstance(value, Expr) else constant(value)


def _operand(value: object) -> Any:
    if isinstance(value, Expr):
        return value
    try:
        return constant(value)
    except (ExprError, Error):
        if isinstance(value, float):
            raise
        return NotImplemented


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
        if factor == 1:
            return x
    table_key = ("scale", factor, (x,))
    found = _lookup(table_key)
    if found is not None:
        return found
    digest = hash((_CODES["scale"], number_digest(factor), x.key & _DIGEST_MASK))
    key = _sort_key(_RANK["scale"], (x.key >> 60) & _NAME_MASK, digest)
    return _enter(table_key, key, x.roles & _INHERITED)


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


def mul(a: Expr, b: Expr) -> Expr:
    """Return the product of two expressions."""
    return product((a, b))


def product(items: Iterable[Expr]) -> Expr:
    """Return the product of any number of expressions, without expanding sums.

    Args:
        items: the factors.

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
            coefficient = times(coefficient, x.data)
            x = x.args[0]
            op = x.op
        if op == "prod":
            for base, exponent in zip(x.args, x.data, strict=True):
                exponents[base] = exponents.get(base, 0) + exponent
        elif op == "num":
            if x.data == 0:
                return ZERO
            coefficient = times(coefficient, x.data)
        else:
            exponents[x] = exponents.get(x, 0) + 1
    return scaled(coefficient, _monomial(exponents))


def raised(base: Expr, exponent: int) -> Expr:
    """Return `base` to a whole exponent."""
    if exponent == 1:
        return base
    if exponent == 0:
        return ONE
    coefficient, rest = split_coefficient(base)
    if rest is ONE:
        return constant(power(coefficient, exponent))
    result = _monomial({x: e * exponent for x, e in factors(rest)})
    return scaled(power(coefficient, exponent), result) if coefficient != 1 else result


def _monomial(exponents: dict[Expr, int]) -> Expr:
    """Return the product of powers; bases are neither numbers, products nor scaled."""
    trig_square = 0
    roles = 0
    clean = True
    for base, exponent in exponents.items():
        roles |= base.roles
        if exponent != 1:
            if exponent == 0:
                clean = False
            elif base.op == "sqrt" and not -2 < exponent < 2:
                return _with_whole_roots(exponents)
            elif exponent > 1 and (base.op == "sin" or base.op == "cos"):
                trig_square = _TRIG_SQUARE
    if not clean:
        exponents = {base: exponent for base, exponent in exponents.items() if exponent != 0}
        roles = 0
        for base in exponents:
            roles |= base.roles
    if not exponents:
        return ONE
    if len(exponents) == 1:
        ((base, exponent),) = exponents.items()
        if exponent == 1:
            return base
        args: tuple[Expr, ...] = (base,)
        data: tuple[int, ...] = (exponent,)
    else:
        args = tuple(sorted(exponents, key=_by_key))
        data = tuple([exponents[base] for base in args])
    table_key = ("prod", data, args)
    found = _lookup(table_key)
    if found is not None:
        return found
    digest = hash(
        (_CODES["prod"], *[x.key & _DIGEST_MASK for x in args], *[number_digest(e) for e in data])
    )
    key = _sort_key(_RANK["prod"], (args[0].key >> 60) & _NAME_MASK, digest)
    return _enter(table_key, key, (roles & _INHERITED) | trig_square)


def _with_whole_roots(exponents: dict[Expr, int]) -> Expr:
    """Return a product in which sqrt(x)**2 has become x."""
    parts = []
    for base, exponent in exponents.items():
        if base.op == "sqrt":
            whole, rest = divmod(exponent, 2)
            parts.append(raised(base.args[0], whole))
            exponent = rest
        if exponent:
            parts.append(_monomial({base: exponent}))
    return product(parts)


# -- sums ------------------------------------------------------------------------------------------
def add(a: Expr, b: Expr) -> Expr:
    """Return the sum of two expressions."""
    if a is ZERO:
        return b
    if b is ZERO:
        return a
    terms: dict[Expr, Number] = {}
    total = _collect(a, 1, terms)
    total = plus(total, _collect(b, 1, terms))
    return _linear(terms, total)


def total(items: Iterable[Expr]) -> Expr:
    """Return the sum of any number of expressions.

    Args:
        items: the terms.

    >>> from linkwright.algebra import symbols
    >>> a, b = symbols("a b")
    >>> total([a, b, a, 1 - b])
    1 + 2*a
    """
    terms: dict[Expr, Number] = {}
    constant_part: Number = 0
    for x in items:
        constant_part = plus(constant_part, _collect(x, 1, terms))
    return _linear(terms, constant_part)


def linear_combination(pairs: Iterable[tuple[Number, Expr]], offset: Number = 0) -> Expr:
    """Return `offset + sum(c*x)` over the pairs `(c, x)`."""
    terms: dict[Expr, Number] = {}
    for c, x in pairs:
        if abs(c) == 1:
            offset = plus(offset, _collect(x, c, terms))
        else:
            offset = plus(offset, _collect(scaled(c, x), 1, terms))
    return _linear(terms, offset)


def sum_terms(x: Expr) -> tuple[Number, tuple[tuple[Number, Expr], ...]]:
    """Return the constant and the `(coefficient, term)` pairs of any expression seen as a sum."""
    if x.op == "sum":
        return x.data[0], tuple(zip(x.data[1:], x.args, strict=True))
    if x.op == "num":
        return x.data, ()
    coefficient, rest = split_coefficient(x)
    if rest.op == "sum" and coefficient == -1:
        return times(-1, rest.data[0]), tuple(
            (times(-1, c), t) for c, t in zip(rest.data[1:], rest.args, strict=True)
        )
    return 0, ((coefficient, rest),)


def _collect(x: Expr, sign: Number, terms: dict[Expr, Number]) -> Number:
    """Add `sign*x` to the terms and return its constant part; sign is 1 or -1."""
    op = x.op
    coefficient = sign
    if op == "scale":
        factor = x.data
        x = x.args[0]
        op = x.op
        if op == "sum" and factor != -1:
            op = "term"
        coefficient = factor if sign == 1 else times(sign, factor)
    if op == "sum":
        data = x.data
        i = 0
        for term in x.args:
            i += 1
            c = data[i] if coefficient == 1 else times(coefficient, data[i])
            old = terms.get(term)
            terms[term] = c if old is None else plus(old, c)
        constant_part: Number = data[0]
        return constant_part if coefficient == 1 else times(coefficient, constant_part)
    if op == "num":
        return times(coefficient, x.data)
    old = terms.get(x)
    terms[x] = coefficient if old is None else plus(old, coefficient)
    return 0


def _linear(terms: dict[Expr, Number], constant_part: Number) -> Expr:
    """Return the canonical sum of the collected terms, which may be changed."""
    roles = 0
    cancelled = False
    for term, c in terms.items():
        roles |= term.roles
        if c == 0:
            cancelled = True
    if cancelled:
        terms = {term: c for term, c in terms.items() if c != 0}
        roles = 0
        for term in terms:
            roles |= term.roles
    if roles & _TRIG_SQUARE and (len(terms) > 1 or constant_part != 0):
        from linkwright.algebra.trigonometry import merge_squares

        reduced = merge_squares(terms, constant_part)
        if reduced is not None:
            return reduced
    if roles & SMALL and (len(terms) > 1 or constant_part != 0):
        from linkwright.algebra.smallness import drop_small_terms

        terms, constant_part = drop_small_terms(terms, constant_part)
        roles = 0
        for term in terms:
            roles |= term.roles
    if not terms:
        return constant(constant_part)
    if len(terms) == 1 and constant_part == 0:
        ((term, c),) = terms.items()
        return scaled(c, term)
    args = tuple(sorted(terms, key=_by_key)) if len(terms) > 1 else tuple(terms)
    negative = terms[args[0]] < 0
    if negative:
        data: tuple[Number, ...] = (
            times(-1, constant_part),
            *[times(-1, terms[term]) for term in args],
        )
    else:
        data = (constant_part, *[terms[term] for term in args])
    node = _sum_node(data, args, roles & _INHERITED)
    return scaled(-1, node) if negative else node


def _sum_node(data: tuple[Number, ...], args: tuple[Expr, ...], roles: int) -> Expr:
    table_key = ("sum", data, args)
    found = _lookup(table_key)
    if found is not None:
        return found
    digest = hash(
        (_CODES["sum"], *[x.key & _DIGEST_MASK for x in args], *[number_digest(c) for c in data])
    )
    key = _sort_key(_RANK["sum"], (args[0].key >> 60) & _NAME_MASK, digest)
    return _enter(table_key, key, roles)


# -- functions -------------------------------------------------------------------------------------
def function_node(op: str, args: tuple[Expr, ...], data: Any = None) -> Expr:
    """Return the node of a function exactly as given; `functions.apply` simplifies first."""
    table_key = (op, data, args)
    found = _lookup(table_key)
    if found is not None:
        return found
    roles = 0
    for x in args:
        roles |= x.roles
    data_digest = 0 if data is None else data.digest
    digest = hash((_opcode(op), data_digest, *[x.key & _DIGEST_MASK for x in args]))
    name = (args[0].key >> 60) & _NAME_MASK if args else 0
    return _enter(table_key, _sort_key(_FUNCTION_RANK, name, digest), roles & _INHERITED)


def _function(op: str, *args: Expr) -> Expr:
    from linkwright.algebra.functions import apply

    return apply(op, args)


# -- walking ---------------------------------------------------------------------------------------
def postorder(roots: Iterable[Expr], stop: Callable[[Expr], bool] | None = None) -> Iterator[Expr]:
    """Yield every node below the roots once, arguments before the nodes that use them.

    Args:
        roots: where to start.
        stop: nodes for which it is true are yielded but not entered.

    >>> from linkwright.algebra import symbols, sin
    >>> (q,) = symbols("q")
    >>> [str(x) for x in postorder([2 * sin(q)])]
    ['q', 'sin(q)', '2*sin(q)']
    """
    seen: set[Expr] = set()
    for root in roots:
        if root in seen:
            continue
        stack: list[tuple[Expr, int]] = [(root, 0)]
        seen.add(root)
        while stack:
            node, i = stack.pop()
            args = node.args
            if stop is not None and stop(node):
                args = ()
            while i < len(args) and args[i] in seen:
                i += 1
            if i < len(args):
                stack.append((node, i + 1))
                seen.add(args[i])
                stack.append((args[i], 0))
            else:
                yield node


def rebuild(node: Expr, args: tuple[Expr, ...]) -> Expr:
    """Return the canonical expression with the form of `node` over other arguments."""
    op = node.op
    if args == node.args:
        return node
    if op == "sum":
        return linear_combination(zip(node.data[1:], args, strict=True), node.data[0])
    if op == "prod":
        return product([raised(x, e) for x, e in zip(args, node.data, strict=True)])
    if op == "scale":
        return scaled(node.data, args[0])
    from linkwright.algebra.functions import apply

    return apply(op, args, node.data)
