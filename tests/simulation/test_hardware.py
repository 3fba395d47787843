"""Hardware: one life for whatever stands behind it, in ticks."""

from __future__ import annotations

import math
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.simulation.hardware import (
    ACTIVE,
    FAILED,
    FAULT,
    INACTIVE,
    NOT_FINITE,
    OFF,
    SILENT,
    Hardware,
)
from linkwright.simulation.hardware_kinds import (
    HARDWARE,
    HardwareKind,
    PythonHardware,
    ReplayHardware,
    SimulatedHardware,
    WindowHardware,
)
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing import PacedLoop
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from linkwright.windows import Field, Window

PATIENCE, LONG = 3, 300
STATES, COMMANDS = [Field("q", "rad")], [Field("torque", "N*m"), Field("target", "rad")]


def hardware() -> Hardware:
    return Hardware("arm", STATES, COMMANDS, rest={"target": "q"}, patience=PATIENCE)


class Ticks:
    """A System at a rate, run tick by tick with inputs from outside."""

    def __init__(self, system: lw.System) -> None:
        self.session = Session(system.phases(), 1e6, executor="native")
        self.tick = 0

    def run(self, inputs: Mapping[str, float]) -> dict[str, float]:
        """Go one tick on, and return what is held after it."""
        self.session.set(inputs)
        self.tick += 1
        self.session.extend(self.tick)
        self.session.advance()
        return dict(self.session.place().d)


class LifeByHand:
    """The life as the page tells it, in plain Python."""

    def __init__(self) -> None:
        self.life, self.cause, self.silence = OFF, 0.0, PATIENCE
        self.last = dict.fromkeys(("enable", "disable", "clear", "beat"), 0.0)

    def run(self, given: Mapping[str, float]) -> tuple[int, float]:
        """Return life and cause after a tick."""
        new = {name: given[name] != last for name, last in self.last.items()}
        self.last = {name: given[name] for name in self.last}
        self.silence = 0 if new["beat"] else self.silence + 1
        alive, fault = self.silence < PATIENCE, given["fault"]
        finite = math.isfinite(given["torque"]) and math.isfinite(given["target"])
        if self.life == FAULT:
            if new["clear"] and fault == 0:
                self.life, self.cause = INACTIVE if alive else OFF, 0.0
        elif not alive:
            self.life = FAULT if self.life == ACTIVE else OFF
            self.cause = SILENT if self.life == FAULT else 0.0
        elif fault != 0:
            self.life, self.cause = FAULT, NOT_FINITE if math.isnan(fault) else fault
        elif self.life == OFF:
            self.life = INACTIVE
        elif not finite and (self.life == ACTIVE or new["enable"]):
            self.life, self.cause = FAULT, NOT_FINITE
        elif self.life == INACTIVE and new["enable"]:
            self.life = ACTIVE
        elif self.life == ACTIVE and new["disable"]:
            self.life = INACTIVE
        return self.life, self.cause


def test_the_life_is_that_of_a_hand_written_one() -> None:
    """Every way through off, inactive, active and fault, over 1,500 random ticks."""
    system = lw.System(name="s")
    system.add(hardware(), rate=1000)
    ticks, by_hand, seed = Ticks(system), LifeByHand(), random.Random(3)
    now = dict.fromkeys(
        ("enable", "disable", "clear", "beat", "fault", "torque", "target", "q"), 0.0
    )
    seen = set()
    for _ in range(1500):
        for name, chance in (("enable", 0.3), ("disable", 0.05), ("clear", 0.2), ("beat", 0.6)):
            if seed.random() < chance:
                now[name] += 1
        now["fault"] = seed.choice([3.0, math.nan]) if seed.random() < 0.1 else 0.0
        bad = seed.choice([math.nan, math.inf, -math.inf])
        now["torque"] = bad if seed.random() < 0.02 else seed.uniform(-1, 1)
        now["target"], now["q"] = seed.uniform(-1, 1), seed.uniform(-1, 1)
        ins = {name: f"arm.{name}" for name in ("enable", "disable", "clear")}
        ins |= {name: f"arm.read_{name}" for name in ("fault", "beat", "q")}
        ins |= {name: f"arm.wanted_{name}" for name in ("torque", "target")}
        before = by_hand.life
        life, cause = by_hand.run(now)
        got = ticks.run({port: now[name] for name, port in ins.items()})
        assert (got["arm.life"], got["arm.cause"]) == (life, cause)
        moved = (now["torque"], now["target"]) if life == ACTIVE else (0.0, now["q"])
        assert (got["arm.torque"], got["arm.target"]) == moved
        assert got["arm.q"] == now["q"]
        seen.add((before, life))
    everything = {(a, b) for a in range(4) for b in range(4)}
    assert seen == everything - {(OFF, ACTIVE), (ACTIVE, OFF), (FAULT, ACTIVE)}


