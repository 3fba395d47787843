"""Proofs about machines with closed loops: no singular pose in a region of directions.

A region of directions is cut into boxes of stereographic coordinates s = (a, b), in which the
direction is (2a, 2b, 1 - a^2 - b^2) / (1 + a^2 + b^2): no angle, no singular zenith. In each box
the loops are closed by Krawczyk's test with parameters (Neumaier, *Interval Methods for Systems of
Equations*, 1990, section 5): around the pose q0 of the middle, moved along by its derivative S,

    |C F(q0, s0)| + |C (J S + F_s)| |s - s0| + |1 - C J| m < m

with bounds of J and F_s over the whole box and C an inverse of J at its middle proves that each
direction of the box has one pose within m of q0 + S (s - s0), and that J is regular there: no
singularity of type 1, and none of passive joints at given directions. That the rates of relations
and actuators are regular (none of type 2, no constraint singularity) is proven in the same way.
A box in which a test fails is cut in four. Boxes that meet have one pose in common, so the poses of
the region are one branch. Before that the machine is brought to fewer coordinates without changing
its poses or singularities (`equations.reduced_machine`); that what was removed is regular is proven
in each box as well.

All of it is done with forms and intervals rounded outward: what is proven holds for the machine
with exactly the numbers that it has in double precision. What is left open is listed, and is no
statement.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import lru_cache
from math import degrees, pi, radians, tan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import ONE, Expr, symbol, total
from linkwright.algebra.calculus import gradient
from linkwright.backends.kernel import Kernel, compile as compiled
from linkwright.base.arguments import worded
from linkwright.base.checks import checked_angle
from linkwright.base.errors import DomainError, InputError
from linkwright.base.reprs import one_line
from linkwright.base.results import Result
from linkwright.equations.batch_closing import Closing
from linkwright.equations.evaluation import quantities
from linkwright.equations.reduced_machine import ReducedMachine, reduced_machine
from linkwright.mechanism import ModelLike
from linkwright.parallel.enclosures import (
    SLACK,
    UNIT,
    AffineForm,
    forms_of,
    inverses,
    off_unit,
    product_bound,
    slope_bound,
    stacked_forms,
)
from linkwright.parallel.machine_rates import (
    Array,
    Coordinates,
    MachineRates,
    ProgramParts,
    machine_rates,
)
from linkwright.program import Code, lower, optimize

_OWNER = "certificates"
_CHUNK = 4096
_MARGIN, _ANYWAY = 0.1, 0.05  # of a coordinate's own way, and of the largest of all
_MANY = 400_000
_CORNERS = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
_REASONS = (
    "its poses were not enclosed",
    "it may be singular",
    "a leg may be without length or lie along an axis of its joint",
    "a joint may meet its limit",
)


@one_line
@dataclass(frozen=True, slots=True, eq=False)
class RegionProof(Result):
    """What was proven of a region of directions.

    Args:
        proven: whether the whole region was.
        words: one sentence.
        region: the largest angle from the zenith, rad.
        boxes: how many boxes were proven.
        open_directions: the middles of the boxes that were not, unit vectors.
        open_sizes: their sizes, rad across.
        reasons: why each was left open.
        one_branch: whether the poses of all proven boxes were shown to be one branch.
        seconds: that it took.

    >>> nothing = np.zeros((0, 3))
    >>> RegionProof(True, "proven", 1.5, 1, nothing, nothing[:, 0], (), True, 0.5).as_dict()[
    ...     "open"
    ... ]
    []
    """

    proven: bool
    words: str
    region: float
    boxes: int
    open_directions: Array = field(repr=False)
    open_sizes: Array = field(repr=False)
    reasons: tuple[str, ...] = field(repr=False)
    one_branch: bool
    seconds: float

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "proven": self.proven,
            "words": self.words,
            "zenith_deg": round(degrees(self.region), 9),
            "boxes": self.boxes,
            "open": [
                {"direction": d.tolist(), "size_deg": degrees(s), "reason": r}
                for d, s, r in zip(self.open_directions, self.open_sizes, self.reasons, strict=True)
            ],
            "one_branch": self.one_branch,
            "took_s": self.seconds,
        }


@worded
def prove_regular(
    model: ModelLike,
    zenith: float = pi / 2,
    *,
    q: Coordinates | None = None,
    limits: bool = True,
    smallest: float = radians(0.01),
    timeout: float = 60.0,
) -> RegionProof:
    """Prove that no direction up to an angle from the zenith is singular, on the branch of a pose.

    Args:
        model: with two actuators and a platform that points: a robot, a mechanism, a file or a
            shipped model.
        zenith: the largest angle from z, rad.
        q: a pose of the branch, as in `singularity`.
        limits: also prove that no joint meets its limits.
        smallest: boxes of this size, rad across, are cut no further.
        timeout: after which boxes are cut no further, s.

    >>> from linkwright import Mechanism, Universal
    >>> m = Mechanism("jacks")
    >>> dish = m.body("dish", joint=Universal("x", "y"))
    >>> ends = m.point("e1", dish, (1, 0, 0)), m.point("e2", dish, (0, 1, 0))
    >>> feet = m.point("f1", at=(1, 0, -1)), m.point("f2", at=(0, 1, -1))
    >>> struts = [m.drive_strut(f"jack{k}", feet[k], ends[k], length=1.0) for k in (0, 1)]
    >>> m.actuate("jack0", "jack1")
    >>> p = m.set_platform(dish)
    >>> prove_regular(m, 0.26).proven
    True
    """
    begun = time.perf_counter()
    if not 0.0 < checked_angle(zenith, "the zenith angle of a region", least=0.0, most=pi) < pi:
        raise InputError("the zenith angle of a region is 0 or pi", remedy="give one between them")
    checked_angle(smallest, "the smallest size of boxes", least=0.0, most=pi)
    given = machine_rates(model)
    reduced = reduced_machine(given.machine)
    rates = machine_rates(reduced.machine, length=given.length)
    proof = _Proof(rates, reduced, zenith, limits)
    proof.seed(reduced.coordinates(given.coordinates(q)))
    finest = smallest / 4.0
    while len(proof.centers):
        proof.advance(finest, begun + timeout)
    one = proof.linked()
    return proof.result(zenith, one, time.perf_counter() - begun)


# -- Programs --------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, eq=False)
class _Programs:
    """The equations of a pose with a given direction: a kernel, and code for bounds."""

    kernel: Kernel
    values: Code
    slopes: Code


@lru_cache(maxsize=8)
def _programs(parts: ProgramParts, conditions: tuple[Expr, ...]) -> _Programs:
    q = parts.coordinates
    a, b = (symbol(x, "input", owner=_OWNER) for x in ("a", "b"))
    axes = [symbol(f"e{k}", "input", owner=_OWNER) for k in range(9)]
    size = ONE + a**2 + b**2
    wanted = (2 * a / size, 2 * b / size, (ONE - a**2 - b**2) / size)
    own = parts.pose[3:6]
    f: list[Expr] = list(parts.relations)
    for k in (0, 3):
        f.append(total(axes[k + i] * (own[i] - wanted[i]) for i in range(3)))
    ahead = total(axes[6 + i] * own[i] for i in range(3))
    jacobian = [gradient(x, q) for x in f]
    shift = [gradient(x, (a, b)) for x in f]
    mechanism = parts.machine.mechanism

    def made(name: str, results: dict[str, Any]) -> Any:
        flat = [
            x
            for v in results.values()
            for row in v
            for x in (row if isinstance(row, list | tuple) else [row])
        ]
        return optimize(quantities(mechanism, name, results, flat, q=q, s=(a, b), e=axes), rounds=1)

    values = made("closed", {"f": f})
    slopes = made("slopes", {"J": jacobian, "S": shift, "h": [ahead, *conditions]})
    kernel = compiled(made("poses", {"f": f, "J": jacobian, "S": shift}))
    return _Programs(kernel, lower(values), lower(slopes))


# -- branch and bound ------------------------------------------------------------------------------
@dataclass(slots=True)
class _Done:
    """Boxes that were proven."""

    centers: Array
    half: Array
    q: Array
    slope: Array
    near: Array  # how far the pose may be from the predicted one
    reach: Array  # half the sides of the box of coordinates in which it is the only one


class _Proof:
    """The state of one branch and bound."""

    def __init__(
        self, rates: MachineRates, reduced: ReducedMachine, zenith: float, limits: bool
    ) -> None:
        n, m = len(rates.names), len(rates.machine.relations)
        name = rates.machine.mechanism.name
        if len(rates.driven) != 2 or m + 2 != n:
            raise DomainError(
                f"{name!r} has {n} coordinates, {m} relations and {len(rates.driven)} actuators; a "
                "proof over directions needs two actuators and as many coordinates as relations "
                "and actuators together",
                remedy="cut loops so that no relation is redundant and nothing moves idly",
            )
        self.rates, self.reduced, self.zenith = rates, reduced, zenith
        self.edge = tan(zenith / 2.0)
        self.programs = _programs(rates.parts, reduced.conditions)
        self.low, self.high = rates.limits(limits)
        self.done: list[_Done] = []
        self.left: list[tuple[Array, float, str]] = []
        self.count = 0
        self.centers, self.q = np.zeros((0, 2)), np.zeros((0, n))
        self.half = 0.0

    def seed(self, start: Array, cells: int = 24) -> None:
        """Cut the region into the first boxes, with a pose for each from its neighbor's."""
        closing = Closing(self.rates.machine, ["direction"])
        polar = np.linspace(0.0, self.zenith, cells + 1)
        around = np.linspace(0.0, 2 * np.pi, 4 * cells, endpoint=False)
        x, y = np.meshgrid(polar, around, indexing="ij")
        known = np.stack([np.sin(x) * np.cos(y), np.sin(x) * np.sin(y), np.cos(x)], axis=-1)
        found = closing.follow(known, start)
        if not found.closed.any():
            raise DomainError("no direction of this region closes from the given pose")
        flat, good = known.reshape(-1, 3), found.closed.reshape(-1)
        poses, directions = found.q.reshape(len(flat), -1)[good], flat[good]
        self.half = self.edge / cells
        ticks = (np.arange(cells) * 2 + 1 - cells) * self.half
        self.centers = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)
        self._drop_outside()
        nearest = (_direction(self.centers) @ directions.T).argmax(axis=1)
        self.q = poses[nearest]

    def _drop_outside(self) -> None:
        inner = np.maximum(np.abs(self.centers) - self.half, 0.0)
        keep = (inner**2).sum(axis=1) <= self.edge**2 * (1 + 1e-9)
        self.centers = self.centers[keep]
        if len(self.q):
            self.q = self.q[keep]

    def advance(self, finest: float, until: float) -> None:
        """Try all boxes of one size; cut those that fail."""
        half, again = self.half, []
        for first in range(0, len(self.centers), _CHUNK):
            part = slice(first, first + _CHUNK)
            centers, q = self.centers[part], self.q[part]
            if time.perf_counter() > until or self.count > _MANY:
                self.left += [(c, half, "there was no time left for it") for c in centers]
                continue
            proven, reasons, found = self._tried(centers, q, half)
            self.count += int(proven.sum())
            self.done.append(found)
            rest = np.flatnonzero(~proven)
            if half <= finest:
                self.left += [(centers[k], half, reasons[k]) for k in rest]
            elif len(rest):
                again.append((centers[rest], self.moved_q[rest], self.moved_s[rest]))
        self.half = half / 2.0
        if not again:
            self.centers = np.zeros((0, 2))
            return
        centers, q, slope = (np.concatenate(x) for x in zip(*again, strict=True))
        corners = _CORNERS * self.half
        self.centers = (centers[:, None] + corners).reshape(-1, 2)
        self.q = (q[:, None] + np.einsum("bij,kj->bki", slope, corners)).reshape(-1, q.shape[1])
        self._drop_outside()

    def _polished(self, centers: Array, q: Array, axes: Array) -> tuple[Array, Array, Array]:
        """Return poses at the middles by Newton's method, and their derivatives."""
        fixed = self.rates.fixed_of(self.programs.kernel.inputs)
        for _ in range(6):
            f, jacobian, shift = self.programs.kernel.batch(q, centers, axes, *fixed, size=len(q))
            inverse = inverses(jacobian)
            step = -np.einsum("bij,bj->bi", inverse, f)
            good = np.isfinite(step).all(axis=1) & (np.abs(step).max(axis=1) < 0.5)
            q = np.where(good[:, None], q + np.where(good[:, None], step, 0.0), q)
            if np.abs(np.where(good[:, None], step, 0.0)).max(initial=0.0) < 1e-14:
                break
        _, jacobian, shift = self.programs.kernel.batch(q, centers, axes, *fixed, size=len(q))
        inverse = inverses(jacobian)
        return q, inverse, -inverse @ shift

    def _tried(
        self, centers: Array, q: Array, half: float
    ) -> tuple[NDArray[np.bool_], list[str], _Done]:
        count, n = q.shape
        axes = _axes(centers)
        half = half * (1 + 1e-9)  # boxes overlap, so that rounding leaves no gap between them
        with np.errstate(all="ignore"):
            q, inverse, slope = self._polished(centers, q, axes)
            self.moved_q, self.moved_s = q, np.nan_to_num(slope)
            way = np.abs(slope).sum(axis=2) * half * (1 + 1e-12)
            farthest = (way / self.rates.scales).max(axis=1, keepdims=True) * self.rates.scales
            margin = _MARGIN * way + _ANYWAY * farthest + 1e-9
            reach = (way + margin) * (1 + 1e-12)
            held = margin + UNIT * 8 * np.abs(slope).sum(axis=2) * half  # the products are rounded
            fixed = [AffineForm(x) for x in (*axes.T, *self._fixed(self.programs.values))]
            point = [*(AffineForm(x) for x in (*q.T, *centers.T)), *fixed]
            f = stacked_forms(forms_of(self.programs.values, point), count, (n,))
            moves = slope * half
            box = [
                AffineForm(m, a, b, r)
                for m, a, b, r in zip(q.T, moves[:, :, 0].T, moves[:, :, 1].T, held.T, strict=True)
            ]
            box += [AffineForm(centers[:, 0], half), AffineForm(centers[:, 1], 0.0, half)]
            box += [AffineForm(x) for x in axes.T] + [
                AffineForm(x) for x in self._fixed(self.programs.slopes)
            ]
            found = forms_of(self.programs.slopes, box)
            jacobian = stacked_forms(found[: n * n], count, (n, n))
            shift = stacked_forms(found[n * n : n * n + 2 * n], count, (n, 2))
            ahead, *legs = (
                np.broadcast_to(x.middle - x.swing, (count,)) for x in found[n * n + 2 * n :]
            )
            off, products = off_unit(inverse, jacobian)
            bent = slope_bound(inverse, products, slope, shift).sum(axis=2) * half
            rest = product_bound(inverse, f) + bent
            near = (rest + (off @ margin[..., None])[..., 0]) * SLACK
            closes = (near < margin).all(axis=1) & (ahead > 0)
            for _ in range(4):  # the test maps a smaller surrounding into one smaller still
                near = np.minimum(near, (rest + (off @ near[..., None])[..., 0]) * SLACK)
            second = self._second_kind(q, jacobian)
            low, high = q - reach, q + reach
            allowed = ((low > self.low) & (high < self.high)).all(axis=1)
            upright = np.all([closes, *(x > 0 for x in legs)], axis=0)
        tests = np.stack([closes, second, upright, allowed], axis=1)
        proven = np.asarray(tests.all(axis=1))
        reasons = [_REASONS[k] for k in tests.argmin(axis=1)]
        done = _Done(
            centers[proven],
            np.full(int(proven.sum()), half),
            q[proven],
            slope[proven],
            near[proven],
            reach[proven],
        )
        return proven, reasons, done

    def _fixed(self, code: Code) -> list[float]:
        return [float(x) for array in self.rates.fixed_of(code.inputs) for x in array]

    def _second_kind(self, q: Array, jacobian: list[Array]) -> NDArray[np.bool_]:
        """Whether the rates of relations and actuators are regular in each box."""
        n, m = q.shape[1], len(self.rates.machine.relations)
        rows = [x.copy() for x in jacobian]
        for x in rows:
            x[:, m:] = 0.0
        rows[0][:, m:] = np.eye(n)[self.rates.driven]
        off, _ = off_unit(inverses(rows[0]), rows)
        weights = np.abs(inverses(np.eye(n) - off) @ np.ones((n, 1)))
        return np.asarray((off @ weights * SLACK < weights).all(axis=(1, 2)))

    # -- one branch --------------------------------------------------------------------------------
    def linked(self) -> bool:
        """Whether boxes that share a corner have their pose there in common."""
        if not self.count:
            return False
        parts = [np.concatenate([getattr(d, f) for d in self.done]) for f in _Done.__slots__]
        centers, half, q, slope, near, reach = parts
        finest = float(half.min())
        corners = centers[:, None] + _CORNERS * half[:, None, None]
        keys = np.rint(corners / finest).astype(np.int64).reshape(-1, 2)
        owner = np.repeat(np.arange(len(half)), 4)
        _, place, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        first = owner[place][group.ravel()]
        at = corners.reshape(-1, 2)

        def within(one: NDArray[np.int_], other: NDArray[np.int_]) -> NDArray[np.bool_]:
            """Whether the pose of one box at the corner is the only one of the other."""
            told = q[one] + np.einsum("bij,bj->bi", slope[one], at - centers[one])
            gap = self.rates.apart((told - q[other]) / self.rates.scales) * self.rates.scales
            return np.asarray((np.abs(gap) + near[one] + 1e-11 < reach[other]).all(axis=1))

        inside = within(owner, first) | within(first, owner)
        return bool(inside.all()) and _connected(first, owner, len(half))

    def _told(self) -> str:
        """Return in words what was done to the machine before."""
        if not self.reduced.words:
            return ""
        legs = "; the joints of these legs are regular there" if self.reduced.conditions else ""
        return f"; reduced before, exactly: {', '.join(self.reduced.words)}{legs}"

    def result(self, zenith: float, one: bool, seconds: float) -> RegionProof:
        """Return what was proven."""
        name = self.rates.machine.mechanism.name
        proven = not self.left and one
        kinds = "no singularity of type 1 or 2 and no constraint singularity"
        if np.isfinite([*self.low, *self.high]).any():
            kinds += ", and meets no limit of its coordinates,"
        told, shown = self._told(), f"{round(degrees(zenith), 9):g}"
        if proven:
            words = (
                f"proven: {name!r} has {kinds} in any direction up to {shown} degrees from the "
                f"zenith ({self.count} boxes in {seconds:.1f} s{told})"
            )
        elif not self.left:
            words = (
                f"proven in {self.count} boxes, but not that their poses are one branch: give a "
                "pose from which the region is reached without jumps"
            )
        else:
            words = (
                f"not proven: {len(self.left)} boxes up to {shown} degrees from the zenith are "
                f"open, {self.count} are proven; what is open is not a statement"
            )
        middles = np.array([c for c, _, _ in self.left]).reshape(-1, 2)
        return RegionProof(
            proven,
            words,
            zenith,
            self.count,
            _direction(middles),
            np.array([4.0 * h for _, h, _ in self.left]),
            tuple(r for _, _, r in self.left),
            one,
            seconds,
        )


def _connected(first: NDArray[np.int_], owner: NDArray[np.int_], count: int) -> bool:
    """Whether all boxes hang together by their corners."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(owner)), (first, owner)), shape=(count, count))
    return int(connected_components(links, directed=False)[0]) == 1


def _direction(s: Array) -> Array:
    square = (s**2).sum(axis=1, keepdims=True)
    return np.asarray(np.concatenate([2 * s, 1 - square], axis=1) / (1 + square))


def _axes(centers: Array) -> Array:
    """Return for each box two directions across its middle one, then that one: 9 numbers."""
    d = _direction(centers)
    side = np.where(np.abs(d[:, :1]) < 0.7, [[1.0, 0, 0]], [[0, 1.0, 0]])
    first = np.cross(d, side)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.concatenate([first, np.cross(d, first), d], axis=1)
