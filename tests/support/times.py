"""What the tests cost: a pytest plugin that writes processor and wall seconds of every item.

`pytest --times FILE` writes them as JSON and prints the dearest files; `make test` does so with
`build/tests.json`. Processor seconds are those of the worker and of the processes that it waited
for: they hold on a busy machine, where wall seconds do not. `python -m scripts.test_times` compares
two such files.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, TypedDict

import pytest

#: How many of the dearest files are printed.
SHOWN = 10

#: Megabytes by which an item raises the most memory of its worker before it is named.
RAISED = 20.0


class Cost(TypedDict):
    """Seconds of one file: of a processor, by the clock, and of how many items."""

    cpu: float
    wall: float
    items: int


def seconds_used() -> float:
    """Processor seconds of this process and of the children that it waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def peak_megabytes() -> float:
    """The most memory that this process ever had."""
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / (1024**2 if sys.platform == "darwin" else 1024)


def by_file(items: dict[str, tuple[float, float]]) -> dict[str, Cost]:
    """Sum items to files, the dearest first.

    >>> by_file({"a.py::x": (1.0, 2.0), "b.py::y": (3.0, 3.5), "a.py::z": (0.5, 0.5)})["a.py"]
    {'cpu': 1.5, 'wall': 2.5, 'items': 2}
    """
    files: dict[str, Cost] = {}
    for name, (cpu, wall) in items.items():
        cost = files.setdefault(name.partition("::")[0], Cost(cpu=0.0, wall=0.0, items=0))
        cost["cpu"] += cpu
        cost["wall"] += wall
        cost["items"] += 1
    return dict(sorted(files.items(), key=lambda pair: -pair[1]["cpu"]))


class Stopwatch:
    """In each worker: processor seconds since the last report go with the next one."""

    def __init__(self) -> None:
        self._last = seconds_used()
        self._collection = 0.0
        self._peak = peak_megabytes()

    def pytest_collection_finish(self) -> None:
        """Note what collection took; the first test is not charged with it."""
        self._last = self._collection = seconds_used()
        self._peak = peak_megabytes()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        """Set-up, call and teardown each make a report."""
        report = yield
        now = seconds_used()
        report.cpu = now - self._last
        self._last = now
        peak = peak_megabytes()
        report.raised = peak - self._peak
        self._peak = peak
        return report

    def told(self) -> dict[str, float]:
        """What this process took: until its first test, in all, and the most memory."""
        return {
            "collection_cpu": round(self._collection, 2),
            "cpu": round(seconds_used(), 2),
            "peak_mb": round(peak_megabytes(), 1),
        }


class Ledger:
    """In the controller: what all workers report, written and printed at the end."""

    def __init__(self, path: Path, stopwatch: Stopwatch) -> None:
        self._path = path
        self._stopwatch = stopwatch
        self._start = time.monotonic()
        self._items: dict[str, tuple[float, float]] = {}
        self._raised: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count one report of one item."""
        cpu, wall = self._items.get(report.nodeid, (0.0, 0.0))
        self._items[report.nodeid] = (cpu + getattr(report, "cpu", 0.0), wall + report.duration)
        if getattr(report, "raised", 0.0) >= RAISED:
            self._raised[report.nodeid] = round(report.raised, 1)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write the file; say what is dear."""
        lanes: Any = terminalreporter.config.pluginmanager.get_plugin("lanes")
        workers = {"main": self._stopwatch.told()}  # with all lanes, which it waited for
        workers |= {} if lanes is None else {k: v for k, v in lanes.costs.items() if v}
        files = by_file(self._items)
        told = {
            "wall": round(time.monotonic() - self._start, 1),
            "cpu": round(workers["main"]["cpu"], 1),
            "load": [round(value, 1) for value in os.getloadavg()],
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "workers": workers,
            "raised_mb": dict(sorted(self._raised.items(), key=lambda pair: -pair[1])),
            "files": {
                name: {**cost, "cpu": round(cost["cpu"], 3), "wall": round(cost["wall"], 3)}
                for name, cost in files.items()
            },
            "items": {
                name: [round(cpu, 3), round(wall, 3)]
                for name, (cpu, wall) in sorted(self._items.items())
            },
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._path.with_suffix(".part")
        unfinished.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
        unfinished.replace(self._path)
        whole = sum(cost["cpu"] for cost in files.values()) or 1.0
        terminalreporter.section(f"dearest files (all in {self._path})")
        for name, cost in list(files.items())[:SHOWN]:
            terminalreporter.write_line(
                f"{cost['cpu']:7.1f} s of processor {cost['cpu'] / whole:6.1%} "
                f"{cost['wall']:7.1f} s {cost['items']:5d} items  {name}"
            )
        for name, worker in workers.items():
            terminalreporter.write_line(
                f"{name}: {worker['cpu']:.0f} s of processor, {worker['collection_cpu']:.0f} until "
                f"the first test, {worker['peak_mb']:.0f} MB"
            )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--times FILE`."""
    parser.addoption(
        "--times", metavar="FILE", default=None, help="write what each item and file costs as JSON"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Measure where tests run, add up where reports come together."""
    path = config.getoption("--times")
    if path is None:
        return
    stopwatch = Stopwatch()
    config.pluginmanager.register(stopwatch, "stopwatch")
    config.pluginmanager.register(Ledger(Path(path), stopwatch), "ledger")
