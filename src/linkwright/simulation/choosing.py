"""The method of a run chosen for it (`method="auto"`), with the reason.

The Jacobian of the rates is taken at the start by differences. Three numbers decide: how fast its
fastest decay is, how fast it turns (the largest imaginary part), and how often it is sampled.
Explicit methods must resolve the fastest decay even where it is long over: a step of dop853 is
stable up to about 6 of its time constants. Where that takes many times the steps that the motion
itself asks for, an implicit method is cheaper (Hairer and Wanner, Solving Ordinary Differential
Equations II, section IV.1). Where ticks cut the run into parts in which hardly anything happens, a
method with fixed steps takes fewer evaluations than one that estimates its error in each.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linkwright.backends.kernel import compile as compile_kernel
from linkwright.simulation.settings import AUTO, RunSettings
from linkwright.system import Phases

Array = NDArray[np.float64]

_STEP = 1e-7  # of a difference, in the size of a state
_STABLE = 6.0  # time constants in a step of dop853
_PER_RADIAN = 1.0  # steps of dop853 that its error asks for while something turns by a radian
_WORTH = 8.0  # times as many steps for stability as for accuracy: then implicit steps pay
_MANY = 2_000  # steps for stability below which nothing is gained
_SHORT = 0.1  # of a time constant: a tick in which rk4 is right to 1e-7


def with_method(phases: Phases, settings: RunSettings, until: float | None) -> RunSettings:
    """Return settings with a method for phases, and why it was chosen, where none is asked for.

    >>> from linkwright.system import System
    >>> found = with_method(System(name="s").phases(), RunSettings(method="auto"), 10.0)
    >>> found.method, found.why
    ('dop853', 'dop853: nothing moves')
    """
    if settings.method != AUTO:
        return settings
    method, why = chosen_method(phases, until or 0.0)
    return replace(settings, method=method, why=f"{method}: {why}")


def chosen_method(phases: Phases, until: float) -> tuple[str, str]:
    """Return the method for a run to a time, and why."""
    if not phases.x:
        return "dop853", "nothing moves"
    slopes = _jacobian(phases)
    if not np.isfinite(slopes).all():
        return "dopri5", "the rates have no slopes at the start"
    values = np.linalg.eigvals(slopes)
    decay = float(np.max(-values.real, initial=0.0))
    turning = float(np.max(np.abs(values.imag), initial=0.0))
    slow = max(turning, 20.0 / max(until, 1e-300))
    stable, accurate = until * decay / _STABLE, until * slow * _PER_RADIAN
    if stable > _MANY and stable > _WORTH * accurate:
        return "rodas4", (
            f"stiff: at the start something decays in {1 / decay:.2g} s, and the motion takes "
            f"{min(until, 1 / slow):.2g} s"
        )
    fastest = max(decay, turning)
    if phases.ticks and phases.tick_seconds * fastest < _SHORT:
        return "rk4", (
            f"something is sampled every {phases.tick_seconds:.2g} s, and nothing is faster than "
            f"{1 / fastest if fastest else until:.2g} s at the start"
        )
    kind = "dopri5" if phases.ticks else "dop853"
    if not fastest:
        return kind, "nothing pulls back or turns at the start"
    return kind, f"not stiff: the fastest at the start takes {1 / fastest:.2g} s"


def _jacobian(phases: Phases) -> Array:
    """Return the slopes of the rates by the states at the start, by differences."""
    known = {
        name: np.array([s.value for s in signals], dtype=float)
        for name, signals in zip("xdpw", (phases.x, phases.d, phases.p, phases.w), strict=True)
    }
    known |= {"t": np.zeros(1), "k": np.zeros(1)}
    kernel = compile_kernel(phases.derivative, backend="python")
    noise = sum(p.size for p in kernel.program.inputs if p.name == "n")
    known["n"] = np.array([0.5, 0.25] * (noise // 2))

    def rates(x: Array) -> Array:
        found = kernel(*({**known, "x": x}[p.name] for p in kernel.program.inputs))
        return np.array(found[0] if isinstance(found, tuple) else found, dtype=float)

    start = known["x"]
    columns = []
    for k, value in enumerate(start):
        size = _STEP * max(1.0, abs(value))
        ends = []
        for sign in (1.0, -1.0):
            x = start.copy()
            x[k] += sign * size
            ends.append(rates(x))
        columns.append((ends[0] - ends[1]) / (2 * size))
    return np.array(columns).T
