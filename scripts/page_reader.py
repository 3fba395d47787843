"""Run a page of docs as its reader would: every block, in order, in an empty folder.

``python -m scripts.page_reader docs/tutorials/pendulum.md [FOLDER]`` runs one page, and says how
long it took.

What a block is follows from its fence:

- a block whose first line is a comment with a name, ``# swing.toml`` or ``<!-- arm.urdf -->``, and
  a block whose fence has a name after its language, is a file that the reader writes;
- ``python`` with ``>>>`` is compared with what it prints; other ``python`` without a name is run;
- ``sh`` holds commands; one that begins with ``# terminal 1`` goes on until the page ends;
- ``text`` is what the block before it prints; ``...`` stands for anything;
- a fence with ``skip``, and other languages, are only read.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"(?:#|<!--) ([\w./-]+\.\w+)(?: -->)?$")
_FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.FAIL_FAST
_START = 90.0  # s, until a command in another terminal has printed its first line


class PageError(AssertionError):
    """A step of a page does not do what the page says."""


@dataclass(frozen=True, slots=True)
class Step:
    """A block of a page: its language, what stands after that, its text and its line."""

    language: str
    more: str
    text: str
    line: int

    @property
    def file(self) -> str:
        """The file that the reader writes, or nothing."""
        named = _NAMED.match(self.text.partition("\n")[0])
        if self.language not in ("sh", "text") and named:
            return named[1]
        return self.more if "." in self.more else ""


def steps(page: Path) -> list[Step]:
    """All blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Step(m[1], m[2].strip(), m[3], text.count("\n", 0, m.start()) + 2)
        for m in _FENCE.finditer(text)
    ]


@dataclass
class Reader:
    """Who goes through a page in a folder of its own."""

    page: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    printed: str = ""
    ready: str = " Hz, "
    others: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def go(self, folder: Path) -> None:
        """Do every step of the page in a folder, and end what was started."""
        columns = os.environ.get("COLUMNS")
        os.environ["COLUMNS"] = "100"
        before = set(sys.modules)
        sys.path.insert(0, "")  # the folder that the reader is in
        try:
            with contextlib.chdir(folder):
                for step in steps(self.page):
                    self.do(step)
        finally:
            sys.path.remove("")
            for name in set(sys.modules) - before:  # what the page has written, not what it uses
                if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
                    del sys.modules[name]
            for other in self.others:
                other.send_signal(signal.SIGINT)
            for other in self.others:
                other.wait(30)
            os.environ.pop("COLUMNS")
            if columns is not None:
                os.environ["COLUMNS"] = columns

    def do(self, step: Step) -> None:
        """Do one step; a `PageError` names its line."""
        try:
            if step.more == "skip":
                return
            if step.file:
                Path(step.file).parent.mkdir(parents=True, exist_ok=True)
                Path(step.file).write_text(step.text, encoding="utf-8")
            elif step.language == "text":
                self.compare(step.text)
            elif step.language == "python":
                self.python(step)
            elif step.language == "sh":
                self.shell(step.text)
        except PageError as error:
            raise PageError(f"{self.page.name}:{step.line}: {error}") from None

    def python(self, step: Step) -> None:
        """Run Python, or compare what a session prints."""
        if ">>> " not in step.text:
            with self.listening():
                exec(compile(step.text, str(self.page), "exec"), self.names)  # noqa: S102
            return
        said: list[str] = []
        test = doctest.DocTestParser().get_doctest(
            step.text, self.names, self.page.name, str(self.page), step.line - 1
        )
        runner = doctest.DocTestRunner(verbose=False, optionflags=_FLAGS)
        runner.run(test, out=said.append, clear_globs=False)
        self.names.update(test.globs)
        if said:
            raise PageError("".join(said))

    def shell(self, text: str) -> None:
        """Run commands one after another; all must end with 0, or the code that a comment names."""
        if text.startswith("# terminal 1"):
            self.open_terminal(text)
            return
        for line in text.replace("\\\n", " ").splitlines():
            command, _, comment = line.partition("  #")
            words = shlex.split(command, comments=True)
            if not words or words[0] in ("pip", "rotctl"):
                continue
            wanted = re.search(r"exit code (\d)", comment)
            with self.listening():
                code = self.command(words)
            if code != int(wanted[1] if wanted else 0):
                raise PageError(f"{line!r} ends with {code}:\n{self.printed}")

    def command(self, words: list[str]) -> int:
        """Run one command in this process."""
        match words:
            case ["mkdir", name]:
                Path(name).mkdir()
            case ["cd", name]:
                os.chdir(name)
            case ["python", name]:
                self.names.update(runpy.run_path(name, run_name="__main__"))
            case ["linkwright", *rest]:
                from linkwright.cli import main

                return main(rest)
            case _:
                return subprocess.run(words, check=False).returncode
        return 0

    def open_terminal(self, text: str) -> None:
        """Start a command that goes on, and wait for its first line."""
        words = shlex.split(text.splitlines()[1], comments=True)
        command = [sys.executable, "-u", "-m", *words]
        said = Path(tempfile.mkstemp(suffix=".log")[1])
        with said.open("w") as log:
            other = subprocess.Popen(command, stdout=log, stderr=log)
        self.others.append(other)
        end = time.monotonic() + _START
        while self.ready not in (text := said.read_text("utf-8")):
            if time.monotonic() > end or other.poll() is not None:
                raise PageError(f"{words} did not start: {text}")
            time.sleep(0.1)
        self.printed = text
        said.unlink()

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Keep what is printed."""
        heard = io.StringIO()
        try:
            with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
                yield
        finally:
            self.printed = heard.getvalue()

    def compare(self, wanted: str) -> None:
        """Find the lines of a block in what was printed, in order."""
        parts = (".*?".join(map(re.escape, line.split("..."))) for line in _lines(wanted))
        if not re.search(".*?".join(parts), "\n".join(_lines(self.printed)), re.DOTALL):
            raise PageError(f"wanted:\n{wanted}\nprinted:\n{self.printed}")


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def read_along(page: Path, folder: Path) -> float:
    """Go through a page in a folder; return the seconds that it took."""
    began = time.perf_counter()
    Reader(page).go(folder)
    return time.perf_counter() - began


if __name__ == "__main__":

    def _main(name: str, folder: str = "") -> None:
        where = Path(folder) if folder else Path(tempfile.mkdtemp())
        where.mkdir(exist_ok=True)
        print(f"{Path(name).resolve().name}: {read_along(Path(name).resolve(), where):.1f} s")

    _main(*sys.argv[1:])
