"""A task: what a robot has to do, part after part.

A part says for some time how joints or a tool move:

- `TaskSegment`: polynomials of time for rates or positions of joints, or of the tool along and
  about three axes (ROBSIM's prescribed motion, its digest section 3.3);
- `Move`: joints go to given positions; `ToolLine`: the tool goes along a straight line while it
  turns about a fixed axis; both by one of the laws of `point_to_point`;
- `Follow`: joints follow a trajectory, or a recorded table of positions;
- `Dwell`: nothing moves.

A part begins where the one before it ends, or at a `start` of its own; one without a duration lasts
until the next part starts, the last one until the task stops. Payloads are picked and released at
instants, a wrench of the tool and an acceleration of the base are polynomials of time. A task is
data: which robot can do it, and what that takes, is for `linkwright.sizing.require` to find.

Axes: "world" are those of the model's ground, "base" those of the link that carries the first
joint (they differ where that link is mounted at an angle), "tool" those of the tool as it moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from linkwright.base.arguments import worded
from linkwright.base.errors import InputError
from linkwright.base.reprs import one_line
from linkwright.motion.payloads import Payload, payload_of
from linkwright.motion.task_parts import (
    Dwell,
    Follow,
    LoadProfile,
    Move,
    Part,
    TaskSegment,
    ToolLine,
    coefficients_of,
    shifted,
    time_in_seconds,
)
from linkwright.motion.trajectory import MotionError, Trajectory

_SAME = 1e-9  # s, between the end of one part and the start of the next


class PartError(MotionError):
    """A part of a task, or a load, that does not fit the others; `key` and `index` say which."""

    def __init__(
        self, what: str, key: str, index: int, *, remedy: str | None = None, code: str
    ) -> None:
        super().__init__(what, remedy=remedy, code=code)
        self.key, self.index = key, index


@dataclass(frozen=True, slots=True)
class Mention:
    """Where a file names a joint; `kind` is the kind of joint that the unit of a value fits.

    Example:
        >>> print(Mention("j9", file="pick.toml", line=3, column=7).error("unknown", None, "R203"))
        pick.toml:3:7: unknown [R203]
    """

    joint: str  # its name
    kind: str = ""  # "revolute" or "prismatic"; empty where every joint fits
    given: str = ""  # the value as it stands there
    file: str | None = None  # that names it
    line: int | None = None  # in the file
    column: int | None = None  # in the line

    def error(self, what: str, remedy: str | None, code: str | None) -> InputError:
        """Return an error with this place."""
        return InputError(
            what, file=self.file, line=self.line, column=self.column, remedy=remedy, code=code
        )


@one_line
@dataclass(frozen=True, slots=True)
class Task:
    """What a robot has to do.

    Args:
        parts: what moves, one after the other; or a trajectory of all joints.
        start: positions of joints at the beginning by name, rad or m; other joints begin at zero,
            or where a trajectory begins.
        frame: the tool's.
        begin: s, when the task begins.
        stop: s, when it stops; when the last part ends by default.
        payloads: what the tool carries from an instant on, `(s, Payload)`; a number is a point
            mass, kg, and 0 releases it.
        wrench: what the tool puts on its surroundings.
        base: how the base accelerates.
        limits: of joints by name, in place of the robot's own: "lower", "upper" (rad or m),
            "speed", "acceleration", "jerk", "torque", "power" (magnitudes).
        name: of the task.
        mentions: where a file names joints, and with which units; `require` checks them against the
            robot.

    Example:
        >>> from linkwright.motion.tasks import Dwell, Move
        >>> task = Task([Move({"j1": 1.0}, 2.0), Dwell(0.5), Move({"j1": 0.0}, 2.0)])
        >>> task.duration, [round(t, 3) for t, _, _ in task.schedule()]
        (4.5, [0.0, 2.0, 2.5])
    """

    parts: tuple[Part, ...]
    start: Mapping[str, float] = field(default_factory=dict)
    frame: str = "tool"
    begin: float = 0.0
    stop: float | None = None
    payloads: tuple[tuple[float, Payload], ...] = ()
    wrench: tuple[LoadProfile, ...] = ()
    base: tuple[LoadProfile, ...] = ()
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    name: str = "task"
    mentions: tuple[Mention, ...] = field(default=(), repr=False, compare=False)

    @worded
    def __init__(
        self,
        parts: Trajectory | Iterable[Part],
        start: Mapping[str, float] | None = None,
        frame: str = "tool",
        begin: float = 0.0,
        stop: float | None = None,
        payloads: Iterable[tuple[float, Payload | float]] = (),
        wrench: Iterable[LoadProfile] = (),
        base: Iterable[LoadProfile] = (),
        limits: Mapping[str, Mapping[str, float]] | None = None,
        name: str = "task",
        mentions: Iterable[Mention] = (),
    ) -> None:
        listed = (Follow(parts),) if isinstance(parts, Trajectory) else tuple(parts)
        if not listed or not all(
            isinstance(p, TaskSegment | Move | ToolLine | Dwell | Follow) for p in listed
        ):
            raise MotionError(
                "a task has one part or more: TaskSegment, Move, ToolLine, Dwell or Follow",
                code="R202",
            )
        carried = [(float(t), payload_of(p)) for t, p in payloads]
        if any(p.up_to is not None for _, p in carried):
            raise MotionError(
                "a payload of a task is one body",
                remedy="ask Requirement.worst for all bodies in a box",
                code="R209",
            )
        values: dict[str, Any] = {
            "parts": listed,
            "start": {n: c[0] for n, c in coefficients_of(start or {}, None, 1).items()},
            "frame": str(frame),
            "begin": time_in_seconds(begin, "the begin of a task"),
            "stop": time_in_seconds(stop, "the stop of a task"),
            "payloads": tuple(sorted(carried, key=lambda item: item[0])),
            "wrench": tuple(wrench),
            "base": tuple(base),
            "limits": {k: dict(v) for k, v in (limits or {}).items()},
            "name": str(name),
            "mentions": tuple(mentions),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        end = self.schedule()[-1][1]  # which says what parts do not fit together
        self._refuse_late(end, [t for t, _ in carried])

    def _refuse_late(self, end: float, picked: Sequence[float]) -> None:
        """Reject loads that begin when the task is over."""
        starts = [("payload", k, t, end + _SAME) for k, t in enumerate(picked)]
        for key, loads in (("wrench", self.wrench), ("base", self.base)):
            starts += [(key, k, load.start, end - _SAME) for k, load in enumerate(loads)]
        for key, k, start, last in starts:
            if start > last:
                raise PartError(
                    f"{key} {k + 1} begins at {start:g} s, and the task ends at {end:g} s",
                    key,
                    k,
                    remedy="let it begin before the end",
                    code="R219",
                )

    def schedule(self) -> list[tuple[float, float, Part]]:
        """Return when each part begins and ends, s, and the part; reject gaps and overlaps."""
        found: list[tuple[float, float, Part]] = []
        at: float | None = self.begin
        for k, part in enumerate(self.parts):
            begin = at if part.start is None else part.start
            if begin is None:
                raise PartError(
                    f"part {k + 1} has no start, and part {k} no duration", "part", k, code="R201"
                )
            if at is not None and abs(begin - at) > _SAME:
                word, after = ("overlaps", "ends") if begin < at else ("leaves a gap after", "ends")
                what = f"what {after} at {at:g} s" if k else f"the task's begin at {at:g} s"
                raise PartError(
                    f"part {k + 1} starts at {begin:g} s and {word} {what}",
                    "part",
                    k,
                    remedy="change its start, or put a Dwell between",
                    code="R201",
                )
            if found and at is None:
                found[-1] = (found[-1][0], begin, found[-1][2])
            if found and found[-1][1] - found[-1][0] <= _SAME:
                raise PartError(
                    f"part {k + 1} starts at {begin:g} s, not after part {k}",
                    "part",
                    k,
                    code="R201",
                )
            at = None if part.duration is None else begin + part.duration
            found.append((begin, begin if at is None else at, part))
        return self._ended(found, at)

    def _ended(
        self, found: list[tuple[float, float, Part]], at: float | None
    ) -> list[tuple[float, float, Part]]:
        begin, _, last = found[-1]
        if at is None and self.stop is None:
            raise PartError(
                "the last part has no duration, and the task no stop",
                "part",
                len(found) - 1,
                remedy="give one of them",
                code="R201",
            )
        stop = at if self.stop is None else self.stop
        assert stop is not None
        if stop <= begin + _SAME:
            raise MotionError(
                f"the task stops at {stop:g} s, before its last part starts at {begin:g} s",
                code="R201",
            )
        if at is not None and abs(stop - at) > _SAME:
            word = "before" if stop < at else "after"
            raise MotionError(
                f"the task stops at {stop:g} s, {word} its last part ends at {at:g} s",
                remedy="leave out one of the two, or put a Dwell at the end",
                code="R201",
            )
        return [*found[:-1], (begin, stop, last)]

    @property
    def end(self) -> float:
        """When the task ends, s."""
        return self.schedule()[-1][1]

    @property
    def duration(self) -> float:
        """How long it takes, s."""
        return self.end - self.begin

    def repeated(self, times: int) -> Task:
        """Return the task done several times, each going on where the one before it ended.

        Args:
            times: how often.

        >>> from linkwright.motion.tasks import Move
        >>> Task([Move({"j1": 1.0}, 2.0)]).repeated(3).duration
        6.0
        """
        if times < 1:
            raise MotionError(f"a task is done {times!r} times", remedy="once or more", code="R202")
        span = self.duration
        parts: list[Part] = []
        for turn in range(times):
            for begin, end, part in self.schedule():
                fixed: Part = part
                if isinstance(part, TaskSegment):
                    fixed = TaskSegment(
                        part.channels, None, end - begin, control=part.control,
                        profile=part.profile, time=part.time, axes=part.axes, free=part.free,
                    )  # fmt: skip
                    if part.time == "absolute" and turn:
                        moved = {n: shifted(c, -turn * span) for n, c in part.channels.items()}
                        fixed = replace(fixed, channels={n: tuple(c) for n, c in moved.items()})
                elif isinstance(part, Dwell):
                    fixed = Dwell(end - begin)
                else:
                    fixed = replace(part, start=None)
                parts.append(fixed)
        turns = range(times)
        return Task(
            parts,
            self.start,
            self.frame,
            self.begin,
            payloads=[(t + k * span, p) for k in turns for t, p in self.payloads],
            wrench=_again(self.wrench, times, span),
            base=_again(self.base, times, span),
            limits=self.limits,
            name=self.name,
            mentions=self.mentions,
        )


def _again(loads: Sequence[LoadProfile], times: int, span: float) -> list[LoadProfile]:
    """Return loads once for each turn; those without an end go on."""
    if any(load.duration is None for load in loads) and times > 1:
        ended = [load for load in loads if load.duration is not None]
        return [*(load for load in loads if load.duration is None), *_again(ended, times, span)]
    found = []
    for k in range(times):
        for load in loads:
            channels: Mapping[str, Any] = load.channels
            if load.time == "absolute":
                channels = {n: tuple(shifted(c, -k * span)) for n, c in load.channels.items()}
            found.append(replace(load, start=load.start + k * span, channels=channels))
    return found