def test_after_a_fault_nothing_moves_before_clear_and_enable() -> None:
    """Enabled again and again without a clear, it stays where it is."""
    system = lw.System(name="s")
    system.add(hardware(), rate=1000)
    ticks, beat = Ticks(system), 0.0

    def run(**more: float) -> dict[str, float]:
        nonlocal beat
        beat += 1
        return ticks.run({"arm.read_beat": beat, "arm.wanted_torque": 5.0,
                          **{f"arm.{k}": v for k, v in more.items()}})  # fmt: skip

    assert run()["arm.life"] == INACTIVE
    assert run(enable=1)["arm.torque"] == 5.0
    assert run(read_fault=7)["arm.torque"] == 0.0  # at the tick that tells it
    for number in range(2, 6):
        assert run(read_fault=0, enable=number)["arm.life"] == FAULT
    assert run(read_fault=7, clear=1)["arm.cause"] == 7  # it lasts: not cleared
    assert run(read_fault=0)["arm.life"] == FAULT  # and that request is gone
    assert run(clear=2)["arm.torque"] == 0.0
    assert run()["arm.life"] == INACTIVE
    assert run(enable=6)["arm.torque"] == 5.0


def test_a_device_needs_a_port_for_every_state_and_command() -> None:
    device = lw.System(name="device")
    block = lw.Block("b")
    block.output("q", block.state("x", block.input("torq", unit="N*m"), unit="rad"), unit="rad")
    inner = device.add(block)
    with pytest.raises(InputError, match="no output port for the state 'q'"):
        SimulatedHardware(hardware(), device)
    device.expose("q", inner.q)
    device.expose("torq", inner.torq)
    with pytest.raises(InputError, match="'torque'; expose it; there is 'torq'"):
        SimulatedHardware(hardware(), device)


