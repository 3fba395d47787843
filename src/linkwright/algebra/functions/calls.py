"""The functions in the spelling people use, on expressions and numbers."""

from __future__ import annotations

from linkwright.algebra.expr import Expr, Scalar, as_expr
from linkwright.algebra.functions.registry import apply


def sin(x: Scalar) -> Expr:
    """Return the sine of an angle in rad.

    Args:
        x: the angle in rad.

    >>> from linkwright.algebra import PI
    >>> sin(PI / 6), sin(-PI)
    (0.5, 0)
    """
    return apply("sin", (as_expr(x),))


def cos(x: Scalar) -> Expr:
    """Return the cosine of an angle in rad.

    Args:
        x: the angle in rad.

    >>> from linkwright.algebra import PI
    >>> cos(0), cos(PI)
    (1, -1)
    """
    return apply("cos", (as_expr(x),))


def tan(x: Scalar) -> Expr:
    """Return the tangent of an angle in rad.

    Args:
        x: the angle in rad.

    >>> from linkwright.algebra import PI
    >>> tan(0), tan(PI)
    (0, 0)
    """
    return apply("tan", (as_expr(x),))


def asin(x: Scalar) -> Expr:
    """Return the angle in rad between -pi/2 and pi/2 whose sine is x.

    Args:
        x: a number between -1 and 1.

    >>> asin(0)
    0
    """
    return apply("asin", (as_expr(x),))


def acos(x: Scalar) -> Expr:
    """Return the angle in rad between 0 and pi whose cosine is x.

    Args:
        x: a number between -1 and 1.

    >>> acos(1)
    0
    """
    return apply("acos", (as_expr(x),))


def atan(x: Scalar) -> Expr:
    """Return the angle in rad between -pi/2 and pi/2 whose tangent is x.

    Args:
        x: any number.

    >>> atan(0)
    0
    """
    return apply("atan", (as_expr(x),))


def atan2(y: Scalar, x: Scalar) -> Expr:
    """Return the angle in rad of the point (x, y), between -pi and pi.

    Args:
        y: the ordinate.
        x: the abscissa.

    >>> atan2(0, -1)
    pi
    """
    return apply("atan2", (as_expr(y), as_expr(x)))


def sqrt(x: Scalar) -> Expr:
    """Return the square root.

    Args:
        x: a number that is not negative.

    >>> from linkwright.algebra import constant
    >>> sqrt(9), sqrt(constant(9) / 4)
    (3, 1.5)
    """
    return apply("sqrt", (as_expr(x),))


def exp(x: Scalar) -> Expr:
    """Return e to the power x.

    Args:
        x: the exponent.

    >>> exp(0)
    1
    """
    return apply("exp", (as_expr(x),))


def tanh(x: Scalar) -> Expr:
    """Return the hyperbolic tangent.

    Args:
        x: a number.

    >>> from linkwright.algebra import diff, symbol
    >>> x = symbol("x")
    >>> tanh(0), tanh(-x), diff(tanh(x), x)
    (0, -tanh(x), 1 - tanh(x)**2)
    """
    return apply("tanh", (as_expr(x),))


def cosh(x: Scalar) -> Expr:
    """Return the hyperbolic cosine, (exp(x) + exp(-x))/2; its argument is within 709 from zero.

    Args:
        x: a number.

    >>> cosh(0)
    1
    """
    growing = exp(x)
    return (growing + 1 / growing) / 2


def sinh(x: Scalar) -> Expr:
    """Return the hyperbolic sine, as tanh(x) cosh(x), which is exact near zero.

    Args:
        x: a number within 709 from zero.

    >>> sinh(0)
    0
    """
    return tanh(x) * cosh(x)


def log(x: Scalar) -> Expr:
    """Return the natural logarithm.

    Args:
        x: a positive number.

    >>> from linkwright.algebra import PI
    >>> log(1), log(exp(PI))
    (0, pi)
    """
    return apply("log", (as_expr(x),))


def absolute(x: Scalar) -> Expr:
    """Return the absolute value.

    Args:
        x: any number.

    >>> absolute(-3)
    3
    """
    return apply("abs", (as_expr(x),))


def sign(x: Scalar) -> Expr:
    """Return 1, 0 or -1 by the sign of x.

    Args:
        x: any number.

    >>> sign(-3), sign(0)
    (-1, 0)
    """
    return apply("sign", (as_expr(x),))


def floor(x: Scalar) -> Expr:
    """Return the largest whole number that is not above x.

    Args:
        x: any number.

    >>> floor(2.7), floor(-0.5)
    (2, -1)
    """
    return apply("floor", (as_expr(x),))


def minimum(*values: Scalar) -> Expr:
    """Return the smallest of the values.

    Args:
        values: one or more.

    >>> minimum(3, 1, 2)
    1
    """
    return apply("min", tuple(as_expr(x) for x in values))


def maximum(*values: Scalar) -> Expr:
    """Return the largest of the values.

    Args:
        values: one or more.

    >>> maximum(3, 1, 2)
    3
    """
    return apply("max", tuple(as_expr(x) for x in values))


def equal(a: Scalar, b: Scalar) -> Expr:
    """Return 1 where a equals b, else 0 (`==` on expressions asks for identity).

    Args:
        a: one value.
        b: the other.

    >>> equal(1, 1), equal(1, 2)
    (1, 0)
    """
    return apply("eq", (as_expr(a), as_expr(b)))


def not_equal(a: Scalar, b: Scalar) -> Expr:
    """Return 1 where a differs from b, else 0.

    Args:
        a: one value.
        b: the other.

    >>> not_equal(1, 1), not_equal(1, 2)
    (0, 1)
    """
    return apply("ne", (as_expr(a), as_expr(b)))


def where(condition: Scalar, yes: Scalar, no: Scalar) -> Expr:
    """Return `yes` where the condition holds, else `no`.

    Args:
        condition: a comparison, or any expression that counts as true where it is not 0.
        yes: the value where it holds.
        no: the value elsewhere.

    >>> from linkwright.algebra import symbols
    >>> (x,) = symbols("x")
    >>> where(x > 0, x, 0)
    where(0 < x, x, 0)
    """
    return apply("select", (as_expr(condition), as_expr(yes), as_expr(no)))
