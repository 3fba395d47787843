"""Programs of positions, as RCCL had them: frames in equations, and moves that solve them.

An equation of position says where the tool is to be by products of frames, as in

    B * ARM * T == O * G

where `ARM` is the pose of the arm's tool in its base. A frame is constant, one of the cell's (which
a sensor may move), or a function of time. `Program.move` asks for what solves an equation; `run`
looks at all constant ones first, and begins only where the arm can come to each (Hayward and Paul
1986; the report on the motion server, appendix 2, section 1.2).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.base.errors import Error, InputError
from linkwright.base.rotations import quaternion_of
from linkwright.server.cell import CAUSES
from linkwright.server.face import CAREFUL, Command, RefusedError
from linkwright.server.reach import ArmReach, pose_matrix
from linkwright.server.virtual import VirtualCell

if TYPE_CHECKING:
    from linkwright.server.hand import ArmHand

__all__ = ["ARM", "MoveProgram", "PositionEquation", "Transform", "VirtualHand", "together"]

Array = NDArray[np.float64]
_TRACKED = 50.0  # Hz, of goals of functions of time
_SETTLED = 30.0  # s that a motion may take in virtual time, beyond what is known of it
_MOST = 3600.0  # s, of a move along a function

ProgramHand: TypeAlias = "ArmHand | VirtualHand"
"""What a program moves: an arm of a running cell in hand, or one in virtual time."""


class Transform:
    """A frame, or a product of frames.

    Args:
        value: a 4 x 4 matrix; x, y, z in m and a unit quaternion w, x, y, z; three numbers for
            a shift; the name of a frame of the cell; or a function of seconds that gives one.

    >>> shift = Transform([0.1, 0, 0])
    >>> (shift * shift.inverse).matrix().tolist() == np.eye(4).tolist()
    True
    """

    def __init__(self, value: ArrayLike | str | Callable[[float], ArrayLike]) -> None:
        fixed = isinstance(value, str) or callable(value)
        self._parts: tuple[tuple[Any, bool], ...] = (
            (value if fixed else _matrix(cast("ArrayLike", value)), False),
        )  # and whether each is inverted

    @classmethod
    def _of(cls, parts: tuple[tuple[Any, bool], ...]) -> Transform:
        found = object.__new__(cls)
        found._parts = parts
        return found

    def __mul__(self, other: Transform) -> Transform:
        """Return the product: the second is given in the first."""
        return Transform._of((*self._parts, *other._parts))

    def __eq__(self, other: object) -> PositionEquation:  # type: ignore[override]
        """Return an equation of position."""
        if not isinstance(other, Transform):
            raise InputError("a frame is equated with another", remedy="make it a Transform")
        return PositionEquation(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        words = [
            (p if isinstance(p, str) else "f(t)" if callable(p) else "ARM" if p is _ARM else "F")
            + ("^-1" if inverted else "")
            for p, inverted in self._parts
        ]
        return " * ".join(words) or "1"

    @property
    def inverse(self) -> Transform:
        """The frame seen from the other end."""
        return Transform._of(tuple((p, not inverted) for p, inverted in reversed(self._parts)))

    @property
    def names(self) -> list[str]:
        """Names of frames of the cell in it."""
        return [p for p, _ in self._parts if isinstance(p, str)]

    @property
    def moves(self) -> bool:
        """Whether it is a function of time."""
        return any(callable(p) for p, _ in self._parts)

    def matrix(self, seconds: float = 0.0) -> Array:
        """Return it as a matrix.

        Args:
            seconds: since the move began, for functions of time.
        """
        found = np.eye(4)
        for part, inverted in self._parts:
            if isinstance(part, str) or part is _ARM:
                raise InputError(
                    f"{self!r} has no number of its own",
                    remedy="frames of the cell stand first, as in 'conveyor' * GRIP",
                )
            value = _matrix(part(seconds)) if callable(part) else part
            found = found @ (np.linalg.inv(value) if inverted else value)
        return found


_ARM = object()
ARM = Transform._of(((_ARM, False),))
"""The pose of an arm's tool in its base, once in each equation."""


