"""Motions that cost least: swing-ups, jumps, throws, moves in the shortest time.

A motion and the inputs that drive it are found together, by direct collocation
(`linkwright.wholebody.collocation`), with Ipopt (`linkwright.wholebody.nonlinear`). The mesh is
refined until in each interval the rates of the motion are those of the System. The result is then
simulated over its whole length by an adaptive method, which knows nothing of the mesh: `deviation`
says how far the two are apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.arguments import worded
from linkwright.base.checks import checked
from linkwright.base.errors import Error, InputError, suggestion
from linkwright.base.results import Result
from linkwright.blocks import Block
from linkwright.mechanism.model_like import ModelLike
from linkwright.motion.trajectory import POWERS, Trajectory
from linkwright.recording.recording import Recording
from linkwright.simulation import simulate
from linkwright.simulation.run import Run
from linkwright.system import System
from linkwright.wholebody.collocation import Collocation
from linkwright.wholebody.nonlinear import SparseSolution, solve
from linkwright.wholebody.optimal_meshes import (
    Begun,
    errors_of,
    excess_of,
    finer,
    first_solution,
    gains_of,
    guessed,
    on_mesh,
    quintic,
)
from linkwright.wholebody.optimal_tasks import LARGEST, MEMBER, OptimalTask, Range, phases_of

Array = NDArray[np.float64]
_ROUNDS = 8
_NEAR = 150
"""Rounds of Ipopt from the solution on a coarser mesh, before it begins there anew."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OptimalMotion(Result):
    """A motion that costs least, near the guess that it was found from.

    Args:
        objective: what it costs.
        duration: s.
        phases: how long each phase takes, s.
        times: of the nodes of the mesh, s.
        values: states and inputs at the nodes, by name.
        error: greatest error of an interval, in sizes of the states.
        excess: by how much a limit is passed between the points where it holds, in its own size.
        deviation: of states, between this motion and the one that is simulated with its inputs
            alone, by an adaptive method: the greatest at any time.
        deviation_with_feedback: the same with the feedback of `system`.
        intervals: of the mesh.
        rounds: of Ipopt, on all meshes together.

    >>> from linkwright.mechanism import Mechanism
    >>> m = Mechanism("cart")
    >>> cart = m.body("x", translate="x", mass=2)
    >>> found = optimize_motion(
    ...     m, act="x", until=1.0, final={"x": 1, "x_dot": 0}, minimize="tau_x**2"
    ... )
    >>> round(found.objective, 4)
    48.0
    """

    objective: float
    duration: float
    phases: dict[str, float]
    times: Array = field(repr=False)
    values: dict[str, Array] = field(repr=False)
    error: float
    excess: float
    deviation: dict[str, float]
    deviation_with_feedback: dict[str, float]
    intervals: int
    rounds: int
    states: Trajectory = field(repr=False)
    inputs: Trajectory = field(repr=False)
    _system: System = field(repr=False)
    _names: tuple[tuple[str, ...], tuple[str, ...]] = field(repr=False)
    _gains: Trajectory = field(repr=False)
    _warm: tuple[Begun, tuple[tuple[str, ...], ...]] = field(repr=False)
    _units = (("duration", "s"), ("phases", "s"), ("times", "s"))
    _not = ("states", "inputs")

    def __repr__(self) -> str:
        far = max(self.deviation.values(), default=0.0)
        return (
            f"OptimalMotion(objective {self.objective:.6g} over {self.duration:.6g} s, "
            f"{self.intervals} intervals, simulated within {far:.2g})"
        )

    def trajectory(self, names: Sequence[str] | None = None) -> Trajectory:
        """Return some states over time, for whatever follows a trajectory.

        Args:
            names: of coordinates; all of them by default.
        """
        own = [s.name for s in self._system.phases(()).x if s.kind == "coordinate"]
        chosen = own if names is None else list(names)
        for name in chosen:
            if name not in self._names[0]:
                raise InputError(
                    f"the motion has no state {name!r}",
                    remedy=suggestion(name, self._names[0], None),
                )
        columns = [self._names[0].index(name) for name in chosen]
        return Trajectory(self.states.instants, self.states.coefficients[:, :, columns])

    def system(self, *, feedback: bool = True) -> System:
        """Return the System with the inputs of this motion.

        Args:
            feedback: whether gains of the linear models along the motion (the time-varying linear
                quadratic regulator, with the sizes of states and inputs as weights) bring it back.
        """
        s, (states, inputs) = self._system.copy(), self._names
        block = Block(f"{MEMBER}_inputs", doc="inputs of an optimal motion")
        values = list(self.inputs.expressions(block.time))
        if feedback:
            seen = block.input_vector("state", len(states))
            off = [x - q for x, q in zip(seen, self.states.expressions(block.time), strict=True)]
            gains = self._gains.expressions(block.time)
            for k in range(len(inputs)):
                row = gains[k * len(states) : (k + 1) * len(states)]
                values[k] = values[k] - sum(g * x for g, x in zip(row, off, strict=True))
        for k, value in enumerate(values):
            block.output(f"u{k}", value)
        member = s.add(block)
        if feedback:
            s.connect(list(states), member.name + ".state")
        for k, name in enumerate(inputs):
            s.connect(f"{member.name}.u{k}", name)
        return s

    def simulate(self, *, feedback: bool = False, **options: Any) -> Run:
        """Return a run of the System with the inputs of this motion.

        Args:
            feedback: as for `system`.
            options: of `linkwright.simulate`; the end of the motion and "dop853" by default.
        """
        until = options.pop("until", self.duration)
        options = {"method": "dop853", **options}
        return simulate(self.system(feedback=feedback), until, **options)


