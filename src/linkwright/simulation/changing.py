"""Runs in which degrees of freedom come and go: a foot that stands, one that lands, a walking man.

The thesis ends with them (Sayers, section 10.3). A mechanism has modes: sets of relations between
speeds that hold while a mode lasts. Each mode has equations of its own, in the independent speeds
that its relations leave. A mode ends where a quantity falls through zero (the height of a foot, or
a force that would have to pull). Places go on; speeds change at once, by the impulses that the new
relations need. With the mass matrix M of the tree and the new relations J u + b = 0,

    u+ = u - M^-1 J^T (J M^-1 J^T)^-1 (J u + b)

so that the momentum along all that stays free is kept, and the energy that is lost is reported
(Brach, Mechanical Impact Dynamics, 1991; Featherstone 2008, section 11.7). Relations that hang
together are taken once.

A mode may also have a mechanism of its own: the same bodies in another formulation, such as another
sequence of three angles where the first would be singular. Orientations and speeds then go over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.algebra import Expr, free_symbols, linear_coefficients
from linkwright.algebra.nodes import TIME
from linkwright.base.arguments import worded
from linkwright.base.errors import Error, InputError, suggestion
from linkwright.equations.equations import Equations, derive
from linkwright.equations.evaluation import Evaluator, all_values
from linkwright.mechanism import Body, Mechanism, ModelLike, mechanism_of
from linkwright.mechanism.structure import extensible
from linkwright.recording import Channel, Recording
from linkwright.recording.holder import Recorded
from linkwright.simulation.runs import simulate

Array = NDArray[np.float64]
_RANK = 1e-9  # of the largest singular value, for relations that hang together
_CLOSE = 1e-10  # s, to which a switch is found
_MOST = 10_000  # switches in a run
_GUARD = "switch "


@dataclass(frozen=True, slots=True)
class Switch:
    """The end of a mode.

    Args:
        to: the mode that follows.
        when: an expression, or the name of a channel; the mode ends where it falls through zero.
    """

    to: str
    when: str


@dataclass(frozen=True, slots=True)
class RunMode:
    """What holds for a while.

    Args:
        hold: relations between speeds that must vanish, such as "dot(vel(foot), [n1])".
        switches: how it may end.
        forces: whether the forces of the relations are channels, "force of hold 1" and so on.
        model: a mechanism in place of that of the run: bodies and speeds of the same names, whose
            three rotations may have other sequences, or a quaternion.
    """

    hold: Sequence[str] = ()
    switches: Sequence[Switch] = ()
    forces: bool = False
    model: ModelLike | None = None


@dataclass(frozen=True, slots=True)
class ModeChange:
    """A switch that happened.

    Args:
        time: s.
        before: the mode that ended.
        after: the mode that follows.
        speeds: all speeds after it, by name.
        lost: energy that the impulses took, J.
    """

    time: float
    before: str
    after: str
    speeds: dict[str, float]
    lost: float


@dataclass(frozen=True, eq=False)
class ChangingRun(Recorded):
    """A run with its switches.

    Args:
        recording: the channels that all modes have, and `mode`, the number of the mode.
        changes: what happened, in order.
        modes: names of the modes, by their number.
    """

    recording: Recording = field(repr=False)
    changes: tuple[ModeChange, ...]
    modes: tuple[str, ...]


class _Mode:
    """A mode with its mechanism."""

    def __init__(self, base: Mechanism, name: str, mode: RunMode) -> None:
        self.name, self.mode = name, mode
        self.base = base if mode.model is None else mechanism_of(mode.model)
        _refuse_time(self.base)
        self.m = extensible(self.base)
        for k, relation in enumerate(mode.hold, 1):
            self.m.constrain(relation, name=f"hold {k}")
        if mode.forces:
            self.m.output_all("reactions")
        known = {o.name for o in self.m.outputs}
        self.guards: list[str] = []
        for k, switch in enumerate(mode.switches, 1):
            if switch.when in known or f"force of {switch.when}" in known:
                self.guards.append(switch.when)
                continue
            self.m.output(f"{_GUARD}{name} {k}", switch.when)
            self.guards.append(f"{_GUARD}{name} {k}")
        self.equations: Equations = derive(self.m, "kane")
        self.relations = [c.speed for c in self.m.constraints]


@worded
def simulate_modes(
    model: ModelLike,
    modes: Mapping[str, RunMode],
    until: float,
    *,
    start: str | None = None,
    initial: Mapping[str, float] | None = None,
    values: Mapping[str, float] | None = None,
    step: float | None = None,
    tolerance: float = 1e-10,
) -> ChangingRun:
    """Return a run of a mechanism whose relations come and go.

    Args:
        model: the mechanism with what always holds.
        modes: by name.
        until: end time, s.
        start: the first mode; by default the first of `modes`.
        initial: coordinates and speeds at the start; speeds are projected on the first mode.
        values: values of parameters.
        step: from one sample to the next, s; by default a thousandth of the run.
        tolerance: relative error of a step.

    >>> m = Mechanism("ball")
    >>> ball = m.body("b", translate="z", mass=1)
    >>> m.gravity()
    >>> fall = RunMode(switches=[Switch("rest", "b")])
    >>> run = simulate_modes(
    ...     m, {"fall": fall, "rest": RunMode(["b_dot"])}, 1.0, initial={"b": 1.0}
    ... )
    >>> [(c.after, round(c.time, 6), round(c.lost, 6)) for c in run.changes]
    [('rest', 0.451524, 9.81)]
    """
    base = mechanism_of(model)
    _refuse(base, modes, until)
    found = {name: _Mode(base, name, mode) for name, mode in modes.items()}
    names = list(found)
    step = until / 1000 if step is None else step
    mode = found[start or names[0]]
    base = mode.base
    speeds = [s.symbol for s in base.kinematics().speeds]
    state = {**dict.fromkeys(base.coordinates, 0.0), **{u.name: 0.0 for u in speeds}}
    state |= {n: float(v) for n, v in {**base.initial, **(initial or {})}.items()}
    state, _ = _impulse(base, mode, state, all_values(base, values))
    time, parts, changes = 0.0, [], []
    while True:
        part, ended = _stretch(mode, state, values, until - time, step, tolerance)
        parts.append((names.index(mode.name), time, part))
        last = part.recording.final
        state = {n: last[n] for n in state}
        time += float(part.recording.times[-1])
        if ended is None:
            break
        following = found[mode.mode.switches[ended].to]
        state = _carried_over(mode.base, following.base, state)
        state, lost = _impulse(following.base, following, state, all_values(following.base, values))
        told = {s.symbol.name: state[s.symbol.name] for s in following.base.kinematics().speeds}
        changes.append(ModeChange(time, mode.name, following.name, told, lost))
        if len(changes) > _MOST:
            raise Error(
                f"more than {_MOST} switches happened until {time:g} s",
                remedy="let a mode last, or end the run earlier",
            )
        mode = following
        if until - time <= _CLOSE:
            break
    other = {x.name for of in found.values() for b in _turned(base, of.base) for x in b.rotations}
    return ChangingRun(_joined(parts, other), tuple(changes), tuple(names))


def _refuse(base: Mechanism, modes: Mapping[str, RunMode], until: float) -> None:
    if not modes:
        raise InputError("a run of modes has one mode or more")
    for mode in modes.values():
        for switch in mode.switches:
            if switch.to not in modes:
                there = f"there are {', '.join(modes)}"
                raise InputError(
                    f"there is no mode {switch.to!r}", remedy=suggestion(switch.to, modes, there)
                )
    if not until > 0:
        raise InputError(f"a run ends after it begins, not at {until:g} s")


def _refuse_time(base: Mechanism) -> None:
    exprs: list[Expr] = [f.magnitude for f in base.forces]
    exprs += [t.magnitude for t in base.moments] + [c.speed for c in base.constraints]
    if any(x.roles & TIME for x in free_symbols(*exprs)):
        raise InputError(f"laws of {base.name!r} read the time, which begins anew in each mode")


def _turned(before: Mechanism, after: Mechanism) -> list[Body]:
    """Return the bodies that turn in another way after a switch, as both mechanisms have them."""
    pairs = [(b, after.bodies.get(name)) for name, b in before.bodies.items()]
    return [
        body
        for old, new in pairs
        if new is not None and old.joint.rotate != new.joint.rotate
        for body in (old, new)
    ]


def _carried_over(
    before: Mechanism, after: Mechanism, state: Mapping[str, float]
) -> dict[str, float]:
    """Return a state of a mechanism as one of another: the same orientations and speeds."""
    if after is before:
        return dict(state)
    bodies = _turned(before, after)
    angles = {x.name for body in bodies for x in body.rotations}
    found = {n: v for n, v in state.items() if n not in angles}
    for old, new in zip(bodies[::2], bodies[1::2], strict=True):
        found |= _angles(new, _rotation(old, state))
    speeds = [s.symbol.name for s in after.kinematics().speeds]
    if lost := sorted({*after.coordinates, *speeds} ^ set(found)):
        raise InputError(
            f"{after.name!r} is not {before.name!r} in another formulation: {lost[0]!r} is in one "
            "of them alone",
            remedy="give it the same bodies, with coordinates and speeds of the same names",
        )
    return found


def _rotation(body: Body, state: Mapping[str, float]) -> Any:
    from scipy.spatial.transform import Rotation

    now = [state[x.name] for x in body.rotations]
    if body.joint.quaternion:
        return Rotation.from_quat([*now[1:], now[0]])
    return Rotation.from_euler(_sequence(body), now)


def _angles(body: Body, rotation: Any) -> dict[str, float]:
    if body.joint.quaternion:
        x, y, z, w = rotation.as_quat()
        values = (w, x, y, z)
    else:
        values = rotation.as_euler(_sequence(body))
    return {q.name: float(v) for q, v in zip(body.rotations, values, strict=True)}


def _sequence(body: Body) -> str:
    """Return the axes of three angles as SciPy has them: capital for those of the body."""
    j = body.joint
    word = "".join(map(str, j.rotate)).upper()
    if len(word) == 3 and set(word) <= set("XYZ") and j.first_axis is None and j.reference is None:
        return word
    raise InputError(
        f"the rotations of {body.name!r} have no sequence of three axes",
        remedy='give rotate="zyx", or a quaternion',
    )


def _stretch(
    mode: _Mode,
    state: Mapping[str, float],
    values: Mapping[str, float] | None,
    left: float,
    step: float,
    tolerance: float,
) -> tuple[Any, int | None]:
    """Return the run of a mode until it ends, and by which switch; None at the end of time."""
    free = {u.name for u in mode.equations.speeds}
    start = {n: v for n, v in state.items() if n in mode.m.coordinates or n in free}

    def run(until: float) -> Any:
        return simulate(
            mode.m, until, initial=start, parameters=values, step=min(step, until), every=1,
            tolerance=tolerance,
        )  # fmt: skip

    whole = run(left)
    recording = whole.recording
    first: tuple[int, int] | None = None
    for k, name in enumerate(mode.guards):
        where = _fall(recording[name])
        if where is not None and (first is None or where < first[0]):
            first = where, k
    if first is None:
        return whole, None
    place, k = first
    low, high = float(recording.times[place - 1]), float(recording.times[place])
    name = mode.guards[k]
    values_at = float(recording[name][place - 1]), float(recording[name][place])
    best = run(high)
    for _ in range(60):
        if high - low <= _CLOSE:
            break
        share = values_at[0] / (values_at[0] - values_at[1])
        middle = low + (high - low) * min(max(share, 0.05), 0.95)
        trial = run(middle)
        now = float(trial.recording[name][-1])
        if now > 0:
            low, values_at = middle, (now, values_at[1])
        else:
            high, values_at, best = middle, (values_at[0], now), trial
    return best, k


def _fall(values: Array) -> int | None:
    """Return the first sample that is not above zero after one that is."""
    above = np.flatnonzero(values > 0)
    if not len(above):
        return None
    after = np.flatnonzero(values[above[0] :] <= 0)
    return int(above[0] + after[0]) if len(after) else None


def _impulse(
    base: Mechanism, mode: _Mode, state: Mapping[str, float], known: Mapping[str, float]
) -> tuple[dict[str, float], float]:
    """Return the state with the speeds that a mode allows, and the energy that this takes."""
    speeds = [s.symbol for s in base.kinematics().speeds]
    now = {**known, **state}
    u = np.array([state[x.name] for x in speeds])
    tree = derive(_bare(base), "kane")
    order = [tree.speeds.index(x) for x in speeds]
    mass = _numbers(tree, [x for row in tree.mass for x in row], now).reshape(len(u), len(u))
    mass = mass[np.ix_(order, order)]
    if not mode.relations:
        return dict(state), 0.0
    rows = [linear_coefficients(x, speeds) for x in mode.relations]
    flat = [row[x] for row, _ in rows for x in speeds]
    j = _numbers(tree, flat, now).reshape(len(rows), len(u))
    miss = j @ u + _numbers(tree, [rest for _, rest in rows], now)
    root = np.linalg.cholesky(mass)  # with M = R R^T the change is R^-T (J R^-T)^+ (J u + b)
    even = np.linalg.solve(root, j.T).T
    after = u - np.linalg.solve(root.T, np.linalg.pinv(even, rcond=_RANK) @ miss)
    lost = 0.5 * float(u @ mass @ u - after @ mass @ after)
    return {**state, **{x.name: float(v) for x, v in zip(speeds, after, strict=True)}}, lost


def _bare(base: Mechanism) -> Mechanism:
    """Return the tree of a mechanism without its relations."""
    bare = extensible(base)
    del bare.constraints[:], bare.outputs[:]
    return bare


def _numbers(tree: Equations, values: Sequence[Expr], now: Mapping[str, float]) -> Array:
    program = tree.assemble("impulse", {"y": list(values)}, {}, list(values))
    evaluate = Evaluator(tree.mechanism, program, dict(now), backend="python")
    q = np.array([now[x.name] for x in (*tree.coordinates, *tree.states)])
    u = np.array([now[x.name] for x in tree.speeds])
    return np.asarray(evaluate(q=q, u=u)[0], dtype=float)


def _joined(parts: Sequence[tuple[int, float, Any]], other: set[str]) -> Recording:
    """Return one recording of all parts, with the channels that all of them have.

    Angles that mean something `other` in another part are left out.
    """
    common = [
        c
        for c in parts[0][2].recording.channels
        if all(c.name in p.recording.names for _, _, p in parts)
        and _GUARD not in c.name
        and c.name not in other
    ]
    times, rows = [], []
    for number, begun, part in parts:
        r = part.recording
        times.append(begun + r.times)
        rows.append(np.column_stack([*(r[c.name] for c in common), np.full(len(r.times), number)]))
    channels = (*common, Channel("mode", "1", "number of the mode"))
    about = {"model": parts[0][2].recording.metadata["model"]}
    return Recording(np.concatenate(times), channels, np.vstack(rows), about)
