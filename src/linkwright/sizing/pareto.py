"""Sets of drives of which none is better in everything: margin, mass, energy and price.

Joints are taken from the tip inward. What a set outboard does to the joints inboard depends on its
masses alone, so sets with the same masses are compared at once and the worse ones dropped. A set is
also dropped where even the best that the joints inboard could do leaves it behind a set that is
complete (branch and bound); that best is reckoned with the masses at which the load is smallest,
sample by sample, among all that drives outboard can have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwright.sizing.arm import Arm
from linkwright.sizing.loads import JointLoad
from linkwright.sizing.pairs import Demands, Pairs
from linkwright.sizing.verdicts import DriveChoice

if TYPE_CHECKING:
    from linkwright.formats.catalog.schema import Catalog
    from linkwright.sizing.choice import JointOptions

__all__ = ["DriveSet", "ParetoFront", "front"]

Array: TypeAlias = NDArray[Any]

DRIVES = 64
"""Drives of a joint that are all looked at; of more, the best by mixtures of costs."""

DIGITS = 9
"""Behind the point, of costs: rounding shall not make sets differ."""

FIRST = 40
"""Complete sets that the search starts from."""

CHUNK = 32
"""Sets that are completed before the others are looked at again."""

MOST = 2_500
"""Sets of three joints that are followed at a time; with more, the front is found, not proven."""


@dataclass(frozen=True, slots=True)
class DriveSet:
    """A drive for each joint.

    Args:
        choices: by joint.
        margin: the smallest of all.
        mass: on the arm, kg.
        energy: from the bus in one cycle, J.
        price: of all.
    """

    choices: Mapping[str, DriveChoice]
    margin: float
    mass: float
    energy: float
    price: float


@dataclass(frozen=True, slots=True)
class ParetoFront:
    """The sets of which none is better in everything, lightest first.

    Args:
        sets: the front.
        proven: whether all other sets were ruled out.
        judged: how many sets of outboard masses the joints were judged under.
    """

    sets: tuple[DriveSet, ...]
    proven: bool
    judged: int


@dataclass(frozen=True, slots=True)
class _Partial:
    """Drives of some joints from the tip inward; costs are -margin, mass, energy, price."""

    picks: tuple[int, ...]
    masses: tuple[float, ...]
    costs: tuple[float, float, float, float]


class _Search:
    """One search; `nodes` keeps what joints were judged with."""

    def __init__(self, arm: Arm, catalog: Catalog, demands: Demands) -> None:
        self.arm = arm
        self.catalog = catalog
        self.demands = demands
        self.order = tuple(reversed(arm.names))
        self.nodes: dict[tuple[str, tuple[float, ...]], JointOptions] = {}
        self.pairs: dict[str, Pairs] = {
            c.name: Pairs.all_of(catalog, c.kind, demands.voltage) for c in arm.cycles
        }

    def few(self) -> bool:
        """Keep the best drives of each joint where there are many; return whether all were kept.

        They are the best by each cost and by mixtures of them, under the lightest drives outboard.
        """
        masses: tuple[float, ...] = ()
        whole = True
        for level, name in enumerate(self.order):
            options = self.options(level, masses)
            j = options.judged
            fits = np.flatnonzero(j.fits)
            if not len(fits):
                return whole
            masses = (*masses, float(j.mass[fits].min()))
            if len(fits) <= DRIVES:
                continue
            whole = False
            costs = np.stack([-j.margin, j.mass, j.energy, j.price], axis=1)[fits]
            span = np.ptp(costs, axis=0)
            scaled = (costs - costs.min(axis=0)) / np.where(span > 0.0, span, 1.0)
            rng = np.random.default_rng(0)
            weights = np.concatenate([np.eye(4), rng.dirichlet(np.ones(4), 4 * DRIVES)])
            kept = list(dict.fromkeys(np.argmin(scaled @ weights.T, axis=0).tolist()))[:DRIVES]
            self.pairs[name] = options.pairs.take(fits[np.array(kept)])
        self.nodes.clear()
        return whole

    def options(self, level: int, masses: tuple[float, ...]) -> JointOptions:
        """Return the drives of a joint under the masses of those outboard."""
        from linkwright.sizing.choice import options_of

        name = self.order[level]
        felt = tuple(
            m if (name, other) in self.arm.columns else 0.0
            for other, m in zip(self.order, masses, strict=False)
        )
        key = (name, felt)
        if key not in self.nodes:
            at = dict(zip(self.order, felt, strict=False))
            self.nodes[key] = options_of(
                self.arm, self.catalog, self.demands, name, at, pairs=self.pairs[name]
            )
        return self.nodes[key]

    def grown(self, partial: _Partial, level: int) -> list[_Partial]:
        """Return a partial set with each drive of the next joint that fits."""
        options = self.options(level, partial.masses)
        if options.mounted.margin(self.demands) < 0.0:
            return []
        bearing = self.catalog.bearing.get(options.mounted.name)
        more = (bearing.mass, bearing.price) if bearing else (0.0, 0.0)
        j = options.judged
        worst, mass, energy, price = partial.costs
        return [
            _Partial(
                (*partial.picks, int(k)),
                (*partial.masses, float(j.mass[k]) + more[0]),
                (
                    max(worst, -float(j.margin[k])),
                    mass + float(j.mass[k]) + more[0],
                    energy + float(j.energy[k]),
                    price + float(j.price[k]) + more[1],
                ),
            )
            for k in np.flatnonzero(j.fits)
        ]

    def completed(self, weights: Array) -> list[_Partial]:
        """Return complete sets: at each joint the best drive by weighted costs, tip inward."""
        partial = _START
        for level in range(len(self.order)):
            found = self.grown(partial, level)
            if not found or level == len(self.order) - 1:
                return found
            costs = np.array([p.costs for p in found])
            span = np.ptp(costs, axis=0)
            scaled = (costs - costs.min(axis=0)) / np.where(span > 0.0, span, 1.0)
            partial = found[int(np.argmin(scaled @ weights))]
        return []

    def drive_set(self, partial: _Partial) -> DriveSet:
        """Return a complete set in words."""
        choices = {}
        for level, k in enumerate(partial.picks):
            options = self.options(level, partial.masses[:level])
            choices[self.order[level]] = options.choice(k)
        worst, mass, energy, price = partial.costs
        ordered = {name: choices[name] for name in self.arm.names}
        return DriveSet(ordered, -worst, mass, energy, price)


_START = _Partial((), (), (-np.inf, 0.0, 0.0, 0.0))


def front(arm: Arm, catalog: Catalog, demands: Demands, most: int = MOST) -> ParetoFront:
    """Return the sets of drives of which none is better in everything."""
    search = _Search(arm, catalog, demands)
    proven = search.few()
    best = _first_sets(search)
    hopes = _hopes(search)
    partials = [_START]
    most = max(most // max(len(search.order) - 2, 1) ** 2, 16)
    for level in range(len(search.order) - 1):
        grown = [p for partial in partials for p in search.grown(partial, level)]
        partials = _promising(_undominated(grown, by_masses=True), best, hopes[level + 1])
        if len(partials) > most:
            proven = False
            partials = _spread(partials, most)
    while partials:  # the last joint, some sets at a time: each completed one may rule out others
        now, partials = partials[:CHUNK], partials[CHUNK:]
        grown = [p for partial in now for p in search.grown(partial, len(search.order) - 1)]
        best = _undominated([*best, *grown], by_masses=False)
        partials = _promising(partials, best, hopes[-1])
    sets = [search.drive_set(p) for p in sorted(best, key=lambda p: p.costs[1:])]
    return ParetoFront(tuple(sets), proven, len(search.nodes))


def _first_sets(search: _Search) -> list[_Partial]:
    """Return complete sets that are good in one thing or in a mixture."""
    rng = np.random.default_rng(0)
    weights = [*np.eye(4), *rng.dirichlet(np.ones(4), FIRST)]
    found = [p for w in weights for p in search.completed(w)]
    return _undominated(found, by_masses=False)


def _hopes(search: _Search) -> list[Array]:
    """Return for each level the least that its joint and those inboard add to the costs.

    A row is a drive of that joint; those inboard count with the least of each cost.
    """
    order, spans = search.order, _mass_spans(search)
    hopes: list[Array] = []
    after = np.array([-np.inf, 0.0, 0.0, 0.0])
    for level in reversed(range(len(order))):
        low = _least(search, order[level], {n: spans[n] for n in order[:level]})
        added = low + np.array([0.0, *after[1:]])
        added[:, 0] = np.maximum(low[:, 0], after[0])
        hopes.insert(0, _corners(added))
        after = added.min(axis=0, initial=np.inf)
    return hopes


def _corners(rows: Array) -> Array:
    """Return the rows that no other one beats."""
    parts = [_Partial((), (), (float(a), float(b), float(c), float(d))) for a, b, c, d in rows]
    kept = [p.costs for p in _undominated(parts, by_masses=False)]
    return np.array(kept, dtype=float).reshape(-1, 4)


def _mass_spans(search: _Search) -> dict[str, tuple[float, float]]:
    """Return the least and the largest mass that a drive of each joint can have."""
    catalog, demands = search.catalog, search.demands
    brakes = [b.mass for b in catalog.brake.values()] if demands.brakes else []
    bearings = [b.mass for b in catalog.bearing.values()]
    spans = {}
    for cycle in search.arm.cycles:
        pairs = search.pairs[cycle.name]
        mass = pairs.motor["mass"] + pairs.gear["mass"]
        least, most = (mass.min(), mass.max()) if len(pairs) else (0.0, 0.0)
        top = max(brakes, default=0.0) + max(bearings, default=0.0)
        spans[cycle.name] = float(least), float(most + top)
    return spans


def _least(search: _Search, name: str, spans: Mapping[str, tuple[float, float]]) -> Array:
    """Return the least costs of each drive of a joint under any masses outboard.

    With the load between two bounds at each sample, the torque at the motor lies between two
    bounds too.
    """
    arm, demands = search.arm, search.demands
    cycle = arm.cycle(name)
    pairs = search.pairs[name]
    if not len(pairs):
        return np.zeros((0, 4))
    low, high = np.array(cycle.torque), np.array(cycle.torque)
    for other, (least, most) in spans.items():
        column = arm.columns.get((name, other))
        if column is not None:
            ends = least * column.torque, most * column.torque
            low, high = low + np.minimum(*ends), high + np.maximum(*ends)
    m, g = pairs.motor, pairs.gear
    n, e = g["reduction"][:, None], g["efficiency"][:, None]
    moving = np.sign(cycle.speed)

    def through(torque: Array) -> Array:
        flow = torque * moving
        return np.asarray(
            np.where(flow > 0.0, torque / (n * e), np.where(flow < 0.0, torque * e / n, torque / n))
        )

    own = m["J"] + g["J"]
    brake = max((b.J for b in search.catalog.brake.values()), default=0.0)
    spin = n * cycle.acceleration
    rubbing = (
        m["damping"][:, None] * n * cycle.speed + (m["friction"] + g["no_load"])[:, None] * moving
    )
    ends = own[:, None] * spin, (own + brake)[:, None] * spin
    bottom = through(low) + np.minimum(*ends) + rubbing
    top = through(high) + np.maximum(*ends) + rubbing
    torque = np.clip(0.0, bottom, top)
    fast, mean = n[:, 0] * np.abs(cycle.speed).max(), n[:, 0] * JointLoad(cycle).mean_speed
    used = [
        np.abs(torque).max(axis=1) / m["peak"],
        np.abs(np.clip(0.0, low, high)).max() / g["repeated"],
        np.sqrt(_mean_square(torque, cycle.times)) / m["continuous"] * _derated(m, demands),
        fast / m["speed"],
        fast / g["speed"],
        mean / g["average_speed"],
    ]
    margin = 1.0 - np.maximum.reduce(used)
    hot = m["R"] * (1.0 + m["alpha"] * (m["hottest"] - 20.0))
    energy = _least_energy((hot / m["kt"] ** 2)[:, None], n * cycle.speed, bottom, top, cycle.times)
    hopeful = margin >= 0.0
    mass, price = (m[x] + g[x] for x in ("mass", "price"))
    return np.asarray(np.stack([-margin, mass, energy, price], axis=1)[hopeful])


def _derated(motor: Mapping[str, Array], demands: Demands) -> Array:
    """Return how much more of a continuous torque is used where the surroundings are warm."""
    room = np.maximum(motor["hottest"] - demands.ambient, 1e-300)
    return np.asarray(np.sqrt((motor["hottest"] - motor["ambient"]) / room))


def _mean_square(values: Array, times: Array) -> Array:
    """Return a bound below the mean square of lines that are as far from 0 as given, or farther.

    It is (x² + x y + y²)/3 of the ends of each line, and (x² + y²)/6 or more.
    """
    first, second = values[:, :-1], values[:, 1:]
    both = first**2 + second**2
    square = np.where(first * second > 0.0, (both + first * second) / 3.0, both / 6.0)
    return np.asarray((square * np.diff(times)).sum(axis=1) / (times[-1] - times[0]))


def _least_energy(loss: Array, speed: Array, low: Array, high: Array, times: Array) -> Array:
    """Return a bound below the energy of a motor whose torque T lies between two series.

    loss T² + w T = loss (T + w/(2 loss))² - w²/(4 loss), and both squares are those of lines.
    """
    shift = speed / (2.0 * loss)
    near = _mean_square(np.clip(0.0, low + shift, high + shift), times)
    w, v = speed[:, :-1], speed[:, 1:]
    gained = ((w * w + w * v + v * v) / 3.0 * np.diff(times)).sum(axis=1)
    return np.asarray(loss[:, 0] * near * (times[-1] - times[0]) - gained / (4.0 * loss[:, 0]))


def _undominated(partials: list[_Partial], *, by_masses: bool) -> list[_Partial]:
    """Return the sets that no other one beats, of those with the same masses or of all."""
    groups: dict[tuple[float, ...], list[_Partial]] = {}
    for p in partials:
        groups.setdefault(p.masses if by_masses else (), []).append(p)
    kept: list[_Partial] = []
    for group in groups.values():
        if len(group) == 1:
            kept += group
            continue
        costs = np.round(np.array([p.costs for p in group]), DIGITS)
        order = np.lexsort(costs.T[::-1])
        group, costs = [group[k] for k in order], costs[order]
        best = np.empty_like(costs)
        count = 0
        for k, row in enumerate(costs):
            if count and (best[:count] <= row).all(axis=1).any():
                continue
            best[count] = row
            count += 1
            kept.append(group[k])
    return kept


def _promising(partials: list[_Partial], best: list[_Partial], hope: Array) -> list[_Partial]:
    """Return the sets that could still become better in something than each complete one."""
    if not best or not partials:
        return partials
    done = np.array([p.costs for p in best])
    kept = []
    for p in partials:
        reach = hope + np.array([0.0, *p.costs[1:]])
        reach[:, 0] = np.maximum(hope[:, 0], p.costs[0])
        if not (done[None] <= reach[:, None]).all(axis=2).any(axis=1).all():
            kept.append(p)
    return kept


def _spread(partials: list[_Partial], most: int) -> list[_Partial]:
    """Return some of the sets: the best by each cost, in turn."""
    kept: dict[int, _Partial] = {}
    for rank in range(4):
        ranked = sorted(range(len(partials)), key=lambda k: partials[k].costs[rank])
        kept.update({k: partials[k] for k in ranked[: most // 4]})
    return list(kept.values())
