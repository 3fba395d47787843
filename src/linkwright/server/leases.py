"""Who commands an arm: one at a time, by a lease that ends when its holder is silent.

The silence itself is counted by the cell's loop, in ticks; here is kept who holds what, and what
happened to a lease that ended.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from linkwright.server.face import RefusedError

SHORTEST, LONGEST = 0.005, 60.0  # s of silence


@dataclass(slots=True)
class Lease:
    """The leave to command an arm."""

    arm: str  # name of the arm
    client: str  # who holds it
    number: int  # as the cell's state shows it; counts from 1
    key: int  # known to the holder alone; commands and beats carry it
    silence: float  # s without a beat after which it ends
    taken: int  # when, on the cell's clock, ns
    beaten: int  # when the last beat came, on the cell's clock, ns
    beats: int = 0  # sequence of the last beat
    seen: bool = False  # whether the loop has shown its number
    local: bool = False  # whether its commands come through a window


class Leases:
    """The leases of a cell's arms, and the sequence of each arm's commands.

    >>> leases = Leases(["puma"])
    >>> lease, former = leases.take("puma", "alice", 77, 0.1, 0)
    >>> leases.take("puma", "bob", 78, 0.1, 2_000_000_000)
    Traceback (most recent call last):
    linkwright.server.face.RefusedError: puma is commanded by alice, since 2 s;
    wait until it is given back, or take it with the right to supervise
    """

    def __init__(self, arms: Iterable[str]) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, Lease | None] = dict.fromkeys(arms)
        self._ends: dict[str, str] = {}
        self._sequences = dict.fromkeys(self._held, 0)
        self._count = 0

    def holder(self, arm: str) -> Lease | None:
        """The lease of an arm, None where nobody commands it."""
        return self._held[self._known(arm)]

    def local(self) -> bool:
        """Whether somebody commands through a window."""
        return any(lease is not None and lease.local for lease in self._held.values())

    def sequence(self, arm: str) -> int:
        """The sequence of the last command that an arm was given."""
        return self._sequences[arm]

    def take(
        self, arm: str, client: str, key: int, silence: float, now: int, *, force: bool = False
    ) -> tuple[Lease, Lease | None]:
        """Give an arm to a client; return its lease, and the one that was ended for it.

        Units: `silence` in s.
        """
        self._known(arm)
        if not SHORTEST <= silence <= LONGEST:  # refuses nan too
            raise RefusedError(
                "range", f"silence is {silence:g} s; it is {SHORTEST:g} s to {LONGEST:g} s"
            )
        with self._lock:
            former = self._held[arm]
            if former is not None and not force:
                raise RefusedError(
                    "held",
                    f"{arm} is commanded by {former.client}, "
                    f"since {(now - former.taken) / 1e9:.3g} s",
                    remedy="wait until it is given back, or take it with the right to supervise",
                )
            if former is not None:
                self._ends[arm] = f"{client} took it"
            self._count += 1
            lease = Lease(arm, client, self._count, key, silence, now, now)
            self._held[arm] = lease
            return lease, former

    def check(self, arm: str, client: str, key: int) -> Lease:
        """Return the lease that a key belongs to, or reject it and say who commands."""
        self._known(arm)
        with self._lock:
            return self._checked(arm, client, key)

    def _checked(self, arm: str, client: str, key: int) -> Lease:
        lease = self._held[arm]
        if lease is not None and lease.key == key and lease.client == client:
            return lease
        who = "nobody" if lease is None else lease.client
        why = f"; the last lease ended because {self._ends[arm]}" if arm in self._ends else ""
        raise RefusedError(
            "lease", f"{arm} is commanded by {who}, not by this lease of {client}{why}"
        )

    def admit(self, arm: str, sequence: int) -> None:
        """Reject a command that is not newer than the last."""
        last = self._sequences[arm]
        if sequence == last:
            raise RefusedError("repeated", f"command {sequence} of {arm} was given already")
        if sequence < last:
            raise RefusedError("old", f"command {sequence} of {arm} comes after command {last}")

    def given(self, arm: str, sequence: int) -> None:
        """Say that a command was given to the cell."""
        self._sequences[arm] = sequence

    def end(self, lease: Lease, why: str) -> bool:
        """End a lease; False where it has ended already."""
        with self._lock:
            if self._held[lease.arm] is not lease:
                return False
            self._held[lease.arm] = None
            self._ends[lease.arm] = why
            return True

    def _known(self, arm: str) -> str:
        if arm not in self._held:
            raise RefusedError(
                "unknown", f"there is no arm {arm!r}", remedy=f"there are: {', '.join(self._held)}"
            )
        return arm
