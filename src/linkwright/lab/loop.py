"""The loop of a laboratory: its System in lockstep, or by the clock on the wall.

In lockstep a run goes as fast as it can, in the thread that asks for it, and the same commands at
the same ticks give the same bits. By the clock the same loop goes on in a thread beside. Commands
come from any thread: they are changes of inputs, which enter together at one tick.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error
from linkwright.lab.life import PATIENCE, life_of
from linkwright.lab.records import ServoCounters
from linkwright.lab.session import NoJournal, SessionJournal
from linkwright.lab.slot import MEMBER
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing import PacedLoop

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab
    from linkwright.lab.real import RealSide

Array = NDArray[np.float64]

PUBLISHES = 1024
"""Base ticks from one that others see of a run in lockstep to the next."""

_LOOK = 0.2  # s

CHUNK = 4096
"""Base ticks after which a run in lockstep looks whether it is interrupted."""


def paced_loop(
    session: Session, journal: SessionJournal | None, real: RealSide | None
) -> PacedLoop:
    """Return the loop of a laboratory's System, at its start."""
    options: dict[str, Any] = {
        "waits": True,
        "priority": False,
        "tells": {"overrun": "life.overruns"},
        "publishes": PUBLISHES,
    }
    return PacedLoop(
        session,
        sink=NoJournal() if journal is None else journal,
        states=0 if journal is None else journal.every,
        **(options if real is None else real.loop_options(session)),
    )


def run(lab: Lab, seconds: float) -> None:
    """Go on for some time.

    In lockstep it goes as fast as it can; where `pace` has set a speed, it waits.

    Args:
        seconds: of the laboratory, s.
    """
    lab.require_open()
    if not seconds >= 0:
        raise Error(f"a laboratory does not run for {seconds!r} s", remedy="give 0 or more")
    lab.go_on(round(Fraction(seconds).limit_denominator(10**9) / lab.period))


def go_on(lab: Lab, ticks: int) -> None:
    """Go on by some base ticks.

    Args:
        ticks: how many.
    """
    lab.require_open()
    end = max(lab.loop.latest().tick, 0) + ticks
    with lab._going:  # who changes the pace has done so
        speed = lab._speed
        while speed is None and lab.loop.session.tick < end:
            try:
                lab.loop.go_to(min(end, lab.loop.session.tick + CHUNK))
            except Exception as error:
                if failed(lab, error):
                    lab.loop.go_to(lab.loop.session.tick)  # others see where it stands
                raise
            lab.attend()
            require_sound(lab)
    if speed is not None:
        limit = time.monotonic() + 4 * ticks * float(lab.period) / speed + 5
        while lab.loop.latest().tick < end and lab._speed is not None:
            require_sound(lab)
            if time.monotonic() > limit:
                raise Error("the laboratory does not keep pace", remedy="choose a lower speed")
            time.sleep(0.002)
        lab.attend()


def running(lab: Lab, servo: str) -> str | None:
    """Return the name of the task that runs in a servo, or None.

    Args:
        servo: "task", or a servo of one's own.
    """
    lab.attend()
    found = lab._running.get(servo)
    return None if found is None else found.name


def attend(lab: Lab) -> None:
    """Take notice of tasks that have ended by themselves, or failed."""
    if lab.closed:
        return
    _recover(lab)
    with lab.changing:
        for servo, task in tuple(lab._running.items()):
            life = life_of(servo)
            serial = lab._serials[servo]
            done, begun, lost, told = (
                float(x[0])
                for x in lab.values(
                    *(f"{servo}.done", f"{servo}.begun", f"{life}.expired", f"{life}.told")
                )
            )
            if done > 0 and begun == serial:
                lab._ended = serial if servo == MEMBER else lab._ended
                lab.end(servo, f"{task.name} is done")
            elif lost > 0 and told == serial:
                row = f"{lab.given(f'{life}.patience'):.0f} ticks in a row"
                lab.end(
                    servo,
                    f"{task.name} took too long at {row}: frozen; make it native, or give it "
                    "more patience (0 for any number of ticks)",
                )


def failed(lab: Lab, error: BaseException) -> bool:
    """End the tasks whose function failed; the laboratory goes on without them."""
    failed = [(servo, t) for servo, t in lab._running.items() if not t.native]
    for servo, task in failed:
        lab.end(servo, f"{task.name} failed: {error}")
    return bool(failed)


def end(lab: Lab, servo: str, words: str) -> None:
    """Take a task out of its slot.

    Args:
        servo: whose slot it is.
        words: of the message.
    """
    with lab.changing:
        lab._running.pop(servo, None)
        lab.put({f"{life_of(servo)}.number": 0.0, **quiet(servo)})
    lab.tell(words)


def quiet(servo: str) -> dict[str, float]:
    return {"invdyn.always": 0.0} if servo == MEMBER else {}


def _recover(lab: Lab) -> BaseException | None:
    """Return what failed by the clock, if anything; go on without the task that did."""
    error, speed = lab.loop.failure, lab._speed
    if error is None or speed is None or not lab._going.acquire(blocking=False):
        return error
    try:
        with suppress(Exception):  # it raises what is told here
            lab.loop.stop()
        if failed(lab, error):
            lab.pace(speed, lab._overrun)  # who looks meanwhile sees no other
        else:
            lab._speed = None
            lab.tell(f"the laboratory stands still: {error}")
    finally:
        lab._going.release()
    return error


def require_open(lab: Lab) -> None:
    """Reject what a laboratory that was closed cannot do."""
    if lab.closed:
        raise Error("the laboratory is closed", remedy="make another one")


