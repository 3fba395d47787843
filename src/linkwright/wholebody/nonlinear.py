"""Sparse nonlinear programs by Ipopt, which CasADi's wheels carry.

    minimize f(v)   with   low <= c(v) <= high,   lower <= v <= upper

Ipopt is a primal-dual interior point method with a filter (Wächter and Biegler 2006). It is given
exact sparse Jacobians and Hessians, so nothing of CasADi's own derivatives is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.optional import extra

if TYPE_CHECKING:
    from linkwright.wholebody.collocation import Collocation

Array = NDArray[np.float64]
Ints = NDArray[np.intp]
_SOLVED = ("Solve_Succeeded", "Solved_To_Acceptable_Level", "Feasible_Point_Found")


class Pattern:
    """Where a sparse matrix has entries, column by column; entries of one place add up."""

    def __init__(self, rows: Ints, columns: Ints, shape: tuple[int, int]) -> None:
        keys, self.slots = np.unique(columns * shape[0] + rows, return_inverse=True)
        self.shape, self.rows = shape, keys % shape[0]
        self.columns = keys // shape[0]
        self.starts = np.searchsorted(self.columns, np.arange(shape[1] + 1))

    def data(self, values: Array) -> Array:
        """Return the entries in order."""
        return np.asarray(np.bincount(self.slots, values, len(self.rows)), dtype=float)


@dataclass(frozen=True, slots=True)
class SparseSolution:
    """What Ipopt came to."""

    v: Array
    objective: float
    rounds: int
    reached: bool
    why: str  # it ended


def solve(
    problem: Collocation, start: Array, *, tolerance: float, most: int, near: bool = False
) -> SparseSolution:
    """Return a local solution; `near` says that the start is close to one."""
    casadi = extra("casadi", "analysis")
    n, m = len(problem.lower), len(problem.low)
    variables, rows, one = (casadi.Sparsity.dense(k, 1) for k in (n, m, 1))
    nothing = casadi.Sparsity.dense(0, 1)
    jacobian, hessian = (_sparsity(casadi, p) for p in (problem.jacobian, problem.hessian))

    def both(v: Array, _: Array) -> list[Any]:
        f, c = problem.values(v)
        return [casadi.DM(f), casadi.DM(c)]

    def gradient(v: Array, _: Array) -> list[Any]:
        return [casadi.DM(problem.values(v)[0]), casadi.DM(problem.slopes(v)[0])]

    def steepness(v: Array, _: Array) -> list[Any]:
        return [
            casadi.DM(problem.values(v)[1]),
            casadi.DM(jacobian, problem.slopes(v)[1]),
        ]

    def bend(v: Array, _: Array, weight: Array, multipliers: Array) -> list[Any]:
        return [casadi.DM(hessian, problem.curvature(v, float(weight[0]), multipliers))]

    inputs = [variables, nothing]
    function = _callback(casadi, "nlp", inputs, [one, rows], both)
    by = {
        "grad_f": _callback(casadi, "nlp_grad_f", inputs, [one, variables], gradient),
        "jac_g": _callback(casadi, "nlp_jac_g", inputs, [rows, jacobian], steepness),
        "hess_lag": _callback(casadi, "nlp_hess_l", [*inputs, one, rows], [hessian], bend),
    }
    options = {
        "tol": tolerance,
        "max_iter": most,
        "print_level": 0,
        "sb": "yes",
        **({"mu_init": 1e-4, "bound_push": 1e-6, "bound_frac": 1e-6} if near else {}),
    }
    v = casadi.MX.sym("v", n)
    f, c = function(v, casadi.MX.sym("p", 0))
    solver = casadi.nlpsol(
        "motion",
        "ipopt",
        {"x": v, "f": f, "g": c},
        {
            **by,
            **{f"ipopt.{name}": value for name, value in options.items()},
            "print_time": False,
            "show_eval_warnings": False,
            "no_nlp_grad": True,
            **dict.fromkeys(("calc_lam_p", "calc_f", "calc_g"), False),
        },
    )
    found = solver(
        x0=start, lbx=problem.lower, ubx=problem.upper, lbg=problem.low, ubg=problem.high
    )
    stats = solver.stats()
    best = np.array(found["x"]).ravel()
    return SparseSolution(
        best,
        problem.values(best)[0],
        int(stats["iter_count"]),
        stats["return_status"] in _SOLVED,
        str(stats["return_status"]).replace("_", " ").lower(),
    )


def _sparsity(casadi: Any, pattern: Pattern) -> Any:
    starts, rows = pattern.starts.tolist(), pattern.rows.tolist()
    return casadi.Sparsity(*pattern.shape, starts, rows)


def _callback(
    casadi: Any,
    name: str,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    function: Callable[..., list[Any]],
) -> Any:
    """Return a function of CasADi that calls one of ours."""

    class Called(casadi.Callback):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.construct(name, {})

        def get_n_in(self) -> int:
            return len(inputs)

        def get_n_out(self) -> int:
            return len(outputs)

        def get_sparsity_in(self, k: int) -> Any:
            return inputs[k]

        def get_sparsity_out(self, k: int) -> Any:
            return outputs[k]

        def eval(self, given: Sequence[Any]) -> list[Any]:
            return function(*(np.array(x, dtype=float).ravel() for x in given))

    return Called()