@dataclass(frozen=True, slots=True, eq=False)
class PositionEquation:
    """Two products of frames that are to be equal, one of them with `ARM`.

    Args:
        left: one side.
        right: the other.

    >>> tool, place = Transform([0, 0, 0.1]), Transform([0.5, 0, 0.3])
    >>> (ARM * tool == place).solution.matrix()[:3, 3].round(3)
    array([0.5, 0. , 0.2])
    """

    left: Transform
    right: Transform

    @property
    def solution(self) -> Transform:
        """What `ARM` is equal to."""
        sides = [list(side._parts) for side in (self.left, self.right)]
        found = [
            (s, k)
            for s, side in enumerate(sides)
            for k, (part, _) in enumerate(side)
            if part is _ARM
        ]
        if len(found) != 1:
            raise InputError(
                f"{self.left!r} == {self.right!r} has {len(found)} arms",
                remedy="write ARM once, as in BASE * ARM * TOOL == PLACE * GRIP",
            )
        ((side, k),) = found
        before, after = (Transform._of(tuple(x)) for x in (sides[side][:k], sides[side][k + 1 :]))
        solved = before.inverse * Transform._of(tuple(sides[1 - side])) * after.inverse
        inverted = sides[side][k][1]
        return solved.inverse if inverted else solved

    def goal(self, seconds: float = 0.0) -> tuple[str, Array]:
        """Return the frame of the cell that the tool is to be placed in, and its pose there.

        Args:
            seconds: since the move began, for functions of time.
        """
        parts = self.solution._parts
        while parts and isinstance(parts[0][0], str) is False and _unit(parts[0]):
            parts = parts[1:]
        if parts and isinstance(parts[0][0], str) and not parts[0][1]:
            return parts[0][0], Transform._of(parts[1:]).matrix(seconds)
        return "base", Transform._of(parts).matrix(seconds)


def _unit(part: tuple[Any, bool]) -> bool:
    return isinstance(part[0], np.ndarray) and bool(np.allclose(part[0], np.eye(4)))


def _matrix(given: ArrayLike) -> Array:
    try:
        value = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        value = np.zeros(0)
    if value.shape == (3,):
        value = np.concatenate([value, [1.0, 0.0, 0.0, 0.0]])
    if value.shape == (7,) and abs(np.linalg.norm(value[3:]) - 1) < 1e-6:
        value = pose_matrix(value.tolist())
    turned = value[:3, :3] if value.shape == (4, 4) else np.zeros((3, 3))
    if not (np.isfinite(value).all() and np.allclose(turned @ turned.T, np.eye(3), atol=1e-6)):
        raise InputError(
            "this is not a frame",
            remedy="give a 4 x 4 matrix; x, y, z and a unit quaternion; or three numbers",
        )
    return value


