"""The command line: exit codes, help, and errors on one line without a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module

import pytest

from linkwright.cli import commands, main
from linkwright.errors import Error, InputError
from linkwright.version import __version__


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a fresh process, as a shell would."""
    return subprocess.run(
        [sys.executable, "-m", "linkwright", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def raising(error: BaseException) -> Callable[[str], Callable[[], None]]:
    """Stand in for `commands.load`, with a command that raises."""

    def command() -> None:
        """Fail."""
        raise error

    return lambda name: command


def test_version_is_printed() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"linkwright {__version__}\n", "")


def test_help_names_every_registered_command() -> None:
    done = run("--help", COLUMNS="200")
    assert done.returncode == 0
    for name in commands.COMMANDS:
        assert f" {name} " in done.stdout


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_each_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The help of a command starts from its docstring, and every option has a sentence."""
    assert main([name, "--help"]) == 0
    summary = (import_module(commands.COMMANDS[name]).command.__doc__ or "").splitlines()[0]
    shown = " ".join(capsys.readouterr().out.split())
    assert summary
    assert summary in shown


@pytest.mark.parametrize("words", [["nope"], ["--nope"], ["info", "--nope"]])
def test_wrong_usage_is_2_and_stays_off_stdout(words: list[str]) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert "nope" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_error_is_one_line_on_stderr_and_2(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    error = InputError(
        "unknown joint [bold]'hinje'\nin the second body" + " of a long chain" * 20,
        file="arm.toml",
        line=4,
        column=9,
        remedy="did you mean 'hinge'?",
    )
    monkeypatch.setattr("linkwright.cli.app.load", raising(error))
    assert main(["info"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err == "error: " + str(error).replace("\n", " ") + "\n"


def test_error_is_red_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("linkwright.cli.app.load", raising(Error("no")))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(["info"]) == 2
    assert "\x1b[31mno\x1b[0m" in capfd.readouterr().err


def test_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwright.cli.app.load", raising(KeyboardInterrupt()))
    assert main(["info"]) == 130


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only `Error` is for users; anything else must not be hidden."""
    monkeypatch.setattr("linkwright.cli.app.load", raising(ZeroDivisionError("a bug")))
    with pytest.raises(ZeroDivisionError, match="a bug"):
        main(["info"])


def test_broken_pipe_is_silent() -> None:
    """A reader that leaves early (``linkwright info | head -0``) causes no noise."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "linkwright", "info"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_info_gives_the_versions_in_use() -> None:
    import numpy as np

    done = run("info", "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told["packages"]["numpy"] == np.__version__
    assert told["packages"]["linkwright"] == __version__
    assert told["python"] == sys.version.split()[0]
    assert told["cores"] == os.cpu_count()
