"""Tests side by side: a pytest plugin that collects once and runs the tests in forked processes.

`-n LANES` says how many (4 in `pyproject.toml`, as some wait; 0: all in this process). A lane is a
fork of the process that has collected: it has every test and what they import at once, and shares
that memory. It takes one file after the other, dearest first by `tests/times.json`, and makes room
for a fresh one once it holds more memory than `FULL`. That table says too which files raised the
memory of their lane, and a lane takes none with which it would hold more than `MOST`. Files with
pages go to a lane that has a browser already. Tests that go by the clock come last, alone.

A lane and the process that has collected speak by two pipes in JSON, a line each. The lane says
`["report", {...}]`, `["warning", [...]]`, `["next", MB]` before the last test of a file, which is
answered by the numbers of the tests of another file or by null, and `["costs", {...}]`. A lane that
dies fails the test that it was at, or that it reported last, and another one goes on after it. In
the end every test that was collected must have been reported.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import math
import os
import pkgutil
import selectors
import signal
import sys
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest

import linkwright
from tests.support.memory import megabytes

#: Megabytes at which a lane ends after its file, and the next one begins as small as it began.
FULL = 550.0

#: Megabytes that a lane may come to with its next file, which raises it by `USUAL` or as it did.
MOST, USUAL = 670.0, 60.0

_TIMES = Path(__file__).parents[1] / "times.json"
_LOOK = 1.0  # s between two looks whether a silent lane lives
_SILENT = 900.0  # s without a word after which a lane is killed: thrice the limit of a test
_MANY = 100  # files from which on all of the package is imported before the lanes begin
_LEAVE = 10.0  # s that lanes have to tear down what they hold when the run is broken off


def goes_by_the_clock(item: pytest.Item) -> bool:
    """Whether a test is marked as one that runs alone, when the others are done."""
    return item.get_closest_marker("realtime") is not None


def next_file(
    files: deque[list[int]],
    pages: set[int],
    has: bool,
    elsewhere: bool,
    needs: Mapping[int, float],
    room: float,
) -> list[int] | None:
    """Take the next file for a lane: those with pages go to one that `has` a browser already.

    A lane without one takes others, as long as there are some and a browser runs `elsewhere`. What
    `needs` more megabytes than there is `room` for is left to another lane.

    >>> files = deque([[1], [2], [3]])
    >>> next_file(files, {2}, True, False, {}, 99), next_file(files, {2}, True, True, {}, 99)
    ([2], [1])
    >>> files = deque([[2], [3]])
    >>> next_file(files, {2}, False, True, {}, 99), next_file(files, {2}, False, True, {}, 99)
    ([3], [2])
    >>> next_file(deque([[1], [2]]), set(), False, False, {1: 200.0}, 99)
    [2]
    >>> next_file(deque([[1]]), set(), False, False, {1: 200.0}, 99)
    """
    fitting = [k for k, file in enumerate(files) if needs.get(file[0], USUAL) <= room]
    if not fitting:
        return None
    wanted = (k for k in fitting if (files[k][0] in pages) is has)
    place = next(wanted, fitting[0]) if has or elsewhere else fitting[0]
    file = files[place]
    del files[place]
    return file


def shared_out(
    items: list[pytest.Item],
) -> tuple[list[list[int]], list[list[int]], dict[int, float]]:
    """Return the numbers of tests by file, dearest first: side by side, and by the clock.

    The third is how many megabytes files raised their lane by, for their first tests.
    """
    told = json.loads(_TIMES.read_text(encoding="utf-8")) if _TIMES.exists() else {"files": {}}
    costs, raised = told["files"], told.get("raised_mb", {})
    files: dict[tuple[bool, str], list[int]] = {}
    for number, item in enumerate(items):
        name = item.nodeid.partition("::")[0]
        files.setdefault((goes_by_the_clock(item), name), []).append(number)
    order = sorted(files, key=lambda key: -float(costs.get(key[1], 5.0)))
    needs = {files[k][0]: float(raised[k[1]]) for k in order if k[1] in raised}
    return [files[k] for k in order if not k[0]], [files[k] for k in order if k[0]], needs


def import_all() -> None:
    """Import the whole package once, for all lanes: each would import most of it by and by."""
    for found in pkgutil.walk_packages(linkwright.__path__, "linkwright."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    gc.collect()
    gc.freeze()


class Lane:
    """A forked process that runs tests, as the process that has collected sees it."""

    up: int
    down: int

    def __init__(
        self, number: int, others: Iterable[Lane], run: Callable[[Lane, Any, Any], NoReturn]
    ) -> None:
        self.number = number
        self.left: list[int] = []
        """Tests that it has been given and has not reported."""
        self.last = -1
        """The test that it has reported last."""
        self.heard = time.monotonic()
        self._status: int | None = None
        self.ended = False
        self.browser = False
        """Whether it has been given a file with pages."""
        up, answers = os.pipe()
        questions, down = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of BLAS mind no fork
            self.process = os.fork()
        if self.process == 0:
            for end in (up, down, *(x for other in others for x in (other.up, other.down))):
                os.close(end)
            run(self, os.fdopen(questions), os.fdopen(answers, "w"))
        os.close(answers)
        os.close(questions)
        os.set_blocking(up, False)
        self.up, self.down = up, down
        self._pieces = b""

    def said(self) -> Iterator[Any]:
        """Yield what it has said since the last look; nothing more comes once it has ended."""
        while True:
            try:
                piece = os.read(self.up, 1 << 16)
            except BlockingIOError:
                break
            if not piece:
                self.ended = True
                break
            self._pieces += piece
            self.heard = time.monotonic()
        *lines, self._pieces = self._pieces.split(b"\n")
        yield from map(json.loads, lines)

    def answer(self, file: list[int] | None) -> None:
        """Give it the tests of a file, or none."""
        with suppress(BrokenPipeError):
            os.write(self.down, json.dumps(file).encode() + b"\n")

    def gone(self, how: int = os.WNOHANG) -> bool:
        """Whether the process has ended, though what it has forked may hold its pipe."""
        if self._status is None:
            process, status = os.waitpid(self.process, how)
            self._status = os.waitstatus_to_exitcode(status) if process else None
        return self._status is not None

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send it a signal, unless it has ended."""
        if not self.gone():
            os.kill(self.process, number)

    def close(self) -> int:
        """Wait for its end, and return how it ended."""
        os.close(self.down)
        os.close(self.up)
        self.gone(0)
        assert self._status is not None
        return self._status


