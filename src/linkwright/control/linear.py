"""Linear-quadratic control and estimation, from linear models such as `linkwright.linearize` gives.

The gain K of u = -K x minimizes the integral (the sum, in discrete time) of x'Qx + u'Ru; that of
the estimator is its dual (Kalman). Riccati's equation is solved by SciPy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra.triples import combination
from linkwright.base.errors import DomainError
from linkwright.base.reprs import brief
from linkwright.base.results import Result
from linkwright.blocks import BlockError, Element, Rate, checked, sampled
from linkwright.blocks.discretization import held, van_loan
from linkwright.control.filters import StateSpace, period_of

Array = NDArray[np.float64]
Weights = float | Sequence[float] | Mapping[str, float] | Array


class Linear(Protocol):
    """A linear model about an operating point, such as `linkwright.linearize` gives."""

    @property
    def a(self) -> Array:
        """The system matrix."""

    @property
    def b(self) -> Array:
        """The effect of the inputs."""

    @property
    def c(self) -> Array:
        """The outputs from states."""

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the states."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs."""

    @property
    def point(self) -> dict[str, float]:
        """The operating point."""


@dataclass(frozen=True, slots=True, eq=False)
class StateModel:
    """A linear model by its matrices, x' = a x + b u and y = c x about an operating point.

    Args:
        a: system matrix.
        b: effect of the inputs.
        c: the outputs from states.
        states: names of the states.
        inputs: names of the inputs.
        point: the operating point by name.

    >>> StateModel([[0, 1], [0, 0]], [[0], [1]], [[1, 0]], ["x", "v"], ["F"]).a.shape
    (2, 2)
    """

    a: Array
    b: Array
    c: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    point: dict[str, float]

    def __init__(
        self,
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike,
        states: Sequence[str],
        inputs: Sequence[str],
        point: Mapping[str, float] | None = None,
    ) -> None:
        for key, matrix in (("a", a), ("b", b), ("c", c)):
            object.__setattr__(self, key, np.array(matrix, dtype=float))
        object.__setattr__(self, "states", tuple(states))
        object.__setattr__(self, "inputs", tuple(inputs))
        object.__setattr__(self, "point", dict(point or {}))


@dataclass(frozen=True, slots=True)
class Gain(Result):
    """A gain with what comes of it.

    Args:
        gain: K of u = -K x, or L of the estimator.
        cost: the solution of Riccati's equation: x'Sx is the cost from x on; of an estimator the
            covariance of its error.
        poles: eigenvalues of the closed loop, or of the estimator.

    >>> lqr([[0, 1], [0, 0]], [[0], [1]], np.eye(2), 1).gain.round(3).tolist()
    [[1.0, 1.732]]
    """

    gain: Array
    cost: Array
    poles: NDArray[np.complex128]

    def __repr__(self) -> str:
        rows, columns = self.gain.shape
        slowest = max(self.poles, key=lambda pole: pole.real, default=0j)
        return f"Gain({rows} x {columns}, rightmost of its poles {slowest:.4g})"


def lqr(a: Any, b: Any, Q: Any, R: Any) -> Gain:
    """Return the state feedback that minimizes the integral of x'Qx + u'Ru.

    Args:
        a: system matrix.
        b: effect of the inputs.
        Q: weight of the states.
        R: weight of the inputs.

    >>> lqr([[0, 1], [0, 0]], [[0], [1]], np.eye(2), [[1]]).gain.round(6)
    array([[1.      , 1.732051]])
    """
    from scipy.linalg import solve_continuous_are

    A, B, Q, R = _matrices(a, b, Q, R)
    S = _solved(solve_continuous_are, A, B, Q, R)
    K = np.linalg.solve(R, B.T @ S)
    return Gain(K, S, _poles(A - B @ K))


def dlqr(a: Any, b: Any, Q: Any, R: Any) -> Gain:
    """Return the state feedback of a discrete system that minimizes the sum of x'Qx + u'Ru.

    Args:
        a: system matrix from one instant to the next.
        b: effect of the inputs.
        Q: weight of the states.
        R: weight of the inputs.

    >>> dlqr([[1.0]], [[1.0]], [[1.0]], [[1.0]]).gain.round(6)
    array([[0.618034]])
    """
    from scipy.linalg import solve_discrete_are

    A, B, Q, R = _matrices(a, b, Q, R)
    S = _solved(solve_discrete_are, A, B, Q, R)
    K = np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A)
    return Gain(K, S, _poles(A - B @ K))


