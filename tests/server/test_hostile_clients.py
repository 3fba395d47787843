"""A client with a certificate and bad intentions: damaged bodies, other arms, other keys."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from linkwright.server.access import ROOT
from linkwright.server.messages import BEAT, FRAME, LEASE, command_record
from linkwright.server.registry import VARIABLE
from scripts.fuzz import mutated
from tests.seeds import examples, seeds
from tests.server.test_server_access import LIMIT, SILENCE, Guarded

VERBS = ("describe", "clock", "lease/{}", "command/{}", "unknown", "lease/{}/x")
ARMS = ("puma", "PUMA", "A" * 300, "..", "%00", "puma.1")


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guarded]:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "run"))
    with ExitStack() as stack:
        yield Guarded(tmp_path, stack)


@pytest.mark.parametrize("seed", seeds(1))
def test_damaged_messages_of_named_clients_change_nothing(guarded: Guarded, seed: int) -> None:
    """Alice holds the arm; dan, who may sense, and bob, who may look, send whatever they like.

    Every message is refused by a reason or dropped, none is a fault of the cell, the lease stays
    where it is, and nothing that they sent becomes a command or a frame.
    """
    random_ = random.Random(seed)
    alice = guarded.connect("alice")
    with alice.arm("puma").command(silence=LIMIT) as hand:
        hand.enable()
        given = len(guarded.toy.given)
        command = command_record(alice.arms["puma"])
        width = command.fields[-1].shape[0]
        zeros: dict[str, Any] = dict.fromkeys((f.name for f in command.fields), 0)
        wholes = [
            LEASE.pack({"take": 2, "lease": hand._key, "silence": 1e9, "local": 1}),
            LEASE.pack({"take": 0, "lease": hand._key, "silence": -1.0, "local": 0}),
            command.pack({**zeros, "lease": hand._key, "values": [0.1] * width}, sequence=10**6),
            BEAT.pack({"lease": hand._key, "seen": 2**62}, sequence=2**62),
            FRAME.pack({"pose": [float("nan")] * 7, "twist": [0] * 6, "time": 0}),
            b"", b"{" * 5000, bytes(100_000),
        ]  # fmt: skip
        for name in ("bob", "dan"):
            client = guarded.connect(name)
            session = client._network.session
            for _ in range(examples(40)):
                body = random_.choice(wholes)
                data = body if random_.random() < 0.3 else mutated(body, random_)
                verb = random_.choice(VERBS).format(random_.choice(ARMS))
                for reply in session.get(f"{ROOT}/as/{name}/{verb}", payload=data, timeout=0.5):
                    if verb not in ("describe", "clock"):
                        assert reply.ok is None, verb
            for verb in ("beat/puma", "frame/table"):
                session.put(f"{ROOT}/as/{name}/{verb}", mutated(random_.choice(wholes), random_))
            client.ask("describe")
        assert "fault" not in guarded.host.refusals, guarded.host.refusals
        assert len(guarded.toy.given) == given
        held = guarded.host.leases.holder("puma")
        assert held is not None
        assert held.client == "alice"
        hand.joints([0.1, 0.1]).wait(SILENCE * 10)