@worded
def optimize_motion(
    model: ModelLike,
    *,
    act: str | Sequence[str] | Mapping[str, Range | None],
    until: Range | None = None,
    initial: Mapping[str, Range] | None = None,
    final: Mapping[str, Range] | None = None,
    minimize: str | None = None,
    minimize_end: str | None = None,
    limits: Mapping[str, Range] | None = None,
    phases: Mapping[str, Mapping[str, Any]] | None = None,
    parameters: Mapping[str, float] | None = None,
    guess: OptimalMotion | Run | Recording | Mapping[str, Sequence[float]] | None = None,
    intervals: int = 30,
    tolerance: float = 1e-4,
    starts: int = 1,
) -> OptimalMotion:
    """Return the motion that costs least, with the inputs that drive it.

    Ipopt solves it; it comes with `pip install 'linkwright[analysis]'`. What it finds is a local
    optimum. Expressions may use coordinates, speeds, parameters, outputs of the mechanism, `t` and
    the inputs: `tau_NAME` where a joint NAME is driven. A model in which something is sampled or
    remembered has no derivatives from one end to the other, and is rejected.

    Args:
        model: a mechanism, a robot, a System, a file or the name of a shipped model.
        act: joints (N*m or N) or inputs that drive it; or a mapping to the limits of each: a
            number, a lower and an upper one, or None. A joint's limit is that of the file by
            default.
        until: how long it takes, s: a number, or the least and the most.
        initial: where states start, over the model's own: a number, or a lower and an upper one;
            and expressions that are limited there.
        final: the same for the end; what is not named is free.
        minimize: an expression, integrated over time; "1" for the shortest time.
        minimize_end: an expression, taken at the end.
        limits: of states, inputs or expressions, at all times: a number for the magnitude, or a
            lower and an upper one; 0 holds an expression at zero. Ranges and speeds of joints that
            the model has hold too.
        phases: for motions in several phases, in order: a name for each, and a mapping with its
            own `until`, and perhaps `limits` and `intervals`. States go on from one to the next,
            inputs may jump.
        parameters: values over the model's own.
        guess: another motion or a recording to begin with, or values by name, evenly over the
            motion; by default the straight line from start to end without inputs.
        intervals: of the first mesh, for each phase.
        tolerance: greatest error of an interval, in sizes of the states.
        starts: guesses to begin with, the further ones bent at random; the best motion is refined.

    >>> rest = {"phi": 0, "phi_dot": 0}
    >>> up = optimize_motion(
    ...     "pendulum",
    ...     act={"phi": 12},
    ...     until=(0.2, 3.0),
    ...     minimize="1",
    ...     initial=rest,
    ...     final={**rest, "phi": "90 deg"},
    ...     intervals=10,
    ... )
    >>> 0.2 < up.duration < 3.0, bool(max(abs(up.values["tau_phi"])) < 12 + 1e-6)
    (True, True)
    """
    setting = OptimalTask.of(
        model, act, initial, final, minimize, minimize_end, limits, parameters,
        phases_of(until, phases, intervals),
    )  # fmt: skip
    tolerance = checked(tolerance, "tolerance", above=0)
    if starts < 1:
        raise InputError(f"starts is {starts!r}", remedy="give 1 or more")
    return _refined(setting, tolerance, guess, starts)


