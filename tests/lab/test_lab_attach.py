"""Several consoles of one laboratory: in its process, through a socket, and at a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import socket
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from linkwright.base.errors import Error
from linkwright.cli import main
from linkwright.lab.console.consoles import ConsoleEvent, Consoles, LocalLink
from linkwright.lab.console.remote import ConsoleServer, RemoteLink, running_labs, socket_path
from tests.support.lab_stand_in import StandIn

LIMIT = 200.0  # s, far more than it takes on a busy machine


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / ("run" * 40)  # longer than the address of a socket may be
    found.mkdir(mode=0o700)
    monkeypatch.setenv("LINKWRIGHT_RUNTIME_DIR", str(found))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return found


@pytest.fixture
def consoles() -> Any:
    lab: Any = StandIn()
    return Consoles(lab)


def event(events: SimpleQueue[ConsoleEvent], kind: str) -> ConsoleEvent:
    """Return the next event, which is of a kind."""
    found = events.get(timeout=LIMIT)
    assert found.kind == kind, found
    return found


def test_freeze_comes_through_while_a_command_runs(consoles: Any) -> None:
    link = LocalLink(consoles, "arm")
    long = link.give("run 1000")
    while consoles.lab.tick < 5 * 960:
        time.sleep(0.01)
    second = link.give("run 1")
    refused = event(link.events, "failed")
    assert refused.number == second
    assert "'run 1000' runs" in refused.text
    link.give("freeze")
    ended = {event(link.events, "answered").number for _ in range(2)}
    assert ended == {long, second + 1}
    assert consoles.lab.tick < 10 * 960  # freeze has ended the run


def test_a_mistake_in_a_command_of_ones_own_is_told_and_the_console_goes_on(consoles: Any) -> None:
    def broken(lab: Any) -> str:
        raise ZeroDivisionError("by zero")

    consoles.lab.command("broken", "break")(broken)
    link = LocalLink(consoles, "arm")
    link.give("broken")
    assert event(link.events, "failed").text == "broken: ZeroDivisionError: by zero"
    link.give("where_nothing")
    assert "did you mean" in event(link.events, "failed").text


def test_questions_go_to_whoever_gave_the_command(consoles: Any) -> None:
    consoles.lab.commands.add("greet", "greet", lambda lab: lab.ask("who", "you"))
    one, two = LocalLink(consoles, "arm"), LocalLink(consoles, "arm")
    one.give("greet")
    assert event(one.events, "asked").text == "who [you]: "
    two.reply("not me")  # was not asked
    one.reply("me")
    assert event(one.events, "answered").text == "me"
    one.give("greet")
    event(one.events, "asked")
    one.reply(None)
    assert event(one.events, "failed").text == "aborted"
    assert two.events.empty()


def test_attached_consoles_have_the_same_table_and_results_go_to_whoever_asked(
    consoles: Any,
) -> None:
    consoles.lab.commands.add("greet", "greet", lambda lab: lab.ask("who", "you"))
    with ConsoleServer(consoles, "arm") as server:
        path = socket_path(server.name)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert list(running_labs()) == ["arm"]
        one, two = RemoteLink(), RemoteLink("arm")
        one.give("man")
        told = event(one.events, "answered")
        assert told.text == consoles.lab.do("man").text
        assert set(told.data) == {command.name for command in consoles.lab.commands}
        two.give("greet")
        event(two.events, "asked")
        two.reply("me")
        assert event(two.events, "answered").text == "me"
        assert [c.word for c in one.completions("go R_E")[1]] == ["R_EB="]
        assert one.state() == (None, 0.0)
        consoles.lab.tell("the task wave has ended")
        for link in (one, two):
            assert event(link.events, "said").text == "the task wave has ended"
        two.give("quit")  # leaves this console, not the laboratory
        event(two.events, "answered")
        event(two.events, "left")
        one.give("run 1")
        event(one.events, "answered")
    event(one.events, "left")
    assert not path.exists()
    assert running_labs() == {}


def test_a_second_laboratory_of_a_name_gets_a_number(consoles: Any) -> None:
    with ConsoleServer(consoles, "arm"), ConsoleServer(consoles, "arm") as second:
        assert second.name == "arm-2"
        with pytest.raises(
            Error, match="2 laboratories run: arm, arm-2; linkwright lab attach NAME"
        ):
            RemoteLink()
        with pytest.raises(Error, match="did you mean 'arm-2'"):
            RemoteLink("arm-3")
    with pytest.raises(Error, match="no laboratory runs"):
        RemoteLink()


def test_what_is_no_message_ends_that_talk_alone(consoles: Any) -> None:
    with ConsoleServer(consoles, "arm"):
        good = RemoteLink()
        deep = b"[" * 200_000 + b"\n"  # R29: no traceback either
        for bytes_ in (b"junk\n", b"[1]\n", deep, b'{"give": ' + b"x" * (1 << 21)):
            bad = RemoteLink()
            raw: socket.socket = bad._socket
            with suppress(OSError):  # it has gone while we talk on
                raw.sendall(bytes_)
            event(bad.events, "left")
        good.give("run 1")
        event(good.events, "answered")


def test_scripts_of_attached_consoles(consoles: Any, capsys: pytest.CaptureFixture[str]) -> None:
    consoles.lab.commands.add("greet", "greet", lambda lab: lab.ask("who", "you"))
    with ConsoleServer(consoles, "arm"):
        assert main(["lab", "attach", "-c", "greet; > me; greet", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert [each["text"] for each in told["commands"]] == ["me", "you"]
        assert main(["lab", "attach", "arm", "-c", "run 1; goo"]) == 2
        assert "command 2, 'goo'" in " ".join(capsys.readouterr().err.split())
    assert main(["lab", "attach"]) == 2


class Terminal:
    """A process at a pseudo-terminal."""

    def __init__(self, *words: str) -> None:
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm-256color"
            os.execv(sys.executable, [sys.executable, "-m", "linkwright", *words])
        self.shown = ""

    def until(self, pattern: str) -> str:
        """Return what is shown up to a pattern, without what steers the terminal."""
        end = time.monotonic() + LIMIT
        while not (found := re.search(pattern, self.shown)):
            assert time.monotonic() < end, (pattern, self.shown)
            ready, _, _ = select.select([self.file], [], [], 0.2)
            try:
                got = os.read(self.file, 65536).decode(errors="replace") if ready else ""
            except OSError:  # it has ended
                assert re.search(pattern, self.shown), (pattern, self.shown)
                break
            if "\x1b[6n" in got:  # where is the cursor?
                os.write(self.file, b"\x1b[1;1R")
            self.shown += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", got)
        assert found is not None
        seen, self.shown = self.shown[: found.end()], self.shown[found.end() :]
        return seen

    def type(self, text: str) -> None:
        """Type something."""
        os.write(self.file, text.encode())

    def end(self) -> int:
        """Wait until it has ended, and return its exit code."""
        limit = time.monotonic() + LIMIT
        while time.monotonic() < limit:
            ready, _, _ = select.select([self.file], [], [], 0.1)
            if ready:
                try:
                    if os.read(self.file, 65536):
                        continue
                except OSError:
                    break
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self) -> None:
        """End it, whatever it does."""
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.file)


TEXT = """
from linkwright.lab import Task, parameter, sin

