"""The sessions of live runs: how they are integrated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from linkwright.simulation.native.session import Session
from linkwright.simulation.paced import SLICE_STEPS
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import LIVE, LIVE_CONTACT, LIVE_STEPS, RunSettings
from linkwright.studio.live_system import STEPS
from linkwright.system import System


def live_session(
    system: System, record: Iterable[str], every: int, *, contact: bool = False
) -> Session:
    """Return a session whose steps are as long as the error allows, or fixed where that fails."""
    tick = float(system.clock().tick)
    end = round((LIVE.until or 0.0) / tick) * tick

    def made_with(preset: RunSettings) -> Session:
        return session_of(system, replace(preset, until=end, every=every), record)[0]

    if contact:
        return made_with(replace(LIVE_CONTACT, step=tick / STEPS))
    made = made_with(LIVE)
    fresh = made.snapshot()
    made.extend(max(1, round(0.1 / tick)))
    made.advance(SLICE_STEPS)
    if made.done and made.stop is None:
        made.restore(fresh)
        return made
    return made_with(LIVE_STEPS)
