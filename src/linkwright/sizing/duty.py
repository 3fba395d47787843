"""Duty types S1 to S10 of IEC 60034-1 (clause 4.2): cycles of each, and which one a task is.

S1 runs without end, S2 for a short time and rests until it is cold. S3 runs and rests in turn; S4
counts the start too, S5 also electric braking. S6 runs without load in place of resting; S7 starts
and brakes without rest. S8 changes load with speed, S9 both without a period, and S10 runs at a few
constant loads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwright.base.errors import InputError
from linkwright.sizing.cycle import JointCycle

__all__ = ["DUTIES", "duty_cycle", "duty_type"]

DUTIES = ("S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S10")
"""Types that `duty_cycle` makes; S9 has no rule, and is any cycle."""

_STEADY = 1e-6


def duty_cycle(
    kind: str,
    torque: float | Sequence[float],
    *,
    speed: float | Sequence[float] = 1.0,
    running: float | Sequence[float] = 1.0,
    resting: float = 0.0,
    starting: float = 0.0,
    braking: float = 0.0,
    idle: float = 0.0,
    inertia: float = 0.0,
    name: str = "duty",
) -> JointCycle:
    """Return one period of a duty type, as the load of a joint.

    Args:
        kind: "S1" to "S8", or "S10".
        torque: of the load, N·m; for S8 and S10 one for each part.
        speed: while it runs, rad/s; for S8 one for each part.
        running: time under load, s; for S8 and S10 one for each part.
        resting: time at rest, s; for S6 that without load.
        starting: time of the start, s, in which the inertia is brought to speed.
        braking: time of electric braking, s.
        idle: torque without load, N·m, of S6.
        inertia: of load and drive at the joint, kg·m².
        name: of the joint.

    Example:
        >>> cycle = duty_cycle("S3", 5.0, running=4, resting=6)
        >>> cycle.duration, duty_type(cycle)
        (10.0, 'S3')
    """
    if kind not in DUTIES:
        raise InputError(
            f"there is no duty type {kind!r} with a rule",
            remedy=f"choose one of {', '.join(DUTIES)}; S9 is any JointCycle",
            code="R309",
        )
    loads, speeds, times = (
        np.atleast_1d(np.asarray(x, dtype=float)) for x in (torque, speed, running)
    )
    count = max(map(len, (loads, speeds, times)))
    if kind not in ("S8", "S10") and count > 1:
        raise _wrong(kind, "one load, speed and time")
    needs = {
        "S2": (resting,),
        "S3": (resting,),
        "S4": (resting, starting),
        "S5": (resting, starting, braking),
        "S6": (resting,),
        "S7": (starting, braking),
    }
    if not all(x > 0.0 for x in needs.get(kind, ())) or (times <= 0.0).any():
        raise _wrong(kind, "times above 0: running, and what else its type has")
    parts: list[tuple[float, float, float, float]] = []  # duration, speed at ends, torque
    top = float(speeds[0])
    if kind in ("S4", "S5", "S7"):
        parts.append((starting, 0.0, top, float(loads[0]) + inertia * top / starting))
    if kind in ("S8", "S10"):
        for k in range(count):
            load, fast, long = (float(x[min(k, len(x) - 1)]) for x in (loads, speeds, times))
            parts.append((long, fast, fast, load))
    else:
        parts.append((float(times[0]), top, top, float(loads[0])))
    if kind in ("S5", "S7"):
        parts.append((braking, top, 0.0, float(loads[0]) - inertia * top / braking))
    if kind == "S6":
        parts.append((resting, top, top, idle))
    elif kind in ("S2", "S3", "S4", "S5"):
        parts.append((resting, 0.0, 0.0, 0.0))
    return _cycle(name, parts)


def _wrong(kind: str, words: str) -> InputError:
    return InputError(f"duty type {kind} needs {words}", remedy="see duty_cycle", code="R309")


def _cycle(name: str, parts: list[tuple[float, float, float, float]]) -> JointCycle:
    """Return the samples of parts with straight speed and constant torque; steps take no time."""
    times, speed, acceleration, torque = [], [], [], []
    now = 0.0
    total = sum(p[0] for p in parts)
    for k, (long, first, last, load) in enumerate(parts):
        times += [now + (1e-9 * total if k else 0.0), now + long]
        speed += [first, last]
        acceleration += [(last - first) / long] * 2
        torque += [load, load]
        now += long
    t, w = np.array(times), np.array(speed)
    position = np.concatenate([[0.0], np.cumsum(0.5 * (w[1:] + w[:-1]) * np.diff(t))])
    return JointCycle(name, "revolute", t, position, w, np.array(acceleration), np.array(torque))


def duty_type(cycle: JointCycle, time_constant: float | None = None) -> str:
    """Return the duty type of IEC 60034-1 that a cycle comes nearest to.

    Args:
        cycle: of a joint.
        time_constant: of the motor's housing, s; a rest of five times that is S2.

    Example:
        >>> duty_type(duty_cycle("S7", 2.0, starting=0.5, running=3, braking=0.5, inertia=1))
        'S7'
    """
    speed, torque = np.abs(cycle.speed), np.abs(cycle.torque)
    most, strongest = speed.max(), torque.max()
    steps = np.diff(cycle.times)
    real = steps > 1e-7 * cycle.duration

    def spent(which: np.ndarray) -> float:
        return float(steps[real & which[:-1] & which[1:]].sum())

    still = speed <= _STEADY * most
    rest = spent(still & (torque <= _STEADY * strongest))
    faster = np.append(np.diff(speed) > _STEADY * most, False) & np.append(real, False)
    slower = np.append(np.diff(speed) < -_STEADY * most, False) & np.append(real, False)
    starts, brakes = bool(faster.any()), bool((slower & (cycle.power < 0.0)).any())
    steady = np.round(speed[~(faster | slower | np.roll(faster | slower, 1))], 9)
    speeds = np.unique(steady[steady > _STEADY * most])
    loads = np.unique(np.round(torque[~still], 9))
    if rest > 0.0:
        if time_constant is not None and rest >= 5.0 * time_constant:
            return "S2"
        return "S5" if brakes else "S4" if starts else "S3"
    if len(speeds) > 1 and len(loads) <= 2 * len(speeds):
        return "S8"
    if starts or slower.any():
        return "S7" if len(speeds) <= 1 and len(loads) <= 3 else "S9"
    if len(loads) <= 1:
        return "S1"
    if len(loads) == 2:
        return "S6"
    return "S10" if len(loads) <= 4 else "S9"