def _refined(setting: OptimalTask, tolerance: float, guess: Any, starts: int) -> OptimalMotion:
    """Solve on finer meshes until each interval is as exact as asked."""
    nodes = [np.linspace(0.0, 1.0, p.intervals + 1) for p in setting.parts]
    rounds, begun, errors, worst = 0, _begun(setting, guess), list[Array](), np.inf
    for turn in range(_ROUNDS):
        mesh = on_mesh(setting, nodes)
        if turn == 0 and not begun.near:
            found = first_solution(mesh, begun, starts)
        else:
            found = solve(mesh, begun.on(mesh), tolerance=1e-8, most=_NEAR, near=True)
            if not found.reached:
                found = solve(mesh, begun.on(mesh), tolerance=1e-8, most=2 * _NEAR)
        rounds += found.rounds
        if not found.reached and turn and errors:
            break
        _refuse_failed(setting, mesh, found)
        errors = errors_of(setting, mesh, found.v)
        worst = max(float(e.max()) for e in errors)
        if worst <= tolerance:
            return _made(setting, mesh, found, worst, rounds)
        begun = Begun.of(mesh, found.v)
        nodes = [finer(n, e / tolerance) for n, e in zip(nodes, errors, strict=True)]
        if sum(map(len, nodes)) > LARGEST:
            break
    raise Error(
        f"the motion of {setting.system.name!r} is exact to {worst:.2g} on "
        f"{sum(len(e) for e in errors)} intervals only, not to {tolerance:g}",
        remedy="give a larger tolerance, or minimize something smoother (add a little of the "
        "inputs squared)",
    )


def _begun(setting: OptimalTask, guess: Any) -> Begun:
    """Return where to begin."""
    if not isinstance(guess, OptimalMotion):
        return guessed(setting, guess)
    begun, of = guess._warm
    if of != _of(setting):
        raise InputError(
            "the guess is a motion of other states, inputs or phases",
            remedy="give values by name: guess=motion.values",
        )
    return begun


def _of(setting: OptimalTask) -> tuple[tuple[str, ...], ...]:
    """Return what a guess has to have in common with the task."""
    return setting.states, setting.labels, tuple(p.name for p in setting.parts)


def _refuse_failed(setting: OptimalTask, mesh: Collocation, found: SparseSolution) -> None:
    if found.reached:
        return
    _, rows = mesh.values(found.v)
    beyond = np.maximum(mesh.low - rows, rows - mesh.high).max(initial=0.0)
    raise Error(
        f"no motion of {setting.system.name!r} was found: Ipopt ended with {found.why!r} after "
        f"{found.rounds} rounds, with a row of {beyond:.2g} beyond its limit",
        remedy="expressions are to be finite along the guess"
        if "invalid" in found.why
        else "allow more time or effort, or give a guess that is nearer",
    )


def _made(
    setting: OptimalTask, mesh: Collocation, found: SparseSolution, error: float, rounds: int
) -> OptimalMotion:
    """Return the result, simulated."""
    z, spans = mesh.unpack(found.v)
    times, n = mesh.times(spans), mesh.nx
    moving = np.column_stack([z, times])
    rates, slopes = setting.functions.values(moving)
    a, m, b = (
        np.concatenate([np.arange(i + k, j - (2 - k), 2) for i, j in pairwise(mesh.first)])
        for k in range(3)
    )
    h = (times[b] - times[a])[:, None]
    u = np.zeros((len(a), POWERS, mesh.nz - n))
    u[:, 0] = z[a, n:]
    u[:, 1] = (4 * z[m, n:] - 3 * z[a, n:] - z[b, n:]) / h
    u[:, 2] = 2 * (z[a, n:] + z[b, n:] - 2 * z[m, n:]) / h**2
    instants = np.append(times[a], times[-1])
    nodes = np.append(a, mesh.count - 1)
    inputs = Trajectory(instants, u)
    phases = range(len(setting.parts))
    states = Trajectory(
        instants, np.concatenate([quintic(mesh, z, rates, slopes, times, k) for k in phases])
    )
    names = (*setting.states, *setting.labels)
    result = OptimalMotion(
        objective=found.objective,
        duration=float(spans.sum()),
        phases=dict(zip((p.name for p in setting.parts), spans.tolist(), strict=True)),
        times=instants,
        values={name: z[nodes, k] for k, name in enumerate(names)},
        error=error,
        excess=excess_of(setting, mesh, states, inputs),
        deviation={},
        deviation_with_feedback={},
        intervals=len(a),
        rounds=rounds,
        states=states,
        inputs=inputs,
        _system=setting.system,
        _names=(setting.states, setting.inputs),
        _gains=gains_of(setting, h[:, 0], slopes, (a, m, b), instants),
        _warm=(Begun.of(mesh, found.v), _of(setting)),
    )
    return replace(
        result,
        deviation=_deviation(result, feedback=False),
        deviation_with_feedback=_deviation(result, feedback=True),
    )


def _deviation(motion: OptimalMotion, *, feedback: bool) -> dict[str, float]:
    """Return the greatest distance of each state from the simulated one."""
    names = motion._names[0]
    run = motion.simulate(record=list(names), tolerance=1e-11, feedback=feedback)
    found = np.column_stack([np.asarray(run[name]) for name in names])
    far = np.abs(found - motion.states(np.asarray(run.times))).max(axis=0)
    return dict(zip(names, far.tolist(), strict=True))
