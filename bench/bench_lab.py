"""The laboratory: what a task costs, native and in Python, and what ten million ticks leave behind.

Times are of the processor, so that others on the machine count little. `LAB_TICKS` in the
environment is the number of ticks of the memory rows, where ten million are too many.
"""

from __future__ import annotations

import ctypes
import gc
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.lab_pacing import bench_pacing
from bench.lab_shared import bench_shared
from bench.measure import Row, interleaved
from linkwright.formats.robot.description import Description
from linkwright.lab import Task, cos, parameter, pi, sin
from linkwright.lab.config import JointConfig, LabConfig
from linkwright.lab.lab import Lab
from linkwright.lab.running import task_function
from linkwright.lab.slot import SlotLayout
from linkwright.simulation.native.session import Samples
from linkwright.simulation.pacing import PacedLoop
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from linkwright.system import System

TITLE = "lab: tasks in their slot"
JOINTS = 10
TURN = 20_000  # ticks
OVER = 5e-6  # s, of a foreign call over the bare function
NATIVE, PYTHON = 300.0, 80.0  # times real time
GROWTH = 1e6  # bytes
RECORDING = 0.05  # of the time without it
TICKS = int(os.environ.get("LAB_TICKS", "10_000_000"))


class Wave(Task):
    """Joints that swing about the middle of their range."""

    frequency = parameter(1.0, unit="Hz", lower=0, upper=5)

    def init(self, lab: Any) -> bool | None:
        """Take the middle."""
        self.middle = np.linspace(-0.1, 0.1, JOINTS) if lab is None else lab.state.q.copy()
        return None

    def run(self, t: Any, state: Any, desired: Any) -> None:
        """Swing."""
        w = 2 * pi * self.frequency
        desired.q, desired.u, desired.a = (
            self.middle + 0.1 * sin(w * t),
            0.1 * w * cos(w * t),
            -0.1 * w**2 * sin(w * t),
        )


class NativeWave(Wave):
    """The same, compiled."""

    native = True


class _Nowhere:
    """Takes away what a loop leaves."""

    def take(self, changes: Any, samples: Samples) -> None:
        """Forget it."""


def run() -> list[Row]:
    """Return the rows of the section."""
    return [*_calls(), *_speed(), *_recording(), *_memory(), *bench_shared(), *bench_pacing()]


def _loop(system: System) -> PacedLoop:
    session = session_of(system, RunSettings(1e7, every=0))[0]
    return PacedLoop(session, clock="virtual", waits=True, sink=_Nowhere())


def _slotted(task: Task | None) -> PacedLoop:
    """Return a loop of a task slot alone, at each tick."""
    joints = tuple(JointConfig(f"j{i}", -1.0, 1.0) for i in range(JOINTS))
    config = LabConfig("bare", Description("bare", (), ()), joints, ratios={"task": 1})
    layout = SlotLayout(config)
    system = System(name="bare", base=960)
    system.add(layout.block(), rate=960)
    loop = _loop(system)
    if task is not None:
        task.init(None)
        loop.session.install("task", 1, task_function(task, layout))
        begin = {"task.number": 1.0, "task.serial": 1.0}
        loop.set({**begin, layout.argument_names("parameter")[0]: 2.0})
    return loop


def _going(loop: PacedLoop) -> Any:
    return lambda: loop.go_to(loop.session.tick + TURN)


def _calls() -> list[Row]:
    """Measure calls of Python functions by native code."""

    def double(q: Any) -> Any:
        return 2 * q

    system, still = System(name="foreign", base=960), System(name="still", base=960)
    for one in (system, still):
        one.add(lambda t: t, rate=1, name="clock", outputs="t")
    system.add(double, rate=960, name="double", inputs={"q": JOINTS}, outputs={"y": JOINTS})
    task, row = Wave(), np.zeros(JOINTS)
    task.init(None)
    bare = _Bare(task.middle)
    contenders = {
        "foreign": _going(_loop(system)),
        "without": _going(_loop(still)),
        "function": lambda: [double(row) for _ in range(TURN)],
        "task": _going(_slotted(Wave())),
        "native": _going(_slotted(NativeWave())),
        "empty": _going(_slotted(None)),
        "bare": bare.go,
    }
    found = interleaved(contenders, rounds=5, clock=time.thread_time)
    each = {name: value / TURN for name, value in found.items()}
    foreign = each["foreign"] - each["without"] - each["function"]
    return [
        Row("a foreign call of 10 numbers over the bare function", foreign, "s", OVER),
        Row(
            "a Python task in its slot over the bare function",
            each["task"] - each["empty"] - each["bare"],
            "s",
            OVER,
            note=f"the bare function {1e6 * each['bare']:.2g} µs",
        ),
        Row("the same task, native", each["native"] - each["empty"], "s"),
    ]