class Lanes:
    """Shares the collected tests out among lanes, and tells pytest what they report."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.costs: dict[str, dict[str, float]] = {}
        """What each lane has cost, by its name."""
        self._made = 0
        self._told: set[int] = set()
        self._session: pytest.Session
        self._pages: set[int] = set()
        """The first tests of files that show pages in a browser."""
        self._needs: dict[int, float] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run all tests, those by the clock last and alone."""
        options = session.config.option
        shown = options.usepdb or options.trace or options.setupshow or options.setuponly
        if options.collectonly or shown or session.testsfailed or len(session.items) < 2:
            return None
        if threading.active_count() > 1:
            names = ", ".join(x.name for x in threading.enumerate())
            raise pytest.UsageError(f"a test file has started threads at import: {names}")
        self._session = session
        factory = session.config._tmp_path_factory  # type: ignore[attr-defined]
        factory.getbasetemp()
        beside, alone, self._needs = shared_out(session.items)
        if len(beside) > _MANY:
            import_all()
        marked = [any(session.items[k].get_closest_marker("browser") for k in x) for x in beside]
        self._pages = {file[0] for file, has in zip(beside, marked, strict=True) if has}
        self._run(deque(beside), self.count)
        self._run(deque(alone), 1)
        lost = [x.nodeid for k, x in enumerate(session.items) if k not in self._told]
        if lost:
            session.shouldfail = f"{len(lost)} tests were not reported, first {lost[0]}"
            raise session.Failed(session.shouldfail)
        return True

    def _run(self, files: deque[list[int]], count: int) -> None:
        """Run files in so many lanes at a time."""
        lanes: dict[int, Lane] = {}
        with selectors.DefaultSelector() as selector:
            try:
                while files or lanes:
                    while files and len(lanes) < count:
                        lane = Lane(self._made, lanes.values(), self._inside)
                        self._made += 1
                        lanes[lane.up] = lane
                        selector.register(lane.up, selectors.EVENT_READ)
                        lane.left = self._next(lane, lanes, files) or []
                        lane.answer(lane.left)
                    selector.select(_LOOK)
                    for lane in list(lanes.values()):
                        if time.monotonic() > lane.heard + _SILENT:
                            lane.kill()
                        gone = lane.gone()  # before the look at what it has said
                        for message in lane.said():
                            self._hear(lane, message, files, lanes)
                        if lane.ended or gone:
                            selector.unregister(lane.up)
                            del lanes[lane.up]
                            self._end(lane, files)
            finally:
                limit = time.monotonic() + _LEAVE
                for lane in lanes.values():
                    lane.kill(signal.SIGINT)
                while time.monotonic() < limit and not all(x.gone() for x in lanes.values()):
                    for lane in lanes.values():
                        list(lane.said())  # it may wait until there is room
                    time.sleep(0.02)
                for lane in lanes.values():
                    lane.kill()
                    lane.close()

    def _next(
        self, lane: Lane, lanes: dict[int, Lane], files: deque[list[int]], holds: float = 0.0
    ) -> list[int] | None:
        """Take the next file for a lane that `holds` so many megabytes, a fresh one any file."""
        if holds > FULL:
            return None
        elsewhere = any(other.browser for other in lanes.values() if other is not lane)
        room = MOST - holds if holds else math.inf
        file = next_file(files, self._pages, lane.browser, elsewhere, self._needs, room)
        lane.browser = lane.browser or (file is not None and file[0] in self._pages)
        return file

    def _hear(
        self, lane: Lane, message: Any, files: deque[list[int]], lanes: dict[int, Lane]
    ) -> None:
        """Do what a lane has said."""
        config = self._session.config
        kind, told = message
        if kind == "report":
            report = config.hook.pytest_report_from_serializable(config=config, data=told)
            if report.when == "teardown":
                lane.last, *lane.left = lane.left
                assert self._session.items[lane.last].nodeid == report.nodeid, report.nodeid
                self._told.add(lane.last)
            self._tell(report)
        elif kind == "exit":
            raise pytest.exit.Exception(told)
        elif kind == "warning":
            text, file, line, when, nodeid = told
            warning = warnings.WarningMessage(UserWarning(text), UserWarning, file, line)
            config.hook.pytest_warning_recorded.call_historic(
                kwargs={
                    "warning_message": warning,
                    "when": when,
                    "nodeid": nodeid,
                    "location": None,
                }
            )
        elif kind == "next":
            file = self._next(lane, lanes, files, told) if files else None
            lane.answer(file)
            lane.left = [*lane.left, *(file or [])]
        else:
            self.costs[f"lane {lane.number + 1}"] = told

    def _end(self, lane: Lane, files: deque[list[int]]) -> None:
        """Fail the test at which a lane died; what it has left goes to another one."""
        status = lane.close()
        if not lane.left and status == 0:
            return
        lane.last, *left = lane.left or [lane.last]
        self._told.add(lane.last)
        item = self._session.items[lane.last]
        how = signal.Signals(-status).name if status < 0 else str(status)
        report = pytest.TestReport(
            item.nodeid,
            item.location,
            {},
            "failed",
            f"the process died with {how} at {item.nodeid}",
            "call" if lane.left else "teardown",
        )
        if left:
            files.appendleft(left)
        self._tell(report)

    def _tell(self, report: pytest.TestReport) -> None:
        """Give a report to pytest, and end the run where it says so."""
        session = self._session
        session.config.hook.pytest_runtest_logreport(report=report)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)

    # -- in the lane -------------------------------------------------------------------------------
    def _inside(self, lane: Lane, questions: Any, answers: Any) -> NoReturn:
        """Run tests until there is no file, or no room, for more."""
        status, config = 1, self._session.config
        told = Told(answers, config)
        try:
            apart(config, lane.number)
            config.pluginmanager.register(told)
            told.ready = True
            stopwatch: Any = config.pluginmanager.get_plugin("stopwatch")
            if stopwatch is not None:
                stopwatch.pytest_collection_finish()
            items = self._session.items
            file: list[int] | None = json.loads(questions.readline())
            while file is not None:
                for number, after in zip(file, [*file[1:], None], strict=True):
                    nextitem = None if after is None else items[after]
                    if after is None:
                        told.say("next", megabytes())
                        file = json.loads(questions.readline())
                        nextitem = items[file[0]] if file else None
                    hook = config.hook
                    hook.pytest_runtest_protocol(item=items[number], nextitem=nextitem)
            if stopwatch is not None:
                told.say("costs", stopwatch.told())
            status = 0
        except pytest.exit.Exception as error:
            told.say("exit", str(error))
        except KeyboardInterrupt:  # the run is broken off
            pass
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            with suppress(BaseException):
                self._session._setupstate.teardown_exact(None)  # what a broken test has left
            atexit._run_exitfuncs()
            os._exit(status)


