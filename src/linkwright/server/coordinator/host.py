"""The coordinator on the network: sensor nodes come to it, and it sends a cell where frames are.

Frames are reported as of their newest observation, with that time: their age in the cell is the
true one, so when sensors or this process die, the cell's own loop notices it in ticks.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, Self

import numpy as np

from linkwright.base.errors import Error
from linkwright.blocks import checked
from linkwright.recording import Channel, Recording
from linkwright.server.access import ROOT, Client
from linkwright.server.client import RemoteCell, connect
from linkwright.server.clocks import SECOND, Stamp
from linkwright.server.coordinator.core import Coordinator, FusedObject, SensorReport
from linkwright.server.coordinator.wire import CELL_TIME, report_text, unpack_observation
from linkwright.server.coordinator.world import FusionSettings
from linkwright.server.face import CellFace, RefusedError
from linkwright.server.messages import FRAME, refusal
from linkwright.server.network import LOOPBACK, Credentials, Endpoint, open_session
from linkwright.server.registry import CellEntry, Running, running_cell

_KEPT = 100_000  # rows of channels
_LOOK = 1.0  # s between looks whether the cell has moved to another address


class FrameTaker(Protocol):
    """Who receives where frames are: a cell, or somebody who stands for one."""

    def stamp(self) -> Stamp:
        """Return the cell's clock, and how far that may be off."""

    def place(self, name: str, one: FusedObject) -> None:
        """Say where a frame is, as of its newest observation."""


class CellTaker:
    """A cell that is informed over the network; it is found again when it starts anew."""

    def __init__(self, cell: str, **more: Any) -> None:
        self._name, self._more = cell, more
        self._cell: RemoteCell = self._connected()
        self._looked = time.monotonic()

    @property
    def name(self) -> str:
        """Of the cell."""
        return self._cell.name

    def _connected(self) -> RemoteCell:
        return connect(self._name, rate=1.0, **self._more)

    def stamp(self) -> Stamp:
        """Return the cell's clock, and how far that may be off."""
        return self._cell.stamp()

    def place(self, name: str, one: FusedObject) -> None:
        """Say where a frame is; whether anybody listens is not waited for."""
        pose, twist = _pose(one)
        values = {"pose": pose, "twist": twist, "time": one.time}
        with suppress(Exception):  # the cell may be gone; it is looked for again
            self._cell.send(f"frame/{name}", FRAME.pack(values, clock=one.time))
        if time.monotonic() - self._looked > _LOOK:
            self._looked = time.monotonic()
            self._look()

    def _look(self) -> None:
        """Find a cell that started anew at another address."""
        if "/" in self._name:
            return
        with suppress(Error):
            if str(self._cell.endpoint) != running_cell(self._name).endpoint:
                found = self._connected()
                self._cell.close()
                self._cell = found

    def close(self) -> None:
        """Leave the cell."""
        self._cell.close()


class FaceTaker:
    """A cell in this process."""

    def __init__(self, cell: CellFace) -> None:
        self._cell = cell

    def stamp(self) -> Stamp:
        """Return the cell's clock, which is exact here."""
        return Stamp(self._cell.now(), 0.0)

    def place(self, name: str, one: FusedObject) -> None:
        """Say where a frame is; one that the cell does not have is left out."""
        with suppress(RefusedError):
            self._cell.place_frame(name, *_pose(one), one.time)


