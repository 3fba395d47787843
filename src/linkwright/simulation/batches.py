"""Many runs of a mechanism or a System at once.

The runs differ in where they start, in parameters, inputs and noise. They go through the lanes of
vector registers on all processors; see `linkwright.simulation.native.batch`. Where a mechanism has
constraints, each run's start is put together by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra import ZERO, linear_coefficients
from linkwright.algebra.units import Amount, by_name
from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.reprs import brief
from linkwright.equations.closure import assemble
from linkwright.mechanism import Mechanism, ModelLike
from linkwright.mechanism.plausibility import refuse_unreal
from linkwright.mechanism.provenance import named
from linkwright.simulation.described import timed
from linkwright.simulation.native.batch import SINGULAR, Batch, run_batch, run_count
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import BATCH, settings_of
from linkwright.simulation.switching import forms_of
from linkwright.system import Phases, System, system_of
from linkwright.system.numbers import parameters as parameters_of

Given = Mapping[str, ArrayLike]


@worded
def simulate_batch(
    model: ModelLike,
    until: Amount | None = None,
    *,
    runs: int | None = None,
    step: Amount | None = None,
    method: str = BATCH.method,
    initial: Given | None = None,
    parameters: Given | None = None,
    inputs: Given | None = None,
    record: Iterable[str] | None = None,
    every: int | None = BATCH.every,
    seed: ArrayLike = 0,
    run_ids: ArrayLike | None = None,
    tolerance: float = BATCH.tolerance,
    absolute: float | None = None,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
    device: str = "cpu",
) -> Batch:
    """Return the results of many runs from time zero, as arrays.

    A run's result has the same bits whatever its place among the others and the number of threads.

    Args:
        model: a mechanism, a robot, a System, a file or the name of a shipped model.
        until: end time, s; the model's own by default, or 10 s.
        runs: how many; by default as many as the arrays that are given have entries.
        step: of a method with fixed steps, s, as for `simulate`.
        method: as for `simulate`.
        initial: where states start, by name: one number for all runs, or an array of one for each.
            What constraints determine is computed.
        parameters: their values, in the same way.
        inputs: inputs, in the same way.
        record: names of the outputs to sample; all by default.
        every: steps (of a System in which something is sampled, base ticks) from one sample to the
            next; 0 for final states only, None for about a thousand samples.
        seed: of noise, one for all runs or one for each.
        run_ids: of the runs, on which noise depends; 0, 1, 2, ... by default, and 0 for all where
            each has a seed of its own: it is then the run of `simulate` with that seed.
        tolerance: of an adaptive method, relative error of a step.
        absolute: the same where a state is near zero, as for `simulate`.
        threads: as many as there are processors by default.
        progress: called now and then with the part that is done.
        device: "cuda" for an NVIDIA card, "cuda:1" for a second one: a thread for each run.

    Example:
        >>> m = Mechanism("thrown")
        >>> ball = m.body("ball", translate="xz", mass=1, inertia=0)
        >>> m.gravity()
        >>> found = simulate_batch(m, 1.0, initial={"ball.z_dot": [0.0, 4.905, 9.81]})
        >>> [round(float(z), 9) + 0.0 for z in found["ball.z"]]
        [-4.905, 0.0, 4.905]
    """
    settings = settings_of(
        until, step=step, method=method, tolerance=tolerance, absolute=absolute, every=every
    )
    system = system_of(model).copy()
    given = _each(
        system, {**by_name(parameters, "parameters"), **by_name(inputs, "inputs")}, "parameters"
    )
    initial = _each(system, by_name(initial, "initial"), "initial")
    count = run_count(runs, [*initial.values(), *given.values(), seed])
    if run_ids is None:
        run_ids = np.zeros(count, int) if np.ndim(seed) else np.arange(count)
    own = system.mechanism.parameters
    refuse_unreal(system.mechanism, {n: v for n, v in given.items() if n in own})
    wanted = (None if record is None else tuple(record)) if every != 0 else ()
    fallback = forms_of(_typical(system, initial, given), wanted)
    phases = system.phases(wanted) if fallback is None else fallback.phases
    phases, settings = timed(system, phases, settings)
    parameters_of(system, given)  # which refuses those without sense
    starts = starts_of(system, phases, initial, given, count)
    tunable, sources = {s.name for s in phases.p}, {s.name for s in phases.w}
    found = run_batch(
        phases,
        settings,
        runs=count,
        initial=starts,
        values={n: v for n, v in given.items() if n in tunable},
        inputs={n: v for n, v in given.items() if n in sources},
        seed=seed,
        numbers=run_ids,
        threads=1 if fallback is not None and fallback.stepwise else threads,
        progress=progress,
        device=device,
    )
    metadata = {**found.metadata, "model": named(system.mechanism)}
    made = replace(
        found,
        metadata=metadata,
        source=system,
        given=given,
        initial=initial,
        seeds=seed,
        numbers=run_ids,
    )
    reasons = found.reasons if SINGULAR in found.reasons else ()  # most often in none
    for run in (i for i, words in enumerate(reasons) if words == SINGULAR):
        mine = made.numbers_of(run)
        alone = system.copy()
        alone.set_initial(mine["start"])
        alone.set_parameters(mine["set"])
        session, _ = session_of(
            alone, replace(settings, seed=mine["seed"]), wanted, run=mine["run"]
        )
        made = made.with_run(run, session.run())
    return made


def _each(system: System, given: Given, what: str) -> dict[str, ArrayLike]:
    """Return numbers for each name, one or one for each run; texts with units are converted."""
    m = system.mechanism
    found: dict[str, ArrayLike] = {}
    for name, value in given.items():
        if isinstance(value, str):
            found[name] = m.amount(name, value, what)
            continue
        try:
            found[name] = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise InputError(
                f"{what} of {name!r} is {brief(value)}, which is not numbers",
                remedy="give one number, or one for each run",
            ) from None
    return found


def _first(value: ArrayLike) -> float:
    return float(np.asarray(value, dtype=float).flat[0])


def _typical(system: System, initial: Given, given: Given) -> System:
    """Return the System with the numbers of the first run, which checks every name."""
    system.set_initial({n: _first(v) for n, v in initial.items()})
    system.set_parameters({n: _first(v) for n, v in given.items()})
    return system


def starts_of(
    system: System, phases: Phases, initial: Given, given: Given, count: int
) -> dict[str, ArrayLike]:
    """Return where the states of each run start."""
    m = system.mechanism
    states = {s.name for s in (*phases.x, *phases.d)}
    if starts_freely(m, states) and not (m.initial_rules and given):
        return {n: v for n, v in initial.items() if n in states}
    own = {*m.coordinates, *(s.symbol.name for s in m.kinematics().speeds)}
    known = {*m.parameters, *m.inputs}
    tables = [
        {n: np.broadcast_to(np.asarray(v, dtype=float), (count,)) for n, v in part.items()}
        for part in (initial, given)
    ]
    held = {n: v for n, v in tables[0].items() if n in own}
    numbers = {n: v for n, v in tables[1].items() if n in known}
    changing = {n for n, v in (*held.items(), *numbers.items()) if np.ptp(v)}
    found: dict[str, NDArray[np.float64]] = {
        n: np.array(v) for n, v in tables[0].items() if n in states and n not in own
    }
    own_start = {n: v for n, v in system.initial.items() if n in own}
    own_values = {n: v for n, v in system.values.items() if n in known}
    for i in range(count if changing else 1):
        start = assemble(
            m,
            {**own_start, **{n: float(v[i]) for n, v in held.items()}},
            {**own_values, **{n: float(v[i]) for n, v in numbers.items()}},
        )
        for name, value in (*start.coordinates.items(), *start.speeds.items()):
            if name in states:
                found.setdefault(name, np.empty(count))[i if changing else slice(None)] = value
    return dict(found)


def starts_freely(m: Mechanism, states: Collection[str]) -> bool:
    """Whether no constraint has a say in where the states start.

    That is so where relations hold between speeds alone that are not states, as they are
    eliminated.
    """
    speeds = [s.symbol for s in m.kinematics().speeds]
    for constraint in m.constraints:
        found, _ = linear_coefficients(constraint.speed, speeds)
        bound = {u.name for u in speeds if found[u] is not ZERO}
        if constraint.position is not None or bound & set(states):
            return False
    return True