class Bow(Task):
    speed = parameter(1.0, unit="rad/s", lower=0, upper=5)

    def init(self, lab):
        self.start = lab.desired.q.copy()

    def run(self, t, state, desired):
        desired.q = self.start + 0.05 * sin(self.speed * t)
"""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    (tmp_path / "bow.py").write_text(TEXT)
    words = ("--tasks", str(tmp_path / "bow.py"), "--folder", str(tmp_path))
    made = Terminal("lab", "open", "sl-arm", *words)
    try:
        yield made
    finally:
        made.close()


def test_the_console_at_a_terminal(terminal: Terminal, tmp_path: Path, folder: Path) -> None:
    """Completion, questions, messages, Ctrl-C, history; nothing is left of one that is killed."""
    terminal.until(r"sl-arm - [\d.]+>")
    terminal.type("whe\t")
    terminal.until("where_misc")
    terminal.type("\x03")
    terminal.until("frozen")
    terminal.until("Ctrl-C again")
    terminal.until(">")
    terminal.type("st bwo\r")
    terminal.until("error: there is no task 'bwo'; did you mean 'bow'")
    terminal.until(">")
    terminal.type("st bow\r")
    terminal.until("bow runs")
    terminal.until(">")
    terminal.type("ctp\r")
    terminal.until(r"speed \[1 rad/s\]:")
    terminal.type("2\r")
    terminal.until("speed = 2")
    terminal.until(">")
    (tmp_path / "bow.py").write_text(TEXT.replace("self.speed", "self.sped"))
    terminal.until(r"bow\.py:11")  # above the prompt, while nothing is typed
    link = RemoteLink()
    link.give("status")
    assert event(link.events, "answered").data["task"] == "bow"
    terminal.type("\x03")
    terminal.until("frozen")
    terminal.until("Ctrl-C again")
    terminal.until(">")
    terminal.type("\x03")
    terminal.until(r"quit\? \[no\]")
    terminal.type("n\r")
    terminal.until(">")
    assert "+st bow" in (tmp_path / "state/linkwright/lab_history").read_text()
    os.kill(terminal.pid, signal.SIGKILL)
    assert terminal.end() == -signal.SIGKILL
    while link.events.get(timeout=LIMIT).kind != "left":
        pass
    assert running_labs() == {}
    assert [path.suffix for path in sorted(folder.iterdir())] == [".lab", ".socket"]
    lab: Any = StandIn()
    with ConsoleServer(Consoles(lab), "sl-arm") as server:
        assert server.name == "sl-arm"
        assert RemoteLink().name == "sl-arm"
    assert list(folder.iterdir()) == []


def test_a_console_of_one_servo_takes_its_commands_alone(consoles: Any) -> None:
    """SL's windows: of vision, of the motors, of a servo of one's own, each beside the others."""
    lab = consoles.lab
    with ConsoleServer(consoles, "arm"):
        motor, eyes = RemoteLink("arm", "motor"), RemoteLink("arm", "eyes")
        every = RemoteLink("arm")
        assert (motor.name, eyes.name, every.name) == ("arm.motor", "arm.eyes", "arm")
        motor.give("man")
        listed = event(motor.events, "answered").data
        assert {"ck", "where_raw", "freeze", "scd"} <= set(listed)
        assert not {"setTask", "rbwhere", "estimate"} & set(listed)
        motor.give("st wave")
        words = event(motor.events, "failed").text
        assert "setTask is not a command of the motor servo" in words
        assert "at the console of task" in words
        eyes.give("st wave")
        assert event(eyes.events, "answered").text
        assert (lab.task, lab.servo) == ("wave", "eyes")
        every.give("man")
        assert len(event(every.events, "answered").data) == len(lab.commands)
        with pytest.raises(Error, match="there is no servo 'ears'; there are motor, task, eyes"):
            RemoteLink("arm", "ears")
        for link in (motor, eyes, every):
            link.close()
