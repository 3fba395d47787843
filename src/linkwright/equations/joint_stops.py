"""Joint limits in runs: end stops that push back, sized by what the joint moves.

A joint that has a range (`Mechanism.limit`; robot files give theirs) meets a spring
and damper at its ends. Beyond the end by d, and going further at the rate v, it pushes back with

    f = max(0, k d + c v),   k = I w²,   c = 2 sqrt(k I'),

with I the inertia that the joint moves while the others are held (the diagonal of the mass matrix;
joints that follow it move with it, and their ranges are ranges of it),
I' what it moves while they are free (1 over the diagonal of its inverse), and w = 100 rad/s: twice
as stiff as MuJoCo's limits are by default, and about a millirad of give under the weight of an arm
of a meter. A stop never pulls, and it is passive: with k d²/2 stored in it, what it takes from the
joint is that and a loss that is never negative: c v² while it pushes, and where it lets go
(k d + c v < 0, so v < 0) what was stored. Damping by the smaller inertia I' keeps the fastest rate
at 2 w sqrt(I / I'). Steps of a fixed size are no longer than 1 over that (`run_facts`): of 2 to 2.8
times as much explicit methods are unstable, and give other motions without a word. A start far
beyond an end is rejected (`DEPTH` of `linkwright.system.phases`): what is stored there would fling
the joint.

Limits belong to runs alone. Equations, and what robots compute of themselves (inverse and forward
dynamics, linear models), are those of the joint without its stops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwright.algebra import ZERO, Expr, free_symbols, maximum, where
from linkwright.mechanism import Force, Mechanism, MechanismError, Moment
from linkwright.mechanism.followers import followers
from linkwright.mechanism.parts import Range
from linkwright.mechanism.structure import structure_of

FREQUENCY = 100.0
"""Of a stop with what the joint moves, rad/s."""

UNTOUCHED = "for contact touch nothing in a run"
"""What is reported of a robot's shapes; it is not true of runs with something to touch."""

_LEAST = 1e-9  # of the largest inertia, where a joint moves none


def stop_effort(
    q: Expr,
    u: Expr,
    lower: Expr | float | None,
    upper: Expr | float | None,
    stiffness: Expr | float,
    damping: Expr | float,
) -> Expr:
    """Return what end stops put on a joint, N*m or N; they never pull inward.

    >>> from linkwright.algebra import symbols
    >>> q, u = symbols("q u")
    >>> stop_effort(q, u, None, 2.0, 100.0, 0.0)
    -where(0 < q - 2, max(0, 100*(q - 2)), 0)
    """
    push: Expr = ZERO
    if lower is not None:
        depth = lower - q
        push = push + where(depth > 0, maximum(stiffness * depth - damping * u, 0.0), 0.0)
    if upper is not None:
        depth = q - upper
        push = push - where(depth > 0, maximum(stiffness * depth + damping * u, 0.0), 0.0)
    return push


def stop_loads(mechanism: Mechanism) -> tuple[list[Force], list[Moment]]:
    """Return the loads by which a mechanism's joints stop at the ends of their ranges.

    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=2)
    >>> m.limit("b", lower=-1.0)
    >>> [str(t.magnitude) for t in stop_loads(m)[1]]
    ['where(0 < -b - 1, max(0, -400*(50 + 50*b + b_dot)), 0)']
    """
    forces: list[Force] = []
    moments: list[Moment] = []
    ranges = stopping(mechanism)
    if not ranges:
        return forces, moments
    sizes = _sizes(mechanism)
    rates = mechanism.kinematics().rates
    for given in ranges:
        q = given.coordinate
        if (words := contradiction(given)) and given.lower != given.upper:
            raise MechanismError(words, remedy="correct them, or run without limits (limits=False)")
        body = next(b for b in mechanism.bodies.values() if q in b.coordinates)
        held, free = sizes[rates[q]]
        stiff = held * FREQUENCY**2
        damping = 2 * float(np.sqrt(stiff * free))
        effort = stop_effort(q, rates[q], given.lower, given.upper, stiff, damping)
        name, doc = f"stop of {q.name}", f"end stop of {q.name}"
        assert body.parent is not None
        if q in body.rotations:
            axis = body.frame.spins[0][1]
            moments.append(Moment(name, effort, axis, body, body.parent, doc))
        else:
            along = next(d for x, d in body.translations if x is q)
            forces.append(Force(name, effort, along, body.origin, body.parent, doc))
    return forces, moments


