"""Commands to an arm, under a lease that lasts as long as the program is heard from."""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from linkwright.errors import Error, InputError
from linkwright.server.client import PATIENCE, ArmState, LostError, RemoteArm
from linkwright.server.face import EXCITATIONS, Command, RefusedError
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
from linkwright.windows import Frame

_KEY = 63  # bits
_BEATS = 5  # in the time of silence that is allowed
_STATES = 10  # in the same time
_CHANGES = 5.0  # s that enabling and its like may take


class StoppedError(Error):
    """The arm stopped before it was there, or was taken away.

    Args:
        cause: in the cell's words.
        what: the same in a sentence.

    >>> StoppedError("silence", "puma stopped: silence").cause
    'silence'
    """

    def __init__(self, cause: str, what: str) -> None:
        super().__init__(what, remedy="look at the cause, then clear() and enable()")
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
        return self._hand.arm.state.done >= self.sequence

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
        self._dropped = 0
        self._sequence = self._last = 0  # that was tried, and that was taken
        self._ending = threading.Event()
        self._sending = threading.Lock()

    def take(self) -> None:
        """Take the lease and keep it alive; refused where another holds it, with its name."""
        cell = self.arm.cell
        cell.follow(max(cell.asked_rate, min(_STATES / self.silence, cell.rate)))
        cell.frame  # noqa: B018, what the first beat answers
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
        self._sequence = self._last = grant["sequence"]
        self._dropped = self.arm.state.dropped
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
        self._change("enable", "active")

    def disable(self) -> None:
        """Switch the arm off; returns when it is inactive."""
        self._change("disable", "inactive")

    def clear(self, *others: ArmHand) -> None:
        """Clear a fault; the arm is inactive then, and `enable` follows.

        Args:
            others: arms whose PANIC is linked to this one's; they are cleared together.
        """
        for hand, asked in [(hand, hand._ask("clear")) for hand in (self, *others)]:
            hand._reach(asked, "inactive")

    def stop(self) -> GivenCommand:
        """Brake along the path, within the limits, and hold."""
        return self._ask("stop")

    def home(self, *, speed: float = 1.0) -> GivenCommand:
        """Go to where the arm started; encoders of cells are absolute, and need no search.

        Args:
            speed: share of the limits.
        """
        return self._ask("home", speed=speed)

    def joints(self, q: ArrayLike, *, speed: float = 1.0, blend: float = 0.0) -> GivenCommand:
        """Move to coordinates.

        Args:
            q: rad or m.
            speed: share of the arm's limits.
            blend: s, how long before the last goal the turn to this one may begin.
        """
        return self._ask("joints", self._numbers(q), speed=speed, blend=blend)

    def pose(
        self, pose: ArrayLike, *, frame: str = "base", speed: float = 1.0, blend: float = 0.0
    ) -> GivenCommand:
        """Move the tool straight to a pose.

        Args:
            pose: a 4x4 matrix; or x, y, z in m and a unit quaternion w, x, y, z.
            frame: in which it is given; one that a sensor moves is followed.
            speed: share of the arm's limits.
            blend: s, how long before the last goal the turn to this one may begin.
        """
        return self._ask("pose", _pose(pose), frame=frame, speed=speed, blend=blend)

    def track(self, q: ArrayLike, *, speed: float = 1.0) -> GivenCommand:
        """Go for coordinates now, from whatever the arm does, within its limits of jerk.

        Args:
            q: rad or m.
            speed: share of the arm's limits.
        """
        return self._ask("track", self._numbers(q), speed=speed)

    def jog(self, rates: ArrayLike) -> GivenCommand:
        """Move with joint speeds, until the next command.

        Args:
            rates: rad/s or m/s; zeros stop.
        """
        return self._ask("jog", self._numbers(rates))

    def set(self, name: str, value: float) -> GivenCommand:
        """Change a parameter at the next tick.

        Args:
            name: of the parameter.
            value: the new one.
        """
        return self._ask("set", (float(value),), name=name)

    def mode(self, axis: str, mode: int) -> GivenCommand:
        """Change the mode of an axis of an arm that is at rest and has an axis controller.

        Args:
            axis: its name.
            mode: number of an `AxisMode`: position, speed (of the motion), current (of the weight
                alone, where that is given ahead), or a triangle wave.
        """
        return self._ask("mode", (float(mode),), name=axis)

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
        return self._ask("excite", values, name=axis)

    def wait(self, asked: GivenCommand | None = None, seconds: float = math.inf) -> None:
        """Wait until a command is finished; all that were given, where none is named.

        Args:
            asked: the command.
            seconds: how long at most.
        """
        sequence = self._last if asked is None else asked.sequence
        cell, none = self.arm.cell, self.arm.cell.description.causes[0]

        def settled(state: ArmState) -> bool:
            return self._stopped(state, sequence, none) or state.done >= sequence

        end = cell.now() + seconds * 1e9
        while not cell.states.wait(
            lambda f: settled(self.arm.state_of(f)), min(PATIENCE, max(seconds, 0.0))
        ):
            if cell.now() >= end:
                raise LostError(
                    f"{self.arm.name} has not finished command {sequence} in {seconds:g} s"
                )
            if cell.age > PATIENCE:
                raise LostError(f"no state came from {cell.name!r} for {cell.age:.2g} s")
        state = self.arm.state
        if state.done < sequence or state.dropped > self._dropped:
            raise self._told(state)

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

    def _change(self, kind: str, life: str) -> None:
        self._reach(self._ask(kind), life)

    def _reach(self, asked: GivenCommand, life: str) -> None:
        states = self.arm.cell.states
        if not states.wait(lambda f: self._reached(self.arm.state_of(f), asked, life), _CHANGES):
            raise self._told(self.arm.state)

    @staticmethod
    def _reached(state: ArmState, asked: GivenCommand, life: str) -> bool:
        return state.taken >= asked.sequence and state.life == life

    def _ask(self, kind: str, values: tuple[float, ...] = (), **more: Any) -> GivenCommand:
        if not self._key:
            raise RefusedError(
                "lease", f"{self.arm.name} is not in hand", remedy="with arm.command() as hand: ..."
            )
        cell = self.arm.cell
        with self._sending:
            sequence = self._sequence = self._sequence + 1
            expires = cell.now() + self._expiry
            command = Command(kind, sequence, values, expires=expires, **more)
            data = pack_command(
                self.arm.face, self._record, command, self._key, expires - self._expiry
            )
            if self._window is None or not self._window.give(data, sequence):
                cell.ask(f"command/{self.arm.name}", data, again=self._window is not None)
            self._last = sequence
        return GivenCommand(self, sequence, kind)

    def _numbers(self, values: ArrayLike) -> tuple[float, ...]:
        given = np.asarray(values, float)
        joints = self.arm.face.joints
        if given.shape != (len(joints),):
            raise InputError(
                f"{self.arm.name} has {len(joints)} joints, and the numbers given have the shape "
                f"{given.shape}",
                remedy=f"give one for each of {', '.join(joints)}",
            )
        return tuple(map(float, given))

    def _stopped(self, state: ArmState, sequence: int, none: str) -> bool:
        if state.holder != self.number or state.life == "fault" or state.dropped > self._dropped:
            return True
        return state.taken >= sequence and not state.moving and state.cause != none

    def _told(self, state: ArmState) -> StoppedError:
        name = self.arm.name
        if state.life == "fault":
            return StoppedError(state.cause, f"{name} is in fault: {state.cause}")
        if state.holder != self.number:
            by = "nobody" if state.holder == 0 else f"lease {state.holder}"
            return StoppedError(
                state.cause, f"{name} is commanded by {by} now ({state.cause}), not by this program"
            )
        if state.dropped > self._dropped:
            self._dropped = state.dropped
            return StoppedError(state.cause, f"{name} could not take up a motion: {state.life}")
        return StoppedError(state.cause, f"{name} stopped: {state.cause} (it is {state.life})")

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


def _pose(pose: ArrayLike) -> tuple[float, ...]:
    """Return the seven numbers of a pose."""
    given = np.asarray(pose, float)
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
