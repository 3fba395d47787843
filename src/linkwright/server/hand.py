"""Commands to an arm, under a lease that lasts as long as the program is heard from."""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwright.algebra.units import amount
from linkwright.base.errors import Error, InputError, UnitError, suggestion
from linkwright.server.client import PATIENCE, ArmState, RemoteArm, TimedOutError
from linkwright.server.face import (
    CAREFUL,
    EXCITATIONS,
    POINTS,
    TOOL_SPEEDS,
    Command,
    RefusedError,
)
from linkwright.server.joining import LostError
from linkwright.server.local import LocalHand
from linkwright.server.messages import (
    ANSWER,
    BEAT,
    GRANT,
    LEASE,
    POSE,
    command_record,
    pack_command,
    unpack,
)
from linkwright.server.verbs import VERBS, motions
from linkwright.windows.records import Frame

Joints = ArrayLike | Mapping[str, float]
"""Numbers of joints: in their order, or by their names."""

Points = Sequence[Joints] | Mapping[str, Sequence[float]] | NDArray[np.float64]
"""Numbers of joints at times: a row for each time, or for each joint by its name."""

_KEY = 63  # bits
_BEATS = 5  # in the time of silence that is allowed
_STATES = 10  # in the same time
_CUTS = 256  # that are remembered
_CHANGES = 5.0  # s that enabling and its like may take


class StoppedError(Error):
    """The arm stopped before it was there, or was taken away.

    Args:
        cause: in the cell's words.
        what: the same in a sentence.
        remedy: what to do.

    >>> StoppedError("silence", "puma stopped: silence").cause
    'silence'
    """

    def __init__(self, cause: str, what: str, *, remedy: str | None = None) -> None:
        super().__init__(what, remedy=remedy)
        self.cause = cause


class GivenCommand:
    """A command that the cell has; made by the methods of `ArmHand`."""

    def __init__(self, hand: ArmHand, sequence: int, kind: str) -> None:
        self._hand = hand
        self.sequence = sequence
        self.kind = kind

    @property
    def taken(self) -> bool:
        """Whether the arm has begun with it."""
        return self._hand.arm.state.taken >= self.sequence

    @property
    def done(self) -> bool:
        """Whether the arm has finished it."""
        return self._hand.finished(self, self._hand.arm.state)

    def wait(self, seconds: float = math.inf) -> Self:
        """Wait until it is finished; raise `StoppedError` where the arm stops before.

        Args:
            seconds: how long at most.
        """
        self._hand.wait(self, seconds)
        return self

    def __repr__(self) -> str:
        return f"GivenCommand({self.kind}, {self.sequence})"