class VirtualHand:
    """An arm of a cell in virtual time, commanded as one of a running cell is.

    Args:
        cell: in virtual time.
        arm: its name.
    """

    def __init__(self, cell: VirtualCell, arm: str) -> None:
        self.cell, self.name, self._sequence = cell, arm, 0
        self._known = 0.0  # sequence up to which it is known what was cut off
        self.spec = next(x for x in cell.cell.arms if x.name == arm)
        self._goes(0.02)

    def __getitem__(self, word: str) -> Array:
        return np.atleast_1d(np.array(self.cell.latest().values[f"{self.name}.{word}"]))

    @property
    def cause(self) -> str:
        """Why it stopped."""
        return CAUSES[int(self["cause"][0])]

    def _goes(self, seconds: float) -> None:
        self.cell.beat(self.name, 1, 3000.0)
        self.cell.advance(max(1, round(seconds * self.cell.rate)))

    def sleep(self, seconds: float) -> None:
        """Let time go on.

        Args:
            seconds: how long.
        """
        self._goes(seconds)

    def ask(self, kind: str, values: Sequence[float] = (), **more: Any) -> int:
        """Ask for a verb.

        Args:
            kind: its name.
            values: its numbers.
            more: `speed` (a share), `blend`, `frame`, `name` of a `Command`.
        """
        self._sequence += 1
        given = tuple(float(x) for x in values)
        self.cell.command(self.name, Command(kind, self._sequence, given, **more))
        return self._sequence

    def enable(self) -> None:
        """Switch the arm on."""
        self.ask("enable")
        self._goes(0.1)

    def pose(
        self,
        pose: ArrayLike,
        *,
        frame: str = "base",
        speed: float | str = CAREFUL,
        blend: float = 0.0,
    ) -> int:
        """Move the tool straight to a pose.

        Args:
            pose: a 4 x 4 matrix.
            frame: in which it is given.
            speed: share of the limits.
            blend: s.
        """
        if isinstance(speed, str):
            raise InputError("in virtual time a speed is a share", remedy="such as speed=0.25")
        m = np.asarray(pose, dtype=float)
        values = [*m[:3, 3], *quaternion_of(m[:3, :3])]
        return self.ask("pose", values, frame=frame, speed=speed, blend=blend)

    def track(self, q: ArrayLike) -> int:
        """Go for coordinates now.

        Args:
            q: rad or m.
        """
        return self.ask("track", np.asarray(q, dtype=float).tolist())

    def trajectory(self, times: ArrayLike, points: ArrayLike) -> int:
        """Go through coordinates at times.

        Args:
            times: s.
            points: rad or m, a row for each time.
        """
        rows = np.asarray(points, dtype=float)
        for at, row in zip(np.asarray(times, dtype=float).tolist(), rows.tolist(), strict=True):
            self.ask("knot", [at, *row])
        return self.ask("trajectory", [float(len(rows))])

    def stop(self) -> int:
        """Brake, and hold."""
        asked = self.ask("stop")
        self._known = float(asked)
        return asked

    def wait(self, seconds: float = _SETTLED) -> None:
        """Let time go on until all is finished; an error where the arm stops before.

        Args:
            seconds: at most.
        """
        end = self.cell.tick + seconds * self.cell.rate
        while True:
            cut = float(self["cut"][0])
            if cut > self._known and not self["moving"][0]:
                self._known = cut
                word = CAUSES[int(self["cut_cause"][0])]
                if word not in ("replaced", "disable"):
                    raise Error(f"{self.name} stopped: {word}")
            if self["done"][0] >= self._sequence:
                return
            if self.cell.tick > end:
                raise Error(f"{self.name} has not finished in {seconds:g} s")
            self._goes(0.02)


@dataclass(frozen=True, slots=True)
class _Step:
    equation: PositionEquation | None  # none for a stop
    name: str
    speed: float | str
    blend: float
    seconds: float  # of a function of time


class MoveProgram:
    """Moves one after another.

    Args:
        name: of the program, for messages.

    >>> place = Transform([0.5, 0.1, 0.4])
    >>> program = MoveProgram("fetch").move(ARM == place, blend=0.2).move(ARM == place).stop()
    >>> len(program)
    3
    """

    def __init__(self, name: str = "program") -> None:
        self.name = name
        self._steps: list[_Step] = []

    def __len__(self) -> int:
        return len(self._steps)

    def move(
        self,
        equation: PositionEquation,
        *,
        speed: float | str = CAREFUL,
        blend: float = 0.0,
        seconds: float = 0.0,
        name: str = "",
    ) -> MoveProgram:
        """Add a move to where an equation holds, and return the program.

        Args:
            equation: of position.
            speed: share of the arm's limits; or the tool's largest speed, as in "0.2 m/s".
            blend: s, how long before it is there the turn to the next may begin: a way-point.
            seconds: how long a function of time is followed.
            name: of the position, for messages.
        """
        solution = equation.solution
        if solution.moves and not 0 < seconds <= _MOST:
            raise InputError(
                f"a frame of {solution!r} is a function of time",
                remedy=f"say how long it is followed: seconds=..., up to {_MOST:g}",
            )
        if not solution.moves:
            equation.goal()
        place = name or f"position {len(self._steps) + 1}"
        self._steps.append(_Step(equation, place, speed, blend, seconds))
        return self

    def stop(self) -> MoveProgram:
        """Add the end of a chain of way-points: the arm comes to rest, and is waited for."""
        self._steps.append(_Step(None, "stop", 1.0, 0.0, 0.0))
        return self

    def check(self, reach: ArmReach, start: Sequence[float]) -> None:
        """Reject a program with a position in the arm's base that it cannot come to.

        Args:
            reach: of the arm.
            start: joints where it stands.
        """
        here: Sequence[float] | None = list(start)
        for step in self._steps:
            if step.equation is None:
                continue
            frame, pose = step.equation.goal(0.0)
            if frame != "base":
                here = None
                continue
            try:
                here = reach.to(here, pose)
            except RefusedError as error:
                what = f"{step.name} of {self.name!r}: {error.what}"
                raise RefusedError(error.name, what, remedy=error.remedy) from None

    def run(self, hand: ProgramHand, arm: Any = None) -> None:
        """Carry it out, after a look at all its positions.

        Args:
            hand: that moves the arm; its arm is enabled.
            arm: the arm as its cell's file has it, of a hand over the network: then positions are
                looked at before the first, and functions of time can be followed.
        """
        spec = hand.spec if isinstance(hand, VirtualHand) else arm
        reach = None if spec is None else ArmReach(spec)
        if reach is not None:
            self.check(reach, _set_point(hand))
        for step in self._steps:
            if step.equation is None:
                hand.wait()
            elif step.equation.solution.moves:
                hand.wait()
                self._follow(hand, step, reach)
            else:
                frame, pose = step.equation.goal()
                hand.pose(pose, frame=frame, speed=step.speed, blend=step.blend)
        hand.wait()

    def _follow(self, hand: ProgramHand, step: _Step, reach: ArmReach | None) -> None:
        """Give goals along a function of time, and wait for the last."""
        assert step.equation is not None
        if reach is None:
            raise InputError(
                f"{step.name} of {self.name!r} is a function of time",
                remedy="give run() the arm of the cell's file, for its kinematics",
            )
        q: Sequence[float] | None = _set_point(hand)
        count = round(step.seconds * _TRACKED)
        began = time.monotonic()
        for k in range(1, count + 1):
            frame, pose = step.equation.goal(k / _TRACKED)
            if frame != "base":
                raise InputError(
                    f"{step.name} of {self.name!r} is a function of time in a frame of the cell",
                    remedy="let the cell's frame move instead",
                )
            q = reach.to(q, pose)
            if q is None:
                raise Error(
                    f"{step.name} of {self.name!r} cannot be followed at {k / _TRACKED:g} s"
                )
            hand.track(q)
            if isinstance(hand, VirtualHand):
                hand.sleep(1 / _TRACKED)
            else:
                time.sleep(max(0.0, began + k / _TRACKED - time.monotonic()))
        hand.wait()


