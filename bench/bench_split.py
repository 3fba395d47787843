"""Background and foreground of computed torque: counts, time of the law, and the PUMA on its axes.

The foreground and the whole law run in native loops over arrays of places, speeds and targets, to
arrays of torques. The whole arm is one System, unpaced: computed
torque with a background of 200 Hz at 1 kHz, axis controllers in torque mode with current filters
and checks, the equations of motion with one step of Runge and Kutta a tick, and a snapshot at every
tick.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

import linkwright as lw
from bench.measure import Row, interleaved
from linkwright.algebra import symbol
from linkwright.program import (
    Loop,
    Program,
    ProgramPort,
    Scanned,
    Stacked,
    check,
    count_operations,
)
from linkwright.simulation.native.session import Session

TITLE = "computed torque in background and foreground"
_TURNS, _TICKS = 100, 20_000
_MOVING = ("q", "u", "target", "target_rate", "target_acceleration")


def turning(made: Program) -> Program:
    """Return a loop over many instants of a law, from arrays of inputs to an array of torques."""
    ports, scanned = [], []
    for port in made.inputs:
        if port.name not in _MOVING:
            ports.append(port)
            continue
        names = [f"{port.name}.{k}.{j}" for k in range(_TURNS) for j in range(port.size)]
        entries = tuple(symbol(name, "input", owner="bench") for name in names)
        ports.append(ProgramPort(port.name, (_TURNS, port.size), entries))
        scanned += [Scanned(x, entries[j :: port.size]) for j, x in enumerate(port.entries)]
    tau = made.port("tau").entries
    rows = [
        tuple(symbol(f"tau.{k}.{j}", "local", owner="bench") for k in range(_TURNS))
        for j in range(len(tau))
    ]
    stacked = tuple(Stacked(x, row) for x, row in zip(tau, rows, strict=True))
    loop = Loop(_TURNS, (), tuple(scanned), stacked, made.statements)
    out = ProgramPort("tau", (len(tau), _TURNS), tuple(x for row in rows for x in row))
    result = Program(made.name, tuple(ports), (out,), (loop,))
    check(result)
    return result


def laws() -> dict[str, float]:
    """Return the time of one torque by the foreground and by the whole law, s."""
    split = lw.Robot("puma560:drives=off").split_dynamics()
    rng = np.random.default_rng(1)
    calls: dict[str, Callable[[], object]] = {}
    for made in (split.foreground, split.whole):
        many = turning(made)
        given = [rng.uniform(0.1, 1.0, p.shape) for p in many.inputs]
        calls[made.name] = partial(lw.compile(many), *given)
    times = interleaved(calls, rounds=25, calls=100, clock=time.process_time)
    return {name: seconds / _TURNS for name, seconds in times.items()}


def arm() -> Session:
    """Return a run of the PUMA on its axis loops."""
    m = lw.load("puma560:drives=off")
    s = lw.System(m)
    law = s.add(lw.control.ComputedTorque(m, 400, 40, background=200, acts=False), rate=1000)
    names = list(m.coordinates)
    limits = {"ilim": 20.0, "mode": 3.0, "ipole": 0.9, "poschk": 1.0, "plo": -6.0, "phi": 6.0}
    axes = s.add(lw.control.AxisController(names, full_scale=20.0, start=limits, rate=1000))
    gears = lw.Block("gears")
    constant = gears.parameter("constant", 10.0, unit="N*m/A")
    currents = gears.input_vector("i", 6, unit="A")
    gears.output_vector("torque", [constant * i for i in currents], unit="N*m")
    motors = s.add(gears)
    s.connect(axes.current, motors.i)
    for k, name in enumerate(names):
        s.connect(f"{0.3 + 0.05 * k}*sin({1 + 0.1 * k}*t)", law.target[k])
        s.connect(0.1 * law.tau[k], axes.demand[k])
        s.connect(name, axes.encoder[k])
        s.connect(motors.torque[k], f"tau{k + 1}")
    shown = [f"axes.{w}[{k}]" for w in ("current", "inow", "error", "fbnow") for k in range(6)]
    phases = s.phases([*names, *shown])
    session = Session(phases, phases.tick_seconds, every=1, method="rk4", step=0.001)
    session.advance()
    return session


def onward(session: Session) -> None:
    """Run so many ticks more."""
    session.extend(session.tick + _TICKS)
    while not session.done:
        session.advance()


def run() -> list[Row]:
    """Return the table."""
    split = lw.Robot("puma560").split_dynamics()
    front = count_operations(split.foreground)
    times = laws()
    ratio = times["foreground"] / times["whole"]
    note = " and ".join(f"{name} {1e9 * t:.0f} ns" for name, t in times.items())
    seconds = interleaved({"arm": partial(onward, arm())}, rounds=5, clock=time.process_time)["arm"]
    return [
        Row("PUMA foreground, all frozen: adds", front.add, "1", 60),
        Row("PUMA foreground, all frozen: multiplies", front.mul, "1", 48),
        Row("PUMA foreground, all frozen: calls", front.call, "1", 0),
        Row("its time over that of the whole law", ratio, "1", 0.35, note=note),
        Row("PUMA, computed torque on axis loops", _TICKS / seconds, "ticks/s", 1e5, "higher"),
    ]
