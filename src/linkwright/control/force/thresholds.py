"""Thresholds of a momentum observer from the uncertainty of its model.

A model whose parameters are wrong by at most dp errs in the torques by no more than

    e = sum_k |d tau/d p_k| dp_k,

up to terms of second order in dp. An observer's residual lags behind that error by a filter of
first order, which never amplifies: its impulse response is positive and has the integral 1. So
without contact |r| stays below the largest e of the motion, and a threshold at the largest e of all
motions that are allowed gives no false alarm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from linkwright.algebra import Expr
from linkwright.blocks import BlockError, checked
from linkwright.control.joints import PerJoint, driven_joints, numbers
from linkwright.equations.kernels import quick_inverse
from linkwright.equations.tree import tree_of
from linkwright.mechanism import Mechanism, mechanism_of
from linkwright.program import lower
from linkwright.program.derivatives import derivative
from linkwright.program.interpret import interpret

Array: TypeAlias = npt.NDArray[np.float64]
Span: TypeAlias = tuple[float, float]

_TURN: Span = (-math.pi, math.pi)


def residual_bounds(
    mechanism: Any,
    uncertainty: Mapping[str, float],
    *,
    speed: PerJoint,
    acceleration: PerJoint,
    span: Span | Mapping[str, Span] = _TURN,
    joints: Iterable[str] | None = None,
    margin: float = 1.0,
    least: PerJoint = 0.0,
    samples: int = 4096,
    seed: int = 0,
) -> dict[str, float]:
    """Return the largest residual of each joint that wrong parameters alone can make.

    It is the largest of sum_k |d tau/d p_k| dp_k over random states within the ranges, half of them
    with all speeds and accelerations at the ends of their ranges, times the margin.

    Args:
        mechanism: the model.
        uncertainty: for parameters by name, the largest error in relation to their value.
        speed: the largest of each joint, rad/s or m/s.
        acceleration: the largest of each joint, rad/s^2 or m/s^2.
        span: the range of all joints, or of each by name, rad or m.
        joints: names of the coordinates; all that can be driven by default.
        margin: factor on the result, for states that no sample met and for errors of measurement.
        least: no bound is smaller, N*m or N: for joints whose torque the uncertain parameters do
            not change, and for noise.
        samples: number of states.
        seed: of the random states.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("pendulum")
    >>> weight = m.parameter("weight", 2.0, unit="kg")
    >>> rod = m.body("rod", rotate="z", mass="weight", com=(1, 0, 0), inertia=0)
    >>> m.gravity(along="-y")
    >>> found = residual_bounds(m, {"weight": 0.01}, speed=1, acceleration=5)
    >>> round(found["rod"], 3)  # 1 % of m (g l + l^2 a)
    0.296
    """
    m = mechanism_of(mechanism)
    wrong = _uncertain(m, uncertainty)
    pairs = driven_joints(m, joints)
    names = [q.name for q, _ in pairs]
    count = int(checked(samples, "samples", above=0))
    factor = checked(margin, "margin", above=0)
    most = [
        np.array(numbers(given, names, word, least=0.0))
        for given, word in ((speed, "speed"), (acceleration, "acceleration"))
    ]
    rng = np.random.default_rng(seed)
    low, high = np.array(_spans(span, names), dtype=float).T
    known: dict[Expr, Array] = {}
    places = rng.uniform(low, high, (count, len(names)))
    shares = rng.uniform(-1.0, 1.0, (2, count, len(names)))
    shares[:, : count // 2] = np.sign(shares[:, : count // 2])
    tree = tree_of(m)
    rates = dict(zip(tree.speeds, tree.accelerations, strict=True))
    for k, (q, u) in enumerate(pairs):
        known |= {q: places[:, k], u: shares[0, :, k] * most[0][k]}
        known[rates[u]] = shares[1, :, k] * most[1][k]
    found = _worst(m, wrong, known, count)
    floors = numbers(least, names, "least", least=0.0)
    rows = zip(pairs, floors, strict=True)
    return {q.name: max(factor * found[u], floor) for (q, u), floor in rows}


def _uncertain(m: Mechanism, given: Mapping[str, float]) -> dict[str, float]:
    """Return the errors of parameters in their units."""
    unknown = sorted(set(given) - set(m.parameters))
    some = ", ".join(list(m.parameters)[:8])
    if unknown:
        raise BlockError(
            f"{m.name!r} has no parameter {', '.join(unknown)}",
            remedy=f"it has {some or 'none: give its masses as parameters'}",
        )
    if not given:
        raise BlockError(
            f"uncertainty names no parameter of {m.name!r}", remedy=f"name some of {some}"
        )
    return {
        name: abs(m.values[name]) * checked(x, f"uncertainty of {name!r}", least=0)
        for name, x in given.items()
    }


def _spans(span: Span | Mapping[str, Span], names: Sequence[str]) -> list[Span]:
    if isinstance(span, Mapping):
        unknown = sorted(set(span) - set(names))
        if unknown:
            raise BlockError(f"span is given for {', '.join(unknown)}, which is not driven")
        found = [span.get(name, _TURN) for name in names]
    else:
        found = [span] * len(names)
    for name, (low, high) in zip(names, found, strict=True):
        checked(low, f"span of {name!r}")
        if not checked(high, f"span of {name!r}") >= low:
            raise BlockError(f"the span of {name!r} ends at {high:g}, before it begins at {low:g}")
    return found


def _worst(
    m: Mechanism, wrong: Mapping[str, float], known: Mapping[Expr, Array], count: int
) -> dict[Expr, float]:
    """Return the largest error of each joint's torque, by speed."""
    tree = tree_of(m)
    inverse = quick_inverse(tree)
    made = derivative(inverse, "tau", "p")
    start = {**m.initial}
    arrays = []
    for port in made.inputs:
        columns = [
            known[x]
            if x in known
            else np.full(count, m.values.get(x.name, start.get(x.name, 0.0)), dtype=float)
            for x in port.entries
        ]
        arrays.append(np.stack(columns, axis=-1).reshape(count, *port.shape))
    (slopes,) = interpret(lower(made), arrays)
    errors = np.array([wrong.get(p.name, 0.0) for p in inverse.port("p").entries])
    largest = (np.abs(slopes) @ errors).max(axis=0)
    return dict(zip(tree.speeds, largest.tolist(), strict=True))
