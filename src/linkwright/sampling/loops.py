"""Loops whose controller acts when a sample comes, and holds its command until the next.

Three forms have the same shape x[k+1] = Phi(t) x[k] + Psi(t) v[k], v = K x: state feedback; with
sums of outputs among the states (the report's PID, z[k+1] = z[k] + C x[k]); and with a command that
acts one sample after it was computed (the report's PD with one step of delay), which is then a
state too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from linkwright.algebra.units import Amount
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.reprs import brief
from linkwright.linear.linearization import LinearModel
from linkwright.sampling.answers import Answers, answers
from linkwright.sampling.assignment import assign
from linkwright.sampling.contraction import log_norms
from linkwright.sampling.designs import Procedure, design
from linkwright.sampling.regimes import Array, Arrivals, Distribution, interval
from linkwright.sampling.steps import closed, transitions


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Loop:
    """A plant x' = A x + B u whose u follows from x at the samples, and holds between them.

    Args:
        a: system matrix, or a linear model in continuous time that has both matrices.
        b: effect of the inputs.
        integral: rows C of outputs whose sums over the samples are states too, before all others.
        delayed: whether a command acts one sample after it was computed; it is a state too, the
            last.
        names: of the states of the plant.

    >>> from linkwright.sampling import Uniform
    >>> loop = Loop([[0, 1], [0, 0]], [[0], [1]])
    >>> found = loop.design(Uniform(0.010, 0.030), poles=(0.4, 0.7))
    >>> found.gain.round(2), round(found.contraction, 3), round(found.mean_square, 3)
    (array([[-1012.5 ,   -60.75]]), -0.226, 0.383)
    """

    a: Array
    b: Array
    integral: Array | None = None
    delayed: bool = False
    names: tuple[str, ...] = field(default=())

    @worded
    def __init__(
        self,
        a: ArrayLike | LinearModel,
        b: ArrayLike | None = None,
        *,
        integral: ArrayLike | None = None,
        delayed: bool = False,
        names: Sequence[str] = (),
    ) -> None:
        if isinstance(a, LinearModel):
            if a.period:
                raise InputError(
                    f"this linear model is sampled every {a.period:g} s already",
                    remedy="linearize the plant without what is sampled",
                    code="R626",
                )
            names = names or a.states
            b = a.b if b is None else b
            a = a.a
        if b is None:
            raise InputError("a loop has two matrices, A and B", remedy="Loop(A, B)", code="R626")
        matrix, effect = np.atleast_2d(_rows(a, "A")), _rows(b, "B")
        effect = effect[:, None] if effect.ndim == 1 else effect
        n = len(matrix)
        if matrix.shape != (n, n) or effect.shape[:1] != (n,) or not effect.shape[1]:
            raise InputError(
                f"A of shape {matrix.shape} and B of shape {effect.shape} are not those of a plant",
                remedy="give A with as many rows as columns, and B with a row for each state",
                code="R626",
            )
        summed = None if integral is None else np.atleast_2d(_rows(integral, "what is summed"))
        if summed is not None and summed.shape[1] != n:
            raise InputError(
                f"what is summed has {summed.shape[1]} columns, and the plant {n} states",
                remedy=f"give {n} columns",
                code="R626",
            )
        if not all(np.isfinite(m).all() for m in (matrix, effect, summed) if m is not None):
            raise InputError(
                "a matrix of the loop has entries that are not numbers",
                remedy="check how it was computed",
                code="R626",
            )
        for name, value in (
            ("a", matrix),
            ("b", effect),
            ("integral", summed),
            ("delayed", bool(delayed)),
            ("names", tuple(names)),
        ):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        form = " with sums" if self.integral is not None else ""
        form += ", delayed" if self.delayed else ""
        return f"Loop({len(self.a)} states, {self.inputs} inputs{form})"

    @property
    def inputs(self) -> int:
        """How many inputs the plant has."""
        return int(self.b.shape[1])

    @property
    def sums(self) -> int:
        """How many sums are among the states."""
        return 0 if self.integral is None else len(self.integral)

    @property
    def size(self) -> int:
        """How many states the loop has, with sums and delayed commands."""
        return self.sums + len(self.a) + (self.inputs if self.delayed else 0)

    @property
    def growth(self) -> float:
        """The rate at which squares of the plant grow without feedback, 1/s; 0 at least."""
        return 2.0 * max(0.0, float(np.linalg.eigvals(self.a).real.max()))

    @property
    def states(self) -> tuple[str, ...]:
        """The names of all states: sums, those of the plant, delayed commands."""
        own = self.names or tuple(f"x{i + 1}" for i in range(len(self.a)))
        sums = tuple(f"sum{i + 1}" for i in range(self.sums))
        late = tuple(f"u{i + 1}" for i in range(self.inputs)) if self.delayed else ()
        return (*sums, *own, *late)

    def steps(self, intervals: ArrayLike) -> tuple[Array, Array]:
        """Return Phi and Psi of the loop for each interval.

        Args:
            intervals: s.
        """
        phi, psi = transitions(self.a, self.b, np.atleast_1d(np.asarray(intervals, dtype=float)))
        return self._extended(phi, psi, 1.0)

    def slopes(self, intervals: ArrayLike) -> tuple[Array, Array]:
        """Return how Phi and Psi of the loop change with the interval, 1/s.

        Args:
            intervals: s.
        """
        phi, _ = transitions(self.a, self.b, np.atleast_1d(np.asarray(intervals, dtype=float)))
        return self._extended(np.asarray(self.a @ phi), np.asarray(phi @ self.b), 0.0)

    def _extended(self, phi: Array, psi: Array, fixed: float) -> tuple[Array, Array]:
        """Return the matrices with sums and delayed commands; `fixed` scales what is constant."""
        if self.integral is not None:
            m, n = self.integral.shape
            whole = np.zeros((len(phi), m + n, m + n))
            whole[:, :m, :m], whole[:, :m, m:] = fixed * np.eye(m), fixed * self.integral
            whole[:, m:, m:] = phi
            phi = whole
            psi = np.concatenate([np.zeros((len(psi), m, self.inputs)), psi], axis=1)
        if self.delayed:
            n, r = psi.shape[1:]
            whole = np.zeros((len(phi), n + r, n + r))
            whole[:, :n, :n], whole[:, :n, n:] = phi, psi
            phi = whole
            psi = np.zeros((len(phi), n + r, r))
            psi[:, n:] = fixed * np.eye(r)
        return phi, psi

    def closed(self, at: Arrivals, gain: Array, depth: int) -> Array:
        """Return the matrices of the closed loop from sample to sample.

        Args:
            at: intervals and delays, along one axis.
            gain: K.
            depth: the longest delay, in samples.
        """
        phi, psi = self.steps(at.intervals)
        early = None
        if at.ages.any():
            if self.delayed:
                raise InputError(
                    "a loop with a step of delay is not combined with ages",
                    remedy="leave out delayed, for the ages are the delay",
                    code="R623",
                )
            after = self.steps(at.intervals - at.ages)[1]
            early, psi = psi - after, after
        return closed(phi, psi, early, gain, at, depth)

    def sizes(self, period: float) -> Array:
        """Return the sizes of the states in units of a period: a rate is 1/period of what it moves.

        Args:
            period: s.

        >>> Loop([[0, 1], [0, 0]], [0, 1], delayed=True).sizes(0.5)
        array([1., 2., 4.])
        """
        states, inputs = self.orders
        order = [0] * self.sums + states + (inputs if self.delayed else [])
        return np.asarray(period ** -np.array(order, dtype=float))

    @property
    def orders(self) -> tuple[list[int], list[int]]:
        """How many times each state and each input is a rate: 1 for that of what has 0."""
        order = [0] * len(self.a)
        for _ in order:
            for i, row in enumerate(self.a):
                moved = np.flatnonzero(row)
                if len(moved) == 1 and moved[0] != i and not self.b[i].any():
                    order[moved[0]] = max(order[moved[0]], min(order[i] + 1, len(order)))
        inputs = [
            1 + max((order[i] for i in np.flatnonzero(column)), default=0) for column in self.b.T
        ]
        return order, inputs

    @worded
    def gain_for(self, poles: Sequence[complex], period: Amount) -> tuple[Array, Array]:
        """Return the gain K with these poles at a constant interval, and the report's T.

        Args:
            poles: of the sampled loop; as many as states, or as each input has.
            period: the interval, s.

        >>> gain, t = Loop([[0, 1], [0, 0]], [0, 1]).gain_for((0.4, 0.7), "11 ms")
        >>> gain.round(2)
        array([[-1487.6 ,   -73.64]])
        """
        step = interval(period, "the interval for which poles are placed")
        phi, psi = self.steps(step)
        return assign(phi[0], psi[0], poles, self.sizes(step))

    @worded
    def computed_torque(self, kp: float, kd: float) -> Array:
        """Return the gain that makes each joint's error obey e'' + kd e' + kp e = 0 at the samples.

        Args:
            kp: stiffness over inertia, 1/s^2.
            kd: damping over inertia, 1/s.

        >>> arm = Loop([[0, 1], [-9.81, -0.1]], [0, 0.5])  # gravity, friction and inertia
        >>> arm.computed_torque(100, 20)
        array([[-180.38,  -39.8 ]])
        """
        n, r = self.b.shape
        upper, lower = self.a[: n - r], self.a[n - r :]
        rates = np.hstack([np.zeros((r, r)), np.eye(r)])
        if n != 2 * r or self.b[:r].any() or not np.allclose(upper, rates) or self.size != n:
            raise InputError(
                "computed torque is for joints with their speeds, each with a torque",
                remedy="linearize the mechanism with an input for each of its joints",
                code="R626",
            )
        wanted = np.hstack([kp * np.eye(r), kd * np.eye(r)])
        return -np.asarray(np.linalg.solve(self.b[r:], lower + wanted), dtype=float)

    @worded
    def gamma(self, intervals: ArrayLike, gain: ArrayLike, transform: ArrayLike) -> Array:
        """Return ln |T^-1 Gamma T| over intervals: how much a step shrinks the state in a norm.

        Args:
            intervals: s.
            gain: K of u = K x.
            transform: T.

        >>> loop = Loop([[0, 1], [0, 0]], [0, 1])
        >>> loop.gamma([1.0, 1.35, 2.0], *loop.gain_for((0.4, 0.7), 1.0)).round(3)
        array([-0.357, -0.417,  0.044])
        """
        phi, psi = self.steps(intervals)
        return log_norms(phi + psi @ self.gain_of(gain), self.transform_of(transform))

    def transform_of(self, transform: ArrayLike) -> Array:
        """Return a transformation T; one that has no inverse, or another size, is rejected.

        Args:
            transform: T, with a row and a column for each state.
        """
        t = np.asarray(transform, dtype=float)
        if t.shape != (self.size, self.size) or not np.isfinite(t).all():
            raise InputError(
                f"a transformation T of shape {t.shape} does not fit {self.size} states "
                f"({', '.join(self.states)})",
                remedy=f"give {self.size} rows of {self.size} numbers",
                code="R626",
            )
        rows = np.abs(t).max(axis=1, keepdims=True)
        scaled = t / np.where(rows > 0.0, rows, 1.0)
        if np.linalg.cond(scaled) > 1e12:
            raise InputError(
                "the transformation T is singular, and gives no norm",
                remedy="give columns that are independent of each other, or leave T out",
                code="R626",
            )
        return t

    def gain_of(self, gain: ArrayLike) -> Array:
        """Return a gain with a row for each input; one for the plant's states alone is filled up.

        Args:
            gain: K of u = K x.
        """
        k = _rows(gain, "the gain")
        k = k[None, :] if k.ndim == 1 else k
        if self.delayed and not self.sums and k.shape == (self.inputs, len(self.a)):
            k = np.hstack([k, np.zeros((self.inputs, self.inputs))])
        if k.shape != (self.inputs, self.size) or not np.isfinite(k).all():
            raise InputError(
                f"a gain of shape {k.shape} does not fit {self.inputs} inputs and {self.size} "
                f"states ({', '.join(self.states)})",
                remedy=f"give {self.inputs} rows of {self.size} numbers",
                code="R626",
            )
        return k

    @worded
    def answers(
        self,
        distribution: Distribution,
        gain: ArrayLike,
        transform: ArrayLike | None = None,
        *,
        streams: int = 50,
        steps: int = 2000,
        seed: int = 0,
    ) -> Answers:
        """Return the four answers to whether the loop is stable.

        Args:
            distribution: of the intervals.
            gain: K of u = K x.
            transform: the T of the first answer; by default that which diagonalizes the loop at the
                mean interval, as the report's does.
            streams: of the Monte Carlo.
            steps: of each stream.
            seed: of all that is random.

        >>> from linkwright.sampling import Bernoulli
        >>> loop = Loop([[0, 1], [0, 0]], [0, 1])
        >>> k, t = loop.gain_for((0.4, 0.7), 0.011)
        >>> found = loop.answers(Bernoulli(0.010, 0.030, p=0.75), k, t)
        >>> round(found.contraction, 4), round(found.mean_square, 4)
        (-0.0369, 0.5586)
        """
        t = None if transform is None else self.transform_of(transform)
        k = self.gain_of(gain)
        return answers(self, distribution, k, t, streams=streams, steps=steps, seed=seed)

    @worded
    def design(
        self,
        distribution: Distribution,
        poles: Sequence[complex],
        *,
        period: Amount | None = None,
        procedure: Procedure | None = None,
        streams: int = 50,
        steps: int = 2000,
        seed: int = 0,
    ) -> Answers:
        """Return a gain for intervals of a distribution, with the four answers for it.

        Args:
            distribution: of the intervals.
            poles: of the loop at the interval for which it is designed.
            period: that interval, s; by default it is searched.
            procedure: how: "report" (its tables, from the first row on that has a fifth of the
                smallest E[gamma]; of a double integrator, for `Bernoulli`, `Uniform` and a
                `Mixture` of two), "strongest" (where E[gamma] is smallest) or "fastest" (the
                shortest with E[gamma] < 0, and a tenth to spare); the report's by default where it
                can be, else the strongest.
            streams: of the Monte Carlo.
            steps: of each stream.
            seed: of all that is random.

        >>> from linkwright.sampling import Uniform
        >>> loop = Loop([[0, 1], [0, 0]], [0, 1])
        >>> found = loop.design(Uniform("10 ms", "30 ms"), poles=(0.4, 0.7), procedure="strongest")
        >>> round(found.period, 4), found.stable
        (0.0178, True)
        """
        own = None if period is None else interval(period, "the interval of the design")
        made = design(self, distribution, tuple(map(complex, poles)), own, procedure)
        found = answers(
            self, distribution, made.gain, made.transform, streams=streams, steps=steps, seed=seed
        )
        return found.designed(made.period, made.procedure)


def _rows(given: object, what: str) -> Array:
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{what} is {brief(given)}", remedy="give rows of as many numbers each", code="R626"
        ) from None
