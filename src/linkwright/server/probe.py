"""Experiments on one axis of an arm that holds still: steps, sines and relays, in ticks.

The probe adds to where the motion wants the axis. A sine adds its speed too, so that it goes
through the loop as a set-point of the whole control law. A relay switches against the measured
position. Any motion, any stop and an arm that is switched off end it; limits of position hold.
"""

from __future__ import annotations

from linkwright.algebra import cos, equal, maximum, minimum, not_equal, sin, where
from linkwright.blocks import Block
from linkwright.server.cell import CellArm
from linkwright.server.face import EXCITATIONS, Command, RefusedError
from linkwright.server.supervisor import chosen

LONGEST = 120.0
"""s that an experiment may last."""


class ArmProbe(Block):
    """What is added to the set-points of an arm.

    Args:
        arm: that it is of.
        rate: ticks in a second.
        name: of the block.

    >>> from linkwright.server.cell_file import read_cell
    >>> sorted(ArmProbe(read_cell("axes2").arms[0], 500).outputs)
    ['target', 'target_rate', 'value']
    """

    def __init__(self, arm: CellArm, rate: float, name: str = "probe") -> None:
        super().__init__(name)
        n, hold = len(arm.axes), self.intermediate
        target = self.input_vector("wanted", n, list(arm.start), doc="where the motion wants it")
        speed = self.input_vector("wanted_rate", n, doc="and how fast")
        q = self.input_vector("q", n, list(arm.start), doc="measured positions")
        off = self.input("off", doc="whether anything else happens to the arm")
        kind = self.input("kind", doc="place in EXCITATIONS")
        axis = self.input("axis", doc="place of the axis")
        size = self.input("amplitude", doc="rad or m")
        w = self.input("frequency", doc="of a sine, rad/s")
        width = self.input("hysteresis", doc="of a relay, rad or m")
        ticks = self.input("ticks", doc="how long")
        count = self.input("count", doc="experiments so far")
        seen, running = self.discrete_state("seen"), self.discrete_state("running")
        elapsed, side = self.discrete_state("elapsed"), self.discrete_state("side")
        start = hold(not_equal(count, seen))
        since = hold(where(start, 0, elapsed + 1))
        on = hold((start | (running > 0)) & equal(off, 0) & (since < ticks))
        away = hold(chosen(axis, target) - chosen(axis, q))
        flipped = where(away > width, 1, where(away < -width, -1, side))
        here = hold(where(start, 1, flipped))
        angle = hold(w * since / rate)
        step, sine, relay = (EXCITATIONS.index(word) for word in ("step", "sine", "relay"))
        shape = where(equal(kind, sine), sin(angle), where(equal(kind, relay), here, 1))
        value = hold(where(on & (kind >= step), size * shape, 0))
        rise = hold(where(on & equal(kind, sine), size * w * cos(angle), 0))
        self.output("value", value, doc="what is added to the set-point")
        moved = [
            where(
                on & equal(axis, i),
                maximum(one.low, minimum(one.high, target[i] + value)),
                target[i],
            )
            for i, one in enumerate(arm.axes)
        ]
        self.output_vector("target", moved, doc="wanted positions")
        rates = [speed[i] + where(equal(axis, i), rise, 0) for i in range(n)]
        self.output_vector("target_rate", rates, doc="wanted speeds")
        for memory, following in ((seen, count), (running, on), (elapsed, since), (side, here)):
            self.update(memory, following)


def check_excitation(arm: CellArm, command: Command) -> None:
    """Refuse an experiment that an axis does not bear, by name.

    Args:
        arm: whose axis it is.
        command: with place in EXCITATIONS, amplitude, frequency, seconds and hysteresis.
    """
    kind, size, w, seconds, width = command.values
    axis = next(one for one in arm.axes if one.name == command.name)
    if kind not in range(len(EXCITATIONS)):
        raise RefusedError("values", f"there is no excitation number {kind:g}")
    if not 0 <= size <= axis.following / 2:
        raise RefusedError(
            "range",
            f"an amplitude of {size:g} {axis.unit} is not from 0 to {axis.following / 2:g}, half "
            f"the following error that {axis.name} may have",
        )
    if not (w >= 0 and size * w <= axis.speed):
        raise RefusedError(
            "range", f"a sine of {size:g} {axis.unit} at {w:g} rad/s is faster than {axis.name}"
        )
    if not 0 <= seconds <= LONGEST or width < 0:
        raise RefusedError("range", f"{seconds:g} s are not from 0 to {LONGEST:g}")