class _Bare:
    """What the task computes, with Python's own means."""

    def __init__(self, middle: Any) -> None:
        self.middle, self.frequency = middle, 2.0
        self.q, self.u, self.a = (np.zeros(JOINTS) for _ in range(3))

    def go(self) -> None:
        """Swing for a turn."""
        for i in range(TURN):
            self.run(0.001 * i)

    def run(self, t: float) -> None:
        """Swing."""
        w = 2 * pi * self.frequency
        self.q[:] = self.middle + 0.1 * sin(w * t)
        self.u[:], self.a[:] = 0.1 * w * cos(w * t), -0.1 * w**2 * sin(w * t)


def _speed() -> list[Row]:
    """Measure laboratories in lockstep, against real time."""
    rows, seconds = [], 2.0
    labs = {}
    for name, cls in (("native", NativeWave), ("Python", Wave)):
        labs[name] = lab = Lab("sl-arm")
        lab.start(lab.add(cls)[0])
        lab.run(0.1)
    contenders: Any = {name: (lambda lab=lab: lab.run(seconds)) for name, lab in labs.items()}
    found = interleaved(contenders, rounds=5, clock=time.thread_time)
    for (name, took), bar in zip(found.items(), (NATIVE, PYTHON), strict=True):
        what = f"sl-arm with a {name} task, times real time"
        rows.append(Row(what, seconds / took, "1", bar, "higher"))
    for lab in labs.values():
        lab.close()
    return rows


def _recording() -> list[Row]:
    """Measure what the recorder and a session cost: 70 variables at the task's rate."""
    seconds = 30.0
    with TemporaryDirectory() as folder, Lab("sl-arm") as plain, Lab("sl-arm") as recorded:
        kept = Lab("sl-arm", folder=folder)
        labs = {"plain": plain, "recorded": recorded, "session": kept}
        for lab in labs.values():
            lab.start(lab.add(NativeWave)[0])
            lab.run(0.1)
        recorded.recorder.configure(duration=seconds)

        def going(lab: Lab, records: bool) -> Any:
            def go() -> None:
                if records:
                    lab.recorder.start()
                lab.run(seconds)

            return go

        contenders = {name: going(lab, name == "recorded") for name, lab in labs.items()}
        found = interleaved(contenders, rounds=7, clock=time.thread_time)
        assert kept.session is not None
        hourly = kept.session.hourly_bytes
        kept.close()
    more = {name: took / found["plain"] - 1 for name, took in found.items()}
    samples = f"{len(recorded.recorder.settings.names)} variables at 480 Hz"
    return [
        Row("recording adds, of the time without", more["recorded"], "1", RECORDING, note=samples),
        Row("a session adds, of the time without", more["session"], "1"),
        Row("a session with a native task, in an hour", hourly, "B"),
    ]


def _resident() -> int:
    """Return the bytes that this process has in memory, without those that were freed."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def _memory() -> list[Row]:
    """Measure what ticks leave behind."""
    if not Path("/proc/self/statm").exists():
        return []
    rows: list[Row] = []
    loops = []  # all are kept, so that none takes the memory that another has left
    for name, task, ticks in (("native", NativeWave(), TICKS), ("Python", Wave(), TICKS // 10)):
        loop = _slotted(task)
        loops.append(loop)
        for k in range(1, 4):  # until rings and what empties them have been gone through
            loop.go_to(100_000 * k)
        before = _resident()
        loop.go_to(300_000 + ticks)
        growth = float(max(_resident() - before, 0))
        rows.append(Row(f"growth over {ticks:.3g} ticks, {name} task", growth, "B", GROWTH))
    return rows