class Told:
    """In the lane: what pytest tells of a test goes up the pipe."""

    def __init__(self, answers: Any, config: pytest.Config) -> None:
        self._answers, self._config = answers, config
        self._process = os.getpid()
        self.ready = False
        """Whether it is registered: warnings of before come again then, and are known."""

    def say(self, kind: str, what: object) -> None:
        """Write one line; a fork that a test has let come back here ends."""
        if os.getpid() != self._process:
            os._exit(1)
        print(json.dumps([kind, what]), file=self._answers, flush=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send a report."""
        config = self._config
        data = config.hook.pytest_report_to_serializable(config=config, report=report)
        self.say("report", data)

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str
    ) -> None:
        """Send a warning."""
        told = warning_message
        if self.ready:
            self.say("warning", [str(told.message), told.filename, told.lineno, when, nodeid])


class _Writer:
    """In the lane: what `get_terminal_writer` finds; it writes to stderr, which is captured."""

    def __init__(self, config: pytest.Config) -> None:
        self._tw = pytest.TerminalReporter(config, sys.__stderr__)._tw


def apart(config: pytest.Config, number: int) -> None:
    """Give a lane its own captured output and temporary folder, and no terminal."""
    plugins = config.pluginmanager
    for name in ("terminalreporter", "ledger", "lanes"):
        plugin = plugins.get_plugin(name)
        if plugin is not None:
            plugins.unregister(plugin)
    plugins.register(_Writer(config), "terminalreporter")  # that pytest-timeout writes to
    capture: Any = plugins.get_plugin("capturemanager")
    if capture is not None and capture.is_globally_capturing():
        capture.stop_global_capturing()
        capture.start_global_capturing()
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.getbasetemp() / f"lane{number}"
    factory._basetemp.mkdir(mode=0o700)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `-n LANES`."""
    parser.getgroup("lanes")._addoption(  # small letters are pytest's own by its public method
        "-n", dest="lanes", metavar="LANES", type=int, default=0, help="run in so many processes"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What goes by the clock comes last, in one process too."""
    items.sort(key=goes_by_the_clock)


def pytest_configure(config: pytest.Config) -> None:
    """Share the tests out where more than this process is asked for."""
    if config.getoption("lanes") < 0:
        raise pytest.UsageError("-n takes a number of processes, 0 for this one")
    if config.getoption("lanes") and sys.platform == "linux":  # elsewhere forks are unsafe
        config.pluginmanager.register(Lanes(config.getoption("lanes")), "lanes")