def run_facts(mechanism: Mechanism) -> dict[str, Any]:
    """Return what runs need to know of the stops: the longest fixed step, s, and the ranges.

    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=2)
    >>> m.limit("b", lower=-1.0)
    >>> run_facts(m)
    {'longest': 0.005, 'ranges': {'b': [-1.0, None]}}
    """
    ranges = stopping(mechanism)
    if not ranges:
        return {}
    sizes, rates = _sizes(mechanism), mechanism.kinematics().rates
    ratios = [held / free for held, free in (sizes[rates[given.coordinate]] for given in ranges)]
    return {
        "longest": 1 / (2 * FREQUENCY * math.sqrt(max(ratios))),
        "ranges": {given.coordinate.name: [given.lower, given.upper] for given in ranges},
    }


def starts_in_range(mechanism: Mechanism, report: list[str] | None = None) -> dict[str, float]:
    """Return where joints start that nobody gives a start, and whose range has no zero.

    Joints of loops start where the loops let them.

    >>> m = Mechanism("m")
    >>> b = m.body("b", rotate="z", mass=1, inertia=2)
    >>> m.limit("b", lower=0.5)
    >>> starts_in_range(m)
    {'b': 0.5}
    """
    if not mechanism.ranges or len(followers(mechanism)) < len(mechanism.constraints):
        return {}
    found = {}
    for given in stopping(mechanism):
        low = -math.inf if given.lower is None else given.lower
        high = math.inf if given.upper is None else given.upper
        name, start = given.coordinate.name, min(max(0.0, low), high)
        if start and name not in mechanism.initial:
            found[name] = start
    if found and report is not None:
        told = ", ".join(f"{name} at {start:g}" for name, start in found.items())
        report.append(f"joints whose range has no zero start at its end: {told}")
    return found


def contradiction(given: Range) -> str:
    """Return what is wrong with a range that joints that follow another leave it; mostly nothing.

    >>> contradiction(Range(Mechanism("m").time, 0.0, 1.0))
    ''
    """
    low, high = given.lower, given.upper
    if low is None or high is None or low < high:
        return ""
    left = f"only {low:g}" if low == high else f"nothing ({low:g} to {high:g})"
    return f"the limits of {given.coordinate.name!r} and of joints that follow it leave it {left}"


def with_stops(mechanism: Mechanism) -> Mechanism:
    """Return a view of a mechanism whose joints stop at the ends of their ranges."""
    if not stopping(mechanism):
        return mechanism
    forces, moments = stop_loads(mechanism)
    known, before = mechanism.provenance, structure_of(mechanism)
    view = mechanism.with_parts(
        forces=[*mechanism.forces, *forces], moments=[*mechanism.moments, *moments], ranges=[]
    )
    if known is not None and known.structure == before:
        view.provenance = replace(known, structure=structure_of(view))
    return view


def range_words(mechanism: Mechanism) -> str:
    """Return a sentence on the joints that stop at their limits; empty where none does.

    >>> range_words(Mechanism("m"))
    ''
    """
    names = [given.coordinate.name for given in stopping(mechanism)]
    if not names:
        return ""
    return (
        f"{len(names)} joint(s) stop at their limits: {_some(names)} (limits of speed "
        "and effort are left to controllers)"
    )


def passive_words(mechanism: Mechanism) -> str:
    """Return a sentence on what joints of a robot file do by themselves; empty where none does.

    >>> passive_words(Mechanism("m"))
    ''
    """
    known = mechanism.provenance
    names = [q.name for body in mechanism.passives for q in body.coordinates]
    if not names or known is None or known.robot is None:
        return ""
    return f"{len(names)} joint(s) have the friction and springs of the file: {_some(names)}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")


