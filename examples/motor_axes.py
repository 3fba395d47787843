"""Two axes in velocity mode, driven to and fro at random speeds: the motor report's own program.

Each axis runs until it crosses a limit of position, +-6000 counts. The device tells, and the
program gives that axis a random speed the other way. The gain is a0/b0 = 50/-1, a negative one: the
encoders of these motors are mounted the other way round. With a normal encoder the loop runs away.

    python examples/motor_axes.py
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from linkwright.heritage.motor_card import (
    MD_VEL,
    MERRPLO,
    McFlag,
    McParam,
    McRequest,
    MotorDevice,
    MotorPlant,
)

LIMIT = 6000  # counts
INTERVAL = 2000  # us


@dataclass(frozen=True, slots=True)
class Turn:
    """An axis crossed a limit of position."""

    axis: int
    low: bool
    place: int
    speed: int


def drive(ticks: int, *, seed: int = 1, reversed_encoder: bool = True) -> list[Turn]:
    """Run the program, and return where axes turned.

    Args:
        ticks: of the sample clock.
        seed: of the random speeds.
        reversed_encoder: how the encoders are mounted.
    """
    chance = random.Random(seed)
    turns: list[Turn] = []

    def speed() -> int:
        return chance.randrange(20) + 10

    with MotorDevice(cards=1, plants=MotorPlant(reversed=reversed_encoder)) as mc:
        cards = mc.ioctl(McRequest.MGETNUMCARDS)
        assert isinstance(cards, int)
        axes = 2 * cards
        mc.ioctl(McRequest.MSETNUMJOINTS, axes)
        mc.ioctl(McRequest.MSETINTERVAL, INTERVAL)
        for axis in range(axes):
            mc.ioctl(McRequest.MSETENC, axis)  # zero
        first = mc.ioctl(McRequest.MGETPARAM, McParam(0))
        assert isinstance(first, McParam)
        wanted = replace(
            first, a0=50, b0=-1, mode=MD_VEL | McFlag.SOFTERR | McFlag.POSCHK, plo=-LIMIT, phi=LIMIT
        )
        for axis in range(axes):
            mc.ioctl(McRequest.MSETPARAM, replace(wanted, which=axis))
        mc.ioctl(McRequest.MENABLE)
        setpoints = [speed() for _ in range(axes)]
        mc.write(setpoints)

        def turn() -> None:
            code = mc.ioctl(McRequest.MGETLASTERR)
            assert isinstance(code, int)
            axis, low = code & 0xFF, code & ~0xFF == MERRPLO
            setpoints[axis] = speed() if setpoints[axis] < 0 else -speed()
            mc.write(setpoints)
            turns.append(Turn(axis, low, mc.read()[axis].fbnow, setpoints[axis]))

        mc.signal(turn)
        mc.run(ticks)
    return turns


def main() -> None:
    """Run 20 s and print the turns."""
    for turn in drive(10_000):
        limit = "low" if turn.low else "high"
        print(f"{limit} limit on axis {turn.axis} at {turn.place:6d}; now {turn.speed:+d} a sample")


if __name__ == "__main__":
    main()
