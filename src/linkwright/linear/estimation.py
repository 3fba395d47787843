"""Kalman filters of Systems: what they predict with is made from the System itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra.units import Amount
from linkwright.base.arguments import worded
from linkwright.base.errors import suggestion, unknown
from linkwright.blocks import Block, BlockError, Sampled, as_rate, checked
from linkwright.blocks.discretization import van_loan
from linkwright.control.covariances import covariance_matrix, unobservable
from linkwright.control.kalman_filter import KalmanFilter, SteadyKalmanFilter
from linkwright.control.linear import Weights, discretize
from linkwright.control.nonlinear_filters import ExtendedKalmanFilter, UnscentedKalmanFilter
from linkwright.control.step_model import Measurement
from linkwright.linear.linearization import LinearModel, linearize
from linkwright.mechanism import ModelLike
from linkwright.system import System, system_of
from linkwright.system.step_models import (
    delayed,
    refuse_functions,
    step_model,
    with_sensors,
)

Array = NDArray[np.float64]
FilterKind = Literal["time-varying", "steady", "extended", "unscented"]
KINDS: tuple[FilterKind, ...] = ("time-varying", "steady", "extended", "unscented")


@worded
def kalman(
    model: ModelLike,
    sensors: Mapping[str, float | Measurement],
    kind: FilterKind = "time-varying",
    *,
    rate: float | Fraction,
    density: Mapping[str, float] | None = None,
    process: Mapping[str, float] | None = None,
    inputs: Sequence[str] | None = None,
    initial: Mapping[str, float] | None = None,
    covariance: Weights | Mapping[str, float] = 100.0,
    at: Mapping[str, Amount] | None = None,
    parameters: Mapping[str, Amount] | None = None,
    steps: int = 2,
    truth: bool = False,
    likelihood: bool = False,
    name: str = "kalman",
) -> Block:
    """Return a Kalman filter of a System as a block.

    Args:
        model: what is estimated: a System, a mechanism, a file, or the name of a shipped model.
        sensors: what is measured (names of channels, or expressions) and the standard deviation
            of its noise, or a `Measurement` that says more.
        kind: "time-varying" and "steady" take the linear model at the start; "extended" and
            "unscented" follow the System where it goes.
        rate: of the filter, Hz.
        density: of white noise in the rates of states, by name: their unit for the root of a
            second. Van Loan's integral makes the covariance of a step of it.
        process: standard deviation of what each step adds to states, by name.
        inputs: names of the inputs that the filter receives, in the order of its port `u`; all that
            nothing drives by default. Others keep their values.
        initial: the estimate at the start, by name; where the System starts by default.
        covariance: of its error: one number, a diagonal, a matrix, or variances by name (others 0).
        at: where the System starts, by name; the linear model is taken there.
        parameters: values of parameters and inputs, by name.
        steps: of the integration in a period, for "extended" and "unscented".
        truth: whether to have a port `truth` and a channel `nees`.
        likelihood: whether "extended" and "unscented" have a channel with the logarithm of the
            likelihood of all that was measured.
        name: of the block.

    The port `z` takes the sensors in their order; [filters](filters.md) reports all ports and
    channels. `state_names` are the states, `unobservable` those that no sensor distinguishes at the
    start.

    >>> from linkwright.blocks import Block
    >>> cart = Block("cart")
    >>> F, v = cart.input("F"), cart.state("v", "F")
    >>> s = System(name="s")
    >>> member = s.add(cart)
    >>> f = kalman(s, {"cart.v": 0.1}, "steady", rate=100, density={"cart.v": 1.0})
    >>> f.state_names, f.gain.gain.round(4)
    (('cart.v',), array([[0.618]]))
    """
    if kind not in KINDS:
        raise unknown("kind of filter", kind, KINDS, kind=BlockError, code="R505")
    if not sensors or not hasattr(sensors, "items"):
        raise BlockError(
            f"no sensors of {name!r} are given",
            remedy="name what is measured, with the deviation of its noise",
            code="R501",
        )
    own = system_of(model).copy()
    own.set_parameters(parameters or {})
    own.set_initial(at or {})
    timed = as_rate(rate)
    if not isinstance(timed, Sampled):
        raise BlockError(
            f"{name!r} works at instants, but it was given no rate",
            remedy="give rate=..., in hertz",
            code="R507",
        )
    plan = _Plan(own, timed.period, sensors, density or {}, process or {}, inputs)
    if kind in ("extended", "unscented"):
        return plan.nonlinear(kind, initial, covariance, steps, truth, likelihood, name)
    return plan.linear(kind, initial, covariance, truth, name)


class _Plan:
    """What a filter is made from."""

    def __init__(
        self,
        system: System,
        period: Fraction,
        sensors: Mapping[str, float | Measurement],
        density: Mapping[str, float],
        process: Mapping[str, float],
        inputs: Sequence[str] | None,
    ) -> None:
        self.system, self.period, self.inputs = system, period, inputs
        self.names = list(sensors)
        self.sensors = [
            s if isinstance(s, Measurement) else Measurement(s) for s in sensors.values()
        ]
        self.density, self.process = density, process
        refuse_functions(system)
        self.seen, _ = with_sensors(system, self.names)
        self.model = linearize(self.seen)

    @property
    def measurement(self) -> list[float]:
        """The variances of the sensors."""
        return [s.variance for s in self.sensors]

    @property
    def every(self) -> list[int]:
        """At how many instants once each sensor has a new value."""
        return [s.every for s in self.sensors]

    def noise(self, states: Sequence[str]) -> Array:
        """Return the covariance of what a step adds to the states."""
        span = float(self.period)
        density = np.sqrt(np.diag(self._variances(self.density, states, "density")))
        process = self._variances(self.process, states, "process")
        if self.model.period == 0.0 and tuple(states) == self.model.states:
            return van_loan(self.model.a, np.diag(density**2), span) + process
        found: Array = np.diag(density**2 * span) + process
        return found

    def _variances(self, given: Mapping[str, float], states: Sequence[str], what: str) -> Array:
        return covariance_matrix(
            {n: checked(v, f"{what} of {n!r}", least=0.0) ** 2 for n, v in given.items()},
            list(states),
            what,
        )

    def start(
        self, states: Sequence[str], known: Sequence[float], given: Mapping[str, float] | None
    ) -> list[float]:
        """Return where the estimate starts."""
        found = dict(zip(states, known, strict=True))
        for name, value in (given or {}).items():
            if name not in found:
                raise BlockError(
                    f"initial is given for {name!r}",
                    remedy=suggestion(name, found, f"there is {', '.join(states)}"),
                    code="R501",
                )
            found[name] = checked(value, f"initial {name!r}")
        return list(found.values())

    # -- linear ------------------------------------------------------------------------------------
    def linear(
        self,
        kind: str,
        initial: Mapping[str, float] | None,
        covariance: Weights | Mapping[str, float],
        truth: bool,
        name: str,
    ) -> Block:
        """Return a filter of the linear model at the start."""
        model = self.model
        phi, theta, drift = self._matrices(model)
        columns = self._columns(model)
        x0 = np.array([model.point.get(s, 0.0) for s in model.states])
        held = self.seen.inputs()
        u0 = np.array([held.get(n, 0.0) for n in model.inputs])
        drift = drift + x0 - phi @ x0 - theta[:, columns] @ u0[columns]
        h, d = model.c, model.d[:, columns]
        bias = model.level - h @ x0 - d @ u0[columns]
        states = list(model.states)
        Q = self.noise(states)
        P = covariance_matrix(covariance, states, "covariance")
        start = self.start(states, [float(v) for v in x0], initial)
        theta = theta[:, columns]
        for k, sensor in enumerate(self.sensors):  # what was true some instants ago is a state
            for j in range(sensor.delay):
                row = np.zeros((1, len(phi)))
                row[0, : len(h[k])] = h[k]
                shown = float(h[k] @ np.array(start)) + float(d[k] @ u0[columns]) + float(bias[k])
                spread = float(h[k] @ P @ h[k])
                phi = np.block([[phi, np.zeros((len(phi), 1))], [row, np.zeros((1, 1))]])
                theta = np.vstack([theta, d[k : k + 1]])
                drift = np.append(drift, bias[k])
                Q, P = _bordered(Q, 0.0), _bordered(P, spread)
                h = np.hstack([h, np.zeros((len(h), 1))])
                h[k], d[k], bias[k] = 0.0, 0.0, 0.0
                h[k, -1] = 1.0
                start.append(shown)
                states.append(f"{self.names[k]} late by {j + 1}")
        given = {
            "theta": theta if len(columns) else None,
            "d": d if len(columns) else None,
            "drift": drift,
            "bias": bias,
            "initial": start,
            "states": states,
            "truth": truth,
            "name": name,
            "rate": 1 / self.period,
        }
        if kind == "steady":
            if any(s.every > 1 for s in self.sensors):
                raise BlockError(
                    f"{name!r} has sensors that are slower than it, so its gain does not settle",
                    remedy='take kind="time-varying", or a lower rate',
                    code="R507",
                )
            return SteadyKalmanFilter(phi, h, Q, self.measurement, **given)
        return KalmanFilter(phi, h, Q, self.measurement, covariance=P, every=self.every, **given)

    def _columns(self, model: LinearModel) -> list[int]:
        """Return which inputs the filter receives."""
        if self.inputs is None:
            return list(range(len(model.inputs)))
        for name in self.inputs:
            if name not in model.inputs:
                there = ", ".join(model.inputs) or "none"
                raise unknown(
                    "open input",
                    name,
                    model.inputs,
                    f"there is {there}",
                    owner=repr(self.system.name),
                    kind=BlockError,
                    code="R508",
                )
        return [model.inputs.index(name) for name in self.inputs]

    def _matrices(self, model: LinearModel) -> tuple[Array, Array, Array]:
        """Return the linear model over a period of the filter: states, inputs, drift."""
        span = float(self.period)
        if model.period == 0.0:
            both = np.hstack([model.b, model.drift[:, None]])
            phi, theta = discretize(model.a, both, span)
            return phi, theta[:, :-1], theta[:, -1]
        count = span / model.period
        if abs(count - round(count)) > 1e-9 or count < 0.5:
            raise BlockError(
                f"{self.system.name!r} repeats every {model.period:g} s, the filter runs every "
                f"{span:g} s",
                remedy="let the filter's period be a whole number of that of the System",
                code="R508",
            )
        phi, theta, drift = np.eye(len(model.a)), np.zeros_like(model.b), np.zeros(len(model.a))
        for _ in range(round(count)):
            phi, theta = model.a @ phi, model.a @ theta + model.b
            drift = model.a @ drift + model.drift
        return phi, theta, drift

    # -- nonlinear ---------------------------------------------------------------------------------
    def nonlinear(
        self,
        kind: str,
        initial: Mapping[str, float] | None,
        covariance: Weights | Mapping[str, float],
        steps: int,
        truth: bool,
        likelihood: bool,
        name: str,
    ) -> Block:
        """Return a filter that follows the System."""
        whole = checked(steps, "steps", least=1.0)
        model = step_model(
            self.system, self.names, self.period, inputs=self.inputs, steps=round(whole)
        )
        states = model.states
        Q = self.noise(states)
        P = covariance_matrix(covariance, states, "covariance")
        start = self.start(states, model.start, initial)
        late = [s.delay for s in self.sensors]
        if any(late):
            model = delayed(model, late)
            for _ in range(len(model.states) - len(states)):
                Q, P = _bordered(Q, 0.0), _bordered(P, float(np.diag(P).max(initial=0.0)))
            start += list(model.start[len(states) :])
        block = ExtendedKalmanFilter if kind == "extended" else UnscentedKalmanFilter
        made = block(
            model,
            Q,
            self.measurement,
            initial=start,
            covariance=P,
            every=self.every,
            truth=truth,
            likelihood=likelihood,
            name=name,
            rate=1 / self.period,
        )
        if self.model.states == states:
            phi = self._matrices(self.model)[0]
            made.unobservable = tuple(unobservable(phi, self.model.c, states))
        return made


def _bordered(matrix: Array, corner: float) -> Array:
    """Return a matrix with one more row and column, zero but for the corner."""
    found = np.zeros((len(matrix) + 1, len(matrix) + 1))
    found[:-1, :-1], found[-1, -1] = matrix, corner
    return found
