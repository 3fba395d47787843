"""An arm of two joints that is led by a joystick, recorded, and repeated bit for bit.

Axes 0 and 1 are the speeds of the joints, up to 1 rad/s. When the time is over, or the joystick is
gone, the recording is repeated from its tape, without the joystick.

    python examples/joystick_arm.py /dev/input/js0 arm.parquet --seconds 20
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import linkwright as lw
from linkwright.recording import Recording, read_recording
from linkwright.simulation.native.session import Session
from linkwright.simulation.pacing import LoopRecorder, PacedLoop, replay, tape_of
from linkwright.simulation.recorder import Target
from linkwright.simulation.runs import session_of
from linkwright.simulation.settings import RunSettings

RATE = 1000  # Hz
FASTEST = 1.0  # rad/s


def arm() -> Session:
    """Return a run of the arm: integrated speeds are the targets of computed torque."""
    m = lw.load("double-pendulum")
    s = lw.System(m, base=RATE)
    law = s.add(lw.control.ComputedTorque(m, kp=400, kd=40), rate=RATE)
    for k, joint in enumerate(m.coordinates):
        lead = s.add(lw.blocks.Integrator(initial=m.initial.get(joint, 0.0)), name=f"lead{k}")
        s.connect(lead.x, law.target[k])
    return session_of(s, RunSettings(3600.0, method="rk4", step=1 / RATE, every=10))[0]


def led(device: str | Path, out: Path, seconds: float) -> Recording:
    """Lead the arm for so long, and return what was recorded."""
    session = arm()
    recorder = LoopRecorder(session, Target(out, replace=True))
    axes = {f"axis {k}": (f"lead{k}.u", FASTEST) for k in (0, 1)}
    with PacedLoop(session, sink=recorder) as loop, loop.joystick(device, axes) as stick:
        stick.wait(seconds)
        time.sleep(0.1)
    return read_recording(recorder.finish(loop))


def repeated(made: Recording) -> bool:
    """Whether a repetition from the tape has the same bits."""
    return np.array_equal(replay(arm(), tape_of(made)).samples.values, made.data)


def main(words: list[str] | None = None) -> None:
    """Lead the arm, and repeat what was recorded."""
    parser = argparse.ArgumentParser(description="An arm that is led by a joystick.")
    parser.add_argument("device", help="of the joystick, such as /dev/input/js0")
    parser.add_argument("out", type=Path, help="the recording")
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args(words)
    made = led(given.device, given.out, given.seconds)
    print(f"{given.out}: {len(made)} samples, {len(tape_of(made))} changes")
    print(f"repeated bit for bit: {repeated(made)}")


if __name__ == "__main__":
    main()
