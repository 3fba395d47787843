"""Fixed coefficients as numbers of a table: what the search multiplies, adds and divides for free.

A coefficient is a signed index: 1 is one, -1 is minus one, and -c is the negative of c. Entries are
distinguished by their value in a finite field, so that `m*L + I` is found again however it was
formed. What is new is remembered by how it was made; its formula is written only when it is
needed. A quotient is formed only where it is in the table already, that is where it needs no
division, or where the divisor is declared to be other than zero; and never by a sum that nearly
cancels, because in doubles it is another number than in the field, or zero.
"""

from __future__ import annotations

from linkwright.algebra.assumptions import is_nonzero
from linkwright.algebra.expr import ONE, Expr, constant, product, raised, scaled, total
from linkwright.program.passes.comparison import Doubles
from linkwright.program.passes.fields import PRIME, FieldValues
from linkwright.program.passes.network import split_sign

_COMMON = (2, 3, 4)  # ratios of these numbers are always at hand
_CANCELED = 1e-6  # what is left of a sum that nearly cancels


class Coefficients:
    """A growing table of fixed coefficients.

    >>> from linkwright.algebra import symbols
    >>> a, b = symbols("a b")
    >>> table = Coefficients(FieldValues())
    >>> x, y = table.of(a), table.of(-b)
    >>> table.expression(table.times(x, y))
    -a*b
    >>> table.plus(x, -x), table.ratio(x, y)
    (0, 0)
    """

    def __init__(self, values: FieldValues) -> None:
        self.fields = values
        self.values: list[int] = [0, 1]  # index 0 is zero
        self._made: list[tuple[str, int, int]] = [("", 0, 0), ("", 0, 0)]
        self._sizes = [(0.0, 0.0), (1.0, 1.0)]  # at a point: a value, and of what it is the sum
        self._exprs: dict[int, Expr] = {1: ONE}
        self._by_value: dict[int, int] = {1: 1, PRIME - 1: -1}
        self._products: dict[tuple[int, int], int] = {}
        self._sums: dict[tuple[int, int], int] = {}
        self._ratios: dict[tuple[int, int], int] = {}
        self._inverses: dict[int, int] = {1: 1}
        for n in _COMMON:
            self.of(constant(n))

    def value(self, c: int) -> int:
        """Return the field value of a coefficient."""
        return self.values[c] if c > 0 else PRIME - self.values[-c] if c else 0

    def of(self, x: Expr) -> int:
        """Return the coefficient of a fixed expression."""
        sign, rest = split_sign(x)
        value = self.fields.of(rest)
        if value == 0:
            return 0
        found = self._by_value.get(value)
        if found is None:
            found = self._add(value, "", 0, 0, Doubles(2).values([rest], {})[0].real)
            self._exprs[found] = rest
        return sign * found

    def _add(self, value: int, how: str, a: int, b: int, size: float = 0.0) -> int:
        new = len(self.values)
        (x, x_size), (y, y_size) = self._sizes[abs(a)], self._sizes[abs(b)]
        if how == "+":
            made = (x if a > 0 else -x) + (y if b > 0 else -y), x_size + y_size
        elif how == "*":
            made = x * y, x_size * y_size
        else:
            made = (x / y, x_size / abs(y)) if how else (size, abs(size))
        self._sizes.append(made)
        self.values.append(value)
        self._made.append((how, a, b))
        self._by_value[value] = new
        self._by_value[PRIME - value] = -new
        return new

    def find(self, value: int) -> int:
        """Return the coefficient with this field value, or 0."""
        return self._by_value.get(value, 0)

    def times(self, a: int, b: int) -> int:
        """Return a product."""
        if a == 1:
            return b
        if b == 1:
            return a
        sign = 1
        if a < 0:
            a, sign = -a, -1
        if b < 0:
            b, sign = -b, -sign
        key = (a, b) if a < b else (b, a)
        found = self._products.get(key)
        if found is None:
            value = self.values[a] * self.values[b] % PRIME
            found = self._by_value.get(value) or self._add(value, "*", *key)
            self._products[key] = found
        return sign * found

    def plus(self, a: int, b: int) -> int:
        """Return a sum; 0 where the two cancel."""
        if a == -b:
            return 0
        key = (a, b) if a < b else (b, a)
        found = self._sums.get(key)
        if found is None:
            value = (self.value(a) + self.value(b)) % PRIME
            if value == 0:
                found = 0
            else:
                found = self._by_value.get(value) or self._add(value, "+", *key)
            self._sums[key] = found
        return found

    def ratio(self, a: int, b: int) -> int:
        """Return a/b where that is safe, and otherwise 0."""
        if b < 0:
            a, b = -a, -b
        if a < 0:
            return -self.ratio(-a, b)
        if b == 1:
            return a
        if a == b:
            return 1
        x, size = self._sizes[b]
        if not abs(x) > _CANCELED * size:
            return 0
        found = self._ratios.get((a, b))
        if found is None:
            inverse = self._inverses.get(b)
            if inverse is None:
                inverse = self._inverses[b] = pow(self.values[b], -1, PRIME)
            value = self.values[a] * inverse % PRIME
            found = self._by_value.get(value, 0)
            if not found and is_nonzero(self.expression(b)):
                found = self._add(value, "/", a, b)
            self._ratios[a, b] = found
        return found

    def expression(self, c: int) -> Expr:
        """Return the formula of a coefficient."""
        exprs = self._exprs
        if c < 0:
            return scaled(-1, self.expression(-c))
        stack = [c]
        while stack:
            k = stack[-1]
            if k in exprs:
                stack.pop()
                continue
            how, a, b = self._made[k]
            missing = [abs(x) for x in (a, b) if abs(x) not in exprs]
            if missing:
                stack.extend(missing)
                continue
            x = scaled(-1 if a < 0 else 1, exprs[abs(a)])
            y = scaled(-1 if b < 0 else 1, exprs[abs(b)])
            if how == "*":
                exprs[k] = product([x, y])
            elif how == "+":
                exprs[k] = total([x, y])
            else:
                exprs[k] = product([x, raised(y, -1)])
        return exprs[c]
