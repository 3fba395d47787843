"""A cell, as a program that looks at it or commands it sees it."""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from linkwright.base.errors import Error, InputError, suggestion
from linkwright.server.access import ROOT
from linkwright.server.clocks import Exchange, NodeClock, Stamp, node_clock
from linkwright.server.face import ArmFace
from linkwright.server.joining import LostError, answer_of, joined
from linkwright.server.messages import CLOCK, CellDescription, described, unpack
from linkwright.server.network import Endpoint, NetworkSession
from linkwright.windows import RecordError
from linkwright.windows.records import Frame

if TYPE_CHECKING:
    from linkwright.server.hand import ArmHand

Array = NDArray[np.float64]
PATIENCE = 2.0
"""s that states and answers may take."""
_ANEW = 1.0  # s
_WHOLE = (
    *("life", "moving", "taken", "done", "dropped", "cause", "error", "holder"),
    *("cut", "cut_after", "cut_cause"),
)
_EXCHANGES, _EVERY = 8, 1.0  # with the cell's clock, at first and then s between them


class TimedOutError(Error, TimeoutError):
    """What was waited for has not happened in the time that was given; it may happen yet.

    Args:
        what: in a sentence.
        remedy: what to do.
    """


@dataclass(frozen=True, slots=True)
class ArmState:
    """An arm at one instant."""

    q: Array  # coordinates, rad or m
    u: Array  # their rates
    target: Array  # where the motion wants them
    current: Array  # of the axes, A
    life: str  # "off", "inactive", "active" or "fault"
    moving: bool  # whether a motion is under way
    taken: int  # sequence of the last command that was taken up
    done: int  # sequence of the last command that was finished
    dropped: int  # how many motions could not be taken up, because the arm was not active then
    cut: int  # sequence of the last command that was cut off before it was finished
    cut_after: int  # those after this one, up to `cut`, were cut off
    cut_cause: str  # by what, in the cell's words
    cause: str  # why it stopped, in the cell's words; the first of its causes is no stop
    error: int  # the axis controller's code, 0 for none
    holder: int  # number of the lease that commands it, 0 for none
    tick: int  # of the cell's loop
    clock: int  # of the cell at that tick, ns
    age: float  # s since that tick, as well as the cell's clock is known here
    joints: tuple[str, ...]  # names of the coordinates, in the order of all these
    external: Array  # torques or forces at the joints from outside, N*m or N, by the arm's model
    # of the tool in the base of the arm: x, y, z in m and a unit quaternion w, x, y, z; not a
    # number where the arm has no tool
    pose: Array
    force: Array  # on the tool along x, y, z of the base, N; not numbers without a law of force


class States:
    """The newest state of a cell, and how well states arrive."""

    def __init__(self, description: CellDescription) -> None:
        self._record = description.state
        self._changed = threading.Condition()
        self._waiting = 0
        self.frame: Frame | None = None
        self.arrived = 0
        self.interval = float("nan")
        self.count = 0
        self.damaged = 0

    def take(self, sample: Any) -> None:
        """Take what came over the network."""
        try:
            self.see(self._record.unpack(sample.payload.to_bytes()))
        except RecordError:
            self.damaged += 1

    def see(self, frame: Frame) -> None:
        """Take a state; one that is not newer than the newest is left out.

        Where none came for a second, any is new: the cell may have started again, with its clock.
        """
        now = time.monotonic_ns()
        if self.frame is not None:
            interval = (now - self.arrived) / 1e9
            if frame.clock <= self.frame.clock and interval < _ANEW:
                return
            self.interval = interval
        self.frame, self.arrived = frame, now
        self.count += 1
        if self._waiting:
            with self._changed:
                self._changed.notify_all()

    def wait(self, ready: Callable[[Frame], bool], seconds: float) -> bool:
        """Wait for a state that is ready; False where none came in time."""
        with self._changed:
            self._waiting += 1
            try:
                return self._changed.wait_for(
                    lambda: self.frame is not None and ready(self.frame), seconds
                )
            finally:
                self._waiting -= 1


