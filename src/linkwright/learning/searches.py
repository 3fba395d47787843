"""Searches for parameters of policies: costs come from many runs at once, and from no slope.

PI2 (Theodorou, Buchli & Schaal 2010) weighs explored parameters by exponentials of their costs; a
cost for each time step is weighed by itself, from there to the end, and the parameters that act
then learn more from it. With one cost for a whole run it is PI-BB (Stulp & Sigaud 2012). CMA-ES
(Hansen 2016) is that of the package cma.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import InputError
from linkwright.base.optional import extra

Array = NDArray[np.float64]
SHARPNESS = 10.0
"""h of PI2: the worst of a group counts exp(-10) of the best."""


@dataclass(frozen=True)
class SearchResult:
    """Parameters that a search has found: `x`, their `cost`, and `history`, the cost after each
    update.

    >>> SearchResult(np.zeros(2), 1.5, [3.0, 1.5]).cost
    1.5
    """

    x: Array
    cost: float
    history: list[float]


def search(
    cost: Callable[[Array], ArrayLike],
    start: ArrayLike,
    spread: ArrayLike,
    *,
    method: str = "pi2",
    lanes: int = 20,
    updates: int = 50,
    active: ArrayLike | None = None,
    decay: float = 0.97,
    seed: int = 0,
) -> SearchResult:
    """Return parameters with a lower cost, found by trying many at once.

    Args:
        cost: takes a row of parameters for each lane, and returns a cost for each row; for PI2
            also a row of costs for the time steps of each lane. Not finite is the worst there is.
        start: parameters to begin with.
        spread: standard deviation of what is tried, one for all parameters or one for each.
        method: "pi2" or "cma" (which needs the package cma).
        lanes: how many are tried at once.
        updates: how often.
        active: of PI2 with costs of time steps: how much each parameter acts at each, a row for
            each time step; all the same by default.
        decay: of PI2: what is left of the spread after an update.
        seed: of what is drawn.

    >>> found = search(lambda x: np.sum((x - [1, 2]) ** 2, axis=1), [0, 0], 0.5)
    >>> bool(np.abs(found.x - [1, 2]).max() < 0.05)
    True
    """
    x = np.array(start, dtype=float)
    if x.ndim != 1 or not x.size or not np.isfinite(x).all():
        raise InputError("start of a search is not a row of finite numbers")
    given = np.asarray(spread, dtype=float)
    if given.shape not in ((), x.shape) or not np.all((given > 0) & (given < np.inf)):
        raise InputError(f"spread of a search is {spread!r}", remedy="give numbers above 0")
    for name, value, least in (("lanes", lanes, 3), ("updates", updates, 1)):
        if value != int(value) or value < least:
            raise InputError(f"{name} of a search is {value!r}", remedy=f"give {least} or more")
    if not 0 < decay <= 1:
        raise InputError(f"decay of a search is {decay!r}", remedy="give one above 0, up to 1")
    ways = {"pi2": _pi2, "cma": _cma}
    if method not in ways:
        raise InputError(f"method of a search is {method!r}", remedy="give 'pi2' or 'cma'")
    if method == "cma" and active is not None:
        raise InputError("CMA-ES has no costs of time steps", remedy="leave out active")
    weights = None if active is None else np.asarray(active, dtype=float)
    widths = np.broadcast_to(given, x.shape)
    return ways[method](_Costs(cost, weights), x, widths, lanes, updates, decay, seed)


class _Costs:
    """What is asked of the user's function, checked: a row of costs for each lane."""

    def __init__(self, cost: Callable[[Array], ArrayLike], active: Array | None) -> None:
        self.cost, self.active = cost, active
        self.x, self.best, self.history = np.zeros(0), np.inf, list[float]()

    def __call__(self, rows: Array) -> Array:
        found = np.array(self.cost(rows.copy()), dtype=float)
        if found.ndim not in (1, 2) or len(found) != len(rows) or not found.size:
            raise InputError(
                f"the cost of a search has the shape {found.shape} for {len(rows)} rows",
                remedy="return a cost for each row, or a row of costs",
            )
        found = found.reshape(len(rows), -1)
        sums = found.sum(axis=1)
        good = np.isfinite(sums)
        if not good.any():
            raise InputError(
                "no cost of a search is finite", remedy="start elsewhere, or with a smaller spread"
            )
        found[~good] = found[good].max(axis=0)
        at = int(np.argmin(np.where(good, sums, np.inf)))
        if sums[at] < self.best:
            self.x, self.best = rows[at].copy(), float(sums[at])
        return found

    def done(self) -> SearchResult:
        return SearchResult(self.x, self.best, self.history)


def _pi2(
    costs: _Costs, x: Array, spread: Array, lanes: int, updates: int, decay: float, seed: int
) -> SearchResult:
    rng = np.random.default_rng(seed)
    for k in range(updates):
        noise = spread * decay**k * rng.normal(size=(lanes, len(x)))
        noise[0] = 0.0  # the mean itself, whose cost is the history's
        found = costs(x + noise)
        costs.history.append(float(found[0].sum()))
        x = x + step_of(found, noise, costs.active)
    costs.history.append(float(costs(x[None]).sum()))
    return costs.done()


def step_of(costs: Array, noise: Array, active: Array | None) -> Array:
    """Return the update of PI2 from costs of lanes and time steps (their table 1)."""
    ahead = np.cumsum(costs[:, ::-1], axis=1)[:, ::-1]
    low, high = ahead.min(axis=0), ahead.max(axis=0)
    share = np.exp(-SHARPNESS * (ahead - low) / np.where(high > low, high - low, 1.0))
    share /= share.sum(axis=0)
    steps = share.T @ noise  # a row for each time step
    acting = np.ones(steps.shape) if active is None else active
    if acting.shape != steps.shape or not (acting >= 0).all():
        raise InputError(
            f"active of a search has the shape {acting.shape}, and costs ask for {steps.shape}",
            remedy="give a number, 0 or more, for each time step and parameter",
        )
    weight = np.arange(len(steps), 0, -1)[:, None] * acting
    total = weight.sum(axis=0)
    return np.asarray((weight * steps).sum(axis=0) / np.where(total > 0, total, 1.0))


def _cma(
    costs: _Costs, x: Array, spread: Array, lanes: int, updates: int, decay: float, seed: int
) -> SearchResult:
    cma = extra("cma", "learning")
    options = {
        "popsize": lanes, "seed": seed + 1, "verbose": -9, "CMA_stds": spread.tolist(),
        "maxiter": updates,
    }  # fmt: skip
    if len(x) == 1:
        raise InputError("CMA-ES needs two parameters or more", remedy="take PI2")
    strategy = cma.CMAEvolutionStrategy(x.tolist(), 1.0, options)
    while not strategy.stop():
        rows = np.array(strategy.ask())
        strategy.tell(list(rows), costs(rows).sum(axis=1).tolist())
        costs.history.append(costs.best)
    mean = np.array(strategy.mean)
    costs(mean[None])
    return costs.done()
