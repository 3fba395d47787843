"""A run in virtual time from the tape of a live one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from linkwright.simulation.native.session import Outcome, Session
from linkwright.simulation.pacing.loop import PacedLoop
from linkwright.simulation.pacing.tape import StoredTape, Tape

Show = Callable[[float, float], None]
"""What is informed how far a replay is: the time that was reached, and the end, s."""

_OFTEN = 4096  # ticks from one word about it to the next


def replay(session: Session, tape: Tape, show: Show | None = None, *, states: int = 0) -> Outcome:
    """Run a session in virtual time to the end of a tape; the bits are those of the live run.

    >>> import numpy as np
    >>> from linkwright.blocks import Integrator
    >>> from linkwright.simulation.runs import session_of
    >>> from linkwright.simulation.settings import RunSettings
    >>> from linkwright.system import System
    >>> s = System(name="s", base=100)
    >>> _ = s.add(Integrator(), name="i")
    >>> session = session_of(s, RunSettings(1.0, every=1))[0]
    >>> tape = Tape(("i.u",), np.array([51]), np.array([0]), np.array([2.0]), 100)
    >>> round(replay(session, tape).x["i.x"], 12)
    1.0
    """
    loop = PacedLoop(
        session,
        clock="virtual",
        stride=tape.stride,
        waits=tape.waits,
        taped=True,
        states=states,
    )
    follow(loop, tape, show=show)
    return session.outcome(loop.samples())


def follow(*given: Any, **more: Any) -> None:
    """Do what `followed` does, to the end."""
    for _ in followed(*given, **more):
        pass


def followed(
    loop: PacedLoop,
    tape: Tape | StoredTape,
    until: int | None = None,
    *,
    show: Show | None = None,
    before: Callable[[int], None] | None = None,
    calls: bool = False,
) -> Iterator[None]:
    """Let a loop that stands still go along a tape in virtual time; its own tape gets it too.

    Whoever asks for it looks in now and then.
    """
    end = tape.end if until is None else min(until, tape.end)
    seconds, shown = loop.session.phases.tick_seconds, 0

    def go_to(tick: int) -> Iterator[None]:
        nonlocal shown
        while tick - shown >= _OFTEN:
            shown += _OFTEN
            loop.go_to(shown)
            if show is not None:
                show(shown * seconds, end * seconds)
            yield
        loop.go_to(tick)

    with loop.from_tape(calls):
        if before is None and loop.session.fallback is None:  # native code waits for their ticks
            for part in tape.parts(end):
                k = 0
                while k < len(part):
                    k = loop.leave(part, k)
                    yield from go_to(int(part.ticks[k - 1]) - 1)
            yield from go_to(end)
            return
        for tick, values in tape.batches():
            if tick > end:
                break
            yield from go_to(tick - 1)
            if before is not None:
                before(tick)
            loop.enter(values)
        yield from go_to(end)