class RemoteCell:
    """A cell on the network; made by `connect`."""

    def __init__(self, network: NetworkSession, client: str, rate: float) -> None:
        self._network = network
        self._mine = f"{ROOT}/as/{client}"
        self.client = client
        self._ending = threading.Event()
        self._hands: weakref.WeakSet[ArmHand] = weakref.WeakSet()
        self._exchanges: deque[Exchange] = deque(maxlen=64)
        self._clock: NodeClock
        self.description = described(self.ask("describe"))
        self.states = States(self.description)
        for _ in range(_EXCHANGES):
            self._exchange()
        self._subscriber: Any = None
        self._divisor = 0
        self.asked_rate = 0.0
        self.follow(rate)
        threading.Thread(target=self._keep_time, name="linkwright-clock", daemon=True).start()

    @property
    def name(self) -> str:
        """Its name."""
        return self.description.name

    @property
    def endpoint(self) -> Endpoint:
        """Its address."""
        return self._network.endpoint

    @property
    def rate(self) -> float:
        """Ticks of its loop in a second."""
        return self.description.rate

    @property
    def arms(self) -> Mapping[str, ArmFace]:
        """What is known of its arms, by name."""
        return self.description.arms

    @property
    def rights(self) -> tuple[str, ...]:
        """Ours: "look", "command", "supervise", "sense"."""
        return self.description.rights

    @property
    def frame(self) -> Frame:
        """The newest state, as it came; the first is waited for."""
        self.wait_for_state()
        assert self.states.frame is not None
        return self.states.frame

    def wait_for_state(self) -> None:
        """Wait until the first state has come."""
        if self.states.frame is None and not self.states.wait(lambda _: True, PATIENCE):
            raise LostError(
                f"no state came from {self.name!r} in {PATIENCE:g} s",
                remedy="does the cell run? linkwright cell watch shows it",
            )

    @property
    def age(self) -> float:
        """Seconds since the tick of the newest state."""
        return (self.now() - self.frame.clock) / 1e9

    def arm(self, name: str) -> RemoteArm:
        """Return one of its arms.

        Args:
            name: of the arm.
        """
        if name not in self.arms:
            hint = suggestion(name, self.arms, f"it has {', '.join(self.arms)}")
            raise InputError(f"cell {self.name!r} has no arm {name!r}", remedy=hint)
        return RemoteArm(self, self.arms[name])

    def follow(self, rate: float) -> None:
        """Ask for states at a rate, or the next higher one that the cell offers.

        Args:
            rate: 1/s.
        """
        if not rate > 0.0:
            raise InputError(f"rate is {rate!r}", remedy="give how many states a second to send")
        enough = [n for n in self.description.divisors if self.rate / n >= rate * (1 - 1e-9)]
        divisor, self.asked_rate = max(enough, default=1), rate
        if divisor != self._divisor:
            former, self._divisor = self._subscriber, divisor
            self._subscriber = self._network.session.declare_subscriber(
                f"{ROOT}/state/{divisor}", self.states.take
            )
            if former is not None:
                former.undeclare()

    def halt(self) -> None:
        """Stop all arms at once, whoever commands them. It takes no lease."""
        self.ask("halt")

    def now(self) -> int:
        """Return the cell's clock, ns, as well as it is known here."""
        return self.stamp().time

    def stamp(self) -> Stamp:
        """Return the cell's clock, and how far that may be off."""
        return self._clock.at(time.monotonic_ns())

    def ask(self, what: str, data: bytes = b"", *, again: bool = False) -> bytes:
        """Ask the cell and return its answer; raise `RefusedError` where it rejects.

        What is not answered is asked again: a request does the same once or twice. A command that
        was taken already when it is asked again has an empty answer.

        Args:
            what: the key under our own, such as "describe".
            data: the request.
            again: whether it may have been taken already.
        """
        return answer_of(self._network, self.client, what, data, again=again)

    def send(self, what: str, data: bytes) -> None:
        """Send something that has no answer.

        Args:
            what: the key under our own, such as "beat/puma".
            data: the frame.
        """
        self._network.session.put(f"{self._mine}/{what}", data, express=True)

    def in_hand(self, hand: ArmHand) -> None:
        """Say that an arm is commanded from here; its lease is given back when we leave."""
        self._hands.add(hand)

    def close(self) -> None:
        """Leave the cell and give back its arms. A second time does nothing."""
        for hand in list(self._hands):
            with suppress(Error):  # a cell that is gone already
                hand.give()
        self._ending.set()
        self._network.close()

    @property
    def closed(self) -> bool:
        """Whether we have left it, or the process ends, which closes all sessions."""
        return self._ending.is_set() or self._network.session.is_closed()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RemoteCell({self.name!r}: {len(self.arms)} arms, {self.rate:g} Hz)"

    def _exchange(self) -> None:
        sent = time.monotonic_ns()
        values = unpack(CLOCK, self.ask("clock")).values
        self._exchanges.append(
            Exchange(sent, values["received"], values["answered"], time.monotonic_ns())
        )
        self._clock = node_clock(self._exchanges)

    def _keep_time(self) -> None:
        while not self._ending.wait(_EVERY):
            try:
                self._exchange()
            except Exception:  # a cut network; the clock goes on as it was
                if self.closed:
                    return


