"""A cell on the network: looking, leases, commands, refusals, and processes that end."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import numpy as np
import pytest

import linkwright as lw
from linkwright.base.errors import Error, InputError
from linkwright.cli import main
from linkwright.server.client import RemoteCell
from linkwright.server.face import Command, RefusedError
from linkwright.server.hand import ArmHand
from linkwright.server.host import CellHost
from linkwright.server.leases import Leases
from linkwright.server.messages import (
    ANSWER,
    LEASE,
    command_of,
    command_record,
    described,
    pack_command,
    unpack,
)
from linkwright.server.network import Endpoint, open_session
from linkwright.server.registry import VARIABLE, CellEntry, Running, running_cell, running_cells
from linkwright.server.verbs import check_command
from linkwright.windows.records import Frame
from tests.support.server_faces import ToyCell, face_of

SILENCE = 2.0  # s, long: these tests may run on a machine that is busy
LIMIT = 30.0  # s for anything that is waited for


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of running cells for each test."""
    folder = tmp_path / "run"
    monkeypatch.setenv(VARIABLE, str(folder))
    return folder


@pytest.fixture
def toy() -> Iterator[ToyCell]:
    with ToyCell("toy") as cell, CellHost(cell):
        yield cell


@pytest.fixture
def hand(toy: ToyCell) -> Iterator[ArmHand]:
    with lw.server.connect("toy", client="alice") as cell:
        found = cell.arm("puma").command(silence=SILENCE)
        found.take()
        yield found


def test_looking_takes_no_lease(toy: ToyCell) -> None:
    with lw.server.connect("toy") as cell:
        assert (cell.name, cell.rate, list(cell.arms)) == ("toy", 200.0, ["puma"])
        assert cell.arms["puma"] == toy.arms["puma"]
        first = cell.arm("puma").state
        assert cell.states.wait(lambda f: f.tick > first.tick, LIMIT)
        assert (first.life, first.holder, first.cause) == ("off", 0, "none")
        assert -1.0 < first.age < LIMIT  # on the cell's clock, which is days away from ours
        assert cell.states.damaged == 0
    assert toy.given == []


