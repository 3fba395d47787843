"""Runge-Kutta methods as tables of coefficients.

Midpoint is AUTOSIM's integrator (Sayers' thesis, section 8.5); rk4 is the classical method;
dopri5 is Dormand and Prince's method of order 5 with an error estimate of order 4 (J. Comput.
Appl. Math. 6, 1980) and Shampine's interpolant of order 4 (Hairer, Nørsett and Wanner, Solving
Ordinary Differential Equations I, 2nd ed., sections II.5 and II.6).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Row = tuple[Fraction | float, ...]


@dataclass(frozen=True, slots=True)
class Tableau:
    """An explicit Runge-Kutta method."""

    nodes: Row  # c, the times of the stages as parts of the step
    stages: tuple[Row, ...]  # for each stage after the first the weights of those before it
    weights: Row  # b, of the result
    order: int  # of the result
    # for each estimate of the error the weights of the stages, and of the rate at the end as the
    # last one; none for a method with fixed steps
    errors: tuple[Row, ...] = ()
    error_order: int = 0  # of the estimate
    # weights for the last coefficient of the interpolant of dopri5; none for no interpolant
    middle: Row = ()
    # of an interpolant with stages of its own, behind the rate at the end: their times, the weights
    # of all stages before them, and of all of them in its last coefficients
    inner_nodes: Row = ()
    inner_stages: tuple[Row, ...] = ()
    inner_weights: tuple[Row, ...] = ()

    @property
    def kept(self) -> range:
        """Which stages the interpolant needs, but for the first and the rate at the end."""
        if not self.inner_nodes:
            return range(0)
        rows = (*self.inner_stages, *self.inner_weights)
        end = len(self.nodes)
        return range(min(k for k in range(1, end) if any(row[k] for row in rows)), end)


def _row(text: str) -> Row:
    return tuple(Fraction(word) for word in text.split())


MIDPOINT = Tableau(_row("0 1/2"), (_row("1/2"),), _row("0 1"), 2)

RK4 = Tableau(
    _row("0 1/2 1/2 1"),
    (_row("1/2"), _row("0 1/2"), _row("0 0 1")),
    _row("1/6 1/3 1/3 1/6"),
    4,
)

DOPRI5 = Tableau(
    _row("0 1/5 3/10 4/5 8/9 1"),
    (
        _row("1/5"),
        _row("3/40 9/40"),
        _row("44/45 -56/15 32/9"),
        _row("19372/6561 -25360/2187 64448/6561 -212/729"),
        _row("9017/3168 -355/33 46732/5247 49/176 -5103/18656"),
    ),
    _row("35/384 0 500/1113 125/192 -2187/6784 11/84"),
    5,
    (_row("71/57600 0 -71/16695 71/1920 -17253/339200 22/525 -1/40"),),
    4,
    _row(
        "-12715105075/11282082432 0 87487479700/32700410799 -10690763975/1880347072 "
        "701980252875/199316789632 -1453857185/822651844 69997945/29380423"
    ),
)