class ArmHand:
    """An arm in hand: a lease and the commands under it; made by `RemoteArm.command`.

    Leaving its block waits for what was asked and gives the arm back. An error in the block stops
    the arm first.
    """

    def __init__(
        self,
        arm: RemoteArm,
        *,
        silence: float,
        take: bool,
        expiry: float,
        local: bool,
        alive: Callable[[], bool] | None,
    ) -> None:
        self.arm = arm
        self._alive = alive
        self.silence = silence
        self._force = take
        self._expiry = round(expiry * 1e9)
        self._record = command_record(arm.face)
        self._by_window = local
        self._window: LocalHand | None = None
        self._key = self.number = 0
        self._cuts: list[tuple[int, int, str]] = []  # after which, up to which, and why
        self._sequence = self._last = 0  # that was tried, and that was taken
        self._kind = "none"  # of the last
        self._heard = 0  # sequence up to which a program knows what was cut off
        self._open: list[GivenCommand] = []  # motions that may not be over
        self._goal: tuple[float, ...] | None = None  # of the last motion, where joints were given
        self._ending = threading.Event()
        self._sending = threading.Lock()

    def take(self) -> None:
        """Take the lease and keep it alive; rejected where another holds it, with its name."""
        cell = self.arm.cell
        cell.follow(max(cell.asked_rate, min(_STATES / self.silence, cell.rate)))
        cell.wait_for_state()  # what the first beat answers
        key = secrets.randbits(_KEY) | 1
        if self._by_window:
            self._window = LocalHand(
                *(cell.name, self.arm.name, cell.client),
                *(self._record, cell.description.state, cell.states.see),
            )
        try:
            grant = self._lease(2 if self._force else 1, key).values
            if self._window is not None:
                self._window.begin()
        except BaseException:
            self._close_window()
            raise
        self._key, self.number = key, grant["number"]
        self._sequence = self._last = self._heard = grant["sequence"]
        self._open = []
        self._ending.clear()
        threading.Thread(target=self._beat, name="linkwright-beat", daemon=True).start()
        if not cell.states.wait(lambda f: self.arm.state_of(f).holder == self.number, PATIENCE):
            raise LostError(f"the loop of {cell.name!r} does not take up the lease")

    def give(self) -> None:
        """Give the lease back; the arm stops where it still moves."""
        if self._key:
            self._ending.set()
            key, self._key = self._key, 0
            self._close_window()
            try:
                self._lease(0, key)
            except RefusedError as error:
                if error.name != "lease":  # it has ended before
                    raise

    def _lease(self, take: int, key: int) -> Frame:
        values = {"take": take, "lease": key, "silence": float(self.silence)}
        data = LEASE.pack(values | {"local": int(self._by_window)})
        answer = self.arm.cell.ask(f"lease/{self.arm.name}", data)
        return unpack(GRANT if take else ANSWER, answer)

    def _close_window(self) -> None:
        window, self._window = self._window, None
        if window is not None:
            window.close()

    def enable(self) -> None:
        """Switch the arm on; returns when it is active."""
        self._change("enable")

    def disable(self) -> None:
        """Switch the arm off; returns when it is inactive."""
        self._change("disable")

    def clear(self, *others: ArmHand) -> None:
        """Clear a fault; the arm is inactive then, and `enable` follows.

        Args:
            others: arms whose PANIC is linked to this one's; they are cleared together.
        """
        for hand, asked in [(hand, hand.ask("clear")) for hand in (self, *others)]:
            hand._reach(asked, "see to the cause, then clear() again")
            hand._open = []  # whoever clears knows what it stopped

    def stop(self) -> GivenCommand:
        """Brake along the path, within the limits, and hold."""
        return self.ask("stop")

    def home(self, *, speed: float | str = CAREFUL) -> GivenCommand:
        """Go to where the arm started; encoders of cells are absolute, and need no search.

        Args:
            speed: share of the limits, or a text with a unit, as of `joints`.
        """
        return self.ask("home", speed=self._share(speed, self._fastest()))

    def joints(
        self, q: Joints, *, speed: float | str = CAREFUL, blend: float = 0.0
    ) -> GivenCommand:
        """Move to coordinates.

        Args:
            q: rad or m, in the order of the joints or by their names; joints that are not named
                stay where they are, or where the motion before brings them.
            speed: share of the arm's limits; or the largest speed, as in "0.5 rad/s".
            blend: s, how long before the last goal the turn to this one may begin.
        """
        stands = self._over() and not self.arm.state.moving
        named = tuple(q) if stands and isinstance(q, Mapping) else ()
        goal, share = self._numbers(q), self._share(speed, self._fastest(named))
        return self._go("joints", goal, speed=share, blend=blend)

    def pose(
        self,
        pose: ArrayLike,
        *,
        frame: str = "base",
        speed: float | str = CAREFUL,
        blend: float = 0.0,
    ) -> GivenCommand:
        """Move the tool straight to a pose.

        Args:
            pose: a 4x4 matrix; or x, y, z in m and a unit quaternion w, x, y, z.
            frame: in which it is given; one that a sensor moves is followed.
            speed: share of the arm's limits; or the tool's largest speed, as in "0.2 m/s".
            blend: s, how long before the last goal the turn to this one may begin.
        """
        share = self._share(speed, TOOL_SPEEDS)
        return self.ask("pose", _pose(pose), frame=frame, speed=share, blend=blend)

    def track(self, q: Joints, *, speed: float | str = CAREFUL) -> GivenCommand:
        """Go for coordinates now, from whatever the arm does, within its limits of jerk.

        Args:
            q: rad or m, as of `joints`.
            speed: share of the arm's limits; or the largest speed, as in "0.5 rad/s".
        """
        return self._go("track", self._numbers(q), speed=self._share(speed, self._fastest()))

    def jog(self, rates: Joints) -> GivenCommand:
        """Move with joint speeds, until the next command.

        Args:
            rates: rad/s or m/s, in the order of the joints or by their names; zeros stop.
        """
        return self.ask("jog", self._numbers(rates, rates=True))

    def trajectory(
        self,
        times: ArrayLike,
        points: Points,
        *,
        velocities: Points | None = None,
    ) -> GivenCommand:
        """Go through points at times, from where the arm stands to rest at the last of them.

        It is rejected before it begins where a joint would leave its range, or exceed its speed,
        acceleration or jerk. Between points it is quintic, with continuous accelerations.

        Args:
            times: s, rising; the first is that of the beginning.
            points: joints at each time, as of `joints`; or by joint, a row over the times. The
                first is where the arm stands.
            velocities: likewise, rad/s or m/s, zero at both ends; those of a cubic spline by
                default.
        """
        t = _array(times, "times")
        if t.ndim != 1 or not 2 <= len(t) <= POINTS:
            raise InputError(f"a trajectory has 2 to {POINTS} times, not the shape {t.shape}")
        given = [self._rows(len(t), points, rates=False)]
        if velocities is not None:
            given.append(self._rows(len(t), velocities, rates=True))
        for k, time in enumerate(map(float, t)):
            self.ask("knot", (time, *(x for rows in given for x in rows[k])))
        asked = self.ask("trajectory", (float(len(t)),))
        self._goal = given[0][-1]
        return asked

    def _rows(self, count: int, given: Points, *, rates: bool) -> list[tuple[float, ...]]:
        """Return the numbers of all joints at each of some times."""
        if isinstance(given, Mapping):
            table = {name: _array(row, f"{name} over the times") for name, row in given.items()}
            short = [name for name, row in table.items() if row.shape != (count,)]
            given = [
                {name: float(row[k]) for name, row in table.items() if not short}
                for k in range(count)
            ]
        else:
            short = [] if hasattr(given, "__len__") and len(given) == count else ["the points"]
        if short:
            raise InputError(
                f"a trajectory has {count} times, and not as many numbers of {', '.join(short)}",
                remedy="give one for each time",
            )
        return [self._numbers(row, rates=rates) for row in given]

    def set(self, name: str, value: float) -> GivenCommand:
        """Change a parameter at the next tick.

        Args:
            name: of the parameter.
            value: the new one.
        """
        return self.ask("set", (float(value),), name=name)

    def mode(self, axis: str, mode: int) -> GivenCommand:
        """Change the mode of an axis of an arm that is at rest and has an axis controller.

        Args:
            axis: its name.
            mode: number of an `AxisMode`: position, speed (of the motion), current (of the weight
                alone, where that is given ahead), or a triangle wave.
        """
        return self.ask("mode", (float(mode),), name=axis)

    def excite(
        self,
        axis: str,
        kind: str,
        amplitude: float,
        *,
        frequency: float = 0.0,
        seconds: float = 1.0,
        hysteresis: float = 0.0,
    ) -> GivenCommand:
        """Begin an experiment on an axis of an arm that holds still; any motion and stop ends it.

        Args:
            axis: its name.
            kind: "step", "sine" or "relay", added to the set-point; "none" ends one.
            amplitude: rad or m.
            frequency: of a sine, rad/s.
            seconds: how long.
            hysteresis: of a relay, rad or m.
        """
        if kind not in EXCITATIONS:
            raise InputError(f"there is no excitation {kind!r}: {', '.join(EXCITATIONS)}")
        place = float(EXCITATIONS.index(kind))
        values = (place, float(amplitude), float(frequency), float(seconds), float(hysteresis))
        return self.ask("excite", values, name=axis)

    def press(self, force: Sequence[float]) -> GivenCommand:
        """Press with a force, of an arm with a law of force; the other axes go on as they do.

        Where nothing is met within its travel, or contact is lost, it stops with the cause "loss".

        Args:
            force: N, along x, y and z of the arm's base; zero along axes that follow the motion.
        """
        return self.ask("press", tuple(float(x) for x in force))

    def comply(self, axes: str) -> GivenCommand:
        """Give way along axes of the arm's base, until called without any.

        Args:
            axes: such as "x" or "xy"; empty for none.
        """
        if set(axes) - set("xyz"):
            raise InputError(f"there are no axes {axes!r}", remedy='name some of "xyz"')
        return self.ask("comply", tuple(float(x in axes) for x in "xyz"))

    def guard(self, force: float | str) -> GivenCommand:
        """Stop with the cause "touch" where the force on the tool exceeds one.

        Args:
            force: N, or a text such as "10 N"; 0 for none.
        """
        return self.ask("guard", (amount(force, "the guard", "N"),))

    def wait(self, asked: GivenCommand | None = None, seconds: float = math.inf) -> None:
        """Wait until a command is finished; all that were given, where none is named.

        Args:
            asked: the command.
            seconds: how long at most.
        """
        if asked is None and self._last <= self._heard:
            return
        given = GivenCommand(self, self._last, self._kind) if asked is None else asked
        cell = self.arm.cell

        def settled(state: ArmState) -> bool:
            return self.finished(given, state) or self._stopped(given, state)

        end = cell.now() + seconds * 1e9
        while not cell.states.wait(
            lambda f: settled(self.arm.state_of(f)), min(PATIENCE, max(seconds, 0.0))
        ):
            if cell.age > PATIENCE:
                raise LostError(f"no state came from {cell.name!r} for {cell.age:.2g} s")
            if cell.now() >= end:
                state = self.arm.state
                raise TimedOutError(
                    f"{self.arm.name} has not finished {given.kind} {given.sequence} in "
                    f"{seconds:g} s (it is {state.life}, cause {state.cause})",
                    remedy="wait longer, or stop() it",
                )
        state = self.arm.state
        failed = [] if self.finished(given, state) else [given]
        if asked is None:
            failed = [x for x in self._open if self._taken_away(x, state)] or failed
        if failed:
            self._heard, self._open = self._last, []
            raise self._told(state, failed[0])

    def finished(self, asked: GivenCommand, state: ArmState) -> bool:
        """Return whether a command was finished, and not cut off.

        Args:
            asked: the command.
            state: of the arm.
        """
        if asked.kind == "stop" and state.taken >= asked.sequence:
            return not state.moving or state.done >= asked.sequence  # motions may follow it
        return state.done >= asked.sequence and self._cut(asked, state) is None

    def cut(self, asked: GivenCommand) -> bool:
        """Return whether a command was cut off, or never begun with.

        Args:
            asked: the command.
        """
        return self._cut(asked, self.arm.state) is not None

    def _taken_away(self, asked: GivenCommand, state: ArmState) -> bool:
        """Return whether a command was cut off, and not by this program itself."""
        cause = self._cut(asked, state)
        return cause is not None and cause not in ("stop", "disable", "replaced")

    def _note(self, state: ArmState) -> None:
        """Remember what was cut off: a state has the newest cut alone."""
        newest = (state.cut_after, state.cut, state.cut_cause)
        if newest not in self._cuts[-1:]:
            self._cuts = [*self._cuts[1 - _CUTS :], newest]

    def _cut(self, asked: GivenCommand, state: ArmState) -> str | None:
        """Return what has cut a command off; None for nothing."""
        self._note(state)
        for after, last, cause in reversed(self._cuts):
            if after < asked.sequence <= last:
                return cause
        return None

    def __enter__(self) -> Self:
        self.take()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        try:
            if kind is None:
                self.wait()
        except BaseException:
            self._leave()
            raise
        if kind is not None:
            self._leave()
        else:
            self.give()

    def _leave(self) -> None:
        """Stop and give back, whatever the cell says to it: an error is on its way already."""
        for step in (self.stop, self.give):
            with suppress(Error):
                step()

    def _change(self, kind: str) -> None:
        self._reach(self.ask(kind))

    def _reach(self, asked: GivenCommand, remedy: str | None = None) -> None:
        life = VERBS[asked.kind].leads

        def over(state: ArmState) -> bool:
            if state.taken >= asked.sequence and state.life == life:
                return True
            return max(state.done, state.cut) >= asked.sequence or state.holder != self.number

        self.arm.cell.states.wait(lambda f: over(self.arm.state_of(f)), _CHANGES)
        state = self.arm.state
        if state.life != life:
            raise self._told(state, asked, remedy)

    def ask(
        self,
        kind: str,
        values: Sequence[float] = (),
        *,
        speed: float | None = None,
        blend: float = 0.0,
        frame: str = "base",
        name: str = "",
    ) -> GivenCommand:
        """Ask for a verb of the table `linkwright.server.verbs.VERBS`, as all methods here do.

        Args:
            kind: its name.
            values: its numbers, as the table says.
            speed: share of the arm's limits; 0.25 for what goes as `joints` and `pose`, else all.
            blend: s, how long before the last goal the turn to this one may begin.
            frame: in which a pose is given.
            name: of an axis or a parameter, where it is about one.
        """
        if not self._key:
            raise RefusedError(
                "lease", f"{self.arm.name} is not in hand", remedy="with arm.command() as hand: ..."
            )
        cell, numbers = self.arm.cell, tuple(map(float, values))
        if speed is None:
            speed = CAREFUL if kind in VERBS and VERBS[kind].moves == "leg" else 1.0
        with self._sending:
            self._note(self.arm.state)
            sequence = self._sequence = self._sequence + 1
            now = cell.now()
            command = Command(
                kind, sequence, numbers, speed, blend, frame, name, now + self._expiry
            )
            data = pack_command(self.arm.face, self._record, command, self._key, now)
            if self._window is None or not self._window.give(data, sequence):
                cell.ask(f"command/{self.arm.name}", data, again=self._window is not None)
            if kind != "knot":  # which is waited for as a part of its trajectory
                self._last, self._kind = sequence, kind
        given = GivenCommand(self, sequence, kind)
        if kind not in ("set", "knot"):
            self._goal = None
        if kind in motions():
            state = self.arm.state
            over = max(state.done, state.cut)
            kept = [x for x in self._open if x.sequence > over or self._taken_away(x, state)]
            self._open = [*kept, given]
        return given

    def _go(self, kind: str, goal: tuple[float, ...], **more: Any) -> GivenCommand:
        """Ask for a motion to joints, and remember them for joints that are not named next."""
        given = self.ask(kind, goal, **more)
        self._goal = goal
        return given

    def _numbers(self, values: Joints, *, rates: bool = False) -> tuple[float, ...]:
        joints = self.arm.face.joints
        if isinstance(values, Mapping):
            values = self._by_name(values, rates)
        given = _array(values, "coordinates or speeds")
        if given.shape != (len(joints),):
            raise InputError(
                f"{self.arm.name} has {len(joints)} joints, and the numbers given have the shape "
                f"{given.shape}",
                remedy=f"give one for each of {', '.join(joints)}",
            )
        return tuple(map(float, given))

    def _over(self) -> bool:
        """Whether the last command is done or cut off, as far as the newest state shows."""
        last, state = self._open[-1] if self._open else None, self.arm.state
        return last is None or self.finished(last, state) or self._cut(last, state) is not None

    def _by_name(self, values: Mapping[str, float], rates: bool) -> list[float]:
        """Return a number for each joint; those that are not named stay."""
        joints, state = self.arm.face.joints, self.arm.state
        for name in values:
            if name not in joints:
                remedy = suggestion(name, joints, f"there are {', '.join(joints)}")
                raise InputError(f"{self.arm.name} has no joint {name!r}", remedy=remedy)
        rest = tuple(map(float, state.target)) if self._over() else self._goal
        if rates:
            rest = (0.0,) * len(joints)
        elif rest is None and len(values) < len(joints):
            raise InputError(
                f"where joints of {self.arm.name} stay that are not named is not known yet",
                remedy="name all of them, or wait() for the motion before",
            )
        return [values.get(x, rest[i] if rest else 0.0) for i, x in enumerate(joints)]

    def _fastest(self, moving: tuple[str, ...] = ()) -> dict[str, float]:
        """Return by unit the largest speed of all joints, or of those that move."""
        face = self.arm.face
        rows = sorted(zip(face.speeds, face.units, face.joints, strict=False))  # it may tell none
        return {f"{u}/s": v for v, u, name in rows if not moving or name in moving}

    def _share(self, speed: float | str, most: Mapping[str, float]) -> float:
        """Return a speed as a share of the limits: no joint, or not the tool, is faster."""
        if not isinstance(speed, str):
            return float(speed)
        for unit, limit in most.items():
            with suppress(UnitError):
                share = amount(speed, "speed", unit) / limit
                if 0 < share <= 1 + 1e-9:
                    return min(share, 1.0)
                raise InputError(
                    f"a speed of {speed} is not above 0 and at most {limit:g} {unit}, the limit of "
                    f"{self.arm.name}"
                )
        raise InputError(
            f"{speed!r} is not a speed of {self.arm.name}",
            remedy=f'give a share of its limits, or as in "0.1 {next(iter(most), "rad/s")}"',
        )

    def _stopped(self, asked: GivenCommand, state: ArmState) -> bool:
        """Return whether a command will not be finished any more, and the arm stands."""
        if state.holder != self.number:
            return True
        return self._cut(asked, state) is not None and not (state.moving and state.life == "active")

    def _told(
        self, state: ArmState, asked: GivenCommand, remedy: str | None = None
    ) -> StoppedError:
        name, cause = self.arm.name, self._cut(asked, state) or state.cause
        what, do = f"{name} stopped: {cause} (it is {state.life})", "give it the next command"
        if state.life == "fault":
            what, do = (
                f"{name} is in fault: {state.cause}",
                "see to the cause, clear() and enable()",
            )
        elif state.holder != self.number:
            by = "nobody" if state.holder == 0 else f"lease {state.holder}"
            what = f"{name} is commanded by {by} now ({cause}), not by this program"
            do = "take it again, with arm.command()"
            try:
                if state.holder:
                    self._lease(0, self._key)  # it is refused: the cell says who commands
            except RefusedError as error:
                what = f"{error} ({cause})" if error.name != "rights" else what
            except LostError:
                pass  # that it was stopped is what is told
        elif state.life != "active":
            do = "enable() it"
        return StoppedError(cause, what, remedy=remedy or do)

    def _beat(self) -> None:
        """Say that we live, and what we saw last."""
        cell, key, count = self.arm.cell, self._key, 0
        while not self._ending.is_set() and not cell.closed:
            if self._alive is not None and not self._alive():
                self._ending.wait(self.silence / _BEATS)
                continue
            count += 1
            seen = cell.states.frame
            values = {"lease": key, "seen": 0 if seen is None else seen.clock}
            try:
                cell.send(f"beat/{self.arm.name}", BEAT.pack(values, sequence=count))
            except Exception:
                if cell.closed:
                    return
                raise
            self._ending.wait(self.silence / _BEATS)


def _array(values: ArrayLike, what: str) -> NDArray[np.float64]:
    try:
        return np.asarray(values, float)
    except (TypeError, ValueError):
        raise InputError(
            f"{values!r} are not the numbers of {what}", remedy="give a list of numbers"
        ) from None


def _pose(pose: ArrayLike) -> tuple[float, ...]:
    """Return the seven numbers of a pose."""
    given = _array(pose, "a pose")
    if given.shape == (4, 4):
        from linkwright.formats.robot.transforms import rotation_quaternion

        turn = given[:3, :3]
        if np.abs(turn @ turn.T - np.eye(3)).max() > 1e-6 or np.linalg.det(turn) < 0.0:
            raise InputError("the matrix of the pose does not turn", remedy="give a rotation")
        rows = [(float(x), float(y), float(z)) for x, y, z in turn]
        return (*map(float, given[:3, 3]), *rotation_quaternion((rows[0], rows[1], rows[2])))
    if given.shape != (POSE,):
        raise InputError(
            f"a pose has the shape (4, 4) or (7,), not {given.shape}",
            remedy="give a matrix, or x, y, z and a unit quaternion w, x, y, z",
        )
    return tuple(map(float, given))
