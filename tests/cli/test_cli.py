"""The command line: exit codes, help, and errors on one line without a traceback."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperOption
from typer.main import get_command

from linkwright.base.errors import Error, InputError
from linkwright.cli import commands, main
from linkwright.cli.app import build
from linkwright.version import __version__
from scripts.book import renamed
from tests.support.pseudo_terminal import terminal


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a fresh process, as a shell would."""
    return subprocess.run(
        [sys.executable, "-m", "linkwright", *words],
        capture_output=True,
        text=True,
        check=False,
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


@cache
def shown_help(*words: str) -> str:
    """What `--help` prints, once for all tests that read it."""
    with redirect_stdout(StringIO()) as out:
        assert main([*words, "--help"]) == 0
    return out.getvalue()


def test_help_names_every_registered_command() -> None:
    for path in commands.COMMANDS:
        group, _, name = path.rpartition(" ")
        assert re.search(rf"^\W+{name} ", shown_help(*group.split()), re.MULTILINE), path


def test_help_fits_a_screen() -> None:
    """Twelve to fourteen entries, a line each, at the usual width of a terminal."""
    tops = list(dict.fromkeys(path.partition(" ")[0] for path in commands.COMMANDS))
    listed = shown_help().partition("Commands")[2].splitlines()[1:-1]
    assert 12 <= len(tops) <= 14
    assert [line.split()[1] for line in listed if line[:1] == "│"] == tops
    assert set(commands.GROUPS) <= set(tops)


def test_only_the_asked_command_is_imported() -> None:
    ours = "sorted(m for m in sys.modules if m.startswith('linkwright.cli.commands.'))"
    program = f"from linkwright.cli import main; import sys; main(sys.argv[1:]); print({ours})"
    for words, modules in ((["model", "list"], ["models"]), (["cell", "halt", "--help"], ["halt"])):
        done = subprocess.run(
            [sys.executable, "-c", program, *words], capture_output=True, text=True, check=True
        )
        wanted = [f"linkwright.cli.commands.{name}" for name in modules]
        assert done.stdout.splitlines()[-1] == str(wanted)


@pytest.mark.parametrize(("old", "new"), commands.ALIASES.items())
def test_an_old_name_warns_and_does_what_the_new_one_does(
    old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if old not in commands.GROUPS:
        assert main([old, "--help"]) == 0
        told = capsys.readouterr()
        assert told.out == shown_help(*new.split())
        assert told.err == (
            f"warning: `linkwright {old}` is now `linkwright {new}`; release 0.2.0 drops the "
            "old name\n"
        )
    assert new in commands.COMMANDS
    assert old not in commands.COMMANDS


def test_the_warning_of_an_old_name_leaves_json_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)[0]["name"]
    assert "is now `linkwright model list`" in told.err
    assert main(["lab", "nope", "-c", "run 1"]) == 2
    assert "is now `linkwright lab open`" in capsys.readouterr().err


def test_a_cell_is_halted_before_anything_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("linkwright.server.joining.halt_cell", lambda name: f"{name} stands")
    assert main(["cell", "halt", "cell1"]) == 0
    assert capsys.readouterr() == ("cell1 stands\n", "")
    assert main(["halt", "cell1"]) == 0
    told = capsys.readouterr()
    assert told.out == "cell1 stands\n"
    assert "is now `linkwright cell halt`" in told.err


def test_a_terminal_is_told_what_comes_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe gets the result alone, and so does whoever asks for JSON or for little."""
    with terminal(["model", "new", "swing"], tmp_path) as screen:
        screen.wait_for("next: linkwright model check swing.toml")
        assert screen.ended() == 0
    for words in ([], ["--json"], ["-q"]):
        assert main(["model", "list", *words]) == 0
        assert "next:" not in capsys.readouterr().out


def test_the_page_of_renamed_commands_is_the_table() -> None:
    made = renamed.page()
    row = r"^\| `linkwright ([a-z-]+)` \| `linkwright ([a-z -]+)` \|$"
    assert dict(re.findall(row, made, re.MULTILINE)) == commands.ALIASES
    options = [old for table in commands.OLD_OPTIONS.values() for old in table]
    assert [old for old in options if f" {old}` |" not in made] == []


@pytest.mark.parametrize(
    ("word", "hint"),
    [("chekc", "linkwright model check"), ("linearise", "linkwright analyze linearize")],
)
def test_a_wrong_name_is_answered_with_the_whole_one(
    word: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    assert hint in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_each_command_explains_itself(name: str) -> None:
    """The help of a command starts from its docstring, and no [word] of it is taken as markup."""
    command = import_module(commands.COMMANDS[name]).command
    summary = (command.__doc__ or "").splitlines()[0]
    told = [getattr(p.default, "help", "") for p in inspect.signature(command).parameters.values()]
    told.append(command.__doc__)
    assert [t for t in told if t and re.search(r"(?<!\\)\[[a-z]+\]", t)] == []
    shown = " ".join(shown_help(*name.split()).split())
    assert summary
    assert summary in shown


@pytest.mark.parametrize("words", [["nope"], ["--nope"], ["tools", "info", "--nope"]])
def test_wrong_usage_is_2_and_stays_off_stdout(
    words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capfd.readouterr()
    assert "nope" in err
    assert "Traceback" not in err
    assert out == ""


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
    assert main(["tools", "info"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err == "error: " + str(error).replace("\n", " ") + "\n"


def test_a_warning_is_one_line_without_its_place_in_the_source() -> None:
    program = (
        "import sys, warnings, linkwright.cli.app as app\n"
        "from linkwright.cli import main\n"
        "app.load = lambda name: lambda: warnings.warn('of two\\nlines', RuntimeWarning)\n"
        "usual = warnings.formatwarning\n"
        "code = main(['tools', 'info'])\n"
        "sys.exit(code if warnings.formatwarning is usual else 9)\n"
    )
    asked = [sys.executable, "-c", program]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "warning: of two lines\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["simulate", "."], "error: '.' is a folder, not a model; name a file in it\n"),
        (
            ["analyze", "ops", "pendulum", "--moves", "-1"],
            "error: -1 moves cannot be searched; give --moves 1 or more\n",
        ),
        (
            ["parallel", "singularities", "five-bar", "--purpose", "fun"],
            "error: --purpose 'fun' is nothing that a platform is for; give one of pose, "
            "direction, position\n",
        ),
        (
            ["analyze", "sampling", "nosuch.parquet"],
            "error: nosuch.parquet: cannot read: there is no such file\n",
        ),
        (["analyze", "sampling", "."], "error: .: cannot read: it is a folder\n"),
        (
            ["page", "pendulum", "-o", "pendulum.pdf"],
            "error: pendulum.pdf: a page is written to a file that ends in .html\n",
        ),
        (
            ["mount", "rotator", "mount-prismatic", "--port", "99999"],
            "error: cannot listen on 127.0.0.1:99999: ports go up to 65535; give another --port; "
            "0 picks one that is free\n",
        ),
        (
            ["lab", "fake-robot", "sl-arm", "--listen", "tin://1"],
            "error: there is no driver 'tin://1'; write udp://host:port, unix:///path, shm://name "
            "or python:file.py:Class\n",
        ),
        (
            ["rerun", "swing.toml"],
            "error: swing.toml is a cell or a model, and not the recording of one; make one with "
            "`linkwright simulate swing.toml`, or of a cell with `linkwright cell serve swing.toml "
            "--record cell.parquet`\n",
        ),
        (
            ["simulate", "pendulum", "--base", "air"],
            "error: Invalid value for '--base': 'air' is not one of 'auto', 'file', 'free', "
            "'fixed'; see `linkwright simulate --help`\n",
        ),
    ],
)
def test_wrong_values_are_told_in_one_line(
    words: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert capfd.readouterr() == ("", said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("simulate pendulum --force -o there.csv", "there.csv: this is a folder, where no"),
        ("simulate pendulum -o nowhere/run.csv", "nowhere: there is no such folder; make it"),
        ("codegen pendulum -o file.c", "file.c is a file, and a program is a folder"),
        ("lab open sl-arm --pace -1 -c where", "--pace -1 is not a pace; give 0 or more"),
        ("lab open sl-arm --tasks wave.py -c where", "wave.py: cannot read: there is no such"),
        ("page pendulum -o nowhere/pendulum.html", "nowhere: there is no such folder; make it"),
    ],
)
def test_where_nothing_can_be_written_nothing_is_left(
    words: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").mkdir()
    (tmp_path / "file.c").write_text("")
    assert main(words.split()) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(f"error: {said}")
    assert err.count("\n") == 1
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file.c", "there.csv"]


def test_an_unknown_template_is_answered_with_each_name_once(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert main(["model", "new", "arm", "--template", "zzzz"]) == 2
    names = capfd.readouterr().err.strip().partition("choose one of ")[2].split(", ")
    assert len(names) == len(set(names))
    assert {"lab", "cell", "pendulum", "car"} < set(names)


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_arguments_are_in_capitals_and_their_dots_come_once(name: str) -> None:
    usage = next(line for line in shown_help(*name.split()).splitlines() if "Usage:" in line)
    assert "...] ..." not in usage
    for word in usage.partition("[OPTIONS]")[2].split():
        assert not word.strip("[].").islower()
    shown = shown_help(*name.split()).partition("Options")[0].partition("Arguments")[2]
    assert not re.search(r"(?m)^\W*[a-z]+ {2,}[A-Z]", shown)


def test_error_is_red_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("linkwright.cli.app.load", raising(Error("no")))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(["tools", "info"]) == 2
    assert "\x1b[31mno\x1b[0m" in capfd.readouterr().err


def test_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkwright.cli.app.load", raising(KeyboardInterrupt()))
    assert main(["tools", "info"]) == 130


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only `Error` is for users; anything else must not be hidden."""
    monkeypatch.setattr("linkwright.cli.app.load", raising(ZeroDivisionError("a bug")))
    with pytest.raises(ZeroDivisionError, match="a bug"):
        main(["tools", "info"])


def test_broken_pipe_is_silent() -> None:
    """A reader that leaves early (``linkwright info | head -0``) causes no noise."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "linkwright", "tools", "info"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_info_gives_the_versions_in_use() -> None:
    import numpy as np

    done = run("tools", "info", "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told["packages"]["numpy"] == np.__version__
    assert told["packages"]["linkwright"] == __version__
    assert told["python"] == sys.version.split()[0]
    assert told["cores"] == os.cpu_count()


@pytest.mark.parametrize("name", ["", *commands.COMMANDS])
def test_help_is_in_the_words_of_users(name: str) -> None:
    shown = shown_help(*name.split())
    usage = next(line for line in shown.splitlines() if "Usage:" in line)
    assert not re.findall(r"[{}<>]|\[\[|\.\.\. ?\.", usage)
    assert not re.findall(r"<[a-z]+[^ ]*>|list\[", shown)
    if name:
        assert "\n Examples:" in shown
        assert f"\n linkwright {name}" in shown.partition("Examples:")[2]
        assert not re.search(r"\n\s*\n\s*\n\s*Examples:", shown)


@cache
def _command(name: str) -> Any:
    found: Any = get_command(build())
    for word in name.split():
        found = found.commands[word]
    return found


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_what_is_written_is_named_alike_everywhere(name: str) -> None:
    """What a command writes goes to `-o`, `--out`; an option with a value says what it takes."""
    command = _command(name)
    for param in command.params:
        long = set(param.opts)
        assert not long & {"--output", "--outfile", "--to-file", "--save"}
        assert ("-o" in long) == ("--out" in long)
        if "-o" in long or "--out" in long:
            assert long == {"-o", "--out"}
        if isinstance(param, TyperOption) and not param.is_flag:
            assert param.metavar, f"{name} {param.opts[0]} does not say what it takes"


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_examples_of_help_use_options_that_are_there(name: str) -> None:
    doc = import_module(commands.COMMANDS[name]).command.__doc__ or ""
    command = _command(name)
    known = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--d/dt"}
    lines = re.findall(rf"^ +linkwright {name}( .*)?$", doc.partition("Examples:")[2], re.MULTILINE)
    assert lines
    for line in lines:
        assert set(re.findall(r"(?<= )--?[a-z][a-z/-]*", line)) <= known


@pytest.mark.parametrize("there", [True, False])
def test_a_page_is_opened_in_the_browser(
    there: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def browse(url: str) -> bool:
        opened.append(url)
        return there

    monkeypatch.setattr("webbrowser.open", browse)
    page = tmp_path / "a page.html"
    asked = ["page", "pendulum", "--until", "0.1", "-o", str(page)]
    assert main(asked) == 0
    assert opened == []
    assert main([*asked, "--open", "--force"]) == 0
    assert opened == [page.as_uri()]
    assert page.is_file()
    assert ("no browser here" in capsys.readouterr().err) == (not there)
