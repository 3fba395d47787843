"""The sessions of live runs: how they are integrated."""

from __future__ import annotations

from linkwright.simulation.native.session import Session
from linkwright.system.phases import Phases

SLICE_STEPS = 4000
"""Steps of the integration between two looks at what the user wants."""

_FOREVER = 1e6  # s


def session_of(phases: Phases, every: int, method: str = "", steps: int = 1) -> Session:
    """Return a session whose steps are as long as the error allows, or fixed where that fails.

    Dry friction that jumps with the sign of a speed makes steps of no length; then steps are fixed.
    """
    until = round(_FOREVER / phases.tick_seconds) * phases.tick_seconds
    if method:
        short = phases.tick_seconds / steps
        return Session(phases, until, method=method, step=short, every=every)
    made = Session(phases, until, method="dopri5", tolerance=1e-6, every=every)
    fresh = made.snapshot()
    made.machine.extend(max(1, round(0.1 / phases.tick_seconds)))
    made.advance(SLICE_STEPS)
    if made.done and made.stop is None:
        made.restore(fresh)
        return made
    step = phases.tick_seconds / max(1, round(phases.tick_seconds * 2000))
    return Session(phases, until, method="rk4", step=step, every=every)
