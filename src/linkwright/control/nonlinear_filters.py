"""Extended and unscented Kalman filters as blocks, of models that are Programs.

The extended filter predicts its covariance with the exact Jacobian of the step at the estimate, and
corrects with that of the sensors at the prediction. The unscented filter sends 2n + 1 points
through the step and the sensors themselves, x and x ± γ times the columns of the Cholesky factor of
P, and takes mean and covariance from them (Julier and Uhlmann 2004). With γ² = n, the default, the
middle point has no weight, and a covariance is never negative (Arasaratnam and Haykin 2009).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import ZERO, Expr, maximum, sqrt, total, where
from linkwright.blocks import Rate, checked
from linkwright.control.covariances import covariance_matrix
from linkwright.control.filter_block import FilterBlock
from linkwright.control.kalman_filter import (
    News,
    Symmetric,
    correct_by_all,
    entry,
    follow_covariance,
    moved_covariance,
    remembered_covariance,
    squared,
)
from linkwright.control.linear import Weights
from linkwright.control.step_model import StepModel
from linkwright.program import Program

Array = NDArray[np.float64]


class NonlinearFilter(FilterBlock):
    """What filters of nonlinear models share.

    The parameters of the model are those of the block: a filter may believe in other values. Its
    own parameter `process_scale` multiplies `process`.
    """

    def __init__(
        self,
        model: StepModel,
        process: Weights,
        measurement: Weights,
        *,
        initial: Sequence[float] | None = None,
        covariance: Weights = 100.0,
        every: Sequence[int] | None = None,
        truth: bool = False,
        likelihood: bool = False,
        name: str = "kalman",
        rate: Rate | float | Fraction | None = None,
    ) -> None:
        super().__init__(
            model.states,
            len(model.sensors),
            len(model.inputs),
            initial=model.start if initial is None else initial,
            truth=truth,
            every=every,
            switched=True,
            name=name,
            rate=rate,
        )
        n, m = len(model.states), len(model.sensors)
        self.model = model
        self.process = covariance_matrix(process, model.states, f"process of {name!r}")
        self.measurement = covariance_matrix(measurement, m, f"measurement of {name!r}")
        self.covariance = covariance_matrix(covariance, model.states, f"covariance of {name!r}")
        told = "times the covariance of the noise on the states"
        self._scale = self.parameter("process_scale", 1.0, unit="1", lower=0.0, doc=told)
        self._p = [self.parameter(p.name, p.value, unit=p.unit) for p in model.parameters]
        memory = remembered_covariance(self, self.covariance)
        x, P, news, expected = self._corrected(list(self._prior), memory)
        shown = self._called(model.measure, x)["z"]
        nis = total(one.nis for one in news)
        self._put_out(x, [sqrt(P[i][i]) for i in range(n)], nis, shown, expected)
        if truth:
            self.output("nees", squared(self, self._truth, x, P), unit="1", doc="squared error")
        if likelihood:
            self._tell(news, nis)
        following, moved = self._moved(x, P)
        for prior, value in zip(self._prior, following, strict=True):
            self.update(prior, value)
        follow_covariance(self, memory, moved)

    def _tell(self, news: Sequence[News], nis: Expr) -> None:
        """Put out what fits of parameters need."""
        logs = [one.logarithm(used) for one, used in zip(news, self._used, strict=True)]
        spread = self.output("log_spread", total(logs), unit="1", doc="log det 2πS")
        whitened = [one.whitened for one in news]
        self.output_vector("whitened", whitened, unit="1", doc="independent innovations")
        sum_ = self.discrete_state("sum", unit="1", doc="logarithm of the likelihood so far")
        self.update(sum_, sum_ - (nis + spread) / 2)
        self.output("likelihood", sum_ - (nis + spread) / 2, unit="1", doc="its logarithm")

    def _called(self, program: Program, x: Sequence[Expr]) -> Mapping[str, tuple[Expr, ...]]:
        """Return what a Program of the model gives for some states."""
        return self.embed(program, {"x": x, "u": self._u, "p": self._p, "t": [self.time]})

    @abstractmethod
    def _corrected(
        self, x: list[Expr], P: Symmetric
    ) -> tuple[list[Expr], Symmetric, list[News], tuple[Expr, ...]]:
        """Return estimate and covariance, what each sensor reported, and what was expected."""

    @abstractmethod
    def _moved(self, x: list[Expr], P: Symmetric) -> tuple[Sequence[Expr], Symmetric]:
        """Return estimate and covariance at the next instant."""

    def _linear(
        self, x: list[Expr], P: Symmetric, z: Sequence[Expr], rows: Sequence[Sequence[Expr]]
    ) -> tuple[list[Expr], Symmetric, list[News]]:
        """Correct by sensors z + rows (x - prior), one by one."""
        seen = [
            self._z[k] - z[k] + total(a * b for a, b in zip(row, x, strict=True) if a is not ZERO)
            for k, row in enumerate(rows)
        ]
        return correct_by_all(self, x, P, rows, self.measurement, seen, self._used)


class ExtendedKalmanFilter(NonlinearFilter):
    """A Kalman filter of a nonlinear model, with exact Jacobians at the estimate."""

    def _corrected(
        self, x: list[Expr], P: Symmetric
    ) -> tuple[list[Expr], Symmetric, list[News], tuple[Expr, ...]]:
        found = self._called(_with_slopes(self.model.measure), x)
        expected, n = found["z"], len(x)
        rows = [found["d_z_d_x"][k * n : (k + 1) * n] for k in range(len(expected))]
        return *self._linear(x, P, expected, rows), expected

    def _moved(self, x: list[Expr], P: Symmetric) -> tuple[Sequence[Expr], Symmetric]:
        found = self._called(_with_slopes(self.model.step), x)
        n = len(x)
        rows = [found["d_x_next_d_x"][k * n : (k + 1) * n] for k in range(n)]
        return found["x_next"], moved_covariance(self, P, rows, self.process, self._scale)


class UnscentedKalmanFilter(NonlinearFilter):
    """A Kalman filter of a nonlinear model that sends sigma points through it."""

    def __init__(
        self,
        model: StepModel,
        process: Weights,
        measurement: Weights,
        *,
        spread: float | None = None,
        **more: Any,
    ) -> None:
        n = len(model.states)
        wanted = float(np.sqrt(n)) if spread is None else checked(spread, "spread", above=0.0)
        self._gamma, self._side = wanted, 0.5 / wanted**2
        self._center = 1.0 - n / wanted**2
        super().__init__(model, process, measurement, **more)

    def _corrected(
        self, x: list[Expr], P: Symmetric
    ) -> tuple[list[Expr], Symmetric, list[News], tuple[Expr, ...]]:
        n, m = len(x), len(self.model.sensors)
        slopes = self._called(_with_slopes(self.model.measure), x)
        rows = [slopes["d_z_d_x"][k * n : (k + 1) * n] for k in range(m)]
        if all(v.op == "num" for row in rows for v in row):  # of linear sensors this is exact
            return *self._linear(x, P, slopes["z"], rows), slopes["z"]
        points = self._points(x, P)
        images = [list(self._called(self.model.measure, p)["z"]) for p in points]
        expected = self._mean(images)
        away, off = self._away(images, expected), self._away(points, x)
        C = [
            [self.intermediate(self._product(off, i, away, k)) for k in range(m)] for i in range(n)
        ]
        S = [
            [
                self.intermediate(self._product(away, k, away, j) + float(self.measurement[k, j]))
                for j in range(m)
            ]
            for k in range(m)
        ]
        news = [self.intermediate(z - e) for z, e in zip(self._z, expected, strict=True)]
        told: list[News] = []
        for k in range(m):  # one sensor after the other is taken as known
            s, used = S[k][k], self._used[k]
            weight = self.intermediate(where(s > 0, used / s, ZERO))
            told.append(News(news[k], s, weight))
            gain = [self.intermediate(C[i][k] * weight) for i in range(n)]
            share = [self.intermediate(S[j][k] * weight) for j in range(m)]
            x = [self.intermediate(x[i] + gain[i] * news[k]) for i in range(n)]
            P = [
                [self.intermediate(P[i][j] - gain[i] * C[j][k]) for j in range(i + 1)]
                for i in range(n)
            ]
            new = news[k]
            news = [self.intermediate(news[j] - share[j] * new) for j in range(m)]
            C = [
                [self.intermediate(C[i][j] - gain[i] * S[k][j]) for j in range(m)] for i in range(n)
            ]
            S = [
                [self.intermediate(S[i][j] - share[i] * S[k][j]) for j in range(m)]
                for i in range(m)
            ]
        return x, P, told, tuple(expected)

    def _points(self, x: Sequence[Expr], P: Symmetric) -> list[list[Expr]]:
        """Return the sigma points, the estimate first."""
        n = len(x)
        L: list[list[Expr]] = [[] for _ in range(n)]
        inverse: list[Expr] = []
        for i in range(n):
            for j in range(i):
                rest = entry(P, i, j) - total(L[i][k] * L[j][k] for k in range(j))
                L[i].append(self.intermediate(rest * inverse[j]))
            left = self.intermediate(entry(P, i, i) - total(L[i][k] ** 2 for k in range(i)))
            L[i].append(self.intermediate(sqrt(maximum(left, 0.0))))
            inverse.append(self.intermediate(where(L[i][i] > 0, 1 / L[i][i], ZERO)))
        found = [list(x)]
        for j in range(n):
            for sign in (1.0, -1.0):
                far = sign * self._gamma
                found.append(
                    [self.intermediate(x[i] + far * L[i][j]) if i >= j else x[i] for i in range(n)]
                )
        return found

    def _mean(self, points: Sequence[Sequence[Expr]]) -> list[Expr]:
        """Return the mean of images of the points."""
        center, *sides = points
        return [
            self.intermediate(self._center * center[i] + self._side * total(p[i] for p in sides))
            for i in range(len(center))
        ]

    def _product(
        self, first: Sequence[Sequence[Expr]], i: int, second: Sequence[Sequence[Expr]], j: int
    ) -> Expr:
        """Return a covariance of deviations at the points."""
        sides = total(a[i] * b[j] for a, b in zip(first[1:], second[1:], strict=True))
        weight = self._center
        return weight * first[0][i] * second[0][j] + self._side * sides

    def _away(self, points: Sequence[Sequence[Expr]], mean: Sequence[Expr]) -> list[list[Expr]]:
        return [[self.intermediate(v - c) for v, c in zip(p, mean, strict=True)] for p in points]

    def _moved(self, x: list[Expr], P: Symmetric) -> tuple[Sequence[Expr], Symmetric]:
        step = self.model.step
        images = [
            [self.intermediate(v) for v in self._called(step, p)["x_next"]]
            for p in self._points(x, P)
        ]
        mean = self._mean(images)
        away = self._away(images, mean)
        new = [
            [
                self.intermediate(
                    self._product(away, i, away, j) + self._scale * float(self.process[i, j])
                )
                for j in range(i + 1)
            ]
            for i in range(len(x))
        ]
        return mean, new


@cache
def _with_slopes(program: Program) -> Program:
    """Return a Program with its exact Jacobian by the states."""
    return program.derivative(None, "x", mode="forward", values=True)
