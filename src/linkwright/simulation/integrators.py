"""Integrators: one small class each, and one line in `METHODS`.

An integrator goes from an accepted state to the next one; what happens to a state once it is
reached (projection on the constraints, switching of the form of the equations) is the business of
`simulate`. `accept` says where the next step starts.

- midpoint: the integrator of AUTOSIM (Sayers' thesis, section 8.5): y_m = y + h/2 y'(t),
  y(t + h) = y + h f(t + h/2, y_m), and the derivative at the end serves the next step and the
  outputs: two evaluations a step;
- rk4: the classical Runge-Kutta method, four evaluations a step;
- semi-implicit, implicit-speeds, verlet: coordinates and the other states in turn, as natively;
- dopri5, dop853: Dormand and Prince's methods of order 5 and 8 with step control (Hairer, Nørsett
  and Wanner 1993, sections II.4 and II.10), in SciPy's implementation;
- rodas4: the Rosenbrock method of `linkwright.simulation.native.implicit`, with a Jacobian by
  differences.

Every method of native runs is here, so that a run is integrated by the method that was asked for in
whatever form its equations are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from linkwright.equations.evaluation import Array
from linkwright.errors import DomainError
from linkwright.simulation.native import rosenbrock as rodas
from linkwright.simulation.native.schedule import TABLEAUX
from linkwright.simulation.native.tableaux import Tableau

Derivative = Callable[[float, Array], Array]


class IntegratorProtocol(Protocol):
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
    """A method with steps of one size."""

    adaptive = False

    def __init__(self, size: float, tolerance: float = 0.0, coordinates: int = 0) -> None:
        del tolerance
        self.size = size
        self.coordinates = coordinates

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


class SemiImplicit(_Fixed):
    """The semi-implicit Euler method, order 1: speeds first, coordinates with the new speeds."""

    def step(self, end: float, ahead: float = np.inf) -> tuple[float, Array]:
        """Go one step to a time."""
        del ahead
        x = self.x + self.size * self.kick()
        x[: self.coordinates] = self.x[: self.coordinates]
        return end, self.drifted(x, end, self.size)

    def kick(self) -> Array:
        """Return the rates with which speeds and other states move."""
        return self.slope

    def drifted(self, x: Array, t: float, h: float) -> Array:
        """Return a state with its coordinates moved by a time, with their rates there."""
        new, n = x.copy(), self.coordinates
        new[:n] += h * self.derivative(t, x)[:n]
        return new


class ImplicitSpeeds(SemiImplicit):
    """The same with speeds solved for, order 1."""

    def kick(self) -> Array:
        """Return the rates with which speeds and other states move: (1 - h A) r = f."""
        n, f = self.coordinates, self.slope.copy()
        slopes = differences(
            lambda v: self.derivative(self.t, np.r_[self.x[:n], v])[n:], self.x[n:]
        )
        f[n:] = np.linalg.solve(np.eye(len(f) - n) - self.size * slopes, f[n:])
        return f


class Verlet(SemiImplicit):
    """Störmer and Verlet's method, order 2, with forces at the speeds of the middle."""

    def step(self, end: float, ahead: float = np.inf) -> tuple[float, Array]:
        """Go one step to a time."""
        del ahead
        h, n, t = self.size, self.coordinates, self.t + 0.5 * self.size
        there = self._half(self.x, self.t, self.slope)
        halfway = there.copy()
        halfway[n:] += 0.5 * h * self.derivative(t, there)[n:]
        there[n:] += h * self.derivative(t, halfway)[n:]
        return end, self._half(there, t, self.derivative(t, there))

    def _half(self, x: Array, t: float, slope: Array) -> Array:
        """Return a state with its coordinates moved by half a step, by the midpoint rule."""
        n, h = self.coordinates, 0.5 * self.size
        middle = x.copy()
        middle[:n] += 0.5 * h * slope[:n]
        new = x.copy()
        new[:n] += h * self.derivative(t, middle)[:n]
        return new


def differences(function: Callable[[Array], Array], at: Array) -> Array:
    """Return the Jacobian of a function by central differences."""
    columns = []
    for i in range(len(at)):
        step = np.zeros_like(at)
        step[i] = 6e-6 * max(1.0, abs(at[i]))
        columns.append((function(at + step) - function(at - step)) / (2 * step[i]))
    return np.array(columns).reshape(len(at), -1).T


