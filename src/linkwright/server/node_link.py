"""A sensor node on the network: it samples at its rate, in time of the cell's clock, and sends.

A sample that is late is left out, never made up. A coordinator that goes away is looked for again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import suppress
from typing import Self

from linkwright.base.errors import Error
from linkwright.server.access import ROOT, check_name
from linkwright.server.clocks import SECOND, Exchange, Stamp, node_clock
from linkwright.server.coordinator.wire import CELL_TIME, key_of, pack_observation
from linkwright.server.joining import LostError
from linkwright.server.messages import unpack
from linkwright.server.network import Credentials, NetworkSession, open_session
from linkwright.server.registry import running_cell
from linkwright.server.sensors import SensorNode

_EXCHANGES, _EVERY = 8, 1.0  # with the cell's clock, at first and then s between them
_PATIENCE = 1.0  # s for an answer


class NodeLink:
    """A sensor that samples and sends in a thread of its own, until it is closed.

    Args:
        node: the sensor.
        coordinator: name of the cell that it is for, on this machine, or an address.
        credentials: for TLS.

    Attributes:
        sent: observations that were sent.
        late: samples that were left out because their time had passed.
        fault: what the sensor's function raised; it then sends no more.
    """

    def __init__(
        self, node: SensorNode, coordinator: str, credentials: Credentials | None = None
    ) -> None:
        self.node = node
        check_name(node.name, "a sensor")
        self._to, self._credentials = coordinator, credentials
        self._ending = threading.Event()
        self._exchanges: deque[Exchange] = deque(maxlen=64)
        self._rough = 0.0
        self.sent = self.late = 0
        self.fault: Exception | None = None
        self._network, self._endpoint = self._opened()
        try:
            for _ in range(_EXCHANGES):
                self._exchange()
        except BaseException:
            self._network.close()
            raise
        for target, name in ((self._sample, "sensor"), (self._keep, "clock")):
            threading.Thread(target=target, name=f"linkwright-{name}", daemon=True).start()

    def stamp(self) -> Stamp:
        """Return the cell's clock, and how far that may be off."""
        found = self._clock.at(time.monotonic_ns())
        return Stamp(found.time, found.bound + self._rough)

    def close(self) -> None:
        """Leave the coordinator; a second time does nothing."""
        self._ending.set()
        self._network.close()

    def wait(self, seconds: float) -> bool:
        """Wait until it is closed or its function failed; whether it was so in time."""
        return self._ending.wait(seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _opened(self) -> tuple[NetworkSession, str]:
        named = "/" not in self._to
        endpoint = running_cell(self._to, "coordinator").endpoint if named else self._to
        return open_session(connect=endpoint, credentials=self._credentials), endpoint

    def _exchange(self) -> None:
        sent = time.monotonic_ns()
        key = f"{ROOT}/as/{self.node.name}/clock"
        for answer in self._network.session.get(key, timeout=_PATIENCE):
            if answer.ok is not None:
                values = unpack(CELL_TIME, answer.ok.payload.to_bytes()).values
                stamps = (sent, values["received"], values["answered"], time.monotonic_ns())
                self._exchanges.append(Exchange(*stamps))
                self._rough = float(values["bound"])
                self._clock = node_clock(self._exchanges)
                return
        raise LostError(
            f"the coordinator at {self._endpoint} does not answer", remedy="see that it runs"
        )

    def _sample(self) -> None:
        """Sample at the ticks of the rate; what is late is left out."""
        node, count = self.node, 0
        period = round(SECOND / node.rate)
        due = time.monotonic_ns()
        while not self._ending.wait(max(0.0, (due - time.monotonic_ns()) / SECOND)):
            now = self.stamp()
            try:
                told = node.seen(now.time, count, bound=now.bound)
            except Exception as error:
                self.fault = error
                self.close()
                raise
            for one in told:
                with suppress(Exception):  # nobody there: it is looked for in `_keep`
                    self._network.session.put(key_of(one), pack_observation(one), express=True)
                    self.sent += 1
            count += len(told)
            missed = (time.monotonic_ns() - due) // period
            self.late += missed
            due += (missed + 1) * period

    def _keep(self) -> None:
        """Keep to the cell's clock, and to a coordinator that starts anew somewhere else."""
        while not self._ending.wait(_EVERY):
            try:
                self._exchange()
            except Exception:
                with suppress(Exception):
                    self._renew()

    def _renew(self) -> None:
        if self._ending.is_set() or "/" in self._to:
            return  # zenoh itself connects again to the same address
        with suppress(Error):
            if running_cell(self._to, "coordinator").endpoint == self._endpoint:
                return
            former = self._network
            self._network, self._endpoint = self._opened()
            former.close()
            self._exchanges.clear()
            self._exchange()