def lqe(a: Any, c: Any, process: Any, measurement: Any) -> Gain:
    """Return the gain of the Kalman-Bucy filter x' = A x + B u + L (y - C x).

    Args:
        a: system matrix.
        c: what is measured, from the states.
        process: intensity of the noise on the rates of the states.
        measurement: intensity of the noise on what is measured.

    >>> lqe([[0.0]], [[1.0]], [[4.0]], [[1.0]]).gain
    array([[2.]])
    """
    found = lqr(np.atleast_2d(a).T, np.atleast_2d(c).T, process, measurement)
    return Gain(found.gain.T, found.cost, found.poles)


def dlqe(a: Any, c: Any, process: Any, measurement: Any) -> Gain:
    """Return the gain of the Kalman filter that predicts, x+ = A x + B u + A L (y - C x).

    Args:
        a: system matrix from one instant to the next.
        c: what is measured, from the states.
        process: covariance of the noise on the states.
        measurement: covariance of the noise on what is measured.

    The gain L is that of the correction of x by a measurement; the poles are those of the error of
    the prediction.

    >>> dlqe([[1.0]], [[1.0]], [[1.0]], [[1.0]]).gain.round(6)
    array([[0.618034]])
    """
    A, C, R = _matrices(a, c, measurement)
    found = dlqr(A.T, C.T, process, R)
    P = found.cost
    L = P @ C.T @ np.linalg.inv(C @ P @ C.T + R)
    return Gain(L, P, _poles(A - A @ L @ C))


def discretize(a: Any, b: Any, period: float) -> tuple[Array, Array]:
    """Return A and B from one instant to the next, with inputs that hold in between.

    Args:
        a: system matrix.
        b: effect of the inputs.
        period: s.

    >>> discretize([[0, 1], [0, 0]], [[0], [1]], 0.1)[1].round(6)
    array([[0.005],
           [0.1  ]])
    """
    return held(np.atleast_2d(np.asarray(a, float)), np.atleast_2d(np.asarray(b, float)), period)


class StateFeedback(Element):
    """State feedback of a mechanism with a gain of your own, w = w0 - K (x - x0).

    Args:
        mechanism: what is driven, through its inputs.
        K: the gain: a matrix with a row for each input and a column for each state, a `Gain` as
            `lqr` returns it, or numbers by input and state, {"F": {"cart": 3.0}} (others 0).
        states: names of the coordinates and speeds that are fed back, in the order of the columns;
            by default all coordinates, then all speeds, as `linkwright.linearize` has them.
        inputs: names of the inputs that are driven, in the order of the rows; all by default.
        target: x0 by name, where the mechanism starts by default.
        rest: w0 by name, the mechanism's own values by default.
        name: of the element.

    The states are ports of one number each, to which estimates may be connected; the ports
    `target_...` shift x0.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("cart")
    >>> b = m.body("b", translate="x", mass=1)
    >>> f = m.force("push", m.input("F"), at=b, along="x")
    >>> StateFeedback(m, [[1.0, 1.7]]).outputs["F"].values
    (rest_F - b - 1.7*b_dot + target_b + 1.7*target_b_dot,)
    """

    def __init__(
        self,
        mechanism: Any,
        K: ArrayLike | Gain | Mapping[str, Mapping[str, float]],
        *,
        states: Sequence[str] | None = None,
        inputs: Sequence[str] | None = None,
        target: Mapping[str, float] | None = None,
        rest: Mapping[str, float] | None = None,
        name: str = "state_feedback",
    ) -> None:
        super().__init__(name, mechanism)
        m = self.mechanism
        speeds = [s.symbol.name for s in m.kinematics().speeds]
        known = [*m.coordinates, *speeds]
        self.fed_back = tuple(known if states is None else states)
        self.driven = tuple(m.inputs if inputs is None else inputs)
        for state in (*self.fed_back, *(target or {})):
            if state not in known:
                m.unknown(state, known, "coordinate or speed")
        for driven in (*self.driven, *(rest or {})):
            if driven not in m.inputs:
                m.unknown(driven, m.inputs, "input")
        if not self.driven:
            raise BlockError(
                f"{m.name!r} has no input that {name!r} could drive",
                remedy="let a force or moment depend on m.input(...)",
            )
        self.matrix = gain_matrix(K, self.driven, self.fed_back, name)
        deviations = []
        for state in self.fed_back:
            at = (target or {}).get(state, m.initial.get(state, 0.0))
            x = self.input(_word(state), m.expr(state), doc=f"measured {state}")
            wanted = checked(at, f"target {state!r} of {name!r}")
            deviations.append(
                x - self.input(f"target_{_word(state)}", wanted, doc=f"x0 of {state}")
            )
        for row, driven in zip(self.matrix, self.driven, strict=True):
            w0 = {**m.values, **(rest or {})}[driven]
            self.drive(
                driven, self.parameter(f"rest_{_word(driven)}", w0) - combination(row, deviations)
            )