def require_sound(lab: Lab) -> None:
    error = _recover(lab)
    if error is not None:
        raise error
    if lab.loop.stopped is not None:
        raise Error(f"the laboratory cannot go on: {lab.loop.stopped.reason}")


def pace(lab: Lab, speed: float | None, overrun: str = "skip") -> None:
    """Follow the clock on the wall in a thread beside, or go in lockstep again.

    Args:
        speed: seconds of the laboratory in a second on the wall; None for lockstep.
        overrun: what becomes of ticks that are late by a period or more: "skip", or "catch-up"
            where a simulation runs them as fast as it can.
    """
    lab.require_open()
    if lab.real is not None:
        if overrun != "skip":
            raise Error(
                f"a laboratory on hardware does not {overrun}: the robot would be commanded in a "
                "rush what it should have done before",
                remedy="leave overrun at 'skip'",
            )
        if speed == 1:
            return
        raise Error("a laboratory on hardware keeps the pace of its clock", remedy="pace(1)")
    with lab._going:
        if lab.loop.running or lab.loop.failure is not None:
            lab._speed = None
            lab.loop.stop()
        if speed is not None:
            lab.loop.set_speed(speed, overrun)
            lab._overrun = overrun
            lab.loop.start()
        lab._speed = speed
        if speed is not None:
            threading.Thread(target=_guard, args=(lab,), name="watchdog", daemon=True).start()


def _guard(lab: Lab) -> None:
    """Interrupt tasks of Python that do not come back, as long as the loop's thread goes on."""
    from linkwright.lab.running import LONGEST, interrupt_endless

    thread, told = lab.loop.thread, ""
    while thread is not None and thread.is_alive():
        thread.join(_LOOK)
        patient = lab.given("life.patience") == 0
        if patient or not (stuck := interrupt_endless(thread.ident or 0, LONGEST)):
            told = ""
        elif not told and interrupt_endless(thread.ident or 0, 2 * LONGEST):
            told = stuck
            lab.tell(f"{stuck}, and cannot be interrupted there")
    if lab.loop.thread is thread and lab.loop.failure is not None:
        lab.attend()  # what failed is told, and the laboratory goes on without it


def patience(lab: Lab, overruns: int = PATIENCE) -> None:
    """Say how many ticks in a row may take too long before the laboratory freezes.

    Args:
        overruns: how many; 0 for any number.
    """
    lab.put({"life.patience": float(overruns)})


def counters(lab: Lab) -> dict[str, ServoCounters]:
    """What was counted since the start or the last reset, by servo."""
    counted, tick = lab.loop.counters, lab.tick
    if lab._counted is not None:
        counted = counted.since(lab._counted)
    late = lab.values("watch.late")[0][0] if lab.real else 0.0
    found = {}
    for servo, rate in lab.rates.items():
        every = 1 / (rate * lab.period)
        if every.denominator != 1:  # of vision where nothing is to be seen
            continue
        task = servo == "task"
        found[servo] = ServoCounters(
            float(rate),
            int(tick // every),
            int(counted.missed // every),
            int(late) if task and lab.real else counted.overrun + counted.late * task,
            counted.worst,
            counted.mean,
        )
    return found


def put(lab: Lab, values: Mapping[str, float]) -> None:
    """Change inputs and parameters of the System, all at the next tick, on the tape.

    Where the laboratory follows the clock, it waits until they have entered.
    """
    for name in values:
        if name.startswith("robot."):
            require_simulated(lab, f"{name!r} belongs to a simulated robot")
    lab.require_open()
    _entered(lab, lab.loop.set(values))
    lab._given.update(values)


def require_simulated(lab: Lab, why: str) -> None:
    """Reject what only a simulation can do."""
    if lab.real is not None:
        raise Error(
            f"not on hardware: {why}", remedy="run the laboratory without a driver for that"
        )


def enter(lab: Lab, values: Mapping[str, float]) -> None:
    """Change inputs and memory of the System, all at the next tick, on the tape."""
    lab.require_open()
    _entered(lab, lab.loop.enter(values))
    lab._given.update(values)


def _entered(lab: Lab, number: int) -> None:
    if lab._speed is not None and lab.loop.running:
        lab.loop.wait_for(number)


def given(lab: Lab, name: str) -> float:
    """Return what an input or parameter was given last, or what it is at the start.

    Args:
        name: of it.
    """
    if name in lab._given:
        return lab._given[name]
    phases = lab.loop.session.phases
    for signal in (*phases.w, *phases.p):
        if signal.name == name:
            return float(signal.value)
    raise Error(f"the laboratory has no input or parameter {name!r}")


def values(lab: Lab, *ports: str) -> list[Array]:
    """Return arrays of sampled outputs, all of one tick.

    Args:
        ports: such as `sensors.q`.
    """
    row = lab.loop.latest().d
    return [row[rows(lab, port)] for port in ports]


def has(lab: Lab, port: str) -> bool:
    """Return whether there is such a sampled output.

    Args:
        port: such as `sensors.q`.
    """
    return port in lab._d_places or f"{port}[0]" in lab._d_places


def rows(lab: Lab, port: str) -> NDArray[np.intp]:
    known = lab._port_rows.get(port)
    if known is None:
        places = lab._d_places
        names = [port] if port in places else []
        while f"{port}[{len(names)}]" in places:
            names.append(f"{port}[{len(names)}]")
        if not names:
            raise Error(f"the laboratory has no port {port!r}")
        known = lab._port_rows[port] = np.array([places[name] for name in names])
    return known
