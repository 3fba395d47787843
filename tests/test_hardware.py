"""Hardware: one life for whatever stands behind it, in ticks."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import pytest

import linkwright as lw
from linkwright.errors import InputError
from linkwright.simulation.hardware import (
    ACTIVE,
    FAULT,
    INACTIVE,
    NOT_FINITE,
    OFF,
    SILENT,
    Hardware,
    simulated,
)
from linkwright.simulation.native.session import Session
from linkwright.windows import Field

PATIENCE = 3
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
    """Every way through off, inactive, active and fault, over 2,000 random ticks."""
    system = lw.System(name="s")
    system.add(hardware(), rate=1000)
    ticks, by_hand, seed = Ticks(system), LifeByHand(), random.Random(3)
    now = dict.fromkeys(
        ("enable", "disable", "clear", "beat", "fault", "torque", "target", "q"), 0.0
    )
    seen = set()
    for _ in range(2000):
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
    system = lw.System(name="s")
    member = system.add(hardware(), rate=1000)
    with pytest.raises(InputError, match="no output port for the state 'q'"):
        simulated(system, member, device, name="a")
    device.expose("q", inner.q)
    device.expose("torq", inner.torq)
    with pytest.raises(InputError, match="'torque'; expose it; there is 'torq'"):
        simulated(system, member, device, name="b")


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
