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
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from linkwright.algebra import Expr
from linkwright.base.arguments import worded
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

_STARTS, _ROUNDS = 12, 20
_TURN: Span = (-math.pi, math.pi)


@worded
def residual_bounds(
    mechanism: Any,
    uncertainty: Mapping[str, float],
    *,
    speed: PerJoint,
    acceleration: PerJoint,
    span: Span | Mapping[str, Span] = _TURN,
    joints: Iterable[str] | None = None,
    margin: float = 1.0,
    min_bound: PerJoint = 0.0,
    samples: int = 4096,
    seed: int = 0,
) -> dict[str, float]:
    """Return the largest residual of each joint that wrong parameters alone can make.

    It is the largest sum_k |d tau/d p_k| dp_k that is found within the ranges, times the margin:
    random states, half of them with all speeds and accelerations at the ends of their ranges, and
    for each joint an ascent from the worst of them. Ascents find local maxima; that one of them is
    the greatest of all is likely, not certain.

    Args:
        mechanism: the model.
        uncertainty: for parameters by name, the largest error in relation to their value.
        speed: the largest of each joint, rad/s or m/s.
        acceleration: the largest of each joint, rad/s^2 or m/s^2.
        span: the range of all joints, or of each by name, rad or m.
        joints: names of the coordinates; all that can be driven by default.
        margin: factor on the result, for worse states that no ascent met and for errors of
            measurement.
        min_bound: no bound is smaller, N*m or N: for joints whose torque the uncertain parameters
            do not change, and for noise.
        samples: number of random states.
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
    n = len(names)
    low, high = np.array(_spans(span, names), dtype=float).T
    ends = np.concatenate([low, -most[0], -most[1]]), np.concatenate([high, *most])
    rng = np.random.default_rng(seed)
    states = rng.uniform(*ends, (count, 3 * n))
    states[: count // 2, n:] = np.where(states[: count // 2, n:] < 0, *(e[n:] for e in ends))
    errors = _errors(m, wrong, pairs)
    found = _ascended(errors, states, *ends)
    floors = numbers(min_bound, names, "min_bound", least=0.0)
    rows = zip(names, found, floors, strict=True)
    return {name: max(factor * worst, floor) for name, worst, floor in rows}


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


def _errors(
    m: Mechanism, wrong: Mapping[str, float], pairs: Sequence[tuple[Expr, Expr]]
) -> Callable[[Array], Array]:
    """Return what gives the errors of the joints' torques for states, one row each."""
    tree = tree_of(m)
    inverse = quick_inverse(tree)
    made = derivative(inverse, "tau", "p")
    code = lower(made)
    sizes = np.array([wrong.get(p.name, 0.0) for p in inverse.port("p").entries])
    rates = dict(zip(tree.speeds, tree.accelerations, strict=True))
    order = [q for q, _ in pairs] + [u for _, u in pairs] + [rates[u] for _, u in pairs]
    column = {x: k for k, x in enumerate(order)}
    rows = [tree.speeds.index(u) for _, u in pairs]
    usual = {**m.initial, **m.values}

    def errors(states: Array) -> Array:
        arrays = []
        for port in made.inputs:
            columns = [
                states[:, column[x]]
                if x in column
                else np.full(len(states), usual.get(x.name, 0.0), dtype=float)
                for x in port.entries
            ]
            arrays.append(np.stack(columns, axis=-1).reshape(len(states), *port.shape))
        (slopes,) = interpret(code, arrays)
        found: Array = (np.abs(slopes) @ sizes)[:, rows]
        return found

    return errors


def _ascended(
    errors: Callable[[Array], Array], states: Array, low: Array, high: Array
) -> list[float]:
    """Return the largest error of each joint: from its worst states upward within the box.

    Each number of a state is tried a step up, a step down and at both ends. All that help are
    taken together, or the best of them alone, whichever is more; steps become half as long where
    nothing helps.
    """
    first = errors(states)
    joints, size = first.shape[1], states.shape[1]
    kept = min(_STARTS, len(states))
    best = np.argsort(-first, axis=0, kind="stable")[:kept]
    owner = np.tile(np.arange(joints), kept)
    at, value = states[best.ravel()], first[best.ravel(), owner]
    lines = np.arange(len(at))
    step = np.full(len(at), 0.125)
    for _ in range(_ROUNDS):
        tries = np.repeat(at[:, None], 4, axis=1)[:, :, None].repeat(size, axis=2)
        every = np.arange(size)
        change = step[:, None] * (high - low)
        options = np.stack(
            [
                np.minimum(at + change, high),
                np.maximum(at - change, low),
                np.broadcast_to(low, at.shape),
                np.broadcast_to(high, at.shape),
            ],
            axis=1,
        )
        tries[:, :, every, every] = options
        gained = errors(tries.reshape(-1, size)).reshape(len(at), 4, size, joints)
        gained = gained[lines, :, :, owner]
        choice = gained.argmax(axis=1)
        most = np.take_along_axis(gained, choice[:, None], axis=1)[:, 0]
        chosen = np.take_along_axis(options, choice[:, None], axis=1)[:, 0]
        together = np.where(most > value[:, None], chosen, at)
        joint = errors(together)[lines, owner]
        alone = most.argmax(axis=1)
        single = at.copy()
        single[lines, alone] = chosen[lines, alone]
        peak = most[lines, alone]
        better = np.where((joint >= peak)[:, None], together, single)
        reached = np.maximum(joint, peak)
        risen = reached > value * (1 + 1e-6)
        at = np.where(risen[:, None], better, at)
        value = np.where(risen, reached, value)
        step = np.where(risen, step, step / 2)
    return [float(value[owner == k].max()) for k in range(joints)]