def test_a_client_chooses_its_rate(toy: ToyCell) -> None:
    """States of every tenth tick are those of a client that asks for 20 of 200."""
    with lw.server.connect("toy", rate=20.0) as cell:
        ticks: set[int] = set()

        def enough(frame: Frame) -> bool:
            ticks.add(frame.tick)
            return len(ticks) > 4

        assert cell.states.wait(enough, LIMIT)
        assert len({tick // 10 for tick in ticks}) == 5
        cell.follow(1e9)
        assert cell._divisor == 1


def test_an_arm_in_hand_goes_where_it_is_told(hand: ArmHand, toy: ToyCell) -> None:
    hand.enable()
    moved = hand.joints([1.0, 0.5], speed=0.3, blend=0.05)
    assert moved.wait(LIMIT).done
    assert hand.arm.state.q.tolist() == [1.0, 0.5]
    hand.pose([0.1, 0.2, 0.3, 1.0, 0.0, 0.0, 0.0], frame="table").wait(LIMIT)
    hand.set("gain", 3.0).wait(LIMIT)
    kinds = [(c.kind, c.values, c.frame, c.name, c.sequence) for _, c in toy.given]
    assert kinds == [
        ("enable", (), "base", "", 1),
        ("joints", (1.0, 0.5), "base", "", 2),
        ("pose", (0.1, 0.2, 0.3, 1.0, 0.0, 0.0, 0.0), "table", "", 3),
        ("set", (3.0,), "base", "gain", 4),
    ]
    assert (toy.given[1][1].speed, toy.given[1][1].blend) == (0.3, 0.05)


def test_a_matrix_is_a_pose(hand: ArmHand, toy: ToyCell) -> None:
    hand.pose(np.array([[0, -1, 0, 0.4], [1, 0, 0, 0.5], [0, 0, 1, 0.6], [0, 0, 0, 1]])).wait(LIMIT)
    half = math.sqrt(0.5)
    assert toy.given[0][1].values == pytest.approx((0.4, 0.5, 0.6, half, 0.0, 0.0, half))
    with pytest.raises(InputError, match="does not turn"):
        hand.pose(np.diag([2.0, 1.0, 1.0, 1.0]))


def test_a_verb_of_the_table_needs_no_method(hand: ArmHand, toy: ToyCell) -> None:
    """`ask` gives a command as the methods do, and the cell checks it by the same table."""
    hand.ask("joints", [0.5, 0.25]).wait(LIMIT)
    given = toy.given[-1][1]
    assert (given.values, given.speed) == ((0.5, 0.25), 0.25), "carefully, where nobody says how"
    with pytest.raises(RefusedError, match="no kind of command 'jonits'; did you mean 'joints'"):
        hand.ask("jonits")
    with pytest.raises(RefusedError, match="'joints' of 'puma' takes 2 numbers"):
        hand.ask("joints", [0.5])


def test_one_commands_and_others_are_told_who(hand: ArmHand, toy: ToyCell) -> None:
    with lw.server.connect("toy", client="bob") as other:
        arm = other.arm("puma")
        assert arm.state.life == "off"
        with pytest.raises(RefusedError, match="puma is commanded by alice") as caught:
            arm.command().take()
        assert caught.value.name == "held"
        with arm.command(silence=SILENCE, take=True) as mine:  # loopback may supervise
            mine.enable()
            with pytest.raises(RefusedError, match="bob took it") as caught:
                hand.joints([0.1, 0.1])
            assert caught.value.name == "lease"
            hand._last += 9  # what it asked for last is not done
            with pytest.raises(lw.server.StoppedError, match="puma is commanded by bob, not"):
                hand.wait(seconds=LIMIT)
    assert [c.kind for _, c in toy.given] == ["stop", "enable"]  # what alice began was stopped


def test_a_lease_that_is_given_back_is_free(toy: ToyCell) -> None:
    for client in ("alice", "bob"):
        with (
            lw.server.connect("toy", client=client) as cell,
            cell.arm("puma").command(silence=SILENCE) as hand,
        ):
            hand.enable()
    assert [c.sequence for _, c in toy.given] == [1, 2]  # of the arm, not of the client


def test_a_silent_holder_loses_the_arm(toy: ToyCell) -> None:
    """The loop counts ticks without a beat; then the lease is free, and the holder learns why."""
    with lw.server.connect("toy", client="alice") as cell:
        hand = cell.arm("puma").command(silence=0.5)
        hand.take()
        hand._ending.set()  # no more beats
        assert cell.states.wait(lambda f: f.values["puma.holder"] == 0, LIMIT)
        assert [(arm, cause) for _, arm, cause in toy.stops] == [("puma", "silence")]
        hand._last += 1
        with pytest.raises(lw.server.StoppedError, match="silence"):
            hand.wait(seconds=LIMIT)
        tick = cell.frame.tick + 5  # the host has seen it too
        assert cell.states.wait(lambda f: f.tick > tick, LIMIT)
        with pytest.raises(RefusedError, match="the loop stopped the arm of alice: silence") as no:
            hand.stop()
        assert no.value.name == "lease"
        with cell.arm("puma").command(silence=SILENCE):
            pass


def test_beats_of_a_client_that_sees_nothing_new_do_not_count(toy: ToyCell) -> None:
    """What answers a state that is older than the silence comes from somebody who is blind."""
    with lw.server.connect("toy") as cell:
        hand = cell.arm("puma").command(silence=0.5)
        hand.take()
        cell._subscriber.undeclare()
        with lw.server.connect("toy") as other:
            assert other.states.wait(lambda f: f.values["puma.holder"] == 0, LIMIT)
        assert [(arm, cause) for _, arm, cause in toy.stops] == [("puma", "silence")]


def test_halt_needs_no_lease(hand: ArmHand, toy: ToyCell) -> None:
    hand.enable()
    with lw.server.connect("toy", client="bob") as other:
        other.halt()
    assert hand.arm.cell.states.wait(lambda f: f.values["puma.life"] == 3, LIMIT)
    with pytest.raises(lw.server.StoppedError, match="puma is in fault: halt"):
        hand.joints([0.1, 0.1]).wait(LIMIT)


def test_a_wait_that_takes_too_long_says_so_and_not_that_the_cell_is_lost(
    hand: ArmHand, toy: ToyCell
) -> None:
    toy._steps = 10**6
    hand.enable()
    asked = hand.joints([0.1, 0.1])
    with pytest.raises(lw.server.TimedOutError, match=r"not finished joints 2 in 0.05 s") as late:
        asked.wait(0.05)
    assert isinstance(late.value, TimeoutError)
    hand.arm.cell.halt()  # and what was cut off is told on leaving the block, once
    with pytest.raises(lw.server.StoppedError, match=r"fault: halt; .*clear\(\) and enable") as cut:
        hand.wait(seconds=LIMIT)
    assert (cut.value.cause, asked.taken, asked.done) == ("halt", True, False)
    hand.wait(seconds=LIMIT)


def test_a_lease_is_not_lost_to_the_end_of_the_one_before(
    hand: ArmHand, toy: ToyCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who takes an arm while it is given back keeps it: both are told to the loop in order."""
    beat, taken = toy.beat, []

    def take() -> None:
        taken.append(hand.arm.command(silence=SILENCE))
        taken[0].take()

    thread = threading.Thread(target=take)

    def slow(arm: str, holder: int, silence: float) -> None:
        if holder == 0 and not taken:
            thread.start()
            thread.join(0.3)
        beat(arm, holder, silence)

    monkeypatch.setattr(toy, "beat", slow)
    hand.give()
    thread.join(LIMIT)
    tick = hand.arm.cell.frame.tick
    assert hand.arm.cell.states.wait(lambda f: f.tick > tick + 5, LIMIT)
    assert hand.arm.state.holder == taken[0].number
    taken[0].enable()
    taken[0].give()


def test_a_state_that_cannot_be_read_is_left_out(
    toy: ToyCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop that was caught in the middle of a tick is looked at again."""
    latest, calls = toy.latest, [0]

    def torn() -> Frame:
        calls[0] += 1
        if calls[0] % 2:
            raise Error("the loop was stopped in the middle of a tick")
        return latest()

    with lw.server.connect("toy", rate=1e9) as cell:
        tick = cell.frame.tick
        monkeypatch.setattr(toy, "latest", torn)
        assert cell.states.wait(lambda f: f.tick > tick + 20, LIMIT)


def test_linked_arms_are_cleared_together() -> None:
    with (
        ToyCell("pair", arms=("left", "right")) as toy,
        CellHost(toy),
        lw.server.connect("pair") as cell,
        cell.arm("left").command(silence=SILENCE) as left,
        cell.arm("right").command(silence=SILENCE) as right,
    ):
        cell.halt()
        assert cell.states.wait(lambda f: f.values["right.life"] == 3, LIMIT)
        left.clear(right)
        assert [(arm, c.kind) for arm, c in toy.given] == [("left", "clear"), ("right", "clear")]
        assert (left.arm.state.life, right.arm.state.life) == ("inactive", "inactive")


def test_a_motion_that_was_dropped_is_told(hand: ArmHand, toy: ToyCell) -> None:
    """Between the check and the tick an arm may have stopped: then it is taken up by nobody."""
    hand.enable()
    toy._values |= {"puma.cut": 2, "puma.cut_after": 1, "puma.cut_cause": 1}
    with pytest.raises(
        lw.server.StoppedError, match=r"stopped: silence.*; give it the next"
    ) as cut:
        hand.joints([0.1, 0.1]).wait(LIMIT)
    assert cut.value.cause == "silence"
    hand.joints([0.2, 0.2]).wait(LIMIT)


def test_an_error_in_the_block_stops_the_arm_and_gives_it_back(toy: ToyCell) -> None:
    with lw.server.connect("toy") as cell:
        with suppress(ZeroDivisionError), cell.arm("puma").command(silence=SILENCE) as hand:
            hand.enable()
            hand.joints([0.1, 0.1])
            raise ZeroDivisionError
        assert [c.kind for _, c in toy.given] == ["enable", "joints", "stop"]
        assert cell.states.wait(lambda f: f.values["puma.holder"] == 0, LIMIT)


BAD: dict[str, dict[str, Any]] = {
    "speed": {"speed": 1.5},
    "blend": {"blend": -1.0},
    "values": {"values": (1.0,)},
    "expired": {"expires": 1},
    "non-finite": {"values": (math.nan, 0.0)},
    "range": {"values": (9.0, 0.0)},
    "repeated": {"sequence": 5},
    "old": {"sequence": 4},
}


@pytest.mark.parametrize("name", [*BAD, "lease", "schema", "checksum"])
def test_what_is_wrong_is_refused_by_name(hand: ArmHand, toy: ToyCell, name: str) -> None:
    """Nothing of it reaches the cell."""
    arm, record = toy.arms["puma"], command_record(toy.arms["puma"])
    hand._sequence = 4
    hand.joints([0.0, 0.0])
    before = list(toy.given)
    good = Command("joints", 6, (0.5, 0.5))
    bad = replace(good, **BAD.get(name, {}))
    key = hand._key ^ (name == "lease")
    if name == "schema":
        record = command_record(replace(arm, frames=("base", "chair")))
    data = bytearray(pack_command(arm, record, bad, key, 0))
    if name == "checksum":
        data[-1] ^= 1
    with pytest.raises(RefusedError) as caught:
        hand.arm.cell.ask("command/puma", bytes(data))
    assert caught.value.name == name
    assert toy.given == before
    hand._sequence = 5
    assert hand.joints([0.2, 0.2]).wait(LIMIT).sequence == 6  # the next good one is taken


def test_unknown_names_are_refused_on_both_sides(hand: ArmHand, toy: ToyCell) -> None:
    cell = hand.arm.cell
    with pytest.raises(InputError, match="has no arm 'pumba'; did you mean 'puma'"):
        cell.arm("pumba")
    with pytest.raises(RefusedError, match="no frame 'tabel'; did you mean 'table'") as caught:
        hand.pose([0, 0, 0, 1, 0, 0, 0], frame="tabel")
    assert caught.value.name == "frame"
    for wrong in ("abc", None, [[1.0], [1.0, 2.0]]):
        with pytest.raises(InputError, match=r"are not the numbers of|have the shape"):
            hand.joints(cast("Any", wrong))
        with pytest.raises(InputError, match=r"are not the numbers of|has the shape"):
            hand.pose(cast("Any", wrong))
    with pytest.raises(InputError, match="2 joints, and the numbers given have the shape"):
        hand.joints([1.0])
    with pytest.raises(RefusedError, match="no arm 'nope'") as caught:
        cell.ask("command/nope", b"")
    assert caught.value.name == "unknown"
    with pytest.raises(RefusedError) as caught:
        cell.ask("lease/puma", LEASE.pack({"take": 7, "lease": 0, "silence": 1.0, "local": 0}))
    assert caught.value.name == "unknown"
    assert toy.given == []


def test_a_sensed_frame_reaches_the_cell(toy: ToyCell) -> None:
    from linkwright.server.messages import FRAME

    pose, twist = (0.1, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0), (0.0,) * 6
    with lw.server.connect("toy") as cell:
        cell.send("frame/table", FRAME.pack({"pose": pose, "twist": twist, "time": 5}))
        cell.ask("describe")
        cell.states.wait(lambda _: "table" in toy.frames, LIMIT)
    assert toy.frames == {"table": (pose, twist, 5)}


def test_commands_come_back_as_they_were_sent() -> None:
    arm = face_of("puma")
    record = command_record(arm)
    command = Command("pose", 7, (0.1,) * 7, 0.5, 0.25, "table", "gain", 99)
    frame = unpack(record, pack_command(arm, record, command, 3, 0))
    assert command_of(arm, frame, frame.sequence) == (3, command)
    with pytest.raises(RefusedError, match="length 1"):
        check_command(arm, command, 0)
    with pytest.raises(InputError, match="protocol 9"):
        described(b'{"protocol": 9}')
    with pytest.raises(RefusedError, match="has 72 bytes"):
        unpack(ANSWER, b"x")


def test_leases_say_who_holds_them() -> None:
    leases = Leases(["puma"])
    lease, _ = leases.take("puma", "alice", 77, 0.1, 0)
    assert leases.check("puma", "alice", lease.key) is lease
    for who, key in (("bob", lease.key), ("alice", lease.key ^ 2)):
        with pytest.raises(RefusedError, match="commanded by alice"):
            leases.check("puma", who, key)
    for silence in (0.0, math.nan, 1e9):
        with pytest.raises(RefusedError, match="silence is"):
            leases.take("puma", "bob", 78, silence, 0)
    assert leases.end(lease, "it was over")
    assert not leases.end(lease, "twice")
    with pytest.raises(RefusedError, match=r"nobody.*it was over"):
        leases.check("puma", "alice", lease.key)


def test_cells_are_found_by_name(runtime: Path, toy: ToyCell) -> None:
    assert runtime.stat().st_mode & 0o777 == 0o700
    assert list(running_cells()) == ["toy"]
    with pytest.raises(InputError, match="'toi' runs on this machine; did you mean 'toy'"):
        lw.server.connect("toi")
    with pytest.raises(InputError, match="a cell called 'toy' runs already"):
        CellHost(toy)
    (runtime / "dead.cell").write_text('{"name": "dead", "endpoint": "", "process": 1}')
    assert list(running_cells()) == ["toy"]  # its process holds no lock
    CellEntry(Running("dead", "tcp/127.0.0.1:1", 1)).close()
    assert not (runtime / "dead.cell").exists()
    runtime.chmod(0o755)
    with pytest.raises(Error, match="others may enter"):
        running_cells()


@pytest.mark.parametrize(
    ("kind", "start"),
    [
        ("cell", "linkwright cell serve"),
        ("lab", "linkwright lab open sl-arm"),
        ("coordinator", "start one with lw.server.coordinate"),
    ],
)
def test_where_nothing_runs_it_is_said_what_starts_it(runtime: Path, kind: str, start: str) -> None:
    with pytest.raises(InputError, match=f"no {kind} called 'toy' runs .*; none runs: {start}$"):
        running_cell("toy", kind)


def test_nobody_at_an_address_is_told_at_once() -> None:
    with pytest.raises(InputError, match=r"nobody answers at tcp/127\.0\.0\.1:1: "):
        lw.server.connect("tcp/127.0.0.1:1")
    for wrong in ("cell/", "udp/127.0.0.1:7447", "tcp/127.0.0.1:70000", "tcp/a b:1"):
        with pytest.raises(InputError, match="is not an address"):
            Endpoint.read(wrong)


@pytest.mark.parametrize(
    ("listen", "says"),
    [
        ("tcp/0.0.0.0:0", "listens on all networks"),
        ("tls/[::]:0", "listens on all networks"),
        ("tcp/10.0.0.5:0", "nothing starts there without TLS"),
        ("tls/10.0.0.5:0", "nothing starts there without TLS"),
        ("tls/127.0.0.1:0", "nothing starts there without TLS"),
    ],
)
def test_nothing_listens_beyond_loopback_without_tls(listen: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        open_session(listen=listen)


PROGRAM = textwrap.dedent("""
    import atexit
    import sys
    import time
    from tests.support.server_faces import ToyCell
    from linkwright.server.client import connect
    from linkwright.server.host import CellHost
    toy = ToyCell("ending").__enter__()
    host = CellHost(toy)
    cell = connect("ending")
    hand = cell.arm("puma").command(silence=1.0)
    hand.take()
    print(cell.arm("puma").state.life)
    atexit.register(time.sleep, 0.6)  # threads go on meanwhile, as on a machine that is busy
    if sys.argv[1] == "error":
        raise SystemExit(3)
""")


@pytest.mark.parametrize(("how", "code"), [("end", 0), ("error", 3)])
def test_a_program_that_falls_off_its_end_does_end(how: str, code: int) -> None:
    """Subscribers, queryables and beats of an open session keep no process alive."""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, how],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | {"PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"},
    )
    assert (done.returncode, done.stdout) == (code, "off\n"), done.stderr
    assert done.stderr == ""


def test_a_session_that_is_closed_twice_is_closed(toy: ToyCell) -> None:
    cell: RemoteCell = lw.server.connect("toy")
    cell.close()
    cell.close()
    assert cell.closed


def test_the_command_line_watches_and_halts(
    toy: ToyCell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cell", "watch", "toy", "--once", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["cell"], told["arms"]["puma"]["life"]) == ("toy", "off")
    assert main(["cell", "halt", "toy"]) == 0
    assert "toy: halted" in capsys.readouterr().out
    assert [cause for _, _, cause in toy.stops] == ["halt"]
    with lw.server.connect("toy") as cell:
        assert cell.states.wait(lambda f: f.values["puma.life"] == 3, LIMIT)
    assert main(["cell", "watch", "toy", "--once"]) == 0
    shown = capsys.readouterr().out
    assert "toy: 200 Hz" in shown
    assert "fault" in shown
    assert main(["cell", "watch", "nope"]) == 2
    assert "no cell called 'nope' runs" in capsys.readouterr().err


def test_a_window_takes_commands_as_the_network_does(toy: ToyCell, runtime: Path) -> None:
    """Under the same lease and the same checks; what is refused is refused by name."""
    with lw.server.connect("toy", client="alice", rate=1.0) as cell:
        with cell.arm("puma").command(silence=SILENCE, local=True) as hand:
            hand.enable()
            with patch.object(cell, "ask", side_effect=AssertionError) as refuse:
                for goal in ([0.1, 0.1], [0.2, 0.2]):
                    hand.joints(goal).wait(LIMIT)
                refuse.assert_not_called()
            with pytest.raises(RefusedError) as caught:
                hand.joints([9.0, 0.1])
            assert caught.value.name == "range"
            windows = sorted(path.name for path in runtime.glob("*.window"))
            assert windows == [
                "toy.puma.alice.answer.window",
                "toy.puma.alice.command.window",
                "toy.state.window",
            ]
            with lw.server.connect("toy", client="bob") as other:
                other.arm("puma").command(silence=SILENCE, take=True).take()
                with pytest.raises(RefusedError, match="bob took it"):
                    hand.stop()
        assert [c.kind for _, c in toy.given] == ["enable", "joints", "joints", "stop"]
        assert [c.sequence for _, c in toy.given][:3] == [1, 2, 3]
    assert not (runtime / "toy.puma.alice.command.window").exists()
