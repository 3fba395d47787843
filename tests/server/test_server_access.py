"""Beyond loopback: TLS, named clients, and what each may do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path

import pytest

import linkwright as lw
from linkwright.base.errors import InputError
from linkwright.cli import main
from linkwright.server.access import ROOT, Client
from linkwright.server.cell_file import read_cell
from linkwright.server.client import RemoteCell
from linkwright.server.face import RefusedError
from linkwright.server.host import CellHost
from linkwright.server.messages import BEAT, FRAME, LEASE
from linkwright.server.network import Credentials, common_name, open_session
from linkwright.server.registry import VARIABLE
from tests.support.server_certificates import Authority
from tests.support.server_faces import ToyCell

SILENCE, LIMIT = 2.0, 30.0
CLIENTS = [
    Client("alice", ["command"]),
    Client("bob"),
    Client("carol", ["supervise"]),
    Client("dan", ["sense"]),
]


class Guarded:
    """A cell behind TLS, and certificates."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.authority = Authority(folder / "ours")
        self.toy = stack.enter_context(ToyCell("guarded"))
        self.host = stack.enter_context(
            CellHost(
                self.toy,
                listen="tls/127.0.0.1:0",
                clients=CLIENTS,
                credentials=self.authority.issue("cell", host="127.0.0.1"),
                registered=False,
            )
        )
        self._stack = stack

    def connect(self, name: str, credentials: Credentials | None = None) -> RemoteCell:
        shown = credentials or self.authority.issue(name)
        return self._stack.enter_context(
            lw.server.connect(
                str(self.host.endpoint),
                certificate=shown.certificate,
                key=shown.key,
                authority=shown.authority,
            )
        )


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guarded]:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "run"))
    with ExitStack() as stack:
        yield Guarded(tmp_path, stack)


def test_clients_do_what_they_may_and_no_more(guarded: Guarded) -> None:
    """Look, command and supervise; the name is that of the certificate."""
    alice, bob, carol = (guarded.connect(name) for name in ("alice", "bob", "carol"))
    assert [c.client for c in (alice, bob, carol)] == ["alice", "bob", "carol"]
    assert (bob.rights, alice.rights) == (("look",), ("look", "command"))
    assert bob.arm("puma").state.life == "off"
    with pytest.raises(RefusedError, match="bob has no right to command") as caught:
        bob.arm("puma").command().take()
    assert caught.value.name == "rights"
    with alice.arm("puma").command(silence=SILENCE) as hand:
        hand.enable()
        with pytest.raises(RefusedError, match="alice has no right to supervise"):
            alice.arm("puma").command(take=True).take()
        with pytest.raises(RefusedError, match="commanded by alice"):
            carol.arm("puma").command().take()
        taken = carol.arm("puma").command(silence=SILENCE, take=True)
        taken.take()
        with pytest.raises(RefusedError, match="carol took it"):
            hand.stop()
    bob.halt()  # whoever looks may halt
    assert carol.states.wait(lambda f: f.values["puma.life"] == 3, LIMIT)


def test_nobody_can_speak_under_the_name_of_another(guarded: Guarded) -> None:
    """Zenoh drops what a certificate does not cover: nothing of it reaches the cell."""
    alice, bob = guarded.connect("alice"), guarded.connect("bob")
    hand = alice.arm("puma").command(silence=SILENCE)
    hand.take()
    beats = guarded.toy.beats
    session = bob._network.session
    for key in ("as/alice/describe", "as/*/describe", "as/alice/halt", "as/carol/lease/puma"):
        data = LEASE.pack({"take": 2, "lease": 0, "silence": 1.0, "local": 0})
        assert list(session.get(f"{ROOT}/{key}", payload=data, timeout=1.0)) == []
    hand._ending.set()
    stolen = BEAT.pack({"lease": hand._key, "seen": bob.now()}, sequence=1000)
    pose = FRAME.pack({"pose": [0, 0, 0, 1, 0, 0, 0], "twist": [0] * 6, "time": 0})
    session.put(f"{ROOT}/as/alice/beat/puma", stolen)
    session.put(f"{ROOT}/as/bob/frame/table", pose)  # its own name, but not its right
    session.put(f"{ROOT}/state/1", b"forged")
    bob.ask("describe")
    assert guarded.toy.frames == {}
    assert guarded.toy.beats - beats <= 3  # alice's own, that were under way
    assert alice.states.damaged == 0
    assert guarded.toy.stops == []
    dan = guarded.connect("dan")
    dan.send("frame/table", pose)
    dan.ask("describe")
    assert dan.states.wait(lambda _: "table" in guarded.toy.frames, LIMIT)


