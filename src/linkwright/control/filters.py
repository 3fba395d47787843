"""Linear filters as blocks: transfer functions, lead-lag, state space.

A transfer function becomes a state space model in controllable canonical form. At a rate it is
made discrete by the bilinear rule (Tustin), exactly as SciPy does it, with the rate as part of the
block.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import ZERO, Expr, as_expr, evaluate, free_symbols
from linkwright.algebra.triples import dot
from linkwright.blocks import (
    Block,
    BlockError,
    Continuous,
    Rate,
    Sampled,
    as_rate,
    checked,
    checked_all,
)

Array = NDArray[np.float64]


class StateSpace(Block):
    """The linear system x' = A x + B u, y = C x + D u; at a rate, x is advanced by A and B.

    An entry of a matrix may be a text, which is a function of the time `t`: "1 + 0.2*sin(t)". A
    step that begins at an instant takes its matrices from there.

    Args:
        a: system matrix; of a block with a rate, from one instant to the next.
        b: effect of the inputs.
        c: outputs from states.
        d: outputs from inputs; zero by default.
        initial: where the states start; zero by default.
        name: of the block.
        rate: hertz or a `Rate`, where the matrices are those of a step; continuous by default. A
            continuous one that is added at a rate is made discrete by the bilinear rule.

    >>> StateSpace([[-1.0]], [[1.0]], [[1.0]])
    StateSpace(state_space: u -> y)
    >>> next(iter(StateSpace([["-1 - sin(t)"]], [[1.0]], [[1.0]]).states.values())).following
    u - x0*(1 + sin(t))
    """

    learns_rate = True

    def __init__(
        self,
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike,
        d: ArrayLike | None = None,
        *,
        initial: Sequence[float] | None = None,
        name: str = "state_space",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(name, rate=rate, doc="linear system")
        given = a, b, c, d
        A, B, C = (_matrix(x, n, name) for x, n in ((a, "a"), (b, "b"), (c, "c")))
        D = np.zeros((len(C), B.shape[1])) if d is None else _matrix(d, "d", name)
        n = len(A)
        if A.shape != (n, n) or len(B) != n or C.shape[1] != n:
            raise BlockError(
                f"the matrices of {name!r} do not fit: {A.shape}, {B.shape}, {C.shape}"
            )
        if D.shape != (len(C), B.shape[1]):
            raise BlockError(f"the matrix D of {name!r} has the shape {D.shape}")
        u = [self.input("u")] if B.shape[1] == 1 else list(self.input_vector("u", B.shape[1]))
        start: Sequence[float] = [0.0] * n
        if initial is not None:
            start = checked_all(initial, f"the initial value of {name!r}", count=n)
        self._matrices = (A, B, C, D, np.array(start))
        self._varies = any(map(varies, given))
        rows = [entries(self, x, n) for x, n in zip(given, (A, B, C, D), strict=True)]
        timed = self.rate is not None
        if isinstance(self.rate, Sampled):
            self.designed_for = self.rate.period
        make = self.discrete_state if timed else self.state
        x = [make(f"x{i}", initial=start[i]) for i in range(n)]
        following = self.update if timed else self.derivative
        for i in range(n):
            following(x[i], dot(rows[0][i], x) + dot(rows[1][i], u))
        y = [dot(p, x) + dot(q, u) for p, q in zip(rows[2], rows[3], strict=True)]
        if len(y) == 1:
            self.output("y", y[0])
        else:
            self.output_vector("y", y)

    def at_rate(self, rate: Rate) -> Block:
        """Return the filter made discrete for a rate, by the bilinear rule, if it is continuous."""
        if type(self) is not StateSpace or self.rate is not None or isinstance(rate, Continuous):
            return super().at_rate(rate)
        if self._varies:
            raise BlockError(
                f"the matrices of {self.name!r} change with time, so they have no bilinear rule",
                remedy="give rate= where it is made, with the matrices of a step",
            )
        *matrices, start = self._matrices
        period = period_of(rate, self.name)
        halfway = start - period / 2 * matrices[0] @ start
        made = bilinear(matrices, period)
        return StateSpace(*made, initial=list(halfway), name=self.name, rate=rate)


class TransferFunction(StateSpace):
    """The transfer function of two polynomials in s.

    Args:
        numerator: coefficients, highest power first; of no higher order than the denominator.
        denominator: coefficients, highest power first.
        rate: hertz or a `Rate`, at which it is made discrete by the bilinear rule; continuous by
            default.
        name: of the block.

    >>> len(TransferFunction([1], [1, 2, 1]).states)
    2
    """

    def __init__(
        self,
        numerator: Sequence[float],
        denominator: Sequence[float],
        *,
        rate: Rate | float | Fraction | None = None,
        name: str = "filter",
    ) -> None:
        a, b, c, d = canonical(numerator, denominator)
        if rate is not None:
            a, b, c, d = bilinear((a, b, c, d), period_of(rate, name))
        super().__init__(a, b, c, d, name=name, rate=rate)


class LeadLag(TransferFunction):
    """A lead or lag compensator, gain * (1 + s / zero) / (1 + s / pole).

    Args:
        zero: rad/s; below the pole for a lead, above it for a lag.
        pole: rad/s.
        gain: at rest.
        rate: hertz or a `Rate`; continuous by default.
        name: of the block.

    >>> LeadLag(zero=1.0, pole=10.0).outputs["y"].values
    (10*(u - 9*x0),)
    """

    def __init__(
        self,
        zero: float,
        pole: float,
        *,
        gain: float = 1.0,
        rate: Rate | float | Fraction | None = None,
        name: str = "lead_lag",
    ) -> None:
        checked(zero, f"the zero of {name!r}, rad/s,", above=0)
        checked(pole, f"the pole of {name!r}, rad/s,", above=0)
        checked(gain, f"the gain of {name!r}")
        super().__init__([gain / zero, gain], [1 / pole, 1.0], rate=rate, name=name)


def bilinear(matrices: Sequence[Array], period: float) -> list[Array]:
    """Return A, B, C, D of a continuous system made discrete by the bilinear rule.

    >>> bilinear(canonical([1], [1, 1]), 1.0)[0].round(6)
    array([[0.333333]])
    """
    from scipy.signal import cont2discrete

    return list(cont2discrete(tuple(matrices), period, method="bilinear")[:4])


def canonical(
    numerator: Sequence[float], denominator: Sequence[float]
) -> tuple[Array, Array, Array, Array]:
    """Return A, B, C, D of a transfer function in controllable canonical form.

    >>> canonical([1], [1, 3])[0]
    array([[-3.]])
    """
    bottom = np.trim_zeros(_matrix(denominator, "denominator", "filter")[0], "f")
    top = np.trim_zeros(_matrix(numerator, "numerator", "filter")[0], "f")
    n = len(bottom) - 1
    if n < 0 or len(top) > n + 1:
        raise BlockError("the numerator has a higher order than the denominator")
    top = np.concatenate([np.zeros(n + 1 - len(top)), top]) / bottom[0]
    bottom = bottom / bottom[0]
    d = np.array([[top[0]]])
    a = np.zeros((n, n))
    a[:1] = -bottom[1:]
    a[1:, :-1] = np.eye(max(n - 1, 0))
    b = np.zeros((n, 1))
    b[:1] = 1.0
    return a, b, (top[1:] - top[0] * bottom[1:])[None, :], d


def varies(given: Any) -> bool:
    """Whether entries of a matrix are texts, which are functions of time."""
    return isinstance(given, list | tuple) and any(isinstance(x, str) or varies(x) for x in given)


def at_start(given: Any, what: str) -> Any:
    """Return a matrix with the numbers that its texts have at t = 0.

    >>> at_start([["1 + cos(t)", 3]], "a of 'b'")
    [[2.0, 3]]
    """
    if isinstance(given, str):
        block = Block("b")
        found = block.expr(given)
        if others := set(free_symbols(found)) - {block.time}:
            raise BlockError(
                f"{what} has the entry {given!r}, which depends on {min(x.name for x in others)!r}",
                remedy="entries are numbers, or functions of t",
            )
        return float(evaluate(found, {block.time: 0.0}))
    return [at_start(x, what) for x in given] if varies(given) else given


def entries(block: Block, given: Any, numbers: Array) -> list[list[Expr]]:
    """Return the rows of a matrix of numbers and texts, as expressions of a block."""
    if not varies(given):
        return [[as_expr(float(x)) if x else ZERO for x in row] for row in numbers]
    rows = given if isinstance(given[0], list | tuple) else [given]
    return [[block.expr(x) if isinstance(x, str) else as_expr(float(x)) for x in r] for r in rows]


def _matrix(given: Any, what: str, name: str) -> Array:
    """Return a matrix of finite numbers, or say which one is not finite."""
    try:
        found = np.atleast_2d(np.asarray(at_start(given, f"{what} of {name!r}"), dtype=float))
    except (TypeError, ValueError) as error:
        raise BlockError(f"{what} of {name!r} is not a matrix of numbers: {given!r}") from error
    if not np.isfinite(found).all():
        raise BlockError(f"{what} of {name!r} is not finite", remedy="give finite numbers")
    return found


def period_of(rate: Rate | float | Fraction, name: str) -> float:
    """Return the period of a rate in s; `name` is that of the block, for messages.

    >>> period_of(500, "filter")
    0.002
    """
    given = as_rate(rate)
    if not isinstance(given, Sampled):
        raise BlockError(f"{name!r} needs its rate in hertz or as a period to be made discrete")
    return float(given.period)
