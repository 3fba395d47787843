"""The order of sampled members at a tick.

Members that are due at the same tick run in the order in which their outputs need each other;
each then reads what the ones before it have just written, and everything else as it was held.
Neighbors with the same schedule are put together to one segment, whose Program the optimizer sees
as a whole. Memory changes after outputs: with the last segment of a schedule where all that the
updates read is known by then and nothing later reads the memory, otherwise after all segments. A
connection may read a member's memory itself: what is due at the same tick reads it as it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from linkwright.system.clock import Schedule
from linkwright.system.definitions import AlgebraicLoop, loop_in_words


@dataclass(frozen=True, slots=True)
class Segment:
    """Members whose outputs are computed together, and members whose memory is updated then."""

    schedule: Schedule
    outputs: tuple[str, ...]
    updates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Readers:
    """Who reads a member's memory other than itself: in its outputs, in its updates."""

    outputs: dict[str, set[str]] = field(default_factory=dict)
    updates: dict[str, set[str]] = field(default_factory=dict)


def meet(a: Schedule, b: Schedule) -> bool:
    """Whether two schedules have a tick in common.

    >>> meet(Schedule(2), Schedule(3)), meet(Schedule(2), Schedule(4, 1))
    (True, False)
    """
    return (a.offset - b.offset) % math.gcd(a.every, b.every) == 0


def segments(
    schedules: Mapping[str, Schedule],
    needs: Mapping[str, set[str]],
    update_needs: Mapping[str, set[str]],
    alone: set[str],
    readers: Readers | None = None,
) -> list[Segment]:
    """Return what runs at a tick, in order.

    >>> servo = Schedule(1)
    >>> segments({"a": servo, "b": servo}, {"a": {"b"}, "b": set()}, {"b": {"a"}}, set())
    [Segment(schedule=Schedule(every=1, offset=0), outputs=('b', 'a'), updates=('b',))]
    """
    before = {
        name: {other for other in found if meet(schedules[name], schedules[other])}
        for name, found in needs.items()
    }
    made: list[list[str]] = []
    left, done = dict.fromkeys(schedules), set[str]()
    while left:
        ready = [name for name in left if not before[name] - done]
        if not ready:
            _complain(before, done, next(iter(left)))
        name = _next(ready, made[-1] if made else [], schedules, alone)
        if made and _joins(name, made[-1], schedules, alone):
            made[-1].append(name)
        else:
            made.append([name])
        done.add(name)
        del left[name]
    return _with_updates(made, schedules, update_needs, readers or Readers())


def _joins(
    name: str, segment: Sequence[str], schedules: Mapping[str, Schedule], alone: set[str]
) -> bool:
    same = bool(segment) and schedules[segment[0]] == schedules[name]
    return same and name not in alone and segment[0] not in alone


def _next(
    ready: Sequence[str], last: Sequence[str], schedules: Mapping[str, Schedule], alone: set[str]
) -> str:
    return next((n for n in ready if _joins(n, last, schedules, alone)), ready[0])


def _with_updates(
    made: Sequence[Sequence[str]],
    schedules: Mapping[str, Schedule],
    update_needs: Mapping[str, set[str]],
    readers: Readers,
) -> list[Segment]:
    """Put each member's update into the last segment of its schedule, or after all segments."""
    place = {name: i for i, segment in enumerate(made) for name in segment}
    last = {schedules[segment[0]]: i for i, segment in enumerate(made)}

    def together(name: str, others: Iterable[str]) -> list[str]:
        return [o for o in others if meet(schedules[name], schedules[o])]

    following = {n: together(n, readers.updates.get(n, ())) for n in update_needs}
    within: dict[str, int] = {}
    for name, found in update_needs.items():
        before = together(name, [*found, *readers.outputs.get(name, ())])
        if max((place[o] for o in before), default=-1) <= last[schedules[name]]:
            within[name] = last[schedules[name]]
    while moved := [
        n for n, i in within.items() if any(_later(within, o, i) for o in following[n])
    ]:
        for name in moved:
            del within[name]
    result = [
        Segment(
            schedules[segment[0]], tuple(segment), tuple(n for n, j in within.items() if i == j)
        )
        for i, segment in enumerate(made)
    ]
    late = [name for name in update_needs if name not in within]
    return [*result, *_after(late, schedules, following)]


def _later(within: Mapping[str, int], name: str, place: int) -> bool:
    """Whether a member's update comes after a segment."""
    return name not in within or within[name] > place


def _after(
    late: Sequence[str], schedules: Mapping[str, Schedule], following: Mapping[str, Sequence[str]]
) -> list[Segment]:
    """Return updates after all segments, each memory after all that reads it as it was."""
    left, found = list(late), list[Segment]()
    while left:
        for schedule in dict.fromkeys(schedules[name] for name in left):
            free = [name for name in left if schedules[name] == schedule]
            while bound := [
                n for n in free if any(o in left and o not in free for o in following[n])
            ]:
                free = [name for name in free if name not in bound]
            if free:
                break
        else:
            raise AlgebraicLoop(
                f"the updates of {', '.join(left)} read each other's memory at different rates",
                remedy="connect an output of one of them instead of its memory",
            )
        found.append(Segment(schedule, (), tuple(free)))
        left = [name for name in left if name not in free]
    return found


def _complain(before: Mapping[str, set[str]], done: set[str], start: str) -> None:
    path = [start]
    while True:
        following = min(before[path[-1]] - done)
        if following in path:
            loop = path[path.index(following) :]
            raise AlgebraicLoop(
                f"algebraic loop at a tick: {loop_in_words(loop[::-1])}; each needs the output "
                "before it at the same instant",
                remedy="put a Delay between two of them, or give one of them an offset",
            )
        path.append(following)