def gain_matrix(K: Any, inputs: Sequence[str], states: Sequence[str], name: str) -> Array:
    """Return a gain as a matrix with a row for each input and a column for each state.

    >>> gain_matrix({"F": {"b": 2}}, ["F"], ["a", "b"], "feedback")
    array([[0., 2.]])
    """
    if isinstance(K, Gain):
        K = K.gain
    if isinstance(K, Mapping):
        for driven, row in K.items():
            unknown = sorted(set(row) - set(states)) if driven in inputs else [driven]
            if unknown:
                there = ", ".join(states if driven in inputs else inputs)
                raise BlockError(f"K of {name!r} is given for {unknown[0]!r}; there is {there}")
        K = [[K.get(w, {}).get(x, 0.0) for x in states] for w in inputs]
    try:
        found = np.atleast_2d(np.asarray(K, dtype=float))
    except (TypeError, ValueError) as error:
        raise BlockError(f"K of {name!r} is not a matrix of numbers: {K!r}") from error
    if found.shape != (len(inputs), len(states)):
        raise BlockError(
            f"K of {name!r} has the shape {found.shape}",
            remedy=f"give {len(inputs)} row(s) for {', '.join(inputs)} and {len(states)} columns "
            f"for {', '.join(states)}",
        )
    if not np.isfinite(found).all():
        raise BlockError(f"K of {name!r} is not finite", remedy="give finite numbers")
    return found


class LQR(StateFeedback):
    """State feedback of a mechanism about an operating point, w = w0 - K (x - x0), by its cost.

    Args:
        mechanism: what is driven, through its inputs.
        model: its linear model there, as `linkwright.linearize` gives it.
        Q: weights of the states: a matrix, its diagonal, or numbers by name (others 0).
        R: weights of the inputs: the same.
        period: of a controller with a rate, s: it is then designed for inputs that hold, and runs
            at that rate.
        inputs: values of the inputs at the operating point; the mechanism's own by default.
        name: of the element.

    The states are ports of one number each, to which estimates may be connected; `target` shifts
    the operating point of coordinates.

    >>> from linkwright.mechanism import Mechanism
    >>> from linkwright.linear.linearization import linearize
    >>> m = Mechanism("cart")
    >>> b = m.body("b", translate="x", mass=1)
    >>> f = m.force("push", m.input("F"), at=b, along="x")
    >>> LQR(m, linearize(m), Q=[1, 1], R=1).gain.gain.round(6)
    array([[1.      , 1.732051]])
    """

    def __init__(
        self,
        mechanism: Any,
        model: Linear,
        Q: Weights = 1.0,
        R: Weights = 1.0,
        *,
        period: float | None = None,
        inputs: Mapping[str, float] | None = None,
        name: str = "lqr",
    ) -> None:
        _refuse_sampled(model)
        if not model.inputs:
            raise BlockError("the linear model has no inputs that a controller could drive")
        q, r = weights(Q, model.states, "Q"), weights(R, model.inputs, "R")
        if period is None:
            self.gain = lqr(model.a, model.b, q, r)
        else:
            checked(period, f"period of {name!r}", above=0.0)
            self.gain = dlqr(*discretize(model.a, model.b, period), q, r)
        for state in model.states:
            if state not in model.point:
                raise BlockError(f"{state!r} of the linear model is not a number to be fed back")
        super().__init__(
            mechanism,
            self.gain,
            states=model.states,
            inputs=model.inputs,
            target={state: model.point[state] for state in model.states},
            rest=inputs,
            name=name,
        )
        if period is not None:
            self.rate = sampled(period=period)
            self.designed_for = self.rate.period


