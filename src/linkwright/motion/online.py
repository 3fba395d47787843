"""Motion to targets that change while it goes on: `online`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from linkwright.algebra import Expr, absolute, as_expr, not_equal, where
from linkwright.blocks import Block
from linkwright.motion.limits import Limits
from linkwright.motion.plans import PLAN, evaluation, planning
from linkwright.motion.trajectory import MotionError

_FINITE = 1e100
_UNITS = {"V": "/s", "A": "/s^2", "J": "/s^3"}
_LIMITS = {"speed": "V", "acceleration": "A", "jerk": "J"}


def online(
    start: ArrayLike,
    limits: Limits,
    *,
    name: str = "online",
    rate: float = 1000.0,
    unit: str | Sequence[str] = "rad",
) -> Block:
    """Return a block that moves to targets within limits of speed, acceleration and jerk.

    The targets may change at any instant: from the place, speed and acceleration that it has, the
    block goes on without a jump of acceleration. It takes the least time in which the slowest axis
    can be there, and all axes arrive together, at rest. A state beyond the limits comes back within
    them first. Planning happens only where something changes; between, polynomials are evaluated.

    Inputs, a number for each axis unless it says otherwise:

    - `target`: where to come to rest;
    - `mode` (one number): 0 for targets; 1 to go with the speeds `target_rate` instead, each
      axis as soon as it can;
    - `stop` (one number): other than 0, all axes come to rest as soon as each can;
    - `max_speed`, `max_acceleration`, `max_jerk`: the limits, which may change too;
    - `reset` (one number): other than 0, the state is `start`, `start_rate` and
      `start_acceleration`, as it is at the first instant.

    Outputs: `q`, `q_dot`, `q_ddot`, `q_dddot` of each axis; `arrived`, 1 where the plan is over;
    `duration` of the plan from its start, s; `refused`, 1 while an input is not finite or a limit
    not above zero: the motion goes on as it was planned before.

    Args:
        start: the places at the beginning, at rest.
        limits: with `speed`, `acceleration` and `jerk`.
        name: of the block.
        rate: instants in a second.
        unit: of the values; or one for each axis.

    >>> from linkwright.simulation import simulate
    >>> from linkwright.system import System
    >>> s = System(name="s")
    >>> axis = s.add(online([0.0, 0.0], Limits(speed=1, acceleration=2, jerk=10)))
    >>> s.connect(0.5, axis.target[0])
    >>> final = simulate(s, until=2.0).final
    >>> final["online.q[0]"], round(final["online.duration"], 4)
    (0.5, 1.2198)
    """
    places = np.atleast_1d(np.asarray(start, dtype=float))
    n = len(places)
    b = Block(name, rate=rate, doc="jerk-limited motion to targets that may change at any time")
    given = {"start": places, "limits": limits, "name": name, "rate": rate, "unit": unit}
    b.made_with = ("online", given)
    here = tuple(map(float, places))

    def per(time: str = "") -> str | tuple[str, ...]:
        return f"{unit}{time}" if isinstance(unit, str) else tuple(f"{x}{time}" for x in unit)

    target = b.input_vector("target", n, here, unit=per(), doc="where to come to rest")
    speed = b.input_vector("target_rate", n, unit=per("/s"), doc="speeds of mode 1")
    mode = b.input("mode", doc="0: to the targets; 1: with the speeds")
    stop = b.input("stop", doc="other than 0: come to rest")
    bounds: dict[str, tuple[Expr, ...]] = {}
    for word, letter in _LIMITS.items():
        numbers = limits.of(word, n)
        if numbers is None:
            raise MotionError(
                f"an online motion needs a limit of {word}",
                remedy="give Limits(speed=..., acceleration=..., jerk=...)",
                code="R724",
            )
        most = tuple(map(float, numbers))
        limit = per(_UNITS[letter])
        bounds[letter] = b.input_vector(f"max_{word}", n, most, unit=limit, doc=f"limits of {word}")
    reset = b.input("reset", doc="other than 0: the state is what `start` says")
    starts = [
        b.input_vector("start", n, here, unit=per(), doc="places to begin from"),
        b.input_vector("start_rate", n, unit=per("/s"), doc="speeds to begin from"),
        b.input_vector("start_acceleration", n, unit=per("/s^2"), doc="and accelerations"),
    ]
    # what is remembered: the plan, what it was made for, and how many instants ago
    plan = {w: [b.discrete_state(f"{w}{k}") for k in range(n)] for w in PLAN}
    since = b.discrete_state("since", initial=-1.0)
    length = b.discrete_state("length", unit="s")

    rates = [where(absolute(stop) > 0, 0, x) for x in speed]
    going = b.intermediate(where((absolute(stop) > 0) | (absolute(mode) > 0), 1, 0))
    wanted = {
        "target": [where(going, 0, x) for x in target],
        "speed": [where(going, x, 0) for x in rates],
        "mode": [going],
        **bounds,
    }
    finite = [absolute(x) < _FINITE for x in (*target, *speed, mode, stop)]
    sound = b.intermediate(
        where(_all([*finite, *(_sound(x) for v in bounds.values() for x in v)]), 1, 0)
    )
    known = {
        w: [b.discrete_state(f"last_{w}{k}") for k in range(len(v))] for w, v in wanted.items()
    }
    differ = _any(
        [not_equal(x, y) for w in wanted for x, y in zip(wanted[w], known[w], strict=True)]
    )
    afresh = b.intermediate(where((since < 0) | (absolute(reset) > 0), 1, 0))
    anew = b.intermediate(where((sound > 0) & ((afresh > 0) | differ), 1, 0))

    t = b.intermediate(since * b.period)
    old = b.embed(evaluation(n), {"t": [t], **plan})
    now = [
        [b.intermediate(where(afresh, x, y)) for x, y in zip(first, old[port], strict=True)]
        for first, port in zip(starts, ("q", "q_dot", "q_ddot"), strict=True)
    ]
    states = dict(zip(("x", "v", "a"), now, strict=True))
    made = b.embed(planning(n), {**states, **wanted, "on": [anew]})
    for word, memory in plan.items():
        for x, y in zip(memory, made[f"{word}_plan"], strict=True):
            b.update(x, where(anew, y, x))
    for word, remembered in known.items():
        for x, y in zip(remembered, wanted[word], strict=True):
            b.update(x, where(anew, y, x))
    lasts = b.intermediate(where(anew, made["duration"][0], length))
    b.update(length, lasts)
    b.update(since, where(anew, 1, where(since < 0, -1, since + 1)))
    jerks = [where(anew, x, y) for x, y in zip(made["jerk"], old["q_dddot"], strict=True)]
    for k, (port, values) in enumerate(
        zip(("q", "q_dot", "q_ddot", "q_dddot"), (*now, jerks), strict=True)
    ):
        b.output_vector(port, values, unit=per(("", "/s", "/s^2", "/s^3")[k]))
    over = where(anew, made["duration"][0] <= 0, (since >= 0) & (t >= length))
    b.output("arrived", where(over, 1, 0), doc="1 where the plan is over")
    b.output("duration", lasts, unit="s", doc="of the plan, from its start")
    b.output("refused", 1 - sound, doc="1 while inputs are not finite or limits not above zero")
    return b


def _sound(limit: Expr) -> Expr:
    return (limit > 0) & (limit < _FINITE)


def _all(conditions: Sequence[Expr]) -> Expr:
    found: Expr = as_expr(1)
    for condition in conditions:
        found = found & condition
    return found


def _any(conditions: Sequence[Expr]) -> Expr:
    found: Expr = as_expr(0)
    for condition in conditions:
        found = found | condition
    return found
