"""Goals of a chain: how they come in, what is rejected, and the queue in which they wait.

Goals come in at input ports with several slots. A goal is new where its sequence number is higher
than all before; one is taken a tick, the lowest first, so that as many goals as there are slots may
come at once. What cannot be taken is rejected with a reason, and nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linkwright.algebra import ONE, ZERO, Expr, absolute, equal, floor, minimum, where
from linkwright.blocks import Block
from linkwright.motion.chains.records import chosen, like, numbers
from linkwright.motion.trajectory import MotionError

GOALS = ("none", "joints", "pose")
"""Kinds of goals, by number."""

REASONS = ("none", "full", "stopped", "number", "limits", "kind", "frame")
"""Why a goal was rejected, by number: the queue is full; the motion is being stopped; a value is
not finite, or speed or blend make no sense; a joint would leave its limits; the kind is not one of
this chain; the frame is not known."""

_NEVER = 2.0**60
_HUGE = 1e12


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal as a chain holds it: expressions."""

    kind: Expr  # place in `GOALS`
    values: tuple[Expr, ...]  # joints, or a pose as x, y, z and a unit quaternion w, x, y, z
    speed: Expr  # share of the limits of speed
    blend: Expr  # s before the last goal, from when on the turn to this one may begin
    frame: Expr  # number of the frame in which a pose is given
    sequence: Expr  # its number


class Mailbox:
    """The input ports of a chain's goals."""

    def __init__(self, block: Block, width: int, slots: int) -> None:
        self.width, self.slots, self._block = width, slots, block
        kind = block.input_vector("kind", slots, doc="of a goal: 1 joints, 2 pose")
        values = block.input_vector("values", (slots, width), doc="of a goal")
        speed = block.input_vector("speed", slots, 1.0, unit="1", doc="share of limits of speed")
        blend = block.input_vector("blend", slots, unit="s", doc="before the last goal")
        frame = block.input_vector("frame", slots, doc="number of the frame of a pose")
        sequence = block.input_vector(
            "sequence", slots, doc="number of a goal; higher ones are new"
        )
        self.goals = [
            Goal(
                kind[i],
                values[i * width : (i + 1) * width],
                speed[i],
                blend[i],
                frame[i],
                sequence[i],
            )
            for i in range(slots)
        ]

    def newest(self, seen: Expr) -> tuple[Expr, Goal]:
        """Return whether there is a goal that is not yet seen, and the first such goal."""
        hold = self._block.intermediate
        waiting = [hold(where(g.sequence > seen, g.sequence, _NEVER)) for g in self.goals]
        first = hold(minimum(*waiting))
        found = self.goals[-1]
        for goal, number in list(zip(self.goals, waiting, strict=True))[-2::-1]:
            found = chosen(equal(number, first), goal, found)
        return hold(first < _NEVER), like(found, map(hold, numbers(found)))

    def inputs(
        self,
        sequence: int,
        kind: str,
        values: Sequence[float],
        speed: float,
        blend: float,
        frame: int,
    ) -> dict[str, float]:
        """Return the inputs by name that stand for a goal; its slot takes its number."""
        if kind not in GOALS[1:]:
            raise MotionError(
                f"{kind!r} is not a kind of goal", remedy=f"choose one of {', '.join(GOALS[1:])}"
            )
        if len(values) > self.width:
            raise MotionError(f"a goal has {self.width} numbers at most, not {len(values)}")
        i = sequence % self.slots
        padded = [*values, *[0.0] * (self.width - len(values))]
        return {
            f"kind[{i}]": float(GOALS.index(kind)),
            **{f"values[{i},{k}]": float(x) for k, x in enumerate(padded)},
            f"speed[{i}]": float(speed),
            f"blend[{i}]": float(blend),
            f"frame[{i}]": float(frame),
            f"sequence[{i}]": float(sequence),
        }


def reason_of(
    goal: Goal,
    full: Expr,
    stopped: Expr,
    lower: Sequence[float],
    upper: Sequence[float],
    frames: int,
) -> Expr:
    """Return why a goal is rejected, the place in `REASONS`, or 0."""
    # a number that is not one is not below any other
    sane = every(absolute(x) < _HUGE for x in numbers(goal))
    fair = (goal.speed > 0) & (goal.speed <= 1) & (goal.blend >= 0)
    joints = equal(goal.kind, 1)
    pose = equal(goal.kind, 2) if frames else ZERO
    inside = every(
        (x >= low) & (x <= high)
        for x, low, high in zip(goal.values[: len(lower)], lower, upper, strict=True)
    )
    known = ONE
    if frames:
        whole = equal(floor(goal.frame), goal.frame)
        known = whole & (goal.frame >= 0) & (goal.frame < frames)
        size = sum((x**2 for x in goal.values[3:7]), ZERO)
        sane = sane & where(pose, absolute(size - 1) < 1e-6, ONE)
    reason = where(pose & (1 - known), REASONS.index("frame"), ZERO)
    reason = where(joints & (1 - inside), REASONS.index("limits"), reason)
    reason = where(joints | pose, reason, REASONS.index("kind"))
    reason = where(sane & fair, reason, REASONS.index("number"))
    reason = where(stopped, REASONS.index("stopped"), reason)
    return where(full, REASONS.index("full"), reason)


def every(conditions: Iterable[Expr]) -> Expr:
    """Return whether all conditions hold."""
    found = ONE
    for condition in conditions:
        found = found & condition
    return found


def some(conditions: Iterable[Expr]) -> Expr:
    """Return whether one of the conditions holds."""
    found: Expr = ZERO
    for condition in conditions:
        found = found | condition
    return found


class Queue:
    """Goals that wait, as discrete states; the first is the next."""

    def __init__(self, block: Block, goal: Goal, depth: int) -> None:
        self._block, self.depth = block, depth
        self.count = block.discrete_state("waiting", doc="goals that wait")
        size = len(numbers(goal))
        self.goals = [
            like(goal, [block.discrete_state(f"wait{i}_{k}") for k in range(size)])
            for i in range(depth)
        ]

    @property
    def first(self) -> Goal:
        """The next goal, where there is one."""
        return self.goals[0]

    def update(self, popped: Expr, pushed: Expr, goal: Goal, emptied: Expr) -> None:
        """Say how the queue goes on."""
        block = self._block
        left = block.intermediate(self.count - popped)
        block.update(self.count, where(emptied, 0, left + pushed))
        for i, here in enumerate(self.goals):
            after = self.goals[i + 1] if i + 1 < self.depth else here
            new = block.intermediate(pushed & equal(left, i))
            for x, y, z in zip(*map(numbers, (here, after, goal)), strict=True):
                block.update(x, where(new, z, where(popped, y, x)))
