"""A joystick that sets inputs of a loop: its records through a pipe and a file, and the tape."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.blocks import Integrator
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing import PacedLoop, replay
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings
from tests.support.waiting import soon

CONTROLS = {"axis 1": ("pan.u", 4.0), "button 0": ("tilt.u", -3.0)}


def session() -> Session:
    s = lw.System(name="s", base=100)
    s.add(Integrator(), name="pan")
    s.add(Integrator(), name="tilt")
    return session_of(s, RunSettings(60.0, every=1))[0]


def event(at: int, value: int, kind: int, number: int) -> bytes:
    """Return a record as <linux/joystick.h> has it, byte by byte in the order of this machine."""
    return struct.pack("=I", at) + struct.pack("=h", value) + bytes([kind, number])


def test_what_a_joystick_does_is_on_the_tape_and_repeats_bit_for_bit(tmp_path: Path) -> None:
    pipe = tmp_path / "js0"
    os.mkfifo(pipe)
    loop = PacedLoop(session(), clock="virtual")
    with loop.joystick(pipe, CONTROLS) as stick, pipe.open("wb", buffering=0) as device:
        device.write(event(5, 0, 0x82, 1) + event(5, 0, 0x81, 0))  # how it stands when opened
        soon(lambda: stick.taken == 2)
        loop.go_to(100)
        device.write(event(7, 16384, 2, 1)[:3])  # a record may come in pieces
        device.write(event(7, 16384, 2, 1)[3:] + event(7, 1, 1, 0) + event(8, 99, 2, 0))
        soon(lambda: stick.taken == 5)
        loop.go_to(300)
        device.write(event(9, -32768, 2, 1))
        soon(lambda: stick.taken == 6)
        loop.go_to(400)
    changes = [(c.tick, c.name, c.value) for c in loop.tape()]
    assert {c for c in changes if c[0] > 1} == {
        (101, "pan.u", 4 * 16384 / 32767),
        (101, "tilt.u", -3.0),
        (301, "pan.u", -4.0),
    }
    samples = loop.samples()
    names = [c.name for c in loop.session.phases.outputs]
    pan, tilt = (samples.values[-1, names.index(f"{name}.x")] for name in ("pan", "tilt"))
    assert pan == pytest.approx(2 * 4 * 16384 / 32767 - 4.0, abs=1e-9)
    assert tilt == pytest.approx(-9.0, abs=1e-9)
    again = replay(session(), loop.tape())
    assert np.array_equal(again.samples.values, samples.values)


def test_inputs_are_zero_where_the_device_is_gone(tmp_path: Path) -> None:
    """What was sampled may be played from a file, whose end is that of the device."""
    file = tmp_path / "events"
    file.write_bytes(event(1, 32767, 2, 1) + event(2, 1, 1, 0) + b"half")
    loop = PacedLoop(session(), clock="virtual")
    stick = loop.joystick(file, CONTROLS)
    assert stick.wait()
    assert stick.lost == "it has ended"
    loop.go_to(10)
    changes = [(c.name, c.value) for c in loop.tape()]
    assert changes == [("pan.u", 4.0), ("tilt.u", -3.0), ("pan.u", 0.0), ("tilt.u", 0.0)]


def test_what_is_no_joystick_is_rejected(tmp_path: Path) -> None:
    loop = PacedLoop(session(), clock="virtual")
    with pytest.raises(InputError, match="js9 cannot be opened: No such file"):
        loop.joystick(tmp_path / "js9", CONTROLS)
    with pytest.raises(InputError, match="'axis 0' or 'button 2'"):
        loop.joystick(tmp_path, {"wheel 0": ("pan.u", 1.0)})
    with pytest.raises(InputError, match="scale of axis 0"):
        loop.joystick(tmp_path, {"axis 0": ("pan.u", float("nan"))})
    with pytest.raises(lw.Error, match=r"pan\.v"):
        loop.joystick(tmp_path, {"axis 0": ("pan.v", 1.0)})


def test_the_example_leads_an_arm_and_repeats_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Records in a file are taken at once; at their end the speeds are zero again."""
    (tmp_path / "js").write_bytes(event(1, 32767, 2, 0) + event(2, -16000, 2, 1))
    example = run_path(str(Path(__file__).parents[2] / "examples" / "joystick_arm.py"))
    example["main"]([str(tmp_path / "js"), str(tmp_path / "arm.npz"), "--seconds", "5"])
    said = capsys.readouterr().out
    assert "4 changes" in said
    assert int(said.split(": ")[1].split()[0]) >= 5  # samples
    assert said.endswith("repeated bit for bit: True\n")
