"""Serves a cell on the network: its state to whoever looks, its arms to whoever holds their lease.

What must happen in time happens in the cell's loop. Here requests are checked, rejected by name or
handed on, and states are sent on as they are. A reader that is slow loses states, and nobody waits
for it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from linkwright.base.errors import Error
from linkwright.base.optional import extra
from linkwright.server.access import RIGHTS, ROOT, Client, check_name
from linkwright.server.face import ArmFace, CellFace, Command, RefusedError
from linkwright.server.leases import Lease, Leases
from linkwright.server.local import LocalCommands, LocalStates
from linkwright.server.messages import (
    ANSWER,
    BEAT,
    CLOCK,
    FRAME,
    GRANT,
    LEASE,
    command_of,
    command_record,
    describe,
    refusal,
    unpack,
)
from linkwright.server.network import LOOPBACK, Credentials, Endpoint, open_session
from linkwright.server.registry import CellEntry, Running
from linkwright.windows.records import Frame

SLOWEST = 1.0  # states a second that are offered at least
_AFTER = 5e-5  # s that a tick takes until it shows
_SWITCH = 3e-4  # s
_LOOK = 0.05  # s between looks at who subscribes
_SILENCES = 3.0  # of a lease, after which it is over even if the loop says nothing

Answer = Callable[[str, str, bytes], bytes]


@contextmanager
def quick_switches() -> Iterator[None]:
    """Let threads of this process change places often, as long as it serves.

    With Python's own 5 ms a command may wait that long for whoever computes.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class CellHost:
    """A cell on the network, until it is closed.

    Beyond loopback `clients` are needed, whose rights certificates enforce, and `credentials` for
    TLS; on loopback names are believed.
    """

    def __init__(
        self,
        cell: CellFace,
        *,
        listen: str = LOOPBACK,
        clients: Iterable[Client] = (),
        credentials: Credentials | None = None,
        registered: bool = True,
    ) -> None:
        self._cell = cell
        check_name(cell.name, "a cell")
        self._arms = {check_name(n, "an arm"): (a, command_record(a)) for n, a in cell.arms.items()}
        self._clients = {client.name: client for client in clients}
        self.leases = Leases(cell.arms)
        self.divisors = _divisors(cell.rate)
        self.refusals: dict[str, int] = {}
        self._giving = threading.Lock()  # commands are given one after another
        self._ending = threading.Event()
        self._network = open_session(
            listen=listen,
            clients=self._clients.values(),
            credentials=credentials,
        )
        self._local: LocalStates | None = None
        self._remote = self._network.endpoint.protocol == "tls"
        self._named = self._remote or bool(self._clients)
        self._entry: CellEntry | None = None
        try:
            if registered:
                self._entry = CellEntry(Running(cell.name, str(self.endpoint), os.getpid()))
            self._declare()
        except BaseException:
            self.close()
            raise

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens."""
        return self._network.endpoint

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the network; the cell itself goes on. A second time does nothing."""
        self._ending.set()
        if self._entry is not None:
            self._entry.close()
        self._network.close()
        if self._local is not None:
            self._local.close()

    def _declare(self) -> None:
        session = self._network.session
        answers: dict[str, tuple[str, Answer]] = {
            "describe": ("look", self._describe),
            "clock": ("look", self._clock),
            "halt": ("look", self._halt),
            "lease/*": ("command", self._lease),
            "command/*": ("command", self._command),
        }
        for verb, (right, answer) in answers.items():  # each has a thread of its own
            session.declare_queryable(
                f"{ROOT}/as/*/{verb}", self._answering(right, answer), complete=True
            )
        for verb, right, take in (
            ("beat/*", "command", self._beat),
            ("frame/*", "sense", self._frame),
        ):
            session.declare_subscriber(f"{ROOT}/as/*/{verb}", self._taking(right, take))
        threading.Thread(target=self._publish, name="linkwright-states", daemon=True).start()

    # Requests.

    def _answering(self, right: str, answer: Answer) -> Callable[[Any], None]:
        def asked(query: Any) -> None:
            with query:
                try:
                    client, subject = self._asked(str(query.key_expr), right)
                    data = b"" if query.payload is None else query.payload.to_bytes()
                    query.reply(query.key_expr, answer(client, subject, data))
                except Error as error:
                    self._refused(error)
                    query.reply_err(refusal(error))
                except Exception as error:  # a fault of ours, told to the client
                    fault = RefusedError("fault", f"the cell failed: {error!r}")
                    self._refused(fault)
                    query.reply_err(refusal(fault))

        return asked

    def _taking(self, right: str, take: Callable[[str, str, bytes], None]) -> Callable[[Any], None]:
        def came(sample: Any) -> None:
            try:
                client, subject = self._asked(str(sample.key_expr), right)
                take(client, subject, sample.payload.to_bytes())
            except Exception as error:  # nobody is there to be told; it is counted
                self._refused(error)

        return came

    def _asked(self, key: str, right: str) -> tuple[str, str]:
        """Return who asks and the arm or frame it is about; reject who may not."""
        _, client, _, *subject = key.removeprefix(f"{ROOT}/").split("/")
        if "*" in key:
            raise RefusedError("name", "a request goes out under one name")
        if right not in self._rights(client):
            raise RefusedError(
                "rights",
                f"{client} has no right to {right}",
                remedy="give a name that has, of the cell's list, by client= or --client",
            )
        return client, subject[0] if subject else ""

    def _rights(self, client: str) -> tuple[str, ...]:
        if not self._named:  # on loopback, unless rights are enforced: whoever is on this machine
            return RIGHTS
        known = self._clients.get(client)
        return () if known is None else tuple(r for r in RIGHTS if known.may(r))

    def _refused(self, error: Exception) -> None:
        name = error.name if isinstance(error, RefusedError) else type(error).__name__
        self.refusals[name] = self.refusals.get(name, 0) + 1

    def _describe(self, client: str, _: str, __: bytes) -> bytes:
        return describe(self._cell, self.divisors, self._rights(client))

    def _clock(self, *_: object) -> bytes:
        received = self._cell.now()
        return CLOCK.pack({"received": received, "answered": self._cell.now()})

    def _halt(self, client: str, _: str, __: bytes) -> bytes:
        self._cell.halt(f"halt by {client}")
        return ANSWER.pack({"sequence": 0}, clock=self._cell.now())

    def _lease(self, client: str, arm: str, data: bytes) -> bytes:
        asked = unpack(LEASE, data).values
        now = self._cell.now()
        if asked["take"] == 0:
            with self._giving:  # nobody takes it before the loop knows that it is given back
                lease = self.leases.check(arm, client, asked["lease"])
                if self.leases.end(lease, f"{client} gave it back"):
                    self._cell.beat(arm, 0, lease.silence)
            return ANSWER.pack({"sequence": self.leases.sequence(arm)}, clock=now)
        force = asked["take"] == 2
        if asked["take"] > 2:
            raise RefusedError("unknown", f"a lease is taken by 1 or 2, not {asked['take']}")
        if force and "supervise" not in self._rights(client):
            raise RefusedError("rights", f"{client} has no right to supervise")
        with self._giving:
            held = self.leases.holder(arm)
            if held is not None and (held.key, held.client) == (asked["lease"], client):
                lease, former = held, None  # asked again, because the answer got lost
            else:
                lease, former = self.leases.take(
                    arm, client, asked["lease"], asked["silence"], now, force=force
                )
            if former is not None:  # what the former holder began does not go on
                sequence = self.leases.sequence(arm) + 1
                self._cell.command(arm, Command("stop", sequence))
                self.leases.given(arm, sequence)
            self._cell.beat(arm, lease.number, lease.silence)
            if asked["local"] and lease is not held:
                self._open_windows(lease)
            return GRANT.pack(
                {
                    "number": lease.number,
                    "sequence": self.leases.sequence(arm),
                    "silence": lease.silence,
                },
                clock=now,
            )

    def _open_windows(self, lease: Lease) -> None:
        """Take commands of a lease through a window, too."""
        if self._remote:
            raise RefusedError("local", "windows are for clients that are on the cell's machine")
        arm, record = self._arms[lease.arm]
        if self._local is None:
            self._local = LocalStates(self._cell.name, self._cell.state, self._cell.state_file)
        LocalCommands(
            self._cell.name,
            lease.arm,
            lease.client,
            record,
            lambda frame: self._give(lease.client, arm, frame, frame.tick),
            lambda: not self._ending.is_set() and self.leases.holder(lease.arm) is lease,
        )
        lease.local = True

    def _command(self, client: str, arm: str, data: bytes) -> bytes:
        if arm not in self._arms:
            self.leases.holder(arm)  # refuses it
        face, record = self._arms[arm]
        frame = unpack(record, data)
        self._give(client, face, frame, frame.sequence)
        return ANSWER.pack({"sequence": frame.sequence}, clock=self._cell.now())

    def _give(self, client: str, arm: ArmFace, frame: Frame, sequence: int) -> None:
        key, command = command_of(arm, frame, sequence)
        with self._giving:
            self.leases.check(arm.name, client, key)
            self.leases.admit(arm.name, sequence)
            self._cell.command(arm.name, command)
            self.leases.given(arm.name, sequence)

    def _beat(self, client: str, arm: str, data: bytes) -> None:
        """Pass on a beat, unless it answers a state so old that the client must count as silent."""
        frame = unpack(BEAT, data)
        with self._giving:  # a beat of a lease that has ended does not reach the loop
            lease = self.leases.check(arm, client, frame.values["lease"])
            now = self._cell.now()
            if frame.sequence <= lease.beats:
                raise RefusedError("old", "a beat that came out of order")
            lease.beats = frame.sequence
            if now - frame.values["seen"] > lease.silence * 1e9:
                raise RefusedError("expired", "a beat of a client that sees states too late")
            lease.beaten = now
            self._cell.beat(arm, lease.number, lease.silence)

    def _frame(self, _: str, name: str, data: bytes) -> None:
        values = unpack(FRAME, data).values
        pose, twist = (tuple(map(float, values[n])) for n in ("pose", "twist"))
        self._cell.place_frame(name, pose, twist, values["time"])

    # States.

    def _publish(self) -> None:
        """Send states on, at every n-th tick where somebody subscribes to that."""
        try:
            self._send_states()
        except Exception:
            # a session is closed under us by `close`, or where the process ends without it
            if not self._ending.is_set() and not self._network.session.is_closed():
                raise

    def _send_states(self) -> None:
        drop = extra("zenoh", "cell").CongestionControl.DROP
        declare = self._network.session.declare_publisher
        streams = [
            (n, declare(f"{ROOT}/state/{n}", congestion_control=drop, express=True))
            for n in self.divisors
        ]
        sent = dict.fromkeys(self.divisors, -1)
        wanted: list[Any] = []
        period, look, last, idle = 1.0 / self._cell.rate, 0.0, -1, 0
        while not self._ending.is_set():
            try:
                frame = self._cell.latest()
            except Error as error:  # the loop was in the middle of a tick: it is counted
                self._refused(error)
                time.sleep(period)
                continue
            if frame.tick != last:
                last, idle = frame.tick, 0
                if self._local is not None and self.leases.local():
                    self._local.show(frame)
                for n, publisher in wanted:
                    if sent[n] != last // n:
                        sent[n] = last // n
                        publisher.put(frame.data)
                self._observe(frame)
                if (now := time.monotonic()) >= look:
                    look = now + _LOOK
                    wanted = [pair for pair in streams if pair[1].matching_status.matching]
                # the loop is not asked for its next tick, but the clock says when that will be
                pause = (frame.clock - self._cell.now()) / 1e9 + period + _AFTER
            else:
                idle += 1
                pause = period / 8 if idle < 8 else period
            time.sleep(min(max(pause, 0.0), period))

    def _observe(self, frame: Frame) -> None:
        """End leases whose holders the loop has found silent."""
        values = None
        for arm in self._arms:
            lease = self.leases.holder(arm)
            if lease is None:
                continue
            values = frame.values if values is None else values
            shown = values[f"{arm}.holder"]
            if shown == lease.number:
                lease.seen = True
            elif lease.seen:
                cause = self._cell.causes[int(values[f"{arm}.cause"])]
                self.leases.end(lease, f"the loop stopped the arm of {lease.client}: {cause}")
            elif self._cell.now() - lease.beaten > _SILENCES * lease.silence * 1e9:
                self.leases.end(lease, f"{lease.client} was not heard from")


def _divisors(rate: float) -> tuple[int, ...]:
    """Every n-th tick that states are offered at: 1, 2, 5, 10 and so on, down to one a second."""
    found = [n * 10**k for k in range(10) for n in (1, 2, 5)]
    return tuple(n for n in found if n == 1 or rate / n >= SLOWEST)
