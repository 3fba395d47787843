"""Experiments on the axes of a cell, made in the background, and what they have shown.

The experiments are those of `linkwright.server.experiments`, made in the cell's own loop; here
they are started, watched and kept, so that responses before and after a change lie over each other.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwright.base.errors import Error, InputError
from linkwright.linear.gains import ProposedGains
from linkwright.linear.tuning import step_measures
from linkwright.recording.spread import spread
from linkwright.server.experiments import (
    AxisBench,
    AxisTrace,
    RemoteBench,
    axis_of,
    relay_trial,
    sweep_experiment,
)
from linkwright.server.face import ArmFace
from linkwright.studio.cell_link import RATE, CellLink

TESTS = ("step", "sweep", "relay")
"""What can be tried on an axis."""

KEPT = 4
"""Steps of an axis that lie over each other."""

_POINTS = 600  # of a curve
_RANGES = {  # lowest, highest and usual of what an experiment is asked with
    "amplitude": (1e-6, 1.0, 0.005),
    "seconds": (0.1, 30.0, 1.0),
    "low": (0.5, 5000.0, 8.0),
    "high": (1.0, 20000.0, 300.0),
    "points": (3.0, 60.0, 10.0),
    "margin": (10.0, 80.0, 60.0),
}


class CancelledError(Error):
    """A user has ended an experiment."""


@dataclass(slots=True)
class AxisResults:
    """What is known of an axis."""

    # the last ones, with the gains they were made with; the newest is the last
    steps: list[dict[str, Any]] = field(default_factory=list)
    sweep: dict[str, Any] | None = None  # the last one
    relay: dict[str, Any] | None = None  # the last one


class _Watched:
    """A bench that counts what was made on it, and ends where that is asked for."""

    def __init__(self, bench: AxisBench, runs: int, ending: threading.Event) -> None:
        self._bench, self._ending = bench, ending
        self.axis, self.unit, self.kp, self.kd = bench.axis, bench.unit, bench.kp, bench.kd
        self.runs, self.done = runs, 0
        self.trace: AxisTrace | None = None

    def run(self, kind: str, amplitude: float, seconds: float, **options: float) -> AxisTrace:
        """Make an experiment and keep what the axis did."""
        if self._ending.is_set():
            raise CancelledError("ended")
        self.trace = self._bench.run(kind, amplitude, seconds, **options)
        self.done += 1
        return self.trace

    def set_gains(self, kp: float, kd: float) -> None:
        """Change its gains."""
        self._bench.set_gains(kp, kd)


class Tuner:
    """Experiments on the axes of a cell, one at a time."""

    def __init__(self, link: CellLink) -> None:
        self._link = link
        self._turn = threading.Lock()
        self._ending = threading.Event()
        self._watched: _Watched | None = None
        self._thread: threading.Thread | None = None
        self.shown: dict[str, AxisResults] = {}
        self.number = 0
        """Grows with each result."""
        self.error = ""

    def parameters(self, axis: str) -> dict[str, float]:
        """Return the parameters of an axis as they are now, without its number."""
        arm, k = self._axis(axis)
        end = f".{k + 1}"
        values = self._link.values[arm.name]
        return {n.removesuffix(end): v for n, v in values.items() if n.endswith(end)}

    def set_parameters(self, axis: str, values: Mapping[str, float]) -> None:
        """Change parameters of an axis while it runs."""
        arm, k = self._axis(axis)
        self._link.set_parameters(arm.name, {f"{n}.{k + 1}": float(v) for n, v in values.items()})

    def start(self, axis: str, test: str, asked: Mapping[str, Any]) -> None:
        """Begin an experiment in the background."""
        if test not in TESTS:
            raise InputError(f"there is no test {test!r}", remedy=f"take {', '.join(TESTS)}")
        numbers = {name: _number(name, asked.get(name)) for name in _RANGES}
        if numbers["low"] >= numbers["high"]:
            raise InputError("the sweep's lowest frequency is not below its highest")
        arm, _ = self._axis(axis)
        with self._turn:
            if self._link.busy:
                raise InputError(f"wait: {self._link.busy}")
            if self._link.jog.held is not None:
                raise InputError(f"{self._link.jog.held.axis} is being moved")
            self._link.busy = f"{test} of {axis}"
        try:
            bench = RemoteBench(self._link.hand(arm.name), axis)
            own = self.parameters(axis)
            bench.kp, bench.kd = own["kp"], own["kd"]
        except BaseException:
            self._link.busy = ""
            raise
        self._ending.clear()
        self.error = ""
        runs = round(numbers["points"]) if test == "sweep" else 1
        self._watched = _Watched(bench, runs, self._ending)
        self._thread = threading.Thread(
            target=self._run, args=(self._watched, test, numbers), name="linkwright tune"
        )
        self._thread.daemon = True
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait for the experiment; return whether it has ended in time."""
        if self._thread is not None:
            self._thread.join(seconds)
            return not self._thread.is_alive()
        return True

    def cancel(self) -> None:
        """End the experiment that goes on: its excitation at once."""
        self._ending.set()
        watched = self._watched
        if watched is not None and self._link.busy:
            arm, _ = self._axis(watched.axis)
            self._link.hand(arm.name).excite(watched.axis, "none", 0.0)

    def told(self, axis: str) -> dict[str, Any]:
        """Return what is known of an axis, as plain data for a page."""
        arm, k = self._axis(axis)
        shown = self.shown.get(axis, AxisResults())
        watched, busy = self._watched, self._link.busy
        progress = [watched.done, watched.runs] if watched is not None and busy else [0, 0]
        return {
            "axis": axis,
            "arm": arm.name,
            "unit": arm.units[k],
            "life": self._link.cell.arm(arm.name).state.life,
            "parameters": self.parameters(axis),
            "busy": busy,
            "progress": progress,
            "error": self.error,
            "number": self.number,
            "steps": shown.steps,
            "sweep": shown.sweep,
            "relay": shown.relay,
        }

    def _axis(self, axis: str) -> tuple[ArmFace, int]:
        return axis_of(list(self._link.cell.arms.values()), axis)

    def _run(self, bench: _Watched, test: str, asked: dict[str, float]) -> None:
        try:
            made = getattr(self, f"_{test}")(bench, asked)
            shown = self.shown.setdefault(bench.axis, AxisResults())
            if test == "step":
                shown.steps = [*shown.steps, made][-KEPT:]
            else:
                setattr(shown, test, made)
        except CancelledError:
            pass
        except Exception as error:
            if not self._ending.is_set():
                self.error = str(error)
        finally:
            self.number += 1
            self._link.busy = ""
            self._link.cell.follow(RATE)

    def _step(self, bench: _Watched, asked: dict[str, float]) -> dict[str, Any]:
        size = asked["amplitude"]
        trace = _excited(bench.run("step", size, asked["seconds"]))
        found = step_measures(trace.times, trace.q, start=0.0, goal=size)
        return {
            "kp": bench.kp,
            "kd": bench.kd,
            "goal": size,
            **_curve(trace),
            "rise": _plain(found.rise),
            "overshoot": _plain(found.overshoot),
            "settling": _plain(found.settling),
            "error": _plain(found.error),
        }

    def _sweep(self, bench: _Watched, asked: dict[str, float]) -> dict[str, Any]:
        w = np.geomspace(asked["low"], asked["high"], round(asked["points"]))
        found = sweep_experiment(bench, asked["amplitude"], w, margin=asked["margin"])
        loop, m = found.loop.values, found.margins
        return {
            "kp": bench.kp,
            "kd": bench.kd,
            "w": found.loop.frequencies.tolist(),
            "gain": (20 * np.log10(np.abs(loop))).tolist(),
            "phase": np.degrees(np.unwrap(np.angle(loop))).tolist(),
            "closed": (20 * np.log10(np.abs(found.closed.values))).tolist(),
            "crossover": _plain(m.phase_frequency),
            "degrees": _plain(m.degrees),
            "decibels": _plain(m.decibels),
            "delay": _plain(m.delay),
            "gains": _gains(found.gains),
        }

    def _relay(self, bench: _Watched, asked: dict[str, float]) -> dict[str, Any]:
        seconds = max(asked["seconds"], 1.5)
        found = relay_trial(bench, asked["amplitude"], seconds=seconds)
        assert bench.trace is not None
        return {
            "kp": bench.kp,
            "kd": bench.kd,
            **_curve(bench.trace),
            "frequency": found.frequency,
            "spread": _plain(found.spread),
            "gains": _gains(found.gains),
        }


def _number(name: str, given: object) -> float:
    low, high, usual = _RANGES[name]
    if given is None:
        return usual
    if isinstance(given, bool) or not isinstance(given, int | float) or not low <= given <= high:
        raise InputError(f"{name} is a number from {low:g} to {high:g}, not {given!r}")
    return float(given)


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _gains(gains: ProposedGains | None) -> dict[str, Any] | None:
    return None if gains is None else {"kp": gains.kp, "kd": gains.kd, "source": gains.source}


def _excited(trace: AxisTrace) -> AxisTrace:
    """Return a trace without states from before its step began, and from after its end."""
    on = trace.probe != 0
    times = trace.times[on]
    return AxisTrace(times - times[:1], trace.probe[on], trace.q[on], trace.current[on])


def _curve(trace: AxisTrace) -> dict[str, list[float]]:
    some = spread(len(trace.times), _POINTS)
    rows = {"t": trace.times, "q": trace.q, "probe": trace.probe, "current": trace.current}
    return {name: row[some].tolist() for name, row in rows.items()}