class RemoteArm:
    """An arm of a cell; made by `RemoteCell.arm`."""

    def __init__(self, cell: RemoteCell, face: ArmFace) -> None:
        self.cell = cell
        self.face = face

    @property
    def name(self) -> str:
        """Its name."""
        return self.face.name

    @property
    def state(self) -> ArmState:
        """How it is, as of the newest state that came. Looking takes no lease."""
        return self.state_of(self.cell.frame)

    def state_of(self, frame: Frame) -> ArmState:
        """Return how it is in a state of the cell.

        Args:
            frame: the state.
        """
        values, name, said = frame.values, self.name, self.cell.description
        q, u, target, current = (
            np.atleast_1d(values[f"{name}.{part}"]) for part in ("q", "u", "target", "current")
        )
        whole = {part: int(values[f"{name}.{part}"]) for part in _WHOLE}
        return ArmState(
            q,
            u,
            target,
            current,
            life=said.lives[whole["life"]],
            moving=bool(whole["moving"]),
            taken=whole["taken"],
            done=whole["done"],
            dropped=whole["dropped"],
            cut=whole["cut"],
            cut_after=whole["cut_after"],
            cut_cause=said.causes[whole["cut_cause"]],
            cause=said.causes[whole["cause"]],
            error=whole["error"],
            holder=whole["holder"],
            tick=frame.tick,
            clock=frame.clock,
            age=(self.cell.now() - frame.clock) / 1e9,
            joints=self.face.joints,
            external=np.atleast_1d(values.get(f"{name}.external", np.full(len(q), np.nan))),
            pose=np.asarray(values.get(f"{name}.pose", [np.nan] * 7)),
            force=np.asarray(values.get(f"{name}.force", [np.nan] * 3)),
        )

    def command(
        self,
        *,
        silence: float = 0.1,
        take: bool = False,
        expiry: float = 1.0,
        local: bool = False,
        alive: Callable[[], bool] | None = None,
    ) -> ArmHand:
        """Take the lease of the arm: from now on it is this program that commands it.

        Args:
            silence: s after which the arm stops by itself where nothing is heard from here.
            take: from whoever holds it; that takes the right to supervise.
            expiry: s after which a command that was held up is not carried out any more.
            local: give commands through shared memory, on the cell's own machine (Linux).
            alive: whether somebody is still there, such as a user who holds a key; asked before
                each sign of life, which is left out where nobody is. Always, by default.
        """
        from linkwright.server.hand import ArmHand

        hand = ArmHand(self, silence=silence, take=take, expiry=expiry, local=local, alive=alive)
        self.cell.in_hand(hand)
        return hand

    def __repr__(self) -> str:
        return f"RemoteArm({self.name!r}: {len(self.face.joints)} joints)"


def connect(
    cell: str,
    *,
    client: str | None = None,
    certificate: str | None = None,
    key: str | None = None,
    authority: str | None = None,
    rate: float = 100.0,
) -> RemoteCell:
    """Connect to a cell.

    Args:
        cell: its name, for one that runs on this machine; or an address: "tls/10.0.0.5:7447".
        client: our name, under which others see that we command; with a certificate, its name.
        certificate: ours, a PEM file; for TLS, like the next two.
        key: the private key of the certificate.
        authority: certificate of the authority that signed the cell's.
        rate: states a second that are sent to us; more come while we command.

    >>> connect("tcp/10.0.0.5:7447")
    Traceback (most recent call last):
    linkwright.InputError: tcp/10.0.0.5:7447 is another machine, and nothing goes there
    unencrypted; connect to tls/10.0.0.5:7447 with a certificate
    """
    network, me = joined(cell, client, certificate, key, authority)
    try:
        found = RemoteCell(network, me, rate)
        if "/" not in cell and found.name != cell:
            raise LostError(f"at {network.endpoint} there is {found.name!r} now, not {cell!r}")
    except BaseException:
        network.close()
        raise
    return found
