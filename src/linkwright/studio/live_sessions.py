"""The sessions of live runs: how they are integrated."""

from __future__ import annotations

from linkwright.simulation.native.session import Session
from linkwright.simulation.settings import LIVE, LIVE_CONTACT, LIVE_STEPS
from linkwright.studio.live_system import STEPS
from linkwright.system.phases import Phases

SLICE_STEPS = 4000
"""Steps of the integration between two looks at what the user wants."""


def session_of(phases: Phases, every: int, *, contact: bool = False) -> Session:
    """Return a session whose steps are as long as the error allows, or fixed where that fails.

    Dry friction that jumps with the sign of a speed makes steps of no length; then steps are fixed.
    """
    tick = phases.tick_seconds
    until = round(1e6 / tick) * tick
    if contact:
        return Session(phases, LIVE_CONTACT, until=until, step=tick / STEPS, every=every)
    made = Session(phases, LIVE, until=until, every=every)
    fresh = made.snapshot()
    made.machine.extend(max(1, round(0.1 / tick)))
    made.advance(SLICE_STEPS)
    if made.done and made.stop is None:
        made.restore(fresh)
        return made
    return Session(phases, LIVE_STEPS, until=until, every=every)
