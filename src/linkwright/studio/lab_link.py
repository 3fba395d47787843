"""A laboratory as the panels of a studio see it: its states, its console, its tasks."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwright.lab.console.completion import completions
from linkwright.lab.console.consoles import ConsoleEvent, Consoles
from linkwright.pages.scope import Graph, ScopeLayout
from linkwright.recording import Channel
from linkwright.studio.link import StudioLink

if TYPE_CHECKING:
    from linkwright.lab.lab import Lab

Array = NDArray[np.float64]
_LINES = 400  # of the console that are kept
_TIMED = 240  # moments of the timeline that are kept
_PARTS = {"th": "position", "des_th": "wanted position", "u": "command"}


class LabLink(StudioLink):
    """A laboratory in a studio."""

    mode, stop_words, stop_line = "LAB", "Stop", "Stop: take the power off"

    def __init__(self, consoles: Consoles) -> None:
        self.lab: Lab = consoles.lab
        channels = [
            Channel(f"{name}_{part}", f if part == "u" else q, f"{name}, {words}")
            for name, (q, f) in self.lab.config.units.items()
            for part, words in _PARTS.items()
        ]
        name = self.lab.config.name
        super().__init__(name, channels, {"lab": name})
        self.acts["freeze"] = self.lab.freeze
        self.question = ""
        """What the page was asked, or nothing."""
        self._events: SimpleQueue[ConsoleEvent] = SimpleQueue()
        self._console = consoles.console(self._events.put, owner=False)
        self._lines: deque[tuple[int, str, str]] = deque(maxlen=_LINES)
        self._count = 0
        self._timed: deque[tuple[float, dict[str, tuple[int, int, float]]]] = deque(maxlen=_TIMED)
        self.begin()

    # -- states ------------------------------------------------------------------------------------
    @property
    def running(self) -> bool:
        """Whether its time goes on by itself."""
        return self.lab.paced is not None

    def sample(self) -> tuple[int, float, Callable[[], Array]]:
        """Return where its loop stands, and positions, wanted ones and commands."""
        return self.lab.tick, self.lab.time, self._row

    def _row(self) -> Array:
        state, desired = self.lab.state, self.lab.desired
        counted = {n: (c.ticks, c.overruns, c.worst) for n, c in self.lab.counters.items()}
        self._timed.append((self.lab.time, counted))
        return np.stack([state.q, desired.q, state.tau], axis=1).ravel()

    def first_layout(self) -> ScopeLayout:
        """Return what the scope shows at first: a joint and where it should be, and its command."""
        names = self.lab.config.names
        joint = names[min(3, len(names) - 1)]
        return ScopeLayout((Graph((f"{joint}_th", f"{joint}_des_th")), Graph((f"{joint}_u",))))

    def words(self) -> tuple[str, str, str]:
        """Return its time, its task with its pace, and why it is stopped."""
        speed, stopped = self.lab.paced, self.lab.stopped
        pace = f"{self.lab.task or 'no task'}" + (f", {speed:g}×" if speed else ", waits")
        note = f"Stopped: {stopped}. Reset lets it go on." if stopped else ""
        return f"t = {self.lab.time:.1f} s", pace, note

    # -- console -----------------------------------------------------------------------------------
    def look(self) -> None:
        """Take what the console says."""
        while True:
            try:
                event = self._events.get_nowait()
            except Empty:
                return
            if event.kind == "asked":
                self.question = event.text
            elif event.kind == "left":
                self._add("said", "the laboratory ends")
            elif event.text:
                kind = {"answered": "answer", "failed": "error"}.get(event.kind, "said")
                self._add(kind, event.text)

    def _add(self, kind: str, text: str) -> None:
        self._count += 1
        self._lines.append((self._count, kind, text))

    def give(self, line: str) -> None:
        """Give a command, as at the prompt."""
        self._add("line", line)
        self._console.give(line)

    def reply(self, text: str | None) -> None:
        """Answer what was asked."""
        self._add("line", "aborted" if text is None else text)
        self.question = ""
        self._console.reply(text)

    def complete(self, line: str) -> dict[str, Any]:
        """Return what a line can go on with."""
        last, found = completions(self.lab, line)
        return {"last": last, "words": [[f.word, f.about] for f in found[:60]]}

    # -- what is told ------------------------------------------------------------------------------
    def told(self, since: int) -> dict[str, Any]:
        """Return how the laboratory is, as plain data for a page."""
        lab = self.lab
        recorder = lab.recorder
        return {
            "name": self.name,
            "time": lab.time,
            "tick": lab.tick,
            "task": lab.task,
            "paced": lab.paced,
            "stopped": lab.stopped,
            "question": self.question,
            "lines": [line for line in self._lines if line[0] > since],
            "tasks": {name: self._task(name) for name in lab.tasks},
            "parameters": dict(lab.parameters),
            "mistakes": list(lab.shelf.mistakes),
            "recorder": {
                "active": recorder.active,
                "rate": recorder.settings.rate,
                "duration": recorder.settings.duration,
                "variables": len(recorder.settings.names),
                "made": [
                    {"seconds": r.seconds, "samples": r.samples, "file": str(r.path or "")}
                    for r in list(recorder.recordings)[-5:]
                ],
            },
            "servos": {
                name: {
                    "rate": c.rate,
                    "ticks": c.ticks,
                    "missed": c.missed,
                    "overruns": c.overruns,
                    "worst": c.worst,
                    "mean": c.mean,
                }
                for name, c in lab.counters.items()
            },
            "timeline": [[time, counted] for time, counted in list(self._timed)],
        }

    def _task(self, name: str) -> list[dict[str, Any]]:
        return [
            {
                "name": p.name,
                "default": p.default,
                "unit": "" if p.unit == "1" else p.unit,
                "low": p.low if math.isfinite(p.low) else None,
                "high": p.high if math.isfinite(p.high) else None,
                "doc": p.doc,
            }
            for p in self.lab.tasks[name].parameters().values()
        ]

    # -- ends --------------------------------------------------------------------------------------
    def halt(self) -> None:
        """Take the power off."""
        self.lab.stop("the page")

    def close(self) -> None:
        """Leave the laboratory, which goes on."""
        super().close()
        self._console.close()
