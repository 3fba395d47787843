"""Integrators: one small class each, and one line in `METHODS`.

An integrator goes from an accepted state to the next one; what happens to a state once it is
reached (projection on the constraints, switching of the form of the equations) is the business of
`simulate`. `accept` says where the next step starts.

- midpoint: the integrator of AUTOSIM (Sayers' thesis, section 8.5): y_m = y + h/2 y'(t),
  y(t + h) = y + h f(t + h/2, y_m), and the derivative at the end serves the next step and the
  outputs: two evaluations a step;
- rk4: the classical Runge-Kutta method, four evaluations a step;
- dop853: Dormand and Prince's method of order 8 with step control (Hairer, Nørsett and Wanner 1993,
  section II.10), in SciPy's implementation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from linkwright.equations.evaluation import Array
from linkwright.errors import DomainError

Derivative = Callable[[float, Array], Array]


class Integrator(Protocol):
    """What `simulate` needs of an integrator."""

    adaptive: bool

    def restart(self, derivative: Derivative, t: float, x: Array) -> None:
        """Start from a state, forgetting what was before."""

    def step(self, end: float, ahead: float = np.inf) -> tuple[float, Array]:
        """Go one step, at most up to a time, and return where it leads.

        `ahead` is the time to a singular configuration, near which no evaluation should fall.
        """

    def accept(self, t: float, x: Array, *, changed: bool = False) -> None:
        """Continue from a state, which may have been moved since `step` returned it.

        `changed` says that the derivative is another one from here on.
        """


class _Fixed:
    """A method with steps of one size.

    Args:
        size: of a step, s.
        tolerance: not used.
    """

    adaptive = False

    def __init__(self, size: float, tolerance: float = 0.0) -> None:
        del tolerance
        self.size = size

    def restart(self, derivative: Derivative, t: float, x: Array) -> None:
        """Start from a state, forgetting what was before."""
        self.derivative = derivative
        self.accept(t, x)

    def accept(self, t: float, x: Array, *, changed: bool = False) -> None:
        """Continue from a state."""
        del changed
        self.t, self.x, self.slope = t, x, self.derivative(t, x)


class Midpoint(_Fixed):
    """The midpoint method, order 2."""

    def step(self, end: float, ahead: float = np.inf) -> tuple[float, Array]:
        """Go one step to a time."""
        del ahead
        h = self.size
        middle = self.x + (0.5 * h) * self.slope
        return end, self.x + h * self.derivative(self.t + 0.5 * h, middle)


class RK4(_Fixed):
    """The classical Runge-Kutta method, order 4."""

    def step(self, end: float, ahead: float = np.inf) -> tuple[float, Array]:
        """Go one step to a time."""
        del ahead
        h, t, x, f = self.size, self.t, self.x, self.derivative
        k1 = self.slope
        k2 = f(t + 0.5 * h, x + (0.5 * h) * k1)
        k3 = f(t + 0.5 * h, x + (0.5 * h) * k2)
        k4 = f(end, x + h * k3)
        return end, x + (h / 6.0) * (k1 + 2.0 * (k2 + k3) + k4)


class DOP853:
    """Dormand and Prince's method of order 8, with step control.

    Args:
        size: not used.
        tolerance: of the error of a step, relative to the size of each state, and absolute where
            that is below 1e-3.
    """

    adaptive = True

    def __init__(self, size: float, tolerance: float = 1e-10) -> None:
        del size
        self.tolerance = max(tolerance, 2.3e-14)
        self._solver: Any = None
        self._pace: float | None = None
        self._near = False

    def restart(self, derivative: Derivative, t: float, x: Array) -> None:
        """Start from a state, forgetting what was before."""
        self.derivative = derivative
        self._solver = None
        self.t, self.x = t, x

    def step(self, end: float, ahead: float = np.inf) -> tuple[float, Array]:
        """Go one step that keeps the error below the tolerance, at most up to a time."""
        from scipy import integrate

        if self._solver is None:
            span = end - self.t
            first = None if self._pace is None else min(self._pace, span)
            self._solver = integrate.DOP853(
                self.derivative,
                self.t,
                self.x,
                end,
                first_step=first,
                rtol=self.tolerance,
                atol=1e-3 * self.tolerance,
            )
        solver = self._solver
        before = solver.h_abs
        across = self._prepare(solver, ahead)
        solver.step()
        solver.rtol, solver.atol = self.tolerance, 1e-3 * self.tolerance
        if across:
            solver.h_abs = before
        if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
            raise DomainError(
                f"no step from t = {self.t:.6g} s keeps the error below the tolerance",
                remedy="look for a singularity or a jump there, or use a method with fixed steps",
            )
        self._pace = max(before, solver.h_abs) if solver.status == "finished" else solver.h_abs
        return float(solver.t), solver.y.copy()

    def _prepare(self, solver: Any, ahead: float) -> bool:
        """Let the next step end well before a singular configuration, or go across it.

        The evaluations of a step lie at parts of it up to 1/3 and from 0.6 on; a step that goes
        across has the singular configuration between these. Its error is not estimated, because
        the rounding errors near there would only lead to ever smaller steps; it is hardly longer
        than the steps before it.
        """
        h = solver.h_abs
        if ahead > 1.3 * h:
            self._near = False
            return False
        if ahead > 0.49 * h and not self._near:
            self._near = True
            solver.h_abs = 0.5 * ahead
            return False
        self._near = False
        solver.h_abs = ahead / 0.4667
        solver.rtol = solver.atol = 1.0
        return True

    def accept(self, t: float, x: Array, *, changed: bool = False) -> None:
        """Continue from a state."""
        self.t, self.x = t, x
        solver = self._solver
        if solver.status == "finished":
            self._solver = None
        elif changed or not np.array_equal(solver.y, x):
            solver.y = x
            solver.f = self.derivative(t, x)


METHODS: dict[str, Callable[[float, float], Integrator]] = {
    "midpoint": Midpoint,
    "rk4": RK4,
    "dop853": DOP853,
}