def test_wrong_certificates_get_nowhere(guarded: Guarded, tmp_path: Path) -> None:
    other = Authority(tmp_path / "theirs")
    forged = other.issue("alice", by=guarded.authority.certificate)
    with pytest.raises(InputError, match="do not trust each other"):
        guarded.connect("alice", forged)
    doubting = guarded.authority.issue("alice", by=other.certificate)
    with pytest.raises(InputError, match="CERTIFICATE_VERIFY_FAILED"):
        guarded.connect("alice", doubting)
    with pytest.raises(lw.server.LostError, match=r"does not answer.*'mallory' is one of its"):
        guarded.connect("mallory")  # signed, but nobody's client
    with pytest.raises(InputError, match="asks for a certificate"):
        lw.server.connect(str(guarded.host.endpoint))
    shown = guarded.authority.issue("bob")
    with pytest.raises(InputError, match="that of 'bob', not of 'alice'"):
        lw.server.connect(
            str(guarded.host.endpoint),
            client="alice",
            certificate=shown.certificate,
            key=shown.key,
            authority=shown.authority,
        )
    plain = str(guarded.host.endpoint).replace("tls/", "tcp/")
    with pytest.raises(InputError, match="does not open"):
        open_session(connect=plain, seconds=0.5)
    assert guarded.toy.given == []
    assert guarded.toy.beats == 0
    assert guarded.connect("bob").arm("puma").state.tick >= 0  # the cell goes on


def test_a_cell_file_names_clients_and_certificates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = files("linkwright.server") / "cells" / "axes2.toml"
    file = tmp_path / "cell.toml"
    file.write_text(
        shipped.read_text("utf-8").replace("tcp/127.0.0.1:7448", "tls/127.0.0.1:0")
        + '[[client]]\nname = "alice"\nrights = ["command"]\n'
        + '[tls]\ncertificate = "cell.pem"\nkey = "cell.key"\nauthority = "/ca.pem"\n'
    )
    cell = read_cell(file)
    assert [(c.name, c.may("look"), c.may("supervise")) for c in cell.clients] == [
        ("alice", True, False)
    ]
    assert cell.credentials == Credentials(
        str(tmp_path / "cell.pem"), str(tmp_path / "cell.key"), "/ca.pem"
    )
    with pytest.raises(InputError, match="there is no file"):
        open_session(listen=cell.address, clients=cell.clients, credentials=cell.credentials)
    assert main(["cell", "serve", str(file)]) == 2  # before a loop is started
    assert "there is no file" in capsys.readouterr().err
    assert main(["cell", "serve", "axes2", "--listen", "tcp/10.0.0.5:7447"]) == 2
    assert "nothing starts there without TLS" in capsys.readouterr().err


def test_beyond_loopback_clients_are_named(tmp_path: Path) -> None:
    credentials = Authority(tmp_path / "ours").issue("cell", host="127.0.0.1")
    with pytest.raises(InputError, match="no client is named"):
        open_session(listen="tls/127.0.0.1:0", credentials=credentials)
    with pytest.raises(InputError, match="there is no file 'nope'"):
        open_session(
            listen="tls/127.0.0.1:0", clients=CLIENTS, credentials=Credentials("nope", "", "")
        )
    with pytest.raises(InputError, match=r"'comand' is not a right .*; did you mean 'command'"):
        Client("alice", ["comand"])
    with pytest.raises(InputError, match="cannot be the name of a client"):
        Client("al/ice")
    assert common_name(Path(credentials.certificate).read_text()) == "cell"
    with pytest.raises(InputError, match="no common name"):
        common_name("-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n")
