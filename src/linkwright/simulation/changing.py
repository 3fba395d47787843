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
from linkwright.mechanism import Mechanism, ModelLike, mechanism_of
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
    """

    hold: Sequence[str] = ()
    switches: Sequence[Switch] = ()
    forces: bool = False


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
        self.m = extensible(base)
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
    known = all_values(base, values)
    speeds = [s.symbol for s in base.kinematics().speeds]
    state = {**dict.fromkeys(base.coordinates, 0.0), **{u.name: 0.0 for u in speeds}}
    state |= {n: float(v) for n, v in {**base.initial, **(initial or {})}.items()}
    mode = found[start or names[0]]
    state, _ = _impulse(base, mode, state, known)
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
        state, lost = _impulse(base, following, state, known)
        told = {u.name: state[u.name] for u in speeds}
        changes.append(ModeChange(time, mode.name, following.name, told, lost))
        if len(changes) > _MOST:
            raise Error(
                f"more than {_MOST} switches happened until {time:g} s",
                remedy="let a mode last, or end the run earlier",
            )
        mode = following
        if until - time <= _CLOSE:
            break
    return ChangingRun(_joined(parts), tuple(changes), tuple(names))


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
    exprs: list[Expr] = [f.magnitude for f in base.forces]
    exprs += [t.magnitude for t in base.moments] + [c.speed for c in base.constraints]
    if any(x.roles & TIME for x in free_symbols(*exprs)):
        raise InputError(f"laws of {base.name!r} read the time, which begins anew in each mode")


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
            mode.m, until, initial=start, values=values, step=min(step, until), every=1,
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


def _joined(parts: Sequence[tuple[int, float, Any]]) -> Recording:
    """Return one recording of all parts, with the channels that all of them have."""
    common = [
        c
        for c in parts[0][2].recording.channels
        if all(c.name in p.recording.names for _, _, p in parts) and _GUARD not in c.name
    ]
    times, rows = [], []
    for number, begun, part in parts:
        r = part.recording
        times.append(begun + r.times)
        rows.append(np.column_stack([*(r[c.name] for c in common), np.full(len(r.times), number)]))
    channels = (*common, Channel("mode", "1", "number of the mode"))
    about = {"model": parts[0][2].recording.metadata["model"]}
    return Recording(np.concatenate(times), channels, np.vstack(rows), about)