@pytest.mark.parametrize(
    ("states", "commands", "rest", "words"),
    [
        ([Field("life")], COMMANDS, {}, "cannot name"),
        ([Field("a.b")], COMMANDS, {}, "cannot name"),
        ([Field("torque")], COMMANDS, {}, "two states or commands"),
        (STATES, COMMANDS, {"targe": 0.0}, "no command 'targe'"),
        (STATES, COMMANDS, {"target": "p"}, "cannot follow 'p'"),
    ],
)
def test_wrong_hardware_is_refused(
    states: list[Field], commands: list[Field], rest: dict[str, float | str], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        Hardware("arm", states, commands, rest=rest)


# -- the kinds -----------------------------------------------------------------------------------
TICKS = 120
REQUESTS = {5: "enable", 33: "clear", 36: "enable", 40: "clear", 42: "enable", 62: "enable",
            78: "clear", 80: "enable", 90: "disable", 95: "enable"}  # fmt: skip
BROKEN, MUTE = range(30, 35), range(60, 76)
STAGES = [(0, INACTIVE), (5, ACTIVE), (30, FAULT), (40, INACTIVE), (42, ACTIVE),
          (60 + PATIENCE - 1, FAULT), (78, INACTIVE), (80, ACTIVE), (90, INACTIVE),
          (95, ACTIVE)]  # fmt: skip


def told(tick: int) -> dict[str, float]:
    """Return what the device tells at a tick at which it tells anything."""
    return {"q": tick / 64, "fault": 4.0 * (tick in BROKEN)}


def device_system() -> lw.System:
    """Return the same device as a System."""
    block = lw.Block("device", rate=1000)
    block.discrete_state("n", "n + 1")
    block.discrete_state("given", block.input("torque", unit="N*m"))
    block.discrete_state("place", block.input("target", unit="rad"))
    silent = f"n > {MUTE.start - 0.5}, where(n < {MUTE.stop - 0.5}, {MUTE.start}, n + 1), n + 1"
    block.output("q", "n/64", unit="rad")
    block.output(
        "fault", f"where(n > {BROKEN.start - 0.5}, where(n < {BROKEN.stop - 0.5}, 4, 0), 0)"
    )
    block.output("beat", f"where({silent})")
    device = lw.System(name="device")
    member = device.add(block)
    for port in ("torque", "target", "q", "fault", "beat"):
        device.expose(port, member[port])
    return device


class Scripted:
    """The same device as an object."""

    tick = 0

    def read(self) -> dict[str, float]:
        """Tell what it does at its tick."""
        return told(self.tick)

    def write(self, commands: Mapping[str, float]) -> None:
        """Take the commands."""
        assert set(commands) == {"torque", "target", "life", "beat"}


def lived(kind: HardwareKind, step: Callable[[int], None] = lambda tick: None) -> lw.Recording:
    """Run the script against hardware of a kind, tick by tick."""
    system = lw.System(name="s", base=1000)
    kind.install(system, rate=1000)
    session = session_of(system, RunSettings(10.0, every=1))[0]
    loop = PacedLoop(
        session, clock="virtual", reads=kind.reads, writes=kind.writes, waits=kind.waits
    )
    loop.enter({"arm.wanted_torque": 5.0, "arm.wanted_target": 2.0})
    for tick in range(TICKS):
        step(tick)
        if tick in REQUESTS:
            loop.enter({f"arm.{REQUESTS[tick]}": float(tick)})
        loop.go_to(tick)
    samples = loop.samples()
    channels = [lw.Channel(name) for name in samples.names]
    return lw.Recording(samples.times, channels, samples.values)


def simulated_run() -> lw.Recording:
    return lived(SimulatedHardware(hardware(), device_system()))


def window_run(folder: Path) -> lw.Recording:
    kind = WindowHardware(hardware(), folder)
    with Window.create(folder / "arm.states", kind.hardware.state_record) as states, kind:

        def step(tick: int) -> None:
            if tick not in MUTE:
                states.write({**told(tick), "beat": float(tick + 1)})

        found = lived(kind, step)
        with Window.open(folder / "arm.commands", kind.hardware.command_record) as commands:
            frame = commands.read()
            assert (frame.tick, frame.values["torque"]) == (TICKS - 1, 5.0)
            assert frame.values["life"] == ACTIVE
        return found


def python_run() -> lw.Recording:
    device = Scripted()
    kind = PythonHardware(hardware(), device)
    kind.open_windows()
    try:

        def step(tick: int) -> None:
            device.tick = tick
            if tick not in MUTE:  # else it is stuck
                kind.exchange()

        found = lived(kind, step)
        assert kind.failures == 0
        return found
    finally:
        kind.close()


def test_every_kind_lives_the_same_life(tmp_path: Path) -> None:
    """One script of requests, faults and silence: the same life and the same commands."""
    runs = {"simulated": simulated_run(), "window": window_run(tmp_path), "python": python_run()}
    runs["replay"] = lived(ReplayHardware(hardware(), runs["simulated"]))
    assert set(runs) == set(HARDWARE)
    lives = np.zeros(TICKS)
    for tick, life in STAGES:
        lives[tick:] = life
    for kind, run in runs.items():
        assert len(run.times) == TICKS
        assert np.array_equal(run["arm.life"], lives), kind
        assert np.array_equal(run["arm.torque"], np.where(lives == ACTIVE, 5.0, 0.0)), kind
        assert np.array_equal(run["arm.cause"], runs["simulated"]["arm.cause"]), kind
        alive = [t for t in range(TICKS) if t not in MUTE]
        assert np.array_equal(run["arm.q"][alive], np.array(alive) / 64), kind
    assert np.array_equal(runs["replay"]["arm.q"], runs["simulated"]["arm.q"])
    assert set(runs["simulated"]["arm.cause"]) == {0.0, 4.0, SILENT}


def follow(
    kind: HardwareKind, meet: Callable[[PacedLoop, Callable[[str, float], bool]], None]
) -> None:
    """Run hardware against the clock, and let something meet it."""
    system = lw.System(name="s", base=500)
    kind.install(system, rate=500)
    with kind:
        session = session_of(system, RunSettings(1e5, every=1))[0]
        with PacedLoop(session, reads=kind.reads, writes=kind.writes) as loop:

            def becomes(channel: str, value: float) -> bool:
                end = time.monotonic() + 30
                while loop.latest()[f"arm.{channel}"] != value and time.monotonic() < end:
                    time.sleep(0.002)
                return loop.latest()[f"arm.{channel}"] == value

            loop.set({"arm.wanted_torque": 5.0})
            meet(loop, becomes)


class Stuck:
    """A device that does what it is told to do wrong."""

    def __init__(self) -> None:
        self.go, self.fails, self.given = threading.Event(), False, 0.0
        self.go.set()

    def read(self) -> dict[str, float]:
        """Wait, or fail, or tell."""
        self.go.wait(60)
        if self.fails:
            raise OSError("unplugged")
        return {"q": 0.25}

    def write(self, commands: Mapping[str, float]) -> None:
        """Take the commands."""
        self.given = commands["torque"]


def test_a_python_device_that_is_late_or_fails_never_stops_the_loop() -> None:
    """Stuck, it falls silent; failing, it is a fault; both end with `clear` and `enable`."""
    device = Stuck()

    def meet(loop: PacedLoop, becomes: Callable[[str, float], bool]) -> None:
        assert becomes("life", INACTIVE)
        assert loop.latest()["arm.q"] == 0.25
        loop.set({"arm.enable": 1})
        assert becomes("torque", 5.0)
        device.go.clear()
        assert becomes("cause", SILENT)
        before = loop.counters.total
        assert becomes("torque", 0.0)
        end = time.monotonic() + 30
        while loop.counters.total < before + 5:
            assert time.monotonic() < end
            time.sleep(0.002)
        device.go.set()
        loop.set({"arm.clear": 1})
        assert becomes("life", INACTIVE)
        device.fails = True
        assert becomes("cause", FAILED)

    kind = PythonHardware(Hardware("arm", STATES, COMMANDS, patience=LONG), device)
    follow(kind, meet)
    assert kind.failures > 0


DEVICE = """
import sys, linkwright as lw
from linkwright.simulation.hardware import Hardware
from linkwright.simulation.hardware_kinds import SimulatedHardware
from linkwright.windows import Field
block = lw.Block("arm")
block.output("q", block.state("x", block.input("torque", unit="N*m"), unit="rad"), unit="rad")
device = lw.System(name="device")
member = device.add(block)
device.expose("q", member.q)
device.expose("torque", member.torque)
arm = Hardware("arm", [Field("q", "rad")], [Field("torque", "N*m")])
with SimulatedHardware(arm, device).serve(sys.argv[1], rate=500):
    sys.stdin.read()
"""


def test_a_device_process_serves_windows_and_when_killed_is_a_fault(tmp_path: Path) -> None:
    """The same simulated hardware in a process of its own; killed, it falls silent in ticks."""
    kind = WindowHardware(Hardware("arm", STATES, COMMANDS[:1], patience=LONG), tmp_path, within=60)
    arguments = [sys.executable, "-c", DEVICE, str(tmp_path)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE) as process:
        try:

            def meet(loop: PacedLoop, becomes: Callable[[str, float], bool]) -> None:
                assert becomes("life", INACTIVE)
                assert loop.latest()["arm.q"] == 0.0
                loop.set({"arm.enable": 1})
                assert becomes("life", ACTIVE)
                end = time.monotonic() + 30
                while not loop.latest()["arm.q"] > 0.0:
                    assert time.monotonic() < end
                    time.sleep(0.002)
                process.kill()
                assert becomes("cause", SILENT)
                assert loop.latest()["arm.torque"] == 0.0
                loop.stop()
                beats = [(c.tick, c.value) for c in loop.tape() if c.name == "arm.read_beat"]
                samples = loop.samples()
                broken = samples.times[samples["arm.life"] == FAULT]
                assert round(500 * broken[0]) == beats[-1][0] + LONG  # ticks, not seconds

            follow(kind, meet)
        finally:
            process.kill()