def _set_point(hand: ProgramHand) -> list[float]:
    """Return the joints where an arm is wanted."""
    held = hand["target"] if isinstance(hand, VirtualHand) else hand.arm.state.target
    return [float(x) for x in held]


def together(
    hands: Sequence[ProgramHand],
    grips: Sequence[Transform],
    way: Sequence[Transform],
    times: Sequence[float],
    arms: Sequence[Any] = (),
) -> None:
    """Move an object that several arms hold: each tool stays where it holds it.

    All ways are planned before an arm moves; where one stops, all stop.

    Args:
        hands: of the arms, enabled, each where it holds the object.
        grips: tool of each arm in the object's frame.
        way: poses of the object in the world; the first is where it is.
        times: s, rising, of each pose.
        arms: of the cell's file, in order, for hands over the network.
    """
    if len(grips) != len(hands) or len(way) != len(times):
        raise InputError(
            f"{len(hands)} arms with {len(grips)} grips, {len(way)} poses with {len(times)} times",
            remedy="give a grip for each arm, and a time for each pose",
        )
    plans = []
    for k, (hand, grip) in enumerate(zip(hands, grips, strict=True)):
        spec = hand.spec if isinstance(hand, VirtualHand) else (*arms, None)[min(k, len(arms))]
        if spec is None:
            raise InputError(
                "the arms of these hands are not known", remedy="give them as arms=cell.arms"
            )
        mount = Transform(spec.mount or np.eye(4))
        reach, q = ArmReach(spec), _set_point(hand)
        rows = [q]
        for place in way[1:]:
            goal = (mount.inverse * place * grip).matrix()
            found = reach.to(rows[-1], goal)
            if found is None:
                raise RefusedError("reach", f"{spec.name!r} cannot hold on along this way")
            rows.append(list(found))
        first = (mount.inverse * way[0] * grip).matrix()
        apart = np.abs(np.asarray(reach.pose(q)) - first).max()
        if apart > 5e-3:
            raise RefusedError(
                "reach",
                f"{spec.name!r} does not hold the object: its tool is {apart:.3g} m away",
                remedy="move it to the object's first pose times its grip",
            )
        plans.append(rows)
    try:
        for hand, rows in zip(hands, plans, strict=True):
            hand.trajectory(times, np.array(rows))
        for hand in hands:
            hand.wait()
    except Error:
        for hand in hands:
            hand.stop()
        raise
