"""Experiments on one axis of an arm that holds still: steps, sines and relays, in ticks.

The probe adds to where the motion wants the axis. A sine adds its speed too, so that it goes
through the loop as a set-point of the whole control law. A relay switches against the measured
position. Limits of position hold. Any motion, any stop and the end of its time end it: from where
the set-point is then, it goes back or on within the limits of speed, acceleration and jerk
(`linkwright.server.tracking`). An arm that is switched off ends it at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwright.algebra import cos, equal, maximum, minimum, not_equal, sin, where
from linkwright.blocks import Block
from linkwright.server.cell import CellArm
from linkwright.server.face import EXCITATIONS, Command, RefusedError
from linkwright.server.supervisor import EXCITE, chosen

LONGEST = 120.0
"""s that an experiment may last."""

WORDS = ("kind", "amplitude", "frequency", "ticks", "hysteresis", "axis")
"""Settings of an experiment: place in EXCITATIONS, rad or m, rad/s, how long, rad or m, place."""


class ArmProbe(Block):
    """What is added to the set-points of an arm.

    >>> from linkwright.server.cell_file import read_cell
    >>> sorted(ArmProbe(read_cell("axes2").arms[0], 500).outputs)[:3]
    ['excited', 'leaves', 'left']
    """

    def __init__(self, arm: CellArm, rate: float, name: str = "probe") -> None:
        super().__init__(name)
        n, hold = len(arm.axes), self.intermediate
        q = self.input_vector("q", n, list(arm.start), doc="measured positions")
        here = self.input_vector("here", n, list(arm.start), doc="the set-point of the tick before")
        place = self.input_vector("place", n, list(arm.start), doc="where the arm stands meanwhile")
        count, command = self.input("count", doc="motions so far"), self.input("kind")
        goal = self.input_vector("goal", len(WORDS), doc="of the newest: " + ", ".join(WORDS))
        enabled, brake = self.input("on"), self.input("brake", doc="whether the arm is to stop")
        waits = self.input("waits", doc="whether a motion waits for the arm")
        seen, running = self.discrete_state("seen"), self.discrete_state("running")
        elapsed, side = self.discrete_state("elapsed"), self.discrete_state("side")
        fresh, excite = hold(not_equal(count, seen)), hold(equal(command, EXCITE))
        start = hold(fresh & excite & (goal[0] > 0) & equal(running, 0))
        base = [hold(where(start, x, y)) for x, y in zip(here, place, strict=True)]
        known = []
        for word, value in zip(WORDS, goal, strict=True):
            memory = self.discrete_state(f"last_{word}")
            known.append(hold(where(start, value, memory)))
            self.update(memory, known[-1])
        kind, size, w, ticks, width, axis = known
        since = hold(where(start, 0, elapsed + 1))
        calm = (enabled > 0) & equal(brake, 0) & (fresh | equal(waits, 0)) & (since < ticks)
        on = hold((start | ((running > 0) & ~fresh)) & calm)
        step, sine, relay = (EXCITATIONS.index(word) for word in ("step", "sine", "relay"))
        angle = hold(w * since / rate)
        waves = hold(equal(kind, sine))
        away = hold(chosen(axis, base) - chosen(axis, q))
        flipped = where(away > width, 1, where(away < -width, -1, side))
        switched = hold(where(start, 1, flipped))
        shape = where(waves, sin(angle), where(equal(kind, relay), switched, 1))
        value = hold(where(on & (kind >= step), size * shape, 0))
        rise = hold(where(on & waves, size * w * cos(angle), 0))
        self.output("value", value, doc="what is added to the set-point")
        # where it would have gone on, as the arm leaves it; a sine that just began has not moved
        went = hold(elapsed > 0)
        last = hold(
            size * where(waves, where(went, sin(angle), 0), where(equal(kind, relay), side, 1))
        )
        moved, rates, left = [], [], []
        for i, one in enumerate(arm.axes):
            mine = hold(equal(axis, i))
            now, end = (
                hold(maximum(one.low, minimum(one.high, base[i] + x))) for x in (value, last)
            )
            moved.append(where(mine, now, base[i]))
            rates.append(where(mine, rise, 0))
            goes = hold(mine & waves & went & equal(end, base[i] + last))
            speed = where(goes, size * w * cos(angle), 0)
            left.append((where(mine, end, base[i]), speed, where(goes, -w * w * last, 0)))
        self.output("excited", on, doc="whether it goes on")
        self.output_vector("moved", moved, doc="the set-point meanwhile")
        self.output_vector("rise", rates, doc="and its speed")
        self.output("leaves", (running > 0) & ~on & (enabled > 0), doc="whether it ends here")
        words = ("left", "left_rate", "left_acceleration")
        for word, values in zip(words, zip(*left, strict=True), strict=True):
            self.output_vector(word, list(values), doc="of the set-point where it ends")
        for memory, following in ((seen, count), (running, on), (elapsed, since), (side, switched)):
            self.update(memory, following)


def check_excitation(arm: CellArm, command: Command, place: Sequence[float] | None = None) -> None:
    """Reject an experiment that an axis does not tolerate, by name."""
    kind, size, w, seconds, width = command.values
    number = next(i for i, one in enumerate(arm.axes) if one.name == command.name)
    axis = arm.axes[number]
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
    if place is None or kind == 0:
        return
    at, low, high = place[number], axis.low, axis.high
    least = at if kind == EXCITATIONS.index("step") else at - size
    if not (low <= least and at + size <= high):
        raise RefusedError(
            "range",
            f"an amplitude of {size:g} {axis.unit} about {at:.6g} leaves the range of {axis.name}, "
            f"{low:g} to {high:g} {axis.unit}",
            remedy="move away from the end of the range, or choose a smaller amplitude",
        )