class Observer(StateSpace):
    """An estimator of the states of a linear model from its inputs and what is measured.

    Args:
        model: the linear model, with outputs that are measured.
        process: intensity of the noise on the rates of the states: a matrix, diagonal, or by name.
        measurement: intensity of the noise on the outputs.
        rate: hertz or a `Rate`; continuous by default.
        name: of the block.

    Its port `u` takes the inputs of the model and then its outputs, as deviations from the
    operating point; `y` gives the deviations of the states.

    >>> from linkwright.mechanism import Mechanism
    >>> from linkwright.linear.linearization import linearize
    >>> m = Mechanism("cart")
    >>> b = m.body("b", translate="x", mass=1)
    >>> f = m.force("push", m.input("F"), at=b, along="x")
    >>> y = m.output("place", "b")
    >>> Observer(linearize(m)).gain.gain.round(6)
    array([[1.732051],
           [1.      ]])
    """

    def __init__(
        self,
        model: Linear,
        process: Weights = 1.0,
        measurement: Weights = 1.0,
        *,
        rate: Rate | float | Fraction | None = None,
        name: str = "observer",
    ) -> None:
        _refuse_sampled(model)
        a, b, c = model.a, model.b, model.c
        n, k = len(a), len(c)
        if not k:
            raise BlockError("the linear model has no outputs that could be measured")
        noise = weights(process, model.states, "process")
        seen = weights(measurement, [str(i) for i in range(k)], "measurement")
        if rate is None:
            self.gain = lqe(a, c, noise, seen)
            step, drive, correct = a, b, self.gain.gain
        else:
            period = period_of(rate, name)
            step, drive = discretize(a, b, period)
            self.gain = dlqe(step, c, van_loan(a, noise, period), seen / period)
            correct = step @ self.gain.gain
        super().__init__(
            step - correct @ c, np.hstack([drive, correct]), np.eye(n), name=name, rate=rate
        )


def _refuse_sampled(model: Linear) -> None:
    if getattr(model, "period", 0.0):
        raise BlockError(
            "the linear model is in discrete time already",
            remedy="linearize the continuous part, or use dlqr and dlqe with the model's matrices",
        )


def weights(given: Any, names: Sequence[str], what: str) -> Array:
    """Return a weight as a matrix.

    >>> weights({"b": 2}, ["a", "b"], "Q")
    array([[0., 0.],
           [0., 2.]])
    """
    n = len(names)
    if isinstance(given, Mapping):
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise BlockError(f"{what} weighs {', '.join(unknown)}; there is {', '.join(names)}")
        row = [float(given.get(name, 0.0)) for name in names]
        return _checked_weights(np.diag(row), what)
    try:
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise BlockError(f"{what} is {given!r}", remedy="give numbers") from error
    if array.ndim == 0:
        return _checked_weights(float(array) * np.eye(n), what)
    found = np.diag(array) if array.ndim == 1 else array
    if found.shape != (n, n):
        raise BlockError(f"{what} has the shape {found.shape} for {n} quantities")
    return _checked_weights(found, what)


def _checked_weights(found: Array, what: str) -> Array:
    """Return weights, none of which is below zero or no number."""
    if not np.isfinite(found).all() or np.diag(found).min(initial=0.0) < 0:
        raise BlockError(f"{what} is {found.tolist()}", remedy="weigh by finite numbers from 0 on")
    return found


def _matrices(*given: Any) -> list[Array]:
    try:
        found = [np.atleast_2d(np.asarray(x, dtype=float)) for x in given]
    except (TypeError, ValueError):
        raise BlockError(
            f"a matrix is made of numbers, not of {', '.join(brief(x, 30) for x in given)}",
            remedy="give arrays, or lists of rows",
        ) from None
    for x in found:
        if x.ndim != 2 or not np.isfinite(x).all():
            raise BlockError(f"{brief(x)} is not a matrix of finite numbers")
    return found


def _poles(matrix: Array) -> NDArray[np.complex128]:
    return np.asarray(np.linalg.eigvals(matrix), dtype=complex)


def _solved(solver: Any, *matrices: Array) -> Array:
    try:
        found: Array = solver(*matrices)
    except np.linalg.LinAlgError as error:
        raise DomainError(
            f"Riccati's equation has no solution that stabilizes: {error}",
            remedy="look for states that the inputs cannot reach, or that nothing weighs",
        ) from error
    return found


def _word(name: str) -> str:
    return name.replace(".", "_").replace(" ", "_")