class DOP853:
    """Dormand and Prince's method of order 8, with step control."""

    adaptive = True
    solver = "DOP853"
    gap = 0.4667  # of a step, in whose neighborhood no evaluation lies

    def __init__(self, size: float, tolerance: float = 1e-10, coordinates: int = 0) -> None:
        del size, coordinates
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
            self._solver = getattr(integrate, self.solver)(
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

        The evaluations of a step of dop853 lie at parts of it up to 1/3 and from 0.6 on (of dopri5
        up to 0.3 and from 0.8 on); a step that goes across has the singular configuration between
        these. Its error is not estimated, because the rounding errors near there would only lead
        to ever smaller steps; it is hardly longer than the steps before it.
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
        solver.h_abs = ahead / self.gap
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


class DOPRI5(DOP853):
    """Dormand and Prince's method of order 5, with step control."""

    solver = "RK45"
    gap = 0.55


class Rodas4:
    """The Rosenbrock method of order 4 for stiff systems, with step control."""

    adaptive = True

    def __init__(self, size: float, tolerance: float = 1e-10, coordinates: int = 0) -> None:
        del size, coordinates
        self.tolerance = max(tolerance, 2.3e-14)
        self._pace: float | None = None

    def restart(self, derivative: Derivative, t: float, x: Array) -> None:
        """Start from a state, forgetting what was before."""
        self.derivative = derivative
        self.t, self.x = t, x

    def accept(self, t: float, x: Array, *, changed: bool = False) -> None:
        """Continue from a state."""
        del changed
        self.t, self.x = t, x

    def step(self, end: float, ahead: float = np.inf) -> tuple[float, Array]:
        """Go one step that keeps the error below the tolerance, at most up to a time."""
        del ahead
        span = end - self.t
        jacobian = differences(lambda x: self.derivative(self.t, x), self.x)
        h = min(span, span / 10 if self._pace is None else self._pace)
        while h > 1e-13 * max(1.0, abs(self.t)):
            new, change = self._tried(h, jacobian)
            scale = 1e-3 * self.tolerance + self.tolerance * np.maximum(abs(self.x), abs(new))
            error = float(np.sqrt(np.mean((change / scale) ** 2)))
            if np.isfinite(error) and error <= 1:
                last = h >= span
                longer = h * min(6.0, 0.9 * max(error, 1e-4) ** -0.25)
                self._pace = max(longer, self._pace or 0.0) if last else longer
                return (end if last else self.t + h), new
            h *= max(0.2, 0.9 * error**-0.25) if np.isfinite(error) else 0.2
        raise DomainError(
            f"no step from t = {self.t:.6g} s keeps the error below the tolerance",
            remedy="look for a singularity or a jump there, or use a method with fixed steps",
        )

    def _tried(self, h: float, jacobian: Array) -> tuple[Array, Array]:
        """Return the state after a step of some size, and what it may be wrong by."""
        from scipy.linalg import lu_factor, lu_solve

        shift = 1e-6 * h
        by_time = (
            self.derivative(self.t + shift, self.x) - self.derivative(self.t, self.x)
        ) / shift
        factored = lu_factor(np.eye(len(self.x)) / (h * rodas.GAMMA) - jacobian)
        parts: list[Array] = []
        place = self.x
        for node, slope, stage, coupling in zip(
            rodas.NODES, rodas.SLOPES, rodas.STAGES, rodas.COUPLING, strict=True
        ):
            place = self.x + sum((a * u for a, u in zip(stage, parts, strict=True)), 0.0)
            right = self.derivative(self.t + node * h, place) + slope * h * by_time
            right = right + sum((c / h * u for c, u in zip(coupling, parts, strict=True)), 0.0)
            parts.append(lu_solve(factored, right))
        return place + parts[-1], parts[-1]


METHODS: dict[str, Callable[[float, float, int], IntegratorProtocol]] = {
    "midpoint": Midpoint,
    "rk4": RK4,
    "semi-implicit": SemiImplicit,
    "implicit-speeds": ImplicitSpeeds,
    "verlet": Verlet,
    "dopri5": DOPRI5,
    "dop853": DOP853,
    "rodas4": Rodas4,
}


class RungeKutta(_Fixed):
    """An explicit method with fixed steps that is given by its coefficients."""

    tableau: Tableau

    def step(self, end: float, ahead: float = np.inf) -> tuple[float, Array]:
        """Go one step to a time."""
        del ahead
        h, slopes = self.size, [self.slope]
        for node, row in zip(self.tableau.nodes[1:], self.tableau.stages, strict=True):
            ahead_of = sum((float(a) * k for a, k in zip(row, slopes, strict=True)), 0.0)
            slopes.append(self.derivative(self.t + float(node) * h, self.x + h * ahead_of))
        moved = sum((float(b) * k for b, k in zip(self.tableau.weights, slopes, strict=True)), 0.0)
        return end, self.x + h * moved


def integrator_named(name: str) -> Callable[[float, float, int], IntegratorProtocol]:
    """Return what makes the integrator of a method: its own class, or its coefficients.

    >>> integrator_named("rk4") is RK4
    True
    """
    if name in METHODS:
        return METHODS[name]

    def make(size: float, tolerance: float, coordinates: int) -> IntegratorProtocol:
        made = RungeKutta(size, tolerance, coordinates)
        made.tableau = TABLEAUX[name]
        return made

    return make