def _pose(one: FusedObject) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return a pose and a twist; a point has the axes of the world."""
    value, rate = one.value.tolist(), one.rate.tolist()
    if one.kind == "point":
        return (*value, 1.0, 0.0, 0.0, 0.0), (*rate, 0.0, 0.0, 0.0)
    return tuple(value), tuple(rate)


class CoordinatorHost:
    """A coordinator on the network, until it is closed; made by `coordinate`.

    Args:
        coordinator: that fuses.
        taker: who receives where frames are.
        name: under which nodes on this machine find it: that of the cell.
        frames: labels that are frames of the cell; all labels of poses where none are given.
        rate: how often frames are reported and channels are kept, Hz.
        listen: where nodes may connect.
        clients: nodes that may connect, with the right to "sense"; needed beyond loopback.
        credentials: for TLS; needed beyond loopback.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        taker: FrameTaker,
        *,
        name: str,
        frames: Iterable[str] = (),
        rate: float = 50.0,
        listen: str = LOOPBACK,
        clients: Iterable[Client] = (),
        credentials: Credentials | None = None,
    ) -> None:
        self._coordinator, self._taker = coordinator, taker
        self._frames = frozenset(frames)
        self._period = 1.0 / checked(rate, "rate", above=0.0)
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._sent: dict[str, int] = {}
        self._rows: deque[tuple[float, dict[str, float]]] = deque(maxlen=_KEPT)
        self.refused: dict[str, int] = {}
        self.count = 0
        self._network = open_session(listen=listen, clients=clients, credentials=credentials)
        self._entry: CellEntry | None = None
        try:
            running = Running(name, str(self._network.endpoint), os.getpid())
            self._entry = CellEntry(running, "coordinator")
            session = self._network.session
            session.declare_subscriber(f"{ROOT}/as/*/observe/*/*/*", self._observed)
            session.declare_queryable(f"{ROOT}/as/*/clock", self._answering(self._clock))
            session.declare_queryable(f"{ROOT}/as/*/report", self._answering(self._report))
        except BaseException:
            self.close()
            raise
        self._thread = threading.Thread(
            target=self._run, name="linkwright-coordinator", daemon=True
        )
        self._thread.start()

    @property
    def endpoint(self) -> Endpoint:
        """Where nodes connect."""
        return self._network.endpoint

    def now(self) -> int:
        """Return the cell's clock, ns, as well as it is known here."""
        return self._taker.stamp().time

    def objects(self) -> tuple[FusedObject, ...]:
        """Return all objects, now."""
        with self._lock:
            return self._coordinator.objects(self.now())

    def sensors(self) -> tuple[SensorReport, ...]:
        """Return how all sensors do, now."""
        with self._lock:
            return self._coordinator.sensors(self.now())

    def recording(self) -> Recording:
        """Return channels: `<sensor>.age`, `<sensor>.interval`, `<object>.age` and its deviation.

        What was not there yet is not a number.
        """
        rows = list(self._rows)
        names = sorted({name for _, row in rows for name in row})
        data = np.array([[row.get(name, np.nan) for name in names] for _, row in rows])
        units = {"deviation": "m"}
        channels = [Channel(name, units.get(name.rpartition(".")[2], "s")) for name in names]
        first = rows[0][0] if rows else 0.0
        return Recording([t - first for t, _ in rows], channels, data)

    def close(self) -> None:
        """Leave the network; a second time does nothing."""
        self._ending.set()
        if self._entry is not None:
            self._entry.close()
        self._network.close()
        close = getattr(self._taker, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What comes.

    def _observed(self, sample: Any) -> None:
        try:
            told = unpack_observation(str(sample.key_expr), sample.payload.to_bytes())
            with self._lock:
                self._coordinator.take(told, self.now())
            self.count += 1
        except Exception as error:  # nobody is there to be told; it is counted
            name = error.name if isinstance(error, RefusedError) else type(error).__name__
            self.refused[name] = self.refused.get(name, 0) + 1

    def _answering(self, answer: Callable[[], bytes]) -> Callable[[Any], None]:
        def asked(query: Any) -> None:
            with query:
                try:
                    query.reply(query.key_expr, answer())
                except Exception as error:  # a fault of ours, told to whoever asked
                    query.reply_err(refusal(RefusedError("fault", f"{error!r}")))

        return asked

    def _clock(self) -> bytes:
        received = self._taker.stamp()
        return CELL_TIME.pack(
            {"received": received.time, "answered": self.now(), "bound": received.bound}
        )

    def _report(self) -> bytes:
        with self._lock:
            return report_text(self._coordinator, self.now())

    # What goes out.

    def _run(self) -> None:
        due = time.monotonic()
        while not self._ending.wait(max(0.0, due - time.monotonic())):
            due = max(due + self._period, time.monotonic())
            with self._lock:
                now = self.now()
                newest = self._coordinator.objects()
                sensors = self._coordinator.sensors(now)
            self._rows.append((now / SECOND, _channels(newest, sensors, now)))
            for one in told_frames(newest, self._frames, self._sent):
                self._taker.place(one.name, one)


def told_frames(
    objects: Iterable[FusedObject], frames: frozenset[str], sent: dict[str, int]
) -> Iterator[FusedObject]:
    """Yield the objects that a cell is to get: frames that were seen anew, and undisputed."""
    for one in objects:
        wanted = one.name in frames if frames else one.kind == "pose"
        wanted = wanted and one.kind != "wrench" and not one.disputed
        if wanted and sent.get(one.name) != one.time:
            sent[one.name] = one.time
            yield one


def _channels(
    objects: Sequence[FusedObject], sensors: Sequence[SensorReport], now: int
) -> dict[str, float]:
    row: dict[str, float] = {}
    for report in sensors:
        row[f"{report.name}.age"] = report.age
        row[f"{report.name}.interval"] = report.interval
    for one in objects:
        row[f"{one.name}.age"] = (now - one.time) / SECOND
        row[f"{one.name}.deviation"] = one.deviation
    return row


def coordinate(
    cell: str,
    frames: Mapping[str, Sequence[float]] | None = None,
    *,
    places: Iterable[str] = (),
    settings: FusionSettings | None = None,
    rate: float = 50.0,
    listen: str = LOOPBACK,
    clients: Iterable[Client] = (),
    credentials: Credentials | None = None,
) -> CoordinatorHost:
    """Coordinate the sensors of a cell: fuse what they see, and send the cell where its frames are.

    Args:
        cell: its name, for one that runs on this machine, or its address.
        frames: poses of the frames in which sensors speak, such as those of cameras, in the world:
            x, y, z in m and a unit quaternion w, x, y, z.
        places: labels that are sensed frames of the cell; all labels of poses where none are given.
        settings: what is taken for granted.
        rate: how often the cell is informed, Hz.
        listen: where nodes may connect; this machine alone by default.
        clients: nodes that may connect, with the right to "sense"; needed beyond loopback.
        credentials: for TLS; needed beyond loopback.

    >>> coordinate("tcp/10.0.0.5:7447")
    Traceback (most recent call last):
    linkwright.InputError: tcp/10.0.0.5:7447 is another machine, and nothing goes there
    unencrypted; connect to tls/10.0.0.5:7447 with a certificate
    """
    coordinator = Coordinator(frames, settings)
    more: dict[str, Any] = {"client": "coordinator"}
    if credentials is not None:
        more = {
            "certificate": credentials.certificate,
            "key": credentials.key,
            "authority": credentials.authority,
        }
    taker = CellTaker(cell, **more)
    try:
        return CoordinatorHost(
            coordinator,
            taker,
            name=taker.name,
            frames=places,
            rate=rate,
            listen=listen,
            clients=clients,
            credentials=credentials,
        )
    except BaseException:
        taker.close()
        raise