def run_notes(
    mechanism: Mechanism, *, stopping: bool = True, touching: bool = False
) -> tuple[str, ...]:
    """Return what a run of a robot takes from its file, and what it leaves out, in sentences.

    >>> run_notes(Mechanism("m"))
    ()
    """
    words = range_words(mechanism)
    if words and not stopping:
        words = "the equations were derived without the joint limits"
    rubs = passive_words(mechanism)
    known = mechanism.provenance
    told = mechanism.reports if known is not None and known.robot is not None else []
    told = [line for line in told if not (touching and UNTOUCHED in line)]
    return (*filter(None, (words, rubs)), *told)


def stopping(mechanism: Mechanism) -> list[Range]:
    """Return the ranges that have ends; that of a joint that follows another is one of its leader.

    Coordinates whose motion is prescribed have none.
    """
    tied, moving = followers(mechanism), set(mechanism.coordinates.values())
    prescribed = {
        c.eliminate_coordinate
        for c in mechanism.constraints
        if c.position is not None and len(moving.intersection(free_symbols(c.position))) == 1
    }
    found: dict[Expr, tuple[float, float]] = {}
    for given in mechanism.ranges:
        q = given.coordinate
        low = -math.inf if given.lower is None else given.lower
        high = math.inf if given.upper is None else given.upper
        if low == high:
            continue
        if (x := tied.get(q)) is not None and x.factor:
            low, high = sorted(((low - x.offset) / x.factor, (high - x.offset) / x.factor))
            q = x.leader
        if q in prescribed or q in tied or (low, high) == (-math.inf, math.inf):
            continue
        before = found.get(q, (-math.inf, math.inf))
        low, high = max(before[0], low), min(before[1], high)
        one = math.isclose(low, high, rel_tol=1e-12, abs_tol=1e-12)  # but for rounding
        found[q] = low, low if one else high
    return [
        Range(q, low if math.isfinite(low) else None, high if math.isfinite(high) else None)
        for q, (low, high) in found.items()
    ]


def _sizes(mechanism: Mechanism) -> dict[Expr, tuple[float, float]]:
    """Return what each speed moves while the others are held, and while they are free."""
    from linkwright.equations.numeric_mass import mass_numerically

    pose = dict.fromkeys(mechanism.coordinates, 0.0)
    for given in stopping(mechanism):
        name = given.coordinate.name
        low = -np.inf if given.lower is None else given.lower
        pose[name] = float(np.clip(pose[name], low, np.inf if given.upper is None else given.upper))
    for body in mechanism.bodies.values():
        if body.joint.quaternion and not any(pose[e.name] for e in body.rotations):
            pose[body.rotations[0].name] = 1.0
    missing = {n: 1.0 for n in mechanism.parameters if n not in mechanism.values}
    tied = followers(mechanism)
    for q, x in tied.items():
        pose[q.name] = x.factor * pose[x.leader.name] + x.offset
    names, mass, _ = mass_numerically(mechanism, pose, missing)
    rates = mechanism.kinematics().rates
    for q, x in tied.items():  # what follows a joint is moved by it
        row, leader = names.index(rates[q].name), names.index(rates[x.leader].name)
        moved = np.eye(len(names))
        moved[row, [row, leader]] = 0.0, x.factor
        mass = moved.T @ mass @ moved
    held = np.diag(mass)
    least = _LEAST * max(float(held.max()), 1e-6)
    held = np.maximum(held, least)
    free = 1.0 / np.maximum(np.diag(np.linalg.pinv(mass, hermitian=True)), 1.0 / held.max() / 1e9)
    free = np.clip(free, least, held)
    speeds = mechanism.kinematics().speeds
    assert [s.symbol.name for s in speeds] == names
    return {s.symbol: (float(a), float(b)) for s, a, b in zip(speeds, held, free, strict=True)}
