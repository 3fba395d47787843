"""Mounts of two or three axes in series: their angles for directions, in closed form.

With the first axis e and w(s) = k0 + k1 cos s + k2 sin s the direction at the first angle zero,
e w(s) = e d gives the second angle, with one sign or the other, and the turn about e from w(s) to d
the first. Of three axes the first follows as if the third stood still, but no faster than it is
allowed to; the other two point exactly from wherever it stands.

Which sign, and which turn, is the joint limits' choice over a whole path; where they leave it
open, that of the pose in which the mount starts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import (
    Expr,
    acos,
    atan2,
    cos,
    evaluate_all,
    floor,
    maximum,
    minimum,
    sin,
)
from linkwright.algebra.triples import cross, dot
from linkwright.base.errors import InputError
from linkwright.blocks import Element
from linkwright.equations.closure import assemble
from linkwright.equations.joint_stops import stopping
from linkwright.equations.parallel_machine import ParallelMachine
from linkwright.mounts.axes import rate_limited

Array = NDArray[np.float64]

SHARE = 0.8
"""Of its limit of speed that the first of three axes uses."""
_TURN = 2 * math.pi
_OVER = 1e-6
"""How far beyond a limit counts as at it, rad or m."""


@dataclass(frozen=True, slots=True)
class AxisPair:
    """Two axes in series; `own` is the sign with which they start."""

    e: Array
    k: tuple[Array, Array, Array]
    own: float

    def angles(
        self, element: Element, d: Sequence[Expr], last: Sequence[Expr], sign: float
    ) -> list[Expr]:
        """Return both angles as expressions, each the turn nearest to the last."""
        e, (k0, k1, k2) = self.e, self.k
        c, a, b = (float(e @ v) for v in (k0, k1, k2))
        along = element.intermediate(dot(e.tolist(), d))
        share = maximum(-1.0, minimum(1.0, (along - c) / math.hypot(a, b)))
        second = element.intermediate(math.atan2(b, a) + sign * acos(share))
        cs, sn = element.intermediate(cos(second)), element.intermediate(sin(second))
        w = [
            element.intermediate(float(x) + float(y) * cs + float(z) * sn)
            for x, y, z in zip(k0, k1, k2, strict=True)
        ]
        across = dot(e.tolist(), cross(w, d))
        inner = dot(w, d)
        level = dot(e.tolist(), w)
        first = element.intermediate(atan2(across, inner - level * along))
        return [
            now - _TURN * floor((now - before) / _TURN + 0.5)
            for now, before in zip((first, second), last, strict=True)
        ]

    def numbers(self, d: Array, sign: float) -> Array:
        """Return both angles at rows of directions that are near each other, without jumps."""
        c, a, b = (float(self.e @ v) for v in self.k)
        along = d @ self.e
        share = np.clip((along - c) / math.hypot(a, b), -1.0, 1.0)
        second = math.atan2(b, a) + sign * np.arccos(share)
        w = self._across(second)
        inner = np.einsum("ij,ij->i", w, d) - (w @ self.e) * along
        first = np.arctan2(np.cross(w, d) @ self.e, inner)
        return np.unwrap(np.stack([first, second], axis=1), axis=0)

    def directions(self, q: Array) -> Array:
        """Return where the dish points at rows of angles."""
        return turned(self._across(q[:, 1]), self.e, q[:, 0])

    def _across(self, second: Array) -> Array:
        k0, k1, k2 = self.k
        return np.asarray(k0 + np.cos(second)[:, None] * k1 + np.sin(second)[:, None] * k2)


@dataclass(frozen=True, slots=True)
class AxisChain:
    """A mount of two or three axes in series, as the actuators that follow directions."""

    name: str  # of the mount
    names: tuple[str, ...]  # of its axes
    # the first two axes, and of three the last two besides, at the first angle zero
    pairs: tuple[AxisPair, ...]
    own: Array  # the angles in which the mount starts
    limits: Array  # lower and upper of each
    most: float  # the speed that the first of three is asked for at most, rad/s

    @property
    def arms(self) -> tuple[float, ...]:
        """All are angles."""
        return (1.0,) * len(self.names)

    def values(self, d: Array, step: float) -> Array:
        """Return the angles at directions, of which one follows the other by a step, s."""
        return self.chosen(d, step)[0]

    def chosen(self, d: Array, step: float) -> tuple[Array, tuple[float, ...]]:
        """Return the angles at directions, and the signs that keep them within the limits."""

        def cost(signs: tuple[float, ...]) -> tuple[float, ...]:
            over = beyond(self._numbers(d, step, signs), self.limits).max(axis=1)
            lost = float((over > _OVER).mean())
            return (
                lost,
                round(max(over.max(), _OVER), 6),
                *(s != p.own for s, p in self._signed(signs)),
            )

        signs = min(itertools.product((1.0, -1.0), repeat=len(self.pairs)), key=cost)
        return self._numbers(d, step, signs), signs

    def _signed(self, signs: Sequence[float]) -> list[tuple[float, AxisPair]]:
        return list(zip(signs, self.pairs, strict=True))

    def _numbers(self, d: Array, step: float, signs: Sequence[float]) -> Array:
        q = self.pairs[0].numbers(d, signs[0])
        if len(self.pairs) > 1:
            first = rate_limited(q[:, 0], self.most * step)
            inside = turned(d, self.pairs[0].e, -first)
            q = np.column_stack([first, self.pairs[1].numbers(inside, signs[1])])
        return with_turns(q, self.limits, self.own)

    def directions(self, q: Array) -> Array:
        """Return where the dish points at rows of angles."""
        if len(self.pairs) == 1:
            return self.pairs[0].directions(q)
        return turned(self.pairs[1].directions(q[:, 1:]), self.pairs[0].e, q[:, 0])


def chain_of(
    machine: ParallelMachine, *, speed: float = math.radians(5.0), start: Array | None = None
) -> AxisChain | None:
    """Return a mount of two or three axes in series, or None for another (`speed` in rad/s)."""
    x, m = machine.coordinates, machine.mechanism
    if machine.relations or len(x) not in (2, 3) or tuple(machine.actuators) != tuple(x):
        return None
    bodies = [next(b for b in m.bodies.values() if q in b.coordinates) for q in x]
    if any(q not in b.rotations for q, b in zip(x, bodies, strict=True)):
        return None
    values: dict[Expr, float] = {p: m.values[n] for n, p in m.parameters.items()}
    values[m.time] = 0.0
    found = assemble(m).coordinates
    own = np.array([found[q.name] for q in x]) if start is None else start

    def pair(i: int) -> AxisPair:
        """The axes i and i + 1, those before at zero and one behind as it starts."""
        known = {**values, **dict(zip(x, own.tolist(), strict=True)), **dict.fromkeys(x[:i], 0.0)}
        axis = bodies[i].frame.spins[0][1].components(m.ground.frame)
        e = np.array(evaluate_all(axis, {**known, x[i]: 0.0}), dtype=float)
        w = [
            np.array(evaluate_all(machine.direction, {**known, x[i]: 0.0, x[i + 1]: s}), float)
            for s in (0.0, math.pi, math.pi / 2)
        ]
        k0 = (w[0] + w[1]) / 2
        k = k0, (w[0] - w[1]) / 2, w[2] - k0
        a, b = (float(e @ v) for v in k[1:])
        if math.hypot(a, b) < 1e-9:
            raise InputError(
                f"the axes {x[i].name} and {x[i + 1].name} of {m.name!r} do not turn its dish in "
                "two ways",
                remedy="let the second axis stand across the first, and the dish across the second",
            )
        swing = math.remainder(own[i + 1] - math.atan2(b, a), _TURN)
        return AxisPair(e, k, 1.0 if swing >= -1e-12 else -1.0)

    pairs = tuple(pair(i) for i in range(len(x) - 1))
    names = tuple(q.name for q in x)
    return AxisChain(m.name, names, pairs, own, limits_of(machine), SHARE * speed)


def limits_of(machine: ParallelMachine) -> Array:
    """Return the least and greatest value of each coordinate of a mount."""
    ends: Mapping[Expr, tuple[float, float]] = {
        r.coordinate: (
            -math.inf if r.lower is None else r.lower,
            math.inf if r.upper is None else r.upper,
        )
        for r in stopping(machine.mechanism)
    }
    return np.array([ends.get(q, (-math.inf, math.inf)) for q in machine.coordinates])


def beyond(q: Array, limits: Array) -> Array:
    """Return by how much rows of coordinates exceed their limits; 0 or less within them."""
    return np.asarray(np.maximum(limits[:, 0] - q, q - limits[:, 1]))


def with_turns(q: Array, limits: Array, own: Array) -> Array:
    """Return rows of angles by the whole turns that keep them within limits, or near their own.

    Where no turn has all of them within, the one that has most, and then the nearest to them.
    """
    for column, (low, high), at in zip(q.T, limits, own, strict=True):
        turns = _TURN * np.arange(-2, 3) + _TURN * round((at - column[0]) / _TURN)
        rows = column[:, None] + turns
        over = np.maximum(low - rows, rows - high)
        most = np.maximum(over.max(axis=0), _OVER).round(6)
        near = np.abs(column[0] + turns - at)
        column += turns[np.lexsort((near, most, (over > _OVER).mean(axis=0)))[0]]
    return q


def refuse_beyond(name: str, names: Sequence[str], q: Array, limits: Array, what: str) -> None:
    """Reject rows of coordinates of which one leaves its limits."""
    over = beyond(q, limits)
    row, column = divmod(int(np.argmax(over)), over.shape[1])
    if over[row, column] > _OVER:
        low, high = limits[column]
        raise InputError(
            f"{name!r} cannot {what} within its limits: {names[column]} would come to "
            f"{q[row, column]:.4g}, and goes from {low:.4g} to {high:.4g}",
            remedy="choose another pass or direction, or a mount whose joint goes further",
        )


def turned(v: Array, axis: Array, angle: Array) -> Array:
    """Return rows of vectors, each turned about an axis by its own angle."""
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    return np.asarray(c * v + s * np.cross(axis, v) + (1 - c) * np.outer(v @ axis, axis))
